"""`InvariantProtection`: what invariant perturbation answers to a release.

In: tables of a programme and their true counts (CONFIDENTIAL), a transition matrix. Out: tables
in which every count stands as often as before, in expectation: all tables of a source are the
fixed programme whose frequencies are kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from pydantic import Field

from discreet.errors import DiscreetError, Problem
from discreet.protection.noise.settings import MatrixSettings
from discreet.protection.protocol import (
    Counts,
    Determinants,
    InputsView,
    Placed,
    ProgrammeView,
    ProtectedGroup,
    Protection,
    ReleaseContext,
    ReleasedOutcome,
)

if TYPE_CHECKING:
    from discreet.arrays import FloatArray, IntArray
    from discreet.tables import Note

_PLACE = ("protection", "invariant", "transition")


class InvariantEntry(MatrixSettings):
    """[protection.invariant]: a matrix, SECRET, and how it is used."""

    transition: str | None = None
    forbidden: list[int] = Field(default_factory=list)


class InvariantProtection(Protection):
    """Counts change so that each value stands as often as before, in expectation."""

    name = "invariant"
    manner = "invariant noise"
    beside: Mapping[str, str] = MappingProxyType(
        {"noise": "two independent perturbations of one count narrow it down"}
    )
    table_keys = ("additive", "quantiles", "flows", "available")
    hints: Mapping[str, str] = MappingProxyType(
        {"figures": "only frequencies of counts are kept: remove figures"}
    )
    settings = InvariantEntry
    record_keys = True

    def check(self, programme: ProgrammeView, tables: Sequence[str]) -> Iterable[Placed]:
        """A matrix that is missing, and weights."""
        name = programme.settings(self.name).transition if tables else None
        if tables and (name is None or not programme.file(name).is_file()):
            placed = "transition is missing" if name is None else "file not found"
            hint = "give a file with one line per row and commas between numbers"
            yield programme.at(_PLACE, placed, hint)
        for table in tables:
            if programme.tables[table].weight:
                place = ("tables", table, "weight")
                yield programme.at(place, "frequencies of estimates are not kept")

    def opened(
        self, programme: ProgrammeView, tables: Sequence[str], problems: list[Problem]
    ) -> list[list[str]] | None:
        """The matrix."""
        entry: InvariantEntry = programme.settings(self.name)
        place = None if entry.transition is None else programme.file(entry.transition)
        if not tables or place is None or not place.is_file():
            return None
        from discreet.protection.noise.invariant import check_transition, read_transition

        try:
            rows = read_transition(place)
            check_transition(rows, normalise=entry.normalise)
        except DiscreetError as error:
            problems += [programme.problem(_PLACE, p.what, p.hint) for p in error.problems]
        except ValueError:
            problems.append(programme.problem(_PLACE, "the file is not UTF-8 text"))
        else:
            return rows
        return None

    def needs(self, inputs: InputsView, table: str) -> Mapping[str, Mapping[str, int]]:
        """The records of the table."""
        return {inputs.programme.tables[table].where or "": {}}

    def determinants(self, inputs: InputsView, tables: Sequence[str]) -> Mapping[str, Determinants]:
        """The matrix, and all tables of the group."""
        views = inputs.programme.tables
        shared = {"transition": inputs.opened[self.name]}
        return {
            name: Determinants(
                shared=shared, own=[[name, views[name].by, views[name].where] for name in group],
                whole=False,
            )
            for group in self.linked(inputs.programme, tables)
            for name in group
        }  # fmt: skip

    def protect(
        self, inputs: InputsView, counted: Mapping[str, Counts], context: ReleaseContext
    ) -> Iterator[ProtectedGroup]:
        """All tables of a group, with one perturbation table made of all of their counts."""
        from discreet.protection.noise.invariant import invariant_table, perturbed_by

        views = inputs.programme.tables
        tables = {name: counts[views[name].where or ""] for name, counts in counted.items()}
        entry: InvariantEntry = inputs.programme.settings(self.name)
        how = entry.model_dump(exclude={"transition"})
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            ptable = invariant_table(list(tables.values()), inputs.opened[self.name], **how)
        protected_tables = {
            name: ReleasedOutcome.of_counts(table, perturbed_by(table, ptable))
            for name, table in tables.items()
        }
        messages = tuple(str(warning.message) for warning in found)
        yield ProtectedGroup(tables=protected_tables, internal=None, warnings=messages)

    def statement(self, inputs: InputsView, table: str) -> tuple[Note, ...]:
        """Nothing: the tables say it."""
        return ()

    def quality(self, inputs: InputsView, counts: IntArray) -> FloatArray:
        """Nothing: parts are not judged by it."""
        return counts.astype("float64") * 0.0
