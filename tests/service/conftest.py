"""Databases for the tests of the service: both kinds pass the same tests."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from discreet_service.database import ServiceDatabase
from tests.helpers.databases import postgresql_server

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def service_server() -> Iterator[str]:
    """The URL of a PostgreSQL server of its own, with a database that is laid out."""
    # Not among pytest's folders: each run closes them to all others, and the server is another.
    with TemporaryDirectory(prefix="pg-") as folder, postgresql_server(Path(folder)) as url:
        _run(url, "CREATE DATABASE laid_out")
        found = ServiceDatabase.open(url.replace("/postgres?", "/laid_out?"))
        found.lay_out()
        found.close()
        yield url


@pytest.fixture(scope="session")
def laid_out_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of SQLite that is laid out."""
    place = tmp_path_factory.mktemp("service-sqlite") / "service.db"
    found = ServiceDatabase.open(f"sqlite:///{place}")
    found.lay_out()
    found.close()
    return place


def _run(url: str, statement: str) -> None:
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(statement)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def service_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database of its own for each test, laid out."""
    if request.param == "sqlite":
        place = tmp_path / "service.db"
        shutil.copyfile(request.getfixturevalue("laid_out_file"), place)
        yield f"sqlite:///{place}"
        return
    server, name = request.getfixturevalue("service_server"), f"test_{next(_NUMBERS)}"
    _run(server, f"CREATE DATABASE {name} TEMPLATE laid_out")
    yield server.replace("/postgres?", f"/{name}?")
    _run(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def service_database(service_url: str) -> Iterator[ServiceDatabase]:
    """A database that is laid out; one of each kind."""
    found = ServiceDatabase.open(service_url)
    yield found
    found.close()


class SetClock:
    """A clock that tells what it was set to.

    Args:
        now: Milliseconds.
    """

    def __init__(self, now: int = 1_800_000_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += int(seconds * 1000)


@pytest.fixture
def set_clock() -> SetClock:
    """A clock that stands still until the test moves it: `set_clock.pass_by(60)`."""
    return SetClock()


DatabaseOpener = Callable[[], ServiceDatabase]
