"""Rules on who contributes: counts, zeros, missing categories, requests, shadows."""

from __future__ import annotations

import polars as pl
import pytest

import discreet as dc
from discreet import rules


def firms() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "region": ["N", "N", "N", "S", "S", None],
            "turnover": [0.0, 0.0, None, 50.0, 40.0, 7.0],
            "staff": [5, 5, 5, 1, 99, 1],
            "weight": [1.0, 1.5, 2.0, 4.0, 4.0, 1.0],
        }
    )


def hidden(table: dc.Table, primary: rules.Primary) -> list[str]:
    codes = table.to_polars()[table.dimensions[0].name]
    return codes.filter(pl.Series(primary.sensitive)).to_list()


@pytest.mark.parametrize(
    ("of", "n", "cells"),
    [
        ("records", 3, ["S", "unknown"]),
        ("values", 3, ["N", "S", "unknown"]),
        ("nonzero", 2, ["unknown"]),
        ("weights", 4.6, ["N", "unknown"]),
    ],
)
def test_what_minimum_frequency_counts(of: str, n: float, cells: list[str]) -> None:
    table = dc.tabulate(
        firms(), by=["region"], values=["turnover"], weight="weight", contributions=1
    )
    missing = table.dimensions[0].classifications[0].missing
    primary = dc.primary(table, [rules.MinimumFrequency(n, of=of)], value="turnover")
    assert hidden(table, primary) == [missing if code == "unknown" else code for code in cells]


def test_the_levels_of_a_minimum_frequency_are_a_share_but_at_least_one_unit() -> None:
    people = pl.DataFrame({"region": ["N"] * 2 + ["S"] * 8 + ["W"] * 20})
    table = dc.tabulate(people, by=["region"])
    primary = dc.primary(table, [rules.MinimumFrequency(10, safety_range=30)])
    assert primary.upper.tolist() == [0, 1, 2.4, 0]
    assert primary.lower.tolist() == primary.upper.tolist()


def test_zeros_of_respondents_tell_about_them() -> None:
    table = dc.tabulate(firms(), by=["region"], values=["turnover"], contributions=1)
    primary = dc.primary(table, [rules.ZeroUnsafe(10)], value="turnover")
    assert hidden(table, primary) == ["N"]
    assert (primary.lower[1], primary.upper[1]) == (0, 10)
    assert primary.numbers() == {"zero": 1}


def test_values_that_cancel_out_are_no_zeros_of_respondents() -> None:
    frame = pl.DataFrame({"x": [5, -5]})
    table = dc.tabulate(frame, by=[], values=["x"], contributions=1)
    assert not dc.primary(table, [rules.ZeroUnsafe(10)], value="x").sensitive.any()


def test_missing_categories_can_be_let_go_but_not_what_is_marked_by_hand() -> None:
    table = dc.tabulate(firms(), by=["region"])
    missing = table.dimensions[0].classifications[0].missing
    listed = [rules.MissingSafe(), rules.MinimumFrequency(3)]
    assert hidden(table, dc.primary(table, listed)) == ["S"]
    mark = rules.Mark(cells={"region": missing}, status="unsafe")
    assert hidden(table, dc.primary(table, listed, marks=[mark])) == ["S", missing]


def test_the_marginal_rule_looks_at_the_next_margin_of_every_variable() -> None:
    people = pl.DataFrame(
        {"state": ["N"] * 10 + ["S"] * 10, "town": ["n1"] * 9 + ["n2"] + ["s1"] * 5 + ["s2"] * 5}
    )
    place = dc.Classification.from_levels(people, name="place", columns=["state", "town"])
    table = dc.tabulate(people, by=[place])
    assert hidden(table, dc.primary(table, [rules.MarginalRule(1)])) == ["n1"]
    assert hidden(table, dc.primary(table, [rules.MarginalRule(0)])) == []
    assert hidden(table, dc.primary(table, [rules.MarginalRule(5)])) == ["n1", "s1", "s2"]


def test_an_only_child_is_its_parent_and_says_nothing_about_it() -> None:
    place = dc.Classification.from_parents("place", {"N": None, "n1": "N", "S": None, "s1": "S"})
    people = pl.DataFrame({"place": ["n1"] * 10 + ["s1"] * 10})
    table = dc.tabulate(people, by=[place])
    assert not dc.primary(table, [rules.MarginalRule(1)]).sensitive.any()


