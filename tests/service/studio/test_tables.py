"""The table builder shows what the interface gives, and refuses what it refuses."""

import html
import io
import json
import re
import time
import zipfile
from typing import Any

from discreet.publication.layout import lay_out
from discreet.publication.writers.html import caption, notes_html, table_html
from discreet_service.audit.trail import LogVerdict
from discreet_service.queries import ANSWER_FORMATS
from discreet_service.studio.choices import StudioView, TableChoices
from discreet_service.studio.shown_tables import shown_table
from discreet_service.web.queries import read_address
from tests.helpers.rows import for_all_rows
from tests.service.studio.conftest import GERMAN, HTML, body_cells, text_of

API = "/api/v1/datasets/census"
ASKED = "unit=person&by=region:district,sex"
TOO_MUCH = "unit=person&by=region:municipality,sex,age5,education:2"


def test_result_is_what_the_library_writes(readers: Any) -> None:
    """The table on the page, byte by byte; and its cells are those of the interface."""
    page = readers.page(f"/tables/census/result?{ASKED}", "rita")
    answers = readers.service.answers
    query = read_address([("unit", "person"), ("by", "region:district,sex")])
    table = answers.answer(answers.prepared("census", query)).table
    wanted = "".join(
        table_html(lay_out(table), "en", identifier="table", caption=caption(table, "en"))
    )
    assert wanted in page
    assert notes_html(table, "en") in page
    told = json.loads(
        readers.browser("rita").get(f"{API}/data?{ASKED}&format=json&language=en").content
    )
    assert told["title"] in page


@for_all_rows(
    "asked",
    [
        ASKED,
        "unit=person&by=sex,age5&where.region=x",
        "unit=person&by=region:municipality,sex:1&totals=none",
        "unit=dwelling&by=region:state&measures=mean:rent,vacancy",
        "unit=person&by=region:state&measures=median:age5",
        TOO_MUCH,
    ],
)
def test_estimate_is_that_of_the_interface(readers: Any, asked: str) -> None:
    page = readers.page(f"/tables/census?{asked}", "rita")
    pairs = [each.split("=", 1) for each in asked.split("&")]
    query = read_address([(name, value) for name, value in pairs])
    body = query.model_dump(mode="json", exclude_none=True)
    told = readers.browser("rita").post(f"{API}/query:check", json=body)
    if told.status_code != 200:
        for problem in told.json()["problems"]:
            assert html.escape(problem["message"], quote=False).replace("'", "&#39;") in page
        return
    found = told.json()
    assert text_of(page, "cells") == f"{found['cells']:,}"
    assert text_of(page, "exposure") == f"{found['exposure']:.2f}"
    assert ("do not allow this table" in page) is not found["verdict"]["allowed"]
    for rule in found["verdict"]["rules"]:
        if rule["outcome"] == "refused":
            assert f"{rule['rule']}: {rule['text']}" in page


def test_refusal_is_worded_as_the_interface_does(readers: Any) -> None:
    told = readers.browser("rita").get(f"{API}/data?{TOO_MUCH}").json()
    page = readers.page(f"/tables/census/result?{TOO_MUCH}", "rita", status=told["status"])
    assert told["detail"] in page
    assert f"Rule: {told['rule']}" in page
    german = readers.page(
        f"/tables/census/result?{TOO_MUCH}", "rita", told["status"], **{"Accept-Language": "de"}
    )
    assert "zu viele Merkmale" in german


def test_form_and_address_are_one(readers: Any) -> None:
    """What the form sends is made into the address of the same query, without empty parts."""
    sent = "unit=person&by=region:state&pick.sex=&pick.sex=w&measures=count&totals=all&find.sex="
    answer = readers.browser("rita").get(f"/tables/census/result?{sent}", headers=HTML)
    assert answer.status_code == 303
    assert answer.headers["location"] == (
        "/tables/census/result?unit=person&by=region:state&where.sex=w"
    )
    page = readers.page(answer.headers["location"], "rita")
    assert "/tables/census/result?unit=person&amp;by=region:state&amp;where.sex=w" in page
    back = re.search(r'href="(/tables/census\?[^"]+)">← Change', page)
    assert back
    form = readers.page(html.unescape(back[1]), "rita")
    assert "Counted categories only: female" in form


