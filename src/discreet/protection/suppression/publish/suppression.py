"""`suppress`: tables in, the same tables with hidden cells out.

In the `ProtectedTable`s that come out every sensitive cell is proven to be protected. `Suppression`
and `SharedSuppression` keep what led there: pattern, cost, proof (CONFIDENTIAL).

Values that add up to others are one system: `problem.related_values`. Others are solved in
turn, each in a system of its own. Those of one table share a pattern: what one of them hides is
hidden for the others from the start. Hiding more never makes a cell less safe, so this comes to
an end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, overload

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, FloatArray, SmallIntArray, starts
from discreet.confidential import Confidential, without_values
from discreet.disclosure import (
    DisclosureVerdict,
    Insiders,
    TableCells,
    insiders_of,
    published_intervals,
    refuse_cells,
)
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.protection.suppression.methods.registry import find_pattern, refuse_gaps
from discreet.protection.suppression.methods.worktime import TimeShares
from discreet.protection.suppression.problem.linked_tables import (
    COUNTS,
    Cost,
    ProblemSource,
    build_problem,
    problem_sources,
)
from discreet.protection.suppression.problem.related_values import (
    RelatedValues,
    ValueCells,
    scaled_columns,
    stated_relations,
    unpublished_values,
)
from discreet.protection.suppression.problem.system import (
    CellState,
    Demands,
    Earlier,
    PrimaryFindings,
    SuppressionProblem,
    with_partners,
)
from discreet.protection.suppression.proof.certificate import (
    Pattern,
    linked_with_earlier,
    pattern_of_part,
)
from discreet.protection.suppression.publish.options import (
    HOPELESS,
    SuppressionOptions,
    ToldReasons,
    checked_options,
    options_among,
    refused_counts,
    ways_to_publish,
)
from discreet.protection.suppression.publish.protected_tables import (
    joined_figures,
    published_table,
    reasons_of,
)
from discreet.protection.suppression.settings import InsiderAim, Method, share_of
from discreet.tables import NEAR, ProtectedTable, Table, ValueRelation

if TYPE_CHECKING:
    from discreet.disclosure import LinkedTable

#: Without primaries every cell would be published as it is.
_JUDGED = (
    "primary=discreet.primary(table, rules), or a mask of its sensitive cells; where none is, "
    "discreet.primary(table, [discreet.rules.NothingSensitive()])"
)
#: What goes on to `build_problem`, and to the method.
_PROBLEM = (
    *("value", "decimals", "cost", "knowledge", "zero_cells", "earlier", "same", "repair"),
    *("reasons", "records"),
)
_SEARCH = ("time_limit", "progress", "seed", "begin")

#: A table with what was found in it: for one value, or for several that share a pattern.
SharedSource: TypeAlias = tuple[
    Table, PrimaryFindings | BoolArray | Sequence[PrimaryFindings] | None
]
#: A table with what was found in it, by value column.
_Found: TypeAlias = tuple[Table, Mapping[str | None, Any]]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Suppression(Confidential):
    """Tables with hidden cells, and all that is known about them (confidential).

    Args:
        tables: What may be published.
        problem: All cells as one system.
        members: Which cells of the tables its cells stand for.
        pattern: Which of them are hidden, with proof, cost and bound.
        sources: The true tables with their sensitive cells.
        reason: For each problem cell, the reason for hiding it; see `reasons_of`.
        reasons: What is told of them: "rule", "kind" or "none".
        judgement: The verdict on them; gaps that nobody accepted are errors.
        notes: What users should know, in words.
        insiders: Who stands alone behind which cells; None where that was left out of account.
    """

    tables: tuple[ProtectedTable, ...]
    problem: SuppressionProblem
    members: TableCells
    pattern: Pattern
    sources: tuple[ProblemSource, ...]
    reason: npt.NDArray[np.int8]
    reasons: ToldReasons
    judgement: DisclosureVerdict
    notes: tuple[str, ...]
    insiders: Insiders | None = None

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
        time_left = TimeShares(options.get("time_limit"))
        alone = isinstance(tables, tuple) and len(tables) == 2 and isinstance(tables[0], Table)
        listed: Any = [tables] if alone else list(tables)
        unjudged = [
            Problem("no sensitive cells given", item[0].name, _JUDGED)
            for item in listed
            if isinstance(item, tuple) and len(item) == 2 and item[1] is None
        ]
        raise_all(SuppressionError, unjudged, code="no-primary", many="{} tables lack primaries")
        chosen = checked_options(options)
        if chosen.get("relations"):
            raise _wrong("relations need several values", "give all values in one call")
        # Of masks of counts, weights where there are some.
        values = {
            getattr(asked, "value", None if table.weight is None else "weight")
            for table, asked in (listed if "value" not in chosen else ())
        }
        if len(values) > 1:
            hint = "suppress one value at a time, or name the column with value="
            raise _wrong("the primaries belong to different values", hint)
        value = chosen.pop("value", None) if not values else values.pop()
        sources = [(table, {value: primary}) for table, primary in problem_sources(listed, value)]
        places = {value: chosen.get("decimals", 0)}
        return _protected(sources, method, chosen, time_left, places)[value].finished


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SharedSuppression(Confidential):
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
        listed: list[_Found] = []
        for table, asked in tables:
            each: list[Any] = list(asked) if isinstance(asked, list | tuple) else [asked]
            if not each or not all(
                hasattr(one, "value") and isinstance(one, PrimaryFindings) for one in each
            ):
                raise _wrong(
                    "values with a common suppression pattern need the primaries of each value",
                    "suppress(table, [primary(…, value=…), primary(…, value=…)])",
                )
            listed.append((table, {one.value: one for one in each}))
            if len(listed[-1][1]) < len(each):
                raise _wrong("a value of a table has two primaries", "name each value once")
        if "value" in chosen:
            raise _wrong(
                "values with a common suppression pattern must be those of the primaries", "remove"
            )
        stated = stated_relations(chosen.pop("relations", ()))
        places: dict[str | None, int] = {None: 0}
        places.update(decimals_of or {})
        systems = _protected(
            listed, method, chosen, time_left, places, stated=stated, earlier=earlier_of or {}
        )
        tables_of = [
            [systems[v].finished.tables[systems[v].numbers.index(at)] for v in of]
            for at, (_, of) in enumerate(listed)
        ]
        values = dict.fromkeys(value for _, judged in listed for value in judged)
        return cls(
            tables=tuple(map(joined_figures, tables_of)),
            by_value={value: systems[value].finished for value in values},
        )


def _wrong(what: str, hint: str) -> SuppressionError:
    return SuppressionError(what, code="value", where="suppress", hint=hint)


# -- from tables to systems --------------------------------------------------------------


def _protected(
    listed: Sequence[_Found],
    method: Method,
    chosen: Mapping[str, Any],
    time_left: TimeShares,
    decimals: Mapping[str | None, int],
    *,
    stated: Sequence[ValueRelation] = (),
    earlier: Mapping[str | None, Sequence[Earlier]] | None = None,
) -> dict[str | None, _ValueSystem]:
    """The systems of all values, solved; a refusal says what would help.

    `earlier` are tables published before by value, None where one value is protected alone.
    """
    values = dict.fromkeys(value for _, judged in listed for value in judged)
    counts, past = not set(values).isdisjoint(COUNTS), earlier or {}
    before: list[_Found] = [
        (item.table, {value: Demands.before(item, value)})
        for value, tables in past.items()
        for item in (tables if value not in values else ())
    ]

    def solved(
        sources: Sequence[_Found], by: Method, words: Mapping[str, Any]
    ) -> dict[str | None, _ValueSystem]:
        every = [*sources, *before]
        # With the values of relations that nobody publishes, hidden everywhere.
        more = unpublished_values([(table, v) for table, own in every for v in own], stated)
        every = [(table, {**own, **more.get(id(table), {})}) for table, own in every]
        options: dict[str | None, dict[str, Any]] = {}
        for value in dict.fromkeys(value for _, judged in every for value in judged):
            places = decimals.get(value, chosen.get("decimals", 0))
            options[value] = {**chosen, "value": value, "decimals": places, **words}
            options[value] |= {"earlier": past[value]} if value in past else {}
        if len(options) == 1 and set(options) <= set(COUNTS):
            ((value, own),) = options.items()
            grown = with_partners([(table, judged[value]) for table, judged in every], own)
            every = [(table, {value: asked}) for table, asked in grown]
        shared = earlier is not None
        systems = {v: _ValueSystem.of(v, every, own, shared=shared) for v, own in options.items()}
        _solve(_related(list(systems.values()), stated, chosen), by, time_left)
        return systems

    def in_harmless_words(
        sources: Sequence[_Found], by: Method, more: Mapping[str, Any]
    ) -> dict[str | None, _ValueSystem]:
        findings = [one for _, judged in sources for one in judged.values()]
        known = {**chosen, **more}
        refused: SuppressionError | None = None
        for way in ways_to_publish(findings, known, counts=counts):
            try:
                return solved(sources, by, {**more, **way})
            except SuppressionError as error:
                # A grid too large for partners says less than why they were needed.
                if refused is None or error.code != "empty-cells":
                    refused = error
                if refused.code not in HOPELESS:
                    raise
        assert refused is not None
        zeros = known.get("zero_cells", "auto")
        raise (refused_counts(refused, zeros) if counts else refused) from None

    def again(sources: Sequence[_Found], zeros: str, records: Any) -> list[ProtectedTable]:
        systems = in_harmless_words(sources, "fast", {"zero_cells": zeros, "records": records})
        return [table for one in systems.values() for table in one.finished.tables]

    try:
        return in_harmless_words(listed, method, {})
    except SuppressionError as error:
        from discreet.protection.suppression.publish.ways_out import with_ways_out

        published = chosen.get("earlier") or any(past.values())
        raise with_ways_out(error, listed, {**chosen, "earlier": published}, again) from None


@dataclass(kw_only=True, repr=False, eq=False)
class _ValueSystem(ValueCells):
    """The system of one value: what must be hidden in it, what must be shown (confidential)."""

    chosen: Mapping[str, Any]
    numbers: Sequence[int]
    sources: Sequence[ProblemSource]
    hide: BoolArray
    show: BoolArray
    shared: bool  # whether it may share its pattern with other values
    unpublished: bool  # whether no table of this call shows any of its cells
    done: Suppression | None = None

    @classmethod
    def of(
        cls, value: str | None, listed: Sequence[_Found], own: Mapping[str, Any], *, shared: bool
    ) -> _ValueSystem:
        numbers = [at for at, (_, judged) in enumerate(listed) if value in judged]
        sources: list[ProblemSource] = [(listed[at][0], listed[at][1][value]) for at in numbers]
        published = {getattr(asked, "published", "now") for _, asked in sources}
        if "never" in published:
            own = {**own, "zero_cells": "partners"}  # nobody sees where it is zero
        problem, members = build_problem(sources, **options_among(own, _PROBLEM))
        # A zero that stays published gives way; what was asked for by name does not.
        show = (problem.state == CellState.fixed) & (problem.value != 0)
        asked = [getattr(each, "fixed", np.zeros(len(table), np.bool_)) for table, each in sources]
        show |= members.gathered(asked, len(problem))
        before = tuple(item.table for item in own.get("earlier", ()))
        return cls(
            value=value,
            chosen=own,
            numbers=numbers,
            sources=sources,
            problem=problem,
            members=members,
            tables=(*(table for table, _ in sources), *before),
            current="before" not in published,
            hide=problem.hidden,
            show=show,
            shared=shared,
            unpublished=published != {"now"},
        )

    @property
    def finished(self) -> Suppression:
        """What was found."""
        assert self.done is not None
        return self.done


@dataclass(repr=False, eq=False)
class _RelatedSystem:
    """Values that are solved together, because they add up; or one alone. CONFIDENTIAL."""

    parts: Sequence[_ValueSystem]
    problem: SuppressionProblem
    members: TableCells
    done: BoolArray | None = None

    @property
    def placed(self) -> Iterator[tuple[_ValueSystem, slice, int]]:
        """Each value with its cells, and how many times as fine the common unit is."""
        ends = starts([len(part.problem) for part in self.parts]).tolist()
        for part, own in zip(self.parts, pairwise(ends), strict=True):
            yield part, slice(*own), 10 ** (self.problem.decimals - part.problem.decimals)

    def solve(self, method: Method, time_left: Mapping[str, float | None]) -> bool:
        """Find the patterns, unless what must be hidden is the pattern found; whether it did."""
        # Cells that say what relations leave open are hidden, and stand at the end.
        between = len(self.problem) - sum(len(part.hide) for part in self.parts)
        hide = np.concatenate([*(part.hide for part in self.parts), np.ones(between, np.bool_)])
        if self.done is not None and (self.done == hide).all():
            return False
        show = np.concatenate([*(part.show for part in self.parts), np.zeros(between, np.bool_)])
        state = self.problem.state.copy()
        state[hide & np.isin(state, (CellState.free, CellState.fixed))] = CellState.secondary
        state[show & (state == CellState.free)] = CellState.fixed
        problem = replace(self._known_by_readers(), state=state)
        done = self._published(problem, method, {**self.parts[0].chosen, **time_left})
        self.done = done.pattern.hidden[: len(problem)]
        self._hand_on(done, state)
        return True

    def _known_by_readers(self) -> SuppressionProblem:
        """The problem, where any hidden cell of a value may be zero once one of them is."""
        columns: dict[str, Any] = {}
        for part, own, scale in self.placed:
            listed = part.members.listed(len(part.problem))
            if not part.shared or not (part.hide & listed & (part.problem.value == 0)).any():
                continue
            options = {**options_among(part.chosen, _PROBLEM), "zero_cells": "partners"}
            problem, _ = build_problem(part.sources, **options)
            finer = scaled_columns(problem, scale, part.name, costs_in_units=False)
            for name in ("low", "high", "lower", "upper"):
                column = columns.setdefault(name, getattr(self.problem, name).copy())
                column[own] = finer[name]
        return replace(self.problem, **columns)

    def _published(
        self, problem: SuppressionProblem, method: Method, chosen: Mapping[str, Any]
    ) -> Suppression:
        """A pattern of the problem, and the tables with it, with the options of `suppress`."""
        hint = "assume wider a-priori bounds, or use lower protection levels"
        message = "the cell cannot be protected: the a-priori bounds of intruders are too narrow"
        refuse_cells(problem.without_room, problem.name, message, "knowledge", hint)
        members, rows = self.members, [(part, own) for part in self.parts for own in part.sources]
        sources, values = [own for _, own in rows], [part.value for part, _ in rows]
        earlier = chosen.get("earlier", ())
        insiders, notes = _insiders(problem, members, sources, values, chosen)
        tables: Sequence[LinkedTable] = ()
        several = any(len(own.classifications) > 1 for own in sources[0][0].dimensions)
        if several or len(sources) + len(earlier) > 1:
            tables = linked_with_earlier(members, [table for table, _ in sources], values, earlier)
        search = options_among(chosen, _SEARCH)
        pattern = find_pattern(problem, method, insiders=insiders, tables=tables, **search)
        accept, gaps = chosen.get("accept", ()), pattern.gaps
        verdict = DisclosureVerdict.of((), (*members.unexamined, *gaps), accept)
        refused = verdict
        if chosen.get("records") is None:  # ties that names do not tell are told, and not refused
            beyond = [gap for gap in gaps if gap.kind != "joint-contributors"]
            refused = DisclosureVerdict.of((), beyond, accept)
        refuse_gaps(refused, problem.title)
        hidden, reason = pattern.hidden, reasons_of(problem, members, sources)
        listed = members.listed(len(problem))
        zeros = chosen.get("zero_cells") == "partners"
        zeros |= bool((problem.value[hidden[: len(problem)] & listed] == 0).any())
        bounds, intervals = None, chosen.get("intervals", False)
        if intervals:
            smallest = 0.0 if zeros or len(self.parts) > 1 else 1.0
            bounds = self._public_intervals(problem, hidden, smallest)
        words = options_among(chosen, ("titles", "universe"))
        published = []
        for at, (part, (table, _)) in enumerate(rows):
            # Related values are solved in one unit, and published each in its own.
            decimals: int = part.chosen["decimals"]
            unit = 10.0 ** (problem.decimals - decimals)
            own = bounds and (bounds[0] / unit, bounds[1] / unit)
            published.append(
                published_table(
                    table, members, at, hidden, reason, own, value=part.value, decimals=decimals,
                    reasons=chosen["reasons"], zeros=zeros, instead=intervals == "instead", **words,
                )
            )  # fmt: skip
        return Suppression(
            tables=tuple(published),
            problem=problem,
            members=members,
            pattern=pattern,
            sources=tuple(sources),
            reason=reason,
            reasons=chosen["reasons"],
            judgement=verdict,
            notes=(*members.notes, *chosen["told"], *notes, *pattern.notes, *verdict.notes),
            insiders=insiders,
        )

    def _public_intervals(
        self, problem: SuppressionProblem, hidden: BoolArray, smallest: float
    ) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest value of each cell by published values only, in units.

        Bounds known beforehand follow true values. No hidden value is below `smallest`, unless
        some of its kind can be negative.
        """
        below = problem.value < 0
        negative = np.full(len(problem), bool(below.any()))
        for part, own, _ in self.placed if len(self.parts) > 1 else ():
            cells = np.concatenate(part.members.cells)
            mine = own.start + cells[cells >= 0]
            negative[mine] = below[mine].any()
        low, high = (problem.value.astype(np.float64) for _ in range(2))
        low[hidden], high[hidden] = published_intervals(
            problem.relations, problem.value, hidden, negative=negative, smallest=smallest
        )
        return low, high

    def _hand_on(self, done: Suppression, state: SmallIntArray) -> None:
        """Give each value its part of what was found."""
        if len(self.parts) == 1:
            part = self.parts[0]
            part.done, part.hide = done, done.pattern.hidden[: len(part.problem)]
            return
        source = 0
        for part, own, scale in self.placed:
            tables = slice(source, source + len(part.sources))
            source = tables.stop
            problem = replace(part.problem, state=state[own])
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
                insiders=None,  # they are numbered over all values
            )


