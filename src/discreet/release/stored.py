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

__all__ = ["cells_frame", "described", "no_cells", "rebuilt"]


def cells_frame(table: ProtectedTable) -> pl.DataFrame:
    """The cells: positions of the codes, value and status."""
    import polars as pl

    columns: dict[str, Any] = {str(at): part for at, part in enumerate(table.index)}
    return pl.DataFrame({**columns, "value": table.value, "status": table.status})


def no_cells(dimensions: int) -> pl.DataFrame:
    """The frame of a table without cells."""
    import polars as pl

    columns = {str(at): pl.Int32 for at in range(dimensions)}
    return pl.DataFrame(schema={**columns, "value": pl.Int64, "status": pl.Int8})


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


def rebuilt(memory: Mapping[str, Any], cells: pl.DataFrame) -> ProtectedTable:
    """The table that was described."""
    dimensions = tuple(
        Dimension(
            classifications=tuple(_rebuilt_tree(tree) for tree in entry["classifications"]),
            name=entry["name"],
        )
        for entry in memory["dimensions"]
    )
    return ProtectedTable(
        dimensions=dimensions,
        index=tuple(
            cells[str(at)].to_numpy().astype(np.int32, copy=False) for at in range(len(dimensions))
        ),
        value=cells["value"].to_numpy(),
        status=cells["status"].to_numpy(),
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
