"""Methods on records: a file of one's own, steps that change it, and what that does to tables.

In: forms with records (CONFIDENTIAL). Out: pages for whoever sent them, which nothing keeps; the
changed file; or a job where there are many records, which are sealed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse

from discreet.assessment import percent
from discreet.errors import DiscreetError, Problem
from discreet.operations import (
    OPERATIONS,
    Operation,
    RecordsStudy,
    SettingField,
    TableEffect,
    fields_of,
    value_of,
)
from discreet.publication import number_text
from discreet_service.cells import CellsCall, RowLimit
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
from discreet_service.web import (
    FormPrincipal,
    NavigationEntry,
    ServiceDep,
    back_to,
    check_allowed,
    hand_in_operation,
    language_of,
    page,
    principal_with,
    sent_file,
)

router = APIRouter(prefix="/records", tags=["studio"], include_in_schema=False)
NAVIGATION = NavigationEntry(path="/records", place=80, permissions=(Permission.records_protect,))

_Protector = Annotated[Principal, Depends(principal_with(Permission.records_protect))]
#: Steps that a page has at most, and the text of records that it gives back.
MOST_STEPS, LONGEST_SHOWN = 8, 40_000
_PERSONS = 500
_CHAIN = OPERATIONS["anonymise"]


def methods() -> dict[str, Operation]:
    """What a step can be, by name."""
    return {name: row for name, row in OPERATIONS.items() if row.step}


@cache
def step_fields(method: str) -> tuple[SettingField, ...]:
    """The fields of a method; pages read no files, and levels are those of a tree in a file.

    >>> [(field.name, field.kind) for field in step_fields("round_values")]
    [('variables', 'names'), ('base', 'number')]
    """
    row = OPERATIONS[method]
    fields = fields_of(row.settings, row.package)
    return tuple(field for field in fields if field.kind != "file" and field.name != "level")


def stated_step(
    method: str, texts: Mapping[str, str], where: str, problems: list[Problem]
) -> dict[str, Any]:
    """The step that a page asks for, as a programme would have it.

    >>> stated_step("top_code", {"variable": "age", "above": "90"}, "steps[0]", [])
    {'method': 'top_code', 'variable': 'age', 'above': 90.0}
    """
    step: dict[str, Any] = {"method": method}
    for step_field in step_fields(method):
        text, own = texts.get(step_field.name, "").strip(), list[Problem]()
        if text:
            step[step_field.name] = value_of(step_field, text, own)
        problems += [replace(each, where=f"{where}.{each.where}") for each in own]
    return step


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

    def call(self, service: Service, owner: str, language: str) -> CellsCall:
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
        if problems:
            raise refused_form(problems)
        said: dict[str, Any] = {
            **{name: listed_names(getattr(self, name)) for name in ("id", "drop", "keep", "keys")},
            "tables": [listed_names(line) for line in self.tables.splitlines() if line.strip()],
            "name": self.name.strip(),
            "format": self.format,
            "language": language,
            "steps": steps,
        }
        limit = RowLimit(service.settings.limits.records_protect, "records")
        return CellsCall.of(service, owner, _CHAIN, pasted_rows(self.rows, limit), said)

    def arranged(self) -> RecordsForm:
        """The form after a step was added or taken away."""
        steps = list(self.steps)
        if self.act == "add" and self.add in methods() and len(steps) < MOST_STEPS:
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
        if isinstance(method, str) and method in methods():
            said = {
                step_field.name: form.get(f"step{at}-{step_field.name}")
                for step_field in step_fields(method)
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
        call = form.call(service, principal.name, language_of(request))
        if form.act == "job" or call.size > _CHAIN.at_once:
            check_allowed(principal, Permission.jobs_own)
            return back_to(f"/jobs/{hand_in_operation(service, principal, call).id}")
        if form.act == "download":
            return sent_file(call.output(), named=True)
        return _shown(request, form, outcome=_outcome(service, call))
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
    large, language = len(form.rows) > LONGEST_SHOWN, language_of(request)
    said = _CHAIN.words(_CHAIN.name, language)
    return page(
        request,
        "records",
        status=422 if problems else 200,
        secret=True,
        title=said["title"],
        said=said,
        form=replace(form, rows="") if large else form,
        large=large,
        problems=problems,
        outcome=outcome,
        methods={name: row.words(name, language)["title"] for name, row in methods().items()},
        fields=step_fields,
        most=_CHAIN.at_once,
        most_steps=MOST_STEPS,
    )


# What came of it --------------------------------------------------------------------------------


def _outcome(service: Service, call: CellsCall) -> dict[str, Any]:
    """What a page shows of an outcome. CONFIDENTIAL."""
    study: RecordsStudy = call.studied()
    language, left_out = call.request.language, {"format", "language", "keys", "tables"}
    stated = call.request.model_dump(exclude_defaults=True, exclude=left_out)
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
