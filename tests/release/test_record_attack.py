"""Random records with groups and consent, as the command hides them, against an LP reader."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from discreet.release.record_tables import RecordTable, rules_from
from tests.helpers.attacker_apart import Attacker

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


def reader(cells: dict[Cell, float], gone: set[Cell]) -> Attacker:
    """Who reads the sums over both variables."""
    sums = []
    for side in (0, 1):
        for line in {name[1 - side] for name in cells}:
            of_line = [name for name in cells if name[1 - side] == line]
            sums.append(({name: -1 if name[side] == "Total" else 1 for name in of_line}, 0.0))
    shown = {name: value for name, value in cells.items() if name not in gone}
    return Attacker(shown, dict.fromkeys(gone, (0.0, 1e8)), sums)


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
            assert reader(cells, gone).farthest({cell: 1}, 1) >= value + need - 1e-3, (seed, cell)
    return number


def test_nobody_without_consent_is_opened() -> None:
    assert sum(attacked(seed) for seed in range(4)) > 20


@pytest.mark.exhaustive
def test_nobody_without_consent_is_opened_in_many_tables() -> None:
    assert sum(attacked(seed) for seed in range(4, 14)) > 25
