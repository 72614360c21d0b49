"""Pictures of a perturbation table: stacked bars over the cell key, heat map, distributions.

In: a perturbation table. Out: a `Picture`: the tableau, the transition matrix as a heat map
with its values, or the distribution of the noise as one small picture for each row. SECRET.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from discreet.assessment.evaluation import never_published
from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.rows import DrawnRow, DrawnRows, check_table, rows_of
from discreet.assessment.pictures.theme import (
    INK,
    SHARE_CLASSES,
    composed,
    ink_on,
    noise_colours,
    share_class,
)
from discreet.assessment.pictures.words import number, sign, words
from discreet.protection.noise import PerturbationTable, moments

_MOST_TABLEAU_ROWS = 40
_TABLEAU_WIDTH = 620
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
    drawn = rows_of(ptable, rows, most=_MOST_TABLEAU_ROWS, language=language)
    body = {
        "width": _TABLEAU_WIDTH,
        "height": {"step": 26 if len(drawn.rows) <= 20 else 20},
        "data": {"values": _segments(drawn, language)},
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
                "sort": [row.label for row in drawn.rows],
                "scale": {"paddingInner": 0.14, "paddingOuter": 0.1},
                "axis": {"title": text["count"], "ticks": False, "domain": False},
            },
        },
        "layer": [_tableau_bars(drawn, language), _frames(drawn), _labels()],
    }
    title = text["tableau"]
    description = composed(body, title=title, notes=drawn.notes, language=language)
    return Picture("tableau", title, language, description)


def _segments(drawn: DrawnRows, language: str) -> list[dict[str, Any]]:
    """One record for each interval."""
    colours = noise_colours(drawn.noise())
    records = []
    for row in drawn.rows:
        for part in row.segments:
            name, share = sign(part.noise), drawn.share(part.width)
            records.append(
                {
                    "label": row.label,
                    "noise": name,
                    "lower": drawn.share(part.lower),
                    "upper": drawn.share(part.upper),
                    "middle": drawn.share(part.lower + part.upper) / 2,
                    "inside": name if share * _TABLEAU_WIDTH > _DIGIT * len(name) + 3 else "",
                    "edge": _EDGE if share * _TABLEAU_WIDTH > 1.5 else 0,
                    "ink": ink_on(colours[part.noise]),
                    "interval": drawn.interval(part, language),
                    "share": number(f"{share:.6f}", language),
                    "published": row.published(part.noise),
                }
            )
    return records


def _tableau_bars(drawn: DrawnRows, language: str) -> dict[str, Any]:
    """The intervals; a click on the legend shows one noise value alone."""
    text, colours = words(language), noise_colours(drawn.noise())
    names = [sign(value) for value in reversed(colours)]
    keys = "interval" if drawn.scale > 2**16 else "keys"
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


def _frames(drawn: DrawnRows) -> dict[str, Any]:
    """A line around each row, so that pale ends do not look like gaps."""
    return {
        "data": {"values": [{"label": row.label, "lower": 0, "upper": 1} for row in drawn.rows]},
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


_MOST_HEATMAP_ROWS = 40
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
    drawn = rows_of(ptable, rows, most=_MOST_HEATMAP_ROWS, language=language)
    cells = [cell for row in drawn.rows for cell in _cells(row, drawn.scale, language)]
    targets = _targets(drawn)
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
                "sort": [row.label for row in drawn.rows],
                "scale": {"padding": 0},
                "axis": {"title": text["count"], "ticks": False},
            },
        },
        "layer": [_squares(language), *_diagonal(), _values(step)],
    }
    title = text["heatmap"]
    notes = [*drawn.notes, text["diagonal"], _never(ptable, language)]
    description = composed(body, title=title, notes=notes, language=language)
    return Picture("transition_heatmap", title, language, description)


def _cells(row: DrawnRow, scale: int, language: str) -> list[dict[str, Any]]:
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


def _targets(drawn: DrawnRows) -> list[int]:
    """All published counts from the lowest to the highest that occur."""
    occurring = {row.count + part.noise for row in drawn.rows for part in row.segments}
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


_MOST_PANELS = 12
_COLUMNS = 3
_PANEL_WIDTH, _HEIGHT = 225, 88
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
    drawn = rows_of(ptable, wanted, most=_MOST_PANELS, language=language)
    shares = [row.shares(drawn.scale) for row in drawn.rows]
    highest = float(max(share for row in shares for share in row.values()) * 100)
    reach = max(abs(value) for value in (*drawn.noise(), 1))
    axes = _axes(reach, highest, words(language)["noise"])
    body = {
        "columns": min(_COLUMNS, len(drawn.rows)),
        "spacing": {"row": 16, "column": 20},
        "concat": [
            {
                "width": _PANEL_WIDTH,
                "height": _HEIGHT,
                "title": _head(row, drawn.scale, language),
                "data": {"values": _records(row, drawn, language)},
                "encoding": axes,
                "layer": [
                    _panel_bars(language),
                    *([_panel_labels()] if reach <= _MOST_LABELLED else []),
                ],
            }
            for row in drawn.rows
        ],
    }
    title = words(language)["distributions"]
    description = composed(body, title=title, notes=drawn.notes, language=language)
    return Picture("row_distributions", title, language, description)


def _wanted(ptable: PerturbationTable) -> list[int]:
    """All rows that hold noise, or the first and the last of many."""
    first, last = 0 if ptable.changes_zeros or not ptable.n_max else 1, ptable.n_max
    counts = list(range(first, last + 1))
    return counts if len(counts) <= _MOST_PANELS else [*counts[: _MOST_PANELS - 1], last]


def _head(row: DrawnRow, scale: int, language: str) -> dict[str, Any]:
    """Original count, variance and stay probability, as the heading of a row."""
    shares = row.shares(scale)
    _, variance = moments(shares)
    text = words(language)["row_head"].format(
        label=row.label,
        variance=number(f"{float(variance):.2f}", language),
        stay=number(f"{float(shares.get(0, Fraction(0)) * 100):.1f}", language),
    )
    return {"text": text, "fontSize": 10.5, "offset": 6, "frame": "group"}


def _records(row: DrawnRow, drawn: DrawnRows, language: str) -> list[dict[str, Any]]:
    colours = noise_colours(drawn.noise())
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
        for noise, share in row.shares(drawn.scale).items()
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


def _panel_bars(language: str) -> dict[str, Any]:
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


def _panel_labels() -> dict[str, Any]:
    return {
        "mark": {"type": "text", "fontSize": 9, "dy": -6, "color": INK, "tooltip": False},
        "encoding": {"text": {"field": "top"}},
    }
