"""Stages of a session of a researcher: take the folder in, repeat it on the data of the centre.

In: a folder that `ResearchSession.finalise` wrote, or somebody else (CONFIDENTIAL). Out: its
outputs one by one, with what the researcher says of them. Where the data are named, each call is
made again, and an output that comes out otherwise is an error; without data an officer is told that
nobody checked how the outputs were made. Folders of SACRO are taken, too, and not repeated.
"""

from __future__ import annotations

from pathlib import Path

from discreet_fire.findings import Severity
from discreet_fire.queue.database import queue_error
from discreet_fire.queue.linked_submissions import SubmissionTables
from discreet_fire.queue.parts import OutputPart
from discreet_fire.queue.stages import (
    STAGES,
    Stage,
    StageFinding,
    SubmissionWork,
    note_universes,
    record_tables,
)
from discreet_fire.research_session import (
    MANIFEST,
    OUTPUTS,
    RESULTS,
    CallResult,
    HandedOutput,
    RepeatedOutput,
    SessionData,
    manifest_of,
    read_folder,
    read_manifest,
    read_sacro,
    repeated,
)
from discreet_fire.runners import StatisticShown
from discreet_fire.statistics import SafeLimits

_SEVERITIES = {"review": Severity.REVIEW, "fail": Severity.INFO}


def take_in(work: SubmissionWork) -> None:
    """Copy the outputs of a session, and note what was found and said about each."""
    home = work.folder / "program"
    handed = read_folder(home)
    target = work.folder / "outputs"
    target.mkdir(mode=0o700)
    if handed.project != work.submission.project:
        message = f"the session is of the project {handed.project!a}"
        work.note(
            "session", "project", Severity.REVIEW, message, "is it the project submitted for?"
        )
    for one in handed.outputs:
        for name in one.files:
            copy = target / name
            copy.write_bytes((home / OUTPUTS / name).read_bytes())
            work.outputs.append(copy)
        _note_output(work, one)
    work.parts = [part for one in handed.outputs for part in _parts(one, target, None)]


def _note_output(work: SubmissionWork, one: HandedOutput) -> None:
    for check in one.checks:
        severity = _SEVERITIES.get(check.verdict, Severity.REVIEW)
        where = f" ({check.where})" if check.where else ""
        hint = "withheld" if severity is Severity.INFO else ""
        _note(work, one, check.rule, severity, f"{check.reason}{where}", hint)
    if one.comment:
        _note(work, one, "comment", Severity.INFO, f"the researcher says: {one.comment}")
    if one.exception:
        message = f"an exception is asked for: {one.exception}"
        _note(
            work, one, "exception-requested", Severity.REVIEW, message, "accept it or hold it back"
        )


def _note(
    work: SubmissionWork,
    one: HandedOutput,
    rule: str,
    severity: Severity,
    message: str,
    hint: str = "",
) -> None:
    fields = {"line": one.number, "severity": severity, "rule": rule, "hint": hint}
    message = f"output {one.number}, {one.name}: {message}"
    work.findings.append(StageFinding.of("session", MANIFEST, {**fields, "what": message}))


def repeat(work: SubmissionWork) -> None:
    """Repeat the session on the data of the centre."""
    handed = read_manifest(work.folder / "program")
    data = work.submission.data
    if not data:
        message = "nobody repeated the session; its outputs are what the researcher submitted"
        hint = "hand it in with --data to have every output made again"
        work.note("session", "not-repeated", Severity.REVIEW, message, hint)
        return
    if len(data) > 1:
        message = "a session is repeated on one file of data"
        raise queue_error(message, "submission", MANIFEST, "name it with --data")
    unit = work.submission.unit or handed.entity
    if handed.entity != unit:
        message = "the session did not count cases by the variable that the centre names"
        work.note("session", "entity", Severity.REVIEW, message, "begin it with entity=…")
    records = SessionData.of(Path(data[0]), unit)
    done = repeated(handed, records, work.submission.limits or SafeLimits())
    same = [one for one in done.outputs if _is_same(work, one)]
    work.tables = SubmissionTables()
    for one in same:
        if one.result is not None and one.result.used:  # texts are about nobody knows whom
            record_tables(work, _statistic(one.handed, one.result, records))
    for at in done.unfollowed:
        message = f"output {at}: its counts were not held against those of other tables"
        work.note("session", "linked-tables", Severity.REVIEW, message, "weighted tables are not")
    work.findings += [StageFinding.of("session", MANIFEST, one) for one in done.linked]
    known = {one.handed.number: one.result for one in same}
    work.parts = [
        part
        for one in handed.outputs
        for part in _parts(one, work.folder / "outputs", known.get(one.number))
    ]


