"""Policies as pages: what may be asked, how that changes, why something was refused; and logged
queries in words. Confidential contents are shown to those who may see them, and not kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response

from discreet.publication import number_text
from discreet_service.audit import shown_query
from discreet_service.people import ProposalKind, ProposalState
from discreet_service.permissions import Permission, Principal
from discreet_service.policies import (
    POLICY_FILE,
    PoliciesInForce,
    PolicyDocument,
    PolicyError,
    PolicySentence,
    limit_use,
    policy_differences,
    policy_history,
    policy_sentences,
    refusals_by_rule,
    refused_tables,
)
from discreet_service.problems import ServiceError
from discreet_service.queries import PreparedQuery, policy_effect, said_in, universe_of
from discreet_service.service import Service
from discreet_service.web import (
    Cell,
    KnownVisit,
    NavigationEntry,
    OverrideWanted,
    PageForm,
    PageTable,
    Part,
    PolicyChange,
    Value,
    Visit,
    area_report,
    back_to,
    check_allowed,
    detail_page,
    explained_refusal,
    file_response,
    form_visit_with,
    list_page,
    page,
    path_to,
    propose_override,
    propose_policy,
    sent,
    time_text,
    visit_with,
    words,
)

router = APIRouter(prefix="/policies", tags=["studio"], include_in_schema=False)

#: Who finds the pages of policies in the navigation.
POLICY_PERMISSIONS = (
    Permission.policies_propose,
    Permission.policies_approve,
    Permission.refusals_explain,
    Permission.refusals_override,
)
NAVIGATION = NavigationEntry(path="/policies", place=120, permissions=POLICY_PERMISSIONS)
_Approver = Annotated[Visit, Depends(visit_with(Permission.policies_approve))]
_Explainer = Annotated[Visit, Depends(visit_with(Permission.refusals_explain))]
_Proposer = Annotated[Visit, Depends(visit_with(Permission.policies_propose))]
_PoliciesProposeForm = Annotated[Visit, Depends(form_visit_with(Permission.policies_propose))]
_RefusalsOverrideForm = Annotated[Visit, Depends(form_visit_with(Permission.refusals_override))]
_Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
#: What two persons cannot set aside: it holds for what was released before.
_FIRM = frozenset(("P1", "P8", "P9"))
_MOST_PAIRS = 200
#: Tables that an effect names, and letters of a form.
_MOST_TABLES, _LONGEST = 10, 200_000


@dataclass(frozen=True, kw_only=True)
class DraftPolicy:
    """A policy that somebody is changing: by its limits, or by its text if that was changed."""

    text: str  # How it is written
    document: PolicyDocument | None  # What it says; None if it cannot be read
    fields: Mapping[str, str]  # Limits as they were filled in, by their keys
    error: PolicyError | None = None  # What is wrong with it

    @classmethod
    def of(cls, sent: Mapping[str, str], now: PolicyDocument) -> DraftPolicy:
        """Read a form; a changed limit makes the next revision of the policy in force."""
        # Forms end lines as old teleprinters did; the signature is of the file as it was written.
        text, known = (sent.get(name, "").replace("\r\n", "\n") for name in ("policy", "known"))
        fields = {name: value for name, value in sent.items() if "." in name}
        try:
            document = PolicyDocument.of_text(text)
            if text == known:
                limits = {one.place: _limit(one, fields[one.place])
                          for one in policy_sentences(document, "en")
                          if one.place in fields
                          and fields[one.place].strip() != _filled(one)}  # fmt: skip
                if limits:
                    text = document.changed(limits, max(now.revision + 1, document.revision))
                    document = PolicyDocument.of_text(text)
        except PolicyError as error:
            return cls(text=text, document=None, fields=fields, error=error)
        return cls(text=text, document=document, fields={})


def _filled(one: PolicySentence) -> str:
    """A limit as it stands in its field."""
    if isinstance(one.value, list):
        return ", ".join(map(str, one.value))
    if one.percent:
        return f"{round(100 * one.value, 6):g}"
    whole = isinstance(one.value, float) and one.value.is_integer()
    return str(int(one.value) if whole else one.value)


def _limit(one: PolicySentence, text: str) -> Any:
    """What was filled in; what is no number stays as it is, and the policy says what is wrong."""
    if isinstance(one.value, list):
        parts = [word for part in text.split(",") if (word := part.strip())]
        numbers = bool(one.value) and isinstance(one.value[0], int)
        return [int(word) if numbers and word.isdecimal() else word for word in parts]
    if isinstance(one.value, str):
        return text.strip()
    try:
        number = float(text.replace(",", ".")) if "," in text else float(text)
    except ValueError:
        return text
    if one.percent:
        return round(number / 100, 10)
    return int(number) if number.is_integer() and isinstance(one.value, int) else number


async def _sent_texts(request: Request) -> dict[str, str]:
    form = await request.form()
    return {name: value[:_LONGEST] for name, value in form.items() if isinstance(value, str)}


@router.get("")
def show_policies(visit: KnownVisit) -> Response:
    """The data versions, and which policy holds for each."""
    _check_any(visit.principal)
    spoken, rows = words("policies", visit.language), []
    for record in visit.service.datasets.records():
        if any(visit.principal.may(item, record.dataset) for item in POLICY_PERMISSIONS):
            with visit.service.database.reading() as connection:
                states = policy_history(connection, record.dataset, record.version)
            active = next((one for one in states if one.state == "active"), None)
            waiting = sum(one.state == "proposed" for one in states)
            here = path_to("policies", record.dataset, record.version)
            row: list[Value] = [Cell(f"{record.dataset} {record.version}", here), record.version]
            if active is None:
                row += [Cell(spoken["none"], tag="problem"), "–", "–", "–"]
            else:
                row += [Cell(spoken["active"], tag="good"), str(active.revision),
                        time_text(active.activated, visit.language),
                        Cell(active.signer, look="code")]  # fmt: skip
            rows.append([*row, Cell(str(waiting), "/approvals") if waiting else "–"])
    columns = ("dataset", "version", "state", "revision", "since", "signer", "waiting")
    return list_page(visit, "policies", columns, rows, term="policy", table="versions")


@router.get("/{dataset}/{version}")
def show_one_policy(dataset: str, version: str, visit: KnownVisit) -> Response:
    """One policy: limits, history, refusals, checks, and the form to propose another."""
    return _policy_page(visit, dataset, version)


@router.get("/{dataset}/{version}/changes")
def draft_policy(dataset: str, version: str, visit: _Proposer) -> Response:
    """The limits in force as a form, to be changed. CONFIDENTIAL."""
    in_force = _in_force(visit.service, dataset, version)
    with visit.service.database.reading() as connection:
        signed = in_force.signed(connection, dataset, version)
    return _draft_page(visit, DraftPolicy(text=signed.text, document=signed.document, fields={}),
                       signed.document, {})  # fmt: skip


@router.post("/{dataset}/{version}/changes")
def change_draft(
    dataset: str,
    version: str,
    visit: _PoliciesProposeForm,
    sent: Annotated[dict[str, str], Depends(_sent_texts)],
) -> Response:
    """Show the effect of a changed policy, return its file, or propose it."""
    now = _in_force(visit.service, dataset, version).held(dataset, version).document
    draft, act = DraftPolicy.of(sent, now), sent.get("act", "check")
    if act == "file" and draft.document is not None:
        return file_response(draft.text.encode(), POLICY_FILE, "application/toml")
    if act != "propose":
        return _draft_page(visit, draft, now, sent)
    given = PolicyChange(policy=draft.text, signature=sent.get("signature", "").strip()[:1_000],
                         reason=sent.get("reason", "")[:2_000])  # fmt: skip
    try:
        propose_policy(dataset, version, given, visit)
    except ServiceError as error:
        if error.code not in ("invalid-input", "conflict"):
            raise
        return _draft_page(visit, draft, now, sent, error)
    return back_to("/approvals")


def _draft_page(
    visit: Visit,
    draft: DraftPolicy,
    now: PolicyDocument,
    sent: Mapping[str, str],
    error: ServiceError | None = None,
) -> Response:
    language, shown = visit.language, draft.document or now
    if error is None and draft.error is not None:
        error = ServiceError(draft.error.what, "invalid-input", problems=draft.error.problems)
    entries: list[dict[str, Any]] = [
        {
            "sentence": one,
            "value": draft.fields.get(one.place, _filled(one)),
            "wrong": error is not None and any(one.place in each.where for each in error.problems),
        }
        for one in policy_sentences(shown, language)
        if one.place != "custom_groups.groups"  # whole tables: changed in the text
    ]
    by_rule = groupby(entries, lambda each: each["sentence"].rule)
    answers, service = visit.service.answers, visit.service
    effect = draft.document and policy_effect(
        answers, service.query_log, service.database, draft.document
    )
    place = path_to("policies", now.dataset, now.version)
    return page(
        visit,
        "policy_draft",
        secret=True,
        place=place,
        about=f"{now.dataset} {now.version}",
        rules=[(rule, [*group]) for rule, group in by_rule],
        draft=draft,
        error=error,
        differences=policy_differences(now, shown, language),
        effect=effect,
        most=_MOST_TABLES,
        signature=sent.get("signature", ""),
        reason=sent.get("reason", ""),
    )


@router.get("/{dataset}/{version}/refusals/{digest}")
def show_refusal(dataset: str, version: str, digest: _Digest, visit: _Explainer) -> Response:
    """Why a table was refused, and the form to answer it nevertheless. CONFIDENTIAL."""
    parts, refusing = refusal_parts(visit, dataset, version, digest)
    if visit.principal.may(Permission.refusals_override, dataset):
        firm = ", ".join(sorted(refusing & _FIRM))
        lead = ["override_about", Part("term", "what_override", text="override"),
                *([Part("note", "firm", [firm], look="care")] if firm else [])]  # fmt: skip
        parts.append(PageForm(path=visit.url.path, model=OverrideWanted, send="override",
                          heading="override", parts=lead))  # fmt: skip
    return _part_page(visit, dataset, version, parts, "title_refusal", f": {dataset} {version}")


def refusal_parts(
    visit: Visit, dataset: str, version: str, digest: str
) -> tuple[list[Any], set[str]]:
    """Why a table was refused and what it asks for, and the rules that refused it. CONFIDENTIAL.

    The parts of a page have the words of `policy`.
    """
    visit.service.datasets.record(dataset, version)
    refusal = explained_refusal(visit, dataset, version, digest)
    logged = visit.service.query_log.search(dataset=dataset, digest=digest, size=1).rows
    spoken, failed = words("policy", visit.language), ("refused", "failed")
    meaning = words("dashboard", visit.language)
    rules = [
        (f"{one['rule']}: {meaning.get(one['rule'], '')}",
         Cell(spoken[f"outcome_{one['outcome']}"], tag="problem" * (one["outcome"] in failed)),
         one["explanation"] or "–")
        for one in refusal["rules"]
    ]  # fmt: skip
    parts: list[Any] = [
        Part(
            "facts",
            values=[
                ("who", refusal["principal"]),
                ("when", time_text(refusal["refused_at"], visit.language)),
            ],
        ),
        Part("note", "table", [Cell(digest, look="code")], look="quiet"),
        PageTable(("rule", "outcome", "explanation"), rules, "rule-table", "rules"),
    ]
    if logged:
        query = _asked(visit.service, json.loads(logged[0].query), visit.language)
        rows = [(name, spoken[f"part_{place}"], levels or "–", codes or spoken["all_codes"])
                for place, name, levels, codes in query]  # fmt: skip
        columns = ("variable", "part", "level", "codes")
        parts.append(PageTable(columns, rows, "query", "asked", ""))
    return parts, {one["rule"] for one in refusal["rules"] if one["outcome"] in failed}


@router.post("/{dataset}/{version}/refusals/{digest}")
def override_by_form(
    dataset: str,
    version: str,
    digest: _Digest,
    visit: _RefusalsOverrideForm,
    wanted: Annotated[OverrideWanted, Depends(sent(OverrideWanted))],
) -> Response:
    """Propose to answer a table that was refused."""
    propose_override(dataset, version, digest, wanted, visit)
    return back_to("/approvals")


@router.get("/{dataset}/{version}/areas/{unit}")
def show_areas(dataset: str, version: str, unit: str, visit: _Approver) -> Response:
    """Areas and classifications that hold nearly the same people. CONFIDENTIAL, no numbers."""
    report = area_report(visit, dataset, version, unit)
    label = visit.service.datasets.version(dataset, version).units[unit].label
    least, count = f"{report.least}.", len(report.differences)
    parts: list[Any] = ["areas_about"]
    if not count:
        parts.append(Part("note", "areas_none", [least], look="good"))
    else:
        levels = [(name, f"{number:,}") for name, number in report.levels.items()]
        merges = [f"{name} {code}" for name, code in report.merges]
        pairs = [(f"{one.first} {one.first_code}", f"{one.second} {one.second_code}")
                 for one in report.differences[:_MOST_PAIRS]]  # fmt: skip
        parts += [
            Part("note", "areas_pairs", [least], look="problem", lead=f"{count:,}"),
            PageTable(("level", "pairs"), levels, "level-table", "areas_levels"),
            Part("heading", "areas_merges"),
            Part("items", values=[*merges[:_MOST_PAIRS], *_more(len(merges))]),
            PageTable(("first", "second"), pairs, "pair-table", "pairs"),
            Part("items", values=_more(count)),
        ]
    about = f": {said_in(label, visit.language, unit)}"
    parts.append(Part("note", "traced", look="quiet"))
    return _part_page(visit, dataset, version, parts, "title_areas", about)


def _more(count: int) -> list[str]:
    return [f"+ {count - _MOST_PAIRS:,}"] if count > _MOST_PAIRS else []


def _part_page(
    visit: Visit, dataset: str, version: str, parts: Sequence[Any], word: str, about: str
) -> Response:
    above = f"{words('base', visit.language)['policies']}: {dataset} {version}"
    title = f"{words('policy', visit.language)[word]}{about}"
    return detail_page(visit, "policy", parts, title=title, secret=True,
                       up=(path_to("policies", dataset, version), above))  # fmt: skip


def _check_any(principal: Principal, dataset: str = "") -> None:
    if not any(principal.may(item, dataset) for item in POLICY_PERMISSIONS):
        check_allowed(principal, Permission.refusals_explain, dataset)


def _in_force(service: Service, dataset: str, version: str) -> PoliciesInForce:
    service.datasets.record(dataset, version)
    service.policies.in_force.ensure(dataset, version)
    return service.policies.in_force


def _policy_page(visit: Visit, dataset: str, version: str) -> Response:
    _check_any(visit.principal, dataset)
    in_force, language = _in_force(visit.service, dataset, version), visit.language
    proposals = visit.service.approvals.proposals(visit.principal, ProposalState.open)
    changes = {one.digest: path_to("approvals", one.id) for one in proposals
               if one.kind is ProposalKind.policy_change}  # fmt: skip
    approves = visit.principal.may(Permission.policies_approve, dataset)
    explains = visit.principal.may(Permission.refusals_explain, dataset)
    with visit.service.database.reading() as connection:
        signed = in_force.signed(connection, dataset, version)
        states = policy_history(connection, dataset, version)
        refused = refused_tables(connection, dataset, version) if explains else []
        use = limit_use(connection, signed.document, visit.service.clock()) if approves else {}
        refusals = refusals_by_rule(connection, dataset, version) if explains else {}
    spoken, here = words("policy", language), path_to("policies", dataset, version)
    sentences = policy_sentences(signed.document, language)
    limits = [_rule_row([*group], use, refusals, approves, explains, language)
              for _, group in groupby([one for one in sentences if one.public or approves],
                                      lambda one: one.rule)]  # fmt: skip
    columns: Sequence[str] = ("rule", "limits", *(["use"] if approves else ()),
                              *(["refused"] if explains else ()))  # fmt: skip
    parts: list[Any] = [
        PageTable(columns, limits, "limit-table", "title_limits"),
        *(() if approves else [Part("note", "limits_about", look="quiet")]),
        Part("term", "what", text="policy"),
    ]
    if visit.principal.may(Permission.policies_propose, dataset):
        parts.append(Part("buttons", values=[Cell(spoken["change"], f"{here}/changes",
                                                  look="main")]))  # fmt: skip
    if approves:
        named = f"{signed.signer}; SHA-256: {signed.document.digest}"
        parts += [Part("note", "signer", [Cell(named, look="code")], look="quiet"),
                  Part("source", "document", text=signed.text, name="POLICY.toml")]  # fmt: skip
    history = [
        (
            str(one.revision),
            [Cell(spoken[one.state], tag="good" * (one.state == "active")),
             *([Cell(spoken["look"], changes[one.digest])] if one.digest in changes else ())],
            time_text(one.activated, visit.language),
            time_text(one.retired, visit.language),
            Cell(one.signer, look="code"),
        )
        for one in states
    ]  # fmt: skip
    columns = ("revision", "state", "since", "until", "signer")
    parts.append(PageTable(columns, history, "history-table", "history"))
    if explains:
        rows = [
            (Cell(table_title(visit, dataset, one.digest) or one.digest[:16],
                  f"{here}/refusals/{one.digest}"),
             time_text(one.at, visit.language), one.principal, ", ".join(one.rules))
            for one in refused
        ]  # fmt: skip
        columns = ("table", "when", "who", "rules")
        parts += [PageTable(columns, rows, "refused-table", "refusals", "no_refusals"),
                  *([Part("note", "traced", look="quiet")] if rows else ())]  # fmt: skip
    if approves:
        units = visit.service.datasets.version(dataset, version).units
        labels = [Cell(said_in(unit.label, language, name), f"{here}{path_to('areas', name)}",
                       look="button") for name, unit in units.items()]  # fmt: skip
        parts += [
            Part("heading", "areas"),
            "areas_about",
            Part("buttons", values=labels),
        ]
    return detail_page(visit, "policy", parts, title=f"{spoken['title']}: {dataset} {version}",
                       up=("/policies", words("base", language)["policies"]),
                       secret=True)  # fmt: skip


def _rule_row(
    sentences: Sequence[PolicySentence],
    use: Mapping[str, tuple[float, float]],
    refusals: Mapping[str, int],
    approves: bool,
    explains: bool,
    language: str,
) -> list[Value]:
    """What one rule says, how much of its limits is used, and how many tables it refused."""
    first = sentences[0]
    # When staff is alerted is no limit for callers; it stands in the form.
    texts = [one.text for one in sentences if not one.place.endswith((".alert", ".together"))]
    row: list[Value] = [f"{first.heading} ({first.rule})", " ".join(texts)]
    used = [use[one.place] for one in sentences if one.place in use]
    if approves:
        number, limit = max(used, key=lambda one: one[0] / one[1], default=(0, 0))
        of = words("policy", language)["of"]
        row.append(f"{number_text(number, 0, language)} {of} {number_text(limit, 0, language)}"
                   if used else "–")  # fmt: skip
    if explains:
        row.append(Cell(number_text(refusals.get(first.rule, 0), 0, language), look="number"))
    return row


def _asked(
    service: Service, query: Mapping[str, Any], language: str
) -> list[tuple[str, str, str, str]]:
    units = service.datasets.version(query["dataset"], query["version"]).units
    variables = units[query["unit"]].variables if query["unit"] in units else {}
    found = []
    for place in ("by", "where"):
        for one in query.get(place, ()):
            variable = variables.get(one["variable"])
            numbers = one["levels"] if place == "by" else [one["level"]]
            name, levels = one["variable"], ", ".join(map(str, numbers))
            if variable is not None:
                name = f"{variable.tree.title(language)} ({name})"
                levels = ", ".join(
                    variable.level(number).name
                    for number in numbers
                    if 0 < number < len(variable.cuts)
                )
            found.append((place, name, levels, ", ".join(map(str, one["codes"] or []))))
    return found


#: Of long lists of codes the log keeps the first ones, and this.
_LEFT_OUT = re.compile(r"and \d+ more")


def prepared_again(service: Service, query: Mapping[str, Any]) -> PreparedQuery | None:
    """A query of the log as it was asked; None if the log keeps a part of it only."""
    codes = [str(code) for part in ("by", "where")
             for one in query.get(part, ()) for code in one["codes"] or ()]  # fmt: skip
    if "unit" not in query or any(map(_LEFT_OUT.fullmatch, codes)):
        return None
    try:
        return service.answers.again_of({"query": query, "measures": [], "by": []})
    except (ServiceError, LookupError, ValueError):  # the data set has changed, or is gone
        return None


def query_words(service: Service, query: Mapping[str, Any], language: str) -> str:
    """A query of the log in words; its data set alone where no more is known."""
    if "protect" in query:
        spoken = words("log", language)["protected_cells"]
        return spoken.format(set=f"{query['parameter_set']} {query['version']}")
    prepared = prepared_again(service, query)
    if prepared is None:
        names = [str(one["variable"]) for part in ("by", "where") for one in query.get(part, ())]
        return ", ".join([str(query.get("unit", query.get("dataset", "–"))), *names])
    unit = prepared.version.units[prepared.query.unit]
    counted = said_in(unit.label, language, unit.name)
    by = []
    for one in prepared.query.by:
        variable = unit.variables[one.variable]
        names = [variable.level(number).name for number in one.levels]
        levels = ", ".join(name for name in names if not name.isdecimal())
        title = variable.tree.title(language)
        by.append(f"{title} ({levels})" if levels else title)
    title = counted + (words("log", language)["by"] + ", ".join(by) if by else "")
    filtered = said_in(universe_of(prepared.query, unit, {}), language)
    return f"{title} ({filtered})" if filtered else title


def table_title(visit: Visit, dataset: str, digest: str) -> str:
    """The table of a fingerprint in words; empty if the log has forgotten it."""
    rows = visit.service.query_log.search(dataset=dataset, digest=digest, size=1).rows
    return query_words(visit.service, shown_query(rows[0])["query"], visit.language) if rows else ""
