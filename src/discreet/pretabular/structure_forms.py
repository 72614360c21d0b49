"""What a structure file may take over of each variable: codes, ends, forms, missing values.

In: described records, CONFIDENTIAL. Out: a `Form` for each variable, in which nothing rests on
fewer units than the threshold, unless the variable is public; and findings, CONFIDENTIAL, that
say what was left out. Forms hold no marginal distribution unless shares are asked for.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import polars as pl

from discreet.arrays import IntArray
from discreet.microdata import STR_MAX, WHOLE, DescribedRecords, DescribedVariable
from discreet.pretabular.settings import StructureSettings

#: Numbers of at most so many different values are codes.
_FEW_CODES = 20
_MOST_DECIMALS = 8
_LARGEST = 10**15
_BEYOND = 2**62
_MOST_DIGITS = 17
#: What numbers are of which too few are known.
_UNKNOWN = (0, 100)
_DAY, _SECOND = 86_400, 1
_MASKS = ("Aaaaa", "Aaaaaaa aaa", "Aaaa aaaaaa aaaaa", "Aaaaaa aa aaaaaaa aaaa aaaaaaaaa")
_CLASSES = 10
_DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y")
#: Width of Stata's formats by type, and of SPSS.
_USUAL = {"byte": "%8.0g", "int": "%8.0g", "long": "%12.0g", "float": "%9.0g", "double": "%10.0g"}
_WIDTH = re.compile(r"(?P<head>%-?0?|[A-Z]+)(?P<width>\d+)(?P<tail>(?:[.,]\d+)?[a-z]*)\Z")
_SPSS_WIDTH = 8


@dataclass(frozen=True, kw_only=True, repr=False)
class Form:
    """Structure of one variable that the dummy file keeps."""

    #: How values are made up
    kind: Literal["codes", "numbers", "dates", "identifiers", "texts", "empty"]
    described: DescribedVariable  # the description that is taken over, without values
    codes: pl.Series  # values that appear as they are
    weights: IntArray | None = None  # how often each code is drawn, in per cent; None if all alike
    #: From where to where numbers, dates or times are drawn, in steps
    ranges: Sequence[tuple[int, int]] = ()
    scale: float = 1  # what one step is: a power of ten for numbers, days or seconds for dates
    #: Forms of texts: a small, A large letters, 9 digits, others as they are
    masks: Sequence[str] = ()
    date_format: str = ""  # how dates are written that are texts
    unique: bool = False  # whether no value occurs twice
    reasons: Sequence[str] = ()  # kinds of missing values that appear
    findings: tuple[str, ...] = ()  # what was left out. CONFIDENTIAL


def tally(values: pl.DataFrame, units: pl.Series | None) -> pl.DataFrame:
    """Rows that differ, and how many units have each."""
    counted = pl.len() if units is None else pl.col("\0unit").n_unique()
    named = values if units is None else values.with_columns(units.alias("\0unit"))
    return named.group_by(values.columns).agg(counted.alias("\0n")).sort(values.columns)


class FormFinder:
    """Finds the form of variables."""

    def __init__(
        self,
        records: DescribedRecords,
        units: pl.Series | None,
        settings: StructureSettings,
        identifiers: Collection[str] = (),
    ) -> None:
        self.records, self.units, self.settings = records, units, settings
        self.identifiers = identifiers  # variables that name a unit

    def forms(self) -> list[Form]:
        """The form of each variable, in order."""
        return [self._form(one) for one in self.records.variables]

    def _form(self, one: DescribedVariable) -> Form:
        values, date_format = _dates_in(_plain_values(one))
        counts = tally(pl.DataFrame({"value": values}), self.units).drop_nulls()
        public = one.name in self.settings.public
        kept = counts.filter((pl.col("\0n") >= self.settings.threshold) | public)
        codes = kept["value"]
        if public and (labels := _labelled(one, values.dtype)):
            listed = pl.Series("value", labels, dtype=values.dtype)
            codes = pl.concat([codes, listed]).unique().sort()
        missing = tally(pl.DataFrame({"reason": one.reasons}), self.units).drop_nulls()
        kinds = missing.filter((pl.col("\0n") >= self.settings.threshold) | public)
        reasons, lost = kinds["reason"].to_list(), missing.height - kinds.height
        left = counts.height - kept.height
        findings = (f"{left:,} codes omitted",) if left else ()
        form = Form(kind="codes", described=one, codes=codes, reasons=reasons)
        filled, covered = (int(t["\0n"].sum()) for t in (counts, kept))
        if one.name in self.identifiers or _all_differ(one, values, self.settings.threshold):
            form = self._masked(form, values)
        elif not filled and codes.is_empty():
            form = replace(form, kind="empty")
        elif values.dtype.is_temporal():
            form = replace(self._dates(form, values, public=public), date_format=date_format)
        elif self._are_codes(one, counts, kept, most=covered * 2 >= filled):
            weights = None
            if one.name in self.settings.shares:  # whole per cents, at least one for each code
                own = dict(zip(kept["value"], kept["\0n"], strict=True))
                total = max(sum(own.values()), 1)
                shares = [max(round(100 * own.get(code, 0) / total), 1) for code in codes]
                weights = np.array(shares, dtype=np.int64)
            form = replace(form, weights=weights, findings=findings)
        elif values.dtype == pl.String:
            form = self._masked(form, values)
        elif values.dtype.is_numeric():
            form = self._numbers(form, values, public=public)
        else:  # yes or no, of too few units each
            form = replace(form, codes=pl.Series("value", [False, True]))
        also = (f"{lost:,} kinds of missing values omitted",) if lost else ()
        shown = _described(form, public=public)
        return replace(form, described=shown, findings=(*form.findings, *also))

    def _are_codes(
        self, one: DescribedVariable, counts: pl.DataFrame, kept: pl.DataFrame, *, most: bool
    ) -> bool:
        """Whether the values are codes, most of them frequent enough to be taken over."""
        if kept.is_empty() or not (most or one.value_labels):
            return False
        if counts["value"].dtype in (pl.String, pl.Boolean):
            return most
        labelled = counts["value"].is_in(_labelled(one, counts["value"].dtype))
        by_label = int(counts.filter(labelled)["\0n"].sum()) * 2 >= int(counts["\0n"].sum())
        return by_label or (most and counts.height <= _FEW_CODES)

    def _ends(self, numbers: pl.Series) -> tuple[float, float] | None:
        """From where to where values reach, with so many units at and beyond each end."""
        named = pl.DataFrame({"value": numbers})
        if self.units is None:
            lowest = highest = named["value"].drop_nulls().sort()
        else:
            table = named.with_columns(self.units.alias("unit")).drop_nulls("value")
            ends = table.group_by("unit").agg(
                pl.col("value").min().alias("low"), pl.col("value").max().alias("high")
            )
            lowest, highest = ends["low"].sort(), ends["high"].sort()
        at = self.settings.threshold - 1
        if len(lowest) < 2 * self.settings.threshold:
            return None
        return float(lowest[at]), float(highest[len(highest) - 1 - at])

    def _numbers(self, form: Form, values: pl.Series, *, public: bool) -> Form:
        one = form.described
        labelled = _labelled(one, values.dtype)
        codes = form.codes.filter(form.codes.is_in(labelled))
        plain = values.cast(pl.Float64)
        if labelled:
            plain = plain.set(values.is_in(labelled).fill_null(value=False), None)
        plain = plain.set(plain.is_infinite().fill_null(value=False), None)
        known = public and plain.count()
        ends: Any = (plain.min(), plain.max()) if known else self._ends(plain)
        form = replace(form, kind="numbers", codes=codes)
        if ends is None:
            return replace(form, ranges=[_UNKNOWN], findings=("range unknown: too few units",))
        decimals = 0 if values.dtype.is_integer() else self._decimals(plain)
        low, high = ends
        if not known:
            low, high = _rounded_out(low, high, decimals)
        bounds = _type_bounds(one)
        low, high = max(low, bounds[0]), min(high, bounds[1])
        while (high - low) * 10**decimals >= _LARGEST:
            decimals -= 1
        unit = 10.0**decimals
        first, last = (
            max(min(end, _BEYOND), -_BEYOND)
            for end in (math.ceil(low * unit), math.floor(high * unit))
        )
        ranges = [(first, max(first, last))]
        if ends[0] > 0 >= first:
            ranges = [(1, max(1, last))]
        if one.name in self.settings.shares:
            ranges = self._classes(plain, ranges[0], unit) or ranges
        return replace(form, ranges=ranges, scale=1 / unit)

    def _decimals(self, values: pl.Series) -> int:
        """So many decimals have all values but for fewer than the threshold."""
        for decimals in range(_MOST_DECIMALS):
            scaled = values * 10.0**decimals
            off = ((scaled - scaled.round()).abs() > 1e-6 * (1 + scaled.abs() * 1e-8)).sum()
            if off < self.settings.threshold:
                return decimals
        return _MOST_DECIMALS

    def _classes(
        self, values: pl.Series, whole: tuple[int, int], unit: float
    ) -> list[tuple[int, int]]:
        """Tenths of the values, their ends rounded to a hundredth of the range."""
        known = values.drop_nulls().sort()
        if len(known) < 2 * _CLASSES * self.settings.threshold or self.units is not None:
            return []
        step = max((whole[1] - whole[0]) // 100, 1)
        inner = [float(known[len(known) * at // _CLASSES]) * unit for at in range(1, _CLASSES)]
        rounded = [min(max(round(end / step) * step, whole[0]), whole[1]) for end in inner]
        ends = [whole[0], *rounded, whole[1]]
        return [(low, max(low, high)) for low, high in pairwise(ends)]

    def _dates(self, form: Form, values: pl.Series, *, public: bool) -> Form:
        form = replace(form, kind="dates", codes=form.codes.clear())
        if values.dtype == pl.Time:
            return replace(form, ranges=[(0, _DAY - 1)], scale=_SECOND)
        days = values.cast(pl.Date).to_physical().cast(pl.Float64)
        ends: Any = (days.min(), days.max()) if public and days.count() else self._ends(days)
        findings = () if ends else ("range unknown: too few units",)
        first, last = _calendar(*ends) if ends and not public else ends or _calendar(0, 18_262)
        clock, first, last, scale = 0, int(first), int(last), _DAY
        if values.dtype == pl.Datetime:
            clock = int((values.dt.time() != datetime.time()).sum())
        if clock >= self.settings.threshold:
            first, last, scale = first * _DAY, last * _DAY + _DAY - 1, _SECOND
        return replace(form, ranges=[(first, last)], scale=scale, findings=findings)

    def _masked(self, form: Form, values: pl.Series) -> Form:
        """Identifiers and texts: letters and digits made up, in forms that many units share."""
        one, texts = form.described, values.cast(pl.String)
        if values.dtype.is_float():
            texts = values.cast(pl.Int64, strict=False).cast(pl.String)
        shapes = texts.str.replace_all(r"\p{Nd}", "9")
        shapes = shapes.str.replace_all(r"\p{Ll}|\p{Lm}|\p{Lo}", "a")
        shapes = shapes.str.replace_all(r"\p{Lu}|\p{Lt}", "A")
        counts = tally(pl.DataFrame({"mask": shapes}), self.units).drop_nulls()
        most = STR_MAX if one.is_text else _MOST_DIGITS
        fits = pl.col("mask").str.len_chars().is_between(1, most)
        kept = counts.filter((pl.col("\0n") >= self.settings.threshold) & fits)["mask"].to_list()
        stated = one.name in self.identifiers
        unique = texts.n_unique() > 0.9 * max(texts.count(), 1) if stated else False
        form = replace(form, codes=form.codes.clear(), unique=unique or not one.is_text)
        if kept and (stated or not one.is_text or not any(" " in mask for mask in kept)):
            return replace(form, kind="identifiers", masks=kept)
        if not one.is_text:
            return replace(form, kind="identifiers", masks=["99999999"])
        ends = self._ends(texts.str.len_chars())
        width = min(_nice(ends[1] if ends else 10), STR_MAX)
        return replace(form, kind="texts", masks=sorted({mask[:width].strip() for mask in _MASKS}))


def patterns(
    records: DescribedRecords, units: pl.Series | None, threshold: int
) -> tuple[Sequence[Mapping[str, str]], int]:
    """Kinds of values missing together in enough units; and how many others there are."""
    some = {one.name: one.reasons for one in records.variables if one.reasons.null_count() !=
            len(one.reasons)}  # fmt: skip
    if not some:
        return [{}], 0
    counts = tally(pl.DataFrame(some), units)
    kept = counts.filter(pl.col("\0n") >= threshold)
    rows = [
        {name: reason for name, reason in row.items() if reason is not None}
        for row in kept.drop("\0n").iter_rows(named=True)
    ]
    return rows or [{}], counts.height - kept.height


def combinations(
    records: DescribedRecords, names: Sequence[str], units: pl.Series | None, threshold: int
) -> list[tuple[Any, ...]]:
    """Combinations of several variables that enough units have: (value, reason) of each."""
    chosen = [one for name in names for one in records.variables if one.name == name]
    columns = {f"{at} value": _plain_values(one) for at, one in enumerate(chosen)}
    columns |= {f"{at} reason": one.reasons for at, one in enumerate(chosen)}
    kept = tally(pl.DataFrame(columns), units).filter(pl.col("\0n") >= threshold)
    return [
        tuple((row[at], row[at + len(chosen)]) for at in range(len(chosen)))
        for row in kept.iter_rows()
    ]


def _plain_values(one: DescribedVariable) -> pl.Series:
    """Values of a type that can be compared and counted."""
    values = one.values
    if one.is_text:
        return values.cast(pl.String)
    if values.dtype.is_decimal():
        return values.cast(pl.Float64)
    return values.fill_nan(None) if values.dtype.is_float() else values


def _dates_in(values: pl.Series) -> tuple[pl.Series, str]:
    """Texts that are all dates as dates, and how they are written."""
    if values.dtype == pl.String:
        for written in _DATES:
            read = values.str.to_date(written, strict=False)
            if read.null_count() == values.null_count():
                return read, written
    return values, ""


def _labelled(one: DescribedVariable, dtype: pl.DataType) -> list[Any]:
    """The values that have a label, letters of missing ones left out."""
    text = dtype == pl.String
    keys = [key for key in one.value_labels if isinstance(key, str) == text]
    if dtype.is_integer():
        return [int(key) for key in keys if float(key).is_integer()]
    return keys


def _all_differ(one: DescribedVariable, values: pl.Series, threshold: int) -> bool:
    """Whether numbers without a label are whole and all different: then they name records."""
    if not values.dtype.is_numeric() or one.value_labels or values.count() < 2 * threshold:
        return False
    known = values.drop_nulls()
    if known.n_unique() != len(known):
        return False
    return values.dtype.is_integer() or bool((known == known.round()).all())


def _rounded_out(low: float, high: float, decimals: int) -> tuple[float, float]:
    """Ends that tell the order of size only."""
    span = high - low or abs(low) or 1
    power = 10.0 ** math.floor(math.log10(span))
    step = power / 5 if span < 2 * power else power / 2 if span < 5 * power else power
    step = max(step, 10.0**-decimals)
    return math.floor(low / step) * step, math.ceil(high / step) * step


def _type_bounds(one: DescribedVariable) -> tuple[float, float]:
    if one.storage in WHOLE:
        return WHOLE[one.storage]
    if one.values.dtype.is_integer():
        ends = pl.select(low=pl.lit(0, one.values.dtype).lower_bound(),
                         high=pl.lit(0, one.values.dtype).upper_bound()).row(0)  # fmt: skip
        return ends[0], ends[1]
    return -math.inf, math.inf


def _calendar(low: float, high: float) -> tuple[int, int]:
    """Whole years in days; whole months if it is less than a year."""
    start = datetime.date(1970, 1, 1)
    first, last = (start + datetime.timedelta(days=int(end)) for end in (low, high))
    if (last - first).days >= 365:
        first, last = first.replace(month=1, day=1), last.replace(month=12, day=31)
    else:
        following = (last.replace(day=28) + datetime.timedelta(days=4)).replace(day=1)
        first, last = first.replace(day=1), following - datetime.timedelta(days=1)
    return (first - start).days, (last - start).days


def _nice(length: float) -> int:
    """A length rounded up to 1, 2 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(max(length, 1)))
    return int(next(power * item for item in (1, 2, 5, 10) if power * item >= length))


