"""The methods `fast` and `auto`: safe by an attacker written apart, deterministic, honest."""

from __future__ import annotations

from pathlib import Path

import highspy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.auto import protect_auto
from discreet.protection.suppression.methods.fast import protect_fast
from discreet.protection.suppression.methods.local_search import (
    drop_unused,
    prune,
    refitted,
)
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import CellState, Relations, SuppressionProblem
from discreet.protection.suppression.problem.unknowns import unknowns_of
from discreet.protection.suppression.proof.certificate import certificate_from_proofs, certify
from discreet.protection.suppression.proof.draft_pattern import DraftPattern, Proof, fitting_proofs
from discreet.protection.suppression.proof.local_lp import cover_tasks
from discreet_argus.jj import read_jj

METHODS = [protect_fast, protect_auto]


def two_way(inner, sensitive, *, level=2, fixed=(), negative=False, sliding=0):
    """A table with margins; inner cells row by row, then row totals, column totals, all."""
    inner = np.asarray(inner, dtype=np.int64)
    rows, columns = inner.shape
    full = np.zeros((rows + 1, columns + 1), dtype=np.int64)
    full[:-1, :-1] = inner
    full[-1, :-1], full[:-1, -1], full[-1, -1] = inner.sum(0), inner.sum(1), inner.sum()
    number = np.arange(full.size).reshape(full.shape)
    lines = [*number, *number.T]
    sums = [[(int(line[-1]), -1), *((int(cell), 1) for cell in line[:-1])] for line in lines]
    value = full.ravel()
    state = np.zeros(value.size, dtype=np.int8)
    marked = [int(number[at]) for at in sensitive]
    state[marked] = CellState.primary
    state[[int(number[at]) for at in fixed]] = CellState.fixed
    levels = np.zeros(value.size, dtype=np.int64)
    levels[marked] = level
    slides = np.where(levels > 0, sliding, 0).astype(np.int64)
    most = 3 * int(np.abs(value).max()) + 10
    return SuppressionProblem(
        value=value,
        cost=np.abs(value) + 1,
        state=state,
        low=np.full(value.size, -most if negative else 0),
        high=np.full(value.size, most),
        lower=levels if negative else np.minimum(levels, value),
        upper=levels,
        sliding=slides,
        relations=Relations.of(value.size, sums),
    )


def interval(problem, hidden, cell):
    """What an attacker can find out about a cell: a linear program of its own."""
    ends = []
    for sense in (1.0, -1.0):
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        low = np.where(hidden, problem.low, problem.value).astype(float)
        high = np.where(hidden, problem.high, problem.value).astype(float)
        solver.addVars(len(problem), low, high)
        solver.changeColCost(cell, sense)
        links = problem.relations
        for row in range(len(links)):
            part = slice(links.start[row], links.start[row + 1])
            cells, coefs = links.cell[part].astype(np.int32), links.coef[part].astype(float)
            right = float(links.rhs[row])
            solver.addRow(right, right, len(cells), cells, coefs)
        solver.run()
        ends.append(sense * solver.getInfo().objective_function_value)
    return ends


def assert_safe(problem, pattern):
    assert pattern.safe
    assert pattern.complete
    assert not (problem.hidden & ~pattern.hidden).any()
    assert not pattern.hidden[problem.state == CellState.fixed].any()
    for cell in problem.primary:
        low, high = interval(problem, pattern.hidden, int(cell))
        assert low <= problem.value[cell] - problem.lower[cell] + 1e-5
        assert high >= problem.value[cell] + problem.upper[cell] - 1e-5
        assert high - low >= problem.sliding[cell] - 1e-5
        assert high - low > 0.5


@pytest.mark.parametrize("method", METHODS)
def test_one_sensitive_cell_needs_a_rectangle(method):
    problem = two_way([[5, 9, 20], [7, 8, 30], [40, 50, 60]], [(0, 0)])
    pattern = method(problem)
    assert_safe(problem, pattern)
    assert pattern.secondaries == 3
    assert pattern.cost == 10 + 8 + 9


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_protect_hides_nothing(method):
    pattern = method(two_way([[5, 9], [7, 8]], []))
    assert pattern.safe
    assert pattern.cost == 0
    assert not pattern.hidden.any()


@pytest.mark.parametrize("method", METHODS)
def test_cells_that_hide_each_other_already_need_no_secondary(method):
    problem = two_way([[5, 9], [7, 8]], [(0, 0), (0, 1), (1, 0), (1, 1)])
    pattern = method(problem)
    assert_safe(problem, pattern)
    assert pattern.secondaries == 0


@pytest.mark.parametrize("method", METHODS)
def test_an_impossible_cell_is_named_with_the_reason(method):
    problem = two_way([[5, 9], [7, 8]], [(0, 0)], fixed=[(0, 1), (0, 2)])
    with pytest.raises(SuppressionError, match=r"cell 0: .* must be published") as caught:
        method(problem)
    assert caught.value.code == "infeasible"


def test_bounds_that_are_too_tight_are_given_as_the_reason():
    problem = two_way([[5, 9], [7, 8]], [(0, 0)])
    problem.high[0] = 6
    with pytest.raises(SuppressionError, match="narrower than its protection levels"):
        protect_fast(problem)


