"""Circuits of hidden cells: exact, complete, and as good as linear programs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.system import CellState, Relations, SuppressionProblem
from discreet.protection.suppression.problem.unknowns import blocks_of, unknowns_of
from discreet.protection.suppression.proof import circuits as circuits_module
from discreet.protection.suppression.proof import circuits as elimination_module
from discreet.protection.suppression.proof.attacker import Attacker
from discreet.protection.suppression.proof.certificate import Certificate, certified, certify
from discreet.protection.suppression.proof.circuits import (
    bounds_by_circuits,
    circuits_of,
    elimination_of,
    independent_relations,
)
from discreet.protection.suppression.proof.draft_pattern import DeviationCheck
from discreet.protection.suppression.proof.release_audit import ReleaseCheck
from tests.helpers.squares import square

SIZES = ((4, 5), (6, 7), (3, 4, 5), (4, 4, 4), (3, 3, 3, 3))


def cube(seed: int) -> tuple[SuppressionProblem, np.ndarray]:
    """A table with totals along each variable, and a pattern drawn at random."""
    draw = np.random.default_rng(seed)
    shape = SIZES[seed % len(SIZES)]
    number = np.arange(int(np.prod(shape))).reshape(shape)
    value = draw.integers(0, 40, shape)
    for axis in range(len(shape)):
        first = [slice(None)] * len(shape)
        rest = list(first)
        first[axis], rest[axis] = 0, slice(1, None)  # type: ignore[call-overload]
        value[tuple(first)] = value[tuple(rest)].sum(axis=axis)
    rows = []
    for axis, size in enumerate(shape):
        others = [range(length) for at, length in enumerate(shape) if at != axis]
        for place in product(*others):
            line = [number[(*place[:axis], code, *place[axis:])] for code in range(size)]
            rows.append([(int(at), -1 if not code else 1) for code, at in enumerate(line)])
    hidden = draw.random(number.size) < draw.choice([0.3, 0.5, 0.8])
    primary = hidden & (draw.random(number.size) < 0.5)
    flat = value.ravel().astype(np.int64)
    level = (flat * draw.choice([1, 5], number.size) // 4 + 1).astype(np.int64)
    none = np.zeros(number.size, dtype=np.int64)
    problem = SuppressionProblem(
        value=flat,
        cost=flat + 1,
        state=np.where(primary, CellState.primary, CellState.free).astype(np.int8),
        low=none,
        high=3 * flat + 10,
        lower=level,
        upper=level,
        sliding=3 * level * (seed % 2),
        relations=Relations.of(number.size, rows),
    )
    return problem, hidden


def exact_reach(problem: SuppressionProblem, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far each hidden cell can move, by a linear program for each."""
    known = unknowns_of(problem, hidden)
    attacker = Attacker(known)
    found = [(attacker.lowest(at), attacker.highest(at)) for at in range(len(known))]
    low = np.array([lowest[at] for at, (lowest, _) in enumerate(found)])
    return low, np.array([highest[at] for at, (_, highest) in enumerate(found)])


@pytest.mark.parametrize("seed", range(10))
def test_circuits_keep_all_relations_and_there_are_as_many_as_ways_to_move(seed: int) -> None:
    problem, hidden = cube(seed)
    relations = unknowns_of(problem, hidden).relations
    found = circuits_of(relations, np.random.default_rng(seed).permutation(relations.cells))
    matrix = relations.dense()
    moves = np.zeros((len(found), relations.cells), dtype=np.int64)
    for at in range(len(found)):
        entries = slice(found.start[at], found.start[at + 1])
        moves[at, found.cells[entries]] = found.shares[entries]
    assert not (matrix @ moves.T).any()
    assert found.whole
    assert np.linalg.matrix_rank(moves) == len(found)
    assert len(found) == relations.cells - np.linalg.matrix_rank(matrix)


def test_shares_that_are_fractions_become_whole_numbers() -> None:
    relations = Relations.of(3, [[(0, 2), (1, -3)], [(1, 5), (2, -7)]])
    found = circuits_of(relations, np.array([0, 1, 2]))
    assert found.whole
    assert dict(zip(found.cells.tolist(), found.shares.tolist(), strict=True)) == {
        0: 21,
        1: 14,
        2: 10,
    }