def _insiders(
    problem: SuppressionProblem,
    members: TableCells,
    sources: Sequence[ProblemSource],
    values: Sequence[str | None],
    chosen: Mapping[str, Any],
) -> tuple[Insiders | None, list[str]]:
    """Who stands alone behind which cells, if nobody may learn from that; and notes on it."""
    wanted: InsiderAim | None = chosen["insiders"]
    guarded = [wanted is not None or value is not None for value in values]
    if wanted == "off":
        return None, ["contributors who know their own values were not examined"]
    if not any(guarded):
        return None, []
    earlier = chosen.get("earlier", ())
    found = insiders_of(
        problem.relations, problem.value, members, sources, values, guarded, earlier
    )
    if found is not None:
        return replace(found, share=share_of(wanted or "levels")), []
    if wanted is not None:
        message = "the table lacks the number of contributors of its cells"
        hint = "add the number of records of each cell, or remove insiders"
        raise SuppressionError(message, code="insiders", where="suppress: insiders", hint=hint)
    return None, ["the number of contributors is unknown: protection against them was not examined"]


def _related(
    systems: Sequence[_ValueSystem], stated: Sequence[ValueRelation], chosen: Mapping[str, Any]
) -> list[_RelatedSystem]:
    """The values in groups: what adds up to each other is one problem."""
    if len(systems) == 1:
        return [_RelatedSystem(systems, systems[0].problem, systems[0].members)]
    cost = Cost.read(chosen.get("cost", "value"))
    related = RelatedValues(
        systems,
        stated,
        chosen.get("same"),
        costs_in_units=cost.of == "value" and cost.power == 1,
        records=chosen.get("records"),
        related_within=chosen.get("related_within", NEAR),
    )
    by_name = {system.name: system for system in systems}
    found = []
    left = list(by_name)
    while left:
        names = related.related_to(left[0])
        left = [name for name in left if name not in names]
        parts = [by_name[name] for name in names]
        if all(part.unpublished for part in parts):
            continue
        members = parts[0].members
        gaps = dict.fromkeys((*members.unexamined, *related.unexamined))
        alone = (parts[0].problem, replace(members, unexamined=tuple(gaps)))
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
    alone: list[_RelatedSystem] = []
    for system in systems:
        shown = [part for part in system.parts if not part.unpublished]
        numbers = [number for part in shown for number in part.numbers]
        if len(system.parts) > 1 and len(set(numbers)) < len(numbers):  # two stand in one table
            alone += [_RelatedSystem([part], part.problem, part.members) for part in shown]
    for each, later in ((alone, len(systems)), (systems, 0)):
        fresh = bool(each)
        while fresh:
            fresh = False
            for done, system in enumerate(each):
                _refuse(parts)
                fresh |= system.solve(method, time_left.shared_by(len(each) - done + later))
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
                mask = system.members.hidden(getattr(system, name), at)
                masks[number] = masks[number] | mask if number in masks else mask
        news = False
        for system in systems:
            before: BoolArray = getattr(system, name)
            own = [masks[at] for at in system.numbers]
            setattr(system, name, before | system.members.gathered(own, len(before)))
            news |= bool((getattr(system, name) & ~before).any())


