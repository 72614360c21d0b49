"""Numbers of records in notes: shown where they are of enough persons, `.` otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet_fire.runners.builtin.disclosure.record_counts import (
    AffectedRecords,
    affected,
    all_affected,
    all_records,
    cases_note,
    count_text,
    failure,
    nobody,
)
from tests.helpers.run_data import Run

#: Nine records of five persons; person 0 has four of them.
WHO = {"pid": [0, 0, 0, 0, 1, 1, 2, 3, 4], "x": list(range(9))}


def rows(*at: int, of: int = 9) -> Any:
    mask = np.zeros(of, dtype=np.bool_)
    mask[list(at)] = True
    return mask


def test_every_person_counts_the_first_one_too() -> None:
    run = Run("", WHO, entity="pid").session
    found = affected(run, rows(0, 4, 6))
    assert (found.records, found.cases, found.even) == (3, 3, True)
    assert count_text(run, found) == "3"
    assert affected(run, rows(0, 1, 4)).cases == 2
    assert count_text(run, affected(run, rows(0, 1, 4))) == "."
    assert count_text(run, affected(run, rows())) == "0"


def test_who_has_nearly_all_records_could_be_told_by_their_number() -> None:
    heavy = {"pid": [0] * 95 + [1, 1, 2, 3, 4], "x": list(range(100))}
    run = Run("", heavy, entity="pid").session
    found = affected(run, np.ones(100, dtype=np.bool_))
    assert (found.records, found.cases, found.even) == (100, 5, False)
    assert count_text(run, found) == "."
    assert all_records(run) == "."
    even = affected(run, np.arange(90, 100))
    assert even.even
    # Two of whom one has hardly any are few already; alone, one has all of it.
    assert affected(run, rows(0, 1, of=100)).even


def test_the_number_of_all_records() -> None:
    assert all_records(Run("", WHO, entity="pid").session) == "9"
    assert all_records(Run("").session) == "0"
    assert all_records(Run("drop if x >= 0", WHO, entity="pid").session) == "."
    assert all_records(Run("keep in 1/5", WHO, entity="pid").session) == "."


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        ([[0, 4, 6]], False),  # the rest is that of persons 0, 1, 3 and 4: person 2 is left out
        ([[0, 1]], False),
        ([[0, 1, 2, 3, 4, 5, 6]], False),  # two are left
        ([[0, 4]], False),
        ([[]], True),
        ([[0, 4, 6], [0, 1]], False),
    ],
)
def test_several_numbers_are_shown_if_each_and_its_rest_is(
    at: list[list[int]], shown: bool
) -> None:
    run = Run("", WHO, entity="pid").session
    found = all_affected(run, [rows(*one) for one in at])
    assert found.records == sum(len(one) for one in at)
    three_and_rest = at == [[0, 4, 6]]
    assert (found.cases >= 3) == (shown or three_and_rest)


def test_that_it_is_all_of_them_is_told_of_categories_only() -> None:
    run = Run("", WHO, entity="pid").session
    every = rows(*range(9))
    run.trace.plain = True
    assert all_affected(run, [every]).cases >= 3
    assert all_affected(run, [every], whole=False).cases == 0
    run.trace.plain = False
    assert all_affected(run, [every]).cases == 0


@pytest.mark.parametrize(
    ("count", "plain", "nobody_told", "shown"),
    [
        (5, True, True, "(5 changes)"),
        (2, True, True, "(. changes)"),
        (0, True, True, "(0 changes)"),
        (0, True, False, "(. changes)"),
        (0, False, True, "(. changes)"),
        (5, False, False, "(5 changes)"),
    ],
)
def test_that_there_are_none_answers_a_question(
    count: int, plain: bool, nobody_told: bool, shown: str
) -> None:
    """What one has could be asked for bit by bit: 0 is shown of categories only."""
    run = Run("", WHO, entity="pid")
    run.session.trace.plain = plain
    cases_note(run.session, count, "change", "changes", "replace", nobody=nobody_told)
    assert shown in run.text
    assert run.text.count("(") >= 1


def test_a_number_that_rests_on_single_values_is_not_shown() -> None:
    run = Run("", WHO, entity="pid")
    run.session.trace.touched = True
    cases_note(run.session, 5, "change", "changes", "replace")
    assert "(5 changes)" not in run.text
    assert "(. changes)" in run.text


def test_a_count_of_one_is_in_the_singular() -> None:
    run = Run("", {"x": [1]})
    cases_note(run.session, AffectedRecords(1, 3), "change", "changes", "replace")
    assert "(1 change)" in run.text


def test_errors_of_a_few_records_are_redacted() -> None:
    run = Run("", WHO, entity="pid").session
    assert failure(run, rows(0, 1), "wrong", code=9).redacted
    assert not failure(run, rows(0, 4, 6), "wrong", code=9).redacted
    assert not failure(run, rows(), "wrong", code=9).redacted
    assert not failure(Run("").session, rows(of=0), "wrong", code=9).redacted
    run.trace.plain = True
    assert not nobody(run).redacted
    run.trace.plain = False
    assert nobody(run).redacted
    assert not nobody(Run("").session).redacted
