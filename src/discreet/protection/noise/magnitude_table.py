"""`MagnitudePerturbationTable`: noise for sums of values, in steps finer than one.

In: a file, or a design. Out: an immutable table that looks noise up by size class
and cell key. SECRET: who knows it can narrow down true sums. It is never printed;
its values leave it only through methods that say so.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from discreet.arrays import FloatArray, IntArray, find_sorted
from discreet.errors import PerturbationError, Problem
from discreet.files import write_text
from discreet.keygrid import KeyGrid
from discreet.protection.noise import magnitude_parts as files
from discreet.protection.noise.intervals import Closed, SecretTable, closed_on, look_up
from discreet.protection.noise.magnitude_parts import Kind, MagnitudePart
from discreet.protection.noise.sources import PerturbationFile, open_source, opened

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
        files.raise_magnitude(self.name, problems)

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
        parts = files.read_parts(source, form)
        if kind is not None:
            if len(parts) != 1:
                raise PerturbationError(
                    f"the file has {len(parts)} parts; kind= needs a single part",
                    code="magnitude-table",
                    where=source.name,
                )
            parts = [replace(parts[0], kind=files.check_kind(kind))]
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
        """The same table with its intervals closed on the other side.

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
        write_text(path, files.as_text(self.parts, kind), private=True)
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
        """What there are parts for: "all", "even", "odd", "small"."""
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
