"""What running a command reads, changes, stores and shows.

In: ``execution.toml``, a row for each command. Out: the row of a command, checked whole: a
field that is left out, given twice or not understood is an error, and so is a command with
two rows. A command without a row is run by nothing. Nothing here is confidential.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from discreet_fire.catalogue.facts import check_facts, check_keys, document, leaves, row_of

_OPTION = re.compile(r"(?P<name>[A-Za-z_0-9]+)(?P<brackets>\(\))?(?P<may>\?)?\Z")
_MANY = ("options", "layout", "idle")
#: What may change unseen, where single values decide whether a command runs.
_Unseen = Literal[
    "refused", "nothing", "macro", "macros", "scalars", "return", "variable", "new", "data",
    "r()", "e()", "code",
]  # fmt: skip


@dataclass(frozen=True)
class CommandOption:
    """An option: full name, shortest form, and whether it takes something in brackets."""

    name: str  # full name
    least: int  # how many letters the shortest form has
    argument: bool  # whether something may stand in brackets
    optional: bool  # whether the brackets may be left out
    #: Whether it has one: "layout" would only change how output looks, which is said in the log;
    #: "idle" would not change anything that can be seen. Else empty
    effect: str

    def matches(self, word: str) -> bool:
        """Whether a word is this option or a legal abbreviation."""
        return len(word) >= self.least and self.name.startswith(word)


@dataclass(frozen=True, kw_only=True)
class CallForm:
    """How a command is written."""

    #: "usual": variables, `if`, `in`, options; "expression": with `= exp`; "own": it reads its text
    #: itself, and its options are not looked at. The interpreter runs words of the language:
    #: "silent" ones run what follows with its output or errors kept, "passed" ones change nothing
    #: here, "steering" ones leave a loop or program, "file" ones run a do-file, and "control" ones
    #: are the others
    syntax: Literal["usual", "expression", "own", "silent", "passed", "steering", "file", "control"]
    by: bool  # whether `by` may stand before it; it then sees all groups at once
    weights: str  # weights it takes

    @property
    def of_language(self) -> bool:
        """Whether the interpreter runs it itself."""
        return self.syntax not in ("usual", "expression", "own")


@dataclass(frozen=True, kw_only=True)
class CommandReads:
    """What a command's output or failure hangs on."""

    counts: bool  # whether it counts records by the values of the variables it names
    dictionary: bool  # whether it shows which variables there are
    estimates: bool  # whether it asks the last model
    #: Whether it fails by what is written ("words"), by that where it names variables only
    #: ("names"), or by values of the data
    failure: Literal["words", "names", "values"]


@dataclass(frozen=True, kw_only=True)
class CommandChanges:
    """What a command changes."""

    #: Whether it decides which records there are, always or where it chooses some
    records: Literal["none", "chosen", "all"]
    #: Whether values stay what they were, where records and variables only move
    values: Literal["stay", "change"]
    untouched: bool  # whether what was made without data stays so
    #: Whether new variables are as many, or called so, as there are values
    names: Literal["program", "values"]
    #: Whether storage types are "kept", written in the "program", or hang on "values"
    types: Literal["kept", "program", "values"]
    #: Whether it looks itself at conditions that few meet, or changes no data
    few: Literal["itself", "checked"]
    #: What it gives a value that its text names: "macros", "scalars" or "none"
    target: Literal["none", "macros", "scalars"]


@dataclass(frozen=True, kw_only=True)
class CommandStores:
    """Stored results."""

    #: Whether `r()` or `e()` is emptied even where nothing can be stored here; "own" if the command
    #: says so itself
    replaced: Literal["own", "r", "e"]
    unstored: str  # results that Stata has, as a pattern; those not stored here stop the run


@dataclass(frozen=True, kw_only=True)
class CommandShows:
    """What a command shows."""

    statistic: str  # the safe statistic in `discreet_fire.statistics`; empty if it has none
    #: How the statistic is called: by a function of the command "itself", or with the "variables"
    #: that the command names
    called: Literal["itself", "variables"]
    #: Who looks at samples that leave few out: "checked" here, the "model" itself, or nobody, as
    #: only their number is "counted"
    sample: Literal["checked", "model", "counted"]
    #: Whom a ledger is told it is about: all variables in "cells", "each" variable by itself, in
    #: "groups" if there are some, in "pairs", all "together", a "model" with the categories of its
    #: factors
    universes: Literal["none", "cells", "each", "groups", "pairs", "together", "model"]
    remote: bool  # whether it may be asked for in remote analysis
    #: What numbers over groups of records it shows, which are held against those of all other
    #: outputs: of "cells" that variables span, of "variables" with those who have a value, of one
    #: "sample", in "notes" on records that it changed, or others that are "unfollowed", which is
    #: said in a finding. "nothing": none at all
    groups: Literal["nothing", "cells", "variables", "sample", "notes", "unfollowed"]


