"""What officers see and decide: on single outputs, on submissions; each by a person, for good.

In: a queue. Out: the list with the riskiest first, one submission in full, without a figure of the
data but the outputs themselves; entries of the record, with a reason. A decision names the version
it is about; if the submission changed since, nothing is decided. Approvals are bound to
what was decided on each output: whoever decides otherwise takes them back.

Three things give an output away that is held back: its figures stand in another one; the records
behind one of its figures are those of other outputs of the same variables, put together and taken
from each other; or another output tells of the same variables, and nobody has said that this is no
matter. Where it cannot be told, outputs count as linked.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from discreet.arrays import IntArray
from discreet.disclosure import ShownSets, TooManySetsError
from discreet.files import texts_of
from discreet_fire.findings import Severity
from discreet_fire.linked_tables import ShownCounts
from discreet_fire.persons import plain_name, plain_text, same_person
from discreet_fire.queue.contents import (
    StageFinding,
    all_tables,
    check_contents,
    conflict_sentences,
)
from discreet_fire.queue.folder import (
    ANSWERED,
    ASKED,
    LOG_HELD,
    NOT_RUN,
    SAID,
    Event,
    OutputDecision,
    PartVerdict,
    Queue,
    Standing,
    State,
    events,
    intact,
    queue_error,
    standing,
)
from discreet_fire.queue.parts import OutputPart
from discreet_fire.runners import FIGURES

#: Figures that an output must have before a copy is known by them.
_LEAST_FIGURES = 3
_FIGURE = re.compile(r"(?<![\w.,])-?\d[\d.,]*")
#: Outputs times outputs, or cells: with more, nobody waits until each was tried.
_MOST_IF_HELD = 20_000


def links_of(queue: Queue, number: int, found: Standing) -> list[str]:
    """Outputs that would reveal withheld ones, as sentences."""
    if not found.held:
        return []
    home = queue.store(queue.told(number, "token")) / "outputs"
    return _SubmissionShown.of(found.parts, home, all_tables(queue, number)).links(found)


def links_if_held(queue: Queue, number: int, found: Standing) -> dict[int, list[str]]:
    """For each output, what would give it away if it alone were held back.

    Returns:
        Sentences by the number of the output; nothing of outputs of which there are too many.
    """
    tables = all_tables(queue, number)
    cells = sum(one.hidden.size for one in tables)
    if len(found.parts) * max(len(found.parts), cells) > _MOST_IF_HELD:
        return {}
    home = queue.store(queue.told(number, "token")) / "outputs"
    shown = _SubmissionShown.of(found.parts, home, tables)
    held = OutputDecision(verdict=PartVerdict.hold)
    return {
        one.number: shown.links(replace(found, decisions={one.number: held})) for one in found.parts
    }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class _SubmissionShown:
    """What a submission shows: texts and figures of its outputs, and their cells (confidential).

    Cells, 0 for those of no output, are atoms: records that are in the same cells; `atom_of` is the
    atom of each record.
    """

    texts: Mapping[int, str]
    figures: Mapping[int, frozenset[str]]
    cells: Mapping[int, list[IntArray]]
    atom_of: IntArray

    @classmethod
    def of(cls, parts: Sequence[OutputPart], home: Path, tables: Sequence[ShownCounts]) -> Self:
        """What outputs show, and the tables in them."""
        texts = {one.number: " ".join(one.text(home).split()) for one in parts}
        figures = {}
        for at, text in texts.items():  # however they are grouped; zeros and ones tell nothing
            plain = (one.replace(",", "").rstrip(".") for one in _FIGURE.findall(text))
            figures[at] = frozenset(one for one in plain if one.strip("-0.") not in ("", "1"))
        nothing = np.zeros(0, dtype=np.int64)
        every = np.unique(np.concatenate([nothing, *(one.records for one in tables)]))
        signature = np.zeros(len(every), dtype=np.uint64)
        drawn = np.random.default_rng(1)
        sets: list[tuple[str, IntArray]] = []
        for table in tables:
            for records in table.members():
                place = np.searchsorted(every, records)
                signature[place] ^= drawn.integers(1, 2**63, dtype=np.uint64)
                sets.append((table.name, place))
        atom_of = np.unique(signature, return_inverse=True)[1].ravel().astype(np.int64)
        cells = defaultdict(list)
        for name, place in sets:
            for number in [one.number for one in parts if one.covers(name)] or [0]:
                cells[number].append(np.unique(atom_of[place]))
        return cls(texts=texts, figures=figures, cells=cells, atom_of=atom_of)

    def links(self, found: Standing) -> list[str]:
        """What gives away outputs that are held back."""
        copies, sums, same = list[str](), list[str](), list[str]()
        for held in found.held:
            name, figures = f"the withheld output {held.number}", self.figures[held.number]
            try:
                if others := self._givers(held, found.shown):
                    plural, listed = "s" * (len(others) > 1), " and ".join(map(str, others))
                    sums.append(f"{name} can be computed from output{plural} {listed}")
            except TooManySetsError:
                sums.append(f"{name} has too many cells to examine")
            for other in found.shown:
                same_text = self.texts[held.number] == self.texts[other.number]
                many = len(figures) >= _LEAST_FIGURES
                if same_text or (many and figures <= self.figures[other.number]):
                    copies.append(f"output {other.number} shows the values of {name}")
                if found.verdict(other) is PartVerdict.accept and held.shares_names(other):
                    same.append(f"output {other.number} may use the same variables as {name}")
        return [*copies, *sums, *same]

    def _givers(self, held: OutputPart, shown: Sequence[OutputPart]) -> list[int]:
        """The shown outputs of the variables of a held one that give it away, all together."""
        own = self.cells.get(held.number, [])
        others = [one for one in shown if held.shares_names(one)]
        numbers = [one.number for one in others]
        unknown = any(one.names is None for one in others)
        if unknown:  # nobody knows whose these are
            numbers.append(0)
        members = [(number, one) for number in numbers for one in self.cells.get(number, [])]
        told = frozenset().union(*(one.names or () for one in others))
        if held.names is not None and not unknown and not held.names <= told:
            return []  # they do not tell of all its variables
        if not own or not members:
            return []
        wanted = np.zeros((len(own), int(self.atom_of.max(initial=-1)) + 1), dtype=np.bool_)
        for at, atoms in enumerate(own):
            wanted[at, atoms] = True
        owners = np.arange(len(self.atom_of))
        sets = ShownSets([one for _, one in members], self.atom_of, owners, wanted.shape[1])
        known = np.flatnonzero(sets.follows(wanted))
        used = {members[at][0] for at, _ in sets.reason(wanted[known[0]])} if len(known) else set()
        return sorted(used - {0}) or sorted({one.number for one in others} if used else set())


def decide(
    queue: Queue,
    number: int,
    decisions: Mapping[int, OutputDecision],
    *,
    person: str,
    reason: str,
    version: int,
) -> Standing:
    """Decide on single outputs of a submission; approvals of before no longer count."""
    with queue.writing():
        who = _allowed(queue, number, person, version)
        check_contents(queue, number)
        current = standing_of(queue, number)
        where, known = f"submission {number}", {one.number for one in current.parts}
        if not decisions:
            raise queue_error("no outputs given", "decision", where, "give the numbers of outputs")
        if unknown := sorted(set(decisions) - known):
            hint = "see: discreet fire queue show" if known else "decide on it as a whole"
            raise queue_error(f"output {unknown[0]} not found", "decision", where, hint)
        chosen = {}
        for at, one in sorted(decisions.items()):
            comment = plain_text(one.comment, "comment")
            if one.verdict is not PartVerdict.accept and not comment:
                message = "withheld outputs and exceptions need a comment"
                raise queue_error(message, "reason", f"{where}, output {at}", "say why")
            chosen[str(at)] = [one.verdict.value, comment]
        verdicts = [one.verdict for one in (*decisions.values(), *current.decisions.values())]
        plain = all(one is PartVerdict.accept for one in verdicts)
        needed = current.needed if plain else max(queue.settings.approvals, current.needed)
        payload: dict[str, object] = {"decisions": chosen, "needed": needed}
        queue.append("decided", person=who, reason=reason, submission=number, payload=payload)
        after = standing_of(queue, number)
        if not after.undecided:
            check_decided(queue, number, after)
        return after


def check_decided(queue: Queue, number: int, found: Standing) -> None:
    """Refuse what leaves outputs open, shows nothing, or gives away what is held back."""
    where = f"submission {number}"
    if found.undecided:
        open_ones = ", ".join(str(one.number) for one in found.undecided[:20])
        message = f"undecided outputs: {open_ones}"
        raise queue_error(message, "undecided", where, "decide on each output")
    if found.decisions and not found.shown:
        hint = "reject or return the submission"
        raise queue_error("all outputs are withheld", "no-output", where, hint)
    if links := links_of(queue, number, found):
        hint = "hold these back, too, or accept linked ones as exceptions and say why"
        raise queue_error("; ".join(links[:5]), "linked", where, hint)


def approve(
    queue: Queue,
    number: int,
    *,
    person: str,
    reason: str,
    version: int,
    despite_conflicts: bool = False,
) -> Standing:
    """Approve a submission; with four eyes it takes two persons.

    It is about what was decided on each output; if nobody did, all are accepted alike.
    """
    with queue.writing():
        who = _allowed(queue, number, person, version)
        check_contents(queue, number)
        current = standing_of(queue, number)
        if current.question:
            message = f"the researcher has not answered yet: {current.question}"
            raise queue_error(message, "asked", f"submission {number}", "wait, or return it")
        check_decided(queue, number, current)
        conflicts = conflict_sentences(queue, number)
        if conflicts and not despite_conflicts:
            hint = "reject it, or approve it with --despite-conflicts and a reason"
            message = "; ".join(conflicts[:5])
            raise queue_error(message, "conflict", f"submission {number}", hint)
        payload: dict[str, object] = {"conflicts": conflicts, "decided": current.decided}
        queue.append("approved", person=who, reason=reason, submission=number, payload=payload)
        return standing_of(queue, number)


def reject(queue: Queue, number: int, *, person: str, reason: str, version: int) -> Standing:
    """Reject a submission for good."""
    return _end(queue, number, "rejected", person, reason, version)


def ask_for_change(
    queue: Queue, number: int, *, person: str, reason: str, version: int
) -> Standing:
    """Send a submission back; what the researcher changes is a new one."""
    return _end(queue, number, "change", person, reason, version)


def approve_subject(
    queue: Queue, number: int, *, person: str, reason: str, version: int
) -> Standing:
    """Approve a submission subject to a change: it is closed, and one in its place names it."""
    return _end(queue, number, "subject", person, reason, version)


def permit(queue: Queue, number: int, *, person: str, reason: str, version: int) -> Standing:
    """Permit a program that was not run, or whose log was kept back: handed in again unchanged,
    it names this one.
    """
    standing_of(queue, number)
    check_contents(queue, number)
    if not {NOT_RUN, LOG_HELD} & {one.rule for one in _noted(queue, number)}:
        message = "the program needs no permission"
        raise queue_error(message, "permit", f"submission {number}", "decide on its outputs")
    return _end(queue, number, "permitted", person, reason, version)


def ask(queue: Queue, number: int, *, person: str, text: str) -> Standing:
    """Ask the researcher something; until it is answered nobody approves."""
    return _end(queue, number, ASKED, person, text)


def answer(queue: Queue, number: int, *, researcher: str, text: str) -> Standing:
    """Answer what was asked, as the researcher who handed the submission in."""
    with queue.writing():
        current = standing_of(queue, number)
        if not same_person(queue.told(number, "researcher"), researcher):
            message = "only the researcher of the submission can answer"
            raise queue_error(message, "unknown-person", plain_name(researcher))
        if not current.question:
            raise queue_error("no open question", "asked", f"submission {number}")
        _check_open(current, number)
        who = plain_name(researcher)
        queue.append(ANSWERED, person=who, reason=text, submission=number)
        return standing_of(queue, number)


def say(queue: Queue, number: int, *, person: str, text: str) -> Standing:
    """Note something for the others who decide, without deciding."""
    return _end(queue, number, SAID, person, text)


def _end(
    queue: Queue, number: int, kind: str, person: str, reason: str, version: int | None = None
) -> Standing:
    """Take down what an officer does to a submission, or says of it."""
    with queue.writing():
        who = _allowed(queue, number, person, version)
        queue.append(kind, person=who, reason=reason, submission=number)
        return standing_of(queue, number)


def standing_of(queue: Queue, number: int) -> Standing:
    """State of a submission."""
    known = 0 < number < 1 << 63  # what the database takes for a number
    history = list(events(queue.connection, number)) if known else []
    if not history:
        hint = "see: discreet fire queue list"
        raise queue_error("submission not found", "submission", str(number), hint)
    with intact(f"submission {number}"):
        return standing(history)


def check_version(found: Standing, number: int, version: int) -> None:
    """Refuse to act on what has changed since it was seen."""
    if found.version != version:
        message = "the submission changed since your last view"
        hint = f"run again: discreet fire queue show {number}"
        raise queue_error(message, "changed", f"submission {number}", hint)


def _check_open(found: Standing, number: int) -> None:
    if not found.state.open:
        message = f"the submission is closed: {found.state.value}"
        raise queue_error(message, "closed", f"submission {number}")


def _allowed(queue: Queue, number: int, person: str, version: int | None) -> str:
    """The person, if they may decide on the submission now, or talk about it."""
    who = queue.settings.person(person)
    current = standing_of(queue, number)
    if version is not None:
        check_version(current, number, version)
    _check_open(current, number)
    check_not_own(queue, number, who)
    return who


def check_not_own(queue: Queue, number: int, person: str) -> None:
    """Refuse to let somebody decide on, or release, what they handed in."""
    if same_person(queue.told(number, "researcher"), person):
        raise queue_error("you cannot decide on your own submission", "own-submission", person)


# What officers see --------------------------------------------------------------------------------

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
        parts, decisions = [], self.row.standing.decisions
        for part in self.row.standing.parts:
            plain: dict[str, Any] = {"output": part.number, "file": part.file}
            plain |= {"command": part.title, "sha256": part.sha256}
            plain |= {"verdict": None, "comment": "", "person": ""}
            if (decision := decisions.get(part.number)) is not None:
                plain |= vars(decision) | {"verdict": decision.verdict.value}
            parts.append(plain)
        return {
            **self.row.to_dict(),
            "findings": [one.to_dict() for one in self.findings],
            "conflicts": list(self.conflicts),
            "outputs": [str(path) for path in self.outputs],
            "parts": parts,
            "history": [
                {"kind": one.kind, "person": one.person, "reason": one.reason, "at": one.at}
                for one in self.history
            ],
        }

    def called(self, one: StageFinding) -> str:
        """The file that a finding of the run is about, if the program called it."""
        ran = str(Path(one.file).with_suffix("")).removesuffix("_FiRe")
        return "" if ran == Path(self.row.program).stem else one.file


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

        def gravity(one: StageFinding) -> tuple[int, str, int]:
            return _ORDER.index(_kind(one)), one.file, one.line

        return QueueView(
            row=_row(queue, current, *row),
            findings=tuple(sorted(_noted(queue, number), key=gravity)),
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


def _noted(queue: Queue, number: int) -> list[StageFinding]:
    query = "SELECT * FROM findings WHERE submission = ? ORDER BY rowid"
    rows = queue.connection.execute(query, (number,))
    names = [name for name, *_ in rows.description]
    plain = (dict(zip(names, row, strict=True)) for row in rows.fetchall())
    return [StageFinding.of(one["stage"], one["file"], one) for one in plain]
