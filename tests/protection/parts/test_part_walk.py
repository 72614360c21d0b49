"""The walk from the innermost part outward."""

from dataclasses import replace
from itertools import product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from discreet import PartRules, PerturbationTable, Table, check_parts, perturb, suppress_parts
from discreet.classifications import Classification
from discreet.errors import SuppressionError
from discreet.protection.parts import measure_parts
from discreet.protection.parts.levels import PartLattice
from discreet.tables import Dimension, ProtectedTable
from discreet.tables.dimension import within
from discreet.tabulation import tabulate
from tests.helpers.rows import for_all_rows

TYPE = Classification.flat(
    "type", ["house", "flats", "hostel"], titles={"en": "building type", "de": "Gebäudetyp"}
)
KIND = Classification.flat(
    "kind",
    ["residential", "other"],
    titles={"en": "kind of building", "de": "Art des Gebäudes"},
)


def actions(decisions: Any) -> dict[tuple[int, ...], str]:
    return {each.part: each.action for each in decisions.parts}


# -- the example of the census ---------------------------------------------------------


def buildings() -> Table:
    """Two of three building types are rare; 0.5 as key leaves a count, 0.95 adds 2."""
    rows = [
        ("Total", "Total", 1240, 0.95),
        ("Total", "residential", 1034, 0.5),
        ("Total", "other", 206, 0.5),
        ("house", "Total", 1237, 0.5),
        ("house", "residential", 1032, 0.5),
        ("house", "other", 205, 0.5),
        ("flats", "Total", 1, 0.5),
        ("flats", "residential", 1, 0.5),
        ("hostel", "Total", 2, 0.5),
        ("hostel", "residential", 1, 0.5),
        ("hostel", "other", 1, 0.5),
    ]
    cells = pl.DataFrame(rows, schema=["type", "kind", "n", "key"], orient="row")
    return Table.from_cells(cells, by=[TYPE, KIND], count="n", cell_key="key", name="buildings")


def published(table: Table, rules: PartRules) -> ProtectedTable:
    ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {0: 0.9, 2: 0.1}})
    return suppress_parts(perturb(table, ptable), check_parts(table, rules))


def test_only_the_kinds_of_building_and_the_total_are_shown() -> None:
    safe = published(buildings(), PartRules(max_share_small=0.5))
    assert safe.get("Total", "residential") == 1034
    assert safe.get("Total", "other") == 206
    assert safe.get("Total", "Total") == 1242
    shown = safe.to_polars(complete=True).filter(pl.col("value").is_not_null())
    assert shown.select("type", "kind").rows() == [
        ("Total", "Total"),
        ("Total", "residential"),
        ("Total", "other"),
    ]
    assert safe.to_polars(complete=True)["status"].to_list().count("suppressed") == 9


def test_the_walk_through_the_four_parts_is_told_in_both_languages() -> None:
    decisions = check_parts(buildings(), PartRules(max_share_small=0.5))
    assert decisions.outcome == "thinned"
    assert decisions.text("en").splitlines() == [
        "Table buildings is partly published.",
        "1. building type × kind of building: suppressed (too many cells with very few records)",
        "2. building type: suppressed (too many cells with very few records)",
        "3. kind of building: published",
        "4. grand total: published without a check, as the sum of a published subtable",
        "It would pass without building type.",
    ]
    assert decisions.text("de").splitlines() == [
        "Tabelle buildings wird teilweise veröffentlicht.",
        "1. Gebäudetyp × Art des Gebäudes: gesperrt (zu viele sehr kleine Felder)",
        "2. Gebäudetyp: gesperrt (zu viele sehr kleine Felder)",
        "3. Art des Gebäudes: wird veröffentlicht",
        "4. Gesamtsumme: wird ohne Prüfung veröffentlicht, als Summe eines veröffentlichten Teils",
        "Sie bestünde ohne Gebäudetyp.",
    ]


def test_if_the_innermost_part_passes_nothing_else_is_checked() -> None:
    # The margin "hostel" would break the rule, had it been checked.
    decisions = check_parts(buildings(), PartRules(max_share_small=0.7))
    assert list(actions(decisions).values()) == ["released", "follows", "follows", "follows"]
    assert decisions.outcome == "complete"
    assert decisions.suggestions == ()


def test_a_table_that_fails_to_the_grand_total_is_blocked() -> None:
    decisions = check_parts(buildings(), PartRules(min_average_size=5_000))
    assert decisions.outcome == "blocked"
    assert set(actions(decisions).values()) == {"suppressed"}
    assert decisions.suggestions == ()
    safe = published(buildings(), PartRules(min_average_size=5_000))
    assert safe.stored == 0
    assert set(safe.to_polars(complete=True)["status"]) == {"suppressed"}


# -- hierarchies, alternatives, missing parts -------------------------------------------

