"""The policy: what becomes of each command of a do-file.

In: the rules of discreet (``policy.toml``), and a centre's file that adds to them, as TOML or
as the plain list of an older tool. Out: verdicts on commands, on their second words and
options, and on stored results that are shown. All mistakes of a file are reported at once,
with their places. Nothing here is confidential.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from discreet.errors import OutputCheckError, Problem, shortened
from discreet_fire.catalogue.command_names import canonical, prefix_kind
from discreet_fire.catalogue.commands import (
    SAFE,
    Outline,
    check_policy_names,
    check_policy_outline,
    commands_where,
)
from discreet_fire.catalogue.verdicts import (
    Action,
    CommandVerdict,
    StoredRules,
    WordPattern,
    strictest,
)
from discreet_fire.texts import read_source

_SECTIONS = ("commands", "group", "option", "prefixes", "stored", "roles", "safe", "header")
_RULE_KEYS = ("action", "safe", "reason")
_COMMAND = re.compile(r"[A-Za-z_]\w{0,31}")
_SAFE = re.compile(r"[A-Za-z_]\w{0,31}|[A-Za-z_]\w{0,31} \{word\}")
_ADOPATH = re.compile(r"[^\"`$'\n\r\x00-\x1f*]{1,240}")
_MOST_PROBLEMS = 20
_NO_WORD = WordPattern.of("")

Words = dict[str, dict[str, tuple[WordPattern, CommandVerdict]]]


@dataclass(kw_only=True)
class PolicyTables:
    """What a policy looks words up in."""

    commands: dict[str, CommandVerdict] = field(default_factory=dict)  # the verdict of each command
    #: For commands with rules on their second word: the rules
    words: Words = field(default_factory=dict)
    options: Words = field(default_factory=dict)  # for each command, or ``*``: the rules on options
    before: frozenset[str] = frozenset()  # prefixes that the safe command goes before
    gather: frozenset[str] = frozenset()  # prefixes that show what they gather
    #: Which stored results may be shown, by class
    stored: dict[str, StoredRules] = field(default_factory=dict)
    #: Commands that show their arguments, with the words this is limited to
    shows: dict[str, tuple[WordPattern, ...]] = field(default_factory=dict)
    #: Commands that take values and show none of them
    uses: dict[str, tuple[WordPattern, ...]] = field(default_factory=dict)
    safe: frozenset[str] = frozenset()  # commands with a safe command, for lists of the older tool
    adopath: str = ""  # folder of the safe commands on the server

    def copy(self) -> PolicyTables:
        """Tables that can be added to without changing these."""
        return dataclasses.replace(
            self,
            commands=dict(self.commands),
            words={name: dict(rules) for name, rules in self.words.items()},
            options={name: dict(rules) for name, rules in self.options.items()},
            stored=dict(self.stored),
            shows=dict(self.shows),
            uses=dict(self.uses),
        )


def extended(tables: PolicyTables, text: str, place: str) -> PolicyTables:
    """The tables with the rules of a TOML file added; rules on the same words replace."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _error([Problem(f"this is not TOML: {error}", place)]) from None
    reader = _PolicyReader(tables.copy(), place)
    reader.read(document)
    if reader.problems:
        raise _error(reader.problems)
    return reader.tables


def extended_by_list(tables: PolicyTables, text: str, place: str) -> PolicyTables:
    """The tables with a plain list of commands added, one a line (`preFire.txt`).

    A command of the list runs as ``fdz`` and its name, which is one of the safe commands or a
    program of the centre's own. What is refused stays refused, and what runs as another safe
    command goes on to do so. Blank lines and lines that start with ``*`` or ``#`` are passed
    over; abbreviations are understood.
    """
    new = tables.copy()
    problems = []
    texts = [line.strip() for line in text.removeprefix("\ufeff").splitlines() if line.strip()]
    if texts and all(line.startswith("##") for line in texts):
        hint = "lines with ## belong to the list for logs: discreet fire post --rules"
        raise _error([Problem("this is no list of commands", place, hint)])
    for number, line in enumerate(text.splitlines(), 1):
        word = line.strip().strip("\ufeff")
        if not word or word.startswith(("*", "#", "//")):
            continue
        if _COMMAND.fullmatch(word) is None:
            hint = "one name of a command in each line"
            problems.append(
                Problem("this is not the name of a command", f"{place}, line {number}", hint)
            )
            continue
        name = canonical(word) or canonical(word.lower()) or word
        old, safe = tables.commands.get(name), f"{SAFE}{name}"
        if _COMMAND.fullmatch(safe) is None:
            message = f"no command can be called {SAFE} and this name: it is too long"
            problems.append(Problem(message, f"{place}, line {number}"))
        elif old is None or old.action not in (Action.REFUSED, Action.WRAPPED):
            reason = f"named in {place}"
            new.commands[name] = CommandVerdict(
                action=Action.WRAPPED, name=name, safe=safe, reason=reason
            )
            new.commands[safe] = CommandVerdict(action=Action.ALLOWED, name=safe, reason=reason)
    if problems:
        raise _error(problems)
    return new


