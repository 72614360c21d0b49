"""The table builder: choose, see what it comes to, count, look, download. The address holds all of
a choice; nothing is counted before it is asked for. Tables in the basket are saved in the reader's
browser and downloaded together: each is asked for anew, and answered or refused as alone.
"""

from __future__ import annotations

import io
import json
import shlex
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, cast
from urllib.parse import parse_qsl, quote, unquote

from fastapi import APIRouter, Depends, Form, Query, Response

from discreet_service.audit import LogMode, LogVerdict
from discreet_service.datasets import CatalogueVariable, DataVersion, folded, found_variables
from discreet_service.permissions import Permission
from discreet_service.policies import Language, PolicyRefusalError
from discreet_service.problems import ServiceError
from discreet_service.queries import (
    ANSWER_FORMATS,
    PreparedQuery,
    asked_format,
    file_name_of,
    said_in,
    title_of,
    written_answer,
)
from discreet_service.studio.call_texts import r_value
from discreet_service.studio.choices import TableChoices, first_variables
from discreet_service.studio.shown_tables import table_page
from discreet_service.web import (
    Act,
    Cell,
    NavigationEntry,
    Part,
    Visit,
    address,
    address_of,
    admitted,
    back_to,
    file_response,
    form_visit_with,
    list_datasets,
    list_page,
    nearest_to,
    note_query,
    own_place,
    page,
    request_cookie,
    set_cookie,
    visit_with,
    words,
)

router = APIRouter(tags=["studio"], include_in_schema=False)
NAVIGATION = NavigationEntry(path="/tables", place=10, permissions=(Permission.catalogue_read,))

_Reader = Annotated[Visit, Depends(visit_with(Permission.catalogue_read))]
_Asker = Annotated[Visit, Depends(visit_with(Permission.query_run))]
_QueryRunForm = Annotated[Visit, Depends(form_visit_with(Permission.query_run))]

#: Codes and hits of a search that are shown at once, and headings in a preview.
_SHOWN_CODES, SHOWN_HITS, _PREVIEWED = 150, 20, 6


@router.get("/tables")
def show_datasets(visit: _Reader) -> Response:
    """The data sets that can be asked about."""
    found = list_datasets(visit, visit.language)["datasets"]
    return page(visit, "datasets", datasets=found)


@router.get("/tables/{dataset}")
def show_builder(dataset: str, visit: _Reader) -> Response:
    """Choose what a table shows."""
    pairs = visit.query_params.multi_items()
    version = visit.service.datasets.version(dataset, dict(pairs).get("version") or None)
    choices = TableChoices.of(version, pairs)
    language = visit.language
    record = visit.service.datasets.record(dataset, version.version)
    estimate = _estimate(visit, dataset, choices, language)
    return page(
        visit,
        "builder",
        title=said_in(record.facts["title"], language, dataset),
        dataset=dataset,
        record=record,
        description=said_in(record.facts.get("description") or {}, language),
        units=[(unit.name, said_in(unit.label, language, unit.name))
               for unit in version.units.values()],
        choices=choices,
        variables=variable_choices(choices, language, estimate["barred"]),
        most_hits=SHOWN_HITS,
        hits=found_variables(
            choices.unit.variables, version.description.dataset.synonyms, choices.search, language
        ),
        measures=measure_choices(choices, language),
        estimate=estimate,
        examples=_examples(version, language),
        may_run=visit.principal.may(Permission.query_run, dataset),
        back=address(f"/tables/{dataset}", choices.parameters()),
    )  # fmt: skip


