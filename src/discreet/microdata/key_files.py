"""Adding record keys to a file.

In: a file of records and a secret. Out: a Parquet file of the same records with
their keys, readable by its owner only (confidential).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

import narwhals as nw
import polars as pl

from discreet.errors import MicrodataError
from discreet.files import atomic_path
from discreet.keygrid import KeyGrid
from discreet.microdata.reading import read_microdata
from discreet.microdata.record_keys import with_record_keys
from discreet.microdata.secret import Secret

__all__ = ["add_keys_to_file"]


def add_keys_to_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    id: str | Sequence[str],  # noqa: A002 - the word users know
    secret: Secret | bytes | str | Path,
    column: str = "record_key",
    grid: KeyGrid | int | str = 10**15,
    format: str | None = None,  # noqa: A002 - the word users know
    table: str | None = None,
    query: str | None = None,
    text: Collection[str] = (),
) -> Path:
    """Write the records of a file, with their keys, to a Parquet file.

    Records stream from file to file; memory holds eight bytes for each, to find
    repeated identifiers. The file appears when it is complete, or not at all.

    Args:
        source: The file of records, as for `read_microdata`.
        target: The Parquet file to write; its owner alone can read it.
        id: Column, or columns, that identify a record.
        secret: What makes the keys unpredictable; see `Secret`.
        column: Name of the new column.
        grid: The key grid.
        format: Format of the source, if its name does not tell.
        table: Table of the source, if it is a database.
        query: SELECT statement to run in the source, if it is a database.
        text: Columns of a CSV source to keep as text.
    """
    place = Path(target)
    if place.suffix.lower() not in (".parquet", ".pq"):
        raise MicrodataError(
            "records with keys are written as Parquet",
            code="format",
            where=str(place),
            hint="give the target the suffix .parquet",
        )
    if place.resolve() == Path(source).resolve():
        raise MicrodataError("source and target are the same file", code="file", where=str(place))
    held = Secret.of(secret)
    with atomic_path(place, private=True) as temporary:
        records = read_microdata(source, format=format, table=table, query=query, text=text)
        keyed = nw.to_native(
            with_record_keys(records, id=id, secret=held, column=column, grid=grid)
        )
        if isinstance(keyed, pl.LazyFrame):
            keyed.sink_parquet(temporary)
        else:
            keyed.write_parquet(str(temporary))
    return place