class _PolicyReader:
    """Takes the sections of a document one by one, and notes what is wrong."""

    def __init__(self, tables: PolicyTables, place: str) -> None:
        self.tables = tables
        self.place = place
        self.problems: list[Problem] = []

    def read(self, document: Mapping[str, Any]) -> None:
        for section, content in document.items():
            if section not in _SECTIONS:
                self._unknown(section, section, _SECTIONS)
            elif not isinstance(content, list if section in ("group", "option") else dict):
                form = f"[[{section}]]" if section in ("group", "option") else f"[{section}]"
                self._wrong(f"write it as a section {form}", section)
            else:
                getattr(self, f"_{section}")(content)

    def _wrong(self, message: str, where: str, hint: str = "") -> None:
        self.problems.append(Problem(message, f"{self.place}: {where}", hint))

    def _unknown(self, word: str, where: str, known: tuple[str, ...]) -> None:
        near = difflib.get_close_matches(word, known, 1)
        hint = f"did you mean {str(near[0])!r}?" if near else f"names: {', '.join(map(str, known))}"
        self._wrong(f"{word!r} is not known here", where, hint)

    def _commands(self, content: Mapping[str, Any]) -> None:
        for name, rule in content.items():
            parts = {"action": rule} if isinstance(rule, str) else rule
            if isinstance(parts, dict):
                self._rule([name], parts, f"commands.{name}")
            else:
                self._wrong('write NAME = "allowed"', f"commands.{name}")

    def _group(self, content: list[Any]) -> None:
        for number, group in enumerate(content, 1):
            where = f"group {number}"
            rule = dict(group) if isinstance(group, dict) else {}
            names = self._names(rule.pop("commands", None), f"{where}.commands")
            self._rule(names, rule, where)

    def _option(self, content: list[Any]) -> None:
        for number, group in enumerate(content, 1):
            where = f"option {number}"
            rule = dict(group) if isinstance(group, dict) else {}
            commands = self._names(rule.pop("commands", None), f"{where}.commands")
            options = self._names(rule.pop("options", None), f"{where}.options")
            verdict = self._verdict("", rule, where)
            if verdict is not None and verdict.action is Action.WRAPPED:
                self._wrong("an option cannot be wrapped", where)
            if verdict is None:
                continue
            for name in map(_full, commands):
                for option in options:
                    pattern = WordPattern.of(option)
                    named = dataclasses.replace(verdict, name=f"{name}, {pattern.full}")
                    self.tables.options.setdefault(name, {})[pattern.full] = (pattern, named)

    def _rule(self, names: list[str], rule: Mapping[str, Any], where: str) -> None:
        """One rule for some names, each a command or a command with a second word."""
        verdict: CommandVerdict | None = None
        for name in names:
            head, _, word = name.partition(" ")
            if _COMMAND.fullmatch(head) is None or (word and _COMMAND.fullmatch(word) is None):
                self._wrong(f"{name!r} is not the name of a command", where)
                continue
            full = _full(head)
            pattern = WordPattern.of(word) if word else _NO_WORD
            spelling = f"{full} {pattern.full}" if word else full
            if verdict is None or verdict.safe:
                verdict = self._verdict(spelling, rule, where)
                if verdict is None:
                    return
            else:  # what was said of the first holds for all
                verdict = CommandVerdict(
                    action=verdict.action, name=spelling, reason=verdict.reason
                )
            if word:
                self.tables.words.setdefault(full, {})[pattern.full] = (pattern, verdict)
            else:
                self.tables.commands[full] = verdict

    def _verdict(self, name: str, rule: Mapping[str, Any], where: str) -> CommandVerdict | None:
        before = len(self.problems)
        for key, value in rule.items():
            if key not in _RULE_KEYS:
                self._unknown(key, where, _RULE_KEYS)
            elif not isinstance(value, str):
                self._wrong("this must be a text", f"{where}.{key}")
        action = rule.get("action", "")
        if action not in list(Action):
            self._unknown(str(action), f"{where}.action", tuple(Action))
        safe = str(rule.get("safe", "fdz{name}" if action == Action.WRAPPED else ""))
        safe = safe.replace("{name}", name)
        if action == Action.WRAPPED and _SAFE.fullmatch(safe) is None:
            self._wrong("name the safe command", f"{where}.safe", 'like safe = "fdztabulate"')
        if action != Action.WRAPPED and safe:
            self._wrong("only a wrapped command has a safe one", f"{where}.safe")
        if len(self.problems) > before:
            return None
        reason = str(rule.get("reason", "")) or f"rule of {self.place}"
        return CommandVerdict(action=Action(action), name=name, reason=reason, safe=safe)

    def _names(self, content: Any, where: str) -> list[str]:
        if isinstance(content, list) and all(isinstance(name, str) for name in content):
            return content
        self._wrong("write a list of names", where)
        return []

    def _listed(
        self, content: Mapping[str, Any], section: str, keys: tuple[str, ...]
    ) -> Iterator[tuple[str, list[str]]]:
        for key, value in content.items():
            if key not in keys:
                self._unknown(key, section, keys)
            else:
                yield key, self._names(value, f"{section}.{key}")

    def _prefixes(self, content: Mapping[str, Any]) -> None:
        for key, names in self._listed(content, "prefixes", ("before", "shows")):
            if key == "before":
                self.tables.before |= frozenset(map(_full, names))
            else:
                self.tables.gather |= frozenset(map(_full, names))

    def _safe(self, content: Mapping[str, Any]) -> None:
        for _, names in self._listed(content, "safe", ("commands",)):
            self.tables.safe |= frozenset(map(_full, names))

    def _roles(self, content: Mapping[str, Any]) -> None:
        for key, names in self._listed(content, "roles", ("shows", "uses")):
            table = self.tables.shows if key == "shows" else self.tables.uses
            for name in names:
                head, _, word = name.partition(" ")
                known = table.get(head := _full(head))
                # A rule without a second word holds for all of them, whatever is added.
                if known != ():
                    table[head] = (*(known or ()), WordPattern.of(word)) if word else ()

    def _stored(self, content: Mapping[str, Any]) -> None:
        for kind, lists in content.items():
            if kind not in ("r", "e", "s") or not isinstance(lists, dict):
                self._unknown(kind, "stored", ("r", "e", "s"))
                continue
            old = self.tables.stored.get(kind, StoredRules())
            kinds = {key: list(getattr(old, key)) for key in ("refused", "review", "allowed")}
            default = lists.get("default", old.default)
            if default not in list(Action):
                self._unknown(str(default), f"stored.{kind}.default", tuple(Action))
                continue
            some = {key: value for key, value in lists.items() if key != "default"}
            for key, names in self._listed(some, f"stored.{kind}", tuple(kinds)):
                kinds = {item: [n for n in kinds[item] if n not in names] for item in kinds}
                kinds[key] += names
            self.tables.stored[kind] = StoredRules(
                refused=tuple(kinds["refused"]),
                review=tuple(kinds["review"]),
                allowed=tuple(kinds["allowed"]),
                default=Action(default),
            )

    def _header(self, content: Mapping[str, Any]) -> None:
        for key, value in content.items():
            if key != "adopath":
                self._unknown(key, "header", ("adopath",))
            elif not isinstance(value, str) or _ADOPATH.fullmatch(value) is None:
                self._wrong("this is not a plain path", "header.adopath", "without quotes, $ and `")
            else:
                self.tables.adopath = value


