"""Data files of a run: Stata, CSV and Parquet read, Stata format 118 written. CONFIDENTIAL.

In: a path, or a `DataSet`. Out: a `DataSet` with types, labels, value labels, formats and, from
Stata files, extended missing values `.a` to `.z` (needs the extra `stat`); or the bytes of a
file that Stata 14 and later can read, without a time stamp: the same data give the same bytes.
After Stata's published description of the format (`help dta`). A note beside a saved file,
found again by the digest of its bytes, says which variables rest on single values.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray
from discreet.errors import OutputCheckError
from discreet.files import write_text
from discreet.microdata import STORAGE, raw_columns, stata_bytes
from discreet_fire.runners.builtin.data.dataset import NAME, DataSet, DataVariable, text_variable
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.language.values import (
    FLOAT_MAX,
    LETTERS,
    MISSING,
    extended,
    is_format,
    limited,
    smallest_type,
)

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?\Z")
_FLOAT_DIGITS = 7


def read_data(path: Path) -> DataSet:
    """The data of a file, by its ending: .dta, .csv, .tsv, .txt or .parquet."""
    DoError.when(not path.is_file(), "file not found", code=601)
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
        hint = "give a .dta, .csv or .parquet file"
        raise _unreadable(path, "data of this kind cannot be read", "file-kind", hint)
    data.settle()
    return data


def _check_names(path: Path, names: Sequence[str]) -> None:
    wrong = [name for name in names if not NAME.match(name)]
    if wrong:
        hint = "rename the column: letters, digits and _, at most 32"
        message = f"no legal name of a variable: {wrong[0][:40]!r}"
        raise _unreadable(path, message, "file-names", hint)


def _damaged(path: Path, error: Exception) -> OutputCheckError:
    """Texts of other packages' errors may quote the file, so only their kind is told."""
    message = f"the file cannot be read ({type(error).__name__})"
    return _unreadable(path, message, "file-content", "check that the file is complete")


def _unreadable(path: Path, message: str, code: str, hint: str) -> OutputCheckError:
    return OutputCheckError(message, code=code, where=path.name, hint=hint)


# --- Stata ---------------------------------------------------------------------------


def _stata(path: Path) -> DataSet:
    try:
        package = importlib.import_module("pyreadstat")
    except ImportError:
        message, hint = "Stata files need the package pyreadstat", "pip install 'discreet[stat]'"
        raise _unreadable(path, message, "missing-package", hint) from None
    try:
        frame, meta = raw_columns(package, path)
    except Exception as error:
        # The package raises bare exceptions whose texts may quote the file.
        raise _damaged(path, error) from None
    data = DataSet(rows=meta.number_rows, label=meta.file_label or "")
    for name in meta.column_names:
        data.variables[name] = _variable(name, frame[name], meta)
    for name, texts in meta.value_labels.items():
        data.value_labels[name] = {_code(value): text for value, text in texts.items()}
    return data


def _is_gap(value: Any) -> bool:
    return value is None or value != value


def _code(value: Any) -> float:
    if isinstance(value, str):
        return extended(value) if len(value) == 1 and value in LETTERS else MISSING
    return MISSING if _is_gap(value) else float(value)


def _variable(name: str, column: Sequence[Any], meta: Any) -> DataVariable:
    label = meta.column_names_to_labels.get(name) or ""
    layout = meta.original_variable_types.get(name) or ""
    if meta.readstat_variable_types[name] == "string":
        texts = text_variable("" if value is None else value for value in column)
        return replace(texts, layout=layout, label=label)
    kind = STORAGE.get(meta.readstat_variable_types[name], "double")
    values = np.array([_code(value) for value in column], dtype=np.float64)
    layout = layout if is_format(layout) else ""
    return DataVariable(values, kind, layout, label, meta.variable_to_label.get(name, ""))


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

    A delimiter and a header that are not given are looked for in the first line. Names are kept
    (case "preserve") or made "lower" or "upper"; `texts` are columns, from 1, that stay texts.
    """
    DoError.when(not path.is_file(), "file not found", code=601)
    try:
        content = path.read_bytes().decode(encoding)
    except (OSError, LookupError, UnicodeDecodeError) as error:
        raise _damaged(path, error) from None
    content = content.removeprefix("\ufeff")
    first = content.partition("\n")[0]
    sign = delimiter or max("\t;,", key=first.count)
    try:
        frame = pl.read_csv(content.encode(), has_header=False, separator=sign, infer_schema=False)
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


def _names(texts: Sequence[str], case: str) -> list[str]:
    change = {"lower": str.lower, "upper": str.upper}.get(case, str)
    names: list[str] = []
    for at, text in enumerate(texts, 1):
        name = change(re.sub(r"[^A-Za-z0-9_\u00a1-\uffff]", "", text))[:32]
        name = f"_{name}"[:32] if name[:1].isdigit() else name
        names.append(name if name and name not in names else f"v{at}")
    return names


def numbers_or_texts(texts: Sequence[str], *, keep_text: bool = False) -> DataVariable:
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
    return text_variable(texts)


def _numeric(values: FloatArray, texts: Sequence[str]) -> DataVariable:
    """Whole numbers in the smallest type; others as float where its 7 digits are enough."""
    kind = smallest_type(values)
    if kind in ("float", "double") and values.size:
        known = values[values < MISSING]
        digits = max(len(re.sub(r"[eE].*|\D", "", one).lstrip("0")) for one in texts)
        short = digits <= _FLOAT_DIGITS and bool((np.abs(known) <= FLOAT_MAX).all())
        kind = "float" if short else "double"
    return DataVariable(limited(values, kind), kind)


def dta_bytes(data: DataSet) -> bytes:
    """The bytes of a Stata file."""
    kinds = [one.kind for one in data.variables.values()]
    UnsupportedError.when("strL" in kinds, "saving strL variables")
    return stata_bytes(
        data.variables,
        data.rows,
        label=data.label,
        value_labels=data.value_labels,
        sorted_by=data.sorted_by,
    )


#: The file of the notes, in the folder of the data.
NOTES = ".discreet-saved.json"


def note_marks(path: Path, content: bytes, variables: Iterable[str], made: Iterable[str]) -> None:
    """Note of the content of a file that was just saved, which variables rest on single values.

    Noted too is which of them the program has made or changed.
    """
    marked = sorted(variables)
    known = _notes(path.parent)
    if not marked and not known:
        return
    known[_digest(content)] = {"variables": marked, "made": sorted(made)}
    text = json.dumps(known, ensure_ascii=False, indent=1, sort_keys=True)
    write_text(path.parent / NOTES, text + "\n", private=True)


def marks_of(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The variables of a file that rest on single values, and those that a program made."""
    known = _notes(path.parent)
    if not known:
        return frozenset(), frozenset()
    marks = known.get(_digest(path.read_bytes()), {})
    return frozenset(marks.get("variables", ())), frozenset(marks.get("made", ()))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _notes(folder: Path) -> dict[str, dict[str, list[str]]]:
    place = folder / NOTES
    if not place.exists():
        return {}
    try:
        notes = json.loads(place.read_text("utf-8"))
        return {
            str(digest): {str(key): [str(name) for name in names] for key, names in note.items()}
            for digest, note in notes.items()
        }
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        raise DoError(f"the notes on saved data, {NOTES}, cannot be read", code=610) from None
