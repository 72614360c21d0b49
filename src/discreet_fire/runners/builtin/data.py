"""Data in memory of a run, and their files. CONFIDENTIAL.

In: files (Stata, CSV, Parquet). Out: `DataSet`, which keeps its variables in order, finds them by
abbreviation, wildcard and range, and becomes one with another by `joined`; the bytes of a Stata
file. Each record carries its number in the microdata and whom it is about; each variable whose
values it has where these were copied.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray, TextArray
from discreet.errors import OutputCheckError
from discreet.microdata import STORAGE, raw_columns, stata_bytes
from discreet_fire.runners.builtin.syntax import (
    MISSING,
    STR_MAX,
    WHOLE,
    DoError,
    UnsupportedError,
    missing_code,
    required,
    text_column,
    text_kind,
)

NAME = re.compile(r"[A-Za-z_\u00a1-\uffff][A-Za-z0-9_\u00a1-\uffff]{0,31}\Z")
_RESERVED = frozenset(
    ("_all", "_b", "_coef", "_cons", "_n", "_N", "_pi", "_pred", "_rc", "_skip", "byte", "double",
     "float", "if", "in", "int", "long", "using", "with")
)  # fmt: skip
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?\Z")
#: In place of a source: the value is the record's own.
OWN = -1
#: The number of the first record as one that stands for itself; named persons have smaller ones.
FIRST_RECORD = 2**40
_KINDS: dict[Any, str] = {pl.Int8: "int", pl.UInt8: "int", pl.Int16: "long", pl.UInt16: "long"}


@dataclass(frozen=True, repr=False, eq=False)
class DataVariable:
    """One variable (confidential): numbers (missing ones as large numbers) or texts.

    Where values were copied from other records, `sources` say whose each is, once for each way
    they came.
    """

    values: FloatArray | TextArray
    kind: str = "float"  # byte, int, long, float, double, str# or strL
    layout: str = ""  # display format; empty for the default one
    label: str = ""
    value_label: str = ""
    sources: tuple[IntArray, ...] = ()
    single: bool = False  # whether it rests on single values of the data: it is never shown
    derived: bool = False  # whether the program has made or changed it
    free: bool = False  # whether it was made without any data, such as a constant

    @property
    def is_text(self) -> bool:
        """Whether it holds texts."""
        return self.kind.startswith("str")

    @property
    def format(self) -> str:
        """Its display format."""
        if self.layout:
            return self.layout
        if self.is_text:
            return f"%{max(9, int(self.kind[3:])) if self.kind != 'strL' else 9}s"
        widths = {"byte": "%8.0g", "int": "%8.0g", "long": "%12.0g", "double": "%10.0g"}
        return widths.get(self.kind, "%9.0g")

    @property
    def missing(self) -> BoolArray:
        """Missing values: `.` to `.z`, or an empty text."""
        gaps = self.values == "" if self.is_text else self.values >= MISSING
        return np.asarray(gaps, dtype=np.bool_)

    def taken(self, rows: Any) -> DataVariable:
        """A copy with some records, or in another order."""
        sources = tuple(one[rows] for one in self.sources)
        return replace(self, values=self.values[rows], sources=sources)

    def __repr__(self) -> str:
        return f"<Variable {self.kind} (confidential)>"


@dataclass
class DataSet:
    """Variables of one length, in order (confidential); of each value label the texts.

    `records` are numbers in the microdata, `units` say whom each is about, -1 if that is not
    known; they are empty until the data are numbered.
    """

    variables: dict[str, DataVariable] = field(default_factory=dict)
    rows: int = 0
    value_labels: dict[str, dict[float, str]] = field(default_factory=dict)
    sorted_by: tuple[str, ...] = ()
    panel: tuple[str, str] = ("", "")  # the panel and its time variable, where they are set
    label: str = ""
    records: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    units: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    named: bool = False  # whether a variable says whom the records are about
    doubted: bool = False  # whether single values decided which records there are

    def __repr__(self) -> str:
        return f"<DataSet (confidential): {len(self.variables)} variables>"

    @property
    def whose(self) -> IntArray:
        """Whose the values are: the record stands for itself where nobody is known."""
        return np.where(self.units >= 0, self.units, self.records + FIRST_RECORD)

    def find(self, name: str) -> str | None:
        """The full name of a variable, from its name or a unique abbreviation."""
        if name in self.variables:
            return name
        matches = [known for known in self.variables if known.startswith(name)] if name else []
        DoError.when(len(matches) > 1, f"{name} ambiguous abbreviation", 111)
        return matches[0] if matches else None

    def full(self, name: str) -> str:
        """The full name; an error if there is none."""
        return required(self.find(name), f"variable {name} not found", 111)

    def listed(self, text: str) -> list[str]:
        """The variables of a list, each once: names, `*`, `?`, `~`, ranges `a-b` and `_all`."""
        names: list[str] = []
        for word in re.sub(r"\s*-\s*", "-", text.strip()).split():
            known = list(self.variables)
            if word == "_all":
                names += known
            elif any(sign in word for sign in "*?~"):
                matches = [one for one in known if fnmatchcase(one, word.replace("~", "*"))]
                DoError.when(not matches, f"no variables match {word}", 111)
                names += matches
            elif "-" in word:
                start, end = (known.index(self.full(one)) for one in word.split("-", 1))
                DoError.when(start > end, f"variables out of order: {word}", 111)
                names += known[start : end + 1]
            else:
                names.append(self.full(word))
        return list(dict.fromkeys(names))

    def check_new(self, name: str) -> None:
        """Raise an error if a name cannot be a new variable."""
        if not NAME.match(name) or name in _RESERVED or re.match(r"str\d+\Z", name):
            raise DoError(f"{name} invalid name")
        DoError.when(name in self.variables, f"variable {name} already defined", 110)

    def put(self, name: str, variable: DataVariable) -> None:
        """Set a variable; what is sorted by it is sorted no more."""
        if name in self.sorted_by:
            self.sorted_by = self.sorted_by[: self.sorted_by.index(name)]
        self.variables[name] = variable

    def drop(self, names: Iterable[str]) -> None:
        """Remove variables."""
        for name in names:
            self.variables.pop(name, None)
            if name in self.sorted_by:
                self.sorted_by = self.sorted_by[: self.sorted_by.index(name)]
            if name in self.panel:
                self.panel = ("", "")

    def take(self, rows: Any) -> None:
        """Keep some records (mask or row numbers), in the order given."""
        self.variables = {name: one.taken(rows) for name, one in self.variables.items()}
        self.records, self.units = self.records[rows], self.units[rows]
        self.rows = len(self.records)

    def keys(self, names: Sequence[str]) -> pl.DataFrame:
        """The values of variables as they are: missing numbers are larger than all others."""
        return pl.DataFrame({name: self.variables[name].values.tolist() for name in names})

    def frame(self, names: Sequence[str], rows: Any = slice(None)) -> pl.DataFrame:
        """Variables for polars; missing numbers and empty texts are null."""
        columns = []
        for name in names:
            variable = self.variables[name]
            values = variable.values[rows]
            if variable.is_text:
                column = pl.Series(name, [text or None for text in values], dtype=pl.String)
            else:
                known = np.where(values >= MISSING, np.nan, values).astype(np.float64)
                column = pl.Series(name, known, nan_to_null=True, dtype=pl.Float64)
            columns.append(column.cast(pl.Int64) if variable.kind in WHOLE else column)
        return pl.DataFrame(columns)

    @classmethod
    def of(cls, frame: pl.DataFrame) -> DataSet:
        """From a polars frame: nulls are `.`, or empty for texts."""
        return cls({one.name: _variable_of(one) for one in frame.get_columns()}, frame.height)


def _variable_of(column: pl.Series) -> DataVariable:
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        texts = text_column(column.cast(pl.String).fill_null("").to_list())
        return DataVariable(texts, text_kind(texts))
    kind, layout = _KINDS.get(column.dtype, "double"), ""
    if column.dtype == pl.Date:
        column, kind, layout = column.cast(pl.Int32).cast(pl.Float64) + 3653.0, "long", "%td"
    elif column.dtype == pl.Boolean:
        kind = "byte"
    elif not column.dtype.is_numeric():
        raise DoError(f"variable {column.name} is of a type that cannot be used", 109)
    elif column.dtype == pl.Float32:
        kind = "float"
    filled = column.cast(pl.Float64).fill_null(MISSING).fill_nan(MISSING)
    return DataVariable(np.array(filled.to_numpy(), dtype=np.float64), kind, layout)


# --- files --------------------------------------------------------------------------------


def read_data(path: Path) -> DataSet:
    """The data of a file, by its ending: .dta, .csv, .tsv, .txt or .parquet."""
    DoError.when(not path.is_file(), "file not found", 601)
    ending = path.suffix.lower()
    if ending == ".dta":
        return _read_stata(path)
    if ending in (".csv", ".tsv", ".txt"):
        return _read_text(path)
    if ending != ".parquet":
        message, hint = "data of this kind cannot be read", "give a .dta, .csv or .parquet file"
        raise OutputCheckError(message, code="file-kind", where=path.name, hint=hint)
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _damaged(path, error) from None
    wrong = [name for name in frame.columns if not NAME.match(name)]
    if wrong:
        message = f"no legal name of a variable: {wrong[0][:40]!r}"
        hint = "rename the column: letters, digits and _, at most 32"
        raise OutputCheckError(message, code="file-names", where=path.name, hint=hint)
    return DataSet.of(frame)


def _damaged(path: Path, error: Exception) -> OutputCheckError:
    """Texts of other packages' errors may quote the file, so only their kind is said."""
    message = f"the file cannot be read ({type(error).__name__})"
    hint = "check that the file is complete"
    return OutputCheckError(message, code="file-content", where=path.name, hint=hint)


