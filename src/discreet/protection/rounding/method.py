"""`RoundingProtection`: what rounding answers to a release.

In: tables of a programme and their true counts (CONFIDENTIAL). Out: rounded tables. Tables of
the same records are rounded together, so that totals are sums in all of them and the audit sees
what readers see: all of them. Key figures are made of rounded counts alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, Problem
from discreet.microdata import Secret
from discreet.protection.protocol import (
    COUNT,
    AssessedTable,
    AuditVerdict,
    Counts,
    Determinants,
    InputsView,
    Place,
    Placed,
    ProgrammeView,
    ProtectedGroup,
    Protection,
    ReleaseContext,
    ReleasedOutcome,
    all_of,
    figure_filter,
)
from discreet.protection.rounding.bases import Rounding
from discreet.protection.rounding.settings import LARGEST_BASE, RoundingSettings
from discreet.tables import codes_found

if TYPE_CHECKING:
    from discreet.arrays import FloatArray, IntArray
    from discreet.tables import Note

_PLACE: Place = ("protection", "rounding")


class RoundingEntry(RoundingSettings):
    """[protection.rounding]"""

    seed_env: str | None = None

    def rounding(self, *, drawn: bool = True) -> Rounding:
        """The rounding of the section; without its seed where that is not needed yet."""
        seed: Secret | str | None = None
        if self.seed_env is not None:
            seed = Secret.from_env(self.seed_env) if drawn else "not read yet"
        return Rounding(**self.model_dump(exclude={"seed_env"}), seed=seed)


class RoundingProtection(Protection):
    """Counts are rounded to multiples of a base."""

    name = "rounding"
    manner = "rounded counts"
    beside: Mapping[str, str] = MappingProxyType(
        {
            "noise": "perturbed values narrow down the rounded values",
            "suppress": "rounded values bound suppressed ones, true values disclose the rounding",
        }
    )
    table_keys = ("parts", "figures", "round_to", "quantiles", "flows", "available")
    hints: Mapping[str, str] = MappingProxyType(
        {
            "additive": 'use method = "controlled" in [protection.rounding]',
        }
    )
    settings = RoundingEntry
    #: It depends on the section: `check` sees to it.
    record_keys = False
    attacked = "maximum"

    def check(self, programme: ProgrammeView, tables: Sequence[str]) -> Iterable[Placed]:
        """Options that do not go together, and estimates that cannot be added up."""
        if not tables:
            return
        try:
            rounding = programme.settings(self.name).rounding(drawn=False)
        except DiscreetError as error:
            for problem in error.problems:
                key = "seed_env" if problem.where == "seed" else problem.where
                hint = problem.hint.replace("seed=…", 'seed_env = "NAME"')
                place = (*_PLACE, key)
                yield programme.at(place, problem.what, hint)
            return
        drawn = rounding.method == "keyed" or (rounding.unbiased and rounding.seed is None)
        yield from self._check_bases(programme, tables)
        for name in tables:
            for figure, entry in programme.tables[name].figures.items():
                if entry.of is not None or entry.kind in ("sum", "mean"):
                    place = ("tables", name, "figures", figure)
                    yield programme.at(
                        place, "only counts and figures derived from counts can be rounded"
                    )
            if drawn and not programme.keyed(name):
                message = f"the records of {name} have no record keys"
                hint = "add [keys], or choose another method"
                yield programme.at((*_PLACE, "method"), message, hint)
            if programme.tables[name].weight and rounding.additive:
                place = ("tables", name, "weight")
                message = "estimates cannot be rounded additively"
                hint = 'use method = "conventional" or "keyed" in [protection.rounding]'
                yield programme.at(place, message, hint)

    def _check_bases(self, programme: ProgrammeView, tables: Sequence[str]) -> Iterable[Placed]:
        """Bases of tables of the same records: figures of both must not bound a count exactly."""
        entry: RoundingEntry = programme.settings(self.name)
        for group in self.linked(programme, tables):
            bases = {name: _base(programme, name) or entry.base for name in group}
            for name, base in bases.items():
                place = programme.setting(name, "round_to")
                if base > LARGEST_BASE:
                    yield programme.at(place, f"the base must be at most {LARGEST_BASE:,}")
                elif base != entry.base and (entry.margins or entry.additive):
                    message = "tables rounded together, or with margins, need the same base"
                    yield programme.at(place, message)
                elif any(base % other and other % base for other in bases.values()):
                    message = "bases of tables of the same records must be multiples of each other"
                    yield programme.at(
                        place, message, "otherwise two roundings disclose counts exactly"
                    )

    def _own(self, inputs: InputsView, table: str) -> Rounding:
        rounding, base = self._rounding(inputs), _base(inputs.programme, table)
        return rounding if base is None else rounding.model_copy(update={"base": base})

    def warnings(self, inputs: InputsView, tables: Sequence[str]) -> Iterable[str]:
        """Warnings about averaging and about sums of rounded parts."""
        method = inputs.programme.settings(self.name).method if tables else ""
        if method == "random":
            yield "random rounding rounds a set differently in each table: sums disclose its count"
        if method == "conventional":
            yield "conventional rounding can be undone by sums: see discreet audit"
        if len({_base(inputs.programme, name) for name in tables}) > 1:
            yield "two bases narrow down counts in tables of both bases: see discreet audit"

    def opened(
        self, programme: ProgrammeView, tables: Sequence[str], problems: list[Problem]
    ) -> Rounding | None:
        """The rounding, with its seed."""
        if not tables:
            return None
        try:
            made: Rounding = programme.settings(self.name).rounding()
        except DiscreetError as error:
            place = (*_PLACE, "seed_env")
            problems += [programme.problem(place, p.what, p.hint) for p in error.problems]
            return None
        return made

    def determinants(self, inputs: InputsView, tables: Sequence[str]) -> Mapping[str, Determinants]:
        """The seed; and all tables of the group where they are rounded together."""
        if not tables:
            return {}
        rounding = self._rounding(inputs)
        views = inputs.programme.tables
        stated = {name: [views[name].by, list(self.needs(inputs, name))] for name in tables}
        groups = {name: each for each in self.linked(inputs.programme, tables) for name in each}
        own = {
            name: [{group: stated[group] for group in groups[name]} if rounding.additive else []]
            for name in tables
        }
        shared = {"rounding": rounding.digest()}
        return {name: Determinants(shared=shared, own=own[name], whole=False) for name in tables}

    def _rounding(self, inputs: InputsView) -> Rounding:
        rounding = inputs.opened[self.name]
        assert isinstance(rounding, Rounding)
        return rounding

    def needs(self, inputs: InputsView, table: str) -> Mapping[str, Mapping[str, int]]:
        """One count per filter of its figures."""
        entry = inputs.programme.tables[table]
        counted = [figure for figure, described in entry.figures.items() if described.counted]
        filters = [figure_filter(entry, figure) for figure in counted]
        return {where: {} for where in filters or [all_of(entry.where)]}

    def protect(
        self, inputs: InputsView, counted: Mapping[str, Counts], context: ReleaseContext
    ) -> Iterator[ProtectedGroup]:
        """The tables of a group: together where totals are sums, else one after the other."""
        rounded = self._rounded(inputs, counted)
        for name, counts in counted.items():
            values = {where: rounded[name, where] for where in counts if (name, where) in rounded}
            made = {name: self._outcome(inputs, name, counts, values)}
            yield ProtectedGroup(tables=made, internal=None, warnings=())

    def _rounded(
        self, inputs: InputsView, counted: Mapping[str, Counts]
    ) -> dict[tuple[str, str], IntArray]:
        from discreet.protection.rounding.counts import rounded_counts

        every = {
            (name, where): counts[where]
            for name, counts in counted.items()
            for where in self.needs(inputs, name)
        }
        if self._rounding(inputs).additive:
            from discreet.disclosure import same_codes

            tables = list(every.values())
            source = inputs.programme.source_of(next(iter(counted))).name
            same = same_codes(inputs.records[source], tables)
            found = rounded_counts(tables, self._rounding(inputs), same)
            return dict(zip(every, found, strict=True))
        return {
            (name, where): rounded_counts([table], self._own(inputs, name))[0]
            for (name, where), table in every.items()
        }

    def _outcome(
        self, inputs: InputsView, name: str, counts: Counts, values: Mapping[str, IntArray]
    ) -> ReleasedOutcome:
        """A table of rounded counts, or of figures made of them."""
        from discreet.derived import derive
        from discreet.protection.rounding.counts import ingredient_of, rounded_table

        entry, rounding = inputs.programme.tables[name], self._own(inputs, name)
        (first, value), *_ = values.items()
        if not entry.figures:
            return ReleasedOutcome.of_counts(
                counts[first], rounded_table(counts[first], value, rounding)
            )
        filters = {
            figure: figure_filter(entry, figure)
            for figure, described in entry.figures.items()
            if described.counted
        }
        ingredients = {
            figure: ingredient_of(counts[where], values[where], rounding)
            for figure, where in filters.items()
        }
        figures = [
            described.key_figure(figure, described.bracket_above)
            for figure, described in entry.figures.items()
        ]
        return ReleasedOutcome(
            table=derive(ingredients, figures, name=name),
            remembered={},
            assessed=AssessedTable(counts=None, ingredients=ingredients, figures=figures),
            found_codes=codes_found(counts[first].dimensions),
        )

    def statement(self, inputs: InputsView, table: str) -> tuple[Note, ...]:
        """Nothing: the tables say it."""
        return ()

    def quality(self, inputs: InputsView, counts: IntArray) -> FloatArray:
        """The standard deviation of what rounding does to counts."""
        return self._rounding(inputs).deviation(counts)

    def audited(
        self,
        inputs: InputsView,
        counted: Mapping[str, Counts],
        context: ReleaseContext,
        kept: Mapping[str, Any],
        coalition: int | None,
    ) -> tuple[Mapping[tuple[str, str], AuditVerdict], Sequence[str]]:
        """Audit of all tables of a group together."""
        from discreet.protection.rounding.counts import audit_rounding, rounded_table

        rounded, named = self._rounded(inputs, counted), inputs.programme.tables
        tables = {(name, where): counted[name][where] for name, where in rounded}
        # Who sees key figures may know all of their counts.
        shown = [
            rounded_table(tables[each], value, self._own(inputs, each[0]))
            if named[each[0]].figures
            else kept[each[0]].table
            for each, value in rounded.items()
        ]
        try:
            hows = [self._own(inputs, name) for name, _ in rounded]
            source = inputs.programme.source_of(next(iter(counted))).name
            records = inputs.records[source]
            found = audit_rounding(shown, list(tables.values()), hows, records)
        except DiscreetError as error:
            return {}, [f"{', '.join(counted)}: {problem.what}" for problem in error.problems]
        return {(", ".join(counted), COUNT): found}, ()


def _base(programme: ProgrammeView, table: str) -> int | None:
    stated = programme.tables[table].round_to or 1
    return stated if stated > 1 else None
