"""Versions are published whole, used as they were published, and retired."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from discreet.errors import DiscreetError
from discreet.release import read_parameters
from discreet_service.audit.trail import AuditTrail
from discreet_service.database import ServiceDatabase
from discreet_service.database.schema import DATA_VERSIONS
from discreet_service.datasets import DatasetCatalogue
from discreet_service.problems import ServiceError


class _Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000_000

    def __call__(self) -> int:
        self.now += 1_000
        return self.now


@pytest.fixture
def folder(census_data: Path, tmp_path: Path) -> Path:
    """A folder of data sets of its own."""
    folder = tmp_path / "datasets"
    shutil.copytree(census_data, folder)
    return folder


@pytest.fixture
def opened(service_database: ServiceDatabase, folder: Path) -> Callable[[], DatasetCatalogue]:
    """Opens the catalogue, as each process does."""
    clock = _Clock()
    trail = AuditTrail(service_database, b"trail", clock)

    def catalogue() -> DatasetCatalogue:
        return DatasetCatalogue(
            folder, database=service_database, trail=trail, clock=clock, key=b"key"
        )

    return catalogue


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(ServiceError) as caught:
        call()
    return caught.value.code


def test_only_what_was_published_can_be_asked(opened: Callable[[], DatasetCatalogue]) -> None:
    catalogue = opened()
    assert list(catalogue.drafts()) == [("census", "2022-1")]
    assert catalogue.records() == []
    assert code_of(lambda: catalogue.version("census")) == "unknown-dataset"
    published = catalogue.publish("census", "2022-1", "anna")
    assert (published.state, published.published_by) == ("published", "anna")
    assert catalogue.version("census").version == "2022-1"
    assert opened().version("census", "2022-1").fingerprint == published.fingerprint
    assert code_of(lambda: catalogue.publish("census", "2022-1", "anna")) == "conflict"
    assert code_of(lambda: catalogue.publish("census", "2023", "anna")) == "unknown-dataset"
    assert code_of(lambda: catalogue.version("census", "2023")) == "unknown-dataset"


def test_the_latest_version_is_meant_unless_one_is_named(
    opened: Callable[[], DatasetCatalogue], folder: Path
) -> None:
    catalogue = opened()
    catalogue.publish("census", "2022-1", "anna")
    later = folder / "later"
    shutil.copytree(folder / "census-2022-1", later)
    text = (later / "DATASET.toml").read_text("utf-8")
    (later / "DATASET.toml").write_text(text.replace("2022-1", "2022-2"), "utf-8")
    catalogue.publish("census", "2022-2", "berta")
    assert catalogue.version("census").version == "2022-2"
    assert catalogue.version("census", "2022-1").version == "2022-1"
    assert [each.version for each in catalogue.records("census")] == ["2022-2", "2022-1"]
    retired = catalogue.retire("census", "2022-2", "anna")
    assert retired.state == "retired"
    assert catalogue.version("census").version == "2022-1"
    assert code_of(lambda: opened().version("census", "2022-2")) == "version-retired"
    assert code_of(lambda: catalogue.retire("census", "2022-2", "anna")) == "conflict"
    catalogue.retire("census", "2022-1", "anna")
    assert code_of(lambda: catalogue.version("census")) == "version-retired"


def test_a_version_is_asked_only_while_its_parameter_set_is_in_use(
    service_database: ServiceDatabase, folder: Path
) -> None:
    place = folder / "census-2022-1"
    stated = read_parameters(place / "programme.toml")
    one, two = (replace(stated, statistic="census", version=each) for each in "12")
    in_use = {"census": one}
    described = place / "DATASET.toml"
    text = described.read_text("utf-8").replace("[dataset]", '[dataset]\nparameter_set = "census"')
    described.write_text(text, "utf-8")
    clock = _Clock()
    catalogue = DatasetCatalogue(
        folder,
        database=service_database,
        trail=AuditTrail(service_database, b"trail", clock),
        clock=clock,
        key=b"key",
        parameters_of=lambda name: in_use[name],
    )
    published = catalogue.publish("census", "2022-1", "anna")
    assert published.facts["parameters"] == {"statistic": "census", "version": "1"}
    assert catalogue.version("census").version == "2022-1"
    in_use["census"] = two
    assert code_of(lambda: catalogue.version("census")) == "data-not-ready"


@pytest.mark.parametrize("name", ["DATASET.toml", "programme.toml", "region.json", "ptable.json"])
def test_what_was_changed_since_is_not_used(
    opened: Callable[[], DatasetCatalogue], folder: Path, name: str
) -> None:
    opened().publish("census", "2022-1", "anna")
    place = folder / "census-2022-1" / name
    text = place.read_text("utf-8")
    if name == "ptable.json":
        shutil.copy(folder / "census-2022-1" / "programme.toml", place)
    else:
        place.write_text(
            text.replace("Persons", "People").replace("0.15", "0.2").replace("Valonauia", "V"),
            "utf-8",
        )
    assert place.read_text("utf-8") != text
    assert code_of(lambda: opened().version("census")) == "data-not-ready"


def test_stores_that_were_damaged_are_not_used(
    opened: Callable[[], DatasetCatalogue], folder: Path
) -> None:
    opened().publish("census", "2022-1", "anna")
    (file, *_) = sorted(
        (folder / "census-2022-1" / "persons.store").glob("version-*/*.codes.arrow")
    )
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(ServiceError) as caught:
        opened().version("census")
    assert caught.value.code == "data-not-ready"
    assert "/" not in caught.value.what, "it says where things are"


def test_a_version_that_is_not_fit_is_not_published(
    opened: Callable[[], DatasetCatalogue], folder: Path, service_database: ServiceDatabase
) -> None:
    place = folder / "census-2022-1" / "DATASET.toml"
    place.write_text(place.read_text("utf-8").replace('["occupation"]', "[]"), "utf-8")
    with pytest.raises(DiscreetError):
        opened().publish("census", "2022-1", "anna")
    with service_database.reading() as connection:
        assert connection.execute(sa.select(DATA_VERSIONS)).first() is None


def test_acts_stand_in_the_trail(
    opened: Callable[[], DatasetCatalogue], service_database: ServiceDatabase
) -> None:
    catalogue = opened()
    published = catalogue.publish("census", "2022-1", "anna")
    catalogue.retire("census", "2022-1", "berta")
    lines = "\n".join(catalogue.trail.export())
    for word in ("dataset_published", "dataset_retired", "anna", "berta", published.fingerprint):
        assert word in lines


def test_two_that_publish_at_once_publish_one(
    opened: Callable[[], DatasetCatalogue],
) -> None:
    one, two = opened(), opened()
    one.publish("census", "2022-1", "anna")
    assert code_of(lambda: two.publish("census", "2022-1", "berta")) == "conflict"
    assert two.record("census").published_by == "anna"
