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
    from .sketches import MOST as MOST
    from .sketches import PRIMES as PRIMES
    from .sketches import MarkIndex as MarkIndex
    from .sketches import Marks as Marks
    from .sketches import SketchSum as SketchSum
    from .sketches import hankel_ranks as hankel_ranks
    from .sketches import marks_of as marks_of
    from .sketches import sums_of as sums_of
    from .universes import LedgerUniverse as LedgerUniverse
    from .universes import UnitKey as UnitKey
    from .universes import read_units as read_units

lazy_face(__name__)
