"""Extras of output checking, each added to `discreet fire` by its entry point.

- `remote_analysis`: results of protected records with a noisy quality class; commands in `quality`
- `interchange`: releases as Five Safes RO-Crate or for SACRO
"""
