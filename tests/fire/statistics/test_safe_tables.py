"""`tabulate` and `table`: margins, percentages and cumulated columns tell nothing."""

import highspy
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import OutputCheckError
from discreet_fire import statistics
from discreet_fire.statistics import CheckVerdict, SafeLimits
from discreet_fire.statistics.disclosure_rules import broken
from discreet_fire.statistics.grouped_values import GroupedValues
from discreet_fire.statistics.suppression import (
    Counts,
    SumTable,
    hide_cells,
    lines_of,
    with_margins,
)


def records(counts):
    """Records that make up a table of counts."""
    places = [place for place in np.ndindex(counts.shape) for _ in range(counts[place])]
    names = ["a", "b", "c"][: counts.ndim]
    return pl.DataFrame(places, schema=dict.fromkeys(names, pl.Int64), orient="row")


def shown_counts(result, shape):
    """What is shown, with margins; NaN where withheld."""
    return np.array(result.frame["n"].cast(pl.Float64).fill_null(np.nan)).reshape(
        tuple(size + 1 for size in shape)
    )


def bounds(shown, cell):
    """What an attacker finds out about a cell: linear programming over all that is shown.

    Everyone sees which cells are not empty: withheld ones hold at least one case.
    """
    flat = shown.ravel()
    found = []
    for sense in (highspy.ObjSense.kMinimize, highspy.ObjSense.kMaximize):
        model = highspy.Highs()
        model.setOptionValue("output_flag", False)
        for at, value in enumerate(flat):
            low, high = (1.0, 10_000.0) if np.isnan(value) else (value, value)
            model.addVar(low, high)
            model.changeColCost(at, 1.0 if at == cell else 0.0)
        for line in lines_of(shown.shape):
            cells, factors = zip(*line, strict=True)
            model.addRow(0.0, 0.0, len(line), np.array(cells), np.array(factors, dtype=float))
        model.changeObjectiveSense(sense)
        model.run()
        found.append(model.getObjectiveValue())
    return found


@given(st.integers(2, 4), st.integers(2, 4), st.integers(0, 10**6), st.sampled_from([1, 3, 8]))
def test_nobody_can_tell_a_small_cell_of_a_two_way_table(rows, columns, seed, mean):
    counts = np.random.default_rng(seed).poisson(mean, (rows, columns))
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if not counts.size:
        return
    result = statistics.tabulate(records(counts), "a", "b", percent=["row", "column", "cell"])
    shown = shown_counts(result, counts.shape)
    full = np.pad(counts, ((0, 1), (0, 1)))
    full[-1, :-1], full[:-1, -1], full[-1, -1] = counts.sum(0), counts.sum(1), counts.sum()
    there = ~np.isnan(shown)
    assert (shown[there] == full[there]).all()
    for cell in np.flatnonzero((full.ravel() > 0) & (full.ravel() < 3)):
        assert np.isnan(shown.ravel()[cell])
        low, high = bounds(shown, cell)
        assert low < 3 <= high + 1e-9
        assert high - low > 0.5
    for share in ("row_percent", "column_percent", "cell_percent"):
        assert result.frame.filter(pl.col("n").is_null())[share].null_count() == (~there).sum()


def test_rare_texts_are_not_named():
    names = ["Meier", "Huber", *["north", "south", "east", "west"] * 9, "Q 7", "Q 7"]
    frame = pl.DataFrame({"name": names, "sex": [1, 2] * 20})
    commands = (
        statistics.tabulate(frame, "name"),
        statistics.tabulate(frame, "name", "sex"),
        statistics.tabstat(frame, "sex", by="name"),
        statistics.table(frame, "name"),
        statistics.summarize(frame, "sex", by="name"),
    )
    for result in commands:
        assert "north" in result.shown
        assert not any(name in result.shown for name in ("Meier", "Huber", "Q 7"))
    # Declared categories are no secret.
    declared = frame.cast({"name": pl.Enum(sorted(set(names)))})
    assert "Meier" in statistics.tabulate(declared, "name").shown


@given(st.lists(st.integers(0, 12), min_size=1, max_size=7))
def test_nobody_can_tell_a_small_group_of_a_one_way_table(sizes):
    counts = np.array(sizes)
    counts = counts[counts > 0]
    if not counts.size:
        return
    codes = pl.Enum([str(code) for code in range(counts.size)])
    given = records(counts).cast(pl.String).cast(codes)
    if counts.size > 5 and counts.size * 3 > counts.sum():
        with pytest.raises(OutputCheckError, match="group of its own"):
            statistics.tabulate(given, "a")
        return
    result = statistics.tabulate(given, "a")
    shown = [*result.frame["n"].to_list(), result.stored.get("N")]
    assert all(size is None or size >= 3 for size in shown)
    cells = np.array([np.nan if x is None else x for x in shown])
    for cell in np.flatnonzero(counts < 3):
        low, high = bounds(cells, cell)
        assert low < 3 <= high
    # The cumulated column is made of shown frequencies only.
    total = result.stored.get("N")
    hidden = [at for at, size in enumerate(result.frame["n"]) if size is None]
    for at, share in enumerate(result.frame["cumulated"]):
        below = all(other > at for other in hidden)
        above = all(other <= at for other in hidden)
        assert (share is not None) == (total is not None and (below or above))


