"""The protocol of Stata's batch mode, with a program that plays Stata: no Stata runs here."""

import importlib.util
import sys
from pathlib import Path

import polars as pl
import pytest

from discreet.errors import OutputCheckError
from discreet_fire.runners.protocol import RedactedError, RunResult, StatisticShown
from discreet_fire.runners.registry import VARIABLE, runner_for
from discreet_fire.runners.stata_batch import StataBatch, StataEngine
from tests.helpers import closed_runs, fake_stata
from tests.helpers.closed_runs import FRAME, released, rules
from tests.helpers.places import ROOT


@pytest.fixture
def place(tmp_path: Path) -> Path:
    FRAME.write_csv(tmp_path / "d.csv")
    (tmp_path / "program").mkdir()
    stata = tmp_path / "stata-mp"
    # Nothing compiled can be kept where it runs: loops over so few records run as they are.
    words = f'env NUMBA_DISABLE_JIT=1 "{sys.executable}" -I "{fake_stata.__file__}" "$@"'
    stata.write_text(f"#!/bin/sh\nexec {words}\n")
    stata.chmod(0o755)
    return tmp_path


def reading() -> list[Path]:
    """What the fake needs to run, as a Python."""
    packages = [importlib.util.find_spec(name) for name in ("discreet", "discreet_fire")]
    own = [Path(str(one.origin)).parents[1] for one in packages if one is not None]
    return [Path(sys.prefix), Path(sys.base_prefix), Path(fake_stata.__file__), *own]


def stata(place: Path) -> StataBatch:
    return StataBatch(
        StataEngine(executable=place / "stata-mp", ado=ROOT / "stata", read=reading())
    )


def run(place: Path, text: str, *, data: str = "d.csv", **options: object) -> RunResult:
    (place / "program" / "a.do").write_text(text)
    runner = options.pop("runner", None) or stata(place)
    return closed_runs.run(runner, place / "program" / "a.do", place / data, **options)


def test_a_do_file_goes_from_submission_to_release(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = ", ".join(f'"{one}"' for one in reading())
    (place / "runners.toml").write_text(
        f'[stata]\nexecutable = "{place / "stata-mp"}"\nado = "{ROOT / "stata"}"\n'
        f"read = [{listed}]\n"
    )
    monkeypatch.setenv(VARIABLE, str(place / "runners.toml"))
    assert runner_for(Path("a.do")).name == "stata"
    program = place / "program" / "wages.do"
    program.write_text("summarize wage\ntabulate sex\n")
    found, log = released(place, program)
    assert rules(found) == []
    parts = [one.title for one in found.row.standing.parts]
    assert parts == ["fdzsummarize wage", "fdztabulate sex"]
    assert f"{FRAME['wage'].mean():.8g}" in log
    assert "banner" not in log


@pytest.mark.exhaustive
def test_what_agrees_with_its_evidence_passes_and_the_rest_is_reviewed(place: Path) -> None:
    told: list[StatisticShown] = []
    text = "fdzsummarize wage if sex = 2\nfdztabstat wage, by(sex)\n"
    result = run(place, text, told=told)
    assert (result.checked, rules(result)) == (True, [])
    women = FRAME.filter(pl.col("sex") == 2)
    assert [(one.line, one.command) for one in told] == [(1, "summarize"), (2, "tabstat")]
    assert [len(one.units or ()) for one in told] == [200, 400]
    assert told[0].units == women["pid"].to_list()
    told.clear()
    result = run(place, "fdzregress wage sex\ndisplay r(max)\n", told=told)
    assert rules(result) == ["not-again", "unchecked"]
    assert [one.units for one in told] == [None]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("fake_lie\n", "unchecked"),
        ("generate fdzsummarize = wage\n", ""),
        ("generate top = wage * 2\nfdzsummarize top\n", "records"),
        ("keep if pid > 0\nfdzsummarize wage\n", "left-out"),
        ("drop fdz_place\ngenerate wage = wage + sex\nfdzsummarize wage\n", "records"),
        ('display ". fdzsummarize wage"\n', "unchecked"),
        ("fake_evidence\nfdzsummarize wage\n", ""),
    ],
)
def test_what_is_not_proven_goes_to_a_person(place: Path, text: str, rule: str) -> None:
    result = run(place, text)
    assert result.error is None
    assert (rule in rules(result)) if rule else {*rules(result)} <= {"unchecked"}
    echoes = [line[2:] for line in result.log.splitlines() if line.startswith(". ")]
    assert set(echoes[2:]) - {"* data d.csv"} <= set(text.splitlines())


@pytest.mark.exhaustive
def test_a_figure_that_the_runner_does_not_find_is_reviewed(place: Path) -> None:
    ado = place / "ado"
    ado.mkdir()
    helper = Path(fake_stata.__file__).read_text()
    lying = place / "lying.py"
    lying.write_text(helper.replace("{row['n']:>11,.0f}", "{row['n'] + 1:>11,.0f}"))
    shell = (place / "stata-mp").read_text()
    (place / "stata-mp").write_text(shell.replace(str(fake_stata.__file__), str(lying)))
    runner = StataBatch(
        StataEngine(executable=place / "stata-mp", ado=ado, read=[*reading(), lying])
    )
    result = run(place, "fdzsummarize wage\n", runner=runner, entity=None)
    assert "not-again" in rules(result)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "text",
    ["fdzsummarize wage\nerror 198\n", "fdzsummarize wage\nfake_crash\n", "exit, clear\nerror 9\n",
     'display "end 0"\nerror 1\n'],
)  # fmt: skip
def test_a_program_that_stops_shows_nothing(place: Path, text: str) -> None:
    result = run(place, text)
    assert isinstance(result.error, RedactedError)
    assert (result.outputs, "wage" in result.log) == ((), False)


@pytest.mark.exhaustive
def test_a_program_that_hangs_is_ended(place: Path) -> None:
    result = run(place, "fdzsummarize wage\nfake_hang\n", entity=None, seconds=3.0)
    assert result.error is not None
    assert (result.error.code, result.outputs) == ("time-limit", ())


@pytest.mark.exhaustive
def test_logs_in_another_encoding_are_read(place: Path) -> None:
    assert "M\xfcnchen" in run(place, "fake_latin\n").log


def test_names_and_data_that_cannot_be_are_said_before_anything_runs(place: Path) -> None:
    (place / "program" / "discreet_start.do").write_text("")
    with pytest.raises(OutputCheckError, match="may not be called"):
        run(place, "fdzsummarize wage\n")
    (place / "program" / "discreet_start.do").unlink()
    FRAME.write_parquet(place / "d.parquet")
    with pytest.raises(OutputCheckError, match="cannot read data of this kind"):
        run(place, "fdzsummarize wage\n", data="d.parquet")
