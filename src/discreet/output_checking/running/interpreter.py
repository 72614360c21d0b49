"""Runs the steps of a do-file: macros, prefixes, blocks, loops, programs.

In: steps and a session. Out: the session as the do-file leaves it. A command or option that
is not known stops the run; so does an error, unless `capture` stands before it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.output_checking.running.blocks import (
    LoopSteering,
    for_each,
    for_values,
    while_loop,
)
from discreet.output_checking.running.calls import Call, read_call
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.grouping import grouped
from discreet.output_checking.running.keeping_data import restore_left
from discreet.output_checking.running.macros import expanded
from discreet.output_checking.running.masking import holds
from discreet.output_checking.running.programs import Ended, Program, defined, entered
from discreet.output_checking.running.registry import Command, find, settle_options
from discreet.output_checking.running.samples import keep_entity
from discreet.output_checking.running.single import one_value
from discreet.output_checking.running.tree import Step, steps_of
from discreet.output_checking.safe.results import Check, SafeResult, Verdict
from discreet.output_checking.stata.model import Kind, Statement, Word
from discreet.output_checking.stata.parsing import parse_do
from discreet.output_checking.texts import read_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from discreet.output_checking.running.session import Session

__all__ = ["Interpreter", "TimeUp"]

_DEEPEST = 64
_SILENT = frozenset(("quietly", "noisily", "capture"))
_PASSED = frozenset(("version", "xi"))
_FILES = frozenset(("do", "run", "include"))


class TimeUp(DiscreetError):  # noqa: N818 - not an error of the program
    """The time allowed for a run is over."""

    def __init__(self, line: int) -> None:
        super().__init__(
            "the time allowed for this program is over",
            code="time-limit",
            where=f"line {line}",
            hint="allow more time, or look for a loop that does not end",
        )


class Interpreter:
    """Runs steps in a session.

    Args:
        session: The state.
        seconds: Time allowed; None for no limit.
    """

    def __init__(self, session: Session, seconds: float | None = None) -> None:
        self.session = session
        self.depth = 0
        self.taken: list[bool | None] = [None]
        self._end = None if seconds is None else time.monotonic() + seconds

    # --- files and steps -----------------------------------------------------------

    def file(self, path: Path, *, own_macros: bool = True) -> None:
        """Run a do-file; `include` shares the local macros of the caller."""
        with self.deeper():
            steps = steps_of(parse_do(read_source(path).text))
            if own_macros:
                self.session.locals.append({})
            try:
                self.steps(steps, echo=True)
            finally:
                if own_macros:
                    restore_left(self.session)
                    self.session.leave_program()

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One program or file further in."""
        if self.depth >= _DEEPEST:
            raise DoError("programs call each other too deeply", code=1000)
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def steps(self, steps: Sequence[Step], *, echo: bool = False) -> None:
        """Run steps in order."""
        self.taken.append(None)
        try:
            for step in steps:
                if echo and step.source:
                    self.session.write(echoed(step.source))
                self.step(step)
        finally:
            self.taken.pop()

    def step(self, step: Step) -> None:
        """Run one step; errors learn the line."""
        session = self.session
        session.line = step.line
        if self._end is not None and time.monotonic() > self._end:
            raise TimeUp(step.line)
        session.trace.fresh()
        try:
            self._step(step)
        except (DoError, UnsupportedError) as error:
            raise untold(error, session).at(step.line) from None

    def _step(self, step: Step) -> None:
        if not step.code:
            self.steps(step.body or ())
            return
        first = step.code.split(None, 1)[0]
        if step.body is not None and first == "while":
            while_loop(self, step.code[len(first) :], step.body)
            return
        text = expanded(step.code, self.session.macros())
        if not text.strip():
            return
        self.text(text, step)

    def text(self, text: str, step: Step) -> None:
        """Run the text of a command after expansion."""
        one = _parsed(text, step.body is not None)
        if one is None:
            raise UnsupportedError("text that is no command")
        self.prefixed(list(one.prefixes), one, text, step)

    # --- prefixes ------------------------------------------------------------------

    def prefixed(self, prefixes: list[Word], one: Statement, text: str, step: Step) -> None:
        """Run a command behind its prefixes."""
        if not prefixes:
            self.plain(one, text, step)
            return
        prefix, *rest = prefixes
        name = prefix.canonical or prefix.text
        inside = text[slice(*prefix.arguments)].strip() if prefix.arguments else ""
        if name in _SILENT:
            self.silently(name, lambda: self.prefixed(rest, one, text, step))
        elif name == "if":
            self.branch(inside, lambda: self.prefixed(rest, one, text, step))
        elif name == "else":
            self.otherwise(lambda: self.prefixed(rest, one, text, step))
        elif name in ("by", "bysort"):
            if rest:
                raise UnsupportedError("prefixes after by")
            self.plain(one, text, step, by=(name, inside))
        elif name == "eststo" and find("eststo") is not None:
            self.prefixed(rest, one, text, step)
            known = find("eststo")
            assert known is not None
            known.run(self.session, Call("eststo", inside, line=step.line))
        elif name in _PASSED:
            self.prefixed(rest, one, text, step)
        else:
            raise UnsupportedError(f"prefix {name}")

    def silently(self, name: str, run: object) -> None:
        """Run something quietly, noisily or with its error caught."""
        session, quiet = self.session, self.session.quiet
        session.quiet = 0 if name == "noisily" else quiet + (name in ("quietly", "capture"))
        try:
            run()  # type: ignore[operator]
            if name == "capture":
                session.code = 0
        except DoError as error:
            if name != "capture":
                raise
            session.code = error.rc
        finally:
            session.quiet = quiet

    def branch(self, condition: str, run: object) -> None:
        """`if`: run something where an expression holds."""
        session = self.session
        value = one_value(session, condition)
        if isinstance(value, str):
            raise DoError("type mismatch", code=109)
        held = value != 0
        self.taken[-1] = held
        if held:
            self.followed(run, session.trace.touched)

    def otherwise(self, run: object) -> None:
        """`else`: run something where the `if` before did not hold."""
        taken = self.taken[-1]
        if taken is None:
            raise DoError("else does not follow if", code=198)
        if not taken:
            self.taken[-1] = None
            self.followed(run, self.session.trace.touched)
            if self.taken[-1] is None:
                self.taken[-1] = True

    def followed(self, run: object, touched: bool) -> None:
        """Run what values of the data may have chosen; the trace remembers that."""
        trace = self.session.trace
        trace.branches += touched
        try:
            run()  # type: ignore[operator]
        finally:
            trace.branches -= touched

    # --- commands ------------------------------------------------------------------

    def plain(
        self, one: Statement, text: str, step: Step, by: tuple[str, str] | None = None
    ) -> None:
        """Run a command without its prefixes."""
        if one.command is None:
            self.steps(step.body or ())
            return
        word, canonical = one.command.text, one.command.canonical
        rest = text[one.command.end :].strip()
        if canonical != "if" and canonical != "else":
            self.taken[-1] = self.taken[-1] if one.prefixes else None
        if step.body is not None:
            self.block(canonical or word, rest, step)
        elif word == "fdzrun" and by is None:
            self.text(rest, step)
        elif word in ("fdzestimate", "fdzrun") and rest:
            word, *more = rest.split(None, 1)
            self.command(word, more[0] if more else "", step, by)
        elif canonical in _FILES:
            self.other_file(canonical, rest)
        elif canonical in ("continue", "exit", "error"):
            self.leave(canonical, rest)
        elif word in self.session.programs and by is None:
            self.program(self.session.programs[word], rest)
        else:
            self.command(
                word.removeprefix("fdz") if word.startswith("fdz") else word, rest, step, by
            )

    def block(self, name: str, rest: str, step: Step) -> None:
        """Run a command that has a block."""
        body = step.body or ()
        if name == "if":
            self.branch(rest, lambda: self.steps(body))
        elif name == "else":
            self.otherwise(lambda: self.steps(body))
        elif name in _SILENT:
            self.silently(name, lambda: self.steps(body))
        elif name == "foreach":
            for_each(self, rest, body)
        elif name == "forvalues":
            for_values(self, rest, body)
        elif name == "program":
            self.session.programs.update(defined(rest, body))
        else:
            raise UnsupportedError(f"{name} with a block")

    def command(self, word: str, rest: str, step: Step, by: tuple[str, str] | None = None) -> None:
        """Run a command of the registry."""
        known = find(word)
        if known is None:
            raise UnsupportedError(f"command {word}")
        call = (
            Call(known.name, rest, line=step.line)
            if known.raw
            else read_call(known.name, rest, step.line, expression=known.expression)
        )
        if not known.raw:
            settle_options(known, call)
        if step.lines:
            call.options["lines"] = "\n".join(step.lines)
        if by is not None:
            self.under_by(known, call, by)
        touched, names = self.session.trace.touched, set(self.session.data.variables)
        known.run(self.session, call)
        if touched:
            doubt_names(self.session, set(self.session.data.variables) - names, step.source)
        keep_entity(self.session)

    def under_by(self, known: Command, call: Call, by: tuple[str, str]) -> None:
        """Give a call its groups."""
        if not known.by:
            raise UnsupportedError(f"by with {known.name}")
        call.by, call.groups = grouped(self.session.data, *by)

    def other_file(self, name: str, rest: str) -> None:
        """`do`, `run` and `include`."""
        words = rest.split() if not rest.startswith('"') else [rest.split('"')[1]]
        if not words:
            raise DoError("invalid file specification", code=198)
        path = self.session.path_of(words[0], ".do")
        if not path.is_file():
            raise DoError("file not found", code=601)
        quiet = self.session.quiet
        self.session.quiet += name == "run"
        try:
            self.file(path, own_macros=name != "include")
        except Ended:
            pass
        finally:
            self.session.quiet = quiet

    def leave(self, name: str, rest: str) -> None:
        """`continue`, `exit` and `error`."""
        if name == "continue":
            raise LoopSteering(leave="break" in rest)
        code, _, _ = rest.partition(",")
        number = int(float(code)) if code.strip() else 0
        if name == "error" or number:
            raise DoError("the program ended itself with a return code", code=number)
        raise Ended

    def program(self, program: Program, rest: str) -> None:
        """Run a program that the do-file defines."""
        with self.deeper(), entered(self.session, program, rest):
            try:
                self.steps(program.body)
            except Ended:
                return


