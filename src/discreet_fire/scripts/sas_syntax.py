"""SAS programs read: statements with their words, texts, macro calls and references.

In: the text of a program. Out: `SasStatement`s with their places. Nothing is run. A statement ends
at a semicolon outside of texts, comments and quoting functions of the macro language; data lines
are no statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from discreet_fire.scripts.package_tokens import PackageSyntaxError, PackageToken

_TOKEN = re.compile(
    r"(?P<note>/\*.*?\*/|%\*[^;]*;)"
    r"|(?P<escaped>%[%'\"()])"
    r"|(?P<text>'(?:[^']|'')*'[A-Za-z]{0,2}|\"(?:[^\"]|\"\")*\"[A-Za-z]{0,2})"
    r"|(?P<macro>%[A-Za-z_]\w*)"
    r"|(?P<reference>&+[A-Za-z_]\w*\.?)"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<number>\d[\w.]*|\.\d\w*)"
    r"|(?P<sign>\S)",
    re.S,
)
_QUOTING = {"%STR", "%NRSTR", "%QUOTE", "%NRQUOTE", "%BQUOTE", "%NRBQUOTE"}
_LINES = {
    "DATALINES",
    "CARDS",
    "LINES",
    "DATALINES4",
    "CARDS4",
    "LINES4",
    "PARMCARDS",
    "PARMCARDS4",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SasStatement:
    """One statement."""

    tokens: tuple[PackageToken, ...]  # its tokens, without the semicolon; none for a comment
    start: int  # where it starts
    end: int  # where it ends, with its semicolon
    comment: bool  # whether it is a comment that begins with a star

    @property
    def first(self) -> str:
        """Its first word, in capitals."""
        return self.tokens[0].upper if self.tokens else ""


def parse_sas(text: str) -> list[SasStatement]:
    r"""The statements of a program.

    >>> [one.first for one in parse_sas("data a; set b; /* x; */ run; * proc print; proc sort;")]
    ['DATA', 'SET', 'RUN', '', 'PROC']
    """
    return list(_statements(text))


def _statements(text: str) -> Iterator[SasStatement]:
    tokens: list[PackageToken] = []
    at, quoting = 0, 0
    while (match := _TOKEN.search(text, at)) is not None:
        kind, start, at = str(match.lastgroup), match.start(), match.end()
        token = PackageToken(kind, match.group(), start, at)
        if kind == "note":
            continue
        _check_closed(text, token)
        if token.text == "*" and not tokens:
            stop = text.find(";", at)
            at = len(text) if stop < 0 else stop + 1
            yield SasStatement(tokens=(), start=start, end=at, comment=True)
            continue
        if quoting:
            quoting += (token.text == "(") - (token.text == ")")
            quoting = 0 if quoting == 1 else quoting
        elif kind == "sign" and token.text == "(" and tokens and tokens[-1].upper in _QUOTING:
            quoting = 2
        if token.text == ";" and not quoting:
            if tokens:
                yield SasStatement(
                    tokens=tuple(tokens), start=tokens[0].start, end=at, comment=False
                )
                if len(tokens) == 1 and tokens[0].upper in _LINES:
                    at = _after_lines(text, at, four=tokens[0].upper.endswith("4"))
            tokens = []
        else:
            tokens.append(token)
    if quoting:
        raise PackageSyntaxError("a parenthesis is not closed", tokens[0].start)
    if tokens:
        yield SasStatement(
            tokens=tuple(tokens), start=tokens[0].start, end=len(text), comment=False
        )


def _check_closed(text: str, token: PackageToken) -> None:
    if token.kind == "sign" and token.text in "'\"":
        raise PackageSyntaxError("a quotation mark is not closed", token.start)
    if token.text == "/" and text.startswith("/*", token.start):
        raise PackageSyntaxError("a comment is not closed", token.start)


def _after_lines(text: str, at: int, *, four: bool) -> int:
    """Behind data lines: they end with the first line that holds a semicolon, or four of them."""
    end = re.compile(r"^;;;;" if four else r"^[^\r\n]*;", re.M)
    line = re.compile(r"\r\n|\n|\r").search(text, at)
    close = None if line is None else end.search(text, line.end())
    if close is None:
        return len(text)
    # A statement on that line would be read as data by SAS, too.
    return close.end()
