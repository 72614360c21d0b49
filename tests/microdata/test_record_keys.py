"""Record keys are the same on every engine, in every order, and refuse bad identifiers."""

from typing import Any

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import DiscreetError, MicrodataError
from tests.helpers.engines import Engine, collected
from tests.helpers.rows import for_all_rows

SECRET = "the secret of these tests"
PEOPLE = pl.DataFrame(
    {
        "person": [101, 7, -3, 2**40, 0],
        "name": ["an identifier of more than one block", "7", "ü", "x" * 12, "0"],
        "age": [3, 99, None, 0, 44],
    }
)


def keys_of(frame: pl.DataFrame, **options: Any) -> dict[Any, int]:
    keyed = dc.with_record_keys(frame, secret=SECRET, **options)
    return dict(zip(keyed[options["id"]].to_list(), keyed["record_key"].to_list(), strict=True))


@pytest.mark.parametrize("by", ["person", "name", ["person", "name"]])
def test_engines_give_the_same_keys_and_keep_the_records(
    engine: Engine, by: str | list[str]
) -> None:
    frame = engine(PEOPLE)
    keyed = dc.with_record_keys(frame, id=by, secret=SECRET)
    assert type(keyed) is type(frame)
    expected = dc.with_record_keys(PEOPLE, id=by, secret=SECRET).sort("person")
    found = collected(keyed).sort("person")
    assert found.columns == [*PEOPLE.columns, "record_key"]
    assert found["record_key"].dtype == pl.Int64
    assert found["record_key"].to_list() == expected["record_key"].to_list()
    assert found["person"].to_list() == expected["person"].to_list()


def test_order_and_parts_of_the_data_do_not_matter() -> None:
    people = pl.DataFrame({"person": range(100_000)})
    whole = dc.with_record_keys(people, id="person", secret=SECRET)
    shuffled = dc.with_record_keys(
        people.sample(fraction=1, shuffle=True, seed=1), id="person", secret=SECRET
    )
    pieces = pl.concat(
        [
            dc.with_record_keys(part, id="person", secret=SECRET)
            for part in people.iter_slices(33_333)
        ],
        rechunk=False,
    )
    plan = dc.with_record_keys(pieces.lazy().drop("record_key"), id="person", secret=SECRET)
    assert shuffled.sort("person").equals(whole)
    assert pieces.equals(whole)
    assert plan.collect(engine="streaming").equals(whole)
    assert whole["record_key"].is_between(0, 10**15 - 1).all()


@for_all_rows(
    "kind", [pl.Int8, pl.UInt16, pl.Int64, pl.UInt64, pl.Int128, pl.String, pl.Categorical]
)
def test_the_type_of_an_identifier_does_not_matter(kind: Any) -> None:
    numbers = pl.DataFrame({"person": [1, 20, 100]})
    typed = numbers.cast(pl.String).cast(kind) if kind == pl.Categorical else numbers.cast(kind)
    assert list(keys_of(typed, id="person").values()) == list(
        keys_of(numbers, id="person").values()
    )


def test_wide_whole_numbers_stay_exact_in_duckdb() -> None:
    wide = [2**100, 2**100 + 1]
    relation = duckdb.connect().sql(f"select unnest([{wide[0]}, {wide[1]}])::hugeint as id")
    keyed = dc.with_record_keys(relation, id="id", secret=SECRET).fetchall()
    texts = keys_of(pl.DataFrame({"id": [str(number) for number in wide]}), id="id")
    assert {str(identifier): key for identifier, key in keyed} == texts


def test_a_list_of_one_column_is_that_column() -> None:
    single = dc.with_record_keys(PEOPLE, id="name", secret=SECRET)
    assert dc.with_record_keys(PEOPLE, id=["name"], secret=SECRET).equals(single)


def test_several_columns_do_not_run_together() -> None:
    rows = pl.DataFrame({"house": ["1", "11", "1"], "flat": ["11", "1", "1"]})
    keyed = dc.with_record_keys(rows, id=["house", "flat"], secret=SECRET)
    assert keyed["record_key"].n_unique() == 3


def test_secret_grid_and_column_can_be_chosen() -> None:
    small = dc.with_record_keys(PEOPLE, id="person", secret=SECRET, grid="2^8", column="key")
    assert small["key"].max() < 256
    other = dc.with_record_keys(PEOPLE, id="person", secret=SECRET + "!")
    mine = dc.with_record_keys(PEOPLE, id="person", secret=SECRET)
    assert not set(other["record_key"]) & set(mine["record_key"])


def test_a_narwhals_frame_stays_one() -> None:
    keyed = dc.with_record_keys(nw.from_native(PEOPLE.lazy()), id="person", secret=SECRET)
    assert isinstance(keyed, nw.LazyFrame)


def test_pandas_keeps_its_index_and_types() -> None:
    frame = pd.DataFrame({"id": ["b", "a"], "x": pd.array([1, None], dtype="Int32")}, index=[9, 9])
    keyed = dc.with_record_keys(frame, id="id", secret=SECRET)
    assert keyed.index.tolist() == [9, 9]
    assert keyed.dtypes["x"] == frame.dtypes["x"]
    assert keyed["record_key"].tolist() == list(
        keys_of(pl.DataFrame({"id": ["b", "a"]}), id="id").values()
    )
    assert list(frame.columns) == ["id", "x"]


