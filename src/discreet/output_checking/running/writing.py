"""Stata files (format 118) as `save` writes them. CONFIDENTIAL.

In: a `DataSet`. Out: the bytes of a file that Stata 14 and later can read, with types,
labels, formats and extended missing values, and without a time stamp: the same data give the
same bytes. After Stata's published description of the format (`help dta`).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.output_checking.running.dataset import DataSet, Variable
from discreet.output_checking.running.errors import UnsupportedError
from discreet.output_checking.running.values import MISSING, text_width

__all__ = ["dta_bytes"]

_CODES = {"double": 65526, "float": 65527, "long": 65528, "int": 65529, "byte": 65530}
_DTYPES = {"double": "<f8", "float": "<f4", "long": "<i4", "int": "<i2", "byte": "i1"}
_FIRST_MISSING = {"byte": 101, "int": 32_741, "long": 2_147_483_621}
_STEP = 2.0**1011
_FLOAT_MISSING, _FLOAT_STEP = 0x7F000000, 0x800


def dta_bytes(data: DataSet) -> bytes:
    """The bytes of a Stata file.

    Raises:
        UnsupportedError: A text is longer than 2,045 bytes.
    """
    names, variables = list(data.variables), list(data.variables.values())
    if any(one.kind == "strL" for one in variables):
        raise UnsupportedError("saving strL variables")
    count = len(names)
    order = [names.index(name) + 1 for name in data.sorted_by]
    parts = [
        (b"variable_types", struct.pack(f"<{count}H", *map(_code, variables))),
        (b"varnames", _fixed(names, 129)),
        (b"sortlist", struct.pack(f"<{count + 1}H", *order, *[0] * (count + 1 - len(order)))),
        (b"formats", _fixed([one.format for one in variables], 57)),
        (b"value_label_names", _fixed([one.value_label for one in variables], 129)),
        (b"variable_labels", _fixed([one.label for one in variables], 321)),
        (b"characteristics", b""),
        (b"data", _records(variables, data.rows)),
        (b"strls", b""),
        (b"value_labels", b"".join(_labels(*one) for one in sorted(data.value_labels.items()))),
    ]
    label = data.label.encode()[:320]
    header = (
        b"<stata_dta><header><release>118</release><byteorder>LSF</byteorder><K>"
        + struct.pack("<H", count)
        + b"</K><N>"
        + struct.pack("<Q", data.rows)
        + b"</N><label>"
        + struct.pack("<H", len(label))
        + label
        + b"</label><timestamp>\x00</timestamp></header>"
    )
    places, at = [0, len(header)], len(header) + len(b"<map></map>") + 14 * 8
    for tag, content in parts:
        places.append(at)
        at += 2 * len(tag) + 5 + len(content)
    places += [at, at + len(b"</stata_dta>")]
    body = b"".join(b"<%b>%b</%b>" % (tag, content, tag) for tag, content in parts)
    return header + b"<map>" + struct.pack("<14Q", *places) + b"</map>" + body + b"</stata_dta>"


def _code(variable: Variable) -> int:
    if variable.is_text:
        return text_width(variable.kind) or 1
    return _CODES[variable.kind]


def _fixed(texts: Sequence[str], width: int) -> bytes:
    return b"".join(_cut(text, width) for text in texts)


def _cut(text: str, width: int) -> bytes:
    return text.encode()[: width - 1].decode("utf-8", "ignore").encode().ljust(width, b"\x00")


def _records(variables: Sequence[Variable], rows: int) -> bytes:
    kinds = [f"S{_code(one)}" if one.is_text else _DTYPES[one.kind] for one in variables]
    table = np.zeros(rows, dtype=[(f"f{at}", kind) for at, kind in enumerate(kinds)])
    for at, variable in enumerate(variables):
        table[f"f{at}"] = (
            [text.encode() for text in variable.values] if variable.is_text else _numbers(variable)
        )
    return table.tobytes()


def _numbers(variable: Variable) -> Any:
    """Numbers with missing ones as the type has them."""
    values = np.asarray(variable.values, dtype=np.float64)
    if variable.kind == "double":
        return values
    missing = values >= MISSING
    letters = np.where(missing, np.round((np.where(missing, values, MISSING) - MISSING) / _STEP), 0)
    known = np.where(missing, 0.0, values)
    if variable.kind != "float":
        return np.where(missing, _FIRST_MISSING[variable.kind] + letters, known)
    bits = known.astype(np.float32).view(np.uint32)
    marked = (_FLOAT_MISSING + letters.astype(np.int64) * _FLOAT_STEP).astype(np.uint32)
    return np.where(missing, marked, bits).astype(np.uint32).view(np.float32)


def _labels(name: str, texts: dict[float, str]) -> bytes:
    values, words = [], []
    for number, text in sorted(texts.items()):
        letter = round((number - MISSING) / _STEP) if number >= MISSING else 0
        first = _FIRST_MISSING["long"]
        values.append(first + letter if number >= MISSING else int(number))
        words.append(re.sub("\x00.*", "", text).encode() + b"\x00")
    places = np.cumsum([0, *map(len, words)]).tolist()
    count, length = len(values), places.pop()
    table = struct.pack(f"<ii{count}i{count}i", count, length, *places, *values) + b"".join(words)
    return b"<lbl>%b%b\x00\x00\x00%b</lbl>" % (
        struct.pack("<i", len(table)),
        _cut(name, 129),
        table,
    )
