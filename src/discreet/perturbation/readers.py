"""Reading perturbation tables: interval lists, cumulative matrices, own JSON.

In: an opened file. Out: checked `Intervals`. SECRET. Numbers are taken as the
exact decimals they are written as, never through floating point.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from discreet.errors import PerturbationError, Problem
from discreet.keygrid import KeyGrid
from discreet.perturbation.checks import check_entries, magnitude_error
from discreet.perturbation.intervals import Closed, Entry, Intervals
from discreet.perturbation.sources import Source

__all__ = ["JSON_NAME", "JSON_VERSION", "exact", "read_cumulative", "read_intervals", "read_json"]

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


def read_intervals(source: Source, *, closed: Closed, zeros: bool = False) -> Intervals:
    """Read a list of intervals: one line per count and noise, with upper bounds.

    Args:
        source: The file.
        closed: "left" for the R family's CSV, "right" for τ-ARGUS.
        zeros: Row 0 is meant to change zeros.
    """
    places = {name: source.place(name) for name in ("i", "j", "p", "v", "lower", "upper", "type")}
    missing = [name for name in ("i", "v", "upper") if places[name] is None]
    if missing:
        raise PerturbationError(
            f"columns are missing: {', '.join(missing)}",
            code="perturbation-file",
            where=source.name,
            hint="columns found: " + ", ".join(source.header[:10]),
        )
    entries, problems = [], []
    fractions = 0
    other_types = set()
    for number, cells in source.rows():
        line = f"line {number}"
        if len(cells) != len(source.header):
            problems.append(Problem("the line has another number of columns", line))
            continue
        stated = {name: cells[at] for name, at in places.items() if at is not None}
        if stated.pop("type", "all").lower() != "all":
            other_types.add(number)
        numbers = {name: exact(text) for name, text in stated.items()}
        bad = [name for name, value in numbers.items() if value is None]
        problems += [Problem(f"column {name!r} holds no number", line) for name in bad]
        if bad:
            continue
        fractions += any(numbers[name].denominator != 1 for name in ("i", "v"))  # type: ignore[union-attr]
        entries.append(_entry(line, numbers))
    if other_types:
        raise magnitude_error(source.name, f"{len(other_types)} lines are of a type other than all")
    if fractions:
        raise magnitude_error(source.name, f"{fractions} lines have noise in fractions")
    return check_entries(entries, name=source.name, closed=closed, zeros=zeros, problems=problems)


def _entry(line: str, numbers: dict[str, Fraction | None]) -> Entry:
    count, noise, upper = numbers["i"], numbers["v"], numbers["upper"]
    assert count is not None
    assert noise is not None
    assert upper is not None
    return Entry(
        line=line,
        count=int(count),
        noise=int(noise),
        upper=upper,
        lower=numbers.get("lower"),
        share=numbers.get("p"),
        target=numbers.get("j"),
    )


def read_cumulative(source: Source, *, zeros: bool = False) -> Intervals:
    """Read a cumulative matrix: one line per count, one column per noise value."""
    noise = [_integer(name) for name in source.header[1:]]
    problems = []
    if None in noise or len(set(noise)) != len(noise) or not noise:
        what = "the columns after the first must be named by different whole numbers"
        raise PerturbationError(what, code="perturbation-file", where=source.name)
    entries = []
    seen: set[int] = set()
    for number, cells in source.rows():
        line = f"line {number}"
        count = _integer(cells[0])
        bounds = [exact(cell) for cell in cells[1:]]
        if count is None or len(bounds) != len(noise) or None in bounds:
            problems.append(Problem("the line holds something that is not a number", line))
            continue
        if count in seen:
            problems.append(Problem(f"row {count} is listed twice", line))
            continue
        seen.add(count)
        pairs: list[tuple[Any, Any]] = list(zip(noise, bounds, strict=True))
        entries += [Entry(line, count, value, bound) for value, bound in pairs]
    return check_entries(entries, name=source.name, zeros=zeros, problems=problems)


def _integer(text: str) -> int | None:
    number = exact(text)
    return int(number) if number is not None and number.denominator == 1 else None


def read_json(source: Source) -> tuple[Intervals, str, str]:
    """Read this package's own format: the intervals, the table's name and version."""
    data: Any = source.json()
    if not isinstance(data, dict) or data.get("format") != JSON_NAME:
        raise PerturbationError(
            "this JSON file holds no perturbation table",
            code="perturbation-file",
            where=source.name,
        )
    if data.get("format_version") != JSON_VERSION:
        raise PerturbationError(
            "the file was written by another version of the format",
            code="perturbation-file",
            where=source.name,
            hint=f"this package reads version {JSON_VERSION}",
        )
    _check_fields(data, source.name)
    beyond = data["beyond"]
    content = check_entries(
        _json_entries(data["rows"]),
        name=source.name,
        closed=data["closed"],
        scale=data["scale"],
        one=data["scale"],
        beyond="last" if beyond == "last" else (beyond["start"], beyond["length"]),
        zeros=data["zeros"],
    )
    return content, data["name"], data["version"]


def _check_fields(data: dict[str, Any], name: str) -> None:
    """Raise unless all fields are there and of the expected form."""
    scale, rows = data.get("scale"), data.get("rows")
    sound = {
        "scale": _is_int(scale) and 2 <= data["scale"] <= KeyGrid().size,
        "closed": data.get("closed") in ("left", "right"),
        "beyond": _is_beyond(data.get("beyond")),
        "zeros": isinstance(data.get("zeros"), bool),
        "name": isinstance(data.get("name"), str),
        "version": isinstance(data.get("version"), str),
        "rows": isinstance(rows, list) and all(_is_row(row) for row in rows),
    }
    problems = [
        Problem(f"{field!r} is missing or not of the expected form", name)
        for field, good in sound.items()
        if not good
    ]
    if problems:
        raise PerturbationError(
            problems[0].what, code="perturbation-file", where=name, problems=problems
        )


def _json_entries(rows: Any) -> list[Entry]:
    return [
        Entry(f"row {count}", count, value, bound)
        for count, row in enumerate(rows)
        for bound, value in zip(row["upper"], row["noise"], strict=True)
    ]


def _is_beyond(value: object) -> bool:
    if isinstance(value, dict) and set(value) == {"start", "length"}:
        return all(map(_is_int, value.values()))
    return value == "last"


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_row(row: object) -> bool:
    if not isinstance(row, dict) or set(row) != {"upper", "noise"}:
        return False
    parts: Sequence[object] = (row["upper"], row["noise"])
    if not all(isinstance(part, list) and all(map(_is_int, part)) for part in parts):
        return False
    return len(row["upper"]) == len(row["noise"]) > 0
