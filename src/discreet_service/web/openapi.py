"""The description of the interface, OpenAPI 3.1: what FastAPI says, with schemas of answers,
examples and problems. Parameters, body and answer of one name belong to one call. Public.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts

from discreet_service.problems import MEDIA_TYPE, PROBLEM_TYPES, TYPES_BASE
from discreet_service.web.access import known_visit
from discreet_service.web.plugins import facades

_SCHEMAS = "schemas.toml"
_SCALARS: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": "string"},
    "int": {"type": "integer"},
    "number": {"type": "number"},
    "bool": {"type": "boolean"},
    "null": {"type": "null"},
    "time": {"type": "string", "format": "date-time"},
    "day": {"type": "string", "format": "date"},
    "uri": {"type": "string", "format": "uri"},
    "binary": {"type": "string", "format": "binary"},
    "any": {"description": "As defined by the standard or the method"},
}
_HEX = re.compile(r"hex([0-9]+)")


@dataclass(frozen=True, kw_only=True)
class CallExample:
    """A call as an example, and its answer."""

    name: str  # What it is called among those of its operation
    path: Mapping[str, str] = field(default_factory=dict)  # Parameters of its path
    query: Mapping[str, str] = field(default_factory=dict)  # What stands in its address
    headers: Mapping[str, str] = field(default_factory=dict)
    media: str = ""  # Media type of its body; empty for none
    body: str | None = None  # Its body; None where it is no text
    status: int  # Status of the answer
    type: str = ""  # Media type of the answer; empty for none
    answer: str | None = None  # The answer; None where it is no text


@dataclass(frozen=True, kw_only=True)
class OperationExamples:
    """The examples of an operation."""

    answers: Mapping[str, str]  # "STATUS MEDIA TYPE", or a status alone → type of the answer
    calls: tuple[CallExample, ...]


def value_of(text: str | None, media: str) -> Any:
    """A body or an answer as a document holds it: JSON as such, all else as text.

    >>> value_of('{"a": null}', "application/problem+json"), value_of("a,b", "text/csv")
    ({'a': None}, 'a,b')
    """
    lines = "ndjson" in media
    return json.loads(text) if text and not lines and media.endswith("json") else text


@cache
def operation_examples() -> Mapping[str, OperationExamples]:
    """The examples of all operations, by operation."""
    examples: dict[str, OperationExamples] = {}
    for name, text in _texts():
        for operation, told in {} if name == _SCHEMAS else tomllib.loads(text).items():
            calls = told.get("calls", {}).items()
            if operation in examples:
                raise AssertionError(f"{name}: {operation} has examples already")
            examples[operation] = OperationExamples(
                answers=told["answers"],
                calls=tuple(CallExample(name=each, **said) for each, said in calls),
            )
    return examples


def example_body(operation: str, name: str = "usual") -> Any:
    """The body of an example.

    >>> example_body("run_query")["by"]
    ['sex']
    """
    call = next(item for item in operation_examples()[operation].calls if item.name == name)
    return value_of(call.body, call.media)


@cache
def answer_schemas() -> Mapping[str, Mapping[str, Any]]:
    """The schemas of answers, by name."""
    document: Mapping[str, Mapping[str, str]] = tomllib.loads(dict(_texts())[_SCHEMAS])
    return {name: _object(name, document) for name in document}


def _texts() -> Iterator[tuple[str, str]]:
    folder = files("discreet_service.web").joinpath("interface")
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        yield file.name, file.read_text("utf-8")
    for name, facade in facades().items():
        yield name, files(facade.__name__).joinpath("interface.toml").read_text("utf-8")


def _object(name: str, told: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    members: dict[str, str] = {}
    said = dict(told[name])
    if (base := said.pop("+", None)) is not None:
        members = {each: kind for each, kind in told[base].items() if each != "_"}
    members |= {each: kind for each, kind in said.items() if each != "_"}
    needed = [each for each, kind in members.items() if not kind.endswith("?")]
    return {
        "description": said["_"],
        "type": "object",
        "properties": {
            each: answer_schema(kind.removesuffix("?")) for each, kind in members.items()
        },
    } | ({"required": needed} if needed else {})


def answer_schema(kind: str) -> dict[str, Any]:
    """The schema of a type, as the files of `interface` write it.

    >>> answer_schema("[int|null]")
    {'type': 'array', 'items': {'anyOf': [{'type': 'integer'}, {'type': 'null'}]}}
    >>> answer_schema("{Texts}")["additionalProperties"]
    {'$ref': '#/components/schemas/Texts'}
    """
    parts = _alternatives(kind)
    if len(parts) > 1:
        return {"anyOf": [answer_schema(part) for part in parts]}
    if kind[:1] + kind[-1:] == "[]":
        return {"type": "array", "items": answer_schema(kind[1:-1])}
    if kind[:1] + kind[-1:] == "{}":
        return {"type": "object", "additionalProperties": answer_schema(kind[1:-1])}
    if kind.startswith("one:"):
        return {"type": "string", "enum": kind.removeprefix("one:").split(",")}
    if digits := _HEX.fullmatch(kind):
        return {"type": "string", "pattern": f"^[0-9a-f]{{{digits[1]}}}$"}
    if kind in _SCALARS:
        return dict(_SCALARS[kind])
    return {"$ref": f"#/components/schemas/{kind}"}


def _alternatives(kind: str) -> list[str]:
    """The parts of a type that stand between bars, outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(kind):
        depth += (sign in "[{") - (sign in "]}")
        if sign == "|" and not depth:
            parts.append(kind[start:at])
            start = at + 1
    return [*parts, kind[start:]]


