"""A yearly programme says which period it is, and whose keys stay; releases remember it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.demo.panel import panel
from discreet.errors import DiscreetError

PROGRAMME = """
[data]
source = "{year}.parquet"
[keys]
column = "record_key"
[period]
name = "{year}"
keys = "{option}"
{more}
[perturbation]
table = "ptable.json"
[defaults]
formats = ["csv"]
[tables.T1]
by = ["area"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two years of a panel with keys of changed units."""
    dc.design_perturbation(max_noise=3, variance=2).write(tmp_path / "ptable.json")
    previous = None
    for year, frame in panel(1_000, 2).items():
        previous = dc.with_period_keys(
            frame, id="person", secret="the secret of these tests", period=year, option="changed",
            watched=["area", "sex"], previous=previous, first=previous is None,
        )  # fmt: skip
        previous.write_parquet(tmp_path / f"{year}.parquet")
    return tmp_path


def made(folder: Path, year: str, option: str = "changed", more: str = "", out: str = "") -> Any:
    path = folder / f"{year}.toml"
    path.write_text(PROGRAMME.format(year=year, option=option, more=more))
    return dc.protect(path, folder / (out or f"release-{year}"))


def test_one_year_follows_another(folder: Path) -> None:
    made(folder, "2021")
    made(folder, "2022", more='earlier = ["release-2021"]')
    made(folder, "2022", more='earlier = ["release-2021"]')  # and again
    more = 'earlier = ["release-2021", "release-2022"]\nrevision = true'
    made(folder, "2022", more=more, out="release-2022-revised")


REFUSED = [
    ("same", 'earlier = ["release-2021"]', "option 'changed', not 'same'"),
    ("same", "", "the keys are not permanent"),
    ("changed", 'earlier = ["release-2022"]', "the period '2022' is published already"),
    ("changed", 'earlier = ["release-2021"]\nrevision = true', "no earlier release of"),
    ("changed", "revision = true", "a revision needs an earlier release"),
    ("changed", 'earlier = ["nowhere"]', "file 'nowhere' not found"),
    ("changed", 'earlier = ["silent"]', "the release lacks its period"),
    ("sometimes", "", "period.keys"),
]


def test_what_does_not_follow_is_refused(folder: Path) -> None:
    for year in ("2021", "2022"):
        made(folder, year)
    text = PROGRAMME.format(year="2021", option="changed", more="")
    start, end = text.index("[period]"), text.index("[perturbation]")
    (folder / "silent.toml").write_text(text[:start] + text[end:])
    dc.protect(folder / "silent.toml", folder / "silent")
    for option, more, message in REFUSED:
        with pytest.raises(DiscreetError, match=message):
            made(folder, "2022", option, more, out="release-new")
        assert not (folder / "release-new").exists()


def test_a_folder_holds_one_period(folder: Path) -> None:
    made(folder, "2021")
    before = sorted((path, path.read_bytes()) for path in (folder / "release-2021").glob("*.csv"))
    with pytest.raises(
        DiscreetError, match="the folder contains the release of '2021', with keys of the"
    ):
        dc.protect(_named(folder, "2022", "2021.toml"), folder / "release-2021")
    after = sorted((path, path.read_bytes()) for path in (folder / "release-2021").glob("*.csv"))
    assert before == after


def _named(folder: Path, year: str, name: str) -> Path:
    (folder / name).write_text(PROGRAMME.format(year=year, option="changed", more=""))
    return folder / name


def test_keys_that_are_made_on_the_way_stay(folder: Path) -> None:
    text = PROGRAMME.format(year="2021", option="period", more="")
    text = text.replace('column = "record_key"', 'id = "person"\nsecret_env = "NO_SUCH_SECRET"')
    (folder / "made.toml").write_text(text)
    with pytest.raises(DiscreetError, match="keys of the option 'period' must be in the data"):
        dc.protect(folder / "made.toml", folder / "release")
