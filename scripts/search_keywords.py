"""Words that people type, for the search of the documentation.

In: scripts/search_keywords.toml, with words by page. Out: tags of these pages, which the search
index ranks first. Pages do not show them.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

KEYWORDS: dict[str, list[str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page as it is, with its tags."""
    page.meta.setdefault("tags", KEYWORDS.get(page.file.src_uri, []))
    return markdown
