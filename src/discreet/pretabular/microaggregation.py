"""Groups of records: means in place of values, and values left out until nobody is rare.

In: records, CONFIDENTIAL. Out: `ChangedRecords`. Nothing is drawn; who is alike in everything that
counts is told apart by the identifier. See docs/methods/record-methods.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet.compiled import compiled
from discreet.errors import MicrodataError, Problem, raise_all
from discreet.pretabular.changed_records import (
    ChangedRecords,
    InputRecords,
    check_codes,
    done,
    places,
    record_method,
    strata,
)
from discreet.pretabular.settings import LocalSuppressionSettings, MicroaggregateSettings


@record_method(MicroaggregateSettings)
def microaggregate(records: InputRecords, settings: MicroaggregateSettings) -> ChangedRecords:
    """Replace numbers by the means of groups of at least k records that are near each other.

    Options are those of `MicroaggregateSettings`; `id` names the columns that identify a record:
    they decide between records alike.

    >>> people = pl.DataFrame({"id": range(6), "pay": [1, 2, 3, 10, 11, 12]})
    >>> microaggregate(people, "pay", id="id", method="sorted").records["pay"].to_list()
    [2.0, 2.0, 2.0, 11.0, 11.0, 11.0]
    """
    names, layers, k = settings.variables, settings.strata, settings.k
    if {*names} & {*layers}:
        message = "a variable that changes cannot be an identifier or a stratum"
        raise MicrodataError(message, code="microaggregate", where="variables")
    columns = records.columns(names)
    problems = [
        Problem("not a numeric column, or values are missing", name, "recode them first")
        for name in names
        if not columns[name].dtype.is_numeric()
        or columns[name].null_count()
        or not columns[name].cast(pl.Float64).is_finite().all()
    ]
    raise_all(MicrodataError, problems, code="column-type")
    ids = records.identifiers(names)
    group = strata(records, layers)
    if columns.height and np.bincount(group)[np.unique(group)].min() < k:
        message = f"a stratum has fewer than {k} records"
        raise MicrodataError(message, code="microaggregate", where=", ".join(layers) or "records")
    values = columns.select(pl.all().cast(pl.Float64)).to_numpy()
    texts = ids.with_columns(pl.all().cast(pl.String))
    rank = texts.with_row_index("\0at").sort(records.ids)["\0at"].to_numpy()
    together = settings.method == "mdav"
    means, smallest = _means(values, group, rank, k, together=together)
    new = {name: pl.Series(name, means[:, at]) for at, name in enumerate(names)}
    log = ids.with_columns(
        *[columns[name].alias(f"{name} before") for name in names],
        *[one.alias(f"{name} after") for name, one in new.items()],
    )
    lost = dict.fromkeys(names, 0.0)
    if len(values):  # the share of the squares around the mean that lies within groups
        spread = np.square(values - values.mean(axis=0)).sum(axis=0)
        inside = np.square(values - means).sum(axis=0) / np.where(spread > 0, spread, 1.0)
        lost = dict(zip(names, inside.tolist(), strict=True))
    measures = {"smallest group": smallest, "share of squares lost": lost}
    parameters = {"variables": names, "k": k, "method": settings.method, "strata": layers}
    return done(
        "microaggregate", records.with_values(new), log, None, measures=measures,
        parameters=parameters, told={"names": ", ".join(names)},
    )  # fmt: skip


def _means(
    values: FloatArray, group: IntArray, rank: IntArray, k: int, *, together: bool
) -> tuple[FloatArray, int]:
    """The means of the groups in place of values, and the size of the smallest group."""
    means, smallest, width = values.copy(), len(values), values.shape[1]
    sets = [[*range(width)]] if together else [[column] for column in range(width)]
    for stratum in np.unique(group):
        mine = rank[group[rank] == stratum]
        for chosen in sets:
            rows = mine[np.lexsort(values[mine][:, chosen].T[::-1])]
            part = values[np.ix_(rows, chosen)]
            spread = part.std(axis=0)
            scaled = (part - part.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
            number = _mdav(scaled, k) if together else _cut(part[:, 0], k)
            counts = np.bincount(number)
            smallest = min(smallest, int(counts.min()))
            for at, column in enumerate(chosen):
                means[rows, column] = (np.bincount(number, part[:, at]) / counts)[number]
    return means, smallest


@compiled()
def _cut(values: FloatArray, k: int) -> IntArray:
    """Groups of k to 2k - 1 sorted values with the least sum of squares (Hansen, Mukherjee)."""
    number = len(values)
    centre = values.mean() if number else 0.0
    sums, squares = np.zeros(number + 1), np.zeros(number + 1)
    for at in range(number):
        one = values[at] - centre
        sums[at + 1] = sums[at] + one
        squares[at + 1] = squares[at] + one * one
    best, before = np.full(number + 1, np.inf), np.zeros(number + 1, np.int64)
    best[0] = 0.0
    for end in range(k, number + 1):
        for begin in range(max(0, end - 2 * k + 1), end - k + 1):
            total = sums[end] - sums[begin]
            cost = best[begin] + squares[end] - squares[begin] - total * total / (end - begin)
            if cost < best[end]:
                best[end], before[end] = cost, begin
    group = np.zeros(number, np.int64)
    end, which = number, 0
    while end > 0:
        group[before[end] : end] = which
        end, which = before[end], which + 1
    return group


@compiled()
def _mdav(values: FloatArray, k: int) -> IntArray:
    """Groups around the record farthest from the centre, and the one farthest from that."""
    number, width = values.shape
    left = np.arange(number)
    group = np.zeros(number, np.int64)
    which = 0
    while len(left) >= 2 * k:
        last = len(left) < 3 * k
        centre = np.zeros(width)
        for row in left:
            centre += values[row]
        first = left[np.argmax(_far(values, left, centre / len(left)))]
        away = left[np.argmax(_far(values, left, values[first]))]
        for step, seed in enumerate((first, away)):
            if step and (last or group[seed] != 0):
                continue
            near = np.argsort(_far(values, left, values[seed]), kind="mergesort")[:k]
            which += 1
            group[left[near]] = which
            keep = np.ones(len(left), np.bool_)
            keep[near] = False
            left = left[keep]
        if last:
            break
    group[left] = which + 1
    return group - 1


@compiled()
def _far(values: FloatArray, rows: IntArray, centre: FloatArray) -> FloatArray:
    distances = np.zeros(len(rows))
    for at in range(len(rows)):
        for column in range(values.shape[1]):
            one = values[rows[at], column] - centre[column]
            distances[at] += one * one
    return distances


@record_method(LocalSuppressionSettings)
def local_suppression(records: InputRecords, settings: LocalSuppressionSettings) -> ChangedRecords:
    """Leave out values of keys until every combination occurs k times, gaps counting as a code.

    Options are those of `LocalSuppressionSettings`; `id` names the columns that identify a record.

    >>> people = pl.DataFrame({"id": range(4), "sex": ["m"] * 4, "age": [1, 1, 2, 3]})
    >>> local_suppression(people, ["sex", "age"], id="id", k=2).records["age"].to_list()
    [1, 1, None, None]
    """
    names, k = settings.keys, settings.k
    check_codes(records, names)
    ids = records.identifiers(names)
    if k > max(ids.height, 2):
        message = "k must not exceed the number of records"
        raise MicrodataError(message, code="local-suppression", where="k")
    columns = records.columns(names)
    codes = np.column_stack([places(columns.select(name)) for name in names])
    # What it costs to leave a key out: each costs more than the less important one.
    number = {name: columns[name].n_unique() for name in names}
    others = sorted(set(names) - {*settings.importance}, key=lambda name: (number[name], name))
    ranked = [*settings.importance, *others]
    gaps = _gaps(codes, [len(ranked) + 1 - ranked.index(name) for name in names], k)
    new = {
        name: pl.select(pl.when(~pl.Series(gaps[:, at])).then(columns[name]))
        .to_series()
        .alias(name)
        for at, name in enumerate(names)
        if gaps[:, at].any()
    }
    given_up = {name: int(gaps[:, at].sum()) for at, name in enumerate(names)}
    log = ids.with_columns(pl.Series(name, gaps[:, at]) for at, name in enumerate(names))
    log = log.filter(pl.any_horizontal(names)) if log.height else log
    return done(
        "local_suppression", records.with_values(new), log, None,
        measures={"left out": given_up}, parameters={"keys": names, "k": k},
        told={"names": ", ".join(names), "k": k},
    )  # fmt: skip


def _gaps(codes: IntArray, weights: Sequence[int], k: int) -> Any:
    """Which keys are left out of which records: sets of keys in order of what they cost."""
    number, width = codes.shape
    gaps = np.zeros((number, width), dtype=np.bool_)
    rows = np.arange(number)
    sets = [s for size in range(width + 1) for s in combinations(range(width), size)]
    for chosen in sorted(sets, key=lambda s: (len(s), sum(weights[at] for at in s), s)):
        rest = [at for at in range(width) if at not in chosen]
        _, at, counts = _grouped(codes[rows][:, rest])
        enough = counts[at] >= k
        gaps[np.ix_(rows[enough], np.array(chosen, dtype=np.int64))] = True
        rows = rows[~enough]
        if not len(rows):
            return gaps
    gaps[rows] = True  # fewer than k, who join the smallest combination that is protected
    others = np.setdiff1d(np.arange(number), rows)
    shown = np.where(gaps, -1, codes)[others]
    _, at, counts = _grouped(shown)
    if len(others):
        gaps[others[at == np.argmin(counts)]] = True
    return gaps


def _grouped(codes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The combinations in order, the place of each row among them, and their numbers."""
    if not codes.shape[1]:
        return codes[:1], np.zeros(len(codes), dtype=np.int64), np.array([len(codes)])
    distinct, at, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    return distinct, at.reshape(-1), counts
