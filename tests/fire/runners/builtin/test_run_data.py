"""Commands that change data, by hand and against polars."""

import numpy as np
import polars as pl
import pytest

from discreet_fire.runners.builtin.data import DataSet, dta_bytes, read_data
from discreet_fire.runners.builtin.syntax import DoError, UnsupportedError
from tests.helpers.run_data import Run
from tests.helpers.run_panel import run_do

DATA = {"id": [2, 1, 3, 1], "x": [5.0, None, 7.0, 1.0], "s": ["b", "", "a", "c"]}
PERSONS = {"id": [3, 1, 2, 5], "x": [30, 10, 20, 50]}
FIRMS = {"id": [1, 2, 2, 4], "y": [1.5, 2.5, 3.5, 4.5]}


def two(text, master, using):
    """Run lines with a second data set called `other`."""
    return Run(text, master, files={"other": using})


def test_missing_values_are_larger_than_all_numbers():
    assert Run("generate y = x > 5", DATA)["y"] == [0, 1, 1, 0]
    assert Run("drop if x > 5", DATA)["id"] == [2, 1]
    assert Run("keep if x < .", DATA)["id"] == [2, 3, 1]
    assert Run("sort x", DATA)["x"] == [1, 5, 7, "."]
    assert Run("replace x = .b if x == .\ngenerate y = x > .a", DATA)["y"] == [0, 1, 0, 0]


def test_types_of_variables():
    run = Run("generate y = .1\ngenerate byte b = 300\ngenerate int i = 2.9\n"
              "generate double d = .1\ngenerate same = y == .1\ngenerate str2 t = \"abc\"\n"
              "generate byte c = 1\nreplace c = 1000 if id == 1", DATA)  # fmt: skip
    assert run["y"][0] == float(np.float32(0.1))
    assert run["b"] == ["."] * 4
    assert run["i"] == [2] * 4
    assert run["same"] == [0] * 4  # a float is not .1
    assert run["t"][0] == "ab"
    assert run["c"] == [1, 1000, 1, 1000]
    for text in ('generate byte z = "a"', 'replace x = "a"', "replace s = 1", "generate 1x = 1"):
        with pytest.raises(DoError):
            Run(text, DATA)


def test_by_needs_sorted_data():
    with pytest.raises(DoError, match=r"not sorted; r\(5\)"):
        Run("by id: summarize x", DATA)
    assert Run("bysort id (x): count\nby id: summarize x", DATA)["x"] == [1, ".", 5, 7]
    assert Run("sort id", DATA)["s"] == ["", "c", "b", "a"], "equal ones keep their order"


def test_keep_and_drop_variables():
    assert Run("keep i* s", DATA).names == ["id", "s"]
    assert Run("drop id-x", DATA).names == ["s"]
    for text in ("drop", "keep x if id", "keep nothing", "drop x-id"):
        with pytest.raises(DoError):
            Run(text, DATA)


def test_recode_by_ranges_words_and_with_labels():
    run = Run('recode x (1/5 = 1 "low") (7 = 2 "high") (missing = 9), generate(y)', DATA)
    assert run["y"] == [1, 9, 2, 1]
    assert run.session.data.value_labels["y"] == {1.0: "low", 2.0: "high"}
    assert Run("recode x (min/4 = 0) (else = 1)", DATA)["x"] == [1, 1, 1, 0]
    assert Run("recode x (5 = .a) (nonmissing = =) if id > 1", DATA)["x"] == [".a", ".", 7, 1]
    for text in (
        "recode x 1=2",
        "recode s (1 = 2)",
        "recode x (a = 2)",
        "recode x",
        "recode (1=2)",
    ):
        with pytest.raises(DoError):
            Run(text, DATA)


def test_one_to_many_keeps_all_and_says_where_from():
    run = two("merge 1:m id using other", PERSONS, FIRMS)
    assert run["id"] == [1, 2, 2, 3, 5, 4]
    assert run["x"] == [10, 20, 20, 30, 50, "."]
    assert run["y"] == [1.5, 2.5, 3.5, ".", ".", 4.5]
    assert run["_merge"] == [3, 3, 3, 1, 1, 2]
    assert run.session.data.value_labels["_merge"][3.0] == "Matched (3)"
    run = two("merge 1:m id using other, keep(match master) nogenerate", PERSONS, FIRMS)
    assert run.names == ["id", "x", "y"]
    assert run["id"] == [1, 2, 2, 3, 5]
    run = two("merge 1:1 id using other, keepusing(z) generate(m)", PERSONS,
              {"id": [1, 2], "x": [None, 7.0], "z": [1, 2]})  # fmt: skip
    assert run["z"] == [1, 2, ".", "."]
    assert run["x"] == [10, 20, 30, 50], "the master's values count"


