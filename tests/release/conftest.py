"""A small census and a programme over it, for the tests of releases."""

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.protection.noise import PerturbationTable, design_magnitude_perturbation
from discreet.release import protect, read_parameters
from discreet.release.packages import pack_parameters
from tests.helpers.firm_programmes import FIRST, LATER, write
from tests.helpers.programmes import Edit, editor

PROGRAMME = """\
title = { en = "Small census", de = "Kleiner Zensus" }
languages = ["en", "de"]
date = "2026-11-21"

[data]
source = "persons.parquet"

[keys]
column = "record_key"

[perturbation]
table = "ptable.json"

[variables.region]
column = "municipality"
prefixes = [1, 2]
label = { en = "Region", de = "Region" }

[variables.ages]
column = "age"
intervals = [0, 18, 65]

[variables.sex]
codes = ["m", "w"]
labels.m = { en = "male", de = "männlich" }
labels.w = { en = "female", de = "weiblich" }

[defaults]
formats = ["csv", "html"]

[tables.T1]
by = ["region", "sex"]
title = { en = "Population by region and sex", de = "Bevölkerung" }

[tables.T2]
by = ["ages", "sex"]
where = "age >= 18"

[tables.T3]
by = ["nationality"]
"""


def persons(number: int = 500) -> pl.DataFrame:
    """Persons with keys, the same ones every time."""
    draw = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "person_id": np.arange(number),
            "municipality": draw.choice(["11", "12", "13", "21", "22"], number),
            "sex": draw.choice(["m", "w"], number),
            "age": draw.integers(0, 99, number),
            "nationality": draw.choice(np.array(["a", "b", None]), number, p=[0.8, 0.1, 0.1]),
            "weight": draw.uniform(0.5, 2, number),
            "record_key": draw.integers(0, 10**15, number),
        }
    )


def perturbation_table() -> PerturbationTable:
    """Noise of −1, 0 and 1."""
    noise = {-1: 0.25, 0: 0.5, 1: 0.25}
    return PerturbationTable.from_rows({0: {0: 1}, 1: noise, 2: noise, 3: noise})


def census_in(folder: Path) -> Path:
    """Data, perturbation table and programme; gives the programme."""
    persons().write_parquet(folder / "persons.parquet")
    perturbation_table().write(folder / "ptable.json")
    (folder / "programme.toml").write_text(PROGRAMME, encoding="utf-8")
    return folder / "programme.toml"


