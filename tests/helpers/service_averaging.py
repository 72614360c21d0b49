"""Averaging by what the catalogue offers: one count, estimated from every crossing that shows it.

An attacker asks for a variable of an area, crossed with all others on all their levels, adds up
each crossing, and takes the count that makes all these sums likeliest: how noise is drawn is
known, and so is the population of an area where that is an official figure. What is true is looked
up afterwards, to count successes.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tests.helpers.running_service import RunningDemo
from tests.helpers.service_attacks import (
    DATA,
    REGIONS,
    AttackRate,
    asked,
    catalogue,
    cells,
    codes_on,
    people,
)

#: Counts that are thought of, around the figure that is shown.
_AROUND = 12
#: Variables whose counts are estimated, each on its coarsest level.
TARGETS = ("sex", "marital_status", "legal_age", "education", "nationality")


@dataclass(frozen=True, kw_only=True)
class KnownNoise:
    """How noise is drawn, as an attacker knows it."""

    # For each count how likely each shown figure is; the last for all that are larger
    rows: tuple[dict[int, float], ...]
    variance: float  # Of the noise of a large count

    @classmethod
    def of(cls, demo: RunningDemo) -> KnownNoise:
        """That of a demonstration."""
        table = json.loads((demo.folder / DATA / "ptable.json").read_text("utf-8"))
        rows = []
        for row in table["rows"]:
            shares = np.diff([0, *row["upper"]]) / table["scale"]
            rows.append(dict(zip(row["noise"], shares.tolist(), strict=True)))
        large = rows[-1]
        return cls(rows=tuple(rows), variance=sum(p * each**2 for each, p in large.items()))

    def of_figure(self, figure: float, counts: Sequence[int]) -> NDArray[np.float64]:
        """How likely a figure is, for each count, as a logarithm."""
        found = [
            self.rows[min(count, len(self.rows) - 1)].get(round(figure) - count, 0.0)
            for count in counts
        ]
        return np.log(np.maximum(found, 1e-9))


@dataclass(frozen=True, kw_only=True)
class _Sum:
    """A count as the sum of a crossing: so many cells are above 0, so many show none."""

    value: float
    above: int
    zeros: int


@dataclass
class _Shown:
    """What is shown of one count: its figure, and sums."""

    figure: float
    sums: list[_Sum] = field(default_factory=list)

    def counts(self) -> list[int]:
        middle = round(self.figure)
        return [*range(max(middle - _AROUND, 0), middle + _AROUND + 1)]

    def likely(self, noise: KnownNoise, of_zero: float) -> NDArray[np.float64]:
        """How likely each count is, with the variance of a cell that shows 0."""
        counts = self.counts()
        found = noise.of_figure(self.figure, counts)
        for each in self.sums:
            variance = noise.variance * each.above + of_zero * each.zeros
            found = found - (each.value - np.array(counts)) ** 2 / (2 * variance)
        return found


def _variance_of_zeros(shown: Iterable[_Shown], noise: KnownNoise) -> float:
    """How much noise cells have that show 0, some of which are 1 or 2: by what sums miss."""
    more = zeros = 0.0
    for one in shown:
        for each in one.sums:
            more += (each.value - one.figure) ** 2 - noise.variance * (1 + each.above)
            zeros += each.zeros
    return max(more / zeros, 0.0) if zeros else 0.0


def together(parts: Sequence[tuple[Sequence[int], NDArray[np.float64]]], total: int) -> list[int]:
    """The likeliest counts that add up to a known total; each alone where none do.

    >>> each = ([1, 2, 3], np.log([0.5, 0.4, 0.1]))
    >>> together([each, each], 4), together([each, each], 3), together([each], 9)
    ([2, 2], [1, 2], [1])
    """
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for counts, likely in parts:
        more: dict[int, tuple[float, tuple[int, ...]]] = {}
        for (before, (so_far, chosen)), at in itertools.product(best.items(), range(len(counts))):
            whole, found = before + counts[at], so_far + float(likely[at])
            if whole <= total and (whole not in more or found > more[whole][0]):
                more[whole] = (found, (*chosen, counts[at]))
        best = more
    if total in best:
        return [*best[total][1]]
    return [counts[int(np.argmax(likely))] for counts, likely in parts]


def crossings_of_catalogue(demo: RunningDemo, target: str) -> list[list[dict[str, object]]]:
    """A variable alone, and crossed with each other one on each level, few cells first."""
    columns = {"age5": "age", "legal_age": "age"}
    found = [
        (level["codes"], {"variable": name, "level": level["number"]})
        for name, about in catalogue(demo).items()
        if not about["geography"] and columns.get(name, name) != columns.get(target, target)
        for level in about["levels"]
    ]
    return [[], *([each] for _, each in sorted(found, key=lambda one: int(one[0])))]


def _sums(told: pl.DataFrame, target: str) -> Iterator[tuple[tuple[str, str], _Sum]]:
    """What a crossing says of each count; nothing of those that have a hidden cell."""
    if "region" not in told.columns:
        told = told.with_columns(pl.lit("").alias("region"))
    value = pl.col("value")
    added = told.group_by("region", target).agg(
        value.sum(), (value > 0).sum().alias("above"), (value == 0).sum().alias("zeros"),
        value.null_count().alias("hidden"),
    )  # fmt: skip
    for area, code, found, above, zeros, hidden in added.iter_rows():
        if not hidden:
            yield (area, code), _Sum(value=found, above=above, zeros=zeros)


def averaged_variable(
    demo: RunningDemo, level: str, target: str, keys: Iterable[str]
) -> tuple[dict[tuple[str, str], _Shown], int]:
    """What all crossings of a variable say of its counts in areas, and how many were answered.

    Without a level of areas, in the whole country.
    """
    place = [{"variable": "region", "level": level}] if level else []
    shown: dict[tuple[str, str], _Shown] = {}
    answered, turn = 0, itertools.cycle(keys)
    for crossing in crossings_of_catalogue(demo, target):
        by = [*place, {"variable": target, "level": 1}, *crossing]
        told = asked(demo, next(turn), by=by, totals="none")
        if told.status != 200:
            continue
        answered += 1
        for key, found in _sums(cells(told), target):
            if not crossing:
                shown[key] = _Shown(found.value)
            # One cell alone has the same records, and so the same noise.
            elif key in shown and found.above > 1:
                shown[key].sums.append(found)
    return shown, answered


def averaging_catalogue(
    demo: RunningDemo,
    level: str,
    keys: Sequence[str] = ("requester",),
    *,
    targets: Sequence[str] = TARGETS,
) -> AttackRate:
    """Every count of some variables in areas of a level, from all crossings of the catalogue."""
    noise, frame = KnownNoise.of(demo), people(demo)
    areas = {"": pl.lit("")} | {
        name: pl.col("municipality").str.slice(0, length) for name, length in REGIONS.items()
    }
    hits = before = tried = 0
    totals = dict(frame.group_by(areas[level].alias("at")).len().iter_rows())
    for target in targets:
        shown, _ = averaged_variable(demo, level, target, keys)
        of_zero = _variance_of_zeros(shown.values(), noise)
        codes = codes_on(demo, frame, target, 1)
        true = {
            (area, code): count
            for area, code, count in frame.select(areas[level].alias("at"), codes.alias("code"))
            .group_by("at", "code").len().iter_rows()
        }  # fmt: skip
        for area, persons in totals.items():
            own = [(key, each) for key, each in shown.items() if key[0] == area]
            parts = [(each.counts(), each.likely(noise, of_zero)) for _, each in own]
            complete = {key for key, _ in own} >= {key for key in true if key[0] == area}
            guessed = together(parts, persons if complete else -1)
            for (key, each), guess in zip(own, guessed, strict=True):
                if true.get(key):
                    hits += guess == true[key]
                    before += round(each.figure) == true[key]
                    tried += 1
    return AttackRate(
        attack=f"averaging over the catalogue, {level or 'country'}",
        success="a count is found exactly", hits=hits, tried=tried, without=before / tried,
    )  # fmt: skip


def averaging_free_groups(
    demo: RunningDemo, keys: Sequence[str], partitions: int, seed: int = 1
) -> AttackRate:
    """Men and women of municipalities, from partitions of ages into two groups of one's own."""
    draw, turn = np.random.default_rng(seed), itertools.cycle(keys)
    by = [{"variable": "region", "level": "municipality"}, "sex"]
    first = cells(asked(demo, next(turn), by=by, totals="none"))
    shown = {
        (area, code): _Shown(value)
        for area, code, value in first.select("region", "sex", "value").iter_rows()
    }
    path = "/api/v1/datasets/census/variables/age5/codelist?unit=person"
    listed = demo.ask("GET", path, key=keys[0]).json()["codes"]
    ages = [one["code"] for one in listed if one["level"]]
    answered = 0
    for _ in range(partitions):
        block = {*draw.choice(ages, len(ages) // 2, replace=False).tolist()}
        halves = []
        for codes in (block, {*ages} - block):
            where = [{"variable": "age5", "codes": sorted(codes)}]
            halves.append(asked(demo, next(turn), by=by, totals="none", where=where))
        if {each.status for each in halves} != {200}:
            continue
        answered += 1
        for key, found in _sums(pl.concat([cells(each) for each in halves]), "sex"):
            if found.above > 1:
                shown[key].sums.append(found)
    noise, true = KnownNoise.of(demo), people(demo).group_by("municipality", "sex").len()
    hits = before = 0
    of_zero = _variance_of_zeros(shown.values(), noise)
    for area, code, count in true.iter_rows():
        each = shown[area, code]
        hits += each.counts()[int(np.argmax(each.likely(noise, of_zero)))] == count
        before += round(each.figure) == count
    return AttackRate(
        attack=f"averaging over groups of one's own, {answered} of {partitions} answered",
        success="a count is found exactly", hits=hits, tried=true.height,
        without=before / true.height,
    )  # fmt: skip
