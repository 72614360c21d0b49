"""HTML: one accessible page per table, and the pieces of other pages.

In: `ProtectedTable`. Out: a page that stands on its own: caption, headings tied to
their rows and columns, the hierarchy by indent and in words for screen readers,
legend, notes and provenance. Public. Every text is escaped; nothing is loaded from
elsewhere.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from discreet.arrays import IntArray
from discreet.publication.description import check_texts, provenance_lines, universe
from discreet.publication.formats import WriteOptions
from discreet.publication.layout import (
    BodyRows,
    Footnotes,
    PageLayout,
    footnotes,
    headings,
    laid_out,
)
from discreet.publication.notation import (
    IMPRECISE,
    INAPPLICABLE,
    OFFICIAL,
    SUPPRESSED,
    ZERO,
    Sign,
    legend,
    limited_text,
    number_text,
    zero_text,
)
from discreet.publication.notes import printed_notes
from discreet.publication.vocabulary import (
    Words,
    figure_line,
    has_total,
    is_figure,
    labels_at,
    levels_at,
    words,
)
from discreet.tables import CellStatus, ProtectedTable

_DEEPEST = 8
#: More digests than these are to be unfolded.
_MOST_DIGESTS = 6
_TOTAL = ' class="total"'


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the page piece by piece."""
    check_texts(table, options.language)
    layout = laid_out(table, options)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_pieces(layout, options))


def caption(table: ProtectedTable, language: str) -> str:
    """Title and universe of a table, and what its only figure is, as HTML."""
    lines = filter(None, (figure_line(table, language), universe(table, language)))
    below = "".join(f'<span class="universe">{html.escape(line)}</span>' for line in lines)
    return f"<strong>{html.escape(table.title(language))}</strong>{below}"


def _pieces(layout: PageLayout, options: WriteOptions) -> Iterator[str]:
    table, language = layout.table, options.language
    yield page_head(table.title(language), language)
    yield from table_html(
        layout,
        language,
        identifier="table",
        caption=caption(table, language),
        labels=options.labels,
    )
    yield legend_html(legend(table, language), language)
    yield notes_html(table, language)
    yield provenance_html([(table.name, provenance_lines(table, language))], language)
    yield page_tail()


def page_head(title: str, language: str, style: str = "") -> str:
    """Everything before the content of a page."""
    css = resources.files("discreet.publication").joinpath("page.css").read_text("utf-8")
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{css}{style}</style>\n</head>\n<body>\n<main>\n"
    )


def page_tail() -> str:
    """Everything after the content of a page."""
    return "</main>\n</body>\n</html>\n"


def table_html(
    layout: PageLayout,
    language: str,
    *,
    identifier: str,
    caption: str,
    labels: bool = True,
    spoken: bool = False,
) -> Iterator[str]:
    """A table, piece by piece."""
    hidden = ' class="vh"' if spoken else ""
    page = _Page(layout, language, labels, identifier, footnotes(layout.table))
    yield f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{identifier}-c">\n'
    yield f'<table id="{identifier}">\n<caption id="{identifier}-c"{hidden}>{caption}</caption>\n'
    yield from _head(page)
    yield from _body(page)
    yield "</table>\n</div>\n"


@dataclass(frozen=True, slots=True)
class _Page:
    """A table on a page: how it is laid out, and what is said about its parts."""

    layout: PageLayout
    language: str
    labels: bool
    identifier: str
    remarks: Footnotes

    def marks(self, numbers: Sequence[int]) -> str:
        """Links to notes, as raised figures."""
        note = words(self.language).note
        links = [
            f'<a href="#{self.identifier}-n{number}" aria-label="{note} {number}">{number}</a>'
            for number in numbers
        ]
        return f'<sup class="mark">{",".join(links)}</sup>' if links else ""


