"""The review queue: who may decide, what a decision is about, what is drawn, what is kept."""

import shutil
import sqlite3
import stat
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire.findings import Severity
from discreet_fire.queue import (
    Queue,
    QueueSettings,
    State,
    SubmissionWork,
    approve,
    ask_for_change,
    decisions,
    head_of,
    listed,
    open_queue,
    permit,
    reject,
    release,
    verify,
    view,
)
from discreet_fire.queue.contents import SubmissionTables
from tests.helpers.queue_parts import LOG, hand_in, new_queue, output_stage, version
from tests.helpers.rows import for_all_rows


def code_of(error: pytest.ExceptionInfo[DiscreetError]) -> str:
    return error.value.code


def test_four_eyes_need_two_different_persons(tmp_path: Path) -> None:
    with new_queue(tmp_path, approvals=2, clean_approvals=2) as queue:
        number = hand_in(queue, tmp_path)
        words = {"person": "Anna", "reason": "seen"}
        with pytest.raises(OutputCheckError) as caught:
            release(queue, number, version=version(queue, number), **words)
        assert code_of(caught) == "not-approved"
        found = approve(queue, number, version=version(queue, number), **words)
        assert found.state is State.waiting
        found = approve(queue, number, version=found.version, **words)  # the same once more
        assert found.state is State.waiting
        found = approve(queue, number, version=found.version, person="Ben", reason="me too")
        assert found.state is State.approved
        folder = release(queue, number, version=found.version, **words)
        assert {path.name for path in folder.iterdir()} == {"a.log", "manifest.json", "SHA256SUMS"}
        assert view(queue, number).row.standing.state is State.released
        assert verify(queue) == []


def test_a_decision_on_what_has_changed_since_is_refused(tmp_path: Path) -> None:
    with (
        new_queue(tmp_path, approvals=2, clean_approvals=2) as queue,
        open_queue(tmp_path / "q") as other,
    ):
        number = hand_in(queue, tmp_path)
        seen = version(queue, number)
        reject(other, number, person="Ben", reason="shows a firm", version=seen)
        with pytest.raises(
            OutputCheckError, match="the submission changed since your last view"
        ) as caught:
            approve(queue, number, person="Anna", reason="fine", version=seen)
        assert code_of(caught) == "changed"
        with pytest.raises(OutputCheckError, match="closed: rejected"):
            approve(queue, number, person="Anna", reason="fine", version=version(queue, number))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ({"person": "Carl"}, "unknown-person"),
        ({"person": "anna"}, "unknown-person"),
        ({"person": " "}, "queue-settings"),
        ({"reason": "  "}, "reason"),
        ({"version": 99}, "changed"),
    ],
)
def test_wrong_decisions_leave_no_entry(tmp_path: Path, words: dict, code: str) -> None:
    with new_queue(tmp_path) as queue:
        number = hand_in(queue, tmp_path)
        before = head_of(queue)
        whole = {"person": "Anna", "reason": "ok", "version": version(queue, number), **words}
        for decide in (approve, reject, ask_for_change):
            with pytest.raises(OutputCheckError) as caught:
                decide(queue, number, **whole)
            assert code_of(caught) == code
        for number in (77, 0, -1, 10**20):
            for look in (approve, permit, lambda queue, number, **_: view(queue, number)):
                with pytest.raises(OutputCheckError, match="submission not found"):
                    look(queue, number, person="Anna", reason="ok", version=1)
        assert head_of(queue) == before


def test_nobody_releases_their_own_submission(tmp_path: Path) -> None:
    with new_queue(tmp_path, clean_approvals=0) as queue:
        number = hand_in(queue, tmp_path, researcher="Anna")
        words = {"reason": "ok", "version": version(queue, number)}
        assert view(queue, number).row.standing.state is State.approved
        with pytest.raises(OutputCheckError, match="you cannot decide on your own submission"):
            release(queue, number, person="Anna", **words)
        assert release(queue, number, person="Ben", **words).is_dir()


