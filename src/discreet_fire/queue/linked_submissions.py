"""Tables of submissions, held against those of all others that are open or released.

In: what the outputs of a run show, and the folder of a queue (CONFIDENTIAL). Out: findings in
sentences that name tables and submissions, without a figure. A record is the same one in two
submissions if it is the only one of the same unit, or has the same place in the same data file;
where neither is known, a finding says so.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import IntArray, UintArray
from discreet_fire.findings import Finding, Severity
from discreet_fire.ledger import UnitKey
from discreet_fire.linked_tables import (
    LEFT,
    ShownCounts,
    ShownSums,
    ShownTable,
    difference_findings,
    linked_findings,
    read_tables,
    table_bytes,
    with_records,
)
from discreet_fire.runners import StatisticShown
from discreet_fire.statistics import SafeLimits

#: The file beside the outputs of a submission.
TABLES = "tables.npz"
#: Seconds that tables are held against others for, where a submission says nothing.
SECONDS = 60.0
#: So many outputs are named in one finding.
_PLACES = 8


@dataclass(kw_only=True, repr=False)
class SubmissionTables:
    """What the outputs of a run show over groups, and whom its records are about (confidential)."""

    tables: list[ShownTable] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    first: int = 0
    #: How often each kind of model was shown, of which only the number of records is followed
    models: Counter[str] = field(default_factory=Counter)
    _numbers: list[IntArray] = field(default_factory=list)
    _units: list[Any] = field(default_factory=list)
    _wholes: list[ShownCounts] = field(default_factory=list)

    def note(self, told: StatisticShown) -> None:
        """Take down what a statistic shows."""
        self.tables += [one for one in told.tables if one is not None]
        if None in told.tables:
            self.left.append(f"line {told.line}, {told.command}")
        self.first = max(self.first, told.first)
        self.models[told.command] += told.universes == "model"
        if told.numbers is not None and told.units is not None:
            self._numbers.append(told.numbers)
            self._units += told.units

    def note_units(self, name: str, digests: UintArray) -> None:
        """Take down whom an output is about that cannot be followed, or was made elsewhere."""
        self._wholes.append(_set(name, digests.view(np.int64)))

    def __bool__(self) -> bool:
        return bool(self.tables or self._wholes)

    def written(self, key: UnitKey, data: str) -> bytes:
        """The tables as bytes, with records and whom they are about as other submissions do."""
        units = self._known_units()
        digests = key.of_each(list(units.values())).view(np.int64).tolist()
        owner_of = dict(zip(units, digests, strict=True))
        once = len(set(digests)) == len(digests)
        ids = owner_of if once and units else self._places(key, data)

        def named(records: IntArray, names: Mapping[int, int]) -> IntArray | None:
            numbers = [names.get(one) for one in records.tolist()]
            known = [one for one in numbers if one is not None]
            return np.array(known, dtype=np.int64) if len(known) == len(numbers) else None

        tables, left = with_records(
            self.tables,
            lambda records: named(records, ids),
            lambda records: None if once else named(records, owner_of),
        )
        if units and not once:  # files of other years have other records, but the same units
            places = {_place(one).records.tobytes(): _place(one) for one in self.tables}
            wholes = ((one.name, named(one.records, owner_of)) for one in places.values())
            tables += [_set(name, records) for name, records in wholes if records is not None]
        return table_bytes([*tables, *self._wholes], list(dict.fromkeys([*self.left, *left])))

    def _known_units(self) -> dict[int, Any]:
        """Whom each record is about, as far as that is known."""
        numbers = np.concatenate([np.zeros(0, dtype=np.int64), *self._numbers])
        return {
            number: unit
            for number, unit in zip(numbers.tolist(), self._units, strict=True)
            if number >= 0 and unit is not None
        }

    def _places(self, key: UnitKey, data: str) -> dict[int, int]:
        """The records of the first file by their places in it."""
        places = range(self.first)
        digests = key.of_each([f"{data} {place}" for place in places]).view(np.int64)
        return dict(zip(places, digests.tolist(), strict=True))


def _set(name: str, records: IntArray) -> ShownCounts:
    """Some records of which the number is shown."""
    return ShownCounts(
        name=name,
        axes=(),
        records=np.unique(records),
        owners=None,
        hidden=np.array(False),
        silent=False,
    )


def shown_by(path: Path, number: int, shown: Any = None) -> tuple[list[ShownTable], list[str]]:
    """The tables of a submission by names that say of which one they are."""
    tables, left = read_tables(path.read_bytes())
    kept = [one for one in tables if shown is None or shown(_place(one).name)]
    return [_named(one, f"submission {number}, {_place(one).name}") for one in kept], left


def _place(one: ShownTable) -> ShownCounts:
    return one.place if isinstance(one, ShownSums) else one


def _named(one: ShownTable, name: str) -> ShownTable:
    place = replace(_place(one), name=name)
    return replace(one, place=place) if isinstance(one, ShownSums) else place


def findings_against(
    own: Path,
    others: Mapping[int, tuple[list[ShownTable], list[str]]],
    *,
    limits: SafeLimits,
    seconds: float | None,
) -> list[Finding]:
    """What the tables of a submission tell together with those of others.

    What they tell alone was found when it ran.
    """
    tables, left = read_tables(own.read_bytes())
    until = time.monotonic() + (SECONDS if seconds is None else seconds)
    mine = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *map(_records, tables)]))
    near = {
        number: [one for one in tables if np.isin(_records(one), mine).any()]
        for number, (tables, _) in others.items()
    }
    earlier = [one for item in near.values() for one in item]
    findings = list(_news(tables, earlier, limits, until)) if earlier and tables else []
    differences, complete = difference_findings(tables, limits=limits, earlier=earlier, until=until)
    findings += differences
    if not complete:
        message = "too many differences of tables to hold all of them against each other"
        findings.append(_left(message, "look for tables that filter nearly the same units twice"))
    unknown = left + [
        f"submission {number}, {one}" for number, (_, missing) in others.items() for one in missing
    ]
    if others and unknown:
        places = "; ".join(unknown[:_PLACES])
        places += f" and {len(unknown) - _PLACES} more" if len(unknown) > _PLACES else ""
        message = f"not held against tables of other submissions: {places}"
        hint = "check whether they disclose values that another submission withholds"
        findings.append(_left(message, hint))
    return findings


def _records(one: ShownTable) -> IntArray:
    return _place(one).records


def _news(
    tables: Sequence[ShownTable],
    earlier: Sequence[ShownTable],
    limits: SafeLimits,
    until: float,
) -> list[Finding]:
    """Findings on all tables that are not on those of the submission alone."""
    findings = linked_findings(tables, limits=limits, earlier=earlier, until=until)
    if not findings:
        return []
    alone = {one.what for one in linked_findings(tables, limits=limits, until=until)}
    return [one for one in findings if one.what not in alone]


def _left(message: str, hint: str) -> Finding:
    return Finding(
        rule=LEFT,
        severity=Severity.REVIEW,
        what=message,
        line=0,
        column=1,
        start=0,
        end=0,
        hint=hint,
    )
