"""`Attacker`: numbers of any size are put to the solver in a size that it can tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.protection.suppression.problem.unknowns import unknowns_of
from discreet.protection.suppression.proof.attacker import Attacker
from tests.helpers.squares import square

_MILLION = 2**20


@pytest.mark.parametrize(
    "widest", [1, _MILLION, _MILLION + 1, 2 * _MILLION - 1, 3_000_000, 10**12, 7 * 10**15]
)
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
    assert attacker.highest(4)[4] == pytest.approx(widest)
