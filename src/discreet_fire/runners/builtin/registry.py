"""The commands that the runner knows, each with its row of the catalogue.

In: functions marked with `command`, and the rows of the catalogue. Out: `find`, which gives
the command of a word. An option that its row does not list stops the run.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from discreet_fire.catalogue import CommandFacts, canonical, execution_rows, facts_of
from discreet_fire.runners.builtin.language.calls import CommandCall
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.statistics import SafeLimits

_Run = Callable[["Session", CommandCall], None]
_KNOWN: dict[str, Command] = {}


@dataclass(frozen=True)
class Command:
    """A command of the runner: what the catalogue says of it, and the function that runs it."""

    facts: CommandFacts
    run: _Run

    @property
    def name(self) -> str:
        """Full name."""
        return self.facts.name


def command(names: str) -> Callable[[_Run], _Run]:
    """Mark a function as what runs commands; all else is in their rows of the catalogue.

    A ValueError says that a command has no row, or that another function runs it.
    """

    def marked(run: _Run) -> _Run:
        for one in names.split():
            facts = facts_of(one)
            if facts is None or facts.takes.of_language:
                raise ValueError(f"the catalogue has no row for the command {one}")
            if one in _KNOWN and _KNOWN[one].run.__qualname__ != run.__qualname__:
                raise ValueError(f"two functions for the command {one}")
            _KNOWN[one] = Command(facts, run)
        return run

    return marked


@cache
def _load() -> None:
    """Import all modules that hold commands."""
    package = importlib.import_module("discreet_fire.runners.builtin.commands")
    for module in sorted(one.name for one in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")
    rows = {one.name for one in execution_rows().values() if not one.takes.of_language}
    if missing := rows - _KNOWN.keys():
        raise ValueError(f"nothing runs the commands {', '.join(sorted(missing))}")


def commands() -> list[Command]:
    """All commands, by name."""
    _load()
    return [_KNOWN[name] for name in sorted(_KNOWN)]


def find(word: str) -> Command | None:
    """The command of a word: by its full name or a legal abbreviation."""
    _load()
    if word in _KNOWN:
        return _KNOWN[word]
    full = canonical(word)
    return _KNOWN.get(full) if full is not None else None


def critical_limits(session: Session, known: Command, call: CommandCall) -> SafeLimits:
    """The rules for one call: those of the session, with the p of its option `critical()`, which
    all commands with a safe statistic take.
    """
    words = [word for word in call.options if word in _CRITICAL]
    if not words or not known.facts.shows.statistic:
        return session.limits
    p = call.number(words[0], 0.0)
    call.options = {word: text for word, text in call.options.items() if word not in words}
    DoError.when(not 0 < p <= 100, "critical() takes a number above 0, up to 100", code=198)
    UnsupportedError.when(session.trace.touched, "critical() from values of the data")
    return session.limits.critical(p)


#: The option `critical()` and its shorter forms.
_CRITICAL = tuple("critical"[:end] for end in range(3, 9))


def settle_options(known: Command, call: CommandCall) -> None:
    """Give the options of a call their full names; stop at one that is not known."""
    settled: dict[str, str | None] = {}
    for word, argument in call.options.items():
        option = next((one for one in known.facts.options if one.name == word), None)
        option = option or next((one for one in known.facts.options if one.matches(word)), None)
        if option is None:
            raise UnsupportedError(f"option {word} of {known.name}")
        if option.argument and argument is None and not option.optional:
            raise DoError(f"option {option.name}() needs something in brackets", code=198)
        if argument is not None and not option.argument:
            raise DoError(f"option {option.name} takes nothing in brackets", code=198)
        settled[option.name] = argument
    call.options = settled
    if call.weight is not None:
        kind = call.weight.kind
        taken = known.facts.takes.weights.split()
        UnsupportedError.when(kind != "weight" and kind not in taken, f"{kind}s with {known.name}")
        UnsupportedError.when(not taken, f"weights with {known.name}")


def layout_notes(known: Command, call: CommandCall) -> list[str]:
    """What the log says of options that only change how output looks in Stata."""
    return [
        f"(option {one.name} of {known.name} has no effect here)"
        for one in known.facts.options
        if one.effect == "layout" and call.has(one.name)
    ]
