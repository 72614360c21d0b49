"""Rules on commands, functions and procedures of all five languages, and the one reader of them.

In: a TOML file of this folder, or a centre's own. Out: a `CommandRule` for each name;
all mistakes of a file at once, with their places. What is not named has no rule, and goes to
review. Nothing here is confidential.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import operator
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NoReturn

from discreet.errors import OutputCheckError, Problem, nearest, shortened


class Action(StrEnum):
    """Action on a command, from the mildest to the strictest.

    >>> Action.ALLOWED.rank < Action.REFUSED.rank
    True
    """

    ALLOWED = "allowed"
    WRAPPED = "wrapped"
    REVIEW = "review"
    REFUSED = "refused"

    @property
    def rank(self) -> int:
        """The place in the order; larger is stricter."""
        return _RANKS[self]


_RANKS = {action: rank for rank, action in enumerate(Action)}

Language = Literal["stata", "python", "r", "spss", "sas"]

#: shows: prints or writes its arguments. clean: tells nothing of the data, if its arguments do
#: not. acts: changes something and gives nothing back. data: gives what derives from data.
_ROLES = ("data", "shows", "clean", "acts")
_TRAITS = ("around", "passes", "model")
#: What older files of centres state as well: it is found out where a script runs.
_OLDER = ("risks", "runs")
#: How a safe macro chooses the records that a procedure is given; `free`: by none.
GATES = ("free", "frequencies", "cells", "table", "groups", "values", "model")
_PART = {"known", "refused", "bare"}
_NO_RULE = "no rule for this {kind}; it may show anything"
_MOST_PROBLEMS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class PartRule:
    """Rule for a subcommand of SPSS, or a statement of a procedure of SAS."""

    action: Action  # what becomes of it: allowed, review or refused
    known: frozenset[str] | None  # words in it that show nothing more; None if no word can
    refused: frozenset[str]  # words that are not permitted
    bare: Action  # what becomes of it when it stands without a word

    def verdict(
        self, words: Sequence[str], fits: Callable[[str, str], bool] = operator.eq
    ) -> tuple[Action, str]:
        """Strictest verdict on these words, and the word that caused it."""
        if self.action is not Action.ALLOWED or not words:
            return (self.bare if not words and self.action is Action.ALLOWED else self.action), ""
        for word in words:
            heads = (word, word.partition(".")[0])
            if any(fits(head, item) for head in heads for item in self.refused):
                return Action.REFUSED, word
        for word in words:
            if self.known is not None and not any(fits(word, item) for item in self.known):
                return Action.REVIEW, word
        return Action.ALLOWED, ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandRule:
    """Rule for a command, a function or a procedure.

    >>> CommandRule(action=Action.WRAPPED, name="regress", safe="fdzregress").replaced("reg")
    'fdzregress'
    >>> CommandRule(action=Action.WRAPPED, name="logit", safe="fdzestimate {word}").replaced("logi")
    'fdzestimate logi'
    """

    action: Action  # what becomes of it
    name: str  # in full, with its second word where the rule names one
    reason: str = ""  # why, in words for researchers
    safe: str = ""  # the safe form: a name, or a text with ``{word}``; empty for gates
    known: bool = True  # whether a rule names it
    role: str = "data"  # what it does with its arguments: data, shows, clean or acts
    traits: frozenset[str] = frozenset()  # what else is known of it
    gate: str = "free"  # which safe macro chooses its records
    #: Subcommands or statements that it may hold; None if nothing in it can show more
    parts: Mapping[str, PartRule] | None = None

    @classmethod
    def missing(cls, name: str, kind: str = "command") -> CommandRule:
        """The rule for commands that no rule names."""
        reason = _NO_RULE.format(kind=kind)
        return cls(action=Action.REVIEW, name=name, reason=reason, known=False)

    @property
    def inserted(self) -> str:
        """Text before a word that stays; empty if the word is replaced."""
        before, word, _ = self.safe.partition("{word}")
        return before if word else ""

    def replaced(self, word: str) -> str:
        """The words that stand for the command in a safe program."""
        return self.safe.replace("{word}", word)


def strictest(verdicts: Iterable[CommandRule]) -> CommandRule | None:
    """The strictest of several verdicts, the first of equals; None if there are none.

    >>> strictest([]) is None
    True
    """
    return max(verdicts, key=lambda verdict: verdict.action.rank, default=None)


def shipped(language: Language) -> str:
    """The text of the file of a language that comes with discreet."""
    return files("discreet_fire.catalogue").joinpath(f"{language}.toml").read_text("utf-8")


#: A piece of a form: an earlier one of the part, or one for all; not the name of a group.
_PIECE = re.compile(r"(?<!\?P)<([a-z_]+)>")


@cache
def form_texts(package: str) -> dict[str, Any]:
    """The content of the ``forms.toml`` of a package: pieces for all parts, then the parts."""
    return tomllib.loads(files(package).joinpath("forms.toml").read_text("utf-8"))


class Forms:
    """The patterns of one part of a ``forms.toml``, as attributes; lists are choices."""

    def __init__(self, package: str, part: str) -> None:
        whole = form_texts(package)
        texts = {name: text for name, text in whole.items() if isinstance(text, str)}
        for name, form in whole[part].items():
            text = form if isinstance(form, str) else "|".join(form)
            texts[name] = _PIECE.sub(lambda piece: texts[piece[1]], text)
            vars(self)[name] = re.compile(texts[name])

    def __getattr__(self, name: str) -> re.Pattern[str]:
        raise AttributeError(name)


def digest_of(parts: Any) -> str:
    """SHA-256 of rules; the same rules give the same digest."""

    def plain(value: Any) -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return dataclasses.asdict(value)
        return sorted(value) if isinstance(value, set | frozenset) else dict(value)

    text = json.dumps(parts, sort_keys=True, default=plain, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class RuleReader:
    """Reads the rules of one file, and notes what is wrong in it."""

    def __init__(self, language: Language, text: str, place: str) -> None:
        self.place = place
        self.problems: list[Problem] = []
        try:
            self.document = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            self.wrong(f"this is not TOML: {error}", "")
            self.stop()
        self.stata = language == "stata"
        self.packages = language in ("spss", "sas")
        more = ("role", "traits") if language in ("python", "r") else ()
        self.keys = ("action", "gate", "reason", "parts") if self.packages else (
            "action", "safe", "reason", *more)  # fmt: skip

    def wrong(self, message: str, where: str, hint: str = "") -> None:
        """Note a mistake."""
        self.problems.append(Problem(message, ", ".join(filter(None, (self.place, where))), hint))

    def unknown(self, word: str, where: str, known: Iterable[str]) -> None:
        """Note a word that is not one of those that are known."""
        self.wrong(f"{word!r} is not known here", where, nearest(word, [*map(str, known)]))

    def stop(self) -> NoReturn:
        """Raise all mistakes."""
        many = f"the policy has {len(self.problems)} mistakes"
        raise OutputCheckError.of(shortened(self.problems, _MOST_PROBLEMS), many, code="policy")

    def finish(self, sections: Iterable[str]) -> None:
        """Raise all mistakes, if there are some; sections of other names are mistakes too.

        Raises:
            OutputCheckError: Something is wrong.
        """
        for section in self.document:
            if section not in sections:
                self.unknown(section, section, sections)
        if self.problems:
            self.stop()

    def names(self, content: Any, where: str) -> list[str]:
        """A list of names."""
        if isinstance(content, list) and all(isinstance(name, str) and name for name in content):
            return content
        self.wrong("write a list of names", where)
        return []

    def section(self, name: str) -> Mapping[str, Any]:
        """A section that holds names with what is said of them."""
        content = self.document.get(name, {})
        if isinstance(content, dict):
            return content
        self.wrong(f"write it as a section [{name}]", name)
        return {}

    def groups(self, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Sections of one name, each with its place."""
        content = self.document.get(name, [])
        if not isinstance(content, list):
            self.wrong(f"write it as a section [[{name}]]", name)
            return
        for number, group in enumerate(content, 1):
            yield f"{name} {number}", dict(group) if isinstance(group, dict) else {}

    def rules(self) -> Iterator[tuple[str, CommandRule]]:
        """Each name with its rule, and where it stands."""
        for where, group in self.groups("group"):
            key = "names" if "names" in group else "commands"
            names = self.names(group.pop(key, None), f"{where}.{key}")
            if rule := self.rule(group, where):
                yield from ((name, dataclasses.replace(rule, name=name)) for name in names)
        for name, content in self.section("commands").items():
            fields = {"action": content} if isinstance(content, str) else content
            if not isinstance(fields, dict):
                self.wrong('write NAME = "allowed"', f"commands.{name}")
            elif rule := self.rule(fields, f"commands.{name}"):
                yield name, dataclasses.replace(rule, name=name)

    def rule(self, content: Mapping[str, Any], where: str) -> CommandRule | None:
        """One rule; None, with a mistake noted, if it makes no sense."""
        before = len(self.problems)
        if "traits" in self.keys:
            content = {key: value for key, value in content.items() if key not in _OLDER}
        fields: dict[str, Any] = {"reason": f"rule of {self.place}", **content}
        if self.packages and set(self.keys) - content.keys():
            self.wrong(f"a group has all of {', '.join(self.keys)}", where)
            return None
        choices = {"action": [*Action], "role": _ROLES, "gate": GATES}
        for key, value in {"action": "", **content}.items():
            if key not in self.keys:
                self.unknown(key, where, self.keys)
            elif key in choices and value not in choices[key]:
                self.unknown(str(value), f"{where}.{key}", choices[key])
            elif key == "traits":
                words = self.names(value, f"{where}.{key}")
                for word in set(words) - {*_TRAITS}:
                    self.unknown(word, f"{where}.{key}", _TRAITS)
                fields[key] = frozenset(words)
            elif key in ("safe", "reason") and (not isinstance(value, str) or not value):
                self.wrong("the safe form and the reason are texts", f"{where}.{key}")
        if len(self.problems) == before:
            fields["action"] = Action(fields["action"])
            wrapped = fields["action"] is Action.WRAPPED
            if self.stata and wrapped:
                fields.setdefault("safe", "fdz{name}")
            if self.packages and wrapped == (fields["gate"] == "free"):
                self.wrong("the gate is free unless the action is wrapped", f"{where}.gate")
            elif not self.packages and wrapped != bool(fields.get("safe")):
                self.wrong("a wrapped command has a safe one, others have none", f"{where}.safe")
            if self.packages:
                fields["parts"] = self._parts(fields["parts"], where)
        return CommandRule(name="", **fields) if len(self.problems) == before else None

    def _parts(self, content: Any, where: str) -> dict[str, PartRule] | None:
        if content == "any":
            return None
        if not isinstance(content, dict):
            self.wrong('parts are "any", or a table', where)
            return None
        parts: dict[str, PartRule] = {}
        for names, text in content.items():
            part = self._part(text, f"{where}: {names}")
            parts |= dict.fromkeys(names.upper().split(), part)
        return parts

    def _part(self, text: Any, where: str) -> PartRule:
        """One part: what becomes of it, or its words."""
        actions = {"any": Action.ALLOWED, "review": Action.REVIEW, "refused": Action.REFUSED}
        if isinstance(text, str) and text in actions:
            action = actions[text]
            return PartRule(action=action, known=None, refused=frozenset(), bare=action)
        if not isinstance(text, dict) or set(text) != _PART or text["bare"] not in actions:
            words = ", ".join(sorted(_PART))
            self.wrong(f"a part is {', '.join(actions)}, or has all of {words}", where)
            return self._part("refused", where)
        known = None if text["known"] == "any" else frozenset(str(text["known"]).upper().split())
        refused = frozenset(str(text["refused"]).upper().split())
        bare = actions[text["bare"]]
        return PartRule(action=Action.ALLOWED, known=known, refused=refused, bare=bare)


