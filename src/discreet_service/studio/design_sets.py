"""Parameter sets in the studio: drafts, and how two persons bring them into use and out of it.

In: packages that were signed elsewhere, proposals with reasons. Out: names, versions, states; the
main figures of drafts (SECRET) for who designs parameters. What was in use is shown to nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, Response, UploadFile

from discreet.errors import DiscreetError, Problem
from discreet.release import LARGEST
from discreet_service.people import ProposalState
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.studio.design_charts import noise_chart
from discreet_service.studio.design_drafts import draft_of, take_package
from discreet_service.studio.design_figures import AssessedDesign
from discreet_service.studio.designs import figures_of, problems_of
from discreet_service.web import (
    FormVisit,
    ReasonGiven,
    Visit,
    back_to,
    check_allowed,
    page,
    propose_activation,
    propose_retirement,
    visit_with,
    words,
)

router = APIRouter(prefix="/designs/sets", tags=["studio"], include_in_schema=False)

_Proposer = Annotated[Visit, Depends(visit_with(Permission.parameters_propose))]


@router.get("")
def show_sets(visit: _Proposer) -> Response:
    """The parameter sets, and what can be proposed of them."""
    return _sets(visit)


def _sets(visit: Visit, problems: Sequence[Problem] = ()) -> Response:
    waiting = {
        proposal.subject: proposal
        for proposal in visit.service.approvals.proposals(visit.principal, ProposalState.open)
        if proposal.kind.value.startswith("parameter-")
    }
    # Which published data sets use a set.
    found: dict[str, list[str]] = {}
    for record in visit.service.datasets.records():
        named = record.facts.get("parameters")
        if record.state == "published" and named:
            subject = f"{named['statistic']}@{named['version']}"
            found.setdefault(subject, []).append(f"{record.dataset} {record.version}")
    return page(
        visit,
        "parameter_sets",
        status=422 if problems else 200,
        sets=sorted(visit.service.parameter_sets.sets(), key=lambda each: -each.imported),
        waiting=waiting,
        used_by=found,
        problems=problems,
        may_look=visit.principal.may(Permission.parameters_design),
    )


@router.post("")
def bring_package(visit: FormVisit, package: UploadFile) -> Response:
    """Take in a package that was signed elsewhere."""
    check_allowed(visit.principal, Permission.parameters_propose)
    try:
        take_package(visit, package.file.read(LARGEST + 1))
    except ServiceError as error:
        return _sets(visit, problems_of(error))
    return back_to("/designs/sets")


@router.post("/{name}/{version}")
def propose_change(
    name: str,
    version: str,
    visit: FormVisit,
    act: Annotated[Literal["activate", "retire"], Form()],
    reason: Annotated[str, Form(max_length=10_000)] = "",
) -> Response:
    """Propose that a set comes into use, or goes out of it."""
    check_allowed(visit.principal, Permission.parameters_propose)
    propose = propose_activation if act == "activate" else propose_retirement
    try:
        propose(name, version, ReasonGiven(reason=reason), visit)
    except ServiceError as error:
        if error.code == "not-allowed":
            raise
        return _sets(visit, problems_of(error))
    return back_to("/designs/sets")


@router.post("/{name}/{version}/look")
def look_into_draft(name: str, version: str, visit: FormVisit) -> Response:
    """The main figures of a draft: nobody should agree to what they cannot see."""
    check_allowed(visit.principal, Permission.parameters_design)
    check_allowed(visit.principal, Permission.parameters_propose)
    language = visit.language
    spoken = words("designs", language)
    try:
        found, table = draft_of(visit, name, version)
        design = AssessedDesign(table=table)
        figures = figures_of([design], spoken, language)
        chart = noise_chart([design], None, spoken, language)
    except DiscreetError as error:
        return _sets(visit, problems_of(error))
    return page(
        visit, "parameter_draft", secret=True, set=found, design=design, figures=figures,
        chart=chart, spoken=spoken,
    )  # fmt: skip
