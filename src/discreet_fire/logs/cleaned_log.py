"""A log made safe to hand out, with a list of what was changed; on disk beside the original.

In: the text or the path of a log (CONFIDENTIAL). Out: `CleanedLog`: the text without what leaks,
the places of all changes, findings for a person. Nothing outside the listed places is changed; a
cleaned log that is cleaned again stays the same. On disk ``NAME_FiRe.log`` and
``NAME_FiRe.log.json``, of the log of a rewritten program ``NAME_FiRe_clean.log``; if asked for, a
CONFIDENTIAL list of what was removed.
"""

from __future__ import annotations

import hashlib
import json
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from itertools import accumulate, takewhile
from operator import eq
from pathlib import Path
from typing import Any, NamedTuple

from discreet._version import __version__
from discreet.errors import OutputCheckError
from discreet.files import atomic_path, check_writable, file_digest, texts_of, write_text
from discreet.microdata import Secret
from discreet_fire.findings import COPYING, Finding, Severity
from discreet_fire.logs.lines import HIDDEN, WITHHELD, LogCut, LogLine, log_lines
from discreet_fire.logs.listings import ListingKind, is_page, listing_blocks, listing_kind
from discreet_fire.logs.outputs import add_related_counts, blocks_of, judged
from discreet_fire.logs.rules import MARK, CleaningRules, RunEvidence
from discreet_fire.texts import Lines, read_source


class SourceChange(NamedTuple):
    """One stretch of the source that is replaced."""

    start: int  # where it starts, in characters
    end: int  # where it ends
    put: str  # what is put there
    rule: str  # why


