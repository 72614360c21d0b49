"""PxWebApi 1: the calls that pxweb for R makes, from Python and from plain R."""

from __future__ import annotations

import io
import subprocess

import httpx
import polars as pl
import pytest

BASE = "/pxapi/v1"
PLACE = f"{BASE}/en/census-2026/population"


def select(code, kind, *values):
    return {"code": code, "selection": {"filter": kind, "values": list(values)}}


def ask(server, *query, form="json", place=PLACE):
    body = {"query": list(query), "response": {"format": form}}
    return httpx.post(f"{server}{place}", json=body)


def test_limits_are_told_under_every_path(server):
    for path in ("", "/en", "/en/census-2026/population", "/x/y/z"):
        told = httpx.get(f"{server}{BASE}{path}?config")
        assert told.status_code == (200 if path else 404), path
    told = httpx.get(f"{server}{PLACE}?config").json()
    assert {"maxValues", "maxCalls", "timeWindow", "CORS"} <= told.keys()
    assert told["maxValues"] == 10_000


def test_lists_lead_to_tables(server, served):
    assert [e["id"] for e in httpx.get(f"{server}{BASE}/en").json()] == ["census-2026"]
    tables = httpx.get(f"{server}{BASE}/en/census-2026").json()
    assert (tables[0]["id"], tables[0]["type"]) == ("population", "t")
    german = httpx.get(f"{server}{BASE}/de/census-2026/population").json()
    table = served.releases.table("census-2026.population")
    assert german["title"] == table.title("de")
    (region, sex) = german["variables"]
    assert region["values"] == list(table.dimensions[0].codes)
    assert sex["valueTexts"] == list(table.dimensions[1].labels("de"))


def test_cells_are_those_of_the_release(server, served):
    table = served.releases.table("census-2026.population")
    codes = list(table.dimensions[0].codes)
    query = (select("region", "item", *codes[:3]), select("sex", "all", "*"))
    rows = ask(server, *query).json()["data"]
    assert len(rows) == 9
    for row in rows:
        assert row["values"] == [str(table.get(*row["key"]))]
    last = ask(server, select("region", "top", "2")).json()["data"]
    assert [row["key"] for row in last] == [[code] for code in codes[-2:]]
    assert [row["values"] for row in last] == [[str(table.get(c, "Total"))] for c in codes[-2:]]
    lines = pl.read_csv(io.BytesIO(ask(server, *query, form="csv").content))
    assert lines.height == 9
    assert ask(server, *query, form="px").text.startswith("CHARSET")
    assert ask(server, *query, form="json-stat2").json()["size"] == [3, 3]
    homes = ask(server, select("region", "item", "Total"), place=f"{BASE}/en/census-2026/dwellings")
    assert len(homes.json()["data"]) == 3


@pytest.mark.parametrize(
    ("query", "form", "status"),
    [
        (select("colour", "all", "*"), "json", 400),
        (select("sex", "item", "x"), "json", 400),
        (select("sex", "item", "*"), "json", 400),
        (select("sex", "agg:area", "1"), "json", 400),
        (select("sex", "top", "many"), "json", 400),
        (select("sex", "item"), "json", 400),
        (select("sex", "all", "*"), "json-stat", 400),
        ({"code": 3}, "json", 400),
        ("sex", "json", 400),
    ],
)
def test_what_is_wrong_is_told(server, query, form, status):
    assert ask(server, query, form=form).status_code == status


def test_what_is_not_there_is_told(server):
    for path in ("/xx", "/en/none", "/en/census-2026/none", "/en/census-2026/population/more"):
        assert httpx.get(f"{server}{BASE}{path}").status_code == 404
        assert ask(server, place=f"{BASE}{path}").status_code == 404
    for body in (b"[]", b"7", b'{"query": 3}', b"\xff"):
        head = {"Content-Type": "application/json"}
        found = httpx.post(f"{server}{PLACE}", content=body, headers=head)
        assert found.status_code in (400, 422), found.text


SCRIPT = """
url <- commandArgs(TRUE)[1]
get <- function(path) paste(readLines(paste0(url, path), warn = FALSE), collapse = "")
# The client looks for the limits along the path, then reads the variables, then posts its query.
config <- NULL
for (path in c("/pxapi/v1/en", "/pxapi/v1/en/census-2026/population")) {
  config <- get(paste0(path, "?config"))
  stopifnot(all(vapply(c("maxValues", "maxCalls", "timeWindow", "CORS"), grepl, TRUE, config)))
}
variables <- get("/pxapi/v1/en/census-2026/population")
stopifnot(grepl('"code":"sex"', variables, fixed = TRUE), grepl('"valueTexts"', variables))
query <- paste0('{"query":[{"code":"region","selection":{"filter":"item","values":["Total"]}},',
  '{"code":"sex","selection":{"filter":"all","values":["*"]}}],"response":{"format":"csv"}}')
writeLines(query, "query.json")
status <- system2("curl", c("-sf", "--data-binary", "@query.json", "-H",
  shQuote("Content-Type: application/x-www-form-urlencoded"), "-o", "cells.csv",
  paste0(url, "/pxapi/v1/en/census-2026/population")))
stopifnot(status == 0)
cells <- read.csv("cells.csv")
stopifnot(nrow(cells) == 3, is.numeric(cells[[3]]))
cat(cells[[3]])
"""


@pytest.mark.r
def test_plain_r_makes_the_calls_of_the_client(r, server, served, tmp_path):
    """httr labels bodies as forms. The client itself is not installed: these are its calls."""
    (tmp_path / "script.R").write_text(SCRIPT)
    done = subprocess.run(
        ["Rscript", "--vanilla", "script.R", server],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = served.releases.table("census-2026.population")
    wanted = [table.get("Total", code) for code in table.dimensions[1].codes]
    assert [int(each) for each in done.stdout.split()] == wanted