def test_medians_are_chosen_and_shown(readers: Any) -> None:
    form = readers.page("/tables/census?unit=person&by=region:state", "rita")
    assert re.search(
        r'name="measures" value="median:age5"> [^<]*\(median\)', " ".join(form.split())
    )
    asked = "unit=person&by=region:state&measures=median:age5"
    page = readers.page(f"/tables/census/result?{asked}&chart=bars", "rita")
    assert "Quantiles: " in page
    assert "Quantiles are computed from protected counts of classes" in page
    assert "measures=median%3Aage5" in page or "measures=median:age5" in page


def test_codes_with_commas_survive(readers: Any) -> None:
    version = readers.service.datasets.version("census")
    pairs = [("unit", "person"), ("by", "sex"), ("pick.nationality", "a,b"), ("pick.sex", "w")]
    asked = TableChoices.of(version, pairs).parameters()
    query = read_address(asked)
    assert query.where[0].codes == ["a,b"]
    assert TableChoices.of(version, asked).picks == {"nationality": ("a,b",), "sex": ("w",)}


def test_codes_are_searched_and_picked(readers: Any) -> None:
    path = "/tables/census?unit=person&by=region:state&pick.nationality=fr&open=nationality"
    page = readers.page(path, "rita")
    version = readers.service.datasets.version("census")
    codes = version.units["person"].variables["nationality"].tree
    # All codes but the total, and the empty field that keeps commas.
    assert page.count('name="pick.nationality"') == len(codes)
    assert '<input type="checkbox" name="pick.nationality" value="fr" checked>' in page
    found = readers.page(f"{path}&find.nationality=finn", "rita")
    assert re.findall(r'name="pick.nationality" value="(\w+)"', found) == ["fi", "fr"]


@for_all_rows(
    ("search", "language", "first"),
    [
        ("nationality", "en", "by=nationality:1"),
        ("citizenship", "en", "by=nationality:1"),  # another word for it
        ("Staatsang", "de", "by=nationality:1"),
        ("FRENCH", "en", "pick.nationality=fr"),
        ("französisch", "de", "pick.nationality=fr"),
        ("franzosisch staats", "de", "pick.nationality=fr"),  # without marks, with its variable
    ],
)
def test_variables_and_codes_are_found_in_one_field(
    readers: Any, search: str, language: str, first: str
) -> None:
    path = "/tables/census?unit=person&by=region:state"
    head = GERMAN if language == "de" else {}
    page = readers.page(f"{path}&search={search}", "rita", **head)
    hits = page[page.index('<ul id="hits"') : page.index("</ul>", page.index('<ul id="hits"'))]
    buttons = re.findall(r'<button type="submit"[^>]* name="([^"]+)" value="([^"]+)"', hits)
    name, value = first.split("=")
    assert buttons[0][0] == name
    assert value in (buttons[0][1], f"{buttons[0][1].partition(':')[0]}:1")
    # What the button sends is in the table then, and said to be.
    chosen = readers.page(f"{path}&search={search}&{'='.join(buttons[0])}", "rita", **head)
    assert len(re.findall('class="tag good"', chosen)) == 1
    assert not re.search(r'<li>[^<]*<button[^>]*value="fr"', chosen) or name == "by"


def test_searches_that_find_nothing_say_so(readers: Any) -> None:
    page = readers.page("/tables/census?unit=person&search=zzz<b>", "rita")
    assert "No variable or category has these words." in page
    assert "zzz<b>" not in page
    # Whoever sends it by the key that shows a table gets it, too.
    answer = readers.browser("rita").get("/tables/census/result?search=sex", headers=HTML)
    assert answer.headers["location"] == "/tables/census?search=sex"


