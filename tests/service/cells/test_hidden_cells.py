"""Cells come in, a job hides some of them or audits those hidden; nothing is left behind."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import polars as pl
import pytest

from discreet import Classification, Table, ValueColumns, audit, primary, suppress
from discreet.microdata import Secret
from discreet.rules import MinimumFrequency, PPercent
from discreet_service.jobs.records import Job, JobState
from discreet_service.jobs.worker import JobWorker
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ServiceSettings
from discreet_service.web.body_gate import BodyGate
from discreet_service.web.openapi import example_body
from tests.helpers.job_functions import until
from tests.helpers.service_callers import RoleCallers

_ROLES = {"paula": ["producer"], "otto": ["producer"], "sam": ["service"]}
_EXAMPLE: dict[str, Any] = example_body("suppress_table_cells")
_AUDITED: dict[str, Any] = example_body("audit_table_cells")
_SAID = {name: each for name, each in _EXAMPLE.items() if name != "cells"}


class Office:
    """A service, its callers, and workers when they are wanted."""

    def __init__(self, folder: Path) -> None:
        Secret.generate().write(folder / "service.secret")
        limits = LimitSettings(requests_per_second=1e6, burst=10**6)
        secret = folder / "service.secret"
        self.folder = folder
        self.service = Service(ServiceSettings(folder=folder, secret_file=secret, limits=limits))
        self.callers = RoleCallers(self.service, ("operations", "jobs"), _ROLES)

    def inputs(self) -> list[Path]:
        return sorted((self.folder / "inputs").glob("*"))

    def ask(self, path: str, said: dict[str, Any], name: str = "paula", **more: Any) -> Any:
        return self.callers.ask(name, "POST", f"/api/v1/{path}", json=said, **more)

    def done(self, number: str) -> Job:
        worker = JobWorker(self.service)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            until(lambda: self.service.jobs.job(number, None).state.final)
        finally:
            worker.stop()
            thread.join()
        return self.service.jobs.job(number, None)

    def result(self, number: str) -> Any:
        return self.callers.ask("paula", "GET", f"/api/v1/jobs/{number}/result")


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    found = Office(tmp_path)
    yield found
    found.service.close()


def directly() -> tuple[Table, Any]:
    """The example, by the library itself."""
    frame = pl.DataFrame(_EXAMPLE["cells"]).with_columns(key=pl.lit(0))
    tree = Classification.from_parents("branch", {"A": None, "B": None, "C": None})
    columns = ValueColumns(total="turnover", largest=["first", "second"], count="n", cell_key="key")
    table = Table.from_cells(
        frame, by=[tree], count="n", cell_key="key", values={"turnover": columns}
    )
    rules = [MinimumFrequency(3), PPercent(10)]
    return table, primary(table, rules, value="turnover")


@pytest.mark.exhaustive
def test_a_job_hides_the_cells_that_the_library_hides(office: Office) -> None:
    answer = office.ask("suppress", _EXAMPLE)
    assert answer.status_code == 202, answer.text
    (sealed,) = office.inputs()
    assert sealed.stat().st_mode & 0o077 == 0
    for planted in (b"branch", b"turnover", b"p_percent"):
        assert planted not in sealed.read_bytes()
        assert planted.decode() not in office.service.jobs.job(answer.json()["id"], None).request
    job = office.done(answer.json()["id"])
    assert job.state is JobState.done, job.problem
    assert office.inputs() == []
    shown = pl.read_csv(io.BytesIO(office.result(job.id).content))
    table, found = directly()
    own = suppress(table, found, method="optimal").to_polars(complete=True)
    assert shown["value"].to_list() == own["value"].to_list()
    assert own["value"].to_list()[2:] == [None, None]


@pytest.mark.exhaustive
def test_a_job_audits_hidden_cells(office: Office) -> None:
    number = office.ask("audit", _AUDITED).json()["id"]
    job = office.done(number)
    assert job.state is JobState.done, job.problem
    told = office.result(number).json()
    table, found = directly()
    own = audit(suppress(table, found, method="optimal"), table, found)
    assert (told["safe"], told["proof"]) == (own.safe, own.digest())
    assert [each["cell"] for each in told["bounds"]] == ["branch=B", "branch=C"]
    assert not {"cost", "seconds"} & told.keys()
    assert office.inputs() == []


@pytest.mark.parametrize("how", ["csv", "parquet", "arrow"])
def test_cells_come_in_every_form(office: Office, how: str) -> None:
    frame, content = pl.DataFrame(_EXAMPLE["cells"]), io.BytesIO()
    if how == "csv":
        frame.write_csv(content)
    elif how == "parquet":
        frame.write_parquet(content)
    else:
        frame.write_ipc_stream(content)
    media = {
        "csv": "text/csv",
        "parquet": "application/vnd.apache.parquet",
        "arrow": "application/vnd.apache.arrow.stream",
    }[how]
    answer = office.callers.ask(
        "paula", "POST", "/api/v1/suppress", content=content.getvalue(),
        headers={"Content-Type": media}, params={"request": json.dumps(_SAID)},
    )  # fmt: skip
    assert answer.status_code == 202, answer.text


def test_all_that_is_wrong_is_told_at_once(office: Office) -> None:
    wrong = {**_EXAMPLE, "count": "persons", "largest": ["first", "third"], "totals": {"x": "T"}}
    wrong["rules"] = {"p_percent": 10, "magic": 7}
    answer = office.ask("suppress", wrong)
    assert answer.status_code == 422
    places = {each["where"] for each in answer.json()["problems"]}
    assert places == {"count", "largest[1]", "totals", "rules.magic"}
    twice = {**_EXAMPLE, "by": [], "suppression": {"method": "guess"}, "colour": "red"}
    told = office.ask("suppress", twice)
    assert {each["where"] for each in told.json()["problems"]} == {"by", "suppression.method", ""}
    assert "red" not in told.text
    assert office.ask("audit", _EXAMPLE).status_code == 422
    assert office.ask("suppress", _AUDITED).status_code == 422
    assert office.inputs() == []


def test_no_job_of_cells_is_handed_in_as_a_plain_request(office: Office) -> None:
    plain = {"kind": "suppress", "request": {"input": "0" * 64}}
    assert office.ask("jobs", plain).status_code == 422


def test_who_asks_again_gets_the_same_job(office: Office) -> None:
    head = {"Idempotency-Key": "monday"}
    first = office.ask("suppress", _EXAMPLE, headers=head).json()["id"]
    assert office.ask("suppress", _EXAMPLE, headers=head).json()["id"] == first
    assert len(office.inputs()) == 1
    assert office.ask("suppress", {**_EXAMPLE, "decimals": 1}, headers=head).status_code == 409
    other = office.ask("suppress", _EXAMPLE, "otto", headers=head).json()["id"]
    assert other != first
    # One that has ended keeps nothing, whoever asks again.
    office.service.jobs.cancel(first, "paula")
    before = len(office.inputs())
    office.ask("suppress", _EXAMPLE, headers=head)
    assert len(office.inputs()) == before


def test_a_cancelled_job_leaves_nothing(office: Office) -> None:
    number = office.ask("suppress", _EXAMPLE).json()["id"]
    office.service.jobs.cancel(number, "paula")
    assert office.inputs() == []


def test_an_input_that_was_changed_is_none(office: Office) -> None:
    number = office.ask("suppress", _EXAMPLE).json()["id"]
    (sealed,) = office.inputs()
    content = bytearray(sealed.read_bytes())
    content[-1] ^= 1
    sealed.write_bytes(content)
    job = office.done(number)
    assert job.state is JobState.failed
    assert office.inputs() == []


# The gate ---------------------------------------------------------------------------------------


class _Sent:
    """A request whose body comes in pieces."""

    def __init__(self, pieces: list[bytes], stated: int | None = None) -> None:
        self.pieces = pieces
        self.headers = {} if stated is None else {"content-length": str(stated)}
        self.read = 0

    async def stream(self) -> Any:
        for piece in self.pieces:
            self.read += len(piece)
            yield piece
            await anyio.sleep(0)


def test_bodies_together_are_no_larger_than_there_is_room(office: Office) -> None:
    gate = BodyGate(1_000)

    async def hold() -> None:
        async with gate.body(_Sent([b"x" * 400] * 2), office.service) as file:  # type: ignore[arg-type]
            assert (len(file.read()), gate.held.total) == (800, 800)
            # One that says so is refused unread, one that does not as soon as it is too much.
            for sent, most in ((_Sent([b"x" * 300], 300), 0), (_Sent([b"x" * 150] * 9), 300)):
                with pytest.raises(ServiceError) as refusal:
                    async with gate.body(sent, office.service):  # type: ignore[arg-type]
                        raise AssertionError
                assert (refusal.value.code, refusal.value.retry_after) == ("overloaded", 2)
                assert sent.read <= most
                assert (gate.held.total, gate.waiting) == (800, 1)
        assert (gate.held.total, gate.waiting) == (0, 0)
        async with gate.body(_Sent([b"x" * 1_000], 1_000), office.service) as file:  # type: ignore[arg-type]
            assert len(file.read()) == 1_000

    anyio.run(hold)
