"""`MagnitudePerturbationTable`: noise for sums of values, in steps finer than one.

In: a file (an interval list or a τ-ARGUS text, read and written without loss), or a design. Out:
an immutable table that looks noise up by size class and cell key. SECRET: who knows it can narrow
down true sums. It is never printed; its values leave it only through methods that say so. Messages
name lines and kinds of problems, never a probability, a noise value or a bound.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np

from discreet.arrays import FloatArray, IntArray, find_sorted
from discreet.confidential import Unpicklable
from discreet.errors import PerturbationError, Problem
from discreet.files import write_text
from discreet.keygrid import KeyGrid
from discreet.protection.noise.intervals import (
    DECIMAL_SCALE,
    Bound,
    Closed,
    Intervals,
    SecretTable,
    StatedInterval,
    closed_on,
    decimal_text,
    look_up,
    on_scale,
    pack,
)
from discreet.protection.noise.sources import (
    NEAR,
    PerturbationFile,
    bound_problems,
    open_source,
    opened,
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


MagnitudeFormat = Literal["intervals", "argus"]

_SUFFIXES: dict[str, MagnitudeFormat] = {".csv": "intervals", ".txt": "argus"}


@dataclass(frozen=True, repr=False, eq=False)
class MagnitudePerturbationTable(SecretTable):
    """A perturbation table for magnitudes. SECRET.

    It has a part for all cells, or parts for cells with an even and an odd number of
    contributions, and may have a part for small cells. Each part has rows for size
    classes 0, 1, …; its noise lies on multiples of one step. Made by
    `design_magnitude_perturbation`, `read` or `joined`.

    Args:
        parts: The parts.
        name: Name of the table.

    >>> from discreet import design_magnitude_perturbation
    >>> table = design_magnitude_perturbation(2, 1, classes=(1, 2), step=2)
    >>> table
    <MagnitudePerturbationTable: secret>
    >>> table.kinds, table.classes(), table.step()
    (('all',), (0, 1, 2), 2)
    """

    parts: tuple[MagnitudePart, ...]
    name: str = "perturbation table"

    def __post_init__(self) -> None:
        kinds = [part.kind for part in self.parts]
        problems = [
            Problem(f"part {kind!r} occurs twice", "parts")
            for kind in sorted({kind for kind in kinds if kinds.count(kind) > 1})
        ]
        if "all" in kinds and ("even" in kinds or "odd" in kinds):
            problems.append(Problem("part 'all' excludes parts 'even' and 'odd'", "parts"))
        if len({part.content.closed for part in self.parts}) > 1:
            hint = 'convert first: table.with_closed("left")'
            problems.append(Problem("parts are closed on different sides", "parts", hint))
        if not kinds:
            problems.append(Problem("no parts given", "parts"))
        raise_magnitude(self.name, problems)

    # -- making one ----------------------------------------------------------

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        format: MagnitudeFormat | None = None,  # noqa: A002
        *,
        kind: Kind | None = None,
    ) -> MagnitudePerturbationTable:
        """Read a table from a file, which may be gzipped.

        Args:
            path: The file.
            format: "intervals" (i, j, p, v, lower and upper bound, type) or "argus"
                (i; j; p; v; upper bound; type); found out by content if None.
            kind: What the only part of the file is for. τ-ARGUS keeps small cells in
                a file of their own that calls them "all".
        """
        _check_format(format)
        return cls._of(open_source(path), Path(path).name.split(".")[0], format, kind)

    @classmethod
    def from_text(
        cls, text: str, *, name: str = "perturbation table", kind: Kind | None = None
    ) -> MagnitudePerturbationTable:
        """Make a table of the content of a file; `kind` as for `read`."""
        return cls._of(opened(name, text.encode()), name, None, kind)

    @classmethod
    def _of(
        cls,
        source: PerturbationFile,
        name: str,
        form: MagnitudeFormat | None,
        kind: Kind | None,
    ) -> MagnitudePerturbationTable:
        parts = read_parts(source, form)
        if kind is not None:
            if len(parts) != 1:
                raise PerturbationError(
                    f"the file has {len(parts)} parts; kind= needs a single part",
                    code="magnitude-table",
                    where=source.name,
                )
            parts = [replace(parts[0], kind=check_kind(kind))]
        return cls(tuple(parts), name)

    @classmethod
    def joined(
        cls, *tables: MagnitudePerturbationTable, name: str = "perturbation table"
    ) -> MagnitudePerturbationTable:
        """One table with the parts of several: even, odd and small cells, say.

        >>> from discreet import design_magnitude_perturbation as design
        >>> even, odd = (design(2, 1, classes=(1, 2), kind=kind) for kind in ("even", "odd"))
        >>> MagnitudePerturbationTable.joined(even, odd).kinds
        ('even', 'odd')
        """
        return cls(tuple(part for table in tables for part in table.parts), name)

    def with_closed(self, closed: Closed) -> MagnitudePerturbationTable:
        """A copy whose intervals are closed on the other side.

        Bounds move by 10^-15, so that every key of the 10^15 grid keeps its noise.
        """
        if closed not in ("left", "right"):
            raise PerturbationError('closed must be "left" or "right"', code="perturbation-format")
        parts = (replace(part, content=closed_on(part.content, closed)) for part in self.parts)
        return replace(self, parts=tuple(parts))

    def write(
        self,
        path: str | os.PathLike[str],
        format: MagnitudeFormat | None = None,  # noqa: A002
    ) -> Path:
        """Write the table, readable by its owner only; reading it back gives the same table.

        Args:
            path: Where to. The suffix chooses the format if none is named: .csv
                (interval list), .txt (τ-ARGUS).
            format: As for `read`.
        """
        _check_format(format)
        kind = format or _SUFFIXES.get(Path(path).suffix.lower())
        if kind is None:
            raise PerturbationError(
                "unknown suffix of a perturbation table for magnitudes",
                code="perturbation-format",
                where=Path(path).name,
                hint="use .csv or .txt, or state the format",
            )
        check_closed(self.parts[0].content, kind)
        if kind == "argus" and len(self.parts) > 1 and "small" in self.kinds:
            raise PerturbationError(
                "τ-ARGUS needs a separate file for small cells",
                code="perturbation-format",
                hint='write them separately: table.part("small").write(…)',
            )
        write_text(path, interval_text(self.parts, kind, typed=True), private=True)
        return Path(path)

    # -- using it --------------------------------------------------------------

    def part(self, kind: Kind) -> MagnitudePerturbationTable:
        """A table of one part alone."""
        return replace(self, parts=(self._part(kind),))

    def lookup(
        self,
        size_class: Any,
        cell_key: Any,
        kind: Kind | None = None,
        grid: KeyGrid | int | str = 10**15,
    ) -> IntArray:
        """The noise of each cell, in steps. CONFIDENTIAL.

        Args:
            size_class: Size classes that have a row.
            cell_key: Cell keys: integers of the grid.
            kind: The part to use; may be left out where there is only one.
            grid: The key grid.
        """
        part = self._part(kind)
        known = np.asarray(part.classes, dtype=np.int64)
        wanted, keys = (np.asarray(column) for column in (size_class, cell_key))
        for column, where in ((wanted, "size_class"), (keys, "cell_key")):
            if column.size and column.dtype.kind not in "iu":
                raise PerturbationError("expected whole numbers", code="lookup", where=where)
        rows = find_sorted(known, wanted)
        missing = int(np.count_nonzero(rows < 0))
        if missing:
            raise PerturbationError(
                f"{missing:,} {'cell is' if missing == 1 else 'cells are'} in size classes "
                "without a row",
                code="lookup",
                where="size_class",
                hint="map each value to a class with a row first",
            )
        keys = keys.astype(np.int64, copy=False)
        return look_up(part.content, rows, keys, KeyGrid.of(grid))

    # -- what the methodologist asks for explicitly ----------------------------

    @property
    def kinds(self) -> tuple[str, ...]:
        """Parts of the table: "all", "even", "odd", "small"."""
        return tuple(part.kind for part in self.parts)

    def classes(self, kind: Kind | None = None) -> tuple[int, ...]:
        """The size classes that have a row."""
        return self._part(kind).classes

    def step(self, kind: Kind | None = None) -> int:
        """Steps of noise per unit."""
        return self._part(kind).step

    @property
    def resembles_counts(self) -> bool:
        """Whether a perturbation table for counts looks the same.

        Such a table has one part with a row per count and noise in whole numbers. Tables
        for magnitudes can look so too.

        >>> from discreet import design_magnitude_perturbation
        >>> design_magnitude_perturbation(2, 1, classes=(1, 2), step=2).resembles_counts
        False
        """
        first = self.parts[0]
        successive = first.classes == tuple(range(len(first.classes)))
        return self.kinds == ("all",) and first.step == 1 and successive

    def max_noise(self, kind: Kind | None = None) -> float:
        """The largest absolute noise. SECRET."""
        part = self._part(kind)
        return float(np.abs(part.content.noise).max() / part.step)

    def targets(self, kind: Kind | None = None) -> FloatArray:
        """The columns of `transition_matrix`: class plus noise."""
        part = self._part(kind)
        last = int((self._classes_of(part) * part.step + part.content.noise).max())
        return np.arange(last + 1, dtype=np.float64) / part.step

    def transition_matrix(self, i: int | None = None, kind: Kind | None = None) -> FloatArray:
        """Probabilities, size class × target. SECRET.

        Args:
            i: A size class, for its row alone; None for all of them.
            kind: The part; may be left out where there is only one.

        >>> from discreet import design_magnitude_perturbation
        >>> table = design_magnitude_perturbation(1, 0.125, classes=(1,), step=2)
        >>> table.targets()
        array([0. , 0.5, 1. , 1.5, 2. ])
        >>> table.transition_matrix(1).round(3)
        array([0.01 , 0.208, 0.563, 0.208, 0.01 ])
        """
        part = self._part(kind)
        if i is not None and i not in part.classes:
            raise PerturbationError(
                f"size class {i} not found",
                code="magnitude-table",
                hint="classes: " + ", ".join(map(str, part.classes)),
            )
        content = part.content
        target = self._classes_of(part) * part.step + content.noise
        units = np.zeros((len(part.classes), int(target.max()) + 1), dtype=np.int64)
        np.add.at(units, (content.row_of, target), content.widths)
        shares = np.asarray(units / content.scale, dtype=np.float64)
        return shares if i is None else shares[part.classes.index(i)]

    def parameters(self) -> list[dict[str, Any]]:
        """For each row its part, size class, share that stays, variance and extremes. SECRET.

        >>> from discreet import design_magnitude_perturbation
        >>> table = design_magnitude_perturbation(1, 0.125, classes=(1,), step=2)
        >>> row = table.parameters()[1]
        >>> row["cells"], row["class"], round(row["variance"], 6), row["lowest"], row["highest"]
        ('all', 1, 0.125, -1.0, 1.0)
        """
        rows = []
        for kind in (part.kind for part in self.parts):
            targets, matrix = self.targets(kind), self.transition_matrix(kind=kind)
            for size, shares in zip(self.classes(kind), matrix, strict=True):
                noise = targets - size
                mean, used = float(shares @ noise), noise[shares > 0]
                rows.append(
                    {
                        "cells": kind,
                        "class": size,
                        "mean": mean,
                        "variance": float(shares @ noise**2) - mean**2,
                        "stay": float(shares[noise == 0].sum()),
                        "lowest": float(used.min()),
                        "highest": float(used.max()),
                    }
                )
        return rows

    @staticmethod
    def _classes_of(part: MagnitudePart) -> IntArray:
        return np.asarray(part.classes, dtype=np.int64)[part.content.row_of]

    def _part(self, kind: Kind | None) -> MagnitudePart:
        if kind is None and len(self.parts) == 1:
            return self.parts[0]
        for part in self.parts:
            if part.kind == kind:
                return part
        raise PerturbationError(
            "the table has several parts: name one" if kind is None else f"no part {kind!r}",
            code="magnitude-table",
            where="kind",
            hint="parts: " + ", ".join(self.kinds),
        )

    def _canonical(self) -> bytes:
        parts: Sequence[MagnitudePart] = sorted(self.parts, key=lambda part: part.kind)
        heads = (f"{part.kind}|{part.step}|{part.classes}|".encode() for part in parts)
        bodies = (part.content.canonical() for part in parts)
        pairs = zip(heads, bodies, strict=True)
        return b"discreet magnitudes 1|" + b"|".join(head + body for head, body in pairs)


def _check_format(name: str | None) -> None:
    if name not in (None, *_SUFFIXES.values()):
        raise PerturbationError(
            f"unknown format {cast('str', name)!r} for magnitudes",
            code="perturbation-format",
            hint="formats: intervals, argus",
        )
