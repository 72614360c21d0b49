"""Curves: expected error by count, disclosure risk by count, the largest safe variance.

In: perturbation tables, their `Quality` or `DisclosureRisk`, or what `trade_off` returns.
Out: a `Picture` of lines that are told apart by colour, dash and point shape. SECRET, like
the numbers that go in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.rows import named
from discreet.assessment.pictures.theme import MUTED, SERIES, composed
from discreet.assessment.pictures.words import number, words
from discreet.assessment.quality import Quality, expected_quality
from discreet.assessment.risk import DisclosureRisk, disclosure_risk
from discreet.errors import PerturbationError, Problem
from discreet.protection.noise import PerturbationTable

_WIDTH, _HEIGHT = 560, 300
_MOST_POINTS = 40

#: A place and its value; the line has a gap where there is none.
Point = tuple[float, float | None]


@dataclass(frozen=True, slots=True, repr=False)
class CurveLine:
    """One line: its name in the legend and its points."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class CurveAxis:
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
        message = f"{bad} values are missing, negative or no numbers"
        raise _wrong([Problem(message, f"{where}: {x}, {y}")])
    if all(value is None for _, value in pairs):
        raise _wrong([Problem("there is nothing to draw", where)])
    return [
        (float(at), None if value is None else factor * float(value)) for at, value in sorted(pairs)
    ]