REGION = Classification.from_parents(
    "region",
    {"N": None, "N1": "N", "N1a": "N1", "N1b": "N1", "N2": "N", "N2a": "N2", "N2b": "N2"},
    level_names=("state", "district", "place"),
)


def regions() -> Table:
    rows = [("Total", 40), ("N", 40), ("N1", 20), ("N2", 20)]
    rows += [("N1a", 1), ("N1b", 19), ("N2a", 2), ("N2b", 18)]
    cells = pl.DataFrame(rows, schema=["region", "n"], orient="row")
    return Table.from_cells(cells, by=[REGION], count="n", name="regions")


def test_the_next_coarser_level_that_passes_is_released_and_suggested() -> None:
    decisions = check_parts(regions(), PartRules(max_share_small=0.3))
    told = ["suppressed", "released", "follows", "follows"]
    assert actions(decisions) == dict(zip([(0,), (3,), (2,), (1,)], told, strict=True))
    (suggestion,) = decisions.suggestions
    assert suggestion.text() == "It would pass with region (district)."
    assert suggestion.text("de") == "Sie bestünde mit region (district)."
    higher = check_parts(regions(), PartRules(min_average_size=30))
    told = ["suppressed", "suppressed", "released", "follows"]
    assert actions(higher) == dict(zip([(0,), (3,), (2,), (1,)], told, strict=True))
    assert higher.suggestions[0].text() == "It would pass with region (state)."


def test_classifications_that_do_not_nest_are_walked_apart() -> None:
    place = Classification.flat("place", ["a", "b"])
    square = Classification.flat("square", ["x", "y", "z"])
    rows = [("Total", 20), ("a", 10), ("b", 10), ("x", 1), ("y", 1), ("z", 18)]
    cells = pl.DataFrame(rows, schema=["place", "n"], orient="row")
    table = Table.from_cells(cells, by=[[place, square]], count="n", cell_key=None)
    decisions = check_parts(table, PartRules(max_share_small=0.3))
    assert {each.name(): each.action for each in decisions.parts} == {
        "place": "released",
        "square": "suppressed",
        "grand total": "follows",
    }
    hidden = within(table.dimensions, table.index, len(table), decisions.suppressed)
    codes = [table.dimensions[0].codes[at] for at in table.index[0][hidden]]
    assert codes == ["x", "y", "z"]


def test_parts_that_were_not_handed_in_are_not_decided_on() -> None:
    cells = pl.DataFrame({"type": ["house", "flats"], "kind": "Total", "n": [9, 1]})
    table = Table.from_cells(cells, by=[TYPE, KIND], count="n")
    decisions = check_parts(table, PartRules(max_share_small=0.1))
    assert actions(decisions) == {(0, 1): "suppressed"}
    assert decisions.outcome == "blocked"


def test_a_table_without_variables_is_its_grand_total() -> None:
    table = Table(dimensions=(), index=(), count=np.array([2]))
    assert check_parts(table, PartRules(max_share_small=0)).outcome == "blocked"
    assert check_parts(table, PartRules(max_share_small=0, small_up_to=1)).outcome == "complete"


def test_suggestions_change_as_little_as_possible() -> None:
    """Ten by three by three cells of one record: without the ten, or without both threes."""
    trees = [
        Classification.flat(name, [f"{name}{code}" for code in range(size)])
        for name, size in (("b", 3), ("a", 10), ("c", 3))
    ]
    every = list(product(*(tree.leaves for tree in trees)))
    table = counted(trees, [list(column) for column in zip(*every, strict=True)])
    decisions = check_parts(table, PartRules(min_average_size=5))
    assert [suggestion.changed for suggestion in decisions.suggestions] == [("a",), ("b", "c")]
    assert decisions.suggestions[1].text() == "It would pass without b and without c."
    for suggestion in decisions.suggestions:
        part = tuple(level.number for level in suggestion.levels)
        assert actions(decisions)[part] == "released"


# -- what holds for every table -----------------------------------------------------------


def counted(trees: list[Classification], columns: list[Any]) -> Table:
    """A table with all its margins."""
    names = [tree.name for tree in trees]
    return tabulate(pl.DataFrame(dict(zip(names, columns, strict=True))), by=trees)


def leaves_below(dimension: Dimension) -> Any:
    """Codes × codes: which stand below which, or are the same."""
    matrix = np.eye(len(dimension), dtype=np.bool_)
    for at in range(len(dimension) - 1, 0, -1):
        matrix[dimension.parents[at]] |= matrix[at]
    return matrix


thresholds = st.fixed_dictionaries(
    {},
    optional={
        "max_share_small": st.floats(0, 1),
        "max_share_unique": st.floats(0, 1),
        "max_share_grouped": st.floats(0, 1),
        "max_share_empty": st.floats(0, 1),
        "min_average_size": st.floats(0, 20),
    },
).filter(bool)

