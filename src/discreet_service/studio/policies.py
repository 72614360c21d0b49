"""Policies as pages: what may be asked, how that changes, why something was refused.

In: questions and proposals of those who keep the policies, and of auditors. Out: what the interface
tells them, side by side with what is proposed; nothing changes but by two persons. Confidential
contents are shown to those only who may see them there, and the pages are not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Path, Request, Response

from discreet_service.permissions import Permission, Principal
from discreet_service.policies import PoliciesInForce, PolicyState, policy_history, refused_tables
from discreet_service.problems import ServiceError
from discreet_service.queries import said_in
from discreet_service.service import Service
from discreet_service.web import (
    FormVisit,
    KnownVisit,
    NavigationEntry,
    OverrideWanted,
    PolicyChange,
    Visit,
    area_report,
    back_to,
    check_allowed,
    explained_refusal,
    language_of,
    page,
    propose_override,
    propose_policy,
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
_Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
#: What two persons cannot set aside: it holds for what was released before.
_FIRM = frozenset(("P1", "P8", "P9"))
_MOST_PAIRS = 200
#: What the heading of a policy says already.
_KNOWN = frozenset(("dataset", "version"))


@router.get("")
def show_policies(visit: KnownVisit) -> Response:
    """The data versions, and which policy holds for each."""
    _check_any(visit.principal)
    found = []
    for record in visit.service.datasets.records():
        if any(visit.principal.may(item, record.dataset) for item in POLICY_PERMISSIONS):
            states = _states(visit.service, record.dataset, record.version)
            active = next((one for one in states if one.state == "active"), None)
            found.append((record, active, sum(one.state == "proposed" for one in states)))
    return page(visit, "policies", versions=found)


@router.get("/{dataset}/{version}")
def show_one_policy(dataset: str, version: str, visit: KnownVisit) -> Response:
    """One policy: limits, history, refusals, checks, and the form to propose another."""
    return _policy_page(visit, dataset, version)


@router.post("/{dataset}/{version}/changes")
def propose_by_form(
    dataset: str,
    version: str,
    visit: FormVisit,
    policy: Annotated[str, Form(max_length=90_000)] = "",
    signature: Annotated[str, Form(max_length=1_000)] = "",
    reason: Annotated[str, Form(max_length=2_000)] = "",
) -> Response:
    """Propose another policy; what is wrong with it is told beside what was filled in."""
    check_allowed(visit.principal, Permission.policies_propose, dataset)
    # Forms end lines as old teleprinters did; the signature is of the file as it was written.
    text = policy.replace("\r\n", "\n")
    given = PolicyChange(policy=text, signature=signature.strip(), reason=reason)
    try:
        propose_policy(dataset, version, given, visit)
    except ServiceError as error:
        if error.code not in ("invalid-input", "conflict"):
            raise
        return _policy_page(visit, dataset, version, given, error)
    return back_to("/approvals")


@router.get("/{dataset}/{version}/changes/{digest}")
def show_change(dataset: str, version: str, digest: _Digest, visit: _Approver) -> Response:
    """What a proposed policy would change, for the second person. CONFIDENTIAL."""
    in_force = _in_force(visit.service, dataset, version)
    with visit.service.database.reading() as connection:
        found = in_force.proposed(connection, dataset, digest)
        now = in_force.policy(connection, dataset, version)
    if found.document.version != version:
        raise ServiceError("there is no such policy", code="not-found", where="digest")
    # What differs between two policies: its name, what it is, what it becomes.
    before = dict(_flat(now.model_dump(mode="json")))
    after = dict(_flat(found.document.model_dump(mode="json")))
    return page(
        visit,
        "policy_change",
        secret=True,
        said_in="policy",
        title=_heading(visit, "title_change", f"{found.document.revision}: {dataset} {version}"),
        dataset=dataset,
        version=version,
        digest=digest,
        found=found,
        now=now,
        changes=[
            (name, before.get(name, "–"), after.get(name, "–"))
            for name in dict.fromkeys([*before, *after])
            if before.get(name) != after.get(name)
        ],
    )


@router.get("/{dataset}/{version}/refusals/{digest}")
def show_refusal(dataset: str, version: str, digest: _Digest, visit: _Explainer) -> Response:
    """Why a table was refused, and the form to answer it nevertheless. CONFIDENTIAL."""
    visit.service.datasets.record(dataset, version)
    found = explained_refusal(visit, dataset, version, digest)
    logged = visit.service.query_log.search(dataset=dataset, digest=digest, size=1).rows
    refusing = [one for one in found["rules"] if one["outcome"] in ("refused", "failed")]
    return page(
        visit,
        "refusal",
        secret=True,
        said_in="policy",
        title=_heading(visit, "title_refusal", f": {dataset} {version}"),
        dataset=dataset,
        version=version,
        found=found,
        asked=_asked(visit.service, logged[0].told()["query"], visit.language) if logged else [],
        firm=sorted({one["rule"] for one in refusing} & _FIRM),
        overrides=visit.principal.may(Permission.refusals_override, dataset),
    )


@router.post("/{dataset}/{version}/refusals/{digest}")
def override_by_form(
    dataset: str,
    version: str,
    digest: _Digest,
    visit: FormVisit,
    reason: Annotated[str, Form(max_length=2_000)] = "",
) -> Response:
    """Propose to answer a table that was refused."""
    check_allowed(visit.principal, Permission.refusals_override, dataset)
    propose_override(dataset, version, digest, OverrideWanted(reason=reason), visit)
    return back_to("/approvals")


@router.get("/{dataset}/{version}/areas/{unit}")
def show_areas(dataset: str, version: str, unit: str, visit: _Approver) -> Response:
    """Areas and classifications that hold nearly the same people. CONFIDENTIAL, no numbers."""
    report = area_report(visit, dataset, version, unit)
    label = visit.service.datasets.version(dataset, version).units[unit].label
    return page(
        visit,
        "areas",
        secret=True,
        said_in="policy",
        title=_heading(visit, "title_areas", f": {said_in(label, visit.language, unit)}"),
        dataset=dataset,
        version=version,
        report=report,
        pairs=report.differences[:_MOST_PAIRS],
        merges=report.merges[:_MOST_PAIRS],
    )


def _heading(request: Request, word: str, about: str) -> str:
    """A heading that says what the page is about."""
    said = words("policy", language_of(request))[word]
    return f"{said}{about}" if about.startswith(":") else f"{said} {about}"


def _check_any(principal: Principal, dataset: str = "") -> None:
    if not any(principal.may(item, dataset) for item in POLICY_PERMISSIONS):
        check_allowed(principal, Permission.refusals_explain, dataset)


def _in_force(service: Service, dataset: str, version: str) -> PoliciesInForce:
    service.datasets.record(dataset, version)
    service.policies.in_force.ensure(dataset, version)
    return service.policies.in_force


def _states(service: Service, dataset: str, version: str) -> list[PolicyState]:
    with service.database.reading() as connection:
        return policy_history(connection, dataset, version)


def _policy_page(
    visit: Visit,
    dataset: str,
    version: str,
    given: PolicyChange | None = None,
    error: ServiceError | None = None,
) -> Response:
    _check_any(visit.principal, dataset)
    in_force, language = _in_force(visit.service, dataset, version), visit.language
    approves = visit.principal.may(Permission.policies_approve, dataset)
    explains = visit.principal.may(Permission.refusals_explain, dataset)
    with visit.service.database.reading() as connection:
        signed = in_force.signed(connection, dataset, version)
        states = policy_history(connection, dataset, version)
        refused = refused_tables(connection, dataset, version) if explains else []
    units = visit.service.datasets.version(dataset, version).units if approves else {}
    return page(
        visit,
        "policy",
        status=200 if error is None else error.kind.status,
        secret=True,
        title=_heading(visit, "title", f": {dataset} {version}"),
        dataset=dataset,
        version=version,
        public=[item for item in _flat(signed.document.public()) if item[0] not in _KNOWN],
        signed=signed if approves else None,
        states=states,
        refused=refused,
        explains=explains,
        units=[(name, said_in(unit.label, language, name)) for name, unit in units.items()],
        proposes=visit.principal.may(Permission.policies_propose, dataset),
        given=given,
        error=error,
    )


def _asked(
    service: Service, query: Mapping[str, Any], language: str
) -> list[tuple[str, str, str, str]]:
    """The variables of a query in the log: what each is for, its name, its levels, its codes."""
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


def _flat(told: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    """The entries of a document, one a line, by their full names."""
    found: list[tuple[str, Any]] = []
    for name, value in told.items():
        where = f"{above}.{name}" if above else str(name)
        if isinstance(value, Mapping):
            found += _flat(value, where)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for at, each in enumerate(value, 1):
                found += _flat(each, f"{where} {at}")
        elif isinstance(value, list):
            found.append((where, ", ".join(map(str, value)) or "–"))
        else:
            found.append((where, "–" if value is None else value))
    return found
