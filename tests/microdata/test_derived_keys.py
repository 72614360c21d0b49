"""Derived keys: the stated construction, and nothing in common with what they come from."""

import hashlib

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.errors import RecordKeyError
from discreet.key_check import check_keys
from discreet.keygrid import KeyGrid
from discreet.microdata.key_derivation import derived_keys
from discreet.microdata.secret import Secret
from tests.helpers.rows import for_all_rows

RNG = np.random.default_rng(4)
KEYS = RNG.integers(0, 10**15, 70_000)
GRID = KeyGrid()


def one_by_one(key: int, size: int, purpose: str) -> int:
    """The construction as the module states it, for one key."""
    text = f"discreet derived keys, version 1; grid {size}; {purpose}"
    cipher = Cipher(algorithms.AES(hashlib.sha256(text.encode()).digest()), modes.ECB())
    block = cipher.encryptor().update(key.to_bytes(16, "big"))
    return int.from_bytes(block, "big") * size >> 128


@for_all_rows("size", [2, 256, 1000, 2**32, 10**15])
def test_the_stated_construction(size: int):
    keys = np.array([0, 1, size - 1, size // 2])
    expected = [one_by_one(int(key), size, "column rent") for key in keys]
    assert derived_keys(keys, KeyGrid(size), "column rent").tolist() == expected


def test_golden_values_of_version_1():
    keys = derived_keys(np.array([0, 123_456_789]), GRID, "unit household")
    assert keys.tolist() == [
        one_by_one(0, 10**15, "unit household"),
        one_by_one(123_456_789, 10**15, "unit household"),
    ]
    assert keys.tolist() == [843_859_377_515_737, 687_500_128_087_422]


def test_they_are_keys_and_independent_of_their_origin():
    rent = derived_keys(KEYS, GRID, "column rent")
    area = derived_keys(KEYS, GRID, "column area")
    for made in (rent, area, (rent - KEYS) % GRID.size, (rent - area) % GRID.size):
        assert check_keys(made[:16_384], GRID).faults == ()
    assert abs(np.corrcoef(rent, area)[0, 1]) < 5 / np.sqrt(len(KEYS))
    assert abs(np.corrcoef(rent, KEYS)[0, 1]) < 5 / np.sqrt(len(KEYS))


def test_order_and_batches_do_not_matter():
    order = RNG.permutation(len(KEYS))
    made = derived_keys(KEYS, GRID, "column rent")
    assert (derived_keys(KEYS[order], GRID, "column rent") == made[order]).all()
    assert (derived_keys(KEYS[:5], GRID, "column rent") == made[:5]).all()


def test_a_secret_makes_them_its_own():
    secret = Secret(b"salt of our tests")
    open_keys = derived_keys(KEYS[:100], GRID, "column rent")
    assert not (derived_keys(KEYS[:100], GRID, "column rent", secret=secret) == open_keys).any()


def test_a_purpose_is_needed():
    with pytest.raises(RecordKeyError):
        derived_keys(KEYS, GRID, "")
