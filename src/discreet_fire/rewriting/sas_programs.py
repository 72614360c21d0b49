"""SAS programs rewritten: procedures read what a safe macro lets through, others are comments.

In: the text of a program and a policy. Out: a `Rewriting`. A first reading follows values of data
in macro variables; a second one judges each statement. What no rule knows goes to review.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path

from discreet_fire.catalogue import Action, CommandRule, PackagePolicy
from discreet_fire.flow import grown
from discreet_fire.rewriting.changes import Language, Rewriting
from discreet_fire.rewriting.package_programs import PackageProgram
from discreet_fire.rewriting.sas_gates import copies_values, gated
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
_EXPRESSION = {"IF", "WHERE", "SELECT", "WHEN", "DO", "ASSIGN"}
_QUERIES = {"PROC", "SELECT", "CREATE", "DROP", "ALTER", "INSERT", "UPDATE", "DELETE", "RESET"}
#: A library is taken away, listed, or opened for reading only.
_ONLY_READS = {"CLEAR", "LIST", "READONLY"}


def rewrite_sas(
    text: str,
    policy: PackagePolicy | None = None,
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
    rules = policy or PackagePolicy.default("sas")
    program = _SasProgram(text=text, policy=rules, language=language, folder=folder)
    return program.rewritten(parse_sas)


@dataclass(kw_only=True)
class MacroValues:
    """Macro variables that hold values of the data."""

    functions: frozenset[str]  # functions of %sysfunc that give nothing of the data
    #: Their names in capitals; with a star behind it the beginning of names, maybe of all
    held: set[str] = field(default_factory=set)
    parameters: dict[str, list[str]] = field(default_factory=dict)

    def in_text(self, text: str, *, sure: bool = False) -> bool:
        """Whether a text refers to one of them, or to one that surely is, by its whole name."""
        return any(
            self.holds(name, sure=sure) or (len(signs) > 1 and bool(self.held) and not sure)
            for signs, name in _REFERENCE.findall(text)
        )

    def holds(self, name: str, *, sure: bool = False) -> bool:
        """Whether a macro variable holds values of the data."""
        upper = name.upper()
        stem = upper.rstrip("0123456789")
        begins = (one[-1:] == "*" and upper.startswith(one[:-1]) for one in self.held)
        return upper in self.held or (f"{stem}*" in self.held if sure else any(begins))

    def in_tokens(self, tokens: _Tokens, *, sure: bool = False) -> bool:
        """Whether one of the tokens does, or a function that reads data."""
        for at, token in enumerate(tokens):
            if token.kind == "reference" and self.in_text(token.text, sure=sure):
                return True
            double = token.kind == "text" and token.text.startswith('"')
            if double and self.in_text(token.text, sure=sure):
                return True
            if token.upper in ("%SYSFUNC", "%QSYSFUNC"):
                named = next(
                    (item for item in tokens[at + 1 : at + 4] if item.kind != "sign"), None
                )
                if named is None or named.upper not in self.functions:
                    return True
            if token.upper in ("%SUPERQ", "%SYMGET") and len(tokens) > at + 2:
                named = tokens[at + 2]
                if named.kind != "word" or self.holds(named.text):
                    return True
        return False

    def learn(self, statements: Sequence[SasStatement]) -> None:
        """Read what holds values of the data."""
        for one in statements:
            if one.first == "%MACRO" and len(one.tokens) > 1:
                inside = [t for t in one.tokens[2:] if t.kind == "word"]
                self.parameters[one.tokens[1].upper] = [t.upper for t in inside]
        given = [item for one in statements for item in self._given(one.tokens)]
        for names, tokens in given:
            self.held |= set(names) if tokens is None else set()
        grown(self.held, given, self.in_tokens)

    def _given(self, tokens: _Tokens) -> Iterator[tuple[list[str], _Tokens | None]]:
        """Names with what they are given; None for values of the data."""
        for at, token in enumerate(tokens):
            upper, rest = token.upper, tokens[at + 1 :]
            if upper in ("SYMPUT", "SYMPUTX", "SYMPUTN") and len(rest) > 2:
                text = rest[1].text.strip("'\"").strip().upper()
                known = rest[1].kind == "text" and "&" not in text and text
                # "n" || left(i)
                yield [text if known and rest[2].text == "," else f"{text if known else ''}*"], None
            elif upper == "INTO":
                for first, second in pairwise(rest):
                    if first.upper == "FROM":
                        break
                    if first.text == ":" and second.kind == "word":
                        yield [second.upper, f"{second.upper.rstrip('0123456789')}*"], None
                    elif first.text == ":":
                        yield ["*"], None
            elif upper == "%LET" and any(one.text == "=" for one in rest[1:]):
                equals = next(n for n, one in enumerate(rest) if one.text == "=")
                name = rest[0].upper if rest[0].kind == "word" else ""
                yield [name if name and equals == 1 else f"{name}*"], rest[equals + 1 :]
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
        self.opening: SasStatement | None = None
        self.inside: list[tuple[SasStatement, _Tokens]] = []
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
            tokens = self._unwrapped(statement)
            if tokens:
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
        for name in _CALL.findall(text):
            rule = self.rules.get(f"MACRO {name.upper()}")
            unknown = rule is None and name.upper() not in self.words["macros"]
            if unknown or name.upper() in ("PUT", "SYSEXEC", "INCLUDE", "INC"):
                self.review("runtime", statement, f"%{name}")
        if self.in_macro and text.count("'") % 2:
            self.review("quotes", statement, "*")

    # ------------------------------------------------------------------ macro language

    def _unwrapped(self, statement: SasStatement) -> _Tokens:
        """The tokens behind what the macro language puts before a statement."""
        tokens: _Tokens = statement.tokens
        for _ in range(40):
            if not tokens or tokens[0].kind != "macro":
                break
            name = tokens[0].upper[1:]
            if len(tokens) > 1 and tokens[1].text == ":":
                tokens = tokens[2:]  # the goal of %goto
            elif name == "IF":
                at = next((n for n, t in enumerate(tokens) if t.upper == "%THEN"), len(tokens))
                if self.values.in_tokens(tokens[:at], sure=True):
                    self.review("decides", statement, "%IF")
                tokens, self.conditional = tokens[at + 1 :], True
            elif name in ("ELSE", "THEN"):
                tokens, self.conditional = tokens[1:], True
            elif f"MACRO {name}" in self.rules:
                self._macro_statement(statement, tokens, name)
                return ()
            else:
                tokens = self._macro_call(statement, tokens)
        if tokens and tokens[0].text == "*":
            return ()
        if tokens and tokens[0].kind == "reference":
            self.review("runtime", statement, tokens[0].text)
            return ()
        return tokens

    def _macro_call(self, statement: SasStatement, tokens: _Tokens) -> _Tokens:
        name = tokens[0].upper[1:]
        inside = parenthesis(tokens, 1)
        rest = tokens[1 + len(inside) :]
        if name in ("STR", "NRSTR") and not rest:
            ends = groupby(inside[1:-1], lambda token: token.text == ";")
            for part in (tuple(some) for end, some in ends if not end):
                remainder = SasStatement(
                    tokens=part, start=part[0].start, end=part[-1].end, comment=False
                )
                if left := self._unwrapped(remainder):
                    self._judge(remainder, left)
            return ()
        if name not in self.values.parameters and name not in self.words["macros"]:
            self.review("unknown", statement, tokens[0].text)
        elif name in self.words["macros"] and name not in ("STR", "NRSTR"):
            self.review("runtime", statement, tokens[0].text)
        if any(t.upper in ("PROC", "PUT", "%PUT") for t in inside) or (
            name in ("STR", "NRSTR", "UNQUOTE") and inside
        ):
            self.review("text", statement, tokens[0].text)
        if rest and rest[0].text in ("=", "."):
            return ()
        return rest

    def _macro_statement(self, statement: SasStatement, tokens: _Tokens, name: str) -> None:
        rule = self.rules[f"MACRO {name}"]
        if rule.action is not Action.ALLOWED:
            self._stop("reason", statement, tokens, f"%{name}", rule.reason, rule.action)
        elif name in ("INCLUDE", "INC"):
            self._include(statement, tokens)
        elif name == "PUT":
            listed = any(t.upper in ("_ALL_", "_USER_", "_GLOBAL_", "_LOCAL_") for t in tokens)
            unknown = self._unknown_macro(tokens[1:])
            if (listed and self.values.held) or self.values.in_tokens(tokens) or unknown:
                self._stop("shown", statement, tokens, "%PUT", rule.reason)
        elif name in ("GOTO", "SYMDEL", "GLOBAL", "LOCAL") and self.values.in_tokens(tokens[1:]):
            self.review("holds", statement, f"%{name}")
        elif name == "DO" and self.values.in_tokens(tokens, sure=True):
            self.review("decides", statement, "%DO")
        elif name == "LET" and (
            self._unknown_macro(tokens[1:]) or any(t.text == ";" for t in tokens)
        ):
            self.review("text", statement, "%LET")
        self.in_macro += {"MACRO": 1, "MEND": -1}.get(name, 0)

    def _unknown_macro(self, tokens: _Tokens) -> bool:
        known = self.words["macros"] | set(self.values.parameters)
        return any(
            t.kind == "macro"
            and t.upper[1:] not in known
            and f"MACRO {t.upper[1:]}" not in self.rules
            for t in tokens
        )

    def _include(self, statement: SasStatement, tokens: _Tokens) -> None:
        texts = [token for token in tokens if token.kind == "text"]
        plain = len(tokens) == 2 and len(texts) == 1 and "&" not in texts[0].text
        name = self.called("%INCLUDE", (texts[0].start, texts[0].end)) if plain else None
        if name is None:
            self._stop("called", statement, tokens, "%INCLUDE")
            return
        sign = texts[0].text[0]
        place = (texts[0].start, texts[0].end)
        self.replace(place, f"{sign}{name}{sign}", "call", "%INCLUDE", Action.WRAPPED, "")

    # ------------------------------------------------------------------ steps

    def _judge(self, statement: SasStatement, tokens: _Tokens) -> None:
        first = tokens[0].upper
        match = _GLOBAL_WORD.match(first)
        plain = match.group(1) if match else first
        if first == "PROC":
            self._open(statement, tokens)
        elif first == "DATA" and not (len(tokens) > 1 and tokens[1].text == "="):
            self._open_data(statement, tokens)
        elif first in ("RUN", "QUIT") and len(tokens) <= 2:
            self._close(statement)
        elif (
            (rule := self.rules.get(f"GLOBAL {plain}")) is not None
            and not _assigns(tokens)
            and (self.step != "DATA" or plain != "MISSING")
        ):
            self._global_statement(statement, tokens, rule)
        elif self.step.startswith("PROC "):
            self.inside.append((statement, tokens))
            shown = first in ("LABEL", "VALUE", "TITLE", "FOOTNOTE")
            if self.values.in_tokens(tokens, sure=not shown):
                self.review("shown" if shown else "holds", statement, self.step)
        else:
            self._in_data(statement, tokens)

    def _global_statement(
        self, statement: SasStatement, tokens: _Tokens, rule: CommandRule
    ) -> None:
        name = rule.name.removeprefix("GLOBAL ")
        action, word = rule.action, ""
        if name in ("OPTIONS", "OPTION"):
            action, word = self._of_words(rule, "OPTIONS", tokens[1:])
        elif name == "ODS":
            words = [token for token in tokens[1:] if token.kind in ("word", "macro", "reference")]
            action, word = Action.REVIEW, "ODS"
            if words:
                action, word = self._of_words(rule, words[0].upper, words[1:])
        elif name == "LIBNAME" and {t.upper for t in tokens if t.kind == "word"} & _ONLY_READS:
            action = Action.ALLOWED
        shown = name in ("TITLE", "FOOTNOTE")
        if self.values.in_tokens(tokens, sure=not shown) and action is not Action.REFUSED:
            if shown:
                self._stop("shown", statement, tokens, name, rule.reason)
            else:
                self.review("holds", statement, name)
            return
        self.review_network(statement, name, tokens)
        if action is Action.ALLOWED:
            return
        kind = "part-unknown" if word and action is Action.REVIEW else "part" if word else "reason"
        self._stop(kind, statement, tokens, name, rule.reason, action, part=word)

    def _of_words(self, rule: CommandRule, part: str, tokens: _Tokens) -> tuple[Action, str]:
        """What the words of a part of a rule say; the strictest counts."""
        assert rule.parts is not None
        if (one := rule.parts.get(part)) is None:
            return Action.REVIEW, part
        action, word = one.verdict([token.upper for token in _options(tokens)])
        return action, word or part

    def _open(self, statement: SasStatement, tokens: _Tokens) -> None:
        self._close(statement)
        name = tokens[1].upper if len(tokens) > 1 and tokens[1].kind == "word" else ""
        adjacent = len(tokens) > 2 and tokens[2].kind in ("reference", "macro")
        self.opening, self.inside = statement, [(statement, tokens)]
        if not name or (adjacent and tokens[2].start == tokens[1].end):
            self.review("runtime", statement, "PROC")
            self.step = "PROC ?"
            return
        self.step = f"PROC {name}"
        rule = self.rules.get(self.step)
        if rule is None:
            self.review("unknown", statement, self.step)
        elif rule.action is Action.REVIEW:
            self.review("reason", statement, self.step, reason=rule.reason)
        if self.values.in_tokens(tokens, sure=True):
            self.review("holds", statement, self.step)

    def _open_data(self, statement: SasStatement, tokens: _Tokens) -> None:
        self._close(statement)
        self.step, self.opening = "DATA", statement
        self.arrays, self.retained, self.outputs = set(), set(), set()
        if any(token.kind == "text" for token in tokens):
            self.review("network", statement, "DATA")
        if any(token.upper in ("PGM", "DEBUG", "STACK") for token in tokens[1:] if "/" in
               [t.text for t in tokens]):  # fmt: skip
            self.review("runtime", statement, "DATA")
        if self.values.in_tokens(tokens, sure=True):
            self.review("holds", statement, "DATA")

    def _close(self, statement: SasStatement | None) -> None:
        """A step ends: what its procedure shows is judged as a whole."""
        step, inside = self.step, self.inside
        self.step, self.inside, opening = "", [], self.opening
        self.opening = None
        if opening is None or not step.startswith("PROC "):
            return
        rule = self.rules.get(step)
        if rule is None:
            return
        if rule.action is Action.REFUSED:
            self.say("reason", Action.REFUSED, opening, step, reason=rule.reason)
            spans = [(t[0].start, one.end) for one, t in inside]
            if statement is not None and statement.first in ("RUN", "QUIT"):
                spans.append((statement.start, statement.end))
            self._take_out(spans, step, rule.reason)
        elif step == "PROC SQL":
            self._queries(inside)
        elif rule.action in (Action.WRAPPED, Action.ALLOWED) and rule.parts is not None:
            self._parts(rule, inside, opening)

    def _parts(
        self,
        rule: CommandRule,
        inside: list[tuple[SasStatement, _Tokens]],
        opening: SasStatement,
    ) -> None:
        """Statements and options of a procedure; one that shows figures gets its gate."""
        assert rule.parts is not None
        refused: list[tuple[int, int]] = []
        for statement, tokens in inside:
            name = "PROC" if statement is opening else tokens[0].upper
            if name not in rule.parts and _assigns(tokens, colon=True):
                name = tokens[2].upper  # label: model y = x
            before = 2 if name == "PROC" else len(split_at(tokens, "/")[0]) + 1
            behind = tokens[before:]
            action, word = self._of_words(rule, name, behind)
            whole = rule.parts.get(name)
            if action is Action.REVIEW:
                self.review("part-unknown", statement, rule.name, part=word)
            elif action is Action.REFUSED:
                self.say("part", Action.REFUSED, statement, rule.name, part=word)
                if whole is not None and whole.action is Action.ALLOWED and rule.gate != "free":
                    refused += _spans_of(behind, whole.refused)
                else:
                    self._take_out([(tokens[0].start, statement.end)], rule.name, "")
                    continue
            if name in ("WEIGHT", "FREQ") and self._makes(tokens[1:2]):
                self.review("picks", statement, name)
            if name == "OUTPUT" or "OUT" in {t.upper for t in behind}:
                single = [t for t in tokens[1:] if t.upper in self.words["single"]]
                bare = rule.name in ("PROC MEANS", "PROC SUMMARY") and name == "OUTPUT" and not any(
                    t.text == "=" and n > 3 for n, t in enumerate(tokens))  # fmt: skip
                if (single and name == "OUTPUT") or bare:
                    self.review("picks", statement, rule.name)
        if rule.gate == "free":
            return
        gone = self.spans
        kept = [(one, t) for one, t in inside if (t[0].start, one.end) not in gone]
        kind = gated(self, rule, kept, refused)
        if kind:
            self.say(kind, Action.REFUSED, opening, rule.name)
            spans = [(t[0].start, one.end) for one, t in inside]
            self._take_out(spans, rule.name, rule.reason)

    def _makes(self, names: _Tokens) -> bool:
        wanted = {token.upper for token in names}
        pairs = (pair for one in self.statements for pair in pairwise(one.tokens))
        return any(
            (a.upper in wanted and b.text in ("=", "+")) or (a.upper == "AS" and b.upper in wanted)
            for a, b in pairs
        )

    def _queries(self, inside: list[tuple[SasStatement, _Tokens]]) -> None:
        """A query shows its rows, unless it makes a table or macro variables."""
        silent = any(token.upper == "NOPRINT" for token in inside[0][1])
        for statement, tokens in inside:
            first = tokens[0].upper
            words = {token.upper for token in tokens}
            shows = first in ("SELECT", "DESCRIBE", "(") or (first == "CREATE" and "INTO" in words)
            if first == "RESET":
                silent = silent and "PRINT" not in words
            if shows and not silent:
                reason = self.rules["PROC SQL"].reason
                self._stop("reason", statement, tokens, "PROC SQL", reason)
            elif first not in _QUERIES:
                self.review("part-unknown", statement, "PROC SQL", part=first[:30])
            elif first in ("CREATE", "INSERT", "UPDATE") and (
                words & self.words["single"] or copies_values(tokens, self.words["summaries"])
            ):
                self.review("picks", statement, "PROC SQL")
            self._functions(statement, tokens, "PROC SQL")

    # ------------------------------------------------------------------ data step

    def _in_data(self, statement: SasStatement, tokens: _Tokens) -> None:
        shown = tokens[0].upper == "LABEL"
        if self.values.in_tokens(tokens, sure=not shown):
            self.say("shown" if shown else "holds", Action.REVIEW, statement, tokens[0].upper[:30])
        for _ in range(40):
            first = tokens[0].upper
            if first == "IF" and (at := _at_word(tokens, "THEN")) is not None:
                self._functions(statement, tokens[:at], "IF")
                tokens, self.conditional = tokens[at + 1 :], True
            elif first in ("ELSE", "OTHERWISE"):
                tokens, self.conditional = tokens[1:], True
            elif first == "WHEN" and len(tokens) > 1 and tokens[1].text == "(":
                tokens = tokens[1 + len(parenthesis(tokens, 1)) :]
                self.conditional = True
            elif len(tokens) > 1 and tokens[1].text == ":" and tokens[0].kind == "word":
                tokens = tokens[2:] if tokens[2:3] and tokens[2].text != "*" else ()
            else:
                break
            if not tokens:
                return
            if tokens[0].kind == "macro":
                rest = SasStatement(tokens=tuple(tokens), start=statement.start,
                                    end=statement.end, comment=False)  # fmt: skip
                tokens = self._unwrapped(rest)
                if not tokens:
                    return
        self._data_statement(statement, tokens)

    def _data_statement(self, statement: SasStatement, tokens: _Tokens) -> None:
        first = tokens[0].upper
        glued = (
            a.kind in ("text", "number") or (a.text == "." and before.kind != "word")
            for before, a, b in zip(tokens, tokens[1:], tokens[2:], strict=False)
            if b.kind == "word" and a.end == b.start
        )
        if first == "IF" and any(glued):  # ``if x=.athen …``: a word may begin anywhere
            self.review("unknown", statement, first)
        rule = self.rules.get(f"DATA {first}")
        joined = len(tokens) > 1 and tokens[1].kind in ("reference", "macro") and (
            tokens[1].start == tokens[0].end)  # fmt: skip
        if _assigns(tokens) or (rule is None and _is_assignment(tokens)):
            self._assignment(statement, tokens)
        elif rule is None or joined:
            self.review("unknown", statement, first[:30])
        elif rule.action is not Action.ALLOWED:
            self._stop("reason", statement, tokens, first, rule.reason, rule.action)
            if first in ("UPDATE", "MODIFY"):
                self.review("picks", statement, first)
        else:
            self._allowed_data(statement, tokens, first)

    def _allowed_data(self, statement: SasStatement, tokens: _Tokens, first: str) -> None:
        words = [token for token in tokens[1:] if token.kind == "word"]
        if first == "ARRAY" and words:
            self.arrays.add(words[0].upper)
        elif first == "RETAIN":
            self.retained |= {word.upper for word in words}
        elif first == "OUTPUT":
            target = " ".join(token.upper for token in tokens[1:])
            if not self.conditional and target in self.outputs:
                self.review("twice", statement, "OUTPUT")
            self.outputs |= set() if self.conditional else {target}
        elif first == "SET":
            names = [word.upper for word in words]
            if any(word in ("POINT", "KEY") for word in names):
                self.review("record", statement, "SET")
            sets = _data_sets(tokens[1:])
            if self.conditional or len(set(sets)) < len(sets):
                self.review("picks", statement, "SET")
        elif first == "MERGE" or any(word.upper in ("HASH", "HITER") for word in words[:1]):
            self.review("picks", statement, first)
        elif first == "CALL":
            self._routine(statement, tokens)
        elif first in ("INFILE", "DECLARE", "DCL"):
            self.review_network(statement, first, tokens)
            if any(word.upper in ("PIPE", "FILEVAR", "URL", "EMAIL") for word in words):
                self.review("network", statement, first)
        if first in _EXPRESSION:
            self._functions(statement, tokens, first)

    def _routine(self, statement: SasStatement, tokens: _Tokens) -> None:
        name = tokens[1].upper if len(tokens) > 1 else ""
        named = tokens[3] if len(tokens) > 3 else None
        if name.startswith("SYMPUT") and (named is None or named.kind != "text"):
            self.review("text", statement, "CALL SYMPUT")
        if name not in self.words["routines"]:
            self._stop("function", statement, tokens, "CALL", part=name or "?")

    def _assignment(self, statement: SasStatement, tokens: _Tokens) -> None:
        name = tokens[0].upper
        self._functions(statement, tokens, "=")
        total = len(tokens) > 1 and tokens[1].text == "+"
        others = [
            token for a, token in pairwise(tokens)
            if token.kind == "word" and token.upper != name and a.text != "."
            and token.upper not in self.words["functions"]
        ]  # fmt: skip
        if others and (name in self.retained or (total and self.conditional)):
            self.review("carries", statement, tokens[0].text)

    def _functions(self, statement: SasStatement, tokens: _Tokens, name: str) -> None:
        """Functions that reach files or other records, or that no rule knows."""
        for before, (token, behind) in zip([None, *tokens], pairwise(tokens), strict=False):
            if token.kind != "word" or behind.text != "(" or token.upper in self.arrays:
                continue
            if before is not None and before.text in (".", "%"):
                continue
            upper = token.upper
            if upper in self.words["picks"]:
                self.review("record", statement, upper)
            elif upper not in self.words["functions"] and token is not tokens[0]:
                self.review("function", statement, name, part=upper)

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


def _is_assignment(tokens: _Tokens) -> bool:
    """Whether a statement puts something into a variable, an array or an object."""
    if len(tokens) < 3 or tokens[0].kind not in ("word", "reference", "text"):
        return False
    if tokens[1].text in ("+", "[", "{", "."):
        return True
    if tokens[1].kind in ("reference", "word") and any(t.text == "=" for t in tokens[1:4]):
        return tokens[1].start == tokens[0].end
    if tokens[1].text == "(":
        at = 1 + len(parenthesis(tokens, 1))
        return at < len(tokens) and tokens[at].text in ("=", ".")
    return False


def _at_word(tokens: _Tokens, word: str) -> int | None:
    return next((n for n, token in enumerate(tokens) if token.upper == word), None)


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


def _spans_of(tokens: _Tokens, refused: frozenset[str]) -> list[tuple[int, int]]:
    """Where refused options stand, with what they are set to."""
    spans = []
    for at, token in enumerate(tokens):
        if token.upper in refused and token.kind == "word":
            end = token.end
            if len(tokens) > at + 2 and tokens[at + 1].text == "=":
                end = tokens[at + 2].end
                if tokens[at + 2].text == "(":
                    end = parenthesis(tokens, at + 2)[-1].end
            elif len(tokens) > at + 1 and tokens[at + 1].text == "(":
                end = parenthesis(tokens, at + 1)[-1].end
            spans.append((token.start, end))
    return spans


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
