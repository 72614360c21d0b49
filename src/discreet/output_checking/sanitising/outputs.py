"""The output of commands, judged: what is known to be safe, what goes, what needs a person.

In: a block of a log. Out: cuts, lines that are withheld as a whole, lines that nobody knows.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from discreet.output_checking.sanitising.claims import HIDDEN, Claim, Cut, Reader, Window, is_rule
from discreet.output_checking.sanitising.columns import read_columns, read_statistics_down
from discreet.output_checking.sanitising.counted import (
    read_correlations,
    read_count,
    read_describe,
    read_group_heading,
    read_merge,
    read_reshape,
)
from discreet.output_checking.sanitising.details import read_codebook, read_detail
from discreet.output_checking.sanitising.echoes import Block
from discreet.output_checking.sanitising.estimates import read_model
from discreet.output_checking.sanitising.frequencies import read_crosstab, read_one_way
from discreet.output_checking.sanitising.lines import LogLine
from discreet.output_checking.sanitising.messages import Passages
from discreet.output_checking.sanitising.panels import read_xtdescribe, read_xtsum
from discreet.output_checking.sanitising.safe_outputs import SAFE, read_safe

__all__ = ["WITHHELD", "Judgement", "judged"]

#: What stands in place of output that is withheld as a whole.
WITHHELD = "(output withheld)"

#: Readers of output that starts with a drawn line, with a bar, with words.
_BELOW_RULES: tuple[Reader, ...] = (
    read_detail,
    read_codebook,
    read_model,
    read_crosstab,
    read_group_heading,
)
_WITH_BARS: tuple[Reader, ...] = (
    read_one_way,
    read_xtsum,
    read_model,
    read_columns,
    read_statistics_down,
    read_correlations,
    read_crosstab,
)
_WITH_WORDS: tuple[Reader, ...] = (
    read_detail,
    read_xtdescribe,
    read_merge,
    read_describe,
    read_reshape,
    read_model,
    read_statistics_down,
    read_correlations,
    read_group_heading,
)
_RULE_START = re.compile(r"\s*[-+]{3}")
_WORDS = re.compile(
    r"Iteration|Fitting|Refining|Rescale|Alternative|Number of obs|Percentiles|\bResult\b|"
    r"Contains data|^Data\s|Summary statistics|\(obs=|^->|\bn =|Smallest"
)
_LONGEST = 2_000
#: What a display must not show: results that are values of single records.
_RECORD_VALUES = re.compile(
    r"[er]\((?:min|max|p1|p5|p95|p99|sum|range|N_unique|r)\w{0,12}\)|"
    r"(?<![\w`])[A-Za-z_]\w{0,31}\[\s{0,3}(?:[\d`_]|[-+\w]{1,40})"
)
_OBSERVATION_ROW = re.compile(r"\s{0,10}\d{1,9}\. (?:\||\s*\S).{0,400}")
#: Commands that load data and print their label.
_LOADING = frozenset(("use", "sysuse", "webuse", "import", "append", "merge"))
_LABEL = re.compile(r"\(([^()]{1,120})\)")
_ERROR_CODE = re.compile(r"r\(\d{1,4}\);")
_STRING = re.compile(r'"([^"]{1,300})"')
_EXTREME = re.compile(
    r"(?<![\w.])(?:[Mm]in|[Mm]ax|Unique|[Mm]inimum|[Mm]aximum|[Ss]mallest|[Ll]argest)\b"
)
#: A figure behind a sign: this is no heading.
_GIVEN = re.compile(r"=\s{0,20}[-\d]")
_FIGURE = re.compile(r"(?<![\w.,])[-+]?[\d.,]{1,25}(?:e[-+]?\d{1,3})?(?![\w.,])")


@dataclass(slots=True)
class Judgement:
    """What becomes of one block.

    Args:
        cuts: Stretches that go; their lines are places in the whole log.
        withheld: First and last line of stretches that go as a whole.
        unknown: Lines that nobody knows.
        kinds: Kinds of output that were known.
        reasons: What else a person must look at: a line and why.
        tabled: Lines of tables that are known; no message can stand there.
    """

    cuts: list[Cut] = field(default_factory=list)
    withheld: list[tuple[int, int]] = field(default_factory=list)
    unknown: list[int] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    reasons: list[tuple[int, str]] = field(default_factory=list)
    tabled: set[int] = field(default_factory=set)


def judged(lines: Sequence[LogLine], block: Block, passages: Passages) -> Judgement:
    """Look at the output of a block.

    Args:
        lines: All lines of the log.
        block: The block.
        passages: Known passages, with the rules.
    """
    found = Judgement()
    names = set(block.names)
    forbidden = names & passages.rules.withheld
    if block.mata or (forbidden and len(names) == 1):
        found.withheld += _whole(lines, block)
        return found
    held: list[Cut] = []
    # No reader looks at very long lines, for which patterns could take long.
    long = [at for at in range(block.start, block.end) if len(lines[at].text) > _LONGEST]
    long.append(block.end)
    at = block.start
    while at < block.end:
        text = lines[at].text
        window = Window(lines, at, long[bisect_right(long, at)])
        claim = _claim(window, passages, names) if text.strip() else Claim(1, "")
        if claim is None:
            if not passages.knows(text) and not _is_error(lines, at, block):
                found.unknown.append(at)
            at += 1
            continue
        found.cuts += [cut._replace(line=cut.line + at) for cut in claim.cuts]
        held += [cut._replace(line=cut.line + at) for cut in claim.held]
        if claim.kind in ("model", "coefficients"):
            found.cuts += held if claim.gone else []
            held = []
        if claim.kind:
            found.kinds.append(claim.kind)
            found.tabled.update(
                place for place in range(at, at + claim.count) if "|" in lines[place].text
            )
        if claim.review:
            found.reasons.append((at, claim.review))
        at += max(claim.count, 1)
    _unknown(lines, block, found, withhold=bool(forbidden) or _shows_records(block))
    return found


def _claim(window: Window, passages: Passages, names: set[str]) -> Claim | None:
    """What a reader says about the first of some lines."""
    text = window[0].text
    if len(text) > _LONGEST:
        return None
    if "count" in names and (claim := read_count(window, passages.rules)) is not None:
        return claim
    if any(name.startswith(SAFE) for name in names):
        claim = read_safe(window, passages.rules, names)
        if claim is not None:
            return claim
    readers = _readers(text)
    if not readers and len(window) > 1 and _RULE_START.match(window[1].text):
        readers = (read_detail,)  # the label of a variable stands above the line
    for reader in readers:
        if (claim := reader(window, passages.rules)) is not None:
            return claim
    return None


def _readers(text: str) -> tuple[Reader, ...]:
    """The readers of output that can start with a line like this."""
    if _RULE_START.match(text):
        return _BELOW_RULES
    if "|" in text:
        return _WITH_BARS
    return _WITH_WORDS if _WORDS.search(text) else ()


def _whole(lines: Sequence[LogLine], block: Block) -> Iterator[tuple[int, int]]:
    shown = [at for at in range(block.start, block.end) if lines[at].text.strip()]
    shown = [at for at in shown if lines[at].text.strip() != WITHHELD]
    if shown:
        yield shown[0], shown[-1]


def _shows_records(block: Block) -> bool:
    """Whether a command displays a result that is the value of a single record."""
    return any(
        one.command is not None
        and one.command.canonical in ("display", "scalar", "matrix")
        and _RECORD_VALUES.search(one.text)
        for one in block.statements
    )


def _is_error(lines: Sequence[LogLine], at: int, block: Block) -> bool:
    """Whether a line is the words of an error: an error number follows, no figures in it."""
    if any(map(str.isdigit, lines[at].text)):
        return False
    after = at + 1
    while after < block.end and not lines[after].text.strip():
        after += 1
    return after < block.end and bool(_ERROR_CODE.fullmatch(lines[after].text))


def _unknown(lines: Sequence[LogLine], block: Block, found: Judgement, *, withhold: bool) -> None:
    """Lines that nobody knows: some go, some were written in the program, others stay."""
    literals = {
        text.strip()
        for one in block.statements
        if one.command is not None and one.command.canonical == "display"
        for text in _STRING.findall(one.text)
    }
    loads = bool(_LOADING & set(block.names))
    left: list[int] = []
    for at in found.unknown:
        text = lines[at].text
        if text.strip() in literals:
            continue
        if loads and (label := _LABEL.fullmatch(text)) is not None:
            if label[1] != HIDDEN:
                found.cuts.append(Cut(at, *label.span(1), "data-label", align="none"))
            continue
        if withhold or _OBSERVATION_ROW.fullmatch(text):
            found.withheld.append((at, at))
        else:
            left.append(at)
    found.unknown = left
    found.withheld = _joined(found.withheld)
    found.cuts += _below_extremes(lines, left)


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches of lines that follow each other as one."""
    joined: list[tuple[int, int]] = []
    for first, last in spans:
        if joined and first == joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


