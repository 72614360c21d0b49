"""PX: the file format of PC-Axis and PxWeb, with all languages in one file.

In: `ProtectedTable`. Out: UTF-8 text of keywords and the whole grid of figures, printed with
their decimals. Public. A dash stands for zero or changed to zero, one dot for suppressed,
two dots for what cannot have a figure; brackets and official figures are marked cell by
cell, and readers are told not to sum. A text cannot hold a double quote there, so it is
written as two single ones; a new line is written as "#".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from discreet.errors import PublicationError
from discreet.publication.description import (
    check_texts,
    imprint_texts,
    printed_notes,
    provenance_lines,
    universe,
)
from discreet.publication.formats import WriteOptions
from discreet.publication.layout import BodyRows, PageLayout, footnotes, laid_out
from discreet.publication.notation import (
    IMPRECISE,
    INAPPLICABLE,
    OFFICIAL,
    SUPPRESSED,
    ZERO,
    legend,
    number_text,
)
from discreet.publication.vocabulary import LANGUAGES, figure_line, has_total, labels_of, words
from discreet.tables import CellStatus, Dimension, Figure, ProtectedTable

#: Characters of a line.
LONGEST_LINE = 256

#: Characters of a label or of the name of a variable; these may not be broken.
LONGEST_TEXT = 220


def quoted(text: str) -> str:
    r"""A text in quotes.

    >>> quoted('the "new" law')
    '"the \'\'new\'\' law"'
    """
    plain = text.replace('"', "''").replace("\r\n", "#").replace("\n", "#").replace("\t", " ")
    return f'"{plain}"'


def keyword(name: str, value: str, *, language: str = "", key: Sequence[str] = ()) -> str:
    """A keyword with a value that is written already.

    >>> keyword("UNITS", quoted("EUR"), language="de", key=["Miete"])
    'UNITS[de]("Miete")="EUR";'
    """
    spoken = f"[{language}]" if language else ""
    where = f"({','.join(map(quoted, key))})" if key else ""
    line = f"{name}{spoken}{where}="
    below = len(line) + len(value) >= LONGEST_LINE and not value.startswith("\r\n")
    return line + ("\r\n" if below else "") + value + ";"


def listing(texts: Sequence[str]) -> str:
    """Texts in quotes, with a new line before one that would make the line too long."""
    lines, line = [], ""
    for number, text in enumerate(map(quoted, texts)):
        item = text + ("," if number < len(texts) - 1 else "")
        if line and len(line) + len(item) >= LONGEST_TEXT:
            lines.append(line)
            line = ""
        line += item
    return _joined([*lines, line])


def text_value(text: str) -> str:
    """A text of any length: pieces in quotes, each on a line of its own."""
    pieces = []
    while len(text) > LONGEST_TEXT:  # broken after a space where there is one
        cut = text.rfind(" ", LONGEST_TEXT // 2, LONGEST_TEXT) + 1 or LONGEST_TEXT
        pieces.append(quoted(text[:cut]))
        text = text[cut:]
    return _joined([*pieces, quoted(text)])


def _joined(lines: Sequence[str]) -> str:
    """Lines as one value; if there are several, they begin below the keyword."""
    return lines[0] if len(lines) == 1 else "\r\n" + "\r\n".join(lines)


_LONGEST_MATRIX = 20
_MOST_SHOWN = 6
_BRACKETS = "()"
_NO_UNIT = "-"
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_CELLS = {
    CellStatus.suppressed: '"."',
    CellStatus.not_applicable: '".."',
    CellStatus.imprecise: '"..."',
    CellStatus.zero_or_changed_to_zero: '"-"',
}
_MARKS = {CellStatus.bracketed: _BRACKETS, CellStatus.official: OFFICIAL}


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the keywords, then the figures row by row."""
    layout = laid_out(table, replace(options, complete=True))
    further = [one for one in LANGUAGES if one in table.titles and one != options.language]
    languages = (options.language, *further)
    for language in languages:
        check_texts(table, language)
    spoken = [_Spoken.of(table, language) for language in languages]
    keyed = options.complete is False and bool(layout.rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        for part in (_head, _variables, _figures, _remarks):
            file.writelines(line + "\r\n" for line in part(layout, spoken))
        for at in layout.rows if keyed else ():
            file.write(keyword("KEYS", "CODES", key=[spoken[0].names[at]]) + "\r\n")
        file.write("DATA=\r\n")
        for block in layout.blocks():
            file.writelines(line + " \r\n" for line in _rows(layout, block, keyed=keyed))
        file.write(";\r\n")


@dataclass(frozen=True, slots=True)
class _Spoken:
    """The texts of a table in one language; the key is empty for the main one."""

    language: str
    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, table: ProtectedTable, language: str) -> _Spoken:
        """The texts of a table; names and labels that occur twice carry their codes."""

        def told_apart(texts: Sequence[str], codes: Sequence[str]) -> tuple[str, ...]:
            times, pairs = Counter(texts), zip(texts, codes, strict=True)
            return tuple(text if times[text] == 1 else f"{text} ({code})" for text, code in pairs)

        dimensions = table.dimensions
        titles = [dimension.title(language) for dimension in dimensions]
        names = told_apart(titles, [dimension.name for dimension in dimensions])
        labels = tuple(told_apart(labels_of(item, language), item.codes) for item in dimensions)
        every = [*names, *chain(*labels), *chain(*(item.codes for item in dimensions))]
        bad = sum(len(quoted(text)) > LONGEST_TEXT for text in every)
        if bad:
            message = f"{bad:,} labels or codes are too long for a px file"
            hint = f"shorten them to {LONGEST_TEXT - 2} characters"
            raise PublicationError(message, code="texts", where=table.name, hint=hint)
        return cls(language, names, labels)


