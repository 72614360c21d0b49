"""Documents of PxWebApi 2: JSON-stat 2, CSV, json-px. Public. A cell without a number is null in
JSON-stat with its sign as status, so that no client adds it up as zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from discreet.publication import (
    SUPPRESSED,
    figure_text,
    harmless,
    is_figure,
    labels_at,
    legend,
    number_text,
    printed_notes,
    signs_of,
    universe,
    words,
)
from discreet.tables import CellStatus, Dimension, ProtectedTable
from discreet_service.facades import updated_of
from discreet_service.facades.pxweb.queries import LevelList, PxQuery, level_lists
from discreet_service.releases import ListedTable, Selection

_CONTENTS = {"en": "Value", "de": "Wert"}


def table_entry(listed: ListedTable, language: str, base: str, release: str) -> dict[str, Any]:
    """Entry of a table in a list."""
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


def code_list(listed: LevelList, dimension: Dimension, language: str, base: str) -> dict[str, Any]:
    """A list of codes."""
    labels = dimension.labels(language)
    return {
        "id": listed.id,
        "label": listed.labels[language],
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
            for at in listed.positions
        ],
        "links": [_link("self", f"{base}/codelists/{listed.id}", language)],
    }


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
    titles = [table.dimensions[at].title(language) for at in shown]
    # Some clients lose one of two variables that are called the same.
    headings = {
        at: title if titles.count(title) == 1 else f"{title} ({table.dimensions[at].name})"
        for title, at in zip(titles, shown, strict=True)
    }
    notes = [note.text(language) for note in printed_notes(table)]
    figures = [table.dimensions[at].name for at in shown if is_figure(table, at)]
    document: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "href": f"{base}/tables/{table_id}/{'data' if data else 'metadata'}?lang={language}",
        "label": table.title(language),
        "source": f"discreet {table.provenance.version}",
        "updated": updated_of(table.provenance.time),
        "note": notes,
        "role": {"metric": figures} if figures else {},
        "id": [table.dimensions[at].name for at in shown],
        "size": [len(selection.positions[at]) for at in shown],
        "dimension": {
            table.dimensions[at].name: _dimension(selection, at, title, table_id, language, base)
            for at, title in headings.items()
        },
        "extension": _extension(selection, table_id, language, len(notes)),
        "value": None,
    }
    if data:
        # Values in the order of the dimensions, and the signs of those that are no plain numbers.
        place, numbers = _places(selection, shown), selection.numbers()
        status = selection.cells[1][place]
        plain, known = CellStatus.zero_or_changed_to_zero, signs_of(None, language)
        signs = {
            str(at): known[state].symbol
            for at, state in enumerate(map(CellStatus, status.tolist()))
            if state in known and state != plain
        }
        document |= {"value": [numbers[at] for at in place.tolist()], "status": signs or None}
    return {key: value for key, value in document.items() if value is not None or key == "value"}


def _dimension(
    selection: Selection, at: int, title: str, table_id: str, language: str, base: str
) -> dict[str, Any]:
    table = selection.table
    dimension, codes = table.dimensions[at], selection.codes(at)
    category: dict[str, Any] = {
        "index": {code: k for k, code in enumerate(codes)},
        "label": dict(zip(codes, selection.labels(at, language), strict=True)),
    }
    figures = is_figure(table, at)
    if figures:
        number = words(language).number
        category["unit"] = {
            figure.name: {"base": figure.unit_text(language) or number, "decimals": figure.decimals}
            for figure in selection.figures
        }
    else:
        there = set(selection.positions[at].tolist())
        children: dict[str, list[str]] = {}
        for code in selection.positions[at].tolist():
            parent = int(dimension.parents[code])
            if parent in there:
                children.setdefault(dimension.codes[parent], []).append(dimension.codes[code])
        category |= {"child": children} if children else {}
    notes: dict[str, list[str]] = {}
    for remark in table.cell_notes:
        named = {k: code for k, code in enumerate(remark.codes) if code is not None}
        if list(named) == [at] and named[at] in category["index"]:
            notes.setdefault(str(named[at]), []).append(remark.note.text(language))
    category |= {"note": notes} if notes else {}
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
        for level_list in level_lists(table_id, dimension).values()
    ]
    return {"label": title, "category": category, "extension": extension}


def _extension(selection: Selection, table_id: str, language: str, notes: int) -> dict[str, Any]:
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
    if len(selection.figures) == 1:
        return figure_text(selection.figures[0], language)
    return selection.table.title(language)


def _places(selection: Selection, shown: Sequence[int]) -> Any:
    """The number of each cell, with the dimensions that are shown in another order."""
    sizes = [len(part) for part in selection.positions]
    hidden = [at for at in range(len(sizes)) if at not in shown]
    return np.arange(selection.size).reshape(sizes).transpose([*shown, *hidden]).ravel()


def _printed(selection: Selection) -> list[str]:
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
    stub, heading = _placement(selection, query)
    texts = [_csv_texts(selection, at, query) for at in range(len(table.dimensions))]
    titles = [dimension.title(language) for dimension in table.dimensions]
    # All combinations, the last goes fastest.
    rows = list(product(*(texts[at] for at in stub)))
    across = list(product(*(texts[at] for at in heading)))
    contents = _contents(selection, language) if selection.figures else _CONTENTS[language]
    named = [" ".join(item) for item in across] if heading else [contents]
    head = [*(titles[at] for at in stub), *named]
    cells = _printed(selection)
    place = _places(selection, [*stub, *heading]).reshape(len(rows), len(across))

    def line(texts: Sequence[str], own: Sequence[str] = ()) -> str:
        quoted = ['"' + text.replace('"', '""') + '"' for text in _harmless(texts)]
        signs = (cell if cell[-1:].isdigit() else f'"{cell}"' for cell in own)
        return query.separator.join([*quoted, *signs]) + "\r\n"

    title = line([table.title(language)]) + "\r\n" if "IncludeTitle" in query.params else ""
    below = (line(row, [cells[at] for at in own]) for row, own in zip(rows, place, strict=True))
    return "".join([title, line(head), *below]).encode()


def _harmless(texts: Sequence[str]) -> list[str]:
    return harmless(pl.Series(list(texts), dtype=pl.String)).to_list() if texts else []


def _csv_texts(selection: Selection, at: int, query: PxQuery) -> list[str]:
    codes, every = selection.codes(at), labels_at(selection.table, at, query.language)
    labels = [every[code] for code in selection.positions[at].tolist()]
    if query.texts == "UseCodes":
        return codes
    if query.texts == "UseTexts":
        return labels
    return [f"{code} {label}" for code, label in zip(codes, labels, strict=True)]


def _placement(selection: Selection, query: PxQuery) -> tuple[list[int], list[int]]:
    """Which dimensions go down and which across; figures go across unless it is said otherwise."""
    table = selection.table
    names = {dimension.name: at for at, dimension in enumerate(table.dimensions)}
    shown = set(selection.shown)
    stub = [names[item] for item in query.stub if names[item] in shown]
    heading = [names[item] for item in query.heading if names[item] in shown]
    left = [at for at in selection.shown if at not in (*stub, *heading)]
    if not heading:
        heading = [at for at in left if is_figure(table, at)]
    return [*stub, *(at for at in left if at not in heading)], heading


def json_px(selection: Selection, query: PxQuery) -> dict[str, Any]:
    """A selection as the JSON of PxWeb: one entry per cell with its codes."""
    table, language = selection.table, query.language
    stub, heading = _placement(selection, query)
    shown = [*stub, *heading]
    cells = _printed(selection)
    place = _places(selection, shown).tolist()
    keys = product(*(selection.codes(at) for at in shown))
    contents = _contents(selection, language)
    columns = [{"code": one.name, "text": one.title(language), "type": "d"}
               for one in (table.dimensions[at] for at in shown)]  # fmt: skip
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
                **{"infofile": "", "updated": updated_of(table.provenance.time) or ""},
                "label": table.title(language),
                "source": f"discreet {table.provenance.version}",
            }
        ],
    }


def json_px_metadata(table: ProtectedTable, language: str) -> dict[str, Any]:
    """Variables of a table as json-px metadata."""
    return {
        "title": table.title(language),
        "variables": [
            {
                "code": dimension.name,
                "text": dimension.title(language),
                "values": list(dimension.codes),
                "valueTexts": list(dimension.labels(language)),
                "elimination": not is_figure(table, at),
            }
            for at, dimension in enumerate(table.dimensions)
        ],
    }
