"""`codebook`: what kind of values variables hold.

In: a frame of microdata (confidential), rules. Out: a `SafeResult`. Ranges, numbers of
distinct values and examples of texts are never shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from discreet.errors import OutputCheckError
from discreet.microdata.frames import open_frame
from discreet.output_checking.safe.describing import RULES, describe
from discreet.output_checking.safe.groups import group
from discreet.output_checking.safe.judging import Found, checks_of
from discreet.output_checking.safe.layout import closed
from discreet.output_checking.safe.limits import SafeLimits, limits_of
from discreet.output_checking.safe.numbers import count_text, general
from discreet.output_checking.safe.records import Records, names_of, take
from discreet.output_checking.safe.results import Evidence, SafeResult
from discreet.output_checking.safe.tabulate import one_way_hidden

__all__ = ["codebook"]

#: Variables of at most so many values are tabulated.
_CATEGORIES = 9
_ASKED = ("n", "mean", "sd", "p10", "p25", "p50", "p75", "p90")
_WIDTH = 79


def codebook(
    frame: Any,
    names: str | Sequence[str] | None = None,
    *,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    where: str | None = None,
) -> SafeResult:
    """Type, missing values, and frequencies or percentiles of variables.

    Args:
        frame: Records; any frame narwhals reads.
        names: The variables; all of them if none is named.
        limits: The rules.
        entity: Column of whom a record is about.
        where: Only these records.

    >>> print(codebook(pl.DataFrame({"sex": [1] * 6 + [2] * 5}), "sex"))
    -------------------------------------------------------------------------------
    sex
    -------------------------------------------------------------------------------
                      Type: numeric
                     Range: [.,.]
             Unique values: .
                 Missing .: 0/11
                Tabulation: Freq.  Value
                                6  1
                                5  2
    . withheld for confidentiality
    """
    limits = limits_of(limits)
    chosen = open_frame(frame).collect_schema().names() if names is None else names
    listed = names_of(chosen, "codebook")
    records = take(frame, listed, where=where, entity=entity)
    lines: list[str] = []
    rows: list[dict[str, Any]] = []
    found: list[Found] = []
    for name in listed:
        text, row, broken = _one(records, name, limits)
        rule = "-" * _WIDTH
        lines += [rule, name, rule, *text]
        rows.append(row)
        found += broken
    return SafeResult(
        command=f"codebook {' '.join(listed)}",
        shown=closed(lines, True, limits.language),
        frame=pl.DataFrame(rows, infer_schema_length=None),
        checks=checks_of(found, [*RULES, "percentile", "missing"]),
        evidence=Evidence(found=found),
    )


def _one(
    records: Records, name: str, limits: SafeLimits
) -> tuple[list[str], dict[str, Any], list[Found]]:
    text = records.is_text(name)
    if _is_odd(records.data.schema[name]):
        missing, found = _missing(records, name, limits)
        lines = [_line("Type", "other"), _line("Unique values", "."), _line("Missing", missing)]
        return lines, {"variable": name, "type": "other", "missing": missing}, found
    dated = records.data.schema[name].is_temporal()
    kind = "date" if dated else "string" if text else "numeric"
    missing, found = _missing(records, name, limits)
    lines = [
        _line("Type", kind),
        *([] if text else [_line("Range", "[.,.]")]),
        _line("Unique values", "."),
        _line('Missing ""' if text else "Missing .", missing),
    ]
    row: dict[str, Any] = {"variable": name, "type": kind}
    row["missing"] = missing
    if name == records.entity:
        return [*lines, _line("Examples", ".")], row, found  # percentiles would be identifiers
    present = records.data[name].drop_nulls()
    different = present.n_unique()
    if different <= _CATEGORIES and different * limits.minimum <= len(present):
        try:
            more, broken = _categories(records, name, limits)
        except OutputCheckError:  # values that cannot group are described as numbers
            if text:
                raise
        else:
            return [*lines, *more], row, found + broken
    if text:
        return [*lines, _line("Examples", ".")], row, found
    (one,) = describe(records, [name], None, _ASKED, limits)
    numbers = one.shown[0]
    percentiles = [word for word in _ASKED if word.startswith("p")]
    lines += [
        _line("Mean", general(numbers["mean"])),
        _line("Std. dev.", general(numbers["sd"])),
        _line("Percentiles", "".join(f"{word[1:] + '%':>10}" for word in percentiles)),
        _line("", "".join(f"{general(numbers[word]):>10}" for word in percentiles), ":"),
    ]
    return lines, row | numbers, found + list(one.found)


def _is_odd(kind: pl.DataType) -> bool:
    """Whether values are of a kind that nothing is said about but what is missing."""
    return kind.is_nested() or kind in (pl.Object, pl.Binary)


def _line(label: str, text: str, colon: str = ":") -> str:
    return f"{label:>22}{colon if label else ' '} {text}"


def _missing(records: Records, name: str, limits: SafeLimits) -> tuple[str, list[Found]]:
    """Missing values of all records, unless either are few."""
    column = records.data[name]
    absent = column.is_null()
    if column.dtype.is_float():
        absent |= column.is_nan().fill_null(False)
    sides = []
    for side in (absent, ~absent):
        rows = records.data.filter(side)
        sides.append(rows.height if records.entity is None else rows[records.entity].n_unique())
    if any(0 < size < limits.minimum for size in sides):
        return ".", [Found("missing", name)]
    return f"{count_text(float(absent.sum()))}/{count_text(float(len(records)))}", []


def _categories(records: Records, name: str, limits: SafeLimits) -> tuple[list[str], list[Found]]:
    """Frequencies of the few values of a variable."""
    axis = group(records, name, limits)
    hidden, _, found = one_way_hidden(records, axis, limits)
    lines = [_line("Tabulation", "Freq.  Value")]
    for at, label in enumerate(axis.labels):
        size = None if at in hidden else float((axis.codes == at).sum())
        lines.append(f"{count_text(size):>29}  {label}")
    return lines, found
