"""The construction of docs/methods/record-keys.md, computed a second time by hand.

AES-256 (FIPS 197), HKDF (RFC 5869) and the chaining are written out here in plain
Python, one byte at a time, and must give the keys of the fast implementation.
"""

import hashlib
import hmac
import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import RecordKeyError
from discreet.keygrid import KeyGrid
from discreet.microdata import Secret
from discreet.microdata.identifiers import identifier_texts
from discreet.microdata.key_values import KeyFunction, to_grid

SECRET = b"a secret of the test suite, 32 B"


def doubled(value: int) -> int:
    return (value << 1 ^ 0x11B if value & 0x80 else value << 1) & 0xFF


def times(value: int, factor: int) -> int:
    result = 0
    while factor:
        result ^= value * (factor & 1)
        value, factor = doubled(value), factor >> 1
    return result


def substitution() -> list[int]:
    box = []
    for value in range(256):
        inverse = next((other for other in range(256) if times(value, other) == 1), 0)
        turned = inverse
        for shift in range(1, 5):
            turned ^= (inverse << shift | inverse >> (8 - shift)) & 0xFF
        box.append(turned ^ 0x63)
    return box


BOX = substitution()


def round_keys(key: bytes) -> list[list[int]]:
    words = [list(key[at : at + 4]) for at in range(0, 32, 4)]
    constant = 1
    for at in range(8, 60):
        word = words[-1]
        if at % 8 == 0:
            word = [BOX[byte] for byte in word[1:] + word[:1]]
            word[0] ^= constant
            constant = doubled(constant)
        elif at % 8 == 4:
            word = [BOX[byte] for byte in word]
        words.append([a ^ b for a, b in zip(words[at - 8], word, strict=True)])
    return [[byte for word in words[at : at + 4] for byte in word] for at in range(0, 60, 4)]


def mixed(state: list[int]) -> list[int]:
    out = []
    for at in range(0, 16, 4):
        a, b, c, d = state[at : at + 4]
        for w, x, y, z in ((a, b, c, d), (b, c, d, a), (c, d, a, b), (d, a, b, c)):
            out.append(times(w, 2) ^ times(x, 3) ^ y ^ z)
    return out


def aes256(key: bytes, block: bytes) -> bytes:
    keys = round_keys(key)
    state = [a ^ b for a, b in zip(block, keys[0], strict=True)]
    for number, key_words in enumerate(keys[1:], 1):
        state = [BOX[state[(at + 4 * (at % 4)) % 16]] for at in range(16)]
        if number < 14:
            state = mixed(state)
        state = [a ^ b for a, b in zip(state, key_words, strict=True)]
    return bytes(state)


def hkdf(secret: bytes, context: bytes) -> bytes:
    extracted = hmac.digest(bytes(32), secret, hashlib.sha256)
    return hmac.digest(extracted, context + b"\x01", hashlib.sha256)


def key_by_hand(text: str, size: int = 10**15, parts: int = 1) -> int:
    context = f"discreet record keys, version 1; grid {size}; id columns {parts}"
    key = hkdf(SECRET, context.encode())
    letters = text.encode()
    message = len(letters).to_bytes(4, "big") + letters
    message += bytes(-len(message) % 16)
    state = bytes(16)
    for at in range(0, len(message), 16):
        block = bytes(a ^ b for a, b in zip(state, message[at : at + 16], strict=True))
        state = aes256(key, block)
    return int.from_bytes(state, "big") * size >> 128


def fast(texts: list[str], size: int = 10**15) -> list[int]:
    function = KeyFunction.of(Secret(SECRET), KeyGrid(size))
    return function(pl.Series(texts, dtype=pl.String)).tolist()


def test_the_cipher_by_hand_is_aes() -> None:
    # FIPS 197, appendix C.3.
    block = bytes.fromhex("00112233445566778899aabbccddeeff")
    assert aes256(bytes(range(32)), block).hex() == "8ea2b7ca516745bfeafc49904b496089"


