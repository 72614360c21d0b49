"""Classifications as CSV: codes with their parents and labels, or levels with names.

In and out: texts with a header line. Two forms are read: ``child,parent`` with a
column ``label_<language>`` per language, and ``level,name`` as R tools write it,
the level being repeats of one character and the total on the first line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from discreet.classifications.checks import raise_problems
from discreet.classifications.hrc import nested_links
from discreet.classifications.links import tree_from_links
from discreet.classifications.parentage import LABEL_PREFIX, Row, tree_from_rows
from discreet.classifications.texts import TextFile, file_error
from discreet.classifications.tree import CodeTree
from discreet.errors import ClassificationError, Problem

__all__ = ["csv_text", "label_columns", "languages_of", "read_csv", "tree_rows"]

_LEVELS = ("level", "name")
_LINKS = ("child", "parent")


def read_csv(file: TextFile, name: str, *, total: str | None) -> CodeTree:
    """The tree of a CSV file with a header line, separated by commas or semicolons."""
    separator = _separator(file)
    rows = list(_records(file, separator))
    header, body = tuple(rows[0][1]), rows[1:]
    _check_rows(file, header, body)
    if header == _LEVELS:
        return _from_levels(file, name, body, total)
    if header[:2] == _LINKS:
        languages = label_columns(file, header[2:])
        listed = [
            Row(cells[0], cells[1], _labels(languages, cells[2:]), file.place(line))
            for line, cells in body
        ]
        return _renamed(tree_from_rows(name, listed, total=None), total)
    raise file_error(
        f"the header {separator.join(header)!r} is not that of a classification",
        file.path,
        where=file.place(rows[0][0]),
        hint="columns are child, parent and label_en, label_de, …; or level, name",
    )


def _separator(file: TextFile) -> str:
    first = file.lines()[0][1]
    return ";" if first.count(";") > first.count(",") else ","


def _records(file: TextFile, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the number of its last line."""
    reader = csv.reader(io.StringIO(file.text, newline=""), delimiter=separator, strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        where = file.place(reader.line_num)
        raise file_error(f"this is not CSV ({error})", file.path, where=where) from None


def _check_rows(
    file: TextFile, header: Sequence[str], body: Sequence[tuple[int, list[str]]]
) -> None:
    problems = [
        Problem(f"{len(cells)} cells under {len(header)} columns", file.place(line))
        for line, cells in body
        if len(cells) != len(header)
    ]
    if not body:
        problems.append(Problem("there are no codes below the header", file.path.name))
    raise_problems(file.path.name, problems, code="classification-file", what="{} lines are broken")


def label_columns(file: TextFile, columns: Sequence[str]) -> list[str]:
    """The languages of columns ``label_<language>``."""
    problems = []
    for number, column in enumerate(columns):
        if not column.startswith(LABEL_PREFIX) or column == LABEL_PREFIX:
            hint = "further columns are label_en, label_de, …"
            problems.append(Problem(f"column {column!r} is not known", file.path.name, hint))
        if column in columns[:number]:
            problems.append(Problem(f"column {column!r} occurs twice", file.path.name))
    raise_problems(file.path.name, problems, code="classification-file")
    return [column.removeprefix(LABEL_PREFIX) for column in columns]


def _labels(languages: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    return {lang: text for lang, text in zip(languages, cells, strict=True) if text}


def _from_levels(
    file: TextFile, name: str, body: Sequence[tuple[int, list[str]]], total: str | None
) -> CodeTree:
    """The tree of rows ``@,Total``, ``@@,male``, …"""
    mark = body[0][1][0][:1]
    problems = [
        Problem(f"level {cells[0]!r} is not made of {mark!r}", file.place(line))
        for line, cells in body
        if not cells[0] or cells[0].strip(mark)
    ]
    raise_problems(file.path.name, problems, code="classification-file", what="{} bad levels")
    tops = [(line, cells) for line, cells in body if len(cells[0]) == 1]
    if len(body[0][1][0]) != 1 or len(tops) != 1:
        raise ClassificationError(
            f"there are {len(tops)} codes on the level of the total, {mark!r}",
            code="classification-file",
            where=file.place(tops[-1][0] if tops else body[0][0]),
            hint="the first line, and no other, is the total",
        )
    entries = [(line, len(cells[0]) - 2, cells[1]) for line, cells in body[1:]]
    return _renamed(tree_from_links(name, nested_links(file, entries), body[0][1][1]), total)


def _renamed(tree: CodeTree, total: str | None) -> CodeTree:
    return tree if total is None else tree.with_total(total)


def languages_of(tree: CodeTree) -> list[str]:
    """The languages of all labels, in the order they are met."""
    return list(dict.fromkeys(lang for code in tree.codes for lang in tree.labels.get(code, {})))


def tree_rows(tree: CodeTree) -> list[list[str]]:
    """Per code: the code, its parent, and its label in each of `languages_of`."""
    languages = languages_of(tree)
    rows = []
    for code, parent in zip(tree.codes, tree.parents, strict=True):
        texts = tree.labels.get(code, {})
        above = tree.codes[parent] if parent >= 0 else ""
        rows.append([code, above, *(texts.get(language, "") for language in languages)])
    return rows


def csv_text(tree: CodeTree) -> str:
    """A CSV file of all codes with parents and labels; the total comes first."""
    if len(tree) == 1:
        raise_problems(tree.name, [Problem("there are no codes below the total", tree.name)])
    languages = languages_of(tree)
    out = io.StringIO(newline="")
    rows = [[*_LINKS, *(LABEL_PREFIX + language for language in languages)], *tree_rows(tree)]
    returns = any("\r" in cell for row in rows for cell in row)  # left bare otherwise
    writer = csv.writer(
        out, lineterminator="\n", quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
    )
    writer.writerows(rows)
    return out.getvalue()
