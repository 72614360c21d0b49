"""Documents of PxWebApi 2: descriptions of tables and selections in its formats. Public.

In: released tables and `Selection`s. Out: JSON-stat 2, CSV, json-px; all other formats come from
the writers of the library. A cell without a number is null in JSON-stat, with its sign as status,
and its sign in CSV and json-px, so that no client adds it up as zero.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from discreet.publication import (
    SUPPRESSED,
    figure_text,
    harmless,
    legend,
    number_text,
    printed_notes,
    symbol,
    universe,
    words,
)
from discreet.tables import CellStatus, Dimension, Figure, ProtectedTable
from discreet_service.facades import updated_of
from discreet_service.facades.pxweb.queries import PxQuery, level_lists
from discreet_service.releases import ListedTable, Selection

_CONTENTS = {"en": "Value", "de": "Wert"}


def table_entry(listed: ListedTable, language: str, base: str, release: str) -> dict[str, Any]:
    """What a list of tables says of one."""
    address = f"{base}/tables/{listed.id}"
    return {
        "type": "Table",
        "id": listed.id,
        "label": listed.title(language),
        "description": "",
        "updated": updated_of(listed.updated),
        "firstPeriod": None,
        "lastPeriod": None,
        "category": "public",
        "variableNames": listed.variable_titles(language),
        "discontinued": False,
        "paths": [[{"id": listed.release, "label": release}]],
        "links": [
            _link("self", address, language),
            _link("metadata", f"{address}/metadata", language),
            _link("data", f"{address}/data", language),
        ],
    }


def _link(kind: str, address: str, language: str) -> dict[str, str]:
    return {"rel": kind, "hreflang": language, "href": f"{address}?lang={language}"}


def code_list(table_id: str, dimension: Dimension, name: str, language: str, base: str) -> Any:
    """A list of codes; None if the variable has none of that name."""
    for level_list in level_lists(table_id, dimension):
        if level_list.id == name:
            labels = dimension.labels(language)
            return {
                "id": level_list.id,
                "label": level_list.labels[language],
                "language": language,
                "languages": ["en", "de"],
                "elimination": False,
                "type": "Valueset",
                "values": [
                    {
                        "code": dimension.codes[at],
                        "label": labels[at],
                        "valueMap": [dimension.codes[at]],
                        "notes": [],
                    }
                    for at in level_list.positions
                ],
                "links": [_link("self", f"{base}/codelists/{level_list.id}", language)],
            }
    return None


# -- JSON-stat ----------------------------------------------------------------------


def json_stat(
    selection: Selection,
    table_id: str,
    language: str,
    base: str,
    *,
    order: Sequence[int] | None = None,
    data: bool = True,
) -> dict[str, Any]:
    """A selection as a data set of JSON-stat 2.0, as PxWeb gives it."""
    table = selection.table
    shown = list(selection.shown if order is None else order)
    titles = _told_apart(table, shown, language)
    notes = [note.text(language) for note in printed_notes(table)]
    figures = len(table.dimensions) - 1 if table.several_figures else -1
    document: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "href": f"{base}/tables/{table_id}/{'data' if data else 'metadata'}?lang={language}",
        "label": table.title(language),
        "source": f"discreet {table.provenance.version}",
        "updated": updated_of(table.provenance.time),
        "note": notes,
        "role": {"metric": [table.dimensions[figures].name]} if figures in shown else {},
        "id": [table.dimensions[at].name for at in shown],
        "size": [len(selection.positions[at]) for at in shown],
        "dimension": {
            table.dimensions[at].name: _dimension(
                selection, at, titles[k], table_id, language, base
            )
            for k, at in enumerate(shown)
        },
        "extension": _extension(selection, table_id, language, len(notes)),
        "value": None,
    }
    if data:
        document |= _values(selection, shown)
    return {key: value for key, value in document.items() if value is not None or key == "value"}


def _told_apart(table: ProtectedTable, shown: Sequence[int], language: str) -> list[str]:
    """The headings of variables; some clients lose one of two that are called the same."""
    titles = [table.dimensions[at].title(language) for at in shown]
    seen = Counter(titles)
    return [
        title if seen[title] == 1 else f"{title} ({table.dimensions[at].name})"
        for title, at in zip(titles, shown, strict=True)
    ]


def _dimension(
    selection: Selection, at: int, title: str, table_id: str, language: str, base: str
) -> dict[str, Any]:
    """Codes, labels, hierarchy, units and lists of codes of a dimension."""
    table = selection.table
    dimension, codes = table.dimensions[at], selection.codes(at)
    category: dict[str, Any] = {
        "index": {code: k for k, code in enumerate(codes)},
        "label": dict(zip(codes, selection.labels(at, language), strict=True)),
    }
    figures = table.several_figures and at == len(table.dimensions) - 1
    if figures:
        category["unit"] = {figure.name: _unit(figure, language) for figure in selection.figures}
    elif children := _children(selection, at):
        category["child"] = children
    if notes := _code_notes(selection, at, language):
        category["note"] = notes
    extension: dict[str, Any] = {"elimination": not figures, "show": "value"}
    if not figures:
        extension["eliminationValueCode"] = dimension.total
    extension["codelists"] = [
        {
            "id": level_list.id,
            "label": level_list.labels[language],
            "type": "Valueset",
            "links": [_link("metadata", f"{base}/codelists/{level_list.id}", language)],
        }
        for level_list in level_lists(table_id, dimension)
    ]
    return {"label": title, "category": category, "extension": extension}


def _unit(figure: Figure, language: str) -> dict[str, Any]:
    unit = figure.unit_text(language) or words(language).number
    return {"base": unit, "decimals": figure.decimals}


def _children(selection: Selection, at: int) -> dict[str, list[str]]:
    """The codes right below each code that is shown, as far as they are shown."""
    dimension = selection.table.dimensions[at]
    there = set(selection.positions[at].tolist())
    found: dict[str, list[str]] = {}
    for code in selection.positions[at].tolist():
        parent = int(dimension.parents[code])
        if parent in there:
            found.setdefault(dimension.codes[parent], []).append(dimension.codes[code])
    return found


def _code_notes(selection: Selection, at: int, language: str) -> dict[str, list[str]]:
    """The notes about single codes that are shown."""
    there = set(selection.codes(at))
    code_notes: dict[str, list[str]] = {}
    for remark in selection.table.cell_notes:
        named = [k for k, code in enumerate(remark.codes) if code is not None]
        code = remark.codes[at] if at < len(remark.codes) else None
        if named == [at] and code in there:
            code_notes.setdefault(str(code), []).append(remark.note.text(language))
    return code_notes


def _extension(selection: Selection, table_id: str, language: str, notes: int) -> dict[str, Any]:
    """What JSON-stat has no place for."""
    table = selection.table
    several = [
        {
            "codes": {
                dimension.name: code
                for dimension, code in zip(table.dimensions, remark.codes, strict=False)
                if code is not None
            },
            "text": remark.note.text(language),
        }
        for remark in table.cell_notes
        if sum(code is not None for code in remark.codes) > 1
    ]
    return {
        "noteMandatory": {str(at): True for at in range(notes)},
        "px": {
            "tableid": table_id,
            "decimals": max([figure.decimals for figure in selection.figures] or [table.decimals]),
            "official-statistics": True,
            "aggregallowed": False,
            "copyright": False,
            "language": language,
            "contents": _contents(selection, language),
            "matrix": table.name,
            "subject-area": universe(table, language),
            "description": table.title(language),
        },
        "discreet": {
            "status": {sign.symbol: sign.meaning for sign in legend(table, language)},
            "cell_notes": several,
            "method": table.provenance.method,
        },
    }


def _contents(selection: Selection, language: str) -> str:
    """What the values are."""
    if len(selection.figures) == 1:
        return figure_text(selection.figures[0], language)
    return selection.table.title(language)


def _values(selection: Selection, shown: Sequence[int]) -> dict[str, Any]:
    """Values in the order of the dimensions, and the signs of those that are no plain numbers."""
    place = _places(selection, shown)
    numbers = selection.numbers()
    status = selection.cells[1][place]
    marked = np.flatnonzero(
        (status != CellStatus.published) & (status != CellStatus.zero_or_changed_to_zero)
    )
    signs = {str(at): _sign(CellStatus(int(status[at]))) for at in marked.tolist()}
    return {"value": [numbers[at] for at in place.tolist()], "status": signs or None}


def _places(selection: Selection, shown: Sequence[int]) -> Any:
    """The number of each cell, with the dimensions that are shown in another order."""
    sizes = [len(part) for part in selection.positions]
    hidden = [at for at in range(len(sizes)) if at not in shown]
    return np.arange(selection.size).reshape(sizes).transpose([*shown, *hidden]).ravel()


def _sign(status: CellStatus) -> str:
    """The sign of a state in the legend."""
    return symbol(1, status, 0).replace("(1)", "( )").replace("1", "")


# -- CSV, json-px -------------------------------------------------------------------


def printed_cells(selection: Selection) -> list[str]:
    """The cells as texts: numbers with their decimals, signs where there is no number."""
    value, status = selection.cells
    return [
        number_text(number, places)
        if shown
        else (SUPPRESSED if state == CellStatus.suppressed else "..")
        for number, state, places, shown in zip(
            value.tolist(),
            status.tolist(),
            selection.decimals(),
            selection.numbered.tolist(),
            strict=True,
        )
    ]


def csv_text(selection: Selection, query: PxQuery) -> bytes:
    """A selection as CSV: variables that go down as columns, a column per code across."""
    language, table = query.language, selection.table
    stub, heading = placement(selection, query)
    texts = [_csv_texts(selection, at, query) for at in range(len(table.dimensions))]
    titles = [dimension.title(language) for dimension in table.dimensions]
    rows = _grid([texts[at] for at in stub])
    across = _grid([texts[at] for at in heading])
    contents = _contents(selection, language) if selection.figures else _CONTENTS[language]
    head = [titles[at] for at in stub] + ([" ".join(item) for item in across] or [contents])
    if not heading:
        head = [*[titles[at] for at in stub], contents]
    cells = printed_cells(selection)
    place = _places(selection, [*stub, *heading]).reshape(len(rows), len(across))
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=query.separator, quoting=csv.QUOTE_NONNUMERIC)
    if "IncludeTitle" in query.params:
        writer.writerow([_harmless([table.title(language)])[0]])
        writer.writerow([])
    writer.writerow(_harmless(head))
    plain = [_Plain(cell) if cell[-1:].isdigit() else cell for cell in cells]
    for number, row in enumerate(rows):
        writer.writerow([*_harmless(row), *(plain[at] for at in place[number].tolist())])
    return file.getvalue().encode("utf-8")


class _Plain(float):
    """A number that is written as it is printed, without quotes."""

    text: str

    def __new__(cls, text: str) -> _Plain:
        made = super().__new__(cls, 0.0)
        made.text = text
        return made

    def __repr__(self) -> str:
        return str(self.text)

    __str__ = __repr__


def _harmless(texts: Sequence[str]) -> list[str]:
    return harmless(pl.Series(list(texts), dtype=pl.String)).to_list() if texts else []


def _csv_texts(selection: Selection, at: int, query: PxQuery) -> list[str]:
    codes, labels = selection.codes(at), selection.labels(at, query.language)
    table = selection.table
    if table.several_figures and at == len(table.dimensions) - 1:
        labels = [figure_text(figure, query.language) for figure in selection.figures]
    if query.texts == "UseCodes":
        return codes
    if query.texts == "UseTexts":
        return labels
    return [f"{code} {label}" for code, label in zip(codes, labels, strict=True)]


def _grid(texts: Sequence[list[str]]) -> list[tuple[str, ...]]:
    """All combinations, the last goes fastest."""
    found: list[tuple[str, ...]] = [()]
    for item in texts:
        found = [(*before, text) for before in found for text in item]
    return found


def placement(selection: Selection, query: PxQuery) -> tuple[list[int], list[int]]:
    """Which dimensions go down and which across; figures go across unless it is said otherwise."""
    table = selection.table
    names = {dimension.name: at for at, dimension in enumerate(table.dimensions)}
    shown = set(selection.shown)
    stub = [names[item] for item in query.stub if names[item] in shown]
    heading = [names[item] for item in query.heading if names[item] in shown]
    left = [at for at in selection.shown if at not in (*stub, *heading)]
    figures = len(table.dimensions) - 1 if table.several_figures else -1
    if figures in left and not heading:
        heading, left = [figures], [at for at in left if at != figures]
    return [*stub, *left], heading


def json_px(selection: Selection, query: PxQuery) -> dict[str, Any]:
    """A selection as the JSON of PxWeb: one entry per cell with its codes."""
    table, language = selection.table, query.language
    stub, heading = placement(selection, query)
    shown = [*stub, *heading]
    cells = printed_cells(selection)
    place = _places(selection, shown).tolist()
    keys = _grid([selection.codes(at) for at in shown])
    contents = _contents(selection, language)
    columns = [
        {
            "code": table.dimensions[at].name,
            "text": table.dimensions[at].title(language),
            "type": "d",
        }
        for at in shown
    ]
    return {
        "columns": [*columns, {"code": "value", "text": contents, "type": "c"}],
        "comments": [
            {"variable": "", "value": "", "comment": note.text(language)}
            for note in printed_notes(table)
        ],
        "data": [
            {"key": list(key), "values": [cells[at]]} for key, at in zip(keys, place, strict=True)
        ],
        "metadata": [
            {
                "infofile": "",
                "updated": updated_of(table.provenance.time) or "",
                "label": table.title(language),
                "source": f"discreet {table.provenance.version}",
            }
        ],
    }


def json_px_metadata(table: ProtectedTable, language: str) -> dict[str, Any]:
    """What the JSON of PxWeb says of the variables of a table."""
    figures = len(table.dimensions) - 1 if table.several_figures else -1
    return {
        "title": table.title(language),
        "variables": [
            {
                "code": dimension.name,
                "text": dimension.title(language),
                "values": list(dimension.codes),
                "valueTexts": list(dimension.labels(language)),
                "elimination": at != figures,
            }
            for at, dimension in enumerate(table.dimensions)
        ],
    }
