"""Cell suppression beside the public engine of τ-ARGUS: same tables, same rule, same cells.

Tables of a published file of business records, made by that engine under the p% rule and
written as problems. Each method gets the same file; only the search is timed. What comes out
is judged by an attacker written apart (tests/helpers/attacker_apart.py) and by our audit.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from comparisons import OURS, PUBLIC

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

Task = Callable[[Path, int], Callable[[], object]]

#: Spanning variables of each table, by their names in the file.
SPANS = {
    "SizeReg": ("Size", "Region"),
    "YearSizeReg": ("Year", "Size", "Region"),
    "SizeInd": ("Size", "IndustryCode"),
    "RegInd": ("Region", "IndustryCode"),
    "SizeRegInd": ("Size", "Region", "IndustryCode"),
}
THEIRS = {"modular": "MOD", "optimal": "OPT"}
#: What is audited: the table, and which method made its pattern.
AUDITED = {"SizeReg": "modular", "RegInd": "modular", "SizeRegInd": "hypercube"}

METADATA = """Year 1 2 99
  <RECODEABLE>
IndustryCode 4 5 99999
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "industry.hrc"
  <HIERLEADSTRING> "@"
Size 9 2 99
  <RECODEABLE>
Region 12 2 99
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "region2.hrc"
  <HIERLEADSTRING> "@"
Var2 28 10 9999999999
  <NUMERIC>
  <DECIMALS> 2
"""
#: Random firms: two variables of many codes, one of two, and a turnover.
FIRMS = """Branch 1 4 9999
  <RECODEABLE>
Place 6 4 9999
  <RECODEABLE>
Kind 11 1 9
  <RECODEABLE>
Var2 13 12 999999999999
  <NUMERIC>
"""
#: Farms: a place and a type in their levels, a size, a legal form, and an area.
FARMS = """Region 1 7 9999999
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "{name}-region.hrc"
  <HIERLEADSTRING> "@"
Farming 9 7 9999999
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "{name}-farming.hrc"
  <HIERLEADSTRING> "@"
Size 17 2 99
  <RECODEABLE>
Form 20 1 9
  <RECODEABLE>
Var2 22 12 999999999999
  <NUMERIC>
