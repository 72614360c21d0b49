"""The cell-key method for sums and means: `perturb_magnitudes`.

In: a confidential `Table` with the largest contributions to a value column, and secret
noise. Out: a `ProtectedTable`; here the confidentiality line is crossed. Ingredients of
key figures carry originals too and stay CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet._version import __version__
from discreet.errors import PerturbationError
from discreet.perturbation.counts import NON_ADDITIVITY
from discreet.perturbation.deviations import count_deviations
from discreet.perturbation.ingredient import Ingredient
from discreet.perturbation.magnitude_deviations import magnitude_deviations
from discreet.perturbation.magnitude_noise import MagnitudeNoise
from discreet.perturbation.magnitude_sums import Publish, Sums, Treatment, magnitude_sums, quotient
from discreet.perturbation.strength import plain_number
from discreet.perturbation.table import PerturbationTable
from discreet.tables import (
    CellStatus,
    Figure,
    ProtectedTable,
    Provenance,
    Table,
    without_unpublished,
)
from discreet.tables.texts import by_language, texts_by
from discreet.tabulation.filters import Filter

__all__ = ["magnitude_ingredient", "mean_ingredient", "perturb_magnitudes"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Shown = Literal["sum", "mean"]

_MEAN_DECIMALS = 2
_MOST_DECIMALS = 15


@dataclass(frozen=True, kw_only=True)
class _Texts:
    """What a figure is called and how it is printed."""

    decimals: int | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    unit: Mapping[str, str] = field(default_factory=dict)
    universe: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)


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
    count_decimals: int | None = None,
    found_codes: Literal["list", "hide"] = "list",
    titles: Mapping[str, str] | None = None,
    unit: str | Mapping[str, str] | None = None,
    universe: Mapping[str, str] | None = None,
    digests: Mapping[str, str] | None = None,
) -> ProtectedTable:
    """Protect the sums or means of a value column with the cell-key method.

    Means are always published sum / perturbed count; to make them accurate, sums become
    (true sum + noise) × perturbed / true count. Choose one per column for good.

    Args:
        table: The table, with cell keys and contributions.
        noise: The noise of the column.
        value: The value column.
        publish: Which of the two is accurate.
        figure: Which of the two to show.
        ptable: The perturbation table of the counts; sums can do without.
        sensitive: A boolean per cell: those that get `mu_c` more noise.
        suppress_below: Suppress cells whose perturbed number of records is below.
        official: Cells whose counts are published as they are, as for `perturb`.
        totals: As for `perturb`.
        grain: Sums are multiples of this, at least the unit values are stated in.
        decimals: By default 2 for means, and for sums as many as the grain has.
        count_decimals: Round weighted numbers of records to so many; sum / mean tells them.
        found_codes: As for `perturb`.
        titles: language → heading.
        unit: language → unit, or one text for all.
        universe: language → who is counted.
        digests: As for `perturb`.

    >>> import polars as pl
    >>> from discreet import SimpleStrength, design_magnitude_perturbation as design, tabulate
    >>> homes = pl.DataFrame({"rent": [700, 550], "record_key": [0.123456, 0.4321]})
    >>> table = tabulate(homes, [], record_key="record_key", values=["rent"], contributions=1)
    >>> noise = MagnitudeNoise(design(2, 1, classes=(1, 2), step=4), strength=SimpleStrength(0.2))
    >>> perturb_magnitudes(table, noise, "rent").get()
    1285.0
    """
    _check_found_codes(table, found_codes)
    texts = _texts(decimals, titles, unit, universe, digests)
    how = (publish, ptable, sensitive, suppress_below, official, totals, grain, count_decimals)
    sums = magnitude_sums(table, noise, value, Treatment(*how))
    protected = _protected(table, noise, value, sums, figure, texts)
    return without_unpublished(protected) if found_codes == "hide" else protected


def magnitude_ingredient(
    table: Table, noise: MagnitudeNoise, value: str, **options: Any
) -> Ingredient:
    """Protect sums as `perturb_magnitudes` does, and keep what key figures need (confidential).

    Args:
        table: The table, with cell keys and contributions.
        noise: The noise of the column.
        value: The value column.
        options: Those of `perturb_magnitudes`, but for `figure` and `found_codes`.
    """
    return _ingredient(table, noise, value, "sum", options)


def mean_ingredient(table: Table, noise: MagnitudeNoise, value: str, **options: Any) -> Ingredient:
    """Protect means as `perturb_magnitudes` does, and keep what key figures need (confidential).

    Args:
        table: The table, with cell keys and contributions.
        noise: The noise of the column.
        value: The value column.
        options: Those of `perturb_magnitudes`, but for `figure` and `found_codes`.
    """
    return _ingredient(table, noise, value, "mean", options)


def _ingredient(
    table: Table, noise: MagnitudeNoise, value: str, figure: Shown, options: dict[str, Any]
) -> Ingredient:
    if options.pop("found_codes", "list") != "list":
        raise PerturbationError(
            "an ingredient keeps all of its codes",
            code="found-codes",
            where=table.name,
            hint="leave found codes out of the finished table",
        )
    texts = _texts(**{name: options.pop(name, None) for name in _Texts.__dataclass_fields__})
    sums = magnitude_sums(table, noise, value, Treatment(**options))
    protected = _protected(table, noise, value, sums, figure, texts)
    suppressed = sums.suppressed()
    mean = figure == "mean"
    return Ingredient(
        protected=protected,
        index=sums.index,
        value=np.where(suppressed, 0.0, sums.means() if mean else sums.sums()),
        original=quotient(sums.total, sums.number) if mean else sums.total,
        deviation=_deviations(sums, noise, figure),
        suppressed=suppressed,
    )


def _check_found_codes(table: Table, found_codes: str) -> None:
    if found_codes not in ("list", "hide"):
        raise PerturbationError(
            'found_codes is "list" or "hide"',
            code="found-codes",
            where=getattr(table, "name", "table"),
        )


def _deviations(sums: Sums, noise: MagnitudeNoise, figure: Shown) -> FloatArray:
    """The standard deviation of sums or means: of their own noise, and of the count's.

    The figure that is accurate has the first only; the other follows from it and the
    count, whose relative error adds to its own as the delta method has it.
    """
    spread = np.zeros(len(sums.total), dtype=np.float64)
    spread[sums.own] = magnitude_deviations(sums.cells, noise)
    ptable = sums.how.ptable
    if sums.counts is not None and ptable is not None and sums.how.publish != f"{figure}s":
        cells = sums.counts.cells
        counted = count_deviations(ptable.content, sums.counts.number) * cells.mean_weight()
        counted = np.where(cells.official | (cells.count == 0), 0.0, counted)
        follows = sums.total * quotient(counted, sums.number)
        spread = np.sqrt(spread * spread + follows * follows)
    return spread if figure == "sum" else quotient(spread, np.abs(sums.number))


def _protected(
    table: Table,
    noise: MagnitudeNoise,
    value: str,
    sums: Sums,
    figure: Shown,
    texts: _Texts,
) -> ProtectedTable:
    """The table to publish."""
    if figure not in ("sum", "mean"):
        raise PerturbationError('figure is "sum" or "mean"', code="figure", where=table.name)
    if figure == "mean" and sums.counts is None:
        raise PerturbationError(
            "means need the perturbed number of records",
            code="ptable",
            where=table.name,
            hint="give the perturbation table of the counts: ptable=…",
        )
    decimals = texts.decimals
    if decimals is None:
        decimals = _MEAN_DECIMALS if figure == "mean" else _digits(sums.how.grain)
    exact = sums.means() if figure == "mean" else sums.sums()
    status = np.full(len(exact), CellStatus.published, dtype=np.int8)
    if figure == "mean":
        status[sums.undefined()] = CellStatus.not_applicable
    status[sums.suppressed()] = CellStatus.suppressed
    shown = Figure(name=value, kind=figure, titles=texts.titles, unit=texts.unit, decimals=decimals)
    return ProtectedTable(
        dimensions=table.dimensions,
        index=sums.index,
        value=np.asarray(np.round(exact, decimals), dtype=np.float64),
        status=status,
        provenance=_provenance(table, noise, sums.how.ptable, texts.digests),
        parts=table.parts,
        notes=(NON_ADDITIVITY,),
        name=table.name,
        titles=texts.titles,
        universe=texts.universe,
        decimals=decimals,
        figures=(shown,),
    )


def _digits(grain: float) -> int:
    """Digits after the decimal point that multiples of the grain have.

    >>> _digits(100.0), _digits(0.01), _digits(0.25)
    (0, 2, 2)
    """
    exponent = Decimal(repr(grain)).normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    return min(max(-exponent, 0), _MOST_DECIMALS)


def _texts(
    decimals: Any,
    titles: Mapping[str, str] | None,
    unit: str | Mapping[str, str] | None,
    universe: Mapping[str, str] | None,
    digests: Mapping[str, str] | None,
) -> _Texts:
    number = None if decimals is None else plain_number(decimals)
    whole = number is not None and number == int(number) and 0 <= number <= _MOST_DECIMALS
    if decimals is not None and not whole:
        raise PerturbationError(
            f"decimals is a whole number from 0 to {_MOST_DECIMALS}, or None",
            code="decimals",
            where="decimals",
        )
    return _Texts(
        decimals=None if number is None else int(number),
        titles=by_language(titles, "titles"),
        unit=by_language({"en": unit, "de": unit} if isinstance(unit, str) else unit, "unit"),
        universe=by_language(universe, "universe"),
        digests=texts_by(digests, "digests", "digests have a name each", 'such as {"data": …}'),
    )


def _provenance(
    table: Table,
    noise: MagnitudeNoise,
    ptable: PerturbationTable | None,
    digests: Mapping[str, str],
) -> Provenance:
    named = dict(digests)
    key = table.fingerprint()
    if key is not None:  # a digest keyed by few cells could be found by trial
        named["magnitude_noise"] = noise.digest(key)
        if ptable is not None:
            named["perturbation_table"] = ptable.digest(key)
    return Provenance(
        version=__version__, method="cell-key", key_grid=str(table.grid), digests=named
    )
