"""Patterns: what looks like an attack, told to staff and stopped (P9).

In: every query, answered or not. Out: how many groups, crossings, near universes and spellings one
principal tried, and all together. It finds the careless; who shares the work among keys is only
seen in the sums of all, and held by the other rules.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from discreet_service.database import ASKED_PATTERNS, POLICY_ALERTS
from discreet_service.policies.asked import AskedTable
from discreet_service.policies.document import PatternLimits, PolicyDocument
from discreet_service.policies.ledger import UniverseDefinition
from discreet_service.policies.rules import Outcome, RuleCase, RuleVerdict, passed, refused

#: Windows of patterns are hours.
PATTERN_MILLISECONDS = 3_600_000
#: Stands for all principals.
TOGETHER = ""
PATTERN_KINDS = ("partitions", "crossings", "near", "spellings")


@dataclass(frozen=True, slots=True)
class AskedPattern:
    """One more of something."""

    kind: str  # "partitions", "crossings", "near" or "spellings"
    subject: str  # Of what, such as a universe
    item: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyAlert:
    """What staff is told."""

    at: int  # When, in milliseconds
    principal: str  # Whose pattern it is; empty for all together
    kind: str  # The pattern
    number: int  # How many there were
    stopped: bool  # Whether the principal was stopped


def patterns_of(asked: AskedTable) -> Iterator[AskedPattern]:
    """What a query is one more of, before anything is counted."""
    universe = UniverseDefinition.of(asked)
    for one in asked.where:
        if 1 < len(one.codes) < one.size:
            rest = tuple(
                condition for condition in universe.conditions if condition[0] != one.variable
            )
            about = UniverseDefinition(unit=asked.unit, conditions=rest)
            yield AskedPattern("partitions", about.digest, f"{one.variable}={'|'.join(one.codes)}")
    shown = [f"{one.name}/{'+'.join(level.name for level in one.levels)}" for one in asked.by]
    if shown:
        yield AskedPattern("crossings", universe.digest, " x ".join(shown))
    if asked.spelling:
        yield AskedPattern("spellings", asked.digest, asked.spelling)


def near_pattern(asked: AskedTable, others: tuple[str, ...]) -> AskedPattern:
    """A universe that differs little from others."""
    return AskedPattern("near", asked.unit, f"{UniverseDefinition.of(asked).words} ~ {others}")


def note(case: RuleCase, patterns: Iterator[AskedPattern] | list[AskedPattern]) -> None:
    """Remember patterns, and tell staff when one of them reaches a number."""
    for one in patterns:
        # Note a pattern; whether it is a new one.
        columns = ASKED_PATTERNS.c
        # Long items by their digest.
        from hashlib import sha256

        key = {
            "dataset": case.asked.dataset,
            "version": case.asked.version,
            "principal": case.principal,
            "kind": one.kind,
            "subject": one.subject,
            "item": one.item
            if len(one.item) <= 200
            else sha256(json.dumps(one.item).encode()).hexdigest(),
        }
        where = [columns[name] == value for name, value in key.items()]
        changed = case.connection.execute(
            sa.update(ASKED_PATTERNS).where(*where).values(at=case.now)
        )
        if not changed.rowcount:
            case.connection.execute(sa.insert(ASKED_PATTERNS).values(**key, at=case.now))
        if changed.rowcount:
            continue
        limits = _limits(case.policy, one.kind)
        mine = _number(case, one, together=False)
        if mine in (limits.alert, limits.stop):
            _tell(case, case.principal, one.kind, mine, stopped=mine == limits.stop)
        all_of_them = _number(case, one, together=True)
        if all_of_them == limits.together:
            _tell(case, TOGETHER, one.kind, all_of_them, stopped=False)


def pattern_rule(case: RuleCase) -> RuleVerdict:
    """P9: who tried too many of something has to talk to staff."""
    said, mosts = [], _mosts(case)
    for kind in PATTERN_KINDS:
        limits, most = _limits(case.policy, kind), mosts.get(kind, 0)
        if most >= limits.stop:
            contact = case.policy.patterns.contact
            hours = case.policy.patterns.window_hours
            return refused("P9", f"{most} {kind}", retry_after=hours * 3600, contact=contact)
        if most >= limits.alert:
            said.append(f"{most} {kind}")
    if said:
        return RuleVerdict(rule="P9", outcome=Outcome.alerted, explanation=", ".join(said))
    return passed("P9")


def alerts(
    connection: sa.Connection, dataset: str, version: str, most: int = 200
) -> list[PolicyAlert]:
    """What staff was told of a data version, the latest first."""
    columns = POLICY_ALERTS.c
    rows = connection.execute(
        sa.select(POLICY_ALERTS)
        .where(columns.dataset == dataset, columns.version == version)
        .order_by(columns.id.desc())
        .limit(most)
    )
    return [
        PolicyAlert(
            at=row.at,
            principal=row.principal,
            kind=row.kind,
            number=row.number,
            stopped=row.stopped,
        )
        for row in rows
    ]


def forget_patterns(connection: sa.Connection, before: int) -> int:
    """Forget patterns that are older; how many these were."""
    return connection.execute(
        sa.delete(ASKED_PATTERNS).where(ASKED_PATTERNS.c.at < before)
    ).rowcount


def _limits(policy: PolicyDocument, kind: str) -> PatternLimits:
    found: PatternLimits = getattr(policy.patterns, kind)
    return found


def _within(case: RuleCase) -> list[sa.ColumnElement[bool]]:
    columns = ASKED_PATTERNS.c
    return [
        columns.dataset == case.asked.dataset,
        columns.version == case.asked.version,
        columns.at > case.now - case.policy.patterns.window_hours * PATTERN_MILLISECONDS,
    ]


def _number(case: RuleCase, one: AskedPattern, *, together: bool) -> int:
    columns = ASKED_PATTERNS.c
    where = [*_within(case), columns.kind == one.kind, columns.subject == one.subject]
    if not together:
        where.append(columns.principal == case.principal)
    counted = sa.select(sa.func.count(sa.distinct(columns.item))).where(*where)
    return case.connection.scalar(counted) or 0


def _mosts(case: RuleCase) -> dict[str, int]:
    """Of each kind, how many of one subject the principal tried at most."""
    columns = ASKED_PATTERNS.c
    numbers = (
        sa.select(columns.kind, sa.func.count().label("number"))
        .where(*_within(case), columns.kind.in_(PATTERN_KINDS), columns.principal == case.principal)
        .group_by(columns.kind, columns.subject)
        .subquery()
    )
    most = sa.select(numbers.c.kind, sa.func.max(numbers.c.number)).group_by(numbers.c.kind)
    return {str(kind): int(number) for kind, number in case.connection.execute(most)}


def _tell(case: RuleCase, principal: str, kind: str, number: int, *, stopped: bool) -> None:
    case.connection.execute(
        sa.insert(POLICY_ALERTS).values(
            at=case.now,
            dataset=case.asked.dataset,
            version=case.asked.version,
            principal=principal,
            kind=kind,
            number=number,
            stopped=stopped,
        )
    )
