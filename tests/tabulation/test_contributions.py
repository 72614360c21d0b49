"""The largest contributions of every cell, straight from the definition and on every engine."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.classifications import Classification
from discreet.errors import DiscreetError, MicrodataError, RecordKeyError, TableError
from discreet.tabulation import Query, assembly, batches, cube, measures, memory, tabulate_many
from tests.helpers.rows import for_all_rows

PLACE = Classification(
    name="place", codes=("Total", "A", "A1", "A2", "B", "B1"), parents=(-1, 0, 1, 1, 0, 4)
)
TENS = Classification(
    name="age", codes=("Total", "0-9", "10+"), parents=(-1, 0, 0), bounds=(0, 10, 99)
)
LEGAL = TENS.replace(name="legal", column="age", codes=("Total", "U18", "O18"), bounds=(0, 18, 99))
MEMBERS = {
    "Total": {"A1", "A2", "B1"}, "A": {"A1", "A2"}, "B": {"B1"},
    "A1": {"A1"}, "A2": {"A2"}, "B1": {"B1"},
}  # fmt: skip
AGES: dict[str, Callable[[int], bool]] = {
    "Total": lambda age: True, "0-9": lambda age: age < 10, "10+": lambda age: age >= 10,
    "U18": lambda age: age < 18, "O18": lambda age: age >= 18,
}  # fmt: skip
SCHEMA = {"place": pl.String, "age": pl.Int64, "key": pl.Int64, "w": pl.Float64, "v": pl.Float64}
MODULUS = 10**15


values = st.none() | st.sampled_from([-0.0, float("nan")]) | st.integers(-3, 3).map(float)
records = st.lists(
    st.tuples(
        st.sampled_from(["A1", "A2", "B1"]),
        st.integers(0, 30),
        st.integers(0, MODULUS - 1),
        st.sampled_from([0.0, 0.5, 1.0, 2.0]),
        values,
    ),
    min_size=1,
    max_size=40,
)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops that are meant for half a million records, on a few."""
    monkeypatch.setattr(memory, "_compiled_pays", lambda records: True)
    monkeypatch.setattr(measures, "_COMPILED_FROM", 1)


def homes(count: int = 4_000, seed: int = 5) -> pl.DataFrame:
    """Records with ties, zeros, negative and missing values."""
    rng = np.random.default_rng(seed)
    value = np.round(rng.normal(0, 20, count)) / 4
    return pl.DataFrame(
        {
            "place": rng.choice(["A1", "A2", "B1"], count),
            "age": rng.integers(0, 40, count),
            "key": rng.integers(0, MODULUS, count),
            "w": rng.integers(1, 9, count) / 4,
            "v": pl.Series(np.where(rng.random(count) < 0.1, np.nan, value)).fill_nan(None),
            "rent": rng.lognormal(6, 1, count),
        },
        schema_overrides=SCHEMA,
    )


EVERYTHING: dict[str, Any] = {
    "by": [PLACE, [TENS, LEGAL]],
    "record_key": "key",
    "weight": "w",
    "values": ["v", "rent"],
    "contributions": {"v": 3, "rent": 2},
    "where": "age < 35 or place == 'A1'",
}


def by_hand(rows: list[dict[str, Any]], k: int, weighted: bool) -> dict[str, Any]:
    """One cell from its records, as the definition says."""
    valued = [row for row in rows if row["v"] is not None and row["v"] == row["v"]]
    pairs = [(row["v"] + 0.0, row["w"] if weighted else 1.0) for row in valued]
    pairs.sort(key=lambda pair: (abs(pair[0]), pair[1], pair[0]), reverse=True)
    filled = [*pairs[:k], *[(None, None)] * (k - len(pairs))]
    numbers = [Fraction(value) * Fraction(weight) for value, weight in pairs]
    nonzero = [row for row in valued if row["v"] != 0]
    return {
        "top": [pair[0] for pair in filled],
        "top_weight": [pair[1] for pair in filled] if weighted else None,
        "count": len(pairs),
        "nonzero": len(nonzero),
        "key": sum(row["key"] for row in valued) % MODULUS,
        "nonzero_key": sum(row["key"] for row in nonzero) % MODULUS,
        "weight": sum(pair[1] for pair in pairs) if weighted else None,
        "total": float(sum(numbers)),
        "plain": float(sum(pair[0] for pair in pairs)),
        "absolute": float(sum(abs(number) for number in numbers)),
        "low": min((pair[0] for pair in pairs), default=None),
        "high": max((pair[0] for pair in pairs), default=None),
    }


