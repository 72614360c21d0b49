"""`suppress`: tables in, the same tables with hidden cells out.

In: confidential tables and what primary rules found in them, for one value column or
several. Out: `ProtectedTable`s in which every sensitive cell is proven to be protected.
`Suppression` and `SharedSuppression` keep what led there: pattern, cost, proof
(CONFIDENTIAL).

Values that add up to others are one system: `problem.related_values`. Others are solved in
turn, each in a system of its own. Those of one table share a pattern: what one of them hides is
hidden for the others from the start. Hiding more never makes a cell less safe, so this comes to
an end.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, FloatArray, SmallIntArray
from discreet.confidential import without_values
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.protection.suppression.methods.registry import Progress, find_pattern
from discreet.protection.suppression.methods.worktime import TimeShares
from discreet.protection.suppression.problem.demands import Demands, Earlier, PrimaryFindings
from discreet.protection.suppression.problem.empty_cells import with_partners
from discreet.protection.suppression.problem.equal_cells import VariableCode
from discreet.protection.suppression.problem.linked_tables import (
    COUNTS,
    ProblemSource,
    TableCells,
    build_problem,
)
from discreet.protection.suppression.problem.parameters import Cost, Knowledge
from discreet.protection.suppression.problem.related_values import (
    RelatedValues,
    UnpublishedValue,
    ValueCells,
    stated_relations,
    unpublished_values,
)
from discreet.protection.suppression.problem.system import (
    UNBOUNDED,
    CellState,
    SuppressionProblem,
)
from discreet.protection.suppression.problem.table_relations import refuse_cells
from discreet.protection.suppression.proof.certificate import Pattern, pattern_of_part
from discreet.protection.suppression.proof.insiders import (
    UNKNOWN_CONTRIBUTORS,
    Insiders,
    insiders_of,
)
from discreet.protection.suppression.publish.hidden_intervals import public_intervals
from discreet.protection.suppression.publish.protected_tables import (
    PublicationStyle,
    joined_figures,
    published_table,
    reasons_of,
)
from discreet.protection.suppression.publish.told_reasons import ToldReasons, in_harmless_words
from discreet.protection.suppression.settings import Method
from discreet.tables import ProtectedTable, Table, ValueRelation


class SuppressionOptions(TypedDict, total=False):
    """What `suppress` can be told; see there."""

    value: str | None
    decimals: int
    cost: str | Cost
    knowledge: Knowledge | None
    zero_cells: Literal["auto", "fixed", "partners"]
    earlier: Sequence[Earlier]
    same: Mapping[VariableCode, VariableCode] | None
    relations: Sequence[str | ValueRelation]
    repair: bool
    singletons: bool | None
    reasons: ToldReasons | None
    intervals: bool | Literal["instead"]
    time_limit: float | None
    progress: Progress | None
    seed: int
    titles: Mapping[str, str]
    universe: Mapping[str, str]


#: Without primaries every cell would be published as it is.
_JUDGED = (
    "primary=discreet.primary(table, rules), or a mask of its sensitive cells; where none is, "
    "discreet.primary(table, [discreet.rules.NothingSensitive()])"
)

#: What goes on to `build_problem`, and to the method.
PROBLEM_OPTIONS = (
    "value",
    "decimals",
    "cost",
    "knowledge",
    "zero_cells",
    "earlier",
    "same",
    "repair",
    "reasons",
)
_SEARCH = ("time_limit", "progress", "seed", "begin")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Suppression:
    """Tables with hidden cells, and all that is known about them (confidential).

    Args:
        tables: What may be published.
        problem: All cells as one system.
        members: Which cells of the tables its cells stand for.
        pattern: Which of them are hidden, with proof, cost and bound.
        sources: The true tables with their sensitive cells.
        reason: For each problem cell, the reason for hiding it; see `reasons_of`.
        reasons: What is told of them: "rule", "kind" or "none".
        notes: What users should know, in words.
    """

    tables: tuple[ProtectedTable, ...]
    problem: SuppressionProblem
    members: TableCells
    pattern: Pattern
    sources: tuple[ProblemSource, ...]
    reason: npt.NDArray[np.int8]
    reasons: ToldReasons
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        tables: Sequence[ProblemSource] | ProblemSource,
        *,
        method: Method = "auto",
        **options: Unpack[SuppressionOptions],
    ) -> Suppression:
        """Suppress, and keep what led there.

        Args:
            tables: Pairs of a table and its sensitive cells, or one pair.
            method: As for `suppress`.
            options: As for `suppress`.
        """
        begin = time.monotonic()
        sources = _sources(tables)
        chosen = {**checked_options(options), "begin": begin}
        if chosen.get("relations"):
            raise _wrong("relations are between several values", "name them all in one call")
        chosen.setdefault("value", _value(sources))

        def solved(told: Mapping[str, Any]) -> Suppression:
            own = {**chosen, **told}
            both = with_partners(sources, own) if own["value"] in COUNTS else sources
            problem, members = build_problem(both, **options_among(own, PROBLEM_OPTIONS))
            return solved_and_published(both, problem, members, method, own)

        found = [asked for _, asked in sources]
        return in_harmless_words(found, chosen, solved, counts=chosen["value"] in COUNTS)

    def __repr__(self) -> str:
        return f"<Suppression (confidential) of {len(self.tables)} tables by {self.pattern.method}>"


def solved_and_published(
    sources: Sequence[ProblemSource],
    problem: SuppressionProblem,
    members: TableCells,
    method: Method,
    chosen: Mapping[str, Any],
) -> Suppression:
    """Find a pattern and publish it, with the options of `suppress`: all after `build_problem`."""
    hint = "say that attackers know less, or ask for lower protection levels"
    message = "the cell cannot be protected: what attackers are said to know leaves it no room"
    refuse_cells(problem.without_room, problem.name, message, "knowledge", hint)
    insiders, notes = _insiders(problem, members, sources, chosen)
    pattern = find_pattern(problem, method, insiders=insiders, **options_among(chosen, _SEARCH))
    hidden = pattern.hidden
    reason = reasons_of(problem, members, sources)
    zeros = chosen.get("zero_cells") == "partners" or bool((problem.value[hidden] == 0).any())
    low_high = None
    if chosen.get("intervals", False):
        smallest = 0.0 if zeros or len(chosen.get("decimals_of", {})) > 1 else 1.0
        low_high = public_intervals(problem, members, sources, hidden, smallest=smallest)
    published = []
    for at, (table, asked) in enumerate(sources):
        how = _style(asked, chosen, zeros)
        # Related values are solved in one unit, and published each in its own.
        unit = 10.0 ** (problem.decimals - how.decimals)
        bounds = None if low_high is None else (low_high[0] / unit, low_high[1] / unit)
        published.append(published_table(table, members, at, hidden, reason, bounds, how))
    return Suppression(
        tables=tuple(published),
        problem=problem,
        members=members,
        pattern=pattern,
        sources=tuple(sources),
        reason=reason,
        reasons=chosen["reasons"],
        notes=(*members.notes, *chosen["told"], *notes, *pattern.notes),
    )


def _style(asked: Any, chosen: Mapping[str, Any], zeros: bool) -> PublicationStyle:
    """How a table is published; several values have each their own decimals."""
    value = getattr(asked, "value", chosen["value"])
    return PublicationStyle(
        value=value,
        decimals=chosen.get("decimals_of", {}).get(value, chosen.get("decimals", 0)),
        reasons=chosen["reasons"],
        zeros=zeros,
        titles=chosen.get("titles", {}),
        universe=chosen.get("universe", {}),
        instead=chosen.get("intervals") == "instead",
    )


def _sources(tables: Any) -> list[ProblemSource]:
    alone = isinstance(tables, tuple) and len(tables) == 2 and isinstance(tables[0], Table)
    listed = [tables] if alone else list(tables)
    unjudged = [
        Problem("nothing says which cells are sensitive", item[0].name, _JUDGED)
        for item in listed
        if isinstance(item, tuple) and len(item) == 2 and item[1] is None
    ]
    many = "nothing says of {} tables which cells are sensitive"
    raise_all(SuppressionError, unjudged, code="no-primary", many=many)
    return listed


def checked_options(options: SuppressionOptions) -> dict[str, Any]:
    """The options, once none of them is unknown."""
    known = SuppressionOptions.__optional_keys__
    unknown = sorted(set(options) - known)
    if unknown:
        message = f"there is no option {unknown[0]!r}"
        hint = f"options: {', '.join(sorted(known))}"
        raise SuppressionError(message, code="option", where="suppress", hint=hint)
    if options.get("reasons") not in (None, "rule", "kind", "none"):
        raise SuppressionError(
            "reasons is rule, kind or none", code="option", where="suppress: reasons"
        )
    if options.get("intervals", False) not in (True, False, "instead"):
        message = "intervals is True, False or 'instead'"
        raise SuppressionError(message, code="option", where="suppress: intervals")
    return dict(options)


def _value(sources: Sequence[ProblemSource]) -> str | None:
    """The value column that the primaries are about; for counts, weights where there are some."""
    values = {
        getattr(asked, "value", None if table.weight is None else "weight")
        for table, asked in sources
    }
    if len(values) > 1:
        message = "the sensitive cells were found for different values"
        hint = "suppress one value at a time, or name the column with value="
        raise SuppressionError(message, code="value", hint=hint)
    return values.pop() if values else None


def options_among(chosen: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Those of the options that were given and are among these."""
    return {name: chosen[name] for name in names if name in chosen}


