"""Counting left to a database: the same tables, bit for bit, and only cells come back."""

import datetime
import importlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import sqlalchemy
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetError, MicrodataError
from discreet.keygrid import KeyGrid
from discreet.microdata.sql_databases import DatabaseTable
from discreet.tabulation import Query
from discreet.tabulation.database import DatabaseEngine
from discreet.tabulation.engine import Pass, TabulationTask
from discreet.tabulation.measures import MeasureLayout
from tests.helpers.databases import postgresql_server, stored
from tests.helpers.rows import for_all_rows

NAN = float("nan")
SCHEMA = {
    "sex": pl.String(),
    "state": pl.String(),
    "district": pl.String(),
    "age": pl.Int64(),
    "rent": pl.Float64(),
    "weight": pl.Float64(),
    "rooms": pl.Int64(),
    "key": pl.Int64(),
}
PARENTS = {"N": None, "S": None, "a": "N", "A": "N", "é": "S", "b ": "S"}
REGION = dc.Classification.from_parents("region", list(PARENTS.items())).replace(column="state")
AGES = dc.Classification.from_intervals("age", bounds=[0, 18, 65, 120])
RENTS = dc.Classification.from_intervals("rent", bounds=[-9_000, 0, 500.5])


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a PostgreSQL server of its own, without network."""
    with postgresql_server() as url:
        yield url


def records(number: int, seed: int) -> pl.DataFrame:
    """Records with gaps, blanks, letters in two cases, and numbers of any size."""
    draw = np.random.default_rng(seed)

    def gaps(values: Any, share: float = 0.1) -> list[Any]:
        gone = draw.random(number) < share
        listed = np.asarray(values, dtype=object).tolist()
        return [None if empty else value for value, empty in zip(listed, gone, strict=True)]

    return pl.DataFrame(
        {
            "sex": gaps(draw.choice(["m", "w", "d", "M", "w "], number)),
            "state": draw.choice(["a", "A", "é", "b "], number),
            "district": gaps(draw.choice(["a1", "a2", "B1"], number), 0.5),
            "age": gaps(draw.integers(0, 119, number)),
            "rent": gaps(np.where(draw.random(number) < 0.2, 0.0, draw.normal(400, 900, number))),
            "weight": draw.uniform(0, 40, number),
            "rooms": gaps(draw.integers(-3, 9, number)),
            "key": draw.integers(0, 10**15, number),
        },
        schema=SCHEMA,
        strict=False,
    )


@pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)], scope="session"
)
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("server"))
    path = tmp_path_factory.mktemp("sqlite") / "census.db"
    sqlite3.connect(path).close()
    return f"sqlite:///{path}"


def bits(table: dc.Table) -> Any:
    lists = {
        name: [part.top.tobytes(), part.low.tobytes(), part.high.tobytes(), part.total.tobytes(),
               part.count.tobytes(), None if part.key is None else part.key.tobytes(),
               None if part.top_weight is None else part.top_weight.tobytes()]
        for name, part in table.contributions.items()
    }  # fmt: skip
    return table.to_polars().rows(), lists


def outcome(source: Any, call: dict[str, Any]) -> Any:
    """The table, or what is wrong."""
    try:
        return bits(dc.tabulate(source, **call))
    except DiscreetError as error:
        return str(error)


def counted_there(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Fails where records are fetched, but for the test of their keys."""
    fetched: list[str] = []
    plain = DatabaseTable.fetched

    def noted(self: DatabaseTable, columns: Any, most: int | None) -> Any:
        if most is None:
            fetched.extend(columns)
        return plain(self, columns, most)

    monkeypatch.setattr(DatabaseTable, "fetched", noted)
    return fetched


SPANNING = {"region": REGION, "ages": AGES, "rents": RENTS}
BY = st.lists(st.sampled_from(["sex", "rooms", "district", *SPANNING]), unique=True, max_size=3)
WHERE = st.sampled_from(
    [
        None,
        "age >= 18",
        "sex == 'm'",
        "sex in ('m', 'w ') and not rooms == 2",
        "rent > 100.5 or age is null",
        "`rent` != 0",
        "sex < 'm'",
        "sex != 'M' and 18 <= age < 65",
        "age in (1, 2, 3, 50.0) or district is not null",
        "not (sex == 'm' or rent < 0)",
    ]
)