FIELDS = list(by_hand([], 1, True))


def plain(array: Any) -> Any:
    """An array as a list, None for what there is not."""
    if array is None:
        return None
    if isinstance(array, float) and array != array:
        return None
    return [plain(part) for part in array] if isinstance(array, list) else array


def cells_of(table: dc.Table, column: str) -> dict[tuple[str, ...], dict[str, Any]]:
    """The contributions of each cell, by its codes."""
    found = table.contributions[column]
    columns = {name: plain(getattr(found, name)) for name in FIELDS if getattr(found, name) is None}
    for name in FIELDS:
        if name not in columns:
            columns[name] = plain(getattr(found, name).tolist())
    codes = table.to_polars().select(part.name for part in table.dimensions).rows()
    return {
        code: {name: None if part is None else part[at] for name, part in columns.items()}
        for at, code in enumerate(codes)
    }


def bits(table: dc.Table) -> dict[str, Any]:
    """Every bit of the contributions, and the cells they belong to."""
    found: dict[str, Any] = {"cells": table.to_polars().rows()}
    for column, part in table.contributions.items():
        for name in FIELDS:
            array = getattr(part, name)
            found[f"{column} {name}"] = None if array is None else array.tobytes()
    return found


def relation(frame: pl.DataFrame) -> Any:
    return duckdb.from_arrow(frame.to_arrow())


@given(records, st.integers(1, 5), st.booleans(), st.sampled_from(["frame", "lazy", "duckdb"]))
def test_every_cell_is_what_its_records_make_it(rows, k, weighted, engine):
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    source = {"frame": lambda: frame, "lazy": frame.lazy, "duckdb": lambda: relation(frame)}
    table = dc.tabulate(
        source[engine](), [PLACE, [TENS, LEGAL]], record_key="key", allow_unsuitable_keys=True,
        weight="w" if weighted else None, values=["v"], contributions=k,
    )  # fmt: skip
    listed = frame.rows(named=True)
    found = cells_of(table, "v")
    assert len(found) == len(table)
    for (place, age), cell in found.items():
        inside = [r for r in listed if r["place"] in MEMBERS[place] and AGES[age](r["age"])]
        assert cell == by_hand(inside, k, weighted)


def every_engine() -> dict[str, Any]:
    frame = homes()
    shuffled = frame.sample(fraction=1, shuffle=True, seed=3)
    return {
        "lazy": frame.lazy(),
        "lazy, shuffled": shuffled.lazy(),
        "shuffled": shuffled,
        "pieces": pl.concat([frame[:7], frame[7:3000], frame[3000:]], rechunk=False),
        "pandas": frame.to_pandas(),
        "pyarrow": frame.to_arrow(),
        "duckdb": relation(frame),
        "duckdb, shuffled": relation(shuffled),
        "categories": relation(
            frame.with_columns(pl.col("place").cast(pl.Enum(["A1", "A2", "B1"])))
        ),
    }


def test_every_engine_and_order_gives_the_same_bits():
    expected = bits(dc.tabulate(homes(), **EVERYTHING))
    for engine, source in every_engine().items():
        assert bits(dc.tabulate(source, **EVERYTHING)) == expected, engine


WAYS = ["compiled", "sparse", "many groups", "sparse, compiled", "lists", "sparse margins"]
#: What a call may do without: loops of their own count and rank records then.
LEFT_OUT: list[dict[str, Any]] = [{}, {"weight": None, "record_key": None}]


