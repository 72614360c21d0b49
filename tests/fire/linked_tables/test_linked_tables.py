"""Linked tables: what all tables of a program tell about withheld cells, taken together."""

import re
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet_fire import statistics
from discreet_fire.catalogue.policy import statistic_rows
from discreet_fire.linked_tables import (
    OutputRecords,
    ShownCounts,
    ShownTable,
    difference_findings,
    linked_findings,
    shown_counts,
    tables_of,
)
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.tables import table, tabulate
from tests.helpers.run_panel import counties as records
from tests.helpers.run_panel import run

LIMITS = SafeLimits()


def shown(frame: pl.DataFrame, *spans: Sequence[str]) -> list[ShownCounts]:
    """Tables of a frame, as the safe commands show them."""
    found = []
    for line, names in enumerate(spans, 1):
        result = tabulate(frame, *names) if len(names) == 2 else table(frame, names, statistics="n")
        assert result.frame is not None
        one = shown_counts(
            f"line {line}, {result.command}",
            result.frame.select(*names, "n"),
            frame.select(names),
            np.arange(frame.height),
        )
        assert one is not None
        found.append(one)
    return found


def test_a_finer_and_a_coarser_table_give_back_what_the_finer_withholds() -> None:
    found = linked_findings(shown(records(), ("cty", "sex"), ("region", "sex")), limits=LIMITS)
    first = "line 1, tabulate cty sex: cty = 9, sex = 1 follows from line 2, tabulate region sex: "
    assert found[0].what == first + "region = E, sex = 1, less cty = 1, 3, 4 of the same table"
    assert "also withhold: line 1, tabulate cty sex: cty = " in found[-1].hint
    assert {one.rule for one in found} == {"linked-tables"}
    assert len(found) <= 6


def told_of(folder: Path, program: str, frame: pl.DataFrame) -> dict[str, list[str]]:
    """The findings on linked tables of a program, by their rule."""
    result = run(program, folder, frame)
    assert result.error is None
    rules = ("linked-tables", "linked-tables-left")
    return {rule: [one.what for one in result.findings if one.rule == rule] for rule in rules}


def test_what_cannot_be_followed_is_said(tmp_path: Path) -> None:
    program = "tabulate cty sex\ncodebook region\n"
    told = told_of(tmp_path, program, records())
    (left,) = told["linked-tables-left"]
    assert left.startswith("the numbers of ")
    assert left.endswith("line 2, codebook")


def weighted(frame: pl.DataFrame, line: int, name: str, weights: str | None) -> list[ShownTable]:
    """The table of a variable by sex, weighted or not, as a session of a researcher shows it."""
    result = tabulate(frame, name, "sex", weights=weights)
    numbers = np.arange(frame.height)
    behind = OutputRecords(
        title=f"line {line}, {result.command}",
        labels=frame.select(name, "sex"),
        numbers=numbers,
        owners=numbers,
        weights=None if weights is None else frame[weights].to_numpy().astype(np.float64),
        digits=LIMITS.digits,
    )
    return [one for one in tables_of("cells", behind, result.frame, result.stored) if one]


def test_constant_weights_hide_nothing_and_others_are_said_to_stand_alone() -> None:
    frame = records().with_columns(w=pl.lit(2), v=1 + pl.int_range(pl.len()) % 3)
    fine = weighted(frame, 1, "cty", None)
    first, *_ = linked_findings([*fine, *weighted(frame, 2, "region", "w")], limits=LIMITS)
    assert "cty = 9, sex = 1 follows from line 2" in first.what
    (left,) = linked_findings([*fine, *weighted(frame, 2, "region", "v")], limits=LIMITS)
    assert left.what == (
        "tables with weights were not compared with those without: line 2, tabulate region sex"
    )
    both = [*weighted(frame, 1, "cty", "v"), *weighted(frame, 2, "region", "v")]
    first, *_ = linked_findings(both, limits=LIMITS)
    start = "line 1, tabulate cty sex: the weights of cty = 9, sex = 1 follows from line "
    assert first.what.startswith(start)


