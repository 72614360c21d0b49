"""Exchange of units in sparse counts: proofs that hold, and cells that must be hidden."""

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.disclosure import DeviationCheck
from discreet.protection.suppression.methods.cut_program import always_hidden, quick_lower_bound
from discreet.protection.suppression.methods.fast import (
    exchanged_draft,
    protect_fast,
)
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.linked_tables import build_problem
from discreet.protection.suppression.problem.system import CellState, unknowns_of
from discreet.protection.suppression.proof import draft_pattern
from discreet.protection.suppression.proof.certificate import certificate_from_proofs, certify
from discreet.protection.suppression.proof.draft_pattern import (
    DraftPattern,
    prove_by_exchange,
    released_by_exchange,
)


def counts(records: int, sizes=(30, 6, 5), seed: int = 1):
    """A sparse count table; counts of one and two are sensitive."""
    draw = np.random.default_rng(seed)
    people = pl.DataFrame(
        {
            f"v{at}": draw.choice(size, records, p=np.arange(size, 0, -1) / (size * (size + 1) / 2))
            for at, size in enumerate(sizes)
        }
    )
    table = dc.tabulate(people, by=people.columns)
    return build_problem((table, (table.count > 0) & (table.count < 3)))[0]


def test_exchanges_prove_a_pattern_that_an_attack_finds_safe():
    problem = counts(250)
    draft = DraftPattern(problem)
    assert released_by_exchange(draft, lambda: False, always=True)
    assert draft.solved == 0
    assert not len(draft.open)
    assert not len(certificate_from_proofs(draft).unprotected)
    assert not len(certify(problem, draft.mask()).unprotected)
    published = (problem.state == CellState.free) & ~draft.mask()
    assert published.sum() > 5


def test_certificates_of_large_patterns_rest_on_exchanges(monkeypatch):
    """The verdicts are those of attacks; what no exchange shows is attacked as before."""
    problem = counts(250)
    done = DraftPattern(problem)
    assert released_by_exchange(done, lambda: False, always=True)
    spoilt = done.mask()
    spoilt[np.flatnonzero(done.mask() & (problem.state == CellState.free))[::6]] = False
    for hidden, least in ((done.mask(), 0.95), (spoilt, 0.2)):
        attacked = certify(problem, hidden)
        unknowns = unknowns_of(problem, hidden)
        draft = DraftPattern(problem, unknowns)
        monkeypatch.setattr(draft_pattern, "_LEAST", 1)
        prove_by_exchange(draft)
        check = DeviationCheck(unknowns)
        assert check.see_all(draft.proofs).all()
        safe = unknowns.protected(check.reach.low, check.reach.high)
        shown = unknowns.cells[unknowns.sensitive & safe]
        assert shown.size >= least * attacked.protected.sum()
        assert not set(shown) & set(attacked.unprotected)
        assert (least > 0.5) == (not len(attacked.unprotected))


def test_what_stays_as_it_is_where_leaves_have_room():
    draw = np.random.default_rng(2)
    firms = pl.DataFrame({f"v{at}": draw.integers(0, 6, 300) for at in range(3)})
    table = dc.tabulate(firms.with_columns(worth=pl.lit(50)), firms.columns, values=["worth"])
    problem = build_problem((table, (table.count > 0) & (table.count < 3)), value="worth")[0]
    draft = DraftPattern(problem)
    assert not released_by_exchange(draft, lambda: False, always=True)
    assert np.array_equal(draft.hidden, draft.must)
    assert not draft.proofs


@pytest.mark.parametrize("seed", range(4))
def test_each_total_that_is_always_hidden_would_open_a_cell(seed):
    problem = counts(40, (8, 4, 3), seed)
    always = always_hidden(problem) & (problem.state == CellState.free)
    everything = problem.state != CellState.fixed
    assert not len(certify(problem, everything).unprotected)
    assert always.any()
    for cell in np.flatnonzero(always):
        hidden = everything.copy()
        hidden[cell] = False
        assert len(certify(problem, hidden).unprotected)


def test_sparse_counts_of_thousands_of_cells_need_no_linear_programs():
    problem = counts(1_100, (60, 10, 6, 5))
    assert len(problem.primary) > 1_000
    draft = exchanged_draft(problem, WorkTime())
    assert draft is not None
    assert draft.solved == 0
    assert not len(certificate_from_proofs(draft).unprotected)
    least = problem.cost_of(problem.hidden | always_hidden(problem))
    assert quick_lower_bound(problem) >= least > 0.2 * draft.spent


@pytest.mark.exhaustive
def test_the_pattern_of_sparse_counts_is_proven_with_a_bound():
    problem = counts(150, (12, 6, 6))
    pattern = protect_fast(problem)
    assert pattern.safe
    assert pattern.bound is not None
    assert pattern.cost >= pattern.bound >= problem.cost_of(always_hidden(problem))
