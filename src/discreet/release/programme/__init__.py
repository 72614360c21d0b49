"""Table programmes: the file, its form, and what is wrong with it.

In: a TOML file. Out: a `Programme`, or every problem with its line and key. Of the data only
the names of columns and codes are looked at. `schema` and `sources` have the sections, which say
themselves what is wrong with them; `checks` asks them all, and looks at several at once. Modules
from the bottom: `values`, `rule_sections`, `sources`, `schema`, `toml_lines`, `file`, `variables`,
`checks`.
"""
