"""Regional tables of 10,787 municipalities: decisions, files, thresholds, and what hiding is worth.

    python bench/regional.py [--persons 10_000_000] [--folder /tmp]

Made-up municipalities have very different sizes, districts 27 of them on average. The attacker
knows the true figures of all that is shown, without noise, and that counts are not negative.
Seconds are those of the wall: the machine should do nothing else.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import polars as pl

import discreet as dc
from discreet.demo import example_perturbation_table
from discreet.protection.parts import PartDecisions, area_shares
from discreet.release import protect
from discreet.tables import Table

PLACES = 10_787
DISTRICTS = 400
RULES: dict[str, Any] = {"max_share_small": 0.7, "min_average_size": 1.5}

PROGRAMME = """
[data]
source = "people.parquet"
[keys]
column = "record_key"
[perturbation]
table = "ptable.csv"
[parts]
max_share_small = 0.7
min_average_size = 1.5
[variables.region]
prefixes = [2, 5, 10]
[variables.ages]
column = "age"
intervals = [0, 18, 30, 50, 65, 75]
[tables.T1]
by = ["region", "sex", "ages", "citizenship"]
formats = ["csv"]
areas = { variable = "region", level = 3 }
"""


def persons(number: int) -> pl.DataFrame:
    """Persons with sex, age and citizenship in municipalities."""
    draw = np.random.default_rng(3)
    size = draw.lognormal(0, 1.5, PLACES)
    place = draw.choice(PLACES, number, p=size / size.sum())
    codes = [f"{i % 16 + 1:02d}{i % DISTRICTS:03d}{i:05d}" for i in range(PLACES)]
    return pl.DataFrame(
        {
            "region": pl.Series(codes).gather(place),
            "sex": draw.choice(["m", "w"], number),
            "age": draw.integers(0, 90, number),
            "citizenship": draw.choice(["de", "eu", "other"], number, p=[0.85, 0.07, 0.08]),
            "record_key": draw.integers(0, 10**15, number),
        }
    )


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long something took."""
    start = time.perf_counter()
    yield
    print(f"{what:<52}{time.perf_counter() - start:8.1f} s", flush=True)


def counted(people: pl.DataFrame) -> Table:
    """Region with three levels × sex × six groups of age × citizenship."""
    codes = people["region"].unique().sort().to_list()
    region = dc.Classification.from_prefixes("region", codes, [2, 5, 10])
    region = region.replace(level_names=("state", "district", "municipality"))
    ages = dc.Classification.from_intervals("age", [0, 18, 30, 50, 65, 75])
    return dc.tabulate(people, [region, "sex", ages, "citizenship"], record_key="record_key")


def bounded(
    table: Table,
    hidden: Mapping[str, frozenset[tuple[int, ...]]],
    most: int,
    *,
    above: bool = True,
) -> str:
    """How many hidden inner counts linear programming determines, in some districts.

    Args:
        table: The table.
        hidden: What is hidden of areas.
        most: So many districts are looked at.
        above: Whether the districts and the other areas are shown; else an area is alone.
    """
    region = table.dimensions[0]
    shape = (len(region), *(len(each) for each in table.dimensions[1:]))
    count = np.zeros(shape)
    count[table.index] = table.count
    inner = (0, 0, 0)
    by_district: dict[int, list[int]] = {}
    for code, parts in hidden.items():
        if inner in parts and region.levels[region.index[code]] == 3:
            at = region.index[code]
            by_district.setdefault(int(region.parents[at]), []).append(at)
    tried = determined = 0
    for areas in list(by_district.values())[:most]:
        own = [hidden[region.codes[at]] for at in areas]
        lows, highs = _bounds(count[areas], own, above=above)
        there = count[areas][:, 1:, 1:, 1:].ravel() > 0
        tried += int(there.sum())
        determined += int((highs - lows < 0.5)[there].sum())
    return f"{determined:,} of {tried:,} hidden counts that are not zero ({determined / tried:.1%})"