def _insiders(
    problem: SuppressionProblem,
    members: TableCells,
    sources: Sequence[ProblemSource],
    chosen: Mapping[str, Any],
) -> tuple[Insiders | None, list[str]]:
    """Who stands alone behind which cells, if nobody may learn from that; and notes on it."""
    wanted = chosen.get("singletons")
    values = [getattr(asked, "value", chosen["value"]) for _, asked in sources]
    guarded = [bool(wanted) or (wanted is None and value is not None) for value in values]
    if wanted is False:
        return None, ["what contributors learn who know their own values was left out of account"]
    if not any(guarded):
        return None, []
    earlier = chosen.get("earlier", ())
    found = insiders_of(problem, members, sources, values, guarded, earlier)
    if found is None and wanted:
        message = "the table does not say how many contributors its cells have"
        hint = "hand in the number of records of each cell, or leave out singletons"
        raise SuppressionError(message, code="insiders", where="suppress: singletons", hint=hint)
    return found, [] if found is not None else [UNKNOWN_CONTRIBUTORS]


#: A table with what was found in it: for one value, or for several that share a pattern.
SharedSource: TypeAlias = tuple[
    Table, PrimaryFindings | BoolArray | Sequence[PrimaryFindings] | None
]


def has_several_values(tables: Sequence[Any]) -> bool:
    """Whether tables come with what was found for several values."""
    pairs = [item for item in tables if isinstance(item, tuple) and len(item) == 2]
    values = {asked.value for _, asked in pairs if hasattr(asked, "value")}
    return len(values) > 1 or any(isinstance(asked, list | tuple) for _, asked in pairs)


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
        tables: Sequence[SharedSource],
        *,
        method: Method = "auto",
        decimals_of: Mapping[str, int] | None = None,
        earlier_of: Mapping[str | None, Sequence[Earlier]] | None = None,
        **options: Unpack[SuppressionOptions],
    ) -> SharedSuppression:
        """Suppress, and keep what led there.

        Args:
            tables: Pairs of a table and what `discreet.primary` found in it for each of
                its values.
            method: As for `suppress`.
            decimals_of: Digits after the decimal point by value column; those of `decimals`
                for others. Counts have none.
            earlier_of: Tables published before by value column; those of `earlier` for
                others. They count for values that add up to theirs, too.
            options: As for `suppress`; the values are those that were judged. A value of
                `relations` that was not judged is published nowhere: attackers know it as
                little as a hidden one.

        >>> import polars as pl
        >>> from discreet import primary, rules, tabulate
        >>> firms = pl.DataFrame({"branch": [*"aaabbbcc"], "sales": range(8), "staff": range(8)})
        >>> table = tabulate(firms, ["branch"], values=["sales", "staff"], contributions=2)
        >>> few = [rules.MinimumFrequency(3)]
        >>> none = [rules.NothingSensitive()]
        >>> found = [primary(table, few, value="sales"), primary(table, none, value="staff")]
        >>> shared = SharedSuppression.of([(table, found)], method="fast")
        >>> shared.tables[0].get("c", "staff"), shared.tables[0].get("Total", "staff")
        (None, 28)
        """
        time_left = TimeShares(options.get("time_limit"))
        chosen = checked_options(options)
        listed = _judged(tables)
        if "value" in chosen:
            raise _wrong("values that share a pattern are those that were judged", "leave out")
        decimals: dict[str | None, int] = {None: 0}
        decimals.update(decimals_of or {})
        stated = stated_relations(chosen.pop("relations", ()))
        values = dict.fromkeys(value for _, judged in listed for value in judged)
        every = _with_unpublished([*listed, *_before(earlier_of or {}, values)], stated)
        both = dict.fromkeys(value for _, judged in every for value in judged)

        def solved(told: Mapping[str, Any]) -> dict[str | None, _ValueSystem]:
            own = {v: {**_own(chosen, v, decimals, earlier_of or {}), **told} for v in both}
            grown = _counts_with_empty_cells(every, own)
            systems = {v: _ValueSystem.of(v, grown, own[v]) for v in own}
            _solve(_related(list(systems.values()), stated, chosen), method, time_left)
            return systems

        found = [one for _, judged in listed for one in judged.values()]
        counts = not set(values).isdisjoint(COUNTS)
        systems = in_harmless_words(found, chosen, solved, counts=counts)
        tables_of = [[systems[v].published(at) for v in of] for at, (_, of) in enumerate(listed)]
        published = tuple(map(joined_figures, tables_of))
        return cls(tables=published, by_value={v: systems[v].finished for v in values})

    def __repr__(self) -> str:
        return (
            f"<SharedSuppression (confidential) of {len(self.tables)} tables, "
            f"{len(self.by_value)} values>"
        )


