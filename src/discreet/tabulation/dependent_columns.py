"""`column_relations`: value columns of records that add up, record by record. CONFIDENTIAL input.

In: records behind any engine, and which of their columns are published. Out: the relations
that hold in every record, and so in every cell of every table. Relations are guessed from few
records; records that contradict a guess are looked for among all, and teach the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from discreet.arrays import FloatArray
from discreet.microdata import parse_filter
from discreet.record_batches import collected
from discreet.tables import ROUGH, ValueRelation, found_relations
from discreet.tabulation.engine import refusals
from discreet.tabulation.measures import LIMIT

#: So many records the first guess is made from, and so many more for each column or guess.
_FIRST, _MORE = 2_000, 200
_ROUNDS = 100


def column_relations(
    records: Any, columns: Sequence[str], *, count: str | None = None, where: str = ""
) -> list[ValueRelation]:
    """The relations between columns that hold in every record; missing values count as 0.

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
    if count is not None:
        terms[count] = nw.lit(1.0)
    if len(terms) < 2:
        return []
    own = [f"value {at}" for at in range(len(terms))]
    selected = frame.select(
        *(term.alias(column) for column, term in zip(own, terms.values(), strict=True))
    )
    with refusals(filtered=bool(where.strip())):
        some = [_read(selected.head(_FIRST), own)]
        some += [_read(selected.filter(nw.col(item) != 0).head(_MORE), own) for item in own]
        for _ in range(_ROUNDS):
            matrix = np.concatenate(some)
            known = dict(zip(terms, matrix.T, strict=True))
            relations = found_relations(known, repeated=True)
            if not relations:
                return []
            wrong = [_contradicted(item, dict(zip(terms, own, strict=True))) for item in relations]
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


def _contradicted(relation: ValueRelation, columns: dict[str, str]) -> nw.Expr:
    """Whether a record misses a relation by more than rounding of doubles."""
    terms = [nw.col(columns[name]) * float(factor) for name, factor in relation.coefs]
    total, size = terms[0], terms[0].abs()
    for term in terms[1:]:
        total, size = total + term, size + term.abs()
    return total.abs() > size * ROUGH


def _read(frame: Any, columns: Sequence[str]) -> FloatArray:
    numbers: FloatArray = collected(frame).select(columns).to_numpy().astype(np.float64)
    return numbers
