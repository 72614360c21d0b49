"""Where perturbation tables come from: files and matrices, read exactly and checked. SECRET.

In: a path, whose format is told by its content, or probabilities stated in Python as
floats, decimals, fractions or texts. Out: checked `Intervals`, or a `PerturbationError`
that lists every problem with its line. Numbers are taken as the exact decimals they are
written as; bounds are then rounded to 15 decimals, the precision of the keys. Messages
name lines and kinds of problems, never a probability, a noise value or a bound.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from discreet.confidential import Unpicklable
from discreet.errors import PerturbationError, Problem, raise_all
from discreet.protection.noise.intervals import (
    DECIMAL_SCALE,
    Beyond,
    Bound,
    Closed,
    Intervals,
    StatedInterval,
    on_scale,
    pack,
)

NEAR = Fraction(1, 10**9)  # rows sum to one, bounds meet
_ROUNDED = Fraction(1, 10**7)  # stated probabilities are rounded
_CUT = Fraction(1, 10)  # rows that were printed cut off lack less
_SCALE = "for a rounded or truncated matrix add normalise=True"
_SHOWN = 20
_SHOWN_ROWS = 5


def check_entries(
    entries: Sequence[StatedInterval],
    *,
    name: str,
    closed: Closed = "left",
    scale: int = DECIMAL_SCALE,
    one: int = 1,
    beyond: Beyond = "last",
    zeros: bool = False,
    problems: Iterable[Problem] = (),
) -> Intervals:
    """Check stated intervals and pack them."""
    flaws = list(problems)
    rows: dict[int, list[StatedInterval]] = {}
    for entry in entries:
        rows.setdefault(entry.count, []).append(entry)
    if not rows and not flaws:
        flaws.append(Problem("no rows", name))
    flaws += missing_rows(rows, first=0)
    flaws += _beyond_problems(beyond, max(rows, default=0))
    for count, row in rows.items():
        flaws += _row_problems(row, closed, one)
        if count == 0 and not zeros and not _certain_zero(row, closed):
            hint = "to perturb zeros, add zeros=True"
            flaws.append(Problem("row 0 changes zeros", row[0].line, hint))
    raise_problems(name, flaws)
    changes_zeros = zeros and not _certain_zero(rows[0], closed)
    packed = [
        [(_unit(entry.upper, row[-1].upper, closed, scale, one), int(entry.noise)) for entry in row]
        for _, row in sorted(rows.items())
    ]
    return pack(packed, closed=closed, scale=scale, beyond=beyond, zeros=changes_zeros)


def _unit(upper: Bound, last: Bound, closed: Closed, scale: int, one: int) -> int:
    """A bound in units of 1/scale; the last of its row, one up to rounding, becomes one."""
    if upper == last:
        return scale
    return int(upper) if one == scale else min(on_scale(Fraction(upper), closed, scale), scale)


def _row_problems(row: Sequence[StatedInterval], closed: Closed, one: int) -> Iterator[Problem]:
    """Everything wrong with the intervals of one original count."""
    below: Bound = 0
    seen: set[tuple[Bound, Bound]] = set()
    upward = "intervals and cumulative probabilities must increase"
    for entry in row:
        if (entry.upper, entry.noise) in seen:
            yield Problem("the interval is listed twice", entry.line)
        seen.add((entry.upper, entry.noise))
        yield from bound_problems(entry, below, upward)
        occurs = entry.upper > below or (closed == "right" and entry is row[0])
        if occurs and entry.count + entry.noise < 0:
            yield Problem("the noise can make the count negative", entry.line)
        if entry.target is not None and entry.target != entry.count + entry.noise:
            yield Problem("count plus noise differs from the stated target", entry.line)
        below = entry.upper
    if not one - NEAR * one <= below <= one + NEAR * one:
        message = f"the probabilities of row {row[-1].count} do not sum to one"
        yield Problem(message, row[-1].line, _SCALE)


def bound_problems(entry: StatedInterval, below: Bound, upward: str) -> Iterator[Problem]:
    """Problems of the bounds of an interval that begins at the end of the one before."""
    if entry.lower is not None and abs(entry.lower - below) > NEAR:
        gap = entry.lower > below
        message = "a gap precedes the interval" if gap else "the interval overlaps another"
        yield Problem(message, entry.line, "list the intervals in order, without gaps")
    elif entry.upper < below:
        yield Problem("the upper bound falls", entry.line, upward)
    elif entry.share is not None and abs(entry.upper - below - entry.share) > _ROUNDED:
        yield Problem("probability and bounds do not match", entry.line)


def _certain_zero(row: Sequence[StatedInterval], closed: Closed) -> bool:
    below: Bound = 0 if closed == "left" else -1
    for entry in row:
        if entry.noise != 0 and entry.upper != below:
            return False
        below = entry.upper
    return True


def missing_rows(rows: Iterable[int], *, first: int) -> list[Problem]:
    """A problem if original counts between `first` and the last have no row."""
    counts = set(rows)
    if not counts:
        return []
    problems = []
    if min(counts) < first:
        problems.append(Problem("original counts must not be negative", "rows"))
    number = max(counts) + 1 - first - sum(count >= first for count in counts)
    if number > 0:
        missing = (count for count in range(first, max(counts)) if count not in counts)
        shown = ", ".join(str(count) for count in islice(missing, _SHOWN_ROWS))
        more = ", …" if number > _SHOWN_ROWS else ""
        hint = "each count from 0 to the last needs a row; size classes are for magnitude tables"
        message = "1 row is missing" if number == 1 else f"{number} rows are missing"
        problems.append(Problem(f"{message}: {shown}{more}", "rows", hint))
    return problems


def _beyond_problems(beyond: Beyond, n_max: int) -> list[Problem]:
    if beyond == "last":
        return []
    value: object = beyond
    pair = isinstance(value, tuple | list) and len(value) == 2
    if not pair or not all(type(part) is int for part in beyond):
        hint = 'write beyond="last" or beyond=(501, 250)'
        return [Problem("not the last row or a block of rows", "beyond", hint)]
    start, length = beyond
    if start >= 1 and length >= 1 and start + length - 1 == n_max:
        return []
    return [Problem("the repeated block must end at the last row", "beyond")]


def magnitude_error(name: str, what: str) -> PerturbationError:
    """The error for a table of another kind: for sums, not for counts."""
    return PerturbationError(
        f"not for counts but for magnitudes: {what}",
        code="magnitude-table",
        where=name,
        hint="use a table with whole-number noise and one row per count, type 'all'",
    )


def file_error(name: object, what: str, hint: str = "") -> PerturbationError:
    """The error for a file that holds no perturbation table that can be read."""
    return PerturbationError(what, code="perturbation-file", where=str(name), hint=hint)


def raise_problems(
    name: str,
    problems: Sequence[Problem],
    code: str = "perturbation-table",
    many: str = "{} problems in the perturbation table",
) -> None:
    """Raise one error for all problems; do nothing when there is none."""
    if len(problems) == 1 and problems[0].where:
        problems = [replace(problems[0], where=f"{name}, {problems[0].where}")]
    raise_all(PerturbationError, problems, code=code, many=many, where=name, most=_SHOWN)


Format = Literal["intervals", "argus", "ons", "cumulative", "json"]
FORMATS: tuple[str, ...] = get_args(Format)

#: The names under which each column is met.
COLUMNS = {
    "i": {"i"},
    "j": {"j"},
    "p": {"p", "p_ij"},
    "v": {"v"},
    "lower": {"lb", "p_int_lb", "p_ij_lb"},
    "upper": {"ub", "p_int_ub", "p_ij_ub"},
    "type": {"type"},
}

_KNOWN = (
    "known formats: interval CSV (i, j, p, v, lower and upper bound), τ-ARGUS (i;j;p;v;upper "
    "bound), pcv/ckey/pvalue, cumulative matrix (count, then one column per noise), JSON of "
    "this package, YAML of cellKey"
)


@dataclass(frozen=True, repr=False)
class PerturbationFile(Unpicklable):
    """An opened file."""

    name: str
    content: bytes

    @cached_property
    def text(self) -> str:
        """The content as text."""
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise file_error(self.name, "the file is not a text file", _KNOWN) from None

    @cached_property
    def delimiter(self) -> str:
        """Separator of the columns, by the first line."""
        return max(";,\t", key=self._first_line.count)

    @cached_property
    def header(self) -> tuple[str, ...]:
        """Names of the columns, in small letters."""
        cells = self._split(self._first_line)[:1]
        return tuple(cell.strip().lower() for cell in cells[0]) if cells else ()

    def rows(self) -> list[tuple[int, list[str]]]:
        """The lines below the header that are not blank, with their numbers."""
        return [
            (number, [cell.strip() for cell in cells])
            for number, cells in enumerate(self._split(self.text), 1)
            if number > 1 and any(cell.strip() for cell in cells)
        ]

    @property
    def _first_line(self) -> str:
        end = self.text.find("\n")
        return self.text if end < 0 else self.text[:end]

    def _split(self, text: str) -> list[list[str]]:
        lines = io.StringIO(text, newline="")
        try:
            return list(csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True))
        except csv.Error:
            raise file_error(self.name, "the lines cannot be split into columns") from None

    def place(self, column: str) -> int | None:
        """Position of a column under any of its names."""
        for at, name in enumerate(self.header):
            if name in COLUMNS[column]:
                return at
        return None

    def places(self, needed: Sequence[str], hint: str) -> dict[str, int]:
        """Positions of known columns; an error if a required one is missing."""
        places = {name: at for name in COLUMNS if (at := self.place(name)) is not None}
        missing = [name for name in needed if name not in places]
        if missing:
            raise file_error(self.name, f"columns not found: {', '.join(missing)}", hint)
        return places

    def detect(self) -> Format:
        """The format, by content."""
        start = self.content[:100].lstrip(b"\xef\xbb\xbf \t\r\n")
        if start.startswith(b"{"):
            return "json"
        if {"pcv", "ckey", "pvalue"} <= set(self.header):
            return "ons"
        if self.place("i") is not None and self.place("v") is not None:
            if self.place("upper") is not None:
                return "argus" if self.place("lower") is None else "intervals"
        elif len(self.header) > 1 and None not in map(_integer, self.header[1:]):
            return "cumulative"
        raise file_error(self.name, "unknown format of the perturbation table", _KNOWN)

    def json(self) -> object:
        """The content as JSON."""
        try:
            return json.loads(self.text)
        except (json.JSONDecodeError, RecursionError):
            raise file_error(self.name, "the file is not valid JSON") from None

    def __repr__(self) -> str:
        return f"<Source {self.name}: secret>"


def check_format(name: str | None) -> None:
    """Raise unless `name` is a format or None."""
    if name is not None and name not in FORMATS:
        raise PerturbationError(
            f"unknown format {name!r}",
            code="perturbation-format",
            hint="formats: " + ", ".join(FORMATS),
        )


def open_source(path: str | os.PathLike[str]) -> PerturbationFile:
    """Read a file, unpacking it if it is gzipped."""
    value: object = path
    if not isinstance(value, str | os.PathLike):
        raise PerturbationError(
            f"expected the path of a file, got a {type(value).__name__}",
            code="perturbation-file",
            hint='such as PerturbationTable.read("ptable.csv")',
        )
    place = Path(path)
    try:
        content = place.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or "the file is damaged"
        raise file_error(place, f"the perturbation table cannot be read ({why})") from None
    return opened(place.name, content, place)


def opened(
    name: str, content: bytes, place: str | os.PathLike[str] | None = None
) -> PerturbationFile:
    """The content of a file that was read already."""
    if not content.strip():
        raise file_error(place or name, "the file is empty")
    if content.startswith(b"params:"):
        content = _yaml_table(name, content.decode("utf-8", "replace")).encode()
    return PerturbationFile(name, content)


def _yaml_table(name: str, text: str) -> str:
    """The table in a file that `cellKey` wrote, as CSV; YAML of another form is refused."""
    lines = text.splitlines()
    starts = [at for at, line in enumerate(lines, 1) if line in ("  ptable:", "  ptab:")]
    columns: list[list[str]] = []
    for number, line in enumerate(lines[starts[0] :] if starts else (), 1):
        if not line.startswith("    "):
            break
        head, item = (re.fullmatch(form, line) for form in (r"    (\w+):", r"    - ([\w.+-]+)"))
        if head:
            columns.append([head[1]])
        elif item and columns:
            columns[-1].append(item[1])
        else:
            where = f"{name}, line {starts[0] + number}"
            raise file_error(where, "not a file of cellKey", "one value on each line")
    if len(set(map(len, columns))) != 1 or len({column[0] for column in columns}) < len(columns):
        raise file_error(name, "params lacks a table of different columns of equal length")
    return "\n".join(map(",".join, zip(*columns, strict=True)))


JSON_NAME = "discreet perturbation table"
JSON_VERSION = 1

_MAX_EXPONENT = 60


def exact(text: str) -> Fraction | None:
    """The number a text states, exactly; None if it states none.

    >>> exact("1.00E-07")
    Fraction(1, 10000000)
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > _MAX_EXPONENT:
        return None
    return Fraction(number)


