"""Runs do-files without Stata: the runner `BUILTIN`.

In: a do-file, data (CONFIDENTIAL), the rules. Out: `RunResult` and a log in which all output
comes from safe commands. The run stops at the first line that the small Stata does not know, and
at an error of the program. Commands run from the top down, also those of do-files that are called:
there are no macros and no loops.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire.runners.builtin.commands import (
    COMMANDS,
    critical_limits,
    find,
    refused,
    settle_options,
    sort_by,
)
from discreet_fire.runners.builtin.session import Session, begin
from discreet_fire.runners.builtin.syntax import (
    CommandCall,
    DoError,
    Step,
    UnsupportedError,
    read_call,
    required,
    steps_of,
    words_of,
)
from discreet_fire.runners.protocol import RunInput, RunResult
from discreet_fire.stata import Kind, parse_do
from discreet_fire.texts import place_of, read_source

#: Commands that run a do-file, and how many may call each other.
_CALLS = frozenset(("do", "run", "include"))
_DEEPEST = 8
_BY = re.compile(r"(?P<by>[^(),]*)(?:\((?P<also>[^)]*)\))?\s*(?:,\s*s(?:ort)?\s*)?\Z", re.DOTALL)


class TimeLimitReached(DiscreetError):  # noqa: N818 - not an error of the program
    """The time allowed for a run is over."""


class Interpreter:
    """Runs steps in a session, for so many seconds; None for no limit."""

    def __init__(self, session: Session, seconds: float | None) -> None:
        self.session = session
        self.end = None if seconds is None else time.monotonic() + seconds
        self.depth = 0  # so many do-files have called each other

    def steps(self, steps: Sequence[Step], *, echo: bool = False) -> None:
        """Run steps in order; errors learn their place."""
        file, quiet = self.session.program, self.session.quiet
        for step in steps:
            self.session.line = step.line
            if self.end is not None and time.monotonic() > self.end:
                message, hint = "the time allowed for this program is over", "allow more time"
                where = place_of(file, step.line)
                raise TimeLimitReached(message, code="time-limit", where=where, hint=hint)
            if echo and step.source:
                first, *more = step.source.splitlines()
                self.session.write("\n".join([f". {first.strip()}", *(f"> {one}" for one in more)]))
            try:
                UnsupportedError.when(step.unknown, step.unknown)
                self.run(step.code)
            except DoError as error:
                raise error.at(file, step.line) from None
            except (RecursionError, MemoryError):
                raise DoError("nested too deeply", 130).at(file, step.line) from None
            self.session.quiet = quiet

    def call(self, text: str, *, quiet: bool) -> None:
        """Run a do-file of the folder of the program, by its path from there."""
        session, names = self.session, words_of(text)
        UnsupportedError.when(len(names) != 1, "arguments of a do-file")
        name = names[0].replace("\\", "/")
        name += "" if Path(name).suffix else ".do"
        path = session.inside(name)
        DoError.when(not path.is_file(), f"file {name} not found", 601)
        DoError.when(self.depth == _DEEPEST, "too many do-files call each other", 130)
        outer, session.program = session.program, str(path.relative_to(session.folder.resolve()))
        session.quiet, self.depth = session.quiet or quiet, self.depth + 1
        self.steps(steps_of(parse_do(read_source(path).text)), echo=True)
        session.program, self.depth = outer, self.depth - 1

    def run(self, text: str) -> None:
        """Run a command behind its prefixes: `quietly`, `by`, `bysort`, `version`."""
        if not text.strip():
            return
        commands = (one for one in parse_do(text).statements if one.kind is Kind.COMMAND)
        statement = next(commands, None)
        if statement is None or statement.command is None:
            raise UnsupportedError("text that is not a command")
        by: tuple[str, str] | None = None
        for prefix in statement.prefixes:
            name = prefix.canonical or prefix.text
            known = name in ("quietly", "version", "by", "bysort") and by is None
            UnsupportedError.when(not known, f"the prefix {name}")
            self.session.quiet |= name == "quietly"
            if name in ("by", "bysort"):
                by = name, text[slice(*prefix.arguments)].strip() if prefix.arguments else ""
        word = statement.command.text
        name = statement.command.canonical or word
        rest = text[statement.command.end :].strip()
        if word in ("fdzrun", "fdzestimate") and rest and by is None:
            self.run(rest)
        elif name in _CALLS and by is None:
            self.call(rest, quiet=name == "run")
        elif reason := refused(word.removeprefix("fdz")):
            self.session.refuse(name.removeprefix("fdz"), reason)
        else:
            self.command(word, rest, by)

    def command(self, word: str, rest: str, by: tuple[str, str] | None) -> None:
        """Run a command of the table."""
        session, known = self.session, find(word)
        call = CommandCall(known.name, rest)
        limits = session.limits
        if not known.own:
            call = read_call(known.name, rest)
            settle_options(known, call)
        if by is not None:
            UnsupportedError.when(not known.by, f"by with {known.name}")
            self.group(call, *by)
        begin(session, call.text, call.by, whole=known.reads_all)
        session.limits = critical_limits(session, call)
        try:
            known.run(session, call)
        finally:
            session.limits = limits

    def group(self, call: CommandCall, prefix: str, text: str) -> None:
        """Sort the data by the variables of a prefix, and give the call its groups."""
        match, data = required(_BY.match(text.strip()), "varlist required", 100), self.session.data
        DoError.when(not match["by"].strip(), "varlist required", 100)
        call.by = tuple(data.listed(match["by"]))
        wanted = call.by + tuple(data.listed(match["also"] or ""))
        if prefix == "bysort" or "," in text:
            sort_by(self.session, wanted)
        DoError.when(data.sorted_by[: len(wanted)] != wanted, "not sorted", 5)


class _BuiltinRunner:
    """The small Stata of this project; every output is of a safe command."""

    name = "builtin"
    suffixes = frozenset((".do",))
    own_commands = True
    follows_values = True
    commands = COMMANDS

    def run(self, program: Path, **given: Unpack[RunInput]) -> RunResult:
        """Run a do-file."""
        source, data = read_source(program), given["data"]
        lines: list[str] = []
        session = Session(
            program.absolute().parent,
            given["limits"],
            given["entity"],
            lines.append,
            given["witness"],
            {file.name: file.absolute() for file in data},
        )
        if data:
            session.data = session.file(data[0].name)
            if session.entity is not None and not session.data.named:
                raise OutputCheckError(
                    "the data lacks the variable that identifies persons or firms",
                    code="entity",
                    where=f"{data[0].name}: {session.entity}",
                    hint="name a variable with --entity as it is written in the data",
                )
        error: DiscreetError | None = None
        try:
            steps = steps_of(parse_do(source.text))
            Interpreter(session, given["seconds"]).steps(steps, echo=True)
        except DiscreetError as stop:
            error = stop
        outputs = session.outputs
        return RunResult.of(source, data, lines=lines, outputs=outputs, checked=True, error=error)


BUILTIN = _BuiltinRunner()
