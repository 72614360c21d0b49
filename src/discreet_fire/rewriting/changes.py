"""Changes of a program, by place, and what an officer is told of them.

In: spans in characters. Out: `Edit`s that do not overlap, and `Finding`s; the new text. What is
alike in programs of SPSS and SAS is here, too: how a part of a command is judged by the catalogue,
what becomes a comment, and which programs one runs.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, Literal, NamedTuple, TypeVar

from discreet.files import texts_of
from discreet_fire.catalogue import Action, CommandRule, ScriptPolicy
from discreet_fire.findings import Finding, Severity
from discreet_fire.rewriting.called_files import SUFFIX, CalledFile
from discreet_fire.scripts import PackageSyntaxError, PackageToken, SasStatement, SpssCommand
from discreet_fire.texts import Lines

Language = Literal["en", "de"]


class Edit(NamedTuple):
    """One place where the old text was changed (characters from 0, its line from 1), and by which
    rule.

    The command is named in full; the action is whether it was wrapped or refused.
    """

    start: int
    end: int
    before: str
    after: str
    rule: str
    command: str
    action: Action
    reason: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Rewriting:
    """What became of a do-file: the new text without a header, every change in the order of the
    text, what an officer must know, and the do-files that it runs.
    """

    text: str = field(repr=False)
    edits: tuple[Edit, ...]
    findings: tuple[Finding, ...]
    calls: tuple[CalledFile, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether a finding forbids running the program at all."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def needs_review(self) -> bool:
        """Whether an officer must look at it."""
        return any(finding.severity is Severity.REVIEW for finding in self.findings)


_REST = re.compile(r"[ \t\f]*(?:#|[\r\n]|\Z)")


@dataclass(kw_only=True)
class ProgramNotes:
    """Edits and findings of one text, as they are found."""

    text: str = field(repr=False)
    edits: list[Edit] = field(default_factory=list)
    spans: set[tuple[int, int]] = field(default_factory=set)
    findings: dict[tuple[int, int, str, str], Finding] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lines = Lines(self.text)

    def find(
        self, rule: str, severity: Severity, what: str, span: tuple[int, int], hint: str = ""
    ) -> None:
        """Note a finding, once for each place."""
        finding = self.lines.finding(rule, severity, what, *span, hint)
        self.findings.setdefault((*span, rule, what), finding)

    def give_up_syntax(self, what: str, at: int, hint: str = "") -> None:
        """Note that the text cannot be parsed, in place of all edits."""
        self.edits.clear()
        hint = hint or "correct the script; nothing was written"
        self.find("syntax", Severity.ERROR, what, (at, at), hint)

    def give_up_deep(self) -> None:
        """Note that the text is too much to read, in place of all edits."""
        self.edits.clear()
        message = "the code is nested too deeply to be read"
        self.find("too-deep", Severity.ERROR, message, (0, 0), "write it in smaller parts")

    def last_on_line(self, end: int) -> bool:
        """Whether nothing but blanks or a comment follows on the line."""
        return _REST.match(self.text, end) is not None

    def replace(
        self, span: tuple[int, int], after: str, rule: str, name: str, action: Action, reason: str
    ) -> None:
        """Note an edit."""
        start, end = span
        self.spans.add(span)
        line, _ = self.lines.place(start)
        edit = Edit(start, end, self.text[start:end], after, rule, name, action, reason, line)
        self.edits.append(edit)

    def taken_out(self) -> Callable[[tuple[int, int]], bool]:
        """Which passages are commented out, or do not run: these need no look."""
        spans: list[tuple[int, int]] = []
        for edit in sorted(self.edits, key=lambda e: (e.start, -e.end)):
            new = edit.action is Action.REFUSED and (not spans or edit.end > spans[-1][1])
            spans += [(edit.start, edit.end)] if new else []

        def is_inside(span: tuple[int, int]) -> bool:
            at = bisect_right(spans, span[0], key=lambda one: one[0]) - 1
            return at >= 0 and span[0] < span[1] <= spans[at][1]

        return is_inside

    def rewriting(self) -> Rewriting:
        """The new text, with the outermost of nested edits; the graver of two in one place."""
        kept: list[Edit] = []
        # An insertion goes before what is replaced in the same place.
        order = sorted(self.edits, key=lambda e: (e.start, e.end > e.start, -e.end, -e.action.rank))
        for edit in order:
            if not kept or edit.start >= kept[-1].end:
                kept.append(edit)
            elif kept[-1].action is Action.WRAPPED and edit.action is Action.REFUSED:
                # A safe call holds its arguments as they were written.
                after = kept[-1].after.replace(edit.before, edit.after) if edit.before else ""
                kept[-1] = kept[-1]._replace(after=after or kept[-1].after)
        moot = self.taken_out()
        left = (
            one for one in self.findings.values()
            if one.severity is not Severity.REVIEW or not moot((one.start, one.end))
        )  # fmt: skip
        findings = sorted(left, key=lambda f: (f.start, -f.severity.rank, f.rule))
        return Rewriting(text=applied(self.text, kept), edits=tuple(kept), findings=tuple(findings))


def comment_words(text: str) -> str:
    r"""Code as words of a comment in one line.

    >>> comment_words("print(\n    df)\n")
    'print( df)'
    """
    words = " ".join(text.split())
    return "".join(word if word.isprintable() else "?" for word in words)


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made."""
    parts = []
    at = 0
    for edit in edits:
        parts += [text[at : edit.start], edit.after]
        at = edit.end
    parts.append(text[at:])
    return "".join(parts)


