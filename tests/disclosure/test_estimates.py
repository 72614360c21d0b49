"""Estimates of figures with noise against dense linear algebra."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from discreet.disclosure import LayerExposure, LeastSquares, Relations, estimates
from discreet.disclosure.relations import elimination_of, independent_relations
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.system import CellState, unknowns_of
from discreet.protection.suppression.proof.certificate import certified
from tests.helpers.small_systems import drawn_system

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]


def cube(sizes: tuple[int, ...]) -> tuple[Entries, np.ndarray]:
    """All margins of a cube: what adds up, and which finest cells each cell sums."""
    cells = list(itertools.product(*(range(-1, size) for size in sizes)))
    number = {cell: at for at, cell in enumerate(cells)}
    entries = []
    rows = itertools.count()
    for cell in cells:
        for axis, size in enumerate(sizes):
            if cell[axis] < 0:
                row = next(rows)
                parts = ((*cell[:axis], code, *cell[axis + 1 :]) for code in range(size))
                entries.append((row, number[cell], -1))
                entries += [(row, number[part], 1) for part in parts]
    finest = list(itertools.product(*(range(size) for size in sizes)))
    sums = [
        [all(a in (-1, b) for a, b in zip(cell, one, strict=True)) for one in finest]
        for cell in cells
    ]
    columns = np.array(entries).T
    return (columns[0], columns[1], columns[2]), np.array(sums, dtype=float)


def dense(sums: np.ndarray, shown: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, ...]:
    """Weighted least squares; known figures have a very large weight, hidden ones none."""
    weight = np.where(np.isfinite(variance), 1 / np.sqrt(np.maximum(variance, 1e-12)), 0.0)
    scaled = sums * weight[:, np.newaxis]
    fit = sums @ np.linalg.lstsq(scaled, np.nan_to_num(shown) * weight, rcond=1e-12)[0]
    left, values, _ = np.linalg.svd(scaled, full_matrices=False)
    leverage = (left[:, values > 1e-9 * values[0]] ** 2).sum(axis=1)
    return fit, leverage


@pytest.mark.parametrize("known", ["none", "some", "hidden", "both"])
@pytest.mark.parametrize("seed", range(4))
def test_estimates_and_leverages_are_those_of_dense_least_squares(known: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    entries, sums = cube((3, 4, 2))
    true = sums @ draw.integers(20, 90, sums.shape[1])
    variance = draw.choice([1.0, 3.0], len(sums))
    if known in ("some", "both"):
        variance[draw.choice(len(sums), 6, replace=False)] = 0
    if known in ("hidden", "both"):
        variance[draw.choice(len(sums), 9, replace=False)] = np.inf
    spread = np.sqrt(np.where(np.isfinite(variance), variance, 0))
    shown = true + draw.standard_normal(len(sums)) * spread
    shown[~np.isfinite(variance)] = -1e6  # what is hidden tells nothing
    own = LeastSquares(*entries, shown, variance)
    fit, leverage = dense(sums, shown, variance)
    assert own.figures[own.noisy] == pytest.approx(fit[own.noisy], abs=1e-4)
    assert own.leverages()[own.noisy] == pytest.approx(leverage[own.noisy], abs=1e-4)
    assert (own.leverages()[~own.noisy] <= 1e-6).all()


def test_probes_tell_leverages_of_large_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that count most are exact; others are within five standard errors."""
    entries, sums = cube((9, 8, 7))
    draw = np.random.default_rng(1)
    variance = draw.choice([1.0, 9.0], len(sums))
    own = LeastSquares(*entries, sums @ np.full(sums.shape[1], 50.0), variance)
    exact = own.leverages()
    assert exact == pytest.approx(dense(sums, np.zeros(len(sums)), variance)[1], abs=1e-6)
    monkeypatch.setattr(estimates, "_EXACT", 100)
    kinds = np.repeat([0, 1], [1, len(sums) - 1])
    probed = own.leverages(kinds)
    assert probed.tolist() == own.leverages(kinds).tolist()
    assert probed[0] == pytest.approx(exact[0], rel=0.01)
    assert np.abs(probed / exact - 1).max() < 5 * np.sqrt(2 / 64)
    assert np.sqrt(np.mean((probed / exact - 1) ** 2)) < 1.2 * np.sqrt(2 / 64)
    assert probed.min() == pytest.approx(exact.min(), rel=0.01)


