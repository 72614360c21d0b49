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
