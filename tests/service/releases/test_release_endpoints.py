"""Releases over HTTP: lists, tables in every format, files as they were sealed."""

import io

import httpx
import polars as pl
import pytest

from discreet.publication.formats import FORMATS
from discreet_service.application import create_app
from discreet_service.permissions import Grant
from discreet_service.service import Service
from tests.helpers.asgi_browser import AsgiBrowser
from tests.helpers.service_callers import KnownCaller, app_of_known
from tests.service.releases.conftest import service_settings

API = "/api/v1/releases"
TABLE = f"{API}/census-2026/tables/population"
RESOURCES = ("releases", "pxweb", "sdmx")


@pytest.fixture
def browser(served):
    return AsgiBrowser(create_app(served, RESOURCES))


def test_releases_and_their_tables_are_listed(browser, served):
    (release,) = browser.get(f"{API}?language=de").json()["releases"]
    assert release["title"] == "Zensus (synthetisch)"
    preferred = browser.get(API, headers={"Accept-Language": "fr, de;q=0.8"}).json()["releases"]
    assert preferred == [release]
    assert release["seal"] == served.releases.release("census-2026").identity
    found = browser.get(f"{API}/census-2026?language=de&size=2").json()
    assert found["total"] == 3
    assert len(found["tables"]) == 2
    assert found["tables"][0]["title"] == "Bevölkerung nach Region und Geschlecht"
    searched = browser.get(f"{API}/census-2026?query=wohnungen").json()
    assert [each["id"] for each in searched["tables"]] == ["dwellings"]
    about = browser.get(f"{TABLE}/about?language=de").json()
    assert about["variables"][1]["labels"][1] == "männlich"
    assert about["legend"]


def test_published_files_come_as_they_were_sealed(browser, made_release):
    for name, language in (("population.csv", "en"), ("population.de.csv", "de")):
        sealed = (made_release / name).read_bytes()
        assert browser.get(f"{TABLE}?format=csv&language={language}").content == sealed
        assert browser.get(f"{API}/census-2026/files/{name}").content == sealed
    kinds = {"geojson": "application/geo+json", "svg": "image/svg+xml"}
    for suffix, kind in kinds.items():  # maps are kept, never shown on the pages of the service
        found = browser.get(f"{API}/census-2026/files/dwellings.{suffix}")
        assert found.headers["content-type"] == kind
        assert found.headers["content-disposition"].startswith("attachment")
    names = {
        form: browser.get(f"{TABLE}?format={form}").headers["content-disposition"]
        for form in ("json", "json-stat", "html")
    }
    assert names == {
        "json": 'inline; filename="population.json"',
        "json-stat": 'inline; filename="population.jsonstat.json"',
        "html": 'attachment; filename="population.html"',
    }
    seal = browser.get(f"{API}/census-2026/files/release.seal").content
    assert seal == (made_release / "release.seal").read_bytes()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("table", ["population", "legal_ages", "dwellings"])
def test_every_format_is_made_as_the_library_makes_it(browser, served, tmp_path, form, table):
    found = browser.get(f"{API}/census-2026/tables/{table}?format={form}&language=de")
    assert found.status_code == 200
    made = served.releases.table(f"census-2026.{table}").write(
        tmp_path / f"a.{form}", format=form, language="de"
    )
    if form != "xlsx":
        assert found.content == made.read_bytes()


def test_formats_are_chosen_by_accept(browser):
    parquet = browser.get(TABLE, headers={"Accept": "application/vnd.apache.parquet"})
    assert pl.read_parquet(io.BytesIO(parquet.content)).height > 0
    assert browser.get(TABLE).json()["name"] == "population"
    ranked = browser.get(TABLE, headers={"Accept": "text/csv;q=0.5, text/html;q=0.9"})
    assert ranked.text.startswith("<!DOCTYPE html>")
    assert browser.get(TABLE, headers={"Accept": "image/png"}).status_code == 406
    assert browser.get(f"{TABLE}?format=docx").status_code == 406


def test_what_did_not_change_is_not_sent_again(browser):
    for path in (
        f"{TABLE}?format=csv",
        f"{TABLE}?format=px",
        f"{API}/census-2026/files/population.csv",
        "/pxapi/v2/tables/census-2026.population/data",
        "/sdmx/v2/data/dataflow/DISCREET/census-2026_population",
        "/sdmx/v2/structure/dataflow",
    ):
        first = browser.get(path)
        assert first.headers["cache-control"] == "public, max-age=300"
        again = browser.get(path, headers={"If-None-Match": f'W/"x", {first.headers["etag"]}'})
        assert again.status_code == 304
        assert again.content == b""
        other = browser.get(path, headers={"If-None-Match": '"other"'})
        assert other.status_code == 200
    one, two = (browser.get(f"{TABLE}?format={each}").headers["etag"] for each in ("px", "json"))
    assert one != two


@pytest.mark.parametrize(
    "path",
    [
        f"{API}/none",
        f"{API}/census-2026/tables/none",
        f"{API}/census-2026/tables/..%2f..%2fetc",
        f"{API}/census-2026/files/..%2frelease.seal",
        f"{API}/census-2026/files/.discreet",
        f"{API}/census-2026/files/.discreet%2fpopulation.json",
        f"{API}/..%2f..%2f/files/a",
    ],
)
def test_only_what_was_published_is_given(browser, path):
    assert browser.get(path).status_code == 404


