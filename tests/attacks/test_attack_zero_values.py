"""Attack: sums of the same values, averaged over the cells they stand in.

A benefit is paid in one village of each district only. Sums of zeros are published as zero,
so the reader knows that the sums of village, district, sexes together and kinds of household
together are of the same values. If each had noise of its own, their mean would be nearer to
the truth.
"""

from __future__ import annotations

import numpy as np
import polars as pl

import discreet as dc

DISTRICTS = 400
NOISE = dc.MagnitudeNoise(
    table=dc.design_magnitude_perturbation(5, 2, classes=(1, 5, 10), step=2),
    strength=dc.SimpleStrength(share=0.1),
)


def persons() -> pl.DataFrame:
    """Four villages of each district, of men and women; women of the first have the benefit."""
    draw, each = np.random.default_rng(17), 16
    number = DISTRICTS * each
    place = np.arange(number)
    village, woman = place // 4 % 4, place % 2 == 1
    paid = np.where((village == 0) & woman, np.round(draw.lognormal(6.5, 0.4, number)), 0)
    return pl.DataFrame(
        {
            "village": [f"{at // each:03d}{part}" for at, part in zip(place, village, strict=True)],
            "sex": np.where(woman, "w", "m"),
            "benefit": paid,
            "record_key": draw.integers(0, 10**15, number),
        }
    )


def draws(noise: dc.MagnitudeNoise) -> tuple[np.ndarray, np.ndarray]:
    """True sums, and what is published of each in four cells."""
    records = persons()
    codes = sorted(set(records["village"].to_list()))
    villages = dc.Classification.from_prefixes("village", codes, lengths=[3, 4])
    table = dc.tabulate(
        records, [villages, "sex"], record_key="record_key", values=["benefit"], contributions=1
    )
    safe = dc.perturb_magnitudes(table, noise, "benefit", p_percent=0)
    true = records.group_by(pl.col("village").str.slice(0, 3)).agg(pl.col("benefit").sum())
    true = true.sort("village")
    shown = np.array(
        [
            [safe.get(f"{at}{part}", sex) for part in ("", "0") for sex in ("w", "Total")]
            for at in true["village"]
        ]
    )
    return true["benefit"].to_numpy(), shown


def test_cells_that_differ_by_zeros_have_one_draw() -> None:
    true, shown = draws(NOISE)
    assert (shown == shown[:, :1]).all()
    assert (shown[:, 0] != true).mean() > 0.8


def test_with_zeros_in_the_key_four_draws_halve_the_noise() -> None:
    true, shown = draws(NOISE.with_options(zeros_in_key=True))
    single, mean = np.std(shown[:, 0] - true), np.std(shown.mean(axis=1) - true)
    assert (np.abs(mean / single - 0.5)) < 0.05
