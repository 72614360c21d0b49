"""Adjusted tables against readers and optimisers written apart."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import discreet as dc
from discreet.errors import AdjustmentError
from discreet.microdata import Secret
from discreet.protection.adjustment import Adjustment, AdjustmentSettings, adjust

SECRET = "an example, no secret"


def firms(seed: int, size: tuple[int, int], number: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "region": draw.integers(0, size[0], number),
            "branch": draw.integers(0, size[1], number),
            "sales": np.round(draw.pareto(1.2, number) * 100).astype(int) + 1,
        }
    )


def judged(seed: int, size: tuple[int, int], number: int) -> tuple[dc.Table, Any]:
    table = dc.tabulate(
        firms(seed, size, number), ["region", "branch"], values=["sales"], contributions=2
    )
    return table, dc.primary(table, [dc.rules.PPercent(10)], value="sales")


def levels_of(done: Adjustment) -> zip[tuple[int, int, int]]:
    """The sensitive cells, and how far they move at least up and down."""
    known = done.knowledge
    return zip(done.problem.primary, known.up, known.down, strict=True)


def apart(done: Adjustment) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The system as plain arrays: relations, true values, published ones."""
    problem = done.problem
    return problem.relations.dense(), problem.value, problem.value + done.moves.change


@pytest.mark.parametrize(("seed", "weights"), list(enumerate(["relative", "equal", "root"] * 2)))
def test_sensitive_figures_move_far_enough_and_sums_stay_sums(seed, weights):
    table, primary = judged(seed, (7, 6), 160)
    settings = AdjustmentSettings(weights=weights, most=0.5)
    done = Adjustment.of((table, primary), settings, secret=SECRET)
    matrix, true, published = apart(done)
    cells, moved = done.problem.primary, published - true
    assert len(cells) > 3
    assert not (matrix @ published - done.problem.relations.rhs).any()
    assert (published >= 0).all()
    far = np.where(moved[cells] > 0, done.knowledge.up, done.knowledge.down)
    assert (np.abs(moved[cells]) >= far).all()
    others = np.setdiff1d(np.arange(len(true)), cells)
    assert (np.abs(moved[others]) <= 0.5 * true[others]).all()
    shown = done.tables[0].to_polars()["value"].to_numpy()
    assert sorted(shown[shown > 0].tolist()) == sorted(published[published > 0].tolist())


def cheapest(done: Adjustment, weight: np.ndarray, spread: float = 0.0) -> float:
    """The cheapest moves over all directions, each by a linear program of its own."""
    matrix, true, _ = apart(done)
    cells, number = done.problem.primary, len(true)
    best = np.inf
    for ups in itertools.product((True, False), repeat=len(cells)):
        bounds = [(0, value) for value in true] + [(0, value) for value in true]
        for at, goes_up, up, down in zip(
            cells, ups, done.knowledge.up, done.knowledge.down, strict=True
        ):
            most = max(int(true[at]), 2 * int(up))
            bounds[at] = (up, most) if goes_up else (0, 0)
            floor = max(int(true[at]) - int(up) - 1, 0)
            bounds[number + at] = (0, 0) if goes_up else (down, min(floor, most))
        if any(low > high for low, high in bounds):
            continue
        found = linprog(
            np.concatenate([weight, weight]),
            A_eq=np.hstack([matrix, -matrix]),
            b_eq=np.zeros(len(matrix)),
            bounds=bounds,
        )
        best = min(best, found.fun) if found.success else best
    return float(best)


@pytest.mark.parametrize("seed", range(3))
def test_few_directions_are_the_best_of_all(seed):
    table, primary = judged(seed, (5, 4), 90)
    done = Adjustment.of((table, primary), AdjustmentSettings(spread=0, weights="equal"))
    assert 2 <= len(done.problem.primary) <= 12
    weight = np.ones(len(done.problem))
    assert done.moves.cost == pytest.approx(cheapest(done, weight))
    assert done.moves.complete
    assert done.moves.bound == pytest.approx(done.moves.cost)


def test_many_directions_come_near_the_bound_and_above_it():
    table, primary = judged(1, (14, 12), 500)
    done = Adjustment.of((table, primary), secret=SECRET)
    assert len(done.problem.primary) > 24
    assert not done.moves.complete
    assert done.moves.bound <= done.moves.cost <= 2 * done.moves.bound
    worse = Adjustment.of((table, primary), AdjustmentSettings(rounds=0), secret=SECRET)
    assert done.moves.cost < worse.moves.cost


