"""Approvals: what waits for a second person, each with its content, what differs from what holds,
and its effect. SECRET and CONFIDENTIAL contents are for those who may see them, and not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, Response

from discreet.publication import number_text
from discreet_service.audit import AuditKind
from discreet_service.parameter_sets import ParameterSet
from discreet_service.people import KINDS, Proposal, ProposalKind, ProposalState
from discreet_service.permissions import ALL, Permission
from discreet_service.policies import PolicyDocument, limits_of, policy_differences
from discreet_service.problems import ServiceError
from discreet_service.queries import policy_effect, said_in
from discreet_service.studio.design_charts import design_charts, figures_of
from discreet_service.studio.design_wishes import AssessedDesign, changed_share, published_counts
from discreet_service.studio.drafts import shown_changes, tally
from discreet_service.studio.policies import refusal_parts, table_title
from discreet_service.studio.quality import users_of
from discreet_service.studio.verdicts import release_verdict
from discreet_service.web import (
    Cell,
    FormVisit,
    KnownVisit,
    NavigationEntry,
    PageTable,
    PageWords,
    Part,
    ProposalId,
    Value,
    Visit,
    back_to,
    compare_draft,
    decide_proposal,
    list_page,
    page,
    path_to,
    time_text,
    words,
)

router = APIRouter(prefix="/approvals", tags=["studio"], include_in_schema=False)

#: Pictures of designs that say what a second person has to weigh; none shows an order of keys.
_WEIGHED = ("noise", "quality", "risk", "attack")
#: Content of a proposal for its template: `parts_of_page`, the effect first, `further` parts below
#: what the template draws, and what it draws of some proposals only.
ProposedContent = dict[str, Any]


def may_decide(visit: Visit, proposal: Proposal) -> bool:
    """Whether somebody is offered a decision; `Approvals` looks again, and closer."""
    needed = KINDS[proposal.kind].approve
    return (
        proposal.state is ProposalState.open
        and proposal.proposer != visit.principal.name
        and visit.principal.may(needed, proposal.dataset or ALL)
    )


def waiting_proposals(visit: Visit) -> list[Proposal]:
    """The open proposals that somebody can decide on."""
    proposals = visit.service.approvals.proposals(visit.principal, ProposalState.open)
    return [one for one in proposals if may_decide(visit, one)]


NAVIGATION = NavigationEntry(
    path="/approvals",
    place=130,
    permissions=(
        Permission.parameters_activate,
        Permission.policies_approve,
        Permission.refusals_override,
    ),
    count=lambda visit: len(waiting_proposals(visit)),
)


def proposal_title(visit: Visit, proposal: Proposal) -> str:
    """Title of a proposal."""
    kind: str = getattr(KINDS[proposal.kind], visit.language)
    place, _, rest = proposal.subject.partition(":")
    name, _, version = place.partition("@")
    subject = f"{name} {version}".strip()
    if proposal.kind is ProposalKind.refusal_override:
        subject = table_title(visit, name, rest) or subject
    return f"{kind}: {subject}"


@router.get("")
def show_approvals(
    visit: KnownVisit, state: Annotated[str, Query(max_length=20)] = ProposalState.open.value
) -> Response:
    """The proposals that somebody may see: those that wait, or all."""
    spoken = words("approvals", visit.language)
    choices = {item.value: spoken[item.value] for item in ProposalState} | {"": spoken["all"]}
    if state not in choices:
        raise ServiceError("unknown filter", "invalid-input", "state")
    proposals = visit.service.approvals.proposals(
        visit.principal, ProposalState(state) if state else None
    )
    looks = {ProposalState.approved: "good", ProposalState.rejected: "problem"}
    rows: list[tuple[Value, ...]] = [
        (
            Cell(proposal_title(visit, one), path_to("approvals", one.id)),
            one.reason,
            one.proposer,
            time_text(one.proposed, visit.language),
            [Cell(spoken[one.state.value], tag=looks.get(one.state, "")),
             *([Cell(spoken["yours"], tag="problem")] if may_decide(visit, one) else ())],
            f"{spoken['until']} {time_text(one.expires, visit.language)}"
            if one.state is ProposalState.open
            else [f"{one.decider or '–'}, {time_text(one.decided, visit.language)}",
                  Cell(one.remark, look="quiet")],
        )
        for one in proposals
    ]  # fmt: skip
    columns = ("proposal", "reason", "proposer", "when", "state", "decision")
    return list_page(visit, "approvals", columns, rows, fields={"state": state},
                     choices={"state": choices}, table="proposals")  # fmt: skip


@router.get("/{proposal}")
def show_proposal(proposal: ProposalId, visit: KnownVisit) -> Response:
    """One proposal: what it contains, what it changes, what follows, and the decision."""
    return _proposal_page(visit, visit.service.approvals.visible(visit.principal, proposal))


@router.post("/{proposal}")
def decide_by_form(
    proposal: ProposalId,
    visit: FormVisit,
    act: Annotated[Literal["approve", "reject", "withdraw"], Form()],
    digest: Annotated[str, Form(pattern="^[0-9a-f]{64}$")],
    reason: Annotated[str, Form(max_length=10_000)] = "",
) -> Response:
    """Approve, send back with a remark, or withdraw."""
    stated = {"approve": digest, "reject": reason, "withdraw": ""}[act]
    decide_proposal(visit, proposal, act, stated)
    return back_to("/approvals")


def _proposal_page(visit: Visit, proposal: Proposal) -> Response:
    spoken = words("approvals", visit.language)
    facts = [
        ("proposer", proposal.proposer),
        ("when", time_text(proposal.proposed, visit.language)),
        ("until", time_text(proposal.expires, visit.language)),
    ]
    if proposal.state is not ProposalState.open:
        decided = f"{proposal.decider or '–'}, {time_text(proposal.decided, visit.language)}"
        facts[2:] = [("state", spoken[proposal.state.value]), ("decider", decided)]
    parts: list[Any] = [Part("facts", values=facts),
                        Part("note", "because", [proposal.reason])]  # fmt: skip
    parts += [Part("note", "remark", [proposal.remark], look="care")] if proposal.remark else []
    content: ProposedContent = {}
    seen = True
    if proposal.state is ProposalState.open:
        try:
            content = _CONTENTS[proposal.kind](visit, proposal)
        except ServiceError as error:
            parts.append(Part("wrong", error=error))
            seen = False
    return page(
        visit,
        "approval",
        secret=True,
        said_in="policy approvals",
        title=proposal_title(visit, proposal),
        up=("/approvals", spoken["title"]),
        proposal=proposal,
        mine=proposal.state is ProposalState.open and proposal.proposer == visit.principal.name,
        decides=may_decide(visit, proposal),
        seen=seen,
        **content | {"parts_of_page": [*parts, *content.get("parts_of_page", ())]},
    )


_HIDDEN: ProposedContent = {"parts_of_page": [Part("note", "not_shown", look="quiet")]}


# Parameter sets -------------------------------------------------------------------------------


def set_page(visit: Visit, name: str, version: str) -> Response:
    """A proposed parameter set that nobody has proposed to use yet."""
    up = ("/designs/sets", words("approvals", visit.language)["to_sets"])
    return page(visit, "approval", secret=True, said_in="approvals", title=f"{name} {version}",
                up=up, proposal=None, **proposed_set(visit, name, version))  # fmt: skip


def proposed_set(visit: Visit, name: str, version: str) -> ProposedContent:
    """A proposed parameter set beside the one in use, and what it would change. SECRET.

    That somebody looked at it stands in the trail.
    """
    language, service = visit.language, visit.service
    spoken = words("designs", language)
    draft, opened = service.parameter_sets.draft(name, version)
    visit.note(AuditKind.draft_looked_at, draft.subject, {"version": draft.version})
    sets, designs = [f"{name} {version}"], [AssessedDesign(table=opened.perturbation_table)]
    parts: list[Any] = []
    further: list[Any] = []
    try:
        used, in_use = service.parameter_sets.parameters(name)
    except ServiceError as error:
        if error.code != "unknown-parameter-set":
            raise
        parts.append(Part("note", "first_set"))
    else:
        sets.insert(0, f"{used.name} {used.version}")
        designs.insert(0, AssessedDesign(table=in_use.perturbation_table))
        parts, further = _set_effect(visit, used, designs)
        before, after = (
            dict(limits_of({
                "rules": one.rules.model_dump(mode="json"),
                "figures": one.figures.model_dump(mode="json"),
                "parts": one.parts and one.parts.model_dump(mode="json"),
                "official": one.official,
                "keys": one.keys.model_dump(mode="json"),
                "magnitudes": {key: value.entry.model_dump(mode="json")
                               for key, value in one.magnitudes.items()},
            }))
            for one in (in_use, opened)
        )  # fmt: skip
        rows: list[tuple[Value, ...]] = [
                (Cell(key, look="code"), _setting(before.get(key)), _setting(after.get(key)))
                for key in dict.fromkeys([*before, *after])
                if before.get(key) != after.get(key)
        ]  # fmt: skip
        further += ["no_settings"] if not rows else [
            PageTable(("setting", "now", "then"), rows, "settings", "other_settings")
        ]  # fmt: skip
    charts = design_charts(designs, None, spoken, language)
    return {
        "parts_of_page": parts,
        "further": further,
        "compared_sets": sets,
        "figures": [(spoken["noise_most"], [str(one.table.max_noise) for one in designs]),
                    *figures_of(designs, spoken, language)],
        "charts": [one for one in charts if one.name in _WEIGHED],
    }  # fmt: skip


def _setting(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    return "–" if value is None else str(value)


def _set_effect(
    visit: Visit, used: ParameterSet, designs: list[AssessedDesign]
) -> tuple[list[Any], list[Any]]:
    """How many published cells would get another value, expected from published counts.

    What is said of all, and of each table.
    """
    service, language = visit.service, visit.language
    spoken, (named, stated) = words("approvals", language), users_of(visit, used)
    parts: list[Any] = []
    parts += [Part("note", "stop", [f"{', '.join(named)}."], look="problem")] if named else []
    parts += [Part("note", "stated", [f"{', '.join(stated)}."])] if stated else []
    parts += [] if named or stated else [Part("note", "no_users", name="effect")]
    rows: list[tuple[Value, ...]] = []
    cells, changed = 0, 0.0
    for listed in service.releases.tables().values():
        release = service.releases.release(listed.release)
        origin = service.publications.origin(release.id, release.identity)
        if f"{origin.get('dataset')} {origin.get('version')}" not in (*named, *stated):
            continue
        counts = published_counts(service.releases.table(listed.id))
        if not counts:
            continue
        share = changed_share(designs[0].table, designs[1].table, counts)
        number = sum(counts.values())
        cells, changed = cells + number, changed + share * number
        numbers = (number_text(number, 0, language), f"{number_text(100 * share, 0, language)} %")
        rows.append((f"{release.id}: {listed.title(language)}",
                     *(Cell(text, look="number") for text in numbers)))  # fmt: skip
    if not cells:
        unknown = Part("note", "effect_unknown", look="care", name="effect")
        return [*([unknown] if named or stated else ()), *parts], []
    of = spoken["effect_of"].format(
        share=number_text(100 * changed / cells, 0, language),
        cells=number_text(cells, 0, language),
        number=number_text(changed, 0, language),
    )
    columns = ("table", "cells", "changed_share")
    effect = Part("note", "effect", [of], look="care", name="effect")
    return [effect, *parts], [PageTable(columns, rows, "effect-tables", "by_table")]


def _activation(visit: Visit, proposal: Proposal) -> ProposedContent:
    if not visit.principal.may(Permission.parameters_design):
        return _HIDDEN
    name, _, version = proposal.subject.partition("@")
    return proposed_set(visit, name, version)


def _retirement(visit: Visit, proposal: Proposal) -> ProposedContent:
    name, _, version = proposal.subject.partition("@")
    named, _ = users_of(visit, visit.service.parameter_sets.show(name, version))
    ends = Part("note", "effect_ends" if named else "effect_none", [", ".join(named)],
                look="problem" if named else "good", name="effect")  # fmt: skip
    return {"parts_of_page": [ends]}


# Policies -------------------------------------------------------------------------------------


def _policy(visit: Visit, proposal: Proposal) -> ProposedContent:
    dataset, _, version = proposal.subject.partition("@")
    if not visit.principal.may(Permission.policies_approve, dataset):
        return _HIDDEN
    in_force, language = visit.service.policies.in_force, visit.language
    with visit.service.database.reading() as connection:
        signed = in_force.proposed(connection, dataset, proposal.digest)
        now = in_force.policy(connection, dataset, version)
    spoken = words("approvals", language)
    rows = [
        (f"{one.heading} ({one.rule})", one.before or "–", one.after or "–",
         Cell(spoken[one.direction or "other"], tag="problem" * (one.direction == "looser")))
        for one in policy_differences(now, signed.document, language)
    ]  # fmt: skip
    columns = ("rule", "now", "then", "direction")
    return {"parts_of_page": [
        *_policy_effect(visit, signed.document),
        PageTable(columns, rows, "differences", "changes", "no_changes"),
        Part("source", "document", text=signed.text, name="POLICY.toml"),
        Part("note", "signer", [Cell(signed.signer, look="code")], look="quiet"),
    ]}  # fmt: skip


def _policy_effect(visit: Visit, document: PolicyDocument) -> list[Any]:
    """What a policy would have done with the latest questions, before anything is counted."""
    spoken, service = words("approvals", visit.language), visit.service
    effect = policy_effect(service.answers, service.query_log, service.database, document)
    of = spoken["policy_effect"].format(
        questions=number_text(effect.questions, 0, visit.language),
        tables=number_text(effect.tables, 0, visit.language),
        now=effect.refused_now,
        then=effect.refused_then,
    )
    rows = [
        (said_in(one.title, visit.language), str(one.questions), ", ".join(one.rules), spoken[then])
        for then, tables in (("refused_then", effect.more), ("passed_then", effect.fewer))
        for one in tables[:20]
    ]
    columns = ("table", "questions", "rules", "effect_on_table")
    look = "care" if rows else "good"
    return [
        Part("note", "effect", [of], look=look, name="effect"),
        *([PageTable(columns, rows, "effect-tables", "by_query")] if rows else ()),
        *([Part("note", "unexamined", [", ".join(effect.unexamined)], look="quiet")]
          if effect.unexamined else ()),
    ]  # fmt: skip


def _override(visit: Visit, proposal: Proposal) -> ProposedContent:
    place, _, digest = proposal.subject.partition(":")
    dataset, _, version = place.partition("@")
    if not visit.principal.may(Permission.refusals_explain, dataset):
        return _HIDDEN
    effect = Part("note", "override_effect", look="care", name="effect")
    return {"parts_of_page": [effect, *refusal_parts(visit, dataset, version, digest)[0]]}


# Releases -------------------------------------------------------------------------------------


def _release(visit: Visit, proposal: Proposal) -> ProposedContent:
    service, language = visit.service, visit.language
    release, _, place = proposal.subject.partition(":")
    programme, _, draft = place.partition("/")
    preview, record = service.publications.proposed(proposal)
    if not visit.principal.may(Permission.programmes_run, record.dataset):
        return _HIDDEN
    compared = compare_draft(visit, programme, draft, release)
    place = f"{path_to('programmes', programme, 'drafts', draft)}?release={release}"
    link = Cell(words("approvals", language)["whole_draft"], place)
    return {
        "parts_of_page": [release_verdict(compared, language), Part("buttons", values=[link])],
        "changes": shown_changes(compared["changes"], preview, language),
        "tally": tally(compared["changes"]),
        "compared": release if compared["published"] else "",
        "draft_words": PageWords(words("draft_changes", language)),
    }


_CONTENTS: Mapping[ProposalKind, Callable[[Visit, Proposal], ProposedContent]] = {
    ProposalKind.parameter_activation: _activation,
    ProposalKind.parameter_retirement: _retirement,
    ProposalKind.policy_change: _policy,
    ProposalKind.refusal_override: _override,
    ProposalKind.release_publication: _release,
}
