"""Medians and quantiles asked of the service: functions of a table that could be asked for."""

import io
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet_service.problems import ServiceError
from discreet_service.queries import ANSWER_FORMATS, read_query
from discreet_service.service import Service
from discreet_service.web.queries import address_of, read_address
from tests.helpers.rows import for_all_rows
from tests.helpers.service_callers import KnownCaller
from tests.helpers.service_data import OPEN_POLICY

API = "/api/v1/datasets/census"
STATE = {"variable": "region", "level": "state"}
QUARTILES = {"quantile": "age5", "at": [0.75, 0.25]}


#: Two variables besides areas make a table, and no more.
POLICY = OPEN_POLICY.replace("most = 20", "most = 2")


def body(*by: Any, **more: Any) -> dict[str, Any]:
    return {"unit": "person", "by": list(by), "measures": [{"median": "age5"}], **more}


def frame(answer: Any) -> pl.DataFrame:
    assert answer.status_code == 200, answer.text
    return pl.read_csv(io.StringIO(answer.text), infer_schema=False)


def test_quantiles_are_those_of_the_counts_that_could_be_asked_for(
    service: Service, anna: KnownCaller
) -> None:
    measures = [{"median": "age5"}, QUARTILES]
    own = frame(anna.post(f"{API}/query", json=body("sex", STATE, measures=measures, format="csv")))
    bounds = service.datasets.version("census").units["person"].variables["age5"].tree.bounds
    answers = service.answers
    counts = answers.prepared("census", read_query(body("sex", STATE, "age5", measures=["count"])))
    table = answers.answer(counts).table
    again = dc.quantiles(table, "age5", [0.25, 0.5, 0.75], breaks=bounds)
    made = {tuple(row[:3]): row[3] for row in again.to_polars(labels=False).rows()}
    shown = {
        (row["sex"], row["region"], row["figure"]): float(row["value"])
        for row in own.iter_rows(named=True)
        if row["value"]
    }
    assert shown == {place: value for place, value in made.items() if value is not None}
    assert len(shown) > 20


def test_policies_judge_the_table_of_counts(service: Service, anna: KnownCaller) -> None:
    answers = service.answers
    median = answers.prepared("census", read_query(body("sex", STATE)))
    counts = answers.prepared("census", read_query(body("sex", STATE, "age5", measures=["count"])))
    assert median.plan.described() == counts.plan.described()
    assert median.order.by == ("sex", "region")
    wide = body("sex", STATE, "marital_status")
    refused = anna.post(f"{API}/query", json=wide)
    assert refused.status_code == 403
    near = refused.json()["nearest"]
    assert near
    assert all(one["query"]["measures"] == [{"median": "age5"}] for one in near)
    assert anna.post(f"{API}/query", json=near[0]["query"]).status_code == 200


def test_a_filter_and_a_cell_have_one_quantile(anna: KnownCaller) -> None:
    whole = frame(anna.post(f"{API}/query", json=body("sex", STATE, format="csv")))
    where = [{"variable": "sex", "codes": ["w"]}]
    part = frame(anna.post(f"{API}/query", json=body(STATE, where=where, format="csv")))
    cells = dict(whole.filter(sex="w").select("region", "value").rows())
    assert cells == dict(part.select("region", "value").rows())


def test_addresses_and_jobs_keep_the_shares(service: Service, anna: KnownCaller) -> None:
    query = body({"variable": "sex"}, measures=[QUARTILES])
    assert read_address(address_of(query)) == read_query(query)
    address = f"{API}/data?unit=person&by=sex&measures=quantile:age5:.25%2B.75&format=csv"
    assert set(frame(anna.get(address))["figure"]) == {"q25", "q75"}
    prepared = service.answers.prepared("census", read_query(query))
    again = service.answers.again_of(service.answers.document(prepared))
    assert again.order == prepared.order
    assert [one.name for one in service.answers.answer(again).table.figures] == ["q25", "q75"]


@pytest.mark.parametrize("name", sorted(ANSWER_FORMATS))
def test_every_format_holds_quantiles(anna: KnownCaller, name: str) -> None:
    assert anna.post(f"{API}/query", json=body("sex", format=name)).status_code == 200


@for_all_rows(
    ("change", "where", "what"),
    [
        ({"measures": [{"median": "sex"}]}, "measures[0].median", "no variable 'sex' with classes"),
        ({"measures": [{"median": "age5"}, "count"]}, "measures", "a table of their own"),
        ({"measures": [{"quantile": "age5"}]}, "measures[0]", "needs at"),
        ({"measures": [{"median": "age5", "at": [0.5]}]}, "measures[0]", "needs at"),
        ({"measures": [{"quantile": "age5", "at": [1.5]}]}, "measures[0].at[0]", "below 1"),
        ({"by": ["age5"]}, "by[1]", "twice"),
        ({"by": ["legal_age"]}, "by", "describe the same"),
    ],
)
def test_what_is_wrong_is_named(
    service: Service, change: dict[str, Any], where: str, what: str
) -> None:
    with pytest.raises(ServiceError) as caught:
        service.answers.prepared("census", read_query({**body("sex"), **change}))
    problem = caught.value.problems[0]
    assert problem.where == where
    assert what in problem.what