def _wrong(what: str, hint: str) -> SuppressionError:
    return SuppressionError(what, code="value", where="suppress", hint=hint)


def _judged(tables: Sequence[Any]) -> list[tuple[Table, dict[str | None, PrimaryFindings]]]:
    """Per table, what was found for each of its values."""
    found: list[tuple[Table, dict[str | None, PrimaryFindings]]] = []
    for table, asked in tables:
        each = list(asked) if isinstance(asked, list | tuple) else [asked]
        if not each or not all(
            hasattr(one, "value") and isinstance(one, PrimaryFindings) for one in each
        ):
            raise _wrong(
                "values that share a pattern need what was found for each of them",
                "suppress(table, [primary(…, value=…), primary(…, value=…)])",
            )
        by_value: dict[str | None, PrimaryFindings] = {one.value: one for one in each}
        if len(by_value) < len(each):
            raise _wrong("a value of a table was judged twice", "name each value once")
        found.append((table, by_value))
    return found


def _counts_with_empty_cells(
    every: Sequence[tuple[Table, dict[str | None, PrimaryFindings]]],
    own: Mapping[str | None, dict[str, Any]],
) -> list[tuple[Table, dict[str | None, PrimaryFindings]]]:
    """Tables of counts, with their empty cells where these may be hidden and no value is shown."""
    if len(own) > 1 or set(own) - set(COUNTS):
        return list(every)
    ((value, options),) = own.items()
    sources: list[ProblemSource] = [(table, judged[value]) for table, judged in every]
    grown: Any = with_partners(sources, options)
    return [(table, {value: asked}) for table, asked in grown]


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


