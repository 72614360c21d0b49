"""`Table` (confidential) and `ProtectedTable` (publishable): the two sides."""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .cell_values import Contributions as Contributions
    from .cell_values import ValueColumns as ValueColumns
    from .dimension import FIGURE as FIGURE
    from .dimension import Dimension as Dimension
    from .dimension import Figure as Figure
    from .dimension import FigureKind as FigureKind
    from .dimension import Parts as Parts
    from .dimension import by_language as by_language
    from .dimension import codes_found as codes_found
    from .dimension import figure_dimension as figure_dimension
    from .dimension import level_numbers as level_numbers
    from .dimension import parts_of as parts_of
    from .dimension import parts_with_figures as parts_with_figures
    from .dimension import within as within
    from .ingredient import CELL_KEY as CELL_KEY
    from .ingredient import Draw as Draw
    from .ingredient import GateReport as GateReport
    from .ingredient import Ingredient as Ingredient
    from .ingredient import correlation as correlation
    from .protected import COMPLETE_LIMIT as COMPLETE_LIMIT
    from .protected import WITHOUT_NUMBER as WITHOUT_NUMBER
    from .protected import CellNote as CellNote
    from .protected import CellStatus as CellStatus
    from .protected import Imprint as Imprint
    from .protected import Note as Note
    from .protected import ProtectedTable as ProtectedTable
    from .protected import Provenance as Provenance
    from .protected import Withheld as Withheld
    from .protected import heading as heading
    from .protected import lacks_number as lacks_number
    from .protected import listed_codes as listed_codes
    from .protected import note_of as note_of
    from .protected import single_figure as single_figure
    from .protected import without_unpublished as without_unpublished
    from .table import COLUMNS as COLUMNS
    from .table import LARGEST_CODE as LARGEST_CODE
    from .table import Spanning as Spanning
    from .table import Table as Table
    from .table import check_by as check_by
    from .table import code_texts as code_texts
    from .table import read_values as read_values
    from .table import sort_cells as sort_cells
    from .table import to_polars as to_polars
    from .value_relations import COUNT as COUNT
    from .value_relations import NEAR as NEAR
    from .value_relations import ROUGH as ROUGH
    from .value_relations import ValueRelation as ValueRelation
    from .value_relations import found_relations as found_relations
    from .value_relations import independent as independent
    from .value_relations import near_relations as near_relations
    from .value_relations import pairs_apart as pairs_apart
    from .value_relations import whole_numbers as whole_numbers

lazy_face(__name__)
