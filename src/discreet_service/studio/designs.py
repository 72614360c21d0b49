"""The designer of perturbation, and parameter sets: sliders, pictures, effect; designs as signed
packages or as files with the commands that sign them, and how two persons bring them into use and
out of it. Forms are SECRET: nothing of them stands in an address, which logs keep.
"""

from __future__ import annotations

import re
import secrets
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from fastapi import APIRouter, Depends, Form, Request, Response, UploadFile
from pydantic import BaseModel, Field

from discreet import perturb
from discreet.assessment import Quality, actual_quality, expected_quality, published_values
from discreet.errors import DiscreetError, Problem
from discreet.protection.noise import PerturbationTable
from discreet.protection.protocol import all_of
from discreet.release import LARGEST, pack_parameters, parameters_of
from discreet.tables import ProtectedTable, Table
from discreet.tabulation import Query
from discreet_service.audit import AuditKind, LogMode, LogVerdict
from discreet_service.parameter_sets import ParameterSet, SetState
from discreet_service.people import ProposalState
from discreet_service.permissions import Permission, Principal
from discreet_service.policies import Language
from discreet_service.problems import ServiceError
from discreet_service.queries import PreparedQuery, filter_texts, joint_filter, title_of
from discreet_service.service import Service
from discreet_service.studio.approvals import set_page
from discreet_service.studio.choices import TableChoices
from discreet_service.studio.design_charts import design_charts, figures_of
from discreet_service.studio.design_wishes import (
    LARGEST_NOISE,
    ORDERS,
    AssessedDesign,
    DesignFields,
    DesignWish,
    assessed,
    offered_variance,
    published_counts,
)
from discreet_service.studio.quality import users_of
from discreet_service.web import (
    Act,
    Cell,
    NavigationEntry,
    PageForm,
    Part,
    ReasonGiven,
    Visit,
    admitted,
    back_to,
    check_allowed,
    file_response,
    form_visit_with,
    list_page,
    note_query,
    page,
    path_to,
    propose_activation,
    propose_retirement,
    sent,
    time_text,
    visit_with,
    words,
)

#: Cells that are shown one by one.
SHOWN_CELLS = 100


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class DesignEffect:
    """Effect of designs on a table. CONFIDENTIAL."""

    title: str  # The table
    true: bool  # Whether true counts are behind it
    expected: Sequence[Quality]  # Per design, the quality to be expected
    # Per design, the quality of what is drawn; none without true counts
    actual: Sequence[Quality] = ()
    # Codes, true count and what each design makes of it; none without true counts
    cells: Sequence[tuple[Sequence[str], int, Sequence[int]]] = ()
    all_cells: int = 0  # How many cells there are

    def __repr__(self) -> str:
        return "<DesignEffect: confidential>"


def released_tables(visit: Visit, language: str) -> list[tuple[str, str]]:
    """Name and heading of the released tables of counts that somebody may see."""
    if not visit.principal.may(Permission.releases_read):
        return []
    listed = visit.service.releases.tables().values()
    return [(item.id, f"{item.release}: {item.title(language)}")
            for item in listed if not item.figures]  # fmt: skip


def may_see_true(principal: Principal, dataset: str = "") -> bool:
    """Whether somebody may see true values of a data set; no permission but this one implies it."""
    return principal.may(Permission.parameters_design) and principal.may(
        Permission.values_see, dataset
    )


def released_effect(
    visit: Visit, table: str, designs: Sequence[AssessedDesign], language: str
) -> DesignEffect:
    """Expected effect on a released table."""
    check_allowed(visit.principal, Permission.releases_read)
    listed = visit.service.releases.listed(table)
    return _expected(listed.title(language), visit.service.releases.table(table), designs)


def _expected(title: str, table: ProtectedTable, designs: Sequence[AssessedDesign]) -> DesignEffect:
    if table.figures or table.value.dtype.kind != "i":
        raise ServiceError("not a table of counts", "invalid-input", "table")
    counts = published_counts(table)
    if not counts:
        raise ServiceError("the table has no counts", "invalid-input", "table")
    expected = [expected_quality(design.table, counts) for design in designs]
    return DesignEffect(title=title, true=False, expected=expected,
                        all_cells=sum(counts.values()))  # fmt: skip