def incomes() -> pl.DataFrame:
    """The same with incomes; some are old; of one sex of county 9 the job is missing."""
    frame = records()
    old = ((pl.int_range(pl.len()) % 20 > 0) | (pl.col("cty") == 9)).cast(pl.Int64)
    nobody = pl.col("cty").eq(9) & (pl.col("sex") == 1)
    incomes = np.random.default_rng(1).lognormal(7, 0.3, frame.height).round(2)
    frame = frame.with_columns(inc=pl.Series(incomes), old=old)
    return frame.with_columns(job=pl.when(nobody).then(None).otherwise(1 + pl.col("old")))


COUNTS, MEANS = "tabulate cty sex\n", "bysort cty sex: summarize inc\n"


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (f"{COUNTS}tabulate sex\n", ""),
        (f"{COUNTS}tabulate region sex\n", "line 1, tabulate cty sex: cty = 9, sex = 1 follows"),
        # each safe alone: counts of one region by filter, then of all
        (f'tabulate cty sex if region == "E"\n{COUNTS}', "cty = 9"),
        # a file that is read again has the same records
        (f'{COUNTS}use "panel.parquet", clear\ntabulate region sex\n', "follows from line 3"),
        # means and totals of groups
        (MEANS, ""),
        (f"{MEANS}bysort region sex: summarize inc\n", "cty sex = 9, 1 follows from"),
        (
            f'{MEANS}tabstat inc if region == "E", by(sex) statistics(sum)\n',
            "cty sex = 9, 1 follows from",
        ),
        (
            f"{MEANS}gen twin = inc\nbysort region sex: summarize twin\n",
            "cty sex = 9, 1 follows from",
        ),
        # counts of other commands
        *(
            (f"{COUNTS}{coarse}\n", "cty = 9, sex = 1 follows from")
            for coarse in (
                "bysort region sex: summarize inc",
                "bysort region sex: count",
                'tabstat inc if region == "E", by(sex) statistics(n)',
                'regress inc cty if region == "E" & sex == 1',
                'summarize inc if region == "E" & sex == 1',
                'count if region == "E" & sex == 1',
            )
        ),
        # with and without missing values; filtered by another variable, and by two
        ("tabulate region job, missing\ntabulate region sex\ntabulate region job\n", "job = ."),
        ("tabulate cty sex if old == 1\ntabulate region sex if old == 1\n", "cty = 9"),
        (
            f'{COUNTS}tabulate sex if region == "E" & cty != 9\ntabulate sex if region == "E"\n',
            "cty = 9, sex = 1",
        ),
    ],
)
def test_what_follows_from_all_tables_is_told(tmp_path: Path, program: str, told: str) -> None:
    found = told_of(tmp_path, program, incomes())
    assert "twin" in program or not found["linked-tables-left"]
    assert any(told in one for one in found["linked-tables"]) == bool(told), found


def test_what_there_is_no_time_for_is_said() -> None:
    tables = shown(records(), ("cty", "sex"), ("region", "sex"))
    (left,) = linked_findings(tables, limits=LIMITS, until=time.monotonic() - 1)
    assert left.rule == "linked-tables-left"
    assert left.severity == "review"
    assert left.what == "not all tables were compared with each other: the time of the run was over"
    assert linked_findings(tables[:1], limits=LIMITS, until=time.monotonic() - 1) == ()
    later = time.monotonic() + 1000
    assert linked_findings(tables, limits=LIMITS, until=later) == linked_findings(
        tables, limits=LIMITS
    )


def test_the_time_of_a_run_is_for_its_tables_too(tmp_path: Path) -> None:
    program = "tabulate cty sex\ntabulate region sex\n"
    result = run(program, tmp_path, records(), seconds=1e-9)
    assert result.verdict == "review" or not result.outputs


