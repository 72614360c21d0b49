"""`collapse`, `contract`, `reshape` and commands that add or drop rows, against polars."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from tests.helpers.run_data import Run

DATA = {"g": [2, 1, 1, 2], "x": [4.0, None, 7.0, 1.0], "w": [3, 1, 2, 1], "s": ["b", "a", "", "d"]}


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(5)
    values = [None if at % 13 == 0 else v for at, v in enumerate(rng.normal(10, 4, 300).tolist())]
    return pl.DataFrame({"g": rng.integers(0, 7, 300), "x": values})


STATISTICS = {
    "mean": pl.col("x").mean(),
    "sum": pl.col("x").sum(),
    "sd": pl.col("x").std(),
    "median": pl.col("x").median(),
    "min": pl.col("x").min(),
    "max": pl.col("x").max(),
    "count": pl.col("x").count(),
    "first": pl.col("x").first(),
    "last": pl.col("x").last(),
    "firstnm": pl.col("x").drop_nulls().first(),
    "lastnm": pl.col("x").drop_nulls().last(),
    "semean": pl.col("x").std() / pl.col("x").count().sqrt(),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_collapse_agrees_with_polars(large, name):
    expected = large.group_by("g").agg(STATISTICS[name].alias("e")).sort("g")
    run = Run(f"collapse ({name}) e=x, by(g)", large)
    assert run["g"] == expected["g"].to_list()
    found = [None if one == "." else one for one in run["e"]]
    wanted = expected["e"].to_list()
    assert [one is None for one in found] == [one is None for one in wanted]
    assert [one or 0 for one in found] == pytest.approx([one or 0 for one in wanted], rel=1e-12)
    assert run.session.data.sorted_by == ("g",)
    assert "review" in run.verdicts


def test_percentiles_take_the_mean_of_neighbours():
    data = {"x": [1.0, 2.0, 3.0, 4.0]}
    run = Run("collapse (p25) a=x (p50) b=x (p75) c=x (p30) d=x (iqr) e=x", data)
    assert [run[name][0] for name in "abcde"] == [1.5, 2.5, 3.5, 2, 2]


def test_collapse_means_several_and_weights():
    run = Run("collapse x (sum) total=x n=w (count) x2=x, by(g)", DATA)
    assert run["x"] == [7, 2.5]
    assert run["total"] == [7, 5]
    assert run["x2"] == [1, 2]
    assert run.session.data.variables["x"].label == "(mean) x"
    run = Run("collapse (mean) x (sum) t=x (count) n=x [fweight=w], by(g)", DATA)
    assert run["x"] == [7, 13 / 4]
    assert run["t"] == [14, 13]
    assert run["n"] == [2, 4]
    run = Run("collapse (mean) x (sum) t=x (count) n=x (sd) d=x [aweight=w], by(g)", DATA)
    assert run["t"] == pytest.approx([7, 13 / 4 * 2])
    assert run["n"] == [1, 2]
    weights = np.array([3, 1]) / 2
    spread = (weights * (np.array([4, 1]) - 3.25) ** 2).sum() ** 0.5
    assert run["d"][1] == pytest.approx(spread)
    frequency = Run("collapse (sd) d=x [fweight=w], by(g)", DATA)["d"]
    assert frequency[1] == pytest.approx(np.std([4, 4, 4, 1], ddof=1))
    assert Run("collapse (percent) p=x, by(g)", DATA)["p"] == pytest.approx([100 / 3, 200 / 3])


def test_collapse_of_nothing_and_of_unknown_statistics():
    assert Run("collapse (mean) x if w == 1, by(g)", DATA)["x"] == [".", 1]
    assert Run("collapse (sum) x (min) w, cw by(g)", DATA)["w"] == [2, 1]
    for text in ("collapse x if w > 9", "collapse s", "collapse (mean) x (sum) x",
                 "collapse (mean) g, by(g)"):  # fmt: skip
        with pytest.raises(DoError):
            Run(text, DATA)
    with pytest.raises(UnsupportedError, match="gini"):
        Run("collapse (gini) x", DATA)


def test_contract_counts_combinations(large):
    expected = large.group_by("g").len().sort("g")
    run = Run("contract g, freq(n) cfreq(c) percent(p)", large)
    assert run["n"] == expected["len"].to_list()
    assert run["c"][-1] == 300
    assert sum(run["p"]) == pytest.approx(100, rel=1e-6)
    run = Run("contract g w, zero", DATA)
    assert (run["g"], run["w"]) == ([1, 1, 1, 2, 2, 2], [1, 2, 3, 1, 2, 3])
    assert run["_freq"] == [1, 1, 0, 1, 0, 1]
    assert Run("contract x, nomiss", DATA)["x"] == [1, 4, 7]


WIDE = {"id": [2, 1], "inc1990": [10, 20], "inc1991": [11, None], "sex": ["m", "f"]}


def test_reshape_long_and_back():
    run = Run("reshape long inc, i(id) j(year)", WIDE)
    assert run.names == ["id", "year", "inc", "sex"]
    assert run["id"] == [1, 1, 2, 2]
    assert run["year"] == [1990, 1991, 1990, 1991]
    assert run["inc"] == [20, ".", 10, 11]
    assert run["sex"] == ["f", "f", "m", "m"]
    run.more("reshape wide inc, i(id) j(year)")
    assert run.names == ["id", "inc1990", "inc1991", "sex"]
    assert run["inc1991"] == [".", 11]


def test_reshape_goes_back_without_being_told_how():
    run = Run("reshape long inc, i(id) j(year)\nreshape wide", WIDE)
    assert run.names == ["id", "inc1990", "inc1991", "sex"]
    run.more("reshape long")
    assert run["inc"] == [20, ".", 10, 11]
    with pytest.raises(UnsupportedError):
        Run("reshape wide", WIDE)


def test_values_between_known_ones():
    data = {"g": [1] * 5 + [2] * 2, "t": [1, 2, 3, 5, 7, 1, 2],
            "y": [None, 2.0, None, 8.0, None, 4.0, None]}  # fmt: skip
    run = Run("ipolate y t, generate(a) by(g)\nbysort g: ipolate y t, generate(b) epolate", data)
    assert run["a"] == [".", 2, 4, 8, ".", 4, "."]
    assert run["b"] == [0, 2, 4, 8, 12, 4, "."]


def test_reshape_agrees_with_polars():
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"id": np.arange(40)} | {f"v{t}": rng.normal(size=40) for t in range(5)})
    run = Run("reshape long v, i(id) j(t)", frame)
    expected = frame.unpivot(index="id").sort("id", "variable")
    assert run["v"] == expected["value"].to_list()


def test_reshape_with_texts_several_stubs_and_at():
    data = {"id": [1, 2], "x_a": [1, 2], "x_b": [3, 4], "ya": ["p", "q"]}
    run = Run("reshape long x_ y, i(id) j(k) string", data)
    assert run["k"] == ["a", "b", "a", "b"]
    assert run["y"] == ["p", "", "q", ""]
    run.more("reshape wide x_ y, i(id) j(k) string")
    assert run["x_b"] == [3, 4]
    data = {"id": [1], "h90inc": [5], "h91inc": [6]}
    assert Run("reshape long h@inc, i(id) j(t)", data)["hinc"] == [5, 6]


def test_reshape_refuses_what_is_ambiguous_without_quoting_data():
    with pytest.raises(DoError, match=r"r\(9\)"):
        Run("reshape long inc, i(sex2) j(y)", {"sex2": [1, 1], "inc1": [1, 2]})
    long = {"id": [1, 1], "t": [1, 1], "v": [1, 2]}
    with pytest.raises(DoError, match="not unique"):
        Run("reshape wide v, i(id) j(t)", long)
    with pytest.raises(DoError, match="not constant"):
        Run("reshape wide v, i(id) j(t)", {"id": [1, 1], "t": [1, 2], "v": [1, 2], "z": [1, 2]})
    with pytest.raises(DoError) as caught:
        Run("reshape wide v, i(id) j(t) string", {"id": [1], "t": ["Miller & Co"], "v": [1]})
    assert "Miller" not in str(caught.value)
    names = {"id": [1, 2], "t": ["Miller", "Jones"], "v": [1, 2]}
    assert "review" in Run("reshape wide v, i(id) j(t) string", names).verdicts


def test_duplicates():
    data = {"a": [1] * 6 + [2, 3, 3, 4], "b": [*list(range(6)), 1, 2, 2, 3]}
    run = Run("duplicates tag a, generate(n)\nduplicates drop", data)
    assert run["n"] == [5] * 6 + [0, 1, 0]
    assert Run("duplicates drop a, force", data)["b"] == [0, 1, 2, 3]
    with pytest.raises(DoError, match="force"):
        Run("duplicates drop a", data)
    run = Run("duplicates report a", data)
    assert [line.split()[-2:] for line in run.log[2:]] == [["6", "5"], [".", "."]]
    assert "(other)" in run.log[-1]
    run = Run("duplicates list", data)
    assert run.log == ["(withheld)"]


def test_copies_come_last_and_make_no_cases():
    run = Run("expand w, generate(new)", DATA)
    assert run["g"] == [2, 1, 1, 2, 2, 2, 1]
    assert run["new"] == [0, 0, 0, 0, 1, 1, 1]
    two = Run("expand 50\nsummarize x", {"x": [1.5, 2.5]})
    assert two.log == ["(. observations created)", "(withheld)"]
    run = Run("expand 2 if g == 1", DATA, entity="w")
    assert [float(one) for one in run.session.data.hidden["entity"].values] == [3, 1, 2, 1, 1, 2]
    assert "review" not in run.verdicts


def test_fillin_makes_all_combinations():
    run = Run("fillin g s", {"g": [1, 2], "s": ["a", "b"], "x": [5, 6]})
    assert (run["g"], run["s"]) == ([1, 1, 2, 2], ["a", "b", "a", "b"])
    assert run["x"] == [5, ".", ".", 6]
    assert run["_fillin"] == [0, 1, 1, 0]


def test_samples_are_of_the_size_asked_for_and_repeatable():
    frame = pl.DataFrame({"g": [1] * 60 + [2] * 40, "n": range(100)})
    one = Run("set seed 5\nsample 20, by(g)", frame)
    assert sorted(one["g"]) == [1] * 12 + [2] * 8
    assert one["n"] == Run("set seed 5\nsample 20, by(g)", frame)["n"]
    assert one["n"] != Run("set seed 6\nsample 20, by(g)", frame)["n"]
    assert len(Run("sample 7, count", frame)["n"]) == 7
    assert len(Run("sample 3 if g == 2, count", frame)["n"]) == 63
    drawn = Run("bsample", frame)["n"]
    assert len(drawn) == 100 > len(set(drawn))
    groups = Run("bsample 1, cluster(g)", frame)["g"]
    assert len(set(groups)) == 1
    with pytest.raises(DoError):
        Run("sample 101", frame)


PANEL = {"i": [1, 2, 1, 2], "t": [2003, 2001, 2000, 2002], "x": [4.0, 1.0, 2.0, 8.0]}


def test_panels_lag_over_gaps_and_are_filled():
    run = Run("xtset i t\ngenerate l = L.x\ngenerate d = D.x\ngenerate f = F.x", PANEL)
    assert run["i"] == [1, 1, 2, 2]
    assert run["l"] == [".", ".", ".", 1]
    assert run["d"] == [".", ".", ".", 7]
    assert run["f"] == [".", ".", 8, "."]
    assert "2000" not in run.text  # first and last years are values of the data
    run = Run("tsset i t\ntsfill", PANEL)
    assert run["t"] == [2000, 2001, 2002, 2003, 2001, 2002]
    assert run["x"] == [2, ".", ".", 4, 1, 8]
    assert len(Run("tsset i t\ntsfill, full", PANEL)["t"]) == 8
    assert Run("tsset t\ngenerate l = L.x", PANEL)["l"] == [".", 2, 1, 8]
    with pytest.raises(DoError, match=r"r\(451\)"):
        Run("tsset i", PANEL)
    with pytest.raises(DoError, match=r"r\(109\)"):
        Run("xtset s", DATA)
    with pytest.raises(DoError, match="not set"):
        Run("generate l = L.x", PANEL)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("collapse (mean) n=t", "n"),
        ("collapse (first) n=t, by(g)", "n"),
        ("recode t (1=2), generate(n)", "n"),
        ("clonevar n = t", "n"),
        ("tostring t, generate(n) force", "n"),
        ("rename t n", "n"),
        ("egen n = rowtotal(t w)", "n"),
        ("egen n = group(t)", "n"),
        ("egen n = max(t)", "n"),
        ("xtile n = t", "n"),
        ("duplicates tag t, generate(n)", "n"),
        ("separate t, by(g)", "t1"),
        ("ipolate t w, generate(n)", "n"),
        ("rename t t1\nreshape long t, i(k) j(n)", "t"),
        ("save f, replace\nrename t n\nuse f, clear", "t"),
        ("preserve\nrename t n\nrestore", "t"),
    ],
)
def test_what_rests_on_single_values_is_followed(text, name):
    run = Run(f"quietly generate k = _n\nquietly generate t = `=x[3]'\n{text}", DATA)
    assert name in run.names
    assert name in run.session.trace.variables


def test_whom_rows_are_about_goes_with_them():
    data = {"pid": [7, 7, 8, 9], "t": [1, 2, 1, 1], "x": [1, 2, 3, 4]}
    for text, expected in (
        ("gsort -x", [9, 8, 7, 7]),
        ("expand 2 in 4", [7, 7, 8, 9, 9]),
        ("replace pid = _n", [7, 7, 8, 9]),
        ("drop pid\nkeep if x > 2", [8, 9]),
        ("reshape wide x, i(pid) j(t)", [7, 8, 9]),
        ("drop t\nreshape long x@, i(pid) j(k)", None),
    ):
        run = Run("", data, entity="pid")
        if expected is None:
            with pytest.raises(DoError):
                run.more(text)
            continue
        run.more(text)
        hidden = run.session.data.hidden["entity"].values
        assert [float(one) for one in hidden] == expected, text
