"""The ledger of released tables: whom they are about, and what their differences tell.

In: sets of units (CONFIDENTIAL). Out: short keyed sketches of them, and conflicts between
them: two tables whose universes differ by a few units tell about these.
"""

from discreet.output_checking.ledger.comparing import (
    Conflict,
    Shelf,
    conflicts_with,
    conflicts_within,
)
from discreet.output_checking.ledger.units import UnitKey
from discreet.output_checking.ledger.universes import (
    Universe,
    read_universe,
    universe,
    universes_of,
)

__all__ = [
    "Conflict",
    "Shelf",
    "UnitKey",
    "Universe",
    "conflicts_with",
    "conflicts_within",
    "read_universe",
    "universe",
    "universes_of",
]
