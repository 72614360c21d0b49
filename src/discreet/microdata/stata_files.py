"""Stata files to the letter: storage types, formats, labels and missing values `.a` to `.z`.

In: a path, or variables as Stata holds them: texts, or 64-bit floats in which `.`, `.a` … `.z`
are the large numbers that Stata itself uses. Out: columns and metadata as pyreadstat gives them,
or the bytes of a file of format 118, which Stata 14 and later read, without a time stamp: the
same data give the same bytes. After Stata's published description of the format (`help dta`).
CONFIDENTIAL.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

LETTERS = "abcdefghijklmnopqrstuvwxyz"
#: The value of `.`; each letter is one step of the exponent's last twelve bits above it.
MISSING = 2.0**1023
STEP = 2.0**1011
#: The smallest and largest number of each whole-number type.
WHOLE = {"byte": (-127, 100), "int": (-32_767, 32_740), "long": (-2_147_483_647, 2_147_483_620)}
#: The largest number of `float`, and the longest text but for strL.
FLOAT_MAX = 1.70141173319e38
STR_MAX = 2045
#: Storage types by the words of pyreadstat.
STORAGE = {"int8": "byte", "int16": "int", "int32": "long", "float": "float", "double": "double"}

_CODES = {"double": 65526, "float": 65527, "long": 65528, "int": 65529, "byte": 65530}
_DTYPES = {"double": "<f8", "float": "<f4", "long": "<i4", "int": "<i2", "byte": "i1"}
_FIRST_MISSING = {"byte": 101, "int": 32_741, "long": 2_147_483_621}
_FLOAT_MISSING, _FLOAT_STEP = 0x7F000000, 0x800


def raw_columns(package: Any, path: Path) -> tuple[dict[str, Sequence[Any]], Any]:
    """The columns of a file, dates as numbers, `.a` as "a"; and its metadata."""
    options: dict[str, Any] = {
        "apply_value_formats": False,
        "disable_datetime_conversion": True,
        "output_format": "dict",
    }
    frame, meta = package.read_dta(str(path), **options)
    gaps = [
        name
        for name, column in frame.items()
        if meta.readstat_variable_types[name] != "string"
        and any(value is None or value != value for value in column)
    ]
    if gaps:
        # On its own: texts such as "a" stand beside numbers then.
        frame |= package.read_dta(str(path), user_missing=True, usecols=gaps, **options)[0]
    return frame, meta


def stata_bytes(
    data: Mapping[str, Any],
    rows: int,
    *,
    label: str = "",
    value_labels: Mapping[str, Mapping[float, str]],
    sorted_by: Sequence[str] = (),
) -> bytes:
    """The bytes of a file of these variables, by name.

    Each has `values` (texts, or floats with missing values as large numbers), a `kind` (byte, int,
    long, float, double or str#), a `format`, a `label`, and in `value_label` the name of the labels
    of its values.
    """
    names, variables = list(data), list(data.values())
    count = len(names)
    order = [names.index(name) + 1 for name in sorted_by]
    parts = [
        (b"variable_types", struct.pack(f"<{count}H", *map(_type_code, variables))),
        (b"varnames", _fixed(names, 129)),
        (b"sortlist", struct.pack(f"<{count + 1}H", *order, *[0] * (count + 1 - len(order)))),
        (b"formats", _fixed([one.format for one in variables], 57)),
        (b"value_label_names", _fixed([one.value_label for one in variables], 129)),
        (b"variable_labels", _fixed([one.label for one in variables], 321)),
        (b"characteristics", b""),
        (b"data", _records(variables, rows)),
        (b"strls", b""),
        (b"value_labels", b"".join(_labels(*one) for one in sorted(value_labels.items()))),
    ]
    short = _shortened(label, 320)
    header = (
        b"<stata_dta><header><release>118</release><byteorder>LSF</byteorder><K>%b</K><N>%b</N>"
        b"<label>%b%b</label><timestamp>\x00</timestamp></header>"
    ) % (
        struct.pack("<H", count),
        struct.pack("<Q", rows),
        struct.pack("<H", len(short)),
        short,
    )
    places, at = [0, len(header)], len(header) + len(b"<map></map>") + 14 * 8
    for tag, content in parts:
        places.append(at)
        at += 2 * len(tag) + 5 + len(content)
    places += [at, at + len(b"</stata_dta>")]
    body = b"".join(b"<%b>%b</%b>" % (tag, content, tag) for tag, content in parts)
    return header + b"<map>" + struct.pack("<14Q", *places) + b"</map>" + body + b"</stata_dta>"


def _type_code(variable: Any) -> int:
    return _CODES.get(variable.kind) or max(int(variable.kind.removeprefix("str")), 1)


def _fixed(texts: Sequence[str], width: int) -> bytes:
    return b"".join(_cut(text, width) for text in texts)


def _cut(text: str, width: int) -> bytes:
    return _shortened(text, width - 1).ljust(width, b"\x00")


def _shortened(text: str, width: int) -> bytes:
    """The bytes of a text, cut off between characters."""
    return text.encode()[:width].decode("utf-8", "ignore").encode()


def _records(variables: Sequence[Any], rows: int) -> bytes:
    kinds = [_DTYPES.get(one.kind, f"S{_type_code(one)}") for one in variables]
    table = np.zeros(rows, dtype=[(f"f{at}", kind) for at, kind in enumerate(kinds)])
    for at, one in enumerate(variables):
        texts = one.kind not in _DTYPES
        table[f"f{at}"] = [text.encode() for text in one.values] if texts else _numbers(one)
    return table.tobytes()


def _numbers(variable: Any) -> Any:
    """Numbers with missing ones as the type has them."""
    values = np.asarray(variable.values, dtype=np.float64)
    if variable.kind == "double":
        return values
    missing = values >= MISSING
    letters = np.where(missing, np.round((np.where(missing, values, MISSING) - MISSING) / STEP), 0)
    known = np.where(missing, 0.0, values)
    if variable.kind != "float":
        return np.where(missing, _FIRST_MISSING[variable.kind] + letters, known)
    bits = known.astype(np.float32).view(np.uint32)
    marked = (_FLOAT_MISSING + letters.astype(np.int64) * _FLOAT_STEP).astype(np.uint32)
    return np.where(missing, marked, bits).astype(np.uint32).view(np.float32)


def _labels(name: str, texts: Mapping[float, str]) -> bytes:
    values, words = [], []
    for number, text in sorted(texts.items()):
        letter = round((number - MISSING) / STEP) if number >= MISSING else 0
        first = _FIRST_MISSING["long"]
        values.append(first + letter if number >= MISSING else int(number))
        words.append(re.sub("\x00.*", "", text).encode() + b"\x00")
    places = np.cumsum([0, *map(len, words)]).tolist()
    count, length = len(values), places.pop()
    table = struct.pack(f"<ii{count}i{count}i", count, length, *places, *values) + b"".join(words)
    size = struct.pack("<i", len(table))
    return b"<lbl>%b%b\x00\x00\x00%b</lbl>" % (size, _cut(name, 129), table)
