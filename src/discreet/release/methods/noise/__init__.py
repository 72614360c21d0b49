"""Noise: counts and key figures with the cell-key method, as programmes ask for it."""
