"""A log made safe to hand out, with a list of what was changed.

In: the text of a log (CONFIDENTIAL). Out: `CleanedLog`: the text without what leaks, the
places of all changes, findings for a person. Nothing outside the listed places is changed;
a cleaned log that is cleaned again stays the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from typing import Any, NamedTuple

from discreet.files import texts_of
from discreet_fire.findings import Finding, Severity
from discreet_fire.logs.claims import HIDDEN, LogCut
from discreet_fire.logs.count_series import add_related_counts
from discreet_fire.logs.lines import LogLine, log_lines
from discreet_fire.logs.listings import ListingKind, listing_blocks, listing_kind
from discreet_fire.logs.outputs import (
    WITHHELD,
    BlockJudgement,
    EchoBlock,
    Passages,
    blocks_of,
    checked_block,
    judged,
    observation_numbers,
)
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.run_evidence import RunEvidence
from discreet_fire.texts import Lines, uncollected


class SourceChange(NamedTuple):
    """One stretch of the source that is replaced."""

    start: int  # where it starts, in characters
    end: int  # where it ends
    put: str  # what is put there
    rule: str  # why


class PlaceMoves:
    """Where places of a text are after some changes.

    >>> PlaceMoves([SourceChange(2, 6, "#", "rule")]).place(8)
    5
    """

    __slots__ = ("changes", "ends", "shifts")

    def __init__(self, changes: Sequence[SourceChange]) -> None:
        self.changes = changes
        self.ends = [change.end for change in changes]
        longer = (len(change.put) - (change.end - change.start) for change in changes)
        self.shifts = list(accumulate(longer, initial=0))

    def place(self, place: int) -> int:
        """The new place; inside a change, where what is put starts."""
        done = bisect_right(self.ends, place)
        if done < len(self.changes) and self.changes[done].start < place:
            place = self.changes[done].start
        return place + self.shifts[done]


def changes_of(lines: Sequence[LogLine], cuts: Iterable[LogCut]) -> list[SourceChange]:
    """The changes of the source that carry out some cuts."""
    by_line: dict[int, list[LogCut]] = {}
    for cut in cuts:
        by_line.setdefault(cut.line, []).append(cut)
    changes: list[SourceChange] = []
    for number in sorted(by_line):
        line = lines[number]
        for cut in _without_overlaps(line, by_line[number]):
            changes += _carried_out(line, cut)
    return changes


def applied(source: str, changes: Sequence[SourceChange]) -> str:
    """The source with changes, which are in order and apart."""
    parts: list[str] = []
    at = 0
    for change in changes:
        parts += [source[at : change.start], change.put]
        at = change.end
    return "".join([*parts, source[at:]])


def _without_overlaps(line: LogLine, cuts: list[LogCut]) -> list[LogCut]:
    """Cuts that do not touch: those that overlap become one."""
    widened = sorted((_widened(line, cut) for cut in cuts), key=lambda cut: (cut.start, -cut.end))
    apart: list[LogCut] = []
    for cut in widened:
        if apart and cut.start < apart[-1].end:
            before = apart[-1]
            if cut.end > before.end:
                apart[-1] = before._replace(end=cut.end, put=HIDDEN, align="none")
        else:
            apart.append(cut)
    return apart


def _widened(line: LogLine, cut: LogCut) -> LogCut:
    """A cut with the blanks of its column, so that nothing tells how wide a figure was."""
    if cut.align == "none":
        return cut
    plain = len(line.pieces) == 1
    if cut.align == "right":
        start = len(line.text[: cut.start].rstrip(" ")) if plain else cut.start
        while (
            not plain and start > 0 and line.text[start - 1] == " " and not _fixed(line, start - 1)
        ):
            start -= 1
        return cut._replace(start=start, put=cut.put.rjust(cut.end - start))
    end = cut.end
    while end < len(line.text) and line.text[end] == " " and not _fixed(line, end):
        end += 1
    if end == len(line.text) or _fixed(line, end):
        return cut._replace(end=end)
    return cut._replace(end=end, put=cut.put.ljust(end - cut.start))


def _fixed(line: LogLine, at: int) -> bool:
    """Whether a blank comes from a column position, which says nothing about a figure."""
    for piece in line.covering(at, at + 1):
        return not piece.literal and piece.fixed
    return False


def _trimmed(line: LogLine, cut: LogCut) -> LogCut:
    """A cut over markup without what it would put back: the markup there stays in its place.

    Not where a line goes on: from where it was broken one could tell how long it was before.
    """
    if cut.align != "none" or line.wraps or len(list(line.covering(cut.start, cut.end))) < 2:
        return cut
    before = line.text[cut.start : cut.end]
    head = _alike(before, cut.put)
    tail = _alike(before[:head:-1], cut.put[:head:-1])
    put = cut.put[head : len(cut.put) - tail]
    return cut._replace(start=cut.start + head, end=cut.end - tail, put=put)


def _alike(one: str, other: str) -> int:
    """How many letters at the beginning of two texts are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _carried_out(line: LogLine, cut: LogCut) -> list[SourceChange]:
    """Put the new text where the figure stood; what else belongs to the cut goes."""
    cut = _trimmed(line, cut)
    spans: list[tuple[int, int]] = []
    for piece in line.covering(cut.start, cut.end):
        start, end = piece.start, piece.end
        if piece.literal:
            end = start + min(cut.end - piece.at, piece.width)
            start += max(cut.start - piece.at, 0)
        if end > start and (piece.literal or not piece.fixed):
            spans.append((start, end))
    if not spans:
        return []
    # The last stretch holds the figure if it is right-aligned, the first if it starts here.
    chosen = len(spans) - 1 if cut.align == "right" else 0
    return [
        SourceChange(start, end, cut.put if at == chosen else "", cut.rule)
        for at, (start, end) in enumerate(spans)
    ]


