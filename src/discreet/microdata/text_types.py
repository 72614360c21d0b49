"""Types of columns that are texts: numbers however they are spelled, dates, codes.

In: a polars plan of texts, and how numbers are spelled. Out: the narrowest type of each column
that keeps every value, from one pass over the whole of it; expressions that turn texts into it.
"01", and "1.10" beside "1.1", stay texts. CONFIDENTIAL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

_FLOAT_DIGITS = 17  # what programs write for a float; more would be lost
_EXACT = 2**53  # whole numbers above are not told apart by floats


@dataclass(frozen=True)
class NumberSpelling:
    """Spelling of numbers.

    >>> german = NumberSpelling(",", ".")
    >>> frame = pl.DataFrame({"n": ["1.234,5", "7"]})
    >>> frame.select(german.plain(pl.col("n")))["n"].to_list()
    ['1234.5', '7']
    """

    decimal: str = "."  # the decimal mark
    thousands: str = ""  # the mark between thousands; empty for none

    @property
    def usual(self) -> bool:
        """Whether numbers are spelled as programs do."""
        return self.decimal == "." and not self.thousands

    @property
    def strict(self) -> str:
        """Numbers of one spelling each: no leading zero, no sign but minus."""
        point, digits = re.escape(self.decimal), r"(?:0|[1-9]\d*)"
        if self.thousands:
            digits = rf"(?:0|[1-9]\d*|[1-9]\d{{0,2}}(?:{re.escape(self.thousands)}\d{{3}})+)"
        return rf"^-?{digits}(?:{point}\d+)?(?:[eE][+-]?\d+)?$"

    @property
    def loose(self) -> str:
        """Whatever is a number where one is stated to stand."""
        point, digits = re.escape(self.decimal), r"\d+"
        if self.thousands:
            digits = rf"(?:\d+|\d{{1,3}}(?:{re.escape(self.thousands)}\d{{3}})+)"
        whole = rf"(?:{digits}(?:{point}\d*)?|{point}\d+)"
        return rf"^[+-]?{whole}(?:[eE][+-]?\d+)?$"

    @property
    def whole(self) -> str:
        """Whatever is a whole number where one is stated to stand."""
        digits = r"\d+"
        if self.thousands:
            digits = rf"(?:\d+|\d{{1,3}}(?:{re.escape(self.thousands)}\d{{3}})+)"
        return rf"^[+-]?{digits}$"

    def plain(self, column: pl.Expr) -> pl.Expr:
        """Numbers as programs spell them; only for texts that fit a pattern."""
        if self.thousands:
            column = column.str.replace_all(self.thousands, "", literal=True)
        if self.decimal != ".":
            column = column.str.replace(self.decimal, ".", literal=True)
        return column


def _facts(at: int) -> list[pl.Expr]:
    """What to know about a column's texts to decide its type; nulls do not count."""
    text, fits, whole, fraction = (
        pl.col(f"{part}{at}") for part in ("text", "fits", "whole", "fraction")
    )
    mantissa = text.str.extract(r"^([^eE]*)", 1)
    digits = mantissa.str.replace_all(r"[-.]", "").str.strip_chars_start("0").str.len_bytes()
    spelled = text.str.contains(NumberSpelling().strict)
    spelled &= text.cast(pl.Float64, strict=False).is_finite()
    spelled &= whole.is_null() | (whole.abs() <= _EXACT)
    return [
        text.is_not_null().any().alias("any"),
        (fits & whole.cast(pl.String).eq_missing(text)).all().alias("integers"),
        (fits & spelled).all().alias("floats"),
        digits.max().fill_null(0).alias("digits"),
        fraction.is_null().and_(text.is_not_null()).any().alias("bare"),
        (fraction == "0").any().alias("point_zero"),
        (fraction.str.ends_with("0") & (fraction != "0")).any().alias("padded"),
        fraction.str.len_bytes().min().fill_null(0).alias("shortest"),
        fraction.str.len_bytes().max().fill_null(0).alias("longest"),
    ]


def decided(found: Mapping[str, Any]) -> pl.DataType:
    """The type of a column of which these facts are known."""
    if found["any"] and found["integers"]:
        return pl.Int64()
    # Two spellings of one number ("1.1" and "1.10") would become one value.
    uneven = found["padded"] and (found["bare"] or found["shortest"] != found["longest"])
    merging = uneven or (found["point_zero"] and found["bare"])
    if found["any"] and found["floats"] and found["digits"] <= _FLOAT_DIGITS and not merging:
        return pl.Float64()
    return pl.String()


def types_of(
    plan: pl.LazyFrame, names: Sequence[str], spelling: NumberSpelling
) -> dict[str, pl.DataType]:
    """The narrowest type of each column that keeps every value, from one pass."""
    if not names:
        return {}
    places = range(len(names))
    # In steps, since a plan works out each expression anew wherever it stands.
    ready = plan.select(pl.col(name).alias(f"text{at}") for at, name in enumerate(names))
    if spelling.usual:
        ready = ready.with_columns(pl.lit(value=True).alias(f"fits{at}") for at in places)
    else:
        ready = ready.with_columns(
            pl.col(f"text{at}").str.contains(spelling.strict).alias(f"fits{at}") for at in places
        ).with_columns(
            pl.when(f"fits{at}")
            .then(spelling.plain(pl.col(f"text{at}")))
            .otherwise(f"text{at}")
            .alias(f"text{at}")
            for at in places
        )
    ready = ready.with_columns(
        part
        for at in places
        for part in (
            pl.col(f"text{at}").cast(pl.Int64, strict=False).alias(f"whole{at}"),
            pl.col(f"text{at}").str.extract(r"\.(\d+)", 1).alias(f"fraction{at}"),
        )
    )
    checks = [pl.struct(_facts(at)).alias(name) for at, name in enumerate(names)]
    row = ready.select(checks).collect(engine="streaming").row(0, named=True)
    return {name: decided(facts) for name, facts in row.items()}


def parsed(column: pl.Expr, kind: str, spelling: NumberSpelling) -> pl.Expr:
    """Texts as what they are stated to be; null for what is none."""
    base, _, form = kind.partition(":")
    if base == "date":
        day = column.str.to_date(form or "%Y-%m-%d", strict=False, exact=True)
        # A year of two digits is none: %Y would take 00 for the year 0.
        return pl.when(day.dt.year().is_between(1000, 9999)).then(day)
    fits = column.str.contains(spelling.whole if base == "integer" else spelling.loose)
    text = pl.when(fits).then(spelling.plain(column)).str.strip_prefix("+")
    if base == "integer":
        return text.cast(pl.Int64, strict=False)
    bare = text.str.extract(r"^([^eE]*)", 1).str.replace_all(r"[-.]", "")
    digits = bare.str.strip_chars_start("0").str.len_bytes()
    number = text.str.replace(r"^(-?)\.", "${1}0.").cast(pl.Float64, strict=False)
    whole = text.cast(pl.Int64, strict=False)
    exact = text.str.contains(r"[.eE]") | (whole.abs() <= _EXACT)
    return pl.when((digits <= _FLOAT_DIGITS) & number.is_finite() & exact).then(number)


def as_type(column: pl.Expr, kind: pl.DataType, spelling: NumberSpelling) -> pl.Expr:
    """Texts as a type that `types_of` has found for them."""
    return column if kind == pl.String() else spelling.plain(column).cast(kind)
