"""Parameter sets in the studio: designs (SECRET) as signed packages or as files with the commands
that sign them, and how two persons bring them into use and out of it.
"""

from __future__ import annotations

import dataclasses
import re
import secrets
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, Response, UploadFile
from pydantic import BaseModel, Field

from discreet.errors import DiscreetError, Problem
from discreet.protection.noise import PerturbationTable
from discreet.release import LARGEST, pack_parameters, parameters_of
from discreet_service.audit import AuditKind
from discreet_service.parameter_sets import ParameterSet, SetState
from discreet_service.people import ProposalState
from discreet_service.permissions import Permission, Principal
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.studio.approvals import set_page
from discreet_service.studio.design_wishes import DesignWish
from discreet_service.studio.parameter_use import users_of
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
    spoken, look = words("parameter_sets", visit.language), Permission.parameters_design
    rows = []
    for one in sorted(visit.service.parameter_sets.sets(), key=lambda each: -each.imported):
        here, name = path_to("designs", "sets", one.name, one.version), f"{one.name} {one.version}"
        state = [
            Cell(spoken[f"state_{one.state.value}"], tag="good" * (one.state.value == "active"))
        ]
        for word, when in (("since", one.activated), ("until", one.retired)):
            state += [Cell(f"{spoken[word]} {time_text(when, visit.language)}")] if when else []
        following: list[Cell | Act] = []
        if one.state is SetState.proposed and visit.principal.may(look):
            following.append(Act(path=f"{here}/look", word="look", about=name))
        if one.subject in waiting:
            proposal = waiting[one.subject]
            following += [Cell(f"{spoken['waits']} {proposal.proposer}."),
                          Cell(spoken["to_approvals"], path_to("approvals", proposal.id)),
                          ]  # fmt: skip
        elif one.state is not SetState.retired:
            act = "activate" if one.state is SetState.proposed else "retire"
            following.append(Act(path=here, word=act, value=act, about=name, reason="reason",
                                 second=act == "retire"))  # fmt: skip
        rows.append(
            (name, state, ", ".join(chain(*users_of(visit, one))) or "–",
             f"{one.importer}, {time_text(one.imported, visit.language)}",
             Cell(one.signer, look="code"), following)
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
    package, service = form.package.file.read(LARGEST + 1), visit.service
    try:
        if len(package) > LARGEST:
            raise ServiceError("too large for a package", "too-large", limit=LARGEST)
        with service.database.writing() as connection:
            service.parameter_sets.propose(connection, package, visit.principal.name)
    except ServiceError as error:
        return _sets(visit, error.problems)
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
        return _sets(visit, error.problems)
    return back_to("/designs/sets")


@router.post("/{name}/{version}/look")
def look_into_draft(name: str, version: str, visit: _ParametersDesignForm) -> Response:
    """A proposed set beside the one in use: nobody should agree to what they cannot see."""
    check_allowed(visit.principal, Permission.parameters_propose)
    try:
        return set_page(visit, name, version)
    except DiscreetError as error:
        return _sets(visit, error.problems)


#: What statistics and versions may be called.
WORD = r"[A-Za-z0-9][A-Za-z0-9._\-]{0,79}"


def can_sign(service: Service) -> bool:
    """Whether designs are signed here."""
    settings = service.settings
    return settings.studio_key_file is not None and settings.package_key_file is not None


def save_design(visit: Visit, wish: DesignWish, name: str, version: str) -> ParameterSet:
    """Save a design as a parameter set that is proposed."""
    _check_may_save(visit.principal, name, version)
    if not can_sign(visit.service):
        what, hint = (
            "the service has no signing key for designs",
            "add studio_key_file to its settings",
        )
        raise ServiceError(what, "data-not-ready", "statistic", hint)
    made = parameters_of({}, _ordered_anew(wish, name, version))
    try:
        # All else is as in the version in use.
        taken = visit.service.parameter_sets.parameters(name)[1]
    except ServiceError as error:
        if error.code != "unknown-parameter-set":
            raise
    else:
        if taken.rules.zeros == "table":
            message = "the version in use changes zeros; designs of the studio cannot"
            hint = "create this set with: discreet params pack"
            raise ServiceError(message, "conflict", "statistic", hint)
        table = made.perturbation_table
        made = dataclasses.replace(
            taken, perturbation_table=table, statistic="", version="", signer=""
        )
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        package = pack_parameters(
            made,
            Path(folder) / "design.dcparams",
            statistic=name,
            version=version,
            sign_key=visit.service.settings.studio_key_file,
            key=visit.service.settings.package_key_file,
        ).read_bytes()
    with visit.service.database.writing() as connection:
        found = visit.service.parameter_sets.propose(connection, package, visit.principal.name)
    facts = {"version": found.version, "signer": found.signer}
    visit.note(AuditKind.draft_signed, found.subject, facts)
    return found


def export_design(visit: Visit, wish: DesignWish, name: str, version: str) -> bytes:
    """A design as a file of the library, to be packed and signed elsewhere. SECRET."""
    _check_may_save(visit.principal, name, version)
    table = _ordered_anew(wish, name, version)
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        content = table.write(Path(folder) / "ptable.json").read_bytes()
    # No digest: whoever reads the trail could try designs until one has it.
    visit.note(AuditKind.design_exported, f"{name}@{version}", {"version": version})
    return content


def offline_commands(name: str, version: str) -> Sequence[str]:
    """Commands that pack and sign a table at the place of the office's key.

    >>> print(offline_commands("census", "3")[0][:45])
    discreet params pack parameters.toml --out ce
    """
    package = f"{name}-{version}.dcparams"
    return (
        f"discreet params pack parameters.toml --out {package} --statistic {name} "
        f"--version {version} --sign-key office.key --key-file package.key",
        f"discreet params verify {package} --verify-key office.pub --key-file package.key",
    )


def next_version(service: Service, name: str) -> str:
    """The version that a new set could have."""
    numbers = [int(item.version) for item in service.parameter_sets.sets()
               if item.name == name and re.fullmatch("[0-9]{1,9}", item.version)]  # fmt: skip
    return str(max(numbers, default=0) + 1)


def _check_may_save(principal: Principal, name: str, version: str) -> None:
    check_allowed(principal, Permission.parameters_design)
    check_allowed(principal, Permission.parameters_propose)
    for where, word in (("statistic", name), ("version", version)):
        if not re.fullmatch(WORD, word):
            message = "use up to 80 letters, digits, dots, - and _"
            raise ServiceError(message, "invalid-input", where)


def _ordered_anew(wish: DesignWish, name: str, version: str) -> PerturbationTable:
    """The table of a wish, with intervals in an order that nobody has seen. SECRET."""
    return dataclasses.replace(wish.table(secrets.token_bytes(32)), name=f"{name} {version}")
