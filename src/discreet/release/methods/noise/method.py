"""`NoiseProtection`: what the cell-key method answers to a release.

In: tables of a programme and their true counts (CONFIDENTIAL), perturbation tables (SECRET).
Out: tables of counts and key figures with noise, each protected on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import Problem
from discreet.protection.problems import Opener
from discreet.protection.protocol import (
    COUNT,
    Counts,
    Determinants,
    Placed,
    ProtectedGroup,
    Protection,
    ReleaseContext,
    SharedParameters,
    all_of,
    figure_filter,
)
from discreet.release.inputs import Inputs
from discreet.release.methods.noise.parameters import (
    OpenedNoise,
    digit_warnings,
    noise_warnings,
    open_parameters_of,
    package_warnings,
    parameter_warnings,
    shared_columns,
    shared_noise,
    ungated_columns,
    unknown_official,
    unused_noise,
)
from discreet.release.methods.noise.tables import NoiseTables, opened_noise
from discreet.release.programme.file import Programme
from discreet.release.programme.variables import used_variables

if TYPE_CHECKING:
    from discreet.arrays import FloatArray, IntArray
    from discreet.tables import Note, ProtectedTable

#: What of a table changes no cell, or is described by itself; and what other methods ask for.
_APART = {"official", "parts", "areas", "source", "workbook", "map"}
_OTHERS = {"protect", "rules", "holdings", "value", "shadow", "marks", "known", "ratios"}


class NoiseProtection(Protection):
    """Counts and magnitudes change by noise that their cell keys draw."""

    name = "noise"
    manner = "noise"
    beside: Mapping[str, str] = MappingProxyType(
        {"suppress": "noise around hidden values opens them"}
    )
    table_keys = ("figures", "parts", "official", "round_to", "additive")
    sections = ("perturbation",)
    record_keys = True

    def check(self, programme: Programme, tables: Sequence[str]) -> Iterable[Placed]:
        """Zeros that get noise, digits of rounded figures; the rest is checked elsewhere."""
        for name in tables:
            if programme.additive_with(name) and programme.perturbation.suppress_below:
                message = "figures that are suppressed do not add up"
                yield programme.at(programme.setting(name, "additive"), message)
            if (programme.tables[name].round_to or 1) > 1 and programme.perturbation.decimals:
                message = "figures rounded to multiples have no digits after the decimal point"
                hint = "leave out decimals in [perturbation]"
                yield programme.at(programme.setting(name, "round_to"), message, hint)
            if programme.tables[name].weight and programme.perturbation.zeros == "table":
                message = "zeros of a weighted table cannot be perturbed: they have no mean weight"
                place = programme.setting(name, "weight")
                yield programme.at(place, message, 'use zeros = "keep"')

    def warnings(
        self, programme: Programme, tables: Sequence[str], opened: OpenedNoise | None
    ) -> Iterable[str]:
        """Files that others can read, tables of the wrong form, noise without use."""
        yield from parameter_warnings(programme)
        if opened is not None:
            yield from package_warnings(programme, opened.parameters)
            yield from unknown_official(programme, opened.parameters)
            yield from noise_warnings(opened.parameters)
            yield from shared_columns(programme, opened.parameters)
            yield from ungated_columns(opened.parameters)
            yield from digit_warnings(programme, tables, opened.parameters)
        yield from unused_noise(programme)
        yield from shared_noise(programme, tables)

    def tells(self, programme: Programme, table: str) -> Sequence[str]:
        """What its figures tell, those that are not printed included.

        Means stand beside a count that can be worked out with them. Figures that are not
        printed are ingredients of others, so they count too.
        """
        told: set[str] = set()
        for figure in programme.tables[table].figures.values():
            if figure.counted:
                told.add(figure.of or COUNT)
                told |= {COUNT} if figure.kind == "mean" else set()
        return sorted(told) if programme.tables[table].figures else [COUNT]

    def linked(self, programme: Programme, tables: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Each table alone: cells with equal keys get equal noise wherever they stand."""
        return [(name,) for name in tables]

    def opened(
        self, programme: Programme, tables: Sequence[str], problems: list[Problem]
    ) -> OpenedNoise | None:
        """Its parameters, also where the programme has them for no table."""
        document = programme.document
        if not (tables or document.perturbation or document.parameters):
            return None
        parameters = open_parameters_of(Opener(programme, problems))
        assert parameters is not None or problems
        return None if parameters is None else OpenedNoise(parameters)

    def shared(self, opened: OpenedNoise | None) -> SharedParameters | None:
        """Key grid, secret, thresholds and exemptions, which a package hands on."""
        if opened is None:
            return None
        held = opened.parameters
        return SharedParameters(
            grid=held.grid,
            secret=held.secret,
            parts=held.parts,
            official=held.official or "",
            package=held.package,
        )

    def needs(self, inputs: Inputs, table: str) -> Mapping[str, Mapping[str, int]]:
        """One count per filter."""
        entry = inputs.programme.tables[table]
        columns: dict[str, set[str]] = {}
        for figure, described in entry.figures.items():
            if described.counted:
                named = columns.setdefault(figure_filter(entry, figure), set())
                named |= {described.of} if described.of else set()
        if not entry.figures:
            columns[all_of(entry.where)] = set()
        magnitudes = opened_noise(inputs).parameters.magnitudes
        return {
            where: {column: max(2, magnitudes[column].contributions) for column in named}
            for where, named in columns.items()
        }

    def determinants(self, inputs: Inputs, tables: Sequence[str]) -> Mapping[str, Determinants]:
        """Per table, its figures, thresholds and exemptions, and digests of the parameters."""
        programme = inputs.programme
        secret = opened_noise(inputs).parameters
        keys = {name: inputs.release_keys[programme.source_of(name).name] for name in tables}
        digests = {key: secret.digests(key.value) for key in dict.fromkeys(keys.values())}
        return {name: self._determined(inputs, name, digests[keys[name]]) for name in tables}

    def _determined(self, inputs: Inputs, name: str, parameters: Mapping[str, str]) -> Determinants:
        programme, official = inputs.programme, inputs.official(name)
        entry = programme.tables[name]
        columns = {figure.of for figure in entry.figures.values() if figure.of is not None}
        own = [
            entry.model_dump(exclude=_APART | _OTHERS),
            {
                used_variable: inputs.described_variable(used_variable)
                for used_variable in used_variables(programme, name)
            },
            [official, inputs.totals] if official else [],
            parameters["figures"] if entry.figures else "",
            {column: parameters[f"magnitudes.{column}"] for column in sorted(columns)},
            [inputs.thresholds(name), inputs.held_against_all(name)],
        ]
        return Determinants(shared={"counts": parameters["perturbation"]}, own=own, whole=True)

    def protect(
        self, inputs: Inputs, counted: Mapping[str, Counts], context: ReleaseContext
    ) -> Iterator[ProtectedGroup]:
        """Each table by itself."""
        protector = NoiseTables(inputs, context.printed)
        for name, counts in counted.items():
            made = {name: protector.made(name, counts)}
            yield ProtectedGroup(tables=made, internal=None, warnings=())

    def quality(self, inputs: Inputs, counts: IntArray) -> FloatArray:
        """The standard deviation of the noise that counts can get."""
        from discreet.protection.noise import count_deviations

        return count_deviations(opened_noise(inputs).parameters.perturbation_table.content, counts)

    def statement(self, inputs: Inputs, table: str) -> tuple[Note, ...]:
        """Nothing: its tables say that they need not add up."""
        return ()

    def changed(
        self, name: str, before: Callable[[], ProtectedTable], after: ProtectedTable
    ) -> str:
        """Nothing: equal cells have equal noise in both."""
        return ""

    def given_away(
        self, inputs: Inputs, tables: Mapping[str, ProtectedTable]
    ) -> Iterable[str] | None:
        """What a reader who knows the perturbation table, or the largest noise, finds out."""
        from discreet.assessment import NoiseOdds, attacked, exceeded_limits
        from discreet.protection.rounding import fitted_exposure

        programme, limits = inputs.programme, inputs.programme.document.attacks
        if limits is None:
            return None
        universes: dict[str, list[ProtectedTable]] = {}
        for name, table in tables.items():
            about = f"{programme.source_of(name).name} where {programme.tables[name].where or ''}"
            universes.setdefault(about, []).append(table)
        ptable = opened_noise(inputs).parameters.perturbation_table
        found = attacked(universes, knows=limits.knows, ptable=ptable).exceeded(limits.limits)
        odds = NoiseOdds.of(ptable)
        for group in dict.fromkeys(programme.additive_with(name) for name in tables):
            if not group:
                continue
            # Every figure of an additive table is the average, not the best of them only.
            exposure = fitted_exposure([tables[name] for name in group])
            rates = {"exposure": exposure, "average": max(odds.averaged(exposure), odds.staying)}
            stated = {name: limit for name, limit in limits.limits.items() if name in rates}
            about = f"{', '.join(group)}, made additive"
            found += [f"{about}: {line}" for line in exceeded_limits(rates, stated)]
        return found