def newline_of(text: str) -> str:
    r"""The line end that the text uses first.

    >>> newline_of("a\r\nb")
    '\r\n'
    """
    match = re.search(r"\r\n|\n|\r", text)
    return match.group() if match else "\n"


_Statement = TypeVar("_Statement", SpssCommand, SasStatement)

_NETWORK = re.compile(r"^['\"]?\s*(?:\\\\|//|[a-z]{2,}:/)", re.I)
_PLACE = re.compile(r"^(?!.*(?:^|[\\/])\.\.(?:[\\/]|$))[^:*?|<>&!]+$")
_MOST_WORDS = 160
#: What is found, by the rule that finds it; `finding_words.toml` has the German.
SAID = {
    "unknown": "{name}: no rule for it; it may show anything",
    "part": "{name}: {part} is not permitted",
    "part-unknown": "{name}: no rule for {part} in it",
    "runtime": "{name}: its variables are known at run time only, so no safe macro can check it",
    "statistic": "{name}: a table holds a statistic that no rule knows as safe",
    "list": "{name}: write each variable by its name, so that a safe macro can check it",
    "temporary": "{name}: a temporary choice of records cannot be checked: use FILTER BY",
    "split": "{name}: under SPLIT FILE no safe macro checks each group",
    "reason": "{name}: {reason}",
    "called": "{name}: the file it runs is not in the submission",
    "network": "{name}: names a place of the network",
    "record": "{name}: takes a value from another record, or one record by its number",
    "carries": "{name}: carries a value from record to record",
    "picks": "{name}: gives single values to many records",
    "tells": "{name}: a message about a wrong value may quote it",
    "text": "{name}: makes program text out of pieces",
    "reserved": "names that begin with fire_ belong to the safe macros",
    "macro": "the macro {name} has the name of a command, or is called without !",
    "shown": "{name}: shows a value that comes from data",
    "holds": "{name}: holds a value that comes from data",
    "function": "{name}: the function {part} reaches files, the system, or is not known",
    "dataset": "{name}: name the data set with data=, so that a safe macro can check it",
    "twice": "{name}: the same record may be written several times, and count several times",
    "quotes": "{name}: a quotation mark in a comment is read differently within a macro",
    "unclosed": "{name}: a quotation mark is not closed, so that its end is not certain",
    "syntax": "the program cannot be read: {what}",
}
#: A passage: a command, a statement, or its start and end.
_Where = SpssCommand | SasStatement | tuple[int, int]
_SEVERITY = {Action.REVIEW: Severity.REVIEW, Action.REFUSED: Severity.REFUSED}


