"""Ways to run a researcher's program so that only safe output leaves. CONFIDENTIAL.

`protocol` says what each way takes and gives back; builtin/ is the small Stata of this project.
"""
