"""Ranges: neighbouring classes merged at break points of the catalogue, judged as sets."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import ProgrammeError
from discreet.release import protect
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from tests.helpers.rows import for_all_rows
from tests.helpers.service_data import OPEN_POLICY
from tests.service.conftest import ServeCensus
from tests.service.queries.conftest import ask_service as ask

TOWNS = {"variable": "region", "level": "municipality"}
BOUNDS = "intervals = [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85]"


def with_breaks(data: Path, folder: Path, breaks: str) -> Path:
    """A copy of the census whose ages may be merged."""
    shutil.copytree(data, folder)
    place = folder / "census-2022-1" / "programme.toml"
    text = place.read_text("utf-8")
    assert text.count(BOUNDS) == 1
    place.write_text(text.replace(BOUNDS, f"{BOUNDS}\nbreaks = {breaks}"), "utf-8")
    return folder


@pytest.fixture(scope="module")
def service(census_data: Path, serve_census: ServeCensus, tmp_path_factory: Any) -> Service:
    """A service in which ages may be merged in three ways."""
    data = with_breaks(census_data, tmp_path_factory.mktemp("merged") / "data", "[15, 25, 65]")
    return serve_census(OPEN_POLICY.replace("groups = []", "groups = [], groupings = 3"), data)


def test_every_set_of_break_points_is_a_variable(service: Service) -> None:
    unit = service.datasets.version("census").units["person"]
    merged = [name for name, one in unit.variables.items() if one.merged == "age5"]
    assert merged == [
        *("age5@15", "age5@25", "age5@65", "age5@15-25", "age5@15-65", "age5@25-65"),
        "age5@15-25-65",
    ]
    assert unit.variables["age5@15-65"].codes_of(1) == ("0-14", "15-64", "65+")
    # Neither of two is finer: what one shows of the other.
    assert ("age5@25", "1") in unit.apart["age5@15", "1"]
    assert ("age5@15-25", "1") not in unit.apart["age5@15", "1"]
    assert ("age5", "1") not in unit.apart["age5@15", "1"]


def test_a_range_is_the_set_of_its_records(service: Service) -> None:
    """It has the noise of its own cell key, whatever grouping it is in, as a cell or a filter."""
    wide = ask(service, "sex", "age5@15-65")
    part = ask(service, "sex", where=[{"variable": "age5@15-65", "codes": ["15-64"]}])
    assert [wide.get(sex=sex, **{"age5@15-65": "15-64"}) for sex in ("Total", "m", "w")] == [
        part.get(sex=sex) for sex in ("Total", "m", "w")
    ]
    version = service.datasets.version("census")
    query = dc.Query(by=["sex", version.units["person"].variables["age5@15-65"].tree])
    (true,) = version.counted("person", [query])
    safe = dc.perturb(true, version.parameters.perturbation_table)
    assert safe.get(sex="w", **{"age5@15-65": "15-64"}) == part.get(sex="w")


def test_overlapping_groupings_of_the_same_areas_are_refused(service: Service) -> None:
    ask(service, TOWNS, "age5@15-65")
    ask(service, TOWNS, "age5@15")  # coarser: its cells are sums
    with pytest.raises(ServiceError) as caught:
        ask(service, TOWNS, "age5@25")
    assert caught.value.rule == "P4/P5/P7"


def test_so_many_groupings_are_given_to_all_together(service: Service) -> None:
    ask(service, "age5@15-65")
    ask(service, "age5@15")
    ask(service, "age5@25-65")
    with pytest.raises(ServiceError) as caught:
        ask(service, "age5@65")
    assert caught.value.rule == "P6"
    ask(service, "sex", "age5@15-65")  # a known one


def test_without_a_limit_no_grouping_is_given(
    census_data: Path, serve_census: ServeCensus, tmp_path: Path
) -> None:
    service = serve_census(data=with_breaks(census_data, tmp_path / "data", "[15]"))
    with pytest.raises(ServiceError) as caught:
        ask(service, "age5@15")
    assert caught.value.rule == "P6"


def test_programmes_use_ranges_too(census_data: Path, tmp_path: Path) -> None:
    place = with_breaks(census_data, tmp_path / "data", "[15, 65]") / "census-2022-1"
    text = (place / "programme.toml").read_text("utf-8")
    head = "\n".join(line for line in text.partition("[tables.")[0].splitlines()
                     if not line.startswith("atlas"))  # fmt: skip
    table = '\n[tables.ranges]\nby = ["sex", "age5@15-65"]\nformats = ["csv"]\n'
    (place / "programme.toml").write_text(head + table, "utf-8")
    protect(place / "programme.toml", tmp_path / "release")
    shown = (tmp_path / "release" / "ranges.csv").read_text("utf-8")
    assert "15-64" in shown
    assert "85+" not in shown


@for_all_rows(
    ("breaks", "message"),
    [
        ("[0, 15]", "0 is not a lower bound"),
        ("[17]", "17 is not a lower bound"),
        ("[25, 15]", "the numbers must increase"),
        ("[5, 10, 15, 20, 25]", "breaks"),
        ("[]", "breaks"),
    ],
)
def test_break_points_are_bounds_of_classes(
    census_data: Path, tmp_path: Path, breaks: str, message: str
) -> None:
    place = with_breaks(census_data, tmp_path / "data", breaks) / "census-2022-1"
    with pytest.raises(ProgrammeError) as caught:
        protect(place / "programme.toml", tmp_path / "release")
    shutil.rmtree(tmp_path / "data")
    assert message in str(caught.value)
