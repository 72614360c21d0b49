"""Keys of units from the keys of their parts.

In: parts with record keys (persons) and the column that names their unit
(household). Out: one record per unit, its key the sum of its parts' keys modulo M.
A table of units then draws the same noise as any cell with the same persons.
Confidential on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals as nw

from discreet.errors import MicrodataError, Problem, RecordKeyError
from discreet.keygrid import LIMB, KeyGrid, off_grid, unusable_keys
from discreet.microdata.frames import (
    NarwhalsFrame,
    like,
    name_list,
    only_row,
    open_frame,
    require_columns,
    require_new,
    with_values,
)
from discreet.microdata.identifiers import check_identifiers
from discreet.microdata.record_keys import with_record_keys
from discreet.microdata.secret import Secret

_HIGH, _LOW, _PARTS = "discreet_high", "discreet_low", "discreet_parts"
_UNIT = "discreet_unit_"


def inherit_record_keys(
    parts: Any,
    *,
    by: str | Sequence[str],
    record_key: str = "record_key",
    grid: KeyGrid | int | str = 10**15,
    keep: Sequence[str] = (),
    onto: Any = None,
    secret: Secret | bytes | str | Path | None = None,
    orphans: str = "error",
) -> Any:
    """Key each unit with the sum of its parts' keys modulo the grid.

    Args:
        parts: Records with keys.
        by: Column, or columns, that name the unit each part belongs to.
        record_key: Column with the keys of the parts; the units' keys are called the same.
        grid: The key grid.
        keep: Columns to keep; each must be the same for all parts of a unit.
        onto: A frame of the units (same engine) to add the keys to; without it, the
            units are those that have parts, sorted by `by`.
        secret: Makes keys for the units of `onto` that have no parts, from their
            identifier as in `with_record_keys`; without it they are an error.
        orphans: "drop" leaves out parts that belong to no unit (`by` is null);
            "error" refuses them.

    >>> import polars as pl
    >>> people = pl.DataFrame({"home": [1, 1, 2], "record_key": [200, 100, 7]})
    >>> inherit_record_keys(people, by="home", grid=256).rows()
    [(1, 44), (2, 7)]
    """
    records = open_frame(parts)
    units, kept = name_list(by, "by"), list(keep)
    key_grid = KeyGrid.of(grid)
    _check_request(units, kept, record_key, orphans, onto, secret)
    require_columns(records, [*units, *kept, record_key])
    _check_parts(records, units, record_key, key_grid, orphans)
    if orphans == "drop":
        records = records.filter(*[~nw.col(name).is_null() for name in units])
    summed = _summed(records, units, kept, record_key, key_grid)
    if onto is None:
        return like(_one_row_each(summed, units, kept, record_key), parts)
    homes = open_frame(onto)
    _check_onto(records, homes, units, record_key)
    return like(_added(summed, homes, units, record_key, key_grid, secret), onto)


def _check_request(
    units: Sequence[str], kept: Sequence[str], key: str, orphans: str, onto: Any, secret: Any
) -> None:
    if orphans not in ("error", "drop"):
        raise MicrodataError(
            f"orphans={orphans!r} is not a choice", code="orphans", hint="use error or drop"
        )
    if len({*units, *kept, key}) != len(units) + len(kept) + 1:
        raise MicrodataError(
            "by, keep and record_key name a column twice",
            code="columns",
            where=", ".join([*units, *kept, key]),
        )
    if onto is not None and kept:
        raise MicrodataError("keep and onto exclude each other", code="columns", where="keep")
    if onto is None and secret is not None:
        raise MicrodataError(
            "a secret is of use only for units without parts, which onto names",
            code="columns",
            where="secret",
            hint="give the frame of units as onto=…, or leave out the secret",
        )


def _check_parts(
    records: NarwhalsFrame, units: Sequence[str], key: str, grid: KeyGrid, orphans: str
) -> None:
    if not records.collect_schema()[key].is_integer():
        raise RecordKeyError(
            "record keys are whole numbers on the grid",
            code="key-type",
            where=key,
            hint="take existing keys to the grid with import_record_keys",
        )
    outside = (nw.col(key) < 0) | (nw.col(key) >= grid.size)
    homeless = nw.any_horizontal(*[nw.col(name).is_null() for name in units], ignore_nulls=True)
    row = only_row(
        records.select(
            nw.len().alias("total"),
            nw.col(key).is_null().cast(nw.Int64).sum().alias("nulls"),
            outside.cast(nw.Int64).sum().alias("outside"),
            homeless.cast(nw.Int64).sum().alias("homeless"),
        )
    )
    if row["nulls"]:
        raise unusable_keys("no key", row["nulls"], row["total"], key)
    if row["outside"]:
        raise off_grid(row["outside"], row["total"], key, grid)
    if row["homeless"] and orphans == "error":
        raise MicrodataError(
            f"{row['homeless']:,} of {row['total']:,} records belong to no unit",
            code="orphans",
            where=", ".join(units),
            hint="orphans='drop' leaves them out",
        )


def _summed(
    records: NarwhalsFrame, units: Sequence[str], kept: Sequence[str], key: str, grid: KeyGrid
) -> NarwhalsFrame:
    """Unit keys from one grouped pass; keys are added in two parts, so no sum overflows."""
    key_value = nw.col(key).cast(nw.Int64)
    columns = [nw.col(name) for name in (*units, *kept)]
    halves = records.select(
        *columns, (key_value // LIMB).alias(_HIGH), (key_value % LIMB).alias(_LOW)
    )
    grouped = halves.group_by(*units, *kept).agg(
        nw.col(_HIGH).sum(), nw.col(_LOW).sum(), nw.len().alias(_PARTS)
    )
    # Databases may add in a wider type, in which the steps below could turn to floats.
    high, low = nw.col(_HIGH).cast(nw.Int64), nw.col(_LOW).cast(nw.Int64)
    combined = high % grid.size
    for step in (1000, 1000, 10):  # times LIMB without leaving 64 bits
        combined = (combined * step) % grid.size
    total = (combined + low % grid.size) % grid.size
    return grouped.select(*columns, total.alias(key), nw.col(_PARTS).cast(nw.Int64))


def _one_row_each(
    summed: NarwhalsFrame, units: Sequence[str], kept: Sequence[str], key: str
) -> NarwhalsFrame:
    if kept:
        rows = summed.group_by(*units).agg(nw.len().alias("rows"))
        several = rows.filter(nw.col("rows") > 1).select(nw.len().alias("number"))
        if number := only_row(several)["number"]:
            raise MicrodataError(
                f"{number:,} units have parts that differ in a column to keep",
                code="keep",
                where=", ".join(kept),
                hint="keep only columns that describe the unit, not its parts",
            )
    return summed.select(*units, *kept, key).sort(*units)


def _check_onto(
    records: NarwhalsFrame, homes: NarwhalsFrame, units: Sequence[str], key: str
) -> None:
    if homes.implementation != records.implementation or type(homes) is not type(records):
        raise MicrodataError(
            "parts and units are frames of different engines",
            code="engine",
            where="onto",
            hint="read both the same way",
        )
    require_new(homes, key)
    check_identifiers(homes, units)
    here, there = records.collect_schema(), homes.collect_schema()
    problems = [
        Problem(f"is {here[name]} in the parts and {there[name]} in the units", name)
        for name in units
        if here[name].is_integer() != there[name].is_integer()
    ]
    if problems:
        raise MicrodataError(
            "parts and units name the unit in different types",
            code="unit-type",
            where=", ".join(units),
            hint="convert both to whole numbers, or both to text",
            problems=problems,
        )


def _added(
    summed: Any,  # the same kind of frame as homes; types cannot say so
    homes: Any,
    units: Sequence[str],
    key: str,
    grid: KeyGrid,
    secret: Secret | bytes | str | Path | None,
) -> NarwhalsFrame:
    """The units with their keys: from their parts, or from the secret."""
    schema = homes.collect_schema()
    common = [_comparable(name, schema).alias(f"{_UNIT}{at}") for at, name in enumerate(units)]
    on = [f"{_UNIT}{at}" for at in range(len(units))]
    keys = summed.select(*common, key, _PARTS)
    places = homes.select(*[nw.col(name) for name in units], *common)
    _check_lost(keys.join(places.select(*on), on=on, how="anti"), units)
    vacant = places.join(keys.select(*on), on=on, how="anti").select(*units)
    number = only_row(vacant.select(nw.len().alias("number")))["number"]
    keys = keys.select(*on, key)
    if number:
        if secret is None:
            raise MicrodataError(
                f"{number:,} units have no parts to inherit a key from",
                code="units-without-parts",
                where=", ".join(units),
                hint="give a secret; these units then get keys of their own",
            )
        own: Any = open_frame(
            with_record_keys(vacant, id=units, secret=secret, column=key, grid=grid)
        )
        keys = nw.concat([keys, own.select(*common, key)])
    return _looked_up(homes, common, on, keys, key)


def _comparable(name: str, schema: nw.Schema) -> nw.Expr:
    column = nw.col(name)
    return column.cast(nw.Int64) if schema[name].is_integer() else column.cast(nw.String)


def _check_lost(lost: NarwhalsFrame, units: Sequence[str]) -> None:
    row = only_row(lost.select(nw.len().alias("units"), nw.col(_PARTS).sum().alias("parts")))
    if row["units"]:
        raise MicrodataError(
            f"{row['parts']:,} records belong to {row['units']:,} units that are not there",
            code="unknown-units",
            where=", ".join(units),
            hint="add these units, or leave their parts out",
        )


def _looked_up(
    homes: Any,
    common: Sequence[nw.Expr],
    on: Sequence[str],
    keys: Any,
    key: str,
) -> NarwhalsFrame:
    """Each unit's key beside it; rows and their order stay."""
    if isinstance(homes, nw.DataFrame):
        places = homes.select(*common).with_row_index("discreet_row")
        found = places.join(keys, on=list(on), how="left").sort("discreet_row")
        return with_values(homes, key, found.get_column(key).cast(nw.Int64).to_numpy())
    names = homes.collect_schema().names()
    places = homes.with_columns(*common)
    if homes.implementation.is_polars():
        # Only here does a join keep the order of plans; databases have none.
        native = places.to_native().join(
            keys.to_native(), on=list(on), how="left", maintain_order="left"
        )
        found = nw.from_native(native)
    else:
        found = places.join(keys, on=list(on), how="left")
    chosen: NarwhalsFrame = found.select(*names, key)
    return chosen
