"""Attacks on a service that runs, by questions: how often each of them succeeds.

Each takes a demonstration and says of how many attempts how many succeeded. An attacker has the
keys that the attack names, knows how noise is made, and never sees the data; what is true is
looked up afterwards, to count successes.
"""

import io
import math
import re
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet_service.permissions import Grant
from discreet_service.policies import sign_policy, verdicts
from discreet_service.policies.rules import RuleCase, RuleVerdict, passed
from tests.helpers.running_service import RunningDemo, Told
from tests.helpers.service_people import LOCAL

DATA = "datasets/census-2022-1"
#: Levels of areas, and how many characters of a code they take.
REGIONS = {"state": 2, "district": 5, "municipality": 8}


@dataclass(frozen=True, kw_only=True)
class AttackRate:
    """How often an attack succeeded."""

    attack: str  # What was done
    success: str  # What counts as success
    hits: int  # Attempts that succeeded
    tried: int  # Attempts
    # What is found without the attack, as a share; None where that is nothing
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


def asked(
    demo: RunningDemo,
    key: str = "requester",
    dataset: str = "census",
    known: str = "",
    **query: Any,
) -> Told:
    """The answer to a query, for somebody who has a known one already."""
    whole = {"unit": "person", "format": "csv", "language": "en", **query}
    headers, path = [("if-none-match", known)] * bool(known), f"/api/v1/datasets/{dataset}/query"
    return demo.ask("POST", path, key=key, data=whole, headers=headers)


def catalogue(demo: RunningDemo, dataset: str = "census") -> dict[str, Any]:
    """What the catalogue says of the variables of persons, by their names."""
    path = f"/api/v1/datasets/{dataset}/variables?unit=person"
    told = demo.ask("GET", path, key="requester").json()
    return {one["name"]: one for one in told["variables"]}


def codes_on(
    demo: RunningDemo, frame: pl.DataFrame, variable: str, level: int, dataset: str = "census"
) -> pl.Series:
    """The code of each person on a level, by the code list of the catalogue."""
    path = f"/api/v1/datasets/{dataset}/variables/{variable}/codelist?unit=person"
    codes = {one["code"]: one for one in demo.ask("GET", path, key="requester").json()["codes"]}
    above = {}
    for code in codes:
        at = code
        while codes[at]["level"] > level:
            at = codes[at]["parent"]
        above[code] = at
    if variable not in ("age5", "legal_age"):
        column = "municipality" if variable == "region" else variable
        return frame[column].fill_null("Missing").replace_strict(above)
    first = {int(re.split("[-+]", code)[0]): code for code in codes if code[:1].isdigit()}
    starts = np.array(sorted(first))
    at = np.searchsorted(starts, frame["age"].to_numpy(), side="right") - 1
    return pl.Series([above[first[int(start)]] for start in starts[at]])


@contextmanager
def without_rules(*names: str) -> Iterator[None]:
    """Services whose policies lack some rules: these pass whatever they are asked."""
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setitem(verdicts.RULES_BY_NAME, name, partial(_passing, name))
        yield


def _passing(name: str, case: RuleCase) -> RuleVerdict:
    return passed(name)


def other_policy(text: str) -> Callable[[Path], None]:
    """Gives a demonstration another policy from its beginning, to see what its own prevents."""

    def change(folder: Path) -> None:
        (folder / DATA / "POLICY.toml").write_text(text, "utf-8")
        sign_policy(folder / DATA / "POLICY.toml", folder / "office.key")
        with closing(sqlite3.connect(folder / "service.db")) as database:
            database.execute("DELETE FROM policies")
            database.commit()

    return change


def real_keys(demo: RunningDemo, role: str, number: int) -> list[str]:
    """Keys of so many principals, as staff makes them."""
    made = []
    for at in range(number):
        name = f"attacker-{secrets.token_hex(4)}-{at}"
        demo.service.users.add(LOCAL, name, "system")
        demo.service.users.grant(LOCAL, name, Grant(role))
        key = demo.service.api_keys.create(
            LOCAL, name=f"{name}-key", grants=[Grant(role)], owner=name, days=1
        )
        made.append(str(key.token))
    return made


def cells(told: Told) -> pl.DataFrame:
    """The cells of an answer; values as numbers, none where they are hidden."""
    found = pl.read_csv(io.BytesIO(told.content), infer_schema=False)
    return found.with_columns(pl.col("value").cast(pl.Float64, strict=False))


def people(demo: RunningDemo, data: str = DATA) -> pl.DataFrame:
    """What is true, for counting successes."""
    found = pl.read_parquet(demo.folder / data / "persons.parquet")
    return found.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))


# -- spelling --------------------------------------------------------------------------------------


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
    records = pl.read_parquet(demo.folder / DATA / "buildings.parquet")
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
    query: dict[str, Any] = {"by": ["age5", "nationality", "sex", "marital_status"]}
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
        attack="old packages sent again", success="one is already in use", hits=hits, tried=tries
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
        where = [{"variable": "nationality", "codes": [code]}]
        hits += asked(demo, "producer", known=tag, where=where).status != 403
    return AttackRate(
        attack="tags of refused tables", success="anything but the refusal", hits=hits, tried=tries
    )


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
    rightly = (few[:half, None] > cuts).sum(axis=0) + (nobody[:half, None] <= cuts).sum(axis=0)
    best = int(np.argmax(np.abs(rightly - half)))
    at, up = cuts[best], rightly[best] >= half
    right = [*(few[half:] > at), *(nobody[half:] <= at)]
    hits = sum(bool(each) == bool(up) for each in right)
    return AttackRate(
        attack="time of refusals: few or nobody", success="a refusal is told rightly",
        hits=hits, tried=len(right), without=0.5,
    )  # fmt: skip
