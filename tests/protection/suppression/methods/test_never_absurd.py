"""Tables with many sensitive cells and a wide spread of costs: no pattern is absurdly dear."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.protection.suppression import build_problem, find_pattern
from discreet.protection.suppression.problem.system import SuppressionProblem
from discreet.protection.suppression.proof.certificate import certify
from discreet.protection.suppression.publish.report import described_pattern, pattern_lines
from tests.helpers.rows import for_all_rows


def firm_records(sizes: tuple[int, ...], rate: float, seed: int) -> pl.DataFrame:
    """Few firms per cell, of very different turnover."""
    draw = np.random.default_rng(seed)
    share = np.ones(1)
    for size in sizes:
        share = np.multiply.outer(share, 1.0 / np.arange(1, size + 1) ** 0.5)
    number = draw.poisson(rate * share.size * share.ravel() / share.sum())
    cells = np.repeat(np.arange(share.size), number)
    columns = dict(zip("abc", np.unravel_index(cells, sizes), strict=False))
    sales = np.maximum(1, draw.lognormal(5.0, 2.0, cells.size).astype(np.int64))
    return pl.DataFrame({**{name: at.astype(str) for name, at in columns.items()}, "v": sales})


def firms(sizes: tuple[int, ...], rate: float, seed: int) -> SuppressionProblem:
    """A table of such firms as a problem."""
    frame = firm_records(sizes, rate, seed)
    table = dc.tabulate(frame, by=list("abc"[: len(sizes)]), values=["v"], contributions=2)
    found = dc.primary(table, [dc.rules.PPercent(10), dc.rules.MinimumFrequency(3)], value="v")
    return build_problem((table, found), value="v")[0]


#: The lowest cost, proven, of 40 × 24 cells with 1.5 records each.
LOWEST = 144_413


@pytest.mark.exhaustive
@pytest.mark.parametrize(("method", "ratio"), [("fast", 1.3), ("auto", 1.1)])
def test_many_sensitive_cells_cost_little_more_than_the_cheapest_pattern(method, ratio):
    problem = firms((40, 24), 1.5, 3)
    assert len(problem.primary) >= 500
    pattern = find_pattern(problem, method)
    assert not len(certify(problem, pattern.hidden).unprotected)
    assert LOWEST <= pattern.cost <= ratio * LOWEST


@for_all_rows(
    ("cost", "bound", "gap", "words"),
    [
        (226, 100, 1.26, "by at most 126.0%"),
        (399, 100, 2.99, "by at most 299.0%"),
        (783, 100, 6.83, "by at most 683.0%"),
        (100_001, 100_000, 1e-5, "by at most 0.1%"),
        (7, 7, 0.0, "no cheaper suppression pattern is safe"),
        (7, 0, None, "is unknown"),
        (7, None, None, "is unknown"),
    ],
)
def test_the_gap_is_a_share_of_the_lowest_cost(cost, bound, gap, words):
    pattern = replace(find_pattern(firms((8, 6), 3.0, 1), "fast"), cost=cost, bound=bound)
    assert pattern.gap == pytest.approx(gap) if gap is not None else pattern.gap is None
    assert words in pattern.nearness()
    assert bool(pattern.warnings) == (bound is not None and cost > 1.25 * bound)
    if gap == 1.26:
        assert "bis zu 126,0 % höher" in pattern.nearness("de")


def test_a_wide_gap_is_a_warning_in_words_and_as_plain_values():
    problem = firms((25, 30), 0.9, 9)
    pattern = find_pattern(problem, "fast")
    assert pattern.gap == pattern.cost / pattern.bound - 1 > 0.25
    told = described_pattern(pattern)
    assert told["warnings"] == list(pattern.warnings)
    assert "try the method auto" in told["warnings"][0]
    assert pattern_lines(told)[-1] == f"Warning: {pattern.warnings[0]}."
    assert told["nearness"] == pattern.nearness()
    assert told["warnings"][0].startswith(pattern.nearness())
    assert pattern.nearness() in pattern_lines(told)[1]
    best = find_pattern(firms((8, 6), 3.0, 1), "optimal")
    assert best.optimal
    assert described_pattern(best)["warnings"] == []