def test_turning_and_sorting_change_no_figure(readers: Any) -> None:
    plain = body_cells(readers.page(f"/tables/census/result?{ASKED}", "rita"))
    turned = body_cells(
        readers.page(f"/tables/census/result?{ASKED}&down=sex&across=region", "rita")
    )
    assert [list(row) for row in zip(*turned, strict=True)] == plain
    page = readers.page(f"/tables/census/result?{ASKED}&sort=2&order=falling", "rita")
    found = body_cells(page)
    assert found[0] == plain[0]
    assert sorted(found) == sorted(plain)
    numbers = [int(row[1].replace(",", "").replace("–", "0")) for row in found[1:]]
    assert numbers == sorted(numbers, reverse=True)


def test_every_view_has_all_cells(readers: Any) -> None:
    """Released tables with several figures, groups and remarks, by pages and in any turn."""
    for listed in readers.service.releases.tables().values():
        table = readers.service.releases.table(listed.id)
        names = [dimension.name for dimension in table.dimensions]
        plain = shown_table(table, StudioView(whole=True), "en")
        assert plain["pages"] == 1
        wanted = sorted(_flat(plain))
        for view in (
            StudioView(down=tuple(names), across=()),
            StudioView(sort=1, whole=True),
            StudioView(sort=1, falling=False, whole=True),
        ):
            cells: list[str] = []
            for page in range(1, shown_table(table, view, "de")["pages"] + 1):
                shown = shown_table(table, view.at(page), "en")
                cells += _flat(shown)
            assert sorted(cells) == wanted, (listed.id, view)


def _flat(shown: dict[str, Any]) -> list[str]:
    return [cell for row in body_cells(str(shown["table"])) for cell in row]


def test_released_table_is_that_of_the_release(readers: Any) -> None:
    page = readers.page("/releases/census-2022/population")
    table = readers.service.releases.table("census-2022.population")
    wanted = table_html(lay_out(table), "en", identifier="table", caption=caption(table, "en"))
    assert "".join(wanted) in page
    for path in ("/releases/census-2022/nothing", "/releases/nothing", "/releases/nothing/x"):
        readers.page(path, status=404)


def test_releases_are_searched(readers: Any) -> None:
    page = readers.page("/releases/census-2022?query=rents")
    assert "/releases/census-2022/rents" in page
    assert "/releases/census-2022/population" not in page
    assert "No table contains all of these words" in readers.page("/releases/census-2022?query=zzz")


def test_downloads_are_those_of_the_interface(readers: Any) -> None:
    page = readers.page(f"/tables/census/result?{ASKED}", "rita")
    links = [html.unescape(each) for each in re.findall(r'href="([^"]+)" download', page)]
    names = [re.findall(r"format=([\w-]+)", link) for link in links]
    assert names == [[name] for name in ANSWER_FORMATS]
    for link in links:
        answer = readers.browser("rita").get(link)
        assert answer.status_code == 200, link
        assert answer.content


def test_who_may_only_read_is_led_to_the_login(readers: Any) -> None:
    page = readers.page("/tables/census?by=sex&unit=person")
    assert "Log in" in page
    assert 'id="cells"' not in page
    refused = readers.page(f"/tables/census/result?{ASKED}", status=401)
    assert 'href="/login?next=' in refused
    readers.page(f"/tables/census/result?{ASKED}", "vera", status=403)


def test_large_table_becomes_a_job(fresh_readers: Any) -> None:
    readers = fresh_readers  # so large a table exposes too much beside many others
    rita = readers.browser("rita")
    asked = "unit=person&by=nationality:2,occupation:2,age5&totals=all"
    assert "Large table" in readers.page(f"/tables/census/result?{asked}", "rita")
    answer = rita.submit(f"/tables/census/result?{asked}", "/tables/census/job", format="csv")
    assert answer.status_code == 303, answer.text
    place = answer.headers["location"]
    job = readers.page(place, "rita")
    assert f'data-events="/api/v1{place}/events"' in job
    readers.page(place, "paul", status=404)
    assert place in readers.page("/jobs", "rita")
    stopped = rita.submit(place, f"{place}/cancel")
    assert stopped.headers["location"] == place
    assert "stopped" in readers.page(place, "rita")


