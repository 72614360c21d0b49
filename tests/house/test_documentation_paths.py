"""Newcomers find what they look for: in three clicks from the front page, and in one search."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from mkdocs.utils.yaml import yaml_load

import discreet
from discreet.publication import formats
from tests.helpers.places import ROOT
from tests.house.test_house_scripts import script

DOCS = ROOT / "docs"
FRONT = DOCS / "index.md"
#: Pages for those who change the code; they are no part of the site.
INTERNAL = {DOCS / "architecture.md", DOCS / "decisions.md"}
PAGES = sorted({*DOCS.rglob("*.md")} - INTERNAL)
LINK = re.compile(r"\]\(([^)#\s:]+\.md)[^)]*\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"\w+")
MOST_CLICKS = 3
#: Results that a reader looks at.
MOST_RESULTS = 3
#: Entries that a reader sees beside a page: those of its tab, and those of one group.
MOST_ENTRIES = 20

#: What a newcomer types, and what the page that helps has to say.
TASKS = (
    ("first table", r"discreet new persons\.csv"),
    ("which method", r"discreet advise"),
    ("decimal comma", r"decimal = \",\"|decimal=,"),
    ("value labels", r"[Vv]alue labels"),
    ("age groups", r"from_intervals|intervals"),
    ("many tables", r"discreet protect \S+\.toml"),
    ("suppress cells", r"discreet suppress"),
    ("Dominanzregel", r"nk=|Dominance\("),
    ("round to 5", r"method=\"controlled\"|--method controlled"),
    ("design ptable", r"discreet ptable design"),
    ("shares", r"kind ?= ?\"share\""),
    ("Stichprobe", r"protect = \"sample\""),
    ("Excel", r"\.xlsx"),
    ("Karte", r"GeoJSON"),
    ("Eurostat", r"discreet transmit"),
    ("Qualitätsbericht", r"quality\.html"),
    ("do-file", r"discreet fire pre"),
    ("clean log", r"discreet fire post"),
    ("four eyes", r"discreet fire queue"),
    ("scientific use file", r"discreet anonymise"),
    ("table builder", r"discreet serve|[Tt]able builder"),
    ("tau argus", r"discreet suppress \S+\.(arb|tab)|\.arb"),
    ("error message", r"[Ww]rong inputs"),
    ("leading zeros", r"text = \["),
    ("Umlaute", r"encoding"),
    ("Mindestfallzahl", r"minimum_frequency|--rule n=3"),
    ("Sekundärsperrung", r"discreet suppress"),
    ("Sperrmuster prüfen", r"discreet audit"),
    ("Einwilligung", r"waiver"),
    ("compare two releases", r"discreet list-changes"),
    ("R package", r"library\(discreet\)"),
    ("screen reader", r"screen reader"),
    ("revision", r"discreet check-revision"),
    ("median", r"quantiles"),
    ("re-identification risk", r"discreet assess-records"),
    ("synthetic data", r"discreet synthesise"),
    ("Dummy-Datei", r"discreet structure-file"),
    ("Python scripts", r"discreet fire pre \S+\.py"),
    ("Prüfprotokoll", r"[Aa]udit trail"),
    ("login", r"OpenID"),
    ("Spark", r"Spark"),
    ("Zensus", r"discreet demo|[Cc]ensus"),
)


@cache
def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def links(page: Path) -> Iterator[Path]:
    for target in LINK.findall(CODE.sub("", text_of(page))):
        yield (page.parent / target).resolve()


@cache
def clicks() -> dict[Path, int]:
    """The pages that links of texts lead to, with the fewest clicks from the front page."""
    distance, border = {FRONT: 0}, [FRONT]
    for number in range(1, MOST_CLICKS + 1):
        border = [to for page in border for to in links(page) if to not in distance]
        distance |= dict.fromkeys(border, number)
    return distance


@cache
def keywords() -> dict[str, list[str]]:
    return script("search_keywords").KEYWORDS


def words(text: str) -> set[str]:
    return set(WORD.findall(text.casefold()))


@cache
def index() -> dict[Path, tuple[set[str], set[str]]]:
    """Per page the words of its title and keywords, and those of its other headings."""
    entries = {}
    for page in PAGES:
        title, *headings = HEADING.findall(CODE.sub("", text_of(page)))
        tags = keywords().get(page.relative_to(DOCS).as_posix(), [])
        entries[page] = (words(" ".join([title, *tags])), words(" ".join(headings)))
    return entries


def search(query: str) -> list[Path]:
    """Pages with all words of a query, first those that have them in title or keywords."""
    asked = words(query)
    ranked = {
        page: len(asked - first)
        for page, (first, others) in index().items()
        if asked <= first | others
    }
    return sorted(ranked, key=lambda page: (ranked[page], len(index()[page][0])))


@pytest.mark.parametrize(("query", "answer"), TASKS, ids=[query for query, _ in TASKS])
def test_a_task_is_found_by_clicks_and_by_search(query: str, answer: str) -> None:
    reached = [page for page in clicks() if re.search(answer, text_of(page))]
    assert reached, f"no page within {MOST_CLICKS} clicks says {answer}"
    results = search(query)[:MOST_RESULTS]
    assert any(re.search(answer, text_of(page)) for page in results), results


def test_each_page_in_english_is_some_clicks_away() -> None:
    """Not only in the navigation: links of texts lead to it."""
    border, known = [FRONT], {FRONT}
    while border:
        border = [to for page in border for to in links(page) if to not in known]
        known |= set(border)
    assert [page.relative_to(DOCS).as_posix() for page in PAGES if page not in known] == []


def test_keywords_belong_to_pages_and_repeat_no_title() -> None:
    assert [page for page in keywords() if not (DOCS / page).exists()] == []
    listed = [(page, tag) for page, tags in keywords().items() for tag in tags]
    assert len(listed) == len(set(listed))


def settings(name: str) -> dict[str, Any]:
    with (ROOT / name).open("rb") as file:
        return yaml_load(file)


def test_a_sidebar_fits_a_screen() -> None:
    tabs = {name: entries for tab in settings("mkdocs.yml")["nav"] for name, entries in tab.items()}
    assert 4 <= len(tabs) <= 8
    for name, entries in tabs.items():
        groups = [group for entry in entries if isinstance(entry, dict) for group in entry.values()]
        assert len(entries) + max(map(len, groups), default=0) <= MOST_ENTRIES, name


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 90


#: From ten on.
NUMBERS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"


@pytest.mark.parametrize("document", [ROOT / "README.md", FRONT], ids=lambda path: path.stem)
def test_front_pages_count_the_formats(document: Path) -> None:
    number = NUMBERS.split()[len(formats.FORMATS) + len(formats.MAPS) - 10]
    claims = re.findall(r"(\w+)\s+formats", document.read_text("utf-8"))
    assert claims == [number]


def test_the_citation_is_of_this_version() -> None:
    citation = settings("CITATION.cff")
    assert citation["version"] == discreet.__version__
    assert citation["license"] == "Apache-2.0"


def test_the_picture_of_the_way_is_drawn_by_its_script() -> None:
    way = script("way_picture")
    for name in way.WORDS:
        assert (DOCS / "images" / name).read_text("utf-8") == way.picture(name)


def test_pictures_of_the_gallery_are_small_and_shown() -> None:
    pictures = sorted((DOCS / "images" / "gallery").glob("*.png"))
    assert len(pictures) >= 12
    shown = "".join(text_of(page) for page in PAGES)
    for picture in pictures:
        assert picture.stat().st_size <= 120_000
        assert f"images/gallery/{picture.name}" in shown


@pytest.mark.browser
@pytest.mark.exhaustive
def test_the_site_is_searched_from_the_file_system_in_both_languages(tmp_path: Path) -> None:
    """As a browser does it; the words of both languages have scripts of their own."""
    from playwright.sync_api import sync_playwright

    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.goto((tmp_path / "index.html").as_uri())
        for query in ("decimal comma", "Dezimalkomma", "Überlagerungstabelle", "value labels"):
            page.fill("input.md-search__input", "")
            page.click("input.md-search__input")
            page.keyboard.type(query)
            wanted = {path.relative_to(DOCS).with_suffix("").as_posix() for path in search(query)}
            first = page.locator(".md-search-result__item > a, .md-search-result__item article a")
            for _ in range(120):  # each letter is searched for
                hrefs = first.evaluate_all("all => all.slice(0, 6).map(a => a.href)")
                if any(path in href for path in wanted for href in hrefs):
                    break
                page.wait_for_timeout(500)
            else:
                raise AssertionError((query, hrefs))
        browser.close()
