"""Jobs over HTTP: handing in, events, results, and who may see what."""

import dataclasses
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet_service.jobs.context import JobOutput
from discreet_service.jobs.kinds import KINDS
from discreet_service.jobs.records import Job
from discreet_service.permissions import Permission
from discreet_service.service import Service
from discreet_service.settings import LimitSettings
from discreet_service.web import jobs as jobs_module
from tests.helpers.job_functions import KINDS as TEST_KINDS
from tests.helpers.job_functions import job_service, until
from tests.helpers.service_callers import RoleCallers

JOBS = "/api/v1/jobs"
ROLES = {
    "anna": ["requester"],
    "bob": ["requester"],
    "reader": ["reader"],
    "census only": ["requester@census"],
    "auditor": ["auditor"],
    "admin": ["admin"],
    "system": ["service"],
}


@pytest.fixture
def service(
    tmp_path: Path, service_url: str, monkeypatch: pytest.MonkeyPatch, set_clock: Any
) -> Iterator[Service]:
    for name, kind in TEST_KINDS.items():
        monkeypatch.setitem(KINDS, name, kind)  # type: ignore[arg-type]
    limits = LimitSettings(requests_per_second=1e6, burst=10**6, anonymous_per_second=1e6)
    plain = job_service(tmp_path, service_url)
    found = Service(dataclasses.replace(plain.settings, limits=limits), set_clock)
    yield found
    found.close()


@pytest.fixture
def callers(service: Service) -> RoleCallers:
    return RoleCallers(service, ("jobs", "status"), ROLES)


def hand_in(service: Service) -> str:
    """The address of a job of Anna's."""
    job = service.jobs.submit(kind="add", owner="anna", request={"a": 1, "b": 2})
    return f"{JOBS}/{job.id}"


def begin(service: Service) -> Job:
    job = service.jobs.claim("w")
    assert job is not None
    return job


def finish(service: Service, content: bytes = b"0123456789") -> Job:
    job = begin(service)
    output = JobOutput(file_name="sum.txt", media_type="text/plain", content=content)
    assert service.jobs.finish(job, output.written(service.jobs.work_folder(job)))
    return job


def code_of(answer: Any) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["type"].rpartition("/")[2]


def test_from_request_to_result(callers: RoleCallers, service: Service) -> None:
    place = hand_in(service)
    told = callers.ask("anna", "GET", place).json()
    assert (told["state"], told["progress"]) == ("queued", 0)
    assert code_of(callers.ask("anna", "GET", f"{place}/result")) == (409, "result-not-ready")
    finish(service)
    told = callers.ask("anna", "GET", place).json()
    assert (told["state"], told["result"]["bytes"]) == ("done", 10)
    answer = callers.ask("anna", "GET", told["links"]["result"])
    assert (answer.status_code, answer.text) == (200, "0123456789")
    assert answer.headers["content-disposition"] == 'attachment; filename="sum.txt"'
    assert answer.headers["etag"] == f'"{told["result"]["sha256"]}"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    tag = {"If-None-Match": answer.headers["etag"]}
    assert callers.ask("anna", "GET", f"{place}/result", headers=tag).status_code == 304
    listed = callers.ask("anna", "GET", JOBS).json()
    assert [job["id"] for job in listed["jobs"]] == [told["id"]]
    assert callers.ask("anna", "GET", f"{JOBS}?state=queued").json()["jobs"] == []


@pytest.mark.parametrize(
    ("said", "status", "content"),
    [
        ("bytes=0-3", 206, "0123"),
        ("bytes=8-", 206, "89"),
        ("bytes=-2", 206, "89"),
        ("bytes=5-400", 206, "56789"),
        ("bytes=7-2", 200, "0123456789"),
        ("bytes=-", 200, "0123456789"),
        ("lines=1-2", 200, "0123456789"),
        ("bytes=0-1,4-5", 200, "0123456789"),
        ("bytes=" + "9" * 30 + "-", 200, "0123456789"),
        ("bytes=10-", 416, None),
        ("bytes=-0", 416, None),
    ],
)
@pytest.mark.parametrize("service_url", ["sqlite"], indirect=True)
def test_parts_of_results(
    callers: RoleCallers, service: Service, said: str, status: int, content: str | None
) -> None:
    place = f"{hand_in(service)}/result"
    finish(service)
    answer = callers.ask("anna", "GET", place, headers={"Range": said})
    assert answer.status_code == status
    if content is None:
        assert code_of(answer) == (416, "no-such-range")
        assert answer.json()["limit"] == 10
    else:
        assert answer.text == content


