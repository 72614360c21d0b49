"""Reviewed outputs: for each its lines of the program, its text with what is hidden in it, what was
found about it, and what would give it away. CONFIDENTIAL.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet_fire.queue import OutputPart, StageFinding
from discreet_service.reviews import SubmissionReport

#: Outputs on one page, letters that are shown of each and of all, and lines of each and of a log:
#: what fits into a page of 150 kB.
SIZE = 20
_LETTERS, _ALL_LETTERS, _LINES, _LOG_LINES, _LONGEST_LINE = 6_000, 40_000, 60, 250, 300
#: Findings beside one output.
_BESIDE = 6
#: Broken rules in figures beside one output.
_FIGURES = 40
#: Findings that somebody has to weigh.
_GRAVE = ("error", "review")
#: Lines that say that something is hidden, and a figure that is hidden or missing.
_HIDDEN = re.compile(r"\. withheld for confidentiality|\(output withheld\)|(?<!\S)[.#](?!\S)")
_HEAD = re.compile(r"\*!? FDZ\b")
#: A table of a sentence: of another submission or of this one, with its line and command.
_TABLE = re.compile(r"(?:submission (\d+), )?(?:.*?, )?line (\d+), ([^:]+?)(?:: .*)?", re.DOTALL)
_DIFFERENCE = re.compile(
    r"(.+) (differs?) from (.+) by fewer units than the minimum"
    r"(?:, released as (\d+(?: and \d+)*))?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table as people name it: by its command."""

    command: str  # The command, or all that is said of it where none is known
    line: int = 0  # Its line; 0 if it is not known
    submission: int = 0  # Whose; 0 for the one that is reviewed
    output: int = 0  # Its output, of the one that is reviewed

    @classmethod
    def of(cls, text: str, parts: Sequence[OutputPart]) -> NamedTable:
        """The table of a sentence."""
        read = _TABLE.fullmatch(text)
        if read is None:
            return cls(text)
        line, submission = int(read[2]), int(read[1] or 0)
        output = next((one.number for one in parts if not submission and one.lines is not None
                       and one.lines[0] <= line < one.lines[1]), 0)  # fmt: skip
        return cls(read[3], line, submission, output)


@dataclass(frozen=True, slots=True)
class DifferingPair:
    """Two tables that differ by few units, in so many cells."""

    tables: tuple[NamedTable, ...]
    sentences: list[str]  # One of each cell
    released: bool  # Whether one of them is released now


def command_of(part: OutputPart) -> str:
    """The command of an output as it was written: safe commands begin with fdz."""
    return part.title.removeprefix("fdz")


