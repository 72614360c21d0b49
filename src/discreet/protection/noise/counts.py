"""The cell-key method for counts: `perturb`.

In: a confidential `Table` with cell keys and a secret `PerturbationTable`. Out: a
`ProtectedTable`: this is where the confidentiality line is crossed; or an `Ingredient` of
key figures, CONFIDENTIAL but for its `.protected`. Cells can be excluded from noise by a
filter on codes, such as official population figures; a filter never looks at counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray, PositionArray, quotient
from discreet.confidential import without_values
from discreet.errors import (
    DisclosureWarning,
    DiscreetWarning,
    PerturbationError,
    Problem,
    raise_all,
)
from discreet.keygrid import KeyGrid
from discreet.microdata import Filter, filter_failed, parse_filter
from discreet.protection.noise.intervals import count_deviations
from discreet.protection.noise.limits import MOST_ROUNDED, checked_decimals, plain_number
from discreet.protection.noise.table import PerturbationTable
from discreet.tables import (
    CELL_KEY,
    CellStatus,
    Ingredient,
    Note,
    ProtectedTable,
    Table,
    heading,
    note_of,
    within,
    without_unpublished,
)

if TYPE_CHECKING:
    from discreet.tables import Dimension

#: ``<variable>.level`` stands for the level of a code: 0 for the total, 1 below it, …
LEVEL = ".level"


def official_cells(
    text: str | Filter, table: Table, cells: CountCells, totals: Mapping[str, str]
) -> BoolArray:
    """Which cells a filter on codes names."""
    condition = text if isinstance(text, Filter) else parse_filter(text)
    if not condition.columns:
        raise PerturbationError("the filter has no variable", code="official", where=str(text))
    dimensions, index = table.dimensions, cells.index
    spanning = {dimension.name: at for at, dimension in enumerate(dimensions)}
    _check_names(condition, list(spanning), totals)
    _check_codes(condition, dimensions)
    named = np.ones(len(cells.count), dtype=np.bool_)
    for part in condition.parts():
        variables = {n if n in spanning else n.removesuffix(LEVEL) for n in part.columns}
        absent = tuple((name, totals[name]) for name in sorted(variables - spanning.keys()))
        own = [at for name, at in spanning.items() if name in variables]
        if not own:
            named &= _passed(part, None, absent)
        elif len(own) == 1:
            named &= _passed(part, dimensions[own[0]], absent)[index[own[0]]]
        else:
            rows = {dimensions[at].name: (dimensions[at], index[at]) for at in own}
            named &= _passing(part, rows, dict(absent), len(named))
    return named


@lru_cache(maxsize=64)
def _passed(
    part: Filter, dimension: Dimension | None, absent: tuple[tuple[str, str], ...]
) -> BoolArray:
    """Which codes of a variable fulfil a part of a filter; many tables ask for the same."""
    if dimension is None:
        return _passing(part, {}, dict(absent), 1)
    rows = np.arange(len(dimension), dtype=np.int32)
    return _passing(part, {dimension.name: (dimension, rows)}, dict(absent), len(dimension))


def _passing(
    part: Filter,
    spanning: Mapping[str, tuple[Dimension, PositionArray]],
    absent: Mapping[str, str],
    size: int,
) -> BoolArray:
    """Which combinations of codes fulfil a part of a filter."""
    import narwhals as nw
    import polars as pl

    columns = {}
    for name in sorted(part.columns):
        variable = name.removesuffix(LEVEL)
        if name in spanning:
            dimension, at = spanning[name]
            columns[name] = pl.Series(dimension.codes, dtype=pl.String).gather(at)
        elif name.endswith(LEVEL) and variable in spanning:
            dimension, at = spanning[variable]
            columns[name] = pl.Series(dimension.levels[at])
        else:
            value: Any = 0 if name.endswith(LEVEL) else absent[name]
            columns[name] = pl.Series([value]).new_from_index(0, size)
    frame = nw.from_native(pl.DataFrame(columns), eager_only=True)
    schema = frame.schema
    part.check(schema)
    try:
        named = frame.select(named=part.to_narwhals(schema)).to_native()["named"]
    except (TypeError, pl.exceptions.PolarsError, nw.exceptions.NarwhalsError) as error:
        raise filter_failed(error) from None
    return np.asarray(named.fill_null(value=False).to_numpy(), dtype=np.bool_)


def _check_names(condition: Filter, spanning: Sequence[str], totals: Mapping[str, str]) -> None:
    """Raise if the filter names variables that neither the table nor `totals` knows.

    Taken to be at its total, a slip would publish the true values of all cells.
    """
    named = {name.removesuffix(LEVEL) for name in condition.columns - set(spanning)}
    problems = [
        Problem(
            f"variable {name!r} not found in the table", str(condition), _advice(name, spanning)
        )
        for name in sorted(named - set(spanning) - set(totals))
    ]
    raise_all(
        PerturbationError,
        problems,
        code="official",
        many="{} variables are unknown",
        where=str(condition),
    )


def _check_codes(condition: Filter, dimensions: Sequence[Dimension]) -> None:
    """Raise if the filter excludes codes that there are not: all cells would be official."""
    codes = {dimension.name: dimension.index for dimension in dimensions}
    problems = [
        Problem(f"{name} has no code {value!r}; nothing is excluded", str(condition))
        for name, value in condition.excluded()
        if name in codes and isinstance(value, str) and value not in codes[name]
    ]
    many = "{} codes that are excluded do not exist"
    raise_all(PerturbationError, problems, code="official", many=many, where=str(condition))


def _advice(name: str, spanning: Sequence[str]) -> str:
    known = {variable.casefold(): variable for variable in spanning}
    near = get_close_matches(name.casefold(), known, n=1)
    meant = f"closest match: {known[near[0]]!r}; " if near else ""
    return f"{meant}for a variable of other tables state its total: totals={{{name!r}: …}}"


#: Rules that speak about every combination of codes need the complete grid, up to this size.
GRID_LIMIT = 50_000_000

NON_ADDITIVITY = note_of("discreet.protection.noise", "non-additivity")

UNSUITABLE_KEYS = note_of("discreet.protection.noise", "unsuitable-keys")


def notes_of(table: Table, round_to: int = 1) -> tuple[Note, ...]:
    """Notes for readers on figures with noise, perhaps rounded to multiples."""
    notes = [NON_ADDITIVITY]
    if table.keys is not None and table.keys.faults:
        notes.append(UNSUITABLE_KEYS)
    if round_to > 1:
        kept = note_of("discreet.protection.noise", "rounded-to")
        texts = {language: text.format(multiple=round_to) for language, text in kept.texts.items()}
        notes.append(replace(kept, texts=texts))
    return tuple(notes)


@dataclass(frozen=True, repr=False)
class CountCells:
    """The cells under work: those of the table, or of its complete grid."""

    index: tuple[npt.NDArray[np.int32], ...]
    count: IntArray
    key: IntArray
    weight: FloatArray | None
    official: BoolArray

    def mean_weight(self) -> FloatArray:
        """Sum of weights / count; 1 without weights, 0 where there are no records."""
        if self.weight is None:
            return np.ones(len(self.count), dtype=np.float64)
        return quotient(self.weight, self.count)


@dataclass(frozen=True, repr=False)
class ProtectedCounts:
    """A protected table of counts beside the cells it was made of. CONFIDENTIAL."""

    protected: ProtectedTable  # what may be published
    cells: CountCells  # the true cells
    #: The figures of these cells, rounded as published; suppressed ones too
    value: IntArray | FloatArray
    number: IntArray  # the perturbed number of records, where figures are weighted
    suppressed: BoolArray  # which are not published


@without_values
def perturb(
    table: Table,
    ptable: PerturbationTable,
    *,
    zeros: Literal["keep", "table"] = "keep",
    suppress_below: float | None = None,
    official: str | Filter | BoolArray | None = None,
    totals: Mapping[str, str] | None = None,
    decimals: int | None = 0,
    round_to: int = 1,
    found_codes: Literal["list", "hide"] = "list",
    titles: Mapping[str, str] | None = None,
    universe: Mapping[str, str] | None = None,
    digests: Mapping[str, str] | None = None,
) -> ProtectedTable:
    """Protect a table of counts with the cell-key method.

    The noise of a cell depends on its unweighted count and its cell key only; a weighted
    cell becomes (count + noise) × (sum of weights / count). Value columns are left out, of
    which a `DiscreetWarning` tells.

    Args:
        table: The table, with cell keys.
        ptable: The perturbation table.
        zeros: "keep" leaves them zero; "table" uses row 0 for all combinations of codes.
        suppress_below: Suppress cells, zeros included, with perturbed values below.
        official: Cells published as they are: a boolean per cell, or a filter on codes
            (and ``<variable>.level``), which does not apply to filtered tables.
        totals: Variables the table lacks that `official` may name → code of the total.
        decimals: Digits of weighted figures, None for all. They give true counts away: more
            than the whole numbers of the default come with a `DiscreetWarning`.
        round_to: Round figures to multiples of this, such as 10 for estimates from samples.
        found_codes: "hide" leaves out codes without a figure that only the data tell.
        titles: language → heading.
        universe: language → who is counted.
        digests: name → keyed digest, added to the provenance.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [3, 2, 1], "key": [0.8, 0.7, 0.1]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> perturb(table, ptable).to_polars(complete=False)["value"].to_list()
    [4, 2]
    """
    check_found_codes(table, found_codes)
    protected = protect_counts(
        table,
        ptable,
        zeros=zeros,
        suppress_below=suppress_below,
        official=official,
        totals=totals,
        decimals=decimals,
        round_to=round_to,
        titles=titles,
        universe=universe,
        digests=digests,
    ).protected
    _warn(table, ptable, decimals)
    return without_unpublished(protected) if found_codes == "hide" else protected


#: What is said of a perturbation table without noise.
WITHOUT_NOISE = "the perturbation table changes no count: the published counts would be true"


def _warn(table: Table, ptable: PerturbationTable, decimals: int | None) -> None:
    """Tell who called `perturb` what the result lacks, and what it tells."""
    if ptable.changes_nothing:
        warnings.warn(WITHOUT_NOISE, DisclosureWarning, stacklevel=4)
    if table.sums:
        warnings.warn(
            f"the result of {table.name!r} has counts only, without the value columns "
            f"{', '.join(table.sums)}; use perturb_magnitudes for sums and means",
            DiscreetWarning,
            stacklevel=4,
        )
    if table.weight is not None and decimals != 0:
        warnings.warn(
            f"decimals of the weighted values of {table.name!r} disclose the number of records; "
            "use decimals=0",
            DisclosureWarning,
            stacklevel=4,
        )


def protect_counts(
    table: Table,
    ptable: PerturbationTable,
    *,
    zeros: Literal["keep", "table"] = "keep",
    suppress_below: float | None = None,
    official: str | Filter | BoolArray | None = None,
    totals: Mapping[str, str] | None = None,
    decimals: int | None = 0,
    round_to: int = 1,
    titles: Mapping[str, str] | None = None,
    universe: Mapping[str, str] | None = None,
    digests: Mapping[str, str] | None = None,
) -> ProtectedCounts:
    """Perturb counts and keep the perturbed cells. CONFIDENTIAL but for `.protected`."""
    grid = _check(table, ptable, zeros)
    below = None if suppress_below is None else plain_number(suppress_below)
    if suppress_below is not None and (below is None or below < 0):
        _refuse(table, "suppress-below", "suppress_below must be at least 0")
    decimals = checked_decimals(decimals, table.name)
    _check_options(table, decimals, round_to, totals)
    nothing = np.zeros(1, dtype=np.int64)
    # Are combinations that do not occur published as anything but zero?
    whole = below is not None and below > 0
    whole |= zeros == "table" and bool(ptable.lookup(nothing, nothing, grid)[0])
    cells = _complete(table, _cells(table, official)) if whole else _cells(table, official)
    if isinstance(official, str | Filter) and official and not table.where:
        # A filtered table has no official figures.
        cells = replace(cells, official=official_cells(official, table, cells, totals or {}))
    number, value, status = perturbed_cells(
        cells, ptable, grid, zeros=zeros, below=below, decimals=decimals, round_to=round_to
    )
    protected = ProtectedTable(
        dimensions=table.dimensions,
        index=cells.index,
        value=value,
        status=status,
        parts=table.parts,
        notes=notes_of(table, round_to),
        name=table.name,
        **keyed_heading(table, {"perturbation_table": ptable}, titles, universe, digests),
    )
    return ProtectedCounts(protected, cells, value, number, status == CellStatus.suppressed)


def _refuse(table: Table, code: str, what: str, hint: str = "") -> NoReturn:
    raise PerturbationError(what, code=code, where=table.name, hint=hint)


def _check(table: Table, ptable: PerturbationTable, zeros: str) -> KeyGrid:
    wanted: dict[str, tuple[object, type]] = {
        "table": (table, Table),
        "ptable": (ptable, PerturbationTable),
    }
    for name, (value, kind) in wanted.items():
        if not isinstance(value, kind):
            raise PerturbationError(
                f"expected a {kind.__name__}, got a {type(value).__name__}",
                code="argument",
                where=name,
                hint=(
                    "create it with discreet.tabulate, Table.from_cells or PerturbationTable.read"
                ),
            )
    if table.cell_key is None or table.grid is None:
        hint = 'tabulate with record_key="…", or add cell_key= for cells from other tools'
        _refuse(table, "no-cell-keys", "the table has no cell keys", hint)
    if zeros not in ("keep", "table"):
        _refuse(table, "zeros", 'zeros must be "keep" or "table"')
    if zeros == "table" and not ptable.changes_zeros:
        hint = 'use zeros="keep", or a perturbation table with such a row 0'
        _refuse(table, "zeros", "the perturbation table has no noise for zeros", hint)
    if zeros == "table" and table.weight is not None:
        message = "zeros of a weighted table cannot be perturbed, because they have no mean weight"
        _refuse(table, "zeros", message, 'use zeros="keep"')
    return table.grid


def check_found_codes(table: Table, found_codes: str) -> None:
    """Raise unless found codes are listed or hidden."""
    if found_codes not in ("list", "hide"):
        raise PerturbationError(
            'found_codes must be "list" or "hide"',
            code="found-codes",
            where=getattr(table, "name", "table"),
        )


def keep_found_codes(table: Table, options: dict[str, Any]) -> None:
    """Take the option of found codes away, which no ingredient has."""
    if options.pop("found_codes", "list") != "list":
        hint = "use found_codes for the final table only"
        _refuse(table, "found-codes", "an ingredient must keep all codes", hint)


def _check_options(table: Table, decimals: int | None, round_to: Any, totals: Any) -> None:
    whole = isinstance(round_to, Integral) and not isinstance(round_to, bool)
    if not whole or not 1 <= round_to <= MOST_ROUNDED:
        message = f"round_to must be a whole number from 1 to {MOST_ROUNDED:,}"
        _refuse(table, "round-to", message, "round_to=10 rounds to tens")
    if round_to > 1 and decimals != 0:
        _refuse(
            table, "round-to", "values rounded to multiples have no decimals", "remove decimals"
        )
    texts = isinstance(totals, Mapping) and all(
        isinstance(text, str) for entry in totals.items() for text in entry
    )
    if totals is not None and not texts:
        message = "totals must map variables to the codes of their totals"
        _refuse(table, "totals", message, 'such as totals={"age": "Total"}')


def _cells(table: Table, official: object) -> CountCells:
    assert table.cell_key is not None
    mask = np.zeros(len(table), dtype=np.bool_)
    if official is not None and not isinstance(official, str | Filter):
        mask = np.asarray(official)
        if mask.dtype != np.bool_ or mask.shape != (len(table),):
            _refuse(table, "official", f"expected one boolean for each of the {len(table):,} cells")
    return CountCells(table.index, table.count, table.cell_key, table.weight, mask)


def _complete(table: Table, cells: CountCells) -> CountCells:
    """The cells of the complete grid; those that do not occur have count and key 0."""
    grid = CellIndex.of(table.dimensions)
    size = grid.size
    if size > GRID_LIMIT:
        message = f"rules for zero cells need the complete grid, which has {size:,} cells here"
        hint = f"the limit is {GRID_LIMIT:,}: remove a variable or a level"
        _refuse(table, "grid-size", message, hint)
    flat = grid.numbers(cells.index, len(table))

    def spread(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        whole = np.zeros(size, dtype=column.dtype)
        whole[flat] = column
        return whole

    index = grid.every()
    known = within(table.dimensions, index, size, table.parts)
    return CountCells(
        tuple(part[known] for part in index),
        spread(cells.count)[known],
        spread(cells.key)[known],
        None if cells.weight is None else spread(cells.weight)[known],
        spread(cells.official)[known],
    )


def perturbed_cells(
    cells: CountCells,
    ptable: PerturbationTable,
    grid: KeyGrid,
    *,
    zeros: str = "keep",
    below: float | None = None,
    decimals: int | None = 0,
    round_to: int = 1,
) -> tuple[IntArray, IntArray | FloatArray, npt.NDArray[np.int8]]:
    """The perturbed number of records of each cell, its figure, and its status. CONFIDENTIAL."""
    number = cells.count + ptable.lookup(cells.count, cells.key, grid)
    if zeros == "keep":
        number[cells.count == 0] = 0
    number = np.where(cells.official, cells.count, number)
    exact: IntArray | FloatArray = number
    if cells.weight is not None:
        exact = np.where(cells.official, cells.weight, number * cells.mean_weight())
    value = _rounded(exact, decimals, cells.official, round_to)
    status = np.where(value == 0, CellStatus.zero_or_changed_to_zero, CellStatus.published)
    if below is not None:
        status[(value < below) & ~cells.official] = CellStatus.suppressed
    status[cells.official & (value != 0)] = CellStatus.official
    return number, value, status.astype(np.int8)


def _rounded(
    value: IntArray | FloatArray, decimals: int | None, official: BoolArray, round_to: int
) -> IntArray | FloatArray:
    """Weighted figures with so many digits, counts have none; all to multiples, if asked for."""
    if round_to > 1:
        steps = np.floor(np.abs(value) / round_to + 0.5)
        exact: FloatArray = np.where(official, np.round(value), np.sign(value) * steps * round_to)
        return exact.astype(np.int64) if value.dtype.kind == "i" else exact + 0.0  # no −0
    if decimals is None or value.dtype.kind == "i":
        return value
    return np.asarray(np.round(value, decimals), dtype=np.float64)


def keyed_heading(table: Table, secrets: Mapping[str, Any], *texts: Any) -> dict[str, Any]:
    """The heading of a table made by cell key, with keyed digests of secret tables."""
    key = table.fingerprint()  # a digest keyed by few cells could be found by trial
    own = {} if key is None else {name: secret.digest(key) for name, secret in secrets.items()}
    return heading("cell-key", *texts, key_grid=str(table.grid), own=own)


def count_ingredient(table: Table, ptable: PerturbationTable, **options: Any) -> Ingredient:
    """Protect counts as `perturb` does, and keep what key figures need (confidential).

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [3, 2, 1], "key": [0.8, 0.7, 0.1]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> count_ingredient(table, ptable).value.tolist()
    [4.0, 2.0, 0.0]
    """
    keep_found_codes(table, options)
    counts = protect_counts(table, ptable, **options)
    cells = counts.cells
    size, grid = cells.mean_weight(), table.grid
    assert grid is not None  # checked above
    deviation = count_deviations(ptable.content, counts.number) * size
    step = options.get("round_to", 1)
    if step > 1:  # rounding moves a figure by up to half a step either way
        deviation = np.sqrt(deviation**2 + step**2 / 12)
    fixed = cells.official
    if options.get("zeros", "keep") == "keep":
        fixed = fixed | (cells.count == 0)
    return Ingredient(
        protected=counts.protected,
        index=cells.index,
        value=np.where(counts.suppressed, 0, counts.value).astype(np.float64),
        original=(cells.count if cells.weight is None else cells.weight).astype(np.float64),
        deviation=np.where(fixed, 0.0, deviation),
        suppressed=counts.suppressed,
        keys=cells.key,
        draws={CELL_KEY: lambda at: drawn_counts(ptable, counts.number, at, grid) * size},
    )


def drawn_counts(
    ptable: PerturbationTable, count: IntArray, at: float, grid: KeyGrid
) -> FloatArray:
    """The noise that counts would have with one key, given as its place on the grid."""
    keys = np.full(len(count), int(at * grid.size), dtype=np.int64)
    return ptable.lookup(np.maximum(count, 0), keys, grid).astype(np.float64)
