"""Programmes in the studio: write or upload one, see what is wrong with it line by line, and let it
run.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from starlette.datastructures import UploadFile

from discreet.files import toml_value
from discreet_service.datasets import DataVersion
from discreet_service.jobs import Job
from discreet_service.permissions import Permission
from discreet_service.policies import PolicyRefusalError
from discreet_service.problems import ServiceError
from discreet_service.queries import programme_sentences, said_in
from discreet_service.releases import (
    LARGEST,
    ServedRelease,
    StoredProgramme,
    key_sections,
    method_choices,
    parsed,
    programme_completion,
    shelf_of,
    told_problems,
)
from discreet_service.service import Service
from discreet_service.studio.choices import TableChoices
from discreet_service.studio.programme_editor import (
    ProgrammeDraft,
    first_table,
    table_form,
    with_table,
)
from discreet_service.studio.tables import measure_choices, variable_choices
from discreet_service.web import (
    Cell,
    NavigationEntry,
    PageWords,
    Part,
    Visit,
    back_to,
    begin_run,
    check_allowed,
    check_text,
    form_visit_with,
    get_programme_text,
    list_page,
    list_programmes,
    page,
    path_to,
    programme_of,
    take_programme,
    time_text,
    validate_programme,
    visit_with,
    words,
)

router = APIRouter(prefix="/programmes", tags=["studio"], include_in_schema=False)
NAVIGATION = NavigationEntry(path="/programmes", place=50, permissions=(Permission.programmes_run,))

_Producer = Annotated[Visit, Depends(visit_with(Permission.programmes_run))]
_ProgrammesRunForm = Annotated[Visit, Depends(form_visit_with(Permission.programmes_run))]
#: Programmes on a page, lines of one that are shown, and jobs that are looked through.
_SIZE, _LINES, _JOBS = 40, 500, 200
#: Letters of a programme that is read for its heading.
_LONGEST = 50_000


@dataclass(frozen=True, kw_only=True)
class ProgrammeForm:
    """Written or uploaded text, and the form of the open table."""

    pairs: tuple[tuple[str, str], ...] = ()
    content: bytes = b""  # The text, as the interface would get it

    @classmethod
    async def of(cls, request: Request) -> ProgrammeForm:
        """What a form says: of a file that was uploaded its text, whatever was written."""
        form = await request.form()
        pairs = tuple((name, str(value)) for name, value in form.multi_items()
                      if isinstance(value, str))  # fmt: skip
        file = form.get("file")
        if isinstance(file, UploadFile) and file.filename:
            return cls(pairs=pairs, content=await file.read(LARGEST + 1))
        return cls(pairs=pairs, content=dict(pairs).get("text", "").replace("\r\n", "\n").encode())

    @property
    def text(self) -> str:
        """The text, as far as it is one."""
        try:
            return self.content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        except UnicodeDecodeError:
            return ""


_Form = Annotated[ProgrammeForm, Depends(ProgrammeForm.of)]


@router.get("")
def show_programmes(
    visit: _Producer, number: Annotated[int, Query(ge=1, le=1_000_000)] = 1
) -> Response:
    """The programmes that one may work on, the latest first."""
    language, shelf, service = visit.language, shelf_of(visit.service), visit.service
    programmes = list_programmes(visit, number, _SIZE)
    served = service.releases.releases()
    rows = [
        (
            (Cell(title_of_programme(shelf.text(item["id"]), language),
                  path_to("programmes", item["id"])),
             Cell(item["id"][:6], look="quiet")),
            f"{item['dataset']} {item['version'] or ''}",
            Cell(f"{len(shelf.drafts(item['id'])):,}", look="number"),
            [Cell(release, path_to("releases", release))
             for release in published_as(service, item["id"], served).values()],
            item["owner"],
            time_text(item["uploaded"], language),
        )
        for item in programmes["programmes"]
    ]  # fmt: skip
    datasets, spoken = _datasets(visit), words("programmes", language)
    new = Part("buttons", values=[Cell(spoken["new"], "/programmes/new", look="main")])
    lead = new if datasets else Part("note", "no_datasets", look="care")
    columns = ("programme", "dataset", "drafts", "published", "owner", "uploaded")
    return list_page(visit, "programmes", columns, rows,
                     older=("number", programmes["total"] > number * _SIZE and number + 1),
                     before=[lead])  # fmt: skip


@router.get("/new")
def show_new_programme(
    visit: _Producer,
    dataset: Annotated[str, Query(max_length=64)] = "",
    of: Annotated[str, Query(max_length=32)] = "",
) -> Response:
    """A programme with a first table of a data set, or another programme to be changed."""
    if of:
        text = shelf_of(visit.service).text(programme_of(visit, of).id)
    else:
        datasets = _datasets(visit)
        dataset = dataset or (datasets[0] if datasets else "")
        text = _example(visit, dataset) if dataset else ""
    return _editor(visit, ProgrammeDraft(text=text))


@router.post("/new")
def change_new_programme(visit: _ProgrammesRunForm, form: _Form) -> Response:
    """Change a table or the text, say what is wrong, and keep it if that is asked for."""
    act = dict(form.pairs).get("act", "check")
    if not form.text or len(form.content) > LARGEST:
        draft = ProgrammeDraft(text=form.text)
    else:
        draft = ProgrammeDraft.of(form.pairs, form.text, partial(_version_of, visit), act)
    if act not in ("save", "run"):
        return _editor(visit, draft, form)
    try:
        record = take_programme(visit, draft.text.encode() if form.text else form.content)
    except ServiceError as error:
        if error.kind.status >= 500 or error.code == "too-large":
            raise
        return _editor(visit, draft, form, status=422)
    if act == "run":
        try:
            job = begin_run(visit, record.id)
        except PolicyRefusalError as refusal:  # by rules that need the data
            return _editor(visit, draft, form, status=refusal.kind.status, refusal=refusal)
        return back_to(f"/programmes/{record.id}/drafts/{job.id}")
    return back_to(f"/programmes/{record.id}")


@router.get("/{programme}")
def show_programme(programme: str, visit: _Producer) -> Response:
    """A programme: whether it can be run, its text, its drafts."""
    record = programme_of(visit, programme)
    text = bytes(get_programme_text(visit, programme).body).decode()
    try:
        verdict = validate_programme(visit, programme)
    except ServiceError as error:  # of the data set: nothing can be run over it now
        told = {"where": "", "message": error.what, "hint": error.hint}
        verdict = {"valid": False, "version": None, "tables": [], "problems": [told]}
    lines = text.rstrip("\n").split("\n")
    # One's own jobs that have not ended: their drafts are not begun, maybe.
    own = [job.id for job in visit.service.jobs.jobs(visit.principal.name, size=_JOBS).jobs
           if not job.state.final and _makes_draft(job, record)]  # fmt: skip
    numbers = dict.fromkeys([*own, *shelf_of(visit.service).drafts(record.id)])
    states = words("job_states", visit.language)
    return page(
        visit,
        "programme",
        title=title_of_programme(text, visit.language),
        programme=record,
        verdict=verdict,
        problems=told_problems(verdict, lines),
        lines=lines[:_LINES],
        more=max(len(lines) - _LINES, 0),
        drafts=[(number, job_of(visit.service, record, number)) for number in numbers],
        states=states,
        published=published_as(visit.service, record.id),
        key=secrets.token_hex(16),
    )


@router.post("/{programme}/run")
def run_programme_form(
    programme: str, visit: _ProgrammesRunForm, key: Annotated[str, Form(max_length=100)] = ""
) -> Response:
    """Let a job make a draft; the same form sent twice makes one."""
    job = begin_run(visit, programme, key or None)
    return back_to(f"/programmes/{programme}/drafts/{job.id}")


def _editor(
    visit: Visit,
    draft: ProgrammeDraft,
    form: ProgrammeForm | None = None,
    *,
    status: int = 200,
    refusal: ServiceError | None = None,
) -> Response:
    text, language = draft.text, visit.language
    content = text.encode() if text or form is None else form.content
    verdict = check_text(visit, content) if content.strip() else None
    programme: dict[str, Any] = {}
    with suppress(ServiceError):
        programme = parsed(content)
    version = _version_of(visit, programme)
    tables, opened = [], None
    if version is not None:
        prices = {price["table"]: price for price in verdict["prices"]} if verdict else {}
        tables = [
            {"name": name, "sentence": sentence, "price": prices.get(name)}
            for name, sentence in programme_sentences(programme, version, language).items()
        ]
        entry = programme.get("tables", {}).get(draft.opened) if tables else None
        if isinstance(entry, dict):
            opened = _open_table(visit, draft.opened, entry, version, form)
    return page(
        visit,
        "new_programme",
        status=status,
        text=text,
        refusal=refusal,
        verdict=verdict,
        problems=[] if verdict is None else told_problems(verdict, text.split("\n")),
        dataset=str(programme.get("dataset", "")),
        datasets=_datasets(visit),
        completion=programme_completion(version, _datasets(visit)),
        sections=key_sections(),
        tables=tables,
        opened=opened,
        builder=PageWords(words("builder", language)),
        rules=PageWords(words("dashboard", language)),
        rows=min(max(text.count("\n") + 2, 8 if opened else 14), 30),
    )


def _open_table(
    visit: Visit,
    name: str,
    entry: Mapping[str, Any],
    version: DataVersion,
    form: ProgrammeForm | None,
) -> dict[str, Any]:
    """The form of a table: as the table builder's, but levels are those of the data set."""
    language, table = visit.language, table_form(name, entry, version)
    sent = dict(form.pairs) if form is not None else {}
    searched = [(key, text) for key, text in sent.items()
                if key == "open" or key.startswith("find.")]  # fmt: skip
    pairs = [*table.choices.parameters(), *searched]
    choices = TableChoices.of(version, pairs)
    variables = variable_choices(choices, language)
    for variable in variables:
        labels = ", ".join(level["label"] for level in variable["levels"])
        several = len(variable["levels"]) > 1
        codes = labels if several else variable["levels"][0]["codes"]
        chosen = variable["name"] in choices.levels
        variable["levels"] = [{"name": "", "label": "", "codes": codes, "chosen": chosen}]
    return {
        "table": table,
        "units": [(unit.name, said_in(unit.label, language, unit.name))
                  for unit in version.units.values()],
        "unit": choices.unit.name,
        "variables": variables,
        "measures": measure_choices(choices, language, medians=False),
        "protection": _protection_fields(entry, choices.unit.source, version, language),
        "usual": {one: programme_sentences({"tables": {"": entry}}, version, one)[""]
                  for one in ("en", "de")},
    }  # fmt: skip


