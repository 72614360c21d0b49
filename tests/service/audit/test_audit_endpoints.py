"""The trail and the log over HTTP: auditors look, and leave a trace."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.release.packages.keys import read_signing_key, write_key_pair
from discreet_service.audit.trail import AuditKind, LogMode, LogVerdict
from discreet_service.service import Service
from discreet_service.settings import LimitSettings
from discreet_service.web import audit as audit_module
from tests.helpers.job_functions import job_service
from tests.helpers.service_callers import RoleCallers

ROLES = {
    "auditor": ["auditor"],
    "admin": ["admin"],
    "producer": ["producer"],
    "custodian": ["custodian"],
}


@pytest.fixture
def service(tmp_path: Path, service_url: str, set_clock: Any) -> Iterator[Service]:
    limits = LimitSettings(requests_per_second=1e6, burst=10**6, anonymous_per_second=1e6)
    key = write_key_pair(tmp_path / "office").signing
    settings = job_service(tmp_path, service_url).settings
    settings = dataclasses.replace(settings, limits=limits, signing_key_file=key)
    found = Service(settings, set_clock)
    yield found
    found.close()


@pytest.fixture
def callers(service: Service) -> RoleCallers:
    return RoleCallers(service, ("audit", "status"), ROLES)


def write(service: Service, number: int, person: str = "anna") -> None:
    for _ in range(number):
        with service.database.writing() as connection:
            service.trail.append(
                connection, kind=AuditKind.login, person=person, facts={"method": "oidc"}
            )


def ask_for(service: Service, principal: str = "anna") -> None:
    service.query_log.append(
        principal=principal,
        mode=LogMode.query,
        verdict=LogVerdict.answered,
        query={"by": ["sex"]},
        digest="d",
        dataset="census",
    )


def test_entries_page_by_page(callers: RoleCallers, service: Service) -> None:
    write(service, 3)
    write(service, 2, "bob")
    told = callers.ask("auditor", "GET", "/api/v1/audit?size=2&person=anna").json()
    assert [entry["seq"] for entry in told["entries"]] == [3, 2]
    told = callers.ask("auditor", "GET", f"/api/v1/audit?person=anna&cursor={told['next']}").json()
    assert ([entry["seq"] for entry in told["entries"]], told["next"]) == ([1], None)
    entry = told["entries"][0]
    assert (entry["kind"], entry["facts"]) == ("login", {"method": "oidc"})
    assert entry["at"] == "2027-01-15T08:00:00.000Z"
    since = "/api/v1/audit?since=2027-01-15T08:00:00Z&until=2027-01-15T09:00:01%2B01:00"
    assert len(callers.ask("auditor", "GET", since).json()["entries"]) == 5
    assert callers.ask("auditor", "GET", "/api/v1/audit?kind=logout").json()["entries"] == []


@pytest.mark.parametrize(
    "asked",
    [
        "kind=nothing",
        "cursor=0",
        f"cursor={2**63}",
        "cursor=x",
        "size=0",
        "size=100000",
        "since=yesterday",
        "since=2027-01-15T08:00:00",
        "person=" + "x" * 501,
    ],
)
@pytest.mark.parametrize("service_url", ["sqlite"], indirect=True)
def test_what_cannot_be_asked(callers: RoleCallers, asked: str) -> None:
    answer = callers.ask("auditor", "GET", f"/api/v1/audit?{asked}")
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")


@pytest.mark.parametrize("name", ["person", "about"])
@pytest.mark.parametrize("text", ["%00", "%ED%A0%80", "'%20OR%201=1--", "%25", "%F0%9F%98%80"])
def test_odd_texts_find_nothing(callers: RoleCallers, name: str, text: str) -> None:
    answer = callers.ask("auditor", "GET", f"/api/v1/audit?{name}={text}")
    assert answer.status_code in (200, 422)
    assert answer.status_code == 422 or answer.json()["entries"] == []
    assert callers.ask("auditor", "GET", f"/api/v1/log?principal={text}").status_code in (200, 422)


def test_verifying_leaves_a_trace(callers: RoleCallers, service: Service, tmp_path: Path) -> None:
    write(service, 4)
    assert service.settings.signing_key_file is not None
    key = read_signing_key(service.settings.signing_key_file)
    head = service.trail.sign_head(key, tmp_path, "service")
    told = callers.ask("auditor", "GET", "/api/v1/audit:verify").json()
    assert (told["whole"], told["entries"], told["heads"]) == (True, 5, 1)
    (entry,) = service.trail.search(kind=AuditKind.trail_verified).rows
    assert (entry.person, json.loads(entry.facts)["whole"]) == ("auditor", True)
    assert b"discreet_audit_chain_ok 1.0" in service.metrics.page()
    kept = json.loads(next(tmp_path.glob("head-*.json")).read_text())
    assert kept["seq"] == head.seq
    told = callers.ask("auditor", "POST", "/api/v1/audit:verify", json={"heads": [kept]}).json()
    assert (told["whole"], told["heads"]) == (True, 2)
    late = service.trail.sign_head(key, tmp_path, "service")
    other = {**kept, "seq": late.seq + 40}
    told = callers.ask("auditor", "POST", "/api/v1/audit:verify", json={"heads": [other]}).json()
    assert not told["whole"]
    assert b"discreet_audit_chain_ok 0.0" in service.metrics.page()


@pytest.mark.parametrize("service_url", ["sqlite"], indirect=True)
def test_one_walk_at_a_time(callers: RoleCallers) -> None:
    with audit_module._WALK:
        answer = callers.ask("auditor", "GET", "/api/v1/audit:verify")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
    assert callers.ask("auditor", "GET", "/api/v1/audit:verify").status_code == 200


def test_the_export_tells_of_itself(callers: RoleCallers, service: Service) -> None:
    write(service, 3, "Jürgen Groß")
    answer = callers.ask("auditor", "GET", "/api/v1/audit/export")
    entries = [json.loads(line) for line in answer.text.splitlines()]
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert [entry["seq"] for entry in entries] == [1, 2, 3, 4]
    assert (entries[3]["kind"], entries[3]["facts"]) == ("trail_exported", {"entries": 3})
    assert answer.content.isascii()


def test_the_log_page_by_page(callers: RoleCallers, service: Service) -> None:
    for _ in range(3):
        ask_for(service)
    ask_for(service, "bob")
    told = callers.ask("auditor", "GET", "/api/v1/log?size=2&principal=anna").json()
    assert [row["query"] for row in told["rows"]] == [{"by": ["sex"]}] * 2
    rest = callers.ask("auditor", "GET", f"/api/v1/log?principal=anna&cursor={told['next']}").json()
    assert (len(rest["rows"]), rest["next"]) == (1, None)
    assert callers.ask("auditor", "GET", "/api/v1/log?verdict=refused").json()["rows"] == []
    # Looking somebody up is written down, once for all pages.
    entries = service.trail.search(kind=AuditKind.log_read).rows
    assert [json.loads(entry.facts)["principal"] for entry in entries] == ["", "anna"]
