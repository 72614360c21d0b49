"""A log made safe to hand out, with a list of what was changed.

In: the text of a log (CONFIDENTIAL). Out: `CleanedLog`: the text without what leaks, the
places of all changes, findings for a person. Nothing outside the listed places is changed;
a cleaned log that is cleaned again stays the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate, takewhile
from operator import eq
from typing import Any, NamedTuple

from discreet.files import texts_of
from discreet_fire.findings import Finding, Severity
from discreet_fire.logs.claims import HIDDEN, WITHHELD, LogCut, Passages
from discreet_fire.logs.lines import LogLine, log_lines
from discreet_fire.logs.listings import ListingKind, listing_blocks, listing_kind
from discreet_fire.logs.outputs import add_related_counts, blocks_of, checked_block, judged
from discreet_fire.logs.rules import CleaningRules, RunEvidence
from discreet_fire.texts import Lines, uncollected


class SourceChange(NamedTuple):
    """One stretch of the source that is replaced."""

    start: int  # where it starts, in characters
    end: int  # where it ends
    put: str  # what is put there
    rule: str  # why


def moves_of(changes: Sequence[SourceChange]) -> Callable[[int], int]:
    """Where a place of a text is after some changes; inside one, where what is put starts.

    >>> moves_of([SourceChange(2, 6, "#", "rule")])(8)
    5
    """
    ends = [change.end for change in changes]
    longer = (len(change.put) - (change.end - change.start) for change in changes)
    shifts = list(accumulate(longer, initial=0))

    def moved(place: int) -> int:
        done = bisect_right(ends, place)
        if done < len(changes):
            place = min(place, changes[done].start)
        return place + shifts[done]

    return moved


def changes_of(lines: Sequence[LogLine], cuts: Iterable[LogCut]) -> list[SourceChange]:
    """The changes of the source that carry out some cuts; those that overlap become one."""
    by_line: dict[int, list[LogCut]] = {}
    for cut in cuts:
        by_line.setdefault(cut.line, []).append(_widened(lines[cut.line], cut))
    changes: list[SourceChange] = []
    for number in sorted(by_line):
        apart: list[LogCut] = []
        for cut in sorted(by_line[number], key=lambda cut: (cut.start, -cut.end)):
            if not apart or cut.start >= apart[-1].end:
                apart.append(cut)
            elif cut.end > apart[-1].end:
                apart[-1] = apart[-1]._replace(end=cut.end, put=HIDDEN, align="none")
        for cut in apart:
            changes += _carried_out(lines[number], cut)
    return changes


def _widened(line: LogLine, cut: LogCut) -> LogCut:
    """A cut with the blanks of its column, so that nothing tells how wide a figure was."""

    def fixed(at: int) -> bool:
        """Whether it comes from a column position, which says nothing about a figure."""
        piece = next(line.covering(at, at + 1), None)
        return piece is not None and not piece.literal and piece.fixed

    start, end = cut.start, cut.end
    if cut.align == "right":
        while start > 0 and line.text[start - 1] == " " and not fixed(start - 1):
            start -= 1
        return cut._replace(start=start, put=cut.put.rjust(end - start))
    if cut.align == "none":
        return cut
    while end < len(line.text) and line.text[end] == " " and not fixed(end):
        end += 1
    last = end == len(line.text) or fixed(end)
    return cut._replace(end=end, put=cut.put if last else cut.put.ljust(end - start))


def _carried_out(line: LogLine, cut: LogCut) -> list[SourceChange]:
    """Put the new text where the figure stood; what else belongs to the cut goes."""
    pieces = list(line.covering(cut.start, cut.end))
    # A cut over markup does not put back what stands there: the markup stays in its place. Not
    # where a line goes on: from where it was broken one could tell how long it was before.
    if cut.align == "none" and not line.wraps and len(pieces) > 1:
        before, put = line.text[cut.start : cut.end], cut.put
        head = sum(takewhile(bool, map(eq, before, put)))
        tail = sum(takewhile(bool, map(eq, before[:head:-1], put[:head:-1])))
        put = put[head : len(put) - tail]
        cut = cut._replace(start=cut.start + head, end=cut.end - tail, put=put)
    spans: list[tuple[int, int]] = []
    for piece in line.covering(cut.start, cut.end):
        start, end = piece.start, piece.end
        if piece.literal:
            end = start + min(cut.end - piece.at, piece.width)
            start += max(cut.start - piece.at, 0)
        if end > start and (piece.literal or not piece.fixed):
            spans.append((start, end))
    # The last stretch holds the figure if it is right-aligned, the first if it starts here.
    chosen = len(spans) - 1 if cut.align == "right" else 0
    return [
        SourceChange(start, end, cut.put if at == chosen else "", cut.rule)
        for at, (start, end) in enumerate(spans)
    ]


_SMCL_START = "{smcl}"
_MOST_LOOKS = 6
_SHOWN_NAMES = 4
_SHOWN_LINES = 12
#: States of a block, the gravest first.
_STATES = ("review", "withheld", "cleaned", "safe", "silent")


@dataclass(frozen=True, kw_only=True, slots=True)
class Correction:
    """One change, without what stood there before."""

    rule: str  # name of the rule
    line: int  # line of the cleaned log, counted from 1
    #: Where it started, in characters from 0. CONFIDENTIAL, as it tells lengths
    start: int = field(repr=False)
    end: int = field(repr=False)  # where it ended. CONFIDENTIAL
    put: str  # what stands there now
    round: int  # 1 for places of the original; a later round looks at the result of the one before

    def to_dict(self) -> dict[str, Any]:
        """The change as plain values; not how long the text was that stood there."""
        return {"rule": self.rule, "line": self.line, "put": self.put.strip()}


@dataclass(frozen=True, kw_only=True, slots=True)
class LogFinding(Finding):
    """What a person must look at, for one cause, with all its places."""

    lines: tuple[int, ...]  # its lines in the cleaned log

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values."""
        fields = asdict(self)
        return fields | {"severity": self.severity.value, "lines": list(self.lines)}


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanedLog:
    """A cleaned log and what was done."""

    text: str = field(repr=False)  # the log as it may be looked at further; review findings first
    smcl: bool  # whether it is written in SMCL
    listing: ListingKind | None  # what it is a listing of, if it is one of SPSS or SAS
    corrections: tuple[Correction, ...]  # all changes, in order
    #: What stood there, one for each change. CONFIDENTIAL
    removed: tuple[str, ...] = field(repr=False)
    #: What a person must look at, each cause once; lines are those of the cleaned log
    findings: tuple[LogFinding, ...]
    blocks: dict[str, int]  # how many blocks of output are safe, cleaned, withheld or for review
    checked: bool  # whether there was evidence that its lines were checked as they were made

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
    text: str,
    rules: CleaningRules | None = None,
    *,
    smcl: bool | None = None,
    listing: ListingKind | None = None,
    evidence: RunEvidence | None = None,
) -> CleanedLog:
    r"""Take out of a log what tells about single cases.

    >>> cleaned = clean_log(". replace x = 1 if id == 7\n(1 real change made)\n")
    >>> print(cleaned.text)
    . replace x = 1 if id == 7
    (# real changes made)
    >>> [correction.rule for correction in cleaned.corrections]
    ['changes']
    """
    passages = Passages(rules or CleaningRules.default())
    in_smcl = is_smcl(text) if smcl is None else smcl
    checked = evidence is not None and evidence.covers(text, passages.rules)
    listing = None if in_smcl or checked else listing or listing_kind(text)
    looks: list[_LogLook] = []
    if passages.rules.own_first:
        lines = log_lines(text, smcl=in_smcl)
        cuts = (cut for at, line in enumerate(lines) for cut in passages.own_texts(line.text, at))
        looks.append(_LogLook(text, changes_of(lines, cuts)))
    first = len(looks)
    while len(looks) == first or (looks[-1].changes and len(looks) < first + _MOST_LOOKS):
        before = looks[-1].after if looks else text
        looks.append(_look(before, passages, smcl=in_smcl, checked=checked, listing=listing))
    words = texts_of(__package__, "findings", passages.rules.language)
    findings = looks[first].findings
    if looks[-1].changes:
        whole, hint = (0, len(looks[first].text)), words["again_hint"]
        findings.append(Lines("").finding("own-list", Severity.REVIEW, "again", *whole, hint))
    places = Lines(looks[-1].after)
    moves = [moves_of(one.changes) for one in looks]

    def end_place(place: int, first_move: int) -> int:
        for move in moves[first_move:]:
            place = move(place)
        return place

    corrections: list[Correction] = []
    removed: list[str] = []
    for number, one in enumerate(looks):
        for change in one.changes:
            line, _ = places.place(end_place(change.start, number))
            removed.append(one.text[change.start : change.end])
            corrections.append(Correction(**change._asdict(), line=line, round=number + 1))
    # A place in the cleaned log tells no length of what is gone.
    moved = []
    for finding in findings:
        start, end = (end_place(at, first) for at in (finding.start, finding.end))
        line, column = places.place(start)
        moved.append(replace(finding, line=line, column=column, start=start, end=end))
    return CleanedLog(
        text=looks[-1].after,
        smcl=in_smcl,
        listing=listing,
        corrections=tuple(corrections),
        removed=tuple(removed),
        findings=tuple(_by_cause(moved, words)),
        blocks=looks[first].blocks,
        checked=checked,
    )


