"""`PartRules`, `check_parts` and `tune_parts`: when a table part says too much, or too little.

In: the thresholds of a statistic (SECRET), a `Table` (CONFIDENTIAL) and, for a filtered
table, the same without its filter. Out: `PartDecisions`, free of true values. From the
innermost part outward: a part whose cells are sums of released cells is released with
them; every other part is checked, and released or suppressed. `PartTuning` (CONFIDENTIAL): what
each of some sets of thresholds would do on given tables, and the strictest set that meets the
target. Every set is carried out in full, areas hidden beside others included; nothing is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np
import polars as pl
from pydantic import ModelWrapValidatorHandler, ValidationError, model_validator

from discreet.confidential import without_values
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.protection.parts.decisions import (
    PartAction,
    PartDecision,
    PartDecisions,
    PartReason,
    PartSuggestion,
)
from discreet.protection.parts.levels import (
    AreaParts,
    AreaShare,
    PartKey,
    PartLattice,
    area_shares,
    check_kinds,
    is_within,
    level_of,
    name_of_part,
    place_of,
)
from discreet.protection.parts.measures import (
    Deviation,
    FilterUniverse,
    PartCells,
    PartMeasures,
    part_cells,
)
from discreet.protection.parts.settings import Thresholds
from discreet.settings import setting_problems
from discreet.tables import Parts, Table, level_numbers

#: The rules: code, and the measure whose maximum or minimum they are about.
_RISKS = {
    "small-cells": "share_small",
    "unique-units": "share_unique",
    "group-disclosure": "share_grouped",
}
_LOSSES = {
    "empty-cells": "share_empty",
    "average-size": "average_size",
    "relative-error": "relative_error",
}
_MEASURED = ("cells", "occupied", "records", *_RISKS.values(), *_LOSSES.values())


class PartRules(Thresholds):
    """Thresholds for the parts of tables. SECRET.

    A part breaks a rule if its measure is above the maximum, or below the minimum.
    Measures without a threshold are not looked at.

    - `max_share_small`: disclosure risk: share of small cells among the cells with records.
    - `max_share_unique`: disclosure risk: share of records that are alone in their cell.
    - `max_share_grouped`: disclosure risk: share of groups of two and more records, all of which
      fall into one category of a variable; the worst variable counts.
    - `max_share_empty`: information loss: share of the part's cells without records.
    - `min_average_size`: information loss: records per cell with records.
    - `max_relative_error`: information loss: mean over the cells with records of the noise that is
      to be expected (standard deviation) in relation to the count.
    - `small_up_to`: largest count of a small cell.
    - `min_cells`: parts of unfiltered tables with fewer cells, empty ones included, are not
      judged: shares of few cells say little.

    >>> PartRules(max_share_small=0.5, max_share_empty=0.8)
    <PartRules: secret>
    """

    @model_validator(mode="wrap")
    @classmethod
    def _checked(cls, values: Any, check: ModelWrapValidatorHandler[PartRules]) -> PartRules:
        try:
            return check(values)
        except ValidationError as error:
            problems = setting_problems(error, known=list(cls.model_fields))
            many = "{} rules are wrong"
            raise_all(SuppressionError, problems, code="part-rules", many=many, where="rules")
            raise

    def risks(self, measures: PartMeasures, *, always: bool = False) -> tuple[str, ...]:
        """The rules on disclosure risk that a part breaks, by code.

        Args:
            measures: What was measured.
            always: Judge parts with few cells too.
        """
        return self._broken(_RISKS, measures, always=always)

    def losses(self, measures: PartMeasures, *, always: bool = False) -> tuple[str, ...]:
        """The rules on information loss that a part breaks, by code."""
        return self._broken(_LOSSES, measures, always=always)

    def _broken(
        self, rules: Mapping[str, str], measures: PartMeasures, *, always: bool
    ) -> tuple[str, ...]:
        if not always and measures.cells < self.min_cells:
            return ()
        broken = []
        for code, name in rules.items():
            most, least = self._limits[name]
            if most is not None or least is not None:
                value = getattr(measures, name)
                above = most is not None and value is not None and value > most
                if above or (least is not None and value < least):
                    broken.append(code)
        return tuple(broken)

    @cached_property
    def _limits(self) -> dict[str, tuple[float | None, float | None]]:
        """Per measure, its maximum and its minimum."""
        every = self.to_dict()
        names = (*_RISKS.values(), *_LOSSES.values())
        return {name: (every.get(f"max_{name}"), every.get(f"min_{name}")) for name in names}

    def to_dict(self) -> dict[str, float | int]:
        """The thresholds that are set, by name. SECRET."""
        return self.model_dump(exclude_none=True)


@dataclass(frozen=True, repr=False)
class _Judge:
    """The rules, with everything that a part is held against (confidential)."""

    rules: PartRules
    query: PartCells
    universe: FilterUniverse | None
    filtered: bool

    def reasons(self, part: PartKey, *, risks_only: bool = False) -> tuple[PartReason, ...]:
        """The rules that a part breaks."""
        rules, always = self.rules, self.filtered
        grouped = rules.max_share_grouped is not None
        measures = self.query.measure(part, grouped=grouped)
        reasons = [PartReason(code) for code in rules.risks(measures, always=always)]
        if self.universe is not None:
            whole = self.universe.every.measure(part, grouped=grouped)
            rest = self.universe.left_out.measure(part, grouped=grouped)
            reasons += [PartReason(code, "universe") for code in rules.risks(whole)]
            reasons += [PartReason(code, "difference") for code in rules.risks(rest, always=always)]
            # The filter as a further variable: passing or not. All else is measured elsewhere.
            groups = (self.universe.told_by_filter(part),)
            told_by = PartMeasures(cells=1, occupied=0, records=0, small=0, unique=0, groups=groups)
            if grouped and rules.risks(told_by, always=always):
                reasons.append(PartReason("group-disclosure", "filter"))
        if not risks_only:
            reasons += [PartReason(code) for code in rules.losses(measures, always=always)]
        return tuple(reasons)

    def joined(self, areas: Sequence[int]) -> _Judge:
        """The same for some areas taken together as one table."""
        query, _ = self.query.joined(areas)
        universe = None if self.universe is None else self.universe.joined(areas)
        return replace(self, query=query, universe=universe)


class _AreaWalk:
    """Decides for each area which of its parts are published. CONFIDENTIAL while it works."""

    def __init__(self, table: Table, judge: _Judge, at: int, whole: Parts) -> None:
        dimensions, existing = table.dimensions, table.parts
        self.areas, self.at, self.judge = dimensions[at], at, judge
        self.records = judge.query.records_of_areas()
        self._numbers = level_numbers(self.areas).tolist()
        others = [dimension for place, dimension in enumerate(dimensions) if place != at]
        self.lattice = PartLattice(others)
        self.outward = self.lattice.outward
        named = {part: self.lattice.named(part) for part in self.outward}
        self.finer = {
            part: frozenset(o for o in self.outward if is_within(named[o], own))
            for part, own in named.items()
        }
        self._there = {
            number: frozenset(
                part
                for part in self.outward
                if existing is None or self._full(part, number) in existing
            )
            for number in set(self._numbers)
        }
        self.given = {
            number: frozenset(part for part in self.outward if self._full(part, number) in whole)
            for number in set(self._numbers)
        }
        self.hidden: list[set[PartKey]] = []

    def _full(self, part: PartKey, number: int) -> PartKey:
        return (*part[: self.at], number, *part[self.at :])

    @cached_property
    def children(self) -> list[list[list[int]]]:
        """Per area, the areas directly below it, apart for each classification."""
        trees = len(self.areas.classifications)
        children: list[list[list[int]]] = [[[] for _ in range(trees)] for _ in self._numbers]
        pairs = zip(self.areas.parents.tolist(), self.areas.breakdown.tolist(), strict=True)
        for area, (parent, tree) in enumerate(pairs):
            if parent >= 0:
                children[parent][tree].append(area)
        return [[group for group in groups if group] for groups in children]

    def decided(self) -> AreaParts:
        """Hidden parts of each area, besides the parts of whole levels."""
        self.hidden = [set(self.given[number]) for number in self._numbers]
        for area in np.argsort(-self.areas.levels, kind="stable").tolist():
            if area:  # what the table shows of everything is decided as a whole
                self._walk(area)
        before = -1
        while before < (now := sum(map(len, self.hidden))):  # of more areas where one is alone
            before = now
            for area, groups in enumerate(self.children):
                for group, part in product(groups, reversed(self.outward)):
                    self._settle(area, group, part)
        hidden = {
            self.areas.codes[area]: frozenset(parts & self._there[number]) - self.given[number]
            for area, (parts, number) in enumerate(zip(self.hidden, self._numbers, strict=True))
        }
        return AreaParts(
            variable=self.areas.name,
            hidden={code: parts for code, parts in hidden.items() if parts},
        )

    def _walk(self, area: int) -> None:
        """One area, from its innermost part outward; its children are decided already."""
        there, hidden = self._there[self._numbers[area]], self.hidden[area]
        groups = self.children[area]
        follows: set[PartKey] = set()
        for part in self.outward:
            released = part in follows or any(
                all(part not in self.hidden[child] for child in group) for group in groups
            )
            if part in hidden:
                released = False
            elif part in there and not released:
                released = not self.judge.reasons(self._full(part, area))
                if not released:
                    hidden.add(part)
            if released:
                follows.update(self.lattice.coarser(part))

    # -- several are hidden, or none ---------------------------------------------------

    def _settle(self, area: int, group: list[int], part: PartKey) -> None:
        """See that what the areas below one hide cannot be had from it and their siblings."""
        chosen = [child for child in group if part in self.hidden[child]]
        if part in self.hidden[area]:
            if not chosen:  # the sum of what is shown would be what is hidden
                self._hide(next(self._others(group, chosen)), part)
            return
        own = [child for child in chosen if part not in self.given[self._numbers[child]]]
        if not own or part not in self._there[self._numbers[area]]:
            return  # whole levels keep their secrets by themselves
        others = self._others(group, chosen)
        while len(chosen) < len(group) and (len(chosen) < 2 or self._together(chosen, part)):
            chosen.append(next(others))
            self._hide(chosen[-1], part)
        if len(chosen) == len(group) and (len(group) == 1 or self._together(chosen, part)):
            self._hide(area, part)  # together they are what stands above them

    def _others(self, group: Sequence[int], chosen: Sequence[int]) -> Iterator[int]:
        """The other areas, those with records first and the smaller ones before the larger."""
        left = [child for child in group if child not in set(chosen)]
        yield from sorted(left, key=lambda each: (not self.records[each], self.records[each], each))

    def _together(self, areas: Sequence[int], part: PartKey) -> bool:
        """Whether some areas as one break a rule on disclosure risk."""
        return bool(self.judge.joined(areas).reasons(part, risks_only=True))

    def _hide(self, area: int, part: PartKey) -> None:
        self.hidden[area] |= self.finer[part]


@without_values
def check_parts(
    table: Table,
    rules: PartRules,
    *,
    universe: Table | Literal["none"] | None = None,
    deviation: Deviation | None = None,
    areas: str | None = None,
) -> PartDecisions:
    """Decide which parts of a table may be published.

    If the innermost cells show neither high disclosure risk nor high information loss, the
    whole table is released. Otherwise they are suppressed and the parts directly above
    them are checked, and so on to the grand total. What is the sum of released cells is
    released with them.

    A filtered table is held against its universe: disclosure risk is measured on the
    table, on the universe, and on the records that the filter leaves out, and the filter
    counts as a variable that groups of records can be alike in.

    Args:
        table: The table.
        rules: The thresholds.
        universe: For a filtered table, the same without the filter; "none" to waive that.
        deviation: Standard deviation of the noise, for the expected relative error: one
            number per cell of the table, or a function of an array of counts.
        areas: A variable whose areas are decided on, too, so that none lacks a part alone.

    >>> import polars as pl
    >>> from discreet import PartRules, Table, check_parts
    >>> cells = pl.DataFrame({
    ...     "type": ["Total", "Total", "Total", "house", "house", "flats", "flats"],
    ...     "sex": ["Total", "m", "w", "Total", "m", "Total", "w"],
    ...     "n": [30, 14, 16, 14, 14, 16, 16],
    ... })
    >>> table = Table.from_cells(cells, by=["type", "sex"], count="n", name="homes")
    >>> decisions = check_parts(table, PartRules(max_share_grouped=0.5))
    >>> print(decisions.text())
    Table homes is partly published.
    1. type × sex: suppressed (too many groups with identical records)
    2. type: published
    3. sex: published
    4. grand total: published without a check, as the sum of a published subtable
    It would pass without sex.
    It would pass without type.
    """
    judge = _judge(table, rules, universe, deviation)
    guard: Literal["checked", "none", "unfiltered"] = "none" if table.where else "unfiltered"
    guard = "checked" if isinstance(universe, Table) else guard
    lattice = PartLattice(table.dimensions, table.parts)
    decisions = _walk(judge, lattice)
    decided = PartDecisions(
        table=table.name,
        variables=tuple(dimension.name for dimension in table.dimensions),
        parts=tuple(decisions),
        universe=guard,
        suggestions=_suggestions(decisions, lattice),
    )
    if areas is not None:
        at = place_of(areas, table.dimensions, table.name)
        own = _judge(table, rules, universe, deviation, area=at)
        decided = replace(decided, areas=_AreaWalk(table, own, at, decided.suppressed).decided())
    return decided


def _walk(judge: _Judge, lattice: PartLattice) -> list[PartDecision]:
    """The decision on each part that the table has, from the innermost outward."""
    from_released: set[PartKey] = set()
    decisions: list[PartDecision] = []
    for part in lattice.outward:
        released = part in from_released
        if lattice.exists(part):
            reasons = () if released else judge.reasons(part)
            action: PartAction = "suppressed" if reasons else "released"
            action = "follows" if released else action
            levels = lattice.named(part)
            decisions.append(PartDecision(levels=levels, action=action, reasons=reasons))
            released = action != "suppressed"
        # What lies above a part that the table lacks may still lie above a released one.
        if released:
            from_released.update(lattice.coarser(part))
    return decisions


def measure_parts(
    table: Table,
    *,
    universe: Table | Literal["none"] | None = None,
    deviation: Deviation | None = None,
    small_up_to: int = 2,
) -> pl.DataFrame:
    """Measures of the rules for every part. CONFIDENTIAL: for choosing thresholds.

    Args:
        table: The table.
        universe: The same table without its filter, to measure that and the difference;
            "none" as for `check_parts`.
        deviation: As for `check_parts`.
        small_up_to: Largest count of a small cell.
    """
    limit = None if deviation is None else 1.0
    rules = PartRules(max_share_small=1, max_relative_error=limit, small_up_to=small_up_to)
    judge = _judge(table, rules, universe, deviation)
    measured = {"table": judge.query}
    if (whole := judge.universe) is not None:
        measured |= {"universe": whole.every, "difference": whole.left_out}
    lattice = PartLattice(table.dimensions, table.parts)
    rows = []
    for part in filter(lattice.exists, lattice.outward):
        for of, cells in measured.items():
            measures = cells.measure(part)
            row = {name: getattr(measures, name) for name in _MEASURED}
            rows.append({"part": name_of_part(lattice.named(part), "en"), "of": of, **row})
    return pl.DataFrame(rows, schema_overrides={"relative_error": pl.Float64})


def _judge(
    table: Table,
    rules: PartRules,
    universe: object,
    deviation: Deviation | None,
    area: int | None = None,
) -> _Judge:
    _check(table, rules, universe)
    if rules.max_relative_error is not None and deviation is None:
        raise SuppressionError(
            "the expected relative error needs the standard deviation of the noise",
            code="deviation",
            where=table.name,
            hint="add deviation=, or remove max_relative_error",
        )
    wanted = deviation if rules.max_relative_error is not None else None
    query = part_cells(table, rules.small_up_to, wanted, area)
    whole = None
    if isinstance(universe, Table):
        whole = FilterUniverse.of(table, universe, rules.small_up_to, area)
    return _Judge(rules, query, whole, filtered=bool(table.where) or whole is not None)


def _check(table: object, rules: object, universe: object) -> None:
    check_kinds(("table", table, Table), ("rules", rules, PartRules))
    if universe is not None and universe != "none" and not isinstance(universe, Table):
        raise SuppressionError(
            'universe must be the table without the filter, or "none"',
            code="argument",
            where="universe",
        )
    if isinstance(table, Table) and table.where and universe is None:
        raise SuppressionError(
            (
                "the table is filtered: the difference to the table without the filter discloses "
                "the other records"
            ),
            code="universe",
            where=table.name,
            hint="add universe=, the same table without the filter; or universe='none' if the "
            "filter defines the population of all published tables",
        )


def _suggestions(decisions: list[PartDecision], lattice: PartLattice) -> tuple[PartSuggestion, ...]:
    """The finest parts that passed, as tables of their own.

    First those with the fewest variables changed, then with the fewest dropped.
    """
    suggestions = []
    for order, decision in enumerate(decisions):
        raised = [
            level.variable
            for level, levels in zip(decision.levels, lattice.levels, strict=True)
            if levels[level.number].steps > 0
        ]
        dropped = sum(level.total for level in decision.levels)
        if decision.action == "released" and raised and dropped < len(decision.levels):
            rank = (len(raised), dropped, lattice.steps(decision.part), order)
            suggestions.append(
                (rank, PartSuggestion(levels=decision.levels, changed=tuple(raised)))
            )
    return tuple(suggestion for _, suggestion in sorted(suggestions, key=lambda entry: entry[0]))


#: So many sets of thresholds are tried at most.
MOST_SETS = 1_000

#: Which share a target is held against.
Reading = Literal["each-table", "all-tables"]
_READINGS: Mapping[str, str] = {
    "each-table": "the table and coarsest area with the lowest share",
    "all-tables": "the coarsest area with the lowest share, over all tables together",
}

#: Where shares are of whole tables, since no variable has areas: both readings are one.
_ALL = "all tables"

#: In which direction a threshold becomes stricter: what is below a maximum, or above a minimum.
_STRICT = {"min_average_size": -1.0}


@dataclass(frozen=True, kw_only=True, repr=False)
class PartTuning:
    """Effect of sets of thresholds on tables. CONFIDENTIAL.

    Args:
        tried: The sets in the order of their trial, as columns of thresholds; `share` is the
            share of all areas (or tables) that is shown completely; `lowest` that of the table,
            or of the table and coarsest area, where it is lowest; `pooled` that of the coarsest
            area where it is lowest over all tables together; `where` and `pooled_where` say
            where that is; `hidden` counts areas (or tables) with hidden parts; `met` says
            whether the reading meets the target.
        rules: The strictest set that meets the target; None if none does. SECRET.
        target: The share that was asked for.
        reading: What meets the target: `lowest` ("each-table") or `pooled` ("all-tables").
    """

    tried: pl.DataFrame
    rules: PartRules | None
    target: float
    reading: Reading = "each-table"

    def text(self) -> str:
        """The sets in words, for those who choose. CONFIDENTIAL."""
        names = [name for name in self.tried.columns if name not in _RESULTS]
        lines, by_area = [], _ALL not in self.tried["where"]
        for row in self.tried.iter_rows(named=True):
            stated = ", ".join(f"{name} = {row[name]:g}" for name in names)
            verdict = "meets the target" if row["met"] else "misses the target"
            readings = (
                f"in each table at least {row['lowest']:.2%} ({row['where']}); "
                f"in all tables together at least {row['pooled']:.2%} ({row['pooled_where']}); "
            )
            lines.append(
                f"{stated}: {row['share']:.2%} published completely; "
                f"{readings if by_area else ''}{row['hidden']:,} with suppressed subtables; "
                f"{verdict}"
            )
        if by_area:
            message = f"{self.reading}: {_READINGS[self.reading]}"
            lines.append(f"The target applies to {message}.")
        if self.rules is None:
            lines.append(f"No set of thresholds publishes {self.target:.2%} completely everywhere.")
        else:
            own = self.rules.to_dict()
            chosen = ", ".join(f"{name} = {own[name]:g}" for name in names)
            lines.append(f"The strictest set that publishes {self.target:.2%} completely: {chosen}")
        return "\n".join(lines)

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON. CONFIDENTIAL."""
        return {
            "target": self.target,
            "reading": self.reading,
            "rules": None if self.rules is None else self.rules.to_dict(),
            "tried": self.tried.to_dicts(),
        }

    def __repr__(self) -> str:
        return f"<PartTuning (confidential): {len(self.tried)} sets of thresholds>"


