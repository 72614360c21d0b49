"""The policy for R and Python: what becomes of each function, method and module.

In: the rules that come with discreet, and a centre's file of the same form. Out: verdicts
by name: ``os.system`` is a function, ``.to_csv`` a method of anything, ``socket.*`` a module.
Nothing here is confidential.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from discreet.errors import OutputCheckError, Problem
from discreet_fire.catalogue.verdicts import Action
from discreet_fire.texts import read_source

ScriptLanguage = Literal["python", "r"]

_KEYS = ("action", "safe", "reason", "role", "commands", "risks", "traits", "runs")
#: What calls may do with values, and what is known of them besides; the policies say what each is.
_RISKS = (
    *(
        "picks",
        "ends",
        "few",
        "place",
        "spreads",
        "labels",
        "named",
        "turns",
        "frames",
        "runs",
        "code",
    ),
    *("reads", "decides"),
)
_TRAITS = ("chooses", "schema", "around", "passes", "makes", "model", "term", "text")
#: shows: prints or writes its arguments. clean: tells nothing of the data, if its arguments do
#: not. acts: changes something and gives nothing back. data: gives what derives from data.
_ROLES = ("data", "shows", "clean", "acts")
#: What words of [words] do: give one figure of many records, join frames, join each record with
#: each, carry values on, choose records.
_WORDS = ("reduces", "joins", "crosses", "carries", "selects")
_NO_RULE = "no rule for this name; it may show anything"


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptRule:
    """What a policy says of a name.

    >>> ScriptPolicy.default("python").rule(".max").risks
    frozenset({'picks'})
    """

    name: str  # the name as the rule writes it
    action: Action  # what becomes of it
    role: str  # what it does with its arguments: data, shows, clean or acts
    safe: str  # for wrapped names: the safe function
    reason: str  # why, in words for researchers
    known: bool  # whether a rule names it
    risks: frozenset[str] | None  # what a call may do with values; None if that is not stated
    traits: frozenset[str]  # what else is known of it
    runs: int | None  # which argument is a function that it runs

    def may(self, *risks: str) -> bool:
        """Whether a call may do one of these; where nothing is stated it may."""
        return self.risks is None or not self.risks.isdisjoint(risks)


class ScriptPolicy:
    """Rules on the names of one language.

    >>> policy = ScriptPolicy.default("python")
    >>> policy.rule("os.system").action.value, policy.rule(".describe").safe
    ('refused', 'describe')
    >>> policy.rule("nosuchmodule.thing").action.value
    'review'
    """

    def __init__(
        self,
        language: ScriptLanguage,
        rules: Mapping[str, ScriptRule],
        words: Mapping[str, frozenset[str]],
    ) -> None:
        self.language = language
        self.rules = dict(rules)
        #: By what they do, the last words of functions and methods.
        self.words = dict(words)

    @classmethod
    def default(cls, language: ScriptLanguage) -> ScriptPolicy:
        """The rules that come with discreet.

        >>> ScriptPolicy.default("r").rule("saveRDS").action.value
        'refused'
        """
        return _default(language)

    @classmethod
    def read(cls, language: ScriptLanguage, path: str | os.PathLike[str]) -> ScriptPolicy:
        """The default rules with a centre's own added."""
        source = read_source(path)
        rules, words = _rules(source.text, source.path.name)
        known = cls.default(language)
        both = {name: known.words[name] | words[name] for name in _WORDS}
        return cls(language, {**known.rules, **rules}, both)

    def rule(self, name: str) -> ScriptRule:
        """What becomes of a name; the longest rule that fits counts."""
        found = self.rules.get(name)
        parts = name.split(".") if self.language == "python" else name.split("::")
        joint = "." if self.language == "python" else "::"
        for length in range(len(parts) - 1, 0, -1):
            if found is not None:
                break
            found = self.rules.get(f"{joint.join(parts[:length])}{joint}*")
        if found is None and name.startswith(".") and "_" in name:
            # Methods by their beginning: ``.write_*``.
            found = (
                self.rules.get(f"{name[: name.index('_', 1) + 1]}*") if "_" in name[2:] else None
            )
        return found or ScriptRule(
            name=name,
            action=Action.REVIEW,
            role="data",
            safe="",
            reason=_NO_RULE,
            known=False,
            risks=None,
            traits=frozenset(),
            runs=None,
        )

    @property
    def digest(self) -> str:
        """SHA-256 of all rules."""
        made = {name: asdict(rule) for name, rule in sorted(self.rules.items())}
        text = json.dumps([self.language, made, self.words], sort_keys=True, default=sorted)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


