"""Attacks of strangers on a whole service: forged forms, guessed numbers, planted texts, paths."""

import csv
import io
import itertools
import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from discreet_service.installation import LOCAL
from discreet_service.permissions import ROLES, Grant
from discreet_service.web.pages import check_form
from tests.helpers.mutated_requests import HOSTILE, endpoints
from tests.helpers.running_service import (
    ORIGIN,
    UNBOUNDED,
    RunningDemo,
    Told,
    all_routes,
    running_demo,
)

FORM = ("content-type", "application/x-www-form-urlencoded")
HERE = (("origin", ORIGIN), ("sec-fetch-site", "same-origin"))
PAGE = ("accept", "text/html")
#: What stands in labels, titles and names: it must come out as text, wherever it comes out.
SCRIPT = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>"
FORMULA = "=cmd|' /C calc'!A1"
QUERY, LARGE = {"unit": "person", "by": ["sex"]}, {"unit": "person", "by": ["age5"]}
ASKING = "/api/v1/datasets/census/query"


@pytest.fixture(scope="module")
def demo(demonstration: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDemo]:
    place = tmp_path_factory.mktemp("strangers") / "service"
    with running_demo(demonstration, place, limits=replace(UNBOUNDED, cells_instant=5)) as found:
        found.clock.step = 20
        yield found


# -- forms ---------------------------------------------------------------------------------------


def _path(path: str, value: str = "0" * 32) -> str:
    key = {"key": "0" * 12, "dataset": "census", "version": "2022-1", "digest": "0" * 64}
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: key.get(found[1], value), path)


def _entries(demo: RunningDemo) -> int:
    return demo.service.trail.head()[0]


OTHER_SITES = (
    (("origin", "null"),),
    (("origin", "http://evil.example"),),
    (("origin", f"{ORIGIN}.evil.example"),),
    (("origin", ORIGIN), ("sec-fetch-site", "cross-site")),
    (("origin", ORIGIN), ("sec-fetch-site", "same-site")),
    (("sec-fetch-site", "none"),),
    (("referer", "http://evil.example/?http://127.0.0.1:8077/"),),
    (("origin", "http://127.0.0.1:80770"),),
    (("origin", "https://127.0.0.1:8077"),),
)


def test_no_page_of_another_site_changes_anything(demo: RunningDemo) -> None:
    """With the cookie of whoever may do it; every route, every method that changes something."""
    cookie, token = demo.log_in("adam")
    before = _entries(demo)
    changing = [one for one in endpoints(demo.app) if one.method not in ("GET", "HEAD")]
    assert len(changing) > 30
    body = urlencode({"csrf": token, "name": "eve"}).encode()
    for one, site in zip(changing, itertools.cycle(OTHER_SITES), strict=False):
        for origin in ((), site):
            headers = [("cookie", cookie), *origin, FORM]
            told = demo.ask(one.method, _path(one.path), headers=headers, body=body)
            assert told.status == 403, (one, origin, told.text)
    assert _entries(demo) == before


def test_every_form_needs_the_token_of_its_session(demo: RunningDemo) -> None:
    cookie, _ = demo.log_in("adam")
    tokens = itertools.cycle(("", "é", "0" * 64, demo.log_in("rita")[1]))
    before, forms = _entries(demo), 0
    for route in all_routes():
        if route.methods <= {"GET", "HEAD"} or check_form not in _calls(route.dependant):
            continue
        fields = dict.fromkeys((each.alias for each in route.dependant.body_params), "x" * 64)
        body = urlencode({**fields, "csrf": next(tokens)}).encode()
        told = demo.ask(
            "POST", _path(route.path), headers=[("cookie", cookie), *HERE, FORM], body=body
        )
        assert told.status == 403, (route.path, told.status, told.text)
        forms += 1
    assert forms > 25
    assert _entries(demo) == before


def test_every_route_of_pages_that_changes_something_checks_forms() -> None:
    """Whoever adds a form and forgets the check is told so here."""
    unchecked = []
    for route in all_routes():
        if route.methods <= {"GET", "HEAD"} or route.path.startswith(("/api/", "/pxapi/")):
            continue
        calls = _calls(route.dependant)
        if check_form not in calls:
            unchecked.append(route.path)
    # Nobody is logged in yet: it has a token of its own. And a language is nobody's secret.
    assert set(unchecked) <= {"/login", "/language"}


def _calls(dependant: Any) -> set[Any]:
    found = {dependant.call}
    for each in dependant.dependencies:
        found |= _calls(each)
    return found


# -- numbers of others -----------------------------------------------------------------------------


