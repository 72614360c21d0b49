"""Perturbation tables from one file format to another, with every key keeping its noise.

In: a file in any format. Out: a file that only its owner can read. SECRET on both
sides: a perturbation table helps to narrow down original counts.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

__all__ = ["Converted", "convert_perturbation_table"]

#: Formats that cannot say on which side their intervals are closed, and the side.
_SIDES = {"argus": "right", "intervals": "left", "cumulative": "left"}
_SUFFIXES = {".txt": "argus", ".csv": "intervals"}


class Converted(NamedTuple):
    """A file written by `convert_perturbation_table`.

    Args:
        path: The file.
        moved: The side on which intervals are closed now, if that had to change:
            "left" or "right". Bounds have then moved by 10^-15.
    """

    path: Path
    moved: str | None


def convert_perturbation_table(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    source_format: str | None = None,
    target_format: str | None = None,
) -> Converted:
    """Write a perturbation table in another format; every key keeps its noise.

    τ-ARGUS counts a bound to the interval below it, the others to the one above. Where
    the two formats differ, bounds move by 10^-15, the step of the finest key grid.

    Args:
        source: The file to read.
        target: The file to write.
        source_format: Its format; found out by content if None.
        target_format: The format to write; by suffix if None.

    >>> import tempfile
    >>> from discreet.perturbation import PerturbationTable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    ...     written = ptable.write(Path(folder) / "ptable.json")
    ...     convert_perturbation_table(written, Path(folder) / "ptable.txt").moved
    'right'
    """
    from discreet.perturbation import PerturbationTable

    table = PerturbationTable.read(source, format=source_format)
    suffix = Path(target).suffix.lower()
    kind = _SUFFIXES.get(suffix, "") if target_format is None else target_format
    side = _SIDES.get(kind)
    if side is None or table.key_grid is not None:
        return Converted(table.write(target, format=target_format), None)
    turned = table.with_closed("right" if side == "right" else "left")
    moved = side if turned is not table else None
    return Converted(turned.write(target, format=target_format), moved)
