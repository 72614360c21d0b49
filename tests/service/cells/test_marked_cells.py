"""Marks of single cells over the interface: consent, decisions and costs, as in the library."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet import primary, suppress
from discreet.microdata import Secret
from discreet.rules import Mark, MinimumFrequency, PPercent
from discreet_service.jobs.context import JobContext
from discreet_service.jobs.kinds import function_of, kind_of
from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ServiceSettings
from discreet_service.web.openapi import example_body
from tests.helpers.service_callers import RoleCallers
from tests.service.cells.test_hidden_cells import directly

EXAMPLE: dict[str, Any] = example_body("suppress_table_cells")


class Producer:
    """Somebody who hands in tables; jobs are done at once, in this process."""

    def __init__(self, folder: Path) -> None:
        Secret.generate().write(folder / "service.secret")
        limits = LimitSettings(requests_per_second=1e6, burst=10**6)
        secret = folder / "service.secret"
        self.service = Service(ServiceSettings(folder=folder, secret_file=secret, limits=limits))
        roles = {"paula": ["producer"]}
        self.callers = RoleCallers(self.service, ("operations", "jobs"), roles)

    def ask(self, marks: Any) -> Any:
        body = {**EXAMPLE, "marks": marks}
        return self.callers.ask("paula", "POST", "/api/v1/suppress", json=body)

    def hidden(self, marks: Any) -> dict[str, str]:
        """Code → why it is hidden, for each hidden cell."""
        answer = self.ask(marks)
        assert answer.status_code == 202, answer.text
        queue = self.service.jobs
        job = queue.claim("tests")
        assert job is not None
        folder = queue.work_folder(job)
        context = JobContext(
            service=self.service,
            job=job,
            folder=folder,
            report=lambda _progress, _step: None,
            cancelled=lambda: False,
        )
        output = function_of(kind_of(job.kind))(context)
        assert queue.finish(job, output.written(folder))
        sent = self.callers.ask("paula", "GET", f"/api/v1/jobs/{job.id}/result")
        frame = pl.read_csv(io.BytesIO(sent.content)).filter(pl.col("status") == "suppressed")
        reasons = frame["reason"] if frame.height else frame["branch"]
        return dict(zip(frame["branch"], reasons, strict=True))


@pytest.fixture
def producer(tmp_path: Path) -> Iterator[Producer]:
    found = Producer(tmp_path)
    yield found
    found.service.close()


def test_without_marks_rules_and_costs_decide(producer: Producer) -> None:
    assert producer.hidden([]) == {"B": "secondary", "C": "minimum-frequency"}


def test_consent_shows_what_rules_would_hide(producer: Producer) -> None:
    assert producer.hidden([{"cells": {"branch": "C"}, "status": "safe"}]) == {}


def test_marked_cells_are_sensitive_and_protected_ones_stay(producer: Producer) -> None:
    # What must be published is not hidden for others: A is, though B costs less.
    found = producer.hidden([{"cells": {"branch": "B"}, "status": "protected"}])
    assert set(found) == {"A", "C"}
    found = producer.hidden(
        [
            {"cells": {"branch": "C"}, "status": "safe"},
            {"cells": {"branch": "A"}, "status": "unsafe"},
        ]
    )
    assert "A" in found
    assert len(found) > 1


def test_costs_move_what_is_hidden_besides(producer: Producer) -> None:
    assert set(producer.hidden([{"cells": {"branch": "B"}, "cost": 1e9}])) == {"A", "C"}


def test_the_pattern_is_that_of_the_library(producer: Producer) -> None:
    table, _ = directly()
    found = primary(
        table,
        [MinimumFrequency(3), PPercent(10)],
        value="turnover",
        marks=[Mark(cells={"branch": "B"}, cost=1e9)],
    )
    own = suppress(table, found, method="optimal").to_polars(complete=True)
    hidden = own.filter(pl.col("status") == "suppressed")["branch"].to_list()
    assert list(producer.hidden([{"cells": {"branch": "B"}, "cost": 1e9}])) == hidden


@pytest.mark.parametrize(
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
def test_marks_that_mean_nothing_are_told_before_there_is_a_job(
    producer: Producer, mark: Any
) -> None:
    answer = producer.ask([mark])
    assert answer.status_code == 422, answer.text
    assert answer.json()["problems"][0]["where"].startswith("marks")
    assert producer.service.jobs.claim("tests") is None
    assert not list((producer.service.settings.folder / "inputs").glob("*"))
