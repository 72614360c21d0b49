"""Approvals: what two persons must agree on, done in the transaction of the second agreement or not
at all. Nobody agrees with themselves, or to anything but what they saw.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

import sqlalchemy as sa

from discreet_fire.persons import look_of, plain_text, same_person
from discreet_service.audit import AuditKind, AuditTrail
from discreet_service.database import (
    PROPOSALS,
    USERS,
    ServiceDatabase,
    change_rows,
    insert_row,
    record_of,
    row_of,
)
from discreet_service.permissions import ALL, Permission, Principal
from discreet_service.problems import ServiceError

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NUMBER = re.compile(r"[0-9a-f]{32}")
_SUBJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:/-]{0,199}")
_DAY = 86_400_000
_SHORTEST_REASON = 5
_PAGE = 200


class ProposalState(StrEnum):
    """State of a proposal."""

    open = "open"
    approved = "approved"
    rejected = "rejected"
    withdrawn = "withdrawn"
    expired = "expired"


class ProposalKind(StrEnum):
    """Everything that needs two persons."""

    parameter_activation = "parameter-activation"
    parameter_retirement = "parameter-retirement"
    policy_change = "policy-change"
    refusal_override = "refusal-override"
    release_publication = "release-publication"


@dataclass(frozen=True, slots=True)
class KindOfProposal:
    """Rules for proposals of a kind; no field has a default."""

    en: str  # Its name in English
    de: str  # Its name in German
    propose: Permission  # What the first person must be allowed to do
    approve: Permission  # What the second person must be allowed to do
    days: int  # After which it expires


_P = Permission
KINDS: Mapping[ProposalKind, KindOfProposal] = {
    ProposalKind.parameter_activation: KindOfProposal(
        "Use of a parameter set", "Einsatz eines Parametersatzes",
        _P.parameters_propose, _P.parameters_activate, 14,
    ),
    ProposalKind.parameter_retirement: KindOfProposal(
        "Withdrawal of a parameter set", "Rücknahme eines Parametersatzes",
        _P.parameters_propose, _P.parameters_activate, 14,
    ),
    ProposalKind.policy_change: KindOfProposal(
        "Change of a policy", "Änderung einer Geheimhaltungsregel",
        _P.policies_propose, _P.policies_approve, 14,
    ),
    ProposalKind.refusal_override: KindOfProposal(
        "Override of a refusal", "Aufhebung einer Ablehnung",
        _P.refusals_override, _P.refusals_override, 7,
    ),
    ProposalKind.release_publication: KindOfProposal(
        "Publication of a release", "Veröffentlichung von Tabellen",
        _P.releases_publish, _P.releases_publish, 14,
    ),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A proposed change."""

    id: str  # Its number
    kind: ProposalKind  # What is to be done
    subject: str  # With what, such as "census2022@3"
    dataset: str  # The data set that it is about; empty if all are concerned
    digest: str  # SHA-256 of the content, hexadecimal
    reason: str  # Why
    proposer: str  # Who wants it
    proposed: int  # Since when, in milliseconds
    expires: int  # Until when others can agree
    state: ProposalState  # How far it is
    decider: str  # Who decided; empty so far
    decided: int | None  # When; None so far
    remark: str  # What they said


#: What does what was agreed on, and gives back the digest of the content that it used.
Execution = Callable[[sa.Connection, Proposal], str]


