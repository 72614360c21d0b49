"""What belongs to a submission: its files as they were handed in, and what they show.

In: a queue and the number of a submission (CONFIDENTIAL). Out: digests, what is wrong in words,
what it shows, held against the tables of all others that are open or released: findings that name
tables and submissions, without a figure. A record is the same one in two submissions if it is the
only one of the same unit, or has the same place in the same data file; where neither is known, a
finding says so.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import IntArray, UintArray
from discreet.files import file_digest
from discreet_fire.findings import Finding, Severity
from discreet_fire.linked_tables import (
    LEFT,
    MORE,
    ShownCounts,
    ShownTable,
    difference_findings,
    linked_findings,
    read_tables,
    table_bytes,
    uncompared,
    with_records,
)
from discreet_fire.queue.folder import Event, Queue, events, intact, queue_error, seal, standing
from discreet_fire.runners import StatisticShown
from discreet_fire.statistics import SafeLimits
from discreet_fire.units import UnitKey

#: The file beside the outputs of a submission.
TABLES = "tables.npz"
#: Seconds that tables are held against others for, where a submission says nothing.
SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class StageFinding:
    """A finding of a stage, about a file. It never quotes a figure of the data."""

    stage: str
    file: str
    line: int
    severity: Severity
    rule: str
    what: str
    hint: str = ""

    @classmethod
    def of(cls, stage: str, file: str, finding: Finding | Mapping[str, Any]) -> StageFinding:
        """A finding of the rewriter, the runner or the log cleaner."""
        plain = finding.to_dict() if isinstance(finding, Finding) else finding
        return cls(
            stage=stage,
            file=file,
            line=int(plain["line"]),
            severity=Severity(plain["severity"]),
            rule=str(plain["rule"]),
            what=_printable(str(plain["what"])),
            hint=_printable(str(plain.get("hint", ""))),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "severity": self.severity.value}


def _printable(text: str) -> str:
    """A text that cannot command the officer's screen, whatever a program holds."""
    return "".join(one if one.isprintable() else "?" for one in text)


@dataclass(kw_only=True, repr=False)
class SubmissionTables:
    """Tables in the outputs of a run, and the entities of its records (confidential)."""

    tables: list[ShownTable] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    first: int = 0
    #: Per kind of figures of which only the number of records is followed, how often each command
    #: showed some
    kinds: dict[str, Counter[str]] = field(default_factory=dict)
    _numbers: list[IntArray] = field(default_factory=list)
    _units: list[Any] = field(default_factory=list)
    _wholes: list[ShownCounts] = field(default_factory=list)

    def note(self, told: StatisticShown) -> None:
        """Take down what a statistic shows."""
        self.tables += [one for one in told.tables if one is not None]
        if None in told.tables:
            self.left.append(told.title)
        self.first = max(self.first, told.first)
        whole = {"model": ("coefficients",), "together": ("correlations",)}
        for kind in (*whole.get(told.universes, ()), *sorted(told.left)):
            self.kinds.setdefault(kind, Counter())[told.command] += 1
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
        numbers = np.concatenate([np.zeros(0, dtype=np.int64), *self._numbers]).tolist()
        pairs = zip(numbers, self._units, strict=True)
        units = {number: unit for number, unit in pairs if number >= 0 and unit is not None}
        digests = key.of_each(list(units.values())).view(np.int64).tolist()
        ids = owner_of = dict(zip(units, digests, strict=True))
        once = len(set(digests)) == len(digests)
        if not (once and units):  # the records of the first file by their places in it
            numbered = key.of_each([f"{data} {place}" for place in range(self.first)])
            ids = dict(enumerate(numbered.view(np.int64).tolist()))

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
            groups = [one.table for one in self.tables if one.table.cuts is None]
            places = {one.records.tobytes(): one for one in groups}
            wholes = ((one.name, named(one.records, owner_of)) for one in places.values())
            tables += [_set(name, records) for name, records in wholes if records is not None]
        return table_bytes([*tables, *self._wholes], list(dict.fromkeys([*self.left, *left])))


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


