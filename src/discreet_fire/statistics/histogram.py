"""`histogram`: how many cases lie in fixed classes.

In: a frame of microdata (confidential), a variable, rules. Out: a `SafeResult`. The edges
of classes never depend on minimum and maximum: they are given, or multiples of a round
width made of quartiles. Classes of few cases are merged with their neighbours, and the
outer ones are open.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.contributions import EntityNumbers
from discreet_fire.statistics.disclosure_rules import Found, broken, checks_of, leading
from discreet_fire.statistics.group_statistics import statistics
from discreet_fire.statistics.grouped_values import GroupedValues
from discreet_fire.statistics.layout import abbreviated, closed, count_text, fixed, general, rounded
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.records import take
from discreet_fire.statistics.results import OutputEvidence, SafeResult

_MOST = 60
_BAR = 40


def histogram(
    frame: Any,
    name: str,
    *,
    edges: Sequence[float] | None = None,
    start: float | None = None,
    width: float | None = None,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    where: str | None = None,
) -> SafeResult:
    """Frequencies in classes.

    >>> frame = pl.DataFrame({"x": [1, 2, 3, 11, 12, 13, 14, 25, 26, 27, 99]})
    >>> print(histogram(frame, "x", edges=[10, 20, 30]))
               x |      Freq.    Percent
    -------------+----------------------
            < 10 |          3      27.27  ******************************
        10 - <20 |          4      36.36  ****************************************
           >= 20 |          4      36.36  ****************************************
    """
    limits = limits_of(limits)
    records = take(frame, [name], where=where, entity=entity)
    holding = GroupedValues.of(records.numbers(name), None, 1, records.entities())
    facts = holding.total(limits)
    rules = broken(facts, limits) & {"minimum", "same"}
    violations = [Found(rule, name) for rule in leading(rules)]
    if rules or not facts.n:
        lines = ["."] if facts.n else ["no observations"]
        return SafeResult(
            command=f"histogram {name}",
            shown=closed(lines, bool(rules), limits.language),
            checks=checks_of(violations, ["minimum", "same"]),
        )
    classes = _Classes(_edges(holding, edges, start, width, limits), holding)
    merged = _safe_edges(classes, limits)
    sizes = classes.sizes(merged).tolist()
    return SafeResult(
        command=f"histogram {name}",
        shown="\n".join(_lines(name, merged, sizes)),
        frame=pl.DataFrame(
            {"from": [None, *merged], "below": [*merged, None], "n": sizes},
            schema={"from": pl.Float64, "below": pl.Float64, "n": pl.Int64},
        ),
        stored={"N": float(facts.n)},
        checks=checks_of([Found("bins", name)] * (merged != classes.edges), ["minimum", "bins"]),
        evidence=OutputEvidence(edges=classes.edges, facts=facts),
    )


def _edges(
    holding: GroupedValues,
    edges: Sequence[float] | None,
    start: float | None,
    width: float | None,
    limits: SafeLimits,
) -> list[float]:
    if edges is not None:
        sorted_edges = [float(edge) for edge in edges]
        rising = all(low < high for low, high in itertools.pairwise(sorted_edges))
        if not sorted_edges or not rising or not all(math.isfinite(edge) for edge in sorted_edges):
            raise OutputCheckError("edges are finite and ascending", code="edges")
        return sorted_edges
    # Where the rules allow to use them.
    quartiles, _ = statistics(["p25", "p75"], holding.total(limits), lambda: holding, limits)
    lower, upper = quartiles["p25"], quartiles["p75"]
    if lower is None or upper is None or lower == upper:
        message = "classes cannot be made of quartiles here"
        hint = "name the edges of classes: edges=[…]"
        raise OutputCheckError(message, code="edges", hint=hint)
    spread = upper - lower
    if width is None:
        width = _round_width(2 * spread / holding.values.size ** (1 / 3))
    if not (math.isfinite(width) and width > 0):
        raise OutputCheckError("the width of classes is above 0", code="edges", where="width")
    # Two interquartile ranges beyond the quartiles; the rest is in the open classes.
    origin = 0.0 if start is None else float(start)
    low = (lower - 2 * spread - origin) / width
    high = (upper + 2 * spread - origin) / width
    if not (math.isfinite(low) and math.isfinite(high)):
        message = "classes of this start and width do not fit the variable"
        raise OutputCheckError(message, code="edges", where="width")
    first, last = math.floor(low), math.ceil(high)
    while last - first > _MOST:
        width, first, last = width * 2, math.floor(first / 2), math.ceil(last / 2)
    return [origin + width * at for at in range(first, last + 1)]


def _round_width(width: float) -> float:
    """The nearest of 1, 2, 5, 10, … that is not smaller.

    >>> _round_width(0.3), _round_width(1200.0)
    (0.5, 2000.0)
    """
    power = 10.0 ** math.floor(math.log10(width))
    step = next(step for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-12))
    return rounded(step * power, 12)


@dataclass(frozen=True, repr=False, eq=False)
class _Classes:
    """Values in the classes between edges, and in those that are left of them (confidential)."""

    edges: list[float]
    holding: GroupedValues

    @cached_property
    def _sizes(self) -> IntArray:
        values = self.holding.ascending
        below = np.searchsorted(values, np.array(self.edges), side="left")
        return np.diff(below, prepend=0, append=values.size)

    def _merged(self, left: Sequence[float]) -> IntArray:
        """The class that each class is part of, by the edges that are left."""
        return np.searchsorted(np.array(left), np.array([-math.inf, *self.edges]), "right")

    def sizes(self, left: Sequence[float]) -> IntArray:
        """How many values there are in each class, by the edges that are left."""
        return np.bincount(self._merged(left), self._sizes, len(left) + 1).astype(np.int64)

    def cases(self, left: Sequence[float]) -> IntArray:
        """How many cases; an entity with records in several classes is one where they merge."""
        if self.holding.entities is None:
            return self.sizes(left)
        who, places = self._who
        return who.cases(self._merged(left)[places], len(left) + 1)

    @cached_property
    def _who(self) -> tuple[EntityNumbers, IntArray]:
        """The entities, and the class of each value in their order."""
        assert self.holding.entities is not None
        who = EntityNumbers.of(self.holding.entities)
        places = np.searchsorted(np.array(self.edges), self.holding.values, "right")
        return who, who.gathered(places.astype(np.int64))


def _safe_edges(classes: _Classes, limits: SafeLimits) -> list[float]:
    """The edges between classes of enough cases."""
    fewest = max(limits.bin_cases, limits.minimum)
    merged = _merged(classes.edges, classes.cases(classes.edges).tolist(), fewest)
    while merged:
        cases = classes.cases(merged)
        small = np.flatnonzero((cases > 0) & (cases < fewest))
        if not small.size:
            break
        merged.pop(min(int(small[0]), len(merged) - 1))
    return merged


def _merged(edges: list[float], cases: Sequence[int], fewest: int) -> list[float]:
    """The edges that are left when small classes join their neighbours."""
    kept: list[float] = []
    reached = 0
    for edge, size in zip(edges, cases, strict=False):
        reached += size
        # An empty class is shown between others, but not at the ends: they would tell
        # where the smallest and the largest value lie.
        if reached >= fewest or (reached == 0 and kept):
            kept.append(edge)
            reached = 0
    reached += cases[-1]
    while kept and reached < fewest:
        at = edges.index(kept.pop())
        before = edges.index(kept[-1]) + 1 if kept else 0
        reached += sum(cases[before : at + 1])
    return kept


def _lines(name: str, edges: Sequence[float], sizes: Sequence[int]) -> list[str]:
    texts = [general(edge, 7) for edge in edges]
    inner = [f"{low} - <{high}" for low, high in itertools.pairwise(texts)]
    labels = [f"< {texts[0]}", *inner, f">= {texts[-1]}"] if texts else ["all"]
    total, most = sum(sizes), max(sizes)
    # Labels of classes are never cut, so the stub is as wide as the longest.
    wide = max(12, *(len(label) for label in labels))
    lines = [f"{abbreviated(name, 12):>{wide}} |{'Freq.':>11}{'Percent':>11}"]
    lines.append("-" * (wide + 1) + "+" + "-" * 22)
    for label, size in zip(labels, sizes, strict=True):
        numbers = f"{count_text(float(size)):>11}{fixed(100 * size / total):>11}"
        lines.append(f"{label:>{wide}} |{numbers}  {'*' * round(_BAR * size / most)}".rstrip())
    return lines