def _by_cause(findings: Iterable[Finding], words: Mapping[str, str]) -> Iterator[LogFinding]:
    """One finding for each cause, in the order of their first places, in a language.

    What was found is named by the key of its words, with names behind it; other texts are those of
    a centre.
    """
    causes: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        causes.setdefault((finding.rule, finding.what), []).append(finding)
    for (_, what), some in causes.items():
        key, _, names = what.partition(":")
        what = words[key].format(names=names or words["nothing"]) if key in words else what
        lines = tuple(sorted({one.line for one in some}))
        hint = some[0].hint or words["look"]
        if len(lines) > 1:
            named = ", ".join(map(str, lines[:_SHOWN_LINES]))
            more = len(lines) - _SHOWN_LINES
            named = words["more"].format(lines=named, count=more) if more > 0 else named
            what = words["places"].format(what=what, count=len(lines))
            hint = words["lines"].format(lines=named)
        yield LogFinding(**asdict(some[0]) | {"what": what, "hint": hint}, lines=lines)


@dataclass(slots=True)
class _LogLook:
    """What one look at a log finds (CONFIDENTIAL)."""

    text: str  # the log as it was
    changes: list[SourceChange]
    findings: list[Finding] = field(default_factory=list)
    blocks: dict[str, int] = field(default_factory=dict)

    @property
    def after(self) -> str:
        """The log with the changes, which are in order and apart."""
        parts: list[str] = []
        at = 0
        for change in self.changes:
            parts += [self.text[at : change.start], change.put]
            at = change.end
        return "".join([*parts, self.text[at:]])


