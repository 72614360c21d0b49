"""JSON-stat 2: a table as one array of values, for programs and charts on the web.

In: `ProtectedTable`. Out: UTF-8 JSON, a dataset of JSON-stat 2.0. Public. Values stand in
the order of the grid; of a sparse table only those that are stored, by their number in
the grid, and a note says what the others are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from discreet.arrays import IntArray
from discreet.publication.cells import ListedCells, cell_chunks, flat_keys, is_complete
from discreet.publication.description import describe
from discreet.publication.formats import WriteOptions
from discreet.publication.layout import footnotes
from discreet.publication.notation import legend, symbol
from discreet.publication.notes import printed_notes, unlisted_text
from discreet.publication.vocabulary import labels_of, words
from discreet.publication.writers.json import numbers_of, write_items
from discreet.tables import FIGURE, CellStatus, Dimension, Figure, ProtectedTable, figure_dimension

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(T\S+)?")


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the description, then values and status in chunks."""
    # Cells on parts that a table lacks have no place in an array without gaps.
    dense = is_complete(table, options.complete) and table.parts is None
    head = json.dumps(_dataset(table, options), ensure_ascii=False, indent=1)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(head.removesuffix("\n}"))
        file.write(f',\n "value": {"[" if dense else "{"}')
        chunks = cell_chunks(table, options.complete)
        if dense:
            write_items(file, map(numbers_of, chunks))
        else:
            _write_pairs(file, ((_places(table, cells), numbers_of(cells)) for cells in chunks))
        file.write(f'{"]" if dense else "}"},\n "status": {{')
        _write_pairs(file, map(_marked(table), cell_chunks(table, options.complete)))
        file.write("}\n}\n")


def _places(table: ProtectedTable, cells: ListedCells) -> IntArray:
    """The number of each cell in the complete grid."""
    return flat_keys([len(d) for d in table.dimensions], cells.index, len(cells))


def _marked(table: ProtectedTable) -> Callable[[ListedCells], tuple[IntArray, list[Any]]]:
    """Gives the places and names of the states of cells that are not just published."""
    names = np.array([status.name for status in CellStatus], dtype=object)

    def states(cells: ListedCells) -> tuple[IntArray, list[Any]]:
        part = cells.status != CellStatus.published
        return _places(table, cells)[part], list(names[cells.status[part]])

    return states


def _write_pairs(file: IO[str], chunks: Iterator[tuple[IntArray, list[Any]]]) -> None:
    """Write places and what stands there, as the inside of one object."""
    first = True
    for places, items in chunks:
        pairs = dict(zip(map(str, places.tolist()), items, strict=True))
        if pairs:
            text = json.dumps(pairs, ensure_ascii=False, allow_nan=False)
            file.write(("" if first else ", ") + text[1:-1])
            first = False


def _dataset(table: ProtectedTable, options: WriteOptions) -> dict[str, Any]:
    """Everything but the values and their status."""
    language = options.language
    figures = [figure_dimension(table.figures)] if table.figures else []
    dimensions = (*table.spanning, *figures)
    roles = {"metric": [FIGURE] if figures else [], "geo": list(options.geo)}
    whole: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "label": table.title(language),
        "source": f"discreet {table.provenance.version}",
        "updated": table.provenance.time if _DATE.fullmatch(table.provenance.time) else "",
        "id": [dimension.name for dimension in dimensions],
        "size": [len(dimension) for dimension in dimensions],
        "role": {role: names for role, names in roles.items() if names},
        "dimension": {
            dimension.name: _described(table, at, dimension, language)
            for at, dimension in enumerate(dimensions)
        },
        "note": [note.text(language) for note in printed_notes(table)],
        "extension": _extension(table, options),
    }
    if not is_complete(table, options.complete):
        whole["note"].append(unlisted_text(table, language))
    return {key: value for key, value in whole.items() if value or key == "role"}


def _described(
    table: ProtectedTable, at: int, dimension: Dimension, language: str
) -> dict[str, Any]:
    """Codes, labels, hierarchy, units and notes of a dimension."""
    codes = dimension.codes
    category: dict[str, Any] = {
        "index": list(codes),
        "label": dict(zip(codes, labels_of(dimension, language), strict=True)),
    }
    if at == len(table.spanning):
        category["unit"] = {figure.name: _unit(figure, language) for figure in table.figures}
    else:
        category["child"] = _children(dimension)
    notes = _notes(table, at, codes, language)
    if notes:
        category["note"] = notes
    described = {"label": dimension.title(language), "category": category}
    levels = [list(tree.level_names) for tree in dimension.classifications if tree.level_names]
    # JSON-stat has no place for the names of levels, coarsest first; of each breakdown its own.
    return {**described, "extension": {"levels": levels}} if levels else described


def _unit(figure: Figure, language: str) -> dict[str, Any]:
    unit = figure.unit_text(language)
    return {"decimals": figure.decimals, **({"label": unit} if unit else {})}


def _children(dimension: Dimension) -> dict[str, list[str]]:
    """The codes below each code that has some."""
    children: dict[str, list[str]] = {}
    for code, parent in enumerate(dimension.parents.tolist()):
        if parent >= 0:
            children.setdefault(dimension.codes[parent], []).append(dimension.codes[code])
    return children


def _notes(
    table: ProtectedTable, at: int, codes: tuple[str, ...], language: str
) -> dict[str, list[str]]:
    """The notes about single codes; those about cells stand in the extension."""
    remarks = footnotes(table)
    return {
        codes[code]: [remarks.notes[number - 1].text(language) for number in numbers]
        for (where, code), numbers in remarks.headings.items()
        if where == at
    }


def _extension(table: ProtectedTable, options: WriteOptions) -> dict[str, Any]:
    """What JSON-stat has no place for: universe, decimals, status, provenance, …"""
    said, language = describe(table, options.language), options.language
    names = ("name", "universe", "figures", "cell_notes", "suppressed_parts")
    own = {name: said[name] for name in names if name in said}
    if not table.figures:
        own["decimals"] = table.decimals
    signs = {sign.symbol: sign.meaning for sign in legend(None, language)}
    states = {status.name: _sign(status) for status in CellStatus}
    own["status"] = {
        "label": {
            name: signs.get(sign, words(language).published) for name, sign in states.items()
        },
        "symbol": states,
    }
    return {**own, "provenance": said["provenance"]}


def _sign(status: CellStatus) -> str:
    """The sign of a state in the legend; empty for a plain number."""
    printed = symbol(0 if status == CellStatus.zero_or_changed_to_zero else 1, status, 0)
    return printed.replace("(1)", "( )").replace("1", "")
