"""Which figures are withheld so that no others give them away. CONFIDENTIAL until applied.

In: counts of records and of cases, facts and values, of groups that add up to a known total or of
cells of a table with margins; one or several variables. Out: which counts, sums and means are
withheld, and whose deviations are.

- Of groups, what an attacker can work out is the union of all withheld ones, so the union is held
  against the same rules – by which not even one of its two largest contributors can work out the
  other. Where one case lies far from all others, the deviation tells its value together with the
  mean: the limit is that of leverage. And of three cases, mean and deviation can be solved.
- Of tables nobody can find out from sums whether a withheld cell is a small one. Empty cells are
  shown, so an attacker knows that every withheld one holds at least one record. For sums two
  attackers are held off: whoever adds and subtracts published numbers of the whole table, and a
  contributor who also knows what is his own – for him the withheld cells of each line, taken
  together, must keep the rules.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray
from discreet.errors import SuppressionError
from discreet_fire.statistics.disclosure_rules import (
    Facts,
    broken,
    free_statistics,
    hide_smallest,
    total_hidden,
)
from discreet_fire.statistics.grouped_values import GroupedValues
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.records import MicrodataRecords, RecordGroups, count_of


@dataclass(frozen=True, kw_only=True, repr=False)
class HiddenGroups:
    """Withheld figures of one variable (confidential until applied).

    The rules that each group and the whole break; the groups of which the count is withheld, and
    those of which the value is: sums, means and deviations; the same of the total.
    """

    rules: tuple[frozenset[str], ...]
    whole: frozenset[str]
    count: frozenset[int]
    value: frozenset[int]
    total: Facts
    total_value: bool
    total_count: bool


def hide_groups(
    holding: GroupedValues,
    facts: Sequence[Facts],
    limits: SafeLimits,
    *,
    counts: frozenset[int] | None = None,
) -> HiddenGroups:
    """Withhold groups until the union of the withheld is safe.

    Groups whose number of cases is withheld are found here unless given.
    """
    rules = tuple(broken(one, limits) for one in facts)
    total = facts[0] if holding.groups == 1 else holding.total(limits)
    whole = broken(total, limits)
    if counts is None:
        counts = shared_counts([facts], limits)
    hidden = {at for at, reasons in enumerate(rules) if reasons} | set(counts)
    total_value = bool(whole)
    order = sorted(
        (at for at, one in enumerate(facts) if one.n and at not in hidden),
        key=lambda at: (facts[at].cases, facts[at].n, at),
    )

    def safe() -> bool:
        """Whether the withheld ones are together."""
        there = sorted(at for at in hidden if facts[at].n)
        if len(there) < 2:
            return not there
        union = holding.union(there, limits)
        # One more than the minimum: mean and deviation of the union follow together.
        return union.cases > limits.minimum and not broken(union, limits)

    if total_value and not hidden:
        # The groups would add up to a total that only the sums of entities make unsafe.
        hidden.add(order.pop(0))
    if hidden and not total_value:
        while not safe():
            if not order:
                total_value = True
                break
            hidden.add(order.pop(0))
    return HiddenGroups(
        rules=rules,
        whole=whole,
        count=counts,
        value=frozenset(hidden),
        total=total,
        total_value=total_value,
        total_count=total_hidden([one.cases for one in facts], counts, total.cases, limits),
    )


#: Below this part of its variance a variable is worked out from others.
_ALIKE = 1e-6


def hide_alike(hidden: Sequence[HiddenGroups], columns: Sequence[FloatArray]) -> list[HiddenGroups]:
    """Withhold the same groups of variables that can be worked out from each other: c = a + b.

    They are sums of others, or of multiples of them, in all records or nearly; and are said to be
    so where too few records have values of all variables.
    """
    table = np.column_stack(columns)
    table = table[~np.isnan(table).any(axis=1)]
    linked = np.ones(len(columns), dtype=np.bool_)
    if len(table) >= 2 * len(columns):
        spread = table.std(axis=0)
        varied = np.flatnonzero(spread > 0)
        scaled = (table[:, varied] - table[:, varied].mean(axis=0)) / spread[varied]
        small = np.linalg.qr(scaled, mode="r") / np.sqrt(len(table))  # with the same products
        linked[:] = False
        for at, column in enumerate(varied):
            others = np.delete(small, at, axis=1)
            rest = small[:, at] - others @ np.linalg.lstsq(others, small[:, at], rcond=None)[0]
            linked[column] = float(rest @ rest) < _ALIKE
    together = list(itertools.compress(hidden, linked))
    groups = frozenset[int]().union(*(one.value for one in together))
    total = any(one.total_value for one in together)
    return [
        replace(one, value=groups, total_value=total) if held else one
        for one, held in zip(hidden, linked.tolist(), strict=True)
    ]


def shared_counts(several: Sequence[Sequence[Facts]], limits: SafeLimits) -> frozenset[int]:
    """Groups whose number of cases is withheld, alike for all variables.

    If they differed, a variable without missing values would tell what is withheld of
    another.
    """
    return hide_smallest([[one.cases for one in facts] for facts in several], (), limits)


@dataclass(frozen=True, kw_only=True, repr=False)
class HiddenSpreads:
    """Whose deviations are withheld, with the rule (confidential until applied)."""

    groups: dict[int, str] = field(default_factory=dict)
    total: str = ""


def is_lonely(facts: Facts, limits: SafeLimits) -> bool:
    """Whether one case makes up nearly all of the squared deviations.

    >>> far, near = ([10.0] * 20 + [10.1] * 20 + [last] for last in (90.0, 10.9))
    >>> groups = [GroupedValues.of(np.array(one), None, 1) for one in (far, near)]
    >>> [is_lonely(one.total(SafeLimits()), SafeLimits()) for one in groups]
    [True, False]
    """
    several = facts.n > 1 and facts.squares > 0
    return several and 1 / facts.n + facts.apart / facts.squares > limits.leverage


def is_few(facts: Facts, needed: int, limits: SafeLimits) -> bool:
    """Whether a mean and so many other statistics could be solved for the values.

    >>> [is_few(Facts(n=n, cases=n), 2, SafeLimits()) for n in (0, 3, 4)]
    [False, True, False]
    """
    return facts.cases > 0 and free_statistics(facts.cases, limits) < needed


def spreads_to_hide(
    facts: Sequence[Facts],
    limits: SafeLimits,
    *,
    union: Callable[[Sequence[int]], Facts],
    hidden: Collection[int],
    total: Facts | None,
    needed: int = 2,
) -> HiddenSpreads:
    """The groups whose deviations are withheld, and with them those of others.

    Deviations of all groups follow from those of the total, less those that are shown, as the
    means are known: withheld ones are added up until they tell nothing together. The total is
    None if its deviations are not shown, `hidden` are groups whose means are withheld already,
    `union` gives the facts of several together, and `needed` says how many statistics are asked for
    that add up, the mean included.
    """
    there = [at for at, one in enumerate(facts) if one.n and at not in hidden]
    lonely = [at for at in there if is_lonely(facts[at], limits)]
    rules = dict.fromkeys(lonely, "leverage")
    if total is None:
        return HiddenSpreads(groups=rules)
    few = [at for at in there if is_few(facts[at], needed, limits)]
    rules = dict.fromkeys(few, "equations") | rules
    if is_lonely(total, limits):
        if not rules and not hidden and there:
            # All deviations between and within groups would add up to the withheld one.
            rules[max(there, key=lambda at: (facts[at].squares, -at))] = "secondary"
        return HiddenSpreads(groups=rules, total="leverage")
    # Of groups whose means are withheld the deviation of all together follows.
    unseen = sorted(at for at in hidden if facts[at].n)
    together = union(unseen) if unseen else Facts(squares=0.0)
    largest = [facts[at] for at in lonely]
    largest += [together] if is_lonely(together, limits) else []
    if not rules and not largest:
        return HiddenSpreads()
    closed = {*rules, *unseen}
    order = sorted((at for at in there if at not in closed), key=lambda at: (facts[at].cases, at))

    def tells() -> bool:
        """Whether the withheld deviations together tell what each may not."""
        squares = together.squares + math.fsum(
            facts[at].squares for at in closed.difference(unseen)
        )
        cases = sum(facts[at].cases for at in closed)
        solved = free_statistics(cases, limits) < len(closed) + needed - 1
        return (
            len(closed) < 2
            or solved
            or any(1 / one.n + one.apart / squares > limits.leverage for one in largest)
        )

    while tells():
        if not order:
            return HiddenSpreads(groups=rules, total="secondary")
        rules[order[0]] = "secondary"
        closed.add(order.pop(0))
    return HiddenSpreads(groups=rules)


_UNBOUNDED = 2**53
_Number = TypeVar("_Number", np.int64, np.float64)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Counts:
    """Records and entities in each cell of a table (confidential); the last of each axis is the
    total.

    A record's code is its cell without margins, -1 for none.
    """

    n: IntArray
    cases: IntArray
    codes: IntArray
    sizes: tuple[int, ...]


def count_cells(axes: Sequence[RecordGroups], records: MicrodataRecords) -> Counts:
    """Count records and entities in every cell and margin."""
    sizes = tuple(len(axis) for axis in axes)
    codes = CellIndex(sizes).numbers([axis.codes for axis in axes])
    for axis in axes:
        codes[axis.codes < 0] = -1
    n = with_margins(count_of(codes, math.prod(sizes), records.times).reshape(sizes))
    if records.entity is None:
        return Counts(n=n, cases=n, codes=codes, sizes=sizes)
    cases = np.zeros_like(n)
    for summed in itertools.product((False, True), repeat=len(axes)):
        place = tuple(-1 if total else slice(None, -1) for total in summed)
        # For each cell the place in the margin that it adds to.
        shape = [1 if total else size for size, total in zip(sizes, summed, strict=True)]
        number = np.broadcast_to(np.arange(math.prod(shape)).reshape(shape), sizes)
        union = np.append(number.ravel(), -1)[codes]
        inside = records.numbering.cases(union, math.prod(shape))
        cases[place] = inside.reshape(cases[place].shape)
    return Counts(n=n, cases=cases, codes=codes, sizes=sizes)


def lines_of(shape: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Additive lines: the total with -1 and its parts with 1.

    >>> lines_of([3])
    [[(2, -1), (0, 1), (1, 1)]]
    """
    number = np.arange(math.prod(shape)).reshape(shape)
    return [
        [(line[-1], -1), *((cell, 1) for cell in line[:-1])]
        for axis in range(len(shape))
        for line in np.moveaxis(number, axis, -1).reshape(-1, shape[axis]).tolist()
    ]


