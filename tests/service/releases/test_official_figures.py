"""Official figures of a data set in programmes over it, whatever spans their own tables."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from discreet.errors import DiscreetError
from discreet.release.run.release import carry_out
from discreet_service.datasets.versions import DataVersion, open_version
from discreet_service.releases.programmes import opened_inputs
from tests.service.releases.conftest import programme_text

DATASET = """
[dataset]
id = "census"
version = "2026-1"
title = { en = "Census" }
public_codes = ["occupation"]

[units.person]
source = "persons"

[units.dwelling]
source = "dwellings"
"""
#: `tenure` is no entry of [variables]: only that a table is spanned by it makes it known.
OWN = """
[defaults]
formats = ["csv"]
official = "sex == 'Total' and age == 'Total' and age5 == 'Total' and region.level <= 1"

[tables.population]
by = ["region", "sex"]

[tables.ages]
by = ["age", "age5"]

[tables.dwellings]
from = "dwellings"
by = ["region", "tenure"]
"""
ASKED = """
dataset = "census"

[defaults]
formats = ["csv"]

[tables.regions]
by = ["region"]

[tables.legal_ages]
by = ["state", "legal_age"]

[tables.adults]
by = ["region"]
where = "age >= 18"

[tables.homes]
from = "dwellings"
by = ["region"]
"""


def data_set(office: Path, folder: Path, own: str = OWN) -> Path:
    place = folder / "census-2026-1"
    shutil.copytree(office, place)
    text = programme_text(place, own).replace('[release]\nsign = "office.key"', "")
    homes = 'keys = { id = "dwelling_id" }'
    assert homes in text
    text = text.replace(homes, f"{homes}\nofficial = \"tenure == 'Total'\"")
    (place / "programme.toml").write_text(text, "utf-8")
    (place / "DATASET.toml").write_text(DATASET, "utf-8")
    return place


@pytest.fixture(scope="module")
def version(office: Path, tmp_path_factory: pytest.TempPathFactory) -> DataVersion:
    return open_version(data_set(office, tmp_path_factory.mktemp("data")), key=b"k")


@pytest.fixture(scope="module")
def made(version: DataVersion, tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """The tables of a programme none of whose tables is spanned by what the rules name."""
    folder = tmp_path_factory.mktemp("asked")
    (folder / "programme.toml").write_text(ASKED, "utf-8")
    carry_out(opened_inputs(folder / "programme.toml", version), folder / "out")
    names = ("regions", "legal_ages", "adults", "homes")
    return {name: pl.read_csv(folder / "out" / f"{name}.csv") for name in names}


def official(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(pl.col("status") == "official")


def test_official_is_what_the_rule_of_the_data_set_names(office, made) -> None:
    people = pl.read_parquet(office / "persons.parquet")
    named = official(made["regions"])
    true = people.group_by("state").len()
    top = {
        "Total": people.height,
        **dict(true.select(pl.col("state").cast(str), "len").iter_rows()),
    }
    assert dict(named.select("region", "value").iter_rows()) == top
    assert named.height < made["regions"].height


def test_official_are_true_counts_of_another_source_by_its_own_rule(office, made) -> None:
    homes = pl.read_parquet(office / "dwellings.parquet").height
    assert set(made["homes"]["status"]) <= {"official", "valid", "zero"}
    total = official(made["homes"]).filter(pl.col("region") == "Total")
    assert total["value"].to_list() == [homes]


def test_other_groups_of_a_column_are_official_at_their_total_only(made) -> None:
    """The rule names `age`, which the table lacks; `legal_age` has the same column."""
    named = official(made["legal_ages"])
    assert named.height > 1
    assert set(named["legal_age"]) == {"Total"}


def test_nothing_of_a_filtered_table_is_official(made) -> None:
    assert official(made["adults"]).is_empty()


def test_figures_are_those_of_the_data_sets_own_tables(version, office, made, tmp_path) -> None:
    shutil.copytree(version.inputs.programme.path.parent, tmp_path / "own")
    carry_out(version.inputs, tmp_path / "out")
    own = pl.read_csv(tmp_path / "out" / "population.csv").filter(pl.col("sex") == "Total")
    assert own.select("region", "value", "status").equals(
        made["regions"].select("region", "value", "status")
    )


@pytest.mark.parametrize(
    ("slip", "message"),
    [
        ("agee == 'Total'", "unknown variable 'agee'"),
        ("tenure == 'Total'", "unknown variable 'tenure'"),
        ("building_type == 'Total'", "no column 'building_type'"),  # of dwellings
    ],
)
def test_a_data_set_whose_rule_names_what_its_records_do_not_have_is_refused(
    office, tmp_path, slip, message
) -> None:
    """Taken to be at its total, a slip would publish true values."""
    own = OWN.replace("sex == 'Total' and", f"sex == 'Total' and {slip} and", 1)
    with pytest.raises(DiscreetError, match=message):
        open_version(data_set(office, tmp_path, own), key=b"k")


def test_a_rule_may_name_a_variable_that_spans_no_table(office, made, tmp_path) -> None:
    """Whoever writes the tables has it at its total, or spans a table by it."""
    own = OWN.replace("sex == 'Total' and", "sex == 'Total' and education == 'Total' and", 1)
    version = open_version(data_set(office, tmp_path, own), key=b"k")
    text = ASKED.replace('by = ["state", "legal_age"]', 'by = ["region", "education"]')
    (tmp_path / "programme.toml").write_text(text, "utf-8")
    carry_out(opened_inputs(tmp_path / "programme.toml", version), tmp_path / "out")
    regions = pl.read_csv(tmp_path / "out" / "regions.csv")
    assert official(regions).equals(official(made["regions"]))
    crossed = official(pl.read_csv(tmp_path / "out" / "legal_ages.csv"))
    assert set(crossed["education"]) == {"Total"}
    assert crossed.height == official(regions).height