def _is_same(work: SubmissionWork, one: RepeatedOutput) -> bool:
    """Whether an output came out as it was handed in."""
    if one.result is None:
        _note(work, one.handed, "not-repeated", Severity.ERROR, f"it fails here: {one.failure}")
        return False
    home = work.folder / "outputs"
    files = {name: text.encode() for name, text in one.files.items()}
    if files != {name: (home / name).read_bytes() for name in one.handed.files}:
        message = "made again on the data of the centre it is another one"
        hint = "other data, other rules, or a changed output"
        _note(work, one.handed, "repeated-differs", Severity.ERROR, message, hint)
        return False
    _note(work, one.handed, "repeated", Severity.INFO, "made again, and the same")
    return True


def _statistic(one: HandedOutput, result: CallResult, records: SessionData) -> StatisticShown:
    return StatisticShown(
        line=one.number,
        command=one.call.method,
        universes=result.about,
        units=records.owners(result.where),
        numbers=records.numbers(result.where),
        first=records.frame.height,
        frame=records.chosen(result.used, result.where),
        groups=result.groups,
        categories=frozenset(result.groups if result.about == "model" else ()),
        missing=result.missing,
        tables=tuple(one.numbers for one in result.linked),
    )


def _parts(one: HandedOutput, home: Path, result: CallResult | None) -> list[OutputPart]:
    """Its files; which variables they are about is known once they were made here."""
    lines = None if result is None else (one.number, one.number + 1)
    names = None if result is None else frozenset(result.variables)
    title = f"{one.name}: {one.call.call}"
    return [OutputPart.of_file(home / name, title, lines, names) for name in one.files]


def take_sacro(work: SubmissionWork) -> None:
    """Copy the outputs of a folder of SACRO, and note what it says and what is wrong with it."""
    home = work.folder / "program"
    folder = read_sacro(home)
    target = work.folder / "outputs"
    target.mkdir(mode=0o700)
    work.parts = []
    for at, (name, one) in enumerate(folder.outputs.items(), start=1):
        for file in one.files:
            copy = target / file.name
            copy.write_bytes((home / file.name).read_bytes())
            work.outputs.append(copy)
            work.parts.append(OutputPart.of_file(copy, f"{name}: {one.command}"))
        remarks = [("sacro-status", f"{one.status}: {' '.join(one.summary.split())}")] * (
            one.status != "pass"
        )
        remarks += [("sacro-shown", message) for key, message in folder.wrong if key == name]
        remarks += [("exception-requested", f"an exception is asked for: {one.exception}")] * bool(
            one.exception
        )
        for rule, message in remarks:
            severity = Severity.ERROR if rule == "sacro-shown" else Severity.REVIEW
            _note_sacro(work, at, name, rule, severity, message)
        for comment in one.comments:
            message = f"the researcher says: {comment}"
            _note_sacro(work, at, name, "comment", Severity.INFO, message)
    message = "another program made and checked the outputs; nothing of it was repeated here"
    hint = "look at each output; rows, weights and other tables were not looked at"
    work.note("session", "not-repeated", Severity.REVIEW, message, hint)


def _note_sacro(
    work: SubmissionWork, at: int, name: str, rule: str, severity: Severity, message: str
) -> None:
    fields = {"line": at, "severity": severity, "rule": rule, "what": f"output {name}: {message}"}
    work.findings.append(StageFinding.of("sacro", RESULTS, fields))


#: What a session goes through, in order, and a folder of SACRO.
SESSION_STAGES: tuple[Stage, ...] = (take_in, repeat, note_universes)
SACRO_STAGES: tuple[Stage, ...] = (take_sacro, note_universes)


def stages_for(program: Path) -> tuple[Stage, ...]:
    """What a submission goes through, by what was handed in."""
    return {MANIFEST: SESSION_STAGES, RESULTS: SACRO_STAGES}.get(manifest_of(program) or "", STAGES)
