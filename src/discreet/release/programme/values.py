"""What the values of single keys of a programme may be, besides what their types say.

In: values as they stand in the TOML. Out: the same in the form that the schema has, or an error
that pydantic places at the key. Nothing here is confidential.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from typing import Any, Literal, get_args

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from discreet.errors import DiscreetError
from discreet.keygrid import KeyGrid
from discreet.microdata import form_of
from discreet.settings import is_number, name_list

Language = Literal["en", "de"]

LANGUAGES: tuple[str, ...] = get_args(Language)


def texts(value: Any) -> Any:
    """A bare text stands for every language."""
    return {"en": value} if isinstance(value, str) else value


def language(value: str) -> str:
    """A language of publication."""
    if value not in LANGUAGES:
        hint = {"hint": f"known: {', '.join(LANGUAGES)}"}
        raise PydanticCustomError("language", "this is not a language of publication", hint)
    return value


def key_grid(value: Any) -> Any:
    """A key grid, as a number or a power."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("grid", "a key grid is a number or a power such as '10^15'")
    try:
        return KeyGrid.of(value)
    except DiscreetError as error:
        hint = {"hint": error.hint.replace("{", "(").replace("}", ")")}
        raise PydanticCustomError("grid", "this is not a key grid", hint) from None


def bound(value: Any) -> Any:
    """A number, infinite perhaps."""
    if not is_number(value) or value != value:
        raise PydanticCustomError("bound", "must be a number")
    return value


def one_of(names: Callable[[], Iterable[str]]) -> BeforeValidator:
    """One of names that are known when a programme is read."""

    def known(value: Any) -> Any:
        found = list(names())
        if value not in found:
            hint = {"hint": f"known: {', '.join(found)}"}
            raise PydanticCustomError("unknown", "this value is not known", hint)
        return value

    return BeforeValidator(known)


def date(value: Any) -> Any:
    """A date, as a text."""
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        try:
            datetime.datetime.fromisoformat(value)
        except ValueError:
            hint = {"hint": 'write it as "2026-11-21"'}
            raise PydanticCustomError("date", "this is not a date", hint) from None
    return value


def rule_mistake(value: Any) -> str | PydanticCustomError:
    """What is wrong with a rule: it is a number, numbers, a table of keys, or a list of these."""
    if not is_number(value) and not isinstance(value, list | dict):
        hint = {"hint": "a number, a list of numbers, or a table of keys"}
        return PydanticCustomError("rule", "this is no rule", hint)
    return ""


def share(value: Any) -> Any:
    """A share of a value, or "none" for no bound."""
    if value == "none":
        return value
    if not is_number(value) or not 0 <= value < float("inf"):
        raise PydanticCustomError("share", "must be a number of at least 0, or 'none'")
    return value


def change(value: Any) -> Any:
    """A share by which values may have changed, "any", or "refuse" for none."""
    if value in ("refuse", "any"):
        return value
    if not is_number(value) or not 0 <= value < float("inf"):
        raise PydanticCustomError("change", "must be a number of at least 0, 'any' or 'refuse'")
    return value


def cost_entry(value: Any) -> Any:
    """A bare text stands for what the cost is of."""
    return {"of": value} if isinstance(value, str) else value


def marks(value: Any) -> Any:
    """The name of a file stands for the marks in it."""
    items = name_list(value)
    if not isinstance(items, list):
        return items
    return [{"file": item} if isinstance(item, str) else item for item in items]


def intervals(value: Any) -> Any:
    """Whether intervals are printed, beside figures or instead of them."""
    if value is not True and value is not False and value != "instead":
        raise PydanticCustomError("intervals", "must be true, false or 'instead'")
    return value


def reading_option(key: str) -> BeforeValidator:
    """What `ReadingOptions` takes for a key."""

    def formed(value: Any) -> Any:
        if wrong := form_of(key, value):
            raise PydanticCustomError("reading", "this is not what is needed here", {"hint": wrong})
        return value

    return BeforeValidator(formed)


def class_breaks(value: Any) -> Any:
    """How classes are made, or their bounds."""
    if isinstance(value, str) and value in ("quantiles", "equal"):
        return value
    numbers = isinstance(value, list) and all(is_number(item) for item in value)
    if not numbers or not 1 <= len(value) <= 8 or sorted(set(value)) != value:
        hint = {"hint": "such as [0, 100, 1000], at most eight bounds that grow"}
        raise PydanticCustomError("breaks", "must be 'quantiles', 'equal' or bounds", hint)
    return value
