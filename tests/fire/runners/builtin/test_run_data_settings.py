"""Settings, checks, descriptions, the reading of files, and that nothing leaks from them."""

from __future__ import annotations

import polars as pl
import pytest

from discreet.errors import OutputCheckError
from discreet_fire.runners.builtin.data.data_files import read_data
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.registry import commands
from tests.helpers.run_data import Run

DATA = {"id": [1, 2, 3], "x": [5.0, None, 7777.0], "s": ["b", "", "Miller"]}


def test_observations_and_seed():
    run = Run("set obs 3\ngenerate x = _n\nset obs 5\nset seed 1\ngenerate u = runiform()")
    assert run["x"] == [1, 2, 3, ".", "."]
    assert run["u"] == Run("set obs 5\nset seed 1\ngenerate u = runiform()")["u"]
    with pytest.raises(DoError):
        run.more("set obs 2")
    with pytest.raises(DoError):
        run.more("set seed -1")


@pytest.mark.parametrize(
    "text",
    ["set more off", "set mem 100m", "set matsize 800", "version 14.2", "log using a, replace",
     "capture log close", "cmdlog using b", "timer on 1", "sleep 100", "set scheme s1mono",
     "set linesize 200", "set varabbrev off", "set type float", "adopath ++ x", "which estout",
     "set maxvar 5000, permanently", "note: a text", "notes x: a text", "more", "discard"],
)  # fmt: skip
def test_settings_that_change_nothing(text):
    run = Run(text, DATA)
    assert run["id"] == [1, 2, 3]
    assert run.log == []


def test_settings_that_are_not_known_stop():
    with pytest.raises(UnsupportedError, match="set emptycells"):
        Run("set emptycells drop")


def test_assertions_stop_without_saying_where():
    Run("assert x > 1\nassert id < 3 in 1/2\nbysort id: assert _N == 1", DATA)
    with pytest.raises(DoError) as caught:
        Run("assert x < 100", DATA)
    assert caught.value.rc == 9
    assert str(caught.value) == "[do-file] line 1: assertion is false; r(9)"
    assert Run("capture assert x < 100", DATA).session.results.code == 9
    with pytest.raises(DoError, match="rests on values"):  # whatever the answer is
        Run("capture assert x < 100\nlocal c = _rc\nassert `c' == 9", DATA)


def test_identifiers():
    Run("isid id", DATA)
    Run("isid id x, missok", DATA)
    assert Run("isid id, sort", {"id": [3, 1]})["id"] == [1, 3]
    for text in ("isid x", "isid s", "isid x, missok", "isid nothing"):
        with pytest.raises(DoError):
            Run(text, {**DATA, "x": [None, None, 1]})


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("confirm variable x", 0),
        ("confirm variable nothing", 111),
        ("confirm numeric variable x id", 0),
        ("confirm numeric variable s", 7),
        ("confirm string variable s", 0),
        ("confirm new variable y", 0),
        ("confirm new variable x", 110),
        ("confirm number 3.5", 0),
        ("confirm number a", 7),
        ("confirm integer number 3.5", 7),
        ("confirm file nothing.dta", 601),
        ("confirm new file nothing.dta", 0),
        ("confirm existence", 6),
        ("confirm existence a", 0),
    ],
)
def test_confirm(text, code):
    run = Run(f"capture {text}", DATA)
    assert run.session.results.code == code


def test_descriptions_show_names_but_no_values():
    run = Run('label variable x "Bruttolohn"\nlabel data "A panel"\ndescribe', DATA)
    assert "Bruttolohn" in run.text
    assert "A panel" in run.text
    assert "7777" not in run.text
    assert "Miller" not in run.text
    few = Run("describe", {"x": [1, 2]})
    assert "2" not in few.log[1]
    assert few.verdicts == ["fail"]
    assert Run("describe id s, simple", DATA).log == ["id  s"]
    assert Run("describe\ndisplay r(N)", DATA).log[-1] == "3"
    assert Run("describe\ndisplay r(N)", {"x": [1, 2]}).log[-1] == "(withheld)"


def test_lists_of_names():
    run = Run("ds\nlocal v `r(varlist)'\nds, has(type string)\nds s, not\n"
              "ds, has(type numeric)\nds, not(type string)\nlookfor LOHN", DATA)  # fmt: skip
    assert run.log == ["id  x  s", "s", "id  x", "id  x", "id  x"]
    assert run.session.macros.local["v"] == "id x s"
    run = Run('label variable x "Lohn"\nlookfor lohn\ndisplay "`r(varlist)\'"', DATA)
    assert run.log[-1] == "x"


