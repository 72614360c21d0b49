"""From records to tables: filters, base cubes, roll-up. All results are confidential."""

from discreet.tabulation.query import Query
from discreet.tabulation.tables import iterate_tables, tabulate, tabulate_many

__all__ = ["Query", "iterate_tables", "tabulate", "tabulate_many"]
