"""Macros: nested, with expressions, counted, macro functions, and values followed in them."""

from __future__ import annotations

import pytest

from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from tests.helpers.run_data import Run

DATA = {"x": [5.0, None, 7777.0], "wage": [1, 2, 3]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("local a 5\ndisplay `a' + 1", "6"),
        ('local a "two words"\ndisplay "`a\'"', "two words"),
        ('local a = 2 + 3\ndisplay "`a\'"', "5"),
        ("local i 2\nlocal v2 x\ndisplay \"`v`i''\"", "x"),
        ("global g 7\ndisplay $g + ${g}", "14"),
        ('global a 1\nglobal b1 9\ndisplay "${b$a}"', "9"),
        ("display `=2^3'", "8"),
        ("local i 1\nlocal ++i\ndisplay `i'", "2"),
        ("local i 1\nlocal --i\ndisplay `i'", "0"),
        ("local i 1\ndisplay \"`++i' `i++' `i'\"", "2 2 3"),
        ('display "`nothing\'|"', "|"),
        ('local a 1\nlocal a\ndisplay "`a\'|"', "|"),
        ("local l a b c\ndisplay \"`: word 2 of `l''\"", "b"),
        ("local l a b c\nlocal n : word count `l'\ndisplay `n'", "3"),
        ('local l a b a\nlocal u : list uniq l\ndisplay "`u\'"', "a b"),
        ('local l a b\nlocal m b c\nlocal d : list l - m\ndisplay "`d\'"', "a"),
        ("local l a b\nlocal m b\nlocal k : list m in l\ndisplay `k'", "1"),
        ('label variable x "Lohn"\nlocal l : variable label x\ndisplay "`l\'"', "Lohn"),
        ('label define d 1 "ja"\nlocal l : label d 1\ndisplay "`l\'"', "ja"),
        ('local t : type x\ndisplay "`t\'"', "double"),
        ('local f : display %5.2f 2.5\ndisplay "`f\'"', " 2.50"),
        ('tokenize "a b c"\ndisplay "`3\'"', "c"),
        ("scalar s = 4\ndisplay s * 2", "8"),
        ("scalar s = 4\nlocal a = s\ndisplay `a'", "4"),
        ("local a .1\nlocal b = `a' * 3\ndisplay \"`b'\"", ".3"),
        ('local a "x"\nmacro drop _a\ndisplay "`a\'|"', "|"),
        ("describe\ndisplay `r(k)'", "2"),
        ('display "`r(none)\'|"', "|"),
        ("display `c(N)'", "3"),
        ('display "costs \\$5"', "costs $5"),
    ],
)
def test_expansion(text, expected):
    assert Run(text, DATA).log[-1] == expected


def test_macros_of_programs_are_their_own():
    run = Run("local a 1\nprogram p\nlocal a 2\nglobal g `1'\nend\np 9\ndisplay \"`a' $g\"", DATA)
    assert run.log[-1] == "1 9"


@pytest.mark.parametrize(
    "text",
    [
        'local m = x[3]\ndisplay "`m\'"',
        "scalar m = x[3]\ndisplay m",
        "display `=x[3]'",
        "local m = x[3]\nlocal n `m' more\ndisplay \"`n'\"",
        'global m = x[3]\ndisplay "$m"',
        'local m : display x[3]\ndisplay "`m\'"',
        "scalar m = x[3]\nlocal n = m + 1\ndisplay `n'",
        "quietly generate y = x[3]\ndisplay y",
        "local m = x[3]\nprogram p\nargs a\ndisplay \"`a'\"\nend\np `m'",
        "local m = x[3]\ntokenize `m' b\ndisplay \"`1'\"",
        "local m = x[3]\nforeach v in `m' {\ndisplay \"`v'\"\n}",
        '_pctile x, p(50)\ndisplay r(r1)\ndisplay "`r(r1)\'"',
        "local m = x[3]\nlocal l : word 1 of `m'\ndisplay \"`l'\"",
        'local m = x[3]\nlocal n : list uniq m\ndisplay "`n\'"',
        'local m = x[3]\nlabel define d 1 "`m\'"\nlabel list d',
        'local m = x[3]\nlabel variable x "`m\'"\ndescribe',
        "local m = x[3]\nrename x v`m'\ndescribe",
        'local m = x[3]\nlocal n : subinstr local m "x" "y"\ndisplay "`n\'"',
        "local m = x[3]\ngenerate v`m' = 1\nds",
        'local m = x[3]\nlabel data "`m\'"\ndescribe',
        "local m = x[3]\nsave f`m'",
        "program p, rclass\nreturn scalar z = x[3]\nend\np\ndisplay r(z)",
        "mkdir s\nlocal m = x[3]\nmkdir d`m'\ncd d`m'\npwd",
    ],
)
def test_single_values_are_never_shown(text):
    run = Run("", DATA)
    failed = ""
    try:
        run.more(text)
    except DoError as error:
        failed = str(error)
    assert "7777" not in failed
    assert "7777" not in run.text


def test_small_numbers_of_observations_are_not_shown():
    assert Run("display _N", DATA).log == ["3"]
    run = Run("quietly keep in 1/2\ndisplay _N\ndisplay c(N)\nlocal n = _N\ndisplay `n'\n"
              "quietly drop in 1/2\ndisplay _N", DATA)  # fmt: skip
    assert run.log == ["(withheld)"] * 4  # that nobody is left may tell as much as that few are
    assert Run("clear\ndisplay _N", DATA).log == ["0"]


def test_values_may_steer_but_what_they_choose_is_not_seen():
    for bound in (3, 3_000_000):
        run = Run(f"if x[1] > {bound} {{\ndisplay 5\n}}\nelse {{\ndisplay 6\n}}", DATA)
        assert run.log == ["(withheld)"] * 2
        assert run.verdicts == ["fail", "fail"]


def test_wrong_macros_are_errors():
    with pytest.raises(UnsupportedError, match="macro function"):
        Run("local a : bogus x", DATA)
    with pytest.raises(UnsupportedError):
        Run("macro list", DATA)
    with pytest.raises(DoError):
        Run("local a = ", DATA)
