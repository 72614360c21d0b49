"""Answers that a caller was given before: given again, and judged anew every time."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from discreet_service.application import create_app
from discreet_service.database import QUERY_LOG, Statement, change_rows
from discreet_service.database.schema import POLICIES, RATE_COUNTERS, RELEASED_TABLES
from discreet_service.people.callers import NewApiKey
from discreet_service.permissions import Grant, Principal
from discreet_service.service import Service
from tests.helpers.asgi_browser import AsgiBrowser
from tests.helpers.service_data import census_service, slow_policy

LOCAL = Principal(name="local", kind="local", grants=(Grant("admin"),))
ADDRESS = "/api/v1/datasets/census/data?unit=person&by=sex&format=csv"
HOUR = 3_600_000


class Caller:
    """A service, and a system that asks it by a key."""

    def __init__(self, service: Service) -> None:
        self.service = service
        service.users.add(LOCAL, "backend", "system")
        service.users.grant(LOCAL, "backend", Grant("requester", "census"))
        self.key = self.new_key()
        self.browser = AsgiBrowser(create_app(service, ("datasets", "queries")))

    def new_key(self, days: int = 30) -> NewApiKey:
        return self.service.api_keys.create(LOCAL, name="tests", owner="backend", days=days,
                                            grants=[Grant("requester", "census")])  # fmt: skip

    def get(self, address: str = ADDRESS, **headers: str) -> httpx.Response:
        head = {"Authorization": f"Bearer {self.key.token}"}
        head |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.browser.get(address, headers=head)

    def rows(self, table: sa.Table = QUERY_LOG) -> list[Any]:
        with self.service.database.reading() as connection:
            return list(connection.execute(sa.select(table)))

    @property
    def made(self) -> float:
        """How many tables were made."""
        for line in self.service.metrics.page().decode().splitlines():
            if line.startswith('discreet_query_seconds_count{stage="protect"}'):
                return float(line.split()[-1])
        return 0.0

    @property
    def looked_at(self) -> int:
        """How many policies were asked of the table by the long way."""
        return len(self.service.answers.__dict__.get("asked", ()))


@pytest.fixture
def caller(census_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    """A service of its own; it counts how often a query goes the long way."""
    service = census_service(census_data, tmp_path)
    service.policies.in_force.ensure("census", "2022-1")
    asked = service.answers.__dict__["asked"] = list[str]()
    prepared = service.answers.prepared

    def counted(dataset: str, query: Any) -> Any:
        asked.append(dataset)
        return prepared(dataset, query)

    monkeypatch.setattr(service.answers, "prepared", counted)
    yield Caller(service)
    service.close()


@pytest.fixture
def other(caller: Caller) -> Iterator[Service]:
    """Another process of the same service."""
    found = Service(caller.service.settings)
    yield found
    found.close()


def test_an_answer_given_again_is_the_same_and_noted_the_same(caller: Caller) -> None:
    first, again, third = caller.get(), caller.get(), caller.get()
    assert first.status_code == again.status_code == 200
    assert again.content == first.content == third.content
    own = ("x-request-id",)
    heads = [
        [(name, value) for name, value in each.headers.items() if name not in own]
        for each in (first, again, third)
    ]
    assert heads[0] == heads[1] == heads[2]
    assert (caller.looked_at, caller.made) == (1, 1)
    rows = caller.rows()
    assert [row.cache_hit for row in rows][1:] == [True, True]
    for name in ("principal", "caller_key", "query", "digest", "verdict", "cells", "bytes"):
        assert len({getattr(row, name) for row in rows}) == 1, name
    assert len(caller.rows(RELEASED_TABLES)) == 1


def test_who_has_it_is_told_so(caller: Caller) -> None:
    tag = caller.get().headers["etag"]
    for known in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        answer = caller.get(If_None_Match=known)
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == tag
        assert "content-disposition" not in answer.headers
    assert caller.get(If_None_Match='"other"').status_code == 200
    assert caller.looked_at == 1
    assert [row.bytes > 0 for row in caller.rows()] == [True, *[False] * 4, True]


def test_formats_and_languages_are_told_apart(caller: Caller) -> None:
    address = ADDRESS.replace("&format=csv", "")
    for _ in range(2):
        csv, stat = caller.get(address, Accept="text/csv"), caller.get(address)
        german = caller.get(address, Accept_Language="de")
        assert csv.headers["content-type"].startswith("text/csv")
        assert stat.json()["class"] == german.json()["class"] == "dataset"
        assert german.headers["content-language"] == "de"
        assert german.json()["label"] != stat.json()["label"]
    assert caller.looked_at == 3


def test_a_key_that_is_taken_back_elsewhere_ends_with_the_next_question(
    caller: Caller, other: Service
) -> None:
    assert [caller.get().status_code for _ in range(3)] == [200] * 3
    other.api_keys.revoke(LOCAL, caller.key.key.id)
    assert caller.get().status_code == 401
    assert len(caller.rows()) == 3


def test_a_role_that_is_taken_away_elsewhere_ends_with_the_next_question(
    caller: Caller, other: Service
) -> None:
    assert [caller.get().status_code for _ in range(2)] == [200] * 2
    other.users.withdraw(LOCAL, "backend", Grant("requester", "census"))
    assert caller.get().status_code == 403


def test_a_key_ends_when_it_says(caller: Caller) -> None:
    assert [caller.get().status_code for _ in range(2)] == [200] * 2
    now = caller.service.clock()
    for each in (caller.service, caller.service.api_keys):
        each.__dict__["clock" if each is caller.service else "_clock"] = lambda: (
            now + 31 * 24 * HOUR
        )
    assert caller.get().status_code == 401


def test_a_version_that_is_retired_elsewhere_ends_with_the_next_question(
    caller: Caller, other: Service
) -> None:
    assert [caller.get().status_code for _ in range(2)] == [200] * 2
    other.datasets.retire("census", "2022-1", "berta")
    assert caller.get(f"{ADDRESS}&version=2022-1").status_code == 410
    assert caller.get().status_code == 410


def test_another_policy_acts_with_the_next_question(caller: Caller, other: Service) -> None:
    """Without a policy in force nothing is answered, whatever was answered before."""
    assert [caller.get().status_code for _ in range(2)] == [200] * 2
    with other.database.writing() as connection:
        assert change_rows(connection, POLICIES, {"state": "active"}, state="retired")
    assert caller.get().status_code == 503
    with other.database.writing() as connection:
        change_rows(connection, POLICIES, {"state": "retired"}, state="active")
    assert caller.get().status_code == 200


def test_rates_hold_for_what_is_given_again(census_data: Path, tmp_path: Path) -> None:
    service = census_service(census_data, tmp_path, slow_policy(5))
    caller = Caller(service)
    assert [caller.get().status_code for _ in range(5)] == [200] * 5
    refused = caller.get()
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 10
    assert refused.json()["rule"] == "P8"
    last = caller.rows()[-1]
    assert (last.verdict, last.rules, last.bytes) == ("refused", '["P8"]', 0)
    # Another process counts the same.
    second = Service(service.settings)
    elsewhere = Caller.__new__(Caller)
    elsewhere.service, elsewhere.key = second, caller.key
    elsewhere.browser = AsgiBrowser(create_app(second, ("datasets", "queries")))
    assert elsewhere.get().status_code == 429
    second.close()
    service.close()


def test_two_processes_count_together(caller: Caller, other: Service) -> None:
    """What each keeps in mind of counters is read again when the other has written."""
    elsewhere = Caller.__new__(Caller)
    elsewhere.service, elsewhere.key = other, caller.key
    elsewhere.browser = AsgiBrowser(create_app(other, ("datasets", "queries")))
    bodies = [each.get().content for _ in range(4) for each in (caller, elsewhere)]
    assert len({*bodies}) == 1
    released = caller.rows(RELEASED_TABLES)
    assert len(released) == 1
    (cells,) = [row.amount for row in caller.rows(RATE_COUNTERS) if row.measure == "policy cells"]
    assert cells == released[0].cells
    assert len(caller.rows()) == 8
    new = ADDRESS.replace("by=sex", "by=marital_status")
    assert elsewhere.get(new).content == caller.get(new).content
    assert len(caller.rows(RELEASED_TABLES)) == 2


@pytest.mark.parametrize("again", [False, True], ids=["new", "given before"])
def test_nothing_goes_out_that_cannot_be_noted(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """A disk that is full: no answer, whether the table was there before or not."""
    if again:
        assert [caller.get().status_code for _ in range(2)] == [200] * 2
    released, noted = len(caller.rows(RELEASED_TABLES)), len(caller.rows())
    change = Statement.change

    def full(self: Statement, connection: sa.Connection, /, **values: Any) -> int:
        if "caller_key" in values:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return change(self, connection, **values)

    monkeypatch.setattr(Statement, "change", full)
    answer = caller.get()
    assert answer.status_code == 507, answer.text
    assert b"Total" not in answer.content
    monkeypatch.undo()
    assert len(caller.rows()) == noted
    assert caller.get().status_code == 200
    assert len(caller.rows(RELEASED_TABLES)) == max(released, 1)


def test_contents_have_bounds(caller: Caller) -> None:
    kept = caller.browser._app.state.kept_answers
    kept._contents._most, kept._calls._most = 2_000, 20_000
    by = ("age5", "education", "marital_status", "sex", "nationality")
    for one in by * 2:
        assert caller.get(ADDRESS.replace("by=sex", f"by={one}")).status_code == 200
    assert 0 < sum(len(content) for _, content in kept._contents.items()) <= 2_000
    assert 0 < len(kept._calls.items()) <= 4
    assert caller.made == len(by)