@dataclass(frozen=True, repr=False, eq=False)
class _EarlierValue:
    """What was found in a table published before, of a value that is not published now."""

    value: str | None
    sensitive: BoolArray
    secondary: BoolArray
    fixed: BoolArray
    lower: FloatArray
    upper: FloatArray
    sliding: FloatArray


def _before(
    earlier: Mapping[str | None, Sequence[Earlier]], values: Mapping[str | None, None]
) -> list[tuple[Table, dict[str | None, PrimaryFindings]]]:
    """Tables published before of other values, each as it stays."""
    found: list[tuple[Table, dict[str | None, PrimaryFindings]]] = []
    for value, tables in earlier.items():
        for table in tables if value not in values else ():
            asked = Demands.before(table, 1)
            levels = (getattr(table.primary, name, None) for name in ("lower", "upper", "sliding"))
            told = [np.zeros(len(table.table)) if level is None else level for level in levels]
            hidden = (asked.sensitive, asked.secondary, asked.fixed)
            found.append((table.table, {value: _EarlierValue(value, *hidden, *told)}))
    return found


def _with_unpublished(
    listed: Sequence[tuple[Table, dict[str | None, PrimaryFindings]]],
    stated: Sequence[ValueRelation],
) -> list[tuple[Table, dict[str | None, PrimaryFindings]]]:
    """The tables with the values of relations that nobody publishes, hidden everywhere."""
    judged = [(table, value) for table, known in listed for value in known]
    more = unpublished_values(judged, stated)
    return [(table, {**known, **more.get(id(table), {})}) for table, known in listed]