@for_all_rows(
    "query",
    [
        "by=<script>alert(1)</script>",
        "unit=%00&by=sex",
        "by=sex&page=999999&sort=99999&down=x,,y&across=%22%3E",
        "by=sex&where.sex=%22%3E%3Cimg%20src=x%3E",
        "totals=%22onload&by=sex&measures=<b>",
        "open=<b>&find.<b>=1&by=region:%27",
        "by=sex&" + "&".join(f"pick.sex={n}" for n in range(300)),
        "version=<b>&by=sex",
        "format=<b>&language=xx&by=sex:9999999999999999999",
    ],
)
def test_what_was_sent_is_escaped_and_never_fatal(readers: Any, query: str) -> None:
    for path in ("/tables/census", "/tables/census/result", "/releases/census-2022/population"):
        answer = readers.browser("rita").get(f"{path}?{query}", headers=HTML)
        assert answer.status_code < 500, (path, query, answer.text)
        for raw in ("<script>alert", "<img src=x", "<b>", '"onload'):
            assert raw not in answer.text, (path, query)


def test_ten_thousand_cells_are_made_in_time(readers: Any) -> None:
    listed = readers.service.releases.tables()
    largest = max(listed.values(), key=lambda each: each.cells)
    path = f"/releases/{largest.release}/{largest.name}?whole=1"
    readers.page(path)
    start = time.process_time()
    readers.page(path)
    assert time.process_time() - start < 20


def test_refusals_of_large_tables_are_noted_like_all_others(readers: Any) -> None:
    """Staff finds them in the log and on the page of the policy, whatever their size."""
    answer = readers.browser("rita").get(f"/tables/census/result?{TOO_MUCH}", headers=HTML)
    assert answer.status_code == 403
    rows = readers.service.query_log.search(principal="rita", verdict=LogVerdict.refused).rows
    assert rows[0].mode == "query"
    with readers.service.database.reading() as connection:
        found = readers.service.policies.in_force.refusal(
            connection, "census", "2022-1", rows[0].digest
        )
    assert found["principal"] == "rita"
    assert {one["rule"] for one in found["rules"] if one["outcome"] == "refused"} == set(
        json.loads(rows[0].rules)
    )


@for_all_rows(
    ("query", "kinds"),
    [
        ("by=region:district,sex", ["bars", "lines", "heat-map", "pyramid", "map"]),
        ("by=sex", ["bars", "lines"]),
        ("by=region:state", ["bars", "lines", "map"]),
        ("by=marital_status,education:1", ["bars", "lines", "heat-map"]),
    ],
)
def test_charts_stand_beside_their_table(readers: Any, query: str, kinds: list[str]) -> None:
    path = f"/tables/census/result?unit=person&{query}"
    page = readers.page(path, "rita")
    assert re.findall(r'data-focus="chart-([a-z-]+)"', page) == ["none", *kinds]
    assert "<figure" not in page
    for kind in kinds:
        charted = readers.page(f"{path}&chart={kind}", "rita")
        assert body_cells(charted) == body_cells(page)
        [svg] = re.findall(r"<svg.*</svg>", charted, re.DOTALL)
        assert "style=" not in svg  # pages allow no styles of their own
        file = readers.browser("rita").get(f"{path}&chart={kind}&image=svg", headers=HTML)
        assert file.headers["content-type"] == "image/svg+xml"
        assert file.text.strip() == svg
    assert "<figure" not in readers.page(f"{path}&chart=nothing", "rita")


def test_a_chart_of_a_release_tells_what_its_table_tells(readers: Any) -> None:
    path = "/releases/census-2022/rents"
    charted = readers.page(f"{path}?chart=bars", "", **GERMAN)
    assert "Alle Werte stehen in der Tabelle." in charted
    # Whatever number stands on a bar stands in the table.
    [svg] = re.findall(r"<svg.*</svg>", charted, re.DOTALL)
    cells = {cell for row in body_cells(charted) for cell in row}
    written = set(re.findall(r'text-anchor="start"[^>]*>([0-9][0-9,\u202f]*)</text>', svg))
    assert written
    assert written <= cells
    assert readers.browser().get(f"{path}?image=svg", headers=HTML).status_code == 404


