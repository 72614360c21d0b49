"""Whether verdicts on linked tables hold against readers written apart, and what they cost.

    python bench/disclosure.py PART [number] [first seed]
    python bench/disclosure.py speed [persons]

Parts: `systems` (2 to 6 tables: no verdict "safe" with a sensitive cell that a reader computes; the
price), `refusals` (counts with zeros shown: what readers compute of refused systems even if every
count is hidden), `careless` (audits find what readers compute), `ranks` (relations found against
linear algebra over records, `number` programmes of 20,000, 3,000 and 300 records), `coalitions`
(two lone contributors, all pairs tried), `names` (systems that need no records), `speed` (CPU
seconds of 60 tables, of what ties them together, and of fingerprints of their cells).
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.disclosure import CellSystem, Partitions, RecordIdentity
from discreet.microdata import Secret
from discreet.protection.suppression.publish import ways_out
from discreet.tabulation import Query, tabulate_many

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.disclosure.test_outside_readers import (
    audited,
    careless,
    caused,
    computed,
    lone_cells,
    suppressed,
    system_of,
)
from tests.disclosure.test_relations import ranks

NAMES: dict[str, Any] = {"variables": ("district", "sex", "work"), "filters": False, "size": 200}


def systems(seeds: range) -> None:
    """Suppress, audit and attack."""
    words: Counter[str] = Counter()
    cells: Counter[str] = Counter()
    for seed in seeds:
        word, hidden, sensitive, opened = suppressed(seed)
        words[word] += 1
        if word == "safe":
            cells += Counter(hidden=hidden, sensitive=sensitive, computed=opened)
        if opened or word not in ("safe", "not-examined"):
            print(f"seed {seed}: {word}, computed {opened}")
    print(dict(words), dict(cells))


def refusals(seeds: range) -> None:
    """Ask for the cause of each refusal of counts."""
    answers = {seed: caused(seed) for seed in seeds if seed % 3 < 2}
    print(Counter(answers.values()), [seed for seed, own in answers.items() if own is False])


def audits(seeds: range) -> None:
    """Audit what was protected carelessly."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        verdict, exact, true, doubts = audited(seed)
        seen[verdict] += 1
        seen["computed"] += len(true)
        seen["missed"] += len(true - exact)
        seen["beyond, in doubt" if doubts else "beyond"] += len(exact - true)
        if true - exact or (exact != true and not doubts):
            print(f"seed {seed}: {verdict}, missed {true - exact}, beyond {exact - true}")
    print(dict(seen))


def programmes(seeds: range) -> None:
    """Compare ranks."""
    for size in (20_000, 3_000, 300):
        pairs = {seed: ranks(seed, size) for seed in seeds}
        wrong = {seed: pair for seed, pair in pairs.items() if pair[0] != pair[1]}
        print(f"{size:,} records: {len(pairs) - len(wrong)} of {len(pairs)}; found, true: {wrong}")


def pairs_of_contributors(seeds: range) -> None:
    """Two who stand alone put together what they know."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        drawn, judged = system_of(3 * seed + 2, size=35, number=1, filters=False)
        safe = careless(drawn, judged, seed)
        audit = dc.audit(safe, drawn.tables, judged, records=drawn.people, coalition=2)
        seen[audit.verdict] += 1
        if audit.verdict == "safe":
            found = {
                cell
                for pair in combinations(lone_cells(drawn, safe), 2)
                for cell in computed(drawn, judged, safe, frozenset.union(*pair))
            }
            seen["wrong"] += bool(found)
            if found:
                print(f"seed {seed}: {found}")
    print(dict(seen))


def needing_nothing(seeds: range) -> None:
    """Compare suppression with and without records."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        own: dict[str, Any] = {**NAMES, "number": 2 + seed % 4}
        one, other = suppressed(seed, **own), suppressed(seed, records=False, **own)
        refused = one.word not in ("safe", other.word)
        seen += Counter(systems=1, refused=refused, dearer=one.hidden > other.hidden)
        seen += Counter(hidden=one.hidden, by_name=other.hidden)
        if refused or one.hidden > other.hidden:
            print(f"seed {seed}: {one}, by name {other}")
    print(dict(seen))


def speed(persons: int) -> None:
    """Tabulate 60 tables, and find what ties them together."""
    draw = np.random.default_rng(60)
    district = draw.integers(0, 400, persons)
    age = draw.integers(0, 90, persons)
    columns = {
        "district": district, "state": district // 25, "land": district // 25,
        "part": district // 100, "age5": age // 5, "age15": age // 15,
        "sex": draw.integers(0, 2, persons),
    }  # fmt: skip
    columns |= {f"v{at}": draw.integers(0, 3 + at, persons) for at in range(8)}
    people = pl.DataFrame({name: own.astype(str) for name, own in columns.items()})
    places, others = ["district", "state", "land", "part"], ["age5", "age15", "sex"]
    sets = [[a, b, f"v{at}"] for a in places for b in others for at in range(5)]
    queries = [Query(by=by, name=f"t{at}") for at, by in enumerate(sets[:60])]
    times = [time.process_time()]
    tables = tabulate_many(people, queries)
    times.append(time.process_time())
    partitions = Partitions(people, tables)
    times.append(time.process_time())
    system = CellSystem(partitions, tables)
    times.append(time.process_time())
    plain, found, made = np.diff(times)
    cells, rows = sum(len(table) for table in tables), len(system.relations)
    print(f"{persons:,} persons, {len(tables)} tables, {cells:,} cells, {rows:,} rows")
    print(f"CPU seconds: tables {plain:.1f}, partitions {found:.1f}, cells and rows {made:.1f}")
    print(f"{(found + made) / plain:.2f} plain passes")
    numbers = pl.Series("number", draw.permutation(persons) + 10**12)
    keys = pl.Series("key", draw.integers(0, 10**15, persons))
    people = people.with_columns(numbers, pl.format("P-{}", numbers).alias("text"), keys)
    passes: dict[str, Callable[[], object]] = {
        "own passes": lambda: tabulate_many(people, queries),
        "own passes with record keys": lambda: tabulate_many(people, queries, record_key="key"),
        "passes of polars": lambda: [people.group_by(by).len() for by in sets],
    }
    yardsticks = {name: cpu_seconds(count) for name, count in passes.items()}
    for column in ("number", "text"):
        identity = RecordIdentity((column,), Secret(b"an example that is no secret"))
        spent = cpu_seconds(lambda own=identity: own.counted(people, queries))
        ratios = [f"{spent / own:.2f} {name}" for name, own in yardsticks.items()]
        print(f"fingerprints by {column}: {', '.join(ratios)}")


def cpu_seconds(work: Callable[[], object]) -> float:
    """The median of five runs."""
    spent = []
    for _ in range(5):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return sorted(spent)[2]


PARTS = {
    "systems": systems, "refusals": refusals, "careless": audits, "ranks": programmes,
    "names": needing_nothing, "coalitions": pairs_of_contributors,
}  # fmt: skip

if __name__ == "__main__":
    part, *numbers = sys.argv[1:]
    if part == "speed":
        speed(int(numbers[0]) if numbers else 1_000_000)
    else:
        ways_out._MOST = 0  # what would help refused systems takes long
        number, first = (*map(int, numbers), *[500, 10_000][len(numbers) :])
        PARTS[part](range(first, first + number))