@router.get("/tables/{dataset}/result")
def show_result(dataset: str, visit: _Asker) -> Response:
    """The table, its refusal, or how to get it as a job."""
    start = time.perf_counter()
    pairs = visit.query_params.multi_items()
    choices = TableChoices.asked(visit.service, dataset, pairs)
    asked = choices.parameters()
    tidy = address(visit.url.path, [*asked, *choices.view.pairs()])
    if choices.search and not choices.complete:  # who searches by the key that shows the table
        return back_to(address(f"/tables/{dataset}", pairs))
    if any(
        name.startswith(("pick.", "find.", "search")) or not (value or name in ("down", "across"))
        for name, value in pairs
    ):
        return back_to(tidy)
    language = visit.language
    facts: dict[str, Any] = {
        "dataset": dataset,
        "builder": address(f"/tables/{dataset}", asked),
    }
    try:
        prepared = choices.prepared(visit.service)
    except ServiceError as error:
        return _refused(visit, error, facts)
    if not visit.principal.may(Permission.jobs_own):
        try:
            visit.service.answers.require_instant(prepared)
        except ServiceError as error:
            return _refused(visit, error, facts)
    verdict = visit.service.answers.verdict(prepared, visit.principal)
    by_job = verdict.allowed and not visit.service.answers.is_instant(prepared, verdict)
    if by_job and prepared.plan.kind != "refused":
        return page(visit, "large", cells=prepared.plan.cells, formats=list(ANSWER_FORMATS),
                    query=json.dumps(choices.parameters()), **facts)  # fmt: skip
    try:
        admitted(visit, prepared, language, start)
    except ServiceError as error:
        return _refused(visit, error, facts)
    answer = visit.service.answers.answer(prepared)
    note_query(visit, prepared, LogMode.query, LogVerdict.answered, start, kept=answer.cached)
    # The formats with their addresses.
    path = f"/api/v1/datasets/{dataset}/data"
    # The same query for programs.
    base = visit.service.settings.base_url
    query = choices.query().model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    lines = [f"{json.dumps(name)}: {json.dumps(each, ensure_ascii=False)}"
             for name, each in query.items()]  # fmt: skip
    link = address(f"{base}{path}", [*asked, ("format", "csv")])
    return table_page(
        visit,
        answer.table,
        visit.url.path,
        file=prepared.plan.asked.digest[:12],
        boundaries=choices.version.inputs.boundaries,
        asked=asked,
        title=title_of(prepared.query, choices.unit)[language],
        up=(facts["builder"], words("result", language)["change"]),
        basket=True,
        downloads=[
            (name, address(path, [*asked, ("format", name), ("language", language)]))
            for name in ANSWER_FORMATS
        ],
        code={
            "curl": f'curl -H "Authorization: Bearer $DISCREET_SERVICE_KEY" {shlex.quote(link)}',
            "python": (
                "import os\n\nfrom discreet_service.client import Client\n\n"
                f'with Client({json.dumps(base)}, os.environ["DISCREET_SERVICE_KEY"]) as client:\n'
                f"    table = client.query({json.dumps(dataset)}, {{\n        "
                + ",\n        ".join(lines)
                + ",\n    })\n"
            ),
            "r": f"library(discreet)\n\nSys.setenv(DISCREET_SERVICE_URL = {json.dumps(base)})\n"
            f"table <- dc_service_query(\n  {json.dumps(dataset)},\n"
            f"  {r_value(cast('Any', query), 1)}\n)\n",
        },
    )


@router.post("/tables/{dataset}/job")
def order_table(
    dataset: str,
    visit: _QueryRunForm,
    query: Annotated[str, Form(max_length=16_000)],
    form: Annotated[Literal[tuple(ANSWER_FORMATS)], Form(alias="format")],  # type: ignore[valid-type]
) -> Response:
    """Let a job make a large table."""
    start = time.perf_counter()
    try:
        pairs = [(str(name), str(value)) for name, value in json.loads(query)]
    except (ValueError, TypeError, RecursionError):
        what, hint = "not a query", "reload the page"
        raise ServiceError(what, "invalid-input", "query", hint) from None
    language = visit.language
    prepared = TableChoices.asked(visit.service, dataset, pairs).prepared(visit.service)
    admitted(visit, prepared, language, start)
    document = visit.service.answers.document(prepared)
    job = visit.submit("query", {**document, "format": form, "language": language})
    note_query(visit, prepared, LogMode.query, LogVerdict.deferred, start)
    return back_to(f"/jobs/{job.id}")


def _refused(visit: Visit, error: ServiceError, facts: Mapping[str, Any]) -> Response:
    # What is wrong, with hints.
    return page(
        visit,
        "refused",
        error=error,
        nearest=[
            (one["title"], one["cells"], address(visit.url.path, address_of(one["query"])))
            for one in error.nearest
        ],
        **facts,
    )


def variable_choices(
    choices: TableChoices, language: str, barred: Mapping[str, str] = MappingProxyType({})
) -> list[dict[str, Any]]:
    """The variables of a unit with their levels and what is chosen of them, as forms show them.

    Of those that cannot be added, the first reason.
    """
    found = [_choice(variable, choices, language) for variable in choices.unit.variables.values()]
    for item in found:
        values = [f"{item['name']}:{level['name']}" for level in item["levels"]]
        item["reason"] = next((barred[value] for value in values if value in barred), "")
    titles = [entry["title"] for entry in found]
    for item in found:
        if titles.count(item["title"]) > 1:
            item["title"] = f"{item['title']} ({item['name']})"
    return found


