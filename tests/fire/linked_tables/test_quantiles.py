"""Quantiles: each shows how many records have values up to it, and these counts are compared."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet_fire as fire
from discreet.errors import DisclosureWarning
from discreet_fire.linked_tables import (
    OutputRecords,
    ShownCounts,
    difference_findings,
    read_tables,
    table_bytes,
    tables_of,
)
from discreet_fire.statistics import SafeLimits, centile, summarize, tabstat
from tests.helpers.run_panel import run
from tests.helpers.submission_sequences import play

LIMITS = SafeLimits(minimum=3)
VALUES = {
    "even": [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    "odd": [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
    "tied": [1.0, 2, 3, 4, 5, 6, 6, 6, 9, 10, 11, 12, 13],
    "tied above": [1.0, 2, 3, 4, 5, 6, 7, 7, 9, 10, 11, 12, 13],
    "rounded": [1.0, 2, 3, 4, 5, 1e9 + 0.25, 1e9 + 0.5, 1e9 + 0.75, 2e9, 3e9, 4e9, 5e9, 6e9],
}


def tables(result: object, frame: pl.DataFrame, how: str = "variables") -> list:
    """The tables of an output over a frame, its records in order."""
    behind = OutputRecords(
        title=f"line 1, {result.command.split()[0]}",
        labels=frame,
        numbers=np.arange(frame.height),
        owners=np.arange(frame.height),
        weights=None,
        digits=7,
    )
    return list(tables_of(how, behind, result.frame, result.stored))


def quantiles(result: object, frame: pl.DataFrame) -> list[ShownCounts]:
    return [one for one in tables(result, frame) if getattr(one, "cuts", None) is not None]


@pytest.mark.parametrize(
    ("name", "count"), [("even", 6), ("odd", 7), ("tied", None), ("tied above", 6)]
)
def test_a_median_shows_how_many_are_up_to_it_unless_values_are_tied(
    name: str, count: int | None
) -> None:
    frame = pl.DataFrame({"x": VALUES[name]})
    (table,) = quantiles(tabstat(frame, "x", statistics="p50", limits=LIMITS), frame)
    shown = table.counts[~table.hidden].tolist()
    assert shown == ([] if count is None else [count])
    if count is None:  # five are below, as six at most; eight are up to it, as seven at least
        assert [*zip(table.cuts.low, table.counts, table.cuts.high, strict=True)][:2] == [
            (0, 5, 6),
            (7, 8, np.inf),
        ]


def test_a_rounded_median_is_no_exact_threshold() -> None:
    frame = pl.DataFrame({"x": VALUES["rounded"]})
    (table,) = quantiles(tabstat(frame, "x", statistics="p50", limits=LIMITS), frame)
    assert table.hidden.all()
    assert table.counts[:2].tolist() == [5, 8]


def test_every_command_shows_its_quantiles() -> None:
    frame = pl.DataFrame({"x": np.arange(1.0, 101.0), "sex": [0, 1] * 50})
    for result, words in (
        (summarize(frame, "x", detail=True, limits=LIMITS), "p5 p10 p25 p50 p75 p90 p95"),
        (tabstat(frame, "x", statistics="iqr", limits=LIMITS), "p25 p75"),
    ):
        (table,) = quantiles(result, frame)
        assert table.axes[0].labels[:-1] == tuple(words.split())
        shares = [int(word[1:]) for word in words.split()]
        assert table.counts[: len(shares)].tolist() == shares
    (table,) = quantiles(centile(frame, "x", centiles=[20, 50], limits=LIMITS), frame)
    names = ["centile 20 low", "centile 20", "centile 20 high"]
    assert list(table.axes[0].labels[:3]) == names
    found = dict(zip(table.axes[0].labels, table.counts.tolist(), strict=False))
    assert found["centile 20"] == 20
    assert found["centile 50"] == 50
    (first, second, every) = quantiles(tabstat(frame, "x", statistics="p50", by="sex"), frame)
    assert [one.counts[0] for one in (first, second, every)] == [25, 25, 50]
    assert first.place(0) == "sex = 0, x ≤ p50"


def test_numbers_that_are_no_quantiles_of_the_records_are_not_followed() -> None:
    frame = pl.DataFrame({"x": np.arange(1.0, 101.0)})
    result = tabstat(frame, "x", statistics="p50", limits=LIMITS)
    assert tables(result, frame.with_columns(pl.col("x") + 5)) == [None]
    assert tables(result, frame[:0]) == [None]


def test_tables_of_quantiles_come_back_from_bytes() -> None:
    frame = pl.DataFrame({"x": VALUES["tied"]})
    every = tables(tabstat(frame, "x", statistics="n p25 p50", limits=LIMITS), frame)
    back, left = read_tables(table_bytes(every, []))
    assert not left
    for one, other in zip(every, back, strict=True):
        assert (one.counts == other.counts).all()
        assert (
            [vars(one.cuts)[key].tolist() for key in ("at", "low", "high")]
            == [vars(other.cuts)[key].tolist() for key in ("at", "low", "high")]
            if one.cuts is not None
            else other.cuts is None
        )


def people(number: int = 200) -> pl.DataFrame:
    draw = np.random.default_rng(3)
    wage = draw.permutation(np.arange(1, number + 1) * 10.0)
    return pl.DataFrame({"wage": wage, "area": np.arange(number) % 4})


def test_quantiles_close_to_each_other_tell_of_those_between() -> None:
    frame = people()
    (one,) = quantiles(tabstat(frame, "wage", statistics="p49 p50", limits=LIMITS), frame)
    assert not difference_findings([one], limits=SafeLimits(minimum=2))[0]
    (finding,), complete = difference_findings([one], limits=LIMITS)
    assert complete
    assert finding.what == (
        "line 1, tabstat: wage ≤ p50 differs from line 1, tabstat: wage ≤ p49 by fewer units than "
        "the minimum"
    )
    assert finding.hint == "leave out wage ≤ p49 in line 1, tabstat"


def test_a_median_and_a_count_up_to_nearly_the_same_value_differ_by_few() -> None:
    frame = people()
    median = tables(tabstat(frame, "wage", statistics="p50", limits=LIMITS), frame)
    for bound, few in ((980.0, True), (900.0, False)):
        some = fire.statistics.count(frame, where=f"wage <= {bound:g}")
        kept = frame.filter(pl.col("wage") <= bound)
        records = frame.with_row_index().filter(pl.col("wage") <= bound)["index"].to_numpy()
        (counted,) = tables(some, kept, "cells")
        counted = counted.moved(records=records.astype(np.int64), owners=records.astype(np.int64))
        found = difference_findings([counted], limits=LIMITS, earlier=median)[0]
        assert bool(found) == few, bound


def withheld_classes() -> pl.DataFrame:
    """Two of area 1 earn up to 1,000; the median of area 0 lies just above that."""
    wage = [*range(10, 1010, 20), *range(1020, 2020, 20), 500, 600, *range(1050, 2050, 25)]
    frame = pl.DataFrame({"wage": map(float, wage), "area": [0] * 100 + [1] * 42})
    return frame.with_columns(high=(pl.col("wage") > 1000).cast(pl.Int64)).with_row_index("pid")


@pytest.mark.parametrize(("quantiles", "follows"), [("p50", True), ("p30", False), ("", False)])
def test_a_withheld_count_follows_from_a_quantile(
    tmp_path: Path, quantiles: str, follows: bool
) -> None:
    text = f"tabulate area high\ntabstat wage, by(area) statistics(n {quantiles})\n"
    result = run(text, tmp_path, withheld_classes())
    assert result.error is None
    told = [one for one in result.findings if one.rule == "linked-tables"]
    sentence = "line 1, tabulate area high: area = 1, high = 0 follows from "
    assert any(one.what.startswith(sentence) for one in told) == follows == bool(told)
    if follows:
        assert "line 2, tabstat wage: area = 0, wage ≤ p50" in told[0].what
        assert "also withhold: line 2, tabstat wage: area = 0, wage ≤ p50" in told[-1].hint


def test_a_session_hides_a_quantile_that_tells_a_withheld_count() -> None:
    session = fire.session("P", data=withheld_classes())
    session.crosstab("area", "high")
    with pytest.warns(DisclosureWarning, match="wage ≤ p50"):
        session.summary("wage", by="area", detail=True)
    session.protect()
    assert not session.check().linked
    summary = session.outputs[-1].frame
    assert summary.filter(pl.col("area") == "0")["p50 wage"].to_list() == [None]


def test_a_median_that_follows_from_those_of_parts_is_flagged(tmp_path: Path) -> None:
    """In the third submission one of region 0 is all that the medians leave between them."""
    outcome = play(142, tmp_path, 3, quantiles=True)
    assert outcome.opened == 0
    assert outcome.caught == outcome.harmful == 1


@pytest.mark.exhaustive
def test_sequences_with_quantiles_tell_of_no_small_group(tmp_path: Path) -> None:
    outcomes = [play(seed, tmp_path / str(seed), quantiles=True) for seed in range(54, 62)]
    opened, caught, harmful, flagged, harmless = (
        sum(getattr(one, name) for one in outcomes)
        for name in ("opened", "caught", "harmful", "flagged", "harmless")
    )
    assert opened == 0, [one.said for one in outcomes if one.opened]
    assert caught == harmful > 0
    assert flagged < 0.15 * harmless
