"""Files of perturbation tables for magnitudes, read and written without loss.

In: interval lists (CSV) and τ-ARGUS texts. Out: checked parts. SECRET. Messages
name lines and kinds of problems, never a probability, a noise value or a bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
    raise_problems,
    stated_interval,
    stated_lines,
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
    kind = form or ("argus" if source.place("lower") is None else "intervals")
    closed: Closed = "right" if kind == "argus" else "left"
    problems: list[Problem] = []
    lines: dict[str, list[StatedInterval]] = {}
    needed = ("i", "v", "upper", "type")
    for number, stated_kind, numbers in stated_lines(source, needed, hint, problems):
        part_kind, size_class = _READ.get(stated_kind), numbers["i"]
        lacking = None in numbers.values() or size_class is None or size_class.denominator != 1
        if part_kind is None or lacking:
            message = "the type is unknown" if part_kind is None else "a column lacks numbers"
            problems.append(Problem(message, f"line {number}"))
            continue
        line = stated_interval(number, numbers)
        # Noise of a third, say, is written with so many digits; the fraction is meant.
        near = Fraction(line.noise).limit_denominator(_FINEST)
        meant = near if abs(near - line.noise) <= NEAR else line.noise
        lines.setdefault(part_kind, []).append(replace(line, noise=meant))
    if not lines and not problems:
        problems.append(Problem("no rows", source.name))
    parts = [
        _part(cast("Kind", part_kind), rows, closed, problems) for part_kind, rows in lines.items()
    ]
    raise_magnitude(source.name, problems)
    return [part for part in parts if part is not None]


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


def check_closed(content: Intervals, form: str, other: str = "") -> None:
    """Raise unless intervals are closed on the side that a format says."""
    closed = "right" if form == "argus" else "left"
    if content.closed != closed:
        raise PerturbationError(
            f"intervals of the table and of {form!r} are closed on different sides",
            code="perturbation-format",
            hint=f'convert first: table.with_closed("{closed}"){other}',
        )


def as_text(parts: Sequence[MagnitudePart], form: str) -> str:
    """The parts as text."""
    check_closed(parts[0].content, form)
    if form == "argus" and len(parts) > 1 and any(part.kind == "small" for part in parts):
        raise PerturbationError(
            "τ-ARGUS needs a separate file for small cells",
            code="perturbation-format",
            hint='write them separately: table.part("small").write(…)',
        )
    return interval_text(parts, form, typed=True)


def interval_text(parts: Sequence[MagnitudePart], form: str, *, typed: bool) -> str:
    """A list of intervals: class, target, probability, noise, bounds and type of each."""
    argus = form == "argus"
    lines = [
        ("i;j;p;v;p_int_ub;type" if typed else "i;j;p;v;p_int_ub")
        if argus
        else '"i","j","p","v","p_int_lb","p_int_ub","type"'
    ]
    for part in parts:
        kind = "all" if argus and part.kind == "small" else _WRITTEN.get(part.kind, part.kind)
        for size_class, (_, upper, noise) in zip(part.classes, part.content.rows(), strict=True):
            for (below, bound), steps in zip(pairwise([0, *upper]), noise, strict=True):
                value = Fraction(steps, part.step)
                share, low, high = map(decimal_text, (bound - below, below, bound))
                cells = (str(size_class), _decimal(size_class + value), share, _decimal(value))
                if argus:
                    lines.append(";".join((*cells, high, *([kind] if typed else []))))
                else:
                    lines.append(",".join(f'"{cell}"' for cell in (*cells, low, high, kind)))
    return "\n".join([*lines, ""])


def _decimal(value: Fraction) -> str:
    """A fraction as a decimal of at most 15 places.

    >>> _decimal(Fraction(-1, 2)), _decimal(Fraction(1, 3)), _decimal(Fraction(2))
    ('-0.5', '0.333333333333333', '2')
    """
    units = round(abs(value) * DECIMAL_SCALE)
    return f"-{decimal_text(units)}" if value < 0 and units else decimal_text(units)
