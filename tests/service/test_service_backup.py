"""Backups: taken while others write, whole or refused, without secrets."""

import io
import json
import tarfile
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from discreet_service.backup import restore_backup, save_backup
from discreet_service.database import ServiceDatabase
from discreet_service.database.schema import AUDIT_ENTRIES, JOBS
from discreet_service.problems import ServiceError


@pytest.fixture
def office(service_url: str, tmp_path: Path) -> Path:
    """SERVICE.toml of a service with entries, a package and documents."""
    folder = tmp_path / "office"
    (folder / "parameters" / "old").mkdir(parents=True)
    (folder / "datasets" / "census").mkdir(parents=True)
    (folder / "parameters" / "a.dcparams").write_bytes(b"sealed")
    (folder / "parameters" / "old" / "b.dcparams").write_bytes(b"sealed too")
    (folder / "datasets" / "census" / "policy.toml").write_text("k = 1\n")
    (folder / "datasets" / "census" / "persons.parquet").write_bytes(b"records")
    (folder / "service.secret").write_text("a" * 64)
    (folder / "url").write_text(service_url)
    (folder / "url").chmod(0o600)
    (folder / "SERVICE.toml").write_text('database_file = "url"\n')
    database = ServiceDatabase.open(service_url)
    for seq in range(1, 4):
        enter(database, seq)
    database.close()
    return folder / "SERVICE.toml"


def enter(database: ServiceDatabase, seq: int) -> None:
    entry = {"at": seq, "kind": "x", "person": "anna", "about": "", "facts": "{}", "previous": ""}
    with database.writing() as connection:
        connection.execute(sa.insert(AUDIT_ENTRIES).values(seq=seq, digest=f"{seq:064}", **entry))


def test_a_backup_holds_what_is_needed_and_no_secret(office: Path, tmp_path: Path) -> None:
    told = save_backup(office, tmp_path / "backup.tar")
    assert (told["files"], told["audit_entries"]) == (5, 3)
    assert (tmp_path / "backup.tar").stat().st_mode & 0o077 == 0
    with tarfile.open(tmp_path / "backup.tar") as tar:
        names = set(tar.getnames())
    assert names - {"service.db", "database.dump"} == {
        *("manifest.json", "SERVICE.toml", "parameters/a.dcparams", "parameters/old/b.dcparams"),
        "datasets/census/policy.toml",
    }
    restored = restore_backup(tmp_path / "backup.tar", tmp_path / "again")
    assert restored["audit_entries"] == 3
    assert (tmp_path / "again" / "parameters" / "old" / "b.dcparams").read_bytes() == b"sealed too"
    if told["database"] == "sqlite":
        found = ServiceDatabase.open(f"sqlite:///{tmp_path / 'again' / 'service.db'}")
        with found.reading() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(AUDIT_ENTRIES)) == 3
            assert connection.scalar(sa.select(sa.func.count()).select_from(JOBS)) == 0
        found.close()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_backups_taken_while_others_write_are_of_one_moment(
    laid_out_file: Path, tmp_path: Path
) -> None:
    place = tmp_path / "service.db"
    place.write_bytes(laid_out_file.read_bytes())
    (tmp_path / "SERVICE.toml").write_text("")
    database, over = ServiceDatabase.open(f"sqlite:///{place}"), threading.Event()

    def write() -> None:
        for seq in range(1, 10_000):
            if over.is_set():
                return
            enter(database, seq)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = []
        for number in range(3):
            told = save_backup(tmp_path / "SERVICE.toml", tmp_path / f"{number}.tar")
            seen.append(told["audit_entries"])
            again = restore_backup(tmp_path / f"{number}.tar", tmp_path / f"again{number}")
            assert again["audit_entries"] == told["audit_entries"]
    finally:
        over.set()
        writer.join()
        database.close()
    assert seen == sorted(seen)


def rewritten(source: Path, target: Path, name: str, content: bytes | None, new: str = "") -> Path:
    """A copy of a backup with one member changed, renamed or left out."""
    with tarfile.open(source) as old, tarfile.open(target, "w") as tar:
        for member in old.getmembers():
            data = old.extractfile(member)
            assert data is not None
            held = data.read()
            if member.name == name:
                if content is None:
                    continue
                held, member.name = content, new or name
            member.size = len(held)
            tar.addfile(member, io.BytesIO(held))
    return target


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_what_was_changed_is_refused_and_leaves_nothing(
    dialect: str, laid_out_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "service.db").write_bytes(laid_out_file.read_bytes())
    (tmp_path / "SERVICE.toml").write_text("")
    backup = tmp_path / "backup.tar"
    assert save_backup(tmp_path / "SERVICE.toml", backup)["database"] == dialect
    with tarfile.open(backup) as tar:
        member = tar.extractfile("manifest.json")
        assert member is not None
        manifest = json.load(member)
    wrong_head = {**manifest, "head": {"seq": 7, "digest": "0" * 64}}
    escaping = {**manifest, "files": {**manifest["files"], "../evil": "0" * 64}}
    cases = [
        ("SERVICE.toml", b"port = 1\n", ""),
        ("SERVICE.toml", None, ""),
        ("SERVICE.toml", b"", "../evil"),
        ("SERVICE.toml", b"", "/tmp/evil"),
        ("manifest.json", b"{}", ""),
        ("manifest.json", None, ""),
        ("manifest.json", json.dumps(wrong_head).encode(), ""),
        ("manifest.json", json.dumps(escaping).encode(), ""),
        ("service.db", b"SQLite format 3\0" + bytes(5000), ""),
    ]
    for at, (name, content, new) in enumerate(cases):
        bad = rewritten(backup, tmp_path / f"bad{at}.tar", name, content, new)
        with pytest.raises(ServiceError, match="not a backup, or changed"):
            restore_backup(bad, tmp_path / "again")
    (tmp_path / "half.tar").write_bytes(backup.read_bytes()[:2000])
    with pytest.raises(ServiceError, match="not a backup, or changed"):
        restore_backup(tmp_path / "half.tar", tmp_path / "again")
    assert not (tmp_path / "again").exists()
    assert not (tmp_path.parent / "evil").exists()
    assert not list(tmp_path.glob(".restored-*"))


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_text("mine")
    with pytest.raises(ServiceError, match="the folder for a backup must be empty"):
        restore_backup(tmp_path / "none.tar", tmp_path / "full")
