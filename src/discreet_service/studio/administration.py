"""Administration: status and data versions; audit trail, overrides and query log with entries in
words, those of one act folded, raw codes one click away. CONFIDENTIAL. Acts go the way of the
interface, and are written down alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import polars as pl
from fastapi import APIRouter, Depends, Form, Query, Response
from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field

from discreet.publication import harmless, number_text
from discreet_service.audit import AuditKind, LogVerdict
from discreet_service.people import KINDS, ProposalKind
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.studio.policies import POLICY_PERMISSIONS, query_words, table_title
from discreet_service.studio.quality import used_parameters
from discreet_service.web import (
    Act,
    AuditSearch,
    Cell,
    Fold,
    KnownVisit,
    LogSearch,
    NavigationEntry,
    PageTable,
    Part,
    Value,
    Visit,
    address,
    back_to,
    check_allowed,
    detail_page,
    file_response,
    form_visit_with,
    get_config,
    get_ready,
    list_page,
    path_to,
    publish_dataset_version,
    retire_dataset_version,
    search_audit,
    search_log,
    time_text,
    verify_audit,
    visit_with,
    words,
)

router = APIRouter(prefix="/administration", tags=["studio"], include_in_schema=False)

_ANY = (
    Permission.status_read,
    Permission.audit_read,
    Permission.log_read,
    Permission.datasets_publish,
)
NAVIGATION = NavigationEntry(path="/administration", place=150, permissions=_ANY)
_DatasetsPublishForm = Annotated[Visit, Depends(form_visit_with(Permission.datasets_publish))]
#: Pages of administration: path, word, who may.
_PLACES = (
    ("/administration/trail", "trail", (Permission.audit_read,)),
    ("/administration/overrides", "overrides", (Permission.audit_read,)),
    ("/administration/log", "log", (Permission.log_read,)),
    ("/people", "people", (Permission.people_manage,)),
    ("/policies", "policies", POLICY_PERMISSIONS),
    ("/approvals", "approvals", (*POLICY_PERMISSIONS, Permission.audit_read)),
    ("/quality", "quality", (Permission.quality_read,)),
)


@router.get("")
def show_administration(visit: KnownVisit) -> Response:
    """State of the service and data versions, as far as the user may see them."""
    if not any(map(visit.principal.may, _ANY)):
        check_allowed(visit.principal, Permission.status_read)
    may, spoken = visit.principal.may, words("administration", visit.language)
    places = [(Cell(spoken[word], path), spoken[f"{word}_about"])
              for path, word, wanted in _PLACES if any(map(may, wanted))]  # fmt: skip
    parts: list[Any] = [PageTable(("page", "about"), places, "places")] if places else []
    parts += _status(visit) if may(Permission.status_read) else []
    parts += _versions(visit) if may(Permission.datasets_publish) else []
    return detail_page(visit, "administration", parts)


def _versions(visit: Visit) -> list[Any]:
    """The data versions that somebody may publish: drafts that lie in a folder, and others."""
    may, spoken = visit.principal.may, words("administration", visit.language)
    records = visit.service.datasets.records()
    known = {(record.dataset, record.version): record for record in records}
    drafts = sorted(visit.service.datasets.drafts().keys() - known.keys())
    listed = [(*draft, "draft", "–") for draft in drafts]
    listed += [(one.dataset, one.version, one.state, time_text(one.published_at, visit.language))
               for one in records]  # fmt: skip
    acts = {"draft": "publish", "published": "retire"}
    rows = [
        (
            *(dataset, version, Cell(spoken[state], tag="good" if state == "published" else "")),
            since,
            used_parameters(visit, known[dataset, version]) if state == "published" else "–",
            [Act(path=path_to("administration", "datasets", dataset, version), word=act, value=act,
                 about=f"{dataset} {version}", second=act == "retire")
             for act in (acts.get(state),) if act],
        )
        for dataset, version, state, since in listed
        if may(Permission.datasets_publish, dataset)
    ]  # fmt: skip
    columns = ("dataset", "version", "state", "since", "parameters", "acts")
    table = PageTable(columns, rows, "versions", "datasets", "no_datasets")
    return [table] if rows else [table, "datasets_example"]


def _status(visit: Visit) -> list[Any]:
    try:
        ready = get_ready(visit)["status"] == "ready"
        jobs = visit.service.jobs.counts()
    except ServiceError:
        ready, jobs = False, {}
    config, states = get_config(visit), words("job_states", visit.language)
    word, look = ("ready", "good") if ready else ("not_ready", "problem")
    limits = config["limits"]
    numbers = {"instant": limits["cells_instant"], "by_job": limits["cells_job"],
               "keep": config["keep_days"]}  # fmt: skip
    facts = [("version", config["version"])]
    facts += [(name, number_text(one, 0, visit.language)) for name, one in numbers.items()]
    rows = [(states.get(state, state), f"{count:,}") for state, count in jobs.items()]
    return [Part("heading", "status"), Part("note", word, look=look, name="ready"),
            Part("facts", values=facts),
            PageTable(("state", "number"), rows, "job-states", "jobs", "no_jobs")]  # fmt: skip


@router.post("/datasets/{dataset}/{version}")
def change_dataset_version(
    dataset: str,
    version: str,
    visit: _DatasetsPublishForm,
    act: Annotated[Literal["publish", "retire"], Form()],
) -> Response:
    """Let everybody ask a data version, or nobody any more."""
    change = publish_dataset_version if act == "publish" else retire_dataset_version
    change(dataset, version, visit)
    return back_to("/administration")


_Auditor = Annotated[Visit, Depends(visit_with(Permission.audit_read))]
_LogReader = Annotated[Visit, Depends(visit_with(Permission.log_read))]
_AuditVerifyForm = Annotated[Visit, Depends(form_visit_with(Permission.audit_verify))]
#: Entries and rows per page: what fits into a page of 150 kB; and of a file.
_SIZE, _MOST_WRITTEN = 50, 10_000
#: Entries of one act: of the same person, about the same, within so many milliseconds.
_ONE_ACT = 60_000
#: Numbers that say nothing to a reader, and acts of which a row tells all together.
_CODES = re.compile(r"[/:]?\b(?:[0-9a-f]{32}|[0-9a-f]{64})\b")
_ALIKE = frozenset(("login", "logout"))


def _days(more: int) -> BeforeValidator:
    """A day of a form as a time, or the beginning of a later one; forms send what is empty, too."""
    return BeforeValidator(
        lambda day: (
            (day and datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(days=more)) or None
        )
    )


_Since = Annotated[AwareDatetime | None, _days(0)]
_Until = Annotated[AwareDatetime | None, _days(1)]  # The end of the day
_Empty = BeforeValidator(lambda text: text or None)


class _TrailFields(AuditSearch, str_strip_whitespace=True):
    since: _Since = None
    until: _Until = None
    kind: Annotated[AuditKind | None, _Empty] = None
    size: int = _SIZE


class _LogFields(LogSearch, str_strip_whitespace=True):
    since: _Since = None
    until: _Until = None
    principal: Annotated[str, Field(max_length=500, alias="person")] = ""
    verdict: Annotated[LogVerdict | None, _Empty] = None
    size: int = _SIZE


def _fields(visit: Visit, *more: str) -> dict[str, str]:
    """What a form shows filled in."""
    return {name: visit.query_params.get(name, "") for name in ("person", "since", "until", *more)}


def subject_words(about: str) -> str:
    """Subject of an entry, without numbers for machines.

    >>> subject_words("census@2"), subject_words("people:" + "0f" * 16 + "/" + "ab" * 16)
    ('census 2', 'people')
    """
    return _CODES.sub("", about).replace("@", " ").strip()


def act_words(entry: Mapping[str, Any], language: str) -> str:
    """Action of an entry, as a phrase without its subject.

    >>> act_words({"kind": "role_granted", "about": "anna",
    ...            "facts": {"role": "reader", "dataset": "*"}}, "en")
    'granted anna the role reader (data sets: *)'
    """
    spoken = words("acts", language)
    facts = {name: ", ".join(value) if isinstance(value, list) else value
             for name, value in entry["facts"].items()}  # fmt: skip
    kind = str(facts.get("kind", ""))
    if kind in tuple(ProposalKind):
        named = getattr(KINDS[ProposalKind(kind)], language)
    else:
        named = words("job_kinds", language).get(kind, kind)
    decision = spoken.get(f"decision_{facts.get('decision')}", "")
    values = _Known(facts | {"about": subject_words(entry["about"]), "kind": named,
                            "decision": decision})  # fmt: skip
    phrase = spoken.get(str(entry["kind"]), str(entry["kind"]))
    return phrase.format_map(values).strip()


class _Known(dict[str, Any]):
    def __missing__(self, name: str) -> str:
        return "–"


def folded(entries: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Entries of one act together: the same person, about the same, at the same time.

    Logins one after the other are told together, too.
    """
    group: list[Mapping[str, Any]] = []
    for entry in entries:
        if group and not _together(group[-1], entry):
            yield group
            group = []
        group.append(entry)
    if group:
        yield group


