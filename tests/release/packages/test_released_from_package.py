"""Releases from a package of parameters: the same as from the files of the office."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from discreet.errors import DiscreetError
from discreet.release import protect, read_parameters
from discreet.release.packages import pack_parameters
from tests.helpers.firm_programmes import whole_content
from tests.helpers.made_elsewhere import without_package
from tests.helpers.programmes import editor
from tests.release.conftest import packed_figures


def test_a_package_gives_the_same_release_elsewhere(finished: Path, tmp_path: Path) -> None:
    """Other names of files, the same data and parameters: the same bytes and digests."""
    protect(packed_figures(finished, tmp_path / "elsewhere"), tmp_path / "third party")
    assert without_package(whole_content(tmp_path / "third party")) == without_package(
        whole_content(finished / "out")
    )


@pytest.mark.parametrize(
    ("old", "new", "key", "what"),
    [
        ('key_file = "package.key"', "", "parameters.key_file", "exactly one of"),
        ('package = "homes.dcparams"', 'package = "home.dcparams"', "package", "'homes.dcparams'"),
        ('package = "homes.dcparams"', "", "parameters.package", "package is missing"),
        ('key_file = "package.key"', 'passphrase_env = "NOT_SET"', "passphrase_env", "not set"),
        ("[variables.region]", "[perturbation]\n[variables.region]", "perturbation", "exclude"),
        ("[variables.region]", "[parts]\n[variables.region]", "parts", "exclude"),
        ('column = "record_key"', 'column = "record_key"\ngrid = 256', "keys.grid", "key grid"),
        ('of = "persons" }', 'of = "weight" }', "persons.of", "no noise for 'weight'"),
        ("min_average_size = 60", "min_average_size = -1", "parts.min_average_size", "at least 0"),
        (
            'column = "record_key"',
            'id = "record_key"',
            "keys.id",
            "the package has no secret for record keys",
        ),
    ],
)
def test_mistakes_with_packages(
    finished: Path, tmp_path: Path, old: str, new: str, key: str, what: str
) -> None:
    path = packed_figures(finished, tmp_path / "elsewhere")
    with pytest.raises(DiscreetError) as caught:
        protect(editor(path)((old, new)), tmp_path / "out")
    found = [str(problem) for problem in caught.value.problems]
    assert any(key in problem and what in problem for problem in found), found


def test_a_secret_that_is_handed_on_makes_the_same_keys(finished: Path, tmp_path: Path) -> None:
    """The data carry identifiers; only the package knows how to make keys of them."""
    path = packed_figures(finished, tmp_path / "elsewhere")
    office, data = finished / "figures.toml", tmp_path / "elsewhere" / "homes.parquet"
    homes = pl.read_parquet(data).drop("record_key").with_row_index("id")
    homes.write_parquet(data)
    (tmp_path / "secret.key").write_text("a secret that is long enough")
    (tmp_path / "secret.key").chmod(0o600)
    own = office.read_text("utf-8").replace(
        'column = "record_key"', 'id = "id"\nsecret_file = "secret.key"'
    )
    for name in ("ptable.json", "rent.csv", "region.csv"):
        shutil.copy(finished / name, tmp_path / name)
    shutil.copy(data, tmp_path / "dwellings.parquet")
    (tmp_path / "figures.toml").write_text(own, encoding="utf-8")
    pack_parameters(
        read_parameters(tmp_path / "figures.toml", with_secret=True),
        tmp_path / "elsewhere" / "homes.dcparams",
        statistic="homes",
        version="2",
        sign_key=None,
        key=tmp_path / "elsewhere" / "package.key",
        overwrite=True,
    )
    third = path.read_text("utf-8").replace('column = "record_key"', 'id = "id"')
    path.write_text(third, encoding="utf-8")
    protect(tmp_path / "figures.toml", tmp_path / "office")
    protect(path, tmp_path / "third party")
    assert without_package(whole_content(tmp_path / "third party")) == without_package(
        whole_content(tmp_path / "office")
    )
