"""The frame that all pictures share: title, notes, footer, fonts and sizes.

In: the body of a picture as Vega-Lite data. Out: the whole picture. As secret as
its body; the footer of a secret one says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.assessment.pictures.palette import INK, MUTED
from discreet.assessment.pictures.words import words

__all__ = ["composed"]

_LINE = 110
_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"

_CONFIG: Mapping[str, Any] = {
    "font": _FONT,
    "background": "#ffffff",
    "padding": 10,
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": MUTED,
        "tickColor": MUTED,
        "gridColor": "#e3e3e3",
        "titlePadding": 8,
        "labelOverlap": "greedy",
        "labelFlush": False,
        "labelPadding": 5,
    },
    "axisY": {"titleAngle": -90},
    "legend": {
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelColor": INK,
        "titleColor": INK,
        "symbolStrokeWidth": 0.5,
        "symbolSize": 150,
        "labelLimit": 260,
        "titleLimit": 260,
    },
    "title": {
        "fontSize": 16,
        "fontWeight": "bold",
        "subtitleFontSize": 12,
        "color": INK,
        "subtitleColor": "#444444",
        "anchor": "start",
        "subtitlePadding": 4,
        "offset": 10,
        "lineHeight": 20,
    },
}


def composed(
    body: Mapping[str, Any],
    *,
    title: str,
    notes: Sequence[str],
    language: str,
    warning: str = "confidential",
) -> dict[str, Any]:
    """A whole picture: title and notes above, the body, and the footer below.

    Args:
        body: The drawing itself.
        title: Its title.
        notes: What to say below the title.
        language: "en" or "de".
        warning: Name of the words that say what is secret about it; none if nothing is.

    >>> picture = composed({"mark": "bar"}, title="Noise", notes=["example"], language="de")
    >>> picture["vconcat"][1]["mark"]["text"].partition(" ")[0]
    'VERTRAULICH'
    """
    lines = _lines(notes)
    text = words(language)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": {"text": title, **({"subtitle": lines} if lines else {})},
        "vconcat": [body, *([_footer(text[warning])] if warning else [])],
        "spacing": 14,
        "config": _CONFIG,
    }


def _footer(text: str) -> dict[str, Any]:
    return {
        "width": 400,
        "height": 12,
        "data": {"values": [{}]},
        "mark": {
            "type": "text",
            "text": text,
            "align": "left",
            "baseline": "middle",
            "x": 0,
            "fontSize": 11,
            "fontWeight": "bold",
            "color": "#8c1515",
        },
    }


def _lines(notes: Sequence[str]) -> list[str]:
    """The notes one after the other, in lines that fit above the picture.

    >>> _lines(["example", "", "rows 0–8 of 0–20"])
    ['example · rows 0–8 of 0–20']
    """
    lines: list[str] = []
    for note in notes:
        if note and lines and len(lines[-1]) + len(note) < _LINE:
            lines[-1] = f"{lines[-1]} · {note}"
        elif note:
            lines.append(note)
    return lines
