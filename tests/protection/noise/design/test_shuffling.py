"""Permuted and split intervals, and tables rounded to few keys: nothing but the place changes."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import PerturbationTable
from discreet.errors import PerturbationError
from discreet.protection.noise.design import design_perturbation
from discreet.protection.noise.design.discretisation import discretised
from discreet.protection.noise.design.permutation import permuted
from tests.helpers.rows import for_all_rows

# Case, the case it was made from, and its threshold, as the R package ptable calls them.
MODIFIED = [
    ("m01", "c09", "0.3"),
    ("m02", "c10", "0.3"),
    ("m03", "c12", "0.2"),
    ("m04", "c09", "0.1"),
    ("m05", "c08", "0.2"),
]


def read(reference: Path, name: str) -> PerturbationTable:
    kind = "modified_ptable" if name.startswith("m") else "ptable"
    return PerturbationTable.read(reference / "ptable" / f"{name}_{kind}.csv")


def keys_of_noise(ptable: PerturbationTable) -> list[dict[int, int]]:
    """Per row, on how many keys of the table's own scale each noise lies, by exact bounds."""
    content = ptable.with_closed("left").content
    rows = []
    for _, upper, noise in content.rows():
        keys: Counter[int] = Counter()
        for below, bound, value in zip([0, *upper], upper, noise, strict=False):
            keys[value] += bound - below
        rows.append(dict(keys))
    return rows


@st.composite
def tables(draw: st.DrawFn) -> PerturbationTable:
    """Valid tables of a few rows with any probabilities of the 10^15 grid."""
    rows: dict[int, dict[int, Fraction]] = {0: {0: Fraction(1)}}
    for count in range(1, draw(st.integers(1, 4)) + 1):
        noise = draw(st.lists(st.integers(-min(count, 4), 4), min_size=1, max_size=9, unique=True))
        weight = [draw(st.integers(1, 10**6)) for _ in noise]
        rows[count] = {
            value: Fraction(part, sum(weight)) for value, part in zip(noise, weight, strict=True)
        }
    return PerturbationTable.from_rows(rows)


# -- permuting ---------------------------------------------------------------------


@given(tables(), st.integers(0, 2**64), st.sampled_from([None, 0.05, 0.3]))
def test_every_noise_keeps_its_number_of_keys(
    ptable: PerturbationTable, seed: int, split: float | None
) -> None:
    assert keys_of_noise(permuted(ptable, seed, split)) == keys_of_noise(ptable)


@pytest.mark.parametrize("split", [None, "0.07"])
def test_tables_closed_on_the_right_stay_so_and_keep_their_keys(split: str | None) -> None:
    ptable = PerturbationTable.from_rows(
        {0: {0: 1}, 1: {-1: "0.6", 1: "0.2", 2: "0.2"}}, closed="left"
    ).with_closed("right")
    other = permuted(ptable, 7, split)
    assert other.content.closed == "right"
    assert keys_of_noise(other) == keys_of_noise(ptable)


@for_all_rows(("case", "plain", "threshold"), MODIFIED)
def test_the_probabilities_of_the_reference_s_modified_tables_are_those_of_the_plain_ones(
    reference: Path, case: str, plain: str, threshold: str
) -> None:
    """That tool draws another order; its probabilities, and ours, are those before."""
    theirs, before = read(reference, case), read(reference, plain)
    ours = permuted(before, b"any", threshold)
    assert np.abs(theirs.transition_matrix() - before.transition_matrix()).max() < 2e-8
    assert np.array_equal(ours.transition_matrix(), before.transition_matrix())
    assert ours.parameters() == before.parameters()


def test_the_largest_of_them_is_that_of_a_design_of_ours(reference: Path) -> None:
    """D = 8, V = 3, never 1 or 2, split at 0.05: 322 intervals, rows within 1e-6."""
    theirs, ours = read(reference, "m06"), design_perturbation(8, 3, (1, 2))
    assert np.abs(theirs.transition_matrix() - ours.transition_matrix()).max() < 1e-6
    assert keys_of_noise(permuted(ours, 42, "0.05")) == keys_of_noise(ours)