class Approvals:
    """All proposals of a service, each by one person to be decided by another."""

    def __init__(
        self, database: ServiceDatabase, trail: AuditTrail, clock: Callable[[], int]
    ) -> None:
        self._database, self._trail, self._clock = database, trail, clock
        self._executions: dict[ProposalKind, Execution] = {}

    def register(self, kind: ProposalKind, execution: Execution) -> None:
        """Say what is done when two persons agreed."""
        if kind in self._executions:
            raise ServiceError(f"{kind} is already registered", "internal")
        self._executions[kind] = execution

    def propose(
        self,
        connection: sa.Connection,
        kind: ProposalKind,
        subject: str,
        digest: str,
        principal: Principal,
        reason: str,
        dataset: str = "",
    ) -> Proposal:
        """Propose something."""
        _check_may(principal, KINDS[kind].propose, dataset)
        why = _checked_reason(reason)
        if not _SUBJECT.fullmatch(subject):
            raise ServiceError("not a subject", "invalid-input", "subject")
        if not _DIGEST.fullmatch(digest):
            raise ServiceError("not a SHA-256", "invalid-input", "digest")
        self.expire(connection)
        same = {"kind": kind.value, "subject": subject, "state": ProposalState.open.value}
        if row_of(connection, PROPOSALS, **same) is not None:
            hint = "approve, reject or withdraw the open proposal first"
            raise ServiceError("already proposed", "conflict", "subject", hint)
        number, now = secrets.token_hex(16), self._clock()
        texts = {"dataset": dataset, "digest": digest, "reason": why, "proposer": principal.name}
        times = {"proposed_at": now, "expires_at": now + KINDS[kind].days * _DAY}
        insert_row(connection, PROPOSALS, id=number, **same, **texts, **times, decider="",
                   decided_at=None, remark="")  # fmt: skip
        return self._written_down(
            connection, AuditKind.proposed, principal.name, number, reason=why
        )

    def approve(
        self, connection: sa.Connection, number: str, principal: Principal, *, digest: str
    ) -> Proposal:
        """Agree as the second person, and do it."""
        own = "you cannot approve your own proposal", "ask another person"
        found = self._to_decide(connection, number, principal, own)
        proposer = row_of(connection, USERS, look=look_of(found.proposer))
        if proposer is not None and proposer.disabled:
            message, hint = "the proposer is disabled", "propose it again"
            raise ServiceError(message, "conflict", hint=hint)
        if not hmac.compare_digest(found.digest.encode(), digest.encode("utf-8", "replace")):
            message, hint = "the content changed since your last view", "check it again"
            raise ServiceError(message, "changed-meanwhile", "digest", hint)
        execution = self._executions.get(found.kind)
        if execution is None:
            raise ServiceError("the action is not available", "data-not-ready", "kind")
        self._decide(connection, found, ProposalState.approved, principal.name, "")
        if execution(connection, self.proposal(connection, number)) != found.digest:
            message, hint = "the content changed since the proposal", "propose it again"
            raise ServiceError(message, "changed-meanwhile", "digest", hint)
        return self._written_down(connection, AuditKind.approved, principal.name, number)

    def reject(
        self, connection: sa.Connection, number: str, principal: Principal, reason: str
    ) -> Proposal:
        """Say no as the second person."""
        own = "you cannot decide on your own proposal", "withdraw it"
        found = self._to_decide(connection, number, principal, own)
        why = _checked_reason(reason)
        self._decide(connection, found, ProposalState.rejected, principal.name, why)
        return self._written_down(
            connection, AuditKind.rejected, principal.name, number, reason=why
        )

    def withdraw(self, connection: sa.Connection, number: str, principal: Principal) -> Proposal:
        """Take back what one proposed oneself."""
        found = self._still_open(connection, number)
        _check_in_person(principal)
        if not same_person(found.proposer, principal.name):
            raise ServiceError("only the proposer can withdraw a proposal", "not-allowed")
        self._decide(connection, found, ProposalState.withdrawn, principal.name, "")
        kind = AuditKind.proposal_withdrawn
        return self._written_down(connection, kind, principal.name, number)

    def expire(self, connection: sa.Connection) -> int:
        """End proposals to which nobody agreed in time; how many there were."""
        columns = PROPOSALS.c
        due = [columns.state == ProposalState.open.value, columns.expires_at <= self._clock()]
        order = sa.select(PROPOSALS).where(*due).order_by(columns.proposed_at, columns.id)
        over = connection.execute(order).all()
        for row in over:
            self._decide(connection, _proposal(row), ProposalState.expired, "", "")
            self._written_down(connection, AuditKind.proposal_expired, "service", row.id)
        return len(over)

    def proposal(self, connection: sa.Connection, number: str) -> Proposal:
        """One proposal."""
        row = row_of(connection, PROPOSALS, id=number if _NUMBER.fullmatch(number) else "")
        if row is None:
            raise ServiceError("proposal not found", "not-found", "id")
        return _proposal(row)

    def visible(self, principal: Principal, number: str) -> Proposal:
        """One proposal, if somebody may see it; for others it is as if there were none."""
        with self._database.reading() as connection:
            found = self.proposal(connection, number)
        if not may_see(principal, found):
            raise ServiceError("proposal not found", "not-found", "id")
        return found

    def proposals(
        self,
        principal: Principal,
        state: ProposalState | None = None,
        before: int | None = None,
    ) -> tuple[Proposal, ...]:
        """The proposals that somebody may see, the newest first, 200 at a time."""
        order = sa.select(PROPOSALS).order_by(PROPOSALS.c.proposed_at.desc(), PROPOSALS.c.id)
        if state is not None:
            order = order.where(PROPOSALS.c.state == state.value)
        if before is not None:
            order = order.where(PROPOSALS.c.proposed_at < before)
        with self._database.reading() as connection:
            proposals = map(_proposal, connection.execute(order))
            visible = (each for each in proposals if may_see(principal, each))
            return tuple(islice(visible, _PAGE))

    def _still_open(self, connection: sa.Connection, number: str) -> Proposal:
        found = self.proposal(connection, number)
        if found.state is ProposalState.open and self._clock() >= found.expires:
            raise ServiceError("this proposal has expired", "conflict", "id", "propose it again")
        if found.state is not ProposalState.open:
            raise ServiceError(f"this proposal is already {found.state}", "conflict", "id")
        return found

    def _to_decide(
        self, connection: sa.Connection, number: str, principal: Principal, own: tuple[str, str]
    ) -> Proposal:
        """A proposal of somebody else; what is told of one's own, and what to do about it."""
        found = self._still_open(connection, number)
        _check_may(principal, KINDS[found.kind].approve, found.dataset)
        if same_person(found.proposer, principal.name):
            raise ServiceError(own[0], "second-person", hint=own[1])
        return found

    def _decide(
        self,
        connection: sa.Connection,
        found: Proposal,
        state: ProposalState,
        person: str,
        remark: str,
    ) -> None:
        """Note a decision, unless another one came first."""
        still = {"id": found.id, "state": ProposalState.open.value}
        values = {"state": state.value, "decider": person, "decided_at": self._clock()}
        if change_rows(connection, PROPOSALS, still, **values, remark=remark) != 1:
            raise ServiceError("the proposal has been decided since", "conflict", "id")

    def _written_down(
        self, connection: sa.Connection, kind: AuditKind, person: str, number: str, **more: str
    ) -> Proposal:
        """A proposal as it is now, when what became of it is in the trail."""
        about = self.proposal(connection, number)
        facts = {"proposal": about.id, "kind": about.kind.value, "dataset": about.dataset}
        facts |= {"digest": about.digest, "proposer": about.proposer, **more}
        self._trail.append(connection, kind, person, about.subject, facts)
        return about