def _bounds(
    count: np.ndarray, hidden: list[frozenset[tuple[int, ...]]], *, above: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The range of each hidden inner cell, given their sums over areas and the margins shown."""
    inner = count[:, 1:, 1:, 1:]
    number = np.arange(inner.size).reshape(inner.shape)
    sums = np.ndindex(inner.shape[1:]) if above else ()
    rows = [(number[:, i, j, k], inner[:, i, j, k].sum()) for i, j, k in sums]
    for area, parts in enumerate(hidden):
        for part in np.ndindex(2, 2, 2):  # 1: the total of a variable
            if sum(part) and tuple(part) not in parts:
                axes = tuple(at for at in range(3) if part[at])
                moved = np.moveaxis(number[area], axes, range(len(axes)))
                moved = moved.reshape(-1, *moved.shape[len(axes) :])
                cells = moved.reshape(moved.shape[0], -1).T
                rows += [(each, inner.ravel()[each].sum()) for each in cells]
    model: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    model.setOptionValue("output_flag", False)
    for _ in range(inner.size):
        model.addVar(0, highspy.kHighsInf)
    for cells, total in rows:
        model.addRow(total, total, len(cells), np.array(cells, np.int32), np.ones(len(cells)))
    found = np.zeros((2, inner.size))
    for cell in range(inner.size):
        for side, sense in enumerate((highspy.ObjSense.kMinimize, highspy.ObjSense.kMaximize)):
            model.changeColCost(cell, 1.0)
            model.changeObjectiveSense(sense)
            model.run()
            found[side, cell] = model.getInfo().objective_function_value
            model.changeColCost(cell, 0.0)
    return found[0], found[1]


def write_programme(folder: Path, people: pl.DataFrame) -> Path:
    """The programme, and all that it names."""
    folder.mkdir(exist_ok=True)
    people.write_parquet(folder / "people.parquet")
    example_perturbation_table().write(folder / "ptable.csv")
    programme = folder / "programme.toml"
    programme.write_text(PROGRAMME)
    return programme


def files_of_areas(place: Path, number: int) -> Callable[[], object]:
    """A release with a file for each municipality."""
    programme = write_programme(place / f"areas_{number}", persons(number))
    return lambda: protect(programme, programme.parent / "out", resume=False)


def plain_files(place: Path, number: int) -> Callable[[], object]:
    """The bytes of these files, written one after another and nothing else."""
    files_of_areas(place, number)()
    out = place / f"areas_{number}" / "out"
    contents = {path.name: path.read_bytes() for path in out.glob("*.csv")}
    plain = place / f"areas_{number}" / "plain"

    def run() -> None:
        shutil.rmtree(plain, ignore_errors=True)
        plain.mkdir()
        for name, content in contents.items():
            (plain / name).write_bytes(content)

    return run


TASKS = {"files of areas": files_of_areas, "files of areas, plainly": plain_files}


def main() -> None:
    """Count, decide, attack, tune and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=10_000_000)
    parser.add_argument("--folder", default=None)
    given = parser.parse_args()
    people = persons(given.persons)
    with timed("counting"):
        table = counted(people)
    print(f"{len(people):,} persons, {len(table):,} cells with records")
    rules = dc.PartRules(**RULES)
    with timed("decisions, levels as a whole"):
        dc.check_parts(table, rules)
    with timed("decisions, area by area"):
        decided = dc.check_parts(table, rules, areas="region")
    _shares(table, decided)
    assert decided.areas is not None
    hidden = decided.areas.hidden
    print("determined by linear programming in 20 districts, of hidden inner counts:")
    print("  by the margins of their area alone: " + bounded(table, hidden, 20, above=False))
    print("  by all that is shown: " + bounded(table, hidden, 20))
    alone = {
        code: parts
        for code, parts in hidden.items()
        if dc.check_parts(_own(people, code), rules).suppressed
    }
    single = {code: hidden[code] for code in {code[:5]: code for code in alone}.values()}
    print("  if one area of a district were hidden: " + bounded(table, single, 20))
    with timed("thresholds: 4 sets tried"):
        vary = {"max_share_small": [0.5, 0.6, 0.7, 0.8]}
        print(dc.tune_parts([table], vary, rules=rules, areas="region").text())
    safe = dc.suppress_parts(dc.perturb(table, example_perturbation_table()), decided)
    with timed("cut into tables of municipalities"):
        tables = sum(1 for _ in dc.area_tables(safe, "region", "municipality"))
    print(f"{tables:,} tables")
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        write_programme(folder, people)
        with timed("the release, from records to files"):
            made = protect(folder / "programme.toml", folder / "out")
        with timed("the release, once more"):
            protect(folder / "programme.toml", folder / "out")
        print(f"{made.files:,} files")


def _own(people: pl.DataFrame, code: str) -> Table:
    """The table of one area by itself."""
    ages = dc.Classification.from_intervals("age", [0, 18, 30, 50, 65, 75])
    sex = dc.Classification.flat("sex", ["m", "w"])
    citizenship = dc.Classification.flat("citizenship", ["de", "eu", "other"])
    own = people.filter(pl.col("region").str.starts_with(code))
    return dc.tabulate(own, [sex, ages, citizenship])


def _shares(table: Table, decided: PartDecisions) -> None:
    assert decided.areas is not None
    shares = area_shares(table.dimensions, decided.suppressed, decided.areas)
    for each in shares:
        if not each.within:
            print(f"  {each.level}: {each.share_complete:.2%} of {each.areas:,} shown completely")
    states = [
        each.share_complete for each in shares if each.level == "municipality" and each.within
    ]
    print(f"  municipalities of a state: {min(states):.2%} at least")


if __name__ == "__main__":
    main()