@dataclass(kw_only=True)
class PackageProgram(ProgramNotes, ABC, Generic[_Statement]):
    """A program in SPSS or SAS, with findings and edits as they are made."""

    policy: ScriptPolicy  # the rules
    language: Language  # of what is written and told
    folder: Path | None  # where the program lies; other programs in it, or below, may be run
    calls: list[CalledFile] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.newline = newline_of(self.text)
        self.wording = texts_of("discreet_fire.rewriting", "wording", self.language)["code"]

    def rewritten(self, parse: Callable[[str], Sequence[_Statement]]) -> Rewriting:
        """Judge all statements."""
        try:
            statements = parse(self.text)
        except PackageSyntaxError as error:
            span = (error.at, error.at)
            self.find("syntax", Severity.ERROR, SAID["syntax"].format(what=error.what), span)
        else:
            self.judge(statements)
        return self.rewriting()

    @abstractmethod
    def judge(self, statements: Sequence[_Statement]) -> None:
        """Note all that is to be said and changed."""

    def check_reserved(self, statement: SpssCommand | SasStatement) -> None:
        """Names of the safe macros may not be given by a program."""
        named = (one.upper.lstrip("!%&_") for one in statement.tokens if one.kind != "text")
        if any(name.startswith("FIRE_") for name in named):
            self.find("reserved", Severity.ERROR, SAID["reserved"], _span(statement))

    def say(self, kind: str, action: Action, where: _Where, name: str = "", **filled: str) -> None:
        """Note a finding; what is refused must be taken out by the caller."""
        what = SAID[kind].format(name=name, **filled)
        self.find(kind, _SEVERITY[action], what, _span(where))

    def review_network(self, where: _Where, name: str, tokens: Iterable[PackageToken]) -> None:
        """Note texts that are addresses of the network."""
        if any(token.kind == "text" and _NETWORK.match(token.text) for token in tokens):
            self.review("network", where, name)

    def review(self, kind: str, where: _Where, name: str = "", **filled: str) -> None:
        """Note what an officer looks at."""
        self.say(kind, Action.REVIEW, where, name, **filled)

    def change(
        self,
        kind: str,
        where: _Where,
        after: str,
        rule: CommandRule,
        action: Action = Action.WRAPPED,
    ) -> None:
        """Note what stands in place of a passage that a rule is about."""
        self.replace(_span(where), after, kind, rule.name, action, rule.reason)

    def comment(self, span: tuple[int, int], end: str) -> str:
        """The words of a comment in place of a passage."""
        words = comment_words(self.text[slice(*span)]).replace(end, " ").strip()
        words = words.replace("*/", "* /").replace("/*", "/ *")
        return f"{self.wording}: {words[:_MOST_WORDS].rstrip(' .')}"

    def called(self, command: str, span: tuple[int, int]) -> str | None:
        """The name to run in place of a file; None if that is not in the submission."""
        place = self.text[slice(*span)].strip("'\"").strip()
        stem, dot, suffix = place.rpartition(".")
        if not dot or not _PLACE.match(place) or place.startswith(("/", "\\", "~")):
            return None
        target = None if self.folder is None else self.folder / place.replace("\\", "/")
        if target is None or not target.is_file() or target.is_symlink():
            return None
        start, end = span
        self.calls.append(
            CalledFile(
                command=command,
                path=place,
                start=start,
                end=end,
                written=place,
                action=Action.WRAPPED,
                target=target,
            )
        )
        return place if stem.endswith(SUFFIX) else f"{stem}{SUFFIX}{dot}{suffix}"

    def rewriting(self) -> Rewriting:
        """The new text, with the programs that it runs."""
        return replace(super().rewriting(), calls=tuple(self.calls))


def _span(where: _Where) -> tuple[int, int]:
    return where if isinstance(where, tuple) else (where.start, where.end)
