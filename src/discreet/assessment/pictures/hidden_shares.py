"""How many cells are hidden by kind, for each code of a variable or for each table part.

In: a table to publish, or the suppression that made it (the picture is SECRET then). Out: a
`Picture` of bars with their numbers beside them. Only numbers of cells are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import IntArray
from discreet.assessment.pictures.cell_kinds import (
    HIDDEN,
    KIND_STYLES,
    KINDS,
    CellKinds,
    ChosenCodes,
    choose,
    legend_beside,
    line_labels,
    named,
    place_of,
    shortened_label,
)
from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.theme import INK, composed
from discreet.assessment.pictures.words import hidden_words, words
from discreet.assessment.words import number, percent
from discreet.errors import PublicationError
from discreet.protection.parts import levels_of, name_of_part, named_level
from discreet.tables import Dimension, ProtectedTable, level_numbers

if TYPE_CHECKING:
    from discreet.protection.suppression import Suppression

_WIDE = 240  # pixels of a bar
_COLUMN = 84  # pixels of a column of numbers


@dataclass(frozen=True, kw_only=True)
class BarLine:
    """One line."""

    label: str  # what it is about
    level: int  # how many steps it is set in
    cells: int  # number of its cells
    hidden: tuple[int, ...]  # number of hidden ones by kind, in the order of `HIDDEN`
    strong: bool = False  # whether its label is bold


def bars(lines: Sequence[BarLine], *, told: bool, language: str) -> dict[str, Any]:
    """The bars with their numbers."""
    kinds = ("primary", "secondary") if told else ("hidden",)
    if any(line.hidden[HIDDEN.index("hidden")] for line in lines):
        kinds = (*kinds, "hidden") if told else kinds
    places = [str(at) for at in range(len(lines))]
    labels, levels = [line.label for line in lines], [line.level for line in lines]
    along = {"field": "line", "type": "nominal", "sort": places, "axis": None}
    drawn = {
        "width": _WIDE,
        "height": {"step": 21},
        "encoding": {"y": {**along, "scale": {"domain": places, "padding": 0}}},
        "layer": [
            *line_labels(places, labels, levels, strong=[line.strong for line in lines]),
            _bars(lines, kinds, language),
            *_numbers(lines, kinds, language),
        ],
    }
    return {"vconcat": [drawn, legend_beside([*kinds, "shown"], language)], "spacing": 16}


def _bars(lines: Sequence[BarLine], kinds: Sequence[str], language: str) -> dict[str, Any]:
    text = hidden_words(language)
    records: list[dict[str, Any]] = []
    for at, line in enumerate(lines):
        start = 0
        for kind in (*kinds, "shown"):
            count = line.cells - sum(line.hidden)
            if kind != "shown":
                count = line.hidden[HIDDEN.index(kind)]
            if count:
                records.append(
                    {
                        "line": str(at),
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
    shown = [("label", ""), ("means", ""), ("number", text["column_cells"])]
    shown += [("share", text["column_share"])]
    return {
        "data": {"values": records},
        "mark": {"type": "bar", "stroke": "#6e6e6e", "strokeWidth": 0.7, "height": 14},
        "encoding": {
            "x": {
                "field": "from",
                "type": "quantitative",
                "scale": {"domain": [0, 1], "nice": False},
                "axis": {
                    "title": text["share_axis"],
                    "labelExpr": "round(datum.value * 100) + ' %'",
                },
            },
            "x2": {"field": "to"},
            "fill": {"field": "fill", "type": "nominal", "scale": None},
            "tooltip": [{"field": field, "title": title} for field, title in shown],
        },
    }


def _numbers(lines: Sequence[BarLine], kinds: Sequence[str], language: str) -> list[dict[str, Any]]:
    text = hidden_words(language)
    columns = [*kinds, "cells", "share"]
    layers = []
    for at, column in enumerate(columns):
        right = _WIDE + (at + 1) * _COLUMN
        records = [
            {"line": str(row), "number": _number(line, column, language)}
            for row, line in enumerate(lines)
        ]
        mark = {"type": "text", "x": right, "align": "right", "fontSize": 11, "tooltip": False}
        layers.append(
            {
                "data": {"values": records},
                "mark": {**mark, "color": INK},
                "encoding": {"text": {"field": "number"}},
            }
        )
        layers.append(
            {
                "data": {"values": [{"head": text[f"column_{column}"]}]},
                "mark": {**mark, "y": -9, "color": INK, "fontWeight": "bold"},
                "encoding": {"text": {"field": "head"}, "y": None},
            }
        )
    return layers


def _number(line: BarLine, column: str, language: str) -> str:
    if column == "cells":
        return number(line.cells, language)
    if column == "share":
        return percent(sum(line.hidden) / line.cells, language) if line.cells else "–"
    return number(line.hidden[HIDDEN.index(column)], language)


_MOST_LINES = 60
_MOST_INNER = 12


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
    if not places:
        raise _wrong("the table has no spanning variable", "draw it with hidden_cells")
    wanted = [next(iter(places)) if variable is None else variable]
    wanted += [] if nested is None else [nested]
    for name in wanted:
        if name not in places:
            raise _wrong(f"no variable {name!r} spans the table", ", ".join(places))
    if len(set(wanted)) < len(wanted):
        raise _wrong("a variable is nested in itself", "name another one")
    outer = looked.dimensions[places[wanted[0]]]
    top = 0 if under is None else place_of(outer, under)
    axes = [places[name] for name in wanted]
    lines, chosen = _tree(looked, axes, top, below, language)
    title = " × ".join(looked.dimensions[at].title(language) for at in axes)
    text = hidden_words(language)
    notes = [text["below"] if below else "", text["zeros" if below else "own"]]
    for at, codes in zip(axes, chosen, strict=True):
        notes.append(codes.note(looked.dimensions[at].title(language), language))
    heading = text["by_code"].format(variable=title)
    return _picture("hidden_by_code", heading, lines, notes, looked, language)


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
    'Hidden cells by table part'
    """
    words(language)
    looked = CellKinds.of(table, which, figure)
    lines, every = _parts(looked, language)
    text = hidden_words(language)
    notes = [text["zeros"]]
    if len(lines) < every:
        shown, total = (number(count, language) for count in (len(lines), every))
        notes.append(text["some_parts"].format(shown=shown, all=total))
    return _picture("hidden_by_part", text["by_part"], lines, notes, looked, language)


