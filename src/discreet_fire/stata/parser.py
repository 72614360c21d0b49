"""Do-files taken apart: every command, comment and block with its place in the text.

In: the text of a do-file. Out: a `DoFile`. No text is an error: what is not balanced or
can be read in two ways becomes a finding, and the second reading is given too when it
holds a command. Very many findings of one kind are only counted. The time needed grows as
the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from discreet_fire.catalogue import (
    SAFE,
    Forms,
    canonical,
    commands_with,
    is_community,
    prefix_kind,
    values_of,
)
from discreet_fire.findings import Finding, Severity
from discreet_fire.stata.scanner import (
    Head,
    HeadReader,
    ScannedCommand,
    Scanner,
    comment_end,
    first_end,
)
from discreet_fire.stata.statements import DoFile, DoStatement, Kind, Reading, Span, Why, Word
from discreet_fire.texts import Lines

#: So many findings of one kind are listed; the others are counted.
MOST_OF_A_RULE = 100


_FORM = Forms(__package__, "parser")
_MACROS_AT_MOST = 8


def parse_do(text: str) -> DoFile:
    r"""Take a do-file apart.

    >>> do = parse_do("qui su wage if y>1 // note\nby id: l x")
    >>> [(one.command.text, one.command.canonical, one.command.start) for one in do.commands]
    [('su', 'summarize', 4), ('l', 'list', 34)]
    """
    parser = DoFileParser(text)
    parser.run()
    parser.close()
    return DoFile(
        text=text,
        statements=tuple(parser.statements),
        findings=parser.findings(),
        programs=frozenset(parser.programs),
    )


class DoFileParser:
    """Reads a text, statement by statement."""

    def __init__(
        self,
        text: str,
        start: int = 0,
        limit: int | None = None,
        *,
        inner: bool = False,
        loose: bool = False,
        semicolons: bool = False,
    ) -> None:
        self.text = text
        self.at = start
        self.limit = len(text) if limit is None else limit
        self.inner = inner
        self.scanner = Scanner(text, self.limit, start=start, flat=inner, loose=loose)
        self.scanner.semicolons = semicolons
        self.statements: list[DoStatement] = []
        self._found: list[Finding] = []
        self._counted: Counter[str] = Counter()
        self._lines: Lines | None = None
        self.programs: set[str] = set()
        self.braces: list[int] = []
        self.program: tuple[str, int] | None = None
        #: Kinds of blocks that have no end in what is left of the text.
        self.endless: set[tuple[str, bool, bool]] = set()
        #: Where the line ends in which ``;`` parts the commands behind ``mi xeq:``.
        self.parted: int | None = None

    def second(
        self,
        start: int,
        end: int,
        why: Why,
        *,
        loose: bool = False,
        semicolons: bool | None = None,
    ) -> tuple[Reading, ...]:
        """The known commands of a part, read again without findings and further readings."""
        on = self.scanner.semicolons if semicolons is None else semicolons
        parser = DoFileParser(self.text, start, end, inner=True, loose=loose, semicolons=on)
        parser.run()
        statements = parser.statements
        if why is Why.ARGUMENT:  # it begins with a known word, whatever comes then
            return tuple(Reading(why=why, statement=one) for one in statements[:1])
        return tuple(
            Reading(why=why, statement=one)
            for one in statements
            if one.command is not None and one.command.canonical is not None
        )

    # --- notes ----------------------------------------------------------------------------

    def find(
        self, rule: str, what: str, start: int, end: int, severity: Severity = Severity.REVIEW
    ) -> None:
        """Note a finding."""
        if self.inner:
            return
        self._counted[rule] += 1
        if self._counted[rule] <= MOST_OF_A_RULE:
            self._lines = self._lines or Lines(self.text)
            self._found.append(self._lines.finding(rule, severity, what, start, end))

    def findings(self) -> tuple[Finding, ...]:
        """All findings in the order of the text."""
        for rule, count in list(self._counted.items()):
            if count > MOST_OF_A_RULE:
                words = f"there are {count - MOST_OF_A_RULE:,} more findings of the kind {rule}"
                self.find("more-findings", words, 0, 0)
        return tuple(sorted(self._found, key=lambda one: (one.start, one.rule)))

    def add(self, kind: Kind, start: int, end: int, head: Head | None = None, **parts: Any) -> None:
        """Add a statement; parts are by the names of their fields."""
        before = self.statements[-1].end - 1 if self.statements else None
        line_begun = before is not None and _FORM.new_line.search(self.text, before, start) is None
        self.statements.append(
            DoStatement(
                kind,
                start,
                end,
                prefixes=tuple(head.prefixes) if head else (),
                command=head.command if head else None,
                depth=len(self.braces),
                in_program=self.program[0] if self.program else None,
                joined=line_begun,
                semicolons=self.scanner.semicolons and self.parted is None,
                source=self.text,
                **parts,
            )
        )

    def part(self, end: int | None) -> None:
        """Let ``;`` part commands up to a place, or no longer."""
        self.parted = end
        self.scanner.semicolons = end is not None
        self.scanner.limit = self.limit if end is None else end

    def run(self) -> None:
        """Read all statements."""
        text, limit, brace = self.text, self.limit, self._brace
        starters = {"*": self._star, "/": self._slash, "#": self._directive}
        starters |= {"{": brace, "}": brace}
        while self.at < limit:
            gap = _FORM.gap.match(text, self.at, limit)
            if gap:
                self.at = gap.end()
                if self.at >= limit:
                    break
            if self.parted is not None and self.at >= self.parted:
                self.part(None)
            before = self.at
            starters.get(text[before], self._command)(before)
            if self.at <= before:
                self.at = before + 1

    def close(self) -> None:
        """Say what is still open at the end."""
        for at in self.braces:
            self.find("open-brace", "a brace is opened and never closed", at, at + 1)
        if self.program is not None:
            start = self.program[1]
            self.find("open-program", "a program has no `end`", start, start + 1)
        if "\xa0" in self.text:
            at = self.text.index("\xa0")
            words = "the text holds no-break spaces, which Stata does not take for blanks"
            self.find("no-break-space", words, at, at + 1, Severity.INFO)

    # --- the kinds of statements ----------------------------------------------------------

    def _star(self, start: int) -> None:
        end, joins = self.scanner.star_comment_end(start)
        opened = self.scanner.open_comment
        readings = self._of_star(start, end if opened is None else opened, joins)
        self._comment(Span("comment", start, end), tuple(readings))

    def _slash(self, start: int) -> None:
        span = self.scanner.slash_comment(start)
        if span is None and self.text.startswith("//", start):
            span = Span("comment", start, self.scanner.line_end(start))
        if span is None:
            self._command(start)
        else:
            self._comment(span)

    def _comment(self, span: Span, readings: tuple[Reading, ...] = ()) -> None:
        self.add(Kind.COMMENT, span.start, span.end, spans=(span,), readings=readings)
        self.at = span.end
        self._check_comment()

    def _check_comment(self) -> None:
        at = self.scanner.open_comment
        if at is None or self.inner:
            return
        self.scanner.open_comment = None
        words = "a block comment is never closed; what stands in it may be meant as commands"
        self.find("open-comment", words, at, at + 2)
        self._read_again(-1, at + 2)

    def _read_again(self, place: int, start: int) -> None:
        """Add what the rest of the text may be read as to a statement."""
        statement = self.statements[place]
        readings = (*statement.readings, *self.second(start, self.limit, Why.HIDDEN))
        self.statements[place] = statement._replace(readings=readings)

    def _directive(self, start: int) -> None:
        match = _FORM.directive.match(self.text, start, self.limit)
        if match is None:
            self._command(start)
            return
        end = match.end()
        if match["delimit"]:
            if match["how"] is None:
                words = "`#delimit` is followed neither by `;` nor by `cr`; it is taken for `;`"
                self.find("delimit", words, start, end)
            self.scanner.semicolons = match["how"] != "cr"
            before = self.statements[-1] if self.statements else None
            if before and before.semicolons and before.kind is Kind.COMMAND:
                between = self.text[before.end : start]
                if ";" not in between and not before.opens:
                    words = "a command has no `;` before `#delimit`"
                    self.find("no-semicolon", words, before.start, before.end)
        self.add(Kind.DIRECTIVE, start, end)
        self.at = end

    def _brace(self, start: int) -> None:
        if self.text[start] == "{":
            self.add(Kind.BRACE, start, start + 1, opens=True)
            self.braces.append(start)
        else:
            if self.braces:
                self.braces.pop()
            else:
                words = "a brace is closed that was never opened"
                self.find("stray-brace", words, start, start + 1)
            self.add(Kind.BRACE, start, start + 1)
        self.at = start + 1

    def _command(self, start: int) -> None:
        for plain in (False, True):
            piece = self.scanner.piece(start, plain=plain)
            reader = HeadReader(self.text, piece)
            head = reader.read(start)
            word = head.command
            # A brace opens no block behind the command of a prefix.
            if not (piece.opens and head.prefixes and word) or (
                word.canonical in commands_with("block") or word.has_macro
            ):
                break
        self.at = piece.end
        end = start + max(len(self.text[start : piece.end].rstrip()), 1)
        cut = first_end(piece, head, end)
        kind, spans = Kind.COMMAND, tuple(piece.spans)
        if head.command is None and not head.prefixes:
            sign = self.text[start]
            kind = Kind.DATA if sign.isdigit() or sign in "-.+" else Kind.OTHER
        readings = tuple(self._of_command(reader, head, piece))
        self.add(kind, start, cut, head=head, opens=piece.opens, spans=spans, readings=readings)
        if piece.opens:
            self.braces.append(piece.end - 1)
        for at in piece.unclosed[:1]:
            self.find("open-quote", "a quote is opened and never closed", at, at + 1)
        if (at_macro := piece.open_macro) is not None:
            words = "a back quote opens a macro that is never closed"
            self.find("open-macro", words, at_macro, at_macro + 1)
        for at in piece.joins[:1]:
            words = "a string goes on over `///`; Stata may read the next line as a command"
            mild = not starts_with_command(self.text, at, piece.end)
            severity = Severity.INFO if mild else Severity.REVIEW
            self.find("continued-string", words, at, at, severity)
        self._check_comment()
        if cut < end:
            self.part(end)
            self.at = cut
            return
        command = head.command
        body = BODIES.get(command.canonical or "") if command else None
        if command is None or body is None:
            return
        if body == "program":
            self._program(command, piece)
        elif body == "end":
            if self.program is None:
                words = "`end` closes nothing"
                self.find("stray-end", words, command.start, command.end)
            self.program = None
        elif body in ("block", "data"):
            if block := block_name(self.text, command, piece):
                self._block(block, piece)
        elif not head.prefixes and _FORM.text.match(self.text, command.end, piece.end):
            self._text_block(piece)

    def _program(self, command: Word, piece: ScannedCommand) -> None:
        """The start of the body of a program, if one follows."""
        rest = self.text, command.end, piece.end
        name = _FORM.program_name.match(*rest)
        if name is None or _FORM.not_a_body.match(*rest) or _FORM.plugin.search(*rest):
            return
        if self.program is not None:
            words = "a program starts before the `end` of the one before"
            self.find("open-program", words, command.start, command.end)
        self.program = (name[1], command.start)
        self.programs.add(name[1])

    def _text_block(self, piece: ScannedCommand) -> None:
        """The text of a document, up to ``putdocx textblock end``; no word of it is a command."""
        start = self.at
        close = _FORM.end_text.search(self.text, start, self.limit)
        if close is None:
            words = "a block of text has no `putdocx textblock end`; it is read as commands"
            self.find("open-block", words, piece.start, piece.end)
            return
        end = close.start(1)
        for first, last in block_lines(self.text, start, end):
            readings: tuple[Reading, ...] = ()
            if not self.inner and starts_with_command(self.text, first, last):
                readings = self.second(first, last, Why.TEXT)[:1]
            self.add(Kind.BLOCK_LINE, first, last, block="putdocx", readings=readings)
        if (shown := self.text.find("<<dd_", start, end)) >= 0:
            words = "the text of a document shows what stands in <<dd_…>>; it is not followed"
            self.find("document-text", words, shown, shown + 5)
        self.at = end

    def _block(self, block: str, piece: ScannedCommand) -> None:
        kind = Kind.DATA if BODIES.get(block) == "data" else Kind.BLOCK_LINE
        start = self.at
        way = (block, piece.opens, self.scanner.semicolons)
        if self.inner and way in self.endless:
            return
        end, closing = find_block_end(
            self.text,
            start,
            self.limit,
            block,
            braces=piece.opens,
            semicolons=self.scanner.semicolons,
        )
        if closing is None and self.inner:
            self.endless.add(way)
            return
        opening = len(self.statements) - 1
        for first, last in block_lines(self.text, start, end):
            self.add(kind, first, last, block=block)
        self.at = end
        if closing is None:
            words = f"a block of {block} has no `end`"
            self.find("open-block", words, piece.start, piece.start + 1, Severity.ERROR)
            self._read_again(opening, start)
        elif not piece.opens:
            word = Word(text="end", start=end, end=closing, canonical=canonical("end"))
            self.add(Kind.COMMAND, end, closing, head=Head(command=word), block=block)
            self.at = closing

    # --- other readings ---------------------------------------------------------------------

    def _of_star(self, start: int, end: int, joins: list[int]) -> Iterator[Reading]:
        """Readings of a comment that starts with ``*``: its further lines, and after ``*/``."""
        text = self.text
        if self.inner:
            return
        close = text.find("*/", start, end)
        if close >= 0 and text.find("/*", start, close) < 0:
            yield from self.second(close + 2, _line_end(text, close, end), Why.HIDDEN)
        for line in () if self.scanner.semicolons else _FORM.new_line.finditer(text, start, end):
            place = line.end()
            if starts_with_command(text, place, end):
                why = Why.HIDDEN if place in joins else Why.TEXT
                yield from self.second(place, _line_end(text, place, end), why)

    def _of_command(
        self, reader: HeadReader, head: Head, piece: ScannedCommand
    ) -> Iterator[Reading]:
        """Readings of a command, all but those of comments and blocks."""
        command = head.command
        name = command.canonical if command else None
        if self.inner:
            return
        if command is None:
            pasted = _FORM.pasted.match(self.text, piece.start, piece.end)
            if pasted:
                yield from self.second(pasted.end(), piece.end, Why.HIDDEN)
        elif name is None:
            if command.has_macro:
                yield from self._after_macro(reader, command.end, piece.end)
            colons = _behind(piece.colons, command) or _behind(piece.deep_colons, command)
            if colons:
                yield from self.second(colons[0] + 1, piece.end, Why.PREFIX)
        elif is_community(name) and not name.startswith(SAFE):  # may be a prefix
            for colon in _behind(piece.colons, command)[:1]:
                yield from self.second(colon + 1, piece.end, Why.PREFIX)
        elif name in commands_with("text", "runs"):
            strings = (one for one in piece.spans if one.kind == "string")
            for _, first, last in (one for one in strings if one.start >= command.end):
                quoted = _FORM.quoted_word.match(self.text, first, last - 1)
                if quoted and canonical(quoted[1]) is not None:
                    yield from self.second(quoted.start(1), last - 1, Why.ARGUMENT)
        if name is not None and piece.deep_colons and prefix_kind(name) == "colon":
            yield from self.second(piece.deep_colons[0] + 1, piece.end, Why.PREFIX)
        if piece.inner is not None:
            yield from self.second(piece.inner + 1, piece.end, Why.HIDDEN)
        # Commands that a quote without end hides, and lines that a string goes on over.
        own = command.start if command else -1
        if piece.unclosed:
            for reading in self.second(piece.start, piece.end, Why.HIDDEN, loose=True):
                word = reading.statement.command
                if word is not None and word.start != own:
                    yield reading
        for place in piece.joins:
            if starts_with_command(self.text, place, piece.end):
                yield from self.second(place, _line_end(self.text, place, piece.end), Why.TEXT)
        prefixes = [prefix.canonical for prefix in head.prefixes]
        if piece.semicolons and BODIES.get(name or "") != "block" and "mi" not in prefixes:
            behind = piece.semicolons[0] + 1
            yield from self.second(behind, piece.end, Why.TEXT, semicolons=True)
        for kind, start, end in piece.spans if self.scanner.semicolons else ():
            sign = self.text.find(";", start, end)
            if kind == "string" and sign >= 0:
                yield from self.second(sign + 1, end - 1, Why.TEXT, semicolons=True)
        if "for" in prefixes:  # behind each backslash
            places = [
                sign.end() for sign in _FORM.backslash.finditer(self.text, piece.start, piece.end)
            ]
            for start, end in pairwise([*places, piece.end + 1]):
                yield from self.second(start, end - 1, Why.PREFIX)

    def _after_macro(self, reader: HeadReader, at: int, end: int) -> Iterator[Reading]:
        """The first word behind macros that may be empty, or may be prefixes."""
        for _ in range(_MACROS_AT_MOST):
            at = reader.skip(at)
            word = reader.word(at)
            if word is None:
                value = _FORM.value.match(self.text, at, end)
                if value is None and at not in reader.spans:
                    return
                at = value.end() if value else reader.spans[at]
                continue
            if not word.has_macro:
                if word.canonical is not None:
                    yield from self.second(at, end, Why.PREFIX)
                return
            at = word.end


def starts_with_command(text: str, at: int, end: int) -> bool:
    """Whether a line begins with a known command, or with what may stand for one."""
    word = _FORM.first_word.match(text, at, end)
    return word is not None and (word[1] in "`$!" or canonical(word[1]) is not None)


def _behind(places: list[int], command: Word) -> list[int]:
    """The places behind a command word: colons in front of it belong to its prefixes."""
    return places[bisect_left(places, command.end) :]


def _line_end(text: str, at: int, end: int) -> int:
    line = _FORM.line_end.search(text, at, end)
    return line.start() if line else end


#: Commands behind which text is read in another way, with what it is.
BODIES = values_of("body")

#: What may stand between statements.
_BLANKS = " \t\f\v\xa0\ufeff;"


def block_name(text: str, command: Word, piece: ScannedCommand) -> str | None:
    """The language of the block that a command opens; None if it is all in one line."""
    if BODIES.get(command.canonical or "") == "data":
        return command.canonical
    end = piece.end - 1 if piece.opens else piece.end
    parts, at = [], command.end
    for kind, first, last in piece.spans:
        if first >= at and kind in ("comment", "continuation"):
            parts.append(text[at:first])
            at = last
    parts.append(text[at:end])
    return command.canonical if _FORM.alone.match(" ".join(parts)) else None


def find_block_end(
    text: str, start: int, limit: int, block: str, *, braces: bool, semicolons: bool
) -> tuple[int, int | None]:
    """End of a block, and of its ``end`` or brace; None for the latter without one."""
    if braces:
        depth = 1
        for match in _outside_comments(_FORM.in_braces, text, start, limit):
            depth += {"{": 1, "}": -1}.get(match.group(), 0)
            if depth == 0:
                return match.span()
        return limit, None
    if block == "mata" and not semicolons:
        ends = _outside_comments(_FORM.end_mata, text, start, limit)
        return next((match.span("end") for match in ends if match["end"]), (limit, None))
    if block in ("python", "java"):
        end = _FORM.end_alone.search(text, start, limit)
    else:
        end = (_FORM.end_semicolon if semicolons else _FORM.end).search(text, start, limit)
    return end.span(1) if end else (limit, None)


def _outside_comments(
    pattern: re.Pattern[str], text: str, at: int, limit: int
) -> Iterator[re.Match[str]]:
    """Finds outside of comments; a comment that never closes counts for none."""
    closes = True
    while match := pattern.search(text, at, limit):
        at = match.end()
        if not match["comment"]:
            yield match
        elif closes:
            behind = comment_end(text, match.start(), limit)
            closes = behind is not None
            at = behind or at


def block_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The lines of a block that hold anything, without the blanks around them."""
    for line in _FORM.line.finditer(text, start, end):
        content = line.group()
        bare = content.strip(_BLANKS)
        if bare:
            first = line.start() + len(content) - len(content.lstrip(_BLANKS))
            yield first, first + len(bare)
