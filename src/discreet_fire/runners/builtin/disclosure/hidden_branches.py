"""Parts of a program that single values of the data choose: they run unseen.

In: a condition or list that rests on such values, and the steps it decides about. Out: the
steps run (or not) without any output, and all that they may change is marked as resting on
single values, whether they ran or not: what is missing would else tell as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from discreet_fire.catalogue import SAFE, canonical, facts_of
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.language.steps import Step
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.runners.builtin.state.trace import ROWS, counted_names
from discreet_fire.stata import DoStatement, Kind, parse_do

#: What a command may change that the catalogue does not know.
_ANYTHING = ("code", "macros", "scalars", "return", "data", "r()", "e()")
_DEEPEST = 8


def run_hidden(
    session: Session,
    texts: Sequence[str],
    bodies: Sequence[Sequence[Step]],
    run: Callable[[], object] | None,
) -> None:
    """Run what single values of the data have chosen, if anything (`run`).

    Texts are conditions and single commands that belong to it, bodies the blocks that the values
    decide about, whether they run or not. What would stop the program or a loop, or change
    something that is not followed, is an error.
    """
    trace = session.trace
    _PossibleEffects(session).all(texts, bodies)
    if not trace.branches:
        reason = "single values of the data decide what happens here"
        session.withhold("if", "flow", reason)
    before = [part.checkpoint() for part in session.parts]
    with trace.branch():
        try:
            if run is not None:
                run()
        except (DoError, UnsupportedError):
            pass
        except Exception as error:  # the time is over, or the runner fails: its place would tell
            error.redacted = True  # type: ignore[attr-defined]
            raise
        finally:
            for part, kept in zip(session.parts, before, strict=True):
                part.restore(kept)


class _PossibleEffects:
    """Marks what steps may change."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.trace = session.trace
        self.programs: list[str] = []

    def all(self, texts: Iterable[str], bodies: Iterable[Sequence[Step]]) -> None:
        """All that texts and steps may change."""
        for text in texts:
            self.text(text)
        for body in bodies:
            for step in body:
                self.text(step.code, opens=step.body is not None)
                self.all((), [step.body or ()])

    def text(self, text: str, *, opens: bool = False) -> None:
        """What one command may change."""
        depth = self.session.macros.depth
        self.trace.macros |= {(depth, name) for name in counted_names(text)}
        if not text.strip():
            return
        for one in parse_do(f"{text} {{\n}}" if opens else text).statements:
            if one.kind is Kind.COMMAND:
                self.statement(one, text)

    def statement(self, one: DoStatement, text: str) -> None:
        """What a command with its prefixes may change."""
        for prefix in one.prefixes:
            name = prefix.canonical or prefix.text
            if name == "capture":
                self.trace.doubt_code()
            elif name in ("by", "bysort"):
                self.data()
        if one.command is None:
            return
        word, name = one.command.text, one.command.canonical or one.command.text
        rest = text[one.command.end :].strip().removesuffix("{").strip()
        if word.startswith(SAFE):
            word = name = word.removeprefix(SAFE)
        if word == "run" or any(sign in word for sign in "`$"):
            self.anything()
        elif word in self.session.macros.programs:
            self.program(word)
        else:
            self.command(name, rest)

    def command(self, name: str, rest: str) -> None:
        """What a command may change, as its row says; anything if it has none."""
        facts = facts_of(name) or facts_of(canonical(name) or "")
        first = rest.replace("=", " ").replace(",", " ").split()
        named = first[0] if first else ""
        for effect in facts.unseen if facts is not None else _ANYTHING:
            if effect == "refused":
                raise DoError(f"{name} may not hang on single values of the data", code=198)
            if effect == "code":
                self.trace.doubt_code()
            elif effect == "return":
                self.session.macros.frame.doubted = True
            elif effect == "macro":
                self.macro(name, named.strip("+-:"))
            elif effect == "new":
                self.trace.whole.add("shape")
                self.trace.variables |= set(filter(str.isidentifier, first))
                self.trace.sized |= set(filter(str.isidentifier, first))
            elif effect == "variable":
                self.replaced(named)
            elif effect == "data":
                self.data()
            elif effect != "nothing":
                self.trace.whole.add(effect)

    def macro(self, kind: str, name: str) -> None:
        """A macro may change; each if its name is put together."""
        if name.isidentifier():
            depth = self.session.macros.depth if kind == "local" else 0
            self.trace.macros.add((depth, name))
        else:
            self.trace.whole.add("macros")

    def replaced(self, name: str) -> None:
        """A variable may change."""
        variable = self.session.data.find(name) if name.isidentifier() else None
        if variable is None:
            self.data()
        else:
            self.trace.variables.add(variable)
            self.trace.sized.add(variable)

    def data(self) -> None:
        """The data may change: records, variables, values."""
        self.trace.whole |= {"shape", "r()"}
        self.trace.variables |= {*self.session.data.variables, ROWS}

    def anything(self) -> None:
        """Anything may change."""
        self.trace.whole |= {"macros", "scalars", "e()"}
        self.trace.doubt_code()
        self.data()

    def program(self, name: str) -> None:
        """What a program of the do-file may change."""
        if name in self.programs or len(self.programs) > _DEEPEST:
            self.anything()
            return
        self.programs.append(name)
        self.trace.whole |= {"r()", "e()"}
        self.all((), [self.session.macros.programs[name].body])
        self.programs.pop()
