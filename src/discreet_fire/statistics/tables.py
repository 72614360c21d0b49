"""`tabulate` and `table`: how often values occur, and statistics of variables, with all margins.

In: a frame of microdata (confidential), one to three grouping variables, statistics, rules. Out:
`SafeResult`s in which small cells are withheld, and others, so that no margin, percentage,
cumulated column or sum of weights gives them away. A percentage is shown only where both counts
that it is made of are shown, a test only where all of them are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from scipy import special

from discreet.arrays import BoolArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.disclosure_rules import (
    Found,
    checks_of,
    concentrated,
    counts_to_hide,
)
from discreet_fire.statistics.grouped_values import (
    GroupedValues,
    Numbers,
    StatisticsGroup,
    canonical_statistics,
    exact_sums,
    group_statistics,
    spreads_of,
)
from discreet_fire.statistics.layout import (
    Grid,
    closed,
    column_name,
    count_text,
    fixed,
    general,
    rounded,
)
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.records import (
    MicrodataRecords,
    RecordGroups,
    count_of,
    group,
    names_of,
    take,
)
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult
from discreet_fire.statistics.summarize import RULES
from discreet_fire.statistics.suppression import (
    Counts,
    SumTable,
    count_cells,
    hide_cells,
    is_few,
    is_lonely,
    spreads_to_hide,
    with_margins,
)


def weights_by_group(records: MicrodataRecords, axis: RecordGroups) -> GroupedValues | None:
    """The weights of the records along a variable; None if there are none."""
    weights = records.weights()
    if weights is None:
        return None
    return GroupedValues.of(weights, axis.codes, len(axis), records.entities())


def hidden_groups(
    records: MicrodataRecords, axis: RecordGroups, limits: SafeLimits
) -> tuple[frozenset[int], bool, list[Found]]:
    """Withheld groups along a variable, whether their total is, and the rules that are broken."""
    weights = weights_by_group(records, axis)
    facts = [] if weights is None else weights.facts(limits)
    # Groups in which one or two cases have nearly all of the weight.
    heavy = frozenset(
        at for at, one in enumerate(facts) if concentrated(one.first, one.second, one.size, limits)
    )
    *cases, everyone = count_cells([axis], records).cases.tolist()
    hidden, total = counts_to_hide(cases, heavy, everyone, limits)
    broken = []
    for at in sorted(hidden):
        small = 0 < cases[at] < limits.minimum
        rule = "minimum" if small else "weights" if at in heavy else "secondary"
        place = f"{axis.name} = {axis.labels[at]}"
        broken.append(Found(rule, axis.name, place, cases=cases[at]))
    return hidden, total, broken + [Found("secondary", axis.name, "total", cases=everyone)] * total


#: Said where a table withholds more margins than tables of fewer variables do.
MARGINS = Check(
    rule="margins",
    verdict=CheckVerdict.review,
    reason="margins are withheld that a table of one variable shows; do not release both",
)


def _two_way(
    records: MicrodataRecords,
    axes: Sequence[RecordGroups],
    percent: Sequence[str],
    chi2: bool,
    limits: SafeLimits,
) -> SafeResult:
    """The table, as far as it may be shown."""
    rows, columns = axes
    down, across = (hidden_groups(records, axis, limits)[0] for axis in axes)
    counts = count_cells(axes, records)
    before = np.zeros(counts.n.shape, dtype=np.bool_)
    before[sorted(down), -1] = True
    before[-1, sorted(across)] = True
    heavy, amounts, weights = None, counts.n.astype(np.float64), records.weights()
    if weights is not None:
        cells = counts.sizes[0] * counts.sizes[1]
        holding = GroupedValues.of(weights, counts.codes, cells, records.entities())
        facts = SumTable(holding=holding, sizes=counts.sizes, limits=limits).facts
        # Cells in which one or two entities have nearly all of the weight.
        dominated = [concentrated(one.first, one.second, one.size, limits) for one in facts]
        heavy = np.array(dominated).reshape(counts.n.shape)
        inner = exact_sums(holding.values, holding.codes, cells)
        amounts = with_margins(inner.reshape(counts.sizes))
    hidden, margins = hide_cells(counts, limits, sensitive=heavy, before=before)
    values = np.where(hidden, np.nan, amounts)
    wholes = {"row": values[:, -1:], "column": values[-1:, :], "cell": values[-1:, -1:]}
    with np.errstate(invalid="ignore", divide="ignore"):
        # NaN where either count is withheld.
        shares = {word: 100 * values / wholes[word] for word in percent}

    blocks, cells_shown = [], []
    floats = ["n", *(f"{word}_percent" for word in shares)]
    names = [column_name(axis.name, floats) for axis in axes]
    for at, label in enumerate([*rows.labels, "Total"]):
        block = [(label, [count_text(x) for x in values[at]])]
        blocks.append(block + [("", [fixed(x) for x in share[at]]) for share in shares.values()])
        for place, head in enumerate([*columns.labels, "Total"]):
            numbers = [rounded(values[at, place], limits.digits + 5)]
            numbers += [rounded(share[at, place], limits.digits) for share in shares.values()]
            known = [None if np.isnan(x) else float(x) for x in numbers]
            cells_shown.append((label, head, *known))
    if not percent:
        blocks = [[row for block in blocks[:-1] for row in block], blocks[-1]]
    grid = Grid(stub=rows.name, heads=[*columns.labels, "Total"], blocks=blocks, ends=1)
    width = grid.width * len(columns)
    lines = [f"{'':>12} |{columns.name:^{width}} |".rstrip(), *grid.lines()]
    stored: dict[str, float] = {}
    if not hidden[-1, -1]:
        stored["N"] = rounded(float(amounts[-1, -1]), limits.digits + 5)
    test = _tested(counts, hidden, lines, stored, limits) if chi2 else []
    broken = hidden_counts(counts, hidden, axes, limits)
    schema: dict[str, Any] = dict.fromkeys(names, pl.String) | dict.fromkeys(floats, pl.Float64)
    return SafeResult(
        command=f"tabulate {rows.name} {columns.name}",
        shown=closed(lines, bool(hidden.any()), limits.language),
        frame=pl.DataFrame(cells_shown, schema=schema, orient="row"),
        stored=stored,
        checks=[
            *(check for axis in axes for check in axis.checks),
            *checks_of(broken, ["minimum"]),
            *_alike(counts, hidden, axes),
            *test,
            *([MARGINS] if margins else []),
        ],
        evidence=OutputEvidence(n=counts.n, cases=counts.cases, hidden=hidden, found=broken),
    )


def _tested(
    counts: Counts,
    hidden: BoolArray,
    lines: list[str],
    stored: dict[str, float],
    limits: SafeLimits,
) -> list[Check]:
    """Pearson's test; it is a function of all counts, so all of them must be shown."""
    if hidden.any():
        lines.append("          Pearson chi2 =        .   Pr = .")
        reason = "a test would be an equation for withheld counts"
        return [Check(rule="test", verdict=CheckVerdict.fail, reason=reason)]
    n = counts.n.astype(np.float64)
    used = n[np.ix_(n[:, -1] > 0, n[-1, :] > 0)]
    expected = used[:-1, -1:] * used[-1:, :-1] / used[-1, -1]
    value = float(np.sort(((used[:-1, :-1] - expected) ** 2 / expected).ravel()).sum())
    freedom = (used.shape[0] - 2) * (used.shape[1] - 2)
    chance = float(special.chdtrc(freedom, value)) if freedom else 1.0
    lines.append(f"          Pearson chi2({freedom}) = {value:8.4f}   Pr = {chance:.3f}")
    stored |= {"chi2": rounded(value, limits.digits), "p": rounded(chance, limits.digits)}
    return [Check(rule="test", verdict=CheckVerdict.passed, reason="all counts are shown")]


