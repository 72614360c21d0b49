"""Releases: approved outputs in a folder of their own, with checksums, all or none.

In: an approved submission. Out: a folder with the outputs, ``manifest.json`` and
``SHA256SUMS``; nothing in it is confidential, and nothing of it is held back. First the record
says what will be released, then the folder appears under its name in one step, then the record
says that it did. A queue that is opened after an interruption completes or takes back what was
begun; `verify` says whether record, files and released folders are what they were.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import OutputCheckError
from discreet.files import TEMPORARY_SUFFIX, check_writable, file_digest, kept_on_disk
from discreet_fire.queue.contents import (
    check_contents,
    conflict_sentences,
    content_problems,
)
from discreet_fire.queue.decisions import (
    check_decided,
    check_not_own,
    check_version,
    standing_of,
)
from discreet_fire.queue.folder import (
    MANIFEST,
    START,
    SUMS,
    Event,
    Queue,
    Standing,
    State,
    events,
    head,
    intact,
    queue_error,
    seal,
    standing,
    translated,
)
from discreet_fire.queue.parts import without


def release(
    queue: Queue,
    number: int,
    *,
    person: str,
    reason: str,
    version: int,
    out: str | os.PathLike[str] | None = None,
) -> Path:
    """Release an approved submission.

    Returns:
        The new folder.
    """
    parent = queue.folder / "released" if out is None else Path(out)
    check_writable(parent)
    if parent.resolve().is_relative_to((queue.folder / "store").resolve()):
        raise queue_error(
            "the release folder cannot be inside the queue", "release-folder", str(parent)
        )
    target = parent.resolve() / f"release-{number:06d}"
    with queue.at_work():
        with queue.writing():
            record = _intend(queue, number, person, reason, version, target)
        try:
            _make(queue, number, record, target)
        except BaseException:
            # Once the folder is there nothing is taken back: the next start completes the record.
            if not target.exists():
                with suppress(OSError):
                    clear(target)
                with queue.writing():
                    _end(queue, number, "withdrawn", "the release failed; nothing was released")
                shutil.rmtree(pending_folder(target), ignore_errors=True)
            raise
        try:
            with queue.writing():
                _end(queue, number, "released", reason)
        except OutputCheckError as error:
            message = f"the folder is released, but the log is incomplete ({error.what})"
            hint = "the next command completes it; free disk space, or wait for other processes"
            raise queue_error(message, error.code, str(target), hint) from None
    return target


def _intend(queue: Queue, number: int, person: str, reason: str, version: int, target: Path) -> str:
    """Take down what will be released, within a transaction; the digest of the entry."""
    who = queue.settings.person(person)
    current = standing_of(queue, number)
    check_version(current, number, version)
    check_not_own(queue, number, who)
    where = f"submission {number}"
    if current.state is not State.approved:
        message = f"only approved submissions can be released; this one is {current.state.value}"
        count = f"{len(current.approvals)} of {current.needed} persons approved"
        raise queue_error(message, "not-approved", where, count)
    if current.question:
        message = f"the researcher has not answered yet: {current.question}"
        raise queue_error(message, "asked", where, "wait for the answer")
    if not queue.outputs(number):
        raise queue_error("no outputs to release", "no-output", where)
    if target.exists():
        raise queue_error("the folder exists already", "release-folder", str(target))
    check_contents(queue, number)
    check_decided(queue, number, current)
    # Conflicts may have arisen after the approvals, such as by another release.
    accepting = [set(accepted) for accepted in current.approvals.values()]
    new = [
        one
        for one in conflict_sentences(queue, number)
        if sum(one in item for item in accepting) < max(current.needed, 1)
    ]
    if new:
        hint = "approve it again with --despite-conflicts, or reject it"
        raise queue_error("; ".join(new[:5]), "conflict", where, hint)
    home = queue.store(queue.told(number, "token")) / "outputs"
    shown = {name: _shown(home / name, current) for name in queue.outputs(number)}
    outputs = {
        name: hashlib.sha256(one).hexdigest() for name, one in shown.items() if one is not None
    }
    # a place within the queue is found again when the queue was moved
    inside = queue.folder.resolve()
    folder = target.relative_to(inside) if target.is_relative_to(inside) else target
    payload: dict[str, object] = {"folder": str(folder), "outputs": outputs}
    payload["decided"] = current.decided
    pending = pending_folder(target)  # made before the record says so: gone only if it was moved
    if pending.exists():
        shutil.rmtree(pending)
    pending.mkdir()
    kept_on_disk(target.parent)
    return queue.append("intent", person=who, reason=reason, submission=number, payload=payload)


def _shown(path: Path, current: Standing) -> bytes | None:
    """An output without what is held back; None if that is all of it."""
    held = [one for one in current.held if one.file == path.name]
    if not held:
        return path.read_bytes()
    whole = all(one in held for one in current.parts if one.file == path.name)
    return None if whole else without(path, held)


def _end(queue: Queue, number: int, kind: str, reason: str) -> None:
    """Say in the record how a release ended, within a transaction."""
    person = standing_of(queue, number).releaser
    queue.append(kind, person=person, reason=reason, submission=number)


def pending_folder(target: Path) -> Path:
    """Temporary folder of a release before it appears."""
    return target.with_name(f".{target.name}{TEMPORARY_SUFFIX}")


def target_of(queue: Queue, found: Standing) -> Path:
    """The folder of a release that was begun or done."""
    return queue.folder.resolve() / str(found.intent["folder"])


def clear(target: Path) -> None:
    """Take all files out of a pending folder; the folder stays until the record says so."""
    pending = pending_folder(target)
    for path in pending.iterdir() if pending.is_dir() else ():
        path.unlink()


def _make(queue: Queue, number: int, record: str, target: Path) -> None:
    """Fill the folder beside its place, and move it there in one step."""
    pending = pending_folder(target)
    home = queue.store(queue.told(number, "token")) / "outputs"
    current = standing_of(queue, number)
    outputs: dict[str, str] = current.intent["outputs"]
    for name, digest in outputs.items():
        copy = pending / name
        copy.write_bytes(_shown(home / name, current) or b"")
        if file_digest(copy) != digest:
            message = "an output changed since its approval"
            raise queue_error(message, "queue-damaged", f"submission {number}: {name}")
    manifest = {
        "made_by": f"discreet {__version__}",
        "submission": number,
        "program": queue.told(number, "program"),
        "outputs": outputs,
        "record": record,
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
    (pending / MANIFEST).write_bytes(text.encode())
    names = [*outputs, MANIFEST]
    sums = "".join(f"{file_digest(pending / name)}  {name}\n" for name in names)
    (pending / SUMS).write_bytes(sums.encode())
    for path in (*pending.iterdir(), pending):
        kept_on_disk(path)
    pending.rename(target)
    kept_on_disk(target.parent)


def folder_problem(target: Path, intent: Mapping[str, Any], record: str) -> str:
    """Problem of a released folder; empty if there is none."""
    try:
        manifest = json.loads((target / MANIFEST).read_text(encoding="utf-8"))
        lines = (target / SUMS).read_text(encoding="utf-8").splitlines()
        sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
        digests = {path.name: file_digest(path) for path in target.iterdir() if path.name != SUMS}
    except (OSError, ValueError, RecursionError):
        return "files are missing or cannot be read"
    if not isinstance(manifest, dict) or manifest.get("record") != record:
        return "the manifest differs from the log"
    if digests != sums:
        return "files and checksums differ"
    outputs = {name: digest for name, digest in digests.items() if name != MANIFEST}
    return "" if outputs == intent["outputs"] else "the outputs differ from the approved ones"


def open_queue(folder: str | os.PathLike[str]) -> Queue:
    """Open a queue, and put right what an interruption left."""
    queue = Queue.open(folder)
    try:
        with translated(str(folder)), intact(str(folder)):
            recover(queue)
    except BaseException:
        queue.close()
        raise
    return queue


#: Submissions with a release that was begun, and neither done nor taken back.
_UNFINISHED = """
SELECT submission FROM events WHERE kind IN ('intent', 'released', 'withdrawn')
GROUP BY submission HAVING sum(CASE kind WHEN 'intent' THEN 1 ELSE -1 END) > 0
ORDER BY submission
"""


def recover(queue: Queue) -> list[int]:
    """Complete or take back interrupted releases, unless somebody is at work.

    Returns:
        The submissions concerned.
    """
    with queue.at_work(alone=True) as alone:
        if not alone:
            return []
        known = {token for (token,) in queue.connection.execute("SELECT token FROM submissions")}
        for path in (queue.folder / "store").iterdir():  # what an interruption left
            if path.name not in known:
                shutil.rmtree(path)
        settled = []
        for (number,) in queue.connection.execute(_UNFINISHED).fetchall():
            with queue.writing():
                current = standing_of(queue, number)
                target = target_of(queue, current)
                pending = pending_folder(target)
                if not target.parent.is_dir():
                    continue  # the place is not there just now, such as a drive
                if target.exists() and folder_problem(target, current.intent, current.record):
                    continue  # somebody changed it: `verify` tells, and a person decides
                if target.exists():
                    kind, reason = "released", "completed after an interruption"
                elif pending.exists():
                    clear(target)
                    kind, reason = "withdrawn", "interrupted; nothing was released"
                else:
                    kind, reason = "released", "interrupted; the folder was removed"
                _end(queue, number, kind, reason)
            shutil.rmtree(pending, ignore_errors=True)
            settled.append(number)
        for path in (queue.folder / "released").glob(f".release-*{TEMPORARY_SUFFIX}"):
            shutil.rmtree(path)
        return settled


def verify(queue: Queue, *, known_head: str | None = None) -> list[str]:
    """All that is wrong with a queue.

    Returns:
        One sentence for each thing; empty if there is none.
    """
    with queue.reading():
        (sound,) = queue.connection.execute("PRAGMA quick_check(1)").fetchone()
        problems = [] if sound == "ok" else ["the database is damaged"]
        entries = list(events(queue.connection))
        record, previous, of_each = list[str](), START, defaultdict[int, list[Event]](list)
        for at, event in enumerate(entries, 1):
            if event.seq != at or event.previous != previous:
                record.append(f"log: entries before number {event.seq} are missing or added")
                break
            if seal(queue.record_key, event) != event.digest:
                record.append(f"log: entry {event.seq} was changed")
                break
            previous = event.digest
            if event.submission is not None:
                of_each[event.submission].append(event)
        if known_head is not None and all(event.digest != known_head for event in entries):
            record.append("log: the noted entry is missing")
        problems += record
        numbers = {number for (number,) in queue.connection.execute("SELECT id FROM submissions")}
        for number in [] if record else sorted({*numbers, *of_each}):  # else nothing counts
            own = of_each[number]
            wrong = content_problems(queue, number, own)
            if own and own[0].kind == "submitted":
                now = standing(own)
                if now.state is State.releasing:
                    wrong.append("an unfinished release")
                elif now.state is State.released and (
                    differs := folder_problem(target_of(queue, now), now.intent, now.record)
                ):
                    wrong.append(f"released folder: {differs}")
            problems += [f"submission {number}: {one}" for one in wrong]
    return problems


def head_of(queue: Queue) -> str:
    """The digest of the last entry, to be noted elsewhere."""
    return head(queue.connection)[1]
