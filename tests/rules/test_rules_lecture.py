"""The rules on the examples of a lecture, and against other tools on the same records."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import rules
from discreet_argus.jj import read_jj
from tests.helpers.business_tables import industries
from tests.helpers.business_tables import records as business_records
from tests.helpers.rows import for_all_rows

TURNOVER = {"A": 25_000, "B": 400_000, "C": 35_000}


def religion_by_school(reference: Path) -> dc.Table:
    cells = pl.read_csv(reference / "lecture" / "religion_by_school.csv")
    occupied = cells.filter(pl.col("count") > 0)
    return dc.Table.from_cells(occupied, by=["school", "religion"], count="count")


def sensitive(table: dc.Table, primary: rules.Primary) -> set[tuple[str, ...]]:
    codes = table.to_polars().select(dimension.name for dimension in table.dimensions)
    return {row for row, hidden in zip(codes.rows(), primary.sensitive, strict=True) if hidden}


def one_cell(turnover: dict[str, float]) -> dc.Table:
    frame = pl.DataFrame({"firm": list(turnover), "turnover": list(turnover.values())})
    return dc.tabulate(frame, by=[], values=["turnover"], contributions=3)


def test_minimum_frequency_of_three_marks_the_cells_of_one_and_two(reference: Path) -> None:
    table = religion_by_school(reference)
    primary = dc.primary(table, [rules.MinimumFrequency(3)])
    assert sensitive(table, primary) == {("none", "orthodox"), ("fachhochschulreife", "orthodox")}


def test_the_marginal_rule_marks_the_only_jewish_cell(reference: Path) -> None:
    table = religion_by_school(reference)
    primary = dc.primary(table, [rules.MarginalRule(difference=1)])
    assert sensitive(table, primary) == {("abitur", "jewish")}
    at = int(np.flatnonzero(primary.sensitive)[0])
    assert (primary.lower[at], primary.upper[at]) == (2, 0)


@for_all_rows(
    ("rule", "hidden"),
    [
        (rules.Dominance(n=1, k=80), True),
        (rules.Dominance(n=1, k=87), False),
        (rules.Dominance(n=2, k=85), True),
        (rules.PPercent(5), False),
        (rules.PPercent(6.25), False),
        (rules.PPercent(6.26), True),
        (rules.PPercent(6.25, ties="sensitive"), True),
    ],
)
def test_three_firms(rule: rules.Rule, hidden: bool) -> None:
    primary = dc.primary(one_cell(TURNOVER), [rule], value="turnover")
    assert primary.sensitive.tolist() == [hidden]


def test_levels_are_what_the_total_would_need_to_be_safe() -> None:
    table = one_cell(TURNOVER)
    dominance = dc.primary(table, [rules.Dominance(n=1, k=80)], value="turnover")
    assert 400_000 / (460_000 + dominance.upper[0]) == pytest.approx(0.80)
    p_percent = dc.primary(table, [rules.PPercent(20)], value="turnover")
    assert 460_000 + p_percent.upper[0] - 35_000 - 400_000 == pytest.approx(0.2 * 400_000)
    pq = dc.primary(table, [rules.PQ(p=10, q=50)], value="turnover")
    assert pq.upper[0] == pytest.approx(p_percent.upper[0])
    assert p_percent.lower[0] == p_percent.upper[0]


def test_more_attackers_together_know_more() -> None:
    firms = {"A": 60.0, "B": 20, "C": 15, "D": 5}
    alone = dc.primary(one_cell(firms), [rules.PPercent(10, n=1)], value="turnover")
    together = dc.primary(one_cell(firms), [rules.PPercent(10, n=2)], value="turnover")
    assert not alone.sensitive[0]
    assert together.sensitive[0]
    assert together.upper[0] == pytest.approx(0.1 * 60 - 5)


def test_the_example_of_the_tau_argus_manual_for_weights() -> None:
    """Contributions 100 and 10 with weights 4 and 7: the two largest are 100 and 100."""
    frame = pl.DataFrame({"x": [100, 10], "w": [4, 7]})
    table = dc.tabulate(frame, by=[], values=["x"], weight="w", contributions=2)
    dominance = rules.Dominance(n=2, k=40)
    weighted = dc.primary(table, [dominance], value="x", levels="upper")
    assert weighted.sensitive.tolist() == [True]
    assert weighted.upper[0] == pytest.approx(100 * 200 / 40 - 470)
    assert dc.primary(table, [rules.Dominance(n=2, k=43)], value="x").sensitive.tolist() == [False]
    unweighted = dc.primary(table, [rules.Dominance(n=2, k=43)], value="x", weighted=False)
    assert unweighted.sensitive.tolist() == [True]


RECORDS = {
    "T1": ("microdata1", ["region", "gender"], "val"),
    "T2": ("microdata2", ["gender", "ecoOld"], "numVal"),
    "T3": ("microdata2", ["region", "gender", "ecoNew"], "numVal"),
    "T5": ("T5_microdata", ["a5", "sexc", "wat"], "inc"),
    "T6": ("T6_microdata", ["ag", "sexc"], "inc"),
}


def rule_of(entry: dict[str, Any]) -> rules.Rule:
    """The rule of the other tool; it states the largest frequency that is sensitive."""
    if entry["type"] == "freq":
        return rules.MinimumFrequency(entry["maxN"] + 1)
    if entry["type"] == "nk":
        return rules.Dominance(n=entry["n"], k=entry["k"])
    if entry["type"] == "p":
        return rules.PPercent(entry["p"])
    return rules.PQ(*entry["pq"])


def truth_of(expected: pl.DataFrame, by: list[str], name: str) -> dict[tuple[str, ...], bool]:
    occupied = expected.filter(pl.col("freq").cast(pl.Float64) > 0)
    marks = (occupied[name] == "u").to_list()
    return dict(zip(occupied.select(by).rows(), marks, strict=True))


def verdicts(table: dc.Table, by: list[str], primary: rules.Primary) -> dict[Any, bool]:
    return dict(zip(table.to_polars().select(by).rows(), primary.sensitive.tolist(), strict=True))


@pytest.mark.parametrize("problem", RECORDS)
def test_all_rules_mark_the_cells_that_sdctable_marks(reference: Path, problem: str) -> None:
    folder = reference / "sdctable"
    records, by, value = RECORDS[problem]
    trees = [
        dc.Classification.read(folder / f"{problem}_hier_{name}.csv.gz", name=name) for name in by
    ]
    frame = pl.read_csv(folder / f"{records}.csv.gz")
    table = dc.tabulate(frame, by=trees, values=[value], contributions=3)
    expected = pl.read_csv(folder / f"{problem}_cells_and_primary.csv.gz", infer_schema_length=0)
    with gzip.open(folder / f"{problem}_primary_rules.json.gz") as file:
        entries = json.load(file)["rules"]
    compared = 0
    for name, entry in entries.items():
        if entry.get("allowZeros") or entry.get("numVarName", value) != value:
            continue
        primary = dc.primary(table, [rule_of(entry)], value=value)
        assert verdicts(table, by, primary) == truth_of(expected, by, name), name
        compared += 1
    assert compared > 10


@pytest.mark.parametrize("weight", ["w", "wf"])
def test_weighted_rules_mark_the_cells_that_sdctable_marks(reference: Path, weight: str) -> None:
    folder, by = reference / "sdctable", ["region", "gender"]
    trees = [dc.Classification.read(folder / f"T1_hier_{name}.csv.gz", name=name) for name in by]
    frame = pl.read_csv(folder / "W_microdata.csv.gz")
    table = dc.tabulate(frame, by=trees, values=["val"], weight=weight, contributions=3)
    expected = pl.read_csv(folder / f"W_{weight}_primary.csv.gz", infer_schema_length=0)
    for name in ("p_10", "p_50", "p_80", "nk2_30", "nk2_60", "nk2_80"):
        kind, percent = name.split("_")
        rule = rules.PPercent(int(percent)) if kind == "p" else rules.Dominance(2, int(percent))
        primary = dc.primary(table, [rule], value="val")
        assert verdicts(table, by, primary) == truth_of(expected, by, name), name


@pytest.mark.parametrize("three_way", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_primaries_and_levels_are_those_of_tau_argus(reference: Path, three_way: bool) -> None:
    records = pl.DataFrame(business_records(reference / "argus")).cast({"value": pl.Float64})
    by: list[Any] = [
        "Size",
        dc.Classification.read(reference / "argus" / "region2.hrc", name="Reg"),
    ]
    if three_way:
        parents = {code: above for code, above in industries({*records["Ind"]}).items() if above}
        by.append(dc.Classification.from_parents("Ind", parents))
    table = dc.tabulate(records, by=by, values=["value"], contributions=2)
    primary = dc.primary(table, [rules.PPercent(10)], value="value", unit=0.01)
    name = "SizeRegInd" if three_way else "SizeReg"
    problem = read_jj(reference / "suppression" / f"tau_{name}_P10.jj.gz")
    theirs = problem.primary
    scale = 10.0**problem.decimals
    for ours, column in [
        (table.sums["value"], problem.value),
        (primary.lower, problem.lower),
        (primary.upper, problem.upper),
    ]:
        assert np.allclose(
            np.sort(ours[primary.sensitive]), np.sort(column[theirs] / scale), atol=0.5 / scale
        )


def test_rules_on_unweighted_contributions_mark_the_cells_that_cellkey_marks(
    reference: Path,
) -> None:
    """With weights that tool compares unweighted contributions with weighted totals."""
    by = ["sex", "age"]
    frame = pl.read_csv(reference / "cellkey" / "B1_microdata.csv.gz")
    expected = pl.read_csv(reference / "cellkey" / "B1_supp_rules_income.csv.gz")
    plain = dc.tabulate(frame, by=by, values=["income"], contributions=3)
    weighted = dc.tabulate(frame, by=by, weight="sampling_weight")
    listed: dict[str, rules.Rule] = {
        "p_85": rules.PPercent(85),
        "p_10": rules.PPercent(10),
        "nk_2_90": rules.Dominance(2, 90),
        "nk_2_20": rules.Dominance(2, 20),
        "nk_3_10": rules.Dominance(3, 10),
        "freq_14_unw": rules.MinimumFrequency(14),
    }
    for name, rule in listed.items():
        truth = dict(zip(expected.select(by).rows(), expected[name], strict=True))
        assert verdicts(plain, by, dc.primary(plain, [rule], value="income")) == truth, name
    primary = dc.primary(weighted, [rules.MinimumFrequency(400, of="weights")])
    truth = dict(zip(expected.select(by).rows(), expected["freq_400_w"], strict=True))
    assert verdicts(weighted, by, primary) == truth
