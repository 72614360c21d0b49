"""Policies in force: the first comes from the folder of a data set, once; others are proposed by
one person and agreed on by another. Without a trusted signature none holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from discreet.errors import DiscreetError
from discreet_service.audit import AuditKind, AuditTrail
from discreet_service.database import (
    POLICIES,
    REFUSAL_OVERRIDES,
    REFUSED_TABLES,
    ServiceDatabase,
    change_rows,
    drop_rows,
    equal_to,
    insert_row,
    put_row,
    row_of,
)
from discreet_service.people import Approvals, Proposal, ProposalKind
from discreet_service.permissions import Principal
from discreet_service.policies.document import (
    PolicyDocument,
    PolicyError,
    SignedPolicy,
    policy_of,
    signed_policy,
)
from discreet_service.problems import ServiceError

#: What the file of a policy is called, in the folder of its data version.
POLICY_FILE = "POLICY.toml"

_ACTIVE, _PROPOSED, _RETIRED = "active", "proposed", "retired"
_OVERRIDE_DAYS = 30
_DAY = 86_400_000


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldPolicy:
    """Policy in force for a data version."""

    document: PolicyDocument
    first: bool  # Whether no other policy was ever in force: what it hides was never shown
    overrides: Mapping[str, int]  # Tables that are answered nevertheless, and until when


class PoliciesInForce:
    """Which policy holds for each data version."""

    def __init__(
        self,
        database: ServiceDatabase,
        trail: AuditTrail,
        approvals: Approvals,
        *,
        folder: Path,
        signers: Callable[[], Collection[bytes]],
        clock: Callable[[], int],
    ) -> None:
        self._database, self._trail, self._approvals = database, trail, approvals
        self._folder, self._signers, self._clock = folder, signers, clock
        self._opened: dict[tuple[str, str], PolicyDocument] = {}
        self._known: set[tuple[str, str]] = set()
        approvals.register(ProposalKind.policy_change, self._change)
        approvals.register(ProposalKind.refusal_override, self._override)

    def policy(self, connection: sa.Connection, dataset: str, version: str) -> PolicyDocument:
        """The policy in force; an error if there is none, or none that can be trusted."""
        return self.signed(connection, dataset, version).document

    def signed(self, connection: sa.Connection, dataset: str, version: str) -> SignedPolicy:
        """A copy with its text and signature."""
        row = row_of(connection, POLICIES, dataset=dataset, version=version, state=_ACTIVE)
        if row is None:
            raise _none()
        key = (str(row.document), str(row.signature))
        if key not in self._opened:
            opened = self._checked(row.document, row.signature, dataset, version)
            self._opened[key] = opened.document
        return SignedPolicy(document=self._opened[key], text=row.document, signature=row.signature)

    def held(self, dataset: str, version: str, number: int | None = None) -> HeldPolicy:
        """The policy in force with what goes with it, read once for each number of changes."""

        def read(connection: sa.Connection) -> HeldPolicy:
            own = equal_to(POLICIES, dataset=dataset, version=version)
            known = sa.select(sa.func.count()).select_from(POLICIES)
            known = known.where(*own, POLICIES.c.activated_at.is_not(None))
            about = equal_to(REFUSAL_OVERRIDES, dataset=dataset, version=version)
            columns = REFUSAL_OVERRIDES.c.digest, REFUSAL_OVERRIDES.c.until
            return HeldPolicy(
                document=self.policy(connection, dataset, version),
                first=connection.scalar(known) == 1,
                overrides={
                    row.digest: int(row.until)
                    for row in connection.execute(sa.select(*columns).where(*about))
                },
            )

        return self._database.remembered(("policy", dataset, version), read, number)

    def ensure(self, dataset: str, version: str) -> None:
        """Take the first policy of a data version from its folder, if none is in force yet."""
        # Policies come and go, but a version that has had one is never without again.
        about = (dataset, version)
        if about in self._known:
            return
        with self._database.reading() as connection:
            known = row_of(connection, POLICIES, dataset=dataset, version=version)
        if known is not None:
            self._known.add(about)
            return
        patterns, signers = (f"*/{POLICY_FILE}", f"*/*/{POLICY_FILE}"), self._signers()
        for place in (one for pattern in patterns for one in sorted(self._folder.glob(pattern))):
            try:
                policy = signed_policy(place, signers)
            except DiscreetError:
                continue
            if (policy.document.dataset, policy.document.version) == about:
                break
        else:
            raise _none()
        with self._database.writing() as connection:
            if row_of(connection, POLICIES, dataset=dataset, version=version) is None:
                self._activate(connection, policy, "service", "")

    def propose(
        self,
        connection: sa.Connection,
        text: str,
        signature: str,
        who: Principal,
        reason: str,
        about: tuple[str, str] = ("", ""),
    ) -> Proposal:
        """Propose another policy for a data version."""
        found = self._checked(text, signature, *about)
        document = found.document
        self._check_newer(connection, document)
        key = {"digest": document.digest, "state": _PROPOSED}
        put_row(connection, POLICIES, key, **_columns(found))
        kind, subject = ProposalKind.policy_change, f"{document.dataset}@{document.version}"
        return self._approvals.propose(
            connection, kind, subject, document.digest, who, reason, document.dataset
        )

    def proposed(self, connection: sa.Connection, dataset: str, digest: str) -> SignedPolicy:
        """A policy that was proposed, for the second person to look at."""
        row = row_of(connection, POLICIES, digest=digest, dataset=dataset)
        if row is None:
            raise ServiceError("policy not found", "not-found", "digest")
        return self._checked(row.document, row.signature)

    def refusal(
        self, connection: sa.Connection, dataset: str, version: str, digest: str
    ) -> dict[str, Any]:
        """Why a table was refused the last time, for staff that may see it."""
        row = row_of(connection, REFUSED_TABLES, dataset=dataset, version=version, digest=digest)
        if row is None:
            raise ServiceError("refused table not found", "not-found", "digest")
        return {
            "digest": row.digest,
            "principal": row.principal,
            "refused_at": row.refused_at,
            "rules": json.loads(row.rules),
        }

    def propose_override(
        self,
        connection: sa.Connection,
        dataset: str,
        version: str,
        digest: str,
        who: Principal,
        reason: str,
    ) -> Proposal:
        """Propose to answer a table that was refused."""
        self.refusal(connection, dataset, version, digest)
        kind, subject = ProposalKind.refusal_override, f"{dataset}@{version}:{digest}"
        return self._approvals.propose(connection, kind, subject, digest, who, reason, dataset)

    # -- what is done when two persons agreed ----------------------------------------------------

    def _change(self, connection: sa.Connection, proposal: Proposal) -> str:
        found = self.proposed(connection, proposal.dataset, proposal.digest)
        self._check_newer(connection, found.document)
        document = found.document
        held = {"dataset": document.dataset, "version": document.version, "state": _ACTIVE}
        change_rows(connection, POLICIES, held, state=_RETIRED, retired_at=self._clock())
        drop_rows(connection, POLICIES, digest=proposal.digest)
        self._activate(connection, found, proposal.proposer, proposal.id)
        return document.digest

    def _override(self, connection: sa.Connection, proposal: Proposal) -> str:
        dataset, _, rest = proposal.subject.partition("@")
        version, _, digest = rest.rpartition(":")
        refusal = self.refusal(connection, dataset, version, digest)
        table = {"dataset": dataset, "version": version, "digest": digest}
        until = self._clock() + _OVERRIDE_DAYS * _DAY
        put_row(connection, REFUSAL_OVERRIDES, table, proposal=proposal.id, until=until)
        rules = [one["rule"] for one in refusal["rules"] if one["outcome"] in ("refused", "failed")]
        facts = {"rule": ", ".join(rules), "digest": digest, "proposal": proposal.id}
        kind = AuditKind.refusal_overridden
        self._trail.append(connection, kind, proposal.proposer, proposal.subject, facts)
        return digest

    # -- helpers -----------------------------------------------------------------------------------

    def _checked(
        self, text: str, signature: str, dataset: str = "", version: str = ""
    ) -> SignedPolicy:
        policy = policy_of(text, signature, self._signers())
        about = (policy.document.dataset, policy.document.version)
        if dataset and about != (dataset, version):
            message = "the policy belongs to another data version"
            raise PolicyError(message, code="policy-signature", where="policy")
        return policy

    def _check_newer(self, connection: sa.Connection, document: PolicyDocument) -> None:
        """An earlier policy, however well signed, does not come back."""
        now = self.policy(connection, document.dataset, document.version)
        if document.revision <= now.revision:
            raise ServiceError(f"the revision must be above {now.revision}", "conflict", "revision")

    def _activate(
        self, connection: sa.Connection, policy: SignedPolicy, person: str, proposal: str
    ) -> None:
        document, now = policy.document, self._clock()
        facts = {"digest": document.digest, "version": document.version, "signer": policy.signer}
        held = {"digest": document.digest, "state": _ACTIVE, "activated_at": now}
        insert_row(connection, POLICIES, **held, **_columns(policy))
        facts["proposal"] = proposal or "first"
        subject = f"{document.dataset}@{document.version}"
        self._trail.append(connection, AuditKind.policy_changed, person, subject, facts)


def _columns(policy: SignedPolicy) -> dict[str, str]:
    """A policy as it is kept."""
    document = policy.document
    about = {"dataset": document.dataset, "version": document.version, "signer": policy.signer}
    return {**about, "document": policy.text, "signature": policy.signature}


def _none() -> ServiceError:
    message, hint = "no policy is in force for this data set", "queries need a policy"
    return ServiceError(message, "data-not-ready", "policy", hint)
