"""Data files for a run: Stata, CSV and Parquet. CONFIDENTIAL.

In: a path. Out: a `DataSet` with types, labels, value labels, formats and, from Stata files,
extended missing values `.a` to `.z` (needs the extra `stat`).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import OutputCheckError
from discreet.output_checking.running.dataset import NAME, DataSet, Variable, variable_of
from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.formats import is_format
from discreet.output_checking.running.values import (
    FLOAT_MAX,
    LETTERS,
    MISSING,
    Floats,
    extended,
    limited,
    smallest_type,
)

__all__ = ["numbers_or_texts", "read_data", "read_delimited", "text_kind"]

_TYPES = {"int8": "byte", "int16": "int", "int32": "long", "float": "float", "double": "double"}
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?\Z")
_FLOAT_DIGITS = 7


def read_data(path: Path) -> DataSet:
    """The data of a file, by its ending: .dta, .csv, .tsv, .txt or .parquet.

    Raises:
        OutputCheckError: The file is missing, damaged or of another kind.
    """
    if not path.is_file():
        raise DoError("file not found", code=601)
    ending = path.suffix.lower()
    if ending == ".dta":
        data = _stata(path)
    elif ending in (".csv", ".tsv", ".txt"):
        data = read_delimited(path, case="preserve")
    elif ending == ".parquet":
        try:
            frame = pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise _damaged(path, error) from None
        _check_names(path, frame.columns)
        data = DataSet.of(frame)
    else:
        raise OutputCheckError(
            "data of this kind cannot be read",
            code="file-kind",
            where=path.name,
            hint="give a .dta, .csv or .parquet file",
        )
    data.settle()
    return data


def _check_names(path: Path, names: Sequence[str]) -> None:
    wrong = [name for name in names if not NAME.match(name)]
    if wrong:
        raise OutputCheckError(
            f"no legal name of a variable: {wrong[0][:40]!r}",
            code="file-names",
            where=path.name,
            hint="rename the column: letters, digits and _, at most 32",
        )


def _damaged(path: Path, error: Exception) -> OutputCheckError:
    """Texts of other packages' errors may quote the file, so only their kind is told."""
    return OutputCheckError(
        f"the file cannot be read ({type(error).__name__})",
        code="file-content",
        where=path.name,
        hint="check that the file is complete",
    )


# --- Stata ---------------------------------------------------------------------------


def _stata(path: Path) -> DataSet:
    try:
        package = importlib.import_module("pyreadstat")
    except ImportError:
        raise OutputCheckError(
            "Stata files need the package pyreadstat",
            code="missing-package",
            where=path.name,
            hint="pip install 'discreet[stat]'",
        ) from None
    given: dict[str, Any] = {"apply_value_formats": False, "disable_datetime_conversion": True}
    try:
        frame, meta = package.read_dta(str(path), output_format="dict", **given)
        gaps = [name for name, column in frame.items() if _has_gaps(column, meta, name)]
        coded: dict[str, Any] = {}
        if gaps:
            coded, _ = package.read_dta(
                str(path), output_format="dict", user_missing=True, usecols=gaps, **given
            )
    except Exception as error:
        # The package raises bare exceptions whose texts may quote the file.
        raise _damaged(path, error) from None
    data = DataSet(rows=meta.number_rows, label=meta.file_label or "")
    for name in meta.column_names:
        data.variables[name] = _variable(name, coded.get(name, frame[name]), meta)
    for name, texts in meta.value_labels.items():
        data.value_labels[name] = {_code(value): text for value, text in texts.items()}
    return data


def _is_gap(value: Any) -> bool:
    return value is None or value != value


def _has_gaps(column: Sequence[Any], meta: Any, name: str) -> bool:
    text = meta.readstat_variable_types[name] == "string"
    return not text and any(_is_gap(value) for value in column)


def _code(value: Any) -> float:
    if isinstance(value, str):
        return extended(value) if len(value) == 1 and value in LETTERS else MISSING
    return MISSING if _is_gap(value) else float(value)


