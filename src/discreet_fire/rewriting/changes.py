"""Changes of a program, by place, and what an officer is told of them.

In: spans in characters. Out: `Edit`s that do not overlap, and `Finding`s; the new text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from discreet_fire.catalogue import Action
from discreet_fire.findings import Finding, Severity
from discreet_fire.rewriting.called_files import CalledFile
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
