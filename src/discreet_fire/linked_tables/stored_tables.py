"""Tables as bytes, to be held against those of later programs. CONFIDENTIAL.

In: the tables of a program; how its records are called so that other programs call them the same.
Out: bytes, and tables again. Nothing of the program is executed when they are read.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.arrays import IntArray
from discreet_fire.linked_tables.outputs import ShownTable
from discreet_fire.linked_tables.small_counts import ShownCounts, ShownSums, TableAxis


def with_records(
    tables: Sequence[ShownTable],
    identified: Callable[[IntArray], IntArray | None],
    owned: Callable[[IntArray], IntArray | None],
) -> tuple[list[ShownTable], list[str]]:
    """Tables with records by other numbers, and the names of those whose records have none.

    Whom the records are about is known by other numbers, too; nobody is if each is another case.
    """
    restored: list[ShownTable] = []
    left: list[str] = []
    for one in tables:
        place = one.place if isinstance(one, ShownSums) else one
        records = identified(place.records)
        if records is None:
            left.append(place.name)
            continue
        moved = replace(place, records=records, owners=owned(place.records))
        restored.append(replace(one, place=moved) if isinstance(one, ShownSums) else moved)
    return restored, left


def table_bytes(tables: Sequence[ShownTable], left: Sequence[str]) -> bytes:
    """Tables as bytes, with the names of outputs that cannot be followed.

    >>> read_tables(table_bytes([], ["line 1, histogram"]))
    ([], ['line 1, histogram'])
    """
    arrays: dict[str, Any] = {}
    described = []
    for at, one in enumerate(tables):
        place = one.place if isinstance(one, ShownSums) else one
        arrays |= {f"{at} records": place.records, f"{at} hidden": place.hidden}
        if place.owners is not None:
            arrays[f"{at} owners"] = place.owners
        for axis, axis_codes in enumerate(place.axes):
            arrays[f"{at} axis {axis}"] = axis_codes.codes
        fields: dict[str, Any] = {"name": place.name, "silent": place.silent}
        fields["axes"] = [[item.name, list(item.labels)] for item in place.axes]
        if isinstance(one, ShownSums):
            arrays[f"{at} values"] = one.values
            fields |= {"variable": one.variable, "digits": one.digits}
        described.append(fields)
    text = json.dumps({"tables": described, "left": list(left)}).encode()
    target = io.BytesIO()
    np.savez_compressed(target, described=np.frombuffer(text, dtype=np.uint8), **arrays)
    return target.getvalue()


def read_tables(data: bytes) -> tuple[list[ShownTable], list[str]]:
    """Tables from bytes, with the names of outputs that cannot be followed."""
    tables: list[ShownTable] = []
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        described = json.loads(arrays["described"].tobytes())
        for at, fields in enumerate(described["tables"]):
            axes = tuple(
                TableAxis(name=name, labels=tuple(labels), codes=arrays[f"{at} axis {axis}"])
                for axis, (name, labels) in enumerate(fields["axes"])
            )
            place = ShownCounts(
                name=fields["name"],
                axes=axes,
                records=arrays[f"{at} records"],
                owners=arrays.get(f"{at} owners"),
                hidden=arrays[f"{at} hidden"],
                silent=fields["silent"],
            )
            if "variable" not in fields:
                tables.append(place)
                continue
            sums = ShownSums(
                place=place,
                variable=fields["variable"],
                values=arrays[f"{at} values"],
                digits=fields["digits"],
            )
            tables.append(sums)
    return tables, list(described["left"])