def _head(page: _Page) -> Iterator[str]:
    layout, language = page.layout, page.language
    rows = headings(layout, language)
    named = [at for at in layout.rows if not is_figure(layout.table, at)]
    name = " / ".join(layout.dimension(at).title(language) for at in named)
    if layout.rows:
        yield "<colgroup><col></colgroup>"
    # The groups of columns are those of the first row of codes, below any names.
    top = 1 if len(rows) > 1 and len(rows[0]) == 1 else 0
    yield "".join(f'<colgroup span="{heading.width}"></colgroup>' for heading in rows[top])
    yield "\n<thead>\n"
    for number, row in enumerate(rows):
        yield "<tr>"
        if number == 0 and layout.rows:
            yield f'<th class="stub" scope="col"{_span("row", len(rows))}>{html.escape(name)}</th>'
        for heading in row:
            scope = "colgroup" if number == top and heading.width > 1 else "col"
            span = _span("col", heading.width) + _span("row", heading.height)
            text = html.escape(heading.text) + page.marks(heading.marks)
            yield f'<th scope="{scope}"{span}>{text}</th>'
        yield "</tr>\n"
    yield "</thead>\n"


def _span(kind: str, size: int) -> str:
    return f' {kind}span="{size}"' if size > 1 else ""


def _body(page: _Page) -> Iterator[str]:
    """The rows; those that share all but the last row variable form a group."""
    layout = page.layout
    heads = [
        _stub_texts(page, at, np.unique(layout.row_codes[:, k])) for k, at in enumerate(layout.rows)
    ]
    inner = {
        code: f'<th scope="row"{_indent(level)}>{name}</th>'
        for code, (name, level) in (heads[-1] if heads else {}).items()
    }
    flat = bool(layout.rows) and not has_total(layout.table, layout.rows[-1])
    width = layout.shape[1] + 1
    before: tuple[int, ...] | None = None
    for block in layout.blocks():
        rows = _row_texts(page, block)
        for number, text in enumerate(rows, block.first):
            codes = layout.row_codes[number]
            outer = tuple(codes[:-1].tolist())
            if outer != before:
                yield "</tbody>\n<tbody>\n" if before is not None else "<tbody>\n"
                if outer:
                    yield _group_row([heads[k][c] for k, c in enumerate(outer)], width)
                before = outer
            head = inner[int(codes[-1])] if inner else ""
            total = len(codes) and int(codes[-1]) == 0 and not flat
            yield f"<tr{_TOTAL if total else ''}>{head}{text}</tr>\n"
    yield "</tbody>\n"


def _stub_texts(page: _Page, at: int, shown: IntArray) -> dict[int, tuple[str, int]]:
    """The text beside the figures for each code shown, and its level.

    Where a variable has several levels, screen readers are told the level.
    """
    table, language = page.layout.table, page.language
    texts = labels_at(table, at, language) if page.labels else table.dimensions[at].codes
    levels = levels_at(table, at).tolist()
    spoken = f'<span class="vh">{words(language).level}: </span>' if max(levels) > 1 else ""
    return {
        code: (
            spoken.format(level=levels[code])
            + html.escape(texts[code])
            + page.marks(page.remarks.of_code(at, code)),
            levels[code],
        )
        for code in shown.tolist()
    }


def _group_row(heads: list[tuple[str, int]], width: int) -> str:
    """The row over the rows that share all but the last row variable."""
    name = " · ".join(name for name, _ in heads)
    indent = _indent(max(level for _, level in heads))
    head = f'<th scope="rowgroup" colspan="{width}"{indent}><span>{name}</span></th>'
    return f'<tr class="group">{head}</tr>\n'


def _indent(level: int) -> str:
    return f' class="l{min(level, _DEEPEST)}"' if level else ""


def _row_texts(page: _Page, block: BodyRows) -> Iterator[str]:
    """The cells of each row as one text."""
    language = page.language
    text, zero = words(language), zero_text(page.layout.table, language)
    limited = limited_text(page.layout.table, language)

    def cell(value: int | float, status: int, decimals: int) -> str:
        if status == CellStatus.suppressed:
            return f"<td>{_explained(SUPPRESSED, text.unknown)}"
        if status == CellStatus.not_applicable:
            return f"<td>{_explained(INAPPLICABLE, text.inapplicable)}"
        if status == CellStatus.imprecise:
            return f"<td>{_explained(IMPRECISE, text.imprecise)}"
        if value == 0:
            return f"<td>{_explained(ZERO, zero)}"
        number = number_text(value, decimals, language)
        if status == CellStatus.bracketed:
            number = _explained(f"({number})", limited)
        elif status == CellStatus.official:
            number = _explained(f"{number}<sup>{OFFICIAL}</sup>", text.official)
        return f"<td>{number}"

    cells = block.texts(cell)
    for at, between in block.intervals(language):
        cells.flat[at] = f"<td>{_explained(between, text.interval)}"
    marks = page.remarks.of_block(page.layout, block.first, len(cells))
    if marks is not None:
        cells = cells + np.array([page.marks(item) for item in marks.sets], object)[marks.which]
    return (f"{'</td>'.join(row)}</td>" for row in cells.tolist())


