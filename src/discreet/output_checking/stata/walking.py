"""A walk through a do-file: where it is, what is open, and what was found so far.

In: a text, and statements as they are read. Out: the list of statements, each with what is
known of its surroundings, and findings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from discreet.output_checking.findings import Severity
from discreet.output_checking.stata.forms import Forms, Known, line_at
from discreet.output_checking.stata.heads import Head
from discreet.output_checking.stata.model import Kind, Reading, Statement
from discreet.output_checking.stata.notes import Notes
from discreet.output_checking.stata.scanning import Scanner
from discreet.output_checking.stata.spans import Span

__all__ = ["Walk"]


class Walk(ABC):
    """A walk through a text: where it is, what is open, and what was found.

    Args:
        text: The whole text.
        start: Where to begin.
        limit: Where to end.
        inner: Read a part a second time: no findings, no further readings.
        loose: Read double quotes as plain characters.
        semicolons: Whether ``;`` ends commands at the beginning.
        known: Lines that were read in other texts.
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
        known: Known | None = None,
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
        self.endless: set[tuple[str, bool, bool]] = set()
        #: Lines that were read before.
        self._forms = Forms(text, known)
        #: Where the line ends in which ``;`` parts the commands behind ``mi xeq:``.
        self.parted: int | None = None

    @abstractmethod
    def run(self) -> None:
        """Read all statements."""

    @property
    def semicolons(self) -> bool:
        """Whether ``;`` ends commands at present."""
        return self.scanner.semicolons

    def again(
        self, start: int, end: int, *, loose: bool = False, semicolons: bool | None = None
    ) -> list[Statement]:
        """Read a part again, without findings and further readings."""
        on = self.semicolons if semicolons is None else semicolons
        parser = type(self)(self.text, start, end, inner=True, loose=loose, semicolons=on)
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
        parts = (
            kind,
            start,
            end,
            tuple(head.prefixes) if head else (),
            head.command if head else None,
            len(self.braces),
            self.program[0] if self.program else None,
            block,
            opens,
            self._joined(start),
            self.scanner.semicolons and self.parted is None,
            found,
            self.text,
            spans,
            None,
        )
        self.statements.append(tuple.__new__(Statement, parts))  # the class itself is slower

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
        found = self._forms.read(line, start, *around, self._joined(start))
        if found is None:
            return False
        statement, self.at = found
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
        self.scanner.set_semicolons(end is not None)
        self.scanner.set_limit(self.limit if end is None else end)
