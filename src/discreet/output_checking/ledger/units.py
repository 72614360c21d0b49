"""Units as keyed digests: the same person or firm has the same digest in every request.

In: identifiers (CONFIDENTIAL) and a secret. Out: 64-bit digests, one for each unit.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutputCheckError
from discreet.microdata.secret import Secret

__all__ = ["UnitKey"]

_CONTEXT = "discreet: units of the release ledger"


class UnitKey:
    """Turns identifiers into digests; shows nothing of the key.

    >>> key = UnitKey(Secret(bytes(16)))
    >>> len(key.digests([12, 12.0, "12", "x", 7])), key
    (3, <UnitKey>)
    """

    __slots__ = ("_key",)

    def __init__(self, secret: Secret) -> None:
        self._key = secret.derive(_CONTEXT)

    def digests(self, units: Sequence[Any] | NDArray[Any]) -> NDArray[np.uint64]:
        """The digests of the units, each once, in order.

        Args:
            units: Identifiers, as often as they come. A whole number is the same unit
                however it is stored: ``12``, ``12.0`` and ``"12"``.
        """
        values = units.tolist() if isinstance(units, np.ndarray) else units
        data = b"".join(self._digest(text) for text in _texts(values))
        return np.unique(np.frombuffer(data, dtype="<u8")).astype(np.uint64)

    def _digest(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode(), digest_size=8, key=self._key).digest()

    def __repr__(self) -> str:
        return "<UnitKey>"


def _texts(values: Iterable[Any]) -> set[str]:
    return {_text(value) for value in set(values)}


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if value is None or (isinstance(value, float) and not math.isfinite(value)) or value == "":
        raise OutputCheckError(
            "a record says of no unit whom it is about",
            code="ledger-units",
            hint="leave such records out, or give them an identifier",
        )
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise OutputCheckError(
            f"identifiers are numbers or texts, not {type(value).__name__}", code="ledger-units"
        )
    return str(value)
