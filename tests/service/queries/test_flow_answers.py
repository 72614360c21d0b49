"""Flows between areas: tables by two geographies have limits of their own in a policy."""

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.release.cubes import build_store
from discreet_service.policies import policy_sentences
from discreet_service.policies.document import PolicyDocument
from discreet_service.problems import ServiceError
from discreet_service.queries import read_query
from discreet_service.service import Service
from tests.helpers.service_data import OPEN_POLICY
from tests.service.conftest import ServeCensus
from tests.service.queries.conftest import ask_service as ask

#: Where tables hide every part that has a small cell.
SPARSE = OPEN_POLICY.replace(
    "small = 0, share_small = 1, share_single = 1, least_cells = 1_000_000",
    'small = 9, share_small = 0.01, share_single = 1, least_cells = 1, then = "hide"',
)
FLOWS = SPARSE + "\n[flows]\nleast = 40\ndepth = { state = 1, district = 0 }\n"


@pytest.fixture(scope="module")
def commuters(census_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The census with a place of work, which has the codes of places of residence."""
    data = tmp_path_factory.mktemp("commuters") / "data"
    shutil.copytree(census_data, data)
    place = data / "census-2022-1"
    persons = pl.read_parquet(place / "persons.parquet")
    draw = np.random.default_rng(4)
    towns = persons["municipality"].to_numpy()
    work = np.where(draw.random(len(towns)) < 0.7, towns, draw.permutation(towns))
    persons.with_columns(work=pl.Series(work)).write_parquet(place / "persons.parquet")
    text = (place / "programme.toml").read_text("utf-8")
    variable = '[variables.work]\ncolumn = "work"\nhierarchy = "region.json"\n\n[variables.state]'
    text = text.replace("[variables.state]", variable)
    table = '\n[tables.commuters]\nby = ["region", "work"]\n'  # stores have columns of tables
    (place / "programme.toml").write_text(text + table, "utf-8")
    description = (place / "DATASET.toml").read_text("utf-8")
    stated = 'geography = ["region", "work", "state"]'
    description = description.replace('geography = ["region", "state"]', stated)
    (place / "DATASET.toml").write_text(description, "utf-8")
    shutil.rmtree(place / "persons.store")
    build_store(place / "programme.toml", place / "persons.store", source="persons")
    return data


@pytest.fixture(scope="module")
def service(commuters: Path, serve_census: ServeCensus) -> Service:
    return serve_census(FLOWS, commuters)


def on(level: str, *names: str) -> list[dict[str, str]]:
    return [{"variable": name, "level": level} for name in names]


def test_flows_of_few_are_hidden_one_by_one(service: Service) -> None:
    table = ask(service, *on("district", "region", "work"))
    rows = table.to_polars(complete=True).select("region", "work", "value", "status").rows()
    hidden = {(home, work) for home, work, _, status in rows if status == "suppressed"}
    shown = {(home, work): value for home, work, value, _ in rows if value}
    assert hidden
    assert all(home != work and "Total" not in (home, work) for home, work in hidden)
    assert all(n >= 40 for (home, work), n in shown.items() if home != work)
    # A cell of the table and the filtered table show the same.
    home, work = min(hidden)
    part = ask(service, *on("district", "work"), where=[{"variable": "region", "codes": [home]}])
    assert part.get(work=work) is None
    assert part.get(work=home) == table.get(region=home, work=home)
    alone = ask(service, *on("district", "work"))
    assert alone.get(work=work) == table.get(work=work)


def test_flows_have_their_own_depth(service: Service) -> None:
    ask(service, *on("state", "region", "work"), "sex")
    for asked in (
        (*on("district", "region", "work"), "sex"),
        on("municipality", "region", "work"),
        (*on("state", "region", "work"), "sex", "marital_status"),
        (*on("state", "region", "work"), "state"),
    ):
        with pytest.raises(ServiceError) as caught:
            ask(service, *asked)
        assert caught.value.rule == "P2" or "describe the same" in str(caught.value)
    ask(service, *on("municipality", "region"))  # no flow


def test_states_beside_districts_are_no_flows(service: Service) -> None:
    """Their cells are the sets of the districts: they have the same figures, exempt ones too."""
    version = service.datasets.version("census")
    query = read_query({"unit": "person", "by": [*on("district", "region"), "state"]})
    prepared = service.answers.prepared("census", query)
    assert prepared.query.flow(version.units["person"]) is None
    table = service.answers.answer(prepared).table
    alone = ask(service, *on("district", "region"))
    code = alone.dimensions[0].codes[1]
    assert table.get(region=code, state=code[:2]) == alone.get(region=code)


def test_other_tables_hide_sparse_parts_as_ever(service: Service) -> None:
    table = ask(service, *on("municipality", "region"), "age5")
    assert any("sparse" in note.kind or "parts" in note.kind for note in table.notes)


def test_without_limits_of_flows_rules_for_parts_hold(
    commuters: Path, serve_census: ServeCensus
) -> None:
    service = serve_census(SPARSE, commuters)
    table = ask(service, *on("district", "region", "work"))
    inner = table.to_polars(complete=True).filter(
        pl.col("region") != "Total", pl.col("work") != "Total"
    )
    assert set(inner["status"]) == {"suppressed"}


def test_limits_of_flows_have_sentences() -> None:
    texts = [one.text for one in policy_sentences(PolicyDocument.of_text(FLOWS), "en")]
    assert "Flows between areas with a protected count below 40 are suppressed." in texts
    assert "Tables by two geographies show district with at most 0 other variables." in texts
    document = PolicyDocument.of_text(SPARSE)
    assert document.flows is None
    assert document.digest == PolicyDocument.of_text(document.changed({}, 1)).digest
