"""Rules for every runner: held against those of the registry, and against others that break them.

Toy runners of this file are registered here and run submissions through the queue: the queue
and the command know the protocol only.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.cli.commands import app
from discreet.errors import OutputCheckError
from discreet_fire.findings import Severity
from discreet_fire.queue import Queue, QueueSettings, Submission, submit, view
from discreet_fire.queue.contents import all_tables
from discreet_fire.runners import registry
from discreet_fire.runners.builtin.runner import BUILTIN
from discreet_fire.runners.protocol import (
    RedactedError,
    Runner,
    RunResult,
    ShownOutput,
    StatisticShown,
    Witness,
    run_program,
)
from discreet_fire.statistics import SafeLimits, SafeResult, count, summarize
from discreet_fire.texts import read_source
from tests.helpers.closed_runs import engine_of, few_exchanges

ROWS = 400
FRAME = pl.DataFrame(
    {
        "pid": range(ROWS),
        "wage": [1000.5 + 7 * (at % 61) for at in range(ROWS)],
        "sex": [1, 2] * 200,
    }
)


@dataclass
class ToyRunner:
    """Each line of a program is the name of a variable, to be summarized."""

    name: str = "toy"
    suffixes: frozenset[str] = frozenset((".toy",))
    tells: bool = True  # whom its statistics are about, and its outputs
    own_commands: bool = True

    def run(self, program, *, data, limits, entity, seed, seconds, witness) -> RunResult:
        source, frame = read_source(program), pl.read_csv(data[0])
        lines, outputs = [], []
        for number, name in enumerate(source.text.split(), 1):
            result = summarize(frame, [name], entity=entity, limits=limits)
            lines += [f". summarize {name}", result.shown]
            outputs.append(ShownOutput(number, "summarize", result))
            if self.tells and witness is not None:
                units, own = frame[entity].to_list() if entity else None, frame.select(name)
                words = {"line": number, "command": "summarize", "universes": "each"}
                witness(StatisticShown(**words, units=units, frame=own))
        outputs = outputs if self.tells else ()
        return RunResult.of(source, data, lines=lines, outputs=outputs, checked=self.tells)


@dataclass
class AlteredRunner(ToyRunner):
    """The toy, whose result is then changed as no runner may."""

    change: str = ""

    def run(self, program, **given) -> RunResult:
        result = super().run(program, **given)
        if self.change == "digest":
            digest = hashlib.sha256(program.read_bytes()).hexdigest()
            return replace(result, log=result.log.replace(digest, "0" * 64))
        if self.change == "data":
            return replace(result, log=result.log.replace(". * data d.csv\n", ""))
        if self.change == "stop":
            return replace(result, error=RedactedError())
        if self.change == "nothing":
            return None
        if self.change == "no outputs":
            return replace(result, outputs=())
        if self.change == "more lines":
            return replace(
                result, log=result.log.replace(". summarize sex", "1420\n. summarize sex")
            )
        if self.change == "redacted":
            error = OutputCheckError("the wage is 1420", code="do-file")
            error.redacted = True
            return replace(result, error=error)
        raise ValueError(f"the largest wage is {pl.read_csv(given['data'][0])['wage'].max()}")


@contextmanager
def registered(runner: Runner) -> Iterator[Runner]:
    with patch.object(registry, "configured", lambda: (runner,)):
        yield runner


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    FRAME.write_csv(tmp_path / "d.csv")
    (tmp_path / "a.toy").write_text("wage\nsex\n")
    return tmp_path


def handed_in(folder: Path) -> tuple[Queue, int]:
    queue = Queue.create(folder / "q", QueueSettings(persons=("Anna", "Ben"), rate=0.0))
    words = {"researcher": "Weber", "data": (folder / "d.csv",), "unit": "pid"}
    return queue, submit(queue, Submission(program=folder / "a.toy", **words))


@few_exchanges()
def run(
    runner: Runner,
    program: Path,
    *data: Path,
    entity: str | None = None,
    witness: Witness | None = None,
) -> RunResult:
    given = {"limits": SafeLimits(), "entity": entity, "seed": 0, "seconds": 60.0}
    return run_program(runner, program, data=data, witness=witness, **given)


# --- other runners through the queue ----------------------------------------------------


def test_a_runner_of_a_test_takes_a_submission_through_the_queue(folder: Path) -> None:
    with registered(ToyRunner()):
        queue, number = handed_in(folder)
    with queue:
        shown = view(queue, number)
        found = {(one.stage, one.rule) for one in shown.findings}
        assert ("rewrite", "not-rewritten") in found  # nobody knows safe commands of toys
        assert found.isdisjoint({("ledger", "no-universe"), ("run", "unchecked")})
        assert {len(one.records) for one in all_tables(queue, number)} == {ROWS}
        log = (next(queue.folder.glob("store/*/outputs")) / "a.log").read_text()
        assert ". summarize wage" in log


def test_what_a_runner_does_not_capture_waits_for_two_persons(folder: Path) -> None:
    with registered(ToyRunner(tells=False)):
        queue, number = handed_in(folder)
    with queue:
        shown = view(queue, number)
        found = {(one.stage, one.rule): one.severity for one in shown.findings}
        assert found["ledger", "no-universe"] is Severity.REVIEW
        assert found["run", "unchecked"] is Severity.REVIEW
        assert shown.row.standing.needed == queue.settings.approvals


def test_programs_without_a_runner_are_not_taken(folder: Path) -> None:
    with pytest.raises(OutputCheckError, match="not a do-file"):
        handed_in(folder)


def test_the_command_runs_what_is_registered(folder: Path) -> None:
    with registered(ToyRunner(tells=False)):
        words = ["fire", "run", str(folder / "a.toy"), "--data", str(folder / "d.csv"), "--strict"]
        done = CliRunner().invoke(app, words)
    assert done.exit_code == 1, done.output
    assert "[unchecked]" in done.output


# --- results that nobody checked, or that show too much ---------------------------------


def test_outputs_that_nobody_checked_are_no_pass(folder: Path) -> None:
    result = run(ToyRunner(tells=False), folder / "a.toy", folder / "d.csv")
    assert (result.outputs, result.verdict.value) == ((), "review")
    assert [one.rule for one in result.findings] == ["unchecked"]
    good = count(FRAME, limits=SafeLimits())
    told = replace(result, outputs=(ShownOutput(1, "count", good),))
    assert told.verdict.value == "review"
    assert replace(told, checked=True).verdict.value == "pass"
    bare = replace(told, checked=True, outputs=(ShownOutput(1, "count", replace(good, checks=())),))
    assert bare.verdict.value == "review"
    assert [(one.rule, one.severity) for one in bare.findings] == [("unchecked", Severity.REVIEW)]
    assert replace(result, error=RedactedError()).verdict.value == "review"


@pytest.mark.parametrize(
    "change", ["digest", "data", "stop", "redacted", "nothing", "no outputs", "more lines"]
)
def test_results_that_break_a_rule_are_not_shown(folder: Path, change: str) -> None:
    with pytest.raises(OutputCheckError, match="nothing is shown") as found:
        run(AlteredRunner(change=change), folder / "a.toy", folder / "d.csv")
    assert (found.value.code, found.value.where) == ("runner", "toy")
    assert "1420" not in str(found.value)
    with registered(AlteredRunner(change=change)), pytest.raises(OutputCheckError):
        handed_in(folder)


def test_only_who_follows_values_may_show_lines_that_are_no_outputs(folder: Path) -> None:
    words = folder / "a.toy", folder / "d.csv"
    for follows in (False, None, 1, "yes"):
        runner = AlteredRunner(change="no outputs")
        runner.follows_values = follows
        with pytest.raises(OutputCheckError, match="more than the outputs"):
            run(runner, *words)
    runner.follows_values = True
    assert ". summarize wage" in run(runner, *words).log
    assert run(AlteredRunner(change="no outputs", tells=False), *words).outputs == ()


def test_a_run_without_lines_needs_no_outputs(folder: Path) -> None:
    (folder / "a.toy").write_text("")
    result = run(ToyRunner(), folder / "a.toy", folder / "d.csv")
    assert (result.outputs, result.checked, result.error) == ((), True, None)


def test_an_error_that_nobody_expected_quotes_nothing(folder: Path) -> None:
    result = run(AlteredRunner(change="fails"), folder / "a.toy", folder / "d.csv")
    assert result.error is not None
    assert result.error.code == "internal"
    assert "1420" not in result.log + str(result.to_dict()) + str(result.error)
    assert (result.outputs, result.verdict.value) == ((), "review")


def test_a_redacted_stop_takes_its_outputs_along(folder: Path) -> None:
    source = read_source(folder / "a.toy")
    shown = ShownOutput(1, "count", SafeResult(command="count", shown="  12"))
    result = RunResult.of(
        source, (), lines=["  12"], outputs=[shown], checked=True, error=RedactedError()
    )
    assert "12" not in result.log.split(source.sha256)[1]
    assert result.outputs == ()


# --- the runners that there are ----------------------------------------------------------


@dataclass(frozen=True)
class Example:
    """Programs of one runner for the tests below.

    Args:
        first: Shows how many records the data has that are in memory at the start.
        chance: Uses random numbers and shows something of them.
        outside: Each tries to read or write a file `secret.csv` one folder up.
        stop: Stops where a single value of `wage` decides, after it has shown something.
    """

    first: str
    chance: str
    outside: tuple[str, ...]
    stop: str


EXAMPLES = {
    "builtin": Example(
        first="count",
        chance="generate u = region\nsummarize u",
        outside=(
            "use ../secret.csv, clear",
            "merge 1:1 pid using ../secret.csv",
            "append using ../secret.csv",
            "do ../secret.csv",
            "save ../secret.csv, replace",
        ),
        stop="count\ncodebook sex\nreplace sex = -1 if pid > 397\nregress wage i.sex",
    )
}
_PYTHON = "import os\nimport pandas as pd\nimport discreet_fire.scripts.runtime as fdz_safe\n"
_DESCRIBE = 'print(fdz_safe.describe(pd.read_csv(os.environ["DISCREET_DATA"])[["wage"]]))\n'
_R = 'source(file.path(Sys.getenv("DISCREET_R"), "discreet_safe.R"))\n'
_MEAN = 'd <- read.csv(Sys.getenv("DISCREET_DATA"))\nfdz_mean(d$wage)\n'
EXAMPLES |= {
    "python": Example(
        first=_PYTHON + _DESCRIBE,
        chance=_PYTHON + "import random\nprint(random.random(), id(random) > 0)",
        outside=("open('../../secret.csv')", "open('/etc/discreet-was-here', 'w')"),
        stop=f"{_PYTHON}{_DESCRIBE}if pd.read_csv('d.csv').wage.max() > 1420:\n    exit(9)",
    ),
    "r": Example(
        first=_R + _MEAN,
        chance="print(runif(3))",
        outside=("readLines('../../secret.csv')", "writeLines('x', '/etc/discreet-was-here')"),
        stop=f"{_R}{_MEAN}if (max(d$wage) > 1420) quit(status = 9)",
    ),
}
SLOW = {"python": pytest.mark.exhaustive, "r": pytest.mark.r}


@pytest.fixture(params=[pytest.param(one, marks=SLOW.get(one, ())) for one in sorted(EXAMPLES)])
def case(request: pytest.FixtureRequest) -> tuple[Runner, Example]:
    runner = BUILTIN if request.param == "builtin" else engine_of(request.param)
    return runner, EXAMPLES[request.param]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder for a program, with data beside it and a secret above it."""
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "data").mkdir()
    FRAME.write_csv(tmp_path / "data" / "d.csv")
    FRAME.head(70).write_csv(tmp_path / "data" / "e.csv")
    FRAME.write_csv(inner.parent / "secret.csv")
    return inner