def _described(form: Form, *, public: bool) -> DescribedVariable:
    """The description without values, and without what rests on few of them."""
    one, empty = form.described, form.described.values.clear()
    if form.kind == "identifiers" and one.values.dtype.is_integer():
        empty = empty.cast(pl.Int64)  # a digit more may be needed
    if one.values.dtype == pl.Enum:
        kind = pl.String() if form.masks else pl.Enum(form.codes.cast(pl.String))
        empty = pl.Series(one.name, [], dtype=kind)
    numbers = (float(text) for text in form.reasons if re.fullmatch(r"-?\d+(\.\d+)?", text))
    known = {*form.codes, *form.reasons, *numbers}
    kept = {key: text for key, text in one.value_labels.items() if public or key in known}
    storage, layout = one.storage, one.format
    if form.kind != "empty" and not public:
        storage = _storage(form, one)
        layout = _format(form, one, storage)
    bare = replace(one, values=empty, reasons=one.reasons.clear())
    return replace(bare, value_labels=kept, storage=storage, format=layout)


def _numbers_of(form: Form) -> list[float]:
    """The ends of all numbers that can appear."""
    ends = [end * form.scale for item in form.ranges for end in item]
    return ends + [float(code) for code in form.codes]


def _text_width(form: Form) -> int:
    """Bytes that the longest text can have; identifiers may get one sign more."""
    codes = [] if form.date_format else [len(code.encode()) for code in form.codes]
    return max([*codes, *(len(mask.encode()) + 1 for mask in form.masks),
                len("2000-01-01") if form.date_format else 1])  # fmt: skip