def published_counts(path: Path) -> dict[tuple[str, ...], int]:
    """The cells of a table by their codes."""
    frame = pl.read_csv(path, infer_schema=False)
    names = [name for name in frame.columns if f"{name}_label" in frame.columns]
    return {row[:-1]: int(row[-1]) for row in frame.select(*names, "value").iter_rows()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with data, perturbation table and programme."""
    return census_in(tmp_path).parent


@pytest.fixture
def programme(folder: Path) -> Path:
    """The programme file."""
    return folder / "programme.toml"


@pytest.fixture
def edited(programme: Path) -> Edit:
    """Replace texts in the programme: edited(("old", "new"), …) gives its path."""
    return editor(programme)


@pytest.fixture(scope="session")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programme with its release in "out"; only to be read."""
    folder = tmp_path_factory.mktemp("census")
    protect(census_in(folder), folder / "out")
    return folder


@pytest.fixture
def out(folder: Path, census: Path) -> Path:
    """The release of the programme in its folder, made once and copied."""
    shutil.copytree(census, folder, dirs_exist_ok=True)
    return folder / "out"


FIGURES = """\
title = { en = "Dwellings", de = "Wohnungen" }
languages = ["en", "de"]
workbook = "tables.xlsx"

[data]
source = "dwellings.parquet"

[keys]
column = "record_key"

[perturbation]
table = "ptable.json"
decimals = 1

[magnitudes.rent]
table = "rent.csv"
of = "top"
chance = 1
top = 2
epsilon = [1, 0.5]
strength = { kind = "flex", point = 1000, small = 0.2, large = 0.03, exponent = 2 }
publish = "means"

[magnitudes.persons]
table = "rent.csv"
strength = { kind = "simple", share = 0.1 }
chance = 1

[figures]
bracket_above = 0.15

[variables.region]
column = "municipality"
hierarchy = "region.csv"

[variables.year]
codes = ["2011", "2015", "2022"]

[defaults]
formats = ["csv", "json"]

[tables.rents]
by = ["region", "year"]
title = { en = "Rents", de = "Mieten" }

[tables.rents.figures]
all = { kind = "count", title = { en = "Dwellings", de = "Wohnungen" } }
rented = { kind = "count", where = "tenure == 'rented'" }
vacant = { kind = "count", where = "tenure == 'vacant'", hidden = true }
total = { kind = "sum", of = "rent" }
rent = { kind = "mean", of = "rent", decimals = 2, unit = "EUR", where = "tenure == 'rented'" }
persons = { kind = "sum", of = "persons" }
vacancy = { kind = "share", part = "vacant", whole = "all", decimals = 1 }
structure = { kind = "share", part = "all", over = ["year"] }
density = { kind = "ratio", part = "persons", whole = "all" }
rate = { kind = "per_thousand", part = "vacant", whole = "all" }
growth = { kind = "change", part = "rented", whole = "vacant" }
surplus = { kind = "balance", part = "rented", whole = "vacant" }
price = { kind = "index", part = "rent", base = { year = "2015" } }

[[tables.rents.notes]]
cells = { region = "11" }
text = { en = "Boundary changed in 2015.", de = "Gebietsstand geändert 2015." }

[tables.thinned]
by = ["region", "year"]
where = "tenure != 'vacant'"
universe = "Occupied dwellings"

[tables.thinned.parts]
min_average_size = 60

[tables.weighted]
by = ["region"]
weight = "weight"

[tables.weighted.figures]
homes = { kind = "count" }
rent = { kind = "mean", of = "rent" }

[tables.plain]
by = ["year"]
"""

REGIONS = """\
child,parent
Total,
1,Total
2,Total
11,1
12,1
21,2
22,2
"""


def dwellings(number: int = 600) -> pl.DataFrame:
    """Dwellings with keys, rents and a few missing values, the same ones every time."""
    draw = np.random.default_rng(11)
    rent = np.round(draw.lognormal(6.5, 0.5, number), 2)
    return pl.DataFrame(
        {
            "municipality": draw.choice(["11", "12", "21", "22"], number, p=[0.5, 0.3, 0.19, 0.01]),
            "year": draw.choice(["2011", "2015", "2022"], number),
            "tenure": draw.choice(["rented", "owned", "vacant"], number, p=[0.6, 0.3, 0.1]),
            "rent": pl.Series(rent).set(pl.Series(draw.random(number) < 0.1), None),
            "persons": draw.integers(0, 6, number),
            "weight": draw.uniform(0.5, 2, number),
            "record_key": draw.integers(0, 10**15, number),
        }
    )


def figures_in(folder: Path) -> Path:
    """A programme with key figures of every kind, thinned parts, weights and remarks."""
    dwellings().write_parquet(folder / "dwellings.parquet")
    perturbation_table().write(folder / "ptable.json")
    design_magnitude_perturbation(2, 1, classes=(1, 2), step=4).write(folder / "rent.csv")
    (folder / "region.csv").write_text(REGIONS, encoding="utf-8")
    path = folder / "figures.toml"
    path.write_text(FIGURES, encoding="utf-8")
    return path


@pytest.fixture
def figures(tmp_path: Path) -> Path:
    """The programme of figures, to be changed or not."""
    return figures_in(tmp_path)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programme of figures with its release in "out"; only to be read."""
    folder = tmp_path_factory.mktemp("figures")
    protect(figures_in(folder), folder / "out", internal=folder / "inside")
    return folder


def packed_text(programme: Path, folder: Path, more: str = "") -> str:
    """A programme whose parameters stand in a package in a folder."""
    key = folder / "package.key"
    key.write_text("ab" * 32)
    key.chmod(0o600)
    parameters, package = read_parameters(programme), folder / "homes.dcparams"
    pack_parameters(parameters, package, statistic="homes", version="1", sign_key=None, key=key)
    text = programme.read_text("utf-8")
    start, end = text.index("[perturbation]"), text.index("[variables.region]")
    section = '[parameters]\npackage = "homes.dcparams"\nkey_file = "package.key"\n'
    return text[:start] + section + f"allow_unsigned = true\n{more}\n" + text[end:]


def packed_figures(folder: Path, elsewhere: Path, more: str = "") -> Path:
    """The parameters of the programme of figures as a package, and a programme that uses it."""
    elsewhere.mkdir()
    shutil.copy(folder / "dwellings.parquet", elsewhere / "homes.parquet")
    shutil.copy(folder / "region.csv", elsewhere / "regions.csv")
    for secret in folder.glob("figures.secret"):  # what the programme's digests are keyed with
        shutil.copy(secret, elsewhere)
    text = packed_text(folder / "figures.toml", elsewhere, more)
    text = text.replace("dwellings.parquet", "homes.parquet").replace("region.csv", "regions.csv")
    (elsewhere / "figures.toml").write_text(text, encoding="utf-8")
    return elsewhere / "figures.toml"


@pytest.fixture(scope="session")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of firms with hidden cells and a later one; only to be read."""
    folder = tmp_path_factory.mktemp("hidden")
    protect(write(folder, "first.toml", FIRST), folder / "first", internal=folder / "inside")
    protect(write(folder, "later.toml", LATER), folder / "later")
    return folder


@pytest.fixture
def hidden_copy(hidden: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    shutil.copytree(hidden, tmp_path / "copy")
    return tmp_path / "copy"
