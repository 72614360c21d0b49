"""Programs that Stata would load by their names, in place of others.

In: the folder of a do-file. Out: findings about files that end in ``.ado``.
"""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from discreet.output_checking.findings import Finding, Severity

__all__ = ["shadows_in"]

#: So many folders below are looked into; a submission has few.
_MOST_FOLDERS = 2000


def shadows_in(folder: Path) -> tuple[Finding, ...]:
    """Programs beside a do-file, and in folders below those named like safe commands."""
    return tuple(_finding(each) for each in sorted(_programs(folder)))


def _programs(folder: Path) -> list[Path]:
    found = []
    for place, below, names in islice(os.walk(folder), _MOST_FOLDERS):
        below.sort()  # of more folders, always the same are looked into
        here = Path(place)
        programs = [here / name for name in names if name.endswith(".ado")]
        found += [each for each in programs if here == folder or _is_grave(each)]
    return found


def _is_grave(path: Path) -> bool:
    return path.name.startswith("fdz")


def _finding(path: Path) -> Finding:
    grave = _is_grave(path)
    return Finding(
        rule="ado-file",
        severity=Severity.ERROR if grave else Severity.REVIEW,
        what=f"{path.name} lies beside the do-file and "
        + ("would replace a safe command" if grave else "is not rewritten"),
        line=1,
        column=1,
        start=0,
        end=0,
        hint="remove it from the submission" if grave else "look at the program",
    )
