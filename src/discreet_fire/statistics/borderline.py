"""Why figures are withheld, in figures, for officers who decide on borderline cases. CONFIDENTIAL.

In: a `SafeResult` with its evidence, and the rules. Out: `BorderlineFact`s, one for each rule that
a variable, group or cell breaks: how many cases there are, the share of the two largest, how close
the largest can be estimated. They never leave the centre.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from discreet_fire.statistics.disclosure_rules import Facts, Found
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.results import SafeResult


@dataclass(frozen=True, kw_only=True, repr=False)
class BorderlineFact:
    """One broken rule in figures (confidential)."""

    variable: str  # the variable, or those that span a table
    place: str  # the group or cell
    rule: str
    cases: int | None  # how many cases there are; None if not known
    #: Percentage of the two largest, for the (2,k) rule; None where no sum is withheld
    k: float | None
    #: How closely the second largest can estimate the largest, in percent, for the p% rule
    p: float | None
    few: bool  # whether fewer cases than required stand behind it, so that `cases` is its frequency
    #: Cases of each category of the variable, in a model; with its first rule only
    frequencies: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values. CONFIDENTIAL."""
        return asdict(self)

    def __repr__(self) -> str:
        return "<BorderlineFact: confidential>"


def borderline_facts(result: SafeResult, limits: SafeLimits) -> tuple[BorderlineFact, ...]:
    """What breaks which rule in a result, in figures.

    >>> from discreet_fire.statistics import summarize
    >>> import polars as pl
    >>> firms = pl.DataFrame({"turnover": [900.0, 60.0, 25.0, 15.0]})
    >>> [fact] = borderline_facts(summarize(firms, ["turnover"]), SafeLimits())
    >>> fact.rule, fact.cases, fact.k, round(fact.p, 2)
    ('dominance', 4, 96.0, 4.44)
    """
    broken = [one for one in result.evidence.get("found", ()) if isinstance(one, Found)]
    facts = dict(_facts(result))
    counts = dict(_counts(result))
    collected = []
    for one in broken:
        known = facts.get(one.place)
        cases = counts.get(one.place) if known is None else known.cases
        k, p = (
            (None, None)
            if known is None
            else computed_concentration(known.first, known.second, known.size)
        )
        collected.append(
            BorderlineFact(
                variable=one.scope,
                place=one.place,
                rule=one.rule,
                cases=cases,
                k=k,
                p=p,
                few=cases is not None and 0 < cases < limits.minimum,
            )
        )
    return (*collected, *result.evidence.get("broken", ()))


def computed_concentration(
    first: float, second: float, size: float
) -> tuple[float | None, float | None]:
    """The computed k and p of contributions, in percent; None where there are none."""
    if not size > 0 or not first > 0:
        return None, None
    top = first + second
    return 100 * top / size, 100 * (size - top) / first


def _facts(result: SafeResult) -> Iterator[tuple[str, Facts]]:
    """Facts of variables, groups and totals, by the names of their places."""
    facts, frame = result.evidence.get("facts"), result.frame
    if not isinstance(facts, Mapping) or frame is None:
        return
    for name, groups in facts.items():
        hidden = result.evidence["hidden"][name]
        yield f"{name}, total", hidden.total
        if len(groups) == 1:
            yield name, groups[0]
        if "variable" not in frame.columns:
            continue
        by = frame.columns[1]
        labels = frame.filter(frame["variable"] == name)[by].to_list()
        for label, one in zip(labels, groups, strict=False):  # the total stands last
            yield f"{name}, {by} = {label}", one


def _counts(result: SafeResult) -> Iterator[tuple[str, int]]:
    """Counts of cells, by the names of their places."""
    frame = result.frame
    cases = result.evidence.get("cases", result.evidence.get("n"))
    if frame is None or not isinstance(cases, np.ndarray) or cases.size != frame.height:
        return
    axes = frame.columns[: cases.ndim]
    for row, count in zip(frame.select(axes).iter_rows(), cases.ravel().tolist(), strict=True):
        labels = ["total" if cases.ndim > 1 and one == "Total" else one for one in row]
        place = ", ".join(f"{axis} = {one}" for axis, one in zip(axes, labels, strict=True))
        yield place, int(count)
