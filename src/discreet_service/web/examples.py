"""Examples: what calls of the interface look like, what is answered, and what answers hold.

In: the files of `interface`, and those of façades. Out: schemas of JSON, and calls by operation.
Public: they were made with an invented census, and hold no key, password or signature that opens
anything.
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
    "any": {"description": "As the standard or the method has it"},
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
    found: dict[str, OperationExamples] = {}
    for name, text in _texts():
        for operation, told in {} if name == _SCHEMAS else tomllib.loads(text).items():
            calls = told.get("calls", {}).items()
            if operation in found:
                raise AssertionError(f"{name}: {operation} has examples already")
            found[operation] = OperationExamples(
                answers=told["answers"],
                calls=tuple(CallExample(name=each, **said) for each, said in calls),
            )
    return found


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
    told: Mapping[str, Mapping[str, str]] = tomllib.loads(dict(_texts())[_SCHEMAS])
    return {name: _object(name, told) for name in told}


def _texts() -> Iterator[tuple[str, str]]:
    folder = files("discreet_service.web").joinpath("interface")
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        yield file.name, file.read_text("utf-8")
    for name, facade in facades().items():
        yield name, files(facade.__name__).joinpath("interface.toml").read_text("utf-8")


def _object(name: str, told: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """The schema of an object; members may be added to it later, which is no other version."""
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
