"""Expressions: operators, missing values, functions, against Stata's documented results."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.language.functions import function_names
from discreet_fire.runners.builtin.language.values import MISSING, letter_of
from discreet_fire.runners.builtin.names import one_value
from tests.helpers.run_data import Run


def value(expression, frame=None):
    """The value of an expression; missing ones as `.`, `.a`, …"""
    found = one_value(Run("", frame).session, expression)
    return letter_of(found) if not isinstance(found, str) and found >= MISSING else found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("2 + 3 * 4", 14),
        ("-2^2", -4),
        ("2^3^2", 64),
        ("2^-1", 0.5),
        ("(1 + 2) * 3", 9),
        ("7 / 2", 3.5),
        ("1 / 0", "."),
        ("1 + .", "."),
        (".a", ".a"),
        ("-.a", "."),
        (". > 5", 1),
        (". == .a", 0),
        (".a < .b", 1),
        ("1 < 2 & 3 >= 3", 1),
        ("0 | .", 1),
        ("!0", 1),
        ("!.", 0),
        ("~1", 0),
        ("1 != 2", 1),
        ("1 ~= 1", 0),
        ("1 & 0 | 1", 1),
        ("!0 & 0", 0),
        ("1 == 1 + 1", 0),
        ("-3 - -4", 1),
        ("1e3 + .5 + 5.", 1005.5),
        ('"a" + "b"', "ab"),
        ('"a" < "b"', 1),
        ('"B" < "a"', 1),
        ('"a" == `"a"\'', 1),
        ("_pi", math.pi),
        ("c(N)", 0),
        ("r(nothing)", "."),
        ("_N", 0),
    ],
)
def test_operators(expression, expected):
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("abs(-3)", 3), ("ceil(1.2)", 2), ("floor(-1.2)", -2), ("int(-1.8)", -1),
        ("round(2.5)", 3), ("round(-2.5)", -2), ("round(123.456, .01)", 123.46),
        ("round(1234, 100)", 1200), ("mod(-7, 3)", 2), ("mod(7, 0)", "."), ("sign(-2)", -1),
        ("ln(0)", "."), ("log10(1000)", 3), ("sqrt(-1)", "."), ("exp(0)", 1),
        ("max(1, ., 3)", 3), ("min(., 2)", 2), ("max(., .)", "."),
        ("cond(1, 2, 3)", 2), ("cond(., 2, 3)", 2), ("cond(., 2, 3, 4)", 4),
        ('cond(0, "a", "b")', "b"), ("missing(.)", 1), ('missing("")', 1), ("missing(1, .b)", 1),
        ("mi(3)", 0), ("inrange(5, 1, 9)", 1), ("inrange(., 1, 9)", 0), ("inrange(5, 1, .)", 1),
        ("inlist(3, 1, 2, 3)", 1), ('inlist("a", "b", "a")', 1), ("inlist(., 1)", 0),
        ("irecode(5, 1, 4, 9)", 2), ("autocode(7, 2, 0, 10)", 10),
        ("comb(5, 2)", 10), ("logit(.5)", 0), ("invlogit(0)", 0.5),
        ('length("abc")', 3), ('strlen("ä")', 2), ('ustrlen("ä")', 1),
        ('substr("hello", 2, 3)', "ell"), ('substr("hello", -3, .)', "llo"),
        ('upper("ab")', "AB"), ('lower("AB")', "ab"), ('proper("mr. ab cd")', "Mr. Ab Cd"),
        ('trim("  a b ")', "a b"), ('strpos("hello", "l")', 3), ('strpos("a", "b")', 0),
        ('subinstr("aaa", "a", "b", 2)', "bba"), ('subinstr("aaa", "a", "b", .)', "bbb"),
        ('word("a b c", 2)', "b"), ('word("a b c", -1)', "c"), ('wordcount("a b  c")', 3),
        ('real("1.5")', 1.5), ('real("x")', "."), ("string(3)", "3"), ("string(.5)", ".5"),
        ('string(3.14159, "%4.2f")', "3.14"), ("strofreal(10)", "10"),
        ('regexm("abc12", "[0-9]+")', 1), ('strreverse("abc")', "cba"),
        ('itrim("a   b")', "a b"), ('strmatch("abc", "a*c")', 1), ('char(65)', "A"),
        ("mdy(1, 31, 2020)", 21945), ("mdy(2, 30, 2020)", "."), ("year(21945)", 2020),
        ("month(21945)", 1), ("day(21945)", 31), ("dow(21945)", 5), ("doy(21945)", 31),
        ("quarter(21945)", 1), ("mofd(21945)", 720), ("qofd(21945)", 240), ("yofd(21945)", 2020),
        ("ym(2020, 1)", 720), ("yq(2020, 1)", 240), ("dofm(720)", 21915),
        ('date("31jan2020", "DMY")', 21945), ('date("2020-01-31", "YMD")', 21945),
        ('date("x", "DMY")', "."), ("normal(0)", 0.5), ("chi2tail(1, 0)", 1),
    ],
)  # fmt: skip
def test_functions(expression, expected):
    assert value(expression) == (
        expected if isinstance(expected, str) else pytest.approx(expected, rel=1e-12)
    )


# Published tables: Abramowitz and Stegun (1964), tables 26.1, 26.8, 26.9, 26.10.
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("normal(1.96)", 0.9750021048517795),
        ("invnormal(.975)", 1.959963984540054),
        ("normalden(0)", 0.3989422804014327),
        ("normalden(3, 1, 2)", 0.12098536225957168),
        ("chi2tail(1, 3.841458820694124)", 0.05),
        ("invchi2tail(10, .05)", 18.307038053275146),
        ("invchi2(10, .95)", 18.307038053275146),
        ("chi2(2, 2)", 1 - math.exp(-1)),
        ("ttail(10, 1.812461122811676)", 0.05),
        ("t(10, -1.812461122811676)", 0.05),
        ("invttail(10, .025)", 2.2281388519649385),
        ("invttail(10, .975)", -2.2281388519649385),
        ("invt(10, .975)", 2.2281388519649385),
        ("Ftail(2, 10, 4.102821015130407)", 0.05),
        ("invFtail(2, 10, .05)", 4.102821015130407),
        ("invF(2, 10, .95)", 4.102821015130407),
        ("F(2, 10, 4.102821015130407)", 0.95),
        ("lngamma(5)", math.log(24)),
        ("lnfactorial(5)", math.log(120)),
        ("binomial(4, 2, .5)", 11 / 16),
    ],
)
def test_distributions(expression, expected):
    assert value(expression) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "expression",
    ["ttail(0, 1)", "invnormal(0)", "invchi2tail(3, 2)", "lngamma(0)", "normal(.)",
     "Ftail(-1, 2, 3)", "comb(2.5, 1)", "normalden(1, 0)"],
)  # fmt: skip
def test_outside_their_domain_distributions_are_missing(expression):
    assert value(expression) == "."


@given(st.floats(0.001, 0.999), st.integers(1, 60))
def test_quantiles_undo_tails(chance, df):
    for name in ("t", "chi2"):
        assert value(f"{name}tail({df}, inv{name}tail({df}, {chance!r}))") == pytest.approx(chance)
    assert value(f"Ftail({df}, 7, invFtail({df}, 7, {chance!r}))") == pytest.approx(chance)
    assert value(f"normal(invnormal({chance!r}))") == pytest.approx(chance)


@given(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=1, max_size=9))
def test_comparisons_and_sums_of_columns(numbers):
    numbers = [*numbers, 1.0]  # one at least is known
    run = Run("generate double y = x * 2 + 1\ngenerate byte b = x > 5\n"
              "generate double s = sum(x)\ngenerate byte m = x >= .", {"x": numbers})  # fmt: skip
    assert run["y"] == ["." if one is None else one * 2 + 1 for one in numbers]
    assert run["b"] == [float(one is None or one > 5) for one in numbers]
    assert run["m"] == [float(one is None) for one in numbers]
    assert run["s"] == np.cumsum([one or 0 for one in numbers]).tolist()


def test_places_and_groups():
    data = {"g": [1, 1, 2], "x": [5, 6, 7], "s": ["a", "b", "c"]}
    run = Run("generate a = x[_n-1]\ngenerate b = x[_N]\ngenerate c = s[2]\n"
              "bysort g: generate d = x[_n+1]\nby g: generate e = sum(x)\nby g: generate n = _N\n"
              "generate z = x[99]\ngenerate t = s[0]", data)  # fmt: skip
    assert run["a"] == [".", 5, 6]
    assert run["b"] == [7, 7, 7]
    assert run["c"] == ["b"] * 3
    assert run["d"] == [6, ".", "."]
    assert run["e"] == [5, 11, 7]
    assert run["n"] == [2, 2, 1]
    assert run["z"] == ["."] * 3
    assert run["t"] == [""] * 3


def test_replace_sees_what_it_has_just_changed():
    data = {"x": [1, None, None, 4, None]}
    assert Run("replace x = x[_n-1] if missing(x)", data)["x"] == [1, 1, 1, 4, 4]
    run = Run("generate f = 1\nreplace f = f[_n-1] + f[_n-2] if _n > 2", {"x": range(8)})
    assert run["f"] == [1, 1, 2, 3, 5, 8, 13, 21]


def test_random_numbers_are_as_they_should_be():
    run = Run("set seed 3\ngenerate u = runiform()\ngenerate z = rnormal(5, 2)\n"
              "generate k = runiformint(1, 6)", {"x": range(4000)})  # fmt: skip
    # Four standard errors of each mean; chance of a false alarm about 1 in 5,000 in all.
    assert abs(np.mean(run["u"]) - 0.5) < 4 / (12 * 4000) ** 0.5
    assert abs(np.mean(run["z"]) - 5) < 4 * 2 / 4000**0.5
    assert set(run["k"]) == {1, 2, 3, 4, 5, 6}


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ('"a" * "b"', DoError), ('1 + "a"', DoError), ("nothing + 1", DoError), ("1 +", DoError),
        ("(1", DoError), ("1 2", DoError), ("abs()", DoError), ('abs("x")', DoError),
        ("bogus(1)", UnsupportedError), ("1 = 1", DoError), ("cond(1)", DoError),
        ('"a', DoError), ("", DoError), ("x[", DoError), ("#", DoError), ("()", DoError),
    ],
)  # fmt: skip
def test_wrong_expressions_are_errors(expression, error):
    with pytest.raises(error):
        value(expression)


@given(st.text(alphabet="x1.+-*/^&|!~=<>()[],\"`' _aln", max_size=25))
def test_any_text_is_a_value_or_a_clear_error(text):
    try:
        value(text, {"x": [1.0, 2.0]})
    except (DoError, UnsupportedError):
        return


def test_functions_are_all_named():
    assert {"normal", "invttail", "substr", "mdy", "cond"} <= set(function_names())
