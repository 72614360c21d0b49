"""JSON: one object with the description of a table and its cells as columns.

In: `ProtectedTable`. Out: UTF-8 JSON. Public. Where the grid is not complete, the
object says what the cells are that are not listed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from discreet.publication.cells import ListedCells, cell_chunks, has_number, is_complete
from discreet.publication.description import describe
from discreet.publication.formats import WriteOptions
from discreet.publication.notes import unlisted_text
from discreet.tables import CellStatus, Dimension, ProtectedTable


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the description, then each column of the cells in chunks."""
    whole = describe(table, options.language)
    whole["complete"] = is_complete(table, options.complete)
    if not whole["complete"]:
        whole["unlisted"] = unlisted_text(table, options.language)
    head = json.dumps(whole, ensure_ascii=False, indent=1).removesuffix("\n}")
    columns = [(d.name, _codes(d, at)) for at, d in enumerate(table.dimensions)]
    columns += [("value", numbers_of), ("status", _status), *_withheld(table)]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f'{head},\n "cells": {{')
        for number, (name, column) in enumerate(columns):
            file.write(",\n  " if number else "\n  ")
            file.write(f"{json.dumps(name, ensure_ascii=False)}: [")
            write_items(file, map(column, cell_chunks(table, options.complete)))
            file.write("]")
        file.write("\n }\n}\n")


def write_items(file: IO[str], chunks: Iterable[list[Any]]) -> None:
    """Write the items of several lists as those of one, without its brackets."""
    for number, items in enumerate(chunks):
        text = json.dumps(items, ensure_ascii=False, allow_nan=False)
        file.write((", " if number else "") + text[1:-1])


def _codes(dimension: Dimension, at: int) -> Callable[[ListedCells], list[Any]]:
    codes = np.array(dimension.codes, dtype=object)
    return lambda cells: list(codes[cells.index[at]])


def _withheld(table: ProtectedTable) -> Iterator[tuple[str, Callable[[ListedCells], list[Any]]]]:
    """Reasons and intervals of hidden cells, where a table says them."""
    said = table.withheld
    for name in () if said is None else said.columns:

        def column(cells: ListedCells, name: str = name) -> list[Any]:
            assert said is not None
            shown = has_number(cells.status)
            found: list[Any] = said.beside(table.dimensions, cells.index, shown)[name].to_list()
            return found

        yield name, column


def numbers_of(cells: ListedCells) -> list[Any]:
    """The values; None for cells without a number."""
    values: Any = cells.value.astype(object)
    values[~has_number(cells.status)] = None
    return list(values)


def _status(cells: ListedCells) -> list[Any]:
    names = np.array([status.name for status in CellStatus], dtype=object)
    return list(names[cells.status])
