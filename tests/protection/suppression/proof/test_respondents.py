"""What a lone respondent computes from a row of hidden cells, and what keeps it from him."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.disclosure import Insiders
from discreet.protection.suppression.methods.branch_and_cut import insider_aims
from discreet.protection.suppression.methods.cut_program import movable_cells
from discreet.protection.suppression.methods.registry import find_pattern
from discreet.protection.suppression.problem.linked_tables import build_problem
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.contributors import InsiderProofs, audit_respondents
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from tests.helpers.small_systems import problem_of as system_of


def problem_of(counts: dict[str, int], *sensitive: str) -> tuple[SuppressionProblem, Any]:
    total = {"Total": sum(counts.values())}
    frame = pl.DataFrame({"size": list(total | counts), "n": list((total | counts).values())})
    table = dc.Table.from_cells(frame, by=["size"], count="n")
    codes = [table.dimensions[0].codes[at] for at in table.index[0]]
    problem, _ = build_problem((table, np.isin(codes, sensitive)), zero_cells="partners")
    return problem, problem.value.copy()


def open_to(problem: SuppressionProblem, hidden: Any, respondents: Any, owner: Any = None) -> set:
    """Names of the cells that single respondents open."""
    insiders = None if owner is None else Insiders(owner=owner)
    found = audit_respondents(problem, hidden, respondents, insiders=insiders)
    assert found.safe == (not found.names)
    return set(found.names)


@pytest.mark.parametrize("number", [0, 1, 7])
def test_one_owner_of_two_cells_knows_the_third(number: int) -> None:
    problem, respondents = problem_of({"a": 1, "b": 1, "c": 1, "d": 6}, "a", "b", "c")
    assert not open_to(problem, problem.hidden, respondents)
    owner = np.full(len(problem), -1)
    for at in range(len(problem)):
        known = {"size=a": number, "size=b": number, "size=c": 9}
        owner[at] = known.get(problem.name(at), -1)
    assert open_to(problem, problem.hidden, respondents, owner) == {"size=c"}
    done = find_pattern(problem, "fast", insiders=Insiders(owner=owner))
    assert done.secondaries == 1
    assert done.bound == done.cost
    assert not open_to(problem, done.hidden, respondents, owner)
    for late in (False, True):  # what is not asked for any more is not proven
        draft = DraftPattern(problem.with_hidden(done.hidden))
        proofs = InsiderProofs(draft, Insiders(owner=owner), lambda: late)  # noqa: B023
        assert proofs.prove_by_hidden() == []
        assert proofs.check() == (proofs.aims if late else [])


@pytest.mark.parametrize(("sliding", "width"), [(0, 0), (15, 0), (20, 14)])
def test_an_insider_with_most_of_a_cell_is_asked_for_his_share_of_each_level(
    sliding: int, width: int
) -> None:
    """Of 100 he knows 60: levels of 6, 9 and the sliding one shrink to two thirds."""
    rows = [[(0, 1), (1, 1), (2, 1), (3, -1)], [(3, 1), (4, 1), (5, -1)]]
    value, total = np.array([60, 25, 15, 100, 80, 180]), (np.arange(6) == 3).astype(np.int64)
    levels = {"lower": 6 * total, "upper": 9 * total, "sliding": sliding * total}
    problem = system_of(value, rows, high=2 * value, state=CellState.primary * total, **levels)
    insiders = Insiders(owner=np.where(np.arange(6) == 0, 7, -1))
    aims = insider_aims(movable_cells(problem), InsiderProofs(DraftPattern(problem), insiders))
    expected = {(3, 1, 6, 7), (3, -1, 4, 7)} | ({(3, 0, width, 7)} if width else set())
    assert {(aim.cell, aim.side, aim.level, aim.who) for aim in aims} == expected
    assert len(aims) == len(expected)
    proofs = InsiderProofs(DraftPattern(problem), insiders)
    for aim in proofs.aims_of(3, 7):
        aim.waived = True
    assert not insider_aims(movable_cells(problem), proofs)


def test_the_published_cases(reference: Path) -> None:
    with gzip.open(reference / "sdctable" / "S1_singletons.json.gz", "rt") as file:
        case = json.load(file)
    listed = case["runs"][1]["result"]
    counts = dict(zip(listed["region"], listed["Freq"], strict=True))
    counts.pop("tot")
    sensitive = [
        code
        for code, mark in zip(listed["region"], listed["sdcStatus"], strict=True)
        if mark == "u"
    ]
    problem, respondents = problem_of(counts, *sensitive)
    assert open_to(problem, problem.hidden, respondents)
    # Their answer is the only one, the other cell that is not empty, where zeros are published;
    # a hidden zero of which readers know no better could be all that is missing, too.
    for cell in range(len(problem)):
        third = problem.hidden.copy()
        third[cell] = True
        safe = not open_to(problem, third, respondents)
        assert safe == (problem.name(cell) in ("size=b", "size=d", "total"))
    known = replace(problem, high=np.where(problem.value == 0, 0, problem.high))
    third = problem.hidden | (problem.value == 0)
    assert open_to(known, third, respondents)
