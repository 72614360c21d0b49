"""The distribution of the noise, one small picture for each row.

In: a perturbation table. Out: a `Picture`. SECRET.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from discreet.assessment.pictures.palette import INK, noise_colours
from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.rows import Row, Rows, check_table, rows_of
from discreet.assessment.pictures.theme import composed
from discreet.assessment.pictures.words import number, sign, words
from discreet.perturbation import PerturbationTable

__all__ = ["row_distributions"]

_MOST_ROWS = 12
_COLUMNS = 3
_WIDTH, _HEIGHT = 225, 88
_MOST_LABELLED = 6  # noise up to which every bar has its number


def row_distributions(
    ptable: PerturbationTable, rows: Iterable[int] | None = None, *, language: str = "en"
) -> Picture:
    """Draw how probable each noise value is, row by row. SECRET.

    Args:
        ptable: The perturbation table.
        rows: Original counts to show; None for all from 1 on, or of a table with more
            than 12 such rows for the first 11 and the last.
        language: "en" or "de".

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    >>> row_distributions(ptable, rows=[1]).title
    'Distribution of the noise by original count, in %'
    """
    check_table(ptable)
    wanted = _wanted(ptable) if rows is None else rows
    found = rows_of(ptable, wanted, most=_MOST_ROWS, language=language)
    shares = [row.shares(found.scale) for row in found.rows]
    highest = float(max(share for row in shares for share in row.values()) * 100)
    reach = max(abs(value) for value in (*found.noise(), 1))
    axes = _axes(reach, highest, words(language)["noise"])
    body = {
        "columns": min(_COLUMNS, len(found.rows)),
        "spacing": {"row": 16, "column": 20},
        "concat": [
            {
                "width": _WIDTH,
                "height": _HEIGHT,
                "title": _head(row, found.scale, language),
                "data": {"values": _records(row, found, language)},
                "encoding": axes,
                "layer": [_bars(language), *([_labels()] if reach <= _MOST_LABELLED else [])],
            }
            for row in found.rows
        ],
    }
    title = words(language)["distributions"]
    description = composed(body, title=title, notes=found.notes, language=language)
    return Picture("row_distributions", title, language, description)


def _wanted(ptable: PerturbationTable) -> list[int]:
    """All rows that hold noise, or the first and the last of many."""
    first, last = 0 if ptable.changes_zeros or not ptable.n_max else 1, ptable.n_max
    counts = list(range(first, last + 1))
    return counts if len(counts) <= _MOST_ROWS else [*counts[: _MOST_ROWS - 1], last]


def _head(row: Row, scale: int, language: str) -> dict[str, Any]:
    """Original count, variance and stay probability, as the heading of a row."""
    shares = row.shares(scale)
    mean = sum((noise * share for noise, share in shares.items()), Fraction(0))
    square = sum((noise * noise * share for noise, share in shares.items()), Fraction(0))
    text = words(language)["row_head"].format(
        label=row.label,
        variance=number(f"{float(square - mean * mean):.2f}", language),
        stay=number(f"{float(shares.get(0, Fraction(0)) * 100):.1f}", language),
    )
    return {"text": text, "fontSize": 10.5, "offset": 6, "frame": "group"}


def _records(row: Row, found: Rows, language: str) -> list[dict[str, Any]]:
    colours = noise_colours(found.noise())
    return [
        {
            "label": row.label,
            "noise": sign(noise),
            "percent": round(float(share * 100), 7),
            "top": f"{round(share * 100)}" if share * 100 >= 1 else "<1",
            "share": number(f"{float(share):.6f}", language),
            "published": row.published(noise),
            "colour": colours[noise],
        }
        for noise, share in row.shares(found.scale).items()
    ]


def _axes(reach: int, highest: float, across: str) -> dict[str, Any]:
    """The same axes for all rows, so that they can be compared."""
    noise = range(-reach, reach + 1)
    step = 1 if reach <= _MOST_LABELLED else -(-reach // 4)
    named = [sign(value) for value in noise if value % step == 0]
    return {
        "x": {
            "field": "noise",
            "type": "ordinal",
            "scale": {
                "domain": [sign(value) for value in noise],
                "paddingInner": 0.15,
                "paddingOuter": 0.2,
            },
            "axis": {
                "title": across,
                "titleFontSize": 11,
                "titlePadding": 3,
                "values": named,
                "labelAngle": 0,
                "labelFontSize": 10,
                "ticks": False,
            },
        },
        "y": {
            "field": "percent",
            "type": "quantitative",
            "scale": {"domain": [0, highest * 1.15], "nice": False},
            "axis": {"title": None, "tickCount": 4, "format": "d", "labelFontSize": 10},
        },
    }


def _bars(language: str) -> dict[str, Any]:
    text = words(language)
    shown = [("label", "count"), ("noise", "noise"), ("published", "published")]
    shown += [("share", "share")]
    return {
        "mark": {"type": "bar", "stroke": "#4d4d4d", "strokeWidth": 0.5},
        "encoding": {
            "color": {"field": "colour", "type": "nominal", "scale": None, "legend": None},
            "tooltip": [{"field": field, "title": text[title]} for field, title in shown],
        },
    }


def _labels() -> dict[str, Any]:
    return {
        "mark": {"type": "text", "fontSize": 9, "dy": -6, "color": INK, "tooltip": False},
        "encoding": {"text": {"field": "top"}},
    }
