"""Policies in force: which policy holds for a data version, and how it changes.

In: signed policies. Out: the one in force. The first comes with the data set: it is taken from its
folder once and kept; a file that is changed later changes nothing. Every other one is proposed by
one person, and agreed on by another. A policy without a trusted signature never holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from discreet.errors import DiscreetError
from discreet_service.audit import AuditKind, AuditTrail
from discreet_service.database import POLICIES, REFUSAL_OVERRIDES, REFUSED_TABLES, ServiceDatabase
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
        """The same with its text and signature."""
        columns = POLICIES.c
        row = connection.execute(
            sa.select(POLICIES).where(
                columns.dataset == dataset, columns.version == version, columns.state == _ACTIVE
            )
        ).first()
        if row is None:
            raise _none()
        key = (str(row.document), str(row.signature))
        if key not in self._opened:
            opened = self._checked(row.document, row.signature, dataset, version)
            self._opened[key] = opened.document
        return SignedPolicy(document=self._opened[key], text=row.document, signature=row.signature)

    def ensure(self, dataset: str, version: str) -> None:
        """Take the first policy of a data version from its folder, if none is in force yet."""
        if self._is_known(dataset, version):
            return
        found = self._in_folder(dataset, version)
        with self._database.writing() as connection:
            columns = POLICIES.c
            if connection.scalar(
                sa.select(sa.func.count())
                .select_from(POLICIES)
                .where(columns.dataset == dataset, columns.version == version)
            ):
                return
            self._activate(connection, found, "service", "")

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
        columns = POLICIES.c
        row = {
            "dataset": document.dataset,
            "version": document.version,
            "document": text,
            "signature": signature,
            "signer": found.signer,
            "state": _PROPOSED,
        }
        if not connection.execute(
            sa.update(POLICIES)
            .where(columns.digest == document.digest, columns.state == _PROPOSED)
            .values(**row)
        ).rowcount:
            connection.execute(sa.insert(POLICIES).values(digest=document.digest, **row))
        return self._approvals.propose(
            connection,
            kind=ProposalKind.policy_change,
            subject=f"{document.dataset}@{document.version}",
            digest=document.digest,
            principal=who,
            reason=reason,
            dataset=document.dataset,
        )

    def proposed(self, connection: sa.Connection, dataset: str, digest: str) -> SignedPolicy:
        """A policy that was proposed, for the second person to look at."""
        columns = POLICIES.c
        row = connection.execute(
            sa.select(POLICIES).where(columns.digest == digest, columns.dataset == dataset)
        ).first()
        if row is None:
            raise ServiceError("there is no such policy", code="not-found", where="digest")
        return self._checked(row.document, row.signature)

    def refusal(
        self, connection: sa.Connection, dataset: str, version: str, digest: str
    ) -> dict[str, Any]:
        """Why a table was refused the last time, for staff that may see it."""
        columns = REFUSED_TABLES.c
        row = connection.execute(
            sa.select(REFUSED_TABLES).where(
                columns.dataset == dataset, columns.version == version, columns.digest == digest
            )
        ).first()
        if row is None:
            raise ServiceError("no such table was refused", code="not-found", where="digest")
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
        return self._approvals.propose(
            connection,
            kind=ProposalKind.refusal_override,
            subject=f"{dataset}@{version}:{digest}",
            digest=digest,
            principal=who,
            reason=reason,
            dataset=dataset,
        )

    # -- what is done when two persons agreed ----------------------------------------------------

    def _change(self, connection: sa.Connection, proposal: Proposal) -> str:
        found = self.proposed(connection, proposal.dataset, proposal.digest)
        self._check_newer(connection, found.document)
        columns = POLICIES.c
        connection.execute(
            sa.update(POLICIES)
            .where(
                columns.dataset == found.document.dataset,
                columns.version == found.document.version,
                columns.state == _ACTIVE,
            )
            .values(state=_RETIRED, retired_at=self._clock())
        )
        connection.execute(sa.delete(POLICIES).where(columns.digest == proposal.digest))
        self._activate(connection, found, proposal.proposer, proposal.id)
        return found.document.digest

    def _override(self, connection: sa.Connection, proposal: Proposal) -> str:
        dataset, _, rest = proposal.subject.partition("@")
        version, _, digest = rest.rpartition(":")
        refusal = self.refusal(connection, dataset, version, digest)
        columns = REFUSAL_OVERRIDES.c
        connection.execute(
            sa.delete(REFUSAL_OVERRIDES).where(
                columns.dataset == dataset, columns.version == version, columns.digest == digest
            )
        )
        connection.execute(
            sa.insert(REFUSAL_OVERRIDES).values(
                dataset=dataset,
                version=version,
                digest=digest,
                proposal=proposal.id,
                until=self._clock() + _OVERRIDE_DAYS * _DAY,
            )
        )
        rules = [one["rule"] for one in refusal["rules"] if one["outcome"] in ("refused", "failed")]
        self._trail.append(
            connection,
            AuditKind.refusal_overridden,
            proposal.proposer,
            proposal.subject,
            {"rule": ", ".join(rules), "digest": digest, "proposal": proposal.id},
        )
        return digest

    # -- helpers -----------------------------------------------------------------------------------

    def _is_known(self, dataset: str, version: str) -> bool:
        # Policies come and go, but a version that has had one is never without again.
        if (dataset, version) in self._known:
            return True
        columns = POLICIES.c
        with self._database.reading() as connection:
            found = connection.scalar(
                sa.select(columns.digest)
                .where(columns.dataset == dataset, columns.version == version)
                .limit(1)
            )
        if found is not None:
            self._known.add((dataset, version))
        return found is not None

    def _in_folder(self, dataset: str, version: str) -> SignedPolicy:
        """The signed policy of a data version in the folder of data sets."""
        signers = self._signers()
        for pattern in (f"*/{POLICY_FILE}", f"*/*/{POLICY_FILE}"):
            for place in sorted(self._folder.glob(pattern)):
                try:
                    policy = signed_policy(place, signers)
                except DiscreetError:
                    continue
                if (policy.document.dataset, policy.document.version) == (dataset, version):
                    return policy
        raise _none()

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
            message = f"the revision is above {now.revision}"
            raise ServiceError(message, code="conflict", where="revision")

    def _activate(
        self, connection: sa.Connection, policy: SignedPolicy, person: str, proposal: str
    ) -> None:
        document = policy.document
        connection.execute(
            sa.insert(POLICIES).values(
                digest=document.digest,
                dataset=document.dataset,
                version=document.version,
                document=policy.text,
                signature=policy.signature,
                signer=policy.signer,
                state=_ACTIVE,
                activated_at=self._clock(),
            )
        )
        self._trail.append(
            connection,
            AuditKind.policy_changed,
            person,
            f"{document.dataset}@{document.version}",
            {
                "version": document.version,
                "digest": document.digest,
                "signer": policy.signer,
                "proposal": proposal or "first",
            },
        )


def _none() -> ServiceError:
    what, hint = "no policy is in force for this data set", "nothing is answered without one"
    return ServiceError(what, code="data-not-ready", where="policy", hint=hint)
