"""The trade-off curve: how much variance is safe for each maximum noise, and its price.

In: what `trade_off` returns. Out: a `Picture`. SECRET once one of its points is
chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.assessment.pictures.curves import (
    Axis,
    Line,
    curves,
    heights,
    places,
    points_of,
)
from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.theme import composed
from discreet.assessment.pictures.words import words

__all__ = ["trade_off_curve"]

_WIDTH = 330
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


def _line(name: Any, frame: Any, column: str) -> Line:
    return Line(str(name), points_of(frame, "max_noise", column, where=str(name), gaps=True))


def _half(lines: Sequence[Line], title: str, text: Mapping[str, str]) -> dict[str, Any]:
    found = places(lines)
    named = found[:: 1 + len(found) // 13]
    across = Axis(text["max_noise"], {"domain": [found[0] - 0.3, found[-1] + 0.3]}, named, "d")
    upward = Axis(title, {"domain": [0, max(heights(lines)) * 1.1 or 1]})
    return curves(lines, across, upward, legend=text["largest"], width=_WIDTH)