def test_both_tables_withhold_the_same_margins():
    counts = np.array([[2, 0, 0], [4, 9, 8], [5, 6, 7], [9, 9, 9]])
    frame = records(counts)
    one = statistics.tabulate(frame, "a").frame["n"].to_list()
    shown = shown_counts(statistics.tabulate(frame, "a", "b"), counts.shape)
    two = [None if np.isnan(x) else x for x in shown[:-1, -1]]
    assert one == two


def test_small_cells_are_those_of_few_people():
    frame = pl.DataFrame({"a": [1] * 30 + [2] * 30, "pid": [1] * 28 + [2, 3] + list(range(30))})
    few = pl.DataFrame({"a": [1] * 30 + [2] * 30, "pid": [1] * 29 + [2] + list(range(30))})
    assert statistics.tabulate(frame, "a", entity="pid").frame["n"].null_count() == 0
    assert statistics.tabulate(few, "a").frame["n"].null_count() == 0
    assert statistics.tabulate(few, "a", entity="pid").frame["n"].null_count() == 2


def test_a_test_is_shown_only_with_all_counts():
    counts = np.array([[8, 2], [3, 7]])
    fine = statistics.tabulate(records(counts), "a", "b", chi2=True, limits=SafeLimits(minimum=2))
    assert {"chi2", "p"} <= set(fine.stored)
    hidden = statistics.tabulate(records(counts), "a", "b", chi2=True)
    assert "chi2" not in hidden.stored


def test_rows_with_one_value_are_looked_at():
    result = statistics.tabulate(records(np.array([[9, 0], [5, 6]])), "a", "b")
    assert [c.where for c in result.checks if c.verdict is CheckVerdict.review] == [
        "a = 0",
        "b = 1",
    ]


def test_rare_values_are_put_together():
    ages = np.repeat(np.arange(18, 98), np.r_[np.full(70, 40), np.full(10, 2)])
    result = statistics.tabulate(pl.DataFrame({"age": ages}), "age")
    assert result.frame["age"].to_list()[-1] == "(other)"
    assert result.frame["n"].to_list()[-1] == 20
    assert "97" not in result.frame["age"].to_list()


def test_weights_are_shown_as_sums():
    frame = pl.DataFrame({"a": [1] * 4 + [2] * 5, "w": [1.5] * 9})
    assert statistics.tabulate(frame, "a", weights="w").frame["n"].to_list() == [6, 7.5]
    heavy = pl.DataFrame({"a": [1] * 4 + [2] * 5, "w": [900.0] + [1.5] * 8})
    assert statistics.tabulate(heavy, "a", weights="w").frame["n"].to_list() == [None, None]


def test_checks_do_not_say_which_cell_breaks_which_rule():
    result = statistics.tabulate(records(np.array([[1, 9, 5], [7, 8, 6], [4, 6, 9]])), "a", "b")
    assert {(c.rule, c.where) for c in result.checks if c.verdict is CheckVerdict.fail} == {
        ("minimum", "a, b"),
        ("secondary", "a, b"),
    }


# `table`: sums and means of cells.


