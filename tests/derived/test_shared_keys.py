"""Errors of figures whose part and whole have the same keys, against drawn noise.

A region's persons and its households that inherit keys plainly have one cell key. The noise
of both is drawn by it 40,000 times; the error that `derive` expects must be that of the
figure under these draws, within 3 %, as for independent noise in test_brackets.py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import discreet as dc
from discreet import KeyFigure, Table, derive
from discreet.derived import balance, index_figure, mean, per_thousand, rate_of_change, ratio, share
from discreet.errors import TableError
from discreet.protection.noise import Ingredient, count_ingredient
from discreet.tables import ProtectedTable
from discreet.tables.ingredient import correlation
from tests.helpers.ingredients import stated
from tests.helpers.rows import for_all_rows

PTABLE = dc.design_perturbation(max_noise=5, variance=3, forbidden=(1, 2))
DRAWS = 40_000
TOLERANCE = 0.03
GRID = 10**15

Formula = Callable[[Any, Any], Any]
CASES: dict[str, tuple[Callable[..., ProtectedTable], Formula, int, int]] = {
    "persons per household": (ratio, lambda p, w: p / w, 110, 52),
    "share": (share, lambda p, w: 100 * p / w, 40, 90),
    "rate": (per_thousand, lambda p, w: 1000 * p / w, 40, 90),
    "index": (index_figure, lambda p, w: 100 * p / w, 170, 90),
    "mean": (mean, lambda p, w: p / w, 170, 70),
    "change": (rate_of_change, lambda p, w: 100 * (p - w) / w, 150, 90),
    "small part": (ratio, lambda p, w: p / w, 6, 45),
    "balance of few": (balance, lambda p, w: p - w, 40, 6),
}


def counted(count: int, key: int = 5) -> Ingredient:
    """The count of one cell, protected; its noise with this key is 0 or so."""
    cells = pl.DataFrame({"region": ["a"], "n": [count], "key": [key]})
    table = Table.from_cells(cells, by=["region"], count="n", cell_key="key", key_grid=GRID)
    return count_ingredient(table, PTABLE)


def key_without_noise(*counts: int) -> int:
    """A key with which none of these counts changes."""
    keys = np.random.default_rng(1).integers(0, GRID, 2000)
    noise = [PTABLE.lookup(np.full(2000, count), keys) for count in counts]
    return int(keys[np.flatnonzero(~np.any(noise, axis=0))[0]])


def drawn(count: int, seed: int) -> npt.NDArray[np.float64]:
    keys = np.random.default_rng(seed).integers(0, GRID, DRAWS)
    return count + PTABLE.lookup(np.full(DRAWS, count), keys).astype(np.float64)


def status(table: ProtectedTable) -> str:
    return str(table.to_polars().filter(pl.col("region") == "a")["status"].item())


@for_all_rows("shared", [True, False])
@for_all_rows("case", CASES)
def test_the_expected_error_is_that_of_drawn_noise(case: str, shared: bool) -> None:
    figure, formula, part, whole = CASES[case]
    key = key_without_noise(part, whole)
    draws = formula(drawn(part, 1), drawn(whole, 1 if shared else 2))
    error = draws.std() / abs(formula(part, whole))
    made = [counted(count, key) for count in (part, whole)]
    for limit, expected in ((1 - TOLERANCE, "bracketed"), (1 + TOLERANCE, "published")):
        shown = figure(*made, bracket_above=error * limit, shared_key=shared)
        assert status(shown) == expected


def test_persons_per_household() -> None:
    """3.9 % was stated where 2.5 % is true: errors of one noise, not of two."""
    part, whole = 110, 52
    key = key_without_noise(part, whole)
    made = [counted(count, key) for count in (part, whole)]
    for shared, limit in ((False, 0.036), (True, 0.017)):
        assert status(ratio(*made, bracket_above=limit, shared_key=shared)) == "bracketed"
    assert status(ratio(*made, bracket_above=0.020, shared_key=True)) == "published"


def test_a_balance_of_equal_noise_has_no_error() -> None:
    made = [counted(count, 5) for count in (110, 52)]
    assert status(balance(*made, bracket_above=0.0, shared_key=True)) == "published"
    assert status(balance(*made, bracket_above=0.0)) == "bracketed"


def test_a_count_under_two_names_is_one_cell() -> None:
    """Two figures of one table have the same records by what is stated of them, not by chance."""
    cells = pl.DataFrame({"region": ["a"], "n": [50], "key": [5]})
    table = Table.from_cells(cells, by=["region"], count="n", cell_key="key")
    one, other = (count_ingredient(table, PTABLE) for _ in range(2))
    assert status(ratio(one, other, bracket_above=0.0)) == "published"


def test_cells_with_equal_keys_by_chance_count_as_independent() -> None:
    """Else 100 % without parentheses would tell that all of a group have the property."""
    one, other = counted(50), counted(50)
    assert status(share(one, other, bracket_above=0.0)) == "bracketed"


def test_keys_that_are_not_shared_are_refused() -> None:
    with pytest.raises(TableError) as caught:
        ratio(counted(50, 5), counted(20, 6), shared_key=True)
    assert caught.value.code == "shared-key"
    assert "5" not in caught.value.what


def test_ingredients_without_keys_share_none() -> None:
    made = [stated({("N",): value}, deviation=1.0) for value in (50, 20)]
    with pytest.raises(TableError, match="do not have the same cell keys"):
        ratio(*made, shared_key=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "count", "shared_key": True},
        {"kind": "share", "part": "a", "over": ["region"], "shared_key": True},
        {"kind": "ratio", "part": "a", "whole": "b", "shared_key": 1},
    ],
)
def test_shared_keys_are_of_two_ingredients(wrong: dict[str, Any]) -> None:
    with pytest.raises(TableError, match="shared_key"):
        KeyFigure(name="a", **wrong)


def test_persons_and_households_that_inherit_plainly() -> None:
    """The whole way: the keys are the same, and only then may the figure say so."""
    draw = np.random.default_rng(3)
    home = np.repeat(np.arange(3000), draw.integers(1, 5, 3000))
    persons = pl.DataFrame({"id": np.arange(len(home)), "home": home, "region": home // 100})
    persons = dc.with_record_keys(persons, id="id", secret="the secret of these tests")
    for unit, shared in ((None, True), ("household", False)):
        homes = dc.inherit_record_keys(persons, by="home", keep=["region"], unit=unit)
        tables = [
            dc.tabulate(each, ["region"], record_key="record_key") for each in (persons, homes)
        ]
        made = dict(zip("pw", (count_ingredient(table, PTABLE) for table in tables), strict=True))
        size = KeyFigure(name="size", kind="ratio", part="p", whole="w", shared_key=True)
        if shared:
            assert derive(made, [size]).get("1") > 1
        else:
            with pytest.raises(TableError, match="same cell keys"):
                derive(made, [size])


def test_correlations_of_known_noise() -> None:
    cells = np.arange(2), np.arange(2)
    up = {"k": lambda at: np.array([at, -at])}
    other = {"k": lambda at: np.array([2 * at, 3 * at]), "own": lambda at: np.array([2 * at, 0])}
    assert correlation(up, up, cells).tolist() == [1, 1]
    assert np.allclose(correlation(up, other, cells), [np.sqrt(0.5), -1])
    assert correlation(up, {}, cells).tolist() == [0, 0]
    assert correlation(up, {"l": up["k"]}, cells).tolist() == [0, 0]
