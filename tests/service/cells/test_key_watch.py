"""Whoever tabulates the noise instead of records is noticed; whoever tabulates records is not."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from discreet.keygrid import KeyGrid
from discreet_service.cells import KeyWatch
from tests.helpers.service_people import SetClock
from tests.service.cells.conftest import Caller

GRID = KeyGrid()


def kinds(watch: KeyWatch, count: object, key: object, caller: str = "tool") -> list[str]:
    counts, keys = np.asarray(count, dtype=np.int64), np.asarray(key, dtype=np.int64)
    return [each.kind for each in watch.watch(caller, "census@1", counts, keys, GRID)]


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def watch(clock: SetClock) -> KeyWatch:
    return KeyWatch(b"secret", clock, most_keys=50_000)


def test_tables_of_records_raise_no_alarm(watch: KeyWatch) -> None:
    draw = np.random.default_rng(2)
    count, key = draw.geometric(0.2, 40_000), draw.integers(0, GRID.size, 40_000)
    for _ in range(20):
        some = draw.integers(0, len(key), 10_000)
        assert kinds(watch, count[some], key[some]) == []


def test_one_key_with_many_counts_is_noticed(watch: KeyWatch) -> None:
    key = np.random.default_rng(3).integers(0, GRID.size, 50)
    assert kinds(watch, np.full(50, 1), key) == []
    assert kinds(watch, np.full(50, 2), key) == ["contradicting-cells"]
    assert kinds(watch, np.full(50, 3), key) == [], "each alarm is given once a day"


@pytest.mark.parametrize("size", [2_000, 100_000])
def test_keys_in_steps_are_noticed(watch: KeyWatch, size: int) -> None:
    assert "uneven-keys" in kinds(watch, np.full(size, 1), np.arange(size) * (GRID.size // size))


def test_searching_for_bounds_is_noticed(watch: KeyWatch) -> None:
    near = GRID.size // 4 + np.random.default_rng(4).integers(-(10**9), 10**9, 3_000)
    assert kinds(watch, np.full(3_000, 2), near) == ["uneven-keys"]


def test_more_keys_than_a_release_has_are_noticed_over_calls_but_not_days(
    watch: KeyWatch, clock: SetClock
) -> None:
    draw, found = np.random.default_rng(5), []
    for _ in range(8):
        found += kinds(watch, np.full(10_000, 1), draw.integers(0, GRID.size, 10_000))
    assert found == ["many-keys"]
    clock.later(days=1)
    assert kinds(watch, np.full(10_000, 1), draw.integers(0, GRID.size, 10_000)) == []


def test_callers_are_watched_apart(watch: KeyWatch) -> None:
    key = np.random.default_rng(6).integers(0, GRID.size, 50)
    assert kinds(watch, np.full(50, 1), key, "one") == []
    assert kinds(watch, np.full(50, 2), key, "other") == []


def test_alarms_are_counted_and_written_down_without_refusing(caller: Caller) -> None:
    size = 2_000
    frame = pl.DataFrame({"n": [1] * size, "key": np.arange(size) * (GRID.size // size)})
    assert caller.hand_in("counts", frame).status_code == 200
    page = caller.served.service.metrics.page().decode()
    assert 'discreet_alerts_total{kind="uneven-keys"} 1.0' in page
    newest = caller.served.service.query_log.search(principal="tool").rows[0]
    assert json.loads(newest.rules) == ["alarm:uneven-keys"]
    assert newest.cells == size
    assert repr(caller.served.service.key_watch) == "<KeyWatch>"
