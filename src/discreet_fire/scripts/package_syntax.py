"""SPSS and SAS programs read: tokens, commands with subcommands, statements, macros and blocks.

In: the text of a program. Out: `SpssCommand`s or `SasStatement`s with their places. Nothing is run.
A command of SPSS ends with a period at the end of a line, or at an empty line; bodies of macros are
read as commands too, and a period within a line ends a command there as well, since a macro may put
it at an end. A statement of SAS ends at a semicolon outside of texts, comments and quoting
functions of the macro language; data lines are no statements.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from discreet_fire.catalogue import Forms
from discreet_fire.scripts.tree import ReadingError

_FORM = Forms(__package__, "packages")


class UnnamedVariablesError(Exception):
    """A list of variables names some by a form, as ``x1 TO x5`` or ``_all_``, or cannot be read."""


@dataclass(frozen=True, slots=True)
class PackageToken:
    """A word, text, number, sign, macro call or reference of a program."""

    #: ``word``, ``text``, ``number``, ``macro`` or ``sign``; of SAS also ``reference`` and
    #: ``escaped``
    kind: str
    text: str  # as it is written
    start: int  # where it starts
    end: int  # where it ends

    @property
    def upper(self) -> str:
        """In capitals, as names are compared."""
        return self.text.upper()


def with_depths(
    tokens: Iterable[PackageToken], opening: str = "(", closing: str = ")"
) -> Iterator[tuple[PackageToken, int]]:
    """Tokens, and behind each of them how many parentheses are open."""
    depth = 0
    for token in tokens:
        depth += (token.text in opening) - (token.text in closing)
        yield token, depth


def split_at(
    tokens: Sequence[PackageToken], word: str, opening: str = "(", closing: str = ")"
) -> list[list[PackageToken]]:
    """Texts between words or signs of one kind, outside parentheses."""
    parts: list[list[PackageToken]] = [[]]
    for token, depth in with_depths(tokens, opening, closing):
        if depth == 0 and token.upper == word:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def parenthesis(tokens: Sequence[PackageToken], start: int) -> Sequence[PackageToken]:
    """Text in the parentheses that open at a place, with them; empty if none open."""
    if len(tokens) <= start or tokens[start].text != "(":
        return ()
    inside = itertools.takewhile(lambda one: one[1] > 0, with_depths(tokens[start:]))
    return tokens[start : start + 1 + len([*inside])]


def crossings(tokens: Sequence[PackageToken], cross: str, stack: str) -> list[list[str]]:
    """Crossed variables, one list for each alternative: ``a*(b c)`` has a with b, and a with c.

    A sign crosses variables, and another one, or nothing, stands between alternatives. Of variables
    with ``[S]`` behind them sums are shown, so they cross nothing.
    """
    waiting = list(tokens)
    try:
        tables = _stacked(waiting, cross, stack)
    except IndexError:
        raise UnnamedVariablesError from None
    if waiting:
        raise UnnamedVariablesError
    return tables


def _stacked(tokens: list[PackageToken], cross: str, stack: str) -> list[list[str]]:
    tables: list[list[str]] = []
    while True:
        crossed = _factor(tokens, cross, stack)
        while tokens and tokens[0].text == cross:
            tokens.pop(0)
            crossed = [[*a, *b] for a in crossed for b in _factor(tokens, cross, stack)]
        tables += crossed
        if not tokens or tokens[0].text == ")" or (stack and tokens[0].text != stack):
            return tables
        if stack:
            tokens.pop(0)


def _factor(tokens: list[PackageToken], cross: str, stack: str) -> list[list[str]]:
    """One variable with what is in brackets behind it, or alternatives in parentheses."""
    first = tokens.pop(0)
    if first.text == "(":
        crossed = _stacked(tokens, cross, stack)
        if tokens.pop(0).text != ")":
            raise UnnamedVariablesError
    elif first.kind in ("word", "reference") and first.upper not in ("TO", "ALL"):
        crossed = [[first.text]]
    else:
        raise UnnamedVariablesError
    while tokens and tokens[0].text == "[":
        inside = []
        while (token := tokens.pop(0)).text != "]":
            inside.append(token.upper)
        if inside == ["[", "S"]:
            crossed = [[]]
    return crossed


def one_line(text: str) -> str:
    r"""Code in one line, with single blanks but for those in texts.

    >>> one_line("where  g =\n 'a  b'")
    "where g = 'a  b'"
    """
    return _FORM.blanks.sub(lambda found: found[1] or " ", text).strip()


_BLOCKS = {
    "BEGIN PROGRAM": _FORM.program_end,
    "BEGIN GPL": _FORM.program_end,
    "BEGIN DATA": _FORM.data_end,
    "MATRIX": _FORM.matrix_end,
}
#: What stands around commands in the body of a macro.
_CLOSING = {"!DOEND", "!ELSE", "!IFEND"}
_CONTROL = {"!DO", "!IF", "!LET", "!OFFEXPAND", "!ONEXPAND", *_CLOSING}


@dataclass(frozen=True, kw_only=True, slots=True)
class SpssPart:
    """A subcommand, or what stands before the first one."""

    name: str  # in capitals, as it is written; ``MAIN`` for what stands before the first
    #: What it holds, without its name and the equals sign behind it
    tokens: tuple[PackageToken, ...]
    start: int  # where it starts, with its slash
    end: int  # where it ends


@dataclass(frozen=True, kw_only=True, slots=True)
class SpssCommand:
    """One command."""

    #: ``command``, ``comment``, ``block`` (of another language, or of data), ``macro`` (a
    #: definition) or ``body`` (a command within one)
    kind: str
    #: Its words, texts and signs, without comments and without the period
    tokens: tuple[PackageToken, ...]
    start: int  # where it starts
    end: int  # where it ends, with its period

    def words(self, most: int = 4) -> list[str]:
        """The words at its beginning, in capitals."""
        words = itertools.takewhile(lambda token: token.kind == "word", self.tokens[:most])
        return [token.upper for token in words]

    def parts(self, skip: int) -> list[SpssPart]:
        """Its subcommands: they start at slashes outside of parentheses."""
        parts: list[SpssPart] = []
        tokens = self.tokens[skip:]
        depths = enumerate(with_depths(tokens))
        slashes = (at for at, (token, depth) in depths if token.text == "/" and depth <= 0)
        for first, last in itertools.pairwise([0, *filter(None, slashes), len(tokens)]):
            inside = tokens[first:last]
            if not inside:
                continue
            name, start = "MAIN", inside[0].start
            if inside[0].text == "/":
                inside = inside[1:]
                if inside and inside[0].kind == "word":
                    name, inside = inside[0].upper, inside[1:]
                    inside = inside[1:] if inside and inside[0].text == "=" else inside
            elif len(inside) > 1 and inside[0].kind == "word" and inside[1].text == "=":
                # FREQUENCIES VARIABLES=a: the first subcommand needs no slash.
                name, inside = inside[0].upper, inside[2:]
            end = tokens[last - 1].end
            parts.append(SpssPart(name=name, tokens=tuple(inside), start=start, end=end))
        return parts


def parse_spss(text: str) -> list[SpssCommand]:
    r"""The commands of a program.

    >>> [one.words() for one in parse_spss("GET FILE='a.sav'.\n* a note.\nfreq x\n  /hist.\n")]
    [['GET', 'FILE'], [], ['FREQ', 'X']]
    """
    return list(_CommandReader(text, 0, len(text), "command").commands())


class _CommandReader:
    """Commands of a stretch of a text."""

    def __init__(self, text: str, start: int, end: int, kind: str) -> None:
        self.text = text
        self.at = start
        self.end = end
        self.kind = kind

    def commands(self) -> Iterator[SpssCommand]:
        while (first := self._first()) is not None:
            start = first.start
            if first.text == "*" or first.upper == "COMMENT":
                self.at = self._comment_end(start)
                yield SpssCommand(kind="comment", tokens=(), start=start, end=self.at)
                continue
            if self.kind == "body" and first.upper in _CONTROL:
                control = _FORM.control.match(self.text, start, self.end)
                self.at = first.end if control is None else control.end()
                continue
            tokens, self.at = self._command(start)
            if not tokens:
                continue
            command = SpssCommand(kind=self.kind, tokens=tokens, start=start, end=self.at)
            words = command.words()
            block = next((end for name, end in _BLOCKS.items() if names_spss(words, name)), None)
            if words and words[0] == "DEFINE":
                yield from self._macro(command)
            elif block is not None and len(words) <= 2 + (words[:1] == ["BEGIN"]):
                yield self._block(command, block)
            else:
                yield command

    def _first(self) -> PackageToken | None:
        for token in self._tokens(self.at):
            # Signs in the first column start a command in batch mode.
            if token.kind not in ("note", "end") and token.text not in (".", "+", "-"):
                return token
            self.at = token.end
        self.at = self.end
        return None

    def _tokens(self, start: int) -> Iterator[PackageToken]:
        at = start
        while (match := _FORM.spss_token.search(self.text, at, self.end)) is not None:
            kind, at, stop = str(match.lastgroup), match.end(), match.start()
            words = match.group()
            if kind in ("word", "number", "macro") and words.endswith("."):
                words = words.rstrip(".")
                at = stop + len(words)
            yield PackageToken(kind, words, stop, at)

    def _command(self, start: int) -> tuple[tuple[PackageToken, ...], int]:
        tokens: list[PackageToken] = []
        blank = fresh = False
        last = start
        for token in self._tokens(start):
            if token.kind == "end":
                if blank:
                    return tuple(tokens), last
                blank = fresh = True
                continue
            if token.kind == "note":
                blank = fresh = False
                continue
            if token.text == "." and token.kind == "sign":
                return tuple(tokens), token.end
            if tokens and fresh and self.kind == "body" and token.upper in _CLOSING:
                return tuple(tokens), last
            blank = fresh = False
            tokens.append(token)
            last = token.end
        return tuple(tokens), self.end if not tokens else last

    def _comment_end(self, start: int) -> int:
        """A comment ends with a period at the end of a line, or before an empty line."""
        for match in _FORM.line.finditer(self.text, start, self.end):
            line = re.sub(r"/\*.*$", "", match[1]).rstrip()
            if not line and match.start() > start:
                return match.start()
            if line.endswith("."):
                return match.end(1)
        return self.end

    def _block(self, opening: SpssCommand, end: re.Pattern[str]) -> SpssCommand:
        close = end.search(self.text, opening.tokens[0].end, self.end)
        if close is None:
            raise ReadingError("a block is not closed", opening.start)
        self.at = stop = close.end()
        return SpssCommand(kind="block", tokens=opening.tokens, start=opening.start, end=stop)

    def _macro(self, opening: SpssCommand) -> Iterator[SpssCommand]:
        close = _FORM.macro_end.search(self.text, opening.start, self.end)
        if close is None:
            raise ReadingError("a macro is not closed by !ENDDEFINE", opening.start)
        if self.kind == "body":
            raise ReadingError("a macro is defined within a macro", opening.start)
        head: list[PackageToken] = []
        plain = (one for one in self._tokens(opening.start) if one.kind not in ("note", "end"))
        inside = itertools.takewhile(lambda one: one[0].start < close.start(), with_depths(plain))
        for token, depth in inside:
            head.append(token)
            if depth == 0 and token.text == ")":
                break
        else:
            raise ReadingError("a macro has no list of arguments", opening.start)
        self.at = close.end()
        yield SpssCommand(kind="macro", tokens=tuple(head), start=opening.start, end=close.end())
        yield from _CommandReader(self.text, head[-1].end, close.start(), "body").commands()


def names_spss(words: Sequence[str], name: str) -> bool:
    """Whether a command that begins with these words is the one of this name: each is at least the
    first three letters.

    >>> names_spss(["SAV", "TRANS"], "SAVE TRANSLATE"), names_spss(["SA"], "SAVE")
    (True, False)
    """
    whole = name.split()
    return len(words) >= len(whole) and all(
        word == full or (len(word) > 2 and full.startswith(word))
        for word, full in zip(words, whole, strict=False)
    )


_QUOTING = {"%STR", "%NRSTR", "%QUOTE", "%NRQUOTE", "%BQUOTE", "%NRBQUOTE"}
#: Statements before data lines; with a 4 behind the name four semicolons end them.
_LINES = ("DATALINES", "CARDS", "LINES", "PARMCARDS")


@dataclass(frozen=True, kw_only=True, slots=True)
class SasStatement:
    """One statement."""

    #: Its tokens, without the semicolon; none for a comment that begins with a star
    tokens: tuple[PackageToken, ...]
    start: int  # where it starts
    end: int  # where it ends, with its semicolon

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
    while (match := _FORM.sas_token.search(text, at)) is not None:
        kind, start, at = str(match.lastgroup), match.start(), match.end()
        token = PackageToken(kind, match.group(), start, at)
        if kind == "note":
            continue
        if kind == "sign" and token.text in "'\"":
            raise ReadingError("a quotation mark is not closed", start)
        if token.text == "/" and text.startswith("/*", start):
            raise ReadingError("a comment is not closed", start)
        if token.text == "*" and not tokens:
            stop = text.find(";", at)
            at = len(text) if stop < 0 else stop + 1
            yield SasStatement(tokens=(), start=start, end=at)
            continue
        if quoting:
            quoting += (token.text == "(") - (token.text == ")")
            quoting = 0 if quoting == 1 else quoting
        elif kind == "sign" and token.text == "(" and tokens and tokens[-1].upper in _QUOTING:
            quoting = 2
        if token.text != ";" or quoting:
            tokens.append(token)
        elif tokens:
            yield SasStatement(tokens=tuple(tokens), start=tokens[0].start, end=at)
            name = tokens[0].upper
            if len(tokens) == 1 and name.removesuffix("4") in _LINES:
                # A statement on the last of these lines would be read as data by SAS, too.
                form = _FORM.four_semicolons if name.endswith("4") else _FORM.data_lines
                lines = form.search(text, at)
                at = len(text) if lines is None else lines.end()
            tokens = []
    if quoting:
        raise ReadingError("a parenthesis is not closed", tokens[0].start)
    if tokens:
        yield SasStatement(tokens=tuple(tokens), start=tokens[0].start, end=len(text))
