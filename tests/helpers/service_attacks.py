"""Attacks on a service that runs, by questions: how often each of them succeeds.

Each takes a demonstration and says of how many attempts how many succeeded. An attacker has the
keys that the attack names, knows how noise is made, and never sees the data; what is true is
looked up afterwards, to count successes.
"""

from __future__ import annotations

import io
import itertools
import math
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tests.helpers.running_service import RunningDemo, Told

ASKING = "/api/v1/datasets/census/query"
_DATA = "datasets/census-2022-1"


@dataclass(frozen=True, kw_only=True)
class AttackRate:
    """How often an attack succeeded.

    Args:
        attack: What was done.
        success: What counts as success.
        hits: Attempts that succeeded.
        tried: Attempts.
        without: What is found without the attack, as a share; None where that is nothing.
    """

    attack: str
    success: str
    hits: int
    tried: int
    without: float | None = None

    @property
    def rate(self) -> float:
        """The share of attempts that succeeded."""
        return self.hits / self.tried

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of 95 %.

        >>> AttackRate(attack="a", success="s", hits=0, tried=100).interval
        (0.0, 0.037)
        """
        z, n, p = 1.96, self.tried, self.rate
        middle, width = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        low, high = ((middle + sign * width) / (1 + z * z / n) for sign in (-1, 1))
        return round(max(low, 0.0), 3), round(min(high, 1.0), 3)

    def row(self) -> str:
        """A row of the table in the documentation."""
        low, high = (f"{100 * each:.1f}" for each in self.interval)
        before = "–" if self.without is None else f"{100 * self.without:.0f} %"
        return (
            f"| {self.attack} | {self.success} | {self.tried:,} | {before} "
            f"| {100 * self.rate:.1f} % ({low}–{high}) |"
        )


def asked(demo: RunningDemo, key: str = "requester", **query: Any) -> Told:
    """The answer to a query."""
    whole = {"unit": "person", "format": "csv", "language": "en", **query}
    return demo.ask("POST", ASKING, key=key, data=whole)


def cells(told: Told) -> pl.DataFrame:
    """The cells of an answer; values as numbers, none where they are hidden."""
    found = pl.read_csv(io.BytesIO(told.content), infer_schema=False)
    return found.with_columns(pl.col("value").cast(pl.Float64, strict=False))


def people(demo: RunningDemo) -> pl.DataFrame:
    """What is true, for counting successes."""
    found = pl.read_parquet(demo.folder / _DATA / "persons.parquet")
    return found.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))


# -- averaging -------------------------------------------------------------------------------------


def averaging_free_groups(demo: RunningDemo, most: int = 60) -> AttackRate:
    """Every partition of marital status into two groups of one's own."""
    codes = [
        code
        for code in cells(asked(demo, by=["marital_status"]))["marital_status"]
        if code != "Total"
    ]
    blocks = [
        block for size in (2, 3, 4) for block in itertools.combinations(codes, size)
    ][:most]  # fmt: skip
    got = sum(
        asked(demo, "everybody", where=[{"variable": "marital_status", "codes": [*each]}]).status
        == 200
        for each in blocks
    )
    return AttackRate(
        attack="averaging over groups of one's own", success="a group is answered",
        hits=got, tried=len(blocks),
    )  # fmt: skip


def averaging_crossings(demo: RunningDemo, level: str) -> AttackRate:
    """Men and women of each area: the mean of all that answered tables say of their number."""
    others = ("age5", "legal_age", "marital_status", "education", "nationality", "occupation")
    place = {"variable": "region", "level": level}
    plain = cells(asked(demo, by=[place, "sex"]))
    inner = (pl.col("region") != "Total") & (pl.col("sex") != "Total")
    estimates = {
        (row["region"], row["sex"]): [(row["value"], 1)]
        for row in plain.filter(inner, pl.col("value").is_not_null()).iter_rows(named=True)
    }
    for other in others:
        told = asked(demo, by=[place, "sex", other])
        if told.status != 200:
            continue
        shown = cells(told).filter(inner, pl.col(other) != "Total")
        for (region, sex), group in shown.group_by("region", "sex"):
            if (region, sex) in estimates and not group["value"].null_count():
                estimates[region, sex].append((float(group["value"].sum()), group.height))
    hits, before = 0, 0
    length = {"state": 2, "district": 5, "municipality": 8}[level]
    true = people(demo).group_by(pl.col("municipality").str.slice(0, length), "sex").len()
    truth = {(row[0], row[1]): row[2] for row in true.iter_rows()}
    for code, found in estimates.items():
        weights = [1 / size for _, size in found]
        mean = sum(value * w for (value, _), w in zip(found, weights, strict=True)) / sum(weights)
        hits += round(mean) == truth.get(code, 0)
        before += round(found[0][0]) == truth.get(code, 0)
    return AttackRate(
        attack=f"averaging over crossings of a {level}", success="a count is found exactly",
        hits=hits, tried=len(estimates), without=before / len(estimates),
    )  # fmt: skip


