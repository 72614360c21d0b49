"""The ledger of released tables: whom they are about, and what their differences tell.

In: sets of units (CONFIDENTIAL). Out: short keyed sketches of them, and conflicts between
them: two tables whose universes differ by a few units tell about these.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .conflicts import Conflict as Conflict
    from .conflicts import ReleasedUniverses as ReleasedUniverses
    from .conflicts import conflicts_with as conflicts_with
    from .marks import MarkIndex as MarkIndex
    from .marks import Marks as Marks
    from .marks import marks_of as marks_of
    from .power_sums import MOST as MOST
    from .power_sums import PRIMES as PRIMES
    from .power_sums import hankel_ranks as hankel_ranks
    from .power_sums import sums_of as sums_of
    from .sketch_sums import SketchSum as SketchSum
    from .universes import LedgerUniverse as LedgerUniverse
    from .universes import UnitKey as UnitKey
    from .universes import read_units as read_units
    from .universes import universe_of as universe_of
    from .universes import universes_of as universes_of

lazy_face(__name__)
