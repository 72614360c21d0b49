"""A small Stata: do-files run on microdata, with safe commands for all output. CONFIDENTIAL.

From below: `language` (syntax and values), `data` (data sets and files), `state` (the session),
`disclosure` (what rests on single values), `names` and `macro_expansion` (what expressions and
macros see), `samples` (chosen records, and what is shown of them), `interpreter` (steps),
`commands`, and `runner`, which the registry of runners knows. The language is frozen.
"""