def _storage(form: Form, one: DescribedVariable) -> str:
    """A type no wider than what appears needs: a wide one would tell of a large number."""
    if one.storage.startswith("str"):
        return f"str{min(_text_width(form), int(one.storage[3:]))}"
    if one.storage not in WHOLE or form.kind not in ("codes", "numbers", "identifiers"):
        return one.storage
    ends = _numbers_of(form) or [0]
    if form.masks:
        ends = [10 ** (max(map(len, form.masks)) + 1) - 1]
        return next((kind for kind, (_, high) in WHOLE.items() if ends[0] <= high), "double")
    for kind, (low, high) in WHOLE.items():
        if (low <= min(ends) and max(ends) <= high) or kind == one.storage:
            return kind
    return one.storage


def _format(form: Form, one: DescribedVariable, storage: str) -> str:
    """A format no wider than what appears needs, unless it is the usual one."""
    layout = one.format
    if one.is_text and layout:
        if layout.startswith("%"):
            left = "-" if layout.startswith("%-") else ""
            return f"%{left}{max(9, int(storage[3:]))}s"
        return f"A{min(_text_width(form), int(layout[1:] or 1))}"
    match = _WIDTH.match(layout)
    if not match or form.kind not in ("codes", "numbers"):
        return layout
    if layout == _USUAL.get(one.storage):
        return _USUAL[storage]
    stata = layout.startswith("%")
    decimals = int(re.sub(r"\D", "", match["tail"]) or 0)
    ends = _numbers_of(form) or [0]
    whole = max(len(str(int(end))) for end in ends)
    need = whole + (decimals + 1 if decimals else 0) + (whole // 3 if "c" in match["tail"] else 0)
    width = int(match["width"])
    usual = 9 if stata else _SPSS_WIDTH
    width = width if need >= width else min(width, max(need, usual))
    return f"{match['head']}{width}{match['tail']}"