@pytest.mark.parametrize("left_out", LEFT_OUT, ids=lambda left_out: " ".join(left_out) or "all")
@pytest.mark.parametrize("way", WAYS)
def test_every_way_inside_gives_the_same_bits(way, left_out, monkeypatch):
    call = {**EVERYTHING, **left_out}
    monkeypatch.setattr(measures, "_LOOPS", "not loaded")
    expected = bits(dc.tabulate(homes(), **call))
    if "compiled" in way:
        monkeypatch.setattr(memory, "_compiled_pays", lambda records: True)
    if way in ("sparse", "sparse, compiled", "many groups"):
        monkeypatch.setattr(memory, "_DENSE_LIMIT", 1)
    if way == "many groups":
        monkeypatch.setattr(memory, "_FLAT_LIMIT", 1)
    if way == "sparse margins":
        monkeypatch.setattr(cube, "_SMALL", 0)
        monkeypatch.setattr(cube, "_ROOM", 0)
    if way == "lists":
        monkeypatch.setattr(measures, "_COMPILED_FROM", 1)
    assert bits(dc.tabulate(homes(), **call)) == expected


@given(records, st.integers(1, 5), st.booleans(), st.booleans())
def test_compiled_every_cell_is_what_its_records_make_it(compiled, rows, k, weighted, keyed):
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    table = dc.tabulate(
        frame, [PLACE, [TENS, LEGAL]], record_key="key" if keyed else None,
        allow_unsuitable_keys=True,
        weight="w" if weighted else None, values=["v"], contributions=k,
    )  # fmt: skip
    assert int(table.count.max()) == len(rows)
    listed = frame.rows(named=True)
    for (place, age), cell in cells_of(table, "v").items():
        inside = [r for r in listed if r["place"] in MEMBERS[place] and AGES[age](r["age"])]
        wanted = by_hand(inside, k, weighted)
        if not keyed:
            wanted |= {"key": None, "nonzero_key": None}
        assert cell == wanted


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("values", [(5.0, 1e6, 9e5), (1e6, 5.0, 9e5), (9e5, 5.0, 1e6)])
def test_compiled_one_who_could_work_out_the_largest_is_found(compiled, values, keyed):
    """The total less 900,000 leaves 1,000,005: within ten percent of the largest."""
    columns = {"place": ["A1"] * 3 + ["B1"] * 12, "v": [*values, *[40.0] * 12]}
    frame = pl.DataFrame(columns).with_row_index("key")
    table = dc.tabulate(
        frame, [PLACE], record_key="key" if keyed else None, values=["v"], contributions=3
    )
    sensitive = dc.primary(table, [dc.rules.PPercent(10)], value="v")
    listed = dict(zip(table.to_polars()["place"], sensitive.sensitive.tolist(), strict=True))
    assert listed == {"Total": True, "A": True, "A1": True, "B": False, "B1": False}


@pytest.mark.parametrize("count", [300_000, 600_000], ids=["interpreted", "compiled"])
def test_threads_do_not_matter(count, monkeypatch):
    frame = homes(count)
    found = []
    for cores in (1, 7):
        monkeypatch.setattr(memory.os, "cpu_count", lambda cores=cores: cores)
        found.append(bits(dc.tabulate(frame, **EVERYTHING)))
    assert found[0] == found[1]


@pytest.mark.parametrize("engine", ["lazy", "duckdb"])
@pytest.mark.parametrize("limit", [1, 2**22], ids=["joined at once", "joined in the end"])
def test_the_size_of_batches_does_not_matter(engine, limit, monkeypatch):
    """Batches differ in the codes they hold, and in whether values are missing or below 0."""
    frame = homes().sort("place", "v")
    expected = bits(dc.tabulate(frame, **EVERYTHING))
    monkeypatch.setattr(batches, "_BATCH", 300)
    monkeypatch.setattr(batches, "_CELLS", limit)
    source = frame.lazy() if engine == "lazy" else relation(frame)
    assert bits(dc.tabulate(source, **EVERYTHING)) == expected


@pytest.mark.parametrize("engine", ["lazy", "duckdb"])
def test_memory_is_that_of_a_batch(engine, tmp_path, monkeypatch):
    path = tmp_path / "homes.parquet"
    homes(20_000).write_parquet(path, row_group_size=1_000)
    heights = []
    coded = batches.CodedRecords
    monkeypatch.setattr(batches, "_BATCH", 3_000)
    monkeypatch.setattr(
        batches,
        "CodedRecords",
        lambda frame, *a, **o: heights.append(len(frame)) or coded(frame, *a, **o),
    )
    source = pl.scan_parquet(path) if engine == "lazy" else duckdb.read_parquet(str(path))
    table = dc.tabulate(source, **EVERYTHING)
    assert bits(table) == bits(dc.tabulate(homes(20_000), **EVERYTHING))
    assert sum(heights) > 10_000
    assert max(heights) <= 4_096


