"""A release on one page: every table in brief, its files, legend and method.

In: `ProtectedTable`s and where their files are. Out: one HTML page that stands on
its own. Public.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

import numpy as np

from discreet.arrays import BoolArray
from discreet.files import atomic_path
from discreet.publication.description import below_title, check_texts, provenance_lines
from discreet.publication.formats import check_place, check_protected
from discreet.publication.layout import PageLayout, lay_out
from discreet.publication.notation import HIDING, Sign, check_values, legend, number_text
from discreet.publication.vocabulary import only_total, title_in, words
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
    contents, articles, sources = [], [], []
    signs = dict[str, Sign]()
    cell_keys = counts = hidden = True
    for number, table in enumerate(tables, 1):
        check_protected(table)
        check_values(table)
        check_texts(table, language)
        links = "".join(
            f'<a href="{quote(Path(os.path.relpath(file, target.parent)).as_posix())}">'
            f"{escape(Path(file).name)}</a>"
            for file in (files or {}).get(table.name, ())
        )
        name = escape(f"{table.name}: {table.title(language)}")
        sizes = " × ".join(
            f"{dimension.title(language)} ({number_text(len(dimension), 0, language)})"
            for dimension in table.dimensions
        )
        cells = number_text(table.grid_size, 0, language)
        shape = text.shape.format(sizes=sizes or text.no_break, cells=cells)
        contents.append(
            f'<li><a href="#table-{number}">{name}</a> '
            f'<span class="size">{escape(shape)}</span></li>\n'
        )
        # What the page shows of it: all of it if it is small, else totals and first levels.
        whole, own = table.grid_size <= _WHOLE, f"table-{number}-t"
        layout = lay_out(table, complete=True) if whole else _brief(table)
        shown = page.table_html(
            layout,
            language,
            identifier=own,
            caption=page.caption(table, language),
            spoken=True,
            print_parts=True,
        )
        across = ' class="wide"' if page.printed_width(layout, language, labels=True)[0] else ""
        about = " · ".join([*below_title(table, language), shape])
        own_files = f'<p class="files" aria-label="{text.files}">{links}</p>\n' if links else ""
        part = "" if whole else f'<p class="meta">{escape(text.part)}</p>\n'
        notes = page.notes_html(table, language, identifier=own, level=3)
        articles.append(
            f'<article id="table-{number}"{across} aria-labelledby="table-{number}-h">\n'
            f'<h2 id="table-{number}-h">{name}</h2>\n<p class="meta">{escape(about)}</p>\n'
            f"{own_files}{part}{''.join(shown)}{notes}</article>\n"
        )
        signs.update({sign.meaning: sign for sign in legend(table, language)})
        cell_keys = cell_keys and table.provenance.method.startswith(_EXPLAINED)
        hidden = hidden and table.provenance.method == HIDING
        counts = counts and all(figure.kind == "count" for figure in table.figures)
        sources.append((table.name, [*provenance_lines(table, language), *provenance]))
    facts = [
        (name, value if isinstance(value, str) else number_text(value, 1, language))
        for name, value in (summary or {}).items()
    ]
    # The method in plain words, where all tables have it; not all figures need be counts.
    first, *rest = text.statement.split("\n\n")
    method = [first if counts else text.figured, *rest]
    if not cell_keys:
        method = text.hidden.split("\n\n") if hidden else []
    paragraphs = "".join(f"<p>{escape(part)}</p>\n" for part in method)
    pieces = [
        page.page_head(heading, language),
        f"<h1>{escape(heading)}</h1>\n",
        page.facts_html(facts, text.summary) if facts else "",
        '<nav aria-labelledby="contents">\n'
        f'<h2 id="contents">{escape(text.contents)}</h2>\n<ol>\n{"".join(contents)}</ol>\n</nav>\n',
        page.section(text.method, paragraphs) if method else "",
        page.legend_html(signs.values() or legend(None, language), language),
        *articles,
        page.provenance_html(sources, language) if sources else "",
        page.page_tail(),
    ]
    with atomic_path(target) as temporary:
        temporary.write_bytes("".join(pieces).encode())
    return target


def _brief(table: ProtectedTable) -> PageLayout:
    """The totals and first levels of a table."""

    def first_level(dimension: Dimension) -> BoolArray:
        first: BoolArray = (dimension.levels <= 1) & (dimension.breakdown == 0)
        return first if int(first.sum()) <= _MOST_CODES else only_total(dimension)

    keep = [first_level(dimension) for dimension in table.spanning]
    figures = [np.ones(len(d), np.bool_) for d in table.dimensions[len(keep) :]]
    most = max(1, _PART // math.prod(len(mask) for mask in figures))
    while math.prod(int(mask.sum()) for mask in keep) > most:
        largest = max(range(len(keep)), key=lambda at: int(keep[at].sum()))
        keep[largest] = only_total(table.dimensions[largest])
    return lay_out(table, keep=[*keep, *figures])
