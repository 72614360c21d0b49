"""Parameter sets over HTTP: which there are, and how two persons bring them into use and out of it.
No endpoint gives out what is in a package (SECRET).
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel

from discreet_service.parameter_sets import ParameterSet
from discreet_service.people import ProposalKind
from discreet_service.permissions import Permission
from discreet_service.web.access import Visit, visit_with
from discreet_service.web.security import raw_body

router = APIRouter(prefix="/api/v1/parameter-sets", tags=["parameter sets"])

_Reader = Annotated[Visit, Depends(visit_with(Permission.catalogue_read))]
_Proposer = Annotated[Visit, Depends(visit_with(Permission.parameters_propose))]


class ReasonGiven(BaseModel, extra="forbid", strict=True):
    """Why something is proposed."""

    reason: str  # For the second person and the audit trail


def _told(found: ParameterSet) -> dict[str, Any]:
    names = ("name", "version", "state", "digest", "file", "signer", "imported", "activated",
             "retired")  # fmt: skip
    return {name: getattr(found, name) for name in names}


@router.get("")
def list_parameter_sets(visit: _Reader) -> dict[str, Any]:
    """List the parameter sets, without their content. Times are milliseconds since 1970."""
    return {"parameter_sets": [_told(item) for item in visit.service.parameter_sets.sets()]}


@router.get("/{name}/{version}")
def show_parameter_set(name: str, version: str, visit: _Reader) -> dict[str, Any]:
    """Describe one parameter set, without its content."""
    return _told(visit.service.parameter_sets.show(name, version))


async def _body(request: Request) -> bytes:
    return await request.body()


@router.post("", status_code=201, openapi_extra=raw_body())
def import_parameter_set(
    package: Annotated[bytes, Depends(_body)], visit: _Proposer
) -> dict[str, Any]:
    """Import a signed package (.dcparams); it needs a proposal and an approval to be used."""
    with visit.service.database.writing() as connection:
        return _told(
            visit.service.parameter_sets.propose(connection, package, visit.principal.name)
        )


@router.post("/{name}/{version}:activate", status_code=202)
def propose_activation(
    name: str, version: str, given: ReasonGiven, visit: _Proposer
) -> dict[str, Any]:
    """Propose to activate a parameter set; a second person approves the proposal."""
    kind = ProposalKind.parameter_activation
    return _proposed(visit, kind, (name, version), given.reason)


@router.post("/{name}/{version}:retire", status_code=202)
def propose_retirement(
    name: str, version: str, given: ReasonGiven, visit: _Proposer
) -> dict[str, Any]:
    """Propose to retire a parameter set for good; a second person approves the proposal."""
    kind = ProposalKind.parameter_retirement
    return _proposed(visit, kind, (name, version), given.reason)


def _proposed(
    visit: Visit, kind: ProposalKind, which: tuple[str, str], reason: str
) -> dict[str, Any]:
    found = visit.service.parameter_sets.show(*which)
    with visit.service.database.writing() as connection:
        made = visit.service.approvals.propose(
            connection, kind, found.subject, found.file, visit.principal, reason
        )
    return {"proposal": made.id, "state": made.state.value, "set": _told(found)}
