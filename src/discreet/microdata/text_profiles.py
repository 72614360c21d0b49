"""What the texts of a file tell of how it was written: number marks, missing values, blanks.

In: a polars plan of texts. Out: `TextProfile`, the count of each spelling per column, from one
pass; and what follows from all columns together: decimal mark, mark between thousands, words
for missing values, codes with leading zeros. What can be read in two ways becomes a problem,
never a guess. Only counts, and words of a fixed list, leave this module. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from discreet.errors import Problem
from discreet.files import toml_key
from discreet.microdata.reading_options import ReadingOptions
from discreet.microdata.stated_columns import BLANKS
from discreet.microdata.text_types import NumberSpelling, types_of

#: Words that stand for missing values in files of many programs.
MARKERS = (
    *("NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "#N/A", "#NV", "#NULL!"),
    *(".", "..", "-", "--", "–", "?", "x", "X", "*", "k.A.", "k. A.", "keine Angabe", "missing"),
)

#: Those that say yes where a column has nothing else: a mark in a box.
_TICKS = {"x", "X", "*"}

#: Marks between thousands besides point and comma.
_GAPS = (" ", "\u00a0", "\u202f", "'", "\u2019")

_START = r"^[+-]?[1-9]\d{0,2}"
_SPELLINGS = {
    "whole": r"^-?(?:0|[1-9]\d*)$",
    "zeros": r"^0\d+$",
    "point": r"^[+-]?\d+\.\d+$",
    "comma": r"^[+-]?\d+,\d+$",
    "point_three": rf"{_START}\.\d{{3}}$",
    "comma_three": rf"{_START},\d{{3}}$",
    "grouped_point": rf"{_START}(?:(?:\.\d{{3}})+,\d+|(?:\.\d{{3}}){{2,}})$",
    "grouped_comma": rf"{_START}(?:(?:,\d{{3}})+\.\d+|(?:,\d{{3}}){{2,}})$",
    "float": r"^[+-]?(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+$",
    "iso_date": r"^\d{4}-\d\d-\d\d$",
    "point_date": r"^\d{1,2}\.\d{1,2}\.\d{4}$",
    "slash_date": r"^\d{1,2}/\d{1,2}/\d{4}$",
    **{f"gap{at}": rf"{_START}(?:{gap}\d{{3}})+(?:[.,]\d+)?$" for at, gap in enumerate(_GAPS)},
}
_NUMBERS = ("whole", "point", "comma", "grouped_point", "grouped_comma", "float")


@dataclass(frozen=True, kw_only=True)
class TextProfile:
    """Profile of one text column."""

    name: str
    filled: int  # number of values, words for missing ones left out
    missing: int  # number of empty fields
    blanks: int  # number of values with blanks at an end
    markers: tuple[str, ...]  # words for missing values that occur
    marked: int  # how often they do
    spelled: Mapping[str, int]  # number of values of each spelling

    def some(self, *spellings: str) -> bool:
        """Whether a value is spelled in one of these ways."""
        return any(self.spelled[spelling] for spelling in spellings)

    @property
    def gaps(self) -> list[str]:
        """The marks between thousands that occur, besides point and comma."""
        return [gap for at, gap in enumerate(_GAPS) if self.spelled[f"gap{at}"]]

    @property
    def numeric(self) -> bool:
        """Whether all values are numbers, however they are spelled."""
        kinds = (*_NUMBERS, *(f"gap{at}" for at in range(len(_GAPS))))
        # Each number is of one of these kinds only.
        return self.filled > 0 and sum(self.spelled[kind] for kind in kinds) == self.filled

    @property
    def padded(self) -> bool:
        """Whether there are codes with leading zeros, which are no numbers."""
        return self.some("zeros")

    @property
    def date(self) -> str:
        """The format of dates, if all values are dates."""
        forms = {"iso_date": "%Y-%m-%d", "point_date": "%d.%m.%Y", "slash_date": "%d/%m/%Y"}
        fitting = [form for kind, form in forms.items() if self.filled and
                 self.spelled[kind] == self.filled]  # fmt: skip
        return next(iter(fitting), "")


def profiles(plan: pl.LazyFrame, names: Sequence[str]) -> list[TextProfile]:
    """Profiles of all columns, from one pass."""
    if not names:
        return []
    places = range(len(names))
    row = (  # in steps, since a plan works out each expression anew wherever it stands
        plan.select(pl.col(name).alias(f"raw{at}") for at, name in enumerate(names))
        .with_columns(
            pl.col(f"raw{at}").str.strip_chars(BLANKS).alias(f"text{at}") for at in places
        )
        .with_columns(
            pl.when(~pl.col(f"text{at}").is_in(["", *MARKERS]))
            .then(f"text{at}")
            .alias(f"value{at}")
            for at in places
        )
        .with_columns(  # whole numbers are most, and nothing else
            pl.when(~pl.col(f"value{at}").str.contains(_SPELLINGS["whole"]))
            .then(f"value{at}")
            .alias(f"other{at}")
            for at in places
        )
        .select(pl.struct(_counts(at)).alias(name) for at, name in enumerate(names))
        .collect(engine="streaming")
        .row(0, named=True)
    )
    return [
        TextProfile(
            name=name,
            filled=facts["filled"],
            missing=facts["missing"],
            blanks=facts["blanks"],
            markers=tuple(word for word in MARKERS if word in facts["words"]),
            marked=facts["marked"],
            spelled={kind: facts[kind] for kind in _SPELLINGS},
        )
        for name, facts in row.items()
    ]


def _counts(at: int) -> list[pl.Expr]:
    raw, text, value, other = (pl.col(f"{kind}{at}") for kind in ("raw", "text", "value", "other"))
    word = text.is_in(list(MARKERS))
    return [
        value.is_not_null().sum().alias("filled"),
        (raw.is_null() | (text == "")).sum().alias("missing"),
        (raw != text).sum().alias("blanks"),
        word.sum().alias("marked"),
        text.filter(word).unique().implode().alias("words"),
        (value.is_not_null() & other.is_null()).sum().alias("whole"),
        *(
            other.str.contains(form).sum().alias(kind)
            for kind, form in _SPELLINGS.items()
            if kind != "whole"
        ),
    ]


@dataclass(frozen=True)
class ProfileReading:
    """Read options that follow from the profiles of all columns."""

    plan: pl.LazyFrame  # the texts
    columns: Sequence[TextProfile]  # their profiles
    options: ReadingOptions  # what is stated already, which is not questioned
    said: frozenset[str] = frozenset()  # the keys that are stated, be it with their default values

    def read(self) -> tuple[ReadingOptions, list[Problem]]:
        """The options with all that was found out, and what was not clear."""
        options, problems = self.marks()
        if problems:
            return options, problems
        if any(column.blanks for column in self.columns):
            options = replace(options, trim=True)
        padded = [c.name for c in self.columns if c.padded and not options.kind(c.name)]
        options = replace(options, text=(*options.text, *padded))
        if nulls := self._nulls():
            options = replace(options, null_values=nulls)
        more, unclear = self._uneven(options)
        return replace(options, types={**options.types, **more}), unclear

    def _free(self) -> list[TextProfile]:
        """The columns of numbers of which nothing is stated."""
        return [c for c in self.columns if c.numeric and not self.options.kind(c.name)]

    def marks(self) -> tuple[ReadingOptions, list[Problem]]:
        """The decimal mark and the mark between thousands."""
        numbers, options = self._free(), self.options
        stated = bool({"decimal", "thousands"} & self.said)
        commas = [c for c in numbers if _sure(c, "comma") or c.some("grouped_point")]
        points = [c for c in numbers if _sure(c, "point") or c.some("grouped_comma", "float")]
        if not stated and commas and points:
            message = f"decimals have a comma in {_listed(commas)} and a point in {_listed(points)}"
            quoted = ", ".join(f'"{column.name}"' for column in points[:5])
            hint = f'add decimal = "," with text = [{quoted}], or the reverse'
            return options, [Problem(message, "decimal", hint)]
        if commas and not stated:
            options = replace(options, decimal=",")
        problems: list[Problem] = []
        if not options.thousands:
            options, problems = self._thousands(options, numbers, sure=bool(commas or points))
        return options, problems

    def _thousands(
        self, options: ReadingOptions, numbers: list[TextProfile], *, sure: bool
    ) -> tuple[ReadingOptions, list[Problem]]:
        other = "." if options.decimal == "," else ","
        word = "point" if other == "." else "comma"
        gaps = sorted({gap for column in numbers for gap in column.gaps})
        grouped = [c for c in numbers if c.some(f"grouped_{word}")]
        if len(gaps) + bool(grouped) > 1:
            message = "several thousands separators occur"
            hint = "correct the file, or read them as text"
            return options, [Problem(message, "thousands", hint)]
        if gaps or grouped:
            return replace(options, thousands=other if grouped else gaps[0]), []
        unclear = [c for c in numbers if c.some(f"{word}_three")]
        if not sure and "decimal" not in self.said:
            unclear += [c for c in numbers if c not in unclear and c.some("point_three")]
        return options, [
            Problem(
                "every mark is followed by three digits: thousands or decimals",
                f"column {column.name!r}",
                'add decimal = "," or thousands = ","; for codes add text = ["…"]'
                if column.some("comma_three")
                else (
                    'add decimal = ".", or decimal = "," with thousands = "."; for codes '
                    'add text = ["…"]'
                ),
            )
            for column in unclear
        ]

    def _nulls(self) -> Sequence[str] | Mapping[str, Sequence[str]]:
        """Words for missing values in columns of numbers; what texts say may be a code."""
        if self.options.null_values:
            return ()
        nulls = {
            column.name: column.markers
            for column in self.columns
            if column.markers
            and (column.numeric or column.date or not column.filled)
            and (column.filled or set(column.markers) - _TICKS)
        }
        words = tuple(dict.fromkeys(word for markers in nulls.values() for word in markers))
        others = {word for c in self.columns if c.name not in nulls for word in c.markers}
        return nulls if others & set(words) else words

    def _uneven(self, options: ReadingOptions) -> tuple[dict[str, str], list[Problem]]:
        """Numbers that would stay texts since some have more digits than others."""
        spelling = NumberSpelling(options.decimal, options.thousands)
        numbers = {c.name: c for c in self._free() if not c.padded}
        texts = pl.all().str.strip_chars(BLANKS)
        ready = self.plan.select(list(numbers)).select(
            pl.when(~texts.is_in(["", *MARKERS])).then(texts).name.keep()
        )
        kinds, problems = {}, []
        for name, kind in types_of(ready, list(numbers), spelling).items():
            if kind != pl.String():
                continue
            if options.decimal == "," or numbers[name].some("float"):
                kinds[name] = "number"
                continue
            message = "the number of decimals varies, as in codes such as 1.1 and 1.10"
            hint = f'add types = {{ {toml_key(name)} = "number" }}, or text = ["{name}"]'
            problems.append(Problem(message, f"column {name!r}", hint))
        return kinds, problems

    def remarks(self, options: ReadingOptions) -> Iterator[str]:
        """Remarks for the user besides the options."""
        for column in self.columns:
            kept = [word for word in column.markers if word not in options.missing(column.name)]
            if kept:
                words = ", ".join(map(repr, kept))
                yield (
                    f"{column.name}: {words} is read as a code; for a missing value add "
                    "null_values = { … }"
                )
            if column.date and not options.kind(column.name):
                form = "" if column.date == "%Y-%m-%d" else f":{column.date}"
                yield f'{column.name}: dates are read as texts; for dates add types = "date{form}"'


def _sure(column: TextProfile, word: str) -> bool:
    """Whether a mark stands before other than three digits."""
    return column.spelled[word] > column.spelled[f"{word}_three"]


def _listed(columns: Sequence[TextProfile]) -> str:
    return ", ".join(column.name for column in columns[:5])


def kind_of(dtype: Any) -> str:
    """Name of a type."""
    if dtype.is_integer():
        return "whole numbers"
    if dtype.is_float() or dtype.is_decimal():
        return "numbers"
    return "dates" if dtype.is_temporal() else "text"


def described_column(profile: TextProfile, dtype: Any) -> str:
    """One line on a column, without its values."""
    parts = [kind_of(dtype)]
    if profile.padded:
        parts.append("leading zeros kept")
    if profile.date and parts[0] == "text":
        parts.append("dates")
    if profile.missing:
        parts.append(f"{profile.missing:,} empty")
    if profile.marked:
        parts.append(f"{profile.marked:,} × {', '.join(map(repr, profile.markers))}")
    return "; ".join(parts)