def repeated_spelling(demo: RunningDemo, times: int = 40) -> AttackRate:
    """One table in many spellings: each other figure would be another draw of the noise."""
    members = [
        {"by": ["sex", {"variable": "age5"}]}, {"by": [{"variable": "age5", "level": 1}, "sex"]},
    ]  # fmt: skip
    first = None
    hits = tried = 0
    for at in range(times):
        query: dict[str, Any] = dict(members[at % 2])
        if at % 3:
            query["totals"] = ["age5", "sex"] if at % 3 == 1 else "all"
        if at % 5:
            query["version"] = "2022-1"
        if at % 7:
            query["measures"] = ["count"] if at % 2 else [{"figure": "count"}]
        told = asked(demo, **query)
        if told.status != 200:
            continue
        found = {(row["sex"], row["age5"]): row["value"] for row in cells(told).to_dicts()}
        first = first or found
        hits += found != first
        tried += 1
    return AttackRate(
        attack="spellings of one query", success="a figure differs", hits=hits, tried=tried
    )


# -- equality --------------------------------------------------------------------------------------


def near_filters(frame: pl.DataFrame, most: int) -> Iterator[tuple[Any, Any]]:
    """Pairs of filters of at least 50 persons that differ by 1 to 9, neither a part by itself."""
    bounds = (0, 6, 14, 16, 18, 21, 67, 200)
    ages = frame["age"].to_numpy()
    columns = {
        name: frame[name].to_numpy()
        for name in ("sex", "marital_status", "nationality", "education", "occupation")
    }
    universes: dict[tuple[tuple[str, str], ...], np.ndarray] = {}
    single = {
        (name, str(code)): values == code
        for name, values in columns.items()
        for code in sorted({str(each) for each in values if each is not None})
    }
    for low, high in itertools.pairwise(bounds):
        code = f"{low}+" if high == 200 else f"{low}-{high - 1}"
        single["legal_age", code] = (ages >= low) & (ages < high)
    for low in range(0, 86, 5):
        code = "85+" if low == 85 else f"{low}-{low + 4}"
        single["age5", code] = (ages >= low) & ((ages < low + 5) | (low == 85))
    for first, second in itertools.combinations(single, 2):
        if first[0] != second[0] and {first[0], second[0]} != {"age5", "legal_age"}:
            universes[first, second] = single[first] & single[second]
    universes |= {(each,): members for each, members in single.items()}
    sizes = {name: int(members.sum()) for name, members in universes.items()}
    large = sorted((name for name in universes if sizes[name] >= 60), key=lambda n: sizes[n])
    found = 0
    for at, first in enumerate(large):
        for second in large[at + 1 :]:
            if sizes[second] - sizes[first] > 9 or found == most:
                break
            if set(first) <= set(second) or set(second) <= set(first):
                continue
            if 1 <= int((universes[first] ^ universes[second]).sum()) <= 9:
                found += 1
                yield first, second


def equality_of_filters(demo: RunningDemo, most: int = 40) -> AttackRate:
    """Two filters that differ by 1 to 9 persons: both answered, the difference tells of them."""
    hits = tried = 0
    for pair in near_filters(people(demo), most):
        answered = [
            asked(demo, "producer", by=["state"], where=[
                {"variable": name, "codes": [code]} for name, code in each
            ]).status == 200
            for each in pair
        ]  # fmt: skip
        hits += all(answered)
        tried += 1
    return AttackRate(
        attack="equality over filters that differ by 1–9", success="both are answered",
        hits=hits, tried=tried,
    )  # fmt: skip


# -- hidden parts ----------------------------------------------------------------------------------


