"""Queries: tables that somebody asks for, protected as `discreet protect` would.

In: a `TableQuery` in a closed grammar. Out: a `ProtectedTable`, the same for every way of asking.
Modules from the bottom: `grammar`, `measures`, `canonical`, `plan`, `record_filters`, `counting`,
`presentation`, `cache`, `evidence`, `sparse_parts`, `answers`, `formats`, `jobs`.
"""

from discreet_service.queries.answers import Answer, Answers, PreparedQuery
from discreet_service.queries.canonical import CanonicalQuery, canonical_query
from discreet_service.queries.grammar import TableQuery, read_query
from discreet_service.queries.plan import QueryPlan, plan_of

__all__ = [
    "Answer",
    "Answers",
    "CanonicalQuery",
    "PreparedQuery",
    "QueryPlan",
    "TableQuery",
    "canonical_query",
    "plan_of",
    "read_query",
]
