"""The query log: what it holds, and how it forgets who asked."""

import json
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from discreet_service.audit.trail import (
    AuditKind,
    AuditTrail,
    LogMode,
    LogVerdict,
    QueryLog,
    shown_query,
)
from discreet_service.database import ServiceDatabase, WriteBatch
from discreet_service.database.schema import QUERY_LOG
from discreet_service.problems import ServiceError

DAY = 86_400_000


@pytest.fixture
def log(service_database: ServiceDatabase, set_clock: Any) -> QueryLog:
    return QueryLog(service_database, b"l" * 32, set_clock)


@pytest.fixture
def trail(service_database: ServiceDatabase, set_clock: Any) -> AuditTrail:
    return AuditTrail(service_database, b"k" * 32, set_clock)


def ask(log: QueryLog, principal: str = "anna", **more: Any) -> None:
    asked: dict[str, Any] = {
        "mode": LogMode.query,
        "verdict": LogVerdict.answered,
        "query": {"dataset": "census", "by": ["sex"]},
        "digest": "d1",
        "dataset": "census",
    }
    log.append(principal=principal, **{**asked, **more})


def test_rows_tell_what_was_asked(log: QueryLog) -> None:
    ask(log, rules=("P1", "P7"), verdict=LogVerdict.refused, cells=12, caller_key="dsc_ab")
    (row,) = log.search().rows
    told = shown_query(row)
    assert (told["query"], told["rules"]) == ({"dataset": "census", "by": ["sex"]}, ["P1", "P7"])
    assert (told["verdict"], told["cells"], told["caller_key"]) == ("refused", 12, "dsc_ab")
    assert told["at"] == "2027-01-15T08:00:00.000Z"


def test_a_query_is_logged_with_what_it_released(
    log: QueryLog, service_database: ServiceDatabase
) -> None:
    row = log.row(
        principal="anna", mode=LogMode.query, verdict=LogVerdict.answered, query={}, digest="d1"
    )

    def broken(batch: WriteBatch) -> None:
        log.write(row, batch)
        raise KeyError

    with pytest.raises(KeyError):
        service_database.batched(broken)
    assert log.search().rows == ()
    service_database.batched(partial(log.write, row))
    assert len(log.search().rows) == 1


def test_names_go_and_patterns_stay(log: QueryLog, trail: AuditTrail, set_clock: Any) -> None:
    for principal in ("anna", "bob", "anna"):
        ask(log, principal, caller_key="dsc_1")
    set_clock.pass_by(91 * 86_400)
    ask(log, "anna")
    assert log.pseudonymise(set_clock() - 90 * DAY, trail, "system") == 3
    rows = log.search().rows
    assert rows[0].principal == "anna"
    old = [row.principal for row in rows[1:]]
    assert old[0] == old[2] != old[1]
    assert all(row.caller_key.startswith("~") and row.pseudonymised for row in rows[1:])
    assert not {"anna", "bob"} & set(old)
    assert [row.principal for row in log.search(principal=log.pseudonym("bob")).rows] == [old[1]]
    # A second time there is nothing to do, and nothing to write down.
    assert log.pseudonymise(set_clock() - 90 * DAY, trail, "system") == 0
    entries = trail.search(kind=AuditKind.log_pseudonymised).rows
    assert [json.loads(entry.facts)["rows"] for entry in entries] == [3]


def test_other_keys_give_other_pseudonyms(log: QueryLog, service_database: ServiceDatabase) -> None:
    other = QueryLog(service_database, b"x" * 32, lambda: 0)
    assert other.pseudonym("anna") != log.pseudonym("anna")


def test_old_rows_are_deleted_without_names_only(
    log: QueryLog, trail: AuditTrail, set_clock: Any
) -> None:
    ask(log)
    set_clock.pass_by(800 * 86_400)
    ask(log)
    assert log.delete(set_clock(), trail, "system") == 0
    log.pseudonymise(set_clock(), trail, "system")
    assert log.delete(set_clock(), trail, "system") == 1
    assert [row.principal for row in log.search().rows] == ["anna"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE query_log SET query = '{}'",
        "UPDATE query_log SET principal = 'bob'",
        "UPDATE query_log SET principal = 'x', pseudonymised = TRUE, cells = 0",
        "DELETE FROM query_log",
    ],
)
def test_rows_are_never_changed_otherwise(
    log: QueryLog, service_database: ServiceDatabase, statement: str
) -> None:
    ask(log, cells=9)
    with (
        pytest.raises(sa.exc.DBAPIError, match="logged entries cannot be changed"),
        service_database.writing() as connection,
    ):
        connection.exec_driver_sql(statement)
    assert [row.principal for row in log.search().rows] == ["anna"]


def test_a_pseudonym_is_final(
    log: QueryLog, trail: AuditTrail, service_database: ServiceDatabase, set_clock: Any
) -> None:
    ask(log)
    log.pseudonymise(set_clock() + 1, trail, "system")
    with (
        pytest.raises(sa.exc.DBAPIError, match="logged entries cannot be changed"),
        service_database.writing() as connection,
    ):
        connection.execute(sa.update(QUERY_LOG).values(principal="bob", pseudonymised=True))


@pytest.mark.parametrize("text", ["an\nna", "\x1b[1m", "a\u202eb", "x" * 201])
def test_nobody_forges_rows(log: QueryLog, text: str) -> None:
    for name in ("principal", "dataset", "version", "digest", "caller_key", "parameters"):
        with pytest.raises(ServiceError):
            ask(log, **{name: text})
    assert log.search().rows == ()


def test_queries_stay_one_line_of_ascii(log: QueryLog) -> None:
    ask(log, query={"where": "Zürich\n\u202e"})
    (row,) = log.search().rows
    assert row.query == '{"where":"Z\\u00fcrich\\n\\u202e"}'
    ask(log, query={"where": "x" * 300_000})
    assert json.loads(log.search().rows[0].query) == {"too_long": 300_012}
