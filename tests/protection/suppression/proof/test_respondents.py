"""Sums of sensitive cells that a lone respondent could undo become cells of their own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.linked_tables import build_problem
from discreet.protection.suppression.problem.system import SuppressionProblem
from discreet.protection.suppression.proof.certificate import certify
from discreet.protection.suppression.proof.singletons import guard_respondents

COUNTS = {"a": 1, "b": 1, "c": 5, "d": 6}


def problem_of(counts: dict[str, int], *sensitive: str) -> tuple[SuppressionProblem, Any]:
    total = {"Total": sum(counts.values())}
    frame = pl.DataFrame({"size": list(total | counts), "n": list((total | counts).values())})
    table = dc.Table.from_cells(frame, by=["size"], count="n")
    codes = [table.dimensions[0].codes[at] for at in table.index[0]]
    problem, _ = build_problem((table, np.isin(codes, sensitive)), zero_cells="partners")
    return problem, problem.value.copy()


def names(problem: SuppressionProblem, cells: Any) -> list[str]:
    return [problem.name(int(at)) for at in cells]


def hidden(problem: SuppressionProblem, *codes: str) -> np.ndarray:
    listed = {f"size={code}" for code in codes}
    return problem.hidden | np.array([problem.name(at) in listed for at in range(len(problem))])


def test_two_singletons_know_each_other_without_a_third_cell() -> None:
    problem, respondents = problem_of(COUNTS, "a", "b")
    assert not len(certify(problem, problem.hidden).unprotected)
    guarded, added = guard_respondents(problem, respondents)
    assert names(guarded, added) == ["the sum of size=a and size=b"]
    assert names(guarded, certify(guarded, guarded.hidden).unprotected) == names(guarded, added)
    assert not len(certify(guarded, hidden(guarded, "c")).unprotected)


def test_a_singleton_and_a_cell_of_several() -> None:
    problem, respondents = problem_of(COUNTS, "a", "c")
    assert len(guard_respondents(problem, respondents)[1]) == 1
    assert not len(guard_respondents(problem, respondents, multiples=False)[1])
    assert len(guard_respondents(problem, respondents, singletons=False)[1]) == 1


def test_cells_of_several_together_below_the_minimum() -> None:
    problem, respondents = problem_of({"a": 2, "b": 2, "c": 5, "d": 6}, "a", "b")
    assert not len(guard_respondents(problem, respondents)[1])
    assert len(guard_respondents(problem, respondents, minimum=5)[1]) == 1
    assert not len(guard_respondents(problem, respondents, minimum=4)[1])


@pytest.mark.parametrize("number", [0, 1, 7])
def test_one_owner_of_two_cells_knows_the_third(number: int) -> None:
    problem, respondents = problem_of({"a": 1, "b": 1, "c": 1, "d": 6}, "a", "b", "c")
    assert not len(guard_respondents(problem, respondents)[1])
    owner = np.array(
        [
            {"size=a": number, "size=b": number}.get(problem.name(at), -1)
            for at in range(len(problem))
        ]
    )
    guarded, added = guard_respondents(problem, respondents, owner=owner)
    assert names(guarded, added) == ["the sum of size=a and size=b and size=c"]


def test_owners_of_the_same_number_are_counted_once() -> None:
    """Cells of two respondents, one of whom has both of the small ones."""
    problem, respondents = problem_of({"a": 1, "b": 1, "c": 1, "d": 6}, "a", "b", "c")
    listed = {"size=a": 0, "size=b": 0, "size=c": 1}
    owner = np.array([listed.get(problem.name(at), -1) for at in range(len(problem))])
    off = {"singletons": False, "multiples": False}
    for minimum, sums in ((2, 0), (3, 1)):
        added = guard_respondents(problem, respondents, owner=owner, minimum=minimum, **off)[1]
        assert len(added) == sums
    for minimum, sums in ((3, 0), (4, 1)):  # without owners there are three of them
        assert len(guard_respondents(problem, respondents, minimum=minimum, **off)[1]) == sums


def test_a_hidden_total_and_its_singleton() -> None:
    problem, respondents = problem_of({"a": 1, "b": 5, "c": 6}, "a")
    state = problem.state.copy()
    state[[problem.name(at) == "total" for at in range(len(problem))]] = 1
    from dataclasses import replace

    guarded, added = guard_respondents(replace(problem, state=state), respondents)
    assert guarded.value[added].tolist() == [11]
    assert not guarded.relations.residuals(guarded.value).any()
    guarded.check()


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
    guarded, added = guard_respondents(problem, respondents)
    assert len(added) == 1
    # Their answer is the only one: the other cell that is not empty.
    for cell in range(len(problem)):
        third = guarded.hidden.copy()
        third[cell] = True
        safe = not len(certify(guarded, third).unprotected)
        assert safe == (problem.name(cell) in ("size=b", "total"))


def test_columns_of_another_length_are_refused() -> None:
    problem, respondents = problem_of(COUNTS, "a", "b")
    with pytest.raises(SuppressionError, match="one number of respondents for each cell"):
        guard_respondents(problem, respondents[1:])
