"""Transactions of the service's database."""

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from discreet_service.database import ServiceDatabase
from discreet_service.database.schema import METADATA, RATE_COUNTERS, SERVICE_SCHEMA
from discreet_service.problems import ServiceError
from tests.conftest import without
from tests.helpers.places import ROOT
from tests.helpers.rows import for_all_rows
from tests.helpers.service_people import at_once, code_of


def _add(connection: sa.Connection, amount: int, subject: str = "a") -> None:
    row = {"subject": subject, "measure": "m", "window_start": 0, "amount": amount}
    connection.execute(sa.insert(RATE_COUNTERS).values(**row))


def _amounts(database: ServiceDatabase) -> list[int]:
    with database.reading() as connection:
        return list(connection.scalars(sa.select(RATE_COUNTERS.c.amount)))


def test_all_tables_are_there(service_database: ServiceDatabase) -> None:
    service_database.lay_out()
    with service_database.reading() as connection:
        assert set(sa.inspect(connection).get_table_names()) >= set(METADATA.tables)
        assert connection.scalar(sa.select(SERVICE_SCHEMA.c.version)) == 1


def test_all_or_nothing(service_database: ServiceDatabase) -> None:
    with pytest.raises(KeyError), service_database.writing() as connection:  # noqa: PT012
        _add(connection, 1)
        raise KeyError
    assert _amounts(service_database) == []
    with service_database.writing() as connection:
        _add(connection, 1)
    assert _amounts(service_database) == [1]


def test_readers_cannot_write(service_database: ServiceDatabase) -> None:
    with service_database.writing() as connection:
        _add(connection, 1)
    wrong = (sa.exc.DBAPIError, ServiceError)
    with pytest.raises(wrong), service_database.reading() as connection:
        _add(connection, 2, "b")
    with service_database.writing() as connection:
        _add(connection, 2, "b")
    assert sorted(_amounts(service_database)) == [1, 2]


def test_readers_see_one_moment(service_database: ServiceDatabase) -> None:
    counted = sa.select(sa.func.count()).select_from(RATE_COUNTERS)
    with service_database.reading() as reader:
        assert reader.scalar(counted) == 0
        with service_database.writing() as connection:
            _add(connection, 1)
        assert reader.scalar(counted) == 0
    assert _amounts(service_database) == [1]


def test_no_transaction_within_another(service_database: ServiceDatabase) -> None:
    def nest() -> None:
        with service_database.writing(), service_database.writing():
            raise NotImplementedError

    with pytest.raises(AssertionError, match="within"):
        nest()
    with service_database.writing() as connection:
        _add(connection, 1)
    assert _amounts(service_database) == [1]


def test_one_writer_at_a_time(service_database: ServiceDatabase, service_url: str) -> None:
    with service_database.writing() as connection:
        _add(connection, 0)
    others = [service_database, ServiceDatabase.open(service_url)]

    def count(database: ServiceDatabase) -> None:
        for _ in range(10):
            with database.writing() as connection:
                amount = connection.scalar(sa.select(RATE_COUNTERS.c.amount))
                connection.execute(sa.update(RATE_COUNTERS).values(amount=amount + 1))

    at_once(*(partial(count, one) for one in others * 3))
    others[1].close()
    assert _amounts(service_database) == [60]


def test_a_newer_form_is_refused(service_database: ServiceDatabase, service_url: str) -> None:
    with service_database.writing() as connection:
        connection.execute(sa.update(SERVICE_SCHEMA).values(version=2))
    with pytest.raises(
        ServiceError, match="the database has schema version 2; this service needs"
    ) as told:
        ServiceDatabase.open(service_url)
    assert told.value.code == "data-not-ready"


@for_all_rows(
    "url",
    [
        "",
        "sqlite://",
        "sqlite:///:memory:?a=b",
        "mysql://me:secret@there/x",
        "no url",
        "postgresql://x/y",
    ],
)
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(ServiceError) as told:
        ServiceDatabase.open(url)
    assert "secret" not in str(told.value)


def test_only_the_owner_reads_the_file(tmp_path: Path) -> None:
    place = tmp_path / "service.db"
    place.touch(0o644)
    database = ServiceDatabase.open(f"sqlite:///{place}")
    database.lay_out()
    with database.writing() as connection:
        _add(connection, 1)
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("service.db", "service.db-wal", "service.db-shm"), 0o600)
    database.close()


def _told(database: ServiceDatabase) -> tuple[str, str]:
    with pytest.raises(ServiceError) as error, database.writing() as connection:
        _add(connection, 1, "x" * 200_000)
    assert error.value.retry_after == 5
    return error.value.code, str(error.value)


