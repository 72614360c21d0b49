"""Lines of bars: shares of hidden cells by kind, with their numbers beside them.

In: labels and numbers of cells. Out: the body of a picture. As secret as the kinds are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.assessment.pictures.hidden.look import LOOKS, legend_beside, line_labels
from discreet.assessment.pictures.hidden.reading import HIDDEN
from discreet.assessment.pictures.hidden.words import hidden_words
from discreet.assessment.pictures.palette import INK
from discreet.assessment.words import number, percent

__all__ = ["Line", "bars"]

_WIDE = 240  # pixels of a bar
_COLUMN = 84  # pixels of a column of numbers


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line.

    Args:
        label: What it is about.
        level: How many steps it is set in.
        cells: Number of its cells.
        hidden: Number of hidden ones by kind, in the order of `HIDDEN`.
        strong: Whether its label is bold.
    """

    label: str
    level: int
    cells: int
    hidden: tuple[int, ...]
    strong: bool = False


def bars(lines: Sequence[Line], *, told: bool, language: str) -> dict[str, Any]:
    """The bars with their numbers.

    Args:
        lines: The lines, from the top.
        told: Whether primary and secondary cells are told apart.
        language: "en" or "de".
    """
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


def _bars(lines: Sequence[Line], kinds: Sequence[str], language: str) -> dict[str, Any]:
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
                        "fill": LOOKS[kind].fill,
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


def _numbers(lines: Sequence[Line], kinds: Sequence[str], language: str) -> list[dict[str, Any]]:
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


def _number(line: Line, column: str, language: str) -> str:
    if column == "cells":
        return number(line.cells, language)
    if column == "share":
        return percent(sum(line.hidden) / line.cells, language) if line.cells else "–"
    return number(line.hidden[HIDDEN.index(column)], language)