def _keywords(
    name: str,
    spoken: Sequence[_Spoken],
    values: Iterable[str],
    keys: Iterable[Sequence[str]] | None = None,
) -> Iterator[str]:
    """A keyword in every language, the main one first and without its name."""
    rows = zip(spoken, values, keys or [()] * len(spoken), strict=True)
    for number, (one, value, key) in enumerate(rows):
        yield keyword(name, value, language=one.language if number else "", key=key)


def _head(layout: PageLayout, spoken: Sequence[_Spoken]) -> Iterator[str]:
    """What the file is, and what it is about."""
    table = layout.table
    languages = [one.language for one in spoken]
    yield 'CHARSET="ANSI";'
    yield 'AXIS-VERSION="2013";'
    yield 'CODEPAGE="utf-8";'
    yield keyword("LANGUAGE", quoted(languages[0]))
    if len(languages) > 1:
        yield keyword("LANGUAGES", listing(languages))
    date = _DATE.match(table.provenance.time)
    if date:
        yield keyword("CREATION-DATE", quoted("".join(date.groups()) + " 00:00"))
    stated = [imprint_texts(table, language) for language in languages]
    if due := _DATE.fullmatch(stated[0].get("next_update", "")):
        yield keyword("NEXT-UPDATE", quoted("".join(due.groups()) + " 00:00"))
    places = [figure.decimals for figure in table.figures] or [table.decimals]
    yield keyword("DECIMALS", str(max(places)))
    yield keyword("SHOWDECIMALS", str(min(*places, _MOST_SHOWN)))
    yield keyword("MATRIX", quoted(table.name[:_LONGEST_MATRIX]))
    # A reader that sums would take suppressed figures for zero, and noise does not add up.
    yield keyword("AGGREGALLOWED", "NO")
    yield keyword("SUBJECT-CODE", quoted(table.name[:_LONGEST_MATRIX]))
    titles = [table.title(language) for language in languages]
    for name, texts in {
        "SUBJECT-AREA": [universe(table, language) for language in languages],
        "TITLE": titles,
        "CONTENTS": [figure_line(table, language) for language in languages],
    }.items():
        pairs = zip(texts, titles, strict=True)
        yield from _keywords(name, spoken, [text_value(text or title) for text, title in pairs])
    for name, key in {"CONTACT": "contact", "REFPERIOD": "reference_date"}.items():
        if key in stated[0]:
            yield from _keywords(name, spoken, [text_value(texts[key]) for texts in stated])
    first = table.figures[0] if table.figures else None
    yield from _keywords("UNITS", spoken, [_unit(first, one) for one in spoken])