def _variable(name: str, column: Sequence[Any], meta: Any) -> Variable:
    label = meta.column_names_to_labels.get(name) or ""
    layout = meta.original_variable_types.get(name) or ""
    if meta.readstat_variable_types[name] == "string":
        texts = np.empty(len(column), dtype=object)
        texts[:] = ["" if value is None else value for value in column]
        return Variable(texts, text_kind(texts), layout, label)
    kind = _TYPES.get(meta.readstat_variable_types[name], "double")
    values = np.array([_code(value) for value in column], dtype=np.float64)
    layout = layout if is_format(layout) else ""
    return Variable(values, kind, layout, label, meta.variable_to_label.get(name, ""))


def text_kind(texts: Any) -> str:
    """The storage type that holds texts.

    >>> text_kind(["a", "für"])
    'str4'
    """
    width = max((len(text.encode()) for text in texts), default=1)
    return f"str{max(width, 1)}" if width <= 2045 else "strL"


# --- delimited text --------------------------------------------------------------------


def read_delimited(
    path: Path,
    *,
    delimiter: str = "",
    header: bool | None = None,
    encoding: str = "utf8",
    case: str = "lower",
    texts: Sequence[int] = (),
) -> DataSet:
    """Data of a delimited text file.

    Args:
        path: The file.
        delimiter: What stands between values; a tab, semicolon or comma of the first line
            unless given.
        header: Whether the first line holds names; looked at unless given.
        encoding: How its bytes are to be read.
        case: Whether names are kept ("preserve"), or made "lower" or "upper".
        texts: Columns, counted from 1, that stay texts.
    """
    if not path.is_file():
        raise DoError("file not found", code=601)
    try:
        content = path.read_bytes().decode(encoding)
    except (OSError, LookupError, UnicodeDecodeError) as error:
        raise _damaged(path, error) from None
    content = content.removeprefix("\ufeff")
    first = content.partition("\n")[0]
    sign = delimiter or max("\t;,", key=first.count)
    try:
        frame = pl.read_csv(
            content.encode(),
            has_header=False,
            separator=sign,
            infer_schema=False,
        )
    except pl.exceptions.PolarsError as error:
        if not content.strip():
            return DataSet()
        raise _damaged(path, error) from None
    top = [str(value or "") for value in frame.row(0)]
    named = header if header is not None else not any(_NUMBER.match(one) for one in top if one)
    names = _names(top if named else [""] * len(top), case)
    body = frame.slice(1) if named else frame
    data = DataSet(rows=body.height)
    for at, (name, column) in enumerate(zip(names, body.get_columns(), strict=True), 1):
        values = [value or "" for value in column.to_list()]
        data.variables[name] = numbers_or_texts(values, keep_text=at in texts)
    return data


def _names(given: Sequence[str], case: str) -> list[str]:
    change = {"lower": str.lower, "upper": str.upper}.get(case, str)
    names: list[str] = []
    for at, text in enumerate(given, 1):
        name = change(re.sub(r"[^A-Za-z0-9_\u00a1-\uffff]", "", text))[:32]
        name = f"_{name}"[:32] if name[:1].isdigit() else name
        names.append(name if name and name not in names else f"v{at}")
    return names


def numbers_or_texts(texts: Sequence[str], *, keep_text: bool = False) -> Variable:
    """A variable from texts: numbers if all that are not empty are numbers.

    >>> numbers_or_texts(["1", "", "3"]).kind, numbers_or_texts(["1", "x"]).kind
    ('byte', 'str1')
    """
    stripped = [text.strip() for text in texts]
    if not keep_text and all(one in ("", ".") or _NUMBER.match(one) for one in stripped):
        numbers = [
            MISSING if one in ("", ".") else float(one.lower().replace("d", "e"))
            for one in stripped
        ]
        values = np.array(numbers, dtype=np.float64)
        return _numeric(np.where(np.abs(values) < MISSING, values, MISSING), stripped)
    column = np.empty(len(texts), dtype=object)
    column[:] = list(texts)
    return variable_of(pl.Series("x", column.tolist(), dtype=pl.String))


def _numeric(values: Floats, texts: Sequence[str]) -> Variable:
    """Whole numbers in the smallest type; others as float where its 7 digits are enough."""
    kind = smallest_type(values)
    if kind in ("float", "double") and values.size:
        known = values[values < MISSING]
        digits = max(len(re.sub(r"[eE].*|\D", "", one).lstrip("0")) for one in texts)
        short = digits <= _FLOAT_DIGITS and bool((np.abs(known) <= FLOAT_MAX).all())
        kind = "float" if short else "double"
    return Variable(limited(values, kind), kind)