def test_a_duckdb_relation_stays_on_its_connection() -> None:
    connection = duckdb.connect()
    connection.execute('create table t as select range as "a ""name""", \'v\' as v from range(5)')
    keyed = dc.with_record_keys(connection.table("t"), id='a "name"', secret=SECRET)
    joined = keyed.join(connection.table("t").set_alias("u"), '"a ""name"""')
    assert len(joined.fetchall()) == 5
    assert connection.sql("select count(*) from information_schema.tables").fetchall() == [(1,)]


def test_plans_run_later_and_only_where_needed() -> None:
    plan = dc.with_record_keys(PEOPLE.lazy(), id="person", secret=SECRET)
    one = plan.filter(pl.col("age") == 99).select("record_key").collect()
    assert one.item() == keys_of(PEOPLE, id="person")[7]


def test_no_records_no_keys(engine: Engine) -> None:
    keyed = collected(dc.with_record_keys(engine(PEOPLE.head(0)), id="name", secret=SECRET))
    assert keyed.shape == (0, 4)


def test_missing_and_repeated_identifiers_are_counted_not_named(either: Engine) -> None:
    frame = pl.DataFrame({"id": ["confidential-1", "confidential-1", None, None, None, "", "b"]})
    with pytest.raises(MicrodataError) as caught:
        dc.with_record_keys(either(frame), id="id", secret=SECRET)
    text = str(caught.value)
    assert caught.value.code == "identifiers"
    assert "3 of 7 records have no identifier" in text
    assert "1 of 7 records have an empty identifier" in text
    assert "2 of 7 records have a repeated identifier" in text
    assert "confidential" not in text


def test_pairs_of_columns_repeat_only_together(either: Engine) -> None:
    fine = pl.DataFrame({"house": [1, 1, 2], "flat": ["a", "b", "a"]})
    dc.with_record_keys(either(fine), id=["house", "flat"], secret=SECRET)
    bad = pl.concat([fine, fine.head(1)])
    with pytest.raises(MicrodataError, match="2 of 4 records have a repeated identifier"):
        dc.with_record_keys(either(bad), id=["house", "flat"], secret=SECRET)


def test_floats_and_dates_are_no_identifiers(either: Engine) -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0], "b": [True, False]})
    with pytest.raises(MicrodataError) as caught:
        dc.with_record_keys(either(frame), id=["a", "b"], secret=SECRET)
    assert caught.value.code == "identifier-type"
    assert [problem.where for problem in caught.value.problems] == ["a", "b"]


def test_all_missing_columns_are_listed(either: Engine) -> None:
    with pytest.raises(MicrodataError) as caught:
        dc.with_record_keys(either(PEOPLE), id=["persn", "hous"], secret=SECRET)
    assert [problem.where for problem in caught.value.problems] == ["persn", "hous"]
    assert "columns: person, name, age" in str(caught.value)


def test_an_existing_key_column_is_not_replaced(either: Engine) -> None:
    with pytest.raises(MicrodataError, match="the column exists already"):
        dc.with_record_keys(either(PEOPLE), id="person", secret=SECRET, column="age")


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"id": []}, "columns"),
        ({"id": ["person", "person"]}, "columns"),
        ({"id": "person", "grid": 10**16}, "key-grid"),
        ({"id": "person", "secret": "short"}, "secret-short"),
    ],
)
def test_wrong_requests_are_refused(wrong: dict[str, Any], code: str) -> None:
    with pytest.raises(DiscreetError) as caught:
        dc.with_record_keys(PEOPLE, **{"secret": SECRET, **wrong})
    assert caught.value.code == code


def test_other_objects_are_no_frames() -> None:
    with pytest.raises(MicrodataError, match="not a data frame of records"):
        dc.with_record_keys([1, 2], id="a", secret=SECRET)
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(MicrodataError):
        dc.with_record_keys(twice, id="a", secret=SECRET)
    mixed = pd.DataFrame({"a": pd.Series([1, "b"], dtype=object)})
    with pytest.raises(MicrodataError):
        dc.with_record_keys(mixed, id="a", secret=SECRET)


def test_arrow_chunks_and_slices() -> None:
    table = pa.concat_tables([PEOPLE.to_arrow().slice(2), PEOPLE.to_arrow().slice(0, 2)])
    keyed = dc.with_record_keys(table, id="name", secret=SECRET)
    found = dict(zip(keyed["name"].to_pylist(), keyed["record_key"].to_pylist(), strict=True))
    assert found == keys_of(PEOPLE, id="name")


def test_the_checks_do_not_trust_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    # All hashes equal: every identifier is a suspect, and none is repeated.
    monkeypatch.setattr(pl.Expr, "hash", lambda self, *_: self.is_null().cast(pl.UInt64) * 0)
    assert len(keys_of(PEOPLE, id="name")) == 5
    with pytest.raises(MicrodataError, match="2 of 3 records have a repeated identifier"):
        keys_of(pl.DataFrame({"id": ["a", "b", "a"]}), id="id")


def test_records_that_change_between_check_and_use_are_noticed() -> None:
    calls: list[int] = []

    def unstable(frame: pl.DataFrame) -> pl.DataFrame:
        calls.append(1)
        return frame if len(calls) == 1 else frame.with_columns(id=pl.lit(None, pl.String))

    plan = pl.LazyFrame({"id": ["a"]}).map_batches(unstable)
    keyed = dc.with_record_keys(plan, id="id", secret=SECRET)
    with pytest.raises(pl.exceptions.ComputeError, match="1 of 1 records have no identifier"):
        keyed.collect()
