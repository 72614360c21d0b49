"""HTML: one accessible page per table, and the pieces of other pages.

In: `ProtectedTable`. Out: a page that stands on its own: caption, headings tied to
their rows and columns, the hierarchy by indent and in words for screen readers,
legend, notes and provenance. Public. Every text is escaped; nothing is loaded from
elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from discreet.publication.description import (
    below_title,
    check_texts,
    printed_notes,
    provenance_lines,
)
from discreet.publication.formats import WriteOptions
from discreet.publication.layout import PageLayout, footnotes, headings, laid_out, page_starts
from discreet.publication.notation import (
    OFFICIAL,
    WITHOUT,
    Sign,
    interval_sign,
    legend,
    number_text,
    signs_of,
)
from discreet.publication.vocabulary import (
    has_total,
    is_figure,
    labels_at,
    levels_at,
    page_part,
    words,
)
from discreet.tables import CellStatus, ProtectedTable

_DEEPEST = 8

#: Pixels of print: of a character, beside a figure, and of the width of A4 upright and across.
_CHARACTER, _PADDING, _UPRIGHT, _ACROSS = 6, 13, 700, 1028
#: Of what is printed across.
_WIDE = ' class="wide"'
#: Nobody prints more cells than these.
_MOST_PRINTED = 100_000
#: Longer headings of rows run over several lines.
_LONGEST_STUB = 32

_Pairs = Sequence[tuple[str, str]]


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the page piece by piece."""
    language = options.language
    check_texts(table, language)
    layout, head = laid_out(table, options), caption(table, language)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        wide = printed_width(layout, language, labels=options.labels)[0]
        digests = table.provenance.digests
        file.write(page_head(table.title(language), language, digests=digests, wide=wide))
        shown: dict[str, Any] = {"identifier": "table", "caption": head, "labels": options.labels}
        file.writelines(table_html(layout, language, **shown, print_parts=True))
        file.write(legend_html(legend(table, language), language))
        file.write(notes_html(table, language))
        file.write(provenance_html([(table.name, provenance_lines(table, language))], language))
        file.write(page_tail())


def caption(table: ProtectedTable, language: str) -> str:
    """Title and universe of a table, and what its only figure is, as HTML."""
    lines = below_title(table, language)
    below = "".join(f'<span class="universe">{escape(line)}</span>' for line in lines)
    return f"<strong>{escape(table.title(language))}</strong>{below}"


def page_head(
    title: str,
    language: str,
    style: str = "",
    *,
    digests: Mapping[str, str] | None = None,
    wide: bool = False,
) -> str:
    """Everything before the content of a page; digests are for programs."""
    about = "".join(
        f'<meta name="digest {escape(name)}" content="{escape(digest)}">\n'
        for name, digest in sorted((digests or {}).items())
    )
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{about}"
        f"<title>{escape(title)}</title>\n<style>\n{page_part('page.css')}{style}</style>\n</head>\n"
        f"<body>\n<main{_WIDE if wide else ''}>\n"
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
    print_parts: bool = False,
) -> Iterator[str]:
    """A table, piece by piece; too wide for a page, also in parts for print if these are asked."""
    starts = printed_width(layout, language, labels=labels)[1] if print_parts else []
    own = ' class="vh"' if spoken else ""
    yield f'<div class="scroll{" screen" if starts else ""}" role="region" tabindex="0" '
    yield f'aria-labelledby="{identifier}-c">\n'
    yield from _table(layout, language, identifier, f"{own}>{caption}", labels=labels)
    yield "</div>\n"
    for number, (first, end) in enumerate(pairwise([0, *starts, len(layout.column_codes)])):
        if starts:
            part = replace(layout, column_codes=layout.column_codes[first:end])
            yield '<div class="printed">\n'
            name = f"{identifier}-p{number}"
            yield from _table(part, language, name, f">{caption}", labels=labels, notes=identifier)
            yield "</div>\n"


