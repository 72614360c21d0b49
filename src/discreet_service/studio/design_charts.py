"""Charts of one design or two (SECRET): noise, tableau, transition, quality, risk, attack."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.assessment import SHARE_CLASSES, ink_on, noise_colours, rows_of, share_class
from discreet.publication import number_text
from discreet_service.studio.design_wishes import AssessedDesign

Words = Mapping[str, str]
#: A place and a value.
Point = tuple[float, float]


@dataclass(kw_only=True, slots=True)
class Drawing:
    """A picture of paths and texts."""

    name: str  # Its name in the page
    title: str  # What it shows
    told: str  # The same for who cannot see it, with the main figures
    width: int
    height: int
    note: str = ""  # What is said below it
    paths: list[dict[str, str]] = field(default_factory=list)  # What is drawn
    texts: list[dict[str, Any]] = field(default_factory=list)  # What is written
    wide: bool = False  # Whether it needs its whole width to be read

    def path(self, d: str, kind: str, fill: str = "") -> None:
        """Draw a path of a class; its colour is stated where that says a number."""
        self.paths.append({"d": d, "kind": kind, "fill": fill})

    def text(self, x: float, y: float, text: str, kind: str = "", fill: str = "") -> None:
        """Write a text on a base line: from its place, up to it ("end") or around it ("mid")."""
        self.texts.append({"x": round(x, 1), "y": round(y, 1), "text": text, "kind": kind,
                           "fill": fill})  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartAxis:
    """An axis."""

    title: str  # What it measures
    low: float  # Its lower end
    high: float  # Its upper end
    ticks: Sequence[tuple[float, str]]  # Places with what stands there
    logarithmic: bool = False  # Whether equal steps are equal factors

    def share(self, value: float) -> float:
        """Relative position of a value between the ends, cut to 0 to 1.

        >>> ChartAxis(title="", low=1, high=100, ticks=(), logarithmic=True).share(10)
        0.5
        """
        low, high, at = self.low, self.high, value
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(max(value, 1e-300))
        return min(max((at - low) / (high - low), 0.0), 1.0)


_WIDTH, _HEIGHT, _RIGHT, _TOP, _BOTTOM = 460, 270, 22, 30, 46
#: How wide a digit is, about.
_DIGIT = 7.2


def rectangle(x: float, y: float, width: float, height: float) -> str:
    """The path of a rectangle.

    >>> rectangle(1, 2, 3.25, 4)
    'M1 2h3.25v4h-3.25z'
    """
    wide, tall = _short(width), _short(height)
    return f"M{_short(x)} {_short(y)}h{wide}v{tall}h-{wide}z"


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def chart_of(
    name: str,
    series: Sequence[Sequence[Point]],
    across: ChartAxis,
    upward: ChartAxis,
    words: Words,
    language: str,
    *,
    which: str = "",
    written: Callable[[float], str] | None = None,
    bars: bool = False,
    note: str = "",
) -> Drawing:
    """A chart with a line per design, or a bar per whole number and design side by side.

    The second line is dashed, and its points are squares. For those who cannot see it, first and
    last value of each design are written.

    >>> axis = ChartAxis(title="", low=0, high=1, ticks=())
    >>> line = [(0, 0), (1, 1)]
    >>> chart_of("a", [line], axis, axis, {"chart_a": "A"}, "en").paths[-2]["d"]
    'M16 224L438 30'
    """
    title = words[f"chart_{name}"] + (f": {which}" if which else "")
    said = written or (lambda value: number_text(value, 1, language))
    ends = [
        (f"{letter}: " if len(series) > 1 else "")
        + " … ".join(
            f"{number_text(at, 0, language)}: {said(value)}"
            for at, value in (points[0], points[-1])
        )
        for letter, points in zip("AB", series, strict=False)
        if points
    ]
    chart = Drawing(name=name, title=title, told=f"{title}. {'; '.join(ends)}", note=note,
                    width=_WIDTH, height=_HEIGHT)  # fmt: skip
    floor, end = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    left = round(16 + _DIGIT * max((len(label) for _, label in upward.ticks), default=0))

    def x(value: float) -> float:
        return left + across.share(value) * (end - left)

    def y(value: float) -> float:
        return floor - upward.share(value) * (floor - _TOP)

    for value, label in upward.ticks:
        chart.path(f"M{left} {_short(y(value))}H{end}", "grid")
        chart.text(left - 6, y(value) + 4, label, "end")
    for value, label in across.ticks:
        chart.path(f"M{_short(x(value))} {floor}v5", "axis")
        chart.text(x(value), floor + 19, label, "mid")
    chart.path(f"M{left} {floor}H{end}", "axis")
    chart.text((left + end) / 2, _HEIGHT - 6, across.title, "mid quiet")
    chart.text(4, 15, upward.title, "quiet")
    step = x(1) - x(0)
    for number, (kind, points) in enumerate(zip("ab", series, strict=False)):
        places = [(x(at), y(value)) for at, value in points]
        if bars:
            begin, width = (0.8 * number / len(series) - 0.4) * step, 0.8 * step / len(series)
            parts = [rectangle(at + begin, top, width, floor - top)
                     for at, top in places if top < floor]  # fmt: skip
            chart.path("".join(parts), f"bar {kind}")
        elif places:
            chart.path("M" + "L".join(f"{_short(at)} {_short(top)}" for at, top in places),
                       f"line {kind}")  # fmt: skip
            mark = rectangle if kind == "b" else _dot
            chart.path("".join(mark(at - 3, top - 3, 6, 6) for at, top in places), f"dots {kind}")
    return chart


def _dot(x: float, y: float, width: float, height: float) -> str:
    half, tall = _short(width / 2), _short(height / 2)
    return (f"M{_short(x)} {_short(y + height / 2)}a{half} {tall} 0 1 0 {_short(width)} 0"
            f"a{half} {tall} 0 1 0 -{_short(width)} 0z")  # fmt: skip


#: Rows that a picture has room for; exposures that the curve of an attack goes through.
_MOST_ROWS = 12
_EXPOSURES = (1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 50, 70, 100, 150, 250, 400)
_ERRORS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_CELL, _LINE, _SIDE, _HEAD = 38, 23, 58, 8
_KEYS = 520


def design_charts(
    designs: Sequence[AssessedDesign], row: int | None, words: Words, language: str
) -> list[Drawing]:
    """All charts, in the order in which they are read."""
    charts = [noise_chart(designs, row, words, language)]
    for letter, one in zip("AB", designs, strict=False):
        head = f" {letter}" if len(designs) > 1 else ""
        charts.append(tableau_chart(one, head, words, language))
        charts.append(transition_chart(one, head, words, language))
    others = (quality_chart, risk_chart, origin_chart, attack_chart)
    return [*charts, *(chart(designs, words, language) for chart in others)]


def _whole_ticks(low: int, high: int) -> list[tuple[float, str]]:
    step = 1 + (high - low) // 12
    return [(at, str(at).replace("-", "\u2212")) for at in range(low, high + 1) if at % step == 0]


def _per_cent(high: float, words: Words) -> ChartAxis:
    """An axis in per cent that reaches a value."""
    step = next((item for item in (2, 5, 10, 20) if high <= 5 * item), 25)
    top = max(step * math.ceil(high / step - 1e-9), step)
    ticks = [(at, str(at)) for at in range(0, top + 1, step)]
    return ChartAxis(title=words["per_cent"], low=0, high=top, ticks=ticks)


def noise_of(design: AssessedDesign, row: int | None) -> list[tuple[float, float]]:
    """Noise and its probability in per cent, of a count; of a large one if None."""
    last = design.table.n_max
    at = last if row is None else min(row, last)
    shares = next(share for count, share in design.table.content.shares() if count == at)
    return [(float(noise), 100 * float(share)) for noise, share in sorted(shares.items())]


def noise_chart(
    designs: Sequence[AssessedDesign], row: int | None, words: Words, language: str
) -> Drawing:
    """Chart of the probabilities of noise."""
    bars = [noise_of(design, row) for design in designs]
    reach = max(design.table.max_noise for design in designs)
    across = ChartAxis(title=words["noise"], low=-reach - 0.6, high=reach + 0.6,
                       ticks=_whole_ticks(-reach, reach))  # fmt: skip
    upward = _per_cent(max(value for each in bars for _, value in each), words)
    which = words["large_counts"] if row is None else f"{words['count']} {row}"
    return chart_of("noise", bars, across, upward, words, language, which=which, bars=True)


def tableau_chart(design: AssessedDesign, head: str, words: Words, language: str) -> Drawing:
    """Each count as a bar along the cell key, coloured by noise."""
    rows = rows_of(design.table, None, most=_MOST_ROWS, language=language)
    colours = noise_colours(rows.noise())
    foot = _HEAD + len(rows.rows) * _LINE
    picture = _picture(f"tableau{head.strip()}", words["chart_tableau"] + head,
                    _KEYS + _SIDE + 12, foot + 62, words["tableau_told"])  # fmt: skip
    for noise, colour in colours.items():
        parts = [
            rectangle(_SIDE + rows.share(part.lower) * _KEYS, _HEAD + number * _LINE + 2,
                      rows.share(part.width) * _KEYS, _LINE - 4)
            for number, row in enumerate(rows.rows)
            for part in row.segments
            if part.noise == noise
        ]  # fmt: skip
        picture.path("".join(parts), "part", colour)
    for number, row in enumerate(rows.rows):
        picture.text(_SIDE - 8, _HEAD + (number + 0.5) * _LINE + 4, row.label, "end")
        for part in row.segments:
            name = _signed(part.noise)
            if rows.share(part.width) * _KEYS > 8 * len(name) + 6:
                at = _SIDE + rows.share(part.lower + part.upper) / 2 * _KEYS
                picture.text(at, _HEAD + (number + 0.5) * _LINE + 4, name, "mid",
                          ink_on(colours[part.noise]))  # fmt: skip
    for tenth in range(0, 11, 2):
        at = _SIDE + tenth / 10 * _KEYS
        picture.path(f"M{at:g} {foot}v5", "axis")
        picture.text(at, foot + 18, number_text(tenth / 10, 1, language), "mid")
    picture.text(_SIDE + _KEYS / 2, foot + 35, words["cell_key"], "mid quiet")
    step = min(_KEYS / len(colours), 44)
    for number, (noise, colour) in enumerate(colours.items()):
        at = _SIDE + number * step
        picture.path(rectangle(at, foot + 43, step, 17), "part", colour)
        if step > 18:
            picture.text(at + step / 2, foot + 56, _signed(int(noise)), "mid", ink_on(colour))
    picture.note = words["example_order"] if design.is_example else ""
    return picture


def _picture(name: str, title: str, width: int, height: int, told: str) -> Drawing:
    return Drawing(
        name=name, title=title, told=f"{title}. {told}", width=width, height=height, wide=True
    )


def _signed(noise: int) -> str:
    sign = "+" if noise > 0 else "\u2212" if noise else ""
    return f"{sign}{abs(noise)}"


def percent_text(share: Fraction, language: str) -> str:
    """A probability in per cent, with one decimal.

    >>> [percent_text(Fraction(each), "de") for each in ("0.125", "0.0001", "1")]
    ['12,5', '<0,1', '100']
    """
    tenths = round(share * 1000)
    if share == 1 or not tenths:
        return "100" if tenths else "<" + number_text(0.1, 1, language)
    return number_text(tenths / 10, 1, language)


def transition_chart(design: AssessedDesign, head: str, words: Words, language: str) -> Drawing:
    """Original by published count, with probabilities in per cent."""
    rows = rows_of(design.table, None, most=_MOST_ROWS, language=language)
    columns = sorted({row.count + part.noise for row in rows.rows for part in row.segments})
    place = {value: _SIDE + number * _CELL for number, value in enumerate(columns)}
    foot = _HEAD + 38 + len(rows.rows) * _LINE
    width, title = _SIDE + len(columns) * _CELL + 6, words["chart_transition"] + head
    picture = _picture(
        f"transition{head.strip()}", title, width, foot + 4, words["transition_told"]
    )
    picture.text(_SIDE + len(columns) * _CELL / 2, _HEAD + 8, words["published"], "mid quiet")
    picture.text(_SIDE - 8, _HEAD + 30, words["count"], "end quiet")
    for value, at in place.items():
        picture.text(at + _CELL / 2, _HEAD + 30, str(value), "mid")
    cells = [
        (number, row.count + noise, share)
        for number, row in enumerate(rows.rows)
        for noise, share in row.shares(rows.scale).items()
        if share
    ]
    for step, (_, colour) in enumerate(SHARE_CLASSES):
        parts = [
            rectangle(place[value], _HEAD + 38 + number * _LINE, _CELL, _LINE)
            for number, value, share in cells
            if share_class(float(share)) == step
        ]
        if parts:
            picture.path("".join(parts), "cell", colour)
    same = [
        rectangle(place[row.count] + 1.5, _HEAD + 39.5 + number * _LINE, _CELL - 3, _LINE - 3)
        for number, row in enumerate(rows.rows)
        if row.count in place and any(part.noise == 0 for part in row.segments)
    ]
    picture.path("".join(same), "same")
    for number, row in enumerate(rows.rows):
        picture.text(_SIDE - 8, _HEAD + 54 + number * _LINE, row.label, "end")
    for number, value, share in cells:
        ink = ink_on(SHARE_CLASSES[share_class(float(share))][1])
        picture.text(place[value] + _CELL / 2, _HEAD + 54 + number * _LINE,
                  percent_text(share, language), "mid", ink)  # fmt: skip
    picture.note = words["transition_note"]
    return picture


def quality_chart(designs: Sequence[AssessedDesign], words: Words, language: str) -> Drawing:
    """The expected relative error by count."""
    lines = [design.errors() for design in designs]
    values = [value for line in lines for _, value in line if value > 0] or [1.0]
    low, high = min(*values, 1) * 0.8, max(*values, 10) * 1.2
    across = ChartAxis(
        title=words["count"], low=0.9, high=1_100, logarithmic=True,
        ticks=[(at, number_text(at, 0, language)) for at in _SIZES],
    )  # fmt: skip
    ticks = [(float(at), number_text(at, int(at < 1), language))
             for at in _ERRORS if low <= at <= high]  # fmt: skip
    upward = ChartAxis(title=words["relative_error"], low=low, high=high, logarithmic=True,
                       ticks=ticks)  # fmt: skip
    return chart_of("quality", lines, across, upward, words, language)


def risk_chart(designs: Sequence[AssessedDesign], words: Words, language: str) -> Drawing:
    """Chart of the probability that a sum and its parts determine a part, by count."""
    lines = [design.found() for design in designs]
    values = [value for line in lines for _, value in line] or [0.1, 1.0]
    first = math.floor(math.log10(min(values)))
    last = max(math.ceil(math.log10(max(values))), first + 1)
    ticks = [(10.0**power, once(10.0**power, words, language))
             for power in range(first, last + 1, 1 + (last - first) // 7)]  # fmt: skip
    upward = ChartAxis(title=words["found"], low=10.0**first, high=10.0**last, logarithmic=True,
                       ticks=ticks)  # fmt: skip
    end = max((int(at) for line in lines for at, _ in line), default=1)
    across = ChartAxis(title=words["part"], low=0.5, high=end + 0.5, ticks=_whole_ticks(1, end))
    note = words["risk_note"] if all(lines) else words["risk_never"]
    return chart_of("risk", lines, across, upward, words, language, note=note,
                    written=lambda share: once(share, words, language))  # fmt: skip


def once(share: float, words: Words, language: str) -> str:
    """A probability as people say it: 1 in 500.

    >>> once(0.002, {"once": "1 in"}, "en")
    '1 in 500'
    """
    if share <= 0:
        return words["never"]
    if share >= 0.9995:
        return words["always"]
    times = 1 / share
    if times < 1e6:
        whole = times >= 10 or abs(times - round(times)) < 0.05
        return f"{words['once']} {number_text(times, 0 if whole else 1, language)}"
    power = math.floor(math.log10(times) + 1e-9)
    if power < 9:
        many = times / 1e6
        decimals = int(many < 100 and abs(many - round(many)) >= 0.05)
        return f"{words['once']} {number_text(many, decimals, language)} {words['millions']}"
    factor = times / 10.0**power
    lead = "" if abs(factor - 1) < 0.05 else f"{number_text(factor, 1, language)}·"
    raised = str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{words['once']} {lead}10{raised}"


def origin_chart(designs: Sequence[AssessedDesign], words: Words, language: str) -> Drawing:
    """Chart of the probability that a published value was a 1 or a 2."""
    lines = [design.origins() for design in designs]
    end = max((int(at) for line in lines for at, _ in line), default=1)
    upward = _per_cent(max((value for line in lines for _, value in line), default=10), words)
    across = ChartAxis(title=words["published"], low=-0.5, high=end + 0.5,
                       ticks=_whole_ticks(0, end))  # fmt: skip
    return chart_of("origin", lines, across, upward, words, language)


def attack_chart(designs: Sequence[AssessedDesign], words: Words, language: str) -> Drawing:
    """Chart of the success of averaging, by exposure."""
    lines = [design.averaged(_EXPOSURES) for design in designs]
    across = ChartAxis(
        title=words["exposure"], low=1, high=_EXPOSURES[-1], logarithmic=True,
        ticks=[(at, str(at)) for at in (1, 2, 4, 8, 15, 27, 50, 100, 200, 400)],
    )  # fmt: skip
    upward, note = _per_cent(100, words), words["attack_note"]
    return chart_of("attack", lines, across, upward, words, language, note=note)


#: Key figures, and how they are written: digits, and what they are multiplied by.
_WRITTEN: Mapping[str, tuple[int, float]] = {
    "variance": (2, 1),
    "stay": (1, 100),
    "deviation": (2, 1),
    "at_most_1": (1, 100),
    "at_least_3": (1, 100),
    "at_least_4": (1, 100),
    "any_original": (0, 0),
    "large": (0, 0),
    "origin": (1, 100),
    "borne": (1, 1),
}


def figures_of(
    designs: Sequence[AssessedDesign], spoken: Mapping[str, str], language: str
) -> list[tuple[str, list[str]]]:
    """The main figures of one design or two, as they are written."""
    told = [design.key_figures() for design in designs]
    rows = []
    for name, (digits, factor) in _WRITTEN.items():
        cells = []
        for one in told:
            if not factor:
                cells.append(once(one[name], spoken, language))
                continue
            text = number_text(factor * one[name], digits, language)
            cells.append(f"{text}\N{NO-BREAK SPACE}%" if factor == 100 else text)
        rows.append((spoken[f"figure_{name}"], cells))
    return rows
