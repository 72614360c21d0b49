"""What reading a do-file needs to know of each command: one row for each.

In: ``commands.toml``. Out: the row of a command, and the commands for which something holds. A
field that is left out or not understood is an error, and so is a name that stands twice; the
policy and this file must name the same commands. Nothing here is confidential.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from discreet_fire.catalogue.facts import check_facts, check_keys, document, leaves, row_of


@dataclass(frozen=True, kw_only=True)
class ReadingFacts:
    """How a command is read."""

    #: How it stands before another: "bare" needs no colon, "colon" needs one, "word" takes the next
    #: word without one, "condition" is `if`, `else` and `while`
    prefix: Literal["none", "bare", "colon", "word", "condition"]
    parts: Literal["usual", "own"]  # whether it parts its command in an "own" way
    block: bool  # whether a block in braces may follow
    #: Whether the body of a "program" follows, a "block" of another language, "data", or the "text"
    #: of a document; "end" closes one
    body: Literal["none", "program", "end", "block", "data", "text"]
    #: Whether its text "defines" what may be run later, "runs" commands within quotes, or "lists"
    #: words that may be commands
    text: Literal["none", "defines", "runs", "lists"]
    loop: bool  # whether its head ends with a brace


@dataclass(frozen=True, kw_only=True)
class FlowFacts:
    """Where figures go through a command."""

    gives: Literal[
        "nothing", "macro", "names", "new_names", "scalar", "matrix", "columns", "variable",
        "collapsed", "foreach", "tokens", "first_token", "result", "numbers",
    ]  # fmt: skip
    #: Whether it gives texts to macros: to "some", to all ("all"), or "names" made up
    texts: Literal["none", "some", "all", "names"]
    #: What its options put into macros and matrices: the distinct "values" of a variable, the
    #: "cells" of a table, "records"
    option: Literal["nothing", "values", "cells", "records"]
    #: Whether as a prefix it gathers figures as "variables", in output that is "shown", or "both"
    gathers: Literal["nothing", "variables", "shown", "both"]
    #: Whether its words may be scalars ("figures"), are "coefficients", or "free": shown as they
    #: stand, or taken for files, variables or names of graphs
    words: Literal["figures", "free", "coefficients"]
    control: bool  # whether it decides only what else runs
    tests: bool  # whether its error or its count tells of the records, as that of `assert`
    #: Whether names or labels of variables that it makes hold values of others: always ("made"), or
    #: "by option"; or whether it lists such names
    columns: Literal["none", "made", "by option", "listed"]
    #: Whether it shows its arguments, with some second words or all
    shows: Literal["none", "some", "all"]
    #: Whether it takes values and shows none of them, with some second words or all
    uses: Literal["none", "some", "all"]


@dataclass(frozen=True, kw_only=True)
class RewritingFacts:
    """What rewriting looks at besides the policy."""

    calls: bool  # whether it runs a do-file
    #: Whether it runs "any" command behind it, runs it "as it is", or "safely"
    runs: Literal["nothing", "any", "as it is", "safely"]
    #: Whether it may give or list names that are the centre's: as `global`, `macro` or `program`
    reserved: Literal["none", "global", "macro", "program"]
    table: bool  # whether it makes tables of stored results
    #: Whether as a prefix it runs a model of its own, so that a safe command goes before
    before: bool
    #: Whether it may put "any" other data into memory, has them "kept", changed by nothing but what
    #: the statement says, or "drawn" and kept; or draws "models" that are stored
    data: Literal["any", "kept", "drawn", "models"]


@dataclass(frozen=True, kw_only=True)
class CatalogueRow:
    """The row of one command."""

    #: Whether it is of "stata", written by "users", or "rare": then no text is taken for a command
    #: because it starts with its name
    origin: Literal["stata", "users", "rare"]
    reading: ReadingFacts  # how it is read
    flow: FlowFacts  # where figures go
    rewriting: RewritingFacts  # what rewriting looks at
    #: Whether in a log it "loads" data and prints their label, or displays "results", or all that
    #: it prints is "withheld"
    log: Literal["usual", "loads", "results", "withheld"]


#: Parts of a policy, what they have rules for, and these rules.
Outline = Mapping[str, Mapping[str, frozenset[str]]]


@dataclass(frozen=True, kw_only=True)
class CommandTable:
    """All commands."""

    rows: Mapping[str, CatalogueRow]  # the row of each, by its full name
    shortest: Mapping[str, str]  # shortest forms, of those that may be shortened
    also: Mapping[str, str]  # other words for commands
    forms: Mapping[str, tuple[str, ...]]  # how the lines look that safe commands print
    policy: Outline  # what the policy must hold besides a rule for each command


@cache
def command_table() -> CommandTable:
    """The commands that come with discreet.

    >>> row = command_table().rows["levelsof"]
    >>> row.flow.option, row.rewriting.calls
    ('values', False)
    """
    return read_commands(document("commands.toml"))


def commands_where(holds: Callable[[CatalogueRow], bool]) -> frozenset[str]:
    """The commands for which something holds.

    >>> sorted(commands_where(lambda row: row.rewriting.calls))
    ['do', 'include', 'run']
    """
    return frozenset(name for row, names in _alike() if holds(row) for name in names)


@cache
def _alike() -> list[tuple[CatalogueRow, list[str]]]:
    """Rows with all commands that share them."""
    names_of: dict[int, tuple[CatalogueRow, list[str]]] = {}
    for name, row in command_table().rows.items():
        names_of.setdefault(id(row), (row, []))[1].append(name)
    return list(names_of.values())


#: What the names of safe commands start with.
SAFE = "fdz"
_ORIGINS = ("stata", "users", "rare")
_CLASSES = {"reading": ReadingFacts, "flow": FlowFacts, "rewriting": RewritingFacts}
_TOP = {*_ORIGINS, *_CLASSES, "also", "forms", "plain", "rows", "policy", "facts"}


def read_commands(told: Mapping[str, Any]) -> CommandTable:
    """The commands of a document.

    Raises:
        ValueError: Something is missing, stands twice or is not understood.
    """
    check_keys("commands.toml", told, _TOP)
    classes: dict[str, dict[str, Any]] = {
        part: {name: row_of(f"{part}: {name}", of, one) for name, one in told[part].items()}
        for part, of in _CLASSES.items()
    }
    plain = told["plain"]
    rows: dict[str, CatalogueRow] = {}
    shortest: dict[str, str] = {}
    lists = [{**plain, "origin": one, "names": told[one]} for one in _ORIGINS]
    for entry in (*lists, *told["rows"]):
        fields = dict(entry)
        words = str(fields.pop("names", "")).split()
        if not words:
            raise ValueError("commands.toml: a row without names")
        row = _row(words[0], fields, classes)
        names = words if row.origin != "stata" else [word.lower() for word in words]
        _add(rows, names, row)
        for word, name in zip(words, names, strict=True):
            if word is not name and word != name:
                shortest[name] = name[: max(at for at, one in enumerate(word) if one.isupper()) + 1]
    for word, name in told["also"].items():
        if name not in rows or word in rows:
            raise ValueError(f"{word}: it stands for no command, or is one")
    used = {(part, row[part]) for row in (plain, *told["rows"]) for part in classes}
    for part, known in classes.items():
        if unused := known.keys() - {name for of, name in used if of == part}:
            raise ValueError(f"classes of {part} without a command: {', '.join(sorted(unused))}")
    forms = {name: tuple(lines) for name, lines in told["forms"].items()}
    check_keys("forms", forms, {name for name in rows if name.startswith(SAFE)})
    values = leaves(rows)
    lengths = {name: str(len(word)) for name, word in shortest.items()}
    counts = {name: str(len(lines)) for name, lines in forms.items()}
    letters = lengths | dict.fromkeys(told["also"], "also")
    for field, one_each in (("forms", counts), ("letters", letters)):
        for name, value in one_each.items():
            values.setdefault(field, {}).setdefault(value, set()).add(name)
    check_facts(values, told["facts"])
    policy = {
        part: {
            key: frozenset(words.split() if isinstance(words, str) else words)
            for key, words in keys.items()
        }
        for part, keys in told["policy"].items()
    }
    return CommandTable(rows=rows, shortest=shortest, also=told["also"], forms=forms, policy=policy)


def _add(rows: dict[str, CatalogueRow], names: list[str], row: CatalogueRow) -> None:
    new = dict.fromkeys(names, row)
    if len(new) < len(names) or rows.keys() & new.keys():
        twice = {name for name in names if name in rows or names.count(name) > 1}
        raise ValueError(f"{', '.join(sorted(twice))}: it has two rows")
    rows |= new


def _row(
    where: str, fields: Mapping[str, Any], classes: Mapping[str, Mapping[str, Any]]
) -> CatalogueRow:
    """One row, whose classes are looked up."""
    check_keys(where, fields, {one.name for one in dataclasses.fields(CatalogueRow)})
    parts = {part: known.get(fields[part]) for part, known in classes.items()}
    if None in parts.values():
        raise ValueError(f"{where}: a class that is not there")
    row: CatalogueRow = row_of(where, CatalogueRow, {**fields, **parts})
    return row


def check_policy_names(
    names: Iterable[str], roles: Mapping[str, Mapping[str, str]], gather: Iterable[str]
) -> None:
    """The policy that comes with discreet and the catalogue must agree.

    Raises:
        ValueError: They differ.
    """
    rows = command_table().rows
    if differ := rows.keys() ^ set(names):
        raise ValueError(f"the policy and the catalogue differ in {', '.join(sorted(differ))}")
    for role, own in roles.items():
        roles_of: dict[str, str] = {}
        for row, members in _alike():
            how = row.flow.shows if role == "shows" else row.flow.uses
            roles_of |= dict.fromkeys(members, how) if how != "none" else {}
        if wrong := {name for name, _ in set(roles_of.items()) ^ set(own.items())}:
            raise ValueError(f"{role}: policy and catalogue differ in {', '.join(sorted(wrong))}")
    if set(gather) != commands_where(lambda row: row.flow.gathers in ("shown", "both")):
        raise ValueError("the policy and the catalogue differ in prefixes that gather")


def check_policy_outline(before: Iterable[str], outline: Outline) -> None:
    """Nothing that the policy holds besides its rules on commands may be lost, here or there.

    Raises:
        ValueError: They differ.
    """
    if set(before) != commands_where(lambda row: row.rewriting.before):
        raise ValueError("the policy and the catalogue differ in prefixes with a safe command")
    policy = command_table().policy
    for part in policy.keys() | outline.keys():
        here, there = policy.get(part, {}), outline.get(part, {})
        wrong = sorted(key for key in here.keys() | there.keys() if here.get(key) != there.get(key))
        if wrong or part not in outline or part not in policy:
            raise ValueError(f"{part}: policy and catalogue differ in {', '.join(wrong)}")