def untold(error: DoError | UnsupportedError, session: Session) -> DoError | UnsupportedError:
    """The error without the words of the program where they may hold values of the data."""
    told = error.line is not None
    if told or not (session.trace.touched or holds(str(error), session.trace.names)):
        return error
    if isinstance(error, DoError):
        return DoError("a command failed whose text rests on values of the data", code=error.rc)
    return UnsupportedError("a command whose text rests on values of the data")


def doubt_names(session: Session, names: Iterable[str], source: str) -> None:
    """Remember new names that do not stand in the program: they may hold values of the data."""
    made = {name for name in names if not holds(source, {name})}
    if made:
        session.trace.names |= made
        reason = "a name was made of values of the data; it is not shown"
        check = Check(rule="names", verdict=Verdict.fail, reason=reason)
        session.remember(SafeResult(command="names", shown="", checks=[check]))


@lru_cache(maxsize=4096)
def _parsed(text: str, opens: bool) -> Statement | None:
    """The statement of an expanded text."""
    do = parse_do(f"{text} {{\n}}" if opens else text)
    for one in do.statements:
        if one.kind is Kind.COMMAND:
            return one
    return None


def echoed(source: str) -> str:
    """A command as it stands in a log."""
    first, *more = source.splitlines() or [""]
    return "\n".join([f". {first.strip()}", *(f"> {line}" for line in more)])
