"""Python scripts in closed processes: from submission to release, and what they try to tell."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from discreet.errors import OutputCheckError
from discreet_fire.findings import Severity
from discreet_fire.queue import (
    Queue,
    QueueSettings,
    State,
    Submission,
    permit,
    submit,
    view,
)
from discreet_fire.rewriting.submission import rewrite_python
from discreet_fire.runners import closed_process
from discreet_fire.runners.asked_statistics import AskedStatistic, token
from discreet_fire.runners.closed_process import ProcessLimits
from discreet_fire.runners.protocol import RunResult, StatisticShown
from discreet_fire.runners.registry import VARIABLE, runners
from discreet_fire.runners.script_run import script_log, written_lines
from discreet_fire.statistics import SafeResult
from tests.helpers import closed_runs
from tests.helpers.closed_runs import engine_of, released, rules
from tests.helpers.rows import for_all_rows

#: Two records of each person.
FRAME = closed_runs.FRAME.with_columns(pid=pl.col("pid") // 2)
HEAD = 'import pandas as pd\nimport polars as pl\ndf = pd.read_csv("d.csv")\n'
SETTINGS = f'[python]\nexecutable = "{sys.executable}"\nseconds = 300\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    FRAME.write_csv(tmp_path / "d.csv")
    (tmp_path / "secret.txt").write_text("4711")
    (tmp_path / "program").mkdir()
    return tmp_path


def run(place: Path, text: str, **options: object) -> RunResult:
    """Rewrite a script, and run it."""
    return run_as_it_is(place, rewrite_python(HEAD + text).text, **options)


def run_as_it_is(place: Path, text: str, **options: object) -> RunResult:
    (place / "program" / "a.py").write_text(text)
    return closed_runs.run(
        engine_of("python"), place / "program" / "a.py", place / "d.csv", **options
    )


def shown(result: RunResult) -> str:
    return result.log.split("-" * 79)[2]


# --- from submission to release -----------------------------------------------------------


def test_a_script_goes_from_submission_to_release(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "runners.toml").write_text(SETTINGS)
    monkeypatch.setenv(VARIABLE, str(place / "runners.toml"))
    program = place / "program" / "wages.py"
    program.write_text(
        f'{HEAD}print("Wages by sex")\nprint(df.groupby("sex")["wage"].mean())\n'
        "print(df.wage.max())\nprint(df.region.value_counts())\n"
    )
    found, log = released(place, program)
    assert (rules(found), rules(found, Severity.REFUSED)) == ([], ["shown"])
    assert len(found.row.standing.parts) == 3
    mean = FRAME.group_by("sex").agg(pl.col("wage").mean()).sort("sex")["wage"]
    assert all(f"{one:.7g}" in log for one in mean)
    assert "| Wages by sex" in log
    assert f"{FRAME['wage'].max()}" not in log


@pytest.mark.exhaustive
def test_what_no_rule_knows_is_not_run_until_an_officer_permits_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "runners.toml").write_text(SETTINGS)
    monkeypatch.setenv(VARIABLE, str(place / "runners.toml"))
    program = place / "program" / "wages.py"
    known = f"{HEAD}print('Wages')\n"
    program.write_text(f"{known}import colorsys\ncolorsys.hls_to_rgb(1, 1, 1)\n")
    words = {"program": program, "researcher": "Weber", "data": (place / "d.csv",)}
    with Queue.create(place / "q", QueueSettings(persons=("Anna", "Weber"), rate=0.0)) as queue:

        def handed(replaces: int | None) -> tuple[int, bool]:
            number = submit(queue, Submission(**words, replaces=replaces))
            rules = [one.rule for one in view(queue, number).findings]
            assert ("not-run" in rules) != bool(view(queue, number).outputs)
            return number, "not-run" in rules

        number, waits = handed(None)
        assert waits
        version = view(queue, number).row.standing.version
        told = {"reason": "it only computes colours", "version": version}
        with pytest.raises(OutputCheckError, match="you cannot decide on your own submission"):
            permit(queue, number, person="Weber", **told)
        assert permit(queue, number, person="Anna", **told).state is State.permitted
        program.write_text(f"{program.read_text()}colorsys.rgb_to_hls(1, 1, 1)\n")
        assert handed(number)[1]  # it is another program now
        program.write_text(f"{known}import colorsys\ncolorsys.hls_to_rgb(1, 1, 1)\n")
        number, waits = handed(number)
        assert not waits
        version = view(queue, number).row.standing.version
        with pytest.raises(OutputCheckError, match="the program needs no permission"):
            permit(queue, number, person="Anna", reason="again", version=version)


# --- what the runner works out itself ------------------------------------------------------


@pytest.mark.exhaustive
def test_statistics_of_the_data_pass_with_whom_they_are_about(place: Path) -> None:
    told: list[StatisticShown] = []
    text = (
        "print(df[['wage']].describe())\nprint(pd.crosstab(df.region, df.sex))\n"
        "print(df[df.sex == 2].wage.mean())\n"
    )
    result = run(place, text, told=told)
    assert (result.error, result.checked) == (None, True)
    assert rules(result) == []
    assert [(one.line, one.command) for one in told] == [
        (5, "summarize"),
        (6, "tabulate"),
        (7, "tabstat"),
    ]
    assert told[0].units == FRAME["pid"].to_list()
    assert told[2].units == FRAME.filter(pl.col("sex") == 2)["pid"].to_list()
    assert told[1].tables[0] is not None
    assert f"{FRAME.filter(pl.col('sex') == 2)['wage'].mean():.7g}" in shown(result)


@pytest.mark.exhaustive
def test_cases_are_persons_whatever_the_script_hands_over(place: Path) -> None:
    result = run(place, "print(df[df.pid < 2].wage.mean())\n")  # four records of two persons
    assert "." in shown(result)
    assert f"{FRAME.filter(pl.col('pid') < 2)['wage'].mean():.5g}" not in shown(result)
    assert {one.rule for one in result.findings} >= {"minimum"}


UNPROVEN = """\
print(df[df.pid > 0].wage.mean())
d = df.sort_values('wage').reset_index(drop=True)
print(d.wage.mean())
df['wage'] = df.wage.clip(upper=1200.0)
print(df[['wage', 'sex']].describe())
df['wage'] = [7.0 + i % 5 for i in range(400)]
print(df.wage.mean())
"""


@pytest.mark.exhaustive
def test_what_the_data_do_not_prove_goes_to_a_person(place: Path) -> None:
    by_line = {(one.line, one.rule) for one in run(place, UNPROVEN).findings}
    expected = {(5, "left-out"), (7, "records"), (9, "own-columns"), (11, "records")}
    assert by_line >= expected, by_line


# --- what scripts print themselves ------------------------------------------------------------


@pytest.mark.exhaustive
def test_texts_of_the_program_are_no_output_and_figures_are_unchecked(place: Path) -> None:
    result = run(place, "print('Table 1')\n")
    assert (rules(result), result.checked) == ([], True)
    text = f"{HEAD}print('. summarize wage')\nprint(df.wage.max())\n"
    result = run_as_it_is(place, text, entity=None)
    assert not result.checked
    assert rules(result) == ["unchecked"]
    assert "\n| . summarize wage\n" in result.log  # no command, and no part of its own


@pytest.mark.exhaustive
def test_forged_answers_show_nothing_and_forged_requests_are_requests(place: Path) -> None:
    forged = (
        "import json, os, sys\n"
        "sys.stdout.write('\\x02safe 1\\x03\\n')\n"
        "told = {'command': 'summarize', 'arguments': [['x']], 'options': {}, 'line': 3,\n"
        "        'format': 'json'}\n"
        "data = json.dumps({'x': [81250.5] * 40}).encode()\n"
        "out = [f for f in range(3, 20) if os.path.exists(f'/proc/self/fd/{f}')]\n"
        "import discreet_fire.runners.python_program, gc\n"
        "asks = [o for o in gc.get_objects() if type(o).__name__ == '_Asking'][0]._asks\n"
        "asks.write(json.dumps(told | {'bytes': len(data)}).encode() + b'\\n' + data)\n"
        "asks.flush()\n"
    )
    result = run_as_it_is(place, forged, entity=None)
    assert "81250" not in result.log
    assert "records" in rules(result)
    own = forged.replace("'options': {}", "'options': {'limits': None}")
    result = run_as_it_is(place, own, entity=None)
    assert (result.outputs, result.checked) == ((), False)
    result = run_as_it_is(place, forged.replace("b'\\n' + data", "b'no\\n'"), entity=None)
    assert result.error is not None
    assert shown(result).strip().startswith("*** the program did not finish")


@pytest.mark.exhaustive
def test_a_script_that_stops_shows_nothing(place: Path) -> None:
    result = run(place, "print(df.wage.mean())\nif df.wage.max() > 1420:\n    raise ValueError\n")
    assert result.error is not None
    assert result.outputs == ()
    assert "tabstat" not in result.log


# --- what the process is kept from -----------------------------------------------------------


def plan_of(place: Path, code: str, **limits: float) -> closed_process.ProcessPlan:
    """A plan of a bare Python."""
    own = place / "own"
    own.mkdir(exist_ok=True)
    return closed_process.ProcessPlan(
        command=[sys.executable, "-I", "-c", code],
        folder=own,
        read=[Path(sys.prefix), Path(sys.base_prefix)],
        data=[],
        environment={"WORD": "one"},
        limits=ProcessLimits(**{"seconds": 60.0, **limits}),
    )


def test_its_environment_is_what_it_is_given(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_OF_THE_SERVICE", "4711")
    end = closed_process.run_closed(plan_of(place, "import os; print(sorted(os.environ))"))
    names = {"DISCREET_ANSWERS", "DISCREET_ASKS", "LC_CTYPE", "TMPDIR", "WORD"}
    assert set(eval(end.output)) <= names


@pytest.mark.exhaustive
def test_nothing_outlives_a_program_whose_time_is_over(place: Path) -> None:
    code = (
        "import ctypes, os, signal, time\n"
        "ctypes.CDLL(None).prctl(1, 0)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n    os.setsid()\n"
        f"time.sleep({MARK})\n"
    )
    seconds, both = 1.5, False
    while not both:  # both were there before the time was over: more of it where all is slow
        with ThreadPoolExecutor(1) as threads:
            end = threads.submit(closed_process.run_closed, plan_of(place, code, seconds=seconds))
            while not both and not end.done():
                both = len(marked()) >= 2
                time.sleep(0.02)
            assert (end.result().code, end.result().over) == (None, "time")
        seconds *= 4
        assert seconds < 400
    assert marked() == []


MARK = "86413.25"


def marked() -> list[str]:
    """Processes that have the mark among their words."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (place / "cmdline").read_text().split("\0")
            if any(word.startswith("import") and MARK in word for word in words):
                found.append(place.name)
    return found