def test_figures_that_contradict_each_other_do_not_stop_the_search() -> None:
    """Two official figures for one total: the parts lie between what each of them says."""
    row, cell = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 3, 1, 2])
    coefficient = np.array([-1, 1, 1, -1, 1, 1])
    own = LeastSquares(row, cell, coefficient, np.array([10.0, 4, 4, 14]), np.array([0.0, 1, 1, 0]))
    assert own.figures[1] + own.figures[2] == pytest.approx(12, abs=0.1)


def test_empty_cells_raise_exposure_but_where_a_total_has_one_part() -> None:
    """Three codes, of which one or two are empty, beside the sizes of the classification."""
    table = LayerExposure({"a": [3]})
    for layer in ({}, {"a": 1}):
        table.add(layer)
    sized = float(table.exposures()[0])
    assert sized == pytest.approx(4 / 3)
    two = LeastSquares(
        np.zeros(3, dtype=int),
        np.arange(3),
        np.array([-1, 1, 1]),
        np.array([9.0, 4, 6]),
        np.ones(3),
    )
    one = LeastSquares(
        np.zeros(2, dtype=int), np.arange(2), np.array([-1, 1]), np.array([9.0, 9]), np.ones(2)
    )
    assert (1 / two.leverages()).min() == pytest.approx(1.5)
    assert (1 / one.leverages()).max() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(6))
def test_exposure_by_sizes_is_that_of_dense_projections(seed: int) -> None:
    """Random sets of layers of balanced cubes, one axis with two levels."""
    draw = np.random.default_rng(seed)
    sizes = {"a": [2, 6], "b": [3], "c": [int(draw.integers(2, 5))]}
    grid = np.indices([6, 3, sizes["c"][0]]).reshape(3, -1)
    every = list(itertools.product(range(3), range(2), range(2)))
    layers = [every[at] for at in draw.choice(len(every), 6, replace=False)]
    table, rows, of = LayerExposure(sizes), [], []
    for number, layer in enumerate(layers):
        table.add({axis: at for axis, at in zip("abc", layer, strict=True) if at})
        codes = [grid[0] // (3 if layer[0] == 1 else 1), grid[1], grid[2]]
        chosen = [part for part, at in zip(codes, layer, strict=True) if at]
        key = np.zeros(grid.shape[1], dtype=np.int64)
        for part in chosen:
            key = key * 10 + part
        for one in np.unique(key):
            rows.append(key == one)
            of.append(number)
    left, values, _ = np.linalg.svd(np.array(rows, dtype=float), full_matrices=False)
    leverage = (left[:, values > 1e-9] ** 2).sum(axis=1)
    for number, exposure in enumerate(table.exposures()):
        own = leverage[np.array(of) == number]
        assert 1 / own == pytest.approx(np.full(len(own), exposure))


def test_each_column_begins_where_the_one_before_it_ends() -> None:
    """The first column has nothing taken off, so it begins and ends at 0."""
    sums = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    done = elimination_of(sums, np.array([2, 0, 1]))
    assert done.start.tolist() == [0, 0, 1, 2]


def test_elimination_that_fills_up_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, _ = drawn_system("cube", 3)
    relations = unknowns_of(problem, np.ones(len(problem), dtype=np.bool_)).relations
    order = np.arange(relations.cells)
    full = elimination_of(relations, order)
    assert full.whole
    monkeypatch.setattr("discreet.disclosure.relations._NUMBERS", 1)
    monkeypatch.setattr("discreet.disclosure.relations._MORE", 20 - relations.cells)
    part = elimination_of(relations, order)
    assert not part.whole
    assert 0 < len(part.rank) < len(full.rank)
    np.testing.assert_array_equal(part.rank, full.rank[: len(part.rank)])
    # Relations that were not looked at are kept.
    assert np.linalg.matrix_rank(independent_relations(relations).dense()) == int(
        (full.rank >= 0).sum()
    )


def test_no_certificate_for_a_pattern_that_shows_secrets_or_hides_what_is_published() -> None:
    problem, hidden = drawn_system("cube", 0)
    hidden |= problem.hidden
    at = int(np.flatnonzero(problem.state == CellState.primary)[0])
    shown = hidden.copy()
    shown[at] = False
    fixed = problem.state.copy()
    fixed[np.flatnonzero(problem.state == CellState.free)[0]] = CellState.fixed
    too_much = np.ones(len(problem), dtype=np.bool_)
    for case, pattern in ((problem, shown), (replace(problem, state=fixed), too_much)):
        with pytest.raises(SuppressionError, match="suppresses published cells, or shows cells"):
            certified(case, pattern, "by hand")
