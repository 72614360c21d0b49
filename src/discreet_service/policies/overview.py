"""Overviews for staff: policies that held, tables refused, and who and what came near a limit. No
record is looked at, and no count of one stands in any of it.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

import sqlalchemy as sa

from discreet_service.database import (
    POLICIES,
    QUERY_LOG,
    RATE_COUNTERS,
    REFUSED_TABLES,
    RELEASED_TABLES,
    RELEASED_UNIVERSES,
    equal_to,
    record_of,
)
from discreet_service.policies.document import PolicyDocument
from discreet_service.policies.patterns import most_tried
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
    """Released figures of a unit."""

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
        """Share of the limit."""
        return self.number / self.limit


def policy_history(connection: sa.Connection, dataset: str, version: str) -> list[PolicyState]:
    """The policies of a data version, the newest first."""
    about = equal_to(POLICIES, dataset=dataset, version=version)
    records = [
        # It was read when it was taken; what cannot be read any more is no policy.
        record_of(PolicyState, row, revision=PolicyDocument.of_text(row.document).revision)
        for row in connection.execute(sa.select(POLICIES).where(*about))
    ]
    return sorted(records, key=lambda one: (-one.revision, one.digest))


def refused_tables(
    connection: sa.Connection, dataset: str, version: str, most: int = 50
) -> list[RefusedTable]:
    """Tables that were refused, the latest first."""
    columns = REFUSED_TABLES.c
    rows = connection.execute(
        sa.select(REFUSED_TABLES)
        .where(*equal_to(REFUSED_TABLES, dataset=dataset, version=version))
        .order_by(columns.refused_at.desc(), columns.digest)
        .limit(most)
    )
    return [
        record_of(RefusedTable, row, at=row.refused_at, rules=_refusing(row.rules)) for row in rows
    ]


def _refusing(rules: str) -> tuple[str, ...]:
    return tuple(one["rule"] for one in json.loads(rules) if one["outcome"] in _REFUSING)


def refusals_by_rule(connection: sa.Connection, dataset: str, version: str) -> dict[str, int]:
    """Rule → how many tables it refused; one table can be refused by several."""
    about = equal_to(REFUSED_TABLES, dataset=dataset, version=version)
    rows = connection.scalars(sa.select(REFUSED_TABLES.c.rules).where(*about))
    return dict(sorted(Counter(rule for rules in rows for rule in _refusing(rules)).items()))


def released_sums(connection: sa.Connection, dataset: str, version: str) -> list[ReleasedSum]:
    """Released figures of each unit."""
    tables, universes = RELEASED_TABLES.c, RELEASED_UNIVERSES.c
    about = equal_to(RELEASED_UNIVERSES, dataset=dataset, version=version)
    counted = sa.select(universes.unit, sa.func.count()).where(*about).group_by(universes.unit)
    known = {unit: number for unit, number in connection.execute(counted)}  # noqa: C416
    rows = connection.execute(
        sa.select(
            tables.unit,
            sa.func.count().label("tables"),
            sa.func.sum(tables.cells).label("cells"),
            sa.func.max(tables.released_at).label("last"),
        )
        .where(*equal_to(RELEASED_TABLES, dataset=dataset, version=version))
        .group_by(tables.unit)
        .order_by(tables.unit)
    )
    return [
        record_of(ReleasedSum, row, cells=int(row.cells), universes=known.get(row.unit, 0))
        for row in rows
    ]


def near_limits(
    connection: sa.Connection, policy: PolicyDocument, now: int, *, share: float = 0.5
) -> list[NearLimit]:
    """Callers and tables near a limit of cells, rates or patterns, nearest first."""
    # New cells of today, of each principal and of all together.
    counters, prefix = RATE_COUNTERS.c, f"{policy.dataset}: "
    cells_today = connection.execute(
        sa.select(counters.subject, counters.amount.label("number")).where(
            *equal_to(RATE_COUNTERS, measure=CELLS_PER_DAY, window_start=day_of(now)),
            counters.subject.startswith(prefix, autoescape=True),
        )
    )
    # Tables with many cells, each once for everybody who asked.
    log, largest = QUERY_LOG.c, policy.size.cells_job
    large = connection.execute(
        sa.select(log.principal, log.digest, sa.func.max(log.cells).label("number"))
        .where(
            *equal_to(QUERY_LOG, dataset=policy.dataset, version=policy.version),
            log.cells >= share * largest,
        )
        .group_by(log.principal, log.digest)
        .order_by(sa.desc("number"))
        .limit(50)
    )
    limits = [
        *(record_of(NearLimit, row, rule="P1", what="cells", limit=largest) for row in large),
        *(
            NearLimit(
                rule="P8",
                what="cells_per_day",
                principal=row.subject.removeprefix(prefix),
                number=row.number,
                limit=policy.rates.cells_per_day,
            )
            for row in cells_today
        ),
        *(
            NearLimit(
                rule="P9",
                what=row.kind,
                principal=row.principal,
                number=row.number,
                limit=getattr(policy.patterns, row.kind).stop,
            )
            for row in most_tried(connection, policy, now)
        ),
    ]
    near = [one for one in limits if one.share >= share]
    return sorted(near, key=lambda one: (-one.share, one.rule, one.principal, one.digest))


def limit_use(
    connection: sa.Connection, policy: PolicyDocument, now: int
) -> dict[str, tuple[float, float]]:
    """Limit, by its key in the policy → how much of it is used, and the limit itself."""
    use: dict[str, tuple[float, float]] = {}
    for one in near_limits(connection, policy, now, share=0):
        place = {
            "P1": "size.cells_job",
            "P8": "rates.cells_per_day",
            "P9": f"patterns.{one.what}.stop",
        }[one.rule]
        use[place] = max(use.get(place, (0, 0)), (one.number, one.limit))
    most = policy.differences.most_universes
    units = released_sums(connection, policy.dataset, policy.version)
    return use | {
        "differences.most_universes": (max((one.universes for one in units), default=0), most)
    }


def answers_by_end(connection: sa.Connection, dataset: str, version: str) -> dict[str, int]:
    """Verdict → how many tables were asked for with this end, as the query log says."""
    columns = QUERY_LOG.c
    rows = connection.execute(
        sa.select(columns.verdict, sa.func.count().label("number"))
        .where(*equal_to(QUERY_LOG, dataset=dataset, version=version), columns.mode != "check")
        .group_by(columns.verdict)
        .order_by(columns.verdict)
    )
    return {row.verdict: row.number for row in rows}
