"""A time limit holds for everything; what is returned then is proven, or it is an error."""

import time

import numpy as np
import pytest

import discreet as dc
from discreet.compiled import compile_seconds
from discreet.errors import SuppressionError
from discreet.protection.suppression import find_pattern
from discreet.protection.suppression.methods.worktime import TimeShares, WorkTime
from discreet.protection.suppression.proof.certificate import certify
from tests.protection.suppression.methods.test_never_absurd import firm_records, firms


def test_a_part_of_the_time_ends_before_the_rest():
    watch = WorkTime(100.0)
    part = watch.share(0.3)
    assert time.monotonic() < part.until < time.monotonic() + 30.0
    assert WorkTime().share(0.3).until == np.inf


def test_what_must_be_done_is_refused_when_it_is_far_too_late():
    assert not WorkTime(1.0, begin=time.monotonic() - 0.5).refused()
    assert not WorkTime(begin=time.monotonic() - 1e6).refused()
    with pytest.raises(SuppressionError, match="within the time limit") as caught:
        WorkTime(1.0, begin=time.monotonic() - 7.0).refused()
    assert caught.value.code == "time-limit"


def test_several_values_share_one_limit():
    shares = TimeShares(100.0)
    first = shares.shared_by(4)
    assert 20.0 < first["time_limit"] <= 25.0
    assert shares.shared_by(1)["time_limit"] == 100.0
    assert shares.shared_by(1)["begin"] <= first["begin"]
    assert TimeShares(None).shared_by(3)["time_limit"] is None
    assert TimeShares(0).shared_by(3)["time_limit"] == 0


def test_waiting_for_other_programs_is_no_reason_to_refuse(monkeypatch):
    watch, later = WorkTime(1.0), time.monotonic() + 60.0
    monkeypatch.setattr("time.monotonic", lambda: later)
    assert watch.over()
    assert not watch.refused()


@pytest.mark.exhaustive
def test_a_table_of_two_values_keeps_to_the_limit():
    frame = firm_records((24, 20), 2.0, 5)
    frame = frame.with_columns(w=frame["v"].reverse())
    table = dc.tabulate(frame, ["a", "b"], values=["v", "w"], contributions=2)
    found = [dc.primary(table, [dc.rules.PPercent(10)], value=name) for name in ("v", "w")]
    began = time.process_time() - compile_seconds()
    safe = dc.suppress(table, found, method="auto", time_limit=2.5)
    assert time.process_time() - compile_seconds() - began < 2.5 + 20
    assert dc.audit(safe, table, found).safe


@pytest.mark.parametrize("method", ["fast", "auto"])
def test_a_pattern_that_was_cut_short_is_safe_within_the_time(method):
    problem = firms((30, 20, 2), 1.6, 4)
    begin = time.process_time() - compile_seconds()
    pattern = find_pattern(problem, method, time_limit=2.0, begin=time.monotonic() - 1.5)
    assert time.process_time() - compile_seconds() - begin < 0.5 + 20
    assert not pattern.complete
    assert not len(certify(problem, pattern.hidden).unprotected)
