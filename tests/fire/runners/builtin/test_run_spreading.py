"""A value of one person must not be handed to many records, where no rule would see it."""

from __future__ import annotations

import polars as pl
import pytest

from tests.helpers.run_data import Run

PERSONS = 40
FRAME = pl.DataFrame(
    {
        "pid": [who for who in range(PERSONS) for _ in range(2)],
        "year": [2001, 2002] * PERSONS,
        "region": [who % 4 for who in range(PERSONS) for _ in range(2)],
        "wage": [
            2_000 + 37 * who % 500 + year + (90_000 if who == 17 else 0)
            for who in range(PERSONS)
            for year in (1, 2)
        ],
    }
)
TOP = int(FRAME["wage"].max())

CARRIED = [
    "egen m = max(wage)",
    "egen m = max(wage), by(region)",
    "egen m = median(wage), by(region)",
    "egen m = total(cond(pid == 17, wage, 0))",
    "generate m = wage[_N]",
    "bysort region (wage): generate m = wage[_N]",
    "generate m = wage[35]",
    "generate m = sum(wage * (pid == 17))",
    "preserve\ncollapse (max) m = wage, by(region)\ntempfile t\nsave `t'\nrestore\n"
    "merge m:1 region using `t', nogenerate",
]


@pytest.mark.parametrize("lines", CARRIED)
def test_what_one_person_has_is_not_carried_out_by_many_records(lines):
    run = Run(f"{lines}\ngenerate z = wage - m\nsummarize z\ntabulate m", FRAME, entity="pid")
    before, _, shown = run.text.partition("(withheld)")
    assert shown.count("(withheld)") >= 1, before
    mean = FRAME["wage"].mean() - TOP
    assert f"{mean:.2f}"[:7] not in run.text
    assert str(TOP) not in run.text


ALLOWED = [
    "egen m = mean(wage), by(year)",
    "egen m = max(wage), by(pid)",
    "bysort pid (year): generate m = wage[1]",
    "bysort pid (year): generate m = wage[_n-1]",
    "collapse (max) m = wage, by(pid)",
]


@pytest.mark.parametrize("lines", ALLOWED)
def test_figures_of_persons_themselves_and_of_many_can_be_described(lines):
    frame = FRAME.filter(pl.col("pid") != 17)
    run = Run(f"{lines}\nsummarize m", frame, entity="pid")
    assert "(withheld)" not in run.text
    assert "m |" in run.text


#: One person's record, or one of each region, put beside all others.
ONE = "preserve\nkeep if pid == 7 & year == 2001\nrename wage w\n"
FIRST = "preserve\nbysort region (pid): keep if _n == 1\nrename wage w\n"
SAVED = "keep {} w\ntempfile t\nsave `t'\nrestore\n"
COPIED = [
    f"generate k = 1\n{ONE}{SAVED.format('k')}merge m:1 k using `t', nogenerate",
    f"generate k = 1\n{ONE}{SAVED.format('k')}joinby k using `t'",
    f"{ONE}{SAVED.format('')}cross using `t'",
    f"generate k = 1\ngenerate w = .\n{ONE.replace('rename wage w', 'replace w = wage')}"
    f"{SAVED.format('k')}merge m:1 k using `t', update nogenerate",
    f"{FIRST}{SAVED.format('region')}merge m:1 region using `t', nogenerate",
    f"{FIRST}collapse (mean) w, by(region)\n{SAVED.format('region')}"
    "merge m:1 region using `t', nogenerate",
    f"{FIRST}{SAVED.format('region')}append using `t'\n"
    "bysort region (w): replace w = w[_n-1] if missing(w)",
    f"{ONE}{SAVED.format('pid year')}merge 1:1 pid year using `t', nogenerate\n"
    "replace w = wage if pid == 8 & year == 2001\nipolate w pid, generate(v) epolate\n"
    "replace w = v",
    "preserve\ncollapse (mean) m = wage, by(region)\ntempfile s\nsave `s'\nrestore, preserve\n"
    "drop if pid == 7\ncollapse (mean) n = wage, by(region)\ntempfile t\nsave `t'\nrestore\n"
    "merge m:1 region using `s', nogenerate\nmerge m:1 region using `t', nogenerate\n"
    "generate w = m - n",
]


