"""HTML: one accessible page per table.

In: `ProtectedTable`. Out: a page that stands on its own: caption, headings tied to
their rows and columns, the hierarchy by indent and in words for screen readers,
legend, notes and provenance. Public.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.publication import html_parts
from discreet.publication.description import check_texts, universe
from discreet.publication.formats import CELL_LIMIT
from discreet.publication.layout import PageLayout, lay_out
from discreet.publication.notation import legend
from discreet.publication.words import figure_line
from discreet.tables import ProtectedTable

if TYPE_CHECKING:
    from discreet.publication.table_files import WriteOptions

__all__ = ["caption", "write_file"]


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the page piece by piece."""
    check_texts(table, options.language)
    layout = lay_out(
        table,
        rows=options.rows,
        columns=options.columns,
        complete=options.complete,
        limit=CELL_LIMIT,
    )
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_pieces(layout, options))


def caption(table: ProtectedTable, language: str) -> str:
    """Title and universe of a table, and what its only figure is, as HTML."""
    lines = filter(None, (figure_line(table, language), universe(table, language)))
    below = "".join(f'<span class="universe">{html.escape(line)}</span>' for line in lines)
    return f"<strong>{html.escape(table.title(language))}</strong>{below}"


def _pieces(layout: PageLayout, options: WriteOptions) -> Iterator[str]:
    table, language = layout.table, options.language
    yield html_parts.page_head(table.title(language), language)
    yield from html_parts.table_html(
        layout,
        language,
        identifier="table",
        caption=caption(table, language),
        labels=options.labels,
    )
    yield html_parts.legend_html(legend(table, language), language)
    yield html_parts.notes_html(table, language)
    yield html_parts.provenance_html(table, language)
    yield html_parts.page_tail()
