"""Data of the comparison with acro, in arrays: both environments have numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

NUMBERS = [f"x{i}" for i in range(3)]
DUMMIES = ["d0", "d1"]
#: Cells of the small table that break a rule, and which.
SPECIAL = {
    "a w": "few",
    "b x": "one",
    "c y": "two",
    "d z": "alike",
    "a z": "but one",
}


def records(rows: int) -> dict[str, np.ndarray]:
    """Incomes by region and size, and an outcome that depends on other variables."""
    draw = np.random.default_rng(rows)
    regions = np.array([f"region {at:02d}" for at in range(20)])
    columns: dict[str, Any] = {
        "region": regions[draw.integers(0, 20, rows)],
        "size": draw.integers(0, 20, rows),
        "income": draw.lognormal(8, 1, rows),
    }
    columns |= {name: draw.normal(size=rows) for name in NUMBERS}
    columns |= {name: draw.integers(0, 2, rows) for name in DUMMIES}
    columns["y"] = 10 + columns["x0"] + 0.3 * columns["d0"] + draw.normal(size=rows)
    columns["two"] = (columns["x0"] + draw.logistic(size=rows) > 0).astype(np.int64)
    return columns


def unsafe_table() -> dict[str, np.ndarray]:
    """Some thirty cases in each cell of 4 × 4, but for cells that break a rule."""
    draw = np.random.default_rng(7)
    amounts = {
        f"{row} {column}": draw.lognormal(3, 0.3, 30).tolist()
        for row in "abcd"
        for column in "wxyz"
    }
    amounts["a w"] = [20.0, 25.0, 22.0]  # too few cases
    amounts["b x"][0] = 50_000.0  # one has nearly all
    amounts["c y"][:2] = [20_000.0, 18_000.0]  # two have nearly all
    amounts["d z"] = [25.0] * 30  # all have the same
    amounts["a z"] = [25.0] * 29 + [60.0]  # all but one have the same
    rows = [(*cell.split(), x) for cell, numbers in amounts.items() for x in numbers]
    names = ("row", "column", "x")
    return {name: np.array([row[at] for row in rows]) for at, name in enumerate(names)}


class Verdicts:
    """What is said of each cell."""

    def __init__(self, said: dict[str, str]) -> None:
        self.said = said

    def told(self) -> dict[str, str]:
        """The special cells by their kind, and how many of the others are not simply shown."""
        found = {kind: self.said[cell] for cell, kind in SPECIAL.items()}
        others = sum(said != "ok" for cell, said in self.said.items() if cell not in SPECIAL)
        return {**found, "others": f"{others} not ok"}