def _unit(figure: Figure | None, one: _Spoken) -> str:
    if figure is None or (figure.kind == "count" and not figure.unit):
        return quoted(words(one.language).number)
    return quoted(figure.unit_text(one.language) or _NO_UNIT)


def _variables(layout: PageLayout, spoken: Sequence[_Spoken]) -> Iterator[str]:
    """Which variables go down and across, and which of them holds the figures; their codes."""
    for keyword_name, places in (("STUB", layout.rows), ("HEADING", layout.columns)):
        if places:
            names = [listing([one.names[at] for at in places]) for one in spoken]
            yield from _keywords(keyword_name, spoken, names)
    if layout.table.several_figures:
        yield from _keywords("CONTVARIABLE", spoken, [quoted(one.names[-1]) for one in spoken])
    order = (*layout.rows, *layout.columns)
    keys = {at: [[one.names[at]] for one in spoken] for at in order}
    for at in order:
        labels = [listing(one.labels[at]) for one in spoken]
        yield from _keywords("VALUES", spoken, labels, keys[at])
    for at in order:
        codes = [listing(layout.dimension(at).codes)] * len(spoken)
        yield from _keywords("CODES", spoken, codes, keys[at])
    for at in order:
        if has_total(layout.table, at):
            totals = [quoted(one.labels[at][0]) for one in spoken]
            yield from _keywords("ELIMINATION", spoken, totals, keys[at])
    for at in order:
        dimension = layout.dimension(at)
        if below := _hierarchy(dimension):
            # Number and names of levels, where all codes without parts stand at the lowest one.
            tree, depth = dimension.classifications[0], int(dimension.levels.max(initial=0))
            regular = set(dimension.levels[dimension.is_leaf].tolist()) == {depth}
            alone = len(dimension.classifications) == 1
            if regular and alone and len(tree.level_names) == depth:
                yield keyword("HIERARCHYLEVELS", str(depth + 1), key=keys[at][0])
                wholes = [labels_of(dimension, one.language)[0] for one in spoken]
                numbers = range(1, depth + 1)
                texts = [
                    listing([whole, *(tree.level_title(level, one.language) for level in numbers)])
                    for whole, one in zip(wholes, spoken, strict=True)
                ]
                yield from _keywords("HIERARCHYNAMES", spoken, texts, keys[at])
            yield keyword("HIERARCHIES", below, key=keys[at][0])


def _hierarchy(dimension: Dimension) -> str:
    """The first code, then each code with the one above; nothing where all stand below the first.

    Readers split at colons even within quotes, and two long codes make too long a line: variables
    with such codes have no hierarchy.
    """
    codes = dimension.codes
    longest = max(map(len, codes))
    if dimension.levels.max(initial=0) < 2 or 2 * longest > LONGEST_TEXT or ":" in "".join(codes):
        return ""
    texts = [quoted(code) for code in codes]
    pairs = zip(texts, dimension.parents.tolist(), strict=True)
    return ",\r\n".join(text if above < 0 else f"{texts[above]}:{text}" for text, above in pairs)


def _figures(layout: PageLayout, spoken: Sequence[_Spoken]) -> Iterator[str]:
    """Units and decimals of several figures; the signs."""
    figures = layout.table.figures if layout.table.several_figures else ()
    for at, figure in enumerate(figures):
        units = [_unit(figure, one) for one in spoken]
        yield from _keywords("UNITS", spoken, units, [[one.labels[-1][at]] for one in spoken])
    least = min((figure.decimals for figure in figures), default=0)
    for at, figure in enumerate(figures):
        if figure.decimals > least:
            places = [str(min(figure.decimals, _MOST_SHOWN))] * len(spoken)
            keys = [[one.names[-1], one.labels[-1][at]] for one in spoken]
            yield from _keywords("PRECISION", spoken, places, keys)
    yield keyword("DATASYMBOL1", quoted(SUPPRESSED))
    yield keyword("DATASYMBOL2", quoted(INAPPLICABLE))
    yield keyword("DATASYMBOL3", quoted(IMPRECISE))
    yield keyword("DATASYMBOLNIL", quoted(ZERO))