def _explained(sign: str, meaning: str) -> str:
    return f'<abbr title="{html.escape(meaning)}">{sign}</abbr>'


def legend_html(signs: Iterable[Sign], language: str, *, level: int = 2) -> str:
    """The signs and what they mean; empty if there are none."""
    items = _terms((sign.symbol, html.escape(sign.meaning)) for sign in signs)
    if not items:
        return ""
    return _section(words(language).legend, f'<dl class="legend">\n{items}</dl>\n', level)


def _terms(pairs: Iterable[tuple[str, str]]) -> str:
    """Terms, each with what is said of it as HTML."""
    return "".join(f"<div><dt>{html.escape(a)}</dt><dd>{b}</dd></div>\n" for a, b in pairs)


def facts_html(pairs: Sequence[tuple[str, str]], label: str) -> str:
    """The most important numbers, at the top."""
    items = _terms((name, html.escape(value)) for name, value in pairs)
    return f'<dl class="facts" aria-label="{html.escape(label)}">\n{items}</dl>\n'


def notes_html(
    table: ProtectedTable, language: str, *, identifier: str = "table", level: int = 2
) -> str:
    """The notes of a table and its footnotes; empty if it has none."""
    items = "".join(f"<li>{html.escape(n.text(language))}</li>\n" for n in printed_notes(table))
    numbered = "".join(
        f'<li id="{identifier}-n{number}">{html.escape(note.text(language))}</li>\n'
        for number, note in enumerate(footnotes(table).notes, 1)
    )
    text = words(language)
    content = f'<ul class="notes">\n{items}</ul>\n' if items else ""
    if numbered:
        content += f'<ol class="notes" aria-label="{text.footnotes}">\n{numbered}</ol>\n'
    return _section(text.notes, content, level) if content else ""


def provenance_html(tables: Sequence[tuple[str, Sequence[tuple[str, str]]]], language: str) -> str:
    """Where several tables come from: what they share once, the rest to be unfolded."""
    text: Words = words(language)
    every = [lines for _, lines in tables]
    shared = [line for line in (every[0] if every else []) if all(line in own for own in every)]
    rest = [(name, [line for line in own if line not in shared]) for name, own in tables]
    items = _terms((name, _pairs(own)) for name, own in rest if own)
    more = f"<details>\n<summary>{text.each_table}</summary>\n<dl>\n{items}</dl>\n</details>\n"
    return (
        f'<footer aria-label="{html.escape(text.provenance)}">{_shared(shared, text)}'
        f"{more if items else ''}</footer>\n"
    )


def _shared(lines: Sequence[tuple[str, str]], text: Words) -> str:
    """What all tables share; many digests are folded."""
    digests = [line for line in lines if line[0].startswith(f"{text.digest} ")]
    if len(digests) <= _MOST_DIGESTS:
        return f"<p>{_pairs(lines)}</p>\n"
    others = [line for line in lines if line not in digests]
    return (
        f"<p>{_pairs(others)}</p>\n<details>\n<summary>{text.digests}</summary>\n"
        f"<p>{_pairs(digests)}</p>\n</details>\n"
    )


def _pairs(lines: Iterable[tuple[str, str]]) -> str:
    return " · ".join(
        f"{html.escape(name)}: <span>{html.escape(value)}</span>" for name, value in lines
    )


def _section(heading: str, content: str, level: int) -> str:
    return f"<section>\n<h{level}>{html.escape(heading)}</h{level}>\n{content}</section>\n"