def test_missing_values_are_counted_safely():
    data = {"x": [None] * 5 + list(range(35)), "y": [None, *list(range(39))], "z": range(40)}
    run = Run("misstable summarize", data)
    rows = {line.split()[0]: line.split()[1:] for line in run.log[2:]}
    assert rows == {"x": ["5", "35"], "y": [".", "."]}


def test_installing_is_refused_and_unknown_commands_stop_at_their_line():
    run = Run("ssc install estout\ndisplay 5", DATA)
    assert run.log[-1] == "5"
    assert run.verdicts == ["fail"]
    with pytest.raises(UnsupportedError) as caught:
        Run("generate y = 1\n\ntssmooth ma z = x", DATA)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    "text",
    [
        "drop v`m'", "rename x `m'a$", "label define l `m' x y", "recode x (`m'=y)",
        "set obs `m'x",
        "confirm variable v`m'", "tostring v`m', replace", "use f`m'", "sort v`m'",
        "egen y = f`m'(x)",
        "generate y = q`m'", "merge 1:1 v`m' using z", "bogus`m' x",
        "xtset v`m'", "format v`m' %9.0g",
    ],
)  # fmt: skip
def test_errors_never_quote_what_a_macro_took_from_the_data(text):
    with pytest.raises((DoError, UnsupportedError)) as caught:
        Run(f"local m = x[3]\n{text}", DATA)
    assert "7777" not in str(caught.value)
    assert caught.value.line == 2


def test_every_command_is_described():
    for one in commands():
        assert one.facts.summary, one.name
        assert one.facts.section, one.name
        assert (one.run.__doc__ or "").strip(), one.name


# --- reading ---------------------------------------------------------------------------


def test_files_of_all_kinds_give_the_same_data(tmp_path):
    frame = pl.DataFrame({"a": [1, 2, None], "b": ["x", None, "ü"], "c": [0.5, None, 1e10]})
    frame.write_parquet(tmp_path / "d.parquet")
    frame.write_csv(tmp_path / "d.csv")
    Run("save d", frame, tmp_path)
    reads = [read_data(tmp_path / f"d.{end}") for end in ("parquet", "csv", "dta")]
    for name in frame.columns:
        columns = [list(one.variables[name].values) for one in reads]
        assert columns[0] == columns[1] == columns[2]


def test_pyreadstat_and_pandas_files_are_read(tmp_path):
    import pandas
    import pyreadstat

    frame = pandas.DataFrame({"x": [1.5, "a", None], "d": [21915.0, 0.0, 1.0], "s": ["a", "", "ü"]})
    pyreadstat.write_dta(
        frame, str(tmp_path / "p.dta"), column_labels=["an x", "", ""],
        missing_user_values={"x": ["a"]}, variable_format={"d": "%td"},
    )  # fmt: skip
    run = Run("use p", folder=tmp_path)
    assert run["x"] == [1.5, ".a", "."]
    assert run["s"] == ["a", "", "ü"]
    assert run.session.data.variables["d"].format == "%td"
    assert run.session.data.variables["x"].label == "an x"
    run = Run("save q", {"i": [1, None], "f": [0.5, None]}, tmp_path)
    back = pandas.read_stata(tmp_path / "q.dta")
    assert back["i"].tolist()[0] == 1
    assert back["f"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("name", "content"),
    [("d.dta", b"nothing of the kind"), ("d.dta", b""), ("d.parquet", b"x"), ("d.xlsx", b"x"),
     ("d.csv", b"\xff\xfe\x00a"), ("d.csv", b"a,b\n1\n1,2,3,4\n")],
)  # fmt: skip
def test_damaged_files_are_a_clear_error(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(OutputCheckError) as caught:
        read_data(tmp_path / name)
    assert name in str(caught.value)


def test_names_of_columns(tmp_path):
    pl.DataFrame({"PID": [1], "Lohn brutto": [2]}).write_csv(tmp_path / "d.csv")
    assert list(read_data(tmp_path / "d.csv").variables) == ["PID", "Lohnbrutto"]
    pl.DataFrame({"Lohn brutto": [2]}).write_parquet(tmp_path / "d.parquet")
    with pytest.raises(OutputCheckError, match="Lohn brutto"):
        read_data(tmp_path / "d.parquet")


def test_missing_and_empty_files(tmp_path):
    with pytest.raises(DoError, match=r"r\(601\)"):
        read_data(tmp_path / "none.dta")
    (tmp_path / "e.csv").write_bytes(b"")
    assert read_data(tmp_path / "e.csv").rows == 0
    (tmp_path / "h.csv").write_bytes(b"a,b\n")
    assert list(read_data(tmp_path / "h.csv").variables) == ["a", "b"]