_PROBLEM = "Problem"
#: What no endpoint answers with: errors are problem documents.
_REPLACED = ("HTTPValidationError", "ValidationError")
_TEXT = {"type": "string"}
_FOUND = ("where", "code", "message", "hint")
_SCHEMA: Mapping[str, Any] = {
    "title": _PROBLEM,
    "description": "RFC 9457; all problems at once.",
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance", "problems"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "instance": {**_TEXT, "description": "Number of the request, for staff"},
        "problems": {
            "type": "array",
            "items": {
                "type": "object",
                "required": list(_FOUND),
                "properties": dict.fromkeys(_FOUND, _TEXT),
            },
        },
        "rule": _TEXT,
        "retry_after": {"type": "integer"},
        "limit": {"type": "integer"},
        "actual": {"type": "integer"},
        "nearest": {
            "type": "array",
            "description": "Tables near it that no rule refuses before anything is counted",
            "items": {"$ref": "#/components/schemas/NearTable"},
        },
    },
}
#: Problems that many operations answer with: status → name, code, what is said, hint, where.
_COMMON: Mapping[str, tuple[str, str, str, str, str]] = {
    "401": (
        "NotAuthenticated", "not-authenticated", "authentication required",
        "send a key: Authorization: Bearer dsc_…", "",
    ),
    "403": (
        "NotAllowed", "not-allowed", "this needs people:manage",
        "ask the administrators for the role", "",
    ),
    "404": ("NotFound", "not-found", "release not found", "", "release"),
    "422": (
        "Invalid", "invalid-input", "must be at least 1", "", "size",
    ),
    "429": ("RateLimited", "rate-limited", "too many requests", "", ""),
}  # fmt: skip
_FURTHER = "further"
#: Parameters whose names depend on variables: an object, each member a parameter.
_FURTHER_PARAMETERS: Mapping[str, Any] = {
    "name": _FURTHER,
    "in": "query",
    "required": False,
    "description": "Parameters, each under its own name, as the description says",
    "style": "form",
    "explode": True,
    "schema": {"type": "object", "additionalProperties": _TEXT},
}
_METHODS = frozenset(("get", "put", "post", "delete", "options", "head", "patch", "trace"))


