"""A whole service, made of a demonstration, and requests that no client would send.

Requests are given to the application as a server gives them, without a client that would mend
them; what is logged meanwhile is kept, as lines.
"""

import asyncio
import io
import json
import logging
import re
import shutil
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from fastapi.routing import APIRoute

from discreet_service.application import RESOURCES, create_app, modules_of
from discreet_service.operation import JsonLines, service_log
from discreet_service.people import users
from discreet_service.people.users import PasswordCost
from discreet_service.permissions import ROLES, Grant, Principal
from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ServiceSettings
from tests.helpers.service_people import SetClock

HOST = "127.0.0.1:8077"
ORIGIN = f"http://{HOST}"
#: As many requests as a test likes.
UNBOUNDED = LimitSettings(requests_per_second=1e9, burst=10**9, anonymous_per_second=1e9)
CHEAP = PasswordCost(log_n=10, p=1)
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Told:
    """What was answered."""

    status: int
    headers: list[tuple[str, str]]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        return json.loads(self.content)

    def header(self, name: str) -> str:
        return next((value for each, value in self.headers if each == name), "")

    def without_number(self) -> tuple[int, str, list[tuple[str, str]]]:
        """All of it but the number of the request."""
        text = re.sub(r"urn:discreet:request:[0-9a-f]+", "", self.text)
        return self.status, text, [each for each in self.headers if each[0] != "x-request-id"]


@contextmanager
def cheap_passwords() -> Iterator[None]:
    """Passwords that are kept meanwhile cost next to nothing: how hard they are is no matter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(users, "_COST", CHEAP)
        yield


class _Loop:
    """One loop for all requests, with a thread of its own: many can be asked at once."""

    def __init__(self) -> None:
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._last()), daemon=True)
        self._thread.start()
        self._ready.wait(120)

    async def _last(self) -> None:
        self._at = asyncio.get_running_loop()
        self._ready.set()
        await self._over.wait()

    def run(self, wanted: Coroutine[Any, Any, Told]) -> Told:
        return asyncio.run_coroutine_threadsafe(wanted, self._at).result(300)

    def close(self) -> None:
        self._at.call_soon_threadsafe(self._over.set)
        self._thread.join(120)


@dataclass(kw_only=True)
class RunningDemo:
    """A demonstration that is asked."""

    folder: Path  # Where it is
    service: Service  # The service
    clock: SetClock  # Its clock
    app: Any  # Its application
    printed: dict[str, dict[str, str]]  # Passwords and keys
    lines: io.StringIO = field(default_factory=io.StringIO)  # What it logs
    _loop: _Loop = field(default_factory=lambda: _Loop())

    def ask(
        self,
        method: str,
        path: str,
        *,
        key: str = "",
        headers: Pairs = (),
        query: str = "",
        body: bytes | Sequence[bytes] = b"",
        data: Any = None,
        address: str = "192.0.2.1",
    ) -> Told:
        """Ask for something, with whatever is given."""
        given = [("host", HOST), *((name.lower(), value) for name, value in headers)]
        if key:
            given.append(("authorization", f"Bearer {key}"))
        if data is not None:
            body = json.dumps(data).encode()
            given.append(("content-type", "application/json"))
        pieces = [body] if isinstance(body, bytes) else list(body)
        if isinstance(body, bytes) and body and not any(n == "content-length" for n, _ in given):
            given.append(("content-length", str(len(body))))
        where, _, more = path.partition("?")
        raw = where.encode("utf-8", "surrogatepass")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(where),
            "raw_path": raw,
            "query_string": (more or query).encode("utf-8", "surrogatepass"),
            "root_path": "",
            "headers": [
                (name.encode("utf-8", "surrogatepass"), value.encode("utf-8", "surrogatepass"))
                for name, value in given
            ],
            "client": (address, 4711),
            "server": ("127.0.0.1", 8077),
        }
        return self._loop.run(self._carried(scope, pieces))

    async def _carried(self, scope: dict[str, Any], pieces: list[bytes]) -> Told:
        status, head, content = 0, list[tuple[bytes, bytes]](), list[bytes]()
        waiting = list(pieces)

        async def receive() -> dict[str, Any]:
            if waiting:
                piece = waiting.pop(0)
                return {"type": "http.request", "body": piece, "more_body": bool(waiting)}
            # A stream without an end is left after a moment.
            await asyncio.sleep(0.1)
            return {"type": "http.disconnect"}

        async def send(message: Mapping[str, Any]) -> None:
            nonlocal status, head
            if message["type"] == "http.response.start":
                status, head = message["status"], list(message.get("headers", ()))
            else:
                content.append(message.get("body", b""))

        await self.app(scope, receive, send)
        told = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in head]
        return Told(status=status, headers=told, content=b"".join(content))

    def log_in(self, person: str) -> tuple[str, str]:
        """The cookie of a person who logged in, as a header says it; and the token of forms."""
        account = self.service.users.login(person, self.printed["passwords"][person], "192.0.2.1")
        cookie = self.service.sessions.start(account)
        return f"discreet={cookie}", self.service.sessions.csrf_token(cookie)

    def logged(self) -> list[str]:
        """The lines that were logged so far."""
        return self.lines.getvalue().splitlines()

    def secrets(self) -> tuple[str, ...]:
        """What nobody may ever be told: keys, noise, passwords, places of files."""
        place = self.folder / "datasets" / "census-2022-1"
        files = (self.folder / "service.secret", self.folder / "package.key", place / "secret.key")
        found = [line for path in files for line in path.read_text().split() if len(line) >= 32]
        found += [*self.printed["passwords"].values(), *self.printed["keys"].values()]
        table = (place / "magnitude-ptable.csv").read_text() + (place / "ptable.json").read_text()
        found += re.findall(r"0\.\d{9,}", table)
        return (*found, str(self.folder), str(Path(__file__).parents[2]))


@contextmanager
def running_demo(
    made: Path,
    folder: Path,
    *,
    limits: LimitSettings = UNBOUNDED,
    change: Callable[[Path], None] = lambda _: None,
) -> Iterator[RunningDemo]:
    """A copy of a demonstration that runs meanwhile.

    Each role has a key that is its name, and "everybody" one that has all roles.
    """
    shutil.copytree(made, folder)
    change(folder)
    clock = SetClock(1_000 * int((folder / "SERVICE.toml").stat().st_mtime + 60))
    settings = replace(ServiceSettings.read(folder / "SERVICE.toml"), limits=limits)
    service = Service(settings, clock)
    service.users._cost = CHEAP
    known = {role: Principal(name=role, kind="key", grants=(Grant(role),)) for role in ROLES} | {
        "everybody": Principal(
            name="everybody", kind="key", grants=tuple(Grant(role) for role in ROLES)
        )
    }
    true_keys = service.api_keys.principal
    service.api_keys.principal = (  # type: ignore[method-assign]
        lambda token: known.get(token) or true_keys(token)
    )
    printed = json.loads((folder / "DEMONSTRATION.json").read_text("utf-8"))
    found = RunningDemo(
        folder=folder, service=service, clock=clock, app=create_app(service), printed=printed
    )
    handler, log = logging.StreamHandler(found.lines), service_log()
    handler.setFormatter(JsonLines())
    before = log.handlers, log.level, log.propagate
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.INFO)
    try:
        yield found
    finally:
        log.handlers, log.level, log.propagate = before
        found._loop.close()
        service.close()


def all_routes() -> list[APIRoute]:
    """Every route of the application, of pages too."""
    return [
        route
        for module in modules_of(RESOURCES).values()
        for route in module.router.routes
        if isinstance(route, APIRoute)
    ]
