"""From the base cube to a table: codes found, classifications applied, margins added.

In: a `Cube` and a query whose axes it has. Out: a `Table` with the `Contributions` to its
value columns (confidential). What most cells lack - records without a value, of value 0,
of a negative value - was counted on its own and is taken off here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from discreet.arrays import IntArray, PositionArray
from discreet.classifications import Classification, flat, natural_order
from discreet.errors import ClassificationError, Problem, raise_all
from discreet.key_check import KeyCheck
from discreet.keygrid import KeyGrid
from discreet.tables import Contributions, Dimension, Table, sort_cells
from discreet.tabulation.cube import Cube, roll_up
from discreet.tabulation.measures import Largest, MeasureLayout, from_limbs
from discreet.tabulation.query import Query, SpanningVariable


def contributions_of(
    column: str, measures: IntArray, layout: MeasureLayout, grid: KeyGrid, largest: Largest
) -> Contributions:
    """The contributions to one value column."""
    count = measures[0] - layout.row(measures, "missing", column, "n")
    nonzero = count - layout.row(measures, "zero", column, "n")
    whole = layout.limbs(measures, "sum", column)
    negative = layout.limbs(measures, "negative", column)
    total = from_limbs(*whole)
    weight, plain = None, total
    if layout.weight is not None:
        missing = layout.limbs(measures, "missing", column)
        every = layout.limbs(measures, "weight")
        weight = from_limbs(*(all_ - none for all_, none in zip(every, missing, strict=True)))
        plain = from_limbs(*layout.limbs(measures, "plain", column))
    key, nonzero_key = _keys(column, measures, layout, grid)
    weights = largest.weights
    return Contributions(
        column=column,
        top=largest.top.copy(),
        top_weight=None if weights is None else weights.copy(),
        count=count,
        nonzero=nonzero,
        key=key,
        nonzero_key=nonzero_key,
        weight=weight,
        total=total,
        plain=plain,
        absolute=from_limbs(*(all_ - 2 * part for all_, part in zip(whole, negative, strict=True))),
        low=largest.low.copy(),
        high=largest.high.copy(),
    )


def _keys(
    column: str, measures: IntArray, layout: MeasureLayout, grid: KeyGrid
) -> tuple[IntArray | None, IntArray | None]:
    """Cell keys of the records with a value, and of those whose value is not 0."""
    if not layout.keyed:
        return None, None
    high, low = (
        layout.row(measures, "key", part) - layout.row(measures, "missing", column, part)
        for part in ("high", "low")
    )
    none_high, none_low = (layout.row(measures, "zero", column, part) for part in ("high", "low"))
    return grid.combine(high, low), grid.combine(high - none_high, low - none_low)


_SHOWN = 10
_OUTSIDE = "outside"


def assemble(cube: Cube, query: Query, grid: KeyGrid, keys: KeyCheck | None) -> Table:
    """The table of one query, with what was found out about its record keys."""
    dimensions, leaves = [], []
    problems: list[Problem] = []
    for variable in query.variables:
        dimension, positions = _dimension(cube, variable, problems)
        dimensions.append(dimension)
        leaves.append(positions)
    raise_all(
        ClassificationError,
        problems,
        code="unknown-code",
        many="{} problems with the codes",
        where=query.name,
    )
    layout = cube.layout.part(query.values, query.largest)
    measures = cube.layout.select(cube.measures, layout)
    largest = {name: cube.largest[name].shortened(k) for name, k in query.largest.items()}
    index, measures, largest = _all_levels(dimensions, leaves, measures, largest)
    return Table(
        dimensions=tuple(dimensions),
        index=tuple(index),
        count=measures[0].copy(),
        cell_key=layout.keys(measures, grid),
        grid=grid if layout.keyed else None,
        weight=layout.weights(measures),
        sums={name: layout.value(measures, name) for name in query.values},
        contributions={
            name: contributions_of(name, measures, layout, grid, part)
            for name, part in largest.items()
        },
        where=query.where_text,
        name=query.name,
        keys=keys,
        added_up=True,
    )


def _dimension(
    cube: Cube, variable: SpanningVariable, problems: list[Problem]
) -> tuple[Dimension, list[PositionArray]]:
    """The spanning variable, and per classification each cell's leaf in it."""
    texts, places = [], []
    for axis in variable.axes:
        at = cube.place[axis]
        codes, values = cube.codes[at], cube.values[at]
        occurring = np.flatnonzero(np.bincount(codes, minlength=1))
        if len(occurring) < len(values):
            values = values.gather(occurring)
            codes = np.searchsorted(occurring, codes).astype(np.int32)
        texts.append((*values.to_list(),))
        places.append(codes)
    if variable.trees:
        # Trees that differ in this alone are equal.
        origins = tuple(tree.found for tree in variable.trees)
        intervals = tuple(axis.bounds is not None for axis in variable.axes)
        dimension, tables, unknown = _classified(
            variable.name, variable.trees, origins, intervals, tuple(texts)
        )
        problems.extend(unknown)
    else:
        dimension, tables = _found_codes(variable.name, texts[0])
    return dimension, [table.take(own) for table, own in zip(tables, places, strict=True)]


