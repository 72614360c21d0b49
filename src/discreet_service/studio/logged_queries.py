"""Logged queries in words: what the query log keeps as codes, as its readers say it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from discreet_service.audit import shown_query
from discreet_service.problems import ServiceError
from discreet_service.queries import PreparedQuery, said_in, universe_of
from discreet_service.service import Service
from discreet_service.web import Visit, words

#: Of long lists of codes the log keeps the first ones, and this.
_LEFT_OUT = re.compile(r"and \d+ more")


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
    counted = said_in(unit.label, language, unit.name)
    by = []
    for one in prepared.query.by:
        variable = unit.variables[one.variable]
        names = [variable.level(number).name for number in one.levels]
        levels = ", ".join(name for name in names if not name.isdecimal())
        title = variable.tree.title(language)
        by.append(f"{title} ({levels})" if levels else title)
    title = counted + (words("log", language)["by"] + ", ".join(by) if by else "")
    filtered = said_in(universe_of(prepared.query, unit, {}), language)
    return f"{title} ({filtered})" if filtered else title


def table_title(visit: Visit, dataset: str, digest: str) -> str:
    """The table of a fingerprint in words; empty if the log has forgotten it."""
    rows = visit.service.query_log.search(dataset=dataset, digest=digest, size=1).rows
    return query_words(visit.service, shown_query(rows[0])["query"], visit.language) if rows else ""