def _full(name: str) -> str:
    """The name of a command in full; unknown ones, and ``*`` for all, stay."""
    return canonical(name) or name


def _error(problems: list[Problem]) -> OutputCheckError:
    many = f"the policy has {len(problems)} mistakes"
    return OutputCheckError.of(shortened(problems, _MOST_PROBLEMS), many, code="policy")


_NO_RULE = "no rule for this command; it may show anything"
_OWN_PROGRAM = "a program of this submission; its body is treated like any text"

#: Commands that run a do-file, which a rewritten program calls by its rewritten name.
_CALLS = commands_where(lambda row: row.rewriting.calls)


class Policy:
    """Rules on commands, options and stored results.

    >>> policy = Policy.default()
    >>> policy.verdict("regress").safe, policy.verdict("list").action.value
    ('fdzregress', 'refused')
    >>> policy.verdict("nosuchcommand").action.value
    'review'
    """

    def __init__(self, tables: PolicyTables) -> None:
        self._tables = tables
        self._option_rules: dict[str, list[tuple[WordPattern, CommandVerdict]]] = {}
        self._word_rules: dict[tuple[str, str], list[CommandVerdict]] = {}
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
        """The default rules with a centre's own added: a TOML file, or `preFire.txt`."""
        source = read_source(path)
        reader = extended if source.path.suffix.lower() == ".toml" else extended_by_list
        return cls(reader(cls.default()._tables, source.text, source.path.name))

    def verdict(self, name: str, words: Iterable[str] = ()) -> CommandVerdict:
        """What becomes of a command.

        >>> Policy.default().verdict("duplicates", ["l"]).name
        'duplicates list'
        """
        if name in self._tables.words:
            rules = [rule for word in words for rule in self._fitting(name, word)]
            if (best := strictest(rules)) is not None:
                return best
        rule = self._tables.commands.get(name)
        if rule is not None:
            return rule
        return CommandVerdict(action=Action.REVIEW, name=name, reason=_NO_RULE, known=False)

    def _fitting(self, name: str, word: str) -> list[CommandVerdict]:
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

    def second_words(self, name: str) -> list[CommandVerdict]:
        """The rules on the second word of a command."""
        return [verdict for _, verdict in self._tables.words.get(name, {}).values()]

    def option(self, name: str, word: str) -> CommandVerdict | None:
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
        verdicts = [verdict for pattern, verdict in rules if pattern.matches(word)]
        return strictest(verdicts)

    def stored(self, kind: str, name: str) -> Action:
        """What becomes of a command that shows a stored result.

        >>> Policy.default().stored("r", "max").value, Policy.default().stored("e", "N").value
        ('refused', 'allowed')
        """
        known = self._stored.get((kind, name))
        if known is None:
            known = self._tables.stored.get(kind, StoredRules()).action(name)
            self._stored[kind, name] = known
        return known

    def names_stored(self, kind: str, name: str) -> bool:
        """Whether a rule names a stored result, other than the rule for all the rest.

        >>> [Policy.default().names_stored("r", name) for name in ("p50", "my_own")]
        [True, False]
        """
        return self._tables.stored.get(kind, StoredRules()).names(name)

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
    def commands(self) -> Mapping[str, CommandVerdict]:
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
        tables = asdict(self._tables)
        text = json.dumps(tables, sort_keys=True, default=sorted, ensure_ascii=True)
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
            tables.commands[name] = CommandVerdict(
                action=Action.ALLOWED, name=name, reason=_OWN_PROGRAM
            )
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
                effective = replace(rule, action=Action.REFUSED) if hidden else rule
                lines.append(_line(f"{name}|{pattern.full}|{pattern.shortest}", effective))
        return sorted(lines)