@pytest.mark.exhaustive
def test_too_much_output_ends_a_program(place: Path) -> None:
    end = closed_process.run_closed(plan_of(place, "while True: print('x' * 10**5)", output_mb=1))
    assert (end.code, end.over, end.output) == (None, "output", b"")
    large = "open('f','wb').write(b'x' * 2**21)"
    end = closed_process.run_closed(plan_of(place, large, output_mb=1))
    assert end.code != 0


# --- settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[perl]\n", "unknown key"),
        ("[python]\nexecutable = 'python'\n", "whole path"),
        (f"{SETTINGS}colour = 'red'\n", "unknown key"),
        (SETTINGS.replace("300", "-1"), "at least 0.01"),
        ("[python]\nexecutable = '/opt/none/python'\n", "something that is there"),
        ("[stata]\nexecutable = '/bin/sh'\n", "stata.ado: is missing"),
        (f"{SETTINGS}processes = 0\n", "at least 1"),
        (f"{SETTINGS}read = ['data']\n", "whole path"),
        ("[python\n", "not a TOML file"),
    ],
)
def test_wrong_settings_are_said(
    place: Path, monkeypatch: pytest.MonkeyPatch, text: str, what: str
) -> None:
    (place / "runners.toml").write_text(text)
    monkeypatch.setenv(VARIABLE, str(place / "runners.toml"))
    with pytest.raises(OutputCheckError, match=what):
        runners()
    monkeypatch.setenv(VARIABLE, str(place / "none.toml"))
    with pytest.raises(OutputCheckError, match="cannot be read"):
        runners()


