"""Random records with groups and consent, as the command hides them, against an LP reader."""

from __future__ import annotations

import highspy
import numpy as np
import polars as pl
import pytest

from discreet.release.record_tables import RecordTable, rules_from

Cell = tuple[str, str]
SHARE, FEWEST = 0.15, 3


def records(seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    size = int(draw.integers(40, 160))
    return pl.DataFrame(
        {
            "r": draw.choice([*"abcd"], size).tolist(),
            "b": draw.choice([*"uvwxy"], size, p=[0.4, 0.3, 0.15, 0.1, 0.05]).tolist(),
            "t": np.ceil(draw.lognormal(5, 1.4, size)).astype(int),
            "g": [f"g{at}" for at in draw.integers(0, size // 3, size)],
            "c": [["yes", "no", None][at] for at in draw.integers(0, 3, size)],
        }
    )


def needs(rows: list[dict[str, object]], refused: set[object]) -> list[float]:
    """How far the sum of a cell must stay open, by firms and by groups; below 0: not at all."""
    firms = [(float(str(row["t"])), row["c"] != "yes") for row in rows]
    sums: dict[object, float] = {}
    for row in rows:
        sums[row["g"]] = sums.get(row["g"], 0) + float(str(row["t"]))
    found = []
    for units in (firms, [(value, group in refused) for group, value in sums.items()]):
        total, need = sum(value for value, _ in units), -1.0
        for at, (value, protected) in enumerate(units):
            if protected:
                others = [each for number, (each, _) in enumerate(units) if number != at]
                need = max(need, SHARE * value - (total - value - max(others, default=0.0)))
                need = max(need, 0.0 if len(units) < FEWEST else -1.0)
        found.append(need)
    return found


def highest(cells: dict[Cell, float], gone: set[Cell], target: Cell) -> float:
    """The largest value that a reader of the sums finds for a hidden cell."""
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    names = list(cells)
    for name, value in cells.items():
        solver.addVar(0 if name in gone else value, highspy.kHighsInf if name in gone else value)
    for side in (0, 1):
        for line in {name[1 - side] for name in names}:
            own = [name for name in names if name[1 - side] == line]
            columns = [names.index(name) for name in own]
            factors = [-1.0 if name[side] == "Total" else 1.0 for name in own]
            solver.addRow(0, 0, len(own), columns, factors)
    solver.changeColCost(names.index(target), -1.0)
    solver.run()
    optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return -float(solver.getInfo().objective_function_value) if optimal else np.inf


def attacked(seed: int) -> int:
    """Attack one table; how many cells had to be protected."""
    frame = records(seed)
    rules = rules_from([f"p={100 * SHARE:g}", f"n={FEWEST}"], waivers="c == 'yes'")
    asked = RecordTable(records=frame, by=["r", "b"], values=["t"], rules=rules, holding="g")
    found = asked.judged()
    safe = asked.suppressed(found, method="fast").tables[0].to_polars()
    true = found[0].to_polars()
    cells = dict(zip(zip(true["r"], true["b"], strict=True), true["t"].to_list(), strict=True))
    shown = safe.filter(pl.col("value").is_not_null())
    codes = [shown[name].cast(pl.String).to_list() for name in ("r", "b")]
    gone = set(cells) - set(zip(*codes, strict=True))
    refused = {row["g"] for row in frame.to_dicts() if row["c"] != "yes"}
    number = 0
    for cell, value in cells.items():
        inside = [
            row
            for row in frame.to_dicts()
            if cell[0] in ("Total", row["r"]) and cell[1] in ("Total", row["b"])
        ]
        need = max(needs(inside, refused))
        if need >= 0:
            number += 1
            assert cell in gone, (seed, cell)
            assert highest(cells, gone, cell) >= value + need - 1e-6, (seed, cell)
    return number


def test_nobody_without_consent_is_opened() -> None:
    assert sum(attacked(seed) for seed in range(4)) > 20


@pytest.mark.exhaustive
def test_nobody_without_consent_is_opened_in_many_tables() -> None:
    assert sum(attacked(seed) for seed in range(4, 44)) > 100
