"""Tables that wait for others: in a file that nobody reads, and without cells that are hidden."""

import os
import shutil
import stat
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cryptography.exceptions import InvalidTag

from discreet.protection.noise.method import NoiseProtection
from discreet.release import protect
from discreet.release.run import waiting_tables
from discreet.release.run.waiting_tables import WaitingTables
from discreet.tables import Table
from discreet.tabulation import Query, tabulate_many
from tests.helpers.firm_programmes import whole_content


def homes(folder: Path) -> list[Table]:
    """Two counts of one table, with contributions."""
    frame = pl.read_parquet(folder / "dwellings.parquet")
    by, values = ["municipality", "year"], ["rent"]
    queries = [
        Query(by=by, values=values, contributions=2, name="T"),
        Query(by=by, where="persons > 2", name="T"),
    ]
    return tabulate_many(frame, queries, record_key="record_key")


def assert_same(one: object, other: object) -> None:
    """All arrays are the same, and of the same types."""
    for name, content in vars(one).items():
        theirs = vars(other)[name]
        if isinstance(content, np.ndarray):
            np.testing.assert_array_equal(content, theirs, strict=True)
        elif name == "index":
            for part, of in zip(content, theirs, strict=True):
                np.testing.assert_array_equal(part, of, strict=True)
        elif name in ("sums", "contributions"):
            assert content.keys() == theirs.keys()
            for column, own in content.items():
                if name == "contributions":
                    assert_same(own, theirs[column])
                else:
                    np.testing.assert_array_equal(own, theirs[column], strict=True)
        elif name == "dimensions":
            assert all(own is of for own, of in zip(content, theirs, strict=True))
        else:
            assert content == theirs


def test_what_waits_in_a_file_comes_back_whole(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every, few = homes(finished)
    monkeypatch.setattr(waiting_tables, "_AT_HAND", len(few))
    with closing(WaitingTables(tmp_path)) as waiting:
        waiting.put("few", {"persons > 2": few})
        assert waiting._file is None
        waiting.put("T", {"": every, "persons > 2": few})
        assert waiting.keys() == {"few", "T"}
        taken = waiting.taken(["T"])
        assert waiting.keys() == {"few"}
        assert waiting["few"]["persons > 2"] is few
        for where, table in {"": every, "persons > 2": few}.items():
            assert_same(table, taken["T"][where])


def test_what_waits_in_a_file_is_read_by_nobody_else(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every, _ = homes(finished)
    monkeypatch.setattr(waiting_tables, "_AT_HAND", 0)
    with closing(WaitingTables(tmp_path)) as waiting:
        waiting.put("T", {"": every})
        assert waiting._file is not None
        status = os.fstat(waiting._file.fileno())
        assert (status.st_nlink, stat.S_IMODE(status.st_mode)) == (0, 0o600)
        assert not list(tmp_path.iterdir())
        waiting._file.seek(0)
        content = waiting._file.read()
        assert every.cell_key is not None
        for secret in (every.cell_key[:2], every.sums["rent"][:2], every.count.astype(np.int16)):
            assert secret.tobytes() not in content
        waiting._file.seek(len(content) // 2)
        waiting._file.write(bytes(8))
        assert waiting.keys() >= {"T"}
        assert not {"T"} - waiting.keys()
        with pytest.raises(InvalidTag):
            waiting["T"]


def test_a_release_does_not_depend_on_how_its_tables_wait(
    figures: Path, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of all cells, read from a file, is the same as one without cells that are hidden."""
    shutil.copy(finished / "figures.secret", figures.parent)
    text = figures.read_text("utf-8") + '[release]\nsecret_file = "figures.secret"\n'
    figures.write_text(text, encoding="utf-8")  # so that digests are printed
    protect(figures, tmp_path / "out", internal=tmp_path / "inside")
    monkeypatch.setattr(waiting_tables, "_AT_HAND", 0)
    monkeypatch.setattr(NoiseProtection, "cellwise", lambda *_: False)
    protect(figures, tmp_path / "again", internal=tmp_path / "inside again")
    assert b"perturbation_table" in (tmp_path / "out" / "thinned.json").read_bytes()
    for folder, again in (("out", "again"), ("inside", "inside again")):
        assert whole_content(tmp_path / folder) == whole_content(tmp_path / again)
