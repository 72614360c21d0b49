"""Loops, branches, programs, prefixes: what runs, how often, and where it stops."""

from __future__ import annotations

import pytest

from discreet_fire.runners.builtin.interpreter import Interpreter, TimeLimitReached
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.language.steps import steps_of
from discreet_fire.stata.parser import parse_do
from tests.helpers.run_data import Run

DATA = {"x": [5.0, None, 7.0], "y1": [1, 2, 3], "y2": [3, 4, 5]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("forvalues i = 1/3 {\ndisplay `i'\n}", ["1", "2", "3"]),
        ("forvalues i = 3(-1)1 {\ndisplay `i'\n}", ["3", "2", "1"]),
        ("forvalues i = 0(5)12 {\ndisplay `i'\n}", ["0", "5", "10"]),
        ("local n 2\nforvalues i = 1/`n' {\ndisplay `i'\n}", ["1", "2"]),
        ("forvalues i = 2/1 {\ndisplay `i'\n}", []),
        ("foreach v in a \"b c\" d {\ndisplay \"`v'\"\n}", ["a", "b c", "d"]),
        ("foreach v of varlist y* {\ndisplay \"`v'\"\n}", ["y1", "y2"]),
        ("foreach k of numlist 1/3 7 {\ndisplay `k'\n}", ["1", "2", "3", "7"]),
        ("local l p q\nforeach v of local l {\ndisplay \"`v'\"\n}", ["p", "q"]),
        ("foreach v of newlist a b {\ngenerate `v' = 1\n}\nds", ["x  y1  y2  a  b"]),
        ("local i 0\nwhile `i' < 3 {\nlocal ++i\ndisplay `i'\n}", ["1", "2", "3"]),
        ("forvalues i = 1/5 {\nif `i' == 2 continue\nif `i' == 4 continue, break\ndisplay `i'\n}",
         ["1", "3"]),
        ("forvalues i = 1/2 {\nforvalues j = 1/2 {\ndisplay `i' * 10 + `j'\n}\n}",
         ["11", "12", "21", "22"]),
        ("if 1 {\ndisplay 1\n}\nelse {\ndisplay 2\n}", ["1"]),
        ("if 0 {\ndisplay 1\n}\nelse if 1 {\ndisplay 2\n}\nelse {\ndisplay 3\n}", ["2"]),
        ("if 0 display 1\nelse display 2", ["2"]),
        ("if 1 {\nif 0 {\ndisplay 1\n}\nelse {\ndisplay 2\n}\n}\nelse {\ndisplay 3\n}", ["2"]),
        ("quietly {\ndisplay 1\nnoisily display 2\n}", ["2"]),
        ("quietly display 1\nnoisily display 2", ["2"]),
        ("capture drop nothing\ndisplay _rc", ["111"]),
        ("capture {\ndisplay 1\ndrop nothing\ndisplay 2\n}\ndisplay _rc", ["111"]),
        ("capture noisily display 3\ndisplay _rc", ["3", "0"]),
        ("program p\nargs a b\ndisplay \"`a'-`b'-`0'-`3'\"\nend\np one two three",
         ["one-two-one two three-three"]),
        ("program p, rclass\nreturn scalar z = 4\nreturn local w text\nend\np\ndisplay r(z)\n"
         "display \"`r(w)'\"", ["4", "text"]),
        ("program p\ndisplay 1\nexit\ndisplay 2\nend\np\ndisplay 3", ["1", "3"]),
        ("capture program drop p\ndisplay _rc\nprogram define p\ndisplay 1\nend\np\n"
         "capture program drop p q\ndisplay _rc\np\nprogram drop p\nprogram p\ndisplay 2\nend\np",
         ["111", "1", "111", "1", "2"]),
        ("program p\ndisplay 1\nend\nprogram drop _all\ncapture program drop p\ndisplay _rc",
         ["111"]),
        ("quietly capture program drop p\nprogram p\ndisplay 3\nend\np", ["3"]),
        ("#delimit ;\ndisplay\n 1;\ndisplay 2;\n#delimit cr\ndisplay 3", ["1", "2", "3"]),
        ("display 1 + /// more\n 1", ["2"]),
        ("* display 1\n// display 2\n/* display 3 */\ndisplay 4", ["4"]),
    ],
)  # fmt: skip
def test_what_runs(text, expected):
    assert [line.rstrip() for line in Run(text, DATA).log] == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("display 1\nbogus x", 2),
        ("if 1 {\n\nbogus x\n}", 3),
        ("forvalues i = 1/3 {\nif `i' == 2 {\ndrop nothing\n}\n}", 3),
        ("generate y = 1 +\n", 1),
        ("display 1\ngenerate z = x, bogus(3)", 2),
        ("mata\nx = 1\nend", 1),
        ("capture tssmooth ma a = x", 1),
        ("generate y3 = 1\ngenerate y3 = 1", 2),
        ("merge 1:1 x using", 1),
        ("by x: tabstat y1, bogus", 1),
        ("exit 9", 1),
    ],
)
def test_it_stops_at_the_line(text, line):
    with pytest.raises((DoError, UnsupportedError)) as caught:
        Run(text, DATA)
    assert caught.value.line == line


