"""Rounding counts: `round_counts`, `round_linked` for tables that share cells; `audit_rounding`.

In: confidential `Table`s and a `Rounding`. Out: a `ProtectedTable` for each: this is where the
confidentiality line is crossed; or an `Ingredient` of key figures, CONFIDENTIAL but for its
`.protected`. Sums of weights are estimates, and are rounded as well. `round_shown` is
public: it rounds the figures that stand beside hidden cells. The audit says what rounded tables
still tell, CONFIDENTIAL though it shows no true value: every figure leaves an interval, and the
sums of true counts narrow it. Attackers are taken to know method and base, all tables, and which
combinations are empty.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.confidential import without_values
from discreet.disclosure import DisclosureVerdict, Gap, Judged
from discreet.errors import CountRoundingError, DisclosureWarning, DiscreetWarning
from discreet.protection.noise import (
    DECIMAL_SCALE,
    UNSUITABLE_KEYS,
    Intervals,
    PerturbationTable,
    check_found_codes,
    keep_found_codes,
)
from discreet.protection.rounding.bases import Rounding, inner_cells, no_cell_keys
from discreet.protection.rounding.small_counts import (
    InnerCells,
    JointCounts,
    controlled_counts,
    counts_refused,
    rounded_small,
)
from discreet.protection.suppression import (
    METHOD,
    CellState,
    Certificate,
    LinkedTable,
    SuppressionProblem,
    TableCells,
    attack_intervals,
    build_problem,
    certify,
    figures_shown,
    held_in_joint_cubes,
    linked_cells,
    pattern_notes,
    rounded_values,
    zeros_of,
)
from discreet.tables import (
    CellStatus,
    Ingredient,
    Note,
    ProtectedTable,
    Table,
    heading,
    note_of,
    without_unpublished,
)

if TYPE_CHECKING:
    from discreet.disclosure import VariableCode

_AVERAGED = (
    "random rounding rounds the same set differently in each table, so the mean of many "
    'published values discloses the true value; method="keyed" avoids this'
)


@without_values
def round_counts(
    table: Table,
    base: int = 5,
    method: str = "keyed",
    *,
    found_codes: Literal["list", "hide"] = "list",
    titles: Mapping[str, str] | None = None,
    universe: Mapping[str, str] | None = None,
    digests: Mapping[str, str] | None = None,
    **options: Any,
) -> ProtectedTable:
    """Protect a table of counts by rounding them to multiples of a base.

    Weighted tables give rounded estimates; value columns are left out.

    Args:
        table: The table; with cell keys for "keyed".
        base: Figures become multiples of this, 2 to 1,000.
        method: "keyed" rounds up or down at random by the cell key, and the same set of records
            equally in every table; "conventional" to the nearest multiple; "random" by a seed;
            "controlled" all figures together, so that totals are sums of their parts;
            "small-counts" inner cells below the base only, and adds them up.
        found_codes: "hide" leaves out codes without a figure that only the data tell.
        titles: language → heading.
        universe: language → who is counted.
        digests: name → keyed digest, added to the provenance.
        options: `margins`, `ties`, `seed`, `unbiased` and `steps`, as for `Rounding`.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [12, 8, 4]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> round_counts(table, 5, "conventional").to_polars()["value"].to_list()
    [10, 10, 5]
    >>> round_counts(table, 5, "controlled").to_polars()["value"].to_list()
    [15, 10, 5]
    """
    rounding = Rounding(base=base, method=method, **options)
    check_found_codes(table, found_codes)
    (protected,) = round_linked(
        [table], rounding, titles=titles, universe=universe, digests=digests
    )
    if table.sums:
        message = f"the result of {table.name!r} has counts only, without the value columns"
        warnings.warn(message, DiscreetWarning, stacklevel=3)
    if method == "random":
        warnings.warn(_AVERAGED, DisclosureWarning, stacklevel=3)
    return without_unpublished(protected) if found_codes == "hide" else protected


def round_linked(
    tables: Sequence[Table],
    rounding: Rounding,
    *,
    titles: Mapping[str, str] | None = None,
    universe: Mapping[str, str] | None = None,
    digests: Mapping[str, str] | None = None,
    same: Mapping[VariableCode, VariableCode] | None = None,
) -> tuple[ProtectedTable, ...]:
    """Protect tables of the same records; a cell that several have gets one figure.

    Args:
        tables: The tables.
        rounding: How they are rounded.
        titles: language → heading, of all of them.
        universe: language → who is counted.
        digests: name → keyed digest, added to the provenance.
        same: Codes that mean the same as codes of another variable, such as
            ``{("place", "1"): ("town", "a")}``.
    """
    rounded = rounded_counts(tables, rounding, same)
    told = {"titles": titles, "universe": universe, "digests": digests}
    pairs = zip(tables, rounded, strict=True)
    return tuple(rounded_table(table, value, rounding, **told) for table, value in pairs)


def rounded_table(
    table: Table, value: IntArray, rounding: Rounding, **texts: Any
) -> ProtectedTable:
    """Rounded figures as a table; zeros and what was rounded to 0 are one and the same.

    Args:
        table: The true table.
        value: Its rounded figures.
        rounding: How they were rounded.
        texts: `titles`, `universe` and `digests`, as for `round_counts`.
    """
    status = np.where(value == 0, CellStatus.zero_or_changed_to_zero, CellStatus.published)
    keyed = rounding.method == "keyed" and table.grid is not None
    return ProtectedTable(
        dimensions=table.dimensions,
        index=table.index,
        value=value,
        status=status.astype(np.int8),
        parts=table.parts,
        notes=notes_of(rounding, table),
        name=table.name,
        **heading(
            f"{rounding.method} rounding", **texts, key_grid=str(table.grid) if keyed else ""
        ),
    )


def notes_of(rounding: Rounding, table: Table) -> tuple[Note, ...]:
    """Notes for readers on rounded figures."""
    kinds = ["rounded-apart" if rounding.margins else "rounded"]
    kinds += ["sums-kept" if rounding.method == "controlled" else "each-apart"]
    if rounding.method == "small-counts":
        kinds = ["small-counts"]
    words = {"base": rounding.base, "margins": rounding.margins}
    notes = []
    for kind in kinds:
        note = note_of("discreet.protection.rounding", kind)
        texts = {each: text.format(**words) for each, text in note.texts.items()}
        notes.append(replace(note, texts=texts))
    if rounding.method == "keyed" and table.keys is not None and table.keys.faults:
        notes.append(UNSUITABLE_KEYS)
    return tuple(notes)


def rounded_counts(
    tables: Sequence[Table],
    rounding: Rounding,
    same: Mapping[VariableCode, VariableCode] | None = None,
) -> tuple[IntArray, ...]:
    """The rounded figures of each table. CONFIDENTIAL until they stand in a protected table."""
    given: Sequence[Any] = tables
    for table in given:
        if not isinstance(table, Table):
            message = f"expected a Table, got a {type(table).__name__}"
            raise CountRoundingError(
                message, code="argument", hint="create it with discreet.tabulate"
            )
        if table.weight is not None and rounding.additive:
            message = "estimates are not whole numbers and cannot be rounded additively"
            hint = 'use method="conventional" or "keyed"'
            raise CountRoundingError(message, code="weight", where=table.name, hint=hint)
    if not rounding.additive:
        return tuple(_each_apart(table, rounding) for table in tables)
    linked = JointCounts.of(tables, same)
    if rounding.method == "controlled":
        found = controlled_counts(linked, rounding, tables)
    else:
        inner = InnerCells.of(linked)
        found = inner.sums(rounded_small(inner, rounding.base))
    return tuple(found[cells] for cells in linked.cells)


def _each_apart(table: Table, rounding: Rounding) -> IntArray:
    value = table.count if table.weight is None else table.weight
    base = rounding.bases(table)
    below = np.floor_divide(value, base)
    rest = value - below * base
    if rounding.method == "conventional":
        tie_up = True if rounding.ties == "up" else below % 2 == 1
        up = (2 * rest > base) | ((2 * rest == base) & tie_up)
    elif rounding.method == "random":
        up = (rounding.draws(table) >> np.uint64(11)) * 2.0**-53 < rest / base
    else:
        if table.cell_key is None or table.grid is None:
            raise no_cell_keys(table)
        if table.weight is not None:
            up = table.cell_key / table.grid.size < rest / base
        else:  # those whose key is below so large a share: exact, where floats would not be
            up = table.cell_key < -(-table.grid.size * rest // base)
    rounded: IntArray = ((below + up) * base).astype(np.int64)
    return rounded


def rounding_table(base: int) -> PerturbationTable:
    """Keyed rounding as a perturbation table, for any base. SECRET, though there is only one.

    `perturb` with it gives what `round_counts` by the key gives, on the grid of 10^15.

    >>> import numpy as np
    >>> rounding_table(3).lookup(np.array([4, 4, 6]), np.array([0, 10**14 * 4, 5])).tolist()
    [2, -1, 0]
    """
    Rounding(base=base)  # checks the base
    upper, noise, starts = [], [], [0]
    for row in range(base + 1):
        rest = row % base
        if rest:
            upper += [-(-DECIMAL_SCALE * rest // base), DECIMAL_SCALE]
            noise += [base - rest, -rest]
        else:
            upper.append(DECIMAL_SCALE)
            noise.append(0)
        starts.append(len(upper))
    content = Intervals(
        scale=DECIMAL_SCALE,
        closed="left",
        starts=np.array(starts, dtype=np.int64),
        upper=np.array(upper, dtype=np.int64),
        noise=np.array(noise, dtype=np.int64),
        beyond=(1, base),
    )
    return PerturbationTable(content, f"rounding to {base}")


def rounded_ingredient(
    table: Table, base: int = 5, method: str = "keyed", **options: Any
) -> Ingredient:
    """Round counts as `round_counts` does, and keep what key figures need (confidential).

    Shares, ratios and changes made of it by `discreet.derive` rest on rounded figures alone.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [12, 8, 4]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> rounded_ingredient(table, 5, "conventional").value.tolist()
    [10.0, 10.0, 5.0]
    """
    keep_found_codes(table, options)
    texts = {name: options.pop(name, None) for name in ("titles", "universe", "digests")}
    rounding = Rounding(base=base, method=method, **options)
    (value,) = rounded_counts([table], rounding)
    return ingredient_of(table, value, rounding, **texts)


def ingredient_of(table: Table, value: IntArray, rounding: Rounding, **texts: Any) -> Ingredient:
    """Rounded figures with their originals (confidential); `texts` as for `rounded_table`."""
    protected = rounded_table(table, value, rounding, **texts)
    truth = table.count if table.weight is None else table.weight
    deviation = rounding.mean_deviation(rounding.bases(table))
    return Ingredient(
        protected=protected,
        index=table.index,
        value=value.astype(np.float64),
        original=truth.astype(np.float64),
        deviation=np.where(truth == 0, 0.0, deviation),
        suppressed=np.zeros(len(table), dtype=np.bool_),
    )


def round_shown(safe: ProtectedTable, base: int) -> ProtectedTable:
    """Round the figures that a table with hidden cells shows, halves up.

    What is worked out from rounded figures could be worked out from true ones: hidden cells are
    protected at least as well as before.

    Args:
        safe: The table, of one figure, without published intervals.
        base: Figures become multiples of this, in the unit of the value.

    Raises:
        CountRoundingError: If the base is none, or intervals would tell what was rounded.

    >>> import polars as pl
    >>> from discreet import suppress
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [18, 9, 7, 2]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> safe = round_shown(suppress(table, table.count < 3, method="fast"), 5)
    >>> safe.get("Total"), safe.get("m"), safe.get("d")
    (20, 10, None)
    """
    how = Rounding(base=base, method="conventional")
    message = ""
    if safe.withheld is not None and safe.withheld.low is not None:
        message = "intervals of suppressed cells belong to the values before rounding"
    elif safe.several_figures:
        message = "round tables of several figures one figure at a time"
    elif np.isin(safe.status, (CellStatus.official, CellStatus.bracketed)).any():
        message = "exempt and bracketed values cannot be rounded"
    if message:
        raise CountRoundingError(message, code="rounding", where=safe.name)
    scale = 10 ** safe.figure_decimals()
    units = rounded_values(np.rint(safe.value * float(scale)).astype(np.int64), base * scale)
    units = np.where(safe.status == CellStatus.suppressed, 0, units)
    whole = np.issubdtype(safe.value.dtype, np.integer)
    shell = Table(
        dimensions=safe.dimensions, index=safe.index, count=np.zeros(safe.stored, np.int64)
    )
    kept = [note for note in safe.notes if note.kind != METHOD]
    hidden = pattern_notes(safe.withheld, zeros=zeros_of([safe]) == "partners", rounded=True)
    first = [note for note in hidden if note.kind == METHOD and len(kept) < len(safe.notes)]
    return replace(
        safe,
        value=units if whole else units / scale,
        notes=(*first, *kept, *notes_of(how, shell)),
        provenance=replace(safe.provenance, method=f"{safe.provenance.method}, rounded"),
    )


_SHOWN = 20


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RoundingAudit(Judged):
    """Audit of rounded tables: intervals that readers can compute (confidential).

    Args:
        problem: All their cells as one system, with the interval that each figure leaves.
        hidden: Which of these are not published as they are.
        sensitive: Which of these nobody must work out.
        certificate: A verdict for each of them.
        gaps: What was not examined.
    """

    problem: SuppressionProblem
    hidden: BoolArray
    sensitive: BoolArray
    certificate: Certificate
    gaps: tuple[Gap, ...] = ()

    @property
    def judgement(self) -> DisclosureVerdict:
        """The verdict: every count is proven to stay uncertain."""
        return DisclosureVerdict.of(self.unprotected, self.gaps)

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Names of the cells whose counts can be worked out."""
        return tuple(self.problem.name(int(at)) for at in self.certificate.unprotected)

    def intervals(self) -> tuple[IntArray, IntArray]:
        """The smallest and largest count that anyone finds possible for each sensitive cell."""
        low, high = attack_intervals(self.problem, self.hidden, self.sensitive)
        whole = (np.ceil(low - 1e-6), np.floor(high + 1e-6))
        return (
            whole[0][self.sensitive].astype(np.int64),
            whole[1][self.sensitive].astype(np.int64),
        )

    def described(self) -> dict[str, Any]:
        """The verdict as plain values, for JSON."""
        return {
            **self.judgement.described(),
            "cells": len(self.problem),
            "sensitive": int(self.sensitive.sum()),
            "unprotected": list(self.unprotected),
            "digest": "",
        }

    def text(self) -> str:
        """The verdict in words."""
        number, open_cells = int(self.sensitive.sum()), self.unprotected
        head = f"  {number - len(open_cells):,} of {number:,} rounded counts stay uncertain"
        more = self.judgement.lines()
        if not open_cells:
            return "\n".join([head, *more])
        lines = [f"    {name}" for name in open_cells[:_SHOWN]]
        lines += [f"    … {len(open_cells) - _SHOWN:,} more"] if len(open_cells) > _SHOWN else []
        return "\n".join([f"{head}; these can be computed from sums:", *lines, *more])


