"""The work list: what waits for somebody, what is under way or due, and what they did last. Each
room of the service adds what waits in it; nobody is told of what they may not see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import Any

from discreet_fire.queue import State
from discreet_service.audit import AuditKind, shown_entry
from discreet_service.jobs import JobState
from discreet_service.parameter_sets import SetState
from discreet_service.people import ProposalState
from discreet_service.permissions import Permission
from discreet_service.policies import alerts
from discreet_service.studio.administration import act_words, folded
from discreet_service.studio.approvals import proposal_title, waiting_proposals
from discreet_service.studio.reviews import waiting_submissions
from discreet_service.web import Visit, path_to, words

_DAY = 86_400_000
#: Days for which something that went wrong is shown, and before an end for which it is due.
_RECENT, _ENDING = 14, 30
#: Days after which somebody should verify the trail again.
_VERIFIED = 7
#: Acts that are nobody's work.
_NO_WORK = frozenset(("login", "login_refused", "logout", "log_read", "refusal_explained",
                      "draft_looked_at", "job_released"))  # fmt: skip
_LAST = 5
#: Who verifies the trail at each start of the service: that is no check by another person.
_SERVICE = "service"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """Something that waits, is under way, or is due."""

    word: str  # What is to be done, among the words of the page
    text: str  # With what
    path: str = ""  # Where
    about: str = ""  # By whom, or why
    due: int | None = None  # Until when, in milliseconds
    waits: bool = True  # Whether it waits for somebody's own act; else it is under way


def work_items(visit: Visit) -> list[WorkItem]:
    """Work list of a user: first what waits, by its end; then what is under way."""
    items = [item for room in _ROOMS for item in room(visit)]
    return sorted(items, key=lambda one: (not one.waits, one.due is None, one.due or 0))


def last_acts(visit: Visit) -> list[tuple[int, str]]:
    """Latest actions of a user, in words, with time."""
    entries = [shown_entry(one)
               for one in visit.service.trail.search(person=visit.principal.name, size=50).rows
               if one.kind not in _NO_WORK]  # fmt: skip
    latest = []
    for group in islice(folded(entries), _LAST):
        acts = dict.fromkeys(act_words(one, visit.language) for one in group)
        # German phrases begin with the verb of somebody else.
        text = "; ".join(act.removeprefix("hat ") for act in acts)
        latest.append((int(group[0]["milliseconds"]), text))
    return latest


def _since(visit: Visit, days: int) -> int:
    return visit.service.clock() - days * _DAY


def _proposals(visit: Visit) -> Iterator[WorkItem]:
    for one in waiting_proposals(visit):
        yield WorkItem(word="decide", text=proposal_title(visit, one), about=one.proposer,
                       path=path_to("approvals", one.id), due=one.expires)  # fmt: skip
    mine = visit.principal.name
    for one in visit.service.approvals.proposals(visit.principal):
        if one.proposer != mine:
            continue
        item: dict[str, Any] = {"text": proposal_title(visit, one),
                                "path": path_to("approvals", one.id)}  # fmt: skip
        if one.state is ProposalState.open:
            yield WorkItem(word="proposed", due=one.expires, waits=False, **item)
        elif one.state is ProposalState.rejected and (one.decided or 0) > _since(visit, _RECENT):
            yield WorkItem(word="sent_back", about=f"{one.decider}: {one.remark}", **item)


def _parameter_sets(visit: Visit) -> Iterator[WorkItem]:
    if not visit.principal.may(Permission.parameters_propose):
        return
    proposals = visit.service.approvals.proposals(visit.principal, ProposalState.open)
    waiting = {one.subject for one in proposals}
    for one in visit.service.parameter_sets.sets():
        if one.state is SetState.proposed and one.subject not in waiting:
            yield WorkItem(word="propose_use", text=f"{one.name} {one.version}",
                           path="/designs/sets", about=one.importer)  # fmt: skip


def _reviews(visit: Visit) -> Iterator[WorkItem]:
    for row in waiting_submissions(visit):
        yield WorkItem(word="review", text=f"{row.number}: {row.program}",
                       path=path_to("reviews", str(row.number)),
                       about=f"{row.researcher}, {row.project}".strip(", "))  # fmt: skip


def _submissions(visit: Visit) -> Iterator[WorkItem]:
    service = visit.service
    if service.settings.reviews is None or not visit.principal.may(Permission.outputs_submit):
        return
    states = words("review_states", visit.language)
    for one in service.reviews.own(visit.principal):
        item: dict[str, Any] = {"text": f"{one.number}: {one.program}",
                                "path": path_to("submissions", str(one.number))}  # fmt: skip
        state = states[one.state.value]
        if one.question:
            yield WorkItem(word="answer", about=one.question, **item)
        elif one.state in (State.change, State.subject):
            yield WorkItem(word="revise", about=one.comments[-1][2] if one.comments else state,
                           **item)  # fmt: skip
        elif one.state is State.released:
            yield WorkItem(word="fetch", waits=False, **item)
        else:
            yield WorkItem(word="submitted", about=state, waits=False, **item)


def _jobs(visit: Visit) -> Iterator[WorkItem]:
    if not visit.principal.may(Permission.jobs_own):
        return
    kinds, states = words("job_kinds", visit.language), words("job_states", visit.language)
    for job in visit.service.jobs.jobs(visit.principal.name).jobs:
        name = f"{kinds.get(job.kind, job.kind)} {job.id[:8]}"
        item: dict[str, Any] = {"text": name, "path": f"/jobs/{job.id}"}
        if job.kind == "programme":
            place = path_to("programmes", job.asked()["programme"], "drafts", job.id)
            item["path"] = place
        if job.state is JobState.failed and (job.finished_at or 0) > _since(visit, _RECENT):
            yield WorkItem(word="failed", **item)
        elif not job.state.final:
            yield WorkItem(word="running", about=states[job.state.value], waits=False, **item)
        elif job.state is JobState.done:
            yield WorkItem(word="result", due=job.expires_at, waits=False, **item)


def _keys(visit: Visit) -> Iterator[WorkItem]:
    everybody, now = visit.principal.may(Permission.people_manage), visit.service.clock()
    for key in visit.service.api_keys.listed("" if everybody else visit.principal.name):
        if key.revoked is None and _since(visit, _RECENT) < key.expires < now + _ENDING * _DAY:
            own = key.owner == visit.principal.name
            word = "key_ends" if key.expires > now else "key_ended"
            yield WorkItem(word=word, text=f"{key.name} (dsc_{key.id})", about=key.owner,
                           path="/account" if own else f"/people?name={key.owner}",
                           due=key.expires)  # fmt: skip


def _warnings(visit: Visit) -> Iterator[WorkItem]:
    may, service = visit.principal.may, visit.service
    if may(Permission.status_read) or may(Permission.releases_publish):
        # Names of folders only: places are nobody's business.
        for folder, why in sorted(service.releases.refused().items()):
            yield WorkItem(word="unserved", text=f"{PurePath(folder).name}:", about=why)
    if may(Permission.refusals_explain):
        for record in service.datasets.records():
            if not may(Permission.refusals_explain, record.dataset):
                continue
            with service.database.reading() as connection:
                patterns = alerts(connection, record.dataset, record.version, 50)
            recent = [one for one in patterns if one.at > _since(visit, _RECENT)]
            if recent:
                place = path_to("quality", record.dataset, record.version)
                quality = may(Permission.quality_read, record.dataset)
                yield WorkItem(word="alerts", text=f"{record.dataset} {record.version}",
                               about=f"{len(recent):,}", path=place if quality else "")  # fmt: skip
    if may(Permission.audit_verify):
        since = _since(visit, _VERIFIED)
        checks = service.trail.search(kind=AuditKind.trail_verified, since=since).rows
        if all(one.person == _SERVICE for one in checks):
            yield WorkItem(word="verify", text="", path="/administration/trail")


_ROOMS: tuple[Callable[[Visit], Iterator[WorkItem]], ...] = (
    _proposals, _parameter_sets, _reviews, _submissions, _jobs, _keys, _warnings,
)  # fmt: skip
