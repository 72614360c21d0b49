"""Connections: transactions in the database, one writer at a time. What was written is on the disk
when `writing` ends, or nothing of it is. What requests write goes there together, in batches of one
thread, by statements that are prepared once. No error quotes SQL, values or the URL.
"""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from discreet_service.database.schema import (
    METADATA,
    SERVICE_CHANGES,
    SERVICE_SCHEMA,
    VERSION,
    triggers,
)
from discreet_service.last_used import LastUsed
from discreet_service.problems import ServiceError

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
                (number, batches), *_ = _BEGUN.rows(connection)
                self.others += batches != self._batches + 1
                batch = WriteBatch(connection=connection, number=number, failures=self._failures,
                                   writer=self)  # fmt: skip
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


if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Record = TypeVar("_Record", bound="DataclassInstance")
_Fact = TypeVar("_Fact")

#: Seconds that one waits for other writers.
_PATIENCE = 5
#: How long a statement may take on a server, and a transaction may wait for its caller.
_OPTIONS = (
    f"-c statement_timeout=120s -c lock_timeout={2 * _PATIENCE}s -c synchronous_commit=on "
    "-c idle_in_transaction_session_timeout=60s -c timezone=UTC"
)
#: Readers at once of one process.
_CONNECTIONS = 40
#: Rows of one page.
_MOST_PER_PAGE = 1_000
#: So many facts of watched tables are remembered.
_MOST_FACTS = 10_000
_NUMBER = "SELECT number FROM service_changes"
#: The database and the number of changes that the call at hand noted: each runs in a context of
#: its own.
_NOTED: ContextVar[tuple[object, int]] = ContextVar("changes", default=(None, -1))
#: The lock on a server under which one writer at a time works.
_WRITERS = 0x64736372

_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    f"PRAGMA busy_timeout = {_PATIENCE * 1000}",
)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
#: Files of SQLite that cannot grow: a limit of the system looks like a failure of the disk.
_CANNOT_GROW = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
)
_UNUSABLE = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_READONLY,
)
#: First characters of states of SQL, and what they mean.
_STATES: Mapping[str, str] = {
    "53100": "disk-full",
    "53": "overloaded",
    "55P03": "overloaded",
    "57014": "overloaded",
    "40": "overloaded",
    "08": "data-not-ready",
    "57P": "data-not-ready",
    "25P03": "data-not-ready",
    "58": "data-not-ready",
}
_WORDS: Mapping[str, str] = {
    "disk-full": "no disk space for the database",
    "overloaded": "the database is locked by other writers",
    "data-not-ready": "the database does not respond",
}


