"""Two persons: nobody agrees with themselves, nor to anything but what they saw."""

from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from discreet.errors import DiscreetError
from discreet_service.people.approvals import (
    KINDS,
    Approvals,
    Proposal,
    ProposalKind,
    ProposalState,
)
from discreet_service.permissions import Grant, Permission, Principal
from discreet_service.problems import ServiceError
from tests.helpers.rows import for_all_rows
from tests.helpers.service_people import LOCAL, PeopleOfService, at_once, code_of

DIGEST, OTHER = "a" * 64, "b" * 64
WHY = "the parameters of the census are due"


class Acts:
    """What is done when two persons agreed; keeps a note in the same transaction."""

    def __init__(self, people: PeopleOfService) -> None:
        self.digest, self.done = DIGEST, 0
        for kind in ProposalKind:
            people.approvals.register(kind, self)

    def __call__(self, connection: sa.Connection, proposal: Proposal) -> str:
        self.done += 1
        connection.execute(
            sa.text("INSERT INTO login_delays VALUES (:digest, 1, 1)"), {"digest": proposal.id}
        )
        return self.digest


@pytest.fixture
def acts(people: PeopleOfService) -> Acts:
    return Acts(people)


def custodians(people: PeopleOfService) -> tuple[Principal, Principal]:
    return (
        people.logged_in("anna", Grant("custodian")),
        people.logged_in("otto", Grant("custodian")),
    )


def proposed(
    people: PeopleOfService,
    principal: Principal,
    kind: ProposalKind = ProposalKind.parameter_activation,
    dataset: str = "",
    subject: str = "census2022@3",
) -> Proposal:
    with people.database.writing() as connection:
        return people.approvals.propose(
            connection,
            kind=kind,
            subject=subject,
            digest=DIGEST,
            principal=principal,
            reason=WHY,
            dataset=dataset,
        )


def approve(
    people: PeopleOfService, number: str, principal: Principal, digest: str = DIGEST
) -> Proposal:
    with people.database.writing() as connection:
        return people.approvals.approve(connection, number, principal, digest=digest)


def notes(people: PeopleOfService) -> int:
    with people.database.reading() as connection:
        return int(connection.scalar(sa.text("SELECT count(*) FROM login_delays")) or 0)


def test_two_persons_agree_and_it_is_done(people: PeopleOfService, acts: Acts) -> None:
    anna, otto = custodians(people)
    waiting = proposed(people, anna)
    assert (waiting.state, acts.done) == (ProposalState.open, 0)
    decided = approve(people, waiting.id, otto)
    assert (decided.state, decided.decider, acts.done) == (ProposalState.approved, "otto", 1)
    assert notes(people) == 1
    assert people.acts()[-2:] == ["proposed", "approved"]
    with pytest.raises(ServiceError, match="this proposal is already approved"):
        approve(people, waiting.id, otto)
    assert acts.done == 1


@for_all_rows("kind", list(ProposalKind))
def test_every_kind_says_who_and_how_long(kind: ProposalKind) -> None:
    facts = KINDS[kind]
    assert facts.en != facts.de
    assert facts.days > 0


def test_nobody_agrees_with_themselves(people: PeopleOfService, acts: Acts) -> None:
    anna, _ = custodians(people)
    waiting = proposed(people, anna)
    key = people.keys.create(anna, name="second", grants=[Grant("custodian")])
    by_key = people.keys.principal(key.token)
    assert by_key is not None
    third = people.keys.create(anna, name="third", grants=[Grant("custodian")])
    by_third = people.keys.principal(third.token)
    assert by_third is not None
    grants = (Grant("custodian"),)
    for other in (
        anna,
        by_key,
        by_third,
        Principal(name="ANNA", kind="session", grants=grants),
        Principal(name="\N{CYRILLIC SMALL LETTER A}nna", kind="session", grants=grants),
    ):
        assert code_of(approve, people, waiting.id, other) == "second-person"
        with (
            people.database.writing() as connection,
            pytest.raises(ServiceError, match="you cannot decide on your own proposal"),
        ):
            people.approvals.reject(connection, waiting.id, other, WHY)
    assert acts.done == 0


def test_what_was_proposed_by_a_key_is_its_owners(people: PeopleOfService, acts: Acts) -> None:
    anna, _ = custodians(people)
    key = people.keys.create(anna, name="second", grants=[Grant("custodian")])
    by_key = people.keys.principal(key.token)
    assert by_key is not None
    waiting = proposed(people, by_key)
    with pytest.raises(ServiceError, match="you cannot approve your own proposal"):
        approve(people, waiting.id, anna)


