"""Charts: lines and bars as SVG, drawn on the server, with classes instead of styles.

In: numbers and words. Out: a `Drawing`, which a template writes: paths and texts by place. Colours
are those of the page's sheet; only where a colour says a number it stands with the path.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

#: A place and a value.
Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnPath:
    """A path."""

    d: str  # Where it goes
    kind: str  # Its class
    fill: str = ""  # Its colour, where that says a number


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnText:
    """A text."""

    x: float  # Where it stands, from the left
    y: float  # Its base line, from above
    text: str  # What it says
    kind: str = ""  # Its classes: "end" and "mid" for how it stands at its place
    fill: str = ""  # Its colour, where it stands on one that says a number


@dataclass(kw_only=True, slots=True)
class Drawing:
    """A picture of paths and texts."""

    name: str  # Its name in the page
    title: str  # What it shows
    told: str  # The same for who cannot see it, with the main figures
    width: int
    height: int
    note: str = ""  # What is said below it
    paths: list[DrawnPath] = field(default_factory=list)  # What is drawn
    texts: list[DrawnText] = field(default_factory=list)  # What is written
    wide: bool = False  # Whether it needs its whole width to be read

    def path(self, d: str, kind: str, fill: str = "") -> None:
        """Draw a path; arguments as of `DrawnPath`."""
        self.paths.append(DrawnPath(d=d, kind=kind, fill=fill))

    def text(self, x: float, y: float, text: str, kind: str = "", fill: str = "") -> None:
        """Write a text; arguments as of `DrawnText`."""
        self.texts.append(DrawnText(x=round(x, 1), y=round(y, 1), text=text, kind=kind, fill=fill))


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartAxis:
    """An axis."""

    title: str  # What it measures
    low: float  # Its lower end
    high: float  # Its upper end
    ticks: Sequence[tuple[float, str]]  # Places with what stands there
    logarithmic: bool = False  # Whether equal steps are equal factors

    def share(self, value: float) -> float:
        """Where a value lies between the ends: 0 to 1, and nowhere beyond.

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
    wide = f"{width:.2f}".rstrip("0").rstrip(".")
    tall = f"{height:.2f}".rstrip("0").rstrip(".")
    return f"M{_short(x)} {_short(y)}h{wide}v{tall}h-{wide}z"


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _frame(
    name: str, title: str, told: str, across: ChartAxis, upward: ChartAxis
) -> tuple[Drawing, Callable[[float], float], Callable[[float], float]]:
    """An empty chart, and where values lie in it."""
    made = Drawing(name=name, title=title, told=told, width=_WIDTH, height=_HEIGHT)
    floor, end = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    left = round(16 + _DIGIT * max((len(label) for _, label in upward.ticks), default=0))

    def x(value: float) -> float:
        return left + across.share(value) * (end - left)

    def y(value: float) -> float:
        return floor - upward.share(value) * (floor - _TOP)

    for value, label in upward.ticks:
        made.path(f"M{left} {_short(y(value))}H{end}", "grid")
        made.text(left - 6, y(value) + 4, label, "end")
    for value, label in across.ticks:
        made.path(f"M{_short(x(value))} {floor}v5", "axis")
        made.text(x(value), floor + 19, label, "mid")
    made.path(f"M{left} {floor}H{end}", "axis")
    made.text((left + end) / 2, _HEIGHT - 6, across.title, "mid quiet")
    made.text(4, 15, upward.title, "quiet")
    return made, x, y


def line_chart(
    name: str,
    title: str,
    told: str,
    lines: Sequence[Sequence[Point]],
    across: ChartAxis,
    upward: ChartAxis,
) -> Drawing:
    """A chart with a line per design; the second one is dashed, and its points are squares.

    >>> axis = ChartAxis(title="", low=0, high=1, ticks=())
    >>> line_chart("a", "A", "A", [[(0, 0), (1, 1)]], axis, axis).paths[-2].d
    'M16 224L438 30'
    """
    chart, x, y = _frame(name, title, told, across, upward)
    for kind, points in zip(("a", "b"), lines, strict=False):
        places = [(x(at), y(value)) for at, value in points]
        if not places:
            continue
        steps = "L".join(f"{_short(at)} {_short(value)}" for at, value in places)
        chart.path(f"M{steps}", f"line {kind}")
        mark = rectangle if kind == "b" else _dot
        chart.path("".join(mark(at - 3, value - 3, 6, 6) for at, value in places), f"dots {kind}")
    return chart


def _dot(x: float, y: float, width: float, height: float) -> str:
    half, tall = _short(width / 2), _short(height / 2)
    return (f"M{_short(x)} {_short(y + height / 2)}a{half} {tall} 0 1 0 {_short(width)} 0"
            f"a{half} {tall} 0 1 0 -{_short(width)} 0z")  # fmt: skip


def bar_chart(
    name: str,
    title: str,
    told: str,
    bars: Sequence[Sequence[Point]],
    across: ChartAxis,
    upward: ChartAxis,
) -> Drawing:
    """A chart with a bar per whole number and design, side by side."""
    chart, x, y = _frame(name, title, told, across, upward)
    width = 0.8 * (x(1) - x(0)) / len(bars)
    for number, (kind, points) in enumerate(zip(("a", "b"), bars, strict=False)):
        begin = -0.4 * (x(1) - x(0)) + number * width
        paths = [
            rectangle(x(at) + begin, y(value), width, y(0) - y(value))
            for at, value in points
            if value > 0
        ]
        chart.path("".join(paths), f"bar {kind}")
    return chart
