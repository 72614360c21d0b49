"""What single commands say: known below them only, and never with a name a program made up."""

from pathlib import Path

import pytest

from discreet.errors import OutputCheckError
from discreet_fire.logs import CleaningRules, clean_log
from tests.helpers.rows import for_all_rows

KNOWN = {
    "save a1.dta, replace": "file a1.dta saved",
    'save "out/a1.dta", replace': "(file out/a1.dta\n    not found)\nfile out/a1.dta\n    saved",
    "graph export g2.png": "file g2.png saved as PNG format",
    "esttab using t3.tex": "(output written to t3.tex)",
    "estimates restore m4": "(results m4 are active now)",
    "timer list": "   1:     12.47 /        1 =      12.4720",
    "nlcom _b[x]/2": "       _nl_1:  _b[x]/2",
    "summwork": "command summwork is unrecognized\nr(199);",
    "use a5.dta": "file a5.dta not found\nr(601);",
}


@for_all_rows("command", KNOWN)
def test_what_a_command_says_is_known_below_it(command: str) -> None:
    log = f". {command}\n{KNOWN[command]}\n\n. exit\n"
    done = clean_log(log)
    assert done.text == log
    assert done.findings == ()


@for_all_rows("command", [one for one in KNOWN if one not in ("summwork", "use a5.dta")])
def test_it_is_not_known_below_others(command: str) -> None:
    assert clean_log(f". mine x\n{KNOWN[command]}\n\n. exit\n").needs_review


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("save a`i'.dta", "file a1.dta saved"),
        ("save $name, replace", "file a1.dta saved"),
        ("estimates restore `m'", "(results m4 are active now)"),
        ("nlcom _b[x]/`m'", "       _nl_1:  _b[x]/2"),
    ],
)
def test_a_name_that_a_macro_brings_goes(command: str, said: str) -> None:
    done = clean_log(f". {command}\n{said}\n\n. exit\n")
    assert done.text.splitlines()[1].strip() == "#"
    assert done.findings == ()
    assert clean_log(done.text).text == done.text


STSET = """\
Survival-time data settings

           ID variable: pid
         Failure event: died!=0 & died<.
Observed time interval: (start[_n-1], end{0}]
     Exit on or before: failure

--------------------------------------------------------------------------
         48  total observations
          0  exclusions
--------------------------------------------------------------------------
         48  observations remaining, representing
         31  failures in single-failure-per-subject data
"""


def test_the_definitions_of_stset_stay_but_for_what_a_macro_brings() -> None:
    log = f". stset end, id(pid) failure(died)\n\n{STSET.format('')}\n. exit\n"
    done = clean_log(log)
    assert done.text == log
    assert done.findings == ()
    named = ". stset end`w', id(pid) failure(died)\n\n" + STSET.format("4711")
    assert "4711" not in clean_log(named).text


def test_an_error_that_quotes_what_a_macro_brings_needs_a_look() -> None:
    assert clean_log(". rename x `f'\n5 invalid name\nr(198);\n").needs_review


def test_a_centre_adds_notices(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        "[[notice]]\ncommands = ['save']\nforms = ['kept in (?P<told>\\S+) of <n> cases']\n"
    )
    rules = CleaningRules.read(path)
    for cases, shown in ((12, True), (2, False)):
        said = f"kept in a1 of {cases} cases"
        done = clean_log(f". save a1\n{said}\n", rules)
        assert (said in done.text) is shown
        assert not done.needs_review
    assert clean_log(". save a1\nkept in a1 of 12 cases\n").needs_review


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("notice = 1\n", "must be a list"),
        ("[[notice]]\ncommands = ['a']\n", "forms: is missing"),
        ("[[notice]]\ncommands = ['a']\nforms = []\n", "at least 1"),
        ("[[notice]]\ncommands = ['a']\nforms = ['(']\n", "pattern is wrong"),
    ],
)
def test_wrong_notices_are_clear_errors(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(OutputCheckError, match=words):
        CleaningRules.read(tmp_path / "own.toml")
