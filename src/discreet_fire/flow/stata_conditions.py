"""Under which conditions the statements of a do-file run.

In: statements in their order. Out: for each the conditions and heads of loops around it, those of
its own line, and whether an error in it is caught. What a condition decides tells of what it
compares: a text that is set under it, a loop that ends, a return code. Nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple

from discreet_fire.catalogue import commands_with
from discreet_fire.flow.levels import BAD, CLEAN, RECORD, Held
from discreet_fire.flow.stata_values import (
    RETURN_CODE,
    VALUES,
    StatementParts,
    Taints,
    bare_words,
    pieces,
    without_macros,
)

LOOPS = commands_with("loop")
_TESTS = ("if", "while")


class Condition(NamedTuple):
    """What decides whether, or how often, a statement runs."""

    #: A `test` is an ``if``, a `loop` goes through a list, and `while` is both
    kind: Literal["test", "loop", "while"]
    outside: str  # its code, strings and comments blanked
    inside: str  # what is expanded in its strings

    @property
    def repeats(self) -> bool:
        """Whether what stands under it may run more than once."""
        return self.kind != "test"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands around a statement."""

    conditions: tuple[Condition, ...] = ()  # those of blocks around it, from the outermost on
    own: tuple[Condition, ...] = ()  # those of its own line, and of an ``if`` before its ``else``
    caught: bool = False  # whether its error does not stop the program

    @property
    def all(self) -> tuple[Condition, ...]:
        """All conditions under which it runs."""
        return self.conditions + self.own if self.own else self.conditions


_FREE = Surroundings()
_COUNTER = re.compile(r"\s*(\w+)")
_NAMES = re.compile(r"`\w+'|\$\{?\w+\}?|scalar\(\s*\w+\s*\)|[A-Za-z_]\w*")
#: What is compared: the parts of a condition, and the sign that makes a bound of them.
_SIGN = re.compile(r"[<>]|\binrange\s*\(")
_NAMED = re.compile(r"scalar\(|[`'${}()\s]")
_PART = re.compile(r"\b(?:if|in)\b|[&|]")
#: A condition on whether there is any record, or one or two.
_ANY_RECORD = re.compile(r"\br\(N\)\s*(?:[=!~<>]=?\s*\d(?![\d.])|[&|)]|\Z)")


def scans(part: StatementParts, conditions: Iterable[Condition], moving: Set[str]) -> bool:
    """Whether a statement compares records with a bound that moves as a loop goes on.

    ``count if wage > `i'`` finds the largest wage, however large each count is.
    """
    bounds = {
        name for code in _PART.split(part.outside) if _SIGN.search(code) for name in names_in(code)
    }
    return bool(bounds) and not bounds.isdisjoint(names_that_move(part, conditions, moving))


def names_in(code: str) -> set[str]:
    """The names in a piece of code, macros and scalars without what marks them as such."""
    return {_NAMED.sub("", name) for name in _NAMES.findall(code)}


def names_that_move(
    part: StatementParts, conditions: Iterable[Condition], moving: Set[str]
) -> set[str]:
    """Names that have other values each time a statement runs."""
    counters = set(moving) if part.statement.in_program else set[str]()
    for condition in conditions:
        if condition.repeats:
            counters |= {*_COUNTER.findall(condition.outside)[:1], *moving}
    return counters


def surroundings_of(parts: Iterable[StatementParts]) -> Iterator[Surroundings]:
    """What stands around each statement, in the same order."""
    blocks: list[tuple[int, Surroundings]] = []
    before: dict[int, tuple[Condition, ...]] = {}  # conditions that an `else` negates, by depth
    for part in parts:
        statement = part.statement
        depth = statement.depth
        while blocks and depth <= blocks[-1][0]:
            blocks.pop()
        around = blocks[-1][1] if blocks else _FREE
        if not statement.prefixes and not statement.opens and part.name != "while":
            before.pop(depth, None)
            yield around
            continue
        prefixes = {prefix.canonical for prefix in statement.prefixes}
        tests = tuple(_tests(part))
        negated = before.pop(depth, ()) if "else" in prefixes or part.name == "else" else ()
        own = negated + tests
        if own and (tests or negated):
            before[depth] = own
        caught = around.caught or part.name == "capture" or "capture" in prefixes
        yield Surroundings(around.conditions, own, caught) if own or caught else around
        if statement.opens:
            head = (Condition("loop", part.outside, part.inside),) if part.name in LOOPS else ()
            blocks.append((depth, Surroundings(around.conditions + own + head, (), caught)))


def _tests(part: StatementParts) -> Iterator[Condition]:
    statement = part.statement
    for prefix in statement.prefixes:
        if prefix.canonical in _TESTS and prefix.arguments:
            yield Condition("test", *pieces(statement, *prefix.arguments))
    if part.name in _TESTS:
        kind: Literal["test", "while"] = "while" if part.name == "while" else "test"
        yield Condition(kind, part.outside.rstrip().removesuffix("{"), part.inside)


def any_record(conditions: Iterable[Condition]) -> bool:
    """Whether it is asked again and again if there is any such record: ``if r(N) == 0``."""
    repeated = False
    for condition in conditions:
        if condition.kind == "test" and repeated and _ANY_RECORD.search(condition.outside):
            return True
        repeated = repeated or condition.repeats
    return False


