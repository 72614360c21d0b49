"""What a release folder keeps between two runs: tables, digests, sealed statistics.

In: protected tables and what they were made from. Out: the same, at a later run or for a later
release. Nothing in it can be read that is confidential.
"""
