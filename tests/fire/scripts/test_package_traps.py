"""SPSS and SAS: ways to print single values or to carry them out, and honest programs.

A trap counts as seen if something of it is refused or goes to review. Nothing is run.
"""

from pathlib import Path

import pytest

from discreet_fire.finding_words import sentence_in
from discreet_fire.findings import Severity
from discreet_fire.rewriting.changes import Rewriting
from discreet_fire.rewriting.sas_programs import rewrite_sas
from discreet_fire.rewriting.spss_programs import rewrite_spss
from tests.helpers.places import FIRE_DATA
from tests.helpers.rows import for_all_rows

FOLDER = FIRE_DATA / "packages"
REWRITERS = {"spss": rewrite_spss, "sas": rewrite_sas}


def traps() -> list[tuple[str, str]]:
    return [
        (language, text.strip("\n"))
        for language in REWRITERS
        for text in (FOLDER / f"{language}_traps.txt").read_text("utf-8").split("\n----\n")
    ]


def graver(done: Rewriting) -> list[Severity]:
    return [one.severity for one in done.findings if one.severity is not Severity.INFO]


def test_there_are_many_of_them() -> None:
    found = traps()
    assert len(set(found)) == len(found)
    assert all(sum(language == each for language, _ in found) >= 60 for each in REWRITERS)


def test_traps_are_seen_and_a_second_reading_changes_nothing_more() -> None:
    for language, text in traps():
        done = REWRITERS[language](text)
        assert graver(done), done.text
        # What is refused is no longer a command of the program.
        taken = [edit for edit in done.edits if edit.action == "refused"]
        assert all("FDZ:" in edit.after for edit in taken), text
        if not done.refused and "fire_" not in done.text:  # names of the safe macros are kept
            assert not REWRITERS[language](done.text).edits, text


def test_all_that_is_said_is_known_in_german() -> None:
    told = {
        text
        for language, trap in traps()
        for one in REWRITERS[language](trap).findings
        for text in (one.what, one.hint)
        if text
    }
    assert len(told) > 80
    assert [one for one in sorted(told) if sentence_in(one, "de") == one] == []


def honest() -> list[Path]:
    return sorted((FOLDER / "honest").iterdir())


@pytest.mark.parametrize("path", honest(), ids=lambda path: str(path.name))
def test_an_honest_program_stays_usable(path: Path) -> None:
    language = "spss" if ".sps" in path.name else "sas"
    text = path.read_text("utf-8")
    done = REWRITERS[language](text)
    assert not done.refused
    assert len(graver(done)) <= 1 + text.count("\n") // 20, done.findings
    assert any(edit.action == "wrapped" for edit in done.edits)


def test_a_comment_within_a_command_hides_nothing_of_it() -> None:
    done = rewrite_spss("CROSSTABS a /* first\n BY b /* second\n /CELLS=ROW.\nLIST x.\n")
    assert "CROSSTABS a BY b /CELLS=ROW.\n" in done.text
    assert "/*" not in done.text


@for_all_rows(
    ("language", "text", "holds"),
    [
        ("spss", "T-TEST GROUPS=g(1 2) /VARIABLES=x /CRITERIA=CI(.95).", "/CRITERIA=CI(.95).\n!"),
        ("spss", "T-TEST GROUPS=g('a  b' 'c')\n  /VARIABLES=x.", "GROUPS=g('a  b' 'c') /VAR"),
        ("sas", "proc freq data=a; tables g; where g =\n 'a  b'; run;", "%str(g = 'a  b')"),
        ("sas", "proc means data=a; var x; where g like 'A%'; run;", "%str(g like 'A%%')"),
    ],
)
def test_the_safe_form_chooses_the_same_records(language: str, text: str, holds: str) -> None:
    done = REWRITERS[language](text)
    assert holds in done.text
    assert graver(done) == []


def test_a_fraction_without_a_zero_ends_no_command() -> None:
    assert graver(rewrite_spss("COMPUTE y = .5 * x.\nEXECUTE.")) == []


@for_all_rows(
    ("program", "reviews"),
    [
        ("SAVE OUTFILE='data/b.sav' /KEEP=id.", 0),
        ("SAVE OUTFILE='../b.sav'.", 1),
        ("SAVE OUTFILE='c:/b.sav'.", 1),
        ("SAVE OUTFILE=handle.", 1),
        ("AGGREGATE OUTFILE=* /BREAK=r /m=MEAN(x).\nSAVE OUTFILE='b.sav'.", 1),
        ("AGGREGATE OUTFILE=* MODE=ADDVARIABLES /BREAK=r /n=N.\nSAVE OUTFILE='b.sav'.", 0),
    ],
)
def test_records_that_stay_in_the_folder_need_no_look(program: str, reviews: int) -> None:
    assert len(graver(rewrite_spss(program))) == reviews


@for_all_rows("language", list(REWRITERS))
@for_all_rows(
    "text",
    ["", "\n\n", ".", ";", "'", '"', "/*", "(((((", "DEFINE", "DEFINE !m", "%macro", "%if", "proc",
     "data", "BEGIN DATA\n1 2\n", "%let x=%str(;", "&", "%", "!", "\ufeff", "DO IF", "proc freq;",
     "FREQUENCIES.", "CROSSTABS a BY.", "CTABLES /TABLE (a.", "%put", "select", "proc sql; (",
     "x" * 5000, "MEANS BY.", "T-TEST", "%do", "data a; if then; else; when; run;", "call;",
     "%include", "ods;"],
)  # fmt: skip
def test_bad_input_is_no_crash(language: str, text: str) -> None:
    done = REWRITERS[language](text)
    assert done.text is not None
