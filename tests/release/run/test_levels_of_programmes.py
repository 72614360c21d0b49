"""Variables cut at a level: the same tables as from records with codes of that level."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import ProgrammeError
from discreet.release.cubes import build_store
from discreet.release.run.data_checks import check_release
from discreet.release.run.inputs import read_programme

PROGRAMME = """
[data]
source = "people.parquet"

[keys]
column = "record_key"

[perturbation]
table = "noise.csv"

[variables.region]
column = "town"
VARIABLE

TABLES
"""

NOISE = """
[tables.regions]
by = ["region", "sex"]
formats = ["parquet"]
"""

SUPPRESSED = """
[tables.regions]
by = ["region"]
protect = "suppress"
rules = "few"
formats = ["parquet"]

[rules.few]
minimum_frequency = 70
"""

HIERARCHY = "Code;Übergeordnet\n" + "".join(
    f"{state};\n" + "".join(
        f"{state}{district};{state}\n" + "".join(
            f"{state}{district}{town};{state}{district}\n" for town in "01"
        ) for district in "012"
    ) for state in "12"
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draw = np.random.default_rng(1)
    size = 400
    digits = ["12", "012", "01"]
    parts = [draw.choice(list(of), size) for of in digits]
    towns = ["".join(codes) for codes in zip(*parts, strict=True)]
    people = pl.DataFrame(
        {
            "town": towns,
            "state": [code[:1] for code in towns],
            "district": [code[:2] for code in towns],
            "sex": draw.choice(["m", "w"], size),
            "record_key": draw.integers(0, 10**15, size),
        }
    )
    people.write_parquet(tmp_path / "people.parquet")
    (tmp_path / "regions.csv").write_text(HIERARCHY, encoding="utf-8")
    dc.design_perturbation(max_noise=3, variance=1.5).write(tmp_path / "noise.csv")
    return tmp_path


def programme(folder: Path, variable: str, tables: str = NOISE) -> Path:
    place = folder / "p.toml"
    text = PROGRAMME.replace("VARIABLE", variable).replace("TABLES", tables)
    place.write_text(text if "levels" not in variable else text.replace('column = "town"\n', ""))
    return place


def published(folder: Path, variable: str, tables: str = NOISE) -> pl.DataFrame:
    place = programme(folder, variable, tables)
    check_release(place)
    out = folder / f"release-{len(list(folder.iterdir()))}"
    dc.protect(place, out)
    return pl.read_parquet(out / "regions.parquet")


@pytest.mark.parametrize("tables", [NOISE, SUPPRESSED], ids=["noise", "suppressed"])
@pytest.mark.parametrize(
    "variable",
    [
        'hierarchy = "regions.csv"\nlevel = 2',
        "prefixes = [1, 2, 3]\nlevel = 2",
        'levels = ["state", "district", "town"]\nlevel = "district"',
        'levels = ["state", "district", "town"]\nlevel = 2',
    ],
)
def test_finer_levels_do_not_appear(folder: Path, variable: str, tables: str) -> None:
    expected = published(folder, 'levels = ["state", "district"]', tables)
    assert set(map(len, expected["region"])) == {1, 2, len("Total")}
    assert published(folder, variable, tables).equals(expected)


def test_codes_beyond_the_hierarchy_are_still_refused(folder: Path) -> None:
    lines = HIERARCHY.splitlines(keepends=True)
    (folder / "regions.csv").write_text("".join(line for line in lines if line[:3] != "111"))
    place = programme(folder, 'hierarchy = "regions.csv"\nlevel = 2')
    with pytest.raises(ProgrammeError, match="111"):
        check_release(place)


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ('hierarchy = "regions.csv"\nlevel = 4', "no level 4"),
        ('hierarchy = "regions.csv"\nlevel = "district"', "no level 'district'"),
        ("prefixes = [1, 2, 3]\nlevel = 4", "no level 4"),
        ('levels = ["state", "district"]\nlevel = "town"', "no level 'town'"),
        ('codes = ["1"]\nlevel = 1', "needs hierarchy, levels, prefixes or squares"),
    ],
)
def test_levels_that_are_not_there_are_mistakes(folder: Path, variable: str, message: str) -> None:
    with pytest.raises(ProgrammeError, match=message):
        read_programme(programme(folder, variable))


def test_a_store_has_the_codes_of_the_level(folder: Path) -> None:
    expected = published(folder, 'hierarchy = "regions.csv"\nlevel = 2')
    build_store(folder / "p.toml", folder / "people.store")
    text = (folder / "p.toml").read_text()
    text = text.replace('source = "people.parquet"', 'store = "people.store"')
    (folder / "p.toml").write_text(text)
    dc.protect(folder / "p.toml", folder / "again")
    assert pl.read_parquet(folder / "again" / "regions.parquet").equals(expected)


def test_a_store_without_the_codes_of_the_level_is_refused(folder: Path) -> None:
    build_store(programme(folder, 'hierarchy = "regions.csv"'), folder / "people.store")
    place = programme(folder, 'hierarchy = "regions.csv"\nlevel = 2')
    place.write_text(
        place.read_text().replace('source = "people.parquet"', 'store = "people.store"')
    )
    with pytest.raises(ProgrammeError, match="no column 'town up to level 2'"):
        dc.protect(place, folder / "again")


def test_a_missing_column_is_named_once(folder: Path) -> None:
    place = programme(folder, 'hierarchy = "regions.csv"\nlevel = 2')
    place.write_text(place.read_text().replace('"town"', '"twn"'))
    with pytest.raises(ProgrammeError, match="no column 'twn'") as caught:
        check_release(place)
    assert len(caught.value.problems) == 1