def decided(condition: Condition, taints: Taints) -> Held:
    """What a condition compares, if nothing must tell of how it turned out.

    In a condition of its own line of a program Stata takes a variable by its first record.
    """
    kind, outside, inside = condition
    held = taints.held(outside, inside)
    if kind != "loop" and held.rank < RECORD:
        if held.rank and (held.what == VALUES.what or RETURN_CODE.search(outside)):
            held = max(held, Held(BAD, held.what))
        known = taints.known_scalars | taints.known_matrices
        for _, word in bare_words(without_macros(outside)):
            if word not in known:
                held = Held(RECORD, f"the first value of {word}")
    return held if held.rank >= BAD else CLEAN


_LOADING = ("use", "import", "insheet", "infile", "infix", "sysuse", "webuse", "clear")
_CHOOSING = ("keep", "drop", "collapse", "contract", "sample")
_CHOSEN_BY = re.compile(r"\b(?:if|in)\b(.*)", re.S)
#: A condition on missing values, on years, or on the data a record came from chooses no persons.
_PLAIN_CHOICE = re.compile(
    r"\s*(?:!?\s*(?:missing|mi)\s*\([\w\s,]*\)|\w+\s*(?:[<>]=?|[=!~]=)\s*\.|_merge\s*[!=~]=\s*\d"
    r"|inrange\s*\(\s*(?:year|jahr)\b[^()]*\)|(?:year|jahr)\s*(?:[<>]=?|[=!~]=)\s*\d{4})\s*"
)


def file_named(text: str) -> str:
    """A file as statements name it, whatever folder, quotes and suffix it has."""
    name = re.split(r"[/\\]", text.partition(",")[0])[-1]
    return re.sub(r"\.dta\b|[\s\"]", "", name)


def chosen_files(placed: Iterable[tuple[StatementParts, Surroundings]]) -> set[str]:
    """Files that are saved of records which a condition has chosen: they may be of few."""
    chosen, kept, files = False, False, set[str]()
    for part, _ in placed:
        if part.name == "preserve":
            kept = chosen
        elif part.name == "restore":
            chosen = kept
        elif part.name in _LOADING:
            chosen = _CHOSEN_BY.search(part.outside.partition("using")[0]) is not None
            chosen = chosen or file_named(part.code.rpartition("using")[2]) in files
        elif part.name in _CHOOSING:
            match = _CHOSEN_BY.search(part.outside)
            chosen |= match is not None and not all(
                map(_PLAIN_CHOICE.fullmatch, re.split(r"[&|]", match[1]))
            )
        elif part.name in ("save", "saveold") and chosen:
            files.add(file_named(part.code))
    return files


#: What a log shows of counts: a table made count by count, and a group as a difference.
_OF_LOOP = "counts of a loop, which are the cells of a table"
_NESTED = "a group as the difference of two counts"
CONDITION = re.compile(r"\bif\b(.*)", re.DOTALL)
#: Missing values of one variable after the other are no cells of one table.
OF_MISSING = re.compile(r"!?mi(?:ssing)?\(`?\w+'?|`?\w+'?(?:[=!~]=|[<>]=?)\.")
_COUNT = re.compile(r"\br\(N\)")
_GIVEN = re.compile(r"\s*([A-Za-z_]\w*)\s*=?")


def atoms(condition: str) -> frozenset[str]:
    """The single comparisons of a condition, without blanks and brackets around them.

    >>> sorted(atoms("(a == 1) & b==2"))
    ['a==1', 'b==2']
    """
    parts = re.split(r"[&|]", re.sub(r"\s", "", condition))
    return frozenset(part.strip("()") for part in parts if part.strip("()"))


def related_counts(
    placed: Sequence[tuple[StatementParts, Surroundings]], moving: Set[str]
) -> dict[int, str]:
    """What counts show together with others, by the place of their statement."""
    counts: dict[int, str] = {}
    before: list[frozenset[str]] = []
    for part, around in _shown_counts(placed):
        condition = CONDITION.search(part.code)
        counters = names_that_move(part, around.all, moving)
        own = atoms(condition[1]) if condition else frozenset()
        if all(map(OF_MISSING.fullmatch, own)):
            continue
        if not counters.isdisjoint(names_in(part.outside)):
            counts[part.statement.start] = _OF_LOOP
        elif any(one < own or own < one for one in before):
            counts[part.statement.start] = _NESTED
        before.append(own)
    return counts


def _shown_counts(
    placed: Iterable[tuple[StatementParts, Surroundings]],
) -> Iterator[tuple[StatementParts, Surroundings]]:
    """Counts whose result a log shows: by themselves, or by a statement that takes it up."""
    quiet: tuple[StatementParts, Surroundings] | None = None
    holders: set[str] = set()
    for part, around in placed:
        prefixes = {prefix.canonical for prefix in part.statement.prefixes}
        if part.name == "count":
            quiet, holders = (part, around), set()
            if "noisily" in prefixes or not prefixes & {"quietly", "capture"}:
                yield part, around
                quiet = None
        elif quiet is not None and part.name not in ("if", "while", "assert"):
            if not _COUNT.search(part.code) and holders.isdisjoint(re.findall(r"\w+", part.code)):
                continue
            match = _GIVEN.match(part.outside)
            if part.name in ("local", "global", "scalar") and match is not None:
                holders.add(match[1])
            else:
                yield quiet
                quiet = None