@pytest.mark.parametrize("kind", ["1:1", "m:1", "1:m"])
def test_large_merges_agree_with_polars(kind):
    rng = np.random.default_rng(8)
    unique = rng.permutation(300)[:200]
    many = rng.integers(0, 300, 500)
    left = unique if kind.startswith("1") else many
    right = unique[::-1] + 40 if kind == "1:1" else unique if kind == "m:1" else many
    master = pl.DataFrame({"id": left, "a": np.arange(len(left))})
    using = pl.DataFrame({"id": right, "b": np.arange(len(right))})
    run = two(f"merge {kind} id using other", master, using)
    expected = master.join(using, on="id", how="full", coalesce=True)
    wanted = [[float(v) if v is not None else "." for v in row] for row in expected.rows()]
    rows = [list(row) for row in zip(run["id"], run["a"], run["b"], strict=True)]
    assert sorted(map(str, rows)) == sorted(map(str, wanted))


def test_keys_must_identify_and_agree():
    for kind, master, using, error, what in (
        ("1:1 id", PERSONS, FIRMS, DoError, r"in the using data; r\(459\)"),
        ("1:m id", FIRMS, PERSONS, DoError, r"in the master data; r\(459\)"),
        ("1:1 id", PERSONS, {"id": ["a", "b"]}, DoError, r"r\(106\)"),
        ("m:m id", PERSONS, FIRMS, UnsupportedError, "merge"),
        ("1:1 x", PERSONS, FIRMS, DoError, "x"),
    ):
        with pytest.raises(error, match=what):
            two(f"merge {kind} using other", master, using)


def test_append_joins_types():
    run = two("append using other", {"id": [1], "s": ["a"]},
              {"id": [1000], "s": ["long"], "z": [0.5]})  # fmt: skip
    assert [run[name] for name in ("id", "s", "z")] == [[1, 1000], ["a", "long"], [".", 0.5]]
    with pytest.raises(DoError, match=r"r\(106\)"):
        two("append using other", {"id": [1]}, {"id": ["a"]})


def test_use_with_variables_and_condition():
    run = Run("use b if a > 1 using d", files={"d": {"a": [1, 2, None], "b": [4, 5, 6]}})
    assert run["b"] == [5, 6]  # a missing value is larger than 1
    assert run.names == ["b"]


def test_whom_records_are_about_is_kept_through_merges():
    run = two("append using other", {"id": [7, 8]}, {"id": [8, None]})
    assert run.session.data.records.tolist() == [0, 1, 2, 3]
    run = Run("append using other\ndrop id", {"id": [7, 8]}, entity="id",
              files={"other": {"id": [8, None]}})  # fmt: skip
    assert run.session.named_units(slice(None)) == [7, 8, 8, None]


def test_files_of_stata_come_back_bit_for_bit(tmp_path):
    frame = pl.DataFrame({"x": [1.25, None, 1e300], "s": ["a", "ü", ""], "i": [1, -70000, None]})
    (tmp_path / "d.dta").write_bytes(dta_bytes(DataSet.of(frame)))
    data = read_data(tmp_path / "d.dta")
    assert dta_bytes(data) == (tmp_path / "d.dta").read_bytes()
    assert data.frame(["x"])["x"].to_list() == [1.25, None, 1e300]


def test_delimited_text(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes('Name,Größe,2x,big\n"a, b",1.5,3,0.123456789\nü,.,,2\n'.encode())
    data = read_data(path)
    assert list(data.variables) == ["Name", "Größe", "_2x", "big"]
    frame = data.frame(list(data.variables))
    assert frame["Größe"].to_list() == [1.5, None]
    assert frame["_2x"].to_list() == [3, None]
    path.write_text("1;2\n3;4\n")
    assert list(read_data(path).variables) == ["v1", "v2"]
    path.write_text("")
    assert read_data(path).rows == 0


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "~/x", "a/../../b", "http://x.y/z"])
@pytest.mark.parametrize("command", ["use", "merge 1:1 id using", "append using"])
def test_files_outside_the_folder_are_not_opened(tmp_path, command, name):
    pl.DataFrame(PERSONS).write_csv(tmp_path / "d.csv")
    (tmp_path / "p.do").write_text(f'{command} "{name}"')
    result = run_do(tmp_path / "p.do", data=tmp_path / "d.csv")
    assert "r(603)" in str(result.error)
