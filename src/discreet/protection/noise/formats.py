"""Formats of perturbation tables: lists of the noise of every key, and writing. SECRET.

In: a CSV with the columns pcv, ckey, pvalue, one line per row of the table and key
0 … 255 or 0 … 4095; or `Intervals`. Out: checked `Intervals` on that grid; or text of any
format, from which reading gives the same table. A table of 750 rows is used with a
repeating block: counts above 750 use rows 501 … 750 again and again.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import IntArray, starts
from discreet.errors import PerturbationError, Problem, raise_all
from discreet.protection.noise.intervals import DECIMAL_SCALE, Beyond, Intervals, decimal_text
from discreet.protection.noise.magnitude_table import MagnitudePart, check_closed, interval_text
from discreet.protection.noise.sources import (
    JSON_NAME,
    JSON_VERSION,
    Format,
    PerturbationFile,
    file_error,
    magnitude_error,
    missing_rows,
    raise_problems,
)

if TYPE_CHECKING:
    import polars as pl

KEYS = (256, 4096)
FULL_ROWS = 750
REPEATING = (501, 250)

_COLUMNS = ("pcv", "ckey", "pvalue")

_ANY_TABLE = 'format="json" holds any table'


def read_ons(source: PerturbationFile) -> Intervals:
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
    ends = np.ones(matrix.shape, dtype=np.bool_)  # where equal neighbours do not go on
    ends[:, :-1] = matrix[:, 1:] != matrix[:, :-1]
    row, key = np.nonzero(ends)
    return Intervals(
        keys,
        "left",
        starts(np.bincount(row, minlength=len(matrix))),
        key + 1,
        matrix[row, key],
        beyond=REPEATING if len(matrix) - 1 == FULL_ROWS else "last",
        zeros=bool(np.any(matrix[0])),
    )


def _parse(source: PerturbationFile) -> pl.DataFrame:
    import polars as pl

    try:
        frame = pl.read_csv(
            io.BytesIO(source.text.encode()), separator=source.delimiter, infer_schema=False
        )
    except pl.exceptions.PolarsError:
        raise file_error(source.name, "lines have different numbers of columns") from None
    frame = frame.rename({name: name.strip().strip('"').lower() for name in frame.columns})
    missing = [name for name in _COLUMNS if name not in frame.columns]
    if missing:
        raise file_error(source.name, f"columns not found: {', '.join(missing)}")
    texts = frame.select(pl.col(name).str.strip_chars() for name in _COLUMNS)
    numbers = texts.select(pl.all().cast(pl.Float64, strict=False))
    problems = []
    for name in _COLUMNS:
        unread = int((numbers[name].is_null() | ~numbers[name].is_finite()).sum())
        if unread:
            problems.append(Problem(f"{unread:,} lines lack a number", f"column {name}"))
    raise_problems(source.name, problems)
    fractions = int((numbers["pvalue"] != numbers["pvalue"].floor()).sum())
    if fractions:
        raise magnitude_error(source.name, f"{fractions:,} lines have noise in fractions")
    whole = numbers.select(pl.all().cast(pl.Int64, strict=False))
    for name in _COLUMNS[:2]:
        bad = int((whole[name].cast(pl.Float64) != numbers[name]).fill_null(value=True).sum())
        if bad:
            problems.append(Problem(f"{bad:,} lines lack a whole number", f"column {name}"))
    raise_problems(source.name, problems)
    return whole


def _problems(pcv: IntArray, ckey: IntArray, noise: IntArray) -> list[Problem]:
    if not len(pcv):
        return [Problem("no rows")]
    keys = int(ckey.max()) + 1
    if keys not in KEYS or int(ckey.min()) != 0:
        return [Problem("keys must be 0 to 255 or 0 to 4095", "column ckey")]
    if int(pcv.min()) < 0 or int(pcv.max()) > FULL_ROWS:
        hint = f"rows are the counts 0 or 1 to {FULL_ROWS}; larger counts use 501 to 750"
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


def write_ons(content: Intervals) -> str:
    """The table as text of the form pcv, ckey, pvalue."""
    import polars as pl

    expected: Beyond = REPEATING if content.n_max == FULL_ROWS else "last"
    problems = {
        "a table for other numbers of keys than 256 and 4096": content.scale not in KEYS,
        "intervals closed on the right": content.closed != "left",
        "a table of 750 rows without repeating block, or another one with it": (
            content.beyond != expected
        ),
    }
    raise_all(
        PerturbationError,
        [
            Problem(f"{label} cannot be written as pcv, ckey, pvalue", "", _ANY_TABLE)
            for label, wrong in problems.items()
            if wrong
        ],
        code="perturbation-format",
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


def as_text(content: Intervals, kind: Format, *, name: str, version: str) -> str:
    """The table as text in format `kind`."""
    if kind == "ons":
        return write_ons(content)
    if kind == "json":
        return _json(content, name, version)
    if content.beyond != "last":
        raise PerturbationError(
            f"{kind!r} cannot store the repeated block for counts beyond the table",
            code="perturbation-format",
            hint=_ANY_TABLE,
        )
    if content.scale != DECIMAL_SCALE:
        raise PerturbationError(
            f"a table for {content.scale} keys cannot be written as {kind!r} without loss",
            code="perturbation-format",
            hint='use format="ons" or format="json"',
        )
    check_closed(content, kind, ', or use format="json"')
    if kind == "cumulative":
        return _cumulative(content)
    part = MagnitudePart("all", tuple(range(content.n_max + 1)), 1, content)
    return interval_text([part], kind, typed=False)


def _cumulative(content: Intervals) -> str:
    columns = range(int(content.noise.min()), int(content.noise.max()) + 1)
    lines = [",".join(["count", *map(str, columns)])]
    for count, upper, noise in content.rows():
        if np.any(np.diff(noise) < 0):
            raise PerturbationError(
                "a cumulative matrix needs rows in ascending order of the noise",
                code="perturbation-format",
                where=f"row {count}",
                hint='use format="intervals" or format="json"',
            )
        reached = dict(zip(noise, upper, strict=True))
        bound = 0
        cells = []
        for value in columns:
            bound = reached.get(value, bound)
            cells.append(decimal_text(bound))
        lines.append(",".join([str(count), *cells]))
    return "\n".join([*lines, ""])


def _json(content: Intervals, name: str, version: str) -> str:
    beyond: object = content.beyond
    if content.beyond != "last":
        beyond = {"start": content.beyond[0], "length": content.beyond[1]}
    head = {
        "format": JSON_NAME,
        "format_version": JSON_VERSION,
        "name": name,
        "version": version,
        "scale": content.scale,
        "closed": content.closed,
        "beyond": beyond,
        "zeros": content.zeros,
    }
    fields = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    rows = [
        json.dumps({"upper": upper, "noise": noise}, separators=(",", ":"))
        for _, upper, noise in content.rows()
    ]
    body = ",\n    ".join(rows)
    return "{\n" + ",\n".join([*fields, f'  "rows": [\n    {body}\n  ]']) + "\n}\n"
