"""Data sets that are open to the public: the same figures under the same policies."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from discreet_service.application import create_app
from discreet_service.database import ASKED_PATTERNS, QUERY_LOG, RATE_COUNTERS, RELEASED_TABLES
from discreet_service.permissions import Grant, Permission
from discreet_service.service import Service
from tests.helpers.asgi_browser import AsgiBrowser
from tests.helpers.service_callers import KnownCaller, app_of_known
from tests.helpers.service_data import census_service, slow_policy

API = "/api/v1/datasets/census"
ADDRESS = f"{API}/data?unit=person&by=sex&format=csv"
HTML = {"Accept": "text/html"}


def _open(service: Service, *datasets: str, **limits: Any) -> Service:
    """The same service with data sets that are open."""
    service.close()
    stated = dataclasses.replace(service.settings.limits, anonymous_per_second=1e6, **limits)
    return Service(dataclasses.replace(service.settings, public_datasets=datasets, limits=stated))


@pytest.fixture
def service(census_data: Path, tmp_path: Path) -> Iterator[Service]:
    """A service with the census, open to the public; large tables are made by jobs."""
    found = _open(census_service(census_data, tmp_path), "census", cells_instant=300)
    yield found
    found.close()


def _browser(service: Service, address: str = "192.0.2.1") -> AsgiBrowser:
    return AsgiBrowser(create_app(service), address=address)


def _rows(service: Service, table: sa.Table) -> list[Any]:
    with service.database.reading() as connection:
        return list(connection.execute(sa.select(table)))


def test_the_public_gets_what_others_get(service: Service) -> None:
    app = create_app(service)
    here, there = AsgiBrowser(app), AsgiBrowser(app, address="198.51.100.7")
    told = [one.get(ADDRESS) for one in (here, here, there, here)]
    assert [one.status_code for one in told] == [200] * 4
    known = KnownCaller(app_of_known(service, ("queries",)), Grant("requester", "census"))
    assert {one.content for one in told} == {known.get(ADDRESS).content}
    listed = here.get("/api/v1/datasets").json()["datasets"]
    assert [one["id"] for one in listed] == ["census"]
    body = {"unit": "person", "by": ["sex"]}
    assert here.post(f"{API}/query", json=body).status_code == 200
    verdict = here.post(f"{API}/query:check", json=body).json()["verdict"]
    assert verdict["allowed"]


def test_what_the_public_was_given_is_accounted_to_the_public(service: Service) -> None:
    app = create_app(service)
    for address in ("192.0.2.1", "198.51.100.7"):
        assert AsgiBrowser(app, address=address).get(ADDRESS).status_code == 200
    assert {row.principal for row in _rows(service, QUERY_LOG)} == {"public"}
    assert len(_rows(service, RELEASED_TABLES)) == 1
    callers = {row.principal for row in _rows(service, ASKED_PATTERNS)}
    assert len(callers) == 2
    text = str([tuple(row) for table in (QUERY_LOG, ASKED_PATTERNS, RATE_COUNTERS)
                for row in _rows(service, table)])  # fmt: skip
    assert "192.0.2" not in text
    assert "198.51.100" not in text
    cells = [row.subject for row in _rows(service, RATE_COUNTERS) if row.measure == "policy cells"]
    assert cells == ["census: public"]


def test_rates_are_of_one_address_and_new_cells_of_all(census_data: Path, tmp_path: Path) -> None:
    closed = census_service(census_data, tmp_path, slow_policy(4, 40))
    service = _open(closed, "census")
    app = create_app(service)
    here, there = AsgiBrowser(app), AsgiBrowser(app, address="198.51.100.7")
    assert [here.get(ADDRESS).status_code for _ in range(5)] == [200] * 4 + [429]
    assert there.get(ADDRESS).status_code == 200
    # Many addresses of one network of IPv6 are one.
    for at, status in enumerate([200] * 4 + [429]):
        assert AsgiBrowser(app, address=f"2001:db8::{at + 1}").get(ADDRESS).status_code == status
    statuses = [
        AsgiBrowser(app, address=f"203.0.113.{at}").get(ADDRESS.replace("sex", by)).status_code
        for at, by in enumerate(("age5", "education", "marital_status", "nationality"))
    ]
    assert 429 in statuses
    service.close()


def test_large_tables_need_a_key(service: Service) -> None:
    browser = _browser(service)
    large = f"{API}/data?unit=person&by=age5,education,sex"
    refused = browser.get(large)
    assert (refused.status_code, refused.json()["limit"]) == (413, 300)
    page = browser.get("/tables/census/result?unit=person&by=age5,education,sex", headers=HTML)
    assert page.status_code == 413
    assert _rows(service, RELEASED_TABLES) == []
    assert browser.get("/api/v1/jobs").status_code == 401
    for method, address in (("POST", "/api/v1/jobs"), ("GET", "/api/v1/log")):
        assert browser.ask(method, address).status_code in (401, 405)


def test_caches_may_keep_what_is_open_and_nothing_else(service: Service) -> None:
    app = create_app(service)
    browser = AsgiBrowser(app)
    for _ in range(2):
        latest = browser.get(ADDRESS)
        assert latest.headers["cache-control"] == "public, max-age=300"
        assert "Authorization" not in latest.headers["vary"]
        named = browser.get(f"{ADDRESS}&version=2022-1")
        assert named.headers["cache-control"] == "public, max-age=86400, immutable"
        known = browser.get(ADDRESS, headers={"If-None-Match": latest.headers["etag"]})
        assert (known.status_code, known.headers["cache-control"]) == (304, "public, max-age=300")
    restricted = KnownCaller(app_of_known(service, ("queries",)), Grant("requester", "census"))
    for address in (ADDRESS, f"{ADDRESS}&version=2022-1"):
        head = restricted.get(address).headers
        assert head["cache-control"] == "private, no-cache"
        assert "Authorization" in head["vary"]
    assert (
        browser.get(ADDRESS.replace("by=sex", "by=nothing")).headers["cache-control"] == "no-store"
    )


def test_what_is_not_open_stays_shut(census_data: Path, tmp_path: Path) -> None:
    service = _open(census_service(census_data, tmp_path), "labour")
    browser = _browser(service)
    for address in (ADDRESS, API, f"{API}/variables"):
        assert browser.get(address).status_code == 401
    assert "/tables/census" not in browser.get("/", headers=HTML).text
    somebody = service.somebody("192.0.2.1")
    assert {one for one in Permission if somebody.may(one)} == {
        Permission.catalogue_read, Permission.query_check, Permission.query_run,
    }  # fmt: skip
    assert not somebody.may(Permission.query_run, "census")
    service.close()


def test_who_opens_the_first_table_is_shown_it(service: Service) -> None:
    browser = _browser(service)
    home = browser.get("/", headers=HTML).text
    start = home.index('"/tables/census?') + 1
    address = home[start : home.index('"', start)].replace("&amp;", "&")
    assert browser.get(address, headers=HTML).status_code == 200
    result = browser.get(address.replace("/census?", "/census/result?"), headers=HTML)
    assert result.status_code == 200
    assert "<table" in result.text
