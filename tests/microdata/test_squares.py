"""Squares of records: the same on every engine, and nothing taken silently."""

import duckdb
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.classifications.grids import GridSquare
from discreet.errors import MicrodataError
from tests.helpers.rows import for_all_rows

HOMES = pl.DataFrame(
    {
        "east": [4334150.5, 4334199.9999999, 4334200.0, 0.0, None, 9_999_999.9],
        "north": [2684399.9, 2684300.0, 2684299.0, 0.0, None, 1.0],
    }
)
WANTED = ["100mN26843E43341", "100mN26843E43341", "100mN26842E43342", "100mN0E0", None,
          "100mN0E99999"]  # fmt: skip


def short(codes: list[str | None]) -> list[str | None]:
    return [None if pd.isna(code) else GridSquare.read(code).short for code in codes]


def test_every_engine_has_the_same_squares() -> None:
    relation = duckdb.from_arrow(HOMES.to_arrow())
    frames = {
        "polars": dc.with_squares(HOMES)["square"].to_list(),
        "plan": dc.with_squares(HOMES.lazy()).collect()["square"].to_list(),
        "pandas": dc.with_squares(HOMES.to_pandas())["square"].to_list(),
        "pyarrow": dc.with_squares(HOMES.to_arrow())["square"].to_pylist(),
        "duckdb": [row[0] for row in dc.with_squares(relation).select("square").fetchall()],
    }
    assert {name: short(codes) for name, codes in frames.items()} == dict.fromkeys(frames, WANTED)


@given(st.integers(0, 9_999_999), st.sampled_from([25, 100, 1_000, 100_000]))
def test_a_square_holds_its_place(metre: int, size: int) -> None:
    homes = pl.DataFrame({"e": [metre], "n": [9_999_999 - metre]})
    found = dc.with_squares(homes, east="e", north="n", size=size)["square"].item()
    square = GridSquare.read(found)
    assert square.size == size
    assert square.east <= metre < square.east + size
    assert square.north <= 9_999_999 - metre < square.north + size


@for_all_rows(
    ("columns", "what"),
    [
        ({"east": ["4334150"], "north": [2684399]}, "east is not a numeric column"),
        ({"east": [8.5], "north": [None]}, "1 records have only one coordinate"),
        ({"east": [-0.5], "north": [2684399.0]}, "1 records are outside the European grid"),
        ({"east": [4334150.0], "north": [1e7]}, "1 records are outside the European grid"),
        ({"east": [float("nan")], "north": [1.0]}, "1 records are outside the European grid"),
        ({"east": [float("inf")], "north": [1.0]}, "1 records are outside the European grid"),
        ({"north": [2684399]}, "column not found"),
        ({"east": [1], "north": [1], "square": [1]}, "the column exists already"),
    ],
)
def test_wrong_coordinates(columns, what) -> None:
    frame = pl.DataFrame(columns, schema_overrides={"north": pl.Float64})
    with pytest.raises(MicrodataError, match=what) as caught:
        dc.with_squares(frame)
    assert "2684399" not in str(caught.value)


@for_all_rows("size", [0, -100, 1.5, True, "1km", 10**8])
def test_wrong_sizes(size) -> None:
    with pytest.raises(MicrodataError, match="whole number of metres"):
        dc.with_squares(HOMES, size=size)


def test_squares_and_regions_of_one_table_agree_in_their_totals() -> None:
    """Squares as a second breakdown beside regions: both add up to the same total."""
    homes = pl.DataFrame(
        {
            "east": [4334150 + 700 * (k % 7) for k in range(90)],
            "north": [2684399 + 900 * (k % 5) for k in range(90)],
            "region": ["A" if k % 3 else "B" for k in range(90)],
        }
    )
    homes = dc.with_squares(homes, size=1_000)
    squares = dc.Classification.from_squares(
        "square", homes["square"].unique(), sizes=[10_000, 1_000]
    )
    region = dc.Classification.flat("region", ["A", "B"])
    table = dc.tabulate(homes, by=[squares, region])
    cells = table.to_polars()
    level = {code: squares.levels[squares.index[code]] for code in squares.codes}
    of_all = cells.filter(pl.col("region") == "Total")
    sums = of_all.group_by(pl.col("square").replace_strict(level)).agg(pl.col("count").sum())
    assert set(sums["count"]) == {90}
