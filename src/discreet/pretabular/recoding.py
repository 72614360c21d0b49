"""Recoding of records: coarser codes, coded ends, rounded numbers, and no identifiers.

In: records, CONFIDENTIAL. Out: `ChangedRecords`: the same ones with fewer different values. Nothing
is drawn. See docs/methods/record-methods.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray
from discreet.classifications import Classification
from discreet.errors import MicrodataError, Problem, raise_all
from discreet.pretabular.changed_records import (
    ChangedRecords,
    InputRecords,
    done,
    record_method,
)
from discreet.pretabular.settings import (
    BottomCodeSettings,
    CodedEndSettings,
    DropIdentifiersSettings,
    RecodeSettings,
    RoundValuesSettings,
    TopCodeSettings,
)

#: Fewest records that stand behind a coded end, or a mean of coded values.
FEWEST = 3
#: Above this share of different values a column may name its records.
NEARLY_ALL = 0.95
#: Texts of a form that names someone count from this share on.
_SOME = 0.01


@record_method(RecodeSettings)
def recode(records: InputRecords, settings: RecodeSettings) -> ChangedRecords:
    """Give a variable coarser codes, by a level of its classification, intervals, or a list.

    Options are those of `RecodeSettings`.

    >>> people = pl.DataFrame({"age": [3, 17, 18, 70, None]})
    >>> recode(people, "age", intervals=[0, 18, 65]).records["age"].to_list()
    ['0-17', '0-17', '18-64', '65+', None]
    """
    variable, intervals, codes = settings.variable, settings.intervals, settings.codes
    values = records.columns([variable]).to_series()
    if intervals:
        new = _by_intervals(values, intervals)
    elif codes is not None:
        new = _by_codes(values, codes, "the list of codes")
    else:
        tree = settings.classification
        if not isinstance(tree, Classification):
            tree = Classification.read(str(tree), name=variable)
        level, above = settings.level or 0, list(tree.codes)
        if not 1 <= level <= tree.depth:
            message = f"the classification has {tree.depth} levels"
            raise MicrodataError(
                message,
                code="recode",
                where="level",
                hint="level 1 is the coarsest",
            )
        for at, (parent, depth) in enumerate(zip(tree.parents, tree.levels.tolist(), strict=True)):
            above[at] = above[parent] if depth > level else above[at]
        # Each code's ancestor at the level, or itself where its branch ends before.
        ancestors = dict(zip(tree.codes[1:], above[1:], strict=True))
        new = _by_codes(values, ancestors, "the classification")
    parameters = settings.model_dump(include={"variable", "level", "intervals", "codes"})
    return _done("recode", records, {variable: new}, parameters)


def _by_codes(values: pl.Series, codes: Mapping[str, str], where: str) -> pl.Series:
    texts = values.cast(pl.String)
    unknown = texts.drop_nulls().unique()
    unknown = unknown.filter(~unknown.is_in(list(codes)))
    if len(unknown):
        message = f"{len(unknown):,} codes of the records are not in {where}"
        raise MicrodataError(
            message, code="recode", where=values.name, hint="include all codes that occur"
        )
    return texts.replace_strict(dict(codes), return_dtype=pl.String)


def _by_intervals(values: pl.Series, bounds: Sequence[float]) -> pl.Series:
    if not values.dtype.is_numeric():
        raise MicrodataError("not a number", code="column-type", where=values.name)
    whole = values.dtype.is_integer() and all(float(one).is_integer() for one in bounds)
    tree = Classification.from_intervals(values.name, list(bounds), whole=whole)
    numbers = values.cast(pl.Float64)
    if (numbers.drop_nans() < bounds[0]).any():
        message = "values are below the first interval"
        raise MicrodataError(
            message, code="recode", where=values.name, hint="lower the first bound"
        )
    ends = np.asarray(bounds, dtype=np.float64)
    at = np.searchsorted(ends, numbers.fill_null(0).to_numpy(), side="right") - 1
    there = (numbers.is_not_null() & numbers.is_not_nan()).to_numpy()
    codes = np.array([*tree.leaves, None], dtype=object)
    return pl.Series(values.name, codes[np.where(there, at, len(tree.leaves))].tolist(), pl.String)


@record_method(TopCodeSettings)
def top_code(records: InputRecords, settings: TopCodeSettings) -> ChangedRecords:
    """Replace the largest values by the end, or by the mean of those replaced.

    Options are those of `TopCodeSettings`.

    >>> people = pl.DataFrame({"pay": [1, 2, 3, 90, 91, 92]})
    >>> top_code(people, "pay", above=50).records["pay"].to_list()
    [1, 2, 3, 50, 50, 50]
    """
    return _coded_end("top_code", records, settings, 1)


@record_method(BottomCodeSettings)
def bottom_code(records: InputRecords, settings: BottomCodeSettings) -> ChangedRecords:
    """Replace the smallest values by the end, or by the mean of those replaced.

    Options are those of `BottomCodeSettings`.
    """
    return _coded_end("bottom_code", records, settings, -1)


def _coded_end(
    method: str, records: InputRecords, settings: CodedEndSettings, sign: int
) -> ChangedRecords:
    variable, end, share, mean = settings.variable, settings.end, settings.share, settings.mean
    values = _numbers(records, variable)
    numbers = values.cast(pl.Float64).to_numpy()
    known = np.sort(sign * numbers[np.isfinite(numbers)])
    if end is None:
        assert share is not None
        kept = len(known) - int(share * len(known))
        end = float(sign * known[kept - 1]) if kept else 0.0
    with np.errstate(invalid="ignore"):
        coded = sign * numbers > sign * end
    if not coded.sum() >= FEWEST:
        message = f"fewer than {FEWEST} values would be coded, which discloses them"
        hint = "choose an end with more values beyond it"
        raise MicrodataError(message, code="recode", where=variable, hint=hint)
    put = float(numbers[coded].mean()) if mean else end
    new = np.where(coded, put, numbers)
    parameters = {"variable": variable, "end": end, "mean": mean}
    return _done(method, records, {variable: _typed(new, values)}, parameters)


@record_method(RoundValuesSettings)
def round_values(records: InputRecords, settings: RoundValuesSettings) -> ChangedRecords:
    """Round numbers to multiples of a base, halves up; options are those of `RoundValuesSettings`.

    >>> round_values(pl.DataFrame({"pay": [14, 15, -15]}), "pay", base=10).records["pay"].to_list()
    [10, 20, -10]
    """
    names, base = settings.variables, settings.base
    rounded = {}
    for name in names:
        values = _numbers(records, name)
        if values.dtype.is_integer() and float(base).is_integer():
            number, wide = int(base), values.cast(pl.Int64)
            rounded[name] = ((2 * wide + number) // (2 * number) * number).cast(values.dtype)
        else:
            multiples = np.floor(values.cast(pl.Float64).to_numpy() / base + 0.5)
            rounded[name] = _typed(multiples * base, values)
    return _done("round_values", records, rounded, {"variables": names, "base": base})


def _numbers(records: InputRecords, name: str) -> pl.Series:
    values = records.columns([name]).to_series()
    if not values.dtype.is_numeric():
        raise MicrodataError("not a numeric column", code="column-type", where=name)
    return values


def _typed(numbers: FloatArray, like: pl.Series) -> pl.Series:
    """Numbers in the type of a column, if they fit; what was missing stays missing."""
    series = pl.Series(like.name, numbers, nan_to_null=False)
    series = pl.select(pl.when(like.is_not_null()).then(series)).to_series().alias(like.name)
    if not like.dtype.is_integer():
        return series.cast(like.dtype) if like.dtype.is_float() else series
    whole = bool((series.drop_nulls() == series.drop_nulls().round()).all())
    return series.cast(like.dtype) if whole else series


@record_method(DropIdentifiersSettings)
def drop_identifiers(records: InputRecords, settings: DropIdentifiersSettings) -> ChangedRecords:
    """Leave out what names someone, and look for what was overlooked.

    Options are those of `DropIdentifiersSettings`.

    Raises:
        MicrodataError: Other columns look as if they named someone.
    """
    direct, harmless = settings.direct, settings.harmless
    columns = records.frame.collect_schema().names()
    records.columns([*dict.fromkeys([*direct, *harmless])])
    hint = "drop them, or declare them as harmless"
    problems = [
        Problem(reason, name, hint)
        for name in columns
        if name not in {*direct, *harmless}
        and (reason := suspicion(records.columns([name]).to_series()))
    ]
    many = "{} columns may identify persons"
    raise_all(MicrodataError, problems, code="identifiers", many=many)
    log = pl.DataFrame({"dropped": list(direct)}, schema={"dropped": pl.String})
    return done(
        "drop_identifiers", records.with_values({}, drop=list(direct)), log, None,
        measures={"dropped": len(log)}, parameters={},
        told={"names": ", ".join(direct) or "–"},
    )  # fmt: skip


def suspicion(values: pl.Series) -> str:
    """Why a column may name someone; empty if nothing speaks for it.

    >>> suspicion(pl.Series(["a@b.org", "c@d.org", "c@d.org"]))
    'texts have the form of e-mail addresses'
    """
    known = values.drop_nulls()
    if values.dtype.is_nested() or not len(known):
        return ""
    if values.dtype in (pl.String, pl.Categorical, pl.Enum) or values.dtype.is_integer():
        texts = known.cast(pl.String).unique()
        for form, check in _FORMS.items():
            if values.dtype.is_integer() and form in _TEXTS_ONLY:
                continue
            if sum(map(check, texts.to_list())) > max(_SOME * len(texts), 0):
                return f"texts have the form of {form}"
    if values.dtype.is_float() or len(known) < FEWEST:
        return ""
    return "nearly every value occurs once" if known.n_unique() > NEARLY_ALL * len(known) else ""


def _iban(text: str) -> bool:
    plain = re.sub(r"\s", "", text).upper()
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", plain):
        return False
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


def _tax_number(text: str) -> bool:
    """German Steuer-ID: eleven digits, the last one a check (ISO 7064, modulo 11, 10)."""
    if not re.fullmatch(r"[1-9]\d{10}", text) or not 1 < max(map(text[:10].count, text)) <= 3:
        return False
    product = 10
    for sign in text[:10]:
        product = 2 * ((int(sign) + product) % 10 or 10) % 11
    return (11 - product) % 10 == int(text[10])


def _matches(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text.strip()) is not None


_FORMS: Mapping[str, Callable[[str], bool]] = {
    "bank accounts (IBAN)": _iban,
    "e-mail addresses": _matches(r"[^@\s]+@[^@\s]+\.[^@\s.]{2,}"),
    "tax numbers": _tax_number,
    "pension insurance numbers": _matches(r"\d{2}[0-3]\d[01]\d{3}[A-Z]\d{3}"),
    "telephone numbers": _matches(r"(\+|00|0)[1-9][\d /()-]{6,}\d"),
    "addresses": _matches(r".*(straße|strasse|str\.|weg|platz|gasse|street|road)\s+\d+\s*[a-z]?"),
}
_TEXTS_ONLY = ("telephone numbers",)


def _done(
    method: str, records: InputRecords, series: Mapping[str, pl.Series], settings: Mapping[str, Any]
) -> ChangedRecords:
    """The result of a recoding, with how many values changed."""
    old = records.columns(list(series))

    def texts(values: pl.Series) -> pl.Series:
        numbers = values.cast(pl.Float64) if values.dtype.is_numeric() else values
        return numbers.cast(pl.String)

    changed = {name: int((texts(old[name]) != texts(new)).sum()) for name, new in series.items()}
    log = pl.DataFrame({"variable": list(changed), "changed": list(changed.values())})
    return done(
        method, records.with_values(series), log, None,
        measures={"changed": changed}, parameters=settings, told={"names": ", ".join(series)},
    )  # fmt: skip
