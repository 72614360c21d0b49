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
from typing import Any, Literal, Self, cast

from discreet_fire.catalogue.rules import CommandRule, RuleReader, digest_of, shipped
from discreet_fire.texts import read_source

ScriptLanguage = Literal["python", "r"]
PackageLanguage = Literal["spss", "sas"]

_Words = Mapping[str, frozenset[str]]
_LIMITS = {"minimum": (1, 10**6), "residual": (0, 10**6)}


class _ProgramPolicy:
    """Rules on the names of a language, with lists of words by what is known of them."""

    def __init__(
        self, language: ScriptLanguage | PackageLanguage, rules: Mapping[str, CommandRule],
        words: _Words, limits: Mapping[str, int] | None = None, source: str = "",
    ) -> None:  # fmt: skip
        self.language = language
        self.rules = dict(rules)
        self.words = dict(words)
        #: The least that safe macros let through.
        self.limits = dict(limits or {})
        self._source = source
        #: The safe macros, which go before a rewritten program.
        self.macros = source
        for name, value in self.limits.items():
            self.macros = self.macros.replace(f"{{{name}}}", str(value))

    @classmethod
    def default(cls, language: Any) -> Self:
        """The rules that come with discreet.

        >>> ScriptPolicy.default("r").rule("saveRDS").action.value
        'refused'
        """
        return cast("Self", _default(cast("Any", cls), language))

    @classmethod
    def read(cls, language: Any, path: str | os.PathLike[str]) -> Self:
        """The default rules with a centre's own added."""
        source, known = read_source(path), cls.default(language)
        reader = RuleReader(language, source.text, source.path.name)
        own = cls._of(language, reader, known.words)
        words = {name: listed | own.words.get(name, set()) for name, listed in known.words.items()}
        return cls(
            language, known.rules | own.rules, words, known.limits | own.limits, known._source
        )

    @classmethod
    def _of(cls, language: Any, reader: RuleReader, known: _Words | None = None) -> Self:
        """The rules of one file; a centre's may add to words that are known, of R and Python."""
        rules: dict[str, CommandRule] = {}
        words: dict[str, frozenset[str]] = {}
        limits: dict[str, int] = {}
        for name, rule in reader.rules():
            full = name.upper() if reader.packages else name
            if full in rules and reader.packages:
                reader.wrong(f"{name} has two rules", "group")
            rules[full] = replace(rule, name=full)
        for name, content in reader.section("words").items():
            if (known is not None and name not in known) or not isinstance(content, str):
                reader.wrong(f"words are texts for some of {', '.join(known or ())}", "words")
            else:
                listed = content.upper() if reader.packages else content
                words[name] = frozenset(listed.split())
        for name, value in reader.section("limits").items():
            low, high = _LIMITS.get(name, (1, 0))
            if type(value) is not int or not low <= value <= high:
                reader.wrong("is a whole number in its bounds", name, ", ".join(_LIMITS))
            else:
                limits[name] = value
        own = ("words", "macros") if known is None else ()
        reader.finish(
            ("group", "limits", *own) if reader.packages else ("commands", "group", "words")
        )
        return cls(language, rules, words, limits, reader.section("macros").get("text", ""))

    @property
    def digest(self) -> str:
        """SHA-256 of all rules and of the macros."""
        return digest_of([self.language, self.rules, self.words, self.limits, self.macros])


@cache
def _default(kind: type[_ProgramPolicy], language: Any) -> _ProgramPolicy:
    return kind._of(language, RuleReader(language, shipped(language), f"{language}.toml"))


class ScriptPolicy(_ProgramPolicy):
    """Rules on the names of R or Python.

    >>> policy = ScriptPolicy.default("python")
    >>> policy.rule("os.system").action.value, policy.rule(".describe").safe
    ('refused', 'describe')
    >>> policy.rule("nosuchmodule.thing").action.value, policy.rule(".max").risks
    ('review', frozenset({'picks'}))
    """

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


class PackagePolicy(_ProgramPolicy):
    """Rules on SPSS or SAS, with the safe macros and the least that they let through.

    >>> policy = PackagePolicy.default("sas")
    >>> policy.rules["PROC PRINT"].action.value, policy.limits["minimum"]
    ('refused', 3)
    >>> rule = PackagePolicy.default("spss").rules["FREQUENCIES"]
    >>> rule.gate, rule.parts["HISTOGRAM"].action.value
    ('frequencies', 'refused')
    """
