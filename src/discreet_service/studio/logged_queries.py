"""Logged queries in words: what the query log keeps as codes, as its readers say it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet_service.audit import LogVerdict
from discreet_service.policies import AskedTable
from discreet_service.problems import ServiceError
from discreet_service.queries import PreparedQuery, said_in, universe_of
from discreet_service.service import Service
from discreet_service.web import Visit, words

#: Of long lists of codes the log keeps the first ones, and this.
_LEFT_OUT = re.compile(r"and \d+ more")
_DAY = 86_400_000
#: Rows of the log that are judged again.
_MOST = 1_000


@dataclass(frozen=True, slots=True)
class LoggedTable:
    """A table of the query log."""

    title: str  # What it is, in words
    asked: AskedTable  # The same as policies judge it
    verdict: str  # What became of it last


def prepared_again(service: Service, query: Mapping[str, Any]) -> PreparedQuery | None:
    """A query of the log as it was asked; None if the log keeps a part of it only."""
    codes = [str(code) for part in ("by", "where")
             for one in query.get(part, ()) for code in one["codes"] or ()]  # fmt: skip
    if "unit" not in query or any(map(_LEFT_OUT.fullmatch, codes)):
        return None
    try:
        return service.answers.again_of({"query": query, "measures": [], "by": []})
    except (ServiceError, LookupError, ValueError):  # the data set has changed, or is gone
        return None


def query_words(service: Service, query: Mapping[str, Any], language: str) -> str:
    """A query of the log in words; its data set alone where no more is known."""
    if "protect" in query:
        spoken = words("log", language)["protected_cells"]
        return spoken.format(set=f"{query['parameter_set']} {query['version']}")
    prepared = prepared_again(service, query)
    if prepared is None:
        names = [str(one["variable"]) for part in ("by", "where") for one in query.get(part, ())]
        return ", ".join([str(query.get("unit", query.get("dataset", "–"))), *names])
    unit = prepared.version.units[prepared.query.unit]
    title = said_in(unit.label, language, unit.name)
    by = []
    for one in prepared.query.by:
        variable = unit.variables[one.variable]
        levels = ", ".join(variable.level(number).name for number in one.levels)
        name = variable.tree.title(language)
        by.append(f"{name} ({levels})" if len(variable.levels) > 1 else name)
    title += words("log", language)["by"] + ", ".join(by) if by else ""
    filtered = said_in(universe_of(prepared.query, unit, {}), language)
    return f"{title} ({filtered})" if filtered else title


def table_title(visit: Visit, dataset: str, digest: str) -> str:
    """The table of a fingerprint in words; empty if the log has forgotten it."""
    rows = visit.service.query_log.search(dataset=dataset, digest=digest, size=1).rows
    return query_words(visit.service, rows[0].told()["query"], visit.language) if rows else ""


def logged_tables(visit: Visit, dataset: str, version: str, days: int) -> list[LoggedTable]:
    """Different tables that were asked of a data version, with what became of them last."""
    service, tables = visit.service, dict[str, LoggedTable]()
    since = service.clock() - days * _DAY
    for row in service.query_log.search(dataset=dataset, since=since, size=_MOST).rows:
        if row.version != version or row.digest in tables or row.verdict not in tuple(LogVerdict):
            continue
        query = row.told()["query"]
        prepared = prepared_again(service, query)
        if prepared is not None:
            title = query_words(service, query, visit.language)
            tables[row.digest] = LoggedTable(title, prepared.plan.asked, row.verdict)
    return list(tables.values())
