"""`Table` (confidential) and `ProtectedTable` (publishable): the two sides (layer 2)."""

from discreet.tables.dimension import Dimension
from discreet.tables.listing import without_unpublished
from discreet.tables.protected import CellStatus, Note, ProtectedTable, Provenance
from discreet.tables.table import Table

__all__ = [
    "CellStatus",
    "Dimension",
    "Note",
    "ProtectedTable",
    "Provenance",
    "Table",
    "without_unpublished",
]
