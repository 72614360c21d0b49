"""`xtsum`: how variables vary between entities and over time.

In: a frame of records of entities over time (confidential), rules. Out: a `SafeResult`.
The deviations overall, between and within belong together: what one of them would give
away of another is withheld with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from discreet.output_checking.safe.facts import Facts
from discreet.output_checking.safe.holding import Holding
from discreet.output_checking.safe.judging import (
    Found,
    broken,
    checks_of,
    concentrated,
    free_statistics,
    leading,
)
from discreet.output_checking.safe.layout import abbreviated, closed
from discreet.output_checking.safe.limits import SafeLimits, limits_of
from discreet.output_checking.safe.numbers import count_text, general, rounded
from discreet.output_checking.safe.records import FloatArray, IntArray, names_of, take
from discreet.output_checking.safe.results import Check, Evidence, SafeResult, Verdict
from discreet.output_checking.safe.spreading import is_lonely
from discreet.output_checking.safe.sums import exact_sum

__all__ = ["xtsum"]

_RULES = ("minimum", "dominance", "same", "alike", "equations", "within")


def xtsum(
    frame: Any,
    names: str | Sequence[str],
    *,
    entity: str,
    limits: SafeLimits | None = None,
    where: str | None = None,
) -> SafeResult:
    """Mean, and standard deviations overall, between entities and within them.

    Args:
        frame: Records; any frame narwhals reads.
        names: The variables.
        entity: Column of whom a record is about.
        limits: The rules.
        where: Only these records.

    >>> ids = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    >>> frame = pl.DataFrame({"id": ids, "x": [1.0, 3, 2, 5, 4, 5, 6, 8, 3, 7, 5, 6]})
    >>> print(xtsum(frame, "x", entity="id"))
    Variable         |      Mean   Std. dev.       Min        Max |    Observations
    -----------------+--------------------------------------------+----------------
    x        overall |  4.583333    2.065224          .          . |     N =        12
             between |              1.715129          .          . |     n =         6
             within  |              1.261312          .          . | T-bar =         2
    . withheld for confidentiality
    """
    limits = limits_of(limits)
    listed = names_of(names, "xtsum")
    records = take(frame, listed, where=where, entity=entity)
    entities = records.entities()
    assert entities is not None
    lines = [
        "Variable         |      Mean   Std. dev.       Min        Max |    Observations",
        "-" * 17 + "+" + "-" * 44 + "+" + "-" * 16,
    ]
    rows: list[dict[str, Any]] = []
    found: list[Found] = []
    checks: list[Check] = []
    for name in listed:
        parts = _Parts.of(records.numbers(name), entities)
        numbers, rules, constant = parts.shown(limits)
        found += [Found(rule, name) for rule in rules]
        lines += _lines(name, numbers)
        rows.append({"variable": name, **numbers})
        if constant:
            reason = "the variable never changes within an entity"
            checks.append(Check(rule="constant", verdict=Verdict.review, reason=reason, where=name))
    floats = [key for key in rows[0] if key != "variable"]
    stored = {"N": "N", "n": "n", "Tbar": "T", "mean": "mean", "sd": "sd"}
    stored |= {"sd_b": "sd_between", "sd_w": "sd_within"}
    last = rows[-1]
    return SafeResult(
        command=f"xtsum {' '.join(listed)}",
        shown=closed(lines, True, limits.language),
        frame=pl.DataFrame(rows, schema_overrides=dict.fromkeys(floats, pl.Float64)),
        stored={to: last[of] for to, of in stored.items() if last[of] is not None},
        checks=[*checks_of(found, _RULES), *checks],
        evidence=Evidence(found=found),
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Parts:
    """A variable, its means by entity, its deviations from them (confidential)."""

    overall: Holding
    between: Holding
    deviations: FloatArray
    changing: int
    spread: FloatArray

    @classmethod
    def of(cls, values: FloatArray, entities: IntArray) -> _Parts:
        used = ~np.isnan(values)
        order = np.lexsort((values[used], entities[used]))
        kept, who = values[used][order], entities[used][order]
        overall = Holding.of(kept, None, 1, who)
        if not kept.size:
            none = np.zeros(0)
            return cls(overall=overall, between=overall, deviations=none, changing=0, spread=none)
        start = np.flatnonzero(np.concatenate([[True], who[1:] != who[:-1]]))
        size = np.diff(np.append(start, kept.size))
        means = np.add.reduceat(kept, start) / size
        ends = np.append(start, kept.size)[1:] - 1
        same = kept[start] == kept[ends]
        means = np.where(same, kept[start], means)
        deviations = kept - np.repeat(means, size)
        return cls(
            overall=overall,
            between=Holding.of(means, None, 1),
            deviations=deviations,
            changing=int((~same).sum()),
            spread=np.sort(np.add.reduceat(deviations**2, start)),
        )

    def shown(self, limits: SafeLimits) -> tuple[dict[str, float | None], list[str], bool]:
        """The numbers that may be shown, the broken rules, whether nothing varies within."""
        keys = ("mean", "sd", "sd_between", "sd_within", "N", "n", "T")
        numbers: dict[str, float | None] = dict.fromkeys(keys)
        facts, means = self.overall.whole, self.between.whole
        rules = set(broken(facts, limits) | broken(means, limits))
        if not facts.n:
            return numbers | {"N": 0.0, "n": 0.0}, [], False
        if "minimum" not in rules:
            numbers |= {"N": float(facts.n), "n": float(facts.cases)}
            numbers["T"] = rounded(facts.n / facts.cases, limits.digits)
        found = leading(rules)
        if rules:
            return numbers, found, False
        values = self._values(facts, means)
        free = free_statistics(facts.cases, limits)
        within = self._within_safe(limits)
        lonely = is_lonely(means, lambda: self.between, limits)
        lonely = lonely or is_lonely(facts, lambda: self.overall, limits)
        # Of deviations overall, between and within, two give the third away.
        told = [["sd_between"], ["sd"]] if not lonely else [[], []]
        names = ["mean", *told[0], *([*told[1], "sd_within"] if within else [])]
        wanted = names[:free]
        if "sd" in wanted and "sd_within" not in wanted:
            wanted.remove("sd")
        for name in wanted:
            numbers[name] = rounded(values[name], limits.digits)
        found += [] if within else ["within"]
        found += ["leverage"] if lonely else []
        found += ["equations"] if len(wanted) < len(names) else []
        return numbers, found, self.changing == 0

    def _values(self, facts: Facts, means: Facts) -> dict[str, float]:
        squares = exact_sum(self.deviations**2)
        return {
            "mean": facts.mean,
            "sd": math.sqrt(facts.squares / (facts.n - 1)),
            "sd_between": math.sqrt(means.squares / (means.n - 1)),
            "sd_within": math.sqrt(squares / (facts.n - 1)),
        }

    def _within_safe(self, limits: SafeLimits) -> bool:
        """Whether enough entities change, and none changes much more than all others."""
        if self.changing == 0:
            return True
        if self.changing < limits.minimum:
            return False
        second, first = self.spread[-2:].tolist()
        return not concentrated(first, second, float(self.spread.sum()), limits)


def _lines(name: str, numbers: dict[str, float | None]) -> list[str]:
    mean, sd = general(numbers["mean"]), general(numbers["sd"])
    between, within = general(numbers["sd_between"]), general(numbers["sd_within"])
    sizes = count_text(numbers["N"]), count_text(numbers["n"]), general(numbers["T"])
    ends = f"{'.':>11}{'.':>11}"
    return [
        f"{abbreviated(name, 8):<8} overall |{mean:>10}{sd:>12}{ends} |     N ={sizes[0]:>10}",
        f"         between |{'':>10}{between:>12}{ends} |     n ={sizes[1]:>10}",
        f"         within  |{'':>10}{within:>12}{ends} | T-bar ={sizes[2]:>10}",
    ]
