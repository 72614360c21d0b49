"""Compiled passes over large data for the safe commands. CONFIDENTIAL.

In: columns of records. Out: counts, sums and contributions per group, with the same digits for
any number of threads. Loaded when first used, for it brings a compiler along.
"""
