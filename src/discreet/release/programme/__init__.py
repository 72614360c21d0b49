"""Table programmes: the file, its form, and what is wrong with it.

In: a TOML file. Out: a `Programme`, or every problem with its line and key. Of the data only
the names of columns and codes are looked at. Modules from the bottom: `schema` and
`toml_lines`, `file`, `problems`, `groups`, `rules`, `variables`, and the checks.
"""