def places_of(axes: Sequence[RecordGroups]) -> list[str]:
    """The name of each cell and margin of a table."""
    labels = [[f"{axis.name} = {label}" for label in (*axis.labels, "total")] for axis in axes]
    return [", ".join(place) for place in itertools.product(*labels)]


def hidden_counts(
    counts: Counts, hidden: BoolArray, axes: Sequence[RecordGroups], limits: SafeLimits
) -> list[Found]:
    """The rules by which counts of a table are withheld."""
    scope, places = ", ".join(axis.name for axis in axes), places_of(axes)
    small = (counts.cases > 0) & (counts.cases < limits.minimum)
    return [
        Found(
            "minimum" if small.flat[at] else "secondary",
            *(scope, places[at]),
            cases=int(counts.cases.flat[at]),
        )
        for at in np.flatnonzero(hidden).tolist()
    ]


def _alike(counts: Counts, hidden: BoolArray, axes: Sequence[RecordGroups]) -> list[Check]:
    """Rows and columns of which all cases are in one cell: they tell it of everyone."""
    checks = []
    for axis, n, mask in ((0, counts.n, hidden), (1, counts.n.T, hidden.T)):
        groups, other = axes[axis], axes[1 - axis]
        if len(other) < 2:
            continue
        single = ((n[:-1, :-1] > 0).sum(axis=1) == 1) & ~mask[:-1].any(axis=1)
        reason = "all cases of the group have the same value"
        places = [f"{groups.name} = {groups.labels[at]}" for at in np.flatnonzero(single)]
        checks += [
            Check(rule="same", verdict=CheckVerdict.review, reason=reason, where=place)
            for place in places
        ]
    return checks


