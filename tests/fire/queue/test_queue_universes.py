"""Whom statistics are about: what the queue takes down of a run, and what it thus finds."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet_fire.linked_tables import ShownCounts, read_tables
from discreet_fire.queue import Queue, Submission, SubmissionWork, approve, release, view
from discreet_fire.queue.contents import SubmissionTables, all_tables
from discreet_fire.queue.submissions import record_tables
from discreet_fire.runners.protocol import StatisticShown
from tests.helpers.queue_parts import new_queue, people, run_in, version


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return people(tmp_path_factory.mktemp("data"))


def counts(queue: Queue, number: int) -> list[tuple[str, int]]:
    """Cells of the tables of a submission, without their lines, and how many are in each."""
    return list(
        dict.fromkeys(
            (f"{one.name.partition(', ')[2]}: {one.place(at)}", int(one.counts.ravel()[at]))
            for one in all_tables(queue, number)
            for at in np.flatnonzero(~one.hidden)
        )
    )


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("count if grp == 1", [("count if …: all", 150)]),
        ("quietly summarize pay if grp == 2", [("summarize pay: all", 150)]),
        # ages are no categories of an output that shows none
        ("summarize pay age", [("summarize pay age: all", 600)]),
        (
            "generate a = pay if pid > 99\ngenerate b = age if pid < 500\nregress a b",
            [("regress a b: all", 400)],
        ),
        (
            "generate a = pay if pid > 99\nbysort sex: summarize a",
            [("by sex: summarize a: sex = 1", 200), ("by sex: summarize a: sex = 2", 300)],
        ),
        (
            "generate a = pay if pid > 99\ntabstat a, by(sex) statistics(mean n)",
            [("tabstat a: sex = 1", 200), ("tabstat a: sex = 2", 300), ("tabstat a: all", 500)],
        ),
        ("regress pay i.sex age", [("regress pay i.sex age: all", 600)]),
        (
            "tabulate kind",
            [
                ("tabulate kind: kind = a", 298),
                ("tabulate kind: kind = b", 297),
                ("tabulate kind: all", 595),
            ],
        ),
        # without the second kind the five without any could be told
        ("tabulate kind, missing", [("tabulate kind: kind = a", 298), ("tabulate kind: all", 600)]),
    ],
)
def test_cells_are_those_of_the_cases_behind_the_figures(
    tmp_path: Path, data: Path, program: str, expected: list[tuple[str, int]]
) -> None:
    with new_queue(tmp_path, minimum=10) as queue:
        assert counts(queue, run_in(queue, tmp_path, data, program + "\n")) == expected


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("count if grp < 4 & pid > 49", "count if grp < 4 & pid > 53"),
        # the totals differ by many, only one group by a few
        (
            "tabstat pay if pid > 49, by(sex) statistics(mean n)",
            "generate a = pay if pid > 53 & pid < 500\ntabstat a, by(sex) statistics(mean n)",
        ),
        # each variable is there for many others, both together for a few less
        (
            "generate a = pay if pid > 49\nregress a age",
            "generate a = pay if pid > 29\ngenerate b = age if pid < 25 | pid > 53\nregress a b",
        ),
        ("tabulate kind", "tabulate kind, missing"),
    ],
)
def test_a_second_request_for_nearly_the_same_cases_is_found(
    tmp_path: Path, data: Path, first: str, second: str
) -> None:
    with new_queue(tmp_path, minimum=10, clean_approvals=0) as queue:
        number = run_in(queue, tmp_path, data, first + "\n")
        if view(queue, number).row.standing.needed:
            words = {"person": "Anna", "reason": "ok"}
            approve(queue, number, version=version(queue, number), **words)
        release(queue, number, person="Anna", reason="ok", version=version(queue, number))
        number = run_in(queue, tmp_path, data, second + "\n")
        told = view(queue, number).conflicts
        assert told
        assert all("released as 1" in one for one in told)


@pytest.mark.parametrize(
    ("units", "known", "what"),
    [
        (None, [], "units unknown"),
        ([None] * 20 + [*range(580)], [580], "units of some records unknown"),
    ],
)
def test_records_of_nobody_are_told(
    tmp_path: Path, data: Path, units: list[int | None] | None, known: list[int], what: str
) -> None:
    handed = Submission(program=data, researcher="Weber", data=(data,))
    with new_queue(tmp_path) as queue:
        work = SubmissionWork(submission=handed, folder=tmp_path, program=data, key=queue.units)
        words = {"line": 7, "command": "summarize", "universes": "each"}
        told = StatisticShown(**words, units=units, frame=pl.DataFrame({"pay": range(600)}))
        work.tables = SubmissionTables()
        record_tables(work, told)
        tables, _ = read_tables(work.tables.written(queue.units, ""))
    assert [len(one.records) for one in tables if isinstance(one, ShownCounts)] == known
    (one,) = work.findings
    assert one.rule == "no-universe"
    assert f"line 7, summarize: {what}" in one.what
