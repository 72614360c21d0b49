"""Proofs and audits of small systems of every kind, against an attacker written apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from discreet.disclosure import Insiders, Reach, blocks_of, mobile_cells, outer_bounds
from discreet.disclosure.relations import elimination_of, independent_relations
from discreet.protection.suppression.problem.system import (
    CellState,
    SuppressionProblem,
    unknowns_of,
)
from discreet.protection.suppression.proof.audit import audit_problem
from discreet.protection.suppression.proof.certificate import (
    Certificate,
    certificate_from_proofs,
    certify,
)
from discreet.protection.suppression.proof.contributors import audit_respondents
from discreet.protection.suppression.proof.draft_pattern import (
    DraftPattern,
    cover_tasks,
    never,
    prove_by_hidden_cells,
    reach_by_patches,
)
from tests.helpers.attacker_apart import Demand
from tests.helpers.small_systems import (
    KINDS,
    attack,
    demand_of,
    drawn_system,
    his_alone,
    in_one_block,
    intervals,
    is_safe,
    reader_of,
)

NEAR = 1e-5
_EACH_KIND = pytest.mark.parametrize("kind", KINDS)
_MORE = pytest.param(12, marks=pytest.mark.exhaustive)
_SEVERAL = pytest.mark.parametrize("number", [8, _MORE])
_FEW = pytest.mark.parametrize("number", [4, _MORE])


def reaches(
    problem: SuppressionProblem, hidden: np.ndarray, **options: bool
) -> tuple[np.ndarray, np.ndarray]:
    """How far the hidden cells lie below and above their true values at most."""
    ends = np.array(list(intervals(problem, hidden, **options).values())).reshape(-1, 2)
    return (ends - problem.value[hidden][:, None]).T


def check_certificate(problem: SuppressionProblem, hidden: np.ndarray, proven: Certificate) -> None:
    low, high = reaches(problem, hidden)
    place = {cell: at for at, cell in enumerate(np.flatnonzero(hidden).tolist())}
    primary = problem.primary.tolist()
    shown = [cell for cell in primary if cell not in place]
    assert proven.cells.tolist() == [cell for cell in primary if cell in place]
    assert proven.shown.tolist() == shown
    opened, exact = list(shown), list(shown)
    columns = (proven.cells.tolist(), proven.protected, proven.whole, proven.low, proven.high)
    for cell, protected, whole, below, above in zip(*columns, strict=True):
        value, demand = float(problem.value[cell]), demand_of(problem, cell)
        least, most = low[place[cell]], high[place[cell]]
        assert protected == demand.met_by(value + least, value + most)
        assert least - NEAR <= below <= 0 <= above <= most + NEAR
        if protected:
            assert demand.met_by(value + below, value + above), "what was seen is enough"
        else:
            assert (below, above) == pytest.approx((least, most), abs=NEAR)
            opened.append(cell)
            exact += [cell] if most - least < 0.01 else []
        if whole:
            assert demand.met_by(*attack(reader_of(problem, hidden, whole=True), cell))
    assert proven.unprotected.tolist() == sorted(opened)
    assert proven.exact.tolist() == sorted(exact)


@_EACH_KIND
@_SEVERAL
def test_verdicts_and_reaches_are_those_of_linear_programs(kind: str, number: int) -> None:
    safe = lost = 0
    for seed in range(number):
        problem, hidden = drawn_system(kind, seed)
        proven = certify(problem, hidden)
        check_certificate(problem, hidden, proven)
        safe, lost = safe + int(proven.protected.sum()), lost + len(proven.unprotected)
        assert not len(certify(problem, hidden, np.zeros_like(hidden)).cells)
        other = hidden & (np.arange(len(hidden)) % 3 == 0)  # other cells than the primary ones
        assert certify(problem, hidden, other).cells.tolist() == np.flatnonzero(other).tolist()
    assert safe
    assert lost


@_EACH_KIND
@_FEW
def test_elimination_knows_the_rank_and_bounds_hold(kind: str, number: int) -> None:
    for seed in range(number):
        problem, hidden = drawn_system(kind, seed)
        known = unknowns_of(problem, hidden)
        links, matrix = known.relations, known.relations.dense()
        order = np.random.default_rng(seed).permutation(links.cells)
        done = elimination_of(links, order)
        ranks = [np.linalg.matrix_rank(matrix[:, order[:at]]) for at in range(len(order) + 1)]
        assert done.whole
        assert (done.rank >= 0).tolist() == (np.diff(ranks) > 0).tolist()
        assert done.rank[done.rank >= 0].tolist() == list(range(ranks[-1]))
        left = independent_relations(links).dense()
        assert len(left) == np.linalg.matrix_rank(left) == ranks[-1]
        low, high = reaches(problem, hidden)
        least, most = outer_bounds(known)
        assert (least <= low + NEAR).all()
        assert (high <= most + NEAR).all()
        # What cannot move by single relations stands apart: blocks tell the same as the whole.
        mobile = mobile_cells(known)
        assert not (high - low)[~mobile].any()
        part = known.part(mobile)
        for block in blocks_of(part, np.ones(len(part), dtype=np.bool_)):
            mine = np.isin(np.arange(len(problem)), block.cells)
            at = np.searchsorted(known.cells, block.cells)
            alone = reaches(problem, mine)
            assert alone[0] == pytest.approx(low[at], abs=NEAR)
            assert alone[1] == pytest.approx(high[at], abs=NEAR)


@_EACH_KIND
@_FEW
def test_audits_tell_intervals_and_know_that_values_are_whole(kind: str, number: int) -> None:
    fractions = 0
    for seed in range(number):
        problem, hidden = drawn_system(kind, seed)
        found = audit_problem(problem, hidden, intervals=True)
        ends = intervals(problem, hidden)
        frame = found.intervals()
        assert frame["cell"].to_list() == [problem.name(cell) for cell in ends]
        assert frame["low"].to_numpy() == pytest.approx([low for low, _ in ends.values()], abs=NEAR)
        assert frame["high"].to_numpy() == pytest.approx(
            [end for _, end in ends.values()], abs=NEAR
        )
        assert frame["value"].to_list() == problem.value[hidden].tolist()
        sensitive = problem.state == CellState.primary
        assert frame["sensitive"].to_list() == sensitive[hidden].tolist()
        reader = reader_of(problem, hidden, whole=True)
        opened, exact = [], []
        for cell in problem.primary.tolist():
            low, high = attack(reader, cell) if hidden[cell] else (problem.value[cell],) * 2
            if not hidden[cell] or not demand_of(problem, cell).met_by(low, high):
                opened.append(problem.name(cell))
                exact += [problem.name(cell)] if high - low < 0.01 else []
        assert list(found.unprotected) == opened
        if not found.certificate.untested:
            assert set(exact) >= set(found.exact)
        assert found.safe == (not opened) == is_safe(problem, hidden, whole=True)
        fractions += len(opened) > len(certify(problem, hidden).unprotected)
        numbers = found.described()
        assert numbers["cost"] == problem.cost[hidden & ~sensitive].sum()
        assert numbers["hidden"] == hidden.sum()
        assert numbers["sensitive"] == sensitive.sum()
        assert numbers["secondaries"] == (hidden & ~sensitive).sum()
        assert (numbers["unprotected"], numbers["exact"]) == (len(opened), len(found.exact))
    assert fractions or kind != "odd" or number < 12


@_EACH_KIND
@_FEW
@pytest.mark.parametrize("most", [1, 3])
def test_contributors_and_coalitions_learn_what_they_compute_by_themselves(
    kind: str, number: int, most: int
) -> None:
    opened = weakened = 0
    for seed in range(number):
        problem, hidden = drawn_system(kind, seed)
        draw = np.random.default_rng(seed)
        numbers = draw.integers(1, 5, len(problem))
        owner = np.where(numbers == 1, draw.integers(0, 3, len(problem)), -1)
        insiders = Insiders(owner=owner) if seed % 2 else None
        owner = owner if seed % 2 else np.where(numbers == 1, np.arange(len(problem)), -1)
        own = {who: np.flatnonzero(owner == who) for who in np.unique(owner[owner >= 0])}
        watching = {who: cells for who, cells in own.items() if hidden[cells].any()}
        small = np.flatnonzero(hidden & (numbers <= most)).tolist()
        coalitions = [
            set(cells)
            for size in range(1, most + 1 if most > 1 else 1)
            for cells in combinations(small, size)
            if numbers[list(cells)].sum() <= most and in_one_block(problem, hidden, cells)
            if size > 1 or numbers[cells[0]] > 1
        ]
        certificate = certify(problem, hidden)
        firm = set(certificate.cells[certificate.protected].tolist())
        known = set(certificate.exact.tolist())
        exact, surely, perhaps = set(), set(), set()
        for cells in watching.values():
            alone = his_alone(problem, cells.tolist())
            for cell, (low, high) in left_open(problem, hidden, set(cells.tolist())).items():
                if cell in firm - alone:
                    perhaps |= {cell}
                    exact |= {cell} if high - low < 0.01 else set()
        for some in coalitions:
            whose = {owner[cell] for cell in some} - {-1}
            knows = some | {cell for who in whose for cell in own[who].tolist()}
            for cell, (low, high) in left_open(problem, hidden, knows).items():
                surely |= {cell} & firm
                exact |= {cell} - known if high - low < 0.01 else set()
        found = audit_respondents(problem, hidden, numbers, most=most, insiders=insiders)
        assert set(found.opened.tolist()) == exact
        assert found.names == tuple(problem.name(cell) for cell in sorted(exact))
        assert exact | surely <= set(found.weakened.tolist()) <= exact | surely | perhaps
        assert found.coalitions == len(watching) + len(coalitions)
        assert found.safe == (not len(found.weakened))
        opened, weakened = opened + len(exact), weakened + len(found.weakened)
        if len(coalitions) > 1:
            limit = len(watching) + 1
            cut = audit_respondents(
                problem, hidden, numbers, most=most, insiders=insiders, limit=limit
            )
            assert (cut.coalitions, cut.left) == (limit, len(coalitions) - 1)
            assert not cut.safe
    assert number < 12 or (opened and weakened)


def left_open(
    problem: SuppressionProblem, hidden: np.ndarray, knows: set[int]
) -> dict[int, tuple[float, float]]:
    """The sensitive hidden cells that are too narrow for one who knows some cells."""
    blank = hidden.copy()
    blank[list(knows)] = False
    reader = reader_of(problem, blank)
    cells = [cell for cell in problem.primary.tolist() if blank[cell]]
    ends = {cell: attack(reader, cell) for cell in cells}
    return {cell: end for cell, end in ends.items() if not demand_of(problem, cell).met_by(*end)}


# -- work on patches ------------------------------------------------------------------


@_EACH_KIND
@_SEVERAL
def test_what_patches_prove_is_true_and_all_that_there_is(kind: str, number: int) -> None:
    for seed in range(number):
        problem, hidden = drawn_system(kind, seed)
        hidden |= problem.hidden
        draft = DraftPattern(problem.with_hidden(hidden))
        prove_by_hidden_cells(draft, never)
        assert not (draft.mask() & ~hidden).any(), "hidden cells alone prove something"
        protected = is_safe(problem, hidden)
        proven = certificate_from_proofs(draft)
        assert protected or len(proven.unprotected)
        known = unknowns_of(problem, hidden)
        seen, (low, high) = Reach.none(len(known)), reaches(problem, hidden)
        reach_by_patches(problem, known, seen)
        below, above = seen.low, seen.high
        assert (low - NEAR <= below).all()
        assert (above <= high + NEAR).all()
        met = known.protected(below, above) == known.protected(low, high)
        # A sliding level is asked in one place only, and may be met in another.
        assert (met | ~known.sensitive | (known.sliding > known.lower + known.upper)).all()


@_EACH_KIND
@_SEVERAL
def test_covering_hides_enough_and_names_what_nothing_can_do(kind: str, number: int) -> None:
    covered = 0
    for seed in range(number):
        problem, _ = drawn_system(kind, seed)
        draft = DraftPattern(problem)
        every = np.ones(len(problem), dtype=np.bool_)
        failed = cover_tasks(draft, draft.open, never)
        for task in failed:
            cell, distance = draft.distance(task)
            low, high = intervals(problem, every)[int(draft.unknowns.cells[cell])]
            value = problem.value[draft.unknowns.cells[cell]]
            assert not low - NEAR <= value + distance <= high + NEAR
        assert set(draft.open.tolist()) == set(failed)
        if not failed:
            covered += 1
            assert is_safe(problem, draft.mask())
            assert not len(certificate_from_proofs(draft).unprotected)
        before, room = draft.target.copy(), np.concatenate([draft.up, draft.down])
        draft.raise_targets(np.flatnonzero(draft.unknowns.sensitive).astype(np.int64))
        assert np.array_equal(draft.target > before, (before > 0) & (room > before))
        assert (draft.target <= np.maximum(room, before)).all()
        assert np.array_equal(draft.open, np.flatnonzero(before))
    assert covered


def test_the_attacker_asks_for_levels_as_users_know_them() -> None:
    """Up and down, in all, and one unit where nothing is asked for."""
    assert Demand(10, 2, 3, 0).met_by(8, 13)
    assert not Demand(10, 2, 3, 0).met_by(8, 12)
    assert not Demand(10, 2, 3, 9).met_by(8, 13)
    assert Demand(10).met_by(10, 11)
    assert not Demand(10).met_by(10, 10.5)
