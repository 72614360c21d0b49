"""Tables of DuckDB databases.

In: a database file (opened for reading only, without access to any other file or the
network) or an open connection, and a table's name or a query. Out: a DuckDB relation;
nothing is read before it is needed.
"""

from __future__ import annotations

from pathlib import Path

from discreet.errors import MicrodataError
from discreet.microdata.relations import quoted, sealed

try:
    import duckdb
except ImportError:
    message, hint = "databases of DuckDB need the package duckdb", "pip install 'discreet[duckdb]'"
    raise MicrodataError(message, code="missing-package", where="duckdb", hint=hint) from None


def _database_error(where: object, message: str, hint: str = "") -> MicrodataError:
    return MicrodataError(message, code="database", where=str(where), hint=hint)


def open_database(path: Path) -> duckdb.DuckDBPyConnection:
    """Open a database file for reading only; its queries and views see nothing else."""
    try:
        return sealed(path)
    except duckdb.Error as error:
        raise _database_error(
            path,
            f"the database cannot be opened ({type(error).__name__})",
            "another program may be writing to it, or a newer DuckDB made it",
        ) from None


def relation(
    connection: duckdb.DuckDBPyConnection, table: str | None, query: str | None, where: str
) -> duckdb.DuckDBPyRelation:
    """The table, or the result of the query, as a relation."""
    if (table is None) == (query is None):
        raise _database_error(
            where,
            "give either a table or a query",
            f"tables: {', '.join(_tables(connection)) or 'none'}",
        )
    if table is not None:
        return _table(connection, table, where)
    return _query(connection, query or "", where)


def _tables(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Tables and views: the name to call each by → its name in SQL."""
    rows = connection.execute(
        "select table_schema, table_name from information_schema.tables order by all"
    ).fetchall()
    return {
        name if schema == "main" else f"{schema}.{name}": f"{quoted(schema)}.{quoted(name)}"
        for schema, name in rows
    }


def _table(
    connection: duckdb.DuckDBPyConnection, table: str, where: str
) -> duckdb.DuckDBPyRelation:
    # Only names the database lists become SQL, so that no name is read as SQL.
    known = _tables(connection)
    if table not in known:
        raise _database_error(
            where, f"table {table!r} not found", f"tables: {', '.join(known) or 'none'}"
        )
    try:
        return connection.sql(f"select * from {known[table]}")  # noqa: S608
    except duckdb.PermissionException:
        raise _external(where) from None
    except duckdb.Error as error:
        raise _database_error(
            where, f"table {table!r} cannot be read ({type(error).__name__})"
        ) from None


def _external(where: str) -> MicrodataError:
    return _database_error(
        where,
        "the query reads other files or the network, which is not allowed",
        "load the records into a table of the database, or use their file as the source",
    )


def _query(
    connection: duckdb.DuckDBPyConnection, query: str, where: str
) -> duckdb.DuckDBPyRelation:
    try:
        statements = connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise _database_error(where, "the query must be one SELECT statement")
        return connection.sql(query)
    except duckdb.PermissionException:
        raise _external(where) from None
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        raise _database_error(where, "the query is not valid", str(error).splitlines()[0]) from None
    except duckdb.Error as error:
        # Other messages may quote values of records.
        raise _database_error(where, f"the query failed ({type(error).__name__})") from None