def test_persons_are_added_by_persons(tmp_path: Path) -> None:
    with new_queue(tmp_path) as queue:
        queue.add_person("Cem", by="Anna", reason="new colleague")
        assert queue.settings.person("Cem") == "Cem"
        with pytest.raises(OutputCheckError):
            queue.add_person("Dora", by="Otto", reason="unknown")


def test_what_is_shown_is_one_state_though_others_decide_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = decisions.conflict_sentences

    def meanwhile(queue: Queue, *words: object, **more: object) -> list:
        monkeypatch.setattr(decisions, "conflict_sentences", looked)
        with open_queue(tmp_path / "q") as other:
            approve(other, number, person="Ben", reason="ok", version=seen)
        return looked(queue, *words, **more)

    with new_queue(tmp_path, approvals=2, clean_approvals=2) as queue:
        number = hand_in(queue, tmp_path)
        seen = version(queue, number)
        monkeypatch.setattr(decisions, "conflict_sentences", meanwhile)
        found = view(queue, number)
        assert (found.row.standing.version, len(found.history)) == (seen, 1)
        assert version(queue, number) > seen


@for_all_rows(
    "changes",
    [
        {"persons": ()},
        {"approvals": 3},
        {"persons": ("Anna",), "approvals": 2},
        {"rate": 1.5},
        {"minimum": 1},
        {"clean_approvals": 2},
    ],
)
def test_wrong_settings(changes: dict) -> None:
    with pytest.raises(OutputCheckError):
        QueueSettings(**{"persons": ("Anna", "Ben"), **changes})


def test_the_same_is_not_taken_twice_unless_it_was_sent_back(tmp_path: Path) -> None:
    with new_queue(tmp_path) as queue:
        number = hand_in(queue, tmp_path)
        with pytest.raises(OutputCheckError, match="the same was submitted before"):
            hand_in(queue, tmp_path)
        assert len(list((queue.folder / "store").iterdir())) == 1
        words = {"person": "Anna", "reason": "group ages", "version": version(queue, number)}
        assert ask_for_change(queue, number, **words).state is State.change
        assert hand_in(queue, tmp_path) == 2


def test_the_riskiest_come_first(tmp_path: Path) -> None:
    def noting(severity: Severity, rule: str = "r"):
        def stage(work: SubmissionWork) -> None:
            output_stage(work)
            work.note("run", rule, severity, "something")

        return [stage]

    with new_queue(tmp_path) as queue:
        hand_in(queue, tmp_path, "1", stages=noting(Severity.INFO))
        hand_in(queue, tmp_path, "2", stages=noting(Severity.REVIEW))
        hand_in(queue, tmp_path, "3", stages=noting(Severity.ERROR))
        hand_in(queue, tmp_path, "4", stages=noting(Severity.REVIEW, "difference"))
        hand_in(queue, tmp_path, "5", stages=noting(Severity.REFUSED))
        assert [row.number for row in listed(queue)] == [4, 3, 2, 5, 1]


def test_clean_outputs_are_drawn_by_a_key_and_not_by_their_content(tmp_path: Path) -> None:
    first = new_queue(tmp_path, rate=0.25, approvals=2, clean_approvals=1)
    (tmp_path / "other").mkdir()
    second = new_queue(tmp_path / "other", rate=0.25)
    with first as queue, second as other:
        names = [f"{at:064x}" for at in range(4000)]
        drawn = [queue.drawn(name, 0.25) for name in names]
        # binomial with 4,000 draws: five standard deviations are 137
        assert abs(sum(drawn) - 1000) < 137
        assert drawn == [queue.drawn(name, 0.25) for name in names]
        assert drawn != [other.drawn(name, 0.25) for name in names]
        assert not any(queue.drawn(name, 0.0) for name in names[:100])
        assert all(queue.drawn(name, 1.0) for name in names[:100])
        for at in range(12):
            hand_in(queue, tmp_path, f"{LOG}{at}\n")
        rows = listed(queue)
        assert all(row.standing.needed == (2 if row.standing.drawn else 1) for row in rows)
        assert {row.number for row in listed(queue, drawn=True)} == {
            row.number for row in rows if row.standing.drawn
        }
        for row in rows:  # a remark, or another name, is no second draw
            text = f". * remark {row.number}\n      name:  b.log\n{LOG}{row.number - 1}\n"
            number = hand_in(queue, tmp_path, text, researcher=f"Weber {row.number}")
            assert view(queue, number).row.standing.drawn == row.standing.drawn


