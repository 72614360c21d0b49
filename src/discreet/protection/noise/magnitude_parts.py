"""Files of perturbation tables for magnitudes, read and written without loss.

In: interval lists (CSV) and τ-ARGUS texts. Out: checked parts. SECRET. Messages
name lines and kinds of problems, never a probability, a noise value or a bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal, cast, get_args

from discreet.confidential import Unpicklable
from discreet.errors import PerturbationError, Problem
from discreet.protection.noise.intervals import (
    DECIMAL_SCALE,
    Bound,
    Closed,
    Intervals,
    StatedInterval,
    decimal_text,
    on_scale,
    pack,
)
from discreet.protection.noise.sources import (
    NEAR,
    PerturbationFile,
    bound_problems,
    exact,
    raise_problems,
)

#: What a part is for.
Kind = Literal["all", "even", "odd", "small"]
_KINDS: tuple[str, ...] = get_args(Kind)
_WRITTEN = {"small": "small_cells"}
_READ = {"small_cells": "small", "small": "small", "all": "all", "even": "even", "odd": "odd"}

_FINEST = 1000  # steps per unit that files may have


@dataclass(frozen=True, repr=False, eq=False)
class MagnitudePart(Unpicklable):
    """The rows of one kind. SECRET."""

    kind: Kind  # what they are for
    classes: tuple[int, ...]  # the size classes, ascending, from 0
    step: int  # steps of noise per unit
    content: Intervals  # one row per class; noise in steps

    def __repr__(self) -> str:
        return f"<Part {self.kind}: secret>"


def check_kind(kind: object) -> Kind:
    """Raise unless `kind` is one."""
    if kind not in _KINDS:
        raise PerturbationError(
            f"unknown kind {kind!r} of perturbation table for magnitudes",
            code="magnitude-table",
            where="kind",
            hint="kinds: " + ", ".join(_KINDS),
        )
    return cast("Kind", kind)


def raise_magnitude(name: str, problems: Sequence[Problem]) -> None:
    """Raise one error for all problems; do nothing when there is none."""
    many = "{} problems in the perturbation table for magnitudes"
    raise_problems(name, problems, "magnitude-table", many)


def read_parts(source: PerturbationFile, form: str | None) -> list[MagnitudePart]:
    """Read and check the parts of a file."""
    hint = "read tables for counts with PerturbationTable"
    places = source.places(("i", "v", "upper", "type"), hint)
    kind = form or ("intervals" if "lower" in places else "argus")
    closed: Closed = "right" if kind == "argus" else "left"
    problems: list[Problem] = []
    lines: dict[str, list[StatedInterval]] = {}
    for number, cells in source.rows():
        if len(cells) != len(source.header):
            problems.append(Problem("the line has another number of columns", f"line {number}"))
            continue
        stated = {name: cells[at] for name, at in places.items()}
        part_kind = _READ.get(stated.pop("type").lower())
        line = _line(number, stated)
        if part_kind is None or line is None:
            message = "the type is unknown" if part_kind is None else "a column lacks numbers"
            problems.append(Problem(message, f"line {number}"))
            continue
        lines.setdefault(part_kind, []).append(line)
    if not lines and not problems:
        problems.append(Problem("no rows", source.name))
    parts = [
        _part(cast("Kind", part_kind), rows, closed, problems) for part_kind, rows in lines.items()
    ]
    raise_magnitude(source.name, problems)
    return [part for part in parts if part is not None]


def _line(number: int, stated: dict[str, str]) -> StatedInterval | None:
    numbers = {name: exact(text) for name, text in stated.items()}
    size_class, noise, upper = numbers["i"], numbers["v"], numbers["upper"]
    if None in numbers.values() or size_class is None or noise is None or upper is None:
        return None
    if size_class.denominator != 1:
        return None
    # Noise of a third, say, is written with so many digits; the fraction is meant.
    near = noise.limit_denominator(_FINEST)
    noise = near if abs(near - noise) <= NEAR else noise
    others = (numbers.get(name) for name in ("lower", "p", "j"))
    return StatedInterval(f"line {number}", int(size_class), noise, upper, *others)


def _part(
    kind: Kind, lines: Sequence[StatedInterval], closed: Closed, problems: list[Problem]
) -> MagnitudePart | None:
    before = len(problems)
    rows: dict[int, list[StatedInterval]] = {}
    for line in lines:
        rows.setdefault(line.count, []).append(line)
    step = math.lcm(*(line.noise.denominator for line in lines))
    if step > _FINEST:
        message = f"the noise of part {kind!r} has no common step of at least 1/{_FINEST}"
        problems.append(Problem(message, lines[0].line))
    if 0 not in rows or any(line.noise for line in rows[0]):
        message = f"part {kind!r} needs a row for class 0 that changes nothing"
        problems.append(Problem(message, lines[0].line))
    if min(rows) < 0:
        problems.append(Problem("a size class is negative", lines[0].line))
    for row in rows.values():
        problems += _row_problems(row)
    if len(problems) > before:
        return None
    classes = tuple(sorted(rows))
    packed = [
        [
            (
                DECIMAL_SCALE if line is rows[at][-1] else on_scale(Fraction(line.upper), closed),
                int(line.noise * step),
            )
            for line in rows[at]
        ]
        for at in classes
    ]
    return MagnitudePart(kind, classes, step, pack(packed, closed=closed))


def _row_problems(row: Sequence[StatedInterval]) -> Iterator[Problem]:
    """Everything wrong with the intervals of one size class."""
    below: Bound = 0
    for line in row:
        yield from bound_problems(line, below, "cumulative probabilities must increase")
        if line.count + line.noise < 0:
            yield Problem("the noise can change the sign", line.line)
        if line.target is not None and abs(line.target - line.count - line.noise) > NEAR:
            yield Problem("class plus noise differs from the stated target", line.line)
        below = line.upper
    if abs(Fraction(below) - 1) > NEAR:
        message = f"the probabilities of class {row[-1].count} do not sum to one"
        yield Problem(message, row[-1].line)


def as_text(parts: Sequence[MagnitudePart], form: str) -> str:
    """The parts as text."""
    closed = "right" if form == "argus" else "left"
    if parts[0].content.closed != closed:
        raise PerturbationError(
            f"intervals of the table and of {form!r} are closed on different sides",
            code="perturbation-format",
            hint=f'convert first: table.with_closed("{closed}")',
        )
    if form == "argus" and len(parts) > 1 and any(part.kind == "small" for part in parts):
        raise PerturbationError(
            "τ-ARGUS needs a separate file for small cells",
            code="perturbation-format",
            hint='write them separately: table.part("small").write(…)',
        )
    lines = _argus(parts) if form == "argus" else _intervals(parts)
    return "\n".join([*lines, ""])


def _values(part: MagnitudePart) -> Iterator[tuple[int, str, str, str, str, str]]:
    """Class, target, probability, noise, lower and upper bound of each interval."""
    for size_class, (_, upper, noise) in zip(part.classes, part.content.rows(), strict=True):
        for (below, bound), steps in zip(pairwise([0, *upper]), noise, strict=True):
            value = Fraction(steps, part.step)
            shown = (_decimal(size_class + value), decimal_text(bound - below), _decimal(value))
            yield (size_class, *shown, decimal_text(below), decimal_text(bound))


def _intervals(parts: Sequence[MagnitudePart]) -> Iterator[str]:
    yield '"i","j","p","v","p_int_lb","p_int_ub","type"'
    for part in parts:
        for cells in _values(part):
            row = (*cells, _WRITTEN.get(part.kind, part.kind))
            yield ",".join(f'"{cell}"' for cell in row)


def _argus(parts: Sequence[MagnitudePart]) -> Iterator[str]:
    yield "i;j;p;v;p_int_ub;type"
    for part in parts:
        kind = "all" if part.kind == "small" else part.kind
        for size_class, target, share, value, _, upper in _values(part):
            yield f"{size_class};{target};{share};{value};{upper};{kind}"


def _decimal(value: Fraction) -> str:
    """A fraction as a decimal of at most 15 places.

    >>> _decimal(Fraction(-1, 2)), _decimal(Fraction(1, 3)), _decimal(Fraction(2))
    ('-0.5', '0.333333333333333', '2')
    """
    units = round(abs(value) * DECIMAL_SCALE)
    return f"-{decimal_text(units)}" if value < 0 and units else decimal_text(units)
