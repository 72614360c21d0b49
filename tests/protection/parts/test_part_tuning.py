"""Thresholds found for a target on given tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import PartRules, check_parts, tune_parts
from discreet.cli import main
from discreet.demo import example_perturbation_table
from discreet.errors import SuppressionError
from discreet.protection.parts import area_shares
from tests.helpers.rows import for_all_rows
from tests.protection.parts.test_part_areas import BY, counted, people

SHARES = {"max_share_small": [0.7, 0.3, 0.5, 0.9]}


def test_every_set_does_what_the_decisions_do() -> None:
    table = counted(people(2, 900), name="T1")
    found = tune_parts([table], SHARES, target=0.5, areas="region", level="place")
    assert found.tried["max_share_small"].to_list() == [0.3, 0.5, 0.7, 0.9]
    for row in found.tried.iter_rows(named=True):
        rules = PartRules(max_share_small=row["max_share_small"])
        decided = check_parts(table, rules, areas="region")
        assert decided.areas is not None
        shares = area_shares(table.dimensions, decided.suppressed, decided.areas)
        own = [each for each in shares if each.level == "place"]
        assert row["share"] == own[0].share_complete
        assert row["lowest"] == min(each.share_complete for each in own)
        assert row["hidden"] == own[0].areas - own[0].complete
        assert row["met"] == (row["lowest"] >= 0.5)


def test_the_strictest_set_that_meets_the_target_is_chosen() -> None:
    tables = [counted(people(seed, 2_500), name=f"T{seed}") for seed in (2, 3)]
    found = tune_parts(tables, SHARES, target=0.5, areas="region")
    met = found.tried.filter("met")
    assert 0 < len(met) < 4
    assert found.rules is not None
    assert found.rules.max_share_small == met["max_share_small"].min()
    assert found.described()["rules"] == found.rules.to_dict()
    assert "The strictest set that publishes 50.00% completely" in found.text()
    again = tune_parts(tables, SHARES, target=0.5, areas="region")
    assert again.tried.equals(found.tried)


def test_tables_can_be_read_one_by_one_or_together() -> None:
    """One table that hides areas misses a target that all tables meet together."""
    tables = [counted(people(seed, number), name=f"T{seed}") for seed, number in
              ((2, 900), (3, 20_000), (4, 20_000))]  # fmt: skip
    vary = {"max_share_small": [0.5]}
    alone = tune_parts(tables, vary, target=0.6, areas="region", level="place")
    together = tune_parts(
        tables, vary, target=0.6, reading="all-tables", areas="region", level="place"
    )
    (row,) = together.tried.rows(named=True)
    assert row["lowest"] < 0.6 <= row["pooled"] <= row["share"]
    assert (alone.rules, alone.reading) == (None, "each-table")
    assert together.rules is not None
    shares: dict[str, list[int]] = {}
    for table in tables:
        decided = check_parts(table, PartRules(max_share_small=0.5), areas="region")
        assert decided.areas is not None
        for each in area_shares(table.dimensions, decided.suppressed, decided.areas):
            if each.level == "place":
                complete, areas = shares.get(each.within, [0, 0])
                shares[each.within] = [complete + each.complete, areas + each.areas]
    assert row["pooled"] == min(complete / areas for complete, areas in shares.values())
    assert "in all tables together at least" in together.text()
    assert "in all tables together" in together.text()
    assert together.described()["reading"] == "all-tables"
    with pytest.raises(SuppressionError, match="unknown reading 'both'"):
        tune_parts(tables, vary, reading="both", areas="region")  # type: ignore[arg-type]


def test_a_target_that_no_set_meets_is_told() -> None:
    table = counted(people(2, 200), name="T1")
    found = tune_parts([table], {"min_average_size": [5, 50]}, target=1, areas="region")
    assert found.rules is None
    assert found.tried["min_average_size"].to_list() == [50, 5]
    assert found.text().endswith("No set of thresholds publishes 100.00% completely everywhere.")
    assert repr(found) == "<PartTuning (confidential): 2 sets of thresholds>"


def test_without_areas_the_target_is_a_share_of_the_tables() -> None:
    tables = [counted(people(1, size), BY[1:], name=f"T{size}") for size in (8, 9, 3_000)]
    found = tune_parts(tables, {"max_share_small": [0.1]}, target=0.3)
    assert found.tried["share"].to_list() == pytest.approx([1 / 3])
    assert found.rules is not None
    assert "reading" not in found.text()
    assert "in each table" not in found.text()


@for_all_rows(
    ("vary", "target", "says"),
    [
        ({}, 0.9, "no values to try"),
        ({"max_share": [1]}, 0.9, "unknown threshold 'max_share'"),
        ({"max_share_small": []}, 0.9, "expected a list of values to try"),
        ({"max_share_small": [0.5]}, 98, "a share must be from 0 to 1"),
        (
            {"max_share_small": list(range(1_001))},
            0.9,
            "too many sets of thresholds: 1,001; the limit is",
        ),
    ],
)
def test_what_cannot_be_tried_is_refused(
    vary: dict[str, list[float]], target: float, says: str
) -> None:
    with pytest.raises(SuppressionError, match=says):
        tune_parts([counted(people(1), name="T1")], vary, target=target)


def test_the_command_tries_them_on_a_programme(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people(3, 900).write_parquet(tmp_path / "people.parquet")
    example_perturbation_table().write(tmp_path / "ptable.csv")
    (tmp_path / "programme.toml").write_text(
        """
[data]
source = "people.parquet"
[keys]
column = "record_key"
[perturbation]
table = "ptable.csv"
[parts]
min_average_size = 1.5
[variables.region]
prefixes = [1, 2, 3]
[tables.T1]
by = ["region", "sex", "work"]
formats = ["csv"]
areas = { variable = "region", level = 3 }
""",
        encoding="utf-8",
    )
    words = ["parts", "tune", str(tmp_path / "programme.toml"), "--target", "0.4", "--json"]
    with pytest.raises(SystemExit) as left:
        main([*words, "--vary", "max_share_small=0.3,0.8", "--level", "3"])
    assert left.value.code == 0
    printed = json.loads(capsys.readouterr().out)
    region = dc.Classification.from_prefixes(
        "region", people(3, 900)["region"].unique().to_list(), [1, 2, 3]
    )
    table = counted(people(3, 900), [region, "sex", "work"], name="T1")
    expected = tune_parts(
        [table],
        {"max_share_small": [0.3, 0.8]},
        target=0.4,
        rules=PartRules(min_average_size=1.5),
        areas="region",
    )
    assert printed == json.loads(json.dumps(expected.described()))
    assert np.isfinite(expected.tried["share"].to_numpy()).all()
    assert not list(tmp_path.glob("*.csv.*"))
    assert isinstance(expected.tried, pl.DataFrame)
