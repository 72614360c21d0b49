"""Which files are scripts, and the code in documents: chunks of R Markdown and Quarto, notebooks.

In: the text of a document, or of an ``.ipynb`` file. Out: where the code of each language stands;
of a notebook the code of its cells with a line ``# %%`` before each, and for a place in that code
the place in the file. What was shown when a notebook ran is not part of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any

from discreet.errors import OutputCheckError
from discreet_fire.catalogue import Forms

_FORM = Forms(__package__, "documents")
#: Languages by the ends of names; documents say theirs in their chunks.
SUFFIXES: Mapping[str, str] = {
    ".py": "python",
    ".r": "r",
    ".rmd": "",
    ".qmd": "",
    ".sps": "spss",
    ".sas": "sas",
}
#: Those of statistical packages, which have commands and macros in place of functions.
PACKAGES = frozenset((".sps", ".sas"))
NOTEBOOK = ".ipynb"

_LANGUAGES = {"r": "r", "python": "python", "python3": "python"}


def is_script(path: Path) -> bool:
    """Whether a file is a script in R, Python, SPSS or SAS, or a document of the first two.

    >>> is_script(Path("a.R")), is_script(Path("a.do"))
    (True, False)
    """
    return path.suffix.lower() in (*SUFFIXES, NOTEBOOK)


def chunks_of(text: str, name: str) -> tuple[str, list[tuple[int, int]]]:
    r"""The language of a document and the places of its code.

    >>> chunks_of("Text\n```{r}\nx <- 1\n```\n", "a.Rmd")
    ('r', [(12, 19)])
    """
    parts: list[tuple[int, int]] = []
    languages: set[str] = set()
    at = 0
    while (match := _FORM.open.search(text, at)) is not None:
        start = min(match.end() + 1, len(text))
        close = re.compile(rf"^[ \t]*{re.escape(match.group(2))}+[ \t]*\r?$", re.M).search(
            text, start
        )
        language = _LANGUAGES.get((match.group(3) or "").lower())
        if close is None:
            raise _error("a code chunk is not closed", name)
        if language is None:
            raise _error(f"a chunk of another language than R and Python: {match.group(3)}", name)
        if ">" in match.group(1) or "~" in match.group(2):
            raise _error("a chunk that knitr and Quarto read in different ways", name)
        if _FORM.fence.search(text, start, close.start()):
            raise _error("a fence within a chunk, which may end it", name)
        _check_options(match.group(4), text[start : close.start()], name)
        parts.append((start, close.start()))
        languages.add(language)
        at = close.end()
    _check_text(text, parts, name)
    if not parts:
        raise _error("no code chunk in this document", name)
    if len(languages) > 1:
        raise _error("chunks of R and of Python in one document share their data", name)
    return languages.pop(), parts


def code_of(text: str, parts: Sequence[tuple[int, int]] | None) -> str:
    r"""The text with blanks for all that is no code; every line stays where it is.

    >>> code_of("ab\ncd", [(3, 4)])
    '  \nc '
    """
    if parts is None:
        return text
    kept = [" " if sign not in "\r\n" else sign for sign in text]
    for start, end in parts:
        kept[start:end] = text[start:end]
    return "".join(kept)


def _check_options(options: str, code: str, name: str) -> None:
    """Options of a chunk are constants, and load no other code."""
    if "!expr" in options or _FORM.option.search(options) or _FORM.loading.search(code):
        raise _error("a chunk option runs or loads other code", name)
    if _FORM.value.search(_FORM.text.sub('""', options).replace("c(", "")):
        raise _error("a chunk option is computed, and may show data", name)


def _check_text(text: str, parts: list[tuple[int, int]], name: str) -> None:
    """Nothing outside of chunks runs code or brings in files."""
    if "!expr" in text or "!r " in text:
        raise _error("!expr runs code outside of chunks", name)
    ends = [0, *(end for _, end in parts)]
    starts = [*(start for start, _ in parts), len(text)]
    kept = (text[end:start] for end, start in zip(ends, starts, strict=True))
    outside = _FORM.open.sub("", "".join(kept))
    if _FORM.inline.search(outside):
        raise _error("code within a line of text shows its value", name)
    if _FORM.include.search(outside) or _FORM.running.search(outside):
        raise _error("the text brings in other files, or runs code", name)


_PURL = "knitr::purl, or quarto convert and nbconvert"


def _error(message: str, name: str, by: str = _PURL) -> OutputCheckError:
    hint = f"give the code as a script: {by}"
    return OutputCheckError(message, code="output-check", where=name, hint=hint)


_MARK = "# %%\n"
_KERNELS = {"python": "python", "python3": "python", "r": "r", "ir": "r"}


class _Text(str):
    """A text of the file, and where it stands with its quotes."""

    place: tuple[int, int]


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
        """Span of a passage of the code in the file; None if it is not in one cell."""
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
    places: dict[int, tuple[int, int]] = {}
    try:
        top = _read(text, places)
    except (ValueError, RecursionError):
        raise _notebook_error("this is not a notebook: its JSON cannot be read", name) from None
    cells = top.get("cells") if isinstance(top, dict) else None
    if not isinstance(cells, list) or top.get("nbformat") != 4:
        raise _notebook_error("only notebooks of nbformat 4 are read", name)
    code: list[str] = []
    letters: list[tuple[int, int] | None] = []
    shown: list[tuple[int, int, str]] = []
    for cell in cells:
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", [])
        pieces = source if isinstance(source, list) else [source]
        if not all(isinstance(piece, _Text) for piece in pieces):
            raise _notebook_error("the code of a cell is not a text", name)
        if not isinstance(cell.get("outputs") or [], list):
            raise _notebook_error("the output of a cell is not a list", name)
        code += [_MARK, *pieces, "\n"]
        letters += [None] * len(_MARK)
        for piece in pieces:
            letters += _letters(text, piece)
        letters.append(None)
        shown += _clearing(text, cell, places)
    metadata = _members(top.get("metadata"))
    if "widgets" in metadata:
        if id(metadata["widgets"]) not in places:
            raise _notebook_error("the widgets of the notebook cannot be read", name)
        shown.append((*places[id(metadata["widgets"])], "{}"))
    return NotebookCode(
        language=_language(metadata, name),
        code="".join(code),
        places=tuple(letters),
        shown=tuple(sorted(shown)),
    )


def _clearing(
    text: str, cell: dict[str, Any], places: dict[int, tuple[int, int]]
) -> Iterator[tuple[int, int, str]]:
    inside = [places[id(value)] for value in cell.values() if id(value) in places]
    if cell.get("outputs"):
        yield (*places[id(cell["outputs"])], "[]")
    for count in _FORM.count.finditer(text, *places[id(cell)]):
        if count[1] != "null" and not any(a <= count.start() < b for a, b in inside):
            yield (*count.span(1), "null")


def _language(metadata: dict[str, Any], name: str) -> str:
    kernel, info = _members(metadata.get("kernelspec")), _members(metadata.get("language_info"))
    names = [one for one in (kernel.get("language"), info.get("name")) if one is not None]
    languages = {_KERNELS.get(str(one).lower()) for one in names or [kernel.get("name")]}
    language = languages.pop()
    if languages or language is None:
        raise _notebook_error("the notebook does not say that it is in Python or R", name)
    return language


def _letters(text: str, piece: _Text) -> Iterator[tuple[int, int]]:
    at = piece.place[0] + 1
    for letter in piece:
        wide = 1
        if text[at] == "\\":
            wide = 6 if text[at + 1] == "u" else 2
            if wide == 6 and ord(letter) > 0xFFFF:
                wide = 12  # two halves of one character
        yield at, at + wide
        at += wide


def _members(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _read(text: str, places: dict[int, tuple[int, int]]) -> Any:
    """The JSON of a notebook; notes where its texts, lists and objects stand."""

    def string(whole: str, at: int, strict: bool) -> tuple[_Text, int]:
        value, end = scanstring(whole, at, strict)
        placed = _Text(value)
        placed.place = (at - 1, end)
        return placed, end

    def noted(parse: Callable[..., tuple[Any, int]]) -> Callable[..., tuple[Any, int]]:
        def parsed(state: tuple[str, int], *rest: Any) -> tuple[Any, int]:
            value, end = parse(state, *rest)
            places[id(value)] = (state[1] - 1, end)
            return value, end

        return parsed

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError  # the same name twice could be read in two ways
        return dict(pairs)

    def constant(_: str) -> None:
        raise ValueError  # NaN and the like are no JSON

    decoder: Any = json.JSONDecoder(object_pairs_hook=members, parse_constant=constant)
    decoder.parse_string = string
    decoder.parse_array, decoder.parse_object = map(
        noted, (decoder.parse_array, decoder.parse_object)
    )
    decoder.scan_once = py_make_scanner(decoder)
    return decoder.decode(text)


def in_json(text: str) -> str:
    r"""A text as it stands within a string of JSON.

    >>> in_json('a\n"b"')
    'a\\n\\"b\\"'
    """
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _notebook_error(message: str, name: str) -> OutputCheckError:
    return _error(message, name, "jupyter nbconvert --to script")
