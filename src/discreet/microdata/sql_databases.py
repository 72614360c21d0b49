"""Tables of any SQL database, by URL (optional extra `sql`).

In: a URL such as postgresql://user@host/census, and a table's name or a query. Out: a polars
frame, fetched in batches; the connection only reads, and what was open is rolled back. No
message shows what a URL holds besides its kind, host and database. CONFIDENTIAL.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import MicrodataError

_BATCH = 100_000
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


def read_sql(url: str, table: str | None, query: str | None) -> pl.DataFrame:
    """The table, or the result of the query."""
    where = shown_url(url)
    try:
        alchemy = importlib.import_module("sqlalchemy")
    except ImportError:
        raise _error(
            where,
            "databases by URL need the package SQLAlchemy",
            "pip install 'discreet[sql]', and the driver of your database",
            code="missing-package",
        ) from None
    file = url.partition(":///")[2].partition("?")[0]
    if url.startswith("sqlite") and file not in ("", ":memory:") and not Path(file).is_file():
        raise _error(where, "there is no such file", "sqlite:///FILE", code="file-missing")
    try:
        engine = alchemy.create_engine(url)
    except ImportError as error:
        driver = getattr(error, "name", None) or "of this database"
        hint = f"pip install {driver}" if getattr(error, "name", None) else ""
        what = f"the driver {driver} is not installed"
        raise _error(where, what, hint, code="missing-package") from None
    except Exception:
        # The package quotes the whole URL.
        hint = "kind://user@host/database; signs such as @ in passwords are written %40"
        raise _error(where, "the URL cannot be understood", hint) from None
    try:
        with engine.connect() as connection:
            return _fetched(alchemy, connection, table, query, where)
    except MicrodataError:
        raise
    except Exception as error:
        hint = "is it reachable, are user and password right?"
        raise _error(where, f"the database cannot be read ({_kind(error)})", hint) from None
    finally:
        engine.dispose()


def _kind(error: Exception) -> str:
    """The class of an error; its text may quote records and passwords."""
    return type(getattr(error, "orig", None) or error).__name__


def _error(where: str, what: str, hint: str = "", code: str = "database") -> MicrodataError:
    return MicrodataError(what, code=code, where=where, hint=hint)


def _fetched(
    alchemy: Any, connection: Any, table: str | None, query: str | None, where: str
) -> pl.DataFrame:
    found = alchemy.inspect(connection)
    if (table is None) == (query is None):
        hint = f"tables: {', '.join(_tables(found)) or 'none'}"
        raise _error(where, "name either a table or a query", hint)
    if table is not None:
        known = _tables(found)
        if table not in known:
            hint = f"tables: {', '.join(known) or 'none'}"
            raise _error(where, f"there is no table {table!r}", hint)
        schema, name = known[table]
        quote = connection.dialect.identifier_preparer.quote
        named = quote(name) if schema is None else f"{quote(schema)}.{quote(name)}"
        statement = f"select * from {named}"  # noqa: S608 - only names that the database lists
    else:
        statement = str(query)
        if _SELECT.match(statement) is None or ";" in statement.rstrip().rstrip(";"):
            raise _error(where, "the query is not one SELECT statement")
    options = {"stream_results": True}
    try:
        result = connection.execution_options(**options).execute(
            alchemy.text(statement.replace(":", r"\:"))
        )
        names = list(result.keys())
        frame = _joined(names, result.partitions(_BATCH), where)
    except alchemy.exc.DBAPIError as error:
        what = f"the query failed ({_kind(error)})"
        raise _error(where, what, "try it with the database's own program") from None
    connection.rollback()
    return frame


def _tables(found: Any) -> dict[str, tuple[str | None, str]]:
    """Tables and views: the name to call each by → its schema and its own name."""
    own = found.default_schema_name
    known: dict[str, tuple[str | None, str]] = {}
    for schema in [own, *(each for each in found.get_schema_names() if each != own)]:
        if schema in ("information_schema", "pg_catalog", "sys"):
            continue
        listed = [*found.get_table_names(schema=schema), *found.get_view_names(schema=schema)]
        for name in sorted(listed):
            known[name if schema == own else f"{schema}.{name}"] = (schema, name)
    return known


def _joined(names: list[str], parts: Iterator[Any], where: str) -> pl.DataFrame:
    """The rows of all batches; a column has one type in all of them."""
    if len(set(names)) != len(names):
        raise MicrodataError(
            "column names occur more than once",
            code="duplicate-columns",
            where=where,
            hint="name the columns in the query: select a.id as id, …",
        )
    frames = []
    for rows in parts:
        columns = zip(names, zip(*rows, strict=True), strict=True)
        frames.append(pl.DataFrame([_series(name, list(part), where) for name, part in columns]))
    if not frames:
        return pl.DataFrame({name: pl.Series(name, [], dtype=pl.String) for name in names})
    try:
        return pl.concat(frames, how="vertical_relaxed", rechunk=True)
    except pl.exceptions.PolarsError:
        raise _mixed(", ".join(names), where) from None


def _series(name: str, values: list[Any], where: str) -> pl.Series:
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        pass
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    raise _mixed(name, where)


def _mixed(name: str, where: str) -> MicrodataError:
    return MicrodataError(
        f"column {name!r} holds values of different types",
        code="column-type",
        where=where,
        hint="convert it in the query: cast(… as …)",
    )
