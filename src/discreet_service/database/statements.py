"""Statements that are prepared once: to build one takes many times as long as to run it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa


class Statement:
    """A statement with named values, written out once for each kind of database.

    >>> engine = sa.create_engine("sqlite://")
    >>> one = Statement(sa.select(sa.bindparam("number", type_=sa.Integer()) + 1))
    >>> with engine.connect() as connection:
    ...     one.rows(connection, number=2)
    [(3,)]
    """

    def __init__(self, statement: sa.ClauseElement, columns: Iterable[str] | None = None) -> None:
        self._statement = statement
        self._columns = None if columns is None else [*columns]
        self._texts: dict[str, tuple[str, dict[str, Any]]] = {}

    def rows(self, connection: sa.Connection, /, **values: Any) -> list[tuple[Any, ...]]:
        """The rows that it gives."""
        found: list[tuple[Any, ...]] = self._run(connection, values).fetchall()
        return found

    def change(self, connection: sa.Connection, /, **values: Any) -> int:
        """Change rows; how many were."""
        return int(self._run(connection, values).rowcount)

    def _run(self, connection: sa.Connection, values: Mapping[str, Any]) -> Any:
        known = self._texts.get(connection.dialect.name) or self._written(connection.dialect)
        driver: Any = connection.connection.driver_connection
        return driver.execute(known[0], {**known[1], **values})

    def _written(self, dialect: sa.Dialect) -> tuple[str, dict[str, Any]]:
        """The statement as the driver takes it, with the values that it states itself."""
        kind: Any = type(dialect)
        named = kind(paramstyle="named" if dialect.name == "sqlite" else "pyformat")
        written = self._statement.compile(dialect=named, column_keys=self._columns)
        stated = {name: one for name, one in written.params.items() if one is not None}
        found = self._texts[dialect.name] = (str(written), stated)
        return found