def describe_interface(app: FastAPI) -> None:
    """Let an application describe itself in full."""

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, summary=app.summary,
                                description=app.description, routes=app.routes)  # fmt: skip
            app.openapi_schema = _completed(found, _needs(app))
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and description of each operation.

    >>> list(operations({"paths": {"/a": {"get": {}, "summary": "no operation"}}}))
    [('get', '/a', {})]
    """
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in _METHODS:
                yield method, path, operation


def _needs(app: FastAPI) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        if isinstance(route, APIRoute):
            calls = [dependant.call for dependant in dependants(route.dependant)]
            named = [call.permission for call in calls if hasattr(call, "permission")]
            permission = next((item.value for item in named if item is not None), None)
            login = "" if known_visit in calls else None
            found[route.name] = login if permission is None else permission
    return found


def dependants(dependant: Dependant) -> Iterator[Any]:
    """All that an endpoint depends on."""
    for dependency in dependant.dependencies:
        yield dependency
        yield from dependants(dependency)


def _completed(document: dict[str, Any], needs: Mapping[str, str | None]) -> dict[str, Any]:
    known = operation_examples()
    for _, _, operation in operations(document):
        first, _, rest = str(operation.get("description", "")).partition("\n\n")
        if first:
            operation["summary"] = " ".join(first.split()).rstrip(".")
            operation["description"] = rest or first
        # Errors are problem documents.
        operation["responses"].pop("422", None)
        name = operation["operationId"]
        if name in known:
            _add_answers(operation, known[name])
            for call in known[name].calls:
                _add_call(operation, call)
        _add_problems(operation, needs.get(name))
    parts = document.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for name in _REPLACED:
        schemas.pop(name, None)
    for _, _, operation in operations(document):
        # Schemas that bodies bring with them, in the place where the others are.
        for media in operation.get("requestBody", {}).get("content", {}).values():
            if "$defs" in media["schema"]:
                media["schema"] = dict(media["schema"])
                schemas |= media["schema"].pop("$defs")
    schemas |= {name: dict(each) for name, each in answer_schemas().items()}
    schemas[_PROBLEM] = dict(_SCHEMA)
    parts["responses"] = {each[0]: _common(status, *each) for status, each in _COMMON.items()}
    parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"key": []}, {}]
    return document


def _add_answers(operation: dict[str, Any], examples: OperationExamples) -> None:
    said = operation["responses"]
    told: dict[str, Any] = {}
    for answer, kind in examples.answers.items():
        status, _, media = answer.partition(" ")
        description = said.get(status, {}).get("description", _DESCRIBED.get(status, ""))
        entry = told.setdefault(status, {"description": description})
        if media:
            entry.setdefault("content", {})[media] = {"schema": answer_schema(kind)}
    operation["responses"] = told


_DESCRIBED = {
    "200": "The answer",
    "201": "Created",
    "202": "Accepted",
    "204": "No content",
    "206": "A part of the answer",
    "304": "Not modified",
}


def _add_call(operation: dict[str, Any], call: CallExample) -> None:
    parameters = operation.setdefault("parameters", [])
    places = {parameter["name"]: parameter for parameter in parameters}
    further: dict[str, str] = {}
    for given, where in ((call.path, "path"), (call.query, "query"), (call.headers, "header")):
        for name, value in given.items():
            if name in places and places[name]["in"] == where:
                places[name].setdefault("examples", {})[call.name] = {"value": value}
            else:
                further[name] = value
    if further:
        if _FURTHER not in places:
            parameters.append(dict(_FURTHER_PARAMETERS))
            places[_FURTHER] = parameters[-1]
        places[_FURTHER].setdefault("examples", {})[call.name] = {"value": further}
    if call.media:
        body = operation.setdefault("requestBody", {"content": {}})
        content = body["content"].setdefault(call.media, {"schema": _TEXT})
        shown: dict[str, Any] = {"value": value_of(call.body, call.media)}
        if call.body is None:
            shown = {"summary": "A file", "externalValue": f"example-{call.name}"}
        content.setdefault("examples", {})[call.name] = shown
    entry = operation["responses"].setdefault(str(call.status), {"description": "A problem"})
    if call.type:
        content = entry.setdefault("content", {}).setdefault(call.type, _problem_content())
        if call.answer is not None:
            told = {"value": value_of(call.answer, call.type)}
            content.setdefault("examples", {})[call.name] = told
        else:
            content.setdefault("x-examples", []).append(call.name)
    else:
        entry.setdefault("x-examples", []).append(call.name)


def _problem_content() -> dict[str, Any]:
    return {"schema": {"$ref": f"#/components/schemas/{_PROBLEM}"}}


def _add_problems(operation: dict[str, Any], needs: str | None) -> None:
    parameters, said = operation.get("parameters", []), operation["responses"]
    if needs:
        operation["description"] = f"{operation['description']}\n\nNeeds `{needs}`.".strip()
        operation["x-permission"] = needs
    wanted = {"401": needs is not None, "403": bool(needs), "429": True}
    wanted["404"] = any(parameter["in"] == "path" for parameter in parameters)
    wanted["422"] = bool(parameters) or "requestBody" in operation
    for status in sorted(wanted):
        if wanted[status] and status not in said:
            said[status] = {"$ref": f"#/components/responses/{_COMMON[status][0]}"}
    said["default"] = {
        "description": "A problem; GET /api/v1/config lists them with their status",
        "content": {MEDIA_TYPE: _problem_content()},
    }


def _common(status: str, name: str, code: str, what: str, hint: str, where: str) -> dict[str, Any]:
    kind = PROBLEM_TYPES[code]
    example: dict[str, Any] = {
        "type": TYPES_BASE + code,
        "title": kind.en,
        "status": int(status),
        "detail": what,
        "instance": "urn:discreet:request:6a5c87e4ca500dbf",
        "problems": [{"where": where, "code": code, "message": what, "hint": hint}],
    }
    if code == "rate-limited":
        example["retry_after"] = 1
    content = _problem_content() | {"examples": {name: {"value": example}}}
    return {"description": kind.en, "content": {MEDIA_TYPE: content}}