def audit_rounding(
    published: Sequence[ProtectedTable],
    tables: Sequence[Table],
    rounding: Rounding | Sequence[Rounding],
    records: Any = None,
) -> RoundingAudit:
    """Find out which counts rounded tables still tell exactly.

    Args:
        published: The rounded tables.
        tables: The true ones, in the same order.
        rounding: How they were rounded; or how each was, to bases of its own.
        records: The records behind the tables; without them, cells of several tables are compared
            by name, and what names do not say is not examined.

    >>> import polars as pl
    >>> from discreet.protection.rounding import round_linked
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [8, 4, 4]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> how = Rounding(base=3, method="conventional")
    >>> audit_rounding(round_linked([table], how), [table], how).unprotected
    ('total', 'sex=m', 'sex=w')
    """
    if any(table.weight is not None for table in tables):
        message = "estimates from samples are not audited, because sample membership is unknown"
        raise CountRoundingError(message, code="audit")
    hows = [rounding] * len(tables) if isinstance(rounding, Rounding) else list(rounding)
    with counts_refused():
        problem, members = build_problem(
            [(table, None) for table in tables], records=records, title="rounded tables"
        )
    value, wanted = problem.value, members.listed(len(problem))
    low, high = np.where(wanted, 1, 0), value + 4 * 10**6  # no sum of parts says more
    for table, safe, cells, how in zip(tables, published, members.cells, hows, strict=True):
        least, most = _interval(_figures(safe, table), table, how)
        known = cells >= 0
        np.maximum.at(low, cells[known], least[known])
        np.minimum.at(high, cells[known], most[known])
    if any(how.method == "small-counts" for how in hows):
        wanted &= (value < max(how.base for how in hows)) & _inner(tables, members, len(problem))
    problem = replace(
        problem,
        state=np.where(wanted, CellState.primary, CellState.free).astype(np.int8),
        low=low,
        high=high,
        sliding=wanted.astype(np.int64),
    )
    problem.check()
    hidden = wanted | (low < value) | (value < high)
    shown = map(LinkedTable, tables, members.cells, repeat(None), members.partitions)
    certificate, gaps = held_in_joint_cubes(problem, hidden, certify(problem, hidden), [*shown])
    return RoundingAudit(
        problem=problem,
        hidden=hidden,
        sensitive=wanted,
        certificate=certificate,
        gaps=(*members.unexamined, *gaps),
    )