def test_who_asked_for_protection_gets_it_where_large() -> None:
    trade = pl.DataFrame(
        {
            "good": ["a", "a", "b", "b", "c", "c", "c"],
            "value": [80, 20, 80, 20, 40, 30, 30],
            "asked": ["no", "yes", "yes", "no", "yes", "no", "no"],
        }
    )
    options = {"by": ["good"], "values": ["value"], "contributions": 1}
    table = dc.tabulate(trade, **options)
    asked = dc.tabulate(trade, where="asked == 'yes'", **options)
    rule = rules.Request(percent=70, asked=asked)
    primary = dc.primary(table, [rule], value="value")
    assert hidden(table, primary) == ["b"]
    assert primary.upper[2] == 20
    few = rules.Request(percent=70, asked=asked, minimum=3)
    assert hidden(table, dc.primary(table, [few], value="value")) == ["a", "b"]
    some = dc.tabulate(trade, where="good == 'b' and asked == 'yes'", **options)
    limit = rules.Request(percent=80, asked=some, ties="sensitive")
    assert hidden(table, dc.primary(table, [limit], value="value")) == ["b"]


def test_rules_can_look_at_a_shadow_and_levels_follow_in_proportion() -> None:
    table = dc.tabulate(
        firms(), by=["region"], values=["turnover", "staff"], contributions={"staff": 2}
    )
    primary = dc.primary(
        table, [rules.Dominance(n=1, k=90), rules.MissingSafe()], value="turnover", shadow="staff"
    )
    assert hidden(table, primary) == ["S"]
    south = primary.upper[primary.sensitive][0]
    assert south == pytest.approx((100 * 99 / 90 - 100) / 100 * 90)


def test_a_table_of_several_parts_of_a_variable_knows_its_parents() -> None:
    state = dc.Classification.from_parents("place", {"N": None, "S": None})
    zone = dc.Classification.flat("zone", ["z1", "z2"])
    frame = pl.DataFrame({"place": ["N"] * 6 + ["S"] * 6, "zone": ["z1"] * 11 + ["z2"]})
    table = dc.tabulate(frame, by=[[state, zone]])
    assert hidden(table, dc.primary(table, [rules.MarginalRule(1)])) == ["z1"]


def test_a_table_without_variables_has_one_cell() -> None:
    table = dc.tabulate(firms(), by=[])
    primary = dc.primary(table, [rules.MinimumFrequency(7), rules.MarginalRule(3)])
    assert primary.numbers() == {"minimum-frequency": 1}


def test_a_table_without_cells_has_no_primaries() -> None:
    table = dc.tabulate(firms().clear(), by=["region"], values=["turnover"], contributions=2)
    listed = [rules.MinimumFrequency(3), rules.MarginalRule(), rules.PPercent(10)]
    assert len(dc.primary(table, listed, value="turnover")) == len(table) == 0


def test_primaries_as_a_frame_and_their_reasons_in_words() -> None:
    table = dc.tabulate(firms(), by=["region"])
    primary = dc.primary(table, [rules.MinimumFrequency(3)])
    frame = primary.to_polars(table)
    assert frame.filter(pl.col("region") == "S").rows() == [
        ("S", "sensitive", "minimum-frequency", 1.0, 1.0, 0.0)
    ]
    assert rules.Reason(1).text("de") == "Mindestfallzahl"
    assert "" not in {each.text() for each in rules.Reason.all()}


@pytest.mark.parametrize(("rest", "found"), [(10**9 - 1, True), (10**9, False)])
def test_the_last_unit_decides_on_large_amounts(rest: int, found: bool) -> None:
    """What counts as a tie is as narrow as the arithmetic allows."""
    frame = pl.DataFrame({"firm": ["A", "B"], "turnover": [10.0**9, float(rest)]})
    table = dc.tabulate(frame, by=[], values=["turnover"], contributions=2)
    primary = dc.primary(table, [dc.rules.Dominance(n=1, k=50)], value="turnover")
    assert primary.sensitive.tolist() == [found]
