"""`SampleProtection`: what estimates from a sample answer to a release.

In: tables of a programme, and the records of a sample with weights (CONFIDENTIAL). Out: rounded
estimates with their classes of precision. What tables of full counts hide, they hide, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import Field

from discreet.errors import DiscreetError, ProgrammeError, nearest
from discreet.protection.protocol import (
    Counts,
    InputsView,
    NamedColumn,
    Placed,
    ProgrammeView,
    ProtectedGroup,
    Protection,
    ReleaseContext,
    ReleasedOutcome,
    figure_filter,
)
from discreet.record_batches import collected
from discreet.settings import Count, NameList, Positive, Settings, Text
from discreet.tables import Note, codes_found, note_of

if TYPE_CHECKING:
    from discreet.arrays import FloatArray, IntArray
    from discreet.derived import PrecisionClasses, SampleDesign

_PLACE = ("protection", "sample")
_DESIGN = ("replicates", "factor", "strata", "units", "fraction")
_CLASSES = ("worst", "bracketed", "withheld", "min_records")


class SampleEntry(Settings):
    """[protection.sample]: how the sample was drawn, and what is shown of estimates."""

    of: Text | None = None
    replicates: NameList | None = None
    factor: Positive | None = None
    strata: Text | None = None
    units: Text | None = None
    fraction: Text | None = None
    classes: dict[str, Positive] | None = None
    worst: Text = "E"
    bracketed: list[Text] = Field(default=["D"])
    withheld: list[Text] = Field(default=["E"])
    min_records: Count = 5
    round_to: Count = 10
    total: Count | None = None

    def design(self, weight: str, replicates: Sequence[str] | None = None) -> SampleDesign:
        """Design of the sample."""
        from discreet.derived import SampleDesign

        stated = {name: getattr(self, name) for name in _DESIGN}
        stated["replicates"] = tuple(replicates or self.replicates or ())
        return SampleDesign(weight=weight, **stated)

    def precision(self) -> PrecisionClasses:
        """The classes of precision."""
        from discreet.derived import PrecisionClasses

        stated: dict[str, Any] = {name: getattr(self, name) for name in _CLASSES}
        if self.classes:
            stated["bounds"] = self.classes
        return PrecisionClasses(**stated)


class SampleProtection(Protection):
    """Figures are estimates from a sample, rounded, with their classes of precision."""

    name = "sample"
    manner = "estimates from a sample"
    beside: Mapping[str, str] = MappingProxyType(
        {
            "noise": "estimates and counts of the same records disclose more together",
            "suppress": "estimates bound suppressed values",
        }
    )
    table_keys = ("figures", "round_to")
    settings = SampleEntry
    assessed = False
    estimates = True

    def check(self, programme: ProgrammeView, tables: Sequence[str]) -> Iterable[Placed]:
        """Designs and classes that contradict themselves, figures that a sample does not give."""
        if not tables:
            return
        entry: SampleEntry = programme.settings(self.name)
        # How many columns a star stands for is not known yet.
        several = (
            ["1", "2"] if any("*" in replicate for replicate in entry.replicates or []) else None
        )
        for item in (lambda: entry.design("weight", several), entry.precision):
            try:
                item()
            except DiscreetError as error:
                for problem in error.problems:
                    key = "classes" if problem.where == "bounds" else problem.where
                    yield programme.at((*_PLACE, key), problem.what, problem.hint)
        if entry.of is not None and entry.of not in programme.sources:
            what = f"unknown source {entry.of!r}"
            yield programme.at((*_PLACE, "of"), what, nearest(entry.of, list(programme.sources)))
        for name in tables:
            table = programme.tables[name]
            if not table.weight:
                what, hint = "estimates need weights", 'add their column, such as weight = "weight"'
                yield programme.at(("tables", name, "weight"), what, hint)
            for figure, described in table.figures.items():
                if described.kind not in (None, "count", "sum", "share"):
                    place = ("tables", name, "figures", figure)
                    yield programme.at(place, "samples support counts, sums and shares")

    def warnings(self, inputs: InputsView, tables: Sequence[str]) -> Iterable[str]:
        """A sample of which nobody says what it is drawn from."""
        if tables and inputs.programme.settings(self.name).of is None:
            yield (
                "the source of the full counts is missing: estimates may disclose values "
                "suppressed there; add of = … in [protection.sample]"
            )

    def follows(self, programme: ProgrammeView, table: str) -> Sequence[str]:
        """The tables of full counts: records say what their cells have to do with the estimates."""
        of = programme.settings(self.name).of
        return [
            name
            for name in programme.tables
            if programme.source_of(name).name == of and programme.method(name).parts
        ]

    def columns(self, programme: ProgrammeView, table: str) -> Iterable[NamedColumn]:
        """Replicate weights, strata, units, and values."""
        entry: SampleEntry = programme.settings(self.name)
        for column in entry.replicates or []:
            if "*" not in column:
                yield NamedColumn((*_PLACE, "replicates"), column, numeric=True)
        for key in ("strata", "units", "fraction"):
            if (column := getattr(entry, key)) is not None:
                yield NamedColumn((*_PLACE, key), column, numeric=key == "fraction")
        for figure, described in programme.tables[table].figures.items():
            if described.of is not None:
                place = ("tables", table, "figures", figure, "of")
                yield NamedColumn(place, described.of, numeric=True)

    def linked(self, programme: ProgrammeView, tables: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Each table alone."""
        return [(name,) for name in tables]

    def needs(self, inputs: InputsView, table: str) -> Mapping[str, Mapping[str, int]]:
        """The records that all figures are about."""
        return {inputs.programme.tables[table].where or "": {}}

    def protect(
        self, inputs: InputsView, counted: Mapping[str, Counts], context: ReleaseContext
    ) -> Iterator[ProtectedGroup]:
        """The estimates of each table."""
        for name in counted:
            made = {name: self._outcome(inputs, name, context)}
            yield ProtectedGroup(tables=made, internal=None, warnings=())

    def _outcome(self, inputs: InputsView, name: str, context: ReleaseContext) -> ReleasedOutcome:
        from discreet.derived import estimate_sample

        programme = inputs.programme
        source, entry = programme.source_of(name).name, programme.tables[name]
        settings: SampleEntry = programme.settings(self.name)
        records = inputs.records[source]
        design = settings.design(entry.weight or "", self._replicates(programme, records))
        counted = {figure for figure, described in entry.figures.items() if described.counted}
        table = estimate_sample(
            collected(records),
            [context.spanning[source][variable] for variable in entry.by or []],
            design,
            figures=[each.key_figure(figure, None) for figure, each in entry.figures.items()],
            filters={figure: figure_filter(entry, figure) for figure in sorted(counted)},
            classes=settings.precision(),
            round_to=entry.round_to or settings.round_to,
            where=entry.where or "",
            name=name,
        )
        return ReleasedOutcome(
            table=table,
            remembered={},
            assessed=None,
            found_codes=codes_found(table.spanning),
        )

    def _replicates(self, programme: ProgrammeView, records: Any) -> list[str]:
        """The columns of replicate weights; a star stands for what comes after."""
        entry: SampleEntry = programme.settings(self.name)
        known = records.collect_schema().names()
        found: list[str] = []
        for replicate in entry.replicates or []:
            head, star, tail = replicate.partition("*")
            names = (
                [n for n in known if n.startswith(head) and n.endswith(tail)]
                if star
                else [replicate]
            )
            if not names:
                message = f"column {replicate!r} not found"
                place = programme.problem((*_PLACE, "replicates"), message).where
                where = f"{programme.path}, {place}"
                raise ProgrammeError(message, code="missing-column", where=where)
            found += names
        return list(dict.fromkeys(found))

    def statement(self, inputs: InputsView, table: str) -> tuple[Note, ...]:
        """Calibrated weights, or the official number of units in tables of all of them."""
        calibrated = inputs.calibrated.get(inputs.programme.source_of(table).name)
        if calibrated is not None:
            return (Note("calibrated", calibrated.statement),)
        total = inputs.programme.settings(self.name).total
        if total is None or inputs.programme.tables[table].where:
            return ()
        note = note_of("discreet.protection.sample", "official-total")
        numbers = {"en": f"{total:,}", "de": f"{total:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")}
        texts = {one: note.text(one).format(number) for one, number in numbers.items()}
        return (Note(note.kind, texts),)

    def quality(self, inputs: InputsView, counts: IntArray) -> FloatArray:
        """Nothing is done to counts."""
        return counts.astype("float64") * 0.0
