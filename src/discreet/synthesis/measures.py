"""Utility and risk of synthetic records, measured against the original.

In: columns of the original and of the made-up records as whole numbers; records that nothing was
learned from. CONFIDENTIAL. Out: measures: rates over many records, with no value and no code.
Definitions and thresholds: docs/methods/record-methods.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

import numba
import numpy as np
import polars as pl

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.compiled import compiled
from discreet.pretabular import coded
from discreet.synthesis.columns import MISSING, NumberedColumn, classed, group_begins, grouped
from discreet.synthesis.settings import SynthesisSettings

#: What a measure comes to; what was not examined is never good.
Verdict = Literal["good", "unclear", "bad", "not_examined"]
#: Groups of numbers in tables, and in the model of propensities.
_TABLE, _PROPENSITY = 10, 4
#: Records and columns of that model, records whose nearest ones are searched, fewest hold-outs.
_MODELLED, _WIDEST, _SEARCHED, _FEWEST = 5_000, 150, 4_000, 50
#: Up to, and above: times the distance by chance, times the propensity error by chance, overlap.
_TIMES, _RATIO, _OVERLAP = (2.0, 5.0), (3.0, 10.0), (0.75, 0.5)
_NORMAL, _CLOSEST, _DIGITS = 1.96, 0.05, 4


@dataclass(frozen=True, kw_only=True, slots=True)
class SynthesisMeasure:
    """A measure of synthetic records. Public with them."""

    name: str
    verdict: Verdict
    numbers: Mapping[str, float] = field(default_factory=dict)  # its figures, rounded
    about: str = ""  # names of variables or tables


def measure(name: str, verdict: Verdict, about: str = "", **numbers: float) -> SynthesisMeasure:
    """A measure with rounded figures."""
    rounded = {key: round(float(value), _DIGITS) for key, value in numbers.items()}
    return SynthesisMeasure(name=name, verdict=verdict, numbers=rounded, about=about)


def _judged(value: float, ends: tuple[float, float]) -> Verdict:
    good, bad = ends
    if good > bad:
        value, good, bad = -value, -good, -bad
    return "good" if value <= good else "bad" if value > bad else "unclear"


def distances(one: AnyArray, other: AnyArray) -> tuple[float, float]:
    """Total variation and Hellinger distance of two tables, each of shares.

    >>> [round(far, 3) for far in distances(np.array([2, 2]), np.array([1, 0]))]
    [0.5, 0.541]
    """
    first, second = one / max(one.sum(), 1), other / max(other.sum(), 1)
    affinity = float(np.sqrt(first * second).sum())
    return float(np.abs(first - second).sum() / 2), math.sqrt(max(0.0, 1 - affinity))


def utility(
    columns: Sequence[NumberedColumn], rows: IntArray, made: Sequence[IntArray],
    regressions: Sequence[Sequence[str]], most: int = 3,
) -> list[SynthesisMeasure]:  # fmt: skip
    """Closeness of tables (of up to `most` variables), propensities and regressions."""
    parts = [
        [classed(one, own, _TABLE) for one, own in zip(columns, places, strict=True)]
        for places in ([one.places[rows] for one in columns], made)
    ]
    measures = []
    for size in range(1, min(most, len(columns)) + 1):
        far, shape, chance, names = [], [], [], []
        for chosen in combinations(range(len(columns)), size):
            # Cells of both tables, numbered alike.
            frame = pl.DataFrame([
                pl.Series(str(at), np.concatenate([parts[0][at], parts[1][at]])) for at in chosen
            ])  # fmt: skip
            cell = coded(frame)[0]
            true, cells = cell[: len(rows)], int(cell.max()) + 1
            counts = [np.bincount(one, minlength=cells)
                      for one in (true, cell[len(rows) :], true[::2], true[1::2])]  # fmt: skip
            total, hellinger = distances(counts[0], counts[1])
            far.append(total)
            shape.append(hellinger)
            # Two halves differ by more, as each has fewer records.
            chance.append(distances(counts[2], counts[3])[0] / math.sqrt(2))
            names.append(" × ".join(columns[at].name for at in chosen))
        mean, usual = float(np.mean(far)), float(np.mean(chance))
        ratio = mean / max(usual, 1e-9)
        measures.append(
            measure(
                "tables", _judged(ratio, _TIMES), names[int(np.argmax(far))],
                ratio=ratio, size=size, tables=len(far), mean=mean, chance=usual,
                hellinger=float(np.mean(shape)), worst=max(far),
            )
        )  # fmt: skip
    measures.append(_propensity(columns, rows, made))
    models = [_overlap(columns, rows, made, model) for model in regressions]
    if not models:
        return [*measures, SynthesisMeasure(name="models", verdict="not_examined")]
    low, mean = min(models), float(np.mean(models))
    return [*measures, measure("models", _judged(mean, _OVERLAP), mean=mean, worst=low)]


def _propensity(
    columns: Sequence[NumberedColumn], rows: IntArray, made: Sequence[IntArray]
) -> SynthesisMeasure:
    """How well a logistic model tells made-up records from original ones (pMSE)."""
    rows, size = rows[:_MODELLED], min(len(made[0]), _MODELLED)
    single: list[FloatArray] = []
    of_column: list[int] = []
    for at, (one, own) in enumerate(zip(columns, made, strict=True)):
        both = np.concatenate([one.places[rows], own[:size]])
        groups = grouped(both, group_begins(one.places, _PROPENSITY))
        marks = [groups == group for group in np.unique(groups)[1:]]
        single += [mark.astype(np.float64) for mark in marks]
        of_column += [at] * len(marks)
    pairs = [(one, two) for one, two in combinations(range(len(single)), 2)
             if of_column[one] != of_column[two]]  # fmt: skip
    crossed = [single[one] * single[two] for one, two in pairs[: max(_WIDEST - len(single), 0)]]
    x = np.column_stack([np.ones(len(rows) + size), *single, *crossed])
    y = np.concatenate([np.zeros(len(rows)), np.ones(size)])
    share, rank = float(y.mean()), int(np.linalg.matrix_rank(x.T @ x))
    beta = _fitted(x, y, logistic=True)[0]
    guess = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
    error = float(np.square(guess - share).mean())
    # Its mean if both were drawn alike (Snoke and others 2018).
    chance = max(rank - 1, 1) * (1 - share) ** 2 * share / len(y)
    ratio = error / chance
    return measure("pmse", _judged(ratio, _RATIO), pmse=error, chance=chance, ratio=ratio)


def _fitted(x: FloatArray, y: FloatArray, logistic: bool) -> tuple[FloatArray, FloatArray]:
    """Coefficients of a regression, and their standard errors."""
    ridge = 1e-6 * np.eye(x.shape[1])
    if not logistic:
        inverse = np.linalg.inv(x.T @ x + ridge)
        beta = inverse @ (x.T @ y)
        variance = float(np.square(y - x @ beta).sum()) / max(len(y) - x.shape[1], 1)
        return beta, np.sqrt(variance * np.diag(inverse))
    beta = np.zeros(x.shape[1])
    for _ in range(12):
        chance = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        weight = np.maximum(chance * (1 - chance), 1e-9)
        inverse = np.linalg.inv((x.T * weight) @ x + ridge)
        step = inverse @ (x.T @ (y - chance) - ridge @ beta)
        beta = beta + step
        if np.abs(step).max() < 1e-6:
            break
    return beta, np.sqrt(np.diag(inverse))


def _overlap(
    columns: Sequence[NumberedColumn],
    rows: IntArray,
    made: Sequence[IntArray],
    model: Sequence[str],
) -> float:
    """The mean overlap of confidence intervals of a regression's coefficients, 0 to 1."""
    place = {one.name: at for at, one in enumerate(columns)}
    chosen = [place[name] for name in model]
    intervals = []
    for source in ([one.places[rows] for one in columns], made):
        there = np.all([source[at] != MISSING for at in chosen], axis=0)
        parts: list[AnyArray] = []
        for at in chosen:
            one, values = columns[at], source[at][there]
            present = one.places[one.places != MISSING]
            if one.codes is None:
                spread = max(float(present.std()), 1.0)
                parts.append(((values - present.mean()) / spread)[:, None])
            else:
                sizes = np.bincount(present, minlength=len(one.codes))
                usual, different = int(sizes.argmax()), np.flatnonzero(sizes)
                shown = [usual] if at == chosen[0] else different[different != usual]
                parts.append((values[:, None] == shown).astype(np.float64))
        x = np.column_stack([np.ones(int(there.sum())), *parts[1:]])
        logistic = columns[chosen[0]].codes is not None
        beta, error = _fitted(x, parts[0][:, 0], logistic)
        intervals.append((beta[1:] - _NORMAL * error[1:], beta[1:] + _NORMAL * error[1:]))
    (low, high), (below, above) = intervals
    common = np.minimum(high, above) - np.maximum(low, below)
    with np.errstate(divide="ignore", invalid="ignore"):  # an interval may be a point
        share = (common / (high - low) + common / (above - below)) / 2
    return float(np.maximum(np.nan_to_num(share), 0).mean())


