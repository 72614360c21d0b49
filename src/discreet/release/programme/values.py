"""What single keys of a programme may hold, besides what their types say.

In: values as they stand in the TOML. Out: the same in the form that the schema has, or an error
that pydantic places at the key; what is checked of a key once its section has its form. Nothing
here is confidential.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Literal, LiteralString, NamedTuple, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError
from pydantic_core.core_schema import no_info_plain_validator_function

from discreet.errors import DiscreetError, nearest
from discreet.keygrid import KeyGrid
from discreet.microdata import form_of
from discreet.publication import NAMED_BREAKS
from discreet.settings import Count, Settings, Text, is_number, name_list, refused

Language = Literal["en", "de"]
LANGUAGES: tuple[str, ...] = get_args(Language)


@dataclass(frozen=True, kw_only=True)
class Key:
    """Check of a key once its section is well-formed."""

    needed: str | None = None  # it cannot be left out; the hint
    beside: str = ""  # it goes with this key of its section only
    once: bool = False  # its names differ
    file: bool = False  # it names files that can be read
    folder: bool = False  # it names folders, or files
    pattern: bool = False  # it names files by a pattern, or one by a URL
    variable: bool = False  # it names a variable of the environment
    filter: bool = False  # it is a filter of records


class _WhenStated:
    """Mark of a section whose form is made ready when a programme has it: most have few."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        config = None if hasattr(source, "model_config") else ConfigDict(strict=True)
        form = cache(lambda: TypeAdapter(source, config=config))
        return no_info_plain_validator_function(lambda value: form().validate_python(value))


_Section = TypeVar("_Section")
Stated = Annotated[_Section, _WhenStated()]


class Mistake(NamedTuple):
    """Problem of a single section."""

    key: str | tuple[str | int, ...]  # its key, as seen from the section
    what: str
    hint: str = ""
    #: Keys that decide whether it is one: none of them was reported before
    about: Sequence[str | tuple[str | int, ...]] = ()


def valid(fits: Callable[[Any], bool], message: str, hint: str = "") -> BeforeValidator:
    """Nothing but values that fit."""

    def checked(value: Any) -> Any:
        if not fits(value):
            raise PydanticCustomError("value", message, {"hint": hint})
        return value

    return BeforeValidator(checked)


def _finite(value: Any) -> bool:
    return is_number(value) and abs(value) < float("inf")


def _language(value: str) -> str:
    if value not in LANGUAGES:
        hint = {"hint": f"known: {', '.join(LANGUAGES)}"}
        raise PydanticCustomError("language", "unknown language of publication", hint)
    return value


