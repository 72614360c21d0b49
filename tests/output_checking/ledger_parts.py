"""What the tests of the ledger share: a key, and universes of some numbers."""

from __future__ import annotations

from discreet.microdata.secret import Secret
from discreet.output_checking.ledger import Shelf, UnitKey, Universe, universe

KEY = UnitKey(Secret(bytes(range(32))))
SIZE = 10


def of(units, name: str = "new", size: int = SIZE) -> Universe:
    """The universe of some units."""
    return universe(list(units), key=KEY, size=size, table=name)


def shelf(*universes: Universe) -> Shelf:
    """Universes, each released by a submission of its own."""
    return Shelf.of(universes, range(1, len(universes) + 1))
