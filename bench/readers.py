"""What it costs that readers of counts know what is printed and the rule: open cells and cost.

    python bench/readers.py [tables per kind] [method]

Each table is suppressed twice: against a reader who takes any hidden count to be 0 or more, and
as the product does it, who knows that it is 1 or more, and less than the number of the rule where
it is sensitive. The reader who looks at both knows all that; he is that of the tests, a linear
program written apart from the library.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.errors import SuppressionError
from discreet.protection.suppression import build_problem, find_pattern
from discreet.protection.suppression.problem.system import SuppressionProblem

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.protection.suppression.test_count_reader import counted, judged, known_exactly

#: Rows, columns, mean count, whether rows have regions above them.
KINDS = {
    "40 x 8, mean 6": (40, 8, 6.0, False),
    "40 x 8, mean 3": (40, 8, 3.0, False),
    "24 x 6 in 8 regions, mean 6": (24, 6, 6.0, True),
    "12 x 5, mean 3": (12, 5, 3.0, False),
}


def careless(problem: SuppressionProblem, n: int) -> SuppressionProblem:
    """The same for readers who know nothing of hidden counts but that they are none below 0."""
    sensitive = problem.primary
    lower, upper = problem.lower.copy(), problem.upper.copy()
    lower[sensitive] = np.maximum(lower[sensitive], 1)
    upper[sensitive] = np.maximum(upper[sensitive], 1)
    high = np.maximum(problem.high, 2 * np.maximum(problem.value, n))
    return replace(problem, low=np.zeros_like(problem.low), high=high, lower=lower, upper=upper)


def printed(table: dc.Table, hidden: Mapping[tuple[str, str], bool]) -> Any:
    """All cells of a table with blanks, as readers see them."""
    frame = table.to_polars()
    rows = frame.select("row", "column").rows()
    count = dict(zip(rows, frame["count"].to_list(), strict=True))
    grid = itertools.product(*(dimension.codes for dimension in table.dimensions))
    cells = [(*at, None if hidden.get(at) else count.get(at, 0)) for at in grid]
    whole = pl.DataFrame(cells, schema=["row", "column", "value"], orient="row")
    return SimpleNamespace(to_polars=lambda complete: whole)


def outcome(table: dc.Table, n: int, method: Any, *, known: bool) -> tuple[int, int, float] | None:
    """Sensitive counts that the reader finds, cost of the secondaries, CPU seconds."""
    problem, members = build_problem([(table, judged(table, n))], zero_cells="fixed")
    began = time.process_time()
    try:
        pattern = find_pattern(problem if known else careless(problem, n), method)
    except SuppressionError:
        return None
    spent = time.process_time() - began
    rows = table.to_polars().select("row", "column").rows()
    mask = members.hidden(pattern.hidden, 0)
    hidden = {
        (str(row), str(column)): bool(at) for (row, column), at in zip(rows, mask, strict=True)
    }
    exact, _ = known_exactly(printed(table, hidden), table, n)
    return exact, problem.cost_of(pattern.hidden), spent


def main() -> None:
    """Print one line per kind of table and number of the rule."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    method = sys.argv[2] if len(sys.argv) > 2 else "fast"
    print("| tables | rule | open before | open now | cost now / before | CPU s now / before |")
    print("|---|---|---|---|---|---|")
    for (kind, (rows, columns, mean, deep)), n in itertools.product(KINDS.items(), (3, 5)):
        draw = np.random.default_rng(5)
        sums, refused = np.zeros((2, 3)), 0
        for _ in range(number):
            table = counted(draw, rows, columns, mean, deep=deep)
            both = [outcome(table, n, method, known=known) for known in (False, True)]
            if None in both:
                refused += 1
                continue
            sums += np.array(both)
        (before, cost, short), (after, dearer, long) = sums.tolist()
        told = f", {refused} refused" if refused else ""
        print(
            f"| {number} {kind}{told} | below {n} | {before:.0f} | {after:.0f} | "
            f"{dearer / max(cost, 1.0):.2f} | {long / number:.2f} / {short / number:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
