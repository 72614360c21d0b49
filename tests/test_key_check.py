"""The test of record keys: what is refused, what is not, and how surely.

Power at the sizes used here, from the bounds in `key_check`: keys in one half of the grid are
found from 60 records on, keys in nine tenths of it from 1,000; one key in a hundred the same
from 1,000 records; a pool of keys used twice from 20,000 records. False alarms: below 10^-9.
"""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.arrays import IntArray
from discreet.errors import RecordKeyError
from discreet.key_check import ENOUGH, LEAST, MOST, KeyCheck, check_keys, sampled_places
from discreet.keygrid import KeyGrid
from tests.helpers.rows import for_all_rows

CENSUS = KeyGrid()
GRIDS = (2, 10, 100, 256, 1000, 4096, 2**16, 10**6, 10**8, 2**32, 10**12, 10**15)
COUNT = 20_000


def sample(keys: IntArray) -> IntArray:
    return keys[sampled_places(len(keys))]


def found(keys: IntArray, grid: KeyGrid = CENSUS) -> KeyCheck:
    return check_keys(sample(keys), grid)


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


def mistakes(count: int) -> dict[str, IntArray]:
    """What people took for record keys."""
    draw = rng()
    proper = draw.integers(0, CENSUS.size, count)
    return {
        "person id": np.arange(count) + 10_000_000,
        "person id, shuffled": draw.permutation(count),
        "income": draw.lognormal(10, 1, count).astype(np.int64),
        "date of birth": draw.integers(19_300_101, 20_201_231, count),
        "keys of 2^32": draw.integers(0, 2**32, count),
        "keys of 12 digits": draw.integers(0, 10**12, count),
        "one constant": np.full(count, 123_456_789_012_345),
        "the middle of the grid": np.full(count, CENSUS.size // 2),
        "half of the grid": draw.integers(0, CENSUS.size // 2, count),
        "even steps": np.arange(count) * (CENSUS.size // count),
        "golden steps": np.arange(count) * 618_033_988_749_895 % CENSUS.size,
        "two decimals": draw.integers(0, 100, count) * 10**13,
        "neighbours share": np.repeat(proper[: count // 2], 2),
        "sorted": np.sort(proper),
    }


@for_all_rows("name", mistakes(100))
@for_all_rows("count", [100, 1000, COUNT])
def test_what_cannot_be_keys_is_found(name: str, count: int):
    assert found(mistakes(count)[name]).faults


@for_all_rows(
    ("name", "fault"),
    [
        ("person id", "uneven"),
        ("one constant", "repeats"),
        ("golden steps", "sequence"),
        ("two decimals", "few-points"),
        ("neighbours share", "repeats"),
        ("sorted", "row-order"),
    ],
)
def test_the_fault_is_named(name: str, fault: str):
    assert fault in found(mistakes(COUNT)[name]).faults


def test_a_pool_of_keys_is_found():
    draw = rng()
    keys = draw.permutation(np.repeat(draw.integers(0, CENSUS.size, COUNT), 2))
    assert found(keys).faults == ("repeats",)
    some = np.where(draw.random(COUNT) < 0.01, 7 * 10**14 + 1, draw.integers(0, 10**15, COUNT))
    assert found(some).faults == ("repeats",)


@pytest.mark.parametrize("engine", ["frame", "plan", "store"])
@pytest.mark.parametrize("kind", ["whole", "decimals"])
@pytest.mark.parametrize("count", [500, COUNT])
def test_a_file_with_each_person_twice_is_refused_whatever_its_size(
    engine: str, kind: str, count: int, tmp_path: Path
):
    keys = pl.Series(rng().integers(0, CENSUS.size, count // 2))
    once = pl.DataFrame({"sex": ["m", "w"] * (count // 4), "key": keys})
    if kind == "decimals":
        once = once.with_columns(pl.col("key") / CENSUS.size)
    people = pl.concat([once, once])
    with pytest.raises(RecordKeyError, match="keys are repeated"):
        tabulated(people, engine, tmp_path)
    tabulated(people.with_columns(key=proper_keys(count)), engine, tmp_path)


@pytest.mark.parametrize("engine", ["frame", "plan", "store"])
@pytest.mark.parametrize(
    ("count", "categories", "share"),
    [(1000, 2, 0.5), (1000, 50, 0.5), (COUNT, 50, 0.5), (300, 500, 0.02), (COUNT, 500, 0.02)],
)
def test_keys_that_follow_a_spanning_variable_are_refused(
    engine: str, count: int, categories: int, share: float, tmp_path: Path
):
    draw = rng()
    district = draw.integers(0, categories, count)
    starts, inside = np.arange(categories) * (CENSUS.size // categories), draw.random(count) * share
    keys = (starts[district] + (inside * CENSUS.size).astype(np.int64)) % CENSUS.size
    people = pl.DataFrame({"sex": ["m", "w"] * (count // 2), "district": district, "key": keys})
    with pytest.raises(RecordKeyError, match="they depend on 'district'"):
        tabulated(people, engine, tmp_path)
    tabulated(people.with_columns(key=proper_keys(count)), engine, tmp_path)


def proper_keys(count: int) -> pl.Series:
    return pl.Series(rng(6).integers(0, CENSUS.size, count))


def tabulated(people: pl.DataFrame, engine: str, folder: Path) -> None:
    by = [name for name in people.columns if name != "key"]
    if engine == "store":
        dc.Store.create(folder / "people.store", people, variables=by, record_key="key")
    else:
        dc.tabulate(people.lazy() if engine == "plan" else people, by=by, record_key="key")


@pytest.mark.parametrize("count", [100, COUNT])
def test_the_grid_that_fits_is_named(count: int):
    draw = rng()
    for size in (256, 4096, 2**32, 10**12):
        assert found(draw.integers(0, size, count)).fits == KeyGrid(size)
    check = found(np.arange(count))
    assert check.fits is None
    with pytest.raises(RecordKeyError, match="key_grid") as error:
        found(draw.integers(0, 2**32, count)).raise_faults("key")
    assert "2^32" in str(error.value)


def test_keys_with_eight_decimals_are_coarse_and_proper():
    keys = rng().integers(0, 10**8, COUNT) * 10**7
    check = found(keys)
    assert (check.faults, check.points, check.coarse) == ((), 10**8, True)
    assert not found(rng().integers(0, 10**15, COUNT)).coarse


def test_small_data_get_a_weaker_test_and_say_so():
    keys = rng().integers(0, CENSUS.size, COUNT)
    strengths = [check_keys(keys[:count], CENSUS).strength for count in (LEAST - 1, LEAST, ENOUGH)]
    assert strengths == ["none", "weak", "full"]
    assert check_keys(np.arange(LEAST - 1), CENSUS).faults == ()


def test_a_sample_is_spread_over_all_records():
    for count in (10, 1023, 1024, 1025, 99_999, 10**7):
        places = sampled_places(count)
        assert places[0] == 0
        assert places[-1] == count - 1
        assert len(np.unique(places)) == len(places) <= MOST


def test_proper_keys_pass_on_all_grids():
    draw = rng(1)
    for size in GRIDS:
        for count in (30, 60, 200, 1000, MOST):
            for _ in range(5):
                assert check_keys(draw.integers(0, size, count), KeyGrid(size)).faults == ()


@pytest.mark.exhaustive
def test_no_false_alarm_in_a_thousand_data_sets():
    """Sizes from 200 to 10 million, all grids, keys of eight decimals too.

    The test looks at no more than 8,192 records; of large data sets only these are drawn,
    but for 2 of 10 million records each.
    """
    draw = rng(2026)
    alarms = 0
    for number in range(1_000):
        size = (*GRIDS, 10**8)[number % 13]
        step = 10**7 if number % 13 == 12 else 1
        grid = KeyGrid(10**15 if step > 1 else size)
        count = int(10 ** draw.uniform(np.log10(200), 7))
        keys = draw.integers(0, size, len(sampled_places(count))) * step
        by = {"variable": np.argsort(draw.integers(0, 50, len(keys)))}
        low = draw.integers(0, max(size // 256, 1), count // 256) * step
        alarms += bool(check_keys(keys, grid, low=low, by=by).faults)
    for number in range(2):
        size = GRIDS[-1 - number % 12]
        alarms += bool(found(draw.integers(0, size, 10**7), KeyGrid(size)).faults)
    assert alarms == 0


def test_repr_and_error_hold_no_key():
    keys = np.full(COUNT, 123_456_789_012_345)
    check = found(keys)
    with pytest.raises(dc.DiscreetError) as error:
        check.raise_faults("key")
    assert "123456789012345" not in f"{check!r} {error.value}"
