"""What protection did to the tables of a release, added up in whole numbers."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.assessment import actual_quality
from discreet.assessment.figure_pairs import (
    MILLION,
    SIZE_CLASSES,
    PartGrid,
    finest_level,
    level_names,
    total_differences,
)
from discreet.assessment.release_quality import Overall, QualityLog
from discreet.derived import KeyFigure, derive
from discreet.errors import PublicationError, TableError
from discreet.protection.noise import PerturbationTable, count_ingredient, perturb
from discreet.protection.parts import PartRules, check_parts, suppress_parts
from discreet.publication.examples import census_example
from discreet.release.report.quality import QualityReport
from discreet.tables import (
    CellStatus,
    Dimension,
    Figure,
    ProtectedTable,
    Provenance,
    Table,
    figure_dimension,
    level_numbers,
)
from discreet.tables.ingredient import Ingredient
from tests.helpers.rows import for_all_rows

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


COUNT = 20_000
RNG = np.random.default_rng(12)
WIDER = dc.design_perturbation(max_noise=4, variance=2)
KEYS = {
    "proper": RNG.integers(0, 10**15, COUNT),
    "identifiers": np.arange(COUNT),
    "income": RNG.lognormal(10, 1, COUNT).astype(np.int64),
    "another grid": RNG.integers(0, 2**32, COUNT),
    "one constant": np.full(COUNT, 381_966_011_250_105),
}


def log_of(keys: np.ndarray, areas: int) -> QualityLog:
    people = pl.DataFrame({"area": RNG.integers(0, areas, COUNT), "key": keys})
    table = dc.tabulate(people, ["area"], record_key="key", allow_unsuitable_keys=True)
    log = QualityLog()
    log.add("T1", table, dc.perturb(table, WIDER))
    return log


@for_all_rows(
    ("name", "alarms"),
    [
        ("proper", []),
        ("identifiers", ["constant"]),
        ("income", ["constant"]),
        ("another grid", ["constant"]),
        ("one constant", ["count-alone"]),
    ],
)
@for_all_rows("areas", [100, 400])
def test_alarms(name: str, alarms: list[str], areas: int):
    log = log_of(KEYS[name], areas)
    assert Overall(log).alarms() == alarms
    assert Overall(QualityLog.opened(log.sealed(b"0" * 32), b"0" * 32)).alarms() == alarms


def test_few_cells_give_none():
    assert Overall(log_of(KEYS["identifiers"], 5)).alarms() == []
    assert Overall(QualityLog()).alarms() == []


def test_only_the_internal_page_tells():
    report = QualityReport(log=log_of(KEYS["identifiers"], 100), title={"en": "Census"})
    assert report.internal["alarms"] == ["constant"]
    assert "alarms" not in report.public
    for language, word in (("en", "Alarm: nine in ten"), ("de", "Alarm: Neun von zehn")):
        assert word in report.html(language, internal=True)
        assert word not in report.html(language)


def three() -> dict[str, tuple[Table, ProtectedTable]]:
    tables = {f"T{size}": counted(size, ["sex", "age"]) for size in (50, 200, 500)}
    return {name: (table, perturb(table, PTABLE)) for name, table in tables.items()}


def test_neither_order_nor_interruption_changes_anything() -> None:
    tables = three()
    one, other = QualityLog(), QualityLog()
    for name in tables:
        one.add(name, *tables[name])
    for name in reversed(tables):
        other.add(name, *tables[name])
    assert one.to_dict() == other.to_dict()
    resumed = QualityLog.opened(other.only("T50").sealed(KEY), KEY).merge(
        other.only("T500", "T200")
    )
    assert resumed.sealed(KEY) == one.sealed(KEY)
    assert QualityLog.from_dict(one.to_dict()).to_dict() == one.to_dict()


def test_row_order_of_cells_changes_nothing() -> None:
    table = counted()
    order = np.random.default_rng(3).permutation(len(table))
    shuffled = replace(
        table,
        index=tuple(part[order] for part in table.index),
        count=table.count[order],
        cell_key=table.cell_key[order],
    )
    protected = perturb(table, PTABLE)
    assert added(shuffled, protected).to_dict() == added(table, protected).to_dict()


def test_a_sealed_log_shows_nothing_and_no_nonce_is_used_twice() -> None:
    table = counted()
    log = added(table, perturb(table, PTABLE))
    other = added(table, perturb(table, PTABLE, suppress_below=3))
    sealed = log.sealed(KEY)
    assert sealed == log.sealed(KEY)
    assert sealed[:16] != other.sealed(KEY)[:16]
    assert b"region" not in sealed
    assert b"noise" not in sealed


def test_a_damaged_log_or_one_of_another_release_is_refused() -> None:
    sealed = QualityLog().sealed(KEY)
    other = b"other" * 8
    damaged = [(each, KEY) for each in (sealed[:-1], sealed[:20] + b"x" + sealed[21:], b"")]
    for wrong, key in [(sealed, other), *damaged]:
        with pytest.raises(PublicationError, match="damaged"):
            QualityLog.opened(wrong, key)
    with pytest.raises(PublicationError, match="at least 16 bytes"):
        QualityLog().sealed(b"short")
    for entry in (
        {},
        {"format": "discreet-quality-log", "version": 1, "tables": {}},
        {"tables": 1},
    ):
        with pytest.raises(PublicationError, match="damaged"):
            QualityLog.from_dict(entry)


def test_wrong_input_is_refused() -> None:
    table, other = counted(50, by=["sex"]), counted(50, by=["age"])
    log = added(table, perturb(table, PTABLE))
    with pytest.raises(TableError, match="assessed before"):
        log.add("T", table, perturb(table, PTABLE))
    with pytest.raises(TableError, match="assessed before"):
        log.merge(log)
    with pytest.raises(TableError, match="table not found in the log"):
        log.only("T2")
    with pytest.raises(TableError, match="differ in their spanning variables"):
        log.add("T2", other, perturb(table, PTABLE))
    with pytest.raises(
        TableError, match="figures other than counts are assessed through their ingredients"
    ):
        log.add("T3", None, perturb(table, PTABLE))
    parts = {"n": count_ingredient(table, PTABLE)}
    figures = [KeyFigure(name="n", kind="count", of="n")]
    with pytest.raises(TableError, match="the key figures do not belong to the table"):
        log.add("T4", None, perturb(table, PTABLE), ingredients=parts, figures=figures)
    assert list(log.tables) == ["T"]


def test_nothing_confidential_is_shown_by_accident() -> None:
    table = counted()
    log = added(table, perturb(table, PTABLE))
    for thing in (log, log.tables["T"], log.tables["T"].counts, Overall(log), Overall(log).noise()):
        assert "onfidential" in repr(thing)
        assert str(len(table)) not in repr(thing)


def test_the_published_example_of_sex_by_age() -> None:
    """Row totals 47 56 71 86 109 and 371; columns add to 372 and 369."""
    table = census_example()
    rows = {
        row[0]: row[1:] for row in total_differences(table, PartGrid.of(table.spanning)).tolist()
    }
    names = [dimension.name for dimension in table.dimensions]
    assert rows[names.index("sex")] == [6, 5, 6, 2]
    assert rows[names.index("age")] == [3, 3, 6, 2]


def plain_differences(table: ProtectedTable) -> list[list[int]]:
    """The same by looking at each total, one after another."""
    hidden = table.suppressed_parts
    every = list(itertools.product(*(range(len(d)) for d in table.dimensions)))
    values = {}
    for place in every:
        index = [np.array([at], dtype=np.int32) for at in place]
        values[place] = table.get(
            *(d.codes[at] for d, at in zip(table.dimensions, place, strict=True))
        )
        if table.absent(index, 1)[0] == CellStatus.suppressed:
            assert values[place] is None or not hidden
    rows = []
    for axis, dimension in enumerate(table.dimensions):
        found = []
        for place in every:
            below = [
                (*place[:axis], at, *place[axis + 1 :])
                for at in range(len(dimension))
                if dimension.parents[at] == place[axis]
            ]
            parts = [values[one] for one in below]
            if not below or values[place] is None or None in parts:
                continue
            if values[place] or any(parts):
                found.append(abs(values[place] - sum(parts)))
        rows.append(
            [axis, len(found), sum(d > 0 for d in found), sum(found), max(found, default=0)]
        )
    return rows


@given(
    seed=st.integers(0, 1000),
    below=st.sampled_from([None, 3]),
    hide=st.sets(st.sampled_from([(0, 0), (0, 1), (2, 0), (2, 1), (1, 0), (1, 1)])),
)
def test_differences_are_those_a_reader_finds(
    seed: int, below: int | None, hide: set[tuple[int, int]]
) -> None:
    table = dc.tabulate(records(40, seed), [REGION, "age"], record_key="rk")
    protected = perturb(table, PTABLE, suppress_below=below)
    protected = replace(protected, suppressed_parts=frozenset(hide))
    assert total_differences(
        protected, PartGrid.of(protected.spanning)
    ).tolist() == plain_differences(protected)


@pytest.mark.filterwarnings("ignore:the perturbation table changes no count")
def test_differences_in_a_grid_too_large_for_numbers() -> None:
    """Sixteen variables of 20 codes: places do not fit 64 bits."""
    random = np.random.default_rng(5)
    data = {f"v{at}": random.integers(0, 19, 30).astype(str) for at in range(16)}
    cells = pl.DataFrame({**data, "n": random.integers(1, 9, 30)})
    every = [
        dc.Classification.flat(f"v{at}", [str(code) for code in range(19)]) for at in range(16)
    ]
    margin = cells.with_columns(pl.lit("Total").alias("v0")).group_by(
        [f"v{at}" for at in range(16)]
    )
    both = pl.concat([cells, margin.agg(pl.col("n").sum()).select(cells.columns)])
    table = Table.from_cells(both.with_columns(key=pl.lit(5)), every, count="n", cell_key="key")
    unchanged = PerturbationTable.from_rows({0: {0: 1}})
    protected = perturb(table, unchanged)
    log = QualityLog()
    log.add("T", table, protected)
    quality = log.tables["T"]
    assert quality.sums.tolist()[0] == [0, 30, 0, 0, 0]
    assert quality.counts.noise[:, 2].tolist() == [0] * len(quality.counts.noise)


def test_a_part_that_one_figure_lacks_is_complete_in_the_other() -> None:
    """Whether all cells of a total are published is a question of cells, not of parts by name."""
    region = dc.Classification.from_parents("region", {"N": None, "N1": "N", "N2": "N", "S": None})
    figures = (Figure(name="persons"), Figure(name="workers"))
    dimensions = (Dimension(classifications=(region,)), figure_dimension(figures))
    values = {"Total": [9, 6], "N": [5, 4], "N1": [3, 3], "N2": [1, 1], "S": [4, 2]}
    cells = [(code, at, both[at]) for code, both in values.items() for at in (0, 1)]
    numbers = dict(zip(region.codes, level_numbers(dimensions[0]).tolist(), strict=True))
    table = ProtectedTable(
        dimensions=dimensions,
        index=(
            np.array([region.index[code] for code, _, _ in cells], dtype=np.int32),
            np.array([at for _, at, _ in cells], dtype=np.int32),
        ),
        value=np.array([value for _, _, value in cells], dtype=float),
        status=np.zeros(len(cells), dtype=np.int8),
        provenance=Provenance(version="1", method="cell-key"),
        figures=figures,
        suppressed_parts=frozenset({(numbers["N"], 0)}),  # of the second figure
    )
    # Persons: the total of N and S, and N itself. Workers: neither, as N is hidden.
    assert total_differences(table, PartGrid.of(table.spanning)).tolist() == [[0, 2, 1, 1, 1]]
