"""Records as a method takes them, what it draws for each, and records as it gives them back.

In: records of any engine, CONFIDENTIAL, and a secret. Out: `ChangedRecords`: the same kind of
frame with other values; what was changed, CONFIDENTIAL; a statement, which is public. A draw is
a fixed random function of secret, purpose and identifier: it depends on no order and no engine.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
import polars as pl
from pydantic import ValidationError

from discreet._version import __version__
from discreet.arrays import BoolArray, IntArray, starts
from discreet.confidential import without_values
from discreet.errors import MicrodataError, Problem, raise_all
from discreet.files import texts_of
from discreet.keygrid import KeyGrid
from discreet.microdata import (
    KeyFunction,
    Secret,
    check_identifiers,
    eager_columns,
    filter_failed,
    hand_over,
    identifier_texts,
    like,
    name_list,
    parse_filter,
    read_microdata,
    require_columns,
    unsupported,
)
from discreet.record_batches import ArrowStream, collected
from discreet.settings import Settings, setting_problems

_VERSION = "discreet anonymisation, version 1"
#: Draws are whole numbers from 0 to below this.
DRAWS = 10**15
_AT = "\0at"


@dataclass(frozen=True, kw_only=True, repr=False)
class ChangedRecords:
    """Result of a method on records.

    Args:
        records: The records with other values, as the kind of frame they came in.
        changes: What was changed. CONFIDENTIAL.
        measures: What the method did, in numbers. CONFIDENTIAL.
        statement: What was done, in English and German. Public.
        provenance: Method, version, and a keyed digest of its parameters. Public.
    """

    records: Any
    changes: pl.DataFrame
    measures: Mapping[str, Any]
    statement: Mapping[str, str]
    provenance: Mapping[str, str]

    def __repr__(self) -> str:
        return f"<ChangedRecords by {self.provenance['method']}: {self.changes.height:,} changes>"


class InputRecords:
    """Records in memory, whatever engine they came from, and what a method needs besides."""

    def __init__(
        self,
        source: Any,
        reading: Mapping[str, Any],
        *,
        id: str | Sequence[str] | None = None,  # noqa: A002 - the word users know
        secret: Any = None,
    ) -> None:
        self.original, self.reading, self._id, self.stated_secret = source, reading, id, secret

    @cached_property
    def _opened(self) -> Any:
        opened = read_microdata(self.original, **self.reading)
        if opened.implementation.is_pyspark():
            raise unsupported(opened)
        return opened

    @cached_property
    def frame(self) -> nw.DataFrame[Any]:
        """The records."""
        opened = self._opened
        if isinstance(opened, nw.DataFrame):
            return opened
        return nw.from_native(collected(opened), eager_only=True)

    @property
    def ids(self) -> list[str]:
        """The columns that identify a record; none if none are named."""
        return name_list(self._id, "id") if self._id else []

    def identifiers(self, changed: Sequence[str]) -> pl.DataFrame:
        """Columns that identify each record; they do not change."""
        if not self.ids:
            message, hint = "name the columns that identify a record", 'id="person_id"'
            raise MicrodataError(message, code="columns", where="id", hint=hint)
        if set(changed) & set(self.ids):
            message = "a variable that changes cannot be an identifier or a stratum"
            raise MicrodataError(message, code="columns", where=", ".join(changed))
        self.columns(changed)
        check_identifiers(self.frame, self.ids)
        return self.columns(self.ids)

    @cached_property
    def secret(self) -> Secret:
        """Source of the draws. SECRET."""
        if self.stated_secret is None:
            message, hint = "a secret is required", "create one with: discreet keys secret"
            raise MicrodataError(message, code="secret", where="secret", hint=hint)
        return Secret.of(self.stated_secret)

    def columns(self, names: Sequence[str]) -> pl.DataFrame:
        """Columns, as polars."""
        require_columns(self.frame, names)
        return eager_columns(self.frame, names)

    def with_taken(
        self,
        rows: Mapping[str, IntArray],
        source: IntArray | None = None,
        last: Mapping[str, pl.Series] | None = None,
    ) -> Any:
        """The records where each named column has its values from other rows."""
        whole = self.frame if source is None else nw.maybe_reset_index(self.frame[source])
        whole = whole.with_columns(*(self.frame[name][at] for name, at in rows.items()))
        return self._as_it_came(_with_last(whole, last or {}), {*rows, *(last or {})})

    def with_values(self, values: Mapping[str, pl.Series], drop: Sequence[str] = ()) -> Any:
        """The records with columns of other values, and without some columns."""
        new, kind = pl.DataFrame(dict(values)), self.frame.implementation
        native = (
            new.to_pandas() if kind.is_pandas() else new.to_arrow() if kind.is_pyarrow() else new
        )
        columns = nw.from_native(native, eager_only=True)
        whole = self.frame.with_columns(*(columns[name] for name in values)).drop(*drop)
        return self._as_it_came(whole, set(values))

    def _as_it_came(self, frame: nw.DataFrame[Any], names: Set[str]) -> Any:
        """The frame as its kind; columns that list their codes list none that was lost.

        A column whose codes all still occur stays as it came: its list tells of no change.
        """
        native: Any = frame.to_native()
        for name in [name for name in frame.columns if name in names & set(self.frame.columns)]:
            before, after = (set(item[name].unique().to_list()) for item in (self.frame, frame))
            if not before - after - {None}:
                continue
            if frame.implementation.is_pandas() and frame.schema[name] in (nw.Categorical, nw.Enum):
                native = native.assign(**{name: native[name].cat.remove_unused_categories()})
            elif frame.implementation.is_pyarrow() and frame.schema[name] == nw.Categorical:
                field = native.schema.field(name)
                plain = native[name].cast(field.type.value_type).combine_chunks()
                place = native.schema.get_field_index(name)
                coded = plain.dictionary_encode().cast(field.type)
                native = native.set_column(place, field, coded)
            elif frame.schema[name] == nw.Enum:
                codes = native[name].dtype.categories
                own = codes.filter(codes.is_in(native[name].cast(pl.String).unique()))
                native = native.with_columns(pl.col(name).cast(pl.Enum(own)))
        if self._opened.implementation.is_polars() and isinstance(self._opened, nw.LazyFrame):
            native = native.lazy()
        elif isinstance(self._opened, nw.LazyFrame):
            stream = ArrowStream(native)  # DuckDB looks for this name
            relation = self._opened.to_native()
            named = hand_over(relation, stream) or "stream"
            native = relation.query("discreet_records", f"select * from {named}")  # noqa: S608
        return like(nw.from_native(native), self.original)


def _with_last(frame: nw.DataFrame[Any], last: Mapping[str, pl.Series]) -> nw.DataFrame[Any]:
    """The frame with other values at the end of columns."""
    number = len(next(iter(last.values()), ()))
    if not number:
        return frame
    schema, backend = frame.schema, frame.implementation
    begin, end = frame[: len(frame) - number], frame[len(frame) - number :]
    new = [
        nw.new_series(name, values.to_list(), schema[name], backend=backend)
        for name, values in last.items()
    ]
    end = end.with_columns(*new)
    if backend.is_pyarrow():  # where texts are of two kinds
        end = nw.from_native(end.to_native().cast(begin.to_native().schema), eager_only=True)
    return nw.concat([begin, end])


Chosen = TypeVar("Chosen", bound=Settings)
Result = TypeVar("Result")


def record_method(
    kind: type[Chosen],
) -> Callable[[Callable[[InputRecords, Chosen], Result]], Callable[..., Result]]:
    """Make a method on records of a function over held records and settings.

    Callers give a source, the options of the settings (the first one needs no name) or settings
    that were made already, `id` and `secret`, and how a file is to be read.
    """
    known = list(kind.model_fields)

    def made(function: Callable[[InputRecords, Chosen], Result]) -> Callable[..., Result]:
        name = function.__name__

        def method(
            source: Any,
            *first: Any,
            id: str | Sequence[str] | None = None,  # noqa: A002 - the word users know
            secret: Any = None,
            **options: Any,
        ) -> Result:
            if first and isinstance(first[0], kind):
                settings = first[0]
            else:
                options |= dict(zip(known, first, strict=False))
                own = {option: options.pop(option) for option in known if option in options}
                problems = []
                try:
                    settings = kind.model_validate(own)
                except ValidationError as error:
                    problems = setting_problems(error, known=known)
                raise_all(MicrodataError, problems, code=name.replace("_", "-"))
            return function(InputRecords(source, options, id=id, secret=secret), settings)

        one = inspect.Parameter
        shown = [one("source", one.POSITIONAL_ONLY)]
        for option, item in kind.model_fields.items():
            usual = one.empty if item.is_required() else item.get_default(call_default_factory=True)
            shown.append(one(option, one.POSITIONAL_OR_KEYWORD, default=usual))
        shown += [one(name_, one.KEYWORD_ONLY, default=None) for name_ in ("id", "secret")]
        shown.append(one("reading", one.VAR_KEYWORD))
        method.__name__ = method.__qualname__ = name
        method.__module__, method.__doc__ = function.__module__, function.__doc__
        method.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        return without_values(method)

    return made


def draws(ids: pl.DataFrame, secret: Secret, purpose: str, size: int = DRAWS) -> IntArray:
    """A whole number from 0 to below `size` for each identifier.

    >>> secret = Secret.of("a long and secret sentence")
    >>> texts = draws(pl.DataFrame({"id": ["1", "b"]}), secret, "example")
    >>> bool(texts[0] == draws(pl.DataFrame({"id": [1]}), secret, "example")[0])
    True
    """
    text = f"{_VERSION}; {purpose}; id columns {ids.width}"
    function = KeyFunction(secret.derive(text), KeyGrid(size))
    if ids.width == 1 and ids.dtypes[0].is_integer():
        numbers = ids.to_series().cast(pl.Int64)
        if (numbers.min() or 0) >= 0:  # type: ignore[operator]
            return function.of_numbers(numbers.to_numpy())
    texts = identifier_texts(ids.cast(pl.String))
    numbers = texts.cast(pl.Int64, strict=False)
    whole = ((numbers.cast(pl.String) == texts) & (numbers >= 0)).fill_null(value=False)
    drawn = function.of_numbers(numbers.fill_null(0).to_numpy())
    if not whole.all():
        drawn[~whole.to_numpy()] = function(texts.filter(~whole))
    return drawn


def coded(columns: pl.DataFrame) -> tuple[IntArray, pl.DataFrame]:
    """Each row's place among the combinations that occur, in their order; -1 if one is missing.

    >>> coded(pl.DataFrame({"sex": ["m", None, "f"]}))[0].tolist()
    [1, -1, 0]
    """
    plain = columns.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    names = plain.columns
    frame = plain.unique().drop_nulls().sort(names)
    at = plain.join(frame.with_row_index(_AT), on=names, how="left", maintain_order="left")[_AT]
    return at.cast(pl.Int64).fill_null(-1).to_numpy(), frame


def places(columns: pl.DataFrame) -> IntArray:
    """Positions of codes, with a code of its own for missing values.

    >>> places(pl.DataFrame({"sex": ["m", None, "f"]})).tolist()
    [1, 2, 0]
    """
    texts = columns.with_columns(pl.all().cast(pl.String))
    return coded(texts.with_columns((pl.lit("=") + pl.all()).name.keep().fill_null("missing")))[0]


def places_within(groups: IntArray) -> IntArray:
    """The place of each entry among those of its group."""
    order = np.argsort(groups, kind="stable")
    sizes = np.unique(groups, return_counts=True)[1]
    place = np.empty(len(groups), dtype=np.int64)
    place[order] = np.arange(len(groups)) - np.repeat(starts(sizes)[:-1], sizes)
    return place


def paired(one: IntArray, other: IntArray) -> tuple[IntArray, IntArray]:
    """Places of entries of both that are paired: the first of each number, the second, …"""
    step = max(len(one), len(other)) + 1
    both = np.unique(np.concatenate([one, other]), return_inverse=True)[1] * step
    here, there = both[: len(one)], both[len(one) :]
    return np.intersect1d(
        here + places_within(one), there + places_within(other),
        assume_unique=True, return_indices=True,
    )[1:]  # fmt: skip


def check_codes(records: InputRecords, names: Sequence[str]) -> None:
    """Raise an error unless all columns hold codes: whole numbers, texts, dates, truth values."""
    types = records.columns(list(dict.fromkeys(names))).schema
    problems = [
        Problem(
            f"a column of {kind} cannot be recoded", name, "convert them to whole numbers or text"
        )
        for name, kind in types.items()
        if kind.is_float() or kind.is_nested() or kind.is_decimal()
    ]
    raise_all(MicrodataError, problems, code="column-type")


def strata(records: InputRecords, names: Sequence[str]) -> IntArray:
    """Each record's stratum; what is missing is a stratum of its own."""
    if not names:
        return np.zeros(len(records.frame), dtype=np.int64)
    check_codes(records, names)
    return places(records.columns(names))


