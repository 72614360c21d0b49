"""Data that a run saves keep, for later runs, what rests on values of single persons."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import polars as pl
import pytest

from discreet_fire.runners.builtin.data.data_files import NOTES, marks_of
from discreet_fire.runners.builtin.language.errors import DoError
from discreet_fire.runners.builtin.runner import run_do

TOP = 91_777
FRAME = pl.DataFrame(
    {
        "pid": list(range(60)),
        "region": [who % 4 for who in range(60)],
        "wage": [TOP if who == 17 else 2_000 + 13 * who for who in range(60)],
    }
)
FIRST = """
egen m = max(wage)
generate plain = wage / 100
save inner, replace
"""


def log_of(folder: Path, text: str, data: Path | None) -> str:
    (folder / "p.do").write_text(text)
    result = run_do(folder / "p.do", data=data, entity="pid")
    return result.log + str(result.error or "")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder with data that a first run has saved."""
    FRAME.write_parquet(tmp_path / "d.parquet")
    log_of(tmp_path, FIRST, tmp_path / "d.parquet")
    assert (tmp_path / "inner.dta").exists()
    return tmp_path


LATER = "\nsummarize m\ntabulate m\ngenerate z = plain - m\nsummarize z\nsummarize plain\n"


def test_a_later_run_does_not_show_them(saved: Path) -> None:
    log = log_of(saved, "use inner, clear" + LATER, saved / "d.parquet")
    assert str(TOP) not in log
    assert log.count("(withheld)") >= 3
    # What does not rest on one value is shown as ever.
    assert f"{FRAME['wage'].mean() / 100:.5f}"[:6] in log


def test_nor_if_the_file_is_given_to_it_or_has_another_name(saved: Path) -> None:
    shutil.copyfile(saved / "inner.dta", saved / "other.dta")
    for name in ("inner.dta", "other.dta"):
        log = log_of(saved, LATER, saved / name)
        assert str(TOP) not in log
        assert log.count("(withheld)") >= 3
    merged = "merge 1:1 pid using other, nogenerate\ngenerate z = m\nsummarize z"
    assert str(TOP) not in log_of(saved, merged, saved / "d.parquet")


def test_notes_name_variables_only_and_are_private(saved: Path) -> None:
    place = saved / NOTES
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    (note,) = json.loads(place.read_text()).values()
    assert note["variables"] == ["m"]
    assert str(TOP) not in place.read_text()
    assert marks_of(saved / "inner.dta")[0] == {"m"}


def test_damaged_notes_stop_the_run(saved: Path) -> None:
    (saved / NOTES).write_text("{not json")
    with pytest.raises(DoError, match="cannot be read"):
        log_of(saved, "summarize plain", saved / "inner.dta")
    log = log_of(saved, "use inner, clear\nsummarize plain", None)
    assert "cannot be read" in log
    assert "Std" not in log


def test_data_without_such_values_need_no_notes(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "d.parquet")
    log_of(tmp_path, "generate double x = wage * 2\nsave inner", tmp_path / "d.parquet")
    assert not (tmp_path / NOTES).exists()
    assert marks_of(tmp_path / "inner.dta") == (frozenset(), frozenset())
