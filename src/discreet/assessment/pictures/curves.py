"""Curves: expected error by count, disclosure risk by count, the largest safe variance.

In: perturbation tables, their `Quality` or `DisclosureRisk`, or what `trade_off` returns.
Out: a `Picture` of lines that are told apart by colour, dash and point shape. SECRET, like
the numbers that go in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.tableau import named
from discreet.assessment.pictures.theme import (
    SERIES,
    channel,
    mark,
    number,
    picture_of,
    spec,
    words,
)
from discreet.assessment.quality import Quality, expected_quality
from discreet.assessment.risk import DisclosureRisk, disclosure_risk
from discreet.errors import PerturbationError, Problem
from discreet.protection.noise import PerturbationTable

_WIDTH, _HEIGHT = 560, 300
_HALF = 330
_MOST_POINTS = 40
_LEAST = 1e-12
_COUNTS = (*range(1, 13), 14, 17, 20, 25, 30, 40, 50, 70, 100, 140, 200, 300, 500, 700, 1000)
_SIZES = [size * 10**power for power in range(10) for size in (1, 2, 3, 5)]
_TICKS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500)

#: Places and their values, by the name of the line; it has a gap where there is no value.
_Lines = Mapping[str, Sequence[tuple[float, float | None]]]


@dataclass(frozen=True, slots=True)
class _CurveAxis:
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
        return channel(field, "quantitative", scale={"nice": False, **self.scale}, axis=axis)


def _points(
    frame: Any, x: str, y: str, where: str, *, factor: float = 1, gaps: bool = False
) -> list[tuple[float, float | None]]:
    """Two columns of a frame as points, in ascending order."""
    try:
        columns = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise _wrong(Problem("not a data frame", where)) from None
    missing = [name for name in (x, y) if name not in columns.columns]
    if missing:
        raise _wrong(*(Problem("column not found", f"{where}: {name}") for name in missing))

    def drawable(value: Any) -> bool:
        return isinstance(value, int | float) and 0 <= value < math.inf

    pairs = list(zip(columns[x].to_list(), columns[y].to_list(), strict=True))
    good = [drawable(at) and (drawable(v) or (gaps and v is None)) for at, v in pairs]
    if not all(good):
        message = f"{good.count(False)} values are missing, negative or not numbers"
        raise _wrong(Problem(message, f"{where}: {x}, {y}"))
    if all(value is None for _, value in pairs):
        raise _wrong(Problem("no values to draw", where))
    return [
        (float(at), None if value is None else factor * float(value)) for at, value in sorted(pairs)
    ]


def _curves(
    lines: _Lines, across: _CurveAxis, upward: _CurveAxis, legend: str, width: int = _HALF
) -> dict[str, Any]:
    """The body of a picture with one or several lines."""
    if len(lines) > len(SERIES):
        raise _wrong(
            Problem(f"too many lines for one picture: {len(lines)}", f"at most {len(SERIES)}")
        )
    records = [
        {"line": name, "x": at, "y": value} for name, line in lines.items() for at, value in line
    ]
    colours, dashes, shapes = zip(*SERIES[: len(lines)], strict=True)
    key = {"title": legend, "symbolSize": 110, "symbolStrokeWidth": 0} if len(lines) > 1 else None
    few = max(map(len, lines.values())) <= _MOST_POINTS

    def told_apart(looks: Sequence[Any], key: Mapping[str, Any] | None) -> dict[str, Any]:
        scale = {"domain": list(lines), "range": list(looks)}
        return channel("line", scale=scale, legend=key)

    shown: list[dict[str, Any]] = [{"field": "line", "title": legend}] if key else []
    for field, axis in (("x", across), ("y", upward)):
        shown.append(channel(field, "quantitative", title=axis.title, format=".4~g"))
    encoding = {
        "x": across.encoding("x"),
        "y": upward.encoding("y"),
        "color": told_apart(colours, key),
        "strokeDash": told_apart([list(dash) for dash in dashes], None if few else key),
        "tooltip": shown,
    }
    if few:
        encoding["shape"] = told_apart(shapes, key)
    point = {"filled": True, "size": 42, "opacity": 1} if few else False
    return {
        "width": width,
        "height": _HEIGHT,
        "data": {"values": records},
        "layer": [{"mark": mark("line", strokeWidth=2, point=point), "encoding": encoding}],
    }


def _heights(lines: _Lines) -> list[float]:
    return [value for line in lines.values() for _, value in line if value is not None]


def _places(lines: _Lines) -> list[float]:
    """All places of all lines, ascending, each once."""
    return sorted({at for line in lines.values() for at, _ in line})


def _whole(title: str, lines: _Lines) -> _CurveAxis:
    """The axis across whole numbers, some of which are named."""
    places = _places(lines)
    domain = [places[0] - 0.3, places[-1] + 0.3]
    return _CurveAxis(title, {"domain": domain}, places[:: 1 + len(places) // 13], "d")


def _wrong(*problems: Problem) -> PerturbationError:
    return PerturbationError(
        "this cannot be drawn",
        code="picture-data",
        hint="give the result of an assessment function, or a frame with the same columns",
        problems=problems,
    )


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
    lines = {}
    for name, table in (data if isinstance(data, Mapping) else {text["series"]: data}).items():
        known = isinstance(table, PerturbationTable)
        quality = expected_quality(table, list(_COUNTS)) if known else table
        frame = quality.by_count if isinstance(quality, Quality) else quality
        lines[str(name)] = _points(frame, "count", "relative_error", str(name), factor=100)
    last = max(_places(lines)[-1], 10)
    top = max(*_heights(lines), 100 * (limit or 0), 1) * 1.1
    sizes = [size for size in _SIZES if size <= last]
    across = _CurveAxis(text["count"], {"type": "log", "domain": [0.9, last * 1.05]}, sizes, ",")
    scale = {"type": "symlog", "constant": 1, "domain": [0, top]}
    upward = _CurveAxis(text["relative_error"], scale, [tick for tick in _TICKS if tick <= top])
    body = _curves(lines, across, upward, text["series"], _WIDTH)
    if limit is not None:
        percent = number(f"{100 * limit:g}", language)
        bracket = text["bracket"].format(limit=percent)
        body["layer"].append(spec("limit", limit=100 * limit, text=bracket, width=_WIDTH))
    notes = named(data) if isinstance(data, PerturbationTable) else []
    return picture_of("quality_curve", text["quality"], body, notes, language)


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
    risks = {}
    for name, table in (data if isinstance(data, Mapping) else {text["series"]: data}).items():
        risk = disclosure_risk(table) if isinstance(table, PerturbationTable) else table
        if not isinstance(risk, DisclosureRisk):
            message = "not a perturbation table or its disclosure risk"
            hint = "give the result of disclosure_risk"
            raise PerturbationError(message, code="picture-data", where=str(name), hint=hint)
        risks[str(name)] = risk
    parts, origins = {}, {}
    for name, risk in risks.items():
        parts[name] = _points(risk.by_count, "count", "part", name)
        origins[name] = _points(risk.small, "value", "from_1_or_2", name, factor=100, gaps=True)
    halves = [
        _risk_of_parts(parts, {risk.terms for risk in risks.values()}, limit, language),
        _curves(
            origins,
            _whole(text["published"], origins),
            _CurveAxis(text["origin"], {"domain": [0, 100]}, [0, 20, 40, 60, 80, 100], "d"),
            text["series"],
        ),
    ]
    halves[1]["title"] = _head(text["origin_head"])
    notes = named(data) if isinstance(data, PerturbationTable) else []
    knows = {risk.knows for risk in risks.values()}
    if len(knows) == 1:
        notes.append(text[f"knows_{knows.pop()}"])
    body = {"hconcat": halves, "spacing": 40}
    return picture_of("risk_curve", text["risk"], body, notes, language)


def _risk_of_parts(
    lines: _Lines, terms: set[int], limit: float | None, language: str
) -> dict[str, Any]:
    """The left half: how often a part is determined, by its original count."""
    text = words(language)
    # Zero and the powers of ten from the least positive share to the largest.
    shares = [*_heights(lines), limit or 0]
    positive = [max(share, _LEAST) for share in shares if share > 0] or [0.1]
    first = math.floor(math.log10(min(positive)))
    last = max(math.ceil(math.log10(max(positive))), first + 2)
    ticks = [0.0, *(10.0**power for power in range(first, min(last, 0) + 1))]
    scale = {"type": "symlog", "constant": ticks[1] / 5, "domain": [0, ticks[-1]]}
    once = f"'{text['once']}' + format(1 / datum.value, ',.0f')"
    label = f"datum.value === 0 ? '{text['never_found']}' : {once}"
    upward = _CurveAxis(text["found"], scale, ticks, ".0e", label)
    body = _curves(lines, _whole(text["part"], lines), upward, text["series"])
    if limit is not None:
        body["layer"].append(spec("limit", limit=limit, text=text["accepted"], width=_HALF))
    head = text["found_head"].format(terms=min(terms)) if len(terms) == 1 else ""
    return {**body, "title": _head(head or text["found_any_head"])}


def _head(text: str) -> dict[str, Any]:
    return {"text": text, "fontSize": 12, "offset": 8, "frame": "group"}


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
    frames = data if isinstance(data, Mapping) else {text["largest"]: data}
    halves = []
    for column, title in (("variance", "variance"), ("mean_absolute_deviation", "deviation")):
        lines = {
            str(name): _points(frame, "max_noise", column, str(name), gaps=True)
            for name, frame in frames.items()
        }
        upward = _CurveAxis(text[title], {"domain": [0, max(_heights(lines)) * 1.1 or 1]})
        halves.append(_curves(lines, _whole(text["max_noise"], lines), upward, text["largest"]))
    body = {"hconcat": halves, "spacing": 40}
    return picture_of("trade_off_curve", text["trade_off"], body, (), language)
