"""Façades: released tables as the programs of others ask for them, each a plugin. Public.

An entry point `facade.NAME` of `discreet.plugins` names a package with `router`, and beside it an
`interface.toml` with examples of its calls. `UNLIMITED` may name paths that are no calls.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["json_bytes", "updated_of"]

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def json_bytes(document: Any) -> bytes:
    """A document as it is sent."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8")


def updated_of(date: str) -> str | None:
    """The time of a release as documents state it; None if it states none.

    >>> updated_of("2026-11-21")
    '2026-11-21T00:00:00Z'
    """
    day = _DATE.match(date)
    return None if day is None else f"{day[0]}T00:00:00Z"
