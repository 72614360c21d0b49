"""From records to tables (layer 5): filters, base cubes, roll-up. All results are confidential."""

from discreet.tabulation.counting import iterate_tables, tabulate, tabulate_many
from discreet.tabulation.query import Query

__all__ = ["Query", "iterate_tables", "tabulate", "tabulate_many"]
