"""Classifications as CSV, JSON and TOML, nothing lost.

In and out: texts with one row per code. CSV is read in two forms: ``child,parent``, or
``code,parent`` in any order, with a column ``label_<language>`` per language (a flat list has no
``parent``); and ``level,name`` as R tools write it, the level being repeats of one character and
the total on the first line. A JSON or TOML document has the name, titles and other fields, and rows
``[child, parent, label_en, …]`` under the heads given as ``columns``; the row without a
parent is the total. A flat classification may be written by hand as ``codes = ["m", "w"]``.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.classifications.hrc import nested_links
from discreet.classifications.parents import (
    LABEL_PREFIX,
    CodeRow,
    texts_of,
    tree_from_links,
    tree_from_rows,
)
from discreet.classifications.text_files import TextFile, file_error
from discreet.classifications.tree import MISSING, TOTAL, CodeTree, raise_problems
from discreet.errors import ClassificationError, Problem
from discreet.files import toml_value

_LEVELS = ("level", "name")
_LINKS = ("child", "parent")
#: Headings as files of offices have them, in lower case → those of `_LINKS`, or a column of labels.
_HEADINGS = {
    **dict.fromkeys(("code", "id", "key", "schlüssel", "schluessel"), "child"),
    **dict.fromkeys(("parent_code", "parentcode", "parent_id", "parentid", "broader"), "parent"),
    **dict.fromkeys(("parent_key", "oberschlüssel", "oberschluessel"), "parent"),
    **dict.fromkeys(("übergeordnet", "übergeordneter_schlüssel", "uebergeordnet"), "parent"),
    **dict.fromkeys(("label", "name", "title", "description"), LABEL_PREFIX + "en"),
    **dict.fromkeys(("bezeichnung", "titel"), LABEL_PREFIX + "de"),
}


def _read_csv(file: TextFile, stated: str | None, total: str | None) -> CodeTree:
    """The tree of a CSV file with a header line, separated by commas or semicolons."""
    name = stated or file.stem
    first = file.lines()[0][1]
    separator = ";" if first.count(";") > first.count(",") else ","
    rows = list(_records(file, separator))
    header, body = tuple(rows[0][1]), rows[1:]
    _check_rows(file, header, body)
    if header == _LEVELS:
        return _from_levels(file, name, body, total)
    words = [word.strip().lower().replace(" ", "_") for word in header]
    heads = [_HEADINGS.get(word, word) for word in words]
    flat = "parent" not in heads and all(head[:6] == LABEL_PREFIX for head in heads[1:])
    if heads.count("child") == 1 and (heads.count("parent") == 1 or (flat and heads[1:])):
        child = heads.index("child")
        parent = None if flat else heads.index("parent")
        own = [at for at in range(len(heads)) if at not in (child, parent)]
        languages = label_columns(file, [heads[at] for at in own])
        listed = [
            CodeRow(
                cells[child],
                cells[parent] if parent is not None else TOTAL * (cells[child] != TOTAL),
                texts_of(languages, [cells[at] for at in own]),
                file.place(line),
            )
            for line, cells in body
        ]
        tree = tree_from_rows(name, listed, total=None)
        return tree if total is None else tree.with_total(total)
    raise file_error(
        f"unknown header {separator.join(header)!r}",
        file.path,
        where=file.place(rows[0][0]),
        hint="write the columns code, parent, label_en, label_de, …; or level, name",
    )


def _records(file: TextFile, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the number of its last line."""
    reader = csv.reader(io.StringIO(file.text, newline=""), delimiter=separator, strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        where = file.place(reader.line_num)
        raise file_error(f"not valid CSV ({error})", file.path, where=where) from None


def _check_rows(
    file: TextFile, header: Sequence[str], body: Sequence[tuple[int, list[str]]]
) -> None:
    problems = [
        Problem(f"{len(cells)} fields for {len(header)} columns", file.place(line))
        for line, cells in body
        if len(cells) != len(header)
    ]
    if not body:
        problems.append(Problem("no codes below the header", file.path.name))
    raise_problems(
        file.path.name, problems, code="classification-file", what="{} lines are not valid"
    )


def label_columns(file: TextFile, columns: Sequence[str]) -> list[str]:
    """The languages of columns ``label_<language>``."""
    problems = []
    for number, column in enumerate(columns):
        if not column.startswith(LABEL_PREFIX) or column == LABEL_PREFIX:
            hint = "known columns: child, parent, label_en, label_de, …"
            problems.append(Problem(f"unknown column {column!r}", file.path.name, hint))
        if column in columns[:number]:
            problems.append(Problem(f"column {column!r} occurs twice", file.path.name))
    raise_problems(file.path.name, problems, code="classification-file")
    return [column.removeprefix(LABEL_PREFIX) for column in columns]


def _from_levels(
    file: TextFile, name: str, body: Sequence[tuple[int, list[str]]], total: str | None
) -> CodeTree:
    """The tree of rows ``@,Total``, ``@@,male``, …"""
    mark = body[0][1][0][:1]
    problems = [
        Problem(f"level {cells[0]!r} does not consist of {mark!r}", file.place(line))
        for line, cells in body
        if not cells[0] or cells[0].strip(mark)
    ]
    raise_problems(
        file.path.name, problems, code="classification-file", what="{} levels are not valid"
    )
    tops = [(line, cells) for line, cells in body if len(cells[0]) == 1]
    if len(body[0][1][0]) != 1 or len(tops) != 1:
        message = f"{len(tops)} codes are on the level of the total, {mark!r}"
        where = file.place(tops[-1][0] if tops else body[0][0])
        hint = "only the first line can be the total"
        raise file_error(message, file.path, where=where, hint=hint)
    entries = [(line, len(cells[0]) - 2, cells[1]) for line, cells in body[1:]]
    tree = tree_from_links(name, nested_links(file, entries), body[0][1][1])
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


def _csv_text(tree: CodeTree) -> str:
    """A CSV file of all codes with parents and labels; the total comes first."""
    if len(tree) == 1:
        raise_problems(tree.name, [Problem("no codes below the total", tree.name)])
    languages = languages_of(tree)
    out = io.StringIO(newline="")
    rows = [[*_LINKS, *(LABEL_PREFIX + language for language in languages)], *tree_rows(tree)]
    returns = any("\r" in cell for row in rows for cell in row)  # left bare otherwise
    writer = csv.writer(
        out, lineterminator="\n", quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
    )
    writer.writerows(rows)
    return out.getvalue()


_HEADS = ["child", "parent"]
_HUGE = 1e300
_TEXTS = ("name", "column", "missing", "total")
_LISTS = ("levels", "level_columns", "columns")
_KEYS = (*_TEXTS, *_LISTS, "titles", "level_titles", "bounds", "labels", "codes")
_ROW = re.compile(r"""^[\s\[]*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')""")
_TOML_LINE = re.compile(r" \(at line (\d+), column \d+\)$")

Document = dict[str, Any]


# -- reading ------------------------------------------------------------------


def _read_json(file: TextFile, name: str | None, total: str | None) -> CodeTree:
    """The tree of a JSON document."""

    def table(pairs: list[tuple[str, Any]]) -> Document:
        if len(dict(pairs)) < len(pairs):
            key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
            raise file_error(f"key {key!r} occurs twice", file.path)
        return dict(pairs)

    try:
        document = json.loads(file.text, object_pairs_hook=table)
    except json.JSONDecodeError as error:
        where = file.place(error.lineno)
        raise file_error(f"not valid JSON: {error.msg}", file.path, where=where) from None
    except RecursionError:
        raise file_error("the JSON is nested too deeply", file.path) from None
    if not isinstance(document, dict):
        raise file_error("not a JSON object", file.path, hint='such as {"codes": […]}')
    bounds = document.get("bounds")
    if isinstance(bounds, list) and len(bounds) > 1:
        ends = {0: -math.inf, len(bounds) - 1: math.inf}
        document["bounds"] = [ends.get(at) if b is None else b for at, b in enumerate(bounds)]
    return _tree(file, document, name, total)


def _read_toml(file: TextFile, name: str | None, total: str | None) -> CodeTree:
    """The tree of a TOML document."""
    try:
        document = tomllib.loads(file.text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        line = _TOML_LINE.search(str(error))
        where = file.place(int(line[1])) if line else ""
        message = f"not valid TOML: {_TOML_LINE.sub('', str(error))}"
        raise file_error(message, file.path, where=where) from None
    except RecursionError:
        raise file_error("the TOML is nested too deeply", file.path) from None
    return _tree(file, document, name, total)


def _tree(file: TextFile, document: Document, name: str | None, total: str | None) -> CodeTree:
    problems = list(_problems(document))
    raise_problems(
        file.path.name,
        [Problem(text, f"{file.path.name}, {key}", hint) for key, text, hint in problems],
        code="classification-file",
        what="{} problems in the document",
    )
    title = name or document.get("name") or file.stem
    bounds = document.get("bounds")
    fields: Document = {
        "labels": document.get("labels", {}),
        "titles": document.get("titles", {}),
        "level_titles": document.get("level_titles", {}),
        "column": document.get("column"),
        "missing": document.get("missing", MISSING),
        "level_names": tuple(document.get("levels", ())),
        "level_columns": tuple(document.get("level_columns", ())),
        "bounds": None if bounds is None else tuple(float(bound) for bound in bounds),
    }
    rows = _rows(file, document)
    flat = not any(isinstance(row, list) for row in document["codes"])
    stated = document.get("total") or (TOTAL if flat else None)
    try:
        tree = tree_from_rows(title, rows, total=stated, **fields)
    except ClassificationError:  # once more, with the lines to name
        tree = tree_from_rows(title, _placed(file, rows), total=stated, **fields)
    return tree if total is None else tree.with_total(total)


def _problems(document: Document) -> Iterator[tuple[str, str, str]]:
    """Key, what is wrong, hint – for everything that is not as it should be."""
    for key in document:
        if key not in _KEYS:
            yield key, f"unknown key {key!r}", f"known keys: {', '.join(_KEYS)}"
    for key in _TEXTS:
        if key in document and (not isinstance(document[key], str) or not document[key]):
            yield key, "not a text, or empty", ""
    for key in _LISTS:
        if key in document and not _is_texts(document[key]):
            yield key, "not a list of texts", ""
    if "titles" in document and not _is_language_texts(document["titles"]):
        yield "titles", "not a table of languages and texts", 'such as { en = "Region" }'
    labels = document.get("labels", {})
    if not isinstance(labels, dict) or not all(map(_is_language_texts, labels.values())):
        yield "labels", "not a table of codes, languages and texts", 'such as m = { en = "male" }'
    levels = document.get("level_titles", {})
    if not isinstance(levels, dict) or not all(map(_is_language_texts, levels.values())):
        hint = 'such as state = { en = "State" }'
        yield "level_titles", "not a table of levels, languages and texts", hint
    bounds = document.get("bounds", [])
    if not isinstance(bounds, list) or not all(map(_is_number, bounds)):
        yield "bounds", "not a list of numbers", ""
    yield from _code_problems(document)


def _code_problems(document: Document) -> Iterator[tuple[str, str, str]]:
    rows = document.get("codes")
    if not isinstance(rows, list) or not rows:
        hint = 'such as codes = ["m", "w"]'
        yield "codes", "the list of codes is missing", hint
        return
    if _is_texts(rows):
        return
    heads = document.get("columns", _HEADS)
    if heads[:2] != _HEADS:
        yield "columns", 'the first two columns must be "child" and "parent"', ""
        return
    for number, row in enumerate(rows, 1):
        if not _is_texts(row) or len(row) != len(heads):
            hint = f"write one text for each of {', '.join(map(str, heads))}"
            yield f"codes, row {number}", "the row does not match the columns", hint


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_language_texts(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values())


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < _HUGE or value in (math.inf, -math.inf)


def _rows(file: TextFile, document: Document) -> list[CodeRow]:
    rows = document["codes"]
    if _is_texts(rows):
        return [CodeRow(code, "", {}) for code in rows]
    heads = document.get("columns", _HEADS)
    languages = label_columns(file, heads[2:])
    return [CodeRow(code, parent, texts_of(languages, cells)) for code, parent, *cells in rows]


def _placed(file: TextFile, rows: Sequence[CodeRow]) -> list[CodeRow]:
    """The rows with the last line that begins with each code, as a help for messages."""
    begun = [(_ROW.match(line), number) for number, line in file.lines()]
    places = {match[1] or match[2] or "": file.place(number) for match, number in begun if match}
    return [row._replace(where=places.get(row.child, file.path.name)) for row in rows]


# -- writing ------------------------------------------------------------------


def _document(tree: CodeTree) -> tuple[Document, list[list[str]]]:
    """The fields that are not as usual, and the rows."""
    languages = languages_of(tree)
    others = {c: dict(texts) for c, texts in tree.labels.items() if c not in tree.index and texts}
    fields: Document = {
        "name": tree.name,
        "titles": dict(tree.titles),
        "column": tree.column,
        "missing": tree.missing,
        "total": tree.total,
        "levels": list(tree.level_names),
        "level_columns": list(tree.level_columns),
        "level_titles": {level: dict(texts) for level, texts in tree.level_titles.items()},
        "bounds": None
        if tree.bounds is None
        else [int(bound) if float(bound).is_integer() else bound for bound in tree.bounds],
        "labels": others,
        "columns": [*_HEADS, *(LABEL_PREFIX + language for language in languages)],
    }
    kept = {key: value for key, value in fields.items() if value not in (None, [], {})}
    return kept, tree_rows(tree)


def _json_text(tree: CodeTree) -> str:
    """A JSON document, one line per code; open ends of intervals are null."""
    fields, rows = _document(tree)
    if "bounds" in fields:
        fields["bounds"] = [None if math.isinf(bound) else bound for bound in fields["bounds"]]
    encoded = {key: json.dumps(value, ensure_ascii=False) for key, value in fields.items()}
    lines = [f"  {toml_value(key)}: {value}," for key, value in encoded.items()]
    listed = [f"    {json.dumps(row, ensure_ascii=False)}" for row in rows]
    return "\n".join(["{", *lines, '  "codes": [', ",\n".join(listed), "  ]", "}"]) + "\n"


def _toml_text(tree: CodeTree) -> str:
    """A TOML document, one line per code."""
    fields, rows = _document(tree)
    lines = [f"{key} = {toml_value(value)}" for key, value in fields.items()]
    listed = [f"  {toml_value(row)}," for row in rows]
    return "\n".join([*lines, "codes = [", *listed, "]"]) + "\n"


#: Suffix → how such a file is read, given a name and a total, and how it is written.
READERS = {".json": _read_json, ".toml": _read_toml, ".csv": _read_csv}
WRITERS = {".json": _json_text, ".toml": _toml_text, ".csv": _csv_text}
