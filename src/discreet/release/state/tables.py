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
from discreet.tables import (
    CellNote,
    CellStatus,
    Dimension,
    Figure,
    Note,
    ProtectedTable,
    Provenance,
    Withheld,
)
from discreet.tables.dimension import Parts

if TYPE_CHECKING:
    import polars as pl

    from discreet.arrays import PositionArray


def cells_frame(table: ProtectedTable) -> pl.DataFrame:
    """The cells: positions of the codes, value and status."""
    import polars as pl

    columns: dict[str, Any] = {str(at): part for at, part in enumerate(table.index)}
    frame = pl.DataFrame({**columns, "value": table.value, "status": table.status})
    said = table.withheld
    if said is None:
        return frame
    about: dict[str, Any] = {str(at): part for at, part in enumerate(said.index)}
    about |= {"reason": said.reason, "low": said.low, "high": said.high}
    hidden = pl.DataFrame({name: part for name, part in about.items() if part is not None})
    keys = [str(at) for at in range(len(said.index))]
    if not keys:  # a grand total: one cell
        return frame.with_columns(hidden)
    return frame.join(hidden, on=keys, how="left", maintain_order="left")


def with_cells(table: ProtectedTable, cells: pl.DataFrame) -> ProtectedTable:
    """The table with the cells of a frame, and with what is said of those that are hidden."""
    index = tuple(
        cells[str(at)].to_numpy().astype(np.int32, copy=False)
        for at in range(len(table.dimensions))
    )
    value, status = cells["value"].to_numpy(), cells["status"].to_numpy()
    withheld = None if table.withheld is None else _withheld(table.withheld, index, cells)
    return dataclasses.replace(table, index=index, value=value, status=status, withheld=withheld)


def _withheld(reasons: Withheld, index: Sequence[PositionArray], cells: pl.DataFrame) -> Withheld:
    """What a frame of cells says of the hidden ones."""
    about = cells["reason"].is_not_null().to_numpy()
    bounds = {name: cells[name].to_numpy()[about] for name in ("low", "high") if name in cells}
    return Withheld(
        index=tuple(part[about] for part in index),
        reason=cells["reason"].drop_nulls().to_numpy(),
        reasons=reasons.reasons,
        **bounds,
    )


def without_cells(table: ProtectedTable) -> ProtectedTable:
    """What is left of a table when its cells are taken away."""
    nothing = np.zeros(0, dtype=np.int32)
    return dataclasses.replace(
        table,
        index=tuple(nothing for _ in table.dimensions),
        value=nothing.astype(np.int64),
        status=nothing.astype(np.int8),
        withheld=_silent(table.withheld, len(table.dimensions)),
    )


def _silent(withheld: Withheld | None, width: int) -> Withheld | None:
    """The reasons there are, of no cells."""
    if withheld is None:
        return None
    nothing = np.zeros(0, dtype=np.int32)
    return Withheld(
        index=tuple(nothing for _ in range(width)),
        reason=nothing.astype(np.int8),
        reasons=withheld.reasons,
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
        "withheld": None if table.withheld is None else [_note(n) for n in table.withheld.reasons],
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


def same_pattern(table: ProtectedTable, other: ProtectedTable) -> bool:
    """Whether two tables hide the same cells."""
    return _blanks(table) == _blanks(other)


def _blanks(table: ProtectedTable) -> set[tuple[str, ...]]:
    hidden = np.flatnonzero(table.status == CellStatus.suppressed)
    codes = [
        [dimension.codes[at] for at in part[hidden].tolist()]
        for dimension, part in zip(table.dimensions, table.index, strict=True)
    ]
    return set(zip(*codes, strict=True)) if codes else {() for _ in hidden}


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
        withheld=_rebuilt_reasons(memory.get("withheld"), len(dimensions)),
    )


def _rebuilt_reasons(memory: Sequence[Mapping[str, Any]] | None, width: int) -> Withheld | None:
    if memory is None:
        return None
    nothing = np.zeros(0, dtype=np.int32)
    return _silent(
        Withheld(
            index=(), reason=nothing.astype(np.int8), reasons=tuple(Note(**note) for note in memory)
        ),
        width,
    )


def _rebuilt_parts(memory: Sequence[Sequence[int]]) -> Parts:
    return frozenset(tuple(part) for part in memory)


def _rebuilt_tree(memory: Mapping[str, Any]) -> Classification:
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in memory.items()
    }
    return Classification(**fields)
