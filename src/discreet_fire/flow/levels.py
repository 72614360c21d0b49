"""How bad it is what names of a program hold, and how that is found out round by round.

In: what names are given, and whether that holds something. Out: the names that hold something of
interest, found until nothing changes, and the levels of what they hold; of programs of SAS the
macro variables that hold values of the data. Nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeVar

from discreet_fire.catalogue import Action
from discreet_fire.scripts import PackageToken, SasStatement, parenthesis, split_at

_Node = TypeVar("_Node")
_Item = TypeVar("_Item")
_Tokens = Sequence[PackageToken]
_REFERENCE = re.compile(r"(&+)([A-Za-z_]\w*)")


class Held(NamedTuple):
    """What a piece of a program holds: how bad it is, and what it is."""

    rank: int
    what: str = ""

    @property
    def action(self) -> Action:
        """What becomes of a command that shows it."""
        return (Action.ALLOWED, Action.REVIEW, Action.REFUSED, Action.REFUSED)[self.rank]

    def at_most(self, rank: int) -> Held:
        """The same, but not worse than `rank`."""
        return self if self.rank <= rank else Held(rank, self.what)


CLEAN = Held(0)
DOUBT = 1
BAD = 2
#: The value of one certain record, which honest programs hardly ever name.
RECORD = 3


def settled(
    items: Iterable[_Item], look: Callable[[_Item], None], size: Callable[[], int], most: int = -1
) -> bool:
    """Look at items until nothing new turns up; whether that came to an end.

    Chains run either way, so each round turns round.

    >>> found = {"a"}
    >>> settled(["cb", "ba"], lambda x: found.update(x[0] * (x[1] in found)), lambda: len(found))
    True
    >>> sorted(found)
    ['a', 'b', 'c']
    """
    ordered, before = list(items), -1
    while before != (before := size()):
        if most == 0:
            return False
        most -= 1
        for item in ordered:
            look(item)
        ordered.reverse()
    return True


def grown(
    found: set[str],
    units: Iterable[tuple[Collection[str], _Node | None]],
    holds: Callable[[_Node], bool],
) -> None:
    """Add the names that are bound to what holds something.

    >>> found, units = set(), [("a", "b"), ("b", "max"), ("c", "d")]
    >>> grown(found, units, lambda x: x == "max" or x in found)
    >>> sorted(found)
    ['a', 'b']
    """

    def look(unit: tuple[Collection[str], _Node | None]) -> None:
        names, value = unit
        if value is not None and not found.issuperset(names) and holds(value):
            found.update(names)

    settled(reversed(list(units)), look, lambda: len(found))


@dataclass(kw_only=True)
class MacroValues:
    """Macro variables that hold values of the data."""

    functions: frozenset[str]  # functions of %sysfunc that give nothing of the data
    held: set[str] = field(default_factory=set)  # in capitals; a star stands for any end
    parameters: dict[str, list[str]] = field(default_factory=dict)

    def in_text(self, text: str) -> bool:
        """Whether a text refers to one of them."""
        return any(
            self.holds(name) or (len(signs) > 1 and self._may_mean("" if signs[2:] else name))
            for signs, name in _REFERENCE.findall(text)
        )

    def _may_mean(self, begun: str) -> bool:
        """Whether a name with this beginning, as in ``&&v&i``, may be that of one of them."""
        return any(name.startswith(begun.upper()) for name in self.held)

    def holds(self, name: str) -> bool:
        """Whether a macro variable holds values of the data."""
        upper = name.upper()
        begun = (one[:-1] for one in self.held if len(one) > 1 and one[-1] == "*")
        return upper in self.held or any(map(upper.startswith, begun))

    def in_tokens(self, tokens: _Tokens) -> bool:
        """Whether one of the tokens does, or a function that reads data."""
        for at, token in enumerate(tokens):
            behind = [item for item in tokens[at + 1 : at + 4] if item.kind != "sign"]
            expands = token.kind == "reference" or token.text[:1] == '"'
            if expands and self.in_text(token.text):
                return True
            named = behind[0] if behind else token
            if token.upper in ("%SYSFUNC", "%QSYSFUNC") and named.upper not in self.functions:
                return True
            named_here = token.upper in ("%SUPERQ", "%SYMGET") and named is not token
            if named_here and (named.kind != "word" or self.holds(named.text)):
                return True
        return False

    def learn(self, statements: Sequence[SasStatement]) -> None:
        """Read what holds values of the data."""
        for one in statements:
            if one.first == "%MACRO" and len(one.tokens) > 1:
                inside = [t for t in one.tokens[2:] if t.kind == "word"]
                self.parameters[one.tokens[1].upper] = [t.upper for t in inside]
        bound = [item for one in statements for item in self._bound_by(one.tokens)]
        for names, tokens in bound:
            self.held |= set(names) if tokens is None else set()
        grown(self.held, bound, self.in_tokens)

    def _bound_by(self, tokens: _Tokens) -> Iterator[tuple[list[str], _Tokens | None]]:
        """Names with what they are bound to; None for values of the data."""
        for at, token in enumerate(tokens):
            upper, rest = token.upper, tokens[at + 1 :]
            if upper in ("SYMPUT", "SYMPUTX", "SYMPUTN") and len(rest) > 2:
                text = rest[1].text.strip("'\"").strip().upper()
                # "n" || left(i)
                yield [text if rest[2].text == "," else f"{text}*"], None
            elif upper == "INTO":
                into = split_at(rest, "FROM")[0]
                for first, second in pairwise(into):
                    if first.text == ":":
                        yield [second.upper, f"{second.upper.rstrip('0123456789')}*"], None
            elif upper == "%LET" and any(one.text == "=" for one in rest[1:]):
                equals = next(n for n, one in enumerate(rest) if one.text == "=")
                name = rest[0].upper if rest[0].kind == "word" else ""
                yield [name if equals == 1 else f"{name}*"], rest[equals + 1 :]
            elif upper == "%DO" and len(rest) > 1:
                yield [rest[0].upper], rest[1:]
            elif token.kind == "macro" and upper[1:] in self.parameters:
                yield self.parameters[upper[1:]], parenthesis(tokens, at + 1)
