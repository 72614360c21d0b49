"""Audit: the trail of acts, sealed entry by entry, and the log of queries apart from it.

In: who did what, who asked for what. Out: the same, as it was written down. Neither holds cells,
keys or noise.
"""