def risk(
    columns: Sequence[NumberedColumn], rows: IntArray, others: IntArray, made: Sequence[IntArray],
    settings: SynthesisSettings,
) -> list[SynthesisMeasure]:  # fmt: skip
    """Excess success of attacks on people in the file over others.

    Both are attacked alike: what made-up records tell of anyone is no matter of being in the file.
    """
    names = ("attribute", "membership", "closest", "repeated")
    if len(others) < _FEWEST:
        return [SynthesisMeasure(name=name, verdict="not_examined") for name in names]
    measures = [_attribute(columns, rows, others, made, name, settings)
                for name in settings.sensitive]  # fmt: skip
    if not measures:
        measures.append(SynthesisMeasure(name="attribute", verdict="not_examined"))
    # Distances to the nearest made-up record: codes that differ, and numbers by their range.
    ranges = np.array([0.0 if one.codes is not None else max(one.ends[1] - one.ends[0], 1)
                       for one in columns], dtype=np.float64)  # fmt: skip
    file = np.column_stack(made)
    near, far = (
        nearest(np.column_stack([one.places[own[:_SEARCHED]] for one in columns]), file, ranges)
        for own in (rows, others)
    )
    ordered = np.sort(near)
    below = [np.searchsorted(ordered, far, side).mean() for side in ("left", "right")]
    curve = float(sum(below)) / (2 * len(near))
    error = math.sqrt((len(near) + len(far) + 1) / (3 * len(near) * len(far)))
    excess = 2 * curve - 1
    verdict = _limited(excess, error, settings.limit)
    measures.append(measure("membership", verdict, curve=curve, excess=excess))
    limit = np.sort(far)[int(_CLOSEST * len(far))]
    rates = (near <= limit), (far <= limit)
    measures.append(_compared("closest", *rates, settings.limit))
    # Unique originals that a made-up record repeats.
    every = np.concatenate([rows, others])
    stacked = [np.concatenate([one.places[every], own])
               for one, own in zip(columns, made, strict=True)]  # fmt: skip
    whole = coded(pl.DataFrame({str(at): one for at, one in enumerate(stacked)}))[0]
    true, drawn = whole[: len(every)], whole[len(every) :]
    repeated, alone = np.isin(true, drawn), np.bincount(true)[true] == 1
    inside = np.arange(len(every)) < len(rows)
    rates = repeated[alone & inside], repeated[alone & ~inside]
    return [*measures, _compared("repeated", *rates, settings.limit)]


