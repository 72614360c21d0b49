"""Writing one protected table to a file; the suffix chooses the format.

In: `ProtectedTable` and a path. Out: the file, complete or not at all. This is
the line: anything but a `ProtectedTable` is refused.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import Problem, PublicationError
from discreet.files import atomic_path, check_writable
from discreet.publication.layout import arrange
from discreet.publication.limits import format_of
from discreet.publication.notation import check_values
from discreet.publication.words import words
from discreet.tables import ProtectedTable

__all__ = ["Options", "check_place", "check_protected", "write"]

_WRITERS = {
    "csv": "delimited",
    "parquet": "columnar",
    "json": "structured",
    "xlsx": "workbook",
    "html": "page",
}
_LONG = ("csv", "parquet", "json")
_OWN_COLUMNS = ("value", "status", "symbol")


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """How a table is written; see `write`."""

    language: str = "en"
    complete: bool | None = None
    labels: bool = True
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None


def write(
    table: ProtectedTable,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    language: str = "en",
    complete: bool | None = None,
    labels: bool = True,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> Path:
    """Write a protected table; the same table always gives the same bytes.

    Args:
        table: The table.
        path: Where to write. The suffix chooses the format: csv, parquet, json, xlsx,
            html or htm.
        format: The format, if the suffix does not say it.
        language: "en" or "de".
        complete: True for the whole grid with its zeros, False for what is not zero,
            None for the grid where it has at most 100,000 cells.
        labels: Write labels beside codes (csv, xlsx) or in their place (html). Parquet
            and JSON describe the variables once, with labels.
        rows: Names of the variables that go down (xlsx, html).
        columns: Names of the variables that go across (xlsx, html).

    >>> import tempfile
    >>> from discreet.publication.examples import census_example
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write(census_example(), Path(folder) / "T1.csv", labels=False)
    ...     print(written.read_text()[:58])
    sex,age,value,status,symbol
    Total,Total,371,published,371
    """
    target = Path(path)
    check_protected(table)
    chosen = format_of(target, format)
    words(language)
    arrange(table, rows, columns)
    check_values(table)
    check_place(target)
    if chosen in _LONG:
        _check_columns(table, labels and chosen == "csv")
    options = Options(
        language=language, complete=complete, labels=labels, rows=rows, columns=columns
    )
    writer: Callable[[ProtectedTable, Path, Options], None]
    writer = importlib.import_module(f"discreet.publication.{_WRITERS[chosen]}").write_file
    with atomic_path(target) as temporary:
        writer(table, temporary, options)
    return target


def check_protected(table: object) -> None:
    """Raise an error unless this is a protected table."""
    if isinstance(table, ProtectedTable):
        return
    raise PublicationError(
        f"a {type(table).__name__} cannot be published, only a ProtectedTable",
        code="not-protected",
        hint="a Table is confidential; protect it first, for example with discreet.perturb",
    )


def check_place(target: Path) -> None:
    """Raise an error unless a file can be written there."""
    check_writable(target.parent)
    if target.is_dir():
        raise PublicationError(
            "this is a folder; it is not overwritten with a file",
            code="output-file",
            where=str(target),
            hint="name a file",
        )


def _check_columns(table: ProtectedTable, labels: bool) -> None:
    """Column names must differ: those of the variables, their labels and the figures."""
    names = [dimension.name for dimension in table.dimensions]
    every = [*names, *_OWN_COLUMNS]
    if labels:
        every += [f"{name}_label" for name in names]
    problems = [
        Problem(f"two columns would be called {name!r}", table.name, "rename the variable")
        for name in dict.fromkeys(every)
        if every.count(name) > 1
    ]
    if problems:
        raise PublicationError(
            problems[0].what,
            code="column-names",
            where=table.name,
            hint="rename the variable",
            problems=problems,
        )
