"""Fixtures of the tests of queries."""

from collections.abc import Callable
from typing import Any

import pytest

from discreet.tables import ProtectedTable
from discreet_service.datasets import DataVersion
from discreet_service.permissions import Grant, Principal
from discreet_service.queries import canonical_query, read_query
from discreet_service.queries.counts import protected_answer
from discreet_service.queries.evidence import QueryEvidence, SketchMemory
from discreet_service.queries.presentation import in_order
from discreet_service.service import Service

Ask = Callable[[dict[str, Any]], ProtectedTable]
ANNA = Principal(name="anna", kind="key", grants=(Grant("requester", "census"),))


def ask_service(service: Service, *by: Any, where: Any = (), **more: Any) -> ProtectedTable:
    """The table of persons that Anna is given."""
    query = read_query({"unit": "person", "by": list(by), "where": list(where), **more})
    prepared = service.answers.prepared("census", query)
    service.answers.admit(prepared, ANNA, "en")
    return service.answers.answer(prepared).table


def evidence_of(census: DataVersion, document: dict[str, Any]) -> QueryEvidence:
    """Evidence of a query about persons, with nothing hidden."""
    query, _ = canonical_query(read_query({"unit": "person", **document}), census)
    return QueryEvidence(
        query=query,
        version=census,
        table_of=lambda one: protected_answer(one, census, "0" * 64),
        key=b"key",
        kept=SketchMemory(),
        hidden_of=lambda query: None,
    )


def asked_of(version: DataVersion) -> Ask:
    """What answers queries about a version."""

    def ask(document: dict[str, Any]) -> ProtectedTable:
        query, order = canonical_query(read_query(document), version)
        return in_order(protected_answer(query, version, query.digest(b"key")), order)

    return ask


@pytest.fixture(scope="session")
def ask(census: DataVersion) -> Ask:
    """What answers queries about the census."""
    return asked_of(census)
