"""Marks by hand and what the public knows from a file: what they change, and which are refused."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import rules
from discreet.errors import SuppressionError
from discreet.release import audit_release, protect
from discreet.rules import CellVerdict, Mark, Marks
from tests.helpers.command import run
from tests.helpers.firm_programmes import HEAD, write
from tests.helpers.rows import for_all_rows

PEOPLE = pl.DataFrame({"region": ["N"] * 2 + ["S"] * 8 + ["W"] * 20, "sex": ["m", "w"] * 15})
RULES = [rules.MinimumFrequency(3)]


def table() -> dc.Table:
    return dc.tabulate(PEOPLE, by=["region"])


def verdict_of(primary: rules.Primary) -> list[str]:
    return [CellVerdict(each).name for each in primary.verdict]


def test_marks_make_cells_sensitive_safe_fixed_or_hidden() -> None:
    marks = [
        Mark(cells={"region": "N"}, status="safe"),
        Mark(cells={"region": "S"}, status="unsafe"),
        Mark(cells={"region": "W"}, status="secondary"),
        Mark(cells={"region": "Total"}, status="protected"),
    ]
    primary = dc.primary(table(), RULES, marks=marks, manual_range=25)
    assert verdict_of(primary) == ["fixed", "free", "sensitive", "secondary"]
    assert primary.rules.tolist() == [[False, True, False, False]]
    assert primary.numbers() == {"manual": 1}
    assert primary.upper.tolist() == primary.lower.tolist() == [0, 0, 2, 0]


def test_marks_give_levels_costs_and_bounds() -> None:
    marks = [
        Mark(cells={"region": "N"}, lower=0, upper=7, sliding=9),
        Mark(cells={"region": "S"}, cost=5),
        Mark(cells={"region": "W"}, low=10, high=40),
    ]
    primary = dc.primary(table(), RULES, marks=Marks(marks))
    assert verdict_of(primary) == ["free", "sensitive", "free", "free"]
    assert (primary.lower[1], primary.upper[1], primary.sliding[1]) == (0, 7, 9)
    assert primary.cost[2] == 5
    assert np.isnan(primary.cost[[0, 1, 3]]).all()
    assert (primary.low[3], primary.high[3]) == (10, 40)


def test_a_variable_left_out_stands_for_all_its_codes() -> None:
    both = dc.tabulate(PEOPLE, by=["region", "sex"])
    marks = [Mark(cells={"sex": "Total"}, cost=9), Mark(cells={"region": "S"}, low=0)]
    primary = dc.primary(both, [], marks=marks)
    codes = both.to_polars()
    assert codes.filter(pl.Series(primary.cost == 9))["sex"].unique().to_list() == ["Total"]
    assert (primary.cost == 9).sum() == 4
    assert codes.filter(pl.Series(primary.low == 0))["sex"].to_list() == ["Total", "m", "w"]


def test_a_secondary_suppression_that_is_sensitive_now_is_primary() -> None:
    primary = dc.primary(table(), RULES, marks=[Mark(cells={"region": "N"}, status="secondary")])
    assert verdict_of(primary) == ["free", "sensitive", "free", "free"]


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        (
            [Mark(cells={"region": "S"}, status="safe"), Mark(cells={}, status="unsafe")],
            "region=S: marks give this cell different statuses",
        ),
        (
            [Mark(cells={"region": "S"}, cost=1), Mark(cells={"region": "S"}, cost=2)],
            "different costs",
        ),
        (
            [Mark(cells={"region": "S"}, low=8), Mark(cells={"region": "S"}, high=7)],
            "lower bound is above",
        ),
        ([Mark(cells={"region": "N"}, status="protected")], "sensitive by a rule and marked"),
        ([Mark(cells={"region": "S"}, upper=4)], "a cell that is not sensitive"),
        ([Mark(cells={"region": "X"}, cost=4)], "no code 'X'"),
        ([Mark(cells={"place": "N"}, cost=4)], "variable 'place' not found in the table"),
    ],
)
def test_contradictions_are_named(marks: list[Mark], message: str) -> None:
    with pytest.raises(SuppressionError, match=message) as caught:
        dc.primary(table(), RULES, marks=marks)
    assert caught.value.code == "marks"


def test_all_contradictions_are_listed_at_once_with_their_lines() -> None:
    marks = Marks(
        [
            Mark(cells={"region": "X"}, cost=1, where="line 2"),
            Mark(cells={"region": "N", "sex": "m"}, cost=1, where="line 3"),
        ],
        source="before.hst",
    )
    with pytest.raises(SuppressionError) as caught:
        dc.primary(table(), RULES, marks=marks)
    assert [problem.where for problem in caught.value.problems] == ["line 2", "line 3"]
    assert caught.value.where == "before.hst"


def test_marks_of_cells_that_do_not_occur_pass_if_asked_for() -> None:
    both = dc.tabulate(PEOPLE.filter(pl.int_range(pl.len()) != 1), by=["region", "sex"])
    marks = [
        Mark(cells={"region": "N", "sex": "w"}, status="protected"),
        Mark(cells={"region": "N", "sex": "m"}, cost=3),
        Mark(cells={"region": "X", "sex": "m"}, cost=3),
    ]
    with pytest.raises(SuppressionError, match="cell region=N, sex=w not found in the table"):
        dc.primary(both, [], marks=marks[:1])
    primary = dc.primary(both, [], marks=marks, unmatched="ignore")
    assert np.flatnonzero(primary.cost == 3).size == 1
    assert not primary.fixed.any()


@for_all_rows(
    ("mark", "message"),
    [
        (Mark(cells={"region": "N"}), "the mark has no status, level, bound or cost"),
        (Mark(cells={"region": "N"}, status="open"), "status must be one of"),
        (Mark(cells={"region": "N"}, cost=-1), "cost must be finite and at least 0"),
        (Mark(cells={"region": "N"}, cost=float("nan")), "cost must be a number"),
        (Mark(cells={"region": "N"}, upper=float("inf")), "upper must be finite and at least 0"),
        (Mark(cells={"region": "N"}, low=2, high=1), "low is above high"),
        (Mark(cells="N", cost=1), "cells must map variables to codes"),
        ("N", "not a Mark"),
    ],
)
def test_a_mark_that_makes_no_sense_is_refused(mark: Mark, message: str) -> None:
    with pytest.raises(SuppressionError, match=message):
        Marks([mark])


def test_many_marks_are_found() -> None:
    numbers = np.arange(4_000)
    frame = pl.DataFrame({"a": (numbers // 50).astype(str), "b": (numbers % 50).astype(str)})
    large = dc.tabulate(frame, by=["a", "b"])
    marks = [Mark(cells={"a": a, "b": b}, cost=float(a)) for a, b in frame.rows()]
    primary = dc.primary(large, [], marks=marks)
    codes = large.to_polars().with_columns(cost=primary.cost)
    inner = codes.filter((pl.col("a") != "Total") & (pl.col("b") != "Total"))
    assert (inner["cost"] == inner["a"].cast(pl.Float64)).all()
    assert np.isnan(primary.cost).sum() == len(large) - len(frame)


def sexes() -> dc.Table:
    cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [180, 90, 70, 20]})
    return dc.Table.from_cells(cells, by=["sex"], count="n")


def bounds(folder: Path, text: str) -> Path:
    path = folder / "known.csv"
    path.write_text(text, encoding="utf-8")
    return path


def sensitive(given: dc.Table, path: Path) -> Any:
    marks = [dc.rules.Mark(cells={"sex": "d"}, status="unsafe", lower=10, upper=10)]
    known = dc.rules.read_bounds(path, ["sex"])
    return dc.primary(given, [], marks=[*marks, *known])


def test_what_the_public_knows_bounds_the_attack(tmp_path: Path) -> None:
    given = sexes()
    free = sensitive(given, bounds(tmp_path, "sex,low,high\nTotal,0,400\n"))
    safe = dc.suppress(given, free, method="optimal")
    assert [safe.get(code) is None for code in "mwd"] == [False, True, True]
    told = sensitive(given, bounds(tmp_path, "sex;low;high\nw;66;75\n"))
    assert not dc.audit(safe, given, told).safe
    other = dc.suppress(given, told, method="optimal")
    assert [other.get(code) is None for code in "mwd"] == [True, False, True]
    assert dc.audit(other, given, told).safe


def test_bounds_that_contradict_the_data_or_cannot_be_met_are_refused(tmp_path: Path) -> None:
    given = sexes()
    for text, said in {
        "sex,low,high\nw,71,80\n": "outside the bounds",
        "sex,low,high\nd,15,25\n": "cannot be protected",
    }.items():
        with pytest.raises(SuppressionError) as caught:
            dc.suppress(given, sensitive(given, bounds(tmp_path, text)), method="optimal")
        assert said in str(caught.value)
        assert "70" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file needs a column low or high"),
        ("sex,low,high\nw,a,2\n", "is not a number"),
        ("sex,low,high\nw,1,inf\n", "is not a number"),
        ("sex,low,high\nw,5,4\n", "low is above high"),
        ("sex,low,high\nw,,\n", "the row needs low or high"),
        ("sex,low,high\nw,1\n", "another number of columns"),
        ("sex,age,low\nw,1,1\n", "variable 'age' not found in the table"),
        ("sex,low,low\nw,1,1\n", "occurs twice"),
    ],
)
def test_slips_in_the_file_are_refused_by_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SuppressionError, match="known") as caught:
        dc.rules.read_bounds(bounds(tmp_path, text), ["sex"])
    assert said in str(caught.value)
    assert "line" in str(caught.value)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_bytes(b"sex,low\n\xff,1\n")
    for name in ("none.csv", "odd.csv"):
        with pytest.raises(SuppressionError) as caught:
            dc.rules.read_bounds(tmp_path / name, ["sex"])
        assert caught.value.code == "known"


def test_rows_are_about_one_value_of_several(tmp_path: Path) -> None:
    path = bounds(tmp_path, "branch,value,low\na,sales,5\nb,staff,1\nc,count,2\n\nd,,0\n")
    found = {
        value: dc.rules.read_bounds(path, ["branch"], value=value) for value in ("sales", None)
    }
    assert [mark.cells["branch"] for mark in found["sales"]] == ["a", "d"]
    assert [mark.cells["branch"] for mark in found[None]] == ["c", "d"]


def test_programmes_take_the_file_and_go_by_its_content(tmp_path: Path) -> None:
    text = HEAD + '\n[tables.T]\nby = ["branch", "size"]\nvalue = "turnover"\nknown = "known.csv"\n'
    path = write(tmp_path, "known.toml", text)
    with pytest.raises(dc.errors.DiscreetError, match="not found"):
        protect(path, tmp_path / "out")
    known = bounds(tmp_path, "branch,size,low,high\nTotal,Total,0,99999999\n")
    protect(path, tmp_path / "out")
    first = pl.read_csv(tmp_path / "out" / "T.csv")
    hidden = first.filter(pl.col("reason") == "secondary").select("branch", "size").rows()
    frame = pl.read_parquet(tmp_path / "firms.parquet")
    shown = [f"{b},{s}," for b, s in hidden if "Total" not in (b, s)]
    assert shown
    inner = dict(
        frame.group_by(pl.concat_str("branch", "size", separator=",") + ",")
        .agg(pl.col("turnover").sum())
        .rows()
    )
    lines = [f"{each}{inner[each]},{inner[each]}" for each in shown]
    known.write_text("\n".join(["branch,size,low,high", *lines]))
    assert protect(path, tmp_path / "out").fresh == 1
    again = pl.read_csv(tmp_path / "out" / "T.csv")
    assert not again["symbol"].equals(first["symbol"])
    assert audit_release(path, tmp_path / "out").safe
    known.write_text("branch,size,low\na,s,x\n")
    with pytest.raises(dc.errors.DiscreetError, match="is not a number"):
        protect(path, tmp_path / "out")


def test_the_command_takes_the_file_relations_and_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    draw = np.random.default_rng(2)
    home = np.ceil(draw.lognormal(4, 1.6, 120)).astype(int)
    frame = pl.DataFrame(
        {"branch": draw.choice([*"abcd"], 120), "size": draw.choice([*"sml"], 120), "home": home}
    ).with_columns(foreign=pl.Series(draw.integers(1, 50, 120)))
    frame = frame.with_columns(total=pl.col("home") + pl.col("foreign"))
    monkeypatch.chdir(tmp_path)
    frame.write_csv("firms.csv")
    bounds(tmp_path, "branch,size,low\nTotal,Total,0\n")
    words = ["suppress", "firms.csv", "--by", "branch,size", "--rule", "p=20", "--method", "fast"]
    values = ["--value", "home,total", "--known", "known.csv", "--intervals", "instead"]
    done = run(*words, *values, "--relation", "total = home + foreign", "--out", "safe.csv")
    assert done.exit_code == 0, done.output
    assert "total = home + foreign is known to readers" in done.stdout
    safe = pl.read_csv("safe.csv")
    assert "." not in safe["symbol"].to_list()
    assert safe["value"].null_count() > 0
    for wrong in (
        ["--relation", "total = home"],
        ["--relation", "total"],
        ["--known", "firms.csv"],
    ):
        refused = run(*words, "--value", "home,total", *wrong, "--out", "x.csv")
        assert refused.exit_code == 2
        assert not Path("x.csv").exists()
