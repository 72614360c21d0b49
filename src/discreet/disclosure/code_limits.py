"""What codes say of themselves: which go together, and which a filter lets pass. Public.

In: levels of classifications of one column; filters on that column. Out: pairs of codes that have
values in common, and codes of which some values pass. All of it is true of every record, and of
codes that no record has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.classifications import Classification
from discreet.errors import DiscreetError
from discreet.microdata import Filter
from discreet.tabulation import CubeAxis

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
    """The codes of two levels of one column that have values in common; None for other levels."""
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
