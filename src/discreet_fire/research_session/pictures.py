"""Pictures of tables that may be shown: bars, lines, steps of survival, pies, as SVG.

In: a `SessionTable`. Out: an SVG with a title and a description; hidden numbers have no mark. All
that is drawn stands in the table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Literal

from discreet.errors import OutputCheckError
from discreet_fire.research_session.session_tables import TOTAL, SessionTable, number

#: How a table is drawn.
Style = Literal["bar", "line", "step", "pie"]
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 360, 70, 40, 90
#: Colours that differ in brightness, too, with 3:1 and more against white.
_COLOURS = ("#1b4f8a", "#b45f06", "#2e7d32", "#7b1fa2", "#5d4037", "#00695c")
_MOST_MARKS, _MOST_SERIES = 60, 6


def picture(table: SessionTable, style: Style, title: str, measure: str | None = None) -> str:
    """An SVG of a table."""
    chosen = _measure(table, measure)
    labels, series = _series(table, chosen, style)
    known = [x for _, numbers in series for x in numbers if x is not None and math.isfinite(x)]
    top = _round_up(max([*known, 0.0]))
    low = -_round_up(-min([*known, 0.0]))
    scale = (_HEIGHT - _TOP - _BOTTOM) / ((top - low) or 1.0)

    def height(value: float) -> float:
        return round(_HEIGHT - _BOTTOM - (value - low) * scale, 2)

    if style == "pie":
        marks = list(_slices(labels, series))
    else:
        draw = _bars if style == "bar" else _lines
        marks = [*_axis(labels, chosen, low, top, height), *draw(series, labels, height, style)]
        marks += _key(series)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="12">\n<title>{escape(title)}</title>\n'
        f"<desc>{escape(_described(labels, series, chosen))}</desc>\n"
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>\n'
        f'<text x="{_LEFT}" y="20" font-size="14">{escape(title)}</text>\n'
        + "\n".join(marks)
        + "\n</svg>\n"
    )


def _measure(table: SessionTable, measure: str | None) -> str:
    names = list(table.measures)
    if measure is None:
        return names[-1]
    if measure not in names:
        hint = f"numbers of the table: {', '.join(names)}"
        raise OutputCheckError("values not found", code="figure", where=measure, hint=hint)
    return measure


_Series = Sequence[tuple[str, Sequence[float | None]]]


def _series(table: SessionTable, measure: str, style: Style) -> tuple[list[str], _Series]:
    """Labels along the bottom, and the numbers of each series; totals are not drawn.

    The first variable runs along the bottom; of steps, the last one, which is time.
    """
    if not table.axes:
        raise OutputCheckError("a single number has no picture", code="figure")
    numbers = dict(
        zip(
            itertools.product(*(labels for _, labels in table.axes)),
            table.measures[measure],
            strict=True,
        )
    )
    names = [axis for axis, _ in table.axes]
    inner = [[one for one in labels if one != TOTAL] for _, labels in table.axes]
    bottom = len(names) - 1 if style == "step" else 0
    others = [at for at in range(len(names)) if at != bottom]
    series = []
    for place in itertools.product(*(inner[at] for at in others)):
        name = ", ".join(f"{names[at]} = {one}" for at, one in zip(others, place, strict=True))
        cells = [(*place[:bottom], label, *place[bottom:]) for label in inner[bottom]]
        series.append((name, [numbers[cell] for cell in cells]))
    last = inner[bottom]
    if len(last) * len(series) > _MOST_MARKS * _MOST_SERIES or len(series) > _MOST_SERIES:
        raise OutputCheckError(
            "the table is too large for a picture", code="figure", hint="use coarser groups"
        )
    return last, series


def _round_up(value: float) -> float:
    """The next of 1, 2, 2.5, 5, 10, … times a power of ten.

    >>> _round_up(3.2), _round_up(0.0), _round_up(180.0)
    (5.0, 0.0, 200.0)
    """
    if value <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value * (1 - 1e-12))


_Height = Callable[[float], float]


def _axis(
    labels: Sequence[str], measure: str, low: float, top: float, height: _Height
) -> Iterator[str]:
    right = _WIDTH - 20
    for at in range(5):
        value = low + (top - low) * at / 4
        y = height(value)
        yield f'<line x1="{_LEFT}" x2="{right}" y1="{y}" y2="{y}" stroke="#ccc"/>'
        text = number("mean", value, "")
        yield f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{text}</text>'
    yield f'<text x="{_LEFT}" y="{_TOP - 6}">{escape(measure)}</text>'
    step = max(1, len(labels) // 20)
    for at in range(0, len(labels), step):
        x = _middle(at, len(labels))
        y = _HEIGHT - _BOTTOM + 14
        shown = labels[at] if len(labels[at]) <= 14 else labels[at][:13] + "…"
        turned = f' transform="rotate(30 {x} {y})"' if len(labels) > 6 else ""
        anchor = "start" if turned else "middle"
        yield f'<text x="{x}" y="{y}" text-anchor="{anchor}"{turned}>{escape(shown)}</text>'


def _middle(at: int, count: int) -> float:
    return round(_LEFT + (at + 0.5) * (_WIDTH - 20 - _LEFT) / count, 2)


def _bars(series: _Series, labels: Sequence[str], height: _Height, style: Style) -> Iterator[str]:
    wide = (_WIDTH - 20 - _LEFT) / max(len(labels), 1) * 0.8 / len(series)
    for number_, (_, numbers) in enumerate(series):
        for at, value in enumerate(numbers):
            if value is None or not math.isfinite(value):
                continue
            x = round(_middle(at, len(labels)) + (number_ - len(series) / 2) * wide, 2)
            y, base = sorted((height(value), height(0.0)))
            yield (
                f'<rect x="{x}" y="{y}" width="{wide:.2f}" height="{base - y:.2f}" '
                f'fill="{_COLOURS[number_]}"/>'
            )


def _slices(labels: Sequence[str], series: _Series) -> Iterator[str]:
    """The parts of a pie; hidden numbers have none, and the others are parts of their sum."""
    parts = [(label, x) for label, x in zip(labels, series[0][1], strict=True) if x]
    whole = sum(x for _, x in parts)
    if len(series) > 1 or len(parts) > len(_COLOURS) or min((x for _, x in parts), default=0) < 0:
        message = f"a pie is of one variable with up to {len(_COLOURS)} values"
        raise OutputCheckError(message, code="figure", hint="style='bar'")
    middle, radius, turn = (_LEFT + 130, _HEIGHT / 2 + 10), 120, 0.0
    for at, (label, x) in enumerate(parts):
        start, turn = turn, turn + x / whole
        if x == whole:
            yield f'<circle cx="{middle[0]}" cy="{middle[1]}" r="{radius}" fill="{_COLOURS[at]}"/>'
        else:
            (a, b), (c, d) = (
                (middle[0] + radius * math.sin(angle), middle[1] - radius * math.cos(angle))
                for angle in (2 * math.pi * start, 2 * math.pi * turn)
            )
            arc = f"A{radius} {radius} 0 {int(turn - start > 0.5)} 1 {c:.2f} {d:.2f}"
            path = f"M{middle[0]} {middle[1]}L{a:.2f} {b:.2f}{arc}Z"
            yield f'<path d="{path}" fill="{_COLOURS[at]}" stroke="#fff"/>'
        y = _TOP + 20 + 20 * at
        yield f'<rect x="380" y="{y - 9}" width="10" height="10" fill="{_COLOURS[at]}"/>'
        yield f'<text x="396" y="{y}">{escape(label[:28])}: {number("n", x, "")}</text>'


def _lines(series: _Series, labels: Sequence[str], height: _Height, style: Style) -> Iterator[str]:
    for number_, (_, numbers) in enumerate(series):
        path, before = [], None
        for at, value in enumerate(numbers):
            if value is None or not math.isfinite(value):
                before = None  # a hidden number leaves a gap
                continue
            x, y = _middle(at, len(labels)), height(value)
            if before is None:
                path.append(f"M{x} {y}")
            else:
                path.append(f"H{x}V{y}" if style == "step" else f"L{x} {y}")
            path.append("m-2 0h4m-2 0" if style == "line" else "")
            before = value
        yield (
            f'<path d="{"".join(path)}" fill="none" stroke="{_COLOURS[number_]}" '
            f'stroke-width="2" stroke-dasharray="{("none", "6 3", "2 3")[number_ % 3]}"/>'
        )


def _key(series: _Series) -> Iterator[str]:
    if len(series) < 2:
        return
    for at, (name, _) in enumerate(series):
        x, y = _LEFT + (at % 3) * 185, _HEIGHT - 24 + (at // 3) * 16
        yield f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{_COLOURS[at]}"/>'
        yield f'<text x="{x + 15}" y="{y}">{escape(name[:28])}</text>'


def _described(labels: Sequence[str], series: _Series, measure: str) -> str:
    """All that is drawn, in words."""
    parts = []
    for name, numbers in series:
        frame = ", ".join(
            f"{label}: {number(measure, value, 'hidden')}"
            for label, value in zip(labels, numbers, strict=True)
        )
        parts.append(f"{name}: {frame}" if name else frame)
    return f"{measure}. {'; '.join(parts)}"