def _key_grid(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("grid", "write a number or a power such as '10^15'")
    try:
        return KeyGrid.of(value)
    except DiscreetError as error:
        hint = {"hint": error.hint.replace("{", "(").replace("}", ")")}
        raise PydanticCustomError("grid", "not a key grid", hint) from None


def _date(value: Any) -> Any:
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        try:
            datetime.datetime.fromisoformat(value)
        except ValueError:
            hint = {"hint": 'write it as "2026-11-21"'}
            raise PydanticCustomError("date", "not a date", hint) from None
    return value


def _moment(value: Any) -> Any:
    """A time with its zone: everybody must know when it is."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = datetime.datetime.fromisoformat(value)
    if not isinstance(value, datetime.datetime) or value.tzinfo is None:
        hint = {"hint": 'write it as "2026-12-15T09:30+01:00"'}
        raise PydanticCustomError("moment", "must be a time with its time zone", hint)
    return value.isoformat(timespec="minutes")


def _marks(value: Any) -> Any:
    """The name of a file stands for the marks in it."""
    items = name_list(value)
    if not isinstance(items, list):
        return items
    return [{"file": item} if isinstance(item, str) else item for item in items]


def one_of(names: Callable[[], Iterable[str]]) -> BeforeValidator:
    """One of names that are known when a programme is read."""

    def known(value: Any) -> Any:
        if value not in (every := list(names())):
            hint = {"hint": f"known: {', '.join(every)}"}
            raise PydanticCustomError("unknown", "unknown value", hint)
        return value

    return BeforeValidator(known)


def _is_breaks(value: Any) -> bool:
    if not isinstance(value, list):
        return value in NAMED_BREAKS
    return (
        1 <= len(value) <= 8
        and all(map(is_number, value))
        and all(low < high for low, high in pairwise(value))
    )


def reading_option(key: str) -> BeforeValidator:
    """Value of a key for `ReadingOptions`."""

    def formed(value: Any) -> Any:
        if hint := form_of(key, value):
            raise PydanticCustomError("reading", "wrong type of value", {"hint": hint})
        return value

    return BeforeValidator(formed)


def _in_english(value: Any) -> Any:
    """A bare text stands for every language."""
    if isinstance(value, str):
        return {"en": value}
    if not isinstance(value, Mapping):
        raise refused(
            "must be a text, or a table of languages", '{ en = "Persons", de = "Personen" }'
        )
    return value


LanguageKey = Annotated[str, AfterValidator(_language)]
Languages = Annotated[list[Language], Field(min_length=1)]
Texts = Annotated[dict[LanguageKey, str], BeforeValidator(_in_english)]
Grid = Annotated[KeyGrid, BeforeValidator(_key_grid), PlainSerializer(lambda grid: grid.size)]
Bound = Annotated[Any, valid(lambda value: is_number(value) and value == value, "must be a number")]
#: A share of a value, or "none" for no bound.
Share = Annotated[
    Any,
    valid(
        lambda value: value == "none" or (_finite(value) and value >= 0),
        "must be a number of at least 0, or 'none'",
    ),
]
#: A share by which values may have changed, "any", or "refuse" for none.
Change = Annotated[
    Any,
    valid(
        lambda value: value in ("refuse", "any") or (_finite(value) and value >= 0),
        "must be a number of at least 0, 'any' or 'refuse'",
    ),
]
#: How classes are made, or their bounds.
Breaks = Annotated[
    Any,
    valid(
        _is_breaks,
        f"must be one of {', '.join(NAMED_BREAKS)}, or bounds",
        "for example [0, 100, 1000], at most eight increasing bounds",
    ),
]
Decimals = Annotated[int, Field(ge=0, le=15)]
Date = Annotated[str | None, BeforeValidator(_date)]
Moment = Annotated[str | None, BeforeValidator(_moment)]
#: A level of areas, by its name or its number from the coarsest, 1, on.
AreaLevel = Text | Count
MARKS = BeforeValidator(_marks)
#: A key that may be left out, and names a file.
File = Annotated[Text | None, Key(file=True)]
#: A key that may be left out, and names a variable of the environment.
Variable = Annotated[Text | None, Key(variable=True)]


class ProgrammeEntry(Settings):
    """A section of a programme, or an entry in one: unknown keys are mistakes."""

    # Most commands use few sections: each is made ready when it is used first.
    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        if cls.model_config.get("extra") == "forbid":
            refuse_unknown(cls, value)
        return value

    @classmethod
    def names(cls) -> list[str]:
        """The keys that it may have."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    def mistakes(self) -> Iterable[Mistake]:
        """Problems of the section besides those of single keys."""
        return ()

    def filled(self, *keys: str) -> list[str]:
        """The keys among these that have a value."""
        return [key for key in keys if getattr(self, key) is not None]


def refuse_keys(form: type[ProgrammeEntry], errors: Mapping[str, PydanticCustomError]) -> None:
    """Raise one error for keys that cannot stand in a section."""
    wrong = [InitErrorDetails(type=error, loc=(key,), input=None) for key, error in errors.items()]
    if wrong:
        raise ValidationError.from_exception_data(form.__name__, wrong)


def refuse_unknown(
    form: type[ProgrammeEntry], value: Any, what: LiteralString = "unknown key"
) -> None:
    """Raise one error for keys that a section does not have."""
    names = form.names()
    unknown = [key for key in value if key not in names] if isinstance(value, dict) else ()
    hints = {key: {"hint": nearest(str(key), names)} for key in unknown}
    refuse_keys(form, {k: PydanticCustomError("unknown_key", what, hints[k]) for k in unknown})


def both_secrets(entry: Any) -> Iterator[Mistake]:
    """That a section states two secrets."""
    if entry.secret_file and entry.secret_env:
        yield Mistake("secret_env", "secret_file and secret_env exclude each other")
