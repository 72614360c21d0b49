"""Methods on records, before any table: records in, records out.

In: records, CONFIDENTIAL. Out: records in which nobody is to be found again.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .changed_records import ChangedRecords as ChangedRecords
    from .changed_records import HeldRecords as HeldRecords
    from .changed_records import check_codes as check_codes
    from .changed_records import places as places
    from .merged_squares import MergedSquares as MergedSquares
    from .merged_squares import merge_squares as merge_squares
    from .microaggregation import local_suppression as local_suppression
    from .microaggregation import microaggregate as microaggregate
    from .pram import Invariant as Invariant
    from .pram import PramMatrix as PramMatrix
    from .pram import pram as pram
    from .pram import pram_estimates as pram_estimates
    from .programme import METHODS as METHODS
    from .programme import broken_promise as broken_promise
    from .recoding import bottom_code as bottom_code
    from .recoding import drop_identifiers as drop_identifiers
    from .recoding import recode as recode
    from .recoding import round_values as round_values
    from .recoding import suspicion as suspicion
    from .recoding import top_code as top_code
    from .safe import safe as safe
    from .structure_files import StructureFile as StructureFile
    from .structure_files import structure_file as structure_file
    from .swapping import permute as permute
    from .swapping import rank_swap as rank_swap
    from .swapping import swap as swap

lazy_face(__name__)
