"""Folders of SACRO: what acro wrote is taken with what is wrong in it, and sessions write the same.

The folder in `acro_folder` has the form that acro 1.0.2 wrote when it was tried.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import discreet_fire as fire
from discreet.errors import OutputCheckError
from discreet_fire.queue import Submission, submit, view
from discreet_fire.research_session.submission_folder import read_sacro
from tests.helpers.queue_parts import let_go, new_queue
from tests.helpers.session_parts import people

TABLE = "county,f,m\ne1,20.0,30\ne2,,25\nw2,,33\n"
_HIT = "MinimumThresholdCheck"
MARKS = {"summary": {_HIT: 2}, "cells": {_HIT: [[1, 0], [2, 0]]}}


def _seal(folder: Path) -> None:
    (folder / "checksums").mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.is_file():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            (folder / "checksums" / f"{path.name}.txt").write_text(digest)


def _output(name: str, files: list[str], **more: Any) -> dict[str, Any]:
    base = {
        "uid": name, "status": "review", "type": "table", "properties": {"method": "crosstab"},
        "files": [{"name": one, "sdc": MARKS} for one in files], "outcome": {},
        "command": "acro.crosstab(df.county, df.sex)", "comments": ["a comment"],
        "summary": f"FrequencyTable : \n {_HIT}: fail - 2 cells may need suppressing.",
        "timestamp": "2026-11-26T11:21:47.242858", "exception": "please", "fair": {},
    }  # fmt: skip
    return {**base, **more}


@pytest.fixture
def acro_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "acro"
    folder.mkdir()
    (folder / "output_0_0.csv").write_text(TABLE)
    (folder / "session_summary.json").write_text("{}")
    summary = _output("2ndary_risk_summary_json-DONT_RELEASE", ["session_summary.json"])
    results = {"output_0": _output("output_0", ["output_0_0.csv"]), summary["uid"]: summary}
    plain = {"version": "1.0.2", "tool": {"name": "ACRO"}, "results": results}
    (folder / "results.json").write_text(json.dumps(plain))
    _seal(folder)
    return folder


def test_the_queue_takes_it_and_releases_what_two_persons_approve(
    tmp_path: Path, acro_folder: Path
) -> None:
    with new_queue(tmp_path, approvals=2, clean_approvals=2) as queue:
        number = submit(queue, Submission(program=acro_folder, researcher="Weber"))
        found = {one.rule: one for one in view(queue, number).findings}
        assert found["sacro-status"].severity.value == "review"
        assert "2 cells may need suppressing" in found["sacro-status"].what
        assert "please" in found["exception-requested"].what
        assert {"not-repeated", "no-universe", "comment"} < set(found)
        assert "sacro-shown" not in found
        target = let_go(queue, number)
    # what acro itself calls not to be released is not among the outputs
    assert {path.name for path in target.iterdir()} == {
        "output_0_0.csv", "manifest.json", "SHA256SUMS"
    }  # fmt: skip


def test_marked_cells_that_are_shown_are_an_error(tmp_path: Path, acro_folder: Path) -> None:
    (acro_folder / "output_0_0.csv").write_text(TABLE.replace("e2,,", "e2,2,"))
    _seal(acro_folder)
    with new_queue(tmp_path) as queue:
        number = submit(queue, Submission(program=acro_folder, researcher="Weber"))
        (told,) = [one for one in view(queue, number).findings if one.rule == "sacro-shown"]
    assert told.severity.value == "error"
    assert "1 cell that broke a rule there" in told.what


@pytest.mark.parametrize(
    "table", ["a,,f,m\nx,e1,1,2\ny,e2,3,4\nz,w,5,6\n", "county,f\ne1,1\n", "1,2\n"]
)
def test_tables_in_which_marks_cannot_be_placed_are_looked_at(
    acro_folder: Path, table: str
) -> None:
    (acro_folder / "output_0_0.csv").write_text(table)
    _seal(acro_folder)
    assert any("look at it" in what for _, what in read_sacro(acro_folder).wrong)


def _results(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        plain = json.loads((folder / "results.json").read_text())
        change(plain["results"])
        (folder / "results.json").write_text(json.dumps(plain))

    return changed


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda folder: (folder / "output_0_0.csv").write_text("x"), "checksum says"),
        (lambda folder: (folder / "output_0_0.csv").unlink(), "missing"),
        (lambda folder: (folder / "results.json").write_text("{"), "not what SACRO writes"),
        (_results(lambda told: told.clear()), "no files"),
        (_results(lambda told: told["output_0"].update(files=[{"name": "../a"}])), "not taken"),
        (_results(lambda told: told["output_0"].update(files=[{"name": "a.py"}])), "not taken"),
        (_results(lambda told: told["output_0"].update(status=3)), "not what SACRO"),
        # marks that cannot be placed are not left out
        (
            _results(
                lambda told: told["output_0"]["files"][0]["sdc"]["cells"].update(other=[["1", 0]])
            ),
            "not what SACRO",
        ),
        (_results(lambda told: told.update(other=told["output_0"])), "one file for several"),
    ],
)
def test_other_folders_are_refused(
    acro_folder: Path, change: Callable[[Path], None], what: str
) -> None:
    change(acro_folder)
    with pytest.raises(OutputCheckError, match=what):
        read_sacro(acro_folder)


def test_a_session_in_the_form_of_sacro_is_read_again(tmp_path: Path) -> None:
    session = fire.session("P17", data=people(), entity="pid")
    session.rename(session.crosstab("county", "sex"), "women by county")
    session.ols("age ~ married + C(sex)")
    session.hist("age", edges=[30, 40])
    session.comment(1, "for table 3")
    folder = session.to_sacro(tmp_path / "sacro")
    found = read_sacro(folder)
    assert list(found.outputs) == ["women by county", "ols-2", "hist-3"]
    assert found.outputs["women by county"].status == "fail"
    assert found.outputs["women by county"].comments == ["for table 3"]
    assert (folder / "women_by_county_0.csv").read_text().startswith("county,sex,n\n")
    assert "e2,f,\n" in (folder / "women_by_county_0.csv").read_text()
    assert (folder / "hist-3_1.svg").exists()
    plain = json.loads((folder / "results.json").read_text())
    for entry in plain["results"].values():  # all that acro's own reader asks for
        assert {"uid", "status", "type", "properties", "files", "outcome", "command", "summary",
                "timestamp", "comments", "exception", "fair"} <= set(entry)  # fmt: skip
    with pytest.raises(OutputCheckError, match="the place is already in use"):
        session.to_sacro(folder)