def may_see(principal: Principal, proposal: Proposal) -> bool:
    """Whether somebody may see a proposal: who may propose or decide the like, and auditors."""
    kind, dataset = KINDS[proposal.kind], proposal.dataset or ALL
    return (
        principal.may(Permission.audit_read)
        or principal.may(kind.propose, dataset)
        or principal.may(kind.approve, dataset)
        or principal.name == proposal.proposer
    )


def _check_may(principal: Principal, permission: Permission, dataset: str) -> None:
    _check_in_person(principal)
    if not principal.may(permission, dataset or ALL):
        message, hint = f"this needs {permission.value}", "ask the administrators for the role"
        raise ServiceError(message, "not-allowed", hint=hint)


def _check_in_person(principal: Principal) -> None:
    """Persons agree: the command line and callers without a name are nobody."""
    if principal.kind not in ("session", "key"):
        message, hint = "a login is required", "log in, or use your own key"
        raise ServiceError(message, "not-allowed", hint=hint)


def _checked_reason(reason: str) -> str:
    text = plain_text(reason, "reason")
    if len(text) < _SHORTEST_REASON:
        message, hint = "a reason is required", "add a reason for the audit trail"
        raise ServiceError(message, "invalid-input", "reason", hint)
    return text


def _proposal(row: sa.Row[tuple[object, ...]]) -> Proposal:
    kind, state = ProposalKind(row.kind), ProposalState(row.state)
    return record_of(Proposal, row, kind=kind, state=state)