def test_nobody_in_particular_agrees_to_nothing(people: PeopleOfService, acts: Acts) -> None:
    anna, _ = custodians(people)
    waiting = proposed(people, anna)
    for kind in ("local", "anonymous", "system"):
        nobody = Principal(name="x", kind=kind, grants=(Grant("custodian"),))
        with pytest.raises(ServiceError, match="a login is required"):
            approve(people, waiting.id, nobody)
        with pytest.raises(ServiceError, match="a login is required"):
            proposed(people, nobody, subject="other@1")


def test_the_content_agreed_on_is_the_one_proposed(people: PeopleOfService, acts: Acts) -> None:
    anna, otto = custodians(people)
    waiting = proposed(people, anna)
    for seen in (OTHER, "", "é", DIGEST[:-1]):
        assert code_of(approve, people, waiting.id, otto, seen) == "changed-meanwhile"
    assert acts.done == 0
    # Somebody put another content in its place: everything is undone.
    acts.digest = OTHER
    with pytest.raises(ServiceError, match="the content changed since the proposal"):
        approve(people, waiting.id, otto)
    assert notes(people) == 0
    with people.database.reading() as connection:
        assert people.approvals.proposal(connection, waiting.id).state is ProposalState.open
    assert people.acts()[-1] == "proposed"


def test_what_fails_is_undone(
    people: PeopleOfService, monkeypatch: pytest.MonkeyPatch, acts: Acts
) -> None:
    anna, otto = custodians(people)
    waiting = proposed(people, anna)

    def fails(*_: object, **__: object) -> None:
        raise ServiceError("no room", code="disk-full")

    with monkeypatch.context() as patched:
        patched.setattr(people.trail, "append", fails)
        with pytest.raises(ServiceError, match="no room"):
            approve(people, waiting.id, otto)
    assert notes(people) == 0
    assert approve(people, waiting.id, otto).state is ProposalState.approved


@pytest.mark.parametrize(
    ("kind", "role", "dataset"),
    [
        (ProposalKind.parameter_activation, "custodian", "census"),
        (ProposalKind.parameter_retirement, "custodian", "census"),
        (ProposalKind.policy_change, "custodian", "census"),
        (ProposalKind.refusal_override, "producer", "census"),
        (ProposalKind.release_publication, "producer", "census"),
    ],
)
def test_rights_are_those_for_the_data_set(
    people: PeopleOfService, acts: Acts, kind: ProposalKind, role: str, dataset: str
) -> None:
    anna = people.logged_in("anna", Grant(role, dataset))
    otto = people.logged_in("otto", Grant(role, "labour"))
    rosa = people.logged_in("rosa", Grant(role))
    for wrong in ("labour", "", "*"):
        assert code_of(proposed, people, anna, kind, wrong) == "not-allowed"
    waiting = proposed(people, anna, kind, dataset)
    assert code_of(approve, people, waiting.id, otto) == "not-allowed"
    assert approve(people, waiting.id, rosa).state is ProposalState.approved


def test_other_roles_agree_to_nothing(people: PeopleOfService, acts: Acts) -> None:
    anna, _ = custodians(people)
    waiting = proposed(people, anna)
    for at, role in enumerate(("reader", "requester", "producer", "reviewer", "auditor", "admin")):
        other = people.logged_in(f"user {at}", Grant(role))
        assert code_of(approve, people, waiting.id, other) == "not-allowed"


def test_proposals_are_rejected_or_taken_back(people: PeopleOfService, acts: Acts) -> None:
    anna, otto = custodians(people)
    first = proposed(people, anna)
    with pytest.raises(ServiceError, match="already proposed"):
        proposed(people, otto)
    with people.database.writing() as connection:
        found = people.approvals.reject(connection, first.id, otto, "V is too small for this")
    assert (found.state, found.remark) == (ProposalState.rejected, "V is too small for this")
    second = proposed(people, anna)
    with people.database.writing() as connection:
        with pytest.raises(ServiceError, match="only the proposer can withdraw a proposal"):
            people.approvals.withdraw(connection, second.id, otto)
        assert people.approvals.withdraw(connection, second.id, anna).state == "withdrawn"
    for number in (first.id, second.id):
        with pytest.raises(ServiceError, match="already"):
            approve(people, number, otto)
    assert acts.done == 0
    assert people.acts()[-4:] == ["proposed", "rejected", "proposed", "proposal_withdrawn"]


