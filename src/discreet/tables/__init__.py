"""`Table` (confidential) and `ProtectedTable` (publishable): the two sides."""

from discreet.tables.cell_values import ValueColumns
from discreet.tables.dimension import Dimension
from discreet.tables.figures import Figure, figure_dimension
from discreet.tables.protected import (
    WITHOUT_NUMBER,
    CellNote,
    CellStatus,
    Note,
    ProtectedTable,
    Provenance,
    Withheld,
    without_unpublished,
)
from discreet.tables.table import Contributions, Table

__all__ = [
    "WITHOUT_NUMBER",
    "CellNote",
    "CellStatus",
    "Contributions",
    "Dimension",
    "Figure",
    "Note",
    "ProtectedTable",
    "Provenance",
    "Table",
    "ValueColumns",
    "Withheld",
    "figure_dimension",
    "without_unpublished",
]