def impossible(rows: pl.DataFrame, conditions: Sequence[str]) -> BoolArray:
    """Which rows meet a condition of what cannot occur; no comparison holds of a missing value.

    >>> people = pl.DataFrame({"age": [9, 40], "status": ["married", "married"]})
    >>> impossible(people, ["age < 15 and status == 'married'"]).tolist()
    [True, False]
    """
    frame = nw.from_native(rows, eager_only=True)
    mask = np.zeros(len(frame), dtype=np.bool_)
    for text in conditions:
        condition = parse_filter(text)
        condition.check(frame.schema)
        try:
            chosen = frame.select(condition.to_narwhals(frame.schema)).to_native().to_series()
        except Exception as error:
            raise filter_failed(error) from None
        mask |= chosen.fill_null(value=False).to_numpy()
    return mask


def done(
    method: str, records: Any, changes: pl.DataFrame, secret: Secret | None,
    *, measures: Mapping[str, Any], parameters: Mapping[str, Any], told: Mapping[str, Any],
) -> ChangedRecords:  # fmt: skip
    """The result of a method; what it says to readers is in words.toml.

    Without a secret there is no digest of parameters: these could be found by trial.
    """
    text = json.dumps(parameters, sort_keys=True, default=str)
    digest = ""
    if secret is not None:
        digest = secret.derive(f"{_VERSION}; parameters of {method}; {text}").hex()[:32]
    return ChangedRecords(
        records=records,
        changes=changes,
        measures=measures,
        statement={
            language: texts_of("discreet.pretabular", method, language)["done"].format(**told)
            for language in ("en", "de")
        },
        provenance={"method": method, "version": __version__, "parameters": digest},
    )