def _choice(variable: CatalogueVariable, choices: TableChoices, language: str) -> dict[str, Any]:
    tree = variable.tree
    levels = choices.levels.get(variable.name)
    picked = choices.picks.get(variable.name, ())
    numbers = variable.level_numbers
    chosen = set() if levels is None else {
        numbers.get(level, 0) for level in levels
    } or {variable.finest}  # fmt: skip
    opened = choices.opened == variable.name
    codes = _codes(variable, chosen, set(picked), choices.wanted, language) if opened else []
    return {
        "name": variable.name,
        "title": tree.title(language),
        "geography": variable.geography,
        "levels": [
            {
                "name": level.name,
                "label": said_in(choices.level_titles.get(level.name, {}), language, level.name)
                if level.name != str(level.number)
                else f"{words('builder', language)['level']} {level.number}",
                "codes": level.codes,
                "chosen": level.number in chosen,
            }
            for level in variable.levels
        ],
        "used": levels is not None or bool(picked),
        "picked": [(item, tree.label(item, language)) for item in picked if item in tree.index],
        "opened": opened,
        "wanted": choices.wanted if opened else "",
        "codes": codes[:_SHOWN_CODES],
        "more": max(len(codes) - _SHOWN_CODES, 0),
    }


def _codes(
    variable: CatalogueVariable, chosen: set[int], picked: set[str], wanted: str, language: str
) -> list[dict[str, Any]]:
    """The codes that can be picked: those picked and found, in the order of the classification."""
    tree, text = variable.tree, folded(wanted)
    levels = sorted(chosen or range(1, variable.finest + 1))
    members = {at for number in levels for at in variable.cuts[number].tolist()}
    codes = []
    for at in _walk(tree.parents):
        if at not in members:
            continue
        code = tree.codes[at]
        label = tree.label(code, language)
        if code in picked or text in folded(label) or text in folded(code):
            depth = min(int(tree.levels[at]) - levels[0], 4)
            codes.append(
                {"code": code, "label": label, "picked": code in picked, "depth": max(depth, 0)}
            )
    return codes


def _walk(parents: Sequence[int]) -> list[int]:
    below: dict[int, list[int]] = {}
    for at, above in enumerate(parents):
        below.setdefault(int(above), []).append(at)
    found, waiting = [], list(reversed(below.get(-1, [])))
    while waiting:
        at = waiting.pop()
        found.append(at)
        waiting += reversed(below.get(at, []))
    return found


def measure_choices(
    choices: TableChoices, language: str, *, medians: bool = True
) -> list[dict[str, Any]]:
    """The figures of a unit, and which are chosen."""
    unit, spoken = choices.unit, words("builder", language)
    found = [("count", said_in(unit.label, language, unit.name))]
    for column, value in unit.values.items():
        label = said_in(value.label, language, column)
        found += [(f"sum:{column}", f"{label} ({spoken['sum']})")] if value.sums else []
        found += [(f"mean:{column}", f"{label} ({spoken['mean']})")] if value.means else []
    found += [(name, said_in(each.title, language, name)) for name, each in unit.figures.items()]
    titles = [one.tree.title(language) for one in unit.variables.values()]

    def named(variable: CatalogueVariable) -> str:
        title = variable.tree.title(language)
        return title if titles.count(title) == 1 else f"{title}, {variable.name}"

    found += [(f"median:{name}", f"{named(one)} ({spoken['median']})")
              for name, one in unit.variables.items()
              if medians and one.tree.bounds is not None and not one.merged]  # fmt: skip
    chosen = choices.measures or ("count",)
    known = [name for name, _ in found]
    found += [(name, name) for name in chosen if name not in known]
    return [{"name": name, "label": label, "chosen": name in chosen} for name, label in found]