@given(
    BY,
    WHERE,
    st.booleans(),
    st.lists(st.sampled_from(["rent", "rooms"]), unique=True),
    st.integers(0, 4),
    st.integers(0, 300),
    st.integers(0, 9),
)
def test_any_query_gives_the_same_bits(
    database: str,
    by: list[str],
    where: str | None,
    weighted: bool,
    values: list[str],
    k: int,
    number: int,
    seed: int,
) -> None:
    frame = records(number, seed)
    stored(database, frame)
    values = [name for name in values if name not in by]
    call: dict[str, Any] = {
        "by": [SPANNING.get(name, name) for name in by],
        "where": where,
        "weight": "weight" if weighted else None,
        "values": values,
        "contributions": k if values else 0,
        "record_key": "key",
        "allow_unsuitable_keys": True,
    }
    there = dc.read_microdata(database, table="people")
    assert outcome(there, call) == outcome(frame, call)


def test_only_cells_come_back(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = records(3_000, 1)
    stored(database, frame)
    fetched = counted_there(monkeypatch)
    queries = [
        Query(by=["sex", REGION], values=["rent"], contributions=3, weight="weight"),
        Query(by=[AGES], where="sex == 'm'"),
    ]
    there = dc.read_microdata(database, table="people")
    found = dc.tabulate_many(there, queries, record_key="key")
    expected = dc.tabulate_many(frame, queries, record_key="key")
    assert [bits(table) for table in found] == [bits(table) for table in expected]
    assert fetched == []


BAD: dict[str, Any] = {
    "no key": pl.when(pl.int_range(pl.len()) != 3).then("key").alias("key"),
    "off the grid": pl.when(pl.int_range(pl.len()) == 3).then(-1).otherwise("key").alias("key"),
    "missing": pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("weight").alias("weight"),
    "negative": (pl.col("weight") - 1).alias("weight"),
    "too large": pl.when(pl.int_range(pl.len()) == 3).then(1e15).otherwise("rent").alias("rent"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_wrong_is_counted_and_not_shown(database: str, kind: str) -> None:
    frame = records(200, 2).with_columns(BAD[kind])
    stored(database, frame)
    call: dict[str, Any] = {"by": ["sex"], "weight": "weight", "values": ["rent"]}
    call |= {"record_key": "key", "allow_unsuitable_keys": True}
    with pytest.raises(DiscreetError) as expected:
        dc.tabulate(frame, **call)
    with pytest.raises(DiscreetError) as found:
        dc.tabulate(dc.read_microdata(database, table="people"), **call)
    assert str(found.value) == str(expected.value)


def test_sqlite_takes_any_value_in_any_column(tmp_path: Path) -> None:
    url = stored(f"sqlite:///{tmp_path}/a.db", records(50, 3))
    for column, value in (("rent", "secret"), ("age", "secret"), ("key", 1.5), ("sex", b"secret")):
        stored(url, records(50, 3))
        with sqlite3.connect(tmp_path / "a.db") as connection:
            connection.execute(f"update people set {column} = ? where rowid = 7", (value,))
        connection.close()
        call: dict[str, Any] = {"by": ["sex"], "values": ["rent"], "where": "age > 3"}
        with pytest.raises(MicrodataError, match="different types") as caught:
            dc.tabulate(dc.read_microdata(url, table="people"), record_key="key", **call)
        assert "secret" not in str(caught.value)


@pytest.mark.postgresql
def test_postgresql_as_offices_have_it(server: str) -> None:
    """NaN, numeric columns, odd names, views, schemas, and a collation that takes a for A."""
    engine = sqlalchemy.create_engine(server)
    with engine.begin() as connection:
        for line in (
            "drop schema if exists census cascade",
            "create schema census",
            "create collation census.blind (provider = icu, locale = 'und-u-ks-level2', "
            "deterministic = false)",
            'create table census."Odd ""Name" ("se x" varchar(3), "%%(k)s" bigint, '
            "rent numeric(12, 2), day date, yes boolean, share real, code char(3), "
            'letter text collate census.blind, "ra:te" double precision)',
            'create view census.seen as select "se x" as sex, "%%(k)s" as key, rent, day, yes, '
            'letter, "ra:te" as rate from census."Odd ""Name"',
        ):
            connection.exec_driver_sql(line)
        insert = 'insert into census."Odd ""Name" values (%s, %s, %s, %s, %s, %s, %s, %s, %s)'
        draw = np.random.default_rng(1)
        day = datetime.date(2022, 5, 15)
        rows = [
            ("m" if n % 3 else None, int(draw.integers(0, 10**15)), n + 0.25, day, n % 2 == 0, 0.5,
             "a", "aA"[n % 2], [NAN, 1.5, None][n % 3])
            for n in range(90)
        ]  # fmt: skip
        for row in rows:
            connection.exec_driver_sql(insert, row)
    engine.dispose()
    seen = dc.read_microdata(server, table="census.seen")
    names = ["sex", "key", "rent", "day", "yes", "letter", "rate"]
    frame = pl.DataFrame(
        [(a, b, c, d, e, h, i) for a, b, c, d, e, _, _, h, i in rows], schema=names, orient="row"
    )
    for by in (["sex", "yes"], ["day"], ["letter"]):
        call: dict[str, Any] = {"by": by, "values": ["rent", "rate", "yes"][: 3 - len(by)]}
        call |= {"record_key": "key", "contributions": 2, "where": "rent > 3 and yes == true"}
        call["values"] = [name for name in call["values"] if name not in by]
        assert bits(dc.tabulate(seen, **call)) == bits(dc.tabulate(frame, **call))
    whole = dc.read_microdata(server, table='census.Odd "Name')
    call = {"by": ["se x"], "record_key": "%(k)s", "values": ["ra:te"]}
    odd = frame.rename({"sex": "se x", "key": "%(k)s", "rate": "ra:te"})
    assert bits(dc.tabulate(whole, **call)) == bits(dc.tabulate(odd, **call))


@pytest.mark.postgresql
def test_all_tables_see_the_records_of_one_moment(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that others add between two passes are in none of the tables."""
    frame = records(300, 4)
    stored(server, frame)
    plain: Callable[..., Any] = DatabaseEngine.grouped
    engine = sqlalchemy.create_engine(server)
    passes = []

    def meanwhile(self: DatabaseEngine, one: Any) -> Any:
        passes.append(one)
        if len(passes) > 1:
            with engine.begin() as connection:
                connection.exec_driver_sql("delete from people where rooms = 1")
        return plain(self, one)

    queries = [Query(by=["sex"]), Query(by=["sex"], where="rooms == 1")]
    there = dc.read_microdata(server, table="people")
    monkeypatch.setattr(DatabaseEngine, "grouped", meanwhile)
    seen = dc.tabulate_many(there, queries, record_key="key")
    expected = dc.tabulate_many(frame, queries, record_key="key")
    assert [bits(table) for table in seen] == [bits(table) for table in expected]
    with engine.connect() as connection:
        left = connection.exec_driver_sql("select count(*) from people where rooms = 1").scalar()
    engine.dispose()
    assert (len(passes), left) == (2, 0)


@for_all_rows("dialect", ["oracle", "mssql", "mysql", "postgresql", "sqlite"])
def test_statements_are_as_they_were(dialect: str) -> None:
    """Oracle, SQL Server and MariaDB are not tried out: what they would be asked is kept here."""
    kinds = {pl.String(): sqlalchemy.String(9), pl.Int64(): sqlalchemy.BigInteger()}
    columns = [
        sqlalchemy.Column(name, kinds.get(kind, sqlalchemy.Double()))
        for name, kind in SCHEMA.items()
    ]
    module = importlib.import_module(f"sqlalchemy.dialects.{dialect}")
    engine = SimpleNamespace(dialect=module.dialect())
    table = sqlalchemy.Table("People", sqlalchemy.MetaData(), *columns)
    source = DatabaseTable(engine, table, SCHEMA, "somewhere")
    query = Query(
        by=["sex", AGES],
        where="district in ('a', 'b') and not rent < 3",
        weight="weight",
        values=["rent"],
        contributions=2,
    )
    task = TabulationTask(
        records=source.plan(),
        queries=[query],
        record_key="key",
        grid=KeyGrid(),
        unsuitable_keys=False,
    )
    layout = MeasureLayout(keyed=True, weight="weight", values=("rent",), largest={"rent": 2})
    one = Pass(axes=query.axes, where=None, layout=layout, asked=query.where).complete()
    asked = DatabaseEngine(task)
    said = [
        str(statement.compile(dialect=engine.dialect)).strip()
        for statement in (asked.grouped(one), *asked.largest(one))
    ]
    text = "\n;\n".join(re.sub(r" +\n", "\n", each) for each in said) + "\n"
    place = Path(__file__).parent / "statements" / f"{dialect}.sql"
    if os.environ.get("DISCREET_WRITE"):
        place.write_text(text, encoding="utf-8")
    assert place.read_text("utf-8") == text
