"""`tune_parts`: thresholds for table parts that meet a target on given tables. CONFIDENTIAL.

In: true tables, thresholds to try, the share of areas (or of tables) that shall be shown
completely. Out: `PartTuning`: what each set of thresholds would do, and the strictest set that
meets the target. Every set is carried out in full, areas hidden beside others included;
nothing is drawn, so that the same tables give the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import polars as pl

from discreet.confidential import without_values
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.protection.parts.areas import AreaShare, area_shares, level_of, place_of
from discreet.protection.parts.decisions import PartDecisions
from discreet.protection.parts.measures import Deviation
from discreet.protection.parts.rules import PartRules, check_parts
from discreet.tables import Table

#: So many sets of thresholds are tried at most.
MOST_SETS = 1_000

#: Which share a target is held against.
Reading = Literal["each-table", "all-tables"]
_READINGS: Mapping[str, str] = {
    "each-table": "the table and coarsest area with the lowest share",
    "all-tables": "the coarsest area with the lowest share, over all tables together",
}

#: Where shares are of whole tables, since no variable has areas: both readings are one.
_ALL = "all tables"

#: In which direction a threshold becomes stricter: what is below a maximum, or above a minimum.
_STRICT = {"min_average_size": -1.0}


@dataclass(frozen=True, kw_only=True, repr=False)
class PartTuning:
    """Effect of sets of thresholds on tables. CONFIDENTIAL.

    Args:
        tried: The sets in the order of their trial, as columns of thresholds; `share` is the
            share of all areas (or tables) that is shown completely; `lowest` that of the table,
            or of the table and coarsest area, where it is lowest; `pooled` that of the coarsest
            area where it is lowest over all tables together; `where` and `pooled_where` say
            where that is; `hidden` counts areas (or tables) with hidden parts; `met` says
            whether the reading meets the target.
        rules: The strictest set that meets the target; None if none does. SECRET.
        target: The share that was asked for.
        reading: What meets the target: `lowest` ("each-table") or `pooled` ("all-tables").
    """

    tried: pl.DataFrame
    rules: PartRules | None
    target: float
    reading: Reading = "each-table"

    def text(self) -> str:
        """The sets in words, for those who choose. CONFIDENTIAL."""
        names = [name for name in self.tried.columns if name not in _RESULTS]
        lines, by_area = [], _ALL not in self.tried["where"]
        for row in self.tried.iter_rows(named=True):
            stated = ", ".join(f"{name} = {row[name]:g}" for name in names)
            verdict = "meets the target" if row["met"] else "misses the target"
            readings = (
                f"in each table at least {row['lowest']:.2%} ({row['where']}); "
                f"in all tables together at least {row['pooled']:.2%} ({row['pooled_where']}); "
            )
            lines.append(
                f"{stated}: {row['share']:.2%} published completely; "
                f"{readings if by_area else ''}{row['hidden']:,} with suppressed subtables; "
                f"{verdict}"
            )
        if by_area:
            message = f"{self.reading}: {_READINGS[self.reading]}"
            lines.append(f"The target applies to {message}.")
        if self.rules is None:
            lines.append(f"No set of thresholds publishes {self.target:.2%} completely everywhere.")
        else:
            own = self.rules.to_dict()
            chosen = ", ".join(f"{name} = {own[name]:g}" for name in names)
            lines.append(f"The strictest set that publishes {self.target:.2%} completely: {chosen}")
        return "\n".join(lines)

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON. CONFIDENTIAL."""
        return {
            "target": self.target,
            "reading": self.reading,
            "rules": None if self.rules is None else self.rules.to_dict(),
            "tried": self.tried.to_dicts(),
        }

    def __repr__(self) -> str:
        return f"<PartTuning (confidential): {len(self.tried)} sets of thresholds>"


_RESULTS = ("share", "lowest", "where", "pooled", "pooled_where", "hidden", "met")


