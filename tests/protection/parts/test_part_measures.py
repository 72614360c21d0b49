"""Disclosure risk and information loss of table parts, against counting by hand."""

import dataclasses
import tracemalloc
from collections import Counter
from itertools import pairwise, product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

from discreet.classifications import Classification
from discreet.protection.parts import PartRules, check_parts, measure_parts
from discreet.protection.parts.levels import PartLattice, levels_of, named_level
from discreet.tables import Dimension, Table
from discreet.tables.dimension import level_numbers, within
from discreet.tabulation import tabulate

PLACE = Classification.from_parents(
    "place", {"N": None, "N1": "N", "N2": "N", "S": None, "S1": "S", "B": None}
)
SEX = Classification.flat("sex", ["m", "w"])

#: Per level, what a record's finest code counts as.
PLACE_LEVELS = {
    "place (level 2)": lambda code: code,
    "place (level 1)": lambda code: {"N1": "N", "N2": "N", "S1": "S"}.get(code, code),
    "": lambda code: "Total",
}
SEX_LEVELS = {"sex": lambda code: code, "": lambda code: "Total"}
SIZES = {"place (level 2)": 4, "place (level 1)": 3, "sex": 2, "": 1}

Record = tuple[str, str]
records_of_places = st.lists(
    st.tuples(st.sampled_from(["N1", "N2", "S1", "B"]), st.sampled_from(["m", "w"])), max_size=25
)


def tabulated(records: list[Record], **options: Any) -> Table:
    """The table place × sex with all its cells."""
    cells: Counter[tuple[str, str]] = Counter()
    for place, sex in records:
        above = {"N1": ["N"], "N2": ["N"], "S1": ["S"]}.get(place, [])
        for cell in product([place, *above, "Total"], [sex, "Total"]):
            cells[cell] += 1
    return from_counts(cells, **options)


def from_counts(cells: dict[tuple[str, str], int], **options: Any) -> Table:
    dimensions = tuple(Dimension(classifications=(tree,)) for tree in (PLACE, SEX))
    ordered = sorted(
        ([d.index[code] for d, code in zip(dimensions, cell, strict=True)], count)
        for cell, count in cells.items()
    )
    index = np.array([place for place, _ in ordered], dtype=np.int32).reshape(-1, 2)
    return Table(
        dimensions=dimensions,
        index=(index[:, 0], index[:, 1]),
        count=np.array([count for _, count in ordered], dtype=np.int64),
        **options,
    )


def share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def groups_alike(records: list[Record], fine: Any, coarse: Any, splits: set[str]) -> float:
    """Share of groups of two and more records whose records are alike, by hand."""
    groups: dict[Any, list[Any]] = {}
    for record in records:
        if coarse(record) != fine(record) and splits & {str(code) for code in coarse(record)}:
            groups.setdefault(coarse(record), []).append(fine(record))
    large = [members for members in groups.values() if len(members) > 1]
    return share(sum(len(set(members)) == 1 for members in large), len(large))


def by_hand(records: list[Record], place_level: str, sex_level: str) -> dict[str, float]:
    place, sex = PLACE_LEVELS[place_level], SEX_LEVELS[sex_level]

    def cell(record: Record) -> Record:
        return place(record[0]), sex(record[1])

    cells = Counter(map(cell, records))
    size = SIZES[place_level] * SIZES[sex_level]
    names = list(PLACE_LEVELS)
    grouped = [0.0]
    if place_level:
        above = PLACE_LEVELS[names[names.index(place_level) + 1]]
        # S has a single code below it, so nothing is told by being in S1.
        splits = {"N"} if place_level == names[0] else {"Total"}
        grouped.append(
            groups_alike(records, lambda r: place(r[0]), lambda r: (above(r[0]),), splits)
            if not sex_level
            else groups_alike(records, cell, lambda r: (above(r[0]), sex(r[1])), splits)
        )
    if sex_level:
        grouped.append(groups_alike(records, cell, lambda r: (place(r[0]), "Total"), {"Total"}))
    return {
        "cells": size,
        "occupied": len(cells),
        "records": len(records),
        "share_small": share(sum(n <= 2 for n in cells.values()), len(cells)),
        "share_unique": share(sum(n == 1 for n in cells.values()), len(records)),
        "share_grouped": max(grouped),
        "share_empty": (size - len(cells)) / size,
        "average_size": share(len(records), len(cells)),
        "relative_error": sum(n**0.5 / n for n in cells.values()) / max(len(cells), 1),
    }