_EN = texts_of(__package__, "findings", "en")
_SMCL_START = "{smcl}"
_MOST_ROUNDS = 6
_SHOWN_NAMES = 4
_SHOWN_LINES = 12


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
    rounds = [_own_round(text, passages, smcl=in_smcl)] if passages.rules.own_first else []
    texts = [text, *(applied(text, one.changes) for one in rounds)]
    first = len(rounds)
    while len(rounds) < _MOST_ROUNDS + first:
        one = _round(texts[-1], passages, smcl=in_smcl, checked=checked, listing=listing)
        rounds.append(one)
        if not one.changes:
            break
        texts.append(applied(texts[-1], rounds[-1].changes))
    words = texts_of(__package__, "findings", passages.rules.language)
    findings = rounds[first].findings
    if rounds[-1].changes:
        whole = (0, len(texts[first]))
        hint = words["again_hint"]
        findings.append(Lines("").finding("own-list", Severity.REVIEW, _EN["again"], *whole, hint))
    places = Lines(texts[-1])
    moves = [PlaceMoves(one.changes) for one in rounds]
    return CleanedLog(
        text=texts[-1],
        smcl=in_smcl,
        listing=listing,
        corrections=tuple(_corrections(rounds, moves, places)),
        removed=tuple(
            before[change.start : change.end]
            for before, one in zip(texts, rounds, strict=False)
            for change in one.changes
        ),
        findings=tuple(_by_cause((_moved(one, moves[first:], places) for one in findings), words)),
        blocks=rounds[first].blocks,
        checked=checked,
    )


