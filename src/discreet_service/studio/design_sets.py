"""Parameter sets in the studio: drafts, and how two persons bring them into use and out of it.

In: packages that were signed elsewhere, proposals with reasons. Out: names, versions, states; the
main figures of drafts (SECRET) for who designs parameters. What was in use is shown to nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, Request, Response, UploadFile

from discreet.errors import DiscreetError, Problem
from discreet.release.packages.container import LARGEST
from discreet_service.people.approvals import ProposalState
from discreet_service.permissions import Permission, Principal
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.studio.design_charts import noise_chart
from discreet_service.studio.design_drafts import draft_of, take_package
from discreet_service.studio.design_figures import AssessedDesign
from discreet_service.studio.designs import figures_of, problems_of
from discreet_service.web.access import ServiceDep, check_allowed, principal_with
from discreet_service.web.pages import FormPrincipal, back_to, page, words
from discreet_service.web.parameter_sets import ReasonGiven, propose_activation, propose_retirement
from discreet_service.web.problem_pages import language_of

router = APIRouter(prefix="/designs/sets", tags=["studio"], include_in_schema=False)

_Proposer = Annotated[Principal, Depends(principal_with(Permission.parameters_propose))]


@router.get("")
def show_sets(request: Request, service: ServiceDep, principal: _Proposer) -> Response:
    """The parameter sets, and what can be proposed of them."""
    return _sets(request, service, principal)


def _sets(
    request: Request, service: Service, principal: Principal, problems: Sequence[Problem] = ()
) -> Response:
    waiting = {
        each.subject: each
        for each in service.approvals.proposals(principal, ProposalState.open)
        if each.kind.value.startswith("parameter-")
    }
    # Which published data sets use a set.
    found: dict[str, list[str]] = {}
    for record in service.datasets.records():
        named = record.facts.get("parameters")
        if record.state == "published" and named:
            subject = f"{named['statistic']}@{named['version']}"
            found.setdefault(subject, []).append(f"{record.dataset} {record.version}")
    return page(
        request,
        "parameter_sets",
        status=422 if problems else 200,
        sets=sorted(service.parameter_sets.sets(), key=lambda each: -each.imported),
        waiting=waiting,
        used_by=found,
        problems=problems,
        may_look=principal.may(Permission.parameters_design),
    )


@router.post("")
def bring_package(
    request: Request, service: ServiceDep, principal: FormPrincipal, package: UploadFile
) -> Response:
    """Take in a package that was signed elsewhere."""
    check_allowed(principal, Permission.parameters_propose)
    try:
        take_package(service, principal, package.file.read(LARGEST + 1))
    except ServiceError as error:
        return _sets(request, service, principal, problems_of(error))
    return back_to("/designs/sets")


@router.post("/{name}/{version}")
def propose_change(
    name: str,
    version: str,
    request: Request,
    service: ServiceDep,
    principal: FormPrincipal,
    act: Annotated[Literal["activate", "retire"], Form()],
    reason: Annotated[str, Form(max_length=10_000)] = "",
) -> Response:
    """Propose that a set comes into use, or goes out of it."""
    check_allowed(principal, Permission.parameters_propose)
    propose = propose_activation if act == "activate" else propose_retirement
    try:
        propose(name, version, ReasonGiven(reason=reason), service, principal)
    except ServiceError as error:
        if error.code == "not-allowed":
            raise
        return _sets(request, service, principal, problems_of(error))
    return back_to("/designs/sets")


@router.post("/{name}/{version}/look")
def look_into_draft(
    name: str, version: str, request: Request, service: ServiceDep, principal: FormPrincipal
) -> Response:
    """The main figures of a draft: nobody should agree to what they cannot see."""
    check_allowed(principal, Permission.parameters_design)
    check_allowed(principal, Permission.parameters_propose)
    language = language_of(request)
    spoken = words("designs", language)
    try:
        found, table = draft_of(service, principal, name, version)
        design = AssessedDesign(table=table)
        figures = figures_of([design], spoken, language)
        chart = noise_chart([design], None, spoken, language)
    except DiscreetError as error:
        return _sets(request, service, principal, problems_of(error))
    return page(
        request, "parameter_draft", secret=True, set=found, design=design, figures=figures,
        chart=chart, spoken=spoken,
    )  # fmt: skip