def stated_lines(
    source: PerturbationFile, needed: Sequence[str], hint: str, problems: list[Problem]
) -> Iterator[tuple[int, str, dict[str, Fraction | None]]]:
    """The lines of a list of intervals: their number, type and exact numbers by column."""
    places = source.places(needed, hint)
    for number, cells in source.rows():
        if len(cells) != len(source.header):
            problems.append(Problem("the line has another number of columns", f"line {number}"))
            continue
        stated = {name: cells[at] for name, at in places.items()}
        kind = stated.pop("type", "all").lower()
        yield number, kind, {name: exact(text) for name, text in stated.items()}


def stated_interval(number: int, numbers: Mapping[str, Any]) -> StatedInterval:
    """The interval of a line whose numbers are all there."""
    columns: list[Any] = [numbers.get(name) for name in ("v", "upper", "lower", "p", "j")]
    return StatedInterval(f"line {number}", int(numbers["i"]), *columns)


def read_intervals(source: PerturbationFile, *, closed: Closed, zeros: bool = False) -> Intervals:
    """Read a list of intervals: one line per count and noise, with upper bounds."""
    hint = "columns: " + ", ".join(source.header[:10])
    entries, problems = [], list[Problem]()
    fractions = other_types = 0
    for line, kind, numbers in stated_lines(source, ("i", "v", "upper"), hint, problems):
        other_types += kind != "all"
        lacking = [name for name, value in numbers.items() if value is None]
        problems += [Problem(f"column {name!r} lacks numbers", f"line {line}") for name in lacking]
        if lacking:
            continue
        entry = stated_interval(line, numbers)
        fractions += numbers["i"] != entry.count or Fraction(entry.noise).denominator != 1
        entries.append(entry)
    if other_types:
        raise magnitude_error(source.name, f"{other_types} lines are of a type other than all")
    if fractions:
        raise magnitude_error(source.name, f"{fractions} lines have noise in fractions")
    return check_entries(entries, name=source.name, closed=closed, zeros=zeros, problems=problems)


