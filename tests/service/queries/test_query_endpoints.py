"""Queries over HTTP: every format, kept answers, refusals, jobs."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sqlalchemy as sa

from discreet_service.audit.trail import LogVerdict
from discreet_service.database.schema import SERVICE_CHANGES
from discreet_service.jobs.context import JobContext
from discreet_service.permissions import Grant
from discreet_service.queries.formats import run_query
from discreet_service.service import Service
from tests.helpers.service_callers import KnownCaller

API = "/api/v1/datasets"


LIMITS = {"cells_instant": 5_000, "cells_job": 100_000}


def body(**more: Any) -> dict[str, Any]:
    return {"unit": "person", "by": ["sex", {"variable": "region", "level": 1}], **more}


def test_the_catalogue_tells_nothing_of_records(anna: KnownCaller) -> None:
    listed = anna.get(f"{API}?language=de").json()["datasets"]
    assert [(each["id"], each["title"]) for each in listed] == [("census", "Zensus (synthetisch)")]
    one = anna.get(f"{API}/census").json()
    assert [each["version"] for each in one["versions"]] == ["2022-1"]
    version = anna.get(f"{API}/census/versions/2022-1", headers={"Accept-Language": "de"}).json()
    assert [unit["label"] for unit in version["units"]][:2] == ["Personen", "Haushalte"]
    text = json.dumps([listed, one, version])
    for number in ("3000", "3,000", "record_key", "persons.store", "/tmp", "secret", "berta"):
        assert number not in text


def test_variables_and_codes_come_page_by_page(anna: KnownCaller) -> None:
    told = anna.get(f"{API}/census/variables?unit=person").json()
    region = next(each for each in told["variables"] if each["name"] == "region")
    assert [level["name"] for level in region["levels"]] == ["state", "district", "municipality"]
    address = f"{API}/census/variables/region/codelist"
    every = anna.get(address).json()
    assert every["total"] == region["codes"] == len(every["codes"])
    pages = [anna.get(f"{address}?size=4&page={page}").json() for page in (1, 2, 99)]
    assert [code["code"] for page in pages for code in page["codes"]] == [
        code["code"] for code in every["codes"][:8]
    ]
    districts = anna.get(f"{address}?level=district").json()
    assert {code["level"] for code in districts["codes"]} == {2}
    assert anna.get(f"{address}?size=1001").status_code == 422
    assert anna.get(f"{address}?level=nowhere").status_code == 404
    assert anna.get(f"{API}/census/variables/nothing/codelist").json()["status"] == 404


@pytest.mark.parametrize(
    "name", ["json-stat2", "csv", "xlsx", "parquet", "px", "sdmx-csv", "html", "json"]
)
def test_every_format_holds_the_answer(anna: KnownCaller, name: str) -> None:
    by_name = anna.post(f"{API}/census/query", json=body(format=name))
    assert by_name.status_code == 200, by_name.text
    media = by_name.headers["content-type"].partition(";")[0]
    if name != "json":
        by_media = anna.post(f"{API}/census/query", json=body(), headers={"Accept": media})
        assert by_media.content == by_name.content
    address = f"{API}/census/data?unit=person&by=sex,region:1&format={name}"
    assert anna.get(address).content == by_name.content
    assert by_name.headers["content-language"] == "en"
    if name == "csv":
        rows = list(csv.DictReader(io.StringIO(by_name.text)))
        assert list(rows[0])[:2] == ["sex", "sex_label"]
        assert (rows[0]["sex"], rows[0]["value"]) == ("Total", "3000")
    elif name == "json-stat2":
        told = by_name.json()
        assert told["id"] == ["sex", "region"]
        assert told["version"] == "2.0"
        assert told["role"]["geo"] == ["region"]
    elif name == "parquet":
        assert pl.read_parquet(io.BytesIO(by_name.content)).height == 9
    shown = "inline" if name in ("json-stat2", "json", "html") else "attachment"
    ending = {"json-stat2": "jsonstat.json", "sdmx-csv": "sdmx.csv"}.get(name, name)
    place, _, file = by_name.headers["content-disposition"].partition("; filename=")
    assert place == shown
    assert file.startswith('"census-person-')
    assert file.endswith(f'.{ending}"')


def test_all_formats_leave_totals_out(anna: KnownCaller) -> None:
    ages = {"variable": "age5", "codes": ["0-4", "5-9"]}
    query = {"unit": "person", "by": [ages, "sex"], "totals": "none"}
    rows = csv.DictReader(
        io.StringIO(anna.post(f"{API}/census/query", json={**query, "format": "csv"}).text)
    )
    assert [(row["age5"], row["sex"]) for row in rows] == [
        ("0-4", "m"), ("0-4", "w"), ("5-9", "m"), ("5-9", "w"),
    ]  # fmt: skip
    for name in ("json-stat2", "xlsx", "parquet", "px", "sdmx-csv", "html", "json"):
        answer = anna.post(f"{API}/census/query", json={**query, "format": name})
        assert answer.status_code == 200, (name, answer.text)


def test_an_answer_that_has_not_changed_is_not_sent_again(anna: KnownCaller) -> None:
    first = anna.post(f"{API}/census/query", json=body())
    tag = first.headers["etag"]
    again = anna.post(f"{API}/census/query", json=body(), headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    spelled = {
        "unit": "person",
        "by": [{"variable": "sex", "codes": ["w", "m"]}, {"variable": "region", "level": "state"}],
    }
    assert anna.post(f"{API}/census/query", json=spelled).headers["etag"] == tag
    for other in (body(language="de"), body(format="csv"), body(totals="none")):
        assert anna.post(f"{API}/census/query", json=other).headers["etag"] != tag
    turned = body(by=[{"variable": "region", "level": 1}, "sex"])
    answer = anna.post(f"{API}/census/query", json=turned)
    assert answer.headers["etag"] != tag
    assert answer.json()["id"] == ["region", "sex"]


def test_a_new_answer_takes_one_write(anna: KnownCaller, service: Service) -> None:
    """For its query, its release and its row of the log."""

    def written() -> int:
        with service.database.reading() as connection:
            return int(connection.scalar(sa.select(SERVICE_CHANGES.c.batches)))

    anna.post(f"{API}/census/query", json=body())
    query = body(where=[{"variable": "age5", "codes": ["5-9"]}])
    rows, before = len(service.query_log.search().rows), written()
    assert anna.post(f"{API}/census/query", json=query).status_code == 200
    assert written() == before + 1
    assert len(service.query_log.search().rows) == rows + 1


def test_checking_gives_nothing_out(anna: KnownCaller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet_service.queries.answers.protected_answer", None)
    query = body(where=[{"variable": "age5", "codes": ["0-4"]}])
    told = anna.post(f"{API}/census/query:check", json=query).json()
    assert (told["cells"], told["class"], told["verdict"]["allowed"]) == (9, "instant", True)
    assert told["query"]["where"] == [{"variable": "age5", "level": 1, "codes": ["0-4"]}]
    # What is answered is counted.
    assert anna.post(f"{API}/census/query", json=query).status_code == 500


def test_mistakes_are_told_all_at_once(anna: KnownCaller) -> None:
    wrong = anna.post(f"{API}/census/query", json=body(by=["sx", "regoin"], formt="csv"))
    assert wrong.status_code == 422
    assert [each["where"] for each in wrong.json()["problems"]] == ["formt"]
    wrong = anna.post(f"{API}/census/query", json=body(by=["sx", "regoin"]))
    told = wrong.json()["problems"]
    assert (wrong.status_code, wrong.json()["type"].rpartition("/")[2]) == (422, "invalid-query")
    assert [(each["where"], each["hint"]) for each in told] == [
        ("by[0].variable", "closest match: 'sex'"),
        ("by[1].variable", "closest match: 'region'"),
    ]
    address = anna.get(f"{API}/census/data?by=sex&unit=person&where.regoin=01")
    assert address.status_code == 404
    assert address.json()["problems"][0]["hint"] == "closest match: 'region'"


@pytest.mark.parametrize(
    ("path", "more", "status"),
    [
        ("nothing/query", {}, 403),
        ("census/query", {"json": {"by": ["sex"], "version": "1999"}}, 404),
        ("census/query", {"json": {"by": ["sex"]}}, 422),
        ("census/query", {"json": {"unit": "person", "dataset": "labour"}}, 422),
        ("census/query", {"json": {"unit": "person", "format": "pdf"}}, 406),
        ("census/query", {"json": {"unit": "person"}, "headers": {"Accept": "image/png"}}, 406),
        ("census/query", {"content": b"{", "headers": {"Content-Type": "application/json"}}, 422),
        ("census/query", {"content": b"[" * 5_000}, 422),
        ("census/query", {"json": ["sex"]}, 422),
    ],
)
def test_refusals_have_their_status(
    anna: KnownCaller, path: str, more: dict[str, Any], status: int
) -> None:
    answer = anna.post(
        f"{API}/{path}", **{"json": body(), **more} if "content" not in more else more
    )
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("application/problem+json")


def test_who_may_ask_one_data_set_sees_no_other(app: Any) -> None:
    other = KnownCaller(app, Grant("requester", "labour"))
    assert other.get(f"{API}").json() == {"datasets": []}
    assert other.get(f"{API}/census").status_code == 403


def test_large_answers_become_jobs(anna: KnownCaller, service: Service, tmp_path: Path) -> None:
    many = {"variable": "region", "level": [1, 2, 3]}
    query = {"unit": "person", "by": ["age5", "sex", many, "marital_status"], "format": "parquet"}
    answer = anna.post(f"{API}/census/query", json=query, headers={"Idempotency-Key": "mine"})
    assert answer.status_code == 202, answer.text
    told = answer.json()
    assert answer.headers["location"] == told["links"]["self"] == f"/api/v1/jobs/{told['job']}"
    again = anna.post(f"{API}/census/query", json=query, headers={"Idempotency-Key": "mine"})
    assert again.json()["job"] == told["job"]

    steps: list[str] = []
    output = run_query(
        JobContext(
            service=service,
            job=service.jobs.job(told["job"], "anna"),
            folder=tmp_path,
            report=lambda percent, step: steps.append(step),
            cancelled=lambda: False,
        )
    )
    finished = output.written(tmp_path)
    frame = pl.read_parquet(finished.path)
    assert frame.columns[:4] == ["age5", "sex", "region", "marital_status"]
    assert frame.height == told["cells"]
    assert steps == ["counting", "writing"]


def test_larger_ones_are_refused_with_numbers(anna: KnownCaller) -> None:
    everything = ["age5", "sex", {"variable": "region"}, "nationality", "education"]
    answer = anna.post(f"{API}/census/query", json={"unit": "person", "by": everything})
    assert answer.status_code == 413
    assert answer.json()["limit"] == 100_000
    assert answer.json()["actual"] > 100_000


def test_the_log_has_no_cells(anna: KnownCaller, service: Service) -> None:
    anna.post(f"{API}/census/query", json=body(by=["education"]))
    rows = service.query_log.search(principal="anna").rows
    assert rows[0].verdict == LogVerdict.answered
    assert (rows[0].dataset, rows[0].caller_key) == ("census", "dsc_1")
    assert json.loads(rows[0].query)["by"][0]["variable"] == "education"
    assert "3000" not in rows[0].query


def test_many_who_ask_at_once_are_answered_by_one_count(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from discreet_service.queries import answers, read_query

    made: list[str] = []

    def counted(*asked: Any) -> Any:
        made.append("")
        return plain(*asked)

    plain = answers.protected_answer
    monkeypatch.setattr(answers, "protected_answer", counted)
    query = read_query({"unit": "person", "by": ["legal_age", "marital_status"]})
    prepared = service.answers.prepared("census", query)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: service.answers.answer(prepared), range(16)))
    assert len(made) == 1
    assert [each.cached for each in found].count(False) == 1
    frames = [each.table.to_polars() for each in found]
    assert all(frame.equals(frames[0]) for frame in frames)


def test_errors_of_the_library_tell_nothing_of_places(
    anna: KnownCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.errors import TableError
    from discreet_service.queries import answers

    def failing(*_: Any) -> Any:
        raise TableError("the count is 17", code="x", where="/srv/secret", hint="key 42")

    monkeypatch.setattr(answers, "protected_answer", failing)
    answer = anna.post(f"{API}/census/query", json=body(by=["household_type"], unit="household"))
    assert answer.status_code == 422
    assert not any(word in answer.text for word in ("is 17", "/srv", "key 42"))
