"""Parts: the single outputs of a log, which officers decide on one by one.

In: cleaned logs and the program that made them (CONFIDENTIAL). Out: `OutputPart`s: where each
stands, and which variables it tells of; and a log without the parts that are held back. What
variables a part tells of is read from the program. Where that cannot be read, it is not known, and
the part counts as telling of all.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, Self

from discreet.errors import OutputCheckError
from discreet_fire.logs import blocks_of, is_smcl, log_lines
from discreet_fire.stata import DoStatement, Kind, parse_do
from discreet_fire.texts import read_source

#: Logs with more outputs are decided on as a whole.
MOST_PARTS = 300
#: What stands in a released log in place of an output that is held back.
HELD = "(held back)"
_LONGEST_TITLE = 200
#: Lines that tell nothing: anywhere, and above the output of all commands.
_RULE = re.compile(r"-{10,}$")
_HEAD = re.compile(r"-{10,}$|\. \*|\s+(?:name|log|log type|opened on):")
_NAME = re.compile(r"[A-Za-z_]\w*(?![\w(.])")
_LINE = re.compile(r"(?:([^:]+), )?line (\d+), ")
_PROMPT = re.compile(r"\.\s|\s*\d+\.\s|:\s")
#: Where names are made up as the program runs, or stand for results of earlier commands.
_UNREADABLE = re.compile(r"[`$?~]|\b_all\b|\b[re]\(|\b_(?:b|se|coef)\[|[A-Za-z_]\w*\*|\*[A-Za-z_]")
_RANGE = re.compile(r"[A-Za-z_]\w*\s*-\s*[A-Za-z_]\w*")
#: Words that are no variables: anywhere, and as options; and options that name statistics.
_WORDS = frozenset(("if", "in", "using"))
_OPTIONS = frozenset(
    ("detail", "missing", "row", "column", "col", "cell", "nofreq", "robust", "meanonly", "replace")
)
_STATISTICS = re.compile(r"\b(?:s|stat|stats|statistics|f|format)\s*\([^()]*\)")
#: Statements that tie no variable to another.
_LOOSE = frozenset(
    ("drop", "keep", "label", "format", "sort", "gsort", "order", "describe", "set", "version",
     "clear", "display", "log", "compress", "notes", "char", "local", "global", "forvalues",
     "foreach", "while", "count", "assert", "preserve", "restore", "use", "exit")
)  # fmt: skip
#: Statements after which nobody knows what a name stands for.
_BLIND = frozenset(("do", "run", "include", "program", "mata", "python", "java", "input", "ado"))
_CALLING = frozenset(("do", "include"))
_CALL = re.compile(r"""\w+\s+(?:"(?P<quoted>[^"`$]+)"|(?P<plain>[^\s"`$,]+))\s*(?:,.*)?$""")
#: How deep files that call others are followed.
_DEEPEST = 8
_ARITHMETIC = frozenset(("generate", "replace"))


@dataclass(frozen=True, kw_only=True)
class OutputPart:
    """One output of a submission."""

    number: int  # its number, from 1
    file: str  # the file it stands in
    start: int  # where its text begins in that file, in characters
    end: int | None  # where it ends; None for the whole file
    title: str  # the command that made it, as the log echoes it
    #: First line of its statements in the program that ran, and the one behind their last; None if
    #: not known
    lines: tuple[int, int] | None
    #: The variables it tells of, and all that were made of them or they of; None if not known
    names: frozenset[str] | None
    sha256: str  # digest of its text
    #: The file that the program called, with lines as above, if its statements are there
    called: tuple[str, int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "names": None if self.names is None else sorted(self.names)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """From plain values."""
        fields = {key: tuple(one) if isinstance(one, list) else one for key, one in plain.items()}
        names = None if plain["names"] is None else frozenset(plain["names"])
        return cls(**fields | {"names": names})

    @classmethod
    def of_file(
        cls, path: Path, title: str, lines: tuple[int, int] | None = None,
        names: frozenset[str] | None = None,
    ) -> Self:  # fmt: skip
        """A whole file."""
        return cls(
            number=0,
            file=path.name,
            start=0,
            end=None,
            title=_title(" ".join(title.split())),
            lines=lines,
            names=names,
            sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        )

    def text(self, folder: Path) -> str:
        """The shown text. CONFIDENTIAL until it is released."""
        path = folder / self.file
        if self.end is None:
            return path.read_bytes().decode("utf-8", "replace")
        return read_source(path).text[self.start : self.end]

    def covers(self, universe: str) -> bool:
        """Whether a universe is of this output."""
        match = _LINE.match(universe)
        return match is not None and self.is_at(match[1] or "", int(match[2]))

    def is_at(self, called: str, line: int) -> bool:
        """Whether a line of the program, or of a file that it called, is of its statements."""
        file, *lines = self.called or ("", *(self.lines or (0, 0)))
        return file == called and lines[0] <= line < lines[1]

    def shares_names(self, other: OutputPart) -> bool:
        """Whether two outputs tell, or may tell, of the same variables."""
        if self.names is None or other.names is None:
            return True
        return _meet(self.names, other.names)


def _meet(some: Collection[str], others: Collection[str]) -> bool:
    """Whether two sets of names have one in common; names may be written in short."""
    return any(a.startswith(b) or b.startswith(a) for a in some for b in others)


def parts_of(outputs: Sequence[Path], programs: Sequence[Path]) -> tuple[OutputPart, ...]:
    """The single outputs of logs."""
    codes = [_Program.read(program) for program in dict.fromkeys(programs)]
    parts: list[OutputPart] = []
    for path in outputs:
        own = _file_parts(path, codes)
        parts += own if 0 < len(own) <= MOST_PARTS else [OutputPart.of_file(path, path.name)]
    return tuple(replace(one, number=at) for at, one in enumerate(parts, start=1))


def without(path: Path, held: Iterable[OutputPart]) -> bytes:
    """A log without some of its outputs: what may be released of it."""
    source = read_source(path)
    text = source.text
    mark = f"{{txt}}{HELD}" if is_smcl(text, path.suffix) else HELD
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    for one in sorted(held, key=lambda one: -one.start):
        text = text[: one.start] + mark + end_of_line + text[one.end :]
    return source.encoded(text)


# How a log is cut ---------------------------------------------------------------------------------


def _file_parts(path: Path, codes: Sequence[_Program]) -> list[OutputPart]:
    try:
        source = read_source(path)
    except OutputCheckError:
        return []  # no text: the file is one output
    lines = log_lines(source.text, smcl=is_smcl(source.text, path.suffix))
    echoes: dict[int, str] = {}  # commands as they stand in the program, up to their first line end
    for at in (at for block in blocks_of(lines) for at in block.echo):
        line, breaks = lines[at].text, lines[at].echo_breaks
        echoes[at] = _PROMPT.sub("", line[: breaks[0] if breaks else None]).strip()
    code, places = max(((code, code.places(echoes)) for code in codes), key=lambda one: len(one[1]))
    # Of a program that is not known, each command begins an output. Of others those that are in
    # it and in no loop: what looks like a command besides may be output of it.
    starts = sorted(at for at, place in places.items() if not place.in_loop)
    starts = starts or sorted(echoes)
    file_parts = []
    for at, behind in zip([-1, *starts], [*starts, len(lines)], strict=True):
        empty = _HEAD if at < 0 else _RULE
        shown = (line.text for line in lines[at + 1 : behind])
        if not any(text.strip() and not empty.match(text) for text in shown):
            continue
        start = lines[at + 1].start
        end = lines[behind].start if behind < len(lines) else len(source.text)
        echo, place, span, called = echoes.get(at, ""), places.get(at), None, None
        if place is not None:
            program, first = place.program, place.line
            later = (one for other, one in sorted(places.items()) if other > at)
            after = (one.line for one in later if one.program is program and one.line > first)
            span = (first, next(after, len(program.lines) + 1))
            if program is not code:  # of a called file only its lines are known
                echo, called, span = f"{program.name}: {echo}", (program.name, *span), None
        text = source.text[start:end].encode("utf-8", "surrogatepass")
        file_parts.append(
            OutputPart(
                number=0,
                file=path.name,
                start=start,
                end=end,
                title=_title(echo) or path.name,
                lines=span,
                names=None if span is None else code.names(*span),
                sha256=hashlib.sha256(text).hexdigest(),
                called=called,
            )
        )
    return file_parts


def _title(text: str) -> str:
    """A title in signs that show as they are, whoever wrote them."""
    return "".join(one if one.isprintable() else "?" for one in text)[:_LONGEST_TITLE]


# What the program says of it ----------------------------------------------------------------------


class _EchoPlace(NamedTuple):
    """Where an echoed command stands: its program, its line there, whether a loop repeats it."""

    program: _Program
    line: int
    in_loop: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class _Program:
    """A program: its lines, the variables that its statements name, the files that it calls."""

    name: str
    lines: tuple[str, ...] = ()
    depths: tuple[int, ...] = ()
    statements: tuple[tuple[int, DoStatement], ...] = ()
    tied: tuple[frozenset[str], ...] = ()
    blind: bool = True
    called: Mapping[int, _Program] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, home: Path | None = None, depth: int = 0) -> Self:
        """Read one; of what is no do-file nothing is known. Files are called from its folder."""
        home = home or path.parent
        nothing = cls(name=os.path.relpath(path, home))
        if path.suffix.lower() != ".do":
            return nothing
        try:
            source = read_source(path)
            done = parse_do(source.text)
        except (OutputCheckError, RecursionError):
            return nothing
        own = tuple(
            (source.lines.place(one.start)[0], one)
            for one in done.statements
            if one.kind is Kind.COMMAND or one.readings
        )
        named = [_named(one) for _, one in own if not _loose(one)]
        blind = any(one is None for one in named) or any(
            one.block or one.in_program or one.name in _BLIND for _, one in own
        )
        lines = tuple(line.strip() for line in source.text.splitlines())
        opened = [line.endswith("{") - line.startswith("}") for line in lines]
        files = {line: home / file for line, one in own if (file := _called(one))}
        return cls(
            name=nothing.name,
            lines=lines,
            depths=tuple(accumulate(opened, initial=0)),
            statements=own,
            tied=tuple(one for one in named if one is not None and len(one) > 1),
            blind=blind,
            called={
                line: cls.read(file, home, depth + 1)
                for line, file in files.items()
                if depth < _DEEPEST and file.is_file()
            },
        )

    def places(self, echoes: Mapping[int, str]) -> dict[int, _EchoPlace]:
        """Where echoed commands stand, in order, in this program and in files that it calls."""
        at_work: list[tuple[_Program, int]] = [(self, 0)]
        places: dict[int, _EchoPlace] = {}
        for at, echo in sorted(echoes.items()):
            for depth in range(len(at_work) - 1, -1, -1):
                program, line = at_work[depth]
                after = (n for n in range(line, len(program.lines)) if program.lines[n] == echo)
                place = next(after, None) if echo else None
                if place is None:
                    continue
                at_work[depth:] = [(program, place + 1)]
                looped = any(one.depths[line - 1] for one, line in at_work)
                places[at] = _EchoPlace(program=program, line=place + 1, in_loop=looped)
                if (file := program.called.get(place + 1)) is not None:
                    at_work.append((file, 0))
                break
        return places

    def names(self, first: int, behind: int) -> frozenset[str] | None:
        """The variables of some lines, and all that they are tied to; None if not known."""
        if self.blind:
            return None
        names: set[str] = set()
        for place, statement in self.statements:
            if first <= place < behind:
                own = _named(statement)
                if own is None or _RANGE.search(statement.text.partition(",")[0]):
                    return None
                names |= own
        if not names:
            return None  # such as all variables there are
        before = -1
        while before < len(names):
            before = len(names)
            for tie in self.tied:
                if _meet(names, tie):
                    names |= tie
        return frozenset(names)


def _words(statement: DoStatement) -> Iterator[str]:
    """The command words of a statement, however it is read."""
    for word in (statement.command, *statement.prefixes):
        yield from () if word is None else word.text.split()[:1]
    for reading in statement.readings:
        yield from _words(reading.statement)


def _called(statement: DoStatement) -> str:
    """The file that a statement runs; nothing if it runs none, or a macro names it."""
    match = _CALL.match(statement.text) if statement.name in _CALLING else None
    file = "" if match is None else (match["quoted"] or match["plain"])
    return file if not file or Path(file).suffix else f"{file}.do"


def _loose(statement: DoStatement) -> bool:
    """Whether a statement shows something, or changes nothing that is shown."""
    name = statement.name
    loose = name in _LOOSE or name.startswith("fdz") or statement.opens
    return loose and name not in _ARITHMETIC


def _named(statement: DoStatement) -> frozenset[str] | None:
    """The variables that a statement names; None if that cannot be read."""
    text = statement.text
    arithmetic = statement.name in _ARITHMETIC
    hidden = re.search(r"[`$?]|\b[re]\(|\b_(?:b|se|coef)\[", text) if arithmetic else None
    if hidden or (not arithmetic and _UNREADABLE.search(text)):
        return None
    body, _, options = re.sub(r'"[^"]*"', " ", text).partition(",")
    names = {*_NAME.findall(body)} - {*_words(statement)} - _WORDS
    options = _STATISTICS.sub(" ", options)
    within = {*_NAME.findall(" ".join(re.findall(r"\([^()]*\)", options)))}
    return frozenset(names | within | ({*_NAME.findall(options)} - _OPTIONS))