@cache
def _default(language: ScriptLanguage) -> ScriptPolicy:
    name = f"{language}_policy.toml"
    text = files("discreet_fire.catalogue").joinpath(name).read_text("utf-8")
    return ScriptPolicy(language, *_rules(text, name))


def _rules(text: str, place: str) -> tuple[dict[str, ScriptRule], dict[str, frozenset[str]]]:
    """The rules and words in a TOML text; all its mistakes are told at once."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _error([Problem(f"this is not TOML: {error}", place)]) from None
    problems = [
        Problem(f"{item!r} is not known here", f"{place}: {item}", "write [commands] or [[group]]")
        for item in document
        if item not in ("commands", "group", "words")
    ]
    words = document.get("words", {})
    if not isinstance(words, dict) or not all(
        name in _WORDS and isinstance(text, str) for name, text in words.items()
    ):
        what = f"words are texts for some of {', '.join(_WORDS)}"
        problems.append(Problem(what, f"{place}: words"))
        words = {}
    rules: dict[str, ScriptRule] = {}
    for where, names, content in _entries(document, place, problems):
        rule = _rule(where, content, problems)
        if rule is not None:
            rules |= {name: ScriptRule(name=name, known=True, **rule) for name in names}
    if problems:
        raise _error(problems)
    return rules, {name: frozenset(words.get(name, "").split()) for name in _WORDS}


def _entries(
    document: Mapping[str, Any], place: str, problems: list[Problem]
) -> list[tuple[str, list[str], dict[str, Any]]]:
    """Each rule with its names."""
    entries = []
    groups = document.get("group", [])
    for number, group in enumerate(groups if isinstance(groups, list) else [], 1):
        where = f"{place}: group {number}"
        names = group.get("commands") if isinstance(group, dict) else None
        if isinstance(names, list) and all(isinstance(name, str) and name for name in names):
            entries.append((where, names, group))
        else:
            problems.append(Problem("write commands = [names]", where))
    single = document.get("commands", {})
    for name, rule in (single if isinstance(single, dict) else {}).items():
        made = {"action": rule} if isinstance(rule, str) else rule
        if isinstance(made, dict):
            entries.append((f"{place}: commands.{name}", [name], made))
        else:
            problems.append(Problem('write NAME = "allowed"', f"{place}: commands.{name}"))
    if not isinstance(groups, list) or not isinstance(single, dict):
        problems.append(Problem("write [commands] and [[group]]", place))
    return entries


def _rule(where: str, content: Mapping[str, Any], problems: list[Problem]) -> dict[str, Any] | None:
    """The parts of one rule; None, with a problem noted, if they make no sense."""
    wrong = [key for key in content if key not in _KEYS]
    texts = all(isinstance(content.get(key, ""), str) for key in _KEYS[:4])
    lists = all(
        isinstance(found := content.get(key, []), list) and set(map(str, found)) <= set(known)
        for key, known in (("risks", _RISKS), ("traits", _TRAITS))
    )
    message = f"{wrong[0]!r} is not known here" if wrong else ""
    if not message and not texts:
        message = "action, role, safe and reason are texts"
    elif not message and content.get("action") not in list(Action):
        message = f"the action is one of {', '.join(Action)}"
    elif not message and content.get("role", "data") not in _ROLES:
        message = f"the role is one of {', '.join(_ROLES)}"
    elif not message and (content["action"] == Action.WRAPPED) != bool(content.get("safe")):
        message = "wrapped names have a safe function, others have none"
    elif not message and (not lists or type(content.get("runs", 0)) is not int):
        message = f"risks are some of {', '.join(_RISKS)}; runs is a number"
    if message:
        problems.append(Problem(message, where))
        return None
    risks = content.get("risks")
    return {
        "action": Action(content["action"]),
        "role": content.get("role", "data"),
        "safe": content.get("safe", ""),
        "reason": content.get("reason", ""),
        "risks": None if risks is None else frozenset(risks),
        "traits": frozenset(content.get("traits", ())),
        "runs": content.get("runs"),
    }


def _error(problems: list[Problem]) -> OutputCheckError:
    return OutputCheckError.of(problems, f"{len(problems)} mistakes in the policy", code="policy")
