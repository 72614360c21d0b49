"""Trees from level columns, from prefixes of codes, and from intervals of a number.

In: columns from coarse to fine, codes with the lengths of their prefixes, or rising
bounds; interval k holds the numbers from bound k up to, but not with, bound k+1. Out: a
checked `CodeTree`; siblings found in data stand in natural order, whatever the order
of the rows.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple, TypeVar

from discreet.classifications.parents import CodeLink, text_rows, tree_from_links
from discreet.classifications.tree import CodeTree, check_bounds, natural_order, raise_problems
from discreet.errors import ClassificationError, DiscreetWarning, Problem

Codes = TypeVar("Codes", bound=tuple[str | None, ...])


def tree_from_levels(name: str, frame: Any, columns: Sequence[str], *, total: str) -> CodeTree:
    """The tree of the combinations that occur in columns from coarse to fine."""
    if isinstance(columns, str) or not columns or len(set(columns)) < len(columns):
        message = "give level columns as a list of different names, coarsest first"
        hint = 'such as columns=["state", "district"]'
        raise ClassificationError(message, code="classification", where=name, hint=hint)
    rows = text_rows(frame, columns, name, distinct=True)
    rows = _sorted_rows([row for row in rows if any(code is not None for code in row)])
    links = _chained_links(rows, [_place(name, column) for column in columns])
    used = {link.where for link in links}
    uneven = any(row[-1] is None for row in rows)
    return tree_from_links(
        name,
        links,
        total,
        level_names=tuple(column for column in columns if _place(name, column) in used),
        level_columns=tuple(columns) if uneven else (),
    )


def _chained_links(rows: Sequence[tuple[str | None, ...]], places: Sequence[str]) -> list[CodeLink]:
    """One link per code and parent in rows from coarse to fine; repeats and gaps add none."""
    links: dict[tuple[str, str], CodeLink] = {}
    for row in rows:
        above = ""
        for code, place in zip(row, places, strict=True):
            if code is None or (above and code == above):
                continue
            links.setdefault((code, above), CodeLink(code, above, place))
            above = code
    return list(links.values())


def _place(name: str, column: str) -> str:
    return f"{name}, column {column}"


def _sorted_rows(rows: list[Codes]) -> list[Codes]:
    """Rows by the natural order of each column; a missing code comes first."""
    ranks: list[dict[str | None, int]] = []
    for column in zip(*rows, strict=True):
        codes = natural_order({code for code in column if code is not None})
        ranks.append({None: -1, **{code: rank for rank, code in enumerate(codes)}})
    return sorted(rows, key=lambda row: [rank[code] for rank, code in zip(ranks, row, strict=True)])


def tree_from_prefixes(
    name: str, codes: Iterable[str], lengths: Sequence[int], *, total: str
) -> CodeTree:
    """The tree whose inner codes are the first characters of the codes given."""
    _check_lengths(name, lengths)
    value: object = codes
    if isinstance(value, str) or not isinstance(value, Iterable):
        message = f"{value!r} is one text, not a list" if isinstance(value, str) else "not a list"
        raise_problems(name, [Problem(f"codes: {message}", name, 'such as ["0101", "0102"]')])
    wanted = list(codes)
    _check_codes(name, wanted, lengths[-1])
    rows = _sorted_rows([tuple(code[:length] for length in lengths) for code in set(wanted)])
    return tree_from_links(name, _chained_links(rows, [""] * len(lengths)), total)


def _check_lengths(name: str, lengths: Sequence[int]) -> None:
    value: object = lengths
    if not isinstance(value, Sequence):
        problem = Problem("lengths must be a list", name, "such as lengths=[2, 5, 8]")
        raise_problems(name, [problem])
    whole = all(isinstance(length, int) and length > 0 for length in lengths)
    rising = whole and list(lengths) == sorted(set(lengths))
    if not lengths or not rising:
        message = f"the prefix lengths {list(lengths)} must be increasing whole numbers"
        hint = "such as lengths=[2, 5, 8]; the last is that of the full codes"
        raise ClassificationError(message, code="classification", where=name, hint=hint)


def _check_codes(name: str, codes: Sequence[str], longest: int) -> None:
    problems = []
    texts = [code for code in codes if isinstance(code, str)]
    if texts and (most := max(map(len, texts))) < longest:
        # Codes may end early, but if all do, the lengths may be those of another variable.
        message = (
            f"{name}: the last prefix length is {longest}, but the longest code has {most} "
            "characters"
        )
        warnings.warn(message, DiscreetWarning, stacklevel=2)
    for code in codes:
        if not isinstance(code, str) or not code:
            problems.append(Problem(f"code {code!r} is empty or not a text", name))
        elif len(code) > longest:
            hint = f"add {len(code)} to the lengths, or shorten the codes"
            message = f"code {code!r} is longer than the last length, {longest}"
            problems.append(Problem(message, name, hint))
    raise_problems(name, problems, what="{} codes do not fit the lengths")


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
    tiers: list[list[float]] = []
    for tier in (*parents, bounds):
        listed = isinstance(tier, Iterable) and not isinstance(tier, str)
        tiers.append(list(tier) if listed else [])
        problems = [
            Problem(f"bound {bound!r} is not a finite number", name)
            for bound in tiers[-1]
            if not _is_finite(bound)
        ]
        if not tiers[-1]:
            message = "bounds is empty" if listed else "bounds must be a list"
            problems = [Problem(message, name, "such as bounds=[0, 6, 15, 18]")]
        raise_problems(name, problems)
    decimals = [bound for tier in tiers for bound in tier if not float(bound).is_integer()]
    if whole and decimals:
        problem = Problem(f"bound {decimals[0]:g} is not a whole number", name, "use whole=False")
        raise_problems(name, [problem])
    whole = not decimals if whole is None else whole
    first, last = [-math.inf] * open_first, [math.inf] * open_last
    opened = [[*first, *map(float, tier), *last] for tier in tiers]
    for tier in opened:
        check_bounds(name, tier, leaves=max(len(tier) - 1, 1))
    for coarse, fine in pairwise(opened):
        _check_nested(name, coarse, fine)
    links, intervals = _links(opened, whole)
    labels = {interval.code(whole): interval.labels(whole) for interval in intervals}
    return tree_from_links(name, links, total, labels=labels, bounds=tuple(opened[-1]))


def _is_finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _check_nested(name: str, coarse: Bounds, fine: Bounds) -> None:
    """Raise unless each coarse interval is made of whole fine ones, none left over."""
    problems = [
        Problem(
            f"the coarser bound {bound:g} is not a bound of the finer intervals",
            name,
            "use nested intervals, or make two classifications",
        )
        for bound in coarse
        if bound not in fine
    ]
    if not problems and (coarse[0], coarse[-1]) != (fine[0], fine[-1]):
        message = "the coarser intervals do not cover all the finer ones"
        ends = f"start at {fine[0]:g}" + ("" if math.isinf(fine[-1]) else f", end at {fine[-1]:g}")
        problems.append(Problem(message, name, ends))
    raise_problems(name, problems)


def _links(tiers: Sequence[Bounds], whole: bool) -> tuple[list[CodeLink], list[Interval]]:
    """One link per interval; one that a coarser tier has already is not repeated."""
    links: dict[Interval, CodeLink] = {}
    above: Bounds = ()
    for tier in tiers:
        for low, high in pairwise(tier):
            parent = ""
            if above:
                holder = bisect_right(above, low)
                parent = Interval(above[holder - 1], above[holder]).code(whole)
            interval = Interval(low, high)
            links.setdefault(interval, CodeLink(interval.code(whole), parent))
        above = tier
    return list(links.values()), list(links)


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _printed(value: float) -> str:
    """A number as people read it, with a real minus sign."""
    return "" if math.isinf(value) else _number(value).replace("-", "−")