_RESULTS = ("share", "lowest", "where", "pooled", "pooled_where", "hidden", "met")


@without_values
def tune_parts(
    tables: Iterable[Table],
    vary: Mapping[str, Sequence[float]],
    *,
    target: float = 0.98,
    reading: Reading = "each-table",
    rules: PartRules | None = None,
    areas: str | None = None,
    level: str | int | None = None,
    universes: Mapping[str, Table | Literal["none"]] | None = None,
    deviation: Deviation | None = None,
) -> PartTuning:
    """Find thresholds with which so many areas, or tables, are shown completely.

    Args:
        tables: The tables, each with a name of its own.
        vary: Threshold → the values to try; all combinations of several are tried.
        target: The share of areas to be shown completely, of all areas of the level and of those
            within each area of the coarsest level. Without `areas`, the share of the tables.
        reading: "each-table" holds the target against each table by itself, "all-tables" against
            all of them together, as the German census of 2022 did.
        rules: Thresholds that stay as they are.
        areas: The variable whose codes are areas.
        level: The level that the target is about; its finest one if None.
        universes: Name of a filtered table → what `check_parts` takes as its universe.
        deviation: As for `check_parts`.

    >>> import polars as pl
    >>> from discreet import PartRules, Table, tune_parts
    >>> sizes = {"A": [9, 8], "B": [9, 2], "C": [7, 6], "D": [1, 1]}
    >>> rows = [(place, sex, n) for place, both in sizes.items() for sex, n in zip("mw", both)]
    >>> rows += [(place, "Total", sum(both)) for place, both in sizes.items()]
    >>> rows += [("Total", "m", 26), ("Total", "w", 17), ("Total", "Total", 43)]
    >>> cells = pl.DataFrame(rows, schema=["place", "sex", "n"], orient="row")
    >>> table = Table.from_cells(cells, by=["place", "sex"], count="n", name="T1")
    >>> shares = {"max_share_small": [0.4, 0.6, 1.0]}
    >>> found = tune_parts([table], shares, target=0.5, areas="place")
    >>> found.tried["share"].to_list(), found.rules.to_dict()["max_share_small"]
    ([0.5, 0.5, 1.0], 0.4)
    """
    every = list(tables)
    _check_trial(every, vary, target, reading)
    names, held = list(vary), universes or {}
    rows: list[dict[str, Any]] = []
    sets: list[PartRules] = []
    strictest_first = [
        sorted(set(vary[name]), key=lambda value: value * sign)
        for name, sign in ((name, _STRICT.get(name, 1.0)) for name in names)
    ]
    for values in product(*strictest_first):
        stated = dict(zip(names, values, strict=True))
        own: dict[str, Any] = {**(rules.to_dict() if rules else {}), **stated}
        sets.append(PartRules(**own))
        decided = [
            check_parts(
                item, sets[-1], universe=held.get(item.name), deviation=deviation, areas=areas
            )
            for item in every
        ]
        outcome = _outcome(every, decided, areas, level)
        reached = outcome["lowest" if reading == "each-table" else "pooled"]
        rows.append({**stated, **outcome, "met": reached >= target})
    met = [at for at, row in enumerate(rows) if row["met"]]
    best = min(met, key=lambda at: (rows[at]["share"], at), default=None)
    return PartTuning(
        tried=pl.DataFrame(rows),
        rules=None if best is None else sets[best],
        target=target,
        reading=reading,
    )


