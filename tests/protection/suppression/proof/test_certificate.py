"""Proving a pattern: cells are attacked until what they need is seen, and no longer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.arrays import FloatArray
from discreet.disclosure import Reach
from discreet.protection.suppression.problem.system import unknowns_of
from discreet.protection.suppression.proof.certificate import (
    _attack_at_random,
    certificate_from_proofs,
    certify,
)
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from tests.helpers.rows import for_all_rows
from tests.helpers.squares import square

INNER = [4, 5, 7, 8]


class Shifter:
    """An attacker that moves every cell to where it is asked to go, and remembers."""

    whole = False

    def __init__(self, block: Any, size: float) -> None:
        self.unknowns, self.size = block, size
        self.asked: list[FloatArray] = []

    def ask(self, wish: FloatArray) -> FloatArray:
        self.asked.append(wish)
        return np.sign(wish) * self.size


def block_of(**levels: int) -> Any:
    hidden = np.zeros(9, dtype=np.bool_)
    hidden[INNER] = True
    changed = {name: np.where(np.arange(9) == 4, size, 0) for name, size in levels.items()}
    return unknowns_of(square(**changed), hidden)


def attacked(size: float, reached: tuple[float, float], **levels: int) -> tuple[Shifter, Reach]:
    """An attack on the first cell, from where it was seen already."""
    block = block_of(**({"lower": 0, "upper": 0, "sliding": 0} | levels))
    attacker = Shifter(block, size)
    reach = Reach(np.full(4, reached[0]), np.full(4, reached[1]), np.zeros(4), np.zeros(4))
    _attack_at_random(attacker, block.sensitive, reach)  # type: ignore[arg-type]
    return attacker, reach


@pytest.mark.parametrize(
    ("reached", "levels"),
    [
        ((0.0, 6.0), {"upper": 6}),
        ((-6.0, 0.0), {"lower": 6}),
        ((-6.0, 5.0), {"lower": 6, "upper": 5}),
        ((-6.0, 5.0), {"lower": 1, "upper": 1, "sliding": 11}),
    ],
)
def test_what_was_seen_already_is_not_attacked(
    reached: tuple[float, float], levels: dict[str, int]
) -> None:
    assert not attacked(9, reached, **levels)[0].asked


@for_all_rows(
    ("reached", "levels", "up", "down"),
    [
        ((0.0, 0.0), {"upper": 6}, True, False),
        ((0.0, 0.0), {"lower": 6}, False, True),
        ((-9.0, 0.0), {"lower": 6, "upper": 6}, True, False),
        ((0.0, 9.0), {"lower": 6, "upper": 6}, False, True),
        ((0.0, 0.0), {"lower": 6, "upper": 6}, True, True),
    ],
)
def test_an_attack_goes_to_the_side_that_is_missing(
    reached: tuple[float, float], levels: dict[str, int], up: bool, down: bool
) -> None:
    attacker, reach = attacked(9, reached, **levels)
    wishes = [wish[attacker.unknowns.sensitive] for wish in attacker.asked]
    assert any((wish > 0).any() for wish in wishes) == up
    assert any((wish < 0).any() for wish in wishes) == down
    others = [wish[~attacker.unknowns.sensitive] for wish in attacker.asked]
    assert not any(wish.any() for wish in others), "nothing is asked of cells beside"
    assert attacker.unknowns.protected(reach.low, reach.high).all()


def test_an_attack_that_gains_nothing_ends() -> None:
    attacker, reach = attacked(0.5, (0.0, 0.0), lower=6, upper=6)
    assert 0 < len(attacker.asked) < 100
    assert not attacker.unknowns.protected(reach.low, reach.high).all()


def test_a_pattern_without_proofs_is_not_certified() -> None:
    """What is not shown to be protected counts as unprotected; a wrong proof shows nothing."""
    draft = DraftPattern(square())
    cells = draft.at(np.array(INNER))
    assert certificate_from_proofs(draft).unprotected.tolist() == [4]
    draft.take(cells, np.array([5.0, -5.0, -5.0, 5.0]))
    assert certificate_from_proofs(draft).unprotected.tolist() == [4], "upwards only"
    draft.take(cells, np.array([-5.0, 5.0, 5.0, -5.0]))
    assert not len(certificate_from_proofs(draft).unprotected)
    wrong = DraftPattern(square())
    wrong.take(cells, np.array([5.0, -5.0, -5.0, 5.0]))
    wrong.take(cells, np.array([-5.0, 5.0, 5.0, -4.0]))
    assert certificate_from_proofs(wrong).unprotected.tolist() == [4]


def test_nothing_confidential_is_shown() -> None:
    hidden = np.zeros(9, dtype=np.bool_)
    hidden[INNER] = True
    assert repr(certify(square(), hidden)) == "<Certificate (confidential): 1 cells, 0 open>"
