"""Post-randomisation (PRAM): codes of records are drawn anew by a transition matrix.

In: records, CONFIDENTIAL, and for each variable (or set of variables) a matrix, or what an
invariant one is to be like. Out: `ChangedRecords`, and estimates for users of the file.
Definitions and formulas: docs/methods/pram.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.compiled import compiled
from discreet.confidential import without_values
from discreet.errors import MicrodataError, Problem, raise_all
from discreet.keygrid import KeyGrid
from discreet.microdata import KeyFunction, Secret, check_identifiers, name_list
from discreet.pretabular.changed_records import (
    DRAWS,
    ChangedRecords,
    HeldRecords,
    check_codes,
    coded,
    done,
    draws,
    places,
)

_NEAR = 1e-9
#: Records that are looked at together for the first one of each code.
_AT_ONCE = 1 << 16
#: In lines of so few probabilities looking at each is quicker than halving.
_SHORT = 32
_MOST_CODES = 4_096


@dataclass(frozen=True, repr=False)
class Invariant:
    """A transition matrix that keeps expected frequencies, made from those of the records.

    Args:
        stay: Share that stays in the first of its two steps, for all codes or for each.
        alpha: Weight of the invariant matrix; the rest is no change at all.
        band: A code changes into codes at most so many places away, in their order.
        blocks: Sets of codes; a code changes within its own only.

    >>> Invariant(stay=0.8).matrix(np.array([90, 10]), ["a", "b"]).round(5).tolist()
    [[0.91684, 0.08316], [0.74844, 0.25156]]
    """

    stay: float | Mapping[str, float] = 0.8
    alpha: float = 1.0
    band: int | None = None
    blocks: Sequence[Sequence[str]] = ()

    def __post_init__(self) -> None:
        shares = [
            self.alpha,
            *(self.stay.values() if isinstance(self.stay, Mapping) else [self.stay]),
        ]
        if not all(0 <= share <= 1 for share in [*shares, self.alpha]):
            raise MicrodataError("shares lie between 0 and 1", code="pram", where="stay, alpha")
        if self.band is not None and self.band < 1:
            raise MicrodataError("a band is 1 or wider", code="pram", where="band")

    def __repr__(self) -> str:
        return "<Invariant>"  # parameters stay out of logs

    def first_step(self, codes: Sequence[str]) -> FloatArray:
        """The matrix P of the first step."""
        size = len(codes)
        place = np.arange(size)
        near = np.ones((size, size), dtype=bool)
        if self.band is not None:
            near = np.abs(place[:, None] - place) <= self.band
        if self.blocks:
            block = {str(code): at for at, codes_in in enumerate(self.blocks) for code in codes_in}
            of = np.array([block.get(code, -1 - at) for at, code in enumerate(codes)])
            near &= of[:, None] == of
        others = near.sum(1) - 1
        if isinstance(self.stay, Mapping):
            stay = np.array([self.stay.get(code, np.nan) for code in codes])
            if np.isnan(stay).any():
                raise MicrodataError(
                    "a share that stays is missing for some codes", code="pram", where="stay"
                )
        else:
            stay = np.full(size, float(self.stay))
        stay[others == 0] = 1
        matrix: FloatArray = near * ((1 - stay) / np.maximum(others, 1))[:, None]
        matrix[place, place] = stay
        return matrix

    def matrix(self, counts: IntArray, codes: Sequence[str]) -> FloatArray:
        """R* = alpha P Q + (1 - alpha) I for these frequencies."""
        first = self.first_step(codes)
        whole: FloatArray = self.alpha * (first @ second_step(first, counts))
        whole[np.diag_indices(len(codes))] += 1 - self.alpha
        return whole


@dataclass(frozen=True, repr=False)
class PramMatrix:
    """A transition matrix that is given: a row for each old code, a column for each new one.

    Args:
        codes: The codes; of several variables together, with "/" between.
        rows: Probabilities. A row's sum is 1, up to rounding in its last digits.
        normalise: Whether rows are divided by their sum.

    >>> PramMatrix(["a", "b"], [[0.9, 0.1], [0.2, 0.8]]).matrix(None, ["a", "b"]).tolist()
    [[0.9, 0.1], [0.2, 0.8]]
    """

    codes: Sequence[str]
    rows: Sequence[Sequence[float]]
    normalise: bool = False

    def __post_init__(self) -> None:
        rows = np.array([*self.rows], dtype=np.float64)
        size = len(self.codes)
        wrong = ""
        if rows.shape != (size, size) or len({str(code) for code in self.codes}) != size:
            wrong = "a matrix has a row and a column for each of its different codes"
        elif not np.isfinite(rows).all() or (rows < 0).any() or (rows.sum(1) <= 0).any():
            wrong = "probabilities are not negative, and not all zero"
        elif not self.normalise and (np.abs(rows.sum(1) - 1) > _NEAR).any():
            wrong = "the sums of some rows are not 1"
        if wrong:
            hint = "normalise=True divides rows by their sums" if wrong.endswith("1") else ""
            raise MicrodataError(wrong, code="pram", where="matrix", hint=hint)

    def __repr__(self) -> str:
        return f"<PramMatrix of {len(self.codes):,} codes>"

    def matrix(self, counts: IntArray | None, codes: Sequence[str]) -> FloatArray:
        """The matrix for the codes that occur."""
        del counts
        rows = np.array(self.rows, dtype=np.float64)
        rows /= rows.sum(1, keepdims=True)
        known = {str(code): at for at, code in enumerate(self.codes)}
        if any(code not in known for code in codes):
            raise MicrodataError("codes of the records have no row", code="pram", where="matrix")
        at = np.array([known[code] for code in codes], dtype=np.int64)
        chosen: FloatArray = rows[np.ix_(at, at)]
        if (np.abs(chosen.sum(1) - 1) > _NEAR).any():
            raise MicrodataError(
                "the matrix leads to codes that no record has", code="pram", where="matrix",
                hint="leave them out of the matrix",
            )  # fmt: skip
        return chosen


def second_step(first: FloatArray, counts: IntArray) -> FloatArray:
    """Q of R = P Q: the way back from a new code to an old one, by Bayes; R keeps `counts`."""
    joint = first * np.asarray(counts, dtype=np.float64)[:, None]
    reached = joint.sum(0)
    back: FloatArray = joint.T / np.where(reached > 0, reached, 1.0)[:, None]
    never = np.flatnonzero(reached == 0)
    back[never, never] = 1
    return back


@without_values
def pram(
    source: Any,
    variables: Mapping[str | tuple[str, ...], Invariant | PramMatrix],
    *,
    id: str | Sequence[str],  # noqa: A002 - the word users know
    secret: Secret | bytes | str | Path,
    strata: str | Sequence[str] = (),
    exact: bool = False,
    **reading: Any,
) -> ChangedRecords:
    """Draw codes of records anew by transition matrices; missing values stay missing.

    Args:
        source: Records: polars, pandas, pyarrow, DuckDB, or a path.
        variables: The matrix of each variable. Several variables together, as a tuple, change
            into combinations that occur, so that every rule which held before holds after.
        id: Column, or columns, that identify a record.
        secret: What makes the draws unpredictable.
        strata: Variables; codes change within a stratum, invariant matrices are made for each.
        exact: Whether invariant matrices keep frequencies exactly instead of on average.
        reading: How a file is to be read, as `discreet.read_microdata` takes it.

    >>> people = pl.DataFrame({"id": range(100), "sex": ["m", "f"] * 50})
    >>> kept = pram(people, {"sex": Invariant(stay=0.7)}, id="id", exact=True,
    ...             secret="a long and secret sentence")
    >>> kept.records["sex"].value_counts().sort("sex").rows()
    [('f', 50), ('m', 50)]
    """
    held, records = Secret.of(secret), HeldRecords(source, reading)
    ids, layers = name_list(id, "id"), name_list(strata, "strata") if strata else []
    sets = [(name,) if isinstance(name, str) else tuple(name) for name in variables]
    _check(sets, ids, layers, variables.values(), exact=exact)
    check_codes(records, [name for names in sets for name in names])
    check_identifiers(records.frame, ids)
    numbers = records.columns(ids)
    stratum = _strata(records, layers)
    taken: dict[str, IntArray] = {}
    log, measures = [], {}
    for names, method in zip(sets, variables.values(), strict=True):
        name = "/".join(names)
        purpose = f"pram {name}"
        drawn = draws(numbers, held, purpose)
        old, codes = coded(records.columns(names))
        texts = codes.select(pl.concat_str(pl.all().cast(pl.String), separator="/")).to_series()
        frequencies = _counts(old, stratum, len(texts))
        matrices = _matrices(method, frequencies, texts.to_list())
        choose = KeyFunction(held.derive(f"{purpose}; rounding"), KeyGrid(DRAWS))
        if exact:
            new = _exact(old, stratum, drawn, matrices, frequencies, choose)
        else:
            new = drawn_codes(old, stratum, drawn, matrices)
        taken |= dict.fromkeys(names, _rows_with(old, new, len(texts)))
        log.append(_changes(numbers, name, texts, old, new))
        measures[name] = _measured(texts, frequencies, matrices, new, log[-1].height)
    settings = [[*names, asdict(one)] for names, one in zip(sets, variables.values(), strict=True)]
    return done(
        "pram", records.with_taken(taken), pl.concat(log), held, measures=measures,
        parameters={"variables": settings, "strata": layers, "exact": exact},
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


def _check(
    sets: Sequence[tuple[str, ...]], ids: Sequence[str], layers: Sequence[str],
    methods: Any, *, exact: bool,
) -> None:  # fmt: skip
    named = [name for names in sets for name in names]
    problems = []
    if not named or len(set(named)) != len(named):
        problems.append(Problem("name one or more variables, each once", "variables"))
    if set(named) & {*ids, *layers}:
        problems.append(Problem("what changes is neither identifier nor stratum", "variables"))
    if any(not isinstance(one, Invariant | PramMatrix) for one in methods):
        problems.append(Problem("a variable has an Invariant or a PramMatrix", "variables"))
    elif exact and not all(isinstance(one, Invariant) for one in methods):
        problems.append(Problem("only invariant matrices can keep frequencies", "exact"))
    raise_all(MicrodataError, problems, code="pram")


def _strata(records: HeldRecords, layers: Sequence[str]) -> IntArray:
    """Each record's stratum; what is missing is a stratum of its own."""
    if not layers:
        return np.zeros(len(records.frame), dtype=np.int64)
    check_codes(records, layers)
    return places(records.columns(layers))