def test_shares_that_no_small_number_makes_whole_are_left_to_linear_programs() -> None:
    relations = Relations.of(2, [[(0, 1009), (1, -1013)]])
    found = circuits_of(relations, np.array([0, 1]))
    assert not found.whole
    assert not len(found)
    # The verdict is the same as with a linear program alone.
    problem = replace(cube(0)[0], relations=relations, **_two_cells())
    certificate = certify(problem, np.array([True, True]))
    assert certificate.protected.all()
    assert certificate.solved > 0


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_shares_that_are_whole_only_as_remainders_are_no_circuit(order: list[int]) -> None:
    """2 · 2^30 leaves the remainder 1, as 2 · ½ is 1; but the relation does not hold then."""
    half = (circuits_module.PRIME + 1) // 2
    for coef in ((half, -1), (1, -half), (half, 1)):
        relations = Relations.of(2, [list(enumerate(coef))])
        found = circuits_of(relations, np.array(order))
        assert not found.whole
        assert not len(found)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_shares_are_taken_and_larger_ones_are_not(sign: int) -> None:
    largest, most = circuits_module._LARGEST, circuits_module._MULTIPLES
    for share, whole in ((largest, True), (largest + 1, False)):
        found = circuits_of(Relations.of(2, [[(0, sign * share), (1, -1)]]), np.array([1, 0]))
        assert found.whole == whole
        assert found.shares.tolist() == ([1, sign * share] if whole else [])
    for part, whole in ((most, True), (most + 1, False)):
        found = circuits_of(Relations.of(2, [[(0, sign * part), (1, -1)]]), np.array([0, 1]))
        assert found.whole == whole
        assert found.shares.tolist() == ([part, sign] if whole else [])


def _two_cells() -> dict[str, np.ndarray]:
    value = np.array([1013, 1009], dtype=np.int64)
    names = ("low", "high", "lower", "upper", "sliding")
    columns = dict(zip(names, (0, 5000, 7, 7, 0), strict=True))
    state = np.full(2, CellState.primary, dtype=np.int8)
    filled = {name: np.full(2, number, dtype=np.int64) for name, number in columns.items()}
    return {"value": value, "cost": value, "state": state, **filled}


def row_of_large_sums() -> tuple[SuppressionProblem, np.ndarray]:
    """One sum: a cell must move farther than any single other one can."""
    value = np.array([100, 40, 20, 20, 20])
    level = np.array([0, 35, 0, 0, 0])
    none = np.zeros(5, dtype=np.int64)
    problem = SuppressionProblem(
        value=value, cost=value, state=np.array([0, CellState.primary, 0, 0, 0], dtype=np.int8),
        low=none, high=2 * value, lower=level, upper=level, sliding=none,
        relations=Relations.of(5, [[(0, -1), (1, 1), (2, 1), (3, 1), (4, 1)]]),
    )  # fmt: skip
    return problem, np.array([False, True, True, True, True])


@pytest.mark.parametrize("seed", range(10))
def test_what_circuits_show_is_never_more_than_the_truth_and_exact_where_they_say_so(
    seed: int,
) -> None:
    problem, hidden = cube(seed)
    low, high = exact_reach(problem, hidden)
    turn = bounds_by_circuits(unknowns_of(problem, hidden))
    assert (turn.low >= low - 1e-6).all()
    assert (turn.high <= high + 1e-6).all()
    np.testing.assert_allclose(turn.low[turn.exact], low[turn.exact], atol=1e-6)
    np.testing.assert_allclose(turn.high[turn.exact], high[turn.exact], atol=1e-6)
    assert turn.label is not None
    np.testing.assert_array_equal(turn.label < 0, high - low < 1e-6)


