"""What follows from figures of sets: against the rank of all of them, worked out apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.disclosure import ShownSets, TooManySetsError


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Shown sets over twelve atoms, and how many units each atom has."""
    rng = np.random.default_rng(seed)
    cases = rng.choice([1, 1, 1, 2, 5, 9], 12)
    return rng.random((int(rng.integers(6, 12)), 12)) < 0.45, cases


def of(sets: np.ndarray, cases: np.ndarray) -> ShownSets:
    atom_of = np.repeat(np.arange(len(cases)), cases)
    return ShownSets([np.flatnonzero(one) for one in sets], atom_of, np.arange(cases.sum()), 12)


def follows(sets: np.ndarray, one: np.ndarray) -> bool:
    rank = np.linalg.matrix_rank(sets.astype(float))
    return bool(np.linalg.matrix_rank(np.vstack([sets, one]).astype(float)) == rank)


@pytest.mark.parametrize("seed", range(30))
def test_small_groups_are_found_if_and_only_if_they_follow(seed: int) -> None:
    sets, cases = drawn(seed)
    shown = of(sets, cases)
    few = {tuple(np.flatnonzero(one).tolist()) for one in shown.few(3)}
    expected = set()
    for size in (1, 2):
        for atoms in itertools.combinations(range(12), size):
            one = np.isin(np.arange(12), atoms)
            if cases[one].sum() < 3 and follows(sets, one):
                expected.add(atoms)
    assert few == expected
    for atoms in few:
        figure = np.isin(np.arange(12), atoms)
        reason = shown.reason(figure)
        assert np.allclose(sum(by * sets[at] for at, by in reason), figure)


def test_the_seeds_have_groups_that_follow() -> None:
    assert sum(len(of(*drawn(seed)).few(3)) for seed in range(30)) > 30


def test_differences_between_units_are_figures_of_sums_only() -> None:
    sets = np.zeros((2, 12), dtype=bool)
    sets[0, [0, 3]] = sets[1, [0, 4]] = True
    cases = np.array([9] * 3 + [1] * 2 + [9] * 7)
    assert not len(of(sets, cases).few(3))
    (figure,) = of(sets, cases).few(3, signed=True)
    assert np.flatnonzero(figure).tolist() == [3, 4]


def test_one_unit_in_many_atoms_is_one_unit() -> None:
    owners = np.concatenate([np.arange(20), np.zeros(6, dtype=np.int64)])
    atom_of = np.concatenate([np.zeros(20, dtype=np.int64), np.arange(1, 7)])
    shown = ShownSets([range(7), [0]], atom_of, owners, 7)
    (figure,) = shown.few(3)
    assert np.flatnonzero(figure).tolist() == [1, 2, 3, 4, 5, 6]


def test_too_many_sets_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of(*drawn(1)).eliminated
    with monkeypatch.context() as patch:
        patch.setattr("discreet.disclosure.shown_sets._STEPS", 1)
        assert not of(*drawn(1)).eliminated
    monkeypatch.setattr("discreet.disclosure.shown_sets._MOST", 1)
    with pytest.raises(TooManySetsError):
        of(*drawn(1)).few(3)
