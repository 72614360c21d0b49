"""Cases of the runner: texts and numbers, classes, labels and formats, files, macros."""

from __future__ import annotations

import numpy as np

from tests.helpers.run_cases.cases import cases, gaps, single

DOT = "."


def quantile(values, share):
    """A percentile by Stata's definition, of numbers without weights."""
    ordered = np.sort([one for one in values if one is not None])
    place = round(len(ordered) * share, 9)
    if place == int(place):
        return float(ordered[int(place) - 1 : int(place) + 1].mean())
    return float(ordered[int(np.ceil(place)) - 1])


def weighted(frame, share):
    """The same of x, each as often as w says."""
    known = frame.drop_nulls("x")
    return quantile(np.repeat(known["x"].to_numpy(), known["w"].to_numpy()), share)


def classes(values, cuts):
    """1 up to the first cut, 2 up to the second, …"""
    return [DOT if one is None else 1 + sum(one > cut for cut in cuts) for one in values]


TEXTS = [
    *cases(
        "texts",
        ("destring n, replace", {"n": [1, 2.5, DOT, 300], "type n": "double"}),
        ("destring n, generate(k) float", {"type k": "float", "n": ["1", " 2.5", "", "3e2"]}),
        ("destring m, replace", {"m": ["1", "a", "-7", "."]}),
        ("destring m, replace force", {"m": [1, DOT, -7, DOT], "type m": "byte"}),
        ("destring c, replace ignore(\",\")", {"c": [1234, 5, DOT, 2_000_000], "type c": "long"}),
        ("destring p, replace ignore(\"%\")", {"p": [5, 10, DOT, 2.5]}),
        ("destring p, replace percent", {"p": [0.05, 0.1, DOT, 0.025]}),
        ("destring d, generate(k) dpcomma", {"k": [1.5, 2000.25, DOT, 7]}),
        ("destring n p, generate(k l) ignore(%)", {
            "k": [1, 2.5, DOT, 300], "l": [5, 10, DOT, 2.5]}),
        ("destring n", {"error": 198}),
        ("destring c, replace ignore(\",\", illegal)", {"unsupported": "options of ignore()"}),
        ("split t", {"t1": ["a", "d", "", "e"], "t2": ["b", "", "", "f"], "t3": ["c", "", "", ""]}),
        ("split t, limit(2) generate(q)", {"q2": ["b", "", "", "f"],
                                          "names": [*"nmpcdtv", "q1", "q2"]}),
        ("split v, parse(-)", {"v1": ["1", "3", "", "4"], "v2": ["2", "", "", "x"]}),
        ("split v, parse(-) destring", {"v1": [1, 3, DOT, 4], "v2": ["2", "", "", "x"]}),
        ("split v, parse(-) destring force", {"v2": [2, DOT, DOT, DOT], "type v2": "byte"}),
        ("generate k = \" a ,b\"\nsplit k, parse(,)", {"k1": ["a"] * 4, "k2": ["b"] * 4}),
        ("generate k = \" a ,b\"\nsplit k, parse(,) notrim", {"k1": [" a "] * 4}),
        ("generate k = \"5%;.5%\"\nsplit k, parse(;) destring percent", {"k1": [0.05] * 4,
                                                                      "k2": [0.005] * 4}),
        ("generate k = \"1.5;2\"\nsplit k, parse(;) destring float", {"type k1": "float"}),
        ("generate k = \"1 000;2\"\nsplit k, parse(;) destring ignore(\" \")", {"k1": [1000] * 4}),
        ("encode m, generate(k)", {"k": [3, 4, 1, 2], "values k": "k", "type k": "long",
                                   "labels k": {1.0: "-7", 2.0: ".", 3.0: "1", 4.0: "a"}}),
        ("label define l 7 \"a\"\nencode m, generate(k) label(l)", {"k": [10, 7, 8, 9]}),
        ("label define l 7 \"a\"\nencode m, generate(k) label(l) noextend", {"error": 180}),
        ("label define l 1 \"1\" 2 \"a\" 3 \"-7\" 4 \".\"\nencode m, generate(k) label(l) noextend",
         {"k": [1, 2, 3, 4]}),
        ("encode m, generate(k)\ndecode k, generate(r)", {"r": ["1", "a", "-7", "."]}),
        ("encode t, generate(k)\ndecode k, generate(r) maxlength(1)", {"r": ["a", "d", "", "e"]}),
    ),
    *cases(
        "numbers",
        ("tostring a, replace", {"a": ["3", "1", "2", "2", "5"], "type a": "str1"}),
        ("tostring b, generate(t)", {"t": ["10", ".5", ".", "20", ".5"]}),
        ("generate f = .1\ntostring f, replace", {"f": [float(np.float32(0.1))] * 5}),
        ("generate f = .1\ntostring f, replace force", {"f": [".1000000015"] * 5}),
        ("tostring k, replace format(%03.0f)", {"k": ["001", "002", "003", "004", "005"]}),
        ("format k %5.1f\ntostring k, replace usedisplayformat", {
            "k": ["1.0", "2.0", "3.0", "4.0", "5.0"]}),
        ("generate d = 21945\ntostring d, replace format(%td)", {"d": [21945] * 5}),
        ("generate d = 21945\ntostring d, replace format(%tdCCYY-NN-DD) force", {
            "d": ["2020-01-31"] * 5}),
        ("generate long n = 2147483620\ntostring n, replace", {"n": ["2147483620"] * 5}),
        ("generate double n = 123456789012\ntostring n, replace", {"type n": "double"}),
        ("ipolate b k, generate(e)", {"e": [10, 0.5, 10.25, 20, 0.5]}),
        ("ipolate b k if k < 4, generate(e)", {"e": [10, 0.5, DOT, DOT, DOT]}),
        ("ipolate b k if k < 4, generate(e) epolate", {"e": [10, 0.5, -9, DOT, DOT]}),
        ("generate q = k > 3\nipolate b k, generate(e) by(q)", {"e": [10, 0.5, DOT, 20, 0.5]}),
        ("generate q = k > 3\nby q, sort: ipolate b k, generate(e) epolate", {
            "e": [10, 0.5, -9, 20, 0.5]}),
    ),
    *cases(
        "people",
        ("xtile q = x, nquantiles(5)", lambda f: {"q": classes(
            f["x"], [quantile(f["x"], at / 5) for at in range(1, 5)])}),
        ("xtile q = x", lambda f: {"q": classes(f["x"], [quantile(f["x"], 0.5)])}),
        ("xtile q = x if h == 1, nquantiles(3)", lambda f: {"q": [
            one if h else DOT for one, h in zip(classes(f["x"], [
                quantile(f.filter(h=1)["x"], at / 3) for at in (1, 2)]), f["h"], strict=True)]}),
        *((f"xtile q = x [{kind}=w], nquantiles(4)", lambda f: {"q": classes(
            f["x"], [weighted(f, at / 4) for at in (1, 2, 3)])}) for kind in ("fw", "aw", "pw")),
        ("generate c = 45 in 1\nreplace c = 55 in 2\nxtile q = x, cutpoints(c)",
         lambda f: {"q": classes(f["x"], [45, 55])}),
        ("pctile double p = x, nquantiles(4) genp(t)", lambda f: {
            "p": [quantile(f["x"], at / 4) for at in (1, 2, 3)] + [DOT] * 297,
            "t": [25, 50, 75] + [DOT] * 297}),
        ("pctile p = x", lambda f: {"p": single([quantile(f["x"], 0.5)]) + [DOT] * 299}),
        *((f"pctile double p = x [{kind}=w], nquantiles(3)", lambda f: {
            "p": [weighted(f, at / 3) for at in (1, 2)] + [DOT] * 298})
          for kind in ("fw", "aw", "pw")),
        ("_pctile x, percentiles(10 90)", lambda f: {
            "r(r1)": quantile(f["x"], 0.1), "r(r2)": quantile(f["x"], 0.9)}),
        ("_pctile x if h == 1, nquantiles(4)", lambda f: {
            f"r(r{at})": quantile(f.filter(h=1)["x"], at / 4) for at in (1, 2, 3)}),
        *((f"_pctile x [{kind}=w], p(35)", lambda f: {"r(r1)": weighted(f, 0.35)})
          for kind in ("fw", "aw", "pw")),
        ("generate y2 = L.y", {"error": 111}),
        ("generate double e = x - y", lambda f: {"e": gaps((f["x"] - f["y"]).to_list())}),
    ),
]  # fmt: skip

