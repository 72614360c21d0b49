"""Records: what is known of a job, and of what happened to it.

In: rows. Out: `Job`, `JobEvent`. CONFIDENTIAL: requests and owners are shown to the owner only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from discreet_service.audit.trail import utc


class JobState(StrEnum):
    """Where a job stands."""

    queued = "queued"
    running = "running"
    done = "done"
    failed = "failed"
    cancelled = "cancelled"
    expired = "expired"

    @property
    def final(self) -> bool:
        """Whether nothing more happens, but for a result that expires.

        >>> JobState.running.final, JobState.failed.final
        (False, True)
        """
        return self not in (JobState.queued, JobState.running)


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A job.

    Args:
        id: Its number of 128 random bits.
        kind: What is done.
        owner: Who asked for it.
        request: What they asked for, as JSON.
        state: Where it stands.
        priority: Lower ones are done first.
        attempt: How often it was begun.
        worker: Who works on it, or did.
        lease_until: Until when nobody else takes it over.
        cancel_asked: Whether it is to be stopped.
        progress: How much is done, in percent.
        step: What is being done, in a fixed word.
        problem: Why it failed, as a problem document in JSON.
        result_file: Name of the file of its result.
        result_digest: SHA-256 of it.
        file_name: What the result is called when it is downloaded.
        media_type: What the result is.
        result_bytes: How large it is.
        created_at: When it was asked for, in milliseconds.
        started_at: When it was begun last.
        finished_at: When it ended.
        expires_at: Until when the result is kept.
    """

    id: str
    kind: str
    owner: str
    request: str
    state: JobState
    priority: int
    attempt: int
    worker: str
    lease_until: int | None
    cancel_asked: bool
    progress: int
    step: str
    problem: str | None
    result_file: str | None
    result_digest: str | None
    file_name: str | None
    media_type: str | None
    result_bytes: int | None
    created_at: int
    started_at: int | None
    finished_at: int | None
    expires_at: int | None

    @classmethod
    def of(cls, row: sa.Row[Any]) -> Job:
        """The job of a row.

        Args:
            row: A row of the table of jobs.
        """
        found = row._asdict()
        return cls(**{**found, "state": JobState(found["state"])})

    def __repr__(self) -> str:
        return f"<Job {self.kind}: {self.state.value}>"

    def asked(self) -> dict[str, Any]:
        """What was asked for."""
        found: dict[str, Any] = json.loads(self.request)
        return found

    def told(self) -> dict[str, Any]:
        """What its owner is told."""
        times = {"created": self.created_at, "started": self.started_at}
        times |= {"finished": self.finished_at, "expires": self.expires_at}
        found: dict[str, Any] = {
            "id": self.id,
            "kind": self.kind,
            "state": self.state.value,
            "progress": self.progress,
            "step": self.step,
            "cancelling": self.cancel_asked and not self.state.final,
            **{name: utc(time) for name, time in times.items() if time is not None},
        }
        if self.problem is not None:
            found["problem"] = json.loads(self.problem)
        if self.state is JobState.done:
            found["result"] = {
                "bytes": self.result_bytes,
                "media_type": self.media_type,
                "sha256": self.result_digest,
                "file_name": self.file_name,
            }
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class JobEvent:
    """What happened to a job.

    Args:
        seq: Its number, from 1.
        at: When, in milliseconds.
        kind: What happened: a state, "progress" or "retried".
        facts: Further facts as JSON.
    """

    seq: int
    at: int
    kind: str
    facts: str

    def told(self) -> dict[str, Any]:
        """What the owner of the job is told."""
        return {"seq": self.seq, "at": utc(self.at), "event": self.kind, **json.loads(self.facts)}


@dataclass(frozen=True, kw_only=True, slots=True)
class JobPage:
    """Some jobs, the newest first.

    Args:
        jobs: The jobs.
        cursor: Where the next page begins; empty after the last.
    """

    jobs: tuple[Job, ...]
    cursor: str