def _corrections(
    rounds: Sequence[_Round], moves: Sequence[PlaceMoves], places: Lines
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


def _moved(finding: Finding, moves: Sequence[PlaceMoves], places: Lines) -> Finding:
    """A finding with its place in the cleaned log, which tells no length of what is gone."""
    start, end = (_end_place(place, moves) for place in (finding.start, finding.end))
    line, column = places.place(start)
    return replace(finding, line=line, column=column, start=start, end=end)


def _by_cause(findings: Iterable[Finding], words: Mapping[str, str]) -> Iterator[LogFinding]:
    """One finding for each cause, in the order of their first places, in a language."""
    causes: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        causes.setdefault((finding.rule, finding.what), []).append(finding)
    for some in causes.values():
        lines = tuple(sorted({one.line for one in some}))
        first = asdict(some[0])
        first["what"] = _said(some[0].what, words)
        first["hint"] = some[0].hint or words["look"]
        if len(lines) > 1:
            named = ", ".join(map(str, lines[:_SHOWN_LINES]))
            more = len(lines) - _SHOWN_LINES
            named = words["more"].format(lines=named, count=more) if more > 0 else named
            first["what"] = words["places"].format(what=first["what"], count=len(lines))
            first["hint"] = words["lines"].format(lines=named)
        yield LogFinding(**first, lines=lines)


def _said(message: str, words: Mapping[str, str]) -> str:
    """What was found, in a language; what a centre has written stays as it is."""
    unknown = _EN["unknown"].format(names="")
    if message.startswith(unknown):
        names = message.removeprefix(unknown) or words["nothing"]
        return words["unknown"].format(names=names)
    name = next((name for name, text in _EN.items() if text == message), None)
    return message if name is None else words[name]


def _end_place(place: int, moves: Sequence[PlaceMoves]) -> int:
    for move in moves:
        place = move.place(place)
    return place


@dataclass(slots=True)
class _Round:
    """What one look at a log finds."""

    changes: list[SourceChange]
    findings: list[Finding]
    blocks: dict[str, int]


def _own_round(text: str, passages: Passages, *, smcl: bool) -> _Round:
    """What the centre's own list changes, before any other rule looks at a log."""
    lines = log_lines(text, smcl=smcl)
    cuts = (cut for at, line in enumerate(lines) for cut in passages.own_texts(line.text, at))
    return _Round(changes_of(lines, cuts), [], {})


def _round(
    text: str,
    passages: Passages,
    *,
    smcl: bool,
    checked: bool,
    listing: ListingKind | None,
) -> _Round:
    if checked:
        passages = passages.own
    lines = log_lines(text, smcl=smcl)
    places = Lines(text)
    cuts: list[LogCut] = []
    withheld: list[tuple[int, int]] = []
    findings: list[Finding] = []
    blocks = dict.fromkeys(("silent", "safe", "cleaned", "withheld", "review"), 0)
    judgements = list(_judgements(lines, passages, checked=checked, listing=listing))
    add_related_counts(lines, judgements, passages.rules)
    for block, judgement in judgements:
        more = list(_known_passages(lines, block, judgement, passages))
        cuts += judgement.cuts + more
        withheld += judgement.withheld
        notes = list(_findings(lines, block, judgement, passages, places))
        findings += notes
        if notes or judgement.withheld:
            state = "review" if notes else "withheld"
        elif judgement.cuts or more:
            state = "cleaned"
        else:
            shown = any(lines[at].text.strip() for at in range(block.start, block.end))
            state = "safe" if shown else "silent"
        blocks[state] += 1
    for at, line in enumerate(lines):
        if line.hidden:
            findings.append(_note(lines, at, places, "hidden-text", _EN["hidden"]))
    withheld_text = WITHHELD[passages.rules.language]
    put = f"{{txt}}{withheld_text}" if smcl else withheld_text
    gone = [
        SourceChange(lines[first].start, lines[last].end, put, "withheld")
        for first, last in withheld
    ]
    return _Round(_merged(gone, changes_of(lines, cuts)), findings, blocks)


def _judgements(
    lines: Sequence[LogLine], passages: Passages, *, checked: bool, listing: ListingKind | None
) -> Iterator[tuple[EchoBlock, BlockJudgement]]:
    """The blocks of a log or of a listing, each judged."""
    if listing is not None:
        yield from listing_blocks(lines, listing, passages)
        return
    for block in blocks_of(lines):
        yield block, (checked_block if checked else judged)(lines, block, passages)


def _known_passages(
    lines: Sequence[LogLine], block: EchoBlock, judgement: BlockJudgement, passages: Passages
) -> Iterator[LogCut]:
    """Messages, paths and texts of the centre's own list."""
    for at in block.echo:
        yield from passages.in_command(lines[at].text, at)
        yield from observation_numbers(lines[at].text, at)
    for at in range(block.start, block.end):
        if at in judgement.tabled:
            yield from passages.everywhere(lines[at].text, at)
        else:
            yield from passages.in_output(lines[at].text, at)


def _merged(whole: list[SourceChange], single: list[SourceChange]) -> list[SourceChange]:
    """All changes in order; inside what goes as a whole there are no others."""
    changes: list[SourceChange] = []
    end = -1
    for change in sorted([*whole, *single], key=lambda one: (one.start, -one.end)):
        if change.start >= end:
            changes.append(change)
            end = change.end
    return changes


def _findings(
    lines: Sequence[LogLine],
    block: EchoBlock,
    judgement: BlockJudgement,
    passages: Passages,
    places: Lines,
) -> Iterator[Finding]:
    """What a person must look at in one block."""
    if judgement.unknown:
        message = _EN["unknown"].format(names=", ".join(block.names[:_SHOWN_NAMES]))
        yield _note(lines, judgement.unknown[0], places, "unknown-output", message)
    for at, why in judgement.reasons:
        yield _note(lines, at, places, "doubtful-output", why)
    for at in range(block.start, block.end):
        if at in judgement.tabled:
            continue
        for name, why in passages.reviews(lines[at].text):
            yield _note(lines, at, places, name, why)


def _note(lines: Sequence[LogLine], at: int, places: Lines, rule: str, message: str) -> Finding:
    start, end = lines[at].start, lines[at].end
    return places.finding(rule, Severity.REVIEW, message, start, end)