@without_values
def tune_parts(
    tables: Iterable[Table],
    vary: Mapping[str, Sequence[float]],
    *,
    target: float = 0.98,
    reading: Reading = "each-table",
    rules: PartRules | None = None,
    areas: str | None = None,
    level: str | int | None = None,
    universes: Mapping[str, Table | Literal["none"]] | None = None,
    deviation: Deviation | None = None,
) -> PartTuning:
    """Find thresholds with which so many areas, or tables, are shown completely.

    Args:
        tables: The tables, each with a name of its own.
        vary: Threshold → the values to try; all combinations of several are tried.
        target: The share of areas to be shown completely, of all areas of the level and of those
            within each area of the coarsest level. Without `areas`, the share of the tables.
        reading: "each-table" holds the target against each table by itself, "all-tables" against
            all of them together, as the German census of 2022 did.
        rules: Thresholds that stay as they are.
        areas: The variable whose codes are areas.
        level: The level that the target is about; its finest one if None.
        universes: Name of a filtered table → what `check_parts` takes as its universe.
        deviation: As for `check_parts`.

    >>> import polars as pl
    >>> from discreet import PartRules, Table, tune_parts
    >>> sizes = {"A": [9, 8], "B": [9, 2], "C": [7, 6], "D": [1, 1]}
    >>> rows = [(place, sex, n) for place, both in sizes.items() for sex, n in zip("mw", both)]
    >>> rows += [(place, "Total", sum(both)) for place, both in sizes.items()]
    >>> rows += [("Total", "m", 26), ("Total", "w", 17), ("Total", "Total", 43)]
    >>> cells = pl.DataFrame(rows, schema=["place", "sex", "n"], orient="row")
    >>> table = Table.from_cells(cells, by=["place", "sex"], count="n", name="T1")
    >>> shares = {"max_share_small": [0.4, 0.6, 1.0]}
    >>> found = tune_parts([table], shares, target=0.5, areas="place")
    >>> found.tried["share"].to_list(), found.rules.to_dict()["max_share_small"]
    ([0.5, 0.5, 1.0], 0.4)
    """
    every = list(tables)
    _check(every, vary, target, reading)
    names, held = list(vary), universes or {}
    rows: list[dict[str, Any]] = []
    sets: list[PartRules] = []
    strictest_first = [
        sorted(set(vary[name]), key=lambda value: value * sign)
        for name, sign in ((name, _STRICT.get(name, 1.0)) for name in names)
    ]
    for values in product(*strictest_first):
        stated = dict(zip(names, values, strict=True))
        own: dict[str, Any] = {**(rules.to_dict() if rules else {}), **stated}
        sets.append(PartRules(**own))
        decided = [
            check_parts(
                item, sets[-1], universe=held.get(item.name), deviation=deviation, areas=areas
            )
            for item in every
        ]
        outcome = _outcome(every, decided, areas, level)
        reached = outcome["lowest" if reading == "each-table" else "pooled"]
        rows.append({**stated, **outcome, "met": reached >= target})
    met = [at for at, row in enumerate(rows) if row["met"]]
    best = min(met, key=lambda at: (rows[at]["share"], at), default=None)
    return PartTuning(
        tried=pl.DataFrame(rows),
        rules=None if best is None else sets[best],
        target=target,
        reading=reading,
    )


def _outcome(
    tables: Sequence[Table],
    decided: Sequence[PartDecisions],
    areas: str | None,
    level: str | int | None,
) -> dict[str, Any]:
    """How much one set of thresholds shows."""
    if areas is None:
        hidden = sum(item.outcome != "complete" for item in decided)
        share, where = 1 - hidden / len(decided), _ALL
        return {
            "share": share, "lowest": share, "where": where,
            "pooled": share, "pooled_where": where, "hidden": hidden,
        }  # fmt: skip
    shares: list[tuple[str, AreaShare]] = []
    for table, decisions in zip(tables, decided, strict=True):
        assert decisions.areas is not None
        own = _level(table, areas, level)
        own_shares = area_shares(table.dimensions, decisions.suppressed, decisions.areas)
        shares += [(table.name, one) for one in own_shares if one.level == own]
    name, worst = min(shares, key=lambda one: one[1].share_complete)
    together: dict[str, tuple[int, int]] = {}
    for _, one in shares:
        complete, total = together.get(one.within, (0, 0))
        together[one.within] = (complete + one.complete, total + one.areas)
    pooled = {within: complete / total for within, (complete, total) in together.items()}
    fewest = min(pooled, key=lambda within: pooled[within])
    complete, total = together[""]
    return {
        "share": pooled[""],
        "lowest": worst.share_complete,
        "where": f"{name}, {worst.within}" if worst.within else name,
        "pooled": pooled[fewest],
        "pooled_where": fewest or "all areas",
        "hidden": total - complete,
    }


def _level(table: Table, areas: str, level: str | int | None) -> str:
    """What shares call the level that the target is about."""
    dimension = table.dimensions[place_of(areas, table.dimensions, table.name)]
    wanted = level if level is not None else int(dimension.classifications[0].depth)
    found = level_of(dimension, wanted)
    return found.name(dimension) or str(found.depth)


def _check(
    tables: Sequence[object],
    vary: Mapping[str, Sequence[float]],
    target: float,
    reading: str,
) -> None:
    """Raise for what cannot be tried, all of it at once."""
    problems = []
    if not tables or not all(isinstance(table, Table) for table in tables):
        problems.append(Problem("expected a list of tables", "tables"))
    names = [table.name for table in tables if isinstance(table, Table)]
    if len(set(names)) < len(names):
        problems.append(Problem("two tables have the same name", "tables", "tabulate with name=…"))
    if not 0 <= target <= 1:
        problems.append(Problem("a share must be from 0 to 1", "target", "0.98 for 98 %"))
    if reading not in _READINGS:
        problems.append(Problem(f"unknown reading {reading!r}", "reading", ", ".join(_READINGS)))
    known = list(PartRules.model_fields)
    for name, values in vary.items():
        if name not in known:
            problems.append(Problem(f"unknown threshold {name!r}", "vary", ", ".join(known)))
        if not values:
            problems.append(Problem("expected a list of values to try", f"vary, {name}"))
    if not vary:
        problems.append(Problem("no values to try", "vary", '{"max_share_small": [0.3, 0.5]}'))
    sets = math.prod(len(values) for values in vary.values())
    if sets > MOST_SETS:
        message = f"too many sets of thresholds: {sets:,}; the limit is {MOST_SETS:,}"
        problems.append(Problem(message, "vary", "try few values first, then finer ones"))
    raise_all(
        SuppressionError,
        problems,
        code="tuning",
        many="{} problems with the values to try",
        where="tuning",
    )
