"""Columns as data engines really deliver them: NaN, infinity, mixed types, wide integers."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Classification, tabulate
from discreet.errors import DiscreetError, FilterError, MicrodataError, RecordKeyError, TableError
from discreet.tabulation import Query
from discreet.tabulation.columns import _short_texts
from tests.helpers.rows import for_all_rows

NAN, INF = float("nan"), float("inf")

ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "plan": lambda frame: frame.lazy(),
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
}
every_engine = pytest.mark.parametrize("engine", ENGINES)


def counts(frame: Any, by: Any, **options: Any) -> dict[tuple[Any, ...], int]:
    table = tabulate(frame, by, **options).to_polars()
    return {row[:-1]: row[-1] for row in table.rows()}


@every_engine
def test_a_number_that_is_not_a_number_is_missing_in_intervals(engine: str) -> None:
    """NaN is greater than all numbers to polars and SQL, and no member of the last group."""
    frame = ENGINES[engine](pl.DataFrame({"x": [-1.0, 5.0, 70.0, NAN, None]}))
    tree = Classification.from_intervals("x", [-10, 0, 65])
    expected = {"Total": 5, "-10..-1": 1, "0-64": 1, "65+": 1, "Missing": 2}
    assert counts(frame, [tree]) == {(code,): n for code, n in expected.items()}


@every_engine
def test_infinity_lies_in_the_open_intervals(engine: str) -> None:
    frame = ENGINES[engine](pl.DataFrame({"x": [INF, -INF, 1.0]}))
    tree = Classification.from_intervals("x", [0, 65], open_first=True)
    assert counts(frame, [tree]) == {("Total",): 3, ("<0",): 1, ("0-64",): 1, ("65+",): 1}
    with pytest.raises(DiscreetError, match="outside all intervals"):
        counts(frame, [Classification.from_intervals("x", [0, 65], open_last=False)])


@every_engine
def test_a_filter_takes_nan_as_missing(engine: str) -> None:
    frame = ENGINES[engine](pl.DataFrame({"x": [1.0, 3.0, NAN, None]}))
    found = {
        text: counts(frame, [], where=text)[()]
        for text in ("x > 2", "not x > 2", "x is null", "x is not null", "x != 3", "x in (1, 2.5)")
    }
    assert list(found.values()) == [1, 1, 2, 2, 1, 1]


@every_engine
def test_values_that_are_nan_add_nothing_and_weights_cannot_be(engine: str) -> None:
    frame = ENGINES[engine](pl.DataFrame({"v": [1.5, NAN]}))
    assert tabulate(frame, [], values=["v"]).to_polars()["v"].to_list() == [1.5]
    with pytest.raises(MicrodataError, match="missing"):
        tabulate(frame, [], weight="v")


@every_engine
def test_a_key_that_is_nan_is_no_key(engine: str) -> None:
    frame = ENGINES[engine](pl.DataFrame({"key": [0.25, NAN]}))
    with pytest.raises(RecordKeyError, match="1 of 2 records have no key"):
        tabulate(frame, [], record_key="key")


@pytest.mark.parametrize("engine", ["polars", "plan", "duckdb"])
def test_decimal_keys_of_more_digits_than_the_grid_are_refused(engine: str) -> None:
    keys = [Decimal("0.250000000000000001"), Decimal("0.5")]
    with pytest.raises(RecordKeyError):
        tabulate(ENGINES[engine](pl.DataFrame({"key": keys})), [], record_key="key")


@every_engine
def test_level_columns_of_floats_are_whole_numbers_or_refused(engine: str) -> None:
    levels = Classification.from_levels(
        pl.DataFrame({"state": [1, 2], "place": [11, None]}), ["state", "place"]
    )
    whole = pl.DataFrame({"state": [1.0, 2.0], "place": [11.0, NAN]})
    found = counts(ENGINES[engine](whole), [levels])
    assert found == {("Total",): 2, ("1",): 1, ("11",): 1, ("2",): 1}
    broken = pl.DataFrame({"state": [1.0, 2.0], "place": [11.4, None]})
    with pytest.raises(TableError, match="decimals"):
        counts(ENGINES[engine](broken), [levels])


@pytest.mark.parametrize("engine", ["polars", "plan"])
def test_integers_beyond_64_bits_with_sign_are_codes(engine: str) -> None:
    large = pl.Series("id", [2**63 + 1, 2**63 + 2, 2**63 + 1], dtype=pl.UInt64)
    found = counts(ENGINES[engine](pl.DataFrame([large])), ["id"])
    assert found[(str(2**63 + 1),)] == 2


@pytest.mark.parametrize("engine", ["polars", "plan", "duckdb", "pyarrow"])
def test_whole_decimals_are_codes(engine: str) -> None:
    frame = pl.DataFrame({"n": [Decimal(1), Decimal(2)]}, schema={"n": pl.Decimal(10, 0)})
    assert counts(ENGINES[engine](frame), ["n"]) == {("Total",): 2, ("1",): 1, ("2",): 1}


def test_a_column_of_mixed_types_is_refused_without_showing_it() -> None:
    frame = pd.DataFrame({"sex": [1, "very private", None]})
    with pytest.raises(DiscreetError, match="different types") as refusal:
        tabulate(frame, ["sex"])
    assert "private" not in str(refusal.value)
    assert refusal.value.__suppress_context__


def test_an_engine_that_fails_is_reported_without_its_words() -> None:
    relation = duckdb.sql("select cast(t as integer) as n from (values ('1'), ('private')) v(t)")
    with pytest.raises(MicrodataError, match="engine failed") as refusal:
        tabulate(relation, ["n"])
    assert "private" not in str(refusal.value)


@for_all_rows("by", ["sex", None, 5, [5], [None], [["sex"]], [[]]])
def test_by_is_a_list_of_variables(by: Any) -> None:
    with pytest.raises(TableError) as refusal:
        tabulate(pl.DataFrame({"sex": ["m"]}), by)
    assert refusal.value.code == "by"


@for_all_rows("values", ["rent", ["count"], ["cell_key"], ["weight"], ["sex"]])
def test_columns_of_sums_have_names_of_their_own(values: Any) -> None:
    frame = pl.DataFrame({"sex": [1], "count": [5], "rent": [1], "weight": [2], "cell_key": [1]})
    with pytest.raises(TableError) as refusal:
        tabulate(frame, ["sex"], values=values)
    assert refusal.value.code == "values"
    assert Query(by=["sex"], values=["rent"]).variables


@pytest.mark.parametrize("text", ["age > 1 # and sex == 'm'", "sex == 'm' 'w'", "sex in ('a' 'b')"])
def test_nothing_in_a_filter_is_skipped(text: str) -> None:
    with pytest.raises(FilterError):
        tabulate(pl.DataFrame({"age": [1], "sex": ["m"]}), [], where=text)


@pytest.mark.parametrize(
    "text", ["µ > 1", "`µ` > 1", "`a.µ` > 1 or µ > 1", "größe == '#' or µ > 1"]
)
def test_names_in_other_alphabets_are_taken_as_they_are(text: str) -> None:
    frame = pl.DataFrame({"µ": [1, 2], "a.µ": [0, 0], "größe": ["'", "x"]})
    assert counts(frame, [], where=text) == {(): 1}
    assert counts(frame.rename({"a.µ": "b.µ"}), [], where="b.µ == 0") == {(): 2}


def test_breakdowns_that_share_a_code_for_missing_values_say_how_to_part_them() -> None:
    frame = pl.DataFrame({"age": [5, None]})
    fine = Classification.from_intervals("fine", [0, 10], column="age")
    legal = Classification.from_intervals("legal", [0, 18], column="age")
    with pytest.raises(TableError, match="missing="):
        tabulate(frame, [[fine, legal]])


@for_all_rows(
    ("wrong", "message"),
    [
        ({"values": None}, "values must be a list"),
        ({"values": [3]}, "values must be a list"),
        ({"weight": ["n"]}, "weight must be the name of a column"),
        ({"record_key": ["n"]}, "record_key must be the name of a column"),
        ({"name": None}, "the name of a table must be a text"),
        ({"where": True}, "a filter text or a narwhals expression"),
        ({"where": pl.col("n") > 1}, "a filter text or a narwhals expression"),
    ],
)
def test_arguments_of_the_wrong_type_are_named(wrong: dict[str, Any], message: str) -> None:
    records = pl.DataFrame({"sex": ["m", "w"], "n": [1, 2]})
    with pytest.raises(DiscreetError, match=message):
        tabulate(records, by=["sex"], **wrong)


@given(
    st.lists(st.none() | st.text("aßé𝄞 \x00", max_size=13), max_size=60),
    st.integers(0, 5),
    st.sampled_from([0, 1200]),
)
def test_compiled_loops_number_short_texts_and_leave_long_ones(
    texts: list[str | None], start: int, others: int
) -> None:
    series = pl.Series([*texts, *map(str, range(others)), *texts], dtype=pl.String)[start:]
    coded = _short_texts(series)
    if any(len((text or "").encode()) > 12 for text in series):
        assert coded is None
    else:
        assert coded is not None
        assert coded.values.gather(coded.codes).to_list() == series.to_list()
        assert coded.values.n_unique() == len(coded.values)