LABELS = cases(
    "small",
    ("label variable x \"Wage, in EUR\"", {"label x": "Wage, in EUR"}),
    ("label define l 1 \"a\" 2 \"b\"\nlabel values id g l", {
        "values g": "l", "labels l": {1.0: "a", 2.0: "b"}}),
    ("label define l 1 \"a\"\nlabel define l 2 \"b\"", {"error": 110}),
    ("label define l 1 \"a\"\nlabel define l 2 \"b\", add", {"labels l": {1.0: "a", 2.0: "b"}}),
    ("label define l 1 \"a\"\nlabel define l 1 \"b\", add", {"error": 180}),
    ("label define l 1 \"a\"\nlabel define l 1 \"b\", modify", {"labels l": {1.0: "b"}}),
    ("label define l 1 \"a\"\nlabel define l 2 \"b\", replace", {"labels l": {2.0: "b"}}),
    ("label define l 1 \"a\"\nlabel values id l\nlabel values id .", {"values id": ""}),
    ("label define l 1 \"a\"\nlabel values id l\nlabel values id", {"values id": ""}),
    ("label define l 1 \"a\"\nlabel copy l m\nlabel drop l", {
        "labels l": None, "labels m": {1.0: "a"}}),
    ("label define l 1 \"a\"\nlabel drop _all", {"labels l": None}),
    ("label define l 1 \"a\"\nlabel list l", {"log": "           1 a"}),
    ("label define l 1 \"a\"\nlabel dir", {"text": ("l:",)}),
    ("label define l 1 \"a\" .a \"none\"\nnumlabel l, add", {"labels l": {
        1.0: "1. a", 2.0**1023 + 2.0**1011: "none"}}),
    ("label define l 1 \"1. a\"\nnumlabel l, remove", {"labels l": {1.0: "a"}}),
    ("label language en", {"unsupported": "label language"}),
    ("format x %8.2f", {"format x": "%8.2f"}),
    ("format %tdDD.NN.CCYY id", {"format id": "%tdDD.NN.CCYY"}),
    ("format id %d", {"format id": "%d"}),
    ("format s %-10s", {"format s": "%-10s"}),
    ("format x %tc", {"error": 120}),
    ("generate d = 21945\nformat d %td\nlocal t : di %td 21945\nlocal t : display \"`t'\"\n"
     "label data \"`t'\"\ndescribe",
     {"text": ("31jan2020",)}),
    ("display %9.2f 3.14159", {"log": "     3.14"}),
    ("display %12.0fc 1234567", {"log": "   1,234,567"}),
    ("display %9,2f 3.14159", {"log": "     3,14"}),
    ("display 2^31", {"log": "2.147e+09"}),
    ("display 1/3", {"log": ".33333333"}),
    ("display 1/3000000", {"log": "3.333e-07"}),
    ("local a = 1/3\ndisplay \"`a'\"", {"log": ".3333333333333333"}),
    ("display %tdDayname_dd_Month_CCYY 21945", {"log": "Friday 31 January 2020"}),
    ("display %tq 240 \" \" %tm 720 \" \" %tw 3121 \" \" %th 121", {
        "log": "2020q1 2020m1 2020w2 2020h2"}),
    ("describe, short", {"text": ("Variables:", "4"), "r(k)": 4, "lacks": ("Storage",)}),
    ("describe x s, simple varlist", {"log": "x  s"}),
    ("describe x s", {"text": ("double", "str5")}),
    ("ds", {"r(varlist) text": "id g x s", "log": "id  g  x  s"}),
    ("ds, has(type string)", {"r(varlist) text": "s"}),
    ("ds, not(type string)", {"r(varlist) text": "id g x"}),
    ("ds x, not", {"r(varlist) text": "id g s"}),
    ("ds, alpha", {"r(varlist) text": "g id s x"}),
    ("label variable x \"Big Wage\"\nds, has(varlabel *wage*)", {"r(varlist) text": ""}),
    ("label variable x \"Big Wage\"\nds, has(varlabel *wage*) insensitive", {
        "r(varlist) text": "x"}),
    ("label variable x \"Big Wage\"\nds, has(varlabel \"big wage\") insensitive", {
        "r(varlist) text": "x"}),
    ("label variable x \"Wage\"\nlookfor wage", {"r(varlist) text": "x"}),
    ("levelsof id, local(l)\nlocal n : word count `l'", {"r(levels) text": "1 2 3", "r(r)": 3}),
    ("levelsof g, missing separate(\", \")", {"r(levels) text": "1, 2, ."}),
    ("levelsof s", {"r(levels) text": "`\"a\"' `\"b\"' `\"Ünï\"'"}),
    ("levelsof s, clean", {"r(levels) text": "a b Ünï"}),
)  # fmt: skip

