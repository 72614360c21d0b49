"""Lines that read alike: what was found in one holds for all of the same wording.

In: lines of a do-file in which line ends part the commands. Out: the statement at the start
of each. Programs repeat themselves, and a line that is known need not be read again, nor be
judged again; a plain line is read by one pattern.
"""

from __future__ import annotations

import re

from discreet_fire.catalogue import commands_where, is_community, meanings
from discreet_fire.stata.blocks import BODIES
from discreet_fire.stata.second_readings import DEFINERS, LISTERS, TEXT_RUNNERS, gives_command
from discreet_fire.stata.statements import DoStatement, Kind, Span, SpanKind, Word

#: Statements by their lines, with the place behind what was read.
KnownLines = dict[str, tuple[DoStatement, int]]

#: The rest of a line. Longer ones are read each for itself: many commands may stand in one.
_LINE = re.compile(r"[^\r\n]{1,400}(?=[\r\n]|\Z)")
_WORD = re.compile(r"([^\W\d]\w*)(?![\w`$/])")
_BLANKS = re.compile(r"[\s\ufeff\u200b]+")
# Groups are repeated in atomic groups: before 3.11.5, Python matches `(...)*+` wrongly (gh-106052).
_MACROS = r"\"(?>(?:[^\"`]++|`[^`\"']*+')*)\"|`[^`\"']*+'|\$(?:\w+|\{\w*\})"
_SPAN = rf"{_MACROS}|(?<=[ \t])//(?!/).*"
_SPANS = re.compile(_SPAN)
#: What follows a command if nothing in it could hold, end or hide another command, also with
#: colons, which mean something behind prefixes only.
_PLAIN = re.compile(rf"(?>(?:[^\"`$/{{}}:;]++|/(?![/*])|{_SPAN})*)")
_PLAIN_WITH_COLONS = re.compile(rf"(?>(?:[^\"`$/{{}};]++|/(?![/*])|{_SPAN})*)")
_IN_BRACKETS = rf"\((?>(?:[^\"`$/{{}}:;()\[\]]++|{_MACROS})*)\)"
#: What stands between a prefix and its colon.
_ARGUMENTS = re.compile(rf"(?>(?:[^\"`$/{{}}:;()\[\]]++|{_MACROS}|{_IN_BRACKETS})*)(:)")
#: The head of a loop.
_LOOP = re.compile(rf"(?>(?:[^\"`$/{{}}:;()\[\]]++|{_MACROS}|{_IN_BRACKETS})*)(\{{)[ \t]*")
_LOOPS = commands_where(lambda row: row.reading.loop)
_GIVERS = DEFINERS | LISTERS
#: Makes a tuple with all its parts given; Python's way through the arguments takes three times
#: as long, and very many are made.
_new = tuple.__new__
_KINDS: dict[str, SpanKind] = {'"': "string", "`": "macro", "$": "macro", "/": "comment"}
#: Commands that open or close something, or whose words may be commands themselves.
_NOT_PLAIN = TEXT_RUNNERS | BODIES.keys()
#: Prefixes that part their commands in ways of their own.
_NOT_PREFIXES = commands_where(lambda row: row.reading.parts == "own")


