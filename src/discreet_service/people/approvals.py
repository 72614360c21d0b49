"""Approvals: what two persons must agree on before it is done.

In: proposals, each about one content by its digest. Out: what was proposed is done in the same
transaction as the second person's agreement, or not at all. Nobody agrees with themselves, by
whatever key or spelling of their name; nobody agrees to anything but what they saw.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from discreet_fire.persons import look_of, plain_text, same_person
from discreet_service.audit import AuditKind, AuditTrail
from discreet_service.database import PROPOSALS, USERS, ServiceDatabase, record_of
from discreet_service.permissions import ALL, Permission, Principal
from discreet_service.problems import ServiceError

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NUMBER = re.compile(r"[0-9a-f]{32}")
_SUBJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:/-]{0,199}")
_DAY = 86_400_000
_SHORTEST_REASON = 5
_PAGE = 200


class ProposalState(StrEnum):
    """How far a proposal is."""

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
    dataset_publication = "dataset-publication"
    release_publication = "release-publication"


@dataclass(frozen=True, kw_only=True, slots=True)
class KindOfProposal:
    """What holds for proposals of a kind; nothing of it has a default."""

    en: str  # Its name in English
    de: str  # Its name in German
    propose: Permission  # What the first person must be allowed to do
    approve: Permission  # What the second person must be allowed to do
    days: int  # After which it expires


KINDS: Mapping[ProposalKind, KindOfProposal] = {
    ProposalKind.parameter_activation: KindOfProposal(
        en="Use of a parameter set",
        de="Einsatz eines Parametersatzes",
        propose=Permission.parameters_propose,
        approve=Permission.parameters_activate,
        days=14,
    ),
    ProposalKind.parameter_retirement: KindOfProposal(
        en="End of a parameter set",
        de="Außerdienststellung eines Parametersatzes",
        propose=Permission.parameters_propose,
        approve=Permission.parameters_activate,
        days=14,
    ),
    ProposalKind.policy_change: KindOfProposal(
        en="Change of a policy",
        de="Änderung einer Geheimhaltungsregel",
        propose=Permission.policies_propose,
        approve=Permission.policies_approve,
        days=14,
    ),
    ProposalKind.refusal_override: KindOfProposal(
        en="Answer in spite of a refusal",
        de="Antwort trotz einer Ablehnung",
        propose=Permission.refusals_override,
        approve=Permission.refusals_override,
        days=7,
    ),
    ProposalKind.dataset_publication: KindOfProposal(
        en="Opening of a data set",
        de="Freigabe eines Datensatzes",
        propose=Permission.datasets_publish,
        approve=Permission.datasets_publish,
        days=14,
    ),
    ProposalKind.release_publication: KindOfProposal(
        en="Publication of a release",
        de="Veröffentlichung",
        propose=Permission.releases_publish,
        approve=Permission.releases_publish,
        days=14,
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """What somebody wants to be done."""

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
    """All proposals of a service.

    >>> import tempfile
    >>> from discreet_service.permissions import Grant
    >>> anna = Principal(name="anna", kind="session", grants=(Grant("custodian"),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     database = ServiceDatabase.open(f"sqlite:///{folder}/service.db")
    ...     database.lay_out()
    ...     approvals = Approvals(database, AuditTrail(database, bytes(32), lambda: 0), lambda: 0)
    ...     with database.writing() as connection:
    ...         proposal = approvals.propose(connection, kind=ProposalKind.policy_change,
    ...             subject="census@2022", digest="0" * 64, principal=anna, reason="due this year")
    ...     try:
    ...         with database.writing() as connection:
    ...             approvals.approve(connection, proposal.id, anna, digest="0" * 64)
    ...     except ServiceError as error:
    ...         print(error.what)
    ...     database.close()
    nobody agrees with themselves
    """

    def __init__(
        self, database: ServiceDatabase, trail: AuditTrail, clock: Callable[[], int]
    ) -> None:
        self._database, self._trail, self._clock = database, trail, clock
        self._executions: dict[ProposalKind, Execution] = {}

    def register(self, kind: ProposalKind, execution: Execution) -> None:
        """Say what is done when two persons agreed."""
        if kind in self._executions:
            raise ServiceError(f"{kind} is registered already", code="internal")
        self._executions[kind] = execution

    def propose(
        self,
        connection: sa.Connection,
        *,
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
            raise ServiceError("this is no subject", code="invalid-input", where="subject")
        if not _DIGEST.fullmatch(digest):
            raise ServiceError("this is no SHA-256", code="invalid-input", where="digest")
        self.expire(connection)
        there = connection.execute(
            sa.select(PROPOSALS.c.id).where(
                PROPOSALS.c.kind == kind.value,
                PROPOSALS.c.subject == subject,
                PROPOSALS.c.state == ProposalState.open.value,
            )
        ).first()
        if there is not None:
            what, hint = "this is proposed already", "approve, reject or withdraw that first"
            raise ServiceError(what, code="conflict", where="subject", hint=hint)
        number, now = secrets.token_hex(16), self._clock()
        connection.execute(
            sa.insert(PROPOSALS).values(
                id=number,
                kind=kind.value,
                subject=subject,
                dataset=dataset,
                digest=digest,
                reason=why,
                proposer=principal.name,
                proposed_at=now,
                expires_at=now + KINDS[kind].days * _DAY,
                state=ProposalState.open.value,
                decider="",
                decided_at=None,
                remark="",
            )
        )
        made = self.proposal(connection, number)
        self._write_down(connection, AuditKind.proposed, principal.name, made, reason=why)
        return made

    def approve(
        self, connection: sa.Connection, number: str, principal: Principal, *, digest: str
    ) -> Proposal:
        """Agree as the second person, and do it."""
        found = self._to_decide(connection, number)
        _check_may(principal, KINDS[found.kind].approve, found.dataset)
        if same_person(found.proposer, principal.name):
            what, hint = "nobody agrees with themselves", "ask somebody else"
            raise ServiceError(what, code="second-person", hint=hint)
        _check_still_here(connection, found.proposer)
        if not hmac.compare_digest(found.digest.encode(), digest.encode("utf-8", "replace")):
            what, hint = "what you saw is not what was proposed", "look at it again"
            raise ServiceError(what, code="changed-meanwhile", where="digest", hint=hint)
        execution = self._executions.get(found.kind)
        if execution is None:
            what = "nothing is there that could do this"
            raise ServiceError(what, code="data-not-ready", where="kind")
        self._decide(connection, found, ProposalState.approved, principal.name, "")
        if execution(connection, found) != found.digest:
            what, hint = "the content is no longer what was proposed", "propose it anew"
            raise ServiceError(what, code="changed-meanwhile", where="digest", hint=hint)
        self._write_down(connection, AuditKind.approved, principal.name, found)
        return self.proposal(connection, number)

    def reject(
        self, connection: sa.Connection, number: str, principal: Principal, reason: str
    ) -> Proposal:
        """Say no as the second person."""
        found = self._to_decide(connection, number)
        _check_may(principal, KINDS[found.kind].approve, found.dataset)
        if same_person(found.proposer, principal.name):
            what, hint = "nobody decides on what they proposed", "withdraw it"
            raise ServiceError(what, code="second-person", hint=hint)
        why = _checked_reason(reason)
        self._decide(connection, found, ProposalState.rejected, principal.name, why)
        self._write_down(connection, AuditKind.rejected, principal.name, found, reason=why)
        return self.proposal(connection, number)

    def withdraw(self, connection: sa.Connection, number: str, principal: Principal) -> Proposal:
        """Take back what one proposed oneself."""
        found = self._to_decide(connection, number)
        _check_in_person(principal)
        if not same_person(found.proposer, principal.name):
            raise ServiceError("only who proposed something takes it back", code="not-allowed")
        self._decide(connection, found, ProposalState.withdrawn, principal.name, "")
        self._write_down(connection, AuditKind.proposal_withdrawn, principal.name, found)
        return self.proposal(connection, number)

    def expire(self, connection: sa.Connection) -> int:
        """End proposals to which nobody agreed in time; how many there were."""
        over = connection.execute(
            sa.select(PROPOSALS)
            .where(
                PROPOSALS.c.state == ProposalState.open.value,
                PROPOSALS.c.expires_at <= self._clock(),
            )
            .order_by(PROPOSALS.c.proposed_at, PROPOSALS.c.id)
        ).all()
        for row in over:
            found = _proposal(row)
            self._decide(connection, found, ProposalState.expired, "", "")
            self._write_down(connection, AuditKind.proposal_expired, "", found)
        return len(over)

    def proposal(self, connection: sa.Connection, number: str) -> Proposal:
        """One proposal."""
        row = connection.execute(
            sa.select(PROPOSALS).where(
                PROPOSALS.c.id == (number if _NUMBER.fullmatch(number) else "")
            )
        ).first()
        if row is None:
            raise ServiceError("there is no such proposal", code="not-found", where="id")
        return _proposal(row)

    def visible(self, principal: Principal, number: str) -> Proposal:
        """One proposal, if somebody may see it; for others it is as if there were none."""
        with self._database.reading() as connection:
            found = self.proposal(connection, number)
        if not may_see(principal, found):
            raise ServiceError("there is no such proposal", code="not-found", where="id")
        return found

    def proposals(
        self,
        principal: Principal,
        state: ProposalState | None = None,
        before: int | None = None,
        kind: ProposalKind | None = None,
    ) -> tuple[Proposal, ...]:
        """The proposals that somebody may see, the newest first, 200 at a time."""
        order = sa.select(PROPOSALS).order_by(PROPOSALS.c.proposed_at.desc(), PROPOSALS.c.id)
        if state is not None:
            order = order.where(PROPOSALS.c.state == state.value)
        if kind is not None:
            order = order.where(PROPOSALS.c.kind == kind.value)
        if before is not None:
            order = order.where(PROPOSALS.c.proposed_at < before)
        found: list[Proposal] = []
        with self._database.reading() as connection:
            for row in connection.execute(order):
                each = _proposal(row)
                if may_see(principal, each):
                    found.append(each)
                if len(found) == _PAGE:
                    break
        return tuple(found)

    def _to_decide(self, connection: sa.Connection, number: str) -> Proposal:
        found = self.proposal(connection, number)
        if found.state is ProposalState.open and self._clock() >= found.expires:
            what, hint = "this proposal has expired", "propose it anew"
            raise ServiceError(what, code="conflict", where="id", hint=hint)
        if found.state is not ProposalState.open:
            what = f"this proposal is {found.state} already"
            raise ServiceError(what, code="conflict", where="id")
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
        changed = connection.execute(
            sa.update(PROPOSALS)
            .where(PROPOSALS.c.id == found.id, PROPOSALS.c.state == ProposalState.open.value)
            .values(state=state.value, decider=person, decided_at=self._clock(), remark=remark)
        )
        if changed.rowcount != 1:
            raise ServiceError("somebody decided on this meanwhile", code="conflict", where="id")

    def _write_down(
        self, connection: sa.Connection, kind: AuditKind, person: str, about: Proposal, **more: str
    ) -> None:
        facts = {
            "proposal": about.id,
            "kind": about.kind.value,
            "dataset": about.dataset,
            "digest": about.digest,
            "proposer": about.proposer,
            **more,
        }
        self._trail.append(connection, kind, person or "service", about.subject, facts)


def may_see(principal: Principal, proposal: Proposal) -> bool:
    """Whether somebody may see a proposal: who may propose or decide the like, and auditors."""
    kind, dataset = KINDS[proposal.kind], proposal.dataset or ALL
    wanted = (kind.propose, kind.approve)
    return (
        principal.may(Permission.audit_read)
        or any(principal.may(item, dataset) for item in wanted)
        or principal.name == proposal.proposer
    )


def _check_may(principal: Principal, permission: Permission, dataset: str) -> None:
    _check_in_person(principal)
    if not principal.may(permission, dataset or ALL):
        what, hint = f"this needs {permission.value}", "ask the administrators for the role"
        raise ServiceError(what, code="not-allowed", hint=hint)


def _check_in_person(principal: Principal) -> None:
    """Persons agree: the command line and callers without a name are nobody."""
    if principal.kind not in ("session", "key"):
        what, hint = "this takes somebody who logged in", "log in, or use your own key"
        raise ServiceError(what, code="not-allowed", hint=hint)


def _check_still_here(connection: sa.Connection, proposer: str) -> None:
    """What somebody proposed who was shut out since is to be proposed by somebody else."""
    row = connection.execute(
        sa.select(USERS.c.disabled).where(USERS.c.look == look_of(proposer))
    ).first()
    if row is not None and row.disabled:
        what, hint = "whoever proposed this has been shut out", "propose it anew"
        raise ServiceError(what, code="conflict", hint=hint)


def _checked_reason(reason: str) -> str:
    text = plain_text(reason, "reason")
    if len(text) < _SHORTEST_REASON:
        what, hint = "a reason is needed", "say why, for the one who reads the audit trail"
        raise ServiceError(what, code="invalid-input", where="reason", hint=hint)
    return text


def _proposal(row: sa.Row[tuple[object, ...]]) -> Proposal:
    kind, state = ProposalKind(row.kind), ProposalState(row.state)
    return record_of(Proposal, row, kind=kind, state=state)
