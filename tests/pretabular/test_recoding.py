"""Recoding, coded ends, rounding, identifiers, microaggregation, local suppression."""

from functools import partial
from itertools import combinations, pairwise
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import MicrodataError
from discreet.pretabular import (
    bottom_code,
    drop_identifiers,
    local_suppression,
    microaggregate,
    recode,
    round_values,
    top_code,
)
from discreet.pretabular.changed_records import InputRecords
from tests.helpers.engines import ENGINES, collected
from tests.helpers.rows import for_all_rows

REGION = dc.Classification(
    name="region", codes=("Total", "N", "N1", "N2", "S"), parents=(-1, 0, 1, 1, 0)
)
codes = st.lists(
    st.tuples(*[st.sampled_from(["a", "b", "c", None])] * 3), min_size=3, max_size=40
).map(
    lambda rows: pl.DataFrame(
        rows, schema=dict.fromkeys("uvw", pl.String), orient="row"
    ).with_row_index("id")
)


def test_codes_become_those_of_a_level(tmp_path) -> None:
    frame = pl.DataFrame({"region": ["N1", "N2", None, "S"]})
    made = recode(frame, "region", classification=REGION, level=1)
    assert made.records["region"].to_list() == ["N", "N", None, "S"]
    path = REGION.write(tmp_path / "region.hrc")
    again = recode(frame, "region", classification=path, level=1)
    assert again.records.equals(made.records)
    assert made.measures == {"changed": {"region": 2}}
    fine = recode(frame, "region", classification=REGION, level=2).records
    assert fine.equals(frame)
    merged = recode(frame, "region", codes={"N1": "x", "N2": "x", "S": "y"}).records
    assert merged["region"].to_list() == ["x", "x", None, "y"]


def test_numbers_become_intervals() -> None:
    frame = pl.DataFrame({"x": [0.0, 9.99, 10.0, float("nan"), None, 1e6]})
    assert recode(frame, "x", intervals=[0, 10]).records["x"].to_list()[3:5] == [None, None]
    made = recode(frame, "x", intervals=[0, 10]).records["x"]
    assert made[0] == made[1] != made[2] == made[5]


@for_all_rows(
    ("asked", "said"),
    [
        ({}, "state one of: a classification with a level, intervals, codes"),
        (
            {"intervals": [0], "codes": {}},
            "state one of: a classification with a level, intervals, codes",
        ),
        (
            {"classification": REGION},
            "state one of: a classification with a level, intervals, codes",
        ),
        ({"classification": REGION, "level": 3}, "has 2 levels"),
        ({"classification": REGION, "level": 0}, "has 2 levels"),
        ({"codes": {"N1": "N"}}, "2 codes of the records are not in the list"),
        ({"intervals": [0, 1]}, "not a number"),
    ],
)
def test_wrong_recodings_are_refused(asked, said) -> None:
    frame = pl.DataFrame({"region": ["N1", "N2", "S"]})
    with pytest.raises(MicrodataError, match=said):
        recode(frame, "region", **asked)


def test_ends_are_coded_and_totals_kept_by_means() -> None:
    pay = [1.0, 2, 3, 50, 60, 70, float("nan"), None]
    frame = pl.DataFrame({"pay": pay})
    ties = pl.DataFrame({"pay": [10.0, 10, 20, 30, 40, 40]})  # a value at the end is none beyond it
    assert top_code(ties, "pay", above=10, mean=True).records["pay"][0] == 10
    for put, asked in ((top_code, {"above": 30}), (bottom_code, {"below": 20})):
        with pytest.raises(MicrodataError, match="fewer than 3"):
            put(ties, "pay", **asked)
    assert top_code(frame, "pay", above=10).records["pay"].to_list()[:6] == [1, 2, 3, 10, 10, 10]
    kept = top_code(frame, "pay", above=10, mean=True).records["pay"]
    assert kept.to_list()[:6] == [1, 2, 3, 60, 60, 60]
    assert kept.is_null().to_list() == frame["pay"].is_null().to_list()
    assert top_code(frame, "pay", share=0.5).records["pay"].to_list()[:6] == [1, 2, 3, 3, 3, 3]
    low = bottom_code(frame, "pay", below=50).records["pay"].to_list()
    assert low[:6] == [50, 50, 50, 50, 60, 70]
    whole = pl.DataFrame({"pay": [1, 5, 6, 8]})
    assert top_code(whole, "pay", above=4, mean=True).records["pay"].dtype == pl.Float64
    for asked in ({"above": 60}, {"share": 0.2}):
        with pytest.raises(MicrodataError, match="fewer than 3"):
            top_code(frame, "pay", **asked)
    for asked in ({}, {"above": 1, "share": 0.5}, {"share": 1.5}):
        with pytest.raises(MicrodataError, match=r"state a limit|must be below 1"):
            top_code(frame, "pay", **asked)


