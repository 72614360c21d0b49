"""Policies as pages: what may be asked, how that changes, why something was refused. Confidential
contents are shown to those who may see them, and not kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response
from pydantic import BaseModel, Field

from discreet_service.people import ProposalKind, ProposalState
from discreet_service.permissions import Permission, Principal
from discreet_service.policies import PoliciesInForce, policy_history, refused_tables
from discreet_service.problems import ServiceError
from discreet_service.queries import said_in
from discreet_service.service import Service
from discreet_service.studio.policy_sentences import flat_values, limit_words, written_value
from discreet_service.web import (
    Cell,
    KnownVisit,
    NavigationEntry,
    OverrideWanted,
    PageForm,
    PageTable,
    Part,
    PolicyChange,
    Value,
    Visit,
    area_report,
    back_to,
    check_allowed,
    detail_page,
    explained_refusal,
    form_visit_with,
    list_page,
    path_to,
    propose_override,
    propose_policy,
    sent,
    time_text,
    visit_with,
    words,
)

router = APIRouter(prefix="/policies", tags=["studio"], include_in_schema=False)

#: Who finds the pages of policies in the navigation.
POLICY_PERMISSIONS = (
    Permission.policies_propose,
    Permission.policies_approve,
    Permission.refusals_explain,
    Permission.refusals_override,
)
NAVIGATION = NavigationEntry(path="/policies", place=120, permissions=POLICY_PERMISSIONS)
_Approver = Annotated[Visit, Depends(visit_with(Permission.policies_approve))]
_Explainer = Annotated[Visit, Depends(visit_with(Permission.refusals_explain))]
_PoliciesProposeForm = Annotated[Visit, Depends(form_visit_with(Permission.policies_propose))]
_RefusalsOverrideForm = Annotated[Visit, Depends(form_visit_with(Permission.refusals_override))]
_Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
#: What two persons cannot set aside: it holds for what was released before.
_FIRM = frozenset(("P1", "P8", "P9"))
_MOST_PAIRS = 200
#: What the heading of a policy says already.
_KNOWN = frozenset(("dataset", "version"))


class PolicyForm(BaseModel):
    """Another policy for a data version, as it was filled in."""

    policy: Annotated[str, Field(max_length=90_000)] = ""
    signature: Annotated[str, Field(max_length=1_000)] = ""
    reason: Annotated[str, Field(max_length=2_000)] = ""


@router.get("")
def show_policies(visit: KnownVisit) -> Response:
    """The data versions, and which policy holds for each."""
    _check_any(visit.principal)
    spoken, rows = words("policies", visit.language), []
    for record in visit.service.datasets.records():
        if any(visit.principal.may(item, record.dataset) for item in POLICY_PERMISSIONS):
            with visit.service.database.reading() as connection:
                states = policy_history(connection, record.dataset, record.version)
            active = next((one for one in states if one.state == "active"), None)
            waiting = sum(one.state == "proposed" for one in states)
            here = path_to("policies", record.dataset, record.version)
            row: list[Value] = [Cell(f"{record.dataset} {record.version}", here), record.version]
            if active is None:
                row += [Cell(spoken["none"], tag="problem"), "–", "–", "–"]
            else:
                row += [Cell(spoken["active"], tag="good"), str(active.revision),
                        time_text(active.activated), Cell(active.signer, look="code")]  # fmt: skip
            rows.append([*row, Cell(str(waiting), "/approvals") if waiting else "–"])
    columns = ("dataset", "version", "state", "revision", "since", "signer", "waiting")
    return list_page(visit, "policies", columns, rows, term="policy", table="versions")


@router.get("/{dataset}/{version}")
def show_one_policy(dataset: str, version: str, visit: KnownVisit) -> Response:
    """One policy: limits, history, refusals, checks, and the form to propose another."""
    return _policy_page(visit, dataset, version)


@router.post("/{dataset}/{version}/changes")
def propose_by_form(
    dataset: str,
    version: str,
    visit: _PoliciesProposeForm,
    form: Annotated[PolicyForm, Depends(sent(PolicyForm))],
) -> Response:
    """Propose another policy; what is wrong with it is told beside what was filled in."""
    # Forms end lines as old teleprinters did; the signature is of the file as it was written.
    given = PolicyChange(policy=form.policy.replace("\r\n", "\n"),
                         signature=form.signature.strip(), reason=form.reason)  # fmt: skip
    try:
        propose_policy(dataset, version, given, visit)
    except ServiceError as error:
        if error.code not in ("invalid-input", "conflict"):
            raise
        return _policy_page(visit, dataset, version, given, error)
    return back_to("/approvals")


@router.get("/{dataset}/{version}/refusals/{digest}")
def show_refusal(dataset: str, version: str, digest: _Digest, visit: _Explainer) -> Response:
    """Why a table was refused, and the form to answer it nevertheless. CONFIDENTIAL."""
    parts, refusing = refusal_parts(visit, dataset, version, digest)
    if visit.principal.may(Permission.refusals_override, dataset):
        firm = ", ".join(sorted(refusing & _FIRM))
        lead = ["override_about", Part("term", "what_override", text="override"),
                *([Part("note", "firm", [firm], look="care")] if firm else [])]  # fmt: skip
        parts.append(PageForm(path=visit.url.path, model=OverrideWanted, send="override",
                          heading="override", parts=lead))  # fmt: skip
    return _part_page(visit, dataset, version, parts, "title_refusal", f": {dataset} {version}")


def refusal_parts(
    visit: Visit, dataset: str, version: str, digest: str
) -> tuple[list[Any], set[str]]:
    """Why a table was refused and what it asks for, and the rules that refused it. CONFIDENTIAL.

    The parts of a page have the words of `policy`.
    """
    visit.service.datasets.record(dataset, version)
    refusal = explained_refusal(visit, dataset, version, digest)
    logged = visit.service.query_log.search(dataset=dataset, digest=digest, size=1).rows
    spoken, failed = words("policy", visit.language), ("refused", "failed")
    meaning = words("dashboard", visit.language)
    rules = [
        (f"{one['rule']}: {meaning.get(one['rule'], '')}",
         Cell(spoken[f"outcome_{one['outcome']}"], tag="problem" * (one["outcome"] in failed)),
         one["explanation"] or "–")
        for one in refusal["rules"]
    ]  # fmt: skip
    parts: list[Any] = [
        Part(
            "facts",
            values=[("who", refusal["principal"]), ("when", time_text(refusal["refused_at"]))],
        ),
        Part("note", "table", [Cell(digest, look="code")], look="quiet"),
        PageTable(("rule", "outcome", "explanation"), rules, "rule-table", "rules"),
    ]
    if logged:
        query = _asked(visit.service, logged[0].told()["query"], visit.language)
        rows = [(name, spoken[f"part_{place}"], levels or "–", codes or spoken["all_codes"])
                for place, name, levels, codes in query]  # fmt: skip
        columns = ("variable", "part", "level", "codes")
        parts.append(PageTable(columns, rows, "query", "asked", ""))
    return parts, {one["rule"] for one in refusal["rules"] if one["outcome"] in failed}


@router.post("/{dataset}/{version}/refusals/{digest}")
def override_by_form(
    dataset: str,
    version: str,
    digest: _Digest,
    visit: _RefusalsOverrideForm,
    wanted: Annotated[OverrideWanted, Depends(sent(OverrideWanted))],
) -> Response:
    """Propose to answer a table that was refused."""
    propose_override(dataset, version, digest, wanted, visit)
    return back_to("/approvals")


@router.get("/{dataset}/{version}/areas/{unit}")
def show_areas(dataset: str, version: str, unit: str, visit: _Approver) -> Response:
    """Areas and classifications that hold nearly the same people. CONFIDENTIAL, no numbers."""
    report = area_report(visit, dataset, version, unit)
    label = visit.service.datasets.version(dataset, version).units[unit].label
    least, count = f"{report.least}.", len(report.differences)
    parts: list[Any] = ["areas_about"]
    if not count:
        parts.append(Part("note", "areas_none", [least], look="good"))
    else:
        levels = [(name, f"{number:,}") for name, number in report.levels.items()]
        merges = [f"{name} {code}" for name, code in report.merges]
        pairs = [(f"{one.first} {one.first_code}", f"{one.second} {one.second_code}")
                 for one in report.differences[:_MOST_PAIRS]]  # fmt: skip
        parts += [
            Part("note", "areas_pairs", [least], look="problem", lead=f"{count:,}"),
            PageTable(("level", "pairs"), levels, "level-table", "areas_levels"),
            Part("heading", "areas_merges"),
            Part("items", values=[*merges[:_MOST_PAIRS], *_more(len(merges))]),
            PageTable(("first", "second"), pairs, "pair-table", "pairs"),
            Part("items", values=_more(count)),
        ]
    about = f": {said_in(label, visit.language, unit)}"
    parts.append(Part("note", "traced", look="quiet"))
    return _part_page(visit, dataset, version, parts, "title_areas", about)


def _more(count: int) -> list[str]:
    return [f"+ {count - _MOST_PAIRS:,}"] if count > _MOST_PAIRS else []


def _part_page(
    visit: Visit, dataset: str, version: str, parts: Sequence[Any], word: str, about: str
) -> Response:
    above = f"{words('base', visit.language)['policies']}: {dataset} {version}"
    title = f"{words('policy', visit.language)[word]}{about}"
    return detail_page(visit, "policy", parts, title=title, secret=True,
                       up=(path_to("policies", dataset, version), above))  # fmt: skip


def _check_any(principal: Principal, dataset: str = "") -> None:
    if not any(principal.may(item, dataset) for item in POLICY_PERMISSIONS):
        check_allowed(principal, Permission.refusals_explain, dataset)


def _in_force(service: Service, dataset: str, version: str) -> PoliciesInForce:
    service.datasets.record(dataset, version)
    service.policies.in_force.ensure(dataset, version)
    return service.policies.in_force


def _policy_page(
    visit: Visit,
    dataset: str,
    version: str,
    given: PolicyChange | None = None,
    error: ServiceError | None = None,
) -> Response:
    _check_any(visit.principal, dataset)
    in_force, language = _in_force(visit.service, dataset, version), visit.language
    proposals = visit.service.approvals.proposals(
        visit.principal, ProposalState.open, kind=ProposalKind.policy_change
    )
    changes = {one.digest: path_to("approvals", one.id) for one in proposals}
    approves = visit.principal.may(Permission.policies_approve, dataset)
    explains = visit.principal.may(Permission.refusals_explain, dataset)
    with visit.service.database.reading() as connection:
        signed = in_force.signed(connection, dataset, version)
        states = policy_history(connection, dataset, version)
        refused = refused_tables(connection, dataset, version) if explains else []
    spoken, here = words("policy", language), path_to("policies", dataset, version)
    public = flat_values(signed.document.public())
    limits = [(limit_words(name, language), written_value(value, language))
              for name, value in public if name not in _KNOWN]  # fmt: skip
    parts: list[Any] = [
        PageTable(("limit", "value"), limits, "public", "limits"),
        Part("note", "limits_about", look="quiet"),
        Part("term", "what", text="policy"),
    ]
    if approves:
        named = f"{signed.signer}; SHA-256: {signed.document.digest}"
        parts += [Part("note", "signer", [Cell(named, look="code")], look="quiet"),
                  Part("source", "document", text=signed.text, name="POLICY.toml")]  # fmt: skip
    history = [
        (
            str(one.revision),
            [Cell(spoken[one.state], tag="good" * (one.state == "active")),
             *([Cell(spoken["look"], changes[one.digest])] if one.digest in changes else ())],
            time_text(one.activated),
            time_text(one.retired),
            Cell(one.signer, look="code"),
        )
        for one in states
    ]  # fmt: skip
    columns: Sequence[str] = ("revision", "state", "since", "until", "signer")
    parts.append(PageTable(columns, history, "history-table", "history"))
    if explains:
        rows = [
            (Cell(one.digest[:16], f"{here}/refusals/{one.digest}", look="code",
                  about=f"{spoken['why']} {one.digest[:16]}"),
             time_text(one.at), one.principal, ", ".join(one.rules))
            for one in refused
        ]  # fmt: skip
        columns = ("table", "when", "who", "rules")
        parts += [PageTable(columns, rows, "refused-table", "refusals", "no_refusals"),
                  *([Part("note", "traced", look="quiet")] if rows else ())]  # fmt: skip
    if approves:
        units = visit.service.datasets.version(dataset, version).units
        labels = [Cell(said_in(unit.label, language, name), f"{here}{path_to('areas', name)}",
                       look="button") for name, unit in units.items()]  # fmt: skip
        parts += [
            Part("heading", "areas"),
            "areas_about",
            Part("buttons", values=labels),
        ]
    if visit.principal.may(Permission.policies_propose, dataset):
        filled = given.model_dump() if given else {"policy": signed.text if approves else ""}
        form = PageForm(path=f"{here}/changes", model=PolicyForm, send="send", heading="propose",
                        values=filled, parts=["propose_about"])  # fmt: skip
        parts.append(form)
    return detail_page(visit, "policy", parts, title=f"{spoken['title']}: {dataset} {version}",
                       up=("/policies", words("base", language)["policies"]), error=error,
                       secret=True)  # fmt: skip


def _asked(
    service: Service, query: Mapping[str, Any], language: str
) -> list[tuple[str, str, str, str]]:
    units = service.datasets.version(query["dataset"], query["version"]).units
    variables = units[query["unit"]].variables if query["unit"] in units else {}
    found = []
    for place in ("by", "where"):
        for one in query.get(place, ()):
            variable = variables.get(one["variable"])
            numbers = one["levels"] if place == "by" else [one["level"]]
            name, levels = one["variable"], ", ".join(map(str, numbers))
            if variable is not None:
                name = f"{variable.tree.title(language)} ({name})"
                levels = ", ".join(
                    variable.level(number).name
                    for number in numbers
                    if 0 < number < len(variable.cuts)
                )
            found.append((place, name, levels, ", ".join(map(str, one["codes"] or []))))
    return found