def program_of(runner: Runner, place: Path, text: str) -> Path:
    path = place / f"p{sorted(runner.suffixes)[0]}"
    path.write_text(text + "\n")
    return path


def test_nothing_outside_of_the_folder_is_read_or_written(
    case: tuple[Runner, Example], place: Path
) -> None:
    runner, example = case
    data = place.parents[1] / "data" / "d.csv"
    secret = place.parent / "secret.csv"
    before = secret.read_bytes(), secret.stat().st_mtime_ns
    os.utime(secret, ns=(1, before[1]))
    for text in example.outside:
        result = run(runner, program_of(runner, place, text), data)
        assert result.error is not None, text
        assert (secret.read_bytes(), secret.stat().st_mtime_ns) == before, text
        assert sorted(one.name for one in place.parent.iterdir()) == ["inner", "secret.csv"]
        assert sorted(one.name for one in data.parent.iterdir()) == ["d.csv", "e.csv"]


def test_data_files_have_distinct_names_and_the_first_is_in_memory(
    case: tuple[Runner, Example], place: Path
) -> None:
    runner, example = case
    program = program_of(runner, place, example.first)
    one, other = (place.parents[1] / "data" / name for name in ("d.csv", "e.csv"))
    for order, rows in (((one, other), ROWS), ((other, one), 70)):
        result = run(runner, program, *order)
        assert f"{rows}" in result.log.rpartition(". * data")[2]
    FRAME.write_csv(place / "d.csv")
    with pytest.raises(OutputCheckError) as found:
        run(runner, program, one, place / "d.csv")
    assert found.value.code == "data-files"
    with pytest.raises(OutputCheckError) as found:
        run(runner, program, place / "none.csv")
    assert found.value.code == "no-file"


