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
    hint_en: str  # What to do, where nothing more precise is known
    hint_de: str  # The same in German


def _texts() -> dict[str, Any]:
    return tomllib.loads(files("discreet_service").joinpath("problems.toml").read_text("utf-8"))


#: All kinds of problems there are, by code.
PROBLEM_TYPES: Mapping[str, ProblemType] = {
    code: ProblemType(**stated) for code, stated in _texts()["types"].items()
}


class ServiceError(DiscreetError):
    """An error that a caller of the service can cause or repair."""

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
    "ähnlichster Name: 'sex'"
    >>> hint_in("de", "csv, px or xlsx", "invalid-input")
    'csv, px oder xlsx'
    >>> "oder" in hint_in("de", "name a file or leave it out", "invalid-input")
    False
    """
    if language != "de" or not hint or not re.search(r"[a-z] [a-z]", hint):
        return _of_words(hint) if language == "de" else hint
    return _of_words(hint, PROBLEM_TYPES[code].hint_de)


def _of_words(hint: str, otherwise: str | None = None) -> str:
    """The German of a hint; otherwise something else, or the hint itself."""
    if hint in _hints():
        return _hints()[hint]
    for pattern, german in _patterns():
        if match := pattern.fullmatch(hint):
            return german.format(*match.groups())
    return hint if otherwise is None else otherwise


@cache
def _hints() -> Mapping[str, str]:
    """German hints by what is said in English."""
    said: dict[str, str] = _texts()["said"]
    return said


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Hints with names and numbers in them; the more words one has, the sooner it is tried."""
    found = [(each, german) for each, german in _hints().items() if "{}" in each]
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


#: Codes of errors of the library that no caller can repair, with those that stand for them here.
_OURS = {"disk-full": "disk-full", "memory": "overloaded"}


def repairable(error: DiscreetError) -> DiscreetError:
    """An error as callers are told of it: of what they cannot repair only that it happened."""
    code = "" if isinstance(error, ServiceError) else _OURS.get(error.code, "")
    return ServiceError(PROBLEM_TYPES[code].en, code) if code else error


def problem_document(error: DiscreetError, request: str, language: str = "en") -> dict[str, Any]:
    """Problem document of an error (RFC 9457).

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
