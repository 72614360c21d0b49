"""Overviews: what policies hold of a data version, put together for staff.

In: what was released, refused, counted and noticed. Out: the policies that held, tables that were
refused, how much of the exposure is used, and who and what came near a limit. No record is looked
at, and no count of one stands in any of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from discreet_service.database import (
    ASKED_PATTERNS,
    POLICIES,
    QUERY_LOG,
    RATE_COUNTERS,
    REFUSED_TABLES,
    RELEASED_TABLES,
    RELEASED_UNIVERSES,
    record_of,
)
from discreet_service.policies.document import PolicyDocument
from discreet_service.policies.patterns import PATTERN_KINDS, PATTERN_MILLISECONDS
from discreet_service.policies.rates import CELLS_PER_DAY, day_of
from discreet_service.policies.rules import REFUSING

_REFUSING = frozenset(each.value for each in REFUSING)


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyState:
    """A policy that holds, held, or was proposed."""

    digest: str  # Digest of what it says
    revision: int
    signer: str  # Short name of the key that signed
    state: str  # "active", "proposed" or "retired"
    activated: int | None  # Since when it holds, in milliseconds; None if it never did
    retired: int | None  # Until when it held


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedTable:
    """A table that was refused, the last time that it was."""

    digest: str
    principal: str  # Who asked
    at: int  # When, in milliseconds
    rules: tuple[str, ...]  # The rules that refused


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleasedSum:
    """What was released of a unit."""

    unit: str
    tables: int  # How many tables
    cells: int  # How many cells nobody had been given before
    universes: int  # How many groups of units they are about
    last: int  # When the last one was released, in milliseconds


@dataclass(frozen=True, kw_only=True, slots=True)
class NearLimit:
    """Somebody, or a table, that came near a limit."""

    rule: str  # Whose limit
    what: str  # Of what: "cells" of one table, new "cells_per_day", or a kind of pattern
    principal: str  # Who
    number: int  # How many
    limit: int  # How many there may be
    digest: str = ""  # The table; empty if it is about several

    @property
    def share(self) -> float:
        """How much of the limit it is."""
        return self.number / self.limit


def policy_history(connection: sa.Connection, dataset: str, version: str) -> list[PolicyState]:
    """The policies of a data version, the newest first."""
    columns = POLICIES.c
    rows = connection.execute(
        sa.select(POLICIES).where(columns.dataset == dataset, columns.version == version)
    )
    records = [
        # It was read when it was taken; what cannot be read any more is no policy.
        record_of(PolicyState, row, revision=PolicyDocument.of_text(row.document).revision)
        for row in rows
    ]
    return sorted(records, key=lambda one: (-one.revision, one.digest))


def refused_tables(
    connection: sa.Connection, dataset: str, version: str, most: int = 50
) -> list[RefusedTable]:
    """Tables that were refused, the latest first."""
    columns = REFUSED_TABLES.c
    rows = connection.execute(
        sa.select(REFUSED_TABLES)
        .where(columns.dataset == dataset, columns.version == version)
        .order_by(columns.refused_at.desc(), columns.digest)
        .limit(most)
    )
    return [
        RefusedTable(
            digest=row.digest,
            principal=row.principal,
            at=row.refused_at,
            rules=tuple(
                one["rule"] for one in json.loads(row.rules) if one["outcome"] in _REFUSING
            ),
        )
        for row in rows
    ]


def refusals_by_rule(connection: sa.Connection, dataset: str, version: str) -> dict[str, int]:
    """Rule → how many tables it refused; one table can be refused by several."""
    columns = REFUSED_TABLES.c
    found: dict[str, int] = {}
    for rules in connection.scalars(
        sa.select(columns.rules).where(columns.dataset == dataset, columns.version == version)
    ):
        for one in json.loads(rules):
            if one["outcome"] in _REFUSING:
                found[one["rule"]] = found.get(one["rule"], 0) + 1
    return dict(sorted(found.items()))


def released_sums(connection: sa.Connection, dataset: str, version: str) -> list[ReleasedSum]:
    """What was released of each unit."""
    tables, universes = RELEASED_TABLES.c, RELEASED_UNIVERSES.c
    about = sa.select(universes.unit, sa.func.count().label("number")).where(
        universes.dataset == dataset, universes.version == version
    )
    known = {row.unit: row.number for row in connection.execute(about.group_by(universes.unit))}
    rows = connection.execute(
        sa.select(
            tables.unit,
            sa.func.count().label("tables"),
            sa.func.sum(tables.cells).label("cells"),
            sa.func.max(tables.released_at).label("last"),
        )
        .where(tables.dataset == dataset, tables.version == version)
        .group_by(tables.unit)
        .order_by(tables.unit)
    )
    return [
        ReleasedSum(
            unit=row.unit,
            tables=row.tables,
            cells=int(row.cells),
            universes=known.get(row.unit, 0),
            last=row.last,
        )
        for row in rows
    ]


def near_limits(
    connection: sa.Connection, policy: PolicyDocument, now: int, *, share: float = 0.5
) -> list[NearLimit]:
    """Who and what came near a limit of cells, rates or patterns, the nearest first."""
    # New cells of today, of each principal and of all together.
    columns, prefix = RATE_COUNTERS.c, f"{policy.dataset}: "
    rows = connection.execute(
        sa.select(columns.subject, columns.amount).where(
            columns.measure == CELLS_PER_DAY,
            columns.window_start == day_of(now),
            columns.subject.startswith(prefix, autoescape=True),
        )
    )
    found = [
        *_large_queries(connection, policy, share),
        *(
            [
                NearLimit(
                    rule="P8",
                    what="cells_per_day",
                    principal=row.subject.removeprefix(prefix),
                    number=row.amount,
                    limit=policy.rates.cells_per_day,
                )
                for row in rows
            ]
        ),
        *_patterns(connection, policy, now),
    ]
    near = [one for one in found if one.share >= share]
    return sorted(near, key=lambda one: (-one.share, one.rule, one.principal, one.digest))


def _large_queries(
    connection: sa.Connection, policy: PolicyDocument, share: float
) -> Sequence[NearLimit]:
    """Tables with many cells, each once for everybody who asked."""
    columns, limit = QUERY_LOG.c, policy.size.cells_job
    rows = connection.execute(
        sa.select(columns.principal, columns.digest, sa.func.max(columns.cells).label("cells"))
        .where(
            columns.dataset == policy.dataset,
            columns.version == policy.version,
            columns.cells >= share * limit,
        )
        .group_by(columns.principal, columns.digest)
        .order_by(sa.desc("cells"))
        .limit(50)
    )
    return [
        NearLimit(
            rule="P1",
            what="cells",
            principal=row.principal,
            number=row.cells,
            limit=limit,
            digest=row.digest,
        )
        for row in rows
    ]


def _patterns(connection: sa.Connection, policy: PolicyDocument, now: int) -> Sequence[NearLimit]:
    """Of each kind of pattern, how many of one subject each principal tried at most."""
    columns = ASKED_PATTERNS.c
    numbers = (
        sa.select(columns.principal, columns.kind, sa.func.count().label("number"))
        .where(
            columns.dataset == policy.dataset,
            columns.version == policy.version,
            columns.at > now - policy.patterns.window_hours * PATTERN_MILLISECONDS,
            columns.kind.in_(PATTERN_KINDS),
        )
        .group_by(columns.principal, columns.kind, columns.subject)
        .subquery()
    )
    most = sa.select(numbers.c.principal, numbers.c.kind, sa.func.max(numbers.c.number).label("n"))
    return [
        NearLimit(
            rule="P9",
            what=row.kind,
            principal=row.principal,
            number=row.n,
            limit=getattr(policy.patterns, row.kind).stop,
        )
        for row in connection.execute(most.group_by(numbers.c.principal, numbers.c.kind))
    ]


def answers_by_end(connection: sa.Connection, dataset: str, version: str) -> dict[str, int]:
    """Verdict → how many tables were asked for with this end, as the query log says."""
    columns = QUERY_LOG.c
    rows = connection.execute(
        sa.select(columns.verdict, sa.func.count().label("number"))
        .where(columns.dataset == dataset, columns.version == version, columns.mode != "check")
        .group_by(columns.verdict)
        .order_by(columns.verdict)
    )
    return {row.verdict: row.number for row in rows}
