"""Administration: status and data versions as parts of a page; acts go the way of the interface."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, Response

from discreet.publication import number_text
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.studio.parameter_use import used_parameters
from discreet_service.studio.policies import POLICY_PERMISSIONS
from discreet_service.web import (
    Act,
    Cell,
    KnownVisit,
    NavigationEntry,
    PageTable,
    Part,
    Visit,
    back_to,
    check_allowed,
    detail_page,
    form_visit_with,
    get_config,
    get_ready,
    path_to,
    publish_dataset_version,
    retire_dataset_version,
    time_text,
    words,
)

router = APIRouter(prefix="/administration", tags=["studio"], include_in_schema=False)

_ANY = (
    Permission.status_read,
    Permission.audit_read,
    Permission.log_read,
    Permission.datasets_publish,
)
NAVIGATION = NavigationEntry(path="/administration", place=150, permissions=_ANY)
_DatasetsPublishForm = Annotated[Visit, Depends(form_visit_with(Permission.datasets_publish))]
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


@router.get("")
def show_administration(visit: KnownVisit) -> Response:
    """State of the service and data versions, as far as the user may see them."""
    if not any(map(visit.principal.may, _ANY)):
        check_allowed(visit.principal, Permission.status_read)
    may, spoken = visit.principal.may, words("administration", visit.language)
    places = [(Cell(spoken[word], path), spoken[f"{word}_about"])
              for path, word, wanted in _PLACES if any(map(may, wanted))]  # fmt: skip
    parts: list[Any] = [PageTable(("page", "about"), places, "places")] if places else []
    parts += _status(visit) if may(Permission.status_read) else []
    versions = _versions(visit)
    if versions is not None:
        parts += [versions, *([] if versions.rows else ["datasets_example"])]
    return detail_page(visit, "administration", parts)


def _versions(visit: Visit) -> PageTable | None:
    """The data versions that somebody may publish: drafts that lie in a folder, and others."""
    may, spoken = visit.principal.may, words("administration", visit.language)
    if not may(Permission.datasets_publish):
        return None
    records = visit.service.datasets.records()
    known = {(record.dataset, record.version): record for record in records}
    listed = [
        (*draft, "draft", "–")
        for draft in sorted(visit.service.datasets.drafts().keys() - known.keys())
    ]
    listed += [
        (one.dataset, one.version, one.state, time_text(one.published_at, visit.language))
        for one in records
    ]
    acts = {"draft": "publish", "published": "retire"}
    rows = [
        (
            *(dataset, version, Cell(spoken[state], tag="good" if state == "published" else "")),
            since,
            used_parameters(visit, known[dataset, version]) if state == "published" else "–",
            [Act(path=path_to("administration", "datasets", dataset, version), word=act, value=act,
                 about=f"{dataset} {version}", second=act == "retire")
             for act in (acts.get(state),) if act],
        )
        for dataset, version, state, since in listed
        if may(Permission.datasets_publish, dataset)
    ]  # fmt: skip
    columns = ("dataset", "version", "state", "since", "parameters", "acts")
    return PageTable(columns, rows, "versions", "datasets", "no_datasets")


def _status(visit: Visit) -> list[Any]:
    try:
        ready = get_ready(visit)["status"] == "ready"
        jobs = visit.service.jobs.counts()
    except ServiceError:
        ready, jobs = False, {}
    config, states = get_config(visit), words("job_states", visit.language)
    word, look = ("ready", "good") if ready else ("not_ready", "problem")
    limits = config["limits"]
    numbers = {"instant": limits["cells_instant"], "by_job": limits["cells_job"],
               "keep": config["keep_days"]}  # fmt: skip
    facts = [("version", config["version"])]
    facts += [(name, number_text(one, 0, visit.language)) for name, one in numbers.items()]
    rows = [(states.get(state, state), f"{count:,}") for state, count in jobs.items()]
    return [Part("heading", "status"), Part("note", word, look=look, name="ready"),
            Part("facts", values=facts),
            PageTable(("state", "number"), rows, "job-states", "jobs", "no_jobs")]  # fmt: skip


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