@lru_cache(maxsize=32)
def _found_codes(name: str, texts: tuple[str | None, ...]) -> tuple[Dimension, list[PositionArray]]:
    """The flat classification of codes that were found, with where each stands in it.

    Many tables have the same.
    """
    tree = flat(name, natural_order([text for text in texts if text is not None]), found="all")
    if None in texts:
        if tree.missing in tree.index:
            raise ClassificationError(
                f"code {tree.missing!r} occurs together with missing values",
                code="missing-code",
                where=tree.name,
                hint="give the classification another code for missing values (missing=…)",
            )
        tree = tree.with_missing()
    table = [tree.index[tree.missing if text is None else text] for text in texts]
    return Dimension(classifications=(tree,)), [np.array(table, dtype=np.int32)]


@lru_cache(maxsize=32)
def _classified(
    name: str,
    trees: tuple[Classification, ...],
    origins: tuple[str, ...],
    intervals: tuple[bool, ...],
    texts: tuple[tuple[str | None, ...], ...],
) -> tuple[Dimension, list[PositionArray], list[Problem]]:
    """The variable of some classifications, where each text stands in it, and what is unknown."""
    whole, tables, problems = [], [], list[Problem]()
    for tree, numbered, own in zip(trees, intervals, texts, strict=True):
        leaves = tree.leaves
        if None in own and tree.missing not in tree.index:
            tree = tree.with_missing()
        named = [
            tree.missing if text is None
            else leaves[int(text)] if numbered and text != _OUTSIDE
            else text
            for text in own
        ]  # fmt: skip
        table = np.array([tree.index.get(text, -1) for text in named], dtype=np.int32)
        known = (table >= 0) & tree.is_leaf[table]
        if not known.all():
            problems.append(_unknown(tree, sorted(named[at] for at in np.flatnonzero(~known))))
        whole.append(tree)
        tables.append(table)
    dimension = Dimension(classifications=tuple(whole), name=name)
    shifted = [
        np.where(table > 0, table + shift, 0).astype(np.int32)
        for table, shift in zip(tables, dimension.offsets, strict=True)
    ]
    return dimension, shifted, problems


def _unknown(tree: Classification, codes: Sequence[str]) -> Problem:
    if tree.bounds is not None:
        return Problem(
            "some values lie outside all intervals", tree.name, "widen the first or last interval"
        )
    shown = ", ".join(repr(code) for code in codes[:_SHOWN])
    more = f" and {len(codes) - _SHOWN} more" if len(codes) > _SHOWN else ""
    inner = [code for code in codes if code in tree.index]
    hint = f"add them to the classification, or correct column {tree.source!r}"
    if inner:
        hint = f"records need codes of the finest level; {inner[0]!r} has codes below it"
    return Problem(
        f"codes of the data that are not in the classification: {shown}{more}", tree.name, hint
    )


def _all_levels(
    dimensions: Sequence[Dimension],
    leaves: Sequence[Sequence[PositionArray]],
    measures: Any,
    largest: dict[str, Largest],
) -> tuple[list[PositionArray], Any, dict[str, Largest]]:
    """Roll up once per choice of classifications; shared cells are kept once. Cells in order."""
    parts = []
    for choice in product(*(range(len(options)) for options in leaves)):
        positions = [options[k] for options, k in zip(leaves, choice, strict=True)]
        index, rolled, lists = roll_up(dimensions, positions, measures, largest)
        if any(choice):
            own = [part > 0 for k, part in zip(choice, index, strict=True) if k > 0]
            keep = np.flatnonzero(np.logical_and.reduce(own))
            index, rolled = [part[keep] for part in index], rolled.take(keep, axis=1)
            lists = {name: of.of_cells(keep) for name, of in lists.items()}
        parts.append((index, rolled, lists))
    if len(parts) == 1:
        return parts[0]
    index = [np.concatenate([part[0][k] for part in parts]) for k in range(len(dimensions))]
    order = sort_cells(dimensions, index)
    every = {
        name: Largest.joined([part[2][name] for part in parts]).of_cells(order) for name in largest
    }
    rolled = np.concatenate([part[1] for part in parts], axis=1).take(order, axis=1)
    return [part[order] for part in index], rolled, every
