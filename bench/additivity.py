"""What additivity afterwards costs, in time and accuracy: python bench/additivity.py."""

import time

import numpy as np
import polars as pl

import discreet as dc
from discreet.protection.rounding import AdditivityCost

#: Number of codes of each variable, in groups of ten, and of records.
CASES = (((300, 250), 300_000), ((60, 40, 30), 200_000))

OFFICIAL = "v1 == 'Total' and v2 == 'Total'"


def census(sizes: tuple[int, ...], records: int) -> dc.Table:
    """A made-up census whose variables have two levels."""
    rng = np.random.default_rng(1)
    trees, columns = [], {"record_key": rng.integers(0, 10**15, records)}
    for at, size in enumerate(sizes):
        codes = [f"{code // 10:02}.{code % 10}" for code in range(size)]
        groups = {code[:2]: None for code in codes}
        parents = {**groups, **{code: code[:2] for code in codes}}
        trees.append(dc.Classification.from_parents(f"v{at}", parents))
        columns[f"v{at}"] = np.array(codes)[rng.integers(0, size, records)]
    return dc.tabulate(pl.DataFrame(columns), trees, record_key="record_key")


def main() -> None:
    """Print one line per case."""
    ptable = dc.design_perturbation(max_noise=5, variance=3, forbidden=(1, 2))
    dc.make_additive(dc.perturb(census((30, 20, 20), 20_000), ptable))  # loads compiled code
    for (sizes, records), official in ((CASES[0], None), (CASES[1], None), (CASES[1], OFFICIAL)):
        safe = dc.perturb(census(sizes, records), ptable, official=official)
        begin = time.process_time()
        whole = dc.make_additive(safe)
        seconds = time.process_time() - begin
        cost = AdditivityCost.of([safe], [whole])
        share = cost.changed / cost.cells
        kept = "" if official is None else ", official totals of the first"
        print(f"{len(sizes)} variables{kept}, {cost.cells:,} cells: {share:.0%} changed, "
              f"mean {cost.mean:.2f}, largest {cost.largest:.0f}, {seconds:.1f} s")  # fmt: skip


if __name__ == "__main__":
    main()
