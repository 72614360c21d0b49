"""Code in documents: chunks of R Markdown and Quarto.

In: the text of a document. Out: where the code of each language stands.
"""

from __future__ import annotations

import re

from discreet.errors import OutputCheckError

__all__ = ["chunks_of"]

_OPEN = re.compile(
    r"^([ \t]*)(`{3,}|~{3,})[ \t]*\{[ \t]*([A-Za-z.]\w*)?([^\r\n]*)\}[ \t]*\r?$", re.M
)
_INLINE = re.compile(r"(?<!`)`\{?(r|python)\}?[ \t]+([^`\r\n]*)`")
_LANGUAGES = {"r": "r", "python": "python", "python3": "python"}


def chunks_of(text: str, name: str) -> tuple[str, list[tuple[int, int]]]:
    r"""The language of a document and the places of its code.

    Args:
        text: The document.
        name: Its name, for messages.

    >>> chunks_of("Text\n```{r}\nx <- 1\n```\n", "a.Rmd")
    ('r', [(12, 19)])
    """
    parts: list[tuple[int, int]] = []
    languages: set[str] = set()
    at = 0
    while (found := _OPEN.search(text, at)) is not None:
        start = min(found.end() + 1, len(text))
        close = re.compile(rf"^[ \t]*{re.escape(found.group(2))}+[ \t]*\r?$", re.M).search(
            text, start
        )
        language = _LANGUAGES.get((found.group(3) or "").lower())
        if close is None:
            raise _error("a code chunk is not closed", name)
        if language is None:
            raise _error(f"a chunk of another language than R and Python: {found.group(3)}", name)
        if re.search(r"!expr|\b(child|engine|code|file|eval)\s*=\s*(?!TRUE|FALSE)", found.group(4)):
            raise _error("a chunk option runs or loads other code", name)
        parts.append((start, close.start()))
        languages.add(language)
        at = close.end()
    if "!expr" in text or "!r " in text:
        raise _error("!expr runs code outside of chunks", name)
    inside = [(start, end) for start, end in parts]
    for inline in _INLINE.finditer(text):
        if not any(start <= inline.start() < end for start, end in inside):
            raise _error("code within a line of text shows its value", name)
    if not parts:
        raise _error("there is no code chunk in this document", name)
    if len(languages) > 1:
        raise _error("chunks of R and of Python in one document share their data", name)
    return languages.pop(), parts


def _error(what: str, name: str) -> OutputCheckError:
    hint = "give the code as a script: knitr::purl, or quarto convert and nbconvert"
    return OutputCheckError(what, code="output-check", where=name, hint=hint)
