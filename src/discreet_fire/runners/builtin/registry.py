"""The commands that the runner knows: names, options, what they do.

In: functions marked with `command`. Out: `find`, which gives the command of a word, and the
table of the documentation. An option that is not listed here stops the run.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from discreet_fire.catalogue.command_names import canonical
from discreet_fire.runners.builtin.language.calls import CommandCall
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError

if TYPE_CHECKING:
    from discreet_fire.runners.builtin.state.session import Session

__all__ = ["Command", "Option", "command", "commands", "find", "layout_notes", "settle_options"]

_Run = Callable[["Session", CommandCall], None]
_KNOWN: dict[str, Command] = {}
_DECLARED = re.compile(r"(?P<name>[A-Za-z_0-9]+)(?P<brackets>\(\))?(?P<may>\?)?\Z")


@dataclass(frozen=True)
class Option:
    """An option: full name, shortest form, and whether it takes something in brackets.

    Args:
        name: Full name.
        least: How many letters the shortest form has.
        argument: Whether something may stand in brackets.
        optional: Whether the brackets may be left out.
        effect: Whether it has none: "layout" would change how output looks, which is said
            in the log; "idle" would not change anything that can be seen. Else empty.
    """

    name: str
    least: int
    argument: bool
    optional: bool
    effect: str = ""

    def matches(self, word: str) -> bool:
        """Whether a word is this option or a legal abbreviation."""
        return len(word) >= self.least and self.name.startswith(word)


@dataclass(frozen=True)
class Command:
    """A command of the runner.

    Args:
        name: Full name.
        run: What it does.
        options: Options it takes.
        summary: What it does, for the documentation.
        by: Whether `by` may stand before it.
        weights: Weights it takes.
        expression: Whether `= exp` is part of its syntax.
        raw: Whether it reads its text itself.
        group: Where it stands in the documentation.
    """

    name: str
    run: _Run
    options: tuple[Option, ...]
    summary: str
    by: bool
    weights: frozenset[str]
    expression: bool
    raw: bool
    group: str


def command(
    name: str,
    *,
    summary: str,
    options: str = "",
    layout: str = "",
    idle: str = "",
    by: bool = False,
    weights: str = "",
    expression: bool = False,
    raw: bool = False,
    group: str = "data",
) -> Callable[[_Run], _Run]:
    """Mark a function as a command.

    Args:
        name: Full name, or several with blanks between for one function.
        summary: What it does, one line.
        options: Options with their shortest form in capitals, `()` where something stands
            in brackets, `()?` where it may: `"Detail SEParator() noFORmat"`.
        layout: Options that only change how output looks in Stata: taken, and the log says
            that they change nothing here.
        idle: Options that change no result in Stata either: taken without a word.
        by: Whether `by` may stand before it; the function then sees all groups at once.
        weights: Weights it takes, such as `"fweight aweight"`.
        expression: Whether `= exp` is part of its syntax.
        raw: Whether it reads its text itself; its options are then not looked at.
        group: Where it stands in the documentation: data, output, models or program.
    """

    def marked(run: _Run) -> _Run:
        for one in name.split():
            if one in _KNOWN and _KNOWN[one].run.__qualname__ != run.__qualname__:
                raise ValueError(f"two functions for the command {one}")
            _KNOWN[one] = Command(
                one,
                run,
                (
                    *(_declared(word) for word in options.split()),
                    *(_declared(word, "layout") for word in layout.split()),
                    *(_declared(word, "idle") for word in idle.split()),
                ),
                summary,
                by,
                frozenset(weights.split()),
                expression,
                raw,
                group,
            )
        return run

    return marked


def _declared(text: str, effect: str = "") -> Option:
    found = _DECLARED.match(text)
    if not found:
        raise ValueError(f"not an option: {text}")
    word = found["name"]
    least = len(word)
    if any(one.isupper() for one in word):
        least = max(at for at, one in enumerate(word) if one.isupper()) + 1
    return Option(word.lower(), least, bool(found["brackets"]), bool(found["may"]), effect)


@cache
def _load() -> None:
    """Import all modules that hold commands."""
    package = importlib.import_module("discreet_fire.runners.builtin.commands")
    for module in sorted(one.name for one in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")


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


def settle_options(known: Command, call: CommandCall) -> None:
    """Give the options of a call their full names; stop at one that is not known."""
    settled: dict[str, str | None] = {}
    for word, argument in call.options.items():
        option = next((one for one in known.options if one.name == word), None)
        option = option or next((one for one in known.options if one.matches(word)), None)
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
        if kind != "weight" and kind not in known.weights:
            raise UnsupportedError(f"{kind}s with {known.name}")
        if not known.weights:
            raise UnsupportedError(f"weights with {known.name}")


def layout_notes(known: Command, call: CommandCall) -> list[str]:
    """What the log says of options that only change how output looks in Stata."""
    return [
        f"(option {one.name} of {known.name} has no effect here)"
        for one in known.options
        if one.effect == "layout" and call.has(one.name)
    ]
