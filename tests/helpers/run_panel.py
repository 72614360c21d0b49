"""A synthetic panel of persons and years, and do-files run on it, for tests of the runner."""

import random
from pathlib import Path

import numpy as np
import polars as pl

from discreet_fire.runners.builtin.runner import BUILTIN
from discreet_fire.runners.protocol import RunResult, Witness, run_program
from discreet_fire.statistics import SafeLimits

#: A program of forty statements, among them some that would show single persons.
FORTY_STATEMENTS = """\
* Wages in a panel: forty statements
version 17
set more off
use "panel.dta", clear
xtset pid year
recode region (1 = 1 "west") (2 = 2 "south") (3/4 = 3 "east"), generate(place)
generate lwage = ln(wage)
generate part = hours < 30 if !missing(hours)
replace part = 0 if missing(part)
generate long id = pid
drop id
generate younger = year < 2018
summarize wage hours
summarize wage if sex == 1, detail
summarize hours if year == 2017
tabulate part sex
list pid wage in 1/5
tabulate place sex, row
bysort region: tabulate sex
tabstat wage, statistics(mean sd n) by(region)
count if wage > 3000
summarize lwage if region == 1
summarize lwage if region == 2
summarize lwage if region == 3
tabulate younger
bysort region: summarize lwage
inspect wage
codebook region
scatter wage hours
regress lwage hours i.sex i.region, vce(cluster pid)
tabulate year
regress lwage hours i.sex##c.year
generate hours2 = hours * hours
regress wage hours hours2 sex
utest hours hours2
xtsum wage
xtdescribe
sort firm
by firm: summarize wage
keep if year > 2016
summarize younger
count
"""


def run_do(
    path,
    *,
    data=None,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    seconds: float | None = None,
    witness: Witness | None = None,
) -> RunResult:
    """Run a do-file in the small Stata, on one data file or several."""
    several = [data] if isinstance(data, str | Path) else data or []
    return run_program(
        BUILTIN,
        Path(path),
        data=[Path(one) for one in several],
        limits=limits or SafeLimits(),
        entity=entity,
        seed=0,
        seconds=seconds,
        witness=witness,
    )


def panel(persons: int = 120, years: int = 4, seed: int = 7) -> pl.DataFrame:
    """Persons × years with wages, hours, firms, regions; the same every time."""
    draw = random.Random(seed)
    rows = []
    for person in range(1, persons + 1):
        sex, region = draw.randint(0, 1), draw.randint(1, 4)
        firm, level = draw.randint(1, 12), draw.gauss(2400, 350)
        for year in range(2016, 2016 + years):
            hours = draw.gauss(36 - 6 * sex, 5)
            wage = level + 18 * (hours - 33) - 150 * sex + 40 * (year - 2016) + draw.gauss(0, 120)
            rows.append(
                {
                    "pid": person,
                    "year": year,
                    "sex": sex,
                    "region": region,
                    "firm": firm,
                    "hours": None if draw.random() < 0.04 else round(hours, 1),
                    "wage": round(wage, 2),
                    "weight": draw.randint(1, 4),
                }
            )
    return pl.DataFrame(rows)


def counties() -> pl.DataFrame:
    """Counties of two regions; county 9 has four people, whose neighbour in size is elsewhere."""
    rng = np.random.default_rng(3)
    sizes = [90, 75, 98, 76, 4]
    county = np.concatenate([np.repeat([1, 2, 3, 4, 9], sizes), np.arange(400) % 4 + 20])
    sex = rng.integers(1, 3, county.size)
    sex[county == 9] = [1, 1, 2, 2]
    east = (county < 10) & (county != 2)
    return pl.DataFrame({"cty": county, "region": np.where(east, "E", "W"), "sex": sex})


def run(text: str, folder: Path, frame: pl.DataFrame | None = None, **options) -> RunResult:
    """Run a do-file on the panel, or on another frame."""
    data = folder / "panel.parquet"
    (panel() if frame is None else frame).write_parquet(data)
    program = folder / "program.do"
    program.write_text(text, encoding="utf-8")
    return run_do(program, data=data, **options)


def shown(result: RunResult) -> str:
    """The log below its head."""
    return result.log.split("-" * 79 + "\n", 2)[2]


def numbers(line: str) -> list[float]:
    """The numbers of a line behind the bar."""
    return [float(x.replace(",", "")) for x in line.split("|", 1)[1].split() if x != "."]


def line_of(text: str, label: str) -> str:
    """The line of a table with a label."""
    return next(line for line in text.splitlines() if line.split("|")[0].strip() == label)
