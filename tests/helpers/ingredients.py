"""Ingredients stated by hand: values beside originals, as the methods would make them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet import Classification
from discreet.tables import (
    CellStatus,
    Dimension,
    Figure,
    Ingredient,
    Note,
    ProtectedTable,
    Provenance,
)

Stated = Mapping[tuple[str, ...], float]

REGION = Classification(
    name="region", codes=("Total", "N", "N1", "N2", "S"), parents=(-1, 0, 1, 1, 0)
)
SEX = Classification.flat("sex", ["m", "w"])
ADDS = Note("non-additivity", {"en": "Parts need not add up."})


def stated(
    values: Stated,
    *,
    by: Sequence[Classification] = (REGION,),
    original: Stated | None = None,
    deviation: float | Stated = 1.0,
    suppressed: Sequence[tuple[str, ...]] = (),
    official: Sequence[tuple[str, ...]] = (),
    kind: Any = None,
    **more: Any,
) -> Ingredient:
    """An ingredient with these protected values; its originals are the same if not stated."""
    dimensions = tuple(Dimension(classifications=(tree,)) for tree in by)
    places = list(values)
    index = tuple(
        np.array([dimension.index[cell[axis]] for cell in places], dtype=np.int32)
        for axis, dimension in enumerate(dimensions)
    )
    value = np.array([values[cell] for cell in places], dtype=np.float64)
    hidden = np.array([cell in set(suppressed) for cell in places], dtype=np.bool_)
    true = values if original is None else {**values, **original}
    spread = deviation if isinstance(deviation, Mapping) else dict.fromkeys(places, deviation)
    status = np.zeros(len(places), dtype=np.int8)
    status[[cell in set(official) for cell in places]] = CellStatus.official
    status[hidden] = CellStatus.suppressed
    whole = bool((np.isfinite(value) & (value == np.rint(value))).all()) and kind is None
    fields: dict[str, Any] = {
        "provenance": Provenance(version="0", method="cell-key", digests={"data": "d"}),
        "notes": (ADDS,),
        "figures": () if kind is None else (Figure(name="made", kind=kind, decimals=2),),
        **more,
    }
    protected = ProtectedTable(
        dimensions=dimensions,
        index=index,
        value=value.astype(np.int64) if whole else value,
        status=status,
        **fields,
    )
    return Ingredient(
        protected=protected,
        index=index,
        value=np.where(hidden, 0.0, value),
        original=np.array([true[cell] for cell in places], dtype=np.float64),
        deviation=np.array([spread[cell] for cell in places], dtype=np.float64),
        suppressed=hidden,
    )


def cells(table: ProtectedTable) -> dict[tuple[str, ...], Any]:
    """The complete grid of a table: codes → value, None where it shows none."""
    return {row[:-2]: row[-2] for row in table.to_polars(complete=True).iter_rows()}


def states(table: ProtectedTable) -> dict[tuple[str, ...], str]:
    """The complete grid of a table: codes → status."""
    return {row[:-2]: row[-1] for row in table.to_polars(complete=True).iter_rows()}
