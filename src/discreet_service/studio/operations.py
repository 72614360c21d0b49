"""Operations in the studio: forms with rows (CONFIDENTIAL) and rules (SECRET); pages for whoever
sent them, which nothing keeps. Fields are those of the layout and of the settings.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.datastructures import UploadFile

from discreet.assessment import percent
from discreet.errors import DiscreetError, Problem
from discreet.operations import (
    OPERATIONS,
    ChangedSource,
    HiddenCell,
    Operation,
    RecordsStudy,
    SensitiveSource,
    SettingField,
    Study,
    StudyRemark,
    fields_of,
    value_of,
)
from discreet.publication import number_text
from discreet_service.cells import (
    LAYOUTS,
    RESULT_TYPES,
    RULE_FIELDS,
    UPLOAD_ENDS,
    BodyKind,
    CellsCall,
    RowLimit,
    example_texts,
    read_body,
    read_upload,
    stated_number,
    stated_rules,
    stated_trees,
    suggested_roles,
)
from discreet_service.permissions import Permission
from discreet_service.problems import refuse
from discreet_service.service import Service
from discreet_service.studio.call_texts import file_call_texts
from discreet_service.web import (
    Cell,
    FormVisit,
    KnownVisit,
    NavigationEntry,
    Visit,
    back_to,
    check_allowed,
    file_response,
    hand_in_operation,
    list_page,
    page,
    visit_with,
    words,
)

router = APIRouter(tags=["studio"], include_in_schema=False)
NAVIGATION = NavigationEntry(
    path="/methods", place=60, permissions=(Permission.tables_protect, Permission.records_protect)
)

#: Where the words of layouts are.
_CELLS = "discreet_service.cells"
#: Formats of tables that can be fetched, with the ends of their names.
FORMATS: Mapping[str, str] = {
    "csv": "csv",
    "xlsx": "xlsx",
    "parquet": "parquet",
    "html": "html",
    "json-stat": "json",
}
#: Fields that are no settings, and what they begin with.
_BESIDE: Mapping[str, str] = {
    **{"rows": "", "cells": "", "trees": "", "format": "csv", "act": "run"},
    **{"reading": "", "known": ""},  # how rows are read; a digest of rows that were
}
#: Fields that hold names of columns: all of layouts that hold names, but for these, and these of
#: methods.
_NO_COLUMNS = ("name", "key_grid")
_OF_COLUMNS = ("unit", "balance", "keys", "weight", "sensitive", "harmless", "public", "shares")
#: First values of a column that are shown.
_FIRST = 4
#: Marks that are read of a form, and names that are shown of what can be worked out.
_MOST_MARKS, _MOST_NAMED = 2_000, 20
#: Characters of a field that holds a word or two.
_LONGEST = 500
#: Steps that a page has at most, and the text of records that it gives back.
MOST_STEPS, LONGEST_SHOWN = 8, 40_000
#: The last variable stands at the side of the others if it has so many codes at most.
_WIDEST = 12
_STEPS: Mapping[str, Operation] = {name: row for name, row in OPERATIONS.items() if row.step}


@router.get("/methods")
def show_methods(visit: KnownVisit) -> Response:
    """The methods that somebody may use, for tables and for records."""
    if not any(map(visit.principal.may, NAVIGATION.permissions)):
        check_allowed(visit.principal, Permission.tables_protect)
    said = [
        (row, row.words(row.name, visit.language))
        for row in OPERATIONS.values()
        if row.page and visit.principal.may(LAYOUTS[row.takes].permission)
    ]
    rows = [(Cell(text["title"], f"/{row.page}"), text["lead"]) for row, text in said]
    return list_page(visit, "methods", ("method", "about"), rows)


def setting_fields(operation: Operation) -> tuple[SettingField, ...]:
    """The fields of a method; pages read no files, and levels are those of a tree in a file.

    >>> [(field.name, field.kind) for field in setting_fields(OPERATIONS["round_values"])]
    [('variables', 'names'), ('base', 'number')]
    """
    fields = fields_of(operation.settings, operation.package)
    return tuple(
        field
        for field in fields
        if not operation.on_records or (field.kind != "file" and field.name != "level")
    )


def _layout_fields(operation: Operation) -> tuple[SettingField, ...]:
    return fields_of(LAYOUTS[operation.takes], _CELLS)


def role_fields(operation: Operation) -> tuple[SettingField, ...]:
    """Roles of columns: fields of the layout and of the method that hold column names.

    >>> [field.name for field in role_fields(OPERATIONS["unit-noise"])]
    ['by', 'value', 'unit', 'balance']
    """
    fields = [field for field in _layout_fields(operation) if field.name not in _NO_COLUMNS]
    fields += [field for field in setting_fields(operation) if field.name in _OF_COLUMNS]
    return tuple(field for field in fields if field.kind in ("text", "names"))


def stated_step(
    method: str, texts: Mapping[str, str], where: str, problems: list[Problem]
) -> dict[str, Any]:
    """The step that a page asks for, as a programme would have it.

    >>> stated_step("top_code", {"variable": "age", "above": "90"}, "steps[0]", [])
    {'method': 'top_code', 'variable': 'age', 'above': 90.0}
    """
    step: dict[str, Any] = {"method": method}
    for field in setting_fields(_STEPS[method]):
        text, own = texts.get(field.name, "").strip(), list[Problem]()
        if text:
            step[field.name] = value_of(field, text, own)
        problems += [replace(problem, where=f"{where}.{problem.where}") for problem in own]
    return step


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class OperationForm:
    """The fields of a page as they were filled in. CONFIDENTIAL."""

    operation: Operation  # what is asked for
    texts: Mapping[str, str]  # field → text
    steps: tuple[tuple[str, Mapping[str, str]], ...] = ()  # of a chain: method, and field → text
    waived: tuple[str, ...] = ()  # cells that may be shown: their codes as JSON
    priced: tuple[str, ...] = ()  # cells whose cost is asked for, and
    prices: tuple[str, ...] = ()  # what was said, in the same order
    upload: tuple[str, bytes] | None = None  # the name of its file, and what is in it
    frame: pl.DataFrame | None = None  # its rows, once they were read

    @property
    def rows(self) -> str:
        """The name of the field with the rows."""
        return "rows" if self.operation.on_records else "cells"

    @classmethod
    def begun(
        cls, operation: Operation, steps: Any = (), texts: Mapping[str, str] | None = None
    ) -> OperationForm:
        """A form with what pages begin with."""
        begin = {field.name: field.text_of(field.usual) for field in _layout_fields(operation)}
        for field in setting_fields(operation):
            # What must be said of records is of an example.
            blank = operation.on_records and field.needed
            value = None if blank else getattr(operation.begin, field.name)
            begin[field.name] = field.text_of(value)
        if issubclass(operation.takes, SensitiveSource):
            begin |= dict.fromkeys(RULE_FIELDS, "") | {"minimum_frequency": "3"}
        if operation.takes is ChangedSource:
            begin["add"] = "swap"
        if "add_totals" in begin:
            begin["add_totals"] = "on"
        return cls(operation=operation, texts={**begin, **_BESIDE, **(texts or {})}, steps=steps)

    @classmethod
    async def sent(cls, operation: Operation, request: Request) -> OperationForm:
        """The form that was sent, with its file."""
        form, begun = await request.form(), cls.begun(operation)
        stated = {name: [text for text in form.getlist(name) if isinstance(text, str)]
                  for name in begun.texts}  # fmt: skip
        fields = (*_layout_fields(operation), *setting_fields(operation))
        absent = {field.name: "" for field in fields if field.kind == "yes"}
        if "picked" in form:
            absent |= {field.name: "" for field in role_fields(operation)}
        texts = {name: ", ".join(filter(None, own)) for name, own in stated.items() if own}
        file = form.get("file")
        upload = None
        if isinstance(file, UploadFile) and file.filename:
            upload = (file.filename, await file.read())
        steps = []
        for at in range(MOST_STEPS):
            method = form.get(f"step{at}")
            if isinstance(method, str) and method in _STEPS:
                names = [field.name for field in setting_fields(_STEPS[method])]
                own = {name: form.get(f"step{at}-{name}") for name in names}
                steps.append((method, {n: t for n, t in own.items() if isinstance(t, str)}))
        waived, priced, prices = (
            tuple(str(value) for value in form.getlist(name)[: _MOST_MARKS + 1])
            for name in ("waived", "priced", "prices")
        )
        whole = {**begun.texts, **absent, **texts}
        return cls(operation=operation, texts=whole, steps=tuple(steps), upload=upload,
                   waived=waived, priced=priced, prices=prices)  # fmt: skip

    def read(self, service: Service) -> OperationForm:
        """A copy with rows of the file or the pasted text; columns have roles."""
        rows, text = LAYOUTS[self.operation.takes].rows, self.texts[self.rows]
        limit = RowLimit(getattr(service.settings.limits, f"{rows}_protect"), rows)
        if self.upload is None and not text.strip():
            return self
        if self.upload is None and _digest(text) == self.texts["known"]:
            frame = read_body(io.BytesIO(text.encode()), BodyKind.csv, limit).frame
        else:
            name, content = self.upload or ("lines.csv", text.encode())
            frame = read_upload(content, name, self.texts["reading"], limit)
        own = {self.rows: frame.write_csv()}
        if len(own[self.rows]) <= LONGEST_SHOWN:  # what goes back to the page is plain
            own |= {"reading": "", "known": _digest(own[self.rows])}
        if self.texts["act"] == "read":
            roles = {each.name: self.texts[each.name] for each in role_fields(self.operation)}
            own |= suggested_roles(frame, roles)
        return replace(self, texts={**self.texts, **own}, frame=frame)

    def arranged(self) -> OperationForm:
        """The form after a step was added or taken away."""
        steps, act = list(self.steps), self.texts["act"]
        if act == "add" and self.texts["add"] in _STEPS and len(steps) < MOST_STEPS:
            steps.append((self.texts["add"], {}))
        place = act.removeprefix("remove-")
        if place != act and place.isdecimal() and int(place) < len(steps):
            del steps[int(place)]
        return replace(self, steps=tuple(steps))

    def call(self, service: Service, owner: str, language: str) -> CellsCall:
        """The rows, and what is asked of them. CONFIDENTIAL."""
        problems: list[Problem] = []
        texts, operation, frame = self.texts, self.operation, self.frame
        if frame is None:
            rows, hint = LAYOUTS[operation.takes].rows, "choose a file, or paste lines"
            problems.append(Problem(f"no {rows}", rows, hint))
        layout, fields = _layout_fields(operation), setting_fields(operation)
        long = {self.rows, "trees", "reading"}
        long |= {field.name for field in (*layout, *fields) if field.kind in ("content", "lists")}
        problems += [
            Problem(f"more than {_LONGEST} characters", name)
            for name, text in texts.items()
            if name not in long and len(text) > _LONGEST
        ]
        stated: dict[str, Any] = _values(layout, texts, problems)
        stated |= {"format": texts["format"], "language": language}
        if not operation.on_records:
            stated["classifications"] = stated_trees(texts["trees"], problems)
        if issubclass(operation.takes, SensitiveSource):
            stated["rules"] = stated_rules(texts, problems)
            stated["marks"] = self._marks(stated.get("by", []), problems)
            if stated.get("records"):  # columns of cells mean nothing then
                stated.pop("largest", None)
        settings = _values(fields, texts, problems)
        for field in fields:
            if field.kind == "steps":
                settings[field.name] = [
                    stated_step(method, own, f"{field.name}[{at}]", problems)
                    for at, (method, own) in enumerate(self.steps)
                ]
                if not self.steps:
                    problems.append(Problem("no steps given", field.name, "add a method"))
        stated |= {operation.section: settings} if operation.section else settings
        formats = _formats(operation)
        if formats and texts["format"] not in formats:
            problems.append(Problem("format not available", "format"))
        refuse(problems, "form")
        assert frame is not None
        return CellsCall.of(service, owner, operation, frame, stated)

    def _marks(self, by: Sequence[str], problems: list[Problem]) -> list[dict[str, Any]]:
        decided: dict[str, dict[str, Any]] = {}
        if len(self.priced) != len(self.prices):
            problems.append(Problem("cells and costs do not match", "marks"))
            return []
        for place in self.waived:
            decided.setdefault(place, {})["status"] = "safe"
        for place, price in zip(self.priced, self.prices, strict=True):
            cost = stated_number(price, "cost", problems, float)
            if cost is not None:
                decided.setdefault(place, {})["cost"] = cost
        marks = []
        for place, decision in decided.items():
            try:
                codes = json.loads(place)
            except (ValueError, RecursionError):
                codes = None
            if not isinstance(codes, list) or len(codes) != len(by):
                problems.append(Problem("not a cell of the table", "marks"))
                continue
            marks.append({"cells": dict(zip(by, codes, strict=True)), **decision})
        return marks

    def __repr__(self) -> str:
        return "<OperationForm: confidential>"


def _formats(operation: Operation) -> list[str]:
    if operation.on_records:
        return [] if operation.answer == "report" else ["csv", "parquet"]
    return [name for name in RESULT_TYPES if name in FORMATS]


def _values(
    fields: Sequence[SettingField], texts: Mapping[str, str], problems: list[Problem]
) -> dict[str, Any]:
    values = {
        field.name: value_of(field, texts[field.name], problems)
        for field in fields
        if field.kind != "steps"
    }
    return {name: value for name, value in values.items() if value is not None}


def _digest(rows: str) -> str:
    """By this a page knows rows that it has read, whatever browsers make of ends of lines."""
    return hashlib.sha256(rows.replace("\r\n", "\n").strip().encode()).hexdigest()


@cache
def example_form(operation: Operation) -> OperationForm:
    """A form with the invented persons or firms of the demonstration.

    >>> example_form(OPERATIONS["rounding"]).texts["by"]
    'branch, state'
    """
    steps, texts = example_texts(operation)
    rows = texts["rows" if operation.on_records else "cells"]
    return OperationForm.begun(operation, steps, {**texts, "known": _digest(rows)})


def _add_page(operation: Operation) -> None:
    permission = LAYOUTS[operation.takes].permission

    allowed = Depends(visit_with(permission))

    def show(
        example: Annotated[str, Query(max_length=20)] = "", visit: Visit = allowed
    ) -> Response:
        form = (example_form if example else OperationForm.begun)(operation)
        return _shown(visit, form.read(visit.service))

    async def form_of(request: Request) -> OperationForm:
        return await OperationForm.sent(operation, request)

    sent = Depends(form_of)

    def run(visit: FormVisit, form: OperationForm = sent) -> Response:
        check_allowed(visit.principal, permission)
        try:
            form = form.read(visit.service)
            if form.texts["act"] in ("add", "read") or form.texts["act"].startswith("remove-"):
                return _shown(visit, form.arranged(), sent=True)
            call = form.call(visit.service, visit.principal.name, visit.language)
            act, most = form.texts["act"], operation.at_once
            download = act == "download" or operation.study is None
            if download:
                most = max(most, operation.waits(call.settings))
            if act == "job" or call.size > most:
                check_allowed(visit.principal, Permission.jobs_own)
                return back_to(f"/jobs/{hand_in_operation(visit, call).id}")
            call = call.hurried()
            if download:
                output = call.output()
                name = output.file_name
                if operation.answer == "table":
                    name = f"{call.request.name}.{FORMATS[form.texts['format']]}"
                return file_response(output.content or b"", name, output.media_type)
            return _shown(visit, form, outcome=_shown_outcome(visit.service, call))
        except DiscreetError as error:
            return _shown(visit, form, problems=error.problems)

    path = f"/{operation.page}"
    router.add_api_route(path, show, methods=["GET"], name=f"show_{operation.name}")
    router.add_api_route(path, run, methods=["POST"], name=f"run_{operation.name}")


def _shown(
    visit: Visit,
    form: OperationForm,
    *,
    outcome: Mapping[str, Any] | None = None,
    problems: Sequence[Problem] = (),
    sent: bool = False,
) -> Response:
    operation, language, frame = form.operation, visit.language, form.frame
    stated, layout = operation.words(operation.name, language), _layout_fields(operation)
    large = len(form.texts[form.rows]) > LONGEST_SHOWN
    roles = role_fields(operation)
    free = roles if frame is not None else ()  # fields whose place the picked columns take
    hidden = {form.rows: "", "known": ""} if large else {}
    return page(
        visit,
        "operation",
        status=422 if problems else 200,
        secret=True,
        title=stated["title"],
        said=stated,
        current_path="/methods/",
        path=f"/{operation.page}",
        form={**form.texts, **hidden},
        rows=form.rows,
        large=large,
        ends=",".join(UPLOAD_ENDS),
        begun=frame is not None or sent or bool(problems),
        columns=[]
        if frame is None
        else [(name, frame[name].head(_FIRST).fill_null("–").to_list()) for name in frame.columns],
        records=0 if frame is None else frame.height,
        roles=[(field, form.texts[field.name].split(", ")) for field in roles],
        steps=form.steps,
        columns_of=[field for field in layout if field.name != "name" and field not in free],
        name_field=next(field for field in layout if field.name == "name"),
        settings=[field for field in setting_fields(operation) if field not in free],
        step_fields={name: setting_fields(row) for name, row in _STEPS.items()},
        methods={name: row.words(name, language)["title"] for name, row in _STEPS.items()},
        most_steps=MOST_STEPS,
        rules=RULE_FIELDS if issubclass(operation.takes, SensitiveSource) else {},
        problems=problems,
        outcome=outcome,
        studied=operation.study is not None,
        most=operation.at_once,
        formats=_formats(operation),
    )


def _shown_outcome(service: Service, call: CellsCall) -> dict[str, Any]:
    study, request, language = call.studied(), call.request, call.request.language
    shown: dict[str, Any] = {
        **{"confidential": "", "remarks": (), "statement": (), "measures": (), "compared": False},
        **{"tables": (), "listed": (), "hidden": False, "notes": (), "named_most": _MOST_NAMED},
        "caption": "cost",
        "code": _code(service, call),
    }
    if isinstance(study, Study):
        before, marks = None, getattr(request, "marks", [])
        if marks:
            bare = request.model_copy(update={"marks": []})
            before = CellsCall.of(service, call.owner, call.operation, call.frame, bare).studied()
        old = {} if before is None else dict(before.measures(language))
        both = study.truth is not None
        by = [dimension.name for dimension in study.table.dimensions]
        table = _rows_and_columns(by, _cells(study, call, by))
        added = 0 if study.truth is None else len(study.truth) - call.frame.height
        remarks = list(study.remarks)
        if added > 0 and getattr(request, "add_totals", False) and not request.records:
            text = words("operation", language)["added"].format(number_text(added, 0, language))
            remarks.append(StudyRemark(manner="care", text={language: text}))
        head = getattr(request, "value", None) or getattr(request, "count", "")
        return shown | {
            "confidential": "confidential" if both else "",
            "remarks": remarks,
            "measures": [(label, old.get(label, ""), text)
                         for label, text in study.measures(language)],
            "compared": before is not None,
            "tables": [{**table, "caption": "both" if both else "published", "about": "",
                        "moved": "", "head": head, "both": both}],
            "listed": list(_listed(study, marks, call)),
            "hidden": study.hidden is not None,
            "notes": study.notes,
        }  # fmt: skip
    shown["caption"] = "package" if call.operation.answer == "package" else "risk"
    if not isinstance(study, RecordsStudy):
        return shown | {"measures": [(label, "", text) for label, text in study.told(language)]}
    spoken, records = words("operation", language), study.made.described.frame.height
    counts = (number_text(number, 0, language) for number in (study.before, records))
    remarks = [StudyRemark(manner="quiet", text={language: spoken["records"].format(*counts)})]
    remarks += [StudyRemark(manner="care", text={language: f"{spoken['warned']} {warning}"})
                for warning in study.made.warnings]  # fmt: skip
    risk = [dict(item.told(language)) for item in study.risk or ()] or [{}, {}]
    tables = []
    for effect in study.tables:
        cells = ((codes, _figure(after, before, 0, language))
                 for codes, before, after in effect.cells)  # fmt: skip
        measures = effect.measures()
        numbers = {name: number_text(measures[name], 0, language) for name in ("cells", "largest")}
        numbers["unchanged"] = percent(measures["unchanged"], language)
        numbers["mean"] = number_text(measures["mean_absolute_deviation"], 2, language)
        tables.append({**_rows_and_columns(effect.by, cells), "caption": "both_counts",
                       "about": " × ".join(effect.by), "head": spoken["records_head"],
                       "moved": spoken["moved"].format(**numbers), "both": True})  # fmt: skip
    return shown | {
        "confidential": "confidential_records",
        "remarks": remarks,
        "statement": study.made.statement[language],
        "measures": [(label, figure, risk[1].get(label, "–")) for label, figure in risk[0].items()],
        "compared": True,
        "tables": tables,
    }


def _code(service: Service, call: CellsCall) -> dict[str, str]:
    """How programs ask the same; rules are secret, and not written there."""
    operation, request = call.operation, call.request
    left_out = {"format", "language", "rules", "marks"}
    left_out |= set() if getattr(request, "cell_key", None) else {"key_grid"}
    # What is looked at in a study only.
    left_out |= {"keys", "tables"} if operation.takes is ChangedSource else set()
    stated = request.model_dump(exclude_defaults=True, exclude=left_out)
    if operation.section:
        stated[operation.section] = call.settings.model_dump(exclude_defaults=True)
        for field in setting_fields(operation):  # contents of files are not written there
            if field.kind == "content" and field.name in stated[operation.section]:
                stated[operation.section][field.name] = "…"
    if hasattr(request, "rules"):
        stated["rules"] = {"minimum_frequency": 3}
    address = f"/api/v1/{operation.address}{operation.ends[0]}"
    name, file = operation.name, "records.csv" if operation.on_records else "cells.csv"
    functions = (f'run(\n        "{name}",', f'dc_service_run(\n  "{name}",')
    suffix = {"report": "json", "package": "zip"}.get(operation.answer, "csv")
    base = service.settings.base_url
    return file_call_texts(base, address, functions, file, stated, suffix=suffix)


def _rows_and_columns(
    by: Sequence[str], cells: Iterable[tuple[tuple[str, ...], Any]]
) -> dict[str, Any]:
    listed = list(cells)
    across = len(by) > 1 and len({codes[-1] for codes, _ in listed}) <= _WIDEST
    stubs = by[:-1] if across else by
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for codes, shown in listed:
        rows.setdefault(codes[: len(stubs)], {})[codes[-1] if across else ""] = shown
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    return {"stubs": stubs, "across": by[-1] if across else "", "columns": columns, "rows": rows}


def _figure(value: float, truth: float, decimals: int, language: str) -> dict[str, Any]:
    difference = value - truth
    digits = 0 if float(truth).is_integer() else 1
    sign = "+" if difference > 0 else ""
    moved = sign + number_text(difference, digits, language) if difference else ""
    return {"figure": number_text(value, decimals, language), "number": 0, "difference": moved,
            "true": number_text(truth, digits, language)}  # fmt: skip


def _cells(
    study: Study, call: CellsCall, by: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
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
    for row in study.table.to_polars(complete=True, labels=False).iter_rows(named=True):
        place, value = tuple(str(row[name]) for name in by), row["value"]
        shown = {"figure": "", "number": numbers.get(place, 0), "true": "", "difference": ""}
        if study.truth is not None:
            shown = _figure(value or 0, true.get(place, 0), decimals, language)
        figure = "·" if value is None else number_text(value, decimals, language)
        yield place, {**shown, "figure": figure}


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
    if _operation.page:
        _add_page(_operation)
