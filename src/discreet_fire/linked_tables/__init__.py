"""Linked tables: what all tables of a program, taken together, tell about withheld cells.

In: which records are in which cell of each table, and which cells are shown (CONFIDENTIAL). Out:
findings in words, without a figure: what follows from what, and what to withhold besides.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .advice import DIFFERENCE as DIFFERENCE
    from .advice import LEFT as LEFT
    from .advice import MORE as MORE
    from .advice import difference_findings as difference_findings
    from .advice import linked_findings as linked_findings
    from .advice import more_withheld as more_withheld
    from .advice import related_sums as related_sums
    from .advice import uncompared as uncompared
    from .small_counts import GroupsShown as GroupsShown
    from .small_counts import OutputRecords as OutputRecords
    from .small_counts import ShownCounts as ShownCounts
    from .small_counts import ShownSums as ShownSums
    from .small_counts import ShownTable as ShownTable
    from .small_counts import kinds_left as kinds_left
    from .small_counts import read_tables as read_tables
    from .small_counts import shown_counts as shown_counts
    from .small_counts import table_bytes as table_bytes
    from .small_counts import tables_of as tables_of
    from .small_counts import with_records as with_records
    from .system import sum_systems_of as sum_systems_of
    from .system import systems_of as systems_of

lazy_face(__name__)
