"""Suppression and audit of files, one by one or by a batch file (`.arb`).

In: a `.jj` file, a `.tab` file with its `.rda`, published cells with blanks, or a batch that
names records or cells, rules, methods, outputs. Out: a `.jj` file with the pattern
(CONFIDENTIAL), or published tables. What a batch asks for and is not done here is refused at
once; nothing is written unless every sensitive cell is proven to be protected.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from discreet.argus import (
    Batch,
    CellFile,
    read_batch,
    read_rda,
    read_tab,
)
from discreet.argus.batch_tables import judged_tables
from discreet.argus.jj import read_jj, repaired_problem, write_differences, write_jj
from discreet.argus.written_tables import write_form
from discreet.arrays import BoolArray
from discreet.classifications import Classification
from discreet.errors import DiscreetWarning, SuppressionError
from discreet.files import check_writable
from discreet.protection.suppression.methods.registry import Method, Progress, find_pattern
from discreet.protection.suppression.problem.linked_tables import build_problem
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.audit import Audit, audit_problem
from discreet.protection.suppression.proof.release_audit import Blanks, audit_published
from discreet.protection.suppression.publish.report import described_pattern, pattern_lines
from discreet.protection.suppression.publish.suppression import Suppression
from discreet.tables import ProtectedTable

#: Writes a protected table; handed in, so that formats are looked up by the caller.
TableWriter: TypeAlias = Callable[[ProtectedTable, Path], Any]


def run_batch(
    path: str | os.PathLike[str],
    *,
    write: TableWriter | None = None,
    progress: Progress | None = None,
) -> list[Suppression]:
    """Carry out a batch.

    Args:
        path: The batch file; paths in it are meant from its folder.
        write: Writes outputs of form 3; the suffix of the file chooses the format. Without,
            they are not written. Other forms have the layout of τ-ARGUS, whatever the suffix.
        progress: Is told what is being done.

    Returns:
        One suppression for each method asked for, in their order.

    >>> run_batch("none.arb")
    Traceback (most recent call last):
        ...
    discreet.errors.SuppressionError: [argus-file] none.arb: the file cannot be read
    """
    plan = read_batch(path)
    judged = judged_tables(plan)
    _warn_of_tables_apart(plan)
    done, last = [], {}
    for step in plan.protections:
        chosen = range(len(judged)) if step.table == 0 else [step.table - 1]
        result = Suppression.of(
            [(judged[at].table, judged[at].primary) for at in chosen],
            method=cast(Method, step.method),
            value=judged[chosen[0]].primary.value,
            decimals=judged[chosen[0]].decimals,
            cost=plan.tables[chosen[0]].cost,
            time_limit=None if step.minutes is None else 60 * step.minutes,
            progress=progress,
        )
        done.append(result)
        last.update({at: (result, number) for number, at in enumerate(chosen)})
    _write(plan, last, write)
    return done


def _warn_of_tables_apart(plan: Batch) -> None:
    """Tables of one response share cells, at least their total: apart they can open each other."""
    apart = sorted({step.table for step in plan.protections} - {0})
    responses = [plan.tables[number - 1].response for number in apart]
    if len(set(responses)) < len(responses):
        numbers = ", ".join(str(number) for number in apart)
        what = f"tables {numbers} are protected apart, and may open each other: use table 0 for all"
        warnings.warn(what, DiscreetWarning, stacklevel=3)


def _write(
    plan: Batch, last: Mapping[int, tuple[Suppression, int]], write: TableWriter | None
) -> None:
    """The outputs, each from the last method that protected its table."""
    for output in plan.outputs:
        done, number = last[output.table - 1]
        target = plan.file(output.path)
        if output.form == "jj":
            write_jj(done.problem.with_hidden(done.pattern.hidden), target)
        elif output.form != "codes":
            rules = plan.tables[output.table - 1].rules
            tops = max((int(rule.numbers[0]) for rule in rules if rule.name == "NK"), default=0)
            how: dict[str, Any] = {"form": output.form, "options": output.options}
            write_form(done, number, target, **how, dominance=tops)
        elif write is not None:
            write(done.tables[number], target)


#: So many intervals are listed for people.
_LISTED = 100


def batch_outputs(path: str | os.PathLike[str]) -> list[tuple[str, Path]]:
    """The forms and files that a batch writes; nothing is read but the batch."""
    plan = read_batch(path)
    return [(output.form, plan.file(output.path)) for output in plan.outputs]


class FileResult(NamedTuple):
    """What became of a file: words, and plain values for JSON."""

    text: str
    described: dict[str, Any]


def suppress_file(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    metadata: str | os.PathLike[str] | None = None,
    method: Method = "auto",
    time_limit: float | None = None,
    repair: bool = False,
    differences: str | os.PathLike[str] | None = None,
    anew: bool = False,
    progress: Progress | None = None,
    write: TableWriter | None = None,
) -> FileResult:
    """Hide cells of a file.

    Args:
        source: A problem (`.jj`, `.jj.gz`) or a file of cells with status (`.tab`, `.csv`).
        out: What to write: a `.jj` file, in which secondary suppressions have status m,
            readable by its owner only; or, for cells, a published table by its suffix.
        metadata: The `.rda` file that describes a file of cells.
        method: As for `discreet.suppress`.
        time_limit: Seconds.
        repair: Add up totals anew that are no sum of their parts.
        differences: Where to list the totals of a problem that are not, and by how much
            they differ; CONFIDENTIAL, readable by its owner only.
        anew: Forget the secondary suppressions that a problem has, instead of keeping them.
        progress: Is told what is being done.
        write: Writes published tables.
    """
    begin = time.monotonic()
    place, target = Path(source), Path(out)
    check_writable(target.parent)
    changed = 0
    search: dict[str, Any] = {"time_limit": time_limit, "progress": progress}
    _check_kinds(place, target, of_problems=differences is not None or anew)
    if _is_jj(place):
        problem, changed = _problem(place, repair, differences, anew)
        _warn_of_nothing(place, problem.state == CellState.primary)
        pattern = find_pattern(problem, method, begin=begin, **search)
        write_jj(problem.with_hidden(pattern.hidden), target)
        told_notes = pattern.notes
    else:
        cells = _cells(place, metadata)
        assert cells.primary is not None  # refused above
        _warn_of_nothing(place, cells.primary.sensitive)
        options: dict[str, Any] = {"decimals": cells.decimals, "value": cells.value}
        options |= {"repair": repair, **search}
        done = Suppression.of((cells.table, cells.primary), method=method, **options)
        pattern = done.pattern
        if _is_jj(target):
            write_jj(done.problem.with_hidden(pattern.hidden), target)
        elif write is not None:
            write(done.tables[0], target)
        told_notes = done.notes
    told = described_pattern(pattern)
    told["notes"] = list(told_notes)
    lines = [*pattern_lines(told), *(f"Note: {note}." for note in told_notes)]
    lines.append(f"Written: {target}")
    if changed:
        told["repaired"] = changed
        lines.insert(0, f"{changed:,} totals were added up anew.")
    return FileResult("\n".join(lines), {"table": place.name, **told, "out": str(target)})


def _warn_of_nothing(place: Path, sensitive: BoolArray) -> None:
    if not sensitive.any():
        what = f"no cell of {place.name} is sensitive, so that none is hidden for one"
        warnings.warn(what, DiscreetWarning, stacklevel=3)


def _check_kinds(place: Path, target: Path, *, of_problems: bool) -> None:
    """Refuse files and options that do not go together."""
    if not _is_jj(place) and of_problems:
        what = "only problems (.jj) list differences and have secondaries to forget"
        hint = "leave out --differences and --anew"
        raise SuppressionError(what, code="option", where=str(place), hint=hint)
    if _is_jj(place) and (not _is_jj(target) or target.suffix == ".gz"):
        what = "a problem has no codes: its pattern is written as a .jj file"
        raise SuppressionError(what, code="output-file", where=str(target), hint="name it NAME.jj")


def _problem(
    place: Path, repair: bool, differences: str | os.PathLike[str] | None, anew: bool
) -> tuple[SuppressionProblem, int]:
    """The problem to solve, and how many of its totals were added up anew."""
    problem = read_jj(place)
    if anew:
        problem = problem.with_hidden(problem.state == CellState.primary)
    if differences is not None:
        write_differences(problem, differences)
    if not repair:
        return problem, 0
    whole, changed = repaired_problem(problem)
    return whole, int(np.count_nonzero(changed))


def audit_file(
    source: str | os.PathLike[str],
    *,
    metadata: str | os.PathLike[str] | None = None,
    by: Sequence[str] = (),
    value: str = "value",
    classifications: Mapping[str, Classification] | None = None,
    decimals: int = 0,
    rounding: float = 0.0,
    intervals: bool = False,
) -> FileResult:
    """Audit a file with hidden cells.

    Args:
        source: A problem with its pattern (`.jj`); cells with status (`.tab`) and their
            metadata; or published cells, with blanks for hidden values (`.csv`, `.parquet`).
        metadata: The `.rda` file that describes a file of cells.
        by: Spanning variables of published cells.
        value: Their column of values.
        classifications: Code trees of some of the variables.
        decimals: Digits that are published.
        rounding: By how many units of the last digit published values may be off.
        intervals: List the interval of each hidden cell.
    """
    place = Path(source)
    if by:
        found = _published(place, by, value, classifications or {}, decimals, rounding)
        told = {"table": place.name, **found.described(), "unprotected": int(found.exact.sum())}
        text = found.text()
        if intervals:
            told["intervals"] = found.to_polars().to_dicts()
            text = "\n".join([text, *_interval_lines(told["intervals"], by)])
        return FileResult(text, told)
    if _is_jj(place):
        problem = read_jj(place)
    else:
        cells = _cells(place, metadata)
        asked = (cells.table, cells.primary)
        problem, _ = build_problem(asked, value=cells.value, decimals=cells.decimals)
    return _judged(problem, place, intervals)


def _judged(problem: SuppressionProblem, place: Path, intervals: bool) -> FileResult:
    problem.check()
    found: Audit = audit_problem(problem, problem.hidden, intervals=intervals)
    told = found.described()
    told["table"] = place.name
    text = found.text()
    if intervals:
        told["intervals"] = found.intervals().drop("value").to_dicts()
        text = "\n".join([text, *_interval_lines(told["intervals"], ["cell"])])
    return FileResult(text, told)


def _interval_lines(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Intervals in words, the first ones of many."""
    lines = []
    for row in rows[:_LISTED]:
        low, high = (
            "no bound" if row[name] is None else f"{row[name]:,.15g}" for name in ("low", "high")
        )
        lines.append(f"  {', '.join(str(row[name]) for name in names)}: {low} to {high}")
    more = len(rows) - len(lines)
    return [*lines, f"  … and {more:,} more: --json lists all"] if more else lines


