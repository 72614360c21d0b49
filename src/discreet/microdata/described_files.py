"""Records with all that their file says of them: labels, formats, types, kinds of missing values.

In: a path or frame. Out: `DescribedRecords`, each variable with its values (CONFIDENTIAL) and its
description; or such records as a file of Stata, SPSS, CSV or Parquet, without a time stamp.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import Problem, PublicationError, raise_all
from discreet.files import atomic_path
from discreet.microdata.csv_files import CsvFile
from discreet.microdata.detection import detect_reading
from discreet.microdata.file_formats import format_of
from discreet.microdata.reading_options import ReadingOptions
from discreet.microdata.records import read_microdata
from discreet.microdata.stata_files import (
    LETTERS,
    MISSING,
    STEP,
    STORAGE,
    STR_MAX,
    WHOLE,
    raw_columns,
    stata_bytes,
)
from discreet.microdata.statistical_files import opened_file
from discreet.record_batches import collected

_DAY, _TIME = re.compile(r"%-?(?:td|d)(?!\w*[fgesc]\Z)"), re.compile(r"%-?t[cC]")
_STATA_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}\Z")
#: Stata counts from 1960, in days or milliseconds.
_DAYS_TO_1960, _DAY_LENGTH = -3653, 86_400_000
#: Where the head of an SPSS file says when it was written.
_SPSS_STAMP, _NO_STAMP = slice(92, 109), b"01 Jan 7000:00:00"
#: Formats that described records can be written in.
WRITTEN = ("stata", "spss", "csv", "parquet")


@dataclass(frozen=True, kw_only=True, repr=False)
class DescribedVariable:
    """A variable."""

    name: str
    values: pl.Series  # its values, null where they are missing. CONFIDENTIAL
    #: Where they are missing, the kind of missing value: "" for the usual one, a letter (Stata), a
    #: code that stands for missing (SPSS); elsewhere null. CONFIDENTIAL
    reasons: pl.Series
    label: str = ""  # what it is called
    storage: str = ""  # type in a Stata file
    format: str = ""  # how it is shown
    #: Labels of its values, and of kinds of missing values
    value_labels: Mapping[Any, str] = field(default_factory=dict)
    label_set: str = ""  # the name that Stata gives to these labels
    #: Codes that stand for missing values: values, or ranges with lo and hi (SPSS)
    missing: Sequence[Any] = ()
    measure: str = ""  # level of measurement (SPSS)

    @property
    def is_text(self) -> bool:
        """Whether its values are texts."""
        return self.values.dtype in (pl.String, pl.Categorical, pl.Enum)


@dataclass(frozen=True, kw_only=True, repr=False)
class DescribedRecords:
    """Records and what their file says of them. CONFIDENTIAL as the values are."""

    variables: Sequence[DescribedVariable]  # the variables, in order
    format: str  # format of the file they come from; "frame" if from none
    label: str = ""  # what the file is called
    separator: str = ","  # the sign between fields of a CSV file
    decimal_comma: bool = False  # whether a comma stands before decimals there

    @property
    def frame(self) -> pl.DataFrame:
        """The values alone."""
        return pl.DataFrame([one.values for one in self.variables])

    def __repr__(self) -> str:
        return f"<DescribedRecords: {len(self.variables)} variables>"


def described_records(source: Any, **reading: Any) -> DescribedRecords:
    """Records with their description."""
    if isinstance(source, str | os.PathLike) and not reading and Path(source).is_file():
        path = Path(source)
        if (kind := format_of(path, None)) in ("stata", "spss"):
            return opened_file(path, kind, _stata if kind == "stata" else _spss)
    frame = collected(read_microdata(source, **reading))
    kind, layout = "frame", {}
    if isinstance(source, str | os.PathLike) and Path(source).is_file():
        kind = format_of(Path(source), reading.get("format"))
        layout = _csv_layout(Path(source), reading) if kind == "csv" else {}
    return DescribedRecords(
        variables=[plain_variable(column) for column in frame],
        format=kind,
        **layout,
    )


def plain_variable(column: pl.Series) -> DescribedVariable:
    """A column of which nothing is said."""
    return DescribedVariable(name=column.name, values=column, reasons=_plain(column))


def _csv_layout(path: Path, reading: Mapping[str, Any]) -> dict[str, Any]:
    """How fields and decimals are written."""
    calls = ("detect", "format", "options", "table", "query")
    stated = {key: value for key, value in reading.items() if key not in calls}
    options = ReadingOptions.of(stated, reading.get("options"))
    if reading.get("detect"):
        options = detect_reading(path, options=options).options
    return {
        "separator": CsvFile.opened(path, options).separator,
        "decimal_comma": options.decimal == ",",
    }


def _plain(column: pl.Series) -> pl.Series:
    """The usual missing value wherever there is none."""
    return pl.select(pl.when(column.is_null()).then(pl.lit(""))).to_series().alias(column.name)


def _stata(package: Any, path: Path) -> DescribedRecords:
    frame, meta = raw_columns(package, path)
    variables = []
    for name in meta.column_names:
        column, layout = frame[name], meta.original_variable_types.get(name) or ""
        kind = meta.readstat_variable_types[name]
        if kind == "string":
            values = pl.Series(name, [value or None for value in column], dtype=pl.String)
            # The package counts the zero byte that ends a text.
            width = min(max(int(meta.variable_storage_width[name]) - 1, 1), STR_MAX)
            storage, reasons = f"str{width}", _plain(values)
        else:
            storage = STORAGE.get(kind, "double")
            codes = [value if isinstance(value, str) else None for value in column]
            numbers = [None if isinstance(v, str) or v != v else v for v in column]
            known = pl.Series(name, numbers, dtype=pl.Float64)
            reasons = pl.Series(name, codes, dtype=pl.String)
            reasons = reasons.zip_with(reasons.is_not_null(), _plain(known))
            values = known
            if _DAY.match(layout):
                values = (known.floor().cast(pl.Int32) + _DAYS_TO_1960).cast(pl.Date)
            elif _TIME.match(layout):
                passed = known.round().cast(pl.Int64) + _DAYS_TO_1960 * _DAY_LENGTH
                values = passed.cast(pl.Datetime("ms"))
            elif storage in WHOLE:
                values = known.cast(pl.Int64)
        variables.append(
            DescribedVariable(
                name=name,
                values=values,
                reasons=reasons,
                label=meta.column_names_to_labels.get(name) or "",
                storage=storage,
                format=layout,
                value_labels=meta.variable_value_labels.get(name, {}),
                label_set=meta.variable_to_label.get(name, ""),
            )
        )
    return DescribedRecords(variables=variables, format="stata", label=meta.file_label or "")


def _spss(package: Any, path: Path) -> DescribedRecords:
    frame, meta = package.read_sav(str(path), user_missing=True, output_format="polars")
    variables = []
    for name in meta.column_names:
        column: pl.Series = frame[name]
        ranges = meta.missing_ranges.get(name, [])
        if column.dtype == pl.String:
            column = column.replace("", None)
        elif column.dtype.is_float():
            column = column.fill_nan(None)
        coded = pl.Series([False]).new_from_index(0, len(column))
        for item in ranges:
            low, high = (item["lo"], item["hi"]) if isinstance(item, dict) else (item, item)
            coded = coded | column.is_between(low, high).fill_null(value=False)
        values = column.set(coded, None) if coded.any() else column
        reasons = column.cast(pl.String).zip_with(coded, _plain(values))
        variables.append(
            DescribedVariable(
                name=name,
                values=values,
                reasons=reasons,
                label=meta.column_names_to_labels.get(name) or "",
                format=meta.original_variable_types.get(name) or "",
                value_labels=meta.variable_value_labels.get(name, {}),
                missing=[
                    entry["lo"] if isinstance(entry, dict) and entry["lo"] == entry["hi"] else entry
                    for entry in ranges
                ],
                measure=meta.variable_measure.get(name) or "",
            )
        )
    return DescribedRecords(variables=variables, format="spss", label=meta.file_label or "")


def check_writable_as(records: DescribedRecords, path: Path) -> str:
    """The format of a file that the records can be written to; else an error."""
    kind = format_of(path, None)
    problems = []
    if kind not in WRITTEN or path.name.lower().endswith(".gz"):
        message = "unknown suffix: use .dta, .sav, .csv or .parquet"
        problems.append(Problem(message, str(path)))
    if kind in ("stata", "spss"):
        allowed, most = (_STATA_NAME, 32) if kind == "stata" else (re.compile(r"[^\W\d]\w*\Z"), 64)
        problems += [
            Problem(f"names can have at most {most} letters, digits and _", one.name, "rename it")
            for one in records.variables
            if not allowed.match(one.name) or len(one.name) > most
        ]
    raise_all(PublicationError, problems, code="format")
    return kind


def write_described(records: DescribedRecords, path: str | os.PathLike[str]) -> Path:
    """Write records to a .dta, .sav, .csv or .parquet file, atomically."""
    place = Path(path)
    kind = check_writable_as(records, place)
    with atomic_path(place) as temporary:
        if kind == "stata":
            temporary.write_bytes(_stata_content(records))
        elif kind == "spss":
            _write_spss(records, temporary)
        elif kind == "csv":
            records.frame.write_csv(
                temporary,
                separator="\t" if place.suffix.lower() == ".tsv" else records.separator,
                decimal_comma=records.decimal_comma,
            )
        else:
            records.frame.write_parquet(temporary)
    return place


@dataclass(frozen=True, kw_only=True, repr=False)
class _StataColumn:
    """A variable as a Stata file has it."""

    values: Any
    kind: str
    format: str
    label: str
    value_label: str


def _stata_content(records: DescribedRecords) -> bytes:
    labels: dict[str, dict[float, str]] = {}
    columns: dict[str, _StataColumn] = {}
    rows = 0
    for one in records.variables:
        rows = len(one.values)
        kept = {_stata_code(value): text for value, text in one.value_labels.items()}
        named = {code: text for code, text in kept.items() if code is not None}
        label_set = (one.label_set or one.name[:32]) if named and not one.is_text else ""
        if label_set:
            labels.setdefault(label_set, {}).update(named)
        columns[one.name] = _stata_column(one, label_set)
    return stata_bytes(columns, rows, label=records.label, value_labels=labels)


def _stata_code(value: Any) -> float | None:
    """A labelled value, or a letter, as Stata has it; only whole numbers have labels."""
    if isinstance(value, str):
        letter = len(value) == 1 and value in LETTERS
        return MISSING + (LETTERS.index(value) + 1) * STEP if letter else None
    return float(value) if float(value).is_integer() else None


def _stata_column(one: DescribedVariable, label_set: str) -> _StataColumn:
    labels = {"label": one.label, "value_label": label_set}
    own = one.format if one.format.startswith("%") else ""
    if one.is_text:
        texts = one.values.cast(pl.String).fill_null("").to_list()
        widest = max((len(text.encode()) for text in texts), default=1)
        kind = one.storage or f"str{min(max(widest, 1), STR_MAX)}"
        return _StataColumn(
            values=texts, kind=kind, format=own or f"%{max(9, int(kind[3:]))}s", **labels
        )
    values, usual = _stata_numbers(one.values)
    codes = one.reasons.replace_strict(
        {letter: MISSING + (at + 1) * STEP for at, letter in enumerate(LETTERS)},
        default=MISSING,
        return_dtype=pl.Float64,
    )
    numbers = np.where(values.is_null(), codes.fill_null(MISSING), values.fill_null(0.0))
    kind = one.storage or _kind(values, one.values.dtype)
    widths = {"byte": "%8.0g", "int": "%8.0g", "long": "%12.0g", "double": "%10.0g"}
    return _StataColumn(
        values=numbers, kind=kind, format=own or usual or widths.get(kind, "%9.0g"), **labels
    )


def _kind(values: pl.Series, dtype: pl.DataType) -> str:
    """The storage type of numbers of which no file says one."""
    if dtype.is_float() or dtype.is_decimal() or dtype in (pl.Datetime, pl.Time):
        return "double"
    low, high = (float(end or 0) for end in (values.min(), values.max()))  # type: ignore[arg-type]
    fits = (kind for kind, (least, most) in WHOLE.items() if least <= low and high <= most)
    return next(fits, "double")


def _stata_numbers(values: pl.Series) -> tuple[pl.Series, str]:
    """Values as Stata's numbers, and the format of dates and times."""
    if values.dtype == pl.Date:
        shifted = values.to_physical().cast(pl.Int64) - _DAYS_TO_1960
        return shifted.cast(pl.Float64), "%td"
    if values.dtype == pl.Datetime:
        passed = values.dt.cast_time_unit("ms").to_physical()
        return (passed - _DAYS_TO_1960 * _DAY_LENGTH).cast(pl.Float64), "%tc"
    if values.dtype == pl.Time:
        return (values.to_physical() // 10**6).cast(pl.Float64), "%tcHH:MM:SS"
    return values.cast(pl.Float64), ""


def _write_spss(records: DescribedRecords, place: Path) -> None:
    try:
        package = importlib.import_module("pyreadstat")
    except ImportError:
        raise PublicationError(
            "SPSS files need the package pyreadstat",
            code="missing-package",
            where=str(place),
            hint="pip install 'discreet[stat]'",
        ) from None
    variables = records.variables
    texts = {one.name for one in variables if one.is_text}
    codes = {one.name: one.missing for one in variables if one.missing}
    labels = {one.name: one.value_labels for one in variables if one.value_labels}
    formats = {one.name: one.format for one in variables if one.format and one.format[0] != "%"}
    columns = []
    for one in variables:
        values = one.values.cast(pl.String) if one.is_text else one.values
        if one.missing:
            coded = one.reasons.replace("", None).cast(values.dtype)
            values = values.zip_with(values.is_not_null(), coded)
        columns.append(values.cast(pl.Int8) if values.dtype == pl.Boolean else values)
    package.write_sav(
        pl.DataFrame(columns),
        str(place),
        file_label=records.label,
        column_labels={one.name: one.label for one in variables if one.label},
        variable_value_labels={
            name: {
                key: text
                for key, text in value_labels.items()
                if name in texts or not isinstance(key, str)  # a letter is known to Stata only
            }
            for name, value_labels in labels.items()
        },
        missing_ranges=codes,
        variable_measure={one.name: one.measure for one in variables if one.measure},
        variable_format=formats,
    )
    content = bytearray(place.read_bytes())
    content[_SPSS_STAMP] = _NO_STAMP
    place.write_bytes(content)
