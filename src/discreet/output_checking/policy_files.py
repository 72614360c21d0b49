"""Policies as files: TOML documents, and the plain list of an older tool.

In: the text of a file. Out: `Tables`, which `Policy` looks words up in. All mistakes of
a file are reported at once, with their places.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import OutputCheckError, Problem, shortened
from discreet.output_checking.policy_rules import Action, Pattern, Stored, Verdict
from discreet.output_checking.stata.names import canonical

__all__ = ["Tables", "extended", "extended_by_list"]

_SECTIONS = ("commands", "group", "option", "prefixes", "stored", "roles", "safe", "header")
_RULE_KEYS = ("action", "safe", "reason")
_COMMAND = re.compile(r"[A-Za-z_]\w{0,31}")
_SAFE = re.compile(r"[A-Za-z_]\w{0,31}|[A-Za-z_]\w{0,31} \{word\}")
_ADOPATH = re.compile(r"[^\"`$'\n\r\x00-\x1f*]{1,240}")
_MOST_PROBLEMS = 20

Words = dict[str, dict[str, tuple[Pattern, Verdict]]]


@dataclass(kw_only=True)
class Tables:
    """What a policy looks words up in.

    Args:
        commands: The verdict of each command.
        words: For commands with rules on their second word: the rules.
        options: For each command, or ``*``: the rules on options.
        before: Prefixes that the safe command goes before.
        gather: Prefixes that show what they gather.
        stored: Which stored results may be shown, by class.
        shows: Commands that show their arguments, with the words this is limited to.
        uses: Commands that take values and show none of them.
        safe: Commands with a safe command, for lists of the older tool.
        adopath: Folder of the safe commands on the server.
    """

    commands: dict[str, Verdict] = field(default_factory=dict)
    words: Words = field(default_factory=dict)
    options: Words = field(default_factory=dict)
    before: frozenset[str] = frozenset()
    gather: frozenset[str] = frozenset()
    stored: dict[str, Stored] = field(default_factory=dict)
    shows: dict[str, tuple[Pattern, ...]] = field(default_factory=dict)
    uses: dict[str, tuple[Pattern, ...]] = field(default_factory=dict)
    safe: frozenset[str] = frozenset()
    adopath: str = ""

    def copy(self) -> Tables:
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


def extended(tables: Tables, text: str, place: str) -> Tables:
    """The tables with the rules of a TOML file added; rules on the same words replace.

    Args:
        tables: What the file adds to.
        text: The content of the file.
        place: Its name, for messages.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _error([Problem(f"this is not TOML: {error}", place)]) from None
    reader = _Reader(tables.copy(), place)
    reader.read(document)
    if reader.problems:
        raise _error(reader.problems)
    return reader.tables


def extended_by_list(tables: Tables, text: str, place: str) -> Tables:
    """The tables with a plain list of commands added, one a line (`preFire.txt`).

    A command with a safe command runs as that one; any other is refused, since the list
    names commands that must not run as they are. Blank lines and lines that start with
    ``*`` or ``#`` are passed over; abbreviations are understood.
    """
    new = tables.copy()
    problems = []
    told = [line.strip() for line in text.removeprefix("\ufeff").splitlines() if line.strip()]
    if told and all(line.startswith("##") for line in told):
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
        old = tables.commands.get(name)
        if name in tables.safe and (old is None or old.action is not Action.REFUSED):
            new.commands[name] = Verdict(
                action=Action.WRAPPED, name=name, safe=f"fdz{name}", reason=f"named in {place}"
            )
        elif old is None or old.action is not Action.WRAPPED:
            new.commands[name] = Verdict(
                action=Action.REFUSED,
                name=name,
                reason=f"named in {place}, and has no safe command",
            )
    if problems:
        raise _error(problems)
    return new


class _Reader:
    """Takes the sections of a document one by one, and notes what is wrong."""

    def __init__(self, tables: Tables, place: str) -> None:
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

    def _wrong(self, what: str, where: str, hint: str = "") -> None:
        self.problems.append(Problem(what, f"{self.place}: {where}", hint))

    def _unknown(self, word: str, where: str, known: tuple[str, ...]) -> None:
        near = difflib.get_close_matches(word, known, 1)
        hint = f"did you mean {str(near[0])!r}?" if near else f"names: {', '.join(map(str, known))}"
        self._wrong(f"{word!r} is not known here", where, hint)

    def _commands(self, content: Mapping[str, Any]) -> None:
        for name, rule in content.items():
            made = {"action": rule} if isinstance(rule, str) else rule
            if isinstance(made, dict):
                self._rule([name], made, f"commands.{name}")
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
            made = self._verdict("", rule, where)
            if made is not None and made.action is Action.WRAPPED:
                self._wrong("an option cannot be wrapped", where)
            if made is None:
                continue
            for name in map(_full, commands):
                for option in options:
                    pattern = Pattern.of(option)
                    said = dataclasses.replace(made, name=f"{name}, {pattern.full}")
                    self.tables.options.setdefault(name, {})[pattern.full] = (pattern, said)

    def _rule(self, names: list[str], rule: Mapping[str, Any], where: str) -> None:
        """One rule for some names, each a command or a command with a second word."""
        for name in names:
            head, _, word = name.partition(" ")
            if _COMMAND.fullmatch(head) is None or (word and _COMMAND.fullmatch(word) is None):
                self._wrong(f"{name!r} is not the name of a command", where)
                continue
            pattern = Pattern.of(word)
            full = _full(head)
            made = self._verdict(f"{full} {pattern.full}".strip(), rule, where)
            if made is None:
                return
            if word:
                self.tables.words.setdefault(full, {})[pattern.full] = (pattern, made)
            else:
                self.tables.commands[full] = made

    def _verdict(self, name: str, rule: Mapping[str, Any], where: str) -> Verdict | None:
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
        return Verdict(action=Action(action), name=name, reason=reason, safe=safe)

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
                    table[head] = (*(known or ()), Pattern.of(word)) if word else ()

    def _stored(self, content: Mapping[str, Any]) -> None:
        for kind, lists in content.items():
            if kind not in ("r", "e", "s") or not isinstance(lists, dict):
                self._unknown(kind, "stored", ("r", "e", "s"))
                continue
            old = self.tables.stored.get(kind, Stored())
            made = {key: list(getattr(old, key)) for key in ("refused", "review", "allowed")}
            default = lists.get("default", old.default)
            if default not in list(Action):
                self._unknown(str(default), f"stored.{kind}.default", tuple(Action))
                continue
            some = {key: value for key, value in lists.items() if key != "default"}
            for key, names in self._listed(some, f"stored.{kind}", tuple(made)):
                made = {each: [n for n in made[each] if n not in names] for each in made}
                made[key] += names
            self.tables.stored[kind] = Stored(
                refused=tuple(made["refused"]),
                review=tuple(made["review"]),
                allowed=tuple(made["allowed"]),
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
    first = problems[0]
    single = len(problems) == 1
    return OutputCheckError(
        first.what if single else f"the policy has {len(problems)} mistakes",
        code="policy",
        where=first.where if single else "",
        hint=first.hint if single else "",
        problems=() if single else shortened(problems, _MOST_PROBLEMS),
    )
