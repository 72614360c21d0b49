"""Runs the steps of a do-file: macros, prefixes, blocks, loops, programs.

In: steps and a session. Out: the session as the do-file leaves it. A command or option that
is not known stops the run; so does an error, unless `capture` stands before it. A loop over
values of the data is followed by the trace. A program that the do-file defines sees its own
macros while it runs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from math import floor
from pathlib import Path

from discreet.errors import DiscreetError
from discreet_fire.catalogue import SAFE, execution_rows
from discreet_fire.runners.builtin.data.dataset import grouped
from discreet_fire.runners.builtin.disclosure.command_effects import (
    StateBeforeCommand,
    echoed,
    note_order,
    redacted_error,
)
from discreet_fire.runners.builtin.disclosure.hidden_branches import run_hidden
from discreet_fire.runners.builtin.language.calls import CommandCall, read_call
from discreet_fire.runners.builtin.language.errors import (
    DoError,
    UnsupportedError,
    present,
    required,
)
from discreet_fire.runners.builtin.language.macros import expanded
from discreet_fire.runners.builtin.language.steps import Step, steps_of
from discreet_fire.runners.builtin.language.values import MISSING
from discreet_fire.runners.builtin.macro_expansion import macros_of, words_of
from discreet_fire.runners.builtin.names import macro_text, one_number, one_value, settle_results
from discreet_fire.runners.builtin.registry import (
    Command,
    critical_limits,
    find,
    layout_notes,
    settle_options,
)
from discreet_fire.runners.builtin.samples import keep_entity
from discreet_fire.runners.builtin.state.parts import ProgramFrame
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.runners.builtin.state.trace import holds_name
from discreet_fire.stata import DoStatement, Kind, Word, parse_do
from discreet_fire.texts import read_source

_OPTIONS = frozenset(("rclass", "eclass", "sclass", "byable(recall)", "sortpreserve", "nclass"))


class ProgramEnd(Exception):  # noqa: N818 - `exit` is no error
    """`exit`: a program or do-file ends here."""


@dataclass(frozen=True)
class DefinedProgram:
    """A program: its name, its commands, the kind of results that it returns."""

    name: str
    body: tuple[Step, ...]
    returns: str


def defined_program(text: str, body: Sequence[Step]) -> dict[str, DefinedProgram]:
    """The program that `program define` makes."""
    before, _, after = text.partition(",")
    words = before.split()
    if words and words[0] in ("define", "defin", "defi", "def", "de", "d"):
        words = words[1:]
    DoError.when(len(words) != 1, "invalid syntax of program", code=198)
    options = set(after.replace(",", " ").split())
    UnsupportedError.when(not options <= _OPTIONS, "an option of program")
    returns = "e" if "eclass" in options else "s" if "sclass" in options else "r"
    named = returns if options & {"rclass", "eclass", "sclass"} else ""
    return {words[0]: DefinedProgram(words[0], tuple(body), named)}


_DEEPEST = 64
_CODES = 10_000
_Inside = tuple[Sequence[str], Sequence[Sequence[Step]]]
#: Words of the language, as the catalogue says how each is run.
_SILENT, _PASSED, _FILES, _STEERING, _CONTROL = (
    frozenset(name for name, row in execution_rows().items() if row.takes.syntax == syntax)
    for syntax in ("silent", "passed", "file", "steering", "control")
)
if _CONTROL ^ {"if", "else", "by", "bysort", "foreach", "forvalues", "while", "program"}:
    raise ValueError("the catalogue and the interpreter differ in the words of the language")


class TimeLimitReached(DiscreetError):  # noqa: N818 - not an error of the program
    """The time allowed for a run is over."""

    def __init__(self, line: int) -> None:
        super().__init__(
            "the time allowed for this program is over",
            code="time-limit",
            where=f"line {line}",
            hint="allow more time, or look for a loop that does not end",
        )


class Interpreter:
    """Runs steps in a session, for so many seconds; None for no limit."""

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
            if not own_macros:
                self.steps(steps, echo=True)
                return
            with self.session.program(ProgramFrame()):
                self.session.set_words(words)
                self.steps(steps, echo=True)

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One program or file further in."""
        DoError.when(self.depth >= _DEEPEST, "programs call each other too deeply", code=1000)
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
        session.log.line = step.line
        self.tick(step.line)
        session.trace.fresh()
        try:
            self._step(step)
        except (DoError, UnsupportedError) as error:
            raise redacted_error(error, session, step.line) from None
        except (RecursionError, MemoryError) as error:
            deep = isinstance(error, RecursionError)
            message, code = ("nested too deeply", 130) if deep else ("too little memory", 909)
            raise redacted_error(DoError(message, code=code), session, step.line) from None
        finally:
            session.trace.doubt(session.trace.touched)

    def tick(self, line: int) -> None:
        """Stop if the time is over."""
        if self._end is not None and time.monotonic() > self._end:
            raise TimeLimitReached(line)

    def _step(self, step: Step) -> None:
        if not step.code:
            self.steps(step.body or ())
            return
        first = step.code.split(None, 1)[0]
        if step.body is not None and first == "while":
            while_loop(self, step.code[len(first) :], step.body)
            return
        text = expanded(step.code, macros_of(self.session))
        trace = self.session.trace
        trace.touch(holds_name(text, trace.names))
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

    def prefixed(self, prefixes: list[Word], one: DoStatement, text: str, step: Step) -> None:
        """Run a command behind its prefixes."""
        if not prefixes:
            self.plain(one, text, step)
            return
        prefix, *rest = prefixes
        name = prefix.canonical or prefix.text
        inside = text[slice(*prefix.arguments)].strip() if prefix.arguments else ""

        def run() -> None:
            self.prefixed(rest, one, text, step)

        if name in _SILENT:
            self.silently(name, run)
        elif name == "if":
            behind = prefix.arguments[1] if prefix.arguments else prefix.end
            self.branch(inside, run, ([inside, text[behind:]], [step.body or ()]))
        elif name == "else":
            self.otherwise(run, ([inside, text[prefix.end :]], [step.body or ()]))
        elif name in ("by", "bysort"):
            UnsupportedError.when(rest, "prefixes after by")
            self.plain(one, text, step, by=(name, inside))
        elif name == "eststo" and (known := find("eststo")) is not None:
            run()
            known.run(self.session, CommandCall("eststo", inside, line=step.line))
        elif name in _PASSED or name == "version":
            run()
        else:
            raise UnsupportedError(f"prefix {name}")

    def silently(self, name: str, run: Callable[[], object]) -> None:
        """Run something quietly, noisily or with its error caught."""
        more = -1 if name == "noisily" else int(name in ("quietly", "capture"))
        with self.session.log.quietly(more):
            if name == "capture":
                self.captured(run)
            else:
                run()

    def captured(self, run: Callable[[], object]) -> None:
        """Run something; its return code may tell about single values."""
        session = self.session
        with session.trace.captured():
            try:
                run()
                session.results.code = 0
            except DoError as error:
                session.results.code = error.rc
                session.trace.doubt(error.redacted)

    def branch(self, condition: str, run: Callable[[], object], inside: _Inside) -> None:
        """`if`: run something where an expression holds."""
        session = self.session
        held = one_number(session, condition) != 0
        self.taken[-1] = held
        self.doubted[-1] = session.trace.touched
        self.followed(run, inside, held=held)

    def otherwise(self, run: Callable[[], object], inside: _Inside) -> None:
        """`else`: run something where the `if` before did not hold."""
        taken = present(self.taken[-1], "else does not follow if", code=198)
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
            run_hidden(self.session, *inside, run if held else None)
        elif held:
            run()

    # --- commands ------------------------------------------------------------------

    def plain(
        self, one: DoStatement, text: str, step: Step, by: tuple[str, str] | None = None
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
        elif canonical in _STEERING:
            self.leave(canonical, rest)
        elif canonical == "program" and rest.split()[:1] == ["drop"]:
            self.drop_programs(rest.split()[1:])
        elif word in self.session.macros.programs and by is None:
            self.program(self.session.macros.programs[word], rest)
        else:
            self.command(word.removeprefix(SAFE) if word.startswith(SAFE) else word, rest, step, by)

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
            self.session.macros.programs.update(defined_program(rest, body))
        else:
            raise UnsupportedError(f"{name} with a block")

    def command(self, word: str, rest: str, step: Step, by: tuple[str, str] | None = None) -> None:
        """Run a command of the registry."""
        known = find(word)
        if known is None:
            raise UnsupportedError(f"command {word}")
        syntax, limits = known.facts.takes.syntax, self.session.limits
        if syntax == "own":
            call = CommandCall(known.name, rest, line=step.line)
        else:
            call = read_call(known.name, rest, step.line, expression=syntax == "expression")
            limits = critical_limits(self.session, known, call)
            settle_options(known, call)
            for note in layout_notes(known, call):
                self.session.write(note)
        if step.lines:
            call.options["lines"] = "\n".join(step.lines)
        if by is not None:
            self.under_by(known, call, by)
        before = StateBeforeCommand.of(self.session, known.facts, call)
        results = dict(self.session.results.stored)
        with self.session.under(limits):
            known.run(self.session, call)
        settle_results(self.session, known.facts, results)
        before.after(known.facts, call, step.source)
        keep_entity(self.session)

    def under_by(self, known: Command, call: CommandCall, by: tuple[str, str]) -> None:
        """Give a call its groups."""
        UnsupportedError.when(not known.facts.takes.by, f"by with {known.name}")
        call.by, call.groups = grouped(self.session.data, *by)
        note_order(self.session)

    def other_file(self, name: str, rest: str) -> None:
        """`do`, `run` and `include`."""
        words = words_of(rest)
        DoError.when(not words, "invalid file specification", code=198)
        path = self.session.path_of(words[0], ".do")
        DoError.when(not path.is_file(), "file not found", code=601)
        with self.session.log.quietly(int(name == "run")), suppress(ProgramEnd):
            self.file(path, own_macros=name != "include", words=words[1:])

    def leave(self, name: str, rest: str) -> None:
        """`continue`, `exit` and `error`."""
        if name == "continue":
            raise LoopExit(leave="break" in rest)
        code, _, _ = rest.partition(",")
        number = one_value(self.session, code) if code.strip() else 0.0
        if self.session.trace.touched or isinstance(number, str) or not 0 <= number < _CODES:
            raise DoError(
                "a return code is a number from 0 to 9999, no value of the data", code=198
            )
        if name == "error" or number:
            raise DoError("the program ended itself with a return code", code=int(number))
        raise ProgramEnd

    def drop_programs(self, names: Sequence[str]) -> None:
        """`program drop`: forget programs of the do-file; nothing if one is not known."""
        programs = self.session.macros.programs
        if names in (["_all"], ["_allado"]):
            programs.clear()
            return
        DoError.when(not names, "invalid syntax of program", code=198)
        for name in names:
            DoError.when(name not in programs, f"program {name} not found", code=111)
        for name in names:
            programs.pop(name, None)

    def program(self, program: DefinedProgram, rest: str) -> None:
        """Run a program that the do-file defines."""
        session, frame = self.session, ProgramFrame()
        with self.deeper(), session.trace.apart():
            try:
                with session.program(frame), suppress(ProgramEnd):
                    session.set_local("0", rest)
                    session.set_words(words_of(rest.replace(",", " , ")))
                    self.steps(program.body)
            finally:
                if program.returns:
                    session.results.stored[program.returns] = frame.returned
                    session.results.origin[program.returns] = ""
                if program.returns and frame.doubted:
                    session.trace.whole.add(f"{program.returns}()")


@lru_cache(maxsize=4096)
def _put_together(code: str) -> bool:
    """Whether macros decide which command a statement is."""
    one = _parsed(code, False)
    words = [] if one is None else [one.command, *one.prefixes]
    return one is None or any(word is not None and word.has_macro for word in words)


@lru_cache(maxsize=4096)
def _parsed(text: str, opens: bool) -> DoStatement | None:
    """The statement of an expanded text."""
    do = parse_do(f"{text} {{\n}}" if opens else text)
    for one in do.statements:
        if one.kind is Kind.COMMAND:
            return one
    return None


_EACH = re.compile(r"(?P<name>\w+)\s+(?:of\s+(?P<kind>\w+)|in)\b(?P<list>.*)\Z", re.DOTALL)
_VALUES = re.compile(r"(?P<name>\w+)\s*=\s*(?P<range>.*)\Z", re.DOTALL)
_MOST = 10_000_000


class LoopExit(Exception):  # noqa: N818 - steers a loop, is no error
    """`continue` or `continue, break`."""

    def __init__(self, *, leave: bool) -> None:
        super().__init__()
        self.leave = leave


def for_each(interpreter: Interpreter, text: str, body: Sequence[Step]) -> None:
    """`foreach NAME in …` or `foreach NAME of KIND …`."""
    match = required(_EACH.match(text.strip()), "invalid syntax of foreach", code=198)
    items = _items(interpreter.session, match["kind"], match["list"].strip())
    _over(interpreter, match["name"], items, body, _known_words(interpreter.session, match))


def _known_words(session: Session, match: re.Match[str]) -> frozenset[str]:
    """Of a list that rests on values of the data, the words that may be known."""
    kind, name = match["kind"] or "", match["list"].strip()
    depth = session.macros.depth if kind.startswith("loc") else 0
    known = session.trace.levels.get((depth, name), frozenset())
    return known if kind.startswith(("loc", "glo")) else frozenset()


def _items(session: Session, kind: str | None, text: str) -> list[str]:
    if kind is None:
        return words_of(text)
    if kind in ("local", "global", "loc", "glo"):
        macros = macros_of(session)
        source = macros.local if kind.startswith("loc") else macros.shared
        return words_of(source.get(text, ""))
    if kind in ("varlist", "var"):
        wild = any(sign in text for sign in "*?~-") or "_all" in text
        session.trace.touch(wild and "shape" in session.trace.whole)
        return session.data.listed(text)
    if kind in ("numlist", "num"):
        return [macro_text(number) for number in numbers_of(text)]
    if kind == "newlist":
        return text.split()
    raise DoError("invalid syntax of foreach", code=198)


def numbers_of(text: str) -> list[float]:
    """A list of numbers: `1 2 5/8 10(5)30`.

    >>> numbers_of("1 2/4 10(5)20")
    [1.0, 2.0, 3.0, 4.0, 10.0, 15.0, 20.0]
    """
    number = r"(-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?)"
    form = re.compile(rf"{number}(?:\({number}\){number}|[/:]{number})?")
    numbers: list[float] = []
    for word in re.sub(r"\s*([/(:\[])\s*", r"\1", text.replace(",", " ")).split():
        parts = required(form.fullmatch(word), "invalid numlist", code=121)
        first, *others = (float(one) for one in parts.groups() if one is not None)
        if len(others) == 1:
            others.insert(0, 1.0 if others[0] >= first else -1.0)
        numbers += _counted_steps(first, *others) if others else [first]
    return numbers


def _counted_steps(first: float, step: float, last: float) -> list[float]:
    DoError.when(step == 0 or MISSING in (first, step, last), "invalid numlist", code=121)
    turns = (last - first) / step + 1e-9
    DoError.when(turns >= _MOST, "a list of numbers is too long", code=123)
    number = floor(max(turns, -1.0)) + 1
    return [first + at * step for at in range(number)]


def for_values(interpreter: Interpreter, text: str, body: Sequence[Step]) -> None:
    """`forvalues NAME = 1/10` and its other forms."""
    match = required(_VALUES.match(text.strip()), "invalid syntax of forvalues", code=198)
    session = interpreter.session
    span = match["range"].strip()
    if " to " in span or " : " in span:
        span = re.sub(r"\s+(?:to|:)\s+", "/", span)
    steps = re.fullmatch(r"(.+)\((.+)\)(.+)", span, re.DOTALL)
    parts = steps.groups() if steps else re.split(r"/|:", span)
    DoError.when(len(parts) not in (2, 3), "invalid syntax of forvalues", code=198)
    values = [one_number(session, part) for part in parts]
    first, step, last = values if steps else (values[0], 1.0, values[1])
    items = [macro_text(number) for number in _counted_steps(first, step, last)]
    _over(interpreter, match["name"], items, body)


def _over(
    interpreter: Interpreter,
    name: str,
    items: Sequence[str],
    body: Sequence[Step],
    known: frozenset[str] = frozenset(),
) -> None:
    """Run a block for each item; unseen for those that are values of the data."""
    session = interpreter.session
    trace = session.trace
    touched = trace.touched or trace.branches > 0

    def turns(chosen: Iterable[str], *, hidden: bool) -> None:
        for item in chosen:
            held = hidden or holds_name(item, trace.names)
            trace.touch(held)
            session.set_local(name, item, held=held)
            if not _turn(interpreter, body):
                return

    try:
        if touched:
            turns([item for item in items if item in known], hidden=False)
            others = [item for item in items if item not in known]
            run_hidden(session, [], [body], lambda: turns(others, hidden=True))
        else:
            turns(items, hidden=False)
    finally:
        session.macros.local.pop(name, None)


def while_loop(interpreter: Interpreter, condition: str, body: Sequence[Step]) -> None:
    """`while EXP`: macros in the condition are expanded each time.

    From where the condition rests on values of the data, the turns are not seen.
    """
    session = interpreter.session
    line = session.log.line

    def holding() -> bool:
        session.log.line = line
        interpreter.tick(line)
        session.trace.fresh()
        return one_number(session, expanded(condition, macros_of(session))) != 0

    def turns() -> None:
        while _turn(interpreter, body) and holding():
            pass

    while True:
        held = holding()
        if session.trace.touched and not session.trace.branches:
            run_hidden(session, [condition], [body], turns if held else None)
            return
        if not held or not _turn(interpreter, body):
            return


def _turn(interpreter: Interpreter, body: Sequence[Step]) -> bool:
    """One turn of a loop; whether to go on."""
    try:
        interpreter.steps(body)
    except LoopExit as steering:
        return not steering.leave
    return True
