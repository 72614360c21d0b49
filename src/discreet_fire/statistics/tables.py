"""`tabulate`, `table`, `count`, `levelsof`: how often values occur, statistics with all margins.

In: a frame of microdata (confidential), one to three grouping variables, statistics, rules. Out:
`SafeResult`s in which small cells are withheld, and others, so that no margin, percentage,
cumulated column or sum of weights gives them away. A percentage is shown only where both counts
that it is made of are shown, a test only where all of them are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np
import polars as pl
from scipy import special

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import OutputCheckError
from discreet.microdata import open_frame
from discreet_fire.statistics.disclosure_rules import (
    RULES,
    Facts,
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
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.records import (
    OTHER,
    MicrodataRecords,
    RecordGroups,
    RecordOptions,
    group,
    names_of,
    take,
)
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult
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

#: Said where a table withholds more margins than tables of fewer variables do.
MARGINS = Check(
    rule="margins",
    verdict=CheckVerdict.review,
    reason="margins are withheld that a table of one variable shows; do not release both",
)


@dataclass(frozen=True, repr=False, eq=False)
class CountTable:
    """How many records there are in each cell and margin, and what is withheld (confidential).

    Amounts are numbers of records, or sums of weights, of which one or two cases have nearly all in
    heavy cells. What is withheld is in line with all tables of fewer of the variables; `margins`
    says whether margins are withheld that these show.
    """

    axes: Sequence[RecordGroups]
    counts: Counts
    amounts: FloatArray
    heavy: BoolArray
    hidden: BoolArray
    margins: bool
    limits: SafeLimits

    @classmethod
    def of(
        cls,
        axes: Sequence[RecordGroups],
        records: MicrodataRecords,
        *,
        weighted: bool = True,
    ) -> CountTable:
        """Count records, or add up their weights if they have some."""
        counts, limits = count_cells(axes, records), records.limits
        amounts, weights = counts.n.astype(np.float64), records.weights if weighted else None
        heavy, before = np.zeros((2, *counts.n.shape), dtype=np.bool_)
        if weights is not None:
            cells = math.prod(counts.sizes)
            holding = GroupedValues.of(weights, counts.codes, cells, records.entities)
            facts = SumTable(holding=holding, sizes=counts.sizes, limits=limits).facts
            # One or two entities have nearly all of the weight.
            dominated = [concentrated(one.first, one.second, one.size, limits) for one in facts]
            heavy = np.array(dominated).reshape(heavy.shape)
            inner = exact_sums(holding.values, holding.codes, cells)
            amounts = with_margins(inner.reshape(counts.sizes))
        hidden, margins = before, False
        if len(axes) == 1:
            *cases, everyone = counts.cases.tolist()
            groups = frozenset(np.flatnonzero(heavy[:-1]).tolist())
            gone, before[-1] = counts_to_hide(cases, groups, everyone, limits)
            before[sorted(gone)] = True
        else:
            for left_out in range(len(axes)):
                fewer = [axis for at, axis in enumerate(axes) if at != left_out]
                place = tuple(-1 if at == left_out else slice(None) for at in range(len(axes)))
                before[place] |= cls.of(fewer, records, weighted=weighted).hidden
            hidden, margins = hide_cells(counts, limits, sensitive=heavy, before=before)
        return cls(axes, counts, amounts, heavy, hidden, margins, limits)

    @property
    def found(self) -> list[Found]:
        """The rules by which counts are withheld."""
        scope, places = ", ".join(axis.name for axis in self.axes), places_of(self.axes)
        found = []
        for at in np.flatnonzero(self.hidden).tolist():
            cases, rule = int(self.counts.cases.flat[at]), "secondary"
            if 0 < cases < self.limits.minimum:
                rule = "minimum"
            elif len(self.axes) == 1 and self.heavy[:-1][at : at + 1].any():
                rule = "weights"
            found.append(Found(rule, scope, places[at], cases=cases))
        return found


def _two_way(table: CountTable, percent: Sequence[str], chi2: bool) -> SafeResult:
    (rows, columns), counts, hidden = table.axes, table.counts, table.hidden
    limits = table.limits
    values = np.where(hidden, np.nan, table.amounts)
    wholes = {"row": values[:, -1:], "column": values[-1:, :], "cell": values[-1:, -1:]}
    with np.errstate(invalid="ignore", divide="ignore"):
        # NaN where either count is withheld.
        shares = {word: 100 * values / wholes[word] for word in percent}

    blocks, cells_shown = [], []
    floats = ["n", *(f"{word}_percent" for word in shares)]
    names = [column_name(axis.name, floats) for axis in table.axes]
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
        stored["N"] = rounded(float(table.amounts[-1, -1]), limits.digits + 5)
    test: list[Check] = []
    if chi2 and hidden.any():  # it is a function of all counts, so all of them must be shown
        lines.append("          Pearson chi2 =        .   Pr = .")
        reason = "a test would be an equation for withheld counts"
        test = [Check(rule="test", verdict=CheckVerdict.fail, reason=reason)]
    elif chi2:
        n = counts.n.astype(np.float64)
        used = n[np.ix_(n[:, -1] > 0, n[-1, :] > 0)]
        expected = used[:-1, -1:] * used[-1:, :-1] / used[-1, -1]
        value = float(np.sort(((used[:-1, :-1] - expected) ** 2 / expected).ravel()).sum())
        freedom = (used.shape[0] - 2) * (used.shape[1] - 2)
        chance = float(special.chdtrc(freedom, value)) if freedom else 1.0
        lines.append(f"          Pearson chi2({freedom}) = {value:8.4f}   Pr = {chance:.3f}")
        stored |= {"chi2": rounded(value, limits.digits), "p": rounded(chance, limits.digits)}
        passed = CheckVerdict.passed
        test = [Check(rule="test", verdict=passed, reason="all counts are shown")]
    # Rows and columns of which all cases are in one cell: they tell it of everyone.
    alike, reason = list[Check](), "all cases of the group have the same value"
    for groups, other, own, mask in (
        (rows, columns, counts.n, hidden),
        (columns, rows, counts.n.T, hidden.T),
    ):
        single = ((own[:-1, :-1] > 0).sum(axis=1) == 1) & ~mask[:-1].any(axis=1)
        for which in np.flatnonzero(single).tolist() if len(other) > 1 else ():
            where, review = f"{groups.name} = {groups.labels[which]}", CheckVerdict.review
            alike.append(Check(rule="same", verdict=review, reason=reason, where=where))
    schema: dict[str, Any] = dict.fromkeys(names, pl.String) | dict.fromkeys(floats, pl.Float64)
    return SafeResult(
        command=f"tabulate {rows.name} {columns.name}",
        shown=closed(lines, bool(hidden.any()), limits.language),
        frame=pl.DataFrame(cells_shown, schema=schema, orient="row"),
        stored=stored,
        checks=[
            *(check for axis in table.axes for check in axis.checks),
            *checks_of(table.found, ["minimum"]),
            *alike,
            *test,
            *([MARGINS] if table.margins else []),
        ],
        evidence=OutputEvidence(n=counts.n, cases=counts.cases, hidden=hidden, found=table.found),
    )


def places_of(axes: Sequence[RecordGroups]) -> list[str]:
    """The name of each cell and margin of a table."""
    labels = [[f"{axis.name} = {label}" for label in (*axis.labels, "total")] for axis in axes]
    return [", ".join(place) for place in itertools.product(*labels)]


_COLUMNS = ("n", "percent", "cumulated")
#: What percentages are of.
PERCENT = ("row", "column", "cell")


def tabulate(
    frame: Any,
    row: str,
    column: str | None = None,
    *,
    weights: str | None = None,
    missing: bool = False,
    percent: Sequence[str] = (),
    chi2: bool = False,
    **options: Unpack[RecordOptions],
) -> SafeResult:
    """Frequencies of one variable, or of two against each other.

    Args:
        frame: Records; any frame narwhals reads.
        row: The variable down the side.
        column: The variable across the top.
        weights: Column of weights, whose sums are shown.
        missing: Whether missing values are values too.
        percent: Percentages of a "row", a "column" and of all ("cell"), for two variables.
        chi2: Pearson's test of independence, if nothing is withheld.
        options: The rules, the entity and the filter.

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
    wrong = [word for word in percent if word not in PERCENT]
    if wrong or (column is None and (percent or chi2)) or row == column:
        raise OutputCheckError(
            "two variables are needed" if row == column or not wrong else "unknown percentage",
            code="tabulate",
            where=wrong[0] if wrong else row,
            hint="tabulate(frame, row, column, percent=['row', 'column', 'cell'])",
        )
    names = [row, *([column] if column is not None else [])]
    records = take(frame, names, weights, **options).weighted().condensed()
    axes = [group(records, name, missing=missing) for name in names]
    if len(axes[0]) == 0:
        checks = checks_of([], ["minimum"])
        shown, stored = "no observations", {"N": 0}
        return SafeResult(command=f"tabulate {row}", shown=shown, stored=stored, checks=checks)
    table = CountTable.of(axes, records)
    if column is None:
        return _one_way(table)
    return _two_way(table, [word for word in PERCENT if word in percent], chi2)