def test_what_is_not_supported_is_not_captured():
    with pytest.raises(UnsupportedError):
        Run("capture bogus x\ndisplay 1", DATA)


@pytest.mark.parametrize(
    "text", ["if 1 {\ndisplay 1", "}\n", "forvalues i = 1/3\n", "program p\ndisplay 1",
             "foreach v x y {\n}", "else display 1", "forvalues i = a/b {\n}",
             "while {\n}", "forvalues i = 1(0)3 {\n}", "foreach v of varlist nothing {\n}"]
)  # fmt: skip
def test_broken_blocks_are_errors(text):
    with pytest.raises((DoError, UnsupportedError)):
        Run(text, DATA)


def test_loops_that_do_not_end_are_stopped():
    run = Run("", DATA)
    with pytest.raises(TimeLimitReached):
        Interpreter(run.session, seconds=0.2).steps(steps_of(parse_do("while 1 {\nlocal a 1\n}")))


def test_programs_that_call_themselves_for_ever_are_stopped():
    with pytest.raises(DoError, match="too deeply"):
        Run("program p\np\nend\np", DATA)


def test_other_do_files_run_inside_the_folder_only(tmp_path):
    (tmp_path / "a.do").write_text("local k 5\ndisplay 1\nexit\ndisplay 2\n")
    (tmp_path / "b.do").write_text("local k 6\ndisplay `k'\n")
    run = Run("do a\ndisplay \"`k'|\"\ninclude b.do\ndisplay `k'\nrun b", DATA, tmp_path)
    assert [line for line in run.log if not line.startswith(".")] == ["1", "|", "6", "6"]
    (tmp_path / "c.do").write_text("display \"`1'-`2'-`3'\"\n")
    assert Run('do c x "y z"', DATA, tmp_path).log[-1] == "x-y z-"
    for text in ("do ../a", "do /etc/passwd", "do nothing"):
        with pytest.raises(DoError):
            Run(text, DATA, tmp_path)


@pytest.mark.parametrize(
    "inside", ["program drop p", "program q\ndisplay 5\nend", "program drop _all"]
)
def test_which_programs_there_are_tells_no_single_value(inside):
    told = []
    for largest in (7.0, 9.0):
        data = DATA | {"x": [5.0, 6.0, largest]}
        text = (
            "program p\ndisplay 1\nend\nquietly summarize x\n"
            f"if r(max) > 8 {{\n{inside}\n}}\ncapture program drop q\np"
        )
        with pytest.raises(DoError) as found:
            Run(text, data)
        told.append(str(found.value))
    assert told[0] == told[1]
    assert found.value.redacted