_COLUMNS = ("n", "percent", "cumulated")
#: What percentages are of.
PERCENT = ("row", "column", "cell")


def tabulate(
    frame: Any,
    row: str,
    column: str | None = None,
    *,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    weights: str | None = None,
    where: str | None = None,
    missing: bool = False,
    percent: Sequence[str] = (),
    chi2: bool = False,
) -> SafeResult:
    """Frequencies of one variable, or of two against each other.

    Args:
        frame: Records; any frame narwhals reads.
        row: The variable down the side.
        column: The variable across the top.
        limits: The rules.
        entity: Column of whom a record is about; small cells are those of few entities.
        weights: Column of weights, whose sums are shown.
        where: Only these records.
        missing: Whether missing values are values too.
        percent: Percentages of a "row", a "column" and of all ("cell"), for two variables.
        chi2: Pearson's test of independence, if nothing is withheld.

    >>> frame = pl.DataFrame({"region": ["n"] * 6 + ["s"] * 5 + ["w"] * 2})
    >>> print(tabulate(frame, "region"))
          region |      Freq.    Percent       Cum.
    -------------+---------------------------------
               n |          6      46.15      46.15
               s |          .          .          .
               w |          .          .     100.00
    -------------+---------------------------------
           Total |         13     100.00
    . withheld for confidentiality
    """
    limits = limits_of(limits)
    wrong = [word for word in percent if word not in PERCENT]
    if wrong or (column is None and (percent or chi2)) or row == column:
        raise OutputCheckError(
            "two variables are needed" if row == column or not wrong else "unknown percentage",
            code="tabulate",
            where=wrong[0] if wrong else row,
            hint="tabulate(frame, row, column, percent=['row', 'column', 'cell'])",
        )
    names = [row, *([column] if column is not None else [])]
    records = take(frame, names, where=where, entity=entity, weights=weights)
    records = records.weighted().condensed()
    axes = [group(records, name, limits, missing=missing) for name in names]
    if len(axes[0]) == 0:
        checks = checks_of([], ["minimum"])
        shown, stored = "no observations", {"N": 0}
        return SafeResult(command=f"tabulate {row}", shown=shown, stored=stored, checks=checks)
    if column is None:
        return _one_way(records, axes[0], limits)
    shares = [word for word in PERCENT if word in percent]
    return _two_way(records, axes, shares, chi2, limits)