def test_equal_runs_give_equal_logs_with_program_and_data_in_their_head(
    case: tuple[Runner, Example], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner, example = case
    program = program_of(runner, place, example.chance)
    data = place.parents[1] / "data" / "d.csv"
    first = run(runner, program, data)
    monkeypatch.setattr("time.time", lambda: 1.0)
    monkeypatch.setattr("time.monotonic", lambda: 1.0)
    assert run(runner, program, data).log == first.log
    head = first.log.split("-" * 79)[1]
    assert hashlib.sha256(program.read_bytes()).hexdigest() in head
    assert "data d.csv" in head


def test_where_a_value_decides_about_a_stop_nothing_is_shown(
    case: tuple[Runner, Example], place: Path
) -> None:
    runner, example = case
    program = program_of(runner, place, example.stop)
    result = run(runner, program, place.parents[1] / "data" / "d.csv")
    assert isinstance(result.error, RedactedError)
    assert (result.outputs, result.line) == ((), None)
    assert ". count" not in result.log


def test_each_runner_tells_whom_each_statistic_is_about(
    case: tuple[Runner, Example], place: Path
) -> None:
    runner, example = case
    told: list[StatisticShown] = []
    program = program_of(runner, place, example.first)
    run(runner, program, place.parents[1] / "data" / "d.csv", entity="pid", witness=told.append)
    assert [len(one.units or ()) for one in told] == [ROWS]