def _one_way(table: CountTable) -> SafeResult:
    (axis,), (*amounts, total), limits = table.axes, table.amounts.tolist(), table.limits
    *gone, total_hidden = table.hidden.tolist()
    hidden = [at for at, one in enumerate(gone) if one]
    shown: list[float | None] = [
        None if one else rounded(amount, limits.digits + 5)
        for one, amount in zip(gone, amounts, strict=True)
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
        checks=[*axis.checks, *checks_of(table.found, ["minimum"])],
        evidence=OutputEvidence(n=table.amounts[:-1], hidden=frozenset(hidden), found=table.found),
    )


def table(
    frame: Any,
    by: str | Sequence[str],
    of: str | Sequence[str] | None = None,
    *,
    statistics: str | Sequence[str] = "mean",
    weights: str | None = None,
    missing: bool = False,
    **options: Unpack[RecordOptions],
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
    names = names_of(by, "table")
    variables = names_of(of, "table") if of is not None else []
    if len(names) > 3:
        message = "a table has one to three grouping variables"
        raise OutputCheckError(message, code="table", where=", ".join(names))
    records = take(frame, [*names, *variables], weights, **options)
    records, limits = records if variables else records.condensed(), records.limits
    axes = [group(records, name, missing=missing) for name in names]
    if math.prod(len(axis) + 1 for axis in axes) > limits.most_cells:
        message, hint = "the table has too many cells", "use fewer or coarser groups"
        raise OutputCheckError(message, code="table-size", hint=hint)
    wanted = canonical_statistics(statistics)
    counted = CountTable.of(axes, records, weighted=False)
    broken = counted.found
    cells: list[Numbers] = [{} for _ in range(counted.hidden.size)]
    if not variables:
        shown = zip(counted.amounts.flat, counted.hidden.flat, strict=True)
        cells = [{"n": None if gone else float(n)} for n, gone in shown]
    for name in variables:
        broken += _add_variable(name, wanted, records, counted, cells)
    withheld = any(None in cell.values() for cell in cells)
    checks = checks_of(broken, RULES if variables else ["minimum"]) + [MARGINS] * counted.margins
    option = f", statistics({' '.join(wanted)} {' '.join(variables)})" if variables else ""
    words = list(cells[0])
    labels = itertools.product(*([*axis.labels, "Total"] for axis in axes))
    columns = [column_name(axis.name, words) for axis in axes]
    rows = [
        dict(zip(columns, one, strict=True)) | cell for one, cell in zip(labels, cells, strict=True)
    ]
    return SafeResult(
        command=f"table {' '.join(names)}{option}",
        shown=closed(_table_lines(axes, cells), withheld, limits.language),
        frame=pl.DataFrame(rows, schema_overrides=dict.fromkeys(words, pl.Float64)),
        checks=[*(check for axis in axes for check in axis.checks), *checks],
        evidence=OutputEvidence(found=broken),
    )


def _add_variable(
    name: str,
    wanted: Sequence[str],
    records: MicrodataRecords,
    counted: CountTable,
    cells: list[Numbers],
) -> list[Found]:
    """Add the statistics of a variable to each cell; the rules that are broken."""
    counts, hidden, limits = counted.counts, counted.hidden, counted.limits
    holding = records.grouped(name, counts.codes, math.prod(counts.sizes))
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
        for at, place in enumerate(places_of(counted.axes))
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

    def union(chosen: Sequence[int], line: Sequence[int]) -> Facts:
        """The facts of some cells of a line together."""
        return sums.holding.union([one for at in chosen for one in sums.members[line[at]]], limits)

    for axis in range(hidden.ndim):
        # In line with the tables of each variable alone, all others taken together.
        line = number[tuple(slice(None) if at == axis else -1 for at in range(hidden.ndim))]
        *groups, total = line.tolist()
        to_hide = spreads_to_hide(
            [sums.facts[at] for at in groups],
            limits,
            union=partial(union, line=groups),
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
        if is_lonely(facts, limits):
            rules[at] = "leverage"
        elif is_few(facts, 1 + spread, limits):
            rules[at] = "equations"
    # Cells that add up along one variable, but for those of it alone.
    sizes = enumerate(hidden.shape)
    lines = (np.moveaxis(number, axis, -1).reshape(-1, size)[:-1] for axis, size in sizes)
    for line in itertools.chain.from_iterable(lines):
        *groups, total = line.tolist()
        unseen = [at for at in groups if hidden.flat[at] and sums.facts[at].n]
        looked_at = unseen and not hidden.flat[total] and total not in rules
        if looked_at and is_lonely(union(range(len(unseen)), unseen), limits):
            rules[total] = "leverage"
    if not rules:
        return {}
    sensitive, before = np.zeros_like(hidden), hidden.copy()
    sensitive.flat[[at for at, rule in rules.items() if rule != "secondary"]] = True
    before.flat[[at for at, rule in rules.items() if rule == "secondary"]] = True
    pattern, _ = hide_cells(present, limits, sensitive=sensitive, before=before)
    secondary = np.flatnonzero(pattern & ~hidden)
    return dict.fromkeys(secondary.tolist(), "secondary") | rules


def _table_lines(axes: Sequence[RecordGroups], cells: Sequence[Numbers]) -> list[str]:
    words, rows = list(cells[0]), axes[0]
    labels = [*rows.labels, "Total"]

    def text(word: str, at: int) -> str:
        return (count_text if word.split()[0] == "n" else general)(cells[at][word])

    if len(axes) == 1:
        body = [(label, [text(word, at) for word in words]) for at, label in enumerate(labels)]
        return Grid(stub=rows.name, heads=words, blocks=[body[:-1], body[-1:]]).lines()
    columns = [*axes[1].labels, "Total"]
    layers = [*axes[2].labels, "Total"] if len(axes) == 3 else [""]
    lines: list[str] = []
    for layer, title in enumerate(layers):
        blocks = []
        for at, label in enumerate(labels):
            first = at * len(columns) * len(layers) + layer
            inside = range(first, first + len(columns) * len(layers), len(layers))
            texts = [[text(word, cell) for cell in inside] for word in words]
            blocks.append([(label if not line else "", own) for line, own in enumerate(texts)])
        if len(words) == 1:
            blocks = [[row for block in blocks[:-1] for row in block], blocks[-1]]
        heading = [f"{axes[2].name} = {title}"] if len(axes) == 3 else []
        lines += [*heading, f"{'':>12} | {axes[1].name}: {', '.join(words)}"]
        lines += Grid(stub=rows.name, heads=columns, blocks=blocks, ends=1).lines()
    return lines


def count(frame: Any, **options: Unpack[RecordOptions]) -> SafeResult:
    r"""Number of records.

    Withheld if they are few, and if all but few are counted.

    >>> frame = pl.DataFrame({"age": [30, 41, 52, 63]})
    >>> print(count(frame, where="age > 0"))
      4
    >>> count(frame, where="age > 35").shown
    '  .\n. withheld for confidentiality'
    """
    entity, where = options.get("entity"), options.get("where")
    some = [entity] if entity is not None else open_frame(frame).collect_schema().names()[:1]
    records = take(frame, some, **options)
    limits = records.limits
    everyone = records if where is None else take(frame, some, entity=entity)
    inside, outside = len(records), len(everyone) - len(records)
    if entity is not None:  # cases with records that are not counted
        inside = records.named_entities().n_unique()
        own = records.data[entity].value_counts(name="\0inside")
        every = everyone.named_entities().value_counts(name="\0every")
        joined = every.join(own, on=entity, how="left").fill_null(0)
        outside = joined.filter(pl.col("\0every") > pl.col("\0inside")).height
    violations = [Found("minimum", "count")] * (0 < inside < limits.minimum)
    violations += [Found("few-others", "count")] * (0 < outside < limits.minimum)
    shown = None if violations else float(len(records))
    return SafeResult(
        command="count" + (f" if {where}" if where else ""),
        shown=closed([f"  {count_text(shown)}"], shown is None, limits.language),
        stored={} if shown is None else {"N": shown},
        checks=checks_of(violations, ["minimum", "few-others"]),
        evidence=OutputEvidence(records=len(records), cases=inside, others=outside),
    )


def levelsof(frame: Any, name: str, **options: Unpack[RecordOptions]) -> SafeResult:
    """The values of a variable that enough cases have.

    >>> print(levelsof(pl.DataFrame({"region": [1] * 5 + [2] * 4 + [9]}), "region"))
    1 2
    . withheld for confidentiality
    """
    names_of(name, "levelsof")
    records = take(frame, [name], **options)
    axis, limits = group(records, name, together=False), records.limits
    cases = records.cases(axis.codes, len(axis))
    text = records.is_text(name)
    levels = [
        f'`"{label}"\'' if text else label
        for label, value, size in zip(axis.labels, axis.values, cases.tolist(), strict=True)
        if size >= limits.minimum and not (axis.checks and value == OTHER)
    ]
    violations = [Found("minimum", name)] * (len(levels) < len(axis))
    return SafeResult(
        command=f"levelsof {name}",
        shown=closed([" ".join(levels)], bool(violations), limits.language),
        frame=pl.DataFrame({name: levels}, schema={name: pl.String}),
        checks=[*axis.checks, *checks_of(violations, ["minimum"])],
        evidence=OutputEvidence(cases=cases),
    )
