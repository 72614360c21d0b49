"""The safe macro before a procedure of SAS: which data set, groups and values it is given.

In: the statements of a procedure that a policy has wrapped. Out: edits that put `%fire_gate`
before it and let it read what that lets through; or the kind of finding where that cannot be done.
For statements of PROC SQL: whether they put values of some records, or of groups, beside others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from discreet_fire.catalogue import CommandRule
from discreet_fire.rewriting.package_programs import PackageProgram
from discreet_fire.scripts import PackageToken, SasStatement, one_line, parenthesis, split_at

_Step = Sequence[tuple[SasStatement, Sequence[PackageToken]]]
_DATA = "work._fire_data"
_LISTS = ("--", "_ALL_", "_NUMERIC_", "_CHARACTER_", "_NUM_", "_CHAR_")
_ESCAPED = re.compile(r"%(?=['\"()])")
_BEHIND_FROM = ("WHERE", "GROUP", "HAVING", "ORDER")


@dataclass(frozen=True, kw_only=True)
class _Source:
    """The data set of a procedure: its words with their place, and the choice of records."""

    text: str
    span: tuple[int, int]
    where: str
    by: tuple[str, ...]


def gated(
    notes: PackageProgram[SasStatement],
    rule: CommandRule,
    step: _Step,
    refused: Iterable[tuple[int, int]],
) -> str:
    """Put the safe macro before a procedure.

    Returns:
        The kind of finding if it cannot be done; empty otherwise.
    """
    refused = list(refused)
    statements = [tokens for _, tokens in step]
    options = {token.upper for token in statements[0]}
    opening = step[0][0]
    # Behind %then the macro alone would depend on the condition, and the procedure would not.
    if opening.start != statements[0][0].start:
        return "runtime"
    if "NOPRINT" in options or (
        rule.name == "PROC SUMMARY" and not options & {"PRINT", "PRINTALL"}
    ):
        return ""  # it makes data sets only
    source = _source(notes, statements)
    if source is None:
        return "dataset"
    if rule.name == "PROC TABULATE" and not _all_listed(notes, statements):
        return "statistic"
    if rule.gate == "frequencies":
        return _frequencies(notes, rule, step, source, refused)
    requested = _requested(rule, statements)
    if requested is None:
        return "list"
    _put(notes, rule, step, source, requested, refused)
    return ""


def _all_listed(
    notes: PackageProgram[SasStatement], statements: Sequence[Sequence[PackageToken]]
) -> bool:
    known = set(notes.policy.words["statistics"] | notes.policy.words["tables"])
    means = notes.policy.rules["PROC MEANS"].parts or {}
    for tokens in statements[1:]:
        if tokens[0].upper in ("CLASS", "VAR"):
            known |= {token.upper for token in _before_slash(tokens[1:])} - means["PROC"].refused
    tables = [tokens[1:] for tokens in statements if tokens[0].upper in ("TABLE", "TABLES")]
    return all(
        token.kind in ("text", "number", "sign") or before.text == "=" or token.upper in known
        for table in map(_before_slash, tables)
        for before, token in zip([table[0], *table], table, strict=False)
    )


def _source(
    notes: PackageProgram[SasStatement], statements: Sequence[Sequence[PackageToken]]
) -> _Source | None:
    """What a procedure reads; None if it does not name one data set, or chooses twice."""
    first = statements[0]
    at = next((n for n, token in enumerate(first) if token.upper == "DATA" and n > 1), None)
    if at is None or len(first) < at + 3 or first[at + 1].text != "=":
        return None
    end = at + 2
    while end + 1 < len(first) and (
        first[end + 1].text in (".", "(") or first[end].text == "."
        or first[end + 1].start == first[end].end
    ):  # fmt: skip
        end += 1
        if first[end].text == "(":
            end += len(parenthesis(first, end)) - 1
            break
    choices = [tokens for tokens in statements[1:] if tokens[0].upper == "WHERE"]
    if len(choices) > 1 or (choices and choices[0][1].upper in ("SAME", "ALSO", "CLEAR", "UNDO")):
        return None
    where = _text(notes, choices[0][1:]) if choices else ""
    groups = [tokens for tokens in statements[1:] if tokens[0].upper == "BY"]
    by = [t.text for tokens in groups for t in tokens[1:] if t.kind in ("word", "reference")]
    by = [item for item in by if item.upper() not in ("DESCENDING", "NOTSORTED", "GROUPFORMAT")]
    span = (first[at + 2].start, first[end].end)
    return _Source(text=notes.text[slice(*span)], span=span, where=where, by=tuple(by))


def _text(notes: PackageProgram[SasStatement], tokens: Sequence[PackageToken]) -> str:
    return one_line(notes.text[tokens[0].start : tokens[-1].end]) if tokens else ""


def _names(tokens: Sequence[PackageToken]) -> list[str] | None:
    """Variables in a list; None if one is not named, as in ``x1-x5`` or ``_all_``."""
    names: list[str] = []
    for token in tokens:
        if token.text == "/":
            break
        listed = token.upper in _LISTS or token.text.endswith("_")
        if token.kind == "reference" or (token.kind == "word" and not listed):
            names.append(token.text)
        elif token.text not in ("*", "(", ")", "|"):
            return None
    return [*dict.fromkeys(names)]


def _call(source: _Source, kind: str, **lists: Sequence[str]) -> str:
    parts = [f"kind={kind}", f"data={source.text}"]
    parts += [f"{name}={' '.join(names)}" for name, names in lists.items() if names]
    if source.where:
        # Within %str a sign of per cent before a quote or a bracket is written twice.
        parts.append(f"where=%str({_ESCAPED.sub('%%', source.where)})")
    return f"%fire_gate({', '.join(parts)});"


def _requested(
    rule: CommandRule, statements: Sequence[Sequence[PackageToken]]
) -> dict[str, list[str]] | None:
    """Lists for the safe macro by its parameters; None if a variable is not named."""
    values: list[str] = []
    cells: list[str] = []
    listed = False
    for tokens in statements[1:]:
        name = tokens[0].upper
        if name in ("VAR", "VARIABLES", "WITH", "PARTIAL", "PAIRED", "WEIGHT", "FREQ"):
            names = _names([t for t in tokens[1:] if t.text != ":"])
            weighted = name == "VAR" and any(token.upper == "WEIGHT" for token in tokens)
            names, into = None if weighted else names, values
            listed |= name not in ("WEIGHT", "FREQ")
        elif name in ("CLASS", "CLASSES"):
            plain = _without_parentheses(tokens[1:])
            names, into = _names(plain), cells
        elif rule.gate == "model" and (
            name == "MODEL" or (len(tokens) > 2 and tokens[1].text == ":")
        ):
            tokens = tokens if name == "MODEL" else tokens[2:]
            plain = _before_slash(_without_parentheses(tokens[1:]))
            names = _names([t for t in plain if t.text not in ("=", "@") and t.kind != "number"])
            into = values
        else:
            continue
        if names is None:
            return None
        into += [item for item in names if item not in into]
    if rule.gate == "model":
        if not values:
            return None
        return {"values": [*dict.fromkeys([*values, *cells])], "classes": cells}
    if not listed and rule.gate == "groups":
        return None
    return {"cells": cells, "values": values}


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


def _before_slash(tokens: Sequence[PackageToken]) -> list[PackageToken]:
    at = next((n for n, token in enumerate(tokens) if token.text == "/"), len(tokens))
    return list(tokens[:at])


def _put(
    notes: PackageProgram[SasStatement],
    rule: CommandRule,
    step: _Step,
    source: _Source,
    requested: dict[str, list[str]],
    refused: list[tuple[int, int]],
) -> None:
    """Edits: the macro before the procedure, another data set, and options that go."""
    statement, first = step[0]
    start = first[0].start
    kind = rule.gate
    cells = [*dict.fromkeys([*source.by, *requested.get("cells", [])])]
    if kind == "groups" and not cells:
        kind = "table"
    lists = {**requested, "cells": cells} if kind != "model" else requested
    lines = [_call(source, kind, **{n: lists.get(n, []) for n in ("cells", "values", "classes")})]
    if rule.name == "PROC TTEST":
        lines.append("ods exclude Statistics;")

    def change(span: tuple[int, int], after: str) -> None:
        notes.change("procedure", span, after, rule)

    change((start, start), notes.newline.join([*lines, ""]))
    if rule.name == "PROC UNIVARIATE":
        change((start, statement.end), f"proc means data={_DATA} n mean std var skewness kurtosis;")
        return
    change(source.span, _DATA)
    for first_at, end in refused:  # with one blank before it
        blank = first_at > 0 and notes.text[first_at - 1] in " \t"
        change((first_at - blank, end), "")
    more = ""
    options = {token.upper for token in first if (token.start, token.end) not in refused}
    if (
        rule.name in ("PROC MEANS", "PROC SUMMARY")
        and not options & notes.policy.words["statistics"]
    ):
        more = " n mean std"
    elif rule.name == "PROC CORR" and "NOSIMPLE" not in options:
        more = " nosimple"
    elif rule.name == "PROC REG":
        more = " plots=none"
    if more:
        change((source.span[1], source.span[1]), more)


def _frequencies(
    notes: PackageProgram[SasStatement],
    rule: CommandRule,
    step: _Step,
    source: _Source,
    refused: list[tuple[int, int]],
) -> str:
    """Each table of PROC FREQ as a procedure of its own."""
    statement, first = step[0]
    tables = [(one, tokens) for one, tokens in step if tokens[0].upper in ("TABLES", "TABLE")]
    if not tables:
        return "list"
    others = [
        _text(notes, tokens) + ";"
        for _, tokens in step[1:]
        if tokens[0].upper not in ("TABLES", "TABLE")
    ]
    head = _cut(
        notes.text,
        (first[0].start, statement.end),
        [(source.span, _DATA), *((span, "") for span in refused)],
    )
    lines: list[str] = []
    weights = [
        token.text for _, (first_word, *rest) in step[1:] if first_word.upper == "WEIGHT"
        for token in rest if token.kind in ("word", "reference")
    ]  # fmt: skip
    for one, tokens in tables:
        requests = _requests(_before_slash(tokens[1:]))
        if requests is None:
            return "list"
        slash = next((t.start for t in tokens if t.text == "/"), None)
        options = (
            ";"
            if slash is None
            else f" {_cut(notes.text, (slash, one.end), [(span, '') for span in refused])}"
        )
        missing = any(t.upper in ("MISSING", "MISSPRINT") for t in tokens)
        for request in requests:
            cells = [*dict.fromkeys([*source.by, *request])]
            kind = "groups" if len(cells) == 1 else "table"
            call = _call(source, kind, cells=cells, values=weights)
            lines.append(call.replace(");", ", missing=1);") if missing else call)
            lines += [head, *others, f"tables {'*'.join(request)}{options}", "run;"]
    after = notes.newline.join(map(one_line, lines))
    notes.change("procedure", (first[0].start, step[-1][0].end), after, rule)
    return ""


def _requests(tokens: Sequence[PackageToken]) -> list[list[str]] | None:
    text = "".join(
        f" {token.text}" if token.kind in ("word", "reference") else token.text for token in tokens
    )
    text = re.sub(r"\s*\*\s*", "*", text).replace("( ", "(")
    if re.search(r"[^\w\s&.*()]", text) or re.search(r"\b_\w+_\b", text):
        return None
    crossings: list[list[str]] = []
    for item in re.findall(r"(?:\([^()]*\)|[^\s()*])+(?:\*(?:\([^()]*\)|[^\s()*])+)*", text):
        crossed: list[list[str]] = [[]]
        for factor in item.split("*"):
            names = factor.strip("()").split()
            if "(" in factor.strip("()"):
                return None
            crossed = [[*one, name] for one in crossed for name in names]
        crossings += crossed
    return crossings or None


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
    behind = [n for n in range(at, len(named)) if named[n] in _BEHIND_FROM]
    end = behind[0] if behind else len(named)
    if len(split_at(tokens[at + 1 : end], ",")) > 1:
        return True
    items = split_at(tokens[start:at], ",")
    plain = [
        item for item in items
        if not any(a.upper in summaries and b.text == "(" for a, b in pairwise(item))
    ]  # fmt: skip
    if len(plain) == len(items):
        return False
    groups = {named[n] for n in range(end, len(named)) if "GROUP" in named[end:n]}
    return any(item[-1].upper not in groups for item in plain if item)