def hide_cells(
    counts: Counts,
    limits: SafeLimits,
    *,
    sensitive: BoolArray | None = None,
    before: BoolArray | None = None,
) -> tuple[BoolArray, bool]:
    """The cells that are withheld: small and other sensitive ones, and others to protect them.

    Margins that tables of fewer variables show are known, so hiding them would not help; only where
    nothing else helps are they withheld too, which the second value says. `before` are cells that
    are withheld already, in tables of fewer variables.
    """
    n, cases = counts.n, counts.cases
    primary = (cases > 0) & (cases < limits.minimum)
    if sensitive is not None:
        primary |= sensitive & (n > 0)
    fixed = np.zeros_like(primary) if before is None else before & (n > 0) & ~primary
    if not primary.any():
        return fixed, False
    known = margins_of(n.shape) & ~primary & ~fixed & (before is not None)
    # A withheld count may be anything from the smallest possible to a safe one. Everyone sees
    # which cells are empty, and so how small a cell or margin can be.
    low = with_margins((n > 0)[(slice(None, -1),) * n.ndim].astype(np.int64))
    lower, upper = count_levels(n, low, limits.minimum)
    levels = lower * primary, upper * primary
    return solved(n, low, *levels, n=n, primary=primary, before=fixed, known=known)


def solved(
    value: IntArray,
    low: IntArray,
    lower: IntArray,
    upper: IntArray,
    *,
    n: IntArray,
    primary: BoolArray,
    before: BoolArray,
    known: BoolArray,
) -> tuple[BoolArray, bool]:
    """A pattern that leaves known margins shown if there is one, else any; and whether it does not.

    Values are in whole units and additive; everyone knows `low`. Sensitive cells must possibly be
    so much smaller and larger as `lower` and `upper` say.
    """
    from discreet.protection.suppression import (
        CellState,
        Relations,
        SuppressionProblem,
        find_pattern,
    )

    state = np.full(n.shape, int(CellState.free), dtype=np.int8)
    state[(n == 0) | known] = CellState.fixed
    state[before] = CellState.secondary
    state[primary] = CellState.primary
    problem = SuppressionProblem(
        value=value.ravel(),
        cost=(n + 1 + margins_of(n.shape) * int(n.max())).ravel(),
        state=state.ravel(),
        low=low.ravel(),
        high=np.full(n.size, _UNBOUNDED, dtype=np.int64),
        lower=lower.ravel(),
        upper=upper.ravel(),
        sliding=np.zeros(n.size, dtype=np.int64),
        relations=Relations.of(n.size, lines_of(n.shape)),
    )
    try:
        hidden = find_pattern(problem, "fast").hidden.reshape(n.shape)
    except SuppressionError:
        if not known.any():
            raise
        state[known & (n > 0)] = CellState.free
        again = replace(problem, state=state.ravel())
        hidden = find_pattern(again, "fast").hidden.reshape(n.shape)
    return hidden, bool((hidden & known).any())