def _below_extremes(lines: Sequence[LogLine], unknown: Sequence[int]) -> Iterator[Cut]:
    """In tables that nobody knows, figures below the words Min and Max go all the same."""
    heads: list[tuple[int, int]] = []
    before = -2
    for at in unknown:
        text = lines[at].text
        if len(text) > _LONGEST:
            continue
        words = _extremes(text)
        if words:
            heads = words
        elif at != before + 1 and (above := _above(lines, at)) is not None:
            heads = above
        if heads and not words:
            yield from _under(text, at, heads)
        before = at


def _above(lines: Sequence[LogLine], at: int) -> list[tuple[int, int]] | None:
    """The words of extremes in the heading above a line; None if only a rule is between."""
    if is_rule(lines[at - 1].text) and not any(
        _extremes(lines[place].text) for place in range(max(at - 4, 0), at)
    ):
        return None
    for place in range(at - 1, max(at - 5, -1), -1):
        text = lines[place].text
        if not text.strip():
            break
        if words := _extremes(text):
            return words
    return []


def _extremes(text: str) -> list[tuple[int, int]]:
    """Where words such as Min stand in a heading."""
    if len(text) > _LONGEST or _GIVEN.search(text):
        return []
    return [word.span() for word in _EXTREME.finditer(text)]


def _under(text: str, at: int, heads: list[tuple[int, int]]) -> Iterator[Cut]:
    for figure in _FIGURE.finditer(text):
        if any(figure.start() < end + 3 and start < figure.end() + 3 for start, end in heads):
            yield Cut(at, *figure.span(), "extremes")
