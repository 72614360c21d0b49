"""Records from protected tables alone: the model of another program, and tables that do not fit."""

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.demo import generate
from discreet.errors import DiscreetError
from discreet.synthesis import synthesise

SECRET = "a long and secret sentence"


def cells_of(counts: dict[str, Any]) -> pl.DataFrame:
    """Tables as rows: "sex,age" → an array of counts."""
    frames = []
    for names, array in counts.items():
        by = names.split(",")
        places = np.indices(np.shape(array)).reshape(len(by), -1)
        columns = {
            name: [f"{name}{at}" for at in own] for name, own in zip(by, places, strict=True)
        }
        frames.append(pl.DataFrame({**columns, "value": np.ravel(array)}))
    return pl.concat(frames, how="diagonal")


def synthetic(cells: pl.DataFrame, **options: Any) -> pl.DataFrame:
    return synthesise(cells, "tables", secret=SECRET, **options).described.frame


def test_the_model_is_that_of_another_program() -> None:
    """All tables of two of three variables: the log-linear model without the threefold effect."""
    true = np.random.default_rng(1).integers(20, 200, (2, 3, 4))
    pairs = {"a,b": true.sum(2), "a,c": true.sum(1), "b,c": true.sum(0)}
    made = synthetic(cells_of(pairs), records=1_000_000)
    codes = np.array(list(itertools.product(range(2), range(3), range(4))))
    marks = [np.eye(size)[codes[:, at]][:, 1:] for at, size in enumerate((2, 3, 4))]
    crossed = [
        (marks[one][:, :, None] * marks[two][:, None, :]).reshape(len(codes), -1)
        for one, two in ((0, 1), (0, 2), (1, 2))
    ]
    x = np.column_stack([np.ones(len(codes)), *marks, *crossed])
    fitted = sm.GLM(true.ravel(), x, family=sm.families.Poisson()).fit().fittedvalues
    drawn = dict(made.group_by("a", "b", "c").len().with_columns(
        pl.concat_str("a", "b", "c").alias("cell")).select("cell", "len").iter_rows())  # fmt: skip
    shares = [drawn[f"a{a}b{b}c{c}"] / 1e6 for a, b, c in codes]
    assert np.abs(shares - fitted / fitted.sum()).max() < 3e-6


@settings(max_examples=40, deadline=None)
@given(
    shape=st.tuples(*[st.integers(1, 4)] * 3), seed=st.integers(0, 2**32 - 1),
    zeros=st.floats(0, 0.6),
)  # fmt: skip
def test_tables_of_one_population_are_met(shape: Any, seed: int, zeros: float) -> None:
    """The first variable's counts are met within one record, every table nearly."""
    drawn = np.random.default_rng(seed)
    true = drawn.integers(0, 50, shape) * (drawn.random(shape) > zeros)
    true.flat[0] += 5
    made = synthetic(cells_of({"a,b": true.sum(2), "b,c": true.sum(0)}))
    assert len(made) == true.sum()
    for at, count in enumerate(true.sum((1, 2))):
        assert abs((made["a"] == f"a{at}").sum() - count) <= 1
    for a, b in itertools.product(range(shape[0]), range(shape[1])):
        there = ((made["a"] == f"a{a}") & (made["b"] == f"b{b}")).sum()
        assert abs(there - true.sum(2)[a, b]) <= 1
    if not true.sum(2)[-1, -1]:  # what is empty in a table stays empty
        assert made.filter(a=f"a{shape[0] - 1}", b=f"b{shape[1] - 1}").height == 0


def test_the_same_tables_give_the_same_bytes_in_any_order() -> None:
    cells = cells_of({"a": [30, 20], "a,b": [[10, 20], [5, 15]]})
    first = synthetic(cells)
    assert first.equals(synthetic(cells.sample(fraction=1, shuffle=True, seed=3)))


def test_conditions_hold_and_contradict_tables() -> None:
    counts = {"age": [30, 70], "status": [60, 40]}
    rule = "age == 'age0' and status == 'status1'"
    made = synthetic(cells_of(counts), structural_zeros=[rule])
    assert made.group_by("age", "status").len().sort("age", "status").rows() == [
        ("age0", "status0", 30), ("age1", "status0", 30), ("age1", "status1", 40),
    ]  # fmt: skip
    counts = {"age": [30, 70], "status": [20, 80]}
    with pytest.raises(DiscreetError, match="leave no records for it"):
        synthetic(cells_of(counts), structural_zeros=[rule])


@pytest.mark.parametrize(
    ("cells", "options", "named"),
    [
        (cells_of({"a": [30, 20], "a,b": [[10, 9], [9, 10]]}), {}, "a × b: contradicts a in"),
        (cells_of({"a": [30, 20], "b": [400, 100]}), {}, "a: contradicts b in the total"),
        (cells_of({"a": [30, 20], "a,b": [[30, 9]]}), {}, "a × b: contradicts a in a"),
        (cells_of({"a": [30, np.nan]}), {}, "some cells have no count"),
        (cells_of({"a": [30, -1]}), {}, "some cells have no count"),
        (cells_of({"a": [0, 0]}), {}, "the table is empty"),
        (cells_of({"a": [30, 20]}), {"count": "n"}, "column of counts not found"),
        (pl.concat([cells_of({"a": [3]})] * 2), {}, "a cell occurs twice"),
        (pl.DataFrame({"a": ["Total"], "value": [9]}), {}, "no table of counts"),
        (cells_of({"a": [1] * 2_500, "b": [1] * 2_500}), {}, "combinations of codes"),
        (cells_of({"a": [3, 4]}), {"keys": ["a"], "sensitive": ["b"]}, "keys: needs records"),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit_are_refused(
    cells: pl.DataFrame, options: dict[str, Any], named: str
) -> None:
    with pytest.raises(DiscreetError) as caught:
        synthetic(cells, **options)
    assert named in str(caught.value)


def test_perturbed_tables_make_records_and_suppressed_ones_do_not() -> None:
    persons = generate(persons=3_000, seed=2).persons
    keyed = dc.with_record_keys(persons, id="person_id", secret=SECRET)
    ptable = dc.design_perturbation(max_noise=5, variance=3)
    tables = [
        dc.perturb(dc.tabulate(keyed, by=by, record_key="record_key", name="-".join(by)), ptable)
        for by in (["district", "sex"], ["sex", "marital_status"], ["district", "marital_status"])
    ]
    made = synthesise(tables, "tables", secret=SECRET, tolerance=0.1)
    assert made.report.verdict == "not_examined"
    assert abs(made.report.records - 3_000) < 60
    for one in made.report.measures[:3]:
        assert one.name == "fit"
        assert one.numbers["mean"] < 0.03
    chosen = synthesise(tables, "tables", secret=SECRET, tables=["district-sex"])
    assert chosen.described.frame.columns == ["district", "sex"]
    with pytest.raises(DiscreetError, match="tables: shoes"):
        synthesise(tables, "tables", secret=SECRET, tables=["shoes"])
    true = dc.tabulate(persons, by=["district", "education"])
    primary = dc.primary(true, [dc.rules.MinimumFrequency(3)])
    hidden = dc.suppress(true, primary, method="fast")
    with pytest.raises(DiscreetError, match="some interior cells are not published"):
        synthesise(hidden, "tables", secret=SECRET)