def _outcome(
    tables: Sequence[Table],
    decided: Sequence[PartDecisions],
    areas: str | None,
    level: str | int | None,
) -> dict[str, Any]:
    """How much one set of thresholds shows."""
    if areas is None:
        hidden = sum(item.outcome != "complete" for item in decided)
        share, where = 1 - hidden / len(decided), _ALL
        return {
            "share": share, "lowest": share, "where": where,
            "pooled": share, "pooled_where": where, "hidden": hidden,
        }  # fmt: skip
    shares: list[tuple[str, AreaShare]] = []
    for table, decisions in zip(tables, decided, strict=True):
        assert decisions.areas is not None
        own = _level(table, areas, level)
        own_shares = area_shares(table.dimensions, decisions.suppressed, decisions.areas)
        shares += [(table.name, one) for one in own_shares if one.level == own]
    name, worst = min(shares, key=lambda one: one[1].share_complete)
    together: dict[str, tuple[int, int]] = {}
    for _, one in shares:
        complete, total = together.get(one.within, (0, 0))
        together[one.within] = (complete + one.complete, total + one.areas)
    pooled = {within: complete / total for within, (complete, total) in together.items()}
    fewest = min(pooled, key=lambda within: pooled[within])
    complete, total = together[""]
    return {
        "share": pooled[""],
        "lowest": worst.share_complete,
        "where": f"{name}, {worst.within}" if worst.within else name,
        "pooled": pooled[fewest],
        "pooled_where": fewest or "all areas",
        "hidden": total - complete,
    }


