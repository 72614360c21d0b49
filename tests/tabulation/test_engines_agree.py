"""Bad input of every kind: all engines give the same table, or the same error."""

from collections.abc import Callable
from typing import Any

import duckdb
import narwhals as nw
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Classification, tabulate
from discreet.errors import DiscreetError, MicrodataError, RecordKeyError

NAN, INF = float("nan"), float("inf")
TOP = 2**63 - 1

ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "plan": lambda frame: frame.lazy(),
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
    "pandas": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
    "pyarrow": lambda frame: frame.to_arrow(),
}
every_engine = pytest.mark.parametrize("engine", ENGINES)


def outcome(frame: Any, options: dict[str, Any]) -> tuple[Any, ...]:
    """The table, or the error, as something that can be compared."""
    try:
        table = tabulate(frame, **options)
    except DiscreetError as error:
        return ("error", type(error).__name__, error.code, str(error))
    lists = {name: part.top.tolist() for name, part in table.contributions.items()}
    return ("table", table.to_polars().rows(), str(lists))


def agreed(frame: pl.DataFrame, options: dict[str, Any], others: Any = ()) -> tuple[Any, ...]:
    found = {name: outcome(make(frame), options) for name, make in [*ENGINES.items(), *others]}
    first = found["polars"]
    assert "engine-failed" not in first
    assert {name: one for name, one in found.items() if one != first} == {}
    return first


# -- what the filter leaves out was never wrong ---------------------------------

BAD: dict[str, tuple[pl.Series, dict[str, Any]]] = {
    "infinite value": (pl.Series([1.0, INF]), {"values": ["x"]}),
    "large value": (pl.Series([1.0, 2.0**50]), {"values": ["x"]}),
    "large by weight": (pl.Series([1.0, 2.0**40]), {"values": ["x"], "weight": "w"}),
    "missing weight": (pl.Series([1.0, None]), {"weight": "x"}),
    "NaN weight": (pl.Series([1.0, NAN]), {"weight": "x"}),
    "negative weight": (pl.Series([1.0, -1.0]), {"weight": "x"}),
    "infinite weight": (pl.Series([1.0, INF]), {"weight": "x"}),
    "missing key": (pl.Series([1, None]), {"record_key": "x"}),
    "NaN key": (pl.Series([0.5, NAN]), {"record_key": "x"}),
    "key off the grid": (pl.Series([1, 10**15]), {"record_key": "x"}),
    "negative key": (pl.Series([1, -1]), {"record_key": "x"}),
    "fine key": (pl.Series([0.5, 0.12345678901234567]), {"record_key": "x"}),
    "text key": (pl.Series(["0.5", "none"]), {"record_key": "x"}),
    "fine text key": (pl.Series(["0.5", "0.1234567890123456"]), {"record_key": "x"}),
    "fraction as code": (pl.Series([1.0, 1.5]), {"by": ["x"]}),
}


#: What is tried with every change, with largest contributions and without them.
QUICK = [("infinite value", 2), ("missing weight", 2), ("missing key", 2), ("fraction as code", 0)]
QUICK += [("large value", 0), ("NaN weight", 0), ("NaN key", 0), ("text key", 0)]


@pytest.mark.parametrize(
    ("bad", "largest"),
    [
        pytest.param(bad, largest, marks=() if (bad, largest) in QUICK else pytest.mark.exhaustive)
        for bad in BAD
        for largest in (0, 2)
    ],
)
def test_bad_records_count_only_if_they_pass_the_filter(bad: str, largest: int) -> None:
    series, options = BAD[bad]
    # The bad record thrice: twice within the filter, once outside.
    frame = pl.DataFrame({"x": series, "g": ["a", "b"], "w": [2.0**10] * 2, "v": [5.0, 7.0]})
    frame = pl.concat([frame[:1], frame[1:], frame[1:], frame[1:].with_columns(g=pl.lit("c"))])
    wanted = {"by": [], **options}
    if largest:
        wanted |= {"values": [*options.get("values", []), "v"], "contributions": largest}
    good = agreed(frame, {**wanted, "where": "g == 'a'"})
    assert good[0] == "table"
    some = agreed(frame, {**wanted, "where": "g in ('a', 'b')"})
    assert some[0] == "error"
    every = agreed(frame, wanted)
    assert every[:3] == some[:3]
    if "fraction" not in bad:
        assert "2 records have" in some[3] or "2 of 3 records have" in some[3]
        assert "3 records have" in every[3] or "3 of 4 records have" in every[3]


