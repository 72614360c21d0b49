"""Protected tables as plain values, to be kept between two runs.

In: a `ProtectedTable`. Out: a description for JSON and a frame of cells; and back,
the same table. Public, as the table itself is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.classifications import Classification
from discreet.tables import CellNote, Dimension, Figure, Note, ProtectedTable, Provenance
from discreet.tables.parts import Parts

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
        "notes": [_note(note) for note in table.notes],
        "cell_notes": [
            {"codes": list(remark.codes), "note": _note(remark.note)} for remark in table.cell_notes
        ],
        "figures": [
            {
                field.name: _plain(getattr(figure, field.name))
                for field in dataclasses.fields(Figure)
            }
            for figure in table.figures
        ],
        "parts": None if table.parts is None else _listed(table.parts),
        "suppressed_parts": _listed(table.suppressed_parts),
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


def _note(note: Note) -> dict[str, Any]:
    return {"kind": note.kind, "texts": dict(note.texts)}


def _listed(parts: Parts) -> list[list[int]]:
    return sorted(list(part) for part in parts)


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
        notes=tuple(Note(**note) for note in memory["notes"]),
        cell_notes=tuple(
            CellNote(tuple(remark["codes"]), Note(**remark["note"]))
            for remark in memory["cell_notes"]
        ),
        figures=tuple(Figure(**figure) for figure in memory["figures"]),
        parts=None if memory["parts"] is None else _rebuilt_parts(memory["parts"]),
        suppressed_parts=_rebuilt_parts(memory["suppressed_parts"]),
        name=memory["name"],
        titles=memory["titles"],
        universe=memory["universe"],
        decimals=memory["decimals"],
    )


def _rebuilt_parts(memory: Sequence[Sequence[int]]) -> Parts:
    return frozenset(tuple(part) for part in memory)


def _rebuilt_tree(memory: Mapping[str, Any]) -> Classification:
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in memory.items()
    }
    return Classification(**fields)
