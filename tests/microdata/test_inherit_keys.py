"""The key of a unit is the cell key of its parts, up any chain of units."""

import warnings
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DisclosureWarning, DiscreetError, MicrodataError, RecordKeyError
from discreet.keygrid import KeyGrid
from discreet.microdata.key_derivation import derived_keys
from tests.helpers.engines import Engine, collected
from tests.helpers.rows import for_all_rows

SECRET = "the secret of these tests"
GRID = 10**15
PEOPLE = pl.DataFrame(
    {
        "home": [30, 4, 30, 4, 4, 9],
        "street": ["a", "b", "a", "b", "b", None],
        "age": [1, 2, 3, 4, 5, 6],
        "record_key": [GRID - 1, 10, 2, GRID - 1, GRID - 2, 77],
    }
)
HOMES = pl.DataFrame({"area": [60, 80, 55], "home": [9, 4, 30]})


def test_units_have_the_sum_of_their_parts(engine: Engine) -> None:
    frame = engine(PEOPLE)
    homes = dc.inherit_record_keys(frame, by="home")
    assert type(homes) is type(frame)
    assert collected(homes).rows() == [(4, 7), (9, 77), (30, 1)]


def test_columns_of_the_unit_can_be_kept(either: Engine) -> None:
    homes = collected(dc.inherit_record_keys(either(PEOPLE), by="home", keep=["street"]))
    assert homes.columns == ["home", "street", "record_key"]
    assert homes.rows() == [(4, "b", 7), (9, None, 77), (30, "a", 1)]


def test_columns_of_the_parts_cannot_be_kept(either: Engine) -> None:
    with pytest.raises(MicrodataError, match="2 units have parts that differ"):
        dc.inherit_record_keys(either(PEOPLE), by="home", keep=["age"])


def test_a_missing_value_beside_a_present_one_differs(either: Engine) -> None:
    frame = PEOPLE.with_columns(street=pl.Series(["a", None, "a", "b", "b", None]))
    with pytest.raises(MicrodataError, match="1 units have parts that differ"):
        dc.inherit_record_keys(either(frame), by="home", keep=["street"])


def test_several_columns_can_name_the_unit(either: Engine) -> None:
    frame = PEOPLE.with_columns(street=pl.col("street").fill_null("c"))
    homes = collected(dc.inherit_record_keys(either(frame), by=["street", "home"]))
    assert homes.rows() == [("a", 30, 1), ("b", 4, 7), ("c", 9, 77)]


def test_keys_go_onto_a_frame_of_units(engine: Engine) -> None:
    homes = engine(HOMES)
    done = (
        dc.inherit_record_keys(engine(PEOPLE), by="home", onto=homes)
        if not isinstance(homes, duckdb.DuckDBPyRelation)
        else _in_one_database()
    )
    assert type(done) is type(homes)
    back = collected(done)
    assert back.columns == ["area", "home", "record_key"]
    if not isinstance(homes, duckdb.DuckDBPyRelation):  # relations have no order
        assert back["home"].to_list() == [9, 4, 30]
    assert back.sort("home").rows() == [(80, 4, 7), (60, 9, 77), (55, 30, 1)]


def _in_one_database(homes: pl.DataFrame = HOMES, **options: Any) -> Any:
    connection = duckdb.connect()
    connection.register("p", PEOPLE.to_arrow())
    connection.register("h", homes.to_arrow())
    return dc.inherit_record_keys(
        connection.table("p"), by="home", onto=connection.table("h"), **options
    )


def onto(engine: Engine, homes: pl.DataFrame, **options: Any) -> Any:
    moved = engine(homes)
    if isinstance(moved, duckdb.DuckDBPyRelation):
        return _in_one_database(homes, **options)
    return dc.inherit_record_keys(engine(PEOPLE), by="home", onto=moved, **options)


def test_vacant_units_need_a_secret(engine: Engine) -> None:
    homes = pl.concat([pl.DataFrame({"area": [20, 30], "home": [1, 2]}), HOMES])
    with pytest.raises(MicrodataError, match="2 units have no parts"):
        onto(engine, homes)
    done = collected(onto(engine, homes, secret=SECRET)).sort("home")
    own = dc.with_record_keys(homes.head(2), id="home", secret=SECRET)["record_key"].to_list()
    assert done["record_key"].to_list() == [*own, 7, 77, 1]


def test_parts_of_unknown_units_are_counted(either: Engine) -> None:
    with pytest.raises(MicrodataError, match="5 records belong to 2 missing units"):
        onto(either, HOMES.head(1))


def test_the_units_must_be_identified(either: Engine) -> None:
    with pytest.raises(MicrodataError, match="2 of 4 records have a repeated identifier"):
        onto(either, pl.concat([HOMES, HOMES.head(1)]))


def test_numbers_and_texts_are_not_matched_silently(either: Engine) -> None:
    with pytest.raises(MicrodataError) as caught:
        onto(either, HOMES.with_columns(pl.col("home").cast(pl.String)))
    assert caught.value.code == "unit-type"


