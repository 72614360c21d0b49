"""JSON: one object with the description of a table and its cells as columns.

In: `ProtectedTable`. Out: UTF-8 JSON. Public. Cells that are not listed are zero.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from discreet.publication.cells import Cells, cell_chunks, is_complete
from discreet.publication.description import describe
from discreet.tables import CellStatus, Dimension, ProtectedTable

if TYPE_CHECKING:
    from discreet.publication.writing import Options

__all__ = ["write_file"]


def write_file(table: ProtectedTable, path: Path, options: Options) -> None:
    """Write the description, then each column of the cells in chunks."""
    whole = describe(table, options.language)
    whole["complete"] = is_complete(table, options.complete)
    head = json.dumps(whole, ensure_ascii=False, indent=1).removesuffix("\n}")
    columns = [(d.name, _codes(d, at)) for at, d in enumerate(table.dimensions)]
    columns += [("value", _values), ("status", _status)]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f'{head},\n "cells": {{')
        for number, (name, column) in enumerate(columns):
            file.write(",\n  " if number else "\n  ")
            file.write(f"{json.dumps(name, ensure_ascii=False)}: [")
            _write_items(file, map(column, cell_chunks(table, options.complete)))
            file.write("]")
        file.write("\n }\n}\n")


def _write_items(file: IO[str], chunks: Iterable[list[Any]]) -> None:
    for number, items in enumerate(chunks):
        text = json.dumps(items, ensure_ascii=False, allow_nan=False)
        file.write((", " if number else "") + text[1:-1])


def _codes(dimension: Dimension, at: int) -> Callable[[Cells], list[Any]]:
    codes = np.array(dimension.codes, dtype=object)
    return lambda cells: list(codes[cells.index[at]])


def _values(cells: Cells) -> list[Any]:
    values: Any = cells.value.astype(object)
    values[cells.status == CellStatus.suppressed] = None
    return list(values)


def _status(cells: Cells) -> list[Any]:
    names = np.array([status.name for status in CellStatus], dtype=object)
    return list(names[cells.status])
