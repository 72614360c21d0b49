"""The queue: order, leases, retries, keys, results."""

import json
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from discreet_service.audit.trail import AuditKind, AuditTrail
from discreet_service.database import ServiceDatabase
from discreet_service.database.schema import JOB_EVENTS
from discreet_service.jobs import JobQueue
from discreet_service.jobs import queue as queue_module
from discreet_service.jobs.context import FinishedFile, JobInputs, JobOutput
from discreet_service.jobs.records import Job, JobState
from discreet_service.problems import ServiceError
from discreet_service.settings import JobSettings
from tests.helpers.rows import for_all_rows
from tests.helpers.service_people import at_once, code_of

DAY = 86_400


@pytest.fixture
def trail(service_database: ServiceDatabase, set_clock: Any) -> AuditTrail:
    return AuditTrail(service_database, b"k" * 32, set_clock)


@pytest.fixture
def jobs(
    service_database: ServiceDatabase, trail: AuditTrail, tmp_path: Path, set_clock: Any
) -> JobQueue:
    return job_queue(service_database, tmp_path, set_clock, trail)


def job_queue(database: ServiceDatabase, folder: Path, clock: Any, trail: AuditTrail) -> JobQueue:
    inputs = JobInputs(folder / "inputs", b"k" * 32)
    return JobQueue(
        database, folder / "jobs", clock, trail=trail, inputs=inputs, settings=JobSettings()
    )


def hand_in(jobs: JobQueue, owner: str = "anna", **more: Any) -> Job:
    asked: dict[str, Any] = {"kind": "query", "request": {"a": 1}}
    return jobs.submit(owner=owner, **{**asked, **more})


def claimed(jobs: JobQueue, worker: str = "w1") -> Job:
    job = jobs.claim(worker)
    assert job is not None
    return job


def made(jobs: JobQueue, job: Job, content: bytes = b"result") -> FinishedFile:
    output = JobOutput(file_name="r.csv", media_type="text/csv", content=content)
    return output.written(jobs.work_folder(job))


def kinds_of_events(jobs: JobQueue, job: Job) -> list[str]:
    return [event.kind for event in jobs.events(job.id)]


def test_a_job_from_its_beginning_to_its_end(
    jobs: JobQueue, trail: AuditTrail, set_clock: Any
) -> None:
    handed = hand_in(jobs)
    assert (handed.state, len(handed.id)) == (JobState.queued, 32)
    job = claimed(jobs)
    assert (job.id, job.state, job.attempt) == (handed.id, JobState.running, 1)
    assert jobs.claim("w2") is None
    renewed = jobs.renew(job, 40, "counting")
    assert renewed is not None
    assert (renewed.progress, renewed.step) == (40, "counting")
    assert code_of(jobs.result, job.id, "anna") == "result-not-ready"
    assert jobs.finish(job, made(jobs, job))
    done, place = jobs.result(job.id, "anna")
    assert place.read_bytes() == b"result"
    assert place.stat().st_mode & 0o777 == 0o600
    assert (done.progress, done.media_type, done.result_bytes) == (100, "text/csv", 6)
    assert kinds_of_events(jobs, job) == ["queued", "running", "progress", "done"]
    assert [event.seq for event in jobs.events(job.id, after=2)] == [3, 4]
    (entry,) = trail.search(kind=AuditKind.job_released).rows
    assert (entry.person, entry.about) == ("anna", job.id)
    assert done.described()["result"]["sha256"] == done.result_digest


def test_jobs_are_done_by_age(jobs: JobQueue, set_clock: Any) -> None:
    numbers = []
    for _ in range(4):
        numbers.append(hand_in(jobs).id)
        set_clock.pass_by(1)
    assert [claimed(jobs, f"w{n}").id for n in range(4)] == numbers


def test_workers_take_what_they_can_do(jobs: JobQueue) -> None:
    hand_in(jobs, kind="programme")
    assert jobs.claim("w1", ["query"]) is None
    assert jobs.claim("w1", ["query", "programme"]) is not None


