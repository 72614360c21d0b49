"""The rules of a programme as objects: from [rules.NAME] to what `discreet.primary` takes.

In: a section of rules. Out: rules, how many of the largest contributions they look at, and
what is wrong with them, by key and never by value. SECRET.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

import numpy as np

from discreet.confidential import SecretValues
from discreet.errors import DiscreetError, Problem, nearest
from discreet.rules.contributors import MissingSafe, NothingSensitive
from discreet.rules.holdings import Waivers, without_consent
from discreet.rules.primaries import Primary, primary
from discreet.rules.protocol import CodeRules, Rule, known_rules
from discreet.tables import Table


@dataclass(frozen=True, repr=False)
class _Stated:
    kind: type[Rule]
    settings: Mapping[str, Any]

    @property
    def filters(self) -> list[Any]:
        """The filters that stand for tables."""
        return [self.settings.get(name) for name in self.kind.filters.values()]

    @property
    def keys(self) -> list[str]:
        """The keys that it may have."""
        parameters = [field.name for field in fields(self.kind)]  # type: ignore[arg-type]
        own = [name for name in parameters if name not in self.kind.filters]
        return [*self.kind.filters.values(), *own]

    def rule(self, asked: Mapping[str, Table | None] | None = None) -> Rule:
        """The rule as an object; without tables, one that judges nothing."""
        named = self.kind.filters
        settings = {key: each for key, each in self.settings.items() if key not in named.values()}
        for parameter, key in named.items():
            text = self.settings.get(key)
            settings[parameter] = _NOBODY if asked is None else asked.get(text or "")
        return self.kind(**settings)


_NOBODY = Table(dimensions=(), index=(), count=np.zeros(0, dtype=np.int64))


class RuleSet(SecretValues):
    """The rules of one section. SECRET.

    >>> from discreet.release.programme.rule_sections import RuleSetEntry
    >>> RuleSet(RuleSetEntry(dominance=[2, 85], p_percent={"p": 10, "n": 2})).contributions
    3
    """

    def __init__(self, entry: Any) -> None:
        self.entry = entry
        self._general = _stated(entry)
        self._of_codes = [(code.cells, _stated(code)) for code in entry.codes]
        self._stated = [*self._general, *(one for _, own in self._of_codes for one in own)]
        self._made = [stated.rule() for stated in self._stated]

    @property
    def contributions(self) -> int:
        """Number of largest contributions that the rules use."""
        return max([1, *(rule.contributions for rule in self._made)])

    @property
    def filters(self) -> list[str]:
        """The filters whose records are counted by themselves: requests, and no consent."""
        texts = [text for each in self._stated for text in each.filters]
        return list(dict.fromkeys([*texts, *([self.withheld] if self.withheld else [])]))

    @property
    def withheld(self) -> str:
        """The filter of those who have not consented to be shown; empty without waivers."""
        waivers = self.entry.waivers
        return "" if waivers is None else without_consent(waivers.where)

    @property
    def holdings(self) -> bool:
        """Whether a rule looks at holdings."""
        return any(rule.per == "holding" for rule in self._made)

    def with_holdings(self) -> RuleSet:
        """A copy in which rules without a stated kind of contributor also use holdings."""
        codes = [
            entry.model_copy(update=_with_holdings(own))
            for entry, (_, own) in zip(self.entry.codes, self._of_codes, strict=True)
        ]
        stated = {**_with_holdings(self._general), "codes": codes}
        return RuleSet(self.entry.model_copy(update=stated))

    def judges(self, *, counts: bool) -> bool:
        """Whether there is a rule for counts, or for values."""
        return any(rule.of_counts or not counts for rule in self._made)

    def rules(
        self,
        *,
        counts: bool,
        asked: Mapping[str, Table],
        holdings: Mapping[str, Table] | None = None,
    ) -> list[Rule | CodeRules | MissingSafe | NothingSensitive]:
        """The rules, for a value or for counts."""

        def made(stated: Sequence[_Stated]) -> list[Rule]:
            own = [item for item in stated if item.rule().of_counts or not counts]
            per = [holdings if item.rule().per == "holding" else asked for item in own]
            return [each.rule(tables) for each, tables in zip(own, per, strict=True)]

        found: list[Rule | CodeRules | MissingSafe | NothingSensitive] = [*made(self._general)]
        of_codes = [(cells, made(own)) for cells, own in self._of_codes]
        found += [CodeRules(cells, rules) for cells, rules in of_codes if rules]
        if not found:  # of which a release warns
            found = [NothingSensitive()]
        return [*found, *([MissingSafe()] if self.entry.missing_safe else [])]

    def judged(
        self,
        counted: Mapping[str, Table],
        *,
        value: str | None,
        holdings: Mapping[str, Table] | None = None,
        **options: Any,
    ) -> Primary:
        """Sensitive cells of one value of a table; None for counts."""
        waivers = None
        if self.withheld:
            theirs = None if holdings is None else holdings[self.withheld]
            waivers = Waivers(records=counted[self.withheld], holdings=theirs)
        return primary(
            counted[""],
            self.rules(counts=value is None, asked=counted, holdings=holdings),
            value=value,
            holdings=None if holdings is None else holdings[""],
            waivers=waivers,
            weighted=self.entry.weighted,
            levels=self.entry.levels,
            manual_range=float(self.entry.manual_range),
            **options,
        )


def _stated(entry: Any) -> list[_Stated]:
    return [stated for stated, _ in _rules(entry) if stated is not None]


def _with_holdings(stated: Sequence[_Stated]) -> dict[str, Any]:
    """Each rule that may, for holdings too; a rule on requests says itself whom it is about."""
    found: dict[str, Any] = {}
    for item in stated:
        own = [dict(item.settings)]
        if "per" in item.keys and "per" not in item.settings and not item.filters:
            own.append({**item.settings, "per": "holding"})
        found[item.kind.key] = [*found.get(item.kind.key, []), *own]
    return found


def _rules(entry: Any) -> Iterator[tuple[_Stated | None, str]]:
    """Each rule of a section with its key; None for one that is not well formed."""
    for key, kind in known_rules().items():
        value = getattr(entry, key)
        if value is None:
            continue
        several = isinstance(value, list) and any(isinstance(one, list | dict) for one in value)
        for one in value if several else [value]:
            settings = _settings(one, kind.bare)
            yield None if settings is None else _Stated(kind, settings), key


def rule_filters(entry: Any) -> list[tuple[str, str]]:
    """The filters that stand for tables, with the key of their rule, as far as they are texts."""
    stated = [(each, key) for each, key in _rules(entry) if each is not None]
    stated += [(each, "codes") for own in entry.codes for each, _ in _rules(own) if each]
    found = [(key, text) for each, key in stated for text in each.filters if isinstance(text, str)]
    return found + ([] if entry.waivers is None else [("waivers", entry.waivers.where)])


def _settings(value: Any, bare: tuple[str, ...]) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return dict(value)
    numbers = value if isinstance(value, list) else [value]
    return dict(zip(bare, numbers, strict=True)) if len(numbers) == len(bare) else None


def rule_problems(entry: Any) -> Iterator[tuple[str, Problem]]:
    """Problems of a section of rules, by key; values are never shown.

    >>> from discreet.release.programme.rule_sections import RuleSetEntry
    >>> [problem.what for _, problem in rule_problems(RuleSetEntry(p_percent=-1))]
    ['p must be a number above 0']
    """
    for own, path in [(entry, ""), *((code, "codes") for code in entry.codes)]:
        if not any(True for _ in _rules(own)) and (path or not entry.codes):
            yield path, Problem("no rule given", "", f"known: {', '.join(known_rules())}")
        for stated, key in _rules(own):
            if stated is None:
                kind = known_rules()[key]
                hint = f"write {key} = [{', '.join(kind.bare)}] or a table of keys"
                if not kind.bare[1:]:
                    hint = f"keys: {', '.join(_Stated(kind, {}).keys)}"
                yield path or key, Problem("wrong value for the rule", "", hint)
                continue
            yield from ((path or key, problem) for problem in _wrong(stated))
    if not all(code.cells for code in entry.codes):
        yield "codes", Problem("cells is missing", "", 'cells = { country = "DE" }')
    if entry.waivers is not None and not entry.waivers.where.strip():
        yield "waivers", Problem("where is missing", "", "where = \"consent == 'yes'\"")
    elif entry.waivers is not None:
        try:
            without_consent(entry.waivers.where)
        except DiscreetError as error:
            yield "waivers", Problem(error.problems[0].what, "", error.problems[0].hint)


def _wrong(stated: _Stated) -> Iterator[Problem]:
    unknown = [setting for setting in stated.settings if setting not in stated.keys]
    for item in unknown:
        yield Problem(f"unknown key: {item}", "", nearest(item, stated.keys))
    for name, text in zip(stated.kind.filters.values(), stated.filters, strict=True):
        if not isinstance(text, str) or not text.strip():
            yield Problem(f"{name} is missing", "", f"write a filter: {name} = \"asked == 'yes'\"")
    if unknown:
        return
    try:
        stated.rule()
    except TypeError:
        every = fields(stated.kind)  # type: ignore[arg-type]
        needed = [entry.name for entry in every if entry.default is MISSING]
        listed = ", ".join(entry for entry in needed if entry not in stated.kind.filters)
        yield Problem("a parameter is missing", "", f"keys: {listed}")
    except DiscreetError as error:
        for problem in error.problems:
            yield Problem(problem.what, "", problem.hint)
