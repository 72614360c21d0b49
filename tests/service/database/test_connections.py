"""Transactions of the service's database."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from discreet_service.database import ServiceDatabase
from discreet_service.database.schema import METADATA, RATE_COUNTERS, SERVICE_SCHEMA
from discreet_service.problems import ServiceError


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
    with pytest.raises(KeyError), service_database.writing() as connection:
        _add(connection, 1)
        raise KeyError
    assert _amounts(service_database) == []
    with service_database.writing() as connection:
        _add(connection, 1)
    assert _amounts(service_database) == [1]


def test_readers_cannot_write(service_database: ServiceDatabase) -> None:
    with service_database.writing() as connection:
        _add(connection, 1)
    with pytest.raises((sa.exc.DBAPIError, ServiceError)):
        with service_database.reading() as connection:
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
    with service_database.writing():
        with pytest.raises(AssertionError, match="within"), service_database.writing():
            pass


def test_one_writer_at_a_time(service_database: ServiceDatabase, service_url: str) -> None:
    with service_database.writing() as connection:
        _add(connection, 0)
    others = [service_database, ServiceDatabase.open(service_url)]

    def count(database: ServiceDatabase) -> None:
        for _ in range(10):
            with database.writing() as connection:
                amount = connection.scalar(sa.select(RATE_COUNTERS.c.amount))
                connection.execute(sa.update(RATE_COUNTERS).values(amount=amount + 1))

    threads = [threading.Thread(target=count, args=(one,)) for one in others * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    others[1].close()
    assert _amounts(service_database) == [60]


def test_a_newer_form_is_refused(service_database: ServiceDatabase, service_url: str) -> None:
    with service_database.writing() as connection:
        connection.execute(sa.update(SERVICE_SCHEMA).values(version=2))
    with pytest.raises(ServiceError, match="form 2") as told:
        ServiceDatabase.open(service_url)
    assert told.value.code == "data-not-ready"


@pytest.mark.parametrize(
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