def test_a_silent_worker_loses_its_job(jobs: JobQueue, set_clock: Any, trail: AuditTrail) -> None:
    hand_in(jobs)
    first = claimed(jobs, "w1")
    early = made(jobs, first, b"early")
    set_clock.pass_by(59)
    assert jobs.claim("w2") is None
    assert jobs.renew(first) is not None
    set_clock.pass_by(59)
    assert jobs.claim("w2") is None
    set_clock.pass_by(1)
    second = claimed(jobs, "w2")
    assert (second.id, second.attempt) == (first.id, 2)
    # The first one comes back: nothing it does counts any more.
    assert jobs.renew(first, 50) is None
    assert not jobs.is_wanted(first)
    assert not jobs.finish(first, early)
    assert not jobs.fail(first, {})
    assert not jobs.give_back(first)
    assert not jobs.confirm_cancel(first)
    assert jobs.finish(second, made(jobs, second, b"late"))
    assert jobs.result(first.id, "anna")[1].read_bytes() == b"late"
    assert len(trail.search(kind=AuditKind.job_released).rows) == 1


def test_the_same_worker_is_another_one_the_second_time(jobs: JobQueue, set_clock: Any) -> None:
    hand_in(jobs)
    first = claimed(jobs, "w1")
    set_clock.pass_by(61)
    second = claimed(jobs, "w1")
    assert not jobs.finish(first, made(jobs, first))
    assert jobs.finish(second, made(jobs, second))


def test_a_job_that_kills_its_workers_fails(jobs: JobQueue, set_clock: Any) -> None:
    job = hand_in(jobs)
    for attempt in (1, 2, 3):
        assert claimed(jobs).attempt == attempt
        set_clock.pass_by(61)
    assert jobs.claim("w") is None
    found = jobs.job(job.id, "anna")
    assert found.state is JobState.failed
    assert json.loads(found.problem or "")["type"].endswith("internal")
    assert kinds_of_events(jobs, job) == ["queued", "running", "running", "running", "failed"]
    assert code_of(jobs.result, job.id, "anna") == "job-failed"


def test_letting_go_is_dying_at_once(jobs: JobQueue) -> None:
    hand_in(jobs)
    assert jobs.let_go(claimed(jobs))
    assert claimed(jobs).attempt == 2


def test_giving_back_counts_as_no_attempt(jobs: JobQueue) -> None:
    hand_in(jobs)
    assert jobs.give_back(claimed(jobs))
    assert claimed(jobs).attempt == 1


def test_releasing_twice_is_releasing_once(jobs: JobQueue, trail: AuditTrail) -> None:
    hand_in(jobs)
    job = claimed(jobs)
    file = made(jobs, job)
    assert jobs.finish(job, file)
    # As if the answer of the database had been lost.
    assert jobs.finish(job, file)
    assert kinds_of_events(jobs, job).count("done") == 1
    assert len(trail.search(kind=AuditKind.job_released).rows) == 1


