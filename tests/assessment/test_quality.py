"""Quality before drawing and after: the same figures, where every key is drawn once."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from discreet import PerturbationTable, Table, perturb, tabulate
from discreet.assessment import (
    Quality,
    actual_quality,
    describe,
    draw,
    evaluate,
    expected_quality,
    never_published,
)
from discreet.errors import PerturbationError, TableError
from discreet.keygrid import KeyGrid, grid_keys
from discreet.protection.noise.design.discretisation import discretised
from discreet.protection.noise.design.permutation import permuted
from tests.helpers.rows import for_all_rows

FIGURES = [
    *("mean_absolute_deviation", "unchanged", "at_most_1", "at_least_3", "at_least_4", "bias"),
]


def read(reference: Path, case: str) -> PerturbationTable:
    return PerturbationTable.read(reference / "ptable" / f"{case}_ptable.csv")


def seminar(reference: Path) -> PerturbationTable:
    return PerturbationTable.read(reference / "seminar" / "cumulative_matrix.csv")


def every_key(counts: range, keys: int = 256) -> Table:
    """One cell for each count and key."""
    cells = pl.DataFrame(
        {
            "cell": [f"{count}/{key}" for count in counts for key in range(keys)],
            "n": np.repeat(np.array(counts), keys),
            "key": np.tile(np.arange(keys), len(counts)),
        }
    )
    return Table.from_cells(cells, by=["cell"], count="n", cell_key="key", key_grid=keys)


@pytest.mark.parametrize("case", ["c01", "c08", "c29", "c31"])
def test_where_every_key_occurs_once_the_actual_quality_is_the_expected_one(
    reference: Path, case: str
) -> None:
    ptable, _ = discretised(read(reference, case), 256)
    table = every_key(range(1, 30))
    expected, actual = (
        expected_quality(ptable, table),
        actual_quality(table, perturb(table, ptable)),
    )
    for figure in FIGURES:
        assert getattr(actual, figure) == pytest.approx(getattr(expected, figure), abs=1e-14)
    both = expected.by_count.join(actual.by_count, on="count", suffix="_actual")
    assert len(both) == 29
    for column in ("mean_absolute_deviation", "relative_error", "bias", "bias_of_mean"):
        assert (both[column] - both[f"{column}_actual"]).abs().max() < 1e-13


def test_a_table_with_half_unchanged_keeps_what_a_census_promises(reference: Path) -> None:
    """Published about a census: mean absolute deviation below 1, at least 65 % of counts
    unchanged or changed by 1, at most 20 % changed by 3 or more, at most 10 % by 4 or more.
    """
    quality = expected_quality(seminar(reference), list(range(1, 200)))
    assert quality.mean_absolute_deviation < 1
    assert quality.at_most_1 >= 0.65
    assert quality.at_least_3 <= 0.20
    assert quality.at_least_4 <= 0.10
    assert quality.statement("en") == (
        "On average a count deviates by less than 1 from its original. At least 70 % of counts "
        "are unchanged or changed by 1, at most 15 % are changed by 3 or more, at most 5 % by 4 "
        "or more."
    )
    # Without a fixed stay probability the variance of 3 does not: 61.7 % in the last row.
    assert expected_quality(read(reference, "c08"), [100]).at_most_1 == pytest.approx(
        0.617, abs=5e-4
    )


def test_figures_by_hand() -> None:
    ptable = PerturbationTable.from_rows(
        {0: {0: 1}, 1: {-1: "0.5", 1: "0.5"}, 2: {-2: "0.25", 0: "0.5", 2: "0.25"}}
    )
    quality = expected_quality(ptable, {0: 1000, 1: 1, 2: 2, 4: 1})
    assert quality.cells == 4  # zeros stay zero and are no merit
    assert quality.mean_absolute_deviation == 1
    assert quality.unchanged == 0.375
    assert quality.at_most_1 == 0.25 + 0.375
    assert quality.bias == 0
    by_count = {row["count"]: row for row in quality.by_count.to_dicts()}
    assert [by_count[count]["relative_error"] for count in (1, 2, 4)] == [1, 0.5, 0.25]
    assert by_count[1]["bias_of_mean"] == 1 / 2 - 1  # only 2 is published with a mean
    assert by_count[2]["bias_of_mean"] == pytest.approx((0.5 * 1 + 0.25 * 0.5) / 0.75 - 1)
    assert by_count[4]["bias_of_mean"] == pytest.approx((4 / 2 + 2 + 4 / 6) / 4 - 1)


def test_weights_may_be_shares_and_lists_are_counted(reference: Path) -> None:
    ptable = read(reference, "c01")
    first = expected_quality(ptable, {3: 0.25, 7: 0.75})
    for other in ([3, 7, 7, 7], np.array([7, 3, 7, 7]), pl.Series([3, 7, 7, 7])):
        quality = expected_quality(ptable, other)
        assert [getattr(quality, figure) for figure in FIGURES] == pytest.approx(
            [getattr(first, figure) for figure in FIGURES], abs=1e-15
        )


def test_the_university_s_students_after_protection(reference: Path) -> None:
    """1,001 students: published counts against true ones, from the lists themselves."""
    folder = reference / "seminar"
    records = pl.read_csv(folder / "microdata_1001.csv", infer_schema=False)
    keys = grid_keys(records["record_key"], KeyGrid())
    table = tabulate(
        records.with_columns(record_key=keys), ["university", "sex"], record_key="record_key"
    )
    safe = perturb(table, seminar(reference))
    quality = actual_quality(table, safe)
    published = {row[:-2]: row[-2] for row in safe.to_polars().iter_rows()}
    noise = [
        published.get((university, sex), 0) - count
        for university, sex, count, _ in table.to_polars().iter_rows()
    ]
    assert quality.cells == len(noise)
    assert quality.mean_absolute_deviation == sum(map(abs, noise)) / len(noise)
    assert quality.at_most_1 == sum(abs(value) <= 1 for value in noise) / len(noise)
    assert quality.bias == sum(noise) / len(noise)


# -- what is left out, what is refused ------------------------------------------------


@pytest.fixture
def ptable() -> PerturbationTable:
    noise = {-1: 0.25, 0: 0.5, 1: 0.25}
    return PerturbationTable.from_rows({0: {0: 1}, 1: noise, 2: noise})


@pytest.fixture
def small() -> Callable[..., Table]:
    def make(weight: str | None = None, code: str = "b") -> Table:
        cells = pl.DataFrame(
            {
                "cell": ["Total", "a", code, "c"],
                "n": [8, 1, 6, 1],
                "w": [16.0, 2.0, 12.0, 2.0],
                "key": [0.9, 0.1, 0.8, 0.5],
            }
        )
        return Table.from_cells(cells, by=["cell"], count="n", cell_key="key", weight=weight)

    return make


def test_suppressed_and_official_cells_are_not_assessed(
    ptable: PerturbationTable, small: Callable[..., Table]
) -> None:
    safe = perturb(small(), ptable, suppress_below=2, official="cell == 'Total'")
    quality = actual_quality(small(), safe)
    assert (quality.cells, quality.left_out) == (1, 3)
    assert quality.bias == 1
    assert "Not assessed: 3 suppressed or exempt cells." in quality.text("en")


def test_a_count_changed_to_zero_is_assessed(
    ptable: PerturbationTable, small: Callable[..., Table]
) -> None:
    """a: 1 becomes 0, whether or not its code is still listed; b: 6 becomes 7."""
    quality = actual_quality(small(), perturb(small(), ptable))
    assert (quality.cells, quality.unchanged) == (4, 0.25)
    assert quality.bias == 0.25
    assert quality.mean_absolute_deviation == 0.75


def test_tables_that_do_not_belong_together_are_refused(
    ptable: PerturbationTable, small: Callable[..., Table]
) -> None:
    safe = perturb(small(), ptable)
    with pytest.raises(TableError, match="differ in their spanning variables or codes"):
        actual_quality(small(code="x"), safe)
    with pytest.raises(TableError, match="unweighted"):
        actual_quality(small(weight="w"), perturb(small(weight="w"), ptable))
    with pytest.raises(TableError, match="does not hold counts"):
        actual_quality(small(), perturb(small(weight="w"), ptable))
    with pytest.raises(TableError, match="no cell with records is left"):
        actual_quality(small(), perturb(small(), ptable, suppress_below=100))


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([], "no counts given"),
        ({}, "no counts given"),
        ({3: 0}, "no counts given"),
        ([0, 0], "no cell has records"),
        ([-1], "negative"),
        ([1.5], "whole numbers"),
        (["1"], "whole numbers"),
        ([[1]], "whole numbers"),
        ({"a": 1}, "whole numbers"),
        ({1: -1}, "at least 0"),
        ({1: float("inf")}, "at least 0"),
        ({1: "many"}, "at least 0"),
        (7, "whole numbers"),
    ],
)
def test_counts_that_are_none_are_refused(
    ptable: PerturbationTable, counts: object, message: str
) -> None:
    with pytest.raises(PerturbationError, match=message):
        expected_quality(ptable, counts)


def test_words(ptable: PerturbationTable) -> None:
    quality = expected_quality(ptable, {1: 1000, 10: 4000})
    english, german = quality.text(), quality.text("de")
    assert english.startswith("Expected for 5,000 cells with records: 50 % stay as they are, 100 %")
    assert "beträgt 0,5, die mittlere Abweichung 0." in german
    assert "Mindestens 95 %" in quality.statement("de")  # "100 %" would tell the maximum noise
    assert "at most 5 % by 4" in quality.statement("en")
    assert quality.described()["unchanged"] == 0.5
    assert repr(quality) == "<Quality expected: confidential>"
    with pytest.raises(PerturbationError, match="en or de"):
        quality.text("fr")


def test_what_can_be_published_is_rounded_to_the_safe_side() -> None:
    quality = Quality(
        kind="actual", cells=10, mean_absolute_deviation=1.0, unchanged=0.5, at_most_1=0.6999,
        at_least_3=0.1001, at_least_4=0.05, bias=0.0, bias_of_means=0.0, by_count=pl.DataFrame(),
    )  # fmt: skip
    text = quality.statement()
    for part in ("less than 1.5 ", "At least 65 %", "at most 15 %", "at most 5 %"):
        assert part in text


CASES = [
    *("c01", "c02", "c04", "c06", "c07", "c08", "c09", "c10", "c11", "c12", "c13", "c14", "c17"),
    *("c18", "c19", "c25", "c26", "c27", "c29", "c31", "c32", "c33", "c34"),
]


@for_all_rows("case", CASES)
def test_mean_variance_and_stay_are_those_the_reference_states(reference: Path, case: str) -> None:
    """The R package ptable prints them with five digits."""
    stated = pl.read_csv(reference / "ptable" / f"{case}_check.csv")
    rows = evaluate(read(reference, case))
    assert rows["i"].to_list() == stated["i"].cast(pl.Int64).to_list()
    for ours, theirs in (("mean", "p_mean"), ("variance", "p_var"), ("stay", "p_stay")):
        difference = (rows[ours] - stated[theirs].cast(pl.Float64)).abs()
        assert difference.max() < 6e-6, ours


def test_a_university_s_table_has_the_figures_that_are_published_with_it(reference: Path) -> None:
    rows = evaluate(PerturbationTable.read(reference / "seminar" / "cumulative_matrix.csv"))
    assert rows["mean"].to_list() == [0, 0, 0.0001, 0, 0, 0, 0, 0]
    assert [round(value, 4) for value in rows["variance"].to_list()[1:]] == [
        2.25, 2.2499, 2.25, 2.25, 2.25, 2.25, 2.25
    ]  # fmt: skip
    assert rows["stay"].to_list()[3:] == [0.5] * 5


def test_entropy_zero_and_largest_noise() -> None:
    ptable = PerturbationTable.from_rows(
        {0: {0: 1}, 1: {-1: 0.5, 1: 0.5}, 2: {-2: 0.25, 0: 0.5, 2: 0.25, 3: 0}}
    )
    zero, one, two = evaluate(ptable).to_dicts()
    assert zero == {
        "i": 0, "mean": 0, "variance": 0, "entropy": 0, "stay": 1, "p_zero": 1, "max_noise": 0
    }  # fmt: skip
    assert one["entropy"] == pytest.approx(math.log(2), rel=1e-15)
    assert (one["p_zero"], one["stay"], one["max_noise"]) == (0.5, 0, 1)
    assert two["entropy"] == pytest.approx(1.5 * math.log(2), rel=1e-15)
    assert (two["p_zero"], two["max_noise"]) == (0.25, 2)


def test_what_is_never_published(reference: Path) -> None:
    assert never_published(read(reference, "c08")) == [1, 2]
    assert never_published(read(reference, "c01")) == []
    # No row of its own becomes 1, but 3, beyond the table, uses row 2 and does.
    gap = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}, 2: {-2: 0.5, 2: 0.5}})
    assert never_published(gap) == []


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            [
                "Noise is at most 5. Zero stays zero.",
                "Never published: 1 and 2.",
                "Counts up to 7 have separate rows: 0 % to 39.4 % stay unchanged, "
                "the variance is 3.",
                "From count 8 all counts are treated equally: 22.9 % stay unchanged",
                "61.7 % change by at most 1, 14.5 % by 3 or more, 4.1 % by 4 or more",
            ],
        ),
        (
            "de",
            [
                "Die Überlagerung beträgt höchstens 5. Null bleibt null.",
                "Nie veröffentlicht: 1 und 2.",
                "0 % bis 39,4 % bleiben unverändert, die Varianz beträgt 3.",
                "Ab der Fallzahl 8",
                "61,7 % um höchstens 1, 14,5 % um 3 oder mehr, 4,1 % um 4 oder mehr",
            ],
        ),
    ],
)
def test_a_table_in_plain_words(reference: Path, language: str, words: list[str]) -> None:
    text = describe(read(reference, "c08"), language)
    for part in words:
        assert part in text


def test_words_for_what_is_unusual() -> None:
    noise = {-1: "0.3", 0: "0.5", 1: "0.2"}
    biased = PerturbationTable.from_rows({0: {0: "0.9", 1: "0.1"}, 1: noise}, zeros=True)
    assert "Zeros can change." in describe(biased)
    assert "does not average zero in every row: up to 0.1" in describe(biased)
    even = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    assert "permuted" not in describe(even)
    assert "The intervals are permuted." in describe(permuted(even, 2, 0.1))
    on_keys, _ = discretised(even, 256)
    assert "For the key grid 256 only." in describe(on_keys)
    other = {-1: 0.5, 1: 0.5}
    block = PerturbationTable.from_rows({0: {0: 1}, 1: other, 2: {0: 1}}, beyond=(1, 2))
    assert "a repeated block of different rows" in describe(block)
    with pytest.raises(PerturbationError, match="use en or de"):
        describe(even, "fr")


def drawn(ptable: PerturbationTable, **options: object) -> list[str]:
    console = Console(width=100, color_system=None)
    with console.capture() as capture:
        console.print(draw(ptable, **options))  # type: ignore[arg-type]
    return capture.get().splitlines()


def test_a_drawing_shows_intervals_where_they_lie() -> None:
    ptable = PerturbationTable.from_rows(
        {0: {0: 1}, 1: {-1: "0.5", 1: "0.25", 2: "0.25"}, 2: {-2: "0.5", 0: "0.25", 1: "0.25"}}
    )
    assert drawn(ptable, width=8) == [
        "    0  ········",
        "    1  aaaaAABB",
        "   2+  bbbb··AA",
        "Small letters: noise below zero (a = -1); capitals: above zero (A = +1); dots: none.",
    ]
    assert drawn(ptable, width=8, language="de")[-1].startswith("Kleine Buchstaben")
    plain, shuffled = drawn(ptable, width=8), drawn(permuted(ptable, 1, 0.1), width=8)
    assert plain[0] == shuffled[0]
    assert plain[1:3] != shuffled[1:3]


def test_a_long_drawing_ends_and_rows_that_repeat_are_drawn_once(reference: Path) -> None:
    noise = {-1: 0.25, 0: 0.5, 1: 0.25}
    repeated = PerturbationTable.from_rows({0: {0: 1}} | dict.fromkeys(range(1, 700), noise))
    assert [line[:6] for line in drawn(repeated)][:2] == ["    0 ", "   1+ "]
    assert len(drawn(repeated)) == 3
    wide = {
        count: {-1: str(0.5 - count / 1000), 1: str(0.5 + count / 1000)} for count in range(1, 40)
    }
    lines = drawn(PerturbationTable.from_rows({0: {0: 1}} | wide))
    assert len(lines) == 24 + 2
    assert "more rows, up to 39" in lines[-2]
