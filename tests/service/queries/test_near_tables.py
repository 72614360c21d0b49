"""What may be asked in place of a table that is refused: found without a look at the records."""

from typing import Any

import pytest

from discreet_service.application import RESOURCES
from discreet_service.permissions import Grant
from discreet_service.queries.evidence import QueryEvidence
from discreet_service.service import Service
from tests.helpers.service_callers import KnownCaller, app_of_known
from tests.helpers.service_data import OPEN_POLICY, slow_policy
from tests.service.conftest import ServeCensus

API = "/api/v1/datasets/census"
#: Municipalities are shown by one variable at most, and tables have no more than 400 cells.
POLICY = OPEN_POLICY.replace("municipality = 20", "municipality = 1").replace(
    "cells_instant = 10_000, cells_job = 5_000_000", "cells_instant = 400, cells_job = 400"
)
PARTS = RESOURCES


def _place(service: Service, level: str) -> str:
    region = service.datasets.version("census").units["person"].variables["region"]
    return region.codes_of(region.level_numbers[level])[0]


def _shown(told: dict[str, Any]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Variables and filters of the tables that are near."""
    return [
        (
            tuple(one["variable"] for one in near["query"].get("by", ())),
            tuple(one["variable"] for one in near["query"].get("where", ())),
        )
        for near in told["nearest"]
    ]


def test_the_limit_is_told_and_where_it_stands(service: Service, anna: KnownCaller) -> None:
    place = _place(service, "municipality")
    refused = anna.get(f"{API}/data?unit=person&by=sex,marital_status&where.region={place}")
    assert refused.status_code == 403
    told = refused.json()
    assert (told["rule"], told["actual"], told["limit"]) == ("P2", 2, 1)
    large = anna.get(f"{API}/data?unit=person&by=age5,education,marital_status").json()
    assert (large["rule"], large["limit"]) == ("P1", 400)
    assert large["actual"] > 400


def test_each_table_that_is_named_is_answered(service: Service, anna: KnownCaller) -> None:
    place = _place(service, "municipality")
    addresses = (
        f"{API}/data?unit=person&by=sex,marital_status&where.region={place}",
        f"{API}/data?unit=person&by=age5,education,marital_status",
        f"{API}/data?unit=person&by=sex&where.age5=0-4&where.age5=5-9",
        f"{API}/data?unit=person&by=region:municipality,sex,marital_status&totals=sex",
    )
    for at, refused in enumerate(addresses):
        told = anna.get(refused).json()
        assert told.get("nearest"), (refused, told)
        for near in told["nearest"]:
            answer = anna.get(near["address"])
            assert answer.status_code == 200, (near, answer.text)
            body = anna.post(f"{API}/query", json=near["query"])
            assert body.content == answer.content
            assert near["title"].startswith("Persons")
        if at == 0:
            larger = told["nearest"][0]["query"]["where"][0]
            assert larger["level"] == 2
            assert place.startswith(larger["codes"][0])


def test_larger_areas_come_first_then_levels_then_variables(
    service: Service, anna: KnownCaller
) -> None:
    place = _place(service, "municipality")
    told = anna.get(f"{API}/data?unit=person&by=sex,marital_status&where.region={place}").json()
    assert _shown(told)[0] == (("marital_status", "sex"), ("region",))
    told = anna.get(f"{API}/data?unit=person&by=region:municipality,sex,marital_status").json()
    assert _shown(told)[0] == (("marital_status", "region", "sex"), ())
    levels = {one["variable"]: one["level"] for one in told["nearest"][0]["query"]["by"]}
    assert levels["region"] == [2]


def test_a_check_names_them_too(service: Service, anna: KnownCaller) -> None:
    place = _place(service, "municipality")
    body = {"unit": "person", "by": ["sex", "marital_status"],
            "where": [{"variable": "region", "codes": [place]}]}  # fmt: skip
    told = anna.post(f"{API}/query:check", json=body).json()
    assert not told["verdict"]["allowed"]
    rule = next(one for one in told["verdict"]["rules"] if one["rule"] == "P2")
    assert (rule["actual"], rule["limit"]) == (2, 1)
    asked = anna.get(f"{API}/data?unit=person&by=sex,marital_status&where.region={place}").json()
    assert told["nearest"] == asked["nearest"]
    allowed = anna.post(f"{API}/query:check", json={"unit": "person", "by": ["sex"]}).json()
    assert "nearest" not in allowed


def test_the_page_links_to_them(service: Service, anna: KnownCaller) -> None:
    place = _place(service, "municipality")
    page = anna.get(
        f"/tables/census/result?unit=person&by=sex,marital_status&where.region={place}",
        headers={"Accept": "text/html"},
    )
    assert page.status_code == 403
    start = page.text.index('<li><a href="/tables/census/result?') + len('<li><a href="')
    near = page.text[start : page.text.index('"', start)].replace("&amp;", "&")
    answer = anna.get(near, headers={"Accept": "text/html"}, follow_redirects=True)
    assert answer.status_code == 200
    assert "<table" in answer.text


def test_no_record_is_looked_at(
    service: Service, anna: KnownCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither counts nor sketches are asked for: what is named depends on policies alone."""

    def looked(*_: Any) -> Any:
        raise AssertionError("somebody looks at the records")

    for name in ("universe_count", "universe_sketch", "published_counts", "universe_units"):
        monkeypatch.setattr(QueryEvidence, name, looked)
    monkeypatch.setattr(service.answers, "_found", looked)
    place = _place(service, "municipality")
    told = anna.get(f"{API}/data?unit=person&by=sex,marital_status&where.region={place}")
    assert told.status_code == 403
    assert told.json()["nearest"]


def test_refusals_for_few_people_say_nothing_else(
    service: Service, serve_census: ServeCensus
) -> None:
    """They read alike whatever was asked, so that no tables are named beside them."""
    small = POLICY.replace("least = 3 ", "least = 100_000 ")
    hard = serve_census(small)
    caller = KnownCaller(app_of_known(hard, ("queries",)), Grant("requester", "census"))
    places = [_place(service, level) for level in ("municipality", "district", "state")]
    told = [caller.get(f"{API}/data?unit=person&by=sex&where.region={place}") for place in places]
    bodies = [{**one.json(), "instance": ""} for one in told]
    assert [one.status_code for one in told] == [403] * 3
    assert bodies[0] == bodies[1] == bodies[2]
    assert bodies[0]["rule"] == "P4/P5/P7"
    assert not {"nearest", "limit", "actual"} & bodies[0].keys()


def test_rates_name_no_tables(serve_census: ServeCensus) -> None:
    service = serve_census(slow_policy(1))
    caller = KnownCaller(app_of_known(service, ("queries",)), Grant("requester", "census"))
    assert caller.get(f"{API}/data?unit=person&by=sex").status_code == 200
    refused = caller.get(f"{API}/data?unit=person&by=age5")
    assert refused.status_code == 429
    assert "nearest" not in refused.json()
