"""Files of Stata and SPSS (optional extra `stat`).

In: a .dta or .sav file. Out: a polars frame of its codes; value labels are not
applied. Whole numbers that the file stores as floats become whole numbers.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import polars as pl

from discreet.errors import MicrodataError

__all__ = ["read_statistical"]

_EXACT = 2**53


def read_statistical(path: Path, file_format: str) -> pl.DataFrame:
    """Read a Stata or SPSS file.

    Args:
        path: The file.
        file_format: "stata" or "spss".
    """
    try:
        pyreadstat = importlib.import_module("pyreadstat")
    except ImportError:
        raise MicrodataError(
            "Stata and SPSS files need the package pyreadstat",
            code="missing-package",
            where=str(path),
            hint="pip install 'discreet[stat]'",
        ) from None
    read = pyreadstat.read_dta if file_format == "stata" else pyreadstat.read_sav
    try:
        frame, _ = read(str(path), output_format="polars", apply_value_formats=False)
    except Exception as error:
        # The package raises bare exceptions whose texts may quote the file.
        raise MicrodataError(
            f"the file cannot be read ({type(error).__name__})",
            code="file-content",
            where=str(path),
            hint="check that the file is complete",
        ) from None
    return _whole_numbers(frame)


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
