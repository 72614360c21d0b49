"""Figures of a table to publish as bars, as a heat map, or as a pyramid.

In: a `ProtectedTable`. Out: a `Picture` of what the table tells, and of nothing else: a hidden
cell has a sign and no length or colour, and codes beside each other are parts of one whole, so
that no total dwarfs them. Public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.assessment.pictures.cell_kinds import (
    KIND_STYLES,
    KINDS,
    CellKinds,
    ChosenCodes,
    label_width,
    named,
    place_of,
    printed_value,
    shortened_label,
)
from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.theme import INK, MUTED, SERIES, SHARE_CLASSES, composed, ink_on
from discreet.assessment.pictures.words import hidden_words, words
from discreet.errors import PublicationError
from discreet.tables import Dimension, ProtectedTable

_MOST_ROWS, _MOST_COLUMNS = 60, 20
_WITHOUT_VALUE = ("zero", "hidden", "primary", "secondary", "none", "absent")
_SIGNS_TOLD = ("hidden", "primary", "secondary", "none")


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
        kind: "bars": one for each code, those of a second variable beside each other;
            "heat map": two variables as squares, darker where figures are larger; "pyramid":
            two groups left and right. Bars for one variable and a heat map for more if None.
        rows: The variable down the side; the one with most codes if None.
        columns: The second variable: colours of bars, none if None; the top of a heat map, the
            one with most codes of the others if None; the sides of a pyramid, the first with
            two codes if None.
        at: Codes of the other variables; their totals if not named.
        figure: Which figure, if the table has several; the first if None.
        language: "en" or "de".

    >>> from discreet.publication.examples import census_example
    >>> plot(census_example(), "bars", columns="sex")
    <Picture bars>
    >>> plot(census_example(), language="de").title
    'Bevölkerung nach Geschlecht und Alter'
    """
    _check(table)
    if kind is None:
        kind = "bars" if len(table.spanning) < 2 or (rows and not columns) else "heat map"
    drawn = {"bars": _bars, "heat map": _heat_map, "pyramid": _pyramid}
    if kind not in drawn:
        raise _wrong(f"there is no kind of picture {kind!r}", f"kinds: {', '.join(drawn)}")
    shown = _DrawnFigures.of(table, (rows, columns), at, figure, language, kind)
    return shown.picture(kind, drawn[kind](shown))


def _wrong(message: str, hint: str) -> PublicationError:
    return PublicationError(message, code="picture", where="plot", hint=hint)


def _check(table: object) -> None:
    if not isinstance(table, ProtectedTable):
        hint = "a Table is confidential; protect it first, for example with discreet.perturb"
        raise _wrong(f"a {type(table).__name__} cannot be drawn, only a ProtectedTable", hint)


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


@dataclass(frozen=True, kw_only=True, eq=False)
class _DrawnVariable:
    """A variable of the picture: its codes and their labels."""

    place: int
    title: str
    chosen: ChosenCodes
    labels: list[str]

    @classmethod
    def of(cls, looked: CellKinds, place: int, most: int, language: str) -> _DrawnVariable:
        dimension = looked.dimensions[place]
        chosen = _parts(dimension, most)
        labels = named(dimension, chosen, language)
        return cls(place=place, title=dimension.title(language), chosen=chosen, labels=labels)


