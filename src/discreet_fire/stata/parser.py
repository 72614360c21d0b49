"""Do-files taken apart: every command, comment and block with its place in the text.

In: the text of a do-file. Out: a `DoFile`. No text is an error: what is not balanced or
can be read in two ways becomes a finding, and the second reading is given too when it
holds a command. Very many findings of one kind are only counted. The time needed grows as
the length of the text.
"""

from __future__ import annotations

import re
from collections import Counter

from discreet_fire.catalogue import canonical
from discreet_fire.findings import Finding, Severity
from discreet_fire.stata import prefixes, second_readings
from discreet_fire.stata.blocks import (
    BODIES,
    block_lines,
    block_name,
    find_block_end,
    opens_text,
    program_name,
    text_block_end,
)
from discreet_fire.stata.line_cache import KnownLines, LineCache, line_at
from discreet_fire.stata.prefixes import Head
from discreet_fire.stata.scanner import ScannedCommand, Scanner
from discreet_fire.stata.statements import DoFile, DoStatement, Kind, Reading, Span, Why, Word
from discreet_fire.texts import Lines

#: So many findings of one kind are listed; the others are counted.
MOST_OF_A_RULE = 100


#: Blanks between statements; old files end with the sign of Ctrl-Z.
_GAP = re.compile(r"[\s;\ufeff\u200b\x1a]+")
_DIRECTIVE = re.compile(
    r"#[ \t]*(?:(?P<delimit>d(?:e|el|eli|elim|elimi|elimit)?)\b[ \t]*(?P<how>cr\b|;)?"
    r"|r(?:e|ev|evi|evie|eview)?\b[^\r\n]*)"
)


