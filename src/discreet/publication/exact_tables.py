"""Protected tables as plain values, to be kept in files and read back.

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
    Dimension,
    Figure,
    Note,
    Parts,
    ProtectedTable,
    Provenance,
    Withheld,
)

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
        instead=reasons.instead,
        **bounds,
    )


def without_cells(table: ProtectedTable) -> ProtectedTable:
    """What is left of a table when its cells are taken away."""
    said = table.withheld
    reasons, instead = (None, False) if said is None else (said.reasons, said.instead)
    return dataclasses.replace(table, **_no_cells(len(table.dimensions), reasons, instead))


def _no_cells(width: int, reasons: Sequence[Note] | None, instead: bool) -> dict[str, Any]:
    """The fields of a table of so many dimensions that has no cells, and their reasons."""
    none = np.zeros(0, dtype=np.int8)
    index = tuple(none.astype(np.int32) for _ in range(width))
    said = None
    if reasons is not None:
        said = Withheld(index=index, reason=none, reasons=tuple(reasons), instead=instead)
    return {"index": index, "value": none.astype(np.int64), "status": none, "withheld": said}


#: What a memory holds of a table as it is.
_AS_IT_IS = ("name", "titles", "universe", "decimals", "notes", "cell_notes", "figures")


def described(table: ProtectedTable) -> dict[str, Any]:
    """Everything but the cells, as JSON takes it."""
    return {
        **{name: _plain(getattr(table, name)) for name in _AS_IT_IS},
        "withheld": None if table.withheld is None else _plain(table.withheld.reasons),
        "intervals_instead": table.withheld is not None and table.withheld.instead,
        "parts": _plain(table.parts),
        "suppressed_parts": _plain(table.suppressed_parts),
        "provenance": _plain(table.provenance),
        "dimensions": [
            {"name": dimension.name, "classifications": _plain(dimension.classifications)}
            for dimension in table.dimensions
        ],
    }


def _plain(value: Any) -> Any:
    """A value made of entries, mappings, lists and sets of parts as JSON takes it."""
    if isinstance(value, str | int | float):
        return value
    if dataclasses.is_dataclass(value):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(list(part) for part in value)
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def rebuilt(memory: Mapping[str, Any]) -> ProtectedTable:
    """The table that was described, still without its cells."""
    dimensions = tuple(
        Dimension(
            classifications=tuple(_rebuilt_tree(tree) for tree in entry["classifications"]),
            name=entry["name"],
        )
        for entry in memory["dimensions"]
    )
    reasons = memory.get("withheld")
    notes = None if reasons is None else [Note(**note) for note in reasons]
    return ProtectedTable(
        **_no_cells(len(dimensions), notes, memory.get("intervals_instead", False)),
        dimensions=dimensions,
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
