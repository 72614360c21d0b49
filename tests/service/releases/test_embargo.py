"""Embargo: a release is signed and whole, and nobody reads it before its time."""

import json
import re
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet.errors import ProgrammeError
from discreet.publication.cells import stored_cells
from discreet.publication.data_structures import DataStructure, own_reference
from discreet.publication.examples import census_example
from discreet.publication.formats import WriteOptions
from discreet.publication.writers.sdmx import data_message as data_message_ml
from discreet.publication.writers.sdmx import observations, structure_message
from discreet_service.facades.sdmx.endpoints import data_message
from discreet_service.facades.sdmx.queries import SdmxQuery, wanted_cells, wanted_columns
from discreet_service.facades.sdmx.structures import SdmxTable
from discreet_service.problems import ServiceError
from discreet_service.releases.catalogue import ReleaseCatalogue
from tests.helpers.rows import for_all_rows

WHEN = "2026-12-15T09:30+01:00"
AT = int(datetime.fromisoformat(WHEN).timestamp() * 1000)
TABLES = """
[defaults]
formats = ["csv", "sdmx-csv"]

[tables.population]
by = ["region", "sex"]
"""


def embargoed(office: Path, out: Path, stated: str) -> Path:
    """A release whose programme says this of its publication."""
    text = (office / "programme.toml").read_text("utf-8").partition("[defaults]")[0] + TABLES
    text = text.replace("[publication]", f"[publication]\n{stated}", 1)
    place = office / f"{out.name}.toml"
    place.write_text(text, "utf-8")
    dc.protect(place, out)
    return out


@pytest.fixture(scope="module")
def release(office: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("embargo") / "census-2027"
    return embargoed(office, out, f'embargo = "{WHEN}"\nredistribution = "Eurostat"')


def test_readers_get_a_release_from_its_time_on(release: Path, verify_key: Path) -> None:
    now = [AT - 1]
    found = ReleaseCatalogue(release.parent, signers=[verify_key], unseen=0, clock=lambda: now[0])
    assert found.releases() == {}
    assert found.tables() == {}
    assert list(found.refused().values()) == [f"under embargo until {WHEN}"]
    with pytest.raises(ServiceError, match="release not found"):
        found.release("census-2027")
    now[0] = AT
    assert list(found.releases()) == ["census-2027"]
    assert found.refused() == {}
    assert found.table("census-2027.population").get("Total", "Total")


def test_the_seal_covers_the_time(release: Path, verify_key: Path, tmp_path: Path) -> None:
    """Whoever writes another time into the list of files breaks the seal."""
    other = tmp_path / "shelf" / "census-2027"
    other.parent.mkdir()
    shutil.copytree(release, other)
    manifest = json.loads((other / "release.json").read_text("utf-8"))
    assert manifest["embargo"] == WHEN
    manifest["embargo"] = "2020-01-01T00:00+00:00"
    (other / "release.json").write_text(json.dumps(manifest), "utf-8")
    found = ReleaseCatalogue(other.parent, signers=[verify_key], unseen=0, clock=lambda: AT - 1)
    assert found.releases() == {}
    assert "changed" in next(iter(found.refused().values()))


def test_sdmx_files_state_embargo_and_redistribution(release: Path) -> None:
    file = min(release.glob("population*sdmx*"))
    lines = pl.read_csv(file, infer_schema=False)
    assert set(lines["EMBARGO_TIME"]) == {WHEN}
    assert set(lines["CONF_REDIST"]) == {"Eurostat"}
    assert set(lines["CONF_STATUS"]) == {"F"}


def test_the_interface_of_sdmx_states_them_too(
    release: Path, verify_key: Path, tmp_path: Path
) -> None:
    found = ReleaseCatalogue(release.parent, signers=[verify_key], unseen=0, clock=lambda: AT)
    conditions = found.release("census-2027").conditions
    table = SdmxTable(flow="P", table=found.table("census-2027.population"), conditions=conditions)
    cells = wanted_cells(SdmxQuery(), table, most=10_000)
    lines = wanted_columns(SdmxQuery(), table, cells, "en")
    assert set(lines["EMBARGO_TIME"]) == {WHEN}
    assert set(lines["CONF_REDIST"]) == {"Eurostat"}
    message = data_message(SdmxQuery(), table, cells, "en", "2027-01-01")
    (structure,) = message["data"]["structures"]
    stated = {one["id"]: one["values"] for one in structure["attributes"]["observation"]}
    assert stated["EMBARGO_TIME"] == [{"value": WHEN}]
    described = table.data_structure("en")["dataStructureComponents"]["attributeList"]
    assert {"EMBARGO_TIME", "CONF_REDIST"} <= {one["id"] for one in described["attributes"]}
    plain = SdmxTable(flow="P", table=table.table)
    assert "EMBARGO_TIME" not in wanted_columns(SdmxQuery(), plain, cells, "en").columns


def test_messages_of_sdmx_state_them_once_for_all(release: Path) -> None:
    """As attributes of the data set, which their structure knows, too."""
    options = WriteOptions(embargo=WHEN, redistribution="Eurostat")
    table = census_example()
    lines = observations(table, stored_cells(table), own_reference("T1"), options)
    text = "".join(data_message_ml(DataStructure.of(table), [lines]))
    (opening,) = re.findall(r"<message:DataSet[^>]*>", text)
    assert f'EMBARGO_TIME="{WHEN}" CONF_REDIST="Eurostat"' in opening
    assert text.count("EMBARGO_TIME") == 1
    structure = structure_message(DataStructure.of(table))
    assert 'id="EMBARGO_TIME"' in structure


@for_all_rows(
    ("stated", "message"),
    [
        ('embargo = "2026-12-15"', "must be a time with its time zone"),
        ('embargo = "2026-12-15T09:30"', "must be a time with its time zone"),
        ('embargo = "soon"', "must be a time with its time zone"),
        ("embargo = 3", "must be a time with its time zone"),
    ],
)
def test_a_time_has_its_zone(office: Path, tmp_path: Path, stated: Any, message: str) -> None:
    with pytest.raises(ProgrammeError, match=message):
        embargoed(office, tmp_path / "wrong", stated)