def test_a_release_has_the_map_of_its_areas(readers: Any) -> None:
    """With the boundaries of the data whose areas it has; other tables have none."""
    path = "/releases/census-2022/population"
    page = readers.page(f"{path}?chart=map", "")
    [svg] = re.findall(r"<svg.*</svg>", page, re.DOTALL)
    areas = len(re.findall(r"<circle", svg))
    assert areas >= 20
    file = readers.browser().get(f"{path}?chart=map&image=svg", headers=HTML)
    assert file.headers["content-disposition"] == 'attachment; filename="population-map.svg"'
    assert file.text.strip() == svg
    assert "chart-map" not in readers.page("/releases/census-2022/legal_ages", "")


@for_all_rows(
    "query", ["by=region:municipality&by=sex&by=education:1", "by=region:district", "by=age5"]
)
def test_levels_that_cannot_be_added_are_greyed_with_the_reason(readers: Any, query: str) -> None:
    """What is greyed is refused when it is asked for, and nothing else is."""
    start = f"unit=person&{query}"
    page = readers.page(f"/tables/census?{start}", "rita")
    boxes = re.findall(
        r'<input type="checkbox" name="by" value="([^"]*)"( checked| disabled|)', page
    )
    reasons = dict(re.findall(r'<li data-value="([^"]*)">([^<]*)</li>', page))
    assert {value for value, state in boxes if state == " disabled"} == reasons.keys()
    chosen = {value.partition(":")[0] for value, state in boxes if state == " checked"}
    for value, _ in boxes:
        if value.partition(":")[0] in chosen:
            continue
        check = readers.page(f"/tables/census?{start}&by={value}", "rita")
        found = text_of(check, "estimate")
        assert ("All checks passed" in found) == (value not in reasons), (value, found)
        if value in reasons:
            assert html.unescape(reasons[value]).split(";")[0] in found, (value, found)


def test_a_refused_choice_has_near_ones_beside_it(readers: Any) -> None:
    deep = "unit=person&by=region:municipality,sex,marital_status,education:2"
    page = readers.page(f"/tables/census?{deep}", "rita")
    near = re.findall(r'<a href="(/tables/census\?[^"]*)">', page)
    assert near
    for link in near:
        assert "All checks passed" in readers.page(html.unescape(link), "rita")


def test_a_basket_keeps_tables_in_the_browser(readers: Any) -> None:
    """One archive has the files that each table has alone; refused tables are named."""
    good = "/tables/census/result?unit=person&by=sex"
    deep = "/tables/census/result?unit=person&by=region:municipality,sex,education:1,age5"
    browser = readers.browser("rita")
    assert "The basket is empty." in readers.page("/basket", "rita")
    for place in (good, deep, good):
        answer = readers.post("/basket", {"table": place}, "rita")
        assert (answer.status_code, answer.headers["location"]) == (303, "/basket")
    page = readers.page("/basket", "rita", **GERMAN)
    assert page.count('name="table"') == 2
    assert "Personen nach Geschlecht" in page
    files = browser.get("/basket/files?format=csv")
    archive = zipfile.ZipFile(io.BytesIO(files.content))
    [table] = [name for name in archive.namelist() if name.endswith(".csv")]
    alone = browser.get("/api/v1/datasets/census/data?unit=person&by=sex&format=csv")
    assert archive.read(table) == alone.content
    assert "too many variables" in archive.read("refused.txt").decode()
    for place in ("https://elsewhere.example/", "/tables/none/result?by=sex"):
        wrong = readers.post("/basket", {"table": place}, "rita")
        assert wrong.status_code == 404, place
    readers.post("/basket", {"table": deep, "act": "remove"}, "rita")
    assert readers.page("/basket", "rita").count('name="table"') == 1
