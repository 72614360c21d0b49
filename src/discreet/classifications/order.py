"""The order of codes whose order nobody has given."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["natural_order"]

_WHOLE = re.compile(r"-?[0-9]{1,4000}")


def natural_order(codes: Iterable[str]) -> list[str]:
    """Codes in the order of their numbers if all are whole numbers, else of their texts.

    >>> natural_order(["10", "9", "-1"]), natural_order(["b", "10", "9"])
    (['-1', '9', '10'], ['10', '9', 'b'])
    """
    listed = list(codes)
    if all(_WHOLE.fullmatch(code) for code in listed):
        return sorted(listed, key=lambda code: (int(code), code))
    return sorted(listed)
