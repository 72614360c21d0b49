"""`ReadingOptions`: what is known of a file of records that the file does not say itself.

In: keys as users state them: keywords of `read_microdata`, [data] of a programme, words of the
command line. Out: the same, checked, with every mistake placed at its key; and which of them
say nothing about a format. Nothing here has seen data.
"""

from __future__ import annotations

import codecs
import dataclasses
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from discreet.errors import MicrodataError, Problem, nearest, raise_all

#: What `types` may say of a column; a date may have a format: "date:%d.%m.%Y".
TYPES = ("text", "integer", "number", "date")

#: Signs that may stand between thousands.
_THOUSANDS = ("", ".", ",", " ", "'", "\u2019", "\u00a0", "\u202f")
_SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";"}

#: Which keys say something about files of a format; whatever is not listed says nothing.
_ALL = frozenset({"null_values", "trim", "rename", "recode"})
_TYPED = _ALL | {"text", "types"}
_TEXTS = _TYPED | {"decimal", "thousands", "skip", "header", "columns"}
APPLIES: Mapping[str, frozenset[str]] = {
    "csv": _TEXTS | {"encoding", "separator"},
    "excel": _TEXTS | {"sheet"},
    "fixed": _TYPED | {"encoding", "metadata"},
    "parquet": _TYPED,
    "arrow": _TYPED,
    "stata": _TYPED,
    "spss": _TYPED,
    "sas": _TYPED,
    "sql": _TYPED,
    "duckdb": _ALL,
    "frame": _ALL,
}


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Options to read a file of records.

    All names of columns are those after `rename`.

    Args:
        null_values: Texts that stand for a missing value, in all columns or per column.
        decimal: The decimal mark, "." or ",".
        thousands: The mark between thousands; empty if there is none.
        encoding: Encoding of a text file.
        separator: Sign between fields of a CSV file; the header line tells if empty.
        trim: Take blanks off both ends of texts.
        skip: Lines (rows of a sheet) before the header.
        header: Lines of the header; 0 if there is none.
        columns: Names of the columns where there is no header.
        sheet: Sheet of a workbook, by name or number; the only one if empty.
        metadata: The `.rda` file that describes a file of fixed width.
        text: Columns that stay texts even if they hold numbers only.
        types: Column → "text", "integer", "number", "date" or "date:%d.%m.%Y".
        rename: Name in the file → name from then on.
        recode: Column → code in the file → code from then on; empty for missing.
        show_values: Whether errors may quote the first wrong value.

    >>> ReadingOptions.of({"decimal": ",", "null_values": "NA"}).given
    ['null_values', 'decimal']
    """

    null_values: Sequence[str] | Mapping[str, Sequence[str]] = ()
    decimal: str = "."
    thousands: str = ""
    encoding: str = "utf-8"
    separator: str = ""
    trim: bool = False
    skip: int = 0
    header: int = 1
    columns: Sequence[str] = ()
    sheet: str | int = ""
    metadata: str = ""
    text: Collection[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)
    recode: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    show_values: bool = False

    @classmethod
    def known(cls) -> list[str]:
        """The keys that can be stated of a file."""
        return [item.name for item in dataclasses.fields(cls) if item.name != "show_values"]

    @classmethod
    def of(cls, stated: Mapping[str, Any], base: Self | None = None) -> Self:
        """The options that are stated, over those of `base`; every mistake in one error."""
        known = [*cls.known(), "show_values"]
        problems = [
            Problem("unknown option", name, nearest(name, known))
            for name in stated
            if name not in known
        ]
        start: object = base
        if not isinstance(start, ReadingOptions | None):
            hint = "give options=ReadingOptions.of({...}), or single options by name"
            problems.append(Problem("not ReadingOptions", "options", hint))
        raise_all(MicrodataError, problems, code="option", many="{} options are unknown")
        fields = {name: _plain(name, value) for name, value in stated.items() if value is not None}
        options = dataclasses.replace(cls() if base is None else base, **fields)
        options.check()
        return options

    @property
    def given(self) -> list[str]:
        """The keys whose values are not the default ones."""
        default = type(self)()
        return [name for name in self.known() if getattr(self, name) != getattr(default, name)]

    @property
    def mark(self) -> str:
        """The separator as a sign; empty if the header line is to tell."""
        return _SEPARATORS.get(self.separator, self.separator)

    def kind(self, column: str) -> str:
        """Stated type of a column; empty if none is stated."""
        return "text" if column in self.text else self.types.get(column, "")

    def missing(self, column: str) -> list[str]:
        """The texts that stand for a missing value in a column."""
        if isinstance(self.null_values, Mapping):
            return list(self.null_values.get(column, ()))
        return list(self.null_values)

    def named_columns(self) -> Iterator[tuple[str, str]]:
        """Key and name of every column that is named, after renaming."""
        yield from (("text", name) for name in self.text)
        yield from (("types", name) for name in self.types)
        yield from (("recode", name) for name in self.recode)
        if isinstance(self.null_values, Mapping):
            yield from (("null_values", name) for name in self.null_values)

    def check(self) -> None:
        """Raise one error for everything that is wrong with the options by themselves."""
        many = "{} options cannot be used"
        raise_all(MicrodataError, self.problems(), code="option", many=many, where="")

    def problems(self) -> list[Problem]:
        """Everything that is wrong with the options by themselves, placed at their keys."""
        problems = [
            Problem("wrong type of value", name, called)
            for name in _FORMS
            if (called := form_of(name, getattr(self, name)))
        ]
        return problems or [
            *self._number_problems(),
            *self._text_problems(),
            *self._column_problems(),
        ]

    def _number_problems(self) -> Iterator[Problem]:
        if self.decimal not in (".", ","):
            yield Problem("the decimal mark must be '.' or ','", "decimal", 'decimal = ","')
        if self.thousands not in _THOUSANDS:
            hint = "use a point, a comma, a blank or an apostrophe"
            yield Problem("not a thousands separator", "thousands", hint)
        elif self.thousands == self.decimal:
            message = "decimals and thousands have the same mark"
            yield Problem(message, "thousands", 'for example decimal = "," with thousands = "."')
        for key in ("skip", "header"):
            if getattr(self, key) < 0:
                yield Problem("must be at least 0", key, "a number of lines")
        if (self.header == 0) != bool(self.columns):
            hint = 'header = 0 with columns = ["id", "sex"]'
            message = "header = 0 and columns must be given together"
            yield Problem(message, "columns", hint)

    def _text_problems(self) -> Iterator[Problem]:
        try:
            encodes = codecs.lookup(self.encoding)
            usable = encodes.encode("a")[0] is not None and "a".encode(self.encoding) is not None
        except (LookupError, TypeError, ValueError):
            usable = False
        if not usable:
            hint = '"utf-8", "cp1252", "latin-1", "utf-16"'
            yield Problem("unknown encoding", "encoding", hint)
        if self.separator and (len(self.mark) != 1 or not self.mark.isascii()):
            hint = 'use one character, such as ";", or "tab"'
            yield Problem("the separator must be one character", "separator", hint)
        elif self.mark in ('"', "\n", "\r") and self.mark:
            yield Problem("this character cannot be a separator", "separator", 'such as ";"')

    def _column_problems(self) -> Iterator[Problem]:
        for name, kind in self.types.items():
            base, _, form = kind.partition(":")
            if base not in TYPES or (form and base != "date") or kind.endswith(":"):
                hint = f"{', '.join(TYPES)}, or a date as it is written: date:%d.%m.%Y"
                yield Problem(f"{name!r} cannot be of type {kind!r}", "types", hint)
            elif form and not {"%d", "%m", "%Y"} <= set(re.findall(r"%\w", form)):
                hint = "use day, month and year, such as date:%d.%m.%Y"
                yield Problem(f"the date format of {name!r} is incomplete", "types", hint)
            if name in self.text and kind != "text":
                yield Problem(
                    f"{name!r} is declared as text and as {kind}", "types", "keep one of the two"
                )
        named = [*self.rename.values()]
        for name in sorted({name for name in named if named.count(name) > 1}):
            yield Problem(
                f"two columns would have the name {name!r}", "rename", "choose another name"
            )
        for name in sorted({name for name in self.columns if list(self.columns).count(name) > 1}):
            yield Problem(f"{name!r} is named twice", "columns", "choose another name")
        for name in self.recode:
            if self.kind(name).partition(":")[0] in ("number", "date"):
                message = f"{name!r} is declared as {self.kind(name)} and cannot be recoded"
                yield Problem(message, "recode", "recode texts or whole numbers")

    def refuse(self, kind: str, where: str) -> None:
        """Raise an error for options that say nothing about files of a format."""
        wrong = [name for name in self.given if name not in APPLIES[kind]]
        if not wrong:
            return
        hint = f"options for {_CALLED.get(kind, kind)}: {', '.join(sorted(APPLIES[kind]))}"
        if kind in ("duckdb", "frame"):
            hint += "; convert other columns in the query, or before"
        raise MicrodataError(
            "options do not apply to this source",
            code="option",
            where=", ".join(wrong),
            hint=hint,
            problems=[
                Problem(f"the option does not apply to {where}", name, hint) for name in wrong
            ]
            if len(wrong) > 1
            else (),
        )


_CALLED = {"csv": "CSV files", "excel": "workbooks", "fixed": "files of fixed width",
           "duckdb": "DuckDB databases", "sql": "databases", "frame": "frames"}  # fmt: skip


def _plain(name: str, value: Any) -> Any:
    """A value as its field holds it: one text for a list of one, paths as texts."""
    if name == "null_values" and isinstance(value, Mapping):
        return {key: (one,) if isinstance(one, str) else one for key, one in value.items()}
    if name == "null_values" and isinstance(value, str):
        return (value,)
    if name in ("null_values", "columns") and isinstance(value, list | tuple | set):
        return tuple(value)
    if name == "text" and not isinstance(value, str) and isinstance(value, Collection):
        return tuple(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _texts(value: Any) -> bool:
    listed = isinstance(value, Collection) and not isinstance(value, str | Mapping)
    return listed and all(isinstance(item, str) for item in value)


def _named(value: Any, inner: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(key, str) and inner(item) for key, item in value.items()
    )


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


#: What each key holds, and how messages call it; a key that is forgotten is an error at import.
_FORMS: Mapping[str, tuple[Any, str]] = {
    "null_values": (
        lambda value: _texts(value) or _named(value, _texts),
        'a list of texts, or such a list per column: ["NA"] or { income = ["NA"] }',
    ),
    "decimal": (_text, "a text"),
    "thousands": (_text, "a text"),
    "encoding": (_text, "a text"),
    "separator": (_text, "a text"),
    "trim": (lambda value: isinstance(value, bool), "true or false"),
    "skip": (_whole, "a whole number"),
    "header": (_whole, "a whole number"),
    "columns": (_texts, "a list of column names"),
    "sheet": (lambda value: _text(value) or _whole(value), "the name or number of a sheet"),
    "metadata": (_text, "the name of a file"),
    "text": (_texts, "a list of column names"),
    "types": (lambda value: _named(value, _text), 'columns and types: { income = "number" }'),
    "rename": (lambda value: _named(value, _text), 'old and new names: { GESCHL = "sex" }'),
    "recode": (
        lambda value: _named(value, lambda codes: _named(codes, _text)),
        'columns with old and new codes: { sex = { "1" = "m" } }',
    ),
    "show_values": (lambda value: isinstance(value, bool), "true or false"),
}
if list(_FORMS) != [*ReadingOptions.known(), "show_values"]:
    raise TypeError("the form of an option is not stated")


def form_of(key: str, value: Any) -> str:
    """Expected form of a key whose value does not fit; empty if it fits.

    >>> form_of("trim", "yes"), form_of("trim", True)
    ('true or false', '')
    """
    fits, called = _FORMS[key]
    return "" if fits(_plain(key, value)) else called
