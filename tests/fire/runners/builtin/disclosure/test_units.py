"""Whom records are about: cases are counted, and never more of them than there are."""

from __future__ import annotations

import numpy as np
import pytest

from discreet_fire.runners.builtin.data.dataset import DataVariable
from discreet_fire.runners.builtin.disclosure.units import OWNER, RECORD, cases, owners
from discreet_fire.runners.builtin.language.values import MISSING
from tests.helpers.run_data import Run

FOUR = np.ones(4, dtype=np.bool_)


def test_records_are_looked_at_again_once_data_say_whom_they_are_about() -> None:
    """Four records count for four only until they turn out to be about one person."""
    run = Run("", {"x": [1, 2, 3, 4]}, entity="pid")
    assert cases(run.session, FOUR) == 4
    run.more("generate pid = 1")
    assert cases(run.session, FOUR) == 1
    del run.session.data.hidden[OWNER]
    assert cases(run.session, FOUR) == 4


def test_records_are_looked_at_again_once_some_of_them_are_made_up() -> None:
    """A made-up record counts for nobody, whatever person it names."""
    run = Run("", {"pid": [1, 2, 3, 4]}, entity="pid")
    assert cases(run.session, FOUR) == 4
    made_up = np.array([0.0, MISSING, MISSING, 3.0])
    run.session.data.hidden[RECORD] = DataVariable(made_up, "double")
    assert owners(run.session)[1:3].tolist() == [-1, -1]


def test_what_is_known_of_records_is_worked_out_once() -> None:
    run = Run("", {"pid": [1, 2, 3, 4]}, entity="pid")
    assert owners(run.session) is owners(run.session)


@pytest.mark.parametrize("pid", [[1, None, None, 4], ["a", "", "", "d"]])
def test_records_that_name_nobody_are_about_nobody_that_is_known(pid: list[object]) -> None:
    run = Run("", {"pid": pid}, entity="pid")
    assert owners(run.session)[1:3].tolist() == [-1, -1]
    assert cases(run.session, FOUR) == 2
