"""Pieces of HTML pages: tables, legends, notes, provenance, and the page around them.

In: `Layout` and `ProtectedTable`. Out: HTML text, piece by piece. Public. Every
text is escaped; nothing is loaded from elsewhere.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources

import numpy as np

from discreet.publication.cells import IntArray
from discreet.publication.description import provenance_lines
from discreet.publication.labels import labels_of
from discreet.publication.layout import Block, Layout, headings
from discreet.publication.notation import (
    OFFICIAL,
    SUPPRESSED,
    ZERO,
    Sign,
    figure_texts,
    number_text,
)
from discreet.publication.notes import printed_notes
from discreet.publication.words import Words, words
from discreet.tables import CellStatus, Dimension, ProtectedTable

__all__ = [
    "joint_provenance_html",
    "legend_html",
    "notes_html",
    "page_head",
    "page_tail",
    "provenance_html",
    "table_html",
]

_DEEPEST = 8


def page_head(title: str, language: str) -> str:
    """Everything before the content of a page."""
    css = resources.files("discreet.publication").joinpath("page.css").read_text("utf-8")
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{css}</style>\n</head>\n<body>\n<main>\n"
    )


def page_tail() -> str:
    """Everything after the content of a page."""
    return "</main>\n</body>\n</html>\n"


def table_html(
    layout: Layout,
    language: str,
    *,
    identifier: str,
    caption: str,
    labels: bool = True,
    spoken: bool = False,
) -> Iterator[str]:
    """A table, piece by piece.

    Args:
        layout: The table on a page.
        language: Language of labels and signs.
        identifier: Unique id on the page.
        caption: What the caption says, as HTML.
        labels: Show labels; codes if False.
        spoken: Leave the caption to screen readers, where a heading says it already.
    """
    hidden = ' class="vh"' if spoken else ""
    yield f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{identifier}-c">\n'
    yield f'<table id="{identifier}">\n<caption id="{identifier}-c"{hidden}>{caption}</caption>\n'
    yield from _head(layout, language)
    yield from _body(layout, language, labels)
    yield "</table>\n</div>\n"


def _head(layout: Layout, language: str) -> Iterator[str]:
    rows = headings(layout, language)
    stub = layout.rows[-1:]
    name = " / ".join(layout.dimension(at).title(language) for at in layout.rows)
    if stub:
        yield "<colgroup><col></colgroup>"
    spans = rows[min(1, len(rows) - 1)]
    yield "".join(f'<colgroup span="{heading.width}"></colgroup>' for heading in spans)
    yield "\n<thead>\n"
    for number, row in enumerate(rows):
        yield "<tr>"
        if number == 0 and stub:
            yield f'<th class="stub" scope="col"{_span("row", len(rows))}>{html.escape(name)}</th>'
        for heading in row:
            # The top row names the variables; the next one matches the column groups.
            scope = "colgroup" if number == 1 and heading.width > 1 else "col"
            span = _span("col", heading.width) + _span("row", heading.height)
            yield f'<th scope="{scope}"{span}>{html.escape(heading.text)}</th>'
        yield "</tr>\n"
    yield "</thead>\n"


def _span(kind: str, size: int) -> str:
    return f' {kind}span="{size}"' if size > 1 else ""


def _body(layout: Layout, language: str, labels: bool) -> Iterator[str]:
    """The rows; those that share all but the last row variable form a group."""
    heads = [
        _stub_texts(layout.dimension(at), language, labels, np.unique(layout.row_codes[:, k]))
        for k, at in enumerate(layout.rows)
    ]
    inner = {code: _row_head(*head) for code, head in heads[-1].items()} if heads else {}
    width = layout.shape[1] + 1
    before: tuple[int, ...] | None = None
    for block in layout.blocks():
        rows = _row_texts(layout, block, language)
        for number, text in enumerate(rows, block.first):
            codes = layout.row_codes[number]
            outer = tuple(codes[:-1].tolist())
            if outer != before:
                yield "</tbody>\n<tbody>\n" if before is not None else "<tbody>\n"
                if outer:
                    yield _group_row([heads[k][c] for k, c in enumerate(outer)], width)
                before = outer
            head = inner[int(codes[-1])] if inner else ""
            yield f"<tr{_row_class(codes)}>{head}{text}</tr>\n"
    yield "</tbody>\n"


def _row_class(codes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    return ' class="total"' if len(codes) and int(codes[-1]) == 0 else ""


def _stub_texts(
    dimension: Dimension, language: str, labels: bool, shown: IntArray
) -> dict[int, tuple[str, int]]:
    """The text beside the figures for each code shown, and its level.

    Where a variable has several levels, screen readers are told the level.
    """
    texts = labels_of(dimension, language) if labels else dimension.codes
    levels = dimension.levels.tolist()
    spoken = f'<span class="vh">{words(language).level}: </span>' if max(levels) > 1 else ""
    return {
        code: (spoken.format(level=levels[code]) + html.escape(texts[code]), levels[code])
        for code in shown.tolist()
    }


def _row_head(name: str, level: int) -> str:
    return f'<th scope="row"{_indent(level)}>{name}</th>'


def _group_row(heads: list[tuple[str, int]], width: int) -> str:
    """The row over the rows that share all but the last row variable."""
    name = " · ".join(name for name, _ in heads)
    indent = _indent(max(level for _, level in heads))
    head = f'<th scope="rowgroup" colspan="{width}"{indent}><span>{name}</span></th>'
    return f'<tr class="group">{head}</tr>\n'


def _indent(level: int) -> str:
    return f' class="l{min(level, _DEEPEST)}"' if level else ""


def _row_texts(layout: Layout, block: Block, language: str) -> Iterator[str]:
    """The cells of each row as one text."""
    decimals, text = layout.table.decimals, words(language)

    def cell(value: int | float, status: int) -> str:
        if status == CellStatus.suppressed:
            return f"<td>{_explained(SUPPRESSED, text.unknown)}</td>"
        if value == 0:
            return f"<td>{_explained(ZERO, text.zero)}</td>"
        number = number_text(value, decimals, language)
        if status == CellStatus.bracketed:
            number = _explained(f"({number})", text.limited)
        elif status == CellStatus.official:
            number = _explained(f"{number}<sup>{OFFICIAL}</sup>", text.official)
        return f"<td>{number}</td>"

    cells = figure_texts(block.value.ravel(), block.status.ravel(), cell)
    return map("".join, cells.reshape(block.value.shape).tolist())


def _explained(sign: str, meaning: str) -> str:
    return f'<abbr title="{html.escape(meaning)}">{sign}</abbr>'


def legend_html(signs: Iterable[Sign], language: str, *, level: int = 2) -> str:
    """The signs and what they mean."""
    items = "".join(
        f"<div><dt>{html.escape(sign.symbol)}</dt><dd>{html.escape(sign.meaning)}</dd></div>\n"
        for sign in signs
    )
    return _section(words(language).legend, f'<dl class="legend">\n{items}</dl>\n', level)


def notes_html(table: ProtectedTable, language: str, *, level: int = 2) -> str:
    """The notes of a table; empty if it has none."""
    items = "".join(f"<li>{html.escape(n.text(language))}</li>\n" for n in printed_notes(table))
    if not items:
        return ""
    return _section(words(language).notes, f'<ul class="notes">\n{items}</ul>\n', level)


def provenance_html(table: ProtectedTable, language: str) -> str:
    """Where a table comes from, as the footer of a page."""
    return joint_provenance_html([(table.name, provenance_lines(table, language))], language)


def joint_provenance_html(
    tables: Sequence[tuple[str, Sequence[tuple[str, str]]]], language: str
) -> str:
    """Where several tables come from: what they share once, the rest to be unfolded.

    Args:
        tables: Name and `provenance_lines` of each table.
        language: Language of the page.
    """
    text: Words = words(language)
    every = [lines for _, lines in tables]
    shared = [line for line in (every[0] if every else []) if all(line in own for own in every)]
    rest = [(name, [line for line in own if line not in shared]) for name, own in tables]
    items = "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{_pairs(own)}</dd></div>\n"
        for name, own in rest
        if own
    )
    more = f"<details>\n<summary>{text.each_table}</summary>\n<dl>\n{items}</dl>\n</details>\n"
    return (
        f'<footer aria-label="{html.escape(text.provenance)}"><p>{_pairs(shared)}</p>\n'
        f"{more if items else ''}</footer>\n"
    )


def _pairs(lines: Iterable[tuple[str, str]]) -> str:
    return " · ".join(
        f"{html.escape(name)}: <span>{html.escape(value)}</span>" for name, value in lines
    )


def _section(heading: str, content: str, level: int) -> str:
    return f"<section>\n<h{level}>{html.escape(heading)}</h{level}>\n{content}</section>\n"
