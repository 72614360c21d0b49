"""A small ingredient, and a small table, for the examples of this package. Made up."""

from __future__ import annotations

import numpy as np

from discreet.classifications import Classification
from discreet.tables import Dimension, Ingredient, ProtectedTable, Provenance

_SEX = Dimension(classifications=(Classification.flat("sex", ["m", "w"]),))
_PLACES = (np.arange(3, dtype=np.int32),)
_VALUE = np.array([8, 6, 3])

people = Ingredient(
    protected=ProtectedTable(
        dimensions=(_SEX,),
        index=_PLACES,
        value=_VALUE,
        status=np.zeros(3, dtype=np.int8),
        provenance=Provenance(version="example", method="cell-key"),
    ),
    index=_PLACES,
    value=_VALUE.astype(np.float64),
    original=np.array([9.0, 5.0, 4.0]),
    deviation=np.full(3, 0.7),
    suppressed=np.zeros(3, dtype=np.bool_),
)

#: Counts of age groups.
ages = ProtectedTable(
    dimensions=(
        Dimension(classifications=(Classification.from_intervals("age", [0, 30, 60, 90]),)),
    ),
    index=(np.arange(5, dtype=np.int32),),
    value=np.array([101, 40, 25, 35, 0]),
    status=np.zeros(5, dtype=np.int8),
    provenance=Provenance(version="example", method="cell-key"),
)

_AREAS = ["A", "B", "C", "D"]
_COMMUTERS = """
    480 130 121 112 119
    120  99   8   6   7
    124  20  90   4   9
    119   9  11  95   3
    118   2  12   7  99
"""
#: Counts of persons by where they live and work.
commuters = ProtectedTable(
    dimensions=tuple(
        Dimension(classifications=(Classification.flat(name, _AREAS),)) for name in ("home", "work")
    ),
    index=tuple(part.astype(np.int32) for part in np.divmod(np.arange(25), 5)),
    value=np.array(_COMMUTERS.split(), dtype=np.int64),
    status=np.zeros(25, dtype=np.int8),
    provenance=Provenance(version="example", method="cell-key"),
)
