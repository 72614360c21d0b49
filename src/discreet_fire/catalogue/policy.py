"""The policies: what becomes of commands, functions and procedures of all languages.

In: the rules of discreet, and a centre's file that adds to them, as TOML or for Stata as the plain
list of an older tool. Out: verdicts on commands, on their second words and options, and on stored
results that are shown; a `CommandRule` by name: ``os.system`` is a function, ``.to_csv`` a method
of anything, ``socket.*`` a module, ``PROC PRINT`` a procedure. Of Stata commands also how each is
read, where figures go, what safe statistics show: a word is written as in a program; commands of
Stata may be shortened as far as Stata itself allows, those of users may not. Nothing here is
confidential.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any, Literal

from discreet_fire.catalogue.rules import (
    Action,
    CommandRule,
    RuleReader,
    StoredRules,
    WordPattern,
    digest_of,
    shipped,
    strictest,
)
from discreet_fire.texts import read_source

#: What the names of safe commands start with.
SAFE = "fdz"


@dataclass(frozen=True, kw_only=True)
class StatisticRow:
    """Figures that one safe statistic shows."""

    statistic: str  # its function in `discreet_fire.statistics`
    #: Who looks at samples that leave few out: "checked" by the runner, the "model" itself, or
    #: nobody, as only their number is "counted"
    sample: Literal["checked", "model", "counted"]
    #: Whom a ledger is told it is about: all variables in "cells", "each" variable by itself, in
    #: "groups" if there are some, in "pairs", all "together", a "model" with the categories of its
    #: factors
    universes: Literal["cells", "each", "groups", "pairs", "together", "model"]
    #: What numbers over groups of records it shows, which are held against those of all other
    #: outputs: of "cells" that variables span, of "variables" with those who have a value, of one
    #: "sample", or others that are "unfollowed", which is said in a finding. "nothing": none at all
    groups: Literal["nothing", "cells", "variables", "sample", "unfollowed"]
    remote: bool  # whether it may be asked for in remote analysis


@cache
def stata_catalogue() -> Mapping[str, Any]:
    """The document with all that is known of Stata commands."""
    return tomllib.loads(shipped("stata"))


@cache
def _names() -> tuple[dict[str, str], frozenset[str]]:
    """Every word that stands for a command, with the full name; and the commands of users."""
    names, also = stata_catalogue()["names"], stata_catalogue()["also"]
    words: dict[str, str] = {}
    for written in names["stata"].split():
        shortest = max((at for at, sign in enumerate(written, 1) if sign.isupper()), default=0)
        name = written.lower()
        words |= {name[:length]: name for length in range(shortest or len(name), len(name))}
        words[name] = name
    users = names["users"].split()
    return words | dict(zip(users, users, strict=True)) | also, frozenset(users)


@cache
def values_of(fact: str) -> Mapping[str, str]:
    """The commands for which something holds, each with what it is.

    >>> values_of("option")["levelsof"], "regress" in values_of("option")
    ('values', False)
    """
    content = stata_catalogue()["facts"][fact]
    lists = {"true": content} if isinstance(content, str) else content
    return {name: value for value, names in lists.items() for name in names.split()}


@cache
def commands_with(fact: str, *values: str) -> frozenset[str]:
    """The commands for which something holds, with one of these values where some are named.

    >>> sorted(commands_with("calls")), sorted(commands_with("data", "models"))
    (['do', 'include', 'run'], ['coefplot'])
    """
    known = values_of(fact)
    if not set(values) <= set(known.values()):
        raise ValueError(f"{fact}: it has no value {values}")
    return frozenset(name for name, value in known.items() if not values or value in values)


@cache
def statistic_rows() -> Mapping[str, StatisticRow]:
    """All rows of safe statistics, by the full name of their command."""
    rows = stata_catalogue()["statistics"].items()
    return {name: StatisticRow(**fields) for name, fields in rows}


def statistic_row(name: str) -> StatisticRow | None:
    """The row of a command by its full name; None for what has no safe statistic.

    >>> statistic_row("tabulate").universes, statistic_row("list")
    ('cells', None)
    """
    return statistic_rows().get(name)


def canonical(word: str) -> str | None:
    """The full name of the command that `word` stands for.

    Stata tells capitals from small letters, and so does this.

    >>> canonical("su"), canonical("summarize"), canonical("ta"), canonical("s")
    ('summarize', 'summarize', 'tabulate', None)
    >>> canonical("xtreg"), canonical("xtre"), canonical("List")
    ('xtreg', None, None)
    """
    return _names()[0].get(word)


def is_community(name: str) -> bool:
    """Whether a command is written by users and not part of Stata.

    >>> is_community("reghdfe"), is_community("regress")
    (True, False)
    """
    return name in _names()[1]


def prefix_kind(name: str) -> str | None:
    """Form of a prefix before its command; None if the word is no prefix.

    >>> prefix_kind("quietly"), prefix_kind("bysort"), prefix_kind("if"), prefix_kind("list")
    ('bare', 'colon', 'condition', None)
    """
    return values_of("prefix").get(name)


#: Sections of a centre's file, and those that only the file of discreet has.
_SECTIONS = ("commands", "group", "option", "prefixes", "stored", "roles", "safe", "header")
_OWN = ("names", "also", "facts", "statistics", "forms", "writes")
_COMMAND = re.compile(r"[A-Za-z_]\w{0,31}")
_SAFE = re.compile(r"[A-Za-z_]\w{0,31}|[A-Za-z_]\w{0,31} \{word\}")
_ADOPATH = re.compile(r"[^\"`$'\n\r\x00-\x1f*]{1,240}")

Words = dict[str, dict[str, tuple[WordPattern, CommandRule]]]


def extended(
    known_rules: Policy, text: str, place: str, sections: tuple[str, ...] = _SECTIONS
) -> Policy:
    """A policy with the rules of a TOML file added; rules on the same words replace."""
    reader = RuleReader("stata", text, place)
    new = replace(
        known_rules,
        commands=dict(known_rules.commands),
        words={name: dict(rules) for name, rules in known_rules.words.items()},
        options={name: dict(rules) for name, rules in known_rules.options.items()},
        results=dict(known_rules.results),
        shown=dict(known_rules.shown),
        used=dict(known_rules.used),
    )
    for written, rule in reader.rules():
        head, _, word = written.partition(" ")
        if _COMMAND.fullmatch(head) is None or (word and _COMMAND.fullmatch(word) is None):
            reader.wrong(f"{written!r} is not the name of a command", "commands")
            continue
        full, pattern = _full(head), WordPattern.of(word)
        name = f"{full} {pattern.full}" if word else full
        safe = rule.safe.replace("{name}", name)
        if safe and _SAFE.fullmatch(safe) is None:
            reader.wrong("name the safe command", f"commands.{written}", 'as in "fdztabulate"')
        verdict = replace(rule, name=name, safe=safe)
        if word:
            new.words.setdefault(full, {})[pattern.full] = (pattern, verdict)
        else:
            new.commands[full] = verdict
    for where, group in reader.groups("option"):
        commands = reader.names(group.pop("commands", None), f"{where}.commands")
        options = reader.names(group.pop("options", None), f"{where}.options")
        if (rule_of := reader.rule(group, where)) is None:
            continue
        if rule_of.safe:
            reader.wrong("an option cannot be wrapped", where)
        for name in map(_full, commands):
            for pattern in map(WordPattern.of, options):
                verdict = replace(rule_of, name=f"{name}, {pattern.full}")
                new.options.setdefault(name, {})[pattern.full] = (pattern, verdict)
    for key, names in _listed_names(reader, "prefixes", ("before", "shows")):
        if key == "before":
            new.before |= frozenset(map(_full, names))
        else:
            new.gather |= frozenset(map(_full, names))
    for _, names in _listed_names(reader, "safe", ("commands",)):
        new.safe |= frozenset(map(_full, names))
    for key, names in _listed_names(reader, "roles", ("shows", "uses")):
        table = new.shown if key == "shows" else new.used
        for written in names:
            head, _, word = written.partition(" ")
            known = table.get(head := _full(head))
            # A rule without a second word holds for all of them, whatever is added.
            if known != ():
                table[head] = (*(known or ()), WordPattern.of(word)) if word else ()
    for kind, lists in reader.section("stored").items():
        if kind not in ("r", "e", "s") or not isinstance(lists, dict):
            reader.unknown(kind, "stored", ("r", "e", "s"))
            continue
        old, actions = new.results.get(kind, StoredRules()), {*Action} - {Action.WRAPPED}
        named, default = dict(old.named), old.default
        for key, content in lists.items():
            if key == "default" and content in actions:
                default = Action(content)
            elif key == "default" or key not in actions:
                reader.unknown(str(content if key == "default" else key), f"stored.{kind}", actions)
            else:
                listed = reader.names(content, f"stored.{kind}.{key}")
                named |= dict.fromkeys(listed, Action(key))
        new.results[kind] = StoredRules(named=named, default=default)
    for key, value in reader.section("header").items():
        if key != "adopath":
            reader.unknown(key, "header", ("adopath",))
        elif not isinstance(value, str) or _ADOPATH.fullmatch(value) is None:
            reader.wrong("this is not a plain path", "header.adopath", "without quotes, $ and `")
        else:
            new.adopath = value
    reader.finish(sections)
    return new


def _listed_names(
    reader: RuleReader, section: str, keys: tuple[str, ...]
) -> Iterator[tuple[str, list[str]]]:
    for key, value in reader.section(section).items():
        if key not in keys:
            reader.unknown(key, section, keys)
        else:
            yield key, reader.names(value, f"{section}.{key}")


def _full(name: str) -> str:
    """The name of a command in full; unknown ones, and ``*`` for all, stay."""
    return canonical(name) or name


def extended_by_list(known_rules: Policy, text: str, place: str) -> Policy:
    """A policy with a plain list of commands added, one a line (`preFire.txt`).

    A command of the list runs as ``fdz`` and its name, which is one of the safe commands or a
    program of the centre's own. What is refused stays refused, and what runs as another safe
    command goes on to do so. Blank lines and lines that start with ``*`` or ``#`` are passed
    over; abbreviations are understood.
    """
    reader, commands = RuleReader("stata", "", place), dict(known_rules.commands)
    texts = [line.strip() for line in text.removeprefix("\ufeff").splitlines() if line.strip()]
    if texts and all(line.startswith("##") for line in texts):
        hint = "lines with ## belong to the list for logs: discreet fire post --rules"
        reader.wrong("not a list of commands", "", hint)
        reader.stop()
    for number, line in enumerate(text.splitlines(), 1):
        word = line.strip().strip("\ufeff")
        if not word or word.startswith(("*", "#", "//")):
            continue
        name = canonical(word) or canonical(word.lower()) or word
        old, safe = known_rules.commands.get(name), f"{SAFE}{name}"
        if _COMMAND.fullmatch(word) is None:
            message = "this is not the name of a command"
            reader.wrong(message, f"line {number}", "one name of a command in each line")
        elif _COMMAND.fullmatch(safe) is None:
            message = f"no command can be called {SAFE} and this name: it is too long"
            reader.wrong(message, f"line {number}")
        elif old is None or old.action not in (Action.REFUSED, Action.WRAPPED):
            rule = CommandRule(action=Action.ALLOWED, name=safe, reason=f"named in {place}")
            commands[name] = replace(rule, action=Action.WRAPPED, name=name, safe=safe)
            commands[safe] = rule
    reader.finish(())
    return replace(known_rules, commands=commands)


@dataclass(kw_only=True, eq=False)
class Policy:
    """Rules on commands, options and stored results.

    >>> policy = Policy.default()
    >>> policy.verdict("regress").safe, policy.verdict("list").action.value
    ('fdzregress', 'refused')
    >>> policy.verdict("nosuchcommand").action.value
    'review'
    """

    commands: dict[str, CommandRule] = field(default_factory=dict)  # the verdict of each command
    #: For commands with rules on their second word: the rules
    words: Words = field(default_factory=dict)
    options: Words = field(default_factory=dict)  # for each command, or ``*``: the rules on options
    #: Prefixes with a model of their own: what is safe precedes
    before: frozenset[str] = frozenset()
    gather: frozenset[str] = frozenset()  # prefixes that show what they gather
    #: Which stored results may be shown, by class
    results: dict[str, StoredRules] = field(default_factory=dict)
    #: Commands that show their arguments, with the words this is limited to
    shown: dict[str, tuple[WordPattern, ...]] = field(default_factory=dict)
    #: Commands that take values and show none of them
    used: dict[str, tuple[WordPattern, ...]] = field(default_factory=dict)
    safe: frozenset[str] = frozenset()  # commands with a safe command, for lists of the older tool
    adopath: str = ""  # folder of the safe commands on the server; empty if Stata finds them

    @classmethod
    @cache
    def default(cls) -> Policy:
        """The rules that come with discreet.

        >>> Policy.default().verdict("tabstat").action.value
        'wrapped'
        """
        return extended(cls(), shipped("stata"), "stata.toml", (*_SECTIONS, *_OWN))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Policy:
        """The default rules with a centre's own added: a TOML file, or `preFire.txt`."""
        source = read_source(path)
        reader = extended if source.path.suffix.lower() == ".toml" else extended_by_list
        return reader(cls.default(), source.text, source.path.name)

    def for_officer(self) -> Policy:
        """The policy for an officer's own programs, which may choose p with `critical()`.

        A researcher who may choose it finds out, step by step, how much the largest cases have.

        >>> Policy.default().for_officer().option("summarize", "critical").action.value
        'allowed'
        """
        pattern = WordPattern.of("CRITical()")
        rule = CommandRule(action=Action.ALLOWED, name=f"*, {pattern.full}")
        every = self.options["*"] | {pattern.full: (pattern, rule)}
        return replace(self, options=self.options | {"*": every})

    def verdict(self, name: str, words: Iterable[str] = ()) -> CommandRule:
        """Verdict on a command.

        >>> Policy.default().verdict("duplicates", ["l"]).name
        'duplicates list'
        """
        rules = self.words.get(name, {}).values()
        fitting = (rule for word in words for pattern, rule in rules if pattern.matches(word))
        return strictest(fitting) or self.commands.get(name) or CommandRule.missing(name)

    def option(self, name: str, word: str) -> CommandRule | None:
        """Verdict on a command with an option; None if the option does not matter.

        >>> Policy.default().option("summarize", "critical").action.value
        'refused'
        """
        rules = (*self.options.get(name, {}).values(), *self.options.get("*", {}).values())
        return strictest(rule for pattern, rule in rules if pattern.matches(word))

    def stored(self, kind: str, name: str) -> Action:
        """The decision on a command that shows a stored result.

        >>> Policy.default().stored("r", "max").value, Policy.default().stored("e", "N").value
        ('refused', 'allowed')
        """
        rules = self.results.get(kind, StoredRules())
        return rules.action(name) or rules.default

    def names_stored(self, kind: str, name: str) -> bool:
        """Whether a rule names a stored result, other than the rule for all the rest.

        >>> [Policy.default().names_stored("r", name) for name in ("p50", "my_own")]
        [True, False]
        """
        return self.results.get(kind, StoredRules()).action(name) is not None

    def shows(self, name: str, word: str = "") -> bool:
        """Whether a command shows or files its arguments.

        >>> Policy.default().shows("display"), Policy.default().shows("generate")
        (True, False)
        """
        return _listed(self.shown, name, word)

    def uses(self, name: str, word: str = "") -> bool:
        """Whether a command takes values and shows none of them."""
        return _listed(self.used, name, word)

    @cached_property
    def safe_names(self) -> frozenset[str]:
        """The names of all safe commands."""
        rules = [*self.commands.values()]
        return frozenset(rule.safe.split()[0] for rule in rules if rule.safe) | {"fdzrun"}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all rules; the same rules give the same digest."""
        return digest_of({one.name: getattr(self, one.name) for one in fields(self)})

    def run_time_lines(self) -> list[str]:
        """The rules as lines ``name action safe``, which `fdzrun` reads on the server.

        Names with a second word are written with ``|`` and the letters that must be there.
        Commands that show their arguments do not run by a macro: what they show could not be
        followed. Nor do prefixes and calls of other do-files: what they run was not looked at.
        """
        lines = []
        for name, rule in self.commands.items():
            hidden = rule.action is Action.ALLOWED and self.shown.get(name) == ()
            stopped = hidden or name in commands_with("calls") or prefix_kind(name) is not None
            lines.append(_line(name, rule, stopped=stopped))
        for name, words in self.words.items():
            for pattern, rule in words.values():
                hidden = rule.action is Action.ALLOWED and self.shows(name, pattern.full)
                written = f"{name}|{pattern.full}|{pattern.shortest}"
                lines.append(_line(written, rule, stopped=hidden))
        return sorted(lines)


def _line(name: str, rule: CommandRule, *, stopped: bool) -> str:
    action = Action.REFUSED if stopped else rule.action
    return f"{name} {action.value} {rule.safe.replace(' {word}', '+')}".rstrip()


def _listed(table: Mapping[str, tuple[WordPattern, ...]], name: str, word: str) -> bool:
    limits = table.get(name)
    if limits is None:
        return False
    return not limits or any(pattern.matches(word) for pattern in limits)


@cache
def known_commands() -> frozenset[str]:
    """The full names of all commands that the rules of discreet name."""
    policy = Policy.default()
    return frozenset((*policy.commands, *policy.words))


#: Languages but Stata: functions of the first two, commands and procedures of the others.
ScriptLanguage = Literal["python", "r", "spss", "sas"]

_Words = Mapping[str, frozenset[str]]
_LIMITS = {"minimum": (1, 10**6), "residual": (0, 10**6)}


class ScriptPolicy:
    """Rules on the names of a language, with lists of words by what is known of them.

    >>> policy = ScriptPolicy.default("python")
    >>> policy.rule("os.system").action.value, policy.rule(".describe").safe
    ('refused', 'describe')
    >>> policy.rule("nosuchmodule.thing").action.value
    'review'
    >>> rule = ScriptPolicy.default("spss").rules["FREQUENCIES"]
    >>> rule.gate, rule.parts["HISTOGRAM"].action.value
    ('frequencies', 'refused')
    """

    def __init__(
        self, language: ScriptLanguage, rules: Mapping[str, CommandRule],
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
    @cache
    def default(cls, language: ScriptLanguage) -> ScriptPolicy:
        """The rules that come with discreet.

        >>> ScriptPolicy.default("r").rule("saveRDS").action.value
        'refused'
        """
        return cls._of(language, RuleReader(language, shipped(language), f"{language}.toml"))

    @classmethod
    def read(cls, language: ScriptLanguage, path: str | os.PathLike[str]) -> ScriptPolicy:
        """The default rules with a centre's own added."""
        source, known = read_source(path), cls.default(language)
        reader = RuleReader(language, source.text, source.path.name)
        own = cls._of(language, reader, known.words)
        words = {name: listed | own.words.get(name, set()) for name, listed in known.words.items()}
        return cls(
            language, known.rules | own.rules, words, known.limits | own.limits, known._source
        )

    @classmethod
    def _of(
        cls, language: ScriptLanguage, reader: RuleReader, known: _Words | None = None
    ) -> ScriptPolicy:
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

    def rule(self, name: str) -> CommandRule:
        """Rule of a name; the longest matching rule counts."""
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