@pytest.mark.parametrize(
    ("engine", "by", "weights"),
    [
        ("lazy", [PLACE, [TENS, LEGAL]], ["w"]),
        ("lazy", [], ["w", None]),
        ("duckdb", ["place"], ["w"]),
    ],
    ids=["two variables", "total", "duckdb"],
)
def test_an_engine_that_ranks_records_itself_gives_the_same_bits(engine, by, weights, monkeypatch):
    """What engines do whose records do not come in batches."""
    call = {**EVERYTHING, "by": by}
    frame = homes(150)
    expected = [bits(dc.tabulate(frame, **{**call, "weight": w})) for w in weights]
    monkeypatch.setattr(batches.BatchEngine, "takes", lambda task: False)
    source = frame.lazy() if engine == "lazy" else relation(frame)
    found = [bits(dc.tabulate(source, **{**call, "weight": w})) for w in weights]
    assert found == expected


def test_tables_that_share_a_pass_equal_tables_made_alone():
    frame = homes()
    queries = [
        Query(by=[PLACE, "age"], name="counts"),
        Query(by=[PLACE], name="one", values=["v"], contributions=1),
        Query(by=[TENS], name="three", values=["v", "rent"], contributions=3),
        Query(by=[PLACE, "age"], name="some", values=["v", "rent"], contributions={"rent": 2}),
        Query(by=[PLACE], name="few", values=["v"], contributions=2, where="age > 10"),
        Query(by=[], name="all", values=["v"], weight="w", contributions=16),
        Query(by=[], name="own", values=["v"], contributions=2, where=nw.col("age") > 10),
    ]
    for source in (frame, frame.lazy(), relation(frame)):
        steps = []
        together = tabulate_many(
            source, queries, record_key="key", progress=lambda k, n, to=steps: to.append((k, n))
        )
        assert steps == [(k, 7) for k in range(1, 8)]
        for query, table in zip(queries, together, strict=True):
            alone = dc.tabulate(
                frame, query.by, record_key="key", values=query.values, weight=query.weight,
                contributions=query.contributions, where=query.where,
            )  # fmt: skip
            assert list(table.contributions) == list(query.largest)
            assert bits(table) == bits(alone)
            assert table.name == query.name


def test_tables_without_contributions_carry_none_through(monkeypatch):
    """A table that shares a pass with others rolls up its own measures only."""
    rows = []
    roll_up = assembly.roll_up
    monkeypatch.setattr(
        assembly, "roll_up", lambda t, p, m, g: rows.append((len(m), len(g))) or roll_up(t, p, m, g)
    )
    queries = [
        Query(by=[PLACE], name="a"),
        Query(by=[PLACE], name="b", values=["v"], contributions=2),
    ]
    counts, sums = tabulate_many(homes(), queries, record_key="key")
    assert rows[0] == (3, 0)
    assert rows[1][1] == 1
    assert counts.to_polars().equals(sums.to_polars().drop("v"))
    assert counts.fingerprint() == sums.fingerprint()


def test_a_parent_takes_the_largest_of_its_children():
    frame = pl.DataFrame({"place": ["A1", "A1", "A2", "B1"], "v": [5.0, -7.0, 7.0, None]})
    cells = cells_of(dc.tabulate(frame, [PLACE], values=["v"], contributions=2), "v")
    assert cells["A1",]["top"] == [-7, 5]
    assert cells["A",]["top"] == [7, -7]
    assert cells["B",]["top"] == [None, None]
    assert cells["B",]["count"] == 0
    assert cells["Total",] == cells["A",]


def test_no_records_no_contributions():
    empty = homes().clear()
    for source in (empty, empty.lazy(), relation(empty)):
        for by in ([PLACE], []):
            table = dc.tabulate(source, by, values=["v"], contributions=2, record_key="key")
            assert table.contributions["v"].top.shape == (0, 2)


