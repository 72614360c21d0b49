"""Stores: any table of many records at once. CONFIDENTIAL, as the records are.

In: records, and the columns of which tables will be made. Out: a folder in which they lie coded,
sorted by place and ready to be counted; from it the `Table`s that `tabulate` makes, bit for bit.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.classifications import Classification
from discreet.confidential import without_values
from discreet.errors import MicrodataError, Problem, raise_all
from discreet.key_check import check_records, lowest, sampled_places
from discreet.keygrid import KeyGrid, grid_keys
from discreet.microdata import (
    KEY,
    StoredRecords,
    VersionFiles,
    distant_records,
    is_url,
    publish,
    read_microdata,
)
from discreet.record_batches import collected
from discreet.tables import Spanning, Table, code_texts
from discreet.tabulation import CubeAxis, SpanningVariable, code_column, places_among, tabulate

#: Numbers with more different values are kept as they are.
_MOST_CODES = 2**16
_PLAIN = (*(pl.Int8, pl.Int16, pl.Int32, pl.Int64), *(pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64))
_FLOATS = (pl.Float32, pl.Float64)


class Store:
    """Records that are ready to be counted (confidential).

    Args:
        records: The current version of a store; see `Store.open`.

    >>> from tempfile import mkdtemp
    >>> people = pl.DataFrame({"sex": ["m", "w", "m"], "age": [30, 40, 30]})
    >>> store = Store.create(mkdtemp(), people, variables=["sex", "age"])
    >>> store.tabulate(by=["age"], where="sex == 'm'")
    <Table table (confidential): age, 2 cells>
    """

    def __init__(self, records: StoredRecords) -> None:
        self.records = records

    @classmethod
    @without_values
    def create(
        cls,
        folder: str | os.PathLike[str],
        source: Any,
        *,
        variables: Sequence[Spanning],
        values: Sequence[str] = (),
        record_key: str | None = None,
        key_grid: KeyGrid | int | str = 10**15,
        allow_unsuitable_keys: bool = False,
    ) -> Store:
        """Build a store, or a new version of one that is there; readers see it when it is whole.

        Args:
            folder: Where it is; made for its owner alone.
            source: Records: as for `tabulate`.
            variables: What spans tables, or filters. The first one sorts the records: the
                finest areas. Codes that its classification lacks are an error.
            values: Columns of values and weights.
            record_key: Column of record keys.
            key_grid: Their grid.
            allow_unsuitable_keys: As for `tabulate`.
        """
        found = [SpanningVariable.of(item) for item in variables]
        axes = [axis for each in found for axis in each.axes]
        names = list(dict.fromkeys([*(c for axis in axes for c in axis.columns), *values]))
        if not axes or axes[0].levels or record_key in names:
            message = "a store needs a variable of areas and record keys"
            raise MicrodataError(
                message, code="store", where=str(folder), hint="name the variable of areas first"
            )
        column = _columns_of(source, [*names, *([record_key] if record_key else [])])
        trees = [tree for each in found for tree in each.trees]
        grid = KeyGrid.of(key_grid)

        def write(files: VersionFiles) -> Mapping[str, Any]:
            about = _write_columns(files, column, names, trees)
            return {
                **about,
                "record_key": record_key,
                "keys": record_key and about["keys"](record_key, grid, allow_unsuitable_keys),
                "classifications": {
                    tree.name: tree_digest(tree) for tree in trees if tree.bounds is None
                },
            }

        publish(Path(folder), write)
        return cls.open(folder)

    @classmethod
    @without_values
    def open(cls, folder: str | os.PathLike[str], *, check: bool = False) -> Store:
        """Open the current version of a store.

        Args:
            folder: The store.
            check: Hold every file against its digest now, and not when it is first used.
        """
        records = StoredRecords.open(Path(folder))
        if check:
            records.check()
        return cls(records)

    def tabulate(self, by: Sequence[Spanning], **how: Any) -> Table:
        """Count records into a table, as `discreet.tabulate` does.

        Args:
            by: The spanning variables.
            how: What `discreet.tabulate` takes besides: weight, values, contributions, where,
                name. Record keys and their grid are those of the store.
        """
        keys = self.records.manifest["keys"]
        if keys:
            how = {"record_key": self.records.record_key, "key_grid": keys["grid"], **how}
            how = {"allow_unsuitable_keys": keys["allowed"], **how}
        return tabulate(self.records.plan(), by, **how)

    @without_values
    def codes(self, column: str, where: str = "") -> list[str]:
        """The codes of a column that occur, such as the squares of one district (confidential).

        Args:
            column: The column.
            where: Among which records; among all if it is empty.

        >>> from tempfile import mkdtemp
        >>> people = pl.DataFrame({"square": ["a", "b"], "district": [1, 2]})
        >>> store = Store.create(mkdtemp(), people, variables=["square", "district"])
        >>> store.codes("square", where="district == 2"), store.codes("square")
        (['b'], ['a', 'b'])
        """
        about = self.records.columns.get(column)
        if not where and about is not None and about["kind"] != "plain":
            values = self.records.values(column)  # each of them occurs
            return code_texts(values, column).drop_nulls().to_list()
        table = tabulate(self.records.plan(), [column], where=where)
        tree = table.dimensions[0].classifications[0]
        return [code for code in tree.codes[1:] if code != tree.missing]

    def info(self) -> dict[str, Any]:
        """Describe the store. CONFIDENTIAL: it contains the number of records."""
        records = self.records
        length = sum(item["length"] for item in records.manifest["files"].values())
        return {
            "records": records.records,
            "record_key": records.record_key,
            "sorted_by": records.sorted_by,
            "columns": {name: about["kind"] for name, about in records.columns.items()},
            "classifications": dict(records.manifest["classifications"]),
            "bytes": length,
            "version": records.place.name,
        }

    def __repr__(self) -> str:
        return f"<Store {self.records.folder} (confidential): {len(self.records.columns)} columns>"


def tree_digest(tree: Classification) -> str:
    """A digest of what a classification says of records: codes, parents, columns."""
    about = [tree.codes, tree.parents, tree.column or tree.name, tree.level_columns]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()


_Column = Callable[[str], pl.Series]


def _columns_of(source: Any, names: Sequence[str]) -> _Column:
    """What reads a column; of a file each on its own, where its order is that of the file."""
    records = read_microdata(source)
    missing = [name for name in names if name not in records.collect_schema()]
    problems = [Problem(f"column {name!r} is missing", "records") for name in missing]
    raise_all(MicrodataError, problems, code="missing-column", many="{} columns are missing")
    file = isinstance(source, str | os.PathLike) and not is_url(str(source))
    if not records.implementation.is_polars() or distant_records(records) is not None:
        held = collected(records.select(*names))
        return lambda name: held[name]
    # Codes take a tenth of the memory that texts such as those of squares do.
    plan: Any = records.select(*names).to_native()
    texts = [name for name, dtype in plan.collect_schema().items() if dtype == pl.String]
    plan = plan.lazy().with_columns(
        pl.col(name).cast(pl.Categorical(pl.Categories.random())) for name in texts
    )
    if file:
        return lambda name: collected(nw.from_native(plan.select(name)))[name]
    held = collected(nw.from_native(plan))
    return lambda name: held[name]


def _write_columns(
    files: VersionFiles, column: _Column, names: Sequence[str], trees: Sequence[Classification]
) -> dict[str, Any]:
    """Write all columns, sorted by the first one; what they are, and what writes the keys."""
    some = {}

    def read(name: str) -> pl.Series:
        series = column(name)
        some[name] = series.gather(sampled_places(len(series)))
        return series

    values, codes = _coded(read(names[0]))
    if trees and trees[0].source == names[0] and trees[0].bounds is None:
        values, codes = _in_tree_order(trees[0], values, codes)
    order = np.argsort(codes, kind="stable").astype(np.uint32 if len(codes) < 2**32 else np.int64)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(values)))])
    files.add("0.values.arrow", values)
    files.add("0.offsets.arrow", pl.Series(offsets.astype(np.int64)))
    about: dict[str, Any] = {names[0]: {"at": 0, "kind": "sorted"}}
    first = order[offsets[:-1]] if len(codes) else order
    for at, name in enumerate(names[1:], 1):
        about[name] = {"at": at, **_write_column(files, at, read(name), codes, order, first)}
    for tree in trees:
        if tree.source in about and tree.bounds is None and not tree.level_columns:
            _check_codes(tree, files, about[tree.source]["at"])

    def keys(name: str, grid: KeyGrid, allowed: bool) -> dict[str, Any]:
        numbers = grid_keys(read(name), grid, column=name)
        low = pl.Series(numbers[numbers < lowest(grid)])
        records = check_records(pl.DataFrame(some), low, grid, column=name, allowed=allowed)
        assert records is not None
        files.add(KEY, pl.Series(numbers[order]))
        facts = {"grid": grid.size, "records": records.records, "points": records.points}
        fits = records.fits and records.fits.size
        return {**facts, "faults": list(records.faults), "fits": fits, "allowed": allowed}

    return {"records": len(codes), "columns": about, "keys": keys}


def _coded(series: pl.Series) -> tuple[pl.Series, Any]:
    """The values of a column in order, missing last, and the code of each record."""
    named = isinstance(series.dtype, pl.Categorical | pl.Enum)
    if series.dtype.is_float():
        series = series.fill_nan(None)
    if series.dtype.is_integer() or named:
        coded = code_column(series, CubeAxis(series.name)).compacted()
        values = coded.values if named else coded.values.cast(series.dtype)
        codes = coded.codes.cast(_width(len(values))).to_numpy()
        rank = values.arg_sort(nulls_last=True).to_numpy()
        if bool((rank == np.arange(len(rank))).all()):
            return values, codes
        place = np.empty(len(rank), dtype=codes.dtype)
        place[rank] = np.arange(len(rank))
        return values.gather(rank), place[codes]
    values = series.unique().sort(nulls_last=True)
    if series.dtype == pl.String:
        known = values.drop_nulls()
        numbers = series.cast(pl.Enum(known)).to_physical().cast(pl.UInt32).fill_null(len(known))
    else:
        numbers = pl.Series(places_among(series, values))
    return values, numbers.cast(_width(len(values))).to_numpy()


def _width(codes: int) -> type[pl.DataType]:
    """The narrowest numbers for so many codes, whatever the records were kept in."""
    return pl.UInt8 if codes <= 2**8 else pl.UInt16 if codes <= 2**16 else pl.UInt32


def _in_tree_order(tree: Classification, values: pl.Series, codes: Any) -> tuple[pl.Series, Any]:
    """Values in the order of a classification, so that its areas are ranges."""
    texts = [tree.missing if text is None else text for text in code_texts(values, tree.source)]
    after = len(tree.codes)
    rank = np.argsort([tree.index.get(text, after) for text in texts], kind="stable")
    place = np.empty(len(rank), dtype=codes.dtype)
    place[rank] = np.arange(len(rank))
    return values.gather(rank), place[codes] if len(rank) else codes


def _check_codes(tree: Classification, files: VersionFiles, at: int) -> None:
    values = pl.read_ipc(files.place / f"{at}.values.arrow").to_series()
    known = {*tree.leaves, tree.missing}
    unknown = [text for text in code_texts(values, tree.source).drop_nulls() if text not in known]
    if unknown:
        message = (
            f"{len(unknown):,} codes of the records are not on the finest level of the "
            "classification"
        )
        hint = f"add them to the classification, or correct column {tree.source!r}"
        raise MicrodataError(message, code="unknown-code", where=tree.name, hint=hint)


def _write_column(
    files: VersionFiles, at: int, series: pl.Series, areas: Any, order: Any, first: Any
) -> dict[str, Any]:
    """Write one column; what it is."""
    if isinstance(series.dtype, (*_PLAIN, *_FLOATS)) and series.n_unique() > _MOST_CODES:
        if series.dtype.is_float():
            series = series.fill_nan(None)
        files.add(f"{at}.values.arrow", series.clear())
        filled = series.is_not_null()
        numbers = series.fill_null(0).to_numpy()[order]
        files.add(f"{at}.plain.arrow", pl.Series(numbers))
        missing = not bool(filled.all())
        if missing:
            files.add(f"{at}.given.arrow", filled.cast(pl.UInt8).gather(order))
        return {"kind": "plain", "missing": missing}
    values, codes = _coded(series)
    files.add(f"{at}.values.arrow", values)
    own = codes[first]
    nested = bool((codes == own[areas]).all()) if len(codes) else False
    files.add(f"{at}.codes.arrow", pl.Series(own if nested else codes[order]))
    return {"kind": "nested" if nested else "coded"}