def test_circuits_are_put_together_until_enough_were_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is looked at last is still seen: with no looks left one cell goes to one side."""
    problem, hidden = row_of_large_sums()
    seen = []
    for looks in (-1, 0, 10**8):
        monkeypatch.setattr(circuits_module, "_LOOKS", looks)
        found = bounds_by_circuits(unknowns_of(problem, hidden))
        np.testing.assert_array_equal(found.low[1:], [-20, -20, -20])
        np.testing.assert_array_equal(found.high[1:], [20, 20, 20])
        seen.append((found.low[0], found.high[0]))
    assert seen == [(-20, 20), (-20, 40), (-40, 40)]


@pytest.mark.parametrize("seed", range(10))
def test_cells_that_share_no_circuit_move_independently(seed: int) -> None:
    problem, hidden = cube(seed)
    low, high = exact_reach(problem, hidden)
    known = unknowns_of(problem, hidden)
    turn = bounds_by_circuits(known)
    seen = 0
    for block in blocks_of(known, turn.label, np.ones(len(known), dtype=np.bool_)):
        attacker = Attacker(block)
        for at, cell in enumerate(np.searchsorted(known.cells, block.cells)):
            lowest, highest = attacker.lowest(at), attacker.highest(at)
            assert lowest[at] == pytest.approx(low[cell], abs=1e-6)
            assert highest[at] == pytest.approx(high[cell], abs=1e-6)
            seen += 1
    assert seen == len(known)


def test_verdicts_do_not_depend_on_circuits(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [cube(seed) for seed in range(20)]
    before = [certify(*table) for table in tables]
    assert sum(certificate.solved == 0 for certificate in before) > 2
    for place, name in ((elimination_module, "_PRODUCTS"), (circuits_module, "_STEPS")):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, -1)
            same = [certify(*table) for table in tables]
        for old, new in zip(before, same, strict=True):
            _same_verdicts(old, new)
    assert sum(len(certificate.unprotected) for certificate in before) > 0
    assert any(certificate.protected.any() for certificate in before)


def _same_verdicts(old: Certificate, new: Certificate) -> None:
    np.testing.assert_array_equal(old.unprotected, new.unprotected)
    np.testing.assert_array_equal(old.exact, new.exact)
    lost = ~old.protected
    np.testing.assert_allclose(old.low[lost], new.low[lost], atol=1e-6)
    np.testing.assert_allclose(old.high[lost], new.high[lost], atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_verdicts_are_those_of_a_linear_program_for_each_cell(seed: int) -> None:
    problem, hidden = cube(seed)
    low, high = exact_reach(problem, hidden)
    known = unknowns_of(problem, hidden)
    lost = known.sensitive & ~known.protected(low, high)
    np.testing.assert_array_equal(certify(problem, hidden).unprotected, known.cells[lost])


@pytest.mark.parametrize("seed", range(5))
def test_relations_that_follow_from_others_are_found(seed: int) -> None:
    problem, hidden = cube(seed)
    relations = unknowns_of(problem, hidden).relations
    left = independent_relations(relations)
    rank = np.linalg.matrix_rank(relations.dense())
    assert len(left) == rank == np.linalg.matrix_rank(left.dense())
    assert len(left) < len(relations)


def test_each_column_begins_where_the_one_before_it_ends() -> None:
    """The first column has nothing taken off, so it begins and ends at 0."""
    sums = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    done = elimination_of(sums, np.array([2, 0, 1]))
    assert done.start.tolist() == [0, 0, 1, 2]


def test_elimination_that_fills_up_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, hidden = cube(3)
    relations = unknowns_of(problem, hidden).relations
    order = np.arange(relations.cells)
    full = elimination_of(relations, order)
    assert full.whole
    monkeypatch.setattr(elimination_module, "_NUMBERS", 1)
    monkeypatch.setattr(elimination_module, "_MORE", 20 - relations.cells)
    part = elimination_of(relations, order)
    assert not part.whole
    assert 0 < len(part.rank) < len(full.rank)
    np.testing.assert_array_equal(part.rank, full.rank[: len(part.rank)])
    # Relations that were not looked at are kept.
    assert np.linalg.matrix_rank(independent_relations(relations).dense()) == int(
        (full.rank >= 0).sum()
    )


def test_only_deviations_that_fit_are_seen() -> None:
    problem, hidden = cube(1)
    known = unknowns_of(problem, hidden)
    low, high = np.zeros(len(known)), np.zeros(len(known))
    fit = DeviationCheck(known, low, high)
    found = circuits_of(known.relations, np.argsort(known.low - known.high, kind="stable"))
    width = np.diff(found.start)
    at = int(np.flatnonzero(width > 1)[0])
    entries = slice(found.start[at], found.start[at + 1])
    cells, shares = found.cells[entries], found.shares[entries].astype(np.float64)
    ends = np.array([0, len(cells)])
    much = 2 * float((known.high - known.low).max())
    bent = shares.copy()
    bent[0] += 0.01
    none = shares.copy()
    none[0] = np.nan
    for wrong in (much * shares, bent, none):
        assert not fit.see(ends, cells, wrong).any()
        assert not low.any()
        assert not high.any()
    step = bounds_by_circuits(known).high[cells].max() * 1e-3
    assert fit.see(ends, cells, step * shares).all()
    np.testing.assert_allclose(np.maximum(high[cells], -low[cells]), np.abs(step * shares))


def test_no_certificate_for_a_pattern_that_shows_secrets_or_hides_what_is_published() -> None:
    problem, hidden = cube(0)
    at = int(np.flatnonzero(problem.state == CellState.primary)[0])
    shown = hidden.copy()
    shown[at] = False
    fixed = problem.state.copy()
    fixed[np.flatnonzero(problem.state == CellState.free)[0]] = CellState.fixed
    too_much = np.ones(len(problem), dtype=np.bool_)
    for case, pattern in ((problem, shown), (replace(problem, state=fixed), too_much)):
        with pytest.raises(SuppressionError, match="hides published cells or shows cells"):
            certified(case, pattern, "by hand")


def test_releases_are_safe_only_if_nothing_is_shown_and_nothing_can_be_computed() -> None:
    problem = square()
    primary, hidden = np.array([4]), np.isin(np.arange(9), [4, 5, 7, 8])
    proven, opened = certify(problem, hidden), certify(problem, np.arange(9) == 4)
    none = np.zeros(0, dtype=np.int64)
    assert len(opened.unprotected)
    assert not len(proven.unprotected)
    for shown, certificate, safe in (
        (none, proven, True),
        (primary, proven, False),
        (none, opened, False),
    ):
        check = ReleaseCheck(problem=problem, hidden=hidden, shown=shown, certificate=certificate)
        assert check.safe == safe
