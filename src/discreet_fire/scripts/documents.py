"""Which files are scripts, and code in documents: chunks of R Markdown and Quarto.

In: the text of a document. Out: where the code of each language stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.errors import OutputCheckError

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

_OPEN = re.compile(
    r"^([^\S\r\n]*(?:>[> \t]*)?)(`{3,}|~{3,})[^\S\r\n]*\{+[^\S\r\n]*([A-Za-z.]\w*)?([^\r\n]*)\}"
    r"[^\S\r\n]*\r?$",
    re.M,
)
_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})", re.M)
_INLINE = re.compile(r"`\{?(?:r|python|python3|ojs|julia|bash|sh)\}?[ \t\r\n#]", re.I)
#: Options that stand in comments of a chunk, and those of the whole document.
_LOADING = re.compile(
    r"^[ \t>]*#\|[ \t]*[\"']?(?:child|engine|code|file|ref[.-]label|opts[.-]label)\b", re.M
)
_RUNNING = re.compile(r"^(?:knit|filters|pre-render|post-render)[ \t]*:", re.M)
_INCLUDE = re.compile(
    r"\{\{<\s*(?:include|embed|eval)\b"
    r"|\\(?:input|include|verbatiminput|lstinputlisting|csvreader|csvautotabular|openin|write18)\b"
    r"|<(?:iframe|object|embed|script)\b",
    re.I,
)
_OPTION = re.compile(r"\b(?:child|engine|code|file|eval)\s*=\s*(?!TRUE|FALSE)")
_TEXT = re.compile(r"\"[^\"]*\"|'[^']*'")
_VALUE = re.compile(r"=\s*(?!(?:TRUE|FALSE|T|F|NULL|NA)\b)[A-Za-z.]|[(`{]")
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
    while (match := _OPEN.search(text, at)) is not None:
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
        if _FENCE.search(text, start, close.start()):
            raise _error("a fence within a chunk, which may end it", name)
        _check_options(match.group(4), text[start : close.start()], name)
        parts.append((start, close.start()))
        languages.add(language)
        at = close.end()
    _check_text(text, parts, name)
    if not parts:
        raise _error("there is no code chunk in this document", name)
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
    if "!expr" in options or _OPTION.search(options) or _LOADING.search(code):
        raise _error("a chunk option runs or loads other code", name)
    if _VALUE.search(_TEXT.sub('""', options).replace("c(", "")):
        raise _error("a chunk option is worked out, and may show data", name)


def _check_text(text: str, parts: list[tuple[int, int]], name: str) -> None:
    """Nothing outside of chunks runs code or brings in files."""
    if "!expr" in text or "!r " in text:
        raise _error("!expr runs code outside of chunks", name)
    kept = []
    at = 0
    for start, end in parts:
        kept.append(text[at:start])
        at = end
    outside = _OPEN.sub("", "".join([*kept, text[at:]]))
    if _INLINE.search(outside):
        raise _error("code within a line of text shows its value", name)
    if _INCLUDE.search(outside) or _RUNNING.search(outside):
        raise _error("the text brings in other files, or runs code", name)


def _error(message: str, name: str) -> OutputCheckError:
    hint = "give the code as a script: knitr::purl, or quarto convert and nbconvert"
    return OutputCheckError(message, code="output-check", where=name, hint=hint)