def _read_stata(path: Path) -> DataSet:
    try:
        package = importlib.import_module("pyreadstat")
    except ImportError:
        message, hint = "Stata files need the package pyreadstat", "pip install 'discreet[stat]'"
        raise OutputCheckError(
            message, code="missing-package", where=path.name, hint=hint
        ) from None
    try:
        frame, meta = raw_columns(package, path)
    except Exception as error:
        # The package raises bare exceptions whose texts may quote the file.
        raise _damaged(path, error) from None
    data = DataSet(rows=meta.number_rows, label=meta.file_label or "")
    for name in meta.column_names:
        column, layout = frame[name], meta.original_variable_types.get(name) or ""
        label = meta.column_names_to_labels.get(name) or ""
        if meta.readstat_variable_types[name] == "string":
            texts = text_column("" if value is None else value for value in column)
            data.variables[name] = DataVariable(texts, text_kind(texts), layout, label)
            continue
        kind = STORAGE.get(meta.readstat_variable_types[name], "double")
        values = np.array([_code(value) for value in column], dtype=np.float64)
        labels = meta.variable_to_label.get(name, "")
        data.variables[name] = DataVariable(values, kind, layout, label, labels)
    for name, texts in meta.value_labels.items():
        data.value_labels[name] = {_code(value): text for value, text in texts.items()}
    return data


