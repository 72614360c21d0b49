"""`RecordIdentity`: fingerprints of cells, alike wherever the same records are. CONFIDENTIAL.

In: records and their identifiers. Out: tables whose cell keys are sums of random numbers of the
records. They prove and refute that cells are the same; they are no reason for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from discreet.arrays import IntArray
from discreet.keygrid import KeyGrid
from discreet.microdata import KeyFunction, Secret, identifier_texts, open_frame, with_computed
from discreet.tables import Table
from discreet.tabulation import Query, iterate_tables

_PURPOSE = "discreet release identity 1"
_FINGERPRINT = "fingerprint of the record"
_GRID = KeyGrid(10**15)
#: In place of a missing value; it does not stand in data.
_MISSING = "\x00"


@dataclass(frozen=True, repr=False, eq=False)
class RecordIdentity:
    """Identity of records across releases: columns and a key. SECRET.

    >>> RecordIdentity(("firm",), Secret(b"a long and secret sentence"))
    <RecordIdentity by firm>
    """

    columns: tuple[str, ...]
    secret: Secret

    @cached_property
    def mark(self) -> str:
        """Tells keys apart, and nothing about them."""
        return self.secret.derive(f"{_PURPOSE}; mark").hex()[:16]

    def counted(self, records: Any, queries: Sequence[Query]) -> list[Table]:
        """Tables whose cell keys are fingerprints of the records: sums of random numbers."""
        function = KeyFunction(self.secret.derive(_PURPOSE), _GRID)

        def numbers(columns: pl.DataFrame) -> IntArray:
            if columns.width > 1 or not columns.to_series().dtype.is_integer():
                columns = columns.cast(pl.String).fill_null(_MISSING)
            texts = identifier_texts(columns)
            # A whole number is the same as a number and as a text, and faster as a number.
            whole = texts.cast(pl.Int64, strict=False)
            plain = ((whole >= 0) & (whole.cast(texts.dtype) == texts)).fill_null(value=False)
            if plain.all():
                return function.of_numbers(whole.to_numpy())
            found = function(texts.cast(pl.String).fill_null(_MISSING))
            found[plain.to_numpy()] = function.of_numbers(whole.filter(plain).to_numpy())
            return found

        how: dict[str, Any] = {"as_text": False}
        keyed = with_computed(open_frame(records), self.columns, _FINGERPRINT, numbers, **how)
        how = {"record_key": _FINGERPRINT, "key_grid": _GRID, "test_keys": False}
        tables = dict(iterate_tables(keyed, queries, **how))
        return [tables[at] for at in range(len(queries))]

    def __repr__(self) -> str:
        return f"<RecordIdentity by {', '.join(self.columns)}>"
