"""`discreet fire post`: files beside the original, the centre's lists, wrong input."""

import hashlib
import json
import stat
from pathlib import Path

import pytest

from discreet_fire.logs import CleaningRules, clean_log
from tests.helpers.command import run

LOG = ". replace x = 1\r\n(1 real change made)\r\n. su x\r\n* Löhne 4711\r\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run.log"
    path.write_bytes(LOG.encode("latin-1"))
    return path


def test_a_clean_copy_and_a_report_stand_beside_the_original(log: Path) -> None:
    before = log.read_bytes()
    done = run("fire", "post", log, "--json")
    assert done.exit_code == 0, done.output
    assert log.read_bytes() == before
    expected = LOG.replace("(1 real change made)", "(# real changes made)")
    assert log.with_name("run_FiRe.log").read_bytes() == expected.encode("latin-1")
    report = json.loads(log.with_name("run_FiRe.log.json").read_text())
    assert json.loads(done.stdout)["logs"] == [report]
    assert report["changes"] == [{"rule": "changes", "line": 2, "put": "(# real changes made)"}]
    assert report["encoding"] == "latin-1"


def test_again_gives_the_same_and_a_clean_log_is_left_alone(log: Path) -> None:
    run("fire", "post", log)
    out = log.with_name("run_FiRe.log")
    before = out.read_bytes()
    assert run("fire", "post", log).exit_code == 0
    assert out.read_bytes() == before
    done = run("fire", "post", out)
    assert "nothing to do" in done.stdout
    assert not log.with_name("run_FiRe_clean.log").exists()


def test_files_of_others_are_not_overwritten(log: Path) -> None:
    out = log.with_name("run_FiRe.log")
    out.write_text("mine")
    done = run("fire", "post", log)
    assert done.exit_code == 2
    assert "not made here" in done.stderr
    assert out.read_text() == "mine"
    assert run("fire", "post", log, "--overwrite").exit_code == 0
    out.write_text(out.read_text(encoding="latin-1") + "changed by hand")
    assert run("fire", "post", log).exit_code == 2


def test_what_was_removed_is_listed_only_where_asked_and_private(log: Path, tmp_path: Path) -> None:
    secret = tmp_path / "removed.json"
    assert run("fire", "post", log, "--confidential", secret).exit_code == 0
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    listed = json.loads(secret.read_text())
    assert [one["removed"] for one in listed["changes"]] == ["(1 real change made)"]
    report = log.with_name("run_FiRe.log.json").read_text()
    assert "1 real change" not in report
    assert listed["source_sha256"] not in report


def test_review_is_told_and_strict_fails(log: Path) -> None:
    log.write_text(". mycommand\n42 things\n")
    done = run("fire", "post", log)
    assert done.exit_code == 0
    assert "review [unknown-output]" in done.stdout
    assert "42" not in done.stdout
    assert run("fire", "post", log, "--strict").exit_code == 1


def test_the_legacy_list_is_literal_and_works_across_wraps(log: Path, tmp_path: Path) -> None:
    rules = tmp_path / "postFire.txt"
    rules.write_text("##Projekt 4711 (geheim)\n##Projekt ####\n##Löhne\n##L.", encoding="latin-1")
    log.write_text(". su x\nDas ist Projekt 47\n> 11 (geheim) mit Löhnen\nProjekt 4711\n")
    assert run("fire", "post", log, "--rules", rules).exit_code == 0
    cleaned = log.with_name("run_FiRe.log").read_text()
    assert cleaned == ". su x\nDas ist Projekt ####\n>  mit L.n\nProjekt 4711\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("##a\n##b\n##c\n", "line 3: the last text to find has no text to put"),
        ("##a\nb\n", "line 2: a line does not start with ##"),
        ("##\n##b\n", "line 1: the text to find is empty"),
        ("##Löhne\n##→\n", "does not exist in the encoding"),
    ],
)
def test_a_wrong_legacy_list_is_named(log: Path, tmp_path: Path, content: str, words: str) -> None:
    rules = tmp_path / "postFire.txt"
    rules.write_text(content)
    done = run("fire", "post", log, "--rules", rules)
    assert done.exit_code == 2
    assert words in done.stderr
    assert not log.with_name("run_FiRe.log").exists()


def test_a_text_that_holds_what_it_replaces_is_put_once(tmp_path: Path) -> None:
    rules = tmp_path / "postFire.txt"
    rules.write_text("##FDZ\n##(FDZ)\n")
    done = clean_log(". su x\nFDZ and (FDZ)\n", CleaningRules.read(rules))
    assert done.text == ". su x\n(FDZ) and (FDZ)\n"


def test_wrong_input_is_refused_before_anything_is_written(log: Path, tmp_path: Path) -> None:
    binary = tmp_path / "data.log"
    binary.write_bytes(b"\x00\x01\x02")
    for words in (
        [log, binary],
        [tmp_path / "none.log"],
        [log, "--rules", tmp_path / "none.toml"],
        [log, "--out", log],
        [log, "--out", tmp_path / "no" / "x.log"],
        [log, binary, "--out", tmp_path / "x.log"],
        [log, "--out", tmp_path / "x.log", "--confidential", tmp_path / "x.log"],
        [],
    ):
        assert run("fire", "post", *words).exit_code == 2, words
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.log", "run.log"]


def test_a_folder_means_its_logs(log: Path, tmp_path: Path) -> None:
    (tmp_path / "b.smcl").write_text("{smcl}\n{com}. count if x\n{txt}  {res}2\n")
    (tmp_path / "notes.txt").write_text("(1 real change made)")
    for _ in range(2):
        assert run("fire", "post", tmp_path).exit_code == 0
    names = sorted(path.name for path in tmp_path.iterdir() if "_FiRe" in path.name)
    assert names == ["b_FiRe.smcl", "b_FiRe.smcl.json", "run_FiRe.log", "run_FiRe.log.json"]
    assert (tmp_path / "b_FiRe.smcl").read_text() == "{smcl}\n{com}. count if x\n{txt}{res}  #\n"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no log in this folder" in run("fire", "post", empty).stderr


def test_two_logs_never_go_to_the_same_place(log: Path) -> None:
    (log.parent / "run").write_text(". su y\n(2 real changes made)\n")
    done = run("fire", "post", log.parent / "run", log)
    assert done.exit_code == 2
    assert "the same place" in done.output
    assert not list(log.parent.glob("*_FiRe*"))


def test_a_report_that_a_program_has_made_up_keeps_nothing_from_being_cleaned(log: Path) -> None:
    forged = {
        "made_by": "discreet fire post",
        "output_sha256": hashlib.sha256(log.read_bytes()).hexdigest(),
    }
    log.with_name("run.log.json").write_text(json.dumps(forged))
    for words in (log, log.parent):
        done = run("fire", "post", words, "--overwrite")
        assert done.exit_code == 0, done.output
        assert "nothing to do" not in done.output
        assert "1 real change" not in log.with_name("run_FiRe.log").read_text("latin-1")
        log.with_name("run_FiRe.log").unlink()


def test_a_clean_log_with_open_questions_still_has_them(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(". mystery x\n4711\n")
    run("fire", "post", tmp_path)
    again = run("fire", "post", tmp_path / "run_FiRe.log", "--strict")
    assert "nothing to do" in again.output
    assert "[unknown-output]" in again.output
    assert again.exit_code == 1
