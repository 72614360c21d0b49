"""The transition matrix as a heat map with its values.

In: a perturbation table. Out: a `Picture`. SECRET.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from discreet.assessment.evaluation import never_published
from discreet.assessment.pictures.palette import INK, SHARE_CLASSES, ink_on, share_class
from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.rows import Row, Rows, rows_of
from discreet.assessment.pictures.theme import composed
from discreet.assessment.pictures.words import number, sign, words
from discreet.perturbation import PerturbationTable

__all__ = ["transition_heatmap"]

_MOST_ROWS = 40
_WIDE, _NARROW = 40, 30  # pixels of a cell; the narrow ones hold two digits and a decimal
_FEW_COLUMNS = 20


def transition_heatmap(
    ptable: PerturbationTable, rows: Iterable[int] | None = None, *, language: str = "en"
) -> Picture:
    """Draw the probabilities of published counts, a row for each original. SECRET.

    Each cell holds its probability in per cent; cells without one cannot occur, and
    a frame marks the unchanged count.

    Args:
        ptable: The perturbation table.
        rows: Original counts to show; None for all, or of a table with more than 40
            rows for the first 39 and the last.
        language: "en" or "de".

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    >>> transition_heatmap(ptable).title
    'Transition matrix: published by original count, in %'
    """
    text = words(language)
    found = rows_of(ptable, rows, most=_MOST_ROWS, language=language)
    cells = [cell for row in found.rows for cell in _cells(row, found.scale, language)]
    targets = _targets(found)
    step = _WIDE if len(targets) <= _FEW_COLUMNS else _NARROW
    body = {
        "width": {"step": step},
        "height": {"step": 26 if step == _WIDE else 22},
        "data": {"values": cells},
        "encoding": {
            "x": {
                "field": "published",
                "type": "ordinal",
                "scale": {"domain": targets, "padding": 0},
                "axis": {"title": text["published"], "labelAngle": 0, "ticks": False},
            },
            "y": {
                "field": "label",
                "type": "ordinal",
                "sort": [row.label for row in found.rows],
                "scale": {"padding": 0},
                "axis": {"title": text["count"], "ticks": False},
            },
        },
        "layer": [_squares(language), *_diagonal(), _values(step)],
    }
    title = text["heatmap"]
    notes = [*found.notes, text["diagonal"], _never(ptable, language)]
    description = composed(body, title=title, notes=notes, language=language)
    return Picture("transition_heatmap", title, language, description)


def _cells(row: Row, scale: int, language: str) -> list[dict[str, Any]]:
    """One record for each published count that the row can lead to."""
    cells = []
    for noise, share in row.shares(scale).items():
        step = share_class(float(share))
        cells.append(
            {
                "label": row.label,
                "published": row.count + noise,
                "becomes": row.published(noise),
                "noise": sign(noise),
                "same": noise == 0,
                "class": _class_name(step, language),
                "value": _percent(share, language),
                "share": number(f"{float(share):.6f}", language),
                "ink": ink_on(SHARE_CLASSES[step][1]),
            }
        )
    return cells


def _targets(found: Rows) -> list[int]:
    """All published counts from the lowest to the highest that occur."""
    occurring = {row.count + part.noise for row in found.rows for part in row.segments}
    return list(range(min(occurring), max(occurring) + 1))


def _never(ptable: PerturbationTable, language: str) -> str:
    """Counts below the last row that no count leads to, not even a larger one."""
    missing = [str(value) for value in never_published(ptable)]
    return words(language)["never"].format(values=", ".join(missing)) if missing else ""


def _percent(share: Fraction, language: str) -> str:
    """A probability in per cent with one decimal, or none for certainty.

    >>> [_percent(Fraction(share), "de") for share in ("0.125", "0.0001", "1")]
    ['12,5', '<0,1', '100']
    """
    if share == 1:
        return "100"
    tenths = round(share * 1000)
    return number(f"{tenths / 10:.1f}" if tenths else "<0.1", language)


def _class_name(step: int, language: str) -> str:
    text, upper = words(language), SHARE_CLASSES[step][0]
    if step == 0:
        return text["class_first"].format(upper=upper)
    return text["class"].format(lower=SHARE_CLASSES[step - 1][0], upper=upper)


def _squares(language: str) -> dict[str, Any]:
    text = words(language)
    shown = [("label", "count"), ("becomes", "published"), ("noise", "noise")]
    shown += [("share", "share")]
    return {
        "mark": {"type": "rect", "stroke": "#ffffff", "strokeWidth": 0.8},
        "encoding": {
            "color": {
                "field": "class",
                "type": "nominal",
                "scale": {
                    "domain": [_class_name(at, language) for at in range(len(SHARE_CLASSES))],
                    "range": [colour for _, colour in SHARE_CLASSES],
                },
                "legend": {
                    "title": text["share"],
                    "symbolType": "square",
                    "symbolStrokeColor": "#4d4d4d",
                },
            },
            "tooltip": [{"field": field, "title": text[title]} for field, title in shown],
        },
    }


def _diagonal() -> list[dict[str, Any]]:
    """A frame around the unchanged count: dark and light, to be seen on any colour."""
    return [
        {
            "transform": [{"filter": "datum.same"}],
            "mark": {
                "type": "rect",
                "filled": False,
                "stroke": stroke,
                "strokeWidth": width,
                "tooltip": False,
            },
        }
        for stroke, width in (("#ffffff", 3.4), (INK, 1.6))
    ]


def _values(step: int) -> dict[str, Any]:
    return {
        "mark": {"type": "text", "fontSize": 11 if step == _WIDE else 9.5, "tooltip": False},
        "encoding": {
            "text": {"field": "value"},
            "color": {"field": "ink", "type": "nominal", "scale": None},
        },
    }
