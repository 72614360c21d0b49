"""The policy for SPSS and SAS: what becomes of each command, procedure, statement and option.

In: the rules that come with discreet, and a centre's file of the same form. Out: a `PackageRule`
for each name. Every fact is stated: a rule without one is an error when the rules are read.
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

PackageLanguage = Literal["spss", "sas"]

#: How a safe macro chooses the records that a procedure is given; `free`: by none.
GATES = ("free", "frequencies", "cells", "table", "groups", "values", "model")
_RULE = {"names", "action", "gate", "reason", "parts"}
_PART = {"known", "refused", "bare"}
_LIMITS = {"minimum": (1, 10**6), "residual": (0, 10**6)}


@dataclass(frozen=True, kw_only=True, slots=True)
class PartRule:
    """What a policy says of a subcommand of SPSS, or a statement of a procedure of SAS."""

    action: Action  # what becomes of it: allowed, review or refused
    known: frozenset[str] | None  # words in it that show nothing more; None if no word can
    refused: frozenset[str]  # words that are not permitted
    bare: Action  # what becomes of it when it stands without a word


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageRule:
    """What a policy says of a command or procedure.

    >>> rule = PackagePolicy.default("spss").rules["FREQUENCIES"]
    >>> rule.gate, rule.parts["HISTOGRAM"].action.value
    ('frequencies', 'refused')
    """

    name: str  # in capitals, in full
    action: Action  # what becomes of it; a wrapped one is given what its gate lets through
    gate: str  # which safe macro chooses its records; ``free`` for those that are not wrapped
    reason: str  # why, in words for researchers
    parts: Mapping[str, PartRule] | None  # what it may hold; None if nothing in it can show more


class PackagePolicy:
    """Rules on one language, with its safe macros and the least that they let through.

    >>> policy = PackagePolicy.default("sas")
    >>> policy.rules["PROC PRINT"].action.value, policy.limits["minimum"]
    ('refused', 3)
    """

    def __init__(
        self,
        language: PackageLanguage,
        rules: Mapping[str, PackageRule],
        words: Mapping[str, frozenset[str]],
        limits: Mapping[str, int],
        macros: str,
    ) -> None:
        self.language = language
        self.rules = dict(rules)
        #: Lists of words by what is known of them.
        self.words = dict(words)
        self.limits = dict(limits)
        text = macros.replace("{minimum}", str(limits["minimum"]))
        #: What goes before a rewritten program.
        self.macros = text.replace("{residual}", str(limits["residual"]))

    @classmethod
    def default(cls, language: PackageLanguage) -> PackagePolicy:
        """The rules that come with discreet."""
        return _default(language)

    @classmethod
    def read(cls, language: PackageLanguage, path: str | os.PathLike[str]) -> PackagePolicy:
        """The default rules with a centre's own added."""
        source = read_source(path)
        document = _document(source.text, source.path.name)
        basis = _document(_text(language), f"{language}_policy.toml")
        rules = {**cls.default(language).rules, **_rules(document, source.path.name)}
        words, limits, macros = _rest(basis, document.get("limits", {}), source.path.name)
        return cls(language, rules, words, limits, macros)

    @property
    def digest(self) -> str:
        """SHA-256 of all rules and of the macros."""
        rules = {name: asdict(rule) for name, rule in sorted(self.rules.items())}
        parts = [self.language, rules, self.words, self.limits, self.macros]
        text = json.dumps(parts, sort_keys=True, default=sorted)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


def _text(language: str) -> str:
    return files("discreet_fire.catalogue").joinpath(f"{language}_policy.toml").read_text("utf-8")


@cache
def _default(language: PackageLanguage) -> PackagePolicy:
    name = f"{language}_policy.toml"
    document = _document(_text(language), name)
    words, limits, macros = _rest(document, document["limits"], name)
    return PackagePolicy(language, _rules(document, name), words, limits, macros)


def _document(text: str, place: str) -> dict[str, Any]:
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _error([Problem(f"this is not TOML: {error}", place)]) from None
    wrong = [item for item in document if item not in ("group", "words", "limits", "macros")]
    if wrong:
        problem = Problem(f"{wrong[0]!r} is not known here", place, "write [[group]] or [limits]")
        raise _error([problem])
    return document