def covering(first: int, last: int):
    def stage(work: SubmissionWork) -> None:
        output_stage(work)
        units = list(range(first, last))
        work.tables = SubmissionTables()
        digests = work.key.digests(units).view(np.int64)
        work.tables.note_units(f"table {first}", digests)

    return [stage]


def test_a_table_that_differs_by_few_units_from_a_released_one_is_found(tmp_path: Path) -> None:
    with new_queue(tmp_path, minimum=10) as queue:
        first = hand_in(queue, tmp_path, "1", stages=covering(0, 1000))
        second = hand_in(queue, tmp_path, "2", stages=covering(6, 1000))
        assert view(queue, second).conflicts == ()  # none is released yet
        words = {"person": "Anna", "reason": "ok"}
        now = approve(queue, second, version=version(queue, second), **words)
        approve(queue, first, version=version(queue, first), **words)
        release(queue, first, version=version(queue, first), **words)
        # approved before the other was released: it is not released all the same
        with pytest.raises(OutputCheckError, match="fewer units than the minimum") as caught:
            release(queue, second, version=now.version, **words)
        assert code_of(caught) == "conflict"
        with pytest.raises(OutputCheckError, match="released as 1"):
            approve(queue, second, version=now.version, **words)
        (row,) = listed(queue)
        third = hand_in(queue, tmp_path, "3", stages=covering(3, 1000))
        assert {one.rule for one in view(queue, third).findings} == {"difference"}
        now = approve(queue, second, version=row.standing.version, despite_conflicts=True, **words)
        release(queue, second, version=now.version, **words)
        assert verify(queue) == []


def test_the_record_cannot_be_changed_and_tampering_is_found(tmp_path: Path) -> None:
    with new_queue(tmp_path) as queue:
        number = hand_in(queue, tmp_path)
        approve(queue, number, person="Anna", reason="ok", version=version(queue, number))
        noted = head_of(queue)
        for statement in (
            "DELETE FROM events",
            "UPDATE events SET person = 'Ben'",
            "UPDATE submissions SET researcher = 'x'",
            "DELETE FROM files",
        ):
            with (
                pytest.raises(OutputCheckError, match="the log of the queue cannot be changed"),
                queue.writing(),
            ):
                queue.connection.execute(statement)
        assert verify(queue, known_head=noted) == []
    path = tmp_path / "q" / "queue.sqlite"
    for statement, told in (
        ("UPDATE events SET person = 'Ben' WHERE seq = 3", "entry 3 was changed"),
        ("UPDATE events SET reason = 'fine' WHERE seq = 2", "entry 2 was changed"),
        ("DELETE FROM events WHERE seq = 2", "before number 3 are missing"),
        ("DELETE FROM events WHERE seq = 3", "log: the noted entry is missing"),
        ("UPDATE submissions SET researcher = 'x'", "its files or data changed"),
        ("UPDATE files SET sha256 = 'x'", "its files or data changed"),
        ("INSERT INTO submissions VALUES (9,'t','r','p','a','f')", "the log lacks the submission"),
    ):
        copy = tmp_path / "copy"
        shutil.copytree(tmp_path / "q", copy)
        direct = sqlite3.connect(copy / "queue.sqlite")
        for (trigger,) in direct.execute("SELECT name FROM sqlite_master WHERE type='trigger'"):
            direct.execute(f"DROP TRIGGER {trigger}")
        direct.execute(statement)
        direct.commit()
        direct.close()
        with Queue.open(copy) as opened:
            assert any(told in one for one in verify(opened, known_head=noted)), statement
        shutil.rmtree(copy)
    (output,) = (tmp_path / "q" / "store").glob("*/outputs/a.log")
    output.write_text("changed")
    with open_queue(tmp_path / "q") as opened:
        assert verify(opened) == ["submission 1: a.log was changed"]
    assert path.exists()


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    new_queue(tmp_path).close()
    for path in (tmp_path / "q", *(tmp_path / "q").iterdir()):
        if path.name != "queue.lock":
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    with pytest.raises(OutputCheckError, match="the folder exists already"):
        new_queue(tmp_path)
    (tmp_path / "q" / "queue.key").chmod(0o644)
    with pytest.raises(DiscreetError, match="other users of this computer"):
        open_queue(tmp_path / "q")