def _remarks(layout: PageLayout, spoken: Sequence[_Spoken]) -> Iterator[str]:
    """Source, signs, notes, the notes about codes and cells, and the marks of figures."""
    table, remarks = layout.table, footnotes(layout.table)
    order = (*layout.rows, *layout.columns)

    def source(one: _Spoken) -> str:
        lines = provenance_lines(table, one.language)
        return text_value("; ".join(f"{name}: {text}" for name, text in lines))

    def notes(one: _Spoken) -> str:
        signs = [f"{sign.symbol} = {sign.meaning}" for sign in legend(table, one.language)]
        own = [note.text(one.language) for note in printed_notes(table)]
        return text_value("#".join([*signs, *own]))

    def numbered(numbers: Iterable[int]) -> list[str]:
        own = [remarks.notes[number - 1] for number in numbers]
        return [text_value("#".join(note.text(one.language) for note in own)) for one in spoken]

    yield from _keywords("SOURCE", spoken, map(source, spoken))
    if digests := table.provenance.digests:
        lines = [f"{name} {digest}" for name, digest in sorted(digests.items())]
        yield keyword("INFO", text_value("#".join(lines)))
    yield from _keywords("NOTE", spoken, map(notes, spoken))
    for (at, code), numbers in remarks.headings.items():
        keys = [[one.names[at], one.labels[at][code]] for one in spoken]
        yield from _keywords("VALUENOTE", spoken, numbered(numbers), keys)
    together: dict[tuple[int | None, ...], dict[int, None]] = {}
    for remark in remarks.remarks:
        if sum(code is not None for code in remark.wanted) > 1:
            together.setdefault(remark.wanted, {})[remark.number] = None
    for wanted, marks in together.items():
        places = [(at, wanted[at]) for at in order]
        keys = [
            ["*" if code is None else one.labels[at][code] for at, code in places] for one in spoken
        ]
        yield from _keywords("CELLNOTE", spoken, numbered(marks), keys)
    for status, sign in _MARKS.items():  # of figures, by the codes of each cell
        part = np.flatnonzero(table.status == status)
        key = np.full(len(part), "", dtype=object)
        for number, at in enumerate(order):
            codes = np.array([quoted(c) for c in table.dimensions[at].codes], dtype=object)
            key = key + ("," if number else "") + codes[table.index[at][part]]
        for item in key.tolist():
            yield f"DATANOTECELL{f'({item})' if item else ''}={quoted(sign)};"


def _rows(layout: PageLayout, block: BodyRows, *, keyed: bool) -> Iterator[str]:
    """The figures of some rows, in lines that are short enough.

    With keys, a row begins with its codes, and rows in which everything is zero are
    left out.
    """
    shown = (block.status != CellStatus.zero_or_changed_to_zero).any(axis=1)
    for number, row in enumerate(block.texts(_cell).tolist()):
        if keyed:
            pairs = zip(layout.rows, layout.row_codes[block.first + number].tolist(), strict=True)
            row[:0] = [quoted(layout.dimension(at).codes[code]) + "," for at, code in pairs]
        if shown[number] or not keyed:
            yield from _lines(row)


def _cell(value: int | float, status: int, decimals: int) -> str:
    return _CELLS[CellStatus(status)] if status in _CELLS else number_text(value, decimals)


def _lines(texts: Sequence[str]) -> Iterator[str]:
    """Texts with spaces between them, in as few lines as hold them."""
    whole = " ".join(texts)
    if len(whole) < LONGEST_LINE - 1:
        yield whole
        return
    line = ""
    for text in texts:
        if line and len(line) + len(text) + 2 >= LONGEST_LINE:
            yield line
            line = ""
        line += f" {text}" if line else text
    yield line
