"""Weights and values as a data engine adds them up: expressions, and a check of the sums.

In: a layout. Out: one column per measure to be summed, named by its row, and columns
that count what cannot be used (confidential).
"""

from __future__ import annotations

import narwhals as nw
import polars as pl

from discreet.errors import MicrodataError
from discreet.keygrid import LIMB
from discreet.tabulation.amounts import unusable_numbers
from discreet.tabulation.layout import LIMBS, Layout, Share
from discreet.tabulation.limbs import LIMIT, engine_limbs

__all__ = ["absent", "check_numbers", "measure", "number", "number_parts"]


def measure(row: int) -> str:
    """The name of an engine's column for a row of the measures."""
    return f"m{row}"


def number_parts(layout: Layout, schema: nw.Schema, key: nw.Expr | None) -> dict[str, nw.Expr]:
    """The columns to sum, but for counts and keys of all records.

    Args:
        layout: What to sum.
        schema: Types of the columns.
        key: The record keys as whole numbers.
    """
    columns: dict[str, nw.Expr] = {}
    weight = None
    if layout.weight is not None:
        weight = number(layout.weight, schema)
        columns |= _named(layout, _limbs(weight), "weight")
        columns["bad_w_missing"] = _flag(absent(weight))
        columns["bad_w_negative"] = _flag(weight < 0)
        columns["bad_w_large"] = _flag(_large(weight))
    for k, name in enumerate(layout.values):
        amount = _amount(name, weight, schema)
        columns |= _named(layout, _limbs(amount), "sum", name)
        columns[f"bad_v{k}_large"] = _flag(_large(amount))
    for share in layout.shares:
        columns |= _share(layout, share, schema, key)
        if share.of == "plain":
            at = layout.values.index(share.column)
            columns[f"bad_v{at}_plain_large"] = _flag(_large(number(share.column, schema)))
    return columns


def _share(
    layout: Layout, share: Share, schema: nw.Schema, key: nw.Expr | None
) -> dict[str, nw.Expr]:
    """The measures of a share of the records."""
    value = number(share.column, schema)
    weight = None if layout.weight is None else number(layout.weight, schema)
    inside = {
        "missing": absent(value),
        "zero": ~absent(value) & (value == 0.0),
        "negative": ~absent(value) & (value < 0.0),
        "plain": ~absent(value),
    }[share.of]
    columns: dict[str, nw.Expr] = {}
    if share.counted:
        parts = [nw.lit(1)] if key is None else [nw.lit(1), key // LIMB, key % LIMB]
        names = ("n", "high", "low")[: len(parts)]
        for part, name in zip(parts, names, strict=True):
            row = measure(layout.rows[share.of, share.column, name])
            columns[row] = nw.when(inside).then(part).otherwise(nw.lit(0)).cast(nw.Int64)
    if layout.sums_of(share):
        amount = _amount(share.column, weight, schema)
        if share.of == "plain":
            amount = _amount(share.column, None, schema)
        if share.of == "missing" and weight is not None:
            amount = weight
        amount = nw.when(inside).then(amount).otherwise(nw.lit(0.0))
        columns |= _named(layout, _limbs(amount), share.of, share.column)
    return columns


def _amount(name: str, weight: nw.Expr | None, schema: nw.Schema) -> nw.Expr:
    """Value times weight, 0 where the value is missing."""
    value = number(name, schema)
    filled = nw.when(~absent(value)).then(value).otherwise(nw.lit(0.0))
    return filled if weight is None else filled * weight


def absent(value: nw.Expr) -> nw.Expr:
    """Whether a value is missing."""
    # Not value != value: in polars and SQL, NaN equals itself and exceeds every number.
    return value.is_null() | value.is_nan()


def number(name: str, schema: nw.Schema) -> nw.Expr:
    """A column of weights or values."""
    if not (schema[name].is_numeric() or schema[name] == nw.Boolean):
        raise MicrodataError(
            f"numbers are needed, the column is of type {schema[name]}",
            code="column-type",
            where=name,
        )
    return nw.col(name).cast(nw.Float64)


def _flag(condition: nw.Expr) -> nw.Expr:
    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int8)


def _large(value: nw.Expr) -> nw.Expr:
    return ((value >= LIMIT) | (value <= -LIMIT)) & ~absent(value)


def _limbs(value: nw.Expr) -> list[nw.Expr]:
    large = (value >= LIMIT) | (value <= -LIMIT)
    usable = nw.when(~(large | absent(value))).then(value).otherwise(nw.lit(0.0))
    return [part.cast(nw.Int64) for part in engine_limbs(usable)]


def _named(layout: Layout, limbs: list[nw.Expr], *what: str) -> dict[str, nw.Expr]:
    rows = (layout.rows[*what, limb] for limb in LIMBS)
    return {measure(row): part for row, part in zip(rows, limbs, strict=True)}


def check_numbers(frame: pl.DataFrame, layout: Layout) -> None:
    """Raise unless every record had weights and values that can be summed."""
    bad = {
        name.removeprefix("bad_"): int(frame[name].sum() or 0)
        for name in frame.columns
        if name.startswith("bad_")
    }
    for kind in ("missing", "negative", "large"):
        if bad.get(f"w_{kind}"):
            label = "too large" if kind == "large" else kind
            raise unusable_numbers(label, bad[f"w_{kind}"], layout.weight or "")
    for k, name in enumerate(layout.values):
        for kind in ("plain_large", "large"):
            if bad.get(f"v{k}_{kind}"):
                raise unusable_numbers("too large", bad[f"v{k}_{kind}"], name)
