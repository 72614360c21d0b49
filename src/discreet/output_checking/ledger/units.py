"""Units as keyed digests: the same person or firm has the same digest in every request.

In: identifiers (CONFIDENTIAL) and a secret. Out: 64-bit digests, one for each unit.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutputCheckError
from discreet.microdata.secret import Secret

__all__ = ["UnitKey"]

_CONTEXT = "discreet: units of the release ledger"
#: Digests that are kept in memory between statistics.
_MOST_KNOWN = 5_000_000
#: Whole numbers as some programs write them to text files.
_WHOLE = re.compile(r"\A(-?\d+)\.0*\Z")


class UnitKey:
    """Turns identifiers into digests; shows nothing of the key.

    >>> key = UnitKey(Secret(bytes(16)))
    >>> len(key.digests([12, 12.0, "12", "x", 7])), key
    (3, <UnitKey>)
    """

    __slots__ = ("_key", "_known")

    def __init__(self, secret: Secret) -> None:
        self._key = secret.derive(_CONTEXT)
        self._known: dict[Any, int] = {}

    def digests(self, units: Sequence[Any] | NDArray[Any]) -> NDArray[np.uint64]:
        """The digests of the units, each once, in order.

        Args:
            units: Identifiers, as often as they come. A whole number is the same unit
                however it is stored: ``12``, ``12.0``, ``"12"`` and ``"12.0"``.
        """
        return np.unique(self.of_each(units))

    def of_each(self, units: Sequence[Any] | NDArray[Any]) -> NDArray[np.uint64]:
        """The digest of each unit, as often as it comes.

        Args:
            units: Identifiers.
        """
        values = units.tolist() if isinstance(units, np.ndarray) else units
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        known = self._known
        for value in set(values):
            if value.__class__ is bool or value not in known:
                known[value] = self._digest(_text(value))
        return np.array([known[value] for value in values], dtype=np.uint64)

    def _digest(self, text: str) -> int:
        data = text.encode("utf-8", "surrogatepass")
        found = hashlib.blake2b(data, digest_size=8, key=self._key).digest()
        return int.from_bytes(found, "little")

    def __repr__(self) -> str:
        return "<UnitKey>"


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    if value is None or (isinstance(value, float) and not math.isfinite(value)) or not text:
        raise OutputCheckError(
            "a record says of no unit whom it is about",
            code="ledger-units",
            hint="leave such records out, or give them an identifier",
        )
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise OutputCheckError(
            f"identifiers are numbers or texts, not {type(value).__name__}", code="ledger-units"
        )
    return _WHOLE.sub(r"\1", text) if isinstance(value, str) else text
