"""The review queue: what kill -9, full disks and colleagues at the same moment leave."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire.queue import (
    State,
    approve,
    listed,
    open_queue,
    release,
    releases,
    submissions,
    verify,
    view,
)
from tests.helpers.places import ROOT
from tests.helpers.queue_parts import hand_in, new_queue, version

WORDS = {"person": "Anna", "reason": "ok"}

#: Decides on, and releases, submission after submission, and says what it was told is done:
#: each in one write, which a kill does not cut.
OFFICER = """
import os
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.helpers.queue_parts import hand_in, version
from discreet_fire.queue import OutputDecision, PartVerdict, approve, decide, open_queue, release
ACCEPT = {1: OutputDecision(verdict=PartVerdict.accept)}
folder, tag = Path(sys.argv[1]), sys.argv[3]
work = folder / f"hand-{tag}"
work.mkdir(exist_ok=True)
for at in range(1000):
    with open_queue(folder / "q") as queue:
        number = hand_in(queue, work, f"{tag} {at}")
        os.write(1, b"submitted %d\\n" % number)
        now = version(queue, number)
        done = decide(queue, number, ACCEPT, person="Anna", reason="ok", version=now)
        os.write(1, b"decided %d\\n" % number)
        done = approve(queue, number, person="Anna", reason="ok", version=done.version)
        os.write(1, b"approved %d\\n" % number)
        release(queue, number, person="Anna", reason="ok", version=done.version)
        os.write(1, b"released %d\\n" % number)
"""


def officer(folder: Path, tag: str) -> subprocess.Popen[str]:
    here = str(ROOT)
    command = [sys.executable, "-c", OFFICER, str(folder), here, tag]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check_sound(folder: Path) -> None:
    """No half release, no open one, nothing that verify finds."""
    with open_queue(folder / "q") as queue:
        assert verify(queue) == []
        out = {path.name for path in (queue.folder / "released").iterdir()}
        done = [row for row in listed(queue, every=True) if row.standing.state is State.released]
        assert out == {f"release-{row.number:06d}" for row in done}
        assert all(row.standing.state is not State.releasing for row in listed(queue))
        assert len(list((queue.folder / "store").iterdir())) == len(listed(queue, every=True))


@pytest.mark.parametrize("turns", [1, pytest.param(4, marks=pytest.mark.exhaustive)])
def test_killed_at_any_moment_nothing_is_lost_and_nothing_is_half(
    tmp_path: Path, turns: int
) -> None:
    """Two officers at once, killed with SIGKILL at random; what was told stays true."""
    new_queue(tmp_path).close()
    rng = random.Random(20 + turns)
    told: set[tuple[str, int]] = set()
    for turn in range(turns):
        both = [officer(tmp_path, f"{turn}{name}") for name in "ab"]
        first = [one.stdout.readline() for one in both]  # both are at work
        time.sleep(rng.uniform(0.05, 0.6))
        for one in both:
            one.kill()
        ends = [one.communicate(timeout=300) for one in both]
        for line, (rest, errors) in zip(first, ends, strict=True):
            assert not errors
            lines = (line + rest).splitlines()
            told |= {(kind, int(number)) for kind, number in map(str.split, lines)}
        check_sound(tmp_path)
    with open_queue(tmp_path / "q") as queue:
        for kind, number in told:
            kinds = [event.kind for event in view(queue, number).history]
            assert kind in kinds, (kind, number)
    assert len(told) >= 2 * turns


STEPS = ["mkdir", "copyfile", "digest_of", "kept_on_disk", "rename"]


class Killed(BaseException):
    """Stands for the end of the process: no clean-up follows."""


@pytest.mark.parametrize("step", [*STEPS, "after"])
def test_a_release_that_ends_at_any_step_is_whole_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def killed(*args: object, **words: object) -> None:
        raise Killed

    with new_queue(tmp_path) as queue:
        number = hand_in(queue, tmp_path)
        now = approve(queue, number, version=version(queue, number), **WORDS)
        with monkeypatch.context() as patch:
            patch.setattr(releases, "_withdraw", killed)
            if step == "after":
                make = releases._make
                patch.setattr(releases, "_make", lambda *given: (make(*given), killed()))
            elif step in ("mkdir", "rename"):
                patch.setattr(Path, step, killed)
            elif step == "copyfile":
                patch.setattr(shutil, step, killed)
            else:
                patch.setattr(releases, step, killed)
            with pytest.raises(Killed):
                release(queue, number, version=now.version, **WORDS)
        target = queue.folder / "released" / f"release-{number:06d}"
        assert target.exists() == (step == "after")
    check_sound(tmp_path)
    with open_queue(tmp_path / "q") as queue:
        found = view(queue, number)
        assert found.row.standing.state is (State.released if step == "after" else State.approved)
        if step != "after":
            begun = step not in ("mkdir", "kept_on_disk")  # these fail before the record says so
            assert found.history[-1].kind == ("withdrawn" if begun else "approved")
            assert not list((queue.folder / "released").glob(".*"))
            release(queue, number, version=found.row.standing.version, **WORDS)
    check_sound(tmp_path)


@pytest.mark.parametrize("place", ["copy", "record"])
def test_a_full_disk_is_told_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def full(*args: object, **words: object) -> None:
        raise OSError(28, "No space left on device")

    with new_queue(tmp_path) as queue:
        number = hand_in(queue, tmp_path)
        now = approve(queue, number, version=version(queue, number), **WORDS)
        with monkeypatch.context() as patch:
            patch.setattr(releases, "kept_on_disk", full)
            patch.setattr(submissions, "kept_on_disk", full)
            work = {
                "copy": lambda: release(queue, number, version=now.version, **WORDS),
                "record": lambda: hand_in(queue, tmp_path, "another"),
            }
            with pytest.raises(DiscreetError) as caught:
                work[place]()
            assert caught.value.code == "disk-full"
        assert verify(queue) == []
    check_sound(tmp_path)


def test_a_full_database_decides_nothing(tmp_path: Path) -> None:
    with new_queue(tmp_path) as queue:
        number = hand_in(queue, tmp_path)
        (pages,) = queue.connection.execute("PRAGMA page_count").fetchone()
        queue.connection.execute(f"PRAGMA max_page_count = {pages}")
        words = {"person": "Anna", "reason": "long " * 1_900, "version": version(queue, number)}
        with pytest.raises(OutputCheckError) as caught:
            approve(queue, number, **words)
        assert caught.value.code == "disk-full"
        queue.connection.execute("PRAGMA max_page_count = 1000000")
        assert view(queue, number).row.standing.approvals == {}


def test_somebody_at_work_is_not_disturbed(tmp_path: Path) -> None:
    with new_queue(tmp_path) as queue:
        number = hand_in(queue, tmp_path)
        now = approve(queue, number, version=version(queue, number), **WORDS)
        with queue.at_work():
            (queue.folder / "store" / "token").mkdir()
            with queue.writing():
                target = queue.folder / "released" / "release-000001"
                releases._intend(queue, number, "Anna", "ok", now.version, target)
                releases._begin(target)
            with open_queue(tmp_path / "q") as other:
                assert view(other, number).row.standing.state is State.releasing
                with pytest.raises(OutputCheckError, match="is releasing"):
                    release(other, number, version=version(other, number), **WORDS)
            assert (queue.folder / "store" / "token").exists()
    check_sound(tmp_path)
