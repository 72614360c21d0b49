"""Counters: what callers did, read from the database when it is needed. Whoever alone writes them
may remember them from one batch to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from discreet_service.database import RATE_COUNTERS, Statement, equal_to

#: So many are remembered.
_MOST = 50_000
_KEY: Mapping[str, Any] = {
    name: sa.bindparam(name) for name in ("subject", "measure", "window_start")
}
_READ = Statement(sa.select(RATE_COUNTERS.c.amount).where(*equal_to(RATE_COUNTERS, **_KEY)))
_CHANGED = Statement(
    sa.update(RATE_COUNTERS)
    .values(amount=sa.bindparam("new"))
    .where(*equal_to(RATE_COUNTERS, **_KEY))
)
_ADDED = Statement(sa.insert(RATE_COUNTERS), [*_KEY, "amount"])

#: Of whom, what, and since when.
Counter = tuple[str, str, int]


class Counters:
    """Amounts by counter, and how many alike questions principals have asked at most."""

    def __init__(self) -> None:
        self._amounts: dict[Counter, int] = {}
        self._changed: dict[Counter, None] = {}
        #: Of a data version, a principal and hours: kind of pattern → how many at most.
        self.tried: dict[tuple[str, str, str, int], dict[str, int]] = {}

    def forget(self) -> None:
        """Read everything anew."""
        self._amounts.clear()
        self._changed.clear()
        self.tried.clear()

    def amount(
        self, connection: sa.Connection | None, subject: str, measure: str, start: int
    ) -> int:
        """The counted amount; an error if it must be read and there is no database."""
        counter = (subject, measure, start)
        if counter not in self._amounts:
            if connection is None:
                raise LookupError("not in memory")
            found = _READ.rows(connection, subject=subject, measure=measure, window_start=start)
            self._amounts[counter] = int(found[0][0]) if found else 0
        return self._amounts[counter]

    def count(self, subject: str, measure: str, start: int, amount: int) -> None:
        """Note how much it is now; `write` keeps it."""
        self._amounts[subject, measure, start] = amount
        self._changed[subject, measure, start] = None

    def write(self, connection: sa.Connection) -> None:
        """Keep what was noted, each counter once."""
        for counter in self._changed:
            key: Mapping[str, object] = dict(zip(_KEY, counter, strict=True))
            amount = self._amounts[counter]
            if not _CHANGED.change(connection, new=amount, **key):
                _ADDED.change(connection, amount=amount, **key)
        self._changed.clear()
        if len(self._amounts) + len(self.tried) > _MOST:
            self.forget()