def test_wide_intervals_are_cut_into_pieces_that_lie_apart(reference: Path) -> None:
    before = read(reference, "c09")
    pieces = np.diff(permuted(before, 1, 0.05).content.starts)
    assert (pieces > 2 * np.diff(before.content.starts))[1:].all()
    assert pieces[0] == 1  # zero stays zero, whatever it is cut into


def test_the_layout_is_pinned() -> None:
    """A released table must come out the same with every later version."""
    noise = {-1: "0.25", 0: "0.5", 1: "0.25"}
    ptable = PerturbationTable.from_rows({0: {0: 1}, 1: noise, 2: noise}, name="t")
    ptable = replace(ptable, version="2")
    other = permuted(ptable, seed=2026, split="0.2")
    twentieths = [
        (row, [bound * 20 // 10**15 for bound in upper], values)
        for row, upper, values in other.content.rows()
    ]
    assert twentieths == [
        (0, [20], [0]),
        (1, [4, 9, 17, 18, 20], [-1, 1, 0, -1, 0]),
        (2, [5, 7, 11, 15, 16, 20], [-1, 0, 1, 0, 1, 0]),
    ]
    assert (other.name, other.version) == ("t", "2, split and permuted")
    assert permuted(ptable, seed=2026, split=0.2) == other


def test_seeds_differ_and_bytes_are_not_numbers() -> None:
    ptable = PerturbationTable.from_rows(
        {0: {0: 1}} | {count: dict.fromkeys(range(-1, 9), "0.1") for count in range(1, 5)}
    )
    made = [permuted(ptable, seed) for seed in (1, 2, 256, b"\x01", b"\x02", b"\x01\x00")]
    assert len(set(made)) == len(made)
    rows = [noise for _, _, noise in made[0].content.rows()]
    assert rows[1] != rows[2] != rows[3]  # each row has an order of its own


def test_every_order_is_equally_likely() -> None:
    """6 orders, 3,000 seeds: chi-square below its 99.9 % point with 5 degrees of freedom."""
    ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: "0.2", 0: "0.5", 1: "0.3"}})
    found = Counter(
        tuple(permuted(ptable, seed).content.noise.tolist()[1:]) for seed in range(3000)
    )
    assert set(found) == set(permutations((-1, 0, 1)))
    assert sum((number - 500) ** 2 / 500 for number in found.values()) < 20.52


@pytest.mark.parametrize("seed", [-1, True, b"", "text", 1.5])
def test_a_seed_that_is_none_is_refused(
    ptable_of_quarters: PerturbationTable, seed: object
) -> None:
    with pytest.raises(
        PerturbationError, match="a seed must be a whole number of at least 0, or bytes"
    ):
        permuted(ptable_of_quarters, seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("split", [0, 1, -0.5, "x", True, float("nan"), "1/0"])
def test_a_split_must_lie_between_0_and_1(
    ptable_of_quarters: PerturbationTable, split: object
) -> None:
    with pytest.raises(PerturbationError, match="between 0 and 1"):
        permuted(ptable_of_quarters, 1, split)  # type: ignore[arg-type]


def test_a_split_into_dust_is_refused(ptable_of_quarters: PerturbationTable) -> None:
    with pytest.raises(PerturbationError, match=r"use at least 0\.0001"):
        permuted(ptable_of_quarters, 1, 1e-9)
    on_keys, _ = discretised(ptable_of_quarters, 256, fill=False)
    with pytest.raises(PerturbationError, match=r"use at least 0\.00390625"):
        permuted(on_keys, 1, 0.001)


@pytest.fixture
def ptable_of_quarters() -> PerturbationTable:
    return PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})


# -- rounding to few keys ----------------------------------------------------------


