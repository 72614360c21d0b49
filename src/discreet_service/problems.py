"""Problems: what callers are told when something cannot be done, after RFC 9457. Public: they never
quote cells, keys, places on the disk, SQL, or the words of an unexpected exception.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from discreet.errors import DiscreetError, Problem, raise_all

#: Where the types of problems are described.
TYPES_BASE = "https://discreet.example/problems/"
MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class ProblemType:
    """One kind of problem."""

    status: int  # The status code of HTTP
    en: str  # Its title in English
    de: str  # Its title in German


_type = ProblemType
#: All kinds of problems there are, by code.
PROBLEM_TYPES: Mapping[str, ProblemType] = {
    "invalid-query": _type(422, "The query is not valid", "Die Anfrage ist fehlerhaft"),
    "invalid-body": _type(422, "The body cannot be read", "Der Inhalt ist nicht lesbar"),
    "invalid-cells": _type(
        422, "The cells cannot be used", "Die Tabellenfelder sind nicht verwendbar"
    ),
    "invalid-input": _type(422, "The input cannot be used", "Die Eingabe ist nicht verwendbar"),
    "unknown-dataset": _type(404, "Data set not found", "Datensatz nicht gefunden"),
    "unknown-variable": _type(404, "Variable not found", "Merkmal nicht gefunden"),
    "unknown-code": _type(404, "There is unknown code", "Code nicht gefunden"),
    "unknown-parameter-set": _type(404, "Parameter set not found", "Parametersatz nicht gefunden"),
    "not-found": _type(404, "Not found", "Nicht gefunden"),
    "method-not-allowed": _type(405, "Method not allowed", "Das ist hier nicht möglich"),
    "invalid-selection": _type(400, "The selection is not valid", "Die Auswahl ist fehlerhaft"),
    "too-many-selected": _type(
        403, "Too many cells are selected", "Es sind zu viele Tabellenfelder ausgewählt"
    ),
    "refused-by-policy": _type(
        403, "A protection rule refuses this query", "Eine Geheimhaltungsregel verbietet dies"
    ),
    "not-authenticated": _type(401, "Log in", "Bitte anmelden"),
    "not-allowed": _type(403, "Permission missing", "Dazu fehlt die Berechtigung"),
    "second-person": _type(
        409, "A second person must approve", "Eine zweite Person muss zustimmen"
    ),
    "version-retired": _type(
        410, "This version is retired", "Diese Version ist nicht mehr in Gebrauch"
    ),
    "unsupported-format": _type(406, "Format not available", "Dieses Format wird nicht angeboten"),
    "unsupported-media-type": _type(
        415, "Media type not supported", "Inhalte dieses Typs werden nicht gelesen"
    ),
    "too-many-cells": _type(413, "Too many cells", "Zu viele Tabellenfelder"),
    "too-large": _type(413, "The body is too large", "Der Inhalt ist zu groß"),
    "no-such-range": _type(416, "Range not satisfiable", "So lang ist der Inhalt nicht"),
    "rate-limited": _type(429, "Too many requests", "Zu viele Anfragen"),
    "result-not-ready": _type(409, "No result yet", "Es gibt noch kein Ergebnis"),
    "job-failed": _type(409, "The job failed", "Der Auftrag ist gescheitert"),
    "job-expired": _type(410, "The result has been deleted", "Das Ergebnis ist gelöscht"),
    "changed-meanwhile": _type(412, "Changed in the meantime", "Es wurde inzwischen geändert"),
    "conflict": _type(409, "Conflict with existing data", "Das widerspricht dem Bestand"),
    "data-not-ready": _type(503, "The data are not ready", "Die Daten sind nicht bereit"),
    "overloaded": _type(503, "The service is overloaded", "Der Dienst ist überlastet"),
    "disk-full": _type(507, "The disk is full", "Der Speicherplatz ist erschöpft"),
    "internal": _type(500, "Internal error", "Interner Fehler"),
}


class ServiceError(DiscreetError):
    """What a caller of the service can cause or repair."""

    def __init__(
        self,
        what: str,
        code: str,
        where: str = "",
        hint: str = "",
        *,
        problems: Sequence[Problem] = (),
        rule: str = "",
        limit: int | None = None,
        actual: int | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(what, code=code, where=where, hint=hint, problems=problems)
        self.kind = PROBLEM_TYPES[code]
        self.rule, self.limit, self.actual = rule, limit, actual
        self.retry_after = retry_after
        # What would be answered in its place, as documents
        self.nearest: Sequence[Mapping[str, Any]] = ()


def refuse(
    problems: Iterable[Problem],
    subject: str = "call",
    code: str = "invalid-input",
    most: int | None = None,
) -> None:
    """Raise one error for all that is wrong with a call; do nothing when nothing is.

    >>> refuse([Problem("too long", "name"), Problem("too short", "title")], "form")
    Traceback (most recent call last):
        ...
    discreet_service.problems.ServiceError: [invalid-input] name: 2 problems with this form
      1. name: too long
      2. title: too short
    """
    many = f"{{}} problems with this {subject}"
    raise_all(ServiceError, problems, code=code, many=many, most=most)


def hint_in(language: str, hint: str, code: str) -> str:
    """A hint in a language; one that is known in English only gives way to a general one.

    Hints that are no words of any language, such as a header or an address, stay as they are.

    >>> hint_in("de", "closest match: 'sex'", "unknown-variable")
    "gemeint ist vielleicht 'sex'"
    >>> hint_in("de", "csv, px or xlsx", "invalid-input")
    'csv, px oder xlsx'
    >>> "oder" in hint_in("de", "name a file or leave it out", "invalid-input")
    False
    """
    if language != "de" or not hint or not re.search(r"[a-z] [a-z]", hint):
        return _of_words(hint) if language == "de" else hint
    return _of_words(hint, _hints()["general"][code][1])


def _of_words(hint: str, otherwise: str | None = None) -> str:
    """The German of a hint; otherwise something else, or the hint itself."""
    said: Mapping[str, str] = _hints()["said"]
    if hint in said:
        return said[hint]
    for pattern, german in _patterns():
        if match := pattern.fullmatch(hint):
            return german.format(*match.groups())
    return hint if otherwise is None else otherwise


@cache
def _hints() -> Mapping[str, Any]:
    return tomllib.loads(files("discreet_service").joinpath("hints.toml").read_text("utf-8"))


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Hints with names and numbers in them; the more words one has, the sooner it is tried."""
    found = [(each, german) for each, german in _hints()["said"].items() if "{}" in each]
    found.sort(key=lambda pair: -len(pair[0]))
    return tuple(
        (re.compile(_blank(each).join(map(re.escape, each.split("{}"))), re.DOTALL), german)
        for each, german in found
    )


