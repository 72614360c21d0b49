"""Verdicts: all rules together, on both databases, by whoever asks and however often."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from discreet_service.database import ServiceDatabase
from discreet_service.database.schema import POLICIES, RELEASED_TABLES, RELEASED_UNIVERSES
from discreet_service.permissions import Grant, Principal
from discreet_service.policies import (
    LayerAxis,
    Outcome,
    PolicyError,
    Verdict,
    sign_policy,
    verdicts,
)
from discreet_service.policies.patterns import alerts, forget_patterns
from discreet_service.policies.rules import padded
from discreet_service.problems import ServiceError
from tests.helpers.policy_cases import (
    ASKING,
    POLICY,
    SIGNING,
    PolicedTown,
    Town,
    policed,
    signed_file,
)

OTHER = Principal(name="other", kind="key", grants=(Grant("requester"),))


@pytest.fixture
def town() -> Town:
    return Town.drawn(4000, 7, district=4, sex=2, age=5, work=3, health=3, origin=4)


@pytest.fixture
def here(town: Town, service_database: ServiceDatabase, tmp_path: Path) -> PolicedTown:
    return policed(town, service_database, tmp_path)


def decided(here: PolicedTown, by: tuple[str, ...] = (), **where: Any) -> Verdict:
    asked = here.town.asked(by, where)
    return here.policies.decide(asked, ASKING, here.town.evidence(by, where))


def refusing(verdict: Verdict) -> list[str]:
    return [one.rule for one in verdict.refusing]


def test_what_nothing_is_against_is_answered_and_repeats_are_free(here: PolicedTown) -> None:
    first = decided(here, ("sex", "age"))
    assert first.allowed
    assert first.instant
    assert [one.outcome for one in first.rules] == [Outcome.passed] * 9
    again = decided(here, ("sex", "age"))
    assert again.repeat
    assert "0 new cells" in again.rules[7].explanation
    assert first.error() is None


def test_each_rule_of_the_structure(here: PolicedTown) -> None:
    assert refusing(decided(here, ("sex", "age", "work", "health", "origin"))) == ["P2"]
    assert refusing(decided(here, ("sex",), age=(1, 2))) == ["P6"]
    assert refusing(decided(here, age=(1, 2))) == ["P6"]
    asked = replace(here.town.asked(("sex",)), cells=6_000_000)
    verdict = here.policies.check(asked, ASKING)
    assert refusing(verdict) == ["P1"]
    error = verdict.error("de")
    assert error is not None
    assert (error.kind.status, error.limit) == (413, 5_000_000)
    hamlets = LayerAxis("hamlet", "hamlet", 2, None, geography=True)
    strange = replace(
        asked, cells=3, by=((None, hamlets),), apart={("hamlet", "hamlet"): frozenset()}
    )
    assert refusing(here.policies.check(strange, ASKING)) == ["P2", "P3"]
    assert refusing(here.policies.check(replace(strange, apart={}), ASKING)) == ["P2", "P3", "P5"]


def test_exposure_is_that_of_all_users_together(
    service_database: ServiceDatabase, tmp_path: Path
) -> None:
    names = tuple("abcdef")
    town = Town.drawn(4000, 7, **dict.fromkeys(names, 2))
    here = policed(town, service_database, tmp_path)
    tables = list(itertools.combinations(names, 4))
    askers = itertools.cycle((ASKING, OTHER))
    answered = [here.ask(by, who=who) for by, who in zip(tables, askers, strict=False)]
    # One table has an exposure of 1.5 ** 4, each other of 1.5 ** 3 / 2 more; the limit is 6.4.
    assert answered[0]
    assert sum(answered) == 1
    assert refusing(decided(here, tables[answered.index(False)])) == ["P3"]
    assert here.ask(tables[0], who=OTHER)


def test_refusals_about_people_are_all_alike(here: PolicedTown) -> None:
    here.town.columns["rare"] = (here.town.columns["age"] == 0) * 1
    here.town.columns["rare"][20:] = 0
    small = decided(here, ("sex",), rare=1)
    assert "P4" in refusing(small)
    here.town.columns["twin"] = here.town.columns["sex"].copy()
    here.town.columns["twin"][:3] ^= 1
    assert decided(here, ("age",), sex=1).allowed
    near = decided(here, ("age",), twin=1)
    assert refusing(near) == ["P5"]
    sparse = here.town.columns["sparse"] = here.town.columns["sex"].copy()
    sparse += 2 * here.town.columns["age"]
    empty = decided(here, ("sparse", "age", "sex"))
    assert "P7" in refusing(empty)
    told = []
    for each in (small, near, empty):
        error = each.error("de")
        assert error is not None
        told.append((str(error), error.code, error.rule, error.kind, each.names, each.told()))
    assert told[0] == told[1] == told[2]
    assert all(0 <= each < 0.05 for each in here.waited)


def test_evidence_is_not_asked_when_the_structure_refuses(here: PolicedTown) -> None:
    class Silent:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    asked = here.town.asked(("sex", "age", "work", "health", "origin"))
    assert not here.policies.decide(asked, ASKING, Silent()).allowed
    checked = here.policies.check(here.town.asked(("sex",)), ASKING)
    later = [one.rule for one in checked.rules if one.outcome is Outcome.later]
    assert later == ["P3", "P4", "P5", "P7"]
    with here.policies._database.reading() as connection:
        assert not connection.scalar(sa.select(sa.func.count()).select_from(RELEASED_TABLES))


@pytest.mark.parametrize("name", ["P1", "P5", "P9"])
def test_a_rule_that_fails_refuses(
    here: PolicedTown, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def broken(_: object) -> Any:
        raise ZeroDivisionError("quotes 17 persons")

    monkeypatch.setitem(verdicts.RULES_BY_NAME, name, broken)  # type: ignore[arg-type]
    verdict = decided(here, ("sex",))
    assert refusing(verdict) == [name]
    assert "17" not in repr(verdict)
    assert verdict.refusing[0].outcome is Outcome.failed


def test_a_rule_that_nobody_knows_refuses(
    town: Town, service_database: ServiceDatabase, tmp_path: Path
) -> None:
    here = policed(
        town, service_database, tmp_path, lambda text: text.replace('"P9"]', '"P9", "P10"]')
    )
    verdict = decided(here, ("sex",))
    assert refusing(verdict) == ["P10"]
    error = verdict.error()
    assert error is not None
    assert error.code == "data-not-ready"


def test_nothing_is_answered_without_a_trusted_policy(
    town: Town, service_database: ServiceDatabase, tmp_path: Path
) -> None:
    here = policed(town, service_database, tmp_path)
    place = tmp_path / "town" / "1" / "POLICY.toml"
    place.write_text(POLICY.replace("most = 4", "most = 9"))
    with pytest.raises(ServiceError, match="no policy is in force"):
        decided(here, ("sex",))
    sign_policy(place, SIGNING)
    assert decided(here, ("sex",)).allowed
    # From now on the file says nothing more.
    signed_file(tmp_path, POLICY.replace("most = 4", "most = 0"))
    assert decided(here, ("sex", "age")).allowed
    with service_database.writing() as connection:
        connection.execute(sa.update(POLICIES).values(document=POLICY + "\n# changed"))
    with pytest.raises(PolicyError, match="the policy changed after signing"):
        decided(here, ("age",))


def test_rates_by_principal_and_alarm_of_all(
    town: Town, service_database: ServiceDatabase, tmp_path: Path
) -> None:
    def slow(text: str) -> str:
        return (
            text.replace("per_second = 1000.0", "per_second = 1.0")
            .replace("burst = 10000", "burst = 3")
            .replace("cells_per_day = 10000000", "cells_per_day = 30")
            .replace("dataset_alarm = 100000000", "dataset_alarm = 28")
        )

    here = policed(town, service_database, tmp_path, slow)
    assert [here.ask(("sex",)) for _ in range(5)] == [True, True, True, False, False]
    assert here.ask(("sex",), who=OTHER)
    here.people.clock.later(seconds=1)
    assert here.ask(("sex",))
    assert not here.ask(("sex",))
    here.people.clock.later(seconds=60)
    assert not here.ask(("age", "work", "sex"))
    assert here.ask(("age", "work"))
    error = decided(here, ("health", "origin")).error()
    assert error is not None
    assert error.kind.status == 429
    assert error.retry_after is not None
    alarmed = here.policies.decide(
        here.town.asked(("health",)), OTHER, here.town.evidence(("health",))
    )
    assert alarmed.allowed
    assert alarmed.rules[7].outcome is Outcome.alerted
    here.people.clock.later(days=1)
    assert here.ask(("health", "sex"))


def test_what_is_on_disk_decides_whatever_is_in_memory(
    town: Town, service_database: ServiceDatabase, tmp_path: Path
) -> None:
    def slow(text: str) -> str:
        return text.replace("burst = 10000", "burst = 4").replace("1000.0", "0.001")

    here, other = (policed(town, service_database, tmp_path, slow) for _ in range(2))
    assert here.ask(("sex",))
    assert here.ask(("age",))
    assert other.ask(("work",))
    assert other.ask(("health",))
    # By what this process has in mind, there are two queries left.
    assert here.policies._foreseen(town.asked(("origin",)), ASKING).allowed
    assert refusing(decided(here, ("origin",))) == ["P8"]


def test_patterns_are_told_and_stopped(here: PolicedTown) -> None:
    pairs = [(one, other) for one in range(5) for other in range(one)]
    verdicts_of = [decided(here, ("sex",), age=pair) for pair in pairs]
    assert refusing(verdicts_of[0]) == ["P6"]
    assert refusing(verdicts_of[9]) == ["P6", "P9"]
    stopped = decided(here, ("sex",))
    assert refusing(stopped) == ["P9"]
    error = stopped.error("de")
    assert error is not None
    assert error.kind.status == 429
    assert "statistics@example.org" in error.what
    assert here.ask(("sex",), who=OTHER)
    with here.policies._database.writing() as connection:
        found = alerts(connection, "town", "1")
        assert [(one.kind, one.number, one.stopped) for one in found] == [
            ("partitions", 10, True),
            ("partitions", 3, False),
        ]
        assert forget_patterns(connection, here.people.clock.now + 1) > 0
    assert here.ask(("sex",))


def test_alerts_are_not_told_to_callers(here: PolicedTown) -> None:
    for at in range(20):
        here.ask(("sex",), spelling=f"spelling {at}")
    verdict = decided(here, ("sex",))
    assert any(one.outcome is Outcome.alerted for one in verdict.rules)
    assert {one["outcome"] for one in verdict.told()["rules"]} == {"passed"}
    assert [one["rule"] for one in verdict.told()["rules"]].count("P4/P5/P7") == 1


def test_two_that_do_not_go_together_are_not_both_answered(here: PolicedTown) -> None:
    here.town.columns["twin"] = here.town.columns["sex"].copy()
    here.town.columns["twin"][:3] ^= 1
    gate, found = threading.Barrier(2), list[bool]()

    def ask(name: str) -> None:
        gate.wait()
        found.append(here.ask(("age",), {name: 1}))

    threads = [threading.Thread(target=ask, args=(name,)) for name in ("sex", "twin")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(found) == [False, True]


def test_another_process_knows_what_was_released(
    here: PolicedTown, service_database: ServiceDatabase, tmp_path: Path
) -> None:
    here.town.columns["twin"] = here.town.columns["sex"].copy()
    here.town.columns["twin"][:3] ^= 1
    assert here.ask(("age",), {"sex": 1})
    other = policed(here.town, service_database, tmp_path)
    assert refusing(decided(other, ("age",), twin=1)) == ["P5"]
    with service_database.writing() as connection:
        kept = connection.execute(sa.select(RELEASED_UNIVERSES)).one()
        connection.execute(sa.update(RELEASED_UNIVERSES).values(sketch=kept.sketch[:-1] + b"\0"))
    third = policed(here.town, service_database, tmp_path)
    with pytest.raises(PolicyError, match="ledger of universes was changed"):
        decided(third, ("age",))


def test_policy_changes_and_overrides_need_two_persons(here: PolicedTown, tmp_path: Path) -> None:
    assert refusing(decided(here, ("sex",), age=(1, 2))) == ["P6"]
    in_force, people = here.policies.in_force, here.people
    anna = people.logged_in("anna", Grant("custodian"))
    berta = people.logged_in("berta", Grant("custodian"))
    group = '[{ name = "young", variable = "age", level = "age", codes = ["1", "2"] }]'
    text = (
        POLICY.replace("revision = 1", "revision = 2")
        .replace("per_variable = 0", "per_variable = 1")
        .replace("groups = []", f"groups = {group}")
    )
    signed = signed_file(tmp_path / "new", text)
    signature = signed.with_name("POLICY.toml.sig").read_text()
    with here.policies._database.writing() as connection:
        made = in_force.propose(connection, text, signature, anna, "one more group")
    with pytest.raises(ServiceError), here.policies._database.writing() as connection:
        people.approvals.approve(connection, made.id, anna, digest=made.digest)
    assert refusing(decided(here, ("sex",), age=(1, 2))) == ["P6"]
    with here.policies._database.writing() as connection:
        shown = in_force.proposed(connection, "town", made.digest)
        assert shown.text == text
        people.approvals.approve(connection, made.id, berta, digest=made.digest)
    assert decided(here, ("sex",), age=(1, 2)).allowed
    assert people.acts().count("policy_changed") == 2
    old = signed_file(tmp_path / "old")
    with (
        pytest.raises(ServiceError, match="revision"),
        here.policies._database.writing() as connection,
    ):
        in_force.propose(
            connection, POLICY, old.with_name("POLICY.toml.sig").read_text(), anna, "back again"
        )
    # An override of one refusal.
    asked = here.town.asked(("sex",), {"age": (2, 3)})
    assert not here.ask(("sex",), {"age": (2, 3)})
    clara = people.logged_in("clara", Grant("producer"))
    dora = people.logged_in("dora", Grant("producer"))
    # Digests of real tables are hexadecimal.
    digest = "a" * 64
    asked = replace(asked, digest=digest)
    evidence = here.town.evidence(("sex",), {"age": (2, 3)})
    assert not here.policies.decide(asked, ASKING, evidence).allowed
    with here.policies._database.writing() as connection:
        wanted = in_force.propose_override(connection, "town", "1", digest, clara, "for a court")
        people.approvals.approve(connection, wanted.id, dora, digest=digest)
    verdict = here.policies.decide(asked, ASKING, evidence)
    assert verdict.allowed
    assert [one.rule for one in verdict.rules if one.outcome is Outcome.overridden] == ["P6"]
    assert "refusal_overridden" in people.acts()


def test_refusals_are_explained_to_staff_without_counts(here: PolicedTown) -> None:
    here.town.columns["twin"] = here.town.columns["sex"].copy()
    here.town.columns["twin"][:3] ^= 1
    assert here.ask(("age",), {"sex": 1})
    assert not here.ask(("age",), {"twin": 1})
    digest = here.town.asked(("age",), {"twin": 1}).digest
    with here.policies._database.reading() as connection:
        found = here.policies.in_force.refusal(connection, "town", "1", digest)
        told = {one["rule"]: one["explanation"] for one in found["rules"]}
        assert told["P5"] == "it differs by few units from sex=1"
        with pytest.raises(ServiceError, match="refused table not found"):
            here.policies.in_force.refusal(connection, "town", "1", "none")


def test_blocks_take_multiples_of_fifty_milliseconds() -> None:
    waited: list[float] = []
    for took in (0, 1, 49, 50, 51, 137):
        with padded(iter((0, took)).__next__, waited.append):
            pass
    assert waited == pytest.approx([0, 0.049, 0.001, 0, 0.049, 0.013])
    with pytest.raises(ValueError, match="x"), padded(iter((0, 10)).__next__, waited.append):
        raise ValueError("x")
    assert waited[-1] == pytest.approx(0.04)
