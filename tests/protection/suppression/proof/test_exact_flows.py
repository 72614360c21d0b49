"""Verdicts on two-way tables beside flows in whole numbers: exact, at any size of values."""

from collections import deque
from typing import Any

import numpy as np
import pytest

from discreet.disclosure import UNBOUNDED, Relations
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.certificate import certify

Node = tuple[str, int]


def largest_flow(room: dict[Node, dict[Node, int]], source: Node, sink: Node) -> int:
    """The largest flow between two nodes, by shortest ways; uses up `room`."""
    flow = 0
    while True:
        came: dict[Node, Node | None] = {source: None}
        todo = deque([source])
        while todo and sink not in came:
            node = todo.popleft()
            for other, left in room[node].items():
                if left > 0 and other not in came:
                    came[other] = node
                    todo.append(other)
        if sink not in came:
            return flow
        way, node = [], sink
        while (before := came[node]) is not None:
            way.append((before, node))
            node = before
        most = min(room[one][other] for one, other in way)
        for one, other in way:
            room[one][other] -= most
            room[other][one] = room[other].get(one, 0) + most
        flow += most


def farthest(problem: SuppressionProblem, hidden: np.ndarray, columns: int, cell: int) -> Any:
    """How far a cell moves down and up: what the other cells can carry from its row to its column.

    A cell that rises carries from its row to its column, and back when it falls.
    """
    up, down = problem.high - problem.value, problem.value - problem.low
    row, column = ("row", cell // columns), ("column", cell % columns)
    found = []
    for own, ends in ((down, (row, column)), (up, (column, row))):
        room: dict[Node, dict[Node, int]] = {}
        for at in range(len(problem)):
            ways = (("row", at // columns), ("column", at % columns))
            carried = (int(up[at]), int(down[at])) if hidden[at] and at != cell else (0, 0)
            room.setdefault(ways[0], {})[ways[1]] = carried[0]
            room.setdefault(ways[1], {})[ways[0]] = carried[1]
        found.append(min(int(own[cell]), largest_flow(room, *ends)))
    return found


def drawn(seed: int, digits: int, *, endless: bool) -> tuple[SuppressionProblem, np.ndarray, int]:
    """The inner cells of a table whose totals are shown."""
    draw = np.random.default_rng(seed)
    rows, columns = draw.integers(3, 6, 2)
    size = int(rows * columns)
    value = np.floor(10 ** draw.uniform(0, digits, size)).astype(np.int64)
    index = np.arange(size).reshape(rows, columns)
    sums = [[(int(cell), 1) for cell in line] for line in (*index, *index.T)]
    hidden = draw.random(size) < 0.6
    level = np.where(draw.random(size) < 0.5, np.ceil(value * draw.random(size)), 0)
    level = level.astype(np.int64)
    wide = draw.random(size) < (0.4 if endless else 0.0)
    marked = hidden & (level > 0)
    kinds = np.where(hidden, CellState.secondary, CellState.fixed)
    level = np.where(marked, level, 0)
    problem = SuppressionProblem(
        value=value, cost=value, state=np.where(marked, CellState.primary, kinds).astype(np.int8),
        low=np.where(wide, -UNBOUNDED, 0), high=np.where(wide, UNBOUNDED, 2 * value),
        lower=level, upper=level, sliding=np.zeros(size, dtype=np.int64),
        relations=Relations.of(size, sums),
    )  # fmt: skip
    return problem, hidden, int(columns)


@pytest.mark.parametrize(("digits", "endless"), [(2, True), (3, True), (6, False), (14, False)])
@pytest.mark.parametrize("number", [8, pytest.param(40, marks=pytest.mark.exhaustive)])
def test_verdicts_are_those_of_flows(number: int, digits: int, endless: bool) -> None:
    judged = safe = 0
    for seed in range(number):
        problem, hidden, columns = drawn(seed, digits, endless=endless)
        found = certify(problem, hidden)
        for cell, protected in zip(found.cells.tolist(), found.protected, strict=True):
            down, up = farthest(problem, hidden, columns, cell)
            assert protected == (down >= problem.lower[cell] and up >= problem.upper[cell])
            judged += 1
            safe += bool(protected)
    assert 0 < safe < judged