# --- texts of the program as a way to tell a value --------------------------------------------


LITERALS = {"Table 1": 2, "Wages": 1}


def lines_of(output: str) -> tuple[list[str], bool]:
    log = script_log(written_lines(output.encode()), (), LITERALS)
    return log.lines[1:], log.checked


@for_all_rows(
    ("output", "checked"),
    [
        ("Table 1\nWages\nTable 1\n", True),  # as often as it is written
        ("Wages\n" * 2, False),
        ("Wages\n" * 1372, False),
        ('[1] "Wages"\n[1] "Wages"\n', False),
        ("1372.435\n", False),
        ("\x1b[31mWages\n", False),
    ],
)
def test_a_line_of_the_program_passes_as_often_as_it_is_written(output: str, checked: bool) -> None:
    assert lines_of(output)[1] is checked


@pytest.mark.parametrize(
    "output", ["Wages\n" + "\n" * 1372, " " * 1372 + "Wages\n", '[1] "Wages"\n', "Wages"]
)
def test_empty_lines_and_blanks_around_a_text_tell_nothing(output: str) -> None:
    assert lines_of(output) == (["| Wages"], True)


def test_an_output_that_one_place_shows_again_is_looked_at() -> None:
    result = SafeResult(command="count", shown="  400", stored={"N": 400.0})
    request = {"command": "count", "arguments": [], "options": {}, "frame": FRAME, "places": None}
    first = AskedStatistic(line=3, result=result, traced=None, first=400, **request)
    asked = [first, replace(first, line=4)]
    once = [token(1), token(2)]
    assert script_log(once, asked, {}).checked is True
    assert script_log([*once, token(1)], asked, {}).checked is False
    assert script_log(once, [first] * 2, {}).checked is False
