"""Rounding: counts become multiples of a base, each on its own or so that totals stay sums.

`round_counts` and `round_linked` cross the confidentiality line: confidential `Table`s go in,
`ProtectedTable`s come out. `audit_rounding` finds out what rounded figures still tell; an
`Ingredient` of key figures carries both sides and is confidential. `make_additive` looks at
protected tables only, and makes their figures add up; `round_shown` rounds beside hidden cells.
"""

from discreet.protection.rounding.additivity import (
    AdditivityCost,
    fitted_exposure,
    make_additive,
    make_additive_linked,
)
from discreet.protection.rounding.audit import RoundingAudit, audit_rounding
from discreet.protection.rounding.bases import Rounding
from discreet.protection.rounding.counts import (
    round_counts,
    round_linked,
    rounded_ingredient,
    rounding_table,
)
from discreet.protection.rounding.hidden_cells import round_shown

__all__ = [
    "AdditivityCost",
    "Rounding",
    "RoundingAudit",
    "audit_rounding",
    "fitted_exposure",
    "make_additive",
    "make_additive_linked",
    "round_counts",
    "round_linked",
    "round_shown",
    "rounded_ingredient",
    "rounding_table",
]
