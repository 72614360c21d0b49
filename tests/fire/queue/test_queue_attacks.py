"""The review queue against those who want it to lie: names, texts, files, forged entries."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from discreet.errors import OutputCheckError
from discreet_fire.queue import (
    OutputDecision,
    PartVerdict,
    Queue,
    QueueSettings,
    State,
    Submission,
    approve,
    decide,
    listed,
    open_queue,
    reject,
    release,
    releases,
    submit,
    verify,
    view,
)
from tests.helpers.queue_parts import LOG, hand_in, new_queue, version
from tests.helpers.rows import for_all_rows
from tests.helpers.states_left import states_left

WORDS = {"person": "Anna", "reason": "ok"}
ACCEPT = {1: OutputDecision(verdict=PartVerdict.accept)}
CYRILLIC_A = "\N{CYRILLIC CAPITAL LETTER A}"


#: Children do their work with what is loaded, and no thread of the parent matters to them.
forking = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def approved(queue: Queue, folder: Path, text: str = LOG) -> tuple[int, int]:
    number = hand_in(queue, folder, text)
    return number, approve(queue, number, version=version(queue, number), **WORDS).version


# --- names and texts ----------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        "ANNA",
        " Anna ",
        f"{CYRILLIC_A}nna",
        "\N{GREEK CAPITAL LETTER ALPHA}nna",
        "\N{FULLWIDTH LATIN CAPITAL LETTER A}nna",
        "\N{LATIN CAPITAL LETTER A WITH ACUTE}nna",
        "Anna.",
    ],
)
def test_one_person_is_not_two_by_another_spelling(tmp_path: Path, other: str) -> None:
    with pytest.raises(OutputCheckError, match="is given twice"):
        QueueSettings(persons=("Anna", other), approvals=2)
    with new_queue(tmp_path, approvals=2, clean_approvals=2) as queue:
        with pytest.raises(
            OutputCheckError, match="a person with the same or a similar name exists"
        ):
            queue.add_person(other, by="Ben", reason="new")
        number = hand_in(queue, tmp_path, researcher=other)
        with pytest.raises(OutputCheckError, match="you cannot decide on your own submission"):
            approve(queue, number, version=version(queue, number), **WORDS)


@for_all_rows("hidden", ["\u3164", "\u200b", "\ufe0f", "\u034f", "\u2800", "\x1b[2J", "\udcff"])
def test_names_that_hide_something_are_none(hidden: str) -> None:
    with pytest.raises(OutputCheckError, match="not a name"):
        QueueSettings(persons=(f"Anna{hidden}",))
    assert QueueSettings(
        persons=("Jos\u00e9 M\u00fcller-L\u00fcdenscheidt", "o'Hara", "a.b@c.de", "\u674e\u660e")
    ).persons


def test_texts_cannot_forge_lines_or_command_the_screen(tmp_path: Path) -> None:
    with new_queue(tmp_path) as queue:
        number = hand_in(queue, tmp_path)
        now = version(queue, number)
        log = tmp_path / "a.log"
        log.write_text("1\n")
        for bad in ("a\x1b[2Jb", "a\udcff", "a\u202eb"):
            with pytest.raises(OutputCheckError, match="hide or mislead"):
                approve(queue, number, person="Anna", reason=bad, version=now)
            handed = Submission(program=tmp_path / "a.do", researcher="W", log=log, project=bad)
            with pytest.raises(OutputCheckError, match="hide or mislead"):
                submit(queue, handed)
        forged = "ok\n  2026-01-01T00:00:00+00:00 approved by Ben: fine"
        approve(queue, number, person="Anna", reason=forged, version=now)
        assert "\n" not in view(queue, number).history[-1].reason
        (tmp_path / "b.do").write_text('f\x1b[31moo x\ncount if name == "\x1b[2J"\n')
        log.write_text(". count\n  1,234\n")
        number = submit(queue, Submission(program=tmp_path / "b.do", researcher="W", log=log))
        shown = [text for one in view(queue, number).findings for text in (one.what, one.hint)]
        assert shown
        assert all(text.isprintable() for text in shown)


# --- files --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["manifest.json", "Manifest.JSON", "SHA256SUMS", ".log", "_FiRe.log"]
)
def test_outputs_are_not_called_like_the_files_of_a_release(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.do").write_text("count\n")
    (tmp_path / name).write_text(". count\n  1,234\n")
    with new_queue(tmp_path) as queue:
        handed = Submission(program=tmp_path / "a.do", researcher="W", log=tmp_path / name)
        if name == "_FiRe.log":  # nothing would be left of its name
            assert view(queue, submit(queue, handed)).outputs[0].name == name
            return
        with pytest.raises(OutputCheckError, match="cannot be released"):
            submit(queue, handed)
        assert not list((queue.folder / "store").iterdir())


@pytest.mark.parametrize(
    "name", ["a b.log", "-c.log", "gr\u00f6\u00dfe'\".log", "*.log", "#a$b`c`.log"]
)
def test_sha256sum_takes_names_of_all_kinds(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.do").write_text("count\n")
    (tmp_path / name).write_text(". count\n  1,234\n")
    with new_queue(tmp_path) as queue:
        handed = Submission(program=tmp_path / "a.do", researcher="W", log=tmp_path / name)
        number = submit(queue, handed)
        now = approve(queue, number, version=version(queue, number), **WORDS)
        folder = release(queue, number, version=now.version, **WORDS)
        command = ["sha256sum", "--strict", "-c", "SHA256SUMS"]
        checked = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr
        assert checked.stdout.count(": OK") == 2
        assert verify(queue) == []


@pytest.mark.parametrize("where", ["outputs/a.log", "program/a.do"])
def test_what_changed_on_the_disk_since_is_not_approved(tmp_path: Path, where: str) -> None:
    with new_queue(tmp_path) as queue:
        number = hand_in(queue, tmp_path)
        (path,) = (queue.folder / "store").glob(f"*/{where}")
        path.write_bytes(path.read_bytes() + b" ")
        with pytest.raises(OutputCheckError, match="was changed") as caught:
            approve(queue, number, version=version(queue, number), **WORDS)
        assert caught.value.code == "queue-damaged"
        path.unlink()
        with pytest.raises(OutputCheckError, match="is missing"):
            approve(queue, number, version=version(queue, number), **WORDS)
        assert reject(queue, number, version=version(queue, number), **WORDS).state == "rejected"


# --- the record ---------------------------------------------------------------------


def direct(folder: Path, statement: str, *values: object) -> None:
    """Somebody who writes the database, but has no key."""
    connection = sqlite3.connect(folder / "queue.sqlite")
    for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type='trigger'"):
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def test_forged_entries_release_nothing(tmp_path: Path) -> None:
    with new_queue(tmp_path, approvals=2, clean_approvals=2) as queue:
        number, now = approved(queue, tmp_path)
    forge = (
        "INSERT INTO events SELECT seq + 1, submission, kind, 'Ben', reason, at, payload, digest, "
        "substr(digest, 2) || '0' FROM events ORDER BY seq DESC LIMIT 1"
    )
    direct(tmp_path / "q", forge)
    with open_queue(tmp_path / "q") as queue:
        assert view(queue, number).row.standing.state is State.approved
        with pytest.raises(OutputCheckError, match="changed or added"):
            release(queue, number, version=now + 1, **WORDS)
        assert verify(queue) != []
    forge = "UPDATE events SET payload = replace(payload, 'Ben', 'Eve') WHERE kind = 'settings'"
    direct(tmp_path / "q", forge)
    with pytest.raises(OutputCheckError, match="settings of the queue cannot be read"):
        open_queue(tmp_path / "q")


def test_a_queue_that_was_moved_knows_its_releases(tmp_path: Path) -> None:
    with new_queue(tmp_path) as queue:
        number, now = approved(queue, tmp_path)
        release(queue, number, version=now, **WORDS)
    shutil.move(tmp_path / "q", tmp_path / "elsewhere")
    with open_queue(tmp_path / "elsewhere") as queue:
        assert verify(queue) == []
        (queue.folder / "released" / "release-000001" / "a.log").write_text("changed")
        assert verify(queue) == ["submission 1: released folder: files and checksums differ"]


# --- interruptions ------------------------------------------------------------------


class Killed(BaseException):
    """Stands for the end of the process: no clean-up follows."""


def test_a_folder_that_was_out_stays_released_even_if_it_was_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the folder and the record; then somebody fetched the folder."""
    out = tmp_path / "out"
    out.mkdir()
    with new_queue(tmp_path) as queue:
        number, now = approved(queue, tmp_path)

        def killed(*given: object) -> None:
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(releases, "_end", killed)
            with pytest.raises(Killed):
                release(queue, number, version=now, out=out, **WORDS)
    shutil.move(out, tmp_path / "away")
    with open_queue(tmp_path / "q") as queue:  # the whole place is away: nothing can be said
        assert view(queue, number).row.standing.state is State.releasing
    shutil.move(tmp_path / "away", out)
    shutil.move(out / "release-000001", tmp_path / "fetched")
    with open_queue(tmp_path / "q") as queue:
        assert view(queue, number).row.standing.state is State.released
        assert "interrupted; the folder was removed" in view(queue, number).history[-1].reason


