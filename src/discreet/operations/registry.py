"""All operations there are."""

from __future__ import annotations

from discreet.operations.adjustment import ADJUSTMENT
from discreet.operations.attack import ATTACK
from discreet.operations.noise import INVARIANT, MAGNITUDES, PARTS, PERTURBATION, UNIT_NOISE
from discreet.operations.operation import Operation
from discreet.operations.quantiles import QUANTILES
from discreet.operations.records import ON_RECORDS
from discreet.operations.rounding import ADDITIVITY, ROUNDING
from discreet.operations.suppression import AUDIT, SUPPRESSION

#: By name.
OPERATIONS: dict[str, Operation] = {
    row.name: row
    for row in (
        *(SUPPRESSION, AUDIT, ATTACK, ADJUSTMENT, ROUNDING),
        *(PERTURBATION, MAGNITUDES, INVARIANT, PARTS, UNIT_NOISE, ADDITIVITY),
        QUANTILES,
        *ON_RECORDS,
    )
}