def test_different_widths_of_whole_numbers_match(either: Engine) -> None:
    done = collected(onto(either, HOMES.with_columns(pl.col("home").cast(pl.Int16))))
    assert done.sort("home")["record_key"].to_list() == [7, 77, 1]


def test_parts_without_a_unit_are_an_error_or_left_out(either: Engine) -> None:
    frame = PEOPLE.with_columns(home=pl.when(pl.col("home") != 9).then(pl.col("home").cast(str)))
    with pytest.raises(MicrodataError, match="1 of 6 records belong to no unit"):
        dc.inherit_record_keys(either(frame), by="home")
    homes = dc.inherit_record_keys(either(frame), by="home", orphans="drop")
    assert collected(homes).rows() == [("30", 1), ("4", 7)]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (pl.Series([1, None, 3, 4, 5, 6]), "1 of 6 records have no key"),
        (pl.Series([1, 256, 3, -1, 5, 6]), "2 of 6 records have a key off the grid"),
    ],
)
def test_bad_keys_are_counted(keys: pl.Series, message: str) -> None:
    frame = PEOPLE.with_columns(record_key=keys)
    for moved in (
        frame,
        frame.lazy(),
        frame.to_arrow(),
        frame.to_pandas().astype({"record_key": "Int64"}),
    ):
        with pytest.raises(RecordKeyError, match=message):
            dc.inherit_record_keys(moved, by="home", grid=256)


FLOATS = PEOPLE.with_columns(record_key=pl.col("record_key") / GRID)


def test_decimal_keys_are_taken_as_in_tables(either: Engine) -> None:
    homes = dc.inherit_record_keys(either(FLOATS), by="home")
    assert collected(homes).rows() == [(4, 7), (9, 77), (30, 1)]


@pytest.mark.parametrize("towards", [0.0, 1.0])
def test_one_unit_in_the_last_place_counts_as_exact(either: Engine, towards: float) -> None:
    drawn = np.random.default_rng(4).integers(1, GRID, 5000)
    near = np.nextafter(drawn / GRID, towards)
    frame = pl.DataFrame({"home": np.arange(5000), "record_key": near})
    homes = collected(dc.inherit_record_keys(either(frame), by="home"))
    # Floats from 2^-2 on are so far apart that the next one may be another key's nearest.
    exact = pl.Series(
        dc.Table.from_cells(
            frame.select(n=1, home=pl.col("home").cast(pl.String), key="record_key"),
            by=["home"],
            count="n",
            cell_key="key",
        ).cell_key
    )
    assert homes.sort("home")["record_key"].to_list() == exact.to_list()


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ([0.1, 0.2, None, 0.4, 0.5, 0.6], "key-missing"),
        ([0.1, 0.2, float("nan"), 0.4, 0.5, 0.6], "key-missing"),
        ([0.1, 0.2, 1.0, 0.4, 0.5, 0.6], "key-off-grid"),
        ([0.1, 0.2, -0.1, 0.4, 0.5, 0.6], "key-off-grid"),
        ([0.1, 0.2, 1 / 3, 0.4, 0.5, 0.6], "key-digits"),
    ],
)
def test_bad_decimal_keys_are_counted(either: Engine, keys: list[float], code: str) -> None:
    frame = PEOPLE.with_columns(record_key=pl.Series(keys))
    with pytest.raises(RecordKeyError, match="1 of 6 records") as caught:
        dc.inherit_record_keys(either(frame), by="home")
    assert caught.value.code == code


def test_texts_in_a_plan_are_to_be_imported_first() -> None:
    frame = PEOPLE.lazy().with_columns(record_key=pl.lit("0.5"))
    with pytest.raises(RecordKeyError, match="import_record_keys"):
        dc.inherit_record_keys(frame, by="home")


HOUSEHOLD = derived_keys(np.array([7, 77, 1]), KeyGrid(), "unit household").tolist()


def test_keys_are_derived_for_a_kind_of_unit(engine: Engine) -> None:
    for frame in (PEOPLE, FLOATS):
        moved = engine(frame)
        homes = dc.inherit_record_keys(moved, by="home", unit="household")
        assert type(homes) is type(moved)
        back = collected(homes)
        assert back.columns == ["home", "record_key", "record_key_sum"]
        assert back["home"].to_list() == [4, 9, 30]
        assert back["record_key"].to_list() == HOUSEHOLD
        assert back["record_key_sum"].to_list() == [7, 77, 1]


def test_derived_keys_go_onto_a_frame_of_units(either: Engine) -> None:
    homes = pl.concat([HOMES, pl.DataFrame({"area": [20], "home": [1]})])
    done = collected(onto(either, homes, secret=SECRET, unit="household")).sort("home")
    assert done.columns == ["area", "home", "record_key", "record_key_sum"]
    own = dc.with_record_keys(homes.tail(1), id="home", secret=SECRET)["record_key"].to_list()
    assert done["record_key_sum"].to_list() == [*own, 7, 77, 1]
    vacant = derived_keys(np.array(own), KeyGrid(), "unit household").tolist()
    assert done["record_key"].to_list() == [*vacant, *HOUSEHOLD]


