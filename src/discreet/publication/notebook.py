"""A protected table as notebooks show it: the writer's own HTML, cut where it is long.

In: `ProtectedTable`. Out: a piece of HTML that stands among others. Public.
"""

from __future__ import annotations

import hashlib
import html
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from importlib import resources

from discreet.publication.description import check_texts
from discreet.publication.formats import check_protected
from discreet.publication.layout import PageLayout, lay_out
from discreet.publication.notation import check_values, legend
from discreet.publication.vocabulary import words
from discreet.publication.writers.html import caption, legend_html, notes_html, table_html
from discreet.tables import ProtectedTable

#: Rows and columns that are shown at most.
MOST_ROWS, MOST_COLUMNS = 60, 24


def notebook_html(table: ProtectedTable, language: str = "en") -> str:
    """The table as HTML, with legend and notes, for the output of a notebook's cell.

    >>> from discreet.publication.examples import census_example
    >>> "Population by sex and age" in notebook_html(census_example())
    True
    """
    check_protected(table)
    check_texts(table, language)
    check_values(table)
    return "".join(_pieces(table, language))


def _pieces(table: ProtectedTable, language: str) -> Iterator[str]:
    whole = lay_out(table, rows=None, columns=None, complete=None, limit=None)
    shown = _first(whole)
    identifier = f"discreet-{_digest(table)}"
    yield f'<style>{_style()}</style>\n<div class="discreet" lang="{language}">\n'
    yield from table_html(shown, language, identifier=identifier, caption=caption(table, language))
    yield _cut(whole, shown, language)
    yield legend_html(legend(table, language), language, level=4)
    yield notes_html(table, language, identifier=identifier, level=4)
    yield "</div>\n"


def _first(layout: PageLayout) -> PageLayout:
    return replace(
        layout,
        row_codes=layout.row_codes[:MOST_ROWS],
        column_codes=layout.column_codes[:MOST_COLUMNS],
    )


def _cut(whole: PageLayout, shown: PageLayout, language: str) -> str:
    """What is said where rows or columns are left out; nothing if none is."""
    if whole.shape == shown.shape:
        return ""
    said = words(language).first_of.format(
        rows=shown.shape[0], all_rows=whole.shape[0],
        columns=shown.shape[1], all_columns=whole.shape[1],
    )  # fmt: skip
    return f'<p class="cut">{html.escape(said)}</p>\n'


@lru_cache(maxsize=1)
def _style() -> str:
    return resources.files("discreet.publication").joinpath("notebook.css").read_text("utf-8")


def _digest(table: ProtectedTable) -> str:
    """A name for the table among others on the page, of what it shows."""
    digest = hashlib.sha256(repr((table.name, *(d.codes for d in table.dimensions))).encode())
    for part in (*table.index, table.value, table.status):
        digest.update(part.tobytes())
    return digest.hexdigest()[:12]
