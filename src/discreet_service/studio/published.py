"""Published tables: releases, their tables, each of them as a page. Public."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from discreet.publication import FORMATS
from discreet_service.permissions import Permission
from discreet_service.studio.shown_tables import table_page
from discreet_service.web import (
    NavigationEntry,
    Visit,
    address,
    get_release,
    list_releases,
    page,
    path_to,
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
    path, api = path_to("releases", release, table), f"/api/v1/releases/{release}/tables/{table}"
    own = visit.service.releases.table(listed.id)
    made_of = visit.service.publications.origin(found.id, found.identity)
    origin = (made_of["dataset"], made_of["version"]) if "version" in made_of else None
    links = {name: address(api, [("format", name), ("language", language)]) for name in FORMATS}
    return table_page(
        visit,
        own,
        path,
        file=listed.name,
        boundaries=visit.service.datasets.boundaries(
            own, origin, partial(visit.principal.may, Permission.catalogue_read)
        ),
        title=listed.title(language),
        up=(path_to("releases", found.id), found.title(language)),
        downloads=[(name, link) for name, link in links.items() if name != "exact"],
        code={"curl": f"curl '{visit.service.settings.base_url}{links['csv']}'"},
    )
