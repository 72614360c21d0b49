"""Files of Stata, SPSS and SAS (optional extras `stat` and `sas`).

In: a path. Out: a polars frame with codes as they are stored; dates as dates; floats without a
fraction as whole numbers (CONFIDENTIAL); and the value labels of codes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from discreet.errors import MicrodataError

_EXACT = 2**53
Read = TypeVar("Read")

#: Format → function of pyreadstat, its further options, the extra, and what messages call it.
_READERS = {
    "stata": ("read_dta", {"apply_value_formats": False}, "stat", "Stata and SPSS files"),
    "spss": ("read_sav", {"apply_value_formats": False}, "stat", "Stata and SPSS files"),
    "sas": ("read_sas7bdat", {}, "sas", "SAS files"),
}


def read_statistical(path: Path, file_format: str) -> pl.DataFrame:
    """Read a Stata, SPSS or SAS file."""
    name, options, _, _ = _READERS[file_format]
    if path.suffix.lower() == ".xpt":
        name = "read_xport"

    def columns(package: Any, place: Path) -> pl.DataFrame:
        frame: pl.DataFrame = getattr(package, name)(str(place), output_format="polars", **options)[
            0
        ]
        return frame

    frame = opened_file(path, file_format, columns)
    if file_format == "sas":  # which has no missing texts: one of blanks stands for it
        frame = frame.with_columns(
            pl.when(pl.col(name).str.strip_chars() != "").then(pl.col(name)).alias(name)
            for name, kind in frame.schema.items()
            if kind == pl.String
        )
    return _whole_numbers(frame)


def value_labels(path: Path, file_format: str) -> dict[str, dict[str, str]]:
    """Column → code → the text that a Stata or SPSS file has for it."""
    name = _READERS[file_format][0]

    def labels(package: Any, place: Path) -> dict[str, dict[Any, str]]:
        by_column: dict[str, dict[Any, str]] = getattr(package, name)(
            str(place), metadataonly=True
        )[1].variable_value_labels
        return by_column

    return {
        column: {f"{code:g}" if isinstance(code, float) else str(code): text
                 for code, text in texts.items()}
        for column, texts in opened_file(path, file_format, labels).items()
    }  # fmt: skip


def opened_file(path: Path, file_format: str, read: Callable[[Any, Path], Read]) -> Read:
    """Read a file with a function of pyreadstat."""
    *_, extra, called = _READERS[file_format]
    try:
        pyreadstat = importlib.import_module("pyreadstat")
    except ImportError:
        message, hint = f"{called} need the package pyreadstat", f"pip install 'discreet[{extra}]'"
        raise MicrodataError(message, code="missing-package", where=str(path), hint=hint) from None
    try:
        return read(pyreadstat, path)
    except Exception as error:
        # The package raises bare exceptions whose texts may quote the file.
        message = f"the file cannot be read ({type(error).__name__})"
        hint = "check that the file is complete"
        raise MicrodataError(message, code="file-content", where=str(path), hint=hint) from None


def _whole_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Float columns without a fraction, as whole numbers; NaN is a missing value."""
    floats = [name for name, kind in frame.schema.items() if kind.is_float()]
    cleaned = frame.with_columns(pl.col(name).fill_nan(None) for name in floats)
    whole = [
        name
        for name in floats
        if cleaned.select(
            ((pl.col(name) == pl.col(name).round()) & (pl.col(name).abs() <= _EXACT)).all()
        ).item()
    ]
    return cleaned.with_columns(pl.col(name).cast(pl.Int64) for name in whole)
