"""`RoundingProtection`: what rounding answers to a release.

In: tables of a programme and their true counts (CONFIDENTIAL). Out: rounded tables. Tables of
the same records are rounded together, so that totals are sums in all of them and the audit sees
what readers see: all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from discreet.errors import DiscreetError, Problem
from discreet.microdata import Secret
from discreet.protection.count_tables import CountProtection, counted_outcome
from discreet.protection.protocol import (
    COUNT,
    AuditVerdict,
    Counts,
    Determinants,
    InputsView,
    Place,
    Placed,
    ProgrammeView,
    ProtectedGroup,
    ReleaseContext,
)
from discreet.protection.rounding.bases import LARGEST_BASE, MOST_STEPS, Method, Rounding

if TYPE_CHECKING:
    from discreet.arrays import FloatArray, IntArray

_PLACE: Place = ("protection", "rounding")


class RoundingEntry(BaseModel):
    """[protection.rounding]"""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    base: int = Field(default=5, ge=2, le=LARGEST_BASE)
    method: Method = "keyed"
    margins: int | None = Field(default=None, ge=2, le=LARGEST_BASE)
    ties: Literal["up", "even"] = "up"
    seed_env: str | None = None
    unbiased: bool = False
    steps: int = Field(default=3, ge=0, le=MOST_STEPS)

    def rounding(self, *, drawn: bool = True) -> Rounding:
        """What the section asks for; without its seed where that is not needed yet."""
        seed: Secret | str | None = None
        if self.seed_env is not None:
            seed = Secret.from_env(self.seed_env) if drawn else "not read yet"
        stated = self.model_dump(exclude={"seed_env"})
        return Rounding(**stated, seed=seed)


class RoundingProtection(CountProtection):
    """Counts are rounded to multiples of a base."""

    name = "rounding"
    manner = "rounded counts"
    beside: Mapping[str, str] = MappingProxyType(
        {
            "noise": "figures with noise narrow down what rounded ones leave open",
            "suppress": "rounded figures bound hidden values, and true ones tell the rounding",
        }
    )
    table_keys = ("parts",)
    hints: Mapping[str, str] = MappingProxyType(
        {
            "figures": "key figures of rounded counts are made with discreet.derive",
            "additive": 'use method = "controlled" in [protection.rounding]',
            "round_to": "say the base in [protection.rounding]",
        }
    )
    settings = RoundingEntry
    #: It depends on the section: `check` sees to it.
    record_keys = False
    auditable = True

    def check(self, programme: ProgrammeView, tables: Sequence[str]) -> Iterable[Placed]:
        """Options that do not go together, and estimates that cannot be added up."""
        if not tables:
            return
        try:
            rounding = programme.settings(self.name).rounding(drawn=False)
        except DiscreetError as error:
            for each in error.problems:
                key = "seed_env" if each.where == "seed" else each.where
                hint = each.hint.replace("seed=…", 'seed_env = "NAME"')
                place = (*_PLACE, key)
                yield place, programme.problem(place, each.what, hint)
            return
        drawn = rounding.method == "keyed" or (rounding.unbiased and rounding.seed is None)
        for name in tables:
            if drawn and not programme.keyed(name):
                what = f"the records of {name} have no keys to round by"
                hint = "name them in [keys], or choose another method"
                yield (*_PLACE, "method"), programme.problem((*_PLACE, "method"), what, hint)
            if programme.tables[name].weight and rounding.additive:
                place = ("tables", name, "weight")
                what = "estimates cannot be rounded so that totals are sums"
                hint = 'use method = "conventional" or "keyed" in [protection.rounding]'
                yield place, programme.problem(place, what, hint)

    def warnings(
        self, programme: ProgrammeView, tables: Sequence[str], opened: Any
    ) -> Iterable[str]:
        """What can be averaged away, and what sums tell."""
        method = programme.settings(self.name).method if tables else ""
        if method == "random":
            yield "random rounding rounds a set differently in each table: sums tell its count"
        if method == "conventional":
            yield "conventional rounding can be undone by sums: see discreet audit"

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
        stated = {name: [views[name].by, views[name].where] for name in tables}
        groups = {name: each for each in self.linked(inputs.programme, tables) for name in each}
        own = {
            name: [{each: stated[each] for each in groups[name]} if rounding.additive else []]
            for name in tables
        }
        shared = {"rounding": rounding.digest()}
        return {name: Determinants(shared=shared, own=own[name], whole=False) for name in tables}

    def _rounding(self, inputs: InputsView) -> Rounding:
        rounding = inputs.opened[self.name]
        assert isinstance(rounding, Rounding)
        return rounding

    def protected(
        self, inputs: InputsView, counted: Mapping[str, Counts], context: ReleaseContext
    ) -> Iterator[ProtectedGroup]:
        """The tables of a group: together where totals are sums, else one after the other."""
        from discreet.protection.rounding.counts import round_linked

        rounding, tables = self._rounding(inputs), self._tables(inputs, counted)
        groups = [tuple(tables)] if rounding.additive else [(name,) for name in tables]
        for names in groups:
            safe = round_linked([tables[name] for name in names], rounding)
            made = {
                name: counted_outcome(tables[name], each)
                for name, each in zip(names, safe, strict=True)
            }
            yield ProtectedGroup(tables=made, internal=None, warnings=())

    def deviations(self, inputs: InputsView, counts: IntArray) -> FloatArray:
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
        """What all tables of a group tell together."""
        from discreet.protection.rounding.audit import audit_rounding

        tables = self._tables(inputs, counted)
        try:
            found = audit_rounding(
                [kept[name].table for name in tables],
                list(tables.values()),
                self._rounding(inputs),
            )
        except DiscreetError as error:
            return {}, [f"{', '.join(tables)}: {each.what}" for each in error.problems]
        return {(", ".join(tables), COUNT): found}, ()
