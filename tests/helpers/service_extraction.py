"""Extraction: systems that may hand cells in, and tabulate the noise of one count.

Each attacker has keys of its own and a count whose noise it wants. What it has found is how often
each noise is drawn; it is told from the truth by the largest error of these shares. An attack ends
when staff is told, which is looked up in the log of the service.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from tests.helpers.running_service import RunningDemo
from tests.helpers.service_attacks import AttackRate, real_keys
from tests.helpers.service_averaging import KnownNoise

_GRID = 10**15
#: Cells of a call, and of an attack at most.
_CALL, _MOST = 100, 3_000
#: The row of all counts from here on is the last.
_LAST = 8

#: A count, and its generator → keys to hand in; what came of them is sent back.
Tabulating = Callable[[int, np.random.Generator], Iterator[tuple[int, list[int]]]]


@dataclass(frozen=True, kw_only=True)
class ExtractionRun:
    """What one attack came to."""

    told: bool  # Whether staff was told
    cells: int  # How many cells were answered until then, or at all
    error: float  # By how much the shares that were found are wrong, at most


def in_steps(count: int, draw: np.random.Generator) -> Iterator[tuple[int, list[int]]]:
    """Keys in steps over the grid."""
    step = _GRID // _MOST
    keys = np.arange(_MOST) * step + draw.integers(1, step)
    for at in range(_MOST // _CALL):
        yield count, keys[at :: _MOST // _CALL].tolist()


def by_one_key(count: int, draw: np.random.Generator) -> Iterator[tuple[int, list[int]]]:
    """The same keys with each count: all rows at once."""
    keys = draw.integers(1, _GRID, _CALL).tolist()
    for more in range(_LAST):
        yield 1 + (count + more) % _LAST, keys


def at_random(count: int, draw: np.random.Generator) -> Iterator[tuple[int, list[int]]]:
    """Keys as records would have them, each once."""
    for _ in range(_MOST // _CALL):
        yield count, draw.integers(1, _GRID, _CALL).tolist()


#: How an attack goes on when it may look at what it was told: none but the search for bounds does.
STYLES: dict[str, Tabulating] = {
    "keys in steps": in_steps,
    "the same keys with other counts": by_one_key,
    "random keys, each once": at_random,
}


def _noise(
    demo: RunningDemo, key: str, statistic: str, count: int, keys: Sequence[int]
) -> list[int]:
    """What is added to a count at some keys; a figure that is not shown counts as none."""
    rows = [{"n": count, "key": each, "official": False} for each in keys]
    told = demo.ask(
        "POST", "/api/v1/protect/counts", key=key,
        data={"parameter_set": statistic, "cells": rows},
    )  # fmt: skip
    assert told.status == 200, told.text
    return [(row["value"] or 0) - count for row in told.json()["cells"]]


def _alarmed(demo: RunningDemo) -> bool:
    newest = demo.ask("GET", "/api/v1/log?size=1", key="auditor").json()["rows"][0]
    return any("alarm" in rule for rule in newest["rules"])


def _next_day(demo: RunningDemo) -> None:
    """What the watch kept of others is gone, and so are keys that were made before."""
    demo.clock.now += 86_400_000


def true_shares(demo: RunningDemo, count: int) -> dict[int, float]:
    """How often each noise is drawn, in truth."""
    rows = KnownNoise.of(demo).rows
    return rows[min(count, len(rows) - 1)]


def _error(demo: RunningDemo, count: int, found: Mapping[int, float]) -> float:
    true = true_shares(demo, count)
    return max(abs(true.get(each, 0.0) - found.get(each, 0.0)) for each in {*true, *found})


def tabulated(
    demo: RunningDemo, style: Tabulating, count: int, seed: int, callers: int = 1
) -> ExtractionRun:
    """One attack, by one system or by several that share the calls."""
    _next_day(demo)
    keys, seen, cells = real_keys(demo, "service", callers), Counter[int](), 0
    statistic = ("census", "housing")[seed % 2]
    told = False
    for at, (asked, chosen) in enumerate(style(count, np.random.default_rng(seed))):
        noise = _noise(demo, keys[at % callers], statistic, asked, chosen)
        if asked == count:
            seen.update(noise)
        cells += len(chosen)
        told = _alarmed(demo)
        if told:
            break
    shares = {each: number / seen.total() for each, number in seen.items()}
    return ExtractionRun(told=told, cells=cells, error=_error(demo, count, shares))


def searched(demo: RunningDemo, count: int, seed: int, steps: int = 40) -> ExtractionRun:
    """The bounds of a row, each halved step by step: few cells, far apart, none of them twice."""
    _next_day(demo)
    draw = np.random.default_rng(seed)
    (key,), statistic = real_keys(demo, "service", 1), ("census", "housing")[seed % 2]
    known = dict.fromkeys(sorted(draw.integers(1, _GRID, 30).tolist()), 0)
    known = dict(zip(known, _noise(demo, key, statistic, count, [*known]), strict=True))
    told = False
    for _ in range(steps):
        places = sorted(known)
        between = [
            (low + high) // 2
            for low, high in itertools.pairwise(places)
            if known[low] != known[high] and high - low > 1
        ]
        if not between:
            break
        known |= zip(between, _noise(demo, key, statistic, count, between), strict=True)
        told = _alarmed(demo)
        if told:
            break
    places, shares = sorted(known), defaultdict[int, float](float)
    edges = [0, *((low + high) / 2 for low, high in itertools.pairwise(places)), _GRID]
    for place, (low, high) in zip(places, itertools.pairwise(edges), strict=True):
        shares[known[place]] += (high - low) / _GRID
    return ExtractionRun(told=told, cells=len(known), error=_error(demo, count, shares))


def extraction_rates(
    what: str, runs: Sequence[ExtractionRun]
) -> tuple[AttackRate, AttackRate, str]:
    """How often no alarm is given, how often shares are known to a point; and what is known."""
    cells = median(each.cells for each in runs)
    error = median(each.error for each in runs)
    return (
        AttackRate(attack=f"noise by {what}", success="no alarm is given",
                   hits=sum(not each.told for each in runs), tried=len(runs)),
        AttackRate(attack=f"noise by {what}", success="shares are known to one point till then",
                   hits=sum(each.error <= 0.01 for each in runs), tried=len(runs)),
        f"{what}: {cells:.0f} cells, shares to {100 * error:.2f} points (medians)",
    )  # fmt: skip
