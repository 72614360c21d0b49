"""From a confidential `Table` to a `ProtectedTable`: one folder per method of protection.

In: tables and parameters, CONFIDENTIAL. Out: protected tables, which hold no true value.
noise/ is the cell-key method, suppression/ hides cells, rounding/
rounds counts, parts/ hides whole parts of tables.
"""
