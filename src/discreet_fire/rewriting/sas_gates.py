"""The safe macro before a procedure of SAS: which data set, groups and values it is given.

In: the statements of a procedure that a policy has wrapped. Out: edits that put `%fire_gate`
before it and let it read what that lets through; or the kind of finding where that cannot be done.
For statements of PROC SQL: whether they put values of some records, or of groups, beside others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from discreet_fire.catalogue import CommandRule
from discreet_fire.rewriting.changes import PackageProgram
from discreet_fire.scripts import (
    PackageToken,
    SasStatement,
    crossings,
    one_line,
    parenthesis,
    split_at,
)

_DATA = "work._fire_data"
_LISTS = ("--", "_ALL_", "_NUMERIC_", "_CHARACTER_", "_NUM_", "_CHAR_")
_ESCAPED = re.compile(r"%(?=['\"()])")
_BEHIND_FROM = ("WHERE", "GROUP", "HAVING", "ORDER")
_VALUES = ("VAR", "VARIABLES", "WITH", "PARTIAL", "PAIRED", "WEIGHT", "FREQ")
_WEIGHTS = ("WEIGHT", "FREQ")
_TABLES = ("TABLE", "TABLES")
_ORDERS = ("DESCENDING", "NOTSORTED", "GROUPFORMAT")


class Clause(NamedTuple):
    """A statement of a procedure: its tokens behind conditions, and the whole statement."""

    tokens: Sequence[PackageToken]
    statement: SasStatement

    @property
    def name(self) -> str:
        """Its first word, in capitals."""
        return self.tokens[0].upper

    @property
    def span(self) -> tuple[int, int]:
        """Where it stands in the text."""
        return self.tokens[0].start, self.statement.end

    @property
    def listed(self) -> Sequence[PackageToken]:
        """What stands behind its first word, before a slash."""
        return split_at(self.tokens[1:], "/")[0]

    @property
    def options(self) -> Sequence[PackageToken]:
        """What stands behind a slash."""
        return self.tokens[len(self.listed) + 2 :]


class _Source(NamedTuple):
    """The data set of a procedure: its words with their place, and the choice of records."""

    text: str
    span: tuple[int, int]
    where: str
    by: tuple[str, ...]

    def call(self, kind: str, lists: Mapping[str, Sequence[str]], more: str = "") -> str:
        """The safe macro for some lists of variables."""
        parts = [f"kind={kind}", f"data={self.text}"]
        parts += [f"{name}={' '.join(names)}" for name, names in lists.items() if names]
        if self.where:
            # Within %str a sign of per cent before a quote or a bracket is written twice.
            parts.append(f"where=%str({_ESCAPED.sub('%%', self.where)})")
        return f"%fire_gate({', '.join(parts)}{more});"


def gated(
    notes: PackageProgram[SasStatement],
    rule: CommandRule,
    step: Sequence[Clause],
    refused: Sequence[tuple[int, int]],
) -> str:
    """Put the safe macro before a procedure.

    Returns:
        The kind of finding if it cannot be done; empty otherwise.
    """
    opening = step[0]
    options = {token.upper for token in opening.tokens}
    # Behind %then the macro alone would depend on the condition, and the procedure would not.
    if opening.statement.start != opening.tokens[0].start:
        return "runtime"
    prints = rule.name != "PROC SUMMARY" or options & {"PRINT", "PRINTALL"}
    if "NOPRINT" in options or not prints:
        return ""  # it makes data sets only
    source = _source(notes, step)
    if source is None:
        return "dataset"
    if rule.name == "PROC TABULATE" and not _all_listed(notes, step):
        return "statistic"
    if rule.gate == "frequencies":
        return _frequencies(notes, rule, step, source, refused)
    lists = _requested(rule, step)
    if lists is None:
        return "list"
    _put(notes, rule, opening, source, lists, refused)
    return ""


def _all_listed(notes: PackageProgram[SasStatement], step: Sequence[Clause]) -> bool:
    known = set(notes.policy.words["statistics"] | notes.policy.words["tables"])
    means = notes.policy.rules["PROC MEANS"].parts or {}
    for one in step[1:]:
        if one.name in ("CLASS", "VAR"):
            known |= {token.upper for token in one.listed} - means["PROC"].refused
    return all(
        token.kind in ("text", "number", "sign") or before.text == "=" or token.upper in known
        for one in step if one.name in _TABLES
        for before, token in pairwise(one.tokens[: len(one.listed) + 1])
    )  # fmt: skip


def _source(notes: PackageProgram[SasStatement], step: Sequence[Clause]) -> _Source | None:
    """What a procedure reads; None if it does not name one data set, or chooses twice."""
    first = step[0].tokens
    at = next((n for n, token in enumerate(first) if token.upper == "DATA" and n > 1), None)
    if at is None or len(first) < at + 3 or first[at + 1].text != "=":
        return None
    end = at + 2
    while end + 1 < len(first) and (
        first[end + 1].text == "." or first[end].text == "."
        or first[end + 1].start == first[end].end
    ):  # fmt: skip
        end += 1
    behind = parenthesis(first, end if first[end].text == "(" else end + 1)
    last = behind[-1] if behind else first[end]
    choices = [one.tokens for one in step[1:] if one.name == "WHERE"]
    if len(choices) > 1 or (choices and choices[0][1].upper in ("SAME", "ALSO", "CLEAR", "UNDO")):
        return None
    where = one_line(notes.text[choices[0][1].start : choices[0][-1].end]) if choices else ""
    by = [
        token.text for one in step[1:] if one.name == "BY" for token in one.tokens[1:]
        if token.kind in ("word", "reference") and token.upper not in _ORDERS
    ]  # fmt: skip
    span = (first[at + 2].start, last.end)
    return _Source(notes.text[slice(*span)], span, where, tuple(by))


def _names(tokens: Sequence[PackageToken]) -> list[str] | None:
    """Variables in a list; None if one is not named, as in ``x1-x5`` or ``_all_``."""
    names: dict[str, None] = {}
    for token in tokens:
        listed = token.upper in _LISTS or token.text.endswith("_")
        if token.kind == "reference" or (token.kind == "word" and not listed):
            names[token.text] = None
        elif token.text not in ("*", "(", ")", "|"):
            return None
    return [*names]


def _requested(rule: CommandRule, step: Sequence[Clause]) -> dict[str, list[str]] | None:
    """Lists for the safe macro by its parameters; None if a variable is not named."""
    values: dict[str, None] = {}
    cells: dict[str, None] = {}
    model = rule.gate == "model"
    listed = False
    for one in step[1:]:
        tokens = one.listed
        if one.name in _VALUES:
            if any(token.upper == "WEIGHT" for token in one.options):
                return None
            names = _names([token for token in tokens if token.text != ":"])
            listed = listed or one.name not in _WEIGHTS
        elif one.name in ("CLASS", "CLASSES"):
            names = _names(_without_parentheses(tokens))
        elif model and (one.name == "MODEL" or [t.text for t in one.tokens[1:2]] == [":"]):
            plain = _without_parentheses(tokens if one.name == "MODEL" else tokens[2:])
            names = _names([t for t in plain if t.text not in ("=", "@") and t.kind != "number"])
        else:
            continue
        if names is None:
            return None
        into = cells if one.name.startswith("CLASS") else values
        into |= dict.fromkeys(names)
    if model:
        return {"values": [*{**values, **cells}], "classes": [*cells]} if values else None
    return (
        None if rule.gate == "groups" and not listed else {"cells": [*cells], "values": [*values]}
    )


def _without_parentheses(tokens: Sequence[PackageToken]) -> list[PackageToken]:
    """A list without options in parentheses: `outcome(event='1')`."""
    kept, depth = [], 0
    for at, token in enumerate(tokens):
        if token.text == "(" and at and tokens[at - 1].kind == "word":
            depth += 1
        elif depth:
            depth += (token.text == "(") - (token.text == ")")
        elif token.text not in ("(", ")"):
            kept.append(token)
    return kept


def _put(
    notes: PackageProgram[SasStatement],
    rule: CommandRule,
    opening: Clause,
    source: _Source,
    lists: dict[str, list[str]],
    refused: Sequence[tuple[int, int]],
) -> None:
    """Edits: the macro before the procedure, another data set, and options that go."""
    start, end = opening.span
    kind = rule.gate
    if kind != "model":
        cells = [*dict.fromkeys([*source.by, *lists["cells"]])]
        kind = "table" if kind == "groups" and not cells else kind
        lists = {**lists, "cells": cells}
    lines = [source.call(kind, lists)]
    if rule.name == "PROC TTEST":
        lines.append("ods exclude Statistics;")
    notes.change("procedure", (start, start), notes.newline.join([*lines, ""]), rule)
    if rule.name == "PROC UNIVARIATE":
        shown = f"proc means data={_DATA} n mean std var skewness kurtosis;"
        notes.change("procedure", (start, end), shown, rule)
        return
    notes.change("procedure", source.span, _DATA, rule)
    for first, last in refused:  # with one blank before it
        blank = first > 0 and notes.text[first - 1] in " \t"
        notes.change("procedure", (first - blank, last), "", rule)
    left = {token.upper for token in opening.tokens if (token.start, token.end) not in refused}
    more = ""
    if rule.name in ("PROC MEANS", "PROC SUMMARY") and not left & notes.policy.words["statistics"]:
        more = " n mean std"
    elif rule.name == "PROC CORR" and "NOSIMPLE" not in left:
        more = " nosimple"
    elif rule.name == "PROC REG":
        more = " plots=none"
    if more:
        notes.change("procedure", (source.span[1], source.span[1]), more, rule)


def _frequencies(
    notes: PackageProgram[SasStatement],
    rule: CommandRule,
    step: Sequence[Clause],
    source: _Source,
    refused: Iterable[tuple[int, int]],
) -> str:
    """Each table of PROC FREQ as a procedure of its own."""
    tables = [one for one in step if one.name in _TABLES]
    others = [one for one in step[1:] if one.name not in _TABLES]
    gone = [(span, "") for span in refused]
    head = _cut(notes.text, step[0].span, [(source.span, _DATA), *gone])
    lines: list[str] = []
    texts = [f"{notes.text[one.span[0] : one.tokens[-1].end]};" for one in others]
    weights = [
        token.text for one in others if one.name == "WEIGHT" for token in one.tokens[1:]
        if token.kind in ("word", "reference")
    ]  # fmt: skip
    for one in tables:
        requests = crossings(one.listed, "*", "")
        if not requests or _names(_plain(one.listed)) is None:
            return "list"
        slash = one.tokens[len(one.listed) + 1].start if one.options else 0
        options = f" {_cut(notes.text, (slash, one.span[1]), gone)}" if slash else ";"
        missing = any(t.upper in ("MISSING", "MISSPRINT") for t in one.tokens)
        for request in requests:
            cells = [*dict.fromkeys([*source.by, *request])]
            kind = "groups" if len(cells) == 1 else "table"
            more = ", missing=1" if missing else ""
            lines.append(source.call(kind, {"cells": cells, "values": weights}, more))
            lines += [head, *texts, f"tables {'*'.join(request)}{options}", "run;"]
    after = notes.newline.join(map(one_line, lines))
    notes.change("procedure", (step[0].span[0], step[-1].span[1]), after, rule)
    return "" if tables else "list"


def _plain(tokens: Sequence[PackageToken]) -> list[PackageToken]:
    return [token for token in tokens if token.text not in (".", "|")]


def _cut(text: str, span: tuple[int, int], changes: Iterable[tuple[tuple[int, int], str]]) -> str:
    start, end = span
    parts, at = [], start
    for (first, last), after in sorted(changes):
        if start <= first and last <= end and first >= at:
            parts += [text[at:first], after]
            at = last
    return "".join([*parts, text[at:end]])


def copies_values(tokens: Sequence[PackageToken], summaries: frozenset[str]) -> bool:
    """Whether a query joins tables or subqueries, or gives records figures of their groups."""
    named = [token.upper for token in tokens]
    if "JOIN" in named or named.count("SELECT") > 1:
        return True
    if "SELECT" not in named or "FROM" not in named:
        return False
    start, at = named.index("SELECT") + 1, named.index("FROM")
    end = next((n for n in range(at, len(named)) if named[n] in _BEHIND_FROM), len(named))
    if len(split_at(tokens[at + 1 : end], ",")) > 1:
        return True
    items = split_at(tokens[start:at], ",")
    plain = [
        item for item in items
        if not any(a.upper in summaries and b.text == "(" for a, b in pairwise(item))
    ]  # fmt: skip
    groups = {named[n] for n in range(end, len(named)) if "GROUP" in named[end:n]}
    return len(plain) < len(items) and any(item[-1].upper not in groups for item in plain if item)