def _protection_fields(
    entry: Mapping[str, Any], source: str, version: DataVersion, language: str
) -> dict[str, Any]:
    """Methods and rules of a table: what the data set admits, and why not the others."""
    spoken, programme = words("new_programme", language), version.inputs.programme
    base = programme.document
    values = [*(entry.get("value") or ()), ""]
    chosen = (entry.get("protect") or base.defaults.protect or "noise", values[0])

    def title(value: str) -> str:
        return said_in(programme.value(value).title, language, value)

    methods = [
        {
            "value": f"{one.name}:{one.value}".rstrip(":"),
            "label": ": ".join(filter(None, (spoken.get(f"method_{one.name}", one.name),
                                             title(one.value)))),
            "chosen": (one.name, one.value) == chosen,
            "reason": one.reason and spoken.get(f"barred_{one.name}", one.reason),
        }
        for one in method_choices(version, source)
    ]  # fmt: skip
    parts = entry.get("parts") or {}
    return {
        "methods": methods,
        "parts": bool(parts and parts.get("enabled", True)),
        "always": base.parts is not None and base.parts.enabled,
        "thresholds": base.parts is not None,
        "round_to": entry.get("round_to") or "",
        "least": base.defaults.round_to or 1,
    }


def _version_of(visit: Visit, programme: Mapping[str, Any]) -> DataVersion | None:
    """The data that a programme is over; None if there is none that one may use."""
    dataset, version = programme.get("dataset"), programme.get("version")
    if not isinstance(dataset, str) or not visit.principal.may(Permission.programmes_run, dataset):
        return None
    try:
        return visit.service.datasets.version(dataset, str(version) if version else None)
    except ServiceError:
        return None


