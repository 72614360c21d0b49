"""Controlled tabular adjustment: cost beside its bound, processor seconds, what the audit finds.

    PYTHONPATH=src python bench/adjustment.py

Tables of made-up firms under the p% rule: two and three variables, and two linked tables.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.errors import AdjustmentError
from discreet.protection.adjustment import Adjustment, AdjustmentSettings

#: Name, spanning variables of each table, codes of each variable, firms.
TABLES: tuple[tuple[str, tuple[str, ...], tuple[int, ...], int], ...] = (
    ("small", ("ab",), (8, 7), 300),
    ("two variables", ("ab",), (25, 30), 3_000),
    ("large", ("ab",), (60, 80), 20_000),
    ("three variables", ("abc",), (9, 8, 4), 1_500),
    ("linked", ("ab", "ac"), (15, 12, 6), 2_000),
)


def main() -> None:
    """Print a table."""
    print("| tables | cells | sensitive | cost | above the bound | optimal | CPU s | audit |")
    print("|---|---:|---:|---:|---:|---|---:|---|")
    for name, spans, sizes, number in TABLES:
        draw = np.random.default_rng(2026)
        columns: dict[str, Any] = {
            letter: draw.integers(0, size, number)
            for letter, size in zip("abc", sizes, strict=False)
        }
        firms = pl.DataFrame({**columns, "sales": (draw.pareto(1.2, number) * 100).astype(int) + 1})
        pairs = []
        for span in spans:
            table = dc.tabulate(firms, list(span), values=["sales"], contributions=2)
            pairs.append((table, dc.primary(table, [dc.rules.PPercent(10)], value="sales")))
        begun = time.process_time()
        try:
            done = Adjustment.of(pairs, AdjustmentSettings(), secret="an example, no secret")
        except AdjustmentError as error:
            print(f"| {name} | | | refused: {error.what} |")
            continue
        spent, moves = time.process_time() - begun, done.moves
        print(
            f"| {name} | {len(done.problem):,} | {len(done.problem.primary):,} | {moves.cost:.3g} "
            f"| {moves.cost / moves.bound - 1:.1%} | {'yes' if moves.complete else 'not proven'} "
            f"| {spent:.1f} | {done.audit.verdict} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
