"""Multiplicative noise: every unit has one factor near 1, which all of its values carry.

In: records with a column that says whose they are, and a secret. Out: the same records with
whole numbers beside their values, the noisy ones; CONFIDENTIAL, for single values stand there.

A factor is 1 + s·m. Sign s and size m are drawn by a key made of secret, value column and unit:
the same in every table, order, engine and period. Where noise is balanced, sizes are changed
within their bounds so that totals of areas stay. Signs are never chosen: one unit's sign tells
nothing of another's, in whatever cell they meet. Areas where one unit outweighs the others are not
balanced, for a total that is true tells the largest value there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl
from pydantic import ValidationError

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import SecretValues, without_values
from discreet.errors import PerturbationError, Problem, raise_all
from discreet.keygrid import KeyGrid
from discreet.microdata import (
    KeyFunction,
    NarwhalsFrame,
    Secret,
    like,
    open_frame,
    require_columns,
    require_new,
    with_computed,
)
from discreet.protection.noise.settings import UnitNoiseSettings
from discreet.record_batches import collected
from discreet.settings import name_list, setting_problems

_PURPOSE = "discreet unit noise, version 1; {}"
#: Sums of whole numbers up to here are exact as floats.
_MOST = 2**50
#: So many factors stand for all.
_STEPS = 20_000
#: Sizes are changed by so much of their room at most: at their bounds they would be known.
_ROOM = 0.75
#: What noise is unless stated.
_USUAL = UnitNoiseSettings(unit="unit")


@dataclass(frozen=True, kw_only=True, repr=False)
class UnitNoise(SecretValues):
    """Factors that change the values of units. SECRET.

    Args:
        unit: Column that says whose a record is: a firm, or better the holding that decides
            for it. All records of a unit have the same factor.
        least: Every factor is at least so far from 1; 0.05 unless stated.
        most: And at most so far; 0.15 unless stated.
        shape: "falling", the usual one, makes factors near `least` more likely than those near
            `most`; with "even" all are equally likely.
        balance: Columns that make up the areas in whose totals noise cancels out; none, if
            it is not balanced.

    >>> UnitNoise(unit="firm", least=0.05, most=0.15)
    <UnitNoise: secret>
    """

    unit: str
    least: float = _USUAL.least
    most: float = _USUAL.most
    shape: Literal["falling", "even"] = _USUAL.shape
    balance: Sequence[str] = ()

    def __post_init__(self) -> None:
        stated = {one.name: getattr(self, one.name) for one in fields(self)}
        problems = []
        try:
            settings = UnitNoiseSettings(**stated | {"balance": name_list(self.balance)})
            object.__setattr__(self, "balance", tuple(settings.balance))
        except ValidationError as error:
            problems = setting_problems(error)
        raise_all(PerturbationError, problems, code="unit-noise", where="noise")

    @classmethod
    def of(cls, settings: UnitNoiseSettings, unit: str) -> UnitNoise:
        """The noise that settings ask for."""
        names = ("least", "most", "shape", "balance")
        return cls(unit=unit, **{name: getattr(settings, name) for name in names})

    @property
    def deviation(self) -> float:
        """The standard deviation of a factor."""
        width = self.most - self.least
        rest = width * width / (18 if self.shape == "falling" else 12)
        middle = self.least + width / (3 if self.shape == "falling" else 2)
        return float(np.sqrt(rest + middle * middle))

    def guessed(self, within: float) -> tuple[float, float]:
        """Success of the best guess of a single value within a share, and its factor.

        Whoever knows how factors are drawn divides the published value by this factor. SECRET.

        Args:
            within: The share of the value.

        >>> round(UnitNoise(unit="firm", least=0.1, most=0.5, shape="even").guessed(0.05)[0], 2)
        0.18
        """
        from discreet.protection.noise.closeness import best_guess

        sign, size = self.drawn((np.arange(_STEPS) + 0.5) / _STEPS)
        return best_guess(1 + sign * size, within)

    def drawn(self, key: FloatArray) -> tuple[IntArray, FloatArray]:
        """Signs and sizes of keys from 0 to 1."""
        sign = np.where(key < 0.5, -1, 1)
        share = key * 2 % 1.0
        if self.shape == "falling":
            share = 1 - np.sqrt(1 - share)
        return sign, self.least + (self.most - self.least) * share


class UnitFactors(NamedTuple):
    """The factors of a value column. SECRET."""

    of: pl.DataFrame  # unit, and how far its factor is from 1
    areas: int  # how many areas there are to balance in
    kept: int  # how many of them have the total they had
    outweighed: int  # in how many one unit outweighs the others, so that they are not balanced


def noisy(value: str) -> str:
    """The name of the column of noisy values."""
    return f"discreet noisy {value}"


@without_values
def with_unit_noise(
    frame: Any,
    values: Mapping[str, int],
    noise: UnitNoise,
    secret: Secret | bytes | str,
) -> tuple[Any, dict[str, UnitFactors]]:
    """The records with noisy values in whole units beside the true ones, and the factors.

    >>> firms = pl.DataFrame({"firm": ["a", "b"], "sales": [1000, 50]})
    >>> noise = UnitNoise(unit="firm", least=0.1, most=0.11)
    >>> made, _ = with_unit_noise(firms, {"sales": 0}, noise, "a long and secret sentence")
    >>> [100 <= abs(each - 1000) <= 110 for each in made["discreet noisy sales"]]
    [True, False]
    """
    records = open_frame(frame)
    kinds = ("is_polars", "is_pandas", "is_pyarrow", "is_duckdb")
    if not any(getattr(records.implementation, kind)() for kind in kinds):
        message = "multiplicative noise is not available for this engine"
        hint = "use polars, pandas, pyarrow or DuckDB, or collect the frame first"
        raise PerturbationError(message, code="engine", hint=hint)
    _check_columns(records, list(values), noise)
    held, factors = Secret.of(secret), {}
    for value, decimals in values.items():
        require_new(records, noisy(value))
        factors[value] = _factors(records, value, decimals, noise, held)
        records = with_computed(
            records,
            [noise.unit, value],
            noisy(value),
            partial(_noisy, value=value, noise=noise, shifts=factors[value].of, digits=decimals),
            as_text=False,
            distinct=True,
        )
    return like(records, frame), factors


def _check_columns(records: NarwhalsFrame, values: Sequence[str], noise: UnitNoise) -> None:
    """Refuse columns that are not there, or not what they should be."""
    require_columns(records, [noise.unit, *noise.balance, *values])
    schema, texts = records.collect_schema(), (nw.String, nw.Categorical, nw.Enum)
    unit, problems = schema[noise.unit], []
    if not unit.is_integer() and unit not in texts:
        hint = "use whole numbers or text as unit identifiers"
        problems.append(Problem(f"units cannot be of type {unit}", noise.unit, hint))
    problems += [
        Problem("not a numeric column", value) for value in values if not schema[value].is_numeric()
    ]
    raise_all(PerturbationError, problems, code="unit-noise", where="records")


def _whole(column: pl.Series, decimals: int) -> IntArray:
    """Values in units of the last digit that is published; 0 where there is none."""
    value = column.cast(pl.Float64).fill_null(0.0).fill_nan(0.0).to_numpy()
    value = value * 10.0**decimals
    if not np.isfinite(value).all() or np.abs(value).sum() >= _MOST:
        message = "values are infinite or too large for exact sums"
        hint = "publish fewer digits, or count in thousands"
        raise PerturbationError(message, code="unit-noise", where=column.name, hint=hint)
    return np.rint(value).astype(np.int64)


def _noisy(
    columns: pl.DataFrame, value: str, noise: UnitNoise, shifts: pl.DataFrame, digits: int
) -> IntArray:
    """The noisy values of records, whole."""
    unit, least = noise.unit, noise.least
    units = columns.select(pl.col(unit).cast(pl.String).alias("unit"))
    shift = units.join(shifts, on="unit", how="left", maintain_order="left")["shift"]
    if shift.null_count():
        message = "the units of the records changed during reading"
        raise PerturbationError(message, code="unit-noise", where=unit)
    whole = _whole(columns[value], digits)
    return whole + _moved(whole, shift.to_numpy(), least)


def _moved(whole: IntArray, shift: FloatArray, least: float) -> IntArray:
    """How far values move: by a share, in whole units, and never by less than the least one."""
    size = np.abs(whole)
    steps = np.maximum(np.ceil(least * size), np.rint(np.abs(shift) * size))
    return np.asarray(np.sign(shift) * np.sign(whole) * steps).astype(np.int64)


class _Records(NamedTuple):
    """Records as numbers. CONFIDENTIAL."""

    unit: IntArray
    area: IntArray
    whole: IntArray


def _factors(
    records: NarwhalsFrame, value: str, decimals: int, noise: UnitNoise, secret: Secret
) -> UnitFactors:
    """The factor of every unit, for a value column."""
    frame = collected(records.select(*dict.fromkeys([noise.unit, *noise.balance, value])))
    texts = frame[noise.unit].cast(pl.String)
    missing = texts.null_count() + int((texts == "").sum())
    if missing:
        message = f"{missing:,} of {len(texts):,} records belong to no unit"
        hint = "give single records a separate unit"
        raise PerturbationError(message, code="unit-noise", where=noise.unit, hint=hint)
    units = texts.unique().sort()
    draw = KeyFunction(secret.derive(_PURPOSE.format(value)), KeyGrid())
    sign, size = noise.drawn(draw(units) / KeyGrid().size)
    of = pl.DataFrame({"unit": units})
    if not noise.balance:
        return UnitFactors(of.with_columns(shift=pl.Series(sign * size)), 0, 0, 0)
    names = [pl.col(name).cast(pl.String) for name in noise.balance]
    area = frame.select(pl.struct(names).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    number = texts.to_frame("unit").join(
        of.with_row_index("at"), on="unit", how="left", maintain_order="left"
    )
    at = number["at"].to_numpy().astype(np.int64)
    known = _Records(at, area, _whole(frame[value], decimals))
    shift, kept, outweighed = _balanced(known, sign * size, noise)
    areas = int(area.max(initial=-1)) + 1
    return UnitFactors(of.with_columns(shift=pl.Series(shift)), areas, kept, outweighed)


def _balanced(known: _Records, drawn: FloatArray, noise: UnitNoise) -> tuple[FloatArray, int, int]:
    """Shifts of which areas keep their totals; how many do, and how many may not."""
    areas, units = int(known.area.max(initial=-1)) + 1, len(drawn)
    codes, place = np.unique(known.area * units + known.unit, return_inverse=True)
    pairs = np.divmod(codes, units)
    total = _added(place, known.whole, len(codes))
    alone = np.bincount(pairs[1], minlength=units) == 1
    order = np.lexsort((pairs[1], -np.abs(total), pairs[0]))
    bounds = np.searchsorted(pairs[0][order], np.arange(areas + 1))
    free = np.zeros(areas, dtype=np.bool_)
    for area in range(areas):
        own = order[bounds[area] : bounds[area + 1]]
        size = np.abs(total[own])
        # Who has the second largest value and knows the total knows the largest up to the rest.
        free[area] = bool(size[2:].sum() >= size[:1].sum())
    shift = drawn.copy()
    single = alone & (np.bincount(known.unit, minlength=units) == 1)
    rows = single[known.unit] & (known.whole != 0) & free[known.area]
    return shift, _settled(known, shift, np.flatnonzero(rows), free, noise), int((~free).sum())


def _added(place: IntArray, whole: Any, number: int) -> IntArray:
    sums = np.zeros(number, dtype=np.int64)
    np.add.at(sums, place, whole.astype(np.int64))
    return sums


def _settled(
    known: _Records, shift: FloatArray, rows: IntArray, free: BoolArray, noise: UnitNoise
) -> int:
    """Change shifts of units with one record so that areas keep their totals; how many do."""
    moved = _moved(known.whole, shift[known.unit], noise.least)
    off = _added(known.area, moved, len(free))
    rows = rows[np.lexsort((known.unit[rows], -np.abs(known.whole[rows]), known.area[rows]))]
    bounds = np.searchsorted(known.area[rows], np.arange(len(free) + 1))
    kept = int((free & (off == 0)).sum())
    for area in np.flatnonzero(free & (off != 0)).tolist():
        own, wanted = rows[bounds[area] : bounds[area + 1]], abs(int(off[area]))
        size, change = np.abs(known.whole[own]), moved[own]
        # Noise that adds to what is off is made smaller, noise against it larger.
        less = (change > 0) == (off[area] > 0)
        nearer = np.abs(change) - np.ceil(noise.least * size).astype(np.int64)
        farther = np.floor(noise.most * size).astype(np.int64) - np.abs(change)
        room = np.maximum(np.where(less, nearer, farther), 0)
        most = int(room.sum() * _ROOM)
        if wanted > most:
            continue
        taken = np.floor(room * (_ROOM * wanted / most)).astype(np.int64)
        left = room - taken
        taken += np.clip(wanted - int(taken.sum()) - (np.cumsum(left) - left), 0, left)
        new = np.sign(change) * (np.abs(change) + np.where(less, -taken, taken))
        at = known.unit[own]
        shift[at] = np.where(taken > 0, new / known.whole[own], shift[at])
        kept += 1
    return kept
