"""Cells come in, a job hides some of them or audits those hidden; nothing is left behind."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import polars as pl
import pytest

from discreet import Classification, Table, ValueColumns, audit, primary, suppress
from discreet.rules import Mark, MinimumFrequency, PPercent
from discreet_service.jobs.records import JobState
from discreet_service.problems import ServiceError
from discreet_service.web.security import BodyGate
from tests.helpers.jobs_done import do_jobs, do_next_job
from tests.helpers.rows import for_all_rows
from tests.helpers.service_callers import MethodOffice, example_body

_ROLES: dict[str, Sequence[str]] = {"paula": ["producer"], "otto": ["producer"], "sam": ["service"]}
_EXAMPLE: dict[str, Any] = example_body("suppress_table_cells")
_AUDITED: dict[str, Any] = example_body("audit_table_cells")


class Office(MethodOffice):
    """Who suppresses cells."""

    def result(self, number: str) -> Any:
        return self.callers.ask("paula", "GET", f"/api/v1/jobs/{number}/result")

    def hidden(self, marks: Any) -> dict[str, str]:
        """Code → why it is hidden, for each hidden cell."""
        answer = self.ask("suppress", {**_EXAMPLE, "marks": marks})
        assert answer.status_code == 202, answer.text
        _, output = do_next_job(self.service)
        assert output.content is not None
        frame = pl.read_csv(output.content).filter(pl.col("status") == "suppressed")
        reasons = frame["reason"] if frame.height else frame["branch"]
        return dict(zip(frame["branch"], reasons, strict=True))


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    found = Office(tmp_path, _ROLES)
    yield found
    found.service.close()


def directly(marks: Any = None) -> tuple[Table, Any]:
    """The example, by the library itself."""
    frame = pl.DataFrame(_EXAMPLE["cells"]).with_columns(key=pl.lit(0))
    tree = Classification.from_parents("branch", {"A": None, "B": None, "C": None})
    columns = ValueColumns(total="turnover", largest=["first", "second"], count="n", cell_key="key")
    table = Table.from_cells(
        frame, by=[tree], count="n", cell_key="key", values={"turnover": columns}
    )
    rules = [MinimumFrequency(3), PPercent(10)]
    return table, primary(table, rules, value="turnover", marks=marks)


def test_a_job_hides_the_cells_that_the_library_hides(office: Office) -> None:
    answer = office.ask("suppress", _EXAMPLE)
    assert answer.status_code == 202, answer.text
    (sealed,) = office.inputs()
    assert sealed.stat().st_mode & 0o077 == 0
    for planted in (b"branch", b"turnover", b"p_percent"):
        assert planted not in sealed.read_bytes()
        assert planted.decode() not in office.service.jobs.job(answer.json()["id"], None).request
    job, _ = do_next_job(office.service)
    assert office.inputs() == []
    shown = pl.read_csv(io.BytesIO(office.result(job.id).content))
    table, found = directly()
    own = suppress(table, found, method="optimal").to_polars(complete=True)
    assert shown["value"].to_list() == own["value"].to_list()
    assert own["value"].to_list()[2:] == [None, None]


def test_a_job_audits_hidden_cells(office: Office) -> None:
    number = office.ask("audit", _AUDITED).json()["id"]
    do_next_job(office.service)
    told = office.result(number).json()
    table, found = directly()
    own = audit(suppress(table, found, method="optimal"), table, found)
    assert (told["safe"], told["proof"]) == (own.safe, own.digest())
    assert [each["cell"] for each in told["bounds"]] == ["branch=B", "branch=C"]
    assert not {"cost", "seconds"} & told.keys()
    assert office.inputs() == []


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
    assert len(do_jobs(office.service)) == 1
    assert office.service.jobs.job(number, None).state is JobState.failed
    assert office.inputs() == []


# Marks of single cells --------------------------------------------------------------------------


def test_marks_decide_as_in_the_library(office: Office) -> None:
    assert office.hidden([]) == {"B": "secondary", "C": "minimum-frequency"}
    # Consent shows what rules would hide.
    consent = {"cells": {"branch": "C"}, "status": "safe"}
    assert office.hidden([consent]) == {}
    # What must be published is not hidden for others: A is, though B costs less.
    assert set(office.hidden([{"cells": {"branch": "B"}, "status": "protected"}])) == {"A", "C"}
    found = office.hidden([consent, {"cells": {"branch": "A"}, "status": "unsafe"}])
    assert "A" in found
    assert len(found) > 1
    table, primaries = directly([Mark(cells={"branch": "B"}, cost=1e9)])
    own = suppress(table, primaries, method="optimal").to_polars(complete=True)
    hidden = own.filter(pl.col("status") == "suppressed")["branch"].to_list()
    assert list(office.hidden([{"cells": {"branch": "B"}, "cost": 1e9}])) == hidden == ["A", "C"]


@for_all_rows(
    "mark",
    [
        {"cells": {"branch": "Z"}, "status": "safe"},
        {"cells": {"colour": "red"}, "status": "safe"},
        {"cells": {"branch": "A"}, "status": "secret"},
        {"cells": {"branch": "A"}, "cost": -1},
        {"cells": {"branch": "A"}, "because": "they said so"},
        {"status": "safe"},
        "A",
    ],
)
def test_marks_that_mean_nothing_are_told_before_there_is_a_job(office: Office, mark: Any) -> None:
    answer = office.ask("suppress", {**_EXAMPLE, "marks": [mark]})
    assert answer.status_code == 422, answer.text
    assert answer.json()["problems"][0]["where"].startswith("marks")
    assert office.service.jobs.claim("tests") is None
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
    gate = BodyGate(office.service)
    gate.held.most = 1_000

    async def hold() -> None:
        async with gate.body(_Sent([b"x" * 400] * 2)) as file:  # type: ignore[arg-type]
            assert (len(file.read()), gate.held.total) == (800, 800)
            # One that says so is refused unread, one that does not as soon as it is too much.
            for sent, most in ((_Sent([b"x" * 300], 300), 0), (_Sent([b"x" * 150] * 9), 300)):
                with pytest.raises(ServiceError) as refusal:
                    async with gate.body(sent):  # type: ignore[arg-type]
                        raise AssertionError
                assert (refusal.value.code, refusal.value.retry_after) == ("overloaded", 2)
                assert sent.read <= most
                assert (gate.held.total, gate.waiting) == (800, 1)
        assert (gate.held.total, gate.waiting) == (0, 0)
        async with gate.body(_Sent([b"x" * 1_000], 1_000)) as file:  # type: ignore[arg-type]
            assert len(file.read()) == 1_000

    anyio.run(hold)
