"""Records: what is known of a job, and of what happened to it. CONFIDENTIAL: requests and owners
are shown to the owner only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from discreet_service.audit import utc


class JobState(StrEnum):
    """State of a job."""

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
    """A job."""

    id: str  # Its number of 128 random bits
    kind: str  # What is done
    owner: str  # Who asked for it
    request: str  # What they asked for, as JSON
    state: JobState  # Where it stands
    priority: int  # Lower ones are done first
    attempt: int  # How often it was begun
    worker: str  # Who works on it, or did
    lease_until: int | None  # Until when nobody else takes it over
    cancel_asked: bool  # Whether it is to be stopped
    progress: int  # How much is done, in percent
    step: str  # What is being done, in a fixed word
    problem: str | None  # Why it failed, as a problem document in JSON
    result_file: str | None  # Name of the file of its result
    result_digest: str | None  # SHA-256 of it
    file_name: str | None  # What the result is called when it is downloaded
    media_type: str | None  # What the result is
    result_bytes: int | None  # How large it is
    created_at: int  # When it was asked for, in milliseconds
    started_at: int | None  # When it was begun last
    finished_at: int | None  # When it ended
    expires_at: int | None  # Until when the result is kept

    @classmethod
    def of(cls, row: sa.Row[Any]) -> Job:
        """The job of a row."""
        found = row._asdict()
        return cls(**{**found, "state": JobState(found["state"])})

    def __repr__(self) -> str:
        return f"<Job {self.kind}: {self.state.value}>"

    def asked(self) -> dict[str, Any]:
        """The request."""
        document: dict[str, Any] = json.loads(self.request)
        return document

    def described(self) -> dict[str, Any]:
        """The state for its owner."""
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


def shown_event(row: sa.Row[Any]) -> dict[str, Any]:
    """Event of a job for its owner."""
    return {"seq": row.seq, "at": utc(row.at), "event": row.kind, **json.loads(row.facts)}


@dataclass(frozen=True, kw_only=True, slots=True)
class JobPage:
    """Some jobs, the newest first."""

    jobs: tuple[Job, ...]
    cursor: str  # Where the next page begins; empty after the last
