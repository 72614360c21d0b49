"""A disk that is full at any moment leaves nothing but the message."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.errors import PublicationError
from discreet.files import write_private, write_text
from discreet.release import protect


class _Disk:
    """Counts what needs room below a folder, and refuses one of it."""

    def __init__(self) -> None:
        self.below = ""
        self.left = -1
        self.count = 0

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.below or event not in ("open", "os.mkdir", "os.rename"):
            return
        if event == "open" and not (isinstance(given[2], int) and given[2] & os.O_CREAT):
            return
        if str(given[0]).startswith(self.below):
            self.count += 1
            if self.count > self.left >= 0:
                raise OSError(errno.ENOSPC, "No space left on device")


DISK = _Disk()
sys.addaudithook(DISK)


@contextmanager
def disk(below: Path, left: int) -> Iterator[None]:
    DISK.below, DISK.left, DISK.count = str(below), left, 0
    try:
        yield
    finally:
        DISK.below = ""


def visible(folder: Path) -> dict[str, bytes]:
    found = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {str(at): path.read_bytes() for at, path in found.items() if at.parts[0][0] != "."}


@pytest.mark.exhaustive
def test_a_new_release_leaves_nothing_when_the_disk_is_full(
    programme: Path, tmp_path: Path
) -> None:
    with disk(tmp_path / "whole", -1):
        protect(programme, tmp_path / "whole")
    every = DISK.count
    assert every > 10
    published = len(visible(tmp_path / "whole"))
    for left in range(0, every - published, 4):  # then files are moved to their places
        out = tmp_path / "deep" / "out"
        with disk(tmp_path / "deep", left), pytest.raises(PublicationError) as caught:
            protect(programme, out)
        assert caught.value.code == "disk-full", left
        assert not (tmp_path / "deep").exists(), left
    protect(programme, out)
    assert visible(out) == visible(tmp_path / "whole")


def test_an_earlier_release_stays_when_the_disk_is_full(programme: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    protect(programme, out)
    before = visible(out)
    persons = programme.parent / "persons.parquet"
    pl.read_parquet(persons).with_columns(sex=pl.lit("m")).write_parquet(persons)
    for left in range(0, 12):
        with disk(out, left), pytest.raises(PublicationError) as caught:
            protect(programme, out)
        assert caught.value.code == "disk-full", left
        assert visible(out) == before, left
        assert not list(out.rglob("*.discreet-tmp")), left


LIMITED = """
import resource, sys, polars, discreet.release, discreet.tabulation
from discreet.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), -1))
main(sys.argv[2:])
"""


@pytest.mark.skipif(os.name != "posix", reason="limits are those of POSIX")
@pytest.mark.exhaustive
@pytest.mark.parametrize("size", [300, 0])
def test_files_that_may_not_grow_end_with_exit_code_1(
    programme: Path, tmp_path: Path, size: int
) -> None:
    words = ["protect", str(programme), "--out", str(tmp_path / "out")]
    command = [sys.executable, "-c", LIMITED, str(size), *words]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stderr
    assert "the disk is full" in run.stderr
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "out").exists()


def test_single_files_and_secrets_leave_nothing(tmp_path: Path) -> None:
    for write in (write_text, write_private):
        with disk(tmp_path, 0), pytest.raises(PublicationError) as caught:
            write(tmp_path / "file", "x")
        assert caught.value.code == "disk-full"
        assert not list(tmp_path.iterdir())


def test_half_a_secret_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("discreet.files.os.fsync", full)
    with pytest.raises(PublicationError, match="the disk is full"):
        write_private(tmp_path / "secret.key", "0123")
    assert not list(tmp_path.iterdir())
