"""What the tests of the review queue share: queues and small submissions."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from discreet_fire.queue import (
    OutputDecision,
    OutputPart,
    Queue,
    QueueSettings,
    Submission,
    SubmissionWork,
    approve,
    decide,
    release,
    submit,
    view,
)

LOG = ". tab sex\n\n        sex |      Freq.\n------------+-----------\n      Total |        500\n"


def new_queue(folder: Path, **changes: object) -> Queue:
    """A queue for Anna and Ben."""
    chosen = {"persons": ("Anna", "Ben"), "rate": 0.0, **changes}
    return Queue.create(folder / "q", QueueSettings(**chosen))


def output_stage(work: SubmissionWork) -> None:
    """A stage that makes one output of the log, as it is."""
    assert work.submission.log is not None
    folder = work.folder / "outputs"
    folder.mkdir()
    target = folder / "a.log"
    target.write_bytes(work.submission.log.read_bytes())
    work.outputs.append(target)


def hand_in(
    queue: Queue, folder: Path, text: str = LOG, *, researcher: str = "Weber", stages=None
) -> int:
    """Hand in a program and its log, without anything to look at."""
    program, log = folder / "a.do", folder / "handed.log"
    program.write_text("tabulate sex\n")
    log.write_text(text)
    submission = Submission(program=program, researcher=researcher, log=log)
    return submit(queue, submission, stages=stages or [output_stage])


def people(folder: Path) -> Path:
    """Data of 600 persons: two sexes, four groups, two kinds and five without any."""
    rng, at = np.random.default_rng(5), np.arange(600)
    columns = {
        "pid": at,
        "grp": 1 + at % 4,
        "sex": 1 + at // 300,
        "pay": rng.normal(3000, 500, 600).round(),
        "age": rng.integers(20, 65, 600),
        "kind": np.where(at < 5, "", np.where(at % 2, "a", "b")),
    }
    pl.DataFrame(columns).write_csv(folder / "d.csv")
    return folder / "d.csv"


def run_in(queue: Queue, folder: Path, data: Path, text: str) -> int:
    """Hand in a do-file to be run on data of persons."""
    (folder / "a.do").write_text(text)
    words = {"researcher": "Weber", "data": (data,), "unit": "pid"}
    return submit(queue, Submission(program=folder / "a.do", **words))


def version(queue: Queue, number: int) -> int:
    """The version of a submission."""
    return view(queue, number).row.standing.version


def let_go(
    queue: Queue,
    number: int,
    choice: Callable[[OutputPart], OutputDecision] | None = None,
    *,
    persons: tuple[str, ...] = ("Anna", "Ben"),
    reason: str = "fine",
) -> Path:
    """Decide on each part, approve and release."""
    now = view(queue, number).row.standing
    if choice is not None:
        chosen = {one.number: choice(one) for one in now.parts}
        now = decide(queue, number, chosen, person="Anna", reason=reason, version=now.version)
    how = {"reason": reason, "despite_conflicts": True}
    for person in persons:
        now = approve(queue, number, person=person, version=now.version, **how)
    return release(queue, number, person="Ben", reason=reason, version=now.version)