def guessing_hidden_cells(demo: RunningDemo, rounds: int = 30) -> AttackRate:
    """Hidden buildings by place, type and age, guessed from all margins that are shown."""
    levels = ["state", "district", "municipality"]
    by = ["region", "building_type", "construction"]
    told = asked(demo, unit="building", by=[{"variable": "region", "level": levels}, *by[1:]])
    frame = cells(told)
    names = [
        sorted(set(frame[name]) - {"Total"}) if name != "region" else
        sorted(code for code in set(frame[name]) if len(code) == 8) for name in by
    ]  # fmt: skip
    guess = np.ones([len(each) for each in names])
    margins = []
    for row in frame.filter(pl.col("value").is_not_null()).iter_rows(named=True):
        inside = [
            [k for k, code in enumerate(codes) if row[name] in ("Total", code)
             or (name == "region" and code.startswith(row[name]))]
            for name, codes in zip(by, names, strict=True)
        ]  # fmt: skip
        margins.append((np.ix_(*inside), row["value"]))
    for _ in range(rounds):
        for at, value in margins:
            found = guess[at].sum()
            guess[at] *= value / found if found else 1
    shown = {
        tuple(row[name] for name in by)
        for row in frame.filter(pl.col("status") != "suppressed").iter_rows(named=True)
    }
    records = pl.read_parquet(demo.folder / _DATA / "buildings.parquet")
    truth = {
        (str(row[0]), str(row[1]), str(row[2])): row[3]
        for row in records.group_by("municipality", *by[1:]).len().iter_rows()
    }
    hits = tried = zeros = 0
    for at in np.ndindex(guess.shape):
        code = tuple(each[k] for each, k in zip(names, at, strict=True))
        if code not in shown and code in truth:  # somebody is there: an empty cell is no find
            hits += round(float(guess[at])) == truth[code]
            zeros += truth[code] == 1
            tried += 1
    return AttackRate(
        attack="hidden cells from all margins shown", success="a count above 0 is guessed",
        hits=hits, tried=tried, without=zeros / tried,
    )  # fmt: skip


# -- numbers, packages, tags -----------------------------------------------------------------------


def guessed_jobs(demo: RunningDemo, tries: int = 500) -> AttackRate:
    """Numbers of jobs at random, and neighbours of one's own, while another has one."""
    query = {"by": ["age5", "education", "sex", "marital_status"]}
    own = [asked(demo, key, **query).json()["job"] for key in ("requester", "producer")]
    number = int(own[0], 16)
    near = [f"{(number + step) % 2**128:032x}" for step in range(-20, 21) if step]
    hits = 0
    for guess in [own[1], *near, *(secrets.token_hex(16) for _ in range(tries - 1 - len(near)))]:
        hits += demo.ask("GET", f"/api/v1/jobs/{guess}", key="requester").status == 200
    return AttackRate(
        attack="numbers of jobs, guessed or seen", success="a job of others is shown",
        hits=hits, tried=tries,
    )  # fmt: skip