@given(records=records_of_places)
def test_measures_are_what_counting_records_gives(records: list[Record]) -> None:
    measured = measure_parts(tabulated(records), deviation=np.sqrt)
    found = {row.pop("part"): row for row in measured.to_dicts()}
    assert len(found) == 6
    for place_level, sex_level in product(PLACE_LEVELS, SEX_LEVELS):
        name = " × ".join(filter(None, (place_level, sex_level))) or "grand total"
        assert found[name].pop("of") == "table"
        assert found[name] == pytest.approx(by_hand(records, place_level, sex_level)), name


@given(
    records=st.lists(
        st.tuples(*map(st.sampled_from, (["N1a", "N1b", "N2a", "B"], ["x1", "x2", "y1"], "mwd"))),
        min_size=1,
        max_size=25,
    ),
    where=st.sampled_from(["", "sex == 'm'", "sex != 'd'", "age != '4'"]),
    most=st.sampled_from([0.0, 0.3, 0.6]),
    areas=st.sampled_from([None, "sex", "place"]),
)
def test_parts_of_added_up_tables_are_decided_as_those_of_any_cells(
    records: list[tuple[str, str, str]], where: str, most: float, areas: str | None
) -> None:
    people = pl.DataFrame(records, schema=["place", "square", "sex"], orient="row")
    people = people.with_columns(age=(pl.int_range(pl.len()) % 5).cast(pl.String))
    flat = [
        Classification.flat(name, list(codes)) for name, codes in (("sex", "mwd"), ("age", "01234"))
    ]
    by: list[Any] = [grid().classifications, *flat]
    every, own = (tabulate(people, by=by, where=kept or None) for kept in ("", where))
    rules, decided = PartRules(max_share_grouped=most, max_share_unique=most), []
    for added_up in (True, False):
        table, universe = (dataclasses.replace(one, added_up=added_up) for one in (own, every))
        against = universe if where else None
        decided.append(check_parts(table, rules, universe=against, areas=areas).to_dict())
    assert decided[0] == decided[1]


def test_deviations_may_be_given_cell_by_cell() -> None:
    table = tabulated([("N1", "m"), ("N1", "m"), ("B", "w")])
    each = measure_parts(table, deviation=np.sqrt(table.count))
    assert each.equals(measure_parts(table, deviation=np.sqrt))


def test_stored_cells_without_records_count_as_empty() -> None:
    cells = {("Total", "Total"): 3, ("N", "Total"): 3, ("B", "Total"): 0}
    measured = measure_parts(from_counts(cells)).row(5, named=True)
    assert measured["part"] == "grand total"
    states = measure_parts(from_counts(cells)).filter(pl.col("part") == "place (level 1)")
    assert states["occupied"].item() == 1


def test_the_order_of_the_cells_does_not_matter() -> None:
    generator = np.random.default_rng(1)
    records = [
        (str(place), str(sex))
        for place, sex in zip(
            generator.choice(["N1", "N2", "S1", "B"], 200),
            generator.choice(["m", "w"], 200),
            strict=True,
        )
    ]
    table = tabulated(records)
    order = generator.permutation(len(table))
    shuffled = Table(
        dimensions=table.dimensions,
        index=tuple(part[order] for part in table.index),
        count=table.count[order],
    )
    assert measure_parts(shuffled, deviation=np.sqrt).equals(
        measure_parts(table, deviation=np.sqrt)
    )


def test_empty_cells_are_counted_without_making_the_grid() -> None:
    codes = [f"{number:05}" for number in range(5_000)]
    wide = [
        Dimension(classifications=(Classification.from_prefixes(name, codes, [2, 5]),))
        for name in ("from", "to")
    ]
    at = np.array([0, 1, 2, 50], dtype=np.int32)
    table = Table(dimensions=tuple(wide), index=(at, at), count=np.array([9, 5, 2, 1]))
    tracemalloc.start()
    try:
        measured = measure_parts(table, deviation=np.sqrt)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert measured["cells"].max() == 5_000**2
    assert peak < 20_000_000