@dataclass(frozen=True, eq=False, repr=False)
class ReviewSheet:
    """A submission as it is laid before a reviewer. CONFIDENTIAL."""

    report: SubmissionReport  # All of it

    @cached_property
    def _handed(self) -> list[str]:
        return self.report.program.splitlines()

    @cached_property
    def _ran(self) -> list[str]:
        """The program to which the lines of outputs belong: as it ran, or as it was handed in."""
        rewritten, handed = self.report.rewritten.splitlines(), self._handed
        fits, other = (
            sum(one.lines is not None and one.lines[0] <= len(lines)
                and lines[one.lines[0] - 1].strip().startswith(one.title)
                for one in self.report.view.row.standing.parts)
            for lines in (rewritten, handed)
        )  # fmt: skip
        return rewritten if rewritten and fits >= other else handed

    @cached_property
    def _head(self) -> int | None:
        """Lines that stand above the program as it was handed in; None if others were added."""
        if self._ran is self._handed:
            return 0
        head = next((n for n, line in enumerate(self._ran) if not _HEAD.match(line)), 0)
        return head if len(self._ran) == len(self._handed) + head else None

    def _line_of(self, one: StageFinding) -> int:
        """The line of the program that a finding is about; 0 if that is not known."""
        if one.stage == "run" and self.report.rewritten and self._ran is not self._handed:
            return 0 if self.report.view.called(one) else one.line
        if one.stage == "rewrite" and one.line and self._head is not None:
            return one.line + self._head if one.file == self.report.view.row.program else 0
        return 0

    def output_of(self, one: StageFinding) -> int:
        """The output that a finding is about; 0 if none is known."""
        if one.stage == "session" and one.line:  # its line is the number of its output
            name = f"{one.line:03d} "
            parts = self.report.view.row.standing.parts
            return next((part.number for part in parts if part.file.startswith(name)), 0)
        called = self.report.view.called(one) if one.stage == "run" else ""
        line = one.line if called else self._line_of(one)
        parts = self.report.view.row.standing.parts
        return next((part.number for part in parts if part.is_at(called, line)), 0)

    @cached_property
    def about(self) -> dict[int, list[StageFinding]]:
        """Findings by the output that they are about."""
        found: dict[int, list[StageFinding]] = {}
        for one in self.report.view.findings:
            found.setdefault(self.output_of(one), []).append(one)
        return found

    def before(self) -> Sequence[dict[str, Any]]:
        """The lines of the program that stand before those of the first output."""
        starts = [
            one.lines[0] for one in self.report.view.row.standing.parts if one.lines is not None
        ]
        return self._lines(1, min(starts, default=len(self._ran) + 1))[: _LINES * 2]

    def _lines(self, first: int, behind: int) -> Sequence[dict[str, Any]]:
        """Lines of the program that ran, with what was handed in in the place of others."""
        wrong = {self._line_of(one) for one in self.report.view.findings}
        head, lines = self._head, []
        for number in range(first, min(behind, len(self._ran) + 1)):
            text, before = self._ran[number - 1], None
            if head is not None and number > head and self._handed[number - head - 1] != text:
                before = self._handed[number - head - 1][:_LONGEST_LINE]
            lines.append({"number": number, "text": text[:_LONGEST_LINE], "before": before,
                          "wrong": number in wrong})  # fmt: skip
        return lines

    def outputs(self, start: int) -> Iterator[dict[str, Any]]:
        """The outputs of a page, each with all that a reviewer must know of it."""
        report, left = self.report, _ALL_LETTERS
        standing = report.view.row.standing
        for part in standing.parts:
            if not start <= part.number < start + SIZE:
                continue
            # Its place among the files, if it is a picture: those are fetched, not shown.
            files = [(one.role, one.name) for one in report.files]
            wanted = ("output", part.file)
            is_picture = part.file.lower().endswith(".svg") and wanted in files
            text = "" if is_picture else report.outputs.get(part.number, "")
            most = min(_LETTERS, left)
            left -= min(len(text), most)
            first, behind = part.lines or (1, 1)
            lines = self._lines(first, behind)
            yield {
                "part": part,
                "command": command_of(part),
                "lines": lines[:_LINES],  # of the program; empty if they are not known
                "more_lines": max(len(lines) - _LINES, 0),
                "picture": files.index(wanted) if is_picture else None,
                # Its text in pieces, and whether each is something hidden or missing.
                "pieces": _pieces(text[:most].rstrip("\n")),
                "letters": len(text),
                "cut": len(text) > most,
                "hidden": sum(len(one) == 1 for one in _HIDDEN.findall(text)),
                "findings": self.about.get(part.number, ())[:_BESIDE],
                "figures": self._figures_of(part),
                "differences": tuple(self._differences_of(part))[:_BESIDE],
                # What would give it away if it alone were held back.
                "if_held": report.if_held.get(part.number, ()),
                "decision": standing.decisions.get(part.number),
                "clean": self.is_clean(part),
            }

    def causes(self, most: int) -> list[dict[str, Any]]:
        """Findings by their causes, the gravest first; differences are shown elsewhere.

        Findings come with the output that they are about, 0 if none is known; their hint is said
        once if it is the same for all.
        """
        grouped: dict[tuple[str, str, str], list[StageFinding]] = {}
        for one in self.report.view.findings[:most]:
            if one.rule != "difference":
                grouped.setdefault(((one.stage, one.rule, one.severity.value)), []).append(one)
        causes = []
        for (stage, rule, severity), alike in grouped.items():
            first, *others = {one.hint for one in alike}
            findings = [(one, self.output_of(one)) for one in alike]
            causes.append({"stage": stage, "rule": rule, "severity": severity,
                           "hint": "" if others else first, "findings": findings})  # fmt: skip
        return causes

    def differences(self) -> tuple[list[str], list[str]]:
        """Differences to what is released now, and others that were found when it came in."""
        now = list(self.report.view.conflicts)
        noted = (one.what for one in self.report.view.findings if one.rule == "difference")
        return now, [what for what in dict.fromkeys(noted) if what not in now]

    def pairs(self) -> list[DifferingPair]:
        """Pairs of tables that differ by few units, each once, those released now first."""
        now, noted = self.differences()
        parts = self.report.view.row.standing.parts
        pairs: dict[tuple[NamedTable, ...], DifferingPair] = {}
        for sentence in (*now, *noted):
            read = _DIFFERENCE.fullmatch(sentence)
            names = [sentence] if read is None else [read[1], read[3]]
            tables = tuple(NamedTable.of(name, parts) for name in names)
            pair = pairs.setdefault(tables, DifferingPair(tables, [], sentence in now))
            if not any(longer.startswith(sentence) for longer in pair.sentences):
                pair.sentences.append(sentence)
        return list(pairs.values())

    def _against(self, number: int) -> bool:
        """Whether something that was found speaks against an output; 0 for what is about none."""
        return any(one.severity.value in _GRAVE for one in self.about.get(number, ()))

    def is_clean(self, part: OutputPart) -> bool:
        """Whether nothing was found that speaks against an output, nor against all together."""
        spoken = self._against(part.number) or self._against(0)
        return not spoken and not any(self._differences_of(part))

    @property
    def nothing_found(self) -> bool:
        """Whether nothing at all speaks against a submission."""
        parts = self.report.view.row.standing.parts
        return not any(self.differences()) and all(map(self.is_clean, parts))

    def _figures_of(self, part: OutputPart) -> tuple[Sequence[Mapping[str, Any]], int]:
        first, behind = part.lines or (0, 0)
        facts = [
            fact
            for one in self.report.figures
            if first <= one["line"] < behind
            for fact in one["facts"]
        ]
        return facts[:_FIGURES], max(len(facts) - _FIGURES, 0)

    def _differences_of(self, part: OutputPart) -> Iterator[str]:
        now, noted = self.differences()
        for sentence in (*now, *noted):
            match = _DIFFERENCE.fullmatch(sentence)
            own = match is not None and not match[4] and part.covers(match[3])
            if own or part.covers(sentence):
                yield sentence

    def log_lines(self) -> tuple[list[tuple[str, bool]], int]:
        """Lines of the log as it was written, whether each was changed; and how many follow."""
        lines = self.report.log.splitlines()
        kept = Counter(self.report.cleaned.splitlines())
        found = []
        for line in lines[:_LOG_LINES]:
            changed = kept[line] <= 0
            kept[line] -= 1
            found.append((line[:_LONGEST_LINE], changed))
        return found, max(len(lines) - _LOG_LINES, 0)


def _pieces(text: str) -> tuple[tuple[str, bool], ...]:
    found, at = [], 0
    for hit in _HIDDEN.finditer(text):
        found += [(text[at : hit.start()], False), (hit[0], True)]
        at = hit.end()
    return tuple(one for one in (*found, (text[at:], False)) if one[0])
