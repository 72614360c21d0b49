"""Methods on records, before any table: records in, records out.

In: records, CONFIDENTIAL. Out: records in which nobody is to be found again.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .calibration import calibrate as calibrate
    from .changed_records import DRAWS as DRAWS
    from .changed_records import ChangedRecords as ChangedRecords
    from .changed_records import InputRecords as InputRecords
    from .changed_records import check_codes as check_codes
    from .changed_records import coded as coded
    from .changed_records import draws as draws
    from .changed_records import impossible as impossible
    from .changed_records import places as places
    from .changed_records import record_method as record_method
    from .margins import Margin as Margin
    from .margins import check_agreement as check_agreement
    from .margins import margins_of as margins_of
    from .margins import summed as summed
    from .matrices import Invariant as Invariant
    from .matrices import PramMatrix as PramMatrix
    from .merged_squares import MergedSquares as MergedSquares
    from .merged_squares import merge_squares as merge_squares
    from .microaggregation import local_suppression as local_suppression
    from .microaggregation import microaggregate as microaggregate
    from .pram import pram as pram
    from .pram import pram_estimates as pram_estimates
    from .recoding import bottom_code as bottom_code
    from .recoding import drop_identifiers as drop_identifiers
    from .recoding import recode as recode
    from .recoding import round_values as round_values
    from .recoding import suspicion as suspicion
    from .recoding import top_code as top_code
    from .safe import safe as safe
    from .settings import METHODS as METHODS
    from .settings import CalibrateSettings as CalibrateSettings
    from .settings import RecordSettings as RecordSettings
    from .settings import StructureSettings as StructureSettings
    from .steps import AnonymisedRecords as AnonymisedRecords
    from .steps import RecordChain as RecordChain
    from .steps import anonymise_records as anonymise_records
    from .steps import checked_steps as checked_steps
    from .steps import record_chain as record_chain
    from .steps import undecided as undecided
    from .structure_files import StructureFile as StructureFile
    from .structure_files import structure_file as structure_file
    from .swapping import permute as permute
    from .swapping import rank_swap as rank_swap
    from .swapping import swap as swap

lazy_face(__name__)
