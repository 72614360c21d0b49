"""Releases that are refused or interrupted: nothing half-done, nothing of others touched."""

import errno
import json
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from discreet.errors import DiscreetError, PublicationError
from discreet.files import TEMPORARY_SUFFIX
from discreet.release import protect
from discreet.release.state.memory import locked_folder
from tests.helpers.firm_programmes import whole_content
from tests.helpers.programmes import Edit

KILLED = """
import os, signal, sys
from discreet.release import protect
def stop(done, steps, name):
    if done == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
protect(sys.argv[1], sys.argv[2], progress=stop)
"""


@pytest.mark.parametrize("step", [2, pytest.param(5, marks=pytest.mark.exhaustive)])
def test_killed_and_taken_up_again_gives_the_same_bytes(
    programme: Path, tmp_path: Path, step: int
) -> None:
    out = tmp_path / "out"
    run = [sys.executable, "-c", KILLED, str(programme), str(out), str(step)]
    assert subprocess.run(run, check=False).returncode == -signal.SIGKILL
    assert not (out / "release.json").exists()
    assert (out / ".discreet" / "T1.json").exists()
    (out / ".discreet" / f".T1.json.x{TEMPORARY_SUFFIX}").write_text("half a file")
    (out / ".discreet" / "stage" / f".T1.csv.x{TEMPORARY_SUFFIX}").write_text("half a file")
    summary = protect(programme, out)
    assert summary.fresh < 3
    protect(programme, tmp_path / "at once")
    assert whole_content(out) == whole_content(tmp_path / "at once")


def test_files_of_others_are_not_overwritten(programme: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "T1.csv").write_text("mine")
    with pytest.raises(PublicationError, match="not part of this release"):
        protect(programme, out)
    assert whole_content(out) == {"T1.csv": b"mine"}


def test_a_folder_of_another_programme_is_refused(programme: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    protect(programme, out)
    before = whole_content(out)
    other = programme.with_name("other.toml")
    other.write_bytes(programme.read_bytes())
    with pytest.raises(PublicationError, match=r"another programme \(programme.toml\)"):
        protect(other, out)
    assert whole_content(out) == before


def test_a_folder_without_permission(
    programme: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    out = tmp_path / "closed"
    out.mkdir()
    monkeypatch.setattr("discreet.files.tempfile.TemporaryFile", refused)
    with pytest.raises(PublicationError, match="cannot write here"):
        protect(programme, out)
    assert not list(out.iterdir())


def public(out: Path) -> dict[str, bytes]:
    return {name: data for name, data in whole_content(out).items() if not name.startswith(".")}


def spoiled(path: Path, column: pl.Expr) -> None:
    pl.read_parquet(path).with_columns(column).write_parquet(path)


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (pl.lit(None, pl.Int64).alias("record_key"), "have no key"),
        ((pl.col("record_key") + 10**15).alias("record_key"), "off the grid"),
        (pl.lit("x").alias("sex"), "'x'"),
        (pl.lit(0.5).alias("municipality"), "decimals"),
    ],
)
def test_bad_data_leave_nothing_behind(
    programme: Path, tmp_path: Path, spoil: pl.Expr, what: str
) -> None:
    spoiled(programme.parent / "persons.parquet", spoil)
    with pytest.raises(DiscreetError, match=what):
        protect(programme, tmp_path / "new" / "out")
    assert not (tmp_path / "new").exists()


def test_bad_data_leave_an_earlier_release_as_it_was(programme: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    protect(programme, out)
    before = public(out)
    spoiled(programme.parent / "persons.parquet", pl.lit("x").alias("sex"))
    with pytest.raises(DiscreetError):
        protect(programme, out)
    assert public(out) == before


@pytest.mark.parametrize("asked", ['"html"]\ncomplete = true', '"px"]'])
def test_a_sheet_too_small_for_a_table_is_refused_before_counting(
    edited: Edit, tmp_path: Path, asked: str
) -> None:
    path = edited(
        ('formats = ["csv", "html"]', f"formats = [{asked}"),
        ("intervals = [0, 18, 65]", f"intervals = {list(range(3000))}"),
        ('codes = ["m", "w"]', f"codes = {json.dumps([f'{n}' for n in range(3000)])}"),
        ("labels.m = ", "# "),
        ("labels.w = ", "# "),
    )
    with pytest.raises(PublicationError, match=r"T2: (html|px) holds at most") as caught:
        protect(path, tmp_path / "out")
    assert caught.value.code == "too-large"
    assert not (tmp_path / "out").exists()


def unread(*_: object) -> str:
    raise AssertionError("the data were read")


def test_the_place_is_looked_at_before_the_data(
    programme: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.release.state.memory.file_digest", unread)
    (tmp_path / "file").write_text("not a folder")
    for blocked in (tmp_path / "file", tmp_path / "file" / "out"):
        with pytest.raises(PublicationError):
            protect(programme, blocked)
    assert (tmp_path / "file").read_text() == "not a folder"
    out = tmp_path / "out"
    (out / ".discreet").mkdir(parents=True)
    with (
        locked_folder(out / ".discreet" / "lock", out),
        pytest.raises(PublicationError, match="another"),
    ):
        protect(programme, out)
    (out / "T1.csv").write_text("mine")
    with pytest.raises(PublicationError, match="not part of this release"):
        protect(programme, out)


def test_a_full_disk_that_an_engine_meets_is_said_to_be_full(
    programme: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise ValueError("cannot write (os error 28)")

    out = tmp_path / "out"
    protect(programme, out)
    before = public(out)
    spoiled(programme.parent / "persons.parquet", pl.lit("m").alias("sex"))
    monkeypatch.setattr("discreet.publication.writers.html.write_file", full)
    with pytest.raises(PublicationError, match="the disk is full") as caught:
        protect(programme, out)
    assert caught.value.code == "disk-full"
    assert "free disk space" in caught.value.hint
    assert public(out) == before
    monkeypatch.undo()
    protect(programme, out)
    protect(programme, tmp_path / "at once")
    assert whole_content(out) == whole_content(tmp_path / "at once")
