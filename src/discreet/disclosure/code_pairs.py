"""Codes of two partitions of records, pair by pair: which determine which, and what is chance.

In: codes that occur together, with numbers of records. Out: maps of codes, common parts, and
whether chance could have made what is seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.disclosure.relations import Relations, component_labels

#: A dependency less probable by chance than this is none of chance.
CHANCE = 1e-9
#: Codes exclude each other where chance would have put so large a share of records elsewhere.
_EXCLUDED = 0.25
#: And so many standard deviations more than usual.
_SPREADS = 8.0


def code_map(first: IntArray, second: IntArray, size: int | None = None) -> IntArray | None:
    """For each code the only one that occurs with it; None if there are several of one."""
    table = np.full(int(first.max(initial=-1)) + 1 if size is None else size, -1, dtype=np.int64)
    table[first] = second
    return table if bool((table[first] == second).all()) else None


def combined(parts: Sequence[IntArray]) -> IntArray:
    """A number for each combination of the codes of several columns."""
    whole = parts[0]
    for part in parts[1:]:
        pairs = whole * (part.max(initial=0) + 1) + part
        whole = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return whole


def among_pairs(first: IntArray, second: IntArray, one: IntArray, other: IntArray) -> BoolArray:
    """Which pairs of codes are among some; those with a code that is in none of these, too."""
    there = (first >= 0) & (second >= 0)
    width = int(max(second.max(initial=0), other.max(initial=0))) + 1
    pairs = first[there] * width + second[there]
    unknown = np.isin(one, first[there], invert=True) | np.isin(other, second[there], invert=True)
    among: BoolArray = unknown | np.isin(one * width + other, pairs)
    return among


def made_by_chance(first: IntArray, second: IntArray, count: IntArray) -> bool:
    """Whether a dependency could come about by chance: each code within one code of the other."""
    shares = np.bincount(second, count)
    shares = shares[shares > 0] / shares.sum()
    sizes, times = np.unique(np.bincount(first, count), return_counts=True)
    alike = np.array([(shares**size).sum() if size > 1 else 1.0 for size in sizes.tolist()])
    return float((times * np.log(np.maximum(alike, 1e-300))).sum()) > math.log(CHANCE)


def common_parts(first: IntArray, second: IntArray) -> IntArray | None:
    """The parts into which two partitions together fall, per pair; None if it is one."""
    codes, one = np.unique(first, return_inverse=True)
    others, other = np.unique(second, return_inverse=True)
    pairs = np.stack([one, len(codes) + other], axis=1)
    label = component_labels(Relations.of_pairs(len(codes) + len(others), pairs))
    parts, place = np.unique(label[one], return_inverse=True)
    return place if len(parts) > 1 else None


def missing_pairs(first: IntArray, second: IntArray, count: IntArray) -> tuple[float, bool]:
    """Expected number of records in missing pairs of codes, and whether it is too large.

    In few records of many codes most pairs are missing by chance alone.
    """
    one, other = np.bincount(first, count), np.bincount(second, count)
    whole = float(count.sum())
    sizes, times = np.unique(one[one > 0], return_counts=True)
    others, other_times = np.unique(other[other > 0], return_counts=True)
    share, pairs = np.outer(sizes, others) / whole, np.outer(times, other_times)
    absent = np.exp(-share)
    usual = float((pairs * share * absent).sum())
    spread = math.sqrt(float((pairs * share**2 * absent * (1 - absent)).sum()))
    at, to = np.unique(np.stack([first, second]), axis=1)
    missing = whole - float((one[at] * other[to] / whole).sum())
    exclude = missing > max(_EXCLUDED * whole, usual + _SPREADS * spread)
    return missing, exclude


def complete(first: IntArray, second: IntArray, parts: IntArray) -> bool:
    """Whether in each part all codes of one partition go with all codes of the other."""
    pairs = np.unique(np.stack([parts, first, second]), axis=1)
    number = [np.bincount(np.unique(pairs[[0, at]], axis=1)[0]) for at in (1, 2)]
    return len(pairs[0]) == int((number[0] * number[1]).sum())


def tell_together(
    places: Sequence[IntArray], levels: Sequence[IntArray], count: IntArray | None = None
) -> bool:
    """Whether columns together determine a level of the last one.

    With numbers of records also whether no fewer of them do, and chance did not make it.
    """
    *parts, last = places
    whole = combined(parts)
    for level in levels:
        codes = level[last]
        if len(np.unique(codes)) < 2 or code_map(whole, codes) is None:
            continue
        if count is None:
            return True
        fewer = combinations(parts, len(parts) - 1)
        if all(code_map(combined(own), codes) is None for own in fewer) and not made_by_chance(
            whole, codes, count
        ):
            return True
    return False
