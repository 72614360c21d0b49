"""Approvals: what waits for a second person. Whoever agrees names by its digest the content that
they saw.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Path, Query, Response
from pydantic import BaseModel, Field

from discreet_service.people import KINDS, Proposal, ProposalKind, ProposalState
from discreet_service.permissions import ALL, Permission
from discreet_service.web.access import KnownVisit, Visit
from discreet_service.web.pages import FormVisit, NavigationEntry, back_to, iso_time, page

router = APIRouter(tags=["approvals"])
NAVIGATION = NavigationEntry(
    path="/approvals",
    place=130,
    permissions=(
        Permission.parameters_activate,
        Permission.policies_approve,
        Permission.refusals_override,
    ),
)

ProposalId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Number of the proposal")]
_DIGEST = "^[0-9a-f]{64}$"


class ApprovalBody(BaseModel, extra="forbid"):
    """What somebody agrees to."""

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
    """The proposals that one may see, the newest first, 200 at a time."""
    found = visit.service.approvals.proposals(visit.principal, state, before)
    return {"proposals": [_shown(item) for item in found]}


@router.get("/api/v1/proposals/{proposal}")
def get_proposal(proposal: ProposalId, visit: KnownVisit) -> dict[str, Any]:
    """One proposal."""
    return _shown(visit.service.approvals.visible(visit.principal, proposal))


@router.post("/api/v1/proposals/{proposal}:approve")
def approve_proposal(proposal: ProposalId, body: ApprovalBody, visit: KnownVisit) -> dict[str, Any]:
    """Agree as the second person: it is done at once, or not at all."""
    return _shown(_decided(visit, proposal, "approve", body.digest))


@router.post("/api/v1/proposals/{proposal}:reject")
def reject_proposal(proposal: ProposalId, body: RejectionBody, visit: KnownVisit) -> dict[str, Any]:
    """Say no as the second person."""
    return _shown(_decided(visit, proposal, "reject", body.reason))


@router.post("/api/v1/proposals/{proposal}:withdraw")
def withdraw_proposal(proposal: ProposalId, visit: KnownVisit) -> dict[str, Any]:
    """Take back what one proposed oneself."""
    return _shown(_decided(visit, proposal, "withdraw", ""))


@router.get("/approvals", include_in_schema=False)
def show_approvals(visit: KnownVisit) -> Response:
    """The page of what waits."""
    found = visit.service.approvals.proposals(visit.principal)
    kinds = {kind: getattr(facts, visit.language) for kind, facts in KINDS.items()}
    waiting = [item for item in found if item.state is ProposalState.open]
    return page(
        visit,
        "approvals",
        waiting=waiting,
        over=[item for item in found if item.state is not ProposalState.open][:50],
        kinds=kinds,
        mine={item.id for item in waiting if item.proposer == visit.principal.name},
        # Whom a decision is offered; `Approvals` looks again, and closer.
        decides={
            item.id
            for item in waiting
            if item.proposer != visit.principal.name
            and visit.principal.may(KINDS[item.kind].approve, item.dataset or ALL)
        },
        contents={item.id: content_address(item) for item in found},
    )


def content_address(proposal: Proposal) -> str:
    """The page that shows what is to be agreed on; empty if there is none."""
    if proposal.kind is ProposalKind.release_publication:
        release, _, place = proposal.subject.partition(":")
        programme, _, draft = place.partition("/")
        return f"/programmes/{programme}/drafts/{draft}?release={release}"
    dataset, _, rest = proposal.subject.partition("@")
    version = rest.partition(":")[0]
    pages = {ProposalKind.policy_change: "changes", ProposalKind.refusal_override: "refusals"}
    if proposal.kind not in pages:
        return ""
    return f"/policies/{dataset}/{version}/{pages[proposal.kind]}/{proposal.digest}"


@router.post("/approvals/{proposal}", include_in_schema=False)
def decide_by_form(
    proposal: ProposalId,
    visit: FormVisit,
    act: Annotated[Literal["approve", "reject", "withdraw"], Form()],
    digest: Annotated[str, Form(pattern=_DIGEST)],
    reason: Annotated[str, Form(max_length=10_000)] = "",
) -> Response:
    """Agree, say no, or take back."""
    said = {"approve": digest, "reject": reason, "withdraw": ""}[act]
    _decided(visit, proposal, act, said)
    return back_to("/approvals")


def _decided(visit: Visit, number: str, act: str, said: str) -> Proposal:
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
