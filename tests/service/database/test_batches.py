"""Batches: nobody is told of what is not on the disk, and who fails, fails alone."""

import threading
from concurrent.futures import Future
from typing import Any

import pytest
import sqlalchemy as sa

from discreet_service.database import (
    API_KEYS,
    RATE_COUNTERS,
    ServiceDatabase,
    Statement,
    WriteBatch,
    change_rows,
    insert_row,
)
from discreet_service.database.schema import METADATA, WATCHED
from discreet_service.problems import ServiceError
from tests.helpers.rows import for_all_rows

_ROWS = sa.select(RATE_COUNTERS.c.subject).order_by(RATE_COUNTERS.c.subject)


def _subjects(database: ServiceDatabase) -> list[str]:
    with database.reading() as connection:
        return list(connection.scalars(_ROWS))


def _add(batch: WriteBatch, subject: str) -> str:
    insert_row(batch.connection, RATE_COUNTERS, subject=subject, measure="m", window_start=0,
               amount=1)  # fmt: skip
    return subject


def _held_up(database: ServiceDatabase, works: list[Any]) -> list[Future[Any]]:
    """Hand in work while another batch is written, so that it comes into one batch."""
    begun, gate = threading.Event(), threading.Event()

    def wait(_: WriteBatch) -> None:
        begun.set()
        gate.wait(60)

    first = database.submit(wait)
    begun.wait(60)
    futures = [database.submit(work) for work in works]
    gate.set()
    first.result(60)
    return futures


def test_what_is_handed_in_together_is_one_transaction(service_database: ServiceDatabase) -> None:
    batches = list[WriteBatch]()

    def note(batch: WriteBatch, subject: str) -> str:
        batches.append(batch)
        return _add(batch, subject)

    works = [lambda batch, name=name: note(batch, name) for name in "abc"]
    assert [one.result(60) for one in _held_up(service_database, works)] == ["a", "b", "c"]
    assert len({id(batch) for batch in batches}) == 1
    assert _subjects(service_database) == ["a", "b", "c"]


def test_a_result_is_known_only_when_it_is_on_the_disk(service_database: ServiceDatabase) -> None:
    """Whoever is told looks at once, from elsewhere."""
    seen = list[list[str]]()
    future = service_database.submit(lambda batch: _add(batch, "a"))
    future.add_done_callback(lambda _: seen.append(_subjects(service_database)))
    assert future.result(60) == "a"
    service_database.batched(lambda _: None)
    assert seen == [["a"]]


def test_who_fails_fails_alone(service_database: ServiceDatabase) -> None:
    def fail(batch: WriteBatch) -> None:
        _add(batch, "gone")
        raise KeyError("mine")

    works = [lambda batch: _add(batch, "a"), fail, lambda batch: _add(batch, "b")]
    one, two, three = _held_up(service_database, works)
    assert (one.result(60), three.result(60)) == ("a", "b")
    with pytest.raises(KeyError, match="mine"):
        two.result(60)
    assert _subjects(service_database) == ["a", "b"]


def test_a_batch_that_cannot_be_written_tells_nobody_of_a_result(
    service_database: ServiceDatabase,
) -> None:
    """What fails at the end fails for all, and the next batch is written."""

    def fail(_: sa.Connection) -> None:
        raise ServiceError("no room", "disk-full")

    def work(batch: WriteBatch) -> str:
        batch.at_end[fail] = None
        return _add(batch, "a")

    for future in _held_up(service_database, [work, lambda batch: _add(batch, "b")]):
        with pytest.raises(ServiceError, match="no room"):
            future.result(60)
    assert _subjects(service_database) == []
    assert service_database.batched(lambda batch: _add(batch, "c")) == "c"
    assert _subjects(service_database) == ["c"]


def test_who_leaves_while_waiting_stops_nobody(service_database: ServiceDatabase) -> None:
    begun, gate = threading.Event(), threading.Event()

    def wait(_: WriteBatch) -> None:
        begun.set()
        gate.wait(60)

    first = service_database.submit(wait)
    begun.wait(60)
    assert not first.cancel()
    left = service_database.submit(lambda batch: _add(batch, "left"))
    assert left.cancel()
    gate.set()
    assert service_database.batched(lambda batch: _add(batch, "a")) == "a"
    assert _subjects(service_database) == ["a"]