@given(st.integers(0, 10**6), st.booleans())
def test_no_contributor_can_estimate_another_by_a_line(seed, signed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 90))
    x = rng.lognormal(3, 2, n) * (rng.choice([-1, 1], n) if signed else 1)
    frame = pl.DataFrame({"a": rng.integers(0, 3, n), "b": rng.integers(0, 3, n), "x": x})
    limits = SafeLimits(k=85)
    result = statistics.table(frame, ["a", "b"], "x", statistics="sum", limits=limits)
    sizes = (frame["a"].n_unique(), frame["b"].n_unique())
    labels = [sorted(frame[name].unique()) for name in ("a", "b")]
    shown = result.frame["sum x"].fill_null(np.nan).to_numpy().reshape(sizes[0] + 1, sizes[1] + 1)
    full = np.zeros_like(shown)
    for i, j in np.ndindex(full.shape):
        keep = [(frame["a"] == labels[0][i]) if i < sizes[0] else pl.repeat(True, n, eager=True)]
        keep += [(frame["b"] == labels[1][j]) if j < sizes[1] else pl.repeat(True, n, eager=True)]
        full[i, j] = frame.filter(keep[0] & keep[1])["x"].len()
    for axis in (0, 1):
        for at in range(full.shape[1 - axis]):
            line = np.take(shown, at, axis=1 - axis)
            there = np.take(full, at, axis=1 - axis)
            hidden = [c for c in range(len(line) - 1) if np.isnan(line[c]) and there[c] > 0]
            if np.isnan(line[-1]) or not hidden:
                assert len(hidden) > 0 or not np.isnan(line[-1]) or not there[-1]
                continue
            # The total less what is shown is the sum of the withheld cells together.
            own, other = ("a", "b") if axis == 0 else ("b", "a")
            part = frame.filter(pl.col(own).is_in([labels[axis][c] for c in hidden]))
            if at < sizes[1 - axis]:
                part = part.filter(pl.col(other) == labels[1 - axis][at])
            top = np.sort(np.abs(part["x"].to_numpy()))[::-1]
            assert len(top) > 3
            assert top[:2].sum() <= 0.85 * top.sum() * (1 + 1e-9)
            assert not broken(GroupedValues.of(part["x"].to_numpy(), None, 1).total(limits), limits)


def test_withheld_sums_are_not_determined_by_the_table():
    rng = np.random.default_rng(8)
    for _ in range(4):
        n = 70
        frame = pl.DataFrame(
            {"a": rng.integers(0, 4, n), "b": rng.integers(0, 3, n), "x": rng.lognormal(3, 1.6, n)}
        )
        shown = statistics.table(frame, ["a", "b"], "x", statistics="sum").frame["sum x"]
        counts = statistics.table(frame, ["a", "b"]).frame["n"]
        unknown = [at for at, value in enumerate(shown) if value is None and counts[at] != 0]
        lines = np.zeros((len(lines_of((5, 4))), 20))
        for row, line in enumerate(lines_of((5, 4))):
            for cell, factor in line:
                lines[row, cell] = factor
        system = lines[:, unknown]
        rank = np.linalg.matrix_rank(system) if unknown else 0
        for at in range(len(unknown)):
            unit = np.zeros((1, len(unknown)))
            unit[0, at] = 1
            assert np.linalg.matrix_rank(np.vstack([system, unit])) == rank + 1


def test_three_variables_are_in_line_with_two():
    rng = np.random.default_rng(4)
    n = 300
    frame = pl.DataFrame(
        {
            "a": rng.integers(0, 3, n),
            "b": rng.choice([0, 1, 2], n, p=[0.7, 0.28, 0.02]),
            "c": rng.integers(0, 2, n),
        }
    )
    three, two = statistics.table(frame, ["a", "b", "c"]), statistics.table(frame, ["a", "b"])
    hidden = two.frame.filter(pl.col("n").is_null()).select("a", "b").rows()
    assert hidden
    below = three.frame.filter(pl.col("c") == "Total")
    assert set(hidden) <= set(below.filter(pl.col("n").is_null()).select("a", "b").rows())


def test_wrong_tables_are_refused():
    frame = records(np.array([[5, 5], [5, 5]]))
    for ask in (
        lambda: statistics.tabulate(frame, "a", "a"),
        lambda: statistics.tabulate(frame, "a", percent=["row"]),
        lambda: statistics.tabulate(frame, "a", "b", percent=["diagonal"]),
        lambda: statistics.tabulate(frame, "a", chi2=True),
        lambda: statistics.table(frame, ["a", "b"], limits=SafeLimits(most_cells=5)),
    ):
        with pytest.raises(OutputCheckError):
            ask()


def test_variables_may_be_called_like_results():
    frame = records(np.array([[5, 6], [7, 8]])).rename({"a": "n", "b": "percent"})
    assert statistics.tabulate(frame, "n").frame.columns == ["n_", "n", "percent", "cumulated"]
    assert statistics.tabulate(frame, "n", "percent").frame.columns == ["n_", "percent", "n"]
    assert statistics.table(frame, ["n", "percent"]).frame["n"].to_list()[-1] == 26
    counted = statistics.tabstat(
        frame.with_columns(x=pl.int_range(26)), "x", statistics="n", by="n"
    )
    assert counted.frame.columns == ["variable", "n_", "n"]


def test_a_total_that_only_sums_of_firms_make_unsafe():
    # Firms 1 and 2 move a million from one region to the other; what is left is firm 3's.
    move = [[1e6, 1.1e6, 9e5, 1e3, 2e3], [-1e6, -1.1e6, -9e5, 5.0, 4.0]]
    frame = pl.DataFrame(
        {"a": [0] * 5 + [1] * 5, "firm": [1, 2, 3, 4, 5] * 2, "x": [*move[0], *move[1]]}
    )
    result = statistics.tabstat(
        frame, "x", statistics="sum", by="a", entity="firm", limits=SafeLimits(k=90)
    )
    sums = result.frame["sum"].to_list()
    assert sums[-1] is None
    assert None in sums[:-1]


