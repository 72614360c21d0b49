"""A demonstration, and browsers that look at its studio without a socket."""

import dataclasses
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet_service.application import create_app
from discreet_service.demo import make_demonstration
from discreet_service.installation import LOCAL
from discreet_service.permissions import Grant
from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ServiceSettings
from tests.helpers.asgi_browser import AsgiBrowser, form_of
from tests.helpers.running_service import CHEAP
from tests.helpers.shared_demonstration import copied_demonstration

HTML = {"Accept": "text/html"}
GERMAN = {**HTML, "Accept-Language": "de"}


class StudioReaders:
    """The studio of a demonstration, and who looks at it."""

    def __init__(self, folder: Path) -> None:
        made = make_demonstration(folder)
        limits = LimitSettings(requests_per_second=1e6, burst=10**6, anonymous_per_second=1e6)
        settings = dataclasses.replace(ServiceSettings.read(made.settings), limits=limits)
        self.folder = made.settings.parent
        self.service = Service(settings)
        self.service.users._cost = CHEAP
        self.app = create_app(self.service)
        self._passwords = dict(made.passwords)
        self._browsers: dict[str, AsgiBrowser] = {}
        self._tokens: dict[str, str] = {}

    def browser(self, name: str = "") -> AsgiBrowser:
        """The browser of somebody who has logged in; of nobody in particular if not named."""
        if not name:
            return AsgiBrowser(self.app)
        if name not in self._browsers:
            found = AsgiBrowser(self.app)
            answer = found.submit("/login", "/login", name=name, password=self._passwords[name])
            assert answer.status_code == 303, answer.text
            self._browsers[name] = found
        return self._browsers[name]

    def add(self, name: str, *grants: Grant) -> None:
        """Somebody more, who has a password; once, however often it is asked for."""
        if name in self._passwords:
            return
        users, word = self.service.users, "seven quiet rivers run"
        users.add(LOCAL, name)
        for grant in grants:
            users.grant(LOCAL, name, grant)
        users.change_password(name, users.reset_password(LOCAL, name), word, "192.0.2.99")
        self._passwords[name] = word

    def csrf(self, name: str) -> str:
        """The token of forms, which lasts as long as the session of somebody."""
        if name not in self._tokens:
            self._tokens[name] = form_of(self.page("/account", name), "/logout")["csrf"]
        return self._tokens[name]

    def page(self, path: str, name: str = "", status: int = 200, **head: str) -> str:
        """The text of a page."""
        answer = self.browser(name).get(path, headers={**HTML, **head})
        assert answer.status_code == status, (path, answer.status_code, answer.text[:2_000])
        assert answer.headers["content-type"].startswith("text/html")
        return answer.text

    def post(self, path: str, fields: dict[str, Any], name: str = "paul", **more: Any) -> Any:
        """The answer to a form, with the token of whoever sends it."""
        own = {**fields, "csrf": self.csrf(name)}
        return self.browser(name).post(path, data=own, **{"headers": HTML, **more})

    def proposal(self, name: str) -> str:
        """The path of the newest proposal that somebody sees under Approvals."""
        found = re.search(r'href="(/approvals/[0-9a-f]{32})"', self.page("/approvals", name))
        assert found, name
        return found[1]

    def close(self) -> None:
        self.service.close()


@pytest.fixture(scope="session")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioReaders]:
    folder = tmp_path_factory.mktemp("studio") / "demo"
    found = StudioReaders(copied_demonstration(tmp_path_factory, folder))
    yield found
    found.close()


@pytest.fixture
def fresh_readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioReaders]:
    """Readers of a service that has answered nothing yet."""
    folder = tmp_path_factory.mktemp("fresh-studio") / "demo"
    found = StudioReaders(copied_demonstration(tmp_path_factory, folder))
    yield found
    found.close()


def text_of(page: str, identifier: str) -> str:
    """The text of the element with an id that has no elements of its kind in it."""
    found = re.search(rf'<(\w+)[^>]*\bid="{identifier}"[^>]*>(.*?)</\1>', page, re.DOTALL)
    assert found, identifier
    return plain(found[2])


def plain(page: str) -> str:
    """The words of a page, or of a part of one."""
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", page).split()))


def problems_of(page: str) -> str:
    """What a page of a method says is wrong, above its form."""
    begin = page.index('role="alert"')
    return html.unescape(page[begin : page.index('<form method="post"', begin)])


def body_cells(page: str) -> list[list[str]]:
    """The cells of the rows of the protected table."""
    part = page[page.index('<table id="table">') : page.index("</table>", page.index('id="table"'))]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", part, re.DOTALL)
    found = [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in rows]
    return [
        [html.unescape(re.sub(r"<sup>.*?</sup>|<[^>]+>", "", cell)) for cell in row]
        for row in found
        if row
    ]


def parsed(answer: Any) -> Any:
    return json.loads(answer.content)
