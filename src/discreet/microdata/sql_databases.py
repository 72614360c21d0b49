"""Tables of any SQL database, by URL (optional extra `sql`).

In: a URL such as postgresql://user@host/census, and a table's name or a query. Out: of a table,
a plan that stands in for it, so that counting can be left to the database; of a query, a frame.
What is fetched comes in batches; connections only read, and what was open is rolled back. No
message shows what a URL holds besides its kind, host and database. CONFIDENTIAL.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import DiscreetError, MicrodataError
from discreet.microdata.distant_frames import DistantRecords

_BATCH = 100_000
#: Whole numbers of so many digits fit into 64 bits.
_WHOLE_DIGITS = 18
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+_.-]*://")
_SELECT = re.compile(r"\s*(?:\(\s*)*(select|with|values|table)\b", re.IGNORECASE)


def is_url(source: str) -> bool:
    """Whether a text names a database by URL.

    >>> is_url("postgresql://me:word@host/census"), is_url("persons.csv")
    (True, False)
    """
    return _URL.match(source) is not None


def shown_url(url: str) -> str:
    """A URL for messages: without user, password and options.

    >>> shown_url("postgresql://me:pass@word@host:5432/census?sslkey=1")
    'postgresql://host:5432/census'
    """
    scheme, _, rest = url.partition("://")
    bare = re.split(r"[?#]", rest, maxsplit=1)[0]
    if "@" in rest[len(bare) :]:  # a sign of a password, or an option: where is not clear
        return f"{scheme}://…"
    return f"{scheme}://{bare.rpartition('@')[2]}"


def read_sql(url: str, table: str | None, query: str | None) -> pl.DataFrame | pl.LazyFrame:
    """The table, or the result of the query."""
    where = shown_url(url)
    engine = _engine(url, where)
    with reading(engine, where) as connection:
        if query is None and table is not None:
            database_table = DatabaseTable.found(engine, connection, table, where)
            if database_table is not None:
                plan: pl.LazyFrame = database_table.plan().to_native()
                return plan
        return _fetched(connection, table, query, where)


def _engine(url: str, where: str) -> Any:
    """What opens connections; none is held open."""
    try:
        alchemy = importlib.import_module("sqlalchemy")
    except ImportError:
        raise _error(
            where,
            "databases with a URL need the package SQLAlchemy",
            "pip install 'discreet[sql]', and the driver of your database",
            code="missing-package",
        ) from None
    file = url.partition(":///")[2].partition("?")[0]
    if url.startswith("sqlite") and file not in ("", ":memory:") and not Path(file).is_file():
        raise _error(where, "file not found", "sqlite:///FILE", code="file-missing")
    try:
        engine = alchemy.create_engine(url, poolclass=alchemy.pool.NullPool, hide_parameters=True)
    except ImportError as error:
        driver = getattr(error, "name", None) or "of this database"
        hint = f"pip install {driver}" if getattr(error, "name", None) else ""
        message = f"the driver {driver} is not installed"
        raise _error(where, message, hint, code="missing-package") from None
    except Exception:
        # The package quotes the whole URL.
        hint = "write kind://user@host/database; write characters such as @ in passwords as %40"
        raise _error(where, "the URL is not valid", hint) from None
    if engine.dialect.name == "postgresql":
        # All that is asked in one connection sees the records as they are at its beginning.
        engine = engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
    return engine


@contextmanager
def reading(engine: Any, where: str) -> Iterator[Any]:
    """A connection that only reads; its errors say where, and quote no record."""
    try:
        with engine.connect() as connection:
            yield connection
            connection.rollback()
    except DiscreetError:
        raise
    except Exception as error:
        hint = "check the host, the user and the password"
        raise _error(where, f"the database cannot be read ({_kind(error)})", hint) from None


#: Kinds of columns, by the names of their types.
_TYPES = {
    **dict.fromkeys(("Integer", "SmallInteger", "BigInteger"), pl.Int64()),
    **dict.fromkeys(("Float", "Double", "Numeric"), pl.Float64()),
    **dict.fromkeys(("String", "Text", "Unicode", "UnicodeText"), pl.String()),
    **{"Boolean": pl.Boolean(), "Date": pl.Date()},
}
#: The same for columns that are read, and not counted there.
_READ = {**_TYPES, "DateTime": pl.Datetime("us"), "Time": pl.Time()}
#: Texts that a database fills up with blanks, and then takes for equal to shorter ones.
_PADDED = ("CHAR", "NCHAR", "BPCHAR")


class DatabaseTable(DistantRecords):
    """A table or view of a database, in which records stay. CONFIDENTIAL."""

    def __init__(self, engine: Any, table: Any, schema: dict[str, Any], where: str) -> None:
        self.engine, self.table, self.where = engine, table, where
        self._schema = schema
        #: Columns that cannot be counted in the database as they are here.
        self.uncounted = {
            column.name
            for column in table.columns
            if type(column.type).__name__.upper() in _PADDED
            or schema[column.name] not in _TYPES.values()
        }

    @classmethod
    def found(cls, engine: Any, connection: Any, name: str, where: str) -> DatabaseTable | None:
        """A table of this name; None if some column is of a type that is not known here."""
        alchemy = importlib.import_module("sqlalchemy")
        known = _tables(alchemy.inspect(connection))
        if name not in known:
            hint = f"tables: {', '.join(known) or 'none'}"
            raise _error(where, f"table {name!r} not found", hint)
        schema, own = known[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of types that the package does not know
            table = alchemy.Table(own, alchemy.MetaData(), schema=schema, autoload_with=connection)
        kinds = {column.name: _type(column.type, engine.dialect.name) for column in table.columns}
        if not kinds or None in kinds.values():
            return None
        return cls(engine, table, kinds, where)

    @property
    def schema(self) -> dict[str, Any]:
        """The columns and their types."""
        return self._schema

    def fetched(self, columns: Sequence[str], most: int | None) -> Iterator[pl.DataFrame]:
        """Some columns of the records."""
        alchemy = importlib.import_module("sqlalchemy")
        statement = alchemy.select(*(self.table.c[name] for name in columns)).limit(most)
        types = {name: self._schema[name] for name in columns}
        with reading(self.engine, self.where) as connection:
            result = connection.execution_options(stream_results=True).execute(statement)
            empty = True
            for rows in result.partitions(_BATCH):
                empty = False
                yield self.framed(types, rows)
        if empty:
            yield pl.DataFrame(schema=types)

    def distinct(self, name: str) -> pl.Series:
        """The different values of a column."""
        return self._column(name, lambda statement: statement.distinct())

    def lowest(self, name: str, most: float) -> pl.Series:
        """The values of a column from 0 to below `most`, of all records."""
        column = self.table.c[name]
        return self._column(name, lambda statement: statement.where(column >= 0, column < most))

    def _column(self, name: str, chosen: Callable[[Any], Any]) -> pl.Series:
        statement = importlib.import_module("sqlalchemy").select(self.table.c[name])
        with reading(self.engine, self.where) as connection:
            rows = connection.execute(chosen(statement)).all()
        types = {name: self._schema[name]}
        return (self.framed(types, rows) if rows else pl.DataFrame(schema=types))[name]

    def fingerprint(self) -> bytes:
        """Some numbers that change when any record does, whatever the order of the records."""
        alchemy, seeds = importlib.import_module("sqlalchemy"), range(4)
        if self.engine.dialect.name == "postgresql":
            row = alchemy.cast(self.table.table_valued(), alchemy.Text())
            sums = [alchemy.func.sum(alchemy.func.hashtextextended(row, seed)) for seed in seeds]
            statement = alchemy.select(alchemy.func.count(), *sums).select_from(self.table)
            with reading(self.engine, self.where) as connection:
                return repr([str(item) for item in connection.execute(statement).one()]).encode()
        count, totals = 0, [0, 0, 0, 0]
        for part in self.fetched(list(self._schema), None):
            count += part.height
            for seed in seeds:
                hashed = part.hash_rows(seed).to_numpy()
                totals[seed] = (totals[seed] + int(hashed.sum(dtype="uint64"))) % 2**64
        return repr([count, *totals]).encode()

    def framed(self, types: Mapping[str, Any], rows: Sequence[Any]) -> pl.DataFrame:
        """Rows as columns of these types; an error if values are of others."""
        series = []
        for (name, kind), part in zip(types.items(), zip(*rows, strict=True), strict=True):
            values = list(part)
            if kind == pl.Float64():
                values = [float(v) if isinstance(v, Decimal | int) else v for v in values]
            if kind == pl.Int64():
                values = [int(v) if isinstance(v, Decimal) and v % 1 == 0 else v for v in values]
            try:
                series.append(pl.Series(name, values, dtype=kind, strict=True))
            except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
                raise mixed_types(name, self.where) from None
        return pl.DataFrame(series)


def _type(kind: Any, dialect: str) -> Any:
    """The type of a column; None if it is not known here."""
    names = [base.__name__ for base in type(kind).__mro__]
    dtype = next((_READ[name] for name in names if name in _READ), None)
    if dialect == "sqlite" and dtype not in (pl.Int64(), pl.Float64(), pl.String()):
        return None  # its values are numbers and texts
    if getattr(kind, "timezone", False):
        return None
    if dtype == pl.Float64() and getattr(kind, "scale", None) == 0 and "Numeric" in names:
        return pl.Int64() if 0 < (kind.precision or 0) <= _WHOLE_DIGITS else dtype
    return dtype


def _kind(error: Exception) -> str:
    """The class of an error; its text may quote records and passwords."""
    return type(getattr(error, "orig", None) or error).__name__


def _error(where: str, message: str, hint: str = "", code: str = "database") -> MicrodataError:
    return MicrodataError(message, code=code, where=where, hint=hint)


def _fetched(connection: Any, table: str | None, query: str | None, where: str) -> pl.DataFrame:
    alchemy = importlib.import_module("sqlalchemy")
    known = _tables(alchemy.inspect(connection))
    if (table is None) == (query is None):
        hint = f"tables: {', '.join(known) or 'none'}"
        raise _error(where, "give either a table or a query", hint)
    statement = str(query)
    if table is not None:  # one whose types are not known here
        schema, name = known[table]
        quote = connection.dialect.identifier_preparer.quote
        named = quote(name) if schema is None else f"{quote(schema)}.{quote(name)}"
        statement = f"select * from {named}"  # noqa: S608 - only names that the database lists
    elif _SELECT.match(statement) is None or ";" in statement.rstrip().rstrip(";"):
        raise _error(where, "the query must be one SELECT statement")
    try:
        result = connection.execution_options(stream_results=True).execute(
            alchemy.text(statement.replace(":", r"\:"))
        )
        return _joined(list(result.keys()), result.partitions(_BATCH), where)
    except alchemy.exc.DBAPIError as error:
        message = f"the query failed ({_kind(error)})"
        raise _error(where, message, "test it with the client of the database") from None


def _tables(inspector: Any) -> dict[str, tuple[str | None, str]]:
    """Tables and views: the name to call each by → its schema and its own name."""
    own = inspector.default_schema_name
    known: dict[str, tuple[str | None, str]] = {}
    others = [name for name in inspector.get_schema_names() if name != own]
    for schema in (own, *others):
        if schema in ("information_schema", "pg_catalog", "sys"):
            continue
        tables = inspector.get_table_names(schema=schema)
        for name in sorted([*tables, *inspector.get_view_names(schema=schema)]):
            known[name if schema == own else f"{schema}.{name}"] = (schema, name)
    return known


def _joined(names: list[str], parts: Iterator[Any], where: str) -> pl.DataFrame:
    """The rows of all batches; a column has one type in all of them."""
    if len(set(names)) != len(names):
        message = "column names occur more than once"
        hint = "name the columns in the query: select a.id as id, …"
        raise MicrodataError(message, code="duplicate-columns", where=where, hint=hint)
    frames = []
    for rows in parts:
        columns = zip(names, zip(*rows, strict=True), strict=True)
        frames.append(pl.DataFrame([_series(name, list(part), where) for name, part in columns]))
    if not frames:
        return pl.DataFrame({name: pl.Series(name, [], dtype=pl.String) for name in names})
    try:
        return pl.concat(frames, how="vertical_relaxed", rechunk=True)
    except pl.exceptions.PolarsError:
        raise mixed_types(", ".join(names), where) from None


def _series(name: str, values: list[Any], where: str) -> pl.Series:
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        pass
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    raise mixed_types(name, where)


def mixed_types(name: str, where: str) -> MicrodataError:
    """The error for a column whose values are of different types."""
    message = f"column {name!r} holds values of different types"
    hint = "convert it in the query: cast(… as …)"
    return MicrodataError(message, code="column-type", where=where, hint=hint)
