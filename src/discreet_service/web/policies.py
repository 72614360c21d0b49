"""Policies over HTTP: limits that callers may know, changes by two persons; explanations, alerts
and the report on areas (CONFIDENTIAL) for staff that may see them.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from discreet_service.audit import AuditKind
from discreet_service.datasets import compared_areas
from discreet_service.people import Proposal
from discreet_service.permissions import Permission
from discreet_service.policies import AreaReport, PolicyError, alerts
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.web.access import Visit, visit_with

router = APIRouter(prefix="/api/v1/policies/{dataset}/{version}", tags=["policies"])

_Reader = Annotated[Visit, Depends(visit_with(Permission.catalogue_read))]
_Proposer = Annotated[Visit, Depends(visit_with(Permission.policies_propose))]
_Approver = Annotated[Visit, Depends(visit_with(Permission.policies_approve))]
_Explainer = Annotated[Visit, Depends(visit_with(Permission.refusals_explain))]
_Overrider = Annotated[Visit, Depends(visit_with(Permission.refusals_override))]

_Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class PolicyChange(BaseModel, extra="forbid", strict=True):
    """Another policy for a data version."""

    policy: Annotated[str, Field(max_length=2**20)]  # The text of POLICY.toml.
    signature: Annotated[str, Field(max_length=1_000)]  # The content of POLICY.toml.sig.
    # Why, for the second person and the audit trail
    reason: Annotated[str, Field(max_length=2_000)]


class OverrideWanted(BaseModel, extra="forbid", strict=True):
    """Why a refused table is to be answered nevertheless."""

    reason: Annotated[str, Field(max_length=2_000)]  # For the second person and the audit trail


@router.get("")
def show_policy(dataset: str, version: str, visit: _Reader) -> dict[str, Any]:
    """The limits of a data set that readers may know."""
    _ensure(visit.service, dataset, version)
    with visit.service.database.reading() as connection:
        return visit.service.policies.in_force.policy(connection, dataset, version).public()


@router.get("/document")
def show_policy_document(dataset: str, version: str, visit: _Approver) -> JSONResponse:
    """The whole policy in force, with its signature. CONFIDENTIAL."""
    _ensure(visit.service, dataset, version)
    with visit.service.database.reading() as connection:
        found = visit.service.policies.in_force.signed(connection, dataset, version)
    return _confidential({"digest": found.document.digest, "policy": found.text,
                          "signature": found.signature, "signer": found.signer})  # fmt: skip


@router.post("/changes", status_code=202)
def propose_policy(
    dataset: str, version: str, given: PolicyChange, visit: _Proposer
) -> dict[str, Any]:
    """Propose another policy; a second person sees it and approves the proposal."""
    _ensure(visit.service, dataset, version)
    try:
        with visit.service.database.writing() as connection:
            made = visit.service.policies.in_force.propose(
                connection, given.policy, given.signature, visit.principal, given.reason,
                about=(dataset, version),
            )  # fmt: skip
    except PolicyError as error:
        what, hint, problems = error.what, error.hint, error.problems
        raise ServiceError(what, "invalid-input", "policy", hint, problems=problems) from None
    return _told(made)


@router.get("/changes/{digest}")
def show_proposed_policy(
    dataset: str, version: str, digest: _Digest, visit: _Approver
) -> JSONResponse:
    """A proposed policy, for the second person. CONFIDENTIAL."""
    with visit.service.database.reading() as connection:
        found = visit.service.policies.in_force.proposed(connection, dataset, digest)
    if found.document.version != version:
        raise ServiceError("policy not found", "not-found", "digest")
    return _confidential({"digest": digest, "policy": found.text, "signer": found.signer})


@router.get("/refusals/{digest}")
def explain_refusal(dataset: str, version: str, digest: _Digest, visit: _Explainer) -> JSONResponse:
    """Why a table was refused, by its digest in the query log. CONFIDENTIAL, without counts."""
    return _confidential(explained_refusal(visit, dataset, version, digest))


def explained_refusal(visit: Visit, dataset: str, version: str, digest: str) -> dict[str, Any]:
    """Why a table was refused; that somebody asked is written down. CONFIDENTIAL."""
    with visit.service.database.reading() as connection:
        refusal = visit.service.policies.in_force.refusal(connection, dataset, version, digest)
    visit.note(AuditKind.refusal_explained, f"{dataset}@{version}", {"digest": digest})
    return refusal


@router.post("/refusals/{digest}:override", status_code=202)
def propose_override(
    dataset: str, version: str, digest: _Digest, given: OverrideWanted, visit: _Overrider
) -> dict[str, Any]:
    """Propose to answer a refused table; a second person approves the proposal."""
    with visit.service.database.writing() as connection:
        made = visit.service.policies.in_force.propose_override(
            connection, dataset, version, digest, visit.principal, given.reason
        )
    return _told(made)


@router.get("/alerts")
def list_policy_alerts(dataset: str, version: str, visit: _Explainer) -> JSONResponse:
    """Possible attacks, latest first. CONFIDENTIAL."""
    with visit.service.database.reading() as connection:
        found = alerts(connection, dataset, version)
    names = ("at", "principal", "kind", "number", "stopped")
    shown = [{name: getattr(one, name) for name in names} for one in found]
    return _confidential({"alerts": shown})


@router.get("/areas/{unit}")
def report_areas(dataset: str, version: str, unit: str, visit: _Approver) -> JSONResponse:
    """Areas of two systems with nearly the same people, and remedies. CONFIDENTIAL."""
    return _confidential(area_report(visit, dataset, version, unit).document())


def area_report(visit: Visit, dataset: str, version: str, unit: str) -> AreaReport:
    """Report on areas; the request is logged. CONFIDENTIAL."""
    _ensure(visit.service, dataset, version)
    opened = visit.service.datasets.version(dataset, version)
    if unit not in opened.units:
        raise ServiceError("unit not found", "not-found", "unit")
    with visit.service.database.reading() as connection:
        policy = visit.service.policies.in_force.policy(connection, dataset, version)
    areas = compared_areas(opened, unit, policy.differences.least)
    facts = {"report": f"areas of {unit}", "digest": policy.digest}
    visit.note(AuditKind.report_exported, f"{dataset}@{version}", facts)
    return areas


def _ensure(service: Service, dataset: str, version: str) -> None:
    """The data version is published, and its policy in force."""
    service.datasets.record(dataset, version)
    service.policies.in_force.ensure(dataset, version)


def _confidential(content: dict[str, Any]) -> JSONResponse:
    return JSONResponse(content, headers={"Cache-Control": "no-store"})


def _told(made: Proposal) -> dict[str, Any]:
    return {"proposal": made.id, "state": made.state.value, "digest": made.digest}
