"""Suppression at size: sparse frequency tables of any number of occupied cells.

A geography of three levels (3,000 leaves) × 10 × 2 × 75 × 10; cells of fewer than three records
are sensitive.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import discreet as dc
from discreet.protection.suppression.methods.fast import protect_fast
from discreet.protection.suppression.problem.linked_tables import build_problem
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.certificate import Pattern

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
    table = dc.tabulate(records(max(60, cells // 4), seed), by=[geography(), *SIZES])
    sensitive = (table.count > 0) & (table.count < MINIMUM)
    return build_problem((table, sensitive), title="sparse")[0]


class Hidden:
    """What was hidden, told when the clock has stopped."""

    def __init__(self, problem: SuppressionProblem, pattern: Pattern) -> None:
        self.problem, self.pattern = problem, pattern

    def told(self) -> dict[str, int]:
        """For the parent process."""
        free = self.problem.state == CellState.free
        return {
            "cells": len(self.problem),
            "sensitive": len(self.problem.primary),
            "secondaries": self.pattern.secondaries,
            "cost": self.pattern.cost,
            "cost of all": int(self.problem.cost[free].sum()),
            "open inside": len(self.pattern.certificate.unprotected),
        }


def fast(folder: Path, cells: int) -> Callable[[], Hidden]:
    """`fast` on a table of about so many occupied cells."""
    problem = sparse_problem(cells)
    if cells > 1_000:
        protect_fast(sparse_problem(1_000))  # loads compiled code
    return lambda: Hidden(problem, protect_fast(problem))


TASKS = {"fast": fast}