class ServiceDatabase:
    """The database of a service, made by `open` and laid out by `lay_out`."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self.dialect = engine.dialect.name
        self._lock, self._mine = threading.Lock(), threading.local()
        self._facts = LastUsed[Hashable, Any](_MOST_FACTS)
        self._batches = BatchWriter(self.writing)

    def __repr__(self) -> str:
        return f"<ServiceDatabase: {self.dialect}>"

    @classmethod
    def open(cls, url: str) -> Self:
        """Open a database; a file of SQLite is made if it is missing, for its owner only."""
        try:
            parsed = sa.make_url(url)
        except sa.exc.ArgumentError:
            raise _unknown_url() from None
        if parsed.drivername == "sqlite" and parsed.database and not parsed.query:
            engine = _sqlite_engine(parsed)
        elif parsed.drivername == "postgresql+psycopg":
            engine = sa.create_engine(
                parsed,
                hide_parameters=True,
                pool_size=_CONNECTIONS // 4,
                max_overflow=_CONNECTIONS - _CONNECTIONS // 4,
                pool_timeout=_PATIENCE,
                # After the server was started anew, connections are made anew.
                pool_pre_ping=True,
                connect_args={
                    "connect_timeout": _PATIENCE,
                    "options": _OPTIONS,
                    "application_name": "discreet",
                },
            )
        else:
            raise _unknown_url()
        found = cls(engine)
        try:
            found._check_version()
        except BaseException:
            found.close()
            raise
        return found

    def lay_out(self) -> None:
        """Make the tables and triggers that are missing.

        Who lacks the right to make them can use a database that has them all.
        """
        with self.writing() as connection:
            if not set(sa.inspect(connection).get_table_names()) >= set(METADATA.tables):
                METADATA.create_all(connection)
                for index in (one for table in METADATA.tables.values() for one in table.indexes):
                    index.create(connection, checkfirst=True)
            if connection.scalar(sa.select(SERVICE_SCHEMA.c.version)) is None:
                insert_row(connection, SERVICE_SCHEMA, version=VERSION)
            if connection.scalar(sa.select(SERVICE_CHANGES.c.id)) is None:
                insert_row(connection, SERVICE_CHANGES, id=1, number=0, batches=0)
            known = set(connection.scalars(sa.text(_NAMES_OF_TRIGGERS[self.dialect])))
            for name, statement in triggers(self.dialect).items():
                if name not in known:
                    connection.exec_driver_sql(statement)

    def _check_version(self) -> None:
        with self.reading() as connection:
            if not sa.inspect(connection).has_table(SERVICE_SCHEMA.name):
                return
            found = connection.scalar(sa.select(sa.func.max(SERVICE_SCHEMA.c.version)))
        if found is not None and found != VERSION:
            newer = found > VERSION
            message = (
                f"the database has schema version {found}; this service needs version {VERSION}"
            )
            hint = "install the newer service" if newer else "restore a backup of this version"
            raise ServiceError(message, "data-not-ready", "database", hint)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection that sees the database as it is now, to the end; nothing can be written."""
        with self._told(), self._engine.connect() as connection:
            connection = connection.execution_options(**_READER[self.dialect])
            yield connection

    def number(self) -> int:
        """The number of changes: as long as it is the same, so is all that is watched."""
        with self._told():
            connection = self._engine.raw_connection()
            try:
                row = connection.execute(_NUMBER).fetchone()
            finally:
                connection.close()
        if row is None:
            raise _failure("data-not-ready")
        return int(row[0])

    def look_as_of(self, number: int) -> None:
        """In the call at hand, what is remembered need be no newer than this number of changes."""
        _NOTED.set((self, number))

    def remembered(
        self, name: Hashable, read: Callable[[sa.Connection], _Fact], number: int | None = None
    ) -> _Fact:
        """Cached content of watched tables; read again after they change.

        Whoever knows the number of changes states it, or notes it for the whole call. What is read
        is never None if it is to be remembered.
        """
        if number is None:
            database, noted = _NOTED.get()
            number = noted if database is self else self.number()
        known: tuple[int, _Fact] | None = self._facts.get(name)
        if known is not None and known[0] == number:
            return known[1]
        # Read after its number: what is newer is read again.
        with self.reading() as connection:
            found = read(connection)
        if found is not None and (known is None or known[0] < number):
            self._facts.put(name, (number, found))
        return found

    @contextmanager
    def writing(self, *, alone: bool = True) -> Iterator[sa.Connection]:
        """A transaction, which is on the disk when the block ends well."""
        # Whoever waited for oneself would wait forever.
        assert not getattr(self._mine, "writes", False), "a transaction within a transaction"
        held = self.dialect == "sqlite"
        if held and not self._lock.acquire(timeout=2 * _PATIENCE):
            raise _failure("overloaded")
        self._mine.writes = True
        try:
            with self._told(), self._engine.connect() as connection:
                connection = connection.execution_options(**_WRITER[self.dialect])
                with connection.begin():
                    if alone:
                        self.serialise(connection)
                    yield connection
        finally:
            self._mine.writes = False
            if held:
                self._lock.release()

    def batched(self, work: Callable[[WriteBatch], _Fact]) -> _Fact:
        """Do work in a transaction with what others hand in, and wait until it is on the disk."""
        # Whoever waited for a batch while writing would wait forever.
        assert not getattr(self._mine, "writes", False), "a transaction within a transaction"
        return self._batches.submit(work).result()

    def submit(self, work: Callable[[WriteBatch], _Fact]) -> Future[_Fact]:
        """Write without waiting."""
        return self._batches.submit(work)

    def serialise(self, connection: sa.Connection) -> None:
        """Wait until no other writes, and let others wait until the transaction ends."""
        if self.dialect == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITERS})")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say what failures of the database mean to callers."""
        try:
            yield
        except sa.exc.TimeoutError:
            raise _failure("overloaded") from None
        except (sa.exc.DataError, OverflowError, UnicodeEncodeError):
            # Numbers without end, texts with NUL or with half of a character.
            message = "the value cannot be stored in a database"
            raise ServiceError(message, "invalid-input") from None
        except sa.exc.DBAPIError as error:
            code = "data-not-ready" if error.connection_invalidated else _meaning(error.orig)
            if not code:
                raise
            raise _failure(code) from None
        except self._engine.dialect.loaded_dbapi.Error as error:  # of prepared statements
            if not (code := _meaning(error)):
                raise
            raise _failure(code) from None

    def close(self) -> None:
        """Write what was handed in, and close all connections."""
        self._batches.close()
        self._engine.dispose()


_READER: Mapping[str, dict[str, Any]] = {
    "sqlite": {"discreet_begin": "BEGIN", "discreet_only": "ON"},
    "postgresql": {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
}
_WRITER: Mapping[str, dict[str, Any]] = {
    "sqlite": {"discreet_begin": "BEGIN IMMEDIATE", "discreet_only": "OFF"},
    "postgresql": {"isolation_level": "READ COMMITTED", "postgresql_readonly": False},
}
_NAMES_OF_TRIGGERS: Mapping[str, str] = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": "SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid "
    "WHERE relnamespace = current_schema()::regnamespace UNION "
    "SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace",
}


