"""A service with people, and browsers that ask it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from discreet_service.application import create_app
from discreet_service.people.users import Users
from discreet_service.permissions import Grant
from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ServiceSettings
from tests.helpers.asgi_browser import BASE, AsgiBrowser
from tests.helpers.service_people import LOCAL, QUICK, SetClock

GOOD = "seven quiet rivers run"


class ServedPeople:
    """A service, its application, and its people."""

    def __init__(self, folder: Path, **said: Any) -> None:
        secret = folder / "service.secret"
        secret.touch(0o600)
        secret.write_text("0f" * 32)
        limits = LimitSettings(requests_per_second=1e6, burst=10**6, anonymous_per_second=1e6)
        self.clock = SetClock()
        settings = ServiceSettings(folder=folder, secret_file=secret, limits=limits, **said)
        self.service = Service(settings, self.clock)
        self.service.__dict__["users"] = Users(
            self.service.database, self.service.trail, self.clock, QUICK
        )
        names = ("status", "pages", "keys", "people", "login", "approvals",
                 "discreet_service.studio.approvals")  # fmt: skip
        self.app: FastAPI = create_app(self.service, names)
        self.base = settings.base_url

    def browser(self) -> AsgiBrowser:
        return AsgiBrowser(self.app, self.base)

    def person(self, name: str, *grants: Grant) -> None:
        """Somebody with a password of their own."""
        users = self.service.users
        users.add(LOCAL, name)
        for grant in grants:
            users.grant(LOCAL, name, grant)
        once = users.reset_password(LOCAL, name)
        users.change_password(name, once, GOOD, "192.0.2.99")

    def logged_in(self, name: str, *grants: Grant) -> AsgiBrowser:
        """The browser of somebody who has logged in."""
        self.person(name, *grants)
        browser = self.browser()
        answer = browser.submit("/login", "/login", name=name, password=GOOD)
        assert answer.status_code == 303, answer.text
        return browser


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedPeople]:
    found = ServedPeople(tmp_path)
    assert found.base == BASE
    yield found
    found.service.close()


@pytest.fixture
def served_by_tls(tmp_path: Path) -> Iterator[ServedPeople]:
    found = ServedPeople(tmp_path, url="https://sdc.example.org")
    yield found
    found.service.close()
