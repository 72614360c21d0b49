"""Effects of a policy before it holds: which of the latest questions it would refuse that the one
in force does not, and the other way round. CONFIDENTIAL; no record is looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from discreet_service.audit import LogMode, QueryLog, shown_query
from discreet_service.database import ServiceDatabase
from discreet_service.policies import PolicyDocument
from discreet_service.problems import ServiceError
from discreet_service.queries.answers import Answers
from discreet_service.queries.canonical import CanonicalQuery
from discreet_service.queries.presentation import title_of

#: So many questions are looked at, and so many pages of the log at most to find them.
_QUESTIONS, _PAGES = 1_000, 5
#: Rules that need records or time, with their sections: their effect is seen with the data only.
_BY_DATA: Mapping[str, str] = {
    "P4": "small_universes",
    "P5": "differences",
    "P7": "sparsity",
    "P8": "rates",
    "P9": "patterns",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class AffectedTable:
    """A table whose answer the policy changes."""

    digest: str  # Its digest in the query log
    title: Mapping[str, str]  # Its heading by language
    questions: int  # How often it was asked for
    rules: tuple[str, ...]  # The rules that refuse it, under the policy that does


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyEffect:
    """Effect of a policy on the latest queries."""

    questions: int  # How many were looked at
    tables: int  # How many different ones
    refused_now: int  # How many of the questions the policy in force refuses
    refused_then: int  # How many the other one refuses
    by_rule: Mapping[str, tuple[int, int]]  # Rule → the same by the rules that refuse
    more: tuple[AffectedTable, ...]  # Tables that it would refuse, though they are not now
    fewer: tuple[AffectedTable, ...]  # Tables that it would no longer refuse
    unexamined: tuple[str, ...]  # Rules that it changes and that only the data can tell of


def policy_effect(
    answers: Answers, log: QueryLog, database: ServiceDatabase, proposed: PolicyDocument
) -> PolicyEffect:
    """Compute the effect of a policy on the latest queries of its data version."""
    dataset, version = proposed.dataset, proposed.version
    opened = answers.datasets.version(dataset, version)
    now = answers.policies.policy(dataset, version)
    tally: Counter[str] = Counter()
    first: dict[str, sa.Row[Any]] = {}
    for row in _questions(log, dataset, version):
        tally[row.digest] += 1
        first.setdefault(row.digest, row)
    by_rule: dict[str, list[int]] = {}
    more, fewer = list[AffectedTable](), list[AffectedTable]()
    numbers = [0, 0]
    with database.reading() as connection:
        for digest, row in first.items():
            try:
                query = CanonicalQuery.of_document(shown_query(row)["query"])
                plan = answers.plan(query, opened)
            except (ServiceError, LookupError, TypeError):  # of another catalogue, or too long
                tally.pop(digest)
                continue
            refusing = answers.policies.refusing(plan.asked, (now, proposed), connection)
            for at, rules in enumerate(refusing):
                numbers[at] += tally[digest] * bool(rules)
                for rule in rules:
                    by_rule.setdefault(rule, [0, 0])[at] += tally[digest]
            if bool(refusing[0]) != bool(refusing[1]):
                affected = AffectedTable(digest=digest, questions=tally[digest],
                                         title=title_of(query, opened.units[query.unit]),
                                         rules=refusing[0] or refusing[1])  # fmt: skip
                (fewer if refusing[0] else more).append(affected)
    return PolicyEffect(
        questions=tally.total(),
        tables=len(tally),
        refused_now=numbers[0],
        refused_then=numbers[1],
        by_rule={rule: (at[0], at[1]) for rule, at in sorted(by_rule.items())},
        more=tuple(sorted(more, key=lambda one: -one.questions)),
        fewer=tuple(sorted(fewer, key=lambda one: -one.questions)),
        unexamined=tuple(
            rule
            for rule, section in _BY_DATA.items()
            if getattr(now, section) != getattr(proposed, section)
        ),
    )


def _questions(log: QueryLog, dataset: str, version: str) -> list[sa.Row[Any]]:
    """The latest questions about a data version; looking at a size is none."""
    found: list[sa.Row[Any]] = []
    cursor: int | None = None
    for _ in range(_PAGES):
        page = log.search(dataset=dataset, cursor=cursor, size=_QUESTIONS)
        found += [row for row in page.rows if (row.version, row.mode) == (version, LogMode.query)]
        cursor = page.cursor
        if cursor is None or len(found) >= _QUESTIONS:
            break
    return found[:_QUESTIONS]
