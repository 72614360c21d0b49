"""The rules of a programme as objects: from [rules.NAME] to what `discreet.primary` takes.

In: a section of rules. Out: rules, how many of the largest contributions they look at, and
what is wrong with them, by key and never by value. SECRET.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, Problem
from discreet.release.programme.file import nearest
from discreet.release.programme.schema import RuleSetEntry

if TYPE_CHECKING:
    from discreet.rules import MissingSafe, Rule
    from discreet.tables import Table

__all__ = ["RuleSet", "rule_problems"]

#: Key → name of the rule, what a bare number or list of numbers is, whether counts have it.
_KINDS: Mapping[str, tuple[str, tuple[str, ...], bool]] = {
    "minimum_frequency": ("MinimumFrequency", ("n",), True),
    "marginal": ("MarginalRule", ("difference",), True),
    "dominance": ("Dominance", ("n", "k"), False),
    "p_percent": ("PPercent", ("p",), False),
    "pq": ("PQ", ("p", "q"), False),
    "request": ("Request", (), False),
    "zeros": ("ZeroUnsafe", ("safety_range",), False),
}
_REQUEST = "request"
#: What a rule for those who asked names in a programme: a filter in place of a table.
_WHERE = "where"


@dataclass(frozen=True, repr=False)
class _Stated:
    """One rule as it is stated."""

    key: str
    settings: Mapping[str, Any]

    @property
    def of_counts(self) -> bool:
        """Whether tables of counts can be judged by it."""
        counted = self.settings.get("of", "records") in ("records", "weights")
        return _KINDS[self.key][2] and counted

    def rule(self, asked: Table | None = None) -> Rule:
        """The rule as an object."""
        import discreet.rules

        settings = {name: each for name, each in self.settings.items() if name != _WHERE}
        if self.key == _REQUEST:
            settings["asked"] = asked
        made: Rule = getattr(discreet.rules, _KINDS[self.key][0])(**settings)
        return made


class RuleSet:
    """The rules of one section. SECRET.

    Args:
        entry: The section, free of mistakes.

    >>> RuleSet(RuleSetEntry(dominance=[2, 85], p_percent={"p": 10, "n": 2})).contributions
    3
    """

    def __init__(self, entry: RuleSetEntry) -> None:
        self.entry = entry
        self._stated = [stated for stated, _ in _rules(entry) if stated is not None]

    @property
    def contributions(self) -> int:
        """How many of the largest contributions the rules look at."""
        wanted = [1]
        for stated in self._stated:
            n = stated.settings.get("n", 1)
            if stated.key == "dominance":
                wanted.append(n)
            elif stated.key in ("p_percent", "pq"):
                wanted.append(n + 1)
        return max(wanted)

    @property
    def requests(self) -> list[str]:
        """The filters that tell whose request is meant, in the order of the rules."""
        found = [each.settings[_WHERE] for each in self._stated if each.key == _REQUEST]
        return list(dict.fromkeys(found))

    @property
    def holdings(self) -> bool:
        """Whether a rule looks at holdings."""
        return any(each.settings.get("per") == "holding" for each in self._stated)

    def judges(self, *, counts: bool) -> bool:
        """Whether there is a rule for counts, or for values."""
        return any(each.of_counts or not counts for each in self._stated)

    def rules(self, *, counts: bool, asked: Mapping[str, Table]) -> list[Rule | MissingSafe]:
        """The rules, for a value or for counts.

        Args:
            counts: Whether counts are judged: rules on values are left out.
            asked: Filter → the table of those who asked for protection.
        """
        from discreet.rules import MissingSafe

        found: list[Rule | MissingSafe] = [
            each.rule(asked.get(each.settings.get(_WHERE, "")))
            for each in self._stated
            if each.of_counts or not counts
        ]
        return [*found, *([MissingSafe()] if self.entry.missing_safe else [])]

    def __repr__(self) -> str:
        return "<RuleSet: secret>"


def _rules(entry: RuleSetEntry) -> Iterator[tuple[_Stated | None, str]]:
    """Each rule of a section with its key; None for one that is not well formed."""
    for key, (_, bare, _) in _KINDS.items():
        value = getattr(entry, key)
        if value is None:
            continue
        several = isinstance(value, list) and any(isinstance(one, list | dict) for one in value)
        for one in value if several else [value]:
            settings = _settings(one, bare)
            yield None if settings is None else _Stated(key, settings), key


def _settings(value: Any, bare: tuple[str, ...]) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return dict(value)
    numbers = value if isinstance(value, list) else [value]
    return dict(zip(bare, numbers, strict=True)) if len(numbers) == len(bare) else None


def rule_problems(entry: RuleSetEntry) -> Iterator[tuple[str, Problem]]:
    """What is wrong with a section of rules, by key; values are never shown.

    >>> [problem.what for _, problem in rule_problems(RuleSetEntry(p_percent=-1))]
    ['p is a number above 0']
    """
    import discreet.rules
    from discreet.tables import Table

    if not any(True for _ in _rules(entry)):
        known = ", ".join(_KINDS)
        yield "", Problem("there is no rule", "", f"known: {known}")
    for stated, key in _rules(entry):
        name, bare, _ = _KINDS[key]
        known_keys = [field.name for field in fields(getattr(discreet.rules, name))]
        if key == _REQUEST:
            known_keys = [_WHERE, *(each for each in known_keys if each != "asked")]
        if stated is None:
            hint = f"write {key} = [{', '.join(bare)}] or a table of keys" if bare[1:] else ""
            what = "this is not what the rule needs"
            yield key, Problem(what, "", hint or f"keys: {', '.join(known_keys)}")
            continue
        yield from ((key, problem) for problem in _wrong(stated, known_keys, Table))


def _wrong(stated: _Stated, known: list[str], table: type[Table]) -> Iterator[Problem]:
    unknown = [each for each in stated.settings if each not in known]
    for each in unknown:
        yield Problem(f"there is no such key: {each}", "", nearest(each, known))
    where = stated.settings.get(_WHERE)
    if stated.key == _REQUEST and (not isinstance(where, str) or not where.strip()):
        yield Problem("where is missing", "", "a filter: where = \"asked == 'yes'\"")
    if unknown:
        return
    nobody = table(dimensions=(), index=(), count=_no_cells())
    try:
        stated.rule(nobody)
    except TypeError:
        needed = [each for each in known if each in ("n", "k", "p", "q", "percent", "safety_range")]
        yield Problem("a parameter is missing", "", f"keys: {', '.join(needed)}")
    except DiscreetError as error:
        for problem in error.problems:
            yield Problem(problem.what, "", problem.hint)


def _no_cells() -> Any:
    import numpy as np

    return np.zeros(0, dtype=np.int64)
