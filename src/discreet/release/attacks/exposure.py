"""What averaging can find out in the tables of a programme, said before anything is counted.

In: a programme, its classifications and a perturbation table (SECRET). Out: per table, its
exposure – by how many independent figures the total can be estimated from it, and from all
tables up to it – and how often the estimate is then right. No record is read.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import PerturbationError
from discreet.release.programme.file import Programme
from discreet.release.programme.variables import fixed_classifications
from discreet.release.run.inputs import read_programme

if TYPE_CHECKING:
    from discreet.classifications import Classification
    from discreet.protection.noise import PerturbationTable

#: Codes of a variable that only the data tell: the fewest, for which exposure is largest.
_FEWEST = 2
#: A level of a variable: its name, and the number of its codes.
_Level = tuple[str, int]


@dataclass(frozen=True, kw_only=True)
class PlannedExposure:
    """What averaging can find out by a table, and by all before it. SECRET."""

    table: str  # name of the table
    alone: float  # exposure of the total by this table
    together: float  # by this table and all before it that count the same records
    average: float  # how often the best estimate of the total is then right
    #: The variance that keeps it at the limit; None if it is below, or without one
    variance: float | None
    #: The variable without which the table exposes least, and its exposure then
    leave_out: tuple[str, float] | None
    unknown: tuple[str, ...]  # variables whose codes only the data tell; taken to have two


def planned_exposure(
    programme: str | os.PathLike[str],
    ptable: PerturbationTable,
    *,
    average: float | None = None,
) -> list[PlannedExposure]:
    """How much each table of counts exposes, before anything is counted."""
    from discreet.assessment import NoiseOdds, exposure_of

    if average is not None and not 0 < average < 1:
        message = "a limit of averaging is a share between 0 and 1"
        raise PerturbationError(message, code="attack", where="average")
    read = read_programme(programme)
    trees, _ = fixed_classifications(read)
    odds = NoiseOdds.of(ptable)
    seen: dict[str, set[frozenset[_Level]]] = {}
    found = []
    for name in read.tables:
        if read.method(name).attacked != "table":
            continue
        levels, unknown = _levels(read, name, trees)
        about = f"{read.source_of(name).name} where {read.tables[name].where or ''}"
        known = seen.setdefault(about, set())
        known |= set(_crossings(levels))
        together = _exposure(known)
        hit = max(odds.averaged(together), odds.staying)
        over = average is not None and hit > average
        sizes = {variable: [size for _, size in own] for variable, own in levels.items()}
        alone = exposure_of(list(sizes.values()))
        less = {variable: alone / exposure_of([own]) for variable, own in sizes.items()}
        best = min(less, key=lambda variable: (less[variable], variable), default=None)
        found.append(
            PlannedExposure(
                table=name,
                alone=alone,
                together=together,
                average=hit,
                variance=odds.variance * together / odds.tolerated(average)
                if over and average is not None
                else None,
                leave_out=None if best is None else (best, less[best]),
                unknown=tuple(unknown),
            )
        )
    return found


def _levels(
    programme: Programme, table: str, trees: Mapping[str, Classification]
) -> tuple[dict[str, list[_Level]], list[str]]:
    """Per variable of a table its levels; and the variables whose codes are not known."""
    found: dict[str, list[_Level]] = {}
    unknown = []
    for name in programme.tables[table].by or []:
        entry = programme.variables.get(name)
        own: list[_Level] = []
        for alternative in (entry.alternatives if entry is not None else None) or [name]:
            if alternative in trees:
                own += [(f"{alternative} {k}", size) for k, size in _sizes(trees[alternative])]
                continue
            unknown.append(alternative)
            described = programme.variables.get(alternative)
            levels = 1
            if described is not None:
                levels = len(described.levels or described.prefixes or described.squares or [0])
            own += [(f"{alternative} {k}", _FEWEST ** (k + 1)) for k in range(levels)]
        found[name] = own
    return found, unknown


def _sizes(tree: Classification) -> Iterator[tuple[int, int]]:
    """The levels of a classification below the total, with the number of codes of each cut."""
    from discreet.assessment import Axis

    axis = Axis(tree.name, tree.name, tree.codes, np.array(tree.parents, dtype=np.int32))
    yield from ((k, len(cut)) for k, cut in enumerate(axis.cuts) if k)


def _crossings(levels: Mapping[str, Sequence[_Level]]) -> Iterator[frozenset[_Level]]:
    """All crossings of a table: of each variable one level, or none."""
    for chosen in itertools.product(*([None, *own] for own in levels.values())):
        yield frozenset(item for item in chosen if item is not None)


def _exposure(crossings: set[frozenset[_Level]]) -> float:
    return math.fsum(1 / math.prod(size for _, size in crossing) for crossing in crossings)