def parse_do(text: str, known: KnownLines | None = None) -> DoFile:
    r"""Take a do-file apart.

    >>> do = parse_do("qui su wage if y>1 // note\nby id: l x")
    >>> [(one.command.text, one.command.canonical, one.command.start) for one in do.commands]
    [('su', 'summarize', 4), ('l', 'list', 34)]
    """
    parser = DoFileParser(text, known=known)
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
        known: KnownLines | None = None,
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
        #: Lines that were read before.
        self._forms = LineCache(text, known)
        #: Where the line ends in which ``;`` parts the commands behind ``mi xeq:``.
        self.parted: int | None = None

    @property
    def semicolons(self) -> bool:
        """Whether ``;`` ends commands at present."""
        return self.scanner.semicolons

    def again(
        self, start: int, end: int, *, loose: bool = False, semicolons: bool | None = None
    ) -> list[DoStatement]:
        """Read a part again, without findings and further readings."""
        on = self.semicolons if semicolons is None else semicolons
        parser = DoFileParser(self.text, start, end, inner=True, loose=loose, semicolons=on)
        parser.run()
        return parser.statements

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

    def add(
        self,
        kind: Kind,
        start: int,
        end: int,
        *,
        head: Head | None = None,
        opens: bool = False,
        block: str | None = None,
        spans: tuple[Span, ...] = (),
        found: tuple[Reading, ...] = (),
    ) -> None:
        """Add a statement."""
        words = (tuple(head.prefixes), head.command) if head else ((), None)
        program = self.program[0] if self.program else None
        ends = self.scanner.semicolons and self.parted is None
        around = (len(self.braces), program, block, opens, self._joined(start), ends)
        parts = (kind, start, end, *words, *around, found, self.text, spans, None)
        self.statements.append(tuple.__new__(DoStatement, parts))  # the class itself is slower

    def _joined(self, start: int) -> bool:
        """Whether another statement stands before this one on the same line."""
        if not self.statements:
            return False
        between = self.text[self.statements[-1].end - 1 : start]
        return "\n" not in between and "\r" not in between

    # --- lines that read like others ------------------------------------------------------

    def line(self, start: int) -> str | None:
        """The rest of a line, where it alone decides how it is read."""
        return None if self.inner or self.scanner.semicolons else line_at(self.text, start)

    def known(self, line: str | None, start: int) -> bool:
        """Add the statement of a line that reads like one before, or that is plain."""
        if line is None:
            return False
        around = (len(self.braces), self.program[0] if self.program else None)
        reading = self._forms.read(line, start, *around, self._joined(start))
        if reading is None:
            return False
        statement, self.at = reading
        self.statements.append(statement)
        if statement.opens:
            self.braces.append(self.at - 1)
        return True

    def keep(self, line: str | None, start: int) -> None:
        """Keep what was read in a line, unless more than the line decided it."""
        if line is not None and self.at <= start + len(line):
            self.statements[-1] = self._forms.keep(line, self.statements[-1], self.at)

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
            gap = _GAP.match(text, self.at, limit)
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
        line = self.line(start)
        if self.known(line, start):
            return
        end, joins = self.scanner.star_comment_end(start)
        readings: tuple[Reading, ...] = ()
        if not self.inner:
            opened = self.scanner.open_comment
            stop = end if opened is None else opened
            readings = second_readings.of_star_comment(self, start, stop, joins)
        self.add(Kind.COMMENT, start, end, spans=(Span("comment", start, end),), found=readings)
        self.at = end
        self.keep(line, start)
        self._check_comment()

    def _slash(self, start: int) -> None:
        span = self.scanner.slash_comment(start)
        if span is None and self.text.startswith("//", start):
            span = Span("comment", start, self.scanner.line_end(start))
        if span is None:
            self._command(start)
            return
        self.add(Kind.COMMENT, span.start, span.end, spans=(span,))
        self.at = span.end
        self._check_comment()

    def _check_comment(self) -> None:
        """Note a block comment without end, and what stands in it."""
        at = self.scanner.open_comment
        if at is None or self.inner:
            return
        self.scanner.open_comment = None
        words = "a block comment is never closed; what stands in it may be meant as commands"
        self.find("open-comment", words, at, at + 2)
        self._more_readings(second_readings.second(self, at + 2, self.limit, Why.OPEN_COMMENT))

    def _more_readings(self, readings: tuple[Reading, ...]) -> None:
        """Add readings to the last statement."""
        if readings:
            last = self.statements[-1]
            self.statements[-1] = second_readings.with_readings(last, readings)

    def _directive(self, start: int) -> None:
        match = _DIRECTIVE.match(self.text, start, self.limit)
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
                self._check_last_semicolon(before, start)
        self.add(Kind.DIRECTIVE, start, end)
        self.at = end

    def _check_last_semicolon(self, before: DoStatement, start: int) -> None:
        between = self.text[before.end : start]
        if ";" not in between and not before.opens:
            words = "a command has no `;` before `#delimit`"
            self.find("no-semicolon", words, before.start, before.end)

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
        line = self.line(start)
        if self.known(line, start):
            return
        piece = self.scanner.piece(start)
        self.at = piece.end
        reader = prefixes.HeadReader(self.text, piece)
        head = reader.read(start)
        if (
            piece.opens
            and head.prefixes
            and head.command
            and not prefixes.takes_block(head.command)
        ):
            piece = self.scanner.piece(start, plain=True)
            self.at = piece.end
            reader = prefixes.HeadReader(self.text, piece)
            head = reader.read(start)
        end = prefixes.trimmed(self.text, start, piece.end)
        cut = prefixes.first_end(piece, head, end)
        readings: tuple[Reading, ...] = ()
        if not self.inner:
            readings = second_readings.of_command(self, reader, head, piece)
        kind, spans = prefixes.kind_of(self.text, start, head), tuple(piece.spans)
        self.add(kind, start, cut, head=head, opens=piece.opens, spans=spans, found=readings)
        if piece.opens:
            self.braces.append(piece.end - 1)
        if piece.odd or self.scanner.open_comment is not None:
            self._check_command(piece)
        if cut < end:
            self.part(end)
            self.at = cut
            return
        if head.command is not None and head.command.canonical in BODIES:
            self._after_command(head.command, piece, prefixed=bool(head.prefixes))
        elif not piece.odd:
            self.keep(line, start)

    def _check_command(self, piece: ScannedCommand) -> None:
        for at in piece.unclosed[:1]:
            self.find("open-quote", "a quote is opened and never closed", at, at + 1)
        if (at_macro := piece.open_macro) is not None:
            words = "a back quote opens a macro that is never closed"
            self.find("open-macro", words, at_macro, at_macro + 1)
        for at in piece.joins[:1]:
            words = "a string goes on over `///`; Stata may read the next line as a command"
            mild = not second_readings.starts_with_command(self.text, at, piece.end)
            severity = Severity.INFO if mild else Severity.REVIEW
            self.find("continued-string", words, at, at, severity)
        self._check_comment()

    def _after_command(self, command: Word, piece: ScannedCommand, *, prefixed: bool) -> None:
        """Programs and blocks begin and end here."""
        body = BODIES.get(command.canonical or "")
        if body == "program":
            self._program(command, piece)
        elif body == "end":
            if self.program is None:
                words = "`end` closes nothing"
                self.find("stray-end", words, command.start, command.end)
            self.program = None
        elif body in ("block", "data"):
            block = block_name(self.text, command, piece)
            if block:
                self._block(block, piece)
        elif body == "text" and not prefixed and opens_text(self.text, command, piece):
            self._text_block(piece)

    def _program(self, command: Word, piece: ScannedCommand) -> None:
        name = program_name(self.text, command, piece)
        if name is None:
            return
        if self.program is not None:
            words = "a program starts before the `end` of the one before"
            self.find("open-program", words, command.start, command.end)
        self.program = (name, command.start)
        self.programs.add(name)

    def _text_block(self, piece: ScannedCommand) -> None:
        """The text of a document, up to ``putdocx textblock end``; no word of it is a command."""
        start = self.at
        end = text_block_end(self.text, start, self.limit)
        if end is None:
            words = "a block of text has no `putdocx textblock end`; it is read as commands"
            self.find("open-block", words, piece.start, piece.end)
            return
        for first, last in block_lines(self.text, start, end):
            readings: tuple[Reading, ...] = ()
            if not self.inner and second_readings.starts_with_command(self.text, first, last):
                readings = second_readings.second(self, first, last, Why.DOCUMENT_TEXT)[:1]
            self.add(Kind.BLOCK_LINE, first, last, block="putdocx", found=readings)
        if (shown := self.text.find("<<dd_", start, end)) >= 0:
            words = "the text of a document shows what stands in <<dd_…>>; it is not followed"
            self.find("document-text", words, shown, shown + 5)
        self.at = end

    def _block(self, block: str, piece: ScannedCommand) -> None:
        """The lines of another language, or of data, up to their ``end``."""
        kind = Kind.DATA if BODIES.get(block) == "data" else Kind.BLOCK_LINE
        start = self.at
        way = (block, piece.opens, self.semicolons)
        if self.inner and way in self.endless:
            return
        end, closing = find_block_end(
            self.text, start, self.limit, block, braces=piece.opens, semicolons=self.semicolons
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
            readings = second_readings.second(self, start, self.limit, Why.OPEN_BLOCK)
            if readings:
                one = self.statements[opening]
                self.statements[opening] = second_readings.with_readings(one, readings)
        elif not piece.opens:
            word = Word(text="end", start=end, end=closing, canonical=canonical("end"))
            self.add(Kind.COMMAND, end, closing, head=prefixes.Head(command=word), block=block)
            self.at = closing
