"""Backups: database, packages, policies and settings as of one moment, in one file with digests.
CONFIDENTIAL. Secrets, records and stores are not in it.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from discreet._version import __version__
from discreet.files import atomic_path, check_writable, file_digest, make_folder
from discreet_service.audit import AuditTrail
from discreet_service.database import ServiceDatabase
from discreet_service.problems import ServiceError
from discreet_service.settings import ServiceSettings

FORMAT = "discreet service backup 1"
_MANIFEST, _LARGEST_MANIFEST = "manifest.json", 64 * 2**20
_SETTINGS = "SERVICE.toml"
_DATABASE = {"sqlite": "service.db", "postgresql": "database.dump"}
#: What is saved of data sets: documents and their signatures, never records or stores.
_DOCUMENTS = ("*.toml", "*.sig", "*.pub")
_PACKAGES = "*.dcparams"


def save_backup(settings_file: Path, out: Path) -> dict[str, Any]:
    """Save the records of a service; it may be running."""
    settings = ServiceSettings.read(settings_file)
    url = sa.make_url(settings.database_url())
    check_writable(out.absolute().parent)
    with tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=".backup-") as name:
        folder = Path(name)
        dialect = url.get_backend_name()
        copy = folder / _DATABASE[dialect]
        if dialect == "sqlite":
            _copy_database(url, copy)
            seq, digest = _head_of_copy(copy)
        else:
            with closing(ServiceDatabase.open(settings.database_url())) as database:
                seq, digest = AuditTrail(database, b"", lambda: 0).head()
            _copy_database(url, copy)
        files = {copy.name: copy, _SETTINGS: settings_file, **_documents(settings)}
        manifest = {
            "format": FORMAT,
            "made_with": __version__,
            "database": dialect,
            "head": {"seq": seq, "digest": digest},
            "files": {each: file_digest(path) for each, path in sorted(files.items())},
        }
        with atomic_path(out, private=True) as temporary, tarfile.open(temporary, "w") as tar:
            content = json.dumps(manifest, indent=1, sort_keys=True).encode()
            member = _plain(tarfile.TarInfo(_MANIFEST))
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
            for each, path in sorted(files.items()):
                tar.add(path, arcname=each, recursive=False, filter=_plain)
    return {"file": str(out), "files": len(files), "database": dialect, "audit_entries": seq}


def restore_backup(file: Path, into: Path) -> dict[str, Any]:
    """Put a backup into a new folder; nothing is there unless all of it is whole."""
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        message = "the folder for a backup must be empty"
        raise ServiceError(message, "conflict", str(into))
    make_folder(into.absolute().parent)
    place = Path(tempfile.mkdtemp(dir=into.absolute().parent, prefix=".restored-"))
    try:
        try:
            with tarfile.open(file, "r:") as tar:
                # Everything the manifest names, and nothing else, held against its digests.
                first = tar.next()
                if first is None or first.name != _MANIFEST or first.size > _LARGEST_MANIFEST:
                    raise ValueError
                listed = tar.extractfile(first) or io.BytesIO()
                manifest: dict[str, Any] = json.loads(listed.read())
                database = _DATABASE[manifest["database"]]
                if manifest["format"] != FORMAT or database not in manifest["files"]:
                    raise ValueError
                waiting = dict(manifest["files"])
                for member in iter(tar.next, None):
                    expected, target = waiting.pop(member.name), place / member.name
                    content = tar.extractfile(member) if member.isreg() else None
                    away = member.name.startswith("/") or ".." in Path(member.name).parts
                    if content is None or away:
                        raise ValueError
                    # By hand: tarfile of Python 3.11.0 to 3.11.3 has no filters.
                    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    with target.open("xb") as written:
                        target.chmod(0o600)
                        shutil.copyfileobj(content, written)
                    if file_digest(target) != expected:
                        raise ValueError
                if waiting:
                    raise ValueError
        except (tarfile.TarError, OSError, ValueError, KeyError):
            raise _damaged(file) from None
        if manifest["database"] == "sqlite":
            head = [manifest["head"][name] for name in ("seq", "digest")]
            if list(_head_of_copy(place / database)) != head:
                raise _damaged(file)
        if into.exists():
            into.rmdir()
        place.rename(into)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return {
        "folder": str(into),
        "files": len(manifest["files"]),
        "database": manifest["database"],
        "audit_entries": manifest["head"]["seq"],
    }


def _damaged(file: Path) -> ServiceError:
    message, hint = "not a backup, or changed", "choose another one"
    return ServiceError(message, "invalid-body", str(file), hint)


def _documents(settings: ServiceSettings) -> dict[str, Path]:
    """Packages of parameters, and documents of data sets, by their places in the file."""
    paths = {}
    for top, folder, patterns in (
        ("parameters", settings.parameters, (_PACKAGES,)),
        ("datasets", settings.datasets, _DOCUMENTS),
    ):
        for path in (each for pattern in patterns for each in folder.rglob(pattern)):
            if path.is_file() and not path.is_symlink():
                paths[f"{top}/{path.relative_to(folder).as_posix()}"] = path
    return paths


def _copy_database(url: sa.URL, target: Path) -> None:
    if url.get_backend_name() == "sqlite":
        place = Path(str(url.database)).absolute()
        with closing(sqlite3.connect(f"{place.as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("VACUUM INTO ?", (str(target),))
        return
    program = shutil.which("pg_dump")
    if program is None:
        message, hint = "pg_dump not found", "install the client programs of PostgreSQL"
        raise ServiceError(message, "data-not-ready", "database", hint)
    # The URL may have a password: it goes by the environment, not by the words of a command.
    plain = url.set(drivername="postgresql")
    environment = {**os.environ, "PGPASSWORD": plain.password or ""}
    shown = plain.set(password=None).render_as_string()
    done = subprocess.run(  # noqa: S603
        [program, "--format=custom", "--no-password", "--file", str(target), "--dbname", shown],
        env=environment,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise ServiceError("pg_dump failed", "data-not-ready", "database")


def _head_of_copy(copy: Path) -> tuple[int, str]:
    with closing(sqlite3.connect(f"{copy.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            (whole,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            last = "SELECT seq, digest FROM audit_entries ORDER BY seq DESC LIMIT 1"
            row = connection.execute(last).fetchone()
        except sqlite3.Error:
            whole, row = "damaged", None
    if whole != "ok":
        raise _damaged(copy)
    return (0, "") if row is None else (int(row[0]), str(row[1]))


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """A member without names of users; its owner alone reads it."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o600
    return member
