"""Releases in the forms of others: Five Safes RO-Crate (in a BagIt folder) and SACRO.

In: a review queue and the number of a released submission (CONFIDENTIAL). Out: a folder with the
released outputs alone and what was decided on them. Persons, reasons and comments are in it only
if somebody asks for a folder that stays inside; nothing that was held back is in either.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from discreet.cli import Json, command, show
from discreet_fire.cli import Folder, Number
from discreet_fire.findings import Severity
from discreet_fire.persons import plain_text
from discreet_fire.queue import (
    Event,
    Queue,
    QueueView,
    State,
    folder_problem,
    open_queue,
    queue_error,
    target_of,
    view,
)
from discreet_fire.research_session import (
    RESULTS,
    placed,
    sacro_document,
    sacro_entry,
    with_checksums,
)

#: What the crate says that it keeps to, and the terms of its checks.
_CRATE, _PROFILE = "https://w3id.org/ro/crate/1.1", "https://w3id.org/5s-crate/0.4"
_CHECK = "https://w3id.org/shp#DisclosureCheck"
_SUMS = "https://w3id.org/shp#GenerateCheckValue"
_DONE = "http://schema.org/CompletedActionStatus"
_SHA = "https://www.iana.org/assignments/named-information#sha-512"


@dataclass(frozen=True, kw_only=True)
class CratePublisher:
    """Publisher of a crate."""

    name: str  # of the data centre
    address: str  # its address in the web
    licence: str  # the address of the licence of the outputs

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", plain_text(self.name, "publisher"))
        for field, text in (("publisher", self.address), ("licence", self.licence)):
            if not text.startswith(("https://", "http://")) or not text.isprintable():
                hint = "such as https://fdz.example.org/"
                raise queue_error("not a web address", "crate", field, hint)


def write_crate(
    queue: Queue, number: int, folder: Path, publisher: CratePublisher, *, internal: bool = False
) -> Path:
    """Write a release as a Five Safes RO-Crate."""
    entry, files = _released(queue, number)
    inside = {f"data/outputs/{name}": data for name, data in files.items()}
    crate = _metadata(entry, files, publisher, internal=internal)
    metadata = json.dumps(crate, ensure_ascii=False, indent=2) + "\n"
    inside["data/ro-crate-metadata.json"] = metadata.encode()
    about = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
    tags = {"bagit.txt": about, "manifest-sha512.txt": _manifest(inside)}
    whole = {**inside, **tags, "tagmanifest-sha512.txt": _manifest(tags)}
    return placed(whole, folder, "crate")


def write_decided(queue: Queue, number: int, folder: Path, *, internal: bool = False) -> Path:
    """Write a release in the form of SACRO, with what was decided on each output."""
    entry, files = _released(queue, number)
    standing = entry.row.standing
    home = queue.store(queue.told(number, "token")) / "outputs"
    grave = (Severity.REVIEW, Severity.ERROR)
    looked = any(one.severity in grave for one in entry.findings)
    written: dict[str, bytes] = {}
    results: dict[str, Any] = {}
    for part in standing.shown:
        name, data = part.file, files.get(part.file, b"")
        if part.end is not None:  # one of several in a log
            name, data = f"output_{part.number}.txt", part.text(home).encode()
        written[name] = data
        decision = standing.decisions.get(part.number)
        verdict: dict[str, str] = {"verdict": standing.verdict(part).value}
        if internal and decision is not None:
            verdict |= {"comment": decision.comment, "person": decision.person}
        results[f"output_{part.number}"] = sacro_entry(
            f"output_{part.number}",
            [name],
            status="review" if looked else "pass",
            command=part.title,
            summary="approved and released",
            timestamp=entry.history[-1].at,
            decision=verdict,
        )
    written[RESULTS] = sacro_document(results, indent=2).encode()
    return placed(with_checksums(written), folder, "crate")


def _released(queue: Queue, number: int) -> tuple[QueueView, dict[str, bytes]]:
    """A submission and the bytes of its released outputs, as they were approved."""
    entry = view(queue, number)
    standing, where = entry.row.standing, f"submission {number}"
    if standing.state is not State.released:
        message = f"only released submissions can be written; this one is {standing.state.value}"
        raise queue_error(message, "not-released", where)
    target = target_of(queue, standing)
    problem = folder_problem(target, standing.intent, standing.record)
    if problem:
        raise queue_error(f"the released folder: {problem}", "queue-damaged", where)
    return entry, {name: (target / name).read_bytes() for name in standing.intent["outputs"]}


def _metadata(
    entry: QueueView, files: Mapping[str, bytes], publisher: CratePublisher, *, internal: bool
) -> dict[str, Any]:
    row, released = entry.row, entry.history[-1]
    approved = [one for one in entry.history if one.kind == "approved"]

    def action(key: str, kind: str, more: str, name: str, event: Event, **parts: Any) -> Any:
        about = {"additionalType": {"@id": more}, "name": name, "endTime": event.at}
        agent = {"@id": publisher.address}
        return (
            _node(key, kind, **about, object={"@id": "./"}, agent=agent, actionStatus=_DONE) | parts
        )

    actions = [
        _node(
            *("#run", "CreateAction"),
            name=f"Outputs of {row.program}",
            actionStatus=_DONE,
            agent={"@id": "#researcher"},
            instrument={"@id": "#program"},
            endTime=entry.history[0].at,
            result=[{"@id": _place(name)} for name in files],
        )
    ]
    persons = []
    for at, one in enumerate(approved, 1):
        parts: dict[str, Any] = {}
        if internal:
            parts = {"agent": {"@id": f"#officer-{at}"}, "description": one.reason}
            persons.append(_node(f"#officer-{at}", "Person", name=one.person))
        name = "Disclosure check of the outputs: approved"
        actions.append(action(f"#disclosure-{at}", "AssessAction", _CHECK, name, one, **parts))
    sha, name = {"@id": _SHA}, "checksums written"
    actions.append(action("#checksums", "UpdateAction", _SUMS, name, released, instrument=sha))
    parts_of = [_file(row.standing, *file, internal=internal) for file in files.items()]
    root = _node(
        *("./", "Dataset"),
        name=f"Release {row.number}",
        description="Outputs of research on confidential data, checked and approved",
        datePublished=released.at,
        license={"@id": publisher.licence},
        conformsTo={"@id": _PROFILE},
        author={"@id": "#researcher"},
        hasPart=[{"@id": one["@id"]} for one in parts_of],
        mainEntity={"@id": "#program"},
        mentions=[{"@id": one["@id"]} for one in actions],
        publisher={"@id": publisher.address},
        sourceOrganization={"@id": "#project"},
    )
    researcher = row.researcher if internal else "researcher of the project"
    about = {"about": {"@id": "./"}, "conformsTo": {"@id": _CRATE}}
    graph = [
        _node("ro-crate-metadata.json", "CreativeWork", **about),
        root,
        _node(_PROFILE, "Profile", name="Five Safes RO-Crate profile"),
        *parts_of,
        *actions,
        _node(publisher.address, "Organization", name=publisher.name, url=publisher.address),
        _node(publisher.licence, "CreativeWork", name=publisher.licence),
        _node("#project", "Project", name=row.project or "project"),
        _node("#researcher", "Person", name=researcher),
        _node("#program", "SoftwareSourceCode", name=row.program),
        _node(_SHA, "DefinedTerm", name="sha-512 algorithm"),
        *persons,
    ]
    return {"@context": f"{_CRATE}/context", "@graph": graph}


def _node(key: str, kind: str, **parts: Any) -> dict[str, Any]:
    return {"@id": key, "@type": kind, **parts}


def _file(standing: Any, name: str, data: bytes, *, internal: bool) -> dict[str, Any]:
    """A released file with what was decided on it."""
    inside = [part for part in standing.shown if part.file == name]
    verdicts = sorted({standing.verdict(part).value for part in inside})
    entity = _node(
        *(_place(name), "File"),
        name=name,
        encodingFormat=mimetypes.guess_type(name)[0] or "text/plain",
        contentSize=str(len(data)),
        sha256=hashlib.sha256(data).hexdigest(),
        description=f"decided: {', '.join(verdicts)}",
    )
    decided = (one for n, one in standing.decisions.items() for p in inside if p.number == n)
    if internal and (comments := [one.comment for one in decided if one.comment]):
        entity["comment"] = comments
    return entity


def _place(name: str) -> str:
    return f"outputs/{quote(name)}"


def _manifest(files: Mapping[str, bytes]) -> bytes:
    lines = (
        f"{hashlib.sha512(data).hexdigest()}  {name.replace('%', '%25')}\n"
        for name, data in sorted(files.items())
    )
    return "".join(lines).encode()


def add_commands(_: typer.Typer, queue: typer.Typer) -> None:
    """Add `discreet fire queue export`."""
    example = "discreet fire queue export 1 --queue q --sacro sacro"
    command(queue, "export", example=example)(export_release)


def export_release(
    number: Number,
    queue: Folder,
    crate: Annotated[
        Path | None, typer.Option(help="New folder: a Five Safes RO-Crate in BagIt.")
    ] = None,
    sacro: Annotated[
        Path | None, typer.Option(help="New folder: results.json and outputs as of SACRO.")
    ] = None,
    publisher: Annotated[str, typer.Option(help="Name of the centre, for the crate.")] = "",
    address: Annotated[str, typer.Option(help="Its address in the web.")] = "",
    licence: Annotated[str, typer.Option(help="Address of the licence of the outputs.")] = "",
    internal: Annotated[
        bool,
        typer.Option("--internal", help="With persons, reasons and comments. CONFIDENTIAL."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a release in the forms of others, with what was decided."""
    if crate is None and sacro is None:
        raise typer.BadParameter("name a folder with --crate or --sacro")
    written = {}
    with open_queue(queue) as opened:
        if crate is not None:
            by = CratePublisher(name=publisher, address=address, licence=licence)
            written["crate"] = write_crate(opened, number, crate, by, internal=internal)
        if sacro is not None:
            written["sacro"] = write_decided(opened, number, sacro, internal=internal)
    text = "\n".join(f"Release {number} is in {path}." for path in written.values())
    show(text, {name: str(path) for name, path in written.items()}, as_json=as_json)
