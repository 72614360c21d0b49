"""Tables with all margins and levels, equal on every engine, bit for bit."""

import itertools
import subprocess
import sys
from types import SimpleNamespace

import duckdb
import narwhals as nw
import numba
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet import compiled
from discreet.classifications import Classification
from discreet.errors import ClassificationError, FilterError, MicrodataError, TableError
from discreet.tabulation import Query, memory, tabulate_many
from tests.helpers.people import EVERYTHING, INF, REGION, TENS, people
from tests.helpers.rows import for_all_rows


def by_hand(frame):
    """Every cell counted on its own with whole numbers, straight from the definition."""
    member = {
        "A": {"A1", "A2"}, "B": {"B1"}, "Total": {"A1", "A2", "B1", "C"},
        "A1": {"A1"}, "A2": {"A2"}, "B1": {"B1"}, "C": {"C"},
    }  # fmt: skip
    ages = {
        "Total": lambda a: True, "0-9": lambda a: a < 10, "10+": lambda a: a >= 10,
        "U18": lambda a: a < 18, "O18": lambda a: a >= 18,
    }  # fmt: skip
    rows = [r for r in frame.rows(named=True) if r["age"] < 90 or r["sex"] == "m"]
    cells = {}
    for place, sex, age in itertools.product(member, ["Total", "m", "w", "Missing"], ages):
        inside = [
            r
            for r in rows
            if r["place"] in member[place]
            and (sex == "Total" or (r["sex"] or "Missing") == sex)
            and ages[age](r["age"])
        ]
        if inside:
            cells[place, sex, age] = (len(inside), sum(r["key"] for r in inside) % 10**15)
    return cells


def test_all_margins_and_levels_as_counted_by_hand():
    frame = people(400)
    table = dc.tabulate(frame, **EVERYTHING)
    rows = table.to_polars().select("region", "sex", "age", "count", "cell_key").rows()
    assert {row[:3]: row[3:] for row in rows} == by_hand(frame)


def relation(frame):
    return duckdb.from_arrow(frame.to_arrow())


def engines():
    frame = people()
    # Division by a constant rounds twice in polars, which is not the float of the decimal.
    floats = frame.with_columns(key=pl.Series(frame["key"].to_numpy() / 1e15))
    shuffled = frame.sample(fraction=1, shuffle=True, seed=3)
    yield "polars lazy", frame.lazy()
    yield "polars shuffled", shuffled
    yield "polars in pieces", pl.concat([frame[:10], frame[10:4000], frame[4000:]], rechunk=False)
    yield "polars categories", frame.with_columns(pl.col("place", "sex").cast(pl.Categorical))
    enums = {"place": pl.Enum(["C", "B1", "A2", "A1"]), "sex": pl.Enum(["w", "m", "d"])}
    yield "polars enums", frame.cast(enums)
    yield "narrow integers", frame.cast({"age": pl.Int8})
    yield "float keys", floats
    yield "float keys, lazy", floats.lazy()
    yield "pandas", frame.to_pandas()
    yield "pandas, other index", shuffled.to_pandas().sort_values("age")
    yield "pyarrow", frame.to_arrow()
    yield "duckdb", relation(frame)
    yield (
        "duckdb, float keys",
        duckdb.from_arrow(floats.to_arrow()),
    )


def test_every_engine_and_order_gives_the_same_bits():
    expected = dc.tabulate(people(), **EVERYTHING).to_polars()
    for engine, frame in engines():
        assert dc.tabulate(frame, **EVERYTHING).to_polars().equals(expected), engine


@given(st.integers(1, 60), st.integers(0, 10**6), st.booleans())
def test_the_same_records_have_the_same_key_in_every_table(count, seed, lazy):
    """A cell found in two tables has one count and one key."""
    frame = people(count, seed)
    source = frame.lazy() if lazy else frame
    wide = dc.tabulate(source, [REGION, "sex", TENS], record_key="key").to_polars()
    narrow = dc.tabulate(source, [TENS, REGION], record_key="key").to_polars()
    joint = wide.filter(pl.col("sex") == "Total").join(narrow, on=["region", "age"])
    assert joint.height == narrow.height
    assert joint["cell_key"].equals(joint["cell_key_right"], check_names=False)
    assert joint["count"].equals(joint["count_right"], check_names=False)


def test_one_pass_serves_tables_that_share_variables(monkeypatch):
    passes = []
    count = memory.accumulate
    monkeypatch.setattr(memory, "accumulate", lambda r: passes.append(1) or count(r))
    queries = [Query(by=by, name=str(by)) for by in ([REGION, "sex"], ["sex"], [REGION, TENS], [])]
    tabulate_many(people(), queries)
    assert len(passes) == 1