def published_as(
    service: Service, programme: str, served: Mapping[str, ServedRelease] | None = None
) -> dict[str, str]:
    """Draft → the release that it is now, for drafts of a programme that are served."""
    served = service.releases.releases() if served is None else served
    return {
        draft: release
        for release, draft, seal in service.publications.published_of(programme)
        if release in served and served[release].identity == seal
    }


def job_of(service: Service, record: StoredProgramme, draft: str) -> Job | None:
    """The job that makes a draft, or made it; None if it is forgotten, or is about another one."""
    try:
        job = service.jobs.job(draft, None)
    except ServiceError:
        return None
    return job if _makes_draft(job, record) else None


def _makes_draft(job: Job, record: StoredProgramme) -> bool:
    return job.kind == "programme" and job.asked().get("programme") == record.id


def _datasets(visit: Visit) -> list[str]:
    datasets = [
        record.dataset
        for record in visit.service.datasets.records()
        if record.state == "published"
        and visit.principal.may(Permission.programmes_run, record.dataset)
    ]
    return [*dict.fromkeys(datasets)]


def title_of_programme(text: str, language: str) -> str:
    """The heading of a programme; its first tables if it has none.

    >>> title_of_programme('title = { en = "People" }', "de")
    'People'
    """
    if len(text) > _LONGEST:
        return "…"
    try:
        raw = parsed(text.encode())
    except ServiceError:
        return "–"
    told = raw.get("title")
    if isinstance(told, dict):
        told = said_in({k: v for k, v in told.items() if isinstance(v, str)}, language)
    if isinstance(told, str) and told:
        return told[:200]
    tables = raw.get("tables")
    return ", ".join(list(tables)[:3])[:200] if isinstance(tables, dict) and tables else "–"


def _example(visit: Visit, dataset: str) -> str:
    check_allowed(visit.principal, Permission.programmes_run, dataset)
    version = visit.service.datasets.version(dataset)
    titles = dict(visit.service.datasets.record(dataset, version.version).facts.get("title") or {})
    lines = [
        f"dataset = {toml_value(dataset)}",
        f"title = {toml_value({item: titles.get(item, dataset) for item in ('en', 'de')})}",
        'languages = ["en", "de"]',
        "",
        "[defaults]",
        'formats = ["csv", "html"]',
    ]
    text = "\n".join(lines) + "\n"
    return with_table(text, next(iter(version.units)), first_table(version))
