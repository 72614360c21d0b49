"""Suppression at size: sparse frequency tables of any number of occupied cells.

``python bench/suppression.py 10000 100000 1000000`` measures `fast` at these sizes: a
geography of three levels (3,000 leaves) × 10 × 2 × 75 × 10, cells of fewer than three
records sensitive. Prints seconds, peak memory, cost, what is published by the number of
variables crossed, and what the audit says.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import numpy as np
import numpy.typing as npt
import polars as pl

import discreet as dc
from discreet.protection.suppression.methods.fast import protect_fast
from discreet.protection.suppression.problem.linked_tables import build_problem
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem

LEAVES, STATES, DISTRICTS = 3_000, 10, 100
SIZES = {"age": 10, "sex": 2, "job": 75, "school": 10}
MINIMUM = 3


def geography() -> dc.Classification:
    """3,000 communities in 100 districts in 10 states."""
    codes, parents = ["T"], [-1]
    for state in range(STATES):
        codes.append(f"{state}")
        parents.append(0)
        above = len(codes) - 1
        for district in range(DISTRICTS // STATES):
            codes.append(f"{state}{district}")
            parents.append(above)
            place = len(codes) - 1
            for leaf in range(LEAVES // DISTRICTS):
                codes.append(f"{state}{district}{leaf:02d}")
                parents.append(place)
    return dc.Classification(name="region", codes=tuple(codes), parents=tuple(parents))


def records(number: int, seed: int = 1) -> pl.DataFrame:
    """Skewed records: big and small places, jobs that go with schooling."""
    draw = np.random.default_rng(seed)
    leaves = np.array(geography().leaves)
    size = 1.0 / np.arange(1, LEAVES + 1) ** 0.6
    place = draw.permutation(LEAVES)[draw.choice(LEAVES, number, p=size / size.sum())]
    school = draw.integers(0, SIZES["school"], number)
    spread = np.minimum(draw.exponential(8.0, number).astype(np.int64), SIZES["job"] - 1)
    return pl.DataFrame(
        {
            "region": leaves[place],
            "age": draw.integers(0, SIZES["age"], number),
            "sex": draw.integers(0, SIZES["sex"], number),
            "job": (school * 7 + spread) % SIZES["job"],
            "school": school,
        }
    )


def sparse_problem(cells: int, seed: int = 1) -> SuppressionProblem:
    """A frequency table with about so many occupied cells, margins included."""
    return crossed_problem(cells, seed)[0]


def crossed_problem(cells: int, seed: int = 1) -> tuple[SuppressionProblem, npt.NDArray[np.int64]]:
    """A frequency table with about so many occupied cells, margins included.

    Returns:
        The problem, and how many variables are crossed in each of its cells; of cells that
        equal each other the fewest.
    """
    table = dc.tabulate(records(max(60, cells // 4), seed), by=[geography(), *SIZES])
    sensitive = (table.count > 0) & (table.count < MINIMUM)
    problem, members = build_problem((table, sensitive), title="sparse")
    roots = [np.array(each.parents) < 0 for each in table.dimensions]
    crossed = sum(~root[index] for root, index in zip(roots, table.index, strict=True))
    cell = members.cells[0]
    fewest = np.full(len(problem), len(roots), dtype=np.int64)
    np.minimum.at(fewest, cell[cell >= 0], np.asarray(crossed)[cell >= 0])
    return problem, fewest


def shown_by_part(
    problem: SuppressionProblem, hidden: npt.NDArray[np.bool_], crossed: npt.NDArray[np.int64]
) -> dict[str, str]:
    """Per number of variables crossed: cells published, of those that are not sensitive."""
    free = problem.state == CellState.free
    return {
        f"{number} variables": f"{int((own & ~hidden).sum()):,} of {int(own.sum()):,}"
        for number in np.unique(crossed)
        for own in [free & (crossed == number)]
    }


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", type=int, nargs="+")
    for cells in parser.parse_args().cells:
        problem, crossed = crossed_problem(cells)
        begin, busy = time.perf_counter(), time.process_time()
        pattern = protect_fast(problem, progress=lambda line: print(line, flush=True))
        print(
            json.dumps(
                {
                    "cells": len(problem),
                    "sensitive": len(problem.primary),
                    "secondaries": pattern.secondaries,
                    "cost": pattern.cost,
                    "cost_of_all": int(problem.cost[problem.state == CellState.free].sum()),
                    "published": shown_by_part(problem, pattern.hidden, crossed),
                    "unprotected": len(pattern.certificate.unprotected),
                    "seconds": round(time.perf_counter() - begin, 1),
                    "cpu_seconds": round(time.process_time() - busy, 1),
                    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
