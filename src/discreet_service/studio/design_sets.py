"""Parameter sets in the studio: drafts, and how two persons bring them into use and out of it.

In: packages that were signed elsewhere, proposals with reasons. Out: names, versions, states; the
main figures of drafts (SECRET) for who designs parameters. What was in use is shown to nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, Response, UploadFile
from pydantic import BaseModel, Field

from discreet.errors import DiscreetError, Problem
from discreet.release import LARGEST
from discreet_service.parameter_sets import SetState
from discreet_service.people import ProposalState
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.studio.design_charts import noise_chart
from discreet_service.studio.design_drafts import draft_of, take_package
from discreet_service.studio.design_wishes import AssessedDesign
from discreet_service.studio.designs import figures_of, problems_of
from discreet_service.web import (
    Act,
    Cell,
    PageForm,
    Part,
    ReasonGiven,
    Visit,
    back_to,
    check_allowed,
    form_visit_with,
    list_page,
    page,
    path_to,
    propose_activation,
    propose_retirement,
    sent,
    time_text,
    visit_with,
    words,
)

router = APIRouter(prefix="/designs/sets", tags=["studio"], include_in_schema=False)

_Proposer = Annotated[Visit, Depends(visit_with(Permission.parameters_propose))]
_ParametersProposeForm = Annotated[Visit, Depends(form_visit_with(Permission.parameters_propose))]
_ParametersDesignForm = Annotated[Visit, Depends(form_visit_with(Permission.parameters_design))]


class PackageForm(BaseModel):
    """A package that was signed elsewhere."""

    package: Annotated[UploadFile, Field(json_schema_extra={"accept": ".dcparams"})]


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
    used: dict[str, list[str]] = {}
    for record in visit.service.datasets.records():
        named = record.facts.get("parameters")
        if record.state == "published" and named:
            subject = f"{named['statistic']}@{named['version']}"
            used.setdefault(subject, []).append(f"{record.dataset} {record.version}")
    spoken, look = words("parameter_sets", visit.language), Permission.parameters_design
    rows = []
    for one in sorted(visit.service.parameter_sets.sets(), key=lambda each: -each.imported):
        here, name = path_to("designs", "sets", one.name, one.version), f"{one.name} {one.version}"
        state = [
            Cell(spoken[f"state_{one.state.value}"], tag="good" * (one.state.value == "active"))
        ]
        for word, when in (("since", one.activated), ("until", one.retired)):
            state += [Cell(f"{spoken[word]} {time_text(when)}")] if when else []
        following: list[Cell | Act] = []
        if one.state is SetState.proposed and visit.principal.may(look):
            following.append(Act(path=f"{here}/look", word="look", about=name))
        if one.subject in waiting:
            following += [Cell(f"{spoken['waits']} {waiting[one.subject].proposer}."),
                          Cell(spoken["to_approvals"], "/approvals")]  # fmt: skip
        elif one.state is not SetState.retired:
            act = "activate" if one.state is SetState.proposed else "retire"
            following.append(Act(path=here, word=act, value=act, about=name, reason="reason",
                                 second=act == "retire"))  # fmt: skip
        rows.append(
            (name, state, ", ".join(used.get(one.subject, ())) or "–",
             f"{one.importer}, {time_text(one.imported)}", Cell(one.signer, look="code"), following)
        )  # fmt: skip
    columns = ("set", "state", "used_by", "brought", "signer", "next")
    form = PageForm(path="/designs/sets", model=PackageForm, send="bring", second=True)
    return list_page(
        visit, "parameter_sets", columns, rows, status=422 if problems else 200,
        above=("/designs", spoken["to_designer"]), css="designs.css",
        before=[Part("wrong", text=f"{one.what} – {one.hint}" if one.hint else one.what)
                for one in problems],
        after=[Part("heading", "elsewhere"), Part("note", "elsewhere_lead"), form],
    )  # fmt: skip


@router.post("")
def bring_package(
    visit: _ParametersProposeForm, form: Annotated[PackageForm, Depends(sent(PackageForm))]
) -> Response:
    """Take in a package that was signed elsewhere."""
    try:
        take_package(visit, form.package.file.read(LARGEST + 1))
    except ServiceError as error:
        return _sets(visit, problems_of(error))
    return back_to("/designs/sets")


@router.post("/{name}/{version}")
def propose_change(
    name: str,
    version: str,
    visit: _ParametersProposeForm,
    act: Annotated[Literal["activate", "retire"], Form()],
    reason: Annotated[str, Form(max_length=10_000)] = "",
) -> Response:
    """Propose that a set comes into use, or goes out of it."""
    propose = propose_activation if act == "activate" else propose_retirement
    try:
        propose(name, version, ReasonGiven(reason=reason), visit)
    except ServiceError as error:
        if error.code == "not-allowed":
            raise
        return _sets(visit, problems_of(error))
    return back_to("/designs/sets")


@router.post("/{name}/{version}/look")
def look_into_draft(name: str, version: str, visit: _ParametersDesignForm) -> Response:
    """The main figures of a draft: nobody should agree to what they cannot see."""
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
