"""Exact: everything of a protected table as plain values, to be kept and read back as it was.

In: a `ProtectedTable`. Out: a description for JSON and a frame of cells, or both as a Parquet
file; and back, the same table. Public. Other formats are for readers and leave something out:
names of levels, table parts, the other language. This one leaves out nothing, and says nothing
that they do not.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.publication.formats import WriteOptions
from discreet.tables import (
    CellNote,
    Dimension,
    Figure,
    Imprint,
    Note,
    ProtectedTable,
    Provenance,
    Withheld,
)

_VERSION = "discreet-table-1"


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the cells that are stored, and all else as metadata beside them."""
    about = json.dumps(described(table), ensure_ascii=False, separators=(",", ":"))
    cells_frame(table).write_parquet(path, compression="zstd", metadata={_VERSION: about})


def read_exact(path: str | os.PathLike[str]) -> ProtectedTable:
    """A protected table out of a file of the format "exact", as it was written.

    >>> import tempfile
    >>> from discreet.publication.examples import census_example
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_exact(census_example().write(Path(folder) / "T1.exact.parquet"))
    <ProtectedTable T1: sex × age, 18 cells>
    """
    try:
        about = pl.read_parquet_metadata(Path(path))[_VERSION]
    except (KeyError, OSError, pl.exceptions.PolarsError):
        message, hint = "not a protected table", 'write it with the format "exact"'
        raise PublicationError(message, code="exact-table", hint=hint) from None
    return with_cells(rebuilt(json.loads(about)), pl.read_parquet(Path(path)))


def cells_frame(table: ProtectedTable) -> pl.DataFrame:
    """The cells: positions of the codes, value and status."""
    columns: dict[str, Any] = {str(at): part for at, part in enumerate(table.index)}
    frame = pl.DataFrame({**columns, "value": table.value, "status": table.status})
    withheld = table.withheld
    if withheld is None:
        return frame
    keys = [str(at) for at in range(len(withheld.index))]
    about: dict[str, Any] = dict(zip(keys, withheld.index, strict=True))
    about |= {"reason": withheld.reason, "low": withheld.low, "high": withheld.high}
    hidden = pl.DataFrame({name: part for name, part in about.items() if part is not None})
    if not keys:  # a grand total: one cell
        return frame.with_columns(hidden)
    return frame.join(hidden, on=keys, how="left", maintain_order="left")


def with_cells(table: ProtectedTable, cells: pl.DataFrame) -> ProtectedTable:
    """The table with the cells of a frame, and with what is said of those that are hidden."""
    index = tuple(
        cells[str(at)].to_numpy().astype(np.int32, copy=False)
        for at in range(len(table.dimensions))
    )
    withheld = table.withheld
    if withheld is not None:
        about = cells["reason"].is_not_null().to_numpy()
        bounds = {name: cells[name].to_numpy()[about] for name in ("low", "high") if name in cells}
        withheld = Withheld(
            index=tuple(part[about] for part in index),
            reason=cells["reason"].drop_nulls().to_numpy(),
            reasons=withheld.reasons,
            instead=withheld.instead,
            **bounds,
        )
    value, status = cells["value"].to_numpy(), cells["status"].to_numpy()
    return dataclasses.replace(table, index=index, value=value, status=status, withheld=withheld)


def without_cells(table: ProtectedTable) -> ProtectedTable:
    """A table without its cells."""
    withheld = table.withheld
    reasons, instead = (None, False) if withheld is None else (withheld.reasons, withheld.instead)
    return dataclasses.replace(table, **_no_cells(len(table.dimensions), reasons, instead))


def _no_cells(width: int, reasons: Sequence[Note] | None, instead: bool) -> dict[str, Any]:
    """The fields of a table of so many dimensions that has no cells, and their reasons."""
    none = np.zeros(0, dtype=np.int8)
    index = tuple(none.astype(np.int32) for _ in range(width))
    withheld = None
    if reasons is not None:
        withheld = Withheld(index=index, reason=none, reasons=tuple(reasons), instead=instead)
    return {"index": index, "value": none.astype(np.int64), "status": none, "withheld": withheld}


def described(table: ProtectedTable) -> dict[str, Any]:
    """Everything but the cells, as JSON takes it."""
    as_it_is = ("name", "titles", "universe", "decimals", "notes", "cell_notes", "figures")
    return {
        **{name: _plain(getattr(table, name)) for name in as_it_is},
        "withheld": None if table.withheld is None else _plain(table.withheld.reasons),
        "intervals_instead": table.withheld is not None and table.withheld.instead,
        "parts": _plain(table.parts),
        "suppressed_parts": _plain(table.suppressed_parts),
        "provenance": _plain(table.provenance),
        **({} if table.imprint is None else {"imprint": _plain(table.imprint)}),
        **({} if table.margin is None else {"margin": table.margin}),
        "dimensions": [
            {
                "name": dimension.name,
                "classifications": [_tree(tree, tree.found) for tree in dimension.classifications],
            }
            for dimension in table.dimensions
        ],
    }


@lru_cache(maxsize=64)
def _tree(tree: Classification, found: str) -> Any:
    """A classification as JSON takes it, and whether it was found, which makes it no other."""
    return _plain(tree)


def _plain(value: Any) -> Any:
    """A value made of entries, mappings, lists and sets of parts as JSON takes it."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(list(part) for part in value)
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


@cache
def _forms() -> Mapping[str, Any]:
    from pydantic import TypeAdapter

    parts = frozenset[tuple[int, ...]]
    kinds: dict[str, Any] = {
        **{"dimensions": tuple[Dimension, ...], "provenance": Provenance, "imprint": Imprint},
        **{"notes": tuple[Note, ...], "cell_notes": tuple[CellNote, ...]},
        **{"figures": tuple[Figure, ...], "withheld": tuple[Note, ...] | None},
        **{"parts": parts | None, "suppressed_parts": parts, "margin": int},
        **{"name": str, "titles": dict[str, str], "universe": dict[str, str], "decimals": int},
    }
    return {name: TypeAdapter(kind) for name, kind in kinds.items()}


def rebuilt(memory: Mapping[str, Any]) -> ProtectedTable:
    """The table that was described, still without its cells."""
    fields = {
        name: form.validate_python(memory[name])
        for name, form in _forms().items()
        if name in memory
    }
    reasons, instead = fields.pop("withheld", None), memory.get("intervals_instead", False)
    return ProtectedTable(**fields | _no_cells(len(fields["dimensions"]), reasons, instead))
