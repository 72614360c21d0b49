"""Administration: status, data versions, audit trail, overrides and query log, as pages. Acts go
the way of the interface, and are written down alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Form, Query, Response

from discreet_service.audit import AuditKind, LogVerdict
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.studio.policies import POLICY_PERMISSIONS
from discreet_service.web import (
    Act,
    AuditSearch,
    Cell,
    KnownVisit,
    LogSearch,
    NavigationEntry,
    PageTable,
    Part,
    Visit,
    back_to,
    check_allowed,
    form_visit_with,
    get_config,
    get_ready,
    iso_time,
    list_page,
    page,
    path_to,
    publish_dataset_version,
    retire_dataset_version,
    search_audit,
    search_log,
    time_text,
    verify_audit,
    visit_with,
    words,
)

router = APIRouter(prefix="/administration", tags=["studio"], include_in_schema=False)

_Kind = TypeVar("_Kind", AuditKind, LogVerdict)
_Auditor = Annotated[Visit, Depends(visit_with(Permission.audit_read))]
_LogReader = Annotated[Visit, Depends(visit_with(Permission.log_read))]
_Text = Annotated[str, Query(max_length=500)]
_Cursor = Annotated[int | None, Query(ge=1, lt=2**63)]

_ANY = (
    Permission.status_read,
    Permission.audit_read,
    Permission.log_read,
    Permission.datasets_publish,
)
NAVIGATION = NavigationEntry(path="/administration", place=150, permissions=_ANY)
_DatasetsPublishForm = Annotated[Visit, Depends(form_visit_with(Permission.datasets_publish))]
_AuditVerifyForm = Annotated[Visit, Depends(form_visit_with(Permission.audit_verify))]
#: Pages of administration: path, word, who may.
_PLACES = (
    ("/administration/trail", "trail", (Permission.audit_read,)),
    ("/administration/overrides", "overrides", (Permission.audit_read,)),
    ("/administration/log", "log", (Permission.log_read,)),
    ("/people", "people", (Permission.people_manage,)),
    ("/policies", "policies", POLICY_PERMISSIONS),
    ("/approvals", "approvals", (*POLICY_PERMISSIONS, Permission.audit_read)),
    ("/quality", "quality", (Permission.quality_read,)),
)
#: Entries and rows per page: what fits into a page of 150 kB.
_SIZE = 50


@router.get("")
def show_administration(visit: KnownVisit) -> Response:
    """How the service is doing, and the data versions, as far as somebody may see them."""
    if not any(map(visit.principal.may, _ANY)):
        check_allowed(visit.principal, Permission.status_read)
    sees_status = visit.principal.may(Permission.status_read)
    return page(
        visit,
        "administration",
        health=_health(visit) if sees_status else None,
        states=words("job_states", visit.language),
        versions=_versions(visit),
        places=[
            (path, word) for path, word, wanted in _PLACES if any(map(visit.principal.may, wanted))
        ],
    )


def _versions(visit: Visit) -> PageTable | None:
    """The data versions that somebody may publish: drafts that lie in a folder, and others."""
    may, spoken = visit.principal.may, words("administration", visit.language)
    if not may(Permission.datasets_publish):
        return None
    records = visit.service.datasets.records()
    known = {(record.dataset, record.version) for record in records}
    listed = [
        (*draft, "draft", "–") for draft in sorted(visit.service.datasets.drafts().keys() - known)
    ]
    listed += [
        (one.dataset, one.version, one.state, time_text(one.published_at)) for one in records
    ]
    acts = {"draft": "publish", "published": "retire"}
    rows = [
        (
            *(dataset, version, Cell(spoken[state], tag="good" if state == "published" else "")),
            since,
            [Act(path=path_to("administration", "datasets", dataset, version), word=act, value=act,
                 about=f"{dataset} {version}", second=act == "retire")
             for act in (acts.get(state),) if act],
        )
        for dataset, version, state, since in listed
        if may(Permission.datasets_publish, dataset)
    ]  # fmt: skip
    columns = ("dataset", "version", "state", "since", "acts")
    return PageTable(columns, rows, "versions", "datasets", "no_datasets")


def _health(visit: Visit) -> dict[str, Any]:
    try:
        ready = get_ready(visit)["status"] == "ready"
        jobs = visit.service.jobs.counts()
    except ServiceError:
        ready, jobs = False, {}
    return {"ready": ready, "jobs": jobs, **get_config(visit)}


@router.post("/datasets/{dataset}/{version}")
def change_dataset_version(
    dataset: str,
    version: str,
    visit: _DatasetsPublishForm,
    act: Annotated[Literal["publish", "retire"], Form()],
) -> Response:
    """Let everybody ask a data version, or nobody any more."""
    change = publish_dataset_version if act == "publish" else retire_dataset_version
    change(dataset, version, visit)
    return back_to("/administration")


@router.get("/trail")
def show_trail(
    visit: _Auditor, kind: _Text = "", person: _Text = "", about: _Text = "", cursor: _Cursor = None
) -> Response:
    """The audit trail, the newest first."""
    asked = {"kind": kind, "person": person, "about": about}
    return _trail_page(visit, asked, cursor)


@router.post("/trail/verify")
def verify_trail(visit: _AuditVerifyForm) -> Response:
    """Walk the trail and say whether it is whole; that it was done is an entry itself."""
    check_allowed(visit.principal, Permission.audit_read)
    verdict = verify_audit(visit)
    asked = {"kind": "", "person": "", "about": ""}
    return _trail_page(visit, asked, None, verdict)


def _trail_page(
    visit: Visit, asked: dict[str, str], cursor: int | None, verdict: dict[str, Any] | None = None
) -> Response:
    kind = _chosen(AuditKind, asked["kind"], "kind")
    person, about = asked["person"].strip(), asked["about"].strip()
    entries = search_audit(
        visit, AuditSearch(kind=kind, person=person, about=about, cursor=cursor, size=_SIZE)
    )
    rows = [
        (*(str(one["seq"]), _when(one["at"]), one["kind"], one["person"], one["about"]),
         _facts(one["facts"]))
        for one in entries["entries"]
    ]  # fmt: skip
    head, spoken = visit.service.trail.last_signed(), words("trail", visit.language)
    signed = spoken["no_head"] if head is None else f"{head.seq:,} ({iso_time(head.at)})"
    verify = Act(path="/administration/trail/verify", word="verify")
    kinds = {item: item for item in sorted(one.value for one in AuditKind)}
    return list_page(
        visit,
        "trail",
        ("number", "when", "kind", "person", "about", "facts"),
        rows,
        path="/administration/trail",
        fields=asked,
        choices={"kind": {"": spoken["all"], **kinds}},
        older=("cursor", entries["next"]),
        up="administration",
        term="trail",
        before=() if verdict is None else _verdict(verdict, spoken),
        after=[
            Part("buttons", values=[
                *([verify] if visit.principal.may(Permission.audit_verify) else ()),
                Cell(spoken["export"], "/api/v1/audit/export", look="button", download=True),
                Cell(f"{spoken['head']}: {signed}", look="quiet"),
            ])
        ],
    )  # fmt: skip


def _verdict(verdict: Mapping[str, Any], spoken: Mapping[str, str]) -> list[Part]:
    word, look = ("whole", "good") if verdict["whole"] else ("broken", "problem")
    counts = "; ".join(f"{spoken[name]}: {verdict[name]:,}" for name in ("entries", "heads"))
    return [Part("note", word, [f"{counts}."], look=look, name="verdict"),
            Part("items", values=verdict["problems"])]  # fmt: skip


@router.get("/overrides")
def show_overrides(visit: _Auditor, person: _Text = "", cursor: _Cursor = None) -> Response:
    """Refusals that two persons set aside, by the trail: who proposed it, who agreed, and why."""
    kind, found = AuditKind.refusal_overridden, person.strip()
    told = search_audit(visit, AuditSearch(kind=kind, person=found, cursor=cursor, size=_SIZE))
    rows = []
    for one in told["entries"]:
        agreed = visit.service.approvals.visible(visit.principal, one["facts"]["proposal"])
        rule = one["facts"]["rule"]
        rows.append(
            (_when(one["at"]), one["about"], rule, one["person"], agreed.decider, agreed.reason)
        )
    columns = ("when", "about", "rule", "person", "second", "reason")
    return list_page(
        visit, "overrides", columns, rows, fields={"person": person},
        older=("cursor", told["next"]), up="administration", term="override",
    )  # fmt: skip


@router.get("/log")
def show_log(
    visit: _LogReader,
    person: _Text = "",
    dataset: _Text = "",
    digest: _Text = "",
    verdict: _Text = "",
    cursor: _Cursor = None,
) -> Response:
    """The query log, the newest first; that somebody read it stands in the trail."""
    asked = {"person": person, "dataset": dataset, "digest": digest, "verdict": verdict}
    spoken = words("log", visit.language)
    ends = {item.value: spoken[item.value] for item in LogVerdict}
    wanted = LogSearch(principal=person.strip(), dataset=dataset.strip(), digest=digest.strip(),
                       verdict=_chosen(LogVerdict, verdict, "verdict"), cursor=cursor,
                       size=_SIZE)  # fmt: skip
    log = search_log(visit, wanted)
    rows = [
        (
            *(_when(one["at"]), one["principal"], f"{one['dataset']} {one['version']}"),
            *(ends[one["verdict"]], ", ".join(one["rules"]), f"{one['cells']:,}", one["digest"]),
        )
        for one in log["rows"]
    ]
    columns = ("when", "person", "dataset", "verdict", "rules", "cells", "digest")
    return list_page(visit, "log", columns, rows, fields=asked,
                     choices={"verdict": {"": spoken["all"], **ends}},
                     older=("cursor", log["next"]), up="administration", term="trail")  # fmt: skip


def _when(at: str) -> str:
    """A time to the second: `2026-11-24 20:45:50`; the export has it to the millisecond."""
    return at[:19].replace("T", " ")


def _facts(facts: dict[str, Any]) -> str:
    told = {
        name: ", ".join(map(str, value)) if isinstance(value, list) else value
        for name, value in facts.items()
    }
    return "; ".join(f"{name}: {value}" for name, value in told.items())


def _chosen(kinds: type[_Kind], name: str, where: str) -> _Kind | None:
    try:
        return kinds[name] if name else None
    except KeyError:
        message = f"{where} not found"
        raise ServiceError(message, "invalid-input", where) from None