def _is_jj(place: Path) -> bool:
    return place.name.lower().removesuffix(".gz").endswith(".jj")


def _cells(place: Path, metadata: str | os.PathLike[str] | None) -> CellFile:
    if metadata is None:
        what = "a file of cells needs its description"
        hint = "name the .rda file, or hand in a .jj file"
        raise SuppressionError(what, code="metadata", where=str(place), hint=hint)
    cells = read_tab(place, read_rda(metadata, of="cells"))
    if cells.primary is None:
        what = "the file does not say which cells are sensitive"
        hint = "describe its column of status with <STATUS>"
        raise SuppressionError(what, code="status", where=str(place), hint=hint)
    return cells


def _published(
    place: Path,
    by: Sequence[str],
    value: str,
    trees: Mapping[str, Classification],
    decimals: int,
    rounding: float,
) -> Blanks:
    import polars as pl

    unknown = sorted(set(trees) - set(by))
    if unknown:
        raise SuppressionError(
            f"{unknown[0]!r} does not span the table", code="by", where="classifications"
        )
    if not place.is_file():
        raise SuppressionError("there is no such file", code="file", where=str(place))
    try:
        if place.suffix == ".parquet":
            frame = pl.read_parquet(place)
        else:
            texts = dict.fromkeys(by, pl.String)
            frame = pl.read_csv(place, schema_overrides=texts, infer_schema_length=None)
    except pl.exceptions.PolarsError:
        what = "the file cannot be read as a table"
        hint = "hand in published cells as .csv or .parquet"
        raise SuppressionError(what, code="file", where=str(place), hint=hint) from None
    _check_columns(frame.columns, [*by, value], place)
    spanning = [trees.get(name, name) for name in by]
    if value in frame.columns and frame[value].dtype == pl.String:
        frame = frame.with_columns(_numbers(frame[value], place))
    return audit_published(frame, spanning, value=value, decimals=decimals, rounding=rounding)


