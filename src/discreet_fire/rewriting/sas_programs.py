"""SAS programs rewritten: procedures read what a safe macro lets through, others are comments.

In: the text of a program and a policy. Out: a `Rewriting`. `%fire_gate` goes before a procedure
that shows figures, which reads what that lets through; for statements of PROC SQL it is judged
whether they put values of some records, or of groups, beside others. Where macro variables get
values of the data there is a review. What no rule knows goes to review, and so does what is known
at run time only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from discreet_fire.catalogue import Action, CommandRule
from discreet_fire.rewriting.changes import PackageProgram
from discreet_fire.scripts import (
    PackageToken,
    SasStatement,
    UnnamedVariablesError,
    crossings,
    one_line,
    parenthesis,
    parse_sas,
    split_at,
    with_depths,
)

_DATA = "work._fire_data"
_VARIABLE_LISTS = ("--", "_ALL_", "_NUMERIC_", "_CHARACTER_", "_NUM_", "_CHAR_")
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
        """Span in the text."""
        return self.tokens[0].start, self.statement.end

    @property
    def listed(self) -> Sequence[PackageToken]:
        """Text after its first word, before a slash."""
        return split_at(self.tokens[1:], "/")[0]

    @property
    def options(self) -> Sequence[PackageToken]:
        """Text after a slash."""
        return self.tokens[len(self.listed) + 2 :]


class _Source(NamedTuple):
    """The data set of a procedure: its words with their place, and the choice of records."""

    text: str
    span: tuple[int, int]
    where: str
    by: Sequence[str]

    def call(self, kind: str, lists: Mapping[str, Sequence[str]], more: str = "") -> str:
        """The safe macro for some lists of variables."""
        parts = [f"kind={kind}", f"data={self.text}"]
        parts += [f"{name}={' '.join(names)}" for name, names in lists.items() if names]
        if self.where:
            # Within %str a sign of per cent before a quote or a bracket is written twice.
            parts.append(f"where=%str({_ESCAPED.sub('%%', self.where)})")
        return f"%fire_gate({', '.join(parts)}{more});"


_Tokens = Sequence[PackageToken]
_Step = Sequence[Clause]
_Spans = Sequence[tuple[int, int]]


def _names_in(step: _Step, name: str, left_out: Sequence[str] = ()) -> list[str]:
    return [
        token.text for one in step if one.name == name for token in one.tokens[1:]
        if token.kind in ("word", "reference") and token.upper not in left_out
    ]  # fmt: skip


def _listed_names(tokens: Sequence[PackageToken]) -> list[str]:
    names: dict[str, None] = {}
    for token in tokens:
        listed = token.upper in _VARIABLE_LISTS or token.text.endswith("_")
        if token.kind == "reference" or (token.kind == "word" and not listed):
            names[token.text] = None
        elif token.text not in ("*", "(", ")", "|"):
            raise UnnamedVariablesError
    return [*names]


def _requested(rule: CommandRule, step: _Step) -> dict[str, list[str]]:
    """Lists for the safe macro by its parameters."""
    values: dict[str, None] = {}
    cells: dict[str, None] = {}
    model = rule.gate == "model"
    listed = False
    for one in step[1:]:
        tokens = one.listed
        if one.name in _VALUES:
            if any(token.upper == "WEIGHT" for token in one.options):
                raise UnnamedVariablesError
            values |= dict.fromkeys(_listed_names([t for t in tokens if t.text != ":"]))
            listed = listed or one.name not in _WEIGHTS
        elif one.name in ("CLASS", "CLASSES"):
            cells |= dict.fromkeys(_listed_names(_without_parentheses(tokens)))
        elif model and (one.name == "MODEL" or [t.text for t in one.tokens[1:2]] == [":"]):
            plain = _without_parentheses(tokens if one.name == "MODEL" else tokens[2:])
            plain = [t for t in plain if t.text not in ("=", "@") and t.kind != "number"]
            values |= dict.fromkeys(_listed_names(plain))
    if (model and not values) or (rule.gate == "groups" and not listed):
        raise UnnamedVariablesError
    if model:
        return {"values": [*{**values, **cells}], "classes": [*cells]}
    return {"cells": [*cells], "values": [*values]}


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


_CALL = re.compile(r"%([A-Za-z_]\w*)")
_GLOBAL_WORD = re.compile(r"^(TITLE|FOOTNOTE|SYMBOL|AXIS|LEGEND|PATTERN)\d*$")
_EXPRESSION = {"IF", "WHERE", "SELECT", "WHEN", "DO"}
_QUERIES = {"PROC", "SELECT", "CREATE", "DROP", "ALTER", "INSERT", "UPDATE", "DELETE", "RESET"}
_SYMPUT = {"SYMPUT", "SYMPUTX", "SYMPUTN"}
_SYSTEM = {"%SYSFUNC", "%QSYSFUNC"}
#: What gives macro variables by name.
_BY_NAME = {"%SUPERQ", "%SYMGET"}
_LISTS = {"_ALL_", "_USER_", "_GLOBAL_", "_LOCAL_"}
#: A library is taken away, listed, or opened for reading only.
_ONLY_READS = {"CLEAR", "LIST", "READONLY"}
#: What stands before a statement that runs only under a condition, and where that ends.
_CONDITIONS = {"%IF": "%THEN", "IF": "THEN"}
_FOLLOWS = ("%ELSE", "%THEN", "ELSE", "OTHERWISE")
_MOST_PREFIXES = 40


class _SasProgram(PackageProgram):
    r"""Judges the statements of a program, step by step.

    >>> print(rewrite_sas("proc print data=a; run;\ndata b; set a; run;\n").text)
    /* FDZ: not permitted in remote execution: proc print data=a; run; */;
    data b; set a; run;
    >>> print(rewrite_sas("proc means data=a min mean; var x; run;").text)
    %fire_gate(kind=table, data=a, values=x);
    proc means data=work._fire_data mean; var x; run;
    """

    kind = "sas"

    def judge(self) -> None:
        statements = parse_sas(self.text)
        self.rules, self.words = self.policy.rules, self.policy.words
        self.statements = statements
        #: The macros of the program, and whether macro variables get values of the data.
        self.macros = {
            one.tokens[1].upper for one in statements if one.first == "%MACRO" and one.tokens[1:]
        }
        self.made = any(map(self._makes_values, statements))
        self.step = ""
        #: Statements of the procedure that is open.
        self.inside: list[Clause] = []
        self.arrays: set[str] = set()
        self.retained: set[str] = set()
        self.outputs: set[str] = set()
        self.in_macro = 0
        for statement in statements:
            if not statement.tokens:
                self._comment(statement)
                continue
            self.check_reserved(statement)
            self.conditional = False
            if self._makes_values(statement):
                self.review("holds", statement, statement.first[:30])
            if tokens := self._without_prefixes(statement):
                self._judge(statement, tokens)
        self._close(None)

    def _makes_values(self, statement: SasStatement) -> bool:
        """Whether a statement gives macro variables values of the data."""
        tokens = statement.tokens
        return any(
            one.upper in _SYMPUT or (one.upper == "INTO" and behind.text == ":")
            or (one.upper in _SYSTEM and name.upper not in self.words["plain"])
            for one, behind, name in zip(tokens, tokens[1:], tokens[2:], strict=False)
        )  # fmt: skip

    def _shows_values(self, tokens: _Tokens) -> bool:
        """Whether a text that is shown may have such a value in it."""
        return self.made and any("&" in token.text or token.upper in _BY_NAME for token in tokens)

    def _comment(self, statement: SasStatement) -> None:
        """A comment with a star: calls of macros in it run, and quotes count within a macro."""
        text = self.text[statement.start : statement.end]
        for name in map(str.upper, _CALL.findall(text)):
            unknown = f"MACRO {name}" not in self.rules and name not in self.words["macros"]
            if unknown or name in ("PUT", "SYSEXEC", "INCLUDE", "INC"):
                self.review("runtime", statement, f"%{name}")
        if self.in_macro and text.count("'") % 2:
            self.review("quotes", statement, "*")

    # ------------------------------------------------------------------ macro language

    def _without_prefixes(self, statement: SasStatement) -> _Tokens:
        """The tokens of a statement behind conditions, goals of jumps and calls of macros."""
        tokens: _Tokens = statement.tokens
        for _ in range(_MOST_PREFIXES):
            if not tokens:
                return ()
            first, second = tokens[0], tokens[1] if len(tokens) > 1 else tokens[0]
            name = first.upper
            inside = first.kind == "macro" or not self.step.startswith("PROC ")
            if second.text == ":" and first.kind in ("macro", "word") and inside:
                tokens = tokens[2:]
            elif name in _CONDITIONS and inside and (
                name == "%IF" or any(t.upper == "THEN" for t in tokens)
            ):  # fmt: skip
                condition = split_at(tokens, _CONDITIONS[name])[0]
                self._functions(statement, condition, name)
                tokens, self.conditional = tokens[len(condition) + 1 :], True
            elif name in _FOLLOWS and inside:
                tokens, self.conditional = tokens[1:], True
            elif name == "WHEN" and second.text == "(" and inside:
                tokens, self.conditional = tokens[1 + len(parenthesis(tokens, 1)) :], True
            elif first.kind == "macro" and f"MACRO {name[1:]}" in self.rules:
                self._macro_statement(statement, tokens, name[1:])
                return ()
            elif first.kind == "macro":
                tokens = self._macro_call(statement, tokens)
            else:
                break
        if tokens and tokens[0].kind == "reference":
            self.review("runtime", statement, tokens[0].text)
            return ()
        return () if tokens and tokens[0].text == "*" else tokens

    def _macro_call(self, statement: SasStatement, tokens: _Tokens) -> _Tokens:
        name = tokens[0].upper[1:]
        inside = parenthesis(tokens, 1)
        rest = tokens[1 + len(inside) :]
        if name not in self.macros:
            known = name in self.words["macros"]
            self.review("runtime" if known else "unknown", statement, tokens[0].text)
        if any(t.upper in ("PROC", "PUT", "%PUT") for t in inside):
            self.review("text", statement, tokens[0].text)
        return () if rest and rest[0].text in ("=", ".") else rest

    def _macro_statement(self, statement: SasStatement, tokens: _Tokens, name: str) -> None:
        rule = self.rules[f"MACRO {name}"]
        if rule.action is not Action.ALLOWED:
            self._stop("reason", statement, tokens, f"%{name}", rule.reason, rule.action)
        elif name in ("INCLUDE", "INC"):
            self._include(statement, tokens)
        elif name == "PUT":
            listed = self.made and any(t.upper in _LISTS for t in tokens)
            if listed or self._shows_values(tokens) or self._unknown_macro(tokens[1:]):
                self._stop("shown", statement, tokens, "%PUT", rule.reason)
        elif name == "LET":
            ends = any(t.text == ";" for t in tokens)
            if ends or self._unknown_macro(tokens[1:]):
                self.review("text", statement, "%LET")
        self.in_macro += {"MACRO": 1, "MEND": -1}.get(name, 0)

    def _unknown_macro(self, tokens: _Tokens) -> bool:
        known = self.words["macros"] | self.macros
        return any(
            t.kind == "macro" and t.upper[1:] not in known
            and f"MACRO {t.upper[1:]}" not in self.rules
            for t in tokens
        )  # fmt: skip

    def _include(self, statement: SasStatement, tokens: _Tokens) -> None:
        texts = [token for token in tokens if token.kind == "text"]
        plain = len(tokens) == 2 and len(texts) == 1 and "&" not in texts[0].text
        name = self.called("%INCLUDE", (texts[0].start, texts[0].end)) if plain else None
        if name is None:
            self._stop("called", statement, tokens, "%INCLUDE")
            return
        sign, place = texts[0].text[0], (texts[0].start, texts[0].end)
        self.replace(place, f"{sign}{name}{sign}", "call", "%INCLUDE", Action.WRAPPED, "")

    # ------------------------------------------------------------------ steps

    def _judge(self, statement: SasStatement, tokens: _Tokens) -> None:
        first = tokens[0].upper
        rule = self.rules.get("GLOBAL " + _GLOBAL_WORD.sub(r"\1", first))
        assigns = _assigns(tokens)
        if first in ("PROC", "DATA") and not (first == "DATA" and assigns):
            self._open(statement, tokens)
        elif first in ("RUN", "QUIT") and len(tokens) <= 2:
            self._close(statement)
        elif rule is not None and not assigns and (self.step, first) != ("DATA", "MISSING"):
            self._global_statement(statement, tokens, rule)
        elif self.step.startswith("PROC "):
            self.inside.append(Clause(tokens, statement))
            if first in ("LABEL", "VALUE") and self._shows_values(tokens):
                self.review("shown", statement, self.step)
        else:
            self._data_statement(statement, tokens)

    def _global_statement(
        self, statement: SasStatement, tokens: _Tokens, rule: CommandRule
    ) -> None:
        name = rule.name.removeprefix("GLOBAL ")
        action, word = rule.action, ""
        if name in ("OPTIONS", "OPTION"):
            action, word = self.of_words(rule, "OPTIONS", tokens[1:])
        elif name == "ODS":
            words = [token for token in tokens[1:] if token.kind in ("word", "macro", "reference")]
            action, word = Action.REVIEW, "ODS"
            if words:
                action, word = self.of_words(rule, words[0].upper, words[1:])
        elif name == "LIBNAME" and {t.upper for t in tokens if t.kind == "word"} & _ONLY_READS:
            action = Action.ALLOWED
        if name in ("TITLE", "FOOTNOTE") and self._shows_values(tokens):
            self._stop("shown", statement, tokens, name, rule.reason)
            return
        self.review_network(statement, name, tokens)
        if action is not Action.ALLOWED:
            kind = "part-unknown" if action is Action.REVIEW else "part"
            kind = kind if word else "reason"
            self._stop(kind, statement, tokens, name, rule.reason, action, part=word)

    def of_words(self, rule: CommandRule, part: str, tokens: _Tokens) -> tuple[Action, str]:
        """What the words of a part of a rule say; the strictest counts."""
        one = (rule.parts or {}).get(part)
        if one is None:
            return Action.REVIEW, part
        action, word = one.verdict([token.upper for token in _options(tokens)])
        return action, word or part

    def _open(self, statement: SasStatement, tokens: _Tokens) -> None:
        self._close(statement)
        self.step = tokens[0].upper
        if self.step == "DATA":
            self.arrays, self.retained, self.outputs = set(), set(), set()
            if any(token.kind == "text" for token in tokens):
                self.review("network", statement, "DATA")
            behind = [token.upper for part in split_at(tokens, "/")[1:] for token in part]
            if {"PGM", "DEBUG", "STACK"} & {*behind}:
                self.review("runtime", statement, "DATA")
            return
        self.inside = [Clause(tokens, statement)]
        named = len(tokens) > 1 and tokens[1].kind == "word"
        if not named or _glued(tokens, 2):
            self.review("runtime", statement, "PROC")
            self.step = "PROC ?"
            return
        self.step = f"PROC {tokens[1].upper}"
        rule = self.rules.get(self.step)
        if rule is None:
            self.review("unknown", statement, self.step)
        elif rule.action is Action.REVIEW:
            self.review("reason", statement, self.step, reason=rule.reason)

    def _close(self, statement: SasStatement | None) -> None:
        """A step ends: what its procedure shows is judged as a whole."""
        step, inside = self.step, self.inside
        self.step, self.inside = "", []
        rule = self.rules.get(step)
        if rule is None or not inside:
            return
        if rule.action is Action.REFUSED:
            self.say("reason", Action.REFUSED, inside[0].statement, step, reason=rule.reason)
            spans = [one.span for one in inside]
            if statement is not None and statement.first in ("RUN", "QUIT"):
                spans.append((statement.start, statement.end))
            self._take_out(spans, step, rule.reason)
        elif step == "PROC SQL":
            self._queries(inside)
        elif rule.action is not Action.REVIEW and rule.parts is not None:
            self._parts(rule, inside)

    def _parts(self, rule: CommandRule, inside: list[Clause]) -> None:
        """Statements and options of a procedure; one that shows figures gets its gate."""
        assert rule.parts is not None
        refused: list[tuple[int, int]] = []
        kept: list[Clause] = []
        for one in inside:
            name = "PROC" if one is inside[0] else one.name
            if name not in rule.parts and _assigns(one.tokens, colon=True):
                name = one.tokens[2].upper  # label: model y = x
            behind = one.tokens[2:] if name == "PROC" else one.options
            action, word = self.of_words(rule, name, behind)
            if action is Action.REVIEW:
                self.review("part-unknown", one.statement, rule.name, part=word)
            elif action is Action.REFUSED:
                self.say("part", Action.REFUSED, one.statement, rule.name, part=word)
                if rule.parts[name].action is not Action.ALLOWED or rule.gate == "free":
                    self._take_out([one.span], rule.name, "")
                    continue
                refused += _spans_of(behind, rule.parts[name].refused)
            kept.append(one)
            made = {token.upper for token in one.tokens[1:2]} if name in _WEIGHTS else set()
            if any(
                (a.upper in made and b.text in ("=", "+")) or (a.upper == "AS" and b.upper in made)
                for other in self.statements if made
                for a, b in pairwise(other.tokens)
            ):  # fmt: skip
                self.review("picks", one.statement, name)
            if name == "OUTPUT":
                single = any(t.upper in self.words["single"] for t in one.tokens[1:])
                named = any(t.text == "=" for t in one.tokens[4:])
                if single or (rule.name in ("PROC MEANS", "PROC SUMMARY") and not named):
                    self.review("picks", one.statement, rule.name)
        kind = "" if rule.gate == "free" else self._gated(rule, kept, refused)
        if kind:
            self.say(kind, Action.REFUSED, inside[0].statement, rule.name)
            self._take_out([one.span for one in inside], rule.name, rule.reason)

    def _queries(self, inside: list[Clause]) -> None:
        """A query shows its rows, unless it makes a table or macro variables."""
        silent = any(token.upper == "NOPRINT" for token in inside[0].tokens)
        for one in inside:
            words = {token.upper for token in one.tokens}
            makes = one.name == "CREATE" and "INTO" in words
            shows = makes or one.name in ("SELECT", "DESCRIBE", "(")
            if one.name == "RESET":
                silent = silent and "PRINT" not in words
            if shows and not silent:
                reason = self.rules["PROC SQL"].reason
                self._stop("reason", one.statement, one.tokens, "PROC SQL", reason)
            elif one.name not in _QUERIES:
                self.review("part-unknown", one.statement, "PROC SQL", part=one.name[:30])
            elif one.name in ("CREATE", "INSERT", "UPDATE") and (
                words & self.words["single"] or copies_values(one.tokens, self.words["summaries"])
            ):
                self.review("picks", one.statement, "PROC SQL")
            self._functions(one.statement, one.tokens, "PROC SQL")

    # ------------------------------------------------------------------ gates

    def _gated(self, rule: CommandRule, step: _Step, refused: _Spans) -> str:
        """Put the safe macro before a procedure; the kind of finding if that cannot be done."""
        opening = step[0]
        options = {token.upper for token in opening.tokens}
        # Behind %then the macro alone would depend on the condition, and the procedure would not.
        if opening.statement.start != opening.tokens[0].start:
            return "runtime"
        prints = rule.name != "PROC SUMMARY" or options & {"PRINT", "PRINTALL"}
        if "NOPRINT" in options or not prints:
            return ""  # it makes data sets only
        source = self._source(step)
        if source is None:
            return "dataset"
        if rule.name == "PROC TABULATE" and not self._all_listed(step):
            return "statistic"
        try:
            if rule.gate == "frequencies":
                self._frequencies(rule, step, source, refused)
            else:
                self._put(rule, opening, source, _requested(rule, step), refused)
        except UnnamedVariablesError:
            return "list"
        return ""

    def _all_listed(self, step: _Step) -> bool:
        known = set(self.words["statistics"] | self.words["tables"])
        means = self.rules["PROC MEANS"].parts or {}
        for one in step[1:]:
            if one.name in ("CLASS", "VAR"):
                known |= {token.upper for token in one.listed} - means["PROC"].refused
        return all(
            token.kind in ("text", "number", "sign") or before.text == "=" or token.upper in known
            for one in step if one.name in _TABLES
            for before, token in pairwise(one.tokens[: len(one.listed) + 1])
        )  # fmt: skip

    def _source(self, step: _Step) -> _Source | None:
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
        span = (first[at + 2].start, (behind[-1] if behind else first[end]).end)
        choices = [one.tokens for one in step[1:] if one.name == "WHERE"]
        again = choices and choices[0][1].upper in ("SAME", "ALSO", "CLEAR", "UNDO")
        if len(choices) > 1 or again:
            return None
        chosen = self.text[choices[0][1].start : choices[0][-1].end] if choices else ""
        by = _names_in(step[1:], "BY", _ORDERS)
        return _Source(self.text[slice(*span)], span, one_line(chosen), by)

    def _put(
        self, rule: CommandRule, opening: Clause, source: _Source,
        lists: dict[str, list[str]], refused: _Spans,
    ) -> None:  # fmt: skip
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
        self.change("procedure", (start, start), self.newline.join([*lines, ""]), rule)
        if rule.name == "PROC UNIVARIATE":
            shown = f"proc means data={_DATA} n mean std var skewness kurtosis;"
            self.change("procedure", (start, end), shown, rule)
            return
        self.change("procedure", source.span, _DATA, rule)
        for first, last in refused:  # with one blank before it
            blank = first > 0 and self.text[first - 1] in " \t"
            self.change("procedure", (first - blank, last), "", rule)
        left = {token.upper for token in opening.tokens if (token.start, token.end) not in refused}
        means = rule.name in ("PROC MEANS", "PROC SUMMARY")
        more = " n mean std" if means and not left & self.words["statistics"] else ""
        if rule.name == "PROC CORR" and "NOSIMPLE" not in left:
            more = " nosimple"
        elif rule.name == "PROC REG":
            more = " plots=none"
        if more:
            self.change("procedure", (source.span[1], source.span[1]), more, rule)

    def _frequencies(
        self, rule: CommandRule, step: _Step, source: _Source, refused: _Spans
    ) -> None:
        """Each table of PROC FREQ as a procedure of its own."""
        tables = [one for one in step if one.name in _TABLES]
        others = [one for one in step[1:] if one.name not in _TABLES]
        gone = [(span, "") for span in refused]
        head = self._cut(step[0].span, [(source.span, _DATA), *gone])
        lines: list[str] = []
        texts = [f"{self.text[one.span[0] : one.tokens[-1].end]};" for one in others]
        weights = _names_in(others, "WEIGHT")
        for one in tables:
            requests = crossings(one.listed, "*", "")
            _listed_names([t for t in one.listed if t.text not in (".", "|")])
            slash = one.tokens[len(one.listed) + 1].start if one.options else 0
            options = f" {self._cut((slash, one.span[1]), gone)}" if slash else ";"
            missing = any(t.upper in ("MISSING", "MISSPRINT") for t in one.tokens)
            for request in requests:
                cells = [*dict.fromkeys([*source.by, *request])]
                kind = "groups" if len(cells) == 1 else "table"
                more = ", missing=1" if missing else ""
                lines.append(source.call(kind, {"cells": cells, "values": weights}, more))
                lines += [head, *texts, f"tables {'*'.join(request)}{options}", "run;"]
        after = self.newline.join(map(one_line, lines))
        if not tables:
            raise UnnamedVariablesError
        self.change("procedure", (step[0].span[0], step[-1].span[1]), after, rule)

    def _cut(self, span: tuple[int, int], changes: Iterable[tuple[tuple[int, int], str]]) -> str:
        (at, end), parts = span, list[str]()
        for (first, last), after in sorted(changes):
            if at <= first and last <= end:
                parts += [self.text[at:first], after]
                at = last
        return "".join([*parts, self.text[at:end]])

    # ------------------------------------------------------------------ data step

    def _data_statement(self, statement: SasStatement, tokens: _Tokens) -> None:
        first = tokens[0].upper
        if first == "LABEL" and self._shows_values(tokens):
            self.review("shown", statement, first)
        signs = zip(statement.tokens, statement.tokens[1:], statement.tokens[2:], strict=False)
        if any(
            c.kind == "word" and b.end == c.start
            and (b.kind in ("text", "number") or (b.text == "." and a.kind != "word"))
            for a, b, c in signs
        ):  # fmt: skip
            self.review("unknown", statement, first)  # ``if x=.athen …``: a word may begin anywhere
        rule = self.rules.get(f"DATA {first}")
        if _assigns(tokens) or (rule is None and _is_assignment(tokens)):
            self._assignment(statement, tokens)
        elif rule is None or _glued(tokens, 1):
            self.review("unknown", statement, first[:30])
        elif rule.action is not Action.ALLOWED:
            self._stop("reason", statement, tokens, first, rule.reason, rule.action)
            if first in ("UPDATE", "MODIFY"):
                self.review("picks", statement, first)
        else:
            self._allowed_data(statement, tokens, first)

    def _allowed_data(self, statement: SasStatement, tokens: _Tokens, first: str) -> None:
        words = [token.upper for token in tokens[1:] if token.kind == "word"]
        if first == "ARRAY":
            self.arrays |= {*words[:1]}
        elif first == "RETAIN":
            self.retained |= {*words}
        elif first == "OUTPUT" and not self.conditional:
            target = " ".join(token.upper for token in tokens[1:])
            if target in self.outputs:
                self.review("twice", statement, "OUTPUT")
            self.outputs.add(target)
        elif first == "SET":
            if {"POINT", "KEY"} & {*words}:
                self.review("record", statement, "SET")
            sets = _data_sets(tokens[1:])
            if self.conditional or len(set(sets)) < len(sets):
                self.review("picks", statement, "SET")
        elif first == "MERGE" or {"HASH", "HITER"} & {*words[:1]}:
            self.review("picks", statement, first)
        elif first == "CALL":
            name = tokens[1].upper if len(tokens) > 1 else ""
            if name.startswith("SYMPUT") and [t.kind for t in tokens[3:4]] != ["text"]:
                self.review("text", statement, "CALL SYMPUT")
            if name not in self.words["routines"]:
                self._stop("function", statement, tokens, "CALL", part=name or "?")
        elif first in ("INFILE", "DECLARE", "DCL"):
            self.review_network(statement, first, tokens)
            if {"PIPE", "FILEVAR", "URL", "EMAIL"} & {*words}:
                self.review("network", statement, first)
        if first in _EXPRESSION:
            self._functions(statement, tokens, first)

    def _assignment(self, statement: SasStatement, tokens: _Tokens) -> None:
        name = tokens[0].upper
        self._functions(statement, tokens, "=")
        total = tokens[1].text == "+" and self.conditional
        others = any(
            token.kind == "word" and token.upper != name and before.text != "."
            and token.upper not in self.words["functions"]
            for before, token in pairwise(tokens)
        )  # fmt: skip
        if others and (name in self.retained or total):
            self.review("carries", statement, tokens[0].text)

    def _functions(self, statement: SasStatement, tokens: _Tokens, name: str) -> None:
        """Functions that reach files or other records, or that no rule knows."""
        for before, (token, behind) in zip([None, *tokens], pairwise(tokens), strict=False):
            if token.kind != "word" or behind.text != "(" or token.upper in self.arrays:
                continue
            if before is not None and before.text in (".", "%"):
                continue
            if token.upper in self.words["picks"]:
                self.review("record", statement, token.upper)
            elif token.upper not in self.words["functions"] and before is not None:
                self.review("function", statement, name, part=token.upper)

    def _stop(
        self, kind: str, statement: SasStatement, tokens: _Tokens, name: str, reason: str = "",
        action: Action = Action.REFUSED, **filled: str,
    ) -> None:  # fmt: skip
        """Note a finding; what is refused is taken out."""
        self.say(kind, action, statement, name, reason=reason, **filled)
        if action is Action.REFUSED:
            self._take_out([(tokens[0].start, statement.end)], name, reason)

    def _take_out(self, spans: Sequence[tuple[int, int]], name: str, reason: str) -> None:
        """Make statements comments, each an empty statement, so that what is before still fits."""
        merged: list[tuple[int, int]] = []
        for start, end in spans:
            joins = merged and not self.text[merged[-1][1] : start].strip()
            merged.append((merged.pop()[0] if joins else start, end))
        for span in merged:
            after = f"/* {self.comment(span, '*')} */;"
            self.replace(span, after, "statement", name, Action.REFUSED, reason)


def _assigns(tokens: _Tokens, *, colon: bool = False) -> bool:
    """Whether a statement begins as `name =`, or `label :` does."""
    return len(tokens) > 2 and tokens[0].kind == "word" and tokens[1].text == ("=:"[colon])


def _glued(tokens: _Tokens, at: int) -> bool:
    """Whether a part of a word is known at run time only: ``proc p&p``."""
    joined = len(tokens) > at and tokens[at].kind in ("reference", "macro")
    return joined and tokens[at].start == tokens[at - 1].end


def _is_assignment(tokens: _Tokens) -> bool:
    """Whether a statement puts something into a variable, an array or an object."""
    if len(tokens) < 3 or tokens[0].kind not in ("word", "reference", "text"):
        return False
    if tokens[1].text in ("+", "[", "{", "."):
        return True
    if tokens[1].text == "(":
        at = 1 + len(parenthesis(tokens, 1))
        return at < len(tokens) and tokens[at].text in ("=", ".")
    return tokens[1].start == tokens[0].end and any(t.text == "=" for t in tokens[1:4])


def _options(tokens: _Tokens) -> Iterator[PackageToken]:
    value = False
    for token, depth in with_depths(tokens):
        if token.text in ("=", "."):
            value = True
        elif depth == 0 and token.kind in ("word", "reference", "macro") and not value:
            yield token
        elif depth == 0 and value and token.text not in (".", ":", "\\", "/"):
            value = False


def _spans_of(tokens: _Tokens, refused: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Where refused options stand, with what they are set to."""
    for at, token in enumerate(tokens):
        if token.kind == "word" and token.upper in refused:
            sets = len(tokens) > at + 2 and tokens[at + 1].text == "="
            behind = at + 2 if sets else at + 1
            end = tokens[at + 2].end if sets else token.end
            inside = parenthesis(tokens, behind)
            yield token.start, inside[-1].end if inside else end


def _data_sets(tokens: _Tokens) -> list[str]:
    names: list[str] = []
    before = ""
    for token, depth in with_depths(tokens):
        if token.text == "=":
            return names[:-1]
        if not depth and token.kind == "word":
            names.append(f"{names.pop()}.{token.upper}" if before == "." and names else token.upper)
        before = token.text
    return names


rewrite_sas = _SasProgram.rewrite