def printed_width(layout: PageLayout, language: str, *, labels: bool) -> tuple[bool, list[int]]:
    """Whether a table needs pages across, and before which columns a new page begins then."""
    table, heads = layout.table, headings(layout, language)
    stub = 0
    for k, at in enumerate(layout.rows):
        texts = labels_at(table, at, language) if labels else table.dimensions[at].codes
        shown = np.unique(layout.row_codes[:, k]).tolist()
        stub = max(stub, max((len(texts[code]) for code in shown), default=0))
    decimals = max((figure.decimals for figure in table.figures), default=table.decimals)
    digits = len(number_text(float(np.abs(table.value).max(initial=0)), decimals, language))
    words_above = (
        word for row in heads for head in row if head.width == 1 for word in head.text.split()
    )
    column = max([digits, *map(len, words_above)]) * _CHARACTER + _PADDING
    beside, columns = min(stub, _LONGEST_STUB) * _CHARACTER + _PADDING, layout.shape[1]
    if beside + columns * column <= _ACROSS:
        return beside + columns * column > _UPRIGHT, []
    if math.prod(layout.shape) > _MOST_PRINTED:
        return True, []
    return True, page_starts(heads, columns, max(int((_ACROSS - beside) // column), 1))


def _table(
    layout: PageLayout,
    language: str,
    identifier: str,
    caption: str,
    *,
    labels: bool,
    notes: str = "",
) -> Iterator[str]:
    """The table element; marks lead to the notes of a table of that name."""
    table, remarks, note = layout.table, footnotes(layout.table), words(language).note

    def marks(numbers: Sequence[int]) -> str:
        """Links to notes, as raised figures."""
        links = [
            f'<a href="#{notes or identifier}-n{number}" aria-label="{note} {number}">{number}</a>'
            for number in numbers
        ]
        return f'<sup class="mark">{",".join(links)}</sup>' if links else ""

    yield f'<table id="{identifier}">\n<caption id="{identifier}-c"{caption}</caption>\n'
    rows = headings(layout, language)
    named = [at for at in layout.rows if not is_figure(table, at)]
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
            yield f'<th class="stub" scope="col"{_span("row", len(rows))}>{escape(name)}</th>'
        for heading in row:
            scope = "colgroup" if number == top and heading.width > 1 else "col"
            span = _span("col", heading.width) + _span("row", heading.height)
            yield f'<th scope="{scope}"{span}>{escape(heading.text)}{marks(heading.marks)}</th>'
        yield "</tr>\n"
    yield "</thead>\n"
    # The text beside the figures for each code shown, and its level, which screen readers are told.
    heads: list[dict[int, tuple[str, int]]] = []
    for k, at in enumerate(layout.rows):
        texts = labels_at(table, at, language) if labels else table.dimensions[at].codes
        levels = levels_at(table, at).tolist()
        level = f'<span class="vh">{words(language).level}: </span>' if max(levels) > 1 else ""
        heads.append(
            {
                code: (
                    level.format(level=levels[code])
                    + escape(texts[code])
                    + marks(remarks.of_code(at, code)),
                    levels[code],
                )
                for code in np.unique(layout.row_codes[:, k]).tolist()
            }
        )
    inner = {
        code: f'<th scope="row"{_indent(level)}>{name}</th>'
        for code, (name, level) in (heads[-1] if heads else {}).items()
    }
    flat = bool(layout.rows) and not has_total(table, layout.rows[-1])
    before: tuple[int, ...] | None = None
    for block in layout.blocks():
        cells = block.texts(_cell_html(table, language))
        for at, between in block.intervals(language):
            cells.flat[at] = f"<td>{_explained(between, interval_sign(table, language).meaning)}"
        own = remarks.of_block(layout, block.first, len(cells))
        cells = cells if own is None else cells + own.printed(marks)
        for number, texts in enumerate(cells.tolist(), block.first):
            codes = layout.row_codes[number].tolist()
            outer = tuple(codes[:-1])
            if outer != before:  # rows that share all but the last row variable form a group
                yield "</tbody>\n<tbody>\n" if before is not None else "<tbody>\n"
                if outer:
                    over = [heads[k][code] for k, code in enumerate(outer)]
                    indent = _indent(max(level for _, level in over))
                    yield (
                        f'<tr class="group"><th scope="rowgroup" colspan="{layout.shape[1] + 1}"'
                        f"{indent}><span>{' · '.join(name for name, _ in over)}</span></th></tr>\n"
                    )
                before = outer
            total = ' class="total"' if codes and codes[-1] == 0 and not flat else ""
            yield f"<tr{total}>{inner[codes[-1]] if inner else ''}{'</td>'.join(texts)}</td></tr>\n"
    yield "</tbody>\n</table>\n"


def _span(kind: str, size: int) -> str:
    return f' {kind}span="{size}"' if size > 1 else ""


def _indent(level: int) -> str:
    return f' class="l{min(level, _DEEPEST)}"' if level else ""


def _explained(sign: str, meaning: str) -> str:
    return f'<abbr title="{escape(meaning)}">{sign}</abbr>'


def _cell_html(table: ProtectedTable, language: str) -> Callable[[int | float, int, int], str]:
    """How a cell is put into HTML, from its value, status and decimals; it is not closed."""
    signs = signs_of(table, language)

    def explained(text: str, status: CellStatus) -> str:
        return _explained(text, signs[status].meaning)

    zero = CellStatus.zero_or_changed_to_zero
    without = {status: explained(signs[status].symbol, status) for status in (zero, *WITHOUT)}

    def cell(value: int | float, status: int, decimals: int) -> str:
        if status in WITHOUT or value == 0:
            return f"<td>{without[CellStatus(status) if status in WITHOUT else zero]}"
        number = number_text(value, decimals, language)
        if status == CellStatus.bracketed:
            number = explained(f"({number})", CellStatus.bracketed)
        elif status == CellStatus.official:
            number = explained(f"{number}<sup>{OFFICIAL}</sup>", CellStatus.official)
        return f"<td>{number}"

    return cell


def legend_html(signs: Iterable[Sign], language: str, *, level: int = 2) -> str:
    """The signs and what they mean; empty if there are none."""
    items = _terms((sign.symbol, escape(sign.meaning)) for sign in signs)
    if not items:
        return ""
    return section(words(language).legend, f'<dl class="legend">\n{items}</dl>\n', level)


def _terms(pairs: Iterable[tuple[str, str]]) -> str:
    """Terms, each with what is said of it as HTML."""
    return "".join(f"<div><dt>{escape(a)}</dt><dd>{b}</dd></div>\n" for a, b in pairs)


def facts_html(pairs: _Pairs, label: str) -> str:
    """The most important numbers, at the top."""
    items = _terms((name, escape(value)) for name, value in pairs)
    return f'<dl class="facts" aria-label="{escape(label)}">\n{items}</dl>\n'


def notes_html(
    table: ProtectedTable, language: str, *, identifier: str = "table", level: int = 2
) -> str:
    """The notes of a table and its footnotes; empty if it has none."""
    text = words(language)
    items = "".join(f"<li>{escape(n.text(language))}</li>\n" for n in printed_notes(table))
    numbered = "".join(
        f'<li id="{identifier}-n{number}">{escape(note.text(language))}</li>\n'
        for number, note in enumerate(footnotes(table).notes, 1)
    )
    content = f'<ul class="notes">\n{items}</ul>\n' if items else ""
    if numbered:
        content += f'<ol class="notes" aria-label="{text.footnotes}">\n{numbered}</ol>\n'
    return section(text.notes, content, level) if content else ""


def provenance_html(tables: Sequence[tuple[str, _Pairs]], language: str) -> str:
    """Provenance of several tables: common facts once, the rest to be unfolded."""
    text = words(language)
    every = [lines for _, lines in tables]
    shared = [line for line in (every[0] if every else []) if all(line in own for own in every)]
    rest = [(name, [line for line in own if line not in shared]) for name, own in tables]
    items = _terms((name, _pairs(own)) for name, own in rest if own)
    folded = ""
    if items:
        folded = (
            f"<details>\n<summary>{text.each_table}</summary>\n<dl>\n{items}</dl>\n</details>\n"
        )
    about = _terms((name, escape(value)) for name, value in shared)
    about = f"<dl>\n{about}</dl>\n" if about else ""
    return f'<footer aria-label="{escape(text.provenance)}">\n{about}{folded}</footer>\n'


def _pairs(lines: _Pairs) -> str:
    return " · ".join(f"{escape(name)}: <span>{escape(value)}</span>" for name, value in lines)


def section(heading: str, content: str, level: int = 2) -> str:
    """A part of a page with its heading."""
    return f"<section>\n<h{level}>{escape(heading)}</h{level}>\n{content}</section>\n"
