"""Loops: `foreach`, `forvalues`, `while`.

In: what stands after the word, and the steps of the block. Out: the steps run for each
element. A loop over values of the data is followed by the trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import floor
from typing import TYPE_CHECKING

from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.extended import words_of
from discreet.output_checking.running.macros import expanded
from discreet.output_checking.running.masking import holds
from discreet.output_checking.running.single import macro_text, one_value
from discreet.output_checking.running.steering import steered
from discreet.output_checking.running.values import MISSING

if TYPE_CHECKING:
    from discreet.output_checking.running.interpreter import Interpreter
    from discreet.output_checking.running.session import Session
    from discreet.output_checking.running.tree import Step

__all__ = ["LoopSteering", "for_each", "for_values", "numbers_of", "while_loop"]

_EACH = re.compile(r"(?P<name>\w+)\s+(?:of\s+(?P<kind>\w+)|in)\b(?P<list>.*)\Z", re.DOTALL)
_VALUES = re.compile(r"(?P<name>\w+)\s*=\s*(?P<range>.*)\Z", re.DOTALL)
_MOST = 10_000_000


class LoopSteering(Exception):  # noqa: N818 - steers a loop, is no error
    """`continue` or `continue, break`."""

    def __init__(self, *, leave: bool) -> None:
        super().__init__()
        self.leave = leave


def for_each(interpreter: Interpreter, text: str, body: Sequence[Step]) -> None:
    """`foreach NAME in …` or `foreach NAME of KIND …`."""
    found = _EACH.match(text.strip())
    if not found:
        raise DoError("invalid syntax of foreach", code=198)
    items = _items(interpreter.session, found["kind"], found["list"].strip())
    _over(interpreter, found["name"], items, body, _known_words(interpreter.session, found))


def _known_words(session: Session, found: re.Match[str]) -> frozenset[str]:
    """Of a list that rests on values of the data, the words that may be known."""
    kind, name = found["kind"] or "", found["list"].strip()
    if kind.startswith(("loc", "glo")):
        depth = len(session.locals) if kind.startswith("loc") else 0
        return session.trace.levels.get((depth, name), frozenset())
    return frozenset()


def _items(session: Session, kind: str | None, text: str) -> list[str]:
    if kind is None:
        return words_of(text)
    if kind in ("local", "global", "loc", "glo"):
        macros = session.macros()
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
    number = r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?"
    found: list[float] = []
    for word in re.sub(r"\s*([/(:\[])\s*", r"\1", text.replace(",", " ")).split():
        if re.fullmatch(number, word):
            found.append(float(word))
            continue
        steps = re.fullmatch(rf"({number})\(({number})\)({number})", word)
        span = re.fullmatch(rf"({number})[/:]({number})", word)
        if steps:
            found.extend(_counted(float(steps[1]), float(steps[2]), float(steps[3])))
        elif span:
            first, last = float(span[1]), float(span[2])
            found.extend(_counted(first, 1.0 if last >= first else -1.0, last))
        else:
            raise DoError("invalid numlist", code=121)
    return found


def _counted(first: float, step: float, last: float) -> list[float]:
    if step == 0 or MISSING in (first, step, last):
        raise DoError("invalid numlist", code=121)
    turns = (last - first) / step + 1e-9
    if turns >= _MOST:
        raise DoError("a list of numbers is too long", code=123)
    number = floor(max(turns, -1.0)) + 1
    return [first + at * step for at in range(number)]


def for_values(interpreter: Interpreter, text: str, body: Sequence[Step]) -> None:
    """`forvalues NAME = 1/10` and its other forms."""
    found = _VALUES.match(text.strip())
    if not found:
        raise DoError("invalid syntax of forvalues", code=198)
    session = interpreter.session
    span = found["range"].strip()
    if " to " in span or " : " in span:
        span = re.sub(r"\s+(?:to|:)\s+", "/", span)
    steps = re.fullmatch(r"(.+)\((.+)\)(.+)", span, re.DOTALL)
    parts = steps.groups() if steps else re.split(r"/|:", span)
    if len(parts) not in (2, 3):
        raise DoError("invalid syntax of forvalues", code=198)
    values = []
    for part in parts:
        value = one_value(session, part)
        if isinstance(value, str):
            raise DoError("type mismatch", code=109)
        values.append(value)
    first, step, last = values if steps else (values[0], 1.0, values[1])
    items = [macro_text(number) for number in _counted(first, step, last)]
    _over(interpreter, found["name"], items, body)


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
            trace.touched = hidden or holds(item, trace.names)
            session.set_local(name, item)
            if not _turn(interpreter, body):
                return

    try:
        if touched:
            turns([item for item in items if item in known], hidden=False)
            others = [item for item in items if item not in known]
            steered(session, [], [body], lambda: turns(others, hidden=True))
        else:
            turns(items, hidden=False)
    finally:
        session.local.pop(name, None)


def while_loop(interpreter: Interpreter, condition: str, body: Sequence[Step]) -> None:
    """`while EXP`: macros in the condition are expanded each time.

    From where the condition rests on values of the data, the turns are not seen.
    """
    session = interpreter.session
    line = session.line

    def holding() -> bool:
        session.line = line
        interpreter.tick(line)
        session.trace.fresh()
        value = one_value(session, expanded(condition, session.macros()))
        if isinstance(value, str):
            raise DoError("type mismatch", code=109)
        return value != 0

    def turns() -> None:
        while _turn(interpreter, body) and holding():
            pass

    while True:
        held = holding()
        if session.trace.touched and not session.trace.branches:
            steered(session, [condition], [body], turns if held else None)
            return
        if not held or not _turn(interpreter, body):
            return


def _turn(interpreter: Interpreter, body: Sequence[Step]) -> bool:
    """One turn of a loop; whether to go on."""
    try:
        interpreter.steps(body)
    except LoopSteering as steering:
        return not steering.leave
    return True
