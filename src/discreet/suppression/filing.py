"""Suppression and audit of files: what the command line does.

In: a `.jj` file of a problem, a `.tab` file of cells with its `.rda`, or published cells
with blanks. Out: a `.jj` file with the pattern (CONFIDENTIAL), or a published table.
Nothing is written unless every sensitive cell is proven to be protected.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet.classifications import Classification
from discreet.errors import SuppressionError
from discreet.files import check_writable
from discreet.suppression.auditing import Audit, audit_problem
from discreet.suppression.building import build_problem
from discreet.suppression.foreign import Blanks, audit_published
from discreet.suppression.formats import CellFile, read_rda, read_tab
from discreet.suppression.jj import read_jj, write_jj
from discreet.suppression.methods import Method, Progress, find_pattern
from discreet.suppression.problem import CellState, SuppressionProblem
from discreet.suppression.repairing import repaired, write_differences
from discreet.suppression.report import described_pattern, pattern_lines
from discreet.suppression.suppressing import Suppression
from discreet.tables import ProtectedTable

__all__ = ["Done", "audit_file", "suppress_file"]

#: So many intervals are listed for people.
_LISTED = 100

#: Writes a protected table; handed in, because publication lies above suppression.
Writer = Callable[[ProtectedTable, Path], Any]


class Done(NamedTuple):
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
    write: Writer | None = None,
) -> Done:
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
    place, target = Path(source), Path(out)
    check_writable(target.parent)
    changed = 0
    search: dict[str, Any] = {"time_limit": time_limit, "progress": progress}
    _check_kinds(place, target, of_problems=differences is not None or anew)
    if _is_jj(place):
        problem, changed = _problem(place, repair, differences, anew)
        pattern = find_pattern(problem, method, **search)
        write_jj(problem.with_hidden(pattern.hidden), target)
    else:
        cells = _cells(place, metadata)
        options: dict[str, Any] = {"decimals": cells.decimals, "value": cells.value}
        options |= {"repair": repair, **search}
        done = Suppression.of((cells.table, cells.primary), method=method, **options)
        pattern = done.pattern
        if _is_jj(target):
            write_jj(done.problem.with_hidden(pattern.hidden), target)
        elif write is not None:
            write(done.tables[0], target)
    told = described_pattern(pattern)
    lines = [*pattern_lines(told), f"Written: {target}"]
    if changed:
        told["repaired"] = changed
        lines.insert(0, f"{changed:,} totals were added up anew.")
    return Done("\n".join(lines), {"table": place.name, **told, "out": str(target)})


def _check_kinds(place: Path, target: Path, *, of_problems: bool) -> None:
    """Refuse files and options that do not go together."""
    if not _is_jj(place) and of_problems:
        raise SuppressionError(
            "only problems (.jj) list differences and have secondaries to forget",
            code="option",
            where=str(place),
            hint="leave out --differences and --anew",
        )
    if _is_jj(place) and (not _is_jj(target) or target.suffix == ".gz"):
        raise SuppressionError(
            "a problem has no codes: its pattern is written as a .jj file",
            code="output-file",
            where=str(target),
            hint="name it NAME.jj",
        )


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
    whole, changed = repaired(problem)
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
) -> Done:
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
        return Done(text, told)
    if _is_jj(place):
        problem = read_jj(place)
    else:
        cells = _cells(place, metadata)
        asked = (cells.table, cells.primary)
        problem, _ = build_problem(asked, value=cells.value, decimals=cells.decimals)
    return _judged(problem, place, intervals)


def _judged(problem: SuppressionProblem, place: Path, intervals: bool) -> Done:
    problem.check()
    found: Audit = audit_problem(problem, problem.hidden, intervals=intervals)
    told = found.described()
    told["table"] = place.name
    text = found.text()
    if intervals:
        told["intervals"] = found.intervals().drop("value").to_dicts()
        text = "\n".join([text, *_interval_lines(told["intervals"], ["cell"])])
    return Done(text, told)


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
        raise SuppressionError(
            "a file of cells needs its description",
            code="metadata",
            where=str(place),
            hint="name the .rda file, or hand in a .jj file",
        )
    cells = read_tab(place, read_rda(metadata, of="cells"))
    if cells.primary is None:
        raise SuppressionError(
            "the file does not say which cells are sensitive",
            code="status",
            where=str(place),
            hint="describe its column of status with <STATUS>",
        )
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
        raise SuppressionError(
            "the file cannot be read as a table",
            code="file",
            where=str(place),
            hint="hand in published cells as .csv or .parquet",
        ) from None
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
        raise SuppressionError(
            f"the file has no column {missing[0]!r}",
            code="missing-column",
            where=str(place),
            hint=hint if few else f"{hint}, and the first line names the columns",
        )


def _numbers(column: Any, place: Path) -> Any:
    """Numbers of a column in which hidden cells are signs, such as a dot."""
    import polars as pl

    bare = column.str.strip_chars()
    numbers = bare.cast(pl.Float64, strict=False)
    signs = set(bare.filter(numbers.is_null() & bare.is_not_null()).unique().to_list())
    wrong = signs - {"", ".", "x", "X", "/", "c", ":"}
    if wrong:
        raise SuppressionError(
            f"the column of values holds {len(wrong)} signs that are not known",
            code="values",
            where=f"{place.name}, {column.name}",
            hint="hidden cells are empty, or hold . x / c :",
        )
    return pl.Series(column.name, np.asarray(numbers.fill_null(np.nan))).fill_nan(None)
