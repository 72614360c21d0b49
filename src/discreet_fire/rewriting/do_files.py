"""Do-files rewritten: safe commands in, commands that may not run out.

In: the text of a do-file and a policy. Out: what becomes of each statement (words to replace or to
put in, statements to comment out, what an officer must look at), the new text, and every edit with
its place in the old one. Strings and comments stay as they are; so does all that no edit names. A
statement that goes is commented out such that the rest keeps its meaning. Findings behind the last
``exit`` are milder: notes often follow there.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, takewhile

from discreet.files import texts_of
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
from discreet_fire.flow import (
    MADE_OF_VALUES,
    UNTOUCHED,
    FigureFlow,
    Taints,
    copies_of_chosen,
    described_originals,
    pieces,
    statements_of,
    without_macros,
)
from discreet_fire.rewriting.changes import (
    FORM,
    SUFFIX,
    CalledFile,
    Language,
    ProgramNotes,
    Rewriting,
    called_files,
    draws_judged,
    holds_no_data,
    judged_graph,
    keeps_records,
    written_place,
)
from discreet_fire.stata import BODIES, DoFile, DoStatement, Kind, Reading, Why, Word, parse_do

_WITH_PLOT = ("recast", "ciplot", "fitplot", "plot", "addplot")

#: Tables of stored results, with the options that name these.
TABLES = commands_with("table")


def shows_extremes(statement: DoStatement, at: int) -> bool:
    """Whether a table of stored results has smallest or largest values in its cells."""
    text = statement.source[at : statement.end]
    for option in FORM.cells.finditer(text):
        depth, end = 1, option.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        if FORM.extremes.search(text, option.end(), end):
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
    for part in FORM.plot_parts.finditer(without_macros(outside)):  # they may be empty
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


_DEPTH = 30
_CLASS = "works on an object, such as a graph, and may show its content"
_PROGRAM_WORDS = ("drop", "di", "dir", "l", "li", "lis", "list")


#: Safe commands that run another command.
_RUNNERS = commands_with("runs", "safely")


#: A word that is replaced, or put in where its end is its start: from, up to, what stands there,
#: the rule, the command, why.
_WordChange = tuple[int, int, str, str, str, str]


@dataclass(kw_only=True, slots=True)
class Decision:
    """What becomes of one statement: words to replace or put in, what to tell of which passage,
    and, if it is commented out, why: as (rule, command, reason).
    """

    statement: DoStatement
    changes: list[_WordChange] = field(default_factory=list)
    notes: list[tuple[str, Severity, str, tuple[int, int], str]] = field(default_factory=list)
    refused: tuple[str, str, str] | None = None

    def refuse(self, rule: str, command: str, reason: str) -> None:
        """Have the statement commented out."""
        self.refused = self.refused or (rule, command, reason)

    def note(
        self, rule: str, severity: Severity, what: str, word: Word | None = None, hint: str = ""
    ) -> None:
        """Tell something about the statement or a word of it."""
        place = word or self.statement
        self.notes.append((rule, severity, what, (place.start, place.end), hint))

    def judge(self, rule: str, name: str, action: Action, reason: str, word: Word | None) -> None:
        """Refuse it, or have it looked at, as an action says."""
        if action is Action.REFUSED:
            self.refuse(rule, name, reason)
        elif action is Action.REVIEW:
            self.note(rule, Severity.REVIEW, f"{name}: {reason}", word)


_NO_SIGNS = str.maketrans(
    {"`": "'", '"': "'", ";": ",", "{": "(", "}": ")", "\f": " ", "\x1a": " "}
)
_BLANKS = " \t\f\u00a0\ufeff\u200b"


def harmless(line: str) -> str:
    r"""A line of a program as words of a comment: no macro, comment, brace or end of command.

    >>> harmless('list x /* all */ if y == "`z\'"; ')
    "list x / * all * / if y == ''z'',"
    """
    plain = line.translate(_NO_SIGNS).replace("$", "$ ")
    return FORM.between_signs.sub(" ", plain).strip()


#: Findings that a command gets whatever it says.
_OF_COMMAND = ("command", "option")

#: Findings that say how a text can be read.
_OF_READING = frozenset((
    "unknown-command", "no-command", "stray-end", "stray-brace", "open-quote", "open-comment",
    "open-brace", "open-block", "open-program", "open-macro", "continued-string", "command-in-text",
))  # fmt: skip


def rewrite(text: str, policy: Policy | None = None, *, language: Language = "en") -> Rewriting:
    r"""Rewrite the text of one do-file.

    >>> print(rewrite("su wage\nby id: list wage\n").text, end="")
    fdzsummarize wage
    *FDZ: command not permitted in remote execution: by id: list wage
    """
    rules, dofile = policy or Policy.default(), parse_do(text)
    following = FigureFlow(dofile, Taints(rules))
    following.learn()
    return DoFileProgram(dofile, following, rules, dofile.programs, language).rewriting()


class DoFileProgram(ProgramNotes):
    """A do-file, perhaps one of several; `following` knows what names hold, from all files of the
    run, `programs` are those that these define, `place_call` whether a do-file may be run.
    """

    def __init__(
        self, dofile: DoFile, following: FigureFlow, policy: Policy, programs: frozenset[str],
        language: Language, place_call: Callable[[CalledFile], CalledFile] = lambda call: call,
    ) -> None:  # fmt: skip
        super().__init__(text=dofile.text)
        self.dofile, self.following, self.place_call = dofile, following, place_call
        self.policy, self.programs = policy, programs
        self.wording = texts_of("discreet_fire.rewriting", "wording", language)["command"]

    def rewriting(self) -> Rewriting:
        """The new text, with the do-files that it runs."""
        dofile = self.dofile
        decisions = [one for statement in dofile.statements for one in self._decide(statement)]
        by_start: dict[tuple[int, int], Decision] = {}
        for one in decisions:
            by_start.setdefault((one.statement.start, one.statement.end), one)
        self._stop_shown(by_start)
        self._pass_constants(by_start)
        self.calls += self._calls(by_start)
        decisions.sort(key=lambda one: one.statement.start)
        self._note_edits(decisions)
        for decision in decisions:
            # What is commented out needs no look, in whatever way it is read.
            for note in decision.notes if decision.refused is None else ():
                self.find(*note)
            if decision.refused is not None:
                rule, command, reason = decision.refused
                span = (decision.statement.start, decision.statement.end)
                self.find(rule, Severity.REFUSED, f"{command}: {reason}", span)
        done = super().rewriting()
        exits = (
            one.end for one in dofile.statements
            if one.canonical == "exit"
            and not (one.prefixes or one.depth or one.in_program or one.joined or one.block)
        )  # fmt: skip
        end = next(exits, len(self.text))  # findings of reading matter less in notes behind it
        findings = [
            replace(one, severity=Severity.INFO)
            if one.start > end and one.rule in _OF_READING
            else one
            for one in (*dofile.findings, *done.findings)
        ]
        if not self.following.settled:
            message = "names hold each other in so many steps that values cannot be followed"
            findings.append(self.lines.finding("entangled", Severity.ERROR, message, 0, 0))
        findings.sort(key=lambda one: (one.start, -one.severity.rank, one.rule))
        return replace(done, findings=tuple(findings))

    # ------------------------------------------------------------ what becomes of statements

    def _decide(self, statement: DoStatement) -> Iterator[Decision]:
        """Decide on a statement, and on the commands in its other readings."""
        if statement.kind is Kind.COMMAND and statement.command is not None:
            yield self._command(statement, statement.command)
        elif statement.kind is Kind.OTHER or names_no_command(statement):
            decision = Decision(statement=statement)
            decision.note("no-command", Severity.REVIEW, "not recognised as a command")
            yield decision
        if statement.command is not None and statement.command.text in _RUNNERS:
            return  # what they run was looked at
        for reading in statement.readings:
            for decision in self._decide(reading.statement):
                if reading.why in UNTOUCHED:
                    yield self._untouched(decision, reading, statement)
                elif decision.refused and reading.why is Why.PREFIX:
                    yield Decision(statement=statement, refused=decision.refused)
                else:
                    yield decision

    def _untouched(self, decision: Decision, reading: Reading, outer: DoStatement) -> Decision:
        """A text that may be run as a command: it is told, and stays."""
        untouched = Decision(statement=decision.statement)
        if decision.refused or decision.changes:
            command = decision.refused[1] if decision.refused else decision.changes[0][4]
            message = f"a text that starts with the command {command}"
            hint = "look at what is run"
            if reading.why is Why.ARGUMENT:
                hint = f"{outer.canonical} runs it as it stands; write the command behind a colon"
            untouched.note("command-in-text", Severity.REVIEW, message, None, hint)
        return untouched

    def _command(self, statement: DoStatement, command: Word) -> Decision:
        decision = Decision(statement=statement)
        if command.has_macro:
            self._at_run_time(decision, command)
            return decision
        name = command.name
        verdict = self._verdict(statement, name)
        if name == "program":
            self._program(decision, command)
        if name in _RUNNERS:
            self._inner(decision, name, command.end)
        reserved = vars(FORM).get(f"reserved_{values_of('reserved').get(name)}")
        if reserved is not None and reserved.match(statement.source, command.end, statement.end):
            reason = "the name is the centre's, or says which programs run"
            decision.refuse("reserved-name", name, reason)
        elif FORM.own_macro.search(statement.source, statement.start, statement.end):
            decision.refuse("reserved-name", name, "it reads a macro of the centre")
        in_log = False  # whether a table of models goes to the log, which is cleaned, alone
        if name in TABLES:
            in_log = FORM.filed.search(statement.source, statement.body, statement.end) is None
            if shows_extremes(statement, command.end):
                decision.refuse("option", name, "its cells are smallest and largest values")
        around = any(prefix.canonical == "for" for prefix in statement.prefixes)
        if around and command.canonical is None:  # a word that `for` puts in
            decision.refuse("command", "for", "the command is put in when the program runs")
        if verdict.action is Action.WRAPPED:
            self._wrap(decision, command, verdict)
        elif not (verdict.action is Action.REVIEW and in_log):
            rule = "command" if verdict.known else "unknown-command"
            decision.judge(rule, verdict.name, verdict.action, verdict.reason, command)
        for prefix in statement.prefixes:
            found = self._rule(prefix.name)
            around = prefix.canonical in commands_with("runs", "as it is")
            if found.action is Action.REFUSED or not around:
                decision.judge("command", found.name, found.action, found.reason, prefix)
            if prefix.arguments is not None:
                self._options(decision, found.name, prefix.arguments, prefix)
        self._options(decision, name, (statement.body, statement.end), command)
        return decision

    def _verdict(self, statement: DoStatement, name: str) -> CommandRule:
        if name.startswith("."):
            return CommandRule(action=Action.REVIEW, name=name, reason=_CLASS)
        outside, _ = pieces(statement, statement.body, statement.end)
        if name == "twoway" or (name == "graph" and re.match(r"\s*tw", outside)):
            plots = plots_of(outside if name == "twoway" else re.sub(r"^\s*tw\w*", "", outside))
            verdicts = [self._rule("twoway", [word]) for word in plots]
            return strictest(verdicts) or self._rule("twoway")
        return self._rule(name, FORM.words.findall(outside)[:1])

    def _rule(self, name: str, words: Iterable[str] = ()) -> CommandRule:
        """The rule on a command; without one, a program of the submission is read itself."""
        rule = self.policy.verdict(name, words)
        own = not rule.known and name in self.programs
        return CommandRule(action=Action.ALLOWED, name=name) if own else rule

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
        at, reason = command.start, "the command is known at run time only"
        decision.changes.append((at, at, "fdzrun ", "macro-command", command.text, reason))

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
                "estpost cannot run a safe command; it runs quietly and stores unchecked results"
            )
            decision.note("prefix", Severity.REVIEW, message, before)
            if any(prefix.canonical == "quietly" for prefix in statement.prefixes):
                return
            start = end = before.start
            after = "quietly "
        elif before is not None and before.canonical not in commands_with("runs", "any"):
            message = f"{before.canonical} with {verdict.safe} may not run in Stata"
            decision.note("prefix", Severity.REVIEW, message, before)
        change = (start, end, after, "command", verdict.name, verdict.reason)
        decision.changes.append(change)

    def _runs_model(self, prefix: Word, statement: DoStatement) -> bool:
        """Whether a prefix runs the model itself; ``mi xeq`` runs a command as it is."""
        if prefix.canonical not in self.policy.before:
            return False
        arguments = statement.source[slice(*prefix.arguments)] if prefix.arguments else ""
        return not (prefix.canonical == "mi" and arguments.split()[:1] == ["xeq"])

    def _inner(self, decision: Decision, name: str, start: int) -> None:
        """What a safe command runs: a model."""
        statement = decision.statement
        rest = statement.source[start : statement.end]
        rest = f"#delimit ;\n{rest}" if statement.semicolons else rest
        words = [one.command for one in parse_do(rest).statements if one.command is not None]
        if len(words) != 1:
            decision.refuse("inner-command", name, "it runs no command that can be recognised")
        elif name != "fdzrun":
            verdict = self._rule(words[0].name)
            if verdict.inserted != "fdzestimate " and verdict.name != "regress":
                reason = "it is not a model that can be checked"
                decision.refuse("inner-command", verdict.name, reason)

    def _program(self, decision: Decision, command: Word) -> None:
        """A program with the name of a command would run in its place."""
        text = decision.statement.source
        match = FORM.program.match(text, command.end, decision.statement.end)
        name = match.group(1) if match else ""
        if name in _PROGRAM_WORDS or name not in self.programs:
            return
        if name in self.policy.safe_names or name.startswith(SAFE):
            message = f"the program {name} would replace a safe command"
            decision.note("program-name", Severity.ERROR, message, None, "choose another name")
        elif self._rule(name).action is not Action.ALLOWED:
            message = f"the program {name} has the name of a command that may not run as it is"
            decision.note("program-name", Severity.REVIEW, message, None, "choose another name")

    def _options(self, decision: Decision, name: str, within: tuple[int, int], word: Word) -> None:
        statement = decision.statement
        if statement.source.find(",", *within) < 0:
            return
        outside, _ = pieces(statement, *within)
        for _ in range(_DEPTH if "(" in outside else 0):
            outside, count = FORM.inner_brackets.subn("", outside)
            if not count:
                break
        for option in FORM.words.findall(outside.partition(",")[2]):
            if (verdict := self.policy.option(name, option)) is not None:
                decision.judge("option", verdict.name, verdict.action, verdict.reason, word)

    # ------------------------------------------------------------ what is known of all statements

    def _stop_shown(self, decisions: dict[tuple[int, int], Decision]) -> None:
        following = self.following
        originals, copying = described_originals(following), copies_of_chosen(following)
        for (start, _), joining in decisions.items():
            if start in copying:
                message = (
                    f"{joining.statement.canonical}: it may copy values of few records to many"
                )
                joining.note("copies", Severity.REVIEW, message)
        for shown in following.shown():
            statement = shown.statement
            decision = decisions.get((statement.start, statement.end))
            original = statement.start in originals and shown.what == MADE_OF_VALUES.what
            if decision is None or original:
                continue
            name = statement.name or "command"
            if shown.action is Action.REFUSED:
                decision.refuse("shown", name, f"it shows {shown.what}")
            elif shown.action is Action.REVIEW:
                decision.note("shown", Severity.REVIEW, f"{name}: it may show {shown.what}")
            for start, end in shown.scalars:
                after = f"scalar({self.text[start:end]})"
                reason = "a variable of the same name would show its first value"
                decision.changes.append((start, end, after, "scalar", name, reason))

    def _pass_constants(self, decisions: dict[tuple[int, int], Decision]) -> None:
        earlier, following, dofile = False, self.following, self.dofile
        kept, folders = not following.taints.replaced, set[str]()
        for part in following.parts:
            decision = decisions.get((part.statement.start, part.statement.end))
            earlier = judged_graph(part, earlier)
            if decision is None or not decision.notes or decision.refused is not None:
                continue
            clean = part.name == "post" and following.tells_nothing(part)
            clean = clean or draws_judged(part, dofile, earlier)
            clean = clean or (kept and keeps_records(part, dofile, folders))
            if clean or holds_no_data(part, dofile, following.known, following.temporary_files):
                decision.notes = [note for note in decision.notes if note[0] not in _OF_COMMAND]

    def _calls(self, decisions: dict[tuple[int, int], Decision]) -> Iterator[CalledFile]:
        """The do-files that it runs; a call is made to run the rewritten file."""
        for statement in statements_of(self.dofile):
            decision = decisions.get((statement.start, statement.end))
            if decision is None:
                continue
            if statement.canonical == "log":
                decision.judge("path", "log", *written_place(statement, self.dofile), None)
            if (call := called_files(statement, self.dofile)) is None:
                continue
            call = call if call.action is Action.REFUSED else self.place_call(call)
            yield call
            if call.action is Action.REFUSED:
                decision.refuse("path", call.command, call.reason)
                continue
            if call.action is Action.REVIEW:
                hint = "submit the folder that holds it, with --main NAME.do"
                message = f"{call.command}: {call.reason}"
                decision.note("path", Severity.REVIEW, message, hint=hint)
            stem = call.name[:-3] if call.name.lower().endswith(".do") else call.name
            if call.path and not stem.endswith(SUFFIX):
                at, reason = call.end - (len(call.name) - len(stem)), "the rewritten file runs"
                decision.changes.append((at, at, SUFFIX, "path", call.command, reason))

    # ------------------------------------------------------------ the new text

    def _note_edits(self, decisions: Iterable[Decision]) -> None:
        spans = [(*self._refused_span(one.statement), one) for one in decisions if one.refused]
        gone: list[tuple[int, int, Decision]] = []
        for start, end, decision in sorted(spans, key=lambda span: (span[0], -span[1])):
            if gone and start < gone[-1][1]:
                first, last, kept = gone[-1]
                gone[-1] = (first, max(last, end), kept)
            else:
                gone.append((start, end, decision))
        for start, end, decision in gone:
            after = self._comment(start, end, decision.statement)
            assert decision.refused is not None
            rule, command, reason = decision.refused
            self.replace((start, end), after, rule, command, Action.REFUSED, reason)
        starts = [start for start, _, _ in gone]
        for start, end, after, rule, command, reason in chain.from_iterable(
            one.changes for one in decisions
        ):
            at = bisect_left(starts, start + 1) - 1
            if (at < 0 or gone[at][1] <= start) and (start, end) not in self.spans:
                self.replace((start, end), after, rule, command, Action.WRAPPED, reason)

    def _refused_span(self, statement: DoStatement) -> tuple[int, int]:
        """What is commented out: all but a condition in front and a comment at the end; with the
        block that it opens, and with what follows behind ``;`` after ``mi xeq:``.
        """
        text, statements = self.text, self.dofile.statements
        start = statement.start
        for at, prefix in enumerate(statement.prefixes):
            if prefix.canonical in commands_with("prefix", "condition"):
                words = [*statement.prefixes[at + 1 :], statement.command]
                start = next((word.start for word in words if word is not None), start)
        end = _without_comment(text, statement, start)
        joined = statement.joined and not statement.semicolons
        if joined and text[max(start - 50, 0) : start].rstrip().endswith(";"):
            start = text.rindex(";", 0, start)
        following = None if statement.semicolons else FORM.chained.match(text, end)
        while following is not None:
            at = bisect_left(statements, following.end(), key=lambda one: one.start)
            if at >= len(statements) or statements[at].start != following.end():
                break
            end = _without_comment(text, statements[at], end)
            following = FORM.chained.match(text, end)
        if BODIES.get(statement.canonical or "") in ("block", "text"):
            at = bisect_left(statements, statement.start, key=lambda one: one.start) + 1
            for one in takewhile(lambda one: one.block, statements[at:]):
                end = one.end
        return start, end

    def _comment(self, start: int, end: int, statement: DoStatement) -> str:
        """Comment in place of a statement that may not run; the rest keeps its meaning."""
        text, newline = self.text, self.newline
        body, opens = start > statement.start, statement.opens and end == statement.end
        joins = None  # where the ``///`` is with which it ends
        if statement.spans and not (body or statement.semicolons):
            kind, place, last = statement.spans[-1]
            joins = place if kind == "continuation" and last >= end and place > start else None
        lines = FORM.line_end.split(text[start : end - 1 if opens else joins or end])
        first, *others = map(harmless, lines)
        first = f"{self.wording}: {first}" if first else self.wording
        # In Stata a line of a comment may be read as a command of its own; the star prevents it.
        comment = newline.join([first, *(f"*FDZ: {words}" for words in others)])
        comment += " ///" if joins else ""
        if statement.semicolons:  # line ends end no command
            before = text[max(start - 200, 0) : start].rstrip()[-1:]
            lead = "" if before in ("", ";") else "; "
            closed = FORM.semicolon.match(text, end)
            if body:
                return f"{{ ; {comment} ; }}"
            if opens:
                return f"{lead}{comment} ; if 0 {{"
            return lead + comment + ("" if closed and closed[1] else " ;")
        if body:
            comment = f"{{{newline}{comment}{newline}}}"
            return f"{comment} else if 0 {{" if opens else comment
        if opens:
            comment = f"{comment}{newline}if 0 {{"
        # Where lines end with one sign, the other is nowhere: it is not looked for far back.
        line = text.rfind("\n", 0, start) + 1
        before = text[max(line, text.rfind("\r", line, start) + 1) : start].strip(_BLANKS)
        rest = FORM.line_end.search(text, end)
        after = text[end : rest.start() if rest else len(text)].strip(_BLANKS)
        return (newline if before else "") + comment + (newline if after else "")


def _without_comment(text: str, statement: DoStatement, start: int) -> int:
    end = statement.end
    for span in reversed(statement.spans):
        if span.kind == "comment" and span.end == end and span.start > start:
            end = start + len(text[start : span.start].rstrip())
    return end
