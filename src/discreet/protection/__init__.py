"""From a confidential `Table` to a `ProtectedTable`: one folder per method of protection.

In: tables and parameters, CONFIDENTIAL. Out: protected tables, which hold no true value.
noise/ is the cell-key method, with invariant noise and noise of units, suppression/ hides cells,
rounding/ rounds counts, sample/ publishes estimates, parts/ hides whole parts of tables. A folder
holds the settings of its method, its words, and what it answers to a release by `protocol`;
`registry` has a row for each method.
"""
