"""How finely values are cut for exact sums. Constants only."""

__all__ = ["BASE", "CHUNK"]

#: 32 bits: the size of one whole number.
BASE = 4294967296.0
#: So many values can be added before a partial sum could round.
CHUNK = 2**20
