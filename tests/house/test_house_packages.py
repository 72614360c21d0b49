"""What people install: the same bytes each time, and it runs where nothing else is."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.microdata import Secret
from discreet.release.packages.keys import write_key_pair
from tests.helpers.places import ROOT
from tests.house.test_house_scripts import script

#: Licences that go with Apache-2.0 in a program; copyleft of whole programs is not among them.
HARMLESS = re.compile(r"MIT|BSD|Apache|PSF|Python Software Foundation|ISC|MPL|Zlib|0BSD|CC0|HPND")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    packages = script("packages")
    files = packages.build(folder)
    (folder / packages.SUMS).write_text(packages.sums_of(files))
    return folder


@pytest.mark.exhaustive
def test_two_builds_have_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    script("packages").build(tmp_path)
    made = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert len(made) == 3
    assert all((dist / name).read_bytes() == content for name, content in made.items())


@pytest.mark.exhaustive
def test_the_wheel_runs_where_nothing_of_the_repository_is(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    place = tmp_path / "installed"
    words = ["pip", "install", "--quiet", "--no-index", "--no-deps", f"--target={place}", wheel]
    subprocess.run([sys.executable, "-m", *words], check=True)
    frame = pl.DataFrame({"person": range(60), "sex": ["m", "w", "w"] * 20})
    frame.write_csv(tmp_path / "persons.csv")
    Secret.generate().write(tmp_path / "secret.key")
    table = [[0, 0, 1, 1, 1], [0, 0.3, 0.6, 0.9, 1]]
    dc.PerturbationTable.from_cumulative(table, noise=range(-2, 3)).write(tmp_path / "p.json")
    settings = {**os.environ, "PYTHONPATH": str(place)}
    line = ["protect", "persons.csv", "--by", "sex", "--ptable", "p.json", "--id", "person"]
    for words in (["--version"], [*line, "--secret", "secret.key", "--out", "table.xlsx"]):
        command = [sys.executable, "-P", "-m", "discreet", *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "table.xlsx").stat().st_size > 1_000
    where = "import discreet; print(discreet.__file__)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", where], cwd=tmp_path, env=settings, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert Path(done.stdout.strip()).is_relative_to(place)


@pytest.mark.exhaustive
def test_wheel_and_archive_hold_all_that_is_needed_and_no_more(dist: Path) -> None:
    (wheel,), (archive,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as opened:
        inside = set(opened.namelist())
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for package in ("discreet", "discreet_argus", "discreet_fire", "discreet_service")
        for path in (source / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in inside if "dist-info" not in name} == wanted
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {"pyproject.toml", "constraints.txt", "LICENSE", "R/discreet/NAMESPACE"} <= names
    assert not any(name.startswith(("tests/", ".")) for name in names)


def test_the_bill_lists_what_is_pinned_under_harmless_licences() -> None:
    bill = script("packages").bill_of_materials()
    assert bill == script("packages").bill_of_materials()
    names = {part["name"] for part in bill["components"]}
    assert {"numpy", "polars", "pydantic-core"} <= names
    assert not {"pytest", "mypy", "pandas", "great-tables", "duckdb", "pyarrow"} & names
    refs = {each["ref"] for each in bill["dependencies"]}
    assert refs == {"discreet", *names}
    for part in bill["components"]:
        licence = part["licenses"][0]["license"]["name"]
        assert HARMLESS.search(licence), (part["name"], licence)
        assert "GPL" not in licence.replace("LGPL", ""), part["name"]
    json.dumps(bill)


def test_checksums_are_held_to_their_signature(tmp_path: Path) -> None:
    packages = script("packages")
    (tmp_path / "a.whl").write_text("one")
    (tmp_path / packages.SUMS).write_text(packages.sums_of([tmp_path / "a.whl"]))
    office, other = write_key_pair(tmp_path / "office"), write_key_pair(tmp_path / "other")
    assert packages.verify(tmp_path, office.public)
    packages.sign(tmp_path, office.signing)
    assert packages.verify(tmp_path, office.public) == []
    assert "not signed by this key" in packages.verify(tmp_path, other.public)[0]
    (tmp_path / "a.whl").write_text("two")
    assert packages.verify(tmp_path, office.public) == ["a.whl is not as it was signed"]
    (tmp_path / packages.SUMS).write_text(packages.sums_of([tmp_path / "a.whl"]))
    assert "not signed by this key" in packages.verify(tmp_path, office.public)[0]
    (tmp_path / "a.whl").unlink()
    assert packages.verify(tmp_path, office.public)
