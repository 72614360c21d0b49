"""SPSS and SAS programs as files: written beside originals, taken back, handed in."""

import json
from pathlib import Path

import pytest

from discreet.errors import OutputCheckError
from discreet_fire.catalogue.policy import ScriptPolicy
from discreet_fire.queue import Submission, submit, view
from discreet_fire.rewriting.results import undo
from discreet_fire.rewriting.submission import policies_of, rewrite_files
from tests.helpers.queue_parts import new_queue

SPSS = "* Encoding: windows-1252.\r\n* Löhne.\r\nFREQUENCIES sex.\r\nLIST wage.\r\n"


def test_a_program_is_written_and_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "a.SPS"
    path.write_bytes(SPSS.encode("cp1252"))
    (done,) = rewrite_files([path], language="de")
    assert done.output == tmp_path / "a_FiRe.SPS"
    text = done.output.read_bytes().decode("cp1252")
    assert text.startswith("* Encoding: windows-1252.\r\n* FDZ: ")
    assert "DEFINE !fire_groups" in text
    assert "Datenfernverarbeitung nicht erlaubt: LIST wage." in text
    assert json.loads((tmp_path / "a_FiRe.SPS.json").read_text("utf-8"))["language"] == "de"
    path.unlink()
    assert undo(tmp_path / "a_FiRe.SPS.json").read_bytes() == SPSS.encode("cp1252")


def test_what_a_program_runs_is_rewritten_with_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.sas").write_text("proc print data=x; run;\n")
    (tmp_path / "a.sas").write_text("%include 'sub/b.sas';\n%include '../c.sas';\n")
    (tmp_path.parent / "c.sas").write_text("proc print; run;\n")
    done = {one.source.name: one for one in rewrite_files([tmp_path / "a.sas"])}
    assert set(done) == {"a.sas", "b.sas"}
    text = (tmp_path / "a_FiRe.sas").read_text()
    assert "%include 'sub/b_FiRe.sas';" in text
    assert "/* FDZ: not permitted in remote execution: %include '../c.sas'; */" in text
    assert "proc print data=x; run; */" in (tmp_path / "sub" / "b_FiRe.sas").read_text()


def test_a_program_that_cannot_be_read_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "a.sas").write_text("proc freq data='a; run;\n")
    (done,) = rewrite_files([tmp_path / "a.sas"])
    assert done.state == "refused"
    assert not (tmp_path / "a_FiRe.sas").exists()


def test_rules_of_a_centre(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        '[limits]\nminimum = 5\n[[group]]\nnames = ["PROC MIXED"]\naction = "allowed"\n'
        'gate = "free"\nreason = "only computes"\nparts = "any"\n'
    )
    (tmp_path / "a.sas").write_text("proc mixed data=a; model y=x; run;\n")
    (done,) = rewrite_files([tmp_path / "a.sas"], policies=policies_of(None, None, None, own))
    assert not done.findings
    assert "fire_n >= 5" in (tmp_path / "a_FiRe.sas").read_text()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x", "not TOML"),
        ("[other]", "not known"),
        ("[limits]\nleast = 3", "bounds"),
        ('[[group]]\nnames = ["PROC A"]', "has all of"),
        (
            '[[group]]\nnames = ["PROC A"]\naction = "wrapped"\ngate = "free"\nreason = "x"\n'
            'parts = "any"',
            "gate",
        ),
        (
            '[[group]]\nnames = ["PROC A"]\naction = "allowed"\ngate = "free"\nreason = "x"\n'
            'parts = { PROC = { known = "a" } }',
            "a part",
        ),
    ],
)
def test_a_forgotten_fact_is_an_error(text: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(OutputCheckError, match=what):
        ScriptPolicy.read("sas", tmp_path / "own.toml")


def test_handed_in_without_a_runner_it_is_read_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.sps").write_text("FREQUENCIES sex.\nSOMETHING new.\n")
    (tmp_path / "d.csv").write_text("sex\n1\n")
    handed = Submission(program=tmp_path / "a.sps", researcher="Weber", data=(tmp_path / "d.csv",))
    with new_queue(tmp_path) as queue:
        number = submit(queue, handed)
        found = {one.rule: one for one in view(queue, number).findings}
    assert "it was read, and not run" in found["no-runner"].what
    assert "unknown" in found
    assert "no-output" in found


def test_handed_in_with_its_listing_it_goes_to_review(tmp_path: Path) -> None:
    (tmp_path / "a.sas").write_text("proc freq data=a; tables sex; run;\n")
    (tmp_path / "a.log").write_text("NOTE: nothing.\n")
    with new_queue(tmp_path) as queue:
        handed = Submission(program=tmp_path / "a.sas", researcher="Weber", log=tmp_path / "a.log")
        number = submit(queue, handed)
        found = {one.rule for one in view(queue, number).findings}
    assert "no-runner" not in found
    assert "no-output" not in found
