"""The methods of protection that programmes can ask for, in the order of releases.

In: the protocol of `discreet.protection.protocol`. Out: its rows: what noise and suppression
answer, with the sections that programmes have for them.
"""

from discreet.protection.protocol import register
from discreet.release.methods.noise.method import NoiseProtection
from discreet.release.methods.suppression.method import SuppressionProtection

for _method in (NoiseProtection(), SuppressionProtection()):
    register(_method)

__all__ = ["NoiseProtection", "SuppressionProtection"]
