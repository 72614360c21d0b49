"""Patterns: what looks like an attack, told to staff and stopped (P9). Who shares the work among
keys is seen only in the sums of all, and held by the other rules.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from discreet_service.database import (
    ASKED_PATTERNS,
    POLICY_ALERTS,
    Statement,
    equal_to,
    insert_row,
    record_of,
)
from discreet_service.policies.asked import AskedTable
from discreet_service.policies.document import PatternLimits, PolicyDocument
from discreet_service.policies.ledger import UniverseDefinition
from discreet_service.policies.rules import Outcome, RuleCase, RuleVerdict, passed, refused

#: Windows of patterns are hours.
PATTERN_MILLISECONDS = 3_600_000
#: Stands for all principals.
TOGETHER = ""
PATTERN_KINDS = ("partitions", "crossings", "near", "spellings")

_NAMES = ("dataset", "version", "principal", "kind", "subject", "item")
_KEY: Mapping[str, Any] = {name: sa.bindparam(name) for name in _NAMES}
_SEEN = Statement(
    sa.update(ASKED_PATTERNS)
    .values(at=sa.bindparam("now"))
    .where(*equal_to(ASKED_PATTERNS, **_KEY), ASKED_PATTERNS.c.at > sa.bindparam("since"))
)
_ADDED = Statement(sa.insert(ASKED_PATTERNS), [*_NAMES, "at"])


def _distinct(*names: str) -> Statement:
    own = equal_to(ASKED_PATTERNS, **{name: _KEY[name] for name in names})
    counted = sa.select(sa.func.count(sa.distinct(ASKED_PATTERNS.c.item)))
    return Statement(counted.where(*own, ASKED_PATTERNS.c.at > sa.bindparam("since")))


_MINE, _TOGETHER = _distinct(*_NAMES[:5]), _distinct("dataset", "version", "kind", "subject")


@dataclass(frozen=True, slots=True)
class AskedPattern:
    """One more of something."""

    kind: str  # "partitions", "crossings", "near" or "spellings"
    subject: str  # Of what, such as a universe
    item: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyAlert:
    """Alert for staff."""

    at: int  # When, in milliseconds
    principal: str  # Whose pattern it is; empty for all together
    kind: str  # The pattern
    number: int  # How many there were
    stopped: bool  # Whether the principal was stopped


def patterns_of(asked: AskedTable) -> Iterator[AskedPattern]:
    """Patterns that a query continues, before anything is counted."""
    universe = UniverseDefinition.of(asked)
    for one in asked.where:
        if 1 < one.shown < one.size:
            rest = tuple(
                condition for condition in universe.conditions if condition[0] != one.variable
            )
            about = UniverseDefinition(unit=asked.unit, conditions=rest)
            yield AskedPattern(
                "partitions", about.digest, f"{one.variable}={'|'.join(one.codes or ())}"
            )
    levels = ([axis.level for axis in one if axis is not None] for one in asked.by)
    shown = [f"{name}/{'+'.join(own)}" for name, own in zip(asked.spanning, levels, strict=True)]
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
        item = one.item
        if len(item) > 200:
            item = sha256(json.dumps(item).encode()).hexdigest()
        key = {
            **case.asked.place,
            "principal": case.principal,
            "kind": one.kind,
            "subject": one.subject,
            "item": item,
        }
        if _SEEN.change(case.connection, now=case.now, since=_since(case.policy, case.now), **key):
            continue
        # One that lies too far back to count is one more again.
        if not _SEEN.change(case.connection, now=case.now, since=-1, **key):
            _ADDED.change(case.connection, at=case.now, **key)
        limits = _limits(case.policy, one.kind)
        mine = _number(case, one, together=False)
        tried = _tried(case)
        tried[one.kind] = max(mine, tried.get(one.kind, 0))
        if mine in (limits.alert, limits.stop):
            _tell(case, case.principal, one.kind, mine, stopped=mine == limits.stop)
        all_of_them = _number(case, one, together=True)
        if all_of_them == limits.together:
            _tell(case, TOGETHER, one.kind, all_of_them, stopped=False)


def pattern_rule(case: RuleCase) -> RuleVerdict:
    """P9: who tried too many of something has to talk to staff."""
    said, mosts = [], _tried(case)
    if any(mosts.get(kind, 0) >= _limits(case.policy, kind).alert for kind in PATTERN_KINDS):
        # Some of them may lie too far back by now.
        mosts = case.counters.tried[_subject(case)] = _counted(case)
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
    """Alerts of a data version, latest first."""
    rows = connection.execute(
        sa.select(POLICY_ALERTS)
        .where(*equal_to(POLICY_ALERTS, dataset=dataset, version=version))
        .order_by(POLICY_ALERTS.c.id.desc())
        .limit(most)
    )
    return [record_of(PolicyAlert, row) for row in rows]


def forget_patterns(connection: sa.Connection, before: int) -> int:
    """Forget patterns that are older; how many these were."""
    return connection.execute(
        sa.delete(ASKED_PATTERNS).where(ASKED_PATTERNS.c.at < before)
    ).rowcount


def _limits(policy: PolicyDocument, kind: str) -> PatternLimits:
    limits: PatternLimits = getattr(policy.patterns, kind)
    return limits


def _since(policy: PolicyDocument, now: int) -> int:
    return now - policy.patterns.window_hours * PATTERN_MILLISECONDS


def _subject(case: RuleCase) -> tuple[str, str, str, int]:
    asked, hours = case.asked, case.policy.patterns.window_hours
    return asked.dataset, asked.version, case.principal, hours


def _tried(case: RuleCase) -> dict[str, int]:
    """Of each kind, how many of one subject the principal has tried, at most."""
    known = case.counters.tried.get(_subject(case))
    if known is None:
        known = case.counters.tried[_subject(case)] = _counted(case)
    return known


def _counted(case: RuleCase) -> dict[str, int]:
    mine = ASKED_PATTERNS.c.principal == case.principal
    rows = most_tried(case.connection, case.policy, case.now, mine)
    return {str(row.kind): int(row.number) for row in rows}


def _number(case: RuleCase, one: AskedPattern, *, together: bool) -> int:
    """How many different ones of a subject were tried, by the principal or by all together."""
    about = {
        **case.asked.place,
        "kind": one.kind,
        "subject": one.subject,
        "since": _since(case.policy, case.now),
    }
    if together:
        return int(_TOGETHER.rows(case.connection, **about)[0][0])
    return int(_MINE.rows(case.connection, principal=case.principal, **about)[0][0])


def most_tried(
    connection: sa.Connection, policy: PolicyDocument, now: int, *which: sa.ColumnElement[bool]
) -> Sequence[sa.Row[*tuple[Any, ...]]]:
    """Of each principal and kind, how many of one subject were tried at most."""
    columns = ASKED_PATTERNS.c
    about = equal_to(ASKED_PATTERNS, dataset=policy.dataset, version=policy.version)
    recent = columns.at > _since(policy, now)
    numbers = (
        sa.select(columns.principal, columns.kind, sa.func.count().label("number"))
        .where(*about, recent, columns.kind.in_(PATTERN_KINDS), *which)
        .group_by(columns.principal, columns.kind, columns.subject)
        .subquery()
    )
    names = (numbers.c.principal, numbers.c.kind)
    most = sa.select(*names, sa.func.max(numbers.c.number).label("number")).group_by(*names)
    return connection.execute(most).all()


def _tell(case: RuleCase, principal: str, kind: str, number: int, *, stopped: bool) -> None:
    facts = {"principal": principal, "kind": kind, "number": number, "stopped": stopped}
    insert_row(case.connection, POLICY_ALERTS, at=case.now, **case.asked.place, **facts)
