"""Sums that add up: a withheld one does not follow from the others of its cell unsaid.

The attacker is one subtraction, or one division, on what the log or the session shows.
"""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet_fire as fire
from discreet.errors import DisclosureWarning
from discreet_fire.research_session import ResearchSession
from tests.helpers.run_panel import run


def firms(seed: int) -> pl.DataFrame:
    """Firms of four regions; in region 3 one firm has nearly all home sales, not all sales."""
    draw = np.random.default_rng(800 + seed)
    region = np.arange(160) % 4 + 1
    home = np.ceil(draw.uniform(50, 150, 160))
    foreign = np.ceil(draw.uniform(2_000, 4_000, 160))
    home[2] = 9_000.0
    own = region == 3
    home[own] = np.where(np.arange(own.sum()) == 0, 9_000.0, np.ceil(draw.uniform(1, 3, own.sum())))
    return pl.DataFrame(
        {
            "region": region,
            "home": home,
            "foreign": foreign,
            "total": home + foreign,
            "pay": np.ceil(draw.uniform(50, 90, 160)),
        }
    )


def told_of(folder: Path, program: str, frame: pl.DataFrame) -> list[tuple[str, str]]:
    """Findings on linked tables: rule and sentence."""
    result = run(program, folder, frame)
    assert result.error is None
    return [(one.rule, one.what) for one in result.findings if one.rule.startswith("linked")]


@pytest.mark.parametrize("seed", range(3))
def test_commands_over_a_sum_and_its_parts_are_told(tmp_path: Path, seed: int) -> None:
    one, two = "tabstat {}, by(region) statistics(sum)\n", "tabstat home, by(region)\n"
    told = told_of(tmp_path, one.format("home") + one.format("foreign total"), firms(seed))
    assert any(
        rule == "linked-tables" and "home of" in what and "total = home + foreign" in what
        for rule, what in told
    ), told
    assert told_of(tmp_path, two + one.format("pay"), firms(seed)) == []


@pytest.mark.parametrize(
    "program",
    [
        "tabstat home foreign total, by(region) statistics(sum)\n",
        "bysort region: summarize home foreign total\n",
    ],
)
def test_one_command_withholds_another_sum_too(tmp_path: Path, program: str) -> None:
    for seed in range(3):
        result = run(program, tmp_path, firms(seed))
        frame = result.outputs[0].result.frame
        assert frame is not None
        hidden = frame.group_by("region").agg(pl.col("sum").is_null().sum())
        assert 3 in hidden["sum"].to_list()
        assert 1 not in hidden["sum"].to_list()
        assert not [one for one in result.findings if one.rule.startswith("linked")]


def test_variables_that_have_nothing_to_do_with_each_other_are_not(tmp_path: Path) -> None:
    program = "tabstat home pay, by(region) statistics(sum)\n"
    assert told_of(tmp_path, program, firms(1)) == []


def test_what_is_not_in_the_same_cells_is_not_examined(tmp_path: Path) -> None:
    program = (
        "tabstat home foreign, by(region) statistics(sum)\n"
        "tabstat total if region < 4, by(region) statistics(sum)\n"
    )
    told = told_of(tmp_path, program, firms(2))
    assert ("linked-tables-left", "sums that add up were not compared with each other: "
            "total = home + foreign") in told  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_a_session_hides_another_sum_too(seed: int) -> None:
    session = fire.session("P", data=firms(seed))
    for name in ("home", "foreign"):
        session.crosstab(["region"], values=name, statistics="sum")
    with pytest.warns(DisclosureWarning, match="total = home"):
        session.crosstab(["region"], values="total", statistics="sum")
    assert subtracted(session)
    assert session.check().linked
    session.protect()
    assert not subtracted(session)
    assert not session.check().linked


def subtracted(session: ResearchSession) -> list[str]:
    """Regions of which one sum is hidden and the other two are shown."""
    shown = [
        dict(zip(one.frame["region"], one.frame[one.frame.columns[-1]], strict=True))
        for one in session.outputs
    ]
    return [region for region in shown[0] if sum(own[region] is None for own in shown) == 1]