def dataset_effect(
    visit: Visit, place: str, designs: Sequence[AssessedDesign], language: Language, *, true: bool
) -> DesignEffect:
    """Expected effect on a table of a data set, or the effect on its true counts."""
    address = urlsplit(place.strip())
    parts = address.path.strip("/").split("/")
    if len(parts) not in (2, 3) or parts[0] != "tables" or parts[2:] not in ([], ["result"]):
        what, hint = "not an address of a table", "copy it from the table builder: /tables/…"
        raise ServiceError(what, "invalid-input", "table", hint)
    dataset = unquote(parts[1])
    pairs = parse_qsl(address.query, keep_blank_values=True, max_num_fields=1_000)
    check_allowed(visit.principal, Permission.parameters_design)
    check_allowed(visit.principal, Permission.values_see if true else Permission.query_run, dataset)
    choices = TableChoices.asked(visit.service, dataset, pairs)
    prepared = choices.prepared(visit.service)
    prepared.plan.require()
    what, hint = "the table is too large for this page", "choose coarser levels"
    too_large = ServiceError(what, "too-many-cells", "table", hint)
    if prepared.plan.kind != "instant":
        raise too_large
    title = title_of(prepared.query, choices.unit)[language]
    if true:
        # What designs do to true counts; that they were shown stands in the trail. CONFIDENTIAL.
        table = true_table(prepared)
        if not len(table):
            raise ServiceError("the table has no cells", "invalid-input", "table")
        query = prepared.query
        facts: dict[str, Any] = {
            "version": query.version,
            "unit": query.unit,
            "by": [f"{one.variable}:{','.join(map(str, one.levels))}" for one in query.by],
            "where": [one.variable for one in query.where],
            "cells": len(table),
        }
        visit.note(AuditKind.true_values_shown, query.dataset, facts)
        drawn = [perturb(table, design.table) for design in designs]
        values = [published_values(table, item)[0] for item in drawn]
        labels = [dimension.labels(language) for dimension in table.dimensions]
        cells = [
            (
                [own[part[at]] for own, part in zip(labels, table.index, strict=True)],
                int(table.count[at]),
                [int(value[at]) for value in values],
            )
            for at in range(min(len(table), SHOWN_CELLS))
        ]
        return DesignEffect(
            title=title,
            true=True,
            expected=[expected_quality(design.table, table) for design in designs],
            actual=[actual_quality(table, item) for item in drawn],
            cells=cells,
            all_cells=len(table),
        )
    # The protected table, as everybody would get it; asked for like any other.
    start = time.perf_counter()
    verdict = admitted(visit, prepared, language, start)
    if not visit.service.answers.is_instant(prepared, verdict):
        raise too_large
    answer = visit.service.answers.answer(prepared)
    note_query(visit, prepared, LogMode.query, LogVerdict.answered, start, kept=answer.cached)
    return _expected(title, answer.table, designs)


def true_table(prepared: PreparedQuery) -> Table:
    """The true counts of a query, with all totals. CONFIDENTIAL."""
    query, version = prepared.query, prepared.version
    unit = version.units[query.unit]
    trees = [
        unit.coarser.get((one.variable, max(one.levels)), unit.variables[one.variable].tree)
        for one in query.by
    ]
    schema = version.records(query.unit)[0].collect_schema()
    texts = filter_texts(query, version)
    asked = Query(by=trees, where=joint_filter(texts, schema), name="effect")
    return replace(version.counted(query.unit, [asked])[0], where=all_of(*texts))


router = APIRouter(prefix="/designs", tags=["studio"], include_in_schema=False)
NAVIGATION = NavigationEntry(path="/designs", place=40, permissions=(Permission.parameters_design,))

_Designer = Annotated[Visit, Depends(visit_with(Permission.parameters_design))]
_ParametersDesignForm = Annotated[Visit, Depends(form_visit_with(Permission.parameters_design))]


@dataclass(frozen=True, kw_only=True, repr=False)
class DesignerForm:
    """All fields of the page. SECRET."""

    # The fields of both designs
    designs: tuple[DesignFields, DesignFields] = (
        DesignFields(),
        DesignFields(noise="4", variance="2.25", fixed=True),
    )
    compared: bool = False  # Whether the second one is looked at, too
    row: str = ""  # Original count whose noise is shown; empty for large ones
    act: str = "draw"  # "draw", "effect", "save" or "export"
    table: str = ""  # A released table
    place: str = ""  # The address of a table of a data set
    true: bool = False  # Whether its true counts are asked for
    which: str = "a"  # Which design is saved
    statistic: str = ""  # As which statistic
    version: str = ""  # As which version

    def read(self) -> tuple[list[AssessedDesign], int | None, list[list[Problem]]]:
        """The designs, and per design what is wrong with it."""
        found: list[AssessedDesign] = []
        wrong: list[list[Problem]] = []
        for each in self.designs[: 2 if self.compared else 1]:
            problems: list[Problem] = []
            wish = each.read(problems)
            if wish is not None:
                try:
                    found.append(assessed(wish))
                except DiscreetError as error:
                    problems += error.problems
            wrong.append(problems)
        row = self.row.strip()
        known = row.isascii() and row.isdigit() and len(row) < 4
        return found, int(row) if known and int(row) > 0 else None, wrong

    def kept(self) -> list[tuple[str, str]]:
        """The fields of the designs, as hidden fields of other forms."""
        pairs = []
        for prefix, one in zip(("a_", "b_"), self.designs, strict=True):
            texts = {each.name: getattr(one, each.name) for each in fields(one)}
            pairs += [(f"{prefix}{name}", text) for name, text in texts.items() if name != "fixed"]
            pairs += [(f"{prefix}fixed", "yes")] if one.fixed else []
        return [*pairs, ("row", self.row), *([("compared", "yes")] if self.compared else [])]

    def __repr__(self) -> str:
        return "<DesignerForm: secret>"


