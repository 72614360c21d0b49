"""Programmes pass the policies of their data set, table by table, as queries do."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.microdata import Secret
from discreet_service.permissions import Grant, Principal
from discreet_service.policies import PolicyRefusalError
from discreet_service.policies.patterns import alerts
from discreet_service.problems import ServiceError
from discreet_service.queries.grammar import read_query
from discreet_service.queries.programme_tables import conditions_of
from discreet_service.releases.drafts import run_programme, shelf_of
from discreet_service.service import Service
from discreet_service.settings import ServiceSettings
from discreet_service.web.programmes import (
    PublicationRequest,
    begin_run,
    check_text,
    publish_programme,
    take_programme,
)
from tests.helpers.jobs_done import context_of
from tests.helpers.service_callers import visit_as
from tests.helpers.service_data import OPEN_POLICY, write_policy

ANNA = Principal(name="anna", kind="key", grants=(Grant("producer", "census"), Grant("requester")))
DATASET = """
[dataset]
id = "census"
version = "2022-1"
title = { en = "Census" }
geography = ["region"]
public_codes = ["club"]

[units.person]
source = "persons"
variables = ["region", "sex", "age5", "education", "club"]
"""
#: Few of everything: a policy as offices have it.
POLICY = (
    OPEN_POLICY.replace("least = 3", "least = 50")
    .replace("least = 2, blur = 0", "least = 10, blur = 2")
    .replace("most = 20", "most = 2")
    .replace("partitions = { alert = 1_000_000", "partitions = { alert = 1")
    .replace("near = { alert = 1_000_000", "near = { alert = 1")
)


@pytest.fixture(scope="module")
def template(office: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A service over a census in which one woman alone is in no club. Do not change it."""
    folder = tmp_path_factory.mktemp("judged") / "template"
    place = folder / "datasets" / "census"
    place.parent.mkdir(parents=True)
    shutil.copytree(office, place)
    persons = pl.read_parquet(place / "persons.parquet")
    women = (persons["sex"] == persons["sex"].unique().sort()[-1]).to_numpy()
    member = women.copy()
    member[np.flatnonzero(women)[0]] = False
    named = persons.with_columns(club=pl.Series(np.where(member, "yes", "no")))
    named.write_parquet(place / "persons.parquet")
    (place / "DATASET.toml").write_text(DATASET, "utf-8")
    write_policy(place, folder, POLICY)
    shutil.copy(office / "office.pub", folder)
    Secret.generate().write(folder / "service.secret")
    (folder / "releases").mkdir()
    return folder


@pytest.fixture
def service(template: Path, tmp_path: Path) -> Iterator[Service]:
    folder = Path(shutil.copytree(template, tmp_path / "service"))
    settings = ServiceSettings(
        folder=folder,
        datasets=folder / "datasets",
        releases=(folder / "releases",),
        secret_file=folder / "service.secret",
        trusted_signers=(folder / "office.pub", folder / "custodian.pub"),
    )
    found = Service(settings)
    found.start()
    found.datasets.publish("census", "2022-1", "berta")
    yield found
    found.close()


def programme(*tables: str) -> str:
    """A programme with some tables of persons."""
    entries = [f"[tables.t{at}]\n{table}\n" for at, table in enumerate(tables)]
    return 'dataset = "census"\n' + "\n".join(entries)


def begun(service: Service, *tables: str) -> str:
    """Run a programme, and give the number of its job."""
    record = take_programme(visit_as(service, ANNA), programme(*tables).encode())
    return begin_run(visit_as(service, ANNA), record.id).id


def refusal(service: Service, *tables: str) -> PolicyRefusalError:
    with pytest.raises(PolicyRefusalError) as caught:
        begun(service, *tables)
    return caught.value


def women(service: Service) -> str:
    """The code of women."""
    version = service.datasets.version("census")
    return sorted(version.units["person"].variables["sex"].codes_of(1))[-1]