def _together(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if one["kind"] in _ALIKE and other["kind"] in _ALIKE:
        return True
    subjects = [subject_words(item["about"]) or item["about"] for item in (one, other)]
    same = one["person"] == other["person"] and subjects[0] == subjects[1]
    return same and abs(one["milliseconds"] - other["milliseconds"]) <= _ONE_ACT


@router.get("/trail")
def show_trail(visit: _Auditor, wanted: Annotated[_TrailFields, Query()]) -> Response:
    """The audit trail, the newest first."""
    return _trail_page(visit, wanted)


@router.post("/trail/verify")
def verify_trail(visit: _AuditVerifyForm) -> Response:
    """Walk the trail and say whether it is whole; that it was done is an entry itself."""
    check_allowed(visit.principal, Permission.audit_read)
    verdict, spoken = verify_audit(visit), words("trail", visit.language)
    word, look = ("whole", "good") if verdict["whole"] else ("broken", "problem")
    counts = "; ".join(f"{spoken[name]}: {verdict[name]:,}" for name in ("entries", "heads"))
    parts = [Part("note", word, [f"{counts}."], look=look, name="verdict"),
             Part("items", values=verdict["problems"])]  # fmt: skip
    return _trail_page(visit, _TrailFields(), parts)


def _trail_page(visit: Visit, wanted: _TrailFields, verdict: Sequence[Part] = ()) -> Response:
    language, spoken = visit.language, words("trail", visit.language)
    if visit.query_params.get("format") == "csv":
        entries = _every(search_audit, visit, wanted, "entries")
        visit.note(AuditKind.trail_exported, facts={"entries": len(entries)})
        columns = ("number", "when", "person", "act", "kind", "about", "facts")
        return _file(visit, "trail", columns, [
            (one["seq"], one["at"], one["person"], act_words(one, language), one["kind"],
             one["about"], _raw(one["facts"]))
            for one in entries
        ])  # fmt: skip
    answer = search_audit(visit, wanted)
    rows = []
    for group in folded(answer["entries"]):
        first, acts = group[0], dict.fromkeys(act_words(one, language) for one in group)
        persons = ", ".join(dict.fromkeys(one["person"] for one in group))
        numbers = f"{group[-1]['seq']}–{first['seq']}" if group[1:] else f"{first['seq']}"
        raw = [f"{one['seq']} · {one['at']} · {one['kind']} · {one['person']} · {one['about']} · "
               f"{_raw(one['facts'])}" for one in group]  # fmt: skip
        when = time_text(first["at"], language)
        rows.append((when, persons, "; ".join(acts), Fold(numbers, raw)))
    head = visit.service.trail.last_signed()
    signed = spoken["no_head"] if head is None else f"{head.seq:,} ({time_text(head.at, language)})"
    kinds = sorted((words("act_kinds", language)[one.value], one.value) for one in AuditKind)
    verify = Act(path="/administration/trail/verify", word="verify")
    return list_page(
        visit,
        "trail",
        ("when", "person", "act", "entry"),
        rows,
        path="/administration/trail",
        fields=_fields(visit, "kind", "about"),
        choices={"kind": {"": spoken["all"], **{kind: label for label, kind in kinds}}},
        older=("cursor", answer["next"]),
        up="administration",
        term="trail",
        before=verdict,
        after=[
            Part("buttons", values=[
                *([verify] if visit.principal.may(Permission.audit_verify) else ()),
                _csv_link(visit, "/administration/trail", spoken["export_csv"]),
                Cell(spoken["export"], "/api/v1/audit/export", look="button", download=True),
                Cell(f"{spoken['head']}: {signed}", look="quiet"),
            ])
        ],
    )  # fmt: skip


def _every(
    search_page: Callable[[Visit, Any], dict[str, Any]], visit: Visit, search: BaseModel, name: str
) -> list[dict[str, Any]]:
    """All rows of a search, as far as a file has room."""
    rows: list[dict[str, Any]] = []
    cursor: int | None = None
    while len(rows) < _MOST_WRITTEN:
        more = {"cursor": cursor, "size": 1000}
        answer = search_page(visit, search.model_copy(update=more))
        rows += answer[name]
        cursor = answer["next"]
        if cursor is None:
            break
    return rows[:_MOST_WRITTEN]


def _file(
    visit: Visit, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> Response:
    """Rows as a CSV file that is no danger to whoever opens it as a sheet."""
    spoken = words(name, visit.language)
    texts = [pl.Series(spoken[column], [str(row[at]) for row in rows], pl.String)
             for at, column in enumerate(columns)]  # fmt: skip
    content = pl.DataFrame([*map(harmless, texts)]).write_csv(line_terminator="\r\n")
    return file_response(content.encode("utf-8-sig"), f"{name}.csv", "text/csv")


def _csv_link(visit: Visit, path: str, word: str) -> Cell:
    pairs = [(name, value) for name, value in visit.query_params.items() if name != "cursor"]
    return Cell(word, address(path, [*pairs, ("format", "csv")]), look="button", download=True)


@router.get("/overrides")
def show_overrides(visit: _Auditor, wanted: Annotated[_TrailFields, Query()]) -> Response:
    """Refusals that two persons set aside, by the trail: who proposed it, who agreed, and why."""
    overridden = wanted.model_copy(update={"kind": AuditKind.refusal_overridden, "about": ""})
    answer = search_audit(visit, overridden)
    rows: list[tuple[Value, ...]] = []
    for one in answer["entries"]:
        agreed = visit.service.approvals.visible(visit.principal, one["facts"]["proposal"])
        place, _, digest = one["about"].partition(":")
        title = table_title(visit, place.partition("@")[0], digest) or subject_words(one["about"])
        rows.append((
            time_text(one["at"], visit.language),
            [title, Fold(subject_words(place), [one["about"]])],
            *(one["facts"]["rule"], one["person"], agreed.decider, agreed.reason),
        ))  # fmt: skip
    columns = ("when", "about", "rule", "person", "second", "reason")
    return list_page(
        visit, "overrides", columns, rows, fields=_fields(visit),
        older=("cursor", answer["next"]), up="administration", term="override",
    )  # fmt: skip


@router.get("/log")
def show_log(visit: _LogReader, wanted: Annotated[_LogFields, Query()]) -> Response:
    """The query log, the newest first; that somebody read it stands in the trail."""
    language, spoken = visit.language, words("log", visit.language)
    ends = {item.value: spoken[item.value] for item in LogVerdict}
    titles: dict[str, str] = {}

    def title(row: Mapping[str, Any]) -> str:
        if row["digest"] not in titles:
            titles[row["digest"]] = query_words(visit.service, row["query"], language)
        return titles[row["digest"]]

    if visit.query_params.get("format") == "csv":
        columns = ("when", "person", "asked", "dataset", "verdict", "rules", "cells", "digest")
        return _file(visit, "log", columns, [
            (one["at"], one["principal"], title(one), f"{one['dataset']} {one['version']}",
             ends[one["verdict"]], ", ".join(one["rules"]), one["cells"], one["digest"])
            for one in _every(search_log, visit, wanted, "rows")
        ])  # fmt: skip
    log = search_log(visit, wanted)
    meaning = words("dashboard", language)
    rows: list[tuple[Value, ...]] = [
        (
            *(time_text(one["at"], language), one["principal"], title(one)),
            f"{one['dataset']} {one['version']}".strip() or "–",
            [Cell(ends[one["verdict"]], tag="problem" * (one["verdict"] == "refused")),
             ", ".join(meaning.get(rule, rule) for rule in one["rules"])],
            Cell(number_text(one["cells"], 0, language), look="number"),
            Fold(", ".join(one["rules"]) or one["mode"],
                 [f"{name}: {one[name]}" for name in ("digest", "query", "milliseconds", "bytes",
                                                      "cache_hit", "caller_key", "parameters")]),
        )
        for one in log["rows"]
    ]  # fmt: skip
    return list_page(visit, "log",
                     ("when", "person", "asked", "dataset", "verdict", "cells", "codes"), rows,
                     fields=_fields(visit, "dataset", "verdict", "digest"),
                     choices={"verdict": {"": spoken["all"], **ends}},
                     older=("cursor", log["next"]), up="administration", term="trail",
                     after=[Part("buttons", values=[
                         _csv_link(visit, "/administration/log", spoken["export_csv"])])],
                     )  # fmt: skip


def _raw(facts: Mapping[str, Any]) -> str:
    texts = ((name, ", ".join(map(str, value)) if isinstance(value, list) else value)
             for name, value in facts.items())  # fmt: skip
    return "; ".join(f"{name}: {value}" for name, value in texts)