@every_engine
@pytest.mark.parametrize("codes", [[TOP, TOP - 1, TOP], [-(2**63), -(2**63) + 1], [TOP, -(2**63)]])
def test_codes_up_to_the_end_of_64_bits_are_codes(engine: str, codes: list[int]) -> None:
    frame = pl.DataFrame({"code": codes}, schema={"code": pl.Int64})
    found = tabulate(ENGINES[engine](frame), ["code"]).to_polars()
    assert dict(found.rows()) == {"Total": len(codes)} | {
        str(code): codes.count(code) for code in codes
    }


@pytest.mark.parametrize("codes", [[2**64 - 1, 2**64 - 2], [2**63, 2**63 - 1], [0, 2**64 - 1]])
def test_codes_without_sign_are_codes_on_every_engine(codes: list[int]) -> None:
    frame = pl.DataFrame({"code": codes}, schema={"code": pl.UInt64})
    found = agreed(frame, {"by": ["code"]})
    assert dict(found[1]) == {"Total": 2} | dict.fromkeys(map(str, codes), 1)


@every_engine
def test_a_missing_code_among_the_largest(engine: str) -> None:
    frame = pl.DataFrame({"code": [TOP, None, TOP - 5]}, schema={"code": pl.Int64})
    assert tabulate(ENGINES[engine](frame), ["code"]).to_polars().height == 4


@every_engine
@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"values": ["t"]}, MicrodataError, "the column has type String"),
        ({"weight": "d"}, MicrodataError, "the column has type Date"),
        ({"by": [Classification.from_intervals("t", [0, 5])]}, MicrodataError, "need numbers"),
        ({"record_key": "d"}, RecordKeyError, "cannot be of type Date"),
        ({"record_key": "b"}, RecordKeyError, "cannot be of type Boolean"),
    ],
)
def test_wrong_types_are_told_alike(engine: str, options: Any, kind: Any, text: str) -> None:
    from datetime import date

    frame = pl.DataFrame({"t": ["a"], "d": [date(2026, 1, 1)], "b": [True]})
    with pytest.raises(kind, match=text):
        tabulate(ENGINES[engine](frame), **{"by": [], **options})


# -- anything at all -------------------------------------------------------------

FLOATS = st.sampled_from(
    [0.0, -0.0, 1.0, 2.5, -3.0, 1e-300, 2.0**46, 2.0**47, -(2.0**47), 1e308, NAN, INF, -INF]
)
INTEGERS = st.sampled_from([0, 1, -1, 7, 2**31, 2**47, TOP, TOP - 1, -(2**63)])
KEYS: dict[str, tuple[Any, Any]] = {
    "int": (pl.Int64, st.sampled_from([0, 1, 255, 256, 10**15 - 1, 10**15, -1, TOP])),
    "uint": (pl.UInt64, st.sampled_from([0, 5, 255, 10**15, 2**64 - 1])),
    "float": (
        pl.Float64,
        st.sampled_from([0.0, 0.25, 0.1, 1e-15, 1 - 1e-15, 1 - 1e-16, 1.0, -0.1, 3.0, 300.5, NAN]),
    ),
    "text": (
        pl.String,
        st.sampled_from(["0.25", ".5", "1", "1e-5", "255", "-1", "", "x", "0.1234567890123456"]),
    ),
    "truth": (pl.Boolean, st.booleans()),
}
CODES: dict[str, tuple[Any, Any]] = {
    "int": (pl.Int64, INTEGERS),
    "small": (pl.Int8, st.integers(-2, 3)),
    "uint": (pl.UInt64, st.sampled_from([0, 1, 2**63, 2**64 - 1])),
    "float": (pl.Float64, st.sampled_from([0.0, 1.0, 2.0**40, 2.0**63, 1.5, NAN, INF, -1.0])),
    "text": (pl.String, st.sampled_from(["a", "b", "", "Total", "Missing", " a", "\u00e9", "1"])),
    "truth": (pl.Boolean, st.booleans()),
}
NUMBERS: dict[str, tuple[Any, Any]] = {
    "float": (pl.Float64, FLOATS),
    "int": (pl.Int64, INTEGERS),
    "small": (pl.UInt8, st.integers(0, 9)),
    "text": (pl.String, st.just("x")),
    "truth": (pl.Boolean, st.booleans()),
}
WHERE = [None, None, "f >= 0", "f > 5", "f in (1, 2)", "not f == 1", "f is null", "c is not null"]


