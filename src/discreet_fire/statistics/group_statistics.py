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
from dataclasses import dataclass
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
    found: dict[int, float] = {}
    work = [_PercentilePart(np.array(values), 0, sorted(set(ranks)))]
    while work := [part for part in work if part.ranks]:
        cuts = [part.cut for part in work]
        done = side_by_side(cuts) if values.size > LARGE else [cut() for cut in cuts]
        work = []
        for known, rest in done:
            found |= known
            work += rest
    return found


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
        found = {at: float(self.values[place])}
        if left and left[-1] == at - 1:
            found[left.pop()] = float(self.values[:place].max())
        above = _PercentilePart(self.values[place + 1 :], at + 1, self.ranks[middle + 1 :])
        return found, [_PercentilePart(self.values[:place], self.start, left), above]

    def __repr__(self) -> str:
        return "<Part: confidential>"


@dataclass(frozen=True, repr=False, eq=False)
class Percentiles:
    """Percentiles of a group (confidential).

    Args:
        whole: Its values.
        shares: The shares below the percentiles.
    """

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

    def __repr__(self) -> str:
        return "<Percentiles: confidential>"


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
    found = []
    for name in listed:
        for word in _OTHER.get(name.lower(), name.lower()).split():
            if word not in NAMES and not _PERCENTILE.fullmatch(word):
                raise OutputCheckError(
                    "there is no such statistic",
                    code="statistic",
                    where=name,
                    hint=f"statistics: {', '.join(NAMES)}, median, p1 … p99",
                )
            found.append(word)
    if not found:
        raise OutputCheckError("no statistic is asked for", code="statistic")
    return list(dict.fromkeys(found))


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
    found = _PERCENTILE.fullmatch(name)
    return int(found[1]) / 100 if found else None


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
    """Work out the statistics of a group that may be shown.

    Args:
        names: Canonical names.
        facts: The facts of the group.
        part: Gives its values, when percentiles or higher moments need them.
        limits: The rules.
        count: Whether its number of cases may be shown.
        value: Whether its sums, means and deviations may be shown.
        spread: The rule that withholds its deviations only.
        rules: Rules that the group breaks.
    """
    shown: dict[str, float | None] = dict.fromkeys(names)
    found: set[str] = set()
    if not facts.n:
        shown.update({name: 0.0 for name in ("n", "sum_w") if name in shown})
        return shown, found
    if count:
        shown.update({name: size for name, size in _sizes(facts, limits).items() if name in shown})
    free = free_statistics(facts.cases, limits)
    if value:
        free = _moments(shown, facts, limits, free, found, spread)
    if count and "minimum" not in rules and "same" not in rules:
        free = _percentiles(shown, facts, part, limits, free, found)
    shaped = [name for name in _POWERS.values() if name in shown]
    if value and shaped and spread:
        found.add(spread)
    elif value and shaped and facts.squares > 0:
        _shape(shown, facts, part, limits, free, found)
    if any(name in shown for name in _EXTREMES):
        found.add("extremes")
    return shown, found


def _sizes(facts: Facts, limits: SafeLimits) -> dict[str, float]:
    return {"n": float(facts.n), "sum_w": rounded(facts.weight, limits.digits + 5)}


def _moments(
    shown: dict[str, float | None],
    facts: Facts,
    limits: SafeLimits,
    free: int,
    found: set[str],
    spread: str,
) -> int:
    """Means and deviations; how many statistics are left to be shown."""
    asked = [name for name in (*_FIRST, *_SECOND) if name in shown]
    if not asked:
        return free
    deviations = any(name in _SECOND for name in asked)
    if deviations and spread:
        found.add(spread)
        asked, deviations = [name for name in asked if name in _FIRST], False
    if not asked:
        return free
    if free < 1:
        found.add("equations")
        return 0
    if deviations and free < 2:
        found.add("equations")
        asked = [name for name in asked if name in _FIRST]
    n = facts.n
    squares = facts.squares * n / facts.weight if facts.weight else math.nan
    variance = squares / (n - 1) if n > 1 else math.nan
    values = {
        "mean": facts.mean,
        "sum": facts.total,
        "variance": variance,
        "sd": math.sqrt(variance) if variance >= 0 else math.nan,
    }
    values["cv"] = values["sd"] / facts.mean if facts.mean else math.nan
    values["semean"] = values["sd"] / math.sqrt(n)
    for name in asked:
        shown[name] = _finite(values[name], limits)
    return free - 1 - any(name in _SECOND for name in asked)


def _percentiles(
    shown: dict[str, float | None],
    facts: Facts,
    part: Callable[[], GroupedValues],
    limits: SafeLimits,
    free: int,
    found: set[str],
) -> int:
    """Percentiles far enough from the ends, the middle ones first."""
    wanted = {share: name for name in shown if (share := percentile_of(name)) is not None}
    if "iqr" in shown:
        wanted |= {0.25: "p25", 0.75: "p75"}
    if not wanted:
        return free
    percentiles = Percentiles(part(), tuple(wanted))
    known: dict[str, float] = {}
    for share in sorted(wanted, key=lambda share: (abs(share - 0.5), share)):
        name = wanted[share]
        if not percentiles.deep_enough(facts, share, limits):
            found.add("percentile")
        elif free < 1:
            found.add("equations")
        else:
            free -= 1
            known[name] = percentiles.at[share]
    for name, at in known.items():
        if name in shown:
            shown[name] = _finite(at, limits)
    if "iqr" in shown and {"p25", "p75"} <= set(known):
        shown["iqr"] = _finite(known["p75"] - known["p25"], limits)
    return free


def _shape(
    shown: dict[str, float | None],
    facts: Facts,
    part: Callable[[], GroupedValues],
    limits: SafeLimits,
    free: int,
    found: set[str],
) -> None:
    """Skewness and kurtosis, as moments about the mean."""
    scale = math.sqrt(facts.squares / facts.weight)
    powers = {power: name for power, name in _POWERS.items() if name in shown}
    if free < len(powers):
        found.add("equations")
        powers = dict(list(powers.items())[: max(free, 0)])
    if not powers:
        return
    whole = part()
    sums = power_sums(whole.values, facts.mean, scale, powers, whole.weights)
    for name, total in zip(powers.values(), sums, strict=True):
        shown[name] = _finite(total / facts.weight, limits)


def _finite(value: float, limits: SafeLimits) -> float | None:
    return rounded(value, limits.digits) if math.isfinite(value) else None
