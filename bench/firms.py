"""Random tables of firms: what each aim against contributors costs, and what it leaves open.

    python bench/firms.py [tables] [method] [seconds for each table of pytauargus]
    python bench/firms.py closed [tables of each kind] [cells ...]

Two to four variables, and 10, 40 or 70 per cent of the cells sensitive by the p% rule, in turn.
Open cells are counted by linear programs written apart from the library (tests/helpers): for
readers, and for each contributor who stands alone in suppressed cells. `pytauargus` protects the
same records by its own rule; its methods know no contributors, so it stands beside `off`.

`closed`: two-way tables of so many cells, flat and with groups of codes in one variable; how many
`auto` brings to a gap below 1 % in 60 seconds of the processor.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import polars as pl
from suppression import BATCH

import discreet as dc
from discreet import rules
from discreet.errors import SuppressionError
from discreet.protection.suppression import Suppression
from tests.helpers.attacker_apart import Attacker, Cell, Demand, Listed, named, sums_over

AIMS = ("off", "exact", "levels")
#: Codes of the variables, and firms per inner cell that make about so many per cent sensitive.
SIZES = {2: (11, 16), 3: (8, 7, 3), 4: (5, 4, 3, 2)}
RATES = {10: 16.0, 40: 5.0, 70: 1.8}
#: Values of so many units more are nothing to the attacker's linear programs.
SLACK = 1e-3
#: Codes of a group in a layered table.
_GROUP = 5
CODES = "abcdefghijklmnopqrst"
#: Methods on the problems of the other engine.
OURS: tuple[Any, ...] = ("fast", "auto")


@dataclass
class Firms:
    """Records of firms, their table, and its sensitive cells."""

    records: pl.DataFrame
    names: list[str]
    table: dc.Table
    primary: Any

    @classmethod
    def drawn(cls, seed: int) -> Firms:
        """A random table; the same seed gives the same."""
        rate = list(RATES.values())[seed // 3 % 3]
        return cls.of(np.random.default_rng([seed, 20]), SIZES[2 + seed % 3], rate)

    @classmethod
    def two_way(cls, seed: int, cells: int, share: int, layered: bool) -> Firms:
        """A table of two variables of about so many cells; layered: the codes of one in groups."""
        inner = cells / 1.15 if layered else cells
        side = round((inner / 1.5) ** 0.5) - 1
        sizes = side, round(inner / (side + 1)) - 1
        return cls.of(np.random.default_rng([seed, cells, share]), sizes, RATES[share], layered)

    @classmethod
    def of(
        cls, draw: np.random.Generator, sizes: tuple[int, ...], rate: float, layered: bool = False
    ) -> Firms:
        """Firms over categories of so many codes, few of them in the last ones."""
        weight = np.ones(1)
        for size in sizes:
            weight = np.multiply.outer(weight, 1.0 / np.arange(1, size + 1) ** 0.5)
        number = draw.poisson(rate * weight.size * weight.ravel() / weight.sum())
        places = np.unravel_index(np.repeat(np.arange(weight.size), number), sizes)
        names = [f"V{at}" for at in range(len(sizes))]
        codes = CODES if max(sizes) <= len(CODES) else [f"{code:02d}" for code in range(max(sizes))]
        by: list[Any] = list(names)
        if layered:
            groups = {code: f"G{at // _GROUP}" for at, code in enumerate(codes[: sizes[-1]])}
            parents = dict.fromkeys(groups.values()) | groups
            by[-1] = dc.Classification.from_parents(names[-1], parents)
        columns = {
            name: [codes[code] for code in place.tolist()]
            for name, place in zip(names, places, strict=True)
        }
        sales = np.maximum(1, draw.lognormal(5.0, 2.0, places[0].size)).astype(np.int64)
        frame = pl.DataFrame({**columns, "sales": sales})
        table = dc.tabulate(frame, by=by, values=["sales"], contributions=2)
        return cls(frame, names, table, dc.primary(table, [rules.PPercent(10)], value="sales"))

    def protected(self, method: Any, aim: Any) -> Suppression:
        """What the library makes of it."""
        return Suppression.of((self.table, self.primary), method=method, insiders=aim)

    # -- the attacker apart ---------------------------------------------------------

    def cells(self) -> list[tuple[str, ...]]:
        """The codes of each cell of the table."""
        rows: list[tuple[str, ...]] = self.table.to_polars().select(self.names).rows()
        return rows

    def opened(self, done: Suppression) -> dict[str, int]:
        """Sensitive cells open to readers, to contributors exactly, and by level."""
        rows = self.cells()
        cells: list[Cell] = [named(self.names, row) for row in rows]
        value = {cell: float(v) for cell, v in zip(cells, self.table.sums["sales"], strict=True)}
        trees = {name: [dict.fromkeys(CODES, "Total")] for name in self.names}
        sums = sums_over(rows, trees)
        shown = done.tables[0].to_polars()
        blank = {
            named(self.names, row)
            for row, own in zip(shown.select(self.names).rows(), shown["value"], strict=True)
            if own is None
        }
        levels, exact = {}, {}
        for at in np.flatnonzero(self.primary.sensitive):
            own, upper = value[cells[at]], float(self.primary.upper[at])
            lower = min(float(self.primary.lower[at]), own - 1)
            levels[cells[at]] = Demand(own, lower, upper)
            exact[cells[at]] = Demand(own)
        lone = {cell: n for cell, n in zip(cells, self.table.count, strict=True) if n == 1}

        def attacker(unknown: set[Cell]) -> Attacker:
            rest = {cell: own for cell, own in value.items() if cell not in unknown}
            return Attacker(rest, {cell: (1.0, 2 * value[cell]) for cell in unknown}, sums)

        found = {"public": len(attacker(blank).open_cells(levels)), "exactly": 0, "by level": 0}
        computed, near = set(), set()
        everything = set(cells)
        for own in self.insiders(blank, lone):
            inside = attacker(blank - own)
            watched = {cell for cell in levels if cell in blank - own}
            left = inside.open_cells({cell: levels[cell] for cell in watched})
            # What nobody can keep from him, whatever else is suppressed, is no fault of a pattern.
            beyond = attacker(everything - own).open_cells({cell: levels[cell] for cell in left})
            near |= set(left) - set(beyond)
            computed |= set(inside.open_cells({cell: exact[cell] for cell in left}))
            computed -= set(attacker(everything - own).open_cells({c: exact[c] for c in computed}))
        return {**found, "exactly": len(computed), "by level": len(near)}

    def insiders(self, blank: set[Cell], lone: dict[Cell, int]) -> list[set[Cell]]:
        """The suppressed cells of each contributor who is alone in some."""
        own: dict[Any, set[Cell]] = {}
        for at, row in enumerate(self.records.iter_rows(named=True)):
            for codes in self.above([row[name] for name in self.names]):
                cell = named(self.names, codes)
                if cell in lone and cell in blank:
                    own.setdefault(at, set()).add(cell)
        return list(own.values())

    def above(self, codes: list[str]) -> list[tuple[str, ...]]:
        """All cells that a record counts in."""
        ways: list[tuple[str, ...]] = [()]
        for code in codes:
            ways = [(*way, each) for way in ways for each in (code, "Total")]
        return ways

    # -- the other engine ----------------------------------------------------------

    def written(self, folder: Path) -> None:
        """The records as the other engine reads them."""
        meta = []
        for at, name in enumerate(self.names):
            meta += [f"{name} {1 + 2 * at} 1 9", "  <RECODEABLE>"]
        meta += [f"Var2 {1 + 2 * len(self.names)} 12 999999999999", "  <NUMERIC>"]
        lines = [f"{' '.join(row[:-1])} {row[-1]:12d}" for row in self.records.rows()]
        (folder / "firms.asc").write_text("\n".join(lines) + "\n")
        (folder / "firms.rda").write_text("\n".join(meta) + "\n")
        spanning = "".join(f'"{name}"' for name in self.names)
        (folder / "firms.arb").write_text(BATCH.format(records="firms", spanning=spanning))


THEIRS = """
import sys, os, time
from pathlib import Path
from pytauargus.engine import Engine
from pytauargus.batch import Suppress
os.chdir(sys.argv[1])
engine = Engine(); engine.run_batch(Path("firms.arb").resolve())
def write(name):
    low, high = engine._table_cell_bounds(0)
    assert engine._tau.write_jj_format(0, name, low, high, False, False, False)
