"""A programme whose record keys are none is refused before any work, or says so everywhere."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.commands import app
from discreet.errors import ProgrammeError
from discreet.release import check_release

PROGRAMME = """
[data]
source = "persons.parquet"

[keys]
column = "record_key"

[perturbation]
table = "ptable.csv"

[variables.sex]

[tables.T1]
by = ["sex"]
formats = ["csv", "html"]
"""
COUNT = 2000
RNG = np.random.default_rng(8)
PROPER = RNG.integers(0, 10**15, COUNT)


def folder_with(tmp_path: Path, keys: np.ndarray, text: str = PROGRAMME) -> Path:
    sex = RNG.choice(["m", "w"], len(keys))
    pl.DataFrame({"sex": sex, "record_key": keys}).write_parquet(tmp_path / "persons.parquet")
    dc.design_perturbation(max_noise=3, variance=1).write(tmp_path / "ptable.csv")
    path = tmp_path / "programme.toml"
    path.write_text(text)
    return path


def test_an_identifier_is_refused_with_its_line(tmp_path: Path):
    path = folder_with(tmp_path, np.arange(COUNT))
    for refused in (check_release, lambda path: dc.protect(path, out=tmp_path / "out")):
        with pytest.raises(ProgrammeError, match="does not contain record keys"):
            refused(path)
    assert not (tmp_path / "out").exists()
    result = CliRunner().invoke(app, ["protect", str(path), "--check"])
    assert result.exit_code == 2
    assert "in order" not in result.output


def test_the_grid_that_fits_is_named(tmp_path: Path):
    path = folder_with(tmp_path, RNG.integers(0, 2**32, COUNT))
    with pytest.raises(ProgrammeError, match=r"2\^32"):
        check_release(path)
    path.write_text(PROGRAMME.replace('"record_key"', '"record_key"\ngrid = "2^32"'))
    check_release(path)


def test_an_override_is_named_in_the_release(tmp_path: Path):
    text = PROGRAMME.replace('"record_key"', '"record_key"\nallow_unsuitable = true')
    path = folder_with(tmp_path, np.arange(COUNT), text)
    summary = dc.protect(path, out=tmp_path / "out")
    assert any("give no protection" in warning for warning in summary.warnings)
    manifest = json.loads((tmp_path / "out" / "release.json").read_text())
    assert manifest["unsuitable_record_keys"] == ["data"]
    pages = [page.read_text() for page in (tmp_path / "out").rglob("*.html")]
    assert any("record keys of these values are not random" in page for page in pages)


def test_proper_keys_leave_no_trace(tmp_path: Path):
    path = folder_with(tmp_path, PROPER)
    summary = dc.protect(path, out=tmp_path / "out")
    assert not any("record keys" in warning for warning in summary.warnings)
    assert "record_keys" not in (tmp_path / "out" / "release.json").read_text()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (RNG.integers(0, 10**8, COUNT) * 10**7, "coarse: they use 100,000,000 points"),
        (PROPER[:500], "the test of the keys is weak: 500 records"),
        (PROPER[:20], "too few records (20)"),
    ],
)
def test_the_check_says_what_the_test_could_see(tmp_path: Path, keys: np.ndarray, said: str):
    path = folder_with(tmp_path, keys)
    result = CliRunner().invoke(app, ["protect", str(path), "--check"])
    assert result.exit_code == 0
    assert said in " ".join(result.output.split())


def test_only_keys_in_the_data_can_be_allowed(tmp_path: Path):
    text = PROGRAMME.replace('column = "record_key"', 'id = "record_key"\nallow_unsuitable = true')
    path = folder_with(tmp_path, np.arange(COUNT), text)
    with pytest.raises(ProgrammeError, match="allow_unsuitable"):
        check_release(path)
