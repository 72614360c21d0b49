"""Filters: a table cannot be had in slices that would not be released as a whole."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

from discreet import PartRules, Table, check_parts
from discreet.classifications import Classification
from discreet.errors import SuppressionError
from discreet.protection.parts import measure_parts
from tests.helpers.rows import for_all_rows

SEX = Classification.flat("sex", ["m", "w"])
AGE = Classification.flat("age", ["0", "18", "65"])
PLACE = Classification.flat("place", ["a", "b", "c", "d"])
TREES = {"place": PLACE, "sex": SEX, "age": AGE}


def count(people: pl.DataFrame, by: list[str], where: str = "", kept: Any = None) -> Table:
    """The table over some variables, of those people that the filter keeps."""
    kept = people if kept is None else people.filter(kept)
    cells = [kept.group_by(by).agg(n=pl.len())]
    for at in range(len(by)):
        margins = [
            frame.with_columns(pl.lit("Total").alias(by[at])).group_by(by).agg(pl.col("n").sum())
            for frame in cells
        ]
        cells += margins
    every = pl.concat([frame.select(*by, pl.col("n").cast(pl.Int64)) for frame in cells])
    name = "filtered" if where else "table"
    return Table.from_cells(every, by=[TREES[v] for v in by], count="n", where=where, name=name)


def crowd(size: int, seed: int) -> pl.DataFrame:
    generator = np.random.default_rng(seed)
    shares = {"place": [0.6, 0.2, 0.15, 0.05], "sex": [0.5, 0.5], "age": [0.2, 0.6, 0.2]}
    return pl.DataFrame(
        {
            name: generator.choice(TREES[name].leaves, size, p=share)
            for name, share in shares.items()
        }
    )


def inner_released(decisions: Any) -> bool:
    return decisions.parts[0].action != "suppressed"


risks = st.fixed_dictionaries(
    {},
    optional={
        "max_share_small": st.floats(0, 0.9),
        "max_share_unique": st.floats(0, 0.9),
        "max_share_grouped": st.floats(0, 0.9),
        "min_cells": st.sampled_from([1, 10]),
    },
).filter(lambda limits: any(name.startswith("max") for name in limits))


@given(
    variable=st.sampled_from(["sex", "age", "place"]),
    size=st.integers(5, 150),
    seed=st.integers(0, 1_000),
    limits=risks,
)
def test_a_blocked_table_cannot_be_had_by_filters_that_partition_it(
    variable: str, size: int, seed: int, limits: dict[str, Any]
) -> None:
    """One table per category of a variable would be the table with that variable."""
    people = crowd(size, seed)
    others = [name for name in TREES if name != variable]
    rules = PartRules(**limits)
    whole = check_parts(count(people, [variable, *others]), rules)
    universe = count(people, others)
    slices = [
        check_parts(
            count(people, others, f"{variable} == '{code}'", pl.col(variable) == code),
            rules,
            universe=universe,
        )
        for code in TREES[variable].leaves
        if people.filter(pl.col(variable) == code).height
    ]
    if not inner_released(whole):
        assert not all(map(inner_released, slices))


@given(size=st.integers(5, 150), seed=st.integers(0, 1_000), limits=risks)
def test_if_there_are_two_slices_neither_is_released(
    size: int, seed: int, limits: dict[str, Any]
) -> None:
    """Each is what the filter of the other leaves out."""
    people = crowd(size, seed)
    rules = PartRules(**limits)
    whole = check_parts(count(people, ["place", "sex", "age"]), rules)
    universe = count(people, ["place", "age"])
    slices = [
        check_parts(
            count(people, ["place", "age"], f"sex == '{code}'", pl.col("sex") == code),
            rules,
            universe=universe,
        )
        for code in SEX.leaves
        if people.filter(pl.col("sex") == code).height
    ]
    if not inner_released(whole):
        assert not any(map(inner_released, slices))


@for_all_rows("seed", range(2))
def test_cutting_a_blocked_table_by_its_own_variable_gives_none_of_it(seed: int) -> None:
    people = crowd(60, seed)
    rules = PartRules(max_share_small=0.25)
    table = count(people, ["place", "age"])
    assert not inner_released(check_parts(table, rules))
    for code in PLACE.leaves:
        piece = count(people, ["place", "age"], f"place == '{code}'", pl.col("place") == code)
        if len(piece):
            decisions = check_parts(piece, rules, universe=table)
            assert not inner_released(decisions)
            assert "universe" in {reason.of for reason in decisions.parts[0].reasons}


def test_a_filter_that_leaves_few_out_is_refused_for_the_difference() -> None:
    """All but one person: with the whole table, that person could be told."""
    people = pl.DataFrame({"place": ["a"] * 40 + ["b"] * 41, "sex": "m", "age": "18"})
    people = people.with_columns(
        sex=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("w")).otherwise("sex")
    )
    rules = PartRules(max_share_small=0.4)
    table = count(people, ["place"], "sex == 'm'", pl.col("sex") == "m")
    decisions = check_parts(table, rules, universe=count(people, ["place"]))
    assert {reason.of for reason in decisions.parts[0].reasons} == {"difference"}
    assert "among the records that the filter excludes: too many cells" in decisions.text()
    waived = check_parts(table, rules, universe="none")
    assert waived.outcome == "complete"
    assert waived.universe == "none"
    assert "It was not checked without its filter." in waived.text()


def test_a_filter_that_all_or_none_of_a_group_pass_tells_who_passes() -> None:
    """Everyone in a is a man: the table of men by place says so, beside the whole one."""
    people = pl.DataFrame({"place": ["a"] * 40 + ["b"] * 40, "sex": ["m"] * 40 + ["m", "w"] * 20})
    table = count(people, ["place"], "sex == 'm'", pl.col("sex") == "m")
    universe = count(people, ["place"])
    decisions = check_parts(table, PartRules(max_share_grouped=0.4), universe=universe)
    assert [(reason.code, reason.of) for reason in decisions.parts[0].reasons] == [
        # The women are all in b: seen by place, those that the filter leaves out are alike.
        ("group-disclosure", "difference"),
        ("group-disclosure", "filter"),
    ]
    assert decisions.parts[1].action == "released"


def test_a_filter_on_a_spanning_variable_tells_nothing_by_itself() -> None:
    """That all of age 18 and none of age 0 are adults is what the words say."""
    people = crowd(2_000, 4)
    rules = PartRules(max_share_grouped=0.2)
    universe = count(people, ["place", "age"])
    adults = pl.col("age") != "0"
    named = count(people, ["place", "age"], "age in ('18', '65')", adults)
    assert check_parts(named, rules, universe=universe).outcome == "complete"
    in_words = count(people, ["place", "age"], "adults only", adults)
    assert check_parts(in_words, rules, universe=universe).outcome != "complete"


def test_few_cells_excuse_no_filtered_table() -> None:
    people = crowd(12, 3)
    rules = PartRules(max_share_small=0.1, min_cells=1_000)
    assert check_parts(count(people, ["place"]), rules).outcome == "complete"
    table = count(people, ["place"], "sex == 'm'", pl.col("sex") == "m")
    assert not inner_released(check_parts(table, rules, universe=count(people, ["place"])))
    assert not inner_released(check_parts(table, rules, universe="none"))


def test_codes_that_only_the_universe_has_are_understood() -> None:
    """With codes found in the data, a filtered table lists fewer."""
    found = [
        Table.from_cells(pl.DataFrame(cells), by=["sex"], count="n", where=where)
        for cells, where in (
            ({"sex": ["Total", "m", "w"], "n": [9, 5, 4]}, ""),
            ({"sex": ["Total", "w"], "n": [3, 3]}, "age >= 65"),
        )
    ]
    measured = measure_parts(found[1], universe=found[0])
    assert measured.select("part", "of", "records", "cells").rows() == [
        ("sex", "table", 3, 1),
        ("sex", "universe", 9, 2),
        ("sex", "difference", 6, 2),
        ("grand total", "table", 3, 1),
        ("grand total", "universe", 9, 1),
        ("grand total", "difference", 6, 1),
    ]


def test_a_filter_that_keeps_nobody_or_everybody_is_no_error() -> None:
    people = crowd(40, 1)
    universe = count(people, ["place"])
    same = count(people, ["place"], "age >= '0'", pl.lit(value=True))
    rules = PartRules(max_share_small=0.5)
    assert check_parts(same, rules, universe=universe).outcome == "complete"
    nobody = Table(
        dimensions=universe.dimensions,
        index=(np.zeros(0, dtype=np.int32),),
        count=np.zeros(0, dtype=np.int64),
        where="age == '99'",
    )
    assert check_parts(nobody, rules, universe=universe).outcome == "complete"


# -- what is no universe ----------------------------------------------------------------


def refused(table: Table, universe: Any) -> str:
    with pytest.raises(SuppressionError) as caught:
        check_parts(table, PartRules(max_share_small=0.5), universe=universe)
    return str(caught.value)


def test_a_filtered_table_needs_its_universe_or_a_waiver() -> None:
    people = crowd(40, 1)
    table = count(people, ["place"], "sex == 'm'", pl.col("sex") == "m")
    assert "universe='none'" in refused(table, None)
    assert 'universe must be the table without the filter, or "none"' in refused(table, "all")


def test_a_universe_has_no_filter_and_the_same_variables_and_codes() -> None:
    people = crowd(40, 1)
    table = count(people, ["place"], "sex == 'm'", pl.col("sex") == "m")
    assert "the population has a filter" in refused(table, table)
    assert "other variables" in refused(table, count(people, ["age"]))
    fewer = Classification.flat("place", ["a", "b"])
    cells = pl.DataFrame({"place": ["Total", "a"], "n": [9, 9]})
    assert "other codes" in refused(table, Table.from_cells(cells, by=[fewer], count="n"))
    only_inner = pl.DataFrame({"place": ["a"], "n": [9]})
    assert "the population lacks subtables of the table" in refused(
        table, Table.from_cells(only_inner, by=[PLACE], count="n")
    )


def test_records_outside_the_universe_are_an_error_without_numbers() -> None:
    people = crowd(40, 1)
    table = count(people, ["place"], "sex == 'm'", pl.col("sex") == "m")
    universe = count(people.head(7), ["place"])
    message = refused(table, universe)
    assert "the table counts records outside its population" in message
    assert not any(character.isdigit() for character in message)
