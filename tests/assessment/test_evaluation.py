"""Figures per row, and a table in words and letters."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from discreet import PerturbationTable
from discreet.assessment import describe, draw, evaluate, never_published
from discreet.errors import PerturbationError
from discreet.protection.noise.design.discretisation import discretised
from discreet.protection.noise.design.permutation import permuted
from tests.helpers.rows import for_all_rows

CASES = [
    *("c01", "c02", "c04", "c06", "c07", "c08", "c09", "c10", "c11", "c12", "c13", "c14", "c17"),
    *("c18", "c19", "c25", "c26", "c27", "c29", "c31", "c32", "c33", "c34"),
]


def read(reference: Path, case: str) -> PerturbationTable:
    return PerturbationTable.read(reference / "ptable" / f"{case}_ptable.csv")


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


def test_evaluations_can_be_written(reference: Path) -> None:
    rows = json.loads(json.dumps(evaluate(read(reference, "c01")).to_dicts()))
    assert rows[0]["stay"] == 1
