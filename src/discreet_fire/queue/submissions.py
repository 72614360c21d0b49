"""Submissions enter the queue: processed first, then recorded in one step.

In: a `Submission` (CONFIDENTIAL). Out: its number. An interruption leaves either nothing or all
of it.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from discreet.files import file_digest, kept_on_disk
from discreet_fire.findings import Severity
from discreet_fire.linked_tables import LEFT
from discreet_fire.logs import CleaningRules
from discreet_fire.persons import plain_name, plain_text, same_person
from discreet_fire.queue.contents import (
    TABLES,
    StageFinding,
    content_digest,
    findings_against,
    submitted_files,
    tables_of_others,
)
from discreet_fire.queue.decisions import standing_of
from discreet_fire.queue.folder import RESERVED, Queue, State, events, queue_error
from discreet_fire.queue.stages import (
    Stage,
    Submission,
    SubmissionWork,
    process,
    stages_for,
)
from discreet_fire.statistics import SafeLimits

#: Lines of a log that repeat the program or name it.
_ECHO = re.compile(rb"(?:\{com\})?[.>](?: |$)|\s+(?:\{txt\})?(?:name|log|log type|opened on):")


def submit(queue: Queue, submission: Submission, *, stages: Sequence[Stage] | None = None) -> int:
    """Process a submission and put it into the queue.

    Returns:
        Its number.
    """
    researcher = plain_name(submission.researcher)
    project = plain_text(submission.project, "project") if submission.project else ""
    # The minimum of the queue holds for runs, for logs and for what tables tell together.
    limits = submission.limits or SafeLimits()
    limits = replace(limits, minimum=max(limits.minimum, queue.settings.minimum))
    rules = submission.rules or CleaningRules.default()
    rules = replace(rules, minimum=max(rules.minimum, limits.minimum))
    submission = replace(
        submission, researcher=researcher, project=project, limits=limits, rules=rules
    )
    if stages is None:
        stages = stages_for(submission.program)
    token = secrets.token_hex(16)
    folder = queue.store(token)
    permitted = _permitted(queue, submission)
    with queue.at_work():
        folder.mkdir(mode=0o700)
        try:
            work = process(submission, folder, key=queue.units, stages=stages, permitted=permitted)
            known = _submissions(queue)
            if (tables := folder / TABLES).is_file():  # what all tell together
                others, seconds = tables_of_others(queue), submission.seconds
                for one in findings_against(tables, others, limits=limits, seconds=seconds):
                    work.findings.append(StageFinding.of("ledger", work.copy.name, one))
            for path in (*sorted(folder.rglob("*"), reverse=True), folder, folder.parent):
                kept_on_disk(path)  # all files, before the record says so
            with queue.writing():
                if more := sorted(_submissions(queue) - known):
                    message = "its tables were not compared with submission "
                    message += ", ".join(map(str, more))
                    hint, name = "submit it again", work.copy.name
                    work.note("ledger", LEFT, Severity.REVIEW, message, hint, file=name)
                return _enter(queue, work)
        except BaseException:
            count = "SELECT count(*) FROM submissions WHERE token = ?"
            try:
                entered = queue.connection.execute(count, (token,)).fetchone()[0]
            except sqlite3.Error:
                entered = 1  # not known: what is kept too long is removed at the next start
            if not entered:
                shutil.rmtree(folder, ignore_errors=True)
            raise


def _submissions(queue: Queue) -> set[int]:
    return {number for (number,) in queue.connection.execute("SELECT id FROM submissions")}


def _enter(queue: Queue, work: SubmissionWork) -> int:
    """Take the submission down, within a transaction."""
    connection, submission, folder = queue.connection, work.submission, work.folder
    researcher = submission.researcher
    _check_names(work.outputs)
    home = folder / "program"
    programs = [path for path in sorted(home.rglob("*")) if path.is_file()]
    files = [("program", str(path.relative_to(home)), path) for path in programs]
    files += [("output", path.name, path) for path in work.outputs]
    rows = [(role, name, file_digest(path), path.stat().st_size) for role, name, path in files]
    fingerprint = _digest([researcher.casefold(), submission.project, *rows])
    query = "SELECT id FROM submissions WHERE fingerprint = ?"
    for (same,) in connection.execute(query, (fingerprint,)).fetchall():
        if not standing_of(queue, same).state.replaceable:
            message, where = "the same was submitted before", f"submission {same}"
            raise queue_error(message, "duplicate", where, "see that submission")
    settings = queue.settings
    _note_replaced(queue, work)
    clean = all(one.severity in (Severity.INFO, Severity.REFUSED) for one in work.findings)
    drawn = clean and queue.drawn(_figures(work.outputs), settings.rate)
    needed = settings.clean_approvals if clean and not drawn else settings.approvals
    row = (folder.name, researcher, submission.project, work.copy.name, fingerprint)
    into = "INSERT INTO submissions (token, researcher, project, program, fingerprint)"
    number = connection.execute(f"{into} VALUES (?,?,?,?,?)", row).lastrowid
    assert number is not None
    connection.executemany("INSERT INTO files VALUES (?,?,?,?,?)", [(number, *row) for row in rows])
    connection.executemany(
        "INSERT INTO findings VALUES (?,?,?,?,?,?,?,?)",
        [(number, *one.to_dict().values()) for one in work.findings],
    )
    facts: dict[str, object] = {"needed": needed, "drawn": drawn, "clean": clean}
    facts["content"] = content_digest(connection, number)
    facts["parts"] = [one.to_dict() for one in work.parts or ()]
    facts["replaces"] = submission.replaces
    if (folder / TABLES).is_file():
        facts["tables"] = file_digest(folder / TABLES)
    why = "submitted"
    queue.append("submitted", person=researcher, reason=why, submission=number, payload=facts)
    return int(number)


def _note_replaced(queue: Queue, work: SubmissionWork) -> None:
    """Note what is the same as in the submission that this one replaces, if it may."""
    submission, number = work.submission, work.submission.replaces
    if number is None:
        return
    before, where = standing_of(queue, number), f"submission {number}"
    if not same_person(queue.told(number, "researcher"), submission.researcher):
        raise queue_error("another researcher made that submission", "replaces", where)
    if not before.state.replaceable:
        message = f"what is {before.state.value} is not replaced"
        raise queue_error(message, "replaces", where, "wait until it was decided on")
    old = {one.sha256: one.number for one in before.parts}
    history = [one for one in events(queue.connection, number) if one.kind == before.state.value]
    sentences = [f"it replaces submission {number}, {before.state.value}: {history[-1].reason}"]
    sentences += [
        f"output {one.number} is output {old[one.sha256]} of submission {number}, letter by letter"
        for one in work.parts or ()
        if one.sha256 in old
    ]
    for sentence in sentences:
        work.note("queue", "replaces", Severity.INFO, sentence, file=work.copy.name)


def _permitted(queue: Queue, submission: Submission) -> frozenset[tuple[str, str]]:
    """Name and digest of each file of the program that may run in place of one that did not."""
    number = submission.replaces
    if number is None or standing_of(queue, number).state is not State.permitted:
        return frozenset()
    files = submitted_files(queue, number)
    return frozenset((one.name, one.sha256) for one in files if one.role == "program")


def _check_names(outputs: Sequence[Path]) -> None:
    """Refuse names that a release cannot hold beside its own files and list in one line."""
    for name in (path.name for path in outputs):
        plain = name.isprintable() and "\\" not in name and name == name.strip()
        if name.casefold() in RESERVED or name.startswith(".") or not plain:
            hint = "rename the log, and submit it again"
            message = "an output of this name cannot be released"
            raise queue_error(message, "submission", ascii(name), hint)


def _figures(outputs: Sequence[Path]) -> str:
    """Of results alone: a remark, a name or another researcher is no second draw."""
    lines = [line for path in outputs for line in path.read_bytes().splitlines()]
    return _digest([line.hex() for line in lines if not _ECHO.match(line)])


def _digest(plain: list[object]) -> str:
    text = json.dumps(plain)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
