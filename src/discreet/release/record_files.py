"""Tables to files, `discreet suppress` with `--by`; and the audit of files of published cells.

In: a `JudgedTable`, and places to write to; or a file that anyone can read. Out: the table to
publish or its pattern, the report for use in the house (CONFIDENTIAL, readable by its owner
only), and what may be told on a terminal: numbers of cells, never a value or a cost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from discreet.classifications import Classification
from discreet.errors import SuppressionError
from discreet.files import write_text
from discreet.plugins import plugin
from discreet.protection.suppression import audit_published, interval_lines
from discreet.release.coarser_tables import Savings, hide_less
from discreet.release.record_tables import JudgedTable, RecordTable, spanning_of
from discreet.rules import Primary
from discreet.tables import ProtectedTable

if TYPE_CHECKING:
    from discreet.protection.suppression import SharedSuppression, Suppression


class RecordResult(NamedTuple):
    """Result for records: text, and plain values for JSON, without values and costs."""

    text: str
    described: dict[str, Any]


def checked_table(
    table: JudgedTable,
    *,
    savings: bool = False,
    internal: str | os.PathLike[str] | None = None,
    **options: Any,
) -> RecordResult:
    """Count sensitive cells without writing a table."""
    cells, found = table.judged()
    named = _by_value(table, [_sensitive(item) for item in found])
    facts: dict[str, Any] = {"table": table.name, "valid": True, "cells": len(cells)}
    facts["values"] = named
    lines = [f"{table.name} is valid: {len(cells):,} cells."]
    for value, each in named.items():
        reasons = ", ".join(f"{code} {number:,}" for code, number in each["reasons"].items())
        lines.append(
            f"{value}: {each['sensitive']:,} sensitive ({reasons or 'none'}){_waived(each)}."
        )
    if savings:
        less = _savings(table, **options)
        facts["hide_less"] = less.described()
        lines.append(less.text())
        if internal is not None:
            _write_internal(table, None, less, Path(internal))
            facts["internal"] = str(internal)
            lines.append(f"CONFIDENTIAL report: {internal}")
    return RecordResult("\n".join(lines), facts)


def _savings(table: JudgedTable, **options: Any) -> Savings:
    if not isinstance(table, RecordTable):
        message = "--hide-less needs microdata"
        hint = "cells have one status and cannot be judged for merged categories"
        raise SuppressionError(message, code="option", where=table.name, hint=hint)
    return hide_less(table, **options)


def suppress_table(
    table: JudgedTable,
    out: str | os.PathLike[str],
    *,
    write: Callable[[ProtectedTable, Path], Any],
    internal: str | os.PathLike[str] | None = None,
    savings: bool = False,
    **options: Any,
) -> RecordResult:
    """Hide cells of a table, and write it."""
    target = Path(out)
    write_pattern = plugin("pattern", target.suffix.lower().removeprefix("."))
    if write_pattern and len(table.values) > 1:
        message = f"a suppression pattern ({target.suffix.lower()}) needs exactly one value"
        hint = "give one of them value"
        raise SuppressionError(message, code="output-file", where=str(target), hint=hint)
    judged = table.judged()
    done = table.suppressed(judged, **options)
    systems = list(done.by_value.values())
    less = _savings(table, done=(judged, done), **options) if savings else None
    if internal is not None:
        _write_internal(table, done, less, Path(internal))
    if write_pattern:
        write_pattern(systems[0].problem.with_hidden(systems[0].pattern.hidden), target)
    else:
        write(done.tables[0], target)
    named = _by_value(table, [_hidden(*item) for item in zip(judged[1], systems, strict=True)])
    facts: dict[str, Any] = {"table": table.name, "method": systems[0].pattern.method}
    facts["values"] = named
    lines = [_in_words(value, each) for value, each in named.items()]
    notes = [f"{table.computed:,} {_COMPUTED}"] if table.computed else []
    notes += [note for each in systems for note in each.notes]
    facts["notes"] = list(dict.fromkeys(notes))
    lines += [f"Note: {note}." for note in facts["notes"]]
    if less is not None:
        facts["hide_less"] = less.described()
        lines.append(less.text())
    if internal is not None:
        facts["internal"] = str(internal)
        lines.append(f"CONFIDENTIAL report: {internal}")
    return RecordResult("\n".join([*lines, f"Written: {out}"]), {**facts, "out": str(out)})


def _by_value(table: JudgedTable, found: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return dict(zip(table.values or ["count"], found, strict=True))


def _sensitive(found: Primary) -> dict[str, Any]:
    waived = {"waived": int(found.waived.sum())} if found.waived.any() else {}
    return {"sensitive": int(found.sensitive.sum()), "reasons": found.numbers(), **waived}


def _hidden(found: Primary, done: Suppression) -> dict[str, Any]:
    """What became of a value. Costs are sums of hidden values, so they are not told."""
    from discreet.protection.suppression import described_pattern

    pattern = done.pattern
    facts = {key: each for key, each in described_pattern(pattern).items() if key in _TOLD}
    hidden = int(done.members.hidden(pattern.hidden[: len(done.reason)], 0).sum())
    return {"cells": len(found), "hidden": hidden, **_sensitive(found), **facts}


_COMPUTED = "missing totals were computed; they are in the table and protected"
#: What is told of a pattern outside the internal report.
_TOLD = ("unprotected", "gap", "nearness", "complete", "seconds")


def _in_words(value: str, told: Mapping[str, Any]) -> str:
    late = (
        ""
        if told["complete"]
        else "; the time limit ended the search, the suppression pattern is proven safe"
    )
    return (
        f"{value}: {told['sensitive']:,} sensitive and "
        f"{told['hidden'] - told['sensitive']:,} other of {told['cells']:,} cells are "
        f"suppressed; {told['nearness']}{late}{_waived(told)}."
    )


def _waived(told: Mapping[str, Any]) -> str:
    number = told.get("waived", 0)
    return f"; {number:,} are not sensitive because of waivers" if number else ""


def _write_internal(
    table: JudgedTable, done: SharedSuppression | None, less: Savings | None, place: Path
) -> None:
    from discreet.protection.suppression import report_on

    systems = {} if done is None else done.by_value
    priced = less is not None
    reports = {v or "count": report_on(each, prices=priced) for v, each in systems.items()}
    if place.suffix.lower() == ".json":
        values = {value: report.described() for value, report in reports.items()}
        content: dict[str, Any] = {"table": table.name, "values": values}
        content |= {} if less is None else {"hide_less": less.described(shares=True)}
        text = json.dumps(content, ensure_ascii=False, indent=2)
    else:
        words = [f"Value {value}\n{report.text()}" for value, report in reports.items()]
        words += (
            [] if less is None else [f"Changes that suppress fewer cells\n{less.text(shares=True)}"]
        )
        text = "\n\n".join(["CONFIDENTIAL", *words])
    write_text(place, text + "\n", private=True)


def audit_published_file(
    place: Path,
    *,
    by: Sequence[str],
    value: str,
    classifications: Mapping[str, Classification],
    prefixes: Mapping[str, str],
    decimals: int,
    rounding: float,
    intervals: bool,
) -> tuple[str, dict[str, Any]]:
    """Audit a file of published cells."""
    if not place.is_file():
        raise SuppressionError("file not found", code="file", where=str(place))
    try:
        if place.suffix == ".parquet":
            frame = pl.read_parquet(place)
        else:
            with place.open("rb") as file:
                header = file.readline()
            semicolons = header.count(b";") > header.count(b",")
            frame = pl.read_csv(
                place,
                schema_overrides=dict.fromkeys(by, pl.String),
                infer_schema_length=None,
                separator=";" if semicolons else ",",
                decimal_comma=semicolons,
            )
            if semicolons and value in frame.columns and frame[value].dtype == pl.String:
                frame = frame.with_columns(pl.col(value).str.replace(",", ".", literal=True))
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
        hint = (
            f"columns: {', '.join(columns)}" if few else "separate values by commas or semicolons"
        )
        message = f"column {missing[0]!r} not found"
        hint = hint if few else f"{hint}; the first line must have the column names"
        raise SuppressionError(message, code="missing-column", where=str(place), hint=hint)
    codes = {name: _finest_codes(frame[name]) for name in prefixes if name in by}
    longest = max(map(len, codes.values()), default=0)
    listed = pl.DataFrame({name: (each * longest)[:longest] for name, each in codes.items()})
    spanning = spanning_of(listed, by, classifications, prefixes)
    if value in frame.columns and frame[value].dtype == pl.String:
        frame = frame.with_columns(_numbers(frame[value], place))
    found = audit_published(frame, spanning, value=value, decimals=decimals, rounding=rounding)
    described = {"table": place.name, **found.described(), "unprotected": int(found.exact.sum())}
    text = found.text()
    if intervals:
        described["intervals"] = found.to_polars().to_dicts()
        text = "\n".join([text, *interval_lines(described["intervals"], by)])
    return text, described


def _finest_codes(column: pl.Series) -> list[str]:
    """The codes that no other code begins with, without the total."""
    codes = sorted(set(column.drop_nulls()) - {"Total"})
    followed = zip(codes, [*codes[1:], ""], strict=True)
    return [code for code, after in followed if not after.startswith(code)] or ["Total"]


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
