"""The queue: jobs begun in their order, begun again when their worker dies, whose result is
released once, by the worker that holds the job in that moment. CONFIDENTIAL.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from discreet.files import kept_on_disk, make_folder, told_if_full
from discreet_service.audit import AuditKind, AuditTrail
from discreet_service.database import (
    IDEMPOTENCY_KEYS,
    JOB_EVENTS,
    JOBS,
    ServiceDatabase,
    change_rows,
    equal_to,
    insert_row,
    row_of,
)
from discreet_service.jobs.context import FinishedFile, JobInputs
from discreet_service.jobs.records import Job, JobPage, JobState
from discreet_service.problems import ServiceError, problem_document
from discreet_service.settings import JobSettings

_ID = re.compile(r"[0-9a-f]{32}")
_KEY = re.compile(r"[!-~]{1,200}")
_CURSOR = re.compile(r"([0-9]{1,15})-([0-9a-f]{32})")
_STEP = re.compile(r"[a-z][a-z -]{0,39}")
_LONGEST_REQUEST = 2_000_000
#: Jobs are done in the order in which they came; rows of earlier versions may differ in this.
_PRIORITY = 100
#: Jobs of one owner that wait or run.
_MOST_OPEN = 100
_MOST_PER_PAGE = 200
_DAY = 86_400_000
#: How long a key stands for its request.
_KEY_KEEPS = _DAY
#: How much longer than its result the row of a job is kept.
_ROW_KEEPS = 2
#: Files that belong to no job are left alone for so long: they may be in the making.
_YOUNG = 3_600
#: Where finished results lie, and where they are made.
_RESULTS, _WORK = "results", "work"


class JobQueue:
    """The jobs of a service."""

    def __init__(
        self,
        database: ServiceDatabase,
        folder: Path,
        clock: Callable[[], int],
        *,
        trail: AuditTrail,
        inputs: JobInputs,
        settings: JobSettings,
    ) -> None:
        self._database, self._clock, self._trail, self._inputs = database, clock, trail, inputs
        self.folder, self.lease_seconds = folder, settings.lease_seconds
        self._retries, self._keep = settings.retries, settings.keep_days * _DAY
        for name in (_RESULTS, _WORK):
            make_folder(folder / name, 0o700)

    # What callers do --------------------------------------------------------------------------

    def submit(
        self,
        *,
        kind: str,
        owner: str,
        request: Mapping[str, Any],
        idempotency_key: str | None = None,
    ) -> Job:
        """Hand in a job."""
        text = json.dumps(request, sort_keys=True, separators=(",", ":"), allow_nan=False)
        if len(text) > _LONGEST_REQUEST:
            message = "too much data for a job"
            raise ServiceError(message, "too-large", limit=_LONGEST_REQUEST, actual=len(text))
        if idempotency_key is not None and not _KEY.fullmatch(idempotency_key):
            message, hint = "not a key", "use up to 200 ASCII characters"
            raise ServiceError(message, "invalid-input", "Idempotency-Key", hint)
        digest = hashlib.sha256(f"{kind}\n{text}".encode()).hexdigest()
        with self._database.writing() as connection:
            if idempotency_key is not None:
                old = IDEMPOTENCY_KEYS.c.at <= self._clock() - _KEY_KEEPS
                connection.execute(sa.delete(IDEMPOTENCY_KEYS).where(old))
                known = row_of(connection, IDEMPOTENCY_KEYS, owner=owner, key=idempotency_key)
                if known is not None and known.request_digest != digest:
                    message = "the key belongs to another request"
                    hint = "use a new key for each request"
                    raise ServiceError(message, "conflict", "Idempotency-Key", hint)
                row = None if known is None else row_of(connection, JOBS, id=known.job)
                if row is not None:
                    return Job.of(row)
            counted = sa.select(sa.func.count()).where(JOBS.c.owner == owner, _is_open())
            if (connection.scalar(counted) or 0) >= _MOST_OPEN:
                message, hint = "too many jobs are waiting", "wait for some of them, or cancel some"
                most, wait = _MOST_OPEN, 60
                raise ServiceError(message, "rate-limited", "", hint, limit=most, retry_after=wait)
            values = {"id": secrets.token_hex(16), "kind": kind, "owner": owner, "request": text}
            values |= {"state": JobState.queued.value, "worker": "", "step": "waiting"}
            numbers = {"priority": _PRIORITY, "attempt": 0, "progress": 0}
            new = sa.insert(JOBS).values(**values, **numbers, created_at=self._clock())
            row = connection.execute(new.returning(JOBS)).one()
            self._tell(connection, row.id, "queued")
            if idempotency_key is not None:
                values = {"owner": owner, "key": idempotency_key, "request_digest": digest}
                insert_row(connection, IDEMPOTENCY_KEYS, **values, job=row.id, at=self._clock())
        return Job.of(row)

    def job(self, number: str, owner: str | None) -> Job:
        """A job; who does not own it does not learn that it exists."""
        with self._database.reading() as connection:
            row = row_of(connection, JOBS, id=number if _ID.fullmatch(number) else "")
        if row is None or owner not in (None, row.owner):
            hint = "jobs are visible to their owners"
            raise ServiceError("job not found", "not-found", "job", hint)
        return Job.of(row)

    def jobs(
        self, owner: str | None, *, state: JobState | None = None, cursor: str = "", size: int = 50
    ) -> JobPage:
        """Jobs, the newest first."""
        columns, size = JOBS.c, max(1, min(size, _MOST_PER_PAGE))
        equal = {"owner": owner, "state": None if state is None else state.value}
        conditions = equal_to(JOBS, **{name: one for name, one in equal.items() if one is not None})
        if cursor:
            match = _CURSOR.fullmatch(cursor)
            if match is None:
                raise ServiceError("not a cursor", "invalid-input", "cursor")
            at, number = int(match[1]), match[2]
            same = sa.and_(columns.created_at == at, columns.id < number)
            conditions.append(sa.or_(columns.created_at < at, same))
        asked = sa.select(JOBS).where(*conditions)
        asked = asked.order_by(columns.created_at.desc(), columns.id.desc()).limit(size + 1)
        with self._database.reading() as connection:
            rows = connection.execute(asked).all()
        jobs = tuple(Job.of(row) for row in rows[:size])
        more = f"{jobs[-1].created_at}-{jobs[-1].id}" if rows[size:] else ""
        return JobPage(jobs=jobs, cursor=more)

    def events(self, number: str, after: int = 0) -> Sequence[sa.Row[Any]]:
        """Events of a job in order: states, "progress" and "retried"."""
        columns = JOB_EVENTS.c
        asked = sa.select(JOB_EVENTS).where(columns.job == number, columns.seq > after)
        with self._database.reading() as connection:
            return connection.execute(asked.order_by(columns.seq).limit(1000)).all()

    def result(self, number: str, owner: str | None) -> tuple[Job, Path]:
        """A job that is done, and the file of its result."""
        job = self.job(number, owner)
        if job.state is JobState.expired or (
            job.expires_at is not None and self._clock() >= job.expires_at
        ):
            raise ServiceError("the result has been deleted", "job-expired")
        if job.state in (JobState.failed, JobState.cancelled):
            message = "the job failed" if job.state is JobState.failed else "the job was cancelled"
            raise ServiceError(message, "job-failed", hint="see the job for the reason")
        if job.state is not JobState.done or job.result_file is None:
            raise ServiceError("the job has not finished", "result-not-ready", retry_after=2)
        place = self.folder / _RESULTS / job.result_file
        if not place.is_file() or place.stat().st_size != job.result_bytes:
            message = "the file of the result changed"
            raise ServiceError(message, "data-not-ready", hint="submit the job again")
        return job, place

    def cancel(self, number: str, owner: str | None) -> Job:
        """Stop a job; one that runs is stopped by its worker within seconds."""
        self.job(number, owner)
        with self._database.writing() as connection:
            queued = {"id": number, "state": JobState.queued.value}
            values = {**self._end(JobState.cancelled), "cancel_asked": True}
            if change_rows(connection, JOBS, queued, **values):
                self._tell(connection, number, "cancelled")
            else:
                running = {"id": number, "state": JobState.running.value}
                change_rows(connection, JOBS, running, cancel_asked=True)
        job = self.job(number, owner)
        self._drop_input(job)
        return job

    def counts(self) -> dict[str, int]:
        """Numbers of jobs by state."""
        with self._database.reading() as connection:
            groups = sa.select(JOBS.c.state, sa.func.count()).group_by(JOBS.c.state)
            found = {str(state): int(count) for state, count in connection.execute(groups)}
        return {state.value: found.get(state.value, 0) for state in JobState}

    # What workers do --------------------------------------------------------------------------

    def claim(self, worker: str, kinds: Sequence[str] | None = None) -> Job | None:
        """The next job, for this worker alone, as long as its lease lasts; None without."""
        now, columns = self._clock(), JOBS.c
        with self._database.reading() as connection:
            # Who only looks wakes no disk.
            due = sa.select(columns.id).where(_is_due(now)).limit(1)
            if connection.execute(due).first() is None:
                return None
        with self._database.writing(alone=False) as connection:
            # End jobs whose workers died and that are not begun again.
            dead = [columns.state == JobState.running.value, columns.lease_until <= now]
            error = ServiceError("the workers of this job stopped", code="internal")
            for ended, condition in (
                (self._end(JobState.cancelled), columns.cancel_asked),
                (self._end(JobState.failed), columns.attempt > self._retries),
            ):
                asked = (
                    sa.update(JOBS).where(*dead, condition).values(**ended).returning(columns.id)
                )
                for number in connection.scalars(asked).all():
                    if ended["state"] == JobState.failed.value:
                        document = json.dumps(problem_document(error, number))
                        change_rows(connection, JOBS, {"id": number}, problem=document)
                    self._tell(connection, number, ended["state"])
            conditions = [_is_due(now), *([columns.kind.in_(kinds)] if kinds is not None else [])]
            first = (
                sa.select(columns.id)
                .where(*conditions)
                .order_by(columns.priority, columns.created_at, columns.id)
                .limit(1)
                # Two workers never wait for the same job.
                .with_for_update(skip_locked=True)
            )
            values = {
                "state": JobState.running.value,
                "worker": worker,
                "lease_until": now + self.lease_seconds * 1000,
                "attempt": columns.attempt + 1,
                "started_at": now,
                "progress": 0,
                "step": "begun",
            }
            row = self._change(connection, {"id": first.scalar_subquery()}, values)
            if row is None:
                return None
            self._tell(connection, row.id, "running", attempt=row.attempt)
        return Job.of(row)

    def renew(self, job: Job, progress: int | None = None, step: str = "") -> Job | None:
        """Hold a job for longer; the job as it is now, or None if it is not one's own any more."""
        values: dict[str, Any] = {"lease_until": self._clock() + self.lease_seconds * 1000}
        if progress is not None:
            values["progress"] = max(0, min(100, int(progress)))
            values["step"] = step if _STEP.fullmatch(step) else "working"
        with self._database.writing(alone=False) as connection:
            row = self._change(connection, _held_by(job), values)
            if row is not None and progress is not None:
                facts = {"progress": row.progress, "step": row.step}
                self._tell(connection, job.id, "progress", **facts)
        return None if row is None else Job.of(row)

    def is_wanted(self, job: Job) -> bool:
        """Whether a job is still one's own, and not to be stopped."""
        with self._database.reading() as connection:
            return row_of(connection, JOBS, **_held_by(job), cancel_asked=False) is not None

    def work_folder(self, job: Job) -> Path:
        """A folder of its own for each beginning of a job, in which its result is made."""
        place = self.folder / _WORK / f"{job.id}-{job.attempt}"
        make_folder(place, 0o700)
        return place

    def finish(self, job: Job, made: FinishedFile) -> bool:
        """Release a result; False if the job is not one's own any more, and nothing is released."""
        name = f"{job.id}-{job.attempt}"
        values = {**self._end(JobState.done), "progress": 100, "step": "done"}
        values |= {"expires_at": self._clock() + self._keep, "result_file": name}
        values |= {"result_digest": made.digest, "result_bytes": made.bytes}
        values |= {"media_type": made.media_type, "file_name": made.file_name}
        with self._database.writing() as connection:
            row = self._change(connection, {**_held_by(job), "cancel_asked": False}, values)
            if row is not None:
                self._tell(connection, job.id, "done", bytes=made.bytes)
                facts = {"kind": job.kind, "digest": made.digest, "bytes": made.bytes}
                self._trail.append(connection, AuditKind.job_released, job.owner, job.id, facts)
                # Before the end of the transaction: nobody is told of a file that is not there.
                self._put(made, name)
        if row is None:  # one released it already, maybe, and only the answer was lost
            return self.is_done(job)
        self._drop_input(Job.of(row))
        return True

    def _put(self, made: FinishedFile, name: str) -> None:
        place = self.folder / _RESULTS / name
        with told_if_full(place):
            # Where the end of the transaction failed, the file is there already.
            if made.path.exists() or not place.exists():
                made.path.chmod(0o600)
                made.path.replace(place)
            kept_on_disk(place.parent)

    def is_done(self, job: Job) -> bool:
        """Whether a result of this beginning of a job was released."""
        done = {**_held_by(job), "state": JobState.done.value}
        with self._database.reading() as connection:
            return row_of(connection, JOBS, **done) is not None

    def fail(self, job: Job, problem: Mapping[str, Any]) -> bool:
        """End a job that cannot be done; False if it is not one's own any more."""
        values = {**self._end(JobState.failed), "problem": json.dumps(dict(problem))}
        return self._ended(job, values, "failed")

    def let_go(self, job: Job) -> bool:
        """Let others take over a job whose process died, as if the lease had run out."""
        return self._ended(job, {"lease_until": self._clock()}, "retried")

    def confirm_cancel(self, job: Job) -> bool:
        """Say that one stopped working on a job that was to be stopped."""
        return self._ended(job, self._end(JobState.cancelled), "cancelled")

    def give_back(self, job: Job) -> bool:
        """Let others do a job, at once and as if one had not begun it."""
        values = {"state": JobState.queued.value, "attempt": JOBS.c.attempt - 1, "progress": 0}
        values |= {"lease_until": None, "worker": "", "step": "waiting"}
        return self._ended(job, values, "queued")

    def _ended(self, job: Job, values: Mapping[str, Any], event: str) -> bool:
        with self._database.writing(alone=False) as connection:
            row = self._change(connection, _held_by(job), values)
            if row is not None:
                self._tell(connection, job.id, event)
        if row is not None:
            self._drop_input(Job.of(row))
        return row is not None

    def _drop_input(self, job: Job) -> None:
        """Delete what a job was handed in with, once it has ended."""
        name = job.asked().get("input")
        if isinstance(name, str) and job.state.final:
            self._inputs.drop(name)

    # What time does ---------------------------------------------------------------------------

    def expire(self) -> int:
        """Delete results that are old enough, and what is left of work; how many results."""
        now, columns = self._clock(), JOBS.c
        done = [columns.state == JobState.done.value, columns.expires_at <= now]
        values = {"state": JobState.expired.value, "request": "{}"}
        with self._database.writing() as connection:
            gone = sa.update(JOBS).where(*done).values(**values).returning(columns.id)
            numbers = connection.scalars(gone).all()
            for number in numbers:
                self._tell(connection, number, "expired")
            old = sa.select(columns.id).where(
                sa.not_(_is_open()), columns.finished_at <= now - _ROW_KEEPS * self._keep
            )
            connection.execute(sa.delete(JOB_EVENTS).where(JOB_EVENTS.c.job.in_(old)))
            connection.execute(sa.delete(JOBS).where(columns.id.in_(old)))
        self._sweep()
        return len(numbers)

    def _sweep(self) -> None:
        """Delete files that belong to no job: a worker died between two steps."""
        with self._database.reading() as connection:
            wanted = connection.scalars(sa.select(JOBS.c.request).where(_is_open())).all()
            done = JOBS.c.state == JobState.done.value
            kept = set(connection.scalars(sa.select(JOBS.c.result_file).where(done)))
            running = JOBS.c.state == JobState.running.value
            at_work = {
                f"{row.id}-{row.attempt}"
                for row in connection.execute(sa.select(JOBS.c.id, JOBS.c.attempt).where(running))
            }
        self._inputs.sweep({str(json.loads(item).get("input")) for item in wanted})
        # Files have the times of the system, whatever clock the service goes by.
        limit = time.time() - _YOUNG
        for name, known in ((_RESULTS, kept), (_WORK, at_work)):
            for place in (self.folder / name).iterdir():
                if place.name in known or place.stat().st_mtime > limit:
                    continue
                if place.is_dir():
                    shutil.rmtree(place, ignore_errors=True)
                else:
                    place.unlink(missing_ok=True)

    # Rows -------------------------------------------------------------------------------------

    def _end(self, state: JobState) -> dict[str, Any]:
        return {"state": state.value, "finished_at": self._clock(), "lease_until": None}

    def _change(
        self, connection: sa.Connection, key: Mapping[str, Any], values: Mapping[str, Any]
    ) -> sa.Row[Any] | None:
        changed = sa.update(JOBS).where(*equal_to(JOBS, **key)).values(**values).returning(JOBS)
        return connection.execute(changed).first()

    def _tell(self, connection: sa.Connection, number: str, kind: str, **facts: str | int) -> None:
        """Note what happened; the job's row was changed before, so nobody else numbers events."""
        last = sa.select(sa.func.coalesce(sa.func.max(JOB_EVENTS.c.seq), 0) + 1)
        seq = last.where(JOB_EVENTS.c.job == number).scalar_subquery()
        values = {"job": number, "at": self._clock(), "kind": kind, "facts": json.dumps(facts)}
        insert_row(connection, JOB_EVENTS, **values, seq=seq)


def _is_open() -> sa.ColumnElement[bool]:
    return JOBS.c.state.in_([JobState.queued.value, JobState.running.value])


def _is_due(now: int) -> sa.ColumnElement[bool]:
    silent = sa.and_(JOBS.c.state == JobState.running.value, JOBS.c.lease_until <= now)
    return sa.or_(JOBS.c.state == JobState.queued.value, silent)


def _held_by(job: Job) -> dict[str, Any]:
    """What holds while it is still the same worker's, from the same beginning."""
    running = JobState.running.value
    return {"id": job.id, "state": running, "worker": job.worker, "attempt": job.attempt}
