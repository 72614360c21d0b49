"""Pictures of tables: hidden cells by kind, by code or table part; figures as bars, lines, maps.

In: a table to publish, or the suppression that made it (pictures of hidden cells are SECRET then).
Out: a `Picture` of what the table tells, and of nothing else: values are those of published cells
only; a hidden cell has a sign and no length or colour. Where figures are drawn, codes beside each
other are parts of one whole, so that no total dwarfs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import IntArray
from discreet.assessment.pictures.cell_kinds import (
    HIDDEN,
    KIND_STYLES,
    KINDS,
    CellKinds,
    ChosenCodes,
    Side,
    choose,
    label_width,
    legend_beside,
    line_labels,
    place_of,
    printed_value,
    shortened_label,
)
from discreet.assessment.pictures.picture import (
    SERIES,
    SHARE_CLASSES,
    Picture,
    channel,
    ink_on,
    mark,
    picture_of,
    spec,
    tooltip,
    words,
)
from discreet.assessment.words import number, percent
from discreet.errors import PublicationError
from discreet.protection.parts import levels_of, name_of_part, named_level
from discreet.tables import Dimension, ProtectedTable, level_numbers

if TYPE_CHECKING:
    from discreet.protection.suppression import Suppression

_MOST_ROWS, _MOST_COLUMNS = 40, 24
_WIDEST = 1_000  # pixels of all columns
_WIDE_ENOUGH, _SPARE = 90, 8  # pixels: of a column for its label, and around a label
_BAR = 240  # pixels of a bar
_COLUMN = 84  # pixels of a column of numbers
_MOST_LINES, _MOST_INNER = 60, 12


def hidden_cells(
    table: ProtectedTable | Suppression,
    *,
    rows: str | None = None,
    columns: str | None = None,
    at: Mapping[str, str] | None = None,
    under: Mapping[str, str] | None = None,
    which: str | None = None,
    figure: str | None = None,
    language: str = "en",
) -> Picture:
    """Draw a table, its hidden cells marked by colour and sign.

    Of a table to publish, the picture shows what the table tells: primary and secondary
    cells are told apart only if reasons are published. Of a `Suppression` they always are,
    and the picture is SECRET. Values of hidden cells are never shown.

    Args:
        table: The table, or what `Suppression.of` did.
        rows: The variable down the side; the first one if None.
        columns: The variable along the top; the next one if None.
        at: Codes of the other variables; their totals if not named.
        under: Code of a variable that is shown; only it and the codes below it are.
        which: Name of the table, if several were suppressed together.
        figure: Which figure, if the table has several; the first if None.
        language: "en" or "de".

    >>> from discreet.classifications import Classification
    >>> from discreet.publication.examples import census_example
    >>> hidden_cells(census_example())
    <Picture hidden_cells>
    """
    text = words(language, "hidden")
    looked = CellKinds.of(table, which, figure)
    dimensions, codes, tops = looked.dimensions, at or {}, under or {}
    places = {dimension.name: place for place, dimension in enumerate(dimensions)}
    _check_names((rows, columns, *codes, *tops), places, "hidden_cells")
    shown = _placed(list(places), rows, columns)
    for name in (*(set(codes) & set(shown)), *(set(tops) - set(shown))):
        hint = "use at for variables that are not drawn, under for variables that are drawn"
        raise _wrong(f"{name!r} is in the wrong argument", hint)
    fixed = {places[name]: place_of(dimensions[places[name]], code) for name, code in codes.items()}
    step = _step(looked, language)
    sides = [Side(), Side()]
    most = (_MOST_ROWS, max(4, min(_MOST_COLUMNS, _WIDEST // step)))
    for side, name in enumerate(shown):
        dimension = dimensions[places[name]]
        top = place_of(dimension, tops[name]) if name in tops else 0
        chosen = choose(dimension, most[side], top)
        sides[side] = Side.of(dimension, places[name], chosen, language)
    down, along = sides
    records = looked.shown(down, along, fixed, language)
    wide = len(along.labels)
    for place, record in enumerate(records):
        style = KIND_STYLES[record["kind"]]
        del record["value"]
        record |= {"line": str(place // wide), "means": text[record["kind"]]}
        record |= {"fill": style.fill, "ink": style.ink}
    needed = label_width(along.labels)
    if needed <= _WIDE_ENOUGH and needed * wide <= _WIDEST:
        step = max(step, needed)
    axis = {"title": along.title or None, **top_axis(needed, turned=needed > step + _SPARE)}
    fields = [("row", down.title), ("column", along.title)]
    fields += [("means", text["kind"]), ("text", text["value"])]
    lines = [str(line) for line in range(len(down.labels))]
    pointer = tooltip([pair for pair in fields if pair[1]])
    matrix = spec(
        "cells",
        step=step,
        records=records,
        x=channel("column", sort=along.labels, axis=axis),
        y=spec("along", lines=lines),
        layer=[
            *line_labels(lines, down.labels, down.steps, down.title),
            *spec("squares", stroke="#8a8a8a", width=0.8, tooltip=pointer),
        ],
    )
    legend = legend_beside({record["kind"] for record in records}, language)
    body = {"hconcat": [matrix, legend], "spacing": 24}
    notes = [looked.figure_note(language), *looked.side_notes(down, along, fixed, language)]
    title, warning = looked.table.title(language), "confidential_cells" if looked.secret else ""
    return picture_of("hidden_cells", title, body, notes, language, warning=warning)


def _wrong(message: str, hint: str, where: str = "hidden_cells") -> PublicationError:
    return PublicationError(message, code="picture", where=where, hint=hint)


def _check_names(names: Iterable[str | None], places: Mapping[str, int], where: str) -> None:
    """Raise for what is not a variable of the table; None is no name."""
    for name in names:
        if name is not None and name not in places:
            hint = f"variables: {', '.join(places) or 'none'}"
            raise _wrong(f"{name!r} is not a spanning variable of the table", hint, where)


def _placed(names: list[str], rows: str | None, columns: str | None) -> list[str]:
    """The variables in rows and in columns: those named, else the first ones."""
    if rows is not None and rows == columns:
        raise _wrong("rows and columns are the same variable", "name two")
    rest = [name for name in names if name not in (rows, columns)]
    if rows is None and rest:
        rows = rest.pop(0)
    if columns is None and rest:
        columns = rest.pop(0)
    return [name for name in (rows, columns) if name is not None]


def _step(looked: CellKinds, language: str) -> int:
    """Pixels of a column: enough for the longest value of the table."""
    longest = 3
    if looked.table.stored:
        value = np.asarray(looked.table.value, dtype=np.float64)
        decimals = looked.table.figure_decimals(looked.figure)
        ends = (float(value.min()), float(value.max()))
        longest = max(len(printed_value(end, language, 0, "bracketed")) for end in ends)
        longest += decimals + bool(decimals)
    return max(34, 7 * longest + 6)


def top_axis(needed: int, *, turned: bool) -> dict[str, Any]:
    """The axis of columns, whose labels need so many pixels and stand upright if turned."""
    axis: dict[str, Any] = {"orient": "top", "ticks": False, "domain": False}
    axis |= {"labelAngle": -90 if turned else 0, "labelLimit": needed + 40, "labelOverlap": False}
    return axis | ({"labelAlign": "left"} if turned else {})


@dataclass(frozen=True, kw_only=True)
class _BarLine:
    label: str  # what it is about
    level: int  # how many steps it is set in
    cells: int  # number of its cells
    hidden: Mapping[str, int]  # number of hidden ones by kind
    strong: bool = False  # whether its label is bold

    @classmethod
    def of(cls, label: str, level: int, numbers: IntArray, *, strong: bool = False) -> _BarLine:
        """A line with numbers of cells by kind."""
        hidden = {kind: int(numbers[KINDS.index(kind)]) for kind in HIDDEN}
        cells = int(numbers.sum())
        return cls(label=label, level=level, cells=cells, hidden=hidden, strong=strong)


def hidden_by_code(
    table: ProtectedTable | Suppression,
    variable: str | None = None,
    *,
    nested: str | None = None,
    under: str | None = None,
    below: bool = False,
    which: str | None = None,
    figure: str | None = None,
    language: str = "en",
) -> Picture:
    """Draw the code tree of a variable with numbers and shares of hidden cells.

    A line counts the cells of its code over all codes of the other variables.

    Args:
        table: A table to publish, or what `Suppression.of` did: then primary and secondary
            cells are told apart, and the picture is SECRET.
        variable: The variable; the first one if None.
        nested: A second variable; its tree is repeated below each code of the first.
        under: Show only this code of the variable and the codes below it.
        below: Also count the cells of all codes below a code.
        which: Name of the table, if several were suppressed together.
        figure: Which figure, if the table has several; the first if None.
        language: "en" or "de".

    >>> from discreet.publication.examples import census_example
    >>> hidden_by_code(census_example(), "sex", language="de").title
    'Gesperrte Felder nach Geschlecht'
    """
    words(language)
    looked = CellKinds.of(table, which, figure)
    places = {dimension.name: at for at, dimension in enumerate(looked.dimensions)}
    where = "hidden_by_code"
    if not places:
        raise _wrong("the table has no spanning variable", "draw it with hidden_cells", where)
    wanted = [next(iter(places)) if variable is None else variable]
    wanted += [] if nested is None else [nested]
    _check_names(wanted, places, where)
    if len(set(wanted)) < len(wanted):
        raise _wrong("a variable cannot be nested in itself", "name another one", where)
    outer = looked.dimensions[places[wanted[0]]]
    top = 0 if under is None else place_of(outer, under)
    axes = [places[name] for name in wanted]
    lines, chosen = _tree(looked, axes, top, below, language)
    titles = [looked.dimensions[at].title(language) for at in axes]
    text = words(language, "hidden")
    notes = [text["below"] if below else "", text["zeros" if below else "own"]]
    for title, codes in zip(titles, chosen, strict=True):
        notes.append(codes.note(title, language))
    heading = text["by_code"].format(variable=" × ".join(titles))
    return _bars("hidden_by_code", heading, lines, notes, looked, language)


def hidden_by_part(
    table: ProtectedTable | Suppression,
    *,
    which: str | None = None,
    figure: str | None = None,
    language: str = "en",
) -> Picture:
    """Draw numbers and shares of hidden cells by table part: by combination of levels.

    Args:
        table: A table to publish, or what `Suppression.of` did: then primary and secondary
            cells are told apart, and the picture is SECRET.
        which: Name of the table, if several were suppressed together.
        figure: Which figure, if the table has several; the first if None.
        language: "en" or "de".

    >>> from discreet.publication.examples import census_example
    >>> hidden_by_part(census_example()).title
    'Suppressed cells by subtable'
    """
    words(language)
    looked = CellKinds.of(table, which, figure)
    index, _, kind = looked.cells
    dimensions = looked.dimensions
    levels = [level_numbers(item)[part] for item, part in zip(dimensions, index, strict=True)]
    levels = levels or [np.zeros(len(kind), dtype=np.int64)]
    combinations, group = np.unique(np.stack(levels), axis=1, return_inverse=True)
    numbers = _counted(group.reshape(-1).astype(np.int64), kind, combinations.shape[1])
    known = [levels_of(dimension) for dimension in dimensions]
    parts = []  # the parts that have cells, coarse ones first
    for at, own in enumerate(combinations.T.tolist()):
        steps = [steps[level] for steps, level in zip(known, own, strict=False)]
        names = [named_level(*pair) for pair in zip(dimensions, steps, strict=True)]
        label = shortened_label(name_of_part(names, language), 70)
        parts.append((sum(step.depth for step in steps), _BarLine.of(label, 0, numbers[at])))
    lines = [line for _, line in sorted(parts, key=lambda part: part[0])]
    text = words(language, "hidden")
    notes = [text["zeros"]]
    if len(lines) > _MOST_LINES:
        most = sorted(range(len(lines)), key=lambda at: -sum(lines[at].hidden.values()))
        shown, total = (number(count, language) for count in (_MOST_LINES, len(lines)))
        notes.append(text["some_parts"].format(shown=shown, all=total))
        lines = [lines[at] for at in sorted(most[:_MOST_LINES])]
    return _bars("hidden_by_part", text["by_part"], lines, notes, looked, language)


def _counted(group: IntArray, kind: Any, groups: int) -> IntArray:
    """Numbers of cells by group and kind."""
    flat = np.bincount(group * len(KINDS) + kind, minlength=groups * len(KINDS))
    return flat.reshape(groups, len(KINDS)).astype(np.int64)


def _tree(
    looked: CellKinds, axes: Sequence[int], top: int, below: bool, language: str
) -> tuple[list[_BarLine], list[ChosenCodes]]:
    """The lines of a variable; below each code the tree of the nested variable, if any."""
    outer, *inner = (looked.dimensions[at] for at in axes)
    index, _, kind = looked.cells

    def counted(cells: Any) -> IntArray:
        numbers = _counted(index[axes[0]][cells].astype(np.int64), kind[cells], len(outer))
        for at in range(len(outer) - 1, 0, -1) if below else ():
            numbers[outer.parents[at]] += numbers[at]
        return numbers

    inside = [choose(item, _MOST_INNER) for item in inner]
    most = _MOST_LINES // (1 + sum(len(codes.codes) for codes in inside))
    side = Side.of(outer, axes[0], choose(outer, max(2, most), top), language)
    nested = []
    for dimension, codes in zip(inner, inside, strict=True):
        own = Side.of(dimension, axes[1], codes, language)
        for label, step, at in zip(own.labels, own.steps, codes.codes.tolist(), strict=True):
            name = label if step else f"{own.title}: {label}"
            nested.append((name, step, counted(index[axes[1]] == at)))
    every, first = counted(slice(None)), 1 + max(side.steps)
    lines = []
    for label, step, at in zip(side.labels, side.steps, side.chosen.codes.tolist(), strict=True):
        lines.append(_BarLine.of(label, step, every[at], strong=bool(inner)))
        lines += [_BarLine.of(name, first + more, numbers[at]) for name, more, numbers in nested]
    return lines, [side.chosen, *inside]


def _bars(
    name: str,
    title: str,
    lines: Sequence[_BarLine],
    notes: Sequence[str],
    looked: CellKinds,
    language: str,
) -> Picture:
    text = words(language, "hidden")
    kinds = [*(("primary", "secondary") if looked.told else ()), "hidden"]
    if looked.told and not any(line.hidden["hidden"] for line in lines):
        kinds.remove("hidden")
    places = [str(at) for at in range(len(lines))]
    records: list[dict[str, Any]] = []
    for place, line in zip(places, lines, strict=True):
        start = 0
        for kind in (*kinds, "shown"):
            count = line.hidden.get(kind, line.cells - sum(line.hidden.values()))
            if count:
                records.append(
                    {
                        "line": place,
                        "label": line.label,
                        "from": start / line.cells,
                        "to": (start + count) / line.cells,
                        "means": text[kind],
                        "number": number(count, language),
                        "share": percent(count / line.cells, language),
                        "fill": KIND_STYLES[kind].fill,
                    }
                )
            start += count
    fields = [("label", ""), ("means", ""), ("number", text["column_cells"])]
    fields += [("share", text["column_share"])]
    bars = spec("shares", records=records, title=text["share_axis"], tooltip=tooltip(fields))
    numbers: list[dict[str, Any]] = []
    for at, column in enumerate((*kinds, "cells", "share"), 1):
        values = []
        for place, line in zip(places, lines, strict=True):
            hidden = sum(line.hidden.values())
            figure = number({**line.hidden, "cells": line.cells, "share": 0}[column], language)
            if column == "share":
                figure = percent(hidden / line.cells, language) if line.cells else "–"
            values.append({"line": place, "number": figure})
        head = text[f"column_{column}"]
        numbers += spec("numbers", values=values, x=_BAR + at * _COLUMN, head=head)
    labels, levels = [line.label for line in lines], [line.level for line in lines]
    drawn = {
        "width": _BAR,
        "height": {"step": 21},
        "encoding": {"y": spec("along", lines=places)},
        "layer": [
            *line_labels(places, labels, levels, strong=[line.strong for line in lines]),
            bars,
            *numbers,
        ],
    }
    body = {"vconcat": [drawn, legend_beside([*kinds, "shown"], language)], "spacing": 16}
    remarks = [looked.table.title(language), *notes]
    warning = "confidential_cells" if looked.secret else ""
    return picture_of(name, title, body, remarks, language, warning=warning)


_MOST_PARTS, _MOST_BESIDE, _LINES_WIDTH = 60, 20, 560
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
        raise _wrong(
            f"a {type(table).__name__} cannot be drawn, only a ProtectedTable", hint, "plot"
        )
    if kind is None:
        kind = "bars" if len(table.spanning) < 2 or (rows and not columns) else "heat map"
    drawn = {"bars": _bar_chart, "lines": _trends, "heat map": _heat_map, "pyramid": _pyramid}
    if kind not in drawn:
        raise _wrong(f"unknown kind of picture {kind!r}", f"kinds: {', '.join(drawn)}", "plot")
    text = words(language, "hidden")
    looked = CellKinds.of(table, None, figure)
    dimensions = looked.dimensions
    if not dimensions:
        raise _wrong("the table has no variables", "print its only value instead", "plot")
    places = {dimension.name: place for place, dimension in enumerate(dimensions)}
    _check_names((rows, columns, *(at or {})), places, "plot")
    down, across = _drawn(dimensions, (rows, columns), kind)
    fixed = {}
    for name, code in (at or {}).items():
        if places[name] in (down, across):
            raise _wrong(f"{name!r} is drawn: remove it from at", "leave one", "plot")
        fixed[places[name]] = place_of(dimensions[places[name]], code)
    most = {"heat map": _MOST_BESIDE, "pyramid": 2}.get(kind, len(SERIES))
    side = Side(labels=("",))
    if across is not None:
        chosen = _parts(dimensions[across], most)
        side = Side.of(dimensions[across], across, chosen, language)
    line = Side.of(dimensions[down], down, _parts(dimensions[down], _MOST_PARTS), language)
    records = looked.shown(line, side, fixed, language)
    kinds = {record["kind"] for record in records}
    notes = [looked.figure_note(language), *looked.side_notes(line, side, fixed, language)]
    notes += [f"{KIND_STYLES[k].sign} {text[k]}" for k in _SIGNS_TOLD if k in kinds]
    fields = [("row", line.title), *([("column", side.title)] if across is not None else [])]
    pointer = tooltip([*fields, ("text", text["value"])])
    body = drawn[kind](line, side, records, pointer, looked.figure_note(language))
    return picture_of(kind, table.title(language), body, notes, language, warning="")


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


def _drawn(
    dimensions: tuple[Dimension, ...], axes: tuple[str | None, str | None], kind: str
) -> tuple[int, int | None]:
    """The variables down and across: those named, else those with most codes (or two)."""
    names = [dimension.name for dimension in dimensions]
    sizes = [_parts(dimension, 10**9).all for dimension in dimensions]
    down, across = (None if name is None else names.index(name) for name in axes)
    if down is not None and down == across:
        raise _wrong("rows and columns are the same variable", "name two", "plot")
    free = [place for place in range(len(names)) if place not in (down, across)]
    free.sort(key=lambda place: -sizes[place])
    if across is None and kind == "pyramid":
        across = next((place for place in sorted(free) if sizes[place] == 2), None)
        free = [place for place in free if place != across]
    if kind == "pyramid" and (across is None or sizes[across] != 2):
        raise _wrong("a pyramid needs a variable with two categories", "name it: columns=…", "plot")
    if down is None:
        down = free.pop(0) if free else None
    if across is None and kind == "heat map":
        across = free.pop(0) if free else None
    if down is None or (across is None and kind in ("heat map", "pyramid")):
        raise _wrong(f"a {kind} needs two variables", 'draw "bars"', "plot")
    return down, across


def _row_axis(rows: Side, **more: Any) -> dict[str, Any]:
    width = label_width(rows.labels) + 40
    axis = {"title": None, "ticks": False, "domain": False, "labelLimit": width}
    own: dict[str, Any] = {"axis": {**axis, "labelOverlap": False}, "sort": rows.labels}
    scale = {"paddingInner": 0.15, "paddingOuter": 0.1}
    return channel("row", **{**own, "scale": scale, **more})


def _bar_chart(
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