def _limited(excess: float, error: float, limit: float) -> Verdict:
    """Good only if the excess is surely within the limit."""
    return "bad" if excess > limit else "good" if excess + 2 * error <= limit else "unclear"


def _compared(name: str, members: Any, others: Any, limit: float) -> SynthesisMeasure:
    """Shares of members and of others of whom an attack says yes."""
    both = (members, others)
    shares = [float(one.mean()) if len(one) else 0.0 for one in both]
    error = math.sqrt(sum(share * (1 - share) / max(len(one), 1)
                          for share, one in zip(shares, both, strict=True)))  # fmt: skip
    excess = shares[0] - shares[1]
    verdict = _limited(excess, error, limit)
    return measure(name, verdict, members=shares[0], others=shares[1], excess=excess)


def _attribute(
    columns: Sequence[NumberedColumn], rows: IntArray, others: IntArray, made: Sequence[IntArray],
    sensitive: str, settings: SynthesisSettings,
) -> SynthesisMeasure:  # fmt: skip
    """How often a sensitive value is guessed right by key variables, of people in the file and not.

    The same guesses from as many made-up records as others, and from these others, are held
    against each other, too.
    """
    chosen = [one for name in (*settings.keys, sensitive) for one in columns if one.name == name]
    file = [classed(one, own, _TABLE) for named in chosen
            for one, own in zip(columns, made, strict=True) if one is named]  # fmt: skip
    members, outside = ([classed(one, one.places[own], _TABLE) for one in chosen]
                        for own in (rows, others))  # fmt: skip
    few = [one[: len(others)] for one in file]
    right = [guess(target, source) for target, source in
             ((members, file), (outside, file), (members, few), (members, outside))]  # fmt: skip
    shares = [float(one.mean()) for one in right]
    spread = [share * (1 - share) / len(one) for share, one in zip(shares, right, strict=True)]
    excess, error = max((shares[at] - shares[at + 1], math.sqrt(spread[at] + spread[at + 1]))
                        for at in (0, 2))  # fmt: skip
    figures = dict(zip(("members", "others", "synthetic", "holdout"), shares, strict=True))
    verdict = _limited(excess, error, settings.limit)
    return measure("attribute", verdict, sensitive, **figures, excess=excess)


