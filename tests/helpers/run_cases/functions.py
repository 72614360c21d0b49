"""Cases of the runner: every function of expressions, for one value and for columns."""

from __future__ import annotations

import datetime
import math

import numpy as np
from scipy import special, stats

from tests.helpers.run_cases.cases import Case, cases, gaps

DOT = "."
DAY = (datetime.date(2020, 1, 31) - datetime.date(1960, 1, 1)).days

#: Functions of one number, for columns, with numpy or scipy on the same numbers.
COLUMNS = {
    "abs(z)": lambda f: np.abs(f["z"]), "exp(z)": lambda f: np.exp(f["z"]),
    "ln(y)": lambda f: np.log(f["y"]), "log(y)": lambda f: np.log(f["y"]),
    "log10(y)": lambda f: np.log10(f["y"]), "ln1p(y)": lambda f: np.log1p(f["y"]),
    "expm1(z)": lambda f: np.expm1(f["z"]), "sqrt(y)": lambda f: np.sqrt(f["y"]),
    "sin(z)": lambda f: np.sin(f["z"]), "cos(z)": lambda f: np.cos(f["z"]),
    "tan(z)": lambda f: np.tan(f["z"]), "asin(z/9)": lambda f: np.arcsin(f["z"] / 9),
    "acos(z/9)": lambda f: np.arccos(f["z"] / 9), "atan(z)": lambda f: np.arctan(f["z"]),
    "atan2(z, y)": lambda f: np.arctan2(f["z"], f["y"]), "sinh(z)": lambda f: np.sinh(f["z"]),
    "cosh(z)": lambda f: np.cosh(f["z"]), "tanh(z)": lambda f: np.tanh(f["z"]),
    "asinh(z)": lambda f: np.arcsinh(f["z"]), "acosh(y)": lambda f: np.arccosh(f["y"]),
    "atanh(z/9)": lambda f: np.arctanh(f["z"] / 9), "floor(z)": lambda f: np.floor(f["z"]),
    "ceil(z)": lambda f: np.ceil(f["z"]), "int(z)": lambda f: np.trunc(f["z"]),
    "trunc(z)": lambda f: np.trunc(f["z"]), "sign(z)": lambda f: np.sign(f["z"]),
    "round(z)": lambda f: np.floor(f["z"] + 0.5),
    "round(y, 5)": lambda f: 5 * np.floor(f["y"] / 5 + 0.5),
    "mod(z, .7)": lambda f: np.mod(f["z"], 0.7),
    "logit(normal(z))": lambda f: special.logit(special.ndtr(f["z"])),
    "invlogit(z)": lambda f: special.expit(f["z"]),
    "cloglog(normal(z))": lambda f: np.log(-np.log1p(-special.ndtr(f["z"]))),
    "invcloglog(z)": lambda f: 1 - np.exp(-np.exp(f["z"])),
    "ln1m(z/9)": lambda f: np.log1p(-f["z"] / 9),
    "reldif(z, y)": lambda f: np.abs(f["z"] - f["y"]) / (np.abs(f["y"]) + 1),
    "clip(z, -1, .5)": lambda f: np.clip(f["z"], -1, 0.5),
    "float(z)": lambda f: f["z"].to_numpy().astype(np.float32).astype(float),
    "max(z, h, .)": lambda f: np.maximum(f["z"], f["h"]),
    "min(z, h, .)": lambda f: np.minimum(f["z"], f["h"]),
    "sum(z)": lambda f: np.cumsum(f["z"]),
    "cond(h, z, y)": lambda f: np.where(f["h"], f["z"], f["y"]),
    "inlist(g, 1, 3)": lambda f: np.isin(f["g"], [1, 3]).astype(float),
    "inrange(z, -1, 1)": lambda f: ((f["z"] >= -1) & (f["z"] <= 1)).to_numpy().astype(float),
    "irecode(z, -1, 0, 1)": lambda f: np.searchsorted([-1, 0, 1], f["z"], side="left"),
    "recode(z, -1, 0, 1)": lambda f: np.array([-1, 0, 1, 1])[
        np.searchsorted([-1, 0, 1], f["z"], side="left")],
    "autocode(y, 4, 0, 40)": lambda f: np.clip(np.ceil(f["y"] / 10), 1, 4) * 10,
    "comb(9, g)": lambda f: special.comb(9, f["g"]),
    "lnfactorial(g)": lambda f: special.gammaln(f["g"] + 1.0),
    "lngamma(y)": lambda f: special.gammaln(f["y"]),
    "normal(z)": lambda f: special.ndtr(f["z"]),
    "normalden(z, 1, 2)": lambda f: stats.norm.pdf(f["z"], 1, 2),
    "invnormal(y/60)": lambda f: special.ndtri(f["y"] / 60),
    "binomial(9, g, .3)": lambda f: stats.binom.cdf(f["g"], 9, 0.3),
    "chi2(g, y)": lambda f: stats.chi2.cdf(f["y"], f["g"]),
    "chi2tail(g, y/9)": lambda f: stats.chi2.sf(f["y"] / 9, f["g"]),
    "invchi2(g, .9)": lambda f: stats.chi2.ppf(0.9, f["g"]),
    "invchi2tail(g, .1)": lambda f: stats.chi2.isf(0.1, f["g"]),
    "t(g, z)": lambda f: stats.t.cdf(f["z"], f["g"]),
    "ttail(g, z)": lambda f: stats.t.sf(f["z"], f["g"]),
    "invt(g, .3)": lambda f: stats.t.ppf(0.3, f["g"]),
    "invttail(g, .3)": lambda f: stats.t.isf(0.3, f["g"]),
    "F(g, 7, y/9)": lambda f: stats.f.cdf(f["y"] / 9, f["g"], 7),
    "Ftail(g, 7, y/9)": lambda f: stats.f.sf(f["y"] / 9, f["g"], 7),
    "invF(g, 7, .9)": lambda f: stats.f.ppf(0.9, f["g"], 7),
    "invFtail(g, 7, .1)": lambda f: stats.f.isf(0.1, f["g"], 7),
    "missing(x)": lambda f: f["x"].is_null().to_numpy().astype(float),
    "mi(x, y)": lambda f: f["x"].is_null().to_numpy().astype(float),
    "x^2": lambda f: gaps((f["x"] ** 2).to_list()),
    "ln(x)": lambda f: gaps(f["x"].log().to_list()),
}  # fmt: skip