@given(st.lists(st.integers(-(10**12), 10**12), max_size=20), st.integers(1, 1_000))
def test_rounded_values_are_the_nearest_multiples(values, base) -> None:
    made = round_values(pl.DataFrame({"x": pl.Series(values, dtype=pl.Int64)}), "x", base=base)
    for old, new in zip(values, made.records["x"].to_list(), strict=True):
        assert new % base == 0
        assert -base < 2 * (new - old) <= base or 2 * (new - old) == base


def test_overlooked_identifiers_are_refused_by_their_form() -> None:
    number = 40
    frame = pl.DataFrame(
        {
            "id": range(number),
            "name": [f"Person {at}" for at in range(number)],
            "mail": ["a@b.org"] * 20 + [None] * 20,
            "account": ["DE89 3704 0044 0532 0130 00"] * number,
            "tax": ["86095742719"] * number,
            "phone": ["+49 30 1234567"] * number,
            "street": ["Hauptstraße 7"] * number,
            "sex": ["m", "f"] * 20,
            "pay": np.arange(number) * 1.5,
        }
    )
    with pytest.raises(MicrodataError) as error:
        drop_identifiers(frame, ["id"])
    assert [one.where for one in error.value.problems] == [
        "name", "mail", "account", "tax", "phone", "street",
    ]  # fmt: skip
    assert "Person 3" not in str(error.value)
    rest = ["mail", "account", "tax", "phone", "street"]
    made = drop_identifiers(frame, ["id", "name"], harmless=rest).records
    assert made.columns == [*rest, "sex", "pay"]
    wrong = frame.with_columns(
        account=pl.lit("DE88 3704 0044 0532 0130 00"), tax=pl.lit("86095742718")
    )
    with pytest.raises(MicrodataError) as error:
        drop_identifiers(wrong.drop("name", "mail", "phone", "street"), [])
    assert error.value.problems[0].where == "id"
    assert len(error.value.problems) == 1
    with pytest.raises(MicrodataError, match="nobody"):
        drop_identifiers(frame, ["nobody"])