PLACES = {"N": None, "N1": "N", "N1a": "N1", "N1b": "N1", "N2": "N", "N2a": "N2", "B": None}


def place(**details: object) -> Dimension:
    tree = Classification.from_parents("place", PLACES, **details)  # type: ignore[arg-type]
    return Dimension(classifications=(tree,))


def grid() -> Dimension:
    """Places and squares: two classifications of one variable that do not nest."""
    squares = Classification.from_prefixes("square", ["x1", "x2", "y1"], [1, 2])
    return Dimension(classifications=(place().classifications[0], squares), name="where")


def test_a_code_that_ends_early_stands_on_its_level_and_on_all_finer_ones() -> None:
    dimension = place()
    members = {
        number: [dimension.codes[at] for at in np.flatnonzero(level.members)]
        for number, level in levels_of(dimension).items()
    }
    assert members == {
        0: ["N1a", "N1b", "N2a", "B"],
        3: ["N1", "N2", "B"],
        2: ["N", "B"],
        1: ["Total"],
    }


def test_classifications_that_do_not_nest_have_levels_of_their_own() -> None:
    dimension = grid()
    numbers = dict(zip(dimension.codes, level_numbers(dimension).tolist(), strict=True))
    groups = [["Total"], ["N"], ["N1", "N2"], ["N1a", "N1b", "N2a", "B"], ["x", "y"]]
    groups.append(["x1", "x2", "y1"])
    for codes in groups:
        assert len({numbers[code] for code in codes}) == 1
    assert len({numbers[codes[0]] for codes in groups}) == len(groups)
    levels = levels_of(dimension)
    assert levels[levels[numbers["x1"]].coarser or 0].coarser == numbers["Total"]


def test_leaving_codes_out_moves_no_other_code_to_another_level() -> None:
    dimension = grid()
    keep = np.array([not code.startswith(("N1", "N2")) for code in dimension.codes])
    rest = dimension.restricted(keep)
    before = dict(zip(dimension.codes, level_numbers(dimension).tolist(), strict=True))
    after = dict(zip(rest.codes, level_numbers(rest).tolist(), strict=True))
    assert {code: before[code] for code in after if code != "N"} == {
        code: number for code, number in after.items() if code != "N"
    }


def test_a_part_on_a_level_without_codes_names_no_cell() -> None:
    sex = Dimension(classifications=(Classification.flat("sex", ["m", "w"]),))
    index = [np.array([0, 1, 2], dtype=np.int32)] * 2
    assert not within([sex, sex], index, 3, frozenset({(0, 3)})).any()


@pytest.mark.parametrize("dimensions", [[place(), grid()], [place()] * 3, []])
def test_no_part_comes_before_a_finer_one(dimensions: list[Dimension]) -> None:
    lattice = PartLattice(dimensions)
    order = {part: at for at, part in enumerate(lattice.outward)}
    assert len(order) == np.prod([len(levels) for levels in lattice.levels], dtype=int)
    for part, at in order.items():
        assert all(order[above] > at for above in lattice.coarser(part))
    steps = [lattice.steps(part) for part in lattice.outward]
    assert all(before <= after for before, after in pairwise(steps))


def test_levels_are_called_by_their_names() -> None:
    dimension = place(level_names=("Land", "Kreis", "Gemeinde"), titles={"de": "Gebiet"})
    named = [named_level(dimension, level) for level in levels_of(dimension).values()]
    assert [level.names["de"] for level in named] == [
        "Gebiet (Gemeinde)",
        "Gebiet (Kreis)",
        "Gebiet (Land)",
        "Gebiet",
    ]


def test_levels_without_a_name_are_called_by_their_depth() -> None:
    named = [named_level(grid(), level).names["en"] for level in levels_of(grid()).values()]
    assert named == [
        "place (level 3)",
        "place (level 2)",
        "place (level 1)",
        "square (level 2)",
        "square (level 1)",
        "where",
    ]