def _code(value: Any) -> float:
    """A number of pyreadstat, which gives `.a` as "a"."""
    if isinstance(value, str):
        return missing_code(f".{value}") or MISSING
    return MISSING if value is None or value != value else float(value)


def _read_text(path: Path) -> DataSet:
    """Delimited text: sign and header are looked for in the first line; empty cells are missing."""
    try:
        content = path.read_bytes().decode().removeprefix("\ufeff")
        if not content.strip():
            return DataSet()
        first = content.partition("\n")[0].strip()
        sign = max("\t;,", key=first.count)
        headed = not any(_NUMBER.match(one) for one in first.split(sign))
        frame = pl.read_csv(
            content.encode(),
            has_header=headed,
            separator=sign,
            infer_schema_length=None,
            null_values=["."],
        )
    except (OSError, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        raise _damaged(path, error) from None
    names: list[str] = []
    for at, text in enumerate(frame.columns if headed else [""] * frame.width, 1):
        name = re.sub(r"[^A-Za-z0-9_\u00a1-\uffff]", "", text)[:32]
        name = f"_{name}"[:32] if name[:1].isdigit() else name
        names.append(name if name and name not in names else f"v{at}")
    frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
    return DataSet.of(frame.with_columns(pl.col(pl.Boolean).cast(pl.String)))


def dta_bytes(data: DataSet) -> bytes:
    """The bytes of a Stata file, without a time stamp: the same data give the same bytes."""
    if any(one.kind == "strL" for one in data.variables.values()):
        raise UnsupportedError(f"texts of more than {STR_MAX} bytes in a file")
    return stata_bytes(
        data.variables,
        data.rows,
        label=data.label,
        value_labels=data.value_labels,
        sorted_by=data.sorted_by,
    )


# --- two data sets that become one --------------------------------------------------------


def paired_rows(
    master: DataSet, using: DataSet, keys: Sequence[str]
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Numbers for the combinations of keys in both data sets, and the rows that go together.

    Rows are sorted by their keys, -1 stands where there is none; rows of the file alone come last.
    """
    for name in keys:
        DoError.when(name not in using.variables, f"variable {name} not found in using data", 111)
        same = master.variables[name].is_text == using.variables[name].is_text
        DoError.when(not same, f"key variable {name} is of two types", 106)
    both = pl.concat([master.keys(keys), using.keys(keys)], how="vertical_relaxed")
    codes = both.select(pl.struct(keys).rank("dense")).to_series().cast(pl.Int64)
    ours, theirs = codes[: master.rows].alias("key"), codes[master.rows :].alias("key")
    pairs = (
        pl.DataFrame(ours)
        .with_row_index("row")
        .join(pl.DataFrame(theirs).with_row_index("other"), on="key", how="full", coalesce=True)
    )
    pairs = pairs.select("key", pl.col("row", "other").cast(pl.Int64).fill_null(-1))
    pairs = pairs.sort(pl.col("row") < 0, "key", "row", "other")
    return ours.to_numpy(), theirs.to_numpy(), pairs["row"].to_numpy(), pairs["other"].to_numpy()


def joined(
    master: DataSet, using: DataSet, rows: IntArray, others: IntArray, names: Sequence[str]
) -> DataSet:
    """Both data sets, row by row: where both have a variable, the master's values count.

    `rows` are those of the master, `others` those of the other data, -1 where there is none. Of
    the other data `names` are taken. Copied values carry whose they are.
    """
    result = DataSet(rows=len(rows), label=master.label, panel=master.panel)
    result.named = master.named or using.named
    result.doubted = master.doubted or using.doubted
    result.value_labels = {**using.value_labels, **master.value_labels}
    result.records = np.where(rows >= 0, _at(master.records, rows), _at(using.records, others))
    inside = rows >= 0 if master.named or not using.named else others < 0
    sides = ((master, rows), (using, others))
    whom = [
        _at(data.units, at) if data.named == result.named else np.full(len(rows), -1)
        for data, at in sides
    ]
    result.units = np.where(inside, *whom)
    for name in dict.fromkeys([*master.variables, *names]):
        parts = [(data, at) for data, at in sides if name in data.variables]
        if name not in names:
            parts = parts[:1]
        result.variables[name] = _joined_variable(name, parts, result.units)
    return result


def _at(values: Any, rows: IntArray) -> Any:
    """Values at rows, anything where there is none."""
    return values[np.maximum(rows, 0)] if len(values) else np.full(len(rows), -1)


def _joined_variable(
    name: str, parts: Sequence[tuple[DataSet, IntArray]], own: IntArray
) -> DataVariable:
    """A variable of one or two data sets, the values of the first one where it has the row."""
    variables = [data.variables[name] for data, _ in parts]
    first = variables[0]
    DoError.when(len({one.is_text for one in variables}) > 1, f"{name} is of two types", 106)
    filled = np.zeros(len(own), dtype=np.bool_)
    values: Any = text_column([""] * len(own)) if first.is_text else np.full(len(own), MISSING)
    sources: list[IntArray] = []
    for variable, (data, rows) in zip(variables, parts, strict=True):
        fresh = ~filled & (rows >= 0)
        if fresh.any():
            values[fresh] = variable.values[rows[fresh]]
        known = rows[rows >= 0]
        repeats = len(np.unique(known)) < len(known)
        maps = [
            np.where(rows >= 0, _at(np.where(one == OWN, data.whose, one), rows), OWN)
            for one in variable.sources or ((data.whose,) if repeats else ())
        ]
        pairs = zip_longest(sources, maps, fillvalue=np.full(len(own), OWN))
        sources = [np.where(fresh, new, old) for old, new in pairs]
        filled |= fresh
    same = len({one.kind for one in variables}) == 1
    return replace(
        first,
        values=values,
        kind=text_kind(values) if first.is_text else first.kind if same else "double",
        sources=tuple(one for one in sources if spreads(one, own)),
        single=any(one.single for one in variables),
        derived=any(one.derived for one in variables),
        free=all(one.free for one in variables),
    )


def spreads(source: IntArray, own: IntArray) -> bool:
    """Whether values of one are held by the records of others."""
    pairs = np.unique(np.column_stack([source, own])[source != OWN], axis=0)
    return bool(len(np.unique(pairs[:, 0])) < len(pairs))
