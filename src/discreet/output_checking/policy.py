"""The policy: what becomes of each command of a do-file.

In: the default rules, and a centre's file that adds to them. Out: verdicts on commands,
on their second words and options, and on stored results that are shown.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from functools import cache, cached_property
from importlib.resources import files

from discreet.output_checking.policy_files import Tables, extended, extended_by_list
from discreet.output_checking.policy_rules import Action, Pattern, Stored, Verdict, strictest
from discreet.output_checking.stata.names import prefix_kind
from discreet.output_checking.texts import read_source

__all__ = ["Action", "Policy", "Verdict"]

_NO_RULE = "no rule for this command; it may show anything"
_OWN_PROGRAM = "a program of this submission; its body is treated like any text"

#: Commands that run a do-file, which a rewritten program calls by its rewritten name.
_CALLS = ("do", "run", "include")


class Policy:
    """Rules on commands, options and stored results.

    >>> policy = Policy.default()
    >>> policy.verdict("regress").safe, policy.verdict("list").action.value
    ('fdzregress', 'refused')
    >>> policy.verdict("nosuchcommand").action.value
    'review'
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._option_rules: dict[str, list[tuple[Pattern, Verdict]]] = {}
        self._word_rules: dict[tuple[str, str], list[Verdict]] = {}
        self._stored: dict[tuple[str, str], Action] = {}

    @classmethod
    def default(cls) -> Policy:
        """The rules that come with discreet.

        >>> Policy.default().verdict("tabstat").action.value
        'wrapped'
        """
        return _default()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Policy:
        """The default rules with a centre's own added: a TOML file, or `preFire.txt`.

        Args:
            path: A file that ends in ``.toml``, or a plain list of commands, one a line.
        """
        source = read_source(path)
        reader = extended if source.path.suffix.lower() == ".toml" else extended_by_list
        return cls(reader(cls.default()._tables, source.text, source.path.name))

    def verdict(self, name: str, words: Iterable[str] = ()) -> Verdict:
        """What becomes of a command.

        Args:
            name: The command in full.
            words: The words that come next, of which any may be a second word of it.

        >>> Policy.default().verdict("duplicates", ["l"]).name
        'duplicates list'
        """
        if name in self._tables.words:
            found = [rule for word in words for rule in self._fitting(name, word)]
            if (best := strictest(found)) is not None:
                return best
        rule = self._tables.commands.get(name)
        if rule is not None:
            return rule
        return Verdict(action=Action.REVIEW, name=name, reason=_NO_RULE, known=False)

    def _fitting(self, name: str, word: str) -> list[Verdict]:
        """The rules of a command that a second word may mean."""
        known = self._word_rules.get((name, word))
        if known is None:
            rules = self._tables.words[name].values()
            known = [verdict for pattern, verdict in rules if pattern.matches(word)]
            self._word_rules[name, word] = known
        return known

    def has_words(self, name: str) -> bool:
        """Whether the second word of a command matters."""
        return name in self._tables.words

    def second_words(self, name: str) -> list[Verdict]:
        """The rules on the second word of a command."""
        return [verdict for _, verdict in self._tables.words.get(name, {}).values()]

    def option(self, name: str, word: str) -> Verdict | None:
        """What becomes of a command with an option; None if the option does not matter.

        >>> Policy.default().option("summarize", "critical").action.value
        'refused'
        """
        rules = self._option_rules.get(name)
        if rules is None:
            rules = [
                rule
                for command in (name, "*")
                for rule in self._tables.options.get(command, {}).values()
            ]
            self._option_rules[name] = rules
        found = [verdict for pattern, verdict in rules if pattern.matches(word)]
        return strictest(found)

    def stored(self, kind: str, name: str) -> Action:
        """What becomes of a command that shows a stored result.

        Args:
            kind: ``r``, ``e`` or ``s``.
            name: The name in the brackets.

        >>> Policy.default().stored("r", "max").value, Policy.default().stored("e", "N").value
        ('refused', 'allowed')
        """
        known = self._stored.get((kind, name))
        if known is None:
            known = self._tables.stored.get(kind, Stored()).action(name)
            self._stored[kind, name] = known
        return known

    def names_stored(self, kind: str, name: str) -> bool:
        """Whether a rule names a stored result, other than the rule for all the rest.

        >>> [Policy.default().names_stored("r", name) for name in ("p50", "my_own")]
        [True, False]
        """
        return self._tables.stored.get(kind, Stored()).names(name)

    def may_show(self, name: str) -> bool:
        """Whether a command shows its arguments, at least with some second words."""
        return name in self._tables.shows

    def shows(self, name: str, word: str = "") -> bool:
        """Whether a command shows or files its arguments.

        >>> Policy.default().shows("display"), Policy.default().shows("generate")
        (True, False)
        """
        return _listed(self._tables.shows, name, word)

    def uses(self, name: str, word: str = "") -> bool:
        """Whether a command takes values and shows none of them."""
        return _listed(self._tables.uses, name, word)

    @property
    def before(self) -> frozenset[str]:
        """Prefixes that the safe command goes before, as they run a model of their own."""
        return self._tables.before

    @property
    def gather(self) -> frozenset[str]:
        """Prefixes that show what they are asked to gather."""
        return self._tables.gather

    @property
    def adopath(self) -> str:
        """Folder of the safe commands on the server; empty if Stata finds them anyway."""
        return self._tables.adopath

    @property
    def commands(self) -> Mapping[str, Verdict]:
        """The verdict of each command that a rule names."""
        return self._tables.commands

    @cached_property
    def safe_names(self) -> frozenset[str]:
        """The names of all safe commands."""
        rules = [*self._tables.commands.values()]
        return frozenset(rule.safe.split()[0] for rule in rules if rule.safe) | {"fdzrun"}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all rules; the same rules give the same digest."""
        made = asdict(self._tables)
        text = json.dumps(made, sort_keys=True, default=sorted, ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def with_programs(self, names: Iterable[str]) -> Policy:
        """The policy for a submission that defines programs of its own.

        A program that has the name of a command with a rule changes nothing.

        >>> Policy.default().with_programs(["mytable"]).verdict("mytable").action.value
        'allowed'
        """
        new = [name for name in names if name not in self._tables.commands]
        if not new:
            return self
        tables = self._tables.copy()
        for name in new:
            tables.commands[name] = Verdict(action=Action.ALLOWED, name=name, reason=_OWN_PROGRAM)
        return Policy(tables)

    def run_time_lines(self) -> list[str]:
        """The rules as lines ``name action safe``, which `fdzrun` reads on the server.

        Names with a second word are written with ``|`` and the letters that must be there.
        Commands that show their arguments do not run by a macro: what they show could not be
        followed. Nor do prefixes and calls of other do-files: what they run was not looked at.
        """
        shows = self._tables.shows
        stopped = {name: rule for name, rule in self._tables.commands.items() if name in shows}
        rules = dict(self._tables.commands)
        for name, rule in stopped.items():
            if not shows[name] and rule.action is Action.ALLOWED:
                rules[name] = replace(rule, action=Action.REFUSED)
        for name, rule in self._tables.commands.items():
            if name in _CALLS or prefix_kind(name) is not None:
                rules[name] = replace(rule, action=Action.REFUSED)
        lines = [_line(name, rule) for name, rule in rules.items()]
        for name, words in self._tables.words.items():
            for pattern, rule in words.values():
                hidden = rule.action is Action.ALLOWED and self.shows(name, pattern.full)
                made = replace(rule, action=Action.REFUSED) if hidden else rule
                lines.append(_line(f"{name}|{pattern.full}|{pattern.shortest}", made))
        return sorted(lines)


def _line(name: str, rule: Verdict) -> str:
    return f"{name} {rule.action.value} {rule.safe.replace(' {word}', '+')}".rstrip()


def _listed(table: Mapping[str, tuple[Pattern, ...]], name: str, word: str) -> bool:
    limits = table.get(name)
    if limits is None:
        return False
    return not limits or any(pattern.matches(word) for pattern in limits)


@cache
def _default() -> Policy:
    text = files("discreet.output_checking").joinpath("policy.toml").read_text("utf-8")
    return Policy(extended(Tables(), text, "policy.toml"))
