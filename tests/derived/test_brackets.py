"""Brackets: where possible noise may change a figure relatively strongly.

The expected relative error is that of the delta method. It is compared with the standard
deviation of figures under 20,000 drawn pairs of noise. Such a deviation is known to about
0.5 % (1/√40,000), and the delta method leaves out terms of the order of the squared
relative noise, here below 1 %. With limits 3 % below and above, a wrong formula is found:
leaving out either deviation changes the error by at least 8 % in every case but the small
share, whose whole hardly matters; a factor left out, or a change measured against its
level, by far more.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet import KeyFigure, PerturbationTable, Table, derive
from discreet.derived import balance, index_figure, mean, rate_of_change, ratio, share
from discreet.protection.noise import count_ingredient
from discreet.tables import ProtectedTable
from tests.helpers.ingredients import SEX, stated, states

Floats = npt.NDArray[np.float64]

DRAWS = 20_000
TOLERANCE = 0.03

#: Noise −5 … 5 of mean 0, as a perturbation table for counts has it.
NOISE = np.arange(-5, 6)
CHANCE = np.array([1, 3, 6, 10, 14, 16, 14, 10, 6, 3, 1]) / 84
SPREAD = float(np.sqrt((CHANCE * NOISE**2).sum()))


def drawn(value: float, seed: int) -> Floats:
    """A count under 20,000 draws of its noise."""
    return value + np.random.default_rng(seed).choice(NOISE, size=DRAWS, p=CHANCE)


COUNTS: dict[str, tuple[Callable[..., ProtectedTable], Any, float, float]] = {
    "share": (share, lambda p, w: 100 * p / w, 60, 90),
    "small share": (share, lambda p, w: 100 * p / w, 40, 5000),
    "ratio": (ratio, lambda p, w: p / w, 150, 70),
    "index": (index_figure, lambda p, w: 100 * p / w, 130, 110),
    "fall": (rate_of_change, lambda p, w: 100 * (p - w) / w, 60, 130),
    "small change": (rate_of_change, lambda p, w: 100 * (p - w) / w, 104, 100),
    "balance": (balance, lambda p, w: p - w, 50, 30),
    "negative balance": (balance, lambda p, w: p - w, 300, 340),
}


@pytest.mark.parametrize("case", COUNTS)
def test_the_expected_error_is_that_of_drawn_noise(case: str) -> None:
    figure, formula, part, whole = COUNTS[case]
    draws = formula(drawn(part, 1), drawn(whole, 2))
    error = draws.std() / abs(formula(part, whole))
    made = [stated({("N",): value}, deviation=SPREAD) for value in (part, whole)]
    below = figure(*made, bracket_above=error * (1 - TOLERANCE))
    above = figure(*made, bracket_above=error * (1 + TOLERANCE))
    assert states(below)["N",] == "bracketed"
    assert states(above)["N",] == "published"


def test_the_expected_error_of_means_is_that_of_drawn_noise() -> None:
    """Continuous noise of a sum of rents, and that of its number of dwellings."""
    rng = np.random.default_rng(3)
    total, count, spread = 40_000.0, 60.0, 2_500.0
    draws = (total + spread * rng.standard_normal(DRAWS)) / drawn(count, 4)
    error = draws.std() / (total / count)
    rents = stated({("N",): total}, deviation=spread, kind="sum")
    dwellings = stated({("N",): count}, deviation=SPREAD)
    assert states(mean(rents, dwellings, bracket_above=error * 0.97))["N",] == "bracketed"
    assert states(mean(rents, dwellings, bracket_above=error * 1.03))["N",] == "published"
    # A mean that comes with its own deviation.
    own = stated({("N",): total / count}, deviation=float(draws.std()), kind="mean")
    figure = KeyFigure(name="rent", kind="mean")
    low, high = (derive({"rent": own}, [figure], bracket_above=error * f) for f in (0.97, 1.03))
    assert states(low)["N",] == "bracketed"
    assert states(high)["N",] == "published"


def test_shares_are_bracketed_from_15_percent_on() -> None:
    """The census: noise of variance 2.25 in a large whole; 1.5 / 10 is 15 %, 1.5 / 9 is more."""
    whole = stated({("N1",): 10**6, ("N2",): 10**6}, deviation=0.0)
    part = stated({("N1",): 9, ("N2",): 10}, deviation=1.5)
    table = share(part, whole, decimals=4)
    assert states(table)["N1",] == "bracketed"
    assert states(table)["N2",] == "published"
    assert table.get("N1") == 0.0009
    (note,) = [note for note in table.notes if note.kind == "brackets"]
    assert "15" not in note.text("en") + note.text("de")
    assert all(note.kind != "brackets" for note in share(whole, whole).notes)


def test_brackets_depend_on_possible_noise_not_on_actual_noise() -> None:
    whole = stated({("N",): 1000}, deviation=0.0)
    for original in (10, 12, 15):
        part = stated({("N",): 12}, original={("N",): original}, deviation=1.7)
        assert states(share(part, whole))["N",] == "published"
        assert states(share(part, whole, bracket_above=0.14))["N",] == "bracketed"


def test_limits_by_figure_come_first_and_counts_have_none() -> None:
    small = stated({("N",): 3})
    figures = [
        KeyFigure(name="n", kind="count", of="small"),
        KeyFigure(name="marked", kind="count", of="small", bracket_above=0.3),
        KeyFigure(name="sum", kind="sum", of="small"),
        KeyFigure(name="share", kind="share", part="small", whole="other"),
        KeyFigure(name="free", kind="share", part="small", whole="other", bracket_above=1),
    ]
    made = {"small": small, "other": stated({("N",): 90})}
    table = derive(made, figures)
    found = [states(table)["N", name] for name in ("n", "marked", "sum", "share", "free")]
    assert found == ["published", "bracketed", "bracketed", "bracketed", "published"]
    without = derive(made, figures, bracket_above=None)
    assert states(without)["N", "share"] == "published"
    assert states(without)["N", "marked"] == "bracketed"


def test_only_a_cell_compared_with_itself_is_certain() -> None:
    """To leave brackets out where others hold the same records would tell that they do."""
    part, whole = (stated({("N",): 3}, deviation=1.5) for _ in range(2))
    assert states(share(part, whole))["N",] == "bracketed"
    people = stated({("Total",): 3, ("m",): 3, ("w",): 2}, by=(SEX,), deviation=1.5)
    found = states(share(people, over=["sex"]))
    assert found["Total",] == "published"
    assert found["m",] == "bracketed"


def test_official_figures_have_no_error() -> None:
    official = stated({("N",): 2}, deviation=0.0, official=[("N",)])
    assert states(ratio(official, official))["N",] == "published"


def test_zeros_have_no_brackets() -> None:
    balanced = balance(stated({("N",): 9}), stated({("N",): 9}))
    assert states(balanced)["N",] == "zero_or_changed_to_zero"
    none = share(stated({("N",): 0}), stated({("N",): 4}, deviation=2.0))
    assert states(none)["N",] == "zero_or_changed_to_zero"


def test_what_is_rounded_to_zero_has_no_brackets_and_no_note() -> None:
    table = share(stated({("N",): 1}), stated({("N",): 10_000}))
    assert states(table)["N",] == "zero_or_changed_to_zero"
    assert [note.kind for note in table.notes] == ["non-additivity"]


def test_brackets_come_before_rounding() -> None:
    """1.5 of 10.04 is below 15 %, of 9.96 above; both print as 10."""
    for value, state in ((10.04, "published"), (9.96, "bracketed")):
        sums = stated({("N",): value}, deviation=1.5, kind="sum")
        table = derive({"s": sums}, [KeyFigure(name="s", kind="sum", decimals=0)])
        assert (table.get("N"), states(table)["N",]) == (10, state)


def test_deviations_come_from_the_perturbation_table() -> None:
    """Noise −1, 0, +1 at ¼, ½, ¼ has deviation √½: relative error of 4 in 9 is 19.3 %."""
    import polars as pl

    cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [9, 4, 5], "key": [0.5, 0.5, 0.5]})
    table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    people = count_ingredient(table, ptable)
    error = np.sqrt(0.5) * np.sqrt(1 / 4**2 + 1 / 9**2)
    assert error == pytest.approx(0.1934, abs=1e-4)
    low = share(people, over=["sex"], bracket_above=error - 1e-9)
    high = share(people, over=["sex"], bracket_above=error + 1e-9)
    assert states(low)["m",] == "bracketed"
    assert states(high)["m",] == "published"
    assert states(low)["Total",] == "published"