def _counts(old: IntArray, stratum: IntArray, size: int) -> IntArray:
    if size > _MOST_CODES:
        raise MicrodataError(
            f"{size:,} codes are too many for a matrix", code="pram", where="variables",
            hint="take fewer variables together, or recode them",
        )  # fmt: skip
    counts: IntArray = _tally(stratum, old, int(stratum.max(initial=0)) + 1, size)
    return counts


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
            matrix[np.ix_(there, there)] = method.matrix(
                row[there], [codes[int(at)] for at in there]
            )
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
    while True:
        column = _other(open_[row], last)
        path.append((row, column))
        if ("column", column) in seen:
            return path[seen["column", column] :]
        seen["column", column] = len(path)
        row, last = _other(open_[:, column], row), column
        path.append((row, column))
        if ("row", row) in seen:
            return path[seen["row", row] :]
        seen["row", row] = len(path)


def _other(line: BoolArray, last: int) -> int:
    places = np.flatnonzero(line)
    return int(places[places != last][0])


def _changes(
    ids: pl.DataFrame, variable: str, texts: pl.Series, old: IntArray, new: IntArray
) -> pl.DataFrame:
    rows = np.flatnonzero(old != new)
    return ids[rows].with_columns(
        pl.lit(variable).alias("variable"),
        texts.gather(old[rows]).alias("before"),
        texts.gather(new[rows]).alias("after"),
    )


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
