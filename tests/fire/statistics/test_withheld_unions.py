"""Deviations of what is withheld together: a reader subtracts all that is shown from the total.

Of groups whose means are shown he knows what is within them, of the others what they have together.
One who makes up nearly all of that is told by it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet_fire.statistics import SafeLimits, table, tabstat

LIMITS = SafeLimits()
TOTAL = "Total"


def people(seed: int) -> pl.DataFrame:
    """Counties of which one is very small, with incomes that are far from all others."""
    draw = np.random.default_rng(seed)
    county = np.repeat([1, 2, 3, 8, 9], [90, 75, 98, 40, int(draw.integers(1, 4))])
    inc = draw.normal(1000, 30, county.size).round(2)
    inc[:30] += 9_000
    inc[90:120] -= 500
    inc[county == 9] += draw.choice([0, 200, 8_000], size=int((county == 9).sum()))
    return pl.DataFrame({"cty": county, "sex": draw.integers(1, 3, county.size), "inc": inc})


def lines(names: list[str], frame: pl.DataFrame) -> Iterator[list[dict[str, Any]]]:
    """Cells that add up along one variable, the total last."""
    for along in names:
        others = [name for name in names if name != along]
        groups = frame.partition_by(others, maintain_order=True) if others else [frame]
        for own in groups:
            rows = own.rows(named=True)
            yield [row for row in rows if row[along] != TOTAL] + [
                row for row in rows if row[along] == TOTAL
            ]


def told(names: list[str], line: list[dict[str, Any]], data: pl.DataFrame) -> float:
    """The largest share that one person has in what follows from a line by subtraction."""
    *parts, total = line
    unseen = [row for row in parts if row["sd"] is None]
    if total["sd"] is None or not unseen:
        return 0.0
    values, together = [], []
    for row in unseen:
        inside = data
        for name in names:
            inside = (
                inside
                if row[name] == TOTAL
                else inside.filter(pl.col(name).cast(pl.String) == row[name])
            )
        own = inside["inc"].to_numpy()
        if row["mean"] is None:
            together.append(own)
        elif len(own):
            values.append(own)
    whole = np.concatenate([np.zeros(0), *together])
    values += [whole] if len(whole) else []
    squares = sum(float(((own - own.mean()) ** 2).sum()) for own in values)
    return max(
        (
            1 / len(own) + float(((own - own.mean()) ** 2).max()) / squares
            for own in values
            if squares > 0
        ),
        default=0.0,
    )


def shown(by: list[str], data: pl.DataFrame) -> pl.DataFrame:
    if len(by) == 1:
        result = tabstat(data, "inc", by=by[0], statistics="n mean sd", limits=LIMITS)
    else:
        result = table(data, by, "inc", statistics="n mean sd", limits=LIMITS)
    assert result.frame is not None
    names = {name: name.split()[0] for name in result.frame.columns if name.endswith(" inc")}
    return result.frame.rename(names)


@pytest.mark.parametrize("by", [["cty"], ["cty", "sex"]])
def test_nobody_is_told_by_the_deviation_of_all_that_is_withheld(by: list[str]) -> None:
    hidden = 0
    for seed in range(25):
        data = people(seed)
        frame = shown(by, data)
        hidden += frame["sd"].null_count()
        for line in lines(by, frame):
            share = told(by, line, data)
            assert share <= LIMITS.leverage, (seed, share, line)
    assert hidden > 20
