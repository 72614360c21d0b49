"""A basket of tables: saved in the reader's browser, downloaded together. The service keeps
nothing; each table is asked for anew, and answered or refused as alone.
"""

from __future__ import annotations

import io
import time
import zipfile
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, unquote

from fastapi import APIRouter, Depends, Form, Query, Response

from discreet_service.audit import LogMode, LogVerdict
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.queries import (
    ANSWER_FORMATS,
    PreparedQuery,
    asked_format,
    file_name_of,
    title_of,
    written_answer,
)
from discreet_service.studio.choices import TableChoices
from discreet_service.web import (
    Act,
    Cell,
    Part,
    Visit,
    admitted,
    back_to,
    form_visit_with,
    list_page,
    note_query,
    own_place,
    request_cookie,
    set_cookie,
    visit_with,
    words,
)

router = APIRouter(prefix="/basket", tags=["studio"], include_in_schema=False)

_Asker = Annotated[Visit, Depends(visit_with(Permission.query_run))]
_QueryRunForm = Annotated[Visit, Depends(form_visit_with(Permission.query_run))]
#: The cookie, how many letters it may have, and how long browsers keep it.
_COOKIE, _LONGEST, _SECONDS = "basket", 3_500, 180 * 86_400


@router.get("")
def show_basket(visit: _Asker) -> Response:
    """The tables in the basket, and their download."""
    rows = []
    for place in _places(visit):
        try:
            prepared = _prepared(visit, place)
        except ServiceError as error:
            title, cells = error.what, Cell("–")
        else:
            unit = prepared.version.units[prepared.query.unit]
            title = title_of(prepared.query, unit)[visit.language]
            cells = Cell(f"{prepared.plan.cells:,}", look="number")
        remove = Act(path="/basket", word="remove", value="remove", about=title,
                     hidden={"table": place})  # fmt: skip
        rows.append((Cell(title, place), cells, remove))
    after: list[Any] = []
    if rows:
        files = [Cell(name, f"/basket/files?format={name}", look="button", download=True)
                 for name in ANSWER_FORMATS]  # fmt: skip
        after = [Part("heading", "download"), Part("buttons", values=files)]
    return list_page(visit, "basket", ("table", "cells", "act"), rows, after=after, up="tables")


@router.post("")
def change_basket(
    visit: _QueryRunForm,
    table: Annotated[str, Form(max_length=2_000)],
    act: Annotated[str, Form(max_length=20)] = "add",
) -> Response:
    """Put a table into the basket, or take it out."""
    places = [place for place in _places(visit) if place != table]
    if act == "add":
        _prepared(visit, table)
        places.append(table)
    text = quote("\n".join(places), safe="")
    if len(text) > _LONGEST:
        hint = "download the tables, then remove some"
        raise ServiceError("the basket is full", "too-large", "table", hint)
    response = back_to("/basket")
    set_cookie(response, visit.service, _COOKIE, text, seconds=_SECONDS)
    return response


@router.get("/files")
def get_files(
    visit: _Asker, name: Annotated[str, Query(max_length=40, alias="format")] = "csv"
) -> Response:
    """All tables of the basket in one archive; a text names those that were refused."""
    form, language = asked_format(name, ""), visit.language
    file, refused = io.BytesIO(), []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for place in _places(visit):
            start = time.perf_counter()
            try:
                prepared = _prepared(visit, place)
                visit.service.answers.require_instant(prepared)
                admitted(visit, prepared, language, start)
            except ServiceError as error:
                refused.append(f"{visit.service.settings.base_url}{place}\n  {error.what}\n")
                continue
            answer = visit.service.answers.answer(prepared)
            content = written_answer(answer.table, form, language, prepared.plan.geography)
            note_query(visit, prepared, LogMode.query, LogVerdict.answered, start,
                       size=len(content), kept=answer.cached)  # fmt: skip
            archive.writestr(file_name_of(prepared, form), content)
        if refused:
            archive.writestr(f"{words('basket', language)['refused']}.txt", "".join(refused))
    head = {"Content-Disposition": 'attachment; filename="tables.zip"', "Cache-Control": "no-store"}
    return Response(file.getvalue(), media_type="application/zip", headers=head)


def _places(visit: Visit) -> list[str]:
    """The addresses of tables that the browser keeps; only those of the table builder."""
    text = unquote(request_cookie(visit, _COOKIE) or "")[: 2 * _LONGEST]
    return [place for place in text.split("\n")
            if place.startswith("/tables/") and own_place(place) == place]  # fmt: skip


def _prepared(visit: Visit, place: str) -> PreparedQuery:
    path, _, query = place.partition("?")
    dataset = unquote(path.removeprefix("/tables/").partition("/")[0])
    pairs = parse_qsl(query, keep_blank_values=True)
    version = visit.service.datasets.version(dataset, dict(pairs).get("version") or None)
    choices = TableChoices.of(version, pairs, strict=True)
    return visit.service.answers.prepared(dataset, choices.query())
