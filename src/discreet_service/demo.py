"""The demonstration: a service over an invented census, with keys and logins that are printed.
Nothing in it is secret; it listens on this machine only.
"""

from __future__ import annotations

import json
import random
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.files import make_folder, write_text
from discreet_service.installation import LOCAL, new_key, new_service, opened
from discreet_service.people import PasswordCost, Users
from discreet_service.permissions import Grant, Principal
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.settings import ReviewSettings, ServiceSettings

if TYPE_CHECKING:
    from discreet.release import Parameters

#: What is printed of a demonstration; its folder is one when this is there.
_PRINTED = "DEMONSTRATION.json"
_PERSONS = 8_000
_STATISTIC, _VERSION = "census", "1"
#: The same noise, with thresholds that suppress parts of tables.
_THINNED = "housing"
#: Who logs in, and as what.
_PEOPLE = {
    "rita": "requester",
    "paul": "producer",
    "pia": "producer",
    "cora": "custodian",
    "carl": "custodian",
    "mira": "methodologist",
    "vera": "reviewer",
    "viktor": "reviewer",
    "rosa": "researcher",
    "otto": "auditor",
}
_ADMINISTRATOR = "adam"
_KEYS = {"demo-tool": ["service"], "demo-client": ["requester"]}
_REVIEWERS, _RESEARCHER, _PROJECT = ("vera", "viktor"), "rosa", "P7 wages"
_SETTINGS = """\
public_releases = true
demo = true
studio_key_file = "studio.key"

[reviews]
data = { wages = "wages.csv" }
units = { wages = "pid" }
seconds = 60
"""
#: What a researcher of the demonstration handed in: one program was released, the other waits.
_RELEASED_PROGRAM = """\
* Who is in the data
tabulate state
summarize age
"""
_WAITING_PROGRAM = """\
* Wages by occupation and state
summarize wage, detail
tabulate occupation
tabulate state occupation
tabulate state if age < 64
list pid wage if wage > 9000
regress wage age sex
"""
_SOURCES = ("persons", "households", "dwellings", "buildings")

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, kw_only=True)
class ServiceDemonstration:
    """A demonstration."""

    settings: Path  # Its SERVICE.toml.
    port: int  # Where it listens
    passwords: Mapping[str, str]  # Per person, the password
    keys: Mapping[str, str]  # Per system, the key

    def text(self) -> str:
        """The printed text."""
        url = f"http://127.0.0.1:{self.port}"
        roles = {**_PEOPLE, _ADMINISTRATOR: "admin"}
        people = [f"  {name:6} {roles[name]:13} {word}" for name, word in self.passwords.items()]
        tool, client = (self.keys[name] for name in _KEYS)
        cell = {"n": 7, "key": 123_456_789_012_345, "official": False}
        cells = json.dumps({"parameter_set": _STATISTIC, "version": _VERSION, "cells": [cell]})
        asked = "unit=person&by=region:state&by=sex&format=csv"
        data = f"{url}/api/v1/datasets/census/data?{asked}"
        return "\n".join(
            (
                f"A demonstration with synthetic data is in {self.settings.parent}.",
                f"Open {url}/ in a browser and log in with:",
                *people,
                "Request a table, and protect a cell of your own:",
                f"  curl -H 'Authorization: Bearer {client}' '{data}'",
                f"  curl -H 'Authorization: Bearer {tool}' -H 'Content-Type: application/json' \\",
                f"    -d '{cells}' {url}/api/v1/protect/counts",
                "Stop the service with Ctrl-C.",
            )
        )


def make_demonstration(
    folder: Path,
    *,
    port: int | None = None,
    persons: int = _PERSONS,
    progress: Progress = lambda done, steps, name: None,
) -> ServiceDemonstration:
    """Make a demonstration, or find the one that is there."""
    kept = folder / _PRINTED
    if not kept.exists():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            message, hint = (
                "the demonstration needs a separate folder",
                "choose another with --folder",
            )
            raise ServiceError(message, "conflict", str(folder), hint)
        make_folder(folder.absolute().parent)
        with tempfile.TemporaryDirectory(dir=folder.absolute().parent, prefix=".demo-") as name:
            _make(Path(name) / "demo", persons, progress)
            if folder.exists():
                folder.rmdir()
            (Path(name) / "demo").rename(folder)
    printed = json.loads(kept.read_text("utf-8"))
    settings = folder / "SERVICE.toml"
    used = ServiceSettings.read(settings).port if port is None else port
    return ServiceDemonstration(settings=settings, port=used, **printed)


