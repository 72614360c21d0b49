"""Help and glossary, in both languages; words of all pages."""

import re
from pathlib import Path
from typing import Any

import pytest

import discreet_service
from discreet.publication.notation import legend
from discreet_service.web.pages import words
from tests.helpers.rows import for_all_rows

_FOLDER = Path(discreet_service.__file__).parent
TEMPLATES = sorted(
    path for part in ("web", "studio") for path in (_FOLDER / part / "templates").glob("*.html")
)


@pytest.mark.parametrize("language", ["en", "de"])
def test_help_explains_signs_and_words(readers: Any, language: str) -> None:
    text = readers.page("/help", **{"Accept-Language": language})
    for sign in legend(None, language):
        assert f"<dt>{sign.symbol}</dt>" in text
    titles, texts = words("glossary_titles", language), words("glossary", language)
    assert titles.keys() == texts.keys()
    for name in texts:
        assert f'<dt id="{name}">' in text


def test_words_are_explained_in_place(readers: Any) -> None:
    text = readers.page("/tables/census?by=region:state&unit=person", "rita")
    assert "Number of independent values" in text
    assert 'href="/help#exposure"' in text


@for_all_rows("path", TEMPLATES, ids=lambda path: path.stem)
def test_templates_let_nothing_through(path: Path) -> None:
    """Nothing is marked as safe, and nothing has a style or script of its own."""
    text = path.read_text("utf-8")
    assert not re.search(r"\|\s*safe|autoescape|<style| style=| on[a-z]+=", text)
    assert all("src=" in each for each in re.findall(r"<script[^>]*>", text))
