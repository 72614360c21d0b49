"""What officers see: the queue with the riskiest first, and one submission in full.

In: a queue. Out: `QueueRow`s for a list and `QueueView`s. No figure of the data is in them but the
outputs themselves; `confidential_figures` are apart from them.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.files import texts_of
from discreet_fire.findings import Severity
from discreet_fire.queue.contents import conflict_sentences
from discreet_fire.queue.decisions import standing_of
from discreet_fire.queue.folder import Event, Queue, Standing, State, events, intact
from discreet_fire.queue.parts import OutputPart
from discreet_fire.queue.stages import StageFinding
from discreet_fire.runners import FIGURES

#: What makes a submission risky, the gravest first. What was refused did not run.
_ORDER = ("difference", Severity.ERROR, Severity.REVIEW, Severity.REFUSED, Severity.INFO)


@dataclass(frozen=True, kw_only=True)
class QueueRow:
    """A submission in the list."""

    number: int
    researcher: str  # who handed it in
    project: str  # what for
    program: str  # the do-file
    risk: tuple[int, ...]  # how many findings of each kind there are, the gravest kind first
    standing: Standing  # where it stands

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = ("differences", "errors", "review", "refused", "info")
        return {
            "submission": self.number,
            "researcher": self.researcher,
            "project": self.project,
            "program": self.program,
            "state": self.standing.state.value,
            "version": self.standing.version,
            "approvals": sorted(self.standing.approvals),
            "needed": self.standing.needed,
            "drawn": self.standing.drawn,
            "risk": dict(zip(names, self.risk, strict=True)),
        }

    def __str__(self) -> str:
        return self.line()

    def line(self, language: str = "en") -> str:
        """The submission on one line."""
        words = texts_of("discreet_fire", "queue", language)
        state = texts_of("discreet_fire", "states", language)[self.standing.state.value]
        risk = "/".join(map(str, self.risk))
        drawn = f", {words['drawn']}" if self.standing.drawn else ""
        count = words["approvals"].format(
            n=len(self.standing.approvals), needed=self.standing.needed
        )
        project = f" [{self.project}]" if self.project else ""
        return (
            f"{self.number:>6}  {state:<9} {risk:<12} "
            f"{self.program}, {self.researcher}{project}, {count}{drawn}"
        )


@dataclass(frozen=True, kw_only=True)
class QueueView:
    """A submission in full."""

    row: QueueRow  # as in the list
    findings: tuple[StageFinding, ...]  # what was found, the gravest first
    conflicts: tuple[str, ...]  # conflicts with what is released at this moment
    outputs: tuple[Path, ...]  # where the outputs are, to be looked at. CONFIDENTIAL until released
    history: tuple[Event, ...]  # its entries in the record

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **self.row.to_dict(),
            "findings": [one.to_dict() for one in self.findings],
            "conflicts": list(self.conflicts),
            "outputs": [str(path) for path in self.outputs],
            "parts": [self._part(one) for one in self.row.standing.parts],
            "history": [
                {"kind": one.kind, "person": one.person, "reason": one.reason, "at": one.at}
                for one in self.history
            ],
        }

    def called(self, one: StageFinding) -> str:
        """The file that a finding of the run is about, if the program called it."""
        ran = str(Path(one.file).with_suffix("")).removesuffix("_FiRe")
        return "" if ran == Path(self.row.program).stem else one.file

    def _part(self, part: OutputPart) -> dict[str, Any]:
        decision = self.row.standing.decisions.get(part.number)
        return {
            "output": part.number,
            "file": part.file,
            "command": part.title,
            "sha256": part.sha256,
            "verdict": None if decision is None else decision.verdict.value,
            "comment": "" if decision is None else decision.comment,
            "person": "" if decision is None else decision.person,
        }


def listed(
    queue: Queue, *, every: bool = False, drawn: bool = False, researcher: str | None = None
) -> list[QueueRow]:
    """Submissions, the riskiest first, then the oldest."""
    with queue.reading():
        wanted = " WHERE ?1 IS NULL OR researcher = ?1"
        records = queue.connection.execute(_ROWS + wanted, (researcher,)).fetchall()
        rows = []
        for number, *columns in records:
            now = standing_of(queue, number)
            open_now = now.state.open or now.state is State.releasing
            if (every or open_now) and (now.drawn or not drawn):
                rows.append(_row(queue, now, number, *columns))
    return sorted(rows, key=lambda row: ([-count for count in row.risk], row.number))


def view(queue: Queue, number: int) -> QueueView:
    """One submission in full."""
    with queue.reading():
        current = standing_of(queue, number)
        row = queue.connection.execute(f"{_ROWS} WHERE id = ?", (number,)).fetchone()
        home = queue.store(queue.told(number, "token")) / "outputs"
        conflicts = conflict_sentences(queue, number) if current.state.open else []
        return QueueView(
            row=_row(queue, current, *row),
            findings=tuple(sorted(_noted(queue, number), key=_gravity)),
            conflicts=tuple(conflicts),
            outputs=tuple(home / name for name in queue.outputs(number)),
            history=tuple(events(queue.connection, number)),
        )


def confidential_figures(queue: Queue, number: int) -> list[dict[str, Any]]:
    """Broken rules of each output with their figures, for borderline cases. CONFIDENTIAL.

    Returns:
        Line, command and facts of each output; empty if the program did not run here.
    """
    with queue.reading():
        standing_of(queue, number)
        path = queue.store(queue.told(number, "token")) / FIGURES
        with intact(f"submission {number}"):
            text = path.read_text(encoding="utf-8") if path.is_file() else '{"outputs": []}'
            figures: list[dict[str, Any]] = json.loads(text)["outputs"]
    return figures


_ROWS = "SELECT id, researcher, project, program FROM submissions"


def _row(queue: Queue, current: Standing, number: int, *columns: str) -> QueueRow:
    researcher, project, program = columns
    counted = Counter(map(_kind, _noted(queue, number)))
    return QueueRow(
        number=number,
        researcher=researcher,
        project=project,
        program=program,
        risk=tuple(counted[kind] for kind in _ORDER),
        standing=current,
    )


def _kind(one: StageFinding) -> str:
    return one.rule if one.rule == "difference" else one.severity


def _gravity(one: StageFinding) -> tuple[int, str, int]:
    return _ORDER.index(_kind(one)), one.file, one.line


def _noted(queue: Queue, number: int) -> list[StageFinding]:
    query = "SELECT * FROM findings WHERE submission = ? ORDER BY rowid"
    rows = queue.connection.execute(query, (number,))
    names = [name for name, *_ in rows.description]
    plain = (dict(zip(names, row, strict=True)) for row in rows.fetchall())
    return [StageFinding.of(one["stage"], one["file"], one) for one in plain]
