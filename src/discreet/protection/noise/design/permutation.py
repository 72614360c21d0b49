"""Permuted and split intervals: the same probabilities, laid out in a secret order.

In: a perturbation table and a secret seed. Out: a table with the same
distribution in every row, whose cell keys lead elsewhere. SECRET on both sides.

In the plain order a small cell key means a large negative noise. Who learns a few
record keys could use that; in a permuted table the order is one more secret.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, pairwise

from discreet.errors import PerturbationError, Problem
from discreet.protection.noise.intervals import pack
from discreet.protection.noise.table import PerturbationTable

_CONSTRUCTION = b"discreet permuted intervals, version 1"
_MOST_PIECES = 10_000
_WORD = 8


def permuted(
    ptable: PerturbationTable,
    seed: bytes | int,
    split: float | Fraction | Decimal | str | None = None,
) -> PerturbationTable:
    """Lay out the intervals of each row in a random order that the seed fixes.

    The number of keys of each noise stays what it was, exactly, on the table's own
    scale (10^15 for decimal bounds). The convention (closed left or right) stays too;
    the version says that the table is permuted. Rows are permuted independently.

    Args:
        ptable: The table.
        seed: Secret bytes or a whole number; the same seed gives the same order on
            every computer. `Secret.derive` makes good ones.
        split: First cut intervals wider than this into pieces of this width and a rest.

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> other = permuted(ptable, seed=2026, split=0.1)
    >>> other.parameters() == ptable.parameters(), other == ptable
    (True, False)
    """
    key = _seed_bytes(seed)
    left = ptable.with_closed("left")
    content = left.content
    widest = _widest(split, content.scale)
    rows = []
    for count, upper, noise in content.rows():
        widths = [bound - below for below, bound in pairwise([0, *upper])]
        pieces = []  # (width, noise) of each interval, wide ones in several pieces
        for width, value in zip(widths, noise, strict=True):
            pieces += [(widest, value)] * (width // widest)
            pieces += [(width % widest, value)] if width % widest else []
        words = _words(key, count)
        for last in range(len(pieces) - 1, 0, -1):  # every order is equally likely (Fisher-Yates)
            # Words that would favour small numbers are passed over.
            even = (1 << 8 * _WORD) // (last + 1) * (last + 1)
            at = next(word for word in words if word < even) % (last + 1)
            pieces[at], pieces[last] = pieces[last], pieces[at]
        bounds = accumulate(width for width, _ in pieces)
        rows.append([(bound, value) for bound, (_, value) in zip(bounds, pieces, strict=True)])
    packed = pack(rows, scale=content.scale, beyond=content.beyond, zeros=content.zeros)
    how = "permuted" if split is None else "split and permuted"
    version = ", ".join(part for part in (ptable.version, how) if part)
    return replace(ptable, content=packed, version=version).with_closed(ptable.content.closed)


def _seed_bytes(seed: bytes | int) -> bytes:
    stated = b""
    if isinstance(seed, bytes) and seed:
        stated = b"bytes" + seed
    elif isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0:
        stated = b"whole" + seed.to_bytes((seed.bit_length() + 7) // 8 or 1, "big")
    if stated:  # of fixed length: HMAC does not tell keys apart that differ in zeros at the end
        return hashlib.sha256(stated).digest()
    raise PerturbationError(
        "a seed must be a whole number of at least 0, or bytes",
        code="seed",
        where="seed",
        hint='for secret bytes use Secret.from_file("seed.key").derive("permuted intervals")',
    )


def _widest(split: object, scale: int) -> int:
    """The widest piece, in units of the scale."""
    if split is None:
        return scale
    problem = Problem("split must be between 0 and 1", "split")
    try:
        if isinstance(split, bool):
            raise ValueError
        width = Fraction(str(split))
    except (ValueError, ZeroDivisionError):
        width = Fraction(0)
    if 0 < width < 1:
        units = int(width * scale)
        if units and scale <= units * _MOST_PIECES:
            return units
        least = max(Fraction(1, _MOST_PIECES), Fraction(1, scale))
        problem = Problem("the pieces are too small", "split", f"use at least {float(least):g}")
    raise PerturbationError(
        problem.what, code="split", where=problem.where, hint=problem.hint, problems=[problem]
    )


def _words(key: bytes, row: int) -> Iterator[int]:
    """64-bit numbers for one row: HMAC-SHA256 of a counter."""
    block = 0
    while True:
        message = b"%s|%d|%d" % (_CONSTRUCTION, row, block)
        digest = hmac.digest(key, message, "sha256")
        for first in range(0, len(digest), _WORD):
            yield int.from_bytes(digest[first : first + _WORD], "big")
        block += 1
