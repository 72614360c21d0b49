"""Whose values stand in the columns that a script made. CONFIDENTIAL.

In: the records that a script hands over for a statistic, and those that it hands over for the same
when it runs again: with other names and places of the persons or firms, with the
values of each part of them exchanged, with the extremes pulled in. Out: why the statistic is
withheld. A program that picks somebody by name or place gives another figure when these change,
however little of the figure is theirs. A value that changes with a part rests on someone in it;
values that change all with one part, and with few others, are copies of what few have, however the
script made them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet_fire.runners.traced_records import TracedRecords

FEW = (
    "its values rest on those of too few persons or firms: leave out what is copied from few, and "
    "groups of few"
)
ENDS = "its values rest on the largest or smallest values of the data: use a percentile"
NAMES = (
    "its values change when persons or firms exchange their numbers and places: choose records by "
    "their values, not by number, place or chance"
)
LOST = (
    "whose values it rests on is not known: with other data the program goes another way; put "
    "checks of the data into a program of their own"
)
#: Differences below this share of the largest value come from the order of sums.
_CLOSE = 1e-9
#: The same on the scale of `_evened`.
_SAME = 1e-8
#: What moves a value by less than this share of what moves it most is no source of it.
_SLIGHT = 0.05
#: So many records may rest on few others: where their places in the data are known, and not.
_RESTING = {True: 0.0, False: 0.25}
#: So many of these may rest on one part.
_MOST = {True: 0.5, False: 0.9}
#: Extremes move a figure of many at most so many times as much as a change of half of the others.
_LEVER = 3.0
#: Values that rest on one part exceed those of the others by at most so many deviations.
_UNEVEN = 6.0
#: Less probable than this is a cell that loses so many of its records with one part.
_IMPROBABLE = 5e-4


def parts_for(least: int) -> int:
    """Into how many parts persons or firms fall, so that fewer than `least` are seen."""
    return max(8, 2 * least + 2)


@dataclass(frozen=True, kw_only=True, repr=False)
class HandedOver:
    """The records that a script hands over for one statistic (confidential)."""

    frame: pl.DataFrame
    groups: str | None  # the column by whose groups the statistic is shown, if it is among them
    counted: bool  # whether numbers of records are shown for each combination of values
    traced: TracedRecords | None  # the records of the data that they are, if they are found


def changed(
    first: HandedOver, other: HandedOver | None, size: float, names: frozenset[str]
) -> bool:
    """Whether another run hands over other records, whatever their order.

    Names may differ. Differences that are small beside a value, and beside the usual size of
    values, come from the order of sums.
    """
    if other is None or other.frame.shape != first.frame.shape:
        return True
    if other.frame.columns != first.frame.columns:
        return True
    columns = [name for name in first.frame.columns if name not in names]
    lines = [np.zeros(first.frame.height), np.zeros(first.frame.height)]
    # Drawn anew: known weights would let a program hide one change behind another.
    weights = np.random.default_rng().random(len(columns)) + 0.5
    for name, weight in zip(columns, weights.tolist(), strict=True):
        pair = [one.frame[name] for one in (first, other)]
        for line, values in zip(lines, _numbers(pair), strict=True):
            line += weight * np.where(np.isnan(values), -weight, _evened(values, size))
    return bool((np.abs(np.sort(lines[0]) - np.sort(lines[1])) > _SAME * len(columns)).any())


def _evened(values: FloatArray, size: float) -> FloatArray:
    """Values on a scale on which a share of a value is the same everywhere."""
    return np.arcsinh(np.clip(values / (size or 1.0) * 1e3, -1e300, 1e300))


def rests_on_few(
    first: HandedOver,
    others: Sequence[HandedOver | None],
    part: IntArray,
    *,
    least: int,
    size: float,
) -> str | None:
    """Why a statistic is withheld; None if enough persons or firms stand behind its values.

    The other runs, None where there is nothing like it, are one for each part whose values are
    exchanged, one with the extremes pulled in, and two with half each of the other values changed.
    `part` says to which part each record of the data belongs.
    """
    runs = [one for one in others if one is not None and one.frame.columns == first.frame.columns]
    if len(runs) < len(others):
        return LOST
    traced = first.traced
    known = traced is not None and all(one.traced is not None for one in runs)
    if traced is None and first.counted and _lost_together(first, runs[:-3]):
        return FEW
    names = [name for name in first.frame.columns if traced is None or name not in traced.columns]
    own = part[traced.numbers] if traced is not None and known else None
    for name in names:
        for rows, moves, lost in _changes(first, runs, name, known=known, size=size):
            alike = first.frame[name].gather(rows).n_unique() == 1
            if alike and len(rows) == first.frame.height and not moves[:-3].any():
                return FEW  # one value for all: nothing says whose it is
            if _uneven(lost, least):
                return FEW
            if reason := _reason(moves, None if own is None else own[rows], least):
                return reason
    return None


def _reason(moves: FloatArray, own: IntArray | None, least: int) -> str | None:
    """Why values are withheld that other runs move by so much."""
    parts, ends, half = moves[:-3].copy(), moves[-3], moves[-2:].max(axis=0)
    if (ends > _LEVER * half).mean() > _RESTING[False]:
        return ENDS
    known = own is not None
    if own is not None:
        parts[own, np.arange(len(own))] = 0.0
    moved = (parts > 0) & (parts >= _SLIGHT * parts.max(axis=0))
    sources = moved.sum(axis=0)
    few = (sources > 0) & (sources < least)
    of_part = moved[:, few].sum(axis=1)
    rests = few.mean() > _RESTING[known]
    alike = (of_part > 0).sum() < least or of_part.max() > _MOST[known] * few.sum()
    alike |= known and _uneven(of_part, least)
    return FEW if rests and alike else None


def _uneven(of_part: IntArray, least: int) -> bool:
    """Whether many more values rest on fewer than `least` parts than on each of the others.

    >>> _uneven(np.array([30, 29, 31, 30, 30, 52, 28, 30]), 3)
    True
    >>> _uneven(np.array([30, 29, 31, 30, 30, 35, 28, 30]), 3)
    False
    """
    ordered = np.sort(of_part)[::-1]
    rests = ((ordered[at - 1], ordered[at:]) for at in range(1, least))
    return any(top - rest.mean() > least + _UNEVEN * rest.std() for top, rest in rests)


def _changes(
    first: HandedOver, runs: Sequence[HandedOver], name: str, *, known: bool, size: float
) -> Iterator[tuple[IntArray, FloatArray, IntArray]]:
    """The records of a column, and of each of its groups: by how much each run moves each value,
    and how many of the values each part takes away.
    """
    values = _numbers([first.frame[name], *(one.frame[name] for one in runs)])
    groups = first.groups if first.groups != name else None
    cells = [None] if groups is None else [None, *first.frame[groups].unique()]
    for cell in cells:
        rows = [np.flatnonzero(_inside(one.frame, groups, cell)) for one in (first, *runs)]
        if not known:  # missing values have no place among the sorted
            rows = [at[~np.isnan(one[at])] for at, one in zip(rows, values, strict=True)]
        if not len(rows[0]):
            continue
        base = values[0][rows[0]]
        if first.traced is not None and known:
            wanted = first.traced.numbers[rows[0]]
            other = [_placed(one, wanted, numbers)
                     for one, numbers in zip(runs, values[1:], strict=True)]  # fmt: skip
        else:
            other = [_ranked(one[at], len(base))
                     for one, at in zip(values[1:], rows[1:], strict=True)]  # fmt: skip
            rows[0] = rows[0][np.argsort(base, kind="stable")]
            base = np.sort(base)
        moves = np.array([_distance(base, one) for one in other])
        top = np.abs(base[np.isfinite(base)]).max(initial=0.0)
        moves[moves <= _CLOSE * top] = 0.0
        largest = moves[np.isfinite(moves)].max(initial=0.0) or 1.0
        inside = zip(values[1:-3], rows[1:-3], strict=True)
        lost = np.array([_lost(base, one[at], size) for one, at in inside])
        yield rows[0], np.minimum(moves, largest), lost


def _lost(base: FloatArray, other: FloatArray, size: float) -> int:
    """How many values are not among others, each as often as it is there."""
    both = [np.nan_to_num(_evened(one, size) / _SAME).round() for one in (base, other)]
    kinds, at = np.unique(np.concatenate(both), return_inverse=True)
    left = np.bincount(at[: len(base)], minlength=len(kinds))
    left -= np.bincount(at[len(base) :], minlength=len(kinds))
    return int(np.maximum(left, 0).sum())


def _inside(frame: pl.DataFrame, groups: str | None, cell: object) -> FloatArray:
    if groups is None or cell is None:
        return np.ones(frame.height, dtype=np.bool_)
    return (frame[groups] == cell).fill_null(value=False).to_numpy()


def _numbers(columns: Sequence[pl.Series]) -> list[FloatArray]:
    """Columns as numbers, missing values as NaN; texts have numbers of their own."""
    if not all(one.dtype.is_numeric() or one.dtype == pl.Boolean for one in columns):
        texts = [one.cast(pl.String) for one in columns]
        ranks = pl.concat([one.alias("") for one in texts]).rank("dense")
        ends = np.cumsum([0, *map(len, columns)])
        columns = [ranks[start:end] for start, end in pairwise(ends)]
    return [one.cast(pl.Float64).fill_null(float("nan")).to_numpy() for one in columns]


def _placed(run: HandedOver, wanted: IntArray, values: FloatArray) -> FloatArray:
    """The values of the same records in another run; infinite where they are not there."""
    assert run.traced is not None
    order = np.argsort(run.traced.numbers)
    numbers = run.traced.numbers[order]
    found = np.full(len(wanted), np.inf)
    if len(order):
        at = np.minimum(np.searchsorted(numbers, wanted), len(order) - 1)
        same = numbers[at] == wanted
        found[same] = values[order[at[same]]]
    return found


def _ranked(values: FloatArray, number: int) -> FloatArray:
    """As many values of the same distribution, in order."""
    if not len(values):
        return np.full(number, np.inf)
    at = ((np.arange(number) + 0.5) * len(values) / number).astype(np.int64)
    return np.sort(values)[at]


def _distance(one: FloatArray, other: FloatArray) -> FloatArray:
    far = np.full(len(one), np.inf)
    there = np.isfinite(one) & np.isfinite(other)
    far[there] = np.abs(one[there] - other[there])
    far[(np.isnan(one) & np.isnan(other)) | (one == other)] = 0.0
    return far


def _lost_together(first: HandedOver, parts: Sequence[HandedOver]) -> bool:
    """Whether a combination of values loses more records with one part than is probable."""
    names, share = first.frame.columns, 1 / len(parts)
    counts = first.frame.group_by(names).len("n")
    for part in parts:
        there = part.frame.group_by(names).len("left")
        both = counts.join(there, on=names, how="left", nulls_equal=True)
        number = both["n"].to_numpy().astype(np.float64)
        lost = 1 - both["left"].fill_null(0).to_numpy() / number
        with np.errstate(divide="ignore", invalid="ignore"):  # Chernoff's bound
            kept = np.where(lost < 1, (1 - lost) * np.log((1 - lost) / (1 - share)), 0.0)
            distance = np.where(lost > share, lost * np.log(lost / share) + kept, 0.0)
        if (np.exp(-number * distance) < _IMPROBABLE).any():
            return True
    return False