@dataclass(frozen=True, kw_only=True)
class CommandFacts:
    """The row of one command."""

    name: str  # full name
    summary: str  # what it does, one line
    #: Where it stands in the documentation
    section: Literal["data", "output", "models", "program", "refused", "language"]
    takes: CallForm  # how it is written
    options: tuple[CommandOption, ...]  # options with their shortest forms and effects
    reads: CommandReads  # what its output or failure hangs on
    changes: CommandChanges  # what it changes
    unseen: tuple[str, ...]  # what may change where single values decide whether it runs
    stores: CommandStores  # stored results
    shows: CommandShows  # what it shows


def facts_of(name: str) -> CommandFacts | None:
    """The row of a command by its full name; None for what no runner knows.

    >>> facts = facts_of("merge")
    >>> facts.reads.counts, facts.changes.records
    (True, 'all')
    """
    return execution_rows().get(name)


@cache
def execution_rows() -> Mapping[str, CommandFacts]:
    """All rows, by name."""
    parts = document("execution.toml")
    facts = parts.pop("facts")
    rows = read_rows(parts)
    check_facts(leaves(rows), facts)
    return rows


def read_rows(told: Mapping[str, Any]) -> dict[str, CommandFacts]:
    """The rows of a document.

    Raises:
        ValueError: A field is missing, given twice or not understood; the message says where.
    """
    if told.keys() != {"kind", "command"}:
        raise ValueError("execution.toml has kinds and commands, and nothing else")
    rows: dict[str, CommandFacts] = {}
    used: set[str] = set()
    for entry in told["command"]:
        own = dict(entry)
        names = str(own.pop("names", "")).split()
        if not names:
            raise ValueError("execution.toml: a row without names")
        kind = own.pop("kind", None)
        shared = {} if kind is None else told["kind"].get(kind)
        if shared is None:
            raise ValueError(f"{names[0]}: there is no kind {kind}")
        if twice := shared.keys() & own.keys():
            raise ValueError(f"{names[0]}: {', '.join(sorted(twice))} stands in its kind, too")
        used.add(str(kind))
        for name in names:
            if name in rows:
                raise ValueError(f"{name}: it has two rows")
            rows[name] = _facts(name, {**shared, **own})
    if unused := told["kind"].keys() - used:
        raise ValueError(f"kinds without a command: {', '.join(sorted(unused))}")
    return rows


def _facts(name: str, row: dict[str, Any]) -> CommandFacts:
    """One row, from all its fields."""
    fields = dict(row)
    wanted = {one.name for one in dataclasses.fields(CommandFacts)} | set(_MANY)
    check_keys(name, fields, wanted - {"name"})
    options = tuple(_options(name, {key: fields.pop(key) for key in _MANY}))
    fields |= {"name": name, "options": options}
    unseen = fields["unseen"]
    words = get_args(_Unseen)
    if not isinstance(unseen, list) or not unseen or not all(one in words for one in unseen):
        raise ValueError(f"{name}: unseen is a list of {', '.join(words)}")
    fields["unseen"] = tuple(unseen)
    facts: CommandFacts = row_of(name, CommandFacts, fields)
    return facts


def _options(name: str, fields: Mapping[str, Any]) -> Iterator[CommandOption]:
    """The options of a row: capitals are the shortest form."""
    for key, text in fields.items():
        if not isinstance(text, str):
            raise ValueError(f"{name}: {key} is a text")
        for word in text.split():
            match = _OPTION.match(word)
            if match is None:
                raise ValueError(f"{name}: {word} is not an option")
            full = match["name"]
            capitals = [at for at, one in enumerate(full) if one.isupper()]
            least = capitals[-1] + 1 if capitals else len(full)
            effect = "" if key == "options" else key
            yield CommandOption(
                full.lower(), least, bool(match["brackets"]), bool(match["may"]), effect
            )