class LineCache:
    """The lines that were read so far, of a text and of those read before it."""

    def __init__(self, source: str, known: KnownLines | None = None) -> None:
        self._source = source
        self._meanings = meanings()
        self._first: KnownLines = {} if known is None else known

    def keep(self, line: str, statement: DoStatement, after: int) -> DoStatement:
        """Keep what was read in a line, unless it can be read in other ways."""
        if statement.readings:
            return statement
        statement = statement._replace(form=line)
        self._first[line] = (statement, after)
        return statement

    def read(
        self, line: str, start: int, depth: int, program: str | None, joined: bool
    ) -> tuple[DoStatement, int] | None:
        """The statement at the start of a line, and where to read on.

        None where nothing is known of the line, and more than a glance is needed.

        >>> line = "qui su wage if sex == 1 // all"
        >>> statement, after = LineCache(line).read(line, 0, 0, None, False)
        >>> statement.canonical, statement.prefixes[0].canonical, after
        ('summarize', 'quietly', 30)
        >>> LineCache("if x su y").read("if x su y", 0, 0, None, False) is None
        True
        """
        known = self._first.get(line)
        if known is None:
            return self._plain(line, start, depth, program, joined)
        first, after = known
        kind, at, end, prefixes, command = first[:5]
        by = start - at
        spans = [Span(kind, begin + by, last + by) for kind, begin, last in first.spans]
        moved = tuple([_moved(word, by) for word in prefixes]) if prefixes else ()
        word = _moved(command, by) if command is not None else None
        around = (depth, program, None, first.opens, joined, False, (), self._source)
        parts = (kind, start, end + by, moved, word, *around, tuple(spans), line)
        return _new(DoStatement, parts), after + by

    def _plain(
        self, line: str, start: int, depth: int, program: str | None, joined: bool
    ) -> tuple[DoStatement, int] | None:
        """The statement of a line of one command that nothing else can be meant by."""
        prefixes: list[Word] = []
        at = 0
        while True:
            match = _WORD.match(line, at)
            if match is None:
                return None
            text = match[1]
            end = at + len(text)
            name, kind = self._meanings.get(text, (None, None))
            word = Word(text, start + at, start + end, name)
            if kind is None or (kind == "colon" and ":" not in line):
                break
            prefix = _prefix(line, word, kind, end, start)
            if prefix is None:
                return None
            prefixes.append(prefix[0])
            at = prefix[1]
        last = _end(line, name, end, first=not prefixes)
        if last is None:
            return None
        spans = [
            Span(_KINDS[item[0][0]], start + item.start(), start + item.end())
            for item in _SPANS.finditer(line, len(prefixes[0].text) if prefixes else end)
        ]
        opens = line[last - 1] == "{"
        around = (depth, program, None, opens, joined, False, (), self._source)
        head = (Kind.COMMAND, start, start + last, tuple(prefixes), word)
        parts = (*head, *around, tuple(spans), line)
        known = (_new(DoStatement, parts), start + (last if opens else len(line)))
        self._first[line] = known
        return known


def _prefix(line: str, word: Word, kind: str, end: int, start: int) -> tuple[Word, int] | None:
    """A prefix, and where its command starts in the line.

    None where more than a glance is needed.
    """
    if kind == "colon" and word.canonical not in _NOT_PREFIXES:
        arguments = _ARGUMENTS.match(line, end)
        if arguments is None:
            return None
        colon = start + arguments.start(1)
        word = word._replace(arguments=(word.end, colon), colon=colon)
        end = arguments.end()
    elif kind != "bare":
        return None
    blanks = _BLANKS.match(line, end)
    after = blanks.end() if blanks is not None else end
    if after == len(line) or (after == end and kind == "bare"):
        return None
    return word, after


def _end(line: str, name: str | None, at: int, *, first: bool) -> int | None:
    """Where a command ends whose word ends here; None where more than a glance is needed."""
    if name in _NOT_PLAIN:
        return None
    if name in _GIVERS and gives_command(line, str(name), at, len(line)):
        return None
    if name in _LOOPS:
        loop = _LOOP.fullmatch(line, at) if first else None
        return loop.end(1) if loop is not None else None
    known = name is not None and not is_community(name)
    if (_PLAIN_WITH_COLONS if known else _PLAIN).fullmatch(line, at) is None:
        return None
    return len(line.rstrip())


def _moved(word: Word, by: int) -> Word:
    text, start, end, canonical, has_macro, arguments, colon = word
    if arguments is not None:
        arguments = (arguments[0] + by, arguments[1] + by)
    if colon is not None:
        colon += by
    return _new(Word, (text, start + by, end + by, canonical, has_macro, arguments, colon))


def line_at(text: str, at: int) -> str | None:
    r"""The rest of the line from here; None where it is long.

    >>> line_at("su x\nlist", 0)
    'su x'
    """
    match = _LINE.match(text, at)
    return match[0] if match is not None else None
