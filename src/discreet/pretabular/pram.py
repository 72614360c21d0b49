"""Post-randomisation (PRAM): codes of records are drawn anew by a transition matrix.

In: records, CONFIDENTIAL, and for each variable (or set of variables) a matrix, or what an
invariant one is to be like. Out: `ChangedRecords`, and estimates for users of the file.
Definitions and formulas: docs/methods/record-methods.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numba
import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.compiled import compiled
from discreet.errors import MicrodataError
from discreet.keygrid import KeyGrid
from discreet.microdata import KeyFunction
from discreet.pretabular.changed_records import (
    DRAWS,
    ChangedRecords,
    InputRecords,
    check_codes,
    coded,
    done,
    draws,
    record_method,
    strata,
)
from discreet.pretabular.matrices import Invariant, PramMatrix
from discreet.pretabular.settings import PramSettings

#: Records that are looked at together for the first one of each code.
_AT_ONCE = 1 << 16
#: In lines of so few probabilities looking at each is quicker than halving.
_SHORT = 32
_MOST_CODES = 4_096


@record_method(PramSettings)
def pram(records: InputRecords, settings: PramSettings) -> ChangedRecords:
    """Draw codes of records anew by transition matrices; missing values stay missing.

    Options are those of `PramSettings`; `id` names the columns that identify a record, `secret`
    makes the draws unpredictable. Several variables that change together are a tuple of names.

    >>> people = pl.DataFrame({"id": range(100), "sex": ["m", "f"] * 50})
    >>> kept = pram(people, {"sex": Invariant(stay=0.7)}, id="id", exact=True,
    ...             secret="a long and secret sentence")
    >>> kept.records["sex"].value_counts().sort("sex").rows()
    [('f', 50), ('m', 50)]
    """
    held, sets, layers, exact = records.secret, settings.sets, settings.strata, settings.exact
    names_of_all = [name for names in sets for name in names]
    check_codes(records, names_of_all)
    numbers = records.identifiers(names_of_all)
    stratum = strata(records, layers)
    taken: dict[str, IntArray] = {}
    log, measures = [], {}
    for names, method in zip(sets, settings.variables.values(), strict=True):
        name = "/".join(names)
        purpose = f"pram {name}"
        drawn = draws(numbers, held, purpose)
        old, codes = coded(records.columns(names))
        texts = codes.select(pl.concat_str(pl.all().cast(pl.String), separator="/")).to_series()
        if len(texts) > _MOST_CODES:
            message = f"too many codes for a matrix: {len(texts):,}"
            hint = "combine fewer variables, or recode them"
            raise MicrodataError(message, code="pram", where="variables", hint=hint)
        frequencies = _tally(stratum, old, int(stratum.max(initial=0)) + 1, len(texts))
        matrices = _matrices(method, frequencies, texts.to_list())
        choose = KeyFunction(held.derive(f"{purpose}; rounding"), KeyGrid(DRAWS))
        if exact:
            new = _exact(old, stratum, drawn, matrices, frequencies, choose)
        else:
            new = drawn_codes(old, stratum, drawn, matrices)
        taken |= dict.fromkeys(names, _rows_with(old, new, len(texts)))
        rows = np.flatnonzero(old != new)
        log.append(
            numbers[rows].with_columns(
                pl.lit(name).alias("variable"),
                texts.gather(old[rows]).alias("before"),
                texts.gather(new[rows]).alias("after"),
            )
        )
        measures[name] = _measured(texts, frequencies, matrices, new, log[-1].height)
    chosen = [
        [*names, asdict(one)] for names, one in zip(sets, settings.variables.values(), strict=True)
    ]
    return done(
        "pram", records.with_taken(taken), pl.concat(log), held, measures=measures,
        parameters={"variables": chosen, "strata": layers, "exact": exact},
        told={"names": ", ".join(measures)},
    )  # fmt: skip


def _rows_with(old: IntArray, new: IntArray, size: int) -> IntArray:
    """For each record, the first one that had its new code."""
    first = np.full(size + 1, -1, dtype=np.int64)
    for begin in range(0, len(old), _AT_ONCE):
        codes, at = np.unique(old[begin : begin + _AT_ONCE], return_index=True)
        unseen = first[codes] < 0
        first[codes[unseen]] = at[unseen] + begin
        if (first[:size] >= 0).all():
            break
    rows: IntArray = first[new]
    missing = np.flatnonzero(new < 0)
    rows[missing] = missing
    return rows


@compiled()
def _tally(stratum: IntArray, codes: IntArray, strata: int, size: int) -> IntArray:
    """How often each code occurs in each stratum; what is missing is not counted."""
    tally = np.zeros((strata, size), np.int64)
    for row in range(len(codes)):
        if codes[row] >= 0:
            tally[stratum[row], codes[row]] += 1
    return tally


def _matrices(
    method: Invariant | PramMatrix, counts: IntArray, codes: Sequence[str]
) -> list[FloatArray]:
    """The matrix of each stratum; an invariant one stays among the codes that are there."""
    matrices = []
    for row in counts:
        if isinstance(method, PramMatrix):
            matrices.append(method.matrix(row, codes))
            continue
        there = np.flatnonzero(row)
        matrix = np.eye(len(codes))
        if there.size:
            own = [codes[at] for at in there.tolist()]
            matrix[np.ix_(there, there)] = method.matrix(row[there], own)
        matrices.append(matrix)
    return matrices


def drawn_codes(
    old: IntArray, stratum: IntArray, drawn: IntArray, matrices: Sequence[FloatArray]
) -> IntArray:
    """The new code of each record: the first whose cumulative probability exceeds its draw."""
    ends = np.array([np.rint(np.cumsum(one, axis=1) * DRAWS) for one in matrices]).astype(np.int64)
    for at, one in enumerate(matrices):  # what has no probability is never drawn
        last = one.shape[1] - 1 - np.argmax(one[:, ::-1] > 0, axis=1)
        ends[at][np.arange(one.shape[1]) >= last[:, None]] = DRAWS
    new: IntArray = _search(old, stratum, drawn, ends)
    return new


@compiled(parallel=True)
def _search(old: IntArray, stratum: IntArray, drawn: IntArray, ends: Any) -> IntArray:
    new = np.empty(len(old), np.int64)
    for row in numba.prange(len(old)):
        code = old[row]
        if code >= 0:
            line = ends[stratum[row], code]
            if len(line) > _SHORT:
                code = np.searchsorted(line, drawn[row], side="right")
            else:
                code = 0
                for at in range(len(line)):
                    code += drawn[row] >= line[at]
        new[row] = code
    return new


def _exact(
    old: IntArray, stratum: IntArray, drawn: IntArray,
    matrices: Sequence[FloatArray], counts: IntArray, choose: KeyFunction,
) -> IntArray:  # fmt: skip
    """As many transitions of each kind as controlled rounding allows, to records by their draws."""
    size = counts.shape[1]
    order = np.lexsort((drawn, old, stratum))
    order = order[old[order] >= 0]
    new = old.copy()
    numbers = np.concatenate([
        rounded_transitions(row[:, None] * one, choose, at * size * size)
        for at, (one, row) in enumerate(zip(matrices, counts, strict=True))
    ])  # fmt: skip
    new[order] = np.repeat(np.tile(np.arange(size), len(numbers)), numbers.ravel())
    return new


def rounded_transitions(
    expected: FloatArray, choose: KeyFunction | None = None, first: int = 0
) -> IntArray:
    """Whole numbers next to `expected` with the same sums of rows and columns.

    Every number is on average what was expected: along cycles of fractions, odd places rise and
    even ones fall, or the other way round, with the probabilities that keep the mean.

    >>> rounded_transitions(np.array([[1.5, 0.5], [0.5, 1.5]])).sum(1).tolist()
    [2, 2]
    """
    choose = choose or KeyFunction(bytes(32), KeyGrid(DRAWS))
    value = expected.copy()
    whole = np.rint(value)
    value = np.where(np.abs(value - whole) < 1e-6, whole, value)
    step = 0
    while True:
        cycle = _cycle(value != np.rint(value))
        if not cycle:
            return np.rint(value).astype(np.int64)
        rows, columns = np.array(cycle).T
        sign = np.where(np.arange(len(cycle)) % 2 == 0, 1.0, -1.0)
        part = value[rows, columns] - np.floor(value[rows, columns])
        up = np.where(sign > 0, 1 - part, part).min()
        down = np.where(sign > 0, part, 1 - part).min()
        share = choose.of_numbers(np.array([first + step]))[0] / DRAWS
        change = up if share * (up + down) < down else -down
        moved = value[rows, columns] + sign * change
        whole = np.rint(moved)
        value[rows, columns] = np.where(np.abs(moved - whole) < 1e-6, whole, moved)
        step += 1


def _cycle(open_: BoolArray) -> list[tuple[int, int]]:
    """Cells that are open, alternating between a row and a column, back to where it began."""
    begin = np.flatnonzero(open_.sum(1) > 1)
    if not begin.size:
        return []
    path: list[tuple[int, int]] = []
    seen: dict[tuple[str, int], int] = {("row", int(begin[0])): 0}
    row, last = int(begin[0]), -1

    def other(line: BoolArray, last: int) -> int:
        return next(at for at in np.flatnonzero(line).tolist() if at != last)

    while True:
        column = other(open_[row], last)
        path.append((row, column))
        if ("column", column) in seen:
            return path[seen["column", column] :]
        seen["column", column] = len(path)
        row, last = other(open_[:, column], row), column
        path.append((row, column))
        if ("row", row) in seen:
            return path[seen["row", row] :]
        seen["row", row] = len(path)


def _measured(
    texts: pl.Series, counts: IntArray, matrices: Sequence[FloatArray], new: IntArray, changed: int
) -> dict[str, Any]:
    """Matrices and frequencies; and how many to one an observed code is the true one."""
    moves = sum(row[:, None] * one for row, one in zip(counts, matrices, strict=True))
    stay = np.diag(moves)
    others = moves.sum(0) - stay
    there = max(int(counts.sum()), 1)
    return {
        "codes": texts.to_list(),
        "before": counts.sum(0).tolist(),
        "after": _tally(np.zeros_like(new), new, 1, len(texts))[0].tolist(),
        "matrices": [one.tolist() for one in matrices],
        "expected_to_stay": float(stay.sum() / there),
        "changed": changed,
        "expectation_ratio": [
            float(one / other) if other > 0 else None
            for one, other in zip(stay, others, strict=True)
        ],
    }


def pram_estimates(
    counts: Sequence[float], matrix: Sequence[Sequence[float]]
) -> tuple[FloatArray, FloatArray]:
    """Frequencies before PRAM, estimated from those after it, and the variances PRAM adds.

    Args:
        counts: Frequencies of the codes in the file.
        matrix: The matrix they were drawn by.

    >>> estimates, variances = pram_estimates([26, 74], [[0.8, 0.2], [0.2, 0.8]])
    >>> estimates.round(6).tolist(), variances.round(4).tolist()
    ([10.0, 90.0], [44.4444, 44.4444])
    """
    after = np.asarray(counts, dtype=np.float64)
    drawn_by = PramMatrix([str(at) for at in range(len(after))], matrix).rows
    rows = np.array(drawn_by, dtype=np.float64)
    if np.linalg.cond(rows) > 1e12:
        raise MicrodataError("the matrix has no inverse", code="pram", where="matrix")
    back = np.asarray(np.linalg.inv(rows.T), dtype=np.float64)
    before = np.asarray(back @ after, dtype=np.float64)
    spread = np.diag(rows.T @ before) - rows.T @ (before[:, None] * rows)
    return before, np.diag(back @ spread @ back.T)
