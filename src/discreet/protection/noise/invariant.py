"""Invariant perturbation of counts (Shlomo and Young): how often each value stands stays.

In: a confidential `Table` with cell keys, and a transition matrix for the counts 1, 2, …, L.
Out: a `PerturbationTable` made for the counts of this table or of a fixed programme (SECRET,
and CONFIDENTIAL: it depends on true counts), or the `ProtectedTable` it makes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.arrays import IntArray
from discreet.confidential import without_values
from discreet.errors import DisclosureWarning, PerturbationError, Problem, raise_all
from discreet.protection.noise.counts import perturb
from discreet.protection.noise.sources import stated_probabilities
from discreet.protection.noise.table import PerturbationTable
from discreet.tables import ProtectedTable, Table, note_of

#: What readers are told.
INVARIANT = note_of("discreet.protection.noise", "invariant")

#: What is said where values have none to be exchanged with.
STAYS = (
    "invariance leaves some counts unchanged, because no other value leads to them; combine "
    "the frequencies of more tables"
)

#: Rows are worked out in exact fractions, whose cost grows with the third power.
MOST_VALUES = 100

_Rows = list[list[Fraction]]
_HINT = (
    "forbid only values that do not occur, or use discreet.design_perturbation, which does "
    "not keep frequencies"
)


@without_values
def invariant_table(
    tables: Table | Sequence[Table],
    transition: Any,
    *,
    alpha: float = 1.0,
    forbidden: Iterable[int] = (),
    normalise: bool = False,
) -> PerturbationTable:
    """Make a perturbation table that keeps how often each count stands in tables, as expected.

    With t the frequencies of the values, Q_kj = P_jk t_j / Σ_l P_lk t_l and R = P·Q: t·R = t.
    Counts beyond the last row move within blocks of as many values, by the frequencies of
    their places in these blocks. Its `parameters()` tell the bias of each count ("mean").

    Args:
        tables: The table, or all of a fixed programme: one perturbation table for all of them
            gives the same records the same noise.
        transition: The matrix P, original × published, for the counts 1, 2, …, L.
        alpha: The share of R; the rest stays: R* = αR + (1 − α)I.
        forbidden: Counts up to L that must not be published. None of them may occur.
        normalise: Scale rows that were printed rounded or cut off, so that they sum to one.

    Raises:
        PerturbationError: If the matrix is none, or what is forbidden occurs.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [2, 1, 1], "key": [0.5, 0.7, 0.8]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    >>> ptable = invariant_table(table, [[0.8, 0.2], [0.2, 0.8]])
    >>> ptable.transition_matrix()[1:3, 1:3].round(4)
    array([[0.7778, 0.2222],
           [0.4444, 0.5556]])
    """
    several = [tables] if isinstance(tables, Table) else list(tables)
    _check_tables(several)
    rows = _checked(stated_probabilities(transition, normalise=normalise, first=1))
    length = len(rows)
    share = _share(alpha)
    counts = np.concatenate([table.count for table in several])
    counts = counts[counts > 0] - 1
    small = np.bincount(counts[counts < length], minlength=length)
    large = np.bincount(counts[counts >= length] % length, minlength=length)
    _check_forbidden(rows, small, list(forbidden))
    stated: dict[int, dict[int, Fraction]] = {0: {0: Fraction(1)}}
    stays = False
    for start, frequency in ((1, small), (length + 1, large)):
        for at, row in enumerate(_invariant(rows, frequency.tolist(), share)):
            stated[start + at] = {target - at: part for target, part in enumerate(row) if part}
            stays |= bool(frequency[at]) and row[at] == 1
    if stays:
        warnings.warn(STAYS, DisclosureWarning, stacklevel=3)
    return PerturbationTable.from_rows(stated, name="invariant", beyond=(length + 1, length))


@without_values
def perturb_invariant(
    table: Table,
    transition: Any,
    *,
    programme: Sequence[Table] | None = None,
    alpha: float = 1.0,
    forbidden: Iterable[int] = (),
    normalise: bool = False,
    found_codes: Literal["list", "hide"] = "list",
    titles: Mapping[str, str] | None = None,
    universe: Mapping[str, str] | None = None,
    digests: Mapping[str, str] | None = None,
) -> ProtectedTable:
    """Protect a table of counts so that each value stands in it as often as before, as expected.

    Draws are by cell key: the same records have the same noise in all tables of a programme,
    and not beyond it. Single counts are biased, unlike those of `perturb`.

    Args:
        table: The table, with cell keys and without weights.
        transition: The matrix, as for `invariant_table`, like alpha, forbidden and normalise.
        programme: All tables whose frequencies are kept together; only this one if None.
        alpha: The share of the invariant matrix.
        forbidden: Counts that must not be published; none of them may occur.
        normalise: Scale rows that were printed rounded or cut off.
        found_codes: As for `perturb`, like the rest.
        titles: language → heading.
        universe: language → who is counted.
        digests: name → keyed digest, added to the provenance.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [2, 1, 1], "key": [0.5, 0.7, 0.8]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    >>> perturb_invariant(table, [[0.8, 0.2], [0.2, 0.8]]).get("m")
    1
    """
    several = [table] if programme is None else list(programme)
    if not any(item is table for item in several):
        message = "the programme lacks a perturbation table"
        raise PerturbationError(message, code="invariant", where="programme")
    ptable = invariant_table(
        several, transition, alpha=alpha, forbidden=forbidden, normalise=normalise
    )
    return perturbed_by(
        table, ptable, found_codes=found_codes, titles=titles, universe=universe, digests=digests
    )


def perturbed_by(table: Table, ptable: PerturbationTable, **how: Any) -> ProtectedTable:
    """Protect a table with the invariant table of its programme; `how` as for `perturb`."""
    safe = perturb(table, ptable, **how)
    provenance = replace(safe.provenance, method="invariant perturbation")
    return replace(safe, notes=(*safe.notes, INVARIANT), provenance=provenance)


@dataclass(frozen=True, kw_only=True)
class InvariantRisk:
    """Success of a reader who guesses counts with an own row of the matrix. CONFIDENTIAL.

    Args:
        right: The share of cells whose most likely original, given what is printed, is true.
        chance: The share that is guessed without looking at the table, by the most frequent value.
        printed: The share of cells that are printed as they are.
        each: For each count, the share of its cells that are guessed.
    """

    right: float
    chance: float
    printed: float
    each: tuple[float, ...]


@without_values
def invariant_risk(
    tables: Table | Sequence[Table], transition: Any, *, alpha: float = 1.0, normalise: bool = False
) -> InvariantRisk:
    """Attack invariant perturbation: the reader knows matrix, method and frequencies, but no key.

    After seeing k he takes the original j with the largest R_jk t_j. Rates are expected ones.

    Args:
        tables: As for `invariant_table`, like the rest.
        transition: The matrix.
        alpha: The share of the invariant matrix.
        normalise: Scale rows that were printed rounded or cut off.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [2, 1, 1], "key": [0.5, 0.7, 0.8]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    >>> round(invariant_risk(table, [[0.8, 0.2], [0.2, 0.8]]).right, 4)
    0.7037
    """
    several = [tables] if isinstance(tables, Table) else list(tables)
    ptable = invariant_table(several, transition, alpha=alpha, normalise=normalise)
    length = len(transition)
    count = np.concatenate([table.count for table in several])
    often = np.bincount(count[(count > 0) & (count <= length)], minlength=length + 1)[1:]
    if not often.any():
        message = "no count of these tables has a separate row in the matrix"
        raise PerturbationError(message, code="invariant", where="transition")
    joint = often[:, np.newaxis] * ptable.transition_matrix()[1 : length + 1, 1 : length + 1]
    guess = joint.argmax(axis=0)
    hits = np.zeros(length)
    np.add.at(hits, guess, joint[guess, np.arange(length)])
    return InvariantRisk(
        right=float(hits.sum() / often.sum()),
        chance=float(often.max() / often.sum()),
        printed=float(np.trace(joint) / often.sum()),
        each=tuple(np.divide(hits, often, out=np.zeros(length), where=often > 0).tolist()),
    )


def read_transition(path: str | os.PathLike[str]) -> list[list[str]]:
    """The rows of a transition matrix: a line of text each, numbers with commas between."""
    return transition_rows(Path(path).read_text("utf-8-sig"))


def transition_rows(text: str) -> list[list[str]]:
    r"""The rows of a transition matrix, from the text of its file.

    >>> transition_rows("0.8, 0.2\n0.2, 0.8\n")
    [['0.8', '0.2'], ['0.2', '0.8']]
    """
    return [
        [part.strip() for part in line.split(",")] for line in text.splitlines() if line.strip()
    ]


def check_transition(rows: Any, *, normalise: bool) -> None:
    """Raise unless this is a transition matrix for the counts 1 to L."""
    _checked(stated_probabilities(rows, normalise=normalise, first=1))


def _check_tables(tables: Sequence[Table]) -> None:
    problems = [
        Problem("expected a Table", "tables") for table in tables if not isinstance(table, Table)
    ]
    if not problems:
        hint = "remove the weights: frequencies of estimates are not kept"
        problems = [
            Problem("the table is weighted", table.name, hint)
            for table in tables
            if table.weight is not None
        ]
    if not tables:
        problems = [Problem("give at least one table", "tables")]
    raise_all(PerturbationError, problems, code="invariant", where="tables")


def _checked(rows: _Rows) -> _Rows:
    """The rows of a square matrix of moderate size."""
    if not 2 <= len(rows) <= MOST_VALUES or any(len(row) != len(rows) for row in rows):
        raise PerturbationError(
            f"the matrix must be square, for the counts 1 to L, with 2 to {MOST_VALUES} rows",
            code="invariant",
            where="transition",
            hint="remove the row and column of zero; zeros stay zero",
        )
    return rows


def _share(alpha: float) -> Fraction:
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha <= 1:
        message = "alpha must be above 0 and at most 1"
        raise PerturbationError(message, code="invariant", where="alpha")
    return Fraction(repr(float(alpha)))


def _check_forbidden(rows: _Rows, frequency: IntArray, forbidden: Sequence[Any]) -> None:
    """Raise if a value that occurs must not be published, or never is by the matrix.

    A frequency that is kept and not zero is published: both cannot be had.
    """
    length = len(rows)
    bad = [item for item in forbidden if type(item) is not int or not 1 <= item <= length]
    if bad:
        message = "forbidden counts must be whole numbers from 1 to the last row of the matrix"
        raise PerturbationError(message, code="invariant", where="forbidden")
    kept = "its frequency is not zero and must be kept"
    problems = []
    for value in range(1, length + 1):
        never = not any(row[value - 1] for row in rows)
        if frequency[value - 1] and (never or value in forbidden):
            why = "is forbidden" if value in forbidden else "is never a result of the matrix"
            problems.append(Problem(f"the count {value} {why}, but {kept}", "forbidden", _HINT))
        elif value in forbidden and not never:
            why = "the count is forbidden, but the matrix leads to it"
            problems.append(Problem(why, f"transition, column {value}", "set its probability to 0"))
    many = "{} counts contradict the invariance"
    raise_all(PerturbationError, problems, code="invariance", many=many, where="transition")


def _invariant(rows: _Rows, frequency: Sequence[int], share: Fraction) -> _Rows:
    """R* = αPQ + (1 − α)I, exactly; values that nothing comes from lead back to themselves."""
    values = range(len(rows))
    reached = [sum(rows[m][k] * frequency[m] for m in values) for k in values]
    back = [
        [
            rows[j][k] * frequency[j] / reached[k] if reached[k] else Fraction(int(j == k))
            for j in values
        ]
        for k in values
    ]
    return [
        [
            share * sum(row[k] * back[k][j] for k in values if row[k])
            + (1 - share) * Fraction(int(j == at))
            for j in values
        ]
        for at, row in enumerate(rows)
    ]
