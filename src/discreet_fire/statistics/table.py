"""`table`: statistics of variables by one to three groups, with all margins.

In: a frame of microdata (confidential), grouping variables, statistics, rules. Out: a
`SafeResult` in which no margin gives away what is withheld.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import BoolArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.disclosure_rules import Found, checks_of, leading
from discreet_fire.statistics.group_statistics import canonical_statistics, spreads, statistics
from discreet_fire.statistics.group_suppression import (
    counts_to_hide,
    is_few,
    is_lonely,
    spreads_to_hide,
)
from discreet_fire.statistics.grouped_values import GroupedValues
from discreet_fire.statistics.layout import Grid, closed, column_name, count_text, general
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.records import MicrodataRecords, RecordGroups, group, names_of, take
from discreet_fire.statistics.results import OutputEvidence, SafeResult
from discreet_fire.statistics.summarize import RULES
from discreet_fire.statistics.table_suppression import Counts, SumTable, count_cells, hide_cells
from discreet_fire.statistics.tabulate import MARGINS, hidden_counts, places_of

Numbers = dict[str, float | None]


def table(
    frame: Any,
    by: str | Sequence[str],
    of: str | Sequence[str] | None = None,
    *,
    statistics: str | Sequence[str] = "mean",
    limits: SafeLimits | None = None,
    entity: str | None = None,
    weights: str | None = None,
    where: str | None = None,
    missing: bool = False,
) -> SafeResult:
    """Frequencies, or statistics of variables, by up to three variables.

    >>> frame = pl.DataFrame({"s": ["a"] * 9 + ["b"] * 9, "x": [1.0, 2, 3, 4, 5, 6, 7, 8, 9] * 2})
    >>> print(table(frame, "s", "x", statistics="n mean"))
               s |        n x     mean x
    -------------+----------------------
               a |          9          5
               b |          9          5
    -------------+----------------------
           Total |         18          5
    """
    limits = limits_of(limits)
    names = names_of(by, "table")
    variables = names_of(of, "table") if of is not None else []
    if len(names) > 3:
        message = "a table has one to three grouping variables"
        raise OutputCheckError(message, code="table", where=", ".join(names))
    records = take(frame, [*names, *variables], where=where, entity=entity, weights=weights)
    records = records if variables else records.condensed()
    axes = [group(records, name, limits, missing=missing) for name in names]
    if math.prod(len(axis) + 1 for axis in axes) > limits.most_cells:
        message, hint = "the table has too many cells", "use fewer or coarser groups"
        raise OutputCheckError(message, code="table-size", hint=hint)
    wanted = canonical_statistics(statistics)
    counts, hidden, margins = pattern_of_counts(axes, records, limits)
    broken = hidden_counts(counts, hidden, axes, limits)
    cells: list[Numbers] = [{} for _ in range(hidden.size)]
    if not variables:
        shown = zip(counts.n.ravel().tolist(), hidden.ravel(), strict=True)
        cells = [{"n": None if gone else float(n)} for n, gone in shown]
    for name in variables:
        broken += _add_variable(name, wanted, records, axes, (counts, hidden), cells, limits)
    withheld = any(None in cell.values() for cell in cells)
    checks = checks_of(broken, RULES if variables else ["minimum"]) + [MARGINS] * margins
    option = f", statistics({' '.join(wanted)} {' '.join(variables)})" if variables else ""
    return SafeResult(
        command=f"table {' '.join(names)}{option}",
        shown=closed(_lines(axes, cells), withheld, limits.language),
        frame=_frame(axes, cells),
        checks=[*(check for axis in axes for check in axis.checks), *checks],
        evidence=OutputEvidence(found=broken),
    )


def pattern_of_counts(
    axes: Sequence[RecordGroups], records: MicrodataRecords, limits: SafeLimits
) -> tuple[Counts, BoolArray, bool]:
    """Which counts are withheld, in line with all tables of fewer of the variables."""
    counts = count_cells(axes, records)
    before = np.zeros(counts.n.shape, dtype=np.bool_)
    if len(axes) == 1:
        *cases, everyone = counts.cases.tolist()
        hidden, before[-1] = counts_to_hide(cases, frozenset(), everyone, limits)
        before[sorted(hidden)] = True
        return counts, before, False
    for left_out in range(len(axes)):
        fewer = [axis for at, axis in enumerate(axes) if at != left_out]
        _, mask, _ = pattern_of_counts(fewer, records, limits)
        place = tuple(-1 if at == left_out else slice(None) for at in range(len(axes)))
        before[place] |= mask
    hidden_cells, margins = hide_cells(counts, limits, before=before)
    return counts, hidden_cells, margins


def _add_variable(
    name: str,
    wanted: Sequence[str],
    records: MicrodataRecords,
    axes: Sequence[RecordGroups],
    known: tuple[Counts, BoolArray],
    cells: list[Numbers],
    limits: SafeLimits,
) -> list[Found]:
    """Add the statistics of a variable to each cell; the rules that are broken."""
    counts, hidden = known
    holding = GroupedValues.of(
        records.numbers(name),
        counts.codes,
        math.prod(counts.sizes),
        records.entities(),
        records.weights(),
    )
    sums = SumTable(holding=holding, sizes=counts.sizes, limits=limits)
    present = Counts(
        n=np.array([facts.n for facts in sums.facts]).reshape(sums.shape),
        cases=np.array([facts.cases for facts in sums.facts]).reshape(sums.shape),
        codes=counts.codes,
        sizes=sums.sizes,
    )
    # Missing values make more cells of a variable small.
    own = hide_cells(present, limits, before=hidden & (present.n > 0))[0] | hidden
    hidden_values = sums.hidden(own)
    value, count = hidden_values.ravel(), own.ravel()
    spread = _hidden_spreads(sums, present, hidden_values, spreads(wanted), limits)
    found: list[Found] = []
    for at, place in enumerate(places_of(axes)):
        rules = sums.rules[at]
        numbers, more = statistics(
            wanted,
            sums.facts[at],
            partial(holding.part, sums.members[at]),
            limits,
            count=not count[at],
            value=not value[at],
            spread=spread.get(at, ""),
            rules=rules,
        )
        secondary = {"secondary"} if (value[at] or count[at]) and not rules else set()
        broken = (*leading(rules | secondary), *sorted(more))
        found += [Found(rule, name, place) for rule in broken]
        cells[at].update({f"{word} {name}": x for word, x in numbers.items()})
    return found


def _hidden_spreads(
    sums: SumTable, present: Counts, hidden: BoolArray, spread: int, limits: SafeLimits
) -> dict[int, str]:
    """Cells and margins whose deviations are withheld, with the rule."""
    if not spread:
        return {}
    rules: dict[int, str] = {}
    number = np.arange(hidden.size).reshape(hidden.shape)
    for axis in range(hidden.ndim):
        # In line with the tables of each variable alone, all others taken together.
        line = number[tuple(slice(None) if at == axis else -1 for at in range(hidden.ndim))]
        *groups, total = line.tolist()

        def part(chosen: Sequence[int], groups: Sequence[int] = groups) -> GroupedValues:
            return sums.holding.part(cell for at in chosen for cell in sums.members[groups[at]])

        to_hide = spreads_to_hide(
            [sums.facts[at] for at in groups],
            limits,
            part=part,
            hidden={at for at, place in enumerate(groups) if sums.one_way.flat[place]},
            total=None if sums.one_way.flat[total] else sums.facts[total],
            needed=1 + spread,
        )
        rules |= {groups[at]: rule for at, rule in to_hide.groups.items()}
        rules |= {total: to_hide.total} if to_hide.total else {}
    if hidden.ndim == 1:
        return rules
    for at, facts in enumerate(sums.facts):
        if hidden.flat[at] or at in rules:
            continue
        if is_lonely(facts, partial(sums.holding.part, sums.members[at]), limits):
            rules[at] = "leverage"
        elif is_few(facts, 1 + spread, limits):
            rules[at] = "equations"
    if not rules:
        return {}
    sensitive, before = np.zeros_like(hidden), hidden.copy()
    sensitive.flat[[at for at, rule in rules.items() if rule != "secondary"]] = True
    before.flat[[at for at, rule in rules.items() if rule == "secondary"]] = True
    pattern, _ = hide_cells(present, limits, sensitive=sensitive, before=before)
    secondary = np.flatnonzero(pattern & ~hidden)
    return dict.fromkeys(secondary.tolist(), "secondary") | rules


def _text(name: str, value: float | None) -> str:
    return count_text(value) if name.split()[0] == "n" else general(value)


def _lines(axes: Sequence[RecordGroups], cells: Sequence[Numbers]) -> list[str]:
    words = list(cells[0]) if cells else []
    rows = axes[0]
    labels = [*rows.labels, "Total"]
    if len(axes) == 1:
        body = [
            (label, [_text(word, cells[at][word]) for word in words])
            for at, label in enumerate(labels)
        ]
        return Grid(stub=rows.name, heads=words, blocks=[body[:-1], body[-1:]]).lines()
    columns = [*axes[1].labels, "Total"]
    layers = [*axes[2].labels, "Total"] if len(axes) == 3 else [""]
    lines: list[str] = []
    for layer, title in enumerate(layers):
        blocks = []
        for at, label in enumerate(labels):
            first = at * len(columns)
            inside = [cells[(first + j) * len(layers) + layer] for j in range(len(columns))]
            blocks.append(
                [
                    (label if not line else "", [_text(word, cell[word]) for cell in inside])
                    for line, word in enumerate(words)
                ]
            )
        if len(words) == 1:
            blocks = [[row for block in blocks[:-1] for row in block], blocks[-1]]
        heading = [f"{axes[2].name} = {title}"] if len(axes) == 3 else []
        lines += [*heading, f"{'':>12} | {axes[1].name}: {', '.join(words)}"]
        lines += Grid(stub=rows.name, heads=columns, blocks=blocks, ends=1).lines()
    return lines


def _frame(axes: Sequence[RecordGroups], cells: Sequence[Numbers]) -> pl.DataFrame:
    places = itertools.product(*([*axis.labels, "Total"] for axis in axes))
    words = list(cells[0]) if cells else []
    names = [column_name(axis.name, words) for axis in axes]
    rows = [
        {**dict(zip(names, place, strict=True)), **cell}
        for place, cell in zip(places, cells, strict=True)
    ]
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(words, pl.Float64))