def test_damaged_databases_and_other_versions(tmp_path: Path) -> None:
    new_queue(tmp_path).close()
    path = tmp_path / "q" / "queue.sqlite"
    good = path.read_bytes()
    with pytest.raises(OutputCheckError) as caught:
        open_queue(tmp_path / "nowhere")
    assert code_of(caught) == "queue-missing"
    direct = sqlite3.connect(path)
    direct.execute("PRAGMA user_version = 99")
    direct.close()
    with pytest.raises(
        OutputCheckError, match="the queue has format version 99; this program needs version"
    ) as caught:
        open_queue(tmp_path / "q")
    assert code_of(caught) == "queue-version"
    rng = np.random.default_rng(3)
    for data in (b"", b"no database", rng.bytes(len(good)), good[: len(good) // 2], good[:100]):
        path.write_bytes(data)
        with pytest.raises(OutputCheckError) as caught:
            open_queue(tmp_path / "q")
        assert code_of(caught) in ("queue-damaged", "queue-version")


def test_bytes_that_change_in_the_file_are_told_and_never_crash(tmp_path: Path) -> None:
    with new_queue(tmp_path) as queue:
        for at in range(6):
            number = hand_in(queue, tmp_path, f"{LOG}{at}", stages=covering(at, 500 * at + 900))
            approve(queue, number, person="Anna", reason="ok", version=version(queue, number))
        before = [row.to_dict() for row in listed(queue)]
        queue.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = tmp_path / "q" / "queue.sqlite"
    good = path.read_bytes()
    rng = np.random.default_rng(11)
    told, codes = 0, set()
    for _ in range(60):
        data = bytearray(good)
        start = int(rng.integers(0, len(good) - 40))
        data[start : start + 40] = rng.bytes(40)
        path.write_bytes(data)
        try:
            with open_queue(tmp_path / "q") as queue:
                after = [row.to_dict() for row in listed(queue)]
                views = [view(queue, row.number) for row in listed(queue)]
                problems = verify(queue)
        except OutputCheckError as error:
            problems = [error.code]
        else:
            assert problems or (after == before and len(views) == 6)
        codes |= set(problems)
        told += bool(problems)
    assert {code for code in codes if " " not in code} <= {"queue-damaged", "queue-version"}
    assert told >= 5  # the others hit room that holds nothing


def test_a_queue_that_cannot_be_written_and_places_for_releases(tmp_path: Path) -> None:
    with new_queue(tmp_path) as queue:
        number = hand_in(queue, tmp_path)
        now = version(queue, number)
        queue.connection.execute("PRAGMA query_only = 1")
        with pytest.raises(OutputCheckError, match="cannot be written") as caught:
            approve(queue, number, person="Anna", reason="ok", version=now)
        assert code_of(caught) == "queue-folder"
        queue.connection.execute("PRAGMA query_only = 0")
        now = approve(queue, number, person="Anna", reason="ok", version=now).version
        words = {"person": "Anna", "reason": "ok", "version": now}
        with pytest.raises(DiscreetError, match="does not exist"):
            release(queue, number, out=tmp_path / "nowhere", **words)
        with pytest.raises(OutputCheckError, match="the release folder cannot be inside the queue"):
            release(queue, number, out=queue.folder / "store", **words)
        (queue.folder / "released" / "release-000001").mkdir()
        with pytest.raises(OutputCheckError, match="the folder exists already"):
            release(queue, number, **words)
        with pytest.raises(OutputCheckError, match="unknown reviewer"):
            release(queue, number, **{**words, "person": "Carl"})
        assert version(queue, number) == now