def test_only_the_owner_sees_a_job(callers: RoleCallers, service: Service) -> None:
    place = hand_in(service)
    finish(service)
    unknown = f"{JOBS}/{'0' * 32}"
    for method, end in (("GET", ""), ("GET", "/result"), ("GET", "/events"), ("DELETE", "")):
        there, nowhere = (callers.ask("bob", method, each + end) for each in (place, unknown))
        assert code_of(there) == code_of(nowhere) == (404, "not-found")
        assert there.json()["detail"] == nowhere.json()["detail"]
        assert code_of(callers.ask("", method, place + end)) == (401, "not-authenticated")
        assert code_of(callers.ask("reader", method, place + end)) == (403, "not-allowed")
    assert callers.ask("bob", "GET", JOBS).json()["jobs"] == []
    assert code_of(callers.ask("bob", "GET", f"{JOBS}?everybody=true")) == (403, "not-allowed")


def test_staff_sees_that_there_are_jobs_and_no_results(
    callers: RoleCallers, service: Service
) -> None:
    place = hand_in(service)
    finish(service)
    for name in ("auditor", "admin"):
        (job,) = callers.ask(name, "GET", f"{JOBS}?everybody=true").json()["jobs"]
        assert (job["owner"], job["result"], list(job["links"])) == ("anna", None, ["self"])
        assert callers.ask(name, "GET", place).json()["state"] == "done"
        assert code_of(callers.ask(name, "GET", f"{place}/result")) == (403, "not-allowed")
        assert code_of(callers.ask(name, "GET", f"{place}/events")) == (403, "not-allowed")
    waiting = hand_in(service)
    assert code_of(callers.ask("auditor", "DELETE", waiting)) == (404, "not-found")
    assert callers.ask("admin", "DELETE", waiting).json()["state"] == "cancelled"


def test_who_lost_the_right_does_not_get_what_it_gave(
    callers: RoleCallers, service: Service
) -> None:
    place = hand_in(service)
    finish(service)
    assert not callers.people["system"].may(Permission.query_run)
    callers.people["anna"] = dataclasses.replace(callers.people["system"], name="anna")
    assert code_of(callers.ask("anna", "GET", f"{place}/result")) == (403, "not-allowed")


def test_rights_are_those_for_the_data_set(callers: RoleCallers, service: Service) -> None:
    for dataset, status in (("census", 200), ("labour", 403)):
        request = {"dataset": dataset, "a": 1}
        job = service.jobs.submit(kind="query", owner="census only", request=request)
        finish(service)
        answer = callers.ask("census only", "GET", f"{JOBS}/{job.id}/result")
        assert answer.status_code == status


@pytest.mark.parametrize("service_url", ["sqlite"], indirect=True)
def test_no_job_is_handed_in_beside_the_endpoint_of_its_kind(callers: RoleCallers) -> None:
    for body, where in (
        ({"kind": "os:system", "request": {}}, "kind"),
        *(({"kind": kind, "request": {"a": "SECRET"}}, "kind") for kind in KINDS),
        ({"kind": "add", "request": []}, "request"),
        ({"kind": "add"}, "request"),
        ({"kind": "add", "request": {}, "owner": "bob"}, "owner"),
        ([], ""),
    ):
        answer = callers.ask("anna", "POST", JOBS, json=body)
        assert code_of(answer) == (422, "invalid-input")
        assert where in [each["where"] for each in answer.json()["problems"]]
        assert "SECRET" not in answer.text
    assert callers.ask("anna", "GET", JOBS).json()["jobs"] == []


def test_stopping(callers: RoleCallers, service: Service) -> None:
    place = hand_in(service)
    job = begin(service)
    answer = callers.ask("anna", "DELETE", place)
    assert (answer.status_code, answer.json()["cancelling"]) == (202, True)
    service.jobs.confirm_cancel(job)
    assert callers.ask("anna", "DELETE", place).status_code == 200
    assert code_of(callers.ask("anna", "GET", f"{place}/result")) == (409, "job-failed")