def curves(
    lines: Sequence[CurveLine],
    across: CurveAxis,
    upward: CurveAxis,
    *,
    legend: str,
    width: int = _WIDTH,
) -> dict[str, Any]:
    """The body of a picture with one or several lines.

    >>> line = CurveLine("a", [(1.0, 0.5), (2.0, 0.25)])
    >>> body = curves([line], CurveAxis("count", {}), CurveAxis("risk", {}), legend="table")
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


def _tooltip(across: CurveAxis, upward: CurveAxis, legend: str | None) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = [{"field": "line", "title": legend}] if legend else []
    for field, axis in (("x", across), ("y", upward)):
        shown.append(
            {"field": field, "type": "quantitative", "title": axis.title, "format": ".4~g"}
        )
    return shown


def heights(lines: Iterable[CurveLine]) -> list[float]:
    """All values of all lines."""
    return [value for line in lines for _, value in line.points if value is not None]


def places(lines: Iterable[CurveLine]) -> list[float]:
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


_COUNTS = (*range(1, 13), 14, 17, 20, 25, 30, 40, 50, 70, 100, 140, 200, 300, 500, 700, 1000)
_SIZES = [size * 10**power for power in range(10) for size in (1, 2, 3, 5)]
_TICKS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500)


def quality_curve(data: Any, *, limit: float | None = 0.15, language: str = "en") -> Picture:
    """Draw the expected relative error of a count by its size. SECRET.

    The relative error is the mean absolute deviation divided by the count. Both
    axes are logarithmic, the upward one from 1 % on.

    Args:
        data: A `PerturbationTable`, a `Quality`, a frame with the columns `count` and
            `relative_error`, or a mapping from names to any of these, to compare them.
        limit: A share to mark, such as that above which figures are bracketed.
        language: "en" or "de".

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    >>> quality_curve(ptable).title
    'Expected relative error by original count'
    """
    text = words(language)
    tables = data if isinstance(data, Mapping) else {text["series"]: data}
    lines = [CurveLine(str(name), _points(table, str(name))) for name, table in tables.items()]
    last = places(lines)[-1]
    top = max(*heights(lines), 100 * (limit or 0), 1) * 1.1
    sizes = [size for size in _SIZES if size <= max(last, 10)]
    domain = [0.9, max(last, 10) * 1.05]
    across = CurveAxis(text["count"], {"type": "log", "domain": domain}, sizes, ",")
    scale = {"type": "symlog", "constant": 1, "domain": [0, top]}
    upward = CurveAxis(text["relative_error"], scale, [tick for tick in _TICKS if tick <= top])
    body = curves(lines, across, upward, legend=text["series"])
    if limit is not None:
        percent = number(f"{100 * limit:g}", language)
        body["layer"].append(limit_line(100 * limit, text["bracket"].format(limit=percent)))
    notes = named(data) if isinstance(data, PerturbationTable) else []
    description = composed(body, title=text["quality"], notes=notes, language=language)
    return Picture("quality_curve", text["quality"], language, description)


def _points(data: Any, where: str) -> list[Point]:
    """Counts from 1 on and their relative error in per cent."""
    if isinstance(data, PerturbationTable):
        data = expected_quality(data, list(_COUNTS))
    frame = data.by_count if isinstance(data, Quality) else data
    return points_of(frame, "count", "relative_error", where=where, factor=100)


_RISK_WIDTH = 330
_LEAST = 1e-12


def risk_curve(data: Any, *, limit: float | None = None, language: str = "en") -> Picture:
    """Draw what an attacker can find out. SECRET.

    On the left, the probability that a published sum and its parts determine a part
    exactly, by its original count; on the right, the probability that a published
    value came from an original 1 or 2.

    Args:
        data: A `DisclosureRisk`, a `PerturbationTable` (for sums of two, and the
            largest noise known), or a mapping from names to any of these, to compare
            them.
        limit: A probability to mark on the left, such as the largest that is accepted.
        language: "en" or "de".

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> risk_curve({"a": ptable, "b": ptable}, language="de").title
    'Aufdeckungsrisiko'
    """
    text = words(language)
    tables = data if isinstance(data, Mapping) else {text["series"]: data}
    risks = {str(name): _risk(table, str(name)) for name, table in tables.items()}
    lines, origin = [], []
    for name, risk in risks.items():
        lines.append(CurveLine(name, points_of(risk.by_count, "count", "part", where=name)))
        came = points_of(risk.small, "value", "from_1_or_2", where=name, factor=100, gaps=True)
        origin.append(CurveLine(name, came))
    body = {
        "hconcat": [
            _found(lines, list(risks.values()), limit, language),
            _came_from(origin, language),
        ],
        "spacing": 40,
    }
    notes = _notes(data, list(risks.values()), language)
    description = composed(body, title=text["risk"], notes=notes, language=language)
    return Picture("risk_curve", text["risk"], language, description)


def _found(
    lines: Sequence[CurveLine], risks: Sequence[DisclosureRisk], limit: float | None, language: str
) -> dict[str, Any]:
    """The left half: how often a part is found, by its original count."""
    text = words(language)
    ticks = _powers_of_ten([*heights(lines), limit or 0])
    scale = {"type": "symlog", "constant": ticks[1] / 5, "domain": [0, ticks[-1]]}
    once = f"'{text['once']}' + format(1 / datum.value, ',.0f')"
    label = f"datum.value === 0 ? '{text['never_found']}' : {once}"
    upward = CurveAxis(text["found"], scale, ticks, ".0e", label)
    across = CurveAxis(text["part"], {"domain": _domain(lines)}, _whole(lines), "d")
    body = curves(lines, across, upward, legend=text["series"], width=_RISK_WIDTH)
    if limit is not None:
        body["layer"].append(limit_line(limit, text["accepted"], _RISK_WIDTH))
    terms = {risk.terms for risk in risks}
    head = text["found_head"].format(terms=terms.pop()) if len(terms) == 1 else ""
    return {**body, "title": _head(head or text["found_any_head"])}


def _came_from(lines: Sequence[CurveLine], language: str) -> dict[str, Any]:
    """The right half: how likely a published value was a 1 or a 2."""
    text = words(language)
    upward = CurveAxis(text["origin"], {"domain": [0, 100]}, [0, 20, 40, 60, 80, 100], "d")
    across = CurveAxis(text["published"], {"domain": _domain(lines)}, _whole(lines), "d")
    body = curves(lines, across, upward, legend=text["series"], width=_RISK_WIDTH)
    return {**body, "title": _head(text["origin_head"])}


def _risk(data: Any, where: str) -> DisclosureRisk:
    risk = disclosure_risk(data) if isinstance(data, PerturbationTable) else data
    if isinstance(risk, DisclosureRisk):
        return risk
    message = "this is neither a perturbation table nor its risk"
    raise PerturbationError(
        message, code="picture-data", where=where, hint="give what disclosure_risk returns"
    )


def _powers_of_ten(shares: Sequence[float]) -> list[float]:
    """Zero and the powers of ten from the least positive share to the largest."""
    positive = [max(share, _LEAST) for share in shares if share > 0] or [0.1]
    first = math.floor(math.log10(min(positive)))
    last = max(math.ceil(math.log10(max(positive))), first + 2)
    return [0.0, *(10.0**power for power in range(first, min(last, 0) + 1))]


def _domain(lines: Sequence[CurveLine]) -> list[float]:
    positions = places(lines)
    return [positions[0] - 0.3, positions[-1] + 0.3]


def _whole(lines: Sequence[CurveLine]) -> list[float]:
    """Whole numbers to name on an axis."""
    positions = places(lines)
    return positions[:: 1 + len(positions) // 13]


def _head(text: str) -> dict[str, Any]:
    return {"text": text, "fontSize": 12, "offset": 8, "frame": "group"}


def _notes(data: Any, risks: Sequence[DisclosureRisk], language: str) -> list[str]:
    text = words(language)
    notes = named(data) if isinstance(data, PerturbationTable) else []
    knows = {risk.knows for risk in risks}
    if len(knows) == 1:
        notes.append(text[f"knows_{knows.pop()}"])
    return notes


_TRADE_OFF_WIDTH = 330
_HALVES = (("variance", "variance"), ("mean_absolute_deviation", "deviation"))


def trade_off_curve(data: Any, *, language: str = "en") -> Picture:
    """Draw the largest safe variance by maximum noise, and what it does to counts. SECRET.

    On the left the variance, on the right the mean absolute deviation of large counts
    at that variance. Lines have gaps where no feasible variance is safe.

    Args:
        data: What `trade_off` returns, a frame with the columns `max_noise`, `variance`
            and `mean_absolute_deviation`, or a mapping from names (such as the
            accepted risk) to these, to compare them.
        language: "en" or "de".

    >>> import polars as pl
    >>> frame = pl.DataFrame(
    ...     {"max_noise": [2, 3], "variance": [0.65, 1.54], "mean_absolute_deviation": [0.5, 0.9]}
    ... )
    >>> trade_off_curve(frame).title
    'Largest safe variance by largest noise'
    """
    text = words(language)
    named = data if isinstance(data, Mapping) else {text["largest"]: data}
    halves = [
        _half([_line(name, frame, column) for name, frame in named.items()], text[title], text)
        for column, title in _HALVES
    ]
    body = {"hconcat": halves, "spacing": 40}
    description = composed(body, title=text["trade_off"], notes=(), language=language)
    return Picture("trade_off_curve", text["trade_off"], language, description)


def _line(name: Any, frame: Any, column: str) -> CurveLine:
    return CurveLine(str(name), points_of(frame, "max_noise", column, where=str(name), gaps=True))


def _half(lines: Sequence[CurveLine], title: str, text: Mapping[str, str]) -> dict[str, Any]:
    across = CurveAxis(text["max_noise"], {"domain": _domain(lines)}, _whole(lines), "d")
    upward = CurveAxis(title, {"domain": [0, max(heights(lines)) * 1.1 or 1]})
    return curves(lines, across, upward, legend=text["largest"], width=_TRADE_OFF_WIDTH)
