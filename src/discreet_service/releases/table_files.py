"""Files of tables that are made when they are asked for. Public.

In: a protected table, a format, a language. Out: the bytes that `ProtectedTable.write` gives, in a
file without a name that is gone when it is closed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO, Any

from discreet.publication import FORMATS, suffix_of
from discreet.tables import ProtectedTable

#: The media type of each format.
MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "exact": "application/vnd.apache.parquet",
    "json": "application/json",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html; charset=utf-8",
    "px": "application/x-pc-axis; charset=utf-8",
    "json-stat": "application/json",
    "sdmx-csv": "application/vnd.sdmx.data+csv; version=2.0.0; charset=utf-8",
}


def written(table: ProtectedTable, form: str, language: str, **options: Any) -> IO[bytes]:
    """A file of a table, open for reading.

    >>> from discreet.publication.examples import census_example
    >>> with written(census_example(), "csv", "en", labels=False) as file:
    ...     file.readline().strip()
    b'sex,age,value,status,symbol'
    """
    with tempfile.TemporaryDirectory(prefix="discreet-table-") as folder:
        path = Path(folder) / f"table{suffix_of(form)}"
        table.write(path, format=FORMATS[form].name, language=language, **options)
        return path.open("rb")  # stays readable when its name is gone