def _make(folder: Path, persons: int, progress: Progress) -> None:
    steps = ("office", "census", "people", "parameters", "reviews", "release")
    from discreet.release import write_key_pair

    progress(0, len(steps), steps[0])
    installation = new_service(folder, _ADMINISTRATOR, name="Statistical office of Nowhere")
    write_key_pair(folder / "studio")
    write_text(
        installation.settings, installation.settings.read_text("utf-8") + _SETTINGS, private=True
    )
    progress(1, len(steps), steps[1])
    # The data set of the census, with stores; its programme.
    from discreet.demo import write_census, write_programme
    from discreet.release import build_store
    from discreet_service.policies import sign_policy

    place = folder / "datasets" / "census-2022-1"
    place.mkdir(mode=0o700)
    write_census(place, persons=persons, seed=2022)
    programme = write_programme(place)
    # Drafts are signed like releases: they become some.
    text = programme.read_text("utf-8")
    write_text(programme, f'{text}\n[release]\nsign = "../../office.key"\n')
    for source in _SOURCES:
        build_store(programme, place / f"{source}.store", source=source)
    write_text(place / "DATASET.toml", _own_text("demo_dataset.toml"))
    write_text(place / "POLICY.toml", _own_text("demo_policy.toml"))
    sign_policy(place / "POLICY.toml", folder / "office.key")
    progress(2, len(steps), steps[2])
    with _release(programme, folder / "releases" / "census-2022"):
        with opened(installation.settings) as service:
            passwords = _people(service, installation.password)
            progress(3, len(steps), steps[3])
            # What two persons agree on in an office: parameters, policy; the data set published.
            from discreet.release import read_parameters

            parameters = read_parameters(programme)
            assert parameters.parts is not None
            parts = parameters.parts.model_copy(update={"enabled": True})
            _activate(service, parameters, _STATISTIC)
            _activate(service, replace(parameters, parts=parts, official=None), _THINNED)
            service.datasets.publish("census", "2022-1", "paul")
            service.policies.in_force.ensure("census", "2022-1")
            progress(4, len(steps), steps[4])
            # A review queue over invented wages: one submission was released, another one waits.
            from discreet_fire.queue import OutputDecision, PartVerdict, Queue, QueueSettings

            reviews, desk = service.reviews.settings, service.reviews
            make_folder(reviews.folder, 0o700)
            # Records of invented employees: a few occupations are rare, a few wages high.
            draw = random.Random(7)  # noqa: S311 - nothing here is secret
            lines = ["pid,state,sex,age,occupation,wage"]
            for pid in range(1, 601):
                state, sex, age = draw.randrange(1, 5), draw.randrange(1, 3), draw.randrange(18, 65)
                occupation = 4 if pid % 300 == 0 else draw.randrange(1, 4)
                wage = 1_500 + 25 * age + draw.randrange(2_000) + (9_000 if pid % 200 == 0 else 0)
                lines.append(f"{pid},{state},{sex},{age},{occupation},{wage}")
            write_text(
                reviews.folder / reviews.data["wages"], "\n".join(lines) + "\n", private=True
            )
            rules = QueueSettings(persons=_REVIEWERS, approvals=2, clean_approvals=2, rate=0.0)
            Queue.create(reviews.queue, rules).close()
            first, second = (
                Principal(name=name, kind="session", grants=(Grant("reviewer"),))
                for name in _REVIEWERS
            )
            number = _hand_in(reviews, "persons.do", _RELEASED_PROGRAM)
            (row,) = desk.rows(first)
            accepted = {
                one.number: OutputDecision(verdict=PartVerdict.accept) for one in row.standing.parts
            }
            why = "large groups, nothing is hidden"
            found = desk.decide(first, number, accepted, reason=why, version=row.standing.version)
            for who in (first, second):
                found = desk.act(who, number, "approve", reason=why, version=found.version)
            desk.act(second, number, "release", reason=why, version=found.version)
            _hand_in(reviews, "wages.do", _WAITING_PROGRAM)
        keys = {
            name: new_key(installation.settings, name, roles, 30)[0]
            for name, roles in _KEYS.items()
        }
        progress(5, len(steps), steps[5])
    printed = {"passwords": passwords, "keys": keys}
    write_text(folder / _PRINTED, json.dumps(printed, indent=1), private=True)
    progress(6, len(steps), "")


def _own_text(name: str) -> str:
    return files("discreet_service").joinpath(name).read_text("utf-8")


def _people(service: Service, one_time: str) -> dict[str, str]:
    # They are printed: nobody has to be kept from trying them, until the first login.
    users = Users(service.database, service.trail, service.clock, PasswordCost(log_n=10, p=1))
    first = {_ADMINISTRATOR: one_time}
    for name, role in _PEOPLE.items():
        users.add(LOCAL, name)
        users.grant(LOCAL, name, Grant(role))
        first[name] = users.reset_password(LOCAL, name)
    passwords = {name: f"show-{secrets.token_hex(6)}" for name in first}
    for name, word in first.items():
        users.change_password(name, word, passwords[name], "127.0.0.1")
    return passwords


def _activate(service: Service, parameters: Parameters, statistic: str) -> None:
    from discreet.release import pack_parameters
    from discreet_service.people import ProposalKind

    settings, approvals = service.settings, service.approvals
    target = settings.folder / f"{statistic}.dcparams"
    pack_parameters(parameters, target, statistic=statistic, version=_VERSION,
                    sign_key=settings.folder / "office.key",
                    key=settings.package_key_file)  # fmt: skip
    first, second = (
        Principal(name=name, kind="session", grants=(Grant("custodian"),))
        for name in ("cora", "carl")
    )
    with service.database.writing() as connection:
        taken = service.parameter_sets.propose(connection, target.read_bytes(), first.name)
        kind, reason = ProposalKind.parameter_activation, "the demonstration needs parameters"
        proposal = approvals.propose(connection, kind, taken.subject, taken.file, first, reason)
        approvals.approve(connection, proposal.id, second, digest=taken.file)


@contextmanager
def _release(programme: Path, out: Path) -> Iterator[None]:
    """The tables of the census, signed: made meanwhile by a process of its own."""
    command = [sys.executable, "-m", "discreet", "protect", str(programme), "--out", str(out)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet) as process:  # noqa: S603
        try:
            yield
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        message, hint = "the release of the demonstration failed", "check the free disk space"
        raise ServiceError(message, "internal", str(out), hint)


def _hand_in(reviews: ReviewSettings, name: str, program: str) -> int:
    from discreet_fire.queue import Submission, open_queue, submit

    with tempfile.TemporaryDirectory() as folder, open_queue(reviews.queue) as queue:
        write_text(Path(folder) / name, program)
        handed = Submission(
            program=Path(folder) / name,
            researcher=_RESEARCHER,
            project=_PROJECT,
            data=(reviews.folder / reviews.data["wages"],),
            unit=reviews.units["wages"],
            seconds=float(reviews.seconds),
        )
        return submit(queue, handed)
