"""The trail: what is written down stays, and what was changed shows."""

import json
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.errors import DiscreetError
from discreet.release.packages.keys import public_bytes
from discreet_service.audit.trail import START, AuditKind, AuditTrail, SignedHead, _seal
from discreet_service.database import ServiceDatabase
from discreet_service.database.schema import AUDIT_ENTRIES, AUDIT_HEADS, grants_sql
from discreet_service.problems import ServiceError
from tests.helpers.service_people import at_once

KEY = b"k" * 32


@pytest.fixture
def trail(service_database: ServiceDatabase, set_clock: Callable[[], int]) -> AuditTrail:
    return AuditTrail(service_database, KEY, set_clock)


@pytest.fixture
def write(service_database: ServiceDatabase, trail: AuditTrail) -> Callable[..., None]:
    def written(number: int = 1, person: str = "anna", about: str = "census") -> None:
        for _ in range(number):
            with service_database.writing() as connection:
                kind, facts = AuditKind.dataset_published, {"version": "1", "fingerprint": "f"}
                trail.append(connection, kind=kind, person=person, about=about, facts=facts)

    return written


def _changed(url: str, *statements: str) -> None:
    """What somebody does to the database who owns it."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            for (name,) in connection.exec_driver_sql(
                "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            ).all():
                connection.exec_driver_sql(f"DROP TRIGGER {name}")
        else:
            for table in ("audit_entries", "audit_heads"):
                connection.exec_driver_sql(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def test_entries_follow_each_other(trail: AuditTrail, write: Callable[..., None]) -> None:
    assert trail.head() == (0, START)
    assert trail.verify().whole
    write(12)
    verdict = trail.verify()
    assert (verdict.entries, verdict.digest) == trail.head()
    assert (verdict.entries, verdict.problems) == (12, ())


def test_an_act_that_fails_is_not_written_down(
    service_database: ServiceDatabase, trail: AuditTrail
) -> None:
    with pytest.raises(KeyError), service_database.writing() as connection:  # noqa: PT012
        trail.append(connection, kind=AuditKind.logout, person="anna")
        raise KeyError
    assert trail.head() == (0, START)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_entries SET person = 'bob' WHERE seq = 2",
        "UPDATE audit_entries SET at = at + 1",
        "DELETE FROM audit_entries WHERE seq = 3",
        "DELETE FROM audit_entries",
        "DELETE FROM audit_heads",
        "UPDATE audit_heads SET seq = 1",
        "INSERT INTO audit_entries SELECT seq + 5, at, kind, person, about, facts, previous, digest"
        " FROM audit_entries WHERE seq = 3",
        "INSERT INTO audit_entries SELECT 0, at, kind, person, about, facts, previous, digest"
        " FROM audit_entries WHERE seq = 3",
    ],
)
def test_the_database_refuses_changes(
    service_database: ServiceDatabase,
    trail: AuditTrail,
    write: Callable[..., None],
    statement: str,
    tmp_path: Path,
) -> None:
    write(3)
    trail.sign_head(Ed25519PrivateKey.generate(), tmp_path, "anna")
    with (
        pytest.raises(sa.exc.DBAPIError, match="logged entries cannot be changed"),
        service_database.writing() as connection,
    ):
        connection.exec_driver_sql(statement)
    assert trail.verify().whole


def test_replacing_is_changing(tmp_path: Path, laid_out_file: Path) -> None:
    place = tmp_path / "service.db"
    place.write_bytes(laid_out_file.read_bytes())
    columns = "1, 0, 'k', 'p', '', '{}', 'x', 'd'"
    with closing(sqlite3.connect(place)) as connection:
        connection.execute(f"INSERT INTO audit_entries VALUES ({columns})")
        with pytest.raises(sqlite3.IntegrityError, match="logged entries cannot be changed"):
            connection.execute(f"INSERT OR REPLACE INTO audit_entries VALUES ({columns})")
        connection.execute("INSERT INTO audit_heads VALUES (1, 1, 'd', 0, 'k', 's')")
        with pytest.raises(sqlite3.IntegrityError, match="logged entries cannot be changed"):
            connection.execute("REPLACE INTO audit_heads VALUES (1, 1, 'e', 0, 'k', 's')")


@pytest.mark.postgresql
@pytest.mark.parametrize("service_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_entries SET person = 'bob'",
        "DELETE FROM audit_entries",
        "TRUNCATE audit_entries",
        "ALTER TABLE audit_entries DISABLE TRIGGER USER",
        "DROP TRIGGER audit_entries_update ON audit_entries",
        "UPDATE audit_heads SET seq = 1",
        "UPDATE query_log SET query = '{}'",
        "TRUNCATE query_log",
        "UPDATE service_schema SET version = 0",
        "CREATE TABLE more (a int)",
    ],
)
def test_the_running_service_has_no_right_to_change(
    service_url: str, trail: AuditTrail, write: Callable[..., None], statement: str
) -> None:
    write(2)
    engine = sa.create_engine(service_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'runner') "
            "THEN CREATE ROLE runner LOGIN; END IF; END $$"
        )
        for each in grants_sql("runner"):
            connection.exec_driver_sql(each)
    engine.dispose()
    running = ServiceDatabase.open(service_url.replace("://me@", "://runner@"))
    running.lay_out()  # all is there, so it needs no right to make it
    own = AuditTrail(running, KEY, lambda: 5)
    with running.writing() as connection:
        own.append(connection, kind=AuditKind.logout, person="anna")
    with pytest.raises(sa.exc.DBAPIError, match=r"permission denied|must be owner"):  # noqa: SIM117
        with running.writing() as connection:
            connection.exec_driver_sql(statement)
    assert (own.verify().entries, own.verify().whole) == (3, True)
    running.close()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE audit_entries SET person = 'bob' WHERE seq = 4", "entry 4: changed"),
        ("UPDATE audit_entries SET at = at + 1 WHERE seq = 4", "entry 4: changed"),
        ("UPDATE audit_entries SET facts = '{}' WHERE seq = 4", "entry 4: changed"),
        ("DELETE FROM audit_entries WHERE seq = 4", "entry 4: missing or out of order"),
        ("DELETE FROM audit_entries WHERE seq < 4", "entry 1: missing or out of order"),
        (
            "UPDATE audit_entries SET digest = previous WHERE seq = 6",
            "entry 6: changed",
        ),
    ],
)
def test_changes_show(
    service_url: str, trail: AuditTrail, write: Callable[..., None], statement: str, told: str
) -> None:
    write(6)
    _changed(service_url, statement)
    verdict = trail.verify()
    assert not verdict.whole
    assert verdict.problems[0] == told


def test_a_genuine_entry_of_another_past_shows(
    service_url: str,
    service_database: ServiceDatabase,
    trail: AuditTrail,
    write: Callable[..., None],
) -> None:
    write(3)
    with service_database.reading() as connection:
        kept = connection.execute(sa.select(AUDIT_ENTRIES).where(AUDIT_ENTRIES.c.seq == 3)).one()
    _changed(service_url, "DELETE FROM audit_entries WHERE seq = 3")
    write(2, person="bob")
    with service_database.writing() as connection:
        row = sa.update(AUDIT_ENTRIES).where(AUDIT_ENTRIES.c.seq == 3)
        connection.execute(row.values(**kept._asdict()))
    assert trail.verify().problems == ("entry 4: not chained to the previous entry",)


def test_another_key_seals_another_trail(
    service_database: ServiceDatabase, trail: AuditTrail, write: Callable[..., None]
) -> None:
    write(30)
    other = AuditTrail(service_database, b"o" * 32, lambda: 0).verify()
    assert (len(other.problems), other.problems[-1]) == (21, "and 10 more")


def test_a_head_shows_that_the_end_is_missing(
    service_url: str, trail: AuditTrail, write: Callable[..., None], tmp_path: Path
) -> None:
    key = Ed25519PrivateKey.generate()
    write(5)
    head = trail.sign_head(key, tmp_path, "anna")
    assert trail.last_signed() == head
    (place,) = tmp_path.glob("head-*.json")
    assert SignedHead.read(place) == head
    write(2)
    known = [public_bytes(key)]
    assert trail.verify([head], known).problems == ()
    _changed(service_url, "DELETE FROM audit_entries WHERE seq > 4", "DELETE FROM audit_heads")
    assert trail.verify().whole  # by itself it cannot know
    assert trail.verify([head], known).problems == ("checkpoint 5: the trail ends earlier, at 4",)


def test_a_head_shows_that_all_was_written_anew(
    service_url: str, trail: AuditTrail, write: Callable[..., None], tmp_path: Path
) -> None:
    write(2)
    head = trail.sign_head(Ed25519PrivateKey.generate(), tmp_path, "anna")
    _changed(service_url, "DELETE FROM audit_entries", "DELETE FROM audit_heads")
    write(3, person="bob")
    assert trail.verify([head]).problems == ("checkpoint 2: the entry differs",)


def test_heads_of_others_are_none(
    trail: AuditTrail, write: Callable[..., None], tmp_path: Path
) -> None:
    write(1)
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    head = trail.sign_head(key, tmp_path, "anna")
    assert not trail.verify([head], [public_bytes(other)]).whole
    forged = SignedHead(
        seq=1, digest="0" * 64, at=head.at, key_id=head.key_id, signature=head.signature
    )
    assert not forged.is_signed_by([public_bytes(key)])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"seq": "1"}', "\ud800", '{"seq": ' * 3000])
def test_what_is_no_head(tmp_path: Path, text: str) -> None:
    place = tmp_path / "head"
    place.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ServiceError):
        SignedHead.read(place)


@pytest.mark.parametrize(
    "text",
    [
        "anna\n2 role_granted bob",
        "anna\r",
        "anna\x00",
        "anna\x1b[2K",
        "anna\u2028x",
        "anna\u202enimda",
        "anna\u200b",
        "anna\u3164",
        "anna\ufe0f",
        "anna\ud800",
        "anna\U000e0041",
        "x" * 501,
    ],
)
def test_nobody_forges_lines(
    service_database: ServiceDatabase, trail: AuditTrail, text: str
) -> None:
    facts = {"method": "password"}
    for wrong in (
        {"person": text},
        {"person": "anna", "about": text},
        {"person": "anna", "facts": {**facts, "note": text + "\n"}},
    ):
        told: dict[str, object] = {"facts": facts, **wrong}
        with pytest.raises(DiscreetError), service_database.writing() as connection:
            trail.append(connection, kind=AuditKind.login, **told)
    assert trail.head() == (0, START)


def test_exports_are_one_line_an_entry_in_ascii(
    trail: AuditTrail, write: Callable[..., None]
) -> None:
    write(1, person="Jürgen Groß", about='he said "1", {"seq": 7}')
    write(2)
    lines = list(trail.export())
    assert all(re.fullmatch(r"[ -~]*\n", line) for line in lines)
    entries = [json.loads(line) for line in lines]
    assert [entry["seq"] for entry in entries] == [1, 2, 3]
    assert entries[0]["person"] == "Jürgen Groß"
    assert [entry["previous"] for entry in entries][1:] == [one["digest"] for one in entries][:-1]
    # Who has the key can prove an export by itself.
    for entry in entries:
        facts = json.dumps(entry["facts"], ensure_ascii=False, separators=(",", ":"))
        names = ("seq", "milliseconds", "kind", "person", "about")
        parts = [*(entry[name] for name in names), facts, entry["previous"]]
        assert entry["digest"] == _seal(KEY, parts)


def test_search_goes_page_by_page(
    trail: AuditTrail, write: Callable[..., None], set_clock: object
) -> None:
    write(5)
    write(2, person="bob", about="labour")
    page = trail.search(person="anna", size=3)
    assert [entry.seq for entry in page.rows] == [5, 4, 3]
    page = trail.search(person="anna", size=3, cursor=page.cursor)
    assert ([entry.seq for entry in page.rows], page.cursor) == ([2, 1], None)
    assert [entry.seq for entry in trail.search(about="labour").rows] == [7, 6]
    assert trail.search(kind=AuditKind.login).rows == ()
    now = set_clock()  # type: ignore[operator]
    assert len(trail.search(since=now).rows) == 7
    assert trail.search(until=now).rows == ()
    assert trail.search(person="' OR 1=1 --").rows == ()


def test_writers_at_once_leave_no_gap(
    service_url: str, service_database: ServiceDatabase, trail: AuditTrail
) -> None:
    other = ServiceDatabase.open(service_url)
    both = (service_database, other)

    def work(database: ServiceDatabase, alone: bool) -> None:
        own = AuditTrail(database, KEY, lambda: 1)
        for _ in range(8):
            with database.writing(alone=alone) as connection:
                own.append(connection, kind=AuditKind.logout, person="anna")

    at_once(*(partial(work, each, alone) for each in both for alone in (True, False)))
    other.close()
    verdict = trail.verify()
    assert (verdict.entries, verdict.problems) == (32, ())


@pytest.mark.exhaustive
def test_many_entries_are_verified_in_seconds(
    service_database: ServiceDatabase, trail: AuditTrail
) -> None:
    previous, rows = START, []
    for seq in range(1, 50_001):
        facts = '{"dataset":"census","role":"requester"}'
        parts = (seq, seq, "role_granted", "Anna Meier", "user 12345", facts, previous)
        previous = _seal(KEY, parts)
        rows.append((*parts, previous))
    names = ", ".join(AUDIT_ENTRIES.columns.keys())
    # As the driver takes them: what is measured is how fast they are read.
    with service_database.writing() as connection:
        if service_database.dialect == "sqlite":
            marks = ", ".join("?" * len(rows[0]))
            connection.exec_driver_sql(
                f"INSERT INTO audit_entries ({names}) VALUES ({marks})", rows
            )
        else:
            cursor = connection.connection.cursor()
            with cursor.copy(f"COPY audit_entries ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
    rows.clear()
    begun = time.process_time()
    verdict = trail.verify()
    assert (verdict.entries, verdict.whole) == (50_000, True)
    assert time.process_time() - begun < 10  # usually a half


def test_heads_are_kept_in_the_database(trail: AuditTrail, tmp_path: Path) -> None:
    head = trail.sign_head(Ed25519PrivateKey.generate(), tmp_path, "anna")
    assert (head.seq, head.digest) == (0, START)
    assert trail.verify().heads == 1
    assert set(SignedHead.__slots__) == set(AUDIT_HEADS.columns.keys()) - {"id"}
