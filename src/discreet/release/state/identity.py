"""`identity.parquet`: which records stand behind the cells of a release. CONFIDENTIAL.

In: records and their identifiers, or such a file of an earlier release. Out: tables whose cell keys
are fingerprints of the records; and which cells of equal names had other records then.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.errors import PublicationError
from discreet.keygrid import KeyGrid
from discreet.microdata import KeyFunction, Secret, identifier_texts, open_frame, with_computed
from discreet.tables import Dimension, Table
from discreet.tabulation import Query, tabulate_many

if TYPE_CHECKING:
    import polars as pl

IDENTITY = "identity.parquet"
_PURPOSE = "discreet release identity 1"
_FINGERPRINT = "fingerprint of the record"
_GRID = KeyGrid(10**15)
#: Between the codes of a cell, and in place of a missing value; neither stands in data.
_BETWEEN, _MISSING = "\x1f", "\x00"
COLUMNS = ("digest", "table", "mark", "columns", "layer", "codes", "fingerprint")


@dataclass(frozen=True, repr=False, eq=False)
class RecordIdentity:
    """How records are told apart, alike in every release: columns, and a key. SECRET.

    >>> RecordIdentity(("firm",), Secret(b"a long and secret sentence"))
    <RecordIdentity by firm>
    """

    columns: tuple[str, ...]
    secret: Secret

    @cached_property
    def mark(self) -> str:
        """Tells keys apart, and nothing about them."""
        return self.secret.derive(f"{_PURPOSE}; mark").hex()[:16]

    def counted(self, records: Any, queries: Sequence[Query]) -> list[Table]:
        """Tables whose cell keys are fingerprints of the records: sums of random numbers."""
        import polars as pl

        function = KeyFunction(self.secret.derive(_PURPOSE), _GRID)

        def numbers(columns: pl.DataFrame) -> IntArray:
            if columns.width > 1 or not columns.to_series().dtype.is_integer():
                columns = columns.cast(pl.String).fill_null(_MISSING)
            texts = identifier_texts(columns)
            # A whole number is the same as a number and as a text, and faster as a number.
            whole = texts.cast(pl.Int64, strict=False)
            plain = ((whole >= 0) & (whole.cast(texts.dtype) == texts)).fill_null(value=False)
            if plain.all():
                return function.of_numbers(whole.to_numpy())
            found = function(texts.cast(pl.String).fill_null(_MISSING))
            found[plain.to_numpy()] = function.of_numbers(whole.filter(plain).to_numpy())
            return found

        how: dict[str, Any] = {"as_text": False}
        keyed = with_computed(open_frame(records), self.columns, _FINGERPRINT, numbers, **how)
        how = {"record_key": _FINGERPRINT, "key_grid": _GRID}
        return tabulate_many(keyed, queries, allow_unsuitable_keys=True, **how)

    def __repr__(self) -> str:
        return f"<RecordIdentity by {', '.join(self.columns)}>"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class EarlierIdentity:
    """The fingerprints of the cells of one table that was published before (confidential)."""

    columns: tuple[str, ...]
    mark: str
    fingerprints: Mapping[str, int]  # codes of a cell → its fingerprint

    def differing(self, now: Table) -> BoolArray:
        """Which cells of the same table have other records now."""
        own = zip(codes_of(now), keys_of(now), strict=True)
        return np.array([self.fingerprints.get(codes, -1) != key for codes, key in own], np.bool_)

    def along(self, dimensions: Sequence[Dimension], at: int) -> dict[str, int]:
        """The fingerprints of the finest codes of one variable, over all others."""
        codes = [dimension.total for dimension in dimensions]
        leaves = dimensions[at].classifications[0].leaves
        cells = {leaf: _BETWEEN.join([*codes[:at], leaf, *codes[at + 1 :]]) for leaf in leaves}
        known = self.fingerprints
        return {leaf: known[cell] for leaf, cell in cells.items() if cell in known}


def keys_of(table: Table) -> list[int]:
    """The fingerprint of each cell."""
    assert table.cell_key is not None
    keys: list[int] = table.cell_key.tolist()
    return keys


def codes_of(table: Table) -> list[str]:
    """The codes of each cell as one text."""
    return texts_of_cells([dimension.codes for dimension in table.dimensions], table)


def texts_of_cells(names: Sequence[Sequence[str]], table: Table) -> list[str]:
    """For each cell the names of its codes, per variable, as one text."""
    columns = [np.array(own)[part] for own, part in zip(names, table.index, strict=True)]
    return [_BETWEEN.join(cell) for cell in zip(*columns, strict=True)] or [""] * len(table)


def read_identity(path: str | os.PathLike[str]) -> dict[str, EarlierIdentity]:
    """The fingerprints of a release, by the digests of its tables.

    Raises:
        PublicationError: If the file is none of these.
    """
    import polars as pl

    try:
        frame = pl.read_parquet(Path(path), columns=list(COLUMNS))
    except (OSError, pl.exceptions.PolarsError):
        message = "not a file of fingerprints, or it is damaged"
        hint = f"use the file {IDENTITY} in the folder of internal reports of the release"
        raise PublicationError(message, code="identity", where=str(path), hint=hint) from None
    found = {}
    for (digest, mark, columns), cells in frame.group_by("digest", "mark", "columns"):
        found[str(digest)] = EarlierIdentity(
            columns=tuple(json.loads(str(columns))),
            mark=str(mark),
            fingerprints=dict(zip(cells["codes"], cells["fingerprint"], strict=True)),
        )
    return found
