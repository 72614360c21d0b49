"""`PerturbationTable`: for each original count, intervals of the cell key and their noise.

In: a file or a matrix. Out: an immutable table that looks noise up. SECRET: who
knows it can narrow down original counts. It is never printed; its values leave
it only through methods that say so.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.errors import PerturbationError
from discreet.files import write_text
from discreet.keygrid import KeyGrid
from discreet.protection.noise import sources
from discreet.protection.noise.formats import as_text, read_ons
from discreet.protection.noise.intervals import (
    DECIMAL_SCALE,
    Beyond,
    Closed,
    Intervals,
    SecretTable,
    closed_on,
    look_up,
    mixed_with_unchanged,
    moments,
)
from discreet.protection.noise.sources import (
    Format,
    PerturbationFile,
    check_format,
    open_source,
    opened,
    read_cumulative,
    read_intervals,
    read_json,
)

_SUFFIXES: Mapping[str, Format] = {".json": "json", ".txt": "argus", ".csv": "intervals"}


@dataclass(frozen=True, repr=False, eq=False)
class PerturbationTable(SecretTable):
    """A perturbation table for counts (Überlagerungstabelle). SECRET.

    Made by `read`, `from_cumulative`, `from_transition` or `from_rows`; all of
    them check that it is valid.

    Args:
        content: The checked intervals.
        name: Name of the table, such as that of its file.
        version: Version, if its makers state one.

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}}, name="example")
    >>> ptable
    <PerturbationTable example: secret>
    >>> import numpy as np
    >>> count, key = np.array([0, 1, 9]), np.array([0, 10, 240])
    >>> ptable.lookup(count, key, grid=256).tolist()
    [0, -1, 1]
    """

    content: Intervals
    name: str = "perturbation table"
    version: str = ""

    # -- making one ----------------------------------------------------------

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        format: str | None = None,  # noqa: A002
        *,
        zeros: bool = False,
    ) -> PerturbationTable:
        """Read a table from a file, which may be gzipped.

        Args:
            path: The file.
            format: "intervals", "argus", "ons", "cumulative" or "json"; found out by
                content if None.
            zeros: Row 0 changes zeros on purpose. Files of pcv, ckey, pvalue say so
                by having a row 0, JSON by a field.
        """
        check_format(format)
        return cls._of(open_source(path), Path(path).name.split(".")[0], format, zeros=zeros)

    @classmethod
    def from_text(
        cls,
        text: str,
        *,
        name: str = "perturbation table",
        format: str | None = None,  # noqa: A002
        zeros: bool = False,
    ) -> PerturbationTable:
        r"""Make a table of the content of a file.

        Args:
            text: The content.
            name: Name of the table, unless the content says it.
            format: As for `read`.
            zeros: Row 0 changes zeros on purpose.

        >>> PerturbationTable.from_text("i,-1,0,1\n0,0,1,1\n1,0.25,0.75,1\n")
        <PerturbationTable: secret>
        """
        check_format(format)
        return cls._of(opened(name, text.encode()), name, format, zeros=zeros)

    @classmethod
    def _of(
        cls,
        source: PerturbationFile,
        name: str,
        stated: str | None,
        *,
        zeros: bool,
    ) -> PerturbationTable:
        kind = source.detect() if stated is None else cast("Format", stated)
        if kind == "json":
            return cls(*read_json(source))
        if kind == "ons":
            return cls(read_ons(source), name)
        if kind == "cumulative":
            return cls(read_cumulative(source, zeros=zeros), name)
        closed: Closed = "right" if kind == "argus" else "left"
        return cls(read_intervals(source, closed=closed, zeros=zeros), name)

    @classmethod
    def from_cumulative(
        cls,
        matrix: Any,
        noise: Iterable[int] = range(-4, 5),
        *,
        name: str = "perturbation table",
        zeros: bool = False,
        beyond: Beyond = "last",
    ) -> PerturbationTable:
        """Make a table from cumulative probabilities.

        The noise of a count and cell key is that of the first column whose value
        exceeds the key.

        Args:
            matrix: Rows of cumulative probabilities for the counts 0, 1, …: lists, an
                array or a frame.
            noise: The noise value of each column.
            name: Name of the table.
            zeros: Row 0 changes zeros on purpose.
            beyond: What counts beyond the last row use: the "last" row, or the
                (first row, length) of a block that repeats.

        >>> PerturbationTable.from_cumulative([[0, 1, 1], [0.25, 0.75, 1]], noise=(-1, 0, 1))
        <PerturbationTable: secret>
        """
        content = sources.cumulative_intervals(matrix, noise, name=name, zeros=zeros, beyond=beyond)
        return cls(content, name)

    @classmethod
    def from_transition(
        cls,
        matrix: Any,
        targets: Iterable[int] | None = None,
        *,
        name: str = "perturbation table",
        zeros: bool = False,
        beyond: Beyond = "last",
        normalise: bool = False,
    ) -> PerturbationTable:
        """Make a table from a transition matrix: original × published counts.

        Args:
            matrix: Rows of probabilities for the counts 0, 1, …
            targets: The published count of each column; 0, 1, … if None.
            name: Name of the table.
            zeros: Row 0 changes zeros on purpose.
            beyond: As for `from_cumulative`.
            normalise: Scale rows that were printed rounded or cut off, so that they sum to one.

        >>> PerturbationTable.from_transition([[1, 0, 0], [0.25, 0.5, 0.25]]).n_max
        1
        """
        content = sources.transition_intervals(
            matrix, targets, name=name, zeros=zeros, beyond=beyond, normalise=normalise
        )
        return cls(content, name)

    @classmethod
    def from_rows(
        cls,
        rows: Mapping[int, Mapping[int, Any]],
        *,
        name: str = "perturbation table",
        zeros: bool = False,
        beyond: Beyond = "last",
        closed: Closed = "left",
    ) -> PerturbationTable:
        """Make a table from {count: {noise: probability}}.

        Args:
            rows: One entry for each count from 0 on; probabilities as floats,
                decimals, fractions or texts. Intervals follow in order of the noise.
            name: Name of the table.
            zeros: Row 0 changes zeros on purpose.
            beyond: As for `from_cumulative`.
            closed: Side on which the intervals are closed.

        >>> PerturbationTable.from_rows({0: {0: 1}, 1: {-1: "1", 1: 0}, 2: {0: 1}}).n_max
        2
        """
        content = sources.row_intervals(rows, name=name, zeros=zeros, beyond=beyond, closed=closed)
        return cls(content, name)

    def with_closed(self, closed: Closed) -> PerturbationTable:
        """A copy whose intervals are closed on the other side.

        Bounds move by 10^-15, so that every key of the 10^15 grid keeps its noise.
        """
        if closed not in ("left", "right"):
            raise PerturbationError(
                'closed must be "left" or "right"', code="perturbation-format", where="closed"
            )
        if closed == self.content.closed:
            return self
        if self.content.scale != DECIMAL_SCALE:
            raise PerturbationError(
                f"intervals of a table for {self.content.scale} keys are always closed left",
                code="perturbation-format",
            )
        return replace(self, content=closed_on(self.content, closed))

    def with_stay(self, p0: float, rows: Collection[int] | None = None) -> PerturbationTable:
        """Mix the table with "unchanged": stay at probability p0, else do as it says.

        The cell key decides, so the same cell stays in every table. Counts that may
        not be published, such as 1 and 2, are published where their rows are mixed.

        Args:
            p0: Probability of staying, from 0 to 1.
            rows: Original counts whose rows are mixed; all if None.
        """
        return replace(self, content=mixed_with_unchanged(self.content, p0, rows))

    def write(self, path: str | os.PathLike[str], format: str | None = None) -> Path:  # noqa: A002
        """Write the table, readable by its owner only; reading it back gives the same table.

        Args:
            path: Where to. The suffix chooses the format if none is named: .json,
                .txt (τ-ARGUS), .csv (interval list; pcv, ckey, pvalue for tables of
                256 or 4096 keys).
            format: As for `read`.
        """
        check_format(format)
        place = Path(path)
        kind = cast("Format | None", format) or _SUFFIXES.get(place.suffix.lower())
        if kind is None:
            raise PerturbationError(
                "unknown suffix of a perturbation table",
                code="perturbation-format",
                where=place.name,
                hint="use .json, .csv or .txt, or state the format",
            )
        if format is None and kind == "intervals" and self.content.scale != DECIMAL_SCALE:
            kind = "ons"
        text = as_text(self.content, kind, name=self.name, version=self.version)
        write_text(path, text, private=True)
        return place

    # -- using it --------------------------------------------------------------

    def lookup(self, count: Any, cell_key: Any, grid: KeyGrid | int | str = 10**15) -> IntArray:
        """The noise of each cell. CONFIDENTIAL.

        Args:
            count: Original counts, unweighted.
            cell_key: Cell keys: integers of the grid.
            grid: The key grid. Tables for 256 or 4096 keys need that very grid.
        """
        columns = []
        for column, label in ((count, "count"), (cell_key, "cell_key")):
            numbers = np.asarray(column)
            if numbers.dtype.kind not in "iu" and numbers.size:
                raise PerturbationError(
                    "expected whole numbers",
                    code="lookup",
                    where=label,
                    hint="convert decimal keys with discreet.keygrid.grid_keys",
                )
            columns.append(numbers.astype(np.int64, copy=False))
        return look_up(self.content, columns[0], columns[1], KeyGrid.of(grid))

    def _canonical(self) -> bytes:
        return self.content.canonical()

    # -- what the methodologist asks for explicitly ----------------------------

    @property
    def n_max(self) -> int:
        """The last original count with a row of its own."""
        return self.content.n_max

    @property
    def changes_zeros(self) -> bool:
        """Whether row 0 holds noise."""
        return self.content.zeros

    @property
    def changes_nothing(self) -> bool:
        """Whether every count is published as it is: no protection at all.

        >>> PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}}).changes_nothing
        True
        """
        return not self.content.noise[self.content.row_of > 0].any()

    def margin(self, round_to: int = 1) -> int:
        """Largest change of 95 of 100 counts of any size, rounded outward. Public.

        The margin is one of 2, 5, 10, 20, 50 …: many perturbation tables share it.

        Args:
            round_to: Figures become multiples of this besides.

        >>> PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}}).margin()
        2
        """
        content, widest = self.content, round_to // 2
        size, rows = np.abs(content.noise), content.row_of
        for row in np.unique(rows).tolist():  # row 0 as well: zeros may get noise
            order = np.argsort(size[rows == row])
            reached = np.cumsum(content.widths[rows == row][order])
            enough = int(np.searchsorted(reached * 20, 19 * content.scale))
            widest = max(widest, int(size[rows == row][order][enough]) + round_to // 2)
        steps: list[int] = [step * 10**power for power in range(18) for step in (2, 5, 10)]
        return next(step for step in steps if step >= widest)

    @property
    def key_grid(self) -> KeyGrid | None:
        """The only grid the table can be used with; None if any will do."""
        return None if self.content.scale == DECIMAL_SCALE else KeyGrid(self.content.scale)

    @property
    def max_noise(self) -> int:
        """The largest absolute noise. SECRET."""
        return int(np.abs(self.content.noise).max())

    def transition_matrix(self) -> FloatArray:
        """Probabilities, original count × published count 0, 1, …. SECRET.

        >>> PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}}).transition_matrix()
        array([[1. , 0. , 0. ],
               [0.5, 0. , 0.5]])
        """
        content = self.content
        target = content.row_of + content.noise
        units = np.zeros((content.n_max + 1, int(target.max()) + 1), dtype=np.int64)
        np.add.at(units, (content.row_of, target), content.widths)
        return np.asarray(units / content.scale, dtype=np.float64)

    def parameters(self) -> list[dict[str, float]]:
        """Mean, variance, stay probability and extremes of each row. SECRET.

        >>> PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}}).parameters()[1]
        {'count': 1, 'mean': 0.0, 'variance': 1.0, 'stay': 0.0, 'lowest': -1, 'highest': 1}
        """
        described = []
        for row, share in self.content.shares():
            mean, variance = moments(share)
            described.append(
                {
                    "count": row,
                    "mean": float(mean),
                    "variance": float(variance),
                    "stay": float(share.get(0, 0)),
                    "lowest": min(share),
                    "highest": max(share),
                }
            )
        return described
