"""Linked tables: what all tables of a program, taken together, tell about withheld cells.

In: which records are in which cell of each table, and which cells are shown (CONFIDENTIAL). Out:
findings in words, without a figure: what follows from what, and what to withhold besides.
"""

from discreet_fire.linked_tables.advice import LEFT, linked_findings
from discreet_fire.linked_tables.outputs import GroupsShown, OutputRecords, ShownTable, tables_of
from discreet_fire.linked_tables.shown_counts import ShownCounts, TableAxis, shown_counts
from discreet_fire.linked_tables.stored_tables import read_tables, table_bytes, with_records

__all__ = [
    "LEFT",
    "GroupsShown",
    "OutputRecords",
    "ShownCounts",
    "ShownTable",
    "TableAxis",
    "linked_findings",
    "read_tables",
    "shown_counts",
    "table_bytes",
    "tables_of",
    "with_records",
]
