"""`egen` against polars and against values worked out by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from tests.helpers.run_data import Run

SMALL = {"g": [2, 1, 1, 2, 2], "x": [4.0, None, 7.0, 1.0, 1.0], "s": ["b", "a", "", "b", "c"]}


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(3)
    values = np.round(rng.normal(50, 20, 400))
    return pl.DataFrame(
        {"g": rng.integers(0, 9, 400), "x": [None if at % 11 == 0 else v for at, v in
                                             enumerate(values.tolist())]}
    )  # fmt: skip


EXPRESSIONS = {
    "mean": pl.col("x").mean(),
    "sd": pl.col("x").std(),
    "min": pl.col("x").min(),
    "max": pl.col("x").max(),
    "total": pl.col("x").sum(),
    "sum": pl.col("x").sum(),
    "count": pl.col("x").count(),
    "median": pl.col("x").median(),
    "mdev": (pl.col("x") - pl.col("x").mean()).abs().mean(),
    "mad": (pl.col("x") - pl.col("x").median()).abs().median(),
    "skew": pl.col("x").skew(),
    "kurt": pl.col("x").kurtosis(fisher=False),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_group_statistics_agree_with_polars(large, name):
    expected = large.with_columns(EXPRESSIONS[name].over("g").alias("e"))["e"].to_list()
    run = Run(f"egen double e = {name}(x), by(g)", large)
    assert run["e"] == pytest.approx(expected, rel=1e-12)
    kept = Run(f"bysort g: egen double e = {name}(x)", large.with_row_index("at"))
    assert [kept["e"][int(at)] for at in np.argsort(kept["at"])] == pytest.approx(expected)


def test_defaults_are_float_and_all_missing_groups_give_0_or_missing():
    data = {"g": [1, 1, 2], "x": [0.1, 0.2, None]}
    run = Run("egen m = mean(x), by(g)\negen t = total(x), by(g)\n"
              "egen u = total(x), by(g) missing\negen n = count(x), by(g)", data)  # fmt: skip
    assert run.kind("m") == "float"
    assert run["m"] == [float(np.float32(0.15))] * 2 + ["."]
    assert run["t"][2] == 0
    assert run["u"][2] == "."
    assert run["n"] == [2, 2, 0]


def test_if_leaves_others_out_and_missing():
    run = Run("egen m = max(x) if g == 2", SMALL)
    assert run["m"] == [4, ".", ".", 4, 4]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("rank(x)", [3, ".", 4, 1.5, 1.5]),
        ("rank(x), unique", [3, ".", 4, 1, 2]),
        ("rank(x), track", [3, ".", 4, 1, 1]),
        ("rank(x), field", [2, ".", 1, 3, 3]),
        ("group(g)", [2, 1, 1, 2, 2]),
        ("group(s)", [2, 1, ".", 2, 3]),
        ("group(s), missing", [3, 2, 1, 3, 4]),
        ("group(g x), missing", [4, 2, 1, 3, 3]),
        ("tag(g)", [1, 1, 0, 0, 0]),
        ("seq()", [1, 2, 3, 4, 5]),
        ("seq(), from(2) to(3)", [2, 3, 2, 3, 2]),
        ("seq(), block(2)", [1, 1, 2, 2, 3]),
        ("seq(), from(3) to(1)", [3, 2, 1, 3, 2]),
        ("seq(), by(g)", [1, 1, 2, 2, 3]),
        ("cut(x), at(0 2 7)", [2, ".", ".", 0, 0]),
        ("cut(x), at(0,2,8) icodes", [1, ".", 1, 0, 0]),
        ("cut(x), group(2)", [1, ".", 1, 0, 0]),
        ("mode(x)", [1, 1, 1, 1, 1]),
        ("mode(x), by(g)", [1, 7, 7, 1, 1]),
        ("pctile(x), p(25)", [1, 1, 1, 1, 1]),
        ("pctile(x), p(75)", [5.5, 5.5, 5.5, 5.5, 5.5]),
        ("iqr(x)", [4.5, 4.5, 4.5, 4.5, 4.5]),
        ("pc(x), by(g)", [pytest.approx(400 / 6), ".", 100, pytest.approx(100 / 6),
                          pytest.approx(100 / 6)]),
        ("anyvalue(x), values(1 7)", [".", ".", 7, 1, 1]),
        ("anycount(g x), values(1/2)", [1, 1, 1, 2, 2]),
        ("anymatch(x), values(4)", [1, 0, 0, 0, 0]),
    ],
)  # fmt: skip
def test_functions_of_groups_by_hand(call, expected):
    assert Run(f"egen double e = {call}", SMALL)["e"] == expected


def test_standardised_values():
    run = Run("egen double z = std(x)\negen double y = std(x), mean(10) std(2)", SMALL)
    known = np.array([4.0, 7.0, 1.0, 1.0])
    z = (known - known.mean()) / known.std(ddof=1)
    assert [one for one in run["z"] if one != "."] == pytest.approx(z.tolist())
    assert [one for one in run["y"] if one != "."] == pytest.approx((10 + 2 * z).tolist())


def test_functions_across_variables():
    data = {"a": [1.0, None, 3.0], "b": [5.0, None, None], "c": [3.0, None, 2.0]}
    expected = {
        "rowmean": [3, ".", 2.5],
        "rowtotal": [9, 0, 5],
        "rowmin": [1, ".", 2],
        "rowmax": [5, ".", 3],
        "rowmedian": [3, ".", 2.5],
        "rowfirst": [1, ".", 3],
        "rowlast": [3, ".", 2],
        "rownonmiss": [3, 0, 2],
        "rowmiss": [0, 3, 1],
        "rowsd": [2, ".", pytest.approx(0.5**0.5)],
        "diff": [1, 0, 1],
    }
    for name, values in expected.items():
        assert Run(f"egen double e = {name}(a-c)", data)["e"] == values, name
    assert Run("egen double e = rowtotal(a b), missing", data)["e"] == [6, ".", 3]


def test_concat_joins_numbers_and_texts():
    assert Run('egen c = concat(g s), punct("-")', SMALL)["c"] == ["2-b", "1-a", "1-", "2-b", "2-c"]


def test_labels_of_groups_are_never_listed():
    run = Run('egen e = group(s), label\nlabel list\nlocal l : label (e) 1\ndisplay "`l\'"', SMALL)
    assert run.session.data.value_labels["e"] == {1.0: "a", 2.0: "b", 3.0: "c"}
    assert " a" not in run.text
    assert run.verdicts.count("fail") == 2  # the list and the label


def test_values_that_may_not_be_shown_are_followed_across():
    run = Run("egen d = pctile(x), p(50)\nquietly generate m = x[2]\nlocal k = x[3]\n"
              "quietly generate t = `k'\negen r = rowmean(t g)\ndisplay r", SMALL)  # fmt: skip
    assert {"t", "r"} <= run.session.trace.variables
    assert run.log[-1] == "(withheld)"


def test_what_is_not_known_stops():
    with pytest.raises(UnsupportedError, match=r"egen function nvals\(\)"):
        Run("egen e = nvals(x)", SMALL)
    with pytest.raises(DoError, match="type mismatch"):
        Run("egen e = mean(s)", SMALL)
    with pytest.raises(DoError, match="already defined"):
        Run("egen g = mean(x)", SMALL)
    with pytest.raises(UnsupportedError, match="option window"):
        Run("egen e = mean(x), window(3)", SMALL)
