"""The language of the small Stata: expressions, macros, blocks, prefixes, errors and lines."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet_fire.catalogue import known_commands
from discreet_fire.runners.builtin.commands import COMMANDS, refused
from discreet_fire.runners.builtin.expressions import FUNCTIONS, Scope, evaluate
from discreet_fire.runners.builtin.runner import TimeLimitReached
from discreet_fire.runners.builtin.syntax import MISSING, DoError, UnsupportedError
from tests.helpers.run_data import Run, missing_letter
from tests.helpers.run_panel import run_do

DATA = {"x": [5.0, None, 7.0], "y1": [1, 2, 3], "y2": [3, 4, 5]}


def value(expression):
    """The value of an expression; missing ones as `.`, `.a`, …"""
    number = evaluate(expression, Scope(Run().session.data))
    return missing_letter(number) if isinstance(number, float) and number >= MISSING else number


def test_operators_and_functions_are_as_stata_has_them():
    for expression, expected in [
        ("2 + 3 * 4", 14), ("-2^2", -4), ("(2^3)^2", 64), ("2^-1", 0.5), ("(1 + 2) * 3", 9),
        ("7 / 2", 3.5), ("1 / 0", "."), ("1 + .", "."), (".a", ".a"), ("-.a", "."), (". > 5", 1),
        (". == .a", 0), (".a < .b", 1), ("1 < 2 & 3 >= 3", 1), ("0 | .", 1), ("!0", 1), ("!.", 0),
        ("~1", 0), ("1 != 2", 1), ("1 ~= 1", 0), ("1 & 0 | 1", 1), ("!0 & 0", 0), ("!1 == 0", 1),
        ("1 == 1 + 1", 0), ("-3 - -4", 1), ("1e3 + .5 + 5.", 1005.5), ('"a" + "b"', "ab"),
        ('"a" < "b"', 1), ('"B" < "a"', 1), ('"a" == `"a"\'', 1), ("_pi", math.pi),
        ("abs(-3)", 3), ("ceil(1.2)", 2), ("floor(-1.2)", -2), ("int(-1.8)", -1),
        ("round(2.5)", 3), ("round(-2.5)", -2), ("round(1234, 100)", 1200), ("mod(-7, 3)", 2),
        ("mod(7, 0)", "."), ("ln(0)", "."), ("log10(1000)", 3), ("sqrt(-1)", "."), ("exp(0)", 1),
        ("max(1, ., 3)", 3), ("min(., 2)", 2), ("max(., .)", "."), ("cond(1, 2, 3)", 2),
        ("cond(., 2, 3)", 2), ('cond(0, "a", "b")', "b"), ("missing(.)", 1), ('missing("")', 1),
        ("missing(1, .b)", 1), ("mi(3)", 0), ("inrange(5, 1, 9)", 1), ("inrange(., 1, 9)", 0),
        ("inrange(5, 1, .)", 1), ("inlist(3, 1, 2, 3)", 1), ('inlist("a", "b", "a")', 1),
        ("inlist(., 1)", 0),
    ]:  # fmt: skip
        assert value(expression) == (
            expected if isinstance(expected, str) else pytest.approx(expected)
        ), expression


def test_what_python_and_stata_read_differently_is_refused():
    for expression in ("2^3^2", "!2^2", "1 < 2 < 3", "a[1]", "c(N)", "normal(0)", "r(max)", "_N"):
        with pytest.raises(UnsupportedError):
            value(expression)


def test_wrong_expressions_are_errors():
    for expression in (
        '"a" * "b"', '1 + "a"', "1 +", "(1", "1 2", "abs()", 'abs("x")', "1 = 1", "cond(1)", '"a',
        "", "x[", "#", "()", "lambda: 1", "(1, 2)", "[1]", "-\"a\"", '"a" & 1', "1:2",
    ):  # fmt: skip
        with pytest.raises(DoError):
            value(expression)


@given(st.text(alphabet="x1.+-*/^&|!~=<>()[],\"`' _aln", max_size=25))
def test_any_text_is_a_value_or_a_clear_error(text):
    try:
        value(text)
    except DoError:
        return


def test_no_record_is_read_by_its_place() -> None:
    for text in ("generate a = x[_n-1]", "generate a = _n", "drop if _n > _N / 2", "sort x[1]"):
        with pytest.raises(DoError):
            Run(text, DATA)


def test_what_runs():
    for text, expected in [
        ("quietly count\ncount", "3"),
        ("version 17: count", "3"),
        ("#delimit ;\ncount\n ;\ncount;\n#delimit cr\ncount", "3 3 3"),
        ("count if 1 < /// more\n 2", "3"),
        ("* count\n// count\n/* count */\ncount", "3"),
        ("fdzrun count", "3"),
    ]:
        assert " ".join(line.strip() for line in Run(text, DATA).log) == expected, text


def test_a_program_stops_at_its_line():
    for text, line in [
        ("count\nbogus x", 2),
        ("generate y = 1 +\n", 1),
        ("count\nsummarize x, bogus(3)", 2),
        ("generate y3 = 1\ngenerate y3 = 1", 2),
        ("merge 1:1 x using", 1),
        ("by x: codebook y1", 1),
    ]:
        with pytest.raises(DoError) as caught:
            Run(text, DATA)
        assert caught.value.line == line, text


def test_what_goes_beyond_its_commands_is_refused_with_one_message():
    for text, line in [
        ("local a 5", 1),
        ("count\ncount `a'", 2),
        ('count "$g"', 1),
        ("forvalues i = 1/3 {\ncount\n}", 1),
        ("foreach v of varlist x {\n}", 1),
        ("if 1 {\ncount\n}", 1),
        ("if 1 count", 1),
        ("else count", 1),
        ("while 1 {\n}", 1),
        ("}\n", 1),
        ("mata\nx = 1\nend", 1),
        ("count\ncapture drop nothing", 2),
        ("quietly {\ncount\n}", 1),
        ("quietly by x: by y1: summarize y2", 1),
    ]:
        with pytest.raises(UnsupportedError) as caught:
            Run(text, DATA)
        assert caught.value.line == line, text


def test_a_program_that_takes_too_long_is_stopped():
    with pytest.raises(TimeLimitReached):
        Run("count\ncount", DATA, seconds=0)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("do sub/a", "sub/a.do, line 2: variable nothing not found"),
        ('quietly include "sub/a.do"', "sub/a.do, line 2: variable nothing not found"),
        ("do missing", "line 2: file missing.do not found; r(601)"),
        ("do ../outside", "line 2: files outside the folder of the program are not opened"),
        ("do sub/a 3", "line 2: the small Stata does not know arguments of a do-file"),
        ("do again", "again.do, line 1: too many do-files call each other"),
        ("by x: do sub/a", "line 2: the small Stata does not know"),
    ],
)
def test_an_error_names_the_file_that_it_is_in(tmp_path: Path, call: str, said: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.do").write_text("count\nsummarize nothing\n")
    (tmp_path / "again.do").write_text("do again\n")
    main = tmp_path / "main.do"
    main.write_text(f"count\n{call}\n")
    frame = tmp_path / "a.csv"
    frame.write_text("x\n" + "1\n" * 20)
    assert said in str(run_do(main, data=frame).error)


def test_what_is_called_quietly_stays_quiet_and_the_rest_does_not(tmp_path: Path) -> None:
    (tmp_path / "sub.do").write_text("summarize x\nkeep if x > 3\n")
    main, frame = tmp_path / "main.do", tmp_path / "a.csv"
    main.write_text("run sub\ncount\nquietly do sub\ndo sub\n")
    frame.write_text("x\n" + "".join(f"{one}\n" for one in range(20)))
    run = run_do(main, data=frame)
    assert run.error is None
    assert [(one.file, one.line, one.command) for one in run.outputs] == [
        ("", 2, "count"),
        ("sub.do", 1, "summarize x"),
    ]
    assert ". count\n  16\n" in run.log


def test_all_other_commands_are_refused_with_one_clear_message():
    """No command of Stata runs but those of the table; what shows records is noted instead."""
    language = "by bysort quietly fdzrun fdzestimate do run include"
    for name in sorted(known_commands()):
        plain = name.removeprefix("fdz")
        if plain in COMMANDS or name in language.split() or name == "version":
            continue
        run = Run()
        if refused(plain):
            run.more(f"{name} x")
            assert run.verdicts == ["fail"], name
            assert "*FDZ: command not permitted" in run.text, name
            continue
        with pytest.raises(UnsupportedError) as caught:
            run.more(f"{name} x")
        assert caught.value.code == "unsupported"
        assert "real Stata, R or Python: see docs/how-to/run-programs.md" in caught.value.hint


def test_options_that_are_not_known_are_refused():
    for name, command in COMMANDS.items():
        if command.own:
            continue
        with pytest.raises(UnsupportedError, match=f"the option wrong of {name}"):
            Run(f"{name} x, wrong", DATA)


def test_the_functions_are_few():
    assert len(FUNCTIONS) < 25
    with pytest.raises(UnsupportedError, match="the function strpos"):
        value("strpos(1)")
