"""What the parts of a Stata statement hold, and under which conditions a statement runs.

In: statements, and names with levels. Out: the text after the command word with strings and
comments blanked; the level of a piece of it: whether it holds a stored result such as ``r(max)``,
the value of one record such as ``x[17]``, or a name that was given such a figure before. For each
statement the conditions and loops around it: what a condition decides tells of what it compares.
Programs of researchers, no data; nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from discreet_fire.catalogue import Action, Forms, Policy, commands_with, values_of
from discreet_fire.stata import DoFile, DoStatement, Kind, Why

FORM = Forms(__package__, "statements")
_Key = TypeVar("_Key")


class Held(NamedTuple):
    """Content of a piece of a program, with its severity."""

    rank: int
    what: str = ""

    @property
    def action(self) -> Action:
        """Action on a command that shows it."""
        return (Action.ALLOWED, Action.REVIEW, Action.REFUSED, Action.REFUSED)[self.rank]

    def at_most(self, rank: int) -> Held:
        """A copy with severity at most `rank`."""
        return self if self.rank <= rank else Held(rank, self.what)


CLEAN = Held(0)
DOUBT = 1
BAD = 2
#: The value of one certain record, which honest programs hardly ever name.
RECORD = 3


#: What a list of categories holds.
VALUES = Held(DOUBT, "the distinct values of a variable")
#: What options put into macros and matrices.
_OPTION_GIVES = {
    "values": VALUES,
    "cells": Held(DOUBT, "the cells of a table"),
    "records": Held(RECORD, "values of records"),
}
GIVEN_BY_OPTION = {name: _OPTION_GIVES[option] for name, option in values_of("option").items()}
_RANKS = {Action.ALLOWED: 0, Action.WRAPPED: 0, Action.REVIEW: DOUBT, Action.REFUSED: BAD}


@dataclass
class HeldNames:
    """Names of one kind with what they hold, such as all local macros."""

    held: dict[str, Held] = field(default_factory=dict)
    #: Beginnings and ends of names with a macro in them: ``max`i'`` and ```v'_max``.
    begun: dict[tuple[str, str], Held] = field(default_factory=dict)

    def give(self, name: str, held: Held) -> None:
        """Note what a name holds."""
        ends = name_ends(name)
        if ends is None:
            note(self.held, name, held)
        else:
            note(self.begun, ends, held if any(ends) else held.at_most(DOUBT))

    def all(self) -> list[Held]:
        """Content of all names."""
        return [*self.held.values(), *self.begun.values()]

    def of(self, name: str) -> Held:
        """Content of a name."""
        best = self.held.get(name, CLEAN)
        for (head, tail), held in self.begun.items():
            fits = name.startswith(head) and name[len(head) :].endswith(tail)
            best = held if held.rank > best.rank and fits else best
        return best

    def of_begun(self, head: str) -> Held:
        """Possible content of a name with this beginning; doubtful without a beginning."""
        known = [held for name, held in self.held.items() if name.startswith(head)]
        for (name, _), held in self.begun.items():
            known += [held] if name.startswith(head) or head.startswith(name) else []
        best = max([CLEAN, *known], key=lambda one: one.rank)
        return best if head else best.at_most(DOUBT)


def note(table: dict[_Key, Held], key: _Key, held: Held) -> None:
    """Note what a name holds, unless worse is known."""
    if table.get(key, CLEAN).rank < held.rank:
        table[key] = held


def name_ends(name: str) -> tuple[str, str] | None:
    """Text before and after the macros of a name; None without macros."""
    head = re.split("[`$]", name, maxsplit=1)[0]
    if head == name:
        return None
    tail = name.rpartition("'")[2] if "`" in name else ""
    return head, "" if "$" in tail else tail


@dataclass
class Taints:
    """All names that hold figures which must not be shown, across the files of a run."""

    policy: Policy
    local: HeldNames = field(default_factory=HeldNames)
    globals: HeldNames = field(default_factory=HeldNames)
    scalars: HeldNames = field(default_factory=HeldNames)
    matrices: HeldNames = field(default_factory=HeldNames)
    variables: HeldNames = field(default_factory=HeldNames)
    results: dict[tuple[str, str], Held] = field(default_factory=dict)
    #: Stored results that programs of the run give.
    returned: set[tuple[str, str]] = field(default_factory=set)
    #: What names hold of which nothing is known, in this file: scalars, matrices, variables.
    unnamed: dict[str, Held] = field(default_factory=dict)
    #: What names and labels of variables tell, in any of the files.
    columns: dict[str, Held] = field(default_factory=dict)
    #: Words of statements that may write data sets, in any of the files.
    saved: set[str] = field(default_factory=set)
    #: Data sets of records that a condition has chosen, in any of the files.
    chosen: set[str] = field(default_factory=set)
    #: Commands that may put figures, or anything, in the place of records, in any of the files.
    replaced: set[str] = field(default_factory=set)
    #: Names that the files give to scalars and matrices at all.
    known_scalars: set[str] = field(default_factory=set)
    known_matrices: set[str] = field(default_factory=set)

    def beginning(self, local: HeldNames) -> Taints:
        """Content that another file of the same run may use."""
        return replace(self, local=local, unnamed={})

    def size(self) -> int:
        """Number of entries; it only grows."""
        names = (self.local, self.globals, self.scalars, self.matrices, self.variables)
        noted = [*self.results.values(), *self.unnamed.values(), *self.columns.values()]
        for name in names:
            noted += name.all()
        known = len(self.known_scalars) + len(self.known_matrices) + len(self.returned)
        return sum(held.rank for held in noted) + known

    def held(self, outside: str, inside: str) -> Held:
        """Content of a piece of code, including expansions in its strings."""
        held = self.within(outside)
        return max(held, self.within(inside)) if inside else held

    def within(self, code: str, *, words: bool = True) -> Held:
        """Content of a piece of code."""
        best = max([CLEAN, *self._values(code), *self._macros(code), *self._inline(code)])
        if words:
            if self.unnamed and (bare_words(without_macros(code)) or FORM.scalar.search(code)):
                best = max(
                    best, self.unnamed.get("scalars", CLEAN), self.unnamed.get("matrices", CLEAN)
                )
            for word, goes_on in FORM.name.findall(code):
                best = max(best, self.scalars.of(word), self.matrices.of(word))
                if goes_on:
                    begun = max(self.scalars.of_begun(word), self.matrices.of_begun(word))
                    best = max(best, begun.at_most(DOUBT))
        return best

    def _macros(self, code: str) -> Iterator[Held]:
        inner = 0  # up to where a macro names another one
        for match in FORM.local_macro.finditer(code):
            name, close = match.groups()
            begun = close in "`$"
            held = self.local.of_begun(name) if begun else self.local.of(name)
            # Which macro is meant may tell a figure; the values of a category tell none.
            yield held if match.start() >= inner or held.rank >= BAD else CLEAN
            inner = max(inner, match.end() + 1 if begun else 0)
        for braced, close, plain, more in FORM.global_macro.findall(code):
            name = braced or plain
            begun = more == "`" or close in ("`", "$")
            yield self.globals.of_begun(name) if begun else self.globals.of(name)

        for function in FORM.called.findall(code):
            yield self.named(function)

    def named(self, function: str) -> Held:
        """Content of macros that a macro function names without quotes."""
        if FORM.of_label.match(function):
            return Held(DOUBT, "a label or note that may be made of a text of the data")
        is_list = function.lstrip().startswith("list")
        names = re.findall(r"\w+", function) if is_list else FORM.of_macro.findall(function)
        return max([CLEAN, *(max(self.local.of(one), self.globals.of(one)) for one in names)])

    def _inline(self, code: str) -> Iterator[Held]:
        """Names in expressions that are worked out on the spot: ```=income'``."""
        for expression in FORM.inline.findall(code):
            for _, word in bare_words(FORM.quoted.sub(" ", expression)):
                if word in self.known_scalars:
                    yield Held(DOUBT, f"{word}, which a variable of that name would replace")
                elif word not in self.known_matrices:
                    yield Held(RECORD, f"the first value of {word}")

    def _values(self, code: str) -> Iterator[Held]:
        for kind, name, close in FORM.result.findall(code):
            if close != ")":
                yield Held(DOUBT, f"a stored result {kind}(…) whose name is a macro")
                continue
            yield self.results.get((kind, name), CLEAN)
            if (kind, name) in self.returned and not self.policy.names_stored(kind, name):
                continue  # what a program of the run returns is followed
            yield Held(_RANKS[self.policy.stored(kind, name)], f"the stored result {kind}({name})")
        if FORM.return_code.search(code):
            yield self.results.get(("c", "rc"), CLEAN)
        for kind, name in FORM.own_result.findall(code):  # what the program itself gave so far
            yield self.results.get((kind or "r", name), CLEAN)
        if FORM.old_result.search(code):
            yield Held(BAD, "a stored result")
        if FORM.of_frame.search(code):
            yield Held(RECORD, "the value of one record")
        for name, inside in FORM.subscript.findall(code):
            if FORM.estimates.match(name):
                yield self.results.get(("e", "b"), CLEAN)
                continue
            if FORM.weight.match(inside) or name == ")":
                continue
            if "," not in inside:
                yield Held(
                    BAD if FORM.neighbour.fullmatch(inside) else RECORD, "the value of one record"
                )
            elif name not in self.known_matrices and name.isidentifier():
                yield Held(DOUBT, "an element of a matrix that is not made here")


def among(word: str, names: Iterable[str], *, begun: bool = False) -> bool:
    """Whether a word is one of the names; names that hold macros are known by their beginning.

    >>> among("mean2", ["mean`i'"]), among("me", ["mean"]), among("me", ["mean"], begun=True)
    (True, False, True)
    >>> among("age_mean", ["`v'_mean"]), among("age", ["`v'"])
    (True, False)
    """
    for name in names:
        head, tail = name_ends(name) or (name, "")
        if word == name or (begun and head.startswith(word)):
            return True
        if head != name and (head or tail) and word.startswith(head) and word.endswith(tail):
            return True
    return False


def bare_words(code: str) -> list[tuple[int, str]]:
    """Names in an expression of `display` that are neither functions nor directives.

    Each is a scalar, or a variable, whose first value would be shown.

    >>> bare_words("as text %9.2f income + sqrt(wage) _n")
    [(14, 'income'), (28, 'wage')]
    """
    for hidden in (FORM.display_format, FORM.directive, FORM.brackets):  # these hold no names
        code = hidden.sub(lambda found: FORM.blank.sub(" ", found.group()), code)
    # Names of stored results and of scalars stand in brackets of their own.
    code = FORM.of_results.sub(_blank, code)
    return [(match.start(), match.group()) for match in FORM.word.finditer(code)]


def without_macros(code: str) -> str:
    r"""The code with blanks in place of its macros.

    >>> without_macros("x + `max' * $y")
    'x +        *   '
    >>> without_macros("``v'_b_`i'' + y")
    '            + y'
    """
    # Behind the last closing quote no local macro ends: not to look for one there takes out
    # what would grow as the square of the length.
    last = code.rfind("'") + 1
    if FORM.nested.search(code, 0, last) and (plain := _without_nested(code)) is not None:
        return FORM.globals.sub(_blank, plain)
    return FORM.macros.sub(_blank, code[:last]) + FORM.globals.sub(_blank, code[last:])


def _without_nested(code: str) -> str | None:
    """The same where macros name others, ```m_`i''``; None if one is not closed."""
    out, depth = [], 0
    for sign in code:
        depth += sign == "`"
        out.append(" " if depth else sign)
        depth -= sign == "'" and depth > 0
    return "".join(out) if depth == 0 else None


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def expansions(text: str) -> str:
    r"""Macros that Stata expands inside a string, separated by blanks.

    >>> expansions('"up to `max' + "' and $x\"")
    "`max' $x"
    """
    expanded = []
    depth = start = 0
    for sign in FORM.signs.finditer(text):
        mark = sign.group()
        if mark == "`":
            if depth == 0:
                start = sign.start()
            depth += 1
        elif mark == "'":
            if depth == 1:
                expanded.append(text[start : sign.end()])
            depth = max(depth - 1, 0)
        elif depth == 0:
            expanded.append(mark)
    if depth:
        expanded.append(text[start:])
    return " ".join(expanded)


#: Readings that stay as they are: what they may run is told, and not changed.
UNTOUCHED = frozenset((Why.TEXT, Why.ARGUMENT))

_BY = ("by", "bysort", "qby")


def pieces(statement: DoStatement, start: int, end: int) -> tuple[str, str]:
    """The code of a part of a statement, strings and comments blanked, and what is expanded
    inside the strings.
    """
    text = statement.source
    outside = []
    inside = []
    at = start
    for kind, first, last in statement.spans:
        if first < at or last > end or kind == "macro":
            continue
        outside += [text[at:first], " " * (last - first)]
        if kind == "string":
            inside.append(expansions(text[first:last]))
        at = last
    outside.append(text[at:end])
    return "".join(outside), " ".join(inside)


def statements_of(dofile: DoFile) -> Iterator[DoStatement]:
    """The commands of a do-file, and those of its other readings."""
    for statement in dofile.statements:
        yield from _with_readings(statement)


def _with_readings(statement: DoStatement) -> Iterator[DoStatement]:
    if statement.kind is Kind.COMMAND:
        yield statement
    for reading in statement.readings:
        if reading.why not in UNTOUCHED:
            yield from _with_readings(reading.statement)


class StatementParts:
    """Parts of a statement after its command word."""

    def __init__(self, statement: DoStatement) -> None:
        command = statement.command
        self.statement = statement
        self.name = statement.name
        #: The commands before it.
        self.before = {prefix.canonical for prefix in statement.prefixes}
        #: Whether the command word has a macro.
        self.by_macro = command is not None and command.has_macro
        #: Where it starts.
        self.start = command.end if command is not None else statement.start
        #: What follows; the same, strings and comments blanked; what the strings expand.
        self.code = statement.source[self.start : statement.end]
        self.outside, self.inside = pieces(statement, self.start, statement.end)
        word = FORM.first.match(self.outside)
        #: The second word of the command.
        self.word = word.group(1) if word else ""

    def inside_without(self, left_out: re.Pattern[str]) -> str:
        """Expansions in strings outside some parts of the code."""
        gone = [match.span() for match in left_out.finditer(self.outside)]
        source = self.statement.source
        return " ".join(
            expansions(source[first:last])
            for kind, first, last in self.statement.spans
            if kind == "string" and first >= self.start
            if not any(start <= first - self.start < end for start, end in gone)
        )

    def by_groups(self) -> bool:
        """Whether a place such as ``x[1]`` is another one in each group of records."""
        return not self.before.isdisjoint(_BY)

    def by_words(self) -> set[str]:
        """The variables by which a prefix forms groups, without those it only sorts by."""
        source = self.statement.source
        texts = [
            source[slice(*prefix.arguments)]
            for prefix in self.statement.prefixes
            if prefix.canonical in _BY and prefix.arguments
        ]
        plain = (FORM.sorted_by.sub(" ", text).partition(",")[0] for text in texts)
        return {word for text in plain for word in text.split()}


def named(code: str) -> list[str]:
    """The macros in an expression whose text may be the name of a variable."""
    plain, depth = [], 0  # without macros that are part of the name of another, ```m_`a'`b''``
    for sign in FORM.bracketed.sub(" ", code):
        closes = sign == "'" and depth > 0
        depth -= closes
        plain.append(" " if depth and (sign == "`" or closes) else sign)
        depth += sign == "`"
    return [*FORM.macro_only.findall("".join(plain)), *FORM.naming.findall(code)]


LOOPS = commands_with("loop")
_TESTS = ("if", "while")


def tests_of(part: StatementParts) -> Iterator[tuple[str, str]]:
    """The conditions that decide whether a statement, or the block behind it, runs: their code, and
    what is expanded in their strings.
    """
    statement = part.statement
    for prefix in statement.prefixes:
        if prefix.canonical in _TESTS and prefix.arguments:
            yield pieces(statement, *prefix.arguments)
    if part.name in _TESTS:
        yield part.outside.rstrip().removesuffix("{"), part.inside


def decided(outside: str, inside: str, taints: Taints) -> Held:
    """Values that a condition compares, if its outcome must stay unknown.

    In a condition of its own line of a program Stata takes a variable by its first record.
    """
    held = taints.held(outside, inside)
    if held.rank < RECORD:
        if held.rank and (held.what == VALUES.what or FORM.return_code.search(outside)):
            held = max(held, Held(BAD, held.what))
        known = taints.known_scalars | taints.known_matrices
        for _, word in bare_words(without_macros(outside)):
            if word not in known:
                held = Held(RECORD, f"the first value of {word}")
    return held if held.rank >= BAD else CLEAN


def scans(part: StatementParts) -> bool:
    """Whether a statement compares records with what a macro holds, which may be another one each
    time: ``count if wage > `i'`` finds the largest wage, however large each count is.
    """
    codes = FORM.part.split(part.outside)
    return any(FORM.sign.search(code) and FORM.macro_only.search(code) for code in codes)


def bodies_of(parts: Sequence[StatementParts]) -> Iterator[tuple[Sequence[StatementParts], bool]]:
    """For each statement those in its block, with what `else` puts beside them, and whether it
    stands in a loop.
    """
    loops: list[int] = []
    for at, part in enumerate(parts):
        depth, end = part.statement.depth, at + 1
        while loops and depth <= loops[-1]:
            loops.pop()
        opens = part.statement.opens
        while end < len(parts) and (opens or _is_else(parts[end])):
            if parts[end].statement.depth <= depth and not _is_else(parts[end]):
                break
            opens, end = opens or parts[end].statement.opens, end + 1
        yield parts[at + 1 : end], bool(loops)
        if part.statement.opens and part.name in (*LOOPS, "while"):
            loops.append(depth)


def _is_else(part: StatementParts) -> bool:
    return part.name == "else" or "else" in part.before


_LOADING = ("use", "import", "insheet", "infile", "infix", "sysuse", "webuse", "clear")
_CHOOSING = ("keep", "drop", "collapse", "contract", "sample")


def file_named(text: str) -> str:
    """A file as statements name it, whatever folder, quotes and suffix it has."""
    name = re.split(r"[/\\]", text.partition(",")[0])[-1]
    return re.sub(r"\.dta\b|[\s\"]", "", name)


def chosen_files(parts: Iterable[StatementParts]) -> set[str]:
    """Files that are saved of records which a condition has chosen: they may be of few."""
    chosen, kept, files = False, False, set[str]()
    for part in parts:
        if part.name == "preserve":
            kept = chosen
        elif part.name == "restore":
            chosen = kept
        elif part.name in _LOADING:
            chosen = FORM.chosen_by.search(part.outside.partition("using")[0]) is not None
            chosen = chosen or file_named(part.code.rpartition("using")[2]) in files
        elif part.name in _CHOOSING:
            match = FORM.chosen_by.search(part.outside)
            chosen |= match is not None and not all(
                map(FORM.plain_choice.fullmatch, re.split(r"[&|]", match[1]))
            )
        elif part.name in ("save", "saveold") and chosen:
            files.add(file_named(part.code))
    return files
