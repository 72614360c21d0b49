"""Publications that are killed at some lines, each in a process of its own.

python -m tests.helpers.killed_publications FOLDER STEP

In: a folder with a service of which a draft can be published. Out: one JSON line per kill: what
there was then, and after the publication was settled. Polars must not have run before a fork: all
work is done in children.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from discreet.release.state.seal import SEAL, read_seal
from discreet_service.audit.trail import AuditKind
from discreet_service.people.approvals import Proposal
from discreet_service.permissions import Grant, Principal
from discreet_service.releases import publications
from discreet_service.releases.drafts import read_draft, shelf_of
from discreet_service.service import Service
from discreet_service.settings import ServiceSettings

NAME = "people"


def opened(folder: Path) -> Service:
    """The service in a folder."""
    return Service(
        ServiceSettings(
            folder=folder,
            releases=(folder / "releases",),
            secret_file=folder / "service.secret",
            trusted_signers=(folder / "office.pub",),
        )
    )


def producer(name: str) -> Principal:
    """Somebody who may publish."""
    return Principal(name=name, kind="key", grants=(Grant("producer"),))


def proposed(service: Service, name: str = NAME, at: int = 0) -> Proposal:
    """Propose to publish a draft."""
    shelf = shelf_of(service)
    (record,) = shelf.every()
    draft = sorted(shelf.drafts(record.id))[at]
    found = read_draft(shelf.draft(record.id, draft), service.releases.keys, name)
    with service.database.writing() as connection:
        return service.publications.propose(
            connection, found, record, principal=producer("anna"), reason="it is due", dataset=""
        )


def agreed(service: Service, proposal: Proposal) -> None:
    """Agree as the second person."""
    with service.database.writing() as connection:
        service.approvals.approve(connection, proposal.id, producer("bert"), digest=proposal.digest)
    service.publications.finish()


def published(service: Service) -> None:
    """Publish the draft that there is."""
    agreed(service, proposed(service))


def settled(service: Service) -> None:
    """Bring to its end what was begun."""
    service.publications.settle()


def state(folder: Path) -> dict[str, Any]:
    """What there is in a folder: the release, entries, and what was left behind."""
    service = opened(folder)
    try:
        return _state_of(service)
    finally:
        service.close()


def seen_later(folder: Path) -> list[dict[str, Any]]:
    """What there is in a folder, and after it is settled once and twice, each time by a new one."""
    found = [state(folder)]
    for _ in range(2):  # the second time, nothing is left to be done
        service = opened(folder)
        settled(service)
        found.append(_state_of(service))
        service.close()
    return found


def _state_of(service: Service) -> dict[str, Any]:
    folder = service.settings.folder
    entries = [json.loads(line)["kind"] for line in service.trail.export()]
    served = service.releases.releases().get(NAME)
    seal = read_seal(folder / "releases" / NAME / SEAL)
    left = [path.name for path in (folder / "releases").glob(".*.new*")]
    return {
        "published": entries.count(AuditKind.release_published),
        "undone": entries.count(AuditKind.publication_undone),
        "whole": service.trail.verify().whole,
        "served": None if served is None else served.identity,
        "there": None if seal is None else seal.identity,
        "left": left,
        "begun": len(service.publications._begun()),
    }


def _child(act: Callable[[], Any]) -> tuple[int, Any]:
    """Do something in a child; its signal, and what it said."""
    reading, writing = os.pipe()
    number = os.fork()
    if number == 0:
        os.close(reading)
        code = 0
        try:
            said = act()
        except BaseException:
            said, code = traceback.format_exc(), 1
        os.write(writing, json.dumps(said).encode())
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(number, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise AssertionError(json.loads(text))
    return (os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0), json.loads(text or b"null")


def _killed_at(folder: Path, way: Callable[[Service], None], line: int) -> Callable[[], None]:
    """Act, and be killed before so many lines of the modules that publish are done."""

    def act() -> None:
        service, left = opened(folder), line

        def trace(frame: Any, event: str, _: object) -> Any:
            nonlocal left
            if frame.f_code.co_filename != publications.__file__:
                return None
            if event == "line":
                left -= 1
                if left <= 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        service.start()
        service.releases.releases()
        sys.settrace(trace)
        way(service)
        sys.settrace(None)

    return act


def main(template: Path, step: int) -> None:
    """Kill at each of some lines, settle, and say what there is before and after."""
    for line in count(step, step):
        with tempfile.TemporaryDirectory(dir=template.parent) as name:
            folder = Path(name) / "service"
            shutil.copytree(template, folder)
            killed, _ = _child(_killed_at(folder, published, line))
            _, seen = _child(lambda folder=folder: seen_later(folder))
            print(json.dumps({"killed": killed == signal.SIGKILL, "seen": seen}), flush=True)
            if not killed:
                return


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
