"""`CountProtection`: the answers that methods share which change figures and write no reports.

In: tables of a programme and their true counts (CONFIDENTIAL). Out: what every such method says
to a release; what it does to counts, each says itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet.protection.protocol import (
    COUNT,
    AssessedTable,
    AuditVerdict,
    Counts,
    InputsView,
    NamedColumn,
    Place,
    ProgrammeView,
    Protection,
    ReleaseContext,
    ReleasedOutcome,
    SharedParameters,
)
from discreet.tables.dimension import codes_found

if TYPE_CHECKING:
    from discreet.tables import Note, ProtectedTable, Table


ProgrammeT = TypeVar("ProgrammeT", bound=ProgrammeView, contravariant=True)
InputsT = TypeVar("InputsT", bound=InputsView, contravariant=True)


class CountProtection(Protection[ProgrammeT, InputsT]):
    """A method that has neither reports nor an audit; of counts, unless it says something else."""

    sections = ()
    parts = True
    assessed = True
    auditable = False
    reports = ()
    estimates = False

    def follows(self, programme: ProgrammeT, table: str) -> Sequence[str]:
        """None."""
        return ()

    def tells(self, programme: ProgrammeT, table: str) -> Sequence[str]:
        """Counts."""
        return [COUNT]

    def columns(self, programme: ProgrammeT, table: str) -> Iterable[NamedColumn]:
        """None."""
        return ()

    def filters(self, programme: ProgrammeT, table: str) -> Iterable[tuple[Place, str]]:
        """None besides that of the table."""
        return ()

    def linked(self, programme: ProgrammeT, tables: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Tables of the same records and weights."""
        groups: dict[tuple[str | None, str | None], list[str]] = {}
        for name in tables:
            entry = programme.tables[name]
            groups.setdefault((entry.source, entry.weight), []).append(name)
        return [tuple(names) for names in groups.values()]

    def shared(self, opened: Any) -> SharedParameters | None:
        """Nothing."""
        return None

    def needs(self, inputs: InputsT, table: str) -> Mapping[str, Mapping[str, int]]:
        """The records of the table."""
        return {inputs.programme.tables[table].where or "": {}}

    def _tables(self, inputs: InputsT, counted: Mapping[str, Counts]) -> dict[str, Table]:
        """The true tables of a group."""
        views = inputs.programme.tables
        return {name: counts[views[name].where or ""] for name, counts in counted.items()}

    def statement(self, inputs: InputsT, table: str) -> tuple[Note, ...]:
        """Nothing: the tables say it."""
        return ()

    def changed(
        self, name: str, before: Callable[[], ProtectedTable], after: ProtectedTable
    ) -> str:
        """Two protected figures of one count tell more than one."""
        old, new = before(), after
        same = np.array_equal(old.value, new.value, equal_nan=True)
        return "" if same else f"{name} had other figures before: both together tell more"

    def concluded(self, inputs: InputsT, made: Sequence[str]) -> Iterable[str]:
        """Nothing."""
        return ()

    def write_reports(
        self, inputs: InputsT, remembered: Mapping[str, Mapping[str, Any]], folder: Path
    ) -> None:
        """No report besides that on quality."""

    def write_internal(self, entries: Sequence[Mapping[str, Any]], folder: Path) -> None:
        """No internal report besides that on quality."""

    def given_away(
        self, inputs: InputsT, tables: Mapping[str, ProtectedTable]
    ) -> Iterable[str] | None:
        """They are not attacked."""
        return None

    def must_repeat(self, inputs: InputsT, digests: Mapping[str, str], internal: Path) -> bool:
        """Never."""
        return False

    def audited(
        self,
        inputs: InputsT,
        counted: Mapping[str, Counts],
        context: ReleaseContext,
        kept: Mapping[str, Any],
        coalition: int | None,
    ) -> tuple[Mapping[tuple[str, str], AuditVerdict], Sequence[str]]:
        """Nothing."""
        return {}, ()


def counted_outcome(table: Table, safe: ProtectedTable) -> ReleasedOutcome:
    """What became of a table of counts."""
    return ReleasedOutcome(
        table=safe,
        remembered={},
        assessed=AssessedTable(counts=table, ingredients={}, figures=()),
        found_codes=codes_found(table.dimensions),
    )