@dataclass(repr=False, eq=False)
class _ValueSystem:
    """The system of one value: what must be hidden in it, what must be shown (confidential)."""

    value: str | None
    chosen: Mapping[str, Any]
    numbers: Sequence[int]
    sources: Sequence[ProblemSource]
    problem: SuppressionProblem
    members: TableCells
    hide: BoolArray
    show: BoolArray
    done: Suppression | None = None

    @classmethod
    def of(
        cls,
        value: str | None,
        listed: Sequence[tuple[Table, Mapping[str | None, PrimaryFindings]]],
        own: Mapping[str, Any],
    ) -> _ValueSystem:
        numbers = [at for at, (_, judged) in enumerate(listed) if value in judged]
        sources: list[ProblemSource] = [(listed[at][0], listed[at][1][value]) for at in numbers]
        if any(isinstance(asked, UnpublishedValue) for _, asked in sources):
            own = {**own, "zero_cells": "partners"}  # nobody sees where it is zero
        problem, members = build_problem(sources, **options_among(own, PROBLEM_OPTIONS))
        # A zero that stays published gives way; what was asked for by name does not.
        show = (problem.state == CellState.fixed) & (problem.value != 0)
        asked = [getattr(each, "fixed", np.zeros(len(table), np.bool_)) for table, each in sources]
        show |= members.gathered(tuple(asked), len(problem))
        return cls(value, own, numbers, sources, problem, members, problem.hidden, show)

    @property
    def unpublished(self) -> bool:
        """Whether no table of this call shows any of its cells."""
        others = (UnpublishedValue, _EarlierValue)
        return any(isinstance(asked, others) for _, asked in self.sources)

    @property
    def cells(self) -> ValueCells:
        """The value over all its tables, those published before among them."""
        before = tuple(item.table for item in self.chosen.get("earlier", ()))
        tables = (*(table for table, _ in self.sources), *before)
        return ValueCells(
            value=self.value,
            problem=self.problem,
            members=self.members,
            tables=tables,
            current=not any(isinstance(asked, _EarlierValue) for _, asked in self.sources),
        )

    @property
    def finished(self) -> Suppression:
        """What was found."""
        assert self.done is not None
        return self.done

    def marked(self, name: str, masks: Mapping[int, BoolArray]) -> bool:
        """Mark what is marked in the tables; whether that is news."""
        before: BoolArray = getattr(self, name)
        own = tuple(masks[at] for at in self.numbers)
        after = before | self.members.gathered(own, len(self.problem))
        setattr(self, name, after)
        return bool((after & ~before).any())

    def published(self, table: int) -> ProtectedTable:
        """What may be published of a table, by its number among all."""
        return self.finished.tables[self.numbers.index(table)]


