"""Methods on records: a file of one's own, steps that change it, and what that does to tables.

In: forms with records (CONFIDENTIAL). Out: pages for whoever sent them, which nothing keeps; the
changed file; or a job where there are many records, which are sealed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse

from discreet.assessment import percent
from discreet.errors import DiscreetError, Problem
from discreet.pretabular import METHODS
from discreet.publication import number_text
from discreet_service.cells import (
    MOST_AT_ONCE,
    MOST_CELLS,
    RecordsRequest,
    RecordsStudy,
    RowLimit,
    TableEffect,
    changed_records,
    read_request,
    records_file,
    studied_records,
    typed_columns,
)
from discreet_service.permissions import Permission, Principal
from discreet_service.service import Service
from discreet_service.studio.call_texts import file_call_texts
from discreet_service.studio.pasted_tables import (
    listed_names,
    long_texts,
    pasted_rows,
    refused_form,
    rows_and_columns,
    sent_texts,
)
from discreet_service.studio.record_steps import option_fields, stated_step
from discreet_service.web import (
    ROWS,
    FormPrincipal,
    NavigationEntry,
    ServiceDep,
    back_to,
    check_allowed,
    hand_in_records,
    language_of,
    page,
    principal_with,
    secret_for,
    sent_file,
)

router = APIRouter(prefix="/records", tags=["studio"], include_in_schema=False)
NAVIGATION = NavigationEntry(path="/records", place=80, permissions=(Permission.records_protect,))

_Protector = Annotated[Principal, Depends(principal_with(Permission.records_protect))]
#: Steps that a page has at most, and the text of records that it gives back.
MOST_STEPS, LONGEST_SHOWN = 8, 40_000
_PERSONS = 500


@dataclass(frozen=True, kw_only=True, repr=False)
class RecordsForm:
    """The fields as they were filled in. CONFIDENTIAL."""

    rows: str = ""  # the records as text, the first line names the columns
    id: str = ""  # columns that identify a record, commas between
    drop: str = ""  # columns that are left out
    keep: str = ""  # identifying columns that stay on purpose
    keys: str = ""  # what others know of somebody
    tables: str = ""  # the variables of a table per line
    name: str = "records"  # name of the file
    format: str = "csv"
    act: str = ""  # "run", "download", "job", "add", or "remove-" and the number of a step
    add: str = "swap"  # the method of a step that is added
    #: The steps: method, and option → text
    steps: tuple[tuple[str, Mapping[str, str]], ...] = field(default=())

    def read(self, limit: RowLimit, language: str) -> tuple[pl.DataFrame, RecordsRequest]:
        """The records, and what is done with them. CONFIDENTIAL."""
        problems: list[Problem] = []
        if not self.rows.strip():
            hint = "choose a file in UTF-8, or paste them"
            problems.append(Problem("there are no records", "records", hint))
        problems += long_texts(self, ("rows", "tables", "steps"))
        steps = [
            stated_step(method, texts, f"steps[{at}]", problems)
            for at, (method, texts) in enumerate(self.steps)
        ]
        if not steps:
            problems.append(Problem("no step is asked for", "steps", "add a method"))
        asked = {
            **{name: listed_names(getattr(self, name)) for name in ("id", "drop", "keep", "keys")},
            "tables": [listed_names(line) for line in self.tables.splitlines() if line.strip()],
            "name": self.name.strip(),
            "format": self.format,
            "language": language,
        }
        if problems:
            raise refused_form(problems)
        request = read_request(RecordsRequest, asked | {"steps": steps})
        return typed_columns(pasted_rows(self.rows, limit)), request

    def arranged(self) -> RecordsForm:
        """The form after a step was added or taken away."""
        steps = list(self.steps)
        if self.act == "add" and self.add in METHODS and len(steps) < MOST_STEPS:
            steps.append((self.add, {}))
        place = self.act.removeprefix("remove-")
        if place != self.act and place.isdecimal() and int(place) < len(steps):
            del steps[int(place)]
        return replace(self, steps=tuple(steps))

    def __repr__(self) -> str:
        return "<RecordsForm: confidential>"


async def form_of(request: Request) -> RecordsForm:
    """A dependency: the fields of a form that was sent, with the text of its file."""
    form = await request.form()
    names = [item.name for item in fields(RecordsForm) if item.name != "steps"]
    texts = await sent_texts(form, names, file="rows")
    steps = []
    for at in range(MOST_STEPS):
        method = form.get(f"step{at}")
        if isinstance(method, str) and method in METHODS:
            said = {
                option_field.name: form.get(f"step{at}-{option_field.name}")
                for option_field in option_fields(method)
            }
            steps.append((method, {k: text for k, text in said.items() if isinstance(text, str)}))
    return RecordsForm(**texts, steps=tuple(steps))


_Form = Annotated[RecordsForm, Depends(form_of)]


@cache
def records_example() -> RecordsForm:
    """A form with persons of the invented census of the demonstration.

    >>> records_example().id
    'person_id'
    """
    from discreet.demo import generate

    persons = generate(persons=_PERSONS, seed=2026).persons
    columns = ("person_id", "household_id", "state", "district", "sex", "age", "marital_status")
    return RecordsForm(
        rows=persons.select(columns).write_csv(),
        id="person_id",
        drop="person_id, household_id",
        keys="district, sex, age",
        tables="district, sex\nmarital_status, sex",
        name="persons",
        steps=(
            ("recode", {"variable": "age", "intervals": "0, 18, 30, 45, 60, 75"}),
            ("pram", {"variables": "marital_status, 0.8", "exact": "on"}),
        ),
    )


@router.get("")
def show_records(
    request: Request, principal: _Protector, example: Annotated[str, Query(max_length=20)] = ""
) -> Response:
    """An empty form, or one with an example."""
    return _shown(request, records_example() if example == "persons" else RecordsForm())


@router.post("")
def run_records_form(
    request: Request, service: ServiceDep, principal: FormPrincipal, form: _Form
) -> Response:
    """Change records and show what came of it; as a file or a job if asked for."""
    check_allowed(principal, Permission.records_protect)
    if form.act == "add" or form.act.startswith("remove-"):
        return _shown(request, form.arranged())
    try:
        limit = RowLimit(service.settings.limits.records_protect, ROWS)
        frame, asked = form.read(limit, language_of(request))
        if form.act == "job" or frame.height > MOST_AT_ONCE:
            check_allowed(principal, Permission.jobs_own)
            return back_to(f"/jobs/{hand_in_records(service, principal, frame, asked).id}")
        secret = secret_for(service, principal.name, asked)
        if form.act == "download":
            return sent_file(records_file(changed_records(frame, asked, secret), asked))
        study = studied_records(frame, asked, secret)
        return _shown(request, form, outcome=_outcome(service, asked, study))
    except DiscreetError as error:
        problems = error.problems or (Problem(error.what, error.where, error.hint),)
        return _shown(request, form, problems=problems)


def _shown(
    request: Request,
    form: RecordsForm,
    *,
    outcome: Mapping[str, Any] | None = None,
    problems: Sequence[Problem] = (),
) -> HTMLResponse:
    large = len(form.rows) > LONGEST_SHOWN
    return page(
        request,
        "record_methods",
        status=422 if problems else 200,
        secret=True,
        form=replace(form, rows="") if large else form,
        large=large,
        problems=problems,
        outcome=outcome,
        methods=[name for name in METHODS if option_fields(name)],
        fields=option_fields,
        most=MOST_AT_ONCE,
        most_cells=MOST_CELLS,
        most_steps=MOST_STEPS,
    )


# What came of it --------------------------------------------------------------------------------


def _outcome(service: Service, asked: RecordsRequest, study: RecordsStudy) -> dict[str, Any]:
    """What a page shows of an outcome. CONFIDENTIAL."""
    language = asked.language
    stated = asked.model_dump(exclude_defaults=True, exclude={"format", "language", "keys"})
    stated.pop("tables", None)
    functions = ("anonymise_records(", "dc_service_anonymise(")
    path, base = "/api/v1/records/anonymise", service.settings.base_url
    return {
        "study": study,
        "after": study.made.described.frame.height,
        "statement": study.made.statement[language],
        "tables": [_table(table, language) for table in study.tables],
        "risk": _risk(study, language),
        "code": file_call_texts(base, path, functions, "records.csv", stated),
    }


def _table(effect: TableEffect, language: str) -> dict[str, Any]:
    """A table before and after, and how far its counts moved."""

    def shown(before: int, after: int) -> dict[str, str]:
        difference = after - before
        sign = "+" if difference > 0 else ""
        return {
            "value": number_text(after, 0, language),
            "true": number_text(before, 0, language),
            "difference": sign + number_text(difference, 0, language) if difference else "",
        }

    measures = effect.measures()
    cells = ((codes, shown(before, after)) for codes, before, after in effect.cells)
    return {
        "by": effect.by,
        **rows_and_columns(effect.by, cells),
        "measures": {
            "cells": number_text(measures["cells"], 0, language),
            "unchanged": percent(measures["unchanged"], language),
            "mean_absolute_deviation": number_text(
                measures["mean_absolute_deviation"], 2, language
            ),
            "largest": number_text(measures["largest"], 0, language),
        },
    }


def _risk(study: RecordsStudy, language: str) -> list[tuple[str, str, str]]:
    """Indicators before and after: what each is called, and both figures."""
    if study.risk is None:
        return []
    before, after = (dict(item.told(language)) for item in study.risk)
    return [(label, figure, after.get(label, "–")) for label, figure in before.items()]
