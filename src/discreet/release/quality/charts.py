"""Bar charts drawn as SVG inside a page, with nothing but text.

In: labels and shares. Out: SVG that reads without colours, takes the colours of the page,
light or dark, and tells screen readers what it shows. As confidential as what goes in.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Bar", "bar_chart", "column_chart"]

_WIDTH = 640
_ROW = 26
_BAR = 16
_CHARACTER = 7.8
_MOST_LABEL = 30
_VALUE_ROOM = 90
_HEIGHT = 220
_FLOOR = 190
_TOP = 24


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar.

    Args:
        label: What it stands for.
        size: Its length; at least 0.
        value: The number as printed beside it.
    """

    label: str
    size: float
    value: str


def bar_chart(bars: Sequence[Bar], *, identifier: str, title: str, full: float = 0) -> str:
    """Bars one below another, for classes with names.

    Args:
        bars: The bars, from the top.
        identifier: Unique id on the page.
        title: What the chart shows.
        full: Size of a bar over the whole width; that of the longest if 0.
    """
    left = 12 + _CHARACTER * max((len(_short(bar.label)) for bar in bars), default=0)
    room = _WIDTH - left - _VALUE_ROOM
    longest = full or max((bar.size for bar in bars), default=0) or 1
    parts = []
    for number, bar in enumerate(bars):
        top = number * _ROW + 4
        width = room * bar.size / longest
        base = top + _BAR - 3
        parts.append(
            f'<text x="{left - 8:.1f}" y="{base}" text-anchor="end">{_text(bar.label)}</text>'
            f'<rect class="bar" x="{left:.1f}" y="{top}" width="{width:.1f}" height="{_BAR}"/>'
            f'<text class="value" x="{left + width + 6:.1f}" y="{base}">{_text(bar.value)}</text>'
        )
    height = len(bars) * _ROW + 6
    axis = f'<line class="axis" x1="{left:.1f}" y1="0" x2="{left:.1f}" y2="{height}"/>'
    return _svg([*parts, axis], height, bars, identifier, title)


def column_chart(bars: Sequence[Bar], *, identifier: str, title: str) -> str:
    """Columns side by side, for whole numbers in a row.

    Args:
        bars: The columns, from the left.
        identifier: Unique id on the page.
        title: What the chart shows.
    """
    step = (_WIDTH - 20) / max(len(bars), 1)
    longest = max((bar.size for bar in bars), default=0) or 1
    parts = []
    for number, bar in enumerate(bars):
        height = (_FLOOR - _TOP) * bar.size / longest
        middle, top = 10 + (number + 0.5) * step, _FLOOR - height
        value = f'<text class="value" x="{middle:.1f}" y="{top - 5:.1f}" text-anchor="middle">'
        parts.append(
            f'<rect class="bar" x="{middle - 0.4 * step:.1f}" y="{top:.1f}" '
            f'width="{0.8 * step:.1f}" height="{height:.1f}"/>'
            + (f"{value}{_text(bar.value)}</text>" if len(bars) <= 13 else "")
            + f'<text x="{middle:.1f}" y="{_FLOOR + 18}" text-anchor="middle">'
            f"{_text(bar.label)}</text>"
        )
    axis = f'<line class="axis" x1="10" y1="{_FLOOR}" x2="{_WIDTH - 10}" y2="{_FLOOR}"/>'
    return _svg([*parts, axis], _HEIGHT, bars, identifier, title)


def _svg(
    parts: Sequence[str], height: int, bars: Sequence[Bar], identifier: str, title: str
) -> str:
    said = "; ".join(f"{bar.label}: {bar.value}" for bar in bars)
    return (
        f'<svg role="img" viewBox="0 0 {_WIDTH} {height}" '
        f'aria-labelledby="{identifier}-title {identifier}-desc">\n'
        f'<title id="{identifier}-title">{html.escape(title)}</title>\n'
        f'<desc id="{identifier}-desc">{html.escape(said)}</desc>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _short(text: str) -> str:
    return text if len(text) <= _MOST_LABEL else text[: _MOST_LABEL - 1] + "…"


def _text(text: str) -> str:
    return html.escape(_short(text))