class _RelatedSystem:
    """Values that are solved together, because they add up; or one alone. CONFIDENTIAL."""

    def __init__(
        self, parts: Sequence[_ValueSystem], problem: SuppressionProblem, members: TableCells
    ) -> None:
        self.parts, self.problem, self.members = list(parts), problem, members
        self._done: BoolArray | None = None

    def solve(self, method: Method, time_left: Mapping[str, float | None]) -> bool:
        """Find the patterns, unless what must be hidden is the pattern found; whether it did."""
        hide = np.concatenate([part.hide for part in self.parts])
        if self._done is not None and (self._done == hide).all():
            return False
        show = np.concatenate([part.show for part in self.parts])
        state = self.problem.state.copy()
        state[hide & np.isin(state, (CellState.free, CellState.fixed))] = CellState.secondary
        state[show & (state == CellState.free)] = CellState.fixed
        problem = replace(self._known_by_readers(), state=state)
        sources = [source for part in self.parts for source in part.sources]
        chosen = {**self._chosen(), **time_left}
        done = solved_and_published(sources, problem, self.members, method, chosen)
        self._done = done.pattern.hidden[: len(problem)]
        self._hand_on(done, state)
        return True

    def _known_by_readers(self) -> SuppressionProblem:
        """The problem, where any hidden cell of a value may be zero once one of them is."""
        columns: dict[str, Any] = {}
        start = 0
        for part in self.parts:
            own = slice(start, start + len(part.problem))
            start = own.stop
            if not (part.hide & (part.problem.value == 0)).any():
                continue
            options = {**options_among(part.chosen, PROBLEM_OPTIONS), "zero_cells": "partners"}
            problem, _ = build_problem(part.sources, **options)
            scale = 10 ** (self.problem.decimals - part.problem.decimals)
            for name in ("low", "high", "lower", "upper"):
                column = columns.setdefault(name, getattr(self.problem, name).copy())
                units = np.clip(
                    getattr(problem, name).astype(np.float64) * scale, -UNBOUNDED, UNBOUNDED
                )
                column[own] = units.astype(np.int64)
        return replace(self.problem, **columns)

    def _chosen(self) -> dict[str, Any]:
        decimals = {part.value: part.chosen["decimals"] for part in self.parts}
        return {**self.parts[0].chosen, "decimals_of": decimals}

    def _hand_on(self, done: Suppression, state: SmallIntArray) -> None:
        """Give each value its part of what was found."""
        if len(self.parts) == 1:
            part = self.parts[0]
            part.done, part.hide = done, done.pattern.hidden[: len(part.problem)]
            return
        cell = source = 0
        for part in self.parts:
            own = slice(cell, cell + len(part.problem))
            tables = slice(source, source + len(part.sources))
            cell, source = own.stop, tables.stop
            problem = replace(part.problem, state=state[own])
            scale = 10 ** (self.problem.decimals - part.problem.decimals)
            pattern = pattern_of_part(done.pattern, problem, own, scale)
            part.hide = pattern.hidden
            part.done = replace(
                done,
                tables=done.tables[tables],
                problem=problem,
                members=replace(part.members, notes=self.members.notes),
                pattern=pattern,
                sources=tuple(part.sources),
                reason=done.reason[own],
            )


def _related(
    systems: Sequence[_ValueSystem], stated: Sequence[ValueRelation], chosen: Mapping[str, Any]
) -> list[_RelatedSystem]:
    """The values in groups: what adds up to each other is one problem."""
    if len(systems) == 1:
        return [_RelatedSystem(systems, systems[0].problem, systems[0].members)]
    cost = Cost.read(chosen.get("cost", "value"))
    related = RelatedValues(
        [system.cells for system in systems],
        stated,
        chosen.get("same"),
        costs_in_units=cost.of == "value" and cost.power == 1,
    )
    by_name = {system.cells.name: system for system in systems}
    found = []
    left = list(by_name)
    while left:
        names = related.related_to(left[0])
        left = [name for name in left if name not in names]
        parts = [by_name[name] for name in names]
        if all(part.unpublished for part in parts):
            continue
        alone = (parts[0].problem, parts[0].members)
        found.append(_RelatedSystem(parts, *(alone if len(parts) == 1 else related.joined(names))))
    return found


def _solve(systems: Sequence[_RelatedSystem], method: Method, time_left: TimeShares) -> None:
    """Solve all systems until each hides what the others do.

    Values that add up and share a pattern are solved one by one first: what one of them
    hides is hidden for the others, and little is left to do for all of them together.
    """
    parts = [part for system in systems for part in system.parts]
    _spread(parts, "show")
    _spread(parts, "hide")
    alone = [
        _RelatedSystem([part], part.problem, part.members)
        for system in systems
        if len(system.parts) > 1 and _sharing(system.parts)
        for part in system.parts
        if not part.unpublished
    ]
    for each, later in ((alone, len(systems)), (systems, 0)) if alone else ((systems, 0),):
        _solve_in_turn(each, parts, method, time_left, later)


def _sharing(parts: Sequence[_ValueSystem]) -> bool:
    """Whether two values stand in one table, and so share a pattern."""
    numbers = [number for part in parts if not part.unpublished for number in part.numbers]
    return len(set(numbers)) < len(numbers)