def guess(targets: Sequence[IntArray], source: Sequence[IntArray]) -> Any:
    """For which targets the most frequent value of records with their keys is right.

    Where no record has all keys, the last ones are left out, one after the other.
    """
    *keys, truth = targets
    answer = np.zeros(len(truth), dtype=np.int64)
    for size in range(len(keys) + 1):  # the more keys, the later and the surer
        known = [pl.Series(str(at), np.concatenate([keys[at], source[at]])) for at in range(size)]
        both = np.zeros(len(truth) + len(source[-1]), np.int64) if not size else coded(
            pl.DataFrame(known))[0]  # fmt: skip
        group, value = both[len(truth) :], source[-1]
        pairs, count = np.unique(np.column_stack([group, value]), axis=0, return_counts=True)
        order = np.lexsort((-pairs[:, 1], count))
        usual = np.full(int(both.max()) + 1, -1, dtype=np.int64)
        usual[pairs[order, 0]] = pairs[order, 1]  # the last one stays: the most frequent
        own = usual[both[: len(truth)]]
        answer = np.where(own >= 0, own, answer)
    return answer == truth


@compiled(parallel=True)
def nearest(targets: IntArray, records: IntArray, ranges: FloatArray) -> FloatArray:
    """The distance of each target to the nearest record; codes that differ count as a range."""
    least = np.empty(len(targets), np.float64)
    for row in numba.prange(len(targets)):
        best = np.inf
        for other in range(len(records)):
            far = 0.0
            for at in range(len(ranges)):
                one, two = targets[row, at], records[other, at]
                if one != two:
                    code = ranges[at] == 0 or one == MISSING or two == MISSING
                    far += 1.0 if code else min(abs(one - two) / ranges[at], 1.0)
                    if far >= best:
                        break
            best = min(best, far)
        least[row] = best
    return least
