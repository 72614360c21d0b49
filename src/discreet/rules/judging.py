"""`primary`: rules and marks applied to a table.

In: a confidential `Table`, secret rules, confidential marks. Out: `Primary`, confidential.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Protocol, TypeGuard, get_args, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet.errors import Problem, SuppressionError
from discreet.rules.contributors import MissingSafe, Per
from discreet.rules.evidence import Evidence, FloatArray, Judgement, Style
from discreet.rules.gathering import gather, gather_holdings
from discreet.rules.marking import Marked, mark_cells, raise_marks
from discreet.rules.marks import Mark, Marks
from discreet.rules.parameters import choice, number, raise_parameters
from discreet.rules.places import Places
from discreet.rules.primaries import Primary, Verdict
from discreet.rules.reasons import Reason
from discreet.tables import Table

__all__ = ["Rule", "primary"]

BoolArray = npt.NDArray[np.bool_]

_LEVELS = ("lower", "upper", "sliding")


@runtime_checkable
class Rule(Protocol):
    """What a rule offers: its reason, whose contributions it looks at, and a judgement."""

    @property
    def reason(self) -> Reason:
        """Its kind."""

    @property
    def per(self) -> Per:
        """Whether it looks at records or holdings."""

    def judge(self, cells: Evidence) -> Judgement:
        """Which cells are sensitive, and how far they are to be protected."""


def primary(
    table: Table,
    rules: Sequence[Rule | MissingSafe],
    *,
    value: str | None = None,
    marks: Marks | Sequence[Mark] | None = None,
    holdings: Table | None = None,
    shadow: str | None = None,
    weighted: bool = True,
    levels: Style = "symmetric",
    manual_range: float = 20.0,
    unit: float = 1.0,
    unmatched: Literal["refuse", "ignore"] = "refuse",
) -> Primary:
    """Say which cells of a table are sensitive (Primärsperrung), why, and how far.

    A cell is sensitive if one of the rules marks it. Its protection levels are the largest
    that these rules ask for; its reason is that of the first of them. Marks prevail over
    rules: "unsafe" makes a cell sensitive, "safe" lets it go. Contributions are absolute.

    Args:
        table: The table; confidential.
        rules: The rules; secret.
        value: The value column to publish; None for counts.
        marks: What was decided about single cells.
        holdings: The same table by `count_holdings`, for rules per holding.
        shadow: Another value column for the rules to look at; levels are taken over in
            proportion.
        weighted: In a weighted table, let a record of weight w stand for w contributors.
        levels: "symmetric" levels up and down; "upper" ones only; or "sliding": an interval
            of the width of both, wherever it lies.
        manual_range: Protection levels of cells marked by hand, in percent of their value.
        unit: The smallest step of the published value; no level is smaller.
        unmatched: What becomes of marks for cells that do not occur.

    Returns:
        The verdicts, confidential.

    >>> import polars as pl
    >>> from discreet import rules, tabulate
    >>> firms = pl.DataFrame({"branch": ["x"] * 3, "turnover": [25, 400, 35]})
    >>> table = tabulate(firms, by=["branch"], values=["turnover"], contributions=2)
    >>> listed = [rules.PPercent(5), rules.Dominance(n=2, k=85)]
    >>> primary(table, listed, value="turnover").numbers()
    {'dominance': 2}
    """
    judging, exempting = _sorted_out(rules)
    _check_options(manual_range, unit, levels, unmatched)
    places = Places(table)
    found = gather(places, value=value, shadow=shadow, weighted=weighted)
    records = replace(found, unit=float(unit), style=levels, _sums={})
    by_per = {"record": records}
    if any(rule.per == "holding" for rule in judging):
        by_per["holding"] = _of_holdings(records, holdings, shadow or value)
    judgements = [rule.judge(by_per[rule.per]) for rule in judging]
    given = Marks.of(marks)
    marked = mark_cells(places, given, ignore_unmatched=unmatched == "ignore")
    exempt = [each.exempt(records) for each in exempting]
    draft = _by_rules(table, value, judging, judgements, exempt, marked)
    return _by_marks(draft, places, records, marked, given.source, manual_range)


def _check_options(manual_range: float, unit: float, levels: str, unmatched: str) -> None:
    raise_parameters(
        "primary",
        number("manual_range", manual_range, 0, float("inf")),
        number("unit", unit, 0, float("inf")),
        choice("levels", levels, get_args(Style)),
        choice("unmatched", unmatched, ("refuse", "ignore")),
    )


def _sorted_out(
    rules: Sequence[Rule | MissingSafe],
) -> tuple[list[Rule], list[MissingSafe]]:
    """Rules that mark cells, and those that let cells go."""
    listed: object = rules
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        raise SuppressionError(
            "rules is a list", code="rules", where="rules", hint="write rules=[PPercent(10)]"
        )
    wrong = [at for at, rule in enumerate(rules, 1) if not (_judges(rule) or _exempts(rule))]
    if wrong:
        numbers = ", ".join(str(at) for at in wrong)
        raise SuppressionError(
            f"number {numbers} of the rules is no rule",
            code="rules",
            where="rules",
            hint="rules are objects such as rules.MinimumFrequency(3)",
        )
    return [rule for rule in rules if _judges(rule)], [rule for rule in rules if _exempts(rule)]


def _judges(rule: object) -> TypeGuard[Rule]:
    return isinstance(rule, Rule) and not isinstance(rule, type)


def _exempts(rule: object) -> TypeGuard[MissingSafe]:
    return isinstance(rule, MissingSafe)


def _of_holdings(records: Evidence, holdings: Table | None, column: str | None) -> Evidence:
    if holdings is None:
        raise SuppressionError(
            "a rule looks at holdings, and there is no table of them",
            code="holdings",
            where=records.places.table.name,
            hint="make it with rules.count_holdings and give it as holdings=",
        )
    return gather_holdings(records, holdings, column)


def _by_rules(
    table: Table,
    value: str | None,
    rules: Sequence[Rule],
    judgements: Sequence[Judgement],
    exempt: Sequence[BoolArray],
    marked: Marked,
) -> Primary:
    """What the rules say, with the numbers of the marks beside it."""
    size = len(table)
    said = np.zeros((len(rules), size), dtype=np.bool_)
    judged = ~np.any([np.zeros(size, dtype=np.bool_), *exempt], axis=0)
    levels = {name: np.zeros(size) for name in _LEVELS}
    reason = np.zeros(size, dtype=np.int8)
    for at, (rule, judgement) in enumerate(zip(rules, judgements, strict=True)):
        said[at] = judgement.sensitive & judged
        reason[(reason == Reason.none) & said[at]] = rule.reason
        for name, level in levels.items():
            asked: FloatArray = getattr(judgement, name)
            np.maximum(level, np.where(said[at], asked, 0.0), out=level)
    verdict = np.where(said.any(axis=0), Verdict.sensitive, Verdict.free).astype(np.int8)
    return Primary(
        table=table.name,
        value=value,
        verdict=verdict,
        reason=reason,
        rules=said,
        **levels,
        cost=marked.numbers["cost"],
        low=marked.numbers["low"],
        high=marked.numbers["high"],
    )


def _by_marks(
    draft: Primary,
    places: Places,
    cells: Evidence,
    marked: Marked,
    source: str,
    manual_range: float,
) -> Primary:
    """What the rules say, with what the marks say on top."""
    sensitive = (draft.sensitive | marked.are("unsafe")) & ~marked.are("safe")
    problems = _contradictions(sensitive, places, marked)
    if problems:
        raise_marks(source, problems)
    verdict = np.zeros(len(draft), dtype=np.int8)
    verdict[marked.are("protected")] = Verdict.fixed
    verdict[marked.are("secondary")] = Verdict.secondary
    verdict[sensitive] = Verdict.sensitive
    by_hand = sensitive & (draft.reason == Reason.none)
    manual = cells.both(by_hand, cells.share(manual_range))
    levels = {}
    for name in _LEVELS:
        asked: FloatArray = np.where(by_hand, getattr(manual, name), getattr(draft, name))
        own = marked.numbers[name]
        levels[name] = np.where(sensitive, np.where(np.isnan(own), asked, own), 0.0)
    reason = np.where(by_hand, Reason.manual, np.where(sensitive, draft.reason, Reason.none))
    return replace(
        draft,
        verdict=verdict,
        reason=reason.astype(np.int8),
        lower=levels["lower"],
        upper=levels["upper"],
        sliding=levels["sliding"],
    )


def _contradictions(sensitive: BoolArray, places: Places, marked: Marked) -> list[Problem]:
    """Marks that cannot be followed, given which cells are sensitive."""
    fixed = np.flatnonzero(sensitive & marked.are("protected"))
    problems = [
        Problem(
            "the cell is sensitive by a rule and marked as protected",
            places.name(int(at)),
            "a sensitive cell cannot be published; to let it go, mark it as safe",
        )
        for at in fixed
    ]
    given = np.zeros(len(sensitive), dtype=np.bool_)
    for name in _LEVELS:
        given |= ~np.isnan(marked.numbers[name])
    idle = np.flatnonzero(given & marked.named & ~sensitive)
    return problems + [
        Problem(
            "protection levels are given for a cell that is not sensitive",
            places.name(int(at)),
            "mark it as unsafe as well, or leave the levels out",
        )
        for at in idle
    ]
