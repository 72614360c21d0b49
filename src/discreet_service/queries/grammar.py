"""`TableQuery`: the closed grammar of queries, without expressions, ranges of raw values or groups
of one's own. One error lists all that is wrong with the form, with its places.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from discreet.errors import Problem, nearest
from discreet_service.problems import ServiceError

#: Variables in one query, codes in one list, figures in one table.
MOST_VARIABLES, MOST_CODES, MOST_MEASURES = 12, 70_000, 20
_MOST_TOLD = 20

_Word = Annotated[str, StringConstraints(min_length=1, max_length=200)]


def _several(value: Any) -> Any:
    """One stands for a list of one."""
    return (
        [value] if isinstance(value, str | int | float) and not isinstance(value, bool) else value
    )


_Level = Annotated[int, Field(strict=True, ge=1, le=100)] | _Word
_Levels = Annotated[list[_Level], BeforeValidator(_several), Field(min_length=1, max_length=20)]
_Codes = Annotated[
    list[_Word], BeforeValidator(_several), Field(min_length=1, max_length=MOST_CODES)
]
_Names = Annotated[
    list[_Word], BeforeValidator(_several), Field(min_length=1, max_length=MOST_VARIABLES)
]


#: The shares of a quantile: 0.25 is the lower quartile.
_Places = Annotated[
    list[Annotated[float, Field(gt=0, lt=1)]],
    BeforeValidator(_several),
    Field(min_length=1, max_length=99),
]
#: What one member of `measures` may be.
MeasureKind = Literal["sum", "mean", "share", "median", "quantile", "figure"]
MEASURES: tuple[MeasureKind, ...] = ("sum", "mean", "share", "median", "quantile", "figure")


class QueryEntry(BaseModel):
    """A part of a query: unknown members are mistakes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SpanningEntry(QueryEntry):
    """A member of `by`: a variable, some of its levels, some of their codes."""

    variable: _Word
    level: _Levels | None = None  # A level by name or number, or several; the finest if left out
    codes: _Codes | None = None  # The codes to show, all of them on the levels; all if left out
    within: _Codes | None = None  # Show only what lies in these codes, of any level

    @model_validator(mode="before")
    @classmethod
    def _of_name(cls, value: Any) -> Any:
        return {"variable": value} if isinstance(value, str) else value


class FilterEntry(QueryEntry):
    """A member of `where`: a variable and codes of one of its levels, any of which will do."""

    variable: _Word
    codes: _Codes
    level: _Level | None = None  # Their level by name or number; found out if left out


class MeasureEntry(QueryEntry):
    """A member of `measures`: one of these."""

    sum: _Word | None = None  # A value column
    mean: _Word | None = None  # A value column
    share: _Word | None = None  # "count" or a counted figure of the unit, as a share over variables
    over: _Names | None = None  # For a share, the variables whose codes add up to one
    median: _Word | None = None  # A variable whose codes are classes of a number
    quantile: _Word | None = None  # The same
    at: _Places | None = None  # For a quantile, the share of records that lies below it
    figure: _Word | None = None  # A figure that the unit offers

    @model_validator(mode="before")
    @classmethod
    def _of_name(cls, value: Any) -> Any:
        return {"figure": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one(self) -> MeasureEntry:
        if len([name for name in MEASURES if getattr(self, name)]) != 1:
            raise PydanticCustomError("measure", f"exactly one of {', '.join(MEASURES)}")
        if (self.at is not None) != (self.quantile is not None):
            raise PydanticCustomError("measure", "only a quantile needs at, and it must have it")
        if (self.over is not None) != (self.share is not None):
            raise PydanticCustomError("measure", "only a share needs over, and it must have it")
        return self


class TableQuery(QueryEntry):
    """A table that somebody asks for.

    >>> query = read_query({"by": ["sex", {"variable": "age", "level": 1}]})
    >>> [entry.variable for entry in query.by], query.totals
    (['sex', 'age'], 'all')
    """

    unit: _Word | None = None  # What is counted; may be left out where there is one unit only
    # What spans the table
    by: Annotated[list[SpanningEntry], Field(max_length=MOST_VARIABLES)] = Field(
        default_factory=list
    )
    # Which records count: all of the conditions hold
    where: Annotated[list[FilterEntry], Field(max_length=MOST_VARIABLES)] = Field(
        default_factory=list
    )
    # Figures; the number of records if left out
    measures: Annotated[list[MeasureEntry], Field(min_length=1, max_length=MOST_MEASURES)] = Field(
        default_factory=lambda: [MeasureEntry(figure="count")]
    )
    # "all", "none", or the variables that get a total
    totals: Literal["all", "none"] | list[_Word] = "all"
    version: _Word | None = None  # The version of the data; the latest if left out
    dataset: _Word | None = None  # The data set, if the address does not say it
    format: _Word | None = None  # The format of the answer
    language: Literal["en", "de"] | None = None  # The language of labels


_KINDS = {
    "missing": "required",
    "string_type": "must be a text",
    "list_type": "must be a list",
    "model_type": "must be an object with members",
    "model_attributes_type": "must be an object with members",
    "int_type": "must be a whole number",
    "string_too_short": "must not be empty",
    "string_too_long": "longer than {max_length} characters",
    "too_short": "at least {min_length} required",
    "too_long": "at most {max_length} allowed",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "less_than": "must be below {lt}",
    "float_type": "must be a number",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
}
#: Steps by which pydantic tells alternatives apart; no member is called so.
_UNIONS = re.compile(r"(list\[|constrained-|function-|literal\[|int$|str$)")


def read_query(document: Any) -> TableQuery:
    """A query from parsed JSON, or everything that is wrong with its form.

    >>> read_query({"wher": ["sex"], "measures": []})
    Traceback (most recent call last):
        ...
    discreet_service.problems.ServiceError: [invalid-query] 2 problems with this query
      1. measures: at least 1 required
      2. wher: unknown member
      Hint: closest match: 'where'
    """
    try:
        return TableQuery.model_validate(document)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False, include_context=True)
    raise refused(list(dict.fromkeys(_problem(item) for item in errors)))


def refused(problems: Sequence[Problem], code: str = "invalid-query") -> ServiceError:
    """The error that lists what is wrong with a query."""
    many = f"{len(problems)} problems with this query"
    used = "invalid-query" if problems[1:] else code
    return ServiceError.of(problems[:_MOST_TOLD], many, code=used)


def _problem(details: ErrorDetails) -> Problem:
    kind, context, steps = details["type"], details.get("ctx", {}), details["loc"]
    unknown = kind == "extra_forbidden"
    path = [
        step
        for step in (steps[:-1] if unknown else steps)
        if not (isinstance(step, str) and bool(_UNIONS.match(step)))
    ]
    if unknown:
        shown = str(steps[-1])[:40].encode("utf-8", "replace").decode()
        form = _FORMS.get(str(path[0]), TableQuery) if path else TableQuery
        hint = nearest(shown, list(form.model_fields))
        return Problem("unknown member", place([*path, shown]), hint)
    message = _KINDS[kind].format(**context) if kind in _KINDS else details["msg"]
    return Problem(message, place(path))


_FORMS: Mapping[str, type[QueryEntry]] = {
    "by": SpanningEntry,
    "where": FilterEntry,
    "measures": MeasureEntry,
}


def place(path: Iterable[int | str]) -> str:
    """A place in a query as it is written: by[1].level.

    >>> place(["by", 1, "level"])
    'by[1].level'
    """
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