def _sqlite_engine(url: sa.URL) -> sa.Engine:
    place = Path(str(url.database)).absolute()
    try:
        # SQLite gives its other files the rights of this one.
        os.close(os.open(place, os.O_RDWR | os.O_CREAT, 0o600))
        place.chmod(0o600)
    except OSError as error:
        message = f"the file of the database cannot be opened ({error.strerror})"
        hint = "check that its folder exists, and its permissions"
        raise ServiceError(message, "data-not-ready", "database", hint) from None
    engine = sa.create_engine(
        url, hide_parameters=True, pool_size=_CONNECTIONS, max_overflow=0, pool_timeout=_PATIENCE
    )

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        # Transactions begin as `begin` says, not as the driver would.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in _PRAGMAS:
            cursor.execute(pragma)
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        options = {**_READER["sqlite"], **connection.get_execution_options()}
        driver: Any = connection.connection.driver_connection
        driver.execute(f"PRAGMA query_only = {options['discreet_only']}")
        driver.execute(options["discreet_begin"])

    return engine


def _meaning(error: BaseException | None) -> str:
    """The code of a failure that is not the statement's fault; empty if it is."""
    number = getattr(error, "sqlite_errorcode", None)
    if number is not None:
        if number in _CANNOT_GROW:
            return "disk-full"
        if number & 0xFF in _BUSY:
            return "overloaded"
        return "data-not-ready" if number & 0xFF in _UNUSABLE else ""
    state = getattr(error, "sqlstate", None)
    if state is None:
        # A server that cannot be reached has no state to tell.
        lost = type(error).__name__ in ("OperationalError", "ConnectionTimeout")
        return "data-not-ready" if lost else ""
    fitting = [known for known in _STATES if state.startswith(known)]
    return _STATES[max(fitting, key=len)] if fitting else ""


def _failure(code: str) -> ServiceError:
    return ServiceError(_WORDS[code], code, "database", retry_after=5)


def _unknown_url() -> ServiceError:
    message = "unsupported database"
    hint = "use sqlite:///FILE or postgresql+psycopg://…"
    return ServiceError(message, "data-not-ready", "database", hint)


def record_of(record: type[_Record], row: sa.Row[*tuple[Any, ...]], /, **stated: Any) -> _Record:
    """A row as a data class: fields have the names of columns, times without `_at` behind.

    What is no column, or is kept in another form, is stated.
    """
    columns = row._mapping
    names = [one.name for one in fields(record) if one.name not in stated]
    found = {name: columns[name if name in columns else f"{name}_at"] for name in names}
    return record(**found, **stated)


def equal_to(table: sa.Table, /, **equal: Any) -> list[sa.ColumnElement[bool]]:
    """The conditions that columns have these values."""
    return [table.c[name] == value for name, value in equal.items()]


def row_of(connection: sa.Connection, table: sa.Table, /, **equal: Any) -> sa.Row[Any] | None:
    """The row of a table with these values; None if there is none."""
    return connection.execute(sa.select(table).where(*equal_to(table, **equal))).first()


class RowPage(NamedTuple):
    """Some rows, the newest first."""

    rows: tuple[sa.Row[Any], ...]
    cursor: int | None  # Where the next page begins; None after the last


def newest_rows(
    connection: sa.Connection,
    table: sa.Table,
    number: sa.Column[Any],
    *,
    since: int | None = None,
    until: int | None = None,
    cursor: int | None = None,
    size: int = 100,
    **equal: str | None,
) -> RowPage:
    """Rows with these values (empty ones do not matter), the newest first."""
    conditions = [
        *equal_to(table, **{name: str(value) for name, value in equal.items() if value}),
        *([table.c.at >= since] if since is not None else []),
        *([table.c.at < until] if until is not None else []),
        *([number < cursor] if cursor is not None else []),
    ]
    size = max(1, min(size, _MOST_PER_PAGE))
    order = sa.select(table).where(*conditions).order_by(number.desc()).limit(size + 1)
    rows = tuple(connection.execute(order))
    return RowPage(rows[:size], rows[size - 1]._mapping[number] if rows[size:] else None)


def insert_row(connection: sa.Connection, table: sa.Table, /, **values: Any) -> None:
    """Add a row to a table; with plain values for all columns by a statement prepared once."""
    worked_out = any(isinstance(value, sa.ClauseElement) for value in values.values())
    if worked_out or any(one.default is not None and one.name not in values for one in table.c):
        connection.execute(sa.insert(table).values(**values))
    else:
        _insertion(table, tuple(values)).change(connection, **values)


@cache
def _insertion(table: sa.Table, names: tuple[str, ...]) -> Statement:
    return Statement(sa.insert(table), names)


def change_rows(
    connection: sa.Connection, table: sa.Table, key: Mapping[str, Any], **values: Any
) -> int:
    """Change the rows with the values of a key; how many there were."""
    change = sa.update(table).where(*equal_to(table, **key)).values(**values)
    return connection.execute(change).rowcount


def drop_rows(connection: sa.Connection, table: sa.Table, /, **equal: Any) -> int:
    """Take away the rows with these values; how many there were."""
    return connection.execute(sa.delete(table).where(*equal_to(table, **equal))).rowcount


def put_row(
    connection: sa.Connection, table: sa.Table, key: Mapping[str, Any], **values: Any
) -> bool:
    """Change the row of a key, or add it; whether it was added."""
    if change_rows(connection, table, key, **values):
        return False
    insert_row(connection, table, **key, **values)
    return True
