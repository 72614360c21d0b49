"""How bad it is what names of a program hold, and how that is found out round by round.

In: what names are given. Out: the levels of what they hold, found until nothing changes. Nothing is
run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from discreet_fire.catalogue import Action

_Item = TypeVar("_Item")


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
