"""Verdicts: a report begins with its answer and the reasons; each number says what is good, and
what follows if it is not. What was not examined is never called safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discreet.publication import number_text
from discreet_service.studio.design_wishes import BORNE
from discreet_service.web import PageWords, words

Grade = Literal["good", "care", "bad", "unknown"]
#: The largest share of counts that attacks determine, of a release that is safe: what rates show
#: when there are none, for they are given in steps.
_DETERMINED = 0.001
#: The share of a limit from which on it is near.
_NEAR = 0.75
#: Findings of attacks that speak against a release, and others that somebody should look at.
_AGAINST, _NOTED = ("twins", "contradictions", "uncounted"), ("official", "shared", "whole")


@dataclass(frozen=True, kw_only=True)
class ReportNumber:
    """A number of a report."""

    name: str  # Its name among the words of verdicts, and in the page
    value: str  # As it is written
    grade: Grade  # Whether it is good


@dataclass(frozen=True, kw_only=True)
class ReportVerdict:
    """The answer of a report, as a part of a page."""

    measures: Sequence[ReportNumber]
    language: str
    asks: str = "publish"  # The word of its question
    examined: bool = True  # Whether anything was examined
    open: bool = False  # Whether its numbers are shown at once
    name: str = "verdict-title"  # Its name in the page

    template = "verdict"

    @property
    def grade(self) -> Grade:
        """The worst of all; unknown if something was not examined."""
        grades: set[Grade] = {one.grade for one in self.measures}
        if "bad" in grades:
            return "bad"
        if not self.examined or "unknown" in grades:
            return "unknown"
        return "care" if "care" in grades else "good"

    @property
    def look(self) -> str:
        """Its class in the page."""
        return {"good": "good", "bad": "problem"}.get(self.grade, "care")

    @property
    def heads(self) -> PageWords:
        """Its words: of its question and answers, its table, and of what each number means."""
        return PageWords(words("verdicts", self.language))

    @property
    def reasons(self) -> list[str]:
        """Reasons against it, or points to check; or a sentence that there are none."""
        spoken = self.heads
        reasons = [f"{spoken[one.name]}: {one.value}. {spoken[f'{one.name}_bad']}"
                   for grade in ("bad", "unknown", "care")
                   for one in self.measures if one.grade == grade]  # fmt: skip
        reasons += [] if self.examined else [spoken["not_attacked"]]
        return reasons or [spoken[f"nothing_{self.asks}"]]


def release_verdict(preview: Mapping[str, Any], language: str) -> ReportVerdict:
    """Whether a preview is safe to publish, by what attacks found and by its quality report."""
    attacks, quality = preview["attacks"], preview["quality"]
    measures: list[ReportNumber] = []

    def measure(name: str, value: str, grade: Grade) -> None:
        measures.append(ReportNumber(name=name, value=value, grade=grade))

    if attacks is not None:
        spoken = words("verdicts", language)
        for name, most, decimals in (("average", BORNE, 0), ("determined", _DETERMINED, 1)):
            share = attacks[name]
            if share is None:
                measure(name, spoken["unknown_value"], "unknown")
            else:
                text = f"{number_text(100 * share, decimals, language)} %"
                measure(name, text, "good" if share <= most else "bad")
        for name in (*_AGAINST, *_NOTED):
            worse: Grade = "bad" if name in _AGAINST else "care"
            measure(name, number_text(attacks[name], 0, language),
                    worse if attacks[name] else "good")  # fmt: skip
    if quality is not None:
        blocked = quality["shown"]["blocked"]
        measure("blocked", number_text(blocked, 0, language), "care" if blocked else "good")
    warnings = len(preview.get("warnings", ()))
    measure("warnings", number_text(warnings, 0, language), "care" if warnings else "good")
    return ReportVerdict(measures=measures, language=language, examined=attacks is not None)


def answers_verdict(
    exposure: float | None, alarms: tuple[int, int] | None, language: str
) -> ReportVerdict:
    """Whether a data version can answer more queries, by the highest share of a limit of averaging.

    `alarms` are attack patterns and callers near a limit, for those who may know of them.
    """
    text = "–" if exposure is None else f"{number_text(100 * exposure, 0, language)} %"
    grade: Grade = "good"
    if exposure is None:
        grade = "unknown"
    elif exposure >= _NEAR:
        grade = "bad" if exposure >= 1 else "care"
    measures = [ReportNumber(name="used", value=text, grade=grade)]
    for name, number in zip(("patterns", "near_limits"), alarms or (), strict=False):
        text = number_text(number, 0, language)
        measures.append(ReportNumber(name=name, value=text, grade="care" if number else "good"))
    return ReportVerdict(measures=measures, language=language, asks="answer")