#: Functions of texts and dates, by what Stata's manual says of them.
SINGLE = {
    'substr("abcdef", 2, 3)': "bcd", 'substr("abcdef", -3, 2)': "de", 'substr("abc", 9, 1)': "",
    'substr("abcdef", 2, .)': "bcdef", 'substr("abcdef", -3, .)': "def", 'substr("ab", 2, 0)': "",
    'substr("üb", 3, 1)': "b", 'usubstr("üb", 2, 1)': "b", 'usubstr("médiane", 3, .)': "diane",
    'strlen("üb")': 3, 'length("ab")': 2, 'ustrlen("médiane")': 7,
    '"ab" * 3': "ababab", '0 * "ab"': "",
    'strpos("this", "is")': 3, 'strpos("this", "it")': 0, 'strpos("this", "")': 1,
    'strpos("üb", "b")': 3, 'ustrpos("üb", "b")': 2, 'strrpos("this is", "is")': 6,
    'ustrrpos("üsüs", "s")': 4,
    'subinstr("this is this", "is", "X", 1)': "thX is this",
    'subinstr("this is this", "is", "X", .)': "thX X thX",
    'usubinstr("über", "ü", "ue", .)': "ueber",
    'subinword("this is the day", "is", "X", .)': "this X the day",
    'subinword("a a a", "a", "b", 1)': "b a a",
    'upper("aü")': "Aü", 'strupper("ab")': "AB", 'ustrupper("aü")': "AÜ",
    'lower("AÜ")': "aÜ", 'strlower("AB")': "ab", 'ustrlower("AÜ")': "aü",
    'proper("mR. joHn a. sMitH")': "Mr. John A. Smith",
    'strproper("jack o\'reilly")': "Jack O'Reilly",
    'strproper("2-cent\'s worth")': "2-Cent'S Worth",
    'trim("  a  b ")': "a  b", 'strtrim(" a ")': "a", 'ltrim("  a ")': "a ",
    'strltrim(" a ")': "a ",
    'rtrim(" a  ")': " a", 'strrtrim(" a  ")': " a", 'itrim("a    b")': "a b",
    'stritrim("hello     there")': "hello there", 'ustrtrim(" a ")': "a",
    'strreverse("hello")': "olleh", 'ustrreverse("médiane")': "enaidém",
    "string(1.5)": "1.5", "string(12345678)": "1.23e+07", "string(1234567)": "1234567",
    'string(3.14159, "%5.2f")': "3.14", "strofreal(-.25)": "-.25", "string(.)": ".",
    "string(.b)": ".b", 'string(15, "%td")': "16jan1960",
    'real("5.2")': 5.2, 'real("5.2a")': DOT, 'real(" -1e3 ")': -1000, 'real("")': DOT,
    'word("a bc d", 2)': "bc", 'word("a b", -1)': "b", 'word("a", 2)': "", 'word("a b", .)': "",
    'wordcount(" a  b ")': 2, "char(97)": "a", "char(0)": "",
    'abbrev("displacement", 8)': "displa~t",
    'strmatch("17.4", "1??4")': 1, 'strmatch("abc", "a*")': 1, 'strmatch("abc", "b*")': 0,
    'indexnot("aab3", "ab")': 4, 'indexnot("ab", "ab")': 0,
    'plural(1, "horse")': "horse", 'plural(2, "horse")': "horses",
    'regexm("12345", "([0-9])([0-9])")': 1, 'regexm("a", "^b")': 0, 'ustrregexm("aé", "é$")': 1,
    'regexr("123 abc", "[0-9]+", "X")': "X abc",
    'cond(regexm("tel 12", "([a-z]+) ([0-9]+)"), regexs(2), "")': "12",
    'cond(ustrregexm("ré 12", "(r.) "), ustrregexs(1), "")': "ré",
    'inlist("b", "a", "b")': 1, 'inrange("b", "a", "c")': 1, 'inrange("", "a", "c")': 0,
    'inrange("z", "a", "")': 1, 'cond(0, "a", "b")': "b", 'missing("")': 1,
    "cond(., 1, 2, 3)": 3, "cond(., 1, 2)": 1, "inrange(., 1, 2)": 0, "inrange(5, 1, .)": 1,
    "inrange(5, ., 9)": 1, "max(., .)": DOT, "min(3, .)": 3, "round(-4.5)": -4, "mod(-10, 3)": 2,
    "mod(5, 0)": DOT, "ln(0)": DOT, "sqrt(-1)": DOT, "invnormal(1)": DOT, "comb(10, 5)": 252,
    "normalden(0)": 1 / math.sqrt(2 * math.pi), "normalden(2, 2)": stats.norm.pdf(2, 0, 2),
    "irecode(5, 1, 5, 9)": 1, "recode(., 1, 2)": DOT, "recode(2, 1, .)": DOT, "clip(., 1, 2)": DOT,
    "float(.1)": float(np.float32(0.1)), "float(1e39)": DOT,
    "mdy(1, 31, 2020)": DAY, "mdy(2, 30, 2020)": DOT, "mdy(1, 31, .)": DOT,
    "td(31jan2020)": DAY, "tm(2020m1)": 720, "tq(2020q1)": 240, "th(2020h2)": 121,
    "tw(2020w2)": 3121, f"year({DAY})": 2020, f"month({DAY})": 1, f"day({DAY})": 31,
    f"dow({DAY})": 5, f"doy({DAY})": 31, f"week({DAY})": 5, f"quarter({DAY})": 1,
    f"halfyear({DAY + 200})": 2, f"mofd({DAY})": 720, f"qofd({DAY + 100})": 241,
    f"yofd({DAY})": 2020, f"wofd({DAY})": 3124, f"hofd({DAY + 200})": 121,
    "dofm(720)": DAY - 30, "dofq(240)": DAY - 30, "dofh(120)": DAY - 30, "dofw(3120)": DAY - 30,
    "dofw(3124)": DAY - 2, "dofy(2020)": DAY - 30, "ym(2020, 1)": 720, "ym(2020, 13)": DOT,
    "yq(2020, 1)": 240, "yh(2020, 2)": 121, "yw(2020, 5)": 3124, "yq(2020, 5)": DOT,
    'date("31jan2020", "DMY")': DAY, 'date("2020-01-31", "YMD")': DAY,
    'date("January 31, 2020", "MDY")': DAY, 'date("31.1.20", "DM20Y")': DAY,
    'date("31.1.20", "DMY")': DOT, 'date("31.1.20", "DMY", 2050)': DAY,
    'date("31.1.60", "DMY", 2050)': DAY - 21_915, 'daily("20200131", "YMD")': DAY,
    'date("30feb2020", "DMY")': DOT, 'monthly("2020m1", "YM")': 720, 'monthly("1/2020", "MY")': 720,
    'monthly("Jan 2020", "MY")': 720, 'quarterly("2020q3", "YQ")': 242,
    'quarterly("2020", "YQ")': DOT,
    'halfyearly("2020h2", "YH")': 121, 'weekly("2020w2", "YW")': 3121, 'yearly("2020", "Y")': 2020,
    'monthly("20-1", "20YM")': 720, 'monthly("2020m13", "YM")': DOT,
}  # fmt: skip