def _look(
    text: str, passages: Passages, *, smcl: bool, checked: bool, listing: ListingKind | None
) -> _LogLook:
    passages = passages.own if checked else passages
    lines = log_lines(text, smcl=smcl)
    places = Lines(text)
    look = _LogLook(text, [], [], dict.fromkeys(_STATES[::-1], 0))
    cuts: list[LogCut] = []
    withheld: list[tuple[int, int]] = []
    judge = checked_block if checked else judged
    if listing is None:
        judgements = [(block, judge(lines, block, passages)) for block in blocks_of(lines)]
    else:
        judgements = list(listing_blocks(lines, listing, passages))
    add_related_counts(lines, judgements, passages.rules)

    def note(at: int, rule: str, message: str) -> None:
        start, end = lines[at].start, lines[at].end
        look.findings.append(places.finding(rule, Severity.REVIEW, message, start, end))

    for block, judgement in judgements:
        # Messages, paths and texts of the centre's own list; what a person must look at.
        before, own = len(look.findings), list(judgement.cuts)
        if judgement.unknown:
            names = ", ".join(block.names[:_SHOWN_NAMES])
            note(judgement.unknown[0], "unknown-output", f"unknown:{names}")
        for at, why in judgement.reasons:
            note(at, "doubtful-output", why)
        for at in block.echo:
            own += passages.in_command(lines[at].text, at)
        shown = False
        for at in range(block.start, block.end):
            shown_text = lines[at].text
            shown = shown or bool(shown_text.strip())
            tabled = at in judgement.tabled
            find = passages.everywhere if tabled else passages.in_output
            own += find(shown_text, at)
            for name, why in () if tabled else passages.reviews(shown_text):
                note(at, name, why)
        cuts += own
        withheld += judgement.withheld
        reviewed = len(look.findings) > before
        state = (reviewed, bool(judgement.withheld), bool(own), shown, True)
        look.blocks[_STATES[state.index(True)]] += 1
    for at, line in enumerate(lines):
        if line.hidden:
            note(at, "hidden-text", "hidden")
    put = f"{'{txt}' if smcl else ''}{WITHHELD[passages.rules.language]}"
    gone = [SourceChange(lines[a].start, lines[b].end, put, "withheld") for a, b in withheld]
    # Inside what goes as a whole there are no other changes.
    every = [*gone, *changes_of(lines, cuts)]
    for change in sorted(every, key=lambda one: (one.start, -one.end)):
        if not look.changes or change.start >= look.changes[-1].end:
            look.changes.append(change)
    return look
