"""Circuits through single cells: whole, within bounds, without what is left out."""

from __future__ import annotations

import numpy as np
import polars as pl

import discreet as dc
from discreet.protection.suppression.problem.linked_tables import build_problem
from discreet.protection.suppression.proof import local_circuits
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.insider_proofs import InsiderProofs
from discreet.protection.suppression.proof.insiders import Insiders
from discreet.protection.suppression.proof.local_circuits import LocalCircuits


def draft_of(seed: int = 1, number: int = 260) -> DraftPattern:
    """A three-way table of values in which all cells may move."""
    draw = np.random.default_rng(seed)
    columns = {f"v{at}": draw.integers(0, size, number) for at, size in enumerate((9, 5, 4))}
    firms = pl.DataFrame(columns).with_columns(worth=draw.integers(20, 900, number))
    table = dc.tabulate(firms, by=list(columns), values=["worth"], contributions=2)
    found = dc.primary(table, [dc.rules.PPercent(20)], value="worth")
    draft = DraftPattern(build_problem((table, found), value="worth")[0])
    draft.hidden[:] = True
    return draft


def asked(draft: DraftPattern):
    tasks = draft.open
    far = np.where(tasks < len(draft), draft.target[tasks], -draft.target[tasks])
    return tasks % len(draft), far


def found_in(draft: DraftPattern, without=None):
    cells, far = asked(draft)
    circuits = LocalCircuits(draft.unknowns.relations, draft.down, draft.up)
    rank = np.argsort(np.argsort(-np.minimum(draft.down, draft.up), kind="stable"))
    return list(circuits.through(cells, far, draft.hidden, rank, without, 200))


def test_circuits_move_cells_as_far_as_asked_and_keep_all_relations_and_bounds():
    draft = draft_of()
    cells, far = asked(draft)
    found = found_in(draft)
    assert sum(each is not None for each in found) > 0.9 * len(found) > 10
    links = draft.unknowns.relations
    for cell, distance, each in zip(cells, far, found, strict=True):
        if each is not None:
            moved = np.zeros(len(draft))
            moved[each[0]] = each[1]
            assert moved[cell] == distance
            assert np.abs(np.bincount(links.row, links.coef * moved[links.cell])).max() < 1e-9
            assert (moved <= draft.up + 1e-9).all()
            assert (-moved <= draft.down + 1e-9).all()


def test_circuits_do_without_what_is_left_out():
    draft = draft_of()
    used = [np.zeros(0, dtype=np.int64) if e is None else e[0] for e in found_in(draft)]
    cells, _ = asked(draft)
    out = [each[each != cell][:2] for cell, each in zip(cells, used, strict=True)]
    again = found_in(draft, out)
    assert sum(each is not None for each in again) > 5
    for each, left_out in zip(again, out, strict=True):
        assert each is None or not np.isin(left_out, each[0]).any()


def test_circuits_do_not_depend_on_the_number_of_threads(monkeypatch):
    draft = draft_of()
    several = found_in(draft)
    monkeypatch.setattr(local_circuits, "_THREADS", 1)
    for one, other in zip(several, found_in(draft), strict=True):
        assert (one is None) == (other is None)
        assert one is None or all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_insiders_are_shown_most_by_circuits_alone():
    draft = draft_of()
    owner = np.full(len(draft.problem), -1)
    single = draft.unknowns.cells[draft.unknowns.sensitive]
    owner[single] = single
    proofs = InsiderProofs(draft, Insiders(owner=owner))
    left = proofs.prove_by_circuits(range(len(proofs.aims)))
    assert len({each.aim for each in left}) < 0.2 * len(proofs.aims)
    assert draft.solved == 0
    assert set(proofs.check()) == {each.aim for each in left}
