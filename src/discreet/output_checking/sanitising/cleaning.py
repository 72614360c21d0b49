"""A log made safe to hand out, with a list of what was changed.

In: the text of a log (CONFIDENTIAL). Out: `CleanedLog`: the text without what leaks, the
places of all changes, findings for a person. Nothing outside the listed places is changed;
a cleaned log that is cleaned again stays the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.output_checking.findings import Finding, Severity
from discreet.output_checking.pausing import uncollected
from discreet.output_checking.sanitising.applying import Change, Moves, applied, changes_of
from discreet.output_checking.sanitising.claims import Cut
from discreet.output_checking.sanitising.echoes import Block, blocks_of
from discreet.output_checking.sanitising.lines import LogLine, log_lines
from discreet.output_checking.sanitising.messages import Passages, observation_numbers
from discreet.output_checking.sanitising.outputs import WITHHELD, Judgement, judged
from discreet.output_checking.sanitising.rules import CleaningRules
from discreet.output_checking.texts import Lines

__all__ = ["CleanedLog", "Correction", "clean_log", "is_smcl"]

_SMCL_START = "{smcl}"
_MOST_ROUNDS = 6
_SHOWN_NAMES = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Correction:
    """One change, without what stood there before.

    Args:
        rule: Name of the rule.
        line: Line of the cleaned log, counted from 1.
        start: Where it started, in characters from 0. CONFIDENTIAL, as it tells lengths.
        end: Where it ended. CONFIDENTIAL.
        put: What stands there now.
        round: 1 for places of the original; a later round looks at the result of the one
            before.
    """

    rule: str
    line: int
    start: int = field(repr=False)
    end: int = field(repr=False)
    put: str
    round: int

    def to_dict(self) -> dict[str, Any]:
        """The change as plain values; not how long the text was that stood there."""
        return {"rule": self.rule, "line": self.line, "put": self.put.strip()}


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanedLog:
    """A cleaned log and what was done.

    Args:
        text: The log as it may be looked at further; review findings first.
        smcl: Whether it is written in SMCL.
        corrections: All changes, in order.
        removed: What stood there, one for each change. CONFIDENTIAL.
        findings: What a person must look at; lines are those of the cleaned log.
        blocks: How many blocks of output are safe, cleaned, withheld or for review.
    """

    text: str = field(repr=False)
    smcl: bool
    corrections: tuple[Correction, ...]
    removed: tuple[str, ...] = field(repr=False)
    findings: tuple[Finding, ...]
    blocks: dict[str, int]

    @property
    def needs_review(self) -> bool:
        """Whether a person must look at something."""
        return any(finding.severity.rank >= Severity.REVIEW.rank for finding in self.findings)


def is_smcl(text: str, suffix: str = "") -> bool:
    r"""Whether a log is written in SMCL: it says so in its first line.

    >>> is_smcl("{smcl}\n{com}. su x"), is_smcl(". su x")
    (True, False)
    """
    return text.lstrip().startswith(_SMCL_START) or suffix.lower() == ".smcl"


@uncollected()
def clean_log(
    text: str, rules: CleaningRules | None = None, *, smcl: bool | None = None
) -> CleanedLog:
    r"""Take out of a log what tells about single cases.

    Args:
        text: The log. CONFIDENTIAL.
        rules: What to take out; the rules of the package by default.
        smcl: Whether it is written in SMCL; by default it says so itself.

    >>> cleaned = clean_log(". replace x = 1 if id == 7\n(1 real change made)\n")
    >>> print(cleaned.text)
    . replace x = 1 if id == 7
    (# real changes made)
    >>> [correction.rule for correction in cleaned.corrections]
    ['changes']
    """
    passages = Passages(rules or CleaningRules.default())
    in_smcl = is_smcl(text) if smcl is None else smcl
    rounds: list[_Round] = []
    texts = [text]
    while len(rounds) < _MOST_ROUNDS:
        rounds.append(_round(texts[-1], passages, smcl=in_smcl))
        if not rounds[-1].changes:
            break
        texts.append(applied(texts[-1], rounds[-1].changes))
    findings = rounds[0].findings
    if rounds[-1].changes:
        findings.append(_restless(text))
    places = Lines(texts[-1])
    moves = [Moves(one.changes) for one in rounds]
    return CleanedLog(
        text=texts[-1],
        smcl=in_smcl,
        corrections=tuple(_corrections(rounds, moves, places)),
        removed=tuple(
            before[change.start : change.end]
            for before, one in zip(texts, rounds, strict=False)
            for change in one.changes
        ),
        findings=tuple(_moved(finding, moves, places) for finding in findings),
        blocks=rounds[0].blocks,
    )


def _corrections(
    rounds: Sequence[_Round], moves: Sequence[Moves], places: Lines
) -> Iterator[Correction]:
    for number, one in enumerate(rounds):
        for change in one.changes:
            line, _ = places.place(_end_place(change.start, moves[number:]))
            yield Correction(
                rule=change.rule,
                line=line,
                start=change.start,
                end=change.end,
                put=change.put,
                round=number + 1,
            )


def _moved(finding: Finding, moves: Sequence[Moves], places: Lines) -> Finding:
    """A finding with its place in the cleaned log, which tells no length of what is gone."""
    start, end = (_end_place(place, moves) for place in (finding.start, finding.end))
    line, column = places.place(start)
    return replace(finding, line=line, column=column, start=start, end=end)


def _end_place(place: int, moves: Sequence[Moves]) -> int:
    for move in moves:
        place = move.place(place)
    return place


@dataclass(slots=True)
class _Round:
    """What one look at a log finds."""

    changes: list[Change]
    findings: list[Finding]
    blocks: dict[str, int]


def _round(text: str, passages: Passages, *, smcl: bool) -> _Round:
    lines = log_lines(text, smcl=smcl)
    places = Lines(text)
    cuts: list[Cut] = []
    withheld: list[tuple[int, int]] = []
    findings: list[Finding] = []
    blocks = dict.fromkeys(("silent", "safe", "cleaned", "withheld", "review"), 0)
    for block in blocks_of(lines):
        found = judged(lines, block, passages)
        more = list(_known_passages(lines, block, found, passages))
        cuts += found.cuts + more
        withheld += found.withheld
        notes = list(_findings(lines, block, found, passages, places))
        findings += notes
        blocks[_state(lines, block, found, more, notes)] += 1
    findings += _hidden(lines, places)
    gone = [_withheld(lines, *span, smcl=smcl) for span in withheld]
    return _Round(_merged(gone, changes_of(lines, cuts)), findings, blocks)


def _known_passages(
    lines: Sequence[LogLine], block: Block, found: Judgement, passages: Passages
) -> Iterator[Cut]:
    """Messages, paths and texts of the centre's own list."""
    for at in block.echo:
        yield from passages.in_command(lines[at].text, at)
        yield from observation_numbers(lines[at].text, at)
    for at in range(block.start, block.end):
        if at in found.tabled:
            yield from passages.everywhere(lines[at].text, at)
        else:
            yield from passages.in_output(lines[at].text, at)


def _withheld(lines: Sequence[LogLine], first: int, last: int, *, smcl: bool) -> Change:
    put = f"{{txt}}{WITHHELD}" if smcl else WITHHELD
    return Change(lines[first].start, lines[last].end, put, "withheld")


def _merged(whole: list[Change], single: list[Change]) -> list[Change]:
    """All changes in order; inside what goes as a whole there are no others."""
    found: list[Change] = []
    end = -1
    for change in sorted([*whole, *single], key=lambda one: (one.start, -one.end)):
        if change.start >= end:
            found.append(change)
            end = change.end
    return found


def _state(
    lines: Sequence[LogLine],
    block: Block,
    found: Judgement,
    cuts: Sequence[Cut],
    notes: Sequence[Finding],
) -> str:
    if notes:
        return "review"
    if found.withheld:
        return "withheld"
    if found.cuts or cuts:
        return "cleaned"
    shown = any(lines[at].text.strip() for at in range(block.start, block.end))
    return "safe" if shown else "silent"


def _findings(
    lines: Sequence[LogLine],
    block: Block,
    found: Judgement,
    passages: Passages,
    places: Lines,
) -> Iterator[Finding]:
    """What a person must look at in one block."""
    if found.unknown:
        names = ", ".join(block.names[:_SHOWN_NAMES]) or "no command"
        count = len(found.unknown)
        some = "a line" if count == 1 else f"{count} lines"
        what = f"{some} of output that no rule knows, after: {names}"
        yield _note(lines, found.unknown[0], places, "unknown-output", what)
    for at, why in found.reasons:
        yield _note(lines, at, places, "doubtful-output", why)
    for at in range(block.start, block.end):
        if at in found.tabled:
            continue
        for name, why in passages.reviews(lines[at].text):
            yield _note(lines, at, places, name, why)


def _hidden(lines: Sequence[LogLine], places: Lines) -> Iterator[Finding]:
    """SMCL that carries figures nobody sees."""
    for at, line in enumerate(lines):
        if line.hidden:
            what = "SMCL with figures that are not shown to a reader"
            yield _note(lines, at, places, "hidden-text", what)


def _note(lines: Sequence[LogLine], at: int, places: Lines, rule: str, what: str) -> Finding:
    hint = "look at it before the log is released"
    start, end = lines[at].start, lines[at].end
    return places.finding(rule, Severity.REVIEW, what, start, end, hint)


def _restless(text: str) -> Finding:
    what = "the centre's list finds again what it has put itself"
    hint = "look for a text to put that holds another text to find"
    return Lines("").finding("own-list", Severity.REVIEW, what, 0, len(text), hint)
