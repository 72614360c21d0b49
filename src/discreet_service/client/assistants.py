"""A server of the Model Context Protocol: language assistants look up released tables, and ask for
tables of a data set. It only reads, with the key of the person who starts it: the service applies
the same policies as to all other requests. Public, but for the key.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from discreet._version import __version__
from discreet_service.client.clients import AsyncClient
from discreet_service.problems import ServiceError

#: Cells and codes that an answer has at most; more do not fit an assistant's attention.
MOST_CELLS, MOST_CODES = 500, 200

_INSTRUCTIONS = (
    "Protected tables of official statistics. Look for a released table first (search_tables, "
    "released_table); ask for a table of a data set (describe_data, search_codes, request_table) "
    "only if none fits. Figures are changed slightly, or suppressed, so that nobody can be "
    "recognised. Quote published totals. Never add up cells to get a total, and never subtract "
    "cells to get a suppressed one: the result is wrong. Quote the notes and the source with the "
    "figures, and explain every sign by the legend."
)
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


class AssistantTools:
    """Tools of language assistants."""

    def __init__(self, client: AsyncClient, language: str = "en") -> None:
        self._client, self._language = client, language

    def server(self) -> MCPServer:
        """The tools as a server."""
        server: MCPServer = MCPServer(
            "discreet", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING"
        )
        for tool in (
            self.search_tables,
            self.released_table,
            self.describe_data,
            self.search_codes,
            self.request_table,
        ):
            server.tool(description=inspect.getdoc(tool), annotations=_READS)(tool)
        return server

    async def search_tables(self, words: str = "") -> dict[str, Any]:
        """Find released tables by words of their titles, variables and figures, and data sets."""
        listed = await self._document("releases")
        tables = []
        for release in listed["releases"]:
            page = await self._document("releases", release["id"], query=words)
            source = {"release": release["id"], "release_title": release["title"]}
            tables += [source | _without(table, "files") for table in page["tables"]]
        datasets = (await self._document("datasets"))["datasets"]
        return {"tables": tables, "datasets": datasets}

    async def released_table(
        self, release: str, table: str, codes: dict[str, list[str]] | None = None
    ) -> dict[str, Any]:
        """A released table with notes and legend.

        `codes` keeps some codes of variables, such as {"region": ["Total", "01"]}: state them for
        large tables.
        """
        content = await self._document("releases", release, "tables", table, format="json",
                                     language=self._language)  # fmt: skip
        return _answer(content, codes or {})

    async def describe_data(self, dataset: str, unit: str = "") -> dict[str, Any]:
        """A data set with its units; with a unit also its variables and their levels."""
        described = await self._document("datasets", dataset)
        if unit:
            page = await self._document("datasets", dataset, "variables", unit=unit)
            described["variables"] = [_without(entry, "labels") for entry in page["variables"]]
        return described

    async def search_codes(
        self, dataset: str, unit: str, variable: str, words: str = "", level: str = ""
    ) -> dict[str, Any]:
        """The codes of a variable whose code or label contains the words."""
        query = {"unit": unit} | ({"level": level} if level else {})
        place = ("datasets", dataset, "variables", variable, "codelist")
        number, pages = 0, 1
        matches: list[dict[str, Any]] = []
        while number < pages and len(matches) < MOST_CODES:
            number += 1
            page = await self._document(*place, **query, page=str(number))
            pages = page["pages"]
            matches += [
                _without(code, "labels")
                for code in page["codes"]
                if words.casefold() in f"{code['code']} {code['label']}".casefold()
            ]
        return {"codes": matches[:MOST_CODES], "more": len(matches) > MOST_CODES or number < pages}

    async def request_table(
        self,
        dataset: str,
        unit: str,
        by: list[str],
        where: dict[str, list[str]] | None = None,
        measures: list[str] | None = None,
    ) -> dict[str, Any]:
        """Ask for a protected table of a data set.

        `by` names variables, with a level after a colon: ["region:state", "sex"]. `where` keeps
        units with one of some codes: {"sex": ["w"]}. `measures` names figures of the unit; the
        default is the count. Totals are always part of the answer. A refusal names the policy and
        the nearest tables that pass.
        """
        spanning = [name.partition(":") for name in by]
        query: dict[str, Any] = {
            "unit": unit,
            "by": [
                {"variable": variable} | ({"level": level} if level else {})
                for variable, _, level in spanning
            ],
            "where": [{"variable": name, "codes": codes} for name, codes in (where or {}).items()],
            "totals": "all",
            "language": self._language,
        }
        if measures:
            query["measures"] = measures
        try:
            content = await self._client.query(dataset, query, format="json")
        except ServiceError as error:
            raise _refusal(error) from None
        assert isinstance(content, bytes)
        return _answer(json.loads(content), {})

    async def _document(self, *path: str, **query: str) -> dict[str, Any]:
        try:
            return await self._client.document(*path, **query)
        except ServiceError as error:
            raise _refusal(error) from None


def _refusal(error: ServiceError) -> ToolError:
    """What is wrong, with hints and the nearest tables that pass."""
    lines = [f"{error.what} ({error.code})"]
    lines += [
        ". ".join(filter(None, (problem.where, problem.what, problem.hint)))
        for problem in error.problems
        if problem.where or problem.hint or problem.what != error.what
    ]
    lines += [f"nearest table: {json.dumps(table)}" for table in error.nearest]
    return ToolError("\n".join(lines))


def _answer(table: Mapping[str, Any], codes: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """A table as rows of labels, with all that must be said about it."""
    variables = [variable["name"] for variable in table["variables"]]
    if unknown := sorted(set(codes) - set(variables)):
        raise ToolError(f"unknown variable {unknown[0]!r}; known: {', '.join(variables)}")
    columns = table["cells"]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    kept = [row for row in rows if all(row[name] in listed for name, listed in codes.items())]
    if len(kept) > MOST_CELLS:
        raise ToolError(
            f"the table has {len(kept):,} cells; state codes or coarser levels for at most "
            f"{MOST_CELLS} ({', '.join(variables)})"
        )
    occurring = {code for row in kept for code in (row[name] for name in variables)}
    described = [
        {
            "name": variable["name"],
            "label": variable["label"],
            "codes": {
                code: label
                for code, label in zip(variable["codes"], variable["labels"], strict=True)
                if code in occurring
            },
        }
        for variable in table["variables"]
    ]
    about = {key: table[key] for key in ("title", "universe", "notes", "legend", "imprint")
             if table.get(key)}  # fmt: skip
    return about | {"variables": described, "cells": kept}


def _without(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != key}