@pytest.mark.parametrize("lines", COPIED)
def test_copies_of_few_values_count_as_few(lines):
    """All had printed one wage, or one of each region, with a small number added."""
    after = "\ngenerate z = w + pid / 1000\ntabstat z, by(region)\nkeep if region == 3\nsummarize z"
    frame = FRAME.filter(pl.col("pid") != 17)
    run = Run(f"{lines}{after}", frame, entity="pid")
    assert run.text.count("(withheld)") >= 2, run.text
    assert "Mean" not in run.text


def test_a_file_of_copies_stays_one_of_copies(tmp_path):
    """Another run that reads the file knows which of its variables hold few values."""
    lines = f"{FIRST}{SAVED.format('region')}merge m:1 region using `t', nogenerate\nsave x"
    frame = FRAME.filter(pl.col("pid") != 17)
    Run(lines, frame, entity="pid", folder=tmp_path)
    again = Run("use x, clear\nsummarize w", frame, entity="pid", folder=tmp_path)
    assert "(withheld)" in again.text


MANY = [
    "preserve\ncollapse (mean) m = wage, by(region)\ntempfile t\nsave `t'\nrestore\n"
    "merge m:1 region using `t', nogenerate",
    "bysort pid (year): replace wage = wage[_n-1] if missing(wage)\ngenerate m = wage",
    "preserve\nkeep if year == 2001\nkeep pid wage\nrename wage m\ntempfile t\nsave `t'\n"
    "restore\nmerge m:1 pid using `t', nogenerate",
]


@pytest.mark.parametrize("lines", MANY)
def test_copies_of_many_values_and_of_ones_own_can_be_described(lines):
    frame = FRAME.filter(pl.col("pid") != 17)
    run = Run(f"{lines}\ngenerate z = wage + m\ntabstat wage z, by(region)", frame, entity="pid")
    assert "(withheld)" not in run.text.split("tabstat")[-1], run.text


#: One record of each person and year: persons become names of variables, years observations.
YEARS = pl.DataFrame(
    {
        "pid": [who for who in range(PERSONS) for _ in range(5)],
        "year": list(range(2001, 2006)) * PERSONS,
        "wage": [2_000 + 37 * who % 500 + 3 * at for who in range(PERSONS) for at in range(5)],
    }
)
WIDE = "reshape wide wage, i(year) j(pid)\n"
#: What gave the mean of the wages of one person over the years.
RESHAPED = [
    f"{WIDE}summarize wage17",
    f"{WIDE}tabstat wage17, statistics(mean)",
    f"{WIDE}generate z = wage17 + year / 1000\nsummarize z",
    f"{WIDE}keep year wage17\nreshape long wage, i(year) j(k)\nsummarize wage",
    "contract pid year wage\nkeep if pid == 17\nsummarize wage",
    "keep if pid == 17 | pid == 18\nfillin wage year\nsummarize wage",
    "keep if pid == 17\nfillin wage year\nsummarize wage",
]


@pytest.mark.parametrize("lines", RESHAPED)
def test_the_years_of_one_person_are_one_case_in_any_shape(lines):
    run = Run(lines, YEARS, entity="pid")
    assert "(withheld)" in run.text, run.text
    assert "Mean" not in run.text


def test_persons_as_observations_can_be_described_in_wide_form():
    wide = "reshape wide wage, i(pid) j(year)\nsummarize wage2001 wage2005\n"
    run = Run(
        f"{wide}generate more = wage2005 - wage2001 + pid\nsummarize more", YEARS, entity="pid"
    )
    assert "(withheld)" not in run.text, run.text
    assert run.text.count("Mean") == 2
    run = Run(f"{wide}reshape long wage, i(pid) j(year)\nsummarize wage", YEARS, entity="pid")
    assert "(withheld)" not in run.text, run.text