def replayed_packages(demo: RunningDemo, tries: int = 40) -> AttackRate:
    """Packages that were in use, whole, cut, longer, or with a byte changed."""
    hits = 0
    for at in range(tries):
        whole = (demo.folder / ("census.dcparams", "housing.dcparams")[at % 2]).read_bytes()
        place = at * len(whole) // tries
        changed = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        sent = (whole, whole[: place + 1], whole + b"x" * at, changed)[at // 2 % 4]
        told = demo.ask(
            "POST", "/api/v1/parameter-sets", key="custodian", body=sent,
            headers=[("content-type", "application/octet-stream")],
        )  # fmt: skip
        hits += told.status < 400
    return AttackRate(
        attack="old packages sent again", success="one is taken", hits=hits, tried=tries
    )


def forged_lines(demo: RunningDemo, tries: int = 40) -> AttackRate:
    """Names with line ends and JSON in them, wherever names are logged."""
    breaks = ("\n", "\r\n", "\u2028", "\x85", "\\n", "%0a", "\x00", '"}\n{"event":')
    hits = 0
    for at in range(tries):
        mark = f"forged{at}"
        name = f'x{breaks[at % len(breaks)]}{{"event": "{mark}"}}'
        asked(demo, by=[name])
        asked(demo, where=[{"variable": name, "codes": [name]}])
        demo.ask("GET", "/api/v1/status", headers=[("x-request-id", name), ("user-agent", name)])
        hits += any(line.lstrip().startswith(f'{{"event": "{mark}"') for line in demo.logged())
    return AttackRate(
        attack="lines in the log by names", success="a line begins as the attacker says",
        hits=hits, tried=tries,
    )  # fmt: skip


def probed_tags(demo: RunningDemo, tries: int = 60) -> AttackRate:
    """Tags for tables that a caller may not see: 304 would say that there is such an answer."""
    few = people(demo)["nationality"].value_counts().sort("count", "nationality")
    code = few["nationality"][0]
    hits = 0
    for at in range(tries):
        tag = ("*", secrets.token_hex(16), 'W/"x"')[at % 3]
        told = demo.ask(
            "POST", ASKING, key="producer", headers=[("if-none-match", tag)],
            data={"unit": "person", "where": [{"variable": "nationality", "codes": [code]}]},
        )  # fmt: skip
        hits += told.status != 403
    return AttackRate(
        attack="tags of refused tables", success="anything but the refusal", hits=hits, tried=tries
    )


def extracted_noise(demo: RunningDemo, sizes: tuple[int, ...]) -> list[AttackRate]:
    """Cells-in by a trusted system that tabulates the noise of one count: found, and seen?"""
    found = []
    for size in sizes:
        seen = 0
        for start in range(10):
            keys = (np.arange(size, dtype=np.int64) * (10**15 // size) + 7 * start + 1).tolist()
            rows = [{"n": 3, "key": key, "official": False} for key in keys]
            demo.ask("POST", "/api/v1/protect/counts", key="service",
                     data={"parameter_set": "census", "cells": rows})  # fmt: skip
            log = demo.ask("GET", "/api/v1/log?size=1", key="auditor").json()["rows"]
            seen += not any("alarm" in rule for rule in log[0]["rules"])
        found.append(
            AttackRate(
                attack=f"noise tabulated by {size:,} cells a call",
                success="no alarm is given",
                hits=seen,
                tried=10,
            )
        )
    return found


# -- time ------------------------------------------------------------------------------------------


def refusal_times(
    demo: RunningDemo, pairs: int, wait: Callable[[float], None] = time.sleep
) -> Mapping[str, list[float]]:
    """Seconds of refusals about few, and about nobody, in turn."""
    frame = people(demo)
    sizes = frame["nationality"].value_counts().sort("count", "nationality")
    few = sizes.filter(pl.col("count").is_between(1, 25))["nationality"].to_list()
    wanted = {(row[0], row[1]) for row in frame.select("nationality", "marital_status").iter_rows()}
    status = sorted({each for each in frame["marital_status"] if each is not None})
    nobody = [(code, each) for code in few for each in status if (code, each) not in wanted]
    some = [(code, each) for code in few for each in status if (code, each) in wanted]
    real = time.time_ns() // 1_000_000 - demo.clock.now
    clock = demo.service.policies._clock
    took: dict[str, list[float]] = {"few": [], "nobody": []}
    demo.service.policies._clock = lambda: time.time_ns() // 1_000_000 - real
    try:
        for at in range(pairs):
            for name, chosen in (("few", some), ("nobody", nobody))[:: 1 if at % 2 else -1]:
                nation, married = chosen[at % len(chosen)]
                where = [{"variable": "nationality", "codes": [nation]},
                         {"variable": "marital_status", "codes": [married]}]  # fmt: skip
                start = time.perf_counter()
                told = asked(demo, "producer", where=where)
                took[name].append(time.perf_counter() - start)
                assert told.status == 403, told.text
                wait(0)
    finally:
        demo.service.policies._clock = clock
    return took


def told_by_time(took: Mapping[str, list[float]]) -> AttackRate:
    """How often an attacker who learned on one half says rightly which refusals were which."""
    half = len(took["few"]) // 2
    few, nobody = (np.array(took[name]) for name in ("few", "nobody"))
    cuts = np.unique(np.concatenate([few[:half], nobody[:half]]))
    best = max(
        ((sign * (few[:half, None] > cuts)).sum(axis=0) + sign * (nobody[:half, None] <= cuts)
         .sum(axis=0) for sign in (1, -1)),
        key=np.max,
    )  # fmt: skip
    at = cuts[int(np.argmax(best))]
    up = (few[:half] > at).sum() + (nobody[:half] <= at).sum() >= half
    right = [*(few[half:] > at), *(nobody[half:] <= at)]
    hits = sum(bool(each) == bool(up) for each in right)
    return AttackRate(
        attack="time of refusals: few or nobody", success="a refusal is told rightly",
        hits=hits, tried=len(right), without=0.5,
    )  # fmt: skip


def all_attacks(demo: RunningDemo, *, pairs: int, small: bool) -> Iterator[AttackRate]:
    """Every attack, in an order in which none stands in another's way."""
    yield averaging_free_groups(demo, 10 if small else 50)
    yield averaging_crossings(demo, "municipality")
    yield averaging_crossings(demo, "district")
    yield repeated_spelling(demo, 10 if small else 40)
    yield equality_of_filters(demo, 4 if small else 40)
    yield guessing_hidden_cells(demo, 5 if small else 30)
    yield guessed_jobs(demo, 60 if small else 2_000)
    yield replayed_packages(demo, 8 if small else 40)
    yield forged_lines(demo, 8 if small else 40)
    yield probed_tags(demo, 6 if small else 60)
    yield from extracted_noise(demo, (2_000,) if small else (50, 500, 2_000))
    yield told_by_time(refusal_times(demo, pairs))
