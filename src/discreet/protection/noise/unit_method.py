"""`UnitNoiseProtection`: what noise of units answers to a release.

In: tables of value columns of a programme, their records and true sums (CONFIDENTIAL), a
secret. Out: sums of noisy values. All tables of a source are counted from one noisy copy of its
records, so that they add up and agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from discreet.errors import PerturbationError, Problem, raise_all
from discreet.protection.noise.limits import P_PERCENT
from discreet.protection.noise.settings import Name, UnitNoiseSettings
from discreet.protection.problems import Opener, named_twice, stated_secret_problems
from discreet.protection.protocol import (
    COUNT,
    AssessedTable,
    Counts,
    Determinants,
    InputsView,
    NamedColumn,
    Placed,
    ProgrammeView,
    ProtectedGroup,
    Protection,
    ReleaseContext,
    ReleasedOutcome,
)
from discreet.settings import NameList, Text
from discreet.tables import FIGURE, codes_found

if TYPE_CHECKING:
    from discreet.arrays import FloatArray, IntArray
    from discreet.microdata import Secret
    from discreet.protection.noise.unit_factors import UnitFactors, UnitNoise
    from discreet.tables import GateReport, Note, Table

_PLACE = ("protection", "unit-noise")


class UnitNoiseEntry(UnitNoiseSettings):
    """[protection.unit-noise]: how far the values of units are moved. SECRET."""

    unit: Name = ""  # the identifier of records, unless stated
    balance: NameList = Field(default_factory=list)
    secret_file: Text | None = None
    secret_env: Text | None = None


class NoisyRecords(NamedTuple):
    """The noisy copy of the records of a source. CONFIDENTIAL."""

    records: Any
    noise: UnitNoise
    digits: Mapping[str, int]  # value column → digits after the decimal point
    factors: Mapping[str, UnitFactors]  # value column → its factors. SECRET


class UnitNoiseProtection(Protection):
    """Values change by a factor that their unit has in all tables."""

    name = "unit-noise"
    manner = "multiplicative noise"
    beside: Mapping[str, str] = MappingProxyType(
        {
            "noise": "two independent perturbations of one value narrow it down",
            "suppress": "perturbed values bound suppressed ones, true values disclose factors",
        }
    )
    table_keys = ("value",)
    hints: Mapping[str, str] = MappingProxyType({"figures": "add value = …"})
    settings = UnitNoiseEntry
    attacked = "units"

    def check(self, programme: ProgrammeView, tables: Sequence[str]) -> Iterable[Placed]:
        """Units and secrets that are missing, counts and weights."""
        if not tables:
            return
        entry: UnitNoiseEntry = programme.settings(self.name)
        yield from stated_secret_problems(programme, _PLACE, entry)
        for source in {name: programme.source_of(name) for name in tables}.values():
            keys = source.keys
            if self._unit(programme, source.name) is None:
                hint = 'add the column of the unit, such as unit = "firm"'
                yield programme.at((*_PLACE, "unit"), "unit is missing", hint)
            if not any((entry.secret_file, entry.secret_env, keys.secret_file, keys.secret_env)):
                hint = "create one with: discreet keys secret"
                yield programme.at((*_PLACE, "secret_file"), "secret_file is missing", hint)
        for name in tables:
            yield from self._check_table(programme, name)

    def _check_table(self, programme: ProgrammeView, name: str) -> Iterable[Placed]:
        table = programme.tables[name]
        path = ("tables", name, "value")
        if COUNT in table.values:
            message = "multiplicative noise protects values, not counts"
            hint = "name value columns; protect counts in separate tables"
            yield programme.at(path, message, hint)
        for doubled in named_twice(table.values):
            yield programme.at(path, f"{doubled!r} is named twice")
        if FIGURE in (table.by or []):
            message = f"a table of values cannot have a variable called {FIGURE!r}"
            yield programme.at(("tables", name, "by"), message, "rename the variable")
        if table.weight:
            message = "multiplicative noise needs values without weights"
            yield programme.at(programme.setting(name, "weight"), message)

    def _unit(self, programme: ProgrammeView, source: str) -> str | None:
        """The column of units: as stated, or the identifier of records."""
        entry: UnitNoiseEntry = programme.settings(self.name)
        known = programme.sources[source].keys.id or []
        return entry.unit or (known[0] if len(known) == 1 else None)

    def columns(self, programme: ProgrammeView, table: str) -> Iterable[NamedColumn]:
        """Values, units and areas."""
        entry: UnitNoiseEntry = programme.settings(self.name)
        for value in programme.tables[table].values:
            yield NamedColumn(("tables", table, "value"), value, numeric=True)
        if (unit := self._unit(programme, programme.source_of(table).name)) is not None:
            yield NamedColumn((*_PLACE, "unit"), unit, numeric=False)
        for column in entry.balance:
            yield NamedColumn((*_PLACE, "balance"), column, numeric=False)

    def linked(self, programme: ProgrammeView, tables: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Tables of the same source: they are counted from one noisy copy of its records."""
        groups: dict[str, list[str]] = {}
        for name in tables:
            groups.setdefault(programme.source_of(name).name, []).append(name)
        return [tuple(names) for names in groups.values()]

    def opened(
        self, programme: ProgrammeView, tables: Sequence[str], problems: list[Problem]
    ) -> Secret | None:
        """Its own secret; None for that of the record keys."""
        if not tables:
            return None
        return Opener(programme, problems).secret(_PLACE, programme.settings(self.name))

    def needs(self, inputs: InputsView, table: str) -> Mapping[str, Mapping[str, int]]:
        """The true sums, which quality is judged by."""
        entry = inputs.programme.tables[table]
        return {entry.where or "": dict.fromkeys(entry.values, 1)}

    def determinants(self, inputs: InputsView, tables: Sequence[str]) -> Mapping[str, Determinants]:
        """The secret, and how values are printed."""
        held: Secret | None = inputs.opened[self.name] if tables else None
        shared = {} if held is None else {"unit-noise": held.derive("unit noise digest").hex()}
        values = inputs.programme.document.values
        return {
            name: Determinants(
                shared=shared,
                own=[
                    [value, values[value].model_dump() if value in values else None]
                    for value in inputs.programme.tables[name].values
                ],
                whole=False,
            )
            for name in tables
        }

    def protect(
        self, inputs: InputsView, counted: Mapping[str, Counts], context: ReleaseContext
    ) -> Iterator[ProtectedGroup]:
        """Noisy records, once; all tables counted from them."""
        from discreet.protection.noise.unit_factors import noisy
        from discreet.protection.noise.unit_sums import near_problems
        from discreet.tabulation import Query, tabulate_many

        programme = inputs.programme
        entry: UnitNoiseEntry = programme.settings(self.name)
        spanning = context.spanning[programme.source_of(next(iter(counted))).name]
        copy = self._noisy_copy(inputs, list(counted))
        gates = self._gates(inputs, copy, list(counted), spanning, entry.p_percent)
        problems = [
            problem
            for name, own in gates.items()
            for problem in near_problems(own, entry.chance, f"tables.{name}")
        ]
        raise_all(PerturbationError, problems, code="unit-noise-gate", where="tables")
        views = {name: programme.tables[name] for name in counted}
        queries = [
            Query(
                by=[spanning[variable] for variable in view.by or []],
                where=view.where or None,
                values=[noisy(value) for value in view.values],
                name=name,
            )
            for name, view in views.items()
        ]
        made = {item.name: item for item in tabulate_many(copy.records, queries)}
        tables = {
            name: self._outcome(
                inputs, copy.noise, counts[views[name].where or ""], made[name], gates[name]
            )
            for name, counts in counted.items()
        }
        said = tuple(
            f"{each.areas - each.kept:,} of {each.areas:,} areas do not keep their total of "
            f"{value}: in {each.outweighed:,} of them one unit dominates"
            for value, each in copy.factors.items()
            if each.kept < each.areas
        )
        if not entry.p_percent:
            said += ("values may come close to a single contribution: remove p_percent = 0",)
        yield ProtectedGroup(tables=tables, internal=None, warnings=said)

    def _noisy_copy(self, inputs: InputsView, names: Sequence[str]) -> NoisyRecords:
        """The records of a source with noise on the values of these tables."""
        from discreet.protection.noise.unit_factors import UnitNoise, with_unit_noise

        programme = inputs.programme
        source = programme.source_of(names[0]).name
        entry: UnitNoiseEntry = programme.settings(self.name)
        noise = UnitNoise.of(entry, self._unit(programme, source) or "")
        values = dict.fromkeys(value for name in names for value in programme.tables[name].values)
        digits = {value: programme.value(value).decimals for value in values}
        secret = inputs.opened[self.name] or inputs.secrets[source]
        records, factors = with_unit_noise(inputs.records[source], digits, noise, secret)
        return NoisyRecords(records, noise, digits, factors)

    def closeness(
        self, inputs: InputsView, names: Sequence[str], spanning: Mapping[str, Any]
    ) -> dict[str, dict[str, GateReport]]:
        """Closeness of the tables of a source to single contributions, whatever is allowed."""
        entry: UnitNoiseEntry = inputs.programme.settings(self.name)
        copy = self._noisy_copy(inputs, names)
        return self._gates(inputs, copy, names, spanning, entry.p_percent or P_PERCENT)

    def _gates(
        self,
        inputs: InputsView,
        copy: NoisyRecords,
        names: Sequence[str],
        spanning: Mapping[str, Any],
        p_percent: float,
    ) -> dict[str, dict[str, GateReport]]:
        from discreet.protection.noise.unit_sums import unit_gates

        views = {name: inputs.programme.tables[name] for name in names}
        return {
            name: unit_gates(
                copy.records,
                [spanning[variable] for variable in view.by or []],
                {value: copy.digits[value] for value in view.values},
                copy.noise,
                copy.factors,
                where=view.where or None,
                p_percent=p_percent,
                chance=inputs.programme.settings(self.name).chance,
            )
            for name, view in views.items()
        }

    def _outcome(
        self,
        inputs: InputsView,
        noise: UnitNoise,
        truth: Table,
        noisy_table: Table,
        gates: Mapping[str, GateReport],
    ) -> ReleasedOutcome:
        """One table, with all of its values."""
        from discreet.derived import KeyFigure, derive
        from discreet.protection.noise.unit_sums import noisy_ingredient, noisy_sums

        ingredients, figures = {}, []
        for value in truth.sums:
            how = inputs.programme.value(value)
            said: dict[str, Any] = {"titles": how.title, "unit": how.unit}
            safe = noisy_sums(noisy_table, value, how.decimals, **said)
            ingredients[value] = noisy_ingredient(truth, noisy_table, safe, noise, gates.get(value))
            figures.append(
                KeyFigure(name=value, kind="sum", of=value, decimals=how.decimals, **said)
            )
        return ReleasedOutcome(
            table=derive(ingredients, figures, name=truth.name),
            remembered={},
            assessed=AssessedTable(counts=None, ingredients=ingredients, figures=figures),
            found_codes=codes_found(truth.dimensions),
        )

    def statement(self, inputs: InputsView, table: str) -> tuple[Note, ...]:
        """Nothing: the tables say it."""
        return ()

    def quality(self, inputs: InputsView, counts: IntArray) -> FloatArray:
        """Nothing is done to counts."""
        return counts.astype("float64") * 0.0