def test_numbers_of_jobs_are_not_found_by_guessing(demo: RunningDemo) -> None:
    job = demo.ask("POST", ASKING, key="requester", data=LARGE).json()["job"]
    assert re.fullmatch(r"[0-9a-f]{32}", job)
    near = [f"{int(job, 16) ^ 1 << bit:032x}" for bit in range(0, 128, 16)]
    for other in (*near, "0" * 32, "1", job[:-1], job.upper(), f"{job}0", f" {job}", "*", "%"):
        for path in (f"/api/v1/jobs/{quote(other)}", f"/api/v1/jobs/{quote(other)}/result"):
            assert demo.ask("GET", path, key="requester").status == 404
    _of_others_is_as_if_not_there(demo, job)
    assert demo.ask("GET", f"/api/v1/jobs/{job}", key="requester").status == 200


def _of_others_is_as_if_not_there(demo: RunningDemo, job: str) -> None:
    for method, more in (("GET", ""), ("GET", "/result"), ("GET", "/events"), ("DELETE", "")):
        for key in ("producer", "service", "reader", ""):
            there = demo.ask(method, f"/api/v1/jobs/{job}{more}", key=key)
            none = demo.ask(method, f"/api/v1/jobs/{'0' * 32}{more}", key=key)
            assert there.status in (401, 403, 404)
            assert there.without_number() == none.without_number()


def test_an_idempotency_key_of_somebody_else_gives_nothing(demo: RunningDemo) -> None:
    keys, headers = ("requester", "requester", "producer"), [("idempotency-key", "the-same")]
    told = [demo.ask("POST", ASKING, key=key, headers=headers, data=LARGE) for key in keys]
    assert [each.status for each in told] == [202] * 3, [each.text for each in told]
    first, again, second = (each.json()["job"] for each in told)
    assert first == again != second


# -- planted texts ---------------------------------------------------------------------------------