WRONG = {
    '"a" * "b"': 109,
    'cond(1, "a", 2)': 109, 'inlist("a", 1)': 109, 'inrange("a", 1, 2)': 109, "inrange(1, 2)": 198,
    'upper(1)': 109, 'abs("a")': 109, 'strreverse("ü")': 198, "inlist(1)": 198, "cond(1, 2)": 198,
    'date("a")': 109, 'date(1, "DMY")': 109, "td(99abc2020)": 198, "tm(2020m13)": 198,
}  # fmt: skip

#: Draws, with the mean that they should have.
DRAWS = {
    "runiform()": 0.5, "runiform(2, 4)": 3, "uniform()": 0.5, "rnormal()": 0, "rnormal(5, 2)": 5,
    "runiformint(1, 6)": 3.5, "rbinomial(10, .3)": 3, "rpoisson(4)": 4, "rchi2(3)": 3, "rt(9)": 0,
    "rgamma(2, 3)": 6, "rbeta(2, 2)": 0.5, "rexponential(2)": 2,
}  # fmt: skip

FUNCTIONS = [
    *(
        Case(f"generate double v = {text}", lambda f, wanted=wanted: {"v": wanted(f)}, "people")
        for text, wanted in COLUMNS.items()
    ),
    *(Case(f"scalar v = {text}", {"scalar v": wanted}, "none") for text, wanted in SINGLE.items()),
    *(
        Case(f"generate v = {text}", {"v": [wanted] * 2, "rows": 2}, "two")
        for text, wanted in SINGLE.items()
        if not isinstance(wanted, float)
    ),
    *(Case(f"scalar v = {text}", {"error": code}, "none") for text, code in WRONG.items()),
    *cases(
        "texts",
        ("generate v2 = real(n)", {"v2": [1, 2.5, DOT, 300]}),
        ("generate v2 = word(t, 2)", {"v2": ["b", "", "", "f"]}),
        ("generate v2 = substr(t, strpos(t, \" \") + 1, .)", {"v2": ["b c", "d", "", " f"]}),
        ("generate v2 = regexs(1) if regexm(v, \"^([0-9])-\")", {"v2": ["1", "", "", "4"]}),
        ("generate v2 = t\nreplace v2 = regexs(1) if regexm(v, \"-(.)\")",
         {"v2": ["2", "d", "", "x"]}),
        ("generate v2 = inlist(m, \"a\", \"1\")", {"v2": [1, 1, 0, 0]}),
        ("generate v2 = inrange(m, \"0\", \"9\")", {"v2": [1, 0, 0, 0]}),
        ("generate v2 = cond(missing(t), \"none\", upper(t))",
         {"v2": ["A B C", "D", "none", "E  F"]}),
        ("generate v2 = date(v, \"DMY\")", {"v2": [DOT] * 4}),
        ("generate v2 = m * _n", {"v2": ["1", "aa", "-7-7-7", "...."]}),
        ("generate v2 = n + m", {"v2": ["11", " 2.5a", "-7", "3e2."]}),
        ("generate v2 = n < m", {"v2": [0, 1, 1, 0]}),
    ),
    *(
        Case(f"clear\nset seed 4\nset obs 20000\ngenerate v = {text}\nsummarize v",
             lambda f, mean=mean: {"close mean": mean}, "none")
        for text, mean in DRAWS.items()
    ),
]  # fmt: skip
