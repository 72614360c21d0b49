"""The contract of engines: equal cubes, everything checked and counted, no record quoted."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import narwhals as nw
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DiscreetError, MicrodataError
from discreet.keygrid import KeyGrid
from discreet.tabulation import Query, memory, tabulate_many
from discreet.tabulation.cube import Cube
from discreet.tabulation.engine import Engine, Pass, TabulationTask, known_engines
from discreet.tabulation.measures import MeasureLayout
from discreet.tabulation.tables import add_up
from tests.helpers.databases import stored
from tests.helpers.engines import ENGINES
from tests.helpers.rows import for_all_rows

SECRET = 987_654
RECORDS = pl.DataFrame(
    {
        "sex": ["m", "w", "w", "m"],
        "key": [1, 2, 3, 10**15 - 1],
        "weight": [1.0, 2.0, 0.5, 1.0],
        "income": [float(SECRET), 2.0, 3.0, 4.0],
    }
)
#: What is wrong with some records, and how many these are.
WRONG = {
    "no key": pl.col("key").replace(2, None),
    "off the grid": pl.col("key").replace({2: 10**15, 3: -1}),
    "missing": pl.when(pl.col("weight") != 1).then("weight").alias("weight"),
    "negative": (1 - pl.col("weight")).alias("weight"),
    "too large": pl.col("income").replace(2.0, 1e15),
}


def counted(engine: str, frame: pl.DataFrame) -> dc.Table:
    """A table by one of the engines."""
    lists = 2 if engine == "batches" else 0
    source: object = frame if engine == "memory" else frame.lazy()
    if engine == "pushdown":
        source = ENGINES["duckdb"](frame)
    call = {"weight": "weight", "values": ["income"], "record_key": "key"}
    if engine == "cubes":
        query = Query(by=["sex"], weight="weight", values=["income"])
        with TemporaryDirectory() as folder:
            source = Path(folder) / "some.cube"
            source.write_bytes(add_up(frame, [query], record_key="key"))
            return dc.tabulate(source, by=["sex"], **call)
    if engine == "database":
        with TemporaryDirectory() as folder:
            url = stored(f"sqlite:///{folder}/some.db", frame)
            return dc.tabulate(dc.read_microdata(url, table="people"), by=["sex"], **call)
    if engine == "store":
        with TemporaryDirectory() as folder:
            values = ["weight", "income"]
            made = dc.Store.create(
                folder, frame, variables=["sex"], values=values, record_key="key"
            )
            return made.tabulate(["sex"], weight="weight", values=["income"])
    return dc.tabulate(source, by=["sex"], contributions=lists, **call)


@pytest.mark.parametrize("name", [engine.name for engine in known_engines()])
def test_every_engine_is_the_one_for_some_records(name: str, monkeypatch: pytest.MonkeyPatch):
    ran = []
    for engine in known_engines():

        def note(self, passes, run=engine.run):
            ran.extend([self.name] * bool(passes))
            return run(self, passes)

        monkeypatch.setattr(engine, "run", note)
    table = counted(name, RECORDS)
    assert ran[-1] == name
    assert set(ran) <= {name, "memory"}  # cubes are made of records first
    assert len(ran) == 1 + (name == "cubes")
    assert table.to_polars().equals(counted("memory", RECORDS).to_polars())


@for_all_rows("name", [engine.name for engine in known_engines()])
@for_all_rows("kind", WRONG)
def test_every_engine_counts_what_is_wrong(name: str, kind: str):
    frame = RECORDS.with_columns(WRONG[kind])
    with pytest.raises(DiscreetError, match=kind) as error:
        counted(name, frame)
    with pytest.raises(DiscreetError) as expected:
        counted("memory", frame)
    assert str(error.value) == str(expected.value)
    assert str(SECRET) not in str(error.value)


def test_lazy_frames_are_read_once_where_they_fit(monkeypatch: pytest.MonkeyPatch):
    queries = [Query(by=["sex"], name="all"), Query(by=["sex"], where="income > 2", name="some")]
    task = TabulationTask(
        records=nw.from_native(RECORDS.lazy()),
        queries=queries,
        record_key="key",
        grid=KeyGrid(),
        unsuitable_keys=False,
    )
    alone = replace(task, queries=queries[:1])
    assert memory.MemoryEngine.takes(task)
    assert not memory.MemoryEngine.takes(alone)
    expected = [table.to_polars() for table in tabulate_many(RECORDS, queries, record_key="key")]
    monkeypatch.setattr(memory, "_MEMORY_BUDGET", 3 * 4 * 16 - 1)
    assert not memory.MemoryEngine.takes(task)
    found = tabulate_many(RECORDS.lazy(), queries, record_key="key")
    assert all(a.equals(b.to_polars()) for a, b in zip(expected, found, strict=True))


@pytest.mark.parametrize("fault", ["failing", "other axes", "none"])
def test_what_an_engine_does_wrong_quotes_no_record(fault: str, monkeypatch: pytest.MonkeyPatch):
    def cubes(self: Engine, passes: Sequence[Pass]) -> Iterator[Cube]:
        if fault == "failing":
            raise ValueError(f"cannot count {SECRET}")
        if fault == "other axes":
            none = Pass(axes=(), where=None, layout=MeasureLayout(keyed=True))
            yield self.coded.cube(none.axes, None, none.layout)

    monkeypatch.setattr(memory.MemoryEngine, "cubes", cubes)
    with pytest.raises(MicrodataError, match="engine failed on these records") as error:
        counted("memory", RECORDS)
    assert str(SECRET) not in str(error.value)
    assert error.value.__cause__ is None
