"""Codes of two partitions of records, pair by pair: which determine which, and what is chance.

In: codes that occur together, with numbers of records; levels of classifications of one column and
filters on it. Out: maps of codes, common parts, and whether chance could have made what is seen;
and what codes say of themselves, true of every record and of codes that no record has: pairs of
codes that have values in common, and codes of which some values pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.classifications import Classification
from discreet.disclosure.relations import Relations, component_labels
from discreet.errors import DiscreetError
from discreet.microdata import Filter
from discreet.tables import Dimension
from discreet.tabulation import CubeAxis

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


#: A classification, down to a level.
Cut = tuple[Classification, int]


def codes_on(tree: Classification, level: int) -> IntArray:
    """The codes of a level, and those that end above it: they divide all records without rest."""
    return np.flatnonzero((tree.levels == level) | (tree.is_leaf & (tree.levels < level)))


def codes_at(tree: Classification, places: IntArray, level: int) -> IntArray:
    """The codes at a level above some codes; codes that end above it stay."""
    parents = np.append(tree.parent_index.astype(np.int64), len(tree))
    levels = np.append(tree.levels.astype(np.int64), 0)
    codes = places
    while (deeper := levels[codes] > level).any():
        codes = np.where(deeper, parents[codes], codes)
    return codes


def code_lines(dimensions: Iterable[Dimension]) -> dict[str, dict[str, frozenset[str]]]:
    """Variable → code → itself and the codes that stand above it in any table, but for totals."""
    above: dict[str, dict[str, set[str]]] = {}
    for dimension in dimensions:
        own = above.setdefault(dimension.name, {})
        for code, parent in zip(dimension.codes, dimension.parents.tolist(), strict=True):
            own.setdefault(code, set()).update([dimension.codes[parent]] if parent > 0 else [])
    lines: dict[str, dict[str, frozenset[str]]] = {name: {} for name in above}
    for name, own in above.items():
        for code in own:
            line, todo = {code}, [code]
            while todo:
                fresh = own[todo.pop()] - line
                line |= fresh
                todo += fresh
            lines[name][code] = frozenset(line)
    return lines


def overlapping(
    tree: Classification, values: Sequence[str], other: Classification, others: Sequence[str]
) -> BoolArray:
    """Which intervals of one classification have numbers in common with which of another.

    >>> bands = [Classification.from_intervals("age", own) for own in ([0, 15, 30], [0, 18, 36])]
    >>> overlapping(bands[0], bands[0].leaves, bands[1], bands[1].leaves).tolist()
    [[True, False, False], [True, True, False], [False, True, True]]
    """
    first, second = _limits(tree, values), _limits(other, others)
    overlaps: BoolArray = (first[:, :1] < second[:, 1]) & (second[:, 0] < first[:, 1:])
    return overlaps


def _limits(tree: Classification, values: Sequence[str]) -> FloatArray:
    """Between which numbers some intervals lie; no number for other values."""
    leaves = [code for code in tree.leaves if code != tree.missing]
    limits = dict(zip(leaves, pairwise(tree.bounds or ()), strict=True))
    return np.array([limits.get(value, (math.nan, math.nan)) for value in values])


def codes_together(one: Cut | None, other: Cut | None) -> tuple[IntArray, IntArray] | None:
    """The codes of two levels of one column that have values in common; None for other levels.

    >>> names = ("age", "age", "size")
    >>> ages, classes, sizes = [Classification.from_intervals(n, [0, 15, 30]) for n in names]
    >>> [codes.tolist() for codes in codes_together((ages, 1), (classes, 1))]
    [[1, 2, 3], [1, 2, 3]]
    >>> codes_together((ages, 1), (sizes, 1))
    """
    if one is None or other is None:
        return None
    trees = one[0], other[0]
    cut = [tree.bounds is not None for tree in trees]
    if all(cut) and trees[0].source == trees[1].source:
        leaves = [tree.leaves for tree in trees]
        first, second = overlapping(trees[0], leaves[0], trees[1], leaves[1]).nonzero()
    elif not any(cut) and CubeAxis.of(trees[0]) == CubeAxis.of(trees[1]):
        place = {code: at for at, code in enumerate(trees[1].leaves)}
        pairs = [(at, place[code]) for at, code in enumerate(trees[0].leaves) if code in place]
        first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    else:
        return None
    places = [np.array([tree.index[code] for code in tree.leaves]) for tree in trees]
    return codes_at(trees[0], places[0][first], one[1]), codes_at(
        trees[1], places[1][second], other[1]
    )


def codes_passing(cut: Cut, condition: Filter, schema: Any) -> BoolArray | None:
    """For each code of a level, whether some values fail a filter on its column, and some pass.

    None where codes are no values; codes of which that is not known do both.

    >>> from discreet.microdata import parse_filter
    >>> bands = Classification.from_intervals("age", [0, 15, 30])
    >>> codes_passing((bands, 1), parse_filter("age < 18"), {"age": nw.Int64()}).tolist()
    [[True, True], [False, True], [True, True], [True, False], [True, True]]
    """
    tree, level = cut
    (column,) = condition.columns
    kind = schema[column]
    leaves = [code for code in tree.leaves if code != tree.missing]
    if tree.bounds is not None:
        values = _numbers_near([*tree.bounds, *condition.literals], whole=kind.is_integer())
        own = np.searchsorted(tree.bounds, values, side="right") - 1
        inside = (own >= 0) & (own < len(leaves))
        values, own = values[inside], own[inside]
    else:
        values, own = np.array(leaves), np.arange(len(leaves))
    texts = str(kind).startswith(("String", "Categorical", "Enum"))
    if tree.level_columns or not (texts or kind.is_integer() or tree.bounds is not None):
        return None
    try:
        values = values if texts or tree.bounds is not None else values.astype(np.int64)
        probe = nw.from_native(pl.DataFrame({column: values}), eager_only=True)
        passed = probe.select(condition.to_narwhals(probe.schema)).to_native().to_series()
    except (DiscreetError, ValueError, pl.exceptions.PolarsError):
        return None  # codes that are no whole numbers
    places = np.array([tree.index[code] for code in leaves], dtype=np.int64)
    codes = codes_at(tree, places[own], level)
    pairs = np.ones((len(tree) + 1, 2), dtype=np.bool_)
    pairs[codes] = False
    pairs[codes, passed.fill_null(value=False).to_numpy().astype(np.int64)] = True
    if tree.missing in tree.index:
        pairs[codes_at(tree, np.array([tree.index[tree.missing]]), level)] = True
    return pairs


def _numbers_near(limits: Sequence[Any], *, whole: bool) -> Any:
    """Numbers at some limits, between them and beyond: every comparison with these is met."""
    known = {float(at) for at in limits if isinstance(at, int | float) and math.isfinite(at)}
    if whole:
        near = {math.floor(at) + step for at in known for step in (-1, 0, 1, 2)}
        return np.array(sorted(near), dtype=np.int64)
    ordered = sorted(known)
    ends = [ordered[0] - 1, ordered[-1] + 1] if ordered else []
    middle = [(low + high) / 2 for low, high in pairwise(ordered)]
    return np.array(sorted({*ordered, *ends, *middle}), dtype=np.float64)
