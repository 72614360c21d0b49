"""Drafts in the studio: what came of a run, what it would change, and publishing. All figures on
these pages are protected ones.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from itertools import islice
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Query, Response

from discreet.publication import number_text
from discreet.tables import ProtectedTable
from discreet_service.jobs import JobState
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.queries import said_in
from discreet_service.releases import ReleaseDraft, StoredProgramme, shelf_of
from discreet_service.service import Service
from discreet_service.studio.programmes import job_of, published_as, title_of_programme
from discreet_service.studio.shown_tables import table_page
from discreet_service.studio.verdicts import release_verdict
from discreet_service.web import (
    PageWords,
    PublicationRequest,
    Visit,
    back_to,
    compare_draft,
    confirmation,
    draft_of,
    form_visit_with,
    page,
    path_to,
    programme_of,
    publish_programme,
    visit_with,
    words,
)

router = APIRouter(prefix="/programmes/{programme}/drafts", tags=["studio"],
                   include_in_schema=False)  # fmt: skip

_Producer = Annotated[Visit, Depends(visit_with(Permission.programmes_run))]
_ReleasesPublishForm = Annotated[Visit, Depends(form_visit_with(Permission.releases_publish))]
_Name = Annotated[str | None, Query(max_length=64)]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
#: Cells of one table, and of all, that are shown; and tables and files: all are counted.
_CELLS, _ALL_CELLS, MOST_TABLES, _FILES = 40, 300, 100, 60
#: Whose changes are shown where there are too many of them.
_FIRST = ("changed", "other variables", "gone", "new")
#: Kinds of cells that differ, and how the words name changes of tables.
_DIFFERING = ("values", "hidden", "shown")
_CHANGES = {
    "new": "kind_new",
    "same": "kind_same",
    "changed": "kind_changed",
    "gone": "kind_gone",
    "other variables": "kind_variables",
}


@router.get("/{draft}")
def show_draft(programme: str, draft: str, visit: _Producer, release: _Name = None) -> Response:
    """Progress of a run, or its result and the changes."""
    record = programme_of(visit, programme)
    job = job_of(visit.service, record, draft)
    # A page that followed the run gets the part that it asked for, with where to go on.
    follows = visit.headers.get("x-fragment") == "run"
    if job is not None and (follows or job.state not in (JobState.done, JobState.expired)):
        # How far a run is, or why there is no draft: for whoever began it.
        mine = job.owner == visit.principal.name
        return page(
            visit,
            "draft_run",
            programme=record,
            job=job,
            problem=json.loads(job.problem) if job.problem and mine else {},
            state=words("job_states", visit.language)[job.state.value],
            mine=mine,
        )
    return _draft_page(visit, record, draft, release)


def _draft_page(
    visit: Visit,
    record: StoredProgramme,
    draft: str,
    release: str | None,
    *,
    reason: str = "",
    note: str = "",
    status: int = 200,
) -> Response:
    """A draft beside a release, and the form that proposes it in the place of that release."""
    language, found = visit.language, draft_of(visit.service, record.id, draft)
    name = _usual_release(visit.service, record, found, draft) if release is None else release
    told, served = compare_draft(visit, record.id, draft, name), visit.service.releases.releases()
    may_publish = visit.principal.may(Permission.releases_publish, record.dataset)
    wanted, confirm = name if name and _NAME.fullmatch(name) else record.dataset, ""
    if may_publish and (wanted == name or wanted not in served):
        with suppress(ServiceError):  # the release of that name belongs to other data
            confirm = confirmation(visit, record.id, found, wanted)
    return page(
        visit,
        "draft",
        status=status,
        programme=record,
        about=title_of_programme(shelf_of(visit.service).text(record.id), language),
        draft=told,
        verdict=release_verdict(told, language),
        tables=[*islice(found.release.tables.values(), MOST_TABLES)],
        statements=[
            said_in(item["text"], language)
            for item in (told["quality"] or {}).get("statements", ())
        ],
        releases=sorted(served),
        compared=name if told["published"] else "",
        changes=shown_changes(told["changes"], found, language),
        tally=tally(told["changes"]),
        parts=PageWords(words("draft_changes", language)),
        files=told["files"][:_FILES],
        may_publish=may_publish,
        name=wanted,
        confirm=confirm,
        reason=reason,
        note=note,
        already=published_as(visit.service, record.id).get(draft, ""),
    )


@router.get("/{draft}/tables/{table}")
def show_draft_table(programme: str, draft: str, table: str, visit: _Producer) -> Response:
    """A table of a draft, as readers would see it."""
    record = programme_of(visit, programme)
    found, language = draft_of(visit.service, programme, draft), visit.language
    listed, own = found.release.listed(table), found.release.read_table(table)
    up = path_to("programmes", programme, "drafts", draft)
    return table_page(
        visit,
        own,
        f"{up}/tables/{quote(table)}",
        file=listed.name,
        boundaries=visit.service.datasets.boundaries(
            own, (record.dataset, found.summary["version"]), lambda _: True
        ),
        title=listed.title(language),
        up=(up, words("draft", language)["title"]),
    )


@router.post("/{draft}/publish")
def publish_draft(
    programme: str,
    draft: str,
    visit: _ReleasesPublishForm,
    release: Annotated[str, Form(max_length=100)] = "",
    compared: Annotated[str, Form(max_length=100)] = "",
    confirm: Annotated[str, Form(max_length=100)] = "",
    reason: Annotated[str, Form(max_length=10_000)] = "",
) -> Response:
    """Propose a draft; where its changes were not on the page, or are others now, show them."""
    record = programme_of(visit, programme, Permission.releases_publish)
    name, status = release.strip(), 200
    if not _NAME.fullmatch(name):
        message, hint = (
            "not the name of a release",
            "use letters, digits, - and _, such as census-2026",
        )
        raise ServiceError(message, "invalid-input", "release", hint)
    confirmation(visit, programme, draft_of(visit.service, programme, draft), name)
    if confirm and compared == name:
        try:
            publish_programme(visit, programme, PublicationRequest(
                draft=draft, release=name, confirm=confirm, reason=reason,
            ))  # fmt: skip
        except ServiceError as error:
            if error.code != "changed-meanwhile":
                raise
            status = 412
        else:
            return back_to("/approvals")
    return _draft_page(visit, record, draft, name, reason=reason, status=status,
                       note="meanwhile" if status == 412 else "other_name")  # fmt: skip


def _usual_release(
    service: Service, record: StoredProgramme, found: ReleaseDraft, draft: str
) -> str:
    """The release that a draft is likely to take the place of; empty if there is none.

    That which it is; else one that was published of the same data set and has the most of its
    tables; else another one that has.
    """
    known = published_as(service, record.id)
    if draft in known:
        return known[draft]
    tables = set(found.release.tables)
    best: tuple[bool, int, str] = (False, 0, "")
    for name, release in service.releases.releases().items():
        same = len(tables & set(release.tables))
        if same:
            origin = service.publications.origin(name, release.identity)
            best = max(best, (origin.get("dataset") == record.dataset, same, name))
    return best[2]


def tally(changes: list[dict[str, Any]]) -> dict[str, int]:
    """Numbers of new, changed, unchanged and removed tables, and of changed cells.

    >>> tally([{"table": "a", "change": "new"}, {"table": "b", "change": "same"}])["new"]
    1
    """
    found = {"new": 0, "changed": 0, "same": 0, "gone": 0, "cells": 0}
    for change in changes:
        found[(change["change"] if change["change"] in found else "changed")] += 1
        found["cells"] += sum(change.get(name, 0) for name in _DIFFERING)
    return found


def shown_changes(
    changes: list[dict[str, Any]], draft: ReleaseDraft, language: str
) -> list[dict[str, Any]]:
    """Changes with headings, labels and the first changed cells.

    `differing` is how many cells differ, by kind; empty where cells are not compared.
    """
    shown, left = [], _ALL_CELLS
    if len(changes) > MOST_TABLES:
        changes = sorted(changes, key=lambda each: each["change"] not in _FIRST)[:MOST_TABLES]
    for change in changes:
        listed = draft.release.tables.get(change["table"])
        named = change.get("cells", [])[: min(_CELLS, left)]
        left -= len(named)
        table = draft.release.read_table(change["table"]) if named else None
        differing = {name: change[name] for name in _DIFFERING if name in change}
        shown.append(
            {
                "title": change["table"] if listed is None else listed.title(language),
                "change": _CHANGES.get(change["change"], "kind_large"),
                "differing": differing,
                "total": sum(differing.values()),
                "reasons": change.get("reasons", []),
                "codes": change.get("codes", {}),
                "cells": [_shown_cell(table, cell, language) for cell in named if table],
            }
        )
    return shown


def _shown_cell(table: ProtectedTable, cell: dict[str, Any], language: str) -> dict[str, Any]:
    labels, decimals = [], table.decimals
    if len(table.figures) == 1:
        decimals = table.figures[0].decimals
    for dimension in table.dimensions:
        code = cell["cell"][dimension.name]
        labels.append(dimension.labels(language)[dimension.index[code]])
        for figure in table.figures:
            if figure.name == code and dimension is table.dimensions[-1]:
                decimals = figure.decimals

    def printed(side: dict[str, Any]) -> str:
        if side["value"] is None:
            return "•" if side["status"] == "suppressed" else "–"
        return number_text(float(side["value"]), decimals, language)

    before, after = printed(cell["before"]), printed(cell["after"])
    return {"labels": labels, "change": cell["change"], "before": before, "after": after}
