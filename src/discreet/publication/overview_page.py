"""A release on one page: every table in brief, its files, legend and method.

In: `ProtectedTable`s and where their files are. Out: one HTML page that stands on
its own. Public.
"""

from __future__ import annotations

import html
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np

from discreet.arrays import BoolArray
from discreet.files import atomic_path
from discreet.publication.description import check_texts, provenance_lines, universe
from discreet.publication.formats import check_place, check_protected
from discreet.publication.layout import PageLayout, lay_out
from discreet.publication.notation import HIDING, Sign, check_values, legend, number_text
from discreet.publication.vocabulary import Words, figure_line, only_total, title_in, words
from discreet.publication.writers import html as page
from discreet.tables import Dimension, ProtectedTable

#: Tables up to this size are shown whole.
_WHOLE = 600
#: More codes than this of one variable are not shown in a part of a table.
_MOST_CODES = 40
#: A part of a table has at most so many cells.
_PART = 1_200
#: The method that the page explains in plain words.
_EXPLAINED = "cell-key"


@dataclass(frozen=True, slots=True)
class _ReportEntry:
    """What the page says about one table."""

    anchor: str
    title: str
    shape: str
    content: str


def write_report(
    tables: Iterable[ProtectedTable],
    path: str | os.PathLike[str],
    *,
    title: str | Mapping[str, str],
    language: str = "en",
    files: Mapping[str, Sequence[str | os.PathLike[str]]] | None = None,
    summary: Mapping[str, str | int | float] | None = None,
    provenance: Sequence[tuple[str, str]] = (),
) -> Path:
    """Write the page about a release.

    Tables are looked at one after another and may be made on the way.

    >>> import tempfile
    >>> from discreet.publication.examples import census_example
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report([census_example()], Path(folder) / "index.html", title="Census")
    ...     "Population by sex and age" in page.read_text()
    True
    """
    target, text = Path(path), words(language)
    check_place(target)
    heading = title_in(title, language)
    entries, signs, sources = [], dict[str, Sign](), []
    cell_keys = counts = hidden = True
    for number, table in enumerate(tables, 1):
        check_protected(table)
        check_values(table)
        check_texts(table, language)
        links = _links((files or {}).get(table.name, ()), target.parent)
        entries.append(_entry(table, number, language, links))
        signs.update({sign.meaning: sign for sign in legend(table, language)})
        cell_keys = cell_keys and table.provenance.method.startswith(_EXPLAINED)
        hidden = hidden and table.provenance.method == HIDING
        counts = counts and all(figure.kind == "count" for figure in table.figures)
        sources.append((table.name, [*provenance_lines(table, language), *provenance]))
    pieces = [
        page.page_head(heading, language),
        f"<h1>{html.escape(heading)}</h1>\n",
        _facts(summary or {}, text, language),
        _contents(entries, text),
        _method(text, cell_keys=cell_keys, counts=counts, hidden=hidden),
        page.legend_html(signs.values() or legend(None, language), language),
        *(entry.content for entry in entries),
        page.provenance_html(sources, language) if sources else "",
        page.page_tail(),
    ]
    with atomic_path(target) as temporary:
        temporary.write_bytes("".join(pieces).encode())
    return target


def _links(files: Sequence[str | os.PathLike[str]], folder: Path) -> str:
    """Links to files, relative to the folder of the page."""
    items = []
    for file in files:
        relative = Path(os.path.relpath(file, folder)).as_posix()
        items.append(f'<a href="{quote(relative)}">{html.escape(Path(file).name)}</a>')
    return "".join(items)


def _entry(table: ProtectedTable, number: int, language: str, links: str) -> _ReportEntry:
    text = words(language)
    anchor = f"table-{number}"
    heading = f"{table.name}: {table.title(language)}"
    layout, whole = _brief(table)
    notes = page.notes_html(table, language, identifier=f"{anchor}-t", level=3)
    files = f'<p class="files" aria-label="{text.files}">{links}</p>\n' if links else ""
    shape = _shape(table, text, language)
    about = " · ".join(
        filter(None, (figure_line(table, language), universe(table, language), shape))
    )
    part = "" if whole else f'<p class="meta">{html.escape(text.part)}</p>\n'
    shown = "".join(
        page.table_html(
            layout,
            language,
            identifier=f"{anchor}-t",
            caption=page.caption(table, language),
            spoken=True,
        )
    )
    content = (
        f'<article id="{anchor}" aria-labelledby="{anchor}-h">\n'
        f'<h2 id="{anchor}-h">{html.escape(heading)}</h2>\n'
        f'<p class="meta">{html.escape(about)}</p>\n{files}{part}{shown}{notes}</article>\n'
    )
    return _ReportEntry(anchor, heading, shape, content)


def _shape(table: ProtectedTable, text: Words, language: str) -> str:
    sizes = " × ".join(
        f"{dimension.title(language)} ({number_text(len(dimension), 0, language)})"
        for dimension in table.dimensions
    )
    cells = number_text(table.grid_size, 0, language)
    return text.shape.format(sizes=sizes or text.no_break, cells=cells)


def _brief(table: ProtectedTable) -> tuple[PageLayout, bool]:
    """The table if it is small, else its totals and first levels; and which of the two."""
    if table.grid_size <= _WHOLE:
        return lay_out(table, complete=True), True
    keep = [_first_level(dimension) for dimension in table.spanning]
    figures = [np.ones(len(d), np.bool_) for d in table.dimensions[len(keep) :]]
    most = max(1, _PART // math.prod(len(mask) for mask in figures))
    while int(np.prod([int(mask.sum()) for mask in keep], dtype=object)) > most:
        largest = max(range(len(keep)), key=lambda at: int(keep[at].sum()))
        keep[largest] = only_total(table.dimensions[largest])
    return lay_out(table, keep=[*keep, *figures]), False


def _first_level(dimension: Dimension) -> BoolArray:
    first: BoolArray = (dimension.levels <= 1) & (dimension.breakdown == 0)
    return first if int(first.sum()) <= _MOST_CODES else only_total(dimension)


def _facts(summary: Mapping[str, str | int | float], text: Words, language: str) -> str:
    pairs = [(name, _figure(value, language)) for name, value in summary.items()]
    return page.facts_html(pairs, text.summary) if pairs else ""


def _figure(value: str | int | float, language: str) -> str:
    if isinstance(value, str):
        return value
    return number_text(value, 0 if isinstance(value, int) else 1, language)


def _contents(entries: Sequence[_ReportEntry], text: Words) -> str:
    items = "".join(
        f'<li><a href="#{entry.anchor}">{html.escape(entry.title)}</a> '
        f'<span class="size">{html.escape(entry.shape)}</span></li>\n'
        for entry in entries
    )
    return (
        f'<nav aria-labelledby="contents">\n<h2 id="contents">{html.escape(text.contents)}</h2>\n'
        f"<ol>\n{items}</ol>\n</nav>\n"
    )


def _method(text: Words, *, cell_keys: bool, counts: bool, hidden: bool) -> str:
    """The method in plain words; another first paragraph where not all figures are counts.

    Nothing unless all tables have noise by cell keys, or all have hidden cells.
    """
    first, *rest = text.statement.split("\n\n")
    statement = [first if counts else text.figured, *rest]
    if not cell_keys:
        statement = text.hidden.split("\n\n") if hidden else []
    if not statement:
        return ""
    paragraphs = "".join(f"<p>{html.escape(part)}</p>\n" for part in statement)
    return f"<section>\n<h2>{html.escape(text.method)}</h2>\n{paragraphs}</section>\n"