def best_by_trial(shares: dict[int, Fraction], keys: int) -> tuple[Fraction, Fraction]:
    """(mean error, squared error) of the best rounding down or up, trying all of them."""
    floors = {value: share * keys // 1 for value, share in shares.items()}
    mean = sum(value * share * keys for value, share in shares.items())
    best: list[tuple[Fraction, Fraction]] = []
    for ups in product((0, 1), repeat=len(shares)):
        numbers = {
            value: floors[value] + up for (value, _), up in zip(shares.items(), ups, strict=True)
        }
        if sum(numbers.values()) != keys or any(
            numbers[value] > share * keys and floors[value] == share * keys
            for value, share in shares.items()
        ):
            continue
        off = abs(sum(value * number for value, number in numbers.items()) - mean)
        square = sum((numbers[value] - share * keys) ** 2 for value, share in shares.items())
        best.append((Fraction(off), Fraction(square)))
    return min(best)


@given(tables(), st.sampled_from([256, 4096]))
def test_no_rounding_keeps_mean_and_probabilities_better(
    ptable: PerturbationTable, keys: int
) -> None:
    on_keys, error = discretised(ptable, keys, fill=False)
    scale = ptable.content.scale
    for before, after, told in zip(
        keys_of_noise(ptable), keys_of_noise(on_keys), error.rows.to_dicts(), strict=True
    ):
        shares = {value: Fraction(width, scale) for value, width in before.items()}
        changes = {value: after.get(value, 0) - share * keys for value, share in shares.items()}
        off = abs(sum(value * change for value, change in changes.items()))
        assert (off, sum(change**2 for change in changes.values())) == best_by_trial(shares, keys)
        assert told["largest"] == float(max(map(abs, changes.values())) / keys)
        assert abs(told["mean"]) == float(off / keys)
        assert set(after) <= set(before)


@for_all_rows("case", ["c01", "c08", "c31"])
@for_all_rows("keys", [256, 4096])
def test_the_reference_s_tables_keep_their_mean_on_few_keys(
    reference: Path, case: str, keys: int
) -> None:
    before = read(reference, case)
    on_keys, error = discretised(before, keys, fill=False)
    assert error.largest < 1 / keys
    assert error.largest_mean < 1e-6  # that of the reference's own rounding
    assert all(row["mean"] == pytest.approx(0, abs=1e-12) for row in on_keys.parameters())
    assert error.largest_variance < 60 / keys  # noise too rare to keep a key is lost


def test_the_layout_of_keys_is_written_filled_and_read_back(
    tmp_path: Path, ptable_of_quarters: PerturbationTable
) -> None:
    on_keys, error = discretised(ptable_of_quarters, 256)
    assert (error.largest, error.largest_mean, error.largest_variance) == (0, 0, 0)
    assert on_keys.n_max == 750
    assert on_keys.key_grid is not None
    path = on_keys.write(tmp_path / "table.csv")
    assert path.read_text().startswith("pcv,ckey,pvalue\n1,0,-1\n")
    back = PerturbationTable.read(path)
    assert back == on_keys
    many = np.array([1, 750, 751, 1000, 10**6])
    key = np.full(5, 63)
    assert back.lookup(many, key, grid=256).tolist() == [-1] * 5


def test_a_split_table_is_not_rounded(ptable_of_quarters: PerturbationTable) -> None:
    with pytest.raises(PerturbationError, match="several intervals of the same noise"):
        discretised(permuted(ptable_of_quarters, 5, 0.1), 256)


@pytest.mark.parametrize("keys", [0, 100, 10**15, True, "256"])
def test_other_numbers_of_keys_are_refused(
    ptable_of_quarters: PerturbationTable, keys: object
) -> None:
    with pytest.raises(PerturbationError, match="256 or 4096"):
        discretised(ptable_of_quarters, keys)  # type: ignore[arg-type]


def test_tables_with_too_many_rows_cannot_be_filled() -> None:
    noise = {-1: 0.5, 1: 0.5}
    long = PerturbationTable.from_rows({0: {0: 1}} | dict.fromkeys(range(1, 760), noise))
    with pytest.raises(PerturbationError, match="the table has more rows than this layout, 750"):
        discretised(long)
    block = PerturbationTable.from_rows(
        {0: {0: 1}} | dict.fromkeys(range(1, 5), noise), beyond=(3, 2)
    )
    with pytest.raises(
        PerturbationError, match="counts beyond the table use a repeated block, which this"
    ):
        discretised(block)


def test_errors_of_rounding_are_told_in_words(ptable_of_quarters: PerturbationTable) -> None:
    _, error = discretised(ptable_of_quarters, 256)
    assert error.text("en").startswith("Rounded to 256 keys: probabilities change by at most 0,")
    assert error.text("de").startswith("Auf 256 Schlüssel gerundet")
    assert "secret" in repr(error)
    with pytest.raises(PerturbationError, match="language 'fr'"):
        error.text("fr")