def read_cumulative(source: PerturbationFile, *, zeros: bool = False) -> Intervals:
    """Read a cumulative matrix: one line per count, one column per noise value."""
    noise = [_integer(name) for name in source.header[1:]]
    problems = []
    if None in noise or len(set(noise)) != len(noise) or not noise:
        message = "the columns after the first must have different whole numbers as names"
        raise file_error(source.name, message)
    entries = []
    seen: set[int] = set()
    for number, cells in source.rows():
        line = f"line {number}"
        count = _integer(cells[0])
        bounds = [exact(cell) for cell in cells[1:]]
        if count is None or len(bounds) != len(noise) or None in bounds:
            problems.append(Problem("the line contains text that is not a number", line))
            continue
        if count in seen:
            problems.append(Problem(f"row {count} is listed twice", line))
            continue
        seen.add(count)
        pairs: list[tuple[Any, Any]] = list(zip(noise, bounds, strict=True))
        entries += [StatedInterval(line, count, value, bound) for value, bound in pairs]
    return check_entries(entries, name=source.name, zeros=zeros, problems=problems)


def _integer(text: str) -> int | None:
    number = exact(text)
    return int(number) if number is not None and number.denominator == 1 else None


def read_json(source: PerturbationFile) -> tuple[Intervals, str, str]:
    """Read this package's own format: the intervals, the table's name and version."""
    data: Any = source.json()
    if not isinstance(data, dict) or data.get("format") != JSON_NAME:
        raise file_error(source.name, "the JSON file contains no perturbation table")
    if data.get("format_version") != JSON_VERSION:
        raise file_error(
            source.name,
            "the file was written by another version of the format",
            f"this package reads version {JSON_VERSION}",
        )
    from pydantic import ValidationError

    from discreet.protection.noise.json_tables import JsonTable

    fields = {}
    try:
        table = JsonTable.model_validate(data)
    except ValidationError as error:  # it holds secret values, and goes no further
        fields = dict.fromkeys(item["loc"][0] for item in error.errors())
    problems = [
        Problem(f"{field!r} is missing or has the wrong form", source.name) for field in fields
    ]
    raise_all(PerturbationError, problems, code="perturbation-file", where=source.name)
    block = table.beyond
    content = check_entries(
        [
            StatedInterval(f"row {count}", count, value, bound)
            for count, row in enumerate(table.rows)
            for bound, value in zip(row.upper, row.noise, strict=True)
        ],
        name=source.name,
        closed=table.closed,
        scale=table.scale,
        one=table.scale,
        beyond="last" if block == "last" else (block.start, block.length),
        zeros=table.zeros,
    )
    return content, table.name, table.version


