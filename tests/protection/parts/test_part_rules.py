"""Rules that cannot be, and a log that gives nothing away."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import PartRules, Table, check_parts, tune_parts
from discreet.cli import main
from discreet.demo import example_perturbation_table
from discreet.errors import SuppressionError
from discreet.protection.parts import PartDecisions, area_shares, measure_parts
from tests.helpers.rows import for_all_rows
from tests.protection.parts.test_part_areas import BY, counted, people

CELLS = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [7013, 7012, 1]})
EVERY = {
    "max_share_small": 0.4321,
    "max_share_unique": 0.0,
    "max_share_grouped": 0.4321,
    "max_share_empty": 0.4321,
    "min_average_size": 4321,
    "max_relative_error": 0.4321,
}


def table(**options: Any) -> Table:
    return Table.from_cells(CELLS, by=["sex"], count="n", name="people", **options)


@for_all_rows(
    ("given", "problem"),
    [
        ({}, "no threshold given"),
        ({"small_up_to": 3}, "no threshold given"),
        ({"max_share_small": 50}, "max_share_small: must be at most 1"),
        ({"max_share_empty": -0.1}, "must be at least 0"),
        ({"max_share_unique": float("nan")}, "must be a number"),
        ({"max_relative_error": float("inf")}, "must be a number"),
        ({"min_average_size": "3"}, "must be a number"),
        ({"max_share_grouped": True}, "must be a number"),
        ({"max_share_small": 0.5, "small_up_to": 0}, "must be at least 1"),
        ({"max_share_small": 0.5, "min_cells": 2.5}, "must be a whole number"),
    ],
)
def test_rules_that_make_no_sense_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(SuppressionError, match=problem):
        PartRules(**given)


def test_all_mistakes_are_told_at_once_and_no_threshold() -> None:
    with pytest.raises(SuppressionError) as caught:
        PartRules(max_share_small=4.321, max_share_empty=-4.321, min_cells=0)
    assert len(caught.value.problems) == 3
    assert "4.321" not in str(caught.value)


def test_rules_are_never_printed() -> None:
    rules = PartRules(**EVERY)
    assert repr(rules) == str(rules) == "<PartRules: secret>"
    assert rules.to_dict() == {**EVERY, "small_up_to": 2, "min_cells": 1}


def test_a_threshold_may_be_reached_but_not_passed() -> None:
    assert check_parts(table(), PartRules(max_share_small=0.5)).outcome == "complete"
    assert check_parts(table(), PartRules(max_share_small=0.49)).outcome == "thinned"
    assert check_parts(table(), PartRules(min_average_size=3506.5)).outcome == "complete"
    assert check_parts(table(), PartRules(min_average_size=3507)).outcome == "thinned"


@for_all_rows("name", EVERY)
def test_each_rule_is_applied_on_its_own(name: str) -> None:
    """One cell of thousands and one of a single record, which break every rule but one."""
    limit = {"max_share_small": 0.4, "max_share_unique": 1e-5, "max_share_grouped": 0.0}
    limit |= {"min_average_size": 5000, "max_relative_error": 0.4}
    limit["max_share_empty"] = 0.4
    alike = name in ("max_share_grouped", "max_share_empty")
    cells = CELLS.with_columns(n=pl.Series([7, 7, 0])) if alike else CELLS
    of = Table.from_cells(cells, by=["sex"], count="n")
    decisions = check_parts(of, PartRules(**{name: limit[name]}), deviation=np.sqrt)
    (reason,) = decisions.parts[0].reasons
    expected = {
        "max_share_small": "small-cells",
        "max_share_unique": "unique-units",
        "max_share_grouped": "group-disclosure",
        "max_share_empty": "empty-cells",
        "min_average_size": "average-size",
        "max_relative_error": "relative-error",
    }
    assert reason.code == expected[name]
    assert reason.text("de") != reason.text("en") != ""


def test_parts_with_few_cells_are_not_judged() -> None:
    assert check_parts(table(), PartRules(max_share_small=0, min_cells=3)).outcome == "complete"
    assert check_parts(table(), PartRules(max_share_small=0, min_cells=2)).outcome == "thinned"


# -- what a log tells ---------------------------------------------------------------------


def log() -> PartDecisions:
    return check_parts(table(), PartRules(**EVERY), deviation=np.sqrt)


def test_a_log_has_no_true_values_and_no_thresholds() -> None:
    told = log().to_json() + log().text() + log().text("de") + repr(log())
    numbers = set(map(float, re.findall(r"\d+(?:\.\d+)?", told)))
    assert numbers <= {0, 1, 2}


def test_a_log_is_read_back_as_it_was_written() -> None:
    data = json.loads(log().to_json())
    again = PartDecisions.from_dict(data)
    assert again == log()
    assert again.to_json() == log().to_json()
    assert data["parts"][0]["reasons"][0]["code"] == "small-cells"
    assert data["parts"][0]["text"]["de"].startswith("sex: gesperrt")


@pytest.mark.parametrize("data", [{}, {"form": 2}, [], {"form": 1, "table": "t"}])
def test_a_damaged_log_is_refused(data: Any) -> None:
    with pytest.raises(SuppressionError, match="log of subtables"):
        PartDecisions.from_dict(data)


def test_a_log_speaks_english_and_german_only() -> None:
    with pytest.raises(SuppressionError, match="use en or de"):
        log().text("fr")


def test_measures_and_cells_are_never_printed() -> None:
    from discreet.protection.parts.measures import part_cells

    cells = part_cells(table(), 2)
    assert "7013" not in repr(cells) + repr(cells.measure((1,)))


# -- what does not fit ----------------------------------------------------------------------


def test_arguments_of_another_kind_are_refused() -> None:
    rules = PartRules(max_share_small=0.5)
    with pytest.raises(SuppressionError, match="expected a Table, got a DataFrame"):
        check_parts(CELLS, rules)  # type: ignore[arg-type]
    with pytest.raises(SuppressionError, match="expected a PartRules, got a dict"):
        check_parts(table(), {"max_share_small": 0.5})  # type: ignore[arg-type]


def test_the_relative_error_needs_the_deviation_of_the_noise() -> None:
    with pytest.raises(SuppressionError, match="needs the standard deviation"):
        check_parts(table(), PartRules(max_relative_error=0.1))


@for_all_rows(
    "deviation", [[1.0], [1.0, -1.0, 1.0], [1.0, float("nan"), 1.0], "much", lambda counts: 1.0]
)
def test_deviations_that_fit_no_cell_are_refused(deviation: Any) -> None:
    with pytest.raises(
        SuppressionError, match="every cell needs a standard deviation of at least 0"
    ):
        check_parts(table(), PartRules(max_relative_error=0.1), deviation=deviation)
    with pytest.raises(
        SuppressionError, match="every cell needs a standard deviation of at least 0"
    ):
        measure_parts(table(), deviation=deviation)


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
