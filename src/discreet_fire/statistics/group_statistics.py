"""Statistics of one group, each shown or withheld. CONFIDENTIAL but for what is shown.

In: a group's values and facts, broken rules, names of statistics. Out: for each name a number
that may be shown, or None; and the rules that withheld the others. Percentiles are those that
`summarize, detail` defines, with enough cases beyond them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.disclosure_rules import Facts, free_statistics
from discreet_fire.statistics.grouped_values import GroupedValues, exact_sum
from discreet_fire.statistics.layout import rounded
from discreet_fire.statistics.limits import SafeLimits


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


def _deep_enough(whole: GroupedValues, cases: int, share: float, at: float, least: int) -> bool:
    """Whether enough cases lie beyond: n·min(q, 1 − q) of at least the limit."""
    # 300 · 0.01 must be 3 and not a little less.
    if round(cases * min(share, 1 - share), 9) < least:
        return False

    def enough(side: Callable[[FloatArray], BoolArray]) -> bool:
        """Whether records on a side of the percentile are of so many entities."""
        return whole.entities is None or np.unique(whole.entities[side(whole.values)]).size >= least

    below = share > 0.5 or enough(lambda values: values <= at)
    return below and (share < 0.5 or enough(lambda values: values >= at))


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


def spreads(names: Sequence[str]) -> int:
    """Number of statistics on the spread of cases; deviations count as one.

    >>> spreads(["n", "sd", "variance", "kurtosis"]), spreads(["mean", "p50"])
    (2, 0)
    """
    shapes = sum(name in names for name in _SHAPES)
    # They are in units of the deviation, and so tell it.
    return shapes + (shapes > 0 or any(name in _SECOND for name in names))


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
    shown: dict[str, float | None] = dict.fromkeys(names)
    violations: set[str] = set()
    free = free_statistics(facts.cases, limits)  # so many more may be shown

    def show(name: str, number: float) -> None:
        shown[name] = rounded(number, limits.digits) if math.isfinite(number) else None

    n = facts.n
    if count or not n:
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
    if wanted and count and not rules & {"minimum", "same"}:
        whole = part()
        ordered, weights = whole.ascending, whole.weights
        if weights is not None:
            order = np.lexsort((weights, whole.values))
            ordered, weights = whole.values[order], weights[order]
        known: dict[str, float] = {}
        for share in sorted(wanted, key=lambda share: (abs(share - 0.5), share)):
            at = percentile(ordered, share, weights)
            if not _deep_enough(whole, facts.cases, share, at, limits.percentile_cases):
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