def _rest(
    document: Mapping[str, Any], own: object, place: str
) -> tuple[dict[str, frozenset[str]], dict[str, int], str]:
    """Lists of words, limits and macros."""
    limits = dict(document["limits"])
    problems = []
    for name, value in own.items() if isinstance(own, dict) else [("limits", own)]:
        low, high = _LIMITS.get(name, (1, 0))
        if type(value) is not int or not low <= value <= high:
            known = ", ".join(_LIMITS)
            problems.append(Problem("is a whole number in its bounds", f"{place}: {name}", known))
        else:
            limits[name] = value
    if problems:
        raise _error(problems)
    words = {name: frozenset(text.upper().split()) for name, text in document["words"].items()}
    return words, limits, str(document["macros"]["text"])


def _rules(document: Mapping[str, Any], place: str) -> dict[str, PackageRule]:
    """The rules in a document; all its mistakes are told at once."""
    problems: list[Problem] = []
    rules: dict[str, PackageRule] = {}
    groups = document.get("group", [])
    for number, group in enumerate(groups if isinstance(groups, list) else [groups], 1):
        where = f"{place}: group {number}"
        if not isinstance(group, dict) or set(group) != _RULE:
            problems.append(Problem(f"a group has all of {', '.join(sorted(_RULE))}", where))
            continue
        rule = _rule(group, where, problems)
        if rule is not None:
            names = [str(name).upper() for name in group["names"]]
            twice = [name for name in names if name in rules]
            problems += [Problem(f"{name} has two rules", where) for name in twice]
            rules |= {name: PackageRule(name=name, **rule) for name in names}
    if problems:
        raise _error(problems)
    return rules


def _rule(group: Mapping[str, Any], where: str, problems: list[Problem]) -> dict[str, Any] | None:
    """The facts of one group; None, with a problem noted, if they make no sense."""
    action, gate, parts = group["action"], group["gate"], group["parts"]
    reason = group["reason"]
    message = ""
    if not isinstance(group["names"], list) or not group["names"]:
        message = "names are a list"
    elif action not in list(Action):
        message = f"the action is one of {', '.join(Action)}"
    elif gate not in GATES or (action == Action.WRAPPED) == (gate == "free"):
        message = f"the gate is one of {', '.join(GATES)}, and free unless the action is wrapped"
    elif not isinstance(reason, str) or not reason:
        message = "the reason is a text"
    if not message and parts != "any" and not isinstance(parts, dict):
        message = 'parts are "any", or a table'
    if message:
        problems.append(Problem(message, where))
        return None
    options = None
    if isinstance(parts, dict):
        named = [(one, text) for names, text in parts.items() for one in names.upper().split()]
        options = {name: _part(text, f"{where}: {name}", problems) for name, text in named}
    return {"action": Action(action), "gate": gate, "reason": reason, "parts": options}


def _part(text: object, where: str, problems: list[Problem]) -> PartRule:
    """One part: what becomes of it, or its words."""
    actions = {"any": Action.ALLOWED, "review": Action.REVIEW, "refused": Action.REFUSED}
    if isinstance(text, str) and text in actions:
        action = actions[text]
        return PartRule(action=action, known=None, refused=frozenset(), bare=action)
    good = isinstance(text, dict) and set(text) == _PART
    if not isinstance(text, dict) or not good or text["bare"] not in actions:
        message = f"a part is {', '.join(actions)}, or has all of {', '.join(sorted(_PART))}"
        problems.append(Problem(message, where))
        return PartRule(action=Action.REFUSED, known=None, refused=frozenset(), bare=Action.REFUSED)
    known = None if text["known"] == "any" else frozenset(str(text["known"]).upper().split())
    refused = frozenset(str(text["refused"]).upper().split())
    bare = actions[text["bare"]]
    return PartRule(action=Action.ALLOWED, known=known, refused=refused, bare=bare)


def _error(problems: list[Problem]) -> OutputCheckError:
    return OutputCheckError.of(problems, f"{len(problems)} mistakes in the policy", code="policy")
