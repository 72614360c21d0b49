"""The description of the interface, OpenAPI 3.1: what FastAPI says, and what it cannot know.

In: an application. Out: its document, in which each operation has a summary in words and tells of
the problems that it answers with. Public.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

_PROBLEM = "Problem"
#: What no endpoint answers with: errors are problem documents.
_REPLACED = ("HTTPValidationError", "ValidationError")
_TEXT = {"type": "string"}
_SCHEMA: Mapping[str, Any] = {
    "title": _PROBLEM,
    "description": "RFC 9457; everything that is wrong at once.",
    "type": "object",
    "required": ["type", "title", "status", "instance"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "instance": {**_TEXT, "description": "Number by which staff finds the request"},
        "problems": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": dict.fromkeys(("where", "code", "message", "hint"), _TEXT),
            },
        },
        "rule": _TEXT,
        "retry_after": {"type": "integer"},
        "limit": {"type": "integer"},
        "actual": {"type": "integer"},
    },
}
_EXAMPLE: Mapping[str, Any] = {
    "type": "https://discreet.example/problems/not-authenticated",
    "title": "Say who you are",
    "status": 401,
    "detail": "say who you are first",
    "instance": "urn:discreet:request:6a5c87e4ca500dbf",
}
_RESPONSE: Mapping[str, Any] = {
    "description": "A problem; GET /api/v1/config lists them with their status",
    "content": {
        "application/problem+json": {
            "schema": {"$ref": f"#/components/schemas/{_PROBLEM}"},
            "example": _EXAMPLE,
        }
    },
}
_METHODS = frozenset(("get", "put", "post", "delete", "options", "head", "patch", "trace"))


def describe_interface(app: FastAPI) -> None:
    """Let an application describe itself in full.

    Args:
        app: The application, with all its routes.
    """

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(
                title=app.title,
                version=app.version,
                summary=app.summary,
                description=app.description,
                routes=app.routes,
            )
            app.openapi_schema = _completed(found)
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and description of each operation.

    Args:
        document: A document of OpenAPI.

    >>> list(operations({"paths": {"/a": {"get": {}, "summary": "no operation"}}}))
    [('get', '/a', {})]
    """
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in _METHODS:
                yield method, path, operation


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    for _, _, operation in operations(document):
        first, _, rest = str(operation.get("description", "")).partition("\n\n")
        if first:
            operation["summary"] = " ".join(first.split()).rstrip(".")
            operation["description"] = rest or first
        operation["responses"].pop("422", None)
        operation["responses"]["default"] = dict(_RESPONSE)
    parts = document.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for name in _REPLACED:
        schemas.pop(name, None)
    schemas[_PROBLEM] = dict(_SCHEMA)
    parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"key": []}, {}]
    return document
