"""Releases: lists, tables in every format, the very files of a release. Whoever reads a file gets
the bytes that its office sealed.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from discreet.errors import nearest
from discreet.publication import FORMATS, LANGUAGES, describe, suffix_of
from discreet.release import SEAL, outputs
from discreet.tables import ProtectedTable
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.queries import accepted
from discreet_service.releases import MEDIA_TYPES, ListedTable, ServedRelease, written
from discreet_service.service import Service
from discreet_service.web.access import Visit, visit_with
from discreet_service.web.etags import Content, conditional, etag_of

router = APIRouter(prefix="/api/v1/releases", tags=["releases"])

Reader = Annotated[Visit, Depends(visit_with(Permission.releases_read))]
Page = Annotated[int, Query(ge=1, le=1_000_000)]
Size = Annotated[int, Query(ge=1, le=1000)]
Language = Annotated[str, Query(description="en or de")]

#: Media type → format, for the header Accept.
_ACCEPTED = {
    "text/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
    "application/json": "json",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "application/x-pc-axis": "px",
    "application/vnd.sdmx.data+csv": "sdmx-csv",
}
#: Shown by browsers. Pages are kept as files: their styles, and whatever else stands in them, have
#: no business on the pages of the service.
_SHOWN = ("json", "json-stat")
_TYPE_BY_SUFFIX = {
    **{name: MEDIA_TYPES[name] for name in ("html", "json", "csv", "px", "xlsx", "parquet")},
    "geojson": "application/geo+json",
    "svg": "image/svg+xml",
}


def chosen_language(service: Service, given: str, request: Request) -> str:
    """The language asked for; else that of the browser, else the first of the service."""
    preferred = request.headers.get("accept-language", "").split(",")[:20]
    spoken = [given] if given else [part.strip()[:2] for part in preferred]
    found = next((one.lower() for one in spoken if one.lower() in LANGUAGES), None)
    if given and not found:
        hint = f"known: {', '.join(LANGUAGES)}"
        raise ServiceError("unknown language", "invalid-input", "language", hint)
    return found or service.settings.languages[0]


def _release_entry(release: ServedRelease, language: str) -> dict[str, Any]:
    told = {"id": release.id, "title": release.title(language), "date": release.date or None,
            "languages": list(release.languages), "tables": len(release.tables)}  # fmt: skip
    return {**told, "cells": release.cells, "seal": release.identity, "signer": release.signer}


def _table_entry(listed: ListedTable, language: str) -> dict[str, Any]:
    return {
        "id": listed.name,
        "title": listed.title(language),
        "by": [name for name, _ in listed.variables],
        "variables": listed.variable_titles(language),
        "figures": list(listed.figures),
        "cells": listed.cells,
        "files": list(listed.files),
    }


@router.get("")
def list_releases(
    visit: Reader, language: Language = "", page: Page = 1, size: Size = 100
) -> dict[str, Any]:
    """List the releases, newest first."""
    spoken = chosen_language(visit.service, language, visit)
    found = sorted(visit.service.releases.releases().values(), key=lambda one: (one.date, one.id))
    shown = found[::-1][(page - 1) * size : page * size]
    entries = [_release_entry(item, spoken) for item in shown]
    return {"page": page, "size": size, "total": len(found), "releases": entries}


@router.get("/{release}")
def get_release(
    visit: Reader,
    release: str,
    language: Language = "",
    query: Annotated[str, Query(max_length=500)] = "",
    page: Page = 1,
    size: Size = 100,
) -> dict[str, Any]:
    """One release with its tables, page by page; `query` keeps those that contain all its words."""
    spoken = chosen_language(visit.service, language, visit)
    found = visit.service.releases.release(release)
    words, manifest = query.casefold().split(), found.manifest
    tables = [one for one in found.tables.values() if all(word in one.searched for word in words)]
    shown = tables[(page - 1) * size : page * size]
    return {
        **_release_entry(found, spoken),
        **{name: manifest.get(name) for name in ("data_version", "software")},
        "reports": [name for name in manifest.get("reports", {}) if name in found.published],
        **{"page": page, "size": size, "total": len(tables)},
        "tables": [_table_entry(table, spoken) for table in shown],
    }


@router.get("/{release}/tables/{table}")
def get_release_table(
    visit: Reader,
    release: str,
    table: str,
    format: Annotated[str, Query(description="one of /api/v1/config")] = "",  # noqa: A002
    language: Language = "",
    labels: bool = True,
    complete: bool | None = None,
) -> Response:
    """One table: the published file if there is one in this format, else the same cells rewritten.

    The parameter decides the format, else the header Accept, else it is JSON.
    """
    spoken = chosen_language(visit.service, language, visit)
    found = visit.service.releases.release(release)
    listed = found.listed(table)
    form = chosen_format(format, visit)
    name = f"{listed.name}{'' if spoken == found.languages[0] else '.' + spoken}{suffix_of(form)}"
    media_type, shown = MEDIA_TYPES[form], form in _SHOWN
    files = [output.file for output in outputs(listed.name, [form], found.languages)
             if output.language == spoken and output.file in listed.files]  # fmt: skip
    if files and labels and complete is None:
        etag = etag_of(found.published[files[0]])
        return conditional(visit, etag, media_type, lambda: found.files.opened(files[0]),
                           name=name, shown=shown)  # fmt: skip
    # Pages, sheets and whole grids have an end; files of cells that are stored have none.
    most = visit.service.settings.limits.cells_job
    if (FORMATS[form].page is not None or complete) and listed.cells > most:
        message = (
            f"a file of this format can have at most {most:,} cells; the table has {listed.cells:,}"
        )
        hint = "request parquet, with complete=false"
        raise ServiceError(message, "too-many-cells", hint=hint, limit=most, actual=listed.cells)
    options = {"complete": complete, **({"labels": labels} if form in ("csv", "html") else {})}
    etag = etag_of(found.identity, listed.name, form, spoken, labels, complete)

    def content() -> Content:
        return written(visit.service.releases.table(listed.id), form, spoken, **options)

    return conditional(visit, etag, media_type, content, name=name, shown=shown)


def chosen_format(given: str, request: Request) -> str:
    """The format asked for, by name or by the header Accept; JSON if anything will do."""
    if given:
        if given not in FORMATS:
            hint = nearest(given[:40], list(FORMATS))
            raise ServiceError("unknown format", "unsupported-format", "format", hint)
        return given
    names = {**_ACCEPTED, "*/*": "json", "application/*": "json"}
    if form := accepted(request.headers.get("accept", "*/*"), names):
        return form
    hint = f"known: {', '.join(_ACCEPTED)}"
    message = "no format of the header Accept is available"
    raise ServiceError(message, "unsupported-format", "accept", hint)


@router.get("/{release}/tables/{table}/about")
def get_release_table_about(
    visit: Reader, release: str, table: str, language: Language = ""
) -> dict[str, Any]:
    """Variables, notes, legend and provenance of a table, without its cells."""
    spoken = chosen_language(visit.service, language, visit)
    found = visit.service.releases.release(release)
    listed = found.listed(table)
    whole: ProtectedTable = visit.service.releases.table(listed.id)
    return {**_table_entry(listed, spoken), **describe(whole, spoken)}


@router.get("/{release}/files/{file}")
def download_release_file(visit: Reader, release: str, file: str) -> Response:
    """A published file of a release, unchanged since it was signed; or the signature."""
    found = visit.service.releases.release(release)
    if file == SEAL:
        text = found.seal.text().encode()
        seal = etag_of(found.identity)
        return conditional(visit, seal, "application/json", lambda: text, name=SEAL)
    digest = found.published.get(file)
    if digest is None:
        raise ServiceError("file not found", "not-found", "file")
    suffix = file.rpartition(".")[2].lower()
    media_type = _TYPE_BY_SUFFIX.get(suffix, "application/octet-stream")
    return conditional(visit, etag_of(digest), media_type, lambda: found.files.opened(file),
                       name=file, shown=suffix == "json")  # fmt: skip
