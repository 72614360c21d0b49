"""What noise by unit costs and leaves open, balanced or not: python bench/unit_noise.py."""

import time

import numpy as np
import polars as pl

import discreet as dc
from discreet.protection.noise import UnitNoise, unit_risk
from discreet.protection.noise.unit_factors import noisy, with_unit_noise

SECRET = "the secret of a benchmark, known to all"
SIZES = ((1, "1"), (2, "2"), (4, "3–4"), (9, "5–9"), (10**9, "10 and more"))


def firms(number: int) -> pl.DataFrame:
    """Made-up firms whose sales are as uneven as those of real ones."""
    rng = np.random.default_rng(1)
    columns = {
        "firm": np.arange(number),
        "district": rng.integers(0, 400, number),
        "branch": (rng.pareto(1, number) * 5).astype(np.int64) % 88,
        "sales": np.rint(rng.lognormal(5, 2, number)) + 1,
    }
    return pl.DataFrame(columns)


def main() -> None:
    """Print accuracy by the number of contributors, then what contributors find."""
    frame = firms(200_000)
    for balance in ((), ("district",)):
        noise = UnitNoise(unit="firm", balance=balance)
        made, _ = with_unit_noise(frame, {"sales": 0}, noise, SECRET)
        both = ["sales", noisy("sales")]
        truth = dc.tabulate(made, ["district", "branch"], values=both)
        off = np.abs(truth.sums[both[1]] / truth.sums["sales"] - 1)
        print(f"balanced by {balance}" if balance else "not balanced")
        start = 0
        for most, label in SIZES:
            own = (truth.count > start) & (truth.count <= most) & (truth.index[1] > 0)
            own &= truth.index[0] > 0
            print(f"  {label} contributors: {own.sum():,} cells, off by {off[own].mean():.1%} "
                  f"on average, {off[own].min():.1%} to {off[own].max():.1%}")  # fmt: skip
            start = most
        for name, part in (
            ("districts", (truth.index[1] == 0) & (truth.index[0] > 0)),
            ("branches", (truth.index[0] == 0) & (truth.index[1] > 0)),
        ):
            print(f"  {name}: {part.sum():,}, off by {off[part].mean():.2%} on average, "
                  f"{(off[part] == 0).mean():.0%} not at all")  # fmt: skip
        found = unit_risk(frame, ["district", "branch"], "sales", noise, secret=SECRET)
        print(f"  {found.described()}")
    for number in (200_000, 2_000_000):
        frame = firms(number)
        for balance in ((), ("district",)):
            begin = time.process_time()
            with_unit_noise(frame, {"sales": 0}, UnitNoise(unit="firm", balance=balance), SECRET)
            print(f"{number:,} records, balance {balance}: {time.process_time() - begin:.1f} s")


if __name__ == "__main__":
    main()