"""
#: Firms per inner cell that make about so many per cent of the occupied cells sensitive.
RATES = {10: 16.0, 40: 5.0, 70: 1.8}
BATCH = """<OPENMICRODATA> "{records}.asc"
<OPENMETADATA> "{records}.rda"
<SPECIFYTABLE> {spanning}|"Var2"|"Var2"|"Var2"
<SAFETYRULE> P(10,1)
<READMICRODATA>
"""


def reference() -> Path | None:
    """Where the published records are: DISCREET_REFERENCE, or beside the repository."""
    named = os.environ.get("DISCREET_REFERENCE")
    folder = Path(named).resolve() if named else ROOT.parent / "shared" / "reference"
    return folder / "argus" if (folder / "argus").is_dir() else None


# -- tables ---------------------------------------------------------------------


def _files(folder: Path) -> Path:
    """The records and their metadata, as the engine reads them."""
    from tests.helpers.business_tables import industries, records

    source, place = reference(), folder / "argus"
    if source is None:
        raise SystemExit("no reference data: set DISCREET_REFERENCE to their folder")
    if (place / "records.rda").exists():
        return place
    place.mkdir(exist_ok=True)
    (place / "records.asc").write_bytes(gzip.decompress((source / "tau_testW.asc.gz").read_bytes()))
    (place / "region2.hrc").write_bytes((source / "region2.hrc").read_bytes())
    tree = industries({row["Ind"] for row in records(source)})
    lines = _tree_lines(tree, "Total", "")
    (place / "industry.hrc").write_text("\n".join(lines) + "\n")
    (place / "records.rda").write_text(METADATA)
    return place


def _tree_lines(tree: dict[str, str | None], above: str, lead: str) -> list[str]:
    lines = []
    for code in sorted(code for code, parent in tree.items() if parent == above):
        lines += [lead + code, *_tree_lines(tree, code, lead + "@")]
    return lines


def random_firms(place: Path, cells: int, share: int) -> tuple[str, str, str]:
    """Records of firms whose table has about so many cells, so many per cent sensitive."""
    name, side = f"firms-{cells}-{share}", max(3, round((cells / 3) ** 0.5) - 1)
    if (place / f"{name}.rda").exists():
        return name, *_FIRM_SPANS
    draw = np.random.default_rng([cells, share])
    sizes = (side, side, 2)
    weight = np.ones(1)
    for size in sizes:
        weight = np.multiply.outer(weight, 1.0 / np.arange(1, size + 1) ** 0.5)
    number = draw.poisson(RATES[share] * weight.size * weight.ravel() / weight.sum())
    at = np.unravel_index(np.repeat(np.arange(weight.size), number), sizes)
    sales = np.maximum(1, draw.lognormal(5.0, 2.0, at[0].size)).astype(np.int64)
    rows = zip(*(axis.tolist() for axis in (*at, sales)), strict=True)
    lines = (f"{b:04d} {p:04d} {k:d} {v:12d}" for b, p, k, v in rows)
    place.mkdir(exist_ok=True)
    (place / f"{name}.asc").write_text("\n".join(lines) + "\n")
    (place / f"{name}.rda").write_text(FIRMS)
    return name, *_FIRM_SPANS


_FIRM_SPANS = ("Branch", "Place", "Kind")


def farm_survey(place: Path, cells: int) -> tuple[str, ...]:
    """Records of the survey in `bench/sparse.py`, with about so many occupied cells."""
    from sparse import PER_FARM, PER_PLACE, farming, farms, places

    name, regions = f"farms-{cells}", max(10, cells // PER_PLACE)
    if (place / f"{name}.rda").exists():
        return name, *_FARM_SPANS
    place.mkdir(exist_ok=True)
    for tree in (places(regions), farming()):
        tree.write(place / f"{name}-{tree.name}.hrc")
    rows = farms(max(60, int(cells / PER_FARM)), regions).rows()
    lines = (f"{r} {f} {s:02d} {k} {v:12d}" for r, f, s, k, v in rows)
    (place / f"{name}.asc").write_text("\n".join(lines) + "\n")
    (place / f"{name}.rda").write_text(FARMS.format(name=name))
    return name, *_FARM_SPANS


_FARM_SPANS = ("Region", "Farming", "Size", "Form")


def _engine(folder: Path, name: str) -> Any:
    """The other engine with one table, its sensitive cells marked."""
    from pytauargus.engine import Engine

    if name.startswith("firms"):
        place = folder.resolve() / "argus"
        place.mkdir(exist_ok=True)
        _, cells, share = name.split("-")
        records, *variables = random_firms(place, int(cells), int(share))
    elif name.startswith("farms"):
        place = folder.resolve() / "argus"
        place.mkdir(exist_ok=True)
        records, *variables = farm_survey(place, int(name.split("-")[1]))
    else:
        place, records, variables = _files(folder.resolve()), "records", list(SPANS[name])
    spanning = "".join(f'"{variable}"' for variable in variables)
    batch = place / f"{name}.arb"
    batch.write_text(BATCH.format(records=records, spanning=spanning))
    # It leaves files where it is started, and crashed beside those of another run.
    os.chdir(place)
    engine = Engine()
    engine.run_batch(batch)
    return engine


def _written(engine: Any, path: Path) -> Path:
    """The table as it stands, as a problem in a file."""
    low, high = engine._table_cell_bounds(0)
    if not engine._tau.write_jj_format(0, str(path), low, high, False, False, False):
        raise SystemExit("the other engine did not write the table")
    return path


def problem_file(folder: Path, name: str) -> Path:
    """The problem of a table, made by the other engine once."""
    path = folder / f"{name}.jj"
    return path if path.exists() else _written(_engine(folder, name), path)


def pattern_file(folder: Path, name: str) -> Path:
    """The same with the pattern that is audited, by one of our methods."""
    from discreet.protection.suppression import find_pattern
    from discreet_argus import read_jj, write_jj

    path = folder / f"{name}-hidden.jj"
    if not path.exists():
        problem = read_jj(problem_file(folder, name))
        pattern = find_pattern(problem, AUDITED[name])  # type: ignore[arg-type]
        write_jj(problem.with_hidden(pattern.hidden), path)
    return path


# -- judging ----------------------------------------------------------------------


#: Larger tables are judged by our audit only: the attacker apart takes hours.
_APART = 15_000


class Judged:
    """A pattern, to be judged when the clock has stopped."""

    def __init__(self, path: Path, hidden: Sequence[int], bound: int | None = None) -> None:
        self.path, self.hidden, self.bound = path, hidden, bound

    def told(self) -> dict[str, Any]:
        """Cost, secondaries and open cells, by the attacker apart and by our audit."""
        from discreet.protection.suppression.proof.certificate import certify
        from discreet_argus import read_jj
        from tests.helpers.attacker_apart import Listed

        problem = read_jj(self.path)
        listed = Listed.read(self.path) if len(problem) <= _APART else None
        mask = np.zeros(len(problem), dtype=np.bool_)
        mask[list(self.hidden)] = True
        return {
            "cells": len(problem),
            "sensitive": len(problem.primary),
            "secondaries": len(self.hidden) - len(problem.primary),
            "cost": problem.cost_of(mask),
            "bound": self.bound,
            "open outside": None if listed is None else len(listed.open_cells(self.hidden)),
            "open inside": len(certify(problem, mask).unprotected),
        }


def ours(name: str, method: Any) -> Task:
    """Find a pattern with one of our methods."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        from discreet.protection.suppression import find_pattern
        from discreet_argus import read_jj

        path = problem_file(folder, name)
        find_pattern(read_jj(problem_file(folder, "SizeReg")), method)  # loads compiled code
        problem = read_jj(path)

        def run() -> Judged:
            pattern = find_pattern(problem, method)
            return Judged(path, np.flatnonzero(pattern.hidden).tolist(), pattern.bound)

        return run

    return set_up


