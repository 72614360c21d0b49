"""The risk curve: what an attacker can find out, by original count and published value.

In: perturbation tables or their `DisclosureRisk`. Out: a `Picture`. SECRET.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.assessment.pictures.curves import (
    Axis,
    Line,
    curves,
    heights,
    limit_line,
    places,
    points_of,
)
from discreet.assessment.pictures.picture import Picture
from discreet.assessment.pictures.rows import named
from discreet.assessment.pictures.theme import composed
from discreet.assessment.pictures.words import words
from discreet.assessment.risk import DisclosureRisk, disclosure_risk
from discreet.errors import PerturbationError
from discreet.perturbation import PerturbationTable

__all__ = ["risk_curve"]

_WIDTH = 330
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
    risks = {str(name): _risk(each, str(name)) for name, each in tables.items()}
    found, origin = [], []
    for name, risk in risks.items():
        found.append(Line(name, points_of(risk.by_count, "count", "part", where=name)))
        came = points_of(risk.small, "value", "from_1_or_2", where=name, factor=100, gaps=True)
        origin.append(Line(name, came))
    body = {
        "hconcat": [
            _found(found, list(risks.values()), limit, language),
            _came_from(origin, language),
        ],
        "spacing": 40,
    }
    notes = _notes(data, list(risks.values()), language)
    description = composed(body, title=text["risk"], notes=notes, language=language)
    return Picture("risk_curve", text["risk"], language, description)


def _found(
    lines: Sequence[Line], risks: Sequence[DisclosureRisk], limit: float | None, language: str
) -> dict[str, Any]:
    """The left half: how often a part is found, by its original count."""
    text = words(language)
    ticks = _powers_of_ten([*heights(lines), limit or 0])
    scale = {"type": "symlog", "constant": ticks[1] / 5, "domain": [0, ticks[-1]]}
    once = f"'{text['once']}' + format(1 / datum.value, ',.0f')"
    label = f"datum.value === 0 ? '{text['never_found']}' : {once}"
    upward = Axis(text["found"], scale, ticks, ".0e", label)
    across = Axis(text["part"], {"domain": _domain(lines)}, _whole(lines), "d")
    body = curves(lines, across, upward, legend=text["series"], width=_WIDTH)
    if limit is not None:
        body["layer"].append(limit_line(limit, text["accepted"], _WIDTH))
    terms = {risk.terms for risk in risks}
    head = text["found_head"].format(terms=terms.pop()) if len(terms) == 1 else ""
    return {**body, "title": _head(head or text["found_any_head"])}


def _came_from(lines: Sequence[Line], language: str) -> dict[str, Any]:
    """The right half: how likely a published value was a 1 or a 2."""
    text = words(language)
    upward = Axis(text["origin"], {"domain": [0, 100]}, [0, 20, 40, 60, 80, 100], "d")
    across = Axis(text["published"], {"domain": _domain(lines)}, _whole(lines), "d")
    body = curves(lines, across, upward, legend=text["series"], width=_WIDTH)
    return {**body, "title": _head(text["origin_head"])}


def _risk(data: Any, where: str) -> DisclosureRisk:
    risk = disclosure_risk(data) if isinstance(data, PerturbationTable) else data
    if isinstance(risk, DisclosureRisk):
        return risk
    what = "this is neither a perturbation table nor its risk"
    raise PerturbationError(
        what, code="picture-data", where=where, hint="give what disclosure_risk returns"
    )


def _powers_of_ten(shares: Sequence[float]) -> list[float]:
    """Zero and the powers of ten from the least positive share to the largest."""
    positive = [max(share, _LEAST) for share in shares if share > 0] or [0.1]
    first = math.floor(math.log10(min(positive)))
    last = max(math.ceil(math.log10(max(positive))), first + 2)
    return [0.0, *(10.0**power for power in range(first, min(last, 0) + 1))]


def _domain(lines: Sequence[Line]) -> list[float]:
    found = places(lines)
    return [found[0] - 0.3, found[-1] + 0.3]


def _whole(lines: Sequence[Line]) -> list[float]:
    """Whole numbers to name on an axis."""
    found = places(lines)
    return found[:: 1 + len(found) // 13]


def _head(text: str) -> dict[str, Any]:
    return {"text": text, "fontSize": 12, "offset": 8, "frame": "group"}


def _notes(data: Any, risks: Sequence[DisclosureRisk], language: str) -> list[str]:
    text = words(language)
    notes = named(data) if isinstance(data, PerturbationTable) else []
    knows = {risk.knows for risk in risks}
    if len(knows) == 1:
        notes.append(text[f"knows_{knows.pop()}"])
    return notes