@given(values=st.lists(st.integers(0, 30), min_size=4, max_size=9), k=st.integers(2, 4))
def test_sorted_groups_have_the_least_sum_of_squares(values, k) -> None:
    frame = pl.DataFrame({"id": range(len(values)), "x": values})
    made = microaggregate(frame, "x", id="id", k=k, method="sorted").records["x"].to_numpy()
    ordered = np.sort(np.array(values, dtype=float))

    def squares(cuts: tuple[int, ...]) -> float:
        ends = [0, *cuts, len(ordered)]
        parts = [ordered[a:b] for a, b in pairwise(ends)]
        if any(len(part) < k for part in parts):
            return np.inf
        return sum(float(((part - part.mean()) ** 2).sum()) for part in parts)

    places = range(1, len(ordered))
    least = min(squares(c) for n in range(len(ordered) // k) for c in combinations(places, n))
    assert ((np.array(values) - made) ** 2).sum() == pytest.approx(least, abs=1e-6)
    assert made.sum() == pytest.approx(sum(values))


@given(count=st.integers(5, 80), k=st.integers(2, 5), seed=st.integers(0, 99), wide=st.booleans())
def test_groups_have_k_records_and_means_stay_whatever_the_order(count, k, seed, wide) -> None:
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {"id": draw.permutation(count), "a": draw.integers(0, 5, count), "b": draw.random(count)}
    )
    names = ["a", "b"] if wide else ["a"]
    made = microaggregate(frame, names, id="id", k=k)
    assert made.measures["smallest group"] >= k
    again = microaggregate(frame.sample(fraction=1, shuffle=True, seed=seed), names, id="id", k=k)
    assert again.records.sort("id").equals(made.records.sort("id"))
    for name in names:
        assert made.records[name].sum() == pytest.approx(frame[name].sum())
    assert made.records.group_by(names).len()["len"].min() >= k


def test_strata_are_not_mixed_and_small_ones_refused() -> None:
    frame = pl.DataFrame({"id": range(6), "s": list("aaabbb"), "x": [1, 2, 3, 100, 101, 102]})
    made = microaggregate(frame, "x", id="id", strata="s").records["x"].to_list()
    assert made == [2, 2, 2, 101, 101, 101]
    with pytest.raises(MicrodataError, match="fewer than 4"):
        microaggregate(frame, "x", id="id", strata="s", k=4)
    with pytest.raises(MicrodataError, match="missing"):
        microaggregate(frame.with_columns(x=pl.lit(None, pl.Int64)), "x", id="id")


@given(frame=codes, k=st.integers(2, 3), importance=st.sampled_from([(), ("u",), ("w", "u")]))
def test_every_combination_is_reached_k_times(frame, k, importance) -> None:
    made = local_suppression(frame, ["u", "v", "w"], id="id", k=k, importance=importance)
    after = made.records
    assert after.group_by("u", "v", "w").len()["len"].min() >= k
    for name in "uvw":  # nothing is changed, values are only left out
        assert (after[name].is_null() | after[name].eq_missing(frame[name])).all()
    turned = local_suppression(
        frame.reverse(), ["u", "v", "w"], id="id", k=k, importance=importance
    )
    assert turned.records.reverse().equals(after)
    risk = dc.assess_records(after, keys=["u", "v", "w"], special=0, k=k)
    assert risk.rates["below_k"] == 0
    fine = frame.group_by("u", "v", "w").len()["len"].min() >= k
    assert fine == (not made.changes.height)


def test_what_matters_is_kept() -> None:
    frame = pl.DataFrame({"id": range(6), "u": list("aabbbb"), "v": list("xyxxyy")})
    first = local_suppression(frame, ["u", "v"], id="id", k=2, importance=["u"])
    assert first.records["u"].to_list() == list("aabbbb")
    assert first.measures["left out"] == {"u": 0, "v": 2}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"k": 1}, "at least 2"),
        ({"k": 9}, "k must not exceed the number of records"),
        ({"importance": ["z"]}, "importance"),
        ({"keys": ["u", "id"]}, "identifier"),
    ],
)
def test_wrong_suppressions_are_refused(asked, said) -> None:
    frame = pl.DataFrame({"id": range(4), "u": list("aabb"), "v": list("xyxy")})
    with pytest.raises(MicrodataError, match=said):
        local_suppression(frame, **({"keys": ["u", "v"], "id": "id", "k": 2} | asked))


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "duckdb"])
def test_recodings_know_no_engine(kind) -> None:
    frame = pl.DataFrame({"id": range(6), "u": list("aabbbc"), "x": [1, 2, 3, 10, 20, 60]})
    other = ENGINES[kind](frame)
    for method in (
        partial(top_code, variable="x", above=5),
        partial(local_suppression, keys=["u"], id="id", k=2),
        partial(microaggregate, variables="x", id="id"),
        partial(drop_identifiers, direct=["id"], harmless=["x"]),
    ):
        made, again = method(frame), method(other)
        assert type(again.records) is type(other)
        read = collected(again.records).with_columns(pl.col(pl.Float64).fill_nan(None))
        assert read.rows() == made.records.rows()


@pytest.mark.parametrize("kind", ["enum", "categorical", "pandas", "pyarrow"])
def test_codes_that_were_removed_are_not_in_the_file(kind, tmp_path) -> None:
    """Columns that list their codes (categories) forget those that no record has any more."""
    frame = pl.DataFrame(
        {"id": range(7), "job": ["a"] * 3 + ["b"] * 3 + ["rare"], "sex": ["m"] * 7}
    )
    jobs = pl.Categorical if kind == "categorical" else pl.Enum(["a", "b", "rare", "unused"])
    records: Any = frame.with_columns(pl.col("job").cast(jobs))
    records = {"pandas": records.to_pandas, "pyarrow": records.to_arrow}.get(
        kind, lambda: records
    )()
    suppressed = local_suppression(records, ["job", "sex"], id="id", k=2).records
    taken = InputRecords(records, {}).with_taken({"job": np.zeros(7, dtype=np.int64)})
    for number, changed in enumerate((suppressed, taken)):
        file = tmp_path / f"{number}.parquet"
        nw.from_native(changed, eager_only=True).write_parquet(file)
        found = pyarrow.parquet.read_table(file, read_dictionary=["job"])["job"]
        assert {code for part in found.chunks for code in part.dictionary.to_pylist()} <= {"a", "b"}
        content = file.read_bytes()
        assert b"rare" not in content
        assert b"unused" not in content
        assert "rare" not in str(pyarrow.parquet.read_schema(file).field("job").metadata)