def test_a_record_that_is_full_after_the_folder_appeared_is_completed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_queue(tmp_path) as queue:
        number, now = approved(queue, tmp_path)
        make = releases._make

        def made(*given: object) -> None:
            make(*given)  # type: ignore[arg-type]
            queue.connection.execute("PRAGMA query_only = 1")

        with monkeypatch.context() as patch:
            patch.setattr(releases, "_make", made)
            with pytest.raises(
                OutputCheckError, match="the folder is released, but the log is incomplete"
            ) as caught:
                release(queue, number, version=now, **WORDS)
        assert "the next command completes it" in caught.value.hint
    with open_queue(tmp_path / "q") as queue:
        assert view(queue, number).row.standing.state is State.released
        assert verify(queue) == []


def in_child(work: Callable[[], None]) -> int:
    """Do something in a process of its own; how it ended."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 9
        try:
            work()
            code = 0
        except OutputCheckError as error:
            code = 3 if error.code in ("changed", "closed") else 4
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check_decided(folder: Path, at: int) -> None:
    """What was told is there, and nothing is half."""
    with open_queue(folder / "q") as queue:
        assert verify(queue) == []
        standing = view(queue, at).row.standing
        assert standing.state in (State.waiting, State.approved, State.released)
        if (folder / f"decided {at}").exists():
            assert standing.decisions
        if (folder / f"approved {at}").exists():
            assert standing.approvals
        there = (queue.folder / "released" / f"release-{at:06d}").exists()
        assert there == (standing.state is State.released)
        assert there >= (folder / f"released {at}").exists()
        assert not list((queue.folder / "released").glob(".*"))


def deciding_work(folder: Path, at: int) -> Callable[[], None]:
    def work() -> None:
        with open_queue(folder / "q") as queue:
            now = decide(queue, at, ACCEPT, version=version(queue, at), **WORDS).version
            (folder / f"decided {at}").touch()
            now = approve(queue, at, version=now, **WORDS).version
            (folder / f"approved {at}").touch()
            release(queue, at, version=now, **WORDS)
            (folder / f"released {at}").touch()

    return work


def check_handed_in(folder: Path, told: Path) -> int:
    """All of each submission is there, with its files and universes; how many there are."""
    with open_queue(folder / "q") as queue:
        assert verify(queue) == []
        found = listed(queue, every=True)
        assert len(list((queue.folder / "store").iterdir())) == len(found)
        assert found or not told.exists()
        return len(found)


def of_discreet(frame: FrameType) -> bool:
    return "discreet" in frame.f_code.co_filename and "/tests/" not in frame.f_code.co_filename


@pytest.mark.exhaustive
def test_what_a_kill_at_each_call_of_approval_and_release_leaves(tmp_path: Path) -> None:
    """Every third place between two calls; and what is left can be gone on with."""
    folder, kept = tmp_path / "here", tmp_path / "kept"
    folder.mkdir()
    with new_queue(folder) as queue:
        at = hand_in(queue, folder)
    left = states_left(deciding_work(folder, at), folder, kept, of=of_discreet)
    assert left.halts > 200
    states = []
    for each in left.folders[::3]:
        check_decided(each, at)
        with open_queue(each / "q") as queue:
            states.append(view(queue, at).row.standing.state)
            if states[-1] is State.waiting:
                approve(queue, at, version=version(queue, at), **WORDS)
            if states[-1] is not State.released:
                release(queue, at, version=version(queue, at), **WORDS)
            hand_in(queue, each, "and on")
        check_decided(each, at)
    # None comes before another, and all were seen.
    assert states == sorted(states, key=[State.waiting, State.approved, State.released].index)
    assert set(states) == {State.waiting, State.approved, State.released}


@pytest.mark.exhaustive
def test_what_a_kill_at_each_call_of_a_submission_leaves(tmp_path: Path) -> None:
    """All of a submission is there, with its files and universes, or nothing."""
    folder, kept = tmp_path / "here", tmp_path / "kept"
    folder.mkdir()
    new_queue(folder).close()

    def work() -> None:
        with open_queue(folder / "q") as queue:
            hand_in(queue, folder)
            (folder / "told").touch()

    left = states_left(work, folder, kept, of=of_discreet)
    assert left.halts > 100
    there = []
    for each in left.folders[::3]:
        there.append(check_handed_in(each, each / "told"))
        with open_queue(each / "q") as queue:
            hand_in(queue, each, "and on")
        assert check_handed_in(each, each / "told") == there[-1] + 1
    assert there == sorted(there)
    assert set(there) == {0, 1}


@pytest.mark.exhaustive
@forking
def test_of_several_decisions_at_once_one_holds(tmp_path: Path) -> None:
    """Eight processes decide on what they all saw; and two of them release."""
    with new_queue(tmp_path) as queue:
        numbers = [hand_in(queue, tmp_path, f"{LOG}{at}") for at in range(4)]
        seen = [version(queue, number) for number in numbers]

    def deciding(at: int, kind: Callable[..., object], person: str) -> Callable[[], None]:
        def work() -> None:
            with open_queue(tmp_path / "q") as queue:
                kind(queue, numbers[at], version=seen[at], person=person, reason="me")

        return work

    for at in range(4):
        works = [deciding(at, kind, who) for kind in (approve, reject) for who in ("Anna", "Ben")]
        children = [in_child(work) for work in works * 2]
        assert sorted(ended(child) for child in children) == [0, *[3] * 7]
    with open_queue(tmp_path / "q") as queue:
        for number in numbers:
            assert len(view(queue, number).history) == 2
        open_ones = [row for row in listed(queue) if row.standing.state is State.approved]
        number, now = approved(queue, tmp_path, "one more")
        assert len(open_ones) <= 4

    def releasing_now() -> None:
        with open_queue(tmp_path / "q") as queue:
            release(queue, number, version=now, **WORDS)

    children = [in_child(releasing_now) for _ in range(4)]
    assert sorted(ended(child) for child in children) == [0, 3, 3, 3]
    with open_queue(tmp_path / "q") as queue:
        assert verify(queue) == []
        kinds = [event.kind for event in view(queue, number).history]
        assert kinds == ["submitted", "approved", "intent", "released"]
