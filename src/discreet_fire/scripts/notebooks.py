"""Notebooks: the code of their cells as one script, and changes of it back in their JSON.

In: the text of an ``.ipynb`` file. Out: the code with a line ``# %%`` before each cell; for a place
in that code the place in the file. What was shown when the notebook ran is not part of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from discreet.errors import OutputCheckError

_MARK = "# %%\n"
_BLANK = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")
_DEPTH = 60
_LANGUAGES = {"python": "python", "python3": "python", "r": "r", "ir": "r"}


@dataclass(frozen=True)
class _Value:
    """A value in a JSON text: where it stands, and what it is."""

    value: Any
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class NotebookCode:
    """The code of a notebook."""

    language: str  # of its cells: "python" or "r"
    code: str  # all code cells, one after the other
    #: For each character of it where it begins and ends in the file; None for what is not in the
    #: file
    places: tuple[tuple[int, int] | None, ...] = field(repr=False)
    #: Where values stand that hold what the notebook showed, and what goes there
    shown: tuple[tuple[int, int, str], ...]

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """Where a passage of the code stands in the file; None if it is not in one cell."""
        inside = self.places[start:end]
        if inside:
            first, last = inside[0], inside[-1]
            whole = all(one is not None for one in inside)
            return (first[0], last[1]) if whole and first and last else None
        here = self.places[start] if start < len(self.places) else None
        before = self.places[start - 1] if start else None
        if here is not None:
            return here[0], here[0]
        return None if before is None else (before[1], before[1])


def read_notebook(text: str, name: str) -> NotebookCode:
    r"""The code of a notebook.

    >>> cells = [{"cell_type": "code", "source": ["x = 1\n", "x"], "outputs": [7], "metadata": {}}]
    >>> about = {"kernelspec": {"language": "python"}}
    >>> made = json.dumps({"nbformat": 4, "metadata": about, "cells": cells})
    >>> found = read_notebook(made, "a.ipynb")
    >>> found.code, [made[start:end] for start, end, _ in found.shown]
    ('# %%\nx = 1\nx\n', ['[7]'])
    """
    try:
        whole, end = _value(text, _skip(text, 0), 0)
        if _skip(text, end) != len(text):
            raise ValueError
    except (ValueError, IndexError, RecursionError):
        raise _error("this is not a notebook: its JSON cannot be read", name) from None
    top = _members(whole)
    cells = top.get("cells")
    if top.get("nbformat", _Value(0, 0, 0)).value != 4 or not isinstance(_of(cells), list):
        raise _error("only notebooks of nbformat 4 are read", name)
    code: list[str] = []
    places: list[tuple[int, int] | None] = []
    shown: list[tuple[int, int, str]] = []
    assert cells is not None
    for cell in cells.value:
        parts = _members(cell)
        if _of(parts.get("cell_type")) != "code":
            continue
        pieces = list(_pieces(parts.get("source"), name))
        own = "".join(piece.value for piece in pieces)
        code += [_MARK, own, "\n"]
        places += [None] * len(_MARK)
        for piece in pieces:
            places += _letters(text, piece)
        places.append(None)
        shown += _clearing(parts)
    metadata = _members(top.get("metadata"))
    if "widgets" in metadata:
        shown.append((metadata["widgets"].start, metadata["widgets"].end, "{}"))
    return NotebookCode(
        language=_language(metadata, name),
        code="".join(code),
        places=tuple(places),
        shown=tuple(sorted(shown)),
    )


def _clearing(cell: Mapping[str, _Value]) -> Iterator[tuple[int, int, str]]:
    """What a cell showed, and when it ran."""
    for name, empty in (("outputs", "[]"), ("execution_count", "null")):
        if name in cell and cell[name].value not in ([], None):
            yield cell[name].start, cell[name].end, empty


def _language(metadata: Mapping[str, _Value], name: str) -> str:
    kernel, info = _members(metadata.get("kernelspec")), _members(metadata.get("language_info"))
    names = [_of(one) for one in (kernel.get("language"), info.get("name")) if one is not None]
    names = names or [_of(kernel.get("name"))]
    languages = {_LANGUAGES.get(str(one).lower()) for one in names}
    language = languages.pop()
    if languages or language is None:
        raise _error("the notebook does not say that it is in Python or R", name)
    return language


def _pieces(source: _Value | None, name: str) -> Iterator[_Value]:
    """The strings that the code of a cell is made of."""
    held = [] if source is None else source.value if isinstance(source.value, list) else [source]
    for piece in held:
        if not isinstance(piece.value, str):
            raise _error("the code of a cell is no text", name)
        yield piece


def _letters(text: str, piece: _Value) -> Iterator[tuple[int, int]]:
    """Where each character of a string stands."""
    at = piece.start + 1
    for letter in piece.value:
        wide = 1
        if text[at] == "\\":
            wide = 6 if text[at + 1] == "u" else 2
            if wide == 6 and ord(letter) > 0xFFFF:
                wide = 12  # two halves of one character
        yield at, at + wide
        at += wide


def _of(value: _Value | None) -> Any:
    return None if value is None else value.value


def _members(value: _Value | None) -> Mapping[str, _Value]:
    members = _of(value)
    return members if isinstance(members, dict) else {}


# JSON with places ---------------------------------------------------------------------------------


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return at if match is None else match.end()


def _value(text: str, at: int, depth: int) -> tuple[_Value, int]:
    if depth > _DEPTH:
        raise ValueError
    opened = text[at]
    if opened == '"':
        string, end = scanstring(text, at + 1, True)
        return _Value(string, at, end), end
    if opened in "{[":
        return _held(text, at, depth, "}" if opened == "{" else "]")
    scalar = _SCALAR.match(text, at)
    if scalar is None:
        raise ValueError
    return _Value(json.loads(scalar[0]), at, scalar.end()), scalar.end()


def _held(text: str, start: int, depth: int, close: str) -> tuple[_Value, int]:
    """The members of an object, or the parts of a list."""
    members: dict[str, _Value] = {}
    parts: list[_Value] = []
    at = _skip(text, start + 1)
    while text[at] != close:
        if members or parts:
            if text[at] != ",":
                raise ValueError
            at = _skip(text, at + 1)
        name = None
        if close == "}":
            key, at = _value(text, at, depth + 1)
            at = _skip(text, at)
            # The same name twice could be read in two ways.
            if not isinstance(key.value, str) or key.value in members or text[at] != ":":
                raise ValueError
            name, at = key.value, _skip(text, at + 1)
        one, at = _value(text, at, depth + 1)
        at = _skip(text, at)
        if name is None:
            parts.append(one)
        else:
            members[name] = one
    held: dict[str, _Value] | list[_Value] = members if close == "}" else parts
    return _Value(held, start, at + 1), at + 1


def in_json(text: str) -> str:
    r"""A text as it stands within a string of JSON.

    >>> in_json('a\n"b"')
    'a\\n\\"b\\"'
    """
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _error(message: str, name: str) -> OutputCheckError:
    hint = "give the code as a script: jupyter nbconvert --to script"
    return OutputCheckError(message, code="output-check", where=name, hint=hint)
