"""Do-files taken apart: every command, comment and block with its place in the text.

In: the text of a do-file. Out: a `DoFile`. No text is an error: what is not balanced or
can be read in two ways becomes a finding, and the second reading is given too when it
holds a command. The time needed grows as the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from discreet.output_checking.findings import Severity
from discreet.output_checking.stata import readings
from discreet.output_checking.stata.blocks import (
    block_lines,
    block_name,
    find_block_end,
    program_name,
)
from discreet.output_checking.stata.heads import Head, HeadReader, takes_block
from discreet.output_checking.stata.model import DoFile, Kind, Reading, Statement, Why, Word
from discreet.output_checking.stata.names import canonical
from discreet.output_checking.stata.notes import Notes
from discreet.output_checking.stata.scanning import Piece, Scanner
from discreet.output_checking.stata.spans import Span

__all__ = ["Parser", "parse_do"]

_GAP = re.compile(r"[\s;\ufeff\u200b]+")
_DIRECTIVE = re.compile(
    r"#[ \t]*(?:(?P<delimit>d(?:e|el|eli|elim|elimi|elimit)?)\b[ \t]*(?P<how>cr\b|;)?"
    r"|r(?:e|ev|evi|evie|eview)?\b[^\r\n]*)"
)


def parse_do(text: str) -> DoFile:
    r"""Take a do-file apart.

    Args:
        text: The whole text; line ends of every kind.

    >>> do = parse_do("qui su wage if y>1 // note\nby id: l x")
    >>> [(one.command.text, one.command.canonical, one.command.start) for one in do.commands]
    [('su', 'summarize', 4), ('l', 'list', 34)]
    """
    parser = Parser(text)
    parser.run()
    parser.close()
    return DoFile(
        text=text,
        statements=tuple(parser.statements),
        findings=parser.notes.sorted(),
        programs=frozenset(parser.programs),
    )


class Parser:
    """Walks through a text, statement by statement.

    Args:
        text: The whole text.
        start: Where to begin.
        limit: Where to end.
        inner: Read a part a second time: no findings, no further readings.
        loose: Read double quotes as plain characters.
    """

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
        self.scanner.set_semicolons(semicolons)
        self.statements: list[Statement] = []
        self.notes = Notes(text)
        self.programs: set[str] = set()
        self.braces: list[int] = []
        self.program: tuple[str, int] | None = None
        #: Kinds of blocks that have no end in what is left of the text.
        self._endless: set[tuple[str, bool, bool]] = set()
        #: Where the line ends in which ``;`` parts the commands behind ``mi xeq:``.
        self._parted: int | None = None
        self._starters: dict[str, Callable[[int], None]] = {
            "*": self._star,
            "/": self._slash,
            "#": self._directive,
            "{": self._brace,
            "}": self._brace,
        }

    def run(self) -> None:
        """Read all statements."""
        text, limit = self.text, self.limit
        while self.at < limit:
            gap = _GAP.match(text, self.at, limit)
            if gap:
                self.at = gap.end()
                if self.at >= limit:
                    break
            if self._parted is not None and self.at >= self._parted:
                self._part(None)
            before = self.at
            self._starters.get(text[before], self._command)(before)
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

    @property
    def semicolons(self) -> bool:
        """Whether ``;`` ends commands at present."""
        return self.scanner.semicolons

    def again(
        self, start: int, end: int, *, loose: bool = False, semicolons: bool | None = None
    ) -> list[Statement]:
        """Read a part again, without findings and further readings."""
        on = self.semicolons if semicolons is None else semicolons
        parser = Parser(self.text, start, end, inner=True, loose=loose, semicolons=on)
        parser.run()
        return parser.statements

    # --- notes ----------------------------------------------------------------------------

    def find(
        self, rule: str, what: str, start: int, end: int, severity: Severity = Severity.REVIEW
    ) -> None:
        """Note a finding."""
        if not self.inner:
            self.notes.add(rule, what, start, end, severity)

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
        self.statements.append(
            Statement(
                kind=kind,
                start=start,
                end=end,
                prefixes=tuple(head.prefixes) if head else (),
                command=head.command if head else None,
                depth=len(self.braces),
                in_program=self.program[0] if self.program else None,
                block=block,
                opens=opens,
                joined=self._joined(start),
                semicolons=self.semicolons and self._parted is None,
                readings=found,
                source=self.text,
                spans=spans,
            )
        )

    def _joined(self, start: int) -> bool:
        """Whether another statement stands before this one on the same line."""
        if not self.statements:
            return False
        between = self.text[self.statements[-1].end - 1 : start]
        return "\n" not in between and "\r" not in between

    # --- the kinds of statements ----------------------------------------------------------

    def _star(self, start: int) -> None:
        end, joins = self.scanner.star_comment_end(start)
        found: tuple[Reading, ...] = ()
        if not self.inner:
            opened = self.scanner.open_comment
            stop = end if opened is None else opened
            found = readings.of_star_comment(self, start, stop, joins)
        self.add(Kind.COMMENT, start, end, spans=(Span("comment", start, end),), found=found)
        self.at = end
        self._check_comment()

    def _slash(self, start: int) -> None:
        span = self.scanner.slash_comment(start)
        if span is None and self.text.startswith("//", start):
            span = Span("comment", start, self.scanner.quotes.line_end(start))
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
        self.find("open-comment", words, at, at + 2, Severity.ERROR)
        self._more_readings(readings.second(self, at + 2, self.limit, Why.OPEN_COMMENT))

    def _more_readings(self, found: tuple[Reading, ...]) -> None:
        """Add readings to the last statement."""
        if found:
            last = self.statements[-1]
            self.statements[-1] = readings.with_readings(last, found)

    def _directive(self, start: int) -> None:
        match = _DIRECTIVE.match(self.text, start, self.limit)
        if match is None:
            self._command(start)
            return
        end = match.end()
        if match["delimit"]:
            if match["how"] is None:
                words = "`#delimit` is followed neither by `;` nor by `cr`"
                self.find("delimit", words, start, end, Severity.ERROR)
            self.scanner.set_semicolons(match["how"] != "cr")
            before = self.statements[-1] if self.statements else None
            if before and before.semicolons and before.kind is Kind.COMMAND:
                self._check_last_semicolon(before, start)
        self.add(Kind.DIRECTIVE, start, end)
        self.at = end

    def _check_last_semicolon(self, before: Statement, start: int) -> None:
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
        piece = self.scanner.piece(start)
        self.at = piece.end
        reader = HeadReader(self.text, piece)
        head = reader.read(start)
        if piece.opens and head.prefixes and head.command and not takes_block(head.command):
            piece = self.scanner.piece(start, plain=True)
            self.at = piece.end
            reader = HeadReader(self.text, piece)
            head = reader.read(start)
        end = self._trimmed(start, piece.end)
        cut = self._cut(piece, head, end)
        kind = self._kind(start, head)
        found: tuple[Reading, ...] = ()
        if not self.inner:
            found = readings.of_command(self, reader, head, piece)
        self.add(
            kind, start, cut, head=head, opens=piece.opens, spans=tuple(piece.spans), found=found
        )
        if piece.opens:
            self.braces.append(piece.end - 1)
        if piece.unclosed or piece.joins or self.scanner.open_comment is not None:
            self._check_command(piece)
        if cut < end:
            self._part(end)
            self.at = cut
            return
        if head.command is not None and not head.command.has_macro:
            self._after_command(head.command, piece)

    def _kind(self, start: int, head: Head) -> Kind:
        if head.command is not None or head.prefixes:
            return Kind.COMMAND
        sign = self.text[start]
        return Kind.DATA if sign.isdigit() or sign in "-.+" else Kind.OTHER

    def _trimmed(self, start: int, end: int) -> int:
        """The end without blanks."""
        text = self.text
        while end > start + 1 and text[end - 1].isspace():
            end -= 1
        return end

    @staticmethod
    def _cut(piece: Piece, head: Head, end: int) -> int:
        """The end of the first of the commands behind ``mi xeq:``."""
        if piece.semicolons and any(prefix.canonical == "mi" for prefix in head.prefixes):
            body = head.prefixes[-1].colon or piece.start
            return next((at for at in piece.semicolons if at > body), end)
        return end

    def _part(self, end: int | None) -> None:
        """Let ``;`` part commands up to a place, or no longer."""
        self._parted = end
        self.scanner.set_semicolons(end is not None)
        self.scanner.set_limit(self.limit if end is None else end)

    def _check_command(self, piece: Piece) -> None:
        for at in piece.unclosed[:1]:
            self.find("open-quote", "a quote is opened and never closed", at, at + 1)
        for at in piece.joins[:1]:
            words = "a string goes on over `///`; Stata may read the next line as a command"
            self.find("continued-string", words, at, at)
        self._check_comment()

    def _after_command(self, command: Word, piece: Piece) -> None:
        """Programs and blocks begin and end here."""
        name = command.canonical
        if name == "program":
            self._program(command, piece)
        elif name == "end":
            if self.program is None:
                words = "`end` closes nothing"
                self.find("stray-end", words, command.start, command.end)
            self.program = None
        elif name in ("mata", "python", "java", "input"):
            block = block_name(self.text, command, piece)
            if block:
                self._block(block, piece)

    def _program(self, command: Word, piece: Piece) -> None:
        name = program_name(self.text, command, piece)
        if name is None:
            return
        if self.program is not None:
            words = "a program starts before the `end` of the one before"
            self.find("open-program", words, command.start, command.end)
        self.program = (name, command.start)
        self.programs.add(name)

    def _block(self, block: str, piece: Piece) -> None:
        """The lines of another language, or of data, up to their ``end``."""
        kind = Kind.DATA if block == "input" else Kind.BLOCK_LINE
        start = self.at
        way = (block, piece.opens, self.semicolons)
        if self.inner and way in self._endless:
            return
        end, closing = find_block_end(
            self.text, start, self.limit, block, braces=piece.opens, semicolons=self.semicolons
        )
        if closing is None and self.inner:
            self._endless.add(way)
            return
        opening = len(self.statements) - 1
        for first, last in block_lines(self.text, start, end):
            self.add(kind, first, last, block=block)
        self.at = end
        if closing is None:
            words = f"a block of {block} has no `end`"
            self.find("open-block", words, piece.start, piece.start + 1, Severity.ERROR)
            found = readings.second(self, start, self.limit, Why.OPEN_BLOCK)
            if found:
                one = self.statements[opening]
                self.statements[opening] = readings.with_readings(one, found)
        elif not piece.opens:
            word = Word(text="end", start=end, end=closing, canonical=canonical("end"))
            self.add(Kind.COMMAND, end, closing, head=Head(command=word), block=block)
            self.at = closing
