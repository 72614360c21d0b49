"""Statistics of one group, each shown or withheld. CONFIDENTIAL but for what is shown.

In: a group's values and facts, broken rules, names of statistics. Out: for each name a number
that may be shown, or None; and the rules that withheld the others. Percentiles are those that
`summarize, detail` defines, with enough cases beyond them; only the ranks that are asked for
are looked up: to sort large data takes longer.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.arrays import FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.disclosure_rules import Facts, free_statistics
from discreet_fire.statistics.grouped_values import GroupedValues
from discreet_fire.statistics.layout import rounded
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.parallel import LARGE, side_by_side
from discreet_fire.statistics.sums import power_sums

#: Which values are on a side of another one.
_Side = Callable[[FloatArray, float], npt.NDArray[np.bool_]]
#: So many records are looked at first, whether they are of enough entities.
_SOME = 2**9


def percentile(values: FloatArray, share: float, weights: FloatArray | None = None) -> float:
    """A percentile of sorted values as `summarize, detail` defines it.

    >>> percentile(np.array([1.0, 2.0, 3.0, 4.0]), 0.5)
    2.5
    """
    if weights is None:
        low, high = _ranks(values.size, share)
        return _between(float(values[low]), float(values[high]))
    reached = np.cumsum(weights)
    goal = float(reached[-1]) * share
    upper = int(np.searchsorted(reached, goal, side="left"))
    close = abs(float(reached[min(upper, values.size - 1)]) - goal) <= 1e-12 * float(reached[-1])
    if close and upper + 1 < values.size:
        return float((values[upper] + values[upper + 1]) / 2)
    return float(values[min(upper, values.size - 1)])


def _ranks(n: int, share: float) -> tuple[int, int]:
    """The ranks between which a percentile of n values lies."""
    place = round(n * share, 9)
    upper = math.floor(place)
    if place == upper and 0 < upper < n:
        return upper - 1, upper
    return min(upper, n - 1), min(upper, n - 1)


def _between(low: float, high: float) -> float:
    return (low + high) / 2 if low != high else low


def ranked(values: FloatArray, ranks: Iterable[int]) -> dict[int, float]:
    """The values of some ranks.

    >>> ranked(np.array([30.0, 10.0, 20.0]), [0, 2])
    {2: 30.0, 0: 10.0}
    """
    result: dict[int, float] = {}
    work = [_PercentilePart(np.array(values), 0, sorted(set(ranks)))]
    while work := [part for part in work if part.ranks]:
        cuts = [part.cut for part in work]
        done = side_by_side(cuts) if values.size > LARGE else [cut() for cut in cuts]
        work = []
        for known, rest in done:
            result |= known
            work += rest
    return result


@dataclass(frozen=True, repr=False, eq=False)
class _PercentilePart:
    """Values between two ranks, and the ranks that are looked for among them (confidential)."""

    values: FloatArray
    start: int
    ranks: list[int]

    def cut(self) -> tuple[dict[int, float], list[_PercentilePart]]:
        """Find the middle rank; what is below and above it."""
        middle = len(self.ranks) // 2
        at, left = self.ranks[middle], self.ranks[:middle]
        place = at - self.start
        self.values.partition(place)
        cuts = {at: float(self.values[place])}
        if left and left[-1] == at - 1:
            cuts[left.pop()] = float(self.values[:place].max())
        above = _PercentilePart(self.values[place + 1 :], at + 1, self.ranks[middle + 1 :])
        return cuts, [_PercentilePart(self.values[:place], self.start, left), above]


@dataclass(frozen=True, repr=False, eq=False)
class Percentiles:
    """Percentiles of a group (confidential), by the shares below them."""

    whole: GroupedValues
    shares: tuple[float, ...]

    @cached_property
    def at(self) -> dict[float, float]:
        """The percentile of each share."""
        values, weights = self.whole.values, self.whole.weights
        if weights is not None:
            order = np.lexsort((weights, values))
            sums = weights[order]
            return {share: percentile(values[order], share, sums) for share in self.shares}
        ranks = {share: _ranks(values.size, share) for share in self.shares}
        known = ranked(values, (rank for pair in ranks.values() for rank in pair))
        return {share: _between(known[low], known[high]) for share, (low, high) in ranks.items()}

    def deep_enough(self, facts: Facts, share: float, limits: SafeLimits) -> bool:
        """Whether enough cases lie beyond: n·min(q, 1 − q) of at least the limit."""
        # 300 · 0.01 must be 3 and not a little less.
        if round(facts.cases * min(share, 1 - share), 9) < limits.percentile_cases:
            return False
        entities = self.whole.entities
        if entities is None:
            return True
        values, at, cases = self.whole.values, self.at[share], limits.percentile_cases
        below = share > 0.5 or _enough(values, operator.le, at, entities, cases)
        return below and (share < 0.5 or _enough(values, operator.ge, at, entities, cases))


def _enough(values: FloatArray, side: _Side, at: float, entities: IntArray, cases: int) -> bool:
    """Whether records on a side of a value are of so many entities."""
    for first in (_SOME, values.size):
        if np.unique(entities[:first][side(values[:first], at)]).size >= cases:
            return True
    return False


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
_EXTREMES = ("min", "max", "range")
#: Moments about the mean, in units of the deviation, by their power.
_POWERS = {3: "skewness", 4: "kurtosis"}


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
                message = "there is no such statistic"
                hint = f"statistics: {', '.join(NAMES)}, median, p1 … p99"
                raise OutputCheckError(message, code="statistic", where=name, hint=hint)
            chosen.append(word)
    if not chosen:
        raise OutputCheckError("no statistic is asked for", code="statistic")
    return list(dict.fromkeys(chosen))


def spreads(names: Sequence[str]) -> int:
    """How many of the statistics tell how far cases lie from their mean; deviations are one.

    >>> spreads(["n", "sd", "variance", "kurtosis"]), spreads(["mean", "p50"])
    (2, 0)
    """
    shapes = sum(name in names for name in _POWERS.values())
    # They are in units of the deviation, and so tell it.
    return shapes + (shapes > 0 or any(name in _SECOND for name in names))


def percentile_of(name: str) -> float | None:
    """The share below a percentile by its name; None for other statistics.

    >>> percentile_of("p25"), percentile_of("mean")
    (0.25, None)
    """
    match = _PERCENTILE.fullmatch(name)
    return int(match[1]) / 100 if match else None


def statistics(
    names: Sequence[str],
    facts: Facts,
    part: Callable[[], GroupedValues],
    limits: SafeLimits,
    *,
    count: bool = True,
    value: bool = True,
    spread: str = "",
    rules: frozenset[str] = frozenset(),
) -> tuple[dict[str, float | None], set[str]]:
    """Work out the statistics of a group that may be shown, by their canonical names.

    `part` gives its values, when percentiles or higher moments need them. `count` and `value` say
    whether its number of cases and its sums, means and deviations may be shown, `spread` which rule
    withholds its deviations only, `rules` which ones it breaks.
    """
    work = _ShownStatistics(
        facts, part, limits, free_statistics(facts.cases, limits), dict.fromkeys(names)
    )
    shown, violations = work.numbers, work.found
    sizes = {"n": float(facts.n), "sum_w": rounded(facts.weight, limits.digits + 5)}
    if count or not facts.n:
        shown.update({name: size for name, size in sizes.items() if name in shown})
    if not facts.n:
        return shown, violations
    if value:
        work.add_moments(spread)
    if count and "minimum" not in rules and "same" not in rules:
        work.add_percentiles()
    shaped = any(name in shown for name in _POWERS.values())
    if value and shaped and spread:
        violations.add(spread)
    elif value and shaped and facts.squares > 0:
        work.add_shape()
    if any(name in shown for name in _EXTREMES):
        violations.add("extremes")
    return shown, violations


@dataclass(repr=False, eq=False)
class _ShownStatistics:
    """Statistics of a group in the making: `free` more may be shown (confidential)."""

    facts: Facts
    part: Callable[[], GroupedValues]
    limits: SafeLimits
    free: int
    numbers: dict[str, float | None]
    found: set[str] = field(default_factory=set)

    def add_moments(self, spread: str) -> None:
        """Means, and deviations unless a rule withholds them."""
        facts, rules = self.facts, self.found
        names = [name for name in (*_FIRST, *_SECOND) if name in self.numbers]
        deviations = any(name in _SECOND for name in names)
        if deviations and spread:
            rules.add(spread)
            names, deviations = [name for name in names if name in _FIRST], False
        if not names:
            return
        if self.free < 1:
            rules.add("equations")
            self.free = 0
            return
        if deviations and self.free < 2:
            rules.add("equations")
            names = [name for name in names if name in _FIRST]
        n = facts.n
        squares = facts.squares * n / facts.weight if facts.weight else math.nan
        variance = squares / (n - 1) if n > 1 else math.nan
        sd = math.sqrt(variance) if variance >= 0 else math.nan
        values = {"mean": facts.mean, "sum": facts.total, "variance": variance, "sd": sd}
        values["cv"] = sd / facts.mean if facts.mean else math.nan
        values["semean"] = sd / math.sqrt(n)
        for name in names:
            self._show(name, values[name])
        self.free -= 1 + any(name in _SECOND for name in names)

    def add_percentiles(self) -> None:
        """Percentiles far enough from the ends, the middle ones first."""
        wanted = {
            share: name for name in self.numbers if (share := percentile_of(name)) is not None
        }
        if "iqr" in self.numbers:
            wanted |= {0.25: "p25", 0.75: "p75"}
        if not wanted:
            return
        percentiles = Percentiles(self.part(), tuple(wanted))
        known: dict[str, float] = {}
        for share in sorted(wanted, key=lambda share: (abs(share - 0.5), share)):
            if not percentiles.deep_enough(self.facts, share, self.limits):
                self.found.add("percentile")
            elif self.free < 1:
                self.found.add("equations")
            else:
                self.free -= 1
                known[wanted[share]] = percentiles.at[share]
        for name, at in known.items():
            if name in self.numbers:
                self._show(name, at)
        if "iqr" in self.numbers and {"p25", "p75"} <= set(known):
            self._show("iqr", known["p75"] - known["p25"])

    def add_shape(self) -> None:
        """Skewness and kurtosis, as moments about the mean."""
        facts = self.facts
        powers = {power: name for power, name in _POWERS.items() if name in self.numbers}
        if self.free < len(powers):
            self.found.add("equations")
            powers = dict(list(powers.items())[: max(self.free, 0)])
        if not powers:
            return
        whole, scale = self.part(), math.sqrt(facts.squares / facts.weight)
        sums = power_sums(whole.values, facts.mean, scale, powers, whole.weights)
        for name, total in zip(powers.values(), sums, strict=True):
            self._show(name, total / facts.weight)

    def _show(self, name: str, value: float) -> None:
        self.numbers[name] = rounded(value, self.limits.digits) if math.isfinite(value) else None
