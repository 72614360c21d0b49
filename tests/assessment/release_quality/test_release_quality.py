"""What protection did to the tables of a release, added up in whole numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.assessment import actual_quality
from discreet.assessment.release_quality import MILLION, SIZE_CLASSES, Overall, QualityLog
from discreet.assessment.release_quality.pairs import PartGrid, finest_level, level_names
from discreet.derived import KeyFigure, derive
from discreet.protection.noise import PerturbationTable, count_ingredient, perturb
from discreet.protection.parts import PartRules, check_parts, suppress_parts
from discreet.tables import CellStatus, Dimension, Figure, ProtectedTable, Provenance, Table
from discreet.tables.ingredient import Ingredient

NOISE = range(-2, 3)
ROW = [0.1, 0.3, 0.7, 0.9, 1.0]
PTABLE = PerturbationTable.from_cumulative([[0, 0, 1, 1, 1], [0, 0.3, 0.7, 1, 1], ROW], noise=NOISE)
KEY = b"k" * 32
REGION = dc.Classification.from_parents(
    "region", {"N": None, "N1": "N", "N2": "N", "S": None, "S1": "S", "S2": "S", "S3": "S"}
)


def records(size: int, seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "region": random.choice(REGION.leaves, size, p=[0.01, 0.4, 0.2, 0.3, 0.09]),
            "sex": random.choice(["m", "w"], size),
            "age": random.choice([str(age) for age in range(10)], size),
            "rk": random.integers(0, 10**15, size),
        }
    )


def counted(size: int = 400, by: Any = (REGION, "sex", "age"), **options: Any) -> Table:
    return dc.tabulate(records(size), list(by), record_key="rk", **options)


def added(table: Table, protected: ProtectedTable, **more: Any) -> QualityLog:
    log = QualityLog()
    log.add("T", table, protected, **more)
    return log


def by_hand(table: Table, protected: ProtectedTable) -> dict[tuple[str, int, int], int]:
    """(levels, size class, noise) → cells, one cell after another."""
    names = [level_names(dimension) for dimension in table.dimensions]
    found: dict[tuple[str, int, int], int] = {}
    for at in range(len(table)):
        codes = [d.codes[part[at]] for d, part in zip(table.dimensions, table.index, strict=True)]
        levels = []
        for dimension, code, name in zip(table.dimensions, codes, names, strict=True):
            place = dimension.index[code]
            leaf = bool(dimension.is_leaf[place])
            levels.append(name[0 if leaf else int(dimension.levels[place]) + 1])
        count = int(table.count[at])
        size = sum(count >= bound for bound in SIZE_CLASSES) - 1
        key = (" × ".join(levels), size, int(protected.get(*codes) or 0) - count)
        found[key] = found.get(key, 0) + 1
    return found


def test_every_cell_is_tallied_by_part_size_and_noise() -> None:
    table = counted()
    protected = perturb(table, PTABLE)
    quality = added(table, protected).tables["T"]
    rows = {
        (" × ".join(quality.parts[part].levels), size, noise): cells
        for part, size, noise, cells in quality.counts.noise.tolist()
    }
    assert rows == by_hand(table, protected)
    assert [sum(row[3] for row in quality.counts.noise.tolist())] == [len(table)]


def test_the_sums_are_those_of_the_quality_of_one_table() -> None:
    table = counted()
    protected = perturb(table, PTABLE)
    one = actual_quality(table, protected)
    every = Overall(added(table, protected)).noise().described()
    for name in ("unchanged", "at_most_1", "at_least_3", "at_least_4", "mean_absolute_deviation"):
        assert every[name] == pytest.approx(getattr(one, name))
    assert every["mean_deviation"] == pytest.approx(one.bias)
    relative = one.by_count.select((pl.col("relative_error") * pl.col("cells")).sum()).item()
    assert every["mean_relative_error"] == pytest.approx(relative / len(table), abs=1 / MILLION)


def test_suppressed_and_official_cells_are_set_aside_and_counted() -> None:
    table = counted()
    protected = perturb(table, PTABLE, suppress_below=6, official="age == 'Total'")
    overall = Overall(added(table, protected))
    value = np.array([protected.get(*codes) is None for codes in _codes(table)])
    official = np.array([codes[2] == "Total" for codes in _codes(table)])
    aside = overall.set_aside()
    assert aside["suppressed"] == int((value & ~official).sum())
    assert aside["official"] == int(official.sum())
    assert overall.noise().total == len(table) - aside["suppressed"] - aside["official"]


def _codes(table: Table) -> list[tuple[str, ...]]:
    columns = table.to_polars().select(d.name for d in table.dimensions)
    return columns.rows()


@pytest.mark.filterwarnings("ignore:the perturbation table changes no count")
def test_changes_to_and_from_zero_are_counted() -> None:
    table = counted(60)
    ptable = PerturbationTable.from_cumulative([[0.0, 1.0], [1.0, 1.0]], noise=[0, 2], zeros=True)
    protected = perturb(table, ptable, zeros="table")
    quality = added(table, protected).tables["T"]
    assert quality.counts.zeros_changed == protected.stored - len(table) > 0
    to_zero = PerturbationTable.from_cumulative([[0, 1], [1, 1], [0, 1]], noise=[-1, 0])
    overall = Overall(added(table, perturb(table, to_zero)))
    assert overall.set_aside()["changed_to_zero"] == int((table.count == 1).sum()) > 0


def test_codes_that_left_the_table_became_zero() -> None:
    ptable = PerturbationTable.from_cumulative([[0, 1], [1, 1], [0, 1]], noise=[-1, 0])
    table = counted(30, by=["age", "region"])
    listed = added(table, perturb(table, ptable))
    hidden = added(table, perturb(table, ptable, found_codes="hide"))
    assert hidden.tables["T"].counts.noise.tolist() == listed.tables["T"].counts.noise.tolist()


# -- table parts -------------------------------------------------------------------


def test_a_table_with_a_suppressed_inner_part_is_thinned() -> None:
    table = counted(60, by=["sex", "age"])
    protected = perturb(table, PTABLE)
    decisions = check_parts(table, PartRules(max_share_small=0.2))
    thinned = suppress_parts(protected, decisions)
    log = added(table, thinned, decisions=decisions)
    quality = log.tables["T"]
    assert quality.shown == decisions.outcome == "thinned"
    assert quality.reasons == {"small-cells": len(decisions.suppressed)}
    hidden = [part for part in quality.parts if part is not None and part.suppressed]
    assert quality.cells_in(CellStatus.suppressed) == sum(part.cells for part in hidden)
    assert Overall(log).set_aside()["suppressed"] == _cells_on(table, hidden)
    assert Overall(log).shown_by_level() == {
        ("age", "age"): {"complete": 0, "thinned": 1, "blocked": 0},
        ("sex", "sex"): {"complete": 0, "thinned": 1, "blocked": 0},
    }


def _cells_on(table: Table, parts: list[Any]) -> int:
    grid = PartGrid.of(table.dimensions)
    names = grid.names()
    part = grid.part(table.index, len(table))
    wanted = {levels.levels for levels in parts}
    return sum(names[number] in wanted for number in part.tolist())


def test_a_table_without_any_part_left_is_blocked() -> None:
    table = counted(60, by=["sex"])
    protected = replace(perturb(table, PTABLE), suppressed_parts=frozenset({(0,), (1,)}))
    assert added(table, protected).tables["T"].shown == "blocked"


def test_margins_that_were_not_handed_in_are_no_parts() -> None:
    cells = pl.DataFrame({"sex": ["m", "w"], "n": [3, 4], "key": [0.1, 0.2]})
    table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    quality = added(table, perturb(table, PTABLE)).tables["T"]
    assert quality.parts[0] is None
    assert quality.grid_cells == 2
    assert quality.sums.tolist() == [[0, 0, 0, 0, 0]]


def test_levels_have_the_names_they_are_known_by() -> None:
    named = dc.Classification.from_levels(
        pl.DataFrame({"land": ["N", "N"], "kreis": ["N1", "N2"]}),
        columns=["land", "kreis"],
        name="region",
        level_names=("Land", "Kreis"),
    )
    grid = dc.Classification.flat("grid", ["a", "b"])
    one, two = Dimension(classifications=(named,)), Dimension(classifications=(named, grid))
    assert list(level_names(one).values()) == ["total", "Land", "Kreis"]
    assert finest_level(one) == "Kreis"
    assert list(level_names(two).values()) == ["total", "Land", "Kreis", "grid"]
    assert finest_level(two) == "Kreis / grid"
    assert PartGrid.of([two]).broken_down() == [0, 1, 1, 1]
    assert PartGrid.of([two]).sizes() == [1, 1, 2, 2]


# -- key figures -------------------------------------------------------------------


def ingredient(table: Table) -> Ingredient:
    return count_ingredient(table, PTABLE)


def test_figures_are_compared_with_what_they_would_be_without_noise() -> None:
    frame = records(3_000)
    everyone = dc.tabulate(frame, [REGION, "sex"], record_key="rk")
    young = dc.tabulate(frame, [REGION, "sex"], record_key="rk", where="age in ('0', '1')")
    parts = {"all": ingredient(everyone), "young": ingredient(young)}
    figures = [
        KeyFigure(name="all", kind="count", of="all"),
        KeyFigure(name="share", kind="share", part="young", whole="all", decimals=1),
    ]
    protected = derive(parts, figures, bracket_above=0.01)
    log = QualityLog()
    log.add("T", None, protected, ingredients=parts, figures=figures)
    quality = log.tables["T"]
    assert quality.figures == {"all": "count", "share": "share"}
    assert sum(quality.counts.noise[:, 3].tolist()) == len(everyone)

    true = {codes: n for *codes_, n in _shares(young, everyone) for codes in [tuple(codes_)]}
    classes = [0] * 6
    for codes, share in true.items():
        shown = protected.get(*codes, "share")
        off = abs(shown - share) / share * (1 - 1e-12)
        classes[int(np.searchsorted([0.01, 0.02, 0.05, 0.1, 0.15], off))] += 1
    assert list(Overall(log).deviations()) == ["share"]
    assert Overall(log).deviations()["share"] == classes
    bracketed = (protected.status == CellStatus.bracketed).sum()
    assert Overall(log).brackets()["share"][0] == bracketed > 0


def _shares(part: Table, whole: Table) -> list[tuple[Any, ...]]:
    names = ["region", "sex"]
    both = part.to_polars().join(whole.to_polars(), on=names)
    share = 100 * pl.col("count") / pl.col("count_right")
    # Half away from zero, as figures are rounded.
    return both.select(*names, ((share * 10 + 0.5).floor() / 10).alias("share")).rows()


def test_ingredients_are_figures_where_no_others_are_named() -> None:
    sex = Dimension(classifications=(dc.Classification.flat("sex", ["m", "w"]),))
    index = (np.array([0, 1, 2], dtype=np.int32),)
    value = np.array([1010.0, 400.0, 640.0])
    protected = ProtectedTable(
        dimensions=(sex,),
        index=index,
        value=value,
        status=np.array([0, 0, 3], dtype=np.int8),
        provenance=Provenance(version="0", method="cell-key"),
        figures=(Figure(name="rent", kind="sum"),),
    )
    rent = Ingredient(
        protected=protected,
        index=index,
        value=value,
        original=np.array([1000.0, 400.0, 600.0]),
        deviation=np.ones(3),
        suppressed=np.zeros(3, dtype=np.bool_),
    )
    log = QualityLog()
    log.add("T", None, protected, ingredients={"rent": rent})
    assert Overall(log).deviations() == {"sum": [2, 0, 0, 1, 0, 0]}
    assert Overall(log).brackets() == {"sum": (1, 3)}
    assert Overall(log).noise().total == 0
