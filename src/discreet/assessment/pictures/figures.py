"""Figures of a table to publish as bars, lines, a heat map, or a pyramid.

In: a `ProtectedTable`. Out: a `Picture` of what the table tells, and of nothing else: a hidden
cell has a sign and no length or colour, and codes beside each other are parts of one whole, so
that no total dwarfs them. Public.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.assessment.pictures.cell_kinds import (
    KIND_STYLES,
    CellKinds,
    ChosenCodes,
    Side,
    label_width,
    place_of,
)
from discreet.assessment.pictures.hidden import top_axis
from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.theme import (
    SERIES,
    SHARE_CLASSES,
    channel,
    hidden_words,
    ink_on,
    mark,
    picture_of,
    spec,
    tooltip,
    words,
)
from discreet.errors import PublicationError
from discreet.tables import Dimension, ProtectedTable

_MOST_ROWS, _MOST_COLUMNS, _LINES_WIDTH = 60, 20, 560
_SIGNS_TOLD = ("hidden", "primary", "secondary", "none")

#: Cells of a picture, or fields that the pointer shows.
_Records = list[dict[str, Any]]


def plot(
    table: ProtectedTable,
    kind: str | None = None,
    *,
    rows: str | None = None,
    columns: str | None = None,
    at: Mapping[str, str] | None = None,
    figure: str | None = None,
    language: str = "en",
) -> Picture:
    """Draw a table to publish; `ProtectedTable.plot` calls it.

    Args:
        table: The table.
        kind: "bars": one for each code, those of a second variable beside each other; "lines":
            one through all codes, or one for each code of a second variable; "heat map": two
            variables as squares, darker where figures are larger; "pyramid": two groups left
            and right. Bars for one variable and a heat map for more if None.
        rows: The variable down the side; the one with most codes if None.
        columns: The second variable: colours of bars or lines, none if None; the top of a
            heat map, the one with most codes of the others if None; the sides of a pyramid,
            the first with two codes if None.
        at: Codes of the other variables; their totals if not named.
        figure: Which figure, if the table has several; the first if None.
        language: "en" or "de".

    >>> from discreet.publication.examples import census_example
    >>> plot(census_example(), "bars", columns="sex")
    <Picture bars>
    >>> plot(census_example(), language="de").title
    'Bevölkerung nach Geschlecht und Alter'
    """
    confidential: object = table
    if not isinstance(confidential, ProtectedTable):
        hint = "a Table is confidential; protect it first, for example with discreet.perturb"
        raise _wrong(f"a {type(table).__name__} cannot be drawn, only a ProtectedTable", hint)
    if kind is None:
        kind = "bars" if len(table.spanning) < 2 or (rows and not columns) else "heat map"
    drawn = {"bars": _bars, "lines": _trends, "heat map": _heat_map, "pyramid": _pyramid}
    if kind not in drawn:
        raise _wrong(f"unknown kind of picture {kind!r}", f"kinds: {', '.join(drawn)}")
    text = hidden_words(language) if words(language) else {}
    looked = CellKinds.of(table, None, figure)
    dimensions = looked.dimensions
    if not dimensions:
        raise _wrong("the table has no variables", "print its only value instead")
    places = {dimension.name: place for place, dimension in enumerate(dimensions)}
    for name in (*(item for item in (rows, columns) if item is not None), *(at or {})):
        if name not in places:
            hint = f"variables: {', '.join(places)}"
            raise _wrong(f"{name!r} is not a spanning variable of the table", hint)
    down, across = _placed(dimensions, (rows, columns), kind)
    fixed = {}
    for name, code in (at or {}).items():
        if places[name] in (down, across):
            raise _wrong(f"{name!r} is drawn: remove it from at", "leave one")
        fixed[places[name]] = place_of(dimensions[places[name]], code)
    most = {"heat map": _MOST_COLUMNS, "pyramid": 2}.get(kind, len(SERIES))
    side = Side(labels=("",))
    if across is not None:
        chosen = _parts(dimensions[across], most)
        side = Side.of(dimensions[across], across, chosen, language)
    line = Side.of(dimensions[down], down, _parts(dimensions[down], _MOST_ROWS), language)
    records = looked.shown(line, side, fixed, language)
    kinds = {record["kind"] for record in records}
    notes = [looked.figure_note(language), *looked.side_notes(line, side, fixed, language)]
    notes += [f"{KIND_STYLES[k].sign} {text[k]}" for k in _SIGNS_TOLD if k in kinds]
    fields = [("row", line.title), *([("column", side.title)] if across is not None else [])]
    pointer = tooltip([*fields, ("text", text["value"])])
    body = drawn[kind](line, side, records, pointer, looked.figure_note(language))
    return picture_of(kind, table.title(language), body, notes, language, warning="")


def _wrong(message: str, hint: str) -> PublicationError:
    return PublicationError(message, code="picture", where="plot", hint=hint)


def _parts(dimension: Dimension, most: int) -> ChosenCodes:
    """The codes of the finest level that fits, with those that end above it: parts of one whole."""
    first = np.flatnonzero((dimension.breakdown == 0) & (dimension.levels > 0)).astype(np.int64)
    if not first.size:
        return ChosenCodes(codes=np.zeros(1, dtype=np.int64), all=1)
    levels, leaf = dimension.levels[first], dimension.is_leaf[first]
    fitting = first
    for level in sorted(set(levels.tolist()), reverse=True):
        fitting = first[(levels == level) | (leaf & (levels < level))]
        if len(fitting) <= most:
            return ChosenCodes(codes=fitting, all=len(fitting))
    return ChosenCodes(codes=fitting[:most], all=len(fitting))


def _placed(
    dimensions: tuple[Dimension, ...], axes: tuple[str | None, str | None], kind: str
) -> tuple[int, int | None]:
    """The variables down and across: those named, else those with most codes (or two)."""
    names = [dimension.name for dimension in dimensions]
    sizes = [_parts(dimension, 10**9).all for dimension in dimensions]
    down, across = (None if name is None else names.index(name) for name in axes)
    if down is not None and down == across:
        raise _wrong("rows and columns are the same variable", "name two")
    free = [place for place in range(len(names)) if place not in (down, across)]
    free.sort(key=lambda place: -sizes[place])
    if across is None and kind == "pyramid":
        across = next((place for place in sorted(free) if sizes[place] == 2), None)
        free = [place for place in free if place != across]
    if kind == "pyramid" and (across is None or sizes[across] != 2):
        raise _wrong("a pyramid needs a variable with two categories", "name it: columns=…")
    if down is None:
        down = free.pop(0) if free else None
    if across is None and kind == "heat map":
        across = free.pop(0) if free else None
    if down is None or (across is None and kind in ("heat map", "pyramid")):
        raise _wrong(f"a {kind} needs two variables", 'draw "bars"')
    return down, across


def _row_axis(rows: Side, **more: Any) -> dict[str, Any]:
    width = label_width(rows.labels) + 40
    axis = {"title": None, "ticks": False, "domain": False, "labelLimit": width}
    own: dict[str, Any] = {"axis": {**axis, "labelOverlap": False}, "sort": rows.labels}
    scale = {"paddingInner": 0.15, "paddingOuter": 0.1}
    return channel("row", **{**own, "scale": scale, **more})


def _bars(
    rows: Side, columns: Side, records: _Records, pointer: _Records, figure: str
) -> dict[str, Any]:
    several = columns.place is not None
    encoding: dict[str, Any] = {"y": _row_axis(rows), "tooltip": pointer}
    colour: dict[str, Any] = {"value": SERIES[0][0]}
    if several:
        place = channel("column", sort=columns.labels)
        encoding["yOffset"] = place
        legend = {"title": columns.title, "orient": "top", "symbolType": "square"}
        hues = [SERIES[at][0] for at in range(len(columns.labels))]
        colour = {**place, "scale": {"domain": columns.labels, "range": hues}, "legend": legend}
    body: dict[str, Any] = spec(
        "bars",
        step=13 * len(columns.labels) + 6 if several else 20,
        records=records,
        encoding=encoding,
        mark=mark("bar", **({"height": {"band": 0.9}} if several else {})),
        title=figure or None,
        colour=colour,
    )
    return body


def _trends(
    rows: Side, columns: Side, records: _Records, pointer: _Records, figure: str
) -> dict[str, Any]:
    """A line of its own colour, dash and points for each code; it has a gap at hidden figures."""
    needed = label_width(rows.labels)
    turned = needed * len(rows.labels) > _LINES_WIDTH
    axis = {"title": rows.title, **top_axis(needed, turned=turned), "orient": "bottom"}
    encoding: dict[str, Any] = {
        "x": channel("row", sort=rows.labels, axis=axis),
        "y": channel(
            "value", "quantitative", axis={"title": figure or None, "tickCount": 6}, stack=None
        ),
        "tooltip": pointer,
    }
    looks = SERIES[: len(columns.labels)]
    legend = {"title": columns.title, "orient": "top"} if columns.place is not None else None
    for name, at in (("color", 0), ("strokeDash", 1), ("shape", 2)):
        scale = {"domain": columns.labels, "range": [look[at] for look in looks]}
        encoding[name] = channel("column", sort=columns.labels, scale=scale, legend=legend)
    return {
        "width": _LINES_WIDTH,
        "height": 300,
        "data": {"values": records},
        "encoding": encoding,
        "layer": [
            {"mark": mark("line", invalid="break-paths-show-domains")},
            {"mark": mark("point", filled=True, size=45)},
        ],
    }


def _heat_map(
    rows: Side, columns: Side, records: _Records, pointer: _Records, figure: str
) -> dict[str, Any]:
    largest = max((abs(item["value"]) for item in records if item["value"]), default=1.0)
    for record in records:
        style = KIND_STYLES[record["kind"]]
        record["fill"], record["ink"] = style.fill, style.ink
        if record["value"]:
            share = abs(record["value"]) / largest
            place = min(int(share * len(SHARE_CLASSES)), len(SHARE_CLASSES) - 1)
            record["fill"] = SHARE_CLASSES[place][1]
            record["ink"] = ink_on(record["fill"])
    needed = label_width(columns.labels)
    step = max(34, 7 * max(len(item["text"]) for item in records) + 10)
    turned = needed > max(step, 90)
    axis = {"title": columns.title, **top_axis(needed, turned=turned)}
    none = {"paddingInner": 0, "paddingOuter": 0}
    body: dict[str, Any] = spec(
        "cells",
        step=step if turned else max(step, needed),
        records=records,
        x=channel("column", sort=columns.labels, axis=axis, scale=none),
        y=_row_axis(rows, scale=none),
        layer=spec("squares", stroke="#ffffff", width=1, tooltip=pointer),
    )
    return body


def _pyramid(
    rows: Side, columns: Side, records: _Records, pointer: _Records, figure: str
) -> dict[str, Any]:
    """Two sides with one scale, the first code of the variable below; the left one has labels."""
    values = [record["value"] for record in records if record["value"] is not None]
    ends = [min([0.0, *values]), max([1.0, *values])]
    halves = []
    for at, label in enumerate(columns.labels):
        left = at == 0
        row = _row_axis(rows, sort=rows.labels[::-1], **({} if left else {"axis": None}))
        halves.append(
            spec(
                "half",
                label=label,
                step=16 if len(rows.labels) < 40 else 11,
                records=[record for record in records if record["column"] == label],
                rows=row,
                tooltip=pointer,
                colour=SERIES[at][0],
                ends=ends[::-1] if left else ends,
                align="right" if left else "left",
                dx=-4 if left else 4,
            )
        )
    return {"hconcat": halves, "spacing": 8}
