"""What becomes of each statement of a do-file.

In: statements and a policy. Out: decisions: words to replace or to put in, statements to
comment out, and what an officer must look at. Graphs with several plots, tables of estimates
and placeholders are looked at one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from discreet_fire.catalogue import (
    SAFE,
    Action,
    CommandRule,
    Policy,
    commands_with,
    strictest,
    values_of,
)
from discreet_fire.findings import Severity
from discreet_fire.flow import UNTOUCHED, pieces, without_macros
from discreet_fire.stata import TEXT_RUNNERS, DoStatement, Kind, Reading, Why, Word, parse_do

_FILED = re.compile(r"\b(?:us(?:ing?)?|mat\w*)\b|\b[re]\(|[`$]")


def only_in_log(statement: DoStatement) -> bool:
    """Whether a table of models goes to the log, which is cleaned, and to no file.

    >>> only_in_log(parse_do("esttab m1 m2, se").statements[0])
    True
    >>> only_in_log(parse_do("esttab m1 using a.tex, se").statements[0])
    False
    """
    if statement.canonical not in TABLES:
        return False
    return _FILED.search(statement.source, statement.body, statement.end) is None


#: Signs that part plots, and words with the bracket of an option behind them.
_PLOT_PARTS = re.compile(r"(\|\||[(),])|([A-Za-z]\w*)(\s?\()?")
_WITH_PLOT = ("recast", "ciplot", "fitplot", "plot", "addplot")

#: Tables of stored results, with the options that name these.
TABLES = commands_with("table")
_CELLS = re.compile(r"\b(?:c(?:e|el|ell|ells)?|main|aux)\s*\(")
_EXTREMES = re.compile(r"\b(?:min|max|p1|p5|p95|p99|range)\b")


def shows_extremes(statement: DoStatement, at: int) -> bool:
    """Whether a table of stored results has smallest or largest values in its cells."""
    text = statement.source[at : statement.end]
    for option in _CELLS.finditer(text):
        depth, end = 1, option.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        if _EXTREMES.search(text, option.end(), end):
            return True
    return False


def plots_of(outside: str) -> list[str]:
    """The kinds of plots that `twoway` lays over each other, strings and comments blanked.

    They stand at its start, behind ``||``, in brackets of their own before its options, and in
    the few options that take one. All other words are variables, or titles without quotes.

    >>> plots_of(" (line y x, by(g)) (bar y x) || lfit y x, title(Scatter) addplot(area y x)")
    ['line', 'bar', 'lfit', 'area']
    """
    plots = []
    depth, options, starts = 0, False, True
    for part in _PLOT_PARTS.finditer(without_macros(outside)):  # they may be empty
        sign, word, bracket = part.groups()
        if sign == "||":
            starts, options = True, options and depth > 0
        elif sign == ",":
            options, starts = options or depth == 0, False
        elif sign == ")":
            depth = max(depth - 1, 0)
            starts = depth == 0 and not options
        elif sign == "(":
            depth, starts = depth + 1, starts or (depth == 0 and not options)
        elif word is not None:
            if starts:
                plots.append(word)
            starts = bool(bracket) and word in _WITH_PLOT
            depth += bool(bracket)
    return plots


def names_no_command(statement: DoStatement) -> bool:
    """Whether something stands behind prefixes that is no command, and no comment."""
    if statement.kind is not Kind.COMMAND or statement.command is not None:
        return False
    last = statement.prefixes[-1]
    at = max(last.end, last.colon or 0, last.arguments[1] if last.arguments else 0)
    if any(kind == "string" and start >= at for kind, start, _ in statement.spans):
        return True
    rest = pieces(statement, at, statement.end)[0].strip(" \t\r\n:{")
    return bool(rest) and not rest.startswith("*")


_WORDS = re.compile(r"[A-Za-z_]\w*")
_INNER_BRACKETS = re.compile(r"\([^()]*\)")
_DEPTH = 30
_CLASS = "works on an object, such as a graph, and may show what it holds"
_PROGRAM = re.compile(r"\s*(?:def\w*\s+)?(\w+)")
#: Names that begin with FDZ where a global is given or dropped.
_RESERVED_NAMES = {
    "global": re.compile(r"\s+(?i:fdz)"),
    "program": re.compile(r"\s+(?:dr\w*|di\w*|l\w*)\s(?:\s*\S+\s)*?\s*(?i:fdz)"),
    "macro": re.compile(r"\s+(?:dr\w*\s(?:\s*\S+\s)*?|\w+\s)\s*(?:(?i:fdz)|S_ADO\b)"),
}
_RESERVED = {name: _RESERVED_NAMES[kind] for name, kind in values_of("reserved").items()}
_PROGRAM_WORDS = ("drop", "di", "dir", "l", "li", "lis", "list")
#: A global macro of the centre, as its value or as its name.
_OWN_MACRO = re.compile(r"\$\{?(?i:fdz)|\bglobal\s+(?i:fdz)")

#: Prefixes that take any command.
_RUN_ANY = commands_with("runs", "any")

#: Prefixes that run the command as it is; with braces they are looked at by themselves.
_AROUND = commands_with("runs", "as it is")

#: Safe commands that run another command.
_RUNNERS = commands_with("runs", "safely")


class WordChange(NamedTuple):
    """A word that is replaced, or put in where `start` is `end`; and by which rule."""

    start: int
    end: int
    after: str
    rule: str
    command: str
    reason: str


class StatementNote(NamedTuple):
    """Something to tell about a statement."""

    rule: str
    severity: Severity
    what: str
    start: int
    end: int
    hint: str = ""


@dataclass(kw_only=True, slots=True)
class Decision:
    """What becomes of one statement: words to replace or put in, what to tell, and, if it is
    commented out, why: as (rule, command, reason).
    """

    statement: DoStatement
    changes: list[WordChange] = field(default_factory=list)
    notes: list[StatementNote] = field(default_factory=list)
    refused: tuple[str, str, str] | None = None

    def refuse(self, rule: str, command: str, reason: str) -> None:
        """Have the statement commented out."""
        self.refused = self.refused or (rule, command, reason)

    def note(
        self, rule: str, severity: Severity, what: str, word: Word | None = None, hint: str = ""
    ) -> None:
        """Tell something about the statement or a word of it."""
        place = word or self.statement
        self.notes.append(StatementNote(rule, severity, what, place.start, place.end, hint))


class Decider:
    """Applies a policy to statements; it knows the programs that the submission defines."""

    def __init__(self, policy: Policy, programs: frozenset[str]) -> None:
        self.named = policy.commands
        self.safe_names = policy.safe_names
        self.policy = policy.with_programs(programs)
        self.programs = programs

    def decide(self, statement: DoStatement) -> Iterator[Decision]:
        """What becomes of a statement, and of the commands in its other readings."""
        if statement.kind is Kind.COMMAND and statement.command is not None:
            yield self._command(statement)
        elif statement.kind is Kind.OTHER or names_no_command(statement):
            decision = Decision(statement=statement)
            decision.note("no-command", Severity.REVIEW, "not recognised as a command")
            yield decision
        if statement.command is not None and statement.command.text in _RUNNERS:
            return  # what they run was looked at
        for reading in statement.readings:
            yield from self._reading(reading, statement)

    def _reading(self, reading: Reading, outer: DoStatement) -> Iterator[Decision]:
        for decision in self.decide(reading.statement):
            if reading.why in UNTOUCHED:
                yield self._untouched(decision, reading, outer)
            elif decision.refused and reading.why in (Why.AFTER_MACRO, Why.AFTER_COLON):
                whole = Decision(statement=outer)
                whole.refuse(*decision.refused)
                yield whole
            else:
                yield decision

    def _untouched(self, decision: Decision, reading: Reading, outer: DoStatement) -> Decision:
        """A text that may be run as a command: it is told, and stays."""
        untouched = Decision(statement=decision.statement)
        if decision.refused or decision.changes:
            command = decision.refused[1] if decision.refused else decision.changes[0].command
            message = f"a text that starts with the command {command}"
            severity, hint = Severity.REVIEW, "look at what is run"
            if reading.why is Why.IN_STRING and outer.canonical in TEXT_RUNNERS:
                hint = f"{outer.canonical} runs it as it stands; write the command behind a colon"
            elif reading.why is Why.IN_STRING:
                severity, hint = Severity.INFO, "if it is run, fdzrun applies the policy to it"
            elif reading.why is Why.COMMENT_TO_SEMICOLON:
                severity, hint = Severity.INFO, "a comment that starts with * ends at ;"
            untouched.note("command-in-text", severity, message, None, hint)
        return untouched

    def _command(self, statement: DoStatement) -> Decision:
        decision = Decision(statement=statement)
        command = statement.command
        assert command is not None
        if command.has_macro:
            self._at_run_time(decision, command)
            return decision
        name = command.canonical or command.text
        verdict = self._verdict(statement, name)
        if name == "program":
            self._program(decision, command)
        if name in _RUNNERS:
            self._inner(decision, name)
        reserved = _RESERVED.get(name)
        if reserved is not None and reserved.match(statement.source, command.end, statement.end):
            decision.refuse(
                "reserved-name", name, "the name is the centre's, or says which programs run"
            )
        elif _OWN_MACRO.search(statement.source, statement.start, statement.end):
            decision.refuse("reserved-name", name, "it reads a macro of the centre")
        if name in TABLES and shows_extremes(statement, command.end):
            decision.refuse("option", name, "its cells are smallest and largest values")
        around = any(prefix.canonical == "for" for prefix in statement.prefixes)
        if around and command.canonical is None:  # a word that `for` puts in
            decision.refuse("command", "for", "the command is put in when the program runs")
        if verdict.action is Action.REFUSED:
            decision.refuse("command", verdict.name, verdict.reason)
        elif verdict.action is Action.WRAPPED:
            self._wrap(decision, command, verdict)
        elif verdict.action is Action.REVIEW and not only_in_log(statement):
            rule = "command" if verdict.known else "unknown-command"
            decision.note(rule, Severity.REVIEW, f"{verdict.name}: {verdict.reason}", command)
        for prefix in statement.prefixes:
            self._prefix(decision, prefix)
        self._options(decision, name, (statement.body, statement.end), command)
        return decision

    def _prefix(self, decision: Decision, prefix: Word) -> None:
        verdict = self.policy.verdict(prefix.canonical or prefix.text)
        if verdict.action is Action.REFUSED:
            decision.refuse("command", verdict.name, verdict.reason)
        elif verdict.action is Action.REVIEW and prefix.canonical not in _AROUND:
            decision.note("command", Severity.REVIEW, f"{verdict.name}: {verdict.reason}", prefix)
        if prefix.arguments is not None:
            self._options(decision, verdict.name, prefix.arguments, prefix)

    def _verdict(self, statement: DoStatement, name: str) -> CommandRule:
        if name.startswith("."):
            return CommandRule(action=Action.REVIEW, name=name, reason=_CLASS)
        if not self.policy.has_words(name):
            return self.policy.verdict(name)
        outside, _ = pieces(statement, statement.body, statement.end)
        if name == "twoway" or (name == "graph" and re.match(r"\s*tw", outside)):
            plots = plots_of(outside if name == "twoway" else re.sub(r"^\s*tw\w*", "", outside))
            verdicts = [self.policy.verdict("twoway", [word]) for word in plots]
            return strictest(verdicts) or self.policy.verdict("twoway")
        return self.policy.verdict(name, _WORDS.findall(outside)[:1])

    def _at_run_time(self, decision: Decision, command: Word) -> None:
        """A command word with a macro: `fdzrun` looks it up when the program runs."""
        if decision.statement.opens:
            message = "a macro stands where a command opens a block; it cannot be looked up"
            decision.note("macro-block", Severity.REVIEW, message, command)
            return
        for prefix in decision.statement.prefixes:
            if self._runs_model(prefix, decision.statement):
                message = f"{prefix.canonical} with fdzrun may not run in Stata"
                decision.note("prefix", Severity.REVIEW, message, prefix)
        reason = "the command is known at run time only"
        at = command.start
        change = WordChange(at, at, "fdzrun ", "macro-command", command.text, reason)
        decision.changes.append(change)

    def _wrap(self, decision: Decision, command: Word, verdict: CommandRule) -> None:
        statement = decision.statement
        before = next((one for one in statement.prefixes if self._runs_model(one, statement)), None)
        estimates = verdict.inserted == "fdzestimate " or verdict.name == "regress"
        start, end, after = command.start, command.end, verdict.replaced(command.text)
        if before is not None and estimates:
            start = end = before.start
            after = "fdzestimate "
        elif verdict.inserted:
            last = statement.prefixes[-1] if statement.prefixes else None
            if last is not None and last.canonical == verdict.inserted.strip():
                return
            end, after = start, verdict.inserted
        elif before is not None and before.canonical == "estpost":
            message = (
                "estpost takes no safe command; it runs quietly, and keeps what is not checked"
            )
            decision.note("prefix", Severity.REVIEW, message, before)
            if any(prefix.canonical == "quietly" for prefix in statement.prefixes):
                return
            start = end = before.start
            after = "quietly "
        elif before is not None and before.canonical not in _RUN_ANY:
            message = f"{before.canonical} with {verdict.safe} may not run in Stata"
            decision.note("prefix", Severity.REVIEW, message, before)
        change = WordChange(start, end, after, "command", verdict.name, verdict.reason)
        decision.changes.append(change)

    def _runs_model(self, prefix: Word, statement: DoStatement) -> bool:
        """Whether a prefix runs the model itself; ``mi xeq`` runs a command as it is."""
        if prefix.canonical not in self.policy.before:
            return False
        arguments = statement.source[slice(*prefix.arguments)] if prefix.arguments else ""
        return not (prefix.canonical == "mi" and arguments.split()[:1] == ["xeq"])

    def _inner(self, decision: Decision, name: str) -> None:
        command = decision.statement.command
        assert command is not None
        rest = decision.statement.source[command.end : decision.statement.end]
        if decision.statement.semicolons:
            rest = f"#delimit ;\n{rest}"
        inner = [one for one in parse_do(rest).statements if one.command is not None]
        if len(inner) != 1 or inner[0].command is None:
            decision.refuse("inner-command", name, "it runs no command that can be recognised")
            return
        word = inner[0].command
        if name == "fdzrun":
            return
        verdict = self.policy.verdict(word.canonical or word.text)
        if verdict.inserted != "fdzestimate " and verdict.name != "regress":
            decision.refuse("inner-command", verdict.name, "it is not a model that can be checked")

    def _program(self, decision: Decision, command: Word) -> None:
        """A program with the name of a command would run in its place."""
        text = decision.statement.source
        match = _PROGRAM.match(text, command.end, decision.statement.end)
        name = match.group(1) if match else ""
        if name in _PROGRAM_WORDS or name not in self.programs:
            return
        if name in self.safe_names or name.startswith(SAFE):
            message = f"the program {name} would replace a safe command"
            decision.note("program-name", Severity.ERROR, message, None, "choose another name")
        elif (rule := self.named.get(name)) is not None and rule.action is not Action.ALLOWED:
            message = f"the program {name} has the name of a command that may not run as it is"
            decision.note("program-name", Severity.REVIEW, message, None, "choose another name")

    def _options(self, decision: Decision, name: str, within: tuple[int, int], word: Word) -> None:
        statement = decision.statement
        if statement.source.find(",", *within) < 0:
            return
        outside, _ = pieces(statement, *within)
        for _ in range(_DEPTH if "(" in outside else 0):
            outside, count = _INNER_BRACKETS.subn("", outside)
            if not count:
                break
        for option in _WORDS.findall(outside.partition(",")[2]):
            verdict = self.policy.option(name, option)
            if verdict is None:
                continue
            if verdict.action is Action.REFUSED:
                decision.refuse("option", verdict.name, verdict.reason)
            elif verdict.action is Action.REVIEW:
                message = f"{verdict.name}: {verdict.reason}"
                decision.note("option", Severity.REVIEW, message, word)
