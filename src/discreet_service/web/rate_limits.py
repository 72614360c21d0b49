"""Rate limits: how fast one caller may ask.

In: who asks, as a digest or an address. Out: whether they must wait, and how long. Held in memory,
in bounded tables; what several processes must count together is counted by policies.
"""

from __future__ import annotations

import ipaddress
import math
from collections import OrderedDict
from collections.abc import Callable

_MOST = 65_536
#: Networks of one customer: an address of IPv6 is one of very many.
_SIX = 64


class TokenBuckets:
    """Buckets that fill at a steady rate; each request takes one token.

    >>> buckets = TokenBuckets(per_second=1.0, burst=2, clock=lambda: 0)
    >>> buckets.wait("anna"), buckets.wait("anna"), buckets.wait("anna")
    (0, 0, 1)
    """

    def __init__(
        self, *, per_second: float, burst: float, clock: Callable[[], int], most: int = _MOST
    ) -> None:
        self._rate, self._burst, self._clock, self._most = per_second, burst, clock, most
        self._levels: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._levels)

    def wait(self, who: str) -> int:
        """Take a token; the seconds to wait if there is none, 0 if there was one."""
        now = self._clock()
        level, before = self._levels.pop(who, (self._burst, now))
        level = min(self._burst, level + max(0, now - before) / 1000 * self._rate)
        enough = level >= 1
        self._levels[who] = (level - 1 if enough else level, now)
        while len(self._levels) > self._most:
            self._levels.popitem(last=False)
        return 0 if enough else max(1, math.ceil((1 - level) / self._rate))


def address_key(address: str) -> str:
    """What stands for an address: of IPv6 the network, since one customer has a whole one.

    >>> address_key("2001:db8::1:2"), address_key("192.0.2.7"), address_key("::ffff:192.0.2.7")
    ('2001:db8::/64', '192.0.2.7', '192.0.2.7')
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, _SIX), strict=False))
    return str(found)
