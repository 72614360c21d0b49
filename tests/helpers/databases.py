"""Frames as tables of databases, and a server to put them into."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import sqlalchemy

TYPES: dict[object, str] = {
    pl.String(): "text",
    pl.Int64(): "bigint",
    pl.Float64(): "double precision",
}


def stored(url: str, frame: pl.DataFrame, name: str = "people") -> str:
    """The frame as a table of the database."""
    engine = sqlalchemy.create_engine(url)
    columns = ", ".join(
        f'"{name}" {TYPES[pl.Int64() if kind.is_integer() else kind]}'
        for name, kind in frame.schema.items()
    )
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(f'drop table if exists "{name}"'))
        connection.execute(sqlalchemy.text(f'create table "{name}" ({columns})'))
        table = sqlalchemy.Table(name, sqlalchemy.MetaData(), autoload_with=connection)
        if frame.height:
            connection.execute(sqlalchemy.insert(table), frame.to_dicts())
    engine.dispose()
    return url


def programs() -> Path | None:
    """Where PostgreSQL's programs are; `initdb` is seldom on the path."""
    places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    found = shutil.which("initdb")
    return next((each for each in [*places, *([Path(found).parent] if found else [])]), None)


@contextmanager
def postgresql_server() -> Iterator[str]:
    """The URL of a PostgreSQL server of its own, without network."""
    with restartable_postgresql() as (url, _):
        yield url


@contextmanager
def restartable_postgresql() -> Iterator[tuple[str, Callable[[], object]]]:
    """The URL of such a server, and what kills it and starts it again.

    Not among pytest's folders: each run closes them to all others, and the server is another.
    """
    found = programs()
    assert found is not None, "apt-get install postgresql"
    with TemporaryDirectory(prefix="pg-") as place:
        folder = Path(place)
        options: dict[str, Any] = {"check": True, "capture_output": True, "cwd": folder}
        if os.geteuid() == 0:  # it does not run as root
            user = pwd.getpwnam("nobody")
            options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(folder, user.pw_uid, user.pw_gid)
        data = folder / "data"
        init = [found / "initdb", "-D", data, "-U", "me", "-A", "trust", "--encoding=UTF8"]
        subprocess.run([*init, "--locale=C.UTF-8", "--no-sync"], **options)
        said = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        control = [found / "pg_ctl", "-D", data, "-w"]
        subprocess.run([*control, "-o", said, "-l", folder / "log", "start"], **options)
        restart = partial(subprocess.run, [*control, "-m", "immediate", "restart"], **options)
        try:
            yield f"postgresql+psycopg://me@/postgres?host={folder}", restart
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **options)