@dataclass(frozen=True, slots=True)
class WordPattern:
    """A word with its shortest abbreviation.

    >>> WordPattern.of("RESiduals").matches("resid"), WordPattern.of("RESiduals").matches("re")
    (True, False)
    """

    full: str  # the word in full, in small letters
    shortest: int  # how many letters must be there

    @classmethod
    def of(cls, text: str) -> WordPattern:
        """A pattern as policies write it: the capitals are the shortest abbreviation."""
        word = text.removesuffix("()")
        capitals = len(word) - len(word.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))
        return cls(word.lower(), capitals if capitals and not word.islower() else len(word))

    def matches(self, word: str) -> bool:
        """Whether a word is this one, or an abbreviation of it."""
        lower = word.lower()
        return len(lower) >= self.shortest and self.full.startswith(lower)


@dataclass(frozen=True, kw_only=True)
class StoredRules:
    """Which stored results of a class (``r``, ``e``, ``s``) may be shown."""

    #: The action on each named one; ``#`` in a name is a number, ``*`` anything
    named: Mapping[str, Action] = field(default_factory=dict)
    default: Action = Action.REVIEW  # the action on all others

    def action(self, name: str) -> Action | None:
        """The strictest action on a command that shows the result; None if no rule names it.

        >>> StoredRules(named={"min_*": Action.REFUSED, "min_1": Action.ALLOWED}).action("min_1")
        <Action.REFUSED: 'refused'>
        """
        fitting = (action for pattern, action in self.named.items() if _fits(pattern, name))
        return max(fitting, key=lambda action: action.rank, default=None)


@cache
def _fits(pattern: str, name: str) -> bool:
    if pattern.isidentifier():
        return pattern == name
    expression = re.escape(pattern).replace(r"\#", r"\d+").replace(r"\*", ".*")
    return re.fullmatch(expression, name) is not None
