"""`UnitKey`: units as keyed digests.

In: identifiers (CONFIDENTIAL) and a secret. Out: 64-bit digests, the same for the same person or
firm in every request.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.arrays import UintArray
from discreet.errors import OutputCheckError
from discreet.microdata import Secret

_CONTEXT = "discreet: units of the release ledger"
#: Digests that are kept in memory between statistics.
_MOST_KNOWN = 5_000_000
#: Whole numbers as some programs write them to text files.
_WHOLE = re.compile(r"\A(-?\d+)\.0*\Z")


class UnitKey:
    """Turns identifiers into digests; shows nothing of the key.

    >>> key = UnitKey(Secret.of("a long and secret sentence"))
    >>> len(key.digests([12, 12.0, "12", "x", 7])), key
    (3, <UnitKey>)
    """

    __slots__ = ("_key", "_known")

    def __init__(self, secret: Secret) -> None:
        self._key = secret.derive(_CONTEXT)
        self._known: dict[Any, int] = {}

    def digests(self, units: Sequence[Any] | NDArray[Any]) -> UintArray:
        """The digests of the units, each once, in order."""
        return np.unique(self.of_each(units))

    def of_each(self, units: Sequence[Any] | NDArray[Any]) -> UintArray:
        """The digest of each unit, as often as it comes."""
        values = units.tolist() if isinstance(units, np.ndarray) else units
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        known = self._known
        for value in set(values):
            if value.__class__ is bool or value not in known:
                data = _text(value).encode("utf-8", "surrogatepass")
                digest = hashlib.blake2b(data, digest_size=8, key=self._key).digest()
                known[value] = int.from_bytes(digest, "little")
        return np.array([known[value] for value in values], dtype=np.uint64)

    def __repr__(self) -> str:
        return "<UnitKey>"


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    if value is None or (isinstance(value, float) and not math.isfinite(value)) or not text:
        hint = "leave such records out, or give them an identifier"
        raise _error("a record has no unit", hint=hint)
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise _error(f"identifiers are numbers or texts, not {type(value).__name__}")
    return _WHOLE.sub(r"\1", text) if isinstance(value, str) else text


def _error(message: str, where: str = "", hint: str = "") -> OutputCheckError:
    return OutputCheckError(message, code="ledger-units", where=where, hint=hint)


def read_units(path: str | os.PathLike[str], *, unit: str | None, key: UnitKey) -> UintArray:
    """The units in a file of identifiers, for outputs made elsewhere. CONFIDENTIAL."""
    place = Path(path)
    suffix = place.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise _error("no file of units", place.name, "give a .csv or .parquet file")
    try:
        csv = suffix == ".csv"
        frame = pl.read_csv(place, infer_schema=False) if csv else pl.read_parquet(place)
    except (OSError, pl.exceptions.PolarsError):
        raise _error("the file of units cannot be read", place.name) from None
    if unit is None and frame.width != 1:
        hint = "name the variable that identifies units with --unit"
        raise _error("the file has several columns", place.name, hint)
    column = frame.columns[0] if unit is None else unit
    if column not in frame.columns:
        raise _error("the records have no such column", column)
    return key.digests(frame[column].to_list())