def test_83_million_of_the_largest_keys_do_not_overflow():
    """Keys are added in parts, so that no 64-bit sum can wrap."""
    largest, count = 10**15 - 1, 100_000
    frame = pl.DataFrame({"one": [1] * count, "key": [largest] * count})
    expected = largest * count % 10**15
    for source in (frame, frame.lazy(), frame.to_pandas(), relation(frame)):
        table = dc.tabulate(source, ["one"], record_key="key", allow_unsuitable_keys=True)
        assert table.to_polars()["cell_key"].to_list() == [expected, expected]


def test_missing_values_are_a_category_and_nothing_is_dropped():
    frame = pl.DataFrame({"a": [None, "x", None], "b": [1.0, None, 2.0], "key": [1, 2, 3]})
    table = dc.tabulate(frame, ["a", "b"], record_key="key").to_polars()
    cells = {row[:2]: row[2:] for row in table.rows()}
    assert cells["Missing", "Total"] == (2, 4)
    assert cells["x", "Missing"] == (1, 2)
    assert cells["Missing", "2"] == (1, 3)


def test_codes_of_every_type_become_texts():
    frame = pl.DataFrame(
        {"number": [7, 10, 9], "truth": [True, False, True], "text": ["01", "1", " 1"]}
    )
    found = {name: dc.tabulate(frame, [name]).to_polars()[name].to_list() for name in frame.columns}
    assert found["number"] == ["Total", "7", "9", "10"]
    assert found["truth"] == ["Total", "false", "true"]
    assert found["text"] == ["Total", " 1", "01", "1"]


def test_no_records_no_cells_and_no_failure():
    empty = people().clear()
    for source in (empty, empty.lazy(), empty.to_pandas()):
        assert len(dc.tabulate(source, [REGION, "sex"], record_key="key")) == 0
        assert len(dc.tabulate(source, [], record_key="key")) == 0


def test_levels_that_end_early_are_read_from_the_last_filled_column():
    frame = pl.DataFrame(
        {
            "state": ["N", "N", "S", "S", "S"],
            "district": [11, 12, None, None, None],
            "place": ["a", None, None, None, None],
        }
    )
    area = Classification.from_levels(frame, ["state", "district", "place"], name="area")
    for source in (frame, frame.lazy(), frame.to_pandas(), relation(frame)):
        cells = dict(dc.tabulate(source, [area]).to_polars().select("area", "count").rows())
        assert cells == {"Total": 5, "N": 2, "11": 1, "a": 1, "12": 1, "S": 3}


BAD = [
    ({"by": ["height"]}, MicrodataError, "missing-column"),
    ({"by": ["sex"], "record_key": "rk"}, MicrodataError, "missing-column"),
    ({"by": ["sex", "sex"]}, TableError, "by"),
    ({"by": "sex"}, TableError, "by"),
    ({"by": ["sex"], "where": "height > 3"}, FilterError, "filter-columns"),
    ({"by": ["sex"], "where": nw.col("sex") > 3}, FilterError, "filter-types"),
    ({"by": ["sex"], "weight": "sex"}, MicrodataError, "column-type"),
    ({"by": ["sex"], "values": ["huge"]}, MicrodataError, "values"),
    ({"by": ["sex"], "weight": "negative"}, MicrodataError, "values"),
    ({"by": ["sex"], "weight": "holes"}, MicrodataError, "values"),
    ({"by": ["rent"]}, TableError, "codes"),
    ({"by": ["infinite"]}, TableError, "codes"),
    ({"by": [REGION.replace(column="sex")]}, ClassificationError, "unknown-code"),
    ({"by": [TENS.replace(bounds=(0, 10, 20))]}, ClassificationError, "unknown-code"),
    ({"by": [TENS.replace(column="sex")]}, MicrodataError, "column-type"),
]


@for_all_rows("lazy", [False, True], ids=["frame", "engine"])
@for_all_rows(("call", "kind", "code"), BAD, ids=[str(b[0])[:40] for b in BAD])
def test_bad_input_is_a_clear_error(call, kind, code, lazy):
    frame = people(50).with_columns(
        huge=pl.lit(1e15),
        negative=pl.lit(-1.0),
        infinite=pl.lit(float("inf")),
        holes=pl.lit(None, dtype=pl.Float64),
    )
    with pytest.raises(kind) as caught:
        dc.tabulate(frame.lazy() if lazy else frame, **call)
    assert caught.value.code == code


def test_keys_that_cannot_be_used_are_counted_not_shown():
    frame = people(50).with_columns(
        key=pl.when(pl.col("age") > 50).then(None).otherwise(pl.col("key"))
    )
    bad = frame["key"].null_count()
    for source in (frame, frame.lazy()):
        with pytest.raises(dc.DiscreetError, match=f"{bad} of 50 records have no key"):
            dc.tabulate(source, ["sex"], record_key="key")
    grid = people(50)
    for source in (grid, grid.lazy()):
        with pytest.raises(dc.DiscreetError, match="off the grid 256"):
            dc.tabulate(source, ["sex"], record_key="key", key_grid=256)


