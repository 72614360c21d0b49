"""What a parsed do-file is made of: statements and words, every one with its place.

In: offsets into the text. Out: frozen parts that the rewriter, the policy and the log cleaner
read. Statements and the blanks between them cover the text exactly. Programs of researchers, no
data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple

from discreet_fire.findings import Finding

SpanKind = Literal["string", "macro", "comment", "continuation"]


class Span(NamedTuple):
    """A string, macro, comment or continuation, from `start` up to `end`."""

    kind: SpanKind
    start: int
    end: int


class Kind(StrEnum):
    """Kind of a statement."""

    COMMAND = "command"
    COMMENT = "comment"
    #: A line inside ``mata``, ``python`` or ``java`` … ``end``.
    BLOCK_LINE = "block line"
    #: A line of figures: after ``input``, or pasted in.
    DATA = "data"
    #: ``#delimit`` and ``#review``.
    DIRECTIVE = "directive"
    #: A single ``{`` or ``}``.
    BRACE = "brace"
    #: Text that starts like no command.
    OTHER = "other"


class Why(StrEnum):
    """Why a text has a second reading."""

    #: ```qui' list``, ``unknown x: list``: a macro or an unknown word may be a prefix.
    PREFIX = "behind a prefix"
    #: What a quote, comment, brace or block without end hides, or a comment goes on to; commands
    #: pasted from a log.
    HIDDEN = "hidden"
    #: A line of a string, of a comment or of ``putdocx textblock``; what stands behind ``;``.
    TEXT = "in a text"
    #: ``bootstrap "list"``: a text that is run as a command.
    ARGUMENT = "in an argument"


class Word(NamedTuple):
    """A command word or a prefix."""

    text: str  # as it is written
    start: int  # where it starts, in characters of the whole text
    end: int  # where it ends
    #: The full name of the command; None where it is unknown or has a macro
    canonical: str | None = None
    has_macro: bool = False  # whether a macro is part of it
    #: For a prefix, the place of its variables and options, if any
    arguments: tuple[int, int] | None = None
    colon: int | None = None  # for a prefix, where its colon is, if it has one

    @property
    def name(self) -> str:
        """The full name of the command, or the word itself."""
        return self.canonical or self.text


class Reading(NamedTuple):
    """Another way to read a text in which it is a command."""

    why: Why
    statement: DoStatement


class DoStatement(NamedTuple):
    """One command, comment, line of data, directive or brace."""

    kind: Kind  # what it is
    start: int  # where its first character that is not blank stands
    end: int  # where it ends, before the line end or ``;`` that closes it
    #: ``quietly``, ``by x:``, ``if x``, ``else`` … before the command
    prefixes: tuple[Word, ...] = ()
    command: Word | None = None  # the command word; None if there is none
    depth: int = 0  # how many braces are open around it
    in_program: str | None = None  # name of the program whose body it belongs to
    block: str | None = None  # ``mata``, ``python``, ``java`` or ``input`` inside such a block
    opens: bool = False  # whether it ends with the ``{`` of a block
    joined: bool = False  # whether other text stands before it on its line: ``if x { list }``
    semicolons: bool = False  # whether ``;`` ended commands here
    readings: tuple[Reading, ...] = ()  # other ways to read it, all of them commands
    source: str = ""  # the whole text
    spans: tuple[Span, ...] = ()  # strings, macros and comments in it

    def __repr__(self) -> str:
        name = self.command.text if self.command is not None else ""
        return f"Statement({self.kind.value} {name} {self.start}:{self.end})"

    @property
    def text(self) -> str:
        """The statement as it is written."""
        return self.source[self.start : self.end]

    @property
    def body(self) -> int:
        """Start of the part after prefixes and command word."""
        if self.command is not None:
            return self.command.end
        return self.start

    @property
    def canonical(self) -> str | None:
        """The full name of the command."""
        return self.command.canonical if self.command is not None else None

    @property
    def name(self) -> str:
        """The full name of the command, or its word if that is unknown; empty without one."""
        return self.command.name if self.command is not None else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class DoFile:
    """A parsed do-file."""

    text: str = field(repr=False)
    statements: tuple[DoStatement, ...]  # in the order of the text; they never overlap
    findings: tuple[Finding, ...] = ()  # what is not balanced or not clear
    programs: frozenset[str] = frozenset()  # names of the programs that it defines

    @property
    def commands(self) -> tuple[DoStatement, ...]:
        """The statements that are commands."""
        return tuple(one for one in self.statements if one.kind is Kind.COMMAND)
