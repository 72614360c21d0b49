"""The atlas: a page with what is printed and nothing else, which a browser lets do no more."""

import base64
import dataclasses
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.publication import write_atlas
from discreet.publication.examples import census_example, square_example
from discreet.tables import CellStatus, ProtectedTable
from tests.conftest import without

SHOWN, HIDDEN = CellStatus.published, CellStatus.suppressed


def data_of(path: Path) -> dict[str, Any]:
    found = re.search(
        r'<script type="application/json"[^>]*>(.*?)</script>', path.read_text(), re.S
    )
    assert found
    return json.loads(found[1])


def printed(data: dict[str, Any], table: int = 0, level: int = -1) -> dict[tuple[str, int], str]:
    """(area, column) → what stands there."""
    own = data["tables"][table]
    drawn = own["levels"][level]
    shape = data["shapes"][drawn["shape"]]
    codes = [shape["prefix"] + code for code in shape["codes"]]
    return {
        (code, k): own["figures"][number][0]
        for k, column in enumerate(drawn["columns"])
        for code, number in zip(codes, column["areas"], strict=True)
    }


@pytest.fixture
def squares() -> ProtectedTable:
    return square_example()


def test_the_page_holds_every_figure_as_it_is_printed(squares, tmp_path):
    data = data_of(squares.write(tmp_path / "T2.atlas.html"))
    found = printed(data)
    first = "CRS3035RES1000mN2684000E4334000"
    assert [found[first, k] for k in range(3)] == ["41", "20", "21"]
    assert sorted(found.values()) == sorted(
        ["41", "20", "21", ".", "9", "4", "15", "–", "(15)", "9", "5", "4"]
    )
    assert [each["label"] for each in data["tables"][0]["variables"]] == ["Sex"]
    assert data["tables"][0]["variables"][0]["codes"] == ["Total", "m", "w"]


def test_what_is_hidden_has_a_sign_and_no_class(squares, tmp_path):
    data = data_of(squares.write(tmp_path / "T2.atlas.html"))
    kinds = {text: kind for text, kind, _ in data["tables"][0]["figures"]}
    assert kinds["."] == -2
    assert kinds["–"] == -1
    limited = {text: marked for text, _, marked in data["tables"][0]["figures"]}
    assert [text for text, marked in limited.items() if marked] == ["(15)"]


def test_digits_that_are_not_printed_are_not_in_the_page(make_table, tmp_path):
    tree = Classification.from_squares("square", ["1kmN2684E4334", "1kmN2684E4335"], sizes=[1_000])
    cells = {(code,): (1234.56789, SHOWN) for code in tree.codes}
    path = make_table([tree], cells, decimals=1).write(tmp_path / "T.atlas.html")
    assert "1,234.6" in path.read_text()
    assert not re.search(r"1234\.5|234\.56", path.read_text())


def test_the_policy_of_the_page_names_its_own_style_and_script_alone(squares, tmp_path):
    text = squares.write(tmp_path / "T2.atlas.html").read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none';")
    for kind in ("style", "script"):
        content = re.search(rf"<{kind}>(.*?)</{kind}>", text, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert not re.search(r"\b(src|href)=", text.replace('href="#', ""))
    assert " style=" not in text
    assert "http" not in re.sub(r"http-equiv", "", text)


def test_texts_of_the_office_cannot_end_the_data(make_table, tmp_path):
    tree = Classification.from_squares("square", ["1kmN2684E4334"], sizes=[1_000])
    evil = "</script><script>alert(1)</script>"
    tree = tree.replace(labels={tree.codes[1]: {"en": evil}})
    path = make_table([tree], {(tree.codes[1],): (3, SHOWN)}, titles={"en": evil}).write(
        tmp_path / "T.atlas.html"
    )
    assert path.read_text().count("<script>") == 1
    assert data_of(path)["shapes"][0]["labels"] == [evil]


def test_browsers_without_scripts_get_a_table(squares, tmp_path):
    text = squares.write(tmp_path / "T2.atlas.html", language="de").read_text()
    plain = re.search(r"<noscript>(.*?)</noscript>", text, re.S)[1]
    assert re.findall(r"<td>(.*?)</td>", plain) == ["41", ".", "15", "9"]
    assert '<html lang="de">' in text
    assert "Bevölkerung nach Quadrat und Geschlecht" in text
    assert "Datentabelle" in text


def test_several_tables_share_their_shapes(squares, tmp_path):
    other = dataclasses.replace(squares, name="T3", titles={"en": "Once more"})
    path = write_atlas([squares, other], tmp_path / "all.html", title={"en": "Atlas"})
    data = data_of(path)
    assert len(data["shapes"]) == 1
    assert [each["title"] for each in data["tables"]] == [
        "Population by square and sex",
        "Once more",
    ]
    assert printed(data, 0) == printed(data, 1)
    assert "<title>Atlas</title>" in path.read_text()


def test_an_atlas_needs_tables_with_areas(tmp_path):
    with pytest.raises(PublicationError, match="expected a list of protected tables"):
        write_atlas(square_example(), tmp_path / "a.html", title="A")
    with pytest.raises(PublicationError, match="an atlas needs a table"):
        write_atlas([], tmp_path / "a.html", title="A")
    with pytest.raises(PublicationError, match="2 to 7 classes"):
        write_atlas([square_example()], tmp_path / "a.html", title="A", classes=1)
    with pytest.raises(PublicationError, match="no variable of the table has areas"):
        write_atlas([square_example(), census_example()], tmp_path / "a.html", title="A")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "light"), (1280, "dark")])
def test_an_atlas_in_a_browser(tmp_path, width, scheme):
    """Keys and pointer find the areas; nothing is loaded; the usual rules of access hold."""
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or without("Chromium is not there")
    path = square_example().write(tmp_path / "T2.atlas.html")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        faults: list[str] = []
        asked: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        said = page.locator("#said")
        assert said.inner_text() == "No area selected."
        page.focus("#map")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowDown")
        assert said.inner_text().splitlines() == ["CRS3035RES1000mN2684000E4334000", "41"]
        page.keyboard.press("ArrowUp")
        assert said.inner_text().splitlines() == ["CRS3035RES1000mN2685000E4334000", "15"]
        page.keyboard.press("Escape")
        assert said.inner_text() == "No area selected."
        box = page.locator("#map").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2 + 30, box["y"] + box["height"] / 2 + 30)
        assert said.inner_text().splitlines()[1] == "."
        page.select_option("select", label="w")
        page.locator("summary").click()
        assert page.locator("#rows td:last-child").all_inner_texts() == ["21", "4", "(15)", "4"]
        assert page.locator("#keys li").count() >= 2
        page.fill("#search", "north-east")
        assert page.locator("#rows tr").count() == 1
        assert said.inner_text().splitlines()[0] == "1 km, in the north-east"
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert Axe().run(page).response["violations"] == []
        assert faults == []
        assert asked == [path.as_uri()]
        browser.close()
