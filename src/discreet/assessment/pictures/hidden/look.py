"""How the kinds of cells look: colour, sign and ink, to be told apart in grey as well.

In: the kind of a cell. Out: its colours and its sign. Public.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from discreet.assessment.pictures.hidden.choice import STEP, label_width
from discreet.assessment.pictures.hidden.words import hidden_words
from discreet.assessment.pictures.palette import INK, MUTED

__all__ = ["LOOKS", "Look", "legend_beside", "line_labels"]


class Look(NamedTuple):
    """How a kind of cell looks; no sign where its value is printed."""

    fill: str
    sign: str
    ink: str


#: Every sign is one of its own, and lightness alone orders primary, secondary and shown.
LOOKS: Mapping[str, Look] = {
    "primary": Look("#12366b", "●", "#ffffff"),
    "secondary": Look("#9cc3e6", "○", INK),
    "hidden": Look("#6b6b6b", "■", "#ffffff"),
    "shown": Look("#ffffff", "", INK),
    "bracketed": Look("#ffffff", "", INK),
    "official": Look("#ffffff", "", INK),
    "zero": Look("#ffffff", "–", MUTED),
    "none": Look("#ffffff", "x", MUTED),
    "absent": Look("#e4e4e4", "", INK),
}

_SAMPLES: Mapping[str, str] = {"shown": "123", "bracketed": "(123)"}


def legend_beside(kinds: Iterable[str], language: str) -> dict[str, Any]:
    """What the colours and signs mean, one below the other.

    Args:
        kinds: Kinds that occur.
        language: "en" or "de".
    """
    text = hidden_words(language)
    found = {"shown" if kind == "official" else kind for kind in kinds}
    listed = [kind for kind in LOOKS if kind in found]
    records = [
        {
            "kind": kind,
            "fill": LOOKS[kind].fill,
            "ink": LOOKS[kind].ink,
            "sign": LOOKS[kind].sign or _SAMPLES.get(kind, ""),
            "text": text[kind],
        }
        for kind in listed
    ]
    middle = {"type": "text", "fontSize": 11, "baseline": "middle", "tooltip": False}
    colour = {"field": "ink", "type": "nominal", "scale": None}
    return {
        "width": 40,
        "height": {"step": 26},
        "data": {"values": records},
        "encoding": {"y": {"field": "kind", "type": "nominal", "sort": listed, "axis": None}},
        "layer": [
            {
                "mark": {"type": "rect", "stroke": "#8a8a8a", "strokeWidth": 0.8, "height": 20},
                "encoding": {"fill": {"field": "fill", "type": "nominal", "scale": None}},
            },
            {
                "mark": {**middle, "x": 20, "align": "center"},
                "encoding": {"text": {"field": "sign"}, "color": colour},
            },
            {
                "mark": {**middle, "x": 48, "align": "left", "color": INK},
                "encoding": {"text": {"field": "text"}},
            },
        ],
    }


def line_labels(
    places: Sequence[str],
    labels: Sequence[str],
    levels: Sequence[int],
    title: str = "",
    strong: Sequence[bool] = (),
) -> list[dict[str, Any]]:
    """Labels left of lines, set in by level, as texts of their own: axes would not set in.

    Args:
        places: What the lines are called in the data.
        labels: Their labels.
        levels: How many steps each of them is set in.
        title: What stands above.
        strong: Which of them are bold; none if empty.
    """
    width = label_width(labels, levels)
    records: list[dict[str, Any]] = [
        {"line": place, "label": label, "step": level, "bold": bold}
        for place, label, level, bold in zip(
            places, labels, levels, strong or [False] * len(places), strict=True
        )
    ]
    mark = {"type": "text", "align": "left", "fontSize": 11, "color": INK, "tooltip": False}
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": [r for r in records if (r["step"], r["bold"]) == (step, bold)]},
            "mark": {
                **mark,
                "x": step * STEP - width,
                "fontWeight": "bold" if bold else "normal",
            },
            "encoding": {"text": {"field": "label"}, "x": None},
        }
        for step, bold in sorted({(r["step"], r["bold"]) for r in records})
    ]
    if title:
        head = {**mark, "x": -width, "y": -10, "fontSize": 12}
        layers.append(
            {
                "data": {"values": [{"head": title}]},
                "mark": head,
                "encoding": {"text": {"field": "head"}, "x": None, "y": None},
            }
        )
    return layers