def _wrong(message: str, hint: str) -> PublicationError:
    return PublicationError(message, code="picture", where="hidden_by_code", hint=hint)


def _picture(
    name: str,
    title: str,
    lines: Sequence[BarLine],
    notes: Sequence[str],
    looked: CellKinds,
    language: str,
) -> Picture:
    remarks = [looked.table.title(language), *notes]
    warning = "confidential_cells" if looked.secret else ""
    body = bars(lines, told=looked.told, language=language)
    description = composed(body, title=title, notes=remarks, language=language, warning=warning)
    return Picture(name, title, language, description, looked.secret)


def _counted(group: IntArray, kind: npt.NDArray[np.int8], groups: int) -> IntArray:
    """Numbers of cells by group and kind."""
    flat = np.bincount(group * len(KINDS) + kind, minlength=groups * len(KINDS))
    return flat.reshape(groups, len(KINDS)).astype(np.int64)


def _line(label: str, level: int, numbers: IntArray, *, strong: bool = False) -> BarLine:
    return BarLine(
        label=label,
        level=level,
        cells=int(numbers.sum()),
        hidden=tuple(int(numbers[KINDS.index(kind)]) for kind in HIDDEN),
        strong=strong,
    )


def _with_below(numbers: IntArray, dimension: Dimension) -> IntArray:
    """Numbers of each code and of all codes below it."""
    whole = numbers.copy()
    for at in range(len(dimension) - 1, 0, -1):
        whole[dimension.parents[at]] += whole[at]
    return whole


def _tree(
    looked: CellKinds, axes: Sequence[int], top: int, below: bool, language: str
) -> tuple[list[BarLine], list[ChosenCodes]]:
    """The lines of a variable; below each code the tree of the nested variable, if any."""
    outer, *inner = (looked.dimensions[at] for at in axes)
    index, _, kind = looked.cells

    def counted(cells: Any) -> IntArray:
        numbers = _counted(index[axes[0]][cells].astype(np.int64), kind[cells], len(outer))
        return _with_below(numbers, outer) if below else numbers

    inside = [choose(item, _MOST_INNER) for item in inner]
    most = _MOST_LINES // (1 + sum(len(codes.codes) for codes in inside))
    outside = choose(outer, max(2, most), top)
    nested = [
        (
            label if more else f"{dimension.title(language)}: {label}",
            more,
            counted(index[axes[1]] == at),
        )
        for dimension, codes in zip(inner, inside, strict=True)
        for label, more, at in _entries(dimension, codes, language)
    ]
    every, entries = counted(slice(None)), _entries(outer, outside, language)
    first = 1 + max(step for _, step, _ in entries)
    lines = []
    for label, step, at in entries:
        lines.append(_line(label, step, every[at], strong=bool(inner)))
        lines += [_line(name, first + more, numbers[at]) for name, more, numbers in nested]
    return lines, [outside, *inside]


def _entries(
    dimension: Dimension, chosen: ChosenCodes, language: str
) -> list[tuple[str, int, int]]:
    """Label, steps below the first one, and position of codes."""
    levels = dimension.levels[chosen.codes]
    steps = (levels - levels.min()).tolist()
    labels = named(dimension, chosen, language)
    return list(zip(labels, steps, chosen.codes.tolist(), strict=True))


@dataclass(frozen=True)
class _PartCounts:
    """A table part: number of levels below the totals, then the levels."""

    steps: int
    name: str
    numbers: IntArray


def _parts(looked: CellKinds, language: str) -> tuple[list[BarLine], int]:
    """The parts that have cells, coarse ones first; and how many there are."""
    index, _, kind = looked.cells
    dimensions = looked.dimensions
    levels = [
        level_numbers(dimension)[part] for dimension, part in zip(dimensions, index, strict=True)
    ]
    levels = levels or [np.zeros(len(kind), dtype=np.int64)]
    combinations, group = np.unique(np.stack(levels), axis=1, return_inverse=True)
    numbers = _counted(group.reshape(-1).astype(np.int64), kind, combinations.shape[1])
    known = [levels_of(dimension) for dimension in dimensions]
    parts = []
    for at, own in enumerate(combinations.T.tolist()):
        steps = [steps[level] for steps, level in zip(known, own, strict=False)]
        names = [
            named_level(dimension, step) for dimension, step in zip(dimensions, steps, strict=True)
        ]
        depth = sum(step.depth for step in steps)
        parts.append(_PartCounts(depth, name_of_part(names, language), numbers[at]))
    parts.sort(key=lambda part: part.steps)
    if len(parts) > _MOST_LINES:
        hidden = [int(part.numbers[[KINDS.index(kind) for kind in HIDDEN]].sum()) for part in parts]
        most = sorted(range(len(parts)), key=lambda at: -hidden[at])[:_MOST_LINES]
        kept = [parts[at] for at in sorted(most)]
    else:
        kept = parts
    return [_line(shortened_label(part.name, 70), 0, part.numbers) for part in kept], len(parts)