def test_results_expire(callers: RoleCallers, service: Service, set_clock: Any) -> None:
    place = hand_in(service)
    finish(service)
    set_clock.pass_by(28 * 86_400)
    assert code_of(callers.ask("anna", "GET", f"{place}/result")) == (410, "job-expired")
    service.jobs.expire()
    assert callers.ask("anna", "GET", place).json()["state"] == "expired"


def _events(text: str) -> list[dict[str, str]]:
    found = [
        dict(line.split(": ", 1) for line in block.splitlines() if line[0] != ":")
        for block in text.strip().split("\n\n")
    ]
    return [each for each in found if "event" in each]


def test_events_come_as_they_happen_and_end_with_the_job(
    callers: RoleCallers, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_module, "_LOOK", 0.02)
    monkeypatch.setattr(jobs_module, "_HEARTBEAT", 0.05)
    place = f"{hand_in(service)}/events"
    answers: list[Any] = []
    reader = threading.Thread(target=lambda: answers.append(callers.ask("anna", "GET", place)))
    reader.start()
    until(lambda: jobs_module._STREAMS["anna"] == 1)
    job = begin(service)
    service.jobs.renew(job, 50, "half of it")
    output = JobOutput(file_name="a", media_type="text/plain", content=b"x")
    file = output.written(service.jobs.work_folder(job))
    threading.Event().wait(0.2)
    service.jobs.finish(job, file)
    reader.join(180)
    (answer,) = answers
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = _events(answer.text)
    assert [each["event"] for each in events] == ["queued", "running", "progress", "done"]
    assert [each["id"] for each in events] == ["1", "2", "3", "4"]
    assert json.loads(events[2]["data"])["step"] == "half of it"
    assert ": still there" in answer.text
    assert jobs_module._STREAMS.total() == 0
    # Who was cut off goes on where they were; after the end there is nothing.
    again = callers.ask("anna", "GET", place, headers={"Last-Event-ID": "2"})
    assert [each["id"] for each in _events(again.text)] == ["3", "4"]
    assert callers.ask("anna", "GET", place, headers={"Last-Event-ID": "4"}).status_code == 204
    wrong = callers.ask("anna", "GET", place, headers={"Last-Event-ID": "x"})
    assert code_of(wrong) == (422, "invalid-input")


@pytest.mark.parametrize("service_url", ["sqlite"], indirect=True)
def test_nobody_holds_all_connections(
    callers: RoleCallers, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{hand_in(service)}/events"
    monkeypatch.setitem(jobs_module._STREAMS, "anna", 5)
    answer = callers.ask("anna", "GET", place)
    assert code_of(answer) == (429, "rate-limited")
    assert answer.headers["retry-after"] == "10"


@pytest.mark.parametrize("service_url", ["sqlite"], indirect=True)
def test_streams_end_after_a_while(
    callers: RoleCallers, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_module, "_LONGEST", 0.1)
    place = f"{hand_in(service)}/events"
    answer = callers.ask("anna", "GET", place)
    assert [each["event"] for each in _events(answer.text)] == ["queued"]


@pytest.mark.parametrize("service_url", ["sqlite"], indirect=True)
def test_numbers_that_are_none(callers: RoleCallers) -> None:
    for number in ("..%2f..%2fetc", "%00", "x" * 1000, "1%20OR%201=1", "é", "A" * 32):
        answer = callers.ask("anna", "GET", f"{JOBS}/{number}")
        assert code_of(answer) == (404, "not-found")
        assert code_of(callers.ask("anna", "GET", f"{JOBS}/{number}/result"))[0] == 404


@pytest.mark.parametrize("service_url", ["sqlite"], indirect=True)
def test_metrics_tell_how_many(callers: RoleCallers, service: Service) -> None:
    hand_in(service)
    page = callers.ask("admin", "GET", "/metrics").text
    assert 'discreet_jobs{state="queued"} 1.0' in page
    assert "anna" not in page


def test_a_result_without_its_file_is_told(callers: RoleCallers, service: Service) -> None:
    place = hand_in(service)
    job = finish(service)
    service.jobs.result(job.id, "anna")[1].unlink()
    answer = callers.ask("anna", "GET", f"{place}/result")
    assert code_of(answer) == (503, "data-not-ready")
