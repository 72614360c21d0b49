"""`Attacker` and `published_intervals`: numbers of any size, as an attacker sees them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from discreet.arrays import FloatArray, IntArray
from discreet.disclosure import Attacker, Relations, published_intervals
from discreet.protection.suppression.problem.system import unknowns_of
from tests.helpers.attacker_apart import ENDLESS
from tests.helpers.attacker_apart import Attacker as AttackerApart
from tests.helpers.rows import for_all_rows
from tests.helpers.small_systems import square

_MILLION = 2**20


@for_all_rows("widest", [1, _MILLION, _MILLION + 1, 2 * _MILLION - 1, 3_000_000, 10**12, 10**15])
def test_the_largest_number_that_the_solver_sees_is_about_a_million(widest: int) -> None:
    """Smaller ones it would take for rounding errors, and larger ones miss the relations."""
    high = np.full(9, widest)
    known = unknowns_of(square(value=np.zeros(9, dtype=np.int64), high=high), np.ones(9, np.bool_))
    attacker = Attacker(known)
    seen = widest / attacker.scale
    if widest <= _MILLION:
        assert attacker.scale == 1
    else:
        assert _MILLION / 2 < seen <= _MILLION
    # The grand total has the same bound as its parts, so one of these may reach it alone.
    assert attacker.farthest(4, 1.0)[4] == pytest.approx(widest)


def rounded_table(draw: np.random.Generator, size: int) -> tuple[Relations, IntArray, FloatArray]:
    """A table of three by four with all totals, each value rounded on its own to units."""
    inner = draw.integers(0, size, (3, 4)) / 8
    true = np.zeros((4, 5))
    true[1:, 1:], true[1:, 0], true[0, 1:] = inner, inner.sum(1), inner.sum(0)
    true[0, 0] = inner.sum()
    number = np.arange(20).reshape(4, 5)
    lines = [*number, *number.T]
    rows = [[(int(line[0]), -1), *((int(cell), 1) for cell in line[1:])] for line in lines]
    return Relations.of(20, rows), np.rint(true.ravel()).astype(np.int64), true.ravel()


@pytest.mark.parametrize("size", [200, 10**4, 10**8])
def test_intervals_of_rounded_values_are_those_of_an_attacker(size: int) -> None:
    """A shown value is off by the same in all relations that it is part of."""
    draw = np.random.default_rng(size)
    narrower = 0
    for _ in range(6):
        relations, value, true = rounded_table(draw, size)
        hidden = draw.random(20) < 0.35
        low, high = published_intervals(relations, value, hidden, rounding=0.5)
        cells = np.flatnonzero(hidden)
        room = [
            (0.0, np.inf) if hidden[cell] else (max(value[cell] - 0.5, 0.0), value[cell] + 0.5)
            for cell in range(20)
        ]
        rows = [slice(*ends) for ends in pairwise(relations.start.tolist())]
        entries = [zip(relations.cell[row], relations.coef[row], strict=True) for row in rows]
        sums = [({int(cell): int(coef) for cell, coef in row}, 0.0) for row in entries]
        apart = AttackerApart(shown={}, blanks=dict(enumerate(room)), sums=sums)
        for cell, lowest, highest in zip(cells, low, high, strict=True):
            least, most = apart.interval(int(cell))
            slack = 1e-6 * size
            assert lowest == pytest.approx(np.floor(least + 1e-3), abs=slack)
            most = np.inf if most > ENDLESS / 2 else np.ceil(most - 1e-3)
            assert highest == pytest.approx(most, abs=slack)
            assert lowest <= true[cell] <= highest
        loose = published_intervals(relations, value, hidden, rounding=1.0)
        narrower += int(((high - low) < (loose[1] - loose[0])).sum())
    assert narrower


def test_a_large_value_that_follows_is_known_to_the_unit() -> None:
    """Rounding errors of a solver are no room: the hidden cells of a row follow from columns."""
    draw = np.random.default_rng(5)
    for _ in range(5):
        inner = draw.integers(10**10, 10**13, (3, 3))
        table = np.zeros((4, 4), dtype=np.int64)
        table[1:, 1:], table[1:, 0], table[0, 1:] = inner, inner.sum(1), inner.sum(0)
        table[0, 0] = inner.sum()
        number = np.arange(16).reshape(4, 4)
        lines = [*number, *number.T]
        rows = [[(int(line[0]), -1), *((int(c), 1) for c in line[1:])] for line in lines]
        hidden = np.isin(np.arange(16), [5, 6, 9])
        found = published_intervals(Relations.of(16, rows), table.ravel(), hidden)
        assert found[0].tolist() == found[1].tolist() == table.ravel()[hidden].tolist()
