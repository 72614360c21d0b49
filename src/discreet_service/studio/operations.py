"""Operations in the studio: a table of one's own, a method, what it makes of it and still tells.

In: forms with cells (CONFIDENTIAL) and rules (SECRET). Out: pages for whoever sent them, which
nothing keeps; the protected table as a file; or a job for large tables, whose cells are sealed. The
fields of a page are those of the layout and of the method's settings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse

from discreet.errors import DiscreetError, Problem
from discreet.operations import (
    OPERATIONS,
    HiddenCell,
    MagnitudeSource,
    Operation,
    ProtectedSource,
    SensitiveSource,
    SettingField,
    Study,
    UnitSource,
    fields_of,
    value_of,
)
from discreet.publication import number_text
from discreet_service.cells import LAYOUTS, RESULT_TYPES, CellsCall
from discreet_service.permissions import Permission, Principal
from discreet_service.service import Service
from discreet_service.studio.call_texts import file_call_texts
from discreet_service.studio.pasted_tables import (
    FORMATS,
    LONGEST,
    pasted_rows,
    published_cells,
    refused_form,
    rows_and_columns,
    sent_texts,
    stated_number,
    stated_trees,
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
)

router = APIRouter(tags=["studio"], include_in_schema=False)
NAVIGATION = tuple(
    NavigationEntry(path=f"/{each.page}", place=60 + at, permissions=(Permission.tables_protect,))
    for at, each in enumerate(OPERATIONS.values())
    if each.page and not each.on_records
)

_Producer = Annotated[Principal, Depends(principal_with(Permission.tables_protect))]
#: Where the words of layouts are.
_CELLS = "discreet_service.cells"
#: Rules that a page offers, with what they take; the others need a call.
_RULES: Mapping[str, type[int | float]] = {
    **{"minimum_frequency": int, "p_percent": float, "dominance_1": float, "dominance_2": float},
    "marginal": int,
}
#: Fields that are no settings, and what they begin with.
_BESIDE: Mapping[str, str] = {"cells": "", "trees": "", "format": "csv", "act": "run"}
#: Marks that are read of a form, and names that are shown of what can be worked out.
_MOST_MARKS, _MOST_NAMED = 2_000, 20
#: Records of an example.
_MOST_RECORDS = 100


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class OperationForm:
    """The fields of a page as they were filled in. CONFIDENTIAL."""

    operation: Operation  # what is asked for
    texts: Mapping[str, str]  # field → text
    waived: tuple[str, ...] = ()  # cells that may be shown: their codes as JSON
    priced: tuple[str, ...] = ()  # cells whose cost is asked for, and
    prices: tuple[str, ...] = ()  # what was said, in the same order

    @classmethod
    def begun(cls, operation: Operation, **texts: str) -> OperationForm:
        """A form with what pages begin with."""
        begin = {
            layout_field.name: layout_field.text_of(layout_field.usual)
            for layout_field in _layout_fields(operation)
        }
        for setting_field in _setting_fields(operation):
            begin[setting_field.name] = setting_field.text_of(
                getattr(operation.begin, setting_field.name)
            )
        if issubclass(operation.takes, SensitiveSource):
            begin |= dict.fromkeys(_RULES, "") | {"minimum_frequency": "3"}
        return cls(operation=operation, texts={**begin, **_BESIDE, **texts})

    @classmethod
    async def sent(cls, operation: Operation, request: Request) -> OperationForm:
        """The form that was sent, with the text of its file."""
        form, begun = await request.form(), cls.begun(operation).texts
        yes = {field.name: "" for field in _fields(operation) if field.kind == "yes"}
        texts = await sent_texts(form, list(begun), file="cells")
        marks = {
            name: tuple(str(value) for value in form.getlist(name)[: _MOST_MARKS + 1])
            for name in ("waived", "priced", "prices")
        }
        return cls(operation=operation, texts={**begun, **yes, **texts}, **marks)

    def call(self, service: Service, owner: str, language: str) -> CellsCall:
        """The cells, and what is asked of them. CONFIDENTIAL."""
        problems: list[Problem] = []
        texts, operation = self.texts, self.operation
        if not texts["cells"].strip():
            hint = "choose a file in UTF-8, or paste them"
            problems.append(Problem("there are no cells", "cells", hint))
        long = {"cells", "trees"}
        long |= {field.name for field in _setting_fields(operation) if field.kind == "content"}
        problems += [
            Problem(f"more than {LONGEST} characters", name)
            for name, text in texts.items()
            if name not in long and len(text) > LONGEST
        ]
        said: dict[str, Any] = _values(_layout_fields(operation), texts, problems)
        said |= {"format": texts["format"], "language": language}
        said["classifications"] = stated_trees(texts["trees"], problems)
        if issubclass(operation.takes, SensitiveSource):
            said["rules"] = _rules(texts, problems)
            said["marks"] = self._marks(said.get("by", []), problems)
            if said.get("records"):  # columns of cells mean nothing then
                said.pop("largest", None)
        settings = _values(_setting_fields(operation), texts, problems)
        said |= {operation.section: settings} if operation.section else settings
        if texts["format"] not in FORMATS:
            problems.append(Problem("this format is not offered", "format"))
        if problems:
            raise refused_form(problems)
        frame = pasted_rows(texts["cells"], service.settings.limits.cells_protect)
        return CellsCall.of(service, owner, operation, frame, said)

    def _marks(self, by: Sequence[str], problems: list[Problem]) -> list[dict[str, Any]]:
        decided: dict[str, dict[str, Any]] = {}
        if len(self.priced) != len(self.prices):
            problems.append(Problem("cells and their costs do not belong together", "marks"))
            return []
        for place in self.waived:
            decided.setdefault(place, {})["status"] = "safe"
        for place, price in zip(self.priced, self.prices, strict=True):
            cost = stated_number(price, "cost", problems, float)
            if cost is not None:
                decided.setdefault(place, {})["cost"] = cost
        marks = []
        for place, said in decided.items():
            try:
                codes = json.loads(place)
            except (ValueError, RecursionError):
                codes = None
            if not isinstance(codes, list) or len(codes) != len(by):
                problems.append(Problem("this is no cell of the table", "marks"))
                continue
            marks.append({"cells": dict(zip(by, codes, strict=True)), **said})
        return marks

    def __repr__(self) -> str:
        return "<OperationForm: confidential>"


def _layout_fields(operation: Operation) -> tuple[SettingField, ...]:
    return fields_of(LAYOUTS[operation.takes], _CELLS)


def _setting_fields(operation: Operation) -> tuple[SettingField, ...]:
    return fields_of(operation.settings, operation.package)


def _fields(operation: Operation) -> tuple[SettingField, ...]:
    return (*_layout_fields(operation), *_setting_fields(operation))


def _values(
    fields: Sequence[SettingField], texts: Mapping[str, str], problems: list[Problem]
) -> dict[str, Any]:
    """What fields say; one that is empty is left to its model."""
    found = {field.name: value_of(field, texts[field.name], problems) for field in fields}
    return {name: value for name, value in found.items() if value is not None}


def _rules(texts: Mapping[str, str], problems: list[Problem]) -> dict[str, Any]:
    numbers = {name: stated_number(texts[name], name, problems, _RULES[name]) for name in _RULES}
    shares = [[n, numbers.pop(f"dominance_{n}")] for n in (1, 2)]
    rules: dict[str, Any] = {name: each for name, each in numbers.items() if each is not None}
    shares = [share for share in shares if share[1] is not None]
    if shares:
        rules["dominance"] = shares if len(shares) > 1 else shares[0]
    if not rules and not problems:
        hint = "fill in one of them at least"
        problems.append(Problem("no rule says what is sensitive", "rules", hint))
    return rules


@cache
def example_form(operation: Operation) -> OperationForm:
    """A form with numbers of the invented firms of the demonstration.

    >>> example_form(OPERATIONS["rounding"]).texts["by"]
    'branch, state'
    """
    from discreet import tabulate, with_record_keys
    from discreet.demo import Geography, coded, firms_of

    branch = coded("branch")
    firms = firms_of(Geography.of(20_000, seed=2026))
    firms = with_record_keys(firms, id="firm_id", secret="firms of an example")  # noqa: S106
    table = tabulate(
        firms,
        by=[branch, "state"],
        record_key="record_key",
        values=["turnover"],
        contributions=2,
    )
    names = ("branch", "state")
    cells = pl.DataFrame(
        {
            name: [dimension.codes[at] for at in part]
            for name, dimension, part in zip(names, table.dimensions, table.index, strict=True)
        }
        | {"n": table.count}
    )
    texts = {"by": "branch, state", "name": "firms"}
    if issubclass(operation.takes, SensitiveSource | MagnitudeSource):
        top = table.contributions["turnover"].top
        values = {"turnover": table.sums["turnover"], "first": top[:, 0], "second": top[:, 1]}
        cells = cells.with_columns(
            pl.Series(name, each).fill_nan(None).cast(pl.Int64) for name, each in values.items()
        )
        texts |= {"value": "turnover", "largest": "first, second", "name": "turnover"}
    if issubclass(operation.takes, SensitiveSource):
        texts["p_percent"] = "10"
    if issubclass(operation.takes, ProtectedSource):
        cells = cells.rename({"n": "value"})
    if issubclass(operation.takes, UnitSource):
        cells = firms.select("branch", "state", "turnover", unit="firm_id").head(_MOST_RECORDS)
        texts |= {"value": "turnover", "unit": "unit"}
    if operation.keys(operation.begin) == "needed":
        cells = cells.with_columns(key=table.cell_key)
        texts["cell_key"] = "key"
    texts |= {field.name: field.example for field in _setting_fields(operation) if field.example}
    lines = [
        f"branch,{code}" + (f",{branch.codes[above]}" if above else "")
        for code, above in zip(branch.codes, branch.parents, strict=True)
        if above >= 0
    ]
    return OperationForm.begun(operation, cells=cells.write_csv(), trees="\n".join(lines), **texts)


def add_page(operation: Operation, to: APIRouter = router) -> None:
    """Add the page of an operation."""

    def show(
        request: Request, principal: _Producer, example: Annotated[str, Query(max_length=20)] = ""
    ) -> Response:
        """An empty form, or one with an example."""
        begun = OperationForm.begun(operation)
        return _shown(request, example_form(operation) if example == "firms" else begun)

    async def form_of(request: Request) -> OperationForm:
        return await OperationForm.sent(operation, request)

    def run(
        request: Request,
        service: ServiceDep,
        principal: FormPrincipal,
        form: OperationForm = Depends(form_of),  # noqa: B008
    ) -> Response:
        """Protect cells and show what came of it; as a file or a job if asked for."""
        check_allowed(principal, Permission.tables_protect)
        try:
            return _outcome(request, service, principal, form)
        except DiscreetError as error:
            problems = error.problems or (Problem(error.what, error.where, error.hint),)
            return _shown(request, form, problems=problems)

    run.__annotations__["form"] = OperationForm
    to.add_api_route(f"/{operation.page}", show, methods=["GET"], name=f"show_{operation.name}")
    to.add_api_route(f"/{operation.page}", run, methods=["POST"], name=f"run_{operation.name}")


def _outcome(
    request: Request, service: Service, principal: Principal, form: OperationForm
) -> Response:
    call, operation = form.call(service, principal.name, language_of(request)), form.operation
    act, most = form.texts["act"], operation.at_once
    if act == "download":
        most = max(most, operation.waits(call.settings))
    if act == "job" or call.size > most:
        check_allowed(principal, Permission.jobs_own)
        return back_to(f"/jobs/{hand_in_operation(service, principal, call).id}")
    call = call.hurried()
    if act == "download":
        output = call.output()
        name = f"{call.request.name}.{FORMATS[form.texts['format']]}"
        headers = {
            "Cache-Control": "no-store",
            "Content-Disposition": f'attachment; filename="{name}"',
        }
        return Response(output.content, media_type=output.media_type, headers=headers)
    return _shown(request, form, shown=_told(service, call))


def _shown(
    request: Request,
    form: OperationForm,
    *,
    shown: Mapping[str, Any] | None = None,
    problems: Sequence[Problem] = (),
) -> HTMLResponse:
    operation, language = form.operation, language_of(request)
    words = operation.words(operation.name, language)
    return page(
        request,
        "operation",
        status=422 if problems else 200,
        secret=True,
        title=words["title"],
        said=words,
        path=f"/{operation.page}",
        form=form.texts,
        columns_of=[
            layout_field
            for layout_field in _layout_fields(operation)
            if layout_field.name != "name"
        ],
        name_field=next(
            layout_field
            for layout_field in _layout_fields(operation)
            if layout_field.name == "name"
        ),
        settings=_setting_fields(operation),
        rules=_RULES if issubclass(operation.takes, SensitiveSource) else {},
        problems=problems,
        outcome=shown,
        most=operation.at_once,
        formats=[name for name in RESULT_TYPES if name in FORMATS],
    )


# What came of it --------------------------------------------------------------------------------


def _told(service: Service, call: CellsCall) -> dict[str, Any]:
    """What a page shows of an outcome. CONFIDENTIAL."""
    request, operation, language = call.request, call.operation, call.request.language
    study, before = call.studied(), None
    marks = getattr(request, "marks", [])
    if marks:
        bare = request.model_copy(update={"marks": []})
        before = CellsCall.of(service, call.owner, operation, call.frame, bare).studied()
    measures = [(label, text, "") for label, text in study.measures(language)]
    if before is not None:
        old = dict(before.measures(language))
        measures = [(label, text, old[label]) for label, text, _ in measures]
    cells = _cells(study, call)
    return {
        **rows_and_columns(request.by, cells),
        "study": study,
        "named_most": _MOST_NAMED,
        "measures": measures,
        "compared": before is not None,
        "listed": list(_listed(study, marks, call)),
        "code": _code(service, call),
    }


def _code(service: Service, call: CellsCall) -> dict[str, str]:
    """How programs ask the same; rules are secret, and not written there."""
    operation, request = call.operation, call.request
    left_out = {"format", "language", "rules", "marks"}
    left_out |= set() if getattr(request, "cell_key", None) else {"key_grid"}
    stated = request.model_dump(exclude_defaults=True, exclude=left_out)
    if operation.section:
        stated[operation.section] = call.settings.model_dump(exclude_defaults=True)
        for field in _setting_fields(operation):  # contents of files are not written there
            if field.kind == "content" and field.name in stated[operation.section]:
                stated[operation.section][field.name] = "…"
    if hasattr(request, "rules"):
        stated["rules"] = {"minimum_frequency": 3}
    name, address = operation.name, f"/api/v1/{operation.address}"
    functions = (f'run(\n        "{name}",', f'dc_service_run(\n  "{name}",')
    return file_call_texts(service.settings.base_url, address, functions, "cells.csv", stated)


def _cells(study: Study, call: CellsCall) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Of each cell its figure, and the true one or the number of the hidden cell. CONFIDENTIAL."""
    request, language = call.request, call.request.language
    figures = study.table.figures
    decimals = figures[0].decimals if figures else 0
    numbers = {each.codes: at for at, each in enumerate(study.hidden or (), start=1)}
    true: dict[tuple[str, ...], float] = {}
    if study.truth is not None:
        table = study.truth
        codes = [
            [own.codes[at] for at in part]
            for own, part in zip(table.dimensions, table.index, strict=True)
        ]
        counted: Any = table.count if table.weight is None else table.weight
        counted = table.sums.get(getattr(request, "value", None) or "", counted)
        true = dict(zip(zip(*codes, strict=True), counted.tolist(), strict=True))
    for place, told in published_cells(study.table, request.by):
        value = told["value"]
        figure = "·" if value is None else number_text(value, decimals, language)
        shown = {"figure": figure, "number": numbers.get(place, 0), "true": "", "difference": ""}
        if study.truth is not None:
            truth = true.get(place, 0)
            digits = 0 if float(truth).is_integer() else 1
            difference = (value or 0) - truth
            sign = "+" if difference > 0 else ""
            shown["true"] = number_text(truth, digits, language)
            if difference:
                shown["difference"] = sign + number_text(difference, digits, language)
        yield place, shown


def _listed(study: Study, marks: Sequence[Any], call: CellsCall) -> Iterator[dict[str, Any]]:
    """Hidden cells, and those that a decision has opened, which can be closed again."""
    request, language = call.request, call.request.language
    decimals = getattr(request, "decimals", 0)
    decided = {tuple(item.cells[name] for name in request.by): item for item in marks}
    hidden: Mapping[tuple[str, ...], HiddenCell] = {item.codes: item for item in study.hidden or ()}
    for codes in (*hidden, *(codes for codes in decided if codes not in hidden)):
        cell, mark = hidden.get(codes), decided.get(codes)
        yield {
            "codes": codes,
            "address": json.dumps(list(codes), ensure_ascii=False),
            "waived": mark is not None and mark.status == "safe",
            "cost": "" if mark is None or mark.cost is None else f"{mark.cost:g}",
            "hidden": cell is not None,
            "primary": cell is not None and cell.primary,
            "reason": "" if cell is None else cell.reason.get(language, ""),
            "low": "" if cell is None else number_text(cell.low, decimals, language),
            "high": "" if cell is None else number_text(cell.high, decimals, language),
        }


for _operation in OPERATIONS.values():
    if _operation.page and not _operation.on_records:
        add_page(_operation)
