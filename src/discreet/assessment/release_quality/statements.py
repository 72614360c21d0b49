"""What may be said in public about the quality of a release.

In: `Overall` (confidential). Out: `QualityStatement`s: bounds, rounded outward, that hold for all
tables together and leave every parameter open. Public.

Three things keep parameters in: steps of 5 points (halves for the mean deviation); no
bound so sharp that it says "never" or "always", since "none changed by 4 or more" would
name the maximum noise; and nothing about fewer than 1,000 cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from discreet.assessment.release_quality.overall import Overall
from discreet.assessment.words import number, words_of

#: Statements are made about at least so many cells.
SUPPORT = 1_000

_STEP = 5

Bound = Literal["below", "at least", "at most"]


@dataclass(frozen=True, slots=True)
class QualityStatement:
    """One statement about a whole release. Public."""

    code: str  # stable name
    bound: Bound  # how the value bounds the true figure
    value: float  # the bound
    unit: str = ""  # "%" or nothing, for units counted

    def text(self, language: str = "en") -> str:
        """The statement in words.

        >>> QualityStatement("at-most-1", "at least", 65, "%").text("en")
        'At least 65 % of counts are unchanged or changed by 1.'
        """
        return words_of("statements", language)[self.code].format(number(self.value, language))

    def described(self) -> dict[str, Any]:
        """The statement as JSON takes it."""
        return {
            "code": self.code,
            "bound": self.bound,
            "value": self.value,
            "unit": self.unit,
            "text": {language: self.text(language) for language in ("en", "de")},
        }


def statements(overall: Overall) -> list[QualityStatement]:
    """The statements that can be made about a release.

    A statement that would say nothing ("at least 0 %") is left out.
    """
    return [*_about_counts(overall), *_about_brackets(overall), *_about_sums(overall)]


def _about_counts(overall: Overall) -> list[QualityStatement]:
    noise = overall.noise()
    total = noise.total
    if total < SUPPORT:
        return []
    deviation = (2 * noise.absolute // total + 1) / 2
    listed = [
        QualityStatement("mean-absolute-deviation", "below", deviation),
        QualityStatement("at-most-1", "at least", _at_least(noise.within(1), total), "%"),
        QualityStatement("at-least-3", "at most", _at_most(noise.beyond(3), total), "%"),
        QualityStatement("at-least-4", "at most", _at_most(noise.beyond(4), total), "%"),
    ]
    return [one for one in listed if one.unit != "%" or 0 < one.value < 100]


def _about_brackets(overall: Overall) -> list[QualityStatement]:
    pairs = overall.brackets().values()
    bracketed, shown = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    share = _at_most(bracketed, shown) if shown else 100
    if not bracketed or shown < SUPPORT or share == 100:
        return []
    return [QualityStatement("bracketed", "at most", share, "%")]


def _about_sums(overall: Overall) -> list[QualityStatement]:
    compared, _, _, largest = overall.sums()
    return (
        [QualityStatement("sums", "at most", _rounded_up(largest))] if compared >= SUPPORT else []
    )


def _at_least(part: int, whole: int) -> int:
    """The share in per cent, rounded down; never "all"."""
    return min(100 // _STEP * part // whole * _STEP, 100 - _STEP)


def _at_most(part: int, whole: int) -> int:
    """The share in per cent, rounded up; never "none"."""
    return max(-(-(100 // _STEP) * part // whole) * _STEP, _STEP)


def _rounded_up(value: int) -> int:
    """The next of 10, 20, 50, 100, 200, 500, …

    >>> [_rounded_up(value) for value in (0, 11, 50, 51, 250)]
    [10, 20, 50, 100, 500]
    """
    power = 10
    while True:
        for step in (1, 2, 5):
            if value <= step * power:
                return step * power
        power *= 10
