"""Where values go: which names of a program hold figures that must not be shown.

In: parsed do-files, Python and R scripts, and a policy. Out: names that hold stored results or
data, and the places that show them. Nothing is run and nothing is changed here.

`engine` is shared: levels, rounds until nothing changes, what is changed under which conditions,
and single values. `stata_values`, `stata_names` and `stata_outputs` are its front end for
do-files, `python_names` and `python_single_values` for Python, `r_names` and `r_single_values`
for R.
"""