def _one_way(records: MicrodataRecords, axis: RecordGroups, limits: SafeLimits) -> SafeResult:
    hidden, total_hidden, broken = hidden_groups(records, axis, limits)
    weights = weights_by_group(records, axis)
    if weights is None:
        amounts = count_of(axis.codes, len(axis), records.times).astype(np.float64)
    else:
        amounts = exact_sums(weights.values, weights.codes, len(axis))
    total = float(amounts.sum())
    shown: list[float | None] = [
        None if at in hidden else rounded(float(amount), limits.digits + 5)
        for at, amount in enumerate(amounts)
    ]
    percents: list[float | None] = [None] * len(shown)
    cumulated = percents.copy()
    if total and not total_hidden:
        percents = [x if x is None else rounded(100 * x / total, limits.digits) for x in shown]
        # The cumulated column, where it follows from frequencies that are shown.
        first, last = (min(hidden), max(hidden)) if hidden else (len(shown), -1)
        cumulated = [
            rounded(float(share), limits.digits) if at < first or at >= last else None
            for at, share in enumerate(100 * np.cumsum(amounts) / total)
        ]
    numbers = zip(map(count_text, shown), map(fixed, percents), map(fixed, cumulated), strict=True)
    rows = list(zip(axis.labels, map(list, numbers), strict=True))
    whole = None if total_hidden else rounded(total, limits.digits + 5)
    end = ("Total", [count_text(whole), fixed(None if total_hidden else 100.0)])
    grid = Grid(stub=axis.name, heads=["Freq.", "Percent", "Cum."], blocks=[rows, [end]])
    return SafeResult(
        command=f"tabulate {axis.name}",
        shown=closed(grid.lines(), bool(hidden) or total_hidden, limits.language),
        frame=pl.DataFrame(
            {column_name(axis.name, _COLUMNS): axis.labels}
            | dict(zip(_COLUMNS, (shown, percents, cumulated), strict=True)),
            schema_overrides=dict.fromkeys(_COLUMNS, pl.Float64),
        ),
        stored={} if whole is None else {"N": whole},
        checks=[*axis.checks, *checks_of(broken, ["minimum"])],
        evidence=OutputEvidence(n=amounts, hidden=hidden, found=broken),
    )


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
        shown=closed(_table_lines(axes, cells), withheld, limits.language),
        frame=_table_frame(axes, cells),
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
    spread = _hidden_spreads(sums, present, hidden_values, spreads_of(wanted), limits)
    groups = [
        StatisticsGroup(
            facts=sums.facts[at],
            part=partial(holding.part, sums.members[at]),
            place=place,
            rules=sums.rules[at],
            count=not count[at],
            value=not value[at],
            spread=spread.get(at, ""),
        )
        for at, place in enumerate(places_of(axes))
    ]
    several, found = group_statistics(name, wanted, groups, limits)
    for cell, numbers in zip(cells, several, strict=True):
        cell.update({f"{word} {name}": x for word, x in numbers.items()})
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
    for line in _inner_lines(number):
        *groups, total = line.tolist()
        unseen = [at for at in groups if hidden.flat[at] and sums.facts[at].n]
        if unseen and not hidden.flat[total] and total not in rules:
            cells = [cell for at in unseen for cell in sums.members[at]]
            union = sums.holding.union(cells, limits)
            if is_lonely(union, partial(sums.holding.part, cells), limits):
                rules[total] = "leverage"
    if not rules:
        return {}
    sensitive, before = np.zeros_like(hidden), hidden.copy()
    sensitive.flat[[at for at, rule in rules.items() if rule != "secondary"]] = True
    before.flat[[at for at, rule in rules.items() if rule == "secondary"]] = True
    pattern, _ = hide_cells(present, limits, sensitive=sensitive, before=before)
    secondary = np.flatnonzero(pattern & ~hidden)
    return dict.fromkeys(secondary.tolist(), "secondary") | rules


def _inner_lines(number: IntArray) -> Iterator[IntArray]:
    """Cells that add up along one variable, the total last, but for those of it alone."""
    for axis in range(number.ndim):
        lines = np.moveaxis(number, axis, -1).reshape(-1, number.shape[axis])
        yield from lines[:-1]


def _cell_text(name: str, value: float | None) -> str:
    return count_text(value) if name.split()[0] == "n" else general(value)


def _table_lines(axes: Sequence[RecordGroups], cells: Sequence[Numbers]) -> list[str]:
    words = list(cells[0]) if cells else []
    rows = axes[0]
    labels = [*rows.labels, "Total"]
    if len(axes) == 1:
        body = [
            (label, [_cell_text(word, cells[at][word]) for word in words])
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
                    (label if not line else "", [_cell_text(word, cell[word]) for cell in inside])
                    for line, word in enumerate(words)
                ]
            )
        if len(words) == 1:
            blocks = [[row for block in blocks[:-1] for row in block], blocks[-1]]
        heading = [f"{axes[2].name} = {title}"] if len(axes) == 3 else []
        lines += [*heading, f"{'':>12} | {axes[1].name}: {', '.join(words)}"]
        lines += Grid(stub=rows.name, heads=columns, blocks=blocks, ends=1).lines()
    return lines


def _table_frame(axes: Sequence[RecordGroups], cells: Sequence[Numbers]) -> pl.DataFrame:
    places = itertools.product(*([*axis.labels, "Total"] for axis in axes))
    words = list(cells[0]) if cells else []
    names = [column_name(axis.name, words) for axis in axes]
    rows = [
        {**dict(zip(names, place, strict=True)), **cell}
        for place, cell in zip(places, cells, strict=True)
    ]
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(words, pl.Float64))
