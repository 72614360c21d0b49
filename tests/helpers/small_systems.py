"""Small systems of cells drawn at random, and what an attacker written apart works out of them.

In: a kind and a seed. Out: a problem with bounds, levels and relations of every kind, some cells
of it hidden; between which values each hidden cell lies; the cheapest safe pattern by trying all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from discreet.disclosure import Relations
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from tests.helpers.attacker_apart import Attacker, Demand

KINDS = ("flat", "cube", "linked", "odd")
Rows = list[list[tuple[int, int]]]


def sums_of_table(shape: tuple[int, ...]) -> Rows:
    """The relations of a table: code 0 of each variable is the total of the others."""
    number = np.arange(int(np.prod(shape))).reshape(shape)
    lines = [
        line
        for axis, size in enumerate(shape)
        for line in np.moveaxis(number, axis, -1).reshape(-1, size).tolist()
    ]
    return [[(line[0], -1), *((cell, 1) for cell in line[1:])] for line in lines]


def table_of(inner: np.ndarray) -> np.ndarray:
    """Inner cells with their totals in front."""
    for axis in range(inner.ndim):
        inner = np.concatenate([inner.sum(axis=axis, keepdims=True), inner], axis=axis)
    return inner


def values_of(kind: str, draw: np.random.Generator) -> tuple[np.ndarray, Rows]:
    """Values of cells and the relations among them."""
    if kind == "odd":
        rows = []
        for _ in range(int(draw.integers(2, 5))):
            cells = draw.choice(8, int(draw.integers(2, 5)), replace=False)
            rows.append([(int(cell), int(draw.choice([-3, -2, -1, 1, 2, 3]))) for cell in cells])
        return draw.integers(1, 30, 8), rows
    sizes = (2, 2, 2) if kind == "cube" else tuple(draw.integers(2, 4, 2))
    value = table_of(draw.integers(-9 if kind == "linked" else 1, 30, sizes))
    rows, value = sums_of_table(value.shape), value.ravel()
    if kind == "linked":  # a cell of another table: the sum of two inner cells
        some = draw.choice(value.size, 2, replace=False)
        rows.append([(value.size, -1), *((int(cell), 1) for cell in some)])
        value = np.append(value, value[some].sum())
    return value, rows


def drawn_system(kind: str, seed: int) -> tuple[SuppressionProblem, np.ndarray]:
    """A problem, and the cells hidden in it; the same seed gives the same."""
    draw = np.random.default_rng([seed, KINDS.index(kind)])
    value, rows = values_of(kind, draw)
    size = value.size
    hidden = draw.random(size) < draw.choice([0.4, 0.7, 0.9])
    primary = hidden & (draw.random(size) < 0.5)
    primary[draw.integers(size)] |= seed % 3 == 0  # perhaps one that is shown
    lower, upper, more = draw.integers(0, 6, (3, size)) * primary * (draw.random((3, size)) < 0.6)
    below, above = draw.choice([0, 3, 10, 40], (2, size), p=[0.1, 0.3, 0.3, 0.3])
    problem = problem_of(
        value,
        rows,
        state=np.where(primary, CellState.primary, CellState.free),
        cost=draw.integers(0, 9, size),
        low=value - np.maximum(below, lower * (draw.random(size) < 0.8)),
        high=value + np.maximum(above, upper * (draw.random(size) < 0.8)),
        lower=lower,
        upper=upper,
        sliding=np.where(more > 0, lower + upper + more, 0),
    )
    return problem, hidden


def problem_of(value: np.ndarray, rows: Rows, **columns: Any) -> SuppressionProblem:
    """A problem with levels of 0, bounds from 0 to twice the value, and costs of 1 unless given."""
    none = np.zeros(value.size, dtype=np.int64)
    links = Relations.of(value.size, rows)
    given = {"lower": none, "upper": none, "sliding": none, "low": none, "high": 2 * value}
    filled = given | {"cost": none + 1, "state": none} | columns
    state = np.asarray(filled.pop("state"), dtype=np.int8)
    numbers = {name: np.asarray(column, dtype=np.int64) for name, column in filled.items()}
    right = links.residuals(value)
    return SuppressionProblem(
        value=value, state=state, relations=Relations.of(value.size, rows, right), **numbers
    )


def square(**changed: Any) -> SuppressionProblem:
    """Four inner cells and their totals; the first inner cell is sensitive."""
    value, first = np.array([40, 20, 20, 20, 10, 10, 20, 10, 10]), np.arange(9) == 4
    levels = {"state": CellState.primary * first, "lower": 5 * first, "upper": 5 * first}
    problem = problem_of(value, sums_of_table((3, 3)), cost=value, high=np.full(9, 100), **levels)
    return replace(problem, **({"title": "square"} | changed))


def exactly_known(relations: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """Which hidden cells follow from all others, by ranks; relations as rows of coefficients."""
    matrix, units = relations[:, hidden].astype(float), np.eye(int(hidden.sum()))
    rank = np.linalg.matrix_rank(matrix) if matrix.size else 0
    known = hidden.copy()
    known[hidden] = [np.linalg.matrix_rank(np.vstack([matrix, unit])) == rank for unit in units]
    return known


# -- the attacker -------------------------------------------------------------------


def reader_of(problem: SuppressionProblem, hidden: np.ndarray, *, whole: bool = False) -> Attacker:
    """Who knows all cells but the hidden ones, and the bounds of these."""
    links = problem.relations
    entries = list(zip(links.cell.tolist(), links.coef.tolist(), strict=True))
    ends = zip(links.start[:-1], links.start[1:], links.rhs, strict=True)
    return Attacker(
        shown=dict(enumerate(problem.value.astype(float).tolist())),
        blanks={int(c): (problem.low[c], problem.high[c]) for c in np.flatnonzero(hidden)},
        sums=[(dict(entries[first:last]), float(rest)) for first, last, rest in ends],
        whole=whole,
    )  # fmt: skip


def demand_of(problem: SuppressionProblem, cell: int) -> Demand:
    """What must stay possible for a cell."""
    columns = (problem.value, problem.lower, problem.upper, problem.sliding)
    return Demand(*(float(column[cell]) for column in columns))


def intervals(
    problem: SuppressionProblem, hidden: np.ndarray, *, whole: bool = False
) -> dict[int, tuple[float, float]]:
    """Between which values each hidden cell lies."""
    reader = reader_of(problem, hidden, whole=whole)
    return {cell: attack(reader, cell) for cell in np.flatnonzero(hidden).tolist()}


def attack(reader: Attacker, cell: int) -> tuple[float, float]:
    """Between which values one blank lies."""
    return reader.farthest({cell: 1}, -1), reader.farthest({cell: 1}, 1)


def is_safe(problem: SuppressionProblem, hidden: np.ndarray, *, whole: bool = False) -> bool:
    """Whether every sensitive cell is hidden and protected."""
    if not hidden[problem.primary].all():
        return False
    reader = reader_of(problem, hidden, whole=whole)
    cells = problem.primary.tolist()
    return all(demand_of(problem, cell).met_by(*attack(reader, cell)) for cell in cells)


def cheapest(
    problem: SuppressionProblem, *, whole: bool = False, insiders: Iterable[Iterable[int]] = ()
) -> int | None:
    """The cost of the cheapest safe pattern, by trying all; None if there is none.

    Nor does any of the insiders, by the cells that each knows, compute a sensitive cell of others.
    """
    known = [list(own) for own in insiders]
    free = np.flatnonzero(problem.state == CellState.free).tolist()
    patterns = [p for number in range(len(free) + 1) for p in combinations(free, number)]
    for pattern in sorted(patterns, key=lambda cells: int(problem.cost[list(cells)].sum())):
        hidden = problem.hidden
        hidden[list(pattern)] = True
        if is_safe(problem, hidden, whole=whole) and all(
            is_kept_from(problem, hidden, own) for own in known
        ):
            return problem.cost_of(hidden)
    return None


def is_kept_from(problem: SuppressionProblem, hidden: np.ndarray, own: Iterable[int]) -> bool:
    """Whether one who knows some cells computes no sensitive cell of others."""
    rest = hidden.copy()
    rest[list(own)] = False
    reader, his = reader_of(problem, rest), {*own} | his_alone(problem, own)
    others = [cell for cell in problem.primary.tolist() if cell not in his]
    return all(high - low > 0.99 for low, high in (attack(reader, cell) for cell in others))


def his_alone(problem: SuppressionProblem, cells: Iterable[int]) -> set[int]:
    """Totals to which nobody contributes but him who stands alone behind all of their parts."""
    own = set(cells)
    for _ in problem.value:  # sums of sums are found in as many rounds at most
        for row in problem.relations.dense():
            total = np.flatnonzero(row == -1).tolist()
            if len(total) == 1 and np.isin(row, (-1, 0, 1)).all():
                own |= set(total) if set(np.flatnonzero(row == 1).tolist()) <= own else set()
    return own - set(cells) if (problem.value >= 0).all() else set()


def in_one_block(problem: SuppressionProblem, hidden: np.ndarray, cells: Iterable[int]) -> bool:
    """Whether hidden cells hang together, by relations with other hidden cells between them."""
    links = problem.relations.dense()[:, hidden] != 0
    number = {cell: at for at, cell in enumerate(np.flatnonzero(hidden).tolist())}
    reached = np.zeros(links.shape[1], dtype=bool)
    wanted = [number[cell] for cell in cells]
    reached[wanted[0]] = True
    for _ in range(links.shape[1]):
        reached |= links[links[:, reached].any(axis=1)].any(axis=0)
    return bool(reached[wanted].all())