def test_what_is_too_large_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = shown(records(), ("cty", "sex"), ("region", "sex"))
    monkeypatch.setattr("discreet_fire.linked_tables.advice._WORK", 1)
    (left,) = linked_findings(tables, limits=LIMITS)
    assert (left.rule, left.severity) == ("linked-tables-left", "review")


def test_what_takes_too_many_steps_is_no_complete_search(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = shown(records(), ("cty", "sex"), ("region", "sex"))
    assert difference_findings(tables, limits=LIMITS)[1]
    monkeypatch.setattr("discreet.disclosure.shown_sets._STEPS", 1)
    assert not difference_findings(tables, limits=LIMITS)[1]


#: The columns that a statistic is tried with, and its arguments.
CALLS: dict[str, tuple[list[str], list[object], dict[str, object]]] = {
    "count": ([], [], {}),
    "correlate": (["inc", "cty"], [["inc", "cty"]], {}),
    "pwcorr": (["inc", "cty"], [["inc", "cty"]], {}),
    "table": (["sex"], ["sex"], {"statistics": "n"}),
    "tabulate": (["sex"], ["sex"], {}),
    "ttest": (["inc", "sex"], ["inc"], {"by": "sex"}),
    "xtsum": (["inc", "pid"], ["inc"], {"entity": "pid"}),
    "xtdescribe": (["pid", "yr"], [], {"entity": "pid", "time": "yr"}),
    "regress": (["inc", "cty"], ["inc", ["cty"]], {}),
    "probit": (["two", "inc"], ["two", ["inc"]], {}),
    "logit": (["two", "inc"], ["two", ["inc"]], {}),
    "utest": (["inc", "cty"], ["inc", "cty"], {}),
}


@pytest.mark.parametrize("name", sorted(statistic_rows()))
def test_no_statistic_shows_numbers_over_groups_without_being_held(name: str) -> None:
    """What the catalogue says shows groups gives its tables, or says that it is not followed."""
    row = statistic_rows()[name]
    rng = np.random.default_rng(1)
    frame = records().with_columns(two=pl.int_range(pl.len()) % 2, yr=pl.int_range(pl.len()) % 3)
    frame = frame.with_columns(
        inc=pl.Series(rng.normal(1000, 100, frame.height)), pid=pl.int_range(pl.len()) // 3
    )
    columns, arguments, options = CALLS.get(name, (["inc"], ["inc"], {}))
    result = getattr(statistics, row.statistic)(frame, *arguments, limits=LIMITS, **options)
    numbers = np.arange(frame.height)
    behind = OutputRecords(
        title=name, labels=frame.select(columns), numbers=numbers, owners=numbers, weights=None,
        digits=LIMITS.digits,
    )  # fmt: skip
    tables = tables_of(row.groups, behind, result.frame, result.stored)
    assert bool(tables) == (row.groups != "nothing")
    assert (None in tables) == (row.groups == "unfollowed"), tables


def test_wrong_tables_are_not_followed() -> None:
    frame = records()
    result = tabulate(frame, "cty", "sex")
    assert result.frame is not None
    whole = result.frame.select("cty", "sex", "n")
    labels, numbers = frame.select("cty", "sex"), np.arange(frame.height)
    assert shown_counts("t", whole, labels, np.zeros(frame.height, dtype=np.int64)) is None
    assert shown_counts("t", whole, labels, numbers - 1) is None
    assert shown_counts("t", whole.with_columns(pl.col("n") + 1), labels, numbers) is None
    assert shown_counts("t", whole, labels.with_columns(pl.lit(77).alias("cty")), numbers) is None
    assert shown_counts("t", whole[:-1], labels, numbers) is None
    one = shown_counts("t", whole, labels, numbers)
    assert one is not None
    assert "75" not in re.sub("0x[0-9a-f]+", "", repr(one))
