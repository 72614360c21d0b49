"""Rounding: counts become multiples of a base, each on its own or so that totals stay sums.

`round_counts` and `round_linked` cross the confidentiality line: confidential `Table`s go in,
`ProtectedTable`s come out. `audit_rounding` finds out what rounded figures still tell; an
`Ingredient` of key figures carries both sides and is confidential.
"""

from discreet.protection.rounding.audit import RoundingAudit, audit_rounding
from discreet.protection.rounding.bases import Rounding
from discreet.protection.rounding.counts import (
    round_counts,
    round_linked,
    rounded_ingredient,
    rounding_table,
)

__all__ = [
    "Rounding",
    "RoundingAudit",
    "audit_rounding",
    "round_counts",
    "round_linked",
    "rounded_ingredient",
    "rounding_table",
]