def with_margins(inner: NDArray[_Number]) -> NDArray[_Number]:
    """A table with its sums at the end of each axis.

    >>> with_margins(np.array([[1, 2]])).tolist()
    [[1, 2, 3], [1, 2, 3]]
    """
    for axis in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis=axis, keepdims=True)], axis=axis)
    return inner


def margins_of(shape: Sequence[int]) -> BoolArray:
    """Which cells are margins."""
    margin = np.zeros(shape, dtype=np.bool_)
    for axis in range(len(shape)):
        np.moveaxis(margin, axis, 0)[-1] = True
    return margin


def count_levels(n: IntArray, low: IntArray, minimum: int) -> tuple[IntArray, IntArray]:
    """Required room below and above counts: from the smallest to a safe one.

    >>> [one.tolist() for one in count_levels(np.array([2, 20]), np.array([1, 1]), 3)]
    [[1, 6], [1, 6]]
    """
    # A cell of many records may be sensitive too: all of one entity, for example.
    share = np.where(n < minimum, 0, np.ceil(0.3 * n)).astype(np.int64)
    lower = np.minimum(n - low, np.maximum(minimum, share))
    return lower, np.maximum(minimum - n, np.maximum(share, 1))


#: Sums become whole numbers of about this size.
_UNITS = 2**40


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SumTable:
    """Values of one variable in a table with margins (confidential); groups are the inner cells."""

    holding: GroupedValues
    sizes: tuple[int, ...]
    limits: SafeLimits

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis, with the total."""
        return tuple(size + 1 for size in self.sizes)

    @cached_property
    def members(self) -> list[list[int]]:
        """For each cell, with margins, the cells without margins that it is made of."""
        number = np.arange(math.prod(self.sizes)).reshape(self.sizes)
        members = []
        for place in np.ndindex(*self.shape):
            part = number
            for axis, at in enumerate(place):
                chosen = slice(None) if at == self.sizes[axis] else slice(at, at + 1)
                part = part[(*(slice(None),) * axis, chosen)]
            members.append(part.ravel().tolist())
        return members

    @cached_property
    def facts(self) -> list[Facts]:
        """The facts of each cell, with margins."""
        inner, limits = self.holding.facts(self.limits), self.limits
        return [
            inner[cells[0]] if len(cells) == 1 else self.holding.union(cells, limits)
            for cells in self.members
        ]

    @cached_property
    def rules(self) -> list[frozenset[str]]:
        """The rules that each cell breaks."""
        return [broken(facts, self.limits) for facts in self.facts]

    def hidden(self, counts: BoolArray) -> BoolArray:
        """The cells whose sums, means and deviations are withheld, besides those of withheld
        counts.
        """
        primary = np.array([bool(rules) for rules in self.rules]).reshape(self.shape)
        hidden = (primary | counts | self.one_way) & (self._n > 0)
        if not hidden.any():
            return hidden
        while True:
            grown = self._lines_closed(hidden)
            states = {"primary": primary, "before": grown & ~primary}
            known = np.zeros_like(primary)
            grown, _ = solved(*self._asked(primary), n=self._n, known=known, **states)
            if (grown == hidden).all():
                return hidden
            hidden = grown

    @cached_property
    def one_way(self) -> BoolArray:
        """The margins that tables of one variable withhold."""
        mask = np.zeros(self.shape, dtype=np.bool_)
        places = np.unravel_index(self.holding.codes, self.sizes)
        for axis, codes in enumerate(places):
            alone = replace(self.holding, codes=codes.astype(np.int64), groups=self.sizes[axis])
            groups = hide_groups(alone, alone.facts(self.limits), self.limits)
            place: tuple[Any, ...] = (slice(None), *(-1,) * (mask.ndim - 1))
            margin = np.moveaxis(mask, axis, 0)[place]
            margin[sorted(groups.value)] = True
            margin[-1] |= groups.total_value
        return mask

    @cached_property
    def _n(self) -> IntArray:
        return np.array([facts.n for facts in self.facts], dtype=np.int64).reshape(self.shape)

    def _asked(self, primary: BoolArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Sums in whole units, the least they can be, how far sensitive ones must be protected."""
        places = np.flatnonzero(~margins_of(self.shape).ravel()).tolist()
        inner = [self.facts[at].total if self.facts[at].n else 0.0 for at in places]
        largest = max((facts.size for facts in self.facts), default=0.0)
        unit = _UNITS / largest if largest > 0 else 1.0
        whole = np.rint(np.array(inner) * unit).astype(np.int64).reshape(self.sizes)
        value = with_margins(whole)
        signed = bool(self.holding.values.size) and float(self.holding.values.min()) < 0
        level = self.levels.ravel() * unit
        wanted = np.maximum(np.ceil(level), 1).astype(np.int64).reshape(self.shape) * primary
        low = np.full(value.shape, -(2**53) if signed else 0, dtype=np.int64)
        lower = wanted if signed else np.minimum(wanted, value)
        return value, low, lower, wanted

    @cached_property
    def levels(self) -> FloatArray:
        """By how much an estimate of each cell must be off: what p% and (2,k) ask for."""
        names, shape = ("first", "second", "size"), self.shape
        first, second, size = (
            np.array([getattr(facts, name) for facts in self.facts]).reshape(shape)
            for name in names
        )
        top = first + second
        close = self.limits.closeness / 100 * first - (size - top)
        share = 100 / self.limits.dominance * top - size
        levels: FloatArray = np.maximum(np.maximum(close, share), 0.0)
        return levels

    def _lines_closed(self, hidden: BoolArray) -> BoolArray:
        """Withhold more until the withheld cells of each line, together, are safe."""
        flat, changed = hidden.ravel().copy(), True
        while changed:
            changed = False
            for (total, _), *line in lines_of(self.shape):
                parts = [cell for cell, _ in line if self.facts[cell].n]
                inside = [cell for cell in parts if flat[cell]]
                closed = bool(inside) if flat[total] else not inside
                if inside and not flat[total]:
                    # Whether nothing follows for a contributor from the sum of these cells.
                    members = [one for cell in inside for one in self.members[cell]]
                    union = self.holding.union(members, self.limits)
                    several = len(inside) > 1 and union.cases > self.limits.minimum
                    closed = several and not broken(union, self.limits)
                free = [cell for cell in parts if not flat[cell]] or [total]
                more = min(free, key=lambda cell: (self.facts[cell].cases, cell))
                if not closed and not flat[more]:
                    flat[more] = changed = True
        return flat.reshape(self.shape)
