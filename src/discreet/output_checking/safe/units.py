"""How finely values are cut for exact sums, and what is large. Constants only."""

__all__ = ["BASE", "BLOCK", "CHUNK", "LARGE", "LEAST", "SMALL"]

#: 32 bits: the size of one whole number.
BASE = 4294967296.0
#: So many values can be added before a partial sum could round.
CHUNK = 2**20
#: 2 to this power is the smallest scale: its inverse is a number too.
LEAST = -1021
#: Up to this many values, compiled loops are not worth loading.
SMALL = 50_000
#: So many records are asked at once if one of them is larger; hardly any are.
BLOCK = 64
#: Up to this many values, groups are not worth a thread each.
LARGE = 2**18
