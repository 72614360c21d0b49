"""A protected table as an object of the package Great Tables, to be styled further.

In: `ProtectedTable`. Out: `great_tables.GT` with the title, headings, signs, legend and notes
that the writers print; its cells are numbers, printed as the writers do. Public.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.errors import PublicationError
from discreet.publication.description import check_texts, provenance_lines, universe
from discreet.publication.formats import WriteOptions, check_protected
from discreet.publication.layout import PageLayout, footnotes, headings, laid_out, mark
from discreet.publication.notation import check_values, legend, symbol
from discreet.publication.notes import printed_notes
from discreet.publication.vocabulary import figure_line, is_figure, labels_at, levels_at
from discreet.tables import WITHOUT_NUMBER, ProtectedTable

_STUB, _GROUP = "row", "group"
_INDENT = "\u2003"


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
    check_protected(table)
    check_texts(table, language)
    check_values(table)
    try:
        library = importlib.import_module("great_tables")
    except ModuleNotFoundError:
        raise PublicationError(
            "this needs the package great-tables",
            code="missing-package",
            hint="pip install 'discreet[notebooks]'",
        ) from None
    layout = laid_out(table, WriteOptions(language=language, rows=rows, columns=columns))
    names = [f"c{at}" for at in range(layout.shape[1])]
    frame, printed = _frame(layout, names, language)
    grouped = {"groupname_col": _GROUP} if _GROUP in frame.columns else {}
    shown = library.GT(frame, rowname_col=_STUB, **grouped)
    below = " · ".join(filter(None, (figure_line(table, language), universe(table, language))))
    shown = shown.tab_header(title=table.title(language), subtitle=below or None)
    shown = _printed(_headed(shown, layout, names, language), frame, printed)
    stub = [at for at in layout.rows if not is_figure(table, at)]
    if stub:
        heads = [layout.dimension(at).title(language) for at in stub]
        shown = shown.tab_stubhead(label=" / ".join(heads))
    for line in _lines(table, language):
        shown = shown.tab_source_note(source_note=line)
    return shown


def _frame(layout: PageLayout, names: Sequence[str], language: str) -> tuple[Any, Any]:
    """The rows as a frame of numbers, and the text of each cell."""
    import polars as pl

    table = layout.table
    inner: list[str] = []
    outer: list[str] = []
    texts = [(labels_at(table, at, language), levels_at(table, at).tolist()) for at in layout.rows]
    remarks = footnotes(table)
    for codes in layout.row_codes.tolist():
        labels = [
            labels[code] + mark(remarks.of_code(at, code))
            for at, (labels, _), code in zip(layout.rows, texts, codes, strict=True)
        ]
        inner.append(_INDENT * texts[-1][1][codes[-1]] + labels[-1] if labels else "")
        outer.append(" · ".join(labels[:-1]))
    values, printed = [], []
    for block in layout.blocks():
        shown = block.texts(lambda v, s, d: symbol(v, s, d, language))
        for at, text in block.intervals(language):
            shown.flat[at] = text
        marks = remarks.of_block(layout, block.first, len(shown))
        if marks is not None:
            shown = shown + np.array([mark(item) for item in marks.sets], object)[marks.which]
        printed.append(shown)
        values.append(np.where(np.isin(block.status, WITHOUT_NUMBER), np.nan, block.value))
    whole = pl.DataFrame(np.concatenate(values), schema=list(names)).fill_nan(None)
    if table.value.dtype.kind == "i":
        whole = whole.cast(pl.Int64)
    heads = {_GROUP: outer} if len(layout.rows) > 1 else {}
    frame = pl.DataFrame({**heads, _STUB: inner}).hstack(whole)
    return frame, np.concatenate(printed)


def _headed(shown: Any, layout: PageLayout, names: Sequence[str], language: str) -> Any:
    """The headings over the columns: those of one column, and those that span several."""
    rows = headings(layout, language)
    labels: dict[str, str] = {}
    for number, row in enumerate(rows):
        for heading in row:
            over = names[heading.column : heading.column + heading.width]
            text = heading.text + mark(heading.marks)
            below = len(rows) - number - heading.height
            if below == 0:
                labels[over[0]] = text
            else:
                # Two spanners of one text are told apart by their columns.
                identifier = f"{number}-{heading.column}"
                shown = shown.tab_spanner(
                    label=text, columns=over, level=below - 1, id=identifier, gather=False
                )
    return shown.cols_label(labels).cols_align(align="right", columns=list(names))


def _printed(shown: Any, frame: Any, printed: Any) -> Any:
    """Cells printed as the writers print them; equal ones of a column at once."""
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    names = [name for name in frame.columns if name not in (_STUB, _GROUP)]
    for at, name in enumerate(names):
        for row, text in enumerate(printed[:, at].tolist()):
            places[name, text].append(row)
    for (name, text), rows in places.items():
        shown = shown.fmt(_constant(text), columns=name, rows=rows)
    return shown


def _constant(text: str) -> Callable[[Any], str]:
    return lambda _: text


def _lines(table: ProtectedTable, language: str) -> list[str]:
    """Legend, notes and provenance."""
    signs = [f"{sign.symbol} {sign.meaning}" for sign in legend(table, language)]
    numbered = [
        f"{mark((number,))} {note.text(language)}"
        for number, note in enumerate(footnotes(table).notes, 1)
    ]
    source = " · ".join(f"{name}: {text}" for name, text in provenance_lines(table, language))
    told = ["; ".join(signs), *(note.text(language) for note in printed_notes(table)), *numbered]
    return [line for line in (*told, source) if line]
