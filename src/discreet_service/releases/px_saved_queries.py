"""Saved queries of PxWebApi 2. Nothing is kept for them: the number of a query holds the query.

In: a query of a released table, as somebody saves it. Out: its number, which says all of it, and
from such a number the query. A number that was made up is none. Public.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

from discreet.errors import Problem
from discreet_service.problems import ServiceError
from discreet_service.releases.px_queries import PxQuery, raise_selection

#: Signs of a number: addresses have an end. Bytes of a query, however well it was packed.
_LONGEST, _LARGEST = 4_000, 60_000
_NUMBER = re.compile(rf"[A-Za-z0-9_-]{{1,{_LONGEST}}}")
_KNOWN = ("id", "tableId", "language", "selection", "outputFormat", "outputFormatParams")


def saved_query(body: Any, language: str) -> tuple[str, dict[str, Any]]:
    """The number of a query that somebody saves, and the query.

    Args:
        body: The parsed body, a SavedQuery.
        language: The language, if none is named.

    >>> number, query = saved_query({"tableId": "T1", "selection": {"selection": []}}, "de")
    >>> query["language"], opened_query(number) == query
    ('de', True)
    """
    problems: list[Problem] = []
    given: Mapping[str, Any] = body if isinstance(body, dict) else {}
    table, spoken = given.get("tableId"), given.get("language") or language
    params = given.get("outputFormatParams") or []
    if not isinstance(table, str) or not table:
        problems.append(Problem("a table is needed", "tableId"))
    if not isinstance(spoken, str):
        problems.append(Problem("this is no language", "language"))
    if not isinstance(given.get("outputFormat") or "", str):
        problems.append(Problem("this is no format", "outputFormat"))
    if not isinstance(params, list) or not all(isinstance(each, str) for each in params):
        problems.append(Problem("names of parameters are needed", "outputFormatParams"))
    problems += [
        Problem("there is no such member", str(each)[:60]) for each in given if each not in _KNOWN
    ]
    raise_selection(problems)
    query = {
        "tableId": table,
        "language": spoken,
        "selection": given.get("selection") or {"selection": []},
        "outputFormat": given.get("outputFormat") or "json-stat2",
        "outputFormatParams": params,
    }
    try:
        text = _packed(query)
    except (ValueError, RecursionError):  # half a character, no number, or nested too deeply
        what = "the query cannot be written as JSON in UTF-8"
        raise ServiceError(what, code="invalid-selection", where="selection") from None
    number = base64.urlsafe_b64encode(zlib.compress(text, 9)).decode().rstrip("=")
    if len(number) > _LONGEST or len(text) > _LARGEST:
        what, hint = "the query is too long to be saved", "write * or range(a,b) for many codes"
        raise ServiceError(what, code="invalid-selection", where="selection", hint=hint)
    return number, query


def _packed(query: Mapping[str, Any]) -> bytes:
    how: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False, "sort_keys": True}
    return json.dumps(query, separators=(",", ":"), **how).encode()


def opened_query(number: str) -> dict[str, Any]:
    """The query that a number holds.

    Args:
        number: The number.
    """
    try:
        if not _NUMBER.fullmatch(number):
            raise ValueError(number)
        packed = base64.urlsafe_b64decode(number + "=" * (-len(number) % 4))
        reader = zlib.decompressobj()
        text = reader.decompress(packed, _LARGEST)
        if reader.unconsumed_tail or not reader.eof:
            raise ValueError(number)
        made, query = saved_query(json.loads(text), "en")
        if made != number:
            raise ValueError(number)
    except (ValueError, zlib.error, binascii.Error, RecursionError, ServiceError):
        what, hint = "there is no such saved query", "save it, and use the number that is answered"
        raise ServiceError(what, code="not-found", where="savedqueries", hint=hint) from None
    return query


def query_of(saved: Mapping[str, Any], given: Mapping[str, str]) -> PxQuery:
    """The query that is meant; the address may name another language or format.

    Args:
        saved: The saved query.
        given: The parameters of the address.
    """
    lower = {name.lower(): value for name, value in given.items()}
    params = ",".join(saved["outputFormatParams"])
    own = {"outputFormat": lower.get("outputformat", saved["outputFormat"])}
    own["outputFormatParams"] = lower.get("outputformatparams", params)
    own["lang"] = lower.get("lang", saved["language"])
    return PxQuery.of_body(saved["selection"], own, saved["language"])