def sides(done: Adjustment) -> list[tuple[bool, bool]]:
    """Whether each true figure can lie above and below, by linear programs of the test."""
    matrix, _, published = apart(done)
    known = done.knowledge
    far, most = 1 + known.spread, known.most
    room = []
    for at, value in enumerate(published.tolist()):
        above = value * most / (1 - most) if most < 1 and value else np.inf
        below = value * most / (1 + most) if most < 1 else value
        if known.stays[at]:
            above = below = 0.0
        room.append([-below, above])
    for at, up, _ in levels_of(done):
        room[at] = [-min(max(published[at] / 2, 2 * np.ceil(up * far)), published[at]), np.inf]
    found = []
    for at, up, down in levels_of(done):
        wish = np.zeros(len(published))
        wish[at] = -1
        high = linprog(wish, A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=room)
        low = linprog(-wish, A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=room)
        found.append((-high.fun >= down - 1e-6, -low.fun >= up - 1e-6))
    return found


@pytest.mark.parametrize("official", [[], ["region"], ["region", "branch"]])
@pytest.mark.parametrize("seed", range(3))
def test_readers_find_what_the_audit_finds(seed, official):
    table, primary = judged(seed, (5, 5), 120)
    settings = AdjustmentSettings(official=official, most=0.4)
    done = Adjustment.of((table, primary), settings, secret=SECRET)
    audit = done.audit
    assert list(zip(audit.above, audit.below, strict=True)) == sides(done)
    assert not audit.safe  # what contributors learn is not examined


@pytest.mark.parametrize(("other", "refused"), [(12, False), (4, True)])
def test_a_figure_whose_side_is_known_goes_the_other_way_or_is_refused(other, refused):
    # c makes up for b: it is too small to have been made smaller by as much, and turns.
    cells = pl.DataFrame({"x": ["Total", "b", "c"], "n": [1000 + other, 1000, other]})
    table = dc.Table.from_cells(cells, by=["x"], count="n")
    levels = SimpleNamespace(
        sensitive=np.array([False, True, False]),
        lower=np.array([0.0, 10.0, 0.0]),
        upper=np.array([0.0, 10.0, 0.0]),
        sliding=np.zeros(3),
    )
    options = {"spread": 0, "official": ["x"]}
    if refused:
        with pytest.raises(AdjustmentError) as caught:
            adjust(table, levels, **options)
        assert caught.value.code in ("side", "moves")
    else:
        assert adjust(table, levels, **options).to_polars()["value"].to_list() == [1012, 990, 22]


def test_official_totals_stay_and_are_named():
    table, primary = judged(2, (6, 6), 400)
    safe = adjust(table, primary, secret=SECRET, official=["region"])
    rows = safe.to_polars().filter(pl.col("branch") == "Total")
    true = table.to_polars().filter(pl.col("branch") == "Total")
    assert rows["value"].to_list() == true["sales"].to_list()
    assert set(rows["status"]) == {"official"}


def test_linked_tables_have_one_figure_for_a_cell():
    frame = firms(3, (6, 5), 300).with_columns(size=pl.col("sales") % 3)
    tables = [
        dc.tabulate(frame, by, values=["sales"], contributions=2)
        for by in (["region", "branch"], ["region", "size"])
    ]
    pairs = [(each, dc.primary(each, [dc.rules.PPercent(10)], value="sales")) for each in tables]
    first, second = adjust(pairs, secret=SECRET)
    for name in (*map(str, range(6)), "Total"):
        one = first.to_polars().filter(region=name, branch="Total")["value"].item()
        assert one == second.to_polars().filter(region=name, size="Total")["value"].item()


def test_moves_are_drawn_from_the_secret_whatever_the_order_of_records():
    frame = firms(4, (6, 6), 200)

    def figures(records: pl.DataFrame, secret: Any) -> list[Any]:
        table = dc.tabulate(records, ["region", "branch"], values=["sales"], contributions=2)
        found = dc.primary(table, [dc.rules.PPercent(10)], value="sales")
        return adjust(table, found, secret=secret).to_polars().sort("region", "branch").rows()

    secret = Secret.generate()
    assert figures(frame, secret) == figures(frame.reverse(), secret)
    assert figures(frame, secret) != figures(frame, "another")


def test_what_cannot_be_done_is_said():
    table, primary = judged(0, (5, 4), 90)
    for options, code in (
        ({}, "secret"),
        ({"secret": SECRET, "official": ["age"]}, "by"),
        ({"secret": SECRET, "spread": -1}, "adjustment"),
        ({"secret": SECRET, "most": 0.0}, "moves"),
    ):
        with pytest.raises(AdjustmentError) as caught:
            adjust(table, primary, **options)
        assert caught.value.code == code
        assert not any(str(value) in str(caught.value) for value in (table.count.max(), SECRET))
