"""Upkeep: each task when it is due, once for all processes, by a set clock."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from discreet.release.packages.keys import write_key_pair
from discreet_service.audit.trail import AuditKind, LogMode, LogVerdict
from discreet_service.database.schema import ASKED_PATTERNS
from discreet_service.jobs import retention
from discreet_service.jobs.queue import JobQueue
from discreet_service.jobs.retention import TASKS, keep_up, show_chain, upkeep
from discreet_service.people.approvals import ProposalKind
from discreet_service.permissions import Grant, Principal
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.settings import ServiceSettings
from tests.helpers.service_people import SetClock, at_once

HOUR, DAY = 3_600_000, 86_400_000
CORA = Principal(name="cora", kind="session", grants=(Grant("custodian"),))


@pytest.fixture
def clock(set_clock: SetClock) -> SetClock:
    return set_clock


@pytest.fixture
def kept(service_url: str, tmp_path: Path, clock: SetClock) -> Iterator[Service]:
    (tmp_path / "secret").write_text("s" * 40)
    (tmp_path / "secret").chmod(0o600)
    for name in ("datasets", "releases", "parameters"):
        (tmp_path / name).mkdir()
    pair = write_key_pair(tmp_path / "trail")
    document = {"database": service_url, "secret_file": "secret"}
    document |= {"signing_key_file": str(pair.signing)}
    found = Service(ServiceSettings.of(document, tmp_path), clock)
    yield found
    found.close()


def entries(service: Service, kind: AuditKind) -> int:
    return len(service.trail.search(kind=kind).rows)


def ask(service: Service) -> None:
    service.query_log.append(
        principal="rita", mode=LogMode.query, verdict=LogVerdict.answered, query={}, digest="d"
    )


def test_everything_is_done_once_and_again_when_it_is_due(kept: Service, clock: SetClock) -> None:
    assert keep_up(kept) == [*TASKS]
    assert keep_up(kept) == []
    clock.now += HOUR - 1
    assert keep_up(kept) == []
    clock.now += 1
    assert keep_up(kept) == [name for name in TASKS if name != "chain"]
    clock.now += DAY
    assert keep_up(kept) == [*TASKS]
    assert entries(kept, AuditKind.trail_verified) == 2
    heads = sorted((kept.settings.folder / "heads").iterdir())
    assert len(heads) == entries(kept, AuditKind.head_signed) == 2
    assert kept.trail.verify().whole


def test_names_go_after_90_days_and_rows_after_two_years(kept: Service, clock: SetClock) -> None:
    ask(kept)
    clock.now += 90 * DAY
    keep_up(kept)
    assert kept.query_log.search().rows[0].principal == "rita"
    clock.now += DAY
    keep_up(kept)
    (row,) = kept.query_log.search().rows
    assert (row.principal, row.pseudonymised) == (kept.query_log.pseudonym("rita"), True)
    clock.now += 640 * DAY
    keep_up(kept)
    assert kept.query_log.search().rows == ()
    assert entries(kept, AuditKind.log_pseudonymised) == entries(kept, AuditKind.log_deleted) == 1


def test_proposals_end_and_patterns_are_forgotten(kept: Service, clock: SetClock) -> None:
    told = {"dataset": "d", "version": "1", "principal": "rita", "kind": "near"}
    with kept.database.writing() as connection:
        kept.approvals.propose(
            connection, kind=ProposalKind.policy_change, subject="census@1", digest="0" * 64,
            principal=CORA, reason="due this year",
        )  # fmt: skip
        pattern = {**told, "subject": "s", "item": "i", "at": clock.now}
        connection.execute(sa.insert(ASKED_PATTERNS).values(**pattern))
    keep_up(kept)
    assert entries(kept, AuditKind.proposal_expired) == 0
    clock.now += 91 * DAY
    keep_up(kept)
    assert entries(kept, AuditKind.proposal_expired) == 1
    with kept.database.reading() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(ASKED_PATTERNS)) == 0


def test_of_several_processes_one_does_it(kept: Service, clock: SetClock) -> None:
    others = [Service(kept.settings, clock) for _ in range(4)]
    done: list[list[str]] = []
    kept.database.lay_out()
    at_once(*(lambda one=one: done.append(keep_up(one)) for one in others))
    for other in others:
        show_chain(other)
        assert b"discreet_audit_chain_ok 1.0" in other.metrics.page()
        other.close()
    assert sorted(name for each in done for name in each) == sorted(TASKS)
    assert entries(kept, AuditKind.trail_verified) == entries(kept, AuditKind.head_signed) == 1


def test_what_fails_is_tried_again_soon_and_stops_nothing(
    kept: Service, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: JobQueue) -> int:
        raise ServiceError("no", code="overloaded")

    with monkeypatch.context() as patched:
        patched.setattr(JobQueue, "expire", failing)
        assert keep_up(kept) == [name for name in TASKS if name != "results"]
        clock.now += 599_999
        assert keep_up(kept) == []
    clock.now += 1
    assert keep_up(kept) == ["results"]


def test_a_broken_trail_is_told(kept: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_up(kept)
    monkeypatch.setattr(kept.trail, "_key", b"another")
    retention.verify_trail(kept)
    assert b"discreet_audit_chain_ok 0.0" in kept.metrics.page()
    other = Service(kept.settings, kept.clock)
    other.metrics.chain.set(True)
    show_chain(other)
    assert b"discreet_audit_chain_ok 0.0" in other.metrics.page()
    other.close()


def test_it_runs_beside_the_server_and_ends_with_it(kept: Service) -> None:
    before = {*threading.enumerate()}
    with upkeep(kept, look=0.01):
        until = time.monotonic() + 120
        while kept.trail.last_signed() is None and time.monotonic() < until:
            time.sleep(0.01)
    assert before >= {*threading.enumerate()}  # others may end meanwhile
    assert kept.trail.last_signed() is not None
    assert b"discreet_audit_chain_ok 1.0" in kept.metrics.page()
