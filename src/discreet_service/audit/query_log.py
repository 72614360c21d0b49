"""The query log: who asked for what, and what became of it. CONFIDENTIAL until it is pseudonymised.
It never holds cells, keys or noise.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any

import sqlalchemy as sa

from discreet_service.audit.kinds import AuditKind, shown_text
from discreet_service.audit.trail import AuditTrail, utc
from discreet_service.database import (
    QUERY_LOG,
    RowPage,
    ServiceDatabase,
    Statement,
    WriteBatch,
    equal_to,
    newest_rows,
)

_LONGEST_QUERY, _LONGEST_NAME = 200_000, 200
_ROW = Statement(sa.insert(QUERY_LOG), [one.name for one in QUERY_LOG.c if one.name != "id"])


class LogMode(StrEnum):
    """Kind of the request in a row."""

    cells = "cells"
    query = "query"
    check = "check"
    job = "job"
    release = "release"


class LogVerdict(StrEnum):
    """Outcome of a request."""

    answered = "answered"
    deferred = "deferred"
    refused = "refused"


def shown_query(row: sa.Row[Any]) -> dict[str, Any]:
    """A row of the log as it is shown."""
    parsed = {"query": json.loads(row.query), "rules": json.loads(row.rules)}
    return {**row._asdict(), **parsed, "at": utc(row.at)}


class QueryLog:
    """The log of queries."""

    def __init__(self, database: ServiceDatabase, key: bytes, clock: Callable[[], int]) -> None:
        self._database, self._key, self._clock = database, key, clock

    def append(self, **facts: Any) -> None:
        """Write a request down, before its answer goes out: the facts of `row`."""
        self._database.batched(partial(self.write, self.row(**facts)))

    def write(self, row: Mapping[str, Any], batch: WriteBatch) -> None:
        """Write a row together with what else a batch writes."""
        _ROW.change(batch.connection, **{**row, "at": self._clock()})

    @staticmethod
    def row(
        *,
        principal: str,
        mode: LogMode,
        verdict: LogVerdict,
        query: Mapping[str, Any],
        digest: str,
        caller_key: str = "",
        dataset: str = "",
        version: str = "",
        parameters: str = "",
        rules: Sequence[str] = (),
        cells: int = 0,
        milliseconds: int = 0,
        cache_hit: bool = False,
        bytes: int = 0,  # noqa: A002
    ) -> dict[str, Any]:
        """A request as it is written down."""
        names = {"principal": principal, "caller_key": caller_key, "dataset": dataset}
        names |= {"version": version, "digest": digest, "parameters": parameters}
        row: dict[str, Any] = {
            name: shown_text(text, name, _LONGEST_NAME) for name, text in names.items()
        }
        # A query as one text, in ASCII on one line.
        canonical = json.dumps(query, sort_keys=True, separators=(",", ":"), allow_nan=False)
        if len(canonical) > _LONGEST_QUERY:
            # What is too long to be written down is told by its digest alone.
            canonical = json.dumps({"too_long": len(canonical)})
        row |= {"query": canonical, "rules": json.dumps([*rules])}
        row |= {"mode": mode.value, "verdict": verdict.value}
        row |= {"cells": cells, "milliseconds": milliseconds, "bytes": bytes}
        return row | {"cache_hit": cache_hit, "pseudonymised": False}

    def search(self, **wanted: Any) -> RowPage:
        """Rows by principal, data set, digest and verdict, the newest first, as `newest_rows`."""
        with self._database.reading() as connection:
            return newest_rows(connection, QUERY_LOG, QUERY_LOG.c.id, **wanted)

    def pseudonym(self, name: str) -> str:
        """Pseudonym that replaces a name after some time: stable, and secret without the key."""
        return "~" + hmac.digest(self._key, name.encode(), "sha256").hex()[:24]

    def pseudonymise(self, before: int, trail: AuditTrail, person: str) -> int:
        """Take names out of old rows; who asked several times is still one; how many rows."""
        columns, count = QUERY_LOG.c, 0
        old = sa.and_(columns.at < before, columns.pseudonymised.is_(False))
        names = sa.select(columns.principal, columns.caller_key).where(old).distinct()
        with self._database.writing() as connection:
            for principal, caller_key in connection.execute(names).all():
                one = equal_to(QUERY_LOG, principal=principal, caller_key=caller_key)
                values = {
                    "principal": self.pseudonym(principal),
                    "caller_key": self.pseudonym(caller_key) if caller_key else "",
                    "pseudonymised": True,
                }
                change = sa.update(QUERY_LOG).where(old, *one).values(**values)
                count += connection.execute(change).rowcount
            if count:
                facts = {"before": utc(before), "rows": count}
                trail.append(connection, AuditKind.log_pseudonymised, person, facts=facts)
        return count

    def delete(self, before: int, trail: AuditTrail, person: str) -> int:
        """Delete old rows, of which names were taken out before; how many."""
        old = sa.and_(QUERY_LOG.c.at < before, QUERY_LOG.c.pseudonymised)
        with self._database.writing() as connection:
            count = connection.execute(sa.delete(QUERY_LOG).where(old)).rowcount
            if count:
                facts = {"before": utc(before), "rows": count}
                trail.append(connection, AuditKind.log_deleted, person, facts=facts)
        return count
