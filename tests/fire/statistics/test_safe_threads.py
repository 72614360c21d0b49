"""Large data are worked on in threads: any number of them gives the same result."""

from __future__ import annotations

import math
import os

import numpy as np
import polars as pl
import pytest

from discreet_fire import statistics
from discreet_fire.statistics import parallel, sums
from discreet_fire.statistics.contributions import EntityNumbers
from discreet_fire.statistics.models import regress
from discreet_fire.statistics.models.disclosure_checks import _common
from discreet_fire.statistics.records import count_of
from discreet_fire.statistics.results import CheckVerdict

ROWS = 3 * 2**17 + 5
WORDS = "n sum_w sum mean sd p10 p50 skewness kurtosis"


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(8)
    return pl.DataFrame(
        {
            "region": np.array(["north", "south", "east"])[rng.integers(0, 3, ROWS)],
            "size": rng.integers(0, 70, ROWS),
            "income": np.where(rng.random(ROWS) < 0.01, np.nan, rng.normal(0, 1e3, ROWS)),
            # One firm has records in every part, and many firms have one each.
            "firm": np.where(rng.random(ROWS) < 0.3, 7, rng.integers(0, ROWS, ROWS)),
            "weight": rng.lognormal(0, 1, ROWS),
        }
    )


def _results(frame: pl.DataFrame) -> list[dict[str, object]]:
    found = []
    for entity, weights in ((None, None), ("firm", "weight")):
        more = {"entity": entity, "weights": weights}
        found += [
            statistics.summarize(frame, "income", detail=True, **more),
            statistics.tabstat(frame, "income", statistics=WORDS, by="region", **more),
            statistics.tabulate(frame, "region", "size", **more),
            statistics.histogram(frame, "income", entity=entity),
        ]
    return [one.to_dict() for one in found]


def test_the_number_of_threads_never_matters(frame, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert len(parallel.slices(ROWS)) == 1
    alone = _results(frame)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert len(parallel.slices(ROWS)) == 3
    assert _results(frame) == alone


def test_weights_have_the_same_digits_in_any_order_and_number_of_threads(frame, monkeypatch):
    found = []
    for many in (1, 3):
        monkeypatch.setattr(os, "cpu_count", lambda many=many: many)
        mixed = frame.sample(fraction=1.0, shuffle=True, seed=many)
        result = statistics.tabulate(mixed, "region", weights="weight")
        found.append(result.evidence["n"].tolist())
    regions = sorted(frame["region"].unique())
    expected = [frame.filter(region=region)["weight"].to_numpy() for region in regions]
    assert found == [[sums.exact_sum(weights) for weights in expected]] * 2


@pytest.mark.exhaustive
def test_models_are_the_same_with_any_number_of_threads(frame, monkeypatch):
    known = frame.filter(pl.col("income").is_not_nan())

    def models() -> list[dict[str, object]]:
        return [
            regress(known, "income", "size i.region", **more).to_dict()
            for more in (
                {"robust": True},
                {"cluster": "firm"},
                {"entity": "firm", "weights": "weight"},
            )
        ]

    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    alone = models()
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert models() == alone


@pytest.mark.parametrize("size", [101, 60_001, 60_002])
def test_a_value_that_half_of_the_records_have_is_found_in_any_order(size):
    rng = np.random.default_rng(size)
    for share, values in ((0.6, 2), (0.999, size), (0.5, 2), (0.5, size)):
        many = math.ceil(size * share)
        records = np.concatenate([np.full(many, 3.5), 4.0 + rng.integers(0, values, size - many)])
        for _ in range(3):
            rng.shuffle(records)
            assert 3.5 in _common(records)


def test_few_that_differ_are_found_in_large_data(frame):
    for apart, size in (([5], 2), ([5, 6, 7], 3)):
        odd = np.ones(ROWS)
        odd[apart] = [2.0, 3.0, 4.0][: len(apart)]
        found = regress(frame.with_columns(odd=odd, income=pl.col("size") * 1.5), "income", "odd")
        rules = {check.rule for check in found.checks if check.verdict is CheckVerdict.fail}
        assert ("minimum-cases" in rules) is (size < 3)


def test_records_are_cut_into_parts_that_leave_none_out():
    for size in (0, 1, 2**17, 2**18 + 1, 10**6 + 7):
        parts = parallel.slices(size)
        assert [at for part in parts for at in (part.start, part.stop)][1:-1] == [
            at for part in parts[1:] for at in (part.start, part.start)
        ]
        assert (parts[0].start, parts[-1].stop) == (0, size)


def test_the_first_of_several_errors_is_told_and_no_thread_is_lost():
    def wrong() -> int:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        parallel.side_by_side([lambda: 1, wrong, lambda: 3])
    with pytest.raises(ValueError, match="wrong"):
        parallel.side_by_side([lambda: 1, wrong])
    assert parallel.side_by_side([lambda: 1, lambda: 2, lambda: 3]) == [1, 2, 3]


def test_a_thread_of_the_pool_does_not_wait_for_others_of_its_kind():
    def several() -> list[int]:
        return parallel.side_by_side([lambda: 1, lambda: 2])

    assert parallel.side_by_side([several] * 40) == [[1, 2]] * 40


def test_a_forked_process_starts_threads_of_its_own(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    values = np.random.default_rng(2).normal(0, 1, ROWS)
    expected = sums.exact_sum(values)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        # Nothing but this: a child of a test must not go on as the test.
        os.write(writer, np.float64(sums.exact_sum(values)).tobytes())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        assert np.frombuffer(answer.read())[0] == expected
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("many", [1, 3])
def test_parts_of_large_data_are_what_numpy_finds(many, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: many)
    rng = np.random.default_rng(many)
    values, codes = rng.normal(0, 1, ROWS), rng.integers(0, 5, ROWS)
    whole = np.round(values * 1000)
    expected = [whole[codes == at].sum() for at in range(5)]
    assert sums.exact_sums(whole, codes, 5).tolist() == expected
    entities = EntityNumbers.of(codes)
    assert (entities.order == np.argsort(codes, kind="stable")).all()
    assert (entities.gathered(values) == values[entities.order]).all()
    assert (entities.gathered(codes) == np.sort(codes)).all()


@pytest.mark.parametrize("lowest", [-1, 0])
def test_records_are_counted(lowest):
    codes = np.random.default_rng(6).integers(lowest, 70, ROWS)
    expected = np.bincount(codes[codes >= 0], minlength=75)
    assert (count_of(codes, 75) == expected).all()
    assert (count_of(codes[::2], 75) == np.bincount(codes[::2] + 1, minlength=76)[1:]).all()


def test_cases_are_counted_alike_with_few_and_with_many_groups():
    rng = np.random.default_rng(5)
    size = 60_000
    who, few = rng.integers(0, size // 3, size), rng.integers(-1, 70, size)
    many = rng.integers(-1, 5_000, size)
    for codes, groups in ((few, 70), (many, 5_000)):
        pairs = {pair for pair in zip(codes.tolist(), who.tolist(), strict=True) if pair[0] >= 0}
        expected = np.bincount([code for code, _ in pairs], minlength=groups)
        entities = EntityNumbers.of(who)
        assert (entities.cases(entities.gathered(codes), groups) == expected).all()
    assert EntityNumbers.of(who).there == np.unique(who).size
