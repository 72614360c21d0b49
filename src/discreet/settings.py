"""Settings: what a method can be told, declared once as a frozen model in the method's folder.

In: values from a programme, a line, a form, a call. Out: settings that are known to be good, or one
problem for each that is not; no value is quoted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from discreet.errors import Problem


class Settings(BaseModel):
    """What a method can be told: nothing unknown, nothing converted, nothing changed later."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def refused(what: str, hint: str = "") -> PydanticCustomError:
    """The error that a validator of settings raises."""
    return PydanticCustomError("settings", "{what}", {"what": what, "hint": hint})


def setting_problems(error: ValidationError, place: Sequence[str] = ()) -> list[Problem]:
    """What is wrong with settings, each with its place, without what was sent.

    >>> class Wheels(Settings):
    ...     number: int = 4
    >>> try:
    ...     Wheels(number="many")
    ... except ValidationError as error:
    ...     print(setting_problems(error)[0])
    number: Input should be a valid integer
    """
    problems = []
    for details in error.errors(include_input=False, include_url=False):
        context: dict[str, Any] = details.get("ctx", {})
        hint = str(context.get("hint", "")) if details["type"] == "settings" else ""
        where = ".".join([*place, *map(str, details["loc"])])
        problems.append(Problem(details["msg"], where, hint))
    return problems
