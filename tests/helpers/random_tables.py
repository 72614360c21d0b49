"""Random tables with sensitive cells, and what attackers are said to know of them.

Made from random records, so that tables are hierarchical, linked, weighted, sparse or signed as
real ones are. The relations, levels and bounds that attackers work with are made here anew.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.protection.suppression import Knowledge, Suppression
from tests.helpers.attacker_apart import (
    Attacker,
    Cell,
    Demand,
    Sum,
    Tree,
    equal_cells,
    named,
    sums_over,
)

KINDS = (
    "hierarchical", "linked", "three-way", "negative",
    "weighted", "zeros", "singletons", "sliding",
)  # fmt: skip
REGION = {"N": None, "S": None, "N1": "N", "N2": "N", "S1": "S", "S2": "S", "S3": "S"}
RECORDS = {"tiny": (8, 14), "small": (8, 18), "wide": (10, 30), "medium": (20, 70)}
FEW = {"N": None, "S": None, "N1": "N", "N2": "N"}


@dataclass(frozen=True)
class Asked:
    """Sensitive cells and their levels, in the form that tables are judged."""

    sensitive: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    sliding: np.ndarray
    value: str = "amount"


@dataclass(frozen=True)
class Case:
    """Tables to protect, and what everybody knows about them."""

    tables: list[dc.Table]
    trees: list[dict[str, list[Tree]]]
    asked: list[Asked]
    options: dict[str, Any]

    def protected(self, method: Any) -> Suppression:
        """What the product makes of it."""
        sources = list(zip(self.tables, self.asked, strict=True))
        return Suppression.of(sources, method=method, value="amount", **self.options)

    # -- what is true -----------------------------------------------------------

    def rows(self, at: int) -> Iterator[tuple[tuple[str, ...], float, int]]:
        """The cells of a table: codes, value, records."""
        frame = self.tables[at].to_polars()
        codes = frame.select(list(self.trees[at])).rows()
        amounts = frame["amount"].round().to_list()
        yield from zip(codes, amounts, frame["count"].to_list(), strict=True)

    def sums(self) -> list[Sum]:
        """How the cells of all tables add up."""
        found: list[Sum] = []
        for at, trees in enumerate(self.trees):
            found += sums_over((codes for codes, _, _ in self.rows(at)), trees)
        return found

    def truth(self) -> dict[Cell, float]:
        """The value of each cell: the finest ones as published, totals their sums."""
        given = {
            named(list(trees), codes): value
            for at, trees in enumerate(self.trees)
            for codes, value, _ in self.rows(at)
        }
        parts = {}
        for cells, _ in self.sums():
            (whole,) = (cell for cell, coef in cells.items() if coef < 0)
            parts.setdefault(whole, [cell for cell, coef in cells.items() if coef > 0])

        def added(cell: Cell) -> float:
            return sum(map(added, parts[cell])) if cell in parts else given[cell]

        return {cell: added(cell) for cell in given}

    def demands(self) -> dict[Cell, Demand]:
        """The strictest levels that any table asks for each sensitive cell."""
        truth, same = self.truth(), equal_cells(self.sums())
        signed, least = min(truth.values(), default=0) < 0, self.least()
        strictest: dict[Cell, np.ndarray] = {}
        for at, asked in enumerate(self.asked):
            for place, (codes, _, _) in enumerate(self.rows(at)):
                if asked.sensitive[place]:
                    cell = named(list(self.trees[at]), codes)
                    own = np.array([asked.lower[place], asked.upper[place], asked.sliding[place]])
                    for each in (cell, same.get(cell, cell)):
                        strictest[each] = np.maximum(strictest.get(each, own), own)
        found = {}
        for cell in truth:
            levels = strictest.get(same.get(cell, cell))
            if levels is not None:
                lower = levels[0] if signed else min(levels[0], truth[cell] - least)
                found[cell] = Demand(truth[cell], float(lower), float(levels[1]), float(levels[2]))
        return found

    def least(self) -> float:
        """What every hidden cell is at least: zeros are shown, unless one of them is sensitive."""
        truth = self.truth()
        zeros = {cell for cell, value in truth.items() if not value}
        asked = {
            named(list(self.trees[at]), codes)
            for at, judged in enumerate(self.asked)
            for (codes, _, _), is_so in zip(self.rows(at), judged.sensitive, strict=True)
            if is_so
        }
        shown = self.options.get("zero_cells", "fixed") == "fixed" and not zeros & asked
        return 1.0 if shown and min(truth.values(), default=0) >= 0 else 0.0

    def bounds(self) -> dict[Cell, tuple[float, float]]:
        """What attackers know beforehand: shares of the value, with room for the levels."""
        truth, demands = self.truth(), self.demands()
        stated = self.options.get("knowledge")
        knowledge, least = stated or Knowledge(), self.least()
        signed = min(truth.values(), default=0) < 0
        found = {}
        for cell, value in truth.items():
            room = [
                math.inf if share is None else math.ceil(share * abs(value))
                for share in (knowledge.below, knowledge.above)
            ]
            demand = demands.get(cell, Demand(value))
            low, high = value - room[0], value + room[1]
            if stated is None:
                low, high = min(low, value - demand.lower), max(high, value + demand.upper)
            low = low if signed else max(low, min(least, value))
            high = high if stated else max(high, low + demand.sliding)
            found[cell] = (low, high)
        return found

    # -- attacks ------------------------------------------------------------------

    def attacker(self, hidden: set[Cell]) -> Attacker:
        """Who knows all cells but the hidden ones."""
        truth, bounds = self.truth(), self.bounds()
        return Attacker(
            shown={cell: value for cell, value in truth.items() if cell not in hidden},
            blanks={cell: bounds[cell] for cell in hidden},
            sums=self.sums(),
        )

    def reader(self, published: list[dc.ProtectedTable]) -> Attacker:
        """Who knows what is printed: a cell is blank if no table shows it."""
        shown: dict[Cell, float] = {}
        blank: set[Cell] = set()
        for safe, trees in zip(published, self.trees, strict=True):
            frame = safe.to_polars(complete=True)
            for codes, value in zip(frame.select(list(trees)).rows(), frame["value"], strict=True):
                cell = named(list(trees), codes)
                if value is None:
                    blank.add(cell)
                else:
                    assert shown.setdefault(cell, value) == value
        truth, bounds = self.truth(), self.bounds()
        assert all(truth.get(cell, 0.0) == value for cell, value in shown.items())
        blanks = {cell: bounds[cell] for cell in blank - set(shown)}
        return Attacker(shown=shown, blanks=blanks, sums=self.sums())

    def may_be_hidden(self) -> set[Cell]:
        """Cells that are not published in any case."""
        partners = self.options.get("zero_cells") == "partners"
        demands = self.demands()
        return {c for c, value in self.truth().items() if value or partners or c in demands}

    def lone_sums(self) -> list[dict[Cell, int]]:
        """Sums of two sensitive cells of a total of which a single respondent knows one."""
        records = {
            named(list(trees), codes): count
            for at, trees in enumerate(self.trees)
            for codes, _, count in self.rows(at)
        }
        sensitive = self.demands()
        found = []
        for cells, _ in self.sums():
            pair = {cell: coef for cell, coef in cells.items() if cell in sensitive}
            if len(pair) == 2 and len(cells) > 2 and min(records[cell] for cell in pair) == 1:
                found.append(pair)
        return found


# -- drawing ------------------------------------------------------------------------


def make(kind: str, seed: int, size: str = "small") -> Case:
    """A case of one kind; the same seed gives the same case.

    Args:
        kind: One of `KINDS`.
        seed: Of all draws.
        size: "tiny": few enough cells to try every pattern; "small"; "medium".
    """
    draw = np.random.default_rng([seed, KINDS.index(kind)])
    if size == "small" and kind not in ("linked", "three-way"):
        size = "wide"
    parents = REGION if size in ("wide", "medium") else FEW
    frame = _records(kind, draw, parents, int(draw.integers(*RECORDS[size])))
    region = dc.Classification.from_parents("region", parents)
    branch = sorted(set(frame["branch"]))
    trees = {
        "region": [{code: above or "Total" for code, above in parents.items()}],
        "branch": [dict.fromkeys(branch, "Total")],
        "sex": [dict.fromkeys(sorted(set(frame["sex"])), "Total")],
    }
    spans = {"linked": [["region", "branch"], ["region", "sex"]], "three-way": [[*trees]]}
    spanned = spans.get(kind, [["region", "branch"]])
    weight = {"weight": "weight"} if kind == "weighted" else {}
    tables = [
        dc.tabulate(
            frame,
            by=[region if name == "region" else name for name in names],
            values=["amount"],
            name="-".join(names),
            **weight,
        )
        for names in spanned
    ]
    share = 0.4 if size in ("wide", "medium") else 0.25
    asked = [_asked(kind, draw, table, share) for table in tables]
    used = [{name: trees[name] for name in names} for names in spanned]
    return Case(tables=tables, trees=used, asked=asked, options=_options(kind, draw))


def _records(
    kind: str, draw: np.random.Generator, parents: Mapping[str, Any], number: int
) -> pl.DataFrame:
    leaves = [code for code in parents if code not in parents.values()]
    amount = np.ceil(draw.lognormal(3, 1.2, number))
    if kind == "negative":
        amount *= draw.choice([1, -1], number)
    if kind == "zeros":
        amount[draw.random(number) < 0.3] = 0
    return pl.DataFrame(
        {
            "region": draw.choice(leaves, number),
            "branch": draw.choice(["a", "b", "c", "d"][: int(draw.integers(2, 5))], number),
            "sex": draw.choice(["m", "w"], number),
            "amount": amount.astype(np.int64),
            "weight": draw.integers(1, 6, number).astype(float),
        }
    )


def _asked(kind: str, draw: np.random.Generator, table: dc.Table, share: float) -> Asked:
    """Small cells are sensitive, and some others, totals among them."""
    size = len(table)
    value = np.abs(table.sums["amount"])
    sensitive = (table.count <= 2) & (draw.random(size) < share)
    sensitive[draw.integers(0, size, 1 if share < 0.3 else 2)] = True
    sensitive &= (value > 0) | (kind == "zeros")
    level = np.where(sensitive, np.ceil(draw.choice([0.05, 0.1, 0.3]) * value), 0.0)
    none = np.zeros(size)
    lower, upper, sliding = level, level.copy(), none
    if kind == "sliding":
        picked = draw.random(size) < 0.7
        lower, upper = np.where(picked, 0, level), np.where(picked, 0, level)
        sliding = np.where(picked, 2 * level, 0)
    return Asked(sensitive, lower, upper, sliding)


def _options(kind: str, draw: np.random.Generator) -> dict[str, Any]:
    known = [None, Knowledge(below=0.5, above=0.5), Knowledge(above=None)]
    options: dict[str, Any] = {"singletons": kind == "singletons"}
    options["knowledge"] = (
        known[int(draw.integers(3))] if kind != "zeros" else Knowledge(above=None)
    )
    if kind == "zeros" and draw.random() < 0.5:
        options["zero_cells"] = "partners"
    return options