async def designer_form(request: Request) -> DesignerForm:
    """A dependency: the fields that were sent; of a name that comes twice, the last."""
    form = (await request.form()).multi_items()
    texts = {name: text.strip()[:4_000] for name, text in form if isinstance(text, str)}
    names = ("row", "table", "place", "statistic", "version")
    return DesignerForm(
        designs=(DesignFields.of(texts, "a_"), DesignFields.of(texts, "b_")),
        compared=texts.get("compared") == "yes",
        act=texts.get("act") or "draw",
        true=texts.get("true") == "yes",
        which="b" if texts.get("which") == "b" else "a",
        **{name: texts.get(name, "") for name in names},
    )


_Sent = Annotated[DesignerForm, Depends(designer_form)]


@router.get("")
def show_designer(visit: _Designer) -> Response:
    """The designer with an everyday design."""
    return _shown(visit, DesignerForm())


@router.post("")
def run_designer(visit: _ParametersDesignForm, form: _Sent) -> Response:
    """Draw designs, look at their effect, save one, or take it away to be signed elsewhere."""
    if form.act in ("save", "export"):
        designs, _, wrong = form.read()
        try:
            if any(wrong) or (form.which == "b" and not form.compared):
                raise ServiceError("the design is not possible", "invalid-input", "which")
            wish = designs[form.which == "b"].wish
            if wish is None:
                raise AssertionError("designs of forms have wishes")
            if form.act == "export":
                content = export_design(visit, wish, form.statistic, form.version)
                return file_response(content, "ptable.json", "application/json")
            save_design(visit, wish, form.statistic, form.version)
        except DiscreetError as error:
            if isinstance(error, ServiceError) and error.code == "not-allowed":
                raise
            return _shown(visit, form, unsaved=error.problems)
        return back_to("/designs/sets")
    return _shown(visit, form)


def _shown(visit: Visit, form: DesignerForm, unsaved: Sequence[Problem] = ()) -> Response:
    language = visit.language
    spoken = words("designs", language)
    designs, row, wrong = form.read()
    drawn: dict[str, Any] = {"charts": (), "figures": (), "effect": None, "ineffective": ()}
    if not any(wrong):
        drawn["charts"] = design_charts(designs, row, spoken, language)
        drawn["figures"] = figures_of(designs, spoken, language)
        if form.act == "effect":
            # What the designs do to a table, or why that cannot be told.
            try:
                drawn["effect"] = (
                    dataset_effect(visit, form.place, designs, language, true=form.true)
                    if form.place
                    else released_effect(visit, form.table, designs, language)
                )
            except DiscreetError as error:
                if error.code in ("not-allowed", "not-authenticated"):
                    raise
                drawn["ineffective"] = error.problems
    statistics = sorted({item.name for item in visit.service.parameter_sets.sets()})
    statistic = form.statistic or "".join(statistics[:1])
    version = form.version or next_version(visit.service, statistic)
    return page(
        visit,
        "designs",
        status=422 if any(wrong) or unsaved or drawn["ineffective"] else 200,
        secret=True,
        form=form,
        designs=designs,
        wrong=wrong,
        offered=[offered_variance(item) for item in wrong],
        unsaved=unsaved,
        may_save=visit.principal.may(Permission.parameters_propose),
        can_sign=can_sign(visit.service),
        statistics=statistics,
        statistic=statistic,
        version=version,
        commands=offline_commands(statistic or "census", version),
        tables=released_tables(visit, language),
        may_query=visit.principal.may(Permission.query_run),
        may_see_true=may_see_true(visit.principal),
        orders=ORDERS,
        largest_noise=LARGEST_NOISE,
        shown_cells=SHOWN_CELLS,
        **drawn,
    )


_Proposer = Annotated[Visit, Depends(visit_with(Permission.parameters_propose))]
_ParametersProposeForm = Annotated[Visit, Depends(form_visit_with(Permission.parameters_propose))]
#: What statistics and versions may be called.
_WORD = r"[A-Za-z0-9][A-Za-z0-9._\-]{0,79}"


class PackageForm(BaseModel):
    """A package that was signed elsewhere."""

    package: Annotated[UploadFile, Field(json_schema_extra={"accept": ".dcparams"})]


@router.get("/sets")
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


@router.post("/sets")
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


@router.post("/sets/{name}/{version}")
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


@router.post("/sets/{name}/{version}/look")
def look_into_draft(name: str, version: str, visit: _ParametersDesignForm) -> Response:
    """A proposed set beside the one in use: nobody should agree to what they cannot see."""
    check_allowed(visit.principal, Permission.parameters_propose)
    try:
        return set_page(visit, name, version)
    except DiscreetError as error:
        return _sets(visit, error.problems)


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
        made = replace(taken, perturbation_table=table, statistic="", version="", signer="")
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
        if not re.fullmatch(_WORD, word):
            message = "use up to 80 letters, digits, dots, - and _"
            raise ServiceError(message, "invalid-input", where)


def _ordered_anew(wish: DesignWish, name: str, version: str) -> PerturbationTable:
    """The table of a wish, with intervals in an order that nobody has seen. SECRET."""
    return replace(wish.table(secrets.token_bytes(32)), name=f"{name} {version}")
