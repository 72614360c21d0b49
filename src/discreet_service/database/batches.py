"""Batches: what requests write goes to the disk together, by statements that are prepared once. One
thread writes; nobody is told of a result before it is on the disk, and if it does not get there,
nobody is.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sqlalchemy as sa

from discreet_service.database.schema import SERVICE_CHANGES

_Result = TypeVar("_Result")
_Work = tuple[Callable[["WriteBatch"], Any], Future[Any]]
#: Pieces of work that are written together at most.
_MOST_TOGETHER = 100


class Statement:
    """A statement with named values, written out once for each kind of database.

    To build one takes many times as long as to run it.

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
        rows: list[tuple[Any, ...]] = self._run(connection, values).fetchall()
        return rows

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


_COLUMNS = SERVICE_CHANGES.c
_BEGUN = Statement(
    sa.update(SERVICE_CHANGES)
    .values(batches=_COLUMNS.batches + sa.literal_column("1"))
    .returning(_COLUMNS.number, _COLUMNS.batches)
)


@dataclass(kw_only=True, repr=False)
class WriteBatch:
    """A transaction that several share."""

    connection: sa.Connection
    number: int  # The number of changes, as of `ServiceDatabase.number`
    failures: int  # How many batches could not be written until now
    writer: BatchWriter
    # What is written at the end, once for all
    at_end: dict[Callable[[sa.Connection], None], None] = field(default_factory=dict)

    def known(self, owner: object) -> tuple[int, int]:
        """As long as it is the same, all that was written is what this owner wrote."""
        if self.writer.owner is not owner:
            self.writer.owner = owner
            self.writer.others += 1
        return self.writer.others, self.failures


class BatchWriter:
    """Writes what requests hand in, in the order in which they do."""

    def __init__(self, writing: Callable[[], AbstractContextManager[sa.Connection]]) -> None:
        self._writing = writing
        self._waiting: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._batches, self._failures = -1, 0
        #: Who keeps in mind what batches write, and how often somebody else has written.
        self.owner: object = None
        self.others = 0

    def submit(self, work: Callable[[WriteBatch], _Result]) -> Future[_Result]:
        """Hand in work; its result is known when all that it wrote is on the disk.

        Work whose batch could not be written may be done again in another one.
        """
        result: Future[_Result] = Future()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="batches", daemon=True)
                self._thread.start()
            self._waiting.put((work, result))
        return result

    def close(self) -> None:
        """Write what was handed in, and end."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._waiting.put(None)
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            works, ended = [first], False
            while len(works) < _MOST_TOGETHER and not self._waiting.empty():
                if (one := self._waiting.get()) is None:
                    ended = True
                    break
                works.append(one)
            # From here on nobody who waits can leave.
            self._write([one for one in works if one[1].set_running_or_notify_cancel()])
            if ended:
                return

    def _write(self, works: list[_Work]) -> None:
        running, results = None, list[Any]()
        try:
            with self._writing() as connection:
                batch, batches = self._begun(connection)
                for running, _ in works:
                    results.append(running(batch))
                running = None
                for write in batch.at_end:
                    write(connection)
        except BaseException as error:
            self._failures += 1
            if running is None or len(works) == 1:
                for _, future in works:
                    future.set_exception(error)
                return
            # One of them failed: the others are not to suffer for it.
            for work in works:
                self._write([work])
            return
        self._batches = batches
        for (_, future), result in zip(works, results, strict=True):
            future.set_result(result)

    def _begun(self, connection: sa.Connection) -> tuple[WriteBatch, int]:
        (number, batches), *_ = _BEGUN.rows(connection)
        self.others += batches != self._batches + 1
        batch = WriteBatch(connection=connection, number=number, failures=self._failures,
                           writer=self)  # fmt: skip
        return batch, batches
