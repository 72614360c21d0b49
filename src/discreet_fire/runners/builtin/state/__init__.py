"""What a running do-file can see and change. CONFIDENTIAL.

`parts` has the memory of data, macros, results, units and the log; `trace` follows what rests on
single values; `session` holds them together and shows only what the trace allows.
"""
