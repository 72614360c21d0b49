"""Programs of the engines of a centre: run on data of 400 records, and taken through the queue."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import polars as pl

from discreet_fire.findings import Severity
from discreet_fire.queue import (
    Queue,
    QueueSettings,
    QueueView,
    Submission,
    approve,
    release,
    submit,
    view,
)
from discreet_fire.runners import script_run
from discreet_fire.runners.protocol import Runner, RunResult, StatisticShown, run_program
from discreet_fire.runners.script_run import CentreEngine, PythonRunner, RRunner
from discreet_fire.statistics import SafeLimits

ROWS = 400
FRAME = pl.DataFrame(
    {
        "pid": range(ROWS),
        "wage": [1000.5 + 7 * (at % 61) + at / 8 for at in range(ROWS)],
        "sex": [1, 2] * 200,
        "region": ["n", "n", "s", "s", "e", "e", "w", "w"] * 50,
    }
)


def engine_of(language: str) -> PythonRunner | RRunner:
    """The Python of these tests, or the R of this machine."""
    if language == "python":
        return PythonRunner(CentreEngine(executable=Path(sys.executable)))
    return RRunner(CentreEngine(executable=Path("/usr/bin/Rscript")))


@contextmanager
def few_exchanges() -> Iterator[None]:
    """Scripts run again on 8 exchanges of values, not 19: for what these do not decide."""
    names = script_run.RENAMED[:1]
    with (
        patch.object(script_run, "RENAMED", names),
        patch.object(script_run, "parts_for", lambda least: least + 1),
    ):
        yield


@few_exchanges()
def run(
    runner: Runner,
    program: Path,
    *data: Path,
    entity: str | None = "pid",
    seconds: float = 120.0,
    told: list[StatisticShown] | None = None,
) -> RunResult:
    """Run a program on few exchanges of values."""
    return run_program(
        runner,
        program,
        data=data,
        limits=SafeLimits(),
        entity=entity,
        seed=0,
        seconds=seconds,
        witness=None if told is None else told.append,
    )


def rules(result: RunResult | QueueView, severity: Severity = Severity.REVIEW) -> list[str]:
    """The rules of findings that a person must look at."""
    return sorted({one.rule for one in result.findings if one.severity is severity})


@few_exchanges()
def released(place: Path, program: Path) -> tuple[QueueView, str]:
    """A submission that one person approves and releases, and the log of the release."""
    with Queue.create(place / "q", QueueSettings(persons=("Anna",), rate=0.0)) as queue:
        words = {"researcher": "Weber", "data": (place / "d.csv",), "unit": "pid"}
        number = submit(queue, Submission(program=program, **words))
        found = view(queue, number)
        decided = {"person": "Anna", "reason": "safe"}
        standing = approve(queue, number, version=found.row.standing.version, **decided)
        folder = release(queue, number, version=standing.version, **decided)
        return found, (folder / f"{program.stem}.log").read_text()
