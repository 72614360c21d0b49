"""The small Stata: runs do-files of a few commands on microdata, all output safe. CONFIDENTIAL.

It is there to demonstrate output checking, and as what the ado files are held against. A centre
runs real Stata, R or Python. In: a do-file, data, rules. Out: a log whose statistics all come
from the safe commands. `runner` runs a program, `data` reads files; other modules are its own.
"""
