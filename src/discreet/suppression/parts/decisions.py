"""`PartDecisions`: which parts of a table are published, why not, and what would pass.

In: the outcome of the walk through the parts. Out: a log for people and machines. It has
no true values and no thresholds; that a rule was broken is all it tells about the data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import SuppressionError
from discreet.suppression.parts import words
from discreet.suppression.parts.levels import Part
from discreet.suppression.parts.names import LANGUAGES, PartLevel, name_of_part
from discreet.tables.parts import Parts

__all__ = ["Action", "PartDecision", "PartDecisions", "Reason", "Suggestion"]

Action = Literal["released", "suppressed", "follows"]
Outcome = Literal["complete", "thinned", "blocked"]

#: The form of `to_dict`, for readers of stored logs.
FORM = 1


@dataclass(frozen=True)
class Reason:
    """A rule that a part broke.

    Args:
        code: Which one, such as "small-cells".
        of: Where: in the "table" itself; in its "universe", all records without the
            filter; in the "difference", the records that the filter leaves out; or by
            the "filter", if it tells all or none of whole groups.
    """

    code: str
    of: str = "table"

    def text(self, language: str = "en") -> str:
        """The reason in words."""
        return words.reason(self.code, self.of, language)


@dataclass(frozen=True, kw_only=True)
class PartDecision:
    """What becomes of one part.

    Args:
        levels: The level of each spanning variable.
        action: "released" after a check, "suppressed" after a check, or "follows": released
            without a check, since its cells are sums of released ones.
        reasons: The rules it broke.
    """

    levels: tuple[PartLevel, ...]
    action: Action
    reasons: tuple[Reason, ...] = ()

    @property
    def part(self) -> Part:
        """The part as in `ProtectedTable.suppressed_parts`."""
        return tuple(level.number for level in self.levels)

    def name(self, language: str = "en") -> str:
        """What the part is called."""
        return name_of_part(self.levels, language)

    def text(self, language: str = "en") -> str:
        """The decision in words."""
        reasons = "; ".join(reason.text(language) for reason in self.reasons)
        return words.decision(self.name(language), self.action, reasons, language)


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A coarser table that would be shown in full.

    Args:
        levels: The levels of its innermost part; variables at their total are dropped.
        changed: The variables to take at this coarser level, or to drop.
    """

    levels: tuple[PartLevel, ...]
    changed: tuple[str, ...]

    def text(self, language: str = "en") -> str:
        """The suggestion in words."""
        return words.suggestion(
            [
                (level.names[language], level.total)
                for level in self.levels
                if level.variable in self.changed
            ],
            language,
        )


@dataclass(frozen=True, kw_only=True)
class PartDecisions:
    """What becomes of each part of a table, in the order of the walk. Free of true values.

    Args:
        table: Name of the table.
        variables: Its spanning variables.
        parts: The decisions, from the innermost part outward.
        universe: How a filter was guarded: "checked" against the table without it,
            "none" if that was waived, "unfiltered" if there is no filter.
        suggestions: Coarser tables that would pass, the nearest first.
    """

    table: str
    variables: tuple[str, ...]
    parts: tuple[PartDecision, ...]
    universe: Literal["checked", "none", "unfiltered"] = "unfiltered"
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def suppressed(self) -> Parts:
        """The parts that are not published."""
        return frozenset(each.part for each in self.parts if each.action == "suppressed")

    @property
    def released(self) -> Parts:
        """The parts that are published."""
        return frozenset(each.part for each in self.parts if each.action != "suppressed")

    @property
    def outcome(self) -> Outcome:
        """Whether the table is "complete", "thinned" or "blocked" (no part is left)."""
        if not self.suppressed:
            return "complete"
        return "thinned" if self.released else "blocked"

    def text(self, language: str = "en") -> str:
        """The log in words: English ("en") or German ("de")."""
        if language not in LANGUAGES:
            raise SuppressionError(
                f"there are no words in the language {language!r}",
                code="language",
                where="language",
                hint="use en or de",
            )
        lines = [words.headline(self.table, self.outcome, self.universe, language)]
        lines += [f"{at}. {each.text(language)}" for at, each in enumerate(self.parts, 1)]
        lines += [each.text(language) for each in self.suggestions]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The log as plain data; `from_dict` takes it back."""
        return {
            "form": FORM,
            "table": self.table,
            "variables": list(self.variables),
            "outcome": self.outcome,
            "universe": self.universe,
            "parts": [_decision_as_dict(at, each) for at, each in enumerate(self.parts, 1)],
            "suggestions": [
                {
                    "part": [level.number for level in each.levels],
                    "levels": [level.to_dict() for level in each.levels],
                    "changed": list(each.changed),
                    "text": {language: each.text(language) for language in LANGUAGES},
                }
                for each in self.suggestions
            ],
        }

    def to_json(self) -> str:
        """The log as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2) + "\n"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PartDecisions:
        """The log from plain data, as `to_dict` made them."""
        if not isinstance(data, Mapping) or data.get("form") != FORM:
            raise SuppressionError(
                "this is no log of table parts of a known form",
                code="part-decisions",
                where="form",
                hint="give what to_dict made",
            )
        try:
            return cls(
                table=data["table"],
                variables=tuple(data["variables"]),
                parts=tuple(_decision(each) for each in data["parts"]),
                universe=data["universe"],
                suggestions=tuple(
                    Suggestion(levels=_levels(each), changed=tuple(each["changed"]))
                    for each in data["suggestions"]
                ),
            )
        except (KeyError, TypeError) as error:
            raise SuppressionError(
                f"the log of table parts is damaged: {error}",
                code="part-decisions",
                where="parts",
                hint="give what to_dict made",
            ) from None

    def __repr__(self) -> str:
        return f"<PartDecisions {self.table}: {self.outcome}, {len(self.parts)} parts>"


def _decision_as_dict(step: int, decision: PartDecision) -> dict[str, Any]:
    return {
        "step": step,
        "part": list(decision.part),
        "levels": [level.to_dict() for level in decision.levels],
        "action": decision.action,
        "reasons": [
            {
                "code": reason.code,
                "of": reason.of,
                "text": {language: reason.text(language) for language in LANGUAGES},
            }
            for reason in decision.reasons
        ],
        "text": {language: decision.text(language) for language in LANGUAGES},
    }


def _levels(data: Mapping[str, Any]) -> tuple[PartLevel, ...]:
    return tuple(PartLevel.from_dict(level) for level in data["levels"])


def _decision(data: Mapping[str, Any]) -> PartDecision:
    return PartDecision(
        levels=_levels(data),
        action=data["action"],
        reasons=tuple(Reason(each["code"], each["of"]) for each in data["reasons"]),
    )