TREES = [
    Classification.from_parents(
        "place", {"N": None, "N1": "N", "N2": "N", "S": None, "S1": "S", "S2": "S"}
    ),
    Classification.flat("sex", ["m", "w"]),
    Classification.flat("age", ["0", "18", "65"]),
]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    size = draw(st.integers(1, 30))
    columns = [
        draw(st.lists(st.sampled_from(tree.leaves), min_size=size, max_size=size)) for tree in TREES
    ]
    return counted(TREES, columns)


@given(table=tables(), limits=thresholds)
def test_what_is_coarser_than_a_released_part_is_released_and_nothing_else_unchecked(
    table: Table, limits: dict[str, float]
) -> None:
    """A part is checked exactly if all directly finer parts are suppressed."""
    decisions = check_parts(table, PartRules(**limits))
    lattice, action = PartLattice(table.dimensions), actions(decisions)
    assert decisions.released | decisions.suppressed == set(lattice.outward)
    for part in decisions.released:
        assert set(lattice.coarser(part)) <= decisions.released
    for part, what in action.items():
        finer = [action[each] for each in lattice.outward if part in lattice.coarser(each)]
        assert (what != "follows") == all(each == "suppressed" for each in finer)


@settings(max_examples=15)
@given(table=tables(), limits=thresholds)
def test_no_suppressed_cell_can_be_computed_from_released_ones(
    table: Table, limits: dict[str, float]
) -> None:
    """Not by any sums and differences of released cells, were they without noise.

    A cell is the sum of the innermost cells below it: a row of zeros and ones. What can
    be computed from released cells is what their rows span.
    """
    decisions = check_parts(table, PartRules(**limits))
    if decisions.outcome != "thinned":
        return
    inner = [leaves_below(d)[:, d.is_leaf] for d in table.dimensions]
    rows = np.ones((1, 1))
    for matrix in inner:
        rows = np.einsum("ab,cd->acbd", rows, matrix).reshape(
            len(rows) * len(matrix), rows.shape[1] * matrix.shape[1]
        )
    index = np.array(list(product(*(range(len(d)) for d in table.dimensions))), dtype=np.int32).T
    hidden = within(table.dimensions, list(index), len(rows), decisions.suppressed)
    released = rows[~hidden]
    basis = np.linalg.svd(released, full_matrices=False)
    spanned = basis.Vh[basis.S > 1e-9]
    left = rows[hidden] - rows[hidden] @ spanned.T @ spanned
    assert np.linalg.norm(left, axis=1).min() > 1e-6


SEX = Classification.flat("sex", ["m", "w"])
AGE = Classification.flat("age", ["0", "18", "65"])
PLACE = Classification.flat("place", ["a", "b", "c", "d"])
FILTERED_TREES = {"place": PLACE, "sex": SEX, "age": AGE}


def count(people: pl.DataFrame, by: list[str], where: str = "", kept: Any = None) -> Table:
    """The table over some variables, of those people that the filter keeps."""
    kept = people if kept is None else people.filter(kept)
    table = tabulate(kept, by=[FILTERED_TREES[v] for v in by])
    return replace(table, where=where, name="filtered" if where else "table")


def crowd(size: int, seed: int) -> pl.DataFrame:
    generator = np.random.default_rng(seed)
    shares = {"place": [0.6, 0.2, 0.15, 0.05], "sex": [0.5, 0.5], "age": [0.2, 0.6, 0.2]}
    return pl.DataFrame(
        {
            name: generator.choice(FILTERED_TREES[name].leaves, size, p=share)
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


def in_slices(
    people: pl.DataFrame, variable: str, limits: dict[str, Any]
) -> tuple[bool, list[bool]]:
    """Whether the inner part of a table is released, and those of one table per category."""
    others = [name for name in FILTERED_TREES if name != variable]
    rules, universe = PartRules(**limits), count(people, others)
    slices = [
        check_parts(
            count(people, others, f"{variable} == '{code}'", pl.col(variable) == code),
            rules,
            universe=universe,
        )
        for code in FILTERED_TREES[variable].leaves
        if people.filter(pl.col(variable) == code).height
    ]
    whole = check_parts(count(people, [variable, *others]), rules)
    return inner_released(whole), list(map(inner_released, slices))


@given(
    variable=st.sampled_from(["sex", "age", "place"]),
    size=st.integers(5, 150),
    seed=st.integers(0, 1_000),
    limits=risks,
)
def test_a_blocked_table_cannot_be_had_by_filters_that_partition_it(
    variable: str, size: int, seed: int, limits: dict[str, Any]
) -> None:
    """One table per category of a variable would be the table with that variable.

    Of two slices each is what the filter of the other leaves out: neither is released.
    """
    whole, slices = in_slices(crowd(size, seed), variable, limits)
    assert whole or not (any if variable == "sex" else all)(slices)


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
