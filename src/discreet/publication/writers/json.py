"""JSON and JSON-stat 2: a table as one object, for programs and charts on the web.

In: `ProtectedTable`. Out: UTF-8 JSON: the description of a table and its cells as columns; or a
dataset of JSON-stat 2.0, whose values stand in the order of the grid; of a sparse table only
those that are stored, by their number in the grid. Public. Where the grid is not complete, the
file says what the cells are that are not listed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from discreet.files import json_text
from discreet.publication.cells import (
    MARGINS,
    ListedCells,
    cell_chunks,
    flat_keys,
    has_number,
    is_complete,
    published_columns,
)
from discreet.publication.description import (
    describe,
    describe_cells,
    imprint_texts,
    printed_notes,
    unlisted_text,
)
from discreet.publication.formats import WriteOptions
from discreet.publication.layout import footnotes
from discreet.publication.notation import signs_of
from discreet.publication.vocabulary import labels_of, words
from discreet.tables import FIGURE, CellStatus, Dimension, ProtectedTable, figure_dimension

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(T\S+)?")


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the description, then each column of the cells in chunks."""
    whole = describe(table, options.language)
    whole["complete"] = is_complete(table, options.complete)
    if not whole["complete"]:
        whole["unlisted"] = unlisted_text(table, options.language)
    head = json_text(whole, step=" ").removesuffix("\n}")
    names = [dimension.name for dimension in table.dimensions]
    columns = [*names, "value", "status"]
    columns += [] if table.withheld is None else table.withheld.columns
    columns += [] if table.margin is None else MARGINS

    def column(number: int, cells: ListedCells) -> list[Any]:
        if number < len(names):
            codes = np.array(table.dimensions[number].codes, dtype=object)
            return list(codes[cells.index[number]])
        if number == len(names):
            return _numbers(cells)
        return published_columns(table, cells)[columns[number]].to_list()

    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f'{head},\n "cells": {{')
        for number, name in enumerate(columns):
            file.write(",\n  " if number else "\n  ")
            file.write(f"{json.dumps(name, ensure_ascii=False)}: [")
            chunks = cell_chunks(table, options.complete)
            _write_items(file, (column(number, cells) for cells in chunks))
            file.write("]")
        file.write("\n }\n}\n")


def _write_items(file: IO[str], chunks: Iterable[list[Any] | dict[str, Any]]) -> None:
    """Write the items of several lists or objects as those of one, without its brackets."""
    first = True
    for items in chunks:
        if items:
            text = json.dumps(items, ensure_ascii=False, allow_nan=False)
            file.write(("" if first else ", ") + text[1:-1])
            first = False


def _numbers(cells: ListedCells) -> list[Any]:
    """The values; None for cells without a number."""
    values: Any = cells.value.astype(object)
    values[~has_number(cells.status)] = None
    return list(values)


def write_stat(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the description, then values and status in chunks, as JSON-stat."""
    # Cells on parts that a table lacks have no place in an array without gaps.
    dense = is_complete(table, options.complete) and table.parts is None
    language = options.language
    figures = [figure_dimension(table.figures)] if table.figures else []
    dimensions = (*table.spanning, *figures)
    roles = {"metric": [FIGURE] if figures else [], "geo": list(options.geo)}
    stated = imprint_texts(table, language)
    notes = [note.text(language) for note in printed_notes(table)]
    if not is_complete(table, options.complete):
        notes.append(unlisted_text(table, language))
    # What JSON-stat has no place for: universe, decimals, status, provenance, …
    about = describe_cells(table, language)
    others = ("universe", "figures", "cell_notes", "suppressed_parts", "imprint")
    extension = {"name": table.name} | {name: about[name] for name in others if name in about}
    if not table.figures:
        extension["decimals"] = table.decimals
    signs, plain = signs_of(None, language), words(language).published
    extension["status"] = {
        "label": {s.name: signs[s].meaning if s in signs else plain for s in CellStatus},
        "symbol": {s.name: signs[s].symbol if s in signs else "" for s in CellStatus},
    }
    whole: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "label": table.title(language),
        "source": stated.get("source")
        or stated.get("publisher")
        or f"discreet {table.provenance.version}",
        "updated": table.provenance.time if _DATE.fullmatch(table.provenance.time) else "",
        "id": [dimension.name for dimension in dimensions],
        "size": [len(dimension) for dimension in dimensions],
        "role": {role: listed for role, listed in roles.items() if listed},
        "dimension": {
            dimension.name: _described(table, at, dimension, language)
            for at, dimension in enumerate(dimensions)
        },
        "note": notes,
        "extension": {**extension, "provenance": about["provenance"]},
    }
    whole = {key: value for key, value in whole.items() if value or key == "role"}
    head = json_text(whole, step=" ")
    names = np.array([status.name for status in CellStatus], dtype=object)
    sizes = [len(dimension) for dimension in table.dimensions]

    def placed(cells: ListedCells, items: Any, shown: Any = slice(None)) -> dict[str, Any]:
        """Items of some cells, by their number in the complete grid."""
        keys = flat_keys(sizes, cells.index, len(cells))[shown]
        return dict(zip(map(str, keys.tolist()), items, strict=True))

    def marked(cells: ListedCells) -> dict[str, Any]:
        shown = cells.status != CellStatus.published
        return placed(cells, names[cells.status[shown]], shown)

    # Tables of one chunk are listed once.
    few = list(islice(cell_chunks(table, options.complete), 2))
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(head.removesuffix("\n}"))
        file.write(f',\n "value": {"[" if dense else "{"}')
        chunks = few if len(few) == 1 else cell_chunks(table, options.complete)
        if dense:
            _write_items(file, map(_numbers, chunks))
        else:
            _write_items(file, (placed(cells, _numbers(cells)) for cells in chunks))
        file.write(f'{"]" if dense else "}"},\n "status": {{')
        chunks = few if len(few) == 1 else cell_chunks(table, options.complete)
        _write_items(file, map(marked, chunks))
        file.write("}\n}\n")


def _described(
    table: ProtectedTable, at: int, dimension: Dimension, language: str
) -> dict[str, Any]:
    """Codes, labels, hierarchy, units and notes of a dimension."""
    codes, remarks = dimension.codes, footnotes(table)
    category: dict[str, Any] = {
        "index": list(codes),
        "label": dict(zip(codes, labels_of(dimension, language), strict=True)),
    }
    if at == len(table.spanning):
        category["unit"] = {}
        for figure in table.figures:
            unit = figure.unit_text(language)
            labelled = {"label": unit} if unit else {}
            category["unit"][figure.name] = {"decimals": figure.decimals, **labelled}
    else:
        children: dict[str, list[str]] = {}
        for code, parent in enumerate(dimension.parents.tolist()):
            if parent >= 0:
                children.setdefault(codes[parent], []).append(codes[code])
        category["child"] = children
    notes = {  # those about single codes; those about cells stand in the extension
        codes[code]: [remarks.notes[number - 1].text(language) for number in numbers]
        for (where, code), numbers in remarks.headings.items()
        if where == at
    }
    if notes:
        category["note"] = notes
    described = {"label": dimension.title(language), "category": category}
    levels = [
        [tree.level_title(level, language) for level in range(1, len(tree.level_names) + 1)]
        for tree in dimension.classifications
        if tree.level_names
    ]
    # JSON-stat has no place for the names of levels, coarsest first; of each breakdown its own.
    return {**described, "extension": {"levels": levels}} if levels else described
