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
from collections.abc import Iterator, Sequence
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


def split_at(
    tokens: Sequence[PackageToken], word: str, opening: str = "(", closing: str = ")"
) -> list[list[PackageToken]]:
    """Texts between words or signs of one kind, outside parentheses."""
    parts: list[list[PackageToken]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in opening) - (token.text in closing)
        if depth == 0 and token.upper == word:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def parenthesis(tokens: Sequence[PackageToken], start: int) -> Sequence[PackageToken]:
    """Text in the parentheses that open at a place, with them; empty if none open."""
    if len(tokens) <= start or tokens[start].text != "(":
        return ()
    depth = 0
    for at in range(start, len(tokens)):
        depth += (tokens[at].text == "(") - (tokens[at].text == ")")
        if depth <= 0:
            return tokens[start : at + 1]
    return tokens[start:]


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
_CONTROL = {"!DO", "!DOEND", "!IF", "!ELSE", "!IFEND", "!LET", "!OFFEXPAND", "!ONEXPAND"}


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
        words: list[str] = []
        for token in self.tokens[:most]:
            if token.kind != "word":
                break
            words.append(token.upper)
        return words

    def parts(self, skip: int) -> list[SpssPart]:
        """Its subcommands."""
        parts: list[SpssPart] = []
        tokens = self.tokens[skip:]
        cuts = [0, *_slashes(tokens), len(tokens)]
        for first, last in itertools.pairwise(cuts):
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


def _slashes(tokens: Sequence[PackageToken]) -> list[int]:
    """Where subcommands start: slashes outside of parentheses."""
    depth, places = 0, []
    for at, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "/" and token.kind == "sign" and depth <= 0:
            places.append(at)
    return [at for at in places if at]


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
        """All commands, in their order."""
        while (first := self._first()) is not None:
            start = first.start
            if first.text == "*" or first.upper == "COMMENT":
                self.at = self._comment_end(start)
                yield SpssCommand(kind="comment", tokens=(), start=start, end=self.at)
                continue
            if self.kind == "body" and first.upper in _CONTROL:
                self.at = self._control_end(first)
                continue
            tokens, self.at = self._command(start)
            if not tokens:
                continue
            command = SpssCommand(kind=self.kind, tokens=tokens, start=start, end=self.at)
            words = command.words()
            block = next(
                (end for name, end in _BLOCKS.items() if _is_name(words, name.split())), None
            )
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
        at = start
        while at < self.end:
            match = re.compile(r"\r\n|\n|\r").search(self.text, at, self.end)
            stop = match.start() if match else self.end
            line = re.sub(r"/\*.*$", "", self.text[at:stop]).rstrip()
            if not line and at > start:
                return at
            at = match.end() if match else self.end
            if line.endswith(".") or not match:
                return stop
        return self.end

    def _block(self, opening: SpssCommand, end: re.Pattern[str]) -> SpssCommand:
        close = end.search(self.text, opening.tokens[0].end, self.end)
        if close is None:
            raise ReadingError("a block is not closed", opening.start)
        stop = close.end()
        if self.text[stop : stop + 1] == ".":
            stop += 1
        self.at = stop
        return SpssCommand(kind="block", tokens=opening.tokens, start=opening.start, end=stop)

    def _macro(self, opening: SpssCommand) -> Iterator[SpssCommand]:
        close = _FORM.macro_end.search(self.text, opening.start, self.end)
        if close is None:
            raise ReadingError("a macro is not closed by !ENDDEFINE", opening.start)
        if self.kind == "body":
            raise ReadingError("a macro is defined within a macro", opening.start)
        head, depth, body = [], 0, None
        for token in self._tokens(opening.start):
            if token.start >= close.start():
                break
            if token.kind in ("note", "end"):
                continue
            head.append(token)
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0 and token.text == ")":
                body = token.end
                break
        if body is None:
            raise ReadingError("a macro has no list of arguments", opening.start)
        self.at = close.end()
        yield SpssCommand(kind="macro", tokens=tuple(head), start=opening.start, end=close.end())
        yield from _CommandReader(self.text, body, close.start(), "body").commands()

    def _control_end(self, first: PackageToken) -> int:
        """Where a statement of the macro language ends, and a command may start."""
        if first.upper in _CLOSING or first.upper.endswith("EXPAND"):
            return first.end
        depth, seen, last = 0, 0, first.end
        for token in self._tokens(first.end):
            if token.kind in ("note", "end"):
                if first.upper == "!LET" and token.kind == "end" and depth == 0 and seen > 2:
                    return last
                continue
            seen += 1
            depth += (token.text == "(") - (token.text == ")")
            last = token.end
            if first.upper == "!IF" and token.upper == "!THEN":
                return last
            if first.upper == "!DO" and depth == 0 and seen > 2 and token.text == ")":
                return last
            if first.upper == "!DO" and seen > 2 and token.upper == "!TO":
                return self._after_number(token.end)
        return last

    def _after_number(self, at: int) -> int:
        """Behind the end, and the step, of a counting loop."""
        depth, taken = 0, False
        for token in self._tokens(at):
            if token.kind in ("note", "end"):
                continue
            if taken and depth == 0 and token.text != "(" and token.upper != "!BY":
                return at
            depth += (token.text == "(") - (token.text == ")")
            taken = token.upper != "!BY"
            at = token.end
        return at


def _is_name(words: Sequence[str], name: Sequence[str]) -> bool:
    """Whether words are a name, each at least its first three letters."""
    if len(words) < len(name):
        return False
    pairs = zip(words, name, strict=False)
    return all(word == full or (len(word) > 2 and full.startswith(word)) for word, full in pairs)


def names_spss(words: Sequence[str], name: str) -> bool:
    """Whether a command that begins with these words is the one of this name.

    >>> names_spss(["SAV", "TRANS"], "SAVE TRANSLATE"), names_spss(["SA"], "SAVE")
    (True, False)
    """
    return _is_name(words, name.split())


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
    while (match := _FORM.sas_token.search(text, at)) is not None:
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
        raise ReadingError("a parenthesis is not closed", tokens[0].start)
    if tokens:
        yield SasStatement(
            tokens=tuple(tokens), start=tokens[0].start, end=len(text), comment=False
        )


def _check_closed(text: str, token: PackageToken) -> None:
    if token.kind == "sign" and token.text in "'\"":
        raise ReadingError("a quotation mark is not closed", token.start)
    if token.text == "/" and text.startswith("/*", token.start):
        raise ReadingError("a comment is not closed", token.start)


def _after_lines(text: str, at: int, *, four: bool) -> int:
    """Behind data lines: they end with the first line that holds a semicolon, or four of them."""
    end = re.compile(r"^;;;;" if four else r"^[^\r\n]*;", re.M)
    line = re.compile(r"\r\n|\n|\r").search(text, at)
    close = None if line is None else end.search(text, line.end())
    if close is None:
        return len(text)
    # A statement on that line would be read as data by SAS, too.
    return close.end()
