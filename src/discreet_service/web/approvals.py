"""Approvals: what waits for a second person. Whoever agrees names by its digest the content that
they saw.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from discreet_service.people import Proposal, ProposalKind, ProposalState
from discreet_service.web.access import KnownVisit, Visit
from discreet_service.web.pages import iso_time

router = APIRouter(tags=["approvals"])

ProposalId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Number of the proposal")]
_DIGEST = "^[0-9a-f]{64}$"


class ApprovalBody(BaseModel, extra="forbid"):
    """Body of an approval."""

    # SHA-256 of the content that they saw, as the proposal names it
    digest: Annotated[str, Field(pattern=_DIGEST)]


class RejectionBody(BaseModel, extra="forbid"):
    """Why somebody does not agree."""

    # Why
    reason: Annotated[str, Field(min_length=5, max_length=10_000, examples=["D is too small"])]


@router.get("/api/v1/proposals")
def list_proposals(
    visit: KnownVisit,
    state: ProposalState | None = None,
    before: Annotated[int | None, Query(ge=0, le=2**53, description="Milliseconds")] = None,
) -> dict[str, Any]:
    """List the proposals that the caller may see, newest first, 200 at a time."""
    found = visit.service.approvals.proposals(visit.principal, state, before)
    return {"proposals": [_shown(item) for item in found]}


@router.get("/api/v1/proposals/{proposal}")
def get_proposal(proposal: ProposalId, visit: KnownVisit) -> dict[str, Any]:
    """One proposal."""
    return _shown(visit.service.approvals.visible(visit.principal, proposal))


@router.post("/api/v1/proposals/{proposal}:approve")
def approve_proposal(proposal: ProposalId, body: ApprovalBody, visit: KnownVisit) -> dict[str, Any]:
    """Approve as the second person; the change takes effect at once, completely or not at all."""
    return _shown(decide_proposal(visit, proposal, "approve", body.digest))


@router.post("/api/v1/proposals/{proposal}:reject")
def reject_proposal(proposal: ProposalId, body: RejectionBody, visit: KnownVisit) -> dict[str, Any]:
    """Reject as the second person."""
    return _shown(decide_proposal(visit, proposal, "reject", body.reason))


@router.post("/api/v1/proposals/{proposal}:withdraw")
def withdraw_proposal(proposal: ProposalId, visit: KnownVisit) -> dict[str, Any]:
    """Withdraw one's own proposal."""
    return _shown(decide_proposal(visit, proposal, "withdraw", ""))


def decide_proposal(visit: Visit, number: str, act: str, said: str) -> Proposal:
    """Approve with the digest of what was seen, reject with a reason, or withdraw."""
    approvals = visit.service.approvals
    proposal = approvals.visible(visit.principal, number)
    if act == "approve":
        if proposal.kind is ProposalKind.release_publication:
            visit.service.check_publishable(visit.service.publications.proposed(proposal)[0])
        with visit.service.database.writing() as connection:
            done = approvals.approve(connection, number, visit.principal, digest=said)
        visit.service.publications.finish()
        return done
    with visit.service.database.writing() as connection:
        if act == "reject":
            return approvals.reject(connection, number, visit.principal, said)
        return approvals.withdraw(connection, number, visit.principal)


def _shown(found: Proposal) -> dict[str, Any]:
    times = {name: iso_time(getattr(found, name)) for name in ("proposed", "expires", "decided")}
    texts = {name: getattr(found, name) or None for name in ("dataset", "decider", "remark")}
    return {name: getattr(found, name) for name in Proposal.__slots__} | texts | times
