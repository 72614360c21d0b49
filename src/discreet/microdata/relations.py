"""DuckDB databases that discreet opened: cut off from files and the network.

In: a database file. Out: a connection without external access, which no query can turn on
again. Such a database does not see Python's variables either; tables that are
joined to its relations are handed over by name.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import narwhals as nw

from discreet.memory_limit import memory_limit
from discreet.record_batches import batches, streamed_plan

if TYPE_CHECKING:
    import duckdb


_TAKEN = ("memory", "temp", "system")
_VARIABLE = "discreet_connection"
_ROWS = 2**17
_numbers = count(1)
# A relation keeps its connection alive, but does not hand it out.
_sealed: WeakValueDictionary[int, Any] = WeakValueDictionary()


def sealed(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection to a database file, for reading only: no other file, no network, for good."""
    import duckdb

    # Attached to a database of its own: settings are shared by all who connect to a file.
    connection = duckdb.connect(":memory:")
    name = path.stem if path.stem.lower() not in _TAKEN else "records"
    number = next(_numbers)
    limit = memory_limit()
    for statement in (
        *(() if limit is None else (f"set memory_limit = '{limit // 2} B'",)),
        f"set temp_directory = {_text(f'{path}.tmp')}",
        f"attach {_text(str(path))} as {quoted(name)} (read_only)",
        f"use {quoted(name)}",
        f"set variable {_VARIABLE} = {number}",
        "set enable_external_access = false",
        "set lock_configuration = true",
    ):
        connection.execute(statement)
    _sealed[number] = connection
    return connection


def quoted(name: str) -> str:
    """A name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def hand_over(relation: duckdb.DuckDBPyRelation, table: Any) -> str | None:
    """Put columns beside a relation of a sealed database.

    Returns:
        The table's name there; None if the relation is of another connection, which finds
        the table by its variable.
    """
    query = relation.query("discreet_records", f"select getvariable('{_VARIABLE}')")
    number = None if query is None else query.limit(1).fetchall()
    connection = _sealed.get(number[0][0]) if number else None
    if connection is None:
        return None
    name = f"discreet_values_{next(_numbers)}"
    connection.register(name, table)
    return name


def write_relation(relation: duckdb.DuckDBPyRelation, path: Path) -> None:
    """Write records as Parquet, batch by batch; a sealed database cannot write by itself."""
    plan = streamed_plan(batches(nw.from_native(relation), _ROWS))
    plan.sink_parquet(path, compression="zstd")
