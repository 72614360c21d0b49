"""A service with a review queue, small data, and everybody who uses it."""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet_fire.queue import Queue, QueueSettings
from discreet_service.application import create_app
from discreet_service.installation import LOCAL, new_service
from discreet_service.permissions import Grant
from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ReviewSettings, ServiceSettings
from tests.helpers.asgi_browser import AsgiBrowser
from tests.helpers.jobs_done import do_jobs

#: Whoever hands something in here may review, too, but not that.
ROLES = {
    "ruth": ("researcher", "reviewer"),
    "rolf": ("researcher",),
    "vera": ("reviewer",),
    "viktor": ("reviewer",),
    "stranger": ("reviewer",),
    "paul": ("producer",),
}
PROGRAM = b"tabulate sex\nsummarize pay\ntabulate grp\n"


class ReviewedCentre:
    """A research data centre, and its people with their keys."""

    def __init__(self, folder: Path, keys: dict[str, str] | None = None) -> None:
        limits = LimitSettings(requests_per_second=1e6, burst=10**6, anonymous_per_second=1e6)
        reviews = ReviewSettings(
            folder=folder / "research",
            queue=folder / "reviews",
            data={"panel": "panel.csv"},
            units={"panel": "pid"},
            upload_bytes=50_000,
            upload_files=8,
        )
        found = ServiceSettings.read(folder / "SERVICE.toml")
        self.service = Service(dataclasses.replace(found, limits=limits, reviews=reviews))
        self.keys = keys or {name: self._key(name, *roles) for name, roles in ROLES.items()}
        self.browser = AsgiBrowser(create_app(self.service))
        self.folder = folder

    def _key(self, name: str, *roles: str) -> str:
        users, grants = self.service.users, tuple(map(Grant, roles))
        users.add(LOCAL, name)
        for grant in grants:
            users.grant(LOCAL, name, grant)
        words = {"name": "test", "grants": grants, "owner": name, "days": 30}
        return self.service.api_keys.create(LOCAL, **words).token

    def ask(self, name: str, method: str, path: str, **more: Any) -> Any:
        head = {"Authorization": f"Bearer {self.keys[name]}"} if name else {}
        return self.browser.ask(method, f"/api/v1/submissions{path}", headers=head, **more)

    def upload(self, name: str, content: bytes = PROGRAM, file: str = "a.do", **more: str) -> Any:
        params = {"file": file, "data": "panel", **more}
        return self.ask(name, "POST", "", content=content, params=params)

    def work(self) -> list[Any]:
        """Do all jobs as a worker does; their problems."""
        return do_jobs(self.service)

    def handed_in(self, name: str = "ruth", content: bytes = PROGRAM) -> int:
        assert self.upload(name, content).status_code == 202
        assert self.work() == []
        own = self.ask(name, "GET", "/mine").json()["submissions"]
        return max(one["number"] for one in own)

    def version(self, number: int) -> int:
        rows = self.ask("vera", "GET", "?every=true").json()["submissions"]
        return next(one["version"] for one in rows if one["submission"] == number)

    def decide(self, name: str, number: int, *verdicts: str, version: int | None = None) -> Any:
        outputs = [
            {"output": at, "verdict": one, "comment": "" if one == "accept" else "one firm"}
            for at, one in enumerate(verdicts, start=1)
        ]
        told = {"version": version or self.version(number), "reason": "seen", "outputs": outputs}
        return self.ask(name, "POST", f"/{number}:decide", json=told)

    def act(self, name: str, number: int, act: str, version: int | None = None) -> Any:
        told = {"act": act, "version": version or self.version(number), "reason": "ok"}
        return self.ask(name, "POST", f"/{number}:act", json=told)


@pytest.fixture(scope="session")
def new_centre(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The folder of a centre to which nothing was handed in yet, and the keys of its people."""
    folder = tmp_path_factory.mktemp("centre") / "service"
    new_service(folder, "adam")
    (folder / "research").mkdir()
    rows = [f"{n},{n % 4},{1 + n // 250},{3000 + (n * 7919) % 977}" for n in range(600)]
    (folder / "research" / "panel.csv").write_text("pid,grp,sex,pay\n" + "\n".join(rows) + "\n")
    persons = ("vera", "viktor", "ruth")
    settings = QueueSettings(persons=persons, approvals=2, clean_approvals=2, rate=0.0)
    Queue.create(folder / "reviews", settings).close()
    made = ReviewedCentre(folder)
    made.service.close()
    return folder, made.keys


@pytest.fixture
def centre(new_centre: tuple[Path, dict[str, str]], tmp_path: Path) -> Iterator[ReviewedCentre]:
    """A centre of one's own."""
    folder, keys = new_centre
    shutil.copytree(folder, tmp_path / "service")
    found = ReviewedCentre(tmp_path / "service", keys)
    yield found
    found.service.close()
