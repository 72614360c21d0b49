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
from discreet.output_checking.running.executing import Before, echoed, note_order, untold
from discreet.output_checking.running.extended import words_of
from discreet.output_checking.running.grouping import grouped
from discreet.output_checking.running.keeping_data import restore_left
from discreet.output_checking.running.macros import expanded
from discreet.output_checking.running.masking import holds
from discreet.output_checking.running.programs import Ended, Program, defined, entered
from discreet.output_checking.running.registry import Command, find, layout_notes, settle_options
from discreet.output_checking.running.samples import keep_entity
from discreet.output_checking.running.single import one_value
from discreet.output_checking.running.steering import steered
from discreet.output_checking.running.tree import Step, steps_of
from discreet.output_checking.running.unstored import settle_results
from discreet.output_checking.stata.model import Kind, Statement, Word
from discreet.output_checking.stata.parsing import parse_do
from discreet.output_checking.texts import read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    _Inside = tuple[Sequence[str], Sequence[Sequence[Step]]]

    from discreet.output_checking.running.session import Session

__all__ = ["Interpreter", "TimeUp"]

_DEEPEST = 64
_CODES = 10_000
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
        self.doubted: list[bool] = [False]
        self._end = None if seconds is None else time.monotonic() + seconds

    # --- files and steps -----------------------------------------------------------

    def file(self, path: Path, *, own_macros: bool = True, words: Sequence[str] = ()) -> None:
        """Run a do-file with words as its numbered macros; `include` shares the caller's."""
        with self.deeper():
            steps = steps_of(parse_do(read_source(path).text))
            if own_macros:
                self.session.locals.append({})
                for number, word in enumerate(words, 1):
                    self.session.set_local(str(number), word)
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
        self.doubted.append(False)
        try:
            for step in steps:
                self.session.trace.fresh()
                if echo and step.source:
                    self.session.write(echoed(step.source))
                self.step(step)
        finally:
            self.taken.pop()
            self.doubted.pop()

    def step(self, step: Step) -> None:
        """Run one step; errors learn the line."""
        session = self.session
        session.line = step.line
        self.tick(step.line)
        session.trace.fresh()
        try:
            self._step(step)
        except (DoError, UnsupportedError) as error:
            raise untold(error, session, step.line) from None
        except RecursionError:
            raise untold(DoError("nested too deeply", code=130), session, step.line) from None
        except MemoryError:
            raise untold(DoError("too little memory", code=909), session, step.line) from None
        finally:
            session.trace.seen |= session.trace.touched

    def tick(self, line: int) -> None:
        """Stop if the time is over."""
        if self._end is not None and time.monotonic() > self._end:
            raise TimeUp(line)

    def _step(self, step: Step) -> None:
        if not step.code:
            self.steps(step.body or ())
            return
        first = step.code.split(None, 1)[0]
        if step.body is not None and first == "while":
            while_loop(self, step.code[len(first) :], step.body)
            return
        text = expanded(step.code, self.session.macros())
        trace = self.session.trace
        trace.touch(holds(text, trace.names))
        if trace.touched and not trace.branches and _put_together(step.code):
            raise DoError("which command this is may not be a value of the data", code=198)
        if text.strip():
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
        elif name in ("if", "else"):
            chosen = ([inside, text[prefix.end :]], [step.body or ()])
            if name == "if":
                behind = prefix.arguments[1] if prefix.arguments else prefix.end
                chosen = ([inside, text[behind:]], chosen[1])
                self.branch(inside, lambda: self.prefixed(rest, one, text, step), chosen)
            else:
                self.otherwise(lambda: self.prefixed(rest, one, text, step), chosen)
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

    def silently(self, name: str, run: Callable[[], object]) -> None:
        """Run something quietly, noisily or with its error caught."""
        session, quiet = self.session, self.session.quiet
        session.quiet = 0 if name == "noisily" else quiet + (name in ("quietly", "capture"))
        try:
            if name == "capture":
                self.captured(run)
            else:
                run()
        finally:
            session.quiet = quiet

    def captured(self, run: Callable[[], object]) -> None:
        """Run something; its return code may tell about single values."""
        session, trace = self.session, self.session.trace
        before, trace.seen = trace.seen, False
        try:
            run()
            session.code = 0
        except DoError as error:
            session.code = error.rc
            trace.seen |= error.untold
        finally:
            trace.code = trace.seen or trace.touched or "shape" in trace.whole
            trace.seen |= before

    def branch(self, condition: str, run: Callable[[], object], inside: _Inside) -> None:
        """`if`: run something where an expression holds."""
        session = self.session
        value = one_value(session, condition)
        if isinstance(value, str):
            raise DoError("type mismatch", code=109)
        held = value != 0
        self.taken[-1] = held
        self.doubted[-1] = session.trace.touched
        self.followed(run, inside, held=held)

    def otherwise(self, run: Callable[[], object], inside: _Inside) -> None:
        """`else`: run something where the `if` before did not hold."""
        taken = self.taken[-1]
        if taken is None:
            raise DoError("else does not follow if", code=198)
        doubted = self.doubted[-1]
        if not taken or doubted:
            self.taken[-1] = None
            self.followed(run, inside, held=not taken)
            if self.taken[-1] is None:
                self.taken[-1] = True
            self.doubted[-1] |= doubted

    def followed(self, run: Callable[[], object], inside: _Inside, *, held: bool) -> None:
        """Run what a condition has chosen; unseen if it rests on values of the data."""
        if self.doubted[-1]:
            steered(self.session, *inside, run if held else None)
        elif held:
            run()

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
            self.branch(rest, lambda: self.steps(body), ([step.code], [body]))
        elif name == "else":
            self.otherwise(lambda: self.steps(body), ([], [body]))
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
            for note in layout_notes(known, call):
                self.session.write(note)
        if step.lines:
            call.options["lines"] = "\n".join(step.lines)
        if by is not None:
            self.under_by(known, call, by)
        before, results = Before.of(self.session, known, call), dict(self.session.stored)
        known.run(self.session, call)
        settle_results(self.session, known.name, results)
        before.after(known, call, step.source)
        keep_entity(self.session)

    def under_by(self, known: Command, call: Call, by: tuple[str, str]) -> None:
        """Give a call its groups."""
        if not known.by:
            raise UnsupportedError(f"by with {known.name}")
        call.by, call.groups = grouped(self.session.data, *by)
        note_order(self.session)

    def other_file(self, name: str, rest: str) -> None:
        """`do`, `run` and `include`."""
        words = words_of(rest)
        if not words:
            raise DoError("invalid file specification", code=198)
        path = self.session.path_of(words[0], ".do")
        if not path.is_file():
            raise DoError("file not found", code=601)
        quiet = self.session.quiet
        self.session.quiet += name == "run"
        try:
            self.file(path, own_macros=name != "include", words=words[1:])
        except Ended:
            pass
        finally:
            self.session.quiet = quiet

    def leave(self, name: str, rest: str) -> None:
        """`continue`, `exit` and `error`."""
        if name == "continue":
            raise LoopSteering(leave="break" in rest)
        code, _, _ = rest.partition(",")
        number = one_value(self.session, code) if code.strip() else 0.0
        if self.session.trace.touched or isinstance(number, str) or not 0 <= number < _CODES:
            raise DoError(
                "a return code is a number from 0 to 9999, no value of the data", code=198
            )
        if name == "error" or number:
            raise DoError("the program ended itself with a return code", code=int(number))
        raise Ended

    def program(self, program: Program, rest: str) -> None:
        """Run a program that the do-file defines."""
        with self.deeper(), entered(self.session, program, rest):
            try:
                self.steps(program.body)
            except Ended:
                return


@lru_cache(maxsize=4096)
def _put_together(code: str) -> bool:
    """Whether macros decide which command a statement is."""
    one = _parsed(code, False)
    words = [] if one is None else [one.command, *one.prefixes]
    return one is None or any(word is not None and word.has_macro for word in words)


@lru_cache(maxsize=4096)
def _parsed(text: str, opens: bool) -> Statement | None:
    """The statement of an expanded text."""
    do = parse_do(f"{text} {{\n}}" if opens else text)
    for one in do.statements:
        if one.kind is Kind.COMMAND:
            return one
    return None
