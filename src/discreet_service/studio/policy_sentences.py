"""Policies as sentences: each limit in words, what it was and becomes, and which is stricter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from discreet.publication import number_text
from discreet_service.policies import PolicyDocument
from discreet_service.web import words

#: Limits that protect more the larger they are; all other numbers protect less.
_STRICTER = frozenset((
    "small_universes.least", "differences.least", "differences.blur", "sparsity.small",
    "patterns.window_hours",
))  # fmt: skip
#: What says nothing about what may be asked.
_NEUTRAL = frozenset(("revision", "patterns.contact"))
Number = (int, float)


def flat_values(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a document by their names, one after the other.

    >>> dict(flat_values({"size": {"cells": 1}, "names": ["a", "b"]}))
    {'size.cells': 1, 'names': 'a, b'}
    """
    for name, value in tree.items():
        where = f"{above}.{name}" if above else str(name)
        if isinstance(value, Mapping):
            yield from flat_values(value, where)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for at, item in enumerate(value, 1):
                yield from flat_values(item, f"{where} {at}")
        elif isinstance(value, list):
            yield where, ", ".join(map(str, value)) or "–"
        else:
            yield where, "–" if value is None else value


def limit_words(name: str, language: str) -> str:
    """A limit in words; its own name where there are none.

    >>> limit_words("variables.depth.state", "en")
    'Variables besides geography, at the level state'
    """
    spoken = words("policy_limits", language)
    if name in spoken:
        return spoken[name]
    above, _, last = name.rpartition(".")
    return spoken[f"{above}.*"].format(last) if f"{above}.*" in spoken else name


def written_value(value: Any, language: str) -> str:
    """A value as people write it."""
    if type(value) in Number:
        return number_text(value, 0 if float(value).is_integer() else 2, language)
    return words("policy_limits", language).get(f"={value}", str(value))


def changed_limits(
    now: PolicyDocument, then: PolicyDocument, language: str
) -> Iterator[tuple[str, str, str, str, str]]:
    """What differs: the limit in words, before, after, the word of its direction, and its tag."""
    before, after = (dict(flat_values(one.model_dump(mode="json"))) for one in (now, then))
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name, "–"), after.get(name, "–")
        if old == new:
            continue
        direction, tag = "other", ""
        if type(old) in Number and type(new) in Number and name not in _NEUTRAL:
            stricter = (new > old) == (name in _STRICTER)
            direction, tag = ("stricter", "good") if stricter else ("looser", "problem")
        yield (limit_words(name, language), written_value(old, language),
               written_value(new, language), direction, tag)  # fmt: skip