write("table.jj")
began = time.process_time()
engine.suppress(Suppress(kind=sys.argv[2], tab_no=1))
print(time.process_time() - began)
write("done.jj")
"""


def theirs(firms: Firms, kind: str, seconds: float) -> dict[str, Any] | None:
    """Cost, open cells and time of the other engine, and what our methods cost for its problem."""
    from discreet.protection.suppression import find_pattern
    from discreet_argus import read_jj

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        firms.written(folder)
        command = [sys.executable, "-c", THEIRS, name, kind]
        try:
            said = subprocess.run(
                command, capture_output=True, text=True, check=True, timeout=seconds
            )
        except (subprocess.SubprocessError, OSError):
            return None
        spent = float(said.stdout.split()[-1])
        listed = Listed.read(folder / "done.jj")
        hidden = [at for at, mark in enumerate(listed.marks) if mark in "um"]
        problem = read_jj(folder / "table.jj")
        before = Listed.read(folder / "table.jj")
        mask = np.zeros(len(problem), dtype=np.bool_)
        mask[hidden] = True
        return {
            "cost": problem.cost_of(mask),
            "open": len(before.open_cells(hidden)),
            "cpu": spent,
            "ours": {way: find_pattern(problem, way).cost for way in OURS},
        }


def summary(lines: list[dict[str, Any]]) -> list[str]:
    """A line for each number of variables and share of sensitive cells."""
    told = [
        "| variables, sensitive | tables | cells, sensitive | cost: exact, levels | cost / bound | "
        "open to the public | open: off | exact | levels | CPU s | beside pytauargus: fast, auto |",
        "|---|" + "---:|" * 10,
    ]
    groups: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for line in lines:
        if not any("refused" in line[aim] for aim in AIMS):
            share = list(RATES)[line["seed"] // 3 % 3]
            groups.setdefault((share, line["variables"]), []).append(line)
    for (share, variables), own in sorted(groups.items()):
        total = {
            aim: {key: sum(line[aim][key] for line in own) for key in own[0][aim]} for aim in AIMS
        }
        least = max(total["off"]["cost"], 1)
        found = [line["pytauargus"] for line in own if line.get("pytauargus")]
        beside = [
            f"{sum(one['ours'][way] for one in found) / sum(one['cost'] for one in found):.3f}"
            for way in OURS
            if found
        ]
        cells, sensitive = (sum(x[k] for x in own) // len(own) for k in ("cells", "sensitive"))
        parts = [
            f"{variables}, {share} %",
            f"{len(own)}",
            f"{cells}, {sensitive}",
            ", ".join(f"{total[aim]['cost'] / least:.2f}" for aim in AIMS[1:]),
            ", ".join(f"{total[aim]['cost'] / max(total[aim]['bound'], 1):.2f}" for aim in AIMS),
            f"{sum(total[aim]['public'] for aim in AIMS)}",
            *(f"{total[aim]['exactly']}, {total[aim]['by level']}" for aim in AIMS),
            ", ".join(f"{total[aim]['cpu'] / len(own):.1f}" for aim in AIMS),
            f"{', '.join(beside)} ({len(found)})" if found else "–",
        ]
        told.append(f"| {' | '.join(parts)} |")
    return told


#: What counts as closed, and the seconds of the processor for it.
_CLOSED, _SECONDS = 0.01, 60.0


def closing(firms: Firms, aim: str) -> dict[str, Any]:
    """The gap at the end, and when it came below 1 % or the work ended."""
    began, near = time.process_time(), []

    def tell(line: str) -> None:
        figures = re.match(r"best ([\d,]+), bound ([\d,]+)", line)
        if figures:
            best, bound = (int(figure.replace(",", "")) for figure in figures.groups())
            near.extend([time.process_time() - began] * (best <= (1 + _CLOSED) * bound))

    source = (firms.table, firms.primary)
    pattern = Suppression.of(source, method="auto", insiders=aim, progress=tell).pattern
    spent = time.process_time() - began
    gap = pattern.cost / max(pattern.bound, 1) - 1 if pattern.cost else 0.0
    in_time = gap < _CLOSED and min([*near, spent]) <= _SECONDS
    return {"cost": pattern.cost, "bound": pattern.bound, "gap": gap, "cpu": spent, "in": in_time}


def closed(number: int, sizes: list[int]) -> None:
    """One line of JSON per two-way table, and a line of a table per size and kind."""
    told = ["| cells | kind | aim | closed | gap: median, largest | CPU s: median, most |"]
    told.append("|---:|---|---|---:|---:|---:|")
    for cells, layered, aim in product(sizes, (False, True), ("off", "levels")):
        lines = []
        for share, seed in product(RATES, range(number)):
            line = closing(Firms.two_way(seed, cells, share, layered), aim)
            kind = {"cells": cells, "layered": layered, "aim": aim, "share": share, "seed": seed}
            print(json.dumps({**kind, **line}), flush=True)
            lines.append(line)
        gap, cpu = (sorted(line[key] for line in lines) for key in ("gap", "cpu"))
        middle, done = len(lines) // 2, sum(line["in"] for line in lines)
        told.append(
            f"| {cells:,} | {'layered' if layered else 'flat'} | {aim} | {done} of {len(lines)} | "
            f"{gap[middle]:.1%}, {gap[-1]:.1%} | {cpu[middle]:.0f}, {cpu[-1]:.0f} |"
        )
    print("\n".join(told))


def main() -> None:
    """One line of JSON per table, and sums by number of variables and share."""
    if sys.argv[1:2] == ["closed"]:
        number, *sizes = [*map(int, sys.argv[2:])] or [2]
        closed(number, sizes or [200, 500, 1_000, 2_000])
        return
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    method = sys.argv[2] if len(sys.argv) > 2 else "fast"
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    lines = []
    for seed in range(number):
        firms = Firms.drawn(seed)
        line: dict[str, Any] = {
            "seed": seed,
            "variables": len(firms.names),
            "cells": len(firms.table),
            "sensitive": int(firms.primary.sensitive.sum()),
        }
        for aim in AIMS:
            began = time.process_time()
            try:
                done = firms.protected(method, aim)
            except SuppressionError as error:
                line[aim] = {"refused": error.code}
                continue
            spent = round(time.process_time() - began, 2)
            line[aim] = {
                "cost": done.pattern.cost,
                "bound": done.pattern.bound,
                "cpu": spent,
                **firms.opened(done),
            }
        if seconds:  # without levels its modular method is its optimal one
            line["pytauargus"] = theirs(firms, "OPT", seconds)
        print(json.dumps(line), flush=True)
        lines.append(line)
    print("\n".join(summary(lines)))


if __name__ == "__main__":
    main()