def theirs(name: str, method: str) -> Task:
    """Find a pattern with the other engine."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        from pytauargus.batch import Suppress

        path, engine = problem_file(folder, name), _engine(folder, name)

        class Written:
            def told(self) -> dict[str, Any]:
                done = _written(engine, folder / f"{name}-{method}-theirs.jj")
                # Two builds of one solver in a process crash: another process judges.
                command = [sys.executable, str(Path(__file__).resolve()), str(path), str(done)]
                said = subprocess.run(command, capture_output=True, text=True, check=True)
                figures: dict[str, Any] = json.loads(said.stdout)
                return figures

        def run() -> Written:
            engine.suppress(Suppress(kind=THEIRS[method], tab_no=1))
            return Written()

        return run

    return set_up


def our_audit(name: str) -> Task:
    """Prove for each sensitive cell that it is protected, or refute it."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        from discreet.protection.suppression.proof.certificate import certify
        from discreet_argus import read_jj

        problem = read_jj(pattern_file(folder, name))
        small = read_jj(problem_file(folder, "SizeReg"))
        certify(small, small.hidden)  # loads compiled code

        def run() -> Verdict:
            found = certify(problem, problem.hidden)
            return Verdict(int(problem.hidden.sum()), len(found.unprotected))

        return run

    return set_up


def their_audit(name: str) -> Task:
    """Work out the interval of each hidden cell with the other engine."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        from pytauargus._tauargus import audit_jj

        path = str(pattern_file(folder.resolve(), name))
        os.chdir(folder)  # it leaves files where it is started

        def run() -> Verdict:
            rows = audit_jj(path)
            return Verdict(len(rows), sum(bool(row["unsafe"]) for row in rows))

        return run

    return set_up


class Verdict:
    """What an audit found."""

    def __init__(self, hidden: int, open_cells: int) -> None:
        self.hidden, self.open_cells = hidden, open_cells

    def told(self) -> dict[str, Any]:
        """For the parent process."""
        return {"hidden": self.hidden, "open": self.open_cells}


def public(name: str, method: Any) -> Task:
    """Find a pattern for a public problem of the reference data, made additive if it is not."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        from discreet.protection.suppression import find_pattern
        from discreet_argus import read_jj, write_jj
        from discreet_argus.jj import repaired_problem

        source = reference()
        if source is None:
            raise SystemExit("no reference data: set DISCREET_REFERENCE to their folder")
        given = read_jj(source.parent / "suppression" / f"{name}.jj.gz")
        problem = repaired_problem(given.with_hidden(given.hidden & (given.state == 1)))[0]
        path = folder / f"{name}.jj"
        write_jj(problem, path)

        def run() -> Judged:
            pattern = find_pattern(problem, method)
            return Judged(path, np.flatnonzero(pattern.hidden).tolist(), pattern.bound)

        return run

    return set_up


def firms(task: Callable[[str, str], Task], share: int, method: str) -> Task:
    """A task on random firms; the size says how many cells."""
    return lambda folder, rows: task(f"firms-{rows}-{share}", method)(folder, rows)


TASKS: dict[str, Task] = {
    **{f"discreet {way} {name}": public(name, way) for name in PUBLIC for way in ("fast", "auto")},
    **{f"discreet {way} firms {n}": firms(ours, n, way) for n in RATES for way in ("fast", "auto")},
    **{f"pytauargus modular firms {n}": firms(theirs, n, "modular") for n in RATES},
    **{f"discreet {method} {name}": ours(name, method) for name in SPANS for method in OURS},
    **{f"pytauargus {method} {name}": theirs(name, method) for name in SPANS for method in THEIRS},
    **{f"discreet audit {name}": our_audit(name) for name in AUDITED},
    **{f"pytauargus audit {name}": their_audit(name) for name in AUDITED},
}


def main() -> None:
    """Judge the pattern of a second file by the problem of a first one."""
    from tests.helpers.attacker_apart import Listed

    path, done = map(Path, sys.argv[1:])
    hidden = [at for at, mark in enumerate(Listed.read(done).marks) if mark in "um"]
    print(json.dumps(Judged(path, hidden).told()))


if __name__ == "__main__":
    main()