def moves_of(changes: Sequence[SourceChange]) -> Callable[[int], int]:
    """Position in a text after some changes; inside a change, the start of the new text.

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
    """One change; what is told of it leaves out what stood there before."""

    rule: str  # name of the rule
    line: int  # line of the cleaned log, counted from 1
    #: Where it started, in characters from 0. CONFIDENTIAL, as it tells lengths
    start: int = field(repr=False)
    end: int = field(repr=False)  # where it ended. CONFIDENTIAL
    put: str  # what stands there now
    removed: str = field(repr=False)  # what stood there. CONFIDENTIAL
    round: int  # 1 for places of the original; a later round looks at the result of the one before

    def to_dict(self) -> dict[str, Any]:
        """The change as plain values; not how long the text was that stood there."""
        return {"rule": self.rule, "line": self.line, "put": self.put.strip()}


@dataclass(frozen=True, kw_only=True, slots=True)
class LogFinding(Finding):
    """A finding for an officer: one cause with all its places."""

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
    rules = rules or CleaningRules.default()
    in_smcl = is_smcl(text) if smcl is None else smcl
    checked = evidence is not None and evidence.covers(text, rules)
    listing = None if in_smcl or checked else listing or listing_kind(text)
    looks: list[_LogLook] = []
    if rules.own_first:
        lines = log_lines(text, smcl=in_smcl)
        cuts = (cut for at, line in enumerate(lines) for cut in rules.own_texts(line.text, at))
        looks.append(_LogLook(text, changes_of(lines, cuts)))
    first = len(looks)
    while len(looks) == first or (looks[-1].changes and len(looks) < first + _MOST_LOOKS):
        before = looks[-1].after if looks else text
        looks.append(_look(before, rules, smcl=in_smcl, checked=checked, listing=listing))
    words = texts_of(__package__, "findings", rules.language)
    findings = looks[first].findings
    if looks[-1].changes:
        whole, hint = (0, len(looks[first].text)), words["again_hint"]
        findings.append(Lines("").finding("own-list", Severity.REVIEW, "again", *whole, hint))
    places = Lines(looks[-1].after)
    moves = [moves_of(one.changes) for one in looks]

    def end_place(place: int, first_move: int) -> int:
        return reduce(lambda at, move: move(at), moves[first_move:], place)

    corrections: list[Correction] = []
    for number, one in enumerate(looks):
        for change in one.changes:
            line, _ = places.place(end_place(change.start, number))
            gone = one.text[change.start : change.end]
            fields = {**change._asdict(), "line": line, "removed": gone, "round": number + 1}
            corrections.append(Correction(**fields))
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
    text: str, rules: CleaningRules, *, smcl: bool, checked: bool, listing: ListingKind | None
) -> _LogLook:
    rules = rules.own if checked else rules
    lines = log_lines(text, smcl=smcl)
    places = Lines(text)
    look = _LogLook(text, [], [], dict.fromkeys(_STATES[::-1], 0))
    cuts: list[LogCut] = []
    withheld: list[tuple[int, int]] = []
    if listing is None:
        blocks = blocks_of(lines)
        judgements = [(one, judged(lines, one, rules, checked=checked)) for one in blocks]
    else:
        judgements = listing_blocks(lines, listing, rules)
    add_related_counts(lines, judgements, rules)

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
            own += rules.in_output(lines[at].text, at, command=True)
        shown = False
        for at in range(block.start, block.end):
            shown_text = lines[at].text
            shown = shown or bool(shown_text.strip())
            tabled = at in judgement.tabled
            find = rules.everywhere if tabled else rules.in_output
            own += find(shown_text, at)
            for name, why in () if tabled else rules.reviews(shown_text):
                note(at, name, why)
        cuts += own
        withheld += judgement.withheld
        reviewed = len(look.findings) > before
        state = (reviewed, bool(judgement.withheld), bool(own), shown, True)
        look.blocks[_STATES[state.index(True)]] += 1
    for at, line in enumerate(lines):
        if line.hidden:
            note(at, "hidden-text", "hidden")
    put = f"{'{txt}' if smcl else ''}{WITHHELD[rules.language]}"
    gone = [SourceChange(lines[a].start, lines[b].end, put, "withheld") for a, b in withheld]
    # Inside what goes as a whole there are no other changes.
    every = [*gone, *changes_of(lines, cuts)]
    for change in sorted(every, key=lambda one: (one.start, -one.end)):
        if not look.changes or change.start >= look.changes[-1].end:
            look.changes.append(change)
    return look


_REWRITTEN = "_FiRe"
#: Added to the log of a rewritten program, whose own name ends like that.
_MARK_OF_RUN = "_clean"
_MADE_BY = "discreet fire post"
_SUFFIXES = (".log", ".smcl", ".lst")
_CONFIDENTIAL = "CONFIDENTIAL: what was removed from a log; not to leave the research data centre"


class CleanedFile:
    """A log and what it is cleaned to, which is written beside it; findings for an officer."""

    def __init__(
        self, path: str | os.PathLike[str], rules: CleaningRules | None, key: Secret | None, *,
        overwrite: bool, out: str | os.PathLike[str] | None = None,
        confidential: str | os.PathLike[str] | None = None, evidence: RunEvidence | None = None,
    ) -> None:  # fmt: skip
        self._original = original = read_source(path)
        self.source = source = original.path  # the log, which is as it was
        if is_page(original.text):
            hint = "export the output as text, or make a listing (ods listing)"
            raise OutputCheckError(
                "this is a page for browsers", code="listing-page", where=source.name, hint=hint
            )
        if evidence is None and key is not None:
            evidence = RunEvidence.beside(source, key)
        self._key, self._evidence = key, evidence
        self._rules = rules or CleaningRules.default()
        self.language = self._rules.language  # of its summary
        self.target = target = Path(out) if out is not None else source.with_name(_name(source))
        report = target.with_name(f"{target.name}.json")
        self._secret = None if confidential is None else Path(confidential)
        self._done = done = clean_log(
            original.text,
            self._rules,
            smcl=is_smcl(original.text, source.suffix),
            listing=listing_kind(original.text, source.suffix),
            evidence=evidence,
        )
        # The report may be made up: nothing is to do only if nothing is to be cleaned.
        ready = out is None and not done.corrections and _made_here(source, original.sha256)
        if not ready:
            self._check_places(report, overwrite=overwrite)
        self._data = b"" if ready else original.encoded(done.text)
        self.out = None if ready else target  # the cleaned log; None if `source` is one already
        self.report = None if ready else report
        self.cleaned = None if ready else done  # the text and the changes
        self.described = self._described()  # the report as plain values

    @property
    def needs_review(self) -> bool:
        """Whether a person must look at something."""
        return any(entry["severity"] != "info" for entry in self.described["findings"])

    @property
    def text(self) -> str:
        """A summary for people."""
        name, words = self.source.name, texts_of(__package__, "report", self.language)
        count = len(self.described["changes"])
        rules = ", ".join(f"{rule} {some}" for rule, some in self.described["rules"].items())
        lines = [f"{name}: {words['done']}"]
        if self.out is not None:
            count_text = f"{count} {words['change' if count == 1 else 'changes']}"
            count_text += f" ({rules})" if rules else ""
            lines = [f"{name} → {self.out.name}: {count_text}"]
        if self.described.get("checked"):
            lines.append(f"  {words['checked']}")
        for entry in self.described["findings"]:
            sentence = f"{entry['severity']} [{entry['rule']}] {entry['what']}"
            lines.append(f"  {words['line']} {entry['line']}: {sentence}")
        if self.needs_review:
            lines.append(f"  {words['look']}")
        return "\n".join(lines)

    def _check_places(self, report: Path, *, overwrite: bool) -> None:
        """Refuse to lose anything: the original, or files made by others."""
        target, secret = self.target, self._secret
        places = [target, report, *([] if secret is None else [secret])]
        if len({path.resolve() for path in (self.source, *places)}) <= len(places):
            raise _error("two files would have the same place", target.name)
        for path in places:
            check_writable(path.parent)
            if path.is_dir():
                raise _error("a folder has this name", path.name)
        ours = target.exists() and _made_here(target, file_digest(target))
        others = [path for path in (target, report) if path.exists() and not ours]
        if secret is not None and secret.exists():
            with secret.open("rb") as opened:
                listed = _CONFIDENTIAL in opened.read(200).decode("utf-8", "replace")
            others += [] if listed else [secret]
        if others and not overwrite:
            raise _error(
                "a file of this name exists and was not made here, or was changed since",
                others[0].name,
                "move it away, name another place, or replace it with --overwrite",
            )

    def write(self) -> CleanedFile:
        """Write the log, its report, and the list of what was removed."""
        if self.report is None:
            return self
        with atomic_path(self.target) as temporary:
            temporary.write_bytes(self._data)
        write_text(self.report, json.dumps(self.described, ensure_ascii=False, indent=1) + "\n")
        if self._secret is not None:
            names = ("rule", "line", "put", "start", "end", "removed")
            whole = {
                "warning": _CONFIDENTIAL,
                "source": self.source.name,
                "source_sha256": self._original.sha256,
                "changes": [
                    {name: getattr(one, name) for name in names} for one in self._done.corrections
                ],
            }
            text = json.dumps(whole, ensure_ascii=False, indent=1)
            write_text(self._secret, f"{text}\n", private=True)
        return self

    def _described(self) -> dict[str, Any]:
        """The report: what was changed and where, never what stood there."""
        original, done, name = self._original, self._done, self.source.name
        doubts = list(original.findings)
        if self.out is None:  # what a person must look at is said again
            findings = [_shareable(finding) for finding in (*doubts, *done.findings)]
            return {"source": name, "changes": [], "findings": findings, "rules": {}}
        words = texts_of(__package__, "findings", self.language)
        if program := _copying_program(self.source):
            message = words["copies"].format(program)
            doubts.append(original.lines.finding("copies", Severity.REVIEW, message, 0, 0))
        if not is_smcl(original.text) == done.smcl == (self.source.suffix.lower() == ".smcl"):
            doubts.append(
                original.lines.finding("log-format", Severity.REVIEW, words["format"], 0, 0)
            )
        fields = {
            "made_by": _MADE_BY,
            "version": __version__,
            "source": name,
            "output": self.target.name,
            "output_sha256": hashlib.sha256(self._data).hexdigest(),
            "encoding": original.encoding,
            "format": done.listing or ("smcl" if done.smcl else "text"),
            "minimum": self._rules.minimum,
            "own_replacements": len(self._rules.replacements),
            "blocks": done.blocks,
            "checked": done.checked,
            "rules": dict(sorted(Counter(one.rule for one in done.corrections).items())),
            "changes": [correction.to_dict() for correction in done.corrections],
            "findings": [_shareable(finding) for finding in (*doubts, *done.findings)],
        }
        if done.checked and self._evidence is not None and self._key is not None:
            fields[MARK] = self._evidence.for_copy(done.text).mark(self._key)
        return fields


def clean_log_file(
    path: str | os.PathLike[str],
    *,
    rules: CleaningRules | None = None,
    out: str | os.PathLike[str] | None = None,
    confidential: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    evidence: RunEvidence | None = None,
    key: Secret | None = None,
) -> CleanedFile:
    r"""Clean a log and put the result beside it, with a report.

    >>> import tempfile
    >>> log = Path(tempfile.mkdtemp()) / "run.log"
    >>> _ = log.write_text(". drop if x == 1\n(2 observations deleted)\n")
    >>> done = clean_log_file(log)
    >>> print(done.text)
    run.log → run_FiRe.log: 1 change (observations-changed 1)
    >>> print(done.out.read_text().splitlines()[1])
    (# observations deleted)
    """
    prepared = CleanedFile(
        path, rules, key, overwrite=overwrite, out=out, confidential=confidential, evidence=evidence
    )
    return prepared.write()


def clean_log_files(
    paths: Sequence[str | os.PathLike[str]],
    *,
    rules: CleaningRules | None = None,
    overwrite: bool = False,
    key: Secret | None = None,
) -> list[CleanedFile]:
    """Clean several logs; nothing is written unless all of them can be read and written."""
    logs: dict[Path, Path] = {}
    for path in map(Path, paths):
        remaining = [path]
        if path.is_dir():
            files = [one for one in sorted(path.iterdir()) if one.is_file()]
            copies = {_name(one) for one in files}
            remaining = [
                one
                for one in files
                if one.suffix.lower() in _SUFFIXES
                and not (one.name in copies and _made_here(one, file_digest(one)))
            ]
            if not remaining:
                hint = f"logs: {', '.join(_SUFFIXES)}"
                raise _error("no log in this folder", path.name, hint)
        for one in remaining:
            logs.setdefault(one.resolve(), one)
    prepared = [CleanedFile(path, rules, key, overwrite=overwrite) for path in logs.values()]
    places = Counter(one.out for one in prepared if one.out is not None)
    for place, count in places.items():
        if count > 1:
            raise _error("two logs would be cleaned to the same place", place.name)
    return [one.write() for one in prepared]


def _name(place: Path) -> str:
    suffix = place.suffix if place.suffix.lower() in _SUFFIXES else f"{place.suffix}.log"
    return f"{place.stem}{_MARK_OF_RUN if place.stem.endswith(_REWRITTEN) else _REWRITTEN}{suffix}"


def _made_here(path: Path, sha256: str) -> bool:
    """Whether a file is a cleaned log and unchanged since: its report says so."""
    try:
        report = path.with_name(f"{path.name}.json").read_text(encoding="utf-8")
        described = json.loads(report)
    except (OSError, ValueError, RecursionError):
        return False
    return (
        isinstance(described, dict)
        and described.get("made_by") == _MADE_BY
        and described.get("output_sha256") == sha256
    )


def _copying_program(log: Path) -> str | None:
    """The rewritten program in SPSS or SAS beside a log, if it copies values to other records."""
    stem = log.stem.removesuffix(_REWRITTEN)
    for suffix in (".sps", ".sas"):
        program = f"{stem}{_REWRITTEN}{suffix}"
        try:
            manifest = json.loads(log.with_name(f"{program}.json").read_text(encoding="utf-8"))
            rules = {finding["rule"] for finding in manifest["findings"]}
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return program  # nobody knows what it does
        if rules & COPYING:
            return program
    return None


def _shareable(finding: Finding) -> dict[str, Any]:
    """A finding without offsets, which tell how long withheld texts are."""
    described = finding.to_dict()
    kept = {name: described[name] for name in ("rule", "severity", "what", "line", "hint")}
    return kept | {"lines": described.get("lines", [finding.line])}


def _error(message: str, where: str, hint: str = "") -> OutputCheckError:
    return OutputCheckError(message, code="output-exists", where=where, hint=hint)
