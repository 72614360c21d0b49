"""The review queue: what kill -9, full disks and colleagues at the same moment leave."""

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
from tests.helpers.queue_parts import hand_in, new_queue, version

WORDS = {"person": "Anna", "reason": "ok"}


def check_sound(folder: Path) -> None:
    """No half release, no open one, nothing that verify finds."""
    with open_queue(folder / "q") as queue:
        assert verify(queue) == []
        out = {path.name for path in (queue.folder / "released").iterdir()}
        done = [row for row in listed(queue, every=True) if row.standing.state is State.released]
        assert out == {f"release-{row.number:06d}" for row in done}
        assert all(row.standing.state is not State.releasing for row in listed(queue))
        assert len(list((queue.folder / "store").iterdir())) == len(listed(queue, every=True))


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
            with open_queue(tmp_path / "q") as other:
                assert view(other, number).row.standing.state is State.releasing
                with pytest.raises(OutputCheckError, match="is releasing"):
                    release(other, number, version=version(other, number), **WORDS)
            assert (queue.folder / "store" / "token").exists()
    check_sound(tmp_path)
