"""The tableau: a perturbation table as stacked bars over the cell key.

In: a perturbation table. Out: a `Picture`. SECRET.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from discreet.assessment.pictures.palette import ink_on, noise_colours
from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.rows import Rows, rows_of
from discreet.assessment.pictures.theme import composed
from discreet.assessment.pictures.words import number, sign, words
from discreet.perturbation import PerturbationTable

__all__ = ["tableau"]

_MOST_ROWS = 40
_WIDTH = 620
_EDGE = 0.4  # none around slivers, whose colour it would hide
_DIGIT = 7  # pixels that a digit of a label needs


def tableau(
    ptable: PerturbationTable, rows: Iterable[int] | None = None, *, language: str = "en"
) -> Picture:
    """Draw each row of a table as a bar from key 0 to key 1, coloured by noise. SECRET.

    Intervals are shown as they lie: permuted and split ones in their own places.

    Args:
        ptable: The perturbation table.
        rows: Original counts to show; None for all, or of a table with more than 40
            rows for the first 39 and the last.
        language: "en" or "de".

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    >>> tableau(ptable, language="de").title
    'Überlagerung nach Originalwert und Cell-Key'
    """
    text = words(language)
    found = rows_of(ptable, rows, most=_MOST_ROWS, language=language)
    body = {
        "width": _WIDTH,
        "height": {"step": 26 if len(found.rows) <= 20 else 20},
        "data": {"values": _segments(found, language)},
        "encoding": {
            "x": {
                "field": "lower",
                "type": "quantitative",
                "scale": {"domain": [0, 1], "nice": False},
                "axis": {"title": text["cell_key"], "tickCount": 10, "format": ".1f"},
            },
            "x2": {"field": "upper"},
            "y": {
                "field": "label",
                "type": "ordinal",
                "sort": [row.label for row in found.rows],
                "scale": {"paddingInner": 0.14, "paddingOuter": 0.1},
                "axis": {"title": text["count"], "ticks": False, "domain": False},
            },
        },
        "layer": [_bars(found, language), _frames(found), _labels()],
    }
    title = text["tableau"]
    description = composed(body, title=title, notes=found.notes, language=language)
    return Picture("tableau", title, language, description)


def _segments(found: Rows, language: str) -> list[dict[str, Any]]:
    """One record for each interval."""
    colours = noise_colours(found.noise())
    records = []
    for row in found.rows:
        for part in row.segments:
            name, share = sign(part.noise), found.share(part.width)
            records.append(
                {
                    "label": row.label,
                    "noise": name,
                    "lower": found.share(part.lower),
                    "upper": found.share(part.upper),
                    "middle": found.share(part.lower + part.upper) / 2,
                    "inside": name if share * _WIDTH > _DIGIT * len(name) + 3 else "",
                    "edge": _EDGE if share * _WIDTH > 1.5 else 0,
                    "ink": ink_on(colours[part.noise]),
                    "interval": found.interval(part, language),
                    "share": number(f"{share:.6f}", language),
                    "published": row.published(part.noise),
                }
            )
    return records


def _bars(found: Rows, language: str) -> dict[str, Any]:
    """The intervals; a click on the legend shows one noise value alone."""
    text, colours = words(language), noise_colours(found.noise())
    names = [sign(value) for value in reversed(colours)]
    keys = "interval" if found.scale > 2**16 else "keys"
    shown = [("label", "count"), ("noise", "noise"), ("published", "published")]
    shown += [("interval", keys), ("share", "share")]
    return {
        "mark": {"type": "bar", "stroke": "#4d4d4d"},
        "params": [
            {
                "name": "chosen",
                "select": {"type": "point", "fields": ["noise"]},
                "bind": "legend",
            }
        ],
        "encoding": {
            "color": {
                "field": "noise",
                "type": "nominal",
                "scale": {"domain": names, "range": list(reversed(colours.values()))},
                "legend": {
                    "title": text["noise"],
                    "symbolType": "square",
                    "columns": 1 + len(names) // 24,
                    "symbolStrokeColor": "#4d4d4d",
                    "symbolLimit": 500,
                },
            },
            "strokeWidth": {"field": "edge", "type": "quantitative", "scale": None},
            "opacity": {"condition": {"param": "chosen", "value": 1}, "value": 0.12},
            "tooltip": [{"field": field, "title": text[title]} for field, title in shown],
        },
    }


def _frames(found: Rows) -> dict[str, Any]:
    """A line around each row, so that pale ends do not look like gaps."""
    return {
        "data": {"values": [{"label": row.label, "lower": 0, "upper": 1} for row in found.rows]},
        "mark": {
            "type": "bar",
            "filled": False,
            "stroke": "#4d4d4d",
            "strokeWidth": _EDGE,
            "tooltip": False,
        },
    }


def _labels() -> dict[str, Any]:
    """The noise, written where there is room: no colour needed to read it."""
    return {
        "transform": [{"filter": "datum.inside !== ''"}],
        "mark": {"type": "text", "fontSize": 11, "tooltip": False},
        "encoding": {
            "x": {"field": "middle", "type": "quantitative"},
            "x2": None,
            "text": {"field": "inside"},
            "color": {"field": "ink", "type": "nominal", "scale": None},
        },
    }
