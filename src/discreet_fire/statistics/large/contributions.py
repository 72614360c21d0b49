"""What each case contributes to each group, in large data, and the facts of groups. CONFIDENTIAL.

In: values, weights, groups and entities of records; keys or texts to be numbered as they occur.
Out: per group the number of cases, sums, the largest contributions and their sum, and a lower
bound for how many cases differ from the commonest value; all as exact as if the group were all
there is, and the same to the last bit whatever the order of the records. From these the same
`Facts` as group by group, without what only a group of nearly equal values needs: for it, the
caller looks at the group alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet.record_batches import text_views
from discreet_fire.statistics.disclosure_rules import MANY, Facts, is_clear
from discreet_fire.statistics.large import kernels
from discreet_fire.statistics.large.kernels import AMOUNT
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.parallel import LEAST, filled, in_parts, side_by_side, slices
from discreet_fire.statistics.sum_kernels import extremes
from discreet_fire.statistics.sums import ends_of, group_sums, scaled_sums

Number = TypeVar("Number", np.int64, np.float64)

_NONE: IntArray = np.zeros(0, dtype=np.int64)


def exact_sums(values: FloatArray, codes: IntArray, groups: int) -> FloatArray:
    """The sum of each group.

    >>> exact_sums(np.array([1e40, 0.25, 0.5]), np.array([0, 1, 1]), 2).tolist()
    [1e+40, 0.75]
    """
    values, codes = np.ascontiguousarray(values), np.ascontiguousarray(codes)
    parts = [(values[part], codes[part]) for part in slices(values.size)]
    return sums_of(parts, largest_of(values, codes, groups))


def largest_of(values: FloatArray, codes: IntArray, groups: int) -> FloatArray:
    """The largest size of each group; without codes all are in one."""
    if not codes.size:
        low, high = ends_of(values)
        return np.array([max(-low, high)])

    def fill(part: slice, largest: FloatArray) -> None:
        kernels.add_largest(values[part], codes[part], largest)

    return np.asarray(filled(fill, slices(values.size), groups, np.float64).max(axis=0))


def sums_of(parts: Sequence[tuple[FloatArray, IntArray]], largest: FloatArray) -> FloatArray:
    """Sums of several parts together, given the largest size in each group."""
    shift = shifts(largest)
    scale = np.ldexp(1.0, -shift)

    def fill(part: tuple[FloatArray, IntArray], whole: IntArray) -> None:
        kernels.add_sums(*part, scale, whole[0], whole[1])

    return _rounded(filled(fill, parts, (2, largest.size)), shift)


def weighted_moments(
    values: FloatArray,
    weights: FloatArray,
    codes: IntArray | None,
    low: FloatArray,
    total: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sum of weights, mean, and sum of weighted squared deviations of each group.

    Values are without NaN, codes None if all are in one group; `low` is infinite without a value.

    >>> pair = np.array([1.0, 4.0]), np.array([2.0, 1.0])
    >>> [x.tolist() for x in weighted_moments(*pair, None, np.array([1.0]))]
    [[3.0], [2.0], [6.0]]
    """
    values, weights = np.ascontiguousarray(values), np.ascontiguousarray(weights)
    inside = _NONE if codes is None else np.ascontiguousarray(codes)
    start = np.where(np.isfinite(low), low, 0.0)
    if total is None:
        most = largest_of(weights, inside, low.size)
        total = term_sums(kernels.WEIGHT, values, weights, inside, start, most)
    divisor = np.where(total > 0, total, 1.0)
    mean = _deviations(kernels.DEVIATION, values, weights, inside, start) / divisor + start
    return total, mean, _deviations(kernels.SQUARE, values, weights, inside, mean)


def _deviations(
    kind: int, values: FloatArray, weights: FloatArray, codes: IntArray, centres: FloatArray
) -> FloatArray:
    """Sums of weighted deviations from a centre, or of their squares."""

    def fill(part: slice, largest: FloatArray) -> None:
        some = values[part], weights[part], codes[part]
        kernels.find_largest(kind == kernels.SQUARE, *some, centres, largest)

    farthest = filled(fill, slices(values.size), centres.size, np.float64)
    return term_sums(kind, values, weights, codes, centres, farthest.max(axis=0))


