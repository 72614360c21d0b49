"""Do-files rewritten: safe commands in, commands that may not run out.

In: the text of a do-file and a policy. Out: the new text, every edit with its place in the
old one, and findings for the officer. Strings and comments stay as they are; so does all
that no edit names. A statement that goes is commented out such that the rest keeps its
meaning. Findings behind the last ``exit`` are milder: notes often follow there.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from discreet.files import texts_of
from discreet_fire.catalogue import Action, Policy, commands_with
from discreet_fire.findings import Finding, Severity
from discreet_fire.flow import (
    MADE_OF_VALUES,
    FigureFlow,
    StatementJudge,
    Taints,
    copies_of_chosen,
    described_originals,
    statements_of,
)
from discreet_fire.rewriting.called_files import (
    CALLERS,
    CalledFile,
    called_files,
    draws_judged,
    holds_no_data,
    judged_graph,
    keeps_records,
    pointed_call,
    written_place,
)
from discreet_fire.rewriting.changes import (
    Edit,
    Language,
    ProgramNotes,
    Rewriting,
    applied,
    newline_of,
)
from discreet_fire.rewriting.decisions import Decider, Decision, StatementNote, WordChange
from discreet_fire.stata import BODIES, DoFile, DoStatement, parse_do
from discreet_fire.texts import Lines, uncollected

_LINE_END = re.compile(r"\r\n|\n|\r")
_BETWEEN_SIGNS = re.compile(r"(?<=[/*])(?=[/*])")
_NO_SIGNS = str.maketrans(
    {"`": "'", '"': "'", ";": ",", "{": "(", "}": ")", "\f": " ", "\x1a": " "}
)
_BLANKS = " \t\f\u00a0\ufeff\u200b"


@lru_cache(maxsize=4096)
def harmless(line: str) -> str:
    r"""A line of a program as words of a comment: no macro, comment, brace or end of command.

    >>> harmless('list x /* all */ if y == "`z\'"; ')
    "list x / * all * / if y == ''z'',"
    """
    plain = line.translate(_NO_SIGNS).replace("$", "$ ")
    return _BETWEEN_SIGNS.sub(" ", plain).strip()


def commented(
    text: str,
    start: int,
    end: int,
    *,
    wording: str,
    newline: str,
    semicolons: bool = False,
    body: bool = False,
    opens: bool = False,
    joins: int | None = None,
) -> str:
    r"""What stands in place of a statement that may not run.

    >>> commented("if x list y", 5, 11, wording="*FDZ: no", newline="\n", body=True)
    '{\n*FDZ: no: list y\n}'
    """
    lines = _LINE_END.split(text[start : end - 1 if opens else joins or end])
    words = [harmless(line) for line in lines]
    first = f"{wording}: {words[0]}" if words[0] else wording
    # In Stata a line of a comment may be read as a command of its own; the star prevents it.
    comment = newline.join([first, *(f"*FDZ: {word}" for word in words[1:])])
    if joins:
        comment += " ///"
    if semicolons:
        return _between_semicolons(text, start, end, comment, body=body, opens=opens)
    if body:
        comment = f"{{{newline}{comment}{newline}}}"
        return f"{comment} else if 0 {{" if opens else comment
    if opens:
        comment = f"{comment}{newline}if 0 {{"
    # Where lines end with one sign, the other is nowhere: it is not looked for far back.
    line = text.rfind("\n", 0, start) + 1
    before = text[max(line, text.rfind("\r", line, start) + 1) : start].strip(_BLANKS)
    rest = _LINE_END.search(text, end)
    after = text[end : rest.start() if rest else len(text)].strip(_BLANKS)
    return (newline if before else "") + comment + (newline if after else "")


def _between_semicolons(
    text: str, start: int, end: int, comment: str, *, body: bool, opens: bool
) -> str:
    """The same where ``;`` ends commands, and line ends do not."""
    if body:
        return f"{{ ; {comment} ; }}"
    before = text[:start].rstrip()[-1:] if start < 200 else text[start - 200 : start].rstrip()[-1:]
    lead = "" if before in ("", ";") else "; "
    if opens:
        return f"{lead}{comment} ; if 0 {{"
    after = re.compile(r"\s*(;?)").match(text, end)
    closed = after is not None and after.group(1)
    return lead + comment + ("" if closed else " ;")


#: Findings that a command gets whatever it says.
_OF_COMMAND = ("command", "option")

#: Findings that say how a text can be read.
_OF_READING = frozenset((
    "unknown-command", "no-command", "stray-end", "stray-brace", "open-quote", "open-comment",
    "open-brace", "open-block", "open-program", "open-macro", "continued-string", "command-in-text",
))  # fmt: skip


_CHAINED = re.compile(r"[ \t]*;[ \t]*(?=[^\s;])")
_CONDITIONS = commands_with("prefix", "condition")


@uncollected()
def rewrite(text: str, policy: Policy | None = None, *, language: Language = "en") -> Rewriting:
    r"""Rewrite the text of one do-file.

    >>> print(rewrite("su wage\nby id: list wage\n").text, end="")
    fdzsummarize wage
    *FDZ: command not permitted in remote execution: by id: list wage
    """
    rules = policy or Policy.default()
    dofile = parse_do(text)
    following = FigureFlow(dofile, Taints(rules))
    following.learn()
    return rewrite_parsed(dofile, rules, following=following, language=language)


def rewrite_parsed(
    dofile: DoFile,
    policy: Policy,
    *,
    following: FigureFlow,
    language: Language = "en",
    programs: frozenset[str] = frozenset(),
    place_call: Callable[[CalledFile], CalledFile] | None = None,
    decider: Decider | None = None,
) -> Rewriting:
    """Rewrite a do-file that is one of several.

    `following` knows what names hold, from all files of the run, `programs` which programs others
    define, `place_call` whether a do-file may be run. A decider may know the programs of all files.
    """
    decider = decider or Decider(policy, dofile.programs | programs)
    decisions = [one for statement in dofile.statements for one in decider.decide(statement)]
    by_start: dict[tuple[int, int], Decision] = {}
    for one in decisions:
        by_start.setdefault((one.statement.start, one.statement.end), one)
    _stop_shown(dofile, following, by_start)
    _pass_constants(dofile, following, by_start)
    calls = _point_calls(dofile, by_start, place_call)
    notes = ProgramNotes(text=dofile.text)
    wording = texts_of("discreet_fire.rewriting", "wording", language)["command"]
    edits = _edits(dofile, decisions, wording, notes)
    exits = (
        one.end for one in dofile.statements
        if one.canonical == "exit"
        and not (one.prefixes or one.depth or one.in_program or one.joined or one.block)
    )  # fmt: skip
    end = next(exits, len(dofile.text))  # findings of reading matter less in notes behind it
    findings = [
        replace(one, severity=Severity.INFO) if one.start > end and one.rule in _OF_READING else one
        for one in (*dofile.findings, *_findings(decisions, notes.lines))
    ]
    if not following.settled:
        message = "names hold each other in so many steps that values cannot be followed"
        findings.append(notes.lines.finding("entangled", Severity.ERROR, message, 0, 0))
    return Rewriting(
        text=applied(dofile.text, edits),
        edits=tuple(edits),
        findings=tuple(sorted(findings, key=lambda one: (one.start, -one.severity.rank, one.rule))),
        calls=tuple(calls),
    )


def _stop_shown(
    dofile: DoFile, following: FigureFlow, decisions: dict[tuple[int, int], Decision]
) -> None:
    originals, copying = described_originals(following), copies_of_chosen(following)
    for (start, _), joining in decisions.items():
        if start in copying:
            message = f"{joining.statement.canonical}: it may copy values of few records to many"
            joining.note("copies", Severity.REVIEW, message)
    for shown in StatementJudge(following).shown():
        statement = shown.statement
        decision = decisions.get((statement.start, statement.end))
        if decision is None or (statement.start in originals and shown.what == MADE_OF_VALUES.what):
            continue
        name = statement.canonical or (statement.command.text if statement.command else "command")
        if shown.action is Action.REFUSED:
            decision.refuse("shown", name, f"it shows {shown.what}")
        elif shown.action is Action.REVIEW:
            message = f"{name}: it may show {shown.what}"
            decision.note("shown", Severity.REVIEW, message)
        for start, end in shown.scalars:
            after = f"scalar({dofile.text[start:end]})"
            reason = "a variable of the same name would show its first value"
            decision.changes.append(WordChange(start, end, after, "scalar", name, reason))


def _pass_constants(
    dofile: DoFile, following: FigureFlow, decisions: dict[tuple[int, int], Decision]
) -> None:
    earlier = False
    folders: set[str] = set()
    for part, _ in following.placed:
        decision = decisions.get((part.statement.start, part.statement.end))
        earlier = judged_graph(part, earlier)
        if decision is None or not decision.notes or decision.refused is not None:
            continue
        clean = part.name == "post" and following.tells_nothing(part)
        clean = clean or draws_judged(part, dofile, earlier)
        clean = clean or (not following.taints.replaced and keeps_records(part, dofile, folders))
        if clean or holds_no_data(part, dofile, following.known, following.temporary_files):
            decision.notes = [note for note in decision.notes if note.rule not in _OF_COMMAND]


def _point_calls(
    dofile: DoFile,
    decisions: dict[tuple[int, int], Decision],
    place_call: Callable[[CalledFile], CalledFile] | None,
) -> list[CalledFile]:
    calls = []
    for statement in statements_of(dofile):
        if statement.canonical not in CALLERS and statement.canonical != "log":
            continue
        decision = decisions.get((statement.start, statement.end))
        if statement.canonical == "log" and decision is not None:
            action, reason = written_place(statement, dofile)
            if action is Action.REFUSED:
                decision.refuse("path", "log", reason)
            elif action is Action.REVIEW:
                decision.note("path", Severity.REVIEW, f"log: {reason}")
        call = called_files(statement, dofile)
        if call is None or decision is None:
            continue
        if place_call is not None and call.action is not Action.REFUSED:
            call = place_call(call)
        calls.append(call)
        if call.action is Action.REFUSED:
            decision.refuse("path", call.command, call.reason)
            continue
        if call.action is Action.REVIEW:
            decision.note("path", Severity.REVIEW, f"{call.command}: {call.reason}")
        if (change := pointed_call(call)) is not None:
            decision.changes.append(change)
    return calls


def _edits(
    dofile: DoFile, decisions: Iterable[Decision], wording: str, notes: ProgramNotes
) -> list[Edit]:
    newline = newline_of(dofile.text)
    out: list[tuple[int, int, Decision]] = []
    single: dict[tuple[int, int], WordChange] = {}
    covered = 0
    for decision in sorted(decisions, key=lambda one: one.statement.start):
        if decision.refused is not None and decision.statement.end > covered:
            start, end = _refused_span(dofile, decision.statement)
            out.append((start, end, decision))
            covered = max(covered, end)
        for change in decision.changes:
            single.setdefault((change.start, change.end), change)
    merged = _merged(out)
    for start, end, decision in merged:
        after = _comment(dofile, start, end, decision.statement, wording, newline)
        assert decision.refused is not None
        rule, command, reason = decision.refused
        notes.replace((start, end), after, rule, command, Action.REFUSED, reason)
    starts = [start for start, _, _ in merged]
    for change in single.values():
        at = bisect_left(starts, change.start + 1) - 1
        if at < 0 or merged[at][1] <= change.start:
            start, end, after, rule, command, reason = change
            notes.replace((start, end), after, rule, command, Action.WRAPPED, reason)
    return sorted(notes.edits, key=lambda edit: (edit.start, edit.end))


def _refused_span(dofile: DoFile, statement: DoStatement) -> tuple[int, int]:
    """What is commented out: all but a condition in front and a comment at the end."""
    start = statement.start
    for at, prefix in enumerate(statement.prefixes):
        if prefix.canonical in _CONDITIONS:
            words = [*statement.prefixes[at + 1 :], statement.command]
            start = next((word.start for word in words if word is not None), start)
    end = _without_comment(dofile.text, statement, start)
    if not statement.semicolons:
        start, end = _with_chain(dofile, statement, start, end)
    return _with_block(dofile, statement, start, end)


def _without_comment(text: str, statement: DoStatement, start: int) -> int:
    end = statement.end
    for span in reversed(statement.spans):
        if span.kind == "comment" and span.end == end and span.start > start:
            end = start + len(text[start : span.start].rstrip())
    return end


def _with_chain(dofile: DoFile, statement: DoStatement, start: int, end: int) -> tuple[int, int]:
    """With what follows behind ``;`` after ``mi xeq:``, and the ``;`` in front."""
    text = dofile.text
    if statement.joined and text[max(start - 50, 0) : start].rstrip().endswith(";"):
        start = text.rindex(";", 0, start)
    following = _CHAINED.match(text, end)
    while following is not None:
        at = bisect_left(dofile.statements, following.end(), key=lambda one: one.start)
        if at >= len(dofile.statements) or dofile.statements[at].start != following.end():
            break
        end = _without_comment(dofile.text, dofile.statements[at], end)
        following = _CHAINED.match(text, end)
    return start, end


def _with_block(dofile: DoFile, statement: DoStatement, start: int, end: int) -> tuple[int, int]:
    if BODIES.get(statement.canonical or "") not in ("block", "text"):
        return start, end
    at = bisect_left(dofile.statements, statement.start, key=lambda one: one.start) + 1
    while at < len(dofile.statements) and dofile.statements[at].block:
        end = dofile.statements[at].end
        at += 1
    return start, end


def _merged(spans: Sequence[tuple[int, int, Decision]]) -> list[tuple[int, int, Decision]]:
    merged: list[tuple[int, int, Decision]] = []
    for start, end, decision in sorted(spans, key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            first, last, kept = merged[-1]
            merged[-1] = (first, max(last, end), kept)
        else:
            merged.append((start, end, decision))
    return merged


def _comment(
    dofile: DoFile, start: int, end: int, statement: DoStatement, wording: str, newline: str
) -> str:
    body = start > statement.start
    joins = None  # where the ``///`` is with which it ends
    if statement.spans and not (body or statement.semicolons):
        kind, first, last = statement.spans[-1]
        joins = first if kind == "continuation" and last >= end and first > start else None
    return commented(
        dofile.text,
        start,
        end,
        wording=wording,
        newline=newline,
        semicolons=statement.semicolons,
        body=body,
        opens=statement.opens and end == statement.end,
        joins=joins,
    )


def _findings(decisions: Iterable[Decision], lines: Lines) -> list[Finding]:
    by_place: dict[tuple[str, int, int, str], StatementNote] = {}
    decisions = list(decisions)
    gone = {one.statement.end: one.statement.start for one in decisions if one.refused}
    for decision in decisions:
        statement = decision.statement
        # What is commented out needs no look, in whatever way it is read.
        moot = gone.get(statement.end, statement.end) <= statement.start
        notes = [] if moot else decision.notes
        if decision.refused:
            rule, command, reason = decision.refused
            message = f"{command}: {reason}"
            place = (statement.start, statement.end)
            notes = [*notes, StatementNote(rule, Severity.REFUSED, message, *place)]
        by_place |= {(note.rule, note.start, note.end, note.what): note for note in notes}
    return [lines.finding(*note) for note in by_place.values()]
