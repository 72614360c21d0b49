"""Additivity afterwards: totals are sums, zeros and official figures stay, the price is told."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.classifications import Classification
from discreet.errors import CountRoundingError
from discreet.protection.rounding import (
    AdditivityCost,
    fitted_exposure,
    make_additive_linked,
    round_counts,
)
from discreet.tables import CellStatus, Figure, ProtectedTable
from tests.helpers.protected_tables import protected_table

PTABLE = dc.design_perturbation(max_noise=4, variance=2, forbidden=(1, 2))
REGION = Classification.from_parents(
    "region", {"A": None, "A1": "A", "A2": "A", "B": None, "B1": "B", "B2": "B", "B3": "B"}
)


def counted(seed: int, number: int, by: tuple[Any, ...] = (REGION, "sex", "age")) -> dc.Table:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "region": rng.choice(["A1", "A1", "A1", "A2", "B1", "B2", "B3"], number),
            "sex": rng.choice(["m", "w"], number),
            "age": rng.choice(["1", "2", "3", "4"], number),
            "record_key": rng.integers(0, 10**15, number),
        }
    )  # fmt: skip
    return dc.tabulate(frame, list(by), record_key="record_key")


def residuals(safe: ProtectedTable) -> list[float]:
    """Total − sum of parts, of every total in every variable, from the complete grid."""
    frame = safe.to_polars(complete=True)
    names = [dimension.name for dimension in safe.dimensions]
    found: list[float] = []
    for dimension in safe.dimensions:
        others = [name for name in names if name != dimension.name]
        above = {
            code: dimension.codes[parent]
            for code, parent in zip(dimension.codes, dimension.parents, strict=True)
            if parent >= 0
        }
        parts = (
            frame.with_columns(pl.col(dimension.name).cast(pl.String))
            .filter(pl.col(dimension.name).is_in(list(above)))
            .with_columns(pl.col(dimension.name).replace_strict(above))
            .group_by(names)
            .agg(parts=pl.col("value").sum())
        )
        texts = frame.with_columns(pl.col(dimension.name).cast(pl.String))
        joined = texts.join(parts, on=[dimension.name, *others])
        found += (joined["value"] - joined["parts"]).to_list()
    return found


def one(values: dict[str, int], official: tuple[str, ...] = ()) -> ProtectedTable:
    tree = Classification.flat("sex", ["m", "w", "d"])
    codes = [code for code in values if values[code]]
    return protected_table(
        [tree],
        [values[code] for code in codes],
        at=[[tree.index[code] for code in codes]],
        status=np.array(
            [CellStatus.official if code in official else 0 for code in codes], dtype=np.int8
        ),
        method="test",
    )


def shown(safe: ProtectedTable) -> dict[str, int]:
    return dict(safe.to_polars(complete=True).select("sex", "value").rows())


@given(st.integers(0, 10**6), st.integers(0, 150))
def test_totals_are_sums_and_zeros_stay(seed: int, number: int) -> None:
    safe = dc.perturb(counted(seed, number), PTABLE)
    whole = dc.make_additive(safe)
    assert not any(residuals(whole))
    before = safe.to_polars(complete=True)
    after = whole.to_polars(complete=True)
    inner = pl.all_horizontal(
        pl.col(d.name)
        .cast(pl.String)
        .is_in([c for c, leaf in zip(d.codes, d.is_leaf, strict=True) if leaf])
        for d in safe.dimensions
    )
    zero = before.with_row_index().filter(inner & (pl.col("value") == 0))["index"]
    assert not after["value"].gather(zero).sum()
    assert (after["value"] >= 0).all()
    assert after["value"].dtype == before["value"].dtype
    again = dc.make_additive(whole)
    assert again.to_polars().equals(whole.to_polars())


def test_least_change_of_a_single_total() -> None:
    assert shown(dc.make_additive(one({"Total": 100, "m": 60, "w": 45}))) == {
        "Total": 102, "m": 58, "w": 44, "d": 0,
    }  # fmt: skip
    assert shown(dc.make_additive(one({"Total": 105, "m": 60, "w": 45})))["Total"] == 105


def test_official_figures_stay() -> None:
    whole = dc.make_additive(one({"Total": 100, "m": 60, "w": 45}, official=("Total",)))
    assert shown(whole) == {"Total": 100, "m": 57, "w": 43, "d": 0}
    assert whole.status.tolist()[0] == CellStatus.official
    part = dc.make_additive(one({"Total": 100, "m": 60, "w": 45}, official=("m",)))
    assert shown(part)["m"] == 60
    assert sum(shown(part).values()) == 2 * shown(part)["Total"]


def test_official_figures_that_contradict_each_other_are_refused() -> None:
    codes = ("Total", "m", "w")
    with pytest.raises(
        CountRoundingError, match="exempt cells and zeros allow no additive whole numbers"
    ):
        dc.make_additive(one({"Total": 100, "m": 60, "w": 45}, official=codes))
    with pytest.raises(CountRoundingError, match="all of its parts are zero"):
        dc.make_additive(one({"Total": 100}, official=("Total",)))


def test_totals_of_zeros_become_zero_and_zeros_above_figures_do_not_stay() -> None:
    assert shown(dc.make_additive(one({"Total": 3}))) == {"Total": 0, "m": 0, "w": 0, "d": 0}
    assert shown(dc.make_additive(one({"m": 3, "d": 4})))["Total"] == 7


def test_linked_tables_stay_equal_where_they_meet() -> None:
    tables = [dc.perturb(counted(3, 400, by), PTABLE) for by in ((REGION, "sex"), (REGION, "age"))]
    alone = [dc.make_additive(each) for each in tables]
    together = make_additive_linked(tables)
    assert all(not any(residuals(each)) for each in (*alone, *together))
    assert AdditivityCost.of(tables, together).parted == 0
    assert AdditivityCost.of(tables, alone).parted > 0
    assert [note.kind for note in together[0].notes] == ["additive"]
    assert [note.kind for note in alone[0].notes] == ["additive-alone"]


def test_the_price_stands_in_the_statement() -> None:
    safe = one({"Total": 100, "m": 60, "w": 45})
    whole = dc.make_additive(safe)
    cost = AdditivityCost.of([safe], [whole])
    assert cost == AdditivityCost(
        cells=3, changed=3, mean=5 / 3, largest=2.0, parted=0, exposure=1.5
    )
    assert "3 of 3" in whole.notes[-1].text("en")
    assert "1.67" in whole.notes[-1].text("de")


def cube_of(variables: int, seed: int) -> dc.Table:
    """Records by so many variables of two codes."""
    rng = np.random.default_rng(seed)
    names = [f"v{at}" for at in range(variables)]
    records = {name: rng.choice(["a", "b"], 20 * 2**variables) for name in names}
    frame = pl.DataFrame({**records, "record_key": rng.integers(0, 10**15, 20 * 2**variables)})
    return dc.tabulate(frame, names, record_key="record_key")


def test_figures_become_more_accurate_and_the_note_says_by_how_much() -> None:
    """Least squares leave 2/3 of the variance for each variable of two codes."""
    table = cube_of(5, seed=1)
    safe = dc.perturb(table, PTABLE)
    whole = dc.make_additive(safe)
    exposure = AdditivityCost.of([safe], [whole]).exposure
    assert exposure == pytest.approx(1.5**5)
    off = [float(np.abs(each.value - table.count).mean()) for each in (safe, whole)]
    assert off[1] < off[0] / 2
    right = [float((each.value == table.count).mean()) for each in (safe, whole)]
    assert right[1] > 2 * right[0]
    note = whole.notes[-1]
    assert "estimated from 7.6 independent figures on average" in note.text("en")
    assert "nearer to the true ones" in note.text("en")
    assert "näher an den wahren" in note.text("de")


@pytest.mark.parametrize("official", [None, "age == 'Total'", "sex == 'Total' and age == 'Total'"])
def test_the_exposure_of_linked_tables_is_never_too_small(official: str | None) -> None:
    """Against linear algebra: the mean of what is left of noise in all directions that add up."""
    by = ((REGION, "sex", "age"), (REGION, "sex"), ("sex", "age"))
    tables = [
        dc.perturb(counted(3, 900, each), PTABLE, official=official if len(each) == 3 else None)
        for each in by
    ]
    cells: dict[tuple[tuple[str, str], ...], int] = {}
    exact: set[int] = set()
    rows: list[dict[int, int]] = []
    for safe in tables:
        frame = safe.to_polars(complete=True).with_columns(pl.col(pl.Categorical).cast(pl.String))
        names = [dimension.name for dimension in safe.dimensions]
        for codes in frame.filter(pl.col("value") != 0).rows(named=True):
            key = [(name, codes[name]) for name in names]
            at = cells.setdefault(tuple(x for x in key if x[1] != "Total"), len(cells))
            if codes["status"] == "official":
                exact.add(at)
        for dimension in safe.dimensions:
            for total in dimension.codes:
                below = [
                    code
                    for code, parent in zip(dimension.codes, dimension.parents, strict=True)
                    if parent >= 0 and dimension.codes[parent] == total
                ]
                for codes in frame.filter(pl.col(dimension.name) == total).rows(named=True):
                    row: dict[int, int] = {}
                    for code in (total, *below):
                        key = [(n, code if n == dimension.name else codes[n]) for n in names]
                        found = cells.get(tuple(x for x in key if x[1] != "Total"))
                        if found is not None:
                            row[found] = -1 if code == total else 1
                    rows += [row] if below and row else []
    matrix = np.zeros((len(rows) + len(exact), len(cells)))
    for at, row in enumerate(rows):
        matrix[at, list(row)] = list(row.values())
    for at, cell in enumerate(exact, len(rows)):
        matrix[at, cell] = 1
    free = len(cells) - np.linalg.matrix_rank(matrix)
    true = (len(cells) - len(exact)) / free
    assert true - 1e-9 <= fitted_exposure(tables) <= 1.35 * true


def test_breakdowns_that_share_a_total_leave_fewer_figures_free() -> None:
    pair = [
        Classification.from_parents(name, {f"{name}{at}": None for at in range(4)}, column=name)
        for name in "ab"
    ]
    at = np.arange(1_600)
    frame = pl.DataFrame(
        {
            "a": [f"a{each}" for each in at % 4],
            "b": [f"b{each}" for each in at // 4 % 4],
            "sex": [f"s{each}" for each in at // 16 % 2],
            "id": at,
        }
    )
    keyed = dc.with_record_keys(frame, id="id", secret="a long and secret sentence")
    table = dc.tabulate(keyed, [pair, "sex"], record_key="record_key")
    # Of 9 × 3 figures, 7 × 2 are free: 9 codes, 2 sums; 3 codes, 1 sum.
    assert fitted_exposure([dc.perturb(table, PTABLE)]) == pytest.approx(27 / 14)


def test_sums_keep_their_digits() -> None:
    figure = Figure(name="rent", kind="sum", decimals=2)
    safe = replace(
        one({"Total": 1, "m": 1, "w": 1}),
        value=np.array([100.05, 60.0, 40.1]),
        figures=(figure,),
        decimals=2,
    )
    whole = dc.make_additive(safe)
    values = whole.value.tolist()
    assert values[0] == pytest.approx(values[1] + values[2], abs=1e-9)
    assert 100.05 <= values[0] <= 100.1


@pytest.mark.parametrize("sizes", [(30, 20), (7, 6, 5)])
def test_large_tables_and_order(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(8)
    columns = {f"v{k}": [f"{x:02}" for x in rng.integers(0, n, 4000)] for k, n in enumerate(sizes)}
    frame = pl.DataFrame({**columns, "record_key": rng.integers(0, 10**15, 4000)})
    first, second = (
        dc.perturb(dc.tabulate(each, list(columns), record_key="record_key"), PTABLE)
        for each in (frame, frame.sample(fraction=1, shuffle=True, seed=1))
    )
    whole = dc.make_additive(first)
    assert not any(residuals(whole))
    assert whole.to_polars().equals(dc.make_additive(second).to_polars())
    cost = AdditivityCost.of([first], [whole])
    assert cost.mean < 2


@pytest.mark.parametrize(("seed", "large"), [(5, False), (0, True), (1, True)])
def test_official_totals_of_one_variable_stay_also_in_tables_too_large_for_the_solver(
    monkeypatch: pytest.MonkeyPatch, seed: int, large: bool
) -> None:
    if large:
        monkeypatch.setattr("discreet.protection.rounding.additivity._SOLVED", 10)
        monkeypatch.setattr("discreet.protection.rounding.additivity._MOST", 20)
    table = counted(seed, 600)
    safe = dc.perturb(table, PTABLE, official="sex == 'Total' and age == 'Total'")
    whole = dc.make_additive(safe)
    assert not any(residuals(whole))
    official, kept = (each.status == CellStatus.official for each in (safe, whole))
    assert official.sum() == 8
    assert whole.value[kept].tolist() == safe.value[official].tolist()
    assert AdditivityCost.of([safe], [whole]).mean < 2
    assert not any(residuals(dc.make_additive(dc.perturb(table, PTABLE))))


def test_official_figures_that_cross_in_a_large_table_are_refused_where_they_cannot_be_met(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("discreet.protection.rounding.additivity._MOST", 20)
    official = "age == 'Total' or sex == 'Total'"
    with pytest.raises(
        CountRoundingError, match="exempt cells of several variables in a table of more than 20"
    ):
        dc.make_additive(dc.perturb(counted(4, 60), PTABLE, official=official))


@pytest.mark.exhaustive
def test_official_figures_that_cross_in_a_large_table_are_met(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("discreet.protection.rounding.additivity._MOST", 20)
    official = "age == 'Total' or sex == 'Total'"
    safe = dc.perturb(counted(4, 600), PTABLE, official=official)
    whole = dc.make_additive(safe)
    assert not any(residuals(whole))
    kept = safe.status == CellStatus.official
    assert safe.value[kept].tolist() == whole.value[whole.status == CellStatus.official].tolist()


def test_hidden_cells_and_other_figures_are_refused() -> None:
    hidden = dc.perturb(counted(1, 100), PTABLE, suppress_below=5)
    with pytest.raises(
        CountRoundingError, match="remove suppressed cells, or make the table additive before"
    ):
        dc.make_additive(hidden)
    mean = replace(one({"Total": 3, "m": 3}), figures=(Figure(name="rent", kind="mean"),))
    with pytest.raises(CountRoundingError, match="only counts and sums"):
        dc.make_additive(mean)
    with pytest.raises(CountRoundingError, match="expected a ProtectedTable"):
        dc.make_additive(counted(1, 10))  # type: ignore[arg-type]
    other = replace(one({"Total": 3, "m": 3}), universe={"en": "women"})
    with pytest.raises(
        CountRoundingError, match="the table has another figure, population or decimals"
    ):
        make_additive_linked([one({"Total": 3, "m": 3}), other])


def test_figures_rounded_apart_add_up_afterwards() -> None:
    rounded = round_counts(counted(2, 300), 5, "conventional")
    whole = dc.make_additive(rounded)
    assert any(residuals(rounded))
    assert not any(residuals(whole))
    assert "each-apart" not in [note.kind for note in whole.notes]
