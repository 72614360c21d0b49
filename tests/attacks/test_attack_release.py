"""An attacker plants files, uses small data, or names confidential columns."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.errors import ProgrammeError, PublicationError

PROGRAMME = """
[data]
source = "records.csv"
[keys]
column = "key"
grid = 256
[perturbation]
table = "ptable.json"
[defaults]
formats = ["csv", "json"]
[tables.T1]
by = ["sex"]
"""


@pytest.fixture
def programme(tmp_path: Path) -> Path:
    frame = pl.DataFrame(
        {"sex": ["m", "w", "m", "w"], "key": [1, 2, 200, 255], "w": [4.0, 5.0, 3.0, 7.0]}
    )
    frame.write_csv(tmp_path / "records.csv")
    table = dc.PerturbationTable.from_rows({0: {0: 1}, 1: {-1: "0.5", 1: "0.5"}, 2: {1: 1}})
    table.write(tmp_path / "ptable.json")
    path = tmp_path / "programme.toml"
    path.write_text(PROGRAMME)
    return path


def test_a_planted_memory_reaches_no_file_outside(programme: Path, tmp_path: Path) -> None:
    victim, out = tmp_path / "victim.txt", tmp_path / "out"
    victim.write_text("keep me")
    dc.protect(programme, out)
    for names in (["../victim.txt"], [str(victim)], [".."], [".discreet"], [""], [7]):
        memory = {"version": 1, "programme": programme.name, "planned": names, "files": {}}
        (out / ".discreet" / "T9.json").write_text(json.dumps(memory))
        dc.protect(programme, out)
        assert victim.read_text() == "keep me"
    assert (out / "T1.csv").exists()


def test_a_link_in_place_of_the_memory_is_refused(programme: Path, tmp_path: Path) -> None:
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    out.mkdir()
    (out / ".discreet").symlink_to(elsewhere)
    with pytest.raises(PublicationError, match="not a folder but a link"):
        dc.protect(programme, out)
    assert not list(elsewhere.iterdir())


def test_few_records_on_a_small_grid_publish_no_digests(programme: Path, tmp_path: Path) -> None:
    """Four keys of 256 could be found by trial from a digest."""
    dc.protect(programme, tmp_path / "out")
    release = json.loads((tmp_path / "out" / "release.json").read_text())
    assert release["tables"][0]["digests"] == {}
    assert json.loads((tmp_path / "out" / "T1.json").read_text())["provenance"]["digests"] == {}


def test_record_keys_span_and_weigh_no_table(programme: Path, tmp_path: Path) -> None:
    for change in ('by = ["key"]', 'by = ["sex"]\nweight = "key"'):
        programme.write_text(PROGRAMME.replace('by = ["sex"]', change))
        with pytest.raises(
            ProgrammeError, match="contains keys or identifiers and cannot be used in tables"
        ):
            dc.protect(programme, tmp_path / "out")
    assert not (tmp_path / "out").exists()
