"""Settings: what a method can be told, declared once as a frozen model in the method's folder.

In: values from a programme, a line, a form, a call. Out: settings that are known to be good, or one
problem for each that is not; no value is quoted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from discreet.errors import Problem


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
    return [value] if isinstance(value, str) else value


Text = Annotated[str, StringConstraints(min_length=1)]
NameList = Annotated[list[Text], BeforeValidator(name_list), Field(min_length=1)]
Number = Annotated[Any, BeforeValidator(number)]
Limit = Annotated[Any, Field(ge=0), BeforeValidator(number)]
Positive = Annotated[Any, Field(gt=0), BeforeValidator(number)]
Count = Annotated[int, Field(ge=1)]


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
