"""`identity.parquet`: which records stand behind the cells of a release. CONFIDENTIAL.

In: tables whose cell keys are fingerprints, or such a file of an earlier release. Out: the cells by
their codes; and which cells of equal names had other records then.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.arrays import BoolArray
from discreet.errors import PublicationError
from discreet.tables import Dimension, Table

IDENTITY = "identity.parquet"
#: Between the codes of a cell; it does not stand in data.
_BETWEEN = "\x1f"
COLUMNS = ("digest", "table", "mark", "columns", "layer", "codes", "fingerprint")


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
