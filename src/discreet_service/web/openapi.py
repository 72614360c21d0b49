"""The description of the interface, OpenAPI 3.1: what FastAPI says, with schemas of answers,
examples and problems. Parameters, body and answer of one name belong to one call. Public.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts

from discreet_service.problems import MEDIA_TYPE, ServiceError, problem_document
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


def value_of(text: str | None, media: str) -> Any:
    """A body or an answer as a document holds it: JSON as such, all else as text.

    >>> value_of('{"a": null}', "application/problem+json"), value_of("a,b", "text/csv")
    ({'a': None}, 'a,b')
    """
    lines = "ndjson" in media
    return json.loads(text) if text and not lines and media.endswith("json") else text


@cache
def operation_examples() -> Mapping[str, Mapping[str, Any]]:
    """What the files of `interface` say of each operation.

    Its `answers` are the types of answers by "STATUS MEDIA TYPE", or a status alone; its `calls`
    are examples by name: `path`, `query` and `headers` with their values, `media` and `body` of
    what is sent, `status`, `type` and `answer` of what comes back. What is no text is left out.
    """
    folder, examples = files("discreet_service.web").joinpath("interface"), dict[str, Any]()
    places = [each for each in folder.iterdir() if each.name != _SCHEMAS]
    places += [files(facade.__name__) / "interface.toml" for facade in facades().values()]
    for place in sorted(places, key=str):
        document = tomllib.loads(place.read_text("utf-8"))
        if twice := examples.keys() & document.keys():
            raise AssertionError(f"{place}: {sorted(twice)} have examples already")
        examples |= document
    return examples


@cache
def answer_schemas() -> Mapping[str, Mapping[str, Any]]:
    """The schemas of answers, by name."""
    place = files("discreet_service.web").joinpath("interface", _SCHEMAS)
    document: Mapping[str, Mapping[str, str]] = tomllib.loads(place.read_text("utf-8"))
    schemas = {}
    for name, own in document.items():
        members = {**document.get(own.get("+", ""), {}), **own}
        kinds = {each: kind for each, kind in members.items() if each not in ("_", "+")}
        needed = [each for each, kind in kinds.items() if not kind.endswith("?")]
        schemas[name] = {
            "description": own["_"],
            "type": "object",
            "properties": {
                each: answer_schema(kind.removesuffix("?")) for each, kind in kinds.items()
            },
        } | ({"required": needed} if needed else {})
    return schemas


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
#: Problems that many operations answer with, by status.
_COMMON: Mapping[str, tuple[str, ServiceError]] = {
    "401": ("NotAuthenticated", ServiceError(
        "authentication required", "not-authenticated",
        hint="send a key: Authorization: Bearer dsc_…",
    )),
    "403": ("NotAllowed", ServiceError(
        "this needs people:manage", "not-allowed", hint="ask the administrators for the role"
    )),
    "404": ("NotFound", ServiceError("release not found", "not-found", "release")),
    "422": ("Invalid", ServiceError("must be at least 1", "invalid-input", "size")),
    "429": ("RateLimited", ServiceError("too many requests", "rate-limited", retry_after=1)),
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
    for _, _, operation in operations(document):
        first, _, rest = str(operation.get("description", "")).partition("\n\n")
        if first:
            operation["summary"] = " ".join(first.split()).rstrip(".")
            operation["description"] = rest or first
        # Errors are problem documents.
        operation["responses"].pop("422", None)
        name = operation["operationId"]
        if (known := operation_examples().get(name)) is not None:
            _add_answers(operation, known["answers"])
            for call, example in known.get("calls", {}).items():
                _add_call(operation, call, example)
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
    parts["responses"] = {each[0]: _common(*each) for each in _COMMON.values()}
    parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"key": []}, {}]
    return document


def _add_answers(operation: dict[str, Any], answers: Mapping[str, str]) -> None:
    said, told = operation["responses"], dict[str, Any]()
    for answer, kind in answers.items():
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


def _add_call(operation: dict[str, Any], name: str, call: Mapping[str, Any]) -> None:
    parameters = operation.setdefault("parameters", [])
    places = {(parameter["name"], parameter["in"]): parameter for parameter in parameters}
    further: dict[str, str] = {}
    for stated, where in (("path", "path"), ("query", "query"), ("headers", "header")):
        for parameter, value in call.get(stated, {}).items():
            if (parameter, where) in places:
                _show(places[parameter, where], name, value)
            else:
                further[parameter] = value
    if further:
        if (_FURTHER, "query") not in places:
            parameters.append(dict(_FURTHER_PARAMETERS))
        _show(places.get((_FURTHER, "query"), parameters[-1]), name, further)
    if media := call.get("media"):
        body = operation.setdefault("requestBody", {"content": {}})
        content = body["content"].setdefault(media, {"schema": _TEXT})
        if "body" in call:
            _show(content, name, value_of(call["body"], media))
        else:
            shown = {"summary": "A file", "externalValue": f"example-{name}"}
            content.setdefault("examples", {})[name] = shown
    entry = operation["responses"].setdefault(str(call["status"]), {"description": "A problem"})
    if kind := call.get("type"):
        entry = entry.setdefault("content", {}).setdefault(kind, _problem_content())
    if kind and "answer" in call:
        _show(entry, name, value_of(call["answer"], kind))
    else:
        entry.setdefault("x-examples", []).append(name)


def _show(place: dict[str, Any], name: str, value: Any) -> None:
    place.setdefault("examples", {})[name] = {"value": value}


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


def _common(name: str, error: ServiceError) -> dict[str, Any]:
    example = {"value": problem_document(error, "6a5c87e4ca500dbf")}
    content = _problem_content() | {"examples": {name: example}}
    return {"description": error.kind.en, "content": {MEDIA_TYPE: content}}
