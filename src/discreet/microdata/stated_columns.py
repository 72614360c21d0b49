"""Columns as users state them: renamed, trimmed, recoded, without null values, of a type.

In: records of any engine, and `ReadingOptions`. Out: the same records as they are meant, or an
error that names the row and column of the first value that is not what was stated, never the
value unless that was asked for. What is stated acts the same on every engine. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import polars as pl

from discreet.errors import MicrodataError, Problem, raise_all
from discreet.files import toml_key
from discreet.microdata.frames import NarwhalsFrame
from discreet.microdata.reading_options import ReadingOptions
from discreet.microdata.text_types import NumberSpelling, as_type, parsed, types_of

#: Blanks that are trimmed; every engine knows others by itself.
BLANKS = " \t\r\n\x0b\x0c\u00a0\u2007\u202f\u3000\ufeff"

#: Where a value stands: number of its record from 0, and its column.
Place = Callable[[int, str], str]

_TEXTS = (nw.String, nw.Categorical, nw.Enum)
_ROW = "discreet_row"


def record_place(where: str) -> Place:
    """Places in files whose records have no lines."""
    return lambda row, column: f"{where}, record {row + 1:,}, column {column!r}"


def adapted(records: NarwhalsFrame, options: ReadingOptions, where: str) -> NarwhalsFrame:
    """The records with columns renamed, trimmed, without null values, and recoded."""
    known = records.collect_schema().names()
    _check_names(known, options, where)
    if options.rename:
        records = records.rename(dict(options.rename))
    schema = records.collect_schema()
    changed = []
    for name, kind in schema.items():
        column = _adapted(name, kind, options)
        if column is not None:
            changed.append(column.alias(name))
    return records.with_columns(*changed) if changed else records


def _check_names(known: Sequence[str], options: ReadingOptions, where: str) -> None:
    """Raise one error for all columns that are named and not there, or there twice."""
    problems = []
    hint = f"columns: {', '.join(list(known)[:30])}"
    if any(_number(name) is not None for name in known):  # not listed: they may be values
        hint = "some names are numbers: if the first line is a record, add header = 0"
    problems += [
        Problem(f"column {name!r} to rename not found", "rename", hint)
        for name in options.rename
        if name not in known
    ]
    names = [options.rename.get(name, name) for name in known]
    problems += [
        Problem(f"after renaming, two columns have the name {name!r}", "rename")
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    for key, name in dict.fromkeys(options.named_columns()):
        if name not in names:
            renamed = options.rename.get(name)
            new = f"its name is {renamed!r} after renaming" if renamed else hint
            problems.append(Problem(f"column {name!r} not found", key, new))
    code, many = "missing-column", "{} options for columns do not fit"
    raise_all(MicrodataError, problems, code=code, many=many, where=where)


def _adapted(name: str, kind: Any, options: ReadingOptions) -> nw.Expr | None:
    """A column as it is meant; None if it stays as it is."""
    nulls, codes = options.missing(name), dict(options.recode.get(name, {}))
    if isinstance(kind, _TEXTS):
        if not (nulls or codes or options.trim):
            return None
        column = nw.col(name).cast(nw.String)
        if options.trim:
            column = column.str.strip_chars(BLANKS)
            nulls = [*nulls, ""]
        return _recoded(_without(column, nulls), codes)
    if codes:
        if not kind.is_integer():
            message = f"a column of type {type(kind).__name__} cannot be recoded"
            hint = "texts and whole numbers can be recoded; group others by intervals"
            raise MicrodataError(message, code="column-type", where=name, hint=hint)
        return _recoded(_without(nw.col(name).cast(nw.String), nulls), codes)
    numbers = [number for number in map(_number, nulls) if number is not None]
    if not numbers or not kind.is_numeric():
        return None
    if kind.is_integer():
        return _without(nw.col(name), [int(number) for number in numbers if number == int(number)])
    return _without(nw.col(name), numbers)


def _without(column: nw.Expr, values: Sequence[Any]) -> nw.Expr:
    """The column with null in place of some values."""
    return nw.when(~column.is_in(list(values))).then(column) if values else column


def _recoded(column: nw.Expr, codes: dict[str, str]) -> nw.Expr:
    column = _without(column, [old for old, new in codes.items() if new == ""])
    kept = {old: new for old, new in codes.items() if new != ""}
    if not kept:
        return column
    old, new = list(kept), list(kept.values())
    return column.replace_strict(old, new, default=column, return_dtype=nw.String)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True, kw_only=True, repr=False)
class StatedColumns:
    """A polars plan whose columns are given their types."""

    plan: pl.LazyFrame  # the records
    options: ReadingOptions  # what is stated
    place: Place  # where a value stands
    where: str  # the file
    found: bool  # whether the types of columns of texts are found out where none is stated

    @property
    def spelling(self) -> NumberSpelling:
        """Spelling of numbers in texts."""
        return NumberSpelling(self.options.decimal, self.options.thousands)

    def typed(self) -> pl.LazyFrame:
        """The plan with the types that are stated or found."""
        ready = adapted(nw.from_native(self.plan), self.options, self.where).to_native()
        assert isinstance(ready, pl.LazyFrame)
        schema = ready.collect_schema()
        stated = {name: kind for name in schema if (kind := self.options.kind(name))}
        columns = {name: self._stated(name, schema[name], kind) for name, kind in stated.items()}
        self._refuse_wrong(ready, columns, stated)
        free = [name for name in schema if name not in stated and schema[name] == pl.String]
        if self.found:
            self._refuse_ambiguous(ready, free)
            for name, dtype in types_of(ready, free, self.spelling).items():
                columns[name] = as_type(pl.col(name), dtype, self.spelling)
        return ready.with_columns(column.alias(name) for name, column in columns.items())

    def _stated(self, name: str, dtype: pl.DataType, kind: str) -> pl.Expr:
        """A column as what it is stated to be; null for a value that is not."""
        column = pl.col(name)
        if dtype in (pl.Categorical, pl.Enum):
            column, dtype = column.cast(pl.String), pl.String()
        if dtype == pl.String:
            return column if kind == "text" else parsed(column, kind, self.spelling)
        if dtype.is_numeric() and kind == "number":
            return column.cast(pl.Float64)
        if dtype.is_float() and kind in ("integer", "text"):
            whole = column.cast(pl.Int64, strict=False)
            whole = pl.when(whole.cast(pl.Float64) == column).then(whole)
            return whole.cast(pl.String) if kind == "text" else whole
        if dtype.is_integer() and kind == "integer":
            return column
        if kind == "text" and (dtype.is_integer() or dtype.is_temporal() or dtype == pl.Boolean):
            return column.cast(pl.String)
        if dtype.is_temporal() and kind == "date":
            return column.cast(pl.Date)
        message = f"a column of type {dtype} cannot be read as {kind}"
        hint = "remove the option, or convert the column before"
        raise MicrodataError(message, code="column-type", where=name, hint=hint)

    def _refuse_wrong(
        self, ready: pl.LazyFrame, columns: dict[str, pl.Expr], stated: dict[str, str]
    ) -> None:
        """Raise one error for all columns with values that are not what is stated of them."""
        bad = {
            name: pl.col(name).is_not_null() & column.is_null()
            for name, column in columns.items()
            if stated[name] != "text" or ready.collect_schema()[name].is_float()
        }
        problems = []
        for name, (number, row) in self._counted(ready, bad).items():
            base = stated[name].partition(":")[0]
            message = f"{number:,} {'value is' if number == 1 else 'values are'} no {_NOUNS[base]}"
            value = str(ready.select(name).slice(row, 1).collect().item())  # CONFIDENTIAL
            shown = f"; the first is {value!r}" if self.options.show_values else ""
            problems.append(
                Problem(
                    message + shown, self.place(row, name), self._hint(name, stated[name], value)
                )
            )
        many = "{} columns have values of another type than stated"
        raise_all(MicrodataError, problems, code="value-type", many=many)

    def _refuse_ambiguous(self, ready: pl.LazyFrame, names: Sequence[str]) -> None:
        """Raise an error for "1.234" where the decimal mark is a comma and nothing is said."""
        if self.options.decimal != "," or self.options.thousands:
            return
        either = {
            name: pl.col(name).str.contains(r"^-?[1-9]\d{0,2}(?:\.\d{3})+$") for name in names
        }
        number = NumberSpelling(",", ".").strict
        row = ready.select(
            pl.col(name).str.contains(number).all().alias(name) for name in names
        ).collect(engine="streaming")
        all_numbers = [name for name in names if row[name].item()]
        counts = self._counted(ready, {name: either[name] for name in all_numbers})
        problems = [
            Problem(
                f"{number:,} {'value' if number == 1 else 'values'} with a point between digits: "
                "thousands or codes",
                self.place(row, name),
                f'for numbers add thousands = "."; for codes add text = ["{name}"]',
            )
            for name, (number, row) in counts.items()
        ]
        many = "{} columns are ambiguous"
        raise_all(MicrodataError, problems, code="ambiguous-number", many=many)

    def _counted(
        self, ready: pl.LazyFrame, wrong: dict[str, pl.Expr]
    ) -> dict[str, tuple[int, int]]:
        """Column → number of wrong values and the row of the first, of those that have any."""
        if not wrong:
            return {}
        row = (
            ready.with_row_index(_ROW)
            .select(
                pl.struct(
                    flag.fill_null(value=False).sum().alias("n"),
                    pl.col(_ROW).filter(flag).min().alias("row"),
                ).alias(name)
                for name, flag in wrong.items()
            )
            .collect(engine="streaming")
            .row(0, named=True)
        )
        return {name: (entry["n"], int(entry["row"])) for name, entry in row.items() if entry["n"]}

    def _hint(self, name: str, kind: str, value: str) -> str:
        """What may help, by the form of the first wrong value; it is not quoted."""
        base, _, form = kind.partition(":")
        if base == "date":
            if form:
                return f"not a date of the form {form}"
            return 'state the date format, such as "date:%d.%m.%Y"; ISO dates need none'
        if _fits(value, self.spelling.loose):
            if base == "integer":
                return f'for numbers with decimals add types = {{ {toml_key(name)} = "number" }}'
            return "too many digits for a number: read it as text, or round it"
        for text, more in ((value, []), (value.strip(BLANKS), ["trim = true"])):
            for decimal, thousands in ((".", ""), (",", ""), (",", "."), (".", ","), (",", " ")):
                spelling = NumberSpelling(decimal, thousands)
                if _fits(text, spelling.whole if base == "integer" else spelling.loose):
                    words = [*more]
                    words += [f'decimal = "{decimal}"'] if decimal != self.options.decimal else []
                    words += [f'thousands = "{thousands}"'] if thousands else []
                    return f"these may be missing values: {', '.join(words)}"
        if not any(sign.isdigit() for sign in value):
            return f'for a missing value add null_values = {{ {toml_key(name)} = ["…"] }}'
        return "correct it in the file; --show-values (show_values=True) shows it"


def _fits(text: str, pattern: str) -> bool:
    return bool(pl.Series([text]).str.contains(pattern).item())


_NOUNS = {"integer": "whole number", "number": "number", "date": "date", "text": "code"}