def _inner(tables: Sequence[Table], members: TableCells, size: int) -> BoolArray:
    """Which cells of the problem are totals in no table that has them."""
    linked = linked_cells(tables)
    inner = np.ones(linked.number, dtype=np.bool_)
    for table, cells in zip(tables, linked.cells, strict=True):
        inner[cells[~inner_cells(table)]] = False
    return members.gathered([inner[cells] for cells in linked.cells], size)


def _figures(safe: ProtectedTable, table: Table) -> IntArray:
    """The published figure of each cell of the true table; what is not stored is zero."""
    if [own.name for own in safe.dimensions] != [own.name for own in table.dimensions]:
        raise CountRoundingError("published and true table differ", code="audit", where=table.name)
    return figures_shown(safe, table, 0)[1]


def _interval(value: IntArray, table: Table, rounding: Rounding) -> tuple[IntArray, IntArray]:
    """The counts that the figures of a table leave possible; totals may miss by further steps."""
    base, inner, count = rounding.bases(table), inner_cells(table), table.count
    if rounding.method != "small-counts":
        missed = np.abs(value - count) // base if rounding.additive else np.zeros_like(base)
        steps = np.where(inner, missed[inner].max(initial=0), missed[~inner].max(initial=0))
        low, high = rounding.interval(value, base, steps)
        wrong = (count > 0) & ((count < low) | (count > high))
        if wrong.any():
            message = f"{int(wrong.sum()):,} values differ from the data"
            raise CountRoundingError(message, code="audit", where=table.name)
        return low, high
    open_end = np.iinfo(np.int64).max // 4
    low = np.where(inner & (value > base), value, 1)
    high = np.where(inner & (value > base), value, np.where(value == 0, base - 1, base))
    return low, np.where(inner, high, open_end)
