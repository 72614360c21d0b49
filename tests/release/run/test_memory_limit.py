"""Programmes keep to the memory that they are allowed, or end without a release."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from discreet import memory_limit as memory_limit_module
from discreet.cli.commands import app
from discreet.errors import MicrodataError
from discreet.memory_limit import batch_size, check_memory, limited_memory, memory_limit
from discreet.microdata import identifiers
from discreet.microdata.frames import open_frame
from discreet.microdata.identifiers import check_identifiers
from discreet.release import protect
from discreet.tabulation import Query, batches, memory, tabulate_many
from tests.release.test_cubes import tables_of


@pytest.mark.parametrize("passes", [1, 3, 8])
@pytest.mark.parametrize("text", [False, True], ids=["numbers", "texts"])
def test_repeated_identifiers_are_found_in_any_number_of_passes(
    passes: int, text: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,000 records, of which 300 share an identifier; each pass compares a part of them."""
    numbers = np.concatenate([np.arange(1_700), np.arange(0, 1_500, 10), np.arange(1, 1_500, 10)])
    column = pl.Series("id", np.random.default_rng(1).permutation(numbers))
    frame = pl.LazyFrame({"id": column.cast(pl.String) if text else column})
    allowed = int(len(numbers) * identifiers._BYTES / (identifiers._SHARE * passes)) + 1
    monkeypatch.setattr(identifiers, "memory_allowed", lambda: allowed)
    read = []
    made = identifiers._twice
    monkeypatch.setattr(identifiers, "_twice", lambda *args: read.append(args[2]) or made(*args))
    with pytest.raises(MicrodataError, match="600 of 2,000 records have a repeated identifier"):
        check_identifiers(open_frame(frame), ["id"])
    assert read == list(range(passes))
    read.clear()
    check_identifiers(open_frame(frame.unique()), ["id"])
    assert read


@pytest.fixture
def little_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process of its own: tests before may have left this one with a gigabyte."""
    before = memory_limit_module.held()
    now = memory_limit_module.held
    monkeypatch.setattr(memory_limit_module, "held", lambda: max(now() - before, 0))


@pytest.mark.usefixtures("little_held")
def test_a_limit_gives_the_same_release(programme: Path, tmp_path: Path) -> None:
    protect(programme, tmp_path / "free")
    protect(programme, tmp_path / "limited", memory="2GB")
    assert tables_of(tmp_path / "limited") == tables_of(tmp_path / "free")
    assert memory_limit() is None


@pytest.mark.exhaustive
def test_a_run_that_takes_more_ends_without_a_release(programme: Path, tmp_path: Path) -> None:
    held = np.ones(700 * 2**20, dtype=np.int8)  # by which the process is over it already
    with pytest.raises(MicrodataError, match=r"the run needs more memory than the limit of 0"):
        protect(programme, tmp_path / "out", memory="500MB")
    assert held.sum() == held.size
    assert not list((tmp_path / "out").glob("*.csv"))


@pytest.mark.usefixtures("little_held")
def test_batches_follow_the_limit() -> None:
    with limited_memory("1GB"):
        assert batch_size(2**21) == 250_000
        check_memory("records")
    assert batch_size(2**21) == 2**21


@pytest.mark.parametrize(("room", "held"), [(1, [1] * 8), (200, [2, 3, 1, 1, 1]), (10**6, [4, 4])])
def test_as_many_cubes_as_there_is_room_for_come_from_one_reading(
    room: int, held: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(3)
    columns = {
        name: draw.integers(0, codes, 5_000)
        for name, codes in {"a": 2, "b": 3, "c": 7, "d": 40}.items()
    }
    people = pl.DataFrame(columns | {"key": draw.integers(0, 10**15, 5_000)})
    sets = [["a", "d"], ["b", "d"], ["c", "d"], ["a", "b", "c"]]
    asked = [Query(by=by, where=where) for by in sets for where in (None, "a == 1")]
    expected = tabulate_many(people, asked, record_key="key")
    readings = []
    made = batches._read_once
    monkeypatch.setattr(batches, "_read_once", lambda *a: readings.append(made(*a)) or readings[-1])
    monkeypatch.setattr(batches, "cells_room", lambda: room)
    monkeypatch.setattr(memory, "read_ahead", lambda most: 0)
    monkeypatch.setattr(batches.BatchEngine, "suits", lambda *_: True)
    found = tabulate_many(people.lazy(), asked, record_key="key")
    for one, other in zip(found, expected, strict=True):
        assert one.to_polars().equals(other.to_polars())
    assert [len(cubes) for cubes in readings] == held


@pytest.mark.parametrize("size", ["lots", "4", "-1GB", "1 MB"])
def test_what_is_no_amount_of_memory_is_refused(size: str, programme: Path) -> None:
    done = CliRunner().invoke(app, ["protect", str(programme), "--memory", size, "--out", "out"])
    assert done.exit_code == 2
    assert "500MB" in done.stderr


HEAPS = """
import ctypes, sys, threading
from discreet.memory_limit import share_heap
if "share" in sys.argv:
    share_heap()
held, ready = [], threading.Barrier(6)
def work():
    ready.wait()
    held.append([bytes(1000 + at) for at in range(1000)])
    ready.wait()
threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
ctypes.CDLL(None).malloc_stats()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="heaps are those of the library of Linux")
def test_threads_share_a_heap() -> None:
    def heaps(*words: str) -> int:
        command = [sys.executable, "-c", HEAPS, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stderr.count("Arena ")

    assert heaps("share") == 1 < heaps()