def test_releases_that_are_not_public_need_a_reader(made_release, verify_key, tmp_path):
    settings = service_settings(tmp_path, made_release.parent, verify_key)
    private = Service(type(settings)(**{**vars(settings), "public_releases": False}))
    app = create_app(private, RESOURCES)
    for path in (API, TABLE, "/pxapi/v2/tables", "/sdmx/v2/structure/dataflow"):
        assert AsgiBrowser(app).get(path).status_code == 401
    assert AsgiBrowser(app).get("/pxapi/v2/config").status_code == 200

    reader = KnownCaller(app_of_known(private, RESOURCES), Grant("reader"))
    found = reader.get(f"{TABLE}?format=csv")
    assert found.status_code == 200
    assert found.headers["cache-control"] == "private, no-cache"


# -- errors and limits of the façade of PxWeb ---------------------------------------

PX = "/pxapi/v2/tables/census-2026.population"


@pytest.mark.parametrize(
    ("path", "status", "where"),
    [
        ("/data?valueCodes[colour]=red", 400, "valueCodes"),
        ("/data?valueCodes[sex]=red", 400, "sex"),
        ("/data?valueCodes[sex]=top(x)", 400, "sex"),
        ("/data?valueCodes[sex]=range(m)", 400, "sex"),
        ("/data?valuecode[sex]=m", 400, "valuecode[sex]"),
        ("/data?lang=sv", 400, "lang"),
        ("/data?outputFormat=doc", 400, "outputFormat"),
        ("/data?outputFormatParams=UseCodes,UseTexts", 400, "outputFormatParams"),
        ("/data?codelist[sex]=x", 400, "codelist[sex]"),
        ("/data?heading=sex&stub=sex&valueCodes[sex]=*", 400, "heading"),
        ("/metadata?lang=sv", 400, "lang"),
        ("/metadata?outputFormat=px", 400, "outputFormat"),
        ("none/data", 404, "table"),
        ("/../../savedqueries/1", 404, "savedqueries"),
    ],
)
def test_mistakes_are_told_with_the_statuses_of_the_specification(browser, path, status, where):
    found = browser.get(f"{PX}{path}")
    assert found.status_code == status, found.text
    assert found.headers["content-type"] == "application/problem+json"
    assert found.json()["problems"][0]["where"] == where


def test_bodies_of_another_form_are_told(browser):
    for body in ([], 1, "x", {"selection": 1}, {"selection": [1]}, {"selection": [{"a": 1}]}):
        assert browser.post(f"{PX}/data", json=body).status_code == 400
    two = {
        "selection": [
            {"variableCode": "sex", "valueCodes": ["x"]},
            {"variableCode": "region", "valueCodes": ["y"]},
        ]
    }
    assert len(browser.post(f"{PX}/data", json=two).json()["problems"]) == 2
    for text in ("{}", '{"tableId": "\\ud800"}', '{"tableId": "people", "selection": {"a": NaN}}'):
        told = browser.post(
            "/pxapi/v2/savedqueries", content=text, headers={"Content-Type": "application/json"}
        )
        assert told.status_code in (400, 422), text
    malformed = browser.post(
        f"{PX}/data", content=b"{", headers={"Content-Type": "application/json"}
    )
    assert malformed.status_code == 422


def test_too_many_cells_and_calls_are_refused(made_release, verify_key, tmp_path, set_clock):
    from discreet_service.settings import LimitSettings

    limits = LimitSettings(cells_instant=10, anonymous_per_second=0.5, burst=10_000)
    settings = service_settings(tmp_path, made_release.parent, verify_key, limits=limits)
    browser = AsgiBrowser(create_app(Service(settings, set_clock), RESOURCES))
    config = browser.get("/pxapi/v2/config").json()
    assert (config["maxDataCells"], config["maxCallsPerTimeWindow"]) == (10, 5)
    assert config["timeWindow"] == 10
    whole = "/data?valueCodes[region]=*&valueCodes[sex]=*"
    assert browser.get(f"{PX}{whole}").status_code == 403
    default = browser.get(f"{PX}/data").json()
    assert len(default["value"]) <= 10
    for _ in range(3):
        assert browser.get("/pxapi/v2/tables").status_code == 200
    refused = browser.get("/pxapi/v2/tables")
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "2"
    assert browser.get("/pxapi/v2/config").status_code == 200
    set_clock.pass_by(10)
    assert browser.get("/pxapi/v2/tables").status_code == 200


def test_pages_of_the_list(browser):
    found = browser.get("/pxapi/v2/tables?pageSize=2&pageNumber=2").json()
    assert found["page"]["totalPages"] == 2
    assert len(found["tables"]) == 1
    assert found["page"]["links"][0]["rel"] == "previous"
    assert browser.get("/pxapi/v2/tables?pageNumber=9").status_code == 404
    assert browser.get("/pxapi/v2/tables?pageSize=0").status_code == 422
    assert browser.get("/pxapi/v2/tables?query=%22%00").json()["tables"] == []
    assert browser.get(PX).json()["label"] == "Population by region and sex"


def test_old_forms_of_metadata(browser, served):
    found = browser.get(f"{PX}/metadata?outputFormat=json-px").json()
    table = served.releases.table("census-2026.population")
    assert found["variables"][0]["values"] == list(table.dimensions[0].codes)
    assert found["variables"][1]["elimination"] is True


def test_spreadsheets_run_nothing(browser):
    found = browser.get(f"{PX}/data?outputFormat=csv&valueCodes[sex]=*")
    assert found.headers["content-disposition"].startswith("attachment")
    assert all(not line.startswith(("=", '"=')) for line in found.text.splitlines())


def test_the_served_address_is_the_one_that_was_asked(server):
    (first, *_) = httpx.get(f"{server}/pxapi/v2/tables").json()["tables"]
    assert all(link["href"].startswith(server) for link in first["links"])
