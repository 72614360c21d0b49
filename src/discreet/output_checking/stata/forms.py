"""Lines that read alike: what was found in one holds for all of the same wording.

In: lines of a do-file in which line ends part the commands. Out: the statement at the start
of each. Programs repeat themselves, and a line that is known need not be read again, nor be
judged again; one that is plain to see is read at a glance.
"""

from __future__ import annotations

import re

from discreet.output_checking.stata.model import Kind, Statement, Word
from discreet.output_checking.stata.names import meanings
from discreet.output_checking.stata.readings import DEFINERS, TEXT_RUNNERS
from discreet.output_checking.stata.spans import Span, SpanKind

__all__ = ["Forms", "line_at"]

#: The rest of a line. Longer ones are read each for itself: many commands may stand in one.
_LINE = re.compile(r"[^\r\n]{1,400}(?=[\r\n]|\Z)")
_WORD = re.compile(r"([^\W\d]\w*)(?![\w`$/])")
_BLANKS = re.compile(r"[\s\ufeff\u200b]+")
_SPAN = r"\"(?:[^\"`]++|`[^`\"']*+')*+\"|`[^`\"']*+'|\$(?:\w+|\{\w*\})|(?<=[ \t])//(?!/).*"
_SPANS = re.compile(_SPAN)
#: What follows a command if nothing in it could hold, end or hide another command.
_PLAIN = re.compile(rf"(?:[^\"`$/{{}}:;]++|/(?![/*])|{_SPAN})*+")
#: Makes a tuple with all its parts given; Python's way through the arguments takes three times
#: as long, and very many are made.
_new = tuple.__new__
_KINDS: dict[str, SpanKind] = {'"': "string", "`": "macro", "$": "macro", "/": "comment"}
#: Commands that open or close something, or whose words may be commands themselves.
_NOT_PLAIN = (
    DEFINERS
    | TEXT_RUNNERS
    | {"program", "end", "mata", "python", "java", "input", "foreach", "putdocx"}
)


class Forms:
    """The lines of a text that were read so far.

    Args:
        source: The text.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._meanings = meanings()
        #: The first statement with each line, and how far reading came.
        self._first: dict[str, tuple[Statement, int]] = {}

    def keep(self, line: str, statement: Statement, after: int) -> Statement:
        """Keep what was read in a line, unless it can be read in other ways.

        Args:
            line: The line, from the start of the statement.
            statement: The statement.
            after: Where reading goes on, in the whole text.
        """
        if statement.readings:
            return statement
        statement = statement._replace(form=line)
        self._first[line] = (statement, after)
        return statement

    def read(
        self, line: str, start: int, depth: int, program: str | None, joined: bool
    ) -> tuple[Statement, int] | None:
        """The statement at the start of a line, and where to read on.

        None where nothing is known of the line, and more than a glance is needed.

        Args:
            line: The line, from the start of the statement.
            start: The place of the statement.
            depth: How many braces are open around it.
            program: Name of the program whose body it belongs to.
            joined: Whether other text stands before it on its line.

        >>> line = "qui su wage if sex == 1 // all"
        >>> statement, after = Forms(line).read(line, 0, 0, None, False)
        >>> statement.canonical, statement.prefixes[0].canonical, after
        ('summarize', 'quietly', 30)
        >>> Forms("by id: su").read("by id: su", 0, 0, None, False) is None
        True
        """
        known = self._first.get(line)
        if known is None:
            return self._plain(line, start, depth, program, joined)
        first, after = known
        kind, at, end, prefixes, command = first[:5]
        by = start - at
        spans = [Span(what, begin + by, last + by) for what, begin, last in first.spans]
        parts = (
            kind,
            start,
            end + by,
            tuple([_moved(word, by) for word in prefixes]) if prefixes else (),
            _moved(command, by) if command is not None else None,
            depth,
            program,
            None,
            first.opens,
            joined,
            False,
            (),
            self._source,
            tuple(spans),
            line,
        )
        return _new(Statement, parts), after + by

    def _plain(
        self, line: str, start: int, depth: int, program: str | None, joined: bool
    ) -> tuple[Statement, int] | None:
        """The statement of a line without braces, colons and long comments."""
        prefixes: list[Word] = []
        at = 0
        while True:
            found = _WORD.match(line, at)
            if found is None:
                return None
            text = found[1]
            end = at + len(text)
            name, kind = self._meanings.get(text, (None, None))
            if kind is None:
                break
            blanks = _BLANKS.match(line, end)
            if kind != "bare" or blanks is None or blanks.end() == len(line):
                return None
            prefixes.append(Word(text, start + at, start + end, name))
            at = blanks.end()
        if name in _NOT_PLAIN or _PLAIN.fullmatch(line, end) is None:
            return None
        spans = [
            Span(_KINDS[found[0][0]], start + found.start(), start + found.end())
            for found in _SPANS.finditer(line, end)
        ]
        statement = Statement(
            Kind.COMMAND,
            start,
            start + len(line.rstrip()),
            tuple(prefixes),
            Word(text, start + at, start + end, name),
            depth,
            program,
            None,
            False,
            joined,
            False,
            (),
            self._source,
            tuple(spans),
            line,
        )
        known = self._first[line] = (statement, start + len(line))
        return known


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
    found = _LINE.match(text, at)
    return found[0] if found is not None else None