def _blank(pattern: str) -> str:
    """What a blank takes: next to one word only, as in "a or b", it is no part of a sentence."""
    if len(re.findall("[a-z]+", pattern)) > 1:
        return "(.+?)"
    item = r"(?:'[^']*'|[^\s,]+)"
    return f"({item}(?:, {item})*)"


def problem_document(error: DiscreetError, request: str, language: str = "en") -> dict[str, Any]:
    """What is told of an error.

    >>> error = ServiceError("variable 'sx' not found", code="unknown-variable", where="by[0]")
    >>> problem_document(error, "1f")["status"]
    404
    """
    code = error.code if isinstance(error, ServiceError) else "invalid-input"
    kind = PROBLEM_TYPES[code]
    document: dict[str, Any] = {
        "type": TYPES_BASE + code,
        "title": kind.de if language == "de" else kind.en,
        "status": kind.status,
        "detail": error.what,
        "instance": f"urn:discreet:request:{request}",
        "problems": [
            {
                "where": problem.where,
                "code": error.code,
                "message": problem.what,
                "hint": hint_in(language, problem.hint, code),
            }
            for problem in error.problems
        ],
    }
    if isinstance(error, ServiceError):
        more = {
            "rule": error.rule or None,
            "limit": error.limit,
            "actual": error.actual,
            "retry_after": error.retry_after,
            "nearest": [*error.nearest] or None,
        }
        document |= {name: value for name, value in more.items() if value is not None}
    return document
