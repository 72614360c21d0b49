"""Whoever tabulates the noise instead of records is noticed; whoever tabulates records is not."""

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
    return list(watch.watch(caller, "census@1", counts, keys, GRID))


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


def test_halving_bounds_is_noticed_though_keys_are_few_and_far_apart(watch: KeyWatch) -> None:
    """Each call halves the distance to eight bounds: no key comes twice, none of many counts."""
    draw, found, handed_in = np.random.default_rng(7), list[str](), 0
    low = np.arange(8) * (GRID.size // 8) + draw.integers(1, 10**13, 8)
    step = GRID.size // 16
    while step:
        found += kinds(watch, np.full(8, 3), low + step)
        low, step = low + step * draw.integers(0, 2, 8), step // 2
        handed_in += 8
        if found:
            break
    assert found == ["uneven-keys"]
    assert handed_in < 300


def test_callers_who_share_the_work_are_noticed_together(watch: KeyWatch) -> None:
    """Steps by ten callers, none of whom has enough for an alarm; told once, and of all."""
    keys, found = np.arange(3_000) * (GRID.size // 3_000), list[str]()
    for at in range(10):
        found += kinds(watch, np.full(300, 1), keys[at::10], f"tool {at}")
    assert found == ["uneven-together"]


def test_who_is_noticed_alone_throws_no_suspicion_on_others(watch: KeyWatch) -> None:
    assert kinds(watch, np.full(2_000, 1), np.arange(2_000) * (GRID.size // 2_000)) == [
        "uneven-keys"
    ]
    for seed in range(5):
        key = np.random.default_rng(seed).integers(0, GRID.size, 500)
        assert kinds(watch, np.full(500, 1), key, "other") == []


@pytest.mark.parametrize("size", [40, 4_000])
def test_keys_of_records_are_hardly_ever_taken_for_a_search(clock: SetClock, size: int) -> None:
    """By theory once in some hundred million; that it is rarer than once in 500 shows here."""
    for seed in range(min(500, 200_000 // size)):
        draw, watch = np.random.default_rng(seed), KeyWatch(b"secret", clock)
        assert kinds(watch, draw.geometric(0.2, size), draw.integers(0, GRID.size, size)) == []


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
