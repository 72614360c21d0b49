"""The quality curve: how far counts are expected to be off, by their size.

In: perturbation tables or their `Quality`. Out: a `Picture`. SECRET.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.assessment.pictures.curves import (
    Axis,
    Line,
    Point,
    curves,
    heights,
    limit_line,
    places,
    points_of,
)
from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.rows import named
from discreet.assessment.pictures.theme import composed
from discreet.assessment.pictures.words import number, words
from discreet.assessment.quality import Quality, expected_quality
from discreet.perturbation import PerturbationTable

__all__ = ["quality_curve"]

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
    lines = [Line(str(name), _points(each, str(name))) for name, each in tables.items()]
    last = places(lines)[-1]
    top = max(*heights(lines), 100 * (limit or 0), 1) * 1.1
    sizes = [size for size in _SIZES if size <= max(last, 10)]
    domain = [0.9, max(last, 10) * 1.05]
    across = Axis(text["count"], {"type": "log", "domain": domain}, sizes, ",")
    scale = {"type": "symlog", "constant": 1, "domain": [0, top]}
    upward = Axis(text["relative_error"], scale, [tick for tick in _TICKS if tick <= top])
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
