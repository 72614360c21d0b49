"""Perturbation tables that list the noise of every key: pcv, ckey, pvalue.

In: a CSV with one line per row of the table and key 0 … 255 or 0 … 4095. Out:
checked `Intervals` on that grid, and back. SECRET. A table of 750 rows is used
with a repeating block: counts above 750 use rows 501 … 750 again and again.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from discreet.errors import PerturbationError, Problem
from discreet.perturbation.checks import magnitude_error, missing_rows, raise_problems
from discreet.perturbation.intervals import Beyond, Intervals
from discreet.perturbation.sources import Source

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FULL_ROWS", "KEYS", "REPEATING", "read_ons", "write_ons"]

IntArray = npt.NDArray[np.int64]

KEYS = (256, 4096)
FULL_ROWS = 750
REPEATING = (501, 250)

_COLUMNS = ("pcv", "ckey", "pvalue")


def read_ons(source: Source) -> Intervals:
    """Read a table of the form pcv, ckey, pvalue."""
    frame = _parse(source)
    pcv, ckey, noise = (frame[name].to_numpy() for name in _COLUMNS)
    problems = _problems(pcv, ckey, noise)
    raise_problems(source.name, problems)
    keys, first = int(ckey.max()) + 1, int(pcv.min())
    matrix = np.empty((int(pcv.max()) - first + 1, keys), dtype=np.int64)
    matrix[pcv - first, ckey] = noise
    if first == 1:
        matrix = np.vstack([np.zeros((1, keys), dtype=np.int64), matrix])
    return _from_matrix(matrix, zeros=bool(np.any(matrix[0])))


def _parse(source: Source) -> pl.DataFrame:
    import polars as pl

    try:
        frame = pl.read_csv(
            io.BytesIO(source.text.encode()), separator=source.delimiter, infer_schema=False
        )
    except pl.exceptions.PolarsError:
        raise PerturbationError(
            "the lines differ in their number of columns",
            code="perturbation-file",
            where=source.name,
        ) from None
    frame = frame.rename({name: name.strip().strip('"').lower() for name in frame.columns})
    missing = [name for name in _COLUMNS if name not in frame.columns]
    if missing:
        raise PerturbationError(
            f"columns are missing: {', '.join(missing)}",
            code="perturbation-file",
            where=source.name,
        )
    texts = frame.select(pl.col(name).str.strip_chars() for name in _COLUMNS)
    numbers = texts.select(pl.all().cast(pl.Float64, strict=False))
    problems = []
    for name in _COLUMNS:
        unread = int((numbers[name].is_null() | ~numbers[name].is_finite()).sum())
        if unread:
            problems.append(Problem(f"{unread:,} lines hold no number", f"column {name}"))
    raise_problems(source.name, problems)
    fractions = int((numbers["pvalue"] != numbers["pvalue"].floor()).sum())
    if fractions:
        raise magnitude_error(source.name, f"{fractions:,} lines have noise in fractions")
    whole = numbers.select(pl.all().cast(pl.Int64, strict=False))
    for name in _COLUMNS[:2]:
        bad = int((whole[name].cast(pl.Float64) != numbers[name]).fill_null(value=True).sum())
        if bad:
            problems.append(Problem(f"{bad:,} lines hold no whole number", f"column {name}"))
    raise_problems(source.name, problems)
    return whole


def _problems(pcv: IntArray, ckey: IntArray, noise: IntArray) -> list[Problem]:
    if not len(pcv):
        return [Problem("there are no rows")]
    keys = int(ckey.max()) + 1
    if keys not in KEYS or int(ckey.min()) != 0:
        return [Problem("the keys are neither 0 to 255 nor 0 to 4095", "column ckey")]
    if int(pcv.min()) < 0 or int(pcv.max()) > FULL_ROWS:
        hint = f"rows are those of the counts 0 or 1 to {FULL_ROWS}; larger counts use 501 to 750"
        return [Problem(f"rows are below 0 or above {FULL_ROWS}", "column pcv", hint)]
    lines = np.bincount(pcv * keys + ckey, minlength=(int(pcv.max()) + 1) * keys).reshape(-1, keys)
    rows = np.flatnonzero(lines.any(axis=1)).tolist()
    problems = missing_rows(rows, first=min(1, rows[0]))
    doubled = int((lines > 1).sum())
    if doubled:
        problems.append(Problem(f"{doubled:,} keys are listed twice", "columns pcv, ckey"))
    for row in rows:
        if not lines[row].all():
            problems.append(Problem("keys are missing", f"row {row}"))
    for row in np.flatnonzero(np.bincount(pcv[pcv + noise < 0])).tolist():
        problems.append(Problem("the noise can make the count negative", f"row {row}"))
    return problems


def _from_matrix(matrix: IntArray, *, zeros: bool) -> Intervals:
    """Join equal neighbours of a noise matrix, row × key."""
    ends = np.ones(matrix.shape, dtype=np.bool_)
    ends[:, :-1] = matrix[:, 1:] != matrix[:, :-1]
    row, key = np.nonzero(ends)
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(matrix)))])
    beyond: Beyond = REPEATING if len(matrix) - 1 == FULL_ROWS else "last"
    return Intervals(
        matrix.shape[1], "left", starts, key + 1, matrix[row, key], beyond=beyond, zeros=zeros
    )


def write_ons(content: Intervals) -> str:
    """The table as text of the form pcv, ckey, pvalue."""
    import polars as pl

    expected: Beyond = REPEATING if content.n_max == FULL_ROWS else "last"
    if content.scale not in KEYS or content.closed != "left" or content.beyond != expected:
        raise PerturbationError(
            "only tables on 256 or 4096 keys, with the rule for large counts of that format, "
            "can be written as pcv, ckey, pvalue",
            code="perturbation-format",
            hint='format="json" holds any table',
        )
    noise = np.repeat(content.noise, content.widths)
    frame = pl.DataFrame(
        {
            "pcv": np.repeat(np.arange(content.n_max + 1), content.scale),
            "ckey": np.tile(np.arange(content.scale), content.n_max + 1),
            "pvalue": noise,
        }
    )
    return frame.filter((pl.col("pcv") > 0) | content.zeros).write_csv()
