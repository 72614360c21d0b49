"""Sums of a table with margins: which cells are withheld, and that empty ones give no"""

import numpy as np
import pytest

from discreet.errors import SuppressionError
from discreet_fire.statistics.disclosure_rules import broken
from discreet_fire.statistics.grouped_values import GroupedValues
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.suppression import (
    SumTable,
    hide_groups,
    margins_of,
    solved,
    with_margins,
)


def random_table(
    shape: tuple[int, ...], seed: int, *, spread: float = 1.5, records: int = 70
) -> tuple[SumTable, list[np.ndarray], np.ndarray]:
    """A table of drawn values; where each is along each axis, and its value."""
    rng = np.random.default_rng(seed)
    places = [rng.integers(0, size, records) for size in shape]
    values = np.round(rng.lognormal(3, spread, records), 2)
    holding = GroupedValues.of(
        values, np.ravel_multi_index(tuple(places), shape).astype(np.int64), int(np.prod(shape))
    )
    return SumTable(holding=holding, sizes=shape, limits=SafeLimits(k=85)), places, values


def inside(places: list[np.ndarray], shape: tuple[int, ...], at: tuple[int, ...]) -> np.ndarray:
    """The records of a cell or margin."""
    chosen = np.ones(len(places[0]), dtype=np.bool_)
    for own, size, code in zip(places, shape, at, strict=True):
        if code < size:
            chosen &= own == code
    return chosen


@pytest.mark.parametrize("shape", [(3, 2), (2, 2, 3)])
def test_facts_of_cells_and_margins_are_those_of_their_records(shape: tuple[int, ...]) -> None:
    table, places, values = random_table(shape, 4)
    for at, found in zip(np.ndindex(*table.shape), table.facts, strict=True):
        own = values[inside(places, shape, at)]
        assert found.n == own.size
        if own.size:
            assert found.total == pytest.approx(own.sum())
            assert found.first == own.max()
            assert broken(found, table.limits) == broken(
                GroupedValues.of(own, None, 1).total(table.limits), table.limits
            )


@pytest.mark.parametrize("shape", [(4, 3), (3, 2, 3)])
def test_margins_are_withheld_exactly_as_tables_of_one_variable_withhold_them(
    shape: tuple[int, ...],
) -> None:
    """More would be of no use, and less would be told by the other table."""
    seen = 0
    for seed in range(8):
        table, places, values = random_table(shape, seed, spread=2, records=50)
        wanted = np.zeros(table.shape, dtype=np.bool_)
        for axis, size in enumerate(shape):
            alone = GroupedValues.of(values, places[axis], size)
            found = hide_groups(alone, alone.facts(table.limits), table.limits)
            for code in found.value:
                wanted[(-1,) * axis + (code,) + (-1,) * (len(shape) - axis - 1)] = True
            wanted[(-1,) * len(shape)] |= found.total_value
        assert np.array_equal(table.one_way, wanted)
        hidden = table.hidden(np.zeros(table.shape, dtype=np.bool_))
        assert (hidden >= wanted).all()
        seen += int(wanted.sum())
    assert seen


def test_a_cell_without_values_protects_nothing() -> None:
    """Its count may be withheld, but everyone sees that the variable has no values there."""
    values = [*(100.0,) * 1, *np.arange(10.0, 16), *np.arange(10.0, 17), *np.arange(20.0, 29)]
    codes = np.array([0] * 1 + [2] * 6 + [3] * 7 + [4] * 9)
    limits = SafeLimits()
    holding = GroupedValues.of(np.array(values), codes, 6)
    table = SumTable(holding=holding, sizes=(2, 3), limits=limits)  # cells 1 and 5 are empty
    counts = np.zeros((3, 4), dtype=np.bool_)
    counts[0, 1] = counts[1, 2] = True
    hidden = table.hidden(counts)
    n = with_margins(np.array([[1, 0, 6], [7, 9, 0]]))
    assert hidden[0, 0]
    assert not (hidden & (n == 0)).any()
    for line in (*hidden, *hidden.T):
        assert line.sum() != 1, "a line with one unknown gives it away"


def test_of_a_line_the_smallest_cells_are_withheld_and_then_its_total() -> None:
    values = [100.0, *np.arange(10.0, 15), *np.arange(10.0, 19), *np.arange(10.0, 17)]
    holding = GroupedValues.of(np.array(values), np.array([0] + [1] * 5 + [2] * 9 + [3] * 7), 4)
    table = SumTable(holding=holding, sizes=(4,), limits=SafeLimits())
    hidden = np.array([True, False, False, False, False])
    assert table._lines_closed(hidden).tolist() == [True, True, False, False, False]
    # A withheld total alone would be the sum of its parts.
    total = np.array([False, False, False, False, True])
    assert table._lines_closed(total).tolist() == [True, False, False, False, True]
    one = GroupedValues.of(np.array([100.0]), np.array([0]), 1)
    alone = SumTable(holding=one, sizes=(1,), limits=SafeLimits())
    assert alone._lines_closed(np.array([True, False])).tolist() == [True, True]


@pytest.mark.parametrize(("sizes", "closed"), [((2, 1), False), ((2, 2), True)])
def test_withheld_cells_of_a_line_have_one_case_more_than_a_group_needs(
    sizes: tuple[int, int], closed: bool
) -> None:
    """Their mean and deviation follow together: three values would be solved."""
    counts = np.array([*sizes, 9])
    values = 100 + np.arange(float(counts.sum()))
    holding = GroupedValues.of(values, np.repeat(np.arange(3), counts), 3)
    table = SumTable(holding=holding, sizes=(3,), limits=SafeLimits())
    found = table._lines_closed(np.array([True, True, False, False]))
    assert found.tolist() == [True, True, not closed, False]


def test_what_cannot_be_protected_is_refused() -> None:
    """No pattern makes a cell of 5 look like one of less than 0."""
    value = with_margins(np.array([[5, 6], [7, 8]]))
    primary = np.zeros((3, 3), dtype=np.bool_)
    primary[0, 0] = True
    levels = np.zeros_like(value), primary * 10, primary * 1
    nothing = np.zeros_like(primary)
    for known in (nothing, margins_of(value.shape)):
        with pytest.raises(SuppressionError):
            solved(value, *levels, n=value, primary=primary, before=nothing, known=known)


def test_the_level_is_what_either_rule_asks_for() -> None:
    """By p% the largest may not be known better, by (2,k) both may not be nearly all."""
    holding = GroupedValues.of(np.array([1000.0, 90.0, 10.0]), np.zeros(3, dtype=np.int64), 1)
    for limits, level in (
        (SafeLimits(k=99, p=20), 0.2 * 1000 - 10),
        (SafeLimits(k=50, p=0.1), 1090 / 0.5 - 1100),
        (SafeLimits(k=99.9, p=0.1), 0.0),
    ):
        table = SumTable(holding=holding, sizes=(1,), limits=limits)
        assert table.levels[0] == pytest.approx(level)
