"""Classifications as JSON and TOML, nothing lost.

In and out: a document with the name, titles and other fields, and one row per
code: ``[child, parent, label_en, …]`` under the heads given as ``columns``. The
row without a parent is the total. A flat classification may be written by hand as
``codes = ["m", "w"]``.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.classifications.checks import raise_problems
from discreet.classifications.listings import label_columns, languages_of, tree_rows
from discreet.classifications.parentage import LABEL_PREFIX, Row, tree_from_rows
from discreet.classifications.texts import TextFile, file_error
from discreet.classifications.tree import MISSING, TOTAL, CodeTree
from discreet.errors import ClassificationError, Problem

__all__ = ["json_text", "read_json", "read_toml", "toml_text"]

_HEADS = ["child", "parent"]
_HUGE = 1e300
_TEXTS = ("name", "column", "missing", "total")
_LISTS = ("levels", "level_columns", "columns")
_KEYS = (*_TEXTS, *_LISTS, "titles", "bounds", "labels", "codes")
_ROW = re.compile(r"""^[\s\[]*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')""")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TOML_LINE = re.compile(r" \(at line (\d+), column \d+\)$")

Document = dict[str, Any]


# -- reading ------------------------------------------------------------------


def read_json(file: TextFile, name: str | None, *, total: str | None) -> CodeTree:
    """The tree of a JSON document."""
    try:
        found = json.loads(file.text, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        where = file.place(error.lineno)
        raise file_error(f"this is not JSON: {error.msg}", file.path, where=where) from None
    except _DoubledKeyError as error:
        raise file_error(f"key {error.key!r} occurs twice", file.path) from None
    except RecursionError:
        raise file_error("this JSON is nested too deeply", file.path) from None
    if not isinstance(found, dict):
        raise file_error("this JSON is not an object", file.path, hint='such as {"codes": […]}')
    bounds = found.get("bounds")
    if isinstance(bounds, list) and len(bounds) > 1:
        ends = {0: -math.inf, len(bounds) - 1: math.inf}
        found["bounds"] = [ends.get(at) if b is None else b for at, b in enumerate(bounds)]
    return _tree(file, found, name, total)


def read_toml(file: TextFile, name: str | None, *, total: str | None) -> CodeTree:
    """The tree of a TOML document."""
    try:
        found = tomllib.loads(file.text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        line = _TOML_LINE.search(str(error))
        where = file.place(int(line[1])) if line else ""
        what = f"this is not TOML: {_TOML_LINE.sub('', str(error))}"
        raise file_error(what, file.path, where=where) from None
    except RecursionError:
        raise file_error("this TOML is nested too deeply", file.path) from None
    return _tree(file, found, name, total)


class _DoubledKeyError(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _unique_keys(pairs: list[tuple[str, Any]]) -> Document:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _DoubledKeyError(counts.most_common(1)[0][0])
    return found


def _tree(file: TextFile, found: Document, name: str | None, total: str | None) -> CodeTree:
    problems = list(_problems(found))
    raise_problems(
        file.path.name,
        [Problem(text, f"{file.path.name}, {key}", hint) for key, text, hint in problems],
        code="classification-file",
        what="{} problems in the document",
    )
    title = name or found.get("name") or file.path.name.split(".")[0]
    bounds = found.get("bounds")
    fields: Document = {
        "labels": found.get("labels", {}),
        "titles": found.get("titles", {}),
        "column": found.get("column"),
        "missing": found.get("missing", MISSING),
        "level_names": tuple(found.get("levels", ())),
        "level_columns": tuple(found.get("level_columns", ())),
        "bounds": None if bounds is None else tuple(float(bound) for bound in bounds),
    }
    rows = _rows(file, found)
    try:
        tree = tree_from_rows(title, rows, total=_total(found), **fields)
    except ClassificationError:  # once more, with the lines to name
        rows = _placed(file, rows)
        tree = tree_from_rows(title, rows, total=_total(found), **fields)
    return tree if total is None else tree.with_total(total)


def _total(found: Document) -> str | None:
    flat = not any(isinstance(row, list) for row in found["codes"])
    stated: str | None = found.get("total")
    return TOTAL if flat and stated is None else stated


def _problems(found: Document) -> Iterator[tuple[str, str, str]]:
    """Key, what is wrong, hint – for everything that is not as it should be."""
    for key in found:
        if key not in _KEYS:
            yield key, f"key {key!r} is not known", f"known keys: {', '.join(_KEYS)}"
    for key in _TEXTS:
        if key in found and (not isinstance(found[key], str) or not found[key]):
            yield key, "this is not a text, or is empty", ""
    for key in _LISTS:
        if key in found and not _is_texts(found[key]):
            yield key, "this is not a list of texts", ""
    if "titles" in found and not _is_language_texts(found["titles"]):
        yield "titles", "this is not language and text", 'such as { en = "Region" }'
    labels = found.get("labels", {})
    if not isinstance(labels, dict) or not all(map(_is_language_texts, labels.values())):
        yield "labels", "this is not code, language and text", 'such as m = { en = "male" }'
    bounds = found.get("bounds", [])
    if not isinstance(bounds, list) or not all(map(_is_number, bounds)):
        yield "bounds", "this is not a list of numbers", ""
    yield from _code_problems(found)


def _code_problems(found: Document) -> Iterator[tuple[str, str, str]]:
    rows = found.get("codes")
    if not isinstance(rows, list) or not rows:
        hint = 'such as codes = ["m", "w"]'
        yield "codes", "there is no list of codes", hint
        return
    if _is_texts(rows):
        return
    heads = found.get("columns", _HEADS)
    if heads[:2] != _HEADS:
        yield "columns", 'the first two columns are not "child" and "parent"', ""
        return
    for number, row in enumerate(rows, 1):
        if not _is_texts(row) or len(row) != len(heads):
            hint = f"one text for each of {', '.join(map(str, heads))}"
            yield f"codes, row {number}", "this row does not fit the columns", hint


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_language_texts(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values())


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < _HUGE or value in (math.inf, -math.inf)


def _rows(file: TextFile, found: Document) -> list[Row]:
    rows = found["codes"]
    if _is_texts(rows):
        return [Row(code, "", {}) for code in rows]
    heads = found.get("columns", _HEADS)
    languages = label_columns(file, heads[2:])
    listed = []
    for child, parent, *texts in rows:
        labels = {lang: text for lang, text in zip(languages, texts, strict=True) if text}
        listed.append(Row(child, parent, labels))
    return listed


def _placed(file: TextFile, rows: Sequence[Row]) -> list[Row]:
    lines = _row_lines(file)
    return [
        row._replace(where=file.place(lines[row.child]) if row.child in lines else file.path.name)
        for row in rows
    ]


def _row_lines(file: TextFile) -> dict[str, int]:
    """The last line that begins with each code, as a help for messages."""
    lines: dict[str, int] = {}
    for number, line in file.lines():
        match = _ROW.match(line)
        if match:
            lines[match[1] or match[2] or ""] = number
    return lines


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
        "bounds": None if tree.bounds is None else [_plain(bound) for bound in tree.bounds],
        "labels": others,
        "columns": [*_HEADS, *(LABEL_PREFIX + language for language in languages)],
    }
    kept = {key: value for key, value in fields.items() if value not in (None, [], {})}
    return kept, tree_rows(tree)


def _plain(bound: float) -> float:
    return int(bound) if float(bound).is_integer() else bound


def json_text(tree: CodeTree) -> str:
    """A JSON document, one line per code; open ends of intervals are null."""
    fields, rows = _document(tree)
    if "bounds" in fields:
        fields["bounds"] = [None if math.isinf(bound) else bound for bound in fields["bounds"]]
    lines = [f"  {_quoted(key)}: {json.dumps(v, ensure_ascii=False)}," for key, v in fields.items()]
    listed = [f"    {json.dumps(row, ensure_ascii=False)}" for row in rows]
    return "\n".join(["{", *lines, '  "codes": [', ",\n".join(listed), "  ]", "}"]) + "\n"


def toml_text(tree: CodeTree) -> str:
    """A TOML document, one line per code."""
    fields, rows = _document(tree)
    lines = [f"{key} = {_toml(value)}" for key, value in fields.items()]
    listed = [f"  {_toml(row)}," for row in rows]
    return "\n".join([*lines, "codes = [", *listed, "]"]) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, Sequence):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return repr(value)


def _key(text: str) -> str:
    return text if _BARE_KEY.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    """A text in quotes as JSON and TOML both have it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