@st.composite
def cases(draw: st.DrawFn) -> tuple[pl.DataFrame, dict[str, Any]]:
    size = draw(st.integers(0, 6))
    columns, types = {}, {}
    kinds = {"c": CODES, "k": KEYS, "v": NUMBERS, "w": NUMBERS}
    columns["f"], types["f"] = [draw(st.integers(0, 3)) for _ in range(size)], pl.Int64
    for name, of in kinds.items():
        dtype, values = of[draw(st.sampled_from(sorted(of)))]
        if draw(st.integers(0, 3)):  # mostly what could be right
            dtype, values = next(iter(of.values())) if name != "c" else (dtype, values)
        filled = st.one_of(values, values, values, st.none())
        columns[name] = draw(st.lists(filled, min_size=size, max_size=size))
        types[name] = dtype
    options: dict[str, Any] = {"where": draw(st.sampled_from(WHERE))}
    cut = Classification.from_intervals("c", [0, 1, 5])
    options["by"] = draw(st.sampled_from([["c"], [], ["f", "c"], [cut], ["none"]]))
    if draw(st.booleans()):
        options["record_key"] = "k"
        options["key_grid"] = draw(st.sampled_from([10**15, 256]))
    if draw(st.booleans()):
        options["weight"] = "w"
    if draw(st.booleans()):
        options["values"] = ["v"]
        options["contributions"] = draw(st.sampled_from([0, 2]))
    return pl.DataFrame(columns, schema=types), options


def _fuzzed(case: tuple[pl.DataFrame, dict[str, Any]], others: Any = ()) -> None:
    agreed(*case, others)


@settings(max_examples=6)
@given(cases())
def test_engines_agree_on_anything(case: tuple[pl.DataFrame, dict[str, Any]]) -> None:
    _fuzzed(case)


@pytest.mark.exhaustive
def test_compiled_loops_and_small_batches_agree_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.tabulation.memory._compiled_pays", lambda records: True)
    monkeypatch.setattr("discreet.tabulation.columns._COMPILED_FROM", 1)
    monkeypatch.setattr("discreet.tabulation.columns.loading_pays", lambda seconds: True)
    monkeypatch.setattr("discreet.tabulation.batches._BATCH", 2)
    given(cases())(lambda case: _fuzzed(case))()


@pytest.mark.spark
@pytest.mark.exhaustive
@pytest.mark.parametrize("bad", [name for name in BAD if BAD[name][0].dtype != pl.String])
def test_spark_counts_the_same_bad_records(spark: Any, bad: str) -> None:
    series, options = BAD[bad]
    frame = pl.DataFrame({"x": series, "g": ["a", "b"], "w": [2.0**10] * 2})

    def distributed(records: pl.DataFrame) -> Any:
        rows = [tuple(row) for row in records.iter_rows()]
        kinds = {pl.Float64: "double", pl.Int64: "long", pl.String: "string"}
        schema = ", ".join(f"{name} {kinds[kind]}" for name, kind in records.schema.items())
        return nw.from_native(spark.createDataFrame(rows, schema))

    wanted = {"by": [], **options}
    for where in (None, "g == 'a'"):
        agreed(frame, {**wanted, "where": where}, [("spark", distributed)])
