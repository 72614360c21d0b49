"""Keys of units from the keys of their parts.

In: parts with record keys (persons) and the column that names their unit (household). Out:
one record per unit. Its key is derived for this kind of unit from the sum of its parts' keys
modulo M; or it is that sum, and then a table of units draws the same noise as any cell with
the same persons. Sums go along with derived keys: up a chain of units they are added, so
that keys do not depend on the way. Confidential on both sides.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from discreet.arrays import IntArray
from discreet.confidential import without_values
from discreet.errors import DisclosureWarning, MicrodataError, Problem, RecordKeyError
from discreet.keygrid import (
    DECIMALS,
    LIMB,
    KeyGrid,
    decimal_keys,
    grid_keys,
    off_grid,
    too_fine,
    unusable_keys,
)
from discreet.microdata.frames import (
    NarwhalsFrame,
    eager_columns,
    like,
    name_list,
    only_row,
    open_frame,
    require_columns,
    require_new,
    with_computed,
    with_values,
)
from discreet.microdata.identifiers import check_identifiers
from discreet.microdata.key_derivation import derived_keys
from discreet.microdata.record_keys import with_record_keys
from discreet.microdata.secret import Secret

_HIGH, _LOW, _PARTS = "discreet_high", "discreet_low", "discreet_parts"
_UNIT = "discreet_unit_"
_DERIVED = "discreet_derived"

_SHARED_NOISE = (
    "units have the sums of the keys of their parts and therefore the same noise, so the "
    'difference of their published numbers is a true value; add unit="household" for '
    'independent noise, or confirm with inheritance="plain"'
)


def sum_column(record_key: str) -> str:
    """The column with the sums that go along with derived keys.

    >>> sum_column("record_key")
    'record_key_sum'
    """
    return f"{record_key}_sum"


@without_values
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
    unit: str | None = None,
    inheritance: str | None = None,
) -> Any:
    """Key each unit from the sum of its parts' keys modulo the grid.

    Name the kind of unit: with `unit="household"`, tables of households have noise of their
    own. Without it a region's households get the noise of its persons, and the difference
    of both published numbers is the true one. Keys do not depend on the way between units.

    Args:
        parts: Records with keys: whole numbers of the grid, or decimals in [0, 1).
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
        unit: The kind of unit, such as "household", that keys are derived for. The sums
            are put beside them (`record_key_sum`) and are what the next units inherit.
        inheritance: "plain" says that the sums are to be the keys: households of one
            person then have the noise of these persons.

    >>> people = pl.DataFrame({"home": [1, 1, 2], "record_key": [200, 100, 7]})
    >>> inherit_record_keys(people, by="home", grid=256, inheritance="plain").rows()
    [(1, 44), (2, 7)]
    >>> inherit_record_keys(people, by="home", grid=256, unit="household").columns
    ['home', 'record_key', 'record_key_sum']
    """
    records = open_frame(parts)
    units, kept = name_list(by, "by"), list(keep)
    key_grid = KeyGrid.of(grid)
    _check_request(units, kept, record_key, orphans, onto, secret)
    _check_inheritance(unit, inheritance)
    # Where keys are derived ones, their sums are added.
    sums = sum_column(record_key)
    added = sums if sums in records.collect_schema().names() else record_key
    require_columns(records, [*units, *kept, added])
    records = _whole_keys(records, added, key_grid)
    _check_parts(records, units, added, key_grid, orphans)
    if orphans == "drop":
        records = records.filter(*[~nw.col(name).is_null() for name in units])
    summed = _summed(records, units, kept, added, record_key, key_grid)
    if onto is None:
        rows = _one_row_each(summed, units, kept, record_key)
        return like(_for_unit(rows, record_key, unit, key_grid).sort(*units), parts)
    homes = open_frame(onto)
    _check_onto(records, homes, units, record_key)
    keyed = _added(summed, homes, units, record_key, key_grid, secret)
    return like(_for_unit(keyed, record_key, unit, key_grid), onto)


def _check_inheritance(unit: Any, inheritance: Any) -> None:
    """Refuse kinds of units without a name, and two ways at once; warn where none is named."""
    if unit is not None and not (isinstance(unit, str) and unit.strip()):
        hint = 'unit="household"'
        raise MicrodataError(
            "the kind of unit must be a name", code="unit", where="unit", hint=hint
        )
    if inheritance not in (None, "plain"):
        message = f"unknown inheritance={inheritance!r}"
        hint = 'use unit="household", or inheritance="plain"'
        raise MicrodataError(message, code="inheritance", where="inheritance", hint=hint)
    if unit is not None and inheritance is not None:
        message = "unit and inheritance exclude each other"
        hint = "use unit for derived keys, or inheritance for plain sums"
        raise MicrodataError(message, code="inheritance", where="unit", hint=hint)
    if unit is None and inheritance is None:
        warnings.warn(_SHARED_NOISE, DisclosureWarning, stacklevel=4)  # where it was called


def _for_unit(rows: NarwhalsFrame, key: str, unit: str | None, grid: KeyGrid) -> NarwhalsFrame:
    """The keys for this kind of unit, and beside them the sums they are derived from."""
    if unit is None:
        return rows
    require_new(rows, sum_column(key))
    purpose = f"unit {unit}"
    if rows.implementation.is_pyspark():
        from discreet.microdata import spark

        native = spark.with_derived_keys(rows.to_native(), key, _DERIVED, grid, purpose)
        frame: NarwhalsFrame = nw.from_native(native)
    else:

        def keys(columns: pl.DataFrame) -> IntArray:
            return derived_keys(columns.to_series().to_numpy(), grid, purpose)

        frame = with_computed(rows, [key], _DERIVED, keys, as_text=False, distinct=True)
    names = rows.collect_schema().names()
    columns = [nw.col(_DERIVED).alias(key) if name == key else nw.col(name) for name in names]
    return frame.select(*columns, nw.col(key).alias(sum_column(key)))


def _check_request(
    units: Sequence[str], kept: Sequence[str], key: str, orphans: str, onto: Any, secret: Any
) -> None:
    if orphans not in ("error", "drop"):
        hint = "use error or drop"
        raise MicrodataError(f"unknown orphans={orphans!r}", code="orphans", hint=hint)
    if len({*units, *kept, key}) != len(units) + len(kept) + 1:
        message = "by, keep and record_key name a column twice"
        raise MicrodataError(message, code="columns", where=", ".join([*units, *kept, key]))
    if onto is not None and kept:
        raise MicrodataError("keep and onto exclude each other", code="columns", where="keep")
    if onto is None and secret is not None:
        message = "a secret is only used for units without parts, with onto="
        hint = "give the frame of units as onto=…, or remove the secret"
        raise MicrodataError(message, code="columns", where="secret", hint=hint)


def _whole_keys(records: NarwhalsFrame, key: str, grid: KeyGrid) -> NarwhalsFrame:
    """The records with their keys as whole numbers, taken to the grid as for a table."""
    kind = records.collect_schema()[key]
    if kind.is_integer():
        return records
    if isinstance(records, nw.DataFrame):
        series = eager_columns(records, [key]).to_series()
        return with_values(records, key, grid_keys(series, grid, column=key))
    if not (kind.is_float() or (isinstance(kind, nw.Decimal) and kind.scale <= DECIMALS)):
        message = f"this data engine cannot add keys of type {kind}"
        hint = "convert existing keys to the grid with import_record_keys"
        raise RecordKeyError(message, code="key-type", where=key, hint=hint)
    usable, finer = decimal_keys(nw.col(key).cast(nw.Float64), grid)
    present = ~nw.col(key).is_null()
    if kind.is_float():
        present = present & ~nw.col(key).is_nan()
    flags = records.select(
        present.fill_null(False).cast(nw.Int64).alias("given"),
        usable.alias("usable"),
        finer.cast(nw.Int64).alias("finer"),
    )
    row = only_row(
        flags.select(
            nw.len().alias("total"),
            nw.col("given").sum(),
            nw.col("usable").count().cast(nw.Int64),
            nw.col("finer").sum(),
        )
    )
    if missing := row["total"] - row["given"]:
        raise unusable_keys("no key", missing, row["total"], key)
    if outside := row["given"] - row["usable"]:
        raise off_grid(outside, row["total"], key, grid)
    if row["finer"]:
        raise too_fine(row["finer"], row["total"], key)
    return records.with_columns(usable.alias(key))


def _check_parts(
    records: NarwhalsFrame, units: Sequence[str], key: str, grid: KeyGrid, orphans: str
) -> None:
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
        message = f"{row['homeless']:,} of {row['total']:,} records belong to no unit"
        hint = "add orphans='drop' to drop them"
        raise MicrodataError(message, code="orphans", where=", ".join(units), hint=hint)


def _summed(
    records: NarwhalsFrame,
    units: Sequence[str],
    kept: Sequence[str],
    added: str,
    key: str,
    grid: KeyGrid,
) -> NarwhalsFrame:
    """Unit keys from one grouped pass; keys are added in two parts, so no sum overflows."""
    key_value = nw.col(added).cast(nw.Int64)
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
            message = f"{number:,} units have parts that differ in a column to keep"
            hint = "keep only columns that describe the unit, not its parts"
            raise MicrodataError(message, code="keep", where=", ".join(kept), hint=hint)
    return summed.select(*units, *kept, key)


def _check_onto(
    records: NarwhalsFrame, homes: NarwhalsFrame, units: Sequence[str], key: str
) -> None:
    if homes.implementation != records.implementation or type(homes) is not type(records):
        message = "parts and units are frames of different engines"
        raise MicrodataError(message, code="engine", where="onto", hint="read both the same way")
    require_new(homes, key)
    check_identifiers(homes, units)
    here, there = records.collect_schema(), homes.collect_schema()
    problems = [
        Problem(f"type {here[name]} in the parts, {there[name]} in the units", name)
        for name in units
        if here[name].is_integer() != there[name].is_integer()
    ]
    if problems:
        raise MicrodataError(
            "the identifier of the unit has different types in parts and units",
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
    common = [
        nw.col(name)
        .cast(nw.Int64 if schema[name].is_integer() else nw.String)
        .alias(f"{_UNIT}{at}")
        for at, name in enumerate(units)
    ]
    on = [f"{_UNIT}{at}" for at in range(len(units))]
    keys = summed.select(*common, key, _PARTS)
    places = homes.select(*[nw.col(name) for name in units], *common)
    lost = keys.join(places.select(*on), on=on, how="anti")
    row = only_row(lost.select(nw.len().alias("units"), nw.col(_PARTS).sum().alias("parts")))
    if row["units"]:
        message = f"{row['parts']:,} records belong to {row['units']:,} missing units"
        hint = "add these units, or drop their parts"
        raise MicrodataError(message, code="unknown-units", where=", ".join(units), hint=hint)
    vacant = places.join(keys.select(*on), on=on, how="anti").select(*units)
    number = only_row(vacant.select(nw.len().alias("number")))["number"]
    keys = keys.select(*on, key)
    if number:
        if secret is None:
            raise MicrodataError(
                f"{number:,} units have no parts to inherit a key from",
                code="units-without-parts",
                where=", ".join(units),
                hint="give a secret, which makes keys for these units",
            )
        own: Any = open_frame(
            with_record_keys(vacant, id=units, secret=secret, column=key, grid=grid)
        )
        keys = nw.concat([keys, own.select(*common, key)])
    # Each unit's key beside it; rows and their order stay.
    if isinstance(homes, nw.DataFrame):
        places = homes.select(*common).with_row_index("discreet_row")
        frame = places.join(keys, on=on, how="left").sort("discreet_row")
        return with_values(homes, key, frame.get_column(key).cast(nw.Int64).to_numpy())
    places = homes.with_columns(*common)
    if homes.implementation.is_polars():
        # Only here does a join keep the order of plans; databases have none.
        native = places.to_native().join(keys.to_native(), on=on, how="left", maintain_order="left")
        frame = nw.from_native(native)
    else:
        frame = places.join(keys, on=on, how="left")
    chosen: NarwhalsFrame = frame.select(*schema.names(), key)
    return chosen