class _Alive(HTMLParser):
    """What a browser would run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("img", "iframe", "object", "embed", "base", "form"):
            target = given.get("src") or given.get("action") or ""
            own = tag == "form" or (tag == "img" and target.startswith("/static/"))
            if not own or target.startswith(("http", "//", "javascript")):
                self.found.append(tag)
        if tag == "script" and not str(given.get("src", "")).startswith("/static/"):
            self.found.append("script")
        self.found += [name for name in given if name.startswith("on")]
        for name in ("href", "src", "action", "formaction"):
            if str(given.get(name) or "").strip().lower().startswith(("javascript:", "data:")):
                self.found.append(name)


def _alive(text: str) -> list[str]:
    reader = _Alive()
    reader.feed(text)
    return reader.found


def _planted(folder: Path) -> None:
    """Titles and labels, of the data set and of a release, that are scripts and formulas."""
    from discreet import protect

    place = folder / "datasets" / "census-2022-1"
    title = json.dumps(SCRIPT)
    for name in ("DATASET.toml", "programme.toml"):
        file = place / name
        text = file.read_text("utf-8")
        text = re.sub(r'en = "(Census|Sex|Persons|Population by region and sex)[^"]*"',
                      lambda _: f"en = {title}", text)  # fmt: skip
        text = text.replace('en = "male"', f"en = {title}")
        text = text.replace('en = "female"', f'en = "{FORMULA}"')
        file.write_text(text, "utf-8")
    protect(place / "programme.toml", folder / "releases" / "planted")
    # What was published is not served when it was changed: here as if it had been so all along.
    with sqlite3.connect(folder / "service.db") as database:
        database.execute("DELETE FROM data_versions")
    database.close()
    settings = folder / "SERVICE.toml"
    settings.write_text(
        re.sub(r"name = .*", f"name = {title}", settings.read_text("utf-8"), count=1), "utf-8"
    )


@pytest.fixture(scope="module")
def planted(demonstration: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDemo]:
    place = tmp_path_factory.mktemp("planted") / "service"
    with running_demo(demonstration, place, change=_planted) as found:
        found.service.datasets.publish("census", "2022-1", "paul")
        for role in set(ROLES) - {"auditor", "admin"}:  # they stand beside no other
            found.service.users.grant(LOCAL, "paul", Grant(role))
        found.clock.step = 20
        yield found


def _pages(demo: RunningDemo) -> Iterator[tuple[str, Told]]:
    """All pages, as the first who may: somebody with most roles, an auditor, an administrator."""
    values = ("planted", "census", "population", "planted.population")
    cookies = [demo.log_in(person)[0] for person in ("paul", "otto", "adam")]
    for one in endpoints(demo.app):
        if one.method != "GET" or not one.page or "oidc" in one.path or "static" in one.path:
            continue
        for value in values if "{" in one.path else ("",):
            path = re.sub(r"\{\w+(?::\w+)?\}", value, one.path)
            for cookie in cookies:
                told = demo.ask("GET", path, headers=[("cookie", cookie), PAGE])
                yield path, told
                if told.status != 403:
                    break


def test_no_page_runs_what_stands_in_labels_and_titles(planted: RunningDemo) -> None:
    shown = 0
    for path, told in _pages(planted):
        assert told.status < 500, path
        assert not _alive(told.text), path
        shown += "&lt;script&gt;alert(1)" in told.text
    assert shown >= 5


def test_no_download_runs_what_stands_in_labels_and_titles(planted: RunningDemo) -> None:
    asked = (
        "/api/v1/datasets/census/data?unit=person&by=sex&format=html&language=en",
        "/api/v1/releases/planted/tables/population?format=html&language=en",
        "/pxapi/v2/tables/planted.population/data?outputFormat=html&lang=en",
    )
    for path in asked:
        told = planted.ask("GET", path, key="everybody")
        assert told.status == 200, (path, told.text)
        assert not _alive(told.text), path
        assert "&lt;script&gt;alert(1)" in told.text, path
        assert "default-src 'self'" in told.header("content-security-policy")
    body = {
        "parameter_set": "census",
        "format": "html",
        "name": SCRIPT,
        "by": ["sex"],
        "cells": [
            {"sex": "Total", "n": 7, "key": 3},
            {"sex": SCRIPT, "n": 7, "key": 3},
        ],
    }
    told = planted.ask("POST", "/api/v1/protect/counts", key="service", data=body)
    assert not _alive(told.text)


def test_errors_as_pages_run_nothing_either(demo: RunningDemo) -> None:
    for text in (SCRIPT, *HOSTILE):
        given = quote(text, errors="surrogatepass")
        for path in (f"/{given}", f"/static/{given}", f"/tables/{given}?x={given}"):
            told = demo.ask("GET", path, headers=[PAGE, ("referer", ORIGIN)], query=given)
            assert not _alive(told.text), path


_TEXTS = ("csv", "sdmx-csv")


def _run_by_spreadsheets(content: bytes) -> list[str]:
    rows = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    cells = [cell for row in rows for cell in row]
    return [
        cell
        for cell in cells
        if re.match(r"^[\s\x00\"]*[=+@-]|^[\t\r\n]", cell)
        and not re.fullmatch(r"[+-]?[0-9.,  %–-]*", cell)
    ]


def test_no_file_runs_formulas_in_a_spreadsheet(planted: RunningDemo) -> None:
    """In every format of text, whoever wrote the label, the code or the name of a column."""
    addresses = [
        *(
            f"/api/v1/datasets/census/data?unit=person&by=sex&language=en&format={form}"
            for form in _TEXTS
        ),
        *(
            f"/api/v1/releases/planted/tables/population?language=en&format={form}"
            for form in _TEXTS
        ),
        "/pxapi/v2/tables/planted.population/data?outputFormat=csv&lang=en",
        "/pxapi/v2/tables/planted.population/data?outputFormat=csv&lang=en&outputFormatParams=UseTexts",
        "/pxapi/v2/tables/planted.population/data?outputFormat=csv&lang=en&outputFormatParams=UseCodesAndTexts",
    ]
    for path in addresses:
        told = planted.ask("GET", path, key="everybody")
        assert told.status == 200, (path, told.text)
        assert not _run_by_spreadsheets(told.content), path
    for form in _TEXTS:
        for code in (FORMULA, "+1+1", "-2+3", "@SUM(A1)", "\t=1", " =1", "＝1+1"):
            body = {
                "parameter_set": "census",
                "format": form,
                "by": ["sex"],
                "cells": [{"sex": "Total", "n": 7, "key": 3}, {"sex": code, "n": 7, "key": 3}],
            }
            told = planted.ask("POST", "/api/v1/protect/counts", key="service", data=body)
            assert told.status in (200, 422)
            if told.status == 200:
                assert not _run_by_spreadsheets(told.content), (form, code)


def test_sheets_have_no_formulas(planted: RunningDemo) -> None:
    path = "/api/v1/datasets/census/data?unit=person&by=sex&language=en&format=xlsx"
    told = planted.ask("GET", path, key="everybody")
    with zipfile.ZipFile(io.BytesIO(told.content)) as file:
        parts = [file.read(name).decode("utf-8", "replace") for name in file.namelist()]
    assert any("cmd|" in part for part in parts)
    assert not any(re.search(r"<f[ >]|<hyperlink|ddeLink", part) for part in parts)


# -- paths, SQL, logs ------------------------------------------------------------------------------

_PATHS = tuple(each for each in HOSTILE if "secret" in each or "passwd" in each) + tuple(
    up * deep + name
    for up in ("../", "%2e%2e/", "..%2f", "%252e%252e%252f", "..\\", "..%5c", "%c0%ae%c0%ae/")
    for deep in (1, 3)
    for name in ("service.secret", "SERVICE.toml", "datasets/census-2022-1/secret.key")
)
_SQL = tuple(
    text
    for text in (*HOSTILE, "1' AND SLEEP(5)--", "x' UNION SELECT 1,2,3--", "1;ATTACH 'x' AS y")
    if re.search(r"'|union|--|;", text)
)


@pytest.mark.parametrize("every", [12, pytest.param(5, marks=pytest.mark.exhaustive)])
def test_no_parameter_is_a_path_or_a_statement(demo: RunningDemo, every: int) -> None:
    """Every parameter of every path and of every query, with such texts."""
    secrets, asked = demo.secrets(), 0
    texts = (*_PATHS, *_SQL)
    for at, one in enumerate(one for one in endpoints(demo.app) if one.method == "GET"):
        chosen = texts[at % every :: every]
        for name in re.findall(r"\{(\w+)(?::\w+)?\}", one.path):
            for text in chosen:
                raw = text if "%" in text else quote(text, errors="surrogatepass")
                path = _path(re.sub(rf"\{{{name}(?::\w+)?\}}", lambda _, r=raw: r, one.path))
                told = demo.ask("GET", path, key="everybody", headers=[PAGE] if one.page else [])
                _tells_nothing(told, secrets, path)
                asked += 1
        for name in one.query:
            for text in chosen[:2]:
                query = urlencode({name: text.encode("utf-8", "surrogatepass")})
                told = demo.ask("GET", _path(one.path), key="everybody", query=query)
                _tells_nothing(told, secrets, f"{one.path}?{query}")
                asked += 1
    assert asked > 3_000 / every
    assert demo.service.trail.verify().whole


def _tells_nothing(told: Told, secrets: tuple[str, ...], path: str) -> None:
    assert told.status < 500, path
    assert not any(word in told.text for word in (*secrets, "root:", "office.pub", "sqlite")), path


_FORGED = (
    'x\n{"time": "2026-01-01T00:00:00", "level": "info", "event": "forged"}',
    "x\r\nforged",
    "\x1b[2J\x1b[31mforged",
    "\u2028forged\u2029\u0085forged\u202e",
    "forged\x00\x08\x7f",
)


def test_no_line_of_any_log_is_forged(demo: RunningDemo) -> None:
    """What comes from callers stays within a line, and nothing in it moves a terminal."""
    before = len(demo.logged())
    for text in _FORGED:
        given = quote(text)
        demo.ask("GET", f"/{given}", headers=[("user-agent", text), ("referer", text)])
        demo.ask("GET", f"/api/v1/datasets/{given}/data", key="everybody", query=f"by={given}")
        demo.ask("GET", "/api/v1/config", headers=[("x-request-id", text)])
        for data in (
            {**QUERY, "where": [{"variable": "sex", "codes": [text]}]},
            {**QUERY, "by": [text]},
            {**QUERY, "version": text},
        ):
            demo.ask("POST", "/api/v1/datasets/census/query", key="everybody", data=data)
        body = {"name": text, "kind": "system", "roles": ["reader"], "grants": []}
        demo.ask("POST", "/api/v1/people", key="everybody", data=body)
        demo.ask("POST", "/api/v1/keys", key="everybody", data={"name": text, "days": 3})
        reason = {"reason": text}
        path = "/api/v1/parameter-sets/census/1:retire"
        demo.ask("POST", path, key="everybody", data=reason)
        cookie, token = demo.log_in("rita")
        fields = urlencode({"csrf": token, "name": text, "role": "requester", "days": "3"})
        demo.ask(
            "POST", "/account/keys", headers=[("cookie", cookie), *HERE, FORM], body=fields.encode()
        )
        form = urlencode({"name": text, "password": text, "csrf": "x"}).encode()
        demo.ask("POST", "/login", headers=[*HERE, FORM], body=form)
    lines = [*demo.logged()[before:], *(line.rstrip("\n") for line in demo.service.trail.export())]
    lines += demo.ask("GET", "/api/v1/audit/export", key="auditor").text.splitlines()
    told = demo.ask("GET", "/api/v1/log", key="auditor", query="size=200")
    lines += [json.dumps(one) for one in told.json()["rows"]]
    for line in lines:
        found = json.loads(line)
        assert isinstance(found, dict)
        assert found.get("event") != "forged"
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202e]", line), ascii(line)
    assert demo.service.trail.verify().whole
