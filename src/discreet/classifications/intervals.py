"""Trees from intervals of a number, such as age bands.

In: rising bounds; interval k holds the numbers from bound k up to, but not with,
bound k+1. Out: a checked `CodeTree` with codes and labels for each interval.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from numbers import Real
from typing import NamedTuple

from discreet.classifications.checks import check_bounds, raise_problems
from discreet.classifications.links import Link, tree_from_links
from discreet.classifications.tree import CodeTree
from discreet.errors import Problem

__all__ = ["Interval", "tree_from_intervals"]

Bounds = Sequence[float]


class Interval(NamedTuple):
    """The numbers from `low` up to, but not including, `high`."""

    low: float
    high: float

    def code(self, whole: bool) -> str:
        """A code in ASCII: 0-5, 65+, <18; 0-<2.5 where numbers have decimals.

        >>> Interval(0, 6).code(True), Interval(65, math.inf).code(True)
        ('0-5', '65+')
        """
        if math.isinf(self.low):
            return f"<{_number(self.high)}"
        if math.isinf(self.high):
            return f"{_number(self.low)}+"
        last = self.high - 1
        if whole and last == self.low:
            return _number(self.low)
        dash = ".." if self.low < 0 else "-"
        end = _number(last) if whole else f"<{_number(self.high)}"
        return f"{_number(self.low)}{dash}{end}"

    def labels(self, whole: bool) -> dict[str, str]:
        """Labels in English and German."""
        low, high = _printed(self.low), _printed(self.high)
        if math.isinf(self.low):
            return {"en": f"under {high}", "de": f"unter {high}"}
        if math.isinf(self.high):
            return {"en": f"{low}+", "de": f"{low}+"}
        if not whole:
            return {"en": f"{low} to under {high}", "de": f"{low} bis unter {high}"}
        last = _printed(self.high - 1)
        if last != low and self.low < 0:
            return {"en": f"{low} to {last}", "de": f"{low} bis {last}"}
        text = low if last == low else f"{low}–{last}"
        return {"en": text, "de": text}


def tree_from_intervals(
    name: str,
    bounds: Bounds,
    *,
    parents: Sequence[Bounds],
    open_first: bool,
    open_last: bool,
    whole: bool | None,
    total: str,
) -> CodeTree:
    """The tree of intervals, below coarser ones if `parents` has their bounds."""
    tiers = [_listed(name, tier) for tier in (*parents, bounds)]
    for tier in tiers:
        _check_numbers(name, tier)
    decimals = [bound for tier in tiers for bound in tier if not float(bound).is_integer()]
    if whole and decimals:
        problem = Problem(f"bound {decimals[0]:g} is not a whole number", name, "use whole=False")
        raise_problems(name, [problem])
    whole = not decimals if whole is None else whole
    opened = [_opened(tier, open_first, open_last) for tier in tiers]
    for tier in opened:
        check_bounds(name, tier, leaves=max(len(tier) - 1, 1))
    for coarse, fine in pairwise(opened):
        _check_nested(name, coarse, fine)
    links, intervals = _links(opened, whole)
    labels = {interval.code(whole): interval.labels(whole) for interval in intervals}
    return tree_from_links(name, links, total, labels=labels, bounds=tuple(opened[-1]))


def _listed(name: str, bounds: Bounds) -> list[float]:
    given: object = bounds
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise_problems(name, [Problem("bounds is a list", name, "such as bounds=[0, 6, 15, 18]")])
    return list(bounds)


def _check_numbers(name: str, tier: Bounds) -> None:
    problems = [
        Problem(f"bound {bound!r} is not a finite number", name)
        for bound in tier
        if not _is_finite(bound)
    ]
    if not tier:
        problems.append(Problem("there are no bounds", name, "such as bounds=[0, 6, 15, 18]"))
    raise_problems(name, problems)


def _is_finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _opened(tier: Bounds, open_first: bool, open_last: bool) -> list[float]:
    first = [-math.inf] if open_first else []
    last = [math.inf] if open_last else []
    return [*first, *(float(bound) for bound in tier), *last]


def _check_nested(name: str, coarse: Bounds, fine: Bounds) -> None:
    """Raise unless each coarse interval is made of whole fine ones, none left over."""
    problems = [
        Problem(
            f"the coarser bound {bound:g} is not a bound of the finer intervals",
            name,
            "only intervals that nest make a tree; else make two classifications",
        )
        for bound in coarse
        if bound not in fine
    ]
    if not problems and (coarse[0], coarse[-1]) != (fine[0], fine[-1]):
        what = "the coarser intervals do not cover all the finer ones"
        ends = f"start at {fine[0]:g}" + ("" if math.isinf(fine[-1]) else f", end at {fine[-1]:g}")
        problems.append(Problem(what, name, ends))
    raise_problems(name, problems)


def _links(tiers: Sequence[Bounds], whole: bool) -> tuple[list[Link], list[Interval]]:
    """One link per interval; one that a coarser tier has already is not repeated."""
    links: dict[Interval, Link] = {}
    above: Bounds = ()
    for tier in tiers:
        for low, high in pairwise(tier):
            parent = ""
            if above:
                holder = bisect_right(above, low)
                parent = Interval(above[holder - 1], above[holder]).code(whole)
            interval = Interval(low, high)
            links.setdefault(interval, Link(interval.code(whole), parent))
        above = tier
    return list(links.values()), list(links)


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _printed(value: float) -> str:
    """A number as people read it, with a real minus sign."""
    return "" if math.isinf(value) else _number(value).replace("-", "−")