def term_sums(
    kind: int,
    values: FloatArray,
    weights: FloatArray,
    codes: IntArray,
    centres: FloatArray,
    largest: FloatArray,
) -> FloatArray:
    """The sum of a term of weighted records per group; the kind is as `kernels` names it.

    Values are without NaN; weights are empty if all weigh 1, codes if all are in one group.
    Deviations are taken from centres; `largest` is the largest size of the term in each group.
    """
    shift = shifts(largest)
    scale = np.ldexp(1.0, -shift)

    def fill(part: slice, whole: IntArray) -> None:
        some = values[part], weights[part], codes[part]
        kernels.add_terms(kind, *some, centres, scale, whole[0], whole[1])

    return _rounded(filled(fill, slices(values.size), (2, centres.size)), shift)


def shifts(largest: FloatArray) -> IntArray:
    """As `shift_of`, for each group.

    >>> shifts(np.array([3.0, 8.0, 0.0])).tolist()
    [2, 4, 0]
    """
    shift = np.maximum(np.frexp(largest)[1], LEAST)
    return np.where(largest > 0, shift, 0).astype(np.int64)


def _rounded(parts: IntArray, shift: IntArray) -> FloatArray:
    """Sums in two whole numbers each, rounded once."""
    whole = zip(*parts.sum(axis=0).tolist(), shift.tolist(), strict=True)
    return np.array([math.ldexp((high << 32) + low, at - 64) for high, low, at in whole])


#: Fills a table, numbers and first places; how many keys there are, or why it could not.
Fill = Callable[[IntArray, IntArray, IntArray], int]

#: A table of keys that is tried first.
_FEW = 2**12
_ALL_THERE = np.zeros(0, dtype=np.bool_)


