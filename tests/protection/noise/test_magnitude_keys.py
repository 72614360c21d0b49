"""Keys of the second and later contributions."""

import gzip
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet import KeyGrid
from discreet.protection.noise.magnitude_cells import noise_keys
from tests.helpers.rows import for_all_rows

DECIMAL = KeyGrid()


def by_hand(key: int, step: int) -> int:
    """Digits as a person would write them: 0.1234 → 0.2341 → …."""
    written = f"{key:015d}".rstrip("0") or "0"
    step %= len(written)
    return int((written[step:] + written[:step]).ljust(15, "0"))


@given(st.integers(0, 10**15 - 1), st.integers(1, 16), st.booleans())
def test_digits_are_rotated(key: int, number: int, same_key: bool):
    made = noise_keys(np.array([key]), DECIMAL, number, same_key=same_key)
    first = 0 if same_key else 1
    assert [int(keys[0]) for keys in made] == [by_hand(key, first + at) for at in range(number)]


def test_reference_rearranges_digits_in_the_same_way(reference: Path):
    """Where its digits are digits: not in exponents, and more than one of them."""
    with gzip.open(reference / "cellkey" / "C_scramble_ckeys.json.gz") as stream:
        cases = json.load(stream)
    same = without_sense = 0
    for case in cases:
        text = case["ck_char"]
        sane = "e" not in text and text.startswith("0.") and len(text) > 3
        if not sane:
            without_sense += 1
            continue
        key = np.array([int(Fraction(text) * 10**15)])
        made = noise_keys(key, DECIMAL, case["top_k"], same_key=case["same_key"])
        expected = [round(Fraction(str(result)) * 10**15) for result in case["result"]]
        if case["top_k"] == 1 and case["same_key"]:  # its digits beyond 15 stay there
            expected = key.tolist()
        assert [int(keys[0]) for keys in made] == expected
        same += 1
    assert (same, without_sense) == (104, 56)


@for_all_rows("size", [256, 4096, 2**32, 10**15 - 1, 3 * 10**14, 997, 2])
def test_other_grids_multiply_and_lose_no_key(size: int):
    grid = KeyGrid(size)
    keys = np.random.default_rng(5).integers(0, size, 500)
    some = np.unique(np.concatenate([keys, [0, size - 1]]))
    factor = int(noise_keys(np.array([1]), grid, 1)[0][0])
    for step, made in enumerate(noise_keys(some, grid, 4), start=1):
        assert made.tolist() == [key * factor**step % size for key in some.tolist()]
        assert len(np.unique(made)) == len(some)


def test_keys_of_later_contributions_are_spread_and_unrelated():
    """20,000 keys in 10 × 10 boxes: chi-square with 81 degrees of freedom, 0.1 % point."""
    keys = np.random.default_rng(8).integers(0, 10**15, 20_000)
    for grid, own in ((DECIMAL, keys), (KeyGrid(2**32), keys % 2**32)):
        first, second = noise_keys(own, grid, 2)
        boxes = [part * 10 // grid.size for part in (first, second)]
        table = np.histogram2d(boxes[0], boxes[1], bins=10)[0]
        assert ((table - 200) ** 2 / 200).sum() < 149.4
