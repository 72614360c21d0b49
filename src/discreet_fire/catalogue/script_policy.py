"""The policies for scripts in R and Python and for programs in SPSS and SAS.

In: the rules that come with discreet, and a centre's file of the same form. Out: a `CommandRule` by
name: ``os.system`` is a function, ``.to_csv`` a method of anything, ``socket.*`` a module,
``PROC PRINT`` a procedure. Nothing here is confidential.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Literal

from discreet_fire.catalogue.rules import CommandRule, RuleReader, digest_of, shipped
from discreet_fire.texts import read_source

ScriptLanguage = Literal["python", "r"]
PackageLanguage = Literal["spss", "sas"]

#: What words of [words] do: give one figure of many records, join frames, join each record with
#: each, carry values on, choose records.
_WORDS = ("reduces", "joins", "crosses", "carries", "selects")
_LIMITS = {"minimum": (1, 10**6), "residual": (0, 10**6)}


class ScriptPolicy:
    """Rules on the names of R or Python.

    >>> policy = ScriptPolicy.default("python")
    >>> policy.rule("os.system").action.value, policy.rule(".describe").safe
    ('refused', 'describe')
    >>> policy.rule("nosuchmodule.thing").action.value, policy.rule(".max").risks
    ('review', frozenset({'picks'}))
    """

    def __init__(
        self,
        language: ScriptLanguage,
        rules: Mapping[str, CommandRule],
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
        return _scripts(language)

    @classmethod
    def read(cls, language: ScriptLanguage, path: str | os.PathLike[str]) -> ScriptPolicy:
        """The default rules with a centre's own added."""
        source = read_source(path)
        known, own = cls.default(language), _script_policy(language, source.text, source.path.name)
        words = {name: known.words[name] | own.words[name] for name in _WORDS}
        return cls(language, {**known.rules, **own.rules}, words)

    def rule(self, name: str) -> CommandRule:
        """What becomes of a name; the longest rule that fits counts."""
        rule = self.rules.get(name)
        joint = "." if self.language == "python" else "::"
        parts = name.split(joint)
        for length in range(len(parts) - 1, 0, -1):
            if rule is not None:
                break
            rule = self.rules.get(f"{joint.join(parts[:length])}{joint}*")
        if rule is None and name.startswith(".") and "_" in name[2:]:
            # Methods by their beginning: ``.write_*``.
            rule = self.rules.get(f"{name[: name.index('_', 1) + 1]}*")
        return rule or CommandRule.missing(name, "name")

    @property
    def digest(self) -> str:
        """SHA-256 of all rules."""
        return digest_of([self.language, self.rules, self.words])


@cache
def _scripts(language: ScriptLanguage) -> ScriptPolicy:
    return _script_policy(language, shipped(language), f"{language}.toml")


def _script_policy(language: ScriptLanguage, text: str, place: str) -> ScriptPolicy:
    reader = RuleReader(language, text, place)
    words = dict.fromkeys(_WORDS, frozenset[str]())
    for name, content in reader.section("words").items():
        if name not in words or not isinstance(content, str):
            reader.wrong(f"words are texts for some of {', '.join(_WORDS)}", "words")
        else:
            words[name] = frozenset(content.split())
    rules = dict(reader.rules())
    reader.finish(("commands", "group", "words"))
    return ScriptPolicy(language, rules, words)


class PackagePolicy:
    """Rules on SPSS or SAS, with the safe macros and the least that they let through.

    >>> policy = PackagePolicy.default("sas")
    >>> policy.rules["PROC PRINT"].action.value, policy.limits["minimum"]
    ('refused', 3)
    >>> rule = PackagePolicy.default("spss").rules["FREQUENCIES"]
    >>> rule.gate, rule.parts["HISTOGRAM"].action.value
    ('frequencies', 'refused')
    """

    def __init__(
        self,
        language: PackageLanguage,
        rules: Mapping[str, CommandRule],
        words: Mapping[str, frozenset[str]],
        limits: Mapping[str, int],
        macros: str,
    ) -> None:
        self.language = language
        self.rules = dict(rules)
        #: Lists of words by what is known of them.
        self.words = dict(words)
        self.limits = dict(limits)
        self._source = macros
        #: What goes before a rewritten program.
        self.macros = macros
        for name, value in limits.items():
            self.macros = self.macros.replace(f"{{{name}}}", str(value))

    @classmethod
    def default(cls, language: PackageLanguage) -> PackagePolicy:
        """The rules that come with discreet."""
        return _packages(language)

    @classmethod
    def read(cls, language: PackageLanguage, path: str | os.PathLike[str]) -> PackagePolicy:
        """The default rules with a centre's own added."""
        source = read_source(path)
        reader = RuleReader(language, source.text, source.path.name)
        known, rules, limits = cls.default(language), _package_rules(reader), _limits(reader)
        reader.finish(("group", "limits"))
        return cls(
            language, {**known.rules, **rules}, known.words, known.limits | limits, known._source
        )

    @property
    def digest(self) -> str:
        """SHA-256 of all rules and of the macros."""
        return digest_of([self.language, self.rules, self.words, self.limits, self.macros])


@cache
def _packages(language: PackageLanguage) -> PackagePolicy:
    reader = RuleReader(language, shipped(language), f"{language}.toml")
    rules, limits = _package_rules(reader), _limits(reader)
    words = {one: frozenset(text.upper().split()) for one, text in reader.section("words").items()}
    reader.finish(("group", "limits", "words", "macros"))
    return PackagePolicy(language, rules, words, limits, reader.section("macros")["text"])


def _limits(reader: RuleReader) -> dict[str, int]:
    limits: dict[str, int] = {}
    for name, value in reader.section("limits").items():
        low, high = _LIMITS.get(name, (1, 0))
        if type(value) is not int or not low <= value <= high:
            reader.wrong("is a whole number in its bounds", name, ", ".join(_LIMITS))
        else:
            limits[name] = value
    return limits


def _package_rules(reader: RuleReader) -> dict[str, CommandRule]:
    rules: dict[str, CommandRule] = {}
    for name, rule in reader.rules():
        if name.upper() in rules:
            reader.wrong(f"{name} has two rules", "group")
        rules[name.upper()] = replace(rule, name=name.upper())
    return rules
