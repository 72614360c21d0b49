"""The report: how much is hidden where, at what cost, with what proof."""

import json

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.protection.suppression import Suppression, SuppressionReport, report_on


@pytest.fixture(scope="module")
def done() -> Suppression:
    draw = np.random.default_rng(3)
    regions = ["11", "12", "13", "21", "22"]
    frame = pl.DataFrame(
        {
            "region": draw.choice(regions, 300),
            "branch": draw.choice(["a", "b", "c"], 300, p=[0.6, 0.35, 0.05]),
            "turnover": draw.integers(1, 900, 300),
        }
    )
    region = dc.Classification.from_prefixes("region", regions, [1, 2])
    table = dc.tabulate(frame, by=[region, "branch"], values=["turnover"], contributions=2)
    primary = dc.primary(
        table, [dc.rules.MinimumFrequency(4), dc.rules.PPercent(20)], value="turnover"
    )
    return Suppression.of((table, primary), method="optimal")


@pytest.fixture(scope="module")
def report(done: Suppression) -> SuppressionReport:
    return report_on(done)


def test_the_parts_add_up_to_the_pattern(done: Suppression, report: SuppressionReport) -> None:
    hidden = done.tables[0].to_polars().filter(pl.col("value").is_null())
    frame = report.to_polars()
    assert frame["primary"].sum() + frame["secondary"].sum() == len(hidden)
    assert frame["secondary"].sum() == (hidden["reason"] == "secondary").sum()
    assert frame["part"].to_list() == sorted(set(frame["part"]), key=frame["part"].to_list().index)
    assert "region (level 2) × branch" in frame["part"].to_list()


def test_hidden_values_are_those_of_the_hidden_cells(
    done: Suppression, report: SuppressionReport
) -> None:
    table, safe = done.sources[0][0], done.tables[0]
    both = table.to_polars().join(safe.to_polars(), on=["region", "branch"])
    gone = both.filter(pl.col("value").is_null())["turnover"].sum()
    assert report.to_polars()["hidden_value"].sum() == gone
    assert report.to_polars()["value"].sum() == both["turnover"].sum()


def test_cost_bound_gap_and_proof_are_told(done: Suppression, report: SuppressionReport) -> None:
    told = json.loads(json.dumps(report.described()))
    assert told["cost"] == told["bound"] == done.pattern.cost
    assert told["gap"] == 0.0
    assert told["optimal"]
    assert told["proof"] == done.pattern.digest()
    assert told["unprotected"] == 0
    assert sum(told["reasons"].values()) == sum(part["primary"] for part in told["parts"])
    assert "no cheaper suppression pattern is safe" in report.text()


def test_the_bounds_that_attackers_are_said_to_know_are_told(report: SuppressionReport) -> None:
    assert any("from 0 to 2 times the true value" in note for note in report.notes)


def test_cells_between_the_tables_are_not_counted() -> None:
    """Classes of two classifications meet in cells that no table has."""
    draw = np.random.default_rng(8)
    age = draw.integers(0, 90, 800)
    people = pl.DataFrame(
        {
            "fives": age // 5,
            "sevens": age // 7,
            "town": draw.choice([*"abc"], 800, p=[0.7, 0.2, 0.1]),
        }
    ).cast(pl.String)
    tables = [dc.tabulate(people, by=[by, "town"], name=by) for by in ("fives", "sevens")]
    small = [(table, dc.primary(table, [dc.rules.MinimumFrequency(3)])) for table in tables]
    done = Suppression.of(small, records=people, method="fast")
    told = report_on(done).described()
    cells = sum(int((table.count > 0).sum()) for table in tables)
    assert told["cells"] <= cells < len(done.pattern.hidden)
    hidden = sum(int(safe.to_polars()["value"].is_null().sum()) for safe in done.tables)
    assert 0 < told["primaries"] + told["secondaries"] <= hidden