def test_a_release_whose_transaction_fails_is_none(
    jobs: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_in(jobs)
    job = claimed(jobs)
    file = made(jobs, job)
    put = JobQueue._put

    def failing(self: JobQueue, *args: Any) -> None:
        put(self, *args)
        raise ServiceError("no room", code="disk-full")

    monkeypatch.setattr(JobQueue, "_put", failing)
    with pytest.raises(ServiceError):
        jobs.finish(job, file)
    assert jobs.job(job.id, "anna").state is JobState.running
    monkeypatch.undo()
    assert jobs.finish(job, file)  # the file is in its place already
    assert jobs.result(job.id, "anna")[1].read_bytes() == b"result"


def test_cancelling(jobs: JobQueue, set_clock: Any) -> None:
    waiting = hand_in(jobs)
    assert jobs.cancel(waiting.id, "anna").state is JobState.cancelled
    assert jobs.claim("w") is None
    running = hand_in(jobs)
    job = claimed(jobs)
    asked = jobs.cancel(running.id, "anna")
    assert (asked.state, asked.described()["cancelling"]) == (JobState.running, True)
    assert not jobs.is_wanted(job)
    assert not jobs.finish(job, made(jobs, job))
    assert jobs.confirm_cancel(job)
    assert jobs.job(running.id, "anna").state is JobState.cancelled
    # A second time, and after the end, it changes nothing.
    assert jobs.cancel(running.id, "anna").state is JobState.cancelled


def test_a_job_to_be_stopped_is_not_begun_again(jobs: JobQueue, set_clock: Any) -> None:
    job = hand_in(jobs)
    claimed(jobs)
    jobs.cancel(job.id, "anna")
    set_clock.pass_by(61)
    assert jobs.claim("w2") is None
    assert jobs.job(job.id, "anna").state is JobState.cancelled


def test_others_do_not_learn_of_a_job(jobs: JobQueue) -> None:
    job = hand_in(jobs)
    told = []
    for number, owner in ((job.id, "bob"), ("0" * 32, "bob"), ("x' OR 1=1", "bob"), ("", "bob")):
        for act in (jobs.job, jobs.cancel, jobs.result):
            with pytest.raises(ServiceError) as error:
                act(number, owner)
            told.append((str(error.value), error.value.code))
    assert len(set(told)) == 1
    assert jobs.jobs("bob").jobs == ()
    assert jobs.job(job.id, None).owner == "anna"  # staff
    assert "anna" not in repr(job)
    assert "owner" not in job.described()


def test_lists_go_page_by_page(jobs: JobQueue, set_clock: Any) -> None:
    numbers = []
    for at in range(7):
        numbers.append(hand_in(jobs).id)
        set_clock.pass_by(at % 2)
    hand_in(jobs, "bob")
    found, cursor = [], ""
    while True:
        page = jobs.jobs("anna", cursor=cursor, size=3)
        found += [job.id for job in page.jobs]
        cursor = page.cursor
        if not cursor:
            break
    assert sorted(found) == sorted(numbers)
    assert len(jobs.jobs(None).jobs) == 8
    assert len(jobs.jobs("anna", state=JobState.done).jobs) == 0
    with pytest.raises(ServiceError):
        jobs.jobs("anna", cursor="1; DROP TABLE jobs")


def test_the_same_key_is_the_same_job(jobs: JobQueue, set_clock: Any) -> None:
    job = hand_in(jobs, idempotency_key="k1")
    assert hand_in(jobs, idempotency_key="k1").id == job.id
    for other in ({"request": {"a": 2}}, {"kind": "programme"}):
        assert code_of(hand_in, jobs, idempotency_key="k1", **other) == "conflict"
    # Keys belong to whoever sends them.
    assert hand_in(jobs, "bob", idempotency_key="k1").id != job.id
    set_clock.pass_by(DAY - 1)
    assert hand_in(jobs, idempotency_key="k1").id == job.id
    set_clock.pass_by(1)
    assert hand_in(jobs, idempotency_key="k1", request={"a": 2}).id != job.id


def test_the_same_key_at_once_is_one_job(jobs: JobQueue) -> None:
    found: list[str] = []

    def send() -> None:
        found.append(hand_in(jobs, idempotency_key="k").id)

    at_once(*[send] * 8)
    assert (len(found), len(set(found))) == (8, 1)


@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "ü", "a\nb"])
def test_what_is_no_key(jobs: JobQueue, key: str) -> None:
    with pytest.raises(ServiceError) as told:
        hand_in(jobs, idempotency_key=key)
    assert told.value.where == "Idempotency-Key"


