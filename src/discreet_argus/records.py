"""Records of fixed width, or with a separator, that a `.rda` file describes.

In: a file of records (`.asc`) and its description, by default the `.rda` beside it. Out: a
polars frame with one column per variable, codes of missing values as nulls. CONFIDENTIAL.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from discreet.errors import MicrodataError, SuppressionError
from discreet.microdata import ReadingOptions
from discreet_argus.metadata import read_rda, read_records


def description_of(path: Path, options: ReadingOptions) -> Path:
    """The file that describes the records."""
    if options.metadata:
        return Path(options.metadata)
    bare = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    for suffix in (".rda", ".RDA"):
        if bare.with_suffix(suffix).is_file():
            return bare.with_suffix(suffix)
    raise MicrodataError(
        "the description of the columns is missing",
        code="file-missing",
        where=str(path),
        hint=f'put {bare.stem}.rda next to it, or add metadata = "columns.rda"',
    )


def read_records_file(path: Path, options: ReadingOptions) -> pl.DataFrame:
    """Read the records."""
    try:
        described = read_rda(description_of(path, options), of="records", encoding=options.encoding)
        frame = read_records(path, described, encoding=options.encoding)
    except SuppressionError as error:
        raise MicrodataError(
            error.what, code=error.code, where=error.where, hint=error.hint, problems=error.problems
        ) from None
    nulls = {
        variable.name: [*variable.missing, ""]
        for variable in described.variables
        if frame.schema[variable.name] == pl.String
    }
    texts = {name: pl.col(name) for name in nulls}
    return frame.with_columns(
        pl.when(~texts[name].str.strip_chars().is_in([code.strip() for code in codes]))
        .then(texts[name])
        .alias(name)
        for name, codes in nulls.items()
    )