def _solve_in_turn(
    systems: Sequence[_RelatedSystem],
    parts: Sequence[_ValueSystem],
    method: Method,
    time_left: TimeShares,
    later: int,
) -> None:
    fresh = True
    while fresh:
        fresh = False
        for done, system in enumerate(systems):
            _refuse(parts)
            fresh |= system.solve(method, time_left.shared_by(len(systems) - done + later))
            _spread(parts, "hide")
    _refuse(parts)


def _spread(every: Sequence[_ValueSystem], name: str) -> None:
    """Carry marks from each value to the others, by the tables that have both."""
    systems = [system for system in every if not system.unpublished]
    news = True
    while news:
        masks: dict[int, BoolArray] = {}
        for system in systems:
            for at, number in enumerate(system.numbers):
                own = system.members.hidden(getattr(system, name), at)
                masks[number] = masks.get(number, np.zeros_like(own)) | own
        news = any(system.marked(name, masks) for system in systems)


def _refuse(systems: Sequence[_ValueSystem]) -> None:
    message = "the cell must be published for one value and must be hidden for another"
    hint = "values that share a pattern are hidden and published together"
    for system in systems:
        both = np.flatnonzero(system.hide & system.show)
        refuse_cells(both, system.problem.name, message, "contradiction", hint)


@overload
def suppress(
    tables: Table,
    primary: Any = None,
    *,
    method: Method = "auto",
    **options: Unpack[SuppressionOptions],
) -> ProtectedTable: ...
@overload
def suppress(
    tables: Sequence[SharedSource],
    *,
    method: Method = "auto",
    **options: Unpack[SuppressionOptions],
) -> list[ProtectedTable]: ...
@without_values
def suppress(
    tables: Table | Sequence[SharedSource],
    primary: Any = None,
    *,
    method: Method = "auto",
    **options: Unpack[SuppressionOptions],
) -> ProtectedTable | list[ProtectedTable]:
    """Hide the sensitive cells of tables, and others so that nobody can work them out.

    Args:
        tables: A table, or several with what `primary` found in each: pairs. Tables that
            share cells are protected together, and so are values that add up.
        primary: What `discreet.primary` found in the table, or a mask of its sensitive cells:
            one of them is needed, for without every cell would be published as it is;
            a list of what it found for several values, if these are to share one pattern:
            a cell hidden for one of them is hidden for all.
        method: "auto": near the lowest cost, with a bound; "fast"; "optimal": the lowest
            cost, proven; "modular"; "hypercube".
        options: ``value``, ``decimals``, ``cost``, ``knowledge``, ``earlier``, ``same``,
            ``repair`` as for `build_problem` (the value column is that of `primary` unless
            given); ``zero_cells``: whether zeros may be hidden to protect others
            ("partners"), or not ("fixed"); "auto": only where no pattern protects every cell
            otherwise, which a note says; ``relations``: what values add up to which, such
            as ``["total = home + foreign"]``, for several values in one call – others that
            hold in the data are found and named in notes; ``singletons``: let no
            contributor who stands alone behind hidden cells open cells of others (for values
            unless told otherwise, for counts not; `primary` with ``holdings`` says which cells
            are a holding's); ``reasons``: whether files say which kind of "rule"
            hides a cell, only the "kind" – primary or secondary – or "none": "rule" for
            values and "none" for counts unless told otherwise, coarser where they would open
            cells; ``intervals``: publish between which values anyone can bound hidden cells,
            beside their sign or ("instead") in its place; ``time_limit`` in seconds,
            ``progress``, ``seed``; ``titles``, ``universe`` as for
            `discreet.perturb`.

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
        return _suppressed([(tables, primary)], method, options)[0]
    if primary is not None:
        message = "several tables are given in pairs: a table, and its sensitive cells"
        raise SuppressionError(message, code="tables", hint="suppress([(table, primary), …])")
    return _suppressed(tables, method, options)


def _suppressed(
    tables: Sequence[SharedSource], method: Method, options: SuppressionOptions
) -> list[ProtectedTable]:
    listed: Any = list(tables)
    if has_several_values(listed) or (options.get("relations") and "value" not in options):
        return list(SharedSuppression.of(listed, method=method, **options).tables)
    return list(Suppression.of(listed, method=method, **options).tables)