def cumulative_intervals(
    matrix: Any, noise: Iterable[int], *, name: str, zeros: bool, beyond: Beyond
) -> Intervals:
    """Intervals from cumulative probabilities: row = count, column = noise value."""
    rows, values = _matrix(matrix), _integers(noise, "noise")
    problems = _shape_problems(rows, values)
    entries = []
    for count, row in enumerate(rows):
        numbers = [_number(cell) for cell in row]
        problems += _number_problems(numbers, count)
        if None not in numbers and len(row) == len(values):
            bounds = [_rounded(number) for number in numbers if number is not None]
            entries += _entries(count, values, bounds)
    return check_entries(entries, name=name, zeros=zeros, beyond=beyond, problems=problems)


def transition_intervals(
    matrix: Any,
    targets: Iterable[int] | None,
    *,
    name: str,
    zeros: bool,
    beyond: Beyond,
    normalise: bool = False,
) -> Intervals:
    """Intervals from probabilities: row = original count, column = published count."""
    rows = stated_probabilities(matrix, normalise=True) if normalise else _matrix(matrix)
    width = len(rows[0]) if rows else 0
    columns = list(range(width)) if targets is None else _integers(targets, "targets")
    problems = _shape_problems(rows, columns)
    stated = {}
    for count, row in enumerate(rows):
        if len(row) == len(columns):
            pairs = zip(columns, row, strict=True)
            stated[count] = {target - count: share for target, share in pairs}
    return row_intervals(
        stated, name=name, zeros=zeros, beyond=beyond, closed="left", problems=problems
    )


