"""Programs in R and Python made safe by the policy: `discreet fire pre` on scripts.

In: scripts and notebooks in source form. Out: ``NAME_FiRe.py`` and ``NAME_FiRe.R`` with safe
functions in place of unsafe ones, findings, and a manifest. It is no sandbox.
"""
