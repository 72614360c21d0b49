"""Records of fixed width, or with a separator, as a `.rda` file describes them.

In: a text file with one record a line. Out: a frame with one column per variable;
codes are texts that keep their leading blanks. CONFIDENTIAL.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import Problem
from discreet.suppression.formats.metadata import ArgusVariable, Metadata
from discreet.suppression.formats.tokens import Text, fields, open_text, refuse_lines

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_records"]


def read_records(
    path: str | os.PathLike[str], metadata: Metadata, *, encoding: str = "utf-8"
) -> pl.DataFrame:
    r"""Read records.

    Args:
        path: The file; `.gz` is taken too.
        metadata: Its description.
        encoding: Encoding of the file.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "some.asc"
    >>> _ = file.write_text(" 1 25\nNr 30")
    >>> places = ArgusVariable(name="Region", start=1, length=2, coded=True)
    >>> income = ArgusVariable(name="Income", start=4, length=2, numeric=True)
    >>> described = Metadata(form="fixed", separator=";", variables=(places, income))
    >>> read_records(file, described).rows()
    [(' 1', 25.0), ('Nr', 30.0)]
    """
    import polars as pl

    text = open_text(path, encoding)
    if metadata.form == "table":
        refuse_lines(text, [Problem("the metadata describe cells, not records", str(text.path))])
    columns = _fixed(text, metadata) if metadata.form == "fixed" else _free(text, metadata)
    frame, problems = {}, []
    for variable in metadata.variables:
        series = pl.Series(variable.name, columns[variable.name], dtype=pl.String)
        if variable.coded or not _is_number(variable):
            frame[variable.name] = series
        if _is_number(variable):
            numbers, wrong = _numbers(series, variable)
            lines = [text.lines[at][0] for at in np.flatnonzero(wrong).tolist()]
            what = f"{variable.name} is not a number"
            problems += [Problem(what, text.place(line)) for line in lines]
            name = f"{variable.name}_value" if variable.coded else variable.name
            frame[name] = numbers.alias(name)
    refuse_lines(text, problems)
    return pl.DataFrame(frame)


def _is_number(variable: ArgusVariable) -> bool:
    return variable.numeric or variable.role == "weight"


def _fixed(text: Text, metadata: Metadata) -> dict[str, pl.Series]:
    """Cut every line at the places of the variables."""
    import polars as pl

    lines = pl.Series("line", [line for _, line in text.lines])
    needed = max(variable.start for variable in metadata.variables)
    short = (lines.str.len_chars() < needed).to_numpy()
    what = f"the record is shorter than {needed} positions"
    refuse_lines(
        text,
        [Problem(what, text.place(text.lines[at][0])) for at in np.flatnonzero(short).tolist()],
    )
    return {
        variable.name: lines.str.slice(variable.start - 1, variable.length).str.strip_chars_end()
        for variable in metadata.variables
    }


def _free(text: Text, metadata: Metadata) -> dict[str, list[str]]:
    """Split every line at the separator."""
    rows = [fields(line, metadata.separator) for _, line in text.lines]
    width = len(metadata.variables)
    refuse_lines(
        text,
        [
            Problem(f"{len(row)} fields, {width} are described", text.place(line))
            for (line, _), row in zip(text.lines, rows, strict=True)
            if len(row) != width
        ],
    )
    names = [variable.name for variable in metadata.variables]
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def _numbers(series: pl.Series, variable: ArgusVariable) -> tuple[pl.Series, np.ndarray]:
    """The numbers, null where missing; and which texts are none."""
    import polars as pl

    bare = series.str.strip_chars()
    empty = (bare == "") | bare.is_in([code.strip() for code in variable.missing])
    numbers = bare.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    wrong = (numbers.is_null() & ~empty) | (numbers.is_nan() | numbers.is_infinite()).fill_null(
        value=False
    )
    return numbers.set(empty, None), wrong.to_numpy()
