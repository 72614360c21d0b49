"""Published tables: releases, their tables, each of them as a page. Public."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from discreet.publication import FORMATS
from discreet_service.permissions import Permission
from discreet_service.studio.choices import StudioView
from discreet_service.studio.shown_tables import chart_file, shown_table
from discreet_service.web import (
    NavigationEntry,
    Visit,
    address,
    get_release,
    list_releases,
    page,
    visit_with,
)

router = APIRouter(tags=["studio"], include_in_schema=False)
NAVIGATION = NavigationEntry(path="/releases", place=20, permissions=(Permission.releases_read,))

_Reader = Annotated[Visit, Depends(visit_with(Permission.releases_read))]
_Page = Annotated[int, Query(ge=1, le=1_000_000)]
_SIZE = 50


@router.get("/releases")
def show_releases(visit: _Reader, number: _Page = 1) -> Response:
    """All releases, the youngest first."""
    releases = list_releases(visit, visit.language, number, _SIZE)
    more = releases["total"] > number * _SIZE
    return page(visit, "releases", releases=releases["releases"], next=number + 1 if more else 0)


@router.get("/releases/{release}")
def show_release(
    release: str,
    visit: _Reader,
    query: Annotated[str, Query(max_length=500)] = "",
    number: _Page = 1,
) -> Response:
    """A release with its tables."""
    language = visit.language
    found = get_release(visit, release, language, query, number, _SIZE)
    return page(
        visit,
        "release",
        title=found["title"],
        release=found,
        query=query,
        next=number + 1 if (found["total"] > number * _SIZE) else 0,
    )


@router.get("/releases/{release}/{table}")
def show_release_table(release: str, table: str, visit: _Reader) -> Response:
    """A table of a release."""
    language, found = visit.language, visit.service.releases.release(release)
    listed = found.listed(table)
    view = StudioView.of(visit.query_params.multi_items())
    shown = shown_table(visit.service.releases.table(listed.id), view, language)
    if visit.query_params.get("image") == "svg":
        return chart_file(shown, listed.name)
    path = address(f"/releases/{release}/{table}", [])
    api = f"/api/v1/releases/{release}/tables/{table}"
    base = visit.service.settings.base_url

    return page(
        visit,
        "release_table",
        title=listed.title(language),
        said_in="result",
        release=found,
        release_title=found.title(language),
        shown=shown,
        viewed=lambda view: address(path, view.pairs()),
        path=path,
        downloads=[
            (name, address(api, [("format", name), ("language", language)]))
            for name in FORMATS
            if name != "exact"
        ],
        permalink=f"{base}{address(path, shown['view'].pairs())}",
        code={"curl": f"curl '{base}{address(api, [('format', 'csv'), ('language', language)])}'"},
    )