def findings_against(
    own: Path,
    others: Mapping[int, tuple[list[ShownTable], list[str]]],
    *,
    limits: SafeLimits,
    seconds: float | None,
) -> list[Finding]:
    """Findings on the tables of a submission together with those of others.

    What they tell alone was found when it ran.
    """
    tables, left = read_tables(own.read_bytes())
    until = time.monotonic() + (SECONDS if seconds is None else seconds)
    nothing = np.zeros(0, dtype=np.int64)
    mine = np.unique(np.concatenate([nothing, *(one.table.records for one in tables)]))
    earlier, rest = list[ShownTable](), [one for theirs, _ in others.values() for one in theirs]
    # A whole of others less a part of others is of the rest of the records.
    while near := [one for one in rest if np.isin(one.table.records, mine).any()]:
        earlier += near
        rest = [one for one in rest if one not in near]
        mine = np.unique(np.concatenate([mine, *(one.table.records for one in near)]))
    findings = list[Finding]()
    if earlier and tables:
        findings += linked_findings(tables, limits=limits, earlier=earlier, until=until)
    differences, complete = difference_findings(tables, limits=limits, earlier=earlier, until=until)
    findings += differences
    if not complete:
        message = "too many differences of tables to compare all of them"
        hint = "look for tables that filter nearly the same units twice"
        findings.append(Finding(rule=LEFT, severity=Severity.REVIEW, what=message, hint=hint))
    unknown = left + [
        f"submission {number}, {one}" for number, (_, missing) in others.items() for one in missing
    ]
    if others and unknown:
        hint = "check whether they disclose values that another submission withholds"
        findings.append(uncompared("not compared with tables of other submissions", unknown, hint))
    return findings


#: All that belongs to a submission.
_CONTENT = {
    "submissions": "SELECT * FROM submissions WHERE id = ?",
    "files": "SELECT * FROM files WHERE submission = ? ORDER BY rowid",
    "findings": "SELECT * FROM findings WHERE submission = ? ORDER BY rowid",
    # Of submissions of before; whom later ones are about is in their tables.
    "universes": "SELECT * FROM universes WHERE submission = ? ORDER BY rowid",
}


def content_digest(connection: sqlite3.Connection, number: int) -> str:
    """The digest of all that belongs to a submission, which its entry in the record seals."""
    digest = hashlib.sha256()
    for table, query in _CONTENT.items():
        rows = connection.execute(query, (number,))
        for row in rows:
            plain = [value.hex() if isinstance(value, bytes) else value for value in row]
            digest.update(json.dumps([table, *plain]).encode())
    return digest.hexdigest()


def content_problems(queue: Queue, number: int, own: list[Event]) -> list[str]:
    """Files of a submission that differ from the submitted ones."""
    if not own or own[0].kind != "submitted":
        return ["the log lacks the submission"]
    problems = []
    if own[0].facts.get("content") != content_digest(queue.connection, number):
        problems.append("its files or data changed")
    token = queue.told(number, "token")
    for role, name, digest, _ in queue.files(number) if token is not None else ():
        path = queue.store(token) / ("program" if role == "program" else "outputs") / name
        if not path.is_file():
            problems.append(f"{name} is missing")
        elif file_digest(path) != digest:
            problems.append(f"{name} was changed")
    sealed = own[0].facts.get("tables")
    if sealed is not None and token is not None:
        path = queue.store(token) / TABLES
        if not path.is_file() or file_digest(path) != sealed:
            problems.append("its table data changed")
    return problems


def check_contents(queue: Queue, number: int) -> None:
    """Refuse to go on with a submission that is not what was handed in and decided on."""
    where = f"submission {number}"
    with intact(where):
        own = list(events(queue.connection, number))
        problems = content_problems(queue, number, own)
        if any(seal(queue.record_key, event) != event.digest for event in own):
            problems.append("an entry of the log was changed or added")
    if problems:
        message = f"the submission changed: {'; '.join(problems[:5])}"
        hint = "do not decide on it; run: discreet fire queue verify"
        raise queue_error(message, "queue-damaged", where, hint)


#: Submissions that are released, or about to be: of an intent that was not withdrawn.
_RELEASED = """
SELECT submission FROM events WHERE kind IN ('intent', 'withdrawn') GROUP BY submission
HAVING sum(CASE kind WHEN 'intent' THEN 1 ELSE -1 END) > 0
"""


#: What a submission and others give away together, as it was found when either came in.
_OWN = "SELECT what FROM findings WHERE rule = 'difference' AND submission = ?"
_NAMED = """
SELECT submission, what FROM findings WHERE rule IN ('linked-tables', 'difference')
AND submission IS NOT ?1 AND instr(what || '; ' || hint, 'submission ' || ?1 || ', ') > 0
"""
_LINKED = "SELECT what FROM findings WHERE rule = 'linked-tables' AND submission = ?"
#: Submissions that gave something away with others, of those up to one.
_BEFORE = """
SELECT DISTINCT submission FROM findings
WHERE rule IN ('linked-tables', 'difference') AND submission <= ?
"""
#: Submissions of which something was decided output by output.
_DECIDED = "SELECT DISTINCT submission FROM events WHERE kind = 'decided'"
#: How findings name the submission of a table.
_SUBMISSION = re.compile(r"\bsubmission (\d+), ")
#: Seconds that tables are held against released ones for once more.
_SECONDS = 10.0


