"""What the tests of the ledger share: a key, and universes of some numbers."""

from discreet.disclosure import LedgerUniverse, ReleasedUniverses, marks_of, sums_of
from discreet.microdata.secret import Secret
from discreet_fire.units import UnitKey

KEY = UnitKey(Secret(b"salt of our tests"))
SIZE = 10


def of(units, name: str = "new", size: int = SIZE) -> LedgerUniverse:
    """The universe of some units."""
    digests = KEY.digests(list(units))
    sums, marks = sums_of(digests, size), marks_of(digests)
    return LedgerUniverse(name=name, count=len(digests), sums=sums, marks=marks)


def shelf(*universes: LedgerUniverse) -> ReleasedUniverses:
    """Released universes."""
    return ReleasedUniverses.of(universes)
