"""`GroupedValues`: values of one variable with groups, entities and weights. CONFIDENTIAL.

In: keys of entities; values, groups and weights of records; names of statistics. Out: for each
group the statistics that may be shown, and the rules that withheld the others; the `Facts` of each
group, or of any union of groups: how many cases there are, the sum of the sizes of their
contributions, the two largest, how many cases differ from the commonest value. All are as exact as
if the group were all there is, and the same to the last bit whatever the order of the records:
values are scaled by a power of two to at most 1 in size, and cut into slices of 26 bits, which are
added as whole numbers. What is cut off is below 2^-78 of the largest value of the group per record.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.disclosure_rules import MANY, Facts, Found, free_statistics, leading
from discreet_fire.statistics.layout import rounded
from discreet_fire.statistics.limits import SafeLimits

_BITS, _SLICES = 26, 3
#: 2 to this power is the smallest scale: its inverse is a number too.
_LEAST = -1021


def exact_sums(
    values: FloatArray,
    codes: IntArray | None = None,
    groups: int = 1,
    *,
    weights: FloatArray | None = None,
    centres: FloatArray | None = None,
    shifts: FloatArray | None = None,
    power: int = 1,
) -> FloatArray:
    """Sums per group of weighted distances from a centre, or of their squares (power 2).

    Values are without NaN, codes never -1, and None if all are in one group. The distance is
    value − centre − shift, in this order.

    >>> exact_sums(np.array([1e40, 0.25, 0.5]), np.array([0, 1, 1]), 2).tolist()
    [1e+40, 0.75]
    """
    inside = np.zeros(values.size, dtype=np.int64) if codes is None else codes
    away = values
    for about in (centres, shifts):
        away = away if about is None else away - about[inside]
    away = away * away if power == 2 else away
    away = away if weights is None else away * weights
    largest = largest_of(np.abs(away), inside, groups)
    shift = np.where(largest > 0, np.maximum(np.frexp(largest)[1], _LEAST), 0).astype(np.int64)
    rest = away * np.ldexp(1.0, -shift)[inside]
    total = np.zeros(groups, dtype=np.longdouble)
    for number in range(1, _SLICES + 1):
        rest = rest * 2.0**_BITS
        whole = np.rint(rest)
        rest = rest - whole
        part = np.bincount(inside, whole, groups)
        total += part.astype(np.longdouble) * 2.0 ** (-_BITS * number)
    return np.asarray(np.ldexp(total, shift), dtype=np.float64)


def exact_sum(values: FloatArray) -> float:
    """The sum of values without NaN, the same in every order.

    >>> exact_sum(np.array([0.1, 0.2, 0.3])) == exact_sum(np.array([0.3, 0.1, 0.2]))
    True
    """
    return float(exact_sums(values)[0])


def largest_of(sizes: FloatArray, codes: IntArray, groups: int) -> FloatArray:
    """The largest of some sizes in each group; 0 if there is none."""
    largest = np.zeros(groups)
    np.maximum.at(largest, codes, sizes)
    return largest


@dataclass(frozen=True, repr=False, eq=False)
class EntityNumbers:
    """Whom each record is about, as numbers; positions of records in the order of these, and where
    those of each start, and the last end (confidential).
    """

    who: IntArray
    order: IntArray
    start: IntArray

    @classmethod
    def of(cls, keys: IntArray) -> EntityNumbers:
        """Number entities."""
        order = pl.Series(keys).arg_sort().to_numpy()
        begins = _begins(keys[order])
        who = np.empty(len(keys), dtype=np.int64)
        who[order] = np.cumsum(begins) - 1
        return cls(who, order, np.append(np.flatnonzero(begins), len(keys)))

    def cases(self, codes: IntArray, groups: int) -> IntArray:
        """Number of entities per group; code -1 is no group."""
        codes = codes[self.order]
        order, begins = _pairs(codes, self.start)
        return np.bincount(codes[order][begins] + 1, minlength=groups + 1)[1:].astype(np.int64)


def _begins(*ordered: IntArray) -> BoolArray:
    """Where something else begins in columns that are in order."""
    begins = np.zeros(len(ordered[0]), dtype=np.bool_)
    begins[:1] = True
    for column in ordered:
        begins[1:] |= column[1:] != column[:-1]
    return begins


def _pairs(codes: IntArray, start: IntArray) -> tuple[IntArray, BoolArray]:
    """Of records in the order of entities: positions by group and entity, and
    where another pair begins.
    """
    small = codes.size and codes.max() < 2**15
    order = np.argsort(codes.astype(np.int16) if small else codes, kind="stable")
    who = np.repeat(np.arange(len(start) - 1), np.diff(start))[order]
    return order, _begins(codes[order], who)


def contributions(
    values: FloatArray,
    amounts: FloatArray,
    squares: FloatArray,
    places: IntArray,
    groups: int,
    start: IntArray,
    enough: int,
) -> dict[str, npt.NDArray[Any]]:
    """Contributions of entities to each group, by the names of facts: how many cases there are,
    the sum of their sizes, the two largest, how many cases differ from the commonest value, and
    the largest part of one in the squares.

    Records are in the order of entities, those of each begin at `start`; values have no NaN, places
    are codes of groups, never -1. So many differing entities as are enough need not be counted.
    """
    mixed: BoolArray = np.zeros(values.size, dtype=np.bool_)
    if len(start) <= values.size:
        order, begins = _pairs(places, start)
        first = np.flatnonzero(begins)
        ordered, pair = values[order], np.cumsum(begins) - 1
        values, high = np.minimum.reduceat(ordered, first), np.maximum.reduceat(ordered, first)
        amounts, squares = (exact_sums(x[order], pair, len(first)) for x in (amounts, squares))
        mixed = values != high
        places = places[order][first]
    sizes = np.abs(amounts)
    cases = np.bincount(places, minlength=groups)
    largest = largest_of(sizes, places, groups)
    # The second largest is the largest of all but one case that has the largest.
    leading = np.flatnonzero(sizes == largest[places])
    rest = sizes.copy()
    rest[leading[np.unique(places[leading], return_index=True)[1]]] = 0.0
    return {
        "cases": cases,
        "size": exact_sums(sizes, places, groups),
        "first": largest,
        "second": largest_of(rest, places, groups),
        "differing": _differing(np.where(mixed, np.nan, values), places, cases, enough),
        "apart": largest_of(squares, places, groups),
    }


def _differing(values: FloatArray, places: IntArray, cases: IntArray, enough: int) -> IntArray:
    """How many cases differ from the commonest value of their group, where they are not enough.

    Of so many cases as are enough, one has the commonest value if fewer differ from it.
    """
    differing, left = cases, np.arange(len(places))
    for _ in range(enough):
        if not left.size:
            break
        first = np.full(len(cases), -1)
        first[places[left[::-1]]] = left[::-1]
        there = first >= 0
        known = np.full(len(cases), np.nan)
        known[there] = values[first[there]]
        apart = np.bincount(places[values != known[places]], minlength=len(cases))
        differing = np.minimum(differing, apart)
        used = np.zeros(len(places), dtype=np.bool_)
        used[first[there]] = True
        left = left[~used[left]]
    return differing


@dataclass(frozen=True, repr=False, eq=False)
class GroupedValues:
    """Values of one variable, none missing, ready for rules (confidential).

    Entities are None if each value is about another. `numbering` gives the entities numbered, where
    several variables share them.
    """

    values: FloatArray
    codes: IntArray
    groups: int
    entities: IntArray | None = None
    weights: FloatArray | None = None
    numbering: Callable[[], EntityNumbers] | None = None

    @classmethod
    def of(
        cls,
        values: FloatArray,
        codes: IntArray | None,
        groups: int,
        entities: IntArray | None = None,
        weights: FloatArray | None = None,
        numbering: Callable[[], EntityNumbers] | None = None,
    ) -> GroupedValues:
        """Leave out missing values, records without a weight and records in no group.

        Codes are None if all are in one group.
        """
        codes = np.zeros(values.size, dtype=np.int64) if codes is None else codes
        used = ~np.isnan(values) & (codes >= 0)
        if weights is not None:
            used &= ~np.isnan(weights)
        grouped = cls(values, codes, groups, entities, weights, numbering)
        return grouped if used.all() else grouped._taken(used)

    def _taken(self, at: IntArray | BoolArray | slice) -> GroupedValues:
        return replace(
            self,
            values=self.values[at],
            codes=self.codes[at],
            entities=None if self.entities is None else self.entities[at],
            weights=None if self.weights is None else self.weights[at],
            numbering=None,
        )

    @cached_property
    def _who(self) -> EntityNumbers:
        assert self.entities is not None
        return EntityNumbers.of(self.entities) if self.numbering is None else self.numbering()

    def facts(self, limits: SafeLimits) -> list[Facts]:
        """The facts of each group; where enough cases differ, it is not counted how many."""
        values, codes, weights = self.values, self.codes, self.weights
        if not values.size:
            return [Facts() for _ in range(self.groups)]
        count = np.bincount(codes, minlength=self.groups)
        low, high = np.full(self.groups, np.inf), np.full(self.groups, -np.inf)
        np.minimum.at(low, codes, values)
        np.maximum.at(high, codes, values)
        start = np.where(count > 0, low, 0.0)
        total = count.astype(np.float64)
        if weights is not None:
            total = exact_sums(weights, codes, self.groups)
        # Of values far from 0 that lie close together, the mean alone would lose digits.
        shift = exact_sums(values, codes, self.groups, weights=weights, centres=start)
        shift /= np.where(total > 0, total, 1.0)
        squares = exact_sums(
            values, codes, self.groups, weights=weights, centres=start, shifts=shift, power=2
        )
        away = (values - start[codes] - shift[codes]) ** 2
        away = away if weights is None else away * weights
        # Of just two values all cases share one or the other.
        between = (values > low[codes]) & (values < high[codes])
        several = largest_of(between.astype(np.float64), codes, self.groups) > 0
        starts = np.arange(values.size + 1)
        if self.entities is not None:
            starts, order = self._who.start, self._who.order
            values, away, codes = values[order], away[order], codes[order]
            weights = None if weights is None else weights[order]
        amounts = values if weights is None else values * weights
        facts = contributions(values, amounts, away, codes, self.groups, starts, limits.minimum)
        heavy = [(0.0, 0.0, 0.0)] * self.groups
        if weights is not None:
            loads = contributions(weights, weights, away, codes, self.groups, starts, 0)
            weighing = (total.tolist(), loads["first"].tolist(), loads["second"].tolist())
            heavy = list(zip(*weighing, strict=True))
        # How many differ is known where they are not enough, and then how many others there are.
        few, same = facts["differing"] < limits.minimum, low == high
        held = np.where(several, facts["cases"] - facts["differing"], MANY)
        facts |= {"n": count, "weight": total, "low": low, "high": high, "mean": start + shift}
        facts |= {"squares": squares, "held": np.where(same, MANY, np.where(few, held, 0))}
        facts["differing"] = np.where(same, 0, np.where(few, facts["differing"], MANY))
        rows = zip(*(column.tolist() for column in facts.values()), strict=True)
        groups = [dict(zip(facts, row, strict=True)) for row in rows]
        return [
            Facts(**one, heavy=three) if one["n"] else Facts()
            for one, three in zip(groups, heavy, strict=True)
        ]

    def total(self, limits: SafeLimits) -> Facts:
        """The facts of all groups together."""
        return self.union(range(self.groups), limits)

    def union(self, groups: Iterable[int], limits: SafeLimits) -> Facts:
        """The facts of a union of groups."""
        return self.part(groups).facts(limits)[0]

    def part(self, groups: Iterable[int]) -> GroupedValues:
        """The values of a union of groups, as one group."""
        groups = list(groups)
        who = None if self.entities is None else lambda: self._who
        whole = replace(self, codes=np.zeros_like(self.codes), groups=1, numbering=who)
        if len(groups) == self.groups:
            return whole
        order, start = self._order
        none = np.zeros(0, dtype=np.int64)
        return whole._taken(
            np.concatenate([none, *(order[start[at] : start[at + 1]] for at in groups)])
        )

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray]:
        """Positions of values sorted by group, and where each group begins."""
        kind = np.uint16 if self.groups <= 2**16 else np.int64
        order = np.argsort(self.codes.astype(kind), kind="stable")
        count = np.bincount(self.codes, minlength=self.groups)
        return order, np.concatenate([[0], np.cumsum(count)]).astype(np.int64)


def percentile(values: FloatArray, share: float, weights: FloatArray | None = None) -> float:
    """A percentile of sorted values as `summarize, detail` defines it.

    >>> percentile(np.array([1.0, 2.0, 3.0, 4.0]), 0.5)
    2.5
    """
    last = values.size - 1
    if weights is None:
        place = round(values.size * share, 9)
        upper = math.floor(place)
        exact = place == upper and 0 < upper <= last
        return (
            float(values[upper - 1] + values[upper]) / 2
            if exact
            else float(values[min(upper, last)])
        )
    reached = np.cumsum(weights)
    goal = float(reached[-1]) * share
    upper = min(int(np.searchsorted(reached, goal, side="left")), last)
    if abs(float(reached[upper]) - goal) <= 1e-12 * float(reached[-1]) and upper < last:
        return float((values[upper] + values[upper + 1]) / 2)
    return float(values[upper])


#: Statistics by their names in Stata; percentiles p1 … p99 besides.
NAMES = (
    *("n", "sum_w", "mean", "sum", "sd", "variance", "cv", "semean"),
    *("skewness", "kurtosis", "iqr", "min", "max", "range"),
)
_OTHER = {
    "count": "n",
    "average": "mean",
    "var": "variance",
    "median": "p50",
    "med": "p50",
    "q": "p25 p50 p75",
    "q50": "p50",
    "total": "sum",
    "skew": "skewness",
    "kurt": "kurtosis",
    "se": "semean",
}
_PERCENTILE = re.compile(r"p([1-9][0-9]?)")
_FIRST = ("mean", "sum")
_SECOND = ("sd", "variance", "cv", "semean")
#: Moments about the mean, in units of the deviation.
_SHAPES = ("skewness", "kurtosis")


def canonical_statistics(names: str | Sequence[str]) -> list[str]:
    """Names of statistics, each once and under one name.

    >>> canonical_statistics("n mean median")
    ['n', 'mean', 'p50']
    """
    listed = names.split() if isinstance(names, str) else list(names)
    chosen = []
    for name in listed:
        for word in _OTHER.get(name.lower(), name.lower()).split():
            if word not in NAMES and not _PERCENTILE.fullmatch(word):
                message = "unknown statistic"
                hint = f"statistics: {', '.join(NAMES)}, median, p1 … p99"
                raise OutputCheckError(message, code="statistic", where=name, hint=hint)
            chosen.append(word)
    if not chosen:
        raise OutputCheckError("no statistic is asked for", code="statistic")
    return list(dict.fromkeys(chosen))


def spreads_of(names: Sequence[str]) -> int:
    """Number of statistics on the spread of cases; deviations count as one.

    >>> spreads_of(["n", "sd", "variance", "kurtosis"]), spreads_of(["mean", "p50"])
    (2, 0)
    """
    shapes = sum(name in names for name in _SHAPES)
    # They are in units of the deviation, and so tell it.
    return shapes + (shapes > 0 or any(name in _SECOND for name in names))


Numbers = dict[str, float | None]


@dataclass(frozen=True, kw_only=True, repr=False)
class StatisticsGroup:
    """A group of which statistics are asked, and what is withheld of it (confidential)."""

    facts: Facts
    part: Callable[[], GroupedValues]  # its values, where percentiles or higher moments need them
    place: str = ""
    rules: frozenset[str] = frozenset()  # that it breaks
    count: bool = True  # whether its number of cases may be shown
    value: bool = True  # whether its sums, means and deviations may be shown
    spread: str = ""  # the rule that withholds its deviations only


def group_statistics(
    name: str, wanted: Sequence[str], groups: Iterable[StatisticsGroup], limits: SafeLimits
) -> tuple[list[Numbers], list[Found]]:
    """The statistics of a variable in groups, and the rules that withhold the others."""
    several: list[Numbers] = []
    found: list[Found] = []
    for one in groups:
        numbers, more = statistics_of(wanted, one, limits)
        several.append(numbers)
        hidden = not (one.count and one.value)
        rules = one.rules or ({"secondary"} if hidden else frozenset())
        broken = (*leading(rules), *sorted(more))
        found += [Found(rule, name, one.place, one.facts) for rule in broken]
    return several, found


def statistics_of(
    names: Sequence[str], group: StatisticsGroup, limits: SafeLimits
) -> tuple[Numbers, set[str]]:
    """The statistics of a group that may be shown, by their canonical names; broken rules."""
    facts, part, value, spread = group.facts, group.part, group.value, group.spread
    shown: Numbers = dict.fromkeys(names)
    violations: set[str] = set()
    free = free_statistics(facts.cases, limits)  # so many more may be shown

    def show(name: str, number: float) -> None:
        shown[name] = rounded(number, limits.digits) if math.isfinite(number) else None

    n = facts.n
    if group.count or not n:
        sizes = {"n": float(n), "sum_w": rounded(facts.weight, limits.digits + 5)}
        shown.update({name: size for name, size in sizes.items() if name in shown})
    if not n:
        return shown, violations

    # Means, and deviations unless a rule withholds them.
    means = [name for name in _FIRST if name in shown] if value else []
    deviations = [name for name in _SECOND if name in shown] if value else []
    if deviations and spread:
        violations.add(spread)
        deviations = []
    if means or deviations:
        if free < (2 if deviations else 1):
            violations.add("equations")
            means, deviations = means if free == 1 else [], []
        squares = facts.squares * n / facts.weight if facts.weight else math.nan
        variance = squares / (n - 1) if n > 1 else math.nan
        sd = math.sqrt(variance) if variance >= 0 else math.nan
        values = {"mean": facts.mean, "sum": facts.total, "variance": variance, "sd": sd}
        values["cv"] = sd / facts.mean if facts.mean else math.nan
        values["semean"] = sd / math.sqrt(n)
        for name in (*means, *deviations):
            show(name, values[name])
        free = max(free - 1 - bool(deviations), 0)

    # Percentiles far enough from the ends, the middle ones first.
    wanted = {
        int(found[1]) / 100: found[0] for name in shown if (found := _PERCENTILE.fullmatch(name))
    }
    if "iqr" in shown:
        wanted |= {0.25: "p25", 0.75: "p75"}
    if wanted and group.count and not group.rules & {"minimum", "same"}:
        whole = part()
        ordered, weights = np.sort(whole.values), whole.weights
        if weights is not None:
            order = np.lexsort((weights, whole.values))
            ordered, weights = whole.values[order], weights[order]
        known: dict[str, float] = {}
        least = limits.percentile_cases
        for share in sorted(wanted, key=lambda share: (abs(share - 0.5), share)):
            at = percentile(ordered, share, weights)
            # 300 · 0.01 must be 3 and not a little less.
            deep = round(facts.cases * min(share, 1 - share), 9) >= least
            sides = [whole.values <= at] * (share <= 0.5) + [whole.values >= at] * (share >= 0.5)
            if (who := whole.entities) is not None:
                deep = deep and all(np.unique(who[side]).size >= least for side in sides)
            if not deep:  # n·min(q, 1 − q) of at least the limit, and not of fewer entities
                violations.add("percentile")
            elif free < 1:
                violations.add("equations")
            else:
                free -= 1
                known[wanted[share]] = at
        for name, at in known.items():
            if name in shown:
                show(name, at)
        if "iqr" in shown and {"p25", "p75"} <= set(known):
            show("iqr", known["p75"] - known["p25"])

    shapes = [name for name in _SHAPES if name in shown] if value else []
    if shapes and spread:
        violations.add(spread)
    elif shapes and facts.squares > 0:
        if free < len(shapes):
            violations.add("equations")
            shapes = shapes[: max(free, 0)]
        if shapes:
            whole = part()
            unit = (whole.values - facts.mean) / math.sqrt(facts.squares / facts.weight)
            square = unit * unit
            for name in shapes:
                terms = square * (unit if name == "skewness" else square)
                terms = terms if whole.weights is None else terms * whole.weights
                show(name, exact_sum(terms) / facts.weight)
    if any(name in shown for name in ("min", "max", "range")):
        violations.add("extremes")
    return shown, violations
