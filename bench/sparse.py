"""Suppression at size: sparse frequency tables and farm surveys of any number of occupied cells.

Frequencies: a geography of three levels (3,000 leaves) × 10 × 2 × 75 × 10; cells of fewer than
three records are sensitive. Areas of farms: districts × types × 10 × 3, under a minimum frequency
of three and p = 10 %; who stands alone in a cell opens no other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.disclosure import insiders_of
from discreet.protection.suppression.methods.cut_program import lower_bound_of
from discreet.protection.suppression.methods.fast import protect_fast
from discreet.protection.suppression.methods.registry import find_pattern
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


#: A farm survey: places × types of farming × size classes × legal forms.
FARMS = {"size": 10, "form": 3}
TYPES, GROUPS = 12, 3
#: Occupied cells per district, and per farm.
PER_PLACE, PER_FARM = 450, 1.6
RULES = (dc.rules.MinimumFrequency(3), dc.rules.PPercent(10))


def places(number: int) -> dc.Classification:
    """Districts, ten to a state, three of these to a country part."""
    return tree("region", number, 10, 30)


def tree(name: str, leaves: int, *widths: int) -> dc.Classification:
    """A classification whose levels, from below, bundle so many leaves each."""
    codes, parents, last = ["T"], [-1], {0: 0}
    for level, width in enumerate((*sorted(widths, reverse=True), 1)):
        place: dict[int, int] = {}
        for leaf in range(0, leaves, width):
            above = 0 if level == 0 else last[max(at for at in last if at <= leaf)]
            codes.append(f"{name[0]}{level}-{leaf:04d}")
            parents.append(above)
            place[leaf] = len(codes) - 1
        last = place
    return dc.Classification(name=name, codes=tuple(codes), parents=tuple(parents))


def farms(number: int, regions: int, seed: int = 1) -> pl.DataFrame:
    """Farms with skewed areas: many in some places, types that go with the place."""
    draw = np.random.default_rng(seed)
    weight = 1.0 / np.arange(1, regions + 1) ** 0.5
    at = draw.permutation(regions)[draw.choice(regions, number, p=weight / weight.sum())]
    spread = np.minimum(draw.exponential(2.5, number).astype(np.int64), TYPES - 1)
    size = np.clip(draw.normal(4.0, 2.0, number).astype(np.int64), 0, FARMS["size"] - 1)
    area = np.rint(2.0 ** (size / 1.3) * draw.lognormal(2.0, 0.5, number)).astype(np.int64) + 1
    return pl.DataFrame(
        {
            "region": np.array(places(regions).leaves)[at],
            "farming": np.array(farming().leaves)[(at * TYPES // regions + spread) % TYPES],
            "size": size,
            "form": draw.choice(FARMS["form"], number, p=[0.85, 0.1, 0.05]),
            "area": area,
        }
    )


def farming() -> dc.Classification:
    """Types of farming in groups."""
    return tree("farming", TYPES, TYPES // GROUPS)


def farm_survey(cells: int, seed: int = 1) -> tuple[dc.Table, Any]:
    """A table of areas with about so many occupied cells, and what the rules find in it."""
    regions = max(10, cells // PER_PLACE)
    records = farms(max(60, int(cells / PER_FARM)), regions, seed)
    by = [places(regions), farming(), *FARMS]
    table = dc.tabulate(records, by=by, values=["area"], contributions=2)
    return table, dc.primary(table, list(RULES), value="area")


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
            "bound": self.pattern.bound or lower_bound_of(self.problem),
            "cost of all": int(self.problem.cost[free].sum()),
            "open inside": len(self.pattern.certificate.unprotected),
        }


def fast(folder: Path, cells: int) -> Callable[[], Hidden]:
    """`fast` on a table of about so many occupied cells."""
    problem = sparse_problem(cells)
    if cells > 1_000:
        protect_fast(sparse_problem(1_000))  # loads compiled code
    return lambda: Hidden(problem, protect_fast(problem))


def survey(folder: Path, cells: int) -> Callable[[], Hidden]:
    """`fast` on a farm survey of about so many occupied cells; no farm opens cells of others."""
    source = farm_survey(cells)
    problem, members = build_problem(source, value="area")
    known = insiders_of(problem.relations, problem.value, members, [source], ["area"])
    return lambda: Hidden(problem, find_pattern(problem, "fast", insiders=known))


def public(folder: Path, cells: int) -> Callable[[], Hidden]:
    """The same against the public alone: what insiders cost is the difference."""
    problem, _ = build_problem(farm_survey(cells), value="area")
    return lambda: Hidden(problem, find_pattern(problem, "fast"))


TASKS = {"fast": fast, "survey": survey, "public": public}