FILES = cases(
    "small",
    ("save a\nuse id x using a if id == 1, clear", {"names": ["id", "x"], "id": [1, 1]}),
    ("save a\nreplace x = 1\nuse a", {"error": 4}),
    ("save a\nsave a", {"error": 602}),
    ("save a\ndrop in 1\nsave a, replace\nuse a, clear", {"rows": 3}),
    ("label define l 1 \"a\"\nlabel define m 1 \"b\"\nlabel values id l\nsave a\nuse a, clear", {
        "labels l": {1.0: "a"}, "labels m": None}),
    ("label define l 1 \"a\"\nlabel define m 1 \"b\"\nlabel values id l\nsave a, orphans\n"
     "use a, clear", {"labels l": {1.0: "a"}, "labels m": {1.0: "b"}}),
    ("label define l 1 \"a\"\nlabel values id l\nsave a, nolabel\nuse a, clear", {
        "labels l": None, "values id": "l"}),
    ("label define l 1 \"a\"\nlabel values id l\nsave a\nuse a, clear nolabel", {
        "labels l": None}),
    ("drop _all\nsave a", {"error": 111}),
    ("drop _all\nsave a, emptyok", {"rows": 0}),
    ("saveold a, replace version(12)\nuse a, clear", {"rows": 4}),
    ("label define l 1 \"a\"\nlabel values id l\nsaveold a, nolabel\nuse a, clear", {
        "labels l": None}),
    ("label define l 1 \"a\"\nsaveold a, orphans\nuse a, clear", {"labels l": {1.0: "a"}}),
    ("save a\ndrop in 1\nsaveold a, replace\nuse a, clear", {"rows": 3}),
    ("drop _all\nsaveold a, emptyok", {"rows": 0}),
    ("preserve\ndrop in 1\nrestore", {"rows": 4}),
    ("preserve\ndrop in 1\nrestore, not", {"rows": 3}),
    ("preserve\ndrop in 1\nrestore, preserve\ndrop in 1/2\nrestore", {"rows": 4}),
    ("clear", {"rows": 0, "names": []}),
    ("scalar a = 5\nclear\ndisplay a", {"log": "5"}),
    ("scalar a = 5\nclear all\ndisplay a", {"error": 111}),
    ("clear\ninput id str3 s double x\n1 \"ab\" .1\n2 abcd .a\nend", {
        "id": [1, 2], "s": ["ab", "abc"], "x": [0.1, ".a"]}),
    ("clear\ninput id, label\n1\nend", {"unsupported": "an option of input"}),
    ("save a\nerase a.dta\nuse a, clear", {"error": 601}),
    ("save a\nerase a.dta\nsave a\nrm a.dta\nsave a", {"rows": 4}),
    ("mkdir sub\ncd sub\npwd", {"log": "sub"}),
    ("cd nowhere", {"error": 170}),
    ("tempfile f\nsave `f'\ndrop in 1\nuse `f', clear", {"rows": 4}),
    ("set obs 6", {"rows": 6, "id": [2, 1, 3, 1, DOT, DOT]}),
    ("set obs 3", {"error": 198}),
    ("set bogus on", {"unsupported": "set bogus"}),
    ("note x: a note\nnotes", {"rows": 4}),
)  # fmt: skip