def _line(name: str, rule: CommandVerdict) -> str:
    return f"{name} {rule.action.value} {rule.safe.replace(' {word}', '+')}".rstrip()


def _listed(table: Mapping[str, tuple[WordPattern, ...]], name: str, word: str) -> bool:
    limits = table.get(name)
    if limits is None:
        return False
    return not limits or any(pattern.matches(word) for pattern in limits)


@cache
def _default() -> Policy:
    text = files("discreet_fire.catalogue").joinpath("policy.toml").read_text("utf-8")
    return Policy(checked(extended(PolicyTables(), text, "policy.toml")))


def checked(tables: PolicyTables) -> PolicyTables:
    """The tables of the policy that comes with discreet, which holds all that the catalogue wants.

    Raises:
        ValueError: Something was left out, there or here.
    """
    roles = {
        role: {name: "some" if words else "all" for name, words in table.items()}
        for role, table in (("shows", tables.shows), ("uses", tables.uses))
    }
    check_policy_names({*tables.commands, *tables.words}, roles, tables.gather)
    check_policy_outline(tables.before, _outline(tables))
    return tables


def _outline(tables: PolicyTables) -> Outline:
    """What a policy holds besides its rules on commands, and the reasons of all its rules."""
    words, options = [
        [(name, *rule) for name, rules in table.items() for rule in rules.values()]
        for table in (tables.words, tables.options)
    ]
    ranks = {name: rule.action.rank for name, rule in tables.commands.items()}
    verdicts = [*tables.commands.values(), *(rule for *_, rule in (*words, *options))]
    wrapped = {rule.safe for rule in verdicts if rule.action is Action.WRAPPED}
    if wrong := {safe for safe in wrapped if not safe.startswith((SAFE, "quietly {word}"))}:
        raise ValueError(f"these are no safe commands: {', '.join(sorted(wrong))}")
    stored = {
        (f"{kind}_{key}", name)
        for kind, rules in tables.stored.items()
        for key, names in (
            ("refused", rules.refused), ("review", rules.review), ("default", (rules.default,))
        )
        for name in names
    }  # fmt: skip
    unmarked = Action.REVIEW.rank
    parts: dict[str, Iterable[tuple[str, str]]] = {
        "safe": (("commands", name) for name in tables.safe),
        "words": (
            (name, pattern.text)
            for name, pattern, rule in words
            if rule.action.rank > ranks.get(name, unmarked)
        ),
        "options": ((pattern.text, name) for name, pattern, _ in options),
        "shows": ((name, one.text) for name, some in tables.shows.items() for one in some),
        "stored": stored,
        "reasons": ((rule.action.value, rule.reason) for rule in verdicts),
    }
    entries: dict[str, dict[str, set[str]]] = {part: {} for part in parts}
    for part, pairs in parts.items():
        for key, one in pairs:
            entries[part].setdefault(key, set()).add(one)
    return {
        part: {key: frozenset(names) for key, names in keys.items()}
        for part, keys in entries.items()
    }
