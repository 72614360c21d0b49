"""`Suppression`: tables with hidden cells, and all that led there. CONFIDENTIAL.

In: confidential tables and what primary rules found in them. Out: what may be published,
with the pattern, its cost and its proof. `suppress` gives the tables alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.building import Source, build_problem
from discreet.suppression.costs import Cost
from discreet.suppression.demands import Earlier
from discreet.suppression.guarding import guarded, respondents_of
from discreet.suppression.hidden_cells import Publishing, published_table, reasons_of
from discreet.suppression.intervals import published_intervals
from discreet.suppression.knowledge import Knowledge
from discreet.suppression.linking import Code
from discreet.suppression.members import Members
from discreet.suppression.methods import Method, Progress, find_pattern
from discreet.suppression.pattern import Pattern
from discreet.suppression.problem import SuppressionProblem
from discreet.tables import ProtectedTable, Table

__all__ = ["PROBLEM", "Options", "Suppression", "checked", "finished", "some"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


class Options(TypedDict, total=False):
    """What `suppress` can be told; see there."""

    value: str | None
    decimals: int
    cost: str | Cost
    knowledge: Knowledge | None
    zero_cells: Literal["fixed", "partners"]
    earlier: Sequence[Earlier]
    same: Mapping[Code, Code] | None
    repair: bool
    singletons: bool | None
    reasons: Literal["rule", "kind", "none"]
    intervals: bool
    time_limit: float | None
    progress: Progress | None
    seed: int
    titles: Mapping[str, str]
    universe: Mapping[str, str]


#: What goes on to `build_problem`, and to the method.
PROBLEM = ("value", "decimals", "cost", "knowledge", "zero_cells", "earlier", "same", "repair")
_SEARCH = ("time_limit", "progress", "seed")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Suppression:
    """Tables with hidden cells, and all that is known about them (confidential).

    Args:
        tables: What may be published.
        problem: All cells as one system; sums that respondents could undo at its end.
        members: Which cells of the tables its cells stand for.
        pattern: Which of them are hidden, with proof, cost and bound.
        sources: The true tables with their sensitive cells.
        reason: For each problem cell, the reason for hiding it; see `reasons_of`.
        notes: What users should know, in words.
    """

    tables: tuple[ProtectedTable, ...]
    problem: SuppressionProblem
    members: Members
    pattern: Pattern
    sources: tuple[Source, ...]
    reason: npt.NDArray[np.int8]
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        tables: Sequence[Source] | Source,
        *,
        method: Method = "auto",
        **options: Unpack[Options],
    ) -> Suppression:
        """Suppress, and keep what led there.

        Args:
            tables: Pairs of a table and its sensitive cells, or one pair.
            method: As for `suppress`.
            options: As for `suppress`.
        """
        sources = _sources(tables)
        chosen = checked(options)
        chosen.setdefault("value", _value(sources))
        problem, members = build_problem(sources, **some(chosen, PROBLEM))
        return finished(sources, problem, members, method, chosen)

    def __repr__(self) -> str:
        return f"<Suppression (confidential) of {len(self.tables)} tables by {self.pattern.method}>"


def finished(
    sources: Sequence[Source],
    problem: SuppressionProblem,
    members: Members,
    method: Method,
    chosen: Mapping[str, Any],
) -> Suppression:
    """Find a pattern and publish it: all that follows `build_problem`.

    Args:
        sources: The true tables with their sensitive cells.
        problem: Their cells as one system.
        members: Which cells of the tables these stand for.
        method: As for `suppress`.
        chosen: The options of `suppress`, the value among them.
    """
    grown, notes = _guarded(problem, members, sources, chosen)
    pattern = find_pattern(grown, method, **some(chosen, _SEARCH))
    hidden = pattern.hidden[: len(problem)]
    reason = reasons_of(problem, members, sources)
    low_high = _intervals(problem, hidden) if chosen.get("intervals", False) else None
    publishing = Publishing(
        value=chosen["value"],
        decimals=chosen.get("decimals", 0),
        reasons=chosen.get("reasons", "rule"),
        titles=chosen.get("titles", {}),
        universe=chosen.get("universe", {}),
    )
    published = tuple(
        published_table(table, members, at, hidden, reason, low_high, publishing)
        for at, (table, _) in enumerate(sources)
    )
    return Suppression(
        tables=published,
        problem=grown,
        members=members,
        pattern=pattern,
        sources=tuple(sources),
        reason=reason,
        notes=(*members.notes, *notes, *pattern.notes),
    )


def _sources(tables: Any) -> list[Source]:
    if isinstance(tables, tuple) and len(tables) == 2 and isinstance(tables[0], Table):
        return [tables]
    return list(tables)


def checked(options: Options) -> dict[str, Any]:
    """The options, once none of them is unknown."""
    known = Options.__optional_keys__
    unknown = sorted(set(options) - known)
    if unknown:
        raise SuppressionError(
            f"there is no option {unknown[0]!r}",
            code="option",
            where="suppress",
            hint=f"options: {', '.join(sorted(known))}",
        )
    if options.get("reasons", "rule") not in ("rule", "kind", "none"):
        raise SuppressionError(
            "reasons is rule, kind or none", code="option", where="suppress: reasons"
        )
    return dict(options)


def _value(sources: Sequence[Source]) -> str | None:
    """The value column that the primaries are about."""
    values = {getattr(asked, "value", None) for _, asked in sources if asked is not None}
    if len(values) > 1:
        raise SuppressionError(
            "the sensitive cells were found for different values",
            code="value",
            hint="suppress one value at a time, or name the column with value=",
        )
    return values.pop() if values else None


def some(chosen: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Those of the options that were given and are among these."""
    return {name: chosen[name] for name in names if name in chosen}


def _guarded(
    problem: SuppressionProblem,
    members: Members,
    sources: Sequence[Source],
    chosen: Mapping[str, Any],
) -> tuple[SuppressionProblem, list[str]]:
    """The problem with the sums that a single respondent could undo, and notes on them."""
    wanted = chosen.get("singletons")
    if wanted is False or (wanted is None and chosen["value"] is None):
        return problem, []
    respondents = respondents_of(members, [table for table, _ in sources], len(problem))
    grown, left = guarded(problem, respondents)
    added = len(grown) - len(problem)
    notes = [f"{added:,} sums of cells are protected against single respondents"] * bool(added)
    hopeless = f"{left:,} sums that single respondents know cannot be protected by any pattern"
    return grown, notes + [hopeless] * bool(left)


def _intervals(
    problem: SuppressionProblem, hidden: BoolArray
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Intervals by published values only: bounds known beforehand follow true values."""
    low, high = (problem.value.astype(np.float64) for _ in range(2))
    negative = bool((problem.value < 0).any())
    low[hidden], high[hidden] = published_intervals(
        problem.relations, problem.value, hidden, negative=negative
    )
    return low, high