def _level(table: Table, areas: str, level: str | int | None) -> str:
    """What shares call the level that the target is about."""
    dimension = table.dimensions[place_of(areas, table.dimensions, table.name)]
    wanted = level if level is not None else int(dimension.classifications[0].depth)
    found = level_of(dimension, wanted)
    return found.name(dimension) or str(found.depth)


def _check_trial(
    tables: Sequence[object],
    vary: Mapping[str, Sequence[float]],
    target: float,
    reading: str,
) -> None:
    """Raise for what cannot be tried, all of it at once."""
    problems = []
    if not tables or not all(isinstance(table, Table) for table in tables):
        problems.append(Problem("expected a list of tables", "tables"))
    names = [table.name for table in tables if isinstance(table, Table)]
    if len(set(names)) < len(names):
        problems.append(Problem("two tables have the same name", "tables", "tabulate with name=…"))
    if not 0 <= target <= 1:
        problems.append(Problem("a share must be from 0 to 1", "target", "0.98 for 98 %"))
    if reading not in _READINGS:
        problems.append(Problem(f"unknown reading {reading!r}", "reading", ", ".join(_READINGS)))
    known = list(PartRules.model_fields)
    for name, values in vary.items():
        if name not in known:
            problems.append(Problem(f"unknown threshold {name!r}", "vary", ", ".join(known)))
        if not values:
            problems.append(Problem("expected a list of values to try", f"vary, {name}"))
    if not vary:
        problems.append(Problem("no values to try", "vary", '{"max_share_small": [0.3, 0.5]}'))
    sets = math.prod(len(values) for values in vary.values())
    if sets > MOST_SETS:
        message = f"too many sets of thresholds: {sets:,}; the limit is {MOST_SETS:,}"
        problems.append(Problem(message, "vary", "try few values first, then finer ones"))
    raise_all(
        SuppressionError,
        problems,
        code="tuning",
        many="{} problems with the values to try",
        where="tuning",
    )
