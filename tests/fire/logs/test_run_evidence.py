"""Logs of our own runs: evidence that they were checked, which no researcher can make."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.cli.commands import app
from discreet.files import texts_of
from discreet.microdata.secret import Secret
from discreet_fire.logs import MARK, CleaningRules, RunEvidence, clean_log, signing_key
from discreet_fire.queue import Submission, process
from discreet_fire.queue.folder import UnitKey
from discreet_fire.statistics.limits import SafeLimits

PROGRAM = """\
xtset pid year
summarize wage, detail
tabulate sex region, row
bysort sex: tabulate region
tabstat wage, by(sex) statistics(mean sd n)
regress wage hours i.sex
codebook region
summarize hours
tabulate sex
xtsum wage
count if wage > 2000
"""


def fire(*words: object) -> str:
    done = CliRunner().invoke(app, ["fire", *map(str, words)])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("evidence")
    rows = range(600)
    columns = {
        "pid": [row // 3 for row in rows],
        "year": [2019 + row % 3 for row in rows],
        "sex": [row // 3 % 2 for row in rows],
        "region": [row // 5 % 4 for row in rows],
        "hours": [20 + row * 7 % 23 for row in rows],
        "wage": [1500 + row * 37 % 1801 + 0.25 for row in rows],
    }
    pl.DataFrame(columns).write_csv(place / "panel.csv")
    (place / "a.do").write_text(PROGRAM)
    Secret.generate().write(place / "office.key")
    words = ("--data", place / "panel.csv", "--entity", "pid", "--key", place / "office.key")
    fire("run", place / "a.do", *words)
    assert "\n*** " not in (place / "a.log").read_text()
    return place


def copied(folder: Path, place: Path) -> Path:
    for name in ("a.log", "a.run.json"):
        (place / name).write_bytes((folder / name).read_bytes())
    return place / "a.log"


def reported(log: Path) -> dict:
    return json.loads(log.with_name(f"{log.stem}_FiRe.log.json").read_text())


def test_a_clean_program_gives_no_finding_and_no_changed_digit_in_the_queue(folder) -> None:
    handed = Submission(
        program=folder / "a.do", researcher="Weber", data=(folder / "panel.csv",), unit="pid"
    )
    work = folder / "work"
    work.mkdir()
    outcome = process(handed, work, key=UnitKey(Secret.generate()))
    assert [one for one in outcome.findings if one.stage == "clean"] == []
    log = next((work / "log").glob("*.log"))
    assert outcome.outputs[0].read_bytes() == log.read_bytes()
    assert log.read_text().count("\n") > 100


def test_a_sealed_log_stays_as_it_is_and_cleaned_again_too(folder, tmp_path) -> None:
    log, key = copied(folder, tmp_path), folder / "office.key"
    assert "0 changes" in fire("post", log, "--key", key)
    cleaned = log.with_name("a_FiRe.log")
    assert cleaned.read_bytes() == log.read_bytes()
    assert reported(log)["findings"] == []
    assert "nothing to do" in fire("post", cleaned, "--key", key)


def test_a_log_that_run_made_passes_as_it_is_without_any_option(folder, tmp_path) -> None:
    (tmp_path / "a_FiRe.do").write_text(PROGRAM)
    fire("run", tmp_path / "a_FiRe.do", "--data", folder / "panel.csv", "--entity", "pid")
    told = fire("post", tmp_path / "a_FiRe.log")
    assert "a_FiRe_clean.log: 0 changes" in told
    assert "review" not in told
    assert (tmp_path / "a_FiRe_clean.log").read_bytes() == (tmp_path / "a_FiRe.log").read_bytes()


def test_without_a_place_for_a_key_nothing_is_signed(folder, tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    (tmp_path / "a.do").write_text("summarize wage\n")
    fire("run", tmp_path / "a.do", "--data", folder / "panel.csv")
    assert MARK not in json.loads((tmp_path / "a.run.json").read_text())
    assert signing_key(None) is None


def test_the_key_of_an_account_is_for_nobody_else(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    key = signing_key(None)
    place = tmp_path / "discreet" / "logs.key"
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert signing_key(None).reveal() == key.reveal()
    place.chmod(0o644)
    assert signing_key(None) is None


@pytest.mark.parametrize("language", ["en", "de"])
def test_what_a_dot_stands_for_is_no_command(folder, tmp_path, language: str) -> None:
    (tmp_path / "a.do").write_text("fdzsummarize wage\nfdztabulate sex\n")
    fire("run", tmp_path / "a.do", "--data", folder / "panel.csv", "--language", language)
    log = (tmp_path / "a.log").read_text()
    legend = texts_of("discreet_fire.statistics", "lines", language)["withheld"]
    assert f"\n{legend}\n" in log
    assert clean_log(log).findings == ()


def _another(log: str) -> str:
    return RunEvidence.of(log, SafeLimits(), checked=True).sha256


#: What a researcher could write beside a log: in the mark and in the log.
FORGERIES = {
    "a digit is changed": (lambda mark, log: {}, ("600", "601")),
    "a line is added": (lambda mark, log: {}, ("\n", "\nwage of one: 4711\n")),
    "another digest": (lambda mark, log: {"sha256": _another(log)}, ("\n", "\nof one: 4711\n")),
    "no mark": (lambda mark, log: mark.clear(), None),
    "sealed with another key": (
        lambda mark, log: RunEvidence.of(log, SafeLimits(), checked=True).mark(
            Secret(b"k8&fH2!pq0-Zr5_yV7")
        ),
        None,
    ),
    "looser limits": (lambda mark, log: {"minimum": 99}, None),
    "no seal": (lambda mark, log: {"seal": None}, None),
    "odd seal": (lambda mark, log: {"seal": "ä"}, None),
    "more in it": (lambda mark, log: {"more": 1}, None),
    "a truth for a number": (lambda mark, log: {"minimum": True}, None),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_mark_is_no_evidence(folder, tmp_path, name: str) -> None:
    log = copied(folder, tmp_path)
    report = log.with_suffix(".run.json")
    told = json.loads(report.read_text())
    change, other = FORGERIES[name]
    log.write_text(log.read_text().replace(*other, 1) if other else log.read_text())
    told[MARK].update(change(told[MARK], log.read_text()) or {})
    report.write_text(json.dumps(told))
    fire("post", log, "--key", folder / "office.key")
    assert reported(log)["checked"] is False
    assert reported(log)["findings"]


def test_a_log_that_says_it_was_run_here_is_no_evidence(folder, tmp_path) -> None:
    program = tmp_path / "a.do"
    program.write_text(PROGRAM)
    handed = Submission(program=program, researcher="Weber", log=folder / "a.log")
    (tmp_path / "work").mkdir()
    outcome = process(handed, tmp_path / "work", key=UnitKey(Secret.generate()))
    assert [one for one in outcome.findings if one.stage == "clean"]


RULES = CleaningRules.default()


@pytest.mark.parametrize(
    "rules",
    [
        replace(RULES, minimum=4),
        replace(RULES, percentile_cases=5),
        replace(RULES, residual_df=11),
        replace(RULES, moment_cases=20),
    ],
)
def test_stricter_rules_than_those_of_the_run_hold(rules: CleaningRules) -> None:
    evidence = RunEvidence.of("text", SafeLimits(), checked=True)
    assert evidence.covers("text", RULES)
    assert not evidence.covers("text", rules)


def test_the_offices_own_rules_and_paths_hold_in_a_checked_log(tmp_path) -> None:
    log = ". list2 x\nrow 55\n. save /home/weber/a.dta\nProjekt 4711, 2 spells\nmin 3 max 9\n"
    (tmp_path / "own.toml").write_text(
        "withheld = ['list2']\n[[message]]\nname = 'spells'\nfind = '<n> spells'\n"
        "put = '{n} spells'\n"
    )
    (tmp_path / "postFire.txt").write_text("##Projekt 4711\n##Projekt X\n")
    rules = CleaningRules.read(tmp_path / "own.toml", tmp_path / "postFire.txt")
    evidence = RunEvidence.of(log, SafeLimits(), checked=True)
    done = clean_log(log, rules, evidence=evidence)
    assert done.checked
    assert done.text == (
        ". list2 x\n(output withheld)\n. save <path>/a.dta\nProjekt X, # spells\nmin 3 max 9\n"
    )
