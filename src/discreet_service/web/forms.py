"""Forms: what somebody fills in, shown and read by one pydantic model. Labels, hints and options
are words of the page: `NAME`, `NAME_hint`, `OPTION`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_origin

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile

#: Texts that may have more characters need all of a line, and more than one.
_WIDE, _LONG = 500, 10_000
#: What a schema says, and the attribute that says so.
_BOUNDS = {"maxLength": "maxlength", "minimum": "min", "maximum": "max", "accept": "accept"}

Sent = TypeVar("Sent", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageForm:
    """A form of a page."""

    path: str  # Where it goes
    model: type[BaseModel]  # Its fields
    send: str  # The word of its button
    heading: str = ""  # The word above it; then it is a card
    values: Mapping[str, Any] = field(default_factory=dict)  # What is filled in
    parts: Sequence[Any] = ()  # What stands before its fields
    second: bool = False  # Whether there is something more important to do

    template = "form"

    @property
    def fields(self) -> list[dict[str, Any]]:
        """The fields as they are shown: name, kind, value, options, attributes."""
        schema, fields = self.model.model_json_schema(), []
        for name, facts in schema["properties"].items():
            longest, kind = facts.get("maxLength", 0), "text"
            if "enum" in facts:
                kind = "choice"
            elif facts.get("format") == "binary" or "contentMediaType" in facts:
                kind = "file"
            elif longest > _WIDE:
                kind = "long" if longest > _LONG else "wide"
            bounds = {html: facts[known] for known, html in _BOUNDS.items() if known in facts}
            value = self.values.get(name, facts.get("default", ""))
            fields.append({"name": name, "kind": kind, "value": value, "bounds": bounds,
                           "options": facts.get("enum"),
                           "needed": name in schema.get("required", ())})  # fmt: skip
        return fields


def sent(model: type[Sent]) -> Callable[[Request], Awaitable[Sent]]:
    """A dependency that gives what a form sent, of a name that comes twice the last.

    Files without a name were not chosen.
    """

    async def read(request: Request) -> Sent:
        form, fields = await request.form(), dict[str, Any]()
        for name, facts in model.model_fields.items():
            a_file = "UploadFile" in str(facts.annotation)
            values = [one for one in form.getlist(name)
                      if isinstance(one, UploadFile) == a_file
                      and (isinstance(one, str) or one.filename)]  # fmt: skip
            if values:
                fields[name] = values if get_origin(facts.annotation) is list else values[-1]
        try:
            return model.model_validate(fields)
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from None

    return read
