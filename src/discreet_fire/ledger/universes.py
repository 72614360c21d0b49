"""Universes: the sets of units that the cells of an output are about.

In: records and identifiers (CONFIDENTIAL), a secret, and how a table is made. Out: one universe
for the table and one for each category that it shows; units are keyed 64-bit digests, the same
for the same person or firm in every request.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.arrays import IntArray, UintArray
from discreet.errors import OutputCheckError
from discreet.microdata import Secret
from discreet_fire.ledger.sketches import Marks, marks_of, marks_of_groups, sums_of, sums_of_groups

_CONTEXT = "discreet: units of the release ledger"
#: Digests that are kept in memory between statistics.
_MOST_KNOWN = 5_000_000
#: Whole numbers as some programs write them to text files.
_WHOLE = re.compile(r"\A(-?\d+)\.0*\Z")


class UnitKey:
    """Turns identifiers into digests; shows nothing of the key.

    >>> key = UnitKey(Secret.of("a long and secret sentence"))
    >>> len(key.digests([12, 12.0, "12", "x", 7])), key
    (3, <UnitKey>)
    """

    __slots__ = ("_key", "_known")

    def __init__(self, secret: Secret) -> None:
        self._key = secret.derive(_CONTEXT)
        self._known: dict[Any, int] = {}

    def digests(self, units: Sequence[Any] | NDArray[Any]) -> UintArray:
        """The digests of the units, each once, in order."""
        return np.unique(self.of_each(units))

    def of_each(self, units: Sequence[Any] | NDArray[Any]) -> UintArray:
        """The digest of each unit, as often as it comes."""
        values = units.tolist() if isinstance(units, np.ndarray) else units
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        known = self._known
        for value in set(values):
            if value.__class__ is bool or value not in known:
                data = _text(value).encode("utf-8", "surrogatepass")
                digest = hashlib.blake2b(data, digest_size=8, key=self._key).digest()
                known[value] = int.from_bytes(digest, "little")
        return np.array([known[value] for value in values], dtype=np.uint64)

    def __repr__(self) -> str:
        return "<UnitKey>"


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    if value is None or (isinstance(value, float) and not math.isfinite(value)) or not text:
        hint = "leave such records out, or give them an identifier"
        raise _error("a record says of no unit whom it is about", hint=hint)
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise _error(f"identifiers are numbers or texts, not {type(value).__name__}")
    return _WHOLE.sub(r"\1", text) if isinstance(value, str) else text


def _error(message: str, where: str = "", hint: str = "") -> OutputCheckError:
    return OutputCheckError(message, code="ledger-units", where=where, hint=hint)


#: A column that no variable can be called.
_DIGEST = "the digest"
#: Tables of more variables have margins of single variables and of all of them only.
_MOST_MARGINS = 4


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LedgerUniverse:
    """Whom one figure of an output is about (confidential, but for its names)."""

    table: str  # the output, such as its line and command
    label: str = ""  # the category, such as ``sex = 1``; empty for the whole table
    count: int = field(repr=False)  # how many units
    sums: IntArray = field(repr=False)  # their power sums
    marks: Marks = field(repr=False)  # their marks

    @property
    def name(self) -> str:
        """Table and category."""
        return f"{self.table}: {self.label}" if self.label else self.table

    def __repr__(self) -> str:
        return f"<Universe {self.name}>"


def universe_of(digests: UintArray, size: int, table: str, label: str = "") -> LedgerUniverse:
    """The universe of some units, each once."""
    return LedgerUniverse(
        table=table,
        label=label,
        count=len(digests),
        sums=sums_of(digests, size),
        marks=marks_of(digests),
    )


def universes_of(
    frame: pl.DataFrame,
    *,
    unit: str,
    by: Sequence[str] = (),
    key: UnitKey,
    size: int,
    table: str,
    cells: bool = False,
) -> list[LedgerUniverse]:
    """The universes of a table: of all its records, of each category, of cells and margins.

    Cells of fewer units than the minimum are left out: any two differ by few units.
    """
    for name in (unit, *by):
        if name not in frame.columns:
            raise _error("the records have no such column", name)
    digests = pl.Series(_DIGEST, key.of_each(frame[unit].to_list()), dtype=pl.UInt64)
    whole = universe_of(np.unique(digests.to_numpy()), size, table)
    inner = range(2, len(by)) if len(by) <= _MOST_MARGINS else []
    wanted = dict.fromkeys([1, *inner, len(by)] if cells and by else [1])
    groups = [list(names) for width in wanted for names in itertools.combinations(by, width)]
    parts = [_parts(frame.select(names), digests, size, table) for names in groups]
    return [whole, *itertools.chain.from_iterable(parts)]


def _parts(
    spans: pl.DataFrame, digests: pl.Series, size: int, table: str
) -> Iterator[LedgerUniverse]:
    """The universes of all cells that some variables span, in the order of their values."""
    names = spans.columns
    rows = spans.with_columns(digests).unique().sort([*names, _DIGEST], nulls_last=True)
    if not rows.height:
        return
    first = rows.select(pl.struct(names).ne_missing(pl.struct(names).shift(1)))
    new = first.to_series().to_numpy().copy()
    new[0] = True
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], rows.height)
    members = rows[_DIGEST].to_numpy()
    sums, marks = sums_of_groups(members, starts, size), marks_of_groups(members, starts)
    labels = rows[starts].select(names).rows()
    for at in np.flatnonzero(ends - starts >= size).tolist():
        yield LedgerUniverse(
            table=table,
            label=", ".join(map(_category, names, labels[at])),
            count=int(ends[at] - starts[at]),
            sums=sums[at],
            marks=marks[at],
        )


def _category(name: str, value: Any) -> str:
    shown = int(value) if isinstance(value, float) and value.is_integer() else value
    text = "." if value is None else str(shown)
    return f"{name} = {''.join(one if one.isprintable() else '?' for one in text)}"


def read_units(path: str | os.PathLike[str], *, unit: str | None, key: UnitKey) -> UintArray:
    """The units in a file of identifiers, for outputs made elsewhere. CONFIDENTIAL."""
    place = Path(path)
    suffix = place.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise _error("no file of units", place.name, "give a .csv or .parquet file")
    try:
        csv = suffix == ".csv"
        frame = pl.read_csv(place, infer_schema=False) if csv else pl.read_parquet(place)
    except (OSError, pl.exceptions.PolarsError):
        raise _error("the file of units cannot be read", place.name) from None
    if unit is None and frame.width != 1:
        hint = "say which one tells units apart, with --unit"
        raise _error("the file has several columns", place.name, hint)
    column = frame.columns[0] if unit is None else unit
    if column not in frame.columns:
        raise _error("the records have no such column", column)
    return key.digests(frame[column].to_list())
