"""Protected tables as plain values, to be kept between two runs.

In: a `ProtectedTable`. Out: a description for JSON and a frame of cells; and back,
the same table. Public, as the table itself is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.classifications import Classification
from discreet.tables import Dimension, Note, ProtectedTable, Provenance

if TYPE_CHECKING:
    import polars as pl

__all__ = ["cells_frame", "described", "rebuilt", "with_cells", "without_cells"]


def cells_frame(table: ProtectedTable) -> pl.DataFrame:
    """The cells: positions of the codes, value and status."""
    import polars as pl

    columns: dict[str, Any] = {str(at): part for at, part in enumerate(table.index)}
    return pl.DataFrame({**columns, "value": table.value, "status": table.status})


def with_cells(table: ProtectedTable, cells: pl.DataFrame) -> ProtectedTable:
    """The table with the cells of a frame."""
    index = tuple(
        cells[str(at)].to_numpy().astype(np.int32, copy=False)
        for at in range(len(table.dimensions))
    )
    value, status = cells["value"].to_numpy(), cells["status"].to_numpy()
    return dataclasses.replace(table, index=index, value=value, status=status)


def without_cells(table: ProtectedTable) -> ProtectedTable:
    """What is left of a table when its cells are taken away."""
    nothing = np.zeros(0, dtype=np.int32)
    return dataclasses.replace(
        table,
        index=tuple(nothing for _ in table.dimensions),
        value=nothing.astype(np.int64),
        status=nothing.astype(np.int8),
    )


def described(table: ProtectedTable) -> dict[str, Any]:
    """Everything but the cells, as JSON takes it."""
    return {
        "name": table.name,
        "titles": dict(table.titles),
        "universe": dict(table.universe),
        "decimals": table.decimals,
        "notes": [{"kind": note.kind, "texts": dict(note.texts)} for note in table.notes],
        "provenance": {
            field.name: _plain(getattr(table.provenance, field.name))
            for field in dataclasses.fields(Provenance)
        },
        "dimensions": [
            {
                "name": dimension.name,
                "classifications": [_tree(tree) for tree in dimension.classifications],
            }
            for dimension in table.dimensions
        ],
    }


def _tree(tree: Classification) -> dict[str, Any]:
    fields = {field.name: getattr(tree, field.name) for field in dataclasses.fields(tree)}
    fields["labels"] = {code: dict(texts) for code, texts in tree.labels.items()}
    return {name: _plain(value) for name, value in fields.items()}


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def rebuilt(memory: Mapping[str, Any]) -> ProtectedTable:
    """The table that was described, still without its cells."""
    dimensions = tuple(
        Dimension(
            classifications=tuple(_rebuilt_tree(tree) for tree in entry["classifications"]),
            name=entry["name"],
        )
        for entry in memory["dimensions"]
    )
    nothing = np.zeros(0, dtype=np.int32)
    return ProtectedTable(
        dimensions=dimensions,
        index=tuple(nothing for _ in dimensions),
        value=nothing.astype(np.int64),
        status=nothing.astype(np.int8),
        provenance=Provenance(**memory["provenance"]),
        notes=tuple(Note(note["kind"], note["texts"]) for note in memory["notes"]),
        name=memory["name"],
        titles=memory["titles"],
        universe=memory["universe"],
        decimals=memory["decimals"],
    )


def _rebuilt_tree(memory: Mapping[str, Any]) -> Classification:
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in memory.items()
    }
    return Classification(**fields)
