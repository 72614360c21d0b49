"""Suppression (layer 6): which parts of tables are published.

`check_parts` looks at a confidential `Table`, `suppress_parts` at a `ProtectedTable`.
"""

from discreet.suppression.parts import (
    PartDecisions,
    PartRules,
    check_parts,
    measure_parts,
    release_shares,
    suppress_parts,
)

__all__ = [
    "PartDecisions",
    "PartRules",
    "check_parts",
    "measure_parts",
    "release_shares",
    "suppress_parts",
]
