"""`suppress`: tables in, the same tables with hidden cells out.

In: confidential tables and what primary rules found in them. Out: `ProtectedTable`s, ready
for publication, in which every sensitive cell is proven to be protected. `Suppression` is
the same with the pattern, its cost and its proof. CONFIDENTIAL but for its `tables`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack, overload

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

__all__ = ["Options", "Suppression", "suppress"]

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
_PROBLEM = ("value", "decimals", "cost", "knowledge", "zero_cells", "earlier", "same", "repair")
_SEARCH = ("time_limit", "progress", "seed")


@overload
def suppress(
    tables: Table, primary: Any = None, *, method: Method = "auto", **options: Unpack[Options]
) -> ProtectedTable: ...
@overload
def suppress(
    tables: Sequence[Source], *, method: Method = "auto", **options: Unpack[Options]
) -> list[ProtectedTable]: ...
def suppress(
    tables: Table | Sequence[Source],
    primary: Any = None,
    *,
    method: Method = "auto",
    **options: Unpack[Options],
) -> ProtectedTable | list[ProtectedTable]:
    """Hide the sensitive cells of tables, and others so that nobody can work them out.

    Args:
        tables: A table, or several with what `primary` found in each: pairs. Tables that
            share cells are protected together.
        primary: What `discreet.primary` found in the table, or a mask of its sensitive cells.
        method: "auto": near the lowest cost, with a bound; "fast"; "optimal": the lowest
            cost, proven; "modular"; "hypercube".
        options: ``value``, ``decimals``, ``cost``, ``knowledge``, ``zero_cells``,
            ``earlier``, ``same``, ``repair`` as for `build_problem` (the value column is
            that of `primary` unless given); ``singletons``: also protect sums that a single
            respondent could undo (for values they are unless told otherwise, for counts
            they are not); ``reasons``: whether files say which kind of "rule" hides a cell,
            only the "kind" – primary or secondary – or "none"; ``intervals``: publish
            between which values anyone can bound hidden cells; ``time_limit`` in seconds,
            ``progress``, ``seed``; ``titles``, ``universe`` as for `discreet.perturb`.

    Returns:
        The table that may be published, or one for each.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [18, 9, 7, 2]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> safe = suppress(table, table.count < 3, method="fast")
    >>> safe.get("Total"), safe.get("m"), safe.get("w"), safe.get("d")
    (18, 9, None, None)
    """
    if isinstance(tables, Table):
        done = Suppression.of([(tables, primary)], method=method, **options)
        return done.tables[0]
    if primary is not None:
        raise SuppressionError(
            "several tables are given in pairs: a table, and its sensitive cells",
            code="tables",
            hint="suppress([(table, primary), …])",
        )
    return list(Suppression.of(tables, method=method, **options).tables)


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
        chosen = _checked(options)
        chosen.setdefault("value", _value(sources))
        problem, members = build_problem(sources, **_some(chosen, _PROBLEM))
        grown, notes = _guarded(problem, members, sources, chosen)
        pattern = find_pattern(grown, method, **_some(chosen, _SEARCH))
        hidden = pattern.hidden[: len(problem)]
        reason = reasons_of(problem, members, sources)
        low_high = None
        if chosen.get("intervals", False):
            low_high = _intervals(problem, hidden)
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
        return cls(
            tables=published,
            problem=grown,
            members=members,
            pattern=pattern,
            sources=tuple(sources),
            reason=reason,
            notes=(*members.notes, *notes, *pattern.notes),
        )

    def __repr__(self) -> str:
        return f"<Suppression (confidential) of {len(self.tables)} tables by {self.pattern.method}>"


def _sources(tables: Any) -> list[Source]:
    if isinstance(tables, tuple) and len(tables) == 2 and isinstance(tables[0], Table):
        return [tables]
    return list(tables)


def _checked(options: Options) -> dict[str, Any]:
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


def _some(chosen: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
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
