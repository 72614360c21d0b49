"""The kinds of values that stand in a programme file.

In: what TOML gives. Out: checked values, or an error that pydantic places at its key.
Nothing here is confidential.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
)
from pydantic_core import PydanticCustomError

from discreet.errors import DiscreetError
from discreet.keygrid import KeyGrid

__all__ = [
    "LANGUAGES",
    "Bound",
    "Count",
    "Date",
    "Decimals",
    "Entry",
    "Grid",
    "Language",
    "Limit",
    "Names",
    "Number",
    "Positive",
    "Text",
    "Texts",
]

Language = Literal["en", "de"]

LANGUAGES: tuple[str, ...] = get_args(Language)


def _texts(value: Any) -> Any:
    """A bare text stands for every language."""
    return {"en": value} if isinstance(value, str) else value


def _language(value: str) -> str:
    if value not in LANGUAGES:
        hint = {"hint": f"known: {', '.join(LANGUAGES)}"}
        raise PydanticCustomError("language", "this is not a language of publication", hint)
    return value


def _names(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _grid(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("grid", "a key grid is a number or a power such as '10^15'")
    try:
        return KeyGrid.of(value)
    except DiscreetError as error:
        hint = {"hint": error.hint.replace("{", "(").replace("}", ")")}
        raise PydanticCustomError("grid", "this is not a key grid", hint) from None


def _number(value: Any) -> Any:
    """A finite number, whole or not, as it is written."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not plain or not abs(value) < float("inf"):
        raise PydanticCustomError("number", "must be a number")
    return value


def _bound(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise PydanticCustomError("bound", "must be a number")
    return value


def _not_negative(value: Any) -> Any:
    if value < 0:
        raise PydanticCustomError("limit", "must be at least 0")
    return value


def _positive(value: Any) -> Any:
    if value <= 0:
        raise PydanticCustomError("positive", "must be above 0")
    return value


def _date(value: Any) -> Any:
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        try:
            datetime.datetime.fromisoformat(value)
        except ValueError:
            hint = {"hint": 'write it as "2026-11-21"'}
            raise PydanticCustomError("date", "this is not a date", hint) from None
    return value


Text = Annotated[str, StringConstraints(min_length=1)]
LanguageKey = Annotated[str, AfterValidator(_language)]
Texts = Annotated[dict[LanguageKey, str], BeforeValidator(_texts)]
Names = Annotated[list[Text], BeforeValidator(_names), Field(min_length=1)]
Grid = Annotated[KeyGrid, BeforeValidator(_grid), PlainSerializer(lambda grid: grid.size)]
Bound = Annotated[Any, BeforeValidator(_bound)]
Number = Annotated[Any, BeforeValidator(_number)]
Limit = Annotated[Any, AfterValidator(_not_negative), BeforeValidator(_number)]
Positive = Annotated[Any, AfterValidator(_positive), BeforeValidator(_number)]
Count = Annotated[int, Field(ge=1)]
Decimals = Annotated[int, Field(ge=0, le=15)]
Date = Annotated[str | None, BeforeValidator(_date)]


class Entry(BaseModel):
    """A section of a programme, or an entry in one: unknown keys are mistakes."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True
    )
