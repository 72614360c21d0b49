"""Numbers of cells: one for each, in order, found again, and never wrapped round."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.arrays import CellIndex, find_numbers, find_sorted, starts
from discreet.errors import SuppressionError, TableError

SIZES = st.lists(st.integers(1, 2**31 - 1), max_size=6).map(tuple)


@st.composite
def listed_cells(draw, sizes=SIZES):
    """A grid and some of its cells, as positions."""
    grid = CellIndex(draw(sizes))
    cell = st.tuples(*(st.integers(0, size - 1) for size in grid.sizes))
    cells = draw(st.lists(cell, min_size=1, max_size=12))
    return grid, cells


def columns(grid, cells):
    """Cells as one array of positions per variable."""
    rows = np.array(cells, dtype=np.int64).reshape(len(cells), len(grid.sizes))
    return [part.astype(np.int32) for part in rows.T]


@given(listed_cells(st.lists(st.integers(1, 900), max_size=6).map(tuple)))
def test_positions_undo_numbers(drawn):
    grid, cells = drawn
    index = columns(grid, cells)
    numbers = grid.numbers(index, len(cells))
    assert ((numbers >= 0) & (numbers < grid.size)).all()
    for variable, (own, again) in enumerate(zip(index, grid.positions(numbers), strict=True)):
        assert (own == again).all()
        assert (own == grid.position(numbers, variable)).all()


@given(listed_cells())
def test_numbers_are_in_the_order_of_the_codes(drawn):
    grid, cells = drawn
    numbers, bound = grid.joined(columns(grid, cells), len(cells))
    assert sorted(cells) == [cells[at] for at in np.argsort(numbers, kind="stable")]
    assert int(numbers.max()) < bound


@given(listed_cells())
def test_the_same_cell_has_the_same_number_and_no_other(drawn):
    grid, cells = drawn
    numbers, bound = grid.joined(columns(grid, cells), len(cells))
    assert len(dict(zip(cells, numbers.tolist(), strict=True))) == len(set(numbers.tolist()))
    if grid.fits:
        assert (numbers == grid.numbers(columns(grid, cells), len(cells))).all()
        assert bound == grid.size


@given(listed_cells(), st.data())
def test_cells_are_found_where_they_stand(drawn, data):
    grid, cells = drawn
    known = data.draw(st.permutations(sorted(set(cells))))
    known = known[: data.draw(st.integers(0, len(known)))]
    lengths = (len(known), len(cells))
    found = grid.find(columns(grid, known), columns(grid, cells), lengths)
    assert found.tolist() == [known.index(cell) if cell in known else -1 for cell in cells]


@given(listed_cells(st.lists(st.integers(1, 5), max_size=4).map(tuple)))
def test_every_cell_stands_once_in_the_grid(drawn):
    grid, _ = drawn
    every = grid.every()
    assert (grid.numbers(every, grid.size) == np.arange(grid.size)).all()
    half = grid.size // 2
    for part, first, rest in zip(every, grid.every(0, half), grid.every(half), strict=True):
        assert (part == np.concatenate([first, rest])).all()


def test_strides_are_steps_between_neighbouring_codes():
    assert CellIndex((4, 3, 2)).strides == (6, 2, 1)
    assert CellIndex(()).strides == ()
    assert CellIndex(()).size == 1


@pytest.mark.parametrize("sizes", [(2**62,), (2**31, 2**31), (2**40, 2**40), (3,) * 40])
def test_grids_whose_numbers_might_not_fit_are_refused(sizes):
    grid = CellIndex(sizes)
    cell = [np.zeros(1, dtype=np.int32)] * len(sizes)
    assert not grid.fits
    with pytest.raises(TableError, match="the complete table has more than 2"):
        grid.numbers(cell, where="table")
    with pytest.raises(TableError, match="more than"):
        grid.positions(np.zeros(1, dtype=np.int64))
    with pytest.raises(SuppressionError, match="fewer spanning variables"):
        grid.require(error=SuppressionError)
    assert CellIndex((2**62 - 1,)).fits


def test_grids_too_large_for_one_number_are_numbered_all_the_same():
    codes = [np.array([0, 5, 5, 0], dtype=np.int32) for _ in range(4)]
    keys, _ = CellIndex((2**30,) * 4).joined(codes)
    assert keys[0] == keys[3]
    assert keys[1] == keys[2]
    assert keys[0] < keys[1]


def test_a_table_without_variables_has_one_cell():
    grid = CellIndex(())
    assert grid.numbers([]).tolist() == [0]
    assert grid.find([], [], (1, 1)).tolist() == [0]
    assert grid.find([], [], (0, 1)).tolist() == [-1]


@given(st.lists(st.integers(-50, 50), unique=True), st.lists(st.integers(-50, 50)))
def test_numbers_are_found_in_any_order(known, wanted):
    found = [known.index(number) if number in known else -1 for number in wanted]
    asked = np.array(wanted, dtype=np.int64)
    assert find_numbers(np.array(known, dtype=np.int64), asked).tolist() == found
    known.sort()
    found = [known.index(number) if number in known else -1 for number in wanted]
    assert find_sorted(np.array(known, dtype=np.int64), asked).tolist() == found


@given(st.lists(st.integers(0, 9)))
def test_rows_start_where_the_one_before_ends(widths):
    assert starts(widths).tolist() == [sum(widths[:at]) for at in range(len(widths) + 1)]