@pytest.mark.parametrize(
    "keys",
    [
        pl.Series([1, 2**63], dtype=pl.UInt64),
        pl.Series([1, 256], dtype=pl.UInt16),
        pl.Series([1, -1], dtype=pl.Int8),
        pl.Series([1.0, 1e300]),
    ],
    ids=str,
)
def test_keys_off_the_grid_are_refused_whatever_their_type(keys):
    frame = pl.DataFrame({"a": ["x", "y"], "key": keys})
    for source in (frame, frame.lazy(), relation(frame), frame.to_pandas()):
        with pytest.raises(dc.DiscreetError, match="1 of 2 records have a key off the grid 256"):
            dc.tabulate(source, ["a"], record_key="key", key_grid=256)


@given(
    st.lists(st.integers(-120, 120) | st.none(), min_size=1, max_size=40),
    st.sampled_from([pl.Int8, pl.Int16, pl.Int64, pl.Float64]),
)
def test_intervals_of_every_type_of_number_on_every_engine(numbers, dtype):
    tree = TENS.replace(codes=("Total", "<0", "0-9", "10+"), parents=(-1, 0, 0, 0),
                        bounds=(-INF, 0, 10, INF))  # fmt: skip
    frame = pl.DataFrame({"age": pl.Series(numbers, dtype=dtype)})
    code = {
        None: "Missing", **{n: "<0" if n < 0 else "0-9" if n < 10 else "10+"
                            for n in numbers if n is not None}
    }  # fmt: skip
    expected = {name: sum(code[n] == name for n in numbers) for name in set(code.values())}
    for source in (frame, frame.lazy(), relation(frame)):
        cells = dict(dc.tabulate(source, [tree]).to_polars().select("age", "count").rows())
        assert cells == {name: n for name, n in {**expected, "Total": len(numbers)}.items() if n}


def test_unknown_codes_are_named():
    frame = pl.DataFrame({"place": ["A1", "Z9", "A", None]})
    with pytest.raises(ClassificationError, match="'A', 'Z9'") as caught:
        dc.tabulate(frame, [REGION])
    assert "'A' has codes below it" in str(caught.value)


def test_a_table_shows_no_values():
    table = dc.tabulate(people(), **EVERYTHING)
    text = repr(table) + str(table)
    assert "confidential" in text
    assert not any(str(count) in text for count in table.count.tolist() if count > 99)


@pytest.mark.parametrize(
    ("loaded", "count", "values", "lists", "pays"),
    [
        (True, 499_999, 9, True, False),
        (True, 500_000, 0, False, True),
        (False, 500_000, 0, True, True),
        (False, 16_000_000, 3, False, False),
        (False, 17_000_000, 3, False, True),
        (False, 66_000_000, 0, False, False),
        (False, 67_000_000, 0, False, True),
    ],
)
def test_the_compiler_is_loaded_where_it_saves_more_than_that_takes(
    loaded, count, values, lists, pays, monkeypatch
):
    monkeypatch.setitem(sys.modules, "numba", numba)
    if not loaded:
        monkeypatch.delitem(sys.modules, "numba")
    monkeypatch.setattr(compiled, "_missed", 0.0)
    layout = SimpleNamespace(rows=range(3 + 3 * values), largest={"v": 1} if lists else {})
    records = SimpleNamespace(count=count, layout=layout)
    assert memory._compiled_pays(records) is pays


def test_many_tables_are_worth_the_compiler_too(monkeypatch):
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(compiled, "_missed", 0.0)
    layout = SimpleNamespace(rows=range(3), largest={})
    records = SimpleNamespace(count=25_000_000, layout=layout)
    assert [memory._compiled_pays(records) for _ in range(4)] == [False, False, True, True]


FAULTS = """
import resource
import numpy as np, polars as pl
import discreet as dc

draw = np.random.default_rng(1)
columns = {"area": draw.integers(0, 400, 100_000), "age": draw.integers(0, 18, 100_000)}
records = pl.DataFrame({**columns, "key": draw.integers(0, 10**15, 100_000)})
faults = []
for _ in range(12):
    dc.tabulate(records, ["area", "age"], record_key="key")
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
print(faults[-1] - faults[1])
"""


def test_steps_of_counting_take_the_memory_of_those_before():
    """Usually some 80 new pages in ten tables; 2,700 if arrays went back to the system."""
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 1_000


def test_keys_of_more_records_than_fit_into_64_bits_are_added():
    keys = [10**15 - 1 - k for k in range(20_000)]
    frame = pl.DataFrame({"sex": ["m"] * 19_000 + ["w"] * 1_000, "key": keys})
    table = dc.tabulate(frame, ["sex"], record_key="key", allow_unsuitable_keys=True)
    parts = (keys, keys[:19_000], keys[19_000:])
    assert table.cell_key is not None
    assert table.cell_key.tolist() == [sum(part) % 10**15 for part in parts]