def _check_columns(found: Sequence[str], wanted: Sequence[str], place: Path) -> None:
    """Refuse a file that lacks columns; its first line may hold values, so it is not shown."""
    twice = sorted({name for name in wanted if wanted.count(name) > 1})
    if twice:
        raise SuppressionError(
            f"the column {twice[0]!r} is named twice", code="by", where=str(place)
        )
    missing = [name for name in wanted if name not in found]
    if missing:
        few = len(missing) < len(wanted)
        hint = f"columns found: {', '.join(found)}" if few else "values are separated by commas"
        what = f"the file has no column {missing[0]!r}"
        hint = hint if few else f"{hint}, and the first line names the columns"
        raise SuppressionError(what, code="missing-column", where=str(place), hint=hint)


def _numbers(column: Any, place: Path) -> Any:
    """Numbers of a column in which hidden cells are signs, such as a dot."""
    import polars as pl

    bare = column.str.strip_chars()
    numbers = bare.cast(pl.Float64, strict=False)
    signs = set(bare.filter(numbers.is_null() & bare.is_not_null()).unique().to_list())
    wrong = signs - {"", ".", "x", "X", "/", "c", ":"}
    if wrong:
        what = f"the column of values holds {len(wrong)} signs that are not known"
        hint = "hidden cells are empty, or hold . x / c :"
        raise SuppressionError(what, code="values", where=f"{place.name}, {column.name}", hint=hint)
    return pl.Series(column.name, np.asarray(numbers.fill_null(np.nan))).fill_nan(None)