def test_a_locked_file_is_told(
    tmp_path: Path, laid_out_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet_service.database.connections._PRAGMAS", ())
    place = tmp_path / "service.db"
    place.write_bytes(laid_out_file.read_bytes())
    database = ServiceDatabase.open(f"sqlite:///{place}")
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(
            "discreet_service.database.connections._PRAGMAS", ("PRAGMA busy_timeout = 100",)
        )
        database.close()
        code, words = _told(database)
    assert code == "overloaded"
    assert str(tmp_path) not in words
    assert "INSERT" not in words
    database.close()


@pytest.mark.postgresql
@pytest.mark.parametrize("service_url", ["postgresql"], indirect=True)
def test_a_server_that_is_busy_is_told(service_url: str, service_database: ServiceDatabase) -> None:
    engine = sa.create_engine(service_url)
    with engine.connect() as other:
        other.exec_driver_sql("SELECT pg_advisory_xact_lock(1685283698)")
        with pytest.raises(ServiceError) as told, service_database.writing() as connection:
            _add(connection, 1)
        assert told.value.code == "overloaded"
        with service_database.writing(alone=False) as connection:  # needs nobody
            _add(connection, 1)
    engine.dispose()


@pytest.mark.postgresql
@pytest.mark.parametrize("service_url", ["postgresql"], indirect=True)
def test_a_server_that_ends_connections_is_asked_again(
    service_url: str, service_database: ServiceDatabase
) -> None:
    with service_database.writing() as connection:
        _add(connection, 1)
    engine = sa.create_engine(service_url)
    end = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )

    def terminate() -> None:
        with engine.connect() as other:
            other.exec_driver_sql(end)

    terminate()
    assert _amounts(service_database) == [1]
    with pytest.raises(ServiceError) as told, service_database.writing() as connection:  # noqa: PT012
        _add(connection, 2, "b")
        terminate()
        _add(connection, 3, "c")
    assert told.value.code == "data-not-ready"
    assert _amounts(service_database) == [1]
    engine.dispose()


@pytest.mark.postgresql
def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ServiceError) as told:
        ServiceDatabase.open(f"postgresql+psycopg://me:secret@/postgres?host={tmp_path}")
    assert told.value.code == "data-not-ready"
    assert "secret" not in str(told.value)
    assert str(tmp_path) not in str(told.value)


def test_what_is_no_database_is_told(tmp_path: Path) -> None:
    place = tmp_path / "service.db"
    place.write_text("this is a letter, and not a short one at that" * 30)
    with pytest.raises(ServiceError) as told:
        ServiceDatabase.open(f"sqlite:///{place}").lay_out()
    assert told.value.code == "data-not-ready"
    missing = f"sqlite:///{tmp_path}/missing/service.db"
    assert code_of(ServiceDatabase.open, missing) == "data-not-ready"


@pytest.mark.parametrize("value", [2**70, "a\x00", "a\ud800"])
def test_values_that_cannot_be_kept(service_database: ServiceDatabase, value: int | str) -> None:
    if value == "a\x00" and service_database.dialect == "sqlite":
        return  # it keeps that one
    amount, subject = (value, "a") if isinstance(value, int) else (1, value)
    with pytest.raises(ServiceError) as told, service_database.writing() as connection:
        _add(connection, amount, subject)
    assert told.value.code == "invalid-input"
    assert _amounts(service_database) == []


_FILL = """
import resource, signal, sys
from discreet_service.database import ServiceDatabase
from discreet_service.problems import ServiceError
from tests.service.database.test_connections import _add, _amounts
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
database = ServiceDatabase.open(sys.argv[1])
if sys.argv[2] != "0":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
done = 0
try:
    for done in range(100_000):
        with database.writing() as connection:
            _add(connection, done, str(done) + "x" * 5000)
except ServiceError as error:
    print(error.code, done, error)
print(len(_amounts(database)))
"""


def _filled(url: str, most: int) -> tuple[str, int, int]:
    command = [sys.executable, "-c", _FILL, url, str(most)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    said = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    code, done, words = said[0].split(" ", 2)
    assert url.removeprefix("sqlite:///") not in words
    return code, int(done), int(said[-1])


def test_files_that_cannot_grow_are_a_full_disk(tmp_path: Path, laid_out_file: Path) -> None:
    place = tmp_path / "service.db"
    place.write_bytes(laid_out_file.read_bytes())
    url = f"sqlite:///{place}"
    code, done, kept = _filled(url, 1_000_000)
    assert code == "disk-full"
    assert kept == done  # what was told to be written is there, and the rest is not
    # With room again it goes on.
    database = ServiceDatabase.open(url)
    with database.writing() as connection:
        _add(connection, 7, "after")
    assert len(_amounts(database)) == kept + 1
    with database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    database.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of some megabytes."""
    if os.geteuid() != 0:
        without("only root mounts disks")
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        without("disks cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk(small_disk: Path, laid_out_file: Path) -> None:
    place = small_disk / "service.db"
    place.write_bytes(laid_out_file.read_bytes())
    code, done, kept = _filled(f"sqlite:///{place}", 0)
    assert (code, kept) == ("disk-full", done)
