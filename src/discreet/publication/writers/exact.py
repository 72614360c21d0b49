"""Exact: everything of a protected table in one file, to be read back as it was.

In: `ProtectedTable`. Out: a Parquet file of the cells that are stored, as positions of codes,
value and status; its metadata describe the table in all languages, as JSON. Public. The other
formats are for readers and leave something out: names of levels, table parts, the other
language. This one leaves out nothing, and says nothing that they do not.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl

from discreet.errors import PublicationError
from discreet.publication.exact_tables import cells_frame, described, rebuilt, with_cells
from discreet.publication.formats import WriteOptions
from discreet.tables import ProtectedTable

_VERSION = "discreet-table-1"


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the cells, and all else beside them."""
    about = json.dumps(described(table), ensure_ascii=False, separators=(",", ":"))
    cells_frame(table).write_parquet(path, compression="zstd", metadata={_VERSION: about})


def read_file(path: str | os.PathLike[str]) -> ProtectedTable:
    """The table that was written.

    >>> import tempfile
    >>> from discreet.publication import write
    >>> from discreet.publication.examples import census_example
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write(census_example(), Path(folder) / "T1.exact.parquet")
    ...     read_file(file).get("Total", "Total")
    371
    """
    return with_cells(read_outline(path), pl.read_parquet(Path(path)))


def read_outline(path: str | os.PathLike[str]) -> ProtectedTable:
    """The table that was written, without its cells: titles, variables, notes, provenance."""
    try:
        about = pl.read_parquet_metadata(Path(path))[_VERSION]
    except (KeyError, OSError, pl.exceptions.PolarsError):
        what, hint = "this file is no protected table", 'write it with the format "exact"'
        raise PublicationError(what, code="exact-table", hint=hint) from None
    return rebuilt(json.loads(about))
