"""Pictures of perturbation tables: bars over the cell key, heat map, distributions, and curves.

In: perturbation tables, their `Quality` or `DisclosureRisk`, or what `trade_off` returns. Out: a
`Picture`: the tableau, the transition matrix as a heat map with its values, the distribution of the
noise as one small picture for each row; lines of expected error, disclosure risk and the largest
safe variance, told apart by colour, dash and point shape. SECRET, like what goes in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import Any

import narwhals as nw

from discreet.assessment.pictures.picture import (
    SERIES,
    SHARE_CLASSES,
    Picture,
    channel,
    ink_on,
    mark,
    noise_colours,
    number,
    picture_of,
    share_class,
    sign,
    spec,
    tooltip,
    words,
)
from discreet.assessment.probabilities import never_published
from discreet.assessment.quality import Quality, expected_quality
from discreet.assessment.risk import DisclosureRisk, disclosure_risk
from discreet.errors import PerturbationError, Problem
from discreet.protection.noise import Closed, PerturbationTable, moments


@dataclass(frozen=True, slots=True, repr=False)
class Segment:
    """One interval of a row: lower and upper bound in units of the scale."""

    noise: int
    lower: int
    upper: int

    @property
    def width(self) -> int:
        """Its width in units of the scale."""
        return self.upper - self.lower


@dataclass(frozen=True, slots=True, repr=False)
class DrawnRow:
    """One row: the original count, its label and its intervals as they lie."""

    count: int
    label: str
    segments: tuple[Segment, ...]

    def published(self, noise: int) -> str:
        """Published counts; the last row also represents all larger counts n."""
        if not self.label.endswith("+"):
            return str(self.count + noise)
        return f"n {'+' if noise > 0 else '−'} {abs(noise)}" if noise else "n"

    def shares(self, scale: int) -> dict[int, Fraction]:
        """The probability of each noise value, exactly."""
        widths: dict[int, int] = {}
        for segment in self.segments:
            widths[segment.noise] = widths.get(segment.noise, 0) + segment.width
        return {noise: Fraction(width, scale) for noise, width in sorted(widths.items())}


@dataclass(frozen=True, slots=True, repr=False)
class DrawnRows:
    """The rows to draw, and what the reader must know about the others."""

    rows: tuple[DrawnRow, ...]
    scale: int
    closed: Closed
    notes: tuple[str, ...]

    def noise(self) -> list[int]:
        """All noise values that occur, in order."""
        return sorted({part.noise for row in self.rows for part in row.segments})

    def share(self, width: int) -> float:
        """A width as a share of the key grid, fine enough to draw."""
        return round(width / self.scale, 9)

    def interval(self, segment: Segment, language: str) -> str:
        """The bounds of an interval as exact decimals, or its keys on a small grid."""
        if self.scale <= 2**16:
            return f"{segment.lower} … {segment.upper - 1}"
        bounds = [f"{Decimal(b) / self.scale:f}" for b in (segment.lower, segment.upper)]
        lower, upper = (
            number(text.rstrip("0").rstrip(".") if "." in text else text, language)
            for text in bounds
        )
        comma = ";" if language == "de" else ","
        return f"[{lower}{comma} {upper})" if self.closed == "left" else f"({lower}{comma} {upper}]"


def rows_of(
    ptable: PerturbationTable, wanted: Iterable[int] | None, *, most: int, language: str
) -> DrawnRows:
    """Read the rows of a table.

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}}, name="example")
    >>> rows_of(ptable, None, most=40, language="en").notes
    ('example', '1+: this row and all larger counts')
    """
    check_table(ptable)
    content, last = ptable.content, ptable.n_max
    counts = list(range(last + 1)) if last < most else [*range(most - 1), last]
    if wanted is not None:
        counts = sorted(set(wanted))
        strange = [count for count in counts if not 0 <= count <= last]
        problems = [Problem("row not found in the table", f"rows: {count}") for count in strange]
        if problems or not counts:
            raise PerturbationError(
                "these rows cannot be drawn",
                code="picture-rows",
                hint=(
                    "name original counts with a row in the table, or leave rows out to draw all"
                ),
                problems=problems or [Problem("rows is empty", "rows")],
            )
    rows = []
    for count, upper, noise in content.rows():
        if count in counts:
            parts = zip(noise, [0, *upper[:-1]], upper, strict=True)
            label = f"{count}+" if count == last and content.beyond == "last" else str(count)
            rows.append(DrawnRow(count, label, tuple(Segment(*part) for part in parts)))
    text, notes = words(language), named(ptable)
    if len(counts) <= last:
        notes.append(text["row_some"].format(shown=_runs(counts), last=last))
    if content.beyond != "last":
        first, length = content.beyond
        notes.append(text["beyond_block"].format(first=first, last=first + length - 1))
    elif counts[-1] == last:
        notes.append(text["beyond_last"].format(last=last))
    return DrawnRows(tuple(rows), content.scale, content.closed, tuple(notes))


def check_table(ptable: object) -> None:
    """Raise a clear error for anything but a table for counts."""
    if not isinstance(ptable, PerturbationTable):
        message, hint = "only perturbation tables for counts can be drawn", "a PerturbationTable"
        raise PerturbationError(message, code="picture-data", hint=f"give {hint}")


def named(ptable: PerturbationTable) -> list[str]:
    """Name and version of a table, if it has them.

    >>> named(PerturbationTable.from_rows({0: {0: 1}}, name="example"))
    ['example']
    """
    name = "" if ptable.name == "perturbation table" else ptable.name
    return [text for text in (name, ptable.version) if text]


def _runs(counts: list[int]) -> str:
    """Numbers as a reader lists them: 0–5, 8."""
    apart = groupby(enumerate(counts), key=lambda pair: pair[1] - pair[0])
    runs = [[count for _, count in run] for _, run in apart]
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


_MOST_ROWS = 40
_TABLEAU_WIDTH = 620
_EDGE = 0.4  # none around slivers, whose colour it would hide
_DIGIT = 7  # pixels that a digit of a label needs
_WIDE, _NARROW = 40, 30  # pixels of a cell; the narrow ones hold two digits and a decimal
_FEW_COLUMNS = 20
_MOST_PANELS = 12
_COLUMNS = 3
_MOST_LABELLED = 6  # noise up to which every bar has its number


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
    drawn = rows_of(ptable, rows, most=_MOST_ROWS, language=language)
    labels, colours = [row.label for row in drawn.rows], noise_colours(drawn.noise())
    records = []
    for row in drawn.rows:
        for part in row.segments:
            name, share = sign(part.noise), drawn.share(part.width)
            wide = share * _TABLEAU_WIDTH
            records.append(
                {
                    "label": row.label,
                    "noise": name,
                    "lower": drawn.share(part.lower),
                    "upper": drawn.share(part.upper),
                    "middle": drawn.share(part.lower + part.upper) / 2,
                    "inside": name if wide > _DIGIT * len(name) + 3 else "",
                    "edge": _EDGE if wide > 1.5 else 0,
                    "ink": ink_on(colours[part.noise]),
                    "interval": drawn.interval(part, language),
                    "share": number(f"{share:.6f}", language),
                    "published": row.published(part.noise),
                }
            )
    names = [sign(value) for value in reversed(colours)]
    body = spec(
        "tableau",
        language,
        width=_TABLEAU_WIDTH,
        step=26 if len(labels) <= 20 else 20,
        records=records,
        labels=labels,
        names=names,
        colours=list(reversed(colours.values())),
        columns=1 + len(names) // 24,
        # A line around each row, so that pale ends do not look like gaps.
        frames=[{"label": label, "lower": 0, "upper": 1} for label in labels],
        edge=_EDGE,
        tooltip=_shown(language, interval="interval" if drawn.scale > 2**16 else "keys"),
    )
    return picture_of("tableau", text["tableau"], body, drawn.notes, language)


def _shown(language: str, **more: str) -> list[dict[str, Any]]:
    """What the pointer shows: fields, each with the name of its title."""
    fields = {"label": "count", "noise": "noise", "published": "published", **more}
    text = words(language)
    return tooltip([(field, text[title]) for field, title in {**fields, "share": "share"}.items()])


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
    drawn = rows_of(ptable, rows, most=_MOST_ROWS, language=language)
    ends = [upper for upper, _ in SHARE_CLASSES]
    classes = [text["class_first"].format(upper=ends[0])]
    classes += [
        text["class"].format(lower=ends[at - 1], upper=ends[at]) for at in range(1, len(ends))
    ]
    records = [
        {
            "label": row.label,
            "published": row.count + noise,
            "becomes": row.published(noise),
            "noise": sign(noise),
            "same": noise == 0,
            "class": classes[share_class(float(share))],
            "value": _percent(share, language),
            "share": number(f"{float(share):.6f}", language),
            "ink": ink_on(SHARE_CLASSES[share_class(float(share))][1]),
        }
        for row in drawn.rows
        for noise, share in row.shares(drawn.scale).items()
    ]
    occurring = [row.count + part.noise for row in drawn.rows for part in row.segments]
    targets = list(range(min(occurring), max(occurring) + 1))
    wide = len(targets) <= _FEW_COLUMNS
    fields = {"label": "count", "becomes": "published", "noise": "noise", "share": "share"}
    body = spec(  # a frame around the unchanged count is to be seen on any colour
        "transitions",
        language,
        across=_WIDE if wide else _NARROW,
        down=26 if wide else 22,
        size=11 if wide else 9.5,
        records=records,
        targets=targets,
        labels=[row.label for row in drawn.rows],
        classes=classes,
        colours=[colour for _, colour in SHARE_CLASSES],
        tooltip=tooltip([(field, text[title]) for field, title in fields.items()]),
    )
    missing = ", ".join(map(str, never_published(ptable)))  # not even a larger count leads there
    notes = [*drawn.notes, text["diagonal"]]
    notes += [text["never"].format(values=missing)] if missing else []
    return picture_of("transition_heatmap", text["heatmap"], body, notes, language)


def _percent(share: Fraction, language: str) -> str:
    """A probability in per cent with one decimal, or none for certainty.

    >>> [_percent(Fraction(share), "de") for share in ("0.125", "0.0001", "1")]
    ['12,5', '<0,1', '100']
    """
    if share == 1:
        return "100"
    tenths = round(share * 1000)
    return number(f"{tenths / 10:.1f}" if tenths else "<0.1", language)


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
    if rows is None:  # all rows that hold noise, or the first and the last of many
        last = ptable.n_max
        counts = list(range(0 if ptable.changes_zeros or not last else 1, last + 1))
        rows = counts if len(counts) <= _MOST_PANELS else [*counts[: _MOST_PANELS - 1], last]
    drawn = rows_of(ptable, rows, most=_MOST_PANELS, language=language)
    highest = max(share for row in drawn.rows for share in row.shares(drawn.scale).values())
    reach = max(abs(value) for value in (*drawn.noise(), 1))
    every = range(-reach, reach + 1)
    step = 1 if reach <= _MOST_LABELLED else -(-reach // 4)
    axes: dict[str, Any] = {  # the same for all rows, so that they can be compared
        "domain": [sign(value) for value in every],
        "values": [sign(value) for value in every if value % step == 0],
        "highest": float(highest * 100) * 1.15,
        "tooltip": _shown(language),
        "tops": [spec("tops")] if reach <= _MOST_LABELLED else [],
    }
    text, colours, panels = words(language), noise_colours(drawn.noise()), []
    for row in drawn.rows:
        shares = row.shares(drawn.scale)
        records = [
            {
                "label": row.label,
                "noise": sign(noise),
                "percent": round(float(share * 100), 7),
                "top": f"{round(share * 100)}" if share * 100 >= 1 else "<1",
                "share": number(f"{float(share):.6f}", language),
                "published": row.published(noise),
                "colour": colours[noise],
            }
            for noise, share in shares.items()
        ]
        head = text["row_head"].format(
            label=row.label,
            variance=number(f"{float(moments(shares)[1]):.2f}", language),
            stay=number(f"{float(shares.get(0, Fraction(0)) * 100):.1f}", language),
        )
        panels.append(spec("distribution", language, head=head, records=records, **axes))
    body = {
        "columns": min(_COLUMNS, len(panels)),
        "spacing": {"row": 16, "column": 20},
        "concat": panels,
    }
    return picture_of("row_distributions", text["distributions"], body, drawn.notes, language)


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
