"""A protected table in notebooks: the writer's own HTML, cut where it is long, or Great Tables.

In: `ProtectedTable`. Out: a piece of HTML that stands among others; or `great_tables.GT`, to be
styled further, with the title, headings, signs, legend and notes that the writers print. Public.
"""

from __future__ import annotations

import hashlib
import html
import importlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import PublicationError
from discreet.publication.description import (
    below_title,
    check_texts,
    printed_notes,
    provenance_lines,
)
from discreet.publication.formats import WriteOptions, check_protected
from discreet.publication.layout import footnotes, headings, laid_out, lay_out, mark
from discreet.publication.notation import check_values, legend
from discreet.publication.vocabulary import is_figure, labels_at, levels_at, page_part, words
from discreet.publication.writers.html import caption, legend_html, notes_html, table_html
from discreet.tables import WITHOUT_NUMBER, ProtectedTable

#: Rows and columns that are shown at most.
MOST_ROWS, MOST_COLUMNS = 60, 24

_STUB, _GROUP = "row", "group"
_INDENT = "\u2003"


def _check(table: ProtectedTable, language: str) -> None:
    check_protected(table)
    check_texts(table, language)
    check_values(table)


def notebook_html(table: ProtectedTable, language: str = "en") -> str:
    """The table as HTML, with legend and notes, for the output of a notebook's cell.

    >>> from discreet.publication.examples import census_example
    >>> "Population by sex and age" in notebook_html(census_example())
    True
    """
    _check(table, language)
    whole = lay_out(table)
    rows, columns = whole.row_codes[:MOST_ROWS], whole.column_codes[:MOST_COLUMNS]
    shown = replace(whole, row_codes=rows, column_codes=columns)
    # A name for the table among others on the page, of what it shows.
    digest = hashlib.sha256(repr((table.name, *(d.codes for d in table.dimensions))).encode())
    for part in (*table.index, table.value, table.status):
        digest.update(part.tobytes())
    identifier = f"discreet-{digest.hexdigest()[:12]}"
    cut = ""
    if whole.shape != shown.shape:
        (all_rows, all_columns), (few_rows, few_columns) = whole.shape, shown.shape
        text = words(language).first_of.format(
            rows=few_rows, all_rows=all_rows, columns=few_columns, all_columns=all_columns
        )
        cut = f'<p class="cut">{html.escape(text)}</p>\n'
    head = caption(table, language)
    style = page_part("notebook.css")
    return "".join(
        [
            f'<style>{style}</style>\n<div class="discreet" lang="{language}">\n',
            *table_html(shown, language, identifier=identifier, caption=head),
            cut,
            legend_html(legend(table, language), language, level=4),
            notes_html(table, language, identifier=identifier, level=4),
            "</div>\n",
        ]
    )


def great_table(
    table: ProtectedTable,
    *,
    language: str = "en",
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> Any:
    """The table as a `great_tables.GT`; `ProtectedTable.to_great_tables` calls it.

    >>> from discreet.publication.examples import census_example
    >>> "Population by sex and age" in great_table(census_example()).as_raw_html()
    True
    """
    _check(table, language)
    try:
        library = importlib.import_module("great_tables")
    except ModuleNotFoundError:
        raise PublicationError(
            "package great-tables not found",
            code="missing-package",
            hint="pip install 'discreet[notebooks]'",
        ) from None
    layout = laid_out(table, WriteOptions(language=language, rows=rows, columns=columns))
    remarks = footnotes(table)
    names = [f"c{at}" for at in range(layout.shape[1])]
    stubs, groups = [], []
    texts = [(labels_at(table, at, language), levels_at(table, at).tolist()) for at in layout.rows]
    for codes in layout.row_codes.tolist():
        labels = [
            labels[code] + mark(remarks.of_code(at, code))
            for at, (labels, _), code in zip(layout.rows, texts, codes, strict=True)
        ]
        stubs.append(_INDENT * texts[-1][1][codes[-1]] + labels[-1] if labels else "")
        groups.append(" · ".join(labels[:-1]))
    values, printed = [], []
    for block in layout.blocks():
        cells = block.symbols(language)
        marks = remarks.of_block(layout, block.first, len(cells))
        printed.append(cells if marks is None else cells + marks.printed(mark))
        values.append(np.where(np.isin(block.status, WITHOUT_NUMBER), np.nan, block.value))
    whole = pl.DataFrame(np.concatenate(values), schema=names).fill_nan(None)
    if table.value.dtype.kind == "i":
        whole = whole.cast(pl.Int64)
    grouped = {_GROUP: groups} if len(layout.rows) > 1 else {}
    frame = pl.DataFrame({**grouped, _STUB: stubs}).hstack(whole)
    shown = library.GT(frame, rowname_col=_STUB, **({"groupname_col": _GROUP} if grouped else {}))
    below = " · ".join(below_title(table, language))
    shown = shown.tab_header(title=table.title(language), subtitle=below or None)
    heads = headings(layout, language)
    columns_heads: dict[str, str] = {}
    for number, row in enumerate(heads):
        for heading in row:
            over = names[heading.column : heading.column + heading.width]
            text = heading.text + mark(heading.marks)
            level = len(heads) - number - heading.height
            if level == 0:
                columns_heads[over[0]] = text
            else:  # two spanners of one text are told apart by their columns
                own = {"id": f"{number}-{heading.column}", "gather": False}
                shown = shown.tab_spanner(label=text, columns=over, level=level - 1, **own)
    shown = shown.cols_label(columns_heads).cols_align(align="right", columns=names)
    # Cells are printed as the writers print them; equal ones of a column at once.
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for name, column in zip(names, np.concatenate(printed).T.tolist(), strict=True):
        for line, text in enumerate(column):
            places[name, text].append(line)
    for (name, text), lines in places.items():
        shown = shown.fmt(lambda _, text=text: text, columns=name, rows=lines)
    stub = [layout.dimension(at).title(language) for at in layout.rows if not is_figure(table, at)]
    if stub:
        shown = shown.tab_stubhead(label=" / ".join(stub))
    notes = [
        "; ".join(f"{sign.symbol} {sign.meaning}" for sign in legend(table, language)),
        *(note.text(language) for note in printed_notes(table)),
        *(f"{mark((k,))} {note.text(language)}" for k, note in enumerate(remarks.notes, 1)),
        " · ".join(f"{name}: {text}" for name, text in provenance_lines(table, language)),
    ]
    for note in filter(None, notes):
        shown = shown.tab_source_note(source_note=note)
    return shown
