"""What averaging can find out in the tables of a programme, said before anything is counted.

In: a programme, its classifications and a perturbation table (SECRET). Out: per table, its
exposure – by how many independent figures its most exposed counts can be estimated from it, and
from all tables up to it – and how often the estimate is then right. No record is read: where cells
are empty, exposure is larger.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.disclosure import Axis, LayerExposure
from discreet.errors import PerturbationError
from discreet.protection.protocol import all_of, figure_filter
from discreet.release.programme.file import Programme
from discreet.release.programme.variables import fixed_classifications
from discreet.release.run.inputs import read_programme

if TYPE_CHECKING:
    from discreet.classifications import Classification
    from discreet.protection.noise import PerturbationTable

#: Codes of a variable that only the data tell: the fewest, for which exposure is largest.
_FEWEST = 2
#: Per classification of each variable, the numbers of codes of its levels.
_Levels = dict[str, dict[str, list[int]]]
#: Of some classifications a level each.
_Layer = tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True)
class PlannedExposure:
    """Averaging risk of a table, alone and with all before it. SECRET."""

    table: str  # name of the table
    alone: float  # exposure of its most exposed counts by this table
    together: float  # by this table and all before it that count the same records
    average: float  # how often the best estimate of these is then right
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
    """Averaging risk of each table of counts, before anything is counted."""
    from discreet.assessment import NoiseOdds

    if average is not None and not 0 < average < 1:
        message = "a limit of the averaging risk must be between 0 and 1"
        raise PerturbationError(message, code="attack", where="average")
    read = read_programme(programme)
    trees, _ = fixed_classifications(read)
    odds = NoiseOdds.of(ptable)
    seen: dict[str, tuple[LayerExposure, set[_Layer]]] = {}
    planned = []
    for name in read.tables:
        if read.method(name).attacked != "table":
            continue
        levels, unknown = _levels(read, name, trees)
        about = f"{read.source_of(name).name} where {read.tables[name].where or ''}"
        every, known = seen.setdefault(about, (LayerExposure({}), set()))
        every.sizes |= {tree: sizes for own in levels.values() for tree, sizes in own.items()}
        for layer in _layers(levels.values()):
            if layer not in known:
                known.add(layer)
                every.add(dict(layer))
        together = float(every.exposures().max())
        hit = max(odds.averaged(together), odds.staying)
        over = average is not None and hit > average
        less = {
            variable: _alone(own for other, own in levels.items() if other != variable)
            for variable in levels
        }
        best = min(less, key=lambda variable: (less[variable], variable), default=None)
        planned.append(
            PlannedExposure(
                table=name,
                alone=_alone(levels.values()),
                together=together,
                average=hit,
                variance=odds.variance * together / odds.tolerated(average)
                if over and average is not None
                else None,
                leave_out=None if best is None else (best, less[best]),
                unknown=tuple(unknown),
            )
        )
    return planned


def cells_of_record(programme: str | os.PathLike[str]) -> int:
    """Number of different cells with noise that count the same record.

    Each filter, of a table or of one of its figures, makes cells of its own.
    """
    read = read_programme(programme)
    trees, _ = fixed_classifications(read)
    layers: dict[str, set[tuple[str, _Layer]]] = {}
    for name, entry in read.tables.items():
        if read.method(name).attacked == "table":
            levels, _ = _levels(read, name, trees)
            counts = [key for key, figure in entry.figures.items() if figure.counted]
            filters = {figure_filter(entry, key) for key in counts} or {all_of(entry.where)}
            own = itertools.product(filters, list(_layers(levels.values())))
            layers.setdefault(read.source_of(name).name, set()).update(own)
    return max(map(len, layers.values()), default=0)


def _alone(levels: Iterable[Mapping[str, Sequence[int]]]) -> float:
    """The exposure of a table of its own."""
    variables = list(levels)
    table = LayerExposure({tree: sizes for own in variables for tree, sizes in own.items()})
    for layer in _layers(variables):
        table.add(dict(layer))
    return float(table.exposures().max())


def _levels(
    programme: Programme, table: str, trees: Mapping[str, Classification]
) -> tuple[_Levels, list[str]]:
    """Per variable of a table its levels; and the variables whose codes are not known."""
    levels: _Levels = {}
    unknown = []
    for name in programme.tables[table].by or []:
        entry = programme.variables.get(name)
        own = levels[name] = {}
        for alternative in (entry.alternatives if entry is not None else None) or [name]:
            if alternative in trees:
                own[alternative] = _sizes(trees[alternative])
                continue
            unknown.append(alternative)
            described = programme.variables.get(alternative)
            depth = 1
            if described is not None:
                depth = len(described.levels or described.prefixes or described.squares or [0])
            own[alternative] = [_FEWEST ** (level + 1) for level in range(depth)]
    return levels, unknown


def _sizes(tree: Classification) -> list[int]:
    """The number of codes of each level below the total; codes that end above count, too."""
    return [len(cut) for cut in Axis(tree.name, tree).cuts[1:]]


def _layers(levels: Iterable[Mapping[str, Sequence[int]]]) -> Iterator[_Layer]:
    """All layers of a table: of each variable one level, or none."""
    options = (
        [None, *((tree, at + 1) for tree, sizes in own.items() for at in range(len(sizes)))]
        for own in levels
    )
    for chosen in itertools.product(*options):
        yield tuple(sorted(item for item in chosen if item is not None))
