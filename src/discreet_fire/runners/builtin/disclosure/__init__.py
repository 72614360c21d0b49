"""What single values decide, followed while a do-file runs. CONFIDENTIAL.

`units`: whom records are about. `dependence`: whether a value depends on few of them.
`record_counts`: which numbers may be told. `command_effects` and `hidden_branches`: what a
command, or a part of the program that single values choose, may change.
"""