PROGRAMS = cases(
    "small",
    ("local a 2\nglobal b 3\nscalar c = `a' + $b\ndisplay c", {"scalar c": 5, "log": "5"}),
    ("global b 3\nmacro drop b\ndisplay \"$b|\"", {"log": "|"}),
    ("tempvar t\ngenerate `t' = 1\ntempname n\nscalar `n' = 4\ndisplay `n'", {"log": "4"}),
    ("program p, rclass\nargs a b\nreturn scalar s = `a' * `b'\nreturn local t \"x\"\nend\np 3 4",
     {"r(s)": 12, "r(t) text": "x"}),
    ("tokenize \"a b c\"\nmacro shift\ndisplay \"`1' `2'\"", {"log": "b c"}),
    ("tokenize \"a+b\", parse(\"+\")\ndisplay \"`1'|`2'|`3'\"", {"log": "a|+|b"}),
    ("tokenize \"a b c\"\ntokenize \"x\"\ndisplay \"`1'|`2'|`3'\"", {"log": "x||"}),
    ("tokenize \"a b\", bogus", {"unsupported": "an option of tokenize"}),
    ("confirm variable x\nconfirm numeric variable x\nconfirm new variable q\nconfirm number 3",
     {"rows": 4}),
    ("confirm numeric variable s", {"error": 7}),
    ("confirm variable nothing", {"error": 111}),
    ("confirm new variable x", {"error": 110}),
    ("confirm integer number 3.5", {"error": 7}),
    ("confirm file nothing.dta", {"error": 601}),
    ("matrix A = (1, 2 \\ 3, 4)\nmatrix B = A\nscalar s = B[2,1] + A[1,2]", {"scalar s": 5}),
    ("matrix A = (1, 2)\nmatrix drop A\nscalar s = A[1,1]", {"error": 111}),
    ("local l a b\nlocal p : list posof \"b\" in l\ndisplay `p'", {"log": "2"}),
    ("local l b  a b\nlocal s : list sort l\nlocal c : list clean l\ndisplay \"`s'|`c'\"", {
        "log": "a b b|b a b"}),
    ("local l a b\nlocal m b a\nlocal e : list l == m\nlocal f : list l === m\ndisplay `e' `f'",
     {"log": "01"}),
    ("local l a b\nlocal m b c\nlocal u : list l | m\nlocal i : list l & m\ndisplay \"`u'|`i'\"",
     {"log": "a b c|b"}),
    ("local l a b a\nlocal d : list dups l\nlocal n : list sizeof l\nlocal r : list retokenize l\n"
     "display \"`d'|`n'|`r'\"", {"log": "a|3|a b a"}),
    ("local l abc\nlocal n : length local l\nlocal s : subinstr local l \"b\" \"x\", all\n"
     "display \"`n' `s'\"", {"log": "3 axc"}),
    ("label define l 1 \"one\"\nlabel values id l\nlocal v : value label id\n"
     "local t : label (id) 1\n"
     "local k : type x\nlocal f : format x\ndisplay \"`v' `t' `k' `f'\"", {
         "log": "l one double %10.0g"}),
    ("local w : word 2 of a b\nlocal l : variable label x\ndisplay \"`w'|`l'\"", {"log": "b|"}),
)  # fmt: skip

OTHERS = [*TEXTS, *LABELS, *FILES, *PROGRAMS]