def test_keys_equal_those_computed_by_hand() -> None:
    texts = ["1", "-1", "123456789012", "1234567890123", "x" * 27, "x" * 28, "x" * 29, "Zoë 𝄞"]
    assert fast(texts) == [key_by_hand(text) for text in texts]
    for size in (2, 256, 4096, 2**32, 10**15 - 1):
        assert fast(texts, size) == [key_by_hand(text, size) for text in texts]


def test_several_id_columns_equal_those_computed_by_hand() -> None:
    rows = pl.DataFrame({"house": ["12", "1"], "flat": ["3", "23"]})
    keys = KeyFunction.of(Secret(SECRET), KeyGrid(), parts=2)(identifier_texts(rows))
    assert keys.tolist() == [key_by_hand("2:121:3", parts=2), key_by_hand("1:12:23", parts=2)]


def test_keys_of_this_version_never_change() -> None:
    # Published tables were protected with these; a change would be a new version.
    assert fast(["1", "2", "person-000001", ""]) == [
        476626018785321,
        292822374884875,
        392298811635133,
        53491123963489,
    ]


@given(st.lists(st.text(max_size=40), max_size=6))
def test_any_text_equals_the_one_computed_by_hand(texts: list[str]) -> None:
    assert fast(texts) == [key_by_hand(text) for text in texts]


@given(st.lists(st.text(max_size=60), min_size=1, max_size=30), st.integers(0, 30))
def test_a_key_depends_on_its_own_text_only(texts: list[str], cut: int) -> None:
    whole = fast(texts)
    assert fast(texts[:cut]) + fast(texts[cut:]) == whole
    assert fast(texts[::-1]) == whole[::-1]
    function = KeyFunction.of(Secret(SECRET), KeyGrid())
    assert function(pl.Series(["other", *texts]).slice(1)).tolist() == whole


@given(st.lists(st.integers(0, 2**128 - 1), min_size=1, max_size=50), st.integers(2, 10**15))
def test_scaling_is_exact(numbers: list[int], size: int) -> None:
    numbers = [*numbers, 0, 2**128 - 1]
    # Where a point of the grid begins, the lower half decides.
    numbers += [-(-(q << 128) // size) - d for q in (1, size // 2, size - 1) for d in (0, 1)]
    blocks = np.frombuffer(b"".join(n.to_bytes(16, "big") for n in numbers), dtype=np.uint8)
    scaled = to_grid(blocks.reshape(-1, 16), KeyGrid(size))
    assert scaled.tolist() == [n * size >> 128 for n in numbers]


def test_keys_are_uniform_and_neighbours_unrelated() -> None:
    count, bins = 200_000, 100
    keys = np.array(fast([str(number) for number in range(count)]))
    expected = count / bins
    hits = np.bincount(keys // (10**15 // bins), minlength=bins)
    assert float(((hits - expected) ** 2 / expected).sum()) < 180  # chi² with 99 degrees
    last = np.bincount(keys % bins, minlength=bins)
    assert float(((last - expected) ** 2 / expected).sum()) < 180
    assert abs(float(np.corrcoef(keys[1:], keys[:-1])[0, 1])) < 0.01


def test_secret_and_grid_change_every_key() -> None:
    texts = [str(number) for number in range(100)]
    other = KeyFunction.of(Secret(SECRET[::-1]), KeyGrid())(pl.Series(texts)).tolist()
    assert not set(fast(texts)) & set(other)
    assert [key // 10 for key in fast(texts)] != fast(texts, 10**14)


def test_the_function_does_not_give_its_key_away() -> None:
    function = KeyFunction.of(Secret(SECRET), KeyGrid())
    assert repr(function) == "<KeyFunction on the grid 10^15>"
    with pytest.raises(RecordKeyError):
        pickle.dumps(function)


def test_missing_texts_are_counted() -> None:
    function = KeyFunction.of(Secret(SECRET), KeyGrid())
    with pytest.raises(RecordKeyError, match="1 of 3 records"):
        function(pl.Series(["a", None, "b"]))
