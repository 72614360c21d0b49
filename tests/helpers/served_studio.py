"""The studio of a demonstration on a port of this machine, and what none of its pages may tell.

Everything that is sent is kept: its size, how long its first byte took, and whether it holds
something that was planted, such as a secret, a key, a number of a perturbation table or a true sum.
"""

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from discreet_service.application import create_app
from discreet_service.demo import make_demonstration
from discreet_service.jobs.worker import JobWorker
from discreet_service.service import Service
from discreet_service.settings import ServiceSettings
from tests.helpers.running_service import CHEAP, UNBOUNDED, cheap_passwords
from tests.helpers.service_server import served_on_port

#: Who plays which role in a demonstration.
PLAYERS = {
    "requester": "rita",
    "producer": "paul",
    "custodian": "cora",
    "second custodian": "carl",
    "methodologist": "mira",
    "reviewer": "vera",
    "second reviewer": "viktor",
    "researcher": "rosa",
    "auditor": "otto",
    "admin": "adam",
}
_LONG_NUMBER = re.compile(r"0\.[0-9]{10,}")
_MARKS = (",", ".", "", " ", "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}", "&nbsp;")


@dataclass(frozen=True, kw_only=True, slots=True)
class SentResponse:
    """What was sent to a browser.

    Args:
        method: How it was asked for.
        path: The path asked for.
        status: The status code.
        media: The media type.
        size: Bytes of its body.
        seconds: Time to its first byte.
        told: What was planted and is told in it.
    """

    method: str
    path: str
    status: int
    media: str
    size: int
    seconds: float
    told: tuple[str, ...]


@dataclass(kw_only=True)
class ServedStudio:
    """A studio that is served.

    Args:
        url: Its address.
        folder: Its files.
        service: The service behind it.
        passwords: Per person, the password.
        keys: Per system, the key.
        sent: What was sent to browsers.
    """

    url: str
    folder: Path
    service: Service
    passwords: Mapping[str, str]
    keys: Mapping[str, str]
    sent: list[SentResponse] = field(default_factory=list)

    def pages(self, path: str) -> list[SentResponse]:
        """The pages that were sent of a path."""
        return [one for one in self.sent if one.path == path and one.media == "text/html"]

    def check_nothing_told(self) -> None:
        """Fail if anything that was sent tells what was planted."""
        told = sorted({f"{one.path}: {name}" for one in self.sent for name in one.told})
        assert not told, told


def planted(folder: Path, passwords: Mapping[str, str]) -> dict[str, list[bytes]]:
    """What no page may tell, by its name: each in the forms in which it could be printed."""
    found = {f"the password of {name}": [word.encode()] for name, word in passwords.items()}
    for path in (*folder.glob("*.key"), *folder.glob("*.secret"), *folder.rglob("secret.key")):
        lines = path.read_bytes().split(b"\n")
        found[path.name] = [line for line in lines if len(line) > 20 and b"KEY-----" not in line]
    place = next((folder / "datasets").iterdir())
    tables = [place / "ptable.json", place / "magnitude-ptable.csv"]
    numbers = {n for path in tables for n in _LONG_NUMBER.findall(path.read_text("utf-8"))}
    # Shorter ones are those of everyday shares.
    found["a perturbation table"] = [number[:11].encode() for number in sorted(numbers)]
    found["a true sum"] = [
        form.encode()
        for total in _true_sums(place / "dwellings.parquet")
        for form in {f"{total:,}".replace(",", mark) for mark in _MARKS}
    ]
    return {name: forms for name, forms in found.items() if forms}


def _is_told(form: bytes, body: bytes) -> bool:
    """Whether it is there; six digits amid a longer token or number are no sum that is told."""
    if form not in body or not form.isdigit():
        return form in body
    return re.search(rb"(?<![0-9A-Za-z_-])" + form + rb"(?![0-9A-Za-z_-])", body) is not None


def _true_sums(path: Path) -> list[int]:
    """Sums of rents and areas by district that are too long to be met by chance."""
    sums = pl.read_parquet(path).group_by("district").agg(pl.col("rent", "area").cast(int).sum())
    return sorted(n for column in ("rent", "area") for n in sums[column].to_list() if n > 99_999)


class _Keeper:
    """ASGI: passes everything on, and keeps what was sent."""

    def __init__(self, app: Any, secrets: Mapping[str, list[bytes]]) -> None:
        self.app, self.secrets = app, secrets
        self.sent: list[SentResponse] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, first, head, body = time.process_time(), 0.0, {}, bytearray()

        async def keep(message: Any) -> None:
            nonlocal first, head
            if message["type"] == "http.response.start":
                first, head = time.process_time() - begun, message
            else:
                body.extend(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, receive, keep)
        finally:
            self._note(scope, head, bytes(body), first)

    def _note(self, scope: Any, head: Any, body: bytes, first: float) -> None:
        media = dict(head.get("headers", ())).get(b"content-type", b"").decode()
        self.sent.append(
            SentResponse(
                method=scope["method"],
                path=scope["path"],
                status=head.get("status", 0),
                media=media.partition(";")[0],
                size=len(body),
                seconds=first,
                told=tuple(
                    name
                    for name, forms in self.secrets.items()
                    if any(_is_told(form, body) for form in forms)
                ),
            )
        )


@contextmanager
def served_studio(
    folder: Path, *, database: str = "", works: bool = True, persons: int = 3_000
) -> Iterator[ServedStudio]:
    """The studio of a demonstration, served meanwhile, with somebody who does its jobs.

    Args:
        folder: Where the demonstration is made, or is.
        database: URL of a database into which all that it keeps is moved; its own if empty.
        works: Whether its jobs are done.
        persons: How many it has.
    """
    with cheap_passwords():
        made = make_demonstration(folder, persons=persons)
    settings = replace(ServiceSettings.read(made.settings), limits=UNBOUNDED)
    if database:
        move_database(settings, database)
        settings = replace(settings, database=database)
    printed = json.loads((folder / "DEMONSTRATION.json").read_text("utf-8"))
    service = Service(settings)
    service.users._cost = CHEAP
    service.start()
    keeper = _Keeper(create_app(service), planted(folder, printed["passwords"]))
    worker = JobWorker(service)
    thread = threading.Thread(target=worker.run, daemon=True)
    with served_on_port(keeper) as url:
        if works:
            thread.start()
        try:
            yield ServedStudio(url=url, folder=folder, service=service, sent=keeper.sent, **printed)
        finally:
            worker.stop()
            if works:
                thread.join(180)
    service.close()


def move_database(settings: ServiceSettings, url: str) -> None:
    """Move all rows of a service to another database, in which nothing is yet.

    Args:
        settings: Settings with the database so far.
        url: The other one.
    """
    import sqlalchemy as sa

    from discreet_service.database import ServiceDatabase
    from discreet_service.database.schema import METADATA

    old, new = ServiceDatabase.open(settings.database_url()), ServiceDatabase.open(url)
    new.lay_out()
    with old.reading() as before, new.writing() as after:
        for table in METADATA.sorted_tables:
            rows = [dict(row) for row in before.execute(sa.select(table)).mappings()]
            if rows and after.execute(sa.select(sa.func.count()).select_from(table)).scalar() == 0:
                after.execute(sa.insert(table), rows)
            for column in table.primary_key.columns:
                if rows and column is table.autoincrement_column and new.dialect == "postgresql":
                    sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
                    after.execute(
                        sa.select(sa.func.setval(sequence, max(r[column.name] for r in rows)))
                    )
    old.close()
    new.close()
