"""Weights of a sample that are calibrated before its tables are made.

In: the records of a source (CONFIDENTIAL) and the published totals that a programme names. Out: the
same records with other weights, and how far these moved (CONFIDENTIAL).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.errors import ProgrammeError
from discreet.microdata import distant_records
from discreet.pretabular import ChangedRecords, calibrate
from discreet.record_batches import collected
from discreet.release.programme.file import Programme, RecordSource
from discreet.release.state.memory import read_release
from discreet.tabulation import bin_codes

if TYPE_CHECKING:
    from discreet.classifications import Classification


def with_calibrated_weights(
    records: Any,
    source: RecordSource,
    programme: Programme,
    trees: Mapping[str, Classification],
    done: dict[str, ChangedRecords],
) -> Any:
    """The records with weights that meet the totals; what became of them goes into `done`."""
    entry = source.records.calibrate
    if entry is None or records is None or not entry.totals:
        return records
    place = programme.file(entry.totals)
    if not place.exists():
        return records  # reported by the checks
    if distant_records(records) is not None or records.implementation.is_pyspark():
        message, hint = "weights can be calibrated only in memory", "name a file of records"
        raise ProgrammeError(message, code="calibrate", where=source.name, hint=hint)
    totals = [item.table for item in read_release(place)] if place.is_dir() else place
    frame = collected(records)
    codes = dict[str, pl.Series]()  # of variables of the programme, as its tables have them
    for name, stated in programme.variables.items():
        column = stated.coarser_column(name) or programme.stated_column(name)
        if column in frame.columns:
            codes[name] = _codes(frame[column], trees.get(name)).alias(name)
    known = frame.with_columns(codes.values())
    done[source.name] = calibrate(known, entry.model_copy(update={"totals": totals}))
    weights = [done[source.name].records[name] for name in done[source.name].measures]
    return nw.from_native(frame.with_columns(weights).lazy())


def _codes(values: pl.Series, tree: Classification | None) -> pl.Series:
    """The codes of a variable; intervals of a number as its tables show them."""
    if tree is None or tree.bounds is None or not values.dtype.is_numeric():
        return values
    numbers = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    labels = [code for code, leaf in zip(tree.codes, tree.is_leaf, strict=True) if leaf]
    places = bin_codes(numbers, np.asarray(tree.bounds))
    return pl.Series([*labels, None], dtype=pl.String).gather(places)
