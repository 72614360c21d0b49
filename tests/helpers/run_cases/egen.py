"""Cases of the runner: `egen`, each function with each of its options."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import stats

from tests.helpers.run_cases.cases import cases, gaps, single

DOT = "."
X = pl.col("x")
OVER = {
    "mean": X.mean(), "sd": X.std(), "min": X.min(), "max": X.max(), "total": X.sum(),
    "sum": X.sum(), "count": X.count(), "median": X.median(),
    "mdev": (X - X.mean()).abs().mean(), "mad": (X - X.median()).abs().median(),
    "skew": X.skew(), "kurt": X.kurtosis(fisher=False), "pc": 100 * X / X.sum(),
    "std": (X - X.mean()) / X.std(),
}  # fmt: skip


def over(name, frame):
    """A statistic of each group, in polars."""
    return gaps(frame.with_columns(OVER[name].over("g").alias("e"))["e"].to_list())


def averaged(values, share):
    """A percentile by the definition of Stata's manual: x of k, or the mean of x of k and k+1."""
    ordered = np.sort(np.array([one for one in values if one is not None]))
    place = len(ordered) * share
    if place == int(place):
        return float(ordered[int(place) - 1 : int(place) + 1].mean())
    return float(ordered[int(np.ceil(place)) - 1])


def ranks(frame, method, *, falling=False):
    """Ranks of x in scipy; missing where x is."""
    known = [one for one in frame["x"] if one is not None]
    given = iter(stats.rankdata([-one for one in known] if falling else known, method=method))
    return [DOT if one is None else next(given) for one in frame["x"]]


GROUPS = [
    *(
        case
        for name in OVER
        for case in cases(
            "people",
            (f"egen double e = {name}(x), by(g)", lambda f, name=name: {"e": over(name, f)}),
            (f"egen e = {name}(x), by(g)", lambda f, name=name: {"e": single(over(name, f))}),
            (f"sort g id\nby g: egen double e = {name}(x)\nsort id",
             lambda f, name=name: {"e": over(name, f)}),
        )
    ),
    *cases(
        "people",
        ("egen double e = pctile(x), p(25)", lambda f: {"e": [averaged(f["x"], 0.25)] * 300}),
        ("egen double e = pctile(x)", lambda f: {"e": [averaged(f["x"], 0.5)] * 300}),
        ("egen double e = iqr(x)",
         lambda f: {"e": [averaged(f["x"], 0.75) - averaged(f["x"], 0.25)] * 300}),
        ("egen double e = rank(x)", lambda f: {"e": ranks(f, "average")}),
        ("egen e = rank(x), track", lambda f: {"e": ranks(f, "min")}),
        ("egen e = rank(x), field", lambda f: {"e": ranks(f, "min", falling=True)}),
        ("egen e = rank(x), unique", lambda f: {"e": ranks(f, "ordinal")}),
        ("egen double e = std(x), mean(100) std(15)", lambda f: {"e": gaps(
            (100 + 15 * (f["x"] - f["x"].mean()) / f["x"].std()).to_list())}),
        ("egen double e = std(x), sd(2)", lambda f: {"e": gaps(
            (2 * (f["x"] - f["x"].mean()) / f["x"].std()).to_list())}),
        ("egen double e = pc(x), prop", lambda f: {"e": gaps((f["x"] / f["x"].sum()).to_list())}),
        ("egen e = group(g h)", lambda f: {
            "e": f.select(pl.struct("g", "h").rank("dense"))["g"].to_list()}),
        ("egen e = tag(g h)\negen double t = total(e)", {"t": [6.0] * 300}),
        ("egen e = mean(x) if h == 1, by(g)", lambda f: {"e": single(f.with_columns(
            pl.when(pl.col("h") == 1).then(X.filter(pl.col("h") == 1).mean().over("g")).alias("e")
        )["e"].to_list())}),
    ),
    *cases(
        "small",
        ("egen e = mode(g)", {"e": [1] * 4}),
        ("egen e = mode(x)", {"e": [DOT] * 4}),
        ("egen e = mode(x), minmode", {"e": [1.5] * 4}),
        ("egen e = mode(x), maxmode", {"e": [7] * 4}),
        ("egen e = group(g)", {"e": [1, 2, 1, DOT], "type e": "float"}),
        ("egen e = group(g), missing", {"e": [1, 2, 1, 3]}),
        ("egen e = group(s)", {"e": [2, 1, DOT, 3]}),
        ("egen e = group(g s), missing label",
         {"e": [2, 3, 1, 4], "values e": "e", "labels e": {
             1.0: "1 ", 2.0: "1 b", 3.0: "2 a", 4.0: ". Ünï"}}),
        ("egen e = tag(g)", {"e": [1, 1, 0, 0], "type e": "byte"}),
        ("egen e = tag(g), missing", {"e": [1, 1, 0, 1]}),
        ("egen e = total(x), missing by(g)", {"e": [8.5, DOT, 8.5, 3]}),
        ("egen e = total(x), by(g)", {"e": [8.5, 0, 8.5, 3]}),
        ("egen e = sum(x), missing by(g)", {"e": [8.5, DOT, 8.5, 3]}),
        ("egen e = count(s)", {"e": [3] * 4}),
        ("egen e = seq()", {"e": [1, 2, 3, 4]}),
        ("egen e = seq(), from(2) to(3) block(2)", {"e": [2, 2, 3, 3]}),
        ("egen e = seq(), from(3) to(2) by(id)", {"e": [3, 3, 3, 2]}),
        ("egen e = cut(x), at(1 2 7 9)", {"e": [1, DOT, 7, 2]}),
        ("egen e = cut(x), at(2 7 9) icodes", {"e": [DOT, DOT, 1, 0]}),
        ("egen e = cut(x), at(1(3)10) label", {
            "e": [0, DOT, 2, 0], "labels e": {0.0: "1-", 1.0: "4-", 2.0: "7-"}}),
        ("egen e = cut(x), group(3)", {"e": [0, DOT, 2, 1]}),
        ("egen e = cut(x), group(3) label\nlabel list e", {"log": "(withheld)"}),
        ("egen e = cut(x)", {"error": 198}),
        ("egen e = cut(x), at(3 1)", {"error": 198}),
    ),
]  # fmt: skip