def stated_probabilities(matrix: Any, *, normalise: bool, first: int = 0) -> list[list[Fraction]]:
    """The rows of a matrix, exactly; each sums to one, if need be by scaling."""
    rows: list[list[Fraction]] = []
    problems: list[Problem] = []
    for count, row in enumerate(_matrix(matrix), start=first):
        numbers = [_number(value) for value in row]
        known = [value for value in numbers if value is not None]
        total = sum(known, Fraction(0))
        problems += _number_problems(numbers, count)
        if any(value < 0 for value in known):
            problems.append(Problem("probabilities must not be negative", f"row {count}"))
        elif abs(total - 1) > (_CUT if normalise else NEAR):
            message = f"the probabilities of row {count} do not sum to one"
            problems.append(Problem(message, f"row {count}", "" if normalise else _SCALE))
        rows.append([value / total for value in known] if total else known)
    raise_all(PerturbationError, problems, code="perturbation-table", where="transition")
    return rows


def row_intervals(
    rows: Mapping[int, Mapping[int, Any]],
    *,
    name: str,
    zeros: bool,
    beyond: Beyond,
    closed: Closed,
    problems: Sequence[Problem] = (),
) -> Intervals:
    """Intervals from {count: {noise: probability}}, laid out by ascending noise."""
    if not isinstance(rows, Mapping) or not all(isinstance(row, Mapping) for row in rows.values()):
        raise _not_of_form("write rows as {count: {noise: probability}}", "rows")
    flaws = list(problems)
    entries = []
    for count in _integers(rows, "rows"):
        values = sorted(_integers(rows[count], "noise"))
        shares = [_number(rows[count][value]) for value in values]
        wrong = _number_problems(shares, count)
        known = [share for share in shares if share is not None]
        if any(share < 0 for share in known):
            wrong.append(Problem("probabilities must not be negative", f"row {count}"))
        if wrong or not known:
            flaws += wrong or [Problem("the row is empty", f"row {count}")]
            entries.append(StatedInterval(f"row {count}", count, max(0, -count), Fraction(1)))
            continue
        bounds = [_rounded(bound) for bound in accumulate(known)]
        entries += _entries(count, values, bounds)
    if not zeros:  # a row that is wrong anyway is no statement about zeros
        zeros = any(problem.where == "row 0" for problem in flaws)
    return check_entries(
        entries, name=name, closed=closed, zeros=zeros, beyond=beyond, problems=flaws
    )


