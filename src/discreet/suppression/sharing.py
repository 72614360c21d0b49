"""`SharedSuppression`: several value columns under one pattern. CONFIDENTIAL but for its tables.

In: tables, each with what primary rules found for some of its value columns. Out: the same
tables; a cell that is hidden for one value is hidden for all values of its table, and the
protection levels of each value hold.

Every value has a system of its own. They are solved in turn, with what the others hide
hidden from the start. Hiding more never makes a cell less safe, so this comes to an end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.additivity import refuse
from discreet.suppression.building import Source, build_problem
from discreet.suppression.demands import Earlier, Judged
from discreet.suppression.figures_together import together
from discreet.suppression.members import Members
from discreet.suppression.methods import Method
from discreet.suppression.outcome import PROBLEM, Options, Suppression, checked, finished, some
from discreet.suppression.problem import CellState, SuppressionProblem
from discreet.tables import ProtectedTable, Table

__all__ = ["SharedSuppression", "Sharing", "is_shared"]

BoolArray = npt.NDArray[np.bool_]

#: A table with what was found in it: for one value, or for several that share a pattern.
Sharing: TypeAlias = tuple[Table, Judged | BoolArray | Sequence[Judged] | None]


def is_shared(tables: Sequence[Any]) -> bool:
    """Whether some table comes with what was found for several values."""
    return any(
        isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], list | tuple)
        for item in tables
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SharedSuppression:
    """Tables of several values with one pattern each, and how it came about (confidential).

    Args:
        tables: What may be published; of several values, with a dimension of figures.
        by_value: Value column (None for counts) → its system, pattern and proof.
    """

    tables: tuple[ProtectedTable, ...]
    by_value: Mapping[str | None, Suppression]

    @classmethod
    def of(
        cls,
        tables: Sequence[Sharing],
        *,
        method: Method = "auto",
        decimals_of: Mapping[str, int] | None = None,
        earlier_of: Mapping[str | None, Sequence[Earlier]] | None = None,
        **options: Unpack[Options],
    ) -> SharedSuppression:
        """Suppress, and keep what led there.

        Args:
            tables: Pairs of a table and what `discreet.primary` found in it for each of
                its values.
            method: As for `suppress`.
            decimals_of: Digits after the decimal point by value column; those of `decimals`
                for others. Counts have none.
            earlier_of: Tables published before by value column; those of `earlier` for
                others.
            options: As for `suppress`; the values are those that were judged.

        >>> import polars as pl
        >>> from discreet import primary, rules, tabulate
        >>> firms = pl.DataFrame({"branch": [*"aaabbbcc"], "sales": range(8), "staff": range(8)})
        >>> table = tabulate(firms, ["branch"], values=["sales", "staff"], contributions=2)
        >>> few = [rules.MinimumFrequency(3)]
        >>> found = [primary(table, few, value="sales"), primary(table, [], value="staff")]
        >>> shared = SharedSuppression.of([(table, found)], method="fast")
        >>> shared.tables[0].get("c", "staff"), shared.tables[0].get("Total", "staff")
        (None, 28)
        """
        chosen = checked(options)
        listed = _judged(tables)
        if "value" in chosen:
            raise _wrong("values that share a pattern are those that were judged", "leave out")
        decimals: dict[str | None, int] = {None: 0}
        decimals.update(decimals_of or {})
        systems = {
            value: _System.of(value, listed, _own(chosen, value, decimals, earlier_of or {}))
            for value in dict.fromkeys(value for _, judged in listed for value in judged)
        }
        _solve(list(systems.values()), method)
        published = [
            together([systems[value].published(at) for value in judged])
            for at, (_, judged) in enumerate(listed)
        ]
        done = {value: each.done for value, each in systems.items() if each.done is not None}
        return cls(tables=tuple(published), by_value=done)

    def __repr__(self) -> str:
        return (
            f"<SharedSuppression (confidential) of {len(self.tables)} tables, "
            f"{len(self.by_value)} values>"
        )


def _wrong(what: str, hint: str) -> SuppressionError:
    return SuppressionError(what, code="value", where="suppress", hint=hint)


def _judged(tables: Sequence[Any]) -> list[tuple[Table, dict[str | None, Judged]]]:
    """Per table, what was found for each of its values."""
    found: list[tuple[Table, dict[str | None, Judged]]] = []
    for table, asked in tables:
        each = list(asked) if isinstance(asked, list | tuple) else [asked]
        if not each or not all(hasattr(one, "value") and isinstance(one, Judged) for one in each):
            raise _wrong(
                "values that share a pattern need what was found for each of them",
                "suppress(table, [primary(…, value=…), primary(…, value=…)])",
            )
        by_value: dict[str | None, Judged] = {one.value: one for one in each}
        if len(by_value) < len(each):
            raise _wrong("a value of a table was judged twice", "name each value once")
        found.append((table, by_value))
    return found


def _own(
    chosen: Mapping[str, Any],
    value: str | None,
    decimals: Mapping[str | None, int],
    earlier: Mapping[str | None, Sequence[Earlier]],
) -> dict[str, Any]:
    """The options for one value."""
    own = {**chosen, "value": value, "decimals": decimals.get(value, chosen.get("decimals", 0))}
    if value in earlier:
        own["earlier"] = earlier[value]
    return own


@dataclass(repr=False, eq=False)
class _System:
    """The system of one value: what must be hidden in it, what must be shown (confidential)."""

    chosen: Mapping[str, Any]
    numbers: Sequence[int]
    sources: Sequence[Source]
    problem: SuppressionProblem
    members: Members
    hide: BoolArray
    show: BoolArray
    done: Suppression | None = None

    @classmethod
    def of(
        cls,
        value: str | None,
        listed: Sequence[tuple[Table, Mapping[str | None, Judged]]],
        own: Mapping[str, Any],
    ) -> _System:
        numbers = [at for at, (_, judged) in enumerate(listed) if value in judged]
        sources: list[Source] = [(listed[at][0], listed[at][1][value]) for at in numbers]
        problem, members = build_problem(sources, **some(own, PROBLEM))
        # A zero that stays published gives way; what was asked for by name does not.
        show = (problem.state == CellState.fixed) & (problem.value != 0)
        asked = [getattr(each, "fixed", np.zeros(len(table), np.bool_)) for table, each in sources]
        show |= members.gathered(tuple(asked), len(problem))
        return cls(own, numbers, sources, problem, members, problem.hidden, show)

    def marked(self, name: str, masks: Mapping[int, BoolArray]) -> bool:
        """Mark what is marked in the tables; whether that is news."""
        before: BoolArray = getattr(self, name)
        own = tuple(masks[at] for at in self.numbers)
        after = before | self.members.gathered(own, len(self.problem))
        setattr(self, name, after)
        return bool((after & ~before).any())

    def solve(self, method: Method) -> None:
        """Find the pattern, unless what must be hidden is the pattern found already."""
        size = len(self.problem)
        if self.done is not None and (self.done.pattern.hidden[:size] == self.hide).all():
            return
        state = self.problem.state.copy()
        state[self.hide & np.isin(state, (CellState.free, CellState.fixed))] = CellState.secondary
        state[self.show & (state == CellState.free)] = CellState.fixed
        problem = replace(self.problem, state=state)
        self.done = finished(self.sources, problem, self.members, method, self.chosen)
        self.hide = self.done.pattern.hidden[:size]

    def published(self, table: int) -> ProtectedTable:
        """What may be published of a table, by its number among all."""
        assert self.done is not None
        return self.done.tables[self.numbers.index(table)]


def _solve(systems: Sequence[_System], method: Method) -> None:
    """Solve all systems until each hides what the others do."""
    _spread(systems, "show")
    _spread(systems, "hide")
    fresh = True
    while fresh:
        fresh = False
        for system in systems:
            _refuse(systems)
            before = system.done
            system.solve(method)
            _spread(systems, "hide")
            fresh |= system.done is not before
    _refuse(systems)


def _spread(systems: Sequence[_System], name: str) -> None:
    """Carry marks from each value to the others, by the tables that have both."""
    news = True
    while news:
        masks: dict[int, BoolArray] = {}
        for system in systems:
            for at, number in enumerate(system.numbers):
                own = system.members.hidden(getattr(system, name), at)
                masks[number] = masks.get(number, np.zeros_like(own)) | own
        news = any(system.marked(name, masks) for system in systems)


def _refuse(systems: Sequence[_System]) -> None:
    what = "the cell must be published for one value and must be hidden for another"
    hint = "values that share a pattern are hidden and published together"
    for system in systems:
        both = np.flatnonzero(system.hide & system.show)
        refuse(both, system.problem.name, what, "contradiction", hint)
