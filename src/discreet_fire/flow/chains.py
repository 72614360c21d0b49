"""Chains of names: what is bound to what is bound to something of interest.

In: names with what they are bound to, and a test of an expression that asks for names found so
far. Out: the names, until nothing changes. Chains run either way, so each round turns round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

__all__ = ["grown", "kept"]

_Node = TypeVar("_Node")


def grown(
    found: set[str], pairs: Iterable[tuple[str, _Node | None]], holds: Callable[[_Node], bool]
) -> None:
    """Add the names that are bound to what holds something.

    Args:
        found: The names; more are added.
        pairs: Names with what they are bound to.
        holds: Whether an expression holds it, by the names found so far.

    >>> found = set()
    >>> grown(found, [("a", "b"), ("b", "max"), ("c", "d")], lambda x: x == "max" or x in found)
    >>> sorted(found)
    ['a', 'b']
    """
    ordered, size = list(pairs), -1
    while size != (size := len(found)):
        ordered.reverse()
        for name, value in ordered:
            if name not in found and value is not None and holds(value):
                found.add(name)


def kept(
    found: set[str],
    values: Mapping[str, Sequence[_Node | None]],
    holds: Callable[[_Node], bool],
) -> None:
    """Leave the names that are bound to nothing but what holds something.

    Args:
        found: The names; some are taken out.
        values: What each name is bound to.
        holds: Whether an expression holds it, by the names left so far.

    >>> found = {"a", "b", "c"}
    >>> kept(found, {"a": ["b"], "b": ["1"], "c": ["a", "x"]}, lambda x: x == "1" or x in found)
    >>> sorted(found)
    ['a', 'b']
    """
    ordered, size = list(values.items()), -1
    while size != (size := len(found)):
        ordered.reverse()
        for name, bound in ordered:
            if name in found and not all(each is not None and holds(each) for each in bound):
                found.remove(name)
