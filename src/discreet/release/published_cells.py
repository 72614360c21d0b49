"""Audit of a file of published cells, in which hidden values are blanks.

In: a `.csv` or `.parquet` file that anyone can read, its spanning variables. Out: what an
attacker learns of the hidden cells, in words and as plain values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.classifications import Classification
from discreet.errors import SuppressionError
from discreet.protection.suppression import audit_published, interval_lines


def audit_published_file(
    place: Path,
    *,
    by: Sequence[str],
    value: str,
    classifications: Mapping[str, Classification],
    decimals: int,
    rounding: float,
    intervals: bool,
) -> tuple[str, dict[str, Any]]:
    """Audit a file of published cells."""
    unknown = sorted(set(classifications) - set(by))
    if unknown:
        message = f"{unknown[0]!r} is not a spanning variable of the table"
        raise SuppressionError(message, code="by", where="classifications")
    if not place.is_file():
        raise SuppressionError("file not found", code="file", where=str(place))
    try:
        if place.suffix == ".parquet":
            frame = pl.read_parquet(place)
        else:
            texts = dict.fromkeys(by, pl.String)
            frame = pl.read_csv(place, schema_overrides=texts, infer_schema_length=None)
    except pl.exceptions.PolarsError:
        message = "cannot read the file as a table"
        hint = "give published cells as .csv or .parquet"
        raise SuppressionError(message, code="file", where=str(place), hint=hint) from None
    columns, wanted = frame.columns, [*by, value]
    twice = sorted({name for name in wanted if wanted.count(name) > 1})
    if twice:
        message = f"column {twice[0]!r} occurs twice"
        raise SuppressionError(message, code="by", where=str(place))
    missing = [name for name in wanted if name not in columns]
    if missing:
        few = len(missing) < len(wanted)
        hint = f"columns: {', '.join(columns)}" if few else "separate values by commas"
        message = f"column {missing[0]!r} not found"
        hint = hint if few else f"{hint}; the first line must have the column names"
        raise SuppressionError(message, code="missing-column", where=str(place), hint=hint)
    spanning = [classifications.get(name, name) for name in by]
    if value in frame.columns and frame[value].dtype == pl.String:
        frame = frame.with_columns(_numbers(frame[value], place))
    found = audit_published(frame, spanning, value=value, decimals=decimals, rounding=rounding)
    described = {"table": place.name, **found.described(), "unprotected": int(found.exact.sum())}
    text = found.text()
    if intervals:
        described["intervals"] = found.to_polars().to_dicts()
        text = "\n".join([text, *interval_lines(described["intervals"], by)])
    return text, described


def _numbers(column: Any, place: Path) -> Any:
    """Numbers of a column in which hidden cells are signs, such as a dot."""
    bare = column.str.strip_chars()
    numbers = bare.cast(pl.Float64, strict=False)
    signs = set(bare.filter(numbers.is_null() & bare.is_not_null()).unique().to_list())
    wrong = signs - {"", ".", "x", "X", "/", "c", ":"}
    if wrong:
        message = f"{len(wrong)} unknown signs in the column of values"
        hint = "suppressed cells must be empty or one of . x / c :"
        raise SuppressionError(
            message, code="values", where=f"{place.name}, {column.name}", hint=hint
        )
    return pl.Series(column.name, np.asarray(numbers.fill_null(np.nan))).fill_nan(None)