def test_whole_numbers_and_truth_values_contribute():
    frame = pl.DataFrame({"n": [3, None, -4], "truth": [True, False, None]})
    for source in (frame, frame.lazy(), relation(frame)):
        table = dc.tabulate(source, [], values=["n", "truth"], contributions=2)
        assert table.contributions["n"].top.tolist() == [[-4, 3]]
        assert table.contributions["truth"].top.tolist() == [[1, 0]]
        assert table.contributions["truth"].nonzero.tolist() == [1]


@for_all_rows("wanted", [17, -1, True, "2", 1.0, None, {"rent": 2}, {"v": 0.5}, [2]])
def test_numbers_of_contributions_that_cannot_be_had(wanted):
    with pytest.raises(TableError) as refusal:
        dc.tabulate(homes(10), ["place"], values=["v"], contributions=wanted)
    assert refusal.value.code == "contributions"


def test_all_problems_with_contributions_at_once():
    with pytest.raises(TableError) as refusal:
        dc.tabulate(homes(10), [], values=["v"], contributions={"v": 17, "rent": 2, "w": True})
    assert len(refusal.value.problems) == 4


def test_contributions_need_value_columns():
    with pytest.raises(TableError, match="value columns") as refusal:
        dc.tabulate(homes(10), ["place"], contributions=2)
    assert refusal.value.code == "contributions"
    assert not dc.tabulate(homes(10), ["place"], contributions=0).contributions


NO_WEIGHT = pl.lit(None, dtype=pl.Float64).alias("w")
BAD: list[tuple[pl.Expr, dict[str, Any], type[DiscreetError], str]] = [
    (pl.lit("much").alias("v"), {}, MicrodataError, "the column has type String"),
    (pl.lit(float("inf")).alias("v"), {}, MicrodataError, "records have a value that is"),
    (pl.lit(1e15).alias("v"), {}, MicrodataError, "4,000 records have a value that is too large"),
    (pl.lit(-1.0).alias("w"), {"weight": "w"}, MicrodataError, "4,000 records .* is negative"),
    (NO_WEIGHT, {"weight": "w"}, MicrodataError, "4,000 records .* is missing"),
    (pl.lit(5e14).alias("key"), {}, RecordKeyError, "4,000 of 4,000 .* off the grid"),
    (pl.lit(MODULUS).alias("key"), {}, RecordKeyError, "4,000 of 4,000 .* off the grid"),
]  # fmt: skip


@pytest.mark.parametrize("engine", ["frame", "lazy", "duckdb"])
@pytest.mark.parametrize(
    ("change", "call", "kind", "words"), BAD, ids=[str(b[0])[:30] for b in BAD]
)
def test_bad_records_are_counted_over_all_batches(engine, change, call, kind, words, monkeypatch):
    monkeypatch.setattr(batches, "_BATCH", 300)
    frame = homes().with_columns(change)
    source = {"frame": lambda: frame, "lazy": frame.lazy, "duckdb": lambda: relation(frame)}[engine]
    options = {"values": ["v"], "contributions": 2, "record_key": "key"}
    with pytest.raises(kind, match=words):
        dc.tabulate(source(), ["place"], **options, **call)


def test_a_filter_that_the_data_do_not_allow_is_an_error_of_the_filter():
    for source in (homes().lazy(), relation(homes())):
        with pytest.raises(DiscreetError) as refusal:
            dc.tabulate(source, [], values=["v"], contributions=1, where=nw.col("place") > 3)
        assert refusal.value.code == "filter-types"


def test_one_bad_record_is_counted_in_the_singular():
    few = homes(10).with_columns(
        pl.when(pl.int_range(pl.len()) == 3).then(1e15).otherwise(1.0).alias("v")
    )
    with pytest.raises(MicrodataError, match="1 record has a value that is too large"):
        dc.tabulate(few, ["place"], values=["v"])


def test_compiled_cell_keys_are_sums_on_the_grid() -> None:
    """A sum that comes to the size of the grid is key 0: else it would have no noise."""
    from discreet.tabulation import compiled

    numbers = np.array([0, 0, 1, 1, 2, 2, 2], dtype=np.int64)
    keys = np.array([3, 7, 3, 6, 9, 9, 9], dtype=np.int64)
    pairs = np.zeros(8, dtype=np.int64)
    compiled.count_keys(numbers, keys, 10, pairs)
    assert pairs[::2].tolist() == [2, 2, 3, 0]
    assert pairs[1::2].tolist() == [0, 9, 7, 0]
