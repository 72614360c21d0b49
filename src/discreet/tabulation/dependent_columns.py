"""`column_relations`: value columns of records that add up, record by record. CONFIDENTIAL input.

In: records behind any engine, and which of their columns are published. Out: the relations
that hold in every record, and so in every cell of every table: exactly, within rounding, or within
a share. Relations are guessed from few records; records that contradict a guess are looked for
among all, and teach the next one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from discreet.arrays import FloatArray
from discreet.microdata import parse_filter
from discreet.record_batches import collected
from discreet.tables import (
    COUNT,
    NEAR,
    ROUGH,
    ValueRelation,
    found_relations,
    near_relations,
    pairs_apart,
    whole_numbers,
)
from discreet.tabulation.engine import refusals
from discreet.tabulation.measures import LIMIT

#: So many records the first guess is made from, and so many more for each column or guess.
_FIRST, _MORE = 20_000, 200
_ROUNDS = 100
#: What whole numbers of 64 bits hold.
_WIDEST = 2.0**62


def column_relations(
    records: Any,
    columns: Sequence[str],
    *,
    count: str | None = None,
    where: str = "",
    share: float = NEAR,
) -> list[ValueRelation]:
    """The relations between columns that hold in every record; missing values count as 0.

    Args:
        records: The records.
        columns: The columns of values.
        count: What the number of records is called; it may stand in relations in any case.
        where: A filter.
        share: Columns that differ by this share at most, but for a factor, are related.

    >>> import polars as pl
    >>> firms = pl.DataFrame({"home": [3, 5, 2, 8], "abroad": [1, 0, 7, 2], "all": [4, 5, 9, 10]})
    >>> [found.text for found in column_relations(firms, ["all", "home", "abroad"])]
    ['all = home + abroad']
    """
    frame = nw.from_native(records)
    schema = frame.collect_schema()
    if where.strip():
        frame = frame.filter(parse_filter(where).to_narwhals(schema))
    terms = {name: _number(name, schema) for name in columns}
    terms[count or COUNT] = nw.lit(1.0)
    if len(terms) < 2 + (count is None):
        return []
    own = [f"value {at}" for at in range(len(terms))]
    names = dict(zip(terms, own, strict=True))
    selected = frame.select(*(term.alias(names[name]) for name, term in terms.items()))
    with refusals(filtered=bool(where.strip())):
        some = [_read(selected.head(_FIRST), own)]
        some += [_read(selected.filter(nw.col(item) != 0).head(_MORE), own) for item in own]
        most = selected.select(*(nw.col(item).abs().max() for item in own))
        limits = dict(zip(own, np.nan_to_num(_read(most, own))[0].tolist(), strict=True))
        for _ in range(_ROUNDS):
            matrix = np.concatenate(some)
            known = dict(zip(terms, matrix.T, strict=True))
            relations = found_relations(known, repeated=True)
            relations += pairs_apart(near_relations(known, share), relations)
            if not relations:
                return []
            decimals = {
                names[name]: None if (whole := whole_numbers(column)) is None else whole[1]
                for name, column in known.items()
            }
            wrong = [_contradicted(item, names, decimals, limits) for item in relations]
            against = _read(
                selected.filter(nw.any_horizontal(*wrong, ignore_nulls=True)).head(_MORE), own
            )
            if not len(against):
                return relations
            some.append(against)
    return []


def _number(name: str, schema: Any) -> nw.Expr:
    """A column as a number; what is missing or cannot be summed contributes nothing."""
    column = nw.col(name)
    if schema[name].is_float():
        column = nw.when(~column.is_nan() & (column.abs() < LIMIT)).then(column)
    return column.cast(nw.Float64).fill_null(0.0)


def _contradicted(
    relation: ValueRelation,
    names: Mapping[str, str],
    decimals: Mapping[str, int | None],
    limits: Mapping[str, float],
) -> nw.Expr:
    """Whether a record misses a relation: in whole numbers, where values are such.

    Else by more than rounding of doubles.
    """
    own = [(names[name], factor) for name, factor in relation.coefs]
    known = [places for name, _ in own if (places := decimals[name]) is not None]
    unit = 10 ** max(known, default=0)
    size = sum(abs(factor) * limits[name] * unit for name, factor in own)
    if len(known) == len(own) and not relation.share and size < _WIDEST:
        terms = []
        off = nw.lit(False)
        for name, factor in own:
            scaled = nw.col(name) * float(10 ** (decimals[name] or 0))
            off = off | ((scaled - scaled.round(0)).abs() > 1e-3)
            step = unit // 10 ** (decimals[name] or 0)
            terms.append(scaled.round(0).cast(nw.Int64) * (factor * step))
        whole_total: nw.Expr = terms[0]
        for term in terms[1:]:
            whole_total = whole_total + term
        missed: nw.Expr = (whole_total.abs() > relation.each * unit) | off
        return missed
    columns = [nw.col(name) * float(factor) for name, factor in own]
    total, whole = columns[0], columns[0].abs()
    for term in columns[1:]:
        total, whole = total + term, whole + term.abs()
    return total.abs() > whole * (ROUGH + relation.share / 2) + relation.each


def _read(frame: Any, columns: Sequence[str]) -> FloatArray:
    numbers: FloatArray = collected(frame).select(columns).to_numpy().astype(np.float64)
    return numbers
