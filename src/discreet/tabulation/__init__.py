"""From records to tables: filters, base cubes, roll-up. All results are confidential."""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .columns import bin_codes as bin_codes
    from .columns import code_column as code_column
    from .cube import places_among as places_among
    from .cube_sets import checked_keys as checked_keys
    from .cube_sets import codes_in_cubes as codes_in_cubes
    from .cube_sets import joined_files as joined_files
    from .dependent_columns import column_relations as column_relations
    from .engine import Pass as Pass
    from .engine import first_records as first_records
    from .engine import lowest_of_all as lowest_of_all
    from .engine import refusals as refusals
    from .flaws import raise_flaws as raise_flaws
    from .measures import LARGEST_K as LARGEST_K
    from .measures import MeasureLayout as MeasureLayout
    from .measures import from_limbs as from_limbs
    from .measures import to_limbs as to_limbs
    from .query import CubeAxis as CubeAxis
    from .query import Query as Query
    from .query import SpanningVariable as SpanningVariable
    from .stored import StoredChoice as StoredChoice
    from .tables import add_up as add_up
    from .tables import iterate_tables as iterate_tables
    from .tables import tabulate as tabulate
    from .tables import tabulate_many as tabulate_many

lazy_face(__name__)