@pytest.mark.parametrize("method", METHODS)
def test_a_sliding_level_is_reached_downwards_where_there_is_no_room_above(method):
    problem = two_way([[50, 90], [70, 80]], [(0, 0)], level=2, sliding=20)
    problem.high[0] = 55
    assert_safe(problem, method(problem))


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_pattern(method):
    draw = np.random.default_rng(4)
    inner = draw.integers(3, 60, (6, 7))
    problem = two_way(inner, [(0, 0), (2, 3), (4, 4), (5, 1)])
    assert method(problem, seed=3).digest() == method(problem, seed=3).digest()


def test_a_time_limit_returns_a_safe_pattern_labelled_as_unfinished():
    draw = np.random.default_rng(4)
    problem = two_way(draw.integers(3, 60, (8, 8)), [(0, 0), (2, 3), (4, 4), (5, 1)])
    pattern = protect_auto(problem, WorkTime(0.0))
    assert pattern.safe
    assert not pattern.complete
    assert "time limit" in pattern.notes[0]


def test_progress_is_told():
    lines: list[str] = []
    protect_fast(two_way([[5, 9], [7, 8]], [(0, 0)]), WorkTime(progress=lines.append))
    assert lines[0] == "check"
    assert lines[-1] == "audit"


@given(st.data())
def test_random_tables_are_safe_from_an_attacker_written_apart(data):
    rows = data.draw(st.integers(2, 5))
    columns = data.draw(st.integers(2, 5))
    negative = data.draw(st.booleans())
    least = -20 if negative else 0
    cells = st.lists(st.integers(least, 40), min_size=rows * columns, max_size=rows * columns)
    inner = np.array(data.draw(cells)).reshape(rows, columns)
    places = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))
    sensitive = data.draw(st.lists(places, unique=True, max_size=4))
    sliding = data.draw(st.sampled_from([0, 9]))
    problem = two_way(inner, sensitive, negative=negative, sliding=sliding)
    try:
        pattern = protect_fast(problem)
    except SuppressionError:
        everything = problem.state != CellState.fixed
        reached = [interval(problem, everything, int(cell)) for cell in problem.primary]
        assert any(
            high - problem.value[cell] < problem.upper[cell]
            or problem.value[cell] - low < problem.lower[cell]
            or high - low < problem.sliding[cell]
            for cell, (low, high) in zip(problem.primary, reached, strict=True)
        )
        return
    assert_safe(problem, pattern)


@pytest.mark.parametrize(
    ("name", "most"), [("tau_SizeReg_P10", 621), ("tau_YearSizeReg_P10", 4508)]
)
def test_business_tables_are_protected_at_the_best_known_cost(reference: Path, name, most):
    problem = read_jj(reference / "suppression" / f"{name}.jj.gz")
    pattern = protect_fast(problem)
    assert_safe(problem, pattern)
    assert pattern.cost <= most


def never() -> bool:
    return False


def covered():
    draw = np.random.default_rng(7)
    problem = two_way(draw.integers(3, 90, (7, 9)), [(0, 0), (1, 2), (3, 3), (6, 8), (5, 1)])
    hiding = DraftPattern(problem)
    assert cover_tasks(hiding, hiding.open, never) == []
    return hiding


def test_covering_leaves_no_task_open_and_its_proofs_hold():
    hiding = covered()
    assert not len(hiding.open)
    assert not len(certificate_from_proofs(hiding).unprotected)
    assert not len(certify(hiding.problem, hiding.mask()).unprotected)


def test_pruning_never_costs_more_and_stays_proven():
    hiding = covered()
    extra = np.flatnonzero(~hiding.hidden)[:5]
    hiding.hidden[extra] = True
    before = hiding.spent
    prune(hiding, never, 1000)
    assert hiding.spent < before
    assert not len(certify(hiding.problem, hiding.mask()).unprotected)
    assert not len(certificate_from_proofs(hiding).unprotected)


def test_fitting_anew_never_costs_more():
    hiding = covered()
    drop_unused(hiding)
    fitted = refitted(hiding, never)
    assert fitted.spent <= hiding.spent
    assert not len(certify(fitted.problem, fitted.mask()).unprotected)


def test_a_proof_that_breaks_a_relation_or_moves_a_published_cell_is_not_believed():
    hiding = covered()
    known = unknowns_of(hiding.problem, hiding.mask())
    number = np.full(len(hiding.problem), -1)
    number[known.cells] = np.arange(len(known))
    good = next(proof for proof in hiding.proofs)
    cells = number[hiding.unknowns.cells[good.cells]]
    bent = good.moved.copy()
    bent[0] += 1.0
    shown = np.concatenate([cells[1:], [-1]])
    far = Proof(cells=cells, moved=good.moved * 1e6)
    proofs = [
        Proof(cells=cells, moved=good.moved),
        Proof(cells=cells, moved=bent),
        Proof(cells=shown, moved=good.moved),
        far,
    ]
    low, high = np.zeros(len(known)), np.zeros(len(known))
    assert fitting_proofs(known, proofs, low, high) == [True, False, False, False]
