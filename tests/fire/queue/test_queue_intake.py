"""The review queue: files that change or multiply while they are taken."""

import os
import sys
from pathlib import Path

import pytest

from discreet.errors import OutputCheckError
from discreet_fire.findings import Severity
from discreet_fire.logs import clean_log_file
from discreet_fire.queue import (
    Queue,
    QueueSettings,
    Submission,
    permit,
    submissions,
    submit,
    view,
)
from discreet_fire.rewriting import rewrite_files
from discreet_fire.runners.registry import VARIABLE

COPYING = {
    "one.sps": "MATCH FILES /FILE=* /TABLE='one.sav' /BY k.\nDESCRIPTIVES w.\n",
    "spread.sps": "AGGREGATE /OUTFILE=* MODE=ADDVARIABLES /BREAK=k /m=MAX(w).\nDESCRIPTIVES m.\n",
    "star.sps": "STAR JOIN /SELECT t.w /FROM * AS s /JOIN 'one.sav' AS t ON s.k=t.k.\n",
    "merge.sas": "data b; merge a o; by k; run;\nproc means data=b mean; var w; run;\n",
    "join.sas": "proc sql; create table b as select a.*, o.w from a, o; quit;\n",
    "hash.sas": "data b; if _n_=1 then do; declare hash h(dataset: 'o'); end; set a; run;\n",
    "update.sas": "data b; update a o; by k; run;\n",
}


def test_the_log_of_a_script_that_ran_elsewhere_goes_to_review(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runners.toml").write_text(f'[python]\nexecutable = "{sys.executable}"\n')
    monkeypatch.setenv(VARIABLE, str(tmp_path / "runners.toml"))
    program, log = tmp_path / "a.py", tmp_path / "a.log"
    program.write_text("print('Wages')\n")
    log.write_text("Wages\n")
    with Queue.create(tmp_path / "q", QueueSettings(persons=("Anna",), rate=0.0)) as queue:
        number = submit(queue, Submission(program=program, researcher="Weber", log=log))
        found = {one.rule: one.severity for one in view(queue, number).findings}
    assert found["elsewhere"] is Severity.REVIEW


@pytest.mark.parametrize("name", ["one.sps", "merge.sas"])
def test_a_log_of_copied_values_is_kept_back_until_an_officer_permits_it(
    tmp_path: Path, name: str
) -> None:
    program, log, home = tmp_path / name, tmp_path / "run.lst", tmp_path / "q"
    program.write_text(COPYING[name])
    log.write_text("The MEANS Procedure\n")
    with Queue.create(home, QueueSettings(persons=("Anna",), rate=0.0)) as queue:
        first = submit(queue, Submission(program=program, researcher="Weber", log=log))
        held = view(queue, first)
        assert not held.outputs
        (reason,) = [one.what for one in held.findings if one.rule == "log-held"]
        assert "statistic on values that were copied from few units" in reason
        version = held.row.standing.version
        permit(queue, first, person="Anna", reason="read it", version=version)
        again = Submission(program=program, researcher="Weber", log=log, replaces=first)
        program.write_text(f"{COPYING[name]}\n")
        other = submit(queue, again)
        assert not view(queue, other).outputs
        program.write_text(COPYING[name])
        assert view(queue, submit(queue, again)).outputs


@pytest.mark.parametrize("name", COPYING)
def test_a_listing_beside_a_program_that_copies_values_is_looked_at(
    tmp_path: Path, name: str
) -> None:
    program = tmp_path / name
    program.write_text(COPYING[name])
    rewrite_files([program])
    log = program.with_suffix(".lst")
    log.write_text("The MEANS Procedure\n")
    cleaned = clean_log_file(log)
    assert cleaned.needs_review
    assert "statistic on values that were copied from few units" in cleaned.text


def test_a_file_that_grows_while_it_is_taken_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, real = tmp_path / "a.do", os.open
    source.write_text("count\n")

    def growing(path: object, *more: int) -> int:
        if path == source:
            source.write_bytes(b"*" * 5000)
        return real(path, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(submissions, "LARGEST_FILE", 4000)
    monkeypatch.setattr(os, "open", growing)
    with pytest.raises(OutputCheckError, match="the file changed during the submission"):
        submissions.file_copy(source, tmp_path / "copy.do")


def test_a_folder_of_endless_folders_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submissions, "MOST_FILES", 20)
    (tmp_path / "hand" / "/".join("x" * 21)).mkdir(parents=True)
    (tmp_path / "hand" / "a.do").write_text("count\n")
    with pytest.raises(OutputCheckError, match="more than 20"):
        submissions.program_copy(tmp_path / "hand", tmp_path / "copy")
