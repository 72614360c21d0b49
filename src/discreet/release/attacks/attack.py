"""`attack`: what a release gives away, found out by attacking it; and exposure before a run.

In: the folder of a release, or protected tables; for assessment its programme with the data; or a
programme and a perturbation table alone. Out: an `AttackReport`, SECRET, and CONFIDENTIAL with the
data; `PlannedExposure` of each table of counts, before anything is counted.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.disclosure import Axis, LayerExposure, count_cells
from discreet.errors import PerturbationError, PublicationError
from discreet.protection.noise import PerturbationTable
from discreet.protection.protocol import all_of, figure_filter
from discreet.protection.registry import protection
from discreet.release.inputs import Inputs
from discreet.release.programme.file import Programme
from discreet.release.programme.variables import fixed_classifications
from discreet.release.run.counts import counted_tables
from discreet.release.run.inputs import open_inputs, read_programme
from discreet.release.state.memory import EarlierTable, read_release, universe_of
from discreet.tables import ProtectedTable, Table

if TYPE_CHECKING:
    from discreet.assessment import (
        AttackedValues,
        AttackReport,
        KeyOption,
        Knows,
        PeriodReport,
        PublishedFigures,
        TrueTable,
    )
    from discreet.classifications import Classification
    from discreet.tables import GateReport

Published = (
    str
    | os.PathLike[str]
    | ProtectedTable
    | Sequence[ProtectedTable]
    | Mapping[str, Sequence[ProtectedTable]]
)


def attack(
    release: Published,
    *,
    knows: Knows = "table",
    truth: str | os.PathLike[str] | Mapping[str, Sequence[Table]] | None = None,
    ptable: PerturbationTable | None = None,
    max_noise: int | None = None,
    beside: Sequence[str | os.PathLike[str]] = (),
    limits: Mapping[str, float] | None = None,
) -> AttackReport:
    """Attack a release as its readers could, and say what they find out.

    Args:
        release: The folder of a release; or tables: one, several, or several by universe.
        knows: "table": the attacker knows the perturbation table, "maximum": the largest noise
            only. Judge designs by the first: what is secret comes out.
        truth: The programme that made the release, whose data are counted once more; or the
            true tables of tables, by universe. Then attacks are held against what is
            true. CONFIDENTIAL.
        ptable: The perturbation table; that of the programme if None.
        max_noise: The largest noise, for one who knows no more. Where counts are rounded,
            by how much at most; up to the base, or half of it, as the release tells, unless given.
        beside: Other releases that anyone can lay beside it.
        limits: What single attacks may find, by rate: ``{"average": 0.6}``. They come on top of
            those of the programme, which are about an attacker who knows what it states.

    >>> from discreet.publication.examples import census_example
    >>> attack(census_example(), knows="maximum", max_noise=2)
    <AttackReport: secret>
    """
    from discreet.assessment import attacked

    if not isinstance(release, str | os.PathLike):
        universes = _universes(release)
        if isinstance(truth, str | os.PathLike):
            what, hint = "true tables need tables", "truth={universe: [table, …]}"
            raise PublicationError(what, code="attack", where="truth", hint=hint)
        report = attacked(universes, knows=knows, ptable=ptable, max_noise=max_noise, truth=truth)
        return _limited(report, limits)
    if isinstance(truth, Mapping):
        what, hint = "a programme needs a release", 'truth="programme.toml"'
        raise PublicationError(what, code="attack", where="truth", hint=hint)
    kept, by_unit = _attacked_tables(release, beside)
    if not kept and not by_unit:
        message = "no table of the release is protected by noise or rounding"
        hint = "use discreet audit for suppressed cells"
        raise PublicationError(message, code="attack", where=str(release), hint=hint)
    noisy = bool(kept) and protection(kept[0].protect).attacked == "table"
    if not noisy:
        knows, max_noise = "maximum", _rounding(kept) if max_noise is None else max_noise
    inputs = None if truth is None else open_inputs(truth)
    stated = None if inputs is None else inputs.programme.document.attacks
    own = stated.limits if stated is not None and stated.knows == knows else {}
    if noisy and inputs is not None and inputs.parameters is not None:
        ptable = ptable or inputs.parameters.perturbation_table
    published = _catalogue(kept, inputs)
    kept.clear()  # large, and read
    report = attacked(published, knows=knows, ptable=ptable, max_noise=max_noise)
    report = replace(report, values=[*report.values, *_unit_values(by_unit, inputs)], limits=own)
    return _limited(report, limits)


def _limited(report: AttackReport, limits: Mapping[str, float] | None) -> AttackReport:
    """A report with more limits, which its attacks must be able to tell of."""
    report.exceeded(limits or {})
    return replace(report, limits={**report.limits, **(limits or {})})


def attack_periods(
    periods: Mapping[str, Published],
    *,
    ptable: PerturbationTable,
    option: KeyOption | None = None,
) -> PeriodReport:
    """Attack the releases of several periods together, as their readers could.

    Args:
        periods: Per period, in order, the folder of its release, or its tables.
        ptable: The perturbation table.
        option: Who has other record keys in a later period: "same" for nobody, "period" for
            all, "changed" for those who changed. Found out from the figures if None.

    >>> from discreet.publication.examples import census_example
    >>> from discreet.protection.noise import design_perturbation
    >>> noise, twice = design_perturbation(max_noise=3, variance=2), {"2025": census_example()}
    >>> twice["2026"] = twice["2025"]
    >>> attack_periods(twice, ptable=noise).rates()["proven"]
    0
    """
    from discreet.assessment import attacked_periods

    universes: dict[str, dict[str, list[ProtectedTable]]] = {}
    for name, release in periods.items():
        if isinstance(release, str | os.PathLike):
            kept, _ = _attacked_tables(release, ())
            if not kept or protection(kept[0].protect).attacked != "table":
                message = "no table of the release is protected by noise"
                hint = "name other releases"
                raise PublicationError(message, code="attack", where=str(release), hint=hint)
            own = [(universe_of(item.about), item.table) for item in kept]
        else:
            own = [(each, table) for each, of in _universes(release).items() for table in of]
        for universe, table in own:
            universes.setdefault(universe, {}).setdefault(name, []).append(table)
    return attacked_periods(universes, ptable, option)


def _catalogue(kept: Sequence[EarlierTable], inputs: Inputs | None) -> PublishedFigures:
    """Everything that tables tell, held against the data if there are any."""
    from discreet.assessment import PublishedFigures

    tables: dict[str, list[ProtectedTable]] = {}
    places: dict[str, tuple[str, int]] = {}
    for item in kept:
        group = tables.setdefault(universe_of(item.about), [])
        if not item.number:
            places[item.table.name] = (universe_of(item.about), len(group))
        group.append(item.table)
    if inputs is None or not places:
        return PublishedFigures.of(tables)
    return PublishedFigures.of(tables, _counted(inputs, places))


def _attacked_tables(
    release: str | os.PathLike[str], beside: Sequence[str | os.PathLike[str]]
) -> tuple[list[EarlierTable], list[EarlierTable]]:
    """The tables with noise of releases, or the rounded ones if there is none; those whose units
    have noise.
    """
    folders = [Path(release), *map(Path, beside)]
    every = [each for at, folder in enumerate(folders) for each in read_release(folder, at)]
    by_unit = [item for item in every if protection(item.protect).attacked == "units"]
    for known in ("table", "maximum"):
        kept = [item for item in every if protection(item.protect).attacked == known]
        if kept:
            return kept, by_unit
    return [], by_unit


def _unit_values(by_unit: Sequence[EarlierTable], inputs: Inputs | None) -> list[AttackedValues]:
    """How near sums with noise of units let a guess come, where the data are at hand."""
    from discreet.assessment import AttackedValues

    gates: dict[str, dict[str, GateReport]] = {}
    if inputs is not None:
        released = {item.table.name for item in by_unit if not item.number}
        for method in {item.protect for item in by_unit}:
            names = [name for name in inputs.programme.protected[method] if name in released]
            for source, spanning in inputs.spanning(names).items():
                own = [name for name in names if inputs.programme.source_of(name).name == source]
                gates |= protection(method).closeness(inputs, own, spanning)
    values = []
    for item in by_unit:
        table = item.table
        for place, figure in enumerate(table.figures):
            at = table.index[-1] == place if table.several_figures else np.True_
            gate = None if item.number else gates.get(table.name, {}).get(figure.name)
            values.append(
                AttackedValues(
                    figure=f"{universe_of(item.about)}: {figure.name} in {table.name}",
                    cells=int((at & (np.nan_to_num(table.value) != 0)).sum()),
                    exposure=1.0,
                    layer="",
                    dominated=None if gate is None else gate.cells,
                    published=None if gate is None else gate.near,
                    p_percent=None if gate is None else gate.p_percent,
                    chance=None if gate is None else gate.chance,
                )
            )
    return values


def _rounding(kept: Sequence[EarlierTable]) -> int:
    """By how much figures were rounded at most, as they tell themselves: they have one divisor.

    Everybody knows that conventional rounding goes to the nearest multiple.
    """
    base = 0
    for item in kept:
        cells = count_cells(item.table)
        shown = np.zeros(0) if cells is None else cells[1]
        base = int(np.gcd.reduce(np.rint(shown[np.isfinite(shown)]).astype(np.int64), initial=base))
    nearest = all(one.table.provenance.method == "conventional rounding" for one in kept)
    return base // 2 if nearest else max(base - 1, 0)


def _universes(release: object) -> Mapping[str, Sequence[ProtectedTable]]:
    """Tables by universe, if they are any."""
    listed = release if isinstance(release, Mapping) else {"": release}
    universes = {
        name: [tables] if isinstance(tables, ProtectedTable) else list(tables)
        for name, tables in listed.items()
        if isinstance(tables, ProtectedTable | Sequence)
    }
    every = [table for tables in universes.values() for table in tables]
    if (
        not every
        or len(universes) < len(listed)
        or not all(isinstance(t, ProtectedTable) for t in every)
    ):
        message = "an attack needs the folder of a release, or protected tables"
        hint = 'attack("release/"), attack(safe), attack({"persons": [safe, other]})'
        raise PublicationError(message, code="attack", where="release", hint=hint)
    return universes


def _counted(inputs: Inputs, places: Mapping[str, tuple[str, int]]) -> Iterator[TrueTable]:
    """The true counts and sums of tables, as they are made. CONFIDENTIAL."""
    from discreet.assessment import TrueTable

    programme = inputs.programme
    known = [name for name in places if name in programme.tables]
    counted = counted_tables(inputs, known, inputs.spanning(known), contributions=2)
    for name, counts in counted:
        entry, (universe, place) = programme.tables[name], places[name]
        table = counts.get(all_of(entry.where))
        if table is not None:
            yield TrueTable(universe, place, table)
        for figure, described in entry.figures.items():
            of = counts.get(figure_filter(entry, figure))
            if described.kind in ("sum", "mean") and described.of is not None and of is not None:
                yield TrueTable(universe, place, of, figure, described.of)


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
        about = f"{read.records_of(name)} where {read.tables[name].where or ''}"
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
            layers.setdefault(read.records_of(name), set()).update(own)
    return max(map(len, layers.values()), default=0)


def _alone(levels: Iterable[Mapping[str, Sequence[int]]]) -> float:
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
                # The codes of each level below the total; those that end above count, too.
                cuts = Axis(alternative, trees[alternative]).cuts[1:]
                own[alternative] = [len(cut) for cut in cuts]
                continue
            unknown.append(alternative)
            described = programme.variables.get(alternative)
            depth = 1
            if described is not None:
                depth = len(described.levels or described.prefixes or described.squares or [0])
            own[alternative] = [_FEWEST ** (level + 1) for level in range(depth)]
    return levels, unknown


def _layers(levels: Iterable[Mapping[str, Sequence[int]]]) -> Iterator[_Layer]:
    """All layers of a table: of each variable one level, or none."""
    options = (
        [None, *((tree, at + 1) for tree, sizes in own.items() for at in range(len(sizes)))]
        for own in levels
    )
    for chosen in itertools.product(*options):
        yield tuple(sorted(item for item in chosen if item is not None))