def conflict_sentences(queue: Queue, number: int) -> list[str]:
    """Conflicts of the shown outputs of a submission with all released ones."""
    out = released_numbers(queue) - {number}
    named = queue.connection.execute(_NAMED, (number,)).fetchall()
    later = [(other, what) for other, what in named if other in out]
    decided = {one for (one,) in queue.connection.execute(_DECIDED)}
    own = [what for (what,) in queue.connection.execute(_OWN, (number,))]
    here = (number, *out)
    told = [_others(what) for (what,) in queue.connection.execute(_LINKED, (number,))]
    linked = any(others and out.issuperset(others) for others in told)
    # What was known from others as one came in counts no more if these are not released.
    before = queue.connection.execute(_BEFORE, (max(here),)).fetchall()
    waits = any(one not in here for (one,) in before)
    cut = any(stopped(queue, one) for one in here)
    partly = waits or cut or not decided.isdisjoint(here)
    partly |= any(MORE in what or not out.issuperset(_others(what)) for what in own)
    if partly:
        # What is shown gives away with what is released; withheld cells only where they may.
        shown = {one: shown_tables(queue, one) for one in (number, *sorted(out))}
        tables, _ = shown.pop(number) or ([], [])
        earlier = [one for other in shown.values() if other is not None for one in other[0]]
        limits, until = SafeLimits(minimum=queue.settings.minimum), time.monotonic() + _SECONDS
        options: dict[str, Any] = {"limits": limits, "earlier": earlier, "until": until}
        together, complete = difference_findings(tables, **options)
        if cut or (waits and not linked):
            together += linked_findings(tables, **options)
        anew = [one.what.replace(f"submission {number}, ", "") for one in together]
        own = anew if complete else [*own, *anew]
        later = [
            (other, what)
            for other, what in later
            if (what,) not in queue.connection.execute(_OWN, (other,)).fetchall()
        ]
    sentences = []
    for what in own:
        others = _others(what)
        if others and out.issuperset(others):
            sentences.append(f"{what}, released as {' and '.join(map(str, others))}")
    return [*sentences, *(f"released as {other}, with this one: {what}" for other, what in later)]


def _others(what: str) -> list[int]:
    """The submissions that a finding names."""
    return sorted(set(map(int, _SUBMISSION.findall(what))))


def stopped(queue: Queue, number: int) -> bool:
    """Whether a submission has no outputs, or its run ended with an error."""
    query = "SELECT count(*) FROM files WHERE submission = ? AND role = 'output'"
    failed = "SELECT count(*) FROM findings WHERE submission = ? AND stage = 'run'"
    outputs = queue.connection.execute(query, (number,)).fetchone()[0]
    errors = queue.connection.execute(f"{failed} AND severity = 'error'", (number,)).fetchone()[0]
    return not outputs or bool(errors)


def released_numbers(queue: Queue) -> frozenset[int]:
    """The submissions that are released, or about to be."""
    return frozenset(number for (number,) in queue.connection.execute(_RELEASED))


def tables_of_others(queue: Queue) -> dict[int, tuple[list[ShownTable], list[str]]]:
    """Tables of all submissions that are or may be released, without withheld outputs.

    One that stopped is no witness until it is released.
    """
    tables = {}
    released = released_numbers(queue)
    for (number,) in queue.connection.execute("SELECT id FROM submissions").fetchall():
        with intact(f"submission {number}"):
            open_now = standing(events(queue.connection, number)).state.open
        if number in released or (open_now and not stopped(queue, number)):
            shown = shown_tables(queue, number)
            if shown is not None:
                tables[number] = shown
    return tables


def shown_tables(queue: Queue, number: int) -> tuple[list[ShownTable], list[str]] | None:
    """Tables of a submission without withheld outputs; None if unknown."""
    path = queue.store(queue.told(number, "token")) / TABLES
    if not path.is_file():
        return None
    with intact(f"submission {number}"):
        current = standing(events(queue.connection, number))
    tables, left = read_tables(path.read_bytes())
    shown = []
    for one in tables:
        name = one.table.name
        is_held = any(part.covers(name) for part in current.held)
        if not is_held or any(part.covers(name) for part in current.shown):
            shown.append(one.moved(name=f"submission {number}, {name}"))
    return shown, left


def all_tables(queue: Queue, number: int) -> list[ShownCounts]:
    """The cells and records of all tables of a submission, held back or not."""
    path = queue.store(queue.told(number, "token")) / TABLES
    tables = read_tables(path.read_bytes())[0] if path.is_file() else []
    return [one.table for one in tables]