def _entries(count: int, values: Sequence[int], bounds: Sequence[Fraction]) -> list[StatedInterval]:
    pairs = zip(values, bounds, strict=True)
    return [StatedInterval(f"row {count}", count, value, bound) for value, bound in pairs]


def _matrix(matrix: Any) -> list[list[Any]]:
    if hasattr(matrix, "to_numpy"):
        matrix = matrix.to_numpy()
    if isinstance(matrix, np.matrix):  # its rows are matrices again
        matrix = np.asarray(matrix)
    try:
        rows: list[list[Any]] = [list(row) for row in matrix]
    except TypeError:
        raise _not_of_form(
            "give the matrix as a list of rows, an array or a frame", "matrix"
        ) from None
    return rows


def _shape_problems(rows: Sequence[Sequence[Any]], columns: Sequence[int]) -> list[Problem]:
    problems = []
    if len(set(columns)) != len(columns):
        problems.append(Problem("a column is named twice"))
    for count, row in enumerate(rows):
        if len(row) != len(columns):
            message = f"the row has {len(row)} columns, {len(columns)} are named"
            problems.append(Problem(message, f"row {count}"))
    return problems


def _number_problems(numbers: Sequence[Fraction | None], count: int) -> list[Problem]:
    missing = sum(number is None for number in numbers)
    return [Problem(f"{missing} probabilities are not numbers", f"row {count}")] if missing else []


def _integers(values: Iterable[Any], where: str) -> list[int]:
    try:
        numbers = list(values)
    except TypeError:
        raise _not_of_form("expected a list of whole numbers", where) from None
    for value in numbers:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise PerturbationError(
                "must be whole numbers",
                code="perturbation-table",
                where=where,
                hint="fractional noise needs a perturbation table for magnitudes",
            )
    return [int(value) for value in numbers]


def _not_of_form(message: str, where: str) -> PerturbationError:
    return PerturbationError(message, code="perturbation-table", where=where)


def _number(value: Any) -> Fraction | None:
    """A probability as it is written: floats by their shortest decimal form."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, int | np.integer):
        return Fraction(int(value))
    if isinstance(value, float | np.floating):
        return exact(repr(float(value)))
    if isinstance(value, str | Decimal):
        return exact(str(value))
    return None


def _rounded(bound: Fraction) -> Fraction:
    return Fraction(round(bound * DECIMAL_SCALE), DECIMAL_SCALE)
