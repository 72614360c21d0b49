"""CSV files, read without loss.

In: a CSV file (UTF-8, perhaps gzipped), fields separated by comma, semicolon or
tab. Out: a polars plan. A column is of whole numbers or floats only if that loses
nothing: "01" and "1.10" beside "1.1" stay texts. The types depend on the whole
file, never on its first lines.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import polars as pl

from discreet.errors import MicrodataError, Problem

_SEPARATORS = (",", ";", "\t")
_QUOTED = r'"[^"]*"'
_FLOAT = r"^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$"
_FLOAT_DIGITS = 17  # what programs write for a float; more would be lost


def scan_csv(path: Path, text: Collection[str] = ()) -> pl.LazyFrame:
    """A plan that reads the file; the columns of `text` are text whatever they hold."""
    separator = _separator(path)
    names = _header(path, separator)
    unknown = [name for name in text if name not in names]
    if unknown:
        raise MicrodataError(
            "columns to read as text are missing",
            code="missing-column",
            where=str(path),
            problems=[Problem("column is missing", name) for name in unknown],
        )
    _check_rows(path, separator, len(names))
    types = _types(path, separator, [name for name in names if name not in text])
    return _scan(path, separator, {name: types.get(name, pl.String()) for name in names})


def _scan(path: Path, separator: str, schema: dict[str, pl.DataType]) -> pl.LazyFrame:
    return pl.scan_csv(path, separator=separator, schema=schema, null_values=[""], glob=False)


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    options: dict[str, Any] = {"mode": "rt", "encoding": "utf-8-sig", "newline": ""}
    with gzip.open(path, **options) if packed else path.open(**options) as file:
        try:
            yield file
        except UnicodeDecodeError:
            raise _not_utf8(path) from None
        except (OSError, EOFError):
            raise _damaged(path) from None
        except csv.Error:
            raise MicrodataError(
                "a field cannot be read as CSV; is a quotation mark left open?",
                code="csv",
                where=str(path),
            ) from None


def _not_utf8(path: Path) -> MicrodataError:
    return MicrodataError(
        "the text is not UTF-8",
        code="file-content",
        where=str(path),
        hint="convert it, for example: iconv -f LATIN1 -t UTF-8",
    )


def _damaged(path: Path) -> MicrodataError:
    return MicrodataError(
        "the file is damaged or cut off",
        code="file-content",
        where=str(path),
        hint="copy or write the file again",
    )


def _separator(path: Path) -> str:
    with _opened(path) as file:
        line = re.sub(_QUOTED, "", file.readline())
    counts = {mark: line.count(mark) for mark in _SEPARATORS}
    most = max(counts.values())
    best = [mark for mark, count in counts.items() if count == most]
    if most and len(best) > 1:
        raise MicrodataError(
            "the header line does not tell which character separates the fields",
            code="csv-separator",
            where=str(path),
            hint="put column names that contain separators in quotation marks",
        )
    return best[0]


def _header(path: Path, separator: str) -> list[str]:
    with _opened(path) as file:
        names = next(csv.reader(file, delimiter=separator), [])
    blank = sum(not name.strip() for name in names)
    repeated = sorted({name for name in names if names.count(name) > 1 and name.strip()})
    problems = [Problem("the column name occurs more than once", name) for name in repeated]
    if blank or not names:
        problems.append(Problem(f"{blank or 1} column(s) have no name", "line 1"))
    if problems:
        raise MicrodataError(
            "the header line does not give each column a name of its own",
            code="duplicate-columns" if repeated else "csv-header",
            where=str(path),
            problems=problems,
        )
    return names


def _check_rows(path: Path, separator: str, width: int) -> None:
    """Every line has as many fields as the header.

    Lines are counted in bulk; only files with line breaks inside fields, or with a
    suspicious line, are read field by field.
    """
    line = pl.col("line")
    fields = line.str.replace_all(_QUOTED, "").str.count_matches(separator, literal=True) + 1
    quotes = line.str.count_matches('"', literal=True)
    plan = pl.scan_lines(path, glob=False).select(
        odd=(quotes % 2 != 0).any(), ragged=(fields != width).any()
    )
    try:
        found = plan.collect(engine="streaming")
    except pl.exceptions.ComputeError:
        raise _not_utf8(path) from None
    except OSError:
        raise _damaged(path) from None
    if any(found.row(0)):
        _check_fields(path, separator, width)


def _check_fields(path: Path, separator: str, width: int) -> None:
    bad: list[tuple[int, int]] = []
    number = 0
    with _opened(path) as file:
        reader = csv.reader(file, delimiter=separator, strict=True)
        begins = 1
        for row in reader:
            if len(row) != width and not (width == 1 and not row):
                number += 1
                if len(bad) < 5:
                    bad.append((begins, len(row)))
            begins = reader.line_num + 1
    if bad:
        raise MicrodataError(
            f"{number:,} lines do not have {width} fields like the header",
            code="csv-ragged",
            where=str(path),
            hint="texts that contain the separator need quotation marks",
            problems=[
                Problem(f"{found} fields instead of {width}", f"{path}, line {line}")
                for line, found in bad
            ],
        )


def _types(path: Path, separator: str, names: list[str]) -> dict[str, pl.DataType]:
    """The narrowest type of each column that keeps every value, from one pass."""
    if not names:
        return {}
    header = _header(path, separator)
    texts = _scan(path, separator, dict.fromkeys(header, pl.String()))
    checks = [pl.struct(_checks(pl.col(name))).alias(name) for name in names]
    try:
        found = texts.select(checks).collect(engine="streaming").row(0, named=True)
    except pl.exceptions.ComputeError:
        raise MicrodataError(
            "the fields cannot be told apart; is a quotation mark inside a field not doubled?",
            code="csv",
            where=str(path),
        ) from None
    return {name: _type(facts) for name, facts in found.items()}


def _checks(column: pl.Expr) -> list[pl.Expr]:
    """What to know about a column's texts to decide its type; nulls do not count."""
    whole = column.cast(pl.Int64, strict=False)
    fraction = column.str.extract(r"\.(\d+)", 1)
    mantissa = column.str.extract(r"^([^eE]*)", 1)
    digits = mantissa.str.replace_all(r"[-.]", "").str.strip_chars_start("0").str.len_bytes()
    spelled = column.str.contains(_FLOAT) & column.cast(pl.Float64, strict=False).is_finite()
    return [
        column.is_not_null().any().alias("any"),
        (whole.cast(pl.String).eq_missing(column)).all().alias("integers"),
        spelled.all().alias("floats"),
        digits.max().fill_null(0).alias("digits"),
        fraction.is_null().and_(column.is_not_null()).any().alias("bare"),
        (fraction == "0").any().alias("point_zero"),
        (fraction.str.ends_with("0") & (fraction != "0")).any().alias("padded"),
        fraction.str.len_bytes().min().fill_null(0).alias("shortest"),
        fraction.str.len_bytes().max().fill_null(0).alias("longest"),
    ]


def _type(facts: dict[str, Any]) -> pl.DataType:
    if facts["any"] and facts["integers"]:
        return pl.Int64()
    # Two spellings of one number ("1.1" and "1.10") would become one value.
    uneven = facts["padded"] and (facts["bare"] or facts["shortest"] != facts["longest"])
    merging = uneven or (facts["point_zero"] and facts["bare"])
    if facts["any"] and facts["floats"] and facts["digits"] <= _FLOAT_DIGITS and not merging:
        return pl.Float64()
    return pl.String()
