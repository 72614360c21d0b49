"""Levels of the spanning variables and the order of table parts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from discreet.classifications import Classification
from discreet.protection.parts.levels import PartLattice, levels_of, named_level
from discreet.tables import Dimension
from discreet.tables.dimension import level_numbers, within

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


def test_every_level_above_another_is_coarser() -> None:
    levels = levels_of(place())
    assert [level.coarser for level in levels.values()] == [3, 2, 1, None]
    assert [level.steps for level in levels.values()] == [0, 1, 2, 3]


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
    lattice = PartLattice.of(dimensions)
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
