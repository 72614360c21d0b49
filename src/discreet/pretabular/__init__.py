"""Methods on records, before any table: records in, records out.

In: records, CONFIDENTIAL. Out: records in which nobody is to be found again.
"""

from discreet.pretabular.changed_records import ChangedRecords
from discreet.pretabular.merged_squares import MergedSquares, merge_squares
from discreet.pretabular.microaggregation import local_suppression, microaggregate
from discreet.pretabular.pram import Invariant, PramMatrix, pram, pram_estimates
from discreet.pretabular.recoding import (
    bottom_code,
    drop_identifiers,
    recode,
    round_values,
    top_code,
)
from discreet.pretabular.safe import safe
from discreet.pretabular.structure_files import StructureFile, structure_file
from discreet.pretabular.swapping import permute, rank_swap, swap

__all__ = [
    "ChangedRecords",
    "Invariant",
    "MergedSquares",
    "PramMatrix",
    "StructureFile",
    "bottom_code",
    "drop_identifiers",
    "local_suppression",
    "merge_squares",
    "microaggregate",
    "permute",
    "pram",
    "pram_estimates",
    "rank_swap",
    "recode",
    "round_values",
    "safe",
    "structure_file",
    "swap",
    "top_code",
]
