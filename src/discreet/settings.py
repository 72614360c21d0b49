"""Settings: what a method can be told, declared once as a frozen model in the method's folder.

In: values from a programme, a line, a form, a call. Out: settings that are known to be good, or one
problem for each that is not; no value is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from discreet.errors import Problem, nearest


def is_number(value: Any) -> bool:
    """Whether it is a number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def number(value: Any) -> Any:
    """A finite number, whole or not, as it is written."""
    if not is_number(value) or not abs(value) < float("inf"):
        raise PydanticCustomError("number", "must be a number")
    return value


def name_list(value: Any) -> Any:
    """A bare name stands for a list of one."""
    if isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, Sequence) else value


def _different(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise refused("name one or more different columns")
    return names


Text = Annotated[str, StringConstraints(min_length=1)]
Names = Annotated[list[Text], BeforeValidator(name_list)]
NameList = Annotated[list[Text], BeforeValidator(name_list), Field(min_length=1)]
#: One or more.
Some = Annotated[NameList, AfterValidator(_different)]
Number = Annotated[Any, BeforeValidator(number)]
Limit = Annotated[Any, Field(ge=0), BeforeValidator(number)]
Positive = Annotated[Any, Field(gt=0), BeforeValidator(number)]
Count = Annotated[int, Field(ge=1)]


class Settings(BaseModel):
    """Settings of a method: no unknown keys, no conversion, no later changes."""

    # Validators are made when they are first needed: a command needs few of these models.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class SecretSettings(Settings):
    """Settings of which nothing is shown: they hold parameters that are SECRET."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: secret>"

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class FileContent:
    """Marks a text that is the content of a file: a command takes the file, a form its text."""

    secret: bool  # whether others must not be able to read the file


#: The content of a file of parameters that only the office knows. SECRET.
SecretText = Annotated[str, FileContent(secret=True)]
#: The content of a file.
FileText = Annotated[str, FileContent(secret=False)]


#: Marks of settings: texts in which commas stand, so that each has a line; the name of a file.
LINES: Final = "lines"
FILE: Final = "file"

_KINDS = {
    "missing": "is missing",
    "string_type": "must be a text, in quotes",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list, in brackets",
    "dict_type": "must be a table of keys and values",
    "model_type": "must be a table of keys and values",
    "dataclass_type": "must be a table of keys and values",
    "path_type": "must be a path",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "has the wrong form",
    "too_short": "has too few entries; at least {min_length}",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be below {lt}",
}
_QUOTED = re.compile(r"'([^']*)'")


def refused(what: str, hint: str = "", where: str = "") -> PydanticCustomError:
    """The error that a validator of settings raises; of several settings it names the place."""
    return PydanticCustomError("settings", "{what}", {"what": what, "hint": hint, "where": where})


def plain_problem(
    details: Mapping[str, Any], name: str, place: str, known: Sequence[str] = ()
) -> Problem:
    """Problem of a setting in plain words, with its place; `known` lists all settings."""
    kind, context = details["type"], details.get("ctx", {})
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return Problem("unknown key", place, nearest(name, known))
    if kind == "literal_error":
        values = _QUOTED.findall(str(context.get("expected", "")))
        return Problem("unknown value", place, f"known: {', '.join(values)}")
    whole = {
        name: int(bound) if isinstance(bound, float) and bound.is_integer() else bound
        for name, bound in context.items()
    }
    message = _KINDS[kind].format(**whole) if kind in _KINDS else details["msg"]
    return Problem(message, place, str(context.get("hint", "")))


def setting_problems(
    error: ValidationError,
    place: Sequence[str] | Callable[[tuple[str | int, ...]], str] = (),
    known: Sequence[str] = (),
) -> list[Problem]:
    """Problems of settings, each with its place, without the values.

    Args:
        error: What the model found.
        place: The keys above the settings; or from the keys of one what its place is called.
        known: The settings there are.

    >>> class Wheels(Settings):
    ...     number: int = 4
    >>> try:
    ...     Wheels(number="many")
    ... except ValidationError as error:
    ...     print(setting_problems(error)[0])
    number: must be a whole number
    """
    problems = []
    for details in error.errors(include_input=False, include_url=False):
        inner = details.get("ctx", {}).get("where") if details["type"] == "settings" else None
        path = (*details["loc"], inner) if inner else details["loc"]
        where = place(path) if callable(place) else ".".join([*place, *map(str, path)])
        problems.append(plain_problem(details, str(path[-1]) if path else "", where, known))
    return problems