ROWS = cases(
    "numbers",
    ("egen e = rowmean(a b)", {"e": single([6.5, 0.75, 2, 11, 2.75])}),
    ("egen double e = rowsd(a b k)",
     lambda f: {"e": [float(np.nanstd([np.nan if v is None else v for v in row], ddof=1))
                      for row in zip(*f.values(), strict=True)]}),
    ("egen e = rowmin(a b k)", {"e": [1, 0.5, 2, 2, 0.5]}),
    ("egen e = rowmax(a b)", {"e": [10, 1, 2, 20, 5]}),
    ("egen e = rowtotal(a b)", {"e": [13, 1.5, 2, 22, 5.5]}),
    ("egen e = rowtotal(b)", {"e": [10, 0.5, 0, 20, 0.5]}),
    ("egen e = rowtotal(b), missing", {"e": [10, 0.5, DOT, 20, 0.5]}),
    ("egen e = rowmedian(a b k)", {"e": [3, 1, 2.5, 4, 5]}),
    ("egen e = rowpctile(a b k), p(20)", {"e": [1, 0.5, 2, 2, 0.5]}),
    ("egen e = rowfirst(b a)", {"e": [10, 0.5, 2, 20, 0.5]}),
    ("egen e = rowlast(a b)", {"e": [10, 0.5, 2, 20, 0.5]}),
    ("egen e = rownonmiss(a b)", {"e": [2, 2, 1, 2, 2]}),
    ("egen e = rowmiss(a b)", {"e": [0, 0, 1, 0, 0]}),
    ("egen e = anycount(a k), values(1 2)", {"e": [1, 2, 1, 1, 0], "type e": "byte"}),
    ("egen e = anymatch(a k), values(4/5)", {"e": [0, 0, 0, 1, 1]}),
    ("egen e = anyvalue(a), values(2 3)", {"e": [3, DOT, 2, 2, DOT]}),
    ("egen e = diff(a k)", {"e": [1, 1, 1, 1, 0]}),
    ("egen e = concat(a k)", {"e": ["31", "12", "23", "24", "55"], "type e": "str2"}),
    ("egen e = concat(a b), punct(-)", {"e": ["3-10", "1-.5", "2-.", "2-20", "5-.5"]}),
    ("egen e = concat(a k), p(\" \")", {"e": ["3 1", "1 2", "2 3", "2 4", "5 5"]}),
    ("generate f = .1\negen e = concat(f)", {"e": [".1"] * 5}),
    ("egen e = rowmean(a b) if k > 4", {"e": [DOT, DOT, DOT, DOT, 2.75]}),
) + cases(
    "small",
    ("egen e = rowmiss(x s)", {"e": [0, 1, 1, 0]}),
    ("egen e = rownonmiss(x s), strok", {"e": [2, 1, 1, 2]}),
    ("egen e = rownonmiss(x s)", {"error": 109}),
    ("egen e = concat(s id)", {"e": ["b2", "a1", "3", "Ünï1"]}),
    ("egen e = mean(x), p(5)", {"unsupported": "option p of egen mean()"}),
    ("egen e = rowmean(id g), by(s)", {"error": 190}),
    ("bysort g: egen e = group(s)", {"error": 190}),
    ("egen e = rank(x), field track", {"error": 198}),
    ("egen e = ma(x)", {"unsupported": "egen function ma()"}),
    ("by g: egen e = mean(x)", {"error": 5}),
)  # fmt: skip

EGEN = [*GROUPS, *ROWS]
