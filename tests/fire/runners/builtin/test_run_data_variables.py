"""Commands that make, change, keep, name and label variables, by hand and against polars."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from tests.helpers.run_data import Run

DATA = {"id": [2, 1, 3, 1], "x": [5.0, None, 7.0, 1.0], "s": ["b", "", "a", "c"]}


def test_missing_values_are_larger_than_all_numbers():
    assert Run("generate y = x > 5", DATA)["y"] == [0, 1, 1, 0]
    assert Run("drop if x > 5", DATA)["id"] == [2, 1]
    assert Run("keep if x < .", DATA)["id"] == [2, 3, 1]
    assert Run("sort x", DATA)["x"] == [1, 5, 7, "."]
    assert Run("replace x = .b if x == .\ngenerate y = x > .a", DATA)["y"] == [0, 1, 0, 0]


def test_types_of_new_variables():
    run = Run("generate y = .1\ngenerate byte b = 300\ngenerate int i = 2.9\n"
              "generate double d = .1\ngenerate same = y == .1\ngenerate str2 t = \"abc\"",
              DATA)  # fmt: skip
    assert run["y"][0] == float(np.float32(0.1))
    assert run["b"] == ["."] * 4
    assert run["i"] == [2] * 4
    assert run["same"] == [0] * 4  # a float is not .1
    assert run["t"][0] == "ab"
    run = Run("set type double\ngenerate y = .1\ngenerate u = s", DATA)
    assert run.kind("y") == "double"
    assert run.kind("u") == "str1"


def test_replace_promotes_as_needed():
    run = Run("generate byte b = 1\nreplace b = 1000 in 1\nreplace b = .5 in 2", DATA)
    assert run.kind("b") == "float"
    run = Run("generate byte b = 1\nreplace b = 1000, nopromote", DATA)
    assert run["b"] == ["."] * 4


def test_by_needs_sorted_data():
    with pytest.raises(DoError, match=r"not sorted; r\(5\)"):
        Run("by id: generate n = _n", DATA)
    run = Run("bysort id (x): generate n = _n\nby id: generate first = x[1]\n"
              "by id: drop if _n < _N", DATA)  # fmt: skip
    assert run["id"] == [1, 2, 3]
    assert run["n"] == [2, 1, 1]
    assert run["first"] == [1, 5, 7]


def test_keep_and_drop_variables_and_ranges():
    assert Run("keep i* s", DATA).names == ["id", "s"]
    assert Run("drop id-x", DATA).names == ["s"]
    assert Run("drop in 2/l", DATA)["id"] == [2]
    assert Run("keep in -1", DATA)["id"] == [1]
    assert Run("drop _all", DATA).session.data.rows == 0
    for text in ("drop", "keep x if id", "drop in 5", "keep nothing"):
        with pytest.raises(DoError):
            Run(text, DATA)


def test_small_numbers_of_deleted_observations_are_withheld():
    run = Run("drop in 1", DATA)
    assert run.log == ["(. observations deleted)"]
    assert run.verdicts == ["fail"]
    assert Run("drop if id == 99", DATA).log == ["(. observations deleted)"]
    assert Run("drop if id == .", DATA).log == ["(0 observations deleted)"]


def test_sorting_is_stable_and_falls():
    run = Run("generate n = _n\ngsort id -x", DATA)
    assert run["n"] == [4, 2, 1, 3]
    assert Run("gsort -x", DATA)["x"] == [7, 5, 1, "."]
    assert Run("gsort -x, mfirst", DATA)["x"] == [".", 7, 5, 1]
    assert Run("gsort -s", DATA)["s"] == ["c", "b", "a", ""]
    assert Run("generate n = _n\nsort id", DATA)["n"] == [2, 4, 1, 3]


def test_order_of_variables():
    assert Run("order s", DATA).names == ["s", "id", "x"]
    assert Run("order id, last", DATA).names == ["x", "s", "id"]
    assert Run("order s, after(id)", DATA).names == ["id", "s", "x"]
    assert Run("order s id x, alphabetic", DATA).names == ["id", "s", "x"]
    assert Run("generate y = 1, before(x)", DATA).names == ["id", "y", "x", "s"]


def test_rename():
    assert Run("rename x y", DATA).names == ["id", "y", "s"]
    assert Run("rename (id x) (a b)", DATA).names == ["a", "b", "s"]
    assert Run("rename *, upper", DATA).names == ["ID", "X", "S"]
    data = {"x1": [1], "x2": [2], "z": [3]}
    assert Run("rename x* inc*_y", data).names == ["inc1_y", "inc2_y", "z"]
    assert Run("rename (x1 x2) (x2 x1)", data).names == ["x2", "x1", "z"]
    for text in ("rename x1 z", "rename x1 2x", "rename nothing a", "rename x1 if"):
        with pytest.raises(DoError):
            Run(text, data)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("(1=10) (2 3=20)", [10, 20, 20, 4, ".", ".a"]),
        ("(1/2=0) (else=9)", [0, 0, 9, 9, 9, 9]),
        ("(min/2=0) (3/max=1)", [0, 0, 1, 1, ".", ".a"]),
        ("(missing=0) (nonmissing=1)", [1, 1, 1, 1, 0, 0]),
        ("1=5 2/3=6 .=7", [5, 6, 6, 4, 7, ".a"]),
        ("1 = 2 2 = 1", [2, 1, 3, 4, ".", ".a"]),
        ("(4=.b) (.a=0) (*=1)", [1, 1, 1, ".b", 1, 0]),
    ],
)
def test_recode(rules, expected):
    data = {"x": [1, 2, 3, 4, None, None]}
    assert Run(f"quietly replace x = .a in 6\nrecode x {rules}", data)["x"] == expected


def test_recode_into_new_labelled_variables():
    data = {"x": [1, 2, 3], "y": [3, 2, 1]}
    run = Run('recode x y (1=0 "no") (2/3=1 "yes, of course") if x < 3, generate(a b)', data)
    assert run["a"] == [0, 1, "."]
    assert run["b"] == [1, 1, "."]
    assert run["x"] == [1, 2, 3]
    assert run.session.data.value_labels["a"] == {0.0: "no", 1.0: "yes, of course"}
    assert Run("recode x (3=9), prefix(n_)", data)["n_x"] == [1, 2, 9]
    assert Run("recode x (3=9) if x > 1, generate(a) copyrest", data)["a"] == [1, 2, 9]
    with pytest.raises(DoError):
        Run("recode s (1=2)", DATA)
    with pytest.raises(DoError):
        Run("recode x", data)


def test_missing_codes():
    data = {"x": [1, 9, 99, 3]}
    run = Run("mvdecode x, mv(9=.a \\ 99=.)", data)
    assert run["x"] == [1, ".a", ".", 3]
    run.more("mvencode x, mv(.a=8 \\ else=7)")
    assert run["x"] == [1, 8, 7, 3]
    with pytest.raises(DoError, match="override"):
        Run("mvencode x, mv(9)", data)


def test_clones_and_parts():
    run = Run('label variable x "an x"\nclonevar y = x if id < 3\nseparate x, by(id)', DATA)
    assert run["y"] == [5, ".", ".", 1]
    assert run.session.data.variables["y"].label == "an x"
    assert run["x1"] == [".", ".", ".", 1]
    assert run["x3"] == [".", ".", 7, "."]


def test_encode_and_decode():
    run = Run("encode s, generate(n)\ndecode n, generate(t)", DATA)
    assert run["n"] == [2, ".", 1, 3]
    assert run.kind("n") == "long"
    assert run["t"] == DATA["s"]
    run = Run('label define l 5 "c"\nencode s, generate(n) label(l)', DATA)
    assert run["n"] == [7, ".", 6, 5]
    with pytest.raises(DoError, match=r"r\(180\)"):
        Run('label define l 5 "c"\nencode s, generate(n) label(l) noextend', DATA)
    with pytest.raises(DoError, match=r"r\(107\)"):
        Run("encode x, generate(n)", DATA)
    with pytest.raises(DoError, match=r"r\(182\)"):
        Run("decode x, generate(n)", DATA)


def test_labels_made_of_texts_of_the_data_are_not_listed():
    run = Run('label define l 1 "one"\nencode s, generate(n)\nlabel list', DATA)
    assert "1 one" in run.text
    assert "(withheld)" in run.text
    run = Run('encode s, generate(n)\nlocal t : label n 1\ndisplay "`t\'"', DATA)
    assert run.log == ["(withheld)"]


def test_destring_and_tostring():
    data = {"s": ["1", " 2.5", "", "-3e2"], "t": ["1,5", "a", "", "7"], "u": ["5%", "$1", "", "2"]}
    run = Run("destring s, replace", data)
    assert run["s"] == [1, 2.5, ".", -300]
    assert run.kind("s") == "double"
    run = Run("destring t, replace", data)
    assert run["t"] == data["t"]
    assert "nonnumeric" in run.text
    assert Run("destring t, generate(n) force dpcomma", data)["n"] == [1.5, ".", ".", 7]
    assert Run('destring u, replace ignore("$%")', data)["u"] == [5, 1, ".", 2]
    run = Run("generate y = _n * 1000\ntostring y, replace\n"
              "tostring id, generate(i) format(%03.0f)",
              DATA)  # fmt: skip
    assert run["y"] == ["1000", "2000", "3000", "4000"]
    assert run["i"] == ["002", "001", "003", "001"]
    run = Run("generate y = .1\ntostring y, replace", DATA)
    assert "cannot be converted reversibly" in run.text or run.kind("y").startswith("str")


def test_split():
    data = {"s": ["a b", "c", "", "d  e f"], "d": ["1-2", "3", "", "4-5"]}
    run = Run('split s\nsplit d, parse("-") generate(n) destring', data)
    assert run["s1"] == ["a", "c", "", "d"]
    assert run["s3"] == ["", "", "", "f"]
    assert run["n2"] == [2, ".", ".", 5]
    assert "s3" not in Run("split s, limit(2)", data).names


def test_types_are_compressed_and_recast():
    run = Run("generate double a = 7\ngenerate double b = .1\ncompress", DATA)
    assert (run.kind("a"), run.kind("b"), run.kind("id")) == ("byte", "double", "byte")
    run = Run("generate double b = 300.5\nrecast byte b", DATA)
    assert run.kind("b") == "double"
    run = Run("generate double b = 30.5\nrecast byte b, force\nrecast str9 s", DATA)
    assert run["b"] == [30] * 4
    assert run.kind("s") == "str9"


def test_labels_and_formats():
    run = Run('label data "all"\nlabel define yn 1 "yes"\nlabel define yn 0 "no", add\n'
              "label values id yn\nformat x %9.2f\nlabel list yn", DATA)  # fmt: skip
    assert run.session.data.value_labels["yn"] == {1.0: "yes", 0.0: "no"}
    assert run.session.data.variables["x"].format == "%9.2f"
    assert "           1 yes" in run.log
    with pytest.raises(DoError, match=r"r\(110\)"):
        run.more('label define yn 3 "x"')
    with pytest.raises(DoError, match=r"r\(120\)"):
        run.more("format x %9q")
    with pytest.raises(DoError, match=r"r\(181\)"):
        run.more("label values s yn")


def test_labels_are_copied_and_numbered():
    run = Run('label define a 1 "x" 2 "y"\nlabel copy a b\nnumlabel b, add', DATA)
    assert run.session.data.value_labels["b"] == {1.0: "1. x", 2.0: "2. y"}
    run.more("numlabel b, remove\nlabel drop a")
    assert run.session.data.value_labels == {"b": {1.0: "x", 2.0: "y"}}
    with pytest.raises(DoError, match=r"r\(111\)"):
        run.more("label copy a c")
    run = Run("encode s, generate(n)\nlabel copy n m\nlabel list m", DATA)
    assert run.log == ["(withheld)"]


def test_percentile_classes():
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"x": rng.permutation(200).astype(float)})
    run = Run("xtile q = x, nquantiles(4)\npctile p = x, nquantiles(4)\n_pctile x, nquantiles(4)",
              frame)  # fmt: skip
    expected = [float(min(int(one // 50) + 1, 4)) for one in frame["x"]]
    assert run["q"] == expected
    assert run["p"][:4] == [49.5, 99.5, 149.5, "."]
    run.more("display p[1]\ndisplay r(r1)\nxtile c = x if x < 100, cutpoints(p)")
    assert run.log[-2:] == ["(withheld)", "(withheld)"]
    assert "." in run["c"]
    with pytest.raises(UnsupportedError, match="option altdef"):
        run.more("xtile z = x, altdef")
