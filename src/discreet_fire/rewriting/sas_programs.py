"""SAS programs rewritten: procedures read what a safe macro lets through, others are comments.

In: the text of a program and a policy. Out: a `Rewriting`. A first reading follows values of data
in macro variables; a second one judges each statement. What no rule knows goes to review, and so
does what is known at run time only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from discreet_fire.catalogue import Action, CommandRule, ScriptPolicy
from discreet_fire.flow import grown
from discreet_fire.rewriting.changes import Language, PackageProgram, Rewriting
from discreet_fire.rewriting.sas_gates import Clause, copies_values, gated
from discreet_fire.scripts import (
    PackageToken,
    SasStatement,
    parenthesis,
    parse_sas,
    split_at,
)

_Tokens = Sequence[PackageToken]
_REFERENCE = re.compile(r"(&+)([A-Za-z_]\w*)")
_CALL = re.compile(r"%([A-Za-z_]\w*)")
_GLOBAL_WORD = re.compile(r"^(TITLE|FOOTNOTE|SYMBOL|AXIS|LEGEND|PATTERN)\d*$")
_EXPRESSION = {"IF", "WHERE", "SELECT", "WHEN", "DO"}
_QUERIES = {"PROC", "SELECT", "CREATE", "DROP", "ALTER", "INSERT", "UPDATE", "DELETE", "RESET"}
_LISTS = {"_ALL_", "_USER_", "_GLOBAL_", "_LOCAL_"}
#: A library is taken away, listed, or opened for reading only.
_ONLY_READS = {"CLEAR", "LIST", "READONLY"}
#: What stands before a statement that runs only under a condition, and where that ends.
_CONDITIONS = {"%IF": "%THEN", "IF": "THEN"}
_FOLLOWS = ("%ELSE", "%THEN", "ELSE", "OTHERWISE")
_MOST_PREFIXES = 40


def rewrite_sas(
    text: str,
    policy: ScriptPolicy | None = None,
    *,
    language: Language = "en",
    folder: Path | None = None,
) -> Rewriting:
    r"""Rewrite the text of one SAS program.

    >>> print(rewrite_sas("proc print data=a; run;\ndata b; set a; run;\n").text)
    /* FDZ: not permitted in remote execution: proc print data=a; run; */;
    data b; set a; run;
    >>> print(rewrite_sas("proc means data=a min mean; var x; run;").text)
    %fire_gate(kind=table, data=a, values=x);
    proc means data=work._fire_data mean; var x; run;
    """
    rules = policy or ScriptPolicy.default("sas")
    program = _SasProgram(text=text, policy=rules, language=language, folder=folder)
    return program.rewritten(parse_sas)


@dataclass(kw_only=True)
class MacroValues:
    """Macro variables that hold values of the data."""

    functions: frozenset[str]  # functions of %sysfunc that give nothing of the data
    held: set[str] = field(default_factory=set)  # in capitals; a star stands for any end
    parameters: dict[str, list[str]] = field(default_factory=dict)

    def in_text(self, text: str) -> bool:
        """Whether a text refers to one of them."""
        return any(
            self.holds(name) or (len(signs) > 1 and self._may_mean("" if signs[2:] else name))
            for signs, name in _REFERENCE.findall(text)
        )

    def _may_mean(self, begun: str) -> bool:
        """Whether a name with this beginning, as in ``&&v&i``, may be that of one of them."""
        return any(name.startswith(begun.upper()) for name in self.held)

    def holds(self, name: str) -> bool:
        """Whether a macro variable holds values of the data."""
        upper = name.upper()
        begun = (one[:-1] for one in self.held if len(one) > 1 and one[-1] == "*")
        return upper in self.held or any(map(upper.startswith, begun))

    def in_tokens(self, tokens: _Tokens) -> bool:
        """Whether one of the tokens does, or a function that reads data."""
        for at, token in enumerate(tokens):
            behind = [item for item in tokens[at + 1 : at + 4] if item.kind != "sign"]
            expands = token.kind == "reference" or token.text[:1] == '"'
            if expands and self.in_text(token.text):
                return True
            named = behind[0] if behind else token
            if token.upper in ("%SYSFUNC", "%QSYSFUNC") and named.upper not in self.functions:
                return True
            named_here = token.upper in ("%SUPERQ", "%SYMGET") and named is not token
            if named_here and (named.kind != "word" or self.holds(named.text)):
                return True
        return False

    def learn(self, statements: Sequence[SasStatement]) -> None:
        """Read what holds values of the data."""
        for one in statements:
            if one.first == "%MACRO" and len(one.tokens) > 1:
                inside = [t for t in one.tokens[2:] if t.kind == "word"]
                self.parameters[one.tokens[1].upper] = [t.upper for t in inside]
        bound = [item for one in statements for item in self._bound_by(one.tokens)]
        for names, tokens in bound:
            self.held |= set(names) if tokens is None else set()
        grown(self.held, bound, self.in_tokens)

    def _bound_by(self, tokens: _Tokens) -> Iterator[tuple[list[str], _Tokens | None]]:
        """Names with what they are bound to; None for values of the data."""
        for at, token in enumerate(tokens):
            upper, rest = token.upper, tokens[at + 1 :]
            if upper in ("SYMPUT", "SYMPUTX", "SYMPUTN") and len(rest) > 2:
                text = rest[1].text.strip("'\"").strip().upper()
                # "n" || left(i)
                yield [text if rest[2].text == "," else f"{text}*"], None
            elif upper == "INTO":
                into = split_at(rest, "FROM")[0]
                for first, second in pairwise(into):
                    if first.text == ":":
                        yield [second.upper, f"{second.upper.rstrip('0123456789')}*"], None
            elif upper == "%LET" and any(one.text == "=" for one in rest[1:]):
                equals = next(n for n, one in enumerate(rest) if one.text == "=")
                name = rest[0].upper if rest[0].kind == "word" else ""
                yield [name if equals == 1 else f"{name}*"], rest[equals + 1 :]
            elif upper == "%DO" and len(rest) > 1:
                yield [rest[0].upper], rest[1:]
            elif token.kind == "macro" and upper[1:] in self.parameters:
                yield self.parameters[upper[1:]], parenthesis(tokens, at + 1)


class _SasProgram(PackageProgram[SasStatement]):
    """Judges the statements of a program, step by step."""

    def judge(self, statements: Sequence[SasStatement]) -> None:
        """Note all that is to be said and changed."""
        self.rules, self.words = self.policy.rules, self.policy.words
        self.statements = statements
        self.values = MacroValues(functions=self.words["plain"])
        self.values.learn(statements)
        self.step = ""
        #: Statements of the procedure that is open.
        self.inside: list[Clause] = []
        self.arrays: set[str] = set()
        self.retained: set[str] = set()
        self.outputs: set[str] = set()
        self.conditional = False
        self.in_macro = 0
        for statement in statements:
            if statement.comment:
                self._comment(statement)
                continue
            self.check_reserved(statement)
            self.conditional = False
            self._system_functions(statement)
            if tokens := self._without_prefixes(statement):
                self._judge(statement, tokens)
        self._close(None)

    def _system_functions(self, statement: SasStatement) -> None:
        """Functions that the macro language runs, and that may do more than give a text."""
        known = self.words["plain"] | self.words["readers"] | self.words["functions"]
        for at, token in enumerate(statement.tokens):
            if token.upper in ("%SYSFUNC", "%QSYSFUNC"):
                name = next((t.upper for t in statement.tokens[at + 2 : at + 3]), "?")
                if name not in known:
                    self.review("function", statement, token.upper, part=name)

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
                if name == "%IF" and self.values.in_tokens(condition):
                    self.review("decides", statement, name)
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
        if name not in self.values.parameters:
            known = name in self.words["macros"]
            self.review("runtime" if known else "unknown", statement, tokens[0].text)
        if any(t.upper in ("PROC", "PUT", "%PUT") for t in inside):
            self.review("text", statement, tokens[0].text)
        return () if rest and rest[0].text in ("=", ".") else rest

    def _macro_statement(self, statement: SasStatement, tokens: _Tokens, name: str) -> None:
        rule = self.rules[f"MACRO {name}"]
        holds = self.values.in_tokens(tokens[1:])
        if rule.action is not Action.ALLOWED:
            self._stop("reason", statement, tokens, f"%{name}", rule.reason, rule.action)
        elif name in ("INCLUDE", "INC"):
            self._include(statement, tokens)
        elif name == "PUT":
            listed = any(t.upper in _LISTS for t in tokens) and bool(self.values.held)
            if listed or holds or self._unknown_macro(tokens[1:]):
                self._stop("shown", statement, tokens, "%PUT", rule.reason)
        elif name in ("GOTO", "SYMDEL", "GLOBAL", "LOCAL") and holds:
            self.review("holds", statement, f"%{name}")
        elif name == "DO" and holds:
            self.review("decides", statement, "%DO")
        elif name == "LET":
            ends = any(t.text == ";" for t in tokens)
            if ends or self._unknown_macro(tokens[1:]):
                self.review("text", statement, "%LET")
        self.in_macro += {"MACRO": 1, "MEND": -1}.get(name, 0)

    def _unknown_macro(self, tokens: _Tokens) -> bool:
        known = self.words["macros"] | set(self.values.parameters)
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
        match = _GLOBAL_WORD.match(first)
        rule = self.rules.get(f"GLOBAL {match.group(1) if match else first}")
        assigns = _assigns(tokens)
        if first in ("PROC", "DATA") and not (first == "DATA" and assigns):
            self._open(statement, tokens)
        elif first in ("RUN", "QUIT") and len(tokens) <= 2:
            self._close(statement)
        elif rule is not None and not assigns and (self.step, first) != ("DATA", "MISSING"):
            self._global_statement(statement, tokens, rule)
        elif self.step.startswith("PROC "):
            self.inside.append(Clause(tokens, statement))
            if self.values.in_tokens(tokens):
                shown = first in ("LABEL", "VALUE", "TITLE", "FOOTNOTE")
                self.review("shown" if shown else "holds", statement, self.step)
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
        if self.values.in_tokens(tokens) and action is not Action.REFUSED:
            if name in ("TITLE", "FOOTNOTE"):
                self._stop("shown", statement, tokens, name, rule.reason)
            else:
                self.review("holds", statement, name)
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
        if self.values.in_tokens(tokens):
            self.review("holds", statement, self.step)
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
            if name in ("WEIGHT", "FREQ") and self._makes(one.tokens[1:2]):
                self.review("picks", one.statement, name)
            if name == "OUTPUT":
                single = any(t.upper in self.words["single"] for t in one.tokens[1:])
                named = any(t.text == "=" for t in one.tokens[4:])
                if single or (rule.name in ("PROC MEANS", "PROC SUMMARY") and not named):
                    self.review("picks", one.statement, rule.name)
        kind = "" if rule.gate == "free" else gated(self, rule, kept, refused)
        if kind:
            self.say(kind, Action.REFUSED, inside[0].statement, rule.name)
            self._take_out([one.span for one in inside], rule.name, rule.reason)

    def _makes(self, names: _Tokens) -> bool:
        wanted = {token.upper for token in names}
        pairs = (pair for one in self.statements for pair in pairwise(one.tokens))
        return any(
            (a.upper in wanted and b.text in ("=", "+")) or (a.upper == "AS" and b.upper in wanted)
            for a, b in pairs
        )

    def _queries(self, inside: list[Clause]) -> None:
        """A query shows its rows, unless it makes a table or macro variables."""
        silent = any(token.upper == "NOPRINT" for token in inside[0].tokens)
        for one in inside:
            words = {token.upper for token in one.tokens}
            shows = one.name in ("SELECT", "DESCRIBE", "(")
            shows = shows or (one.name == "CREATE" and "INTO" in words)
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

    # ------------------------------------------------------------------ data step

    def _data_statement(self, statement: SasStatement, tokens: _Tokens) -> None:
        first = tokens[0].upper
        if self.values.in_tokens(tokens):
            self.review("shown" if first == "LABEL" else "holds", statement, first[:30])
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
            self._routine(statement, tokens)
        elif first in ("INFILE", "DECLARE", "DCL"):
            self.review_network(statement, first, tokens)
            if {"PIPE", "FILEVAR", "URL", "EMAIL"} & {*words}:
                self.review("network", statement, first)
        if first in _EXPRESSION:
            self._functions(statement, tokens, first)

    def _routine(self, statement: SasStatement, tokens: _Tokens) -> None:
        name = tokens[1].upper if len(tokens) > 1 else ""
        if name.startswith("SYMPUT") and [t.kind for t in tokens[3:4]] != ["text"]:
            self.review("text", statement, "CALL SYMPUT")
        if name not in self.words["routines"]:
            self._stop("function", statement, tokens, "CALL", part=name or "?")

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
        merged = [spans[0]]
        for span in spans[1:]:
            if self.text[merged[-1][1] : span[0]].strip():
                merged.append(span)
            else:
                merged[-1] = (merged[-1][0], span[1])
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
    depth, value = 0, False
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
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
    depth, before = 0, ""
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "=":
            return names[:-1]
        if not depth and token.kind == "word":
            names.append(f"{names.pop()}.{token.upper}" if before == "." and names else token.upper)
        before = token.text
    return names