def test_no_batch_within_a_transaction(service_database: ServiceDatabase) -> None:
    with (
        pytest.raises(AssertionError, match="within"),
        service_database.writing(),
    ):
        service_database.batched(lambda _: None)


def test_batches_of_others_are_seen(service_database: ServiceDatabase, service_url: str) -> None:
    """What one keeps in mind of its own batches holds until somebody else writes."""
    owner, other = object(), ServiceDatabase.open(service_url)

    def known(batch: WriteBatch) -> tuple[int, int]:
        return batch.known(owner)

    first = service_database.batched(known)
    assert service_database.batched(known) == first
    other.batched(lambda _: None)
    second = service_database.batched(known)
    assert second != first
    assert service_database.batched(known) == second
    service_database.batched(lambda batch: batch.known(object()))
    assert service_database.batched(known) != second
    other.close()


def _values(table: sa.Table, number: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for column in table.columns:
        kind = column.type.python_type
        found[column.name] = False if kind is bool else 0 if kind is int else str(number)
    return found


@for_all_rows("name", sorted(WATCHED))
def test_every_change_of_what_is_watched_counts(
    service_database: ServiceDatabase, name: str
) -> None:
    table, users, at = METADATA.tables[name], METADATA.tables["users"], [*WATCHED].index(name)
    before, values = service_database.number(), _values(table, at)
    with service_database.writing() as connection:
        if "user_id" in table.c:
            insert_row(connection, users, **_values(users, at))
            values["user_id"] = str(at)
        insert_row(connection, table, **values)
    inserted = service_database.number()
    assert inserted > before
    column = table.columns.keys()[-1]
    with service_database.writing() as connection:
        connection.execute(sa.update(table).values({column: values[column]}))
    changed = service_database.number()
    assert changed > inserted
    with service_database.writing() as connection:
        connection.execute(sa.delete(table))
    assert service_database.number() > changed


def test_when_a_key_was_used_is_no_change(service_database: ServiceDatabase) -> None:
    before = service_database.number()
    with service_database.writing() as connection:
        change_rows(connection, API_KEYS, {"id": "x"}, last_used_at=1)
        insert_row(connection, RATE_COUNTERS, subject="a", measure="m", window_start=0, amount=1)
    assert service_database.number() == before


def test_what_is_remembered_is_read_again_after_a_change(
    service_database: ServiceDatabase, service_url: str
) -> None:
    other, read = ServiceDatabase.open(service_url), list[int]()
    users = METADATA.tables["users"]

    def count(connection: sa.Connection) -> int:
        read.append(1)
        return connection.scalar(sa.select(sa.func.count()).select_from(users)) or 0

    assert [service_database.remembered("users", count) for _ in range(3)] == [0, 0, 0]
    assert len(read) == 1
    with other.writing() as connection:
        insert_row(connection, users, **_values(users, 1))
    assert [service_database.remembered("users", count) for _ in range(2)] == [1, 1]
    assert len(read) == 2
    other.close()


def test_what_was_never_written_is_not_remembered(service_database: ServiceDatabase) -> None:
    users = METADATA.tables["users"]

    def count(connection: sa.Connection) -> int:
        return connection.scalar(sa.select(sa.func.count()).select_from(users)) or 0

    with pytest.raises(KeyError), service_database.writing() as connection:  # noqa: PT012
        insert_row(connection, users, **_values(users, 1))
        assert service_database.remembered("users", count) == 0
        raise KeyError
    assert service_database.remembered("users", count) == 0


def test_a_statement_is_written_out_once(service_database: ServiceDatabase) -> None:
    one = Statement(sa.select(RATE_COUNTERS.c.amount).where(
        RATE_COUNTERS.c.subject == sa.bindparam("subject"), RATE_COUNTERS.c.measure == "m"
    ))  # fmt: skip
    service_database.batched(lambda batch: _add(batch, "a"))
    for subject, found in (("a", [(1,)]), ("b", []), ("a", [(1,)])):
        with service_database.reading() as connection:
            assert one.rows(connection, subject=subject) == found