def test_a_cell_of_one_heavy_case_is_withheld_in_two_way_tables():
    frame = records(np.array([[6, 5], [7, 8]])).with_columns(w=pl.lit(1.0))
    heavy = frame.with_columns(
        w=pl.when(pl.int_range(pl.len()) == 0).then(500.0).otherwise(pl.col("w"))
    )
    assert statistics.tabulate(frame, "a", "b", weights="w").frame["n"].null_count() == 0
    shown = statistics.tabulate(heavy, "a", "b", weights="w").frame["n"].to_list()
    assert shown[0] is None
    assert shown[-1] is None  # the total is nearly all his, too
    # Weight 0 counts for nothing: one of six is left in the first cell.
    zero = frame.with_columns(
        w=pl.when(pl.int_range(pl.len()).is_between(1, 5)).then(0.0).otherwise(pl.col("w"))
    )
    assert statistics.tabulate(zero, "a", "b", weights="w").frame["n"][0] is None


def test_labels_of_withheld_rows_do_not_tell_the_smallest_and_largest_amount():
    ages = pl.DataFrame({"age": [20, 21, 22, 23, 24] * 8 + [117, 3]})
    for result in (statistics.tabulate(ages, "age"), statistics.table(ages, ["age"])):
        assert "117" not in str(result.to_dict())
        assert " 3 " not in result.shown
        assert "(other)" in result.shown
    codes = pl.DataFrame({"code": [1] * 8 + [2] * 9 + [3]})
    assert "(other)" not in statistics.tabulate(codes, "code").shown


def counted(*rows):
    """The counts of a two-way table; each record is about another case."""
    inner = np.array(rows)
    n = with_margins(inner)
    return Counts(n=n, cases=n, codes=np.zeros(0, dtype=np.int64), sizes=inner.shape)


def test_margins_that_other_tables_show_are_withheld_only_where_nothing_else_helps():
    limits = SafeLimits()
    nothing = np.zeros((3, 3), dtype=np.bool_)
    sensitive = nothing.copy()
    sensitive[0, 0] = True
    for rows, margins in (([[10, 9], [8, 30]], False), ([[10, 0], [0, 30]], True)):
        for before in (nothing, None):
            counts = counted(*rows)
            hidden, told = hide_cells(counts, limits, sensitive=sensitive, before=before)
            assert hidden[0, 0]
            assert (hidden[-1].any() or hidden[:, -1].any()) == margins
            # It is told only where another table shows what is withheld here.
            assert told == (margins and before is not None)


def test_many_large_cells_are_withheld_sooner_than_two_margins():
    # With margins three more cells would do, and without them five.
    counts = counted([1, 50, 0], [50, 0, 50], [0, 1000, 1000])
    hidden, _ = hide_cells(counts, SafeLimits())
    assert not hidden[-1].any()
    assert not hidden[:, -1].any()
    assert hidden[:-1, :-1].sum() == 6


@pytest.mark.parametrize("shift", [0.0, -50.0])
def test_sensitive_sums_are_kept_as_far_apart_as_the_rules_ask(shift):
    """The p% rule asks for more than that a sum is not known exactly."""
    values = np.array([1000.0, 90.0, 8.3, 5.0, 70.0, 71.0, 72.0, 0.0, 0.0, 0.0, 60.0, 61.0, 62.0])
    values[-1] += 2 * shift
    codes = np.array([0] * 4 + [1] * 3 + [2] * 3 + [3] * 3)
    limits = SafeLimits(p=20)
    table = SumTable(holding=GroupedValues.of(values, codes, 4), sizes=(2, 2), limits=limits)
    primary = np.zeros((3, 3), dtype=np.bool_)
    primary[0, 0] = primary[1, 0] = True
    value, low, lower, upper = table._asked(primary)
    unit = 2**40 / max(facts.size for facts in table.facts)
    # Who contributes 90 knows all but 13.3 of the rest; he may not come within 200 of 1000.
    level = float(table.levels[0, 0])
    assert level >= 0.2 * 1000 - 13.3 - 1e-9
    assert upper[0, 0] >= level * unit
    assert upper[1, 0] == 1
    assert not upper[~primary].any()
    assert (low <= value).all()
    assert (low < 0).all() == (shift < 0)
    if not shift:
        assert (lower <= value).all()
        assert lower[0, 0] == upper[0, 0]
