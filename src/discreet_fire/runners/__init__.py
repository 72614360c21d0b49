"""Ways to run a researcher's program so that only safe output leaves. CONFIDENTIAL.

`protocol` says what each way takes, gives back and must keep to; `registry` finds the runner of
a program by its suffix; `builtin` is the small Stata of this project.
"""
