"""All operations there are."""

from __future__ import annotations

from discreet.operations.operation import Operation
from discreet.operations.records import ON_RECORDS
from discreet.operations.rounding import ROUNDING
from discreet.operations.suppression import AUDIT, SUPPRESSION

#: By name.
OPERATIONS: dict[str, Operation] = {
    row.name: row for row in (SUPPRESSION, AUDIT, ROUNDING, *ON_RECORDS)
}