def _estimate(
    visit: Visit, dataset: str, choices: TableChoices, language: Language
) -> dict[str, Any]:
    """What the interface says of the query before it is counted, with the headings it would have.

    That this was looked at is noted as it is there.
    """
    empty: dict[str, Any] = {"plan": None, "verdict": None, "error": None, "preview": [],
                             "nearest": [], "barred": {}}  # fmt: skip
    if not choices.complete or not visit.principal.may(Permission.query_check, dataset):
        return empty
    start = time.perf_counter()
    try:
        prepared = choices.prepared(visit.service)
        verdict = visit.service.answers.verdict(prepared, visit.principal)
    except ServiceError as error:
        return {**empty, "error": error}
    outcome = LogVerdict.answered if verdict.allowed else LogVerdict.refused
    note_query(visit, prepared, LogMode.check, outcome, start)
    # Per variable, its heading, its first codes and how many more there are.
    found = []
    shown = {one.variable: one for one in prepared.query.by}
    for name in prepared.order.by:
        one, variable = shown[name], choices.unit.variables[name]
        codes = one.codes or [code for level in one.levels for code in variable.codes_of(level)]
        labels = [variable.tree.label(code, language) for code in codes[:_PREVIEWED]]
        more = len(codes) - len(labels)
        found.append((variable.tree.title(language), labels, more))
    return {
        **empty,
        "plan": prepared.plan.described(),
        "verdict": verdict.told(language),
        "refusal": verdict.error(language),
        "instant": visit.service.answers.is_instant(prepared, verdict),
        "why": verdict.explained()
        if visit.principal.may(Permission.refusals_explain, dataset)
        else [],
        "preview": found,
        "nearest": [
            (one["title"], one["cells"], address(visit.url.path, address_of(one["query"])))
            for one in nearest_to(visit, prepared, verdict.names, language) or ()
        ],
        "barred": _barred(visit, choices) if verdict.allowed else {},
    }  # fmt: skip


def _barred(visit: Visit, choices: TableChoices) -> dict[str, str]:
    """Levels that cannot be added to the table, as the form names them, and why.

    As of each refusal before anything is counted, no record is looked at for it.
    """
    found = dict[str, str]()
    free = [variable for name, variable in choices.unit.variables.items()
            if name not in choices.levels and name not in choices.picks]  # fmt: skip
    for variable in free:
        reason = ""
        for level in variable.levels:
            # What refuses a level refuses the finer ones below it, too.
            more = {**choices.levels, variable.name: (level.name,)}
            reason = reason or _reason(visit, replace(choices, levels=more))
            if reason:
                found[f"{variable.name}:{level.name}"] = reason
    return found


def _reason(visit: Visit, choices: TableChoices) -> str:
    """Why a table is not answered, before anything is counted; empty if nothing refuses it."""
    language = visit.language
    try:
        prepared = choices.prepared(visit.service)
        prepared.plan.require()
        visit.service.answers.verdict(prepared, visit.principal).require(language)
    except PolicyRefusalError as refusal:
        return refusal.what
    except ServiceError as error:  # its words are English
        return error.what if language == "en" else str(getattr(error.kind, language))
    return ""


def _examples(version: DataVersion, language: str) -> list[tuple[str, str]]:
    """First tables: of each unit one by its first variables, coarse."""
    found = []
    for unit in version.units.values():
        if named := first_variables(unit):
            by = ",".join(f"{item.name}:{item.levels[0].name}" for item in named)
            label = said_in(unit.label, language, unit.name)
            joined = ", ".join(item.tree.title(language) for item in named)
            path, asked = f"/tables/{version.dataset}/result", [("unit", unit.name), ("by", by)]
            found.append((f"{label}: {joined}", address(path, asked)))
    return found


#: The cookie, how many letters it may have, and how long browsers keep it.
_COOKIE, _LONGEST, _SECONDS = "basket", 3_500, 180 * 86_400


@router.get("/basket")
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


@router.post("/basket")
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


@router.get("/basket/files")
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
    return file_response(file.getvalue(), "tables.zip", "application/zip")


def _places(visit: Visit) -> list[str]:
    """The addresses of tables that the browser keeps; only those of the table builder."""
    text = unquote(request_cookie(visit, _COOKIE) or "")[: 2 * _LONGEST]
    return [place for place in text.split("\n")
            if place.startswith("/tables/") and own_place(place) == place]  # fmt: skip


def _prepared(visit: Visit, place: str) -> PreparedQuery:
    path, _, query = place.partition("?")
    dataset = unquote(path.removeprefix("/tables/").partition("/")[0])
    pairs = parse_qsl(query, keep_blank_values=True)
    return TableChoices.asked(visit.service, dataset, pairs).prepared(visit.service)
