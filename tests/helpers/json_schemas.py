"""JSON Schema as the description of the interface uses it: what does not hold, with its place."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from typing import Any

#: What says nothing about validity.
_SAID = {"description", "title", "default", "examples", "example", "discriminator"}
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
_FORMATS: Mapping[str, Callable[[str], Any]] = {
    "date-time": datetime.fromisoformat,
    "date": date.fromisoformat,
    "uri": lambda text: re.fullmatch(r"[a-z][a-z0-9+.-]*:\S+", text) or 1 / 0,
    "binary": str,
}


def violations(
    value: Any, schema: Mapping[str, Any], schemas: Mapping[str, Any], at: str = ""
) -> Iterator[str]:
    """Where a value is not as its schema says; members that no schema names are told as well."""
    if "$ref" in schema:
        yield from violations(value, schemas[schema["$ref"].rpartition("/")[2]], schemas, at)
        return
    if "anyOf" in schema:
        tried = [list(violations(value, each, schemas, at)) for each in schema["anyOf"]]
        if all(tried):
            yield from min(tried, key=len)
        return
    if not schema.keys() - _SAID:
        return  # anything
    unknown = schema.keys() - _SAID - _CHECKED.keys()
    assert not unknown, f"{at}: {unknown} is not looked at"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_TYPES[kind](value) for kind in kinds):
        yield f"{at}: {type(value).__name__} is no {schema['type']}"
        return
    for name, check in _CHECKED.items():
        if name in schema and check is not None and not check(value, schema[name]):
            yield f"{at}: {name} {schema[name]!r}"
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from violations(each, schema.get("items", {}), schemas, f"{at}[{number}]")
    if isinstance(value, dict):
        yield from _members(value, schema, schemas, at)


def _members(
    value: Mapping[str, Any], schema: Mapping[str, Any], schemas: Mapping[str, Any], at: str
) -> Iterator[str]:
    named, others = schema.get("properties", {}), schema.get("additionalProperties")
    for name in schema.get("required", []):
        if name not in value:
            yield f"{at}.{name} is missing"
    for name, each in value.items():
        if name in named:
            yield from violations(each, named[name], schemas, f"{at}.{name}")
        elif not isinstance(others, dict):
            yield f"{at}.{name} is not described"
        else:
            yield from violations(each, others, schemas, f"{at}.{name}")


def _is_of_format(value: Any, name: str) -> bool:
    try:
        _FORMATS[name](value)
    except (ValueError, ZeroDivisionError):
        return False
    return True


_CHECKED: Mapping[str, Callable[[Any, Any], bool] | None] = {
    "type": None,
    "properties": None,
    "required": None,
    "additionalProperties": None,
    "items": None,
    "enum": lambda value, known: value in known,
    "pattern": lambda value, pattern: re.search(pattern, value) is not None,
    "format": _is_of_format,
}