def test_tables_that_differ_by_one_person_are_refused_and_staff_is_told(service: Service) -> None:
    tables = (f'by = ["region"]\nwhere = "sex == \'{women(service)}\'"',
              'by = ["region"]\nwhere = "club == \'yes\'"')  # fmt: skip
    error = refusal(service, *tables)
    assert (error.code, error.rule) == ("refused-by-policy", "P4/P5/P7")
    assert [each.where for each in error.problems] == ["line 6, tables.t1"]
    assert service.jobs.claim("tester", ("programme",)) is None, "nothing is made"
    with service.database.reading() as connection:
        told = alerts(connection, "census", "2022-1")
    assert [(each.kind, each.principal) for each in told] == [("near", "anna")]


def test_programmes_and_queries_are_judged_by_what_either_of_them_released(
    service: Service,
) -> None:
    query = read_query({"by": ["age5"], "where": [{"variable": "sex", "codes": [women(service)]}]})
    prepared = service.answers.prepared("census", query)
    service.answers.admit(prepared, ANNA, "en")
    assert refusal(service, 'by = ["region"]\nwhere = "club == \'yes\'"').rule == "P4/P5/P7"


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        ('by = ["sex", "age5", "education"]', "P2"),
        ('by = ["sex"]\nwhere = "age < 65"', "P6"),
        ('by = ["sex"]\nfigures.old = { kind = "count", where = "age >= 65" }', "P6"),
    ],
)
def test_rules_hold_for_tables_of_programmes(service: Service, table: str, rule: str) -> None:
    error = refusal(service, 'by = ["region"]', table)
    assert error.rule == rule
    assert "tables.t1" in error.problems[0].where


@pytest.mark.parametrize(
    "table",
    [
        'by = ["sex"]\nwhere = "age < 67"',
        'by = ["sex"]\nwhere = "age < 65 or club == \'yes\'"',
        'by = ["sex"]\nwhere = "occupation is null"',
        'by = ["region", "occupation"]',
        'from = "dwellings"\nby = ["region"]',
    ],
)
def test_what_policies_cannot_judge_is_no_programme(service: Service, table: str) -> None:
    told = check_text(visit_as(service, ANNA), programme('by = ["sex"]', table).encode())
    assert told["valid"] is False
    assert "tables.t1" in told["problems"][0]["where"]
    assert told["problems"][0]["where"].startswith("line ")
    with pytest.raises(ServiceError) as caught:
        begun(service, table)
    assert caught.value.code == "invalid-input"


def test_filters_become_the_codes_that_they_let_through(service: Service) -> None:
    version = service.datasets.version("census")
    unit = version.units["person"]

    def codes(text: str) -> dict[str, list[str]]:
        return {each.variable: each.codes for each in conditions_of(text, unit, version)}

    woman, ages = women(service), unit.variables["age5"].codes_of(1)
    assert codes(f"sex == '{woman}'") == codes(f"sex in ['{woman}']") == {"sex": [woman]}
    assert codes("sex is not null and age >= 0") == {}
    assert codes("age >= 20 and age < 25") == codes("19 < age <= 24") == {"age5": [ages[4]]}
    with pytest.raises(ServiceError, match="does not use codes of an available variable"):
        codes("age >= 20 and age < 24")


def test_what_was_not_admitted_is_neither_made_nor_published(service: Service) -> None:
    record = take_programme(visit_as(service, ANNA), programme('by = ["sex"]').encode())
    # The answer to the same query lacks sparse parts; a release would show them.
    service.answers.admit(
        service.answers.prepared("census", read_query({"by": ["sex"]})), ANNA, "en"
    )
    past = service.jobs.submit(
        kind="programme", owner="anna", request={"programme": record.id, "digest": record.digest}
    )
    context = context_of(service, past, Path())
    with pytest.raises(ServiceError, match="do not allow"):
        run_programme(context)
    begin_run(visit_as(service, ANNA), record.id)
    run_programme(context)
    place = shelf_of(service).draft(record.id, past.id) / "draft.json"
    text = place.read_text("utf-8")
    assert '"judged"' in text
    place.write_text(text.replace('"judged"', '"forgotten"'), "utf-8")
    asked = PublicationRequest(draft=past.id, release="people")
    word = publish_programme(visit_as(service, ANNA), record.id, asked)["confirm"]
    confirmed = asked.model_copy(update={"confirm": word, "reason": "it is due"})
    with pytest.raises(ServiceError) as caught:
        publish_programme(visit_as(service, ANNA), record.id, confirmed)
    assert caught.value.code == "refused-by-policy"