def test_too_much_is_refused(jobs: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    assert code_of(hand_in, jobs, request={"a": "x" * 2_000_001}) == "too-large"
    monkeypatch.setattr(queue_module, "_MOST_OPEN", 2)
    hand_in(jobs)
    jobs.finish(job := claimed(jobs), made(jobs, job))
    hand_in(jobs)
    hand_in(jobs)
    with pytest.raises(ServiceError) as told:
        hand_in(jobs)
    assert (told.value.code, told.value.limit) == ("rate-limited", 2)
    hand_in(jobs, "bob")


def test_results_are_kept_for_four_weeks(
    jobs: JobQueue, set_clock: Any, service_database: ServiceDatabase
) -> None:
    job = hand_in(jobs)
    jobs.finish(run := claimed(jobs), made(jobs, run))
    place = jobs.result(job.id, "anna")[1]
    set_clock.pass_by(28 * DAY - 1)
    assert jobs.expire() == 0
    set_clock.pass_by(1)
    with pytest.raises(ServiceError) as told:  # whether it was cleared away yet or not
        jobs.result(job.id, "anna")
    assert told.value.code == "job-expired"
    os.utime(place, (0, 0))
    assert jobs.expire() == 1
    assert not place.exists()
    assert jobs.job(job.id, "anna").state is JobState.expired
    assert jobs.job(job.id, "anna").asked() == {}
    set_clock.pass_by(28 * DAY)
    jobs.expire()
    with pytest.raises(ServiceError):
        jobs.job(job.id, "anna")
    with service_database.reading() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(JOB_EVENTS)) == 0


def test_files_of_nobody_go_after_a_while(jobs: JobQueue) -> None:
    hand_in(jobs)
    jobs.finish(run := claimed(jobs), made(jobs, run))
    hand_in(jobs)
    running = claimed(jobs)
    at_work = jobs.work_folder(running)
    for place in (orphan := jobs.folder / "results" / "x-1", young := jobs.folder / "results/y-1"):
        place.write_bytes(b"")
    folder = jobs.folder / "work" / "z-1"
    folder.mkdir()
    for old in (orphan, folder, at_work, jobs.result(run.id, "anna")[1]):
        os.utime(old, (0, 0))
    jobs.expire()
    assert not orphan.exists()
    assert not folder.exists()
    assert young.exists()
    assert at_work.exists()
    assert jobs.result(run.id, "anna")[1].exists()


def test_a_file_that_was_changed_is_not_given_out(jobs: JobQueue) -> None:
    hand_in(jobs)
    jobs.finish(run := claimed(jobs), made(jobs, run))
    jobs.result(run.id, "anna")[1].write_bytes(b"another result")
    with pytest.raises(ServiceError) as told:
        jobs.result(run.id, "anna")
    assert told.value.code == "data-not-ready"
    assert str(jobs.folder) not in str(told.value)


def test_many_workers_do_each_job_once(
    jobs: JobQueue, trail: AuditTrail, service_url: str, tmp_path: Path, set_clock: Any
) -> None:
    numbers = {hand_in(jobs).id for _ in range(24)}
    other = ServiceDatabase.open(service_url)
    others = job_queue(other, tmp_path, set_clock, AuditTrail(other, b"k" * 32, set_clock))
    done: list[str] = []

    def do(queue: JobQueue, name: str) -> None:
        limit = time.monotonic() + 180
        while len(done) < 24 and time.monotonic() < limit:
            job = queue.claim(name)
            if job is not None and queue.finish(job, made(queue, job)):
                done.append(job.id)

    at_once(*(partial(do, queue, f"w{at}") for at, queue in enumerate([jobs, others] * 2)))
    other.close()
    assert sorted(done) == sorted(numbers)
    assert len(trail.search(kind=AuditKind.job_released).rows) == 24
    assert trail.verify().whole
    assert jobs.counts()["done"] == 24


@for_all_rows(
    "wrong",
    [
        {"content": None},
        {"path": Path("x")},
        {"file_name": "../x"},
        {"file_name": 'x"; y'},
        {"media_type": "text/html\r\nX: y"},
    ],
)
def test_what_is_no_output(wrong: dict[str, Any]) -> None:
    right: dict[str, Any] = {"file_name": "a.csv", "media_type": "text/csv", "content": b""}
    with pytest.raises(ValueError):
        JobOutput(**{**right, **wrong})


def test_links_are_no_results(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    output = JobOutput(file_name="a", media_type="text/csv", path=tmp_path / "link")
    with pytest.raises(ValueError, match="folder"):
        output.written(tmp_path)


def test_steps_are_words(jobs: JobQueue) -> None:
    hand_in(jobs)
    job = claimed(jobs)
    renewed = jobs.renew(job, 900, "Anna\nMeier: 1")
    assert renewed is not None
    assert (renewed.progress, renewed.step) == (100, "working")
