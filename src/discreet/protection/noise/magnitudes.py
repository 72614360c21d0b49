"""The cell-key method for sums and means: `perturb_magnitudes`.

In: a confidential `Table` with the largest contributions to a value column, the secret
noise and the perturbation table of counts. Out: a `ProtectedTable`, whose sums and means
neither contradict the published counts nor give true ones away; here the confidentiality
line is crossed. Ingredients of key figures carry originals too and stay CONFIDENTIAL.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from discreet.arrays import BoolArray, CellIndex, quotient
from discreet.confidential import without_values
from discreet.errors import DisclosureWarning, PerturbationError, Problem, raise_all
from discreet.microdata import Filter
from discreet.protection.noise.closeness import GatedCells
from discreet.protection.noise.counts import (
    check_found_codes,
    keep_found_codes,
    keyed_heading,
    notes_of,
    protect_counts,
)
from discreet.protection.noise.limits import MOST_DECIMALS, checked_decimals
from discreet.protection.noise.magnitude_cells import (
    PerturbedSums,
    Publish,
    SumTreatment,
    cells_of,
    magnitude_deviations,
    perturbed,
    spread,
)
from discreet.protection.noise.magnitude_noise import MagnitudeNoise
from discreet.protection.noise.table import PerturbationTable
from discreet.tables import (
    CellStatus,
    Figure,
    Ingredient,
    ProtectedTable,
    Table,
    by_language,
    note_of,
    without_unpublished,
)

NEAR_CONTRIBUTIONS = note_of("discreet.protection.noise", "near-contributions")

Coded = tuple[str, Problem]


def contributors(table: Table, value: str) -> Table:
    """The table of counts of the records that have a value. CONFIDENTIAL."""
    _raise(_problems(table, value))
    contribution = table.contributions[value]
    return replace(
        table,
        count=contribution.count,
        cell_key=contribution.key,
        weight=contribution.weight,
        sums={},
        contributions={},
    )


def magnitude_sums(
    table: Table, noise: MagnitudeNoise, value: str, how: SumTreatment
) -> PerturbedSums:
    """Perturb the sums of a value column."""
    _check_kinds(table, noise, how)
    _raise(_problems(table, value, noise, how))
    contributions, grid = table.contributions[value], table.grid
    assert grid is not None
    marked = np.zeros(len(table), dtype=np.bool_)
    if how.sensitive is not None:
        marked = np.asarray(how.sensitive)
    cells = cells_of(contributions, noise, grid, marked)
    counts, index, own = None, table.index, np.arange(len(table), dtype=np.int64)
    if how.ptable is not None:
        counts = protect_counts(
            contributors(table, value),
            how.ptable,
            suppress_below=how.suppress_below,
            official=how.official,
            totals=how.totals,
            decimals=how.count_decimals,
        )
        if counts.cells.index is not index:  # the whole grid
            index, both = counts.cells.index, (len(counts.value), len(table))
            own = CellIndex.of(table.dimensions).find(index, table.index, both)
    size = len(table) if counts is None else len(counts.value)
    number = contributions.count if contributions.weight is None else contributions.weight
    columns: dict[str, Any] = {
        "total": contributions.total,
        "noisy": perturbed(cells, noise, grid),
        "deviation": magnitude_deviations(cells, noise),
        "number": number.astype(np.float64),
    }
    sums = PerturbedSums(
        column=value,
        noise=noise,
        grid=grid,
        how=how,
        index=index,
        cells=cells,
        own=own,
        counts=counts,
        hidden=np.zeros(size, dtype=np.bool_),
        **{name: spread(column, own, size) for name, column in columns.items()},
    )
    if how.p_percent == 0:
        return sums
    hidden, gate = GatedCells(table, sums).hidden()
    return replace(sums, hidden=spread(hidden, own, size), gate=gate)


def _check_kinds(table: object, noise: object, how: SumTreatment) -> None:
    wanted: list[tuple[str, object, type]] = [
        ("table", table, Table),
        ("noise", noise, MagnitudeNoise),
    ]
    if how.ptable is not None:
        wanted.append(("ptable", how.ptable, PerturbationTable))
    problems = [
        ("argument", Problem(f"expected a {kind.__name__}, got a {type(value).__name__}", name))
        for name, value, kind in wanted
        if not isinstance(value, kind)
    ]
    if how.publish not in ("sums", "means"):
        problems.append(("publish", Problem('publish must be "sums" or "means"', "publish")))
    _raise(problems)


def _problems(
    table: Table,
    value: str,
    noise: MagnitudeNoise | None = None,
    how: SumTreatment | None = None,
) -> Iterator[Coded]:
    """What the table lacks, and what does not fit it."""
    if table.grid is None:
        hint = 'tabulate with record_key="…"'
        yield "no-cell-keys", Problem("the table has no cell keys", table.name, hint)
    contribution = table.contributions.get(value)
    if contribution is None:
        message = f"the table has no contributions to {value!r}"
        hint = f'tabulate with values=["{value}"] and contributions=1'
        yield "contributions", Problem(message, table.name, hint)
    elif table.grid is not None and (contribution.key is None or contribution.nonzero_key is None):
        message = f"the table has no cell keys of records with a value of {value!r}"
        yield "no-cell-keys", Problem(message, table.name)
    elif noise is not None and noise.of == "top" and contribution.k < noise.top:
        message = f"the noise needs {noise.top} contributions, the table has {contribution.k}"
        hint = f"tabulate with contributions={noise.top}"
        yield "contributions", Problem(message, f"{table.name}, {value}", hint)
    if how is None:
        return
    marked = None if how.sensitive is None else np.asarray(how.sensitive)
    if marked is not None and (marked.dtype != np.bool_ or marked.shape != (len(table),)):
        message = f"expected one boolean for each of the {len(table):,} cells"
        yield "sensitive", Problem(message, f"{table.name}, sensitive")
    hint = "add the perturbation table of the counts: ptable=…"
    for what, needed in (
        ("means need", how.publish == "means"),
        ("suppress_below needs", how.suppress_below is not None),
    ):
        if needed and how.ptable is None:
            message = f"{what} the perturbed number of records"
            yield "ptable", Problem(message, table.name, hint)


def _raise(problems: Iterable[Coded]) -> None:
    """Raise one error for all problems; do nothing when there is none."""
    listed = list(problems)
    if not listed:
        return
    many = "{} problems with a magnitude table"
    raise_all(PerturbationError, (one for _, one in listed), code=listed[0][0], many=many, where="")


Shown = Literal["sum", "mean"]

_MEAN_DECIMALS = 2


#: What a figure is called and how it is printed.
_TEXTS = ("decimals", "titles", "unit", "universe", "digests")


@without_values
def perturb_magnitudes(
    table: Table,
    noise: MagnitudeNoise,
    value: str,
    *,
    publish: Publish = "sums",
    figure: Shown = "sum",
    ptable: PerturbationTable | None = None,
    sensitive: BoolArray | None = None,
    suppress_below: float | None = None,
    official: str | Filter | BoolArray | None = None,
    totals: Mapping[str, str] | None = None,
    grain: float = 1.0,
    decimals: int | None = None,
    count_decimals: int | None = 0,
    found_codes: Literal["list", "hide"] = "list",
    titles: Mapping[str, str] | None = None,
    unit: str | Mapping[str, str] | None = None,
    universe: Mapping[str, str] | None = None,
    digests: Mapping[str, str] | None = None,
    **gate: Any,
) -> ProtectedTable:
    """Protect the sums or means of a value column with the cell-key method.

    Args:
        table: The table, with cell keys and contributions.
        noise: The noise of the column, and what keys draw it.
        value: The value column. Its name enters the keys: keep it over tables and releases.
        publish: What is accurate, for good. "means" takes sums times perturbed / true count.
        figure: Which to show.
        ptable: The perturbation table of the counts; sums can do without.
        sensitive: A boolean per cell: those that get `mu_c` more noise.
        suppress_below: Suppress cells whose perturbed count is below.
        official: Cells whose counts are published as they are, as for `perturb`.
        totals: As for `perturb`.
        grain: Sums are multiples of this, at least the unit values are stated in.
        decimals: By default 2 for means, and for sums as many as the grain has.
        count_decimals: Digits of weighted numbers of records, None for all; sum / mean tells them.
        found_codes: As for `perturb`.
        titles: language → heading.
        unit: language → unit, or one text for all.
        universe: language → who is counted.
        digests: As for `perturb`.
        gate: `p_percent`, `chance` and `gated`: see `SumTreatment`.

    >>> import polars as pl
    >>> from discreet import SimpleStrength, design_magnitude_perturbation as design, tabulate
    >>> homes = pl.DataFrame({"rent": [700, 550], "record_key": [0.123456, 0.4]})
    >>> table = tabulate(homes, [], record_key="record_key", values=["rent"], contributions=1)
    >>> noise = MagnitudeNoise(design(2, 1, classes=(1, 2), step=4), strength=SimpleStrength(0.2))
    >>> perturb_magnitudes(table, noise, "rent", p_percent=0).get()
    1215.0
    """
    check_found_codes(table, found_codes)
    texts = {"titles": titles, "unit": unit, "universe": universe, "digests": digests}
    how = (publish, ptable, sensitive, suppress_below, official, totals, grain, count_decimals)
    sums = magnitude_sums(table, noise, value, SumTreatment(*how, **gate))
    _warn_of_shared_keys(table, noise, value, level=4)
    protected = _protected(table, noise, value, sums, figure, decimals=decimals, **texts)
    return without_unpublished(protected) if found_codes == "hide" else protected


def magnitude_ingredient(
    table: Table, noise: MagnitudeNoise, value: str, **options: Any
) -> Ingredient:
    """Protect sums as `perturb_magnitudes` does, and keep what key figures need (confidential)."""
    return _ingredient(table, noise, value, "sum", options)


def mean_ingredient(table: Table, noise: MagnitudeNoise, value: str, **options: Any) -> Ingredient:
    """Protect means as `perturb_magnitudes` does, and keep what key figures need (confidential)."""
    return _ingredient(table, noise, value, "mean", options)


def _ingredient(
    table: Table, noise: MagnitudeNoise, value: str, figure: Shown, options: dict[str, Any]
) -> Ingredient:
    keep_found_codes(table, options)
    texts = {name: options.pop(name, None) for name in _TEXTS}
    sums = magnitude_sums(table, noise, value, SumTreatment(**options))
    protected = _protected(table, noise, value, sums, figure, **texts)
    _warn_of_shared_keys(table, noise, value, level=4)
    suppressed = sums.suppressed()
    mean = figure == "mean"
    deviation, draws = sums.possible(mean=mean)
    contribution = table.contributions[value]
    key = contribution.key if noise.zeros_in_key else contribution.nonzero_key
    assert key is not None
    return Ingredient(
        protected=protected,
        index=sums.index,
        value=np.where(suppressed, 0.0, sums.means() if mean else sums.sums()),
        original=quotient(sums.total, sums.number) if mean else sums.total,
        deviation=deviation,
        suppressed=suppressed,
        # The same column where no cell is added.
        keys=key if len(sums.own) == len(sums.total) else spread(key, sums.own, len(sums.total)),
        draws=draws,
        gate=sums.gate,
    )


def shared_keys_warning(columns: Iterable[str]) -> str:
    """Warning about value columns of the same records whose noise has the same keys."""
    named = " and ".join(repr(column) for column in columns)
    return (
        f"the noise of {named} uses the same keys: one known value of a cell discloses the "
        'other; use keys = "column" for independent noise'
    )


def _warn_of_shared_keys(table: Table, noise: MagnitudeNoise, value: str, level: int) -> None:
    if noise.keys == "shared" and len(table.contributions) > 1:
        columns = [value, *(other for other in table.contributions if other != value)]
        warnings.warn(shared_keys_warning(columns), DisclosureWarning, stacklevel=level)


def _protected(
    table: Table,
    noise: MagnitudeNoise,
    value: str,
    sums: PerturbedSums,
    figure: Shown,
    *,
    decimals: Any,
    titles: Any,
    unit: Any,
    universe: Any,
    digests: Any,
) -> ProtectedTable:
    """The table to publish."""
    if figure not in ("sum", "mean"):
        raise PerturbationError('figure must be "sum" or "mean"', code="figure", where=table.name)
    if figure == "mean" and sums.counts is None:
        raise PerturbationError(
            "means need the perturbed number of records",
            code="ptable",
            where=table.name,
            hint="add the perturbation table of the counts: ptable=…",
        )
    digits = checked_decimals(decimals, "decimals")
    if digits is None:
        digits = _MEAN_DECIMALS if figure == "mean" else _digits(sums.how.grain)
    secrets = {"magnitude_noise": noise, "perturbation_table": sums.how.ptable}
    secrets = {name: secret for name, secret in secrets.items() if secret is not None}
    headed = keyed_heading(table, secrets, titles, universe, digests)
    exact = sums.means() if figure == "mean" else sums.sums()
    status = np.full(len(exact), CellStatus.published, dtype=np.int8)
    if figure == "mean" and sums.counts is not None:
        status[sums.counts.value == 0] = CellStatus.not_applicable  # nobody is counted
    status[sums.suppressed()] = CellStatus.suppressed
    shown = Figure(
        name=value,
        kind=figure,
        titles=headed["titles"],
        unit=by_language({"en": unit, "de": unit} if isinstance(unit, str) else unit, "unit"),
        decimals=digits,
    )
    return ProtectedTable(
        dimensions=table.dimensions,
        index=sums.index,
        value=np.asarray(np.round(exact, digits), dtype=np.float64),
        status=status,
        parts=table.parts,
        notes=(*notes_of(table), *((NEAR_CONTRIBUTIONS,) if sums.hidden.any() else ())),
        name=table.name,
        decimals=digits,
        figures=(shown,),
        **headed,
    )


def _digits(grain: float) -> int:
    """Digits after the decimal point that multiples of the grain have.

    >>> _digits(100.0), _digits(0.01), _digits(0.25)
    (0, 2, 2)
    """
    exponent = Decimal(repr(grain)).normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    return min(max(-exponent, 0), MOST_DECIMALS)
