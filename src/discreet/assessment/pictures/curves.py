"""Lines that are compared: told apart by colour, dash and point shape.

In: one list of points for each line. Out: the body of a picture. SECRET like the
numbers that go in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from discreet.assessment.pictures.palette import MUTED, SERIES
from discreet.errors import PerturbationError, Problem

__all__ = ["Axis", "Line", "Point", "curves", "heights", "limit_line", "places", "points_of"]

_WIDTH, _HEIGHT = 560, 300
_MOST_POINTS = 40

#: A place and its value; the line has a gap where there is none.
Point = tuple[float, float | None]


@dataclass(frozen=True, slots=True, repr=False)
class Line:
    """One line: its name in the legend and its points."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its title, scale, the values that are named, and how."""

    title: str
    scale: Mapping[str, Any]
    values: Sequence[float] | None = None
    form: str = "~r"
    label: str | None = None

    def encoding(self, field: str) -> dict[str, Any]:
        """The axis for a field."""
        axis: dict[str, Any] = {"title": self.title, "format": self.form}
        axis |= {"tickCount": 7} if self.values is None else {"values": list(self.values)}
        if self.label is not None:
            axis["labelExpr"] = self.label
        return {
            "field": field,
            "type": "quantitative",
            "scale": {"nice": False, **self.scale},
            "axis": axis,
        }


def points_of(
    frame: Any, x: str, y: str, *, where: str, factor: float = 1, gaps: bool = False
) -> list[Point]:
    """Two columns of a frame as points, in ascending order.

    Args:
        frame: Any data frame.
        x: The column of places.
        y: The column of values; none may be negative.
        where: What the frame is, for error messages.
        factor: What values are multiplied by.
        gaps: Values may be missing.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"count": [2, 1], "risk": [0.5, 1.0]})
    >>> points_of(frame, "count", "risk", where="data")
    [(1.0, 1.0), (2.0, 0.5)]
    """
    try:
        columns = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise _wrong([Problem("this is not a data frame", where)]) from None
    missing = [name for name in (x, y) if name not in columns.columns]
    if missing:
        raise _wrong([Problem("the column is missing", f"{where}: {name}") for name in missing])
    pairs = list(zip(columns[x].to_list(), columns[y].to_list(), strict=True))
    bad = sum(
        not (_drawable(at) and (_drawable(value) or (gaps and value is None)))
        for at, value in pairs
    )
    if bad:
        what = f"{bad} values are missing, negative or no numbers"
        raise _wrong([Problem(what, f"{where}: {x}, {y}")])
    if all(value is None for _, value in pairs):
        raise _wrong([Problem("there is nothing to draw", where)])
    return [
        (float(at), None if value is None else factor * float(value)) for at, value in sorted(pairs)
    ]


def curves(
    lines: Sequence[Line], across: Axis, upward: Axis, *, legend: str, width: int = _WIDTH
) -> dict[str, Any]:
    """The body of a picture with one or several lines.

    >>> line = Line("a", [(1.0, 0.5), (2.0, 0.25)])
    >>> body = curves([line], Axis("count", {}), Axis("risk", {}), legend="table")
    >>> len(body["data"]["values"])
    2
    """
    if len(lines) > len(SERIES):
        raise _wrong(
            [Problem(f"{len(lines)} lines cannot be told apart", f"at most {len(SERIES)}")]
        )
    records = [
        {"line": line.name, "x": at, "y": value} for line in lines for at, value in line.points
    ]
    names = [line.name for line in lines]
    looks = list(zip(*SERIES[: len(lines)], strict=True))
    key = {"title": legend} if len(lines) > 1 else None
    few = max(len(line.points) for line in lines) <= _MOST_POINTS
    point = {"filled": True, "size": 42, "opacity": 1} if few else False
    encoding: dict[str, Any] = {
        "x": across.encoding("x"),
        "y": upward.encoding("y"),
        "color": _channel(names, looks[0], key),
        "strokeDash": _channel(names, [list(dash) for dash in looks[1]], None if few else key),
        "tooltip": _tooltip(across, upward, legend if key else None),
    }
    if few:
        encoding["shape"] = _channel(names, looks[2], key)
    return {
        "width": width,
        "height": _HEIGHT,
        "data": {"values": records},
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 2, "point": point}, "encoding": encoding}
        ],
    }


def limit_line(limit: float, text: str, width: int = _WIDTH) -> dict[str, Any]:
    """A level line with words above its right end."""
    return {
        "data": {"values": [{"limit": limit}]},
        "encoding": {"y": {"field": "limit", "type": "quantitative"}},
        "layer": [
            {"mark": {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 1.3, "color": MUTED}},
            {
                "mark": {
                    "type": "text",
                    "text": text,
                    "x": width,
                    "align": "right",
                    "baseline": "bottom",
                    "dy": -4,
                    "fontSize": 11,
                    "color": "#444444",
                }
            },
        ],
    }


def _channel(names: Sequence[str], look: Iterable[Any], key: Mapping[str, Any] | None) -> Any:
    return {
        "field": "line",
        "type": "nominal",
        "scale": {"domain": list(names), "range": list(look)},
        "legend": {**key, "symbolSize": 110, "symbolStrokeWidth": 0} if key else None,
    }


def _tooltip(across: Axis, upward: Axis, legend: str | None) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = [{"field": "line", "title": legend}] if legend else []
    for field, axis in (("x", across), ("y", upward)):
        shown.append(
            {"field": field, "type": "quantitative", "title": axis.title, "format": ".4~g"}
        )
    return shown


def heights(lines: Iterable[Line]) -> list[float]:
    """All values of all lines."""
    return [value for line in lines for _, value in line.points if value is not None]


def places(lines: Iterable[Line]) -> list[float]:
    """All places of all lines, ascending, each once."""
    return sorted({at for line in lines for at, _ in line.points})


def _drawable(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value < math.inf


def _wrong(problems: Sequence[Problem]) -> PerturbationError:
    return PerturbationError(
        "this cannot be drawn",
        code="picture-data",
        hint="give what the assessment functions return, or a frame with the same columns",
        problems=problems,
    )
