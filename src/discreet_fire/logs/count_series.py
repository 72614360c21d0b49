"""Counts of a log that tell of a small group together, though each is large enough.

In: the blocks of a log with what was judged of each (CONFIDENTIAL). Out: more cuts. A loop of
counts is a table without the checks of a table. Two counts that differ by less than the minimum
give a small group by subtraction, and so do a whole and its parts. The number of cases that
``summarize`` and ``tabulate`` show is a count, too; where it tells, the ``count`` beside it goes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from discreet_fire.flow import CONDITION, OF_MISSING, atoms
from discreet_fire.logs.blocks import EchoBlock
from discreet_fire.logs.claims import LogCut, numeric
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.outputs import BlockJudgement
from discreet_fire.logs.rules import CleaningRules

_EQUAL = re.compile(r"([A-Za-z_]\w*)==([-+.\w\"]+)")
#: Where a condition is no list of comparisons that all hold.
_MIXED = re.compile(r"\||[!~](?!=)")
#: Commands that leave the data as they are.
_COUNTING = frozenset(("count", "summarize", "tabulate"))
_READING = _COUNTING | {"display"}


@dataclass(frozen=True, slots=True)
class _ShownCount:
    """A number of cases (CONFIDENTIAL): its line if ``count`` shows it, condition, data."""

    line: int | None
    figure: float | None = field(repr=False)
    condition: frozenset[str]
    values: dict[str, str]
    data: int


def add_related_counts(
    lines: Sequence[LogLine],
    judgements: Sequence[tuple[EchoBlock, BlockJudgement]],
    rules: CleaningRules,
) -> None:
    """Withhold counts that tell of too few cases together with other counts of a log."""
    single: list[_ShownCount] = []
    gone: set[int | None] = set()
    data = 0
    for block, judgement in judgements:
        data += not _READING.issuperset(block.names)
        if not (judgement.counted or judgement.cases):
            continue
        # The condition; none where several commands have several.
        conditions = {
            match[1] if (match := CONDITION.search(one.text, one.command.end - one.start)) else ""
            for one in block.statements
            if one.command is not None and one.command.canonical in _COUNTING
        }
        condition = conditions.pop() if len(conditions) == 1 else ""
        whole = atoms(condition)
        if len(judgement.counted) > 1:
            missing = bool(whole) and all(map(OF_MISSING.fullmatch, whole))
            gone |= set() if missing else {*judgement.counted}
            continue
        equals = () if _MIXED.search(condition) else map(_EQUAL.fullmatch, sorted(whole))
        values = {one[1]: one[2] for one in equals if one is not None}
        shown: list[tuple[int | None, float | None]] = [(None, one) for one in judgement.cases]
        shown += [(at, numeric(lines[at].text.strip())) for at in judgement.counted]
        single += [_ShownCount(at, one, whole, values, data) for at, one in shown]
    gone.update(_near(single, rules), _in_series(single, rules))
    for _, judgement in judgements:
        for at in gone.intersection(judgement.counted):
            text = lines[at or 0].text
            if numeric(text.strip()) is not None:
                start = len(text) - len(text.lstrip())
                cut = LogCut(at or 0, start, len(text.rstrip()), "related-counts")
                judgement.cuts.append(cut)


def _near(counts: Sequence[_ShownCount], rules: CleaningRules) -> Iterator[int | None]:
    """Lines of counts that differ by too few cases, unless no record is in both: a variable has
    another value in each.
    """
    by_figure: dict[float, list[_ShownCount]] = defaultdict(list)
    for one in counts:
        if one.figure is not None:
            by_figure[one.figure].append(one)
    figures = sorted(by_figure)
    for place, figure in enumerate(figures, 1):
        for larger in figures[place:]:
            if not rules.few(larger - figure):
                break
            for one, other in product(by_figure[figure], by_figure[larger]):
                apart = one.data == other.data and any(
                    other.values.get(name, value) != value for name, value in one.values.items()
                )
                yield from () if apart else (one.line, other.line)


def _in_series(counts: Sequence[_ShownCount], rules: CleaningRules) -> Iterator[int | None]:
    """Lines of counts of one value of a variable after the other, one of which is too small;
    or a shown whole leaves too few cases for the values that are not shown.
    """
    series: dict[tuple[str, frozenset[str], int], dict[str, _ShownCount]] = defaultdict(dict)
    for one in counts:
        for name, value in one.values.items():
            rest = one.condition - {f"{name}=={value}"}
            series[name, rest, one.data][value] = one
    for parts in (list(some.values()) for some in series.values() if len(some) > 1):
        known = sum(one.figure or 0 for one in parts)
        small = any(one.figure is None or rules.few(one.figure) for one in parts)
        if small or any(rules.few(one.figure - known) for one in counts if one.figure is not None):
            yield from (one.line for one in parts)