def test_plain_inheritance_has_a_name() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = dc.inherit_record_keys(PEOPLE, by="home", inheritance="plain")
        dc.inherit_record_keys(PEOPLE, by="home", unit="household")
    with pytest.warns(DisclosureWarning, match="the same noise") as caught:
        unnamed = dc.inherit_record_keys(PEOPLE, by="home")
    assert caught[0].filename == __file__
    assert plain.equals(unnamed)
    assert plain.columns == ["home", "record_key"]


@for_all_rows(
    ("options", "code"),
    [
        ({"by": []}, "columns"),
        ({"by": "house"}, "missing-column"),
        ({"by": "home", "keep": ["home"]}, "columns"),
        ({"by": "home", "record_key": "home"}, "columns"),
        ({"by": "home", "orphans": "keep"}, "orphans"),
        ({"by": "home", "secret": SECRET}, "columns"),
        ({"by": "home", "onto": HOMES, "keep": ["street"]}, "columns"),
        ({"by": "home", "onto": HOMES.lazy()}, "engine"),
        ({"by": "home", "onto": HOMES.with_columns(record_key=1)}, "existing-column"),
        (
            {"by": "home", "unit": "home", "onto": HOMES.with_columns(record_key_sum=1)},
            "existing-column",
        ),
        ({"by": "home", "unit": " "}, "unit"),
        ({"by": "home", "unit": True}, "unit"),
        ({"by": "home", "inheritance": "derived"}, "inheritance"),
        ({"by": "home", "inheritance": "plain", "unit": "home"}, "inheritance"),
    ],
)
def test_wrong_requests_are_refused(options: dict[str, Any], code: str) -> None:
    with pytest.raises(DiscreetError) as caught:
        dc.inherit_record_keys(PEOPLE, **options)
    assert caught.value.code == code


def test_pandas_units_keep_their_index() -> None:
    homes = HOMES.to_pandas().set_axis([5, 5, 1])
    done = dc.inherit_record_keys(PEOPLE.to_pandas(), by="home", onto=homes)
    assert done.index.tolist() == [5, 5, 1]
    assert done["record_key"].tolist() == [77, 7, 1]
    assert isinstance(done, pd.DataFrame)


def test_millions_of_large_keys_do_not_overflow(either: Engine) -> None:
    # 20,000 keys near 10^15 already exceed 64 bits.
    frame = pl.DataFrame({"home": [1] * 20_000, "record_key": [GRID - 3] * 20_000})
    homes = collected(dc.inherit_record_keys(either(frame), by="home"))
    assert homes["record_key"].to_list() == [20_000 * (GRID - 3) % GRID]


@st.composite
def chains(draw: st.DrawFn) -> tuple[pl.DataFrame, int]:
    grid = draw(st.sampled_from([2, 256, 4096, 2**32, 10**15 - 1, 10**15]))
    size = draw(st.integers(1, 40))
    people = draw(
        st.lists(
            st.tuples(st.integers(0, grid - 1), st.integers(0, 12)), min_size=size, max_size=size
        )
    )
    frame = pl.DataFrame(people, schema=["record_key", "household"], orient="row")
    return frame.with_columns(
        dwelling=pl.col("household") // 2, building=pl.col("household") // 5 // 2
    ), grid


@given(chains())
def test_every_chain_of_units_gives_the_direct_sum(drawn: tuple[pl.DataFrame, int]) -> None:
    people, grid = drawn
    people = people.with_columns(building=pl.col("dwelling") // 3)
    households = dc.inherit_record_keys(
        people, by="household", keep=["dwelling", "building"], grid=grid
    )
    dwellings = dc.inherit_record_keys(households, by="dwelling", keep=["building"], grid=grid)
    buildings = dc.inherit_record_keys(dwellings, by="building", grid=grid)
    assert buildings.equals(dc.inherit_record_keys(people, by="building", grid=grid))
    direct = {
        building: sum(keys) % grid
        for building, keys in people.group_by("building").agg("record_key").rows()
    }
    assert dict(buildings.rows()) == direct


@given(chains(), st.lists(st.booleans(), min_size=3, max_size=3))
def test_derived_keys_do_not_depend_on_the_way(
    drawn: tuple[pl.DataFrame, int], named: list[bool]
) -> None:
    """Whichever of the units between are plain, and whichever are left out."""
    people, grid = drawn
    people = people.with_columns(building=pl.col("dwelling") // 3)

    def up(parts: pl.DataFrame, by: str, keep: list[str], unit: str | None) -> pl.DataFrame:
        return dc.inherit_record_keys(parts, by=by, keep=keep, grid=grid, unit=unit)

    households = up(
        people, "household", ["dwelling", "building"], "household" if named[0] else None
    )
    dwellings = up(households, "dwelling", ["building"], "dwelling" if named[1] else None)
    last = "building" if named[2] else None
    for parts in (people, households):
        assert up(dwellings, "building", [], last).equals(up(parts, "building", [], last))