def _refuse(systems: Sequence[_ValueSystem]) -> None:
    message = "the cell must be published for one value and suppressed for another"
    hint = "values with a common suppression pattern are suppressed and published together"
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
            hold in the records (else in cells) are found and named in notes, and so are multiples
            within rounding or ``related_within`` (0.01; None: not sought); ``insiders``: how near a
            contributor alone behind hidden cells may come to figures of others ("exact": not to
            the exact figure; 0.25: no nearer than this share of the protection levels; "levels",
            which holds for values unless stated; "off", which holds for counts; `primary` with
            ``holdings`` says which cells are a holding's); ``reasons``: whether files say which
            kind of "rule" hides a cell, only the "kind" – primary or secondary – or "none":
            "rule" for values and "none" for counts unless told otherwise, coarser where they
            would open cells; ``intervals``: publish between which values anyone can bound hidden
            cells, beside their sign or ("instead") in its place; ``time_limit`` in seconds,
            ``progress``, ``seed``; ``accept``: names of what need not be examined, such as
            "joint cube of age, area", which is an error else; ``titles``, ``universe`` as for
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
    alone = isinstance(tables, Table)
    if primary is not None and not alone:
        message = "give several tables as pairs: a table and its primaries"
        raise SuppressionError(message, code="tables", hint="suppress([(table, primary), …])")
    listed: Any = [(tables, primary)] if isinstance(tables, Table) else list(tables)
    every = [item[1] for item in listed if isinstance(item, tuple) and len(item) == 2]
    several = len({asked.value for asked in every if hasattr(asked, "value")}) > 1
    several |= any(isinstance(asked, list | tuple) for asked in every)
    shared = several or (options.get("relations") and "value" not in options)
    done = (SharedSuppression if shared else Suppression).of(listed, method=method, **options)
    return done.tables[0] if alone else list(done.tables)