def test_proposals_expire(people: PeopleOfService, acts: Acts) -> None:
    anna, otto = custodians(people)
    waiting = proposed(people, anna)
    people.clock.later(days=14)
    with pytest.raises(ServiceError, match="expired"):
        approve(people, waiting.id, otto)
    with people.database.writing() as connection:
        assert people.approvals.expire(connection) == 1
        assert people.approvals.expire(connection) == 0
    assert people.acts()[-1] == "proposal_expired"
    # What expired stands in nobody's way.
    proposed(people, anna)


def test_what_somebody_proposed_who_was_shut_out_is_not_done(
    people: PeopleOfService, acts: Acts
) -> None:
    anna, otto = custodians(people)
    waiting = proposed(people, anna)
    people.users.set_disabled(LOCAL, "anna", disabled=True)
    with pytest.raises(ServiceError, match="disabled"):
        approve(people, waiting.id, otto)


def test_only_one_of_many_at_once_decides(people: PeopleOfService, acts: Acts) -> None:
    anna, _ = custodians(people)
    others = [people.logged_in(f"user {at}", Grant("custodian")) for at in range(6)]
    waiting = proposed(people, anna)
    outcomes: list[str] = []

    def decide(principal: Principal) -> None:
        try:
            approve(people, waiting.id, principal)
            outcomes.append("done")
        except ServiceError as error:
            outcomes.append(error.code)

    at_once(*(partial(decide, each) for each in others))
    assert sorted(outcomes) == ["conflict"] * 5 + ["done"]
    assert acts.done == 1


@pytest.mark.parametrize(
    "wrong",
    [
        *({"reason": each} for each in ("", "    ", "why", "hidden\u202etext here", "x" * 10_001)),
        *({"subject": each} for each in ("", "a b", "../x\n", "x" * 300, "<script>")),
        *({"digest": each} for each in ("A" * 64, "", "abc")),
    ],
)
def test_reasons_subjects_and_digests_have_their_form(
    people: PeopleOfService, wrong: dict[str, str]
) -> None:
    anna, _ = custodians(people)
    told: dict[str, Any] = {"subject": "census@1", "digest": DIGEST, "reason": WHY, **wrong}
    with people.database.writing() as connection, pytest.raises(DiscreetError):
        people.approvals.propose(
            connection, kind=ProposalKind.policy_change, principal=anna, **told
        )


def test_nothing_is_done_that_nobody_can_do(people: PeopleOfService) -> None:
    anna, otto = custodians(people)
    waiting = proposed(people, anna)
    with pytest.raises(ServiceError, match="the action is not available"):
        approve(people, waiting.id, otto)
    with people.database.reading() as connection:
        assert people.approvals.proposal(connection, waiting.id).state is ProposalState.open


def test_a_kind_is_done_in_one_way_only(people: PeopleOfService, acts: Acts) -> None:
    with pytest.raises(ServiceError):
        people.approvals.register(ProposalKind.policy_change, acts)


def test_who_sees_what(people: PeopleOfService, acts: Acts) -> None:
    anna, otto = custodians(people)
    census = people.logged_in("census", Grant("producer", "census"))
    labour = people.logged_in("labour", Grant("producer", "labour"))
    auditor = people.logged_in("rosa", Grant("auditor"))
    admin = people.logged_in("ines", Grant("admin"))
    mine = proposed(people, anna)
    theirs = proposed(people, census, ProposalKind.release_publication, "census", "census@2022")
    approvals: Approvals = people.approvals
    seen = {
        who.name: {each.id for each in approvals.proposals(who)}
        for who in (anna, otto, census, labour, auditor, admin)
    }
    assert seen == {
        "anna": {mine.id},
        "otto": {mine.id},
        "census": {theirs.id},
        "labour": set(),
        "rosa": {mine.id, theirs.id},
        "ines": set(),
    }
    for who, number in ((admin, mine.id), (labour, theirs.id), (anna, "x"), (anna, "0" * 32)):
        with pytest.raises(ServiceError, match="proposal not found"):
            approvals.visible(who, number)
    assert approvals.proposals(anna, ProposalState.approved) == ()
    assert approvals.proposals(anna, before=mine.proposed) == ()
    assert not admin.may(Permission.parameters_activate)
