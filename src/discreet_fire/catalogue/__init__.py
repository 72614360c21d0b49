"""What is known of each command: its names, and what the policy says of it.

In: the TOML files of this folder, and a centre's own. Out: full names, verdicts. Nothing here is
confidential.
"""