def numbered(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Keys numbered as they occur, and where each occurs first.

    >>> codes, first = numbered(np.array([7, 10**12, 7, -3]))
    >>> codes.tolist(), first.tolist()
    ([0, 1, 0, 2], [0, 1, 3])
    """
    numbering = _filled(keys.size, lambda *room: int(kernels.number(keys, *room)))
    assert numbering is not None  # a table of the second size has room for all
    return numbering


def short_numbered(
    column: pl.Series, place: IntArray | None = None
) -> tuple[IntArray, IntArray] | None:
    """As `numbered`, of texts that take at most 12 bytes each; None if one takes more.

    The place is room for the numbers; new room if there is none.

    >>> short_numbered(pl.Series(["a longer text than that"]))
    >>> codes, first = short_numbered(pl.Series(["b", None, "b"]))
    >>> codes.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    views = text_views(column) if column.dtype == pl.String else None
    if views is None:
        return None
    there = column.is_not_null().to_numpy() if column.null_count() else _ALL_THERE
    return _filled(len(column), lambda *room: int(kernels.number_short(views, there, *room)), place)


def _filled(
    size: int, fill: Fill, place: IntArray | None = None
) -> tuple[IntArray, IntArray] | None:
    """Numbers and first places by a table that has room."""
    codes = np.empty(size, dtype=np.int64) if place is None else place
    first = np.empty(size, dtype=np.int64)
    least = 2 ** math.ceil(math.log2(2 * size + 2))
    # Most columns have few different keys, and a small table is near the processor.
    for room in (min(_FEW, least), least):
        count = fill(np.full(room, -1, dtype=np.int64), codes, first)
        if count >= 0:
            return codes, first[:count]
    return None


_NOTHING: FloatArray = np.zeros(0)
#: Per record at most so many words are spent on marks of who is in which group.
_MARKS = 8
#: Numbers of entities may leave out so many more than there are records.
_GAPS = 2**16


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Shares:
    """Contributions per group (confidential): the sum of their sizes, and the two largest.

    So many cases, at least, are `differing` from the commonest value.
    """

    cases: IntArray
    size: FloatArray
    first: FloatArray
    second: FloatArray
    differing: IntArray


@dataclass(frozen=True, repr=False, eq=False)
class EntityOrder:
    """Positions of records in the order of entities, and where the records of each start in it and
    the last end (confidential).
    """

    start: IntArray
    order: IntArray

    @classmethod
    def by(cls, who: IntArray, many: int) -> EntityOrder:
        """Bring records into the order of whole numbers below `many`."""
        who, parts = np.ascontiguousarray(who), slices(who.size)
        order = np.empty(who.size, dtype=np.int64)
        count = np.zeros((len(parts), many), dtype=np.int64)
        jobs = zip(parts, count, strict=True)
        side_by_side([partial(kernels.count_codes, who[part], room) for part, room in jobs])
        start = np.concatenate([[0], np.cumsum(count.sum(axis=0))]).astype(np.int64)
        # What is next for a number follows what earlier parts have of it.
        following = start[:-1]
        for inside in count:
            inside[:], following = following, following + inside
        jobs = zip(parts, count, strict=True)
        side_by_side([partial(kernels.place, who[at], at.start, new, order) for at, new in jobs])
        return cls(start, order)

    def gathered(self, given: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Codes or values of records in this order."""
        given, gathered_values = (
            np.ascontiguousarray(given),
            np.empty(self.order.size, dtype=given.dtype),
        )

        def gather(part: slice) -> None:
            kernels.gather(given, self.order[part], gathered_values[part])

        in_parts(gather, slices(self.order.size))
        return gathered_values


@dataclass(frozen=True, repr=False, eq=False)
class EntityNumbers:
    """Whom each record is about, numbered from 0 on (confidential).

    Numbers are below `many`; some may be nobody's.
    """

    who: IntArray
    many: int

    @classmethod
    def of(cls, entities: IntArray) -> EntityNumbers:
        """Number entities."""
        return cls(*dense(entities))

    @cached_property
    def sorting(self) -> EntityOrder:
        """The records in the order of entities."""
        return EntityOrder.by(self.who, self.many)

    @cached_property
    def there(self) -> int:
        """How many entities have records."""
        there = np.zeros(self.many, dtype=np.bool_)
        kernels.mark(self.who, there)
        return int(np.count_nonzero(there))

    def cases(self, codes: IntArray, groups: int) -> IntArray:
        """How many entities there are per group; the code is -1 for no group."""
        words = (groups + 63) // 64
        if self.many * words > _MARKS * self.who.size:
            fill = partial(kernels.count_cases, self.sorting.gathered(codes))
            parts = _whole_entities(self.sorting.start, codes.size)
            return np.asarray(filled(fill, parts, groups).sum(axis=0))
        marks = np.zeros(self.many * words, dtype=np.uint64)
        cases = np.zeros(groups, dtype=np.int64)
        kernels.count_marked(np.ascontiguousarray(codes), self.who, words, marks, cases)
        return cases


def dense(keys: IntArray) -> tuple[IntArray, int]:
    """Whole numbers from 0 on in place of keys, and how many there may be.

    >>> who, many = dense(np.array([7, 10**12, 7, -3]))
    >>> who.tolist(), many
    ([0, 1, 0, 2], 3)
    """
    keys = np.ascontiguousarray(keys, dtype=np.int64)
    if not keys.size:
        return keys, 0
    low, high = int(keys.min()), int(keys.max())
    if high - low < 2 * keys.size + _GAPS and keys.size > _GAPS // 2:
        return (keys if low == 0 else keys - low), high - low + 1
    codes, first = numbered(keys)
    return codes, len(first)


def _whole_entities(start: IntArray, records: int) -> list[IntArray]:
    """Where entities start, in parts of about as many records, none of them cut."""
    ends = np.searchsorted(start, [part.stop for part in slices(records)[:-1]])
    cuts = [0, *ends.tolist(), start.size - 1]
    return [start[low : high + 1] for low, high in pairwise(cuts)]


def of_records(
    values: FloatArray,
    codes: IntArray | None,
    count: IntArray,
    *,
    weights: FloatArray | None = None,
    enough: int = 1,
) -> Shares:
    """What each record contributes to each group, where each is another case.

    Values are without NaN; codes are never -1, and None if all are in one group. So many differing
    cases as are enough need no further search.
    """
    values = np.ascontiguousarray(values)
    codes = _NONE if codes is None else np.ascontiguousarray(codes)
    weights = _NOTHING if weights is None else np.ascontiguousarray(weights)

    def inside(part: slice) -> tuple[FloatArray, IntArray]:
        top, apart = np.zeros(2 * count.size), np.zeros(count.size, dtype=np.int64)
        kernels.add_alone(values[part], weights[part], codes[part], enough, top, apart)
        return top, apart

    tops, apart = zip(*in_parts(inside, slices(values.size)), strict=True)
    first, second = _two_largest(tops)
    size = term_sums(AMOUNT, values, weights, codes, np.zeros(count.size), first)
    return Shares(
        cases=count, size=size, first=first, second=second, differing=np.sum(apart, axis=0)
    )


def contributions(
    values: FloatArray,
    codes: IntArray | None,
    count: IntArray,
    start: IntArray,
    *,
    amounts: FloatArray | None = None,
    enough: int = 1,
) -> Shares:
    """What each entity contributes to each group; values are without NaN, in the order of entities.

    Codes are never -1, and None if all are in one group; the records of each entity start, and the
    last end, at `start`. Amounts are what records contribute, if it is not the value. So many
    differing entities as are enough need no further search.
    """
    values, groups = np.ascontiguousarray(values), count.size
    codes = _NONE if codes is None else np.ascontiguousarray(codes)
    amounts = values if amounts is None else np.ascontiguousarray(amounts)
    shift = shifts(largest_of(amounts, codes, groups))
    scale, back = np.ldexp(1.0, -shift), np.ldexp(1.0, shift)

    def inside(
        some: IntArray,
    ) -> tuple[tuple[FloatArray, IntArray], IntArray, FloatArray, IntArray]:
        records = int(some[-1] - some[0])
        sizes, places = np.empty(records), np.empty(records, dtype=np.int64)
        top, (cases, apart) = np.zeros(2 * groups), np.zeros((2, groups), dtype=np.int64)
        count = kernels.add_contributions(
            *(values, amounts, codes, some, scale, back, enough),
            *(sizes, places, cases, top, apart),
        )
        return (sizes[:count], places[:count]), cases, top, apart

    parts = in_parts(inside, _whole_entities(start, values.size))
    amounts_made, cases, tops, apart = zip(*parts, strict=True)
    first, second = _two_largest(tops)
    return Shares(
        cases=np.sum(cases, axis=0),
        size=sums_of(amounts_made, first),
        first=first,
        second=second,
        differing=np.sum(apart, axis=0),
    )


def _two_largest(tops: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """The largest and the second largest of each group, of those that threads found."""
    every = np.sort(np.concatenate([top.reshape(-1, 2) for top in tops], axis=1), axis=1)
    return np.ascontiguousarray(every[:, -1]), np.ascontiguousarray(every[:, -2])


def of_entities(
    values: FloatArray, who: EntityNumbers, *, amounts: FloatArray | None = None, enough: int = 1
) -> Shares:
    """What each entity contributes, where all records are in one group; else as `contributions`."""
    values = np.ascontiguousarray(values)
    amounts = values if amounts is None else np.ascontiguousarray(amounts)
    shift = shifts(largest_of(amounts, _NONE, 1))
    factor, back = np.ldexp(1.0, -shift), np.ldexp(1.0, shift)
    sums = np.zeros((who.many, 4), dtype=np.int64)
    held = sums.view(np.float64)
    kernels.add_records(values, amounts, who.who, float(factor[0]), sums, held)
    top, apart = np.zeros(2), np.zeros(1, dtype=np.int64)
    sizes = np.empty(min(who.many, values.size))
    count = kernels.add_entities(sums, held, float(back[0]), enough, sizes, top, apart)
    return Shares(
        cases=np.array([count]),
        size=group_sums(sizes[:count], None, 1),
        first=top[:1],
        second=top[1:],
        differing=apart,
    )


Alone = Callable[[int], Facts]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Ordered:
    """Values of records, none missing, with whom they are about (confidential).

    Where they are in the order of entities, those of each start, and the last end, at `start`; of
    records in one group `who` has whom each is about, in any order.
    """

    values: FloatArray
    codes: IntArray | None
    weights: FloatArray | None = None
    start: IntArray | None = None
    who: EntityNumbers | None = None

    def shares(
        self, values: FloatArray, count: IntArray, weights: FloatArray | None, enough: int
    ) -> Shares:
        """What each case contributes to each group by some values of the records."""
        if self.who is None and self.start is None:
            return of_records(values, self.codes, count, weights=weights, enough=enough)
        amounts = None if weights is None else values * weights
        if self.who is not None:
            return of_entities(values, self.who, amounts=amounts, enough=enough)
        assert self.start is not None
        return contributions(values, self.codes, count, self.start, amounts=amounts, enough=enough)


def facts_of(ordered: Ordered, groups: int, limits: SafeLimits, alone: Alone) -> list[Facts]:
    """The facts of each group; `alone` gives the exact ones of a group."""
    values, codes, weights = ordered.values, ordered.codes, ordered.weights
    if codes is not None:
        count, low, high = extremes(values, codes, groups)
    else:
        count, low, high = np.array([values.size]), *map(np.atleast_1d, ends_of(values))
    shares = ordered.shares(values, count, weights, limits.minimum)
    if weights is None:
        size, mean, squares = _moments(values, codes, count, low, high)
        heavy = np.zeros((groups, 3))
    else:
        loads = ordered.shares(weights, count, None, 0)
        # Weights of entities are rounded, those of records are not.
        total = loads.size if ordered.who is None and ordered.start is None else None
        size, mean, squares = weighted_moments(values, weights, codes, low, total)
        heavy = np.stack([size, loads.first, loads.second], axis=1)
    facts = [
        Facts(
            n=n,
            weight=float(size[at]),
            low=float(low[at]),
            high=float(high[at]),
            mean=float(mean[at]),
            squares=float(squares[at]),
            heavy=(float(heavy[at, 0]), float(heavy[at, 1]), float(heavy[at, 2])),
        )
        if n
        else Facts()
        for at, n in enumerate(count.tolist())
    ]
    return _with_shares(facts, shares, limits, alone)


def looked_closer(
    ordered: Ordered, found: Sequence[Facts], limits: SafeLimits, alone: Alone
) -> list[Facts]:
    """Facts of groups whose records are all of other cases, where bounds do not suffice."""
    if all(is_clear(facts, limits) for facts in found if facts.n):
        return list(found)
    count = np.array([facts.n for facts in found], dtype=np.int64)
    shares = ordered.shares(ordered.values, count, None, limits.minimum)
    return _with_shares(found, shares, limits, alone)


def _with_shares(
    all_facts: Sequence[Facts], shares: Shares, limits: SafeLimits, alone: Alone
) -> list[Facts]:
    """Facts with contributions, and with how many cases differ where these are few."""
    closer = []
    for at, facts in enumerate(all_facts):
        if not facts.n:
            closer.append(facts)
            continue
        one = replace(
            facts,
            cases=int(shares.cases[at]),
            size=float(shares.size[at]),
            first=float(shares.first[at]),
            second=float(shares.second[at]),
        )
        if facts.low < facts.high and shares.differing[at] < limits.minimum:
            exact = alone(at)
            one = replace(one, differing=exact.differing, held=exact.held)
        elif facts.low == facts.high:
            one = replace(one, differing=0, held=MANY)
        closer.append(one)
    return closer


def _moments(
    values: FloatArray, codes: IntArray | None, count: IntArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Number of values, mean, sum of squared deviations of each group."""
    sums = scaled_sums(values, codes, low, high)
    numbers = [
        (sums.mean(at, n), sums.squares(at, n) if low[at] < high[at] else 0.0) if n else (0.0, 0.0)
        for at, n in enumerate(count.tolist())
    ]
    mean, squares = (np.array(column) for column in zip(*numbers, strict=True))
    return count.astype(np.float64), mean, squares
