"""Squares of the European grid: codes, nesting, and places on the globe."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.classifications import Classification
from discreet.classifications.grids import (
    SIZES,
    GridSquare,
    geographic,
    grid_coordinates,
    read_squares,
)
from discreet.errors import ClassificationError
from tests.helpers.rows import for_all_rows

places = st.tuples(st.integers(0, 99_999), st.integers(0, 99_999))


@given(st.sampled_from([25, 50, 100, 200, 500, 1_000, 2_000, 10_000, 100_000]), places)
def test_codes_of_both_forms_are_read_back(size: int, place: tuple[int, int]) -> None:
    square = GridSquare(size, *(part * 100 // size * size for part in place))
    assert GridSquare.read(square.code) == GridSquare.read(square.short) == square


@for_all_rows(
    "code",
    ["", "Total", "CRS3035RES1000mN2684100E4334000", "CRS3035RES0mN0E0", "1kmN2684E43341234",
     "CRS3857RES1000mN2684000E4334000", "1kmE4334N2684", "-1kmN2684E4334",
     "99999kmN9999999E9999999", "CRS3035RES99999999mN9999999E9999999"],
)  # fmt: skip
def test_what_is_no_square_is_refused(code: str) -> None:
    with pytest.raises(ClassificationError, match="is not a grid cell"):
        GridSquare.read(code)


def test_all_wrong_codes_are_told_at_once() -> None:
    with pytest.raises(ClassificationError, match="12 codes are not grid cells"):
        read_squares(["100mN26841E43340", *["x"] * 12])


@given(st.lists(places, min_size=1, max_size=8))
def test_a_tree_has_each_square_below_the_one_that_holds_it(some: list[tuple[int, int]]) -> None:
    squares = [GridSquare(100, north * 100, east * 100) for north, east in some]
    tree = Classification.from_squares("square", [square.short for square in squares])
    wanted = {square.within(size).code for square in squares for size in SIZES}
    assert set(tree.codes[1:]) == wanted
    assert len(tree) == len(wanted) + 1
    assert set(tree.leaves) == {square.code for square in squares}
    for code, parent in zip(tree.codes[1:], tree.parents[1:], strict=True):
        square = GridSquare.read(code)
        above = SIZES.index(square.size) - 1
        expected = tree.total if above < 0 else square.within(SIZES[above]).code
        assert tree.codes[parent] == expected
    # Every part of the tree stands together.
    ends = {}
    for at, code in enumerate(tree.codes[1:], 1):
        whole = GridSquare.read(code).within(SIZES[0]).code
        assert ends.get(whole, at - 1) == at - 1
        ends[whole] = at


def test_a_tree_does_not_depend_on_order_or_repeats() -> None:
    codes = ["1kmN2684E4334", "1kmN2684E4335", "1kmN2700E4300"]
    trees = [
        Classification.from_squares("s", each, sizes=[10_000, 1_000])
        for each in (codes, codes[::-1] * 3)
    ]
    assert trees[0] == trees[1]
    assert trees[0].level_names == ("10 km", "1 km")
    assert trees[0].found == "all"


@for_all_rows("sizes", [[], [100, 1_000], [1_000, 300], [True], [0], "100", [1e3]])
def test_sizes_that_do_not_nest(sizes) -> None:
    with pytest.raises(ClassificationError, match="each a multiple of the next"):
        Classification.from_squares("s", ["1kmN2684E4334"], sizes=sizes)


def test_squares_of_another_size() -> None:
    with pytest.raises(
        ClassificationError, match="1 codes are grid cells of another size than 100 m"
    ):
        Classification.from_squares("s", ["1kmN2684E4334", "100mN26840E43340"])
    with pytest.raises(ClassificationError, match="give the codes of grid cells as a list"):
        Classification.from_squares("s", "1kmN2684E4334")


def test_places_are_those_of_the_standard() -> None:
    """IOGP Guidance Note 7-2, Lambert azimuthal equal area: 50° N, 5° E."""
    east, north = grid_coordinates([5.0, 10.0], [50.0, 52.0])
    assert east == pytest.approx([3_962_799.45, 4_321_000], abs=0.005)
    assert north == pytest.approx([2_999_718.85, 3_210_000], abs=0.005)


def test_there_and_back_again_over_all_of_europe() -> None:
    degrees = np.meshgrid(np.linspace(-30, 45, 40), np.linspace(30, 72, 40))
    longitude, latitude = (part.ravel() for part in degrees)
    back = geographic(*grid_coordinates(longitude, latitude))
    assert back[0] == pytest.approx(longitude, abs=1e-9)
    assert back[1] == pytest.approx(latitude, abs=1e-9)
    assert geographic(np.array([4_321_000]), np.array([3_210_000]))[1][0] == pytest.approx(52)


def test_short_codes_stay_short_on_every_level() -> None:
    given = ["100mN26841E43340", "100mN26842E43340", "100mN26951E43340"]
    short = Classification.from_squares("square", given, short=True)
    long = Classification.from_squares("square", given)
    assert set(given) <= set(short.codes)
    assert [GridSquare.read(code).code for code in short.codes[1:]] == list(long.codes[1:])
    assert short.codes[1:3] == ("100kmN26E43", "10kmN268E433")
    halves = Classification.from_squares(
        "square", ["50mN536820E866805"], sizes=[250, 50], short=True
    )
    assert halves.codes[1:] == ("250mN536800E866800", "50mN536820E866805")