@dataclass(frozen=True, kw_only=True, eq=False)
class _DrawnFigures:
    """What is drawn of a table."""

    looked: CellKinds
    rows: _DrawnVariable
    columns: _DrawnVariable | None
    fixed: Mapping[int, int]
    language: str

    @classmethod
    def of(
        cls,
        table: ProtectedTable,
        asked: tuple[str | None, str | None],
        at: Mapping[str, str] | None,
        figure: str | None,
        language: str,
        kind: str,
    ) -> _DrawnFigures:
        _check(table)
        words(language)
        looked = CellKinds.of(table, None, figure)
        dimensions = looked.dimensions
        if not dimensions:
            raise _wrong("the table has no variables", "print its only figure instead")
        named_places = {dimension.name: place for place, dimension in enumerate(dimensions)}
        for name in (*(item for item in asked if item is not None), *(at or {})):
            if name not in named_places:
                hint = f"variables: {', '.join(named_places)}"
                raise _wrong(f"no variable {name!r} spans the table", hint)
        down, across = _placed(dimensions, asked, kind)
        fixed = {}
        for name, code in (at or {}).items():
            if named_places[name] in (down, across):
                raise _wrong(f"{name!r} is drawn, so at cannot name one of its codes", "leave one")
            fixed[named_places[name]] = place_of(dimensions[named_places[name]], code)
        most = {"bars": len(SERIES), "heat map": _MOST_COLUMNS, "pyramid": 2}[kind]
        columns = None if across is None else _DrawnVariable.of(looked, across, most, language)
        rows = _DrawnVariable.of(looked, down, _MOST_ROWS, language)
        return cls(looked=looked, rows=rows, columns=columns, fixed=fixed, language=language)

    def records(self) -> list[dict[str, Any]]:
        """One record for each cell of the picture."""
        columns = self.columns.chosen.codes if self.columns else np.zeros(1, dtype=np.int64)
        wide = len(columns)
        across = None if self.columns is None else self.columns.place
        index = self.looked.places(
            (self.rows.place, self.rows.chosen.codes), (across, columns), self.fixed
        )
        kind, value = self.looked.filled(index)
        known = self.looked.table.known(index, len(kind))
        decimals = self.looked.table.figure_decimals(self.looked.figure)
        records: list[dict[str, Any]] = []
        for at in range(len(kind)):
            name = KINDS[kind[at]] if known[at] else "absent"
            has = name not in _WITHOUT_VALUE
            printed = printed_value(float(value[at]), self.language, decimals, name)
            records.append(
                {
                    "row": self.rows.labels[at // wide],
                    "column": self.columns.labels[at % wide] if self.columns else "",
                    "value": float(value[at]) if has else 0.0 if name == "zero" else None,
                    "text": printed if has else KIND_STYLES[name].sign,
                    "kind": name,
                }
            )
        return records

    def picture(self, name: str, body: Mapping[str, Any]) -> Picture:
        """The picture with its title and what must be said of it."""
        title = self.looked.table.title(self.language)
        notes = [self.looked.figure_note(self.language), *self._notes()]
        drawn = composed(body, title=title, notes=notes, language=self.language, warning="")
        return Picture(name, title, self.language, drawn, secret=False)

    def _notes(self) -> list[str]:
        """Where the other variables stand, what was left out, and what signs mean."""
        notes, sides = [], [self.rows, *([self.columns] if self.columns else [])]
        for place, dimension in enumerate(self.looked.dimensions):
            if all(place != side.place for side in sides):
                label = dimension.labels(self.language)[self.fixed.get(place, 0)]
                notes.append(f"{dimension.title(self.language)}: {shortened_label(label)}")
        notes += [side.chosen.note(side.title, self.language) for side in sides]
        kinds = {record["kind"] for record in self.records()}
        text = hidden_words(self.language)
        signs = [f"{KIND_STYLES[k].sign} {text[k]}" for k in _SIGNS_TOLD if k in kinds]
        return [*notes, *signs]


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
        raise _wrong("a pyramid needs a variable with two codes", "name it: columns=…")
    if down is None:
        down = free.pop(0) if free else None
    if across is None and kind == "heat map":
        across = free.pop(0) if free else None
    if down is None or (across is None and kind != "bars"):
        raise _wrong(f"a {kind} needs two variables", 'draw "bars"')
    return down, across


def _row_axis(shown: _DrawnFigures) -> dict[str, Any]:
    width = label_width(shown.rows.labels) + 40
    axis = {"title": None, "ticks": False, "domain": False, "labelLimit": width}
    sort = shown.rows.labels
    return {
        "field": "row",
        "type": "nominal",
        "sort": sort,
        "axis": {**axis, "labelOverlap": False},
        "scale": {"paddingInner": 0.15, "paddingOuter": 0.1},
    }


def _value_axis(shown: _DrawnFigures) -> dict[str, Any]:
    title = shown.looked.figure_note(shown.language) or None
    axis = {"title": title, "tickCount": 5, "domain": False, "ticks": False}
    return {"field": "value", "type": "quantitative", "axis": axis}


def _tooltip(shown: _DrawnFigures) -> list[dict[str, Any]]:
    sides = [("row", shown.rows.title)]
    sides += [("column", shown.columns.title)] if shown.columns else []
    sides += [("text", hidden_words(shown.language)["value"])]
    return [{"field": field, "title": title} for field, title in sides]


def _bars(shown: _DrawnFigures) -> dict[str, Any]:
    row = _row_axis(shown)
    several = shown.columns is not None
    encoding: dict[str, Any] = {"y": row, "tooltip": _tooltip(shown)}
    colour: dict[str, Any] = {"value": SERIES[0][0]}
    if shown.columns is not None:
        labels = shown.columns.labels
        place = {"field": "column", "type": "nominal", "sort": labels}
        encoding["yOffset"] = place
        legend = {"title": shown.columns.title, "orient": "top", "symbolType": "square"}
        scale = {"domain": labels, "range": [SERIES[at][0] for at in range(len(labels))]}
        colour = {**place, "scale": scale, "legend": legend}
    start = {"type": "text", "align": "left", "baseline": "middle", "dx": 4, "fontSize": 10}
    step = 13 * len(shown.columns.labels) + 6 if shown.columns else 20
    return {
        "width": 420,
        "height": {"step": step, "for": "position"},
        "data": {"values": shown.records()},
        "encoding": encoding,
        "layer": [
            {
                "mark": {"type": "bar", **({"height": {"band": 0.9}} if several else {})},
                "encoding": {"x": _value_axis(shown), "color": colour},
            },
            {
                "mark": {**start, "color": INK, "tooltip": False},
                "encoding": {
                    "x": {"field": "end", "type": "quantitative"},
                    "text": {"field": "text"},
                },
                "transform": [{"calculate": "datum.value === null ? 0 : datum.value", "as": "end"}],
            },
        ],
    }


def _heat_map(shown: _DrawnFigures) -> dict[str, Any]:
    columns = shown.columns
    assert columns is not None  # _placed gives two variables
    records = shown.records()
    largest = max((abs(item["value"]) for item in records if item["value"]), default=1.0)
    for record in records:
        style = KIND_STYLES[record["kind"]]
        record["fill"], record["ink"] = style.fill, style.ink
        if record["value"]:
            share = abs(record["value"]) / largest
            place = min(int(share * len(SHARE_CLASSES)), len(SHARE_CLASSES) - 1)
            record["fill"] = SHARE_CLASSES[place][1]
            record["ink"] = ink_on(record["fill"])
    wide = max(len(item["text"]) for item in records)
    needed = label_width(columns.labels)
    step = max(34, 7 * wide + 10)
    turned = needed > max(step, 90)
    step = step if turned else max(step, needed)
    top = {
        "title": columns.title, "orient": "top", "ticks": False, "domain": False,
        "labelAngle": -90 if turned else 0, "labelLimit": needed + 40, "labelOverlap": False,
        **({"labelAlign": "left"} if turned else {}),
    }  # fmt: skip
    row: dict[str, Any] = _row_axis(shown)
    none = {"paddingInner": 0, "paddingOuter": 0}
    return {
        "width": {"step": step},
        "height": {"step": 24},
        "data": {"values": records},
        "encoding": {
            "x": {
                "field": "column", "type": "nominal", "sort": columns.labels, "axis": top,
                "scale": none,
            },
            "y": {**row, "scale": none},
        },
        "layer": [
            {
                "mark": {"type": "rect", "stroke": "#ffffff", "strokeWidth": 1},
                "encoding": {
                    "fill": {"field": "fill", "type": "nominal", "scale": None},
                    "tooltip": _tooltip(shown),
                },
            },
            {
                "mark": {"type": "text", "fontSize": 11, "tooltip": False},
                "encoding": {
                    "text": {"field": "text"},
                    "color": {"field": "ink", "type": "nominal", "scale": None},
                },
            },
        ],
    }  # fmt: skip


def _pyramid(shown: _DrawnFigures) -> dict[str, Any]:
    """Two sides with one scale, the first code of the variable below."""
    records = shown.records()
    values = [record["value"] for record in records if record["value"] is not None]
    ends = (min([0.0, *values]), max([1.0, *values]))
    return {"hconcat": [_half(shown, records, at, ends) for at in (0, 1)], "spacing": 8}


def _half(
    shown: _DrawnFigures, records: Sequence[Mapping[str, Any]], at: int, ends: tuple[float, float]
) -> dict[str, Any]:
    """One side of a pyramid; the left one grows to the left, and has the labels."""
    assert shown.columns is not None  # _placed gives two variables
    left, label = at == 0, shown.columns.labels[at]
    scale = {"domain": [ends[1], ends[0]] if left else list(ends), "nice": False}
    axis = {"title": None, "tickCount": 3, "domain": False, "ticks": False}
    value: dict[str, Any] = {"field": "value", "type": "quantitative"}
    row: dict[str, Any] = {**_row_axis(shown), "sort": shown.rows.labels[::-1]}
    sign: dict[str, Any] = {"type": "text", "baseline": "middle", "fontSize": 9, "color": MUTED}
    sign |= {"align": "right", "dx": -4} if left else {"align": "left", "dx": 4}
    return {
        "title": {"text": label, "fontSize": 12, "anchor": "middle", "offset": 4},
        "width": 220,
        "height": {"step": 16 if len(shown.rows.labels) < 40 else 11},
        "data": {"values": [record for record in records if record["column"] == label]},
        "encoding": {"y": row if left else {**row, "axis": None}, "tooltip": _tooltip(shown)},
        "layer": [
            {
                "mark": {"type": "bar", "color": SERIES[at][0]},
                "encoding": {"x": {**value, "axis": axis, "scale": scale}},
            },
            {
                "transform": [{"filter": "datum.value === null"}],
                "mark": sign,
                "encoding": {"x": {"datum": 0}, "text": {"field": "text"}},
            },
        ],
    }
