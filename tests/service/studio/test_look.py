"""The look of all pages: one scale of type and space, dates and levels in the language, a logo."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

import discreet_service
from discreet_service.application import create_app
from discreet_service.settings import ServiceSettings, SettingsError
from tests.helpers.asgi_browser import AsgiBrowser
from tests.service.studio.conftest import GERMAN, HTML

STYLES = [
    path for folder in ("web", "studio")
    for path in sorted((Path(discreet_service.__file__).parent / folder / "static").glob("*.css"))
]  # fmt: skip


def test_sizes_of_type_are_those_of_one_scale() -> None:
    """Every style takes sizes from the scale, and uses no variable that nothing declares."""
    texts = {path.name: path.read_text("utf-8") for path in STYLES}
    own = {name: re.findall(r"font-size: [\d.]+(?:rem|px)", text) for name, text in texts.items()}
    assert not any(own.values()), own
    declared = set(re.findall(r"(--[\w-]+):", "".join(texts.values())))
    used = set(re.findall(r"var\((--[\w-]+)", "".join(texts.values())))
    assert used <= declared
    assert {f"--size-{at}" for at in range(1, 7)} <= used


def test_dates_and_levels_are_written_in_the_language(readers: Any) -> None:
    english = readers.page("/tables/census?unit=person", "rita")
    german = readers.page("/tables/census?unit=person", "rita", **GERMAN)
    assert "15 May 2022" in english
    assert "15. Mai 2022" in german
    levels = r'value="region:\w+">\s*(\w+)'
    assert re.findall(levels, english) == ["State", "District", "Municipality"]
    assert re.findall(levels, german) == ["Land", "Kreis", "Gemeinde"]
    pages = (readers.page("/policies/census/2022-1", "cora", **GERMAN), german)
    assert not [page for page in pages if re.search(r"\d{4}-\d\d-\d\dT|\d\d:\d\d:\d\dZ", page)]


def test_the_office_has_its_logo_on_all_pages(readers: Any, tmp_path: Path) -> None:
    logo = tmp_path / "office.svg"
    logo.write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    plain = readers.browser()
    assert plain.get("/static/logo").status_code == 404
    assert plain.get("/static/icon.svg").status_code == 200
    settings = readers.service.settings
    object.__setattr__(readers.service, "settings", dataclasses.replace(settings, logo=logo))
    try:
        browser = AsgiBrowser(create_app(readers.service))
        answer = browser.get("/static/logo")
        assert answer.headers["content-type"] == "image/svg+xml"
        assert answer.content == logo.read_bytes()
        assert browser.get("/help", headers=HTML).text.count('"/static/logo"') == 2
    finally:
        object.__setattr__(readers.service, "settings", settings)


@pytest.mark.parametrize("name", ["none.svg", "logo.exe"])
def test_a_logo_that_is_no_picture_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "logo.exe").write_bytes(b"x")
    with pytest.raises(SettingsError, match="logo"):
        ServiceSettings.of({"logo": name}, tmp_path)
