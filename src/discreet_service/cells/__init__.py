"""Cells in, protected cells out: what callers counted themselves gets the figures of the house.

In: cells of callers (CONFIDENTIAL) and opened parameters (SECRET). Out: protected cells, public.
Nothing of what was handed in is kept.
"""

from discreet_service.cells.bodies import BodyKind, HandedIn, body_kind, read_body
from discreet_service.cells.protection import (
    ProtectedCells,
    WatchedCells,
    protect_counts,
    protect_table,
    protect_values,
)
from discreet_service.cells.results import CellResult, cells_result, chosen_format, table_result
from discreet_service.cells.watch import KeyWatch, WatchAlarm

__all__ = [
    "WatchedCells",
    "BodyKind",
    "CellResult",
    "HandedIn",
    "KeyWatch",
    "ProtectedCells",
    "WatchAlarm",
    "body_kind",
    "cells_result",
    "chosen_format",
    "protect_counts",
    "protect_table",
    "protect_values",
    "read_body",
    "table_result",
]
