"""The walk from the innermost part outward."""

from __future__ import annotations

from itertools import product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
from hypothesis import given, settings

from discreet import PartRules, PerturbationTable, Table, check_parts, perturb, suppress_parts
from discreet.classifications import Classification
from discreet.protection.parts.levels import PartLattice, levels_of
from discreet.tables import Dimension, ProtectedTable
from discreet.tables.dimension import within

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


def test_the_next_coarser_level_is_released_and_suggested() -> None:
    decisions = check_parts(regions(), PartRules(max_share_small=0.3))
    assert actions(decisions) == {
        (0,): "suppressed",
        (3,): "released",
        (2,): "follows",
        (1,): "follows",
    }
    (suggestion,) = decisions.suggestions
    assert suggestion.text() == "It would pass with region (district)."
    assert suggestion.text("de") == "Sie bestünde mit region (district)."


def test_a_level_two_steps_up_is_found() -> None:
    decisions = check_parts(regions(), PartRules(min_average_size=30))
    assert actions(decisions) == {
        (0,): "suppressed",
        (3,): "suppressed",
        (2,): "released",
        (1,): "follows",
    }
    assert decisions.suggestions[0].text() == "It would pass with region (state)."


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
    """A table with all its margins, counted cell by cell."""
    dimensions = tuple(Dimension(classifications=(tree,)) for tree in trees)
    below = [leaves_below(dimension) for dimension in dimensions]
    at = [
        np.array([dimension.index[code] for code in column], dtype=np.int64)
        for dimension, column in zip(dimensions, columns, strict=True)
    ]
    places, counts = [], []
    for cell in product(*(range(len(dimension)) for dimension in dimensions)):
        inside = np.ones(len(at[0]), dtype=np.bool_)
        for matrix, code, column in zip(below, cell, at, strict=True):
            inside &= matrix[code][column]
        if inside.any():
            places.append(cell)
            counts.append(int(inside.sum()))
    index = np.array(places, dtype=np.int32).reshape(-1, len(trees)).T
    return Table(dimensions=dimensions, index=tuple(index), count=np.array(counts, dtype=np.int64))


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
def test_what_is_coarser_than_a_released_part_is_released(
    table: Table, limits: dict[str, float]
) -> None:
    decisions = check_parts(table, PartRules(**limits))
    lattice = PartLattice.of(table.dimensions)
    assert decisions.released | decisions.suppressed == set(lattice.outward)
    for part in decisions.released:
        assert set(lattice.coarser(part)) <= decisions.released


@given(table=tables(), limits=thresholds)
def test_a_part_is_checked_exactly_if_all_directly_finer_parts_are_suppressed(
    table: Table, limits: dict[str, float]
) -> None:
    decisions = check_parts(table, PartRules(**limits))
    lattice = PartLattice.of(table.dimensions)
    action = actions(decisions)
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


def test_levels_that_nest_cover_every_record() -> None:
    for tree in (*TREES, REGION):
        dimension = Dimension(classifications=(tree,))
        below = leaves_below(dimension)[:, dimension.is_leaf]
        for level in levels_of(dimension).values():
            assert below[level.members].sum(axis=0).tolist() == [1] * len(tree.leaves)
