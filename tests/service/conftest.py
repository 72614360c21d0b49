"""Databases for the tests of the service: both kinds pass the same tests; and a small census."""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fastapi import FastAPI

from discreet_service.database import ServiceDatabase
from discreet_service.database.connections import _PRAGMAS as PRAGMAS
from discreet_service.datasets import DataVersion
from discreet_service.datasets.versions import open_version
from discreet_service.permissions import Grant
from discreet_service.service import Service
from tests.helpers.databases import postgresql_server
from tests.helpers.service_callers import KnownCaller, app_of_known
from tests.helpers.service_data import OPEN_POLICY, census_service, write_census_dataset
from tests.helpers.service_people import SetClock

_NUMBERS = itertools.count()


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_disks() -> Iterator[None]:
    """As in `tests/conftest.py`, for files of SQLite."""
    hasty = tuple(each.replace("synchronous = FULL", "synchronous = OFF") for each in PRAGMAS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet_service.database.connections._PRAGMAS", hasty)
        yield


@pytest.fixture(scope="session")
def service_server() -> Iterator[str]:
    """The URL of a PostgreSQL server of its own, with a database that is laid out."""
    with postgresql_server() as url:
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


#: Folders whose tests are about databases: all of them pass with both kinds.
ABOUT_DATABASES = ("database", "jobs")
#: Of all others one in so many is tried with PostgreSQL, too.
ONE_OF = 5
_SEEN: Counter[str] = Counter()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests that have a database run with SQLite, and some of them with PostgreSQL."""
    marks = metafunc.definition.iter_markers("parametrize")
    if "service_url" not in metafunc.fixturenames or any(
        "service_url" in mark.args[0] for mark in marks
    ):
        return
    place = metafunc.definition.path
    _SEEN[str(place)] += 1
    kinds: list[Any] = ["sqlite"]
    if place.parent.name in ABOUT_DATABASES or _SEEN[str(place)] % ONE_OF == 1:
        kinds.append(pytest.param("postgresql", marks=pytest.mark.postgresql))
    metafunc.parametrize("service_url", kinds, indirect=True)


@pytest.fixture
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


@pytest.fixture
def set_clock() -> SetClock:
    """A clock that stands still until the test moves it: `set_clock.pass_by(60)`."""
    return SetClock()


@pytest.fixture(scope="session")
def census_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of data sets with the census in it: do not change it."""
    folder = tmp_path_factory.mktemp("datasets")
    write_census_dataset(folder)
    return folder


@pytest.fixture(scope="session")
def census(census_data: Path) -> DataVersion:
    """The census, opened."""
    return open_version(census_data / "census-2022-1", b"key")


ServeCensus = Callable[..., Service]


@pytest.fixture(scope="module")
def serve_census(
    census_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServeCensus]:
    """Makes services with a copy of the census, under policies and limits."""
    made: list[Service] = []

    def serve(
        policy: str = OPEN_POLICY,
        data: Path = census_data,
        secret: Path | None = None,
        **limits: Any,
    ) -> Service:
        folder = tmp_path_factory.mktemp("served")
        made.append(census_service(data, folder, policy, secret, **limits))
        return made[-1]

    yield serve
    for each in made:
        each.close()


@pytest.fixture(scope="module")
def service(request: pytest.FixtureRequest, serve_census: ServeCensus) -> Service:
    """A service with the census, under the POLICY and LIMITS that the module names."""
    stated = vars(request.module)
    return serve_census(stated.get("POLICY", OPEN_POLICY), **stated.get("LIMITS", {}))


@pytest.fixture(scope="module")
def app(request: pytest.FixtureRequest, service: Service) -> FastAPI:
    """Its application: of the PARTS that the module names."""
    return app_of_known(service, vars(request.module).get("PARTS", ("datasets", "queries")))


@pytest.fixture
def anna(app: FastAPI) -> KnownCaller:
    """Somebody who may ask."""
    return KnownCaller(app, Grant("requester", "census"))
