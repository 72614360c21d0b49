"""The ledger of released tables: whom they are about, and what their differences tell.

In: sets of units (CONFIDENTIAL). Out: short keyed sketches of them, and conflicts between
them: two tables whose universes differ by a few units tell about these.
"""

from discreet_fire.ledger.conflicts import (
    Conflict,
    ReleasedUniverses,
    conflicts_with,
    conflicts_within,
)
from discreet_fire.ledger.nested_pairs import double_differences
from discreet_fire.ledger.universes import (
    LedgerUniverse,
    UnitKey,
    read_universe,
    universe,
    universes_of,
)

__all__ = [
    "Conflict",
    "LedgerUniverse",
    "ReleasedUniverses",
    "UnitKey",
    "conflicts_with",
    "conflicts_within",
    "double_differences",
    "read_universe",
    "universe",
    "universes_of",
]
