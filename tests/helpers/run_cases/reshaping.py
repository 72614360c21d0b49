"""Cases of the runner: groups as data, two data sets, wide and long, more and fewer rows."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import stats

from tests.helpers.run_cases.cases import cases, gaps

DOT = "."
X, W = pl.col("x"), pl.col("w").filter(pl.col("x").is_not_null())
KNOWN = X.drop_nulls()


def weighted_quantile(values, weights, share):
    """Percentile with weights: the first value whose share of weights exceeds, or a mean of two."""
    order = np.argsort(values, kind="stable")
    repeated = np.repeat(np.asarray(values)[order], np.asarray(weights)[order])
    place = len(repeated) * share
    if place == int(place):
        return float(repeated[int(place) - 1 : int(place) + 1].mean())
    return float(repeated[int(np.ceil(place)) - 1])


def grouped(frame, expression):
    """A statistic of each g, in polars."""
    return frame.group_by("g").agg(e=expression).sort("g")["e"].to_list()


def by_hand(frame, work):
    """A function of the known x and their w, for each g in turn."""
    parts = frame.drop_nulls("x").sort("g", maintain_order=True).partition_by(
        "g", maintain_order=True)  # fmt: skip
    return [float(work(part["x"].to_numpy(), part["w"].to_numpy())) for part in parts]


def deviation(x, w, number):
    """Standard deviation with weights that add up to a number of cases."""
    mean = (w * x).sum() / w.sum()
    return ((w * (x - mean) ** 2).sum() * number / w.sum() / (number - 1)) ** 0.5


PLAIN = {
    "mean": X.mean(), "median": X.median(), "sd": X.std(), "sum": X.sum(), "rawsum": X.sum(),
    "count": X.count(), "max": X.max(), "min": X.min(), "first": X.first(), "last": X.last(),
    "firstnm": KNOWN.first(), "lastnm": KNOWN.last(), "semean": X.std() / X.count().sqrt(),
}  # fmt: skip
WEIGHTED = {
    ("mean", "aw"): lambda x, w: np.average(x, weights=w),
    ("mean", "fw"): lambda x, w: np.repeat(x, w).mean(),
    ("mean", "pw"): lambda x, w: np.average(x, weights=w),
    ("mean", "iw"): lambda x, w: np.average(x, weights=w),
    ("sd", "aw"): lambda x, w: deviation(x, w, len(x)),
    ("sd", "fw"): lambda x, w: np.repeat(x, w).std(ddof=1),
    ("sd", "iw"): lambda x, w: deviation(x, w, w.sum()),
    ("semean", "fw"): lambda x, w: stats.sem(np.repeat(x, w)),
    ("semean", "aw"): lambda x, w: deviation(x, w, len(x)) / len(x) ** 0.5,
    ("sum", "aw"): lambda x, w: (w * x).sum() * len(x) / w.sum(),
    ("sum", "fw"): lambda x, w: (w * x).sum(), ("sum", "pw"): lambda x, w: (w * x).sum(),
    ("sum", "iw"): lambda x, w: (w * x).sum(), ("rawsum", "fw"): lambda x, w: x.sum(),
    ("count", "aw"): lambda x, w: len(x), ("count", "fw"): lambda x, w: w.sum(),
    ("count", "iw"): lambda x, w: w.sum(), ("count", "pw"): lambda x, w: w.sum(),
    ("median", "fw"): lambda x, w: weighted_quantile(x, w, 0.5),
    ("p10", "aw"): lambda x, w: weighted_quantile(x, w, 0.1),
    ("p90", "pw"): lambda x, w: weighted_quantile(x, w, 0.9),
    ("iqr", "fw"): lambda x, w: weighted_quantile(x, w, 0.75) - weighted_quantile(x, w, 0.25),
    ("max", "aw"): lambda x, w: x.max(), ("min", "fw"): lambda x, w: x.min(),
}  # fmt: skip

COLLAPSED = [
    *(
        case
        for name, expression in PLAIN.items()
        for case in cases(
            "people",
            (f"collapse ({name}) x, by(g)",
             lambda f, e=expression: {"g": [1, 2, 3], "x": gaps(grouped(f, e)), "sorted": ["g"]}),
        )
    ),
    *(
        case
        for (name, weight), work in WEIGHTED.items()
        for case in cases(
            "people",
            (f"collapse ({name}) m=x [{weight}=w], by(g)",
             lambda f, work=work: {"m": by_hand(f, work), "names": ["g", "m"]}),
        )
    ),
    *cases(
        "people",
        ("collapse x y", lambda f: {"x": [f["x"].mean()], "y": [f["y"].mean()], "rows": 1}),
        ("collapse (mean) x (max) top=y z (count) n=x if h == 1, by(g) fast", lambda f: {
            "names": ["g", "x", "top", "z", "n"],
            "top": grouped(f.filter(h=1), pl.col("y").max()),
            "z": grouped(f.filter(h=1), pl.col("z").max()),
            "n": grouped(f.filter(h=1), X.count())}),
        ("collapse (mean) x y, by(g) cw", lambda f: {
            "y": grouped(f.drop_nulls("x"), pl.col("y").mean())}),
        ("collapse (percent) x, by(g)", lambda f: {
            "x": [100 * n / f["x"].count() for n in grouped(f, X.count())]}),
        ("collapse (percent) x [fw=w], by(g)", lambda f: {
            "x": [100 * n / f.select(W.sum()).item() for n in grouped(f, W.sum())]}),
        ("collapse (p25) a=x (p75) b=x", lambda f: {
            "a": [weighted_quantile(f["x"].drop_nulls(), np.ones(f["x"].count(), int), 0.25)],
            "b": [weighted_quantile(f["x"].drop_nulls(), np.ones(f["x"].count(), int), 0.75)]}),
        ("collapse (sebinomial) h, by(g)", lambda f: {
            "h": grouped(f, (pl.col("h").mean() * (1 - pl.col("h").mean()) / pl.len()).sqrt())}),
        ("collapse (sepoisson) w, by(g)", lambda f: {
            "w": grouped(f, (pl.col("w").mean() / pl.len()).sqrt())}),
        ("collapse (count) s (first) t=s, by(g h)", lambda f: {
            "s": f.group_by("g", "h").len().sort("g", "h")["len"].to_list(),
            "t": f.group_by("g", "h").agg(pl.col("s").first()).sort("g", "h")["s"].to_list()}),
        ("collapse (sd) x [pw=w]", {"error": 135}),
        ("collapse (semean) x [iw=w]", {"error": 135}),
        ("collapse (mean) s", {"error": 109}),
        ("collapse (bogus) x", {"unsupported": "collapse with (bogus)"}),
        ("contract g h", lambda f: {
            "_freq": f.group_by("g", "h").len().sort("g", "h")["len"].to_list()}),
        ("contract g [fw=w], freq(n) cfreq(c) percent(p) cpercent(q) format(%9.3f)", lambda f: {
            "n": grouped(f, pl.col("w").sum()), "c": np.cumsum(grouped(f, pl.col("w").sum())),
            "p": [float(np.float32(100 * n / f["w"].sum())) for n in grouped(f, pl.col("w").sum())],
            "q": [float(np.float32(100 * n / f["w"].sum()))
                  for n in np.cumsum(grouped(f, pl.col("w").sum()))],
            "format p": "%9.3f", "names": ["g", "n", "c", "p", "q"]}),
    ),
    *cases(
        "small",
        ("contract g", {"g": [1, 2, DOT], "_freq": [2, 1, 1]}),
        ("contract g, nomiss", {"g": [1, 2], "_freq": [2, 1]}),
        ("contract g id, zero nomiss", {"_freq": [0, 1, 1, 1, 0, 0], "id": [1, 2, 3, 1, 2, 3]}),
    ),
]  # fmt: skip

#: A second data set `b`, and the first one `a` in memory.
TWO = """
preserve
clear
input id float y x
1 10 .
1 11 5
3 30 9
9 90 90
end
label define yl 30 "thirty"
label values y yl
save b
clear
input id y x
1 100 .
3 300 8
5 500 50
9 900 90
end
save c
restore
"""
COMBINED = cases(
    "small",
    (TWO + "drop s g\nkeep if _n < 4\nmerge 1:m id using b, keepusing(y) noreport", {
        "lacks": ("Result",),
        "id": [1, 1, 2, 3, 9], "y": [10, 11, DOT, 30, 90], "x": [DOT, DOT, 1.5, 7, DOT],
        "_merge": [3, 3, 1, 3, 2], "values y": "yl", "labels yl": {30.0: "thirty"}}),
    (TWO + "keep if _n < 4\nmerge 1:m id using b, nolabel nonotes sorted noreport",
     {"labels yl": None}),
    (TWO + "merge m:1 id using c, keep(master match) generate(m)", {
        "id": [1, 1, 2, 3], "y": [100, 100, DOT, 300], "m": [3, 3, 1, 3], "x": [DOT, 3, 1.5, 7]}),
    (TWO + "merge m:1 id using c, keep(3) nogenerate", {
        "id": [1, 1, 3], "names": ["id", "g", "x", "s", "y"]}),
    (TWO + "merge m:1 id using c, keep(using)", {"id": [5, 9], "_merge": [2, 2]}),
    (TWO + "merge m:1 id using c, assert(match)", {"error": 9}),
    (TWO + "merge m:1 id using c, assert(match master using)", {"rows": 6}),
    (TWO + "replace x = . if id == 3\nmerge m:1 id using c, update", {
        "x": [DOT, 3, 1.5, 8, 50, 90], "_merge": [3, 3, 1, 4, 2, 2]}),
    (TWO + "merge m:1 id using c, update", {"x": [DOT, 3, 1.5, 7, 50, 90],
                                            "_merge": [3, 3, 1, 5, 2, 2]}),
    (TWO + "merge m:1 id using c, update replace keep(match)", {"x": [DOT, 3]}),
    (TWO + "merge m:1 id using c, update replace keep(match match_conflict)", {"x": [DOT, 3, 8]}),
    (TWO + "merge m:1 id using c, replace", {"error": 198}),
    (TWO + "merge 1:1 id using c", {"error": 459}),
    (TWO + "merge 1:1 _n using c, keepusing(y)", {"y": [100, 300, 500, 900], "id": [2, 1, 3, 1]}),
    (TWO + "rename s y\nmerge m:1 id using c", {"error": 106}),
    (TWO + "rename s y\nmerge m:1 id using c, force", {"y": ["a", "Ünï", "b", "", "", ""]}),
    (TWO + "merge m:m id using c", {"unsupported": "merge other than"}),
    (TWO + "append using b c, generate(from) keep(id y)", {
        "x": [1.5, DOT, 7, 3] + [DOT] * 8,
        "id": [2, 1, 3, 1, 1, 1, 3, 9, 1, 3, 5, 9],
        "from": [0] * 4 + [1] * 4 + [2] * 4, "labels yl": {30.0: "thirty"}}),
    (TWO + "append using b, nolabel nonotes", {"y": [DOT] * 4 + [10, 11, 30, 90],
                                               "labels yl": None}),
    (TWO + "rename s y\nappend using b", {"error": 106}),
    (TWO + "rename s y\nappend using b, force", {"y": ["b", "a", "", "Ünï", "", "", "", ""]}),
    (TWO + "drop x\njoinby id using b", {"id": [1, 1, 1, 1, 3], "y": [10, 11, 10, 11, 30]}),
    (TWO + "joinby id using b, unmatched(both) _merge(m) nolabel",
     {"id": [1, 1, 1, 1, 2, 3, 9], "m": [3, 3, 3, 3, 1, 3, 2], "labels yl": None}),
    (TWO + "joinby id using b, unmatched(master)", {"_merge": [3, 3, 3, 3, 1, 3]}),
    (TWO + "joinby id using b, unmatched(using)", {"_merge": [3, 3, 3, 3, 3, 2]}),
    (TWO + "keep id\nkeep in 1/2\nrename id k\ncross using c", {
        "k": [2, 2, 2, 2, 1, 1, 1, 1], "y": [100, 300, 500, 900] * 2}),
)  # fmt: skip

ROWS = [
    *cases(
        "small",
        ("expand id", {"id": [2, 1, 3, 1, 2, 3, 3]}),
        ("expand =id if g == 1, generate(k)", {"id": [2, 1, 3, 1, 2, 3, 3],
                                               "k": [0, 0, 0, 0, 1, 1, 1]}),
        ("expand x", {"rows": 12}),
        ("fillin id g", {"rows": 9, "id": [1, 1, 1, 2, 2, 2, 3, 3, 3],
                         "_fillin": [1, 0, 0, 0, 1, 1, 0, 1, 1]}),
        ("duplicates drop id, force", {"id": [2, 1, 3], "g": [1, 2, 1]}),
        ("duplicates drop id", {"error": 198}),
        ("expand 2\nduplicates drop", {"rows": 4}),
        ("duplicates tag id, generate(k)", {"k": [0, 1, 0, 1], "type k": "byte"}),
        ("duplicates report id", {"r(unique_value)": 3, "r(N)": 4}),
        ("duplicates list id, clean", {"log": "(withheld)"}),
        ("drop s\nreshape wide x, i(id) j(g)", {"error": 498}),
        ("drop if missing(g)\ndrop s\nreshape wide x, i(id) j(g)", {
            "names": ["id", "x1", "x2"], "x1": [DOT, 1.5, 7], "x2": [DOT, DOT, DOT],
            "label x1": "1 x"}),
        ("drop g\nreshape wide x, i(id) j(s) string", {"error": 498}),
        ("drop g\nreplace s = \"c\" if s == \"\"\nreplace s = \"d\" in 4\n"
         "reshape wide x, i(id) j(s) string",
         {"names": ["id", "xa", "xb", "xc", "xd"], "xb": [DOT, 1.5, DOT], "xd": [3, DOT, DOT]}),
        ("clear\ninput id x1 x2 y2\n1 5 6 7\n2 8 . 9\nend\nreshape long x y, i(id) j(t)", {
            "id": [1, 1, 2, 2], "t": [1, 2, 1, 2], "x": [5, 6, 8, DOT], "y": [DOT, 7, DOT, 9],
            "sorted": ["id", "t"], "type t": "byte"}),
        ("clear\ninput id inca incb\n1 5 6\nend\nreshape long inc, i(id) j(k) string",
         {"k": ["a", "b"], "inc": [5, 6]}),
        ("clear\ninput id in1x in2x\n1 5 6\nend\nreshape long in@x, i(id) j(k)",
         {"k": [1, 2], "inx": [5, 6]}),
        ("clear\ninput id x1 x2\n1 5 6\n2 7 8\nend\nreshape long x, i(id) j(t)\nreshape wide", {
            "names": ["id", "x1", "x2"], "x2": [6, 8]}),
        ("clear\ninput id x1\n1 5\n1 6\nend\nreshape long x, i(id) j(t)", {"error": 9}),
    ),
    *cases(
        "waves",
        ("xtset pid year", {"panel": ["pid", "year"], "sorted": ["pid", "year"]}),
        ("xtset pid year, yearly delta(1) noquery", {"format year": "%ty"}),
        ("tsset pid year, format(%9.0f)", {"format year": "%9.0f", "panel": ["pid", "year"]}),
        ("xtset pid\nxtset, clear", {"panel": ["", ""]}),
        *((f"tsset pid year, {word}", {"format year": f"%t{word[0]}"})
          for word in ("daily", "weekly", "monthly", "quarterly", "halfyearly")),
        *((f"xtset pid year, {word}", {"format year": f"%t{word[0]}"})
          for word in ("daily", "weekly", "monthly", "quarterly", "halfyearly")),
        ("tsset pid year, yearly delta(1) noquery", {"format year": "%ty"}),
        ("tsset pid year\ntsset, clear", {"panel": ["", ""]}),
        ("xtset pid year, format(%ty)", {"format year": "%ty"}),
        ("tsset pid year, delta(2)", {"unsupported": "delta()"}),
        ("xtset pid year, delta(2)", {"unsupported": "delta()"}),
        ("tsset year", {"error": 451}),
        ("xtset pid year\ngenerate double v = L.u\ngenerate double d = D.u\n"
         "generate double f = F.u\ngenerate double s = S2.u\ngenerate double l2 = L2.u", lambda f: {
             "v": lagged(f, 1), "f": lagged(f, -1), "l2": lagged(f, 2),
             "d": less(f, 1), "s": less(f, 2)}),
        ("xtset pid year\ntsfill", lambda f: {"rows": f.group_by("pid").agg(
            pl.col("year").max() - pl.col("year").min() + 1)["year"].sum()}),
        ("xtset pid year\ntsfill, full", {"rows": 240, "year": [2010, 2011, 2012, 2013] * 60}),
        ("xtset pid year\nreplace year = . in 1\nxtset pid year\ntsfill, full", {"rows": 241}),
        ("bsample 20", {"rows": 20}),
        ("bsample, cluster(pid)\ncontract pid year\nbysort pid: egen m = sd(_freq)\n"
         "summarize m", {"r(max)": 0}),
        ("bsample 1, strata(year)\nsort year", {"year": [2010, 2011, 2012, 2013]}),
        ("sample 10", lambda f: {"rows": int(f.height * 0.1 + 0.5)}),
        ("sample 7, count", {"rows": 7}),
        ("sample 2, count by(year)\nsort year", {
            "year": [y for y in range(2010, 2014) for _ in "ab"]}),
    ),
]  # fmt: skip


def lagged(frame, steps):
    """u of the same person so many years before, by a join."""
    other = frame.select("pid", pl.col("year") + steps, v="u")
    return gaps(frame.join(other, on=["pid", "year"], how="left", maintain_order="left")["v"])


def less(frame, steps):
    """u less u of so many years before."""
    return [
        DOT if v == DOT else u - v for u, v in zip(frame["u"], lagged(frame, steps), strict=True)
    ]


RESHAPING = [*COLLAPSED, *COMBINED, *ROWS]
